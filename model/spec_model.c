/* SPDX-License-Identifier: MIT */
/*
 * Model files: our YAML, and the choice between it and a Hugging Face config.json.
 * specs/README.md explains each key.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "doc.h"
#include "internal.h"
#include "spec_read.h"

enum { KIND_TEXT, KIND_INT, KIND_BOOL, KIND_DTYPE, KIND_WORD };

/* One scalar key: where it goes and what it may be. */
typedef struct key_row {
    const char *key;
    int kind;
    size_t offset, size;
    int64_t min, max;
    bool required;
    const char *const *words; /* KIND_WORD: the value is the index, a uint8_t */
} key_row;

static const char *const NORM_WORDS[] = {"rms", "layer", "layer_nobias", "bare", NULL};
static const char *const QK_NORM_WORDS[] = {"none", "head", "full", "per_head", NULL};

const char *spec_norm_word(int norm) { return NORM_WORDS[norm]; }
const char *spec_qk_norm_word(int qk_norm) { return QK_NORM_WORDS[qk_norm]; }

#define TEXT_ROW(type, key, field, required)                                                        \
    {key, KIND_TEXT, offsetof(type, field), sizeof(((type *)0)->field), 0, 0, required, NULL}
#define INT_ROW(type, key, field, min, max, required)                                               \
    {key, KIND_INT, offsetof(type, field), 0, min, max, required, NULL}
#define BOOL_ROW(type, key, field)                                                                  \
    {key, KIND_BOOL, offsetof(type, field), 0, 0, 0, false, NULL}
#define DTYPE_ROW(type, key, field, required)                                                       \
    {key, KIND_DTYPE, offsetof(type, field), 0, 0, 0, required, NULL}
#define WORD_ROW(type, key, field, words)                                                           \
    {key, KIND_WORD, offsetof(type, field), 0, 0, 0, false, words}

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
    INT_ROW(llmperf_model, "published_params", published_params, 1, (int64_t)1 << 53, false),
    BOOL_ROW(llmperf_model, "tied", tied),
    BOOL_ROW(llmperf_model, "head_bias", head_bias),
    BOOL_ROW(llmperf_model, "embedding_norm", embedding_norm),
    BOOL_ROW(llmperf_model, "final_norm", final_norm),
    WORD_ROW(llmperf_model, "norm", norm, NORM_WORDS),
};

static const key_row LAYER_ROWS[] = {
    INT_ROW(llmperf_layer, "count", count, 1, 1 << 16, true),
    INT_ROW(llmperf_layer, "norms", norms, 0, 8, false),
    BOOL_ROW(llmperf_layer, "parallel", parallel),
};

static const key_row ATTENTION_ROWS[] = {
    INT_ROW(llmperf_attention, "heads", heads, 1, 1 << 16, true),
    INT_ROW(llmperf_attention, "kv_heads", kv_heads, 1, 1 << 16, true),
    INT_ROW(llmperf_attention, "head_dim", head_dim, 1, 1 << 16, true),
    INT_ROW(llmperf_attention, "value_dim", value_dim, 1, 1 << 16, false),
    INT_ROW(llmperf_attention, "window", window, 1, (int64_t)1 << 40, false),
    BOOL_ROW(llmperf_attention, "qkv_bias", qkv_bias),
    BOOL_ROW(llmperf_attention, "out_bias", out_bias),
    BOOL_ROW(llmperf_attention, "rope", rope),
    WORD_ROW(llmperf_attention, "qk_norm", qk_norm, QK_NORM_WORDS),
};

static const key_row MLP_ROWS[] = {
    INT_ROW(llmperf_mlp, "ffn", ffn, 1, 1 << 24, true),
    BOOL_ROW(llmperf_mlp, "gated", gated),
    BOOL_ROW(llmperf_mlp, "up_bias", up_bias),
    BOOL_ROW(llmperf_mlp, "down_bias", down_bias),
};

static const char *const WEIGHT_WORDS[] = {"embedding", "head", "attention", "mlp", "other", NULL};

const char *spec_weight_word(int weight_class) { return WEIGHT_WORDS[weight_class]; }

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

static void read_word(model_reader *r, const doc_node *node, const key_row *row, uint8_t *field)
{
    char word[64] = "", legal[160] = "";
    size_t used = 0;
    if (!done(r, doc_text(r->document, node, word, sizeof word, r->error)))
        return;
    for (int i = 0; row->words[i]; i++) {
        if (strcmp(word, row->words[i]) == 0) {
            *field = (uint8_t)i;
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
    done(r, doc_refuse_unknown(r->document, map, known, r->error));
}

/* The map under `key`, read by rows; false when it is missing or no map. */
static bool read_part(model_reader *r, doc_node *map, const char *key, const key_row *rows,
                      size_t count, void *target)
{
    static const char *const nothing_more[] = {NULL};
    char described[128];
    doc_node *part = doc_get(map, key);
    if (!part)
        return done(r, doc_fail(r->document, map, r->error, "%s is missing; it is required", key));
    if (part->kind != DOC_MAP)
        return done(r, doc_fail(r->document, part, r->error, "%s is %s; a map is allowed", key,
                                doc_describe(part, described, sizeof described)));
    read_rows(r, part, rows, count, target);
    refuse_unknown(r, part, rows, count, nothing_more);
    return true;
}

#define ROWS(rows) rows, sizeof rows / sizeof *rows

static void read_layer(model_reader *r, doc_node *node, llmperf_layer *layer)
{
    static const char *const more[] = {"attention", "mlp", NULL};
    char described[128];
    if (node->kind != DOC_MAP) {
        done(r, doc_fail(r->document, node, r->error, "a layer is %s; a map is allowed",
                         doc_describe(node, described, sizeof described)));
        return;
    }
    *layer = (llmperf_layer){.norms = 2, .attention = {.rope = true}, .mlp = {.gated = true}};
    read_rows(r, node, ROWS(LAYER_ROWS), layer);
    read_part(r, node, "attention", ROWS(ATTENTION_ROWS), &layer->attention);
    read_part(r, node, "mlp", ROWS(MLP_ROWS), &layer->mlp);
    if (layer->attention.value_dim == 0)
        layer->attention.value_dim = layer->attention.head_dim;
    refuse_unknown(r, node, ROWS(LAYER_ROWS), more);
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
            done(r, doc_fail(r->document, node, r->error, "more than %d layer shapes; at most %d "
                             "are allowed", LLMPERF_LAYER_KINDS_MAX, LLMPERF_LAYER_KINDS_MAX));
            return;
        }
        read_layer(r, node, &model->layers[model->layer_kind_count++]);
    }
}

/* weights: {mlp: fp8, ...}: classes that differ from dtype. */
static void read_weights(model_reader *r, doc_node *root, llmperf_model *model)
{
    char described[128];
    doc_node *map = doc_get(root, "weights");
    spec_uniform_weights(model, (llmperf_dtype)model->dtype);
    if (!map)
        return;
    if (map->kind != DOC_MAP) {
        done(r, doc_fail(r->document, map, r->error, "weights is %s; a map such as {mlp: fp8} is "
                         "allowed", doc_describe(map, described, sizeof described)));
        return;
    }
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        doc_node *node = doc_get(map, WEIGHT_WORDS[i]);
        if (!node)
            continue;
        read_dtype(r, node, &model->weight_dtype[i]);
        model->weight_bits[i] = llmperf_dtype_bits((llmperf_dtype)model->weight_dtype[i]);
    }
    done(r, doc_refuse_unknown(r->document, map, WEIGHT_WORDS, r->error));
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

void spec_uniform_weights(llmperf_model *model, llmperf_dtype dtype)
{
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        model->weight_dtype[i] = (uint8_t)dtype;
        model->weight_bits[i] = llmperf_dtype_bits(dtype);
    }
}

llmperf_status spec_yaml_read(doc *document, llmperf_model *ret_model, llmperf_error *error)
{
    static const char *const more[] = {"aliases", "layers", "weights", "notes", NULL};
    llmperf_model model = {.final_norm = true};
    model_reader r = {.document = document, .error = error};
    doc_node *root = doc_root(document);
    char described[128];
    if (root->kind != DOC_MAP)
        return doc_fail(document, root, error, "the file is %s; a map is allowed",
                        doc_describe(root, described, sizeof described));
    read_rows(&r, root, ROWS(MODEL_ROWS), &model);
    done(&r, read_aliases(document, root, &model.alias_count, model.aliases, error));
    read_layers(&r, root, &model);
    read_weights(&r, root, &model);
    read_notes(&r, root, &model);
    refuse_unknown(&r, root, ROWS(MODEL_ROWS), more);
    if (model.embedding_dim == 0)
        model.embedding_dim = model.hidden;
    if (r.status == LLMPERF_OK)
        *ret_model = model;
    return r.status;
}

/* ---- loading -------------------------------------------------------------------------------------- */

static llmperf_status read_document(doc *document, llmperf_model *ret_model, llmperf_error *error)
{
    llmperf_model model;
    llmperf_status status = doc_is_json(document) ? spec_hf_read(document, &model, error)
                                                  : spec_yaml_read(document, &model, error);
    if (status == LLMPERF_OK)
        status = llmperf_model_check(&model, error);
    if (status == LLMPERF_OK)
        *ret_model = model;
    doc_free(document);
    return status;
}

/* A config.json bears no name: its folder does, else the file's stem. */
static void name_by_path(llmperf_model *model, const char *path)
{
    char text[LLMPERF_PATH_MAX];
    snprintf(text, sizeof text, "%s", path);
    char *slash = strrchr(text, '/');
    char *base = slash ? slash + 1 : text;
    if (strcmp(base, "config.json") == 0 && slash) {
        *slash = '\0';
        slash = strrchr(text, '/');
        base = slash ? slash + 1 : text;
    } else {
        char *dot = strrchr(base, '.');
        if (dot && dot != base)
            *dot = '\0';
    }
    if (strcmp(base, ".") == 0 || strcmp(base, "..") == 0 || !*base)
        base = model->architecture;
    size_t length = strlen(base);
    if (length >= sizeof model->name)
        length = sizeof model->name - 1;
    memcpy(model->name, base, length);
    model->name[length] = '\0';
}

static void note_second_file(llmperf_model *model, const char *path)
{
    char beside[LLMPERF_PATH_MAX + 32];
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    struct stat info;
    snprintf(beside, sizeof beside, "%.*shf_quant_config.json", folder, path);
    if (stat(beside, &info) == 0)
        llmperf_note(&model->notes, "hf_quant_config.json beside the config is not applied: weights "
                                    "count as %s; --weight-dtype and --kv-dtype set the formats",
                     llmperf_dtype_name((llmperf_dtype)model->dtype));
}

llmperf_status llmperf_model_load(const char *path, llmperf_model *ret_model, llmperf_error *error)
{
    char file[LLMPERF_PATH_MAX];
    struct stat info;
    doc *document;
    llmperf_model model;
    int length = snprintf(file, sizeof file, "%s", path);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        length = snprintf(file, sizeof file, "%s/config.json", path);
    if (length < 0 || (size_t)length >= sizeof file)
        return llmperf_fail(error, LLMPERF_E_IO, "path of %zu bytes; at most %d are allowed",
                            strlen(path), LLMPERF_PATH_MAX - 1);
    llmperf_status status = doc_load_file(file, &document, error);
    if (status != LLMPERF_OK)
        return status;
    bool is_config = doc_is_json(document);
    status = read_document(document, &model, error);
    if (status != LLMPERF_OK)
        return status;
    if (is_config) {
        name_by_path(&model, file);
        note_second_file(&model, file);
    }
    *ret_model = model;
    return LLMPERF_OK;
}

llmperf_status llmperf_model_load_text(const char *name, const char *text, size_t size,
                                       llmperf_model *ret_model, llmperf_error *error)
{
    doc *document;
    llmperf_model model;
    llmperf_status status = doc_load_text(name, text, size, &document, error);
    if (status != LLMPERF_OK)
        return status;
    bool is_config = doc_is_json(document);
    status = read_document(document, &model, error);
    if (status != LLMPERF_OK)
        return status;
    if (is_config)
        name_by_path(&model, name);
    *ret_model = model;
    return LLMPERF_OK;
}

/* ---- legality ---------------------------------------------------------------------------------------- */

static bool within(int64_t value, int64_t least, int64_t most)
{
    return value >= least && value <= most;
}

llmperf_status llmperf_model_check(const llmperf_model *model, llmperf_error *error)
{
    const char *name = model->name;
    if (!within(model->hidden, 1, 1 << 20) || !within(model->vocab, 1, 1 << 24) ||
        !within(model->embedding_dim, 1, 1 << 20) ||
        !within(model->position_embeddings, 0, 1 << 30) ||
        !within(model->layer_kind_count, 1, LLMPERF_LAYER_KINDS_MAX))
        return llmperf_fail(error, LLMPERF_E_SPEC,
                            "model '%s': hidden, vocab, embedding or number of layer shapes out of "
                            "range",
                            name);
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        const llmperf_attention *a = &layer->attention;
        if (!within(layer->count, 1, 1 << 16) || !within(layer->norms, 0, 8) ||
            !within(a->heads, 1, 1 << 16) || !within(a->kv_heads, 1, 1 << 16) ||
            !within(a->head_dim, 1, 1 << 16) || !within(a->value_dim, 1, 1 << 16) ||
            a->window < 0 || !within(layer->mlp.ffn, 1, 1 << 24))
            return llmperf_fail(error, LLMPERF_E_SPEC,
                                "model '%s': a dimension of layer shape %d is out of range", name,
                                i + 1);
        if (a->heads % a->kv_heads != 0)
            return llmperf_fail(error, LLMPERF_E_SPEC,
                                "model '%s': %lld KV heads do not divide %lld attention heads; a "
                                "divisor is allowed",
                                name, (long long)a->kv_heads, (long long)a->heads);
    }
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        if (!(model->weight_bits[i] > 0 && model->weight_bits[i] <= 64) ||
            model->weight_dtype[i] == LLMPERF_DTYPE_NONE ||
            model->weight_dtype[i] >= LLMPERF_DTYPE_COUNT)
            return llmperf_fail(error, LLMPERF_E_SPEC,
                                "model '%s': the format of its %s weights is not set", name,
                                WEIGHT_WORDS[i]);
    if (model->dtype == LLMPERF_DTYPE_NONE || model->dtype >= LLMPERF_DTYPE_COUNT)
        return llmperf_fail(error, LLMPERF_E_SPEC, "model '%s': dtype is not set", name);
    return LLMPERF_OK;
}
