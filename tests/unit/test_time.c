/* SPDX-License-Identifier: MIT */
/*
 * t = t0 + norm_p(compute, memory, serial, work), against the formula written out again here, and
 * its gradient against finite differences.
 */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "random_case.h"
#include "calib_object.h"
#include "fits.h"
#include "time_op.h"

/* Adds an entry for one key and returns its parameters for later change. */
static double *set_entry(llmperf_calib *calib, llmperf_op_kind kind, llmperf_regime regime,
                         llmperf_dtype dtype, const double *param)
{
    llmperf_calib_entry entry = calib_ideal(kind);
    for (int i = 0; param && i < LLMPERF_PARAM_COUNT; i++)
        entry.param[i] = param[i];
    llmperf_error error = {0};
    llmperf_status status = calib_set(calib, kind, regime, dtype, &entry, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return calib->entry[calib->index[kind][regime][dtype]].param;
}

/* A bf16 GEMM without the detour through a model. */
static llmperf_op gemm(double m, double n, double k)
{
    return (llmperf_op){.id = LLMPERF_OP_MLP_DOWN,
                        .kind = LLMPERF_KIND_GEMM,
                        .group = LLMPERF_GROUP_DENSE,
                        .dtype = LLMPERF_DTYPE_BF16,
                        .launches = 1,
                        .devices = 1,
                        .repeat = 1,
                        .m = m,
                        .n = n,
                        .k = k,
                        .flop = 2 * m * n * k,
                        .weight_bytes = 2 * n * k,
                        .input_bytes = 2 * m * k,
                        .output_bytes = 2 * m * n,
                        .bytes = 2 * (n * k + m * k + m * n)};
}

static llmperf_op attention(llmperf_regime regime, double sequences, double query, double past)
{
    double n = 32, kv = 8, d = 128;
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
                     .kv_heads = kv,
                     .heads = n,
                     .head_dim = d,
                     .value_dim = d};
    op.flop = 4 * n * d * sequences * (query * past + query * (query + 1) / 2);
    op.input_bytes = op.output_bytes = sequences * query * n * d * 2;
    op.kv_read_bytes = sequences * (past + query) * kv * 2 * d * 2;
    op.kv_write_bytes = sequences * query * kv * 2 * d * 2;
    op.bytes = 2 * op.input_bytes + op.kv_read_bytes + op.kv_write_bytes;
    return op;
}

/* ---- the plain roofline ---- */

/* On the toy part the ridge is 1e12 / 1e10 = 100 flop a byte. */
Test(time, ideal_is_the_larger_of_compute_and_memory)
{
    llmperf_hw hw = toy_hw();
    llmperf_time t;
    llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                     .dtype = LLMPERF_DTYPE_BF16,
                     .launches = 1,
                     .flop = 3e9,
                     .bytes = 1e7};
    /* 3 ms of compute, 1 ms of memory */
    cr_expect(is_near(time_op(&op, &hw, NULL, &t, NULL), 3e-3, 1e-15));
    cr_expect(t.bound == LLMPERF_BOUND_COMPUTE && t.launch_s == 0 && t.link_s == 0);
    cr_expect(is_near(t.compute_s, 3e-3, 1e-15) && is_near(t.memory_s, 1e-3, 1e-15));
    op.bytes = 1e8; /* 10 ms */
    cr_expect(is_near(time_op(&op, &hw, NULL, &t, NULL), 1e-2, 1e-15));
    cr_expect(t.bound == LLMPERF_BOUND_MEMORY);
    op.bytes = 3e7; /* exactly at the ridge: compute has it */
    time_op(&op, &hw, NULL, &t, NULL);
    cr_expect(t.compute_s == t.memory_s && t.bound == LLMPERF_BOUND_COMPUTE);
    op.dtype = LLMPERF_DTYPE_FP32; /* a tenth of the peak */
    cr_expect(is_near(time_op(&op, &hw, NULL, NULL, NULL), 3e-2, 1e-15));
    op.flop = 0;
    op.bytes = 1e7;
    cr_expect(is_near(time_op(&op, &hw, NULL, &t, NULL), 1e-3, 1e-15));
    cr_expect(t.compute_s == 0 && t.bound == LLMPERF_BOUND_MEMORY);
    op.bytes = 0;
    cr_expect(time_op(&op, &hw, NULL, &t, NULL) == 0);
}

Test(time, an_empty_calibration_is_ideal)
{
    static llmperf_calib calib;
    calib_init(&calib);
    rng r = {.state = 1};
    for (int i = 0; i < 1000; i++) {
        llmperf_hw hw;
        random_hw(&r, &hw);
        hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 1e14;
        llmperf_op op =
            gemm(rng_log_int(&r, 1, 9999), rng_log_int(&r, 1, 9999), rng_log_int(&r, 1, 9999));
        double want =
            fmax(op.flop / hw.peak_flop_per_s[LLMPERF_DTYPE_BF16], op.bytes / hw.mem_bytes_per_s);
        double ideal = time_op(&op, &hw, NULL, NULL, NULL);
        double empty = time_op(&op, &hw, &calib, NULL, NULL);
        if (ideal != want || empty != want)
            cr_assert(false, "%.17g %.17g, max(flop / P, bytes / BW) %.17g", ideal, empty, want);
    }
}

/* Without a calibration a shorter way computes the same: every field agrees to the last bit with the
 * full form at neutral parameters, for GEMMs and attention of any regime. */
Test(time, the_short_way_without_a_calibration_is_the_full_form)
{
    static llmperf_calib calib;
    calib_init(&calib);
    rng r = {.state = 5};
    for (int i = 0; i < 4000; i++) {
        llmperf_hw hw;
        random_hw(&r, &hw);
        hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 1e14;
        double a = rng_log_int(&r, 1, 9999), b = rng_log_int(&r, 1, 9999);
        llmperf_op op = gemm(a, b, rng_log_int(&r, 1, 9999));
        if (i % 4 == 1)
            op = attention(LLMPERF_REGIME_PREFILL, a, b, 0);
        else if (i % 4 == 2)
            op = attention(LLMPERF_REGIME_EXTEND, a, 16, b);
        else if (i % 4 == 3)
            op = attention(LLMPERF_REGIME_DECODE, a, 1, b);
        llmperf_time brief, full, graded;
        llmperf_gradient gradient;
        time_op(&op, &hw, NULL, &brief, NULL);
        time_op(&op, &hw, &calib, &full, NULL);
        time_op(&op, &hw, NULL, &graded, &gradient);
        const double x[] = {brief.time_s, brief.compute_s, brief.memory_s, brief.serial_s,
                            brief.work_s, brief.launch_s,  brief.link_s,   brief.added_s},
                     y[] = {full.time_s, full.compute_s, full.memory_s, full.serial_s,
                            full.work_s, full.launch_s,  full.link_s,   full.added_s},
                     z[] = {graded.time_s, graded.compute_s, graded.memory_s, graded.serial_s,
                            graded.work_s, graded.launch_s,  graded.link_s,   graded.added_s};
        cr_assert(memcmp(x, y, sizeof x) == 0 && memcmp(x, z, sizeof x) == 0, "case %d", i);
        cr_assert(brief.bound == full.bound && brief.bound == graded.bound, "case %d", i);
    }
}

/* ---- each term by hand ---- */

/* flop 2e9: e_c 0.5 -> 4 ms; bytes 1e7: e_m 0.8 -> 1.25 ms; t0 1 ms; p = 1: the sum. */
Test(time, terms_by_hand)
{
    llmperf_hw hw = toy_hw();
    static llmperf_calib calib;
    calib_init(&calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16, NULL);
    param[LLMPERF_PARAM_COMPUTE] = 0.5;
    param[LLMPERF_PARAM_MEMORY] = 0.8;
    param[LLMPERF_PARAM_LAUNCH] = 1e-3;
    param[LLMPERF_PARAM_SERIAL] = 2e-3;
    param[LLMPERF_PARAM_NORM] = 1;
    llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                     .dtype = LLMPERF_DTYPE_BF16,
                     .launches = 1,
                     .flop = 2e9,
                     .bytes = 1e7,
                     .k = 3072};
    llmperf_time t;
    /* k' = 3: 3 / (1 + 3/3) = 1.5; serial 3 ms */
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.compute_s, 4e-3, 1e-15));
    cr_expect(is_near(t.memory_s, 1.25e-3, 1e-15));
    cr_expect(is_near(t.serial_s, 3e-3, 1e-15));
    cr_expect(t.work_s == 0 && is_near(t.launch_s, 1e-3, 1e-15));
    cr_expect(is_near(t.time_s, 9.25e-3, 1e-14));
    cr_expect(t.bound == LLMPERF_BOUND_COMPUTE);

    param[LLMPERF_PARAM_NORM] = INFINITY;
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 5e-3, 1e-14));
    param[LLMPERF_PARAM_SERIAL] = 0;
    param[LLMPERF_PARAM_COMPUTE] = 2.0 / 3; /* 3 ms */
    op.bytes = 3.2e7;                       /* 4 ms */
    param[LLMPERF_PARAM_NORM] = 2;          /* 5 ms by Pythagoras, and 1 ms of launch */
    cr_expect(is_near(time_op(&op, &hw, &calib, &t, NULL), 6e-3, 1e-14));
    cr_expect(t.bound == LLMPERF_BOUND_MEMORY);

    op.launches = 0; /* rides in another launch */
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 5e-3, 1e-14));
    op.launches = 1;
    param[LLMPERF_PARAM_LAUNCH] = 9e-3;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(t.bound == LLMPERF_BOUND_LAUNCH);
    param[LLMPERF_PARAM_LAUNCH] = 0;
    param[LLMPERF_PARAM_SERIAL] = 9e-3;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(t.bound == LLMPERF_BOUND_LATENCY);
    /* the other dtype has no entry: ideal */
    op.dtype = LLMPERF_DTYPE_FP32;
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 2e-2, 1e-15));
}

/* Bytes wait for memory or for the cores that take them in, in fourth powers: (3^4 + 4^4)^(1/4) = 337^(1/4). */
Test(time, bytes_wait_for_memory_and_for_cores)
{
    llmperf_hw hw = toy_hw();
    static llmperf_calib calib;
    calib_init(&calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16, NULL);
    param[LLMPERF_PARAM_FEED] = 4;
    llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                     .dtype = LLMPERF_DTYPE_BF16,
                     .launches = 1,
                     .m = 1,
                     .bytes = 1e-3 * hw.mem_bytes_per_s,
                     .weight_bytes = 0.7e-3 * hw.mem_bytes_per_s,
                     .input_bytes = 0.2e-3 * hw.mem_bytes_per_s,
                     .output_bytes = 0.1e-3 * hw.mem_bytes_per_s};
    llmperf_time t;
    param[LLMPERF_PARAM_MEMORY] = 1.0 / 3;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.memory_s, 1e-3 * 4.2845723, 1e-7), "%g", t.memory_s);
    cr_expect(t.bound == LLMPERF_BOUND_MEMORY);
    /* memory twice as slow is worth 6 ms of bytes; the cores' 4 ms stay: (6^4 + 4^4)^(1/4) = 1552^(1/4) */
    llmperf_op slowed = op; /* as llmperf_op_slowed() makes it */
    slowed.bytes *= 2;
    time_op(&slowed, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.memory_s, 1e-3 * 6.2765780, 1e-7), "%g", t.memory_s);
    /* without cores that wait: 3 ms, slowed 6 ms */
    param[LLMPERF_PARAM_FEED] = 0;
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 3e-3, 1e-15));
    cr_expect(is_near(time_op(&slowed, &hw, &calib, NULL, NULL), 6e-3, 1e-15));
}

/* 4 sequences of 8 KV heads on 10 units: 3.2 items of 1 ms. */
Test(time, work_items_by_hand)
{
    llmperf_hw hw = toy_hw();
    static llmperf_calib calib;
    calib_init(&calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_DECODE, LLMPERF_DTYPE_BF16, NULL);
    param[LLMPERF_PARAM_WORK] = 1e-3;
    llmperf_op op = attention(LLMPERF_REGIME_DECODE, 4, 1, 10);
    llmperf_time t;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.work_s, 3.2e-3, 1e-14) && is_near(t.time_s, 3.2e-3, 1e-14));
    cr_expect(t.bound == LLMPERF_BOUND_LATENCY);
    hw.units = 0; /* not said: the term is left out */
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(t.work_s == 0 && t.time_s == fmax(t.compute_s, t.memory_s));
}

/* 3.2 items a unit of 0.5 ms + 1 ms a 128 channels (heads of 64: 1 ms in all) = 3.2 ms; the first
 * wave of 2.4 ms is in the launch: (3.2^4 + 2.4^4)^(1/4) - 2.4 = 0.8 337^(1/4) - 2.4. */
Test(time, work_beyond_the_first_wave_by_hand)
{
    llmperf_hw hw = toy_hw();
    static llmperf_calib calib;
    calib_init(&calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_DECODE, LLMPERF_DTYPE_BF16, NULL);
    param[LLMPERF_PARAM_WORK] = 5e-4;
    param[LLMPERF_PARAM_HEAD_WORK] = 1e-3;
    llmperf_op op = attention(LLMPERF_REGIME_DECODE, 4, 1, 10);
    op.head_dim = op.value_dim = 64;
    llmperf_time t;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.work_s, 3.2e-3, 1e-14));
    param[LLMPERF_PARAM_FIRST] = 2.4e-3;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.work_s, (0.8 * sqrt(sqrt(337)) - 2.4) * 1e-3, 1e-12), "%g", t.work_s);
    /* the same the other way round: 0.8 337^(1/4) - 3.2, and next to nothing far below a wave:
     * first r^4 / 4 of r = items / first */
    param[LLMPERF_PARAM_WORK] = 2.5e-4;
    param[LLMPERF_PARAM_HEAD_WORK] = 1e-3;
    param[LLMPERF_PARAM_FIRST] = 3.2e-3;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.work_s, (0.8 * sqrt(sqrt(337)) - 3.2) * 1e-3, 1e-12), "%g", t.work_s);
    param[LLMPERF_PARAM_FIRST] = 2.4;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.work_s, 2.4 * 1e-12 / 4, 1e-9), "%g", t.work_s);
}

/* One item walks 2048 keys alone: 2 of 1024, however many; a GEMM's loop saturates instead. Beyond 128
 * keys parts are merged, several sequences of several groups put in order: each a launch more. */
Test(time, walks_and_launches_of_attention_by_hand)
{
    llmperf_hw hw = toy_hw();
    static llmperf_calib calib;
    calib_init(&calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_DECODE, LLMPERF_DTYPE_BF16, NULL);
    param[LLMPERF_PARAM_SERIAL] = 1e-3;
    param[LLMPERF_PARAM_LAUNCH] = 1e-5;
    param[LLMPERF_PARAM_MERGE] = 2e-5;
    param[LLMPERF_PARAM_REGROUP] = 4e-5;
    llmperf_op op = attention(LLMPERF_REGIME_DECODE, 1, 1, 2047);
    llmperf_time t;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.serial_s, 2e-3, 1e-14) && is_near(t.launch_s, 3e-5, 1e-14));
    op = attention(LLMPERF_REGIME_DECODE, 1, 1, 8191);
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.serial_s, 8e-3, 1e-14));
    op = attention(LLMPERF_REGIME_DECODE, 2, 1, 127); /* one block of keys, two sequences */
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.launch_s, 5e-5, 1e-14));
    op = attention(LLMPERF_REGIME_DECODE, 2, 1, 128);
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.launch_s, 7e-5, 1e-14));
    op.kv_heads = 1; /* one group: in order as it is */
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.launch_s, 3e-5, 1e-14));
    op.kv_heads = op.heads; /* no groups */
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.launch_s, 3e-5, 1e-14));
}

/* norm_p of 3 and 4 milliseconds, from the definition. */
Test(time, norms_by_their_definition)
{
    static const struct {
        double p, want;
    } rows[] = {
        /* 3^0.6 = 1.933182, 4^0.6 = 2.297397; their sum 4.230579 ^ (1/0.6) = 11.06623 */
        {0.6, 11.06623},
        {1, 7},
        /* 3^1.1 + 4^1.1 = 3.348370 + 4.594793 = 7.943163 ^ (1/1.1) = 6.579242 */
        {1.1, 6.579242},
        {2, 5},
        {3, 4.49794}, /* cube root of 91 */
        {INFINITY, 4},
    };
    llmperf_hw hw = toy_hw();
    static llmperf_calib calib;
    calib_init(&calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16, NULL);
    llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                     .dtype = LLMPERF_DTYPE_BF16,
                     .launches = 1,
                     .flop = 3e9,
                     .bytes = 4e7};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double p = param[LLMPERF_PARAM_NORM] = rows[i].p;
        double got = 1e3 * time_op(&op, &hw, &calib, NULL, NULL);
        cr_expect(is_near(got, rows[i].want, 1e-5), "p %g: %.7g, by hand %.7g", p, got,
                  rows[i].want);
        if (!isinf(p)) {
            double want = pow(pow(3, p) + pow(4, p), 1 / p);
            cr_expect(is_near(got, want, 1e-13), "p %g: %.17g, pow %.17g", p, got, want);
        }
    }
}

/* Terms 1e300 apart, tiny and huge p: no overflow, never below the largest term. */
Test(time, norms_neither_overflow_nor_undercut)
{
    static llmperf_calib calib;
    calib_init(&calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16, NULL);
    llmperf_hw hw = toy_hw();
    rng r = {.state = 3};
    for (int i = 0; i < 20000; i++) {
        llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                         .dtype = LLMPERF_DTYPE_BF16,
                         .launches = 1,
                         .flop = rng_log(&r, 1e-3, 1e30),
                         .bytes = rng_log(&r, 1e-3, 1e30)};
        double p = param[LLMPERF_PARAM_NORM] = rng_chance(&r, 0.3) ? 1 : rng_log(&r, 0.3, 1e3);
        double largest = fmax(op.flop / 1e12, op.bytes / 1e10);
        double got = time_op(&op, &hw, &calib, NULL, NULL);
        /* two terms: at most 2^(1/p) times the larger */
        if (!(got >= largest && got <= largest * pow(2, 1 / p) * (1 + 1e-12)))
            cr_assert(false, "p %g flop %g bytes %g: %g, largest term %g", p, op.flop, op.bytes,
                      got, largest);
    }
}

/* ---- collectives ---- */

/* 4 devices, 3e6 bus bytes on a link of 1e9 bytes/s and 1 us. */
Test(time, collectives_by_hand)
{
    llmperf_hw hw = toy_hw();
    llmperf_op op = {.kind = LLMPERF_KIND_COLLECTIVE,
                     .launches = 1,
                     .devices = 4,
                     .collective = LLMPERF_COLLECTIVE_ALL_REDUCE,
                     .link_bytes = 3e6};
    llmperf_time t;
    /* ideal: latency + bytes over the link */
    cr_expect(is_near(time_op(&op, &hw, NULL, &t, NULL), 1e-6 + 3e-3, 1e-14));
    cr_expect(t.bound == LLMPERF_BOUND_LINK && is_near(t.link_s, 3e-3, 1e-15));
    cr_expect(t.compute_s == 0 && t.memory_s == 0);
    op.link_bytes = 10;
    time_op(&op, &hw, NULL, &t, NULL);
    cr_expect(t.bound == LLMPERF_BOUND_LATENCY);

    static llmperf_calib calib;
    calib_init(&calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_COLLECTIVE, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_NONE, NULL);
    param[LLMPERF_PARAM_LAUNCH] = 1e-3;
    param[LLMPERF_PARAM_HOP] = 2e-3;
    param[LLMPERF_PARAM_LINK] = 0.6;
    param[LLMPERF_PARAM_NORM] = 1;
    op.link_bytes = 3e6;
    /* (1 + 2 log2 4) ms + 3 ms / 0.6 = 10 ms */
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 10e-3, 1e-14));
    param[LLMPERF_PARAM_NORM] = 0.5; /* (sqrt 5 + sqrt 5)^2 = 20 */
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 20e-3, 1e-14));
}

static llmperf_op reduce_of(double devices, double buffer)
{
    return (llmperf_op){.kind = LLMPERF_KIND_COLLECTIVE,
                        .launches = 1,
                        .devices = (int64_t)devices,
                        .collective = LLMPERF_COLLECTIVE_ALL_REDUCE,
                        .link_bytes = 2 * (devices - 1) / devices * buffer};
}

/*
 * A link of 1e9 bytes/s of which half is reached. Of S bytes over 4 devices a ring moves 1.5 S,
 * 3 ns a byte; reading all peers' buffers at once 3 S, 6 ns a byte. A second phase costs 3 ms:
 * both ways take 6 ms at S = 1e6. Latency 1 ms + 0.1 ms x 3 peers.
 */
Test(time, an_all_reduce_takes_the_shorter_way)
{
    llmperf_hw hw = toy_hw();
    llmperf_time t;
    static llmperf_calib calib;
    calib_init(&calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_COLLECTIVE, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_NONE, NULL);
    param[LLMPERF_PARAM_LAUNCH] = 1e-3;
    param[LLMPERF_PARAM_STEP] = 1e-4;
    param[LLMPERF_PARAM_LINK] = 0.5;
    param[LLMPERF_PARAM_SECOND] = 3e-3;
    llmperf_op op = reduce_of(4, 0.5e6);
    cr_expect(is_near(time_op(&op, &hw, &calib, &t, NULL), 1.3e-3 + 3e-3, 1e-14));
    cr_expect(is_near(t.launch_s, 1.3e-3, 1e-14) && is_near(t.link_s, 3e-3, 1e-14));
    op = reduce_of(4, 2e6); /* 6 + 3 ms instead of 12 */
    cr_expect(is_near(time_op(&op, &hw, &calib, &t, NULL), 1.3e-3 + 9e-3, 1e-14));
    cr_expect(t.added_s == 0);
    op = reduce_of(2, 2e6); /* two devices: either way moves S once; 1 peer */
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 1.1e-3 + 4e-3, 1e-14));
    op.collective = LLMPERF_COLLECTIVE_ALL_GATHER;
    op.devices = 4;
    op.link_bytes = 1.5e6; /* 3/4 of 2e6 in 3 ms: a gathering has one way */
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 1.3e-3 + 3e-3, 1e-14));
}

/* bulk 8 ms, half of it at 2e6 bytes, q = 2: 0.2 at 1e6, 0.5 at 2e6, 0.8 at 4e6. */
Test(time, large_buffers_go_another_way)
{
    llmperf_hw hw = toy_hw();
    llmperf_time t;
    static llmperf_calib calib;
    calib_init(&calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_COLLECTIVE, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_NONE, NULL);
    param[LLMPERF_PARAM_BULK] = 8e-3;
    param[LLMPERF_PARAM_LIMIT] = 2e6;
    param[LLMPERF_PARAM_SHARP] = 1;
    for (int i = 0; i < 3; i++) {
        const double buffer[] = {1e6, 2e6, 4e6}, share[] = {0.2, 0.5, 0.8};
        llmperf_op op = reduce_of(4, buffer[i]);
        /* over the whole link 1.5 ns a byte */
        double want = 1.5e-9 * buffer[i] + 8e-3 * share[i];
        cr_expect(is_near(time_op(&op, &hw, &calib, &t, NULL), want, 1e-14), "%g", want);
        cr_expect(is_near(t.added_s, 8e-3 * share[i], 1e-14));
    }
    llmperf_op op = reduce_of(4, 0);
    cr_expect(time_op(&op, &hw, &calib, NULL, NULL) == 0);
}

/* Of a buffer of 4e6 bytes over 4 devices each sends 2 x 3/4, 3/4 or, to its neighbour, all. */
Test(time, what_a_collective_sends)
{
    static const double share[LLMPERF_COLLECTIVE_COUNT] = {
        [LLMPERF_COLLECTIVE_ALL_REDUCE] = 1.5,      [LLMPERF_COLLECTIVE_ALL_GATHER] = 0.75,
        [LLMPERF_COLLECTIVE_REDUCE_SCATTER] = 0.75, [LLMPERF_COLLECTIVE_ALL_TO_ALL] = 0.75,
        [LLMPERF_COLLECTIVE_SEND_RECV] = 1,
    };
    llmperf_hw hw = toy_hw();
    static llmperf_calib calib;
    calib_init(&calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_COLLECTIVE, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_NONE, NULL);
    param[LLMPERF_PARAM_SECOND] = 1; /* for all-reduces alone, where one phase is shorter then */
    param[LLMPERF_PARAM_BULK] = 1e-3;
    param[LLMPERF_PARAM_LIMIT] = 4e6; /* of the buffer, whatever is sent: half of it */
    for (int i = LLMPERF_COLLECTIVE_ALL_REDUCE; i < LLMPERF_COLLECTIVE_COUNT; i++) {
        llmperf_collective collective = (llmperf_collective)i;
        llmperf_op op = reduce_of(4, 4e6);
        cr_expect(llmperf_collective_share(collective, 4) == share[i]);
        op.collective = (uint8_t)i;
        op.link_bytes = share[i] * 4e6;
        double sent = collective == LLMPERF_COLLECTIVE_ALL_REDUCE ? 3 : share[i];
        double want = sent * 4e6 / 1e9 + 0.5e-3;
        cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), want, 1e-14), "%s",
                  llmperf_collective_name(collective));
    }
    cr_expect(llmperf_collective_name(LLMPERF_COLLECTIVE_NONE) == NULL);
}

/* A host bus of 1e9 bytes/s; each device beyond two costs half of the link's time more. */
Test(time, a_host_bus_is_shared)
{
    llmperf_hw hw = toy_hw();
    static llmperf_calib calib;
    calib_init(&calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_COLLECTIVE, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_NONE, NULL);
    param[LLMPERF_PARAM_CROWD] = 0.5;
    llmperf_op op = reduce_of(4, 2e6); /* 3e6 bytes */
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 3e-3, 1e-14));
    hw.pcie = (llmperf_link){.kind = "pcie", .bytes_per_s = 1e9, .latency_s = 1e-5};
    hw.link.kind[0] = '\0';
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 6e-3, 1e-14));
    op = reduce_of(2, 2e6); /* a pair has the bus for itself */
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 2e-3, 1e-14));
}

/* More bytes or more devices never take less time, and the link's own rate is the floor. */
Test(time, collectives_keep_the_floor_and_the_order)
{
    static llmperf_calib calib;
    rng r = {.state = 23};
    for (int i = 0; i < CASES(20000); i++) {
        llmperf_hw hw;
        random_hw(&r, &hw);
        calib_init(&calib);
        llmperf_calib_entry entry = random_entry(&r, LLMPERF_KIND_COLLECTIVE, 1);
        refine_collective(&r, &entry);
        set_entry(&calib, LLMPERF_KIND_COLLECTIVE, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_NONE,
                  entry.param);
        double n = (double)rng_int(&r, 2, 64), buffer = rng_log(&r, 1, 1e10);
        llmperf_op op = reduce_of(n, buffer), wide = reduce_of(n + 1, buffer);
        llmperf_op large = reduce_of(n, buffer * rng_real(&r, 1, 3));
        const llmperf_link *link = llmperf_hw_link(&hw, op.devices);
        if (!link || llmperf_hw_link(&hw, wide.devices) != link)
            continue;
        double t = time_op(&op, &hw, &calib, NULL, NULL);
        double floor_s = op.link_bytes / link->bytes_per_s;
        if (!(t >= floor_s * (1 - 1e-12)) ||
            !(time_op(&large, &hw, &calib, NULL, NULL) >= t * (1 - 1e-12)) ||
            !(time_op(&wide, &hw, &calib, NULL, NULL) >= t * (1 - 1e-12)))
            cr_assert(false, "case %d: %g s, floor %g", i, t, floor_s);
    }
}

Test(time, the_link_depends_on_the_group)
{
    llmperf_hw hw = toy_hw();
    hw.nodes = (llmperf_link){.kind = "infiniband", .bytes_per_s = 1e8, .latency_s = 1e-5};
    cr_expect(llmperf_hw_link(&hw, 8) == &hw.link);
    cr_expect(llmperf_hw_link(&hw, 9) == &hw.nodes);
    hw.link.domain = 0; /* not said */
    cr_expect(llmperf_hw_link(&hw, 100) == &hw.link);
    hw.nodes.kind[0] = '\0';
    hw.link.domain = 8; /* a switched domain is the whole host: nothing reaches beyond it */
    hw.pcie = (llmperf_link){.kind = "pcie", .bytes_per_s = 1e8, .latency_s = 1e-5};
    cr_expect(llmperf_hw_link(&hw, 9) == NULL);
    hw.link.domain = 2; /* a bridge: the host's bus reaches the other cards */
    cr_expect(llmperf_hw_link(&hw, 2) == &hw.link);
    cr_expect(llmperf_hw_link(&hw, 4) == &hw.pcie);
    hw.pcie.kind[0] = '\0';
    cr_expect(llmperf_hw_link(&hw, 4) == NULL);
    hw.pcie.kind[0] = 'p';
    hw.link.kind[0] = '\0';
    cr_expect(llmperf_hw_link(&hw, 2) == &hw.pcie);
}

/* ---- extend: chunks with cached context, verification ---- */

static void random_two(rng *r, bool refined, llmperf_calib *calib)
{
    calib_init(calib);
    llmperf_calib_entry pre = random_entry(r, LLMPERF_KIND_ATTENTION, 1);
    llmperf_calib_entry dec = random_entry(r, LLMPERF_KIND_ATTENTION, 1);
    if (refined) {
        refine_entry(r, LLMPERF_KIND_ATTENTION, &pre);
        refine_entry(r, LLMPERF_KIND_ATTENTION, &dec);
    }
    set_entry(calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_PREFILL, LLMPERF_DTYPE_BF16, pre.param);
    set_entry(calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_DECODE, LLMPERF_DTYPE_BF16, dec.param);
}

static bool same_time(const llmperf_time *a, const llmperf_time *b)
{
    return a->time_s == b->time_s && a->compute_s == b->compute_s && a->memory_s == b->memory_s &&
           a->work_s == b->work_s && a->launch_s == b->launch_s;
}

Test(time, extend_meets_both_ends_exactly)
{
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    rng r = {.state = 11};
    for (int i = 0; i < 5000; i++) {
        random_two(&r, true, &calib);
        llmperf_time extend, end;
        llmperf_op op =
            attention(LLMPERF_REGIME_EXTEND, rng_log_int(&r, 1, 99), rng_log_int(&r, 2, 9999), 0);
        time_op(&op, &hw, &calib, &extend, NULL);
        op.regime = LLMPERF_REGIME_PREFILL;
        time_op(&op, &hw, &calib, &end, NULL);
        if (!same_time(&extend, &end))
            cr_assert(false, "case %d, past 0: %.17g, prefill %.17g", i, extend.time_s, end.time_s);
        op = attention(LLMPERF_REGIME_EXTEND, rng_log_int(&r, 1, 99), 1, rng_log_int(&r, 1, 99999));
        time_op(&op, &hw, &calib, &extend, NULL);
        op.regime = LLMPERF_REGIME_DECODE;
        time_op(&op, &hw, &calib, &end, NULL);
        if (!same_time(&extend, &end))
            cr_assert(false, "case %d, query 1: %.17g, decode %.17g", i, extend.time_s, end.time_s);
    }
}

/* Between the ends every parameter lies between the two fits', so each term does. */
Test(time, extend_lies_between_the_fits)
{
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    rng r = {.state = 12};
    for (int i = 0; i < 5000; i++) {
        random_two(&r, false, &calib);
        llmperf_time extend, prefill, decode;
        llmperf_op op = attention(LLMPERF_REGIME_EXTEND, rng_log_int(&r, 1, 99),
                                  rng_log_int(&r, 2, 9999), rng_log_int(&r, 1, 99999));
        time_op(&op, &hw, &calib, &extend, NULL);
        op.regime = LLMPERF_REGIME_PREFILL;
        time_op(&op, &hw, &calib, &prefill, NULL);
        op.regime = LLMPERF_REGIME_DECODE;
        time_op(&op, &hw, &calib, &decode, NULL);
        const double e[] = {extend.compute_s, extend.memory_s, extend.work_s, extend.launch_s};
        const double p[] = {prefill.compute_s, prefill.memory_s, prefill.work_s, prefill.launch_s};
        const double d[] = {decode.compute_s, decode.memory_s, decode.work_s, decode.launch_s};
        for (int j = 0; j < 4; j++)
            if (!(e[j] >= fmin(p[j], d[j]) * (1 - 1e-12) && e[j] <= fmax(p[j], d[j]) * (1 + 1e-12)))
                cr_assert(false, "case %d term %d: %g not between %g and %g", i, j, e[j], p[j],
                          d[j]);
    }
}

/* A chunk computes as prefill does (within 1/query) and reads a long cache as decode does. */
Test(time, extend_of_a_long_chunk_over_a_long_cache)
{
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    rng r = {.state = 13};
    random_two(&r, false, &calib);
    llmperf_time extend, prefill, decode;
    llmperf_op op = attention(LLMPERF_REGIME_EXTEND, 1, 2048, 1 << 24);
    time_op(&op, &hw, &calib, &extend, NULL);
    op.regime = LLMPERF_REGIME_PREFILL;
    time_op(&op, &hw, &calib, &prefill, NULL);
    op.regime = LLMPERF_REGIME_DECODE;
    time_op(&op, &hw, &calib, &decode, NULL);
    cr_expect(is_near(extend.compute_s, prefill.compute_s, 0.01));
    cr_expect(is_near(extend.memory_s, decode.memory_s, 0.01));
}

/* Does a larger chunk, or one over a larger cache, or more of them, take less time? */
static bool falls(const llmperf_hw *hw, const llmperf_calib *calib, rng *r)
{
    double b = (double)rng_log_int(r, 1, 99), q = (double)rng_log_int(r, 2, 9999),
           past = (double)rng_log_int(r, 1, 99999);
    llmperf_op op = attention(LLMPERF_REGIME_EXTEND, b, q, past);
    llmperf_op larger[] = {
        attention(LLMPERF_REGIME_EXTEND, b, q, past + (double)rng_log_int(r, 1, 999)),
        attention(LLMPERF_REGIME_EXTEND, b, q + (double)rng_log_int(r, 1, 999), past),
        attention(LLMPERF_REGIME_EXTEND, b + (double)rng_log_int(r, 1, 99), q, past)};
    double before = time_op(&op, hw, calib, NULL, NULL);
    for (int i = 0; i < 3; i++)
        if (!(time_op(&larger[i], hw, calib, NULL, NULL) >= before * (1 - 1e-12)))
            return true;
    return false;
}

/*
 * Never where the two kernels overlap alike and have no refinements: what either gets through grows, and
 * waits stay. Else the norm and the factors of compute pass from one fit to the other, which takes back
 * a little in few cases (9 % of them did before shares were of work, up to 28 % with shipped fits).
 */
Test(time, extend_does_not_fall_with_queries_cache_and_batch)
{
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    rng r = {.state = 19};
    int plain = 0, refined = 0;
    const int cases = CASES(20000);
    for (int i = 0; i < cases; i++) {
        random_two(&r, false, &calib);
        calib.entry[1].param[LLMPERF_PARAM_NORM] = calib.entry[0].param[LLMPERF_PARAM_NORM];
        plain += falls(&hw, &calib, &r);
        random_two(&r, true, &calib);
        refined += falls(&hw, &calib, &r);
    }
    cr_expect(plain == 0, "%d of %d", plain, cases);
    cr_expect(refined < cases / 50, "%d of %d", refined, cases);
}

/* An extend fit of its own, where there is one, is taken as it is. */
Test(time, an_own_extend_entry_wins)
{
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    rng r = {.state = 14};
    random_two(&r, true, &calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_EXTEND, LLMPERF_DTYPE_BF16, NULL);
    param[LLMPERF_PARAM_LAUNCH] = 1;
    llmperf_op op = attention(LLMPERF_REGIME_EXTEND, 2, 16, 100);
    double ideal = time_op(&op, &hw, NULL, NULL, NULL);
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 1 + ideal, 1e-15));
}

/* ---- floors ---- */

Test(time, calibrated_time_is_never_below_the_floor)
{
    static llmperf_calib calib;
    rng r = {.state = 15};
    for (int i = 0; i < 50000; i++) {
        llmperf_hw hw;
        random_hw(&r, &hw);
        hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = hw.peak_flop_per_s[LLMPERF_DTYPE_FP32];
        random_two(&r, true, &calib);
        llmperf_calib_entry entry = random_entry(&r, LLMPERF_KIND_GEMM, 1);
        refine_entry(&r, LLMPERF_KIND_GEMM, &entry);
        set_entry(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16, entry.param);
        llmperf_op op =
            rng_chance(&r, 0.5)
                ? gemm(rng_log_int(&r, 1, 9999), rng_log_int(&r, 1, 9999), rng_log_int(&r, 1, 9999))
                : attention((llmperf_regime)rng_int(&r, 1, 3), rng_log_int(&r, 1, 99),
                            rng_log_int(&r, 1, 9999), rng_log_int(&r, 1, 99999));
        llmperf_time t;
        double got = time_op(&op, &hw, &calib, &t, NULL);
        double floor = time_op(&op, &hw, NULL, NULL, NULL);
        double terms = fmax(fmax(t.compute_s, t.memory_s), fmax(t.serial_s, t.work_s));
        if (!(got >= floor && got >= t.launch_s + terms && isfinite(got)))
            cr_assert(false, "case %d: %.17g, floor %.17g, terms %.17g", i, got, floor, terms);
    }
}

/* Efficiencies above 1 are legal (clocks above the rated one): at most 1.05 times faster. */
Test(time, a_ratio_above_one_beats_the_datasheet_by_that_ratio_at_most)
{
    llmperf_hw hw = toy_hw();
    static llmperf_calib calib;
    calib_init(&calib);
    double *param =
        set_entry(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16, NULL);
    param[LLMPERF_PARAM_COMPUTE] = param[LLMPERF_PARAM_MEMORY] = 1.05;
    llmperf_op op = gemm(100, 4096, 4096);
    double ideal = time_op(&op, &hw, NULL, NULL, NULL);
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), ideal / 1.05, 1e-14));
}

/* ---- the gradient ---- */

typedef struct gradient_case {
    llmperf_op op;
    llmperf_hw hw;
    llmperf_calib *calib;
} gradient_case;

static double log_time(const gradient_case *g)
{
    return log(time_op(&g->op, &g->hw, g->calib, NULL, NULL));
}

/* Central differences in the parameter's logarithm: d log t / d log param. */
static double difference(const gradient_case *g, double *param)
{
    double value = *param, step = 1e-4;
    double f[4];
    static const double at[4] = {2, 1, -1, -2};
    for (int i = 0; i < 4; i++) { /* five-point stencil: error O(step^4) */
        *param = value * (1 + at[i] * step);
        f[i] = log_time(g);
    }
    *param = value;
    return (-f[0] + 8 * f[1] - 8 * f[2] + f[3]) / (12 * step);
}

static bool is_smooth(const gradient_case *g, const double *param)
{
    llmperf_time t;
    /* max() has a corner where its two largest terms meet */
    if (!isinf(param[LLMPERF_PARAM_NORM]))
        return true;
    time_op(&g->op, &g->hw, g->calib, &t, NULL);
    double x[] = {t.compute_s, t.memory_s, t.serial_s, t.work_s};
    double first = 0, second = 0;
    for (int i = 0; i < 4; i++) {
        second = x[i] > first ? first : fmax(second, x[i]);
        first = fmax(first, x[i]);
    }
    return second < 0.99 * first;
}

static void expect_gradient(const char *what, int number, gradient_case *g, int entries)
{
    llmperf_gradient gradient;
    llmperf_time t;
    double time = time_op(&g->op, &g->hw, g->calib, &t, &gradient);
    if (time != time_op(&g->op, &g->hw, g->calib, NULL, NULL))
        cr_assert(false, "%s %d: the gradient moves the time", what, number);
    if (gradient.count != entries)
        cr_assert(false, "%s %d: %d entries, expected %d", what, number, gradient.count, entries);
    for (int e = 0; e < gradient.count; e++) {
        double *param = g->calib->entry[gradient.entry[e]].param;
        for (int i = 0; i < LLMPERF_PARAM_COUNT; i++) {
            double got = gradient.dlog[e][i];
            if (param[i] == 0 || isinf(param[i]))
                continue;
            double want = difference(g, &param[i]);
            /* rounding of log t: 1e-16 over the step */
            if (!(fabs(got * param[i] - want) <= 1e-6 * fabs(want) + 1e-10))
                cr_assert(false, "%s %d entry %d %s = %g: %.12g, by differences %.12g", what,
                          number, e, llmperf_param_name((llmperf_param)i), param[i], got * param[i],
                          want);
        }
    }
}

Test(time, gradient_equals_finite_differences)
{
    static llmperf_calib calib;
    rng r = {.state = 16};
    int checked = 0;
    for (int i = 0; i < CASES(20000); i++) {
        gradient_case g = {.calib = &calib};
        random_hw(&r, &g.hw);
        g.hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = g.hw.peak_flop_per_s[LLMPERF_DTYPE_FP32];
        calib_init(&calib);
        llmperf_op_kind kind = rng_chance(&r, 0.5) ? LLMPERF_KIND_GEMM : LLMPERF_KIND_ATTENTION;
        llmperf_regime regime = LLMPERF_REGIME_NONE;
        if (kind == LLMPERF_KIND_GEMM) {
            g.op =
                gemm(rng_log_int(&r, 1, 9999), rng_log_int(&r, 1, 9999), rng_log_int(&r, 1, 9999));
        } else {
            regime = rng_chance(&r, 0.5) ? LLMPERF_REGIME_PREFILL : LLMPERF_REGIME_DECODE;
            g.op = attention(regime, rng_log_int(&r, 1, 99), rng_log_int(&r, 1, 999),
                             rng_log_int(&r, 1, 9999));
        }
        llmperf_calib_entry entry = random_entry(&r, kind, 1);
        refine_entry(&r, kind, &entry);
        double *param = set_entry(&calib, kind, regime, LLMPERF_DTYPE_BF16, entry.param);
        if (!is_smooth(&g, param))
            continue;
        expect_gradient(kind == LLMPERF_KIND_GEMM ? "gemm" : "attention", i, &g, 1);
        checked++;
    }
    cr_expect(checked > CASES(15000));
}

/* The longer of two waits has a corner where they are alike. */
static bool has_clear_waits(const gradient_case *g)
{
    llmperf_time t[2];
    for (int i = 0; i < 2; i++) {
        llmperf_op op = g->op;
        op.regime = i ? LLMPERF_REGIME_DECODE : LLMPERF_REGIME_PREFILL;
        time_op(&op, &g->hw, g->calib, &t[i], NULL);
    }
    const double *a = g->calib->entry[0].param, *b = g->calib->entry[1].param;
    const double waits[][2] = {{t[0].launch_s, t[1].launch_s},
                               {t[0].work_s, t[1].work_s},
                               {t[0].serial_s, t[1].serial_s},
                               {a[LLMPERF_PARAM_LOOP], b[LLMPERF_PARAM_LOOP]},
                               {a[LLMPERF_PARAM_PASSES], b[LLMPERF_PARAM_PASSES]}};
    for (int i = 0; i < 5; i++) {
        double most = fmax(waits[i][0], waits[i][1]);
        if (most > 0 && fabs(waits[i][0] - waits[i][1]) < 1e-3 * most)
            return false;
    }
    return true;
}

Test(time, gradient_of_an_extend_operator_reaches_both_fits)
{
    static llmperf_calib calib;
    rng r = {.state = 17};
    for (int i = 0; i < CASES(20000); i++) {
        gradient_case g = {.calib = &calib};
        random_hw(&r, &g.hw);
        g.hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = g.hw.peak_flop_per_s[LLMPERF_DTYPE_FP32];
        random_two(&r, true, &calib);
        for (int e = 0; e < 2; e++) /* the corners of max() are elsewhere */
            if (isinf(calib.entry[e].param[LLMPERF_PARAM_NORM]))
                calib.entry[e].param[LLMPERF_PARAM_NORM] = 4;
        g.op = attention(LLMPERF_REGIME_EXTEND, rng_log_int(&r, 1, 99), rng_log_int(&r, 2, 999),
                         rng_log_int(&r, 1, 9999));
        if (has_clear_waits(&g))
            expect_gradient("extend", i, &g, 2);
    }
}

/* One fit of the two is there: the other end is ideal, and the gradient names it as such. */
Test(time, gradient_of_an_extend_operator_with_one_fit)
{
    static llmperf_calib calib;
    rng r = {.state = 18};
    for (int i = 0; i < CASES(4000); i++) {
        gradient_case g = {.calib = &calib};
        random_hw(&r, &g.hw);
        g.hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = g.hw.peak_flop_per_s[LLMPERF_DTYPE_FP32];
        calib_init(&calib);
        llmperf_calib_entry entry = random_entry(&r, LLMPERF_KIND_ATTENTION, 1);
        entry.param[LLMPERF_PARAM_NORM] = rng_real(&r, 0.8, 3);
        bool prefill = rng_chance(&r, 0.5);
        double *param = set_entry(&calib, LLMPERF_KIND_ATTENTION,
                                  prefill ? LLMPERF_REGIME_PREFILL : LLMPERF_REGIME_DECODE,
                                  LLMPERF_DTYPE_BF16, entry.param);
        g.op = attention(LLMPERF_REGIME_EXTEND, rng_log_int(&r, 1, 99), rng_log_int(&r, 2, 99),
                         rng_log_int(&r, 1, 999));
        llmperf_gradient gradient;
        time_op(&g.op, &g.hw, &calib, NULL, &gradient);
        int at = prefill ? 0 : 1;
        if (gradient.count != 2 || gradient.entry[at] != 0 ||
            gradient.entry[1 - at] != LLMPERF_CALIB_NO_ENTRY)
            cr_assert(false, "case %d: entries %d %d", i, gradient.entry[0], gradient.entry[1]);
        for (int k = 0; k < LLMPERF_PARAM_COUNT; k++) {
            if (param[k] == 0)
                continue;
            double want = difference(&g, &param[k]), got = gradient.dlog[at][k] * param[k];
            if (!(fabs(got - want) <= 1e-6 * fabs(want) + 1e-10))
                cr_assert(false, "case %d %s: %.12g, by differences %.12g", i,
                          llmperf_param_name((llmperf_param)k), got, want);
        }
    }
}

/* Where the two ways of an all-reduce take nearly the same time there is a corner. */
static bool is_at_corner(const llmperf_op *op, const llmperf_hw *hw, const double *param)
{
    const llmperf_link *link = llmperf_hw_link(hw, op->devices);
    double n = (double)op->devices;
    double crowd = link == &hw->pcie && n > 2 ? 1 + param[LLMPERF_PARAM_CROWD] * (n - 2) : 1;
    double ring = op->link_bytes / (link->bytes_per_s * param[LLMPERF_PARAM_LINK]) * crowd;
    double one = ring * n / 2, two = ring + param[LLMPERF_PARAM_SECOND];
    return fabs(one - two) < 1e-2 * two;
}

Test(time, gradient_of_a_collective)
{
    static llmperf_calib calib;
    rng r = {.state = 19};
    int checked = 0;
    for (int i = 0; i < CASES(20000); i++) {
        gradient_case g = {.calib = &calib};
        random_hw(&r, &g.hw);
        calib_init(&calib);
        llmperf_calib_entry entry = random_entry(&r, LLMPERF_KIND_COLLECTIVE, 1);
        entry.param[LLMPERF_PARAM_LAUNCH] = rng_log(&r, 1e-7, 1e-4);
        refine_collective(&r, &entry);
        set_entry(&calib, LLMPERF_KIND_COLLECTIVE, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_NONE,
                  entry.param);
        g.op = reduce_of((double)rng_int(&r, 2, 64), rng_log(&r, 1, 1e9));
        if (rng_chance(&r, 0.3))
            g.op.collective = LLMPERF_COLLECTIVE_ALL_GATHER;
        if (!llmperf_hw_link(&g.hw, g.op.devices) || is_at_corner(&g.op, &g.hw, entry.param))
            continue;
        expect_gradient("collective", i, &g, 1);
        checked++;
    }
    cr_expect(checked > CASES(8000), "%d", checked);
}

Test(time, gradient_without_a_fit_names_no_entry)
{
    llmperf_hw hw = toy_hw();
    llmperf_op op = gemm(4, 64, 64);
    llmperf_gradient gradient;
    time_op(&op, &hw, NULL, NULL, &gradient);
    cr_expect(gradient.count == 1 && gradient.entry[0] == LLMPERF_CALIB_NO_ENTRY);
}

/* ---- what a calibration may hold ---- */

Test(time, calibrations_stay_within_physics)
{
    static const struct {
        int param;
        double value;
        bool legal;
    } rows[] = {
        {LLMPERF_PARAM_COMPUTE, 1.05, true},     {LLMPERF_PARAM_COMPUTE, 1.06, false},
        {LLMPERF_PARAM_COMPUTE, 0, false},       {LLMPERF_PARAM_COMPUTE, -0.5, false},
        {LLMPERF_PARAM_MEMORY, 1e-9, true},      {LLMPERF_PARAM_MEMORY, 2, false},
        {LLMPERF_PARAM_LAUNCH, 0, true},         {LLMPERF_PARAM_LAUNCH, -1e-9, false},
        {LLMPERF_PARAM_NORM, INFINITY, true},    {LLMPERF_PARAM_NORM, 0, false},
        {LLMPERF_PARAM_NORM, 0.6, true},         {LLMPERF_PARAM_LINK, 0, false},
        {LLMPERF_PARAM_HOP, -1, false},          {LLMPERF_PARAM_WORK, 0, true},
        {LLMPERF_PARAM_STEP, -1e-9, false},      {LLMPERF_PARAM_SECOND, 1e-6, true},
        {LLMPERF_PARAM_CROWD, -1, false},        {LLMPERF_PARAM_BULK, NAN, false},
        {LLMPERF_PARAM_LIMIT, 1e15, true},       {LLMPERF_PARAM_LIMIT, 2e15, false},
        {LLMPERF_PARAM_SHARP, 15, true},         {LLMPERF_PARAM_SHARP, 16, false},
        {LLMPERF_PARAM_SERIAL, 2e3, false},      {LLMPERF_PARAM_COMPUTE, NAN, false},
        {LLMPERF_PARAM_LAUNCH, NAN, false},      {LLMPERF_PARAM_NORM, NAN, false},
        {LLMPERF_PARAM_LAUNCH, INFINITY, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static llmperf_calib calib;
        calib_init(&calib);
        llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_GEMM);
        entry.param[rows[i].param] = rows[i].value;
        llmperf_error error = {0};
        llmperf_status status = calib_set(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE,
                                          LLMPERF_DTYPE_BF16, &entry, &error);
        cr_expect(status == (rows[i].legal ? LLMPERF_OK : LLMPERF_E_SPEC), "%s = %g: %s",
                  llmperf_param_name((llmperf_param)rows[i].param), rows[i].value, error.text);
        cr_expect(calib.entry_count == (rows[i].legal ? 1 : 0));
        if (!rows[i].legal)
            cr_expect(strstr(error.text, llmperf_param_name((llmperf_param)rows[i].param)) != NULL,
                      "%s", error.text);
    }
}

Test(time, a_calibration_says_when_it_is_full)
{
    static llmperf_calib calib;
    calib_init(&calib);
    llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_GEMM);
    int set = 0;
    for (int kind = 0; kind < LLMPERF_KIND_COUNT; kind++)
        for (int regime = 0; regime < LLMPERF_REGIME_COUNT; regime++)
            for (int dtype = 0; dtype < LLMPERF_DTYPE_COUNT; dtype++) {
                llmperf_status status =
                    calib_set(&calib, (llmperf_op_kind)kind, (llmperf_regime)regime,
                              (llmperf_dtype)dtype, &entry, NULL);
                cr_expect(status ==
                          (set++ < LLMPERF_CALIB_ENTRIES_MAX ? LLMPERF_OK : LLMPERF_E_UNSUPPORTED));
            }
    cr_expect(calib.entry_count == LLMPERF_CALIB_ENTRIES_MAX);
    /* a key that is there is replaced, not added */
    entry.param[LLMPERF_PARAM_COMPUTE] = 0.25;
    cr_expect(calib_set(&calib, 0, 0, 0, &entry, NULL) == LLMPERF_OK);
    cr_expect(calib.entry_count == LLMPERF_CALIB_ENTRIES_MAX);
    cr_expect(calib.entry[calib.index[0][0][0]].param[LLMPERF_PARAM_COMPUTE] == 0.25);
}

Test(time, names_of_bounds_and_parameters)
{
    static const char *const bounds[] = {"compute", "memory", "latency", "launch", "link"};
    for (int i = 0; i < LLMPERF_BOUND_COUNT; i++)
        cr_expect_str_eq(llmperf_bound_name((llmperf_bound)i), bounds[i]);
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++)
        for (int j = 0; j < i; j++)
            cr_expect_str_neq(llmperf_param_name((llmperf_param)i),
                              llmperf_param_name((llmperf_param)j));
}

/* ---- which variant times an operator ---------------------------------------------------------------- */

static void add_variant(llmperf_calib *calib, llmperf_calib_key key)
{
    llmperf_error error = {0};
    llmperf_calib_entry entry = calib_ideal((llmperf_op_kind)key.kind);
    entry.key = key;
    cr_assert(calib_add(calib, &entry, &error) == LLMPERF_OK, "%s", error.text);
}

Test(time_op, experts_and_block_scales_have_fits_of_their_own)
{
    static llmperf_calib calib;
    llmperf_calib_key gemm = {.kind = LLMPERF_KIND_GEMM, .dtype = LLMPERF_DTYPE_FP8};
    llmperf_calib_key block = gemm, experts = gemm;
    block.block = experts.experts = 1;
    calib_init(&calib);
    add_variant(&calib, gemm);
    add_variant(&calib, block);
    add_variant(&calib, experts);
    llmperf_op op = {.id = LLMPERF_OP_MLP_DOWN,
                     .kind = LLMPERF_KIND_GEMM,
                     .dtype = LLMPERF_DTYPE_FP8,
                     .m = 8,
                     .n = 256,
                     .k = 512};
    op.flop = 2 * op.m * op.n * op.k;
    op.weight_bytes = op.n * op.k;
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_NONE) == 0);
    op.weight_bytes = op.n * op.k * (1 + 4.0 / (128 * 128)); /* fp32 per 128 x 128 */
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_NONE) == 1);
    op.id = LLMPERF_OP_MOE_DOWN; /* four active experts of that shape */
    op.flop *= 4;
    op.weight_bytes *= 4;
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_NONE) == 2);
}

Test(time_op, decode_attention_by_query_heads_per_kv_head)
{
    static llmperf_calib calib;
    llmperf_calib_key key = {.kind = LLMPERF_KIND_ATTENTION,
                             .regime = LLMPERF_REGIME_DECODE,
                             .dtype = LLMPERF_DTYPE_BF16};
    llmperf_op op = {.id = LLMPERF_OP_ATTN_CORE,
                     .kind = LLMPERF_KIND_ATTENTION,
                     .regime = LLMPERF_REGIME_DECODE,
                     .dtype = LLMPERF_DTYPE_BF16,
                     .sequences = 1,
                     .query_tokens = 1,
                     .heads = 8,
                     .kv_heads = 8,
                     .head_dim = 128,
                     .value_dim = 128};
    calib_init(&calib);
    key.heads = LLMPERF_HEADS_SINGLE;
    add_variant(&calib, key);
    key.heads = LLMPERF_HEADS_GROUPED;
    add_variant(&calib, key);
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_DECODE) == 0);
    op.kv_heads = 2;
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_DECODE) == 1);
    op.heads = 66; /* 33 a KV head: no fit of its own, another class's stands in */
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_DECODE) != LLMPERF_CALIB_NO_ENTRY);
    key.heads = LLMPERF_HEADS_WIDE;
    add_variant(&calib, key);
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_DECODE) == 2);
    key.heads = LLMPERF_HEADS_ANY; /* the plain one is for what has none of its own */
    add_variant(&calib, key);
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_DECODE) == 2);
}

Test(time_op, attention_by_head_size)
{
    static llmperf_calib calib;
    llmperf_calib_key key = {.kind = LLMPERF_KIND_ATTENTION,
                             .regime = LLMPERF_REGIME_DECODE,
                             .dtype = LLMPERF_DTYPE_BF16};
    llmperf_op op = {.id = LLMPERF_OP_ATTN_CORE,
                     .kind = LLMPERF_KIND_ATTENTION,
                     .regime = LLMPERF_REGIME_DECODE,
                     .dtype = LLMPERF_DTYPE_BF16,
                     .sequences = 1,
                     .query_tokens = 1,
                     .heads = 8,
                     .kv_heads = 2,
                     .head_dim = 64,
                     .value_dim = 64};
    calib_init(&calib);
    key.heads = LLMPERF_HEADS_GROUPED;
    key.head_size = LLMPERF_HEAD_SIZE_64;
    add_variant(&calib, key); /* 0 */
    key.head_size = LLMPERF_HEAD_SIZE_128;
    add_variant(&calib, key); /* 1 */
    key.heads = LLMPERF_HEADS_SINGLE;
    key.head_size = LLMPERF_HEAD_SIZE_ANY;
    add_variant(&calib, key); /* 2 */
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_DECODE) == 0);
    op.head_dim = op.value_dim = 80;
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_DECODE) == 1);
    op.head_dim = op.value_dim = 256; /* no fit of its own: the nearest size of its groups */
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_DECODE) == 1);
    op.kv_heads = 8;
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_DECODE) == 2);
    op.head_dim = 192; /* the mean of key and value counts */
    op.value_dim = 64;
    cr_expect(head_size_of(&op) == LLMPERF_HEAD_SIZE_128);
    key.kind = LLMPERF_KIND_GEMM;
    key.regime = LLMPERF_REGIME_NONE;
    key.heads = LLMPERF_HEADS_ANY;
    key.head_size = LLMPERF_HEAD_SIZE_64;
    llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_GEMM);
    llmperf_error wrong = {0};
    entry.key = key;
    cr_expect(calib_add(&calib, &entry, &wrong) == LLMPERF_E_SPEC);
    cr_expect(strstr(wrong.text, "head_size belongs to attention alone") != NULL, "%s", wrong.text);
}

Test(time_op, a_look_up_of_rows_takes_the_elementwise_fit)
{
    static llmperf_calib calib;
    calib_init(&calib);
    add_variant(&calib,
                (llmperf_calib_key){.kind = LLMPERF_KIND_ELEMENTWISE, .dtype = LLMPERF_DTYPE_FP32});
    llmperf_op op = {.id = LLMPERF_OP_EMBED,
                     .kind = LLMPERF_KIND_GATHER,
                     .dtype = LLMPERF_DTYPE_FP32,
                     .bytes = 4096};
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_NONE) == 0);
    op.kind = LLMPERF_KIND_SCAN;
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_NONE) == LLMPERF_CALIB_NO_ENTRY);
}

/* 32 query heads a KV head are the most of a group; one more is a wide one. */
Test(time_op, groups_of_heads_by_their_edges)
{
    static const struct {
        double heads, kv_heads;
        llmperf_head_group group;
    } ROWS[] = {{32, 32, LLMPERF_HEADS_SINGLE}, {64, 32, LLMPERF_HEADS_GROUPED},
                {64, 2, LLMPERF_HEADS_GROUPED}, {66, 2, LLMPERF_HEADS_WIDE},
                {128, 1, LLMPERF_HEADS_WIDE},   {8, 0, LLMPERF_HEADS_ANY}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const llmperf_op op = {.heads = ROWS[i].heads, .kv_heads = ROWS[i].kv_heads};
        cr_expect(head_group_of(&op) == ROWS[i].group, "%g / %g", op.heads, op.kv_heads);
    }
}

/* 8 bits and an fp32 scale for each 1 x 128: 8.25 a weight. 8.5 are q8_0, another format. */
Test(time_op, block_scales_are_of_128_by_128_down_to_1_by_128)
{
    static const struct {
        double bits;
        int entry;
    } ROWS[] = {{8, 0}, {8 + 32.0 / (128 * 128), 1}, {8 + 32.0 / 128, 1}, {8.5, 0}};
    static llmperf_calib calib;
    llmperf_calib_key key = {.kind = LLMPERF_KIND_GEMM, .dtype = LLMPERF_DTYPE_FP8};
    calib_init(&calib);
    add_variant(&calib, key);
    key.block = 1;
    add_variant(&calib, key);
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        llmperf_op op = gemm(8, 256, 512);
        op.dtype = LLMPERF_DTYPE_FP8;
        op.weight_bytes = 256 * 512 * ROWS[i].bits / 8;
        cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_NONE) == ROWS[i].entry, "%g bits",
                  ROWS[i].bits);
    }
}

/* What stands in for a collective that was not measured: a fit of any, the mirror image, all-reduce. */
Test(time_op, a_collective_takes_the_most_like_one)
{
    static const llmperf_collective LIKE[] = {
        LLMPERF_COLLECTIVE_SEND_RECV, LLMPERF_COLLECTIVE_ALL_REDUCE, LLMPERF_COLLECTIVE_ALL_GATHER,
        LLMPERF_COLLECTIVE_NONE, LLMPERF_COLLECTIVE_REDUCE_SCATTER};
    static llmperf_calib calib;
    llmperf_op op = {.kind = LLMPERF_KIND_COLLECTIVE,
                     .collective = LLMPERF_COLLECTIVE_REDUCE_SCATTER,
                     .devices = 4};
    calib_init(&calib);
    for (int i = 0; i < 5; i++) { /* each suits better than all before it */
        llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_COLLECTIVE);
        entry.key =
            (llmperf_calib_key){.kind = LLMPERF_KIND_COLLECTIVE, .collective = (uint8_t)LIKE[i]};
        cr_assert(calib_add(&calib, &entry, NULL) == LLMPERF_OK);
        cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_NONE) == i, "%d", i);
    }
    op.collective = LLMPERF_COLLECTIVE_ALL_GATHER; /* and the other way round */
    calib_init(&calib);
    add_variant(&calib, (llmperf_calib_key){.kind = LLMPERF_KIND_COLLECTIVE,
                                            .collective = LLMPERF_COLLECTIVE_ALL_REDUCE});
    add_variant(&calib, (llmperf_calib_key){.kind = LLMPERF_KIND_COLLECTIVE,
                                            .collective = LLMPERF_COLLECTIVE_REDUCE_SCATTER});
    cr_expect(calib_find(&calib, &op, LLMPERF_REGIME_NONE) == 1);
}

/*
 * Whose efficiencies stand in for those of an arithmetic that was not measured: first what the same
 * units compute (bf16 and fp16; fp8 and int8; the two fp4), then the next wider one.
 */
Test(time_op, the_nearest_measured_arithmetic_stands_in)
{
    static const uint8_t ORDER[][4] = {
        {LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP16},
        {LLMPERF_DTYPE_FP16, LLMPERF_DTYPE_BF16},
        {LLMPERF_DTYPE_TF32, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP16},
        {LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_INT8, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP16},
        {LLMPERF_DTYPE_INT8, LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP16},
        {LLMPERF_DTYPE_INT4, LLMPERF_DTYPE_INT8, LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_BF16},
        {LLMPERF_DTYPE_NVFP4, LLMPERF_DTYPE_MXFP4, LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_BF16},
        {LLMPERF_DTYPE_MXFP4, LLMPERF_DTYPE_NVFP4, LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_BF16},
        {LLMPERF_DTYPE_FP32}, /* vector units are no matrix units */
    };
    for (size_t i = 0; i < sizeof ORDER / sizeof *ORDER; i++)
        for (int first = 1; first < 5; first++) { /* those before `first` were not measured */
            static llmperf_calib calib;
            llmperf_op op = gemm(4, 64, 64);
            op.dtype = ORDER[i][0];
            calib_init(&calib);
            for (int k = 3; k >= first; k--)
                if (ORDER[i][k])
                    set_entry(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE,
                              (llmperf_dtype)ORDER[i][k], NULL);
            uint8_t found = calib_find(&calib, &op, LLMPERF_REGIME_NONE);
            uint8_t wanted = first < 4 && ORDER[i][first] ? ORDER[i][first] : LLMPERF_DTYPE_NONE;
            uint8_t got =
                found == LLMPERF_CALIB_NO_ENTRY ? LLMPERF_DTYPE_NONE : calib.entry[found].key.dtype;
            cr_expect(got == wanted, "%s: %s stands in, not %s",
                      llmperf_dtype_name((llmperf_dtype)op.dtype),
                      llmperf_dtype_name((llmperf_dtype)got),
                      llmperf_dtype_name((llmperf_dtype)wanted));
        }
}

/* ---- products by their rows --------------------------------------------------------------------------- */

/* The only entry, of bf16 products: its parameters. */
static double *product_entry(llmperf_calib *calib)
{
    calib_init(calib);
    return set_entry(calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16, NULL);
}

/* Rows that are paid: up to 64 none is filled up; then tiles of 128, then of 256. */
Test(time, padding_by_hand)
{
    static const double ROWS[][2] = {{1, 1},     {64, 64},   {65, 128},  {100, 128}, {128, 128},
                                     {129, 256}, {256, 256}, {257, 512}, {600, 768}};
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    double *param = product_entry(&calib);
    param[LLMPERF_PARAM_TILE] = 1;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        llmperf_op op = gemm(ROWS[i][0], 64, 32);
        llmperf_time t;
        time_op(&op, &hw, &calib, &t, NULL);
        cr_expect(is_near(t.compute_s, 2 * ROWS[i][1] * 64 * 32 / 1e12, 1e-12), "%g rows as %g",
                  ROWS[i][0], t.compute_s * 1e12 / (2 * 64 * 32));
    }
    /* a quarter of the filling is paid: 100 rows as 107 */
    param[LLMPERF_PARAM_TILE] = 0.25;
    llmperf_op op = gemm(100, 64, 32);
    llmperf_time t;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.compute_s, 2.0 * 107 * 64 * 32 / 1e12, 1e-12));
}

/*
 * Where rows are few vector kernels take them in fours (one as two), where many in tiles: the dearer
 * filling is paid, not both. 66 rows: 68 as fours, 128 as a tile. Rows of a group come on top.
 */
Test(time, the_dearer_filling_is_paid)
{
    static const double ROWS[][2] = {{1, 2}, {2, 4}, {5, 8}, {8, 8}, {66, 128}};
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    double *param = product_entry(&calib);
    param[LLMPERF_PARAM_TILE] = param[LLMPERF_PARAM_ROWS] = 1;
    for (int grouped = 0; grouped < 2; grouped++) {
        param[LLMPERF_PARAM_GROUP] = 10 * grouped;
        for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
            llmperf_op op = gemm(ROWS[i][0], 64, 32);
            llmperf_time t;
            time_op(&op, &hw, &calib, &t, NULL);
            double paid = ROWS[i][1] + 10 * grouped;
            cr_expect(is_near(t.compute_s, 2 * paid * 64 * 32 / 1e12, 1e-12), "%g rows",
                      ROWS[i][0]);
        }
    }
}

/* Tiles of more than 16 rows stream half as fast: 16 rows do not, 17 do. */
Test(time, more_than_16_rows_are_tall)
{
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    product_entry(&calib)[LLMPERF_PARAM_TALL] = 1;
    for (double m = 15; m < 20; m++) {
        llmperf_op op = gemm(m, 64, 32);
        llmperf_time t;
        time_op(&op, &hw, &calib, &t, NULL);
        cr_expect(is_near(t.memory_s, (m > 16 ? 2 : 1) * op.bytes / 1e10, 1e-12), "%g rows", m);
    }
}

/* Weights in fewer bits than the product computes in are unpacked: here at three times the cost. The
 * scales of a format may make a hundredth of difference and no more. */
Test(time, narrower_weights_are_unpacked)
{
    static const struct {
        double bits;
        bool narrow;
    } ROWS[] = {{16, false}, {15.9, false}, {15.8, true}, {8.5, true}, {8, true}, {4.25, true}};
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    product_entry(&calib)[LLMPERF_PARAM_UNPACK] = 2;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        llmperf_op op = gemm(8, 64, 32);
        llmperf_time t;
        op.weight_bytes = 64 * 32 * ROWS[i].bits / 8;
        time_op(&op, &hw, &calib, &t, NULL);
        cr_expect(is_near(t.compute_s, (ROWS[i].narrow ? 3 : 1) * op.flop / 1e12, 1e-12), "%g bits",
                  ROWS[i].bits);
    }
}

/*
 * What a shape costs, factor by factor: a loop 1024 deep that takes 512 more to fill, 1.5; scores of 64
 * channels beside heads of 128 and 64 (96 on average), 1 + 64 / 96; a clock that loses half of its speed
 * in the long run, at a launch of 1 ms half of that: 1 + 1 x 1 / (1 + 1).
 */
Test(time, factors_of_compute_by_hand)
{
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    llmperf_time t;
    double *param = product_entry(&calib);
    llmperf_op op = gemm(4, 8, 1024);
    param[LLMPERF_PARAM_FILL] = 512;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.compute_s, 1.5 * 2 * 4 * 8 * 1024 / 1e12, 1e-12), "%g", t.compute_s);
    param[LLMPERF_PARAM_FILL] = 0;
    param[LLMPERF_PARAM_SETTLE] = 1;
    op.flop = 1e9;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.compute_s, 1.5e-3, 1e-12), "%g", t.compute_s);
    op.flop = 3e9; /* 3 ms: 1 + 3 / 4 */
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.compute_s, 5.25e-3, 1e-12), "%g", t.compute_s);

    calib_init(&calib);
    param =
        set_entry(&calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_PREFILL, LLMPERF_DTYPE_BF16, NULL);
    op = attention(LLMPERF_REGIME_PREFILL, 1, 31, 0);
    op.value_dim = 64;
    op.flop = 2 * 32 * (128 + 64) * 31 * 32 / 2.0; /* 31 x 32 / 2 pairs: 16 keys a query */
    param[LLMPERF_PARAM_SCORE] = 64;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.compute_s, (1 + 64 / 96.0) * op.flop / 1e12, 1e-12), "%g", t.compute_s);
    param[LLMPERF_PARAM_SCORE] = 0;
    param[LLMPERF_PARAM_FILL] = 8;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.compute_s, 1.5 * op.flop / 1e12, 1e-12), "%g", t.compute_s);
}

/* ---- which term is which -------------------------------------------------------------------------------- */

/* 1 ms of added loop (1024 deep: 1 / (1 + 1/3) = 0.75 of it), 0.1 ms of anything else. */
Test(time, what_is_added_is_latency)
{
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    llmperf_op op = gemm(1, 1, 1024);
    llmperf_time t;
    double *param = product_entry(&calib);
    op.flop = 1e8;
    op.bytes = 1e5;
    param[LLMPERF_PARAM_LOOP] = 1e-3;
    param[LLMPERF_PARAM_LAUNCH] = 1e-5;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.added_s, 0.75e-3, 1e-12) && is_near(t.compute_s, 1e-4, 1e-12));
    cr_expect(is_near(t.time_s, 0.86e-3, 1e-12));
    cr_expect(t.bound == LLMPERF_BOUND_LATENCY);
    param[LLMPERF_PARAM_LOOP] = 1e-4;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(t.bound == LLMPERF_BOUND_COMPUTE);
}

/* A fit whose compute term stands for reads through the caches: memory's time, in the sum as before. */
Test(time, reads_through_the_caches_are_memory)
{
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    llmperf_op op = gemm(1, 1, 1);
    llmperf_time t;
    product_entry(&calib)[LLMPERF_PARAM_NORM] = 1;
    op.flop = 3e9;
    op.bytes = 1e7;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(is_near(t.compute_s, 3e-3, 1e-12) && t.bound == LLMPERF_BOUND_COMPUTE);
    calib.entry[0].compute_is_reads = true;
    time_op(&op, &hw, &calib, &t, NULL);
    cr_expect(t.compute_s == 0 && is_near(t.memory_s, 4e-3, 1e-12));
    cr_expect(is_near(t.time_s, 4e-3, 1e-12) && t.bound == LLMPERF_BOUND_MEMORY);
}

/*
 * A chunk over a cache: launch, walk, work items and what is added do not shrink because another
 * kernel takes a share of the work. Whichever kernel has the longer one, it counts, whole.
 */
Test(time, of_two_waits_the_longer_counts)
{
    static const llmperf_param WAITS[] = {LLMPERF_PARAM_LAUNCH, LLMPERF_PARAM_SERIAL,
                                          LLMPERF_PARAM_WORK, LLMPERF_PARAM_LOOP,
                                          LLMPERF_PARAM_PASSES};
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    const llmperf_op op = attention(LLMPERF_REGIME_EXTEND, 3, 16, 64);
    for (size_t i = 0; i < sizeof WAITS / sizeof *WAITS; i++)
        for (int longer = 0; longer < 2; longer++) {
            double alone[2];
            for (int both = 0; both < 2;
                 both++) { /* the longer one's fit for both, then each its own */
                calib_init(&calib);
                double *prefill = set_entry(&calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_PREFILL,
                                            LLMPERF_DTYPE_BF16, NULL);
                double *decode = set_entry(&calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_DECODE,
                                           LLMPERF_DTYPE_BF16, NULL);
                prefill[WAITS[i]] = both || longer == 0 ? 7 : 2;
                decode[WAITS[i]] = both || longer == 1 ? 7 : 2;
                alone[both] = time_op(&op, &hw, &calib, NULL, NULL);
            }
            cr_expect(is_near(alone[0], alone[1], 1e-12), "%s of %s: %g, of both %g",
                      llmperf_param_name(WAITS[i]), longer ? "decode" : "prefill", alone[0],
                      alone[1]);
        }
}

/*
 * 16 queries over 64 cached tokens are joined from two fits by what each gets through. Of 16 x 64 + 16 x
 * 17 / 2 = 1,160 pairs decode has one query's pass over the cache, 64; of 655,360 bytes (q and result 2 x
 * 131,072, K and V read and written 80 x 4,096 and 16 x 4,096) the cached keys', 262,144 = 0.4.
 *   1 / e_c = 1,096 / 1,160 / 0.8 + 64 / 1,160 / 0.2,  1 / e_m = 0.6 / 0.9 + 0.4 / 0.5
 */
Test(time, extend_shares_by_hand)
{
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    llmperf_time t;
    calib_init(&calib);
    double *prefill =
        set_entry(&calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_PREFILL, LLMPERF_DTYPE_BF16, NULL);
    double *decode =
        set_entry(&calib, LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_DECODE, LLMPERF_DTYPE_BF16, NULL);
    prefill[LLMPERF_PARAM_COMPUTE] = 0.8;
    decode[LLMPERF_PARAM_COMPUTE] = 0.2;
    prefill[LLMPERF_PARAM_MEMORY] = 0.9;
    decode[LLMPERF_PARAM_MEMORY] = 0.5;
    llmperf_op op = attention(LLMPERF_REGIME_EXTEND, 1, 16, 64);
    cr_expect(op.bytes == 655360 && op.flop == 4 * 32 * 128 * 1160.0);
    time_op(&op, &hw, &calib, &t, NULL);
    double compute = (1096 / 1160.0 / 0.8 + 64 / 1160.0 / 0.2) * op.flop / 1e12;
    cr_expect(is_near(t.compute_s, compute, 1e-12), "%g, by hand %g", t.compute_s, compute);
    cr_expect(is_near(t.memory_s, (0.6 / 0.9 + 0.4 / 0.5) * op.bytes / 1e10, 1e-12));
    /* a window of 32 keys: each query sees 32, the first 31 cached ones and itself; 31 + 16 are read */
    op.flop = 4 * 32 * 128 * (16.0 * 32);
    op.kv_read_bytes = 47 * 4096;
    op.bytes = 2 * 131072 + 47 * 4096 + 16 * 4096;
    time_op(&op, &hw, &calib, &t, NULL);
    /* cached keys read: 31; of the pairs 31 / 512, of the bytes 31 x 4,096 */
    compute = (481 / 512.0 / 0.8 + 31 / 512.0 / 0.2) * op.flop / 1e12;
    cr_expect(is_near(t.compute_s, compute, 1e-12), "%g, by hand %g", t.compute_s, compute);
    double mu = 31 * 4096 / op.bytes;
    cr_expect(is_near(t.memory_s, ((1 - mu) / 0.9 + mu / 0.5) * op.bytes / 1e10, 1e-12));
}

/* The product with one row has a fit of its own in one arithmetic; others keep theirs. */
Test(time_op, one_row_is_told_by_its_arithmetic)
{
    static llmperf_calib calib;
    llmperf_hw hw = toy_hw();
    llmperf_op op = gemm(1, 64, 64);
    calib_init(&calib);
    set_entry(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_FP8,
              NULL)[LLMPERF_PARAM_MEMORY] = 0.5;
    set_entry(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16,
              NULL)[LLMPERF_PARAM_MEMORY] = 0.25;
    llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_GEMM);
    entry.key =
        (llmperf_calib_key){.kind = LLMPERF_KIND_GEMM, .dtype = LLMPERF_DTYPE_BF16, .gemv = 1};
    cr_assert(calib_add(&calib, &entry, NULL) == LLMPERF_OK);
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), op.bytes / 1e10, 1e-12));
    op.dtype = LLMPERF_DTYPE_FP8;
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 2 * op.bytes / 1e10, 1e-12));
    op = gemm(2, 64, 64); /* two rows are a product as any other */
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 4 * op.bytes / 1e10, 1e-12));
}
