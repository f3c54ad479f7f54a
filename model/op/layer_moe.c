/* SPDX-License-Identifier: MIT */
/*
 * Mixture of experts: router, the experts that the step's tokens touch, shared experts.
 * docs/architectures.md, "Mixtures of experts".
 */
#include <math.h>
#include <stdio.h>

#include "emit.h"
#include "rows.h"
#include "model_object.h"

/*
 * Expected distinct experts of T tokens that pick K of E each: E (1 - (1 - K/E)^T) when routing is
 * uniform. With skew s expert i is picked with probability q_i = min(1, c i^-s), c chosen so that
 * they sum to K; then the sum of 1 - (1 - q_i)^T.
 */
double moe_distinct_experts(const llmperf_moe *moe, double tokens, double skew)
{
    double experts = (double)moe->experts, active = (double)moe->active;
    if (tokens <= 0)
        return 0;
    if (moe->active >= moe->experts)
        return experts;
    if (skew <= 0)
        return tokens == 1 ? active : -experts * expm1(tokens * log1p(-active / experts));
    /* the first `capped` experts are always picked, c shares the rest of K among the others */
    int64_t capped = moe->active;
    double tail = 0, distinct = 0;
    for (int64_t i = moe->experts; i > capped; i--)
        tail += pow((double)i, -skew);
    for (; capped > 0; capped--) {
        double next = pow((double)capped, -skew);
        if ((double)(moe->active - capped + 1) * next > tail + next)
            break;
        tail += next;
    }
    double c = (double)(moe->active - capped) / tail;
    for (int64_t i = moe->experts; i > capped; i--)
        distinct -= expm1(tokens * log1p(-fmin(1, c * pow((double)i, -skew))));
    return distinct + (double)capped;
}

/* A grouped GEMM: m rows per active expert; flop and bytes of all of them. */
static void emit_grouped(emitter *e, llmperf_op_id id, double rows, double distinct, double n,
                         double k, double repeat)
{
    llmperf_op *op =
        emit_gemm(e, id, LLMPERF_WEIGHT_EXPERTS, distinct > 0 ? rows / distinct : 0, n, k, repeat);
    double a = e->c->act_bytes_per;
    op->flop = 2 * rows * n * k;
    op->weight_bytes *= distinct;
    op->input_bytes = rows * k * a;
    op->output_bytes = rows * n * a;
    op->bytes = op->weight_bytes + op->input_bytes + op->output_bytes;
}

static void emit_shared(emitter *e, const llmperf_layer *layer)
{
    const llmperf_moe *m = &layer->moe;
    double h = (double)e->c->model->hidden, t = e->tokens, repeat = (double)layer->count;
    double f = (double)ceil_div(m->shared_ffn, e->c->workload.tp);
    if (m->gated) {
        emit_gemm(e, LLMPERF_OP_MOE_SHARED_GATE_UP, LLMPERF_WEIGHT_SHARED, t, 2 * f, h, repeat);
        emit_elementwise(e, LLMPERF_OP_MOE_SHARED_ACT, 5 * t * f, 2 * t * f, t * f, 0, repeat);
    } else {
        emit_gemm(e, LLMPERF_OP_MOE_SHARED_UP, LLMPERF_WEIGHT_SHARED, t, f, h, repeat);
        emit_elementwise(e, LLMPERF_OP_MOE_SHARED_ACT, 4 * t * f, t * f, t * f, 0, repeat);
    }
    emit_gemm(e, LLMPERF_OP_MOE_SHARED_DOWN, LLMPERF_WEIGHT_SHARED, t, h, f, repeat);
}

static void emit_moe(emitter *e, const llmperf_layer *layer)
{
    const llmperf_moe *m = &layer->moe;
    double h = (double)e->c->model->hidden, t = e->tokens, repeat = (double)layer->count;
    double f = (double)ceil_div(m->ffn, e->c->workload.tp);
    double width = m->latent > 0 ? (double)m->latent : h;
    double rows = t * (double)m->active;
    double distinct = moe_distinct_experts(m, t, e->c->workload.moe_skew);

    llmperf_op *router = emit_gemm(e, LLMPERF_OP_MOE_ROUTER, LLMPERF_WEIGHT_ROUTER, t,
                                   (double)m->experts, h, repeat);
    router->group = LLMPERF_GROUP_OTHER;
    if (m->latent > 0)
        emit_gemm(e, LLMPERF_OP_MOE_LATENT_DOWN, LLMPERF_WEIGHT_SHARED, t, width, h, repeat);
    if (m->gated) {
        emit_grouped(e, LLMPERF_OP_MOE_GATE_UP, rows, distinct, 2 * f, width, repeat);
        emit_elementwise(e, LLMPERF_OP_MOE_ACT, 5 * rows * f, 2 * rows * f, rows * f, 0, repeat);
    } else {
        emit_grouped(e, LLMPERF_OP_MOE_UP, rows, distinct, f, width, repeat);
        emit_elementwise(e, LLMPERF_OP_MOE_ACT, 4 * rows * f, rows * f, rows * f, 0, repeat);
    }
    emit_grouped(e, LLMPERF_OP_MOE_DOWN, rows, distinct, width, f, repeat);
    if (m->latent > 0)
        emit_gemm(e, LLMPERF_OP_MOE_LATENT_UP, LLMPERF_WEIGHT_SHARED, t, h, width, repeat);
    if (m->shared_ffn > 0)
        emit_shared(e, layer);
}

static void count_moe(const llmperf_model *model, const llmperf_layer *layer, int64_t tp,
                      weight_count *sum)
{
    const llmperf_moe *m = &layer->moe;
    int64_t h = model->hidden, width = m->latent > 0 ? m->latent : h;
    int64_t f = ceil_div(m->ffn, tp), shared = ceil_div(m->shared_ffn, tp);
    int64_t up = m->gated ? 2 : 1;
    sum->by_class[LLMPERF_WEIGHT_EXPERTS] += layer->count * m->experts * width * f * (up + 1);
    sum->by_class[LLMPERF_WEIGHT_SHARED] +=
        layer->count *
        (h * shared * (up + 1) + (m->latent > 0 ? 2 * h * width : 0) + (m->shared_gate ? h : 0));
    sum->by_class[LLMPERF_WEIGHT_ROUTER] += layer->count * h * m->experts;
    int64_t other = m->router_bias ? m->experts : 0;
    if (m->expert_bias)
        other += m->experts * (up * f + width);
    sum->by_class[LLMPERF_WEIGHT_OTHER] += layer->count * other;
}

/* Experts that a token does not pass, with their biases. */
static int64_t moe_idle(const llmperf_model *model, const llmperf_layer *layer)
{
    const llmperf_moe *m = &layer->moe;
    int64_t width = m->latent > 0 ? m->latent : model->hidden, up = m->gated ? 2 : 1;
    int64_t one = width * m->ffn * (up + 1);
    if (m->expert_bias)
        one += up * m->ffn + width;
    return layer->count * one * (m->experts - m->active);
}

/* Each token's rows of its active experts stand side by side. */
static double moe_widest(const llmperf_layer *layer)
{
    const llmperf_moe *m = &layer->moe;
    return 2 * (double)(m->ffn * m->active + m->shared_ffn);
}

static llmperf_status moe_check(const char *model, const llmperf_layer *layer, int number,
                                llmperf_error *error)
{
    return layer->moe.active > layer->moe.experts ? layer_out_of_range(model, number, error)
                                                  : LLMPERF_OK;
}

static void moe_describe(const llmperf_layer *layer, char *buffer, size_t size)
{
    const llmperf_moe *m = &layer->moe;
    char shared[48] = "";
    if (m->shared_ffn > 0)
        snprintf(shared, sizeof shared, ", shared %lld", (long long)m->shared_ffn);
    snprintf(buffer, size, "%lld of %lld experts of %lld%s", (long long)m->active,
             (long long)m->experts, (long long)m->ffn, shared);
}

static const layer_field MOE_FIELDS[] = {
    {COUNT_FIELD(moe, experts, 1, LAYER_MOST_HEADS), .required = true},
    {COUNT_FIELD(moe, active, 1, LAYER_MOST_HEADS), .required = true},
    {COUNT_FIELD(moe, ffn, 1, LAYER_MOST_FFN), .required = true},
    {COUNT_FIELD(moe, shared_ffn, 0, LAYER_MOST_FFN)},
    {COUNT_FIELD(moe, latent, 0, LAYER_MOST_WIDTH)},
    {FLAG_FIELD(moe, gated), .absent = true},
    {FLAG_FIELD(moe, expert_bias), .file_only = true},
    {FLAG_FIELD(moe, router_bias), .file_only = true},
    {FLAG_FIELD(moe, shared_gate), .file_only = true},
    {0},
};

/* ---- its formulas ----------------------------------------------------------------------------- */

static double distinct_experts(const symbol_scope *s)
{
    const llmperf_moe *moe = &s->layer->moe;
    if (moe->experts == 0)
        return 0;
    return moe_distinct_experts(moe, scope_tokens(s), s->c->workload.moe_skew);
}

static const symbol MOE_SYMBOLS[] = {
    FACT("E", "experts", moe.experts),
    FACT("K", "experts that a token passes", moe.active),
    VALUE("X", "experts that a step's T tokens touch", COUNT, COMPUTED,
          "E (1 - (1 - K / E)^T) where routing is uniform: explain experts_read_per_layer",
          distinct_experts),
    FACT("f_x", "width of an expert", moe.ffn),
    FACT("f_s", "width of the shared experts", moe.shared_ffn),
    FACT("l_x", "width that experts work in", moe.latent),
    {0},
};

static const macro MOE_MACROS[] = {
    {"$F_x", "shared ? ceil(f_x / tp) | f_x"},
    {"$F_s", "shared ? ceil(f_s / tp) | f_s"},
    {"$width_x", "l_x ? l_x | h"},
    {0},
};

static const op_row MOE_OPS[] = {
    {.id = LLMPERF_OP_MOE_ROUTER, .m = "$T", .n = "E", .k = "h", .w = "$w_r"},
    {.id = LLMPERF_OP_MOE_LATENT_DOWN, .m = "$T", .n = "l_x", .k = "h", .w = "$w_y"},
    {.id = LLMPERF_OP_MOE_LATENT_UP, .m = "$T", .n = "h", .k = "l_x", .w = "$w_y"},
    {.id = LLMPERF_OP_MOE_GATE_UP, .n = "2 $F_x", .k = "$width_x", .w = "$w_x", .rows = "$T K"},
    {.id = LLMPERF_OP_MOE_UP, .n = "$F_x", .k = "$width_x", .w = "$w_x", .rows = "$T K"},
    {.id = LLMPERF_OP_MOE_ACT, ACT_ROW("$T K $F_x", "(4 + $moe.gated)", "(1 + $moe.gated)")},
    {.id = LLMPERF_OP_MOE_DOWN, .n = "$width_x", .k = "$F_x", .w = "$w_x", .rows = "$T K"},
    {.id = LLMPERF_OP_MOE_SHARED_GATE_UP, .m = "$T", .n = "2 $F_s", .k = "h", .w = "$w_y"},
    {.id = LLMPERF_OP_MOE_SHARED_UP, .m = "$T", .n = "$F_s", .k = "h", .w = "$w_y"},
    {.id = LLMPERF_OP_MOE_SHARED_ACT, ACT_ROW("$T $F_s", "(4 + $moe.gated)", "(1 + $moe.gated)")},
    {.id = LLMPERF_OP_MOE_SHARED_DOWN, .m = "$T", .n = "h", .k = "$F_s", .w = "$w_y"},
    {0},
};

static const term_row MOE_TERMS[] = {
    {SUM_WEIGHTS, IN_LAYERS, "experts", "(2 + $moe.gated) E $width_x $F_x", "$w_x"},
    {SUM_WEIGHTS, IN_LAYERS, "shared experts", "f_s ? (2 + $moe.gated) h $F_s", "$w_y"},
    {SUM_WEIGHTS, IN_LAYERS, "shared experts", "l_x ? 2 h l_x", "$w_y"},
    {SUM_WEIGHTS, IN_LAYERS, "shared experts", "moe.shared_gate ? h", "$w_y"},
    {SUM_WEIGHTS, IN_LAYERS, "router", "h E", "$w_r"},
    {SUM_WEIGHTS, IN_LAYERS, "norms and biases", "moe.router_bias ? E", "$w_n"},
    {SUM_WEIGHTS, IN_LAYERS, "norms and biases",
     "moe.expert_bias ? E ((1 + $moe.gated) $F_x + $width_x)", "$w_n"},
    {SUM_IDLE, IN_LAYERS, "idle experts",
     "moe.expert_bias ? layers (E - K) ((2 + $moe.gated) $width_x f_x + (1 + $moe.gated) f_x + "
     "$width_x) | (2 + $moe.gated) layers (E - K) $width_x f_x",
     NULL},
    {0},
};

static const layer_rows MOE_ROWS = {"E", MOE_SYMBOLS, NULL, MOE_MACROS, MOE_OPS, MOE_TERMS};

const layer_kind LAYER_MOE = {
    .name = "moe",
    .fields = MOE_FIELDS,
    .emit = emit_moe,
    .count_weights = count_moe,
    .idle_weights = moe_idle,
    .widest = moe_widest,
    .widest_formula = "2 (f_x K + f_s)",
    .check = moe_check,
    .describe = moe_describe,
    .rows = &MOE_ROWS,
};
