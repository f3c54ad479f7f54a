/* SPDX-License-Identifier: MIT */
/*
 * A prompt, or a chunk of it, and decoding sequences in one launch of attention: its time by hand,
 * its order beside its parts, and which steps have one.
 */
#include <criterion/criterion.h>

#include "llmperf/runs.h"
#include "random_case.h"
#include "steps.h"
#include "config_object.h"
#include "fits.h"
#include "config.h"
#include "time_op.h"

enum { HEADS = 4, KV_HEADS = 2, WIDTH = 16 }; /* key and value channels of a head: 8 + 8 */

static llmperf_op attention(llmperf_regime regime, double sequences, double query, double past)
{
    llmperf_op op = {.id = LLMPERF_OP_ATTN_CORE,
                     .kind = LLMPERF_KIND_ATTENTION,
                     .group = LLMPERF_GROUP_ATTENTION,
                     .regime = (uint8_t)regime,
                     .dtype = LLMPERF_DTYPE_BF16,
                     .launches = 1,
                     .devices = 1,
                     .repeat = 1,
                     .sequences = sequences,
                     .query_tokens = query,
                     .past_tokens = past,
                     .heads = HEADS,
                     .kv_heads = KV_HEADS,
                     .head_dim = WIDTH / 2.0,
                     .value_dim = WIDTH / 2.0};
    op.flop = 2 * HEADS * WIDTH * sequences * (query * past + query * (query + 1) / 2);
    op.input_bytes = op.output_bytes = sequences * query * HEADS * WIDTH;
    op.kv_read_bytes = sequences * (past + query) * KV_HEADS * WIDTH * 2;
    op.kv_write_bytes = sequences * query * KV_HEADS * WIDTH * 2;
    op.bytes = 2 * op.input_bytes + op.kv_read_bytes + op.kv_write_bytes;
    return op;
}

static llmperf_op mixed(double query, double past, double lone, double context)
{
    llmperf_op op = attention(LLMPERF_REGIME_PREFILL, 1, query, past);
    const llmperf_op beside = attention(LLMPERF_REGIME_DECODE, lone, 1, context);
    op.regime = LLMPERF_REGIME_MIXED;
    op.lone_sequences = lone;
    op.lone_past = context;
    op.lone_flop = beside.flop;
    op.lone_kv_read_bytes = beside.kv_read_bytes;
    op.longest_keys = fmax(past + query, context + 1);
    op.flop += beside.flop;
    op.input_bytes += beside.input_bytes;
    op.output_bytes += beside.output_bytes;
    op.kv_read_bytes += beside.kv_read_bytes;
    op.kv_write_bytes += beside.kv_write_bytes;
    op.bytes += beside.bytes;
    return op;
}

static double *set_entry(llmperf_calib *calib, llmperf_regime regime,
                         const llmperf_calib_entry *entry)
{
    llmperf_error error = {0};
    llmperf_status status =
        calib_set(calib, LLMPERF_KIND_ATTENTION, regime, LLMPERF_DTYPE_BF16, entry, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return calib->entry[calib->index[LLMPERF_KIND_ATTENTION][regime][LLMPERF_DTYPE_BF16]].param;
}

/* ---- one launch ---- */

/*
 * 100 queries over 50 cached tokens beside 3 sequences of 200 keys, 4 query heads on 2 KV heads of
 * 8 + 8 channels; a part of 1 TFLOP/s, 10 GB/s, 10 units, L2 of 10 kB.
 *   flop: 2 x 4 x 16 x (100 x 50 + 100 x 101 / 2) = 1,286,400; 2 x 4 x 16 x 3 x 200 = 76,800
 *   60 rows more a tile: 60 x (1,286,400 / 100 + 76,800) = 5,379,840
 *   compute: (1,363,200 + 5,379,840) / (0.5 x 1e12) = 13.48608 us
 *   bytes: q, result, new K and V 3 x 103 x 64 = 19,776; K and V (150 + 600) x 64 = 48,000
 *   read again, of 38,400 beyond 2 x 10,000: (4 / 2 - 1) x 18,400, half of it: 9,200
 *   memory: 76,976 / (0.8 x 1e10) = 9.622 us
 *   the longest: 110 rows x 200 keys x 2 x 16 flop / (1e12 / 10) = 7.04 us
 *   blocks: (1 + 3) x 4 heads / 10 units x 0.2 us = 0.32 us
 *   idle ones: 3 x 4 / 10 x 100 / 64 x 0.1 us = 0.1875 us
 */
Test(mixed, terms_by_hand)
{
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_ATTENTION);
    const llmperf_op op = mixed(100, 50, 3, 199);
    llmperf_time t;
    hw.l2_bytes = 1e4;
    cr_expect(op.flop == 1363200 && op.lone_flop == 76800 && op.bytes == 67776);
    calib_init(&calib);
    entry.param[LLMPERF_PARAM_COMPUTE] = 0.5;
    entry.param[LLMPERF_PARAM_MEMORY] = 0.8;
    entry.param[LLMPERF_PARAM_LAUNCH] = 1e-6;
    entry.param[LLMPERF_PARAM_NORM] = 1;
    entry.param[LLMPERF_PARAM_TILE_ROWS] = 60;
    entry.param[LLMPERF_PARAM_UNSPLIT] = 110;
    entry.param[LLMPERF_PARAM_GROUP_READS] = 0.5;
    entry.param[LLMPERF_PARAM_QUERY_WORK] = 0.2e-6;
    entry.param[LLMPERF_PARAM_IDLE_BLOCK] = 0.1e-6;
    double *param = set_entry(&calib, LLMPERF_REGIME_MIXED, &entry);
    double sum = 1 + 13.48608 + 9.622 + 7.04 + 0.32 + 0.1875;
    cr_expect(is_near(time_op(&op, &hw, &calib, &t, NULL), sum * 1e-6, 1e-12));
    cr_expect(is_near(t.compute_s, 13.48608e-6, 1e-12) && is_near(t.memory_s, 9.622e-6, 1e-12));
    cr_expect(is_near(t.serial_s, 7.04e-6, 1e-12) && is_near(t.added_s, 0.5075e-6, 1e-12));
    cr_expect(t.work_s == 0 && t.launch_s == 1e-6 && t.bound == LLMPERF_BOUND_COMPUTE);
    param[LLMPERF_PARAM_NORM] = INFINITY;
    cr_expect(
        is_near(time_op(&op, &hw, &calib, NULL, NULL), (1 + 13.48608 + 0.5075) * 1e-6, 1e-12));
    /* one context of 4,000 keys among them: 20 times as long a walk, whatever the mean */
    llmperf_op skewed = op;
    skewed.longest_keys = 4000;
    cr_expect(
        is_near(time_op(&skewed, &hw, &calib, &t, NULL), (1 + 20 * 7.04 + 0.5075) * 1e-6, 1e-12));
    cr_expect(t.bound == LLMPERF_BOUND_LATENCY);
}

/* Without a fit it is ideal: all flop or all bytes, nothing else. */
Test(mixed, is_the_roofline_without_a_fit)
{
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    const llmperf_op op = mixed(100, 50, 3, 199);
    llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_ATTENTION);
    calib_init(&calib);
    entry.param[LLMPERF_PARAM_LAUNCH] = 1;
    set_entry(&calib, LLMPERF_REGIME_DECODE, &entry);
    double ideal = fmax(1363200 / 1e12, 67776 / 1e10);
    cr_expect(time_op(&op, &hw, NULL, NULL, NULL) == ideal);
    cr_expect(time_op(&op, &hw, &calib, NULL, NULL) == ideal);
}

Test(mixed, parts_add_up_to_the_launch)
{
    rng r = {.state = 61};
    for (int i = 0; i < 2000; i++) {
        double query = rng_log_int(&r, 2, 9999), past = rng_log_int(&r, 1, 9999) - 1;
        double lone = rng_log_int(&r, 1, 999), context = rng_log_int(&r, 1, 9999) - 1;
        const llmperf_op op = mixed(query, past, lone, context);
        const llmperf_op prompt = llmperf_op_prompt(&op), rest = llmperf_op_lone(&op);
        const llmperf_op want[2] = {
            attention(past > 0 ? LLMPERF_REGIME_EXTEND : LLMPERF_REGIME_PREFILL, 1, query, past),
            attention(LLMPERF_REGIME_DECODE, lone, 1, context)};
        const llmperf_op *got[2] = {&prompt, &rest};
        for (int k = 0; k < 2; k++)
            cr_assert(got[k]->regime == want[k].regime && got[k]->sequences == want[k].sequences &&
                          got[k]->query_tokens == want[k].query_tokens &&
                          got[k]->past_tokens == want[k].past_tokens &&
                          is_near(got[k]->flop, want[k].flop, 1e-9) &&
                          is_near(got[k]->kv_read_bytes, want[k].kv_read_bytes, 1e-9) &&
                          is_near(got[k]->kv_write_bytes, want[k].kv_write_bytes, 1e-12) &&
                          is_near(got[k]->input_bytes, want[k].input_bytes, 1e-12) &&
                          is_near(got[k]->bytes, want[k].bytes, 1e-9) &&
                          got[k]->lone_sequences == 0 && got[k]->longest_keys == 0,
                      "%d: q %g past %g beside %g of %g", i, query, past, lone, context);
    }
}

/* Fits of the parts, and of the launch where asked. */
static void random_fits(rng *r, llmperf_calib *calib)
{
    static const llmperf_regime REGIMES[] = {LLMPERF_REGIME_PREFILL, LLMPERF_REGIME_DECODE,
                                             LLMPERF_REGIME_MIXED};
    calib_init(calib);
    for (int i = 0; i < 3; i++) {
        llmperf_calib_entry entry = random_entry(r, LLMPERF_KIND_ATTENTION, 1);
        refine_entry(r, LLMPERF_KIND_ATTENTION, &entry);
        if (REGIMES[i] == LLMPERF_REGIME_MIXED)
            mix_entry(r, &entry);
        set_entry(calib, REGIMES[i], &entry);
    }
}

static llmperf_hw random_part(rng *r)
{
    llmperf_hw hw;
    random_hw(r, &hw);
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = hw.peak_flop_per_s[LLMPERF_DTYPE_FP32];
    hw.l2_bytes = rng_chance(r, 0.2) ? 0 : rng_log(r, 1e3, 1e8);
    return hw;
}

/* Never below the floor, the prompt alone or the sequences alone; no less for more of anything. */
Test(mixed, keeps_the_floor_its_parts_and_the_order)
{
    static llmperf_calib calib;
    rng r = {.state = 62};
    for (int i = 0; i < CASES(20000); i++) {
        const llmperf_hw hw = random_part(&r);
        random_fits(&r, &calib);
        double query = rng_log_int(&r, 2, 4096), past = rng_log_int(&r, 1, 9999) - 1;
        double lone = rng_log_int(&r, 1, 512), context = rng_log_int(&r, 1, 30000) - 1;
        const llmperf_op op = mixed(query, past, lone, context);
        const llmperf_op prompt = llmperf_op_prompt(&op), rest = llmperf_op_lone(&op);
        double t = time_op(&op, &hw, &calib, NULL, NULL);
        double floor = time_op(&op, &hw, NULL, NULL, NULL);
        double alone = fmax(time_op(&prompt, &hw, &calib, NULL, NULL),
                            time_op(&rest, &hw, &calib, NULL, NULL));
        if (!(t >= floor * (1 - 1e-12) && t >= alone))
            cr_assert(false, "%d: %g, floor %g, larger part %g", i, t, floor, alone);
        const llmperf_op more[] = {mixed(query, past, lone + rng_log_int(&r, 1, 99), context),
                                   mixed(query, past, lone, context + rng_log_int(&r, 1, 999))};
        for (int k = 0; k < 2; k++) {
            double grown = time_op(&more[k], &hw, &calib, NULL, NULL);
            if (!(grown >= t * (1 - 1e-12)))
                cr_assert(false, "%d, %d: %.17g, with more %.17g", i, k, t, grown);
        }
        /* the prompt's own fit apart: chunks are a blend of two kernels */
        calib.index[LLMPERF_KIND_ATTENTION][LLMPERF_REGIME_PREFILL][LLMPERF_DTYPE_BF16] =
            calib.index[LLMPERF_KIND_ATTENTION][LLMPERF_REGIME_DECODE][LLMPERF_DTYPE_BF16] =
                LLMPERF_CALIB_NO_ENTRY;
        t = time_op(&op, &hw, &calib, NULL, NULL);
        const llmperf_op longer[] = {mixed(query + rng_log_int(&r, 1, 999), past, lone, context),
                                     mixed(query, past + rng_log_int(&r, 1, 999), lone, context)};
        for (int k = 0; k < 2; k++) {
            double grown = time_op(&longer[k], &hw, &calib, NULL, NULL);
            if (!(grown >= t * (1 - 1e-12)))
                cr_assert(false, "%d, %d: %.17g, with a longer prompt %.17g", i, k, t, grown);
        }
        /* one key more is no jump: no term grows faster than in proportion, reads of a group at most
         * heads / KV heads times as fast */
        const llmperf_op next = mixed(query, past, lone, context + 1);
        double step = time_op(&next, &hw, &calib, NULL, NULL) - t;
        if (!(step <= t * HEADS / KV_HEADS / (context + 1) * (1 + 1e-9)))
            cr_assert(false, "%d: %g at a context of %g, %g more with the next", i, t, context,
                      step);
    }
}

Test(mixed, gradient_equals_finite_differences)
{
    static const double at[] = {2, 1, -1, -2}, weight[] = {-1, 8, -8, 1};
    static llmperf_calib calib;
    rng r = {.state = 63};
    int of_parts = 0, corners = 0;
    for (int i = 0; i < CASES(10000); i++) {
        const llmperf_hw hw = random_part(&r);
        llmperf_gradient g;
        random_fits(&r, &calib);
        for (int e = 0; e < 3; e++) /* the corners of max() are elsewhere */
            if (isinf(calib.entry[e].param[LLMPERF_PARAM_NORM]))
                calib.entry[e].param[LLMPERF_PARAM_NORM] = 4;
        const llmperf_op op = mixed(rng_log_int(&r, 2, 4096), rng_log_int(&r, 1, 9999) - 1,
                                    rng_log_int(&r, 1, 512), rng_log_int(&r, 1, 30000) - 1);
        double t = time_op(&op, &hw, &calib, NULL, &g);
        cr_assert(t == time_op(&op, &hw, &calib, NULL, NULL));
        of_parts += g.count == 2 || calib.entry[g.entry[0]].key.regime != LLMPERF_REGIME_MIXED;
        for (int e = 0; e < g.count; e++)
            for (int p = 0; p < LLMPERF_PARAM_COUNT; p++) {
                double *param = &calib.entry[g.entry[e]].param[p], value = *param, want = 0;
                double f[4];
                if (value == 0 || p == LLMPERF_PARAM_LINK || p == LLMPERF_PARAM_HOP)
                    continue;
                for (int k = 0; k < 4; k++) { /* five-point stencil in the logarithm */
                    *param = value * (1 + at[k] * 1e-4);
                    f[k] = log(time_op(&op, &hw, &calib, NULL, NULL));
                    want += weight[k] * f[k] / 12e-4;
                }
                *param = value;
                /* where the launch and a part, or two waits of an extend operator, are as long */
                double before = f[2] - f[3], behind = f[0] - f[1];
                if (fabs(behind - before) > 0.01 * fabs(behind + before) + 1e-12) {
                    corners++;
                    continue;
                }
                if (!(fabs(g.dlog[e][p] * value - want) <= 1e-6 * fabs(want) + 1e-9))
                    cr_assert(false, "%d, %s = %g: %.12g, by differences %.12g", i,
                              llmperf_param_name((llmperf_param)p), value, g.dlog[e][p] * value,
                              want);
            }
    }
    cr_expect(of_parts > 0, "no part was ever longer than the launch");
    cr_expect(corners < CASES(10000) / 200, "%d corners", corners);
}

Test(mixed, keys_of_calibrations)
{
    static llmperf_calib calib;
    llmperf_error error = {0};
    char text[96];
    llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_ATTENTION);
    calib_init(&calib);
    entry.key = (llmperf_calib_key){.kind = LLMPERF_KIND_ATTENTION,
                                    .regime = LLMPERF_REGIME_MIXED,
                                    .dtype = LLMPERF_DTYPE_BF16};
    cr_expect_str_eq(llmperf_calib_describe(&entry.key, text, sizeof text), "attention mixed bf16");
    cr_expect(calib_add(&calib, &entry, &error) == LLMPERF_OK);
    entry.key.kind = LLMPERF_KIND_SCAN;
    cr_expect(calib_add(&calib, &entry, &error) == LLMPERF_E_SPEC);
    cr_expect(strstr(error.text, "the regime mixed belongs to attention alone") != NULL);
    entry.key.kind = LLMPERF_KIND_ATTENTION;
    entry.param[LLMPERF_PARAM_GROUP_READS] = 1.1; /* a share */
    cr_expect(calib_add(&calib, &entry, &error) == LLMPERF_E_SPEC);
    cr_expect(strstr(error.text, "group_reads is 1.1; from 0 to 1") != NULL, "%s", error.text);
}

/* ---- steps ---- */

/* h 8, 4 heads on 2 KV heads of 2 channels, 3 layers, bf16; with a fit of mixed launches or not. */
static llmperf_config toy_case(bool fitted, const llmperf_workload *workload)
{
    static llmperf_model model;
    static llmperf_hw hw;
    static llmperf_calib calib;
    static llmperf_config c;
    llmperf_error error = {0};
    model = toy_model();
    hw = toy_hw();
    calib_init(&calib);
    llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_ATTENTION);
    entry.param[LLMPERF_PARAM_LAUNCH] = 1e-6;
    set_entry(&calib, LLMPERF_REGIME_PREFILL, &entry);
    set_entry(&calib, LLMPERF_REGIME_DECODE, &entry);
    if (fitted)
        set_entry(&calib, LLMPERF_REGIME_MIXED, &entry);
    llmperf_status status = config_init(&c, &model, &hw, &calib, workload, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return c;
}

static int cores(const llmperf_config *c, const llmperf_segment *segments, int count,
                 llmperf_op *ret_ops)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    int all = llmperf_emit(c, segments, count, LLMPERF_OPS_MAX, ops), found = 0;
    for (int i = 0; i < all; i++)
        if (ops[i].id == LLMPERF_OP_ATTN_CORE)
            ret_ops[found++] = ops[i];
    return found;
}

/*
 * 6 prompt tokens after 4, beside 2 sequences with 9 cached and 1 with 19:
 *   pairs 6 x 4 + 21 = 45, flop 2 x 4 x 4 x 45 = 1440; 2 x 10 + 20 = 40 pairs, flop 1280
 *   q and result 9 x 4 x 2 x 2 bytes = 144 each; K and V (10 + 40) x 2 x 4 x 2 = 800, of which 640;
 *   new ones 9 x 2 x 4 x 2 = 144
 */
Test(mixed, a_step_with_both_is_one_launch_by_hand)
{
    const llmperf_segment both[] = {{.sequences = 1, .query = 6, .past = 4, .logits = 1},
                                    {.sequences = 2, .query = 1, .past = 9, .decode = true},
                                    {.sequences = 1, .query = 1, .past = 19, .decode = true}};
    llmperf_op op[4];
    llmperf_config c = toy_case(true, &(llmperf_workload){0});
    cr_assert(cores(&c, both, 3, op) == 1);
    cr_expect(op[0].regime == LLMPERF_REGIME_MIXED && op[0].launches == 1 && op[0].repeat == 3);
    cr_expect(op[0].sequences == 1 && op[0].query_tokens == 6 && op[0].past_tokens == 4);
    cr_expect(op[0].lone_sequences == 3 && is_near(op[0].lone_past, 37.0 / 3, 1e-15));
    cr_expect(op[0].flop == 2720 && op[0].lone_flop == 1280 && op[0].longest_keys == 20);
    cr_expect(op[0].input_bytes == 144 && op[0].output_bytes == 144);
    cr_expect(op[0].kv_read_bytes == 800 && op[0].lone_kv_read_bytes == 640);
    cr_expect(op[0].kv_write_bytes == 144 && op[0].bytes == 144 + 144 + 800 + 144);
    /* a window of 8: the prompt's last query and the sequences see 8 keys at most */
    static llmperf_model model;
    model = toy_model();
    model.layers[0].attention.window = 8;
    c.model = &model;
    cr_assert(cores(&c, both, 3, op) == 1);
    cr_expect(op[0].longest_keys == 8 && op[0].lone_flop == 2 * 4 * 4 * 3 * 8);
}

Test(mixed, other_steps_stay_launches_of_their_own)
{
    const llmperf_segment prompt = {.sequences = 1, .query = 6, .past = 4, .logits = 1};
    const llmperf_segment whole = {.sequences = 2, .query = 6, .past = 0, .logits = 2};
    const llmperf_segment decode = {.sequences = 2, .query = 1, .past = 9, .decode = true};
    const llmperf_segment verify = {.sequences = 2, .query = 3, .past = 9, .decode = true};
    const llmperf_segment prompts[] = {prompt, whole}, verified[] = {prompt, verify},
                          all[] = {whole, prompt, verify, decode};
    llmperf_op op[4];
    llmperf_config c = toy_case(true, &(llmperf_workload){0});
    cr_expect(cores(&c, &decode, 1, op) == 1 && op[0].regime == LLMPERF_REGIME_DECODE);
    cr_expect(cores(&c, &prompt, 1, op) == 1 && op[0].regime == LLMPERF_REGIME_EXTEND);
    cr_expect(cores(&c, prompts, 2, op) == 2);
    cr_expect(cores(&c, verified, 2, op) == 2); /* several queries each: another kernel */
    /* one prompt joins the decoding sequences, the last; the others are as they were */
    cr_assert(cores(&c, all, 4, op) == 3);
    cr_expect(op[0].regime == LLMPERF_REGIME_MIXED && op[0].past_tokens == 4);
    cr_expect(op[1].regime == LLMPERF_REGIME_PREFILL && op[2].regime == LLMPERF_REGIME_EXTEND);
    const llmperf_segment both[] = {prompt, decode};
    c = toy_case(false, &(llmperf_workload){0});
    cr_assert(cores(&c, both, 2, op) == 2); /* no fit: the sum of the parts */
    cr_expect(op[0].regime == LLMPERF_REGIME_EXTEND && op[1].regime == LLMPERF_REGIME_DECODE);
    c.calib = NULL;
    cr_expect(cores(&c, both, 2, op) == 2);
    c = toy_case(true, &(llmperf_workload){.unfused = true});
    cr_expect(cores(&c, both, 2, op) == 0);
}

static llmperf_total step(const llmperf_config *c, const llmperf_segment *segments, int count)
{
    llmperf_total total;
    llmperf_step(c, segments, count, room(), &total);
    return total;
}

/* Whole steps of random models: nothing is lost or gained by the shared launch, and a step with both
 * is no shorter than with either. */
Test(mixed, steps_hold_their_parts)
{
    static llmperf_model model;
    static llmperf_calib calib;
    int shared = 0;
    for (uint64_t seed = 6400; seed < 6400 + CASES(10000); seed++) {
        rng r = {.state = seed};
        llmperf_hw hw;
        llmperf_workload w;
        llmperf_config c;
        random_model(&r, &model);
        random_hw(&r, &hw);
        random_workload(&r, &model, &w);
        random_calib(&r, 1, true, &calib);
        if (config_init(&c, &model, &hw, &calib, &w, NULL) != LLMPERF_OK)
            continue;
        int64_t lone = rng_log_int(&r, 1, 256);
        const llmperf_segment both[] = {{.sequences = 1,
                                         .query = rng_log_int(&r, 2, 4096),
                                         .past = rng_log_int(&r, 1, 9999) - 1,
                                         .logits = 1},
                                        {.sequences = lone,
                                         .query = 1,
                                         .past = rng_log_int(&r, 1, 9999) - 1,
                                         .logits = lone,
                                         .decode = true}};
        llmperf_total together = step(&c, both, 2), prompt = step(&c, both, 1),
                      decode = step(&c, &both[1], 1);
        if (!(together.time_s >= prompt.time_s * (1 - 1e-12) &&
              together.time_s >= decode.time_s * (1 - 1e-12)))
            cr_assert(false, "seed %" PRIu64 ": %g s, prompt alone %g, decode alone %g: %s", seed,
                      together.time_s, prompt.time_s, decode.time_s, describe_case(&c));
        c.calib = NULL;
        llmperf_total counted = step(&c, both, 2);
        if (!is_near(counted.flop, together.flop, 1e-12) ||
            !is_near(counted.bytes, together.bytes, 1e-12) ||
            !is_near(counted.kv_read_bytes, together.kv_read_bytes, 1e-12))
            cr_assert(false, "seed %" PRIu64 ": counts moved: %s", seed, describe_case(&c));
        cr_assert(together.time_s - together.link_s >=
                      (counted.time_s - counted.link_s) * (1 - 1e-12),
                  "seed %" PRIu64 ": below the floor", seed);
        shared += !w.unfused && calib.index[LLMPERF_KIND_ATTENTION][LLMPERF_REGIME_MIXED][0] !=
                                    LLMPERF_CALIB_NO_ENTRY;
    }
    cr_expect(shared > CASES(3000), "%d", shared);
}

/* ---- served requests ---- */

static double served(const llmperf_config *c, llmperf_metric metric)
{
    llmperf_run run = {.kind = LLMPERF_RUN_SERVING, .metric = metric};
    llmperf_estimate estimate;
    llmperf_error error = {0};
    llmperf_status status = llmperf_run_predict(c, &run, &estimate, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    cr_assert(estimate.low <= estimate.value && estimate.value <= estimate.high);
    return estimate.value;
}

/* 8 clients, prompts of 64, 32 new tokens: of 32 decode steps 8 hold a prompt beside 7 sequences, 24
 * decode 8; TTFT = a step of prompt and the others, 7 x 0.05 prompts more for those who wait, half a
 * decode step. */
Test(mixed, served_prompts_ride_in_decode_steps)
{
    const llmperf_workload w = {.batch = 8, .prompt = 64, .generate = 32};
    llmperf_config c = toy_case(true, &w);
    const llmperf_segment both[] = {{.sequences = 1, .query = 64, .logits = 1},
                                    llmperf_decode_segment(&c, 7, c.workload.context)};
    const llmperf_segment eight = llmperf_decode_segment(&c, 8, c.workload.context);
    double d8 = step(&c, &eight, 1).time_s, m = step(&c, both, 2).time_s;
    double alone = step(&c, both, 1).time_s;
    double tpot = served(&c, LLMPERF_METRIC_TPOT), ttft = served(&c, LLMPERF_METRIC_TTFT);
    cr_expect(is_near(tpot, 24.0 / 32 * d8 + 8.0 / 32 * m, 1e-9));
    /* requests are not told: ten rounds, in the first of which a prompt waits for half of 8: 0.05 */
    cr_expect(is_near(ttft, m + 7 * 0.05 * alone + d8 / 2, 1e-9));
    cr_expect(is_near(served(&c, LLMPERF_METRIC_E2E), ttft + 31 * tpot, 1e-9));
    /* 64 prompts for 32 steps: every step holds one, the others have steps of their own */
    c = toy_case(true, &(llmperf_workload){.batch = 64, .prompt = 64, .generate = 32});
    const llmperf_segment many[] = {both[0], llmperf_decode_segment(&c, 63, c.workload.context)};
    cr_expect(is_near(served(&c, LLMPERF_METRIC_TPOT),
                      step(&c, many, 2).time_s + (64.0 / 32 - 1) * alone, 1e-9));
    /* in chunks of 16 a prompt takes four steps of 32: 8 / 32 x 4 = all */
    c = toy_case(true, &(llmperf_workload){.batch = 8, .prompt = 64, .generate = 32, .chunk = 16});
    double sum = 0;
    for (int64_t i = 0; i < 4; i++) {
        const llmperf_segment part[] = {
            {.sequences = 1, .query = 16, .past = 16 * i, .logits = i == 3}, both[1]};
        sum += step(&c, part, 2).time_s;
    }
    cr_expect(is_near(served(&c, LLMPERF_METRIC_TPOT), 8.0 / 32 * sum, 1e-9));
    /* without a fit of such launches prompt and decode stay apart */
    c = toy_case(false, &w);
    cr_expect(is_near(served(&c, LLMPERF_METRIC_TPOT), d8 + 8.0 / 32 * alone, 1e-9));
    /* one client has nobody beside it */
    c = toy_case(true, &(llmperf_workload){.batch = 1, .prompt = 64, .generate = 32});
    const llmperf_segment one = llmperf_decode_segment(&c, 1, c.workload.context);
    cr_expect(is_near(served(&c, LLMPERF_METRIC_TPOT),
                      step(&c, &one, 1).time_s + step(&c, both, 1).time_s / 32, 1e-9));
}
