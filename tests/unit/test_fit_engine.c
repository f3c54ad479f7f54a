/* SPDX-License-Identifier: MIT */
/* Engine profiles from runs: a known profile is found again under noise, outliers and few rows, and
 * what it says of models that it has not seen holds. Runs are made by the model itself from the known
 * profile; the fit does not know it. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/fit_engine.h"
#include "llmperf/llmperf.h"
#include "steps.h"
#include "config_object.h"
#include "engine_object.h"
#include "read.h"
#include "config.h"
#include "profile.h"

static llmperf_error error;
static llmperf_spec_paths paths;
static llmperf_runs runs;
static llmperf_engine engine;
static llmperf_engine_part truth;
static unsigned long long state;
static const char *format; /* of the weights */
static bool served;        /* by a server: else batches of their own */

static double uniform(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

static void set_up(void)
{
    static const double PARAM[LLMPERF_ENGINE_PARAM_COUNT] = {
        [LLMPERF_ENGINE_WEIGHT] = 0.85,   [LLMPERF_ENGINE_KV] = 0.6,
        [LLMPERF_ENGINE_HEADS] = 5,       [LLMPERF_ENGINE_COMPUTE] = 0.55,
        [LLMPERF_ENGINE_STORED] = 0.6,    [LLMPERF_ENGINE_ATTENTION] = 0.3,
        [LLMPERF_ENGINE_EXPERTS] = 0.6,   [LLMPERF_ENGINE_SCORE] = 1,
        [LLMPERF_ENGINE_LAYER] = 6e-5,    [LLMPERF_ENGINE_STEP] = 1e-3,
        [LLMPERF_ENGINE_SEQUENCE] = 4e-5, [LLMPERF_ENGINE_HOP] = 1e-5,
        [LLMPERF_ENGINE_LINK] = 0.4,
    };
    error = (llmperf_error){0};
    memset(&truth, 0, sizeof truth);
    memcpy(truth.param, PARAM, sizeof PARAM);
    paths = (llmperf_spec_paths){.count = 1};
    snprintf(paths.folder[0], LLMPERF_PATH_MAX, "%s/specs", getenv("LLMPERF_SOURCE"));
    runs = (llmperf_runs){0};
    state = 7;
    format = "bf16";
    served = false;
}

static void tear_down(void)
{
    llmperf_runs_free(&runs);
}

TestSuite(fit_engine, .init = set_up, .fini = tear_down);

/* Adds a run whose value the known profile gives, times `factor`. */
static void add_run(const char *gpu, const char *name, llmperf_metric metric, int64_t batch,
                    double prompt, double generate, int64_t tp, double factor)
{
    static llmperf_model model;
    static llmperf_hw hw;
    static llmperf_calib calib;
    static llmperf_engine known;
    char path[LLMPERF_PATH_MAX];
    llmperf_workload w = {0};
    llmperf_config c;
    llmperf_estimate estimate;
    llmperf_run run = {.devices = tp,
                       .tp = tp,
                       .kind = served ? LLMPERF_RUN_SERVING : LLMPERF_RUN_STATIC,
                       .batch = batch,
                       .prompt = prompt,
                       .generate = generate,
                       .metric = metric,
                       .line = runs.count + 2};
    snprintf(run.file, sizeof run.file, "made.csv");
    snprintf(run.engine, sizeof run.engine, "mine");
    snprintf(run.weight_dtype, sizeof run.weight_dtype, "%s", format);
    snprintf(run.gpu, sizeof run.gpu, "%s", gpu);
    snprintf(run.model, sizeof run.model, "%s", name);
    cr_assert(llmperf_find_model(&paths, name, path, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(model_load(path, &model, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_find_hw(&paths, gpu, path, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_hw_load(path, &hw, &error) == LLMPERF_OK, "%s", error.text);
    snprintf(known.name, sizeof known.name, "known");
    engine_calib(&known, &truth, &hw, NULL, &calib);
    cr_assert(llmperf_run_workload(&run, &w, &w, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_run_formats(&run, &model, &w, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(config_init(&c, &model, &hw, &calib, &w, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_run_predict(&c, &run, &estimate, &error) == LLMPERF_OK, "%s", error.text);
    bool rate = metric == LLMPERF_METRIC_DECODE_RATE || metric == LLMPERF_METRIC_OUTPUT_RATE;
    run.value = rate ? estimate.value / factor : estimate.value * factor;
    cr_assert(llmperf_runs_add(&runs, &run, &error) == LLMPERF_OK);
}

static const char *const MODELS[] = {"llama-2-7b", "llama-3.1-8b", "mistral-7b-v0.1", "qwen2.5-14b",
                                     "llama-2-13b"};

/* Requests, decode rates and first tokens of five models at several batches and lengths. */
static void add_grid(const char *gpu, double noise, int every_outlier)
{
    static const int64_t BATCHES[] = {1, 4, 16, 64};
    static const double LENGTHS[] = {128, 512, 2048};
    int at = 0;
    for (size_t m = 0; m < sizeof MODELS / sizeof *MODELS; m++)
        for (int b = 0; b < 4; b++)
            for (int l = 0; l < 3; l++) {
                bool outlier = every_outlier > 0 && ++at % every_outlier == 0;
                double factor = exp(noise * normal()) * (outlier ? 3 : 1);
                int64_t tp = l == 1 ? 2 : 1;
                add_run(gpu, MODELS[m], LLMPERF_METRIC_E2E, BATCHES[b], LENGTHS[l], LENGTHS[l], tp,
                        factor);
                add_run(gpu, MODELS[m], LLMPERF_METRIC_DECODE_RATE, BATCHES[b], LENGTHS[l], 128, 1,
                        exp(noise * normal()));
                add_run(gpu, MODELS[m], LLMPERF_METRIC_TTFT, 1, LENGTHS[l], 1, 1,
                        exp(noise * normal()));
            }
}

static llmperf_status fit(const llmperf_engine_fit_options *options)
{
    llmperf_engine *made = NULL;
    llmperf_status status = llmperf_fit_engine(&runs, &paths, options, &made, &error);
    if (status == LLMPERF_OK)
        engine = *made;
    llmperf_engine_free(made);
    return status;
}

static void expect_near(llmperf_engine_param param, double tolerance)
{
    double ratio = engine.part[0].param[param] / truth.param[param];
    cr_expect_lt(fabs(log(ratio)), tolerance, "%s: %g, made of %g",
                 llmperf_engine_param_name(param), engine.part[0].param[param], truth.param[param]);
}

Test(fit_engine, a_known_profile_is_found_again_under_noise_and_outliers)
{
    add_grid("h100-sxm", 0.03, 10);
    cr_assert(fit(&(llmperf_engine_fit_options){0}) == LLMPERF_OK, "%s", error.text);
    cr_expect_str_eq(engine.name, "mine");
    cr_expect_eq(engine.part_count, 1);
    expect_near(LLMPERF_ENGINE_WEIGHT, 0.05);
    expect_near(LLMPERF_ENGINE_KV, 0.12);
    expect_near(LLMPERF_ENGINE_COMPUTE, 0.06);
    expect_near(LLMPERF_ENGINE_LAYER, 0.3);
    expect_near(LLMPERF_ENGINE_SEQUENCE, 0.12);
    const llmperf_engine_quality *q = &engine.part[0].quality;
    cr_expect_eq(q->rows, 180);
    cr_expect_eq(q->models, 5);
    cr_expect_lt(q->median_frac, 0.03);
    cr_expect_lt(q->unseen_median_frac, 0.035);
    cr_expect_gt(q->unseen_coverage_frac, 0.85);
    cr_expect_gt(q->roofline_frac, 0.2);
    cr_expect(engine.part[0].fitted & 1u << LLMPERF_ENGINE_WEIGHT);
    cr_expect_lt(engine.part[0].error[LLMPERF_ENGINE_WEIGHT], 0.1);
}

/* What no row tells keeps the prior's variance, so that a degree never measured has a wide interval. */
Test(fit_engine, the_covariance_tells_what_the_rows_do_not)
{
    for (size_t m = 0; m < sizeof MODELS / sizeof *MODELS; m++)
        for (int64_t batch = 1; batch <= 64; batch *= 4)
            add_run("h100-sxm", MODELS[m], LLMPERF_METRIC_E2E, batch, 512, 512, 1,
                    exp(0.03 * normal()));
    cr_assert(fit(&(llmperf_engine_fit_options){0}) == LLMPERF_OK, "%s", error.text);
    const llmperf_engine_part *part = &engine.part[0];
    for (int k = 0; k < LLMPERF_ENGINE_PARAM_COUNT; k++) {
        cr_expect_float_eq(part->covariance[k][k], part->error[k] * part->error[k], 1e-15);
        for (int l = 0; l < k; l++) {
            cr_expect_eq(part->covariance[k][l], part->covariance[l][k]);
            cr_expect_leq(fabs(part->covariance[k][l]), 1.0001 * part->error[k] * part->error[l]);
        }
    }
    /* one device: nothing of its collectives; what is typical of engines is known to 0.8 and 0.5 */
    cr_expect_float_eq(part->error[LLMPERF_ENGINE_HOP], 0.8, 1e-3);
    cr_expect_float_eq(part->error[LLMPERF_ENGINE_LINK], 0.5, 1e-3);
    cr_expect_lt(part->error[LLMPERF_ENGINE_WEIGHT], 0.2); /* of weights they tell something */
}

/* A processor: what its formats cost apart, and no word of the GPU beside it. */
Test(fit_engine, the_kernels_of_a_processor_are_told_apart_by_format)
{
    static const char *const FORMATS[] = {"fp32", "fp16", "bf16", "q8_0", "q4_0"};
    static const int64_t BATCHES[] = {1, 2, 4, 8, 32};
    static const double ON_CPU[LLMPERF_ENGINE_PARAM_COUNT] = {
        [LLMPERF_ENGINE_DECODE] = 0.01,      [LLMPERF_ENGINE_WEIGHT_FP16] = 0.95,
        [LLMPERF_ENGINE_WEIGHT_BF16] = 0.95, [LLMPERF_ENGINE_WEIGHT_8] = 0.8,
        [LLMPERF_ENGINE_WEIGHT_4] = 0.6,     [LLMPERF_ENGINE_COMPUTE_FP16] = 0.8,
        [LLMPERF_ENGINE_COMPUTE_BF16] = 0.8, [LLMPERF_ENGINE_COMPUTE_8] = 0.7,
        [LLMPERF_ENGINE_COMPUTE_4] = 1.3,    [LLMPERF_ENGINE_ROWS_FP16] = 0.3,
        [LLMPERF_ENGINE_ROWS_BF16] = 0.3,    [LLMPERF_ENGINE_ROWS_8] = 0.5,
        [LLMPERF_ENGINE_ROWS_4] = 0.8,
    };
    add_grid("h100-sxm", 0.02, 0); /* before the truth of the processor is set */
    for (int k = LLMPERF_ENGINE_DECODE; k < LLMPERF_ENGINE_PARAM_COUNT; k++)
        truth.param[k] = ON_CPU[k];
    for (size_t f = 0; f < 5; f++)
        for (size_t b = 0; b < 5; b++)
            for (size_t m = 0; m < 3; m++) {
                format = FORMATS[f];
                for (double length = 16; length <= 1024; length *= 8)
                    add_run("two-core-xeon", MODELS[m], LLMPERF_METRIC_DECODE_RATE, BATCHES[b],
                            length, 16, 1, exp(0.03 * normal()));
                add_run("two-core-xeon", MODELS[m], LLMPERF_METRIC_TTFT, 1, 256, 1, 1,
                        exp(0.03 * normal()));
            }
    cr_assert(fit(&(llmperf_engine_fit_options){0}) == LLMPERF_OK, "%s", error.text);
    cr_assert_eq(engine.part_count, 2);
    cr_expect_eq(engine.part[0].param[LLMPERF_ENGINE_DECODE], 1); /* a GPU: says nothing */
    cr_expect_eq(engine.part[0].quality.unseen_part_frac, 0);     /* it has no kin */
    engine.part[0] = engine.part[1];
    cr_expect_str_eq(engine.part[0].hw, "two-core-xeon");
    expect_near(LLMPERF_ENGINE_WEIGHT, 0.05);
    expect_near(LLMPERF_ENGINE_COMPUTE, 0.05);
    for (int k = LLMPERF_ENGINE_DECODE; k < LLMPERF_ENGINE_ROWS_FP16; k++)
        expect_near((llmperf_engine_param)k, 0.1);
    expect_near(LLMPERF_ENGINE_ROWS_8, 0.3);
    expect_near(LLMPERF_ENGINE_ROWS_4, 0.2);
    cr_expect_lt(engine.part[0].quality.unseen_median_frac, 0.04);
}

/* Three rows tell little: the other part, a twin, tells the rest. */
Test(fit_engine, a_part_with_few_rows_leans_on_its_twin)
{
    add_grid("h100-sxm", 0.02, 0);
    for (int m = 0; m < 3; m++)
        add_run("h200-sxm", MODELS[m], LLMPERF_METRIC_DECODE_RATE, 1, 128, 128, 1, 1);
    cr_assert(fit(&(llmperf_engine_fit_options){0}) == LLMPERF_OK, "%s", error.text);
    cr_expect_eq(engine.part_count, 2);
    cr_expect_str_eq(engine.part[1].hw, "h200-sxm");
    cr_expect_float_eq(log(engine.part[1].param[LLMPERF_ENGINE_SEQUENCE] / 4e-5), 0, 0.2);
    cr_expect_not(engine.part[1].fitted & 1u << LLMPERF_ENGINE_SEQUENCE);
    cr_expect_lt(engine.part[1].quality.unseen_part_frac, 0.1);
    cr_expect_geq(engine.borrowed, 0.1);
}

/* Three rows without an error of their own: what like parts leave is what they may hide. Residuals are
 * pooled in squares as if the engine's were ten rows: sqrt(10 / 13) of it. */
Test(fit_engine, residuals_of_few_rows_are_the_engines)
{
    add_grid("h100-sxm", 0.2, 0);
    for (int m = 0; m < 3; m++)
        add_run("h200-sxm", MODELS[m], LLMPERF_METRIC_DECODE_RATE, 1, 128, 128, 1, 1);
    cr_assert(fit(&(llmperf_engine_fit_options){.quick = true}) == LLMPERF_OK, "%s", error.text);
    cr_assert_eq(engine.part_count, 2);
    double many = engine.part[0].decode_residual, few = engine.part[1].decode_residual;
    cr_expect(many > 0.12 && many < 0.3, "%g", many);
    cr_expect_float_eq(few / (many * sqrt(10.0 / 13)), 1, 0.06, "%g beside %g", few, many);
}

/* Two stacks that time one part differ by 5 %: no fit is better than that, however well it agrees. */
Test(fit_engine, no_residual_is_below_what_two_stacks_differ_by)
{
    add_grid("h100-sxm", 0, 0);
    cr_assert(fit(&(llmperf_engine_fit_options){.quick = true}) == LLMPERF_OK, "%s", error.text);
    cr_expect_eq(engine.part[0].decode_residual, 0.05);
    cr_expect_eq(engine.part[0].prefill_residual, 0.05);
}

/* Served requests wait 50 ms before their first step, however many steps it takes after that. */
Test(fit_engine, the_wait_of_served_requests_comes_back)
{
    truth.param[LLMPERF_ENGINE_REQUEST] = 0.05;
    truth.param[LLMPERF_ENGINE_MIXED] = 0.2;
    served = true;
    for (size_t m = 0; m < sizeof MODELS / sizeof *MODELS; m++)
        for (int64_t batch = 1; batch <= 64; batch *= 4)
            for (double length = 128; length <= 2048; length *= 4) {
                add_run("h100-sxm", MODELS[m], LLMPERF_METRIC_TTFT, batch, length, 256, 1,
                        exp(0.02 * normal()));
                add_run("h100-sxm", MODELS[m], LLMPERF_METRIC_E2E, batch, length, 256, 1,
                        exp(0.02 * normal()));
            }
    cr_assert(fit(&(llmperf_engine_fit_options){.quick = true}) == LLMPERF_OK, "%s", error.text);
    cr_expect(engine.part[0].serving);
    expect_near(LLMPERF_ENGINE_REQUEST, 0.1);
    expect_near(LLMPERF_ENGINE_WEIGHT, 0.1);
}

static int64_t refused;
static char reason[LLMPERF_TEXT_MAX];

static void count_refused(const llmperf_run *run, const char *why, void *context)
{
    (void)run;
    (void)context;
    refused++;
    snprintf(reason, sizeof reason, "%s", why);
}

/* A whole request of `length` tokens in and out on an H100, operator by operator, at the datasheet. */
static double roofline_of(const char *name, int64_t batch, int64_t length)
{
    static llmperf_model model;
    static llmperf_hw hw;
    char path[LLMPERF_PATH_MAX];
    const llmperf_workload w = {.batch = batch, .prompt = length, .generate = length};
    llmperf_config c;
    llmperf_total prefill;
    cr_assert(llmperf_find_model(&paths, name, path, &error) == LLMPERF_OK);
    cr_assert(model_load(path, &model, &error) == LLMPERF_OK);
    cr_assert(llmperf_find_hw(&paths, "h100-sxm", path, &error) == LLMPERF_OK);
    cr_assert(llmperf_hw_load(path, &hw, &error) == LLMPERF_OK);
    cr_assert(config_init(&c, &model, &hw, NULL, &w, &error) == LLMPERF_OK);
    llmperf_prefill_total(&c, batch, room(), &prefill);
    return prefill.time_s + (double)(length - 1) * llmperf_tpot(&c, batch, room());
}

Test(fit_engine, rows_that_no_profile_can_explain_are_left_out_and_told)
{
    const llmperf_engine_fit_options options = {.quick = true, .visit = count_refused};
    add_grid("h100-sxm", 0.02, 0);
    int64_t before = runs.count;
    refused = 0;
    add_run("h100-sxm", MODELS[0], LLMPERF_METRIC_E2E, 16, 2048, 2048, 1, 0.01);
    cr_assert(fit(&options) == LLMPERF_OK, "%s", error.text);
    cr_expect_eq(engine.part[0].quality.rows, before);
    cr_expect_eq(engine.part[0].quality.refused, 1);
    cr_expect_eq(refused, 1);
    cr_expect(strstr(reason, "faster than the roofline"), "%s", reason);
    /* a tenth faster is too fast as well; datasheets are beaten by a few percent */
    runs.count = before;
    for (int i = 0; i < 2; i++) {
        add_run("h100-sxm", MODELS[0], LLMPERF_METRIC_E2E, 16, 2048, 2048, 1, 1);
        runs.run[before + i].value = (i == 0 ? 0.9 : 0.98) * roofline_of(MODELS[0], 16, 2048);
    }
    refused = 0;
    cr_assert(fit(&options) == LLMPERF_OK, "%s", error.text);
    cr_expect_eq(refused, 1);
    cr_expect_eq(engine.part[0].quality.rows, before + 1);
}

Test(fit_engine, runs_of_several_engines_need_a_name)
{
    add_grid("h100-sxm", 0.02, 0);
    snprintf(runs.run[3].engine, sizeof runs.run[3].engine, "other");
    cr_expect_eq(fit(&(llmperf_engine_fit_options){.quick = true}), LLMPERF_E_USAGE);
    cr_expect(strstr(error.text, "several engines, mine and other; --engine NAME"), "%s",
              error.text);
    error = (llmperf_error){0};
    cr_assert(fit(&(llmperf_engine_fit_options){.engine = "other", .quick = true}) == LLMPERF_OK,
              "%s", error.text);
    cr_expect_eq(engine.part[0].quality.rows, 1);
    cr_expect_eq(fit(&(llmperf_engine_fit_options){.engine = "none of them"}), LLMPERF_E_FIT);
    static const char *const ALIASES[] = {"MINE", NULL};
    cr_assert(fit(&(llmperf_engine_fit_options){
                  .engine = "other", .aliases = ALIASES, .quick = true}) == LLMPERF_OK);
    cr_expect_eq(engine.part[0].quality.rows, runs.count);
}

Test(fit_engine, the_same_runs_give_the_same_profile)
{
    static llmperf_engine first;
    add_grid("l40s", 0.05, 0);
    cr_assert(fit(&(llmperf_engine_fit_options){0}) == LLMPERF_OK, "%s", error.text);
    first = engine;
    cr_assert(fit(&(llmperf_engine_fit_options){0}) == LLMPERF_OK);
    cr_expect_eq(memcmp(&first, &engine, sizeof first), 0);
}
