/* SPDX-License-Identifier: MIT */
/*
 * Engine profile YAML -> llmperf_engine. The rows below are the whole vocabulary; docs/engines.md
 * explains each key. Needs no GSL.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "doc_reader.h"
#include "engine_field.h"
#include "read.h"
#include "llmperf/engine.h"
#include "entry.h"
#include "engine_object.h"

static const char *const TOP_KEYS[] = {"schema", "name",   "aliases", "source",   "licence",
                                       "date",   "digest", "parts",   "borrowed", NULL};
static const char *const PART_KEYS[] = {"hardware", "load",       "versions", "parameters",
                                        "fitted",   "residual",   "remarks",  "relative_error",
                                        "quality",  "covariance", NULL};
static const char *const RESIDUAL_KEYS[] = {"decode", "prefill", NULL};

/* Fields of `quality`, also for the writer. */
const engine_field ENGINE_QUALITY[] = {
    {"rows", offsetof(llmperf_engine_quality, rows), true, 0},
    {"models", offsetof(llmperf_engine_quality, models), true, 0},
    {"refused", offsetof(llmperf_engine_quality, refused), true, 0},
    {"median_frac", offsetof(llmperf_engine_quality, median_frac), false, 0},
    {"mean_frac", offsetof(llmperf_engine_quality, mean_frac), false, 0},
    {"p90_frac", offsetof(llmperf_engine_quality, p90_frac), false, 0},
    {"bias_frac", offsetof(llmperf_engine_quality, bias_frac), false, -1},
    {"unseen_median_frac", offsetof(llmperf_engine_quality, unseen_median_frac), false, 0},
    {"unseen_p90_frac", offsetof(llmperf_engine_quality, unseen_p90_frac), false, 0},
    {"unseen_coverage_frac", offsetof(llmperf_engine_quality, unseen_coverage_frac), false, 0},
    {"unseen_part_frac", offsetof(llmperf_engine_quality, unseen_part_frac), false, 0},
    {"roofline_frac", offsetof(llmperf_engine_quality, roofline_frac), false, 0},
    {"constant_frac", offsetof(llmperf_engine_quality, constant_frac), false, 0},
};
const int ENGINE_QUALITY_COUNT = sizeof ENGINE_QUALITY / sizeof *ENGINE_QUALITY;

/* The parameter a key names, or COUNT after a fault. */
static llmperf_engine_param param_of(doc_reader *r, const doc_node *node, const char *name)
{
    const char *words[LLMPERF_ENGINE_PARAM_COUNT + 1] = {0};
    llmperf_engine_param param = llmperf_engine_param_parse(name);
    if (param != LLMPERF_ENGINE_PARAM_COUNT)
        return param;
    for (int i = 0; i < LLMPERF_ENGINE_PARAM_COUNT; i++)
        words[i] = llmperf_engine_param_name((llmperf_engine_param)i);
    const char *near = llmperf_nearest(name, words);
    reader_done(r, doc_fail_at_key(r->document, node, r->error, "parameter '%s' is not known%s%s%s",
                                   name, near ? "; did you mean '" : "", near ? near : "",
                                   near ? "'?" : ""));
    return param;
}

static void read_params(doc_reader *r, doc_node *map, llmperf_engine_part *part)
{
    doc_node *params = doc_get(map, "parameters");
    if (!params)
        reader_done(r, doc_fail(r->document, map, r->error,
                                "parameters is missing; it is required, for example "
                                "{weight_efficiency: 0.8, layer_s: 2e-5}"));
    else if (reader_is_kind(r, params, DOC_MAP, "{weight_efficiency: 0.8}"))
        for (doc_node *node = params->first; node; node = node->next) {
            node->used = true;
            llmperf_engine_param param = param_of(r, node, node->key);
            if (param == LLMPERF_ENGINE_PARAM_COUNT)
                continue;
            llmperf_param_range range = llmperf_engine_param_limits(param);
            reader_done(r, doc_double(r->document, node, range.above ? DBL_MIN : range.least,
                                      range.most, &part->param[param], r->error));
        }
}

/* By Cholesky, on correlations; so much is left to numbers that were rounded. */
static bool is_covariance(const llmperf_engine_part *part, const int *order, int count)
{
    static const double ROUNDED = 1e-3;
    double root[LLMPERF_ENGINE_PARAM_COUNT][LLMPERF_ENGINE_PARAM_COUNT] = {{0}};
    for (int i = 0; i < count; i++)
        for (int k = 0; k <= i; k++) {
            double scale = part->error[order[i]] * part->error[order[k]];
            double c = part->covariance[order[i]][order[k]];
            if (scale == 0 && c != 0)
                return false;
            double rest = i == k ? 1 + ROUNDED : scale > 0 ? c / scale : 0;
            for (int j = 0; j < k; j++)
                rest -= root[i][j] * root[k][j];
            if (i == k && !(rest > 0))
                return false;
            root[i][k] = i == k ? sqrt(rest) : rest / root[k][k];
        }
    return true;
}

/* The lower triangle, row by row, its parameters in the order of relative_error. */
static void read_covariance(doc_reader *r, doc_node *list, llmperf_engine_part *part,
                            const int *order, int count)
{
    int row = 0;
    if (!reader_is_kind(r, list, DOC_SEQ, "a row of numbers for each relative_error"))
        return;
    bool complete = list->count == (size_t)count;
    for (doc_node *line = list->first; line && complete; line = line->next, row++) {
        int column = 0;
        if (!reader_is_kind(r, line, DOC_SEQ, "[1e-4, 2e-4]"))
            return;
        complete = line->count == (size_t)row + 1;
        for (doc_node *node = line->first; node && complete; node = node->next, column++) {
            double *c = &part->covariance[order[row]][order[column]];
            if (!reader_done(r, doc_double(r->document, node, -1e4, 1e4, c, r->error)))
                return;
            part->covariance[order[column]][order[row]] = *c;
        }
    }
    if (!complete) {
        reader_done(r, doc_fail(r->document, list, r->error,
                                "covariance is no lower triangle; %d rows of 1 to %d numbers are "
                                "allowed, in the order of relative_error",
                                count, count));
        return;
    }
    for (int i = 0; i < count; i++) {
        double error = part->error[order[i]];
        double variance = part->covariance[order[i]][order[i]];
        if (fabs(variance - error * error) > 1e-6 * error * error) {
            reader_done(r, doc_fail(r->document, list, r->error,
                                    "relative_error of %s is %g, the covariance says %g; they must "
                                    "agree",
                                    llmperf_engine_param_name((llmperf_engine_param)order[i]),
                                    error, sqrt(fmax(variance, 0))));
            return;
        }
    }
    if (!is_covariance(part, order, count))
        reader_done(r, doc_fail(r->document, list, r->error,
                                "covariance is none; a positive definite one is allowed, with "
                                "correlations from -1 to 1"));
}

static void read_errors(doc_reader *r, doc_node *map, llmperf_engine_part *part)
{
    doc_node *fitted = doc_get(map, "fitted"), *errors = doc_get(map, "relative_error");
    if (fitted && reader_is_kind(r, fitted, DOC_SEQ, "[weight_efficiency]"))
        for (doc_node *node = fitted->first; node; node = node->next) {
            char name[64];
            if (!reader_done(r, doc_text(r->document, node, name, sizeof name, r->error)))
                continue;
            llmperf_engine_param param = param_of(r, node, name);
            if (param != LLMPERF_ENGINE_PARAM_COUNT)
                part->fitted |= 1u << param;
        }
    int order[LLMPERF_ENGINE_PARAM_COUNT] = {0}, count = 0;
    if (errors && reader_is_kind(r, errors, DOC_MAP, "{weight_efficiency: 0.02}"))
        for (doc_node *node = errors->first; node; node = node->next) {
            node->used = true;
            llmperf_engine_param param = param_of(r, node, node->key);
            if (param == LLMPERF_ENGINE_PARAM_COUNT ||
                !reader_done(r,
                             doc_double(r->document, node, 0, 100, &part->error[param], r->error)))
                continue;
            part->covariance[param][param] = part->error[param] * part->error[param];
            order[count++] = param; /* keys are there once each: the document sees to it */
        }
    doc_node *covariance = doc_get(map, "covariance");
    if (covariance)
        read_covariance(r, covariance, part, order, count);
}

static void read_quality(doc_reader *r, doc_node *map, llmperf_engine_quality *q)
{
    const char *words[32] = {0};
    if (!reader_is_kind(r, map, DOC_MAP, "{rows: 100}"))
        return;
    for (int i = 0; i < ENGINE_QUALITY_COUNT; i++) {
        void *field = (char *)q + ENGINE_QUALITY[i].offset;
        words[i] = ENGINE_QUALITY[i].key;
        if (ENGINE_QUALITY[i].is_count)
            reader_count(r, map, words[i], field);
        else
            reader_double(r, map, words[i], ENGINE_QUALITY[i].least, DBL_MAX, field);
    }
    reader_done(r, doc_refuse_unknown(r->document, map, words, r->error));
}

/* A required name: some text, without control bytes. */
static void read_name(doc_reader *r, doc_node *map, const char *key, char *buffer, size_t size)
{
    doc_node *node = doc_get(map, key);
    char escaped[4 * LLMPERF_NAME_MAX];
    buffer[0] = '\0';
    if (!node) {
        reader_done(r, doc_fail(r->document, map, r->error, "%s is missing; it is required", key));
        return;
    }
    if (!reader_done(r, doc_text(r->document, node, buffer, size, r->error)))
        return;
    llmperf_escape(buffer, escaped, sizeof escaped);
    if (!buffer[0] || strcmp(buffer, escaped) != 0)
        reader_done(r, doc_fail(r->document, node, r->error,
                                "%s is '%s'; some text without control bytes is allowed", key,
                                escaped));
}

static void read_load(doc_reader *r, doc_node *map, bool *ret_serving)
{
    char word[16] = "static";
    doc_node *node = doc_get(map, "load");
    if (!node || !reader_done(r, doc_text(r->document, node, word, sizeof word, r->error)))
        return;
    *ret_serving = strcmp(word, "serving") == 0;
    if (!*ret_serving && strcmp(word, "static") != 0)
        reader_done(r, doc_fail(r->document, node, r->error,
                                "load is '%s'; static or serving is allowed", word));
}

static void read_part(doc_reader *r, doc_node *map, llmperf_engine *engine)
{
    llmperf_engine_part part = {0};
    if (!reader_is_kind(r, map, DOC_MAP, "{hardware: h100-sxm, parameters: {}}"))
        return;
    for (int i = 0; i < LLMPERF_ENGINE_PARAM_COUNT; i++)
        part.param[i] = engine_param_typical((llmperf_engine_param)i);
    read_name(r, map, "hardware", part.hw, sizeof part.hw);
    read_load(r, map, &part.serving);
    reader_text(r, map, "versions", part.versions, sizeof part.versions);
    reader_text(r, map, "remarks", part.remarks, sizeof part.remarks);
    read_params(r, map, &part);
    read_errors(r, map, &part);
    doc_node *residual = doc_get(map, "residual"), *quality = doc_get(map, "quality");
    if (residual && reader_is_kind(r, residual, DOC_MAP, "{decode: 0.1, prefill: 0.15}")) {
        reader_double(r, residual, "decode", 0, 10, &part.decode_residual);
        reader_double(r, residual, "prefill", 0, 10, &part.prefill_residual);
        reader_done(r, doc_refuse_unknown(r->document, residual, RESIDUAL_KEYS, r->error));
    }
    if (quality)
        read_quality(r, quality, &part.quality);
    reader_done(r, doc_refuse_unknown(r->document, map, PART_KEYS, r->error));
    for (int i = 0; i < engine->part_count; i++)
        if (strcasecmp(engine->part[i].hw, part.hw) == 0 &&
            engine->part[i].serving == part.serving) {
            reader_done(r, doc_fail(r->document, map, r->error,
                                    "a second device '%s'; one is allowed", part.hw));
            return;
        }
    if (engine->part_count == LLMPERF_ENGINE_PARTS_MAX)
        reader_done(r, doc_fail(r->document, map, r->error,
                                "more than %d devices; at most %d are allowed",
                                LLMPERF_ENGINE_PARTS_MAX, LLMPERF_ENGINE_PARTS_MAX));
    else
        engine->part[engine->part_count++] = part;
}

static void read_engine(doc_reader *r, doc_node *root, llmperf_engine *engine)
{
    if (!reader_is_kind(r, root, DOC_MAP, "schema: 1"))
        return;
    reader_schema(r, root, LLMPERF_ENGINE_SCHEMA, "an engine profile");
    read_name(r, root, "name", engine->name, sizeof engine->name);
    reader_done(r,
                read_aliases(r->document, root, &engine->alias_count, engine->aliases, r->error));
    reader_text(r, root, "source", engine->source, sizeof engine->source);
    reader_text(r, root, "licence", engine->licence, sizeof engine->licence);
    reader_text(r, root, "date", engine->date, sizeof engine->date);
    reader_text(r, root, "digest", engine->digest, sizeof engine->digest);
    reader_double(r, root, "borrowed", 0, 10, &engine->borrowed);
    doc_node *parts = doc_get(root, "parts");
    if (!parts)
        reader_done(r,
                    doc_fail(r->document, root, r->error, "parts is missing; a list is required"));
    else if (reader_is_kind(r, parts, DOC_SEQ, "- hardware: h100-sxm"))
        for (doc_node *part = parts->first; part; part = part->next)
            read_part(r, part, engine);
    reader_done(r, doc_refuse_unknown(r->document, root, TOP_KEYS, r->error));
}

static llmperf_status read_document(doc *document, llmperf_engine *ret_engine, llmperf_error *error)
{
    doc_reader r = {.document = document, .error = error};
    llmperf_engine *engine = calloc(1, sizeof *engine);
    if (!engine) {
        doc_free(document);
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    read_engine(&r, doc_root(document), engine);
    if (r.status == LLMPERF_OK)
        *ret_engine = *engine;
    free(engine);
    doc_free(document);
    return r.status;
}

llmperf_status engine_load(const char *path, llmperf_engine *ret_engine, llmperf_error *error)
{
    NEEDS(path && ret_engine, error);
    doc *document;
    llmperf_status status = doc_load_file(path, &document, error);
    return status == LLMPERF_OK ? read_document(document, ret_engine, error) : status;
}

llmperf_status engine_load_text(const char *name, const char *text, size_t size,
                                llmperf_engine *ret_engine, llmperf_error *error)
{
    NEEDS(name && text && ret_engine, error);
    doc *document;
    llmperf_status status = doc_load_text(name, text, size, &document, error);
    return status == LLMPERF_OK ? read_document(document, ret_engine, error) : status;
}
