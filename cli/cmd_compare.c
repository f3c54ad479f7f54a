/* SPDX-License-Identifier: MIT */
/* llmperf compare RESULT...: what engines measured, beside predictions. */
#include <stdlib.h>

#include "commands.h"
#include "common.h"
#include "llmperf/join.h"
#include "words.h"

enum { RULES_MAX = 256 };

typedef struct compare_arguments {
    common_arguments common;
    const char *model, *hw, *engine, *map, *group_by;
    int statistic; /* 1 = median */
} compare_arguments;

static const char *const STATISTICS[] = {"mean", "median", NULL};
static const char *const GROUPS[] = {"engine", "version", "gpu",   "model",  "dtype", "metric",
                                     "tp",     "batch",   "input", "output", "file",  NULL};

static const option OPTIONS[] = {
    OPTION_ROW(compare_arguments, model, TEXT, "model", 0, "MODEL",
               "the model, where a file names none that is known", .group = "Missing facts"),
    OPTION_ROW(compare_arguments, hw, TEXT, "hw", 0, "HARDWARE",
               "the device, where a file names none that is known", .group = "Missing facts"),
    OPTION_ROW(compare_arguments, engine, TEXT, "engine", 0, "NAME",
               "the engine, where a file names none; a profile's file; none: operators alone",
               .group = "Missing facts"),
    OPTION_ROW(compare_arguments, common.batch, INT64, "batch", 'b', "N",
               "sequences together, or requests in flight", .min = 1, .max = 16777216,
               .group = "Missing facts"),
    OPTION_ROW(compare_arguments, common.prompt, INT64, "prompt", 's', "N", "prompt tokens of each",
               .min = 1, .max = 1073741824, .group = "Missing facts"),
    OPTION_ROW(compare_arguments, common.generate, INT64, "generate", 'g', "N",
               "new tokens of each", .min = 1, .max = 1073741824, .group = "Missing facts"),
    OPTION_ROW(compare_arguments, common.tp, INT64, "tp", 0, "N", "tensor-parallel degree",
               .min = 1, .max = 65536, .default_text = "1", .group = "Missing facts"),
    OPTION_ROW(compare_arguments, common.weight_dtype, TEXT, "weight-dtype", 0, "DTYPE",
               "format of the weights: bf16, fp8, int4-g128, awq, q4_k_m ...",
               .default_text = "the model's", .group = "Missing facts"),
    OPTION_ROW(compare_arguments, common.act_dtype, TEXT, "act-dtype", 0, "DTYPE",
               "format of activations", .default_text = "the model's", .group = "Missing facts"),
    OPTION_ROW(compare_arguments, common.kv_dtype, TEXT, "kv-dtype", 0, "DTYPE",
               "format of the KV cache", .default_text = "as activations",
               .group = "Missing facts"),
    OPTION_ROW(compare_arguments, map, WORDS, "map", 0, "THEIR=OURS",
               "what a file's names of models, devices and columns stand for: my-8b=llama-3.1-8b",
               .group = "Missing facts"),
    OPTION_ROW_GIVEN(compare_arguments, common.chunk, common.chunk_given, INT64, "chunk", 0, "N",
                     "most prefill tokens in a step", .min = 1, .max = 1073741824,
                     .default_text = "8192", .group = "Prediction"),
    OPTION_ROW(compare_arguments, common.calibration, TEXT, "calibration", 0, "NAME",
               "which measurements to use: a file, a name, or none",
               .default_text = "each row's engine profile, else the best for its device",
               .group = "Prediction"),
    OPTION_ROW(compare_arguments, common.confidence, DOUBLE, "confidence", 0, "F",
               "coverage of intervals", .min = 0.01, .max = 0.999, .default_text = "0.9",
               .group = "Prediction"),
    OPTION_ROW(compare_arguments, statistic, CHOICE, "statistic", 0, "WORD",
               "what is taken of the requests of a serving run", .choices = STATISTICS,
               .default_text = "mean", .group = "Report"),
    OPTION_ROW(compare_arguments, group_by, WORDS, "group-by", 0, "WORDS",
               "what rows of a group share", .choices = GROUPS, .default_text = "engine,gpu,metric",
               .group = "Report"),
    COMMON_OUTPUT_ROWS(compare_arguments),
    OPTION_END,
};

static llmperf_status write(const common_arguments *arguments, const llmperf_comparison *c,
                            int files, llmperf_error *error)
{
    common_output output;
    char title[LLMPERF_TEXT_MAX];
    llmperf_status status = common_open_output(arguments, &output, error);
    if (status != LLMPERF_OK)
        return status;
    const llmperf_text_style style = {.color = output.terminal && !getenv("NO_COLOR")};
    snprintf(title, sizeof title, "%d measurement%s of %d file%s beside predictions, %d skipped",
             c->row_count, c->row_count == 1 ? "" : "s", files, files == 1 ? "" : "s",
             c->skip_count);
    status = llmperf_write_comparison(output.file, output.format, c, title, &style, error);
    llmperf_status closed = common_close_output(&output, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

/* Everything is read before anything is written; a table without rows says what was skipped, unless
 * the reader can give what is missing. */
static llmperf_status compare(const compare_arguments *a, const llmperf_join_options *options,
                              const option_result *result, llmperf_error *error)
{
    llmperf_join *join = NULL;
    llmperf_status status = llmperf_join_new(options, &join, error);
    for (int i = 0; i < result->positional_count && status == LLMPERF_OK; i++)
        status = llmperf_join_read(join, result->positional[i], error);
    if (status == LLMPERF_OK) {
        const llmperf_comparison *c = llmperf_join_finish(join);
        llmperf_error nothing = {0};
        llmperf_status joined = llmperf_join_check(join, &nothing);
        if (joined != LLMPERF_E_USAGE)
            status = write(&a->common, c, result->positional_count, error);
        if (status == LLMPERF_OK && joined != LLMPERF_OK)
            status = llmperf_fail(error, joined, "%s", nothing.text);
    }
    llmperf_join_free(join);
    return status;
}

static int run(int argc, char **argv)
{
    compare_arguments arguments = {.common = COMMON_DEFAULTS};
    const common_arguments *a = &arguments.common;
    option_result result = {0};
    llmperf_error error = {0};
    llmperf_spec_paths paths;
    words map = {0}, groups = {0};
    llmperf_status status = common_parse(&COMMAND_COMPARE, argc, argv, &arguments, &result, &error);
    if (status == LLMPERF_OK && result.help) {
        option_print_help(stdout, &COMMAND_COMPARE);
        return 0;
    }
    llmperf_spec_paths_default(a->specs, &paths);
    if (status == LLMPERF_OK)
        status = words_split("map", arguments.map, RULES_MAX, "rules", &map, &error);
    if (status == LLMPERF_OK)
        status = words_split("group-by", arguments.group_by, RULES_MAX, "words", &groups, &error);
    const llmperf_join_options options = {.paths = &paths,
                                          .model = arguments.model,
                                          .hw = arguments.hw,
                                          .engine = arguments.engine,
                                          .batch = a->batch,
                                          .prompt = a->prompt,
                                          .generate = a->generate,
                                          .tp = a->tp,
                                          .weight_dtype = a->weight_dtype,
                                          .act_dtype = a->act_dtype,
                                          .kv_dtype = a->kv_dtype,
                                          .map = words_list(&map),
                                          .chunk = a->chunk,
                                          .calibration = a->calibration,
                                          .confidence = a->confidence,
                                          .median = arguments.statistic == 1,
                                          .group_by = words_list(&groups)};
    if (status == LLMPERF_OK)
        status = compare(&arguments, &options, &result, &error);
    words_free(&map);
    words_free(&groups);
    return common_report(status, &error);
}

const option_command COMMAND_COMPARE = {
    .name = "compare",
    .synopsis = "RESULT...",
    .summary = "what engines measured, beside predictions",
    .about =
        "Reads result files of llama-bench, llama-batched-bench, vLLM, SGLang, TensorRT-LLM, "
        "GuideLLM, GenAI-Perf and AIPerf, end-to-end rows as CSV, and samples of operators; the "
        "format is told by the content, '.gz' is read as it is. Sets each measurement beside the "
        "prediction of the same workload, and gives the errors of each group, beside what the "
        "plain roofline and one constant efficiency, fitted in hindsight, would have said.\n\n"
        "What a file says is taken; options give what it does not say. A row that lacks a fact is "
        "skipped with the reason, never guessed; when every row does, exit code 2 names the "
        "options. docs/compare.md lists formats and metrics. --format csv can be read again, by "
        "compare and by fit.",
    .examples =
        "llmperf compare my-llama-bench.json --model ./model.gguf --hw rtx-4090\n"
        "llmperf compare my-latency.json --model llama-3.1-8b --hw h100-sxm -b 8 -s 1024 -g 128\n"
        "llmperf compare my-rows.csv.gz --group-by engine,gpu,metric,tp --format md -o report.md\n"
        "llmperf compare my-rows.csv --map our-8b=llama-3.1-8b,lab-gpu=h100-pcie --format csv",
    .options = OPTIONS,
    .min_positionals = 1,
    .max_positionals = OPTION_MAX_POSITIONALS,
    .run = run,
};
