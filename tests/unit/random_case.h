/* SPDX-License-Identifier: MIT */
/*
 * What the engine's tests share: a small model and part whose numbers are worked by hand, and
 * random models, parts, calibrations and workloads from a seed.
 */
#ifndef LLMPERF_TESTS_RANDOM_CASE_H
#define LLMPERF_TESTS_RANDOM_CASE_H

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "llmperf/llmperf.h"
#include "config_object.h"
#include "fits.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLOW_BUILD 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define SLOW_BUILD 1
#endif

/* How often a seeded loop runs: fewer times where a sanitizer makes everything slow. */
#ifdef SLOW_BUILD
#define CASES(n) ((n) / 10)
#else
#define CASES(n) (n)
#endif

/* ---- random numbers: splitmix64 (Steele, Lea, Flood 2014) ---- */

typedef struct rng {
    uint64_t state;
} rng;

static inline uint64_t rng_next(rng *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* from..to, both possible */
static inline int64_t rng_int(rng *r, int64_t from, int64_t to)
{
    return from + (int64_t)(rng_next(r) % (uint64_t)(to - from + 1));
}

static inline double rng_real(rng *r, double from, double to)
{
    return from + (to - from) * ((double)(rng_next(r) >> 11) / 9007199254740992.0);
}

/* Spread evenly over the orders of magnitude. */
static inline double rng_log(rng *r, double from, double to)
{
    return exp(rng_real(r, log(from), log(to)));
}

static inline int64_t rng_log_int(rng *r, int64_t from, int64_t to)
{
    int64_t value = (int64_t)rng_log(r, (double)from, (double)to + 0.999);
    return value < from ? from : value > to ? to : value;
}

static inline bool rng_chance(rng *r, double probability)
{
    return rng_real(r, 0, 1) < probability;
}

/* ---- small helpers ---- */

static inline bool is_near(double a, double b, double relative)
{
    if (a == b)
        return true;
    return fabs(a - b) <= relative * fmax(fabs(a), fabs(b)); /* false for NaN */
}

static inline const llmperf_op *find_op(const llmperf_op *ops, int count, llmperf_op_id id)
{
    for (int i = 0; i < count; i++)
        if (ops[i].id == id)
            return &ops[i];
    return NULL;
}

static inline void uniform_weights(llmperf_model *model, llmperf_dtype dtype)
{
    model->dtype = (uint8_t)dtype;
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        model->weight_dtype[i] = (uint8_t)dtype;
        model->weight_bits[i] = llmperf_dtype_bits(dtype);
    }
}

/* h = 8, n = 4, n_kv = 2, d = 2, f = 12 gated, V = 10, L = 3, two RMS norms a layer, untied. */
static inline llmperf_model toy_model(void)
{
    llmperf_model model = {
        .name = "toy",
        .hidden = 8,
        .vocab = 10,
        .embedding_dim = 8,
        .final_norm = true,
        .norm = LLMPERF_NORM_RMS,
        .layer_kind_count = 1,
        .layers =
            {{.count = 3,
              .norms = 2,
              .attention = {.heads = 4, .kv_heads = 2, .head_dim = 2, .value_dim = 2, .rope = true},
              .mlp = {.ffn = 12, .gated = true}}},
    };
    uniform_weights(&model, LLMPERF_DTYPE_BF16);
    return model;
}

/* Round figures: bf16 1e12 flop/s, memory 1e10 bytes/s (ridge 100), a link of 1e9 bytes/s. */
static inline llmperf_hw toy_hw(void)
{
    return (llmperf_hw){
        .name = "toy-gpu",
        .kind = "gpu",
        .peak_flop_per_s = {[LLMPERF_DTYPE_FP32] = 1e11,
                            [LLMPERF_DTYPE_TF32] = 5e11,
                            [LLMPERF_DTYPE_BF16] = 1e12,
                            [LLMPERF_DTYPE_FP16] = 1e12,
                            [LLMPERF_DTYPE_FP8] = 2e12,
                            [LLMPERF_DTYPE_INT8] = 2e12},
        .mem_bytes_per_s = 1e10,
        .units = 10,
        .memory_bytes = 1e9,
        .link = {.kind = "nvlink", .bytes_per_s = 1e9, .latency_s = 1e-6, .domain = 8},
    };
}

/* What a model of `layers` llama-like layers is. */
static inline llmperf_model llama_like(const char *name, int64_t layers, int64_t hidden,
                                       int64_t heads, int64_t kv_heads, int64_t head_dim,
                                       int64_t ffn, int64_t vocab)
{
    llmperf_model model = toy_model();
    snprintf(model.name, sizeof model.name, "%s", name);
    model.hidden = model.embedding_dim = hidden;
    model.vocab = vocab;
    model.layers[0].count = layers;
    model.layers[0].attention.heads = heads;
    model.layers[0].attention.kv_heads = kv_heads;
    model.layers[0].attention.head_dim = head_dim;
    model.layers[0].attention.value_dim = head_dim;
    model.layers[0].mlp.ffn = ffn;
    return model;
}

/* NVIDIA's datasheets, dense: A100 SXM 80 GB and H100 SXM. */
static inline llmperf_hw a100(void)
{
    llmperf_hw hw = {
        .name = "a100",
        .kind = "gpu",
        .mem_bytes_per_s = 2.039e12,
        .memory_bytes = 80e9,
        .units = 108,
        .link = {.kind = "nvlink", .bytes_per_s = 300e9, .latency_s = 3e-6, .domain = 8}};
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP32] = 19.5e12;
    hw.peak_flop_per_s[LLMPERF_DTYPE_TF32] = 156e12;
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = hw.peak_flop_per_s[LLMPERF_DTYPE_FP16] = 312e12;
    hw.peak_flop_per_s[LLMPERF_DTYPE_INT8] = 624e12;
    hw.peak_flop_per_s[LLMPERF_DTYPE_INT4] = 1248e12;
    return hw;
}

static inline llmperf_hw h100(void)
{
    llmperf_hw hw = {
        .name = "h100",
        .kind = "gpu",
        .mem_bytes_per_s = 3.35e12,
        .memory_bytes = 80e9,
        .memory_usable_bytes = 81559.0 * 1024 * 1024,
        .units = 132,
        .power_w = 700,
        .link = {.kind = "nvlink", .bytes_per_s = 450e9, .latency_s = 3e-6, .domain = 8}};
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP32] = 66.9e12;
    hw.peak_flop_per_s[LLMPERF_DTYPE_TF32] = 494.5e12;
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = hw.peak_flop_per_s[LLMPERF_DTYPE_FP16] = 989.4e12;
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP8] = hw.peak_flop_per_s[LLMPERF_DTYPE_INT8] = 1978.9e12;
    return hw;
}

static inline llmperf_hw v100(void)
{
    llmperf_hw hw = {
        .name = "v100", .kind = "gpu", .mem_bytes_per_s = 900e9, .memory_bytes = 16e9, .units = 80};
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP32] = 15.7e12;
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP16] = 125e12;
    return hw;
}

/* ---- random cases ---- */

/* Narrow to wide, the order in which arithmetic is chosen. */
static const llmperf_dtype WIDTHS[] = {
    LLMPERF_DTYPE_NVFP4, LLMPERF_DTYPE_MXFP4, LLMPERF_DTYPE_INT4, LLMPERF_DTYPE_FP6,
    LLMPERF_DTYPE_FP8,   LLMPERF_DTYPE_INT8,  LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP16,
    LLMPERF_DTYPE_TF32,  LLMPERF_DTYPE_FP32,  LLMPERF_DTYPE_FP64,
};
enum { WIDTH_COUNT = sizeof WIDTHS / sizeof *WIDTHS };

/* A part whose peaks do not rise with the width of the format, as every real one's. */
static inline void random_hw(rng *r, llmperf_hw *ret_hw)
{
    memset(ret_hw, 0, sizeof *ret_hw);
    snprintf(ret_hw->name, sizeof ret_hw->name, "random-gpu");
    snprintf(ret_hw->kind, sizeof ret_hw->kind, "gpu");
    double peak = rng_log(r, 1e12, 1e16);
    for (int i = 0; i < WIDTH_COUNT; i++) {
        bool needed = WIDTHS[i] == LLMPERF_DTYPE_FP32;
        if (needed || rng_chance(r, 0.6))
            ret_hw->peak_flop_per_s[WIDTHS[i]] = peak;
        if (rng_chance(r, 0.6))
            peak *= rng_real(r, 0.1, 1);
    }
    ret_hw->mem_bytes_per_s = rng_log(r, 2e10, 2e13);
    ret_hw->memory_bytes = rng_log(r, 4e9, 4e11);
    if (rng_chance(r, 0.5))
        ret_hw->memory_usable_bytes = ret_hw->memory_bytes * rng_real(r, 0.9, 1.05);
    ret_hw->units = rng_chance(r, 0.8) ? (double)rng_int(r, 1, 200) : 0;
    ret_hw->link = (llmperf_link){.kind = "nvlink",
                                  .bytes_per_s = rng_log(r, 1e9, 1e12),
                                  .latency_s = rng_log(r, 1e-7, 1e-4)};
    ret_hw->power_w = rng_chance(r, 0.5) ? rng_real(r, 50, 1000) : 0;
}

static inline void random_layer(rng *r, llmperf_layer *ret_layer)
{
    static const int64_t dims[] = {64, 80, 96, 128, 256};
    memset(ret_layer, 0, sizeof *ret_layer);
    llmperf_attention *a = &ret_layer->attention;
    ret_layer->count = rng_log_int(r, 1, 100);
    ret_layer->norms = rng_int(r, 0, 4);
    ret_layer->parallel = rng_chance(r, 0.2);
    a->kv_heads = rng_log_int(r, 1, 32);
    switch (rng_int(r, 0, 2)) {
    case 0: /* MHA */
        a->heads = a->kv_heads;
        break;
    case 1: /* MQA */
        a->heads = a->kv_heads;
        a->kv_heads = 1;
        break;
    default: /* GQA */
        a->heads = a->kv_heads * rng_int(r, 2, 8);
    }
    a->head_dim = rng_chance(r, 0.7) ? dims[rng_int(r, 0, 4)] : rng_log_int(r, 1, 300);
    a->value_dim = rng_chance(r, 0.8) ? a->head_dim : rng_log_int(r, 1, 300);
    a->window = rng_chance(r, 0.3) ? rng_log_int(r, 1, 8192) : 0;
    a->qkv_bias = rng_chance(r, 0.3);
    a->out_bias = rng_chance(r, 0.3);
    a->rope = rng_chance(r, 0.7);
    a->qk_norm = (uint8_t)(rng_chance(r, 0.6) ? 0 : rng_int(r, 1, 3));
    ret_layer->mlp = (llmperf_mlp){.ffn = rng_log_int(r, 1, 40000),
                                   .gated = rng_chance(r, 0.6),
                                   .up_bias = rng_chance(r, 0.3),
                                   .down_bias = rng_chance(r, 0.3)};
}

static const llmperf_dtype FORMATS_IN_USE[] = {
    LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP16, LLMPERF_DTYPE_FP8,  LLMPERF_DTYPE_FP32,
    LLMPERF_DTYPE_INT8, LLMPERF_DTYPE_INT4, LLMPERF_DTYPE_Q8_0,
};

static inline llmperf_dtype random_dtype(rng *r)
{
    return FORMATS_IN_USE[rng_chance(r, 0.5) ? 0 : rng_int(r, 0, 6)];
}

static inline void random_model(rng *r, llmperf_model *ret_model)
{
    memset(ret_model, 0, sizeof *ret_model);
    snprintf(ret_model->name, sizeof ret_model->name, "random");
    ret_model->hidden = rng_chance(r, 0.5) ? 64 * rng_log_int(r, 1, 200) : rng_log_int(r, 1, 9999);
    ret_model->vocab = rng_log_int(r, 1, 300000);
    ret_model->embedding_dim = rng_chance(r, 0.8) ? ret_model->hidden : rng_log_int(r, 1, 5000);
    ret_model->position_embeddings = rng_chance(r, 0.2) ? rng_log_int(r, 1, 100000) : 0;
    ret_model->tied = rng_chance(r, 0.4);
    ret_model->head_bias = rng_chance(r, 0.1);
    ret_model->embedding_norm = rng_chance(r, 0.1);
    ret_model->final_norm = rng_chance(r, 0.9);
    ret_model->norm = (uint8_t)rng_int(r, 0, 3);
    ret_model->layer_kind_count = rng_chance(r, 0.6) ? 1 : (int)rng_int(r, 2, 4);
    for (int i = 0; i < ret_model->layer_kind_count; i++)
        random_layer(r, &ret_model->layers[i]);
    uniform_weights(ret_model, rng_chance(r, 0.7) ? LLMPERF_DTYPE_BF16 : LLMPERF_DTYPE_FP16);
    if (rng_chance(r, 0.3)) {
        llmperf_dtype dense = random_dtype(r);
        for (int i = LLMPERF_WEIGHT_ATTENTION; i <= LLMPERF_WEIGHT_MLP; i++) {
            ret_model->weight_dtype[i] = (uint8_t)dense;
            ret_model->weight_bits[i] = llmperf_dtype_bits(dense);
        }
    }
}

/* A degree that divides the heads of every layer shape, often 1. */
static inline int64_t random_tp(rng *r, const llmperf_model *model)
{
    int64_t tp = rng_chance(r, 0.5) ? 1 : (int64_t)1 << rng_int(r, 1, 4);
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_attention *a = &model->layers[i].attention;
        if (a->heads % tp != 0 || (a->kv_heads % tp != 0 && tp % a->kv_heads != 0))
            return 1;
    }
    return tp;
}

/* Prompts, batches and chunks such that a prefill takes at most a few dozen steps. */
static inline void random_workload(rng *r, const llmperf_model *model, llmperf_workload *ret_work)
{
    memset(ret_work, 0, sizeof *ret_work);
    ret_work->batch = rng_log_int(r, 1, 512);
    ret_work->prompt = rng_log_int(r, 1, 32768);
    ret_work->generate = rng_log_int(r, 1, 4096);
    ret_work->cached = rng_chance(r, 0.2) ? rng_int(r, 0, ret_work->prompt - 1) : 0;
    if (rng_chance(r, 0.5)) {
        ret_work->has_context = true;
        ret_work->context = rng_chance(r, 0.1) ? 0 : rng_log_int(r, 1, 200000);
    }
    int64_t tokens = ret_work->batch * (ret_work->prompt - ret_work->cached);
    int64_t least = tokens / 48 + 1;
    ret_work->chunk = rng_log_int(r, least, 2 * tokens);
    ret_work->query = rng_chance(r, 0.8) ? 1 : rng_int(r, 2, 9);
    if (rng_chance(r, 0.5))
        ret_work->weight_dtype = random_dtype(r);
    if (rng_chance(r, 0.3))
        ret_work->act_dtype = rng_chance(r, 0.7) ? LLMPERF_DTYPE_BF16 : LLMPERF_DTYPE_FP32;
    if (rng_chance(r, 0.3))
        ret_work->kv_dtype = rng_chance(r, 0.7) ? LLMPERF_DTYPE_FP8 : LLMPERF_DTYPE_BF16;
    ret_work->unfused = rng_chance(r, 0.3);
    ret_work->logits_all = rng_chance(r, 0.2);
    ret_work->split_qkv = rng_chance(r, 0.2);
    ret_work->tp = random_tp(r, model);
    ret_work->kv_block = rng_chance(r, 0.5) ? 16 : rng_log_int(r, 1, 256);
}

static inline double random_norm(rng *r)
{
    static const double usual[] = {1, 2, 1.1, 3, INFINITY};
    return rng_chance(r, 0.7) ? usual[rng_int(r, 0, 4)] : rng_log(r, 0.3, 20);
}

/* An entry within physics: e in (0.05, 1], or up to 1.05 when asked. */
static inline llmperf_calib_entry random_entry(rng *r, llmperf_op_kind kind, double best)
{
    llmperf_calib_entry entry = calib_ideal(kind);
    entry.param[LLMPERF_PARAM_COMPUTE] = rng_real(r, 0.05, best);
    entry.param[LLMPERF_PARAM_MEMORY] = rng_real(r, 0.05, best);
    entry.param[LLMPERF_PARAM_LINK] = rng_real(r, 0.05, best);
    entry.param[LLMPERF_PARAM_LAUNCH] = rng_chance(r, 0.2) ? 0 : rng_log(r, 1e-7, 1e-4);
    entry.param[LLMPERF_PARAM_HOP] = rng_chance(r, 0.2) ? 0 : rng_log(r, 1e-7, 1e-5);
    if (kind == LLMPERF_KIND_GEMM && rng_chance(r, 0.7))
        entry.param[LLMPERF_PARAM_SERIAL] = rng_log(r, 1e-8, 1e-5);
    if (kind == LLMPERF_KIND_ATTENTION && rng_chance(r, 0.7))
        entry.param[LLMPERF_PARAM_WORK] = rng_log(r, 1e-8, 1e-5);
    entry.param[LLMPERF_PARAM_NORM] =
        kind == LLMPERF_KIND_COLLECTIVE ? rng_real(r, 0.4, 1) : random_norm(r);
    if (rng_chance(r, 0.5)) {
        entry.residual = rng_real(r, 0, 0.3);
        entry.correlation = rng_real(r, 0, 1);
        for (int i = 0; i < LLMPERF_PARAM_COUNT; i++)
            if (isfinite(entry.param[i])) {
                double error = rng_real(r, 0, 0.2) * entry.param[i];
                entry.covariance[i][i] = error * error;
            }
    }
    return entry;
}

/* The refinements of the form, each there or not. */
static inline void refine_entry(rng *r, llmperf_op_kind kind, llmperf_calib_entry *entry)
{
    double *param = entry->param;
    bool attention = kind == LLMPERF_KIND_ATTENTION;
    if (kind != LLMPERF_KIND_GEMM && !attention)
        return;
    if (rng_chance(r, 0.4))
        param[LLMPERF_PARAM_FILL] = rng_log(r, 1, 1000);
    if (rng_chance(r, 0.4))
        param[LLMPERF_PARAM_SETTLE] = rng_real(r, 0, 1);
    if (rng_chance(r, 0.4))
        param[LLMPERF_PARAM_PASSES] = rng_real(r, 0, 4);
    if (rng_chance(r, 0.4))
        param[LLMPERF_PARAM_LOOP] = rng_log(r, 1e-8, 1e-5);
    if (rng_chance(r, 0.3))
        param[LLMPERF_PARAM_FEED] = rng_log(r, 0.1, 10);
    if (!attention && rng_chance(r, 0.4))
        param[LLMPERF_PARAM_TILE] = rng_real(r, 0, 1);
    if (!attention && rng_chance(r, 0.4))
        param[LLMPERF_PARAM_TALL] = rng_real(r, 0, 1);
    if (!attention && rng_chance(r, 0.3))
        param[LLMPERF_PARAM_ROWS] = rng_real(r, 0, 1);
    if (!attention && rng_chance(r, 0.3))
        param[LLMPERF_PARAM_GROUP] = rng_log(r, 1, 300);
    if (attention && rng_chance(r, 0.4))
        param[LLMPERF_PARAM_QUERY_WORK] = rng_log(r, 1e-9, 1e-6);
    if (attention && rng_chance(r, 0.4))
        param[LLMPERF_PARAM_SCORE] = rng_log(r, 1, 500);
    if (attention && rng_chance(r, 0.4))
        param[LLMPERF_PARAM_HEAD] = rng_log(r, 1e-8, 1e-5);
    if (attention && rng_chance(r, 0.4))
        param[LLMPERF_PARAM_HEAD_WORK] = rng_log(r, 1e-9, 1e-6);
    if (attention && rng_chance(r, 0.4))
        param[LLMPERF_PARAM_FIRST] = rng_log(r, 1e-8, 1e-5);
    if (attention && rng_chance(r, 0.4))
        param[LLMPERF_PARAM_MERGE] = rng_log(r, 1e-8, 1e-5);
    if (attention && rng_chance(r, 0.4))
        param[LLMPERF_PARAM_REGROUP] = rng_log(r, 1e-8, 1e-5);
}

/* What a collective has beside latency and link, each there or not. */
static inline void refine_collective(rng *r, llmperf_calib_entry *entry)
{
    double *param = entry->param;
    if (rng_chance(r, 0.6))
        param[LLMPERF_PARAM_STEP] = rng_log(r, 1e-8, 1e-5);
    if (rng_chance(r, 0.6))
        param[LLMPERF_PARAM_SECOND] = rng_log(r, 1e-7, 1e-4);
    if (rng_chance(r, 0.6))
        param[LLMPERF_PARAM_CROWD] = rng_log(r, 0.01, 10);
    if (rng_chance(r, 0.6)) {
        param[LLMPERF_PARAM_BULK] = rng_log(r, 1e-7, 1e-3);
        param[LLMPERF_PARAM_LIMIT] = rng_log(r, 1e3, 1e9);
        param[LLMPERF_PARAM_SHARP] = rng_real(r, 0, 7);
    }
}

/* What a launch of a prompt and decoding sequences adds to that. */
static inline void mix_entry(rng *r, llmperf_calib_entry *entry)
{
    double *param = entry->param;
    if (rng_chance(r, 0.8))
        param[LLMPERF_PARAM_TILE_ROWS] = rng_log(r, 1, 128);
    if (rng_chance(r, 0.8))
        param[LLMPERF_PARAM_UNSPLIT] = rng_log(r, 10, 1000);
    if (rng_chance(r, 0.8))
        param[LLMPERF_PARAM_GROUP_READS] = rng_real(r, 0, 1);
    if (rng_chance(r, 0.8))
        param[LLMPERF_PARAM_IDLE_BLOCK] = rng_log(r, 1e-9, 1e-6);
}

/* A fit for most (kind, regime, dtype); extend is joined from prefill and decode. `refined`: with
 * the terms that are not proportional to flop or bytes. */
static inline void random_calib(rng *r, double best, bool refined, llmperf_calib *ret_calib)
{
    calib_init(ret_calib);
    snprintf(ret_calib->name, sizeof ret_calib->name, "random");
    for (int kind = 0; kind < LLMPERF_KIND_COUNT; kind++)
        for (int regime = 0; regime < LLMPERF_REGIME_COUNT; regime++) {
            bool by_regime = kind == LLMPERF_KIND_ATTENTION;
            if (by_regime == (regime == LLMPERF_REGIME_NONE) || regime == LLMPERF_REGIME_EXTEND ||
                rng_chance(r, 0.1))
                continue;
            llmperf_calib_entry entry = random_entry(r, (llmperf_op_kind)kind, best);
            if (refined)
                refine_entry(r, (llmperf_op_kind)kind, &entry);
            if (refined && kind == LLMPERF_KIND_COLLECTIVE)
                refine_collective(r, &entry);
            if (refined && regime == LLMPERF_REGIME_MIXED)
                mix_entry(r, &entry);
            calib_set(ret_calib, (llmperf_op_kind)kind, (llmperf_regime)regime, 0, &entry, NULL);
            uint8_t at = ret_calib->index[kind][regime][0];
            for (int dtype = 1; dtype < LLMPERF_DTYPE_COUNT; dtype++)
                ret_calib->index[kind][regime][dtype] = at;
        }
}

/* One line on a case, for the message of a failing property; static storage. */
static inline const char *describe_case(const llmperf_config *c)
{
    static char text[4096];
    const llmperf_model *m = c->model;
    const llmperf_workload *w = &c->workload;
    int used = snprintf(text, sizeof text,
                        "h %" PRId64 " V %" PRId64 " e %" PRId64 " tied %d norm %d; b %" PRId64
                        " s %" PRId64 " cached %" PRId64 " g %" PRId64 " ctx %" PRId64
                        " chunk %" PRId64 " q %" PRId64 " w %s a %s kv %s unfused %d all %d "
                        "split %d tp %" PRId64 " block %" PRId64,
                        m->hidden, m->vocab, m->embedding_dim, m->tied, m->norm, w->batch,
                        w->prompt, w->cached, w->generate, w->context, w->chunk, w->query,
                        llmperf_dtype_name(w->weight_dtype), llmperf_dtype_name(w->act_dtype),
                        llmperf_dtype_name(w->kv_dtype), w->unfused, w->logits_all, w->split_qkv,
                        w->tp, w->kv_block);
    for (int i = 0; i < m->layer_kind_count && used < (int)sizeof text; i++) {
        const llmperf_layer *l = &m->layers[i];
        const llmperf_attention *a = &l->attention;
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "; %" PRId64 "x norms %" PRId64 " par %d n %" PRId64 "/%" PRId64
                         " d %" PRId64 "/%" PRId64 " win %" PRId64 " f %" PRId64 " gated %d",
                         l->count, l->norms, l->parallel, a->heads, a->kv_heads, a->head_dim,
                         a->value_dim, a->window, l->mlp.ffn, l->mlp.gated);
    }
    return text;
}

#endif
