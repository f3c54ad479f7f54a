/* SPDX-License-Identifier: MIT */
/*
 * The indexer of sparse attention: scores every cached token with small 8-bit keys, so that
 * attention itself reads only the top_k best. docs/architectures.md, "Sparse attention with an indexer".
 */
#include <stdio.h>

#include "emit.h"
#include "rows.h"
#include "model_object.h"

double index_limit(const llmperf_layer *layer)
{
    return (double)layer->index.top_k;
}

void emit_index(emitter *e, const llmperf_layer *layer, double q_input)
{
    const llmperf_index *ix = &layer->index;
    if (ix->shared || ix->heads == 0)
        return;
    double h = (double)e->c->model->hidden, repeat = (double)layer->count, t = e->tokens;
    double heads = (double)ix->heads, dim = (double)ix->dim, a = e->c->act_bytes_per;
    emit_gemm(e, LLMPERF_OP_INDEX_Q, LLMPERF_WEIGHT_ATTENTION, t, heads * dim, q_input, repeat);
    /* key and the per-head weights of the scores */
    emit_gemm(e, LLMPERF_OP_INDEX_K, LLMPERF_WEIGHT_ATTENTION, t, dim + heads, h, repeat);
    for (int i = 0; i < e->segment_count; i++) {
        const llmperf_segment *s = &e->segments[i];
        double b = (double)s->sequences, q = (double)s->query, past = (double)s->past;
        llmperf_op *op = emit_attention_op(e, LLMPERF_OP_INDEX_CORE, repeat, s);
        op->dtype = e->c->index_dtype;
        op->heads = heads;
        op->kv_heads = 1;
        op->head_dim = dim;
        op->flop = 2 * heads * dim * b * causal_pairs(q, past, 0);
        op->input_bytes = b * q * heads * dim * a;
        op->output_bytes = b * q * (double)ix->top_k * 4; /* chosen positions, 32 bit */
        op->kv_read_bytes = b * (past + q) * dim;
        op->kv_write_bytes = b * q * dim;
        sum_bytes(op);
    }
}

void count_index(const llmperf_model *model, const llmperf_layer *layer, int64_t q_input,
                 weight_count *sum)
{
    const llmperf_index *ix = &layer->index;
    if (ix->shared || ix->heads == 0)
        return;
    int64_t linear = q_input * ix->heads * ix->dim + model->hidden * (ix->dim + ix->heads);
    sum->by_class[LLMPERF_WEIGHT_ATTENTION] += layer->count * linear;
    sum->by_class[LLMPERF_WEIGHT_OTHER] += layer->count * 2 * ix->dim; /* layer norm of the key */
}

/* Like the cache of MLA, one copy on every device. */
double index_values(const llmperf_layer *layer, int64_t tp, double tokens)
{
    (void)tp;
    return layer->index.shared || layer->index.top_k == 0 ? 0 : tokens * (double)layer->index.dim;
}

static llmperf_status index_check(const char *model, const llmperf_layer *layer, int number,
                                  llmperf_error *error)
{
    const llmperf_index *ix = &layer->index;
    if (ix->shared || (ix->heads > 0 && ix->dim > 0))
        return LLMPERF_OK;
    return llmperf_fail(error, LLMPERF_E_SPEC,
                        "model '%s': the indexer of layer shape %d needs heads and dim, or "
                        "shared: true",
                        model, number);
}

static void index_describe(const llmperf_layer *layer, char *buffer, size_t size)
{
    snprintf(buffer, size, "top %lld", (long long)layer->index.top_k);
}

static const layer_field INDEX_FIELDS[] = {
    {COUNT_FIELD(index, top_k, 1, LAYER_MOST_TOKENS), .required = true},
    {COUNT_FIELD(index, heads, 0, LAYER_MOST_HEADS)},
    {COUNT_FIELD(index, dim, 0, LAYER_MOST_HEADS)},
    {FLAG_FIELD(index, shared)},
    {0},
};

/* Attention and MLA emit and count it. */
/* ---- its formulas ----------------------------------------------------------------------------- */

static const symbol INDEX_SYMBOLS[] = {
    FACT("k_i", "keys that the indexer chooses", index.top_k),
    FACT("n_i", "heads of the indexer", index.heads),
    FACT("d_i", "head size of the indexer", index.dim),
    {0},
};

TEST(is_limited, s->layer->index.top_k > 0 || s->layer->attention.window > 0)
/* It has an indexer of its own, beside attention. */
TEST(is_indexed, s->layer->index.top_k > 0 && !s->layer->index.shared &&
                     s->layer->attention.heads + s->layer->mla.heads > 0)

static const flag INDEX_FLAGS[] = {
    TESTED("limited", is_limited),
    TESTED("indexed", is_indexed),
    {0},
};

static const macro INDEX_MACROS[] = {
    {"$index_input", "r_q ? r_q | h"},
    {0},
};

static const op_row INDEX_OPS[] = {
    {.id = LLMPERF_OP_INDEX_Q, .m = "$T", .n = "n_i d_i", .k = "$index_input", .w = "w"},
    {.id = LLMPERF_OP_INDEX_K, .m = "$T", .n = "d_i + n_i", .k = "h", .w = "w"},
    /* every cached key is scored; keys of one byte, choices of four */
    {CACHED(INDEX_CORE, "2 b n_i d_i $all_pairs", NULL, "b $q n_i d_i a", "4 b $q k_i", "b $L d_i",
            "b $q d_i", "2 n_i d_i $all_pairs_per_q / (n_i d_i a + 4 k_i + ($L_per_q + 1) d_i)")},
    {0},
};

static const term_row INDEX_TERMS[] = {
    {SUM_WEIGHTS, IN_LAYERS, "indexer", "n_i ? $index_input n_i d_i + h (d_i + n_i)", "w"},
    {SUM_WEIGHTS, IN_LAYERS, "norms and biases", "n_i ? 2 d_i", "$w_n"},
    {SUM_INDEX, IN_LAYERS, "index keys of one byte", "d_i ? $tokens layers d_i", NULL},
    {0},
};

static const layer_rows INDEX_ROWS = {"indexed",    INDEX_SYMBOLS, INDEX_FLAGS,
                                      INDEX_MACROS, INDEX_OPS,     INDEX_TERMS};

const layer_kind LAYER_INDEX = {
    .name = "index",
    .fields = INDEX_FIELDS,
    .mixes = true,
    .check = index_check,
    .describe = index_describe,
    .rows = &INDEX_ROWS,
};
