/* SPDX-License-Identifier: MIT */
/* llmperf predict MODEL HARDWARE */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common.h"

typedef struct predict_arguments {
    common_arguments common;
} predict_arguments;

static const option OPTIONS[] = {
    COMMON_WORKLOAD_ROWS(predict_arguments),
    COMMON_TARGET_ROWS(predict_arguments),
    COMMON_OUTPUT_ROWS(predict_arguments),
    OPTION_END,
};

/* The report, with the command line that its proposals build on. */
static llmperf_status write(const common_arguments *arguments, int argc, char **argv,
                            const option_result *result, const llmperf_prediction *prediction,
                            llmperf_error *error)
{
    common_output output;
    char options[4096], model_name[512], hw_name[512];
    llmperf_status status = common_open_output(arguments, &output, error);
    if (status != LLMPERF_OK)
        return status;
    common_quote_options(argc, argv, result, options, sizeof options);
    common_quote(result->positional[0], model_name, sizeof model_name);
    common_quote(result->positional[1], hw_name, sizeof hw_name);
    const llmperf_text_style style = {
        .color = output.terminal && !getenv("NO_COLOR"),
        .model = model_name,
        .hw = hw_name,
        .options = options,
    };
    status = llmperf_write_prediction(output.file, output.format, prediction, &style, error);
    llmperf_status closed = common_close_output(&output, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

static int run(int argc, char **argv)
{
    predict_arguments arguments = {.common = COMMON_DEFAULTS};
    option_result result = {0};
    llmperf_error error = {0};
    llmperf_workload workload;
    llmperf_config *c = NULL;
    llmperf_loaded l = {0};
    static llmperf_prediction prediction = LLMPERF_PREDICTION_INIT; /* large, and needed once */

    llmperf_status status = common_parse(&COMMAND_PREDICT, argc, argv, &arguments, &result, &error);
    if (status != LLMPERF_OK)
        return common_report(status, &error);
    if (result.help) {
        option_print_help(stdout, &COMMAND_PREDICT);
        return 0;
    }
    status = common_workload(&arguments.common, &workload, &error);
    if (status == LLMPERF_OK)
        status =
            common_load(&arguments.common, result.positional[0], result.positional[1], &l, &error);
    if (status == LLMPERF_OK)
        status = llmperf_config_new(l.model, l.hw, l.calib, &workload, &c, &error);
    if (status == LLMPERF_OK)
        status = llmperf_predict(c, &prediction, &error);
    if (status == LLMPERF_OK)
        status = write(&arguments.common, argc, argv, &result, &prediction, &error);
    if (status == LLMPERF_OK && !prediction.memory.fits)
        status = llmperf_fail(&error, LLMPERF_E_NO_FIT,
                              "%s does not fit on %s as asked; the report says by how much",
                              llmperf_model_name(l.model), l.hw->name);
    llmperf_config_free(c);
    llmperf_loaded_free(&l);
    return common_report(status, &error);
}

const option_command COMMAND_PREDICT = {
    .name = "predict",
    .synopsis = "MODEL HARDWARE",
    .summary = "does it fit, how fast is it, and where does the time go",
    .about =
        "Predicts memory, time to first token, time per output token and throughput of MODEL on "
        "HARDWARE, and the batch at which its linear layers turn compute-bound.\n\n"
        "MODEL is a shipped name, a model YAML, a Hugging Face config.json or a folder that holds "
        "one, or a GGUF file. HARDWARE is a shipped name or a YAML. Times are those of the best "
        "calibration for the device (the header names it), borrowed from the nearest device where "
        "it "
        "has none of its own. With --calibration none, and for devices that nothing near was "
        "measured of, every time is a bound: the roofline at one end, what 95 % of published runs "
        "reach at the other. Exit code 8 says that the deployment does not fit.",
    .examples = "llmperf predict llama-3.1-8b h100-sxm\n"
                "llmperf predict llama-3.1-70b h100-sxm --tp 4 -b 64 -s 2048 -g 512\n"
                "llmperf predict ./config.json l40s --weight-dtype fp8 --tpot 30ms --price 1.2/h\n"
                "llmperf predict qwen2.5-7b a100-sxm-80gb --format json",
    .options = OPTIONS,
    .min_positionals = 2,
    .max_positionals = 2,
    .run = run,
};
