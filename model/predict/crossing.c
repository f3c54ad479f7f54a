/* SPDX-License-Identifier: MIT */
/*
 * The batch from which on compute takes at least as long as memory: per dense operator, for the
 * dense operators together, and for the whole step. docs/model.md, "Compute-bound batch".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crossing.h"
#include "emit.h"
#include "entry.h"
#include "decode_steps.h"
#include "timing.h"
#include "config_object.h"

static const double LARGEST_BATCH = 1e15;

llmperf_crossing llmperf_gemm_crossing(double n, double k, double w, double a,
                                       double peak_flop_per_s, double bytes_per_s)
{
    llmperf_crossing crossing = {0};
    double ridge = peak_flop_per_s / bytes_per_s;
    double gain = 2 * n * k / ridge; /* bytes' worth of compute that one more row brings */
    double cost = a * (n + k);       /* bytes that it moves */
    if (gain <= cost) {
        snprintf(crossing.why, sizeof crossing.why,
                 "too small: a row moves as much as it computes at any batch");
        return crossing;
    }
    double exact = w * n * k / (gain - cost);
    if (exact > LARGEST_BATCH) {
        snprintf(crossing.why, sizeof crossing.why, "beyond any batch");
        return crossing;
    }
    crossing.exists = true;
    crossing.exact = exact;
    crossing.batch = (int64_t)fmax(1, ceil(exact));
    return crossing;
}

/* A sum that is affine in batch, as every dense transformer's is: at(b) = constant + b slope. */
typedef struct affine {
    double constant, slope;
} affine;

/* The product with whole tiles of rows: as large ones run, whatever the batch at hand. */
static llmperf_op of_whole_tiles(const llmperf_op *op)
{
    static const double ROWS = 256; /* the tallest tile of model/time/time.c */
    llmperf_op whole = *op;
    double times = ROWS / op->m;
    whole.m = ROWS;
    whole.flop *= times;
    whole.input_bytes *= times;
    whole.output_bytes *= times;
    whole.bytes = whole.weight_bytes + whole.input_bytes + whole.output_bytes;
    return whole;
}

/* Peak and bandwidth that an operator reaches with given rates; entries: of rates->calib. */
static void rates_of(const llmperf_op *op, const llmperf_hw *hw, const rate_set *rates,
                     const op_entries *entries, double *ret_peak, double *ret_bandwidth)
{
    *ret_peak = op->flop > 0 ? hw->peak_flop_per_s[op->dtype] : INFINITY;
    *ret_bandwidth = hw->mem_bytes_per_s;
    if (!rates->calib)
        return;
    llmperf_time time;
    const llmperf_op whole = op->kind == LLMPERF_KIND_GEMM && op->m > 0 ? of_whole_tiles(op) : *op;
    time_moved(&whole, hw, rates->calib, entries, rates->z, &time);
    if (time.compute_s > 0)
        *ret_peak = whole.flop / time.compute_s;
    if (time.memory_s > 0)
        *ret_bandwidth = whole.bytes / time.memory_s;
}

void reached_rates(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                   double *ret_peak, double *ret_bandwidth)
{
    const rate_set rates = {calib, 0};
    const op_entries entries = entries_of(calib, op);
    rates_of(op, hw, &rates, &entries, ret_peak, ret_bandwidth);
}

static llmperf_crossing affine_crossing(affine compute, affine memory, const char *why)
{
    llmperf_crossing crossing = {0};
    double gain = compute.slope - memory.slope, gap = memory.constant - compute.constant;
    /* a slope that rounding alone makes positive is no crossing */
    if (gain <= 1e-12 * memory.slope || gap / gain > LARGEST_BATCH) {
        snprintf(crossing.why, sizeof crossing.why, "%s", why);
        return crossing;
    }
    crossing.exists = true;
    crossing.exact = fmax(0, gap / gain);
    crossing.batch = (int64_t)fmax(1, ceil(crossing.exact * (1 - 1e-9)));
    return crossing;
}

static bool same_gemm(const llmperf_op_crossing *known, const llmperf_op *op)
{
    return known->id == op->id && known->n == op->n && known->k == op->k;
}

static bool is_expert_gemm(const llmperf_op *op)
{
    return op->id == LLMPERF_OP_MOE_GATE_UP || op->id == LLMPERF_OP_MOE_UP ||
           op->id == LLMPERF_OP_MOE_DOWN;
}

static const llmperf_moe *first_moe(const llmperf_model *model)
{
    for (int i = 0; i < model->layer_kind_count; i++)
        if (model->layers[i].moe.experts > 0)
            return &model->layers[i].moe;
    return NULL;
}

/* The experts that a grouped GEMM is of: models may have shapes with different experts. */
static const llmperf_moe *moe_of(const llmperf_config *c, const llmperf_op *op)
{
    for (int i = 0; i < c->model->layer_kind_count; i++) {
        const llmperf_moe *moe = &c->model->layers[i].moe;
        double f = (double)ceil_div(moe->ffn, c->workload.tp);
        double width = (double)(moe->latent > 0 ? moe->latent : c->model->hidden);
        bool down = op->id == LLMPERF_OP_MOE_DOWN;
        if (moe->experts > 0 && (down ? op->k == f && op->n == width
                                      : op->k == width && op->n == (moe->gated ? 2 : 1) * f))
            return moe;
    }
    return first_moe(c->model);
}

/* Rows per active expert once `batch` sequences decode together: b q K / E'(b q). */
static double rows_per_expert(const llmperf_config *c, const llmperf_moe *moe, double batch)
{
    double tokens = batch * (double)c->workload.query;
    double distinct = moe_distinct_experts(moe, tokens, c->workload.moe_skew);
    return tokens * (double)moe->active / distinct;
}

/* Smallest batch that brings `rows` rows to each active expert; rows grow with the batch. */
static llmperf_crossing expert_crossing(const llmperf_config *c, const llmperf_moe *moe,
                                        llmperf_crossing rows)
{
    double low = 0, high = 1;
    while (rows_per_expert(c, moe, high) < rows.exact && high < LARGEST_BATCH) {
        low = high;
        high *= 2;
    }
    for (int i = 0; i < 80; i++) {
        double middle = (low + high) / 2;
        if (middle > 0 && rows_per_expert(c, moe, middle) >= rows.exact)
            high = middle;
        else
            low = middle;
    }
    rows.exact = high;
    rows.batch = (int64_t)fmax(1, ceil(high * (1 - 1e-12)));
    return rows;
}

/* Layers may hold the same matrices in several formats: the one of most layers stands for all. */
static bool is_most_frequent(const llmperf_op *ops, int count, int at)
{
    for (int i = 0; i < count; i++)
        if (ops[i].id == ops[at].id && ops[i].n == ops[at].n && ops[i].k == ops[at].k &&
            ops[i].repeat > ops[at].repeat)
            return false;
    return true;
}

static void add_op_crossing(const llmperf_config *c, const llmperf_op *op, double peak,
                            double bandwidth, llmperf_crossings *sum)
{
    for (int i = 0; i < sum->op_count; i++)
        if (same_gemm(&sum->op[i], op))
            return;
    if (sum->op_count == LLMPERF_CROSSINGS_MAX)
        return;
    llmperf_op_crossing *one = &sum->op[sum->op_count++];
    one->id = op->id;
    one->n = op->n;
    one->k = op->k;
    /* matrices side by side: heads of an absorbed product, active experts of a grouped one */
    double matrices = op->flop / (2 * op->m * op->n * op->k);
    double w = op->weight_bytes / (op->n * op->k * matrices);
    llmperf_crossing rows =
        llmperf_gemm_crossing(op->n, op->k, w, c->act_bytes_per, peak, bandwidth);
    if (rows.exists && is_expert_gemm(op)) {
        rows = expert_crossing(c, moe_of(c, op), rows);
    } else if (rows.exists) {
        rows.exact /= (double)c->workload.query; /* a sequence brings q rows */
        rows.batch = (int64_t)fmax(1, ceil(rows.exact));
    }
    one->crossing = rows;
}

static void add_terms(decode_steps *steps, int at, int set, bool per_op, step_sums *sums)
{
    const llmperf_config *c = steps->c;
    llmperf_workspace *w = steps->workspace;
    const llmperf_op *op = &w->ops[at];
    const rate_set *rates = &steps->rates[set];
    double peak, bandwidth;
    const op_entries *entries = rates->calib ? entries_at(w, rates->calib, at) : NULL;
    rates_of(op, c->hw, rates, entries, &peak, &bandwidth);
    double compute = op->repeat * op->flop / peak, memory = op->repeat * op->bytes / bandwidth;
    sums->compute += compute;
    sums->memory += memory;
    if (op->group != LLMPERF_GROUP_DENSE)
        return;
    sums->dense_compute += compute;
    sums->dense_memory += memory;
    if (per_op && is_most_frequent(w->ops, w->count, at))
        add_op_crossing(c, op, peak, bandwidth, &steps->per_op[set]);
}

void decode_steps_add(decode_steps *steps, int64_t batch, int64_t past, const llmperf_total *total)
{
    const llmperf_workspace *w = steps->workspace;
    const bool per_op = batch == 1 && past == steps->c->workload.context;
    if (steps->count < steps->capacity)
        steps->count++;
    decode_step *step = &steps->step[steps->count - 1];
    *step = (decode_step){.batch = batch,
                          .past = past,
                          .time_s = total->time_s,
                          .attention_s = total->group_s[LLMPERF_GROUP_ATTENTION]};
    for (int set = 0; set < RATE_SETS; set++) {
        if (steps->rates[set].calib)
            entries_begin(steps->workspace, steps->rates[set].calib);
        if (per_op)
            memset(&steps->per_op[set], 0, sizeof steps->per_op[set]);
        for (int i = 0; steps->used[set] && i < w->count; i++)
            if (w->ops[i].kind != LLMPERF_KIND_COLLECTIVE)
                add_terms(steps, i, set, per_op, &step->sums[set]);
    }
}

const decode_step *decode_step_at(decode_steps *steps, int64_t batch, int64_t past)
{
    for (int i = steps->count - 1; i >= 0; i--)
        if (steps->step[i].batch == batch && steps->step[i].past == past)
            return &steps->step[i];
    llmperf_segment segment = llmperf_decode_segment(steps->c, batch, past);
    llmperf_total total = {0};
    step_add(steps->workspace, steps->c, &segment, 1, 1, &total, NULL);
    decode_steps_add(steps, batch, past, &total);
    return &steps->step[steps->count - 1];
}

llmperf_status decode_steps_new(const llmperf_config *c, llmperf_workspace *workspace,
                                bool datasheet, const llmperf_calib *calib,
                                decode_steps **ret_steps, llmperf_error *error)
{
    enum { STEPS = 1024 }; /* bisections over batches take some 40 each; more are not remembered */
    double z = normal_quantile(c->workload.confidence);
    decode_steps *steps = calloc(1, sizeof *steps);
    decode_step *step = calloc(STEPS, sizeof *step);
    if (!steps || !step) {
        free(steps);
        free(step);
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    steps->c = c;
    steps->workspace = workspace;
    steps->step = step;
    steps->capacity = STEPS;
    steps->used[RATES_DATASHEET] = datasheet;
    for (int set = RATES_CALIBRATED; set < RATE_SETS; set++) {
        steps->used[set] = calib != NULL;
        steps->rates[set] = (rate_set){calib, set == RATES_LOW ? -z : set == RATES_HIGH ? z : 0};
    }
    *ret_steps = steps;
    return LLMPERF_OK;
}

void decode_steps_free(decode_steps *steps)
{
    if (!steps)
        return;
    free(steps->step);
    free(steps);
}

static const step_sums *sums_at(decode_steps *steps, int set, int64_t batch)
{
    return &decode_step_at(steps, batch, steps->c->workload.context)->sums[set];
}

/* Experts' bytes are concave in the batch and their FLOPs linear, so compute overtakes memory
 * once: the first batch is found by doubling and bisection. */
static llmperf_crossing searched_crossing(decode_steps *steps, int set, bool dense, const char *why)
{
    llmperf_crossing crossing = {0};
    const int64_t most = (int64_t)1 << 40;
    int64_t low = 0, high = 1;
    for (;; high *= 2) {
        const step_sums *s = sums_at(steps, set, high);
        if (dense ? s->dense_compute >= s->dense_memory : s->compute >= s->memory)
            break;
        if (high >= most) {
            snprintf(crossing.why, sizeof crossing.why, "%s", why);
            return crossing;
        }
        low = high;
    }
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        const step_sums *s = sums_at(steps, set, middle);
        if (dense ? s->dense_compute >= s->dense_memory : s->compute >= s->memory)
            high = middle;
        else
            low = middle;
    }
    crossing.exists = true;
    crossing.batch = high;
    crossing.exact = (double)high;
    return crossing;
}

static void crossings_with(decode_steps *steps, int set, llmperf_crossings *ret_crossings)
{
    static const char too_small[] =
        "the matrices are too small: activations outweigh compute at any batch";
    static const char cache[] = "reading the KV cache outweighs compute at any batch";
    const step_sums one = *sums_at(steps, set, 1);
    llmperf_crossings *result = ret_crossings;
    *result = steps->per_op[set];
    if (first_moe(steps->c->model)) {
        result->dense = searched_crossing(steps, set, true, too_small);
        result->step = searched_crossing(steps, set, false, cache);
    } else { /* every sum is affine in the batch: two points give it */
        const step_sums two = *sums_at(steps, set, 2);
        affine dense_compute = {2 * one.dense_compute - two.dense_compute,
                                two.dense_compute - one.dense_compute};
        affine dense_memory = {2 * one.dense_memory - two.dense_memory,
                               two.dense_memory - one.dense_memory};
        affine compute = {2 * one.compute - two.compute, two.compute - one.compute};
        affine memory = {2 * one.memory - two.memory, two.memory - one.memory};
        result->dense = affine_crossing(dense_compute, dense_memory, too_small);
        result->step = affine_crossing(compute, memory, cache);
    }
}

static void set_interval(llmperf_crossing *crossing, const llmperf_crossing *low,
                         const llmperf_crossing *high)
{
    crossing->low = low && low->exists ? low->batch : crossing->batch;
    crossing->high = high ? (high->exists ? high->batch : 0) : crossing->batch;
}

static void set_intervals(llmperf_crossings *result, const llmperf_crossings *low,
                          const llmperf_crossings *high)
{
    set_interval(&result->dense, &low->dense, &high->dense);
    set_interval(&result->step, &low->step, &high->step);
    for (int i = 0; i < result->op_count; i++)
        set_interval(&result->op[i].crossing, &low->op[i].crossing, &high->op[i].crossing);
}

void crossings_of(decode_steps *steps, llmperf_crossings *ret_datasheet,
                  llmperf_crossings *ret_calibrated)
{
    if (ret_datasheet) {
        crossings_with(steps, RATES_DATASHEET, ret_datasheet);
        set_intervals(ret_datasheet, ret_datasheet, ret_datasheet);
    }
    if (ret_calibrated) { /* the ends take the place of what they are made of */
        crossings_with(steps, RATES_CALIBRATED, ret_calibrated);
        crossings_with(steps, RATES_LOW, &steps->per_op[RATES_LOW]);
        crossings_with(steps, RATES_HIGH, &steps->per_op[RATES_HIGH]);
        set_intervals(ret_calibrated, &steps->per_op[RATES_LOW], &steps->per_op[RATES_HIGH]);
    }
}

llmperf_status llmperf_crossings_of(const llmperf_config *c, const llmperf_calib *calib,
                                    llmperf_workspace *workspace, llmperf_crossings *ret_crossings,
                                    llmperf_error *error)
{
    NEEDS(c && c->hw && workspace && ret_crossings, error);
    decode_steps *steps = NULL;
    llmperf_status status = decode_steps_new(c, workspace, !calib, calib, &steps, error);
    if (status == LLMPERF_OK)
        crossings_of(steps, calib ? NULL : ret_crossings, calib ? ret_crossings : NULL);
    decode_steps_free(steps);
    return status;
}
