/* SPDX-License-Identifier: MIT */
/*
 * From a heap of samples to groups that are fitted one by one: which rows belong together, which are
 * cold, how good the result is. No GSL here.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit_internal.h"
#include "calib_object.h"
#include "fits.h"
#include "time_op.h"
#include "entry.h"

enum { POINTS = 3000, FOLDS = 10, FEW = 8, CLASS_LEAST = 100, REPEATS_MOST = 1000 };

static const double TOO_FAST = 0.95;     /* of the roofline: faster is not this operator */
static const double COMMON_CI = 0.05;    /* an interval of this share halves the weight */
static const double SPLIT_GAIN = 0.95;   /* of the error: worth a fit of its own */
static const double BUS_SPREAD = 0.25;   /* of log(time), between hosts */
static const double MOST_RESIDUAL = 1.5; /* a factor of 4.5: says nothing about any operator */
static const double MOVES = 1.25;        /* of two rates of memory: tells them from the cores' */
static const double STREAM_FRAC = 0.15;  /* of the usual rate: the same speed of memory */
static const double Z90 = 1.6448536269514722;

void llmperf_fits_free(llmperf_fits *fits)
{
    if (!fits)
        return;
    free(fits->fit);
    memset(fits, 0, sizeof *fits);
}

double fit_half_width(const llmperf_calib_entry *entry, const double dlog[LLMPERF_PARAM_COUNT],
                      double z)
{
    double variance = entry->residual * entry->residual;
    int at[LLMPERF_PARAM_COUNT], count = 0; /* the others have no covariance */
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++)
        if (entry->fitted & UINT64_C(1) << i)
            at[count++] = i;
    for (int a = 0; a < count; a++)
        for (int b = 0; b < count; b++)
            variance += dlog[at[a]] * entry->covariance[at[a]][at[b]] * dlog[at[b]];
    return z * sqrt(fmax(0, variance));
}

/* ---- what a sample belongs to ------------------------------------------------------------------------- */

/* Vector arithmetic, as config_init() chooses it. */
static llmperf_dtype vector_dtype(const llmperf_hw *hw)
{
    static const llmperf_dtype order[] = {LLMPERF_DTYPE_FP32, LLMPERF_DTYPE_BF16,
                                          LLMPERF_DTYPE_FP16, LLMPERF_DTYPE_TF32,
                                          LLMPERF_DTYPE_FP64};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (hw->peak_flop_per_s[order[i]] > 0)
            return order[i];
    return LLMPERF_DTYPE_NONE;
}

static llmperf_op op_on(const llmperf_sample *s, const llmperf_hw *hw)
{
    llmperf_op op = s->op;
    if (op.kind == LLMPERF_KIND_ELEMENTWISE || op.kind == LLMPERF_KIND_GATHER)
        op.dtype = (uint8_t)vector_dtype(hw);
    return op;
}

/* The operator as the usual memory would have timed it: where a stream beside it took f times as long
 * as `stream` says, its bytes took f times as long as well, and stand for f times as many. */
static llmperf_op op_as_usual(const llmperf_sample *s, const llmperf_hw *hw, double stream)
{
    llmperf_op op = op_on(s, hw);
    if (!(stream > 0 && s->stream_bytes_per_s > 0))
        return op;
    return llmperf_op_slowed(&op, stream / s->stream_bytes_per_s);
}

/* How far values go to one side of 0 (`sign`), for a 90 % interval: all but a twentieth of them, or as
 * their root mean square has it where fewer are further off. */
static double reach_of(double *values, int64_t count, double sign)
{
    double squares = 0;
    for (int64_t i = 0; i < count; i++)
        squares += fmax(0, sign * values[i]) * fmax(0, sign * values[i]);
    fit_sort(values, count);
    double far = sign * fit_quantile(values, count, sign > 0 ? 0.95 : 0.05);
    return fmax(fmax(0, far), Z90 * sqrt(squares / (double)count));
}

/* The usual rate of the stream beside the samples of a part (mean, of logarithms, of those within
 * STREAM_FRAC of their median), and by how much it was slower and faster, as logarithms that a 90 %
 * interval should hold. 0: no stream ran. False: out of memory. */
static bool streams_of(const llmperf_samples *all, const llmperf_hw *hw, double *ret_usual,
                       double *ret_slower, double *ret_faster)
{
    double *rate = malloc((size_t)(all->count + 1) * sizeof *rate);
    double sum = 0;
    int64_t count = 0, near = 0;
    *ret_usual = *ret_slower = *ret_faster = 0;
    if (!rate)
        return false;
    for (int64_t i = 0; i < all->count; i++) {
        const llmperf_sample *s = &all->sample[i];
        const char *part = all->name[s->hw];
        if (s->stream_bytes_per_s > 0 && (!part[0] || llmperf_hw_is(hw, part)))
            rate[count++] = s->stream_bytes_per_s;
    }
    fit_sort(rate, count);
    double median = count > 0 ? rate[count / 2] : 0; /* one that was measured */
    for (int64_t i = 0; i < count; i++)
        if (rate[i] <= median * (1 + STREAM_FRAC) && rate[i] * (1 + STREAM_FRAC) >= median) {
            sum += log(rate[i]);
            near++;
        }
    double usual = sum / fmax(1, (double)near);
    for (int64_t i = 0; i < count; i++)
        rate[i] = usual - log(rate[i]); /* of the time */
    if (count > 0) {
        *ret_usual = exp(usual);
        *ret_slower = reach_of(rate, count, 1);
        *ret_faster = reach_of(rate, count, -1);
    }
    free(rate);
    return true;
}

/* Do groups of some size go over the host's bus? There the way depends on who shares it: a fit per
 * group size, a bridged pair's included. */
static bool meets_bus(const llmperf_hw *hw)
{
    int64_t beyond = hw->link.kind[0] && hw->link.domain > 0 ? hw->link.domain + 1 : 2;
    return llmperf_hw_link(hw, beyond) == &hw->pcie && hw->pcie.kind[0];
}

/* Is the host's bus all there is? Then a fit over all sizes serves those that were not measured. */
static bool is_on_bus(const llmperf_calib_key *key, const llmperf_hw *hw)
{
    return key->kind == LLMPERF_KIND_COLLECTIVE && llmperf_hw_link(hw, 2) == &hw->pcie;
}

static llmperf_calib_key key_of(const llmperf_sample *s, const llmperf_hw *hw,
                                const llmperf_fit_options *o)
{
    llmperf_op op = op_on(s, hw);
    llmperf_calib_key key = {
        .kind = op.kind, .regime = op.regime, .dtype = op.dtype, .stored = s->stored};
    key.experts = s->kind == LLMPERF_SAMPLE_MOE;
    key.block = s->block && !key.experts; /* expert kernels are named one by one */
    if (op.kind == LLMPERF_KIND_GEMM && o->gemv_apart && op.m == 1 && !s->stored && !key.experts)
        key.gemv = 1;
    if (op.kind == LLMPERF_KIND_COLLECTIVE) {
        key.collective = op.collective;
        if (meets_bus(hw))
            key.devices = op.devices;
    }
    return key;
}

static bool is_windowed(const llmperf_sample *s)
{
    return s->window > 0 && s->op.past_tokens + s->op.query_tokens > s->window;
}

static bool is_operator(const llmperf_sample *s)
{
    return (s->op.bytes > 0 || s->op.link_bytes > 0) && s->kind != LLMPERF_SAMPLE_ATTN_SCORES;
}

static bool is_wanted(const llmperf_samples *all, const llmperf_sample *s,
                      const llmperf_fit_options *o)
{
    const llmperf_sample_filter filter = {o->libraries, o->dtypes, o->kinds};
    return llmperf_sample_matches(all, s, &filter);
}

/* One weight matrix, one head layout (in a mixed launch with an octave of the prompt's tokens and of
 * the sequences beside it): what a fit on other shapes has not seen. */
static uint64_t family_of(const llmperf_sample *s)
{
    const llmperf_op *op = &s->op;
    double size = op->kind == LLMPERF_KIND_COLLECTIVE    ? op->link_bytes
                  : op->kind == LLMPERF_KIND_ELEMENTWISE ? op->bytes
                                                         : 0;
    const double shape[] = {
        op->n,        op->k,     op->heads,           op->kv_heads,
        op->head_dim, s->window, (double)op->devices, size > 0 ? floor(log2(size)) : 0};
    uint64_t hash = fit_hash(FIT_HASH_START, shape, sizeof shape);
    if (op->regime == LLMPERF_REGIME_MIXED) {
        const double batch[] = {floor(log2(op->query_tokens)), floor(log2(op->lone_sequences))};
        hash = fit_hash(hash, batch, sizeof batch);
    }
    return hash ^ hash >> 31;
}

static bool is_disturbed(const llmperf_sample *s)
{
    return (s->flags &
            (LLMPERF_SAMPLE_CONTENDED | LLMPERF_SAMPLE_THROTTLED | LLMPERF_SAMPLE_UNSTEADY)) != 0;
}

/* ---- groups --------------------------------------------------------------------------------------------- */

typedef struct group {
    llmperf_calib_key key;
    char library[48];
    int32_t version; /* of the first sample */
    bool versions_differ;
    const llmperf_sample **sample; /* the usable ones */
    int64_t count, capacity;
    int64_t warm, refused, windowed, disturbed;
    double stream_bytes_per_s; /* as usual; 0 = not known */
} group;

/* Logarithms of the ratios of times of one operator that was measured more than once. */
typedef struct repeats {
    double sum, squares;
    int64_t pairs;
    double drift; /* variance of what all of a run have in common */
} repeats;

typedef struct grouping {
    const llmperf_samples *all;
    const llmperf_hw *hw;
    llmperf_fit_options options;
    group *group;
    int count;
    int64_t foreign, used;
    char other_part[LLMPERF_NAME_MAX], device[LLMPERF_NAME_MAX];
    uint64_t hash;
    bool throttled, contended;
    double stream_bytes_per_s, stream_slower, stream_faster; /* streams_of() */
    bool crowded;                                            /* more than GROUPS_MAX of them */
} grouping;

enum { GROUPS_MAX = 512 };

static void grouping_free(grouping *g)
{
    for (int i = 0; g->group && i < g->count; i++)
        free(g->group[i].sample);
    free(g->group);
}

static group *group_for(grouping *g, const llmperf_sample *s, llmperf_calib_key key)
{
    char library[48];
    snprintf(library, sizeof library, "%.47s", g->all->name[s->library]);
    for (int i = g->count - 1; i >= 0; i--)
        if (calib_same_key(&g->group[i].key, &key) && strcmp(g->group[i].library, library) == 0)
            return &g->group[i];
    if (g->count == GROUPS_MAX)
        return NULL;
    group *new_one = &g->group[g->count++];
    *new_one =
        (group){.key = key, .version = s->version, .stream_bytes_per_s = g->stream_bytes_per_s};
    memcpy(new_one->library, library, sizeof library);
    return new_one;
}

static bool group_push(group *own, const llmperf_sample *s)
{
    if (own->count == own->capacity) {
        int64_t capacity = own->capacity ? 2 * own->capacity : 256;
        const llmperf_sample **grown = realloc(own->sample, (size_t)capacity * sizeof *grown);
        if (!grown)
            return false;
        own->sample = grown;
        own->capacity = capacity;
    }
    own->sample[own->count++] = s;
    return true;
}

/* Files a sample in the group of a key; false when out of memory. */
static bool file_under(grouping *g, const llmperf_sample *s, llmperf_calib_key key)
{
    group *own = group_for(g, s, key);
    if (!own) {
        g->crowded = true;
        return true;
    }
    own->versions_differ |= s->version != own->version;
    if (is_windowed(s) && !g->options.windowed) {
        own->windowed++;
        return true;
    }
    if (!llmperf_sample_is_cold(s, g->hw)) {
        own->warm++;
        return true;
    }
    llmperf_op op = op_on(s, g->hw);
    bool timeable = op.kind == LLMPERF_KIND_COLLECTIVE
                        ? llmperf_hw_link(g->hw, op.devices) != NULL
                        : op.flop <= 0 || g->hw->peak_flop_per_s[op.dtype] > 0;
    if (!timeable || s->time_s < TOO_FAST * time_op(&op, g->hw, NULL, NULL, NULL)) {
        bool latency_alone = timeable && op.kind == LLMPERF_KIND_COLLECTIVE;
        /* the datasheet's latency is a default, no floor */
        if (!latency_alone || s->time_s < TOO_FAST * op.link_bytes /
                                              llmperf_hw_link(g->hw, op.devices)->bytes_per_s) {
            own->refused++;
            return true;
        }
    }
    own->disturbed += is_disturbed(s);
    return group_push(own, s);
}

/* Files a sample; false when out of memory. */
static bool file_sample(grouping *g, const llmperf_sample *s)
{
    if (!is_operator(s) || !is_wanted(g->all, s, &g->options))
        return true;
    const char *part = g->all->name[s->hw];
    if (part[0] && !llmperf_hw_is(g->hw, part)) {
        if (g->foreign++ == 0)
            snprintf(g->other_part, sizeof g->other_part, "%s", part);
        return true;
    }
    if (!g->device[0])
        snprintf(g->device, sizeof g->device, "%s", part);
    g->used++;
    g->hash = fit_hash(fit_hash_op(g->hash, &s->op), &s->time_s, sizeof s->time_s);
    g->throttled |= (s->flags & LLMPERF_SAMPLE_THROTTLED) != 0;
    g->contended |= (s->flags & LLMPERF_SAMPLE_CONTENDED) != 0;
    llmperf_calib_key key = key_of(s, g->hw, &g->options);
    if (!file_under(g, s, key))
        return false;
    if (key.devices == 0 || !is_on_bus(&key, g->hw))
        return true;
    key.devices = 0; /* with the other sizes of group */
    return file_under(g, s, key);
}

/* Disturbed samples go, unless little else is there. */
static void drop_disturbed(group *own)
{
    int64_t clean = own->count - own->disturbed, kept = 0;
    if (own->disturbed == 0 || clean < FEW || clean < own->count / 3)
        return;
    for (int64_t i = 0; i < own->count; i++)
        if (!is_disturbed(own->sample[i]))
            own->sample[kept++] = own->sample[i];
    own->refused += own->disturbed;
    own->count = kept;
    own->disturbed = 0;
}

static llmperf_status make_groups(const llmperf_samples *samples, const llmperf_hw *hw,
                                  const llmperf_fit_options *options, grouping *ret,
                                  llmperf_error *error)
{
    grouping g = {.all = samples, .hw = hw, .hash = FIT_HASH_START};
    if (options)
        g.options = *options;
    g.options.points = g.options.points > 0 ? g.options.points : POINTS;
    g.options.folds = g.options.folds > 0 ? g.options.folds : FOLDS;
    g.group = calloc(GROUPS_MAX, sizeof *g.group);
    bool good = g.group != NULL &&
                streams_of(samples, hw, &g.stream_bytes_per_s, &g.stream_slower, &g.stream_faster);
    for (int64_t i = 0; good && i < samples->count; i++)
        good = file_sample(&g, &samples->sample[i]);
    if (!good) {
        grouping_free(&g);
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    if (g.crowded) {
        grouping_free(&g);
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "the samples need more than %d fits (library, kind, format, variant); "
                            "at most as many are allowed: choose some by library, kind or format",
                            GROUPS_MAX);
    }
    for (int i = 0; i < g.count; i++)
        drop_disturbed(&g.group[i]);
    *ret = g;
    return LLMPERF_OK;
}

/* ---- how good -------------------------------------------------------------------------------------------- */

/* Terms of the roofline beside the measured time. */
typedef struct bare {
    double compute_s, memory_s, time_s;
} bare;

static double constant_error(const bare *b, int64_t count, double e_c, double e_m)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += fabs(fmax(b[i].compute_s / e_c, b[i].memory_s / e_m) / b[i].time_s - 1);
    return sum / (double)count;
}

/* The baseline with two numbers: the roofline with its peaks scaled so that the mean error is least;
 * each number in turn, on a grid of 2 %. */
static double best_constants(const bare *b, int64_t count)
{
    double e[2] = {1, 1}, best = constant_error(b, count, 1, 1);
    for (int turn = 0; turn < 4; turn++) {
        double *own = &e[turn % 2], kept = *own;
        for (int i = 1; i <= 52; i++) {
            *own = 0.02 * i;
            double error = constant_error(b, count, e[0], e[1]);
            if (error < best) {
                best = error;
                kept = *own;
            }
        }
        *own = kept;
    }
    return best;
}

static void range_of(llmperf_calib_quality *q, const llmperf_op *op, double time_s, bool first)
{
    double bytes = op->kind == LLMPERF_KIND_COLLECTIVE ? op->link_bytes : op->bytes;
    q->flop_least = first ? op->flop : fmin(q->flop_least, op->flop);
    q->flop_most = first ? op->flop : fmax(q->flop_most, op->flop);
    q->bytes_least = first ? bytes : fmin(q->bytes_least, bytes);
    q->bytes_most = first ? bytes : fmax(q->bytes_most, bytes);
    q->time_least_s = first ? time_s : fmin(q->time_least_s, time_s);
    q->time_most_s = first ? time_s : fmax(q->time_most_s, time_s);
}

typedef struct family_residual {
    uint64_t family;
    double residual;
} family_residual;

static int by_family(const void *a, const void *b)
{
    const family_residual *x = a, *y = b;
    return x->family < y->family ? -1 : x->family > y->family;
}

/* Intraclass correlation of residuals: one-way analysis of variance, groups of unequal size. */
static double correlation_of(family_residual *r, int64_t count, double limit, int64_t *ret_groups)
{
    double mean = 0, between = 0, within = 0, squares = 0;
    int64_t groups = 0;
    qsort(r, (size_t)count, sizeof *r, by_family);
    for (int64_t i = 0; i < count; i++) {
        r[i].residual = fmin(fmax(r[i].residual, -limit), limit);
        mean += r[i].residual / (double)count;
    }
    for (int64_t i = 0, end; i < count; i = end) {
        double sum = 0;
        for (end = i; end < count && r[end].family == r[i].family; end++)
            sum += r[end].residual;
        double size = (double)(end - i), own = sum / size;
        for (int64_t k = i; k < end; k++)
            within += (r[k].residual - own) * (r[k].residual - own);
        between += size * (own - mean) * (own - mean);
        squares += size * size;
        groups++;
    }
    *ret_groups = groups;
    if (groups < 2 || count <= groups)
        return 1; /* nothing tells: as one */
    double size = ((double)count - squares / (double)count) / (double)(groups - 1);
    double ms_between = between / (double)(groups - 1);
    double ms_within = within / (double)(count - groups);
    double rho = (ms_between - ms_within) / (ms_between + (size - 1) * ms_within);
    return rho > 0 ? fmin(rho, 1) : 0;
}

/* The baseline of a group, for an entry that stays. False: out of memory. */
static bool put_constants(const group *own, const llmperf_hw *hw, llmperf_calib_quality *q)
{
    bare *terms = malloc((size_t)(own->count + 1) * sizeof *terms);
    if (!terms)
        return false;
    for (int64_t i = 0; i < own->count; i++) {
        llmperf_op op = op_on(own->sample[i], hw);
        llmperf_time t;
        time_op(&op, hw, NULL, &t, NULL);
        terms[i] = (bare){t.compute_s, fmax(t.memory_s, t.link_s), own->sample[i]->time_s};
    }
    q->constant_frac = own->count > 0 ? best_constants(terms, own->count) : 0;
    free(terms);
    return true;
}

/* Errors of an entry on the samples of a group; residual and correlation too when asked. */
static bool judge(const group *own, const llmperf_hw *hw, const llmperf_calib_entry *entry,
                  llmperf_calib_quality *q, double *ret_residual, double *ret_rho,
                  double *ret_coverage)
{
    int64_t n = own->count;
    if (n < 1)
        return false;
    double *error = malloc((size_t)n * sizeof *error);
    family_residual *r = malloc((size_t)n * sizeof *r);
    llmperf_calib *calib = malloc(sizeof *calib);
    bool good = error && r && calib;
    if (!good)
        goto out;
    fit_calib_of(entry, calib);
    double sum = 0, bias = 0, squares = 0, roofline = 0, inside = 0;
    for (int64_t i = 0; i < n; i++) {
        const llmperf_sample *s = own->sample[i];
        llmperf_op op = op_on(s, hw);
        llmperf_gradient g;
        double ideal = time_op(&op, hw, NULL, NULL, NULL);
        llmperf_op then = op_as_usual(s, hw, own->stream_bytes_per_s);
        double predicted = time_op(&then, hw, calib, NULL, &g);
        double ratio = predicted / s->time_s, residual = -log(ratio);
        error[i] = fabs(ratio - 1);
        sum += error[i];
        bias += ratio - 1;
        squares += residual * residual;
        roofline += fabs(ideal / s->time_s - 1);
        if (ret_coverage)
            inside += fabs(residual) <= fit_half_width(entry, g.dlog[0], Z90);
        r[i] = (family_residual){family_of(s), residual};
        range_of(q, &op, s->time_s, i == 0);
    }
    double count = (double)n;
    q->samples = n;
    q->warm = own->warm;
    q->refused = own->refused + own->windowed;
    q->mean_frac = sum / count;
    q->bias_frac = bias / count;
    q->rms_log = sqrt(squares / count);
    q->roofline_frac = roofline / count;
    if (ret_coverage)
        *ret_coverage = inside / count;
    fit_sort(error, n);
    q->median_frac = fit_quantile(error, n, 0.5);
    q->p90_frac = fit_quantile(error, n, 0.9);
    for (int64_t i = 0; i < n; i++)
        error[i] = fabs(r[i].residual);
    fit_sort(error, n);
    double p90 = fit_quantile(error, n, 0.9);
    double rho = correlation_of(r, n, 3 * p90 / Z90, &q->groups);
    if (ret_residual)
        *ret_residual = p90 / Z90; /* the 90 % interval holds 90 % of what was measured */
    if (ret_rho)
        *ret_rho = rho;
out:
    free(error);
    free(r);
    free(calib);
    return good;
}

/* ---- what the samples of one run do not show ---------------------------------------------------------------- */

typedef struct measured {
    const llmperf_sample *sample;
    int64_t at; /* in the order of the file */
} measured;

/* By what is measured alone, then as in the file. */
static int by_operator(const void *a, const void *b)
{
    const measured *x = a, *y = b;
    const llmperf_sample *s = x->sample, *t = y->sample;
    int order = memcmp(&s->op, &t->op, sizeof s->op);
    order = order                    ? order
            : s->copies != t->copies ? (s->copies > t->copies ? 1 : -1)
            : s->window != t->window ? (s->window > t->window ? 1 : -1)
                                     : (int)s->place - (int)t->place;
    return order;
}

static int by_operator_and_file(const void *a, const void *b)
{
    const measured *x = a, *y = b;
    int order = by_operator(a, b);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* log(measured / predicted) */
static double error_of(const group *own, const llmperf_hw *hw, const llmperf_calib *calib,
                       const llmperf_sample *s)
{
    llmperf_op op = op_as_usual(s, hw, own->stream_bytes_per_s);
    return log(s->time_s / time_op(&op, hw, calib, NULL, NULL));
}

/* Every sample beside the next one of the same operator, each beside what the fit makes of it: memory
 * may have changed meanwhile. False: out of memory. */
static bool repeats_of(const group *own, const llmperf_hw *hw, const llmperf_calib_entry *entry,
                       repeats *ret)
{
    repeats r = {0};
    *ret = r;
    if (own->count < 2 ||
        own->count > POINTS) /* other people's sweeps: nothing is repeated to learn this from */
        return true;
    measured *all = malloc((size_t)own->count * sizeof *all);
    llmperf_calib *calib = malloc(sizeof *calib);
    if (!all || !calib) {
        free(all);
        free(calib);
        return false;
    }
    fit_calib_of(entry, calib);
    for (int64_t i = 0; i < own->count; i++)
        all[i] = (measured){own->sample[i], i};
    qsort(all, (size_t)own->count, sizeof *all, by_operator_and_file);
    for (int64_t i = 1; i < own->count; i++) {
        if (by_operator(&all[i - 1], &all[i]) != 0)
            continue;
        double ratio =
            error_of(own, hw, calib, all[i].sample) - error_of(own, hw, calib, all[i - 1].sample);
        r.sum += ratio;
        r.squares += ratio * ratio;
        r.pairs++;
    }
    free(all);
    free(calib);
    *ret = r;
    if (r.pairs < 2)
        return true;
    /* what each does on its own is among the residuals already; their mean is not */
    double n = (double)r.pairs, mean = r.sum / n;
    double scatter = fmax(0, r.squares - n * mean * mean) / (n - 1);
    ret->drift = fmax(0, mean * mean - scatter / n);
    return true;
}

/* The 95 % point of Student's distribution beside that of the normal one (Cornish and Fisher). */
static double student_factor(double freedom)
{
    const double z = Z90, z3 = z * z * z, z5 = z3 * z * z;
    return 1 +
           ((z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom)) / z;
}

/*
 * The residual of the fitted samples says too little of other ones: a fit of few samples follows
 * them (degrees of freedom, Student), other shapes agree less (those left out), and another run on
 * the same machine is off as a whole (operators measured twice; that part is common to all).
 * `all` = drift and pairs of every group: one with few pairs leans on them as on three of its own.
 */
static void allow_for_other_runs(llmperf_calib_entry *entry, const repeats *own, const repeats *all)
{
    enum { LEAN = 3 };
    int fitted = 0;
    for (uint64_t rest = entry->fitted; rest; rest &= rest - 1)
        fitted++;
    double n = (double)entry->quality.samples, freedom = fmax(1, n - fitted);
    double residual = entry->residual * sqrt(n / freedom) * student_factor(freedom);
    /* mean |x| of a normal distribution = 0.798 standard deviations */
    residual = fmax(residual, log1p(entry->quality.left_out_frac) / 0.798);
    double pairs = (double)own->pairs;
    double drift = (pairs * own->drift + LEAN * all->drift) / (pairs + LEAN);
    double total = residual * residual + drift;
    if (total > 0)
        entry->correlation = (entry->correlation * residual * residual + drift) / total;
    entry->residual = sqrt(total);
    size_t used = strlen(entry->remarks);
    if (own->pairs > 0 && used + 64 < sizeof entry->remarks)
        snprintf(entry->remarks + used, sizeof entry->remarks - used,
                 "%s%lld measured twice: %+.1f %%", used ? "; " : "", (long long)own->pairs,
                 100 * own->sum / pairs);
}

/* ---- the fit of a group ---------------------------------------------------------------------------------- */

/* Rows of one family are no independent evidence: the design effect widens the covariance. */
static void widen(llmperf_calib_entry *entry)
{
    const llmperf_calib_quality *q = &entry->quality;
    double size = q->groups > 0 ? (double)q->points / (double)q->groups : 1;
    double effect = 1 + fmax(0, size - 1) * entry->correlation;
    for (int a = 0; a < LLMPERF_PARAM_COUNT; a++)
        for (int b = 0; b < LLMPERF_PARAM_COUNT; b++)
            entry->covariance[a][b] *= effect;
}

/* How much longer bytes take (logarithm) when memory takes exp(slower) times as long as usual. */
static double bytes_slowed(const llmperf_calib_entry *entry, double slower)
{
    double m4 = pow(1 / entry->param[LLMPERF_PARAM_MEMORY], 4);
    double f4 = pow(entry->param[LLMPERF_PARAM_FEED], 4);
    return log((m4 * exp(4 * slower) + f4) / (m4 + f4)) / 4;
}

/*
 * A memory whose speed changes is an efficiency that is known the less: by so much that a 90 % interval
 * reaches what memory as slow, or as fast, as it was makes of bytes' time. Where cores hide memory (feed)
 * time bends upwards as that slows, and the slope at the usual rate would say too little.
 */
static void allow_for_memory(llmperf_calib_entry *entry, double slower, double faster)
{
    const llmperf_param memory = LLMPERF_PARAM_MEMORY;
    if (!(entry->fitted & UINT64_C(1) << memory))
        return;
    double m4 = pow(1 / entry->param[memory], 4), f4 = pow(entry->param[LLMPERF_PARAM_FEED], 4);
    double slope = m4 / (m4 + f4); /* d log(time of bytes) / d log(memory's) */
    double reach = fmax(bytes_slowed(entry, slower), -bytes_slowed(entry, -faster));
    double off = entry->param[memory] * reach / (Z90 * slope);
    entry->covariance[memory][memory] += off * off;
}

/* Hosts put their slots behind bridges in ways of their own: what a host bus gives to a group size
 * that was not measured lies between what a bridge gives and what half of the slots see of it. */
static void allow_for_bus(llmperf_calib_entry *entry)
{
    double residual = entry->residual, total = residual * residual + BUS_SPREAD * BUS_SPREAD;
    entry->correlation =
        (entry->correlation * residual * residual + BUS_SPREAD * BUS_SPREAD) / total;
    entry->residual = sqrt(total);
}

static int fold_count(const fit_row *row, int64_t count, int most)
{
    uint64_t seen[64];
    int families = 0;
    for (int64_t i = 0; i < count && families < most; i++) {
        bool known = false;
        for (int k = 0; k < families; k++)
            known |= seen[k] == row[i].family;
        if (!known)
            seen[families++] = row[i].family;
    }
    return families;
}

/* A part of a group: the samples that `is_in` picks; false: out of memory. */
static bool part_of(const group *whole, bool (*is_in)(const llmperf_sample *s, int64_t which),
                    int64_t which, group *ret)
{
    group part = *whole;
    part.sample = NULL;
    part.count = part.capacity = 0;
    part.warm = part.refused = part.windowed = part.disturbed = 0; /* counted with the whole */
    for (int64_t i = 0; i < whole->count; i++)
        if (is_in(whole->sample[i], which) && !group_push(&part, whole->sample[i])) {
            free(part.sample);
            return false;
        }
    *ret = part;
    return true;
}

static bool has_heads(const llmperf_sample *s, int64_t heads)
{
    return head_group_of(&s->op) == (llmperf_head_group)heads;
}

static bool has_size(const llmperf_sample *s, int64_t size)
{
    return head_size_of(&s->op) == (llmperf_head_size)size;
}

static bool has_any(const llmperf_sample *s, int64_t which)
{
    (void)which;
    return s != NULL;
}

static bool has_version(const llmperf_sample *s, int64_t version)
{
    return s->version == version;
}

/* By what the kernels of attention may differ: classes of query heads per KV head, of head sizes. */
typedef enum head_class { BY_GROUP, BY_SIZE } head_class;

/* The samples of one class; false: out of memory. */
static bool class_of(const group *whole, head_class by, int value, group *ret)
{
    if (!part_of(whole, by == BY_GROUP ? has_heads : has_size, value, ret))
        return false;
    *(by == BY_GROUP ? &ret->key.heads : &ret->key.head_size) = (uint8_t)value;
    return true;
}

/* The samples of a key's classes; false: out of memory. */
static bool classes_of(const group *whole, const llmperf_calib_key *key, group *ret)
{
    group by_group;
    if (key->head_size == LLMPERF_HEAD_SIZE_ANY)
        return class_of(whole, BY_GROUP, key->heads, ret);
    if (key->heads == LLMPERF_HEADS_ANY)
        return class_of(whole, BY_SIZE, key->head_size, ret);
    if (!class_of(whole, BY_GROUP, key->heads, &by_group))
        return false;
    bool good = class_of(&by_group, BY_SIZE, key->head_size, ret);
    free(by_group.sample);
    return good;
}

/* The samples of one version of the library; false: out of memory. */
static bool version_of(const group *whole, int32_t version, group *ret)
{
    if (!part_of(whole, has_version, version, ret))
        return false;
    ret->version = version;
    ret->versions_differ = false;
    return true;
}

/* What fits nothing is no fit. */
static void refuse_disagreement(llmperf_fit_one *one)
{
    if (one->status != LLMPERF_OK || one->entry.residual <= MOST_RESIDUAL)
        return;
    one->status = LLMPERF_E_FIT;
    snprintf(one->why, sizeof one->why,
             "the samples disagree by a factor of %.3g with each other: measured under contention?",
             exp(fmin(one->entry.residual, 50)));
}

static llmperf_status fit_group(const grouping *g, const group *own, llmperf_fit_one *one,
                                llmperf_error *error)
{
    llmperf_error why = {0};
    fit_row *row = malloc((size_t)(own->count + 1) * sizeof *row);
    if (!row)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    fit_problem problem = {.hw = g->hw,
                           .key = own->key,
                           .row = row,
                           .count = own->count,
                           .plain = g->options.plain,
                           .points = g->options.points,
                           .jobs = g->options.jobs};
    int most = g->options.folds < 64 ? g->options.folds : 64;
    double slowest = 0, fastest = 0; /* streams beside the samples: s/byte, bytes/s */
    for (int64_t i = 0; i < own->count; i++) {
        const llmperf_sample *s = own->sample[i];
        double ci = s->ci_s / s->time_s / COMMON_CI;
        uint64_t family = family_of(s);
        row[i] = (fit_row){.op = op_as_usual(s, g->hw, own->stream_bytes_per_s),
                           .log_time = log(s->time_s),
                           .weight = 1 / (1 + ci * ci),
                           .family = family,
                           .fold = (int)(family % (uint64_t)most)};
        problem.many_devices |= row[i].op.devices != row[0].op.devices;
        problem.many_sizes |= row[i].op.head_dim != row[0].op.head_dim;
        slowest = fmax(slowest, s->stream_bytes_per_s > 0 ? 1 / s->stream_bytes_per_s : 0);
        fastest = fmax(fastest, s->stream_bytes_per_s);
    }
    problem.memory_moves = slowest * fastest > MOVES;
    problem.folds = fold_count(row, own->count, most) > 1 ? most : 0;
    one->status = fit_solve(&problem, &one->entry, &one->at_bound, &why);
    free(row);
    if (one->status == LLMPERF_E_MEMORY)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    if (one->status == LLMPERF_OK && !judge(own, g->hw, &one->entry, &one->entry.quality,
                                            &one->entry.residual, &one->entry.correlation, NULL))
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    if (one->status == LLMPERF_OK)
        widen(&one->entry);
    refuse_disagreement(one);
    if (one->status != LLMPERF_OK && !one->why[0])
        snprintf(one->why, sizeof one->why, "%.250s (%lld warm, %lld faster than the roofline%s)",
                 why.text, (long long)own->warm, (long long)own->refused,
                 own->windowed ? ", windows left out" : "");
    return LLMPERF_OK;
}

static double summed_error(const llmperf_fit_one *one, int64_t count)
{
    const llmperf_calib_quality *q = &one->entry.quality;
    return (q->left_out_frac > 0 ? q->left_out_frac : q->mean_frac) * (double)count;
}

/* A fit of `own` with key, library and version filled in. */
static llmperf_status fit_one(const grouping *g, const group *own, llmperf_fit_one *one,
                              llmperf_error *error)
{
    memset(one, 0, sizeof *one);
    one->entry.key = own->key;
    memcpy(one->entry.library, own->library, sizeof own->library);
    if (!own->versions_differ)
        snprintf(one->entry.version, sizeof one->entry.version, "%.47s",
                 g->all->name[own->version]);
    return fit_group(g, own, one, error);
}

/*
 * Attention of a library may be several kernels, by query heads per KV head and by head size. Where
 * fits of the classes apart leave a twentieth less error on shapes that they have not seen, they take the
 * place of the one fit; `one` is that one, then the first of *ret_count.
 */
static llmperf_status split_by(const grouping *g, const group *own, head_class by,
                               llmperf_fit_one *one, int *ret_count, llmperf_error *error)
{
    enum { CLASSES = 4 };
    int parts = 0;
    double apart = 0;
    int64_t covered = 0;
    llmperf_fit_one *part = malloc(CLASSES * sizeof *part);
    llmperf_status status = part ? LLMPERF_OK : LLMPERF_E_MEMORY;
    for (int value = 1; value < CLASSES && status == LLMPERF_OK; value++) {
        group some;
        if (!class_of(own, by, value, &some)) {
            status = LLMPERF_E_MEMORY;
            break;
        }
        if (some.count >= CLASS_LEAST) {
            status = fit_one(g, &some, &part[parts], error);
            if (status == LLMPERF_OK && part[parts].status == LLMPERF_OK) {
                apart += summed_error(&part[parts], some.count);
                covered += some.count;
                parts++;
            }
        }
        free(some.sample);
    }
    bool all = covered > own->count - CLASS_LEAST && parts > 1;
    if (status == LLMPERF_OK && all && apart < SPLIT_GAIN * summed_error(one, covered)) {
        part[0].entry.quality.warm = own->warm;
        part[0].entry.quality.refused = own->refused + own->windowed;
        memcpy(one, part, (size_t)parts * sizeof *part);
        *ret_count = parts;
    }
    free(part);
    if (status == LLMPERF_E_MEMORY)
        llmperf_fail(error, status, "out of memory");
    return status;
}

/* Room for a fit of each class of heads. */
enum { FITS_OF_GROUP = LLMPERF_HEADS_COUNT * LLMPERF_HEAD_SIZE_COUNT };

/* By groups of heads first (decode alone: a prompt's kernels have enough rows of any), then each of
 * these by head size. */
static llmperf_status split_heads(const grouping *g, const group *own, llmperf_fit_one *one,
                                  int *ret_count, llmperf_error *error)
{
    int groups = 1, made = 0;
    llmperf_status status = LLMPERF_OK;
    llmperf_fit_one *all = malloc(FITS_OF_GROUP * sizeof *all);
    if (!all)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    if (own->key.regime == LLMPERF_REGIME_DECODE)
        status = split_by(g, own, BY_GROUP, one, &groups, error);
    for (int i = 0; status == LLMPERF_OK && i < groups; i++) {
        group some = *own;
        int sizes = 1;
        if (groups > 1 && !class_of(own, BY_GROUP, one[i].entry.key.heads, &some)) {
            status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
            break;
        }
        all[made] = one[i];
        status = split_by(g, &some, BY_SIZE, &all[made], &sizes, error);
        made += sizes;
        if (groups > 1)
            free(some.sample);
    }
    if (status == LLMPERF_OK) {
        memcpy(one, all, (size_t)made * sizeof *all);
        *ret_count = made;
    }
    free(all);
    return status;
}

/* Order of versions as people number them: 0.5.9 < 0.5.10, 1.3.0rc5 < 1.3.0rc20 < 1.3.0. */
static int compare_versions(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            char *end_a, *end_b;
            unsigned long long x = strtoull(a, &end_a, 10), y = strtoull(b, &end_b, 10);
            if (x != y)
                return x < y ? -1 : 1;
            a = end_a;
            b = end_b;
        } else if (*a != *b) {
            return *a < *b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    if (*a == *b)
        return 0;
    /* the longer one is later, unless letters say that it comes before the release */
    bool early = isalpha((unsigned char)(*a ? *a : *b)) != 0;
    return (*a ? 1 : -1) * (early ? -1 : 1);
}

static bool has_one_size(const group *own)
{
    for (int64_t i = 1; i < own->count; i++)
        if (own->sample[i]->op.devices != own->sample[0]->op.devices)
            return false;
    return true;
}

enum { VERSIONS_MAX = 16, VERSION_LEAST = 15 };

typedef struct versions {
    int count, newest; /* newest: among those with enough samples; -1 = none */
    int32_t version[VERSIONS_MAX];
    int64_t samples[VERSIONS_MAX];
} versions;

static versions versions_of(const grouping *g, const group *own)
{
    versions v = {.newest = -1};
    int64_t most = 0;
    for (int64_t i = 0; i < own->count; i++) {
        int at = 0;
        while (at < v.count && v.version[at] != own->sample[i]->version)
            at++;
        if (at == VERSIONS_MAX)
            continue;
        v.version[at] = own->sample[i]->version;
        v.count += at == v.count;
        most = v.samples[at]++ >= most ? v.samples[at] : most;
    }
    for (int i = 0; i < v.count; i++)
        if (v.samples[i] >= VERSION_LEAST && 3 * v.samples[i] >= most &&
            (v.newest < 0 ||
             compare_versions(g->all->name[v.version[i]], g->all->name[v.version[v.newest]]) > 0))
            v.newest = i;
    return v;
}

static void say_version(llmperf_calib_entry *entry, int of)
{
    size_t used = strlen(entry->remarks), room = sizeof entry->remarks;
    snprintf(entry->remarks + used, room - used, "%sversion %s, the newest of %d that disagree",
             used ? "; " : "", entry->version, of);
}

/*
 * Versions of a library may run collectives in other ways. Where fits of the versions apart leave a
 * twentieth less error on what they have not seen than one of all, that of the newest version with enough
 * samples takes its place: it is what who plans today will run.
 */
static llmperf_status choose_version(const grouping *g, const group *own, llmperf_fit_one *one,
                                     llmperf_error *error)
{
    const versions v = versions_of(g, own);
    llmperf_status status = LLMPERF_OK;
    llmperf_fit_one *part = calloc(2, sizeof *part), *newest = part + 1;
    if (!part)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    newest->status = LLMPERF_E_FIT;
    double apart = 0;
    int64_t covered = 0;
    for (int i = 0; i < v.count && v.newest >= 0 && status == LLMPERF_OK; i++) {
        group some;
        if (!version_of(own, v.version[i], &some)) {
            status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
            break;
        }
        status = fit_one(g, &some, part, error);
        if (status == LLMPERF_OK && part->status == LLMPERF_OK) {
            apart += summed_error(part, some.count);
            covered += some.count;
            if (i == v.newest)
                *newest = *part;
        }
        free(some.sample);
    }
    if (status == LLMPERF_OK && newest->status == LLMPERF_OK &&
        apart < SPLIT_GAIN * summed_error(one, covered)) {
        newest->entry.quality.refused += own->refused;
        say_version(&newest->entry, v.count);
        *one = *newest;
    }
    free(part);
    return status;
}

/* The rows that an entry speaks of: those of its heads, and of its version where there are any. */
static bool rows_for(const grouping *g, const group *whole, const llmperf_calib_entry *entry,
                     group *ret)
{
    group some;
    bool all =
        entry->key.heads == LLMPERF_HEADS_ANY && entry->key.head_size == LLMPERF_HEAD_SIZE_ANY;
    if (all ? !part_of(whole, has_any, 0, &some) : !classes_of(whole, &entry->key, &some))
        return false;
    *ret = some;
    for (int64_t i = 0; i < some.count && entry->version[0]; i++) {
        int32_t version = some.sample[i]->version;
        if (strncmp(g->all->name[version], entry->version, sizeof entry->version - 1) != 0)
            continue;
        bool good = version_of(&some, version, ret);
        free(some.sample);
        return good;
    }
    return true;
}

/* The fits of each group. */
typedef struct group_fits {
    llmperf_fit_one fit[FITS_OF_GROUP];
    repeats twice[FITS_OF_GROUP];
    int made;
    llmperf_status status;
    llmperf_error error;
} group_fits;

typedef struct all_groups {
    const grouping *g;
    group_fits *of;        /* g->count */
    int order[GROUPS_MAX]; /* the largest first: nothing long is left for the end */
} all_groups;

/* What the fit of a group cannot know alone: its baseline, and of which samples there are two. False: out
 * of memory. */
static bool put_baselines(const grouping *g, const group *own, group_fits *to)
{
    for (int i = 0; i < to->made; i++) {
        llmperf_calib_entry *entry = &to->fit[i].entry;
        group rows;
        if (to->fit[i].status != LLMPERF_OK)
            continue;
        if (!rows_for(g, own, entry, &rows))
            return false;
        bool good = put_constants(&rows, g->hw, &entry->quality) &&
                    repeats_of(&rows, g->hw, entry, &to->twice[i]);
        free(rows.sample);
        if (!good)
            return false;
    }
    return true;
}

static void fit_whole_group(void *context, int piece)
{
    const all_groups *all = context;
    const grouping *g = all->g;
    const int i = all->order[piece];
    const group *own = &g->group[i];
    group_fits *to = &all->of[i];
    llmperf_fit_one *one = to->fit;
    if (own->key.devices == 0 && is_on_bus(&own->key, g->hw) && has_one_size(own))
        return; /* the fit of that size says it all */
    to->made = 1;
    to->status = fit_one(g, own, one, &to->error);
    if (to->status != LLMPERF_OK || one->status != LLMPERF_OK)
        return;
    bool splits =
        !g->options.plain && own->key.kind == LLMPERF_KIND_ATTENTION &&
        (own->key.regime == LLMPERF_REGIME_PREFILL || own->key.regime == LLMPERF_REGIME_DECODE);
    if (splits)
        to->status = split_heads(g, own, one, &to->made, &to->error);
    else if (own->versions_differ && own->key.kind == LLMPERF_KIND_COLLECTIVE)
        to->status = choose_version(g, own, one, &to->error);
    if (to->status == LLMPERF_OK && !put_baselines(g, own, to))
        to->status = llmperf_fail(&to->error, LLMPERF_E_MEMORY, "out of memory");
}

/* To so many digits: files stay small, and nothing that is printed or bounded has more. */
static double rounded(double x, int digits)
{
    char text[40];
    if (x == 0 || !isfinite(x))
        return x;
    snprintf(text, sizeof text, "%.*e", digits - 1, x);
    return strtod(text, NULL);
}

static void round_fit(llmperf_calib_entry *e)
{
    enum { PARAM_DIGITS = 9, COVARIANCE_DIGITS = 8, DIGITS = 6 };
    llmperf_calib_quality *q = &e->quality;
    double *const others[] = {&e->residual,      &e->correlation,  &q->mean_frac, &q->median_frac,
                              &q->p90_frac,      &q->bias_frac,    &q->rms_log,   &q->left_out_frac,
                              &q->roofline_frac, &q->constant_frac};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        *others[i] = rounded(*others[i], DIGITS);
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++) {
        e->param[i] = rounded(e->param[i], PARAM_DIGITS);
        for (int k = 0; k < LLMPERF_PARAM_COUNT; k++)
            e->covariance[i][k] = rounded(e->covariance[i][k], COVARIANCE_DIGITS);
    }
}

/* Widens all fits by what other runs, another speed of memory and another host would change. */
static void allow_for_others(const grouping *g, group_fits *of)
{
    repeats all = {0};
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < of[i].made; k++) {
            all.drift += of[i].twice[k].drift * (double)of[i].twice[k].pairs;
            all.pairs += of[i].twice[k].pairs;
        }
    all.drift /= fmax(1, (double)all.pairs);
    for (int i = 0; i < g->count; i++)
        for (int k = 0; k < of[i].made; k++) {
            llmperf_fit_one *one = &of[i].fit[k];
            if (one->status != LLMPERF_OK)
                continue;
            allow_for_other_runs(&one->entry, &of[i].twice[k], &all);
            allow_for_memory(&one->entry, g->stream_slower, g->stream_faster);
            if (g->group[i].key.devices == 0 && is_on_bus(&g->group[i].key, g->hw))
                allow_for_bus(&one->entry);
            refuse_disagreement(one);
            round_fit(&one->entry);
        }
}

/* All groups over threads, their fits in the order of the groups. */
static llmperf_status fit_groups(grouping *g, llmperf_fits *fits, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    all_groups all = {.g = g, .of = calloc((size_t)g->count, sizeof *all.of)};
    if (!all.of)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    for (int i = 0; i < g->count; i++) {
        int at = i;
        for (; at > 0 && g->group[all.order[at - 1]].count < g->group[i].count; at--)
            all.order[at] = all.order[at - 1];
        all.order[at] = i;
    }
    fit_handler *handler = fit_begin();
    fit_spread(g->options.jobs, g->count, fit_whole_group, &all);
    fit_end(handler);
    allow_for_others(g, all.of);
    int count = 0;
    for (int i = 0; i < g->count; i++) {
        count += all.of[i].made;
        if (status == LLMPERF_OK && all.of[i].status != LLMPERF_OK) {
            status = all.of[i].status;
            if (error)
                *error = all.of[i].error;
        }
    }
    if (status == LLMPERF_OK) {
        fits->fit = calloc((size_t)count + 1, sizeof *fits->fit);
        if (!fits->fit)
            status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    for (int i = 0; status == LLMPERF_OK && i < g->count; i++) {
        memcpy(&fits->fit[fits->count], all.of[i].fit, (size_t)all.of[i].made * sizeof *fits->fit);
        fits->count += all.of[i].made;
    }
    free(all.of);
    return status;
}

llmperf_status llmperf_fit(const llmperf_samples *samples, const llmperf_hw *hw,
                           const llmperf_fit_options *options, llmperf_fits *ret_fits,
                           llmperf_error *error)
{
    NEEDS(samples && hw_is_sound(hw) && ret_fits, error);
    grouping g;
    llmperf_fits fits = {0};
    llmperf_status status = make_groups(samples, hw, options, &g, error);
    if (status != LLMPERF_OK)
        return status;
    if (status == LLMPERF_OK && g.count == 0) {
        status = g.foreign > 0
                     ? llmperf_fail(error, LLMPERF_E_FIT,
                                    "no sample is of %s; the %lld that were read are of '%s'",
                                    hw->name, (long long)g.foreign, g.other_part)
                     : llmperf_fail(error, LLMPERF_E_FIT,
                                    "no sample to fit: %lld were read, none matches what was asked",
                                    (long long)samples->count);
    }
    if (status == LLMPERF_OK)
        status = fit_groups(&g, &fits, error);
    if (status == LLMPERF_OK) {
        fits.foreign = g.foreign;
        fits.samples = g.used;
        fits.throttled = g.throttled;
        fits.contended = g.contended;
        fits.stream_bytes_per_s = g.stream_bytes_per_s;
        memcpy(fits.other_part, g.other_part, sizeof fits.other_part);
        memcpy(fits.device, g.device, sizeof fits.device);
        snprintf(fits.digest, sizeof fits.digest, "fnv1a64:%016llx", (unsigned long long)g.hash);
        *ret_fits = fits;
    }
    grouping_free(&g);
    return status;
}

/* Chunks over cached tokens are timed by the prefill and the decode fit, joined so that the time
 * meets both (docs/model.md); a fit of their own is for the table, unless both are missing. */
static bool is_joined(const llmperf_fits *fits, const llmperf_fit_one *one)
{
    if (one->entry.key.regime != LLMPERF_REGIME_EXTEND)
        return false;
    for (int i = 0; i < fits->count; i++) {
        llmperf_calib_key key = fits->fit[i].entry.key;
        bool end = key.regime == LLMPERF_REGIME_PREFILL || key.regime == LLMPERF_REGIME_DECODE;
        key.regime = LLMPERF_REGIME_EXTEND;
        key.heads = LLMPERF_HEADS_ANY; /* fits of all classes together time any of them */
        key.head_size = LLMPERF_HEAD_SIZE_ANY;
        if (end && fits->fit[i].status == LLMPERF_OK && calib_same_key(&key, &one->entry.key))
            return true;
    }
    return false;
}

static llmperf_status put_fits(const llmperf_fits *fits, llmperf_calib *calib, llmperf_error *error)
{
    for (int i = 0; i < fits->count; i++) {
        const llmperf_fit_one *one = &fits->fit[i];
        if (one->status != LLMPERF_OK || is_joined(fits, one))
            continue;
        for (int k = 0; k < i; k++) {
            char what[96];
            if (fits->fit[k].status == LLMPERF_OK &&
                calib_same_key(&fits->fit[k].entry.key, &one->entry.key))
                return llmperf_fail(error, LLMPERF_E_USAGE,
                                    "two libraries have a fit for %s: '%s' and '%s'; one is "
                                    "allowed in a calibration",
                                    llmperf_calib_describe(&one->entry.key, what, sizeof what),
                                    fits->fit[k].entry.library, one->entry.library);
        }
        llmperf_status status = calib_add(calib, &one->entry, error);
        if (status != LLMPERF_OK)
            return status;
    }
    int named = 0; /* the library's name is that of the products, whoever made the collectives */
    while (named < calib->entry_count && calib->entry[named].key.kind != LLMPERF_KIND_GEMM)
        named++;
    named = named < calib->entry_count ? named : 0;
    memcpy(calib->library, calib->entry[named].library, sizeof calib->library);
    snprintf(calib->digest, sizeof calib->digest, "%s", fits->digest);
    snprintf(calib->device, sizeof calib->device, "%s", fits->device);
    calib->samples = fits->samples;
    calib->throttled = fits->throttled;
    calib->contended = fits->contended;
    calib->stream_bytes_per_s = fits->stream_bytes_per_s;
    return LLMPERF_OK;
}

llmperf_status llmperf_fits_to_calib(const llmperf_fits *fits, llmperf_calib **ret_calib,
                                     llmperf_error *error)
{
    NEEDS(fits && ret_calib, error);
    llmperf_calib *calib = NULL;
    llmperf_status status = llmperf_calib_new(&calib, error);
    if (status == LLMPERF_OK)
        status = put_fits(fits, calib, error);
    if (status == LLMPERF_OK)
        *ret_calib = calib;
    else
        llmperf_calib_free(calib);
    return status;
}

bool llmperf_fit_judge(const llmperf_samples *samples, const llmperf_hw *hw,
                       const llmperf_fit_options *options, const llmperf_calib_entry *entry,
                       llmperf_fit_score *ret_score)
{
    if (!samples || !hw_is_sound(hw) || !entry || !ret_score)
        return false;
    grouping g;
    bool found = false;
    if (make_groups(samples, hw, options, &g, NULL) != LLMPERF_OK)
        return false;
    for (int i = 0; i < g.count && !found; i++) {
        llmperf_calib_key key = entry->key;
        group own;
        key.heads = LLMPERF_HEADS_ANY;
        key.head_size = LLMPERF_HEAD_SIZE_ANY;
        if (!calib_same_key(&g.group[i].key, &key) ||
            strcmp(g.group[i].library, entry->library) != 0)
            continue;
        if (!rows_for(&g, &g.group[i], entry, &own))
            break;
        memset(ret_score, 0, sizeof *ret_score);
        found =
            judge(&own, hw, entry, &ret_score->quality, NULL, NULL, &ret_score->coverage_frac) &&
            put_constants(&own, hw, &ret_score->quality);
        free(own.sample);
    }
    grouping_free(&g);
    return found;
}
