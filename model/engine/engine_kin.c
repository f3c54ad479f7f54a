/* SPDX-License-Identifier: MIT */
/*
 * What an engine makes of a part that nobody measured, from the parts that somebody did: the best
 * linear estimate of the logarithm of each parameter (kriging). docs/engines.md, "Which part".
 */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "config.h"
#include "entry.h"
#include "kin.h"
#include "llmperf/engine.h"
#include "engine_object.h"
#include "engine_field.h"

/* What an engine's parts have in common, of the variance between engines; the rest fades with the
 * distance, by 1/e at REACH. */
static const double COMMON = 0.7, REACH = 2;
/* Parts of one vendor whose generations are not known, of two vendors. */
static const double UNKNOWN = 0.5, OTHER_VENDOR = 0.1;
/* Any two processors, which run the same C code, and those whose cores have the same bandwidth and fp32
 * peak; between them by the octaves that these differ by. */
static const double PROCESSORS = 0.5, SAME_CORES = 0.95, CORE_REACH = 0.5;
/* Standard errors take a row as good to 10 %, the fits are good to 5 %. */
static const double HALF = 0.5;
/* Error of what the rows of a part tell best, of the spread between parts: versions, machines. */
static const double LEAST_ERROR = 0.5;
/* Variance of static runs to served ones, of that between engines: other years, other code. */
static const double OTHER_LOAD = 0.9;
/* Few rows are one report on one machine: a part with fewer than FULL_ROWS adds FEW (FULL_ROWS / rows - 1)
 * of that variance. */
static const double FULL_ROWS = 10, FEW = 0.3;
static const double LEAST = 1e-12; /* what stands for 0 in a logarithm */

/* Standard deviation of log(parameter): between all engines, and between like parts of one. From the
 * profiles themselves; docs/engines.md, "The fit". */
static const double BETWEEN_ENGINES[LLMPERF_ENGINE_PARAM_COUNT] = {
    [LLMPERF_ENGINE_WEIGHT] = 0.2,  [LLMPERF_ENGINE_KV] = 0.3,     [LLMPERF_ENGINE_HEADS] = 0.7,
    [LLMPERF_ENGINE_COMPUTE] = 0.4, [LLMPERF_ENGINE_STORED] = 0.3, [LLMPERF_ENGINE_ATTENTION] = 0.4,
    [LLMPERF_ENGINE_EXPERTS] = 1,   [LLMPERF_ENGINE_SCORE] = 1,    [LLMPERF_ENGINE_LAYER] = 1,
    [LLMPERF_ENGINE_STEP] = 1,      [LLMPERF_ENGINE_SEQUENCE] = 1, [LLMPERF_ENGINE_HOP] = 0.8,
    [LLMPERF_ENGINE_LINK] = 0.5,    [LLMPERF_ENGINE_REQUEST] = 1,  [LLMPERF_ENGINE_MIXED] = 0.5,
};
static const double BETWEEN_PARTS[LLMPERF_ENGINE_PARAM_COUNT] = {
    [LLMPERF_ENGINE_WEIGHT] = 0.12,  [LLMPERF_ENGINE_KV] = 0.2,
    [LLMPERF_ENGINE_HEADS] = 0.4,    [LLMPERF_ENGINE_COMPUTE] = 0.25,
    [LLMPERF_ENGINE_STORED] = 0.2,   [LLMPERF_ENGINE_ATTENTION] = 0.3,
    [LLMPERF_ENGINE_EXPERTS] = 0.5,  [LLMPERF_ENGINE_SCORE] = 0.5,
    [LLMPERF_ENGINE_LAYER] = 0.5,    [LLMPERF_ENGINE_STEP] = 0.7,
    [LLMPERF_ENGINE_SEQUENCE] = 0.7, [LLMPERF_ENGINE_HOP] = 0.5,
    [LLMPERF_ENGINE_LINK] = 0.4,     [LLMPERF_ENGINE_REQUEST] = 0.7,
    [LLMPERF_ENGINE_MIXED] = 0.4,
};

/* On processors: what is typical of them is known of few. */
static const double BETWEEN_PROCESSORS[LLMPERF_ENGINE_PARAM_COUNT] = {
    [LLMPERF_ENGINE_KV] = 0.5,           [LLMPERF_ENGINE_ATTENTION] = 0.7,
    [LLMPERF_ENGINE_DECODE] = 1,         [LLMPERF_ENGINE_WEIGHT_FP16] = 0.3,
    [LLMPERF_ENGINE_WEIGHT_BF16] = 0.3,  [LLMPERF_ENGINE_WEIGHT_8] = 0.3,
    [LLMPERF_ENGINE_WEIGHT_4] = 0.3,     [LLMPERF_ENGINE_COMPUTE_FP16] = 0.3,
    [LLMPERF_ENGINE_COMPUTE_BF16] = 0.3, [LLMPERF_ENGINE_COMPUTE_8] = 0.3,
    [LLMPERF_ENGINE_COMPUTE_4] = 0.3,    [LLMPERF_ENGINE_ROWS_FP16] = 1,
    [LLMPERF_ENGINE_ROWS_BF16] = 1,      [LLMPERF_ENGINE_ROWS_8] = 1,
    [LLMPERF_ENGINE_ROWS_4] = 1,
};

double engine_spread_on(const llmperf_hw *hw, llmperf_engine_param param, bool of_parts)
{
    static const double OF_PARTS = 0.6; /* like parts to engines, as of GPUs */
    if (is_processor(hw) && BETWEEN_PROCESSORS[param] > 0)
        return BETWEEN_PROCESSORS[param] * (of_parts ? OF_PARTS : 1);
    double spread = of_parts ? BETWEEN_PARTS[param] : BETWEEN_ENGINES[param];
    return spread > 0 ? spread : 1; /* of a parameter that says nothing on the part */
}

static double octaves(double a, double b)
{
    return a > 0 && b > 0 ? fabs(log2(a / b)) : 1;
}

static double processor_likeness(const llmperf_hw *a, const llmperf_hw *b)
{
    double cores = a->units > 0 && b->units > 0 ? a->units / b->units : 1;
    double bandwidth = octaves(a->mem_bytes_per_s, b->mem_bytes_per_s * cores);
    double peak = octaves(a->peak_flop_per_s[LLMPERF_DTYPE_FP32],
                          b->peak_flop_per_s[LLMPERF_DTYPE_FP32] * cores);
    return PROCESSORS + (SAME_CORES - PROCESSORS) * exp(-(bandwidth + peak) / 2 / CORE_REACH);
}

double engine_likeness(const llmperf_hw *a, const llmperf_hw *b)
{
    bool kin;
    if (is_processor(a) != is_processor(b))
        return 0;
    if (is_processor(a))
        return strcmp(a->name, b->name) == 0 ? 1 : processor_likeness(a, b);
    double distance = hw_distance(a, b, &kin);
    if (distance < 0)
        return strcasecmp(a->vendor, b->vendor) == 0 ? UNKNOWN : OTHER_VENDOR;
    return COMMON + (1 - COMMON) * exp(-distance / REACH);
}

bool engine_lends(const llmperf_engine_part *part)
{
    static const double LEAST_SHARE = 0.5;
    return part->param[LLMPERF_ENGINE_WEIGHT] >= LEAST_SHARE;
}

/* Who lends, how alike they are to one another and to the part that asks. */
enum { TRIANGLE = LLMPERF_ENGINE_PARTS_MAX * (LLMPERF_ENGINE_PARTS_MAX + 1) / 2 };

/* Where row i and column j <= i of a lower triangle lie. */
static int at(int i, int j)
{
    return i * (i + 1) / 2 + j;
}

typedef struct lenders {
    int count;
    const llmperf_engine_part *part[LLMPERF_ENGINE_PARTS_MAX];
    double like[TRIANGLE]; /* lower one, see at() */
    double to[LLMPERF_ENGINE_PARTS_MAX];
    double doubt[LLMPERF_ENGINE_PARTS_MAX]; /* variance that another load and few rows add */
} lenders;

static double doubt_of(const llmperf_engine_part *part, bool other_load)
{
    double rows = (double)part->quality.rows; /* 0 = not said */
    double few = rows > 0 && rows < FULL_ROWS ? FEW * (FULL_ROWS / rows - 1) : 0;
    return few + (other_load ? OTHER_LOAD : 0);
}

/* Index of the one most alike, of this load where there are any; -1 without any. */
static int gather_lenders(const llmperf_engine_part *const *parts,
                          const llmperf_hw *const *parts_hw, int count, const llmperf_hw *hw,
                          bool serving, lenders *ret)
{
    int from[LLMPERF_ENGINE_PARTS_MAX], nearest = -1;
    bool any_load = true;
    double best = 0;
    ret->count = 0;
    for (int i = 0; i < count; i++)
        if (strcmp(parts_hw[i]->name, hw->name) != 0 && engine_lends(parts[i]) &&
            engine_likeness(parts_hw[i], hw) > 0) {
            from[ret->count] = i;
            ret->part[ret->count++] = parts[i];
            any_load = any_load && parts[i]->serving != serving;
        }
    for (int i = 0; i < ret->count; i++) {
        const llmperf_hw *own = parts_hw[from[i]];
        bool counts = any_load || ret->part[i]->serving == serving;
        ret->doubt[i] = doubt_of(ret->part[i], !counts);
        ret->to[i] = engine_likeness(own, hw);
        for (int j = 0; j <= i; j++)
            ret->like[at(i, j)] = i == j ? 1 : engine_likeness(own, parts_hw[from[j]]);
        if (counts && ret->to[i] > best) {
            best = ret->to[i];
            nearest = from[i];
        }
    }
    return nearest;
}

/* x = (like + diag(noise))^-1 x, by Cholesky; false where the matrix is not positive. */
OWN_FRAME static bool solve(const lenders *l, const double *noise, double *x)
{
    double root[TRIANGLE];
    for (int i = 0; i < l->count; i++)
        for (int j = 0; j <= i; j++) {
            double sum = l->like[at(i, j)] + (i == j ? noise[i] : 0);
            for (int k = 0; k < j; k++)
                sum -= root[at(i, k)] * root[at(j, k)];
            if (i == j && !(sum > 0))
                return false;
            root[at(i, j)] = i == j ? sqrt(sum) : sum / root[at(j, j)];
        }
    for (int i = 0; i < l->count; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= root[at(i, k)] * x[k];
        x[i] /= root[at(i, i)];
    }
    for (int i = l->count - 1; i >= 0; i--) {
        for (int k = i + 1; k < l->count; k++)
            x[i] -= root[at(k, i)] * x[k];
        x[i] /= root[at(i, i)];
    }
    return true;
}

/* The estimate of one parameter: never beyond what lenders and the typical engine span. */
static double estimate(const lenders *l, const llmperf_hw *hw, llmperf_engine_param param)
{
    const double typical = log(fmax(engine_typical_on(hw, param), LEAST));
    const double spread = engine_spread_on(hw, param, false);
    const double least = LEAST_ERROR * engine_spread_on(hw, param, true);
    double noise[LLMPERF_ENGINE_PARTS_MAX], x[LLMPERF_ENGINE_PARTS_MAX];
    double low = 0, high = 0, sum = 0;
    for (int i = 0; i < l->count; i++) {
        double error = HALF * fmax(l->part[i]->error[param], least) / spread;
        noise[i] = error * error + l->doubt[i];
        x[i] = log(fmax(l->part[i]->param[param], LEAST)) - typical;
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    bool solved = solve(l, noise, x);
    for (int i = 0; solved && i < l->count; i++)
        sum += l->to[i] * x[i];
    double value = exp(typical + fmin(fmax(sum, low), high));
    return value <= 2 * LEAST ? 0 : value;
}

void engine_mean(const llmperf_engine_part *const *parts, const llmperf_hw *const *parts_hw,
                 int count, const llmperf_hw *hw, bool serving,
                 double ret_param[LLMPERF_ENGINE_PARAM_COUNT], int *ret_nearest)
{
    lenders l;
    *ret_nearest = gather_lenders(parts, parts_hw, count, hw, serving, &l);
    for (int k = 0; k < LLMPERF_ENGINE_PARAM_COUNT; k++)
        ret_param[k] = estimate(&l, hw, (llmperf_engine_param)k);
}
