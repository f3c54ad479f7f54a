/* SPDX-License-Identifier: MIT */
#include "common.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const COMMON_ATTENTION[] = {"fused", "unfused", NULL};
const char *const COMMON_LOGITS[] = {"last", "all", NULL};

int common_report(llmperf_status status, const llmperf_error *error)
{
    const char *line = error->text;
    if (status != LLMPERF_OK && !*line) {
        fprintf(stderr, "llmperf: status %d without a message: this is a bug of llmperf\n",
                (int)status);
        return LLMPERF_E_BUG;
    }
    while (*line) {
        size_t length = strcspn(line, "\n");
        fprintf(stderr, "llmperf: %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    return (int)status;
}

/* ---- options, also from a file ------------------------------------------------------------------------- */

enum { FILE_TEXTS_MAX = 128 };

/* A workload file being applied. Text values of options point into `texts`, so they live as long
 * as the program. */
typedef struct workload_file {
    const option_command *command;
    void *arguments;
    const char *model, *hardware;
    llmperf_status status;
    llmperf_error *error;
} workload_file;

static char *keep_text(const char *text)
{
    static char *texts[FILE_TEXTS_MAX]; /* reachable until exit */
    static int count;
    if (count == FILE_TEXTS_MAX)
        return NULL;
    texts[count] = strdup(text);
    return texts[count] ? texts[count++] : NULL;
}

static void apply_pair(const char *place, const char *key, const char *value, void *context)
{
    workload_file *f = context;
    llmperf_error one = {0};
    llmperf_status status = LLMPERF_OK;
    char *kept = keep_text(value);
    if (!kept)
        status = llmperf_fail(&one, LLMPERF_E_MEMORY, "out of memory");
    else if (strcmp(key, "hardware") == 0 && option_find(f->command->options, "hw"))
        status = option_set(f->command->options, "hw", kept, f->arguments, &one);
    else if (strcmp(key, "model") == 0 && !option_find(f->command->options, key))
        f->model = kept;
    else if (strcmp(key, "hardware") == 0)
        f->hardware = kept;
    else if (strcmp(key, "workload") == 0 || strcmp(key, "output") == 0)
        status =
            llmperf_fail(&one, LLMPERF_E_USAGE,
                         "'%s' belongs on the command line; the other options are allowed", key);
    else
        status = option_set(f->command->options, key, kept, f->arguments, &one);
    if (status != LLMPERF_OK) {
        llmperf_fail(f->error, status, "%s: %s", place, one.text);
        f->status = f->status == LLMPERF_OK ? status : f->status;
    }
}

/* The value of --workload on a command line, the last one; NULL when there is none. */
static const char *workload_path(int argc, char **argv)
{
    const char *path = NULL;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--workload") == 0 && i + 1 < argc)
            path = argv[i + 1];
        else if (strncmp(argv[i], "--workload=", 11) == 0)
            path = argv[i] + 11;
    }
    return path;
}

llmperf_status common_parse(const option_command *command, int argc, char **argv, void *arguments,
                            option_result *ret_result, llmperf_error *error)
{
    const char *path = workload_path(argc, argv);
    if (!path)
        return option_parse(command, argc, argv, arguments, ret_result, error);
    workload_file file = {.command = command, .arguments = arguments, .error = error};
    llmperf_status status = llmperf_read_pairs(path, apply_pair, &file, error);
    status = status == LLMPERF_OK ? file.status : status;
    if (status != LLMPERF_OK)
        return status;
    /* positionals of the file stand behind those of the command line */
    option_command relaxed = *command;
    option_result result = {0};
    relaxed.min_positionals = 0;
    status = option_parse(&relaxed, argc, argv, arguments, &result, error);
    if (status != LLMPERF_OK)
        return status;
    const char *from_file[] = {file.model, file.hardware};
    for (int i = 0; i < 2; i++)
        if (result.positional_count == command->leading + i && from_file[i] &&
            result.positional_count < command->max_positionals)
            result.positional[result.positional_count++] = from_file[i];
    if (!result.help && result.positional_count < command->min_positionals)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "'%s' takes %s; the command line and %s give %d (keys model and "
                            "hardware are allowed there)",
                            command->name, command->synopsis, path, result.positional_count);
    *ret_result = result;
    return LLMPERF_OK;
}

/* ---- specifications --------------------------------------------------------------------------------- */

void common_load_options(const common_arguments *a, llmperf_spec_paths *paths,
                         llmperf_load_options *ret_options)
{
    llmperf_spec_paths_default(a->specs, paths);
    *ret_options = (llmperf_load_options){
        .paths = paths, .quant = a->quant, .calibration = a->calibration, .engine = a->engine};
}

llmperf_status common_load(const common_arguments *arguments, const char *model, const char *hw,
                           llmperf_loaded *ret_loaded, llmperf_error *error)
{
    llmperf_spec_paths paths;
    llmperf_load_options options;
    common_load_options(arguments, &paths, &options);
    options.model = model;
    options.hw = hw;
    return llmperf_load(&options, ret_loaded, error);
}

llmperf_status common_load_hw(const common_arguments *arguments, const char *name,
                              llmperf_loaded *ret_loaded, llmperf_error *error)
{
    const common_arguments untimed = {.specs = arguments->specs, .calibration = "none"};
    return common_load(&untimed, NULL, name, ret_loaded, error);
}

llmperf_status common_load_calib(const common_arguments *arguments, llmperf_loaded *loaded,
                                 llmperf_error *error)
{
    llmperf_spec_paths paths;
    llmperf_load_options options;
    common_load_options(arguments, &paths, &options);
    return llmperf_load_calib(&options, loaded->hw, &loaded->calib, error);
}

/* ---- workload ----------------------------------------------------------------------------------------- */

static llmperf_status parse_dtype(const char *option_name, const char *text,
                                  llmperf_dtype *ret_dtype, llmperf_error *error)
{
    if (!text)
        return LLMPERF_OK;
    *ret_dtype = llmperf_dtype_parse(text);
    if (*ret_dtype != LLMPERF_DTYPE_NONE)
        return LLMPERF_OK;
    const char *near = llmperf_nearest(text, llmperf_dtype_names());
    return llmperf_fail(error, LLMPERF_E_USAGE,
                        "option '%s' takes a dtype such as bf16, fp16, fp8, int8, int4, nvfp4, "
                        "mxfp4, q8_0, q4_0; found '%s'%s%s%s",
                        option_name, text, near ? ", did you mean '" : "", near ? near : "",
                        near ? "'?" : "");
}

static llmperf_status only_one(const char *name, int64_t degree, llmperf_error *error)
{
    if (degree <= 1)
        return LLMPERF_OK;
    return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                        "option '--%s' is %lld; this version models only 1", name,
                        (long long)degree);
}

llmperf_status common_workload(const common_arguments *a, llmperf_workload *ret_workload,
                               llmperf_error *error)
{
    llmperf_workload w = {
        .size = sizeof w,
        .batch = a->batch,
        .prompt = a->prompt,
        .generate = a->generate,
        .cached = a->cached,
        .context = a->context,
        .has_context = a->context_given,
        .chunk = a->chunk,
        .query = a->query,
        .unfused = a->attention == 1,
        .logits_all = a->logits == 1,
        .split_qkv = a->split_qkv,
        .moe_skew = a->moe_skew,
        .tp = a->tp,
        .memory_utilization = a->memory_utilization,
        .reserve_bytes = a->reserve_bytes,
        .has_reserve = a->reserve_given,
        .kv_block = a->kv_block,
        .tpot_s = a->tpot_s,
        .ttft_s = a->ttft_s,
        .price_usd_per_h = a->price_usd_per_h,
        .confidence = a->confidence,
    };
    llmperf_status status = LLMPERF_OK, one;
    const llmperf_status checks[] = {
        parse_dtype("--weight-dtype", a->weight_dtype, &w.weight_dtype, error),
        parse_dtype("--act-dtype", a->act_dtype, &w.act_dtype, error),
        parse_dtype("--kv-dtype", a->kv_dtype, &w.kv_dtype, error),
        only_one("pp", a->pp, error),
        only_one("ep", a->ep, error),
        only_one("dp", a->dp, error),
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        one = checks[i];
        status = status == LLMPERF_OK ? one : status;
    }
    if (status == LLMPERF_OK)
        *ret_workload = w;
    return status;
}

/* ---- output ------------------------------------------------------------------------------------------- */

llmperf_status common_open_output(const common_arguments *arguments, common_output *ret_output,
                                  llmperf_error *error)
{
    const char *path = arguments->output;
    common_output o = {.format = llmperf_formats()[arguments->format]};
    const char *by_suffix = path ? llmperf_format_of_suffix(path) : NULL;
    if (!arguments->format_given && by_suffix)
        o.format = by_suffix;
    llmperf_status status = llmperf_output_open(path, &o.to, error);
    if (status != LLMPERF_OK)
        return status;
    o.file = o.to.file;
    o.terminal = o.to.terminal;
    *ret_output = o;
    return LLMPERF_OK;
}

llmperf_status common_close_output(common_output *output, bool keep, llmperf_error *error)
{
    return llmperf_output_close(&output->to, keep, error);
}

/* ---- commands that a report proposes -------------------------------------------------------------------- */

void common_quote(const char *text, char *buffer, size_t size)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";
    size_t used = 0;
    if (*text && text[strspn(text, plain)] == '\0') {
        snprintf(buffer, size, "%s", text);
        return;
    }
    if (size < 8) {
        if (size)
            buffer[0] = '\0';
        return;
    }
    buffer[used++] = '\'';
    for (; *text && used + 6 < size; text++) {
        if (*text == '\'') {
            memcpy(buffer + used, "'\\''", 4);
            used += 4;
        } else if ((unsigned char)*text >= 0x20 && *text != 0x7f) {
            buffer[used++] = *text;
        }
    }
    buffer[used++] = '\'';
    buffer[used] = '\0';
}

static bool is_output_option(const char *word, bool *ret_takes_next)
{
    *ret_takes_next =
        strcmp(word, "-o") == 0 || strcmp(word, "--output") == 0 || strcmp(word, "--format") == 0;
    return *ret_takes_next || strncmp(word, "--output=", 9) == 0 ||
           strncmp(word, "--format=", 9) == 0 || strncmp(word, "-o", 2) == 0;
}

void common_quote_options(int argc, char **argv, const option_result *result, char *buffer,
                          size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 1; i < argc; i++) {
        bool positional = false, takes_next;
        for (int k = 0; k < result->positional_count; k++)
            positional |= result->positional[k] == argv[i];
        if (positional || strcmp(argv[i], "--") == 0)
            continue;
        if (is_output_option(argv[i], &takes_next)) {
            i += takes_next;
            continue;
        }
        char word[512];
        common_quote(argv[i], word, sizeof word);
        int length = snprintf(buffer + used, size - used, "%s%s", used ? " " : "", word);
        if (length < 0 || (size_t)length >= size - used)
            break;
        used += (size_t)length;
    }
}
