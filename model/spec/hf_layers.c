/* SPDX-License-Identifier: MIT */
/* The layer plan of a config.json: which layers hold experts or a window; like layers become one shape. */
#include <string.h>

#include "hf.h"
#include "layer_kind.h"
#include "model_object.h"

/* ---- experts --------------------------------------------------------------------------------- */

/* Every way in which configs say which layers hold experts. */
static bool is_moe_layer(hf_reader *r, int64_t i)
{
    doc_node *types = hf_find(r->map, "mlp_layer_types"), *freq = hf_find(r->map, "moe_layer_freq");
    doc_node *layers = hf_find(r->map, "moe_layers");
    const char *word = hf_list_word(types, i);
    hf_check_length(r, types, i);
    if (word)
        return strcmp(word, "sparse") == 0;
    if (layers && layers->kind == DOC_SEQ)
        return hf_list_has(layers, i);
    if (i < hf_integer_or(r, "first_k_dense_replace", 0))
        return false;
    if (freq && freq->kind == DOC_SEQ)
        return hf_list_item(r, freq, i, 1) != 0;
    if (freq)
        return i % (hf_integer_or(r, "moe_layer_freq", 1) ? hf_integer_or(r, "moe_layer_freq", 1)
                                                          : 1) ==
               0;
    if (hf_find(r->map, "decoder_sparse_step")) {
        int64_t step = hf_integer_or(r, "decoder_sparse_step", 1);
        doc_node *dense = hf_find(r->map, "mlp_only_layers");
        return !hf_list_has(dense, i) && step > 0 && (i + 1) % step == 0;
    }
    if (hf_find(r->map, "interleave_moe_layer_step")) {
        int64_t step = hf_integer_or(r, "interleave_moe_layer_step", 1);
        return step > 0 && (i + 1) % step == 0;
    }
    if (hf_find(r->map, "expert_layer_period")) {
        int64_t period = hf_integer_or(r, "expert_layer_period", 1);
        return period > 0 && i % period == hf_integer_or(r, "expert_layer_offset", 0);
    }
    if (hf_find(r->map, "moe_layer_interval") || hf_find(r->map, "moe_layer_start_index")) {
        int64_t interval = hf_integer_or(r, "moe_layer_interval", 1);
        return i >= hf_integer_or(r, "moe_layer_start_index", 0) &&
               i <= hf_integer_or(r, "moe_layer_end_index", r->layers - 1) && interval > 0 &&
               (i + 1) % interval == 0;
    }
    return true;
}

/* ---- windows --------------------------------------------------------------------------------------------- */

/* Does layer i look through the window? layer_types decides where there is one. */
static bool is_windowed(hf_reader *r, int64_t i)
{
    static const char *const pattern_keys[] = {"sliding_window_pattern", "_sliding_window_pattern",
                                               NULL};
    const char *word = hf_list_word(hf_find(r->map, "layer_types"), i);
    if (word)
        return strcmp(word, "sliding_attention") == 0;
    int64_t pattern = r->family->pattern;
    switch (r->family->windows) {
    case WINDOW_ALL:
        return true;
    case WINDOW_EVEN:
        return i % 2 == 0;
    case WINDOW_FROM:
        return hf_flag(r, "use_sliding_window", false) &&
               i >= hf_integer_or(r, "max_window_layers", 0);
    case WINDOW_PATTERN: {
        doc_node *node = hf_find_any(r->map, pattern_keys);
        if (node && node->kind == DOC_SCALAR && node->text[0] == 'L')
            pattern = (int64_t)strlen(node->text); /* EXAONE 4: "LLLG" */
        else if (node)
            hf_dimension(r, pattern_keys, 1 << 16, &pattern);
        return pattern > 0 && (i + 1) % pattern != 0;
    }
    default:
        return false;
    }
}

/* layer_types must have one word a layer, each of a kind that somebody reads. */
static void check_layer_types(hf_reader *r)
{
    static const char *const known[] = {"full_attention",
                                        "sliding_attention",
                                        "chunked_attention",
                                        "linear_attention",
                                        "attention",
                                        "mamba",
                                        NULL};
    doc_node *types = hf_find(r->map, "layer_types");
    if (!types)
        return;
    if (types->kind != DOC_SEQ || (int64_t)types->count != r->layers) {
        hf_done(r,
                doc_fail(r->document, types, r->error,
                         "layer_types has %zu entries; one for each of the %lld layers is allowed",
                         types->count, (long long)r->layers));
        return;
    }
    for (doc_node *node = types->first; node; node = node->next) {
        bool ok = false;
        for (int i = 0; known[i] && node->kind == DOC_SCALAR; i++)
            ok |= strcmp(node->text, known[i]) == 0;
        /* a mixer that the family does not plan would be counted as attention */
        if (ok && !r->family->plan && strcmp(node->text, "full_attention") != 0 &&
            strcmp(node->text, "sliding_attention") != 0)
            ok = false;
        if (!ok) {
            hf_done(r, doc_fail(r->document, node, r->error,
                                "this layer type is not counted for %s; full_attention and "
                                "sliding_attention are allowed",
                                r->family->model_type));
            hf_unsupported(r);
            return;
        }
    }
}

static void read_window(hf_reader *r)
{
    static const char *const keys[] = {"sliding_window", NULL};
    doc_node *types = hf_find(r->map, "layer_types");
    if (r->family->windows != WINDOW_IGNORED && hf_find_any(r->map, keys))
        hf_dimension(r, keys, (int64_t)1 << 40, &r->window);
    /* a window as wide as the trained context never bites */
    if (r->model->max_context > 0 && r->window >= r->model->max_context)
        r->window = 0;
    else if (types && r->window == 0 && r->family->windows != WINDOW_IGNORED)
        for (int64_t i = 0; i < r->layers; i++)
            if (hf_list_word(types, i) &&
                strcmp(hf_list_word(types, i), "sliding_attention") == 0) {
                hf_done(r, doc_fail(r->document, types, r->error,
                                    "layer_types names sliding_attention, but sliding_window is "
                                    "missing"));
                return;
            }
}

/* ---- the layer plan: like layers become one shape ----------------------------------------------------------- */

static void add_layer(hf_reader *r, llmperf_layer *layer)
{
    llmperf_model *m = r->model;
    if (layer_is_empty(layer))
        return; /* a block that architecture search left empty */
    for (int k = 0; k < m->layer_kind_count; k++) {
        layer->count = m->layers[k].count;
        if (memcmp(layer, &m->layers[k], sizeof *layer) == 0) {
            m->layers[k].count++;
            return;
        }
    }
    if (m->layer_kind_count == LLMPERF_LAYER_KINDS_MAX) {
        hf_done(r, doc_fail(r->document, r->map, r->error,
                            "more than %d different layer shapes; at most %d are allowed",
                            LLMPERF_LAYER_KINDS_MAX, LLMPERF_LAYER_KINDS_MAX));
        hf_unsupported(r);
        return;
    }
    layer->count = 1;
    m->layers[m->layer_kind_count++] = *layer;
}

void hf_plan_layers(hf_reader *r)
{
    read_window(r);
    check_layer_types(r);
    r->model->layer_kind_count = 0;
    for (int64_t i = 0; i < r->layers && r->status == LLMPERF_OK; i++) {
        llmperf_layer layer;
        memset(&layer, 0, sizeof layer); /* padding too: shapes are compared as bytes */
        memcpy(&layer, &r->layer, sizeof layer);
        if (r->window > 0 && layer.attention.heads > 0 && is_windowed(r, i))
            layer.attention.window = r->window;
        if (r->moe.experts > 0 && is_moe_layer(r, i)) {
            layer.moe = r->moe;
            memset(&layer.mlp, 0, sizeof layer.mlp);
        }
        if (r->family->plan)
            r->family->plan(r, i, &layer);
        if (r->status == LLMPERF_OK)
            quant_layer(&r->quant, i, &layer);
        if (r->status == LLMPERF_OK)
            add_layer(r, &layer);
    }
}
