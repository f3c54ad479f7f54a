/* SPDX-License-Identifier: MIT */
/*
 * The one place where time is computed. docs/model.md, "Time", derives each formula.
 */
#include <math.h>
#include <string.h>

#include "internal.h"

enum { TERMS = 4 }; /* compute, memory, serial, work */

static const llmperf_calib_entry IDEAL = {
    .param = {[LLMPERF_PARAM_COMPUTE] = 1,
              [LLMPERF_PARAM_MEMORY] = 1,
              [LLMPERF_PARAM_NORM] = INFINITY,
              [LLMPERF_PARAM_LINK] = 1},
};

static const llmperf_calib_entry IDEAL_COLLECTIVE = {
    .param = {[LLMPERF_PARAM_COMPUTE] = 1,
              [LLMPERF_PARAM_MEMORY] = 1,
              [LLMPERF_PARAM_NORM] = 1, /* latency + bytes over the link */
              [LLMPERF_PARAM_LINK] = 1},
};

/*
 * norm_p(x) = (sum x^p)^(1/p) of non-negative terms, never below the largest one.
 * ret_dx[i] = d norm / d x[i]; *ret_dp = d norm / d p (both may be NULL).
 */
static double norm_p(const double *x, int count, double p, double *ret_dx, double *ret_dp)
{
    double largest = 0;
    int at = 0;
    for (int i = 0; i < count; i++)
        if (x[i] > largest) {
            largest = x[i];
            at = i;
        }
    double norm;
    if (isinf(p) || largest == 0) {
        norm = largest;
        if (ret_dx)
            for (int i = 0; i < count; i++)
                ret_dx[i] = i == at && largest > 0 ? 1 : 0;
        if (ret_dp)
            *ret_dp = 0;
        return norm;
    }
    /* scaled by the largest term, so that no power over- or underflows */
    double sum = 0, sum_log = 0;
    if (p == 1) {
        for (int i = 0; i < count; i++)
            sum += x[i];
        norm = sum;
        sum /= largest;
    } else if (p == 2) {
        for (int i = 0; i < count; i++)
            sum += (x[i] / largest) * (x[i] / largest);
        norm = largest * sqrt(sum);
    } else {
        for (int i = 0; i < count; i++)
            if (x[i] > 0)
                sum += x[i] == largest ? 1 : pow(x[i] / largest, p);
        norm = largest * pow(sum, 1 / p);
    }
    if (norm < largest) /* rounding must not undercut the floor */
        norm = largest;
    if (ret_dx)
        for (int i = 0; i < count; i++) {
            if (p == 1)
                ret_dx[i] = 1;
            else
                ret_dx[i] = x[i] > 0 ? pow(x[i] / norm, p - 1) : 0;
        }
    if (ret_dp) {
        for (int i = 0; i < count; i++)
            if (x[i] > 0) {
                double ratio = x[i] / largest;
                sum_log += pow(ratio, p) * log(ratio);
            }
        *ret_dp = norm * (sum_log / (p * sum) - log(sum) / (p * p));
    }
    return norm;
}

/* The entry that times an operator, or CALIB_NO_ENTRY. */
static uint8_t entry_of(const llmperf_calib *calib, int kind, int regime, int dtype)
{
    return calib ? calib->index[kind][regime][dtype] : LLMPERF_CALIB_NO_ENTRY;
}

static const llmperf_calib_entry *entry_at(const llmperf_calib *calib, uint8_t index,
                                           llmperf_op_kind kind)
{
    if (index != LLMPERF_CALIB_NO_ENTRY)
        return &calib->entry[index];
    return kind == LLMPERF_KIND_COLLECTIVE ? &IDEAL_COLLECTIVE : &IDEAL;
}

static double time_collective(const llmperf_op *op, const llmperf_hw *hw,
                              const llmperf_calib *calib, llmperf_time *t, llmperf_gradient *g)
{
    const llmperf_link *link = llmperf_hw_link(hw, op->devices);
    uint8_t index = entry_of(calib, op->kind, op->regime, op->dtype);
    const double *param = entry_at(calib, index, LLMPERF_KIND_COLLECTIVE)->param;
    double doublings = log2((double)op->devices);
    /* the datasheet's latency stands in while nothing was measured */
    double latency = index == LLMPERF_CALIB_NO_ENTRY
                         ? link->latency_s
                         : param[LLMPERF_PARAM_LAUNCH] + param[LLMPERF_PARAM_HOP] * doublings;
    double x[2] = {latency, op->link_bytes / (param[LLMPERF_PARAM_LINK] * link->bytes_per_s)};
    double dx[2], dp;
    double time = norm_p(x, 2, param[LLMPERF_PARAM_NORM], g ? dx : NULL, g ? &dp : NULL);
    t->launch_s = x[0];
    t->link_s = x[1];
    t->time_s = time;
    t->bound = x[1] >= x[0] ? LLMPERF_BOUND_LINK : LLMPERF_BOUND_LATENCY;
    if (g) {
        g->count = 1;
        g->entry[0] = index;
        if (time > 0) {
            g->dlog[0][LLMPERF_PARAM_LAUNCH] = dx[0] / time;
            g->dlog[0][LLMPERF_PARAM_HOP] = dx[0] * doublings / time;
            g->dlog[0][LLMPERF_PARAM_LINK] = -dx[1] * x[1] / param[LLMPERF_PARAM_LINK] / time;
            g->dlog[0][LLMPERF_PARAM_NORM] = dp / time;
        }
    }
    return time;
}

/*
 * Parameters of an extend operator, joined from the prefill and the decode fit.
 *   lambda: share of prefill in the compute term, launch and norm: 1 at past = 0, 0 at query = 1,
 *           within 1/query of 1 for a chunk: a chunk computes as prefill does.
 *   mu:     share of decode in the memory and work-item terms: 0 at past = 0, 1 at query = 1,
 *           past / (past + query - 1): the cache is read as decode reads it.
 */
typedef struct extend_join {
    double lambda, mu;
    const double *prefill, *decode;
} extend_join;

static double geometric(double a, double b, double share_b)
{
    return a == b ? a : exp((1 - share_b) * log(a) + share_b * log(b));
}

static void join(const llmperf_op *op, extend_join *j, double *ret_param)
{
    double span = op->past_tokens + op->query_tokens - 1;
    j->mu = span > 0 ? op->past_tokens / span : 0;
    j->lambda = 1 - j->mu / op->query_tokens;
    const double *pre = j->prefill, *dec = j->decode;
    memset(ret_param, 0, sizeof(double) * LLMPERF_PARAM_COUNT);
    ret_param[LLMPERF_PARAM_COMPUTE] =
        geometric(dec[LLMPERF_PARAM_COMPUTE], pre[LLMPERF_PARAM_COMPUTE], j->lambda);
    ret_param[LLMPERF_PARAM_MEMORY] =
        geometric(pre[LLMPERF_PARAM_MEMORY], dec[LLMPERF_PARAM_MEMORY], j->mu);
    ret_param[LLMPERF_PARAM_LAUNCH] = (1 - j->lambda) * dec[LLMPERF_PARAM_LAUNCH] +
                                      j->lambda * pre[LLMPERF_PARAM_LAUNCH];
    ret_param[LLMPERF_PARAM_WORK] =
        (1 - j->mu) * pre[LLMPERF_PARAM_WORK] + j->mu * dec[LLMPERF_PARAM_WORK];
    /* 1/p is blended: it runs from 0 (max) to 1 (sum) and more, without a pole */
    double inverse = (1 - j->lambda) / dec[LLMPERF_PARAM_NORM] + j->lambda / pre[LLMPERF_PARAM_NORM];
    ret_param[LLMPERF_PARAM_NORM] = inverse > 0 ? 1 / inverse : INFINITY;
}

/* From the gradient by the joined parameters to those of the two entries. */
static void split_gradient(const extend_join *j, const double *param, const double *dlog,
                           llmperf_gradient *g)
{
    const double *source[2] = {j->prefill, j->decode};
    for (int i = 0; i < 2; i++) {
        double by_lambda = i == 0 ? j->lambda : 1 - j->lambda;
        double by_mu = i == 0 ? 1 - j->mu : j->mu;
        const double *own = source[i];
        double *d = g->dlog[i];
        d[LLMPERF_PARAM_COMPUTE] = dlog[LLMPERF_PARAM_COMPUTE] * param[LLMPERF_PARAM_COMPUTE] *
                                   by_lambda / own[LLMPERF_PARAM_COMPUTE];
        d[LLMPERF_PARAM_MEMORY] = dlog[LLMPERF_PARAM_MEMORY] * param[LLMPERF_PARAM_MEMORY] * by_mu /
                                  own[LLMPERF_PARAM_MEMORY];
        d[LLMPERF_PARAM_LAUNCH] = dlog[LLMPERF_PARAM_LAUNCH] * by_lambda;
        d[LLMPERF_PARAM_WORK] = dlog[LLMPERF_PARAM_WORK] * by_mu;
        double p = param[LLMPERF_PARAM_NORM], q = own[LLMPERF_PARAM_NORM];
        if (!isinf(p) && !isinf(q))
            d[LLMPERF_PARAM_NORM] = dlog[LLMPERF_PARAM_NORM] * by_lambda * (p * p) / (q * q);
    }
}

double llmperf_time_op(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                       llmperf_time *ret_time, llmperf_gradient *ret_gradient)
{
    llmperf_time local;
    llmperf_time *t = ret_time ? ret_time : &local;
    llmperf_gradient *g = ret_gradient;
    memset(t, 0, sizeof *t);
    if (g)
        memset(g, 0, sizeof *g);
    if (op->kind == LLMPERF_KIND_COLLECTIVE)
        return time_collective(op, hw, calib, t, g);

    uint8_t index = entry_of(calib, op->kind, op->regime, op->dtype);
    const double *param;
    double joined[LLMPERF_PARAM_COUNT];
    extend_join j = {0};
    uint8_t index_decode = LLMPERF_CALIB_NO_ENTRY;
    bool is_joined = false;
    if (index == LLMPERF_CALIB_NO_ENTRY && op->regime == LLMPERF_REGIME_EXTEND && calib) {
        index = entry_of(calib, op->kind, LLMPERF_REGIME_PREFILL, op->dtype);
        index_decode = entry_of(calib, op->kind, LLMPERF_REGIME_DECODE, op->dtype);
        is_joined = index != LLMPERF_CALIB_NO_ENTRY || index_decode != LLMPERF_CALIB_NO_ENTRY;
    }
    if (is_joined) {
        j.prefill = entry_at(calib, index, op->kind)->param;
        j.decode = entry_at(calib, index_decode, op->kind)->param;
        join(op, &j, joined);
        param = joined;
    } else {
        param = entry_at(calib, index, op->kind)->param;
    }

    double x[TERMS];
    x[0] = op->flop > 0
               ? op->flop / (param[LLMPERF_PARAM_COMPUTE] * hw->peak_flop_per_s[op->dtype])
               : 0;
    x[1] = op->bytes / (param[LLMPERF_PARAM_MEMORY] * hw->mem_bytes_per_s);
    double k = op->k * (1.0 / 1024);
    double k_shape = k / (1 + k / 3);
    x[2] = param[LLMPERF_PARAM_SERIAL] * k_shape;
    double items = hw->units > 0 ? op->sequences * op->kv_heads / hw->units : 0;
    x[3] = param[LLMPERF_PARAM_WORK] * items;
    double launch = param[LLMPERF_PARAM_LAUNCH] * op->launches;

    double dx[TERMS], dp;
    double norm = norm_p(x, TERMS, param[LLMPERF_PARAM_NORM], g ? dx : NULL, g ? &dp : NULL);
    t->compute_s = x[0];
    t->memory_s = x[1];
    t->serial_s = x[2];
    t->work_s = x[3];
    t->launch_s = launch;
    t->time_s = launch + norm;

    double largest = x[0];
    t->bound = LLMPERF_BOUND_COMPUTE;
    if (x[1] > largest) {
        largest = x[1];
        t->bound = LLMPERF_BOUND_MEMORY;
    }
    if (x[2] > largest || x[3] > largest) {
        largest = x[2] > x[3] ? x[2] : x[3];
        t->bound = LLMPERF_BOUND_LATENCY;
    }
    if (launch > largest)
        t->bound = LLMPERF_BOUND_LAUNCH;

    if (g && t->time_s > 0) {
        double dlog[LLMPERF_PARAM_COUNT] = {0};
        dlog[LLMPERF_PARAM_COMPUTE] = -dx[0] * x[0] / param[LLMPERF_PARAM_COMPUTE] / t->time_s;
        dlog[LLMPERF_PARAM_MEMORY] = -dx[1] * x[1] / param[LLMPERF_PARAM_MEMORY] / t->time_s;
        dlog[LLMPERF_PARAM_LAUNCH] = op->launches / t->time_s;
        dlog[LLMPERF_PARAM_SERIAL] = dx[2] * k_shape / t->time_s;
        dlog[LLMPERF_PARAM_WORK] = dx[3] * items / t->time_s;
        dlog[LLMPERF_PARAM_NORM] = dp / t->time_s;
        g->entry[0] = index;
        g->entry[1] = index_decode;
        if (is_joined) {
            g->count = 2;
            split_gradient(&j, param, dlog, g);
        } else {
            g->count = 1;
            memcpy(g->dlog[0], dlog, sizeof dlog);
        }
    }
    return t->time_s;
}

/* ---- calibrations ------------------------------------------------------------------------------- */

void llmperf_calib_init(llmperf_calib *ret_calib)
{
    memset(ret_calib, 0, sizeof *ret_calib);
    memset(ret_calib->index, LLMPERF_CALIB_NO_ENTRY, sizeof ret_calib->index);
}

llmperf_calib_entry llmperf_calib_ideal(llmperf_op_kind kind)
{
    return kind == LLMPERF_KIND_COLLECTIVE ? IDEAL_COLLECTIVE : IDEAL;
}

llmperf_status llmperf_calib_set(llmperf_calib *calib, llmperf_op_kind kind, llmperf_regime regime,
                                 llmperf_dtype dtype, const llmperf_calib_entry *entry,
                                 llmperf_error *error)
{
    static const struct {
        double above, most;
    } LIMIT[LLMPERF_PARAM_COUNT] = {
        [LLMPERF_PARAM_COMPUTE] = {0, 1.05}, [LLMPERF_PARAM_MEMORY] = {0, 1.05},
        [LLMPERF_PARAM_LINK] = {0, 1.05},    [LLMPERF_PARAM_NORM] = {0, INFINITY},
        [LLMPERF_PARAM_LAUNCH] = {-1, 1e3},  [LLMPERF_PARAM_SERIAL] = {-1, 1e3},
        [LLMPERF_PARAM_WORK] = {-1, 1e3},    [LLMPERF_PARAM_HOP] = {-1, 1e3},
    };
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++) {
        double value = entry->param[i];
        double least = LIMIT[i].above;
        bool legal = value <= LIMIT[i].most && (least < 0 ? value >= 0 : value > least);
        if (!legal)
            return llmperf_fail(error, LLMPERF_E_SPEC,
                                "calibration of %s: %s is %g; %s %g to %g is allowed",
                                llmperf_kind_name(kind), llmperf_param_name((llmperf_param)i), value,
                                least < 0 ? "from" : "above", least < 0 ? 0 : least, LIMIT[i].most);
    }
    uint8_t *slot = &calib->index[kind][regime][dtype];
    if (*slot == LLMPERF_CALIB_NO_ENTRY) {
        if (calib->entry_count >= LLMPERF_CALIB_ENTRIES_MAX)
            return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                                "a calibration holds at most %d fits", LLMPERF_CALIB_ENTRIES_MAX);
        *slot = (uint8_t)calib->entry_count++;
    }
    calib->entry[*slot] = *entry;
    return LLMPERF_OK;
}
