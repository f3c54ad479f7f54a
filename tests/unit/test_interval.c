/* SPDX-License-Identifier: MIT */
/*
 * Intervals by hand (docs/model.md, "Uncertainty" and "Bounds"): what each source of error adds to a
 * sum of times, the floor, the published spread, and when an estimate is but a bound. Round figures
 * (random_case.h): 1e12 flop/s, 1e10 bytes/s, a link of 1e9 bytes/s with a latency of 1 us.
 */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "llmperf/runs.h"
#include "random_case.h"
#include "steps.h"
#include "config_object.h"
#include "fits.h"
#include "config.h"
#include "time_op.h"

static const double Z90 = 1.6448536269514722; /* P(|N(0,1)| < Z90) = 0.9 */
/* 95th percentiles of measured / roofline: docs/model.md, "Bounds" */
static const double DECODE_SPREAD = 5.6, PREFILL_SPREAD = 6.0;
static const double BEST = 1.05; /* what parts beat their datasheets by, at most */

static llmperf_hw hw;
static llmperf_calib calib;

static llmperf_calib_entry *add_entry(llmperf_op_kind kind, llmperf_regime regime,
                                      llmperf_dtype dtype)
{
    llmperf_error error = {0};
    llmperf_calib_entry entry = calib_ideal(kind);
    cr_assert(calib_set(&calib, kind, regime, dtype, &entry, &error) == LLMPERF_OK, "%s",
              error.text);
    return &calib.entry[calib.index[kind][regime][dtype]];
}

/* An operator of a kind without arithmetic: `ms` milliseconds of bytes at the full bandwidth. */
static llmperf_op streams(llmperf_op_kind kind, double ms, double repeat)
{
    return (llmperf_op){.kind = (uint8_t)kind,
                        .dtype = LLMPERF_DTYPE_BF16,
                        .launches = 1,
                        .devices = 1,
                        .repeat = repeat,
                        .bytes = ms * 1e7};
}

static llmperf_estimate estimate(const llmperf_op *ops, int count)
{
    const llmperf_config c = {.hw = &hw, .calib = &calib, .workload = {.confidence = 0.9}};
    return llmperf_estimate_ops(&c, ops, count, room());
}

static void expect_near(double got, double want)
{
    cr_expect(is_near(got, want, 1e-9), "%.12g, by hand %.12g", got, want);
}

static void set_up(void)
{
    hw = toy_hw();
    calib_init(&calib);
}

TestSuite(interval, .init = set_up);

/* ---- what each source adds ---- */

/*
 * Residual 0.1, rho 1/4; a shape of 1 ms three times, another of 1 ms once. Repeats share one error:
 * 3 ms and 1 ms, of which squares are 9 + 1, the square of the sum is 16:
 *   variance = 0.01 (3/4 x 10 + 1/4 x 16) = 0.115 ms^2
 */
Test(interval, shapes_of_a_fit_correlate_with_its_rho)
{
    llmperf_calib_entry *e = add_entry(LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16);
    e->residual = 0.1;
    e->correlation = 0.25;
    const llmperf_op ops[] = {streams(LLMPERF_KIND_GEMM, 1, 3), streams(LLMPERF_KIND_GEMM, 1, 1)};
    llmperf_estimate got = estimate(ops, 2);
    expect_near(got.value, 4e-3);
    expect_near(got.high, 4e-3 * exp(Z90 * sqrt(0.115) / 4));
    e->correlation = 0; /* 0.01 x 10 */
    expect_near(estimate(ops, 2).high, 4e-3 * exp(Z90 * sqrt(0.1) / 4));
    e->correlation = 1; /* as one: 10 % of the whole */
    expect_near(estimate(ops, 2).high, 4e-3 * exp(Z90 * 0.1));
}

/* Fits of two kinds are independent: 10 % of 3 ms and 20 % of 1 ms, (0.09 + 0.04) ms^2. */
Test(interval, fits_are_independent)
{
    llmperf_calib_entry *e = add_entry(LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16);
    e->residual = 0.1;
    e->correlation = 1;
    e = add_entry(LLMPERF_KIND_ELEMENTWISE, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16);
    e->residual = 0.2;
    e->correlation = 1;
    const llmperf_op ops[] = {streams(LLMPERF_KIND_GEMM, 3, 1),
                              streams(LLMPERF_KIND_ELEMENTWISE, 1, 1)};
    expect_near(estimate(ops, 2).high, 4e-3 * exp(Z90 * sqrt(0.13) / 4));
}

/*
 * 1.5e9 flop at half of the peak: 3 ms; 8e6 bytes at 0.8 of the bandwidth: 1 ms; they add. A second
 * launch of the same is 4 ms more, and errs the same way: everything twice.
 *   v = d t / d e = -3 / 0.5 = -6 and -1 / 0.8 = -1.25 ms, twice -12 and -2.5
 *   C = 0.05^2, 0.04^2, between them -0.001
 *   v' C v = 144 x 0.0025 + 6.25 x 0.0016 - 2 x 12 x 2.5 x 0.001 = 0.36 + 0.01 - 0.06 = 0.31 ms^2
 */
Test(interval, parameters_err_together_wherever_they_are_used)
{
    llmperf_calib_entry *e = add_entry(LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16);
    e->param[LLMPERF_PARAM_COMPUTE] = 0.5;
    e->param[LLMPERF_PARAM_MEMORY] = 0.8;
    e->param[LLMPERF_PARAM_NORM] = 1;
    e->covariance[LLMPERF_PARAM_COMPUTE][LLMPERF_PARAM_COMPUTE] = 0.0025;
    e->covariance[LLMPERF_PARAM_MEMORY][LLMPERF_PARAM_MEMORY] = 0.0016;
    e->covariance[LLMPERF_PARAM_COMPUTE][LLMPERF_PARAM_MEMORY] = -0.001;
    e->covariance[LLMPERF_PARAM_MEMORY][LLMPERF_PARAM_COMPUTE] = -0.001;
    llmperf_op op = streams(LLMPERF_KIND_GEMM, 0.8, 1);
    op.flop = 1.5e9;
    const llmperf_op twice[] = {op, op};
    llmperf_estimate got = estimate(twice, 2);
    expect_near(got.value, 8e-3);
    expect_near(got.high, 8e-3 * exp(Z90 * sqrt(0.31) / 8));
    expect_near(got.low, 8e-3 / exp(Z90 * sqrt(0.31) / 8));
}

/*
 * A chunk over a cache is joined from two fits, each with a residual of 20 %: half of the time errs
 * with one and half with the other, 2 x 0.04 / 4 of its square.
 */
Test(interval, a_joined_operator_carries_half_of_each_residual)
{
    static const llmperf_regime ENDS[] = {LLMPERF_REGIME_PREFILL, LLMPERF_REGIME_DECODE};
    for (int i = 0; i < 2; i++) {
        llmperf_calib_entry *e = add_entry(LLMPERF_KIND_ATTENTION, ENDS[i], LLMPERF_DTYPE_BF16);
        e->residual = 0.2;
        e->correlation = i; /* of one operator it makes no difference */
    }
    llmperf_op op = streams(LLMPERF_KIND_ATTENTION, 2, 1);
    op.regime = LLMPERF_REGIME_EXTEND;
    op.sequences = 1;
    op.query_tokens = 16;
    op.past_tokens = 64;
    op.heads = op.kv_heads = 4;
    op.head_dim = op.value_dim = 8;
    llmperf_estimate got = estimate(&op, 1);
    expect_near(got.value, 2e-3);
    expect_near(got.high, 2e-3 * exp(Z90 * sqrt(0.02)));
}

/*
 * 3 ms of a borrowed fit (0.3 ms at the full bandwidth) and 1 ms of which there is none. Borrowing
 * adds 30 % to what is fitted alone; what is not fitted is a bound, up to the spread times as long.
 */
Test(interval, borrowing_widens_what_is_fitted_and_no_more)
{
    add_entry(LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16)
        ->param[LLMPERF_PARAM_MEMORY] = 0.1;
    calib.borrowed = 0.3;
    const llmperf_op ops[] = {streams(LLMPERF_KIND_GEMM, 0.3, 1),
                              streams(LLMPERF_KIND_ELEMENTWISE, 1, 1)};
    llmperf_estimate got = estimate(ops, 2);
    const double factor = exp(Z90 * 0.3);
    expect_near(got.value, 4e-3);
    expect_near(got.high, 3e-3 * factor + DECODE_SPREAD * 1e-3);
    expect_near(got.low, 3e-3 / factor + 1e-3);
    /* beside 40 % of its own: 50 % */
    calib.entry[0].residual = 0.4;
    calib.entry[0].correlation = 1;
    got = estimate(ops, 2);
    expect_near(got.high, 3e-3 * exp(Z90 * 0.5) + DECODE_SPREAD * 1e-3);
}

/* Nothing is faster than the part allows, by more than parts beat their datasheets. */
Test(interval, no_low_end_is_below_the_floor)
{
    llmperf_calib_entry *e = add_entry(LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16);
    e->param[LLMPERF_PARAM_MEMORY] = 0.5;
    e->residual = 0.6; /* exp(1.645 x 0.6) = 2.68 */
    const llmperf_op op = streams(LLMPERF_KIND_GEMM, 2, 1);
    llmperf_estimate got = estimate(&op, 1);
    expect_near(got.value, 4e-3);
    expect_near(got.low, 2e-3 / BEST);
    e->residual = 0.3; /* 4 / 1.638 = 2.44 ms: above the floor */
    expect_near(estimate(&op, 1).low, 4e-3 / exp(Z90 * 0.3));
}

/* An all-reduce of 1 MB a device: 1 ms at the link's bandwidth, 2 ms of launch on top. The latency of
 * a datasheet is an assumption, no floor. */
Test(interval, the_floor_of_a_collective_is_its_bytes_alone)
{
    llmperf_calib_entry *e =
        add_entry(LLMPERF_KIND_COLLECTIVE, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_NONE);
    e->param[LLMPERF_PARAM_LAUNCH] = 2e-3;
    e->residual = 1; /* 3 ms / 5.18 */
    const llmperf_op op = {.kind = LLMPERF_KIND_COLLECTIVE,
                           .collective = LLMPERF_COLLECTIVE_ALL_GATHER,
                           .launches = 1,
                           .devices = 2,
                           .repeat = 1,
                           .link_bytes = 1e6};
    llmperf_estimate got = estimate(&op, 1);
    expect_near(got.value, 3e-3);
    expect_near(got.low, 1e-3 / BEST);
}

/* P(|N(0,1)| < z): 68.27 % in one deviation, 95 % in 1.96, 99 % in 2.576 (any table). */
Test(interval, confidence_is_two_sided)
{
    static const double ROWS[][2] = {
        {0.682689492137086, 1}, {0.95, 1.959963984540054}, {0.99, 2.575829303548901}};
    add_entry(LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16)->residual = 0.1;
    const llmperf_op op = streams(LLMPERF_KIND_GEMM, 1, 1);
    for (int i = 0; i < 3; i++) {
        const llmperf_config c = {
            .hw = &hw, .calib = &calib, .workload = {.confidence = ROWS[i][0]}};
        expect_near(llmperf_estimate_op(&c, &op, room()).high, 1e-3 * exp(0.1 * ROWS[i][1]));
    }
}

/* ---- the published spread ---- */

static char *document(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/docs/%s", getenv("LLMPERF_SOURCE"), name);
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL, "%s", path);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = calloc(1, (size_t)size + 1);
    cr_assert(text && fread(text, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    return text;
}

/* The 95 % point of a row of the table of subsets in docs/model.md: n, 5 %, median, 95 %. */
static double published(const char *class, const char *points)
{
    char *text = document("model.md"), row[80];
    double least, median, most;
    snprintf(row, sizeof row, "\n    %s", class);
    const char *at = strstr(text, "class, subset");
    cr_assert(at != NULL);
    at = strstr(at, row);
    cr_assert(at != NULL, "%s", class);
    at = strstr(at + strlen(row), points);
    cr_assert(at != NULL, "%s of %s", class, points);
    cr_assert(sscanf(at + strlen(points), "%lf %lf %lf", &least, &median, &most) == 3);
    free(text);
    cr_expect(least < median && median < most);
    return most;
}

/* The table that names data, omissions and sources gives 5.60 of 2,401 points and 6.03 of 291. */
Test(interval, the_spread_is_the_published_one)
{
    expect_near(llmperf_spread(LLMPERF_SPREAD_DECODE_STEP), DECODE_SPREAD);
    expect_near(llmperf_spread(LLMPERF_SPREAD_PREFILL_STEP), PREFILL_SPREAD);
    expect_near(round(10 * published("decode step", "2,401")) / 10, DECODE_SPREAD);
    expect_near(round(10 * published("prefill step", "291")) / 10, PREFILL_SPREAD);
}

/* TTFT widens as prompts do, TPOT as decode steps do, a request each for its part. */
Test(interval, each_phase_has_its_own_spread)
{
    static llmperf_prediction p = LLMPERF_PREDICTION_INIT;
    llmperf_model model = llama_like("llama-3.1-8b", 32, 4096, 32, 8, 128, 14336, 128256);
    llmperf_config c;
    const llmperf_workload w = {.batch = 2, .prompt = 512, .generate = 11};
    hw = h100();
    cr_assert(config_init(&c, &model, &hw, NULL, &w, NULL) == LLMPERF_OK);
    cr_assert(llmperf_predict(&c, &p, NULL) == LLMPERF_OK);
    expect_near(p.tpot_s.high, DECODE_SPREAD * p.tpot_s.value);
    expect_near(p.ttft_s.high, PREFILL_SPREAD * p.ttft_s.value);
    expect_near(p.ttft_batch_s.high, PREFILL_SPREAD * p.ttft_batch_s.value);
    expect_near(p.e2e_s.high,
                PREFILL_SPREAD * p.ttft_s.value + 10 * DECODE_SPREAD * p.tpot_s.value);
    expect_near(p.decode.tokens_per_s.low, 2 / (DECODE_SPREAD * p.tpot_s.value));
}

static llmperf_estimate of_run(const llmperf_config *c, llmperf_run_kind kind,
                               llmperf_metric metric)
{
    const llmperf_run run = {.kind = kind, .metric = metric};
    llmperf_estimate got = {0};
    llmperf_error error = {0};
    cr_assert(llmperf_run_predict(c, &run, &got, &error) == LLMPERF_OK, "%s", error.text);
    return got;
}

/* 4 prompts of 512 and 10 decode steps behind the first tokens: each phase widens by its own spread,
 * and a rate counts what its name says. */
Test(interval, runs_are_made_of_both_phases)
{
    llmperf_model model = llama_like("llama-3.1-8b", 32, 4096, 32, 8, 128, 14336, 128256);
    llmperf_config c;
    llmperf_total prefill;
    const llmperf_workload w = {.batch = 4, .prompt = 512, .generate = 11};
    hw = h100();
    cr_assert(config_init(&c, &model, &hw, NULL, &w, NULL) == LLMPERF_OK);
    llmperf_prefill_total(&c, 4, room(), &prefill);
    const double p = prefill.time_s, d = llmperf_tpot(&c, 4, room());
    const double slow = PREFILL_SPREAD * p + 10 * DECODE_SPREAD * d, whole = p + 10 * d;
    llmperf_estimate got = of_run(&c, LLMPERF_RUN_STATIC, LLMPERF_METRIC_E2E);
    expect_near(got.value, whole);
    expect_near(got.low, whole);
    expect_near(got.high, slow);
    got = of_run(&c, LLMPERF_RUN_STATIC, LLMPERF_METRIC_TTFT);
    expect_near(got.value, p);
    expect_near(got.high, PREFILL_SPREAD * p);
    got = of_run(&c, LLMPERF_RUN_STATIC, LLMPERF_METRIC_OUTPUT_RATE);
    expect_near(got.value, 4 * 11 / whole);
    expect_near(got.low, 4 * 11 / slow);
    expect_near(got.high, 4 * 11 / whole);
    expect_near(of_run(&c, LLMPERF_RUN_STATIC, LLMPERF_METRIC_TOTAL_RATE).value,
                4 * (512 + 11) / whole);
    expect_near(of_run(&c, LLMPERF_RUN_STATIC, LLMPERF_METRIC_PREFILL_RATE).value, 4 * 512 / p);
    expect_near(of_run(&c, LLMPERF_RUN_STATIC, LLMPERF_METRIC_DECODE_RATE).value, 4 / d);
}

/* ---- what an estimate is called ---- */

/* Seconds of a step's products and of all else, each at the datasheet. */
static void parts_of_step(const llmperf_config *c, const llmperf_segment *segment,
                          double *ret_products, double *ret_rest)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    int count = llmperf_emit(c, segment, 1, LLMPERF_OPS_MAX, ops);
    *ret_products = *ret_rest = 0;
    for (int i = 0; i < count; i++)
        *(ops[i].kind == LLMPERF_KIND_GEMM ? ret_products : ret_rest) +=
            ops[i].repeat * time_op(&ops[i], c->hw, NULL, NULL, NULL);
}

/* A fit of products alone whose efficiencies leave `share` of the step without a fit. */
static void leave_open(llmperf_config *c, const llmperf_segment *segment, double share)
{
    double products, rest;
    c->calib = NULL;
    parts_of_step(c, segment, &products, &rest);
    /* rest = share (rest + products / e) */
    double e = products * share / (rest * (1 - share));
    cr_assert(e < 1, "%g", e);
    calib_init(&calib);
    llmperf_calib_entry *entry =
        add_entry(LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16);
    entry->param[LLMPERF_PARAM_COMPUTE] = entry->param[LLMPERF_PARAM_MEMORY] = e;
    c->calib = &calib;
}

/* Long contexts: most of the time is attention's. What has fits for less than half of it is a bound. */
Test(interval, less_than_half_fitted_is_a_bound)
{
    static llmperf_prediction p = LLMPERF_PREDICTION_INIT;
    llmperf_model model = llama_like("small", 2, 256, 16, 16, 64, 256, 1000);
    const llmperf_workload w = {.batch = 64, .prompt = 8192, .generate = 8, .chunk = 1 << 20};
    static const struct {
        double share;
        llmperf_estimate_kind kind;
    } ROWS[] = {{0.3, LLMPERF_ESTIMATE_CALIBRATED},
                {0.49, LLMPERF_ESTIMATE_CALIBRATED},
                {0.51, LLMPERF_ESTIMATE_BOUND},
                {0.7, LLMPERF_ESTIMATE_BOUND}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        llmperf_config c;
        llmperf_point point;
        cr_assert(config_init(&c, &model, &hw, NULL, &w, NULL) == LLMPERF_OK);
        llmperf_segment step = llmperf_decode_segment(&c, w.batch, c.workload.context);
        leave_open(&c, &step, ROWS[i].share);
        llmperf_point_of(&c, LLMPERF_SWEEP_DECODE, room(), &point);
        cr_expect(point.kind == ROWS[i].kind, "decode, %g", ROWS[i].share);
        cr_assert(llmperf_predict(&c, &p, NULL) == LLMPERF_OK);
        cr_expect(p.kind == ROWS[i].kind, "prediction, %g", ROWS[i].share);
        step = (llmperf_segment){.sequences = w.batch, .query = w.prompt, .logits = w.batch};
        leave_open(&c, &step, ROWS[i].share);
        llmperf_point_of(&c, LLMPERF_SWEEP_PREFILL, room(), &point);
        cr_expect(point.kind == ROWS[i].kind, "prefill, %g", ROWS[i].share);
    }
}
