/* SPDX-License-Identifier: MIT */
/*
 * The batch from which on compute takes at least as long as memory: per dense operator, for the
 * dense operators together, and for the whole step. docs/model.md, "Compute-bound batch".
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"

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

/* Peak and bandwidth that an operator reaches at most under a calibration: e P and e BW. */
static void reached(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                    double *ret_peak, double *ret_bandwidth)
{
    *ret_peak = op->flop > 0 ? hw->peak_flop_per_s[op->dtype] : INFINITY;
    *ret_bandwidth = hw->mem_bytes_per_s;
    if (!calib)
        return;
    llmperf_time time;
    llmperf_time_op(op, hw, calib, &time, NULL);
    if (time.compute_s > 0)
        *ret_peak = op->flop / time.compute_s;
    if (time.memory_s > 0)
        *ret_bandwidth = op->bytes / time.memory_s;
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
    crossing.batch = (int64_t)fmax(1, ceil(crossing.exact * (1 - 1e-12)));
    return crossing;
}

static bool same_gemm(const llmperf_op_crossing *known, const llmperf_op *op)
{
    return known->id == op->id && known->n == op->n && known->k == op->k;
}

static void add_op_crossing(const llmperf_case *c, const llmperf_op *op, double peak,
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
    double w = op->weight_bytes / (op->n * op->k);
    llmperf_crossing rows =
        llmperf_gemm_crossing(op->n, op->k, w, c->act_bytes_per, peak, bandwidth);
    double per_sequence = (double)c->workload.query; /* a sequence brings q rows */
    if (rows.exists) {
        rows.exact /= per_sequence;
        rows.batch = (int64_t)fmax(1, ceil(rows.exact));
    }
    one->crossing = rows;
}

void llmperf_crossings_of(const llmperf_case *c, const llmperf_calib *calib,
                          llmperf_crossings *ret_crossings)
{
    llmperf_crossings result = {0};
    affine dense_compute = {0}, dense_memory = {0}, step_compute = {0}, step_memory = {0};
    llmperf_op one[LLMPERF_OPS_MAX], two[LLMPERF_OPS_MAX];
    llmperf_segment at_one = llmperf_decode_segment(c, 1, c->workload.context);
    llmperf_segment at_two = llmperf_decode_segment(c, 2, c->workload.context);
    int count = llmperf_emit(c, &at_one, 1, one);
    llmperf_emit(c, &at_two, 1, two);
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &one[i];
        if (op->kind == LLMPERF_KIND_COLLECTIVE)
            continue;
        double peak, bandwidth;
        reached(op, c->hw, calib, &peak, &bandwidth);
        double flop_slope = two[i].flop - op->flop, bytes_slope = two[i].bytes - op->bytes;
        affine compute = {op->repeat * (op->flop - flop_slope) / peak,
                          op->repeat * flop_slope / peak};
        affine memory = {op->repeat * (op->bytes - bytes_slope) / bandwidth,
                         op->repeat * bytes_slope / bandwidth};
        step_compute.constant += compute.constant;
        step_compute.slope += compute.slope;
        step_memory.constant += memory.constant;
        step_memory.slope += memory.slope;
        if (op->group != LLMPERF_GROUP_DENSE)
            continue;
        dense_compute.constant += compute.constant;
        dense_compute.slope += compute.slope;
        dense_memory.constant += memory.constant;
        dense_memory.slope += memory.slope;
        add_op_crossing(c, op, peak, bandwidth, &result);
    }
    result.dense = affine_crossing(dense_compute, dense_memory,
                                   "the matrices are too small: activations outweigh compute at "
                                   "any batch");
    result.step = affine_crossing(step_compute, step_memory,
                                  "reading the KV cache outweighs compute at any batch");
    *ret_crossings = result;
}
