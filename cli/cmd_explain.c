/* SPDX-License-Identifier: MIT */
/* llmperf explain FIELD|OPERATOR MODEL [HARDWARE] */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common.h"
#include "llmperf/explain.h"

typedef struct explain_arguments {
    common_arguments common;
    int phase;
} explain_arguments;

static const char *const PHASES[] = {"decode", "prefill", NULL};

static const option OPTIONS[] = {
    OPTION_ROW(explain_arguments, phase, CHOICE, "phase", 0, "PHASE",
               "whose operator: of a decode step, or of prefill", .choices = PHASES,
               .default_text = "decode", .group = "Operators"),
    COMMON_WORKLOAD_ROWS(explain_arguments),
    COMMON_TARGET_ROWS(explain_arguments),
    COMMON_OUTPUT_ROWS(explain_arguments),
    OPTION_END,
};

/* What is explained, for one model; everything large is static and needed once. The caller frees. */
static llmperf_status explain(const explain_arguments *a, const option_result *result,
                              llmperf_loaded *l, llmperf_config **ret_config,
                              llmperf_explanation **ret_explanation, llmperf_error *error)
{
    static llmperf_prediction prediction = LLMPERF_PREDICTION_INIT;
    llmperf_workload workload;
    const char *hw_name = result->positional_count > 2 ? result->positional[2] : NULL;
    llmperf_status status = llmperf_explain_check(result->positional[0], error);
    if (status == LLMPERF_OK && result->positional_count < 2)
        status = llmperf_fail(error, LLMPERF_E_USAGE,
                              "'explain %s' takes a MODEL too, and HARDWARE for times and memory",
                              result->positional[0]);
    if (status == LLMPERF_OK)
        status = common_workload(&a->common, &workload, error);
    if (status == LLMPERF_OK)
        status = common_load(&a->common, result->positional[1], hw_name, l, error);
    if (status == LLMPERF_OK)
        status = llmperf_config_new(l->model, l->hw, l->calib, &workload, ret_config, error);
    if (status == LLMPERF_OK && hw_name)
        status = llmperf_predict(*ret_config, &prediction, error);
    if (status != LLMPERF_OK)
        return status;
    const llmperf_explain_query query = {
        .name = result->positional[0],
        .prefill = a->phase == 1,
        .c = *ret_config,
        .prediction = hw_name ? &prediction : NULL,
        .asked = &workload,
    };
    return llmperf_explain(&query, ret_explanation, error);
}

/* NULL: the list of what can be explained. */
static llmperf_status write(const common_arguments *arguments,
                            const llmperf_explanation *explanation, llmperf_error *error)
{
    common_output output;
    llmperf_status status = common_open_output(arguments, &output, error);
    if (status != LLMPERF_OK)
        return status;
    const llmperf_text_style style = {.color = output.terminal && !getenv("NO_COLOR")};
    if (explanation)
        status = llmperf_write_explanation(output.file, output.format, explanation, &style, error);
    else
        status = llmperf_write_explain_list(output.file, output.format, &style, error);
    llmperf_status closed = common_close_output(&output, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

static int run(int argc, char **argv)
{
    llmperf_explanation *explanation = NULL;
    explain_arguments arguments = {.common = COMMON_DEFAULTS};
    option_result result = {0};
    llmperf_error error = {0};
    llmperf_loaded l = {0};
    llmperf_config *c = NULL;

    llmperf_status status = common_parse(&COMMAND_EXPLAIN, argc, argv, &arguments, &result, &error);
    if (status != LLMPERF_OK)
        return common_report(status, &error);
    if (result.help) {
        option_print_help(stdout, &COMMAND_EXPLAIN);
        return 0;
    }
    bool list = strcmp(result.positional[0], "list") == 0;
    if (list && result.positional_count > 1)
        status = llmperf_fail(&error, LLMPERF_E_USAGE, "'explain list' takes nothing more");
    else if (!list)
        status = explain(&arguments, &result, &l, &c, &explanation, &error);
    if (status == LLMPERF_OK)
        status = write(&arguments.common, explanation, &error);
    llmperf_explanation_free(explanation);
    llmperf_config_free(c);
    llmperf_loaded_free(&l);
    return common_report(status, &error);
}

const option_command COMMAND_EXPLAIN = {
    .name = "explain",
    .synopsis = "list|FIELD|OPERATOR [MODEL] [HARDWARE]",
    .summary = "the formula behind a number, with the source of each input",
    .about =
        "Prints how a number of `predict` comes about: the formula, the formula with the numbers "
        "put in, the value, and for each input its value and where it comes from (an option, the "
        "model's file, the device's file with the confidence of its source, another field).\n\n"
        "FIELD is the path of a number in predict's JSON, such as memory.kv_bytes or tpot_s; the "
        "end of a path will do where only one fits. OPERATOR is a name of `layers`, such as "
        "attn.qkv. `llmperf explain list` lists both. Without HARDWARE only counts are explained.",
    .examples = "llmperf explain list\n"
                "llmperf explain kv_bytes llama-3.1-8b h100-sxm -b 16\n"
                "llmperf explain tpot llama-3.1-8b h100-sxm -b 16\n"
                "llmperf explain compute_bound_batch.attn.out llama-3.1-8b h100-sxm\n"
                "llmperf explain attn.core llama-3.1-8b h100-sxm --phase prefill\n"
                "llmperf explain params llama-3.1-8b --format json",
    .options = OPTIONS,
    .min_positionals = 1,
    .max_positionals = 3,
    .run = run,
};
