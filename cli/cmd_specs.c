/* SPDX-License-Identifier: MIT */
/* llmperf specs list|show|check */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"
#include "common.h"

typedef struct specs_arguments {
    common_arguments common;
    bool names;
    int kind; /* 0 = not said, 1 model, 2 hardware */
} specs_arguments;

static const char *const KIND_WORDS[] = {"any", "model", "hardware", NULL};

static const option OPTIONS[] = {
    OPTION_ROW(specs_arguments, names, FLAG, "names", 0, NULL, "list: names alone, one a line",
               .group = "Specifications"),
    OPTION_ROW(specs_arguments, kind, CHOICE, "kind", 0, "KIND",
               "show, check: take NAME as a model or as hardware", .choices = KIND_WORDS,
               .default_text = "any", .group = "Specifications"),
    OPTION_ROW_GIVEN(specs_arguments, common.format, common.format_given, CHOICE, "format", 0,
                     "FORMAT", "how to print; yaml: show, as a file that reads back",
                     .choices_of = llmperf_spec_formats, .default_text = "text", .group = "Output"),
    OPTION_ROW(specs_arguments, common.output, TEXT, "output", 'o', "FILE",
               "write to a file; its suffix picks the format", .group = "Output"),
    OPTION_ROW(specs_arguments, common.specs, TEXT, "specs", 0, "DIR",
               "look for specifications here first", .group = "Output"),
    OPTION_END,
};

enum { LISTED_KINDS = 4 };
static const char *const LISTED[LISTED_KINDS] = {"models", "hardware", "calibration", "engine"};

/* ---- list ------------------------------------------------------------------------------------------ */

typedef struct listing {
    FILE *out;                   /* names alone */
    llmperf_list_writer *writer; /* NULL = names alone */
    int kind;                    /* of LISTED */
    llmperf_status status;
} listing;

static llmperf_status list_model(llmperf_list_writer *writer, const char *path,
                                 llmperf_error *error)
{
    llmperf_model *model = NULL;
    llmperf_status status = llmperf_model_load(path, &model, error);
    if (status == LLMPERF_OK)
        llmperf_list_model(writer, model);
    llmperf_model_free(model);
    return status;
}

static llmperf_status list_hw(llmperf_list_writer *writer, const char *path, llmperf_error *error)
{
    llmperf_hw hw;
    llmperf_status status = llmperf_hw_load(path, &hw, error);
    if (status == LLMPERF_OK)
        llmperf_list_hw(writer, &hw);
    return status;
}

static llmperf_status list_calib(llmperf_list_writer *writer, const char *path,
                                 llmperf_error *error)
{
    llmperf_calib *calib = NULL;
    llmperf_status status = llmperf_calib_load(path, &calib, error);
    if (status == LLMPERF_OK)
        llmperf_list_calib(writer, calib);
    llmperf_calib_free(calib);
    return status;
}

static llmperf_status list_engine(llmperf_list_writer *writer, const char *path,
                                  llmperf_error *error)
{
    llmperf_engine *engine = NULL;
    llmperf_status status = llmperf_engine_load(path, &engine, error);
    if (status == LLMPERF_OK)
        llmperf_list_engine(writer, engine);
    llmperf_engine_free(engine);
    return status;
}

static bool list_one(const char *name, const char *path, void *context)
{
    listing *l = context;
    llmperf_error error = {0};
    if (!l->writer) {
        fprintf(l->out, "%s\n", name);
        return true;
    }
    llmperf_status status = l->kind == 0   ? list_model(l->writer, path, &error)
                            : l->kind == 1 ? list_hw(l->writer, path, &error)
                            : l->kind == 2 ? list_calib(l->writer, path, &error)
                                           : list_engine(l->writer, path, &error);
    if (status == LLMPERF_OK)
        return true;
    common_report(status, &error); /* a broken file is named, the rest still listed */
    l->status = l->status == LLMPERF_OK ? status : l->status;
    return true;
}

static llmperf_status check_kind(const char *kind, llmperf_error *error)
{
    for (int i = 0; i < LISTED_KINDS; i++)
        if (!kind || strcmp(kind, LISTED[i]) == 0)
            return LLMPERF_OK;
    return llmperf_fail(error, LLMPERF_E_USAGE,
                        "'specs list %s'; models, hardware, calibration or engine is allowed",
                        kind);
}

/* The lists of one kind, or of every one. */
static llmperf_status list_kinds(const specs_arguments *a, const char *kind, FILE *out,
                                 llmperf_list_writer *writer, llmperf_error *error)
{
    llmperf_spec_paths paths;
    llmperf_status status = LLMPERF_OK;
    llmperf_spec_paths_default(a->common.specs, &paths);
    for (int i = 0; i < LISTED_KINDS && status == LLMPERF_OK; i++) {
        listing l = {.out = out, .writer = writer, .kind = i};
        if (kind && strcmp(kind, LISTED[i]) != 0)
            continue;
        if (writer)
            llmperf_list_begin(writer, LISTED[i]);
        status = llmperf_list_specs(&paths, LISTED[i], list_one, &l, error);
        status = status == LLMPERF_OK ? l.status : status;
        if (status != LLMPERF_OK && !error->text[0])
            llmperf_fail(error, status, "some specifications could not be read");
    }
    return status;
}

static llmperf_status list(const specs_arguments *a, const char *kind, common_output *output,
                           llmperf_error *error)
{
    llmperf_list_writer *writer = NULL;
    llmperf_status status = check_kind(kind, error);
    if (status == LLMPERF_OK && !a->names)
        status = llmperf_list_open(output->file, output->format, &writer, error);
    if (status != LLMPERF_OK)
        return status;
    status = list_kinds(a, kind, output->file, writer, error);
    llmperf_status closed = writer ? llmperf_list_close(writer, error) : LLMPERF_OK;
    return status == LLMPERF_OK ? closed : status;
}

/* A list in a format of specifications alone is text. */
static const char *listed_as(const char *format)
{
    for (const char *const *known = llmperf_formats(); *known; known++)
        if (strcmp(*known, format) == 0)
            return format;
    return llmperf_formats()[0];
}

/* ---- show and check -------------------------------------------------------------------------------- */

/* Model or hardware? By --kind, by what the name is found as, by what the file reads as. */
static llmperf_status load(const specs_arguments *a, const char *name, llmperf_loaded *ret_loaded,
                           llmperf_error *error)
{
    static llmperf_error as_model, as_hw;
    memset(&as_model, 0, sizeof as_model);
    memset(&as_hw, 0, sizeof as_hw);
    llmperf_status model = LLMPERF_E_USAGE, hw = LLMPERF_E_USAGE;
    if (a->kind != 2)
        model = common_load(&a->common, name, NULL, ret_loaded, &as_model);
    if (a->kind != 1 && model != LLMPERF_OK)
        hw = common_load_hw(&a->common, name, ret_loaded, &as_hw);
    if (model == LLMPERF_OK || hw == LLMPERF_OK)
        return LLMPERF_OK;
    /* the reading with fewer faults is the one that was meant; an unknown name is the weakest */
    bool show_model = a->kind == 1 || (a->kind == 0 && model != LLMPERF_E_USAGE &&
                                       (hw == LLMPERF_E_USAGE || as_model.faults <= as_hw.faults));
    if (a->kind == 0 && model == LLMPERF_E_USAGE && hw == LLMPERF_E_USAGE)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "no specification is named '%s'; a name from 'llmperf specs list' or a "
                            "path is allowed",
                            name);
    *error = show_model ? as_model : as_hw;
    return show_model ? model : hw;
}

static llmperf_status show(const specs_arguments *a, const char *name, common_output *output,
                           llmperf_error *error)
{
    const llmperf_text_style style = {.color = output->terminal && !getenv("NO_COLOR")};
    llmperf_loaded l = {0};
    llmperf_status status = load(a, name, &l, error);
    if (status == LLMPERF_OK)
        status = l.model ? llmperf_write_model(output->file, output->format, l.model, &style, error)
                         : llmperf_write_hw(output->file, output->format, l.hw, &style, error);
    llmperf_loaded_free(&l);
    return status;
}

static void put_warnings(FILE *out, const llmperf_notes *warnings)
{
    for (int i = 0; i < warnings->count; i++)
        fprintf(out, "  warning: %s\n", warnings->text[i]);
}

/* One line a file: ok with its notes and warnings, or every fault. */
static llmperf_status check(const specs_arguments *a, const char *name, common_output *output,
                            llmperf_error *error)
{
    llmperf_loaded l = {0};
    llmperf_status status = load(a, name, &l, error);
    if (status == LLMPERF_OK && l.model)
        status = llmperf_model_check_params(l.model, name, error);
    if (status == LLMPERF_OK && l.model)
        fprintf(output->file, "%s: ok, model %s, %lld parameters\n", name,
                llmperf_model_name(l.model), (long long)llmperf_model_params(l.model).total);
    else if (status == LLMPERF_OK)
        fprintf(output->file, "%s: ok, hardware %s\n", name, l.hw->name);
    if (status == LLMPERF_OK)
        put_warnings(output->file, l.model ? llmperf_model_warnings(l.model) : &l.hw->warnings);
    llmperf_loaded_free(&l);
    return status;
}

static int run(int argc, char **argv)
{
    specs_arguments arguments = {.common = COMMON_DEFAULTS};
    option_result result = {0};
    llmperf_error error = {0};
    common_output output;
    llmperf_status status = option_parse(&COMMAND_SPECS, argc, argv, &arguments, &result, &error);
    if (status != LLMPERF_OK)
        return common_report(status, &error);
    if (result.help) {
        option_print_help(stdout, &COMMAND_SPECS);
        return 0;
    }
    const char *verb = result.positional[0];
    bool is_list = strcmp(verb, "list") == 0, is_show = strcmp(verb, "show") == 0;
    bool is_check = strcmp(verb, "check") == 0;
    int names = result.positional_count - 1;
    if (!is_list && !is_show && !is_check)
        status = llmperf_fail(&error, LLMPERF_E_USAGE,
                              "'specs %s' is not known; list, show and check are allowed", verb);
    else if (is_list ? names > 1 : is_show ? names != 1 : names < 1)
        status = llmperf_fail(&error, LLMPERF_E_USAGE, "'specs %s' takes %s; %d given", verb,
                              is_list   ? "models, hardware, calibration, engine or nothing"
                              : is_show ? "one NAME or file"
                                        : "at least one NAME or file",
                              names);
    if (status != LLMPERF_OK)
        return common_report(status, &error);
    const char *format = llmperf_spec_formats()[arguments.common.format];
    arguments.common.format = 0; /* common knows those of reports */
    status = common_open_output(&arguments.common, &output, &error);
    if (status != LLMPERF_OK)
        return common_report(status, &error);
    if (arguments.common.format_given)
        output.format = format;
    if (is_list)
        output.format = listed_as(output.format);
    int exit_code = 0;
    for (int i = 0; i < (is_check ? names : 1); i++) {
        const char *name = names > 0 ? result.positional[1 + i] : NULL;
        llmperf_error one = {0};
        status = is_list   ? list(&arguments, name, &output, &one)
                 : is_show ? show(&arguments, name, &output, &one)
                           : check(&arguments, name, &output, &one);
        if (status != LLMPERF_OK) {
            int code = common_report(status, &one);
            exit_code = exit_code ? exit_code : code;
        }
    }
    status = common_close_output(&output, exit_code == 0, &error);
    return status != LLMPERF_OK ? common_report(status, &error) : exit_code;
}

const option_command COMMAND_SPECS = {
    .name = "specs",
    .synopsis = "list|show|check [NAME...]",
    .summary = "what is shipped, where each number comes from, is this file right",
    .about =
        "list shows the shipped models, hardware, calibrations and engine profiles; show prints a "
        "model or device, "
        "with the source and confidence of its numbers; check reads files and names every fault "
        "with its line, "
        "and compares a model's parameter count with the published one.",
    .examples = "llmperf specs list hardware\n"
                "llmperf specs show h100-sxm\n"
                "llmperf specs show ./config.json --format yaml -o my-model.yaml\n"
                "llmperf specs check my-gpu.yaml my-model.yaml",
    .options = OPTIONS,
    .min_positionals = 1,
    .max_positionals = OPTION_MAX_POSITIONALS,
    .run = run,
};
