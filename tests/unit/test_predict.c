/* SPDX-License-Identifier: MIT */
/* The whole prediction: what each figure is made of. */
#include <criterion/criterion.h>

#include "random_case.h"
#include "steps.h"
#include "config_object.h"
#include "fits.h"
#include "config.h"
#include "time_op.h"

static llmperf_model model;
static llmperf_hw hw;
static llmperf_config c;
static llmperf_prediction p = LLMPERF_PREDICTION_INIT;

static void predict_on(const llmperf_calib *calib, const llmperf_workload *w)
{
    llmperf_error error = {0};
    llmperf_status status = config_init(&c, &model, &hw, calib, w, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    status = llmperf_predict(&c, &p, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
}

static void predict(const llmperf_workload *w)
{
    predict_on(NULL, w);
}

static void llama_on_h100(void)
{
    model = llama_like("llama-3.1-8b", 32, 4096, 32, 8, 128, 14336, 128256);
    hw = h100();
}

/*
 * Llama 3.1 8B, bf16, batch 1 on 1 cached token is memory-bound throughout, but for the tiny
 * residues: the streamed matrices are 32 * (6144 + 4096 + 3*14336) * 4096 * 2 + 128256 * 4096 * 2
 * = 15.009e9 bytes, 4.480 ms at 3.35 TB/s.
 */
Test(predict, decode_of_llama_8b_by_hand)
{
    llama_on_h100();
    predict(&(llmperf_workload){.context = 0, .has_context = true});
    double streamed = 32.0 * (6144 + 4096 + 3 * 14336) * 4096 * 2 + 128256.0 * 4096 * 2;
    cr_expect(is_near(streamed, 15.009e9, 1e-4));
    cr_expect(is_near(p.tpot_s.value, streamed / 3.35e12, 2e-3), "%g", p.tpot_s.value);
    cr_expect(p.tpot_s.value >= streamed / 3.35e12);
    cr_expect(p.decode.bound == LLMPERF_BOUND_MEMORY);
    cr_expect(p.params.total == 8030261248);
}

/* 1024 tokens: 2 * 1024 * (6144 + 4096 + 3*14336) * 4096 * 32 + attention 32 * 4 * 32 * 128 *
 * 1024 * 1025 / 2 flop + one row of the head, over 989.4 TFLOP/s: 14.6 ms. */
Test(predict, prefill_of_llama_8b_by_hand)
{
    llama_on_h100();
    predict(&(llmperf_workload){.prompt = 1024});
    double dense = 2.0 * 1024 * (6144 + 4096 + 3 * 14336) * 4096 * 32;
    double attention = 32.0 * 4 * 32 * 128 * (1024.0 * 1025 / 2);
    double floor = (dense + attention) / 989.4e12;
    cr_expect(p.ttft_s.value > floor && p.ttft_s.value < 1.15 * floor, "%g s, floor %g s",
              p.ttft_s.value, floor);
    cr_expect(p.prefill.bound == LLMPERF_BOUND_COMPUTE);
}

/* e2e = ttft + (g - 1) tpot; tokens/s = b / tpot; ttft is one prompt's, ttft_batch all of them. */
Test(predict, definitions)
{
    llama_on_h100();
    predict(&(llmperf_workload){.batch = 8, .prompt = 512, .generate = 100});
    cr_expect(is_near(p.e2e_s.value, p.ttft_s.value + 99 * p.tpot_s.value, 1e-12));
    cr_expect(is_near(p.decode.tokens_per_s.value, 8 / p.tpot_s.value, 1e-12));
    cr_expect(is_near(p.tokens_per_s_per_seq.value, 1 / p.tpot_s.value, 1e-12));
    cr_expect(is_near(p.prefill.tokens_per_s.value, 8 * 512 / p.prefill.time_s.value, 1e-12));
    cr_expect(p.ttft_batch_s.value == p.prefill.time_s.value);
    cr_expect(p.ttft_batch_s.value > p.ttft_s.value);
    cr_expect(p.tpot_s.value == p.decode.time_s.value);
    cr_expect(p.prefill_steps == 1);
    llmperf_total one;
    llmperf_prefill_total(&c, 1, room(), &one);
    cr_expect(p.ttft_s.value == one.time_s);
    cr_expect(llmperf_tpot(&c, 8, room()) == p.tpot_s.value);

    predict(&(llmperf_workload){.generate = 1}); /* nothing is decoded after the first token */
    cr_expect(p.e2e_s.value == p.ttft_s.value);
}

/* Without a calibration a time is a bound: its value is the least, `high` the published spread;
 * a rate the other way round. */
Test(predict, bounds_without_a_calibration)
{
    llama_on_h100();
    predict(&(llmperf_workload){.batch = 4});
    cr_expect(p.kind == LLMPERF_ESTIMATE_BOUND && !p.has_calibrated);
    cr_expect(p.tpot_s.low == p.tpot_s.value);
    cr_expect(
        is_near(p.tpot_s.high, p.tpot_s.value * llmperf_spread(LLMPERF_SPREAD_DECODE_STEP), 1e-12));
    cr_expect(is_near(p.ttft_s.high, p.ttft_s.value * llmperf_spread(LLMPERF_SPREAD_PREFILL_STEP),
                      1e-12));
    cr_expect(p.decode.tokens_per_s.high == p.decode.tokens_per_s.value);
    cr_expect(is_near(p.decode.tokens_per_s.low, 4 / p.tpot_s.high, 1e-12));
    cr_expect_str_eq(llmperf_estimate_kind_name(p.kind), "bound");
    cr_expect(llmperf_spread(LLMPERF_SPREAD_DECODE_STEP) > 1);
    cr_expect(llmperf_spread(LLMPERF_SPREAD_PREFILL_STEP) > 1);
}

/* 12 prompts of 1000 tokens at most 4096 a step: 3 steps. */
Test(predict, prefill_runs_in_chunks)
{
    llama_on_h100();
    predict(&(llmperf_workload){.batch = 12, .prompt = 1000, .chunk = 4096});
    cr_expect(p.prefill_steps == 3);
}

Test(predict, shares_are_of_the_decode_step)
{
    llama_on_h100();
    predict(&(llmperf_workload){.batch = 64, .context = 8000, .has_context = true, .tp = 2});
    const llmperf_share *s = &p.share;
    cr_expect(
        is_near(s->dense + s->attention + s->other + s->launch + s->link + s->host, 1, 1e-12));
    cr_expect(s->launch == 0 && s->host == 0 && s->link > 0);
    cr_expect(is_near(s->link * p.tpot_s.value, p.decode.total.link_s, 1e-12));
    /* a device reads 64 * 8001 * 64 KiB = 33.6 GB of cache and 7.5 GB of weights */
    cr_expect(s->attention > 0.7 && s->dense > 0.1);
    predict(&(llmperf_workload){.tp = 1});
    cr_expect(p.share.link == 0);
}

/* The batch at which TPOT has risen 10 % over batch 1. */
Test(predict, knee_is_where_tpot_has_risen_a_tenth)
{
    llama_on_h100();
    predict(&(llmperf_workload){.context = 1000, .has_context = true});
    cr_assert(p.has_knee);
    double one = llmperf_tpot(&c, 1, room());
    cr_expect(llmperf_tpot(&c, p.latency_knee_batch, room()) >= 1.1 * one);
    cr_expect(llmperf_tpot(&c, p.latency_knee_batch - 1, room()) < 1.1 * one);
    /* a sequence adds 131 MB of cache to 15 GB of weights: about a tenth at 11 or 12 */
    cr_expect(p.latency_knee_batch >= 10 && p.latency_knee_batch <= 13, "%" PRId64,
              p.latency_knee_batch);
}

Test(predict, largest_batch_under_a_target)
{
    llama_on_h100();
    predict(&(llmperf_workload){.prompt = 900, .generate = 100, .tpot_s = 8e-3});
    cr_expect(!p.limited_by_memory && p.max_batch_at_tpot > 1);
    cr_expect(llmperf_tpot(&c, p.max_batch_at_tpot, room()) <= 8e-3);
    cr_expect(llmperf_tpot(&c, p.max_batch_at_tpot + 1, room()) > 8e-3);
    cr_expect(p.tpot_at_max_batch_s.value == llmperf_tpot(&c, p.max_batch_at_tpot, room()));
    /* a generous target: memory is the limit */
    predict(&(llmperf_workload){.tpot_s = 100});
    cr_expect(p.limited_by_memory && p.max_batch_at_tpot == p.memory.max_batch);
    /* one that a single sequence misses */
    predict(&(llmperf_workload){.tpot_s = 1e-3});
    cr_expect(p.max_batch_at_tpot == 0);
}

/* 1e6 tokens at tokens/s on 2 devices of 3.6 USD/h: 2 * 1e6 / rate / 1000 USD. */
Test(predict, cost_and_energy)
{
    llama_on_h100();
    predict(&(llmperf_workload){.batch = 16, .tp = 2, .price_usd_per_h = 3.6});
    double rate = p.decode.tokens_per_s.value;
    cr_expect(p.has_cost && is_near(p.cost_usd_per_mtok, 2e6 / rate / 1000, 1e-12));
    /* 700 W each: Wh = s / 3600 * 700 */
    cr_expect(p.has_energy && is_near(p.energy_wh_per_mtok, 2e6 / rate / 3600 * 700, 1e-12));
    predict(&(llmperf_workload){.batch = 16});
    cr_expect(!p.has_cost);
    hw.price_usd_per_h = 3.6; /* the part's own price stands in */
    predict(&(llmperf_workload){.batch = 16});
    cr_expect(p.has_cost);
    hw.power_w = 0;
    predict(&(llmperf_workload){.batch = 16});
    cr_expect(!p.has_energy);
}

/* Llama 3.1 70B in bf16 is 141 GB: two 80 GB devices hold the weights but not 0.9 of the memory's
 * worth with them; four do. fp8 (72.8 GB) does not fit one, int4 does. */
Test(predict, ways_out_of_a_deployment_that_does_not_fit)
{
    model = llama_like("llama-3.1-70b", 80, 8192, 64, 8, 128, 28672, 128256);
    hw = h100();
    predict(&(llmperf_workload){0});
    cr_expect(!p.memory.fits && p.memory.max_batch == 0);
    cr_expect(p.fitting_tp == 2 || p.fitting_tp == 4);
    llmperf_config other;
    llmperf_memory memory;
    for (int64_t tp = 1; tp <= p.fitting_tp; tp *= 2) {
        llmperf_workload w = {.tp = tp};
        cr_assert(config_init(&other, &model, &hw, NULL, &w, NULL) == LLMPERF_OK);
        llmperf_memory_of(&other, &memory);
        cr_expect(memory.fits == (tp == p.fitting_tp), "tp %d", (int)tp);
    }
    cr_assert(p.fitting_weight_dtype != LLMPERF_DTYPE_NONE);
    llmperf_workload w = {.weight_dtype = p.fitting_weight_dtype};
    cr_assert(config_init(&other, &model, &hw, NULL, &w, NULL) == LLMPERF_OK);
    llmperf_memory_of(&other, &memory);
    cr_expect(memory.fits);
    cr_expect(p.fitting_context == 0); /* the weights alone are too much */

    /* weights fit, the cache does not: a shorter context is named */
    llama_on_h100();
    predict(&(llmperf_workload){.batch = 64, .prompt = 100000});
    cr_expect(!p.memory.fits && p.fitting_context > 0 &&
              p.fitting_context == p.memory.max_context_tokens && p.fitting_context < 100256);
    predict(&(llmperf_workload){0});
    cr_expect(p.memory.fits && p.fitting_tp == 0 && p.fitting_context == 0 &&
              p.fitting_weight_dtype == LLMPERF_DTYPE_NONE);
}

/* What attention takes of the gain of batching: almost nothing at a short context, most of it at a
 * very long one; between 0 and 1. */
Test(predict, attention_takes_more_of_the_gain_at_long_contexts)
{
    model = llama_like("mha", 32, 4096, 32, 32, 128, 11008, 32000);
    hw = h100();
    predict(&(llmperf_workload){.batch = 16, .context = 10, .has_context = true});
    double small = p.batching.taken;
    cr_expect(small >= 0 && small < 0.05 && p.batching.batch == 16);
    predict(&(llmperf_workload){.batch = 16, .context = 50000, .has_context = true});
    cr_expect(p.batching.taken > 0.8 && p.batching.taken < 1);
    cr_expect(p.batching.taken_long > p.batching.taken);
}

Test(predict, a_calibration_brings_its_own_crossings)
{
    llama_on_h100();
    static llmperf_calib calib;
    calib_init(&calib);
    llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_GEMM);
    entry.param[LLMPERF_PARAM_COMPUTE] = 0.7;
    entry.param[LLMPERF_PARAM_MEMORY] = 0.9;
    cr_assert(calib_set(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16, &entry,
                        NULL) == LLMPERF_OK);
    predict_on(&calib, &(llmperf_workload){0});
    cr_expect(p.has_calibrated);
    cr_expect(p.calibrated.dense.exists && p.datasheet.dense.exists);
    cr_expect(p.calibrated.dense.exact < p.datasheet.dense.exact); /* 0.7 P is reached sooner */
    llmperf_crossings own;
    llmperf_crossings_of(&c, NULL, room(), &own, NULL);
    cr_expect(own.dense.exact == p.datasheet.dense.exact);
}

static bool has_note(const llmperf_notes *notes, const char *piece)
{
    for (int i = 0; i < notes->count; i++)
        if (strstr(notes->text[i], piece))
            return true;
    return false;
}

Test(predict, assumptions_are_noted)
{
    llama_on_h100();
    hw.memory_usable_bytes = 0;
    hw.link.latency_assumed = true;
    llmperf_note(&hw.warnings, "a warning of the part");
    predict(&(llmperf_workload){.tp = 2});
    cr_expect(has_note(&p.notes, "usable memory of h100 is not known"));
    cr_expect(has_note(&p.notes, "latency 3 us is assumed"));
    cr_expect(has_note(&p.notes, "a warning of the part"));
    predict(&(llmperf_workload){.tp = 1});
    cr_expect(!has_note(&p.notes, "latency"));
}

Test(predict, what_is_left_out_is_said)
{
    llama_on_h100();
    snprintf(model.not_counted, sizeof model.not_counted, "a vision tower");
    predict(&(llmperf_workload){0});
    llmperf_notes left_out;
    llmperf_not_modelled(&c, &left_out);
    cr_expect(has_note(&left_out, "no calibration") && has_note(&left_out, "a vision tower"));
    cr_expect(has_note(&left_out, "sampling"));
}

/* ---- sums of their own ---- */

/* Time of a decode step, operator by operator, and of its attention alone. */
static double step_by_operators(int64_t batch, int64_t context, double *ret_attention_s)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment segment = llmperf_decode_segment(&c, batch, context);
    int count = llmperf_emit(&c, &segment, 1, LLMPERF_OPS_MAX, ops);
    double sum = 0;
    *ret_attention_s = 0;
    for (int i = 0; i < count; i++) {
        double time_s = ops[i].repeat * time_op(&ops[i], &hw, NULL, NULL, NULL);
        sum += time_s;
        *ret_attention_s += ops[i].id == LLMPERF_OP_ATTN_CORE ? time_s : 0;
    }
    return sum;
}

/*
 * Batching 16 sequences gives G = 16 t(1) / t(16) times the tokens; were attention read once for all,
 * it would be G* with t(16) less 15 / 16 of its attention. It takes (G* - G) of the gain G* - 1.
 */
static double taken_by_hand(int64_t context)
{
    double one_attention, all_attention;
    double one = step_by_operators(1, context, &one_attention);
    double all = step_by_operators(16, context, &all_attention);
    double gain = 16 * one / all, shared = 16 * one / (all - all_attention + one_attention);
    return (shared - gain) / (shared - 1);
}

Test(predict, what_attention_takes_is_a_share_of_the_gain)
{
    llama_on_h100();
    predict(&(llmperf_workload){.batch = 16, .context = 999, .has_context = true});
    cr_expect(is_near(p.batching.taken, taken_by_hand(999), 1e-12), "%g", p.batching.taken);
    /* at four times the keys: 1,000 of them, 4,000 */
    cr_expect(is_near(p.batching.taken_long, taken_by_hand(3999), 1e-12), "%g",
              p.batching.taken_long);
    cr_expect(p.batching.taken > 0.05 && p.batching.taken_long > 1.5 * p.batching.taken);
}

/* 16 prompts and 15 x 16 tokens decoded after the first: 16 x 16 tokens are paid for; 2 devices. */
Test(predict, cost_of_whole_requests_by_hand)
{
    llama_on_h100();
    predict(&(llmperf_workload){
        .batch = 16, .prompt = 2048, .generate = 16, .tp = 2, .price_usd_per_h = 3.6});
    double whole_s = p.ttft_batch_s.value + 15 * p.tpot_s.value;
    double device_hours_per_mtok = 2 * whole_s / (16 * 16) * 1e6 / 3600;
    cr_expect(is_near(p.cost_with_prefill_usd_per_mtok, 3.6 * device_hours_per_mtok, 1e-12));
    cr_expect(is_near(p.energy_with_prefill_wh_per_mtok, 700 * device_hours_per_mtok, 1e-12));
    cr_expect(p.cost_with_prefill_usd_per_mtok > 1.5 * p.cost_usd_per_mtok);
}

/* ---- points of sweeps ---- */

/* 4 prompts of 1,000 tokens, 600 of them cached: 4 x 400 are computed, in one step. */
Test(predict, a_point_of_a_sweep_by_its_operators)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_point point;
    llama_on_h100();
    predict(&(llmperf_workload){.batch = 4, .prompt = 1000, .cached = 600});
    const llmperf_segment steps[] = {
        {.sequences = 4, .query = 400, .past = 600, .logits = 4},
        llmperf_decode_segment(&c, 4, c.workload.context),
    };
    for (int i = 0; i < 2; i++) {
        int count = llmperf_emit(&c, &steps[i], 1, LLMPERF_OPS_MAX, ops);
        double flop = 0, bytes = 0, time_s = 0;
        for (int k = 0; k < count; k++) {
            flop += ops[k].repeat * ops[k].flop;
            bytes += ops[k].repeat * ops[k].bytes;
            time_s += ops[k].repeat * time_op(&ops[k], &hw, NULL, NULL, NULL);
        }
        llmperf_point_of(&c, i == 0 ? LLMPERF_SWEEP_PREFILL : LLMPERF_SWEEP_DECODE, room(), &point);
        cr_expect(is_near(point.time_s.value, time_s, 1e-12));
        cr_expect(is_near(point.tokens_per_s.value, (i == 0 ? 1600 : 4) / time_s, 1e-12));
        cr_expect(is_near(point.intensity_flop_per_byte, flop / bytes, 1e-12));
        cr_expect(point.kind == LLMPERF_ESTIMATE_BOUND && point.fits);
        cr_expect(point.total_bytes == p.memory.total_bytes);
    }
}

/* Llama 3.1 8B: 6.98 G dense weights and 2.1 GB of tables. On 14 GB neither bf16 (16.1 GB) nor less than
 * that is asked for: fp8 (9.1 GB) fits, and so would int4, which loses more. On 9 GB int4 alone does. */
Test(predict, the_widest_format_that_fits_is_named)
{
    llama_on_h100();
    hw.memory_usable_bytes = 0;
    hw.memory_bytes = 14e9;
    predict(&(llmperf_workload){0});
    cr_expect(!p.memory.fits && p.fitting_weight_dtype == LLMPERF_DTYPE_FP8);
    hw.memory_bytes = 9e9;
    predict(&(llmperf_workload){0});
    cr_expect(!p.memory.fits && p.fitting_weight_dtype == LLMPERF_DTYPE_INT4);
}
