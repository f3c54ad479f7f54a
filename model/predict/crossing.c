/* SPDX-License-Identifier: MIT */
/*
 * The batch from which on compute takes at least as long as memory: per dense operator, for the
 * dense operators together, and for the whole step. docs/model.md, "Compute-bound batch".
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "crossing.h"
#include "emit.h"
#include "interval.h"

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

void reached_rates(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                   double *ret_peak, double *ret_bandwidth)
{
    *ret_peak = op->flop > 0 ? hw->peak_flop_per_s[op->dtype] : INFINITY;
    *ret_bandwidth = hw->mem_bytes_per_s;
    if (!calib)
        return;
    llmperf_time time;
    const llmperf_op whole = op->kind == LLMPERF_KIND_GEMM && op->m > 0 ? of_whole_tiles(op) : *op;
    llmperf_time_op(&whole, hw, calib, &time, NULL);
    if (time.compute_s > 0)
        *ret_peak = whole.flop / time.compute_s;
    if (time.memory_s > 0)
        *ret_bandwidth = whole.bytes / time.memory_s;
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
    double distinct = llmperf_distinct_experts(moe, tokens, c->workload.moe_skew);
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

/* Sums of the compute and memory terms of a decode step, dense operators and all. */
typedef struct step_sums {
    double dense_compute, dense_memory, compute, memory;
} step_sums;

static step_sums sums_at(const llmperf_config *c, const llmperf_calib *calib, int64_t batch,
                         llmperf_crossings *per_op)
{
    step_sums sums = {0};
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment segment = llmperf_decode_segment(c, batch, c->workload.context);
    int count = llmperf_emit(c, &segment, 1, ops);
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        if (op->kind == LLMPERF_KIND_COLLECTIVE)
            continue;
        double peak, bandwidth;
        reached_rates(op, c->hw, calib, &peak, &bandwidth);
        double compute = op->repeat * op->flop / peak, memory = op->repeat * op->bytes / bandwidth;
        sums.compute += compute;
        sums.memory += memory;
        if (op->group != LLMPERF_GROUP_DENSE)
            continue;
        sums.dense_compute += compute;
        sums.dense_memory += memory;
        if (per_op && is_most_frequent(ops, count, i))
            add_op_crossing(c, op, peak, bandwidth, per_op);
    }
    return sums;
}

/* Experts' bytes are concave in the batch and their FLOPs linear, so compute overtakes memory
 * once: the first batch is found by doubling and bisection. */
static llmperf_crossing searched_crossing(const llmperf_config *c, const llmperf_calib *calib,
                                          bool dense, const char *why)
{
    llmperf_crossing crossing = {0};
    const int64_t most = (int64_t)1 << 40;
    int64_t low = 0, high = 1;
    for (;; high *= 2) {
        step_sums s = sums_at(c, calib, high, NULL);
        if (dense ? s.dense_compute >= s.dense_memory : s.compute >= s.memory)
            break;
        if (high >= most) {
            snprintf(crossing.why, sizeof crossing.why, "%s", why);
            return crossing;
        }
        low = high;
    }
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        step_sums s = sums_at(c, calib, middle, NULL);
        if (dense ? s.dense_compute >= s.dense_memory : s.compute >= s.memory)
            high = middle;
        else
            low = middle;
    }
    crossing.exists = true;
    crossing.batch = high;
    crossing.exact = (double)high;
    return crossing;
}

static void crossings_with(const llmperf_config *c, const llmperf_calib *calib,
                           llmperf_crossings *ret_crossings)
{
    static const char too_small[] =
        "the matrices are too small: activations outweigh compute at any batch";
    static const char cache[] = "reading the KV cache outweighs compute at any batch";
    llmperf_crossings result = {0};
    step_sums one = sums_at(c, calib, 1, &result);
    if (first_moe(c->model)) {
        result.dense = searched_crossing(c, calib, true, too_small);
        result.step = searched_crossing(c, calib, false, cache);
    } else { /* every sum is affine in the batch: two points give it */
        step_sums two = sums_at(c, calib, 2, NULL);
        affine dense_compute = {2 * one.dense_compute - two.dense_compute,
                                two.dense_compute - one.dense_compute};
        affine dense_memory = {2 * one.dense_memory - two.dense_memory,
                               two.dense_memory - one.dense_memory};
        affine compute = {2 * one.compute - two.compute, two.compute - one.compute};
        affine memory = {2 * one.memory - two.memory, two.memory - one.memory};
        result.dense = affine_crossing(dense_compute, dense_memory, too_small);
        result.step = affine_crossing(compute, memory, cache);
    }
    *ret_crossings = result;
}

/* The calibration with each fit's ratio of compute to memory efficiency moved by z standard
 * deviations, half to either side. */
static void move_ratio(const llmperf_calib *calib, double z, llmperf_calib *ret_calib)
{
    *ret_calib = *calib;
    for (int i = 0; i < calib->entry_count; i++) {
        llmperf_calib_entry *e = &ret_calib->entry[i];
        double ec = e->param[LLMPERF_PARAM_COMPUTE], em = e->param[LLMPERF_PARAM_MEMORY];
        double variance =
            e->covariance[LLMPERF_PARAM_COMPUTE][LLMPERF_PARAM_COMPUTE] / (ec * ec) +
            e->covariance[LLMPERF_PARAM_MEMORY][LLMPERF_PARAM_MEMORY] / (em * em) -
            2 * e->covariance[LLMPERF_PARAM_COMPUTE][LLMPERF_PARAM_MEMORY] / (ec * em);
        variance = fmax(variance, 0) + calib->borrowed * calib->borrowed;
        double factor = exp(z / 2 * sqrt(variance));
        e->param[LLMPERF_PARAM_COMPUTE] *= factor;
        e->param[LLMPERF_PARAM_MEMORY] /= factor;
    }
}

static void set_interval(llmperf_crossing *crossing, const llmperf_crossing *low,
                         const llmperf_crossing *high)
{
    crossing->low = low && low->exists ? low->batch : crossing->batch;
    crossing->high = high ? (high->exists ? high->batch : 0) : crossing->batch;
}

void llmperf_crossings_of(const llmperf_config *c, const llmperf_calib *calib,
                          llmperf_crossings *ret_crossings)
{
    llmperf_crossings result;
    crossings_with(c, calib, &result);
    llmperf_crossings low = result, high = result;
    if (calib) {
        llmperf_calib moved;
        double z = normal_quantile(c->workload.confidence);
        move_ratio(calib, -z, &moved);
        crossings_with(c, &moved, &low);
        move_ratio(calib, z, &moved);
        crossings_with(c, &moved, &high);
    }
    set_interval(&result.dense, &low.dense, &high.dense);
    set_interval(&result.step, &low.step, &high.step);
    for (int i = 0; i < result.op_count; i++)
        set_interval(&result.op[i].crossing, &low.op[i].crossing, &high.op[i].crossing);
    *ret_crossings = result;
}
