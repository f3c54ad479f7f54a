/* SPDX-License-Identifier: MIT */
/* llmperf validate MODEL [HARDWARE]: the model's own operators on this device, beside predictions. */
#include <stdlib.h>
#include <unistd.h>

#include "commands.h"
#include "common.h"
#include "llmperf/validate.h"

typedef struct validate_arguments {
    common_arguments common;
    const char *backend, *options, *batch, *device;
    int phase;
    double time_limit_s;
} validate_arguments;

static const char *const PHASES[] = {"decode", "prefill", "both", NULL};

static const option OPTIONS[] = {
    OPTION_ROW(validate_arguments, batch, RANGE, "batch", 'b', "RANGE",
               "batches to run, each on its own", .min = 1, .max = 65536, .default_text = "1,4",
               .group = "Workload"),
    OPTION_ROW(validate_arguments, phase, CHOICE, "phase", 0, "PHASE", "decode, prefill or both",
               .choices = PHASES, .default_text = "decode", .group = "Workload"),
    OPTION_ROW(validate_arguments, common.prompt, INT64, "prompt", 's', "N",
               "prompt tokens of each", .min = 1, .max = 1048576, .default_text = "1024",
               .group = "Workload"),
    OPTION_ROW(validate_arguments, common.generate, INT64, "generate", 'g', "N",
               "new tokens of each", .min = 1, .max = 1048576, .default_text = "256",
               .group = "Workload"),
    OPTION_ROW_GIVEN(validate_arguments, common.context, common.context_given, INT64, "context", 0,
                     "N", "tokens already cached when a decode step starts", .min = 0,
                     .max = 1048576, .default_text = "prompt + generate/2", .group = "Workload"),
    OPTION_ROW(validate_arguments, common.weight_dtype, TEXT, "weight-dtype", 0, "DTYPE",
               "format of dense weights", .default_text = "the file's", .group = "Formats"),
    OPTION_ROW(validate_arguments, common.act_dtype, TEXT, "act-dtype", 0, "DTYPE",
               "format of activations", .default_text = "the file's", .group = "Formats"),
    OPTION_ROW(validate_arguments, common.kv_dtype, TEXT, "kv-dtype", 0, "DTYPE",
               "format of the KV cache", .default_text = "as activations", .group = "Formats"),
    OPTION_ROW(validate_arguments, common.attention, CHOICE, "attention", 0, "KIND",
               "fused, or unfused: batched products with the scores in memory",
               .choices = COMMON_ATTENTION, .default_text = "fused", .group = "Formats"),
    OPTION_ROW(validate_arguments, backend, TEXT, "backend", 0, "NAME", "cpu, fake or cuda",
               .default_text = "cpu", .group = "Device"),
    OPTION_ROW(validate_arguments, device, TEXT, "device", 0, "N|UUID", "which one of the backend",
               .default_text = "0", .group = "Device"),
    OPTION_ROW(validate_arguments, options, TEXT, "options", 0, "K=V,..",
               "options of the backend (docs/backends.md)", .group = "Device"),
    OPTION_ROW(validate_arguments, time_limit_s, TIME, "time-limit", 0, "TIME",
               "most time spent on one operator; a whole step may take four times that",
               .min = 0.01, .max = 600, .default_text = "1s", .group = "Device"),
    OPTION_ROW(validate_arguments, common.calibration, TEXT, "calibration", 0, "NAME",
               "the predictions' measurements: a file, a name, or none",
               .default_text = "the best for the device", .group = "Device"),
    OPTION_ROW(validate_arguments, common.confidence, DOUBLE, "confidence", 0, "F",
               "coverage of intervals", .min = 0.01, .max = 0.999, .default_text = "0.9",
               .group = "Output"),
    COMMON_OUTPUT_ROWS(validate_arguments),
    OPTION_END,
};

static void say_progress(int64_t batch, const char *what, int done, int total, void *context)
{
    (void)context;
    if (!isatty(STDERR_FILENO))
        return;
    fprintf(stderr, "\r\033[Kbatch %lld: %d of %d, %s", (long long)batch, done + 1, total, what);
    if (done + 1 >= total)
        fputs("\r\033[K", stderr);
}

/* The batches that the range stands for; *ret_batches is owned by the caller. */
static llmperf_status expand(const char *text, int64_t **ret_batches, int64_t *ret_count,
                             llmperf_error *error)
{
    option_range range;
    option_range_cursor cursor = {0};
    int64_t count = 0;
    llmperf_status status = option_parse_range(text ? text : "1,4", 1, 65536, &range, error);
    if (status != LLMPERF_OK)
        return status;
    int64_t *batches = malloc((size_t)range.point_count * sizeof *batches);
    if (!batches)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    for (int64_t batch; option_range_next(&range, &cursor, &batch);)
        batches[count++] = batch;
    *ret_batches = batches;
    *ret_count = count;
    return LLMPERF_OK;
}

static llmperf_status measure(const validate_arguments *a, const llmperf_model *model,
                              const llmperf_loaded *part, const llmperf_opened_device *device,
                              llmperf_comparison *comparison, llmperf_error *error)
{
    llmperf_workload workload;
    llmperf_validate_options options = {.decode = a->phase != 1,
                                        .prefill = a->phase != 0,
                                        .time_limit_s = a->time_limit_s,
                                        .visit = say_progress};
    int64_t *batches = NULL;
    llmperf_status status = common_workload(&a->common, &workload, error);
    if (status == LLMPERF_OK)
        status = expand(a->batch, &batches, &options.batch_count, error);
    options.batches = batches;
    if (status == LLMPERF_OK)
        status = llmperf_validate(model, part->hw, part->calib, &workload, device, &options,
                                  comparison, error);
    free(batches);
    return status;
}

static llmperf_status write_rows(const common_arguments *arguments, const llmperf_model *model,
                                 const llmperf_calib *calib, const llmperf_device *device,
                                 const llmperf_comparison *comparison, llmperf_error *error)
{
    common_output output;
    char title[LLMPERF_TEXT_MAX];
    llmperf_status status = common_open_output(arguments, &output, error);
    if (status != LLMPERF_OK)
        return status;
    const llmperf_text_style style = {.color = output.terminal && !getenv("NO_COLOR")};
    if (calib)
        snprintf(title, sizeof title, "%s on %s, %s (%s)", llmperf_model_name(model), device->name,
                 llmperf_calib_borrowed(calib) > 0 ? "borrowed" : "calibrated",
                 llmperf_calib_name(calib));
    else
        snprintf(title, sizeof title, "%s on %s, no calibration: predictions are bounds",
                 llmperf_model_name(model), device->name);
    status = llmperf_write_comparison(output.file, output.format, comparison, title, &style, error);
    llmperf_status closed = common_close_output(&output, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

/* The part that is named, else the shipped one of the device's name, and what times it. */
static llmperf_status load_part(const validate_arguments *a, const char *name,
                                const llmperf_device *device, llmperf_loaded *ret_part,
                                llmperf_error *error)
{
    llmperf_spec_paths paths;
    char why[LLMPERF_TEXT_MAX];
    if (name)
        return common_load(&a->common, NULL, name, ret_part, error);
    llmperf_spec_paths_default(a->common.specs, &paths);
    if (llmperf_device_spec(&paths, device, ret_part, why))
        return common_load_calib(&a->common, ret_part, error);
    return llmperf_fail(error, LLMPERF_E_USAGE,
                        "no shipped hardware is '%s'%s%s; name one, or a file that "
                        "'llmperf calibrate --write-hw' wrote",
                        device->name, why[0] ? ": " : "", why);
}

static int run(int argc, char **argv)
{
    validate_arguments arguments = {.common = COMMON_DEFAULTS, .backend = "cpu", .device = "0"};
    const validate_arguments *a = &arguments;
    option_result result = {0};
    llmperf_error error = {0};
    llmperf_opened_device device = {0};
    llmperf_comparison comparison = {0};
    llmperf_loaded model = {0}, part = {0};
    llmperf_status status =
        common_parse(&COMMAND_VALIDATE, argc, argv, &arguments, &result, &error);
    if (status == LLMPERF_OK && result.help) {
        option_print_help(stdout, &COMMAND_VALIDATE);
        return 0;
    }
    if (status == LLMPERF_OK)
        status = common_load(&a->common, result.positional[0], NULL, &model, &error);
    if (status == LLMPERF_OK)
        status = llmperf_device_open(a->backend, a->device, a->options, &device, &error);
    if (status == LLMPERF_OK)
        status = load_part(a, result.positional_count > 1 ? result.positional[1] : NULL,
                           &device.device, &part, &error);
    if (status == LLMPERF_OK)
        status = llmperf_device_follow(&device, a->device, a->options, part.calib, &error);
    if (status == LLMPERF_OK)
        status = measure(a, model.model, &part, &device, &comparison, &error);
    if (status == LLMPERF_OK)
        status =
            write_rows(&a->common, model.model, part.calib, &device.device, &comparison, &error);
    llmperf_comparison_free(&comparison);
    llmperf_loaded_free(&model);
    llmperf_loaded_free(&part);
    llmperf_device_close(&device);
    return common_report(status, &error);
}

const option_command COMMAND_VALIDATE = {
    .name = "validate",
    .synopsis = "MODEL [HARDWARE]",
    .summary = "a model's own operators on this device, beside their predictions",
    .about =
        "Times every operator of MODEL's steps on this device, sets each beside its prediction, "
        "then their sum beside one whole forward pass of the same shapes. HARDWARE is the device "
        "whose peaks the calibration refers to; without it the shipped one of the device's name.",
    .examples = "llmperf validate tinyllama-1.1b my-cpu.yaml --calibration my-calibration.yaml "
                "--weight-dtype fp32 --act-dtype fp32\n"
                "llmperf validate llama-3.2-1b fake --backend fake -b 1..16*2 --format json",
    .options = OPTIONS,
    .min_positionals = 1,
    .max_positionals = 2,
    .run = run,
};
