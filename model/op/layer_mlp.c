/* SPDX-License-Identifier: MIT */
/*
 * Feed-forward network of one layer: gated (gate and up in one GEMM, SwiGLU and kin) or plain.
 */
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

static bool mlp_present(const llmperf_layer *layer)
{
    return layer->mlp.ffn > 0;
}

const layer_kind LAYER_MLP = {
    .name = "mlp",
    .emit = emit_mlp,
    .count_weights = count_mlp,
    .present = mlp_present,
};
