/* SPDX-License-Identifier: MIT */
/*
 * The batch from which compute takes at least as long as memory, in closed form, against figures
 * worked by hand and against trying every batch.
 */
#include <criterion/criterion.h>

#include "random_case.h"
#include "steps.h"
#include "config_object.h"
#include "fits.h"
#include "config.h"

static void expect_crossing(llmperf_crossing got, double exact, double tolerance, int64_t batch)
{
    cr_expect(got.exists, "%s", got.why);
    cr_expect(fabs(got.exact - exact) <= tolerance, "%.4f, by hand %.4f", got.exact, exact);
    cr_expect(got.batch == batch, "%" PRId64 ", by hand %" PRId64, got.batch, batch);
}

static llmperf_config config_on(const llmperf_model *model, const llmperf_hw *hw,
                                const llmperf_calib *calib, const llmperf_workload *workload)
{
    llmperf_config c;
    llmperf_error error = {0};
    llmperf_status status = config_init(&c, model, hw, calib, workload, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return c;
}

/* ---- one GEMM ---- */

/*
 * 16 bit: 1/m* = 1/R - 1/n - 1/k.
 *   A100: R = 312e12 / 2.039e12 = 153.016: 1/R = 0.00653527
 *   H100: R = 989.4e12 / 3.35e12 = 295.343: 1/R = 0.00338589
 * 4096 x 4096: less 2/4096 = 0.00048828: 0.00604699 and 0.00289761.
 * k = 8192, n = 1024: less 0.00012207 + 0.00097656: 0.00543663 and 0.00228726.
 */
Test(crossing, gemm_by_hand)
{
    expect_crossing(llmperf_gemm_crossing(4096, 4096, 2, 2, 312e12, 2.039e12), 165.4, 0.05, 166);
    expect_crossing(llmperf_gemm_crossing(4096, 4096, 2, 2, 989.4e12, 3.35e12), 345.1, 0.05, 346);
    expect_crossing(llmperf_gemm_crossing(1024, 8192, 2, 2, 312e12, 2.039e12), 183.9, 0.05, 184);
    expect_crossing(llmperf_gemm_crossing(1024, 8192, 2, 2, 989.4e12, 3.35e12), 437.2, 0.05, 438);
    /* the ridge itself, R = 100, where the matrix is endless */
    expect_crossing(llmperf_gemm_crossing(1e9, 1e9, 2, 2, 1e12, 1e10), 100, 0.001, 101);
}

/*
 * int4 weights, bf16 activations, 4096 x 4096 on the A100: 2 n k / R = 219,286; less a (n + k) =
 * 16,384: 202,902; w n k = 8,388,608: 41.34. fp8 throughout on the H100, R = 590.716: 2 n k / R =
 * 56,803, less 8,192: 48,611; w n k = 16,777,216: 345.13.
 */
Test(crossing, narrow_formats_by_hand)
{
    expect_crossing(llmperf_gemm_crossing(4096, 4096, 0.5, 2, 312e12, 2.039e12), 41.34, 0.005, 42);
    expect_crossing(llmperf_gemm_crossing(4096, 4096, 1, 1, 1978.9e12, 3.35e12), 345.13, 0.005,
                    346);
}

/* n = k = 2 R: 1/m* = 0. Any smaller matrix never gets there, however large the batch. */
Test(crossing, small_matrices_never_cross)
{
    llmperf_crossing none = llmperf_gemm_crossing(200, 200, 2, 2, 1e12, 1e10);
    cr_expect(!none.exists && none.why[0]);
    none = llmperf_gemm_crossing(64, 64, 2, 2, 1e12, 1e10);
    cr_expect(!none.exists && none.why[0]);
    for (double m = 1; m < 1e15; m *= 10)
        cr_expect(2 * m * 64 * 64 / 1e12 < 2 * (64 * 64 + 2 * m * 64) / 1e10);
    /* 202 x 202: 1/100 - 2/202 = 1/10100 */
    expect_crossing(llmperf_gemm_crossing(202, 202, 2, 2, 1e12, 1e10), 10100, 1e-6, 10100);
}

/* Smallest integer m with 2 m n k / P >= bytes / BW, by trying. */
static int64_t try_all(double n, double k, double w, double a, double peak, double bw, int64_t most)
{
    for (int64_t i = 1; i <= most; i++) {
        double m = (double)i;
        if (2 * m * n * k / peak >= (n * k * w + m * (n + k) * a) / bw)
            return i;
    }
    return 0;
}

Test(crossing, gemm_equals_trying_every_batch)
{
    static const double bytes[] = {0.5, 1, 2, 4, 8.5 / 8, 4.5 / 8};
    enum { MOST = 20000 };
    rng r = {.state = 21};
    int found = 0, none = 0;
    for (int i = 0; i < CASES(10000); i++) {
        double n = (double)rng_log_int(&r, 1, 60000), k = (double)rng_log_int(&r, 1, 60000);
        double w = bytes[rng_int(&r, 0, 5)], a = bytes[rng_int(&r, 1, 3)];
        double peak = rng_log(&r, 1e12, 3e15), bw = rng_log(&r, 1e11, 1e13);
        int64_t want = try_all(n, k, w, a, peak, bw, MOST);
        llmperf_crossing got = llmperf_gemm_crossing(n, k, w, a, peak, bw);
        bool same = got.exists && got.batch <= MOST ? got.batch == want : want == 0;
        /* where the exact value is a whole number, rounding may take either side */
        bool edge = got.exists && fabs(got.exact - round(got.exact)) < 1e-9 * got.exact;
        if (!same && !edge)
            cr_assert(false, "n %g k %g w %g a %g P %g BW %g: %" PRId64 " (%.12g), tried %" PRId64,
                      n, k, w, a, peak, bw, got.exists ? got.batch : 0, got.exact, want);
        found += want > 0;
        none += want == 0;
    }
    cr_expect(found > CASES(2000) && none > CASES(500), "%d %d", found, none);
}

/* ---- a model ---- */

/* h = 4096, n = 32 of d = 128: attn.out is the 4096 x 4096 layer. */
static llmperf_model square(void)
{
    return llama_like("square", 32, 4096, 32, 32, 128, 16384, 32000);
}

static const llmperf_op_crossing *find_crossing(const llmperf_crossings *all, int id)
{
    for (int i = 0; i < all->op_count; i++)
        if (all->op[i].id == id)
            return &all->op[i];
    return NULL;
}

Test(crossing, operators_of_a_model_by_hand)
{
    llmperf_model model = square();
    llmperf_hw hw = a100();
    static llmperf_crossings all;
    llmperf_config c = config_on(&model, &hw, NULL, &(llmperf_workload){.prompt = 1024});
    llmperf_crossings_of(&c, NULL, room(), &all, NULL);
    const llmperf_op_crossing *out = find_crossing(&all, LLMPERF_OP_ATTN_OUT);
    cr_assert(out != NULL);
    cr_expect(out->n == 4096 && out->k == 4096);
    expect_crossing(out->crossing, 165.4, 0.05, 166);
    /* every dense operator once: qkv, out, gate_up, down, head */
    cr_expect(all.op_count == 5);
    /* n = 12288, k = 4096: 0.00653527 - 0.00008138 - 0.00024414 = 0.00620975: 161.04 */
    expect_crossing(find_crossing(&all, LLMPERF_OP_ATTN_QKV)->crossing, 161.04, 0.01, 162);

    hw = h100();
    c = config_on(&model, &hw, NULL, &(llmperf_workload){.prompt = 1024});
    llmperf_crossings_of(&c, NULL, room(), &all, NULL);
    expect_crossing(find_crossing(&all, LLMPERF_OP_ATTN_OUT)->crossing, 345.1, 0.05, 346);
}

/* Verification of 5 tokens: a sequence brings 5 rows, 345.1 / 5 = 69.02. */
Test(crossing, several_query_tokens_divide_the_batch)
{
    llmperf_model model = square();
    llmperf_hw hw = h100();
    static llmperf_crossings all;
    llmperf_config c = config_on(&model, &hw, NULL, &(llmperf_workload){.query = 5});
    llmperf_crossings_of(&c, NULL, room(), &all, NULL);
    expect_crossing(find_crossing(&all, LLMPERF_OP_ATTN_OUT)->crossing, 69.02, 0.01, 70);
}

/* Two devices: attn.out has k = 2048, 0.00653527 - 0.00024414 - 0.00048828 = 0.00580285: 172.33. */
Test(crossing, tp_divides_n_or_k)
{
    llmperf_model model = square();
    llmperf_hw hw = a100();
    static llmperf_crossings all;
    llmperf_config c = config_on(&model, &hw, NULL, &(llmperf_workload){.tp = 2});
    llmperf_crossings_of(&c, NULL, room(), &all, NULL);
    const llmperf_op_crossing *out = find_crossing(&all, LLMPERF_OP_ATTN_OUT);
    cr_expect(out->k == 2048);
    expect_crossing(out->crossing, 172.33, 0.01, 173);
}

/* Reading the cache outweighs its own flop at any batch: no crossing of the step, said why. */
Test(crossing, a_long_context_never_crosses)
{
    llmperf_model model = square();
    llmperf_hw hw = h100();
    static llmperf_crossings all;
    llmperf_config c =
        config_on(&model, &hw, NULL, &(llmperf_workload){.context = 100000, .has_context = true});
    llmperf_crossings_of(&c, NULL, room(), &all, NULL);
    cr_expect(all.dense.exists);
    cr_expect(!all.step.exists && strstr(all.step.why, "KV") != NULL, "%s", all.step.why);
    /* on an empty cache it does, later than the dense layers alone */
    c = config_on(&model, &hw, NULL, &(llmperf_workload){.context = 0, .has_context = true});
    llmperf_crossings_of(&c, NULL, room(), &all, NULL);
    cr_expect(all.step.exists && all.step.exact > all.dense.exact);
}

/* A model of small matrices: nothing crosses, each with a reason. */
Test(crossing, a_small_model_never_crosses)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    static llmperf_crossings all;
    llmperf_config c = config_on(&model, &hw, NULL, &(llmperf_workload){0});
    llmperf_crossings_of(&c, NULL, room(), &all, NULL);
    cr_expect(!all.dense.exists && all.dense.why[0] && !all.step.exists && all.step.why[0]);
    for (int i = 0; i < all.op_count; i++)
        cr_expect(!all.op[i].crossing.exists && all.op[i].crossing.why[0]);
}

/* ---- against trying every batch ---- */

typedef struct balance {
    double dense, step; /* compute / memory */
} balance;

static balance balance_at(const llmperf_config *c, int64_t batch)
{
    llmperf_segment s = llmperf_decode_segment(c, batch, c->workload.context);
    llmperf_total t;
    llmperf_step(c, &s, 1, room(), &t);
    return (balance){.dense = t.group_compute_s[LLMPERF_GROUP_DENSE] /
                              t.group_memory_s[LLMPERF_GROUP_DENSE],
                     .step = t.compute_s / t.memory_s};
}

static void compare(const char *what, int number, const llmperf_config *c, llmperf_crossing got,
                    bool dense)
{
    const double rounding = 1e-9;
    if (got.exists && got.batch < 1 << 24) {
        balance at = balance_at(c, got.batch);
        double here = dense ? at.dense : at.step;
        if (!(here >= 1 - rounding))
            cr_assert(false, "case %d %s: at batch %" PRId64 " compute is %.12g of memory: %s",
                      number, what, got.batch, here, describe_case(c));
        if (got.batch > 1) {
            at = balance_at(c, got.batch - 1);
            double before = dense ? at.dense : at.step;
            if (!(before < 1 + rounding))
                cr_assert(false,
                          "case %d %s: at batch %" PRId64 " compute is already %.12g of memory: %s",
                          number, what, got.batch - 1, before, describe_case(c));
        }
    }
    int64_t most = got.exists && got.batch < 2000 ? got.batch - 1 : 2000;
    int64_t stride = 1 + most / 50;
    for (int64_t b = 1; b <= most; b += stride) {
        balance at = balance_at(c, b);
        double here = dense ? at.dense : at.step;
        if (here > 1 + rounding)
            cr_assert(false,
                      "case %d %s: batch %" PRId64 " is compute-bound (%.12g), said %" PRId64
                      ": %s",
                      number, what, b, here, got.exists ? got.batch : 0, describe_case(c));
    }
    if (!got.exists) {
        balance at = balance_at(c, (int64_t)1 << 30);
        double here = dense ? at.dense : at.step;
        if (here > 1 + 1e-6)
            cr_assert(false, "case %d %s: said never, but %.12g at 2^30: %s", number, what, here,
                      describe_case(c));
    }
}

static void compare_random(uint64_t seed, bool calibrated)
{
    static llmperf_calib calib;
    static llmperf_crossings all;
    rng r = {.state = seed};
    int dense = 0, step = 0;
    for (int i = 0; i < CASES(2000); i++) {
        llmperf_model model;
        llmperf_hw hw;
        llmperf_workload w;
        random_model(&r, &model);
        random_hw(&r, &hw);
        random_workload(&r, &model, &w);
        if (rng_chance(&r, 0.5)) { /* short contexts cross more often */
            w.has_context = true;
            w.context = rng_int(&r, 0, 50);
        }
        random_calib(&r, 1.05, false, &calib);
        llmperf_config c = config_on(&model, &hw, calibrated ? &calib : NULL, &w);
        llmperf_crossings_of(&c, c.calib, room(), &all, NULL);
        compare("dense", i, &c, all.dense, true);
        compare("step", i, &c, all.step, false);
        dense += all.dense.exists;
        step += all.step.exists;
        for (int j = 0; j < all.op_count; j++)
            if (all.op[j].crossing.exists &&
                !(all.op[j].crossing.exact > 0 && all.op[j].crossing.batch >= 1))
                cr_assert(false, "case %d: operator %d", i, j);
    }
    cr_expect(dense > CASES(400) && step > CASES(50), "%d %d", dense, step);
}

Test(crossing, model_equals_trying_every_batch)
{
    compare_random(22, false);
}

Test(crossing, calibrated_model_equals_trying_every_batch)
{
    compare_random(23, true);
}

/* The calibrated form is the datasheet's with e_c P and e_m BW; t0, serial and p do not enter. */
Test(crossing, calibration_scales_peak_and_bandwidth)
{
    static llmperf_calib calib;
    static llmperf_crossings all;
    llmperf_model model = square();
    llmperf_hw hw = h100();
    calib_init(&calib);
    llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_GEMM);
    entry.param[LLMPERF_PARAM_COMPUTE] = 0.8;
    entry.param[LLMPERF_PARAM_MEMORY] = 0.9;
    entry.param[LLMPERF_PARAM_LAUNCH] = 1e-4;
    entry.param[LLMPERF_PARAM_SERIAL] = 1e-4;
    entry.param[LLMPERF_PARAM_NORM] = 2;
    cr_assert(calib_set(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16, &entry,
                        NULL) == LLMPERF_OK);
    llmperf_config c = config_on(&model, &hw, &calib, &(llmperf_workload){.prompt = 1024});
    llmperf_crossings_of(&c, &calib, room(), &all, NULL);
    llmperf_crossing want = llmperf_gemm_crossing(4096, 4096, 2, 2, 0.8 * 989.4e12, 0.9 * 3.35e12);
    llmperf_crossing got = find_crossing(&all, LLMPERF_OP_ATTN_OUT)->crossing;
    /* R = 262.527: 1/R - 2/4096 = 0.00332085: 301.1 */
    expect_crossing(got, 301.1, 0.05, 302);
    cr_expect(is_near(got.exact, want.exact, 1e-12));
    /* the datasheet's figure of the same case does not move */
    llmperf_crossings_of(&c, NULL, room(), &all, NULL);
    expect_crossing(find_crossing(&all, LLMPERF_OP_ATTN_OUT)->crossing, 345.1, 0.05, 346);
}

/*
 * The same with tiles taller than 16 rows that stream weights a tenth slower, and a fit of its own for
 * products with one row, half as fast: neither the lone row nor the small tile stands for the rest.
 * R = 0.8 x 989.4 / (0.9 x 3.35 / 1.1) = 288.780: 1/R - 2/4096 = 0.00297458: 336.18.
 */
Test(crossing, a_calibration_is_taken_at_whole_tiles)
{
    static llmperf_calib calib;
    static llmperf_crossings all;
    llmperf_model model = square();
    llmperf_hw hw = h100();
    calib_init(&calib);
    llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_GEMM);
    entry.key.kind = LLMPERF_KIND_GEMM;
    entry.key.dtype = LLMPERF_DTYPE_BF16;
    entry.param[LLMPERF_PARAM_COMPUTE] = 0.8;
    entry.param[LLMPERF_PARAM_MEMORY] = 0.9;
    entry.param[LLMPERF_PARAM_TALL] = 0.1;
    entry.param[LLMPERF_PARAM_TILE] = 1;
    cr_assert(calib_add(&calib, &entry, NULL) == LLMPERF_OK);
    entry.key.gemv = 1;
    entry.param[LLMPERF_PARAM_COMPUTE] = 0.4;
    entry.param[LLMPERF_PARAM_MEMORY] = 0.45;
    cr_assert(calib_add(&calib, &entry, NULL) == LLMPERF_OK);
    llmperf_config c = config_on(&model, &hw, &calib, &(llmperf_workload){.prompt = 1024});
    llmperf_crossings_of(&c, &calib, room(), &all, NULL);
    expect_crossing(find_crossing(&all, LLMPERF_OP_ATTN_OUT)->crossing, 336.18, 0.01, 337);
    /* the sums' two points are of one fit: between the crossings of the operators they are made of */
    double least = INFINITY, most = 0;
    for (int i = 0; i < all.op_count; i++) {
        least = fmin(least, all.op[i].crossing.exact);
        most = fmax(most, all.op[i].crossing.exact);
    }
    cr_expect(least < all.dense.exact && all.dense.exact < most, "%g in %g to %g", all.dense.exact,
              least, most);
}

/*
 * Whole tiles hold 256 rows. A fit that pays 64 rows more for each product pays 64 / 256 more there: a
 * peak of 989.4 / 1.25 TFLOP/s. R = 236.275: 1/R - 2/4096 = 0.00374408: 267.09.
 */
Test(crossing, whole_tiles_hold_256_rows)
{
    static llmperf_calib calib;
    static llmperf_crossings all;
    llmperf_model model = square();
    llmperf_hw hw = h100();
    calib_init(&calib);
    llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_GEMM);
    entry.param[LLMPERF_PARAM_GROUP] = 64;
    cr_assert(calib_set(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16, &entry,
                        NULL) == LLMPERF_OK);
    llmperf_config c = config_on(&model, &hw, &calib, &(llmperf_workload){.prompt = 1024});
    llmperf_crossings_of(&c, &calib, room(), &all, NULL);
    expect_crossing(find_crossing(&all, LLMPERF_OP_ATTN_OUT)->crossing, 267.09, 0.01, 268);
}

/* ---- intervals ---- */

/* The batch of the 4096 x 4096 product where the ratio of compute to memory efficiency is `times`
 * that of e_c = 0.8 and e_m = 0.5: R = 989.4 / 3.35 x 1.6 x times. */
static int64_t batch_at(double times)
{
    double ridge = 989.4 / 3.35 * 1.6 * times;
    return (int64_t)ceil(1 / (1 / ridge - 2.0 / 4096));
}

/*
 * Errors of 10 % and 20 % with covariance 0.01 e_c e_m: var log(e_c / e_m) = 0.01 + 0.04 - 2 x 0.01 =
 * 0.03. Borrowing adds 0.1^2: 0.04 in all, exp(1.645 x 0.2) = 1.39 to either side.
 */
Test(crossing, intervals_follow_the_ratio_of_the_efficiencies)
{
    static const double Z90 = 1.6448536269514722;
    static llmperf_calib calib;
    static llmperf_crossings all;
    llmperf_model model = square();
    llmperf_hw hw = h100();
    for (int borrowed = 0; borrowed < 2; borrowed++) {
        calib_init(&calib);
        llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_GEMM);
        const double ec = entry.param[LLMPERF_PARAM_COMPUTE] = 0.8;
        const double em = entry.param[LLMPERF_PARAM_MEMORY] = 0.5;
        entry.covariance[LLMPERF_PARAM_COMPUTE][LLMPERF_PARAM_COMPUTE] = 0.01 * ec * ec;
        entry.covariance[LLMPERF_PARAM_MEMORY][LLMPERF_PARAM_MEMORY] = 0.04 * em * em;
        entry.covariance[LLMPERF_PARAM_COMPUTE][LLMPERF_PARAM_MEMORY] = 0.01 * ec * em;
        entry.covariance[LLMPERF_PARAM_MEMORY][LLMPERF_PARAM_COMPUTE] = 0.01 * ec * em;
        cr_assert(calib_set(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16,
                            &entry, NULL) == LLMPERF_OK);
        calib.borrowed = 0.1 * borrowed;
        llmperf_config c = config_on(&model, &hw, &calib, &(llmperf_workload){.prompt = 1024});
        llmperf_crossings_of(&c, &calib, room(), &all, NULL);
        llmperf_crossing got = find_crossing(&all, LLMPERF_OP_ATTN_OUT)->crossing;
        double spread = exp(Z90 * sqrt(0.03 + 0.01 * borrowed));
        cr_expect(got.batch == batch_at(1) && got.low == batch_at(1 / spread) &&
                      got.high == batch_at(spread),
                  "%" PRId64 " in %" PRId64 " to %" PRId64 ", by hand %" PRId64 " in %" PRId64
                  " to %" PRId64,
                  got.batch, got.low, got.high, batch_at(1), batch_at(1 / spread),
                  batch_at(spread));
    }
}
