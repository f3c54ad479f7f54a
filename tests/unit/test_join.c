/* SPDX-License-Identifier: MIT */
/*
 * Rows joined with predictions, called from C. What a row is predicted to be is compared with a
 * prediction of the same workload by objects that the test loads and chooses itself.
 */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "llmperf/join.h"
#include "llmperf/load.h"
#include "config_object.h"
#include "config.h"

static llmperf_spec_paths paths;
static llmperf_error error;
static llmperf_join_options options;
static llmperf_join *join;

static void set_up(void)
{
    memset(&paths, 0, sizeof paths);
    paths.count = 1;
    snprintf(paths.folder[0], LLMPERF_PATH_MAX, "%s/specs", getenv("LLMPERF_SOURCE"));
    error = (llmperf_error){0};
    options = (llmperf_join_options){.paths = &paths};
    join = NULL;
}

static void tear_down(void)
{
    llmperf_join_free(join);
}

TestSuite(join, .init = set_up, .fini = tear_down);

/* A static batch of 8 x (512 + 64) of llama-3.1-8b on an H100 by vLLM: 10 ms a token. */
static llmperf_run a_run(void)
{
    llmperf_run run = {.file = "mine.json",
                       .line = 3,
                       .engine = "vllm",
                       .gpu = "H100-SXM",
                       .model = "llama-3.1-8b",
                       .batch = 8,
                       .prompt = 512,
                       .generate = 64,
                       .tp = 1,
                       .metric = LLMPERF_METRIC_TPOT,
                       .value = 0.01};
    return run;
}

static void add(llmperf_run run)
{
    if (!join)
        cr_assert(llmperf_join_new(&options, &join, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_join_run(join, &run, &error) == LLMPERF_OK, "%s", error.text);
}

/* The prediction of a run by what these options load. */
static llmperf_estimate predicted(const llmperf_run *run, llmperf_load_options how)
{
    llmperf_loaded l = {0};
    llmperf_config c;
    llmperf_workload w = {0};
    const llmperf_workload base = {0};
    llmperf_estimate estimate = {0};
    how.paths = &paths;
    how.model = how.model ? how.model : "llama-3.1-8b";
    how.hw = how.hw ? how.hw : "h100-sxm";
    cr_assert(llmperf_load(&how, &l, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_run_workload(run, &base, &w, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(config_init(&c, l.model, l.hw, l.calib, &w, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_run_predict(&c, run, &estimate, &error) == LLMPERF_OK, "%s", error.text);
    llmperf_loaded_free(&l);
    return estimate;
}

static void expect_row(const llmperf_comparison *c, int i, llmperf_estimate want)
{
    cr_assert_gt(c->row_count, i);
    cr_expect_eq(c->row[i].predicted.value, want.value);
    cr_expect_eq(c->row[i].predicted.low, want.low);
    cr_expect_eq(c->row[i].predicted.high, want.high);
}

static bool has_note(const llmperf_comparison *c, const char *text)
{
    for (int i = 0; i < c->notes.count; i++)
        if (strstr(c->notes.text[i], text))
            return true;
    return false;
}

/* ---- what predicts a row ---------------------------------------------------------------------- */

Test(join, a_row_is_predicted_by_the_profile_of_its_engine)
{
    llmperf_run run = a_run();
    add(run);
    const llmperf_comparison *c = llmperf_join_finish(join);
    expect_row(c, 0, predicted(&run, (llmperf_load_options){.engine = "vllm"}));
    cr_expect_eq(c->row[0].roofline,
                 predicted(&run, (llmperf_load_options){.calibration = "none"}).value);
    cr_expect_eq(c->row[0].measured, 0.01);
    cr_expect_eq(c->row[0].line, 3);
    cr_expect_str_eq(c->row[0].label, "llama-3.1-8b b 8 512+64 TPOT");
    cr_expect_str_eq(c->row[0].group, "vllm, H100-SXM, tpot_s");
    cr_expect(has_note(c, "engine profiles predict"));
    cr_expect_eq(llmperf_join_check(join, &error), LLMPERF_OK);
}

Test(join, served_rows_take_the_entry_for_served_requests)
{
    llmperf_run run = a_run();
    run.kind = LLMPERF_RUN_SERVING;
    add(a_run());
    add(run); /* not the calibration that was made for the static row */
    expect_row(llmperf_join_finish(join), 1,
               predicted(&run, (llmperf_load_options){.engine = "vllm", .serving = true}));
}

Test(join, an_unknown_engine_takes_the_best_fits_of_operators)
{
    llmperf_run run = a_run();
    snprintf(run.engine, sizeof run.engine, "homemade");
    add(run);
    expect_row(llmperf_join_finish(join), 0, predicted(&run, (llmperf_load_options){0}));
}

Test(join, without_a_profile_the_engines_own_kernels_are_preferred)
{
    options.engine = "none";
    llmperf_run run = a_run();
    snprintf(run.engine, sizeof run.engine, "tensorrt-llm");
    add(run);
    expect_row(llmperf_join_finish(join), 0,
               predicted(&run, (llmperf_load_options){.library = "trtllm"}));
}

Test(join, a_calibration_by_name_stands_without_profiles)
{
    options.calibration = "h100-sxm-vllm";
    llmperf_run run = a_run();
    add(run);
    expect_row(llmperf_join_finish(join), 0,
               predicted(&run, (llmperf_load_options){.calibration = "h100-sxm-vllm"}));
}

Test(join, none_leaves_bounds_and_a_note_counts_them)
{
    options.calibration = "none";
    llmperf_run run = a_run();
    add(run);
    const llmperf_comparison *c = llmperf_join_finish(join);
    cr_expect_eq(c->row[0].kind, LLMPERF_ESTIMATE_BOUND);
    cr_expect_eq(c->row[0].predicted.value, c->row[0].roofline);
    cr_expect(has_note(c, "1 of 1 predictions are bounds"));
}

/* ---- facts ------------------------------------------------------------------------------------- */

Test(join, what_a_row_lacks_is_named_as_the_options_that_give_it)
{
    llmperf_run run = {.file = "mine.json", .metric = LLMPERF_METRIC_TPOT, .value = 0.01};
    add(run);
    const llmperf_comparison *c = llmperf_join_finish(join);
    cr_expect_eq(c->row_count, 0);
    cr_assert_eq(c->skip_count, 1);
    cr_expect_str_eq(c->skip[0].why, "the file does not say all; --model, --hw, --batch, --prompt, "
                                     "--generate would");
    cr_expect_eq(llmperf_join_check(join, &error), LLMPERF_E_USAGE);
    cr_expect_str_eq(error.text, "mine.json does not say everything that a prediction needs; give "
                                 "--model, --hw, --batch, --prompt, --generate (or --map "
                                 "THEIR=OURS for names)");
}

Test(join, facts_fill_what_a_row_lacks_and_nothing_else)
{
    options.model = "llama-3.1-8b";
    options.hw = "h100-sxm";
    options.batch = 8;
    options.prompt = 512;
    options.generate = 64;
    options.engine = "vllm";
    llmperf_run bare = {.file = "mine.json", .metric = LLMPERF_METRIC_TPOT, .value = 0.01};
    llmperf_run says = bare, whole = a_run();
    says.batch = 32; /* stays */
    add(bare);
    add(says);
    const llmperf_comparison *c = llmperf_join_finish(join);
    llmperf_run same = whole;
    expect_row(c, 0, predicted(&same, (llmperf_load_options){.engine = "vllm"}));
    same.batch = 32;
    expect_row(c, 1, predicted(&same, (llmperf_load_options){.engine = "vllm"}));
    cr_expect_str_eq(c->row[0].run.model, "llama-3.1-8b");
    cr_expect_eq(c->notes.count, 1); /* of profiles; every fact was needed */
}

Test(join, a_fact_that_no_row_takes_is_told)
{
    options.model = "gpt2";
    options.batch = 1;
    add(a_run());
    cr_expect(has_note(llmperf_join_finish(join), "no row needs --model, --batch: what a file "
                                                  "says is not overruled"));
}

Test(join, an_unknown_name_is_taken_for_the_options_model_and_counted)
{
    options.model = "llama-3.1-8b";
    llmperf_run run = a_run();
    snprintf(run.model, sizeof run.model, "our-8b");
    add(run);
    const llmperf_comparison *c = llmperf_join_finish(join);
    cr_expect_eq(c->row_count, 1);
    cr_expect(has_note(c, "1 of 1 rows name a model that is not known here, the first 'our-8b'"));
}

Test(join, a_map_gives_names_their_meaning)
{
    static const char *const MAP[] = {"our-8b=llama-3.1-8b", "lab=h100-sxm", NULL};
    options.map = MAP;
    llmperf_run run = a_run(), same = a_run();
    snprintf(run.model, sizeof run.model, "our-8b");
    snprintf(run.gpu, sizeof run.gpu, "lab");
    add(run);
    expect_row(llmperf_join_finish(join), 0,
               predicted(&same, (llmperf_load_options){.engine = "vllm"}));
}

Test(join, a_path_in_a_file_is_not_opened)
{
    char path[LLMPERF_PATH_MAX];
    llmperf_run run = a_run();
    cr_assert(llmperf_find_hw(&paths, "l40s", path, &error) == LLMPERF_OK);
    cr_assert_lt(strlen(path), sizeof run.gpu);
    snprintf(run.gpu, sizeof run.gpu, "%s", path);
    add(run);
    const llmperf_comparison *c = llmperf_join_finish(join);
    cr_expect_eq(c->row_count, 0);
    cr_assert_eq(c->skip_count, 1);
    cr_expect_not_null(strstr(c->skip[0].why, "is not known; --hw"));
}

Test(join, a_row_that_nothing_is_predicted_of_keeps_its_reason)
{
    llmperf_run run = a_run();
    run.pp = 2;
    add(run);
    llmperf_join_finish(join);
    cr_expect_eq(llmperf_join_check(join, &error), LLMPERF_E_UNSUPPORTED);
    cr_expect_str_eq(error.text, "no row can be predicted: pipeline, expert and data parallelism "
                                 "are not predicted");
}

/* ---- groups, samples, files --------------------------------------------------------------------- */

Test(join, groups_are_made_of_the_words_asked_for)
{
    static const char *const WORDS[] = {"model", "tp", "file", NULL};
    options.group_by = WORDS;
    add(a_run());
    cr_expect_str_eq(llmperf_join_finish(join)->row[0].group, "llama-3.1-8b, tp 1, mine.json");
}

Test(join, samples_in_memory_are_set_beside_the_fits_of_operators)
{
    llmperf_samples samples = {0};
    llmperf_sample one = {
        .op = llmperf_sample_gemm(LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_NONE, 4096, 4096, 4096),
        .place = LLMPERF_PLACE_COLD,
        .time_s = 250e-6};
    cr_assert(llmperf_samples_name(&samples, "H100-SXM", &one.hw, &error) == LLMPERF_OK);
    cr_assert(llmperf_samples_add(&samples, &one, &error) == LLMPERF_OK);
    options.calibration = "none";
    cr_assert(llmperf_join_new(&options, &join, &error) == LLMPERF_OK);
    cr_assert(llmperf_join_samples(join, &samples, &error) == LLMPERF_OK, "%s", error.text);
    llmperf_samples_free(&samples);
    const llmperf_comparison *c = llmperf_join_finish(join);
    cr_assert_eq(c->row_count, 1);
    /* 2 x 4096^3 FLOP at 989.4 TFLOP/s: 138.9 us; its 100.7 MB take 30 us */
    cr_expect_float_eq(c->row[0].roofline, 138.9e-6, 0.2e-6);
    cr_expect_str_eq(c->row[0].label, "gemm bf16 4096x4096x4096");
}

Test(join, a_file_is_told_by_its_content)
{
    char path[LLMPERF_PATH_MAX];
    options.model = "llama-3.1-8b";
    options.hw = "h100-sxm";
    cr_assert(llmperf_join_new(&options, &join, &error) == LLMPERF_OK);
    snprintf(path, sizeof path, "%s/tests/data/bench-formats/sglang-bench_one_batch.jsonl",
             getenv("LLMPERF_SOURCE"));
    cr_assert(llmperf_join_read(join, path, &error) == LLMPERF_OK, "%s", error.text);
    int runs = llmperf_join_finish(join)->row_count;
    cr_expect_gt(runs, 0);
    cr_expect(llmperf_join_finish(join)->row[0].has_run);
    snprintf(path, sizeof path, "%s/tests/data/ops/vidur_network.csv", getenv("LLMPERF_SOURCE"));
    cr_assert(llmperf_join_read(join, path, &error) == LLMPERF_OK, "%s", error.text);
    const llmperf_comparison *c = llmperf_join_finish(join);
    cr_assert_gt(c->row_count, runs);
    cr_expect_not(c->row[c->row_count - 1].has_run);
}

/* ---- faults ------------------------------------------------------------------------------------- */

Test(join, the_users_own_wrong_word_ends_the_join)
{
    options.model = "lama-3.1-8b";
    llmperf_run run = a_run();
    run.model[0] = '\0';
    cr_assert(llmperf_join_new(&options, &join, &error) == LLMPERF_OK);
    cr_expect_eq(llmperf_join_run(join, &run, &error), LLMPERF_E_USAGE);
    cr_expect_not_null(strstr(error.text, "lama-3.1-8b"));
}

Test(join, a_call_that_fails_leaves_the_join_usable)
{
    cr_assert(llmperf_join_new(&options, &join, &error) == LLMPERF_OK);
    cr_expect_eq(llmperf_join_read(join, "/nowhere.json", &error), LLMPERF_E_IO);
    cr_expect_eq(llmperf_join_read(join, "/nowhere.json", NULL), LLMPERF_E_IO);
    error = (llmperf_error){0};
    add(a_run());
    cr_expect_eq(llmperf_join_finish(join)->row_count, 1);
}

Test(join, rules_and_groups_are_checked)
{
    static const char *const RULES[] = {"no-equals", NULL}, *const EMPTY[] = {"=x", NULL};
    static const char *const WORDS[] = {"motel", NULL};
    options.map = RULES;
    cr_expect_eq(llmperf_join_new(&options, &join, &error), LLMPERF_E_USAGE);
    options.map = EMPTY;
    cr_expect_eq(llmperf_join_new(&options, &join, NULL), LLMPERF_E_USAGE);
    options.map = NULL;
    options.group_by = WORDS;
    error = (llmperf_error){0};
    cr_expect_eq(llmperf_join_new(&options, &join, &error), LLMPERF_E_USAGE);
    cr_expect_not_null(strstr(error.text, "did you mean 'model'"));
    cr_expect_null(join);
}
