/* SPDX-License-Identifier: MIT */
/*
 * Calibration YAML -> llmperf_calib. The rows below are the whole vocabulary; docs/calibration.md
 * explains each key. Needs no GSL.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calib_load.h"
#include "doc_reader.h"
#include "llmperf/calib.h"
#include "entry.h"
#include "calib_object.h"
#include "fits.h"
#include "read.h"

static const char *const TOP_KEYS[] = {"schema",  "name",    "hardware", "device",
                                       "library", "backend", "date",     "conditions",
                                       "samples", "digest",  "fits",     NULL};
static const char *const CONDITION_KEYS[] = {"clock_hz",  "power_w",   "stream_bytes_per_s",
                                             "throttled", "contended", NULL};
static const char *const FIT_KEYS[] = {
    "kind",        "regime",     "dtype",     "stored",         "gemv",       "experts",
    "block",       "heads",      "head_size", "collective",     "devices",    "library",
    "version",     "parameters", "fitted",    "standard_error", "covariance", "residual",
    "correlation", "remarks",    "quality",   "range",          NULL};
static const char *const RANGE_KEYS[] = {"flop", "bytes", "time_s", NULL};
static const char *const HEADS[] = {"", "single", "grouped", "wide", NULL};
static const char *const HEAD_SIZES[] = {"", "to_64", "to_128", "larger", NULL};

/* Fields of `quality`. */
static const struct {
    const char *key;
    size_t offset;
    bool is_count;
    double least, most;
} QUALITY[] = {
    {"samples", offsetof(llmperf_calib_quality, samples), true, 0, 0},
    {"points", offsetof(llmperf_calib_quality, points), true, 0, 0},
    {"groups", offsetof(llmperf_calib_quality, groups), true, 0, 0},
    {"warm", offsetof(llmperf_calib_quality, warm), true, 0, 0},
    {"refused", offsetof(llmperf_calib_quality, refused), true, 0, 0},
    {"mean_frac", offsetof(llmperf_calib_quality, mean_frac), false, 0, DBL_MAX},
    {"median_frac", offsetof(llmperf_calib_quality, median_frac), false, 0, DBL_MAX},
    {"p90_frac", offsetof(llmperf_calib_quality, p90_frac), false, 0, DBL_MAX},
    {"bias_frac", offsetof(llmperf_calib_quality, bias_frac), false, -1, DBL_MAX},
    {"rms_log", offsetof(llmperf_calib_quality, rms_log), false, 0, DBL_MAX},
    {"left_out_frac", offsetof(llmperf_calib_quality, left_out_frac), false, 0, DBL_MAX},
    {"roofline_frac", offsetof(llmperf_calib_quality, roofline_frac), false, 0, DBL_MAX},
    {"constant_frac", offsetof(llmperf_calib_quality, constant_frac), false, 0, DBL_MAX},
};

enum { QUALITY_COUNT = sizeof QUALITY / sizeof *QUALITY };

/* ---- the key of a fit ------------------------------------------------------------------------------ */

/* Index of a word; -1 after a fault. */
static int read_word(doc_reader *r, doc_node *node, const char *(*name)(int), int count)
{
    const char *words[LLMPERF_PARAM_COUNT + LLMPERF_DTYPE_COUNT + 1];
    char text[64] = "";
    int known = 0;
    if (!reader_done(r, doc_text(r->document, node, text, sizeof text, r->error)))
        return -1;
    for (int i = 0; i < count; i++) {
        const char *word = name(i);
        if (!word || !word[0])
            continue;
        if (strcmp(word, text) == 0)
            return i;
        words[known++] = word;
    }
    words[known] = NULL;
    const char *near = llmperf_nearest(text, words);
    reader_done(r, doc_fail(r->document, node, r->error, "%s '%s' is not known%s%s%s",
                            node->key ? node->key : "name", text, near ? "; did you mean '" : "",
                            near ? near : "", near ? "'?" : ""));
    return -1;
}

static const char *kind_word(int i)
{
    return llmperf_kind_name((llmperf_op_kind)i);
}
static const char *regime_word(int i)
{
    return llmperf_regime_name((llmperf_regime)i);
}
static const char *param_word(int i)
{
    return llmperf_param_name((llmperf_param)i);
}
static const char *collective_word(int i)
{
    return i == 0 ? "" : llmperf_collective_name((llmperf_collective)i);
}
static const char *heads_word(int i)
{
    return HEADS[i];
}
static const char *head_size_word(int i)
{
    return HEAD_SIZES[i];
}
static const char *dtype_word(int i)
{
    return i > 0 ? llmperf_dtype_name((llmperf_dtype)i) : NULL;
}

static void read_key_word(doc_reader *r, doc_node *map, const char *key, const char *(*name)(int),
                          int count, uint8_t *ret_value)
{
    doc_node *node = doc_get(map, key);
    int at = node ? read_word(r, node, name, count) : -1;
    if (at >= 0)
        *ret_value = (uint8_t)at;
}

static void read_key(doc_reader *r, doc_node *map, llmperf_calib_key *key)
{
    bool gemv = false, experts = false, block = false;
    if (!doc_get(map, "kind"))
        reader_done(
            r, doc_fail(r->document, map, r->error,
                        "kind is missing; gemm, attention, elementwise, gather, scan or collective "
                        "is required"));
    read_key_word(r, map, "kind", kind_word, LLMPERF_KIND_COUNT, &key->kind);
    read_key_word(r, map, "regime", regime_word, LLMPERF_REGIME_COUNT, &key->regime);
    read_key_word(r, map, "dtype", dtype_word, LLMPERF_DTYPE_COUNT, &key->dtype);
    read_key_word(r, map, "stored", dtype_word, LLMPERF_DTYPE_COUNT, &key->stored);
    read_key_word(r, map, "collective", collective_word, LLMPERF_COLLECTIVE_COUNT,
                  &key->collective);
    reader_bool(r, map, "gemv", &gemv);
    key->gemv = gemv;
    reader_bool(r, map, "experts", &experts);
    key->experts = experts;
    reader_bool(r, map, "block", &block);
    key->block = block;
    read_key_word(r, map, "heads", heads_word, LLMPERF_HEADS_COUNT, &key->heads);
    read_key_word(r, map, "head_size", head_size_word, LLMPERF_HEAD_SIZE_COUNT, &key->head_size);
    reader_count(r, map, "devices", &key->devices);
}

/* ---- parameters and their covariance ---------------------------------------------------------------- */

static void read_param(doc_reader *r, doc_node *node, llmperf_calib_entry *e)
{
    llmperf_param param = llmperf_param_parse(node->key);
    node->used = true;
    if (param == LLMPERF_PARAM_COUNT) {
        const char *words[LLMPERF_PARAM_COUNT + 1] = {0};
        for (int i = 0; i < LLMPERF_PARAM_COUNT; i++)
            words[i] = param_word(i);
        const char *near = llmperf_nearest(node->key, words);
        reader_done(r, doc_fail_at_key(r->document, node, r->error,
                                       "parameter '%s' is not known%s%s%s", node->key,
                                       near ? "; did you mean '" : "", near ? near : "",
                                       near ? "'?" : ""));
        return;
    }
    llmperf_param_range range = llmperf_param_limits(param);
    if (isinf(range.most) && node->kind == DOC_SCALAR && strcmp(node->text, "max") == 0) {
        e->param[param] = INFINITY;
        return;
    }
    reader_done(r,
                doc_double(r->document, node, range.above ? DBL_MIN : range.least,
                           isinf(range.most) ? DBL_MAX : range.most, &e->param[param], r->error));
}

/* The fitted parameters in the order of the file. Returns their number. */
static int read_fitted(doc_reader *r, doc_node *list, llmperf_calib_entry *e,
                       int order[LLMPERF_PARAM_COUNT])
{
    int count = 0;
    if (!reader_is_kind(r, list, DOC_SEQ, "[compute_efficiency, launch_s]"))
        return 0;
    for (doc_node *node = list->first; node; node = node->next) {
        int param = read_word(r, node, param_word, LLMPERF_PARAM_COUNT);
        if (param < 0)
            continue;
        if (e->fitted & UINT64_C(1) << param) {
            reader_done(r, doc_fail(r->document, node, r->error,
                                    "%s stands here twice; once is allowed", param_word(param)));
            continue;
        }
        if (isinf(e->param[param])) {
            reader_done(r, doc_fail(r->document, node, r->error,
                                    "%s is max; only a number can be fitted", param_word(param)));
            continue;
        }
        e->fitted |= UINT64_C(1) << param;
        order[count++] = param;
    }
    return count;
}

/* A covariance that holds a variance below zero, or a correlation beyond 1, is none. */
static bool is_covariance(const llmperf_calib_entry *e, const int *order, int count)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < count; k++) {
            double a = e->covariance[order[i]][order[i]], b = e->covariance[order[k]][order[k]];
            double c = e->covariance[order[i]][order[k]], d = e->covariance[order[k]][order[i]];
            if (!(a >= 0) || fabs(c - d) > 1e-9 * (fabs(c) + fabs(d)) ||
                fabs(c) > (1 + 1e-6) * sqrt(a) * sqrt(b))
                return false;
        }
    return true;
}

/* The lower triangle, row by row, or all of it, as files had it at first. */
static void read_covariance(doc_reader *r, doc_node *list, llmperf_calib_entry *e, const int *order,
                            int count)
{
    int row = 0;
    bool square = list->kind == DOC_SEQ && list->first && list->first->kind == DOC_SEQ &&
                  list->first->count > 1;
    if (!reader_is_kind(r, list, DOC_SEQ, "a row of numbers for each fitted parameter"))
        return;
    bool complete = list->count == (size_t)count;
    for (doc_node *line = list->first; line && complete; line = line->next, row++) {
        int column = 0;
        if (!reader_is_kind(r, line, DOC_SEQ, "[1e-4, 2e-12]"))
            return;
        complete = line->count == (square ? (size_t)count : (size_t)row + 1);
        for (doc_node *node = line->first; node && complete; node = node->next, column++) {
            double *c = &e->covariance[order[row]][order[column]];
            if (!reader_done(r, doc_double(r->document, node, -DBL_MAX, DBL_MAX, c, r->error)))
                return;
            if (!square)
                e->covariance[order[column]][order[row]] = *c;
        }
    }
    if (!complete)
        reader_done(
            r, doc_fail(r->document, list, r->error,
                        "covariance is neither a lower triangle nor square; %d rows are allowed, "
                        "of 1 to %d numbers or of %d each, one for each fitted parameter",
                        count, count, count));
    else if (!is_covariance(e, order, count))
        reader_done(r,
                    doc_fail(r->document, list, r->error,
                             "covariance is none; a symmetric one is allowed, with variances from "
                             "0 and correlations from -1 to 1"));
}

/* For people; what counts is the covariance, with which it must agree. */
static void check_standard_error(doc_reader *r, doc_node *map, const llmperf_calib_entry *e)
{
    if (!reader_is_kind(r, map, DOC_MAP, "{launch_s: 1e-7}"))
        return;
    for (doc_node *node = map->first; node; node = node->next) {
        llmperf_param param = llmperf_param_parse(node->key);
        double value = 0;
        node->used = true;
        if (param == LLMPERF_PARAM_COUNT || !(e->fitted & UINT64_C(1) << param)) {
            reader_done(
                r, doc_fail_at_key(r->document, node, r->error,
                                   "'%s' is no fitted parameter; those of 'fitted' are allowed",
                                   node->key));
            continue;
        }
        if (!reader_done(r, doc_double(r->document, node, 0, DBL_MAX, &value, r->error)))
            continue;
        double error = sqrt(e->covariance[param][param]);
        if (r->status == LLMPERF_OK && fabs(value - error) > 1e-6 * fabs(error))
            reader_done(
                r, doc_fail(r->document, node, r->error,
                            "standard_error of %s is %g, the covariance says %g; they must agree",
                            node->key, value, error));
    }
}

static void read_params(doc_reader *r, doc_node *map, llmperf_calib_entry *e)
{
    int order[LLMPERF_PARAM_COUNT] = {0}, count = 0;
    doc_node *params = doc_get(map, "parameters"), *fitted = doc_get(map, "fitted");
    doc_node *covariance = doc_get(map, "covariance"), *errors = doc_get(map, "standard_error");
    if (!params)
        reader_done(r, doc_fail(r->document, map, r->error,
                                "parameters is missing; it is required, for "
                                "example {compute_efficiency: 0.8}"));
    else if (reader_is_kind(r, params, DOC_MAP, "{compute_efficiency: 0.8}"))
        for (doc_node *node = params->first; node; node = node->next)
            read_param(r, node, e);
    if (fitted)
        count = read_fitted(r, fitted, e, order);
    if (fitted && !covariance)
        reader_done(r, doc_fail(r->document, fitted, r->error,
                                "covariance is missing; fitted parameters have one"));
    if (covariance && !fitted)
        reader_done(r, doc_fail(r->document, covariance, r->error,
                                "fitted is missing; it names the rows of the covariance"));
    if (fitted && covariance && count > 0)
        read_covariance(r, covariance, e, order, count);
    if (errors)
        check_standard_error(r, errors, e);
}

/* ---- quality --------------------------------------------------------------------------------------- */

static void read_quality(doc_reader *r, doc_node *map, llmperf_calib_quality *q)
{
    const char *words[QUALITY_COUNT + 1] = {0};
    if (!reader_is_kind(r, map, DOC_MAP, "{samples: 100}"))
        return;
    for (int i = 0; i < QUALITY_COUNT; i++) {
        void *field = (char *)q + QUALITY[i].offset;
        words[i] = QUALITY[i].key;
        if (QUALITY[i].is_count)
            reader_count(r, map, QUALITY[i].key, field);
        else
            reader_double(r, map, QUALITY[i].key, QUALITY[i].least, QUALITY[i].most, field);
    }
    reader_done(r, doc_refuse_unknown(r->document, map, words, r->error));
}

static void read_pair(doc_reader *r, doc_node *map, const char *key, double *ret_least,
                      double *ret_most)
{
    doc_node *node = doc_get(map, key);
    double pair[2] = {0};
    if (!node)
        return;
    bool two = node->kind == DOC_SEQ && node->count == 2;
    if (two &&
        reader_done(r, doc_double(r->document, node->first, 0, DBL_MAX, &pair[0], r->error)) &&
        reader_done(r,
                    doc_double(r->document, node->first->next, 0, DBL_MAX, &pair[1], r->error))) {
        if (pair[0] > pair[1])
            two = false;
        *ret_least = pair[0];
        *ret_most = pair[1];
    }
    if (!two)
        reader_done(r, doc_fail(r->document, node, r->error,
                                "%s is no range; [least, most] is allowed", key));
}

static void read_range(doc_reader *r, doc_node *map, llmperf_calib_quality *q)
{
    if (!reader_is_kind(r, map, DOC_MAP, "{time_s: [1e-6, 1e-3]}"))
        return;
    read_pair(r, map, "flop", &q->flop_least, &q->flop_most);
    read_pair(r, map, "bytes", &q->bytes_least, &q->bytes_most);
    read_pair(r, map, "time_s", &q->time_least_s, &q->time_most_s);
    reader_done(r, doc_refuse_unknown(r->document, map, RANGE_KEYS, r->error));
}

/* ---- the file -------------------------------------------------------------------------------------- */

OWN_FRAME static void add_fit(doc_reader *r, const doc_node *map, const llmperf_calib_entry *e,
                              llmperf_calib *calib)
{
    llmperf_error own = {0};
    if (calib_add(calib, e, &own) != LLMPERF_OK)
        reader_done(r, doc_fail(r->document, map, r->error, "%s", own.text));
}

static void read_fit(doc_reader *r, doc_node *map, llmperf_calib *calib)
{
    llmperf_calib_entry e = {0};
    char what[96];
    if (!reader_is_kind(r, map, DOC_MAP, "{kind: gemm, dtype: bf16, parameters: {}}"))
        return;
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++)
        e.param[i] = llmperf_param_neutral((llmperf_param)i);
    llmperf_status before = r->status;
    r->status = LLMPERF_OK;
    read_key(r, map, &e.key);
    reader_text(r, map, "library", e.library, sizeof e.library);
    reader_text(r, map, "version", e.version, sizeof e.version);
    read_params(r, map, &e);
    reader_double(r, map, "residual", 0, 100, &e.residual);
    reader_double(r, map, "correlation", 0, 1, &e.correlation);
    reader_text(r, map, "remarks", e.remarks, sizeof e.remarks);
    doc_node *quality = doc_get(map, "quality"), *range = doc_get(map, "range");
    if (quality)
        read_quality(r, quality, &e.quality);
    if (range)
        read_range(r, range, &e.quality);
    reader_done(r, doc_refuse_unknown(r->document, map, FIT_KEYS, r->error));
    bool twice = false;
    for (int i = 0; i < calib->entry_count && r->status == LLMPERF_OK; i++)
        twice |= calib_same_key(&calib->entry[i].key, &e.key);
    if (twice)
        reader_done(r, doc_fail(r->document, map, r->error, "a second fit for %s; one is allowed",
                                llmperf_calib_describe(&e.key, what, sizeof what)));
    else if (r->status == LLMPERF_OK)
        add_fit(r, map, &e, calib);
    if (before != LLMPERF_OK)
        r->status = before;
}

static void read_calib(doc_reader *r, doc_node *root, llmperf_calib *calib)
{
    if (!reader_is_kind(r, root, DOC_MAP, "schema: 1"))
        return;
    reader_schema(r, root, LLMPERF_CALIB_SCHEMA, "a calibration");
    reader_text(r, root, "name", calib->name, sizeof calib->name);
    reader_text(r, root, "hardware", calib->hw, sizeof calib->hw);
    reader_text(r, root, "device", calib->device, sizeof calib->device);
    reader_text(r, root, "library", calib->library, sizeof calib->library);
    reader_text(r, root, "backend", calib->backend, sizeof calib->backend);
    reader_text(r, root, "date", calib->date, sizeof calib->date);
    reader_text(r, root, "digest", calib->digest, sizeof calib->digest);
    reader_count(r, root, "samples", &calib->samples);
    doc_node *conditions = doc_get(root, "conditions");
    if (conditions && reader_is_kind(r, conditions, DOC_MAP, "{clock_hz: 1.7e9}")) {
        reader_double(r, conditions, "clock_hz", 0, 1e12, &calib->clock_hz);
        reader_double(r, conditions, "power_w", 0, 1e9, &calib->power_w);
        reader_double(r, conditions, "stream_bytes_per_s", 0, 1e18, &calib->stream_bytes_per_s);
        reader_bool(r, conditions, "throttled", &calib->throttled);
        reader_bool(r, conditions, "contended", &calib->contended);
        reader_done(r, doc_refuse_unknown(r->document, conditions, CONDITION_KEYS, r->error));
    }
    doc_node *fits = doc_get(root, "fits");
    if (!fits)
        reader_done(r,
                    doc_fail(r->document, root, r->error, "fits is missing; a list is required"));
    else if (reader_is_kind(r, fits, DOC_SEQ, "- kind: gemm"))
        for (doc_node *fit = fits->first; fit; fit = fit->next)
            read_fit(r, fit, calib);
    reader_done(r, doc_refuse_unknown(r->document, root, TOP_KEYS, r->error));
}

static llmperf_status read_document(doc *document, llmperf_calib **ret_calib, llmperf_error *error)
{
    doc_reader r = {.document = document, .error = error};
    llmperf_calib *calib = calloc(1, sizeof *calib);
    if (!calib) {
        doc_free(document);
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    memset(calib->index, LLMPERF_CALIB_NO_ENTRY, sizeof calib->index); /* as calib_init() */
    read_calib(&r, doc_root(document), calib);
    doc_free(document);
    if (r.status == LLMPERF_OK)
        *ret_calib = calib;
    else
        free(calib);
    return r.status;
}

/* The copy of one that was read, where that worked. */
static llmperf_status copy_read(llmperf_status status, llmperf_calib *calib,
                                llmperf_calib *ret_calib)
{
    if (status != LLMPERF_OK)
        return status;
    *ret_calib = *calib;
    free(calib);
    return status;
}

llmperf_status calib_load_new(const char *path, llmperf_calib **ret_calib, llmperf_error *error)
{
    doc *document;
    llmperf_status status = doc_load_file(path, &document, error);
    return status == LLMPERF_OK ? read_document(document, ret_calib, error) : status;
}

llmperf_status calib_load(const char *path, llmperf_calib *ret_calib, llmperf_error *error)
{
    NEEDS(path && ret_calib, error);
    llmperf_calib *calib = NULL;
    llmperf_status status = calib_load_new(path, &calib, error);
    return copy_read(status, calib, ret_calib);
}

llmperf_status calib_load_text(const char *name, const char *text, size_t size,
                               llmperf_calib *ret_calib, llmperf_error *error)
{
    NEEDS(name && text && ret_calib, error);
    doc *document;
    llmperf_calib *calib = NULL;
    llmperf_status status = doc_load_text(name, text, size, &document, error);
    if (status == LLMPERF_OK)
        status = read_document(document, &calib, error);
    return copy_read(status, calib, ret_calib);
}
