/* SPDX-License-Identifier: MIT */
/* Result files read as runs: what each format says, and what is left out. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/results.h"
#include "config_object.h"
#include "read.h"
#include "config.h"

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
        {",e,,,,,,,m,,,,1,1,1,ttft_ms,,static,", "value is missing; a number is allowed"},
        {",e,,,,,,,m,,,,1.5,1,1,ttft_ms,1,static,", "batch is 1.5; a whole number"},
        {",e,,,,,,,m,,,,1,-2,1,ttft_ms,1,static,", "input_len is -2; 0 to 2^53"},
        {",e,,,,,,,m,,,,1,1,1e300,ttft_ms,1,static,", "output_len is 1e300; 0 to 2^53"},
        {",e,,,,,,,m,,,,1,1,1,loudness,1,static,", "metric is 'loudness'"},
        {",e,,,,,,,m,,,,1,1,1,ttft_ms,1,online,", "kind is 'online'"},
        {",e,,,,,,,m,,,,1,1,1,ttft_ms,1,static", "18 cells; 19 are allowed, as the header has"},
        {",\"e,,,,,,,m,,,,1,1,1,ttft_ms,1,static,", "an open quote; a closing one is allowed"},
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
    cr_assert_str_eq(error.text, "dir/x.csv: no measurement in it; a result file with at least "
                                 "one is allowed");
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

/* Whatever the parser finds: one line with the place, what was found, and what is allowed. */
Test(results, refuses_broken_json_in_the_form_of_all_messages)
{
    static const struct {
        char text[48];
        char place[24], allowed[48];
    } rows[] = {
        {"{\"a\": }", "dir/x.csv:1:7: ", "; JSON is allowed"},
        {"{\"a\": 1,\n \"b\" 2}", "dir/x.csv:2:6: ", "; JSON is allowed"},
        {"{\"a\": [1, 2}", "dir/x.csv:1:12: ", "; JSON is allowed"},
        {"[{'a': 1}]", "dir/x.csv:1:3: ", "; JSON is allowed"},
        {"{\"a\": 1", "dir/x.csv:1:", "; a whole object is allowed"},
        {"{\"a\": 1, \"a\": 2}", "dir/x.csv:1:", "; each key once is allowed"},
        {"{\"a\": \"\xff\"}", "dir/x.csv:1:", "; text in UTF-8 is allowed"},
        {"{\"a\": 1e999}", "dir/x.csv:1:", "; numbers that a double holds are allowed"},
        {"{\"a\": \"\\u0000\"}", "dir/x.csv:1:", "; text without NUL is allowed"},
        {"[ 1 ]", "dir/x.csv:1:3: ", "; an object, '{' is allowed"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        llmperf_runs runs = {0};
        llmperf_error error = {0};
        told t;
        cr_assert_eq(read_text(&runs, rows[i].text, &t, &error), LLMPERF_E_SPEC, "%s",
                     rows[i].text);
        cr_assert(strncmp(error.text, rows[i].place, strlen(rows[i].place)) == 0, "%s", error.text);
        size_t length = strlen(error.text), tail = strlen(rows[i].allowed);
        cr_assert(length > tail && strcmp(error.text + length - tail, rows[i].allowed) == 0, "%s",
                  error.text);
        cr_assert_eq(error.faults, 1);
        llmperf_runs_free(&runs);
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

/* Memory gives the limit, else the offer, the engine's default, or what is asked for. */
Test(run_workload, everything_at_once_fills_memory_or_the_engines_default)
{
    llmperf_model model = {.name = "small", .hidden = 1024, .vocab = 1024, .embedding_dim = 1024};
    llmperf_hw hw = {.name = "round", .mem_bytes_per_s = 1e12, .memory_bytes = 80e9, .units = 1};
    llmperf_workload w = {.prompt = 1000, .generate = 24, .memory_utilization = 1};
    llmperf_run run = {.kind = LLMPERF_RUN_OFFLINE, .metric = LLMPERF_METRIC_OUTPUT_RATE};
    llmperf_error error = {0};
    llmperf_memory memory;
    llmperf_config c;
    model.layer_kind_count = 1;
    model.layers[0] =
        (llmperf_layer){.count = 32,
                        .norms = 2,
                        .attention = {.heads = 8, .kv_heads = 8, .head_dim = 128, .value_dim = 128},
                        .mlp = {.ffn = 4096}};
    model.dtype = LLMPERF_DTYPE_BF16;
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        model.weight_dtype[i] = LLMPERF_DTYPE_BF16;
        model.weight_bits[i] = 16;
    }
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 1e14;
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP32] = 1e13;
    cr_assert_eq(config_init(&c, &model, &hw, NULL, &w, &error), LLMPERF_OK, "%s", error.text);
    llmperf_memory_of(&c, &memory);
    /* 32 layers x 2 x 1024 values x 2 bytes = 131,072 a token, 134 MB a sequence of 1024: of about
     * 78 GB, some 580 */
    cr_assert(memory.max_batch > 500 && memory.max_batch < 600, "%lld",
              (long long)memory.max_batch);
    cr_expect_eq(llmperf_run_in_flight(&c, &run, 0), memory.max_batch);
    snprintf(run.engine, sizeof run.engine, "tensorrt-llm");
    cr_expect_eq(llmperf_run_in_flight(&c, &run, 0), memory.max_batch);
    snprintf(run.engine, sizeof run.engine, "vllm-rocm");
    cr_expect_eq(llmperf_run_in_flight(&c, &run, 0), 256);
    cr_expect_eq(llmperf_run_in_flight(&c, &run, 400), 400);
    cr_expect_eq(llmperf_run_in_flight(&c, &run, 100000), memory.max_batch);
    run.requests = 100;
    cr_expect_eq(llmperf_run_in_flight(&c, &run, 0), 100);
    run.batch = 50; /* what a table calls batch is what was offered */
    cr_expect_eq(llmperf_run_in_flight(&c, &run, 0), 50);
}

/* Two threads on four cores are half of a processor; as many as there are, or more, are all of it. */
Test(run_workload, threads_are_a_share_of_a_processor)
{
    static const double ROWS[][2] = {{0, 1}, {1, 0.25}, {2, 0.5}, {3, 0.75}, {4, 1}, {8, 1}};
    llmperf_hw cpu = {.kind = "cpu", .units = 4}, gpu = {.kind = "gpu", .units = 4};
    for (int i = 0; i < 6; i++) {
        const llmperf_run run = {.threads = (int64_t)ROWS[i][0]};
        cr_expect_eq(llmperf_run_share(&run, &cpu), ROWS[i][1], "%g threads", ROWS[i][0]);
        cr_expect_eq(llmperf_run_share(&run, &gpu), 1);
    }
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

/* ---- formats ----------------------------------------------------------------------------------------- */

static llmperf_model *shipped(const char *name)
{
    char path[LLMPERF_PATH_MAX];
    llmperf_error error = {0};
    llmperf_model *model = malloc(sizeof *model);
    snprintf(path, sizeof path, "%s/specs/models/%s.yaml", getenv("LLMPERF_SOURCE"), name);
    cr_assert_eq(model_load(path, model, &error), LLMPERF_OK, "%s", error.text);
    return model;
}

Test(run_formats, takes_the_words_of_engines)
{
    static const struct {
        char weights[24], act[8];
        double mlp_bits, head_bits; /* of the model; 16 = as the file */
        int operand, weight_dtype;  /* of the workload */
    } rows[] = {
        {"fp16", "fp16", 16, 16, LLMPERF_DTYPE_NONE, LLMPERF_DTYPE_FP16},
        {"fp8", "fp8", 8, 16, LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_NONE},
        {"FP8", "", 8, 16, LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_NONE},
        {"fp8", "fp16", 16, 16, LLMPERF_DTYPE_NONE, LLMPERF_DTYPE_FP8}, /* weights only */
        {"int8", "int8", 8, 16, LLMPERF_DTYPE_INT8, LLMPERF_DTYPE_NONE},
        {"fp4", "fp4", 4.5, 16, LLMPERF_DTYPE_NVFP4, LLMPERF_DTYPE_NONE},
        {"int4-g32", "fp16", 4.625, 16, LLMPERF_DTYPE_NONE, LLMPERF_DTYPE_NONE},   /* 4 + 20/32 */
        {"int8-g128", "fp16", 8.1875, 16, LLMPERF_DTYPE_NONE, LLMPERF_DTYPE_NONE}, /* 8 + 24/128 */
        {"awq", "", 4.15625, 16, LLMPERF_DTYPE_NONE, LLMPERF_DTYPE_NONE},
        {"q4_k_m", "fp16", 4.84, 4.84, LLMPERF_DTYPE_NONE, LLMPERF_DTYPE_NONE},
        {"q8_0", "", 8.5, 8.5, LLMPERF_DTYPE_NONE, LLMPERF_DTYPE_NONE},
        {"exl2-4.0bpw", "fp16", 4, 4, LLMPERF_DTYPE_NONE, LLMPERF_DTYPE_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        llmperf_model *model = shipped("llama-3.1-8b");
        llmperf_workload w = {0};
        llmperf_run run = {0};
        llmperf_error error = {0};
        snprintf(run.weight_dtype, sizeof run.weight_dtype, "%.23s", rows[i].weights);
        snprintf(run.act_dtype, sizeof run.act_dtype, "%.7s", rows[i].act);
        cr_assert_eq(llmperf_run_formats(&run, model, &w, &error), LLMPERF_OK, "%s", error.text);
        const llmperf_weight_format *mlp = &model->layers[0].weights[LLMPERF_WEIGHT_MLP];
        check_near(mlp->dtype ? mlp->bits : model->weight_bits[LLMPERF_WEIGHT_MLP],
                   rows[i].mlp_bits);
        check_near(model->weight_bits[LLMPERF_WEIGHT_HEAD], rows[i].head_bits);
        cr_assert_eq(mlp->operand, rows[i].operand, "%s", rows[i].weights);
        cr_assert_eq((int)w.weight_dtype, rows[i].weight_dtype, "%s", rows[i].weights);
        free(model);
    }
}

/* A GGUF file tells the bits of each tensor: the name of its mixture says less. */
Test(run_formats, leaves_a_file_of_llama_cpp_as_it_was_read)
{
    llmperf_model *model = shipped("llama-3.1-8b");
    llmperf_workload w = {0};
    const llmperf_run run = {.weight_dtype = "q4_k_m"};
    snprintf(model->scheme, sizeof model->scheme, "gguf Q4_K_M");
    model->weight_bits[LLMPERF_WEIGHT_HEAD] = 6.5625;
    cr_assert_eq(llmperf_run_formats(&run, model, &w, NULL), LLMPERF_OK);
    check_near(model->weight_bits[LLMPERF_WEIGHT_HEAD], 6.5625);
    free(model);
}

Test(run_formats, refuses_what_it_does_not_know)
{
    llmperf_model *model = shipped("llama-3.1-8b");
    llmperf_workload w = {0};
    llmperf_error error = {0};
    const llmperf_run weights = {.weight_dtype = "fuzzy7"}, kv = {.kv_dtype = "fuzzy7"};
    cr_assert_eq(llmperf_run_formats(&weights, model, &w, &error), LLMPERF_E_UNSUPPORTED);
    cr_assert(strstr(error.text, "'fuzzy7'") != NULL);
    cr_assert_eq(llmperf_run_formats(&kv, model, &w, NULL), LLMPERF_E_UNSUPPORTED);
    free(model);
}

/* ---- JSON -------------------------------------------------------------------------------------------- */

/* Reads tests/data/bench-formats/`name`; values are worked out by hand from what the file says. */
static llmperf_runs read_sample(const char *name, bool median)
{
    char path[LLMPERF_PATH_MAX];
    llmperf_runs runs = {0};
    llmperf_error error = {0};
    told t = {0};
    const llmperf_runs_options options = {.median = median, .visit = tell, .context = &t};
    snprintf(path, sizeof path, "%s/tests/data/bench-formats/%s", getenv("LLMPERF_SOURCE"), name);
    cr_assert_eq(llmperf_runs_read(&runs, path, &options, &error), LLMPERF_OK, "%s", error.text);
    cr_assert_eq(t.count, 0, "%s", t.why);
    for (int64_t i = 0; i < runs.count; i++)
        cr_assert_str_eq(runs.run[i].file, name);
    return runs;
}

static void check_metric(const llmperf_run *run, llmperf_metric metric, double value)
{
    cr_assert_str_eq(llmperf_metric_name(run->metric), llmperf_metric_name(metric));
    check_near(run->value, value);
}

static void check_lengths(const llmperf_run *run, int64_t batch, double prompt, double generate)
{
    cr_assert_eq(run->batch, batch);
    check_near(run->prompt, prompt);
    check_near(run->generate, generate);
}

Test(llama_bench, json)
{
    llmperf_runs runs = read_sample("llama-bench.json", false);
    cr_assert_eq(runs.count, 4);
    const llmperf_run *r = &runs.run[0];
    cr_assert_eq(r->line, 2);
    cr_assert_str_eq(r->engine, "llama.cpp");
    cr_assert_str_eq(r->engine_version, "e95dae18d");
    cr_assert_str_eq(r->model, "0.5B-q8_0");
    cr_assert_str_eq(r->gpu, "Intel(R) Xeon(R) Processor");
    cr_assert_str_eq(r->weight_dtype, "q8_0"); /* of the label "llama ?B Q8_0" */
    cr_assert_str_eq(r->kv_dtype, "f16");
    check_lengths(r, 1, 128, 0);
    check_metric(r, LLMPERF_METRIC_PREFILL_RATE, 170.724410);
    check_near(r->spread, 1.719309);
    check_lengths(&runs.run[1], 1, 0, 16);
    cr_assert(runs.run[1].has_depth);
    check_metric(&runs.run[1], LLMPERF_METRIC_DECODE_RATE, 34.062705);
    llmperf_runs_free(&runs);
    runs = read_sample("llama-bench.json", true); /* of 171.357, 172.038, 168.778 */
    check_metric(&runs.run[0], LLMPERF_METRIC_PREFILL_RATE, 171.357);
    llmperf_runs_free(&runs);
}

Test(llama_bench, csv_says_the_same_in_texts)
{
    static const char text[] =
        "build_commit,cpu_info,gpu_info,model_filename,model_type,n_gpu_layers,split_mode,type_k,"
        "n_cpu_moe,embeddings,n_prompt,n_gen,n_depth,avg_ts,stddev_ts\n"
        "\"abc\",\"Xeon\",\"RTX 4090, RTX 4090\",\"C:\\m\\x-7B.gguf\","
        "\"llama 7B Q4_K - Medium\",\"99\",\"layer\",\"q8_0\",\"0\",\"0\",\"512\",\"128\","
        "\"1024\",\"250.5\",\"1.5\"\n";
    llmperf_runs runs = {0};
    llmperf_error error = {0};
    told t;
    cr_assert_eq(read_text(&runs, text, &t, &error), LLMPERF_OK, "%s", error.text);
    const llmperf_run *r = &runs.run[0];
    cr_assert_eq(r->line, 2);
    cr_assert_str_eq(r->gpu, "RTX 4090");
    cr_assert_eq(r->devices, 2);
    cr_assert_eq(r->pp, 2); /* layers are split */
    cr_assert_str_eq(r->model, "x-7B");
    cr_assert_str_eq(r->weight_dtype, "q4_k_m");
    cr_assert_str_eq(r->kv_dtype, "q8_0");
    check_lengths(r, 1, 512, 128);
    check_near(r->depth, 1024);
    check_metric(r, LLMPERF_METRIC_TOTAL_RATE, 250.5); /* prompt and generation together */
    llmperf_runs_free(&runs);
}

Test(llama_batched_bench, jsonl)
{
    llmperf_runs runs = read_sample("llama-batched-bench.jsonl", false);
    cr_assert_eq(runs.count, 14); /* 7 lines, prompts and generation of each */
    check_lengths(&runs.run[0], 1, 16, 0);
    check_metric(&runs.run[0], LLMPERF_METRIC_PREFILL_RATE, 47.065331);
    cr_assert_eq(runs.run[13].line, 7);
    check_lengths(&runs.run[13], 64, 16, 8);
    check_metric(&runs.run[13], LLMPERF_METRIC_DECODE_RATE, 64.076210);
    cr_assert_str_eq(runs.run[13].model, ""); /* the file does not say */
    llmperf_runs_free(&runs);
}

Test(llama_batched_bench, a_shared_prompt_is_computed_once)
{
    static const char text[] =
        "{\"n_kv_max\": 1, \"is_pp_shared\": 1, \"pp\": 512, \"tg\": 32, \"pl\": 8, \"speed_pp\": "
        "100, \"speed_tg\": 50}";
    llmperf_runs runs = {0};
    told t;
    cr_assert_eq(read_text(&runs, text, &t, NULL), LLMPERF_OK);
    check_lengths(&runs.run[0], 1, 512, 0);
    check_lengths(&runs.run[1], 8, 512, 32);
    llmperf_runs_free(&runs);
}

Test(vllm_serve, takes_milliseconds_and_an_infinite_rate)
{
    llmperf_runs runs = read_sample("vllm-bench-serve.json", false);
    cr_assert_eq(runs.count, 4); /* no e2el: it is absent by default */
    const llmperf_run *r = &runs.run[0];
    cr_assert_str_eq(r->engine, "vllm");
    cr_assert_str_eq(r->model, "meta-llama/Llama-3.1-8B-Instruct");
    cr_assert_eq(r->tp, 1); /* "1", by --metadata */
    cr_assert_eq((int)r->kind, (int)LLMPERF_RUN_SERVING);
    cr_assert(isinf(r->rate_per_s));
    check_lengths(r, 32, 1024, 128); /* 204800 and 25600 tokens of 200 requests */
    cr_assert_eq(r->requests, 200);
    check_metric(r, LLMPERF_METRIC_TTFT, 0.4112);
    check_near(r->spread, 0.1603);
    check_metric(&runs.run[1], LLMPERF_METRIC_TPOT, 0.0479);
    check_metric(&runs.run[2], LLMPERF_METRIC_OUTPUT_RATE, 612.4);
    check_metric(&runs.run[3], LLMPERF_METRIC_TOTAL_RATE, 5511.9);
    llmperf_runs_free(&runs);
    runs = read_sample("vllm-bench-serve.json", true);
    check_metric(&runs.run[0], LLMPERF_METRIC_TTFT, 0.388);
    check_metric(&runs.run[1], LLMPERF_METRIC_TPOT, 0.0482);
    llmperf_runs_free(&runs);
}

Test(vllm_serve, detailed_lengths_are_of_the_requests)
{
    llmperf_runs runs = read_sample("vllm-bench-serve-detailed.json", false);
    check_lengths(&runs.run[0], 32, 1024, 3);
    check_metric(&runs.run[0], LLMPERF_METRIC_TTFT, 0.4112);
    llmperf_runs_free(&runs);
}

#define SERVE_OBJECT(rate, tpot)                                                                   \
    "{\"model_id\": \"m\", \"backend\": \"openai-chat\", \"request_rate\": " rate                  \
    ", \"max_concurrency\": null, \"completed\": 2, \"total_input_tokens\": 20, "                  \
    "\"total_output_tokens\": 8, \"request_throughput\": 1, \"request_goodput:\": null, "          \
    "\"mean_ttft_ms\": 10, \"mean_tpot_ms\": " tpot ", \"itls\": [[1, {\"x\": \"]\"}], [2]]}"

/* --append-result: objects follow each other, here with bare NaN and Infinity as Python writes them. */
Test(vllm_serve, appended_results_and_words_of_python)
{
    static const char text[] = SERVE_OBJECT("4.0", "NaN") "\n" SERVE_OBJECT(
        "Infinity", "5") "\n\n" SERVE_OBJECT("\"inf\"", "\"2.5\"");
    llmperf_runs runs = {0};
    llmperf_error error = {0};
    told t;
    cr_assert_eq(read_text(&runs, text, &t, &error), LLMPERF_OK, "%s", error.text);
    cr_assert_eq(runs.count, 5);
    cr_assert_eq(t.count, 1);
    cr_assert_eq(t.line, 1);
    cr_assert_str_eq(t.why, "mean_tpot_ms is NaN; a number is allowed");
    cr_assert_str_eq(runs.run[0].engine, ""); /* a protocol, no engine */
    check_near(runs.run[0].rate_per_s, 4);
    cr_assert_eq((int)runs.run[0].kind, (int)LLMPERF_RUN_SERVING);
    cr_assert_eq(runs.run[1].line, 2);
    cr_assert(isinf(runs.run[1].rate_per_s));
    cr_assert_eq((int)runs.run[1].kind, (int)LLMPERF_RUN_OFFLINE); /* all at once */
    cr_assert_eq(runs.run[3].line, 4);
    check_metric(&runs.run[4], LLMPERF_METRIC_TPOT, 0.0025); /* a number as a text */
    llmperf_runs_free(&runs);
}

Test(vllm_latency, seconds_of_a_batch_that_is_not_said)
{
    llmperf_runs runs = read_sample("vllm-bench-latency.json", false);
    cr_assert_eq(runs.count, 1);
    check_lengths(&runs.run[0], 0, 0, 0);
    cr_assert_eq((int)runs.run[0].kind, (int)LLMPERF_RUN_STATIC);
    check_metric(&runs.run[0], LLMPERF_METRIC_E2E, 1.2874);
    check_near(runs.run[0].spread, 0.0043);
    llmperf_runs_free(&runs);
}

Test(vllm_throughput, counts_prompts_too)
{
    llmperf_runs runs = read_sample("vllm-bench-throughput.json", false);
    cr_assert_eq(runs.count, 1);
    cr_assert_eq((int)runs.run[0].kind, (int)LLMPERF_RUN_OFFLINE);
    cr_assert_eq(runs.run[0].requests, 1000);
    check_metric(&runs.run[0], LLMPERF_METRIC_TOTAL_RATE, 22022.6);
    llmperf_runs_free(&runs);
}

Test(sglang, one_batch)
{
    llmperf_runs runs = read_sample("sglang-bench_one_batch.jsonl", false);
    cr_assert_eq(runs.count, 9);
    check_lengths(&runs.run[6], 32, 1024, 64);
    cr_assert_eq(runs.run[6].line, 3);
    cr_assert_eq((int)runs.run[6].kind, (int)LLMPERF_RUN_STATIC);
    check_metric(&runs.run[6], LLMPERF_METRIC_TTFT, 0.9277240969167505);
    check_metric(&runs.run[7], LLMPERF_METRIC_TPOT, 0.0084);
    check_metric(&runs.run[8], LLMPERF_METRIC_E2E, 1.4569240969167505);
    llmperf_runs_free(&runs);
}

Test(sglang, serving)
{
    llmperf_runs runs = read_sample("sglang-bench_serving.jsonl", false);
    cr_assert_eq(runs.count, 5);
    const llmperf_run *r = &runs.run[0];
    cr_assert_str_eq(r->model, "meta-llama/Llama-3.1-8B-Instruct");
    cr_assert_str_eq(r->engine_version, "0.5.x");
    cr_assert_str_eq(r->act_dtype, ""); /* "auto" says nothing */
    check_lengths(r, 32, 1024, 128);
    check_near(r->rate_per_s, 8);
    check_metric(r, LLMPERF_METRIC_TTFT, 0.310);
    check_metric(&runs.run[1], LLMPERF_METRIC_TPOT, 0.0393);
    check_metric(&runs.run[2], LLMPERF_METRIC_E2E, 5.3);
    check_metric(&runs.run[3], LLMPERF_METRIC_OUTPUT_RATE, 638.4);
    check_metric(&runs.run[4], LLMPERF_METRIC_TOTAL_RATE, 5745.6);
    llmperf_runs_free(&runs);
}

Test(trtllm, report)
{
    llmperf_runs runs = read_sample("trtllm-bench-report.json", false);
    cr_assert_eq(runs.count, 5);
    const llmperf_run *r = &runs.run[0];
    cr_assert_str_eq(r->engine, "tensorrt-llm");
    cr_assert_str_eq(r->gpu, "NVIDIA H200");
    cr_assert_str_eq(r->weight_dtype, "FP8");
    cr_assert_str_eq(r->act_dtype, ""); /* bfloat16 is the model's, products are in FP8 */
    cr_assert_str_eq(r->kv_dtype, "FP8");
    check_lengths(r, 1390, 1024, 128);
    check_metric(r, LLMPERF_METRIC_TTFT, 3.1);
    check_metric(&runs.run[1], LLMPERF_METRIC_TPOT, 0.042);
    check_metric(&runs.run[2], LLMPERF_METRIC_E2E, 8.45);
    check_metric(&runs.run[3], LLMPERF_METRIC_OUTPUT_RATE, 21068);
    check_metric(&runs.run[4], LLMPERF_METRIC_TOTAL_RATE, 189612);
    llmperf_runs_free(&runs);
    runs = read_sample("trtllm-bench-report.json", true);
    check_metric(&runs.run[0], LLMPERF_METRIC_TTFT, 3.0);
    check_metric(&runs.run[2], LLMPERF_METRIC_E2E, 8.4);
    llmperf_runs_free(&runs);
}

Test(guidellm, successful_requests)
{
    llmperf_runs runs = read_sample("guidellm-benchmarks.json", false);
    cr_assert_eq(runs.count, 5);
    check_lengths(&runs.run[0], 32, 1024, 128);
    cr_assert_eq(runs.run[0].requests, 100);
    check_metric(&runs.run[0], LLMPERF_METRIC_TTFT, 0.4);
    check_metric(&runs.run[1], LLMPERF_METRIC_TPOT,
                 0.0479); /* not 50.7: that has the first in it */
    check_metric(&runs.run[2], LLMPERF_METRIC_E2E, 6.5);
    check_metric(&runs.run[3], LLMPERF_METRIC_OUTPUT_RATE, 627);
    llmperf_runs_free(&runs);
}

Test(aiperf, summaries_of_both_tools)
{
    static const char *const names[] = {"aiperf-profile_export_aiperf.json",
                                        "genai-perf-profile_export_genai_perf.json"};
    for (int i = 0; i < 2; i++) {
        llmperf_runs runs = read_sample(names[i], false);
        cr_assert_eq(runs.count, 4);
        cr_assert_str_eq(runs.run[0].model, "meta-llama/Llama-3.1-8B-Instruct");
        cr_assert_str_eq(runs.run[0].engine, i == 0 ? "" : "vllm");
        check_lengths(&runs.run[0], 32, 1024, 128);
        check_metric(&runs.run[0], LLMPERF_METRIC_TTFT, 0.4);
        check_metric(&runs.run[1], LLMPERF_METRIC_TPOT, 0.047);
        check_metric(&runs.run[2], LLMPERF_METRIC_E2E, 6.5);
        check_metric(&runs.run[3], LLMPERF_METRIC_OUTPUT_RATE, 610);
        llmperf_runs_free(&runs);
        runs = read_sample(names[i], true);
        check_metric(&runs.run[1], LLMPERF_METRIC_TPOT, 0.04653);
        llmperf_runs_free(&runs);
    }
}

Test(aiperf, older_units_and_texts)
{
    static const char text[] = "{\"time_to_first_token\": {\"unit\": \"ns\", \"avg\": \"4e8\"}, "
                               "\"request_latency\": {\"unit\": \"fortnights\", \"avg\": 1}}";
    llmperf_runs runs = {0};
    told t;
    cr_assert_eq(read_text(&runs, text, &t, NULL), LLMPERF_OK);
    cr_assert_eq(runs.count, 1);
    check_metric(&runs.run[0], LLMPERF_METRIC_TTFT, 0.4);
    cr_assert(strstr(t.why, "unit 'fortnights'") != NULL);
    llmperf_runs_free(&runs);
}

#define REQUEST(phase, ttft, tokens, error)                                                        \
    "{\"metadata\": {\"benchmark_phase\": \"" phase                                                \
    "\"}, \"metrics\": {\"ttft\": {\"value\": " ttft                                               \
    ", \"unit\": \"ms\"}, \"input_sequence_length\": {\"value\": 100, \"unit\": \"tokens\"}, "     \
    "\"output_sequence_length\": {\"value\": " tokens                                              \
    ", \"unit\": \"tokens\"}}, \"error\": " error "}\n"

Test(aiperf, requests_make_one_run)
{
    static const char text[] = REQUEST("warmup", "9000", "10", "null")
        REQUEST("profiling", "100", "10", "null") REQUEST("profiling", "300", "30", "null")
            REQUEST("profiling", "7000", "10", "{\"code\": 500}");
    llmperf_runs runs = read_sample("aiperf-profile_export.jsonl", false);
    cr_assert_eq(runs.count, 3);
    check_lengths(&runs.run[0], 0, 550, 9);
    check_metric(&runs.run[0], LLMPERF_METRIC_TTFT, 0.2559);
    check_metric(&runs.run[1], LLMPERF_METRIC_TPOT, 0.0052);
    check_metric(&runs.run[2], LLMPERF_METRIC_E2E, 0.2975);
    llmperf_runs_free(&runs);
    told t;
    cr_assert_eq(read_text(&runs, text, &t, NULL), LLMPERF_OK);
    cr_assert_eq(runs.count, 1);
    cr_assert_eq(runs.run[0].line, 2);
    check_lengths(&runs.run[0], 0, 100, 20);
    check_metric(&runs.run[0], LLMPERF_METRIC_TTFT, 0.2); /* (100 + 300) / 2 ms */
    cr_assert_eq(t.count, 1);
    cr_assert_eq(t.line, 4);
    llmperf_runs_free(&runs);
}

/* ---- damaged JSON ------------------------------------------------------------------------------------ */

Test(json, damage_is_named_by_its_place_in_one_line)
{
    static const struct {
        char text[160];
        char message[96];
    } rows[] = {
        {"{\"avg_ts\": 1,\n \"n_prompt\": 5", "dir/x.csv:2:"},
        {"{\"avg_ts\": 1,\n \"n_prompt\": 5,}", "dir/x.csv:2:"},
        {"[\n{\"metadata\": {\"benchmark_phase\": \"warmup\"}, \"metrics\": {}} x",
         "dir/x.csv:2:60: 'x'; ',' or ']' is allowed"},
        {"[1, 2]", "dir/x.csv:1:2: '1'; an object, '{' is allowed"},
        {"[", "dir/x.csv:1:2: the end; an object, '{' is allowed"},
        {"{\"avg_ts\": 1, \"n_gen\": 1, \"n_prompt\": 1e999}", "dir/x.csv:1:"},
        {"{\"a\": 1, \"a\": 2}", "dir/x.csv:1:"},
        {"{\"generated_texts\": [\"never ends", "dir/x.csv:1:"},
        {"{\"hello\": 1}", "dir/x.csv:1: an object with 'hello' of no known result format"},
        {"{}", "dir/x.csv:1: an object of no known result format"},
        {"{\"avg_ts\": -Infinite}", "dir/x.csv:1:"},
        {"{\"avg_ts\": {}, \"n_prompt\": 1, \"n_gen\": 0}",
         "dir/x.csv:1: avg_ts is no number; a number is allowed"},
        {"{\"avg_ts\": 5, \"n_prompt\": \"many\", \"n_gen\": 0}",
         "dir/x.csv:1: n_prompt is 'many'; a number is allowed"},
        {"{\"avg_ts\": 5, \"n_prompt\": 1e300, \"n_gen\": 0}",
         "dir/x.csv:1: n_prompt is 1e+300; 0 to 2^53 is allowed"},
        {"{\"avg_ts\": 5, \"n_prompt\": 0, \"n_gen\": 0}", "dir/x.csv:1: n_prompt and n_gen are 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        llmperf_runs runs = {0};
        llmperf_error error = {0};
        told t;
        cr_assert_eq(read_text(&runs, rows[i].text, &t, &error), LLMPERF_E_SPEC, "%s",
                     rows[i].text);
        cr_assert(strncmp(error.text, rows[i].message, strlen(rows[i].message)) == 0,
                  "'%s' does not begin with '%s'", error.text, rows[i].message);
        cr_assert_eq(error.faults, 1);
        cr_assert_eq(runs.count, 0);
        llmperf_runs_free(&runs);
    }
}

Test(json, deep_nesting_is_refused)
{
    enum { DEEP = 100000 };
    char *text = malloc(2 * DEEP + 16);
    llmperf_runs runs = {0};
    llmperf_error error = {0};
    told t;
    size_t used = (size_t)sprintf(text, "{\"a\":");
    memset(text + used, '[', DEEP);
    text[used + DEEP] = '\0';
    cr_assert_eq(read_text(&runs, text, &t, &error), LLMPERF_E_SPEC);
    cr_assert_eq(error.faults, 1);
    free(text);
}

/* 40 MB of times between tokens are passed over; what stands behind them is read. */
Test(json, long_logs_need_little_memory)
{
    static const char head[] = "{\"model_id\": \"m\", \"itls\": [", number[] = "[0.0123456789],",
                      tail[] = "[1]], \"request_throughput\": 1, \"completed\": 1, "
                               "\"total_input_tokens\": 5, \"total_output_tokens\": 7, "
                               "\"mean_ttft_ms\": 8}";
    enum { TIMES = 2500000 };
    char *text = malloc(sizeof head + sizeof tail + TIMES * (sizeof number - 1)), *at = text;
    llmperf_runs runs = {0};
    llmperf_error error = {0};
    told t;
    at += sprintf(at, "%s", head);
    for (int i = 0; i < TIMES; i++) {
        memcpy(at, number, sizeof number - 1);
        at += sizeof number - 1;
    }
    strcpy(at, tail);
    cr_assert_eq(read_text(&runs, text, &t, &error), LLMPERF_OK, "%s", error.text);
    cr_assert_eq(runs.count, 1);
    check_lengths(&runs.run[0], 0, 5, 7);
    check_metric(&runs.run[0], LLMPERF_METRIC_TTFT, 0.008);
    llmperf_runs_free(&runs);
    free(text);
}
