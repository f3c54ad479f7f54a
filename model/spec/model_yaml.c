/* SPDX-License-Identifier: MIT */
/* A model in our YAML. specs/README.md explains each key. */
#include <stdio.h>
#include <string.h>

#include "doc.h"
#include "layer_kind.h"
#include "read.h"
#include "model_object.h"

enum { KIND_TEXT, KIND_INT, KIND_BOOL, KIND_DTYPE, KIND_WORD };

/* One scalar key: where it goes and what it may be. */
typedef struct key_row {
    const char *key;
    int kind;
    size_t offset, size;
    int64_t min, max;
    bool required;
    const char *const *words; /* KIND_WORD: the value is the index, a uint8_t or an int64_t */
} key_row;

#define TEXT_ROW(type, key, field, required)                                                       \
    {                                                                                              \
        key, KIND_TEXT, offsetof(type, field), sizeof(((type *)0)->field), 0, 0, required, NULL    \
    }
#define INT_ROW(type, key, field, min, max, required)                                              \
    {                                                                                              \
        key, KIND_INT, offsetof(type, field), 0, min, max, required, NULL                          \
    }
#define BOOL_ROW(type, key, field)                                                                 \
    {                                                                                              \
        key, KIND_BOOL, offsetof(type, field), 0, 0, 0, false, NULL                                \
    }
#define DTYPE_ROW(type, key, field, required)                                                      \
    {                                                                                              \
        key, KIND_DTYPE, offsetof(type, field), 0, 0, 0, required, NULL                            \
    }
#define WORD_ROW(type, key, field, words)                                                          \
    {                                                                                              \
        key, KIND_WORD, offsetof(type, field), sizeof(((type *)0)->field), 0, 0, false, words      \
    }

static const key_row MODEL_ROWS[] = {
    TEXT_ROW(llmperf_model, "name", name, true),
    TEXT_ROW(llmperf_model, "architecture", architecture, false),
    TEXT_ROW(llmperf_model, "source", source, false),
    TEXT_ROW(llmperf_model, "not_counted", not_counted, false),
    DTYPE_ROW(llmperf_model, "dtype", dtype, true),
    DTYPE_ROW(llmperf_model, "kv_dtype", kv_dtype, false),
    INT_ROW(llmperf_model, "hidden", hidden, 1, 1 << 20, true),
    INT_ROW(llmperf_model, "vocab", vocab, 1, 1 << 24, true),
    INT_ROW(llmperf_model, "embedding_dim", embedding_dim, 1, 1 << 20, false),
    INT_ROW(llmperf_model, "position_embeddings", position_embeddings, 1, 1 << 30, false),
    INT_ROW(llmperf_model, "max_context", max_context, 1, (int64_t)1 << 40, false),
    INT_ROW(llmperf_model, "mtp_params", mtp_params, 1, (int64_t)1 << 53, false),
    TEXT_ROW(llmperf_model, "scheme", scheme, false),
    INT_ROW(llmperf_model, "published_params", published_params, 1, (int64_t)1 << 53, false),
    BOOL_ROW(llmperf_model, "tied", tied),
    BOOL_ROW(llmperf_model, "head_bias", head_bias),
    BOOL_ROW(llmperf_model, "embedding_norm", embedding_norm),
    BOOL_ROW(llmperf_model, "final_norm", final_norm),
    WORD_ROW(llmperf_model, "norm", norm, SPEC_NORM_WORDS),
};

static const key_row LAYER_ROWS[] = {
    INT_ROW(llmperf_layer, "count", count, 1, 1 << 16, true),
    INT_ROW(llmperf_layer, "norms", norms, 0, 8, false),
    BOOL_ROW(llmperf_layer, "parallel", parallel),
};

enum { KNOWN_MAX = 40 };

typedef struct model_reader {
    const doc *document;
    llmperf_error *error;
    llmperf_status status;
} model_reader;

static bool done(model_reader *r, llmperf_status status)
{
    if (status != LLMPERF_OK && r->status == LLMPERF_OK)
        r->status = status;
    return status == LLMPERF_OK;
}

static void read_word(model_reader *r, const doc_node *node, const key_row *row, void *field)
{
    char word[64] = "", legal[160] = "";
    size_t used = 0;
    if (!done(r, doc_text(r->document, node, word, sizeof word, r->error)))
        return;
    for (int i = 0; row->words[i]; i++) {
        if (strcmp(word, row->words[i]) == 0) {
            if (row->size == sizeof(int64_t))
                *(int64_t *)field = i;
            else
                *(uint8_t *)field = (uint8_t)i;
            return;
        }
        used += (size_t)snprintf(legal + used, sizeof legal - used, "%s%s", i ? ", " : "",
                                 row->words[i]);
    }
    done(r, doc_fail(r->document, node, r->error, "%s is '%s'; %s are allowed", row->key, word,
                     legal));
}

static void read_dtype(model_reader *r, const doc_node *node, uint8_t *field)
{
    char word[64] = "";
    if (!done(r, doc_text(r->document, node, word, sizeof word, r->error)))
        return;
    llmperf_dtype dtype = llmperf_dtype_parse(word);
    if (dtype != LLMPERF_DTYPE_NONE) {
        *field = (uint8_t)dtype;
        return;
    }
    const char *near = llmperf_nearest(word, llmperf_dtype_names());
    done(r, doc_fail(r->document, node, r->error,
                     "%s is '%s'%s%s%s; a dtype such as bf16, fp16, fp8, int4 is allowed",
                     node->key ? node->key : "dtype", word, near ? ", did you mean '" : "",
                     near ? near : "", near ? "'?" : ""));
}

static void read_rows(model_reader *r, doc_node *map, const key_row *rows, size_t count,
                      void *target)
{
    for (size_t i = 0; i < count; i++) {
        const key_row *row = &rows[i];
        void *field = (char *)target + row->offset;
        doc_node *node = doc_get(map, row->key);
        if (!node) {
            if (row->required)
                done(r, doc_fail(r->document, map, r->error, "%s is missing; it is required",
                                 row->key));
            continue;
        }
        switch (row->kind) {
        case KIND_TEXT:
            done(r, doc_text(r->document, node, field, row->size, r->error));
            break;
        case KIND_INT:
            done(r, doc_int64(r->document, node, row->min, row->max, field, r->error));
            break;
        case KIND_BOOL:
            done(r, doc_bool(r->document, node, field, r->error));
            break;
        case KIND_DTYPE:
            read_dtype(r, node, field);
            break;
        default:
            read_word(r, node, row, field);
        }
    }
}

/* Refuses keys that neither the rows nor `more` name. */
static void refuse_unknown(model_reader *r, doc_node *map, const key_row *rows, size_t count,
                           const char *const *more)
{
    const char *known[KNOWN_MAX + 1];
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        known[n++] = rows[i].key;
    for (; *more; more++)
        known[n++] = *more;
    known[n] = NULL;
    for (size_t i = 0; i < n; i++) /* only what is in no row counts as unknown */
        doc_get(map, known[i]);
    done(r, doc_refuse_unknown(r->document, map, known, r->error));
}

#define ROWS(rows) rows, sizeof rows / sizeof *rows

/* The field of a layer kind as a row, its place in the layer. */
static key_row row_of(const layer_field *f)
{
    static const int kinds[] = {
        [FIELD_COUNT] = KIND_INT, [FIELD_FLAG] = KIND_BOOL, [FIELD_WORD] = KIND_WORD};
    return (key_row){f->key,   kinds[f->type], f->offset,   f->size,
                     f->least, f->most,        f->required, f->words};
}

/* The part of a layer that stands under the name of its kind, where it does. */
static void read_kind(model_reader *r, doc_node *map, const layer_kind *kind, llmperf_layer *layer)
{
    static const char *const no_more[] = {NULL};
    key_row rows[LAYER_FIELDS_MAX];
    size_t count = 0;
    char described[128];
    doc_node *part = doc_get(map, kind->name);
    if (!part)
        return;
    if (part->kind != DOC_MAP) {
        done(r, doc_fail(r->document, part, r->error, "%s is %s; a map is allowed", kind->name,
                         doc_describe(part, described, sizeof described)));
        return;
    }
    for (const layer_field *f = kind->fields; f->key; f++) {
        rows[count++] = row_of(f);
        field_set(f, layer, f->absent);
    }
    refuse_unknown(r, part, rows, count, no_more);
    read_rows(r, part, rows, count, layer);
    for (const layer_field *f = kind->fields; f->key; f++)
        if (f->like && field_value(f, layer) == 0)
            field_set(f, layer, field_absent(kind, f, layer));
}

static void read_formats(model_reader *r, doc_node *map, llmperf_weight_format *formats);

static void read_layer(model_reader *r, doc_node *node, llmperf_layer *layer)
{
    const char *more[KNOWN_MAX] = {NULL};
    char described[128];
    if (node->kind != DOC_MAP) {
        done(r, doc_fail(r->document, node, r->error, "a layer is %s; a map is allowed",
                         doc_describe(node, described, sizeof described)));
        return;
    }
    for (int k = 0; k < LAYER_KIND_COUNT; k++)
        more[k] = LAYER_KINDS[k]->name;
    more[LAYER_KIND_COUNT] = "weights";
    *layer = (llmperf_layer){.norms = 2};
    refuse_unknown(r, node, ROWS(LAYER_ROWS), more);
    read_rows(r, node, ROWS(LAYER_ROWS), layer);
    for (int k = 0; k < LAYER_KIND_COUNT; k++)
        read_kind(r, node, LAYER_KINDS[k], layer);
    read_formats(r, doc_get(node, "weights"), layer->weights);
}

static void read_layers(model_reader *r, doc_node *root, llmperf_model *model)
{
    doc_node *list = doc_get(root, "layers");
    char described[128];
    if (!list) {
        done(r, doc_fail(r->document, root, r->error, "layers is missing; it is required"));
        return;
    }
    if (list->kind != DOC_SEQ || list->count == 0) {
        done(r, doc_fail(r->document, list, r->error,
                         "layers is %s; a list of layer shapes is allowed",
                         doc_describe(list, described, sizeof described)));
        return;
    }
    for (doc_node *node = list->first; node; node = node->next) {
        if (model->layer_kind_count == LLMPERF_LAYER_KINDS_MAX) {
            done(r, doc_fail(r->document, node, r->error,
                             "more than %d layer shapes; at most %d "
                             "are allowed",
                             LLMPERF_LAYER_KINDS_MAX, LLMPERF_LAYER_KINDS_MAX));
            return;
        }
        read_layer(r, node, &model->layers[model->layer_kind_count++]);
    }
}

/* "fp8", or {dtype: int4, bits: 4.156, operand: fp8}. */
static void read_format(model_reader *r, doc_node *node, llmperf_weight_format *format)
{
    static const char *const known[] = {"dtype", "bits", "operand", NULL};
    if (node->kind != DOC_MAP) {
        read_dtype(r, node, &format->dtype);
        format->bits = llmperf_dtype_bits((llmperf_dtype)format->dtype);
        return;
    }
    doc_node *dtype = doc_get(node, "dtype"), *bits = doc_get(node, "bits");
    doc_node *operand = doc_get(node, "operand");
    if (dtype)
        read_dtype(r, dtype, &format->dtype);
    else
        done(r, doc_fail(r->document, node, r->error, "dtype is missing; it is required"));
    format->bits = llmperf_dtype_bits((llmperf_dtype)format->dtype);
    if (bits)
        done(r, doc_double(r->document, bits, 0.5, 64, &format->bits, r->error));
    if (operand)
        read_dtype(r, operand, &format->operand);
    done(r, doc_refuse_unknown(r->document, node, known, r->error));
}

/* weights: {mlp: fp8, experts: {dtype: mxfp4}}: classes that differ from the model's dtype. */
static void read_formats(model_reader *r, doc_node *map, llmperf_weight_format *formats)
{
    char described[128];
    if (!map)
        return;
    if (map->kind != DOC_MAP) {
        done(r, doc_fail(r->document, map, r->error,
                         "weights is %s; a map such as {mlp: fp8} is "
                         "allowed",
                         doc_describe(map, described, sizeof described)));
        return;
    }
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        doc_node *node = doc_get(map, SPEC_WEIGHT_WORDS[i]);
        if (node)
            read_format(r, node, &formats[i]);
    }
    done(r, doc_refuse_unknown(r->document, map, SPEC_WEIGHT_WORDS, r->error));
}

static void read_weights(model_reader *r, doc_node *root, llmperf_model *model)
{
    llmperf_weight_format formats[LLMPERF_WEIGHT_COUNT] = {{0}};
    spec_uniform_weights(model, (llmperf_dtype)model->dtype);
    read_formats(r, doc_get(root, "weights"), formats);
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        if (formats[i].dtype) {
            model->weight_dtype[i] = formats[i].dtype;
            model->weight_operand[i] = formats[i].operand;
            model->weight_bits[i] = formats[i].bits;
        }
}

static void read_notes(model_reader *r, doc_node *root, llmperf_model *model)
{
    doc_node *list = doc_get(root, "notes");
    char described[128], text[LLMPERF_TEXT_MAX];
    if (!list)
        return;
    if (list->kind != DOC_SEQ) {
        done(r, doc_fail(r->document, list, r->error, "notes is %s; a list is allowed",
                         doc_describe(list, described, sizeof described)));
        return;
    }
    for (doc_node *node = list->first; node; node = node->next)
        if (done(r, doc_text(r->document, node, text, sizeof text, r->error)))
            llmperf_note(&model->notes, "%s", text);
}

llmperf_status spec_yaml_read(doc *document, llmperf_model *ret_model, llmperf_error *error)
{
    static const char *const more[] = {"aliases", "layers", "weights", "notes", NULL};
    llmperf_model *model = ret_model;
    memset(model, 0, sizeof *model);
    model->final_norm = true;
    model_reader r = {.document = document, .error = error};
    doc_node *root = doc_root(document);
    char described[128];
    if (root->kind != DOC_MAP)
        return doc_fail(document, root, error, "the file is %s; a map is allowed",
                        doc_describe(root, described, sizeof described));
    /* a misspelt key comes before the complaint that the right one is missing */
    refuse_unknown(&r, root, ROWS(MODEL_ROWS), more);
    read_rows(&r, root, ROWS(MODEL_ROWS), model);
    doc_node *name = doc_get(root, "name");
    if (name && name->kind == DOC_SCALAR && !doc_is_null(name))
        done(&r, clean_name(document, name, model->name, error));
    done(&r, read_aliases(document, root, &model->alias_count, model->aliases, error));
    read_layers(&r, root, model);
    read_weights(&r, root, model);
    read_notes(&r, root, model);
    if (model->embedding_dim == 0)
        model->embedding_dim = model->hidden;
    return r.status;
}
