/* SPDX-License-Identifier: MIT */
/* Result files read as runs: what each format says, and what is left out. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "llmperf/results.h"

static const char HEADER[] =
    "source,engine,engine_version,gpu,gpu_count,tp,pp,ep,model,weight_dtype,act_dtype,kv_dtype,"
    "batch_or_concurrency,input_len,output_len,metric,value,kind,notes\n";

typedef struct told {
    int count;
    int64_t line;
    char label[LLMPERF_NAME_MAX], why[LLMPERF_TEXT_MAX];
} told;

static void tell(const char *file, int64_t line, const char *label, const char *why, void *context)
{
    told *t = context;
    (void)file;
    t->count++;
    t->line = line;
    snprintf(t->label, sizeof t->label, "%s", label);
    snprintf(t->why, sizeof t->why, "%s", why);
}

static llmperf_status read_text(llmperf_runs *runs, const char *text, told *ret_told,
                                llmperf_error *error)
{
    const llmperf_runs_options options = {.visit = tell, .context = ret_told};
    *ret_told = (told){0};
    return llmperf_runs_read_text(runs, "dir/x.csv", text, strlen(text), &options, error);
}

static void check_near(double got, double want)
{
    cr_assert(fabs(got - want) <= 1e-9 * fabs(want), "%.12g is not %.12g", got, want);
}

/* ---- end-to-end rows --------------------------------------------------------------------------------- */

Test(end_to_end, takes_every_column)
{
    char text[1024];
    llmperf_runs runs = {0};
    llmperf_error error = {0};
    told t;
    snprintf(text, sizeof text,
             "\xef\xbb\xbf# source: somewhere\n%s"
             "\"doc, 1\",vllm,0.6.1,H100-SXM-80,8,4,2,0,llama-3-8b,int4-g128,fp16,,64.0,1024,128,"
             "e2e_latency_ms,2500,static,\"a, note\"\r\n",
             HEADER);
    cr_assert_eq(read_text(&runs, text, &t, &error), LLMPERF_OK, "%s", error.text);
    cr_assert_eq(runs.count, 1);
    cr_assert_eq(t.count, 0);
    const llmperf_run *r = &runs.run[0];
    cr_assert_str_eq(r->file, "x.csv");
    cr_assert_eq(r->line, 3);
    cr_assert_str_eq(r->source, "doc, 1");
    cr_assert_str_eq(r->engine, "vllm");
    cr_assert_str_eq(r->engine_version, "0.6.1");
    cr_assert_str_eq(r->gpu, "H100-SXM-80");
    cr_assert_str_eq(r->model, "llama-3-8b");
    cr_assert_str_eq(r->weight_dtype, "int4-g128");
    cr_assert_str_eq(r->act_dtype, "fp16");
    cr_assert_str_eq(r->kv_dtype, "");
    cr_assert_eq(r->devices, 8);
    cr_assert_eq(r->tp, 4);
    cr_assert_eq(r->pp, 2);
    cr_assert_eq(r->ep, 0); /* 0 = not said */
    cr_assert_eq(r->batch, 64);
    cr_assert_eq(r->prompt, 1024);
    cr_assert_eq(r->generate, 128);
    cr_assert_not(r->has_depth);
    cr_assert_eq((int)r->kind, (int)LLMPERF_RUN_STATIC);
    cr_assert_eq((int)r->metric, (int)LLMPERF_METRIC_E2E);
    check_near(r->value, 2.5);
    llmperf_runs_free(&runs);
}

/* The words of public collections, and what one of each is in SI units. */
Test(end_to_end, turns_every_metric_into_si_units)
{
    static const struct {
        char word[24];
        int metric;
        double si_of_8;
    } rows[] = {
        {"e2e_latency_ms", LLMPERF_METRIC_E2E, 0.008},
        {"ttft_ms", LLMPERF_METRIC_TTFT, 0.008},
        {"tpot_ms", LLMPERF_METRIC_TPOT, 0.008},
        {"prefill_tok_s", LLMPERF_METRIC_PREFILL_RATE, 8},
        {"decode_tok_s", LLMPERF_METRIC_DECODE_RATE, 8},
        {"total_output_tok_s", LLMPERF_METRIC_OUTPUT_RATE, 8},
        {"mem_gib", LLMPERF_METRIC_MEMORY, 8589934592.0},
        {"e2e_s", LLMPERF_METRIC_E2E, 8},
        {"total_tokens_per_s", LLMPERF_METRIC_TOTAL_RATE, 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        llmperf_runs runs = {0};
        llmperf_error error = {0};
        told t;
        snprintf(text, sizeof text, "%s,e,,,,,,,m,,,,1,1,1,%s,8,serving,\n", HEADER, rows[i].word);
        cr_assert_eq(read_text(&runs, text, &t, &error), LLMPERF_OK, "%s", error.text);
        cr_assert_eq((int)runs.run[0].metric, rows[i].metric, "%s", rows[i].word);
        cr_assert_eq((int)runs.run[0].kind, (int)LLMPERF_RUN_SERVING);
        check_near(runs.run[0].value, rows[i].si_of_8);
        llmperf_runs_free(&runs);
    }
}

Test(end_to_end, tells_an_empty_prompt_from_one_that_is_not_said)
{
    char text[1024];
    llmperf_runs runs = {0};
    told t;
    snprintf(text, sizeof text,
             "%s,e,,,,,,,m,,,,1,0,512,decode_tok_s,8,static,\n"
             ",e,,,,,,,m,,,,1,,512,decode_tok_s,8,static,\n",
             HEADER);
    cr_assert_eq(read_text(&runs, text, &t, NULL), LLMPERF_OK);
    cr_assert(runs.run[0].has_depth);
    cr_assert_not(runs.run[1].has_depth);
    llmperf_runs_free(&runs);
}

Test(end_to_end, leaves_out_rows_with_a_fault_and_says_which)
{
    static const struct {
        char row[96];
        char why[64];
    } rows[] = {
        {",e,,,,,,,m,,,,1,1,1,ttft_ms,nan,static,", "value is 'nan'; a number is allowed"},
        {",e,,,,,,,m,,,,1,1,1,ttft_ms,inf,static,", "value is 'inf'; a number is allowed"},
        {",e,,,,,,,m,,,,1,1,1,ttft_ms,0,static,", "ttft_s is 0; above zero is allowed"},
        {",e,,,,,,,m,,,,1,1,1,ttft_ms,,static,", "value is missing"},
        {",e,,,,,,,m,,,,1.5,1,1,ttft_ms,1,static,", "batch is 1.5; a whole number"},
        {",e,,,,,,,m,,,,1,-2,1,ttft_ms,1,static,", "input_len is -2; 0 to 2^53"},
        {",e,,,,,,,m,,,,1,1,1e300,ttft_ms,1,static,", "output_len is 1e300; 0 to 2^53"},
        {",e,,,,,,,m,,,,1,1,1,loudness,1,static,", "metric is 'loudness'"},
        {",e,,,,,,,m,,,,1,1,1,ttft_ms,1,online,", "kind is 'online'"},
        {",e,,,,,,,m,,,,1,1,1,ttft_ms,1,static", "18 cells; the header has 19"},
        {",\"e,,,,,,,m,,,,1,1,1,ttft_ms,1,static,", "an open quote"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        llmperf_runs runs = {0};
        llmperf_error error = {0};
        told t;
        snprintf(text, sizeof text, "%s,e,,,,,,,m,,,,1,1,1,ttft_ms,1,static,\n%s\n", HEADER,
                 rows[i].row);
        cr_assert_eq(read_text(&runs, text, &t, &error), LLMPERF_OK, "%s", error.text);
        cr_assert_eq(runs.count, 1);
        cr_assert_eq(t.count, 1, "%s", rows[i].why);
        cr_assert_eq(t.line, 3);
        cr_assert(strstr(t.why, rows[i].why) != NULL, "'%s' does not say '%s'", t.why, rows[i].why);
        llmperf_runs_free(&runs);
    }
}

Test(end_to_end, fails_where_no_row_is_sound)
{
    char text[1024];
    llmperf_runs runs = {0};
    llmperf_error error = {0};
    told t;
    snprintf(text, sizeof text, "%s,e,,,,,,,m,,,,1,1,1,ttft_ms,none,static,\n", HEADER);
    cr_assert_eq(read_text(&runs, text, &t, &error), LLMPERF_E_SPEC);
    cr_assert_str_eq(error.text, "dir/x.csv:2: value is 'none'; a number is allowed");
    error = (llmperf_error){0};
    cr_assert_eq(read_text(&runs, HEADER, &t, &error), LLMPERF_E_SPEC);
    cr_assert_str_eq(error.text, "dir/x.csv: no measurement in it");
    llmperf_runs_free(&runs);
}

Test(end_to_end, renames_columns_by_the_map)
{
    static const char text[] = "who,what,took\nvllm,e2e_s,3\n";
    static const char *const map[] = {"who=engine", "what=metric", "took=value",
                                      "Their-GPU=h100-sxm", NULL};
    const llmperf_runs_options options = {.map = map};
    llmperf_runs runs = {0};
    llmperf_error error = {0};
    cr_assert_eq(llmperf_runs_read_text(&runs, "x", text, strlen(text), &options, &error),
                 LLMPERF_OK, "%s", error.text);
    cr_assert_str_eq(runs.run[0].engine, "vllm");
    check_near(runs.run[0].value, 3);
    llmperf_runs_free(&runs);
}

/* ---- llama.cpp's tables as CSV ----------------------------------------------------------------------- */

static const char TABLE[] =
    "tool,model,layers,hidden,heads,kv_heads,ffn,vocab,dtype,threads,test,batch,n_prompt,n_gen,"
    "depth,avg_tok_s,stddev_tok_s,median_tok_s,pp_shared\n"
    "llama-batched-bench,0.5B,24,1280,20,4,3456,32000,f32,2,tg,4,16,8,16,49,,50,0\n"
    "llama-batched-bench,0.5B,24,1280,20,4,3456,32000,f32,2,pp,4,16,8,16,188,,188,1\n"
    "llama-bench,0.5B,24,1280,20,4,3456,32000,q8_0,2,pp,512,512,0,0,180,15,175,\n"
    "llama-bench,0.5B,24,1280,20,4,3456,32000,q8_0,2,tg,1,0,16,2048,24,1,,\n";

Test(llama_table, tells_tests_apart)
{
    llmperf_runs runs = {0};
    llmperf_error error = {0};
    told t;
    cr_assert_eq(read_text(&runs, TABLE, &t, &error), LLMPERF_OK, "%s", error.text);
    cr_assert_eq(runs.count, 4);
    for (int i = 0; i < 4; i++) {
        cr_assert_str_eq(runs.run[i].engine, "llama.cpp");
        cr_assert_eq(runs.run[i].shape.layers, 24);
        cr_assert_eq(runs.run[i].shape.ffn, 3456);
        cr_assert(runs.run[i].has_depth);
    }
    /* generation behind 4 prompts of 16 tokens: nothing but they is cached */
    cr_assert_eq((int)runs.run[0].metric, (int)LLMPERF_METRIC_DECODE_RATE);
    cr_assert_eq(runs.run[0].batch, 4);
    cr_assert_eq(runs.run[0].prompt, 16);
    cr_assert_eq(runs.run[0].depth, 0);
    check_near(runs.run[0].value, 50); /* the median */
    /* one prompt that four sequences share */
    cr_assert_eq((int)runs.run[1].metric, (int)LLMPERF_METRIC_PREFILL_RATE);
    cr_assert_eq(runs.run[1].batch, 1);
    /* llama-bench: one sequence */
    cr_assert_eq(runs.run[2].batch, 1);
    cr_assert_eq(runs.run[2].prompt, 512);
    check_near(runs.run[2].spread, 15);
    cr_assert_eq(runs.run[3].depth, 2048);
    cr_assert_eq(runs.run[3].prompt, 0);
    check_near(runs.run[3].value, 24); /* the mean, where there is no median */
    llmperf_runs_free(&runs);
}

/* ---- files of no known format ------------------------------------------------------------------------ */

Test(results, refuses_what_is_no_result_file)
{
    static const struct {
        char text[64];
        char message[96];
    } rows[] = {
        {"", "dir/x.csv: empty; a result file is allowed"},
        {"# only a comment\n\n", "dir/x.csv: empty; a result file is allowed"},
        {"a,b,c\n1,2,3\n", "dir/x.csv:1: no known result file begins like this"},
        {"\n<!DOCTYPE html>\n", "dir/x.csv:2: this is HTML or XML"},
        {"| model | size |\n", "dir/x.csv:1: this is a table for people"},
        {"INSERT INTO test (a) VALUES (1);\n", "dir/x.csv:1: this is SQL"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        llmperf_runs runs = {0};
        llmperf_error error = {0};
        told t;
        cr_assert_eq(read_text(&runs, rows[i].text, &t, &error), LLMPERF_E_SPEC);
        cr_assert(strncmp(error.text, rows[i].message, strlen(rows[i].message)) == 0, "%s",
                  error.text);
        cr_assert_eq(error.faults, 1);
    }
}

/* ---- the workload of a run --------------------------------------------------------------------------- */

static llmperf_workload workload_of(const llmperf_run *run)
{
    const llmperf_workload base = {.chunk = 4096, .tp = 1};
    llmperf_workload w = {0};
    llmperf_error error = {0};
    cr_assert_eq(llmperf_run_workload(run, &base, &w, &error), LLMPERF_OK, "%s", error.text);
    cr_assert_eq(w.chunk, 4096);
    cr_assert(w.has_context);
    return w;
}

Test(run_workload, takes_batch_lengths_and_degree)
{
    const llmperf_run run = {
        .metric = LLMPERF_METRIC_E2E, .batch = 8, .prompt = 1023.6, .generate = 128, .tp = 4};
    llmperf_workload w = workload_of(&run);
    cr_assert_eq(w.batch, 8);
    cr_assert_eq(w.prompt, 1024);
    cr_assert_eq(w.generate, 128);
    cr_assert_eq(w.cached, 0);
    cr_assert_eq(w.context, 1024 + 64);
    cr_assert_eq(w.tp, 4);
}

/* llama-bench -d 2048 -n 16: decoding begins at 2048 cached tokens, its middle is 8 later. */
Test(run_workload, decodes_behind_what_is_cached)
{
    const llmperf_run run = {.metric = LLMPERF_METRIC_DECODE_RATE,
                             .batch = 1,
                             .generate = 16,
                             .depth = 2048,
                             .has_depth = true};
    llmperf_workload w = workload_of(&run);
    cr_assert_eq(w.prompt, 2048);
    cr_assert_eq(w.cached, 0);
    cr_assert_eq(w.context, 2056);
}

/* llama-bench -d 2048 -p 512: 512 of 2560 tokens are computed. */
Test(run_workload, prefills_behind_what_is_cached)
{
    const llmperf_run run = {.metric = LLMPERF_METRIC_PREFILL_RATE,
                             .batch = 1,
                             .prompt = 512,
                             .depth = 2048,
                             .has_depth = true};
    llmperf_workload w = workload_of(&run);
    cr_assert_eq(w.prompt, 2560);
    cr_assert_eq(w.cached, 2048);
    cr_assert_eq(w.generate, 1);
}

Test(run_workload, begins_with_one_token_where_nothing_is_cached)
{
    const llmperf_run run = {
        .metric = LLMPERF_METRIC_DECODE_RATE, .batch = 1, .generate = 512, .has_depth = true};
    llmperf_workload w = workload_of(&run);
    cr_assert_eq(w.prompt, 1);
    cr_assert_eq(w.context, 256);
}

Test(run_workload, refuses_what_is_not_predicted)
{
    const llmperf_run good = {
        .metric = LLMPERF_METRIC_E2E, .batch = 8, .prompt = 16, .generate = 16};
    const llmperf_workload base = {0};
    llmperf_workload w = {0};
    llmperf_run run[6] = {good, good, good, good, good, good};
    run[0].pp = 2;
    run[1].ep = 8;
    run[2].batch = 0;
    run[3].prompt = 0;
    run[4].generate = 0;
    run[5].prompt = 1e12;
    for (int i = 0; i < 6; i++)
        cr_assert_eq(llmperf_run_workload(&run[i], &base, &w, NULL), LLMPERF_E_UNSUPPORTED, "%d",
                     i);
    cr_assert_eq(w.batch, 0);
}
