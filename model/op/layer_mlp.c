/* SPDX-License-Identifier: MIT */
/*
 * Feed-forward network of one layer: gated (gate and up in one GEMM, SwiGLU and kin) or plain.
 */
#include <stdio.h>

#include "emit.h"

static void emit_mlp(emitter *e, const llmperf_layer *layer)
{
    double h = (double)e->c->model->hidden;
    double f = (double)ceil_div(layer->mlp.ffn, e->c->workload.tp);
    double t = e->tokens, repeat = (double)layer->count;

    if (layer->mlp.gated) {
        emit_gemm(e, LLMPERF_OP_MLP_GATE_UP, LLMPERF_WEIGHT_MLP, t, 2 * f, h, repeat);
        /* activation (4 flop: exponential, sum, quotient, product) and the gate's product */
        emit_elementwise(e, LLMPERF_OP_MLP_ACT, 5 * t * f, 2 * t * f, t * f, 0, repeat);
    } else {
        emit_gemm(e, LLMPERF_OP_MLP_UP, LLMPERF_WEIGHT_MLP, t, f, h, repeat);
        emit_elementwise(e, LLMPERF_OP_MLP_ACT, 4 * t * f, t * f, t * f, 0, repeat);
    }
    emit_gemm(e, LLMPERF_OP_MLP_DOWN, LLMPERF_WEIGHT_MLP, t, h, f, repeat);
}

static void count_mlp(const llmperf_model *model, const llmperf_layer *layer, int64_t tp,
                      weight_count *sum)
{
    const llmperf_mlp *m = &layer->mlp;
    int64_t f = ceil_div(m->ffn, tp);
    int64_t up = m->gated ? 2 * f : f;
    sum->by_class[LLMPERF_WEIGHT_MLP] += layer->count * model->hidden * (up + f);
    sum->by_class[LLMPERF_WEIGHT_OTHER] +=
        layer->count * ((m->up_bias ? up : 0) + (m->down_bias ? model->hidden : 0));
}

static double mlp_widest(const llmperf_layer *layer)
{
    return 2 * (double)layer->mlp.ffn;
}

static void mlp_describe(const llmperf_layer *layer, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s FFN %lld", layer->mlp.gated ? "gated" : "plain",
             (long long)layer->mlp.ffn);
}

static const layer_field MLP_FIELDS[] = {
    {COUNT_FIELD(mlp, ffn, 1, LAYER_MOST_FFN), .required = true},
    {FLAG_FIELD(mlp, gated), .absent = true},
    {FLAG_FIELD(mlp, up_bias)},
    {FLAG_FIELD(mlp, down_bias)},
    {0},
};

const layer_kind LAYER_MLP = {
    .name = "mlp",
    .fields = MLP_FIELDS,
    .emit = emit_mlp,
    .count_weights = count_mlp,
    .widest = mlp_widest,
    .widest_formula = "2 f",
    .describe = mlp_describe,
};
