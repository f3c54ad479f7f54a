/* SPDX-License-Identifier: MIT */
/*
 * Multi-head latent attention. The cache holds one latent per token; decode multiplies the
 * up-projections into q and the result (absorbed form) and reads the latent once for all heads;
 * prefill expands K and V of every attended token. docs/architectures.md, "Multi-head latent attention".
 */
#include <math.h>
#include <stdio.h>

#include "emit.h"
#include "rows.h"
#include "model_object.h"

static double latent(const llmperf_mla *m)
{
    return (double)(m->kv_rank + m->rope_dim);
}

/* Tokens that one sequence's queries read: all, or the indexer's choice. */
static double keys_of(const llmperf_layer *layer, double query, double past)
{
    double limit = index_limit(layer);
    return limit > 0 ? fmin(past + query, query * limit) : past + query;
}

static double pairs_of(const llmperf_layer *layer, double query, double past)
{
    return causal_pairs(query, past, index_limit(layer));
}

/* A product with one small matrix per head: m, n, k of one head, the rest of all heads. */
static void emit_per_head(emitter *e, llmperf_op_id id, double heads, double m, double n, double k,
                          double repeat)
{
    llmperf_op *op = emit_gemm(e, id, LLMPERF_WEIGHT_ATTENTION, m, n, k, repeat);
    op->flop *= heads;
    op->weight_bytes *= heads;
    op->input_bytes *= heads;
    op->output_bytes *= heads;
    op->bytes *= heads;
}

static void emit_absorbed(emitter *e, const llmperf_layer *layer, const llmperf_segment *s,
                          double heads)
{
    const llmperf_mla *m = &layer->mla;
    double b = (double)s->sequences, q = (double)s->query, past = (double)s->past;
    double a = e->c->act_bytes_per, c = e->c->kv_bytes_per, repeat = (double)layer->count;
    double rank = (double)m->kv_rank;
    emit_per_head(e, LLMPERF_OP_ATTN_K_ABSORB, heads, b * q, rank, (double)m->nope_dim, repeat);
    llmperf_op *op = emit_attention_op(e, LLMPERF_OP_ATTN_CORE, repeat, s);
    op->heads = heads;
    op->kv_heads = 1;
    op->head_dim = latent(m);
    op->value_dim = rank;
    op->flop = 2 * heads * (latent(m) + rank) * b * pairs_of(layer, q, past);
    op->input_bytes = b * q * heads * latent(m) * a;
    op->output_bytes = b * q * heads * rank * a;
    op->kv_read_bytes = b * keys_of(layer, q, past) * latent(m) * c; /* K and V are one latent */
    op->kv_write_bytes = b * q * latent(m) * c;
    sum_bytes(op);
    emit_per_head(e, LLMPERF_OP_ATTN_V_ABSORB, heads, b * q, (double)m->value_dim, rank, repeat);
}

static void emit_expanded(emitter *e, const llmperf_layer *layer, const llmperf_segment *s,
                          double heads)
{
    const llmperf_mla *m = &layer->mla;
    double b = (double)s->sequences, q = (double)s->query, past = (double)s->past;
    double a = e->c->act_bytes_per, c = e->c->kv_bytes_per, repeat = (double)layer->count;
    double d_k = (double)(m->nope_dim + m->rope_dim), d_v = (double)m->value_dim;
    /* cached latents are expanded again for each chunk that attends to them */
    emit_gemm(e, LLMPERF_OP_ATTN_KV_B, LLMPERF_WEIGHT_ATTENTION, b * (past + q),
              heads * (double)(m->nope_dim + m->value_dim), (double)m->kv_rank, repeat);
    llmperf_op *op = emit_attention_op(e, LLMPERF_OP_ATTN_CORE, repeat, s);
    op->heads = heads;
    op->kv_heads = heads;
    op->head_dim = d_k;
    op->value_dim = d_v;
    op->flop = 2 * heads * (d_k + d_v) * b * pairs_of(layer, q, past);
    op->input_bytes = b * q * heads * d_k * a;
    op->output_bytes = b * q * heads * d_v * a;
    op->kv_read_bytes = b * keys_of(layer, q, past) * heads * (d_k + d_v) * a;
    op->kv_write_bytes = b * q * latent(m) * c;
    sum_bytes(op);
}

static void emit_mla(emitter *e, const llmperf_layer *layer)
{
    const llmperf_mla *m = &layer->mla;
    double heads = (double)ceil_div(m->heads, e->c->workload.tp);
    double h = (double)e->c->model->hidden, repeat = (double)layer->count, t = e->tokens;
    double q_width = heads * (double)(m->nope_dim + m->rope_dim);
    double rank = (double)m->q_rank;

    if (m->q_rank > 0) { /* the down-projections are replicated on every device */
        emit_gemm(e, LLMPERF_OP_ATTN_Q_A, LLMPERF_WEIGHT_ATTENTION, t, rank, h, repeat);
        emit_norm(e, LLMPERF_OP_NORM, t, rank, repeat);
        emit_gemm(e, LLMPERF_OP_ATTN_Q_B, LLMPERF_WEIGHT_ATTENTION, t, q_width, rank, repeat);
    } else {
        emit_gemm(e, LLMPERF_OP_ATTN_Q, LLMPERF_WEIGHT_ATTENTION, t, q_width, h, repeat);
    }
    emit_gemm(e, LLMPERF_OP_ATTN_KV_A, LLMPERF_WEIGHT_ATTENTION, t, latent(m), h, repeat);
    emit_norm(e, LLMPERF_OP_NORM, t, (double)m->kv_rank, repeat);
    if (layer->index.top_k > 0)
        emit_index(e, layer, m->q_rank > 0 ? rank : h);
    double rotated = t * (heads + 1) * (double)m->rope_dim;
    if (rotated > 0)
        emit_elementwise(e, LLMPERF_OP_ROPE, 3 * rotated, rotated, rotated, 0, repeat);
    for (int i = 0; i < e->segment_count; i++) {
        if (e->segments[i].decode)
            emit_absorbed(e, layer, &e->segments[i], heads);
        else
            emit_expanded(e, layer, &e->segments[i], heads);
    }
    double out_width = heads * (double)m->value_dim;
    if (m->gate)
        emit_gemm(e, LLMPERF_OP_ATTN_GATE, LLMPERF_WEIGHT_ATTENTION, t, out_width, h, repeat);
    emit_gemm(e, LLMPERF_OP_ATTN_OUT, LLMPERF_WEIGHT_ATTENTION, t, h, out_width, repeat);
}

static void count_mla(const llmperf_model *model, const llmperf_layer *layer, int64_t tp,
                      weight_count *sum)
{
    const llmperf_mla *m = &layer->mla;
    int64_t heads = ceil_div(m->heads, tp), h = model->hidden;
    int64_t q_width = heads * (m->nope_dim + m->rope_dim), out_width = heads * m->value_dim;
    int64_t linear = m->q_rank > 0 ? h * m->q_rank + m->q_rank * q_width : h * q_width;
    linear += h * (m->kv_rank + m->rope_dim);
    linear += m->kv_rank * heads * (m->nope_dim + m->value_dim);
    linear += out_width * h * (m->gate ? 2 : 1);
    sum->by_class[LLMPERF_WEIGHT_ATTENTION] += layer->count * linear;
    sum->by_class[LLMPERF_WEIGHT_OTHER] += layer->count * (m->q_rank + m->kv_rank);
    if (layer->index.top_k > 0)
        count_index(model, layer, m->q_rank > 0 ? m->q_rank : h, sum);
}

/* One latent per token whatever the degree: MLA's cache is not sharded. */
static double mla_kv_values(const llmperf_layer *layer, int64_t tp, double tokens)
{
    (void)tp;
    return tokens * latent(&layer->mla);
}

static double mla_widest(const llmperf_layer *layer)
{
    const llmperf_mla *m = &layer->mla;
    return (double)(m->heads * (m->nope_dim + m->rope_dim));
}

static bool mla_splits(const llmperf_layer *layer, int64_t tp)
{
    return layer->mla.heads % tp == 0;
}

static void mla_describe(const llmperf_layer *layer, char *buffer, size_t size)
{
    const llmperf_mla *m = &layer->mla;
    snprintf(buffer, size, "MLA, %lld heads, latent %lld + %lld", (long long)m->heads,
             (long long)m->kv_rank, (long long)m->rope_dim);
}

static const layer_field MLA_FIELDS[] = {
    {COUNT_FIELD(mla, heads, 1, LAYER_MOST_HEADS), .required = true},
    {COUNT_FIELD(mla, q_rank, 0, LAYER_MOST_WIDTH)},
    {COUNT_FIELD(mla, kv_rank, 1, LAYER_MOST_WIDTH), .required = true},
    {COUNT_FIELD(mla, nope_dim, 1, LAYER_MOST_HEADS), .required = true},
    {COUNT_FIELD(mla, rope_dim, 0, LAYER_MOST_HEADS), .required = true},
    {COUNT_FIELD(mla, value_dim, 1, LAYER_MOST_HEADS), .required = true},
    {FLAG_FIELD(mla, gate)},
    {0},
};

/* ---- its formulas ----------------------------------------------------------------------------- */

static const symbol MLA_SYMBOLS[] = {
    FACT("n", "attention heads", mla.heads),
    FACT("d_v", "head size of v", mla.value_dim),
    FACT("r_q", "width of the query latent", mla.q_rank),
    FACT("r_kv", "width of the KV latent", mla.kv_rank),
    FACT("d_n", "head size without positions", mla.nope_dim),
    FACT("d_r", "head size with rotary positions", mla.rope_dim),
    {0},
};

static const op_row MLA_OPS[] = {
    {.id = LLMPERF_OP_ATTN_Q, .m = "$T", .n = "$N (d_n + d_r)", .k = "h", .w = "w"},
    {.id = LLMPERF_OP_ATTN_Q_A, .m = "$T", .n = "r_q", .k = "h", .w = "w"},
    {.id = LLMPERF_OP_NORM,
     .behind = {LLMPERF_OP_ATTN_Q_A},
     .when = "!outside",
     .label = "norm (q)",
     NORM_ROW("r_q")},
    {.id = LLMPERF_OP_ATTN_Q_B, .m = "$T", .n = "$N (d_n + d_r)", .k = "r_q", .w = "w"},
    {.id = LLMPERF_OP_ATTN_KV_A, .m = "$T", .n = "r_kv + d_r", .k = "h", .w = "w"},
    {.id = LLMPERF_OP_NORM,
     .behind = {LLMPERF_OP_ATTN_KV_A},
     .when = "!outside",
     .label = "norm (kv)",
     NORM_ROW("r_kv")},
    /* every attended token is expanded from its latent */
    {.id = LLMPERF_OP_ATTN_KV_B, .m = "b $L", .n = "$N (d_n + d_v)", .k = "r_kv", .w = "w"},
    {.id = LLMPERF_OP_ATTN_K_ABSORB, .m = "$T", .n = "r_kv", .k = "d_n", .w = "w", .times = "$N"},
    {.id = LLMPERF_OP_ATTN_V_ABSORB, .m = "$T", .n = "d_v", .k = "r_kv", .w = "w", .times = "$N"},
    {.id = LLMPERF_OP_ATTN_GATE, .m = "$T", .n = "$N d_v", .k = "h", .w = "w"},
    /* absorbed: all heads read one latent, which is K and V at once */
    {CACHED(ATTN_CORE, "2 b $N (2 r_kv + d_r) $pairs", NULL, "b $q $N (r_kv + d_r) a",
            "b $q $N r_kv a", "b $keys (r_kv + d_r) c", "b $q (r_kv + d_r) c",
            "2 $N (2 r_kv + d_r) $pairs_per_q / ($N (2 r_kv + d_r) a + ($keys_per_q + 1) (r_kv + "
            "d_r) c)"),
     .when = "decode"},
    /* expanded: K and V of every head, read as activations */
    {CACHED(ATTN_CORE, "2 b $N (d_n + d_r + d_v) $pairs", NULL, "b $q $N (d_n + d_r) a",
            "b $q $N d_v a", "b $keys $N (d_n + d_r + d_v) a", "b $q (r_kv + d_r) c",
            "2 $N (d_n + d_r + d_v) $pairs_per_q / (($keys_per_q + 1) $N (d_n + d_r + d_v) a + "
            "(r_kv + d_r) c)")},
    {0},
};

static const term_row MLA_TERMS[] = {
    {SUM_WEIGHTS, IN_LAYERS, "latent attention",
     "r_q ? h r_q + r_q $N (d_n + d_r) | h $N (d_n + d_r)", "w"},
    {SUM_WEIGHTS, IN_LAYERS, "latent attention",
     "h (r_kv + d_r) + r_kv $N (d_n + d_v) + (1 + $mla.gate) $N d_v h", "w"},
    {SUM_WEIGHTS, IN_LAYERS, "norms and biases", "r_q ? r_q", "$w_n"},
    {SUM_WEIGHTS, IN_LAYERS, "norms and biases", "r_kv", "$w_n"},
    {SUM_KV, IN_LAYERS, "latents", "held ? $tokens layers (r_kv + d_r) c", NULL},
    {SUM_KV, IN_LAYERS, "K and V", "!held ? layers (r_kv + d_r) c", NULL},
    {0},
};

static const layer_rows MLA_ROWS = {"r_kv", MLA_SYMBOLS, NULL, NULL, MLA_OPS, MLA_TERMS};

const layer_kind LAYER_MLA = {
    .name = "mla",
    .fields = MLA_FIELDS,
    .not_with = "attention",
    .mixes = true,
    .emit = emit_mla,
    .count_weights = count_mla,
    .kv_values = mla_kv_values,
    .index_values = index_values,
    .widest = mla_widest,
    .widest_formula = "n (d_n + d_r)",
    .splits = mla_splits,
    .describe = mla_describe,
    .rows = &MLA_ROWS,
};
