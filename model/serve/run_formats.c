/* SPDX-License-Identifier: MIT */
/* The formats that a measurement names, in the words of engines, on a model and a workload. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/runs.h"
#include "model_object.h"
#include "entry.h"

enum { WORD_MAX = 32 };

/*
 * Mixtures of llama.cpp, effective bits of a whole file.
 *   source: llama.cpp, examples/quantize/README.md, table of Llama 2 7B (tools/quantize today)
 */
static const struct {
    const char *word;
    double bits;
} MIXTURES[] = {
    {"q2_k", 3.35},   {"q3_k_s", 3.50}, {"q3_k_m", 3.91}, {"q3_k_l", 4.27}, {"q4_k_s", 4.58},
    {"q4_k_m", 4.84}, {"q4_k", 4.84},   {"q5_k_s", 5.52}, {"q5_k_m", 5.68}, {"q5_k", 5.68},
    {"q6_k", 6.56},   {"q4_1", 5.0},    {"q5_0", 5.5},    {"q5_1", 6.0},
};

/* Words for a scheme of llmperf_model_quantise(), and whether its weights meet activations of 16
 * bit where the run says so. */
static const struct {
    const char *word, *scheme;
} SCHEMES[] = {
    {"fp8_block", "fp8-block"},
    {"fp8-block", "fp8-block"},
    {"fp8_pb_wo", "fp8-block"},
    {"w8a8_fp8", "fp8"},
    {"modelopt", "fp8"},
    {"compressed-tensors-fp8", "fp8"},
    {"w8a8_int8", "int8"},
    {"w8a8", "int8"},
    {"smoothquant", "int8"},
    {"awq", "awq"},
    {"awq_marlin", "awq"},
    {"gptq", "gptq"},
    {"gptq_marlin", "gptq"},
    {"w4a16", "awq"},
    {"w4a16_awq", "awq"},
    {"w4a16_gptq", "gptq"},
    {"int4", "awq"},
    {"int4_wo", "awq"},
    {"nf4", "nf4"},
    {"bitsandbytes", "nf4"},
    {"modelopt_fp4", "nvfp4"},
    {"mxfp4", "mxfp4"},
};

static void lower(const char *text, char word[WORD_MAX])
{
    size_t i = 0;
    for (; text[i] && i + 1 < WORD_MAX; i++)
        word[i] = (char)tolower((unsigned char)text[i]);
    word[i] = '\0';
}

static bool is_plain(llmperf_dtype dtype)
{
    return dtype == LLMPERF_DTYPE_FP32 || dtype == LLMPERF_DTYPE_TF32 ||
           dtype == LLMPERF_DTYPE_BF16 || dtype == LLMPERF_DTYPE_FP16 ||
           dtype == LLMPERF_DTYPE_FP64;
}

/* What a scheme quantised takes `bits` and leaves activations alone; with `all` embedding and head
 * too, as files of llama.cpp hold them. */
static void set_bits(llmperf_model *model, llmperf_dtype dtype, double bits, bool all)
{
    const llmperf_weight_format format = {.dtype = (uint8_t)dtype, .bits = bits};
    static const int outside[] = {LLMPERF_WEIGHT_EMBEDDING, LLMPERF_WEIGHT_HEAD};
    for (int k = 0; k < model->layer_kind_count; k++)
        for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
            if (model->layers[k].weights[i].dtype == dtype)
                model->layers[k].weights[i] = format;
    for (int i = 0; i < 2 && all; i++) {
        model->weight_dtype[outside[i]] = (uint8_t)dtype;
        model->weight_bits[outside[i]] = bits;
    }
}

/* A scheme by name, then its bits. */
static llmperf_status quantise(llmperf_model *model, const char *scheme, llmperf_dtype dtype,
                               double bits, bool all, llmperf_error *error)
{
    llmperf_status status = llmperf_model_quantise(model, scheme, error);
    if (status == LLMPERF_OK && bits > 0)
        set_bits(model, dtype, bits, all);
    return status;
}

/* The number behind a prefix, as in "int4-g32" or "exl2-4.0bpw"; 0 where there is none. */
static double number_after(const char *word, const char *prefix, const char *suffix)
{
    char digits[WORD_MAX];
    double value = 0;
    size_t length = strlen(prefix), tail = strlen(suffix), whole = strlen(word);
    if (strncmp(word, prefix, length) != 0 || whole < length + tail ||
        strcmp(word + whole - tail, suffix) != 0)
        return 0;
    snprintf(digits, sizeof digits, "%.*s", (int)(whole - length - tail), word + length);
    return llmperf_parse_double(digits, &value) && value > 0 && value < 1e6 ? value : 0;
}

/* Formats of llama.cpp and ExLlama, whose files hold embedding and head in few bits too. */
static bool file_format(const char *word, llmperf_dtype *ret_dtype, double *ret_bits)
{
    llmperf_dtype dtype = llmperf_dtype_parse(word);
    double bits = number_after(word, "exl2-", "bpw");
    for (size_t i = 0; i < sizeof MIXTURES / sizeof *MIXTURES; i++)
        if (strcmp(MIXTURES[i].word, word) == 0)
            bits = MIXTURES[i].bits;
    if (dtype == LLMPERF_DTYPE_Q8_0 || dtype == LLMPERF_DTYPE_Q4_0)
        bits = llmperf_dtype_bits(dtype);
    *ret_dtype = bits > 5 ? LLMPERF_DTYPE_Q8_0 : LLMPERF_DTYPE_Q4_0;
    *ret_bits = bits;
    return bits > 0;
}

/* The scheme that a word stands for, NULL = none. `weights_only`: activations stay at 16 bit. */
static const char *scheme_of(const char *word, llmperf_dtype dtype, bool weights_only)
{
    for (size_t i = 0; i < sizeof SCHEMES / sizeof *SCHEMES; i++)
        if (strcmp(SCHEMES[i].word, word) == 0)
            return SCHEMES[i].scheme;
    if (weights_only)
        return NULL;
    return dtype == LLMPERF_DTYPE_FP8     ? "fp8"
           : dtype == LLMPERF_DTYPE_INT8  ? "int8"
           : dtype == LLMPERF_DTYPE_NVFP4 ? "nvfp4"
                                          : NULL;
}

static llmperf_status weights(const llmperf_run *run, llmperf_model *model,
                              llmperf_workload *workload, llmperf_error *error)
{
    char word[WORD_MAX];
    llmperf_dtype activations = llmperf_dtype_parse(run->act_dtype), dtype;
    double bits = 0, group;
    lower(run->weight_dtype, word);
    if (!word[0])
        return LLMPERF_OK;
    bool exact = strncmp(model->scheme, "gguf", 4) == 0; /* read from the file, tensor by tensor */
    if (file_format(word, &dtype, &bits))
        return exact ? LLMPERF_OK
                     : quantise(model, dtype == LLMPERF_DTYPE_Q8_0 ? "q8_0" : "q4_0", dtype, bits,
                                true, error);
    dtype = llmperf_dtype_parse(word);
    if (is_plain(dtype)) {
        workload->weight_dtype = dtype;
        if (!run->act_dtype[0])
            workload->act_dtype = dtype;
        return model->scheme[0] ? llmperf_model_quantise(model, "none", error) : LLMPERF_OK;
    }
    /* groups of g weights share a scale of 16 bit and a zero of 4 (8) */
    if ((group = number_after(word, "int4-g", "")) > 0)
        return quantise(model, "awq", LLMPERF_DTYPE_INT4, 4 + 20 / group, false, error);
    if ((group = number_after(word, "int8-g", "")) > 0)
        return quantise(model, "int8", LLMPERF_DTYPE_INT8, 8 + 24 / group, false, error);
    bool weights_only = is_plain(activations);
    const char *scheme = scheme_of(word, dtype, weights_only);
    if (scheme)
        return llmperf_model_quantise(model, scheme, error);
    if (dtype == LLMPERF_DTYPE_NONE)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "weights in '%s' are not known; bf16, fp8, int4-g128, q4_k_m ... are",
                            run->weight_dtype);
    workload->weight_dtype = dtype;
    return LLMPERF_OK;
}

llmperf_status llmperf_run_formats(const llmperf_run *run, llmperf_model *model,
                                   llmperf_workload *workload, llmperf_error *error)
{
    NEEDS(run_is_sound(run) && model && workload, error);
    llmperf_workload w = *workload;
    llmperf_dtype activations = llmperf_dtype_parse(run->act_dtype);
    llmperf_status status = weights(run, model, &w, error);
    if (status != LLMPERF_OK)
        return status;
    if (is_plain(activations)) /* others are what products quantise them to */
        w.act_dtype = activations;
    if (run->kv_dtype[0]) {
        w.kv_dtype = llmperf_dtype_parse(run->kv_dtype);
        if (w.kv_dtype == LLMPERF_DTYPE_NONE)
            return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                                "a KV cache in '%s' is not known; bf16, fp8, int8 ... are",
                                run->kv_dtype);
    }
    *workload = w;
    return LLMPERF_OK;
}
