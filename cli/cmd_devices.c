/* SPDX-License-Identifier: MIT */
/* llmperf devices: what can be measured here and in what state it is. */
#include "commands.h"
#include "common.h"
#include "llmperf/device.h"

typedef struct devices_arguments {
    common_arguments common;
    const char *backend, *options;
} devices_arguments;

static const option OPTIONS[] = {
    OPTION_ROW(devices_arguments, backend, TEXT, "backend", 0, "NAME",
               "only this one: cpu, fake, cuda", .default_text = "all", .group = "Device"),
    OPTION_ROW(devices_arguments, options, TEXT, "options", 0, "K=V,..",
               "options of the backend named by --backend", .group = "Device"),
    OPTION_ROW_GIVEN(devices_arguments, common.format, common.format_given, CHOICE, "format", 0,
                     "FORMAT", "how to print the result", .choices_of = llmperf_device_formats,
                     .default_text = "text", .group = "Output"),
    OPTION_ROW(devices_arguments, common.output, TEXT, "output", 'o', "FILE",
               "write to a file; its suffix picks the format", .group = "Output"),
    OPTION_ROW(devices_arguments, common.specs, TEXT, "specs", 0, "DIR",
               "look for specifications here first", .group = "Output"),
    OPTION_END,
};

static llmperf_status list(const devices_arguments *a, llmperf_error *error)
{
    common_output output;
    llmperf_spec_paths paths;
    const llmperf_devices_options options = {
        .paths = &paths, .backend = a->backend, .options = a->options};
    llmperf_spec_paths_default(a->common.specs, &paths);
    llmperf_status status = llmperf_devices_check(&options, error);
    if (status == LLMPERF_OK)
        status = common_open_output(&a->common, &output, error);
    if (status != LLMPERF_OK)
        return status;
    status = llmperf_write_devices(output.file, output.format, &options, error);
    llmperf_status closed = common_close_output(&output, true, error);
    return status == LLMPERF_OK ? closed : status;
}

static int run(int argc, char **argv)
{
    devices_arguments arguments = {.common = COMMON_DEFAULTS};
    option_result result = {0};
    llmperf_error error = {0};
    llmperf_status status = option_parse(&COMMAND_DEVICES, argc, argv, &arguments, &result, &error);
    if (status == LLMPERF_OK && result.help) {
        option_print_help(stdout, &COMMAND_DEVICES);
        return 0;
    }
    if (status == LLMPERF_OK)
        status = list(&arguments, &error);
    return common_report(status, &error);
}

const option_command COMMAND_DEVICES = {
    .name = "devices",
    .synopsis = "",
    .summary = "what can be measured here, and in what state it is",
    .about =
        "Lists the devices that `calibrate` can measure: the processor of this machine (usable "
        "cores by affinity and cgroup quota, caches, memory, load, governor, and which BLAS it "
        "picks), NVIDIA devices, and the fake device, whose times come from a formula. Says what "
        "is "
        "missing where a backend is not here.",
    .examples = "llmperf devices\n"
                "llmperf devices --backend cpu --format json",
    .options = OPTIONS,
    .min_positionals = 0,
    .max_positionals = 0,
    .run = run,
};
