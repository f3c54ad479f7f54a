/* SPDX-License-Identifier: MIT */
/* What the names of result files stand for: models, hardware, engines, and what times a row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "join.h"
#include "model_object.h"
#include "calib_object.h"
#include "engine_object.h"

/* ---- names that were seen ------------------------------------------------------------------------------- */

static void free_list(known_list *list)
{
    for (int i = 0; i < list->count; i++) {
        free(list->item[i].model);
        free(list->item[i].hw);
        free(list->item[i].engine);
        free(list->item[i].calib);
    }
    free(list->item);
}

void names_free(names *n)
{
    free_list(&n->models);
    free_list(&n->parts);
    free_list(&n->profiles);
    free_list(&n->calibrations);
}

static known *find_known(const known_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->item[i].name, name) == 0)
            return &list->item[i];
    return NULL;
}

/* A new item; NULL when there is no memory. */
static known *add_known(names *n, known_list *list, const char *name)
{
    if (list->count == list->capacity) {
        int more = list->capacity ? 2 * list->capacity : 16;
        known *larger = realloc(list->item, (size_t)more * sizeof *larger);
        if (!larger) {
            llmperf_fail(n->error, LLMPERF_E_MEMORY, "out of memory");
            return NULL;
        }
        list->item = larger;
        list->capacity = more;
    }
    known *k = &list->item[list->count++];
    memset(k, 0, sizeof *k);
    snprintf(k->name, sizeof k->name, "%s", name);
    return k;
}

const char *names_renamed(const names *n, const char *name)
{
    size_t length = strlen(name);
    const char *const *map = n->options->map;
    for (int i = 0; map && map[i]; i++)
        if (strncmp(map[i], name, length) == 0 && map[i][length] == '=')
            return map[i] + length + 1;
    return NULL;
}

void count_use(fact_use *use, const char *unknown)
{
    use->rows++;
    if (unknown[0] && use->unknown++ == 0)
        snprintf(use->first, sizeof use->first, "%s", unknown);
}

/* ---- specifications ------------------------------------------------------------------------------------- */

/* A path may stand in an option, never in a file: its text is not ours to open. */
static llmperf_load_options how_to_load(const names *n, bool trusted)
{
    return (llmperf_load_options){.paths = n->paths, .calibration = "none", .names_only = !trusted};
}

typedef llmperf_status loader(names *n, known *k, bool trusted);

static llmperf_status load_model(names *n, known *k, bool trusted)
{
    llmperf_load_options options = how_to_load(n, trusted);
    llmperf_loaded loaded;
    options.model = k->name;
    llmperf_status status = llmperf_load(&options, &loaded, &n->why);
    if (status == LLMPERF_OK)
        k->model = loaded.model;
    return status;
}

static llmperf_status load_part(names *n, known *k, bool trusted)
{
    llmperf_load_options options = how_to_load(n, trusted);
    llmperf_loaded loaded;
    options.hw = k->name;
    llmperf_status status = llmperf_load(&options, &loaded, &n->why);
    if (status == LLMPERF_OK)
        k->hw = loaded.hw;
    return status;
}

static llmperf_status load_profile(names *n, known *k, bool trusted)
{
    const llmperf_load_options options = how_to_load(n, trusted);
    return llmperf_load_engine(&options, k->name, &k->engine, &n->why);
}

static bool is_loaded(const known *k)
{
    return k->model || k->hw || k->engine;
}

/* What a row's name stands for, else the name of an option (`fallback`), which `use` counts (NULL =
 * nobody asks). */
static const known *resolve(names *n, known_list *list, loader *load, const char *name,
                            const char *fallback, fact_use *use)
{
    const char *ours = name[0] ? names_renamed(n, name) : NULL;
    const char *tries[] = {ours, ours ? NULL : name, fallback};
    for (int i = 0; i < 3; i++) {
        if (!tries[i] || !tries[i][0])
            continue;
        known *k = find_known(list, tries[i]);
        if (!k && !(k = add_known(n, list, tries[i])))
            return NULL;
        bool trusted = i != 1;
        if (!is_loaded(k) && (k->status == LLMPERF_OK || (trusted && !k->trusted))) {
            memset(&n->why, 0, sizeof n->why);
            k->trusted = trusted;
            k->status = load(n, k, trusted);
            if (k->status != LLMPERF_OK && trusted) { /* the user's own word must be right */
                llmperf_fail(n->error, k->status, "%s", n->why.text);
                return NULL;
            }
        }
        if (is_loaded(k) && i == 2 && use)
            count_use(use, name);
        if (is_loaded(k))
            return k;
    }
    return NULL;
}

/* A model that a file tells by its dimensions. */
static const llmperf_model *model_of_shape(names *n, const llmperf_run *run)
{
    const llmperf_run_shape *shape = &run->shape;
    char name[LLMPERF_NAME_MAX];
    snprintf(name, sizeof name, "%lldx%lldx%lldx%lldx%lldx%lld", (long long)shape->layers,
             (long long)shape->hidden, (long long)shape->heads, (long long)shape->kv_heads,
             (long long)shape->ffn, (long long)shape->vocab);
    known *k = find_known(&n->models, name);
    if (!k && !(k = add_known(n, &n->models, name)))
        return NULL;
    if (k->model || k->status != LLMPERF_OK)
        return k->model;
    k->status = llmperf_run_model(run, &k->model, NULL);
    if (k->status == LLMPERF_E_MEMORY)
        llmperf_fail(n->error, LLMPERF_E_MEMORY, "out of memory");
    return k->model;
}

const llmperf_model *names_model(names *n, const llmperf_run *run, fact_use *use)
{
    if (run->shape.layers > 0 && !(run->model[0] && names_renamed(n, run->model)))
        return model_of_shape(n, run);
    const known *k = resolve(n, &n->models, load_model, run->model, n->options->model, use);
    return k ? k->model : NULL;
}

const llmperf_hw *names_part(names *n, const char *gpu, fact_use *use)
{
    const known *k = resolve(n, &n->parts, load_part, gpu, n->options->hw, use);
    return k ? k->hw : NULL;
}

/* ---- what times a row ----------------------------------------------------------------------------------- */

/* The kernels that an engine runs on, in the words of calibrations; NULL = not known. */
static const char *library_of(const char *engine)
{
    return strstr(engine, "vllm")                                   ? "vllm"
           : strstr(engine, "sglang")                               ? "sglang"
           : strstr(engine, "tensorrt") || strstr(engine, "trtllm") ? "trtllm"
                                                                    : NULL;
}

bool is_word(const char *asked, const char *word)
{
    return asked && strcmp(asked, word) == 0;
}

bool is_file(const char *name)
{
    size_t length = name ? strlen(name) : 0;
    return length > 0 && (strchr(name, '/') || (length > 5 && !strcmp(name + length - 5, ".yaml")));
}

const llmperf_engine *names_profile(names *n, const char *engine)
{
    const char *asked = n->options->engine;
    if (is_word(asked, "none") || (!asked && n->options->calibration))
        return NULL;
    const known *k = is_file(asked) ? resolve(n, &n->profiles, load_profile, "", asked, NULL)
                                    : resolve(n, &n->profiles, load_profile, engine, NULL, NULL);
    return k ? k->engine : NULL;
}

const llmperf_calib *names_calib(names *n, const llmperf_hw *hw, const llmperf_run *run,
                                 const llmperf_engine *profile, llmperf_status *ret_status)
{
    const char *library = library_of(run->engine), *asked = n->options->calibration;
    bool served = profile && run->kind != LLMPERF_RUN_STATIC;
    char key[LLMPERF_NAME_MAX + 64];
    *ret_status = n->error->status; /* of finding the profile */
    if (*ret_status != LLMPERF_OK || (!profile && is_word(asked, "none")))
        return NULL;
    snprintf(key, sizeof key, "%.60s %.48s%s", hw->name,
             profile                    ? profile->name
             : asked || library == NULL ? "operators"
                                        : library,
             served ? ", served" : "");
    known *k = find_known(&n->calibrations, key);
    if (k)
        return k->calib;
    k = add_known(n, &n->calibrations, key);
    if (!k) {
        *ret_status = n->error->status;
        return NULL;
    }
    const llmperf_load_options options = {.paths = n->paths,
                                          .calibration = asked,
                                          .profile = profile,
                                          .library = library,
                                          .serving = served};
    *ret_status = llmperf_load_calib(&options, hw, &k->calib, n->error);
    return k->calib;
}
