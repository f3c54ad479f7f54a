/* SPDX-License-Identifier: MIT */
/*
 * Feed-forward network of one layer: gated (gate and up in one GEMM, SwiGLU and kin) or plain.
 */
#include <stdio.h>

#include "emit.h"
#include "rows.h"
#include "model_object.h"

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

/* ---- its formulas ----------------------------------------------------------------------------- */

static const symbol MLP_SYMBOLS[] = {FACT("f", "FFN width", mlp.ffn), {0}};

static const macro MLP_MACROS[] = {{"$F", "shared ? ceil(f / tp) | f"}, {0}};

static const op_row MLP_OPS[] = {
    {.id = LLMPERF_OP_MLP_GATE_UP, .m = "$T", .n = "2 $F", .k = "h", .w = "$w_f"},
    {.id = LLMPERF_OP_MLP_UP, .m = "$T", .n = "$F", .k = "h", .w = "$w_f"},
    {.id = LLMPERF_OP_MLP_ACT, ACT_ROW("$T $F", "(4 + $mlp.gated)", "(1 + $mlp.gated)")},
    {.id = LLMPERF_OP_MLP_DOWN, .m = "$T", .n = "h", .k = "$F", .w = "$w_f"},
    {0},
};

static const term_row MLP_TERMS[] = {
    {SUM_WEIGHTS, IN_LAYERS, "FFN", "(2 + $mlp.gated) h $F", "$w_f"},
    {SUM_WEIGHTS, IN_LAYERS, "norms and biases", "mlp.up_bias ? (1 + $mlp.gated) $F", "$w_n"},
    {SUM_WEIGHTS, IN_LAYERS, "norms and biases", "mlp.down_bias ? h", "$w_n"},
    {0},
};

static const layer_rows MLP_ROWS = {"f", MLP_SYMBOLS, NULL, MLP_MACROS, MLP_OPS, MLP_TERMS};

const layer_kind LAYER_MLP = {
    .name = "mlp",
    .fields = MLP_FIELDS,
    .emit = emit_mlp,
    .count_weights = count_mlp,
    .widest = mlp_widest,
    .widest_formula = "2 f",
    .describe = mlp_describe,
    .rows = &MLP_ROWS,
};
