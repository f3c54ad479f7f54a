/* SPDX-License-Identifier: MIT */
/*
 * A device that nobody ships, a decoder by its dimensions, and a calibration by hand: no files at all. What
 * if memory were twice as fast, or kernels reached 70 % of it?
 *
 *     cc custom_device.c $(pkg-config --cflags --libs llmperf) -o custom_device
 */
#include <stdio.h>

#include "llmperf/llmperf.h"

/* 200 TFLOP/s in bf16, 1 TB/s, 24 GB. What is not said stays zero. */
static llmperf_hw device(void)
{
    llmperf_hw hw = LLMPERF_HW_INIT;
    snprintf(hw.name, sizeof hw.name, "my-accelerator");
    snprintf(hw.kind, sizeof hw.kind, "accelerator");
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 200e12;
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP32] = 25e12;
    hw.mem_bytes_per_s = 1e12;
    hw.memory_bytes = 24e9;
    return hw;
}

static llmperf_status make_model(llmperf_model **ret_model, llmperf_error *error)
{
    llmperf_decoder decoder = LLMPERF_DECODER_INIT;
    decoder.name = "my-decoder";
    decoder.layers = 24;
    decoder.hidden = 2048;
    decoder.heads = 16;
    decoder.kv_heads = 4;
    decoder.ffn = 8192;
    decoder.vocab = 32000;
    return llmperf_model_new(&decoder, ret_model, error);
}

/* Kernels that reach 70 % of the memory bandwidth: GEMMs and attention of a decode step. */
static llmperf_status make_calib(llmperf_calib **ret_calib, llmperf_error *error)
{
    static const llmperf_op_kind kinds[] = {LLMPERF_KIND_GEMM, LLMPERF_KIND_ATTENTION};
    static const llmperf_regime regimes[] = {LLMPERF_REGIME_NONE, LLMPERF_REGIME_DECODE};
    llmperf_status status = llmperf_calib_new(ret_calib, error);
    for (int i = 0; i < 2 && status == LLMPERF_OK; i++) {
        llmperf_calib_key key = {0};
        key.kind = (uint8_t)kinds[i];
        key.regime = (uint8_t)regimes[i];
        key.dtype = LLMPERF_DTYPE_BF16;
        status = llmperf_calib_set_param(*ret_calib, &key, LLMPERF_PARAM_MEMORY, 0.7, error);
    }
    return status;
}

static llmperf_status print(const char *what, const llmperf_model *model, const llmperf_hw *hw,
                            const llmperf_calib *calib, llmperf_error *error)
{
    llmperf_config *config = NULL;
    llmperf_prediction prediction = LLMPERF_PREDICTION_INIT;
    llmperf_status status = llmperf_config_new(model, hw, calib, NULL, &config, error);
    if (status == LLMPERF_OK)
        status = llmperf_predict(config, &prediction, error);
    if (status == LLMPERF_OK)
        printf("%s: TPOT %.17g s, %lld sequences fit\n", what, prediction.tpot_s.value,
               (long long)prediction.memory.max_batch);
    llmperf_config_free(config);
    return status;
}

/* One GEMM of it: 64 rows times 2048 x 8192 weights. */
static void print_gemm(const llmperf_hw *hw)
{
    const double m = 64, n = 8192, k = 2048;
    llmperf_op op = {0};
    op.kind = LLMPERF_KIND_GEMM;
    op.dtype = LLMPERF_DTYPE_BF16;
    op.launches = 1;
    op.devices = 1;
    op.repeat = 1;
    op.m = m;
    op.n = n;
    op.k = k;
    op.flop = 2 * m * n * k;
    op.weight_bytes = 2 * n * k;
    op.input_bytes = 2 * m * k;
    op.output_bytes = 2 * m * n;
    op.bytes = op.weight_bytes + op.input_bytes + op.output_bytes;
    printf("GEMM 64 x 8192 x 2048: %.17g s\n", llmperf_time_op(&op, hw, NULL, NULL));
}

int main(void)
{
    llmperf_model *model = NULL;
    llmperf_calib *calib = NULL;
    llmperf_error error = {0};
    llmperf_hw hw = device();
    llmperf_status status = make_model(&model, &error);
    if (status == LLMPERF_OK)
        status = make_calib(&calib, &error);
    if (status == LLMPERF_OK) {
        printf("parameters: %lld\n", (long long)llmperf_model_params(model).total);
        print_gemm(&hw);
        status = print("as it is", model, &hw, NULL, &error);
    }
    if (status == LLMPERF_OK)
        status = print("at 70 % of its bandwidth", model, &hw, calib, &error);
    hw.mem_bytes_per_s *= 2;
    if (status == LLMPERF_OK)
        status = print("with memory twice as fast", model, &hw, NULL, &error);
    if (status != LLMPERF_OK)
        fprintf(stderr, "%s\n", error.text);
    llmperf_calib_free(calib);
    llmperf_model_free(model);
    return (int)status;
}
