/* SPDX-License-Identifier: MIT */
/*
 * Decode-step predictions a second on one core: Llama 3.1 70B on an H100, every operator emitted,
 * timed and summed, its times kept; the batch moves on each step, so nothing can be hoisted.
 *   ideal       the plain roofline
 *   calibrated  p = 2 for GEMMs, p = 1.1 for attention, launch, serial and work-item terms
 *   gradients   the same and d(log t) / d(parameter) of every operator, as intervals need them
 * Absolute figures depend on the machine; what is judged are ratios within this run: a calibrated
 * step costs at most 3 ideal ones, one with gradients at most 10.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../unit/steps.h"
#include "llmperf/llmperf.h"
#include "config_object.h"
#include "fits.h"
#include "config.h"
#include "time_op.h"

enum { BATCHES = 4096, ROUNDS = 7 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fill_model(llmperf_model *model)
{
    memset(model, 0, sizeof *model);
    snprintf(model->name, sizeof model->name, "llama-3.1-70b");
    model->hidden = model->embedding_dim = 8192;
    model->vocab = 128256;
    model->final_norm = true;
    model->layer_kind_count = 1;
    model->layers[0] = (llmperf_layer){
        .count = 80,
        .norms = 2,
        .attention = {.heads = 64, .kv_heads = 8, .head_dim = 128, .value_dim = 128, .rope = true},
        .mlp = {.ffn = 28672, .gated = true}};
    model->dtype = LLMPERF_DTYPE_BF16;
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        model->weight_dtype[i] = LLMPERF_DTYPE_BF16;
        model->weight_bits[i] = 16;
    }
}

static void fill_hw(llmperf_hw *hw)
{
    memset(hw, 0, sizeof *hw);
    snprintf(hw->name, sizeof hw->name, "h100-sxm");
    hw->peak_flop_per_s[LLMPERF_DTYPE_FP32] = 66.9e12;
    hw->peak_flop_per_s[LLMPERF_DTYPE_BF16] = 989.4e12;
    hw->peak_flop_per_s[LLMPERF_DTYPE_FP8] = 1978.9e12;
    hw->mem_bytes_per_s = 3.35e12;
    hw->memory_bytes = 80e9;
    hw->units = 132;
}

static void set(llmperf_calib *calib, llmperf_op_kind kind, llmperf_regime regime,
                llmperf_dtype dtype, double norm, double serial, double work)
{
    llmperf_calib_entry entry = calib_ideal(kind);
    entry.param[LLMPERF_PARAM_COMPUTE] = 0.8;
    entry.param[LLMPERF_PARAM_MEMORY] = 0.9;
    entry.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    entry.param[LLMPERF_PARAM_SERIAL] = serial;
    entry.param[LLMPERF_PARAM_WORK] = work;
    entry.param[LLMPERF_PARAM_NORM] = norm;
    llmperf_error error = {0};
    if (calib_set(calib, kind, regime, dtype, &entry, &error) != LLMPERF_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
}

static void fill_calib(llmperf_calib *calib)
{
    calib_init(calib);
    set(calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16, 2, 1e-6, 0);
    set(calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_DECODE, LLMPERF_DTYPE_BF16, 1.1, 0, 1e-6);
    set(calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_PREFILL, LLMPERF_DTYPE_BF16, 1.1, 0, 0);
    set(calib, LLMPERF_KIND_ELEMENTWISE, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_FP32, INFINITY, 0, 0);
    set(calib, LLMPERF_KIND_GATHER, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_FP32, INFINITY, 0, 0);
}

typedef struct result {
    double step_s; /* best round */
    int ops;
    double check; /* keeps the work alive */
} result;

static result run(const llmperf_config *c, bool gradients)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    static llmperf_time times[LLMPERF_OPS_MAX];
    result best = {.step_s = INFINITY};
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_s();
        for (int64_t batch = 1; batch <= BATCHES; batch++) {
            llmperf_segment segment = llmperf_decode_segment(c, batch, 2048);
            llmperf_total total;
            best.ops = step_into(c, &segment, 1, ops, times, &total);
            best.check += total.time_s;
            if (!gradients)
                continue;
            for (int i = 0; i < best.ops; i++) {
                llmperf_gradient gradient;
                time_op(&ops[i], c->hw, c->calib, NULL, &gradient);
                best.check += gradient.dlog[0][LLMPERF_PARAM_MEMORY];
            }
        }
        best.step_s = fmin(best.step_s, (now_s() - start) / BATCHES);
    }
    return best;
}

static void print(const char *name, result r, result ideal, double target)
{
    printf("%-11s %9.0f steps/s  %6.1f ns an operator  %5.2f x ideal", name, 1 / r.step_s,
           1e9 * r.step_s / r.ops, r.step_s / ideal.step_s);
    if (target > 0)
        printf("  (target %.0f steps/s)", target);
    putchar('\n');
}

int main(void)
{
    static llmperf_model model;
    static llmperf_hw hw;
    static llmperf_calib calib;
    static llmperf_config plain, fitted;
    llmperf_error error = {0};
    llmperf_workload w = {.batch = 1, .prompt = 1024};
    fill_model(&model);
    fill_hw(&hw);
    fill_calib(&calib);
    if (config_init(&plain, &model, &hw, NULL, &w, &error) != LLMPERF_OK ||
        config_init(&fitted, &model, &hw, &calib, &w, &error) != LLMPERF_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    run(&plain, false); /* warm up */
    result ideal = run(&plain, false), calibrated = run(&fitted, false);
    result gradients = run(&fitted, true);
    printf("decode step of %s, %d operators (check %.6g)\n", model.name, ideal.ops,
           ideal.check + calibrated.check + gradients.check);
    print("ideal", ideal, ideal, 1e6);
    print("calibrated", calibrated, ideal, 5e5);
    print("gradients", gradients, ideal, 0);
    if (calibrated.step_s > 3 * ideal.step_s || gradients.step_s > 10 * ideal.step_s) {
        printf("FAIL: a calibrated step must cost at most 3 ideal ones, one with gradients 10\n");
        return 1;
    }
    return 0;
}
