/* SPDX-License-Identifier: MIT */
/* llmperf validate MODEL [HARDWARE]: the model's own operators on this device, beside predictions. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common.h"
#include "llmperf/device.h"
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
               .default_text = "the best for the part", .group = "Device"),
    OPTION_ROW(validate_arguments, common.confidence, DOUBLE, "confidence", 0, "F",
               "coverage of intervals", .min = 0.01, .max = 0.999, .default_text = "0.9",
               .group = "Output"),
    COMMON_OUTPUT_ROWS(validate_arguments),
    OPTION_END,
};

static void say_progress(const char *what, int done, int total, void *context)
{
    const char *step = context;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s: %d of %d, %s", step, done + 1, total, what);
    if (isatty(STDERR_FILENO) && done + 1 >= total)
        fputs("\r\033[K", stderr);
}

/* Says how much the memory has moved since the calibration, if that was kept. */
static void note_memory(llmperf_comparison *comparison, const llmperf_calib *calib,
                        double bytes_per_s)
{
    if (!(bytes_per_s > 0))
        return;
    if (!calib || !(calib->stream_bytes_per_s > 0)) {
        llmperf_note(&comparison->notes, "memory streams at %.3g GB/s now", bytes_per_s / 1e9);
        return;
    }
    llmperf_note(
        &comparison->notes,
        "memory streams at %.3g GB/s now, at %.3g GB/s as a rule when the calibration was made "
        "(%+.0f %%); the rows 'memory as now' allow for what it was around each measurement",
        bytes_per_s / 1e9, calib->stream_bytes_per_s / 1e9,
        100 * (bytes_per_s / calib->stream_bytes_per_s - 1));
}

/*
 * On the CPU the fp32 products may come from either of two libraries, whichever is faster in a trial
 * when the device is opened; they must be those that the calibration timed. Opens the device again
 * where that says whose, and the user did not.
 */
static llmperf_status follow_products(const validate_arguments *a, const llmperf_calib *calib,
                                      llmperf_opened_device *device, llmperf_error *error)
{
    char options[LLMPERF_PATH_MAX];
    const char *fp32 = NULL, *given = a->options ? a->options : "";
    if (strcmp(device->device.backend, "cpu") != 0 || strstr(given, "fp32="))
        return LLMPERF_OK;
    for (int i = 0; i < calib->entry_count && !fp32; i++) {
        const llmperf_calib_entry *e = &calib->entry[i];
        bool dnn = strncmp(e->library, "oneDNN", 6) == 0, blas = strstr(e->library, "OpenBLAS");
        if (e->key.kind == LLMPERF_KIND_GEMM && e->key.dtype == LLMPERF_DTYPE_FP32 && (dnn || blas))
            fp32 = dnn && blas ? "mixed" : dnn ? "onednn" : "openblas";
    }
    if (!fp32)
        return LLMPERF_OK;
    snprintf(options, sizeof options, "%s%sfp32=%s", given, given[0] ? "," : "", fp32);
    llmperf_device_close(device);
    return llmperf_device_open(a->backend, a->device, options, device, error);
}

/* Other products than those that were calibrated are another device. */
static void note_library(llmperf_comparison *comparison, const llmperf_calib *calib,
                         const llmperf_opened_device *device)
{
    llmperf_device now = device->device;
    if (!calib || now.simulated ||
        device->backend->describe(device->handle, &now, NULL) != LLMPERF_OK)
        return;
    for (int i = 0; i < calib->entry_count; i++) {
        const llmperf_calib_entry *e = &calib->entry[i];
        if (e->key.kind != LLMPERF_KIND_GEMM || !e->library[0] ||
            strncmp(e->library, now.library, sizeof e->library - 1) == 0)
            continue;
        llmperf_note(&comparison->notes,
                     "the calibration's products are by %s, those measured here by %s%s",
                     e->library, now.library,
                     strcmp(now.backend, "cpu") == 0 ? " (--options fp32=... chooses)" : "");
        return;
    }
}

static llmperf_status run_batches(const validate_arguments *a, const llmperf_model *model,
                                  const llmperf_hw *hw, const llmperf_calib *calib,
                                  llmperf_opened_device *device, llmperf_comparison *comparison,
                                  llmperf_error *error)
{
    llmperf_workload workload;
    double watch_best_s = 0;
    llmperf_watch_log watch_log = {0};
    llmperf_probe_plan plan = {0};
    llmperf_measure_options options = {
        .time_limit_s = a->time_limit_s > 0 ? a->time_limit_s : 1,
        .interval_frac = 0.03,
        .simulated = device->device.simulated,
    };
    option_range range;
    option_range_cursor cursor = {0};
    llmperf_status status = common_workload(&a->common, &workload, error);
    if (status == LLMPERF_OK && !device->device.simulated)
        status = llmperf_probe_plan_make(device->backend, device->handle, true, &plan, error);
    if (status == LLMPERF_OK && !device->device.simulated) {
        options.watch = &plan.watch;
        options.watch_best_s = &watch_best_s;
        options.watch_log = &watch_log;
        if (calib && calib->stream_bytes_per_s > 0) { /* slower than then is tried again */
            watch_best_s = llmperf_probe_bytes(&plan.watch) / calib->stream_bytes_per_s;
            options.watch_fixed = true;
        }
    }
    if (status == LLMPERF_OK)
        status = option_parse_range(a->batch ? a->batch : "1,4", 1, 65536, &range, error);
    for (int64_t batch; status == LLMPERF_OK && option_range_next(&range, &cursor, &batch);) {
        llmperf_config c;
        char step[64];
        workload.batch = batch;
        snprintf(step, sizeof step, "batch %lld", (long long)batch);
        status = llmperf_config_init(&c, model, hw, calib, &workload, error);
        for (int prefill = 0; prefill < 2 && status == LLMPERF_OK; prefill++)
            if (a->phase == 2 || a->phase == prefill)
                status = llmperf_validate_step(&c, prefill == 1, device->backend, device->handle,
                                               &options, say_progress, step, comparison, error);
    }
    if (status == LLMPERF_OK)
        note_memory(comparison, calib, llmperf_watch_rate(&watch_log, &plan.watch));
    llmperf_probe_plan_free(&plan);
    return status;
}

/* How busy the device was, from the flags of what was measured. */
static void note_state(llmperf_comparison *comparison)
{
    int contended = 0, unsteady = 0, slow = 0;
    for (int i = 0; i < comparison->row_count; i++) {
        contended += (comparison->row[i].flags & LLMPERF_SAMPLE_CONTENDED) != 0;
        unsteady += (comparison->row[i].flags & LLMPERF_SAMPLE_UNSTEADY) != 0;
        slow += (comparison->row[i].flags & LLMPERF_SAMPLE_SLOW_MEMORY) != 0;
    }
    if (contended + unsteady + slow > 0)
        llmperf_note(&comparison->notes,
                     "%d of %d rows were measured while others used the machine, %d while times "
                     "drifted, %d while memory was slower",
                     contended, comparison->row_count, unsteady, slow);
}

static int run(int argc, char **argv)
{
    validate_arguments arguments = {.common = COMMON_DEFAULTS, .backend = "cpu", .device = "0"};
    option_result result = {0};
    llmperf_error error = {0};
    common_output output;
    llmperf_opened_device device = {0};
    llmperf_comparison comparison = {0};
    llmperf_loaded model = {0}, part = {0};
    char why[LLMPERF_TEXT_MAX] = "";
    llmperf_spec_paths paths;
    llmperf_status status =
        common_parse(&COMMAND_VALIDATE, argc, argv, &arguments, &result, &error);
    if (status != LLMPERF_OK)
        return common_report(status, &error);
    if (result.help) {
        option_print_help(stdout, &COMMAND_VALIDATE);
        return 0;
    }
    llmperf_spec_paths_default(arguments.common.specs, &paths);
    status = common_load(&arguments.common, result.positional[0], NULL, &model, &error);
    if (status == LLMPERF_OK)
        status = llmperf_device_open(arguments.backend, arguments.device, arguments.options,
                                     &device, &error);
    if (status == LLMPERF_OK && result.positional_count > 1)
        status = common_load(&arguments.common, NULL, result.positional[1], &part, &error);
    else if (status == LLMPERF_OK && !llmperf_device_spec(&paths, &device.device, &part, why))
        status = llmperf_fail(&error, LLMPERF_E_USAGE,
                              "no shipped hardware is '%s'%s%s; name one, or a file that "
                              "'llmperf calibrate --write-hw' wrote",
                              device.device.name, why[0] ? ": " : "", why);
    else if (status == LLMPERF_OK)
        status = common_load_calib(&arguments.common, &part, &error);
    if (status == LLMPERF_OK && part.calib)
        status = follow_products(&arguments, part.calib, &device, &error);
    if (status == LLMPERF_OK)
        status =
            run_batches(&arguments, model.model, part.hw, part.calib, &device, &comparison, &error);
    if (status == LLMPERF_OK)
        status = common_open_output(&arguments.common, &output, &error);
    if (status == LLMPERF_OK) {
        char title[LLMPERF_TEXT_MAX];
        const llmperf_text_style style = {.color = output.terminal && !getenv("NO_COLOR")};
        note_state(&comparison);
        note_library(&comparison, part.calib, &device);
        if (part.calib)
            snprintf(title, sizeof title, "%s on %s, %s (%s)", model.model->name,
                     device.device.name, part.calib->borrowed > 0 ? "borrowed" : "calibrated",
                     part.calib->name);
        else
            snprintf(title, sizeof title, "%s on %s, no calibration: predictions are bounds",
                     model.model->name, device.device.name);
        status = llmperf_write_comparison(output.file, output.format, &comparison, title, &style,
                                          &error);
        llmperf_status closed = common_close_output(&output, status == LLMPERF_OK, &error);
        status = status == LLMPERF_OK ? closed : status;
    }
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
        "then their sum beside one whole forward pass of the same shapes. HARDWARE is the part "
        "whose peaks the calibration refers to; without it the shipped one of the device's name.",
    .examples = "llmperf validate tinyllama-1.1b my-cpu.yaml --calibration my-calibration.yaml "
                "--weight-dtype fp32 --act-dtype fp32\n"
                "llmperf validate llama-3.2-1b fake --backend fake -b 1..16*2 --format json",
    .options = OPTIONS,
    .min_positionals = 1,
    .max_positionals = 2,
    .run = run,
};
