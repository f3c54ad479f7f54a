/* SPDX-License-Identifier: MIT */
/* llmperf calibrate: measure a device, keep the samples, fit, write a calibration. */
#include <signal.h>
#include <unistd.h>

#include "commands.h"
#include "common.h"
#include "llmperf/session.h"

typedef struct calibrate_arguments {
    common_arguments common;
    const char *backend, *options, *samples, *spec, *write_hw, *device, *devices;
    bool quick;
} calibrate_arguments;

static const char *const ALL[] = {"all", NULL};

static const option OPTIONS[] = {
    OPTION_ROW(calibrate_arguments, backend, TEXT, "backend", 0, "NAME", "cpu, fake or cuda",
               .default_text = "cpu", .group = "Device"),
    OPTION_ROW(calibrate_arguments, device, TEXT, "device", 0, "N|UUID", "which one of the backend",
               .default_text = "0", .group = "Device"),
    OPTION_ROW(calibrate_arguments, devices, WORDS, "devices", 0, "all",
               "also measure collectives between all of them", .choices = ALL, .group = "Device"),
    OPTION_ROW(calibrate_arguments, options, TEXT, "options", 0, "K=V,..",
               "options of the backend (docs/backends.md)", .group = "Device"),
    OPTION_ROW(calibrate_arguments, spec, TEXT, "spec", 0, "HARDWARE",
               "the datasheet that the fit is against",
               .default_text = "the shipped one of this name", .group = "Device"),
    OPTION_ROW(calibrate_arguments, quick, FLAG, "quick", 0, NULL,
               "fewer shapes, less time each: under a minute", .group = "Measuring"),
    OPTION_ROW(calibrate_arguments, samples, TEXT, "samples", 0, "FILE.csv",
               "keep the samples here; what it holds already is not measured again",
               .group = "Measuring"),
    OPTION_ROW(calibrate_arguments, common.output, TEXT, "output", 'o', "FILE",
               "the calibration (YAML)", .group = "Output"),
    OPTION_ROW(calibrate_arguments, write_hw, TEXT, "write-hw", 0, "FILE",
               "write a hardware file of what was measured, and fit against it", .group = "Output"),
    OPTION_ROW(calibrate_arguments, common.specs, TEXT, "specs", 0, "DIR",
               "look for specifications here first", .group = "Output"),
    OPTION_END,
};

/* ---- interruption and progress --------------------------------------------------------------- */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    interrupted = number;
}

static bool is_interrupted(void *context)
{
    (void)context;
    return interrupted != 0;
}

/* Ctrl-C ends after the probe that runs; a second one at once. */
static void watch_for_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* As if the signal had never been caught, so that a shell sees what ended us. */
static void end_by_signal(const calibrate_arguments *a, int64_t kept)
{
    int number = interrupted;
    if (a->samples)
        fprintf(stderr,
                "llmperf: stopped; %lld samples are kept in '%s', the same command goes on "
                "from there\n",
                (long long)kept, a->samples);
    else
        fputs("llmperf: stopped; nothing is kept (--samples FILE keeps what was measured)\n",
              stderr);
    signal(number, SIG_DFL);
    raise(number);
}

/* On a terminal a line that moves on, else a line for each probe. */
static void tell(const llmperf_session_progress *p, void *context)
{
    const calibrate_arguments *a = context;
    bool terminal = isatty(STDERR_FILENO);
    switch (p->event) {
    case LLMPERF_SESSION_TRANSFER:
        fprintf(stderr, "%s: %s\n", p->what, p->result);
        break;
    case LLMPERF_SESSION_RESUME:
        fprintf(stderr, "llmperf: %d of %d probes are in '%s' already\n", p->done, p->count,
                a->samples);
        break;
    case LLMPERF_SESSION_START:
        if (terminal)
            fprintf(stderr, "\r\033[K[%d/%d] %.50s  about %d:%02d left", p->done + 1, p->count,
                    p->what, (int)p->left_s / 60, (int)p->left_s % 60);
        break;
    case LLMPERF_SESSION_DONE:
        if (!terminal)
            fprintf(stderr, "[%d/%d] %s: %s\n", p->done + 1, p->count, p->what, p->result);
        break;
    case LLMPERF_SESSION_END:
        if (terminal)
            fputs("\r\033[K", stderr);
        break;
    }
}

/* ---- results --------------------------------------------------------------------------------- */

static llmperf_status write_hw(const calibrate_arguments *a, const llmperf_hw *hw,
                               llmperf_error *error)
{
    llmperf_output output;
    if (!a->write_hw)
        return LLMPERF_OK;
    llmperf_status status = llmperf_output_open(a->write_hw, &output, error);
    if (status != LLMPERF_OK)
        return status;
    status = llmperf_write_hw(output.file, "yaml", hw, NULL, error);
    llmperf_status closed = llmperf_output_close(&output, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

static void print_next(const calibrate_arguments *a, const llmperf_session *s)
{
    char part[512], calibration[512];
    bool measured;
    const llmperf_hw *hw = llmperf_session_hw(s, &measured);
    const char *why = llmperf_session_why(s);
    if (measured && !a->write_hw) {
        if (why[0])
            printf("  - datasheet: %s\n", why);
        puts("next: add --write-hw FILE: no shipped specification is of this device, and `predict` "
             "needs one");
        return;
    }
    common_quote(a->write_hw ? a->write_hw : a->spec ? a->spec : hw->name, part, sizeof part);
    common_quote(a->common.output, calibration, sizeof calibration);
    printf("next: llmperf predict MODEL %s --calibration %s\n", part, calibration);
}

static llmperf_status finish(const calibrate_arguments *a, llmperf_session *s, FILE *out,
                             llmperf_error *error)
{
    llmperf_status status = llmperf_session_fit(s, error);
    llmperf_write_session(stdout, s);
    if (status == LLMPERF_OK)
        status = llmperf_calib_write(out, llmperf_session_calib(s), error);
    if (status == LLMPERF_OK)
        status = write_hw(a, llmperf_session_hw(s, NULL), error);
    if (status == LLMPERF_OK) {
        llmperf_write_session_notes(stdout, s);
        print_next(a, s);
    }
    return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* No -o. A device that is not here is the greater trouble, and is told first. */
static llmperf_status lacks_output(const calibrate_arguments *a, llmperf_error *error)
{
    llmperf_opened_device device;
    llmperf_status status = llmperf_device_open(a->backend, a->device, a->options, &device, error);
    if (status != LLMPERF_OK)
        return status;
    llmperf_device_close(&device);
    return llmperf_fail(error, LLMPERF_E_USAGE,
                        "'calibrate' needs -o FILE: where the calibration goes");
}

/* What is wrong with the options is told before minutes of measuring. */
static llmperf_status check(const calibrate_arguments *a, llmperf_error *error)
{
    llmperf_output output;
    if (!a->common.output)
        return lacks_output(a, error);
    if (a->spec && a->write_hw)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "--spec and --write-hw exclude each other: one datasheet is fitted "
                            "against");
    if (!a->write_hw)
        return LLMPERF_OK;
    llmperf_status status = llmperf_output_open(a->write_hw, &output, error);
    return status == LLMPERF_OK ? llmperf_output_close(&output, false, error) : status;
}

/* Measures, fits and writes; nothing is written half. */
static llmperf_status calibrate(const calibrate_arguments *a, llmperf_session *s,
                                llmperf_error *error)
{
    common_output output;
    llmperf_status status = common_open_output(&a->common, &output, error);
    if (status != LLMPERF_OK)
        return status;
    watch_for_interrupt();
    status = llmperf_session_measure(s, error);
    bool stopped = llmperf_session_counts_of(s).stopped || interrupted;
    if (status == LLMPERF_OK && !stopped)
        status = finish(a, s, output.file, error);
    bool keep = status == LLMPERF_OK && !interrupted;
    llmperf_status closed = common_close_output(&output, keep, error);
    status = status == LLMPERF_OK ? closed : status;
    llmperf_session_counts counts = llmperf_session_counts_of(s);
    if (status != LLMPERF_OK && counts.measured > 0 && a->samples)
        fprintf(stderr, "llmperf: %lld samples are kept in '%s'\n", (long long)counts.samples,
                a->samples);
    return status;
}

static int run(int argc, char **argv)
{
    calibrate_arguments arguments = {.common = COMMON_DEFAULTS, .backend = "cpu", .device = "0"};
    option_result result = {0};
    llmperf_error error = {0};
    llmperf_spec_paths paths;
    llmperf_session *session = NULL;
    int64_t kept = 0;
    llmperf_status status =
        option_parse(&COMMAND_CALIBRATE, argc, argv, &arguments, &result, &error);
    if (status == LLMPERF_OK && result.help) {
        option_print_help(stdout, &COMMAND_CALIBRATE);
        return 0;
    }
    llmperf_spec_paths_default(arguments.common.specs, &paths);
    const llmperf_session_options options = {.paths = &paths,
                                             .backend = arguments.backend,
                                             .device = arguments.device,
                                             .backend_options = arguments.options,
                                             .all_devices = arguments.devices != NULL,
                                             .quick = arguments.quick,
                                             .samples = arguments.samples,
                                             .spec = arguments.spec,
                                             .spec_measured = arguments.write_hw != NULL,
                                             .visit = tell,
                                             .stop = is_interrupted,
                                             .context = &arguments};
    if (status == LLMPERF_OK)
        status = check(&arguments, &error);
    if (status == LLMPERF_OK)
        status = llmperf_session_open(&options, &session, &error);
    if (status == LLMPERF_OK) {
        status = calibrate(&arguments, session, &error);
        kept = llmperf_session_counts_of(session).samples;
    }
    llmperf_session_free(session); /* the device is given back also after Ctrl-C */
    if (interrupted && status == LLMPERF_OK)
        end_by_signal(&arguments, kept);
    return common_report(status, &error);
}

const option_command COMMAND_CALIBRATE = {
    .name = "calibrate",
    .synopsis = "",
    .summary = "measure a device and fit a calibration for it",
    .about =
        "Measures memory and cache streams, matrix products, attention and elementwise passes, "
        "each "
        "until the 95 % interval of its median is within 1 % (5 % below 20 us), fits the time "
        "formula "
        "and writes the calibration that `predict --calibration FILE` reads. Nothing is written "
        "half: a stopped or failed run leaves the samples file complete and no calibration.\n\n"
        "Measure on a quiet machine: contention, throttling and drift are noticed, tried again and "
        "flagged, but not cured.",
    .examples = "llmperf calibrate --quick -o here.yaml --write-hw here-hw.yaml\n"
                "llmperf calibrate --samples here.csv -o here.yaml  # can be stopped and resumed\n"
                "llmperf calibrate --backend fake --options noise=0.01,seed=7 -o fake.yaml",
    .options = OPTIONS,
    .min_positionals = 0,
    .max_positionals = 0,
    .run = run,
};
