/* SPDX-License-Identifier: MIT */
/*
 * The fit finds the parameters that made the samples, says what it cannot know, and its intervals
 * hold what they promise. Samples are made by time_op() and seeded noise.
 */
#include <criterion/criterion.h>

#include <gsl/gsl_errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "llmperf/fit.h"
#include "random_case.h"
#include "calib_object.h"
#include "fits.h"
#include "time_op.h"
#include "fit_internal.h"

static llmperf_error error;
static llmperf_calib calib;

/* Round numbers of an H100's order. */
static llmperf_hw part(void)
{
    llmperf_hw hw = {.name = "part",
                     .kind = "gpu",
                     .mem_bytes_per_s = 3e12,
                     .units = 132,
                     .l2_bytes = 50e6,
                     .memory_bytes = 8e10,
                     .link = {.kind = "nvlink", .bytes_per_s = 4e11, .latency_s = 3e-6}};
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 1e15;
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP8] = 2e15;
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP32] = 6e13;
    return hw;
}

static double normal(rng *r)
{
    return sqrt(-2 * log(rng_real(r, 1e-12, 1))) * cos(6.283185307179586 * rng_real(r, 0, 1));
}

/* How samples are made. */
typedef struct maker {
    llmperf_samples samples;
    llmperf_hw hw;
    llmperf_calib_entry truth;
    rng r;
    double noise, outliers;
    int32_t library;
} maker;

static maker make(llmperf_calib_entry truth, double noise, double outliers)
{
    maker m = {
        .hw = part(), .truth = truth, .r = {.state = 1234}, .noise = noise, .outliers = outliers};
    llmperf_samples_name(&m.samples, "lib", &m.library, NULL);
    return m;
}

static double true_time(const maker *m, const llmperf_op *op)
{
    static llmperf_calib truth;
    calib_init(&truth);
    truth.entry_count = 1;
    truth.entry[0] = m->truth;
    memset(truth.index[op->kind], 0, sizeof truth.index[0]);
    return time_op(op, &m->hw, &truth, NULL, NULL);
}

static void put(maker *m, llmperf_op op, llmperf_sample_kind kind)
{
    llmperf_sample s = {.op = op,
                        .kind = (uint8_t)kind,
                        .place = LLMPERF_PLACE_COLD,
                        .copies = 1,
                        .library = m->library};
    s.time_s = true_time(m, &op) * exp(m->noise * normal(&m->r));
    if (rng_chance(&m->r, m->outliers))
        s.time_s *= rng_real(&m->r, 1.5, 4); /* a neighbour, a page fault: slower */
    cr_assert(llmperf_samples_add(&m->samples, &s, NULL) == LLMPERF_OK);
}

static void put_products(maker *m, llmperf_dtype dtype, double least_m, double most_m)
{
    static const double sizes[] = {256, 512, 1024, 2048, 4096, 8192, 14336};
    for (double rows = least_m; rows <= most_m; rows = rows < 16 ? rows * 2 : ceil(rows * 1.4))
        for (int n = 0; n < 7; n++)
            for (int k = 0; k < 7; k++)
                put(m, llmperf_sample_gemm(dtype, LLMPERF_DTYPE_NONE, rows, sizes[n], sizes[k]),
                    LLMPERF_SAMPLE_GEMM);
}

static llmperf_fits run(maker *m, const llmperf_fit_options *options)
{
    llmperf_fits fits = {0};
    error = (llmperf_error){0};
    cr_assert(llmperf_fit(&m->samples, &m->hw, options, &fits, &error) == LLMPERF_OK, "%s",
              error.text);
    return fits;
}

static llmperf_calib_entry only(llmperf_fits *fits)
{
    cr_assert(fits->count == 1);
    cr_assert(fits->fit[0].status == LLMPERF_OK, "%s", fits->fit[0].why);
    llmperf_calib_entry e = fits->fit[0].entry;
    llmperf_fits_free(fits);
    return e;
}

static llmperf_calib_entry truth_of(llmperf_op_kind kind)
{
    return calib_ideal(kind);
}

/* Recovered within `share` of the truth. */
static void expect_param(const llmperf_calib_entry *e, const llmperf_calib_entry *truth,
                         llmperf_param p, double share)
{
    cr_expect(is_near(e->param[p], truth->param[p], share), "%s: %g, the truth is %g (%s)",
              llmperf_param_name(p), e->param[p], truth->param[p], e->remarks);
}

/* ---- known parameters come back: 3 % noise, 10 % outliers ---- */

static llmperf_status put_fits(const llmperf_fits *fits, llmperf_calib *ret_calib)
{
    llmperf_calib *made = NULL;
    llmperf_status status = llmperf_fits_to_calib(fits, &made, &error);
    if (status == LLMPERF_OK)
        *ret_calib = *made;
    llmperf_calib_free(made);
    return status;
}

Test(fit, a_gemm_comes_back)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.74;
    t.param[LLMPERF_PARAM_MEMORY] = 0.86;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    t.param[LLMPERF_PARAM_SERIAL] = 4e-6;
    t.param[LLMPERF_PARAM_NORM] = 2.2;
    maker m = make(t, 0.03, 0.1);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 20000);
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true});
    llmperf_calib_entry e = only(&fits);
    expect_param(&e, &t, LLMPERF_PARAM_COMPUTE, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_MEMORY, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_LAUNCH, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_SERIAL, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_NORM, 0.02);
    cr_expect(e.quality.median_frac < 0.03 && e.quality.left_out_frac < 0.2);
    cr_expect(e.correlation < 0.1); /* the noise knows no families */
    llmperf_samples_free(&m.samples);
}

Test(fit, the_refinements_of_a_gemm_come_back)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.85;
    t.param[LLMPERF_PARAM_MEMORY] = 0.86;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    t.param[LLMPERF_PARAM_LOOP] = 4e-6;
    t.param[LLMPERF_PARAM_NORM] = 2.5;
    t.param[LLMPERF_PARAM_FILL] = 150;
    t.param[LLMPERF_PARAM_TILE] = 0.5;
    t.param[LLMPERF_PARAM_SETTLE] = 0.3;
    t.param[LLMPERF_PARAM_PASSES] = 6;
    maker m = make(t, 0.03, 0.1);
    put_products(&m, LLMPERF_DTYPE_FP8, 1, 60000);
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    expect_param(&e, &t, LLMPERF_PARAM_COMPUTE, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_MEMORY, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_LAUNCH, 0.05);
    expect_param(&e, &t, LLMPERF_PARAM_LOOP, 0.05);
    expect_param(&e, &t, LLMPERF_PARAM_FILL, 0.1);
    expect_param(&e, &t, LLMPERF_PARAM_TILE, 0.15);
    expect_param(&e, &t, LLMPERF_PARAM_SETTLE, 0.15);
    expect_param(&e, &t, LLMPERF_PARAM_PASSES, 0.05);
    cr_expect(e.param[LLMPERF_PARAM_SERIAL] == 0, "the loop adds; it does not run beside");
    llmperf_samples_free(&m.samples);
}

static void put_attention(maker *m, bool decode)
{
    static const double layouts[][3] = {{8, 1, 128}, {32, 8, 128}, {32, 32, 64},
                                        {16, 2, 64}, {40, 8, 128}, {64, 8, 256}};
    for (int i = 0; i < 6; i++)
        for (double b = 1; b <= (decode ? 512 : 16); b *= 2)
            for (double s = decode ? 16 : 32; s <= 16384; s *= 2) {
                llmperf_attention_shape shape = {.dtype = LLMPERF_DTYPE_BF16,
                                                 .sequences = b,
                                                 .query_tokens = decode ? 1 : s,
                                                 .past_tokens = decode ? s : 0,
                                                 .heads = layouts[i][0],
                                                 .kv_heads = layouts[i][1],
                                                 .head_dim = layouts[i][2]};
                put(m, llmperf_sample_attention(&shape),
                    decode ? LLMPERF_SAMPLE_ATTN_DECODE : LLMPERF_SAMPLE_ATTN_PREFILL);
            }
}

Test(fit, decode_attention_comes_back)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ATTENTION);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.05;
    t.param[LLMPERF_PARAM_MEMORY] = 0.8;
    t.param[LLMPERF_PARAM_LAUNCH] = 9e-6;
    t.param[LLMPERF_PARAM_WORK] = 3e-6;
    t.param[LLMPERF_PARAM_NORM] = 1.4;
    maker m = make(t, 0.03, 0.1);
    put_attention(&m, true);
    put_attention(&m, true);
    put_attention(&m, true);
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true});
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.key.regime == LLMPERF_REGIME_DECODE);
    expect_param(&e, &t, LLMPERF_PARAM_MEMORY, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_LAUNCH, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_WORK, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_NORM, 0.04);
    llmperf_samples_free(&m.samples);
}

Test(fit, the_refinements_of_decode_attention_come_back)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ATTENTION);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.2;
    t.param[LLMPERF_PARAM_MEMORY] = 0.8;
    t.param[LLMPERF_PARAM_LAUNCH] = 9e-6;
    t.param[LLMPERF_PARAM_WORK] = 3e-6;
    t.param[LLMPERF_PARAM_HEAD_WORK] = 2e-6;
    t.param[LLMPERF_PARAM_FIRST] = 6e-6;
    t.param[LLMPERF_PARAM_SERIAL] = 2e-5;
    t.param[LLMPERF_PARAM_MERGE] = 4e-6;
    t.param[LLMPERF_PARAM_REGROUP] = 5e-6;
    t.param[LLMPERF_PARAM_NORM] = 2;
    maker m = make(t, 0.03, 0.1);
    for (int i = 0; i < 4; i++)
        put_attention(&m, true);
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    expect_param(&e, &t, LLMPERF_PARAM_MEMORY, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_LAUNCH, 0.05);
    expect_param(&e, &t, LLMPERF_PARAM_WORK, 0.1);
    expect_param(&e, &t, LLMPERF_PARAM_HEAD_WORK, 0.1);
    expect_param(&e, &t, LLMPERF_PARAM_FIRST, 0.1);
    expect_param(&e, &t, LLMPERF_PARAM_SERIAL, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_MERGE, 0.05);
    expect_param(&e, &t, LLMPERF_PARAM_REGROUP, 0.05);
    llmperf_samples_free(&m.samples);
}

/* Kernels of heads of 64 and of 128 that differ get fits of their own, each with its truth. */
Test(fit, kernels_of_two_head_sizes_come_apart)
{
    llmperf_calib_entry slow = truth_of(LLMPERF_KIND_ATTENTION), quick;
    slow.param[LLMPERF_PARAM_MEMORY] = 0.5;
    slow.param[LLMPERF_PARAM_LAUNCH] = 2e-5;
    slow.param[LLMPERF_PARAM_NORM] = 2;
    quick = slow;
    quick.param[LLMPERF_PARAM_MEMORY] = 0.9;
    quick.param[LLMPERF_PARAM_LAUNCH] = 5e-6;
    maker m = make(slow, 0.03, 0);
    for (int i = 0; i < 3; i++)
        put_attention(&m, true);
    for (int64_t i = 0; i < m.samples.count; i++) {
        llmperf_sample *s = &m.samples.sample[i];
        m.truth = s->op.head_dim <= 64 ? slow : quick;
        s->time_s = true_time(&m, &s->op) * exp(m.noise * normal(&m.r));
    }
    llmperf_fits fits = run(&m, NULL);
    /* by groups of heads first: the single ones are all of 64 */
    cr_assert(fits.count == 4, "%d", fits.count);
    for (int i = 0; i < fits.count; i++) {
        const llmperf_calib_entry *e = &fits.fit[i].entry;
        bool single = e->key.heads == LLMPERF_HEADS_SINGLE;
        cr_expect(e->key.head_size == (single ? LLMPERF_HEAD_SIZE_ANY : i), "%d", i);
        const llmperf_calib_entry *truth =
            single || e->key.head_size == LLMPERF_HEAD_SIZE_64 ? &slow : &quick;
        expect_param(e, truth, LLMPERF_PARAM_MEMORY, 0.03);
        expect_param(e, truth, LLMPERF_PARAM_LAUNCH, 0.1);
    }
    llmperf_fits_free(&fits);
    llmperf_samples_free(&m.samples);
}

/* Attention of two formats and products, with noise: several groups, classes and forms. */
static maker several_groups(void)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ATTENTION);
    t.param[LLMPERF_PARAM_MEMORY] = 0.8;
    t.param[LLMPERF_PARAM_LAUNCH] = 8e-6;
    t.param[LLMPERF_PARAM_NORM] = 2;
    maker m = make(t, 0.05, 0.05);
    for (int i = 0; i < 4; i++) {
        put_attention(&m, true);
        put_attention(&m, false);
    }
    m.truth = truth_of(LLMPERF_KIND_GEMM);
    m.truth.param[LLMPERF_PARAM_COMPUTE] = 0.7;
    m.truth.param[LLMPERF_PARAM_LAUNCH] = 5e-6;
    m.truth.param[LLMPERF_PARAM_NORM] = 3;
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 1024);
    put_products(&m, LLMPERF_DTYPE_FP8, 1, 1024);
    return m;
}

Test(fit, any_number_of_threads_gives_the_same_fits)
{
    maker m = several_groups();
    llmperf_fits one = run(&m, &(llmperf_fit_options){.jobs = 1});
    cr_assert(one.count >= 4, "%d", one.count);
    for (int jobs = 0; jobs <= 16; jobs += jobs < 3 ? 1 : 13) {
        llmperf_fits many = run(&m, &(llmperf_fit_options){.jobs = jobs});
        cr_assert(many.count == one.count, "%d threads: %d fits, not %d", jobs, many.count,
                  one.count);
        for (int i = 0; i < one.count; i++) {
            const llmperf_calib_entry *a = &one.fit[i].entry, *b = &many.fit[i].entry;
            cr_expect(calib_same_key(&a->key, &b->key) && strcmp(a->remarks, b->remarks) == 0,
                      "%d threads, fit %d: '%s', not '%s'", jobs, i, b->remarks, a->remarks);
            cr_expect(memcmp(a->param, b->param, sizeof a->param) == 0 &&
                          memcmp(a->covariance, b->covariance, sizeof a->covariance) == 0 &&
                          a->quality.left_out_frac == b->quality.left_out_frac,
                      "%d threads, fit %d", jobs, i);
        }
        llmperf_fits_free(&many);
    }
    llmperf_fits_free(&one);
    llmperf_samples_free(&m.samples);
}

/* What is kept is short, so that a file holds the fit to the last bit and stays small. */
Test(fit, figures_have_the_digits_that_say_something)
{
    maker m = several_groups();
    llmperf_fits fits = run(&m, NULL);
    for (int i = 0; i < fits.count; i++) {
        const llmperf_calib_entry *e = &fits.fit[i].entry;
        char text[40];
        for (int p = 0; p < LLMPERF_PARAM_COUNT; p++) {
            snprintf(text, sizeof text, "%.9g", e->param[p]);
            cr_expect(strtod(text, NULL) == e->param[p], "%s: %.17g", text, e->param[p]);
            snprintf(text, sizeof text, "%.8g", e->covariance[p][p]);
            cr_expect(strtod(text, NULL) == e->covariance[p][p], "%s", text);
        }
        snprintf(text, sizeof text, "%.6g %.6g", e->residual, e->quality.mean_frac);
        char *rest;
        cr_expect(strtod(text, &rest) == e->residual && strtod(rest, NULL) == e->quality.mean_frac);
    }
    llmperf_fits_free(&fits);
    llmperf_samples_free(&m.samples);
}

/* Every weight matrix is off by a factor of its own. */
static double factor_of(const llmperf_op *op)
{
    rng r = {.state = (uint64_t)(op->n * 131 + op->k)};
    for (int i = 0; i < 8; i++)
        rng_next(&r);
    return exp(0.15 * normal(&r));
}

/* The error on shapes left out is that of fits which never saw them, each matrix in turn. */
Test(fit, the_error_on_shapes_left_out_is_that_of_fits_without_them)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.7;
    t.param[LLMPERF_PARAM_MEMORY] = 0.8;
    t.param[LLMPERF_PARAM_LAUNCH] = 6e-6;
    t.param[LLMPERF_PARAM_NORM] = 2.5;
    maker m = make(t, 0.02, 0);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 8192);
    for (int64_t i = 0; i < m.samples.count; i++)
        m.samples.sample[i].time_s *= factor_of(&m.samples.sample[i].op);
    const llmperf_fit_options options = {.plain = true, .folds = 49};
    llmperf_fits fits = run(&m, &options);
    llmperf_calib_entry whole = only(&fits);

    static const double sizes[] = {256, 512, 1024, 2048, 4096, 8192, 14336};
    double sum = 0, seen = 0;
    for (int which = 0; which < 49; which++) {
        maker rest = make(t, 0, 0), out = make(t, 0, 0);
        for (int64_t i = 0; i < m.samples.count; i++) {
            const llmperf_sample *s = &m.samples.sample[i];
            bool is_out = s->op.n == sizes[which / 7] && s->op.k == sizes[which % 7];
            cr_assert(llmperf_samples_add(is_out ? &out.samples : &rest.samples, s, NULL) ==
                      LLMPERF_OK);
        }
        llmperf_fit_score score;
        llmperf_fits without = run(&rest, &options);
        llmperf_calib_entry e = only(&without);
        if (llmperf_fit_judge(&out.samples, &out.hw, &options, &e, &score)) { /* else all warm */
            sum += score.quality.mean_frac * (double)score.quality.samples;
            seen += (double)score.quality.samples;
        }
        llmperf_samples_free(&rest.samples);
        llmperf_samples_free(&out.samples);
    }
    cr_expect(is_near(whole.quality.left_out_frac, sum / seen, 0.03), "%g, refitted %g",
              whole.quality.left_out_frac, sum / seen);
    cr_expect(whole.quality.left_out_frac > 1.01 * whole.quality.mean_frac, "%g, seen %g",
              whole.quality.left_out_frac, whole.quality.mean_frac);
    llmperf_samples_free(&m.samples);
}

Test(fit, prefill_attention_comes_back)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ATTENTION);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.7;
    t.param[LLMPERF_PARAM_MEMORY] = 0.6;
    t.param[LLMPERF_PARAM_LAUNCH] = 9e-6;
    t.param[LLMPERF_PARAM_WORK] = 3e-6;
    t.param[LLMPERF_PARAM_NORM] = 1.2;
    maker m = make(t, 0.03, 0.1);
    for (int i = 0; i < 6; i++)
        put_attention(&m, false);
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true});
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.key.regime == LLMPERF_REGIME_PREFILL);
    expect_param(&e, &t, LLMPERF_PARAM_COMPUTE, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_MEMORY, 0.05);
    expect_param(&e, &t, LLMPERF_PARAM_LAUNCH, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_WORK, 0.05);
    expect_param(&e, &t, LLMPERF_PARAM_NORM, 0.05);
    llmperf_samples_free(&m.samples);
}

Test(fit, elementwise_comes_back)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ELEMENTWISE);
    t.param[LLMPERF_PARAM_MEMORY] = 0.7;
    t.param[LLMPERF_PARAM_LAUNCH] = 2.5e-6;
    maker m = make(t, 0.03, 0.1);
    for (int i = 0; i < 20; i++)
        for (double values = 1e4; values < 1e9; values *= 3)
            put(&m, llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, values, values),
                LLMPERF_SAMPLE_ELEMENTWISE);
    for (int64_t i = 0; i < m.samples.count; i++) { /* as a part with fp32 units times it */
        m.samples.sample[i].op.dtype = LLMPERF_DTYPE_FP32;
    }
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    expect_param(&e, &t, LLMPERF_PARAM_MEMORY, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_LAUNCH, 0.02);
    llmperf_samples_free(&m.samples);
}

static void put_reduces(maker *m, double most_devices, int times)
{
    for (int i = 0; i < times; i++)
        for (double n = 2; n <= most_devices; n *= 2)
            for (double bytes = 512; bytes < 2e9; bytes *= 2)
                put(m, llmperf_sample_collective(LLMPERF_COLLECTIVE_ALL_REDUCE, n, bytes),
                    LLMPERF_SAMPLE_ALL_REDUCE);
}

Test(fit, a_collective_comes_back)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_COLLECTIVE);
    t.param[LLMPERF_PARAM_LINK] = 0.75;
    t.param[LLMPERF_PARAM_LAUNCH] = 6e-6;
    t.param[LLMPERF_PARAM_STEP] = 3e-6;
    t.param[LLMPERF_PARAM_NORM] = 0.7;
    maker m = make(t, 0.03, 0.1);
    put_reduces(&m, 8, 10);
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true});
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.key.collective == LLMPERF_COLLECTIVE_ALL_REDUCE && e.key.devices == 0);
    expect_param(&e, &t, LLMPERF_PARAM_LINK, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_LAUNCH, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_STEP, 0.03);
    expect_param(&e, &t, LLMPERF_PARAM_NORM, 0.02);
    llmperf_samples_free(&m.samples);
}

/* A library that reads all buffers at once while they are small, reduces in two phases, and hands
 * over to another beyond 8 MB. */
Test(fit, a_collective_that_changes_its_way_comes_back)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_COLLECTIVE);
    t.param[LLMPERF_PARAM_LINK] = 0.72;
    t.param[LLMPERF_PARAM_LAUNCH] = 4.5e-6;
    t.param[LLMPERF_PARAM_STEP] = 2e-7;
    t.param[LLMPERF_PARAM_NORM] = 1;
    t.param[LLMPERF_PARAM_SECOND] = 6e-6;
    t.param[LLMPERF_PARAM_BULK] = 6e-5;
    t.param[LLMPERF_PARAM_LIMIT] = 8e6;
    t.param[LLMPERF_PARAM_SHARP] = 3;
    maker m = make(t, 0.03, 0.1);
    put_reduces(&m, 8, 10);
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    expect_param(&e, &t, LLMPERF_PARAM_LINK, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_LAUNCH, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_NORM, 0.05);
    expect_param(&e, &t, LLMPERF_PARAM_STEP, 0.1);
    expect_param(&e, &t, LLMPERF_PARAM_SECOND, 0.1);
    expect_param(&e, &t, LLMPERF_PARAM_BULK, 0.1);
    expect_param(&e, &t, LLMPERF_PARAM_LIMIT, 0.1);
    expect_param(&e, &t, LLMPERF_PARAM_SHARP, 0.2);
    cr_expect(e.quality.median_frac < 0.04);
    llmperf_samples_free(&m.samples);
}

/* Over a host bus: a fit per group size, and one over all sizes for the sizes between. */
Test(fit, group_sizes_on_a_host_bus_share_a_fit)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_COLLECTIVE);
    t.param[LLMPERF_PARAM_LINK] = 0.6;
    t.param[LLMPERF_PARAM_LAUNCH] = 5e-6;
    t.param[LLMPERF_PARAM_STEP] = 3e-6;
    t.param[LLMPERF_PARAM_NORM] = 1;
    t.param[LLMPERF_PARAM_CROWD] = 1.5;
    maker m = make(t, 0.03, 0.1);
    m.hw.pcie = (llmperf_link){.kind = "pcie", .bytes_per_s = 3e10, .latency_s = 1e-5};
    m.hw.link.kind[0] = '\0';
    put_reduces(&m, 4, 10); /* 2 and 4 devices */
    llmperf_fits fits = run(&m, NULL);
    cr_assert(fits.count == 3);
    bool seen[5] = {0};
    for (int i = 0; i < 3; i++) {
        const llmperf_calib_entry *e = &fits.fit[i].entry;
        cr_assert(fits.fit[i].status == LLMPERF_OK && e->key.devices <= 4);
        seen[e->key.devices] = true;
        if (e->key.devices)
            continue;
        expect_param(e, &t, LLMPERF_PARAM_LINK, 0.02);
        expect_param(e, &t, LLMPERF_PARAM_STEP, 0.1);
        expect_param(e, &t, LLMPERF_PARAM_CROWD, 0.05);
        cr_expect(e->residual >= 0.25, "hosts differ: %g", e->residual);
    }
    cr_expect(seen[0] && seen[2] && seen[4]);
    /* three devices, not measured: link time x 2.5, latency 5 + 2 x 3 us; 4/3 of 3e7 bytes */
    cr_assert(put_fits(&fits, &calib) == LLMPERF_OK);
    llmperf_op op = llmperf_sample_collective(LLMPERF_COLLECTIVE_ALL_REDUCE, 3, 3e7);
    double want = 11e-6 + 4e7 / (0.6 * 3e10) * 2.5;
    cr_expect(is_near(time_op(&op, &m.hw, &calib, NULL, NULL), want, 0.03));
    llmperf_fits_free(&fits);
    llmperf_samples_free(&m.samples);
}

/* Versions that disagree: the newest stands, and is judged by its own rows. Versions that agree are
 * fitted as one. */
Test(fit, the_newest_version_stands_where_versions_disagree)
{
    static const char *const NAMES[] = {"0.5.10", "0.5.9", "0.5.10rc1"};
    for (int agree = 0; agree < 2; agree++) {
        llmperf_calib_entry t = truth_of(LLMPERF_KIND_COLLECTIVE);
        t.param[LLMPERF_PARAM_LINK] = 0.75;
        t.param[LLMPERF_PARAM_NORM] = 1;
        maker m = make(t, 0.03, 0);
        for (int v = 0; v < 3; v++) {
            int64_t before = m.samples.count;
            int32_t version;
            m.truth.param[LLMPERF_PARAM_LAUNCH] = agree || v == 0 ? 4e-6 : 8e-6;
            put_reduces(&m, 8, 1);
            cr_assert(llmperf_samples_name(&m.samples, NAMES[v], &version, NULL) == LLMPERF_OK);
            for (int64_t i = before; i < m.samples.count; i++)
                m.samples.sample[i].version = version;
        }
        llmperf_fits fits = run(&m, NULL);
        llmperf_calib_entry e = only(&fits);
        llmperf_fit_score score;
        t.param[LLMPERF_PARAM_LAUNCH] = 4e-6;
        expect_param(&e, &t, LLMPERF_PARAM_LAUNCH, 0.03);
        cr_expect_str_eq(e.version, agree ? "" : "0.5.10");
        cr_expect((strstr(e.remarks, "version 0.5.10, the newest of 3 that disagree") != NULL) ==
                      !agree,
                  "%s", e.remarks);
        cr_assert(llmperf_fit_judge(&m.samples, &m.hw, NULL, &e, &score));
        cr_expect(score.quality.samples == (agree ? m.samples.count : m.samples.count / 3));
        cr_expect(score.quality.mean_frac < 0.04);
        llmperf_samples_free(&m.samples);
    }
}

Test(fit, without_noise_nothing_is_left)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.6;
    t.param[LLMPERF_PARAM_MEMORY] = 0.9;
    t.param[LLMPERF_PARAM_LAUNCH] = 5e-6;
    t.param[LLMPERF_PARAM_SERIAL] = 2e-6;
    t.param[LLMPERF_PARAM_NORM] = 3;
    maker m = make(t, 0, 0);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 8192);
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true});
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.quality.p90_frac < 1e-4 && e.residual < 1e-4, "%g", e.quality.p90_frac);
    for (int i = 0; i <= LLMPERF_PARAM_NORM; i++)
        if (i != LLMPERF_PARAM_WORK)
            expect_param(&e, &t, (llmperf_param)i, 1e-3);
    llmperf_samples_free(&m.samples);
}

/* ---- what the samples cannot tell ---- */

Test(fit, memory_bound_samples_leave_the_peak_open)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.5;
    t.param[LLMPERF_PARAM_MEMORY] = 0.8;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    t.param[LLMPERF_PARAM_NORM] = INFINITY;
    maker m = make(t, 0.03, 0);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 8); /* ridge at 333 rows */
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    cr_expect(!(e.fitted & UINT64_C(1) << LLMPERF_PARAM_COMPUTE));
    cr_expect(strstr(e.remarks, "compute_efficiency fixed at 0.8") != NULL, "%s", e.remarks);
    cr_expect(e.param[LLMPERF_PARAM_COMPUTE] == 0.8);
    expect_param(&e, &t, LLMPERF_PARAM_MEMORY, 0.02);
    llmperf_samples_free(&m.samples);
}

Test(fit, compute_bound_samples_leave_the_bandwidth_open)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.7;
    t.param[LLMPERF_PARAM_MEMORY] = 0.8;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    t.param[LLMPERF_PARAM_NORM] = INFINITY;
    maker m = make(t, 0.02, 0);
    for (double rows = 4096; rows < 40000; rows *= 1.1)
        for (double n = 4096; n <= 16384; n *= 2)
            put(&m, llmperf_sample_gemm(LLMPERF_DTYPE_BF16, 0, ceil(rows), n, n),
                LLMPERF_SAMPLE_GEMM);
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    cr_expect(!(e.fitted & UINT64_C(1) << LLMPERF_PARAM_MEMORY), "%s", e.remarks);
    cr_expect(strstr(e.remarks, "memory_efficiency fixed at") != NULL, "%s", e.remarks);
    llmperf_samples_free(&m.samples);
}

Test(fit, an_efficiency_beyond_physics_stays_at_its_bound)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ELEMENTWISE);
    maker m = make(t, 0.001, 0);
    for (double values = 1e6; values < 1e9; values *= 1.2)
        put(&m, llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, values, values),
            LLMPERF_SAMPLE_ELEMENTWISE);
    for (int64_t i = 0; i < m.samples.count; i++)
        m.samples.sample[i].time_s /= 1.049; /* still no faster than 95 % of the roofline */
    m.hw.mem_bytes_per_s *= 0.999;
    llmperf_fits fits = run(&m, NULL);
    cr_expect(fits.fit[0].at_bound, "%s", fits.fit[0].entry.remarks);
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.param[LLMPERF_PARAM_MEMORY] <= 1.05);
    cr_expect(strstr(e.remarks, "at its upper bound") != NULL, "%s", e.remarks);
    llmperf_samples_free(&m.samples);
}

Test(fit, few_samples_carry_few_parameters)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.7;
    t.param[LLMPERF_PARAM_MEMORY] = 0.8;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    t.param[LLMPERF_PARAM_NORM] = 2;
    maker m = make(t, 0.01, 0);
    for (double rows = 1; rows <= 16384; rows *= 4)
        put(&m, llmperf_sample_gemm(LLMPERF_DTYPE_BF16, 0, rows, 4096, 4096), LLMPERF_SAMPLE_GEMM);
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    cr_expect(strstr(e.remarks, "left out: 8 samples") != NULL, "%s", e.remarks);
    cr_expect(e.quality.p90_frac < 0.1);
    llmperf_samples_free(&m.samples);
}

/* A quick calibration of the tests' make-believe H200 (790 TFLOP/s x 0.94, 4.2 TB/s, 2.2 us), whose
 * roof is sharp. Few samples near its corner leave the norm open; terms that add up are 4 % off. */
Test(fit, a_norm_that_few_samples_leave_open_is_the_one_that_fits)
{
    static const double rows[][4] = {
        /* m, n, k, seconds */
        {1, 4096, 4096, 10.19e-6},   {16, 4096, 4096, 10.22e-6},   {64, 4096, 4096, 10.31e-6},
        {256, 4096, 4096, 13.77e-6}, {1024, 4096, 4096, 48.47e-6}, {8192, 4096, 4096, 373e-6},
        {1, 8192, 8192, 34.15e-6},   {16, 8192, 8192, 34.24e-6},   {64, 8192, 8192, 34.39e-6},
        {256, 8192, 8192, 48.45e-6}, {1024, 8192, 8192, 187.1e-6}, {8192, 8192, 8192, 1483e-6},
        {1, 28672, 8192, 113.9e-6},  {64, 28672, 8192, 114.5e-6},  {2048, 28672, 8192, 1299e-6},
        {1, 1024, 1024, 2.699e-6},   {64, 1024, 1024, 2.728e-6},   {2048, 1024, 1024, 7.982e-6},
        {1, 4096, 512, 3.201e-6},    {64, 4096, 512, 3.264e-6},    {2048, 4096, 512, 13.77e-6}};
    maker m = make(truth_of(LLMPERF_KIND_GEMM), 0, 0);
    m.hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 989.4e12;
    m.hw.mem_bytes_per_s = 4.8e12;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put(&m, llmperf_sample_gemm(LLMPERF_DTYPE_BF16, 0, rows[i][0], rows[i][1], rows[i][2]),
            LLMPERF_SAMPLE_GEMM);
        m.samples.sample[i].time_s = rows[i][3];
    }
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.quality.mean_frac < 0.01, "%g: %s", e.quality.mean_frac, e.remarks);
    cr_expect(is_near(e.param[LLMPERF_PARAM_COMPUTE], 790e12 * 0.94 / 989.4e12, 0.01), "%g",
              e.param[LLMPERF_PARAM_COMPUTE]);
    cr_expect(is_near(e.param[LLMPERF_PARAM_MEMORY], 4.2 / 4.8, 0.01), "%g",
              e.param[LLMPERF_PARAM_MEMORY]);
    llmperf_samples_free(&m.samples);
}

/* ---- the one function, its floor and its order ---- */

static llmperf_calib_entry random_refined(rng *r, llmperf_op_kind kind)
{
    llmperf_calib_entry e = calib_ideal(kind);
    e.param[LLMPERF_PARAM_COMPUTE] = rng_real(r, 0.3, 1);
    e.param[LLMPERF_PARAM_MEMORY] = rng_real(r, 0.3, 1);
    e.param[LLMPERF_PARAM_LAUNCH] = rng_log(r, 1e-7, 1e-5);
    e.param[LLMPERF_PARAM_SERIAL] = rng_log(r, 1e-7, 1e-5);
    e.param[LLMPERF_PARAM_WORK] = rng_log(r, 1e-7, 1e-5);
    e.param[LLMPERF_PARAM_NORM] = rng_real(r, 0.5, 4);
    e.param[LLMPERF_PARAM_FILL] = rng_log(r, 1, 1000);
    e.param[LLMPERF_PARAM_SCORE] = rng_log(r, 1, 200);
    e.param[LLMPERF_PARAM_TILE] = rng_real(r, 0.01, 1);
    e.param[LLMPERF_PARAM_SETTLE] = rng_log(r, 0.01, 1);
    e.param[LLMPERF_PARAM_PASSES] = rng_log(r, 0.1, 10);
    e.param[LLMPERF_PARAM_LOOP] = rng_log(r, 1e-7, 1e-5);
    e.param[LLMPERF_PARAM_HEAD] = rng_log(r, 1e-7, 1e-5);
    e.param[LLMPERF_PARAM_HEAD_WORK] = rng_log(r, 1e-7, 1e-5);
    e.param[LLMPERF_PARAM_FIRST] = rng_log(r, 1e-7, 1e-5);
    e.param[LLMPERF_PARAM_MERGE] = rng_log(r, 1e-7, 1e-5);
    e.param[LLMPERF_PARAM_REGROUP] = rng_log(r, 1e-7, 1e-5);
    return e;
}

static llmperf_op random_op(rng *r, llmperf_op_kind kind)
{
    if (kind == LLMPERF_KIND_GEMM)
        return llmperf_sample_gemm(LLMPERF_DTYPE_BF16, 0, (double)rng_log_int(r, 1, 20000),
                                   (double)rng_log_int(r, 64, 20000),
                                   (double)rng_log_int(r, 64, 20000));
    llmperf_attention_shape shape = {.dtype = LLMPERF_DTYPE_BF16,
                                     .sequences = (double)rng_log_int(r, 1, 256),
                                     .query_tokens = (double)rng_log_int(r, 1, 4096),
                                     .heads = 8,
                                     .kv_heads = 2,
                                     .past_tokens =
                                         rng_chance(r, 0.5) ? 0 : (double)rng_log_int(r, 1, 8192),
                                     .head_dim = rng_chance(r, 0.5) ? 64 : 128};
    return llmperf_sample_attention(&shape);
}

Test(fit, gradient_of_the_refinements_equals_finite_differences)
{
    llmperf_hw hw = part();
    for (int seed = 0; seed < CASES(2000); seed++) {
        rng r = {.state = (uint64_t)seed};
        llmperf_op_kind kind = seed % 2 ? LLMPERF_KIND_GEMM : LLMPERF_KIND_ATTENTION;
        llmperf_op op = random_op(&r, kind);
        llmperf_calib_entry e = random_refined(&r, kind);
        llmperf_gradient g;
        calib_init(&calib);
        calib.entry_count = 1;
        calib.entry[0] = e;
        memset(calib.index[kind], 0, sizeof calib.index[0]);
        time_op(&op, &hw, &calib, NULL, &g);
        for (int p = 0; p < LLMPERF_PARAM_COUNT; p++) {
            double x = e.param[p], step = x * 1e-5;
            if (p == LLMPERF_PARAM_LINK || p == LLMPERF_PARAM_HOP || x == 0)
                continue;
            calib.entry[0].param[p] = x + step;
            double up = log(time_op(&op, &hw, &calib, NULL, NULL));
            calib.entry[0].param[p] = x - step;
            double down = log(time_op(&op, &hw, &calib, NULL, NULL));
            calib.entry[0].param[p] = x;
            double want = (up - down) / (2 * step) * x, got = g.dlog[0][p] * x;
            cr_assert(fabs(want - got) < 1e-6 + 1e-5 * fabs(want), "seed %d, %s: %g, not %g", seed,
                      llmperf_param_name((llmperf_param)p), got, want);
        }
    }
}

Test(fit, refined_times_keep_the_floor_and_the_order)
{
    llmperf_hw hw = part();
    for (int seed = 0; seed < CASES(3000); seed++) {
        rng r = {.state = (uint64_t)seed + 77};
        llmperf_op_kind kind = seed % 2 ? LLMPERF_KIND_GEMM : LLMPERF_KIND_ATTENTION;
        llmperf_calib_entry e = random_refined(&r, kind);
        llmperf_op op = random_op(&r, kind), more = op;
        calib_init(&calib);
        calib.entry_count = 1;
        calib.entry[0] = e;
        memset(calib.index[kind], 0, sizeof calib.index[0]);
        double time = time_op(&op, &hw, &calib, NULL, NULL);
        double floor_s = time_op(&op, &hw, NULL, NULL, NULL);
        cr_assert(time >= floor_s, "seed %d: %g below %g", seed, time, floor_s);
        if (kind == LLMPERF_KIND_GEMM) { /* a row more, many rows more */
            double rows = rng_chance(&r, 0.5) ? 1 : (double)rng_log_int(&r, 1, 1000);
            more = llmperf_sample_gemm(LLMPERF_DTYPE_BF16, 0, op.m + rows, op.n, op.k);
        } else {
            llmperf_attention_shape shape = {.dtype = LLMPERF_DTYPE_BF16,
                                             .sequences = op.sequences,
                                             .query_tokens = op.query_tokens,
                                             .past_tokens = op.past_tokens,
                                             .heads = op.heads,
                                             .kv_heads = op.kv_heads,
                                             .head_dim = op.head_dim};
            if (op.regime == LLMPERF_REGIME_PREFILL)
                shape.sequences += 1;
            else
                shape.past_tokens += (double)rng_log_int(&r, 1, 1000);
            more = llmperf_sample_attention(&shape);
        }
        cr_assert(time_op(&more, &hw, &calib, NULL, NULL) >= time * (1 - 1e-12),
                  "seed %d: more work takes less time", seed);
        llmperf_hw faster = hw;
        faster.peak_flop_per_s[LLMPERF_DTYPE_BF16] *= 1.5;
        cr_assert(time_op(&op, &faster, &calib, NULL, NULL) <= time * (1 + 1e-12));
        faster.mem_bytes_per_s *= 1.5;
        cr_assert(time_op(&op, &faster, &calib, NULL, NULL) <= time * (1 + 1e-12));
    }
}

Test(fit, one_row_never_costs_more_than_two)
{
    llmperf_hw hw = part();
    llmperf_calib_entry gemm = calib_ideal(LLMPERF_KIND_GEMM);
    gemm.key = (llmperf_calib_key){.kind = LLMPERF_KIND_GEMM, .dtype = LLMPERF_DTYPE_BF16};
    gemm.param[LLMPERF_PARAM_MEMORY] = 0.5;
    llmperf_calib_entry row = gemm;
    row.key.gemv = 1;
    for (int slower = 0; slower < 2; slower++) {
        row.param[LLMPERF_PARAM_MEMORY] = slower ? 0.2 : 0.9;
        calib_init(&calib);
        cr_assert(calib_add(&calib, &gemm, &error) == LLMPERF_OK);
        cr_assert(calib_add(&calib, &row, &error) == LLMPERF_OK);
        llmperf_op one = llmperf_sample_gemm(LLMPERF_DTYPE_BF16, 0, 1, 4096, 4096);
        llmperf_op two = llmperf_sample_gemm(LLMPERF_DTYPE_BF16, 0, 2, 4096, 4096);
        llmperf_gradient g;
        double t = time_op(&one, &hw, &calib, NULL, &g);
        cr_expect(is_near(t, one.bytes / 3e12 / (slower ? 0.5 : 0.9), 1e-12));
        cr_expect(g.entry[0] == (slower ? 0 : 1)); /* the gradient is that of the fit in use */
        cr_expect(t <= time_op(&two, &hw, &calib, NULL, NULL));
    }
}

/* ---- products with one row, and which samples count ---- */

Test(fit, products_with_one_row_apart)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.7;
    t.param[LLMPERF_PARAM_MEMORY] = 0.4;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    t.param[LLMPERF_PARAM_NORM] = 2;
    maker m = make(t, 0.02, 0);
    put_products(&m, LLMPERF_DTYPE_BF16, 2, 4096);
    m.truth.param[LLMPERF_PARAM_MEMORY] = 0.8; /* GEMV does not pack the weights */
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 1);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 1);
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.gemv_apart = true, .plain = true});
    cr_assert(fits.count == 2);
    for (int i = 0; i < 2; i++) {
        const llmperf_calib_entry *e = &fits.fit[i].entry;
        double want = e->key.gemv ? 0.8 : 0.4;
        cr_expect(is_near(e->param[LLMPERF_PARAM_MEMORY], want, 0.03), "%g, not %g (%s)",
                  e->param[LLMPERF_PARAM_MEMORY], want, e->remarks);
    }
    cr_expect(put_fits(&fits, &calib) == LLMPERF_OK);
    cr_expect(calib.entry_count == 2 && calib.variants == 1);
    llmperf_fits_free(&fits);
    llmperf_samples_free(&m.samples);
}

Test(fit, warm_operands_do_not_count)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.7;
    t.param[LLMPERF_PARAM_MEMORY] = 0.8;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    t.param[LLMPERF_PARAM_NORM] = 2;
    maker m = make(t, 0.02, 0);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 8192);
    for (int64_t i = 0; i < m.samples.count; i++) {
        llmperf_sample *s = &m.samples.sample[i];
        s->place = LLMPERF_PLACE_UNKNOWN;
        s->copies = 6;
        if (6 * s->op.weight_bytes <= 1.5 * m.hw.l2_bytes)
            s->time_s *= 0.97; /* what a cache does */
    }
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true});
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.quality.warm > 0 && e.quality.samples + e.quality.warm == m.samples.count);
    expect_param(&e, &t, LLMPERF_PARAM_MEMORY, 0.02);
    llmperf_samples_free(&m.samples);
}

/* An L2 of 50 MB keeps nothing of 75 MB and more that come round: 20 MB of weights four times over. */
Test(fit, cold_is_what_comes_round_too_late)
{
    static const struct {
        double weights, copies;
        bool cold;
    } ROWS[] = {
        {20e6, 1, false}, {20e6, 3, false}, {20e6, 4, true}, {80e6, 1, true}, {2e6, 4, false}};
    const llmperf_hw hw = part();
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        llmperf_sample s = {
            .op = llmperf_sample_gemm(LLMPERF_DTYPE_BF16, 0, 8, 1024, ROWS[i].weights / 2 / 1024),
            .kind = LLMPERF_SAMPLE_GEMM,
            .copies = ROWS[i].copies,
            .time_s = 1e-3};
        cr_expect(llmperf_sample_is_cold(&s, &hw) == ROWS[i].cold, "%g bytes, %g copies",
                  ROWS[i].weights, ROWS[i].copies);
        s.place = LLMPERF_PLACE_COLD; /* what a file says counts for more */
        cr_expect(llmperf_sample_is_cold(&s, &hw));
        s.place = LLMPERF_PLACE_WARM;
        cr_expect(!llmperf_sample_is_cold(&s, &hw));
    }
}

/*
 * One shape was measured 3,000 times, a day when it took half as long again; 686 others once. Every cell
 * of an octave a side gives one row before any gives a second, so that the others decide.
 */
Test(fit, one_shape_over_and_over_does_not_decide)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.7;
    t.param[LLMPERF_PARAM_MEMORY] = 0.8;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    t.param[LLMPERF_PARAM_NORM] = 2;
    maker m = make(t, 0.01, 0);
    for (int i = 0; i < 3000; i++) {
        put(&m, llmperf_sample_gemm(LLMPERF_DTYPE_BF16, 0, 2048, 8192, 8192), LLMPERF_SAMPLE_GEMM);
        m.samples.sample[i].time_s *= 1.5;
    }
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 8192);
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true, .points = 400});
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.quality.points == 400);
    expect_param(&e, &t, LLMPERF_PARAM_MEMORY, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_COMPUTE, 0.02);
    llmperf_samples_free(&m.samples);
}

/* A sharp roof at 0.5 of the peak and 0.8 of the bandwidth: two numbers say all, on a grid of 0.02. */
Test(fit, the_baseline_has_a_number_for_each_side)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.5;
    t.param[LLMPERF_PARAM_MEMORY] = 0.8;
    maker m = make(t, 0, 0);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 8192);
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true});
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.quality.constant_frac < 1e-9, "%g", e.quality.constant_frac);
    cr_expect(e.quality.roofline_frac > 0.2 && e.quality.roofline_frac < 0.5);
    llmperf_samples_free(&m.samples);
}

Test(fit, disturbed_samples_go_unless_there_is_little_else)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ELEMENTWISE);
    t.param[LLMPERF_PARAM_MEMORY] = 0.7;
    t.param[LLMPERF_PARAM_LAUNCH] = 2e-6;
    for (int all = 0; all < 2; all++) {
        maker m = make(t, 0.01, 0);
        for (int i = 0; i < 4; i++)
            for (double values = 1e5; values < 1e9; values *= 2)
                put(&m, llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, values, values),
                    LLMPERF_SAMPLE_ELEMENTWISE);
        for (int64_t i = 0; i < m.samples.count; i++)
            if (all || i % 4 == 0) {
                m.samples.sample[i].flags = LLMPERF_SAMPLE_CONTENDED;
                m.samples.sample[i].time_s *= 2;
            }
        llmperf_fits fits = run(&m, NULL);
        cr_expect(fits.contended && !fits.throttled);
        llmperf_calib_entry e = only(&fits);
        cr_expect(e.quality.refused == (all ? 0 : (m.samples.count + 3) / 4));
        cr_expect(is_near(e.param[LLMPERF_PARAM_MEMORY], all ? 0.35 : 0.7, 0.02));
        llmperf_samples_free(&m.samples);
    }
}

/* Faster than 95 % of the datasheet's time is not this operator: refused, and told. */
Test(fit, what_beats_the_roofline_is_refused)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ELEMENTWISE);
    t.param[LLMPERF_PARAM_MEMORY] = 0.7;
    t.param[LLMPERF_PARAM_LAUNCH] = 2e-6;
    maker m = make(t, 0.01, 0);
    for (double values = 1e5; values < 1e9; values *= 1.4)
        put(&m, llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, values, values),
            LLMPERF_SAMPLE_ELEMENTWISE);
    const int64_t sound = m.samples.count;
    for (int i = 0; i < 6; i++) {
        llmperf_op op = llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, 1e6 + i, 1e6 + i);
        put(&m, op, LLMPERF_SAMPLE_ELEMENTWISE);
        m.samples.sample[sound + i].time_s = (i < 5 ? 0.94 : 0.96) * op.bytes / 3e12;
    }
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.quality.refused == 5 && e.quality.samples == sound + 1, "%d",
              (int)e.quality.refused);
    expect_param(&e, &t, LLMPERF_PARAM_MEMORY, 0.02);
    llmperf_samples_free(&m.samples);
}

/*
 * Every second sample is 30 % longer, known to as much as its own time: an interval of 20 times 5 %
 * leaves 1 / 401 of its weight. With equal weights the fit would stand in the middle, 14 % off.
 */
Test(fit, a_wide_interval_weighs_little)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ELEMENTWISE);
    t.param[LLMPERF_PARAM_MEMORY] = 0.7;
    t.param[LLMPERF_PARAM_LAUNCH] = 2e-6;
    maker m = make(t, 0.001, 0);
    for (double values = 1e5; values < 1e9; values *= 1.4)
        for (int wide = 0; wide < 2; wide++) {
            put(&m, llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, values, values),
                LLMPERF_SAMPLE_ELEMENTWISE);
            llmperf_sample *s = &m.samples.sample[m.samples.count - 1];
            s->time_s *= wide ? 1.3 : 1;
            s->ci_s = wide ? s->time_s : 0;
        }
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    expect_param(&e, &t, LLMPERF_PARAM_MEMORY, 0.01);
    expect_param(&e, &t, LLMPERF_PARAM_LAUNCH, 0.02);
    llmperf_samples_free(&m.samples);
}

Test(fit, many_samples_are_thinned_by_shape_and_all_are_scored)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.7;
    t.param[LLMPERF_PARAM_MEMORY] = 0.8;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    t.param[LLMPERF_PARAM_NORM] = 2;
    maker m = make(t, 0.02, 0);
    for (int i = 0; i < 20; i++) /* one shape over and over */
        put_products(&m, LLMPERF_DTYPE_BF16, 4096, 4096);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 8192);
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true, .points = 400});
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.quality.points == 400 && e.quality.samples == m.samples.count);
    expect_param(&e, &t, LLMPERF_PARAM_MEMORY, 0.03);
    expect_param(&e, &t, LLMPERF_PARAM_COMPUTE, 0.03);
    llmperf_samples_free(&m.samples);
}

/* ---- uncertainty ---- */

/*
 * Coverage by simulation: fits to noisy samples of half of the shapes, 90 % intervals of the other
 * half's measurements. The residual is half noise, half a shift that a whole family shares.
 */
Test(fit, intervals_of_operators_hold_what_they_promise)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.74;
    t.param[LLMPERF_PARAM_MEMORY] = 0.86;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    t.param[LLMPERF_PARAM_SERIAL] = 4e-6;
    t.param[LLMPERF_PARAM_NORM] = 2.2;
    int inside = 0, seen = 0;
    for (int trial = 0; trial < (CASES(60) > 12 ? CASES(60) : 12); trial++) {
        maker m = make(t, 0.03, 0), held = make(t, 0.03, 0);
        m.r.state = held.r.state = (uint64_t)(1000 + trial);
        rng_next(&held.r);
        for (int shape = 0; shape < 40; shape++) {
            maker *to = shape % 2 ? &held : &m;
            double n = (double)rng_log_int(&m.r, 256, 16384);
            double k = (double)rng_log_int(&m.r, 256, 16384);
            double shift = exp(0.03 * normal(&m.r));
            for (double rows = 1; rows <= 8192; rows *= 4) {
                put(to, llmperf_sample_gemm(LLMPERF_DTYPE_BF16, 0, rows, n, k),
                    LLMPERF_SAMPLE_GEMM);
                to->samples.sample[to->samples.count - 1].time_s *= shift;
            }
        }
        llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true});
        llmperf_calib_entry e = only(&fits);
        llmperf_fit_score score;
        cr_assert(llmperf_fit_judge(&held.samples, &held.hw, NULL, &e, &score));
        inside += (int)(score.coverage_frac * (double)held.samples.count + 0.5);
        seen += (int)held.samples.count;
        cr_expect(e.correlation > 0.1, "families share a shift: rho %g", e.correlation);
        llmperf_samples_free(&m.samples);
        llmperf_samples_free(&held.samples);
    }
    double coverage = (double)inside / seen;
    cr_expect(coverage > 0.85 && coverage < 0.95, "coverage %.3f of %d", coverage, seen);
}

/*
 * Another run on the same machine: everything it measures is off by one factor (a neighbour on the
 * memory). The first run measures a few shapes of its own once more at its end, already with another
 * factor; without those pairs the interval would know nothing of it. A run's factor is normal with
 * sigma 10 %, noise 2 %.
 */
Test(fit, intervals_hold_what_another_run_measures)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ELEMENTWISE);
    t.param[LLMPERF_PARAM_MEMORY] = 0.6;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    double inside[2] = {0, 0}, seen = 0, rho = 0;
    int trials = CASES(300) > 100 ? CASES(300) : 100;
    for (int trial = 0; trial < trials; trial++)
        for (int pairs = 0; pairs <= 5; pairs += 5) {
            maker m = make(t, 0.02, 0), later = make(t, 0.02, 0);
            m.r.state = (uint64_t)trial * 3 + 7;
            later.r.state = (uint64_t)trial * 5 + 8;
            double factor[3];
            for (int i = 0; i < 3; i++)
                factor[i] = exp(0.1 * normal(&later.r));
            for (int i = 0; i < 12 + pairs; i++) {
                double values = 1e5 * pow(2.2, i < 12 ? i : 2 * (i - 12));
                llmperf_op op = llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, values, values);
                put(&m, op, LLMPERF_SAMPLE_ELEMENTWISE);
                m.samples.sample[i].time_s *= factor[i < 12 ? 0 : 1];
            }
            for (int i = 0; i < 12; i++) {
                double values = 1.3e5 * pow(2.2, i);
                llmperf_op op = llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, values, values);
                put(&later, op, LLMPERF_SAMPLE_ELEMENTWISE);
                later.samples.sample[i].time_s *= factor[2];
            }
            llmperf_fits fits = run(&m, NULL);
            llmperf_calib_entry e = only(&fits);
            llmperf_fit_score score;
            cr_assert(llmperf_fit_judge(&later.samples, &later.hw, NULL, &e, &score));
            inside[pairs > 0] += score.coverage_frac;
            seen += pairs > 0;
            rho += pairs > 0 ? e.correlation : 0;
            cr_expect((strstr(e.remarks, "5 measured twice") != NULL) == (pairs > 0), "%s",
                      e.remarks);
            llmperf_samples_free(&m.samples);
            llmperf_samples_free(&later.samples);
        }
    /* sqrt 2 of 10 % beside 2 % of noise: next to nothing is covered; one pair of runs is one
     * observation of a variance, so coverage stays below what many runs would give */
    cr_expect(inside[0] / seen < 0.5, "without pairs %.2f", inside[0] / seen);
    cr_expect(inside[1] / seen > 0.65 && inside[1] / seen < 0.95, "with pairs %.2f",
              inside[1] / seen);
    cr_expect(rho / seen > 0.5, "the factor is common to all: rho %.2f", rho / seen);
}

/* Independent noise is no drift: pairs change nothing. */
Test(fit, repeats_of_a_steady_device_widen_nothing)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ELEMENTWISE);
    t.param[LLMPERF_PARAM_MEMORY] = 0.6;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    double sum = 0;
    enum { TRIALS = 40 };
    for (int trial = 0; trial < TRIALS; trial++) {
        maker m = make(t, 0.02, 0);
        m.r.state = (uint64_t)trial + 77;
        for (int i = 0; i < 60; i++) {
            double values = 1e5 * pow(1.2, i % 50);
            put(&m, llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, values, values),
                LLMPERF_SAMPLE_ELEMENTWISE);
        }
        llmperf_fits fits = run(&m, NULL);
        sum += only(&fits).residual;
        llmperf_samples_free(&m.samples);
    }
    cr_expect(sum / TRIALS > 0.018 && sum / TRIALS < 0.025, "residual %.4f", sum / TRIALS);
}

/* Every other sample was taken while memory, and the stream beside it, took `slower` times as long. */
static void slow_half(maker *m, double alone_bytes_per_s, double slower)
{
    for (int64_t i = 0; i < m->samples.count; i++) {
        llmperf_sample *s = &m->samples.sample[i];
        s->stream_bytes_per_s = alone_bytes_per_s;
        if (i % 2 == 0)
            continue;
        double noise = s->time_s / true_time(m, &s->op);
        llmperf_op slowed = llmperf_op_slowed(&s->op, slower);
        s->time_s = noise * true_time(m, &slowed);
        s->stream_bytes_per_s = alone_bytes_per_s / slower;
    }
}

static maker unsteady_products(double noise)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.7;
    t.param[LLMPERF_PARAM_MEMORY] = 0.8;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    t.param[LLMPERF_PARAM_NORM] = 2;
    maker m = make(t, noise, 0);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 8192);
    return m;
}

/* A hypervisor that moves processors about, a neighbour that comes and goes: memory has two speeds. */
Test(fit, slow_memory_beside_a_sample_is_allowed_for)
{
    maker m = unsteady_products(0.02);
    slow_half(&m, 60e9, 1.7);
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true});
    cr_expect(is_near(fits.stream_bytes_per_s, 60e9, 1e-9), "%g", fits.stream_bytes_per_s);
    llmperf_calib_entry e = only(&fits);
    expect_param(&e, &m.truth, LLMPERF_PARAM_COMPUTE, 0.02);
    expect_param(&e, &m.truth, LLMPERF_PARAM_MEMORY, 0.02);
    expect_param(&e, &m.truth, LLMPERF_PARAM_LAUNCH, 0.02);
    expect_param(&e, &m.truth, LLMPERF_PARAM_NORM, 0.02);
    cr_expect(e.quality.median_frac < 0.03, "%g", e.quality.median_frac);
    /* the same times, of which nobody says how fast memory was */
    for (int64_t i = 0; i < m.samples.count; i++)
        m.samples.sample[i].stream_bytes_per_s = 0;
    fits = run(&m, &(llmperf_fit_options){.plain = true});
    cr_expect(fits.stream_bytes_per_s == 0);
    e = only(&fits);
    cr_expect(!is_near(e.param[LLMPERF_PARAM_MEMORY], 0.8, 0.05));
    llmperf_samples_free(&m.samples);
}

/* Cores take bytes in at a rate of their own: memory that changes tells the two apart. */
Test(fit, what_cores_take_in_is_told_from_memory)
{
    maker m = unsteady_products(0.02);
    m.truth.param[LLMPERF_PARAM_MEMORY] = 0.9;
    m.truth.param[LLMPERF_PARAM_FEED] = 1.3;
    for (int64_t i = 0; i < m.samples.count; i++)
        m.samples.sample[i].time_s =
            true_time(&m, &m.samples.sample[i].op) * exp(m.noise * normal(&m.r));
    slow_half(&m, 60e9, 1.7);
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true});
    llmperf_calib_entry e = only(&fits);
    expect_param(&e, &m.truth, LLMPERF_PARAM_COMPUTE, 0.02);
    expect_param(&e, &m.truth, LLMPERF_PARAM_MEMORY, 0.05);
    expect_param(&e, &m.truth, LLMPERF_PARAM_FEED, 0.05);
    /* what it says of memory at its best, without cores that wait for it */
    llmperf_op op = llmperf_sample_gemm(LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_NONE, 4, 8192, 8192);
    llmperf_op fast = llmperf_op_slowed(&op, 0.5);
    static llmperf_calib fitted;
    calib_init(&fitted);
    cr_assert(calib_add(&fitted, &e, NULL) == LLMPERF_OK);
    cr_expect(is_near(time_op(&fast, &m.hw, &fitted, NULL, NULL), true_time(&m, &fast), 0.02));
    llmperf_samples_free(&m.samples);
}

/* Memory that is slow, or fast, for one sample in six, and cores that hide some of it: the 90 % interval
 * holds what that makes of the time, though a straight line from the usual memory does not. */
Test(fit, intervals_hold_what_another_memory_makes_of_the_time)
{
    static const double slower[] = {1.8, 1 / 1.8};
    for (int way = 0; way < 2; way++) {
        maker m = unsteady_products(0.02);
        m.truth.param[LLMPERF_PARAM_MEMORY] = 0.9;
        m.truth.param[LLMPERF_PARAM_FEED] = way == 0 ? 1.4 : 0.8;
        m.truth.param[LLMPERF_PARAM_NORM] = 4;
        for (int64_t i = 0; i < m.samples.count; i++) {
            llmperf_sample *s = &m.samples.sample[i];
            const double by = i % 6 == 0 ? slower[way] : 1;
            llmperf_op now = llmperf_op_slowed(&s->op, by);
            s->time_s = true_time(&m, &now) * exp(m.noise * normal(&m.r));
            s->stream_bytes_per_s = 60e9 / by;
        }
        llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true});
        cr_expect(is_near(fits.stream_bytes_per_s, 60e9, 1e-9));
        llmperf_calib_entry e = only(&fits);
        static llmperf_calib fitted;
        calib_init(&fitted);
        cr_assert(calib_add(&fitted, &e, NULL) == LLMPERF_OK);
        llmperf_op op = llmperf_sample_gemm(LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_NONE, 2, 8192, 8192);
        llmperf_op then = llmperf_op_slowed(&op, slower[way]);
        llmperf_gradient g;
        double usual = time_op(&op, &m.hw, &fitted, NULL, &g);
        double spread = fit_half_width(&e, g.dlog[0], 1.6449);
        double reached = fabs(log(true_time(&m, &then) / usual));
        /* to 1 %, which 2 % of noise may put the fit off by; and not far beyond */
        cr_expect(spread >= reached - 0.01 && spread < reached + 0.25, "%d: %g, to hold %g", way,
                  spread, reached);
        llmperf_samples_free(&m.samples);
    }
}

/* One row: bytes and FLOP are proportional, yet memory and cores are told apart. */
Test(fit, one_row_is_told_from_memory_too)
{
    maker m = unsteady_products(0.02);
    m.samples.count = 0;
    m.truth.param[LLMPERF_PARAM_COMPUTE] = 1;
    m.truth.param[LLMPERF_PARAM_NORM] = INFINITY;
    m.truth.param[LLMPERF_PARAM_FEED] = 1.6;
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 1);
    slow_half(&m, 60e9, 1.7);
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.gemv_apart = true});
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.key.gemv);
    expect_param(&e, &m.truth, LLMPERF_PARAM_FEED, 0.03);
    expect_param(&e, &m.truth, LLMPERF_PARAM_MEMORY, 0.08);
    llmperf_samples_free(&m.samples);
}

/* The fit is for memory as it mostly was, not as it was at best. */
Test(fit, memory_that_is_mostly_slow_is_the_rule)
{
    maker m = unsteady_products(0.02);
    slow_half(&m, 60e9, 1.7);
    for (int64_t i = 0; i < m.samples.count; i += 4) { /* three of four are slow now */
        llmperf_sample *s = &m.samples.sample[i];
        llmperf_op slowed = llmperf_op_slowed(&s->op, 1.7);
        s->time_s *= true_time(&m, &slowed) / true_time(&m, &s->op);
        s->stream_bytes_per_s = 60e9 / 1.7;
    }
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true});
    cr_expect(is_near(fits.stream_bytes_per_s, 60e9 / 1.7, 1e-9), "%g", fits.stream_bytes_per_s);
    llmperf_calib_entry e = only(&fits);
    cr_expect(is_near(e.param[LLMPERF_PARAM_MEMORY], 0.8 / 1.7, 0.02), "%g",
              e.param[LLMPERF_PARAM_MEMORY]);
    expect_param(&e, &m.truth, LLMPERF_PARAM_COMPUTE, 0.02);
    llmperf_samples_free(&m.samples);
}

/* An operator measured twice, once with slow memory: no drift, as far as the fit knows memory. */
Test(fit, memory_that_changed_is_no_drift)
{
    maker m = unsteady_products(0.01);
    m.truth.param[LLMPERF_PARAM_FEED] =
        2; /* cores decide: slow memory costs less than it is slower */
    for (int64_t i = 0; i < m.samples.count; i++)
        m.samples.sample[i].time_s = true_time(&m, &m.samples.sample[i].op);
    int64_t count = m.samples.count;
    for (int64_t i = 0; i < count; i += 7) {
        llmperf_sample again = m.samples.sample[i];
        cr_assert(llmperf_samples_add(&m.samples, &again, NULL) == LLMPERF_OK);
    }
    for (int64_t i = 0; i < m.samples.count; i++) {
        llmperf_sample *s = &m.samples.sample[i];
        llmperf_op now = llmperf_op_slowed(&s->op, i < count ? 1 : 1.7);
        s->time_s = true_time(&m, &now) * exp(m.noise * normal(&m.r));
        s->stream_bytes_per_s = 60e9 / (i < count ? 1 : 1.7);
    }
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.plain = true});
    llmperf_calib_entry e = only(&fits);
    cr_expect(strstr(e.remarks, "measured twice") != NULL, "%s", e.remarks);
    cr_expect(e.residual < 0.025, "%g: %s", e.residual, e.remarks);
    llmperf_samples_free(&m.samples);
}

/* How fast memory will be is not known: that widens what it bounds, and nothing else. */
Test(fit, an_unsteady_memory_widens_what_it_bounds)
{
    maker m = unsteady_products(0.01);
    slow_half(&m, 60e9, 1);
    llmperf_fits steady = run(&m, NULL);
    llmperf_calib_entry a = only(&steady);
    slow_half(&m, 60e9, 1.7);
    llmperf_fits moving = run(&m, NULL);
    llmperf_calib_entry b = only(&moving);
    double share = sqrt(b.covariance[LLMPERF_PARAM_MEMORY][LLMPERF_PARAM_MEMORY]) /
                   b.param[LLMPERF_PARAM_MEMORY];
    /* half of them ln 1.7 off, the others not at all */
    cr_expect(is_near(share, log(1.7) / sqrt(2), 0.02), "%g", share);
    cr_expect(is_near(a.covariance[LLMPERF_PARAM_COMPUTE][LLMPERF_PARAM_COMPUTE],
                      b.covariance[LLMPERF_PARAM_COMPUTE][LLMPERF_PARAM_COMPUTE], 0.5));
    cr_expect(is_near(a.residual, b.residual, 0.1));
    llmperf_samples_free(&m.samples);
}

/* Nothing is left out in silence. */
Test(fit, more_fits_than_there_is_room_for_are_refused)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ELEMENTWISE);
    maker m = make(t, 0.01, 0);
    for (int i = 0; i < 513; i++) {
        char name[16];
        snprintf(name, sizeof name, "lib-%d", i);
        cr_assert(llmperf_samples_name(&m.samples, name, &m.library, NULL) == LLMPERF_OK);
        put(&m, llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, 1e7, 1e7),
            LLMPERF_SAMPLE_ELEMENTWISE);
    }
    llmperf_fits fits = {0};
    error = (llmperf_error){0};
    cr_expect(llmperf_fit(&m.samples, &m.hw, NULL, &fits, &error) == LLMPERF_E_USAGE);
    cr_expect(strstr(error.text, "more than 512 fits"), "%s", error.text);
    llmperf_samples_free(&m.samples);
}

/* A fit of samples that have nothing in common is no fit. */
Test(fit, samples_that_contradict_each_other_are_no_calibration)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ELEMENTWISE);
    t.param[LLMPERF_PARAM_MEMORY] = 0.6;
    maker m = make(t, 3, 0); /* noise of a factor of 20 */
    for (double values = 1e5; values < 1e9; values *= 1.5)
        put(&m, llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, values, values),
            LLMPERF_SAMPLE_ELEMENTWISE);
    for (int64_t i = 0; i < m.samples.count; i++) /* none below the roofline */
        m.samples.sample[i].time_s *= 1e4;
    llmperf_fits fits = run(&m, NULL);
    cr_assert(fits.count == 1 && fits.fit[0].status == LLMPERF_E_FIT);
    cr_expect(strstr(fits.fit[0].why, "disagree by a factor of"), "%s", fits.fit[0].why);
    llmperf_fits_free(&fits);
    llmperf_samples_free(&m.samples);
}

/* Over many repetitions the parameters scatter as their standard errors say. */
Test(fit, standard_errors_are_the_scatter_of_repetitions)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ELEMENTWISE);
    t.param[LLMPERF_PARAM_MEMORY] = 0.7;
    t.param[LLMPERF_PARAM_LAUNCH] = 3e-6;
    double sum = 0, squares = 0, errors = 0;
    int trials = CASES(200) > 40 ? CASES(200) : 40;
    for (int trial = 0; trial < trials; trial++) {
        maker m = make(t, 0.05, 0);
        m.r.state = (uint64_t)trial + 99;
        for (double values = 1e5; values < 1e9; values *= 1.3)
            put(&m, llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, values, values),
                LLMPERF_SAMPLE_ELEMENTWISE);
        llmperf_fits fits = run(&m, NULL);
        llmperf_calib_entry e = only(&fits);
        double x = e.param[LLMPERF_PARAM_LAUNCH];
        sum += x;
        squares += x * x;
        errors += sqrt(e.covariance[LLMPERF_PARAM_LAUNCH][LLMPERF_PARAM_LAUNCH]);
        llmperf_samples_free(&m.samples);
    }
    double mean = sum / trials, scatter = sqrt(squares / trials - mean * mean);
    double said = errors / trials;
    cr_expect(is_near(mean, 3e-6, 0.02), "mean %g", mean);
    cr_expect(said > 0.75 * scatter && said < 1.5 * scatter, "said %g, scatter %g", said, scatter);
}

/*
 * The same where shapes of an octave of bytes share a shift of 10 %, noise apart 1 %: ten octaves tell
 * what a hundred independent samples would tell three times as well.
 */
Test(fit, standard_errors_know_that_families_err_together)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ELEMENTWISE);
    t.param[LLMPERF_PARAM_MEMORY] = 0.6;
    double sum = 0, squares = 0, errors = 0;
    int trials = CASES(200) > 40 ? CASES(200) : 40;
    for (int trial = 0; trial < trials; trial++) {
        maker m = make(t, 0.01, 0);
        m.r.state = (uint64_t)trial + 501;
        for (int octave = 0; octave < 10; octave++) {
            double shift = exp(0.1 * normal(&m.r));
            for (int i = 0; i < 10; i++) {
                double values = ldexp(1 + 0.09 * i, 24 + octave);
                put(&m, llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, values, values),
                    LLMPERF_SAMPLE_ELEMENTWISE);
                m.samples.sample[m.samples.count - 1].time_s *= shift;
            }
        }
        llmperf_fits fits = run(&m, NULL);
        llmperf_calib_entry e = only(&fits);
        double x = log(e.param[LLMPERF_PARAM_MEMORY]);
        sum += x;
        squares += x * x;
        errors += sqrt(e.covariance[LLMPERF_PARAM_MEMORY][LLMPERF_PARAM_MEMORY]) /
                  e.param[LLMPERF_PARAM_MEMORY];
        llmperf_samples_free(&m.samples);
    }
    double mean = sum / trials, scatter = sqrt(squares / trials - mean * mean);
    double said = errors / trials;
    cr_expect(scatter > 0.025 && scatter < 0.05, "%g", scatter);
    cr_expect(said > 0.7 * scatter && said < 1.5 * scatter, "said %g, scatter %g", said, scatter);
}

/* ---- what few samples cannot know ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What nine tenths of |log(measured / predicted)| stay below, over 1.645: linear between neighbours. */
static double residual_by_hand(const maker *m, const llmperf_calib_entry *e)
{
    double off[64];
    const int n = (int)m->samples.count;
    maker fitted = *m;
    fitted.truth = *e;
    cr_assert(n <= 64);
    for (int i = 0; i < n; i++)
        off[i] =
            fabs(log(m->samples.sample[i].time_s / true_time(&fitted, &m->samples.sample[i].op)));
    qsort(off, (size_t)n, sizeof *off, ascending);
    double at = 0.9 * (n - 1);
    int below = (int)at;
    double above = off[below + 1 < n ? below + 1 : below];
    return (off[below] + (at - below) * (above - off[below])) / 1.6448536269514722;
}

/* Large streams of one octave, off by so much each: nothing but the bandwidth is to be told. */
static maker streams_off_by(const double *off, int count, int times)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ELEMENTWISE);
    t.param[LLMPERF_PARAM_MEMORY] = 0.6;
    maker m = make(t, 0, 0);
    for (int i = 0; i < count; i++) {
        double values = ldexp(1 + 0.9 * (i / times) / count, 28);
        put(&m, llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, values, values),
            LLMPERF_SAMPLE_ELEMENTWISE);
        m.samples.sample[i].time_s *= exp(off[i]);
    }
    return m;
}

static llmperf_calib_entry fit_of_bandwidth(maker *m)
{
    llmperf_fits fits = run(m, NULL);
    llmperf_calib_entry e = only(&fits);
    cr_assert(e.fitted == UINT64_C(1) << LLMPERF_PARAM_MEMORY, "%s", e.remarks);
    cr_expect(e.quality.left_out_frac == 0, "one family: none can be left out");
    return e;
}

/*
 * Six samples and one parameter: five degrees of freedom. The residuals are sqrt(6 / 5) too small, and a
 * 95 % point of Student's t with 5 is 2.0150, not 1.6449 (any table; the expansion that stands for it is
 * good to half a percent).
 */
Test(fit, a_fit_of_few_samples_follows_them)
{
    static const double OFF[] = {-0.03, 0.02, -0.01, 0.01, -0.02, 0.03};
    maker m = streams_off_by(OFF, 6, 1);
    llmperf_calib_entry e = fit_of_bandwidth(&m);
    double want = residual_by_hand(&m, &e) * sqrt(6.0 / 5) * 2.0150484 / 1.6448536;
    cr_expect(is_near(e.residual, want, 6e-3), "%g, by hand %g", e.residual, want);
    llmperf_samples_free(&m.samples);
}

/*
 * Four operators measured twice. Where the second times are 6 % longer and shorter by turns there is no
 * drift: their mean is 0. Where all are 6 % longer the run drifted by that, and all of it counts. Eight
 * samples, one parameter: sqrt(8 / 7), and 1.8946 for Student's t with 7.
 */
Test(fit, repeats_tell_drift_from_noise)
{
    static const double BY_TURNS[] = {0, 0.06, 0, -0.06, 0, 0.06, 0, -0.06};
    static const double ALL[] = {0, 0.06, 0, 0.06, 0, 0.06, 0, 0.06};
    for (int drifts = 0; drifts < 2; drifts++) {
        maker m = streams_off_by(drifts ? ALL : BY_TURNS, 8, 2);
        llmperf_calib_entry e = fit_of_bandwidth(&m);
        double own = residual_by_hand(&m, &e) * sqrt(8.0 / 7) * 1.8945786 / 1.6448536;
        double want = sqrt(own * own + (drifts ? 0.06 * 0.06 : 0));
        cr_expect(is_near(e.residual, want, 3e-3), "%g, by hand %g (%s)", e.residual, want,
                  e.remarks);
        cr_expect(strstr(e.remarks, drifts ? "4 measured twice: +6.0 %"
                                           : "4 measured twice: +0.0 %") != NULL ||
                      (!drifts && strstr(e.remarks, "4 measured twice: -0.0 %") != NULL),
                  "%s", e.remarks);
        llmperf_samples_free(&m.samples);
    }
}

/*
 * Two octaves of bytes, one 5 % faster and one 5 % slower than the fit of both. A fit without the one
 * stands at the other: off by exp(0.1) - 1 and exp(-0.1) - 1, 0.1052 and 0.0952. What shapes left out
 * err by widens the residual: mean |x| of a normal distribution is 0.798 deviations.
 */
Test(fit, an_octave_left_out_errs_by_twice_its_shift)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_ELEMENTWISE);
    t.param[LLMPERF_PARAM_MEMORY] = 0.3;
    maker m = make(t, 0, 0);
    for (int octave = 0; octave < 2; octave++)
        for (int i = 0; i < 20; i++) {
            double values = ldexp(1 + 0.045 * i, 27 + octave);
            put(&m, llmperf_sample_elementwise(LLMPERF_DTYPE_BF16, values, values),
                LLMPERF_SAMPLE_ELEMENTWISE);
            m.samples.sample[m.samples.count - 1].time_s *= exp(octave ? 0.05 : -0.05);
        }
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.fitted == UINT64_C(1) << LLMPERF_PARAM_MEMORY, "%s", e.remarks);
    cr_expect(is_near(e.quality.left_out_frac, (0.10517 + 0.09516) / 2, 0.03), "%g",
              e.quality.left_out_frac);
    cr_expect(
        is_near(e.residual, log1p(e.quality.left_out_frac) / sqrt(2 / 3.14159265358979), 1e-3),
        "%g, left out %g", e.residual, e.quality.left_out_frac);
    llmperf_samples_free(&m.samples);
}

/* ---- manners ---- */

static void no_handler(const char *reason, const char *file, int line, int code)
{
    cr_assert(false, "GSL's handler was called: %s %s %d %d", reason, file, line, code);
}

Test(fit, gsl_keeps_the_handler_of_the_program)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    maker m = make(t, 0.01, 0);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 64);
    gsl_error_handler_t *before = gsl_set_error_handler(no_handler);
    llmperf_fits fits = run(&m, NULL);
    llmperf_fits_free(&fits);
    cr_expect(gsl_set_error_handler(before) == no_handler);
    llmperf_samples_free(&m.samples);
}

Test(fit, the_same_samples_give_the_same_bits)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_LAUNCH] = 2e-6;
    maker m = make(t, 0.03, 0.1);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 8192);
    llmperf_fit_options options = {.points = 200};
    llmperf_fits a = run(&m, &options), b = run(&m, &options);
    cr_expect(memcmp(a.fit[0].entry.param, b.fit[0].entry.param, sizeof a.fit[0].entry.param) == 0);
    cr_expect_str_eq(a.digest, b.digest);
    cr_expect(strncmp(a.digest, "fnv1a64:", 8) == 0);
    m.samples.sample[0].time_s *= 1.0000001;
    llmperf_fits c = run(&m, &options);
    cr_expect(strcmp(a.digest, c.digest) != 0);
    llmperf_fits_free(&a);
    llmperf_fits_free(&b);
    llmperf_fits_free(&c);
    llmperf_samples_free(&m.samples);
}

Test(fit, what_cannot_be_fitted_is_said)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    llmperf_hw hw = part();
    llmperf_samples none = {0};
    llmperf_fits fits = {0};
    error = (llmperf_error){0};
    cr_expect(llmperf_fit(&none, &hw, NULL, &fits, &error) == LLMPERF_E_FIT);
    cr_expect(strstr(error.text, "no sample to fit: 0 were read") != NULL, "%s", error.text);

    maker m = make(t, 0.01, 0);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 1);
    int32_t other;
    llmperf_samples_name(&m.samples, "other-part", &other, NULL);
    for (int64_t i = 0; i < m.samples.count; i++)
        m.samples.sample[i].hw = other;
    error = (llmperf_error){0};
    cr_expect(llmperf_fit(&m.samples, &hw, NULL, &fits, &error) == LLMPERF_E_FIT);
    cr_expect(strstr(error.text, "no sample is of part; the 49 that were read are of 'other-part'"),
              "%s", error.text);
    snprintf(hw.aliases[0], sizeof hw.aliases[0], "OTHER-part");
    hw.alias_count = 1;
    cr_expect(llmperf_fit(&m.samples, &hw, NULL, &fits, &error) == LLMPERF_OK);
    llmperf_fits_free(&fits);
    llmperf_samples_free(&m.samples);

    m = make(t, 0.01, 0);
    put(&m, llmperf_sample_gemm(LLMPERF_DTYPE_BF16, 0, 1, 64, 64), LLMPERF_SAMPLE_GEMM);
    fits = run(&m, NULL);
    cr_expect(fits.count == 1 && fits.fit[0].status == LLMPERF_E_FIT);
    cr_expect(strstr(fits.fit[0].why, "1 usable samples; at least 4 are needed") != NULL, "%s",
              fits.fit[0].why);
    llmperf_fits_free(&fits);
    llmperf_samples_free(&m.samples);

    /* int8 has no peak here: the operators cannot be timed */
    m = make(t, 0.01, 0);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 1);
    for (int64_t i = 0; i < m.samples.count; i++)
        m.samples.sample[i].op.dtype = LLMPERF_DTYPE_INT8;
    fits = run(&m, NULL);
    cr_expect(fits.fit[0].status == LLMPERF_E_FIT &&
              fits.fit[0].entry.key.dtype == LLMPERF_DTYPE_INT8);
    llmperf_fits_free(&fits);
    llmperf_samples_free(&m.samples);
}

Test(fit, two_libraries_do_not_mix)
{
    llmperf_calib_entry t = truth_of(LLMPERF_KIND_GEMM);
    t.param[LLMPERF_PARAM_LAUNCH] = 2e-6;
    maker m = make(t, 0.01, 0);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 1024);
    llmperf_samples_name(&m.samples, "other", &m.library, NULL);
    put_products(&m, LLMPERF_DTYPE_BF16, 1, 1024);
    llmperf_fits fits = run(&m, NULL);
    cr_assert(fits.count == 2);
    error = (llmperf_error){0};
    cr_expect(put_fits(&fits, &calib) == LLMPERF_E_USAGE);
    cr_expect(strstr(error.text, "two libraries have a fit for gemm bf16: 'lib' and 'other'"), "%s",
              error.text);
    llmperf_fits_free(&fits);
    const char *const one[] = {"other", NULL};
    fits = run(&m, &(llmperf_fit_options){.libraries = one});
    cr_assert(fits.count == 1);
    cr_expect_str_eq(fits.fit[0].entry.library, "other");
    llmperf_fits_free(&fits);
    llmperf_samples_free(&m.samples);
}

/* A small extract of a public collection: the form fits it far better than the datasheet does. */
Test(fit, a_public_extract)
{
    char path[1024];
    llmperf_hw hw;
    const char *source = getenv("LLMPERF_SOURCE");
    llmperf_samples samples = {0};
    llmperf_fits fits = {0};
    snprintf(path, sizeof path, "%s/specs/hardware/h100-sxm.yaml", source ? source : ".");
    cr_assert(llmperf_hw_load(path, &hw, &error) == LLMPERF_OK, "%s", error.text);
    snprintf(path, sizeof path, "%s/tests/data/ops/aic_gemm_h100_sxm_bfloat16.csv",
             source ? source : ".");
    cr_assert(llmperf_samples_read(&samples, path, NULL, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_fit(&samples, &hw, NULL, &fits, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(fits.count == 3); /* vLLM, TensorRT-LLM, SGLang */
    for (int i = 0; i < 3; i++) {
        const llmperf_calib_quality *q = &fits.fit[i].entry.quality;
        cr_expect(fits.fit[i].status == LLMPERF_OK, "%s", fits.fit[i].why);
        cr_expect(q->mean_frac < 0.08 && q->mean_frac < 0.5 * q->roofline_frac, "%g %g",
                  q->mean_frac, q->roofline_frac);
    }
    llmperf_fits_free(&fits);
    llmperf_samples_free(&samples);
}

/* ---- prompts beside decoding sequences, as the fake device times them ---- */

/* Chunks of a prompt beside batches of decoding sequences, of even and uneven length. */
static void time_mixed(const char *options, int repeat, llmperf_samples *samples)
{
    static const double layouts[][2] = {{32, 8}, {16, 4}, {64, 8}, {8, 8}};
    const llmperf_backend *fake = llmperf_backend_fake();
    void *handle = NULL;
    rng r = {.state = 77};
    int32_t library;
    cr_assert(llmperf_samples_name(samples, "formula", &library, NULL) == LLMPERF_OK);
    cr_assert(fake->open(0, options, &handle, &error) == LLMPERF_OK, "%s", error.text);
    for (int i = 0; i < repeat; i++) {
        const double *heads = layouts[rng_int(&r, 0, 3)];
        llmperf_mixed_shape shape = {.prompt = {.dtype = LLMPERF_DTYPE_BF16,
                                                .sequences = 1,
                                                .query_tokens = rng_log_int(&r, 16, 2048),
                                                .past_tokens = rng_log_int(&r, 1, 16384) - 1,
                                                .heads = heads[0],
                                                .kv_heads = heads[1],
                                                .head_dim = 128},
                                     .lone_sequences = rng_log_int(&r, 1, 128),
                                     .lone_past = rng_log_int(&r, 16, 16384)};
        if (rng_chance(&r, 0.5))
            shape.lone_longest_past = shape.lone_past * rng_real(&r, 1, 4);
        llmperf_probe probe = {.kind = LLMPERF_PROBE_OP, .op = llmperf_sample_mixed(&shape)};
        llmperf_sample s = {
            .op = probe.op, .kind = LLMPERF_SAMPLE_ATTN_MIXED, .copies = 1, .library = library};
        unsigned flags = 0;
        cr_assert(fake->supports(handle, &probe, &error), "%s", error.text);
        cr_assert(fake->time_op(handle, &probe, 1, &s.time_s, &flags, &error) == LLMPERF_OK);
        cr_assert(llmperf_samples_add(samples, &s, NULL) == LLMPERF_OK);
    }
    fake->close(handle);
}

/* What specs/hardware/fake.yaml says of it. */
static llmperf_hw fake_part(void)
{
    llmperf_hw hw = {.name = "fake",
                     .kind = "accelerator",
                     .mem_bytes_per_s = 1e12,
                     .units = 64,
                     .l2_bytes = 32 * 1048576.0,
                     .memory_bytes = 64e9};
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 40e12;
    return hw;
}

/* The fake device has its formula from elsewhere: 3 % noise, 5 % outliers of twice the time. */
Test(fit, mixed_launches_of_the_fake_come_back)
{
    maker m = {.hw = fake_part()};
    time_mixed("noise=0.03,outliers=0.05,outlier_factor=2", 6000, &m.samples);
    llmperf_fits fits = run(&m, &(llmperf_fit_options){.points = 6000});
    llmperf_calib_entry e = only(&fits), t = truth_of(LLMPERF_KIND_ATTENTION);
    cr_expect(e.key.regime == LLMPERF_REGIME_MIXED && e.key.kind == LLMPERF_KIND_ATTENTION);
    t.param[LLMPERF_PARAM_COMPUTE] = 0.5;
    t.param[LLMPERF_PARAM_MEMORY] = 0.9;
    t.param[LLMPERF_PARAM_LAUNCH] = 5e-6;
    t.param[LLMPERF_PARAM_NORM] = 2;
    t.param[LLMPERF_PARAM_TILE_ROWS] = 60;
    t.param[LLMPERF_PARAM_UNSPLIT] = 110;
    t.param[LLMPERF_PARAM_GROUP_READS] = 0.8;
    t.param[LLMPERF_PARAM_QUERY_WORK] = 3e-6;
    t.param[LLMPERF_PARAM_IDLE_BLOCK] = 0.4e-6;
    expect_param(&e, &t, LLMPERF_PARAM_COMPUTE, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_MEMORY, 0.05);
    expect_param(&e, &t, LLMPERF_PARAM_LAUNCH, 0.05);
    expect_param(&e, &t, LLMPERF_PARAM_NORM, 0.05);
    expect_param(&e, &t, LLMPERF_PARAM_TILE_ROWS, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_UNSPLIT, 0.02);
    expect_param(&e, &t, LLMPERF_PARAM_GROUP_READS, 0.1);
    expect_param(&e, &t, LLMPERF_PARAM_QUERY_WORK, 0.03);
    expect_param(&e, &t, LLMPERF_PARAM_IDLE_BLOCK, 0.03);
    cr_expect(e.quality.median_frac < 0.03 && e.quality.groups > 20);
    cr_expect(e.quality.left_out_frac < 0.1, "%g", e.quality.left_out_frac);
    llmperf_samples_free(&m.samples);
}

Test(fit, mixed_launches_without_noise_leave_nothing)
{
    maker m = {.hw = fake_part()};
    time_mixed("noise=0", 2000, &m.samples);
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    cr_expect(e.quality.p90_frac < 1e-3, "%g", e.quality.p90_frac);
    cr_expect(is_near(e.param[LLMPERF_PARAM_UNSPLIT], 110, 1e-3));
    llmperf_samples_free(&m.samples);
}

/* Intervals hold what samples of another draw measure. */
Test(fit, mixed_intervals_hold_what_they_promise)
{
    maker m = {.hw = fake_part()};
    llmperf_samples other = {0};
    time_mixed("noise=0.1,seed=1", 3000, &m.samples);
    time_mixed("noise=0.1,seed=2", 3000, &other);
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    llmperf_fit_score score;
    cr_assert(llmperf_fit_judge(&other, &m.hw, NULL, &e, &score));
    cr_expect(score.coverage_frac > 0.87 && score.coverage_frac < 0.93, "%g", score.coverage_frac);
    llmperf_samples_free(&other);
    llmperf_samples_free(&m.samples);
}

Test(fit, a_device_that_splits_and_packs_has_no_such_costs)
{
    maker m = {.hw = fake_part()};
    time_mixed("noise=0.03,tile_rows=0,unsplit_rows=0,group_reads=0,block=0,idle_block=0", 3000,
               &m.samples);
    llmperf_fits fits = run(&m, NULL);
    llmperf_calib_entry e = only(&fits);
    cr_expect(is_near(e.param[LLMPERF_PARAM_COMPUTE], 0.5, 0.03), "%s", e.remarks);
    cr_expect(is_near(e.param[LLMPERF_PARAM_MEMORY], 0.9, 0.05), "%s", e.remarks);
    cr_expect(e.param[LLMPERF_PARAM_TILE_ROWS] < 0.5 && e.param[LLMPERF_PARAM_GROUP_READS] < 0.02);
    cr_expect(e.param[LLMPERF_PARAM_UNSPLIT] < 2 && e.param[LLMPERF_PARAM_QUERY_WORK] < 1e-8);
    cr_expect(e.quality.median_frac < 0.03);
    llmperf_samples_free(&m.samples);
}
