/* SPDX-License-Identifier: MIT */
/* llmperf compare RESULT...: what engines measured, beside predictions. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common.h"
#include "llmperf/compare.h"
#include "llmperf/engine.h"
#include "llmperf/results.h"
#include "llmperf/samples.h"

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
               "the part, where a file names none that is known", .group = "Missing facts"),
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
               "what a file's names of models, parts and columns stand for: my-8b=llama-3.1-8b",
               .group = "Missing facts"),
    OPTION_ROW_GIVEN(compare_arguments, common.chunk, common.chunk_given, INT64, "chunk", 0, "N",
                     "most prefill tokens in a step", .min = 1, .max = 1073741824,
                     .default_text = "8192", .group = "Prediction"),
    OPTION_ROW(compare_arguments, common.calibration, TEXT, "calibration", 0, "NAME",
               "which measurements to use: a file, a name, or none",
               .default_text = "each row's engine profile, else the best for its part",
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

/* ---- names ------------------------------------------------------------------------------------------- */

/* What a name of a file, or of an option, turned out to be: loaded once. */
typedef struct known {
    char name[LLMPERF_PATH_MAX];
    llmperf_status status;
    bool trusted;               /* tried as the user's own word, which may be a path */
    char why[LLMPERF_TEXT_MAX]; /* where it is not known */
    void *spec;                 /* llmperf_model, llmperf_hw or llmperf_calib; NULL = not known */
} known;

typedef struct known_list {
    int count, capacity;
    known *item;
} known_list;

/* Options that give what files do not say, and how far they were needed. */
typedef enum fact { FACT_MODEL, FACT_HW, FACT_BATCH, FACT_PROMPT, FACT_GENERATE, FACT_COUNT } fact;

typedef struct fact_use {
    int64_t rows;                 /* that took it */
    int64_t unknown;              /* of these, rows whose own name is not known */
    char first[LLMPERF_NAME_MAX]; /* such a name */
} fact_use;

typedef struct session {
    const compare_arguments *arguments;
    llmperf_spec_paths paths;
    char *map_text; /* rules, cut up */
    const char *map[RULES_MAX + 1];
    known_list models, parts, profiles, calibrations;
    llmperf_comparison *comparison;
    llmperf_samples samples;
    const char *path; /* of the samples that are being read */
    /* the first file whose rows lack facts */
    char needs_file[LLMPERF_NAME_MAX], needs[LLMPERF_TEXT_MAX];
    int64_t runs, profiled, offline;
    fact_use use[FACT_COUNT];
    llmperf_error *error;
} session;

static void free_list(known_list *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->item[i].spec);
    free(list->item);
}

static known *find_known(const known_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->item[i].name, name) == 0)
            return &list->item[i];
    return NULL;
}

/* A new item; NULL when there is no memory. */
static known *add_known(session *s, known_list *list, const char *name)
{
    if (list->count == list->capacity) {
        int more = list->capacity ? 2 * list->capacity : 16;
        known *larger = realloc(list->item, (size_t)more * sizeof *larger);
        if (!larger) {
            llmperf_fail(s->error, LLMPERF_E_MEMORY, "out of memory");
            return NULL;
        }
        list->item = larger;
        list->capacity = more;
    }
    known *k = &list->item[list->count++];
    *k = (known){0};
    snprintf(k->name, sizeof k->name, "%s", name);
    return k;
}

static const char *renamed(const session *s, const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; s->map[i]; i++)
        if (strncmp(s->map[i], name, length) == 0 && s->map[i][length] == '=')
            return s->map[i] + length + 1;
    return NULL;
}

/* A path may stand in an option, never in a file: its text is not ours to open. */
static llmperf_status refuse_path(const char *path, const char *name, llmperf_error *error)
{
    if (strcmp(path, name) != 0)
        return LLMPERF_OK;
    return llmperf_fail(error, LLMPERF_E_USAGE, "a path in a result file is not opened");
}

static llmperf_status load_model(session *s, const char *name, bool trusted, void **ret,
                                 llmperf_error *error)
{
    char path[LLMPERF_PATH_MAX];
    llmperf_model *model = calloc(1, sizeof *model);
    if (!model)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_status status = llmperf_find_model(&s->paths, name, path, error);
    if (status == LLMPERF_OK && !trusted)
        status = refuse_path(path, name, error);
    if (status == LLMPERF_OK)
        status = llmperf_model_load(path, model, error);
    if (status == LLMPERF_OK)
        *ret = model;
    else
        free(model);
    return status;
}

static llmperf_status load_part(session *s, const char *name, bool trusted, void **ret,
                                llmperf_error *error)
{
    char path[LLMPERF_PATH_MAX];
    llmperf_hw *hw = calloc(1, sizeof *hw);
    if (!hw)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_status status = llmperf_find_hw(&s->paths, name, path, error);
    if (status == LLMPERF_OK && !trusted)
        status = refuse_path(path, name, error);
    if (status == LLMPERF_OK)
        status = llmperf_hw_load(path, hw, error);
    if (status == LLMPERF_OK)
        *ret = hw;
    else
        free(hw);
    return status;
}

typedef llmperf_status loader(session *s, const char *name, bool trusted, void **ret,
                              llmperf_error *error);

static void count_use(fact_use *use, const char *unknown)
{
    use->rows++;
    if (unknown[0] && use->unknown++ == 0)
        snprintf(use->first, sizeof use->first, "%s", unknown);
}

/*
 * The specification that a file's name stands for, by --map and the aliases of those shipped, else
 * the one of an option, which `use` counts (NULL = nobody asks). NULL: none is known, or memory is
 * short (s->error).
 */
static void *resolve(session *s, known_list *list, loader *load, const char *name,
                     const char *fallback, fact_use *use)
{
    const char *ours = name[0] ? renamed(s, name) : NULL;
    const char *tries[] = {ours, ours ? NULL : name, fallback};
    for (int i = 0; i < 3; i++) {
        llmperf_error why = {0};
        if (!tries[i] || !tries[i][0])
            continue;
        known *k = find_known(list, tries[i]);
        if (!k && !(k = add_known(s, list, tries[i])))
            return NULL;
        bool trusted = i != 1;
        if (!k->spec && (k->status == LLMPERF_OK || (trusted && !k->trusted))) {
            k->trusted = trusted;
            k->status = load(s, tries[i], trusted, &k->spec, &why);
            snprintf(k->why, sizeof k->why, "%.380s", why.text);
            if (k->status != LLMPERF_OK && trusted) { /* the user's own word must be right */
                llmperf_fail(s->error, k->status, "%s", why.text);
                return NULL;
            }
        }
        if (k->spec && i == 2 && use)
            count_use(use, name);
        if (k->spec)
            return k->spec;
    }
    return NULL;
}

/* A model that a file tells by its dimensions. */
static llmperf_model *model_of_shape(session *s, const llmperf_run *run)
{
    const llmperf_run_shape *shape = &run->shape;
    llmperf_error why = {0};
    char name[LLMPERF_NAME_MAX];
    snprintf(name, sizeof name, "%lldx%lldx%lldx%lldx%lldx%lld", (long long)shape->layers,
             (long long)shape->hidden, (long long)shape->heads, (long long)shape->kv_heads,
             (long long)shape->ffn, (long long)shape->vocab);
    known *k = find_known(&s->models, name);
    if (!k && !(k = add_known(s, &s->models, name)))
        return NULL;
    if (k->spec || k->status != LLMPERF_OK)
        return k->spec;
    llmperf_model *model = calloc(1, sizeof *model);
    if (!model) {
        llmperf_fail(s->error, LLMPERF_E_MEMORY, "out of memory");
        return NULL;
    }
    k->status = llmperf_run_model(run, model, &why);
    if (k->status == LLMPERF_OK)
        k->spec = model;
    else
        free(model);
    return k->spec;
}

/* ---- calibrations ------------------------------------------------------------------------------------ */

/* The kernels that an engine runs on, in the words of calibrations; NULL = not known. */
static const char *library_of(const char *engine)
{
    return strstr(engine, "vllm")                                   ? "vllm"
           : strstr(engine, "sglang")                               ? "sglang"
           : strstr(engine, "tensorrt") || strstr(engine, "trtllm") ? "trtllm"
                                                                    : NULL;
}

static bool is_word(const char *asked, const char *word)
{
    return asked && strcmp(asked, word) == 0;
}

/* --engine may be a profile's file: it then serves every row, whatever engine that names. */
static bool is_file(const char *name)
{
    size_t length = name ? strlen(name) : 0;
    return length > 0 && (strchr(name, '/') || (length > 5 && !strcmp(name + length - 5, ".yaml")));
}

static llmperf_status load_profile(session *s, const char *name, bool trusted, void **ret,
                                   llmperf_error *error)
{
    char path[LLMPERF_PATH_MAX];
    llmperf_engine *engine = calloc(1, sizeof *engine);
    if (!engine)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_status status = llmperf_find_engine(&s->paths, name, path, error);
    if (status == LLMPERF_OK && !trusted)
        status = refuse_path(path, name, error);
    if (status == LLMPERF_OK)
        status = llmperf_engine_load(path, engine, error);
    if (status == LLMPERF_OK)
        *ret = engine;
    else
        free(engine);
    return status;
}

/* The profile that a row is predicted with; NULL = operators alone. */
static const llmperf_engine *profile_of(session *s, const char *engine)
{
    const char *asked = s->arguments->engine;
    if (is_word(asked, "none") || (!asked && s->arguments->common.calibration))
        return NULL;
    if (is_file(asked))
        return resolve(s, &s->profiles, load_profile, "", asked, NULL);
    return resolve(s, &s->profiles, load_profile, engine, NULL, NULL);
}

/* Fits of operators: those asked for by name, or the best for the part and the engine's kernels. */
static llmperf_status load_kernels(session *s, const llmperf_hw *hw, const char *engine,
                                   llmperf_calib *ret_calib, bool *ret_found)
{
    const char *asked = s->arguments->common.calibration;
    char path[LLMPERF_PATH_MAX];
    *ret_found = false;
    if (!asked)
        return llmperf_calib_choose(&s->paths, hw, library_of(engine), ret_calib, ret_found,
                                    s->error);
    llmperf_status status = llmperf_find_calib(&s->paths, asked, path, s->error);
    if (status == LLMPERF_OK)
        status = llmperf_calib_load(path, ret_calib, s->error);
    if (status == LLMPERF_OK) {
        llmperf_calib_lend(ret_calib, &s->paths, hw);
        *ret_found = true;
    }
    return status;
}

/* A profile's calibration, over the fits that were asked for by name. */
static llmperf_status make_calibration(session *s, const llmperf_hw *hw, const llmperf_run *run,
                                       const llmperf_engine *profile, llmperf_calib *ret_calib,
                                       bool *ret_found)
{
    const char *asked = s->arguments->common.calibration;
    llmperf_engine_part part;
    if (!profile)
        return load_kernels(s, hw, run->engine, ret_calib, ret_found);
    llmperf_calib *kernels = asked && !is_word(asked, "none") ? malloc(sizeof *kernels) : NULL;
    if (kernels && load_kernels(s, hw, run->engine, kernels, ret_found) != LLMPERF_OK) {
        free(kernels);
        return s->error->status;
    }
    llmperf_engine_choose(&s->paths, profile, hw, run->kind != LLMPERF_RUN_STATIC, &part);
    llmperf_engine_calib(profile, &part, hw, kernels, ret_calib);
    free(kernels);
    *ret_found = true;
    return LLMPERF_OK;
}

/* What times a row: the profile of its engine, else fits of operators. NULL with *ret_status OK:
 * there is nothing but the roofline. */
static const llmperf_calib *calibration_of(session *s, const llmperf_hw *hw, const llmperf_run *run,
                                           const llmperf_engine *profile,
                                           llmperf_status *ret_status)
{
    const char *library = library_of(run->engine);
    bool served = profile && run->kind != LLMPERF_RUN_STATIC;
    char key[LLMPERF_NAME_MAX + 64];
    *ret_status = s->error->status; /* of finding the profile */
    if (*ret_status != LLMPERF_OK ||
        (!profile && is_word(s->arguments->common.calibration, "none")))
        return NULL;
    snprintf(key, sizeof key, "%.60s %.48s%s", hw->name,
             profile                            ? profile->name
             : s->arguments->common.calibration ? "operators"
             : library                          ? library
                                                : "operators",
             served ? ", served" : "");
    known *k = find_known(&s->calibrations, key);
    if (k)
        return k->spec;
    k = add_known(s, &s->calibrations, key);
    llmperf_calib *calib = k ? malloc(sizeof *calib) : NULL;
    bool found = false;
    if (!calib) {
        *ret_status = llmperf_fail(s->error, LLMPERF_E_MEMORY, "out of memory");
        return NULL;
    }
    *ret_status = make_calibration(s, hw, run, profile, calib, &found);
    if (*ret_status == LLMPERF_OK && found)
        k->spec = calib;
    else
        free(calib);
    return k->spec;
}

/* ---- facts that files lack ---------------------------------------------------------------------------- */

static void fill_word(char *to, size_t size, const char *word)
{
    if (!to[0] && word)
        snprintf(to, size, "%s", word);
}

/* A count that a file does not say, of an option (0 = not given). */
static int64_t filled(session *s, fact which, int64_t given)
{
    if (given > 0)
        count_use(&s->use[which], "");
    return given;
}

/* What the options add. Lengths: a file that tells what was cached needs no prompt. */
static void complete(session *s, llmperf_run *run)
{
    const compare_arguments *a = s->arguments;
    if (!is_word(a->engine, "none") && !is_file(a->engine))
        fill_word(run->engine, sizeof run->engine, a->engine);
    fill_word(run->weight_dtype, sizeof run->weight_dtype, a->common.weight_dtype);
    fill_word(run->act_dtype, sizeof run->act_dtype, a->common.act_dtype);
    fill_word(run->kv_dtype, sizeof run->kv_dtype, a->common.kv_dtype);
    if (run->batch == 0 && run->kind != LLMPERF_RUN_OFFLINE) /* else --batch is a limit */
        run->batch = filled(s, FACT_BATCH, a->common.batch);
    if (run->prompt == 0 && !run->has_depth)
        run->prompt = (double)filled(s, FACT_PROMPT, a->common.prompt);
    if (run->generate == 0)
        run->generate = (double)filled(s, FACT_GENERATE, a->common.generate);
    if (run->tp == 0)
        run->tp = a->common.tp;
}

/* "--batch, --prompt": the options that would give what is missing; "" = nothing is. */
static void missing(const llmperf_run *run, bool model, bool hw, char *buffer, size_t size)
{
    bool prefill = run->metric == LLMPERF_METRIC_PREFILL_RATE ||
                   (run->metric == LLMPERF_METRIC_TTFT && run->kind == LLMPERF_RUN_STATIC);
    const struct {
        const char *option;
        bool missing;
    } facts[] = {
        {"--model", !model},
        {"--hw", !hw},
        {"--batch", run->batch == 0 && run->kind != LLMPERF_RUN_OFFLINE},
        {"--prompt", run->prompt == 0 && (prefill || !run->has_depth)},
        {"--generate", run->generate == 0 && !prefill},
    };
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].missing && used < size)
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
                                     facts[i].option);
}

static const char *short_metric(llmperf_metric metric)
{
    switch (metric) {
    case LLMPERF_METRIC_E2E:
        return "e2e";
    case LLMPERF_METRIC_TTFT:
        return "TTFT";
    case LLMPERF_METRIC_TPOT:
        return "TPOT";
    case LLMPERF_METRIC_DECODE_RATE:
        return "decode tok/s";
    case LLMPERF_METRIC_PREFILL_RATE:
        return "prefill tok/s";
    case LLMPERF_METRIC_OUTPUT_RATE:
        return "output tok/s";
    case LLMPERF_METRIC_TOTAL_RATE:
        return "all tok/s";
    case LLMPERF_METRIC_MEMORY:
        return "memory";
    case LLMPERF_METRIC_NONE:
    case LLMPERF_METRIC_COUNT:
        break;
    }
    return "?";
}

/* "llama-3-8b fp16 b 16 1024+128 tp 2 TTFT"; c 16 = requests in flight */
static void label_of(const llmperf_run *run, char *buffer, size_t size)
{
    char depth[40] = "", tp[24] = "";
    if (run->depth > 0)
        snprintf(depth, sizeof depth, "%.0f:", run->depth);
    if (run->tp > 1)
        snprintf(tp, sizeof tp, " tp %lld", (long long)run->tp);
    snprintf(buffer, size, "%.40s%s%.12s %c %lld %s%.0f+%.0f%s %s",
             run->model[0] ? run->model : "?", run->weight_dtype[0] ? " " : "", run->weight_dtype,
             run->kind != LLMPERF_RUN_STATIC ? 'c' : 'b', (long long)run->batch, depth, run->prompt,
             run->generate, tp, short_metric(run->metric));
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static void group_of(const session *s, const llmperf_run *run, const char *metric, char *buffer,
                     size_t size)
{
    const char *cursor = s->arguments->group_by ? s->arguments->group_by : "engine,gpu,metric";
    const char *word;
    char batch[24], prompt[24], generate[24], tp[24];
    size_t length, used = 0;
    snprintf(batch, sizeof batch, "batch %lld", (long long)run->batch);
    snprintf(prompt, sizeof prompt, "input %.0f", run->prompt);
    snprintf(generate, sizeof generate, "output %.0f", run->generate);
    snprintf(tp, sizeof tp, "tp %lld", (long long)(run->tp > 0 ? run->tp : 1));
    const char *const texts[] = {run->engine,
                                 run->engine_version,
                                 run->gpu,
                                 run->model,
                                 run->weight_dtype,
                                 metric,
                                 tp,
                                 batch,
                                 prompt,
                                 generate,
                                 run->file};
    buffer[0] = '\0';
    while (option_words_next(&cursor, &word, &length))
        for (int i = 0; GROUPS[i]; i++)
            if (strlen(GROUPS[i]) == length && strncmp(GROUPS[i], word, length) == 0 && used < size)
                used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
                                         texts[i][0] ? texts[i] : "?");
}

/* ---- one run ------------------------------------------------------------------------------------------- */

static llmperf_status skip(session *s, const llmperf_run *run, const char *why)
{
    llmperf_compare_skip row = {.line = run->line};
    memcpy(row.file, run->file, sizeof row.file);
    label_of(run, row.label, sizeof row.label);
    snprintf(row.why, sizeof row.why, "%.380s", why);
    return llmperf_comparison_skip(s->comparison, &row, s->error);
}

/* A row that the model has no say on is left out with the reason; other faults end the command. */
static llmperf_status skip_for(session *s, const llmperf_run *run, const llmperf_error *why)
{
    if (why->status == LLMPERF_E_MEMORY || why->status == LLMPERF_E_BUG)
        return llmperf_fail(s->error, why->status, "%s", why->text);
    char line[LLMPERF_TEXT_MAX];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(why->text, "\n"), why->text);
    return skip(s, run, line);
}

static llmperf_status skip_incomplete(session *s, const llmperf_run *run, const char *options)
{
    char why[LLMPERF_TEXT_MAX];
    if (!s->needs[0]) {
        snprintf(s->needs, sizeof s->needs, "%s", options);
        memcpy(s->needs_file, run->file, sizeof s->needs_file);
    }
    const char *unknown = strstr(options, "--model") && run->model[0] ? run->model
                          : strstr(options, "--hw") && run->gpu[0]    ? run->gpu
                                                                      : NULL;
    if (unknown)
        snprintf(why, sizeof why, "'%.80s' is not known; %s, or --map '%.80s=...'", unknown,
                 options, unknown);
    else
        snprintf(why, sizeof why, "the file does not say all; %s would", options);
    return skip(s, run, why);
}

/* The batch of an offline run, which the engine picked. */
static llmperf_status set_in_flight(session *s, const llmperf_run *run, llmperf_config *c,
                                    llmperf_error *why)
{
    int64_t most = filled(s, FACT_BATCH, s->arguments->common.batch);
    int64_t count = llmperf_run_in_flight(c, run, most);
    if (count < 1)
        return llmperf_fail(why, LLMPERF_E_UNSUPPORTED,
                            "not even one sequence fits into memory: what ran there is not what "
                            "the row says");
    llmperf_config_move(c, count, c->workload.prompt, c->workload.context);
    s->offline++;
    return LLMPERF_OK;
}

/* The part, or what a run had of it: in ret_share then. */
static const llmperf_hw *share_of(const llmperf_run *run, const llmperf_hw *hw,
                                  llmperf_hw *ret_share)
{
    double share = llmperf_run_share(run, hw);
    if (share == 1)
        return hw;
    *ret_share = *hw;
    ret_share->mem_bytes_per_s *= share;
    ret_share->units *= share;
    for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++)
        ret_share->peak_flop_per_s[i] *= share;
    return ret_share;
}

/* Prediction and roofline of one run; LLMPERF_E_UNSUPPORTED and others with the reason. */
static llmperf_status predict_run(session *s, const llmperf_run *run, const llmperf_model *model,
                                  const llmperf_hw *hw, const llmperf_calib *calib,
                                  llmperf_compare_row *row, int64_t *ret_in_flight,
                                  llmperf_error *why)
{
    static llmperf_model own; /* with the run's formats */
    static llmperf_hw used;   /* the run's share of it */
    llmperf_config c;
    llmperf_workload w = {0};
    const llmperf_workload base = {.chunk = s->arguments->common.chunk,
                                   .confidence = s->arguments->common.confidence};
    llmperf_estimate bound = {0};
    own = *model;
    llmperf_status status = llmperf_run_workload(run, &base, &w, why);
    if (status == LLMPERF_OK)
        status = llmperf_run_formats(run, &own, &w, why);
    if (status == LLMPERF_OK)
        status = llmperf_config_init(&c, &own, share_of(run, hw, &used), calib, &w, why);
    if (status == LLMPERF_OK && run->kind == LLMPERF_RUN_OFFLINE)
        status = set_in_flight(s, run, &c, why);
    *ret_in_flight = c.workload.batch;
    if (status == LLMPERF_OK)
        status = llmperf_run_predict(&c, run, &row->predicted, why);
    if (status != LLMPERF_OK)
        return status;
    row->kind = llmperf_config_estimate_kind(&c);
    c.calib = NULL;
    status = llmperf_run_predict(&c, run, &bound, why);
    row->roofline = bound.value;
    return status;
}

static llmperf_status compare_run(session *s, const llmperf_run *read)
{
    llmperf_run run = *read;
    llmperf_error why = {0};
    llmperf_compare_row row = {.line = run.line, .measured = run.value};
    char needed[LLMPERF_TEXT_MAX];
    int64_t in_flight = 0;
    llmperf_status status = LLMPERF_OK;
    complete(s, &run);
    s->runs++;
    const llmperf_model *model = NULL;
    if (run.shape.layers > 0 && !(run.model[0] && renamed(s, run.model)))
        model = model_of_shape(s, &run);
    else
        model =
            resolve(s, &s->models, load_model, run.model, s->arguments->model, &s->use[FACT_MODEL]);
    const llmperf_hw *hw =
        resolve(s, &s->parts, load_part, run.gpu, s->arguments->hw, &s->use[FACT_HW]);
    if (s->error->status != LLMPERF_OK)
        return s->error->status;
    missing(&run, model != NULL, hw != NULL, needed, sizeof needed);
    if (needed[0] || !model || !hw)
        return skip_incomplete(s, &run, needed);
    if (!run.gpu[0])
        memcpy(run.gpu, hw->name, sizeof run.gpu);
    if (!run.model[0])
        memcpy(run.model, model->name, sizeof run.model);
    const llmperf_engine *profile = profile_of(s, run.engine);
    const llmperf_calib *calib = calibration_of(s, hw, &run, profile, &status);
    if (status != LLMPERF_OK)
        return status;
    if (profile)
        fill_word(run.engine, sizeof run.engine, profile->name);
    s->profiled += profile != NULL;
    if (predict_run(s, &run, model, hw, calib, &row, &in_flight, &why) != LLMPERF_OK)
        return skip_for(s, &run, &why);
    snprintf(row.metric, sizeof row.metric, "%s", llmperf_metric_name(run.metric));
    memcpy(row.file, run.file, sizeof row.file);
    llmperf_run shown = run; /* with the batch that was taken for it */
    shown.batch = in_flight;
    label_of(&shown, row.label, sizeof row.label);
    group_of(s, &run, row.metric, row.group, sizeof row.group);
    row.has_run = true;
    row.run = run;
    return llmperf_comparison_add(s->comparison, &row, s->error);
}

/* ---- samples of operators ------------------------------------------------------------------------------ */

static llmperf_status compare_sample(session *s, const llmperf_sample *sample)
{
    const llmperf_samples *all = &s->samples;
    char key[LLMPERF_NAME_MAX + 48];
    llmperf_status status = LLMPERF_OK;
    llmperf_run run = {.line = sample->line}; /* what groups are made of */
    const char *slash = strrchr(all->name[sample->file], '/');
    snprintf(run.file, sizeof run.file, "%s", slash ? slash + 1 : all->name[sample->file]);
    snprintf(run.engine, sizeof run.engine, "%.47s", all->name[sample->library]);
    snprintf(run.engine_version, sizeof run.engine_version, "%.47s", all->name[sample->version]);
    snprintf(run.gpu, sizeof run.gpu, "%s", all->name[sample->hw]);
    snprintf(run.model, sizeof run.model, "%s",
             llmperf_sample_kind_name((llmperf_sample_kind)sample->kind));
    if (sample->op.dtype != LLMPERF_DTYPE_NONE)
        snprintf(run.weight_dtype, sizeof run.weight_dtype, "%s",
                 llmperf_dtype_name((llmperf_dtype)sample->op.dtype));
    s->runs++;
    const llmperf_hw *hw =
        resolve(s, &s->parts, load_part, run.gpu, s->arguments->hw, &s->use[FACT_HW]);
    if (s->error->status != LLMPERF_OK)
        return s->error->status;
    if (!hw)
        return skip_incomplete(s, &run, "--hw");
    if (!run.gpu[0])
        memcpy(run.gpu, hw->name, sizeof run.gpu);
    if (sample->op.flop > 0 && hw->peak_flop_per_s[sample->op.dtype] <= 0)
        return skip(s, &run, "the part has no peak of this dtype");
    if (sample->op.devices > 1 && !llmperf_hw_link(hw, (int64_t)sample->op.devices))
        return skip(s, &run, "the part has no link");
    const llmperf_calib *calib = calibration_of(s, hw, &run, NULL, &status);
    if (status != LLMPERF_OK)
        return status;
    double confidence = s->arguments->common.confidence;
    const llmperf_config c = {
        .hw = hw, .calib = calib, .workload = {.confidence = confidence > 0 ? confidence : 0.9}};
    llmperf_compare_row row = {.line = sample->line,
                               .metric = "time_s",
                               .measured = sample->time_s,
                               .predicted = llmperf_estimate_op(&c, &sample->op),
                               .kind = llmperf_config_estimate_kind(&c),
                               .roofline = llmperf_time_op(&sample->op, hw, NULL, NULL, NULL),
                               .flags = sample->flags};
    memcpy(row.file, run.file, sizeof row.file);
    /* what a cache held apart: predictions are for memory */
    snprintf(key, sizeof key, "%s%s%s%s", run.model, run.weight_dtype[0] ? " " : "",
             run.weight_dtype, llmperf_sample_is_cold(sample, hw) ? "" : ", warm");
    if (sample->op.kind == LLMPERF_KIND_GEMM)
        snprintf(row.label, sizeof row.label, "%.50s %.0fx%.0fx%.0f", key, sample->op.m,
                 sample->op.n, sample->op.k);
    else
        snprintf(row.label, sizeof row.label, "%.60s %.3g MB", key, sample->op.bytes / 1e6);
    group_of(s, &run, key, row.group, sizeof row.group);
    return llmperf_comparison_add(s->comparison, &row, s->error);
}

/* `text` is "PATH:LINE: why". */
static void bad_sample(bool refused, const char *text, void *context)
{
    session *s = context;
    llmperf_compare_skip row = {0};
    size_t length = strlen(s->path);
    char *end = NULL;
    (void)refused;
    if (strncmp(text, s->path, length) == 0 && text[length] == ':') {
        row.line = strtoll(text + length + 1, &end, 10);
        const char *slash = strrchr(s->path, '/');
        snprintf(row.file, sizeof row.file, "%.95s", slash ? slash + 1 : s->path);
    }
    snprintf(row.why, sizeof row.why, "%.380s", end ? end + strspn(end, ": ") : text);
    llmperf_comparison_skip(s->comparison, &row, s->error);
}

static llmperf_status compare_samples(session *s, const char *path)
{
    const llmperf_samples_options options = {.visit = bad_sample, .context = s};
    int64_t before = s->samples.count;
    s->path = path;
    llmperf_status status = llmperf_samples_read(&s->samples, path, &options, s->error);
    for (int64_t i = before; i < s->samples.count && status == LLMPERF_OK; i++)
        status = compare_sample(s, &s->samples.sample[i]);
    return status;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void bad_row(const char *file, int64_t line, const char *label, const char *why,
                    void *context)
{
    session *s = context;
    llmperf_compare_skip row = {.line = line};
    snprintf(row.file, sizeof row.file, "%s", file);
    snprintf(row.label, sizeof row.label, "%s", label);
    snprintf(row.why, sizeof row.why, "%.380s", why);
    llmperf_comparison_skip(s->comparison, &row, s->error);
}

static llmperf_status compare_file(session *s, const char *path)
{
    const llmperf_runs_options options = {
        .map = s->map, .median = s->arguments->statistic == 1, .visit = bad_row, .context = s};
    llmperf_runs runs = {0};
    bool samples = false;
    llmperf_status status = llmperf_results_are_samples(path, &options, &samples, s->error);
    if (status == LLMPERF_OK && samples)
        return compare_samples(s, path);
    if (status == LLMPERF_OK)
        status = llmperf_runs_read(&runs, path, &options, s->error);
    for (int64_t i = 0; i < runs.count && status == LLMPERF_OK; i++)
        status = compare_run(s, &runs.run[i]);
    llmperf_runs_free(&runs);
    return status;
}

static llmperf_status cut_map(session *s)
{
    const char *cursor = s->arguments->map, *word;
    size_t length;
    int count = 0;
    if (!cursor)
        return LLMPERF_OK;
    char *at = s->map_text = calloc(strlen(cursor) + 2, 1);
    if (!at)
        return llmperf_fail(s->error, LLMPERF_E_MEMORY, "out of memory");
    while (option_words_next(&cursor, &word, &length)) {
        if (count == RULES_MAX)
            return llmperf_fail(s->error, LLMPERF_E_USAGE, "option '--map' takes at most %d rules",
                                RULES_MAX);
        memcpy(at, word, length);
        const char *equals = strchr(at, '=');
        if (!equals || equals == at || !equals[1])
            return llmperf_fail(s->error, LLMPERF_E_USAGE,
                                "option '--map': '%s'; THEIR=OURS is allowed, such as "
                                "my-8b=llama-3.1-8b",
                                at);
        s->map[count++] = at;
        at += length + 1;
    }
    return LLMPERF_OK;
}

/* Nothing could be compared: what to give, or why not. */
static llmperf_status explain_nothing(const session *s, llmperf_error *error)
{
    const llmperf_comparison *c = s->comparison;
    if (s->needs[0])
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "%s does not say everything that a prediction needs; give %s%s",
                            s->needs_file, s->needs,
                            strstr(s->needs, "--model") || strstr(s->needs, "--hw")
                                ? " (or --map THEIR=OURS for names)"
                                : "");
    return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "no row can be predicted: %s",
                        c->skip_count > 0 ? c->skip[0].why : "there is none");
}

static llmperf_status write(const session *s, int files, llmperf_error *error)
{
    common_output output;
    char title[LLMPERF_TEXT_MAX];
    const llmperf_comparison *c = s->comparison;
    llmperf_status status = common_open_output(&s->arguments->common, &output, error);
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

static void note_kinds(const session *s, llmperf_comparison *c)
{
    int bounds = 0, borrowed = 0;
    for (int i = 0; i < c->row_count; i++) {
        bounds += c->row[i].kind == LLMPERF_ESTIMATE_BOUND;
        borrowed += c->row[i].kind == LLMPERF_ESTIMATE_BORROWED;
    }
    if (bounds > 0)
        llmperf_note(&c->notes,
                     "%d of %d predictions are bounds, the roofline: no calibration is there for "
                     "their part, or none was asked for",
                     bounds, c->row_count);
    if (borrowed > 0)
        llmperf_note(&c->notes, "%d of %d predictions borrow what was fitted on other parts",
                     borrowed, c->row_count);
    if (s->offline > 0)
        llmperf_note(
            &c->notes,
            "%lld of %d rows are of everything at once: as many sequences in flight (c) as "
            "memory holds at full length, at most %s",
            (long long)s->offline, c->row_count,
            s->arguments->common.batch > 0
                ? "--batch"
                : "the engine's default (vllm 256, tensorrt-llm 2048; --batch N for another)");
    if (s->profiled > 0 && c->row_count > 0)
        llmperf_note(
            &c->notes,
            "engine profiles predict; where one was fitted to these very rows its errors "
            "are those of the fit ('llmperf specs list engine' has those of unseen models)");
}

/* What became of the options that give missing facts: none may act, or fail to, unseen. */
static void note_facts(const session *s, llmperf_comparison *c)
{
    const compare_arguments *a = s->arguments;
    const struct {
        const char *option, *what;
        bool given;
    } facts[FACT_COUNT] = {
        [FACT_MODEL] = {"--model", a->model, a->model != NULL},
        [FACT_HW] = {"--hw", a->hw, a->hw != NULL},
        [FACT_BATCH] = {"--batch", NULL, a->common.batch > 0},
        [FACT_PROMPT] = {"--prompt", NULL, a->common.prompt > 0},
        [FACT_GENERATE] = {"--generate", NULL, a->common.generate > 0},
    };
    char idle[64] = "";
    bool names = false;
    for (int i = 0; i < FACT_COUNT; i++) {
        const fact_use *use = &s->use[i];
        size_t used = strlen(idle);
        if (use->unknown > 0)
            llmperf_note(&c->notes,
                         "%lld of %lld rows name a %s that is not known here, the first '%.80s': "
                         "they are taken for %s %.80s",
                         (long long)use->unknown, (long long)s->runs,
                         i == FACT_MODEL ? "model" : "part", use->first, facts[i].option,
                         facts[i].what);
        if (!facts[i].given || use->rows > 0)
            continue;
        snprintf(idle + used, sizeof idle - used, "%s%s", used ? ", " : "", facts[i].option);
        names |= facts[i].what != NULL;
    }
    if (idle[0] && s->runs > 0)
        llmperf_note(&c->notes, "no row needs %s: what a file says is not overruled%s", idle,
                     names ? " (--map THEIR=OURS gives its names another meaning)" : "");
}

static llmperf_status compare_all(session *s, const option_result *result)
{
    llmperf_spec_paths_default(s->arguments->common.specs, &s->paths);
    llmperf_status status = cut_map(s);
    for (int i = 0; i < result->positional_count && status == LLMPERF_OK; i++)
        status = compare_file(s, result->positional[i]);
    if (status != LLMPERF_OK)
        return status;
    note_kinds(s, s->comparison);
    note_facts(s, s->comparison);
    llmperf_comparison_note_faster(s->comparison);
    if (s->comparison->row_count == 0 && s->needs[0])
        return explain_nothing(s, s->error);
    status = write(s, result->positional_count, s->error);
    if (status == LLMPERF_OK && s->comparison->row_count == 0)
        status = explain_nothing(s, s->error);
    return status;
}

static int run(int argc, char **argv)
{
    compare_arguments arguments = {.common = COMMON_DEFAULTS};
    option_result result = {0};
    llmperf_error error = {0};
    llmperf_comparison comparison = {0};
    session s = {.arguments = &arguments, .comparison = &comparison, .error = &error};
    llmperf_status status = common_parse(&COMMAND_COMPARE, argc, argv, &arguments, &result, &error);
    if (status == LLMPERF_OK && result.help) {
        option_print_help(stdout, &COMMAND_COMPARE);
        return 0;
    }
    if (status == LLMPERF_OK)
        status = compare_all(&s, &result);
    free_list(&s.models);
    free_list(&s.parts);
    free_list(&s.profiles);
    free_list(&s.calibrations);
    free(s.map_text);
    llmperf_samples_free(&s.samples);
    llmperf_comparison_free(&comparison);
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
