/* SPDX-License-Identifier: MIT */
/* Engine profiles: what their parameters come to by hand, their files, and what a part without an
 * entry borrows. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/llmperf.h"
#include "steps.h"
#include "config_object.h"
#include "engine_object.h"
#include "fits.h"
#include "read.h"
#include "config.h"
#include "engine_field.h"
#include "kin.h"
#include "host.h"
#include "profile.h"
#include "time_op.h"

static llmperf_error error;
static llmperf_hw hw;
static llmperf_model model;
static llmperf_engine engine, again;
static llmperf_engine_part part;
static llmperf_calib calib;

/* 1 TB/s, 100 TFLOP/s in bf16, 10 GB/s links: seconds are easy. */
static void round_part(void)
{
    memset(&hw, 0, sizeof hw);
    snprintf(hw.name, sizeof hw.name, "round");
    hw.mem_bytes_per_s = 1e12;
    hw.memory_bytes = 1e12;
    hw.units = 100;
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 1e14;
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP32] = 1e13;
    hw.link = (llmperf_link){.kind = "nvlink", .bytes_per_s = 1e10, .latency_s = 1e-6, .domain = 8};
}

/* Two layers of hidden 1024, 8 heads of 128 over 2 KV heads, FFN 4096, no norm counted apart. */
static void small_model(void)
{
    memset(&model, 0, sizeof model);
    snprintf(model.name, sizeof model.name, "small");
    model.hidden = model.embedding_dim = 1024;
    model.vocab = 4096;
    model.final_norm = true;
    model.layer_kind_count = 1;
    model.layers[0] = (llmperf_layer){
        .count = 2,
        .norms = 2,
        .attention = {.heads = 8, .kv_heads = 2, .head_dim = 128, .value_dim = 128, .rope = true},
        .mlp = {.ffn = 4096, .gated = true}};
    model.dtype = LLMPERF_DTYPE_BF16;
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        model.weight_dtype[i] = LLMPERF_DTYPE_BF16;
        model.weight_bits[i] = 16;
    }
}

static void known_part(void)
{
    static const double PARAM[LLMPERF_ENGINE_PARAM_COUNT] = {
        [LLMPERF_ENGINE_WEIGHT] = 0.8,       [LLMPERF_ENGINE_KV] = 0.5,
        [LLMPERF_ENGINE_HEADS] = 4,          [LLMPERF_ENGINE_COMPUTE] = 0.5,
        [LLMPERF_ENGINE_STORED] = 0.25,      [LLMPERF_ENGINE_ATTENTION] = 0.4,
        [LLMPERF_ENGINE_EXPERTS] = 10,       [LLMPERF_ENGINE_SCORE] = 2,
        [LLMPERF_ENGINE_LAYER] = 1e-4,       [LLMPERF_ENGINE_STEP] = 1e-3,
        [LLMPERF_ENGINE_SEQUENCE] = 1e-5,    [LLMPERF_ENGINE_HOP] = 2e-5,
        [LLMPERF_ENGINE_LINK] = 0.5,         [LLMPERF_ENGINE_REQUEST] = 5e-3,
        [LLMPERF_ENGINE_MIXED] = 0.2,        [LLMPERF_ENGINE_DECODE] = 0.02,
        [LLMPERF_ENGINE_WEIGHT_FP16] = 0.9,  [LLMPERF_ENGINE_WEIGHT_BF16] = 0.9,
        [LLMPERF_ENGINE_WEIGHT_8] = 0.8,     [LLMPERF_ENGINE_WEIGHT_4] = 0.5,
        [LLMPERF_ENGINE_COMPUTE_FP16] = 0.8, [LLMPERF_ENGINE_COMPUTE_BF16] = 0.8,
        [LLMPERF_ENGINE_COMPUTE_8] = 0.5,    [LLMPERF_ENGINE_COMPUTE_4] = 1.2,
        [LLMPERF_ENGINE_ROWS_FP16] = 0.3,    [LLMPERF_ENGINE_ROWS_BF16] = 0.3,
        [LLMPERF_ENGINE_ROWS_8] = 0.5,       [LLMPERF_ENGINE_ROWS_4] = 0.9,
    };
    memset(&part, 0, sizeof part);
    memset(&engine, 0, sizeof engine);
    snprintf(part.hw, sizeof part.hw, "round");
    snprintf(engine.name, sizeof engine.name, "mine");
    memcpy(part.param, PARAM, sizeof PARAM);
    part.decode_residual = 0.1;
    part.prefill_residual = 0.2;
}

static void set_up(void)
{
    error = (llmperf_error){0};
    round_part();
    small_model();
    known_part();
    engine_calib(&engine, &part, &hw, NULL, &calib);
}

TestSuite(engine, .init = set_up);

/* ---- what the parameters come to ----------------------------------------------------------------------- */

Test(engine, dense_layers_add_compute_and_memory)
{
    /* 1000 x 1000 x 1000 in bf16: 2e9 flop / (0.5 x 1e14) = 40 us; 6e6 bytes / 0.8e12 = 7.5 us */
    llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                     .dtype = LLMPERF_DTYPE_BF16,
                     .launches = 1,
                     .devices = 1,
                     .repeat = 1,
                     .m = 1000,
                     .n = 1000,
                     .k = 1000,
                     .flop = 2e9,
                     .weight_bytes = 2e6,
                     .input_bytes = 2e6,
                     .output_bytes = 2e6,
                     .bytes = 6e6};
    cr_expect_float_eq(time_op(&op, &hw, &calib, NULL, NULL), 47.5e-6, 1e-12);
    /* stored in 4 bits: four times the compute time; 4.5e6 bytes */
    op.weight_bytes = 0.5e6;
    op.bytes = 4.5e6;
    cr_expect_float_eq(time_op(&op, &hw, &calib, NULL, NULL), 160e-6 + 5.625e-6, 1e-12);
}

Test(engine, experts_count_as_stored_narrow_by_what_they_stream)
{
    /* 4 experts of 1000 x 1000 in 16 bit, 10 tokens each: not narrow, though weight_bytes holds all */
    llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                     .dtype = LLMPERF_DTYPE_BF16,
                     .launches = 1,
                     .devices = 1,
                     .repeat = 1,
                     .m = 10,
                     .n = 1000,
                     .k = 1000,
                     .flop = 4 * 2e7,
                     .weight_bytes = 8e6,
                     .bytes = 8e6};
    /* 8e7 / 0.5e14 = 1.6 us; 8e6 / 0.8e12 = 10 us */
    cr_expect_float_eq(time_op(&op, &hw, &calib, NULL, NULL), 11.6e-6, 1e-12);
    op.weight_bytes = op.bytes = 2e6; /* 4 bits: 6.4 us, 2.5 us */
    cr_expect_float_eq(time_op(&op, &hw, &calib, NULL, NULL), 8.9e-6, 1e-12);
    /* in a grouped product each expert's 10 rows cost as 20 do in a dense layer: 12.8 us, 2.5 us */
    op.id = LLMPERF_OP_MOE_GATE_UP;
    cr_expect_float_eq(time_op(&op, &hw, &calib, NULL, NULL), 15.3e-6, 1e-12);
    /* 1000 rows as 1010: long prompts reach what dense layers do */
    op.m = 1000;
    op.flop *= 100;
    cr_expect_float_eq(time_op(&op, &hw, &calib, NULL, NULL), 646.4e-6 + 2.5e-6, 1e-12);
    op.m = 10;
    op.flop /= 100;
    op.id = LLMPERF_OP_MOE_SHARED_GATE_UP; /* a shared expert is a dense layer */
    cr_expect_float_eq(time_op(&op, &hw, &calib, NULL, NULL), 8.9e-6, 1e-12);
}

Test(engine, decode_attention_reads_per_kv_head_and_per_query_head)
{
    /* 8 heads over 2 KV heads of 128, 1000 keys, one sequence, 16 bit: K and V 2 x 2 x 128 x 1000 x 2
     * bytes = 1.024e6 at half of 1 TB/s = 2.048 us; per query head 4 x that, 4.096e6 bytes, at
     * 4 TB/s = 1.024 us */
    llmperf_op op = {.kind = LLMPERF_KIND_ATTENTION,
                     .regime = LLMPERF_REGIME_DECODE,
                     .dtype = LLMPERF_DTYPE_BF16,
                     .launches = 1,
                     .devices = 1,
                     .repeat = 1,
                     .flop = 2.0 * 8 * 256 * 1000,
                     .kv_read_bytes = 1.024e6,
                     .bytes = 1.024e6,
                     .sequences = 1,
                     .query_tokens = 1,
                     .past_tokens = 999,
                     .heads = 8,
                     .kv_heads = 2,
                     .head_dim = 128,
                     .value_dim = 128};
    cr_expect_float_eq(time_op(&op, &hw, &calib, NULL, NULL), 3.072e-6, 1e-12);
}

Test(engine, attention_of_prompts_moves_scores)
{
    /* 1000 queries, 8 heads of 128, 500500 pairs: 2 x 8 x 256 x 500500 flop = 2.05005e9 at 0.4 x 1e14
     * = 51.25 us; 2 bytes for each of 8 x 500500 scores at 1 TB/s = 8.008 us; bytes 1e6 / 0.8e12 */
    llmperf_op op = {.kind = LLMPERF_KIND_ATTENTION,
                     .regime = LLMPERF_REGIME_PREFILL,
                     .dtype = LLMPERF_DTYPE_BF16,
                     .launches = 1,
                     .devices = 1,
                     .repeat = 1,
                     .flop = 2.0 * 8 * 256 * 500500,
                     .bytes = 1e6,
                     .sequences = 1,
                     .query_tokens = 1000,
                     .heads = 8,
                     .kv_heads = 2,
                     .head_dim = 128,
                     .value_dim = 128};
    double by_hand = 2.0 * 8 * 256 * 500500 / 0.4e14 + 2.0 * 8 * 500500 / 1e12 + 1e6 / 0.8e12;
    cr_expect_float_eq(time_op(&op, &hw, &calib, NULL, NULL), by_hand, 1e-12);
}

Test(engine, collectives_cost_a_hop_a_doubling)
{
    llmperf_op op = {.kind = LLMPERF_KIND_COLLECTIVE,
                     .collective = LLMPERF_COLLECTIVE_ALL_REDUCE,
                     .launches = 1,
                     .devices = 4,
                     .repeat = 1,
                     .link_bytes = 1e6};
    /* 2 doublings x 20 us + 1e6 / (0.5 x 1e10) = 40 + 200 us */
    cr_expect_float_eq(time_op(&op, &hw, &calib, NULL, NULL), 240e-6, 1e-12);
}

Test(engine, the_host_adds_per_step_layer_and_sequence)
{
    llmperf_workload w = {.batch = 5, .prompt = 100, .generate = 10};
    llmperf_config c;
    llmperf_total total;
    cr_assert(config_init(&c, &model, &hw, &calib, &w, &error) == LLMPERF_OK, "%s", error.text);
    llmperf_segment segment = llmperf_decode_segment(&c, 5, 100);
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_time times[LLMPERF_OPS_MAX];
    int count = step_into(&c, &segment, 1, ops, times, &total);
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += ops[i].repeat * times[i].time_s;
    /* 1 ms + 2 x 0.1 ms + 5 x 10 us */
    cr_expect_float_eq(total.host_s, 1.25e-3, 1e-12);
    cr_expect_float_eq(total.time_s, sum + 1.25e-3, 1e-12);
    /* the whole prefill of five prompts in steps of 100 tokens: five steps of one sequence */
    c.workload.chunk = 100;
    cr_expect_float_eq(llmperf_prefill_total(&c, 5, room(), &total), 5, 0);
    cr_expect_float_eq(total.host_s, 5 * 1.21e-3, 1e-12);
}

/* A host that overlaps in part (norm 2) does so step by step: two chunks of a prompt are sqrt(host^2 +
 * operators^2) each, 1.21 ms of host, whatever came before. */
Test(engine, each_step_has_a_host_of_its_own)
{
    llmperf_workload w = {.batch = 1, .prompt = 200, .chunk = 100, .generate = 10};
    llmperf_config c;
    llmperf_total both, one;
    double sum = 0;
    cr_assert(config_init(&c, &model, &hw, &calib, &w, &error) == LLMPERF_OK);
    calib.host.norm = 2;
    for (int64_t i = 0; i < 2; i++) {
        const llmperf_segment chunk = {
            .sequences = 1, .query = 100, .past = 100 * i, .logits = i == 1};
        llmperf_step(&c, &chunk, 1, room(), &one);
        double ops_s = one.time_s - one.host_s;
        cr_expect_float_eq(one.time_s, sqrt(ops_s * ops_s + 1.21e-3 * 1.21e-3), 1e-12);
        sum += one.time_s;
    }
    cr_expect_float_eq(llmperf_prefill_total(&c, 1, room(), &both), 2, 0);
    cr_expect_float_eq(both.time_s, sum, 1e-12);
}

Test(engine, host_norm_runs_from_sum_to_maximum)
{
    llmperf_host host = {.step_s = 3, .norm = 1};
    cr_expect_float_eq(host_time_of(&host, 0, 0, 4, 0), 3, 1e-12);
    host.norm = 2; /* 5 - 4 */
    cr_expect_float_eq(host_time_of(&host, 0, 0, 4, 0), 1, 1e-12);
    host.norm = INFINITY;
    cr_expect_float_eq(host_time_of(&host, 0, 0, 4, 0), 0, 0);
    cr_expect_float_eq(host_time_of(&host, 0, 0, 1, 0), 2, 1e-12);
    host.norm = 1; /* launches that fits of operators count are the host's, not added to it */
    cr_expect_float_eq(host_time_of(&host, 0, 0, 4, 2), 1, 1e-12);
    cr_expect_float_eq(host_time_of(&host, 0, 0, 4, 9), 0, 0);
}

Test(engine, shares_of_a_step_sum_to_one_with_the_host)
{
    static llmperf_prediction p = LLMPERF_PREDICTION_INIT;
    llmperf_workload w = {.batch = 8, .prompt = 512};
    llmperf_config c;
    cr_assert(config_init(&c, &model, &hw, &calib, &w, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_predict(&c, &p, &error) == LLMPERF_OK);
    const llmperf_share *s = &p.share;
    cr_expect_gt(s->host, 0.5);
    cr_expect_float_eq(s->dense + s->attention + s->other + s->launch + s->link + s->host, 1,
                       1e-12);
    /* the interval is the profile's residual, once a step: exp(1.6449 x 0.1) */
    cr_expect_float_eq(p.tpot_s.high / p.tpot_s.value, exp(1.644853627 * 0.1), 1e-6);
    cr_expect_float_eq(p.ttft_s.value / p.ttft_s.low, exp(1.644853627 * 0.2), 1e-6);
    cr_expect_eq(p.kind, LLMPERF_ESTIMATE_CALIBRATED);
    cr_expect_float_eq(p.tpot_s.value, llmperf_tpot(&c, 8, room()), 1e-15);
}

Test(engine, time_never_falls_with_batch_and_context)
{
    llmperf_workload w = {.prompt = 512};
    llmperf_config c;
    cr_assert(config_init(&c, &model, &hw, &calib, &w, &error) == LLMPERF_OK, "%s", error.text);
    double before = 0;
    for (int64_t batch = 1; batch < 4096; batch = batch * 3 / 2 + 1) {
        double now = llmperf_tpot(&c, batch, room());
        cr_expect_geq(now, before);
        before = now;
    }
    before = 0;
    for (int64_t context = 0; context < 100000; context = 2 * context + 1) {
        llmperf_config_move(&c, 4, 512, context);
        double now = llmperf_tpot(&c, 4, room());
        cr_expect_geq(now, before);
        before = now;
    }
}

Test(engine, fits_of_operators_take_the_place_of_the_profiles)
{
    static llmperf_calib kernels, both;
    llmperf_calib_entry e = calib_ideal(LLMPERF_KIND_GEMM);
    calib_init(&kernels);
    snprintf(kernels.name, sizeof kernels.name, "kernels");
    e.param[LLMPERF_PARAM_MEMORY] = 0.9;
    e.param[LLMPERF_PARAM_LAUNCH] = 5e-6;
    cr_assert(calib_set(&kernels, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16, &e,
                        NULL) == LLMPERF_OK);
    engine_calib(&engine, &part, &hw, &kernels, &both);
    llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                     .dtype = LLMPERF_DTYPE_BF16,
                     .launches = 1,
                     .devices = 1,
                     .repeat = 1,
                     .m = 1,
                     .n = 1000,
                     .k = 1000,
                     .flop = 2e6,
                     .weight_bytes = 2e6,
                     .bytes = 2e6};
    cr_expect_float_eq(time_op(&op, &hw, &both, NULL, NULL), 5e-6 + 2e-6 / 0.9, 1e-12);
    cr_expect_float_eq(both.host.layer_s, 1e-4, 0);
    /* attention, of which there is no fit, is the profile's */
    cr_expect_neq(both.index[LLMPERF_KIND_ATTENTION][LLMPERF_REGIME_DECODE][LLMPERF_DTYPE_BF16],
                  LLMPERF_CALIB_NO_ENTRY);
}

/* A profile of this part with kernels from another, or the other way round: the less certain counts. */
Test(engine, what_is_borrowed_twice_is_as_wide_as_the_wider)
{
    static llmperf_calib kernels, both;
    calib_init(&kernels);
    for (int i = 0; i < 2; i++) {
        part.borrowed = i == 0 ? 0.1 : 0.3;
        kernels.borrowed = i == 0 ? 0.3 : 0.1;
        engine_calib(&engine, &part, &hw, &kernels, &both);
        cr_expect_eq(both.borrowed, 0.3);
    }
    engine_calib(&engine, &part, &hw, NULL, &both);
    cr_expect_eq(both.borrowed, 0.3);
}

static llmperf_spec_paths source_paths(void)
{
    llmperf_spec_paths paths = {.count = 1};
    snprintf(paths.folder[0], LLMPERF_PATH_MAX, "%s/specs", getenv("LLMPERF_SOURCE"));
    return paths;
}

static void load_part(const llmperf_spec_paths *paths, const char *name, llmperf_hw *ret)
{
    char path[LLMPERF_PATH_MAX];
    cr_assert(llmperf_find_hw(paths, name, path, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_hw_load(path, ret, &error) == LLMPERF_OK, "%s", error.text);
}

/* ---- processors ----------------------------------------------------------------------------------------- */

/* 100 GB/s, 1 TFLOP/s in fp32, 16 in bf16 by a matrix unit: 4 cores. */
static void round_processor(void)
{
    round_part();
    snprintf(hw.kind, sizeof hw.kind, "cpu");
    hw.mem_bytes_per_s = 1e11;
    hw.units = 4;
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP32] = 1e12;
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 1.6e13;
    engine_calib(&engine, &part, &hw, NULL, &calib);
}

/* A product of m rows with a 1000 x 1000 matrix in so many bits; m x 2e6 flop, 125e3 x bits bytes. */
static llmperf_op product(llmperf_dtype dtype, double m, double bits)
{
    llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                     .dtype = (uint8_t)dtype,
                     .launches = 1,
                     .devices = 1,
                     .repeat = 1,
                     .m = m,
                     .n = 1000,
                     .k = 1000,
                     .flop = 2e6 * m,
                     .weight_bytes = 125e3 * bits};
    op.bytes = op.weight_bytes;
    return op;
}

static double time_of(llmperf_op op)
{
    return time_op(&op, &hw, &calib, NULL, NULL);
}

Test(engine, a_processor_has_a_kernel_for_each_format)
{
    round_processor();
    /* fp32: 40e6 flop / (0.5 x 1e12) = 80 us; 4e6 bytes / (0.8 x 1e11) = 50 us */
    cr_expect_float_eq(time_of(product(LLMPERF_DTYPE_FP32, 20, 32)), 130e-6, 1e-12);
    /* 16 bit: compute / 0.8 = 100 us, m = 20 is whole fours; 2e6 / (0.8 x 0.9 x 1e11) */
    cr_expect_float_eq(time_of(product(LLMPERF_DTYPE_FP32, 20, 16)), 100e-6 + 2e-5 / 0.72, 1e-12);
    /* 8.5 bit: 160 us; 1.0625e6 / (0.64e11). 4.5: 80 / 1.2 us; 562500 / (0.4e11) */
    cr_expect_float_eq(time_of(product(LLMPERF_DTYPE_FP32, 20, 8.5)), 160e-6 + 1.0625e-5 / 0.64,
                       1e-12);
    cr_expect_float_eq(time_of(product(LLMPERF_DTYPE_FP32, 20, 4.5)), 80e-6 / 1.2 + 5.625e-6 / 0.4,
                       1e-12);
}

Test(engine, other_formats_of_a_processor_take_the_nearest_ones_kernel)
{
    round_processor();
    /* 6.56 bits: log2(8.5 / 6.56) = 0.37 octaves, log2(6.56 / 4.5) = 0.54: as 8 bits */
    cr_expect_float_eq(time_of(product(LLMPERF_DTYPE_FP32, 20, 6.56)), 160e-6 + 8.2e-6 / 0.64,
                       1e-12);
    cr_expect_float_eq(time_of(product(LLMPERF_DTYPE_FP32, 20, 4.85)),
                       80e-6 / 1.2 + 6.0625e-6 / 0.4, 1e-12);
}

Test(engine, a_processor_computes_in_its_vector_units_whatever_the_format)
{
    round_processor();
    for (double bits = 4.5; bits <= 16; bits += 11.5) {
        double as_fp32 = time_of(product(LLMPERF_DTYPE_FP32, 20, bits));
        cr_expect_float_eq(time_of(product(LLMPERF_DTYPE_BF16, 20, bits)), as_fp32, 1e-12);
    }
    /* decode attention is arithmetic: 4e6 flop / (0.02 x 1e12) = 200 us; 1e6 bytes / 0.5e11 = 20 us */
    llmperf_op op = {.kind = LLMPERF_KIND_ATTENTION,
                     .regime = LLMPERF_REGIME_DECODE,
                     .dtype = LLMPERF_DTYPE_FP32,
                     .launches = 1,
                     .repeat = 1,
                     .flop = 4e6,
                     .bytes = 1e6};
    cr_expect_float_eq(time_of(op), 220e-6, 1e-12);
    op.dtype = LLMPERF_DTYPE_BF16;
    cr_expect_float_eq(time_of(op), 220e-6, 1e-12);
}

Test(engine, few_rows_are_filled_up_to_fours)
{
    part.param[LLMPERF_ENGINE_ROWS_4] = 1;
    round_processor();
    /* 4.5 bits pay all of it: a row is 2e6 / (0.5 x 1.2 x 1e12) = 3.33 us; 1 row costs two, 2 to 4 rows
     * four, 5 rows eight */
    const double row = 2e6 / 0.6e12, weights = 5.625e-6 / 0.4;
    const double rows[][2] = {{1, 2}, {2, 4}, {3, 4}, {4, 4}, {5, 8}, {64, 64}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_float_eq(time_of(product(LLMPERF_DTYPE_FP32, rows[i][0], 4.5)),
                           rows[i][1] * row + weights, 1e-12, "%g rows", rows[i][0]);
    double before = 0;
    for (double m = 0.25; m < 40; m += 0.25) { /* fractions: tokens of an expert */
        double now = time_of(product(LLMPERF_DTYPE_FP32, m, 8.5));
        cr_expect_geq(now, before, "%g rows", m);
        before = now;
    }
}

Test(engine, processors_and_gpus_lend_each_other_nothing)
{
    llmperf_spec_paths paths = source_paths();
    llmperf_engine_part found;
    engine.borrowed = 0.1;
    engine.part_count = 2;
    engine.part[0] = engine.part[1] = part;
    snprintf(engine.part[0].hw, sizeof part.hw, "h100-sxm");
    snprintf(engine.part[1].hw, sizeof part.hw, "two-core-xeon");
    engine.part[0].param[LLMPERF_ENGINE_WEIGHT] = 0.95;
    engine.part[0].decode_residual = 0.5;
    load_part(&paths, "epyc-9654", &hw);
    engine_choose(&paths, &engine, &hw, false, &found);
    cr_expect_str_eq(found.hw, "two-core-xeon");
    /* a core has 4.8 GB/s and 77.1 GFLOP/s there, 17.3 and 150 here: 1.85 and 0.96 octaves; from what
     * is typical towards 0.8, by that likeness / (1 + noise 0.0225) */
    double like = 0.5 + 0.45 * exp(-(log2(17.3 / 4.8) + log2(150 / (7400 / 96.0))) / 2 / 0.5);
    cr_expect_float_eq(found.param[LLMPERF_ENGINE_WEIGHT],
                       0.75 * exp(like * log(0.8 / 0.75) / 1.0225), 1e-9);
    cr_expect_float_eq(found.decode_residual, 0.1, 1e-12);
    /* one processor does not tell how others differ */
    cr_expect_float_eq(found.borrowed, 0.45, 1e-12);
    load_part(&paths, "h200-sxm", &hw);
    engine_choose(&paths, &engine, &hw, false, &found);
    cr_expect_str_eq(found.hw, "h100-sxm");
    cr_expect_float_eq(found.decode_residual, 0.5, 1e-12);
}

/* The derivative that the fit uses, against differences of the entries. */
static void expect_derivatives(void)
{
    static llmperf_calib low, high;
    for (int k = 0; k < LLMPERF_ENGINE_PARAM_COUNT; k++) {
        llmperf_engine_part shifted = part;
        double step = 1e-6 * part.param[k], d[LLMPERF_ENGINE_PARAM_COUNT];
        shifted.param[k] = part.param[k] - step;
        engine_calib(&engine, &shifted, &hw, NULL, &low);
        shifted.param[k] = part.param[k] + step;
        engine_calib(&engine, &shifted, &hw, NULL, &high);
        for (int e = 0; e < calib.entry_count; e++)
            for (int p = 0; p < LLMPERF_PARAM_COUNT; p++) {
                if (isinf(calib.entry[e].param[p]))
                    continue;
                double slope = (high.entry[e].param[p] - low.entry[e].param[p]) / (2 * step);
                engine_derivative(&part, &hw, &calib.entry[e], (llmperf_param)p, d);
                cr_expect_float_eq(d[k], slope, 1e-6 * fmax(1, fabs(slope)),
                                   "%s of entry %d by %s: %g, not %g",
                                   llmperf_param_name((llmperf_param)p), e,
                                   llmperf_engine_param_name((llmperf_engine_param)k), d[k], slope);
            }
    }
}

/* ---- intervals ------------------------------------------------------------------------------------------ */

static const double Z90 = 1.6448536269514722; /* P(|N(0,1)| < Z90) = 0.9 */

/*
 * One product of 1000 x 1000 for one row: 2 MB at 0.8 TB/s are 2.5 us, 2 MFLOP at 50 TFLOP/s 0.04 us. The
 * shares of the two efficiencies are so 2.5 / 2.54 and 0.04 / 2.54, and their errors 10 and 20 % with
 * correlation -1/2: variance = w^2 0.01 + c^2 0.04 - 2 w c 0.01, beside a residual of 5 %.
 */
Test(engine, intervals_hold_what_the_parameters_are_not_known_to)
{
    part.decode_residual = 0.05;
    part.covariance[LLMPERF_ENGINE_WEIGHT][LLMPERF_ENGINE_WEIGHT] = 0.01;
    part.covariance[LLMPERF_ENGINE_COMPUTE][LLMPERF_ENGINE_COMPUTE] = 0.04;
    part.covariance[LLMPERF_ENGINE_WEIGHT][LLMPERF_ENGINE_COMPUTE] = -0.01;
    part.covariance[LLMPERF_ENGINE_COMPUTE][LLMPERF_ENGINE_WEIGHT] = -0.01;
    engine_calib(&engine, &part, &hw, NULL, &calib);
    const llmperf_config c = {
        .model = &model, .hw = &hw, .calib = &calib, .workload = {.confidence = 0.9}};
    const llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                           .dtype = LLMPERF_DTYPE_BF16,
                           .launches = 1,
                           .devices = 1,
                           .repeat = 1,
                           .m = 1,
                           .n = 1000,
                           .k = 1000,
                           .flop = 2e6,
                           .weight_bytes = 2e6,
                           .bytes = 2e6};
    llmperf_estimate got = llmperf_estimate_op(&c, &op, room());
    double w = 2.5 / 2.54, k = 0.04 / 2.54;
    double s = sqrt(w * w * 0.01 + k * k * 0.04 - 2 * w * k * 0.01 + 0.05 * 0.05);
    cr_expect_float_eq(got.value, 2.54e-6, 1e-18);
    cr_expect_float_eq(got.high / got.value, exp(Z90 * s), 1e-9);
    cr_expect_float_eq(got.value / got.low, exp(Z90 * s), 1e-9);
}

/* A host that is known to a half: its share of the step, 2 layers of 0.1 ms, is all that is uncertain. */
Test(engine, intervals_of_a_step_hold_its_host)
{
    static llmperf_prediction p = LLMPERF_PREDICTION_INIT;
    llmperf_config c;
    part.decode_residual = part.prefill_residual = 0;
    part.covariance[LLMPERF_ENGINE_LAYER][LLMPERF_ENGINE_LAYER] = 0.25;
    engine_calib(&engine, &part, &hw, NULL, &calib);
    const llmperf_workload w = {.batch = 4, .prompt = 512};
    cr_assert(config_init(&c, &model, &hw, &calib, &w, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_predict(&c, &p, &error) == LLMPERF_OK, "%s", error.text);
    double share = 2 * 1e-4 / p.tpot_s.value;
    cr_expect_float_eq(p.tpot_s.high / p.tpot_s.value, exp(Z90 * 0.5 * share), 1e-9);
    cr_expect_gt(share, 0.1);
    /* nothing is uncertain: no interval */
    part.covariance[LLMPERF_ENGINE_LAYER][LLMPERF_ENGINE_LAYER] = 0;
    engine_calib(&engine, &part, &hw, NULL, &calib);
    cr_assert(llmperf_predict(&c, &p, &error) == LLMPERF_OK);
    cr_expect_eq(p.tpot_s.high, p.tpot_s.value);
}

/* Four prompts, a step each, whose 1 ms of the host is known to a half: all four err together. */
Test(engine, equal_steps_of_a_prefill_err_together)
{
    static llmperf_prediction p = LLMPERF_PREDICTION_INIT;
    llmperf_config c;
    part.decode_residual = part.prefill_residual = 0;
    part.covariance[LLMPERF_ENGINE_STEP][LLMPERF_ENGINE_STEP] = 0.25;
    engine_calib(&engine, &part, &hw, NULL, &calib);
    const llmperf_workload w = {.batch = 4, .prompt = 128, .chunk = 128};
    cr_assert(config_init(&c, &model, &hw, &calib, &w, &error) == LLMPERF_OK);
    cr_assert(llmperf_predict(&c, &p, &error) == LLMPERF_OK);
    double share = 4 * 1e-3 / p.ttft_batch_s.value;
    cr_expect_eq(p.prefill_steps, 4);
    cr_expect(share > 0.3 && share < 1);
    cr_expect_float_eq(p.ttft_batch_s.high / p.ttft_batch_s.value, exp(Z90 * 0.5 * share), 1e-9);
}

/* A served request's first token: the server's wait and the share that mixed steps take are of it. */
Test(engine, intervals_of_a_served_request_hold_wait_and_mixing)
{
    const llmperf_run run = {.kind = LLMPERF_RUN_SERVING,
                             .metric = LLMPERF_METRIC_TTFT,
                             .batch = 8,
                             .prompt = 512,
                             .generate = 64};
    llmperf_estimate sure, unsure;
    llmperf_workload w = {0};
    llmperf_config c;
    part.decode_residual = part.prefill_residual = 0;
    cr_assert(llmperf_run_workload(&run, &w, &w, &error) == LLMPERF_OK);
    engine_calib(&engine, &part, &hw, NULL, &calib);
    cr_assert(config_init(&c, &model, &hw, &calib, &w, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_run_predict(&c, &run, &sure, &error) == LLMPERF_OK, "%s", error.text);
    cr_expect_float_eq(sure.high, sure.value, 1e-12 * sure.value);
    /* d(TTFT) / d(log request_s) = request_s; by mixed_frac, numerically */
    static const llmperf_engine_param PARAMS[] = {LLMPERF_ENGINE_REQUEST, LLMPERF_ENGINE_MIXED};
    for (int i = 0; i < 2; i++) {
        llmperf_engine_part shifted = part;
        llmperf_estimate moved;
        shifted.param[PARAMS[i]] *= 1 + 1e-6;
        engine_calib(&engine, &shifted, &hw, NULL, &calib);
        cr_assert(llmperf_run_predict(&c, &run, &moved, &error) == LLMPERF_OK);
        double slope = (moved.value - sure.value) / 1e-6;
        memset(part.covariance, 0, sizeof part.covariance);
        part.covariance[PARAMS[i]][PARAMS[i]] = 1e-4;
        engine_calib(&engine, &part, &hw, NULL, &calib);
        cr_assert(llmperf_run_predict(&c, &run, &unsure, &error) == LLMPERF_OK);
        cr_expect_gt(slope, 0);
        /* 1 % of a parameter: exp(x) - 1 is x to a percent */
        cr_expect_float_eq((unsure.high - unsure.value) / (Z90 * 0.01 * slope), 1, 0.02);
    }
}

/*
 * TTFT of one of 8 clients: its prompt and 7 x 0.05 of the others' in steps that take a fifth longer, half
 * a decode step, the wait. What mixing and waiting cost is no floor: the datasheet's bytes are, and at
 * most 5 % more bandwidth than it says.
 */
Test(engine, mixing_is_in_the_value_and_not_in_the_floor)
{
    const llmperf_run run = {.kind = LLMPERF_RUN_SERVING, .metric = LLMPERF_METRIC_TTFT};
    const llmperf_workload w = {.batch = 8, .prompt = 512, .generate = 64};
    llmperf_estimate got;
    llmperf_config c, ideal;
    llmperf_total prompt, least;
    part.decode_residual = part.prefill_residual = 3; /* a factor of 20 is below any floor */
    engine_calib(&engine, &part, &hw, NULL, &calib);
    cr_assert(config_init(&c, &model, &hw, &calib, &w, &error) == LLMPERF_OK);
    cr_assert(config_init(&ideal, &model, &hw, NULL, &w, &error) == LLMPERF_OK);
    cr_assert(llmperf_run_predict(&c, &run, &got, &error) == LLMPERF_OK, "%s", error.text);
    llmperf_prefill_total(&c, 1, room(), &prompt);
    llmperf_prefill_total(&ideal, 1, room(), &least);
    double value = 1.2 * 1.35 * prompt.time_s + llmperf_tpot(&c, 8, room()) / 2 + 5e-3;
    double floor = (1.35 * least.time_s + llmperf_tpot(&ideal, 8, room()) / 2) / 1.05;
    cr_expect_float_eq(got.value / value, 1, 1e-9);
    cr_expect_float_eq(got.low / floor, 1, 1e-9);
}

Test(engine, derivatives_agree_with_differences)
{
    expect_derivatives();
    round_processor();
    expect_derivatives();
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static char *written(const llmperf_engine *e)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert(out != NULL);
    cr_assert(llmperf_engine_write(out, e, NULL) == LLMPERF_OK);
    fclose(out);
    return text;
}

Test(engine, what_is_written_reads_back_to_the_last_bit)
{
    engine.alias_count = 2;
    snprintf(engine.aliases[0], sizeof engine.aliases[0], "my \"own\"");
    snprintf(engine.aliases[1], sizeof engine.aliases[1], "other");
    snprintf(engine.source, sizeof engine.source, "measured: here");
    snprintf(engine.licence, sizeof engine.licence, "MIT");
    snprintf(engine.digest, sizeof engine.digest, "fnv1a64:0123456789abcdef");
    engine.borrowed = 0.1 + 0.2;
    part.fitted = 5;
    for (int k = 0; k < 3; k++) { /* two parameters are correlated, the others have no error */
        part.error[2 * k] = 1.0 / (3 + k);
        part.covariance[2 * k][2 * k] = part.error[2 * k] * part.error[2 * k];
    }
    part.covariance[0][4] = part.covariance[4][0] = -0.5 * part.error[0] * part.error[4];
    part.quality.rows = 12;
    part.quality.models = 3;
    part.quality.unseen_median_frac = 1.0 / 7;
    part.quality.bias_frac = -0.01;
    snprintf(part.versions, sizeof part.versions, "0.5, 0.6");
    engine.part[0] = part;
    engine.part[1] = part;
    snprintf(engine.part[1].hw, sizeof engine.part[1].hw, "other");
    engine.part[1].quality = (llmperf_engine_quality){0};
    engine.part[1].covariance[0][4] = engine.part[1].covariance[4][0] = 0; /* errors alone */
    engine.part_count = 2;
    char *text = written(&engine);
    llmperf_status status = engine_load_text("again.yaml", text, strlen(text), &again, &error);
    cr_assert(status == LLMPERF_OK, "%s\n%s", error.text, text);
    char *second = written(&again);
    cr_expect_str_eq(text, second);
    cr_expect_eq(memcmp(&engine.part[0], &again.part[0], sizeof engine.part[0]), 0);
    cr_expect_eq(memcmp(&engine.part[1], &again.part[1], sizeof engine.part[1]), 0);
    cr_expect_eq(again.borrowed, engine.borrowed);
    free(text);
    free(second);
}

#define TWO_ERRORS                                                                                 \
    "schema: 1\nname: a\nparts:\n  - hardware: x\n    parameters: {}\n    relative_error: "        \
    "{weight_efficiency: 0.1, layer_s: 0.2}\n"

Test(engine, errors_alone_are_a_covariance_without_correlations)
{
    cr_assert(engine_load_text("a.yaml", TWO_ERRORS, strlen(TWO_ERRORS), &again, &error) ==
                  LLMPERF_OK,
              "%s", error.text);
    cr_expect_float_eq(again.part[0].covariance[LLMPERF_ENGINE_WEIGHT][LLMPERF_ENGINE_WEIGHT], 0.01,
                       1e-15);
    cr_expect_float_eq(again.part[0].covariance[LLMPERF_ENGINE_LAYER][LLMPERF_ENGINE_LAYER], 0.04,
                       1e-15);
    cr_expect_eq(again.part[0].covariance[LLMPERF_ENGINE_LAYER][LLMPERF_ENGINE_WEIGHT], 0);
}

Test(engine, every_fault_of_a_file_is_told_with_its_place)
{
    static const struct {
        const char *text, *fault;
    } ROWS[] = {
        {"name: a\nparts: []\n",
         "1:1: schema is missing; 1 is required: is this an engine profile?"},
        {"schema: 2\nname: a\nparts: []\n", "1:9: schema is 2; this version reads 1"},
        {"schema: 1\nparts: []\n", "name is missing; it is required"},
        {"schema: 1\nname: a\n", "parts is missing; a list is required"},
        {"schema: 1\nname: a\nparts: 5\n", "3:8: parts is integer 5; a list"},
        {"schema: 1\nname: a\nparts:\n  - hardware: x\n", "4:5: parameters is missing"},
        {"schema: 1\nname: a\nparts:\n  - parameters: {}\n", "hardware is missing"},
        {"schema: 1\nname: \"\"\nparts: []\n", "2:7: name is ''; some text"},
        {"schema: 1\nname: a\nparts:\n  - hardware: x\n    parameters: {weight_efficency: "
         "0.5}\n",
         "5:18: parameter 'weight_efficency' is not known; did you mean 'weight_efficiency'?"},
        {"schema: 1\nname: a\nparts:\n  - hardware: x\n    parameters: {weight_efficiency: "
         "1.5}\n",
         "5:37: weight_efficiency is number 1.5"},
        {"schema: 1\nname: a\nparts:\n  - hardware: x\n    parameters: {layer_s: -1}\n",
         "5:27: layer_s is integer -1"},
        {"schema: 1\nname: a\nparts:\n  - hardware: x\n    parameters: {kv_efficiency: .nan}\n",
         "5:33: kv_efficiency is"},
        {"schema: 1\nname: a\nparts:\n  - hardware: x\n    parameters: {}\n    fitted: "
         "[speed]\n",
         "parameter 'speed' is not known"},
        {"schema: 1\nname: a\nparts:\n  - {hardware: x, parameters: {}}\n  - {hardware: X, "
         "parameters: {}}\n",
         "5:5: a second device 'X'; one is allowed"},
        {"schema: 1\nname: a\npart: []\nparts: []\n", "did you mean 'parts'?"},
        {"schema: 1\nname: a\nparts:\n  - {hardware: x, parameters: {}, residual: {decoding: "
         "1}}\n",
         "key 'decoding' is not known; decode, prefill are allowed here"},
        {TWO_ERRORS "    covariance: [[0.01], [0.01, 0.04, 0]]\n",
         "covariance is no lower triangle; 2 rows of 1 to 2 numbers are allowed"},
        {TWO_ERRORS "    covariance: [[0.01]]\n", "covariance is no lower triangle; 2 rows"},
        {TWO_ERRORS "    covariance: [[0.01], [0.03, 0.04]]\n",
         "7:17: covariance is none; a positive definite one is allowed"},
        {TWO_ERRORS "    covariance: [[0.02], [0, 0.04]]\n",
         "relative_error of weight_efficiency is 0.1, the covariance says 0.141421; they must "
         "agree"},
        {TWO_ERRORS "    covariance: [[0.01], [.nan, 0.04]]\n", "7:27: "},
        {TWO_ERRORS "    covariance: 5\n", "7:17: covariance is integer 5; a list"},
        {"schema: 1\nname: a\nparts:\n  - {hardware: x, parameters: {}, covariance: [[1]]}\n",
         "covariance is no lower triangle; 0 rows"},
        /* each pair may pass and the three be none: 1 - 3 x 0.81 - 2 x 0.729 < 0 */
        {"schema: 1\nname: a\nparts:\n  - hardware: x\n    parameters: {}\n    relative_error: "
         "{layer_s: 1, step_s: 1, hop_s: 1}\n    covariance: [[1], [-0.9, 1], [-0.9, -0.9, "
         "1]]\n",
         "7:17: covariance is none"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        error = (llmperf_error){0};
        llmperf_status status =
            engine_load_text("bad.yaml", ROWS[i].text, strlen(ROWS[i].text), &again, &error);
        cr_expect_eq(status, LLMPERF_E_SPEC, "row %zu", i);
        cr_expect(strstr(error.text, ROWS[i].fault), "row %zu: %s", i, error.text);
    }
}

Test(engine, what_a_file_leaves_out_is_typical)
{
    static const char TEXT[] = "schema: 1\nname: a\nparts:\n  - hardware: x\n    parameters: {}\n";
    cr_assert(engine_load_text("a.yaml", TEXT, strlen(TEXT), &again, &error) == LLMPERF_OK);
    for (int k = 0; k < LLMPERF_ENGINE_PARAM_COUNT; k++)
        cr_expect_eq(again.part[0].param[k], engine_param_typical((llmperf_engine_param)k));
}

/* ---- borrowing -------------------------------------------------------------------------------------------- */

Test(engine, a_part_of_its_own_is_taken_as_it_is)
{
    llmperf_spec_paths paths = source_paths();
    llmperf_engine_part found;
    load_part(&paths, "h100-sxm", &hw);
    snprintf(part.hw, sizeof part.hw, "H100-SXM-80"); /* an alias */
    engine.part[0] = part;
    engine.part_count = 1;
    engine_choose(&paths, &engine, &hw, false, &found);
    cr_expect_eq(found.borrowed, 0);
    cr_expect_eq(found.param[LLMPERF_ENGINE_KV], 0.5);
}

/* Of one part a server's runs and batches of one's own are two entries: each load takes its own, a batch
 * also the server's where there is no other. */
Test(engine, a_load_takes_the_entry_of_its_kind)
{
    llmperf_spec_paths paths = source_paths();
    llmperf_engine_part found;
    load_part(&paths, "h100-sxm", &hw);
    snprintf(part.hw, sizeof part.hw, "h100-sxm");
    engine.part_count = 2;
    for (int i = 0; i < 2; i++) {
        engine.part[i] = part;
        engine.part[i].serving = i == 1;
        engine.part[i].param[LLMPERF_ENGINE_KV] = 0.5 + 0.1 * i;
    }
    for (int i = 0; i < 2; i++) {
        engine_choose(&paths, &engine, &hw, i == 1, &found);
        cr_expect_eq(found.serving, i == 1);
        cr_expect_eq(found.param[LLMPERF_ENGINE_KV], 0.5 + 0.1 * i);
    }
    engine.part[0] = engine.part[1];
    engine.part_count = 1;
    engine_choose(&paths, &engine, &hw, false, &found);
    cr_expect_eq(found.param[LLMPERF_ENGINE_KV], 0.6);
}

/* Entries of an H100 and of another part, to be asked about an H200. */
static void two_lenders(const llmperf_spec_paths *paths, const char *second)
{
    load_part(paths, "h200-sxm", &hw);
    engine.borrowed = 0.25;
    engine.part_count = 2;
    engine.part[0] = engine.part[1] = part;
    snprintf(engine.part[0].hw, sizeof part.hw, "h100-sxm");
    snprintf(engine.part[1].hw, sizeof part.hw, "%s", second);
    engine.part[0].param[LLMPERF_ENGINE_WEIGHT] = 0.9;
    engine.part[1].param[LLMPERF_ENGINE_WEIGHT] = 0.6;
}

/*
 * H200 to H100: half the octaves of 4.8 to 3.35 TB/s, d = 0.2594; likeness 0.7 + 0.3 exp(-d / 2) =
 * 0.96350. To an MI300X 0.1. Noise of what rows tell well: (0.5 x 0.5 x 0.12 / 0.2)^2 = 0.0225. With
 * y = log(0.9 / 0.75), log(0.6 / 0.75) = 0.18232, -0.22314, solve
 *   1.0225 x + 0.1 z = 0.18232,  0.1 x + 1.0225 z = -0.22314:  x = 0.20159, z = -0.23794
 *   0.75 exp(0.96350 x + 0.1 z) = 0.88936
 */
Test(engine, others_lend_the_best_linear_estimate)
{
    llmperf_spec_paths paths = source_paths();
    llmperf_engine_part found;
    two_lenders(&paths, "mi300x");
    engine_choose(&paths, &engine, &hw, false, &found);
    cr_expect_eq(found.borrowed, 0.25);
    cr_expect_float_eq(found.param[LLMPERF_ENGINE_WEIGHT], 0.88936, 2e-5);
    cr_expect_str_eq(found.hw, "h100-sxm");
    cr_expect(strstr(found.remarks, "the nearest is h100-sxm"), "%s", found.remarks);
    cr_expect_float_eq(found.decode_residual, 0.1, 1e-12);
    /* known to 20 %: noise (0.5 x 0.2 / 0.2)^2 = 0.25 in the place of the first 0.0225 */
    engine.part[0].error[LLMPERF_ENGINE_WEIGHT] = 0.2;
    engine_choose(&paths, &engine, &hw, false, &found);
    cr_expect_float_eq(found.param[LLMPERF_ENGINE_WEIGHT], 0.85855, 2e-5);
}

Test(engine, few_rows_lend_little)
{
    llmperf_spec_paths paths = source_paths();
    llmperf_engine_part found;
    two_lenders(&paths, "h100-sxm");
    engine.part_count = 1; /* 0.75 exp(0.96350 x 0.18232 / 1.0225) */
    engine_choose(&paths, &engine, &hw, false, &found);
    cr_expect_float_eq(found.param[LLMPERF_ENGINE_WEIGHT], 0.89059, 2e-5);
    engine.part[0].quality.rows = 10;
    engine_choose(&paths, &engine, &hw, false, &found);
    cr_expect_float_eq(found.param[LLMPERF_ENGINE_WEIGHT], 0.89059, 2e-5);
    engine.part[0].quality.rows = 2; /* 1.0225 + 0.3 (10 / 2 - 1) = 2.2225 */
    engine_choose(&paths, &engine, &hw, false, &found);
    cr_expect_float_eq(found.param[LLMPERF_ENGINE_WEIGHT], 0.81169, 2e-5);
}

Test(engine, another_load_lends_little_where_there_is_the_same)
{
    llmperf_spec_paths paths = source_paths();
    llmperf_engine_part found;
    two_lenders(&paths, "h100-sxm");
    engine.part[1].serving = true;
    engine.part[1].decode_residual = 0.5;
    /* 1.0225 x + z = 0.18232, x + 1.9225 z = -0.22314: x = 0.59398, z = -0.42503 */
    engine_choose(&paths, &engine, &hw, false, &found);
    cr_expect_float_eq(found.param[LLMPERF_ENGINE_WEIGHT], 0.88259, 2e-5);
    cr_expect_float_eq(found.decode_residual, 0.1, 1e-12);
    engine.part[0] = engine.part[1]; /* served runs alone: they lend to a static batch in full */
    engine.part[0].param[LLMPERF_ENGINE_WEIGHT] = 0.9;
    engine.part_count = 1;
    engine_choose(&paths, &engine, &hw, false, &found);
    cr_expect_float_eq(found.param[LLMPERF_ENGINE_WEIGHT], 0.89059, 2e-5);
    cr_expect_float_eq(found.decode_residual, 0.5, 1e-12);
}

/* ---- no estimate goes beyond what measured parts and the typical engine span ------------------------ */

static void within_span(const llmperf_engine_part *found, const char *name)
{
    for (int k = 0; k < LLMPERF_ENGINE_PARAM_COUNT; k++) {
        llmperf_engine_param param = (llmperf_engine_param)k;
        double low = engine_typical_on(&hw, param), high = low;
        for (int i = 0; i < engine.part_count; i++) {
            low = fmin(low, engine.part[i].param[k]);
            high = fmax(high, engine.part[i].param[k]);
        }
        cr_expect(found->param[k] >= low * (1 - 1e-9) && found->param[k] <= high * (1 + 1e-9),
                  "%s on %s: %s %g, from %g to %g", engine.name, name,
                  llmperf_engine_param_name(param), found->param[k], low, high);
    }
}

static bool ask_every_profile(const char *name, const char *path, void *context)
{
    const llmperf_spec_paths *paths = context;
    static const char *const PROFILES[] = {"vllm", "llama.cpp", "tensorrt-llm"};
    char file[LLMPERF_PATH_MAX];
    cr_assert(llmperf_hw_load(path, &hw, &error) == LLMPERF_OK, "%s", error.text);
    for (size_t i = 0; i < sizeof PROFILES / sizeof *PROFILES; i++) {
        llmperf_engine_part found;
        cr_assert(llmperf_find_engine(paths, PROFILES[i], file, &error) == LLMPERF_OK);
        cr_assert(engine_load(file, &engine, &error) == LLMPERF_OK, "%s", error.text);
        engine_choose(paths, &engine, &hw, i == 0, &found);
        within_span(&found, name);
    }
    return true;
}

Test(engine, no_estimate_leaves_the_span_of_the_measured)
{
    llmperf_spec_paths paths = source_paths();
    cr_assert(llmperf_list_specs(&paths, "hardware", ask_every_profile, &paths, &error) ==
              LLMPERF_OK);
}

/* A GPU of 100 units with so many times 1 TB/s and 100 TFLOP/s. */
static llmperf_hw gpu_of(const char *name, const char *architecture, double bandwidth, double peak)
{
    llmperf_hw one = {.kind = "gpu", .vendor = "vendor", .units = 100};
    snprintf(one.name, sizeof one.name, "%s", name);
    snprintf(one.architecture, sizeof one.architecture, "%s", architecture);
    one.mem_bytes_per_s = 1e12 * bandwidth;
    one.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 1e14 * peak;
    return one;
}

/*
 * Four parts around one, a quarter and four times its bandwidth or its peak: d = 1 to it, 2 to each
 * other; likeness 0.7 + 0.3 exp(-1/2) = 0.88196 and 0.7 + 0.3 exp(-1) = 0.81036. All four measured the
 * same: the best linear estimate would be 4 x 0.88196 / (1.0225 + 3 x 0.81036) = 1.0215 of the way from
 * what is typical, beyond all that was measured.
 */
Test(engine, what_all_lenders_agree_on_is_not_exceeded)
{
    static const double MEASURED[] = {0.9, 0.6};
    const llmperf_hw around[] = {gpu_of("a", "hopper", 4, 1), gpu_of("b", "hopper", 0.25, 1),
                                 gpu_of("c", "hopper", 1, 4), gpu_of("d", "hopper", 1, 0.25)};
    const llmperf_hw asked = gpu_of("asked", "hopper", 1, 1);
    const llmperf_hw *lender_hw[4];
    const llmperf_engine_part *lender[4];
    double got[LLMPERF_ENGINE_PARAM_COUNT];
    int nearest;
    for (int i = 0; i < 4; i++) {
        lender_hw[i] = &around[i];
        lender[i] = &part;
        cr_expect_float_eq(engine_likeness(&around[i], &asked), 0.88196, 1e-5);
        cr_expect_float_eq(engine_likeness(&around[i], &around[(i + 1) % 4]), 0.81036, 1e-5);
    }
    for (int i = 0; i < 2; i++) {
        part.param[LLMPERF_ENGINE_WEIGHT] = MEASURED[i];
        engine_mean(lender, lender_hw, 4, &asked, false, got, &nearest);
        cr_expect_float_eq(got[LLMPERF_ENGINE_WEIGHT], MEASURED[i], 1e-12);
    }
}

/* Units alike, generations apart: half of the difference of compute capabilities is the distance d, and
 * likeness 0.7 + 0.3 exp(-d / 2). Volta 7.0, Turing 7.5, Ampere 8.0, Ada 8.9, Hopper 9.0, Blackwell 10.0. */
Test(engine, generations_are_apart_by_half_their_capabilities)
{
    static const struct {
        const char *a, *b;
        double apart;
    } ROWS[] = {{"hopper", "hopper", 0},    {"ampere", "hopper", 1},   {"ada", "hopper", 0.1},
                {"hopper", "blackwell", 1}, {"turing", "ampere", 0.5}, {"volta", "blackwell", 3},
                {"cdna3", "cdna4", 0.1}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const llmperf_hw a = gpu_of("a", ROWS[i].a, 1, 1), b = gpu_of("b", ROWS[i].b, 1, 1);
        double like = 0.7 + 0.3 * exp(-ROWS[i].apart / 2 / 2);
        cr_expect_float_eq(engine_likeness(&a, &b), like, 1e-12, "%s and %s: %g", ROWS[i].a,
                           ROWS[i].b, engine_likeness(&a, &b));
    }
    /* one unit's bandwidth and peak each count half: an octave of one and two of the other, 1.5 */
    const llmperf_hw a = gpu_of("a", "hopper", 1, 1), b = gpu_of("b", "hopper", 2, 4);
    cr_expect_float_eq(engine_likeness(&a, &b), 0.7 + 0.3 * exp(-1.5 / 2), 1e-12);
}

Test(engine, a_part_that_is_held_up_by_something_unknown_lends_nothing)
{
    llmperf_spec_paths paths = source_paths();
    llmperf_engine_part found;
    load_part(&paths, "h100-sxm", &hw);
    engine.part_count = 1;
    engine.part[0] = part;
    snprintf(engine.part[0].hw, sizeof part.hw, "h20");
    engine.part[0].param[LLMPERF_ENGINE_WEIGHT] = 0.4;
    engine_choose(&paths, &engine, &hw, false, &found);
    cr_expect_float_eq(found.param[LLMPERF_ENGINE_WEIGHT],
                       engine_param_typical(LLMPERF_ENGINE_WEIGHT), 1e-12);
    cr_expect_gt(found.borrowed, 0);
}

Test(engine, likeness_is_that_of_units_and_generations)
{
    llmperf_spec_paths paths = source_paths();
    static llmperf_hw h100, h200, a100, mi300x;
    load_part(&paths, "h100-sxm", &h100);
    load_part(&paths, "h200-sxm", &h200);
    load_part(&paths, "a100-sxm-80gb", &a100);
    load_part(&paths, "mi300x", &mi300x);
    double twin = engine_likeness(&h100, &h200), kin = engine_likeness(&h100, &a100);
    cr_expect_float_eq(engine_likeness(&h100, &h100), 1, 1e-12);
    cr_expect_float_eq(twin, 0.9635, 1e-4, "0.7 + 0.3 exp(-0.2594 / 2)");
    cr_expect_gt(twin, kin);
    cr_expect_gt(kin, engine_likeness(&h100, &mi300x));
    cr_expect_float_eq(engine_likeness(&h100, &mi300x), 0.1, 1e-12);
    static llmperf_hw mi355x; /* gfx950 after gfx942: half of 0.1, and what their units differ by */
    load_part(&paths, "mi355x", &mi355x);
    cr_expect_gt(engine_likeness(&mi300x, &mi355x), 0.85);
}

Test(engine, shipped_profiles_read_and_are_found_by_alias)
{
    llmperf_spec_paths paths = source_paths();
    char path[LLMPERF_PATH_MAX];
    static const char *const NAMES[] = {
        "vllm", "vllm-rocm", "trtllm", "tensorrt-llm", "llama.cpp", "sglang", "lmdeploy-turbomind"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        cr_assert(llmperf_find_engine(&paths, NAMES[i], path, &error) == LLMPERF_OK, "%s",
                  error.text);
        cr_assert(engine_load(path, &again, &error) == LLMPERF_OK, "%s", error.text);
        cr_expect_gt(again.part_count, 0);
        cr_expect(again.source[0] && again.licence[0] && again.digest[0], "%s", path);
    }
    cr_expect_eq(llmperf_find_engine(&paths, "vlmm", path, &error), LLMPERF_E_USAGE);
    cr_expect(strstr(error.text, "no engine profile is named 'vlmm'; "), "%s", error.text);
    cr_expect(strstr(error.text, "tensorrt-llm, tinychat, vllm"), "%s", error.text);
}
