/* SPDX-License-Identifier: MIT */
/* llmperf plot KIND [MODEL] HARDWARE: charts of what the model computes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "commands.h"
#include "common.h"
#include "llmperf/plot.h"
#include "png.h"
#ifdef LLMPERF_HAVE_CALIB
#include "plot_samples.h"
#endif

enum { VALUES_MAX = 1024 };

typedef struct plot_arguments {
    common_arguments common;
    const char *batch, *prompt, *tokens, *hidden; /* ranges */
    const char *samples, *map, *library, *dtype, *op;
    int format;
    bool format_given, ascii;
    int64_t width, height;
    double scale;
} plot_arguments;

#define AXIS(field, name, letter, text, most, by_default)                                          \
    OPTION_ROW(plot_arguments, field, RANGE, name, letter, "RANGE", text, .min = 1, .max = most,   \
               .default_text = by_default, .group = "Axes")

static const option OPTIONS[] = {
    AXIS(batch, "batch", 'b', "batches: batch, attention; roofline takes up to 4", 16777216,
         "by the figure"),
    AXIS(prompt, "prompt", 's', "prompt tokens; attention draws a curve for each", 1073741824,
         "1024; attention 128,512,2048,8192"),
    AXIS(hidden, "hidden", 0, "dense: a curve for each hidden size h", 65536, "1024..16384*2"),
    AXIS(tokens, "tokens", 0, "dense: tokens b s of a launch", 16777216, "1 to 16384"),
    OPTION_ROW(plot_arguments, samples, WORDS, "samples", 0, "FILES",
               "dense, attention, residuals: measurements, as 'llmperf fit' takes them",
               .group = "Measurements"),
    OPTION_ROW(plot_arguments, map, WORDS, "map", 0, "THEIR=OURS",
               "rename columns: kernel_us=time_us,heads_q=heads", .group = "Measurements"),
    OPTION_ROW(plot_arguments, library, WORDS, "library", 0, "NAMES",
               "only samples of these libraries: vllm,nccl; '-' where none is said",
               .default_text = "the calibration's", .group = "Measurements"),
    OPTION_ROW(plot_arguments, dtype, WORDS, "dtype", 0, "DTYPES",
               "only samples in these formats: bf16,fp8", .default_text = "all",
               .group = "Measurements"),
    OPTION_ROW(plot_arguments, op, WORDS, "op", 0, "OPS",
               "only these operators: gemm,attn_prefill,attn_decode,all_reduce ...",
               .default_text = "all", .group = "Measurements"),
    COMMON_CONTEXT_ROW(plot_arguments),
    COMMON_STEP_ROWS(plot_arguments),
    OPTION_ROW(plot_arguments, common.tpot_s, TIME, "tpot", 0, "TIME",
               "batch: mark this target time per output token", .min = 1e-9, .max = 1e6,
               .group = "Workload"),
    COMMON_WEIGHT_ROW(plot_arguments),
    COMMON_ACT_ROW(plot_arguments),
    COMMON_KV_ROW(plot_arguments),
    COMMON_QUANT_ROW(plot_arguments),
    COMMON_FORM_ROWS(plot_arguments),
    COMMON_TP_ROW(plot_arguments),
    COMMON_MEMORY_ROWS(plot_arguments),
    COMMON_TIMING_ROWS(plot_arguments),
    COMMON_CONFIDENCE_ROW(plot_arguments, "Deployment"),
    OPTION_ROW_GIVEN(plot_arguments, format, format_given, CHOICE, "format", 0, "FORMAT",
                     "how to draw; csv and json list the numbers",
                     .choices_of = llmperf_plot_formats, .default_text = "text", .group = "Output"),
    OPTION_ROW(plot_arguments, common.output, TEXT, "output", 'o', "FILE",
               "write to a file; its suffix picks the format", .group = "Output"),
    OPTION_ROW(plot_arguments, width, INT64, "width", 0, "N",
               "pixels of a picture (900), columns of text (the terminal's)", .min = 40,
               .max = 8192, .group = "Output"),
    OPTION_ROW(plot_arguments, height, INT64, "height", 0, "N",
               "pixels of a picture, lines of a text panel", .min = 4, .max = 8192,
               .default_text = "by the figure", .group = "Output"),
    OPTION_ROW(plot_arguments, scale, DOUBLE, "scale", 0, "F",
               "png: pixels for each pixel of --width and --height", .min = 0.1, .max = 10,
               .default_text = "2", .group = "Output"),
    OPTION_ROW(plot_arguments, ascii, FLAG, "ascii", 0, NULL,
               "text without braille; also where the locale is not UTF-8", .group = "Output"),
    OPTION_ROW(plot_arguments, common.workload, TEXT, "workload", 0, "FILE",
               "read options from a YAML file (keys: long names); the command line wins",
               .group = "Output"),
    OPTION_ROW(plot_arguments, common.specs, TEXT, "specs", 0, "DIR",
               "look for specifications here first", .group = "Output"),
    OPTION_END,
};

/* What is loaded. */
typedef struct plot_input {
    const plot_arguments *arguments;
    llmperf_loaded loaded;
    llmperf_workload workload;
    llmperf_config *c; /* of the model; owned */
    llmperf_curves curves;
} plot_input;

typedef struct values {
    int count;
    int64_t value[VALUES_MAX];
} values;

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static llmperf_status expand(const char *name, const char *text, const char *by_default,
                             int64_t max, values *ret_values, llmperf_error *error)
{
    static option_range range;
    ret_values->count = 0;
    text = text ? text : by_default;
    if (!text)
        return LLMPERF_OK;
    llmperf_status status = option_parse_range(text, 1, max, &range, error);
    if (status != LLMPERF_OK)
        return status;
    if (range.point_count > VALUES_MAX)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "option '--%s' gives %lld points; a chart takes at most %d", name,
                            (long long)range.point_count, VALUES_MAX);
    option_range_cursor cursor = {0};
    for (int64_t v; option_range_next(&range, &cursor, &v);)
        ret_values->value[ret_values->count++] = v;
    /* a curve runs from left to right, whatever the order they were given in */
    qsort(ret_values->value, (size_t)ret_values->count, sizeof *ret_values->value, ascending);
    int kept = 0;
    for (int i = 0; i < ret_values->count; i++)
        if (i == 0 || ret_values->value[i] != ret_values->value[kept - 1])
            ret_values->value[kept++] = ret_values->value[i];
    ret_values->count = kept;
    return LLMPERF_OK;
}

/* ---- measurements --------------------------------------------------------------------------------------- */

static llmperf_status only_with(const char *kind, llmperf_error *error)
{
    return llmperf_fail(error, LLMPERF_E_USAGE,
                        "'plot %s' of HARDWARE alone takes measurements: --samples FILE.csv", kind);
}

typedef enum sample_figure { OF_DENSE, OF_ATTENTION, OF_RESIDUALS } sample_figure;

#ifdef LLMPERF_HAVE_CALIB

static llmperf_status fill_dense_samples(plot_input *in, const llmperf_samples *samples,
                                         const llmperf_chart_filter *filter, llmperf_plot *plot,
                                         llmperf_error *error)
{
    values hidden;
    llmperf_status status = expand("hidden", in->arguments->hidden, NULL, 65536, &hidden, error);
    if (status == LLMPERF_OK)
        status =
            llmperf_chart_dense(samples, filter, hidden.value, hidden.count, &in->curves, error);
    return status == LLMPERF_OK
               ? llmperf_plot_dense(in->loaded.hw, filter->calib, &in->curves, plot, error)
               : status;
}

static llmperf_status fill_attention_samples(plot_input *in, const llmperf_samples *samples,
                                             const llmperf_chart_filter *filter, llmperf_plot *plot,
                                             llmperf_error *error)
{
    values prompts;
    llmperf_status status =
        expand("prompt", in->arguments->prompt, NULL, 1073741824, &prompts, error);
    if (status == LLMPERF_OK)
        status = llmperf_chart_attention(samples, filter, prompts.value, prompts.count, &in->curves,
                                         error);
    return status == LLMPERF_OK
               ? llmperf_plot_attention(in->loaded.hw, filter->calib, &in->curves, plot, error)
               : status;
}

static llmperf_status fill_samples(plot_input *in, sample_figure figure, llmperf_plot *plot,
                                   llmperf_error *error)
{
    const plot_arguments *a = in->arguments;
    static plot_samples read;
    const plot_selection selection = {
        .files = a->samples, .map = a->map, .library = a->library, .dtype = a->dtype, .op = a->op};
    llmperf_status status = plot_samples_open(&selection, &read, error);
    const llmperf_chart_filter filter = {.hw = in->loaded.hw,
                                         .calib = in->loaded.calib,
                                         .words = read.filter,
                                         .unfused = in->workload.unfused,
                                         .confidence = a->common.confidence};
    if (status == LLMPERF_OK && figure == OF_RESIDUALS)
        status = llmperf_chart_residuals(&read.samples, &filter, plot, error);
    if (status == LLMPERF_OK && figure == OF_DENSE)
        status = fill_dense_samples(in, &read.samples, &filter, plot, error);
    if (status == LLMPERF_OK && figure == OF_ATTENTION)
        status = fill_attention_samples(in, &read.samples, &filter, plot, error);
    plot_samples_close(&read);
    return status;
}

#else

static llmperf_status fill_samples(plot_input *in, sample_figure figure, llmperf_plot *plot,
                                   llmperf_error *error)
{
    (void)in;
    (void)figure;
    (void)plot;
    return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                        "this build reads no samples: it was made without GSL (meson setup "
                        "-Dcalib=enabled builds it)");
}

#endif

static llmperf_status fill_residuals(plot_input *in, llmperf_plot *plot, llmperf_error *error)
{
    return in->arguments->samples ? fill_samples(in, OF_RESIDUALS, plot, error)
                                  : only_with("residuals", error);
}

/* ---- the kinds ---------------------------------------------------------------------------------------- */

static llmperf_status fill_roofline(plot_input *in, llmperf_plot *plot, llmperf_error *error)
{
    values batches;
    llmperf_status status = expand("batch", in->arguments->batch, "1", 16777216, &batches, error);
    return status == LLMPERF_OK
               ? llmperf_plot_roofline(in->c, batches.value, batches.count, plot, error)
               : status;
}

static llmperf_status fill_batch(plot_input *in, llmperf_plot *plot, llmperf_error *error)
{
    values batches;
    llmperf_status status = expand("batch", in->arguments->batch, NULL, 16777216, &batches, error);
    return status == LLMPERF_OK
               ? llmperf_plot_batch(in->c, batches.value, batches.count, plot, error)
               : status;
}

static llmperf_status fill_dense(plot_input *in, llmperf_plot *plot, llmperf_error *error)
{
    values tokens, hidden;
    if (in->arguments->samples)
        return fill_samples(in, OF_DENSE, plot, error);
    const llmperf_calib *calib = in->loaded.calib;
    llmperf_status status = expand("tokens", in->arguments->tokens, NULL, 16777216, &tokens, error);
    if (status == LLMPERF_OK)
        status = expand("hidden", in->arguments->hidden, "1024..16384*2", 65536, &hidden, error);
    if (status == LLMPERF_OK && in->loaded.model)
        status = llmperf_curves_dense(in->c, tokens.value, tokens.count, &in->curves, error);
    else if (status == LLMPERF_OK)
        status =
            llmperf_curves_hidden(in->loaded.hw, calib, &in->workload, hidden.value, hidden.count,
                                  tokens.value, tokens.count, &in->curves, error);
    return status == LLMPERF_OK ? llmperf_plot_dense(in->loaded.hw, calib, &in->curves, plot, error)
                                : status;
}

static llmperf_status fill_attention(plot_input *in, llmperf_plot *plot, llmperf_error *error)
{
    values prompts, batches;
    if (in->arguments->samples)
        return fill_samples(in, OF_ATTENTION, plot, error);
    if (!in->loaded.model)
        return only_with("attention", error);
    llmperf_status status =
        expand("prompt", in->arguments->prompt, "128,512,2048,8192", 1073741824, &prompts, error);
    if (status == LLMPERF_OK)
        status = expand("batch", in->arguments->batch, "1..256*2", 16777216, &batches, error);
    if (status == LLMPERF_OK)
        status = llmperf_curves_attention(in->c, prompts.value, prompts.count, batches.value,
                                          batches.count, &in->curves, error);
    return status == LLMPERF_OK
               ? llmperf_plot_attention(in->loaded.hw, in->loaded.calib, &in->curves, plot, error)
               : status;
}

typedef struct plot_kind {
    const char *name, *synopsis;
    int least, most; /* positionals behind the kind */
    bool samples;    /* takes measurements */
    llmperf_status (*fill)(plot_input *in, llmperf_plot *plot, llmperf_error *error);
} plot_kind;

static const plot_kind KINDS[] = {
    {"roofline", "MODEL HARDWARE", 2, 2, false, fill_roofline},
    {"batch", "MODEL HARDWARE", 2, 2, false, fill_batch},
    {"dense", "[MODEL] HARDWARE", 1, 2, true, fill_dense},
    {"attention", "MODEL HARDWARE, or HARDWARE --samples FILE", 1, 2, true, fill_attention},
    {"residuals", "HARDWARE --samples FILE", 1, 1, true, fill_residuals},
};

enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

static llmperf_status find_kind(const option_result *result, const plot_kind **ret_kind,
                                llmperf_error *error)
{
    const char *names[KIND_COUNT + 1] = {NULL}, *word = result->positional[0];
    for (int i = 0; i < KIND_COUNT; i++) {
        const plot_kind *kind = &KINDS[i];
        int given = result->positional_count - 1;
        names[i] = kind->name;
        if (strcmp(word, kind->name) != 0)
            continue;
        if (given < kind->least || given > kind->most)
            return llmperf_fail(error, LLMPERF_E_USAGE, "'plot %s' takes %s; %d given", kind->name,
                                kind->synopsis, given);
        *ret_kind = kind;
        return LLMPERF_OK;
    }
    const char *near = llmperf_nearest(word, names);
    return llmperf_fail(error, LLMPERF_E_USAGE,
                        "plot '%s' is not known%s%s%s; roofline, batch, dense, attention, "
                        "residuals are allowed",
                        word, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* ---- input and output ---------------------------------------------------------------------------------- */

/* Options that a figure would ignore. */
static llmperf_status check_options(const plot_arguments *a, const plot_kind *kind, bool has_model,
                                    llmperf_error *error)
{
    const bool dense = strcmp(kind->name, "dense") == 0;
    const struct {
        const char *option, *value, *belongs;
        bool fits;
    } all[] = {
        {"samples", a->samples, "'plot dense', 'attention' and 'residuals'", kind->samples},
        {"map", a->map, "measurements (--samples)", a->samples},
        {"library", a->library, "measurements (--samples)", a->samples},
        {"dtype", a->dtype, "measurements (--samples)", a->samples},
        {"op", a->op, "measurements (--samples)", a->samples},
        {"hidden", a->hidden, "'plot dense HARDWARE'", dense && !has_model},
        {"tokens", a->tokens, "'plot dense' without --samples", dense && !a->samples},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value && !all[i].fits)
            return llmperf_fail(error, LLMPERF_E_USAGE,
                                "option '--%s' does nothing for this figure; it belongs to %s",
                                all[i].option, all[i].belongs);
    return LLMPERF_OK;
}

/* A range that stands for one value, where a figure takes one. */
static llmperf_status one_prompt(const plot_arguments *a, const plot_kind *kind,
                                 int64_t *ret_prompt, llmperf_error *error)
{
    values prompts;
    llmperf_status status = expand("prompt", a->prompt, "1024", 1073741824, &prompts, error);
    if (status != LLMPERF_OK || strcmp(kind->name, "attention") == 0)
        return status;
    if (prompts.count != 1)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "option '--prompt' gives %d lengths; 'plot %s' takes one",
                            prompts.count, kind->name);
    *ret_prompt = prompts.value[0];
    return LLMPERF_OK;
}

static llmperf_status load(const plot_kind *kind, const option_result *result, plot_input *in,
                           llmperf_error *error)
{
    const plot_arguments *a = in->arguments;
    const char *hw = result->positional[result->positional_count - 1];
    llmperf_status status = common_workload(&a->common, &in->workload, error);
    if (status == LLMPERF_OK)
        status = one_prompt(a, kind, &in->workload.prompt, error);
    const char *model = result->positional_count > 2 ? result->positional[1] : NULL;
    if (status == LLMPERF_OK)
        status = check_options(a, kind, model != NULL, error);
    if (status == LLMPERF_OK && model && a->samples)
        status = llmperf_fail(error, LLMPERF_E_USAGE,
                              "measurements have shapes of their own: 'plot %s HARDWARE --samples "
                              "FILE', without MODEL, is allowed",
                              kind->name);
    if (status == LLMPERF_OK)
        status = common_load(&a->common, model, hw, &in->loaded, error);
    if (status == LLMPERF_OK && model)
        status = llmperf_config_new(in->loaded.model, in->loaded.hw, in->loaded.calib,
                                    &in->workload, &in->c, error);
    return status;
}

static bool is_utf8_locale(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "UTF-8") || strcasestr(value, "UTF8");
    }
    return false;
}

static int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 0;
}

static llmperf_status write_output(const plot_arguments *a, const char *format,
                                   const llmperf_plot *plot, llmperf_error *error)
{
    common_output output;
    llmperf_status status = common_open_output(&a->common, &output, error);
    if (status != LLMPERF_OK)
        return status;
    bool text = strcmp(format, "text") == 0;
    const llmperf_plot_style style = {
        .width = a->width                  ? (int)a->width
                 : text && output.terminal ? terminal_columns()
                                           : 0,
        .height = (int)a->height,
        .ascii = a->ascii || !is_utf8_locale(),
        .color = output.terminal && !getenv("NO_COLOR"),
    };
    if (strcmp(format, "png") != 0)
        status = llmperf_write_plot(output.file, format, plot, &style, error);
    else if (output.terminal)
        status = llmperf_fail(error, LLMPERF_E_USAGE,
                              "a PNG is no text for a terminal; -o FILE.png is allowed");
    else
        status = png_write(output.file, plot, &style, a->scale > 0 ? a->scale : 2, error);
    llmperf_status closed = common_close_output(&output, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

static int run(int argc, char **argv)
{
    plot_arguments arguments = {.common = COMMON_DEFAULTS};
    option_result result = {0};
    llmperf_error error = {0};
    const plot_kind *kind = KINDS;
    static plot_input input;
    static llmperf_plot plot;
    llmperf_status status = common_parse(&COMMAND_PLOT, argc, argv, &arguments, &result, &error);
    if (status != LLMPERF_OK)
        return common_report(status, &error);
    if (result.help) {
        option_print_help(stdout, &COMMAND_PLOT);
        return 0;
    }
    input.arguments = &arguments;
    const char *format = NULL;
    status = find_kind(&result, &kind, &error);
    if (status == LLMPERF_OK)
        status = llmperf_plot_choose_format(
            arguments.common.output,
            arguments.format_given ? llmperf_plot_formats()[arguments.format] : NULL, &format,
            &error);
    if (status == LLMPERF_OK)
        status = load(kind, &result, &input, &error);
    if (status == LLMPERF_OK)
        status = kind->fill(&input, &plot, &error);
    if (status == LLMPERF_OK)
        status = write_output(&arguments, format, &plot, &error);
    llmperf_curves_free(&input.curves);
    llmperf_plot_free(&plot);
    llmperf_config_free(input.c);
    llmperf_loaded_free(&input.loaded);
    return common_report(status, &error);
}

const option_command COMMAND_PLOT = {
    .name = "plot",
    .synopsis = "roofline|batch|dense|attention|residuals [MODEL] HARDWARE",
    .summary = "roofline, batching and latency curves: SVG, PNG, terminal",
    .about =
        "Draws one figure:\n\n"
        "roofline MODEL HARDWARE: the operators of decode and prefill under the roofs of the "
        "device, "
        "and with a calibration the roof that is reached.\n\n"
        "batch MODEL HARDWARE: throughput and time per output token against batch, with memory's "
        "limit and the compute-bound batch marked, and the interval as a band.\n\n"
        "dense [MODEL] HARDWARE: FLOP/s and time of linear layers against the work of a launch, "
        "for "
        "several hidden sizes, or for the layers of MODEL; time is flat until the knee.\n\n"
        "attention MODEL HARDWARE: FLOP/s and time of one layer's attention against batch for "
        "several lengths; --attention unfused shows the product of queries and keys.\n\n"
        "residuals HARDWARE --samples FILE: measured over predicted against size, a panel for each "
        "kind of operator.\n\n"
        "With --samples, dense and attention of HARDWARE alone draw what was measured (markers) "
        "beside what is predicted of the same operators (lines); --map, --library, --dtype and "
        "--op "
        "choose among them as in 'llmperf fit'. --attention unfused draws measured products of "
        "queries and keys.\n\n"
        "Text goes to the terminal in braille; -o FILE.svg or FILE.png writes a picture, --format "
        "csv or json the numbers.",
    .examples = "llmperf plot roofline llama-3.1-8b h100-sxm -b 1,64\n"
                "llmperf plot batch llama-3.1-70b h100-sxm --tp 4 --tpot 30ms -o batch.svg\n"
                "llmperf plot dense a100-sxm-80gb --hidden 2048..8192*2 -o dense.svg\n"
                "llmperf plot attention llama-2-7b h100-sxm --attention unfused -s 128,1024,8192\n"
                "llmperf plot residuals h100-sxm --samples my-samples.csv -o residuals.svg",
    .options = OPTIONS,
    .min_positionals = 1,
    .max_positionals = 3,
    .leading = 1,
    .run = run,
};
