/* SPDX-License-Identifier: MIT */
/*
 * What layers emit their operators with. docs/model.md, "Operators", derives the formulas.
 */
#include <string.h>

#include "emit.h"
#include "model_object.h"

int64_t norm_weights(const llmperf_model *model, int64_t width)
{
    switch (model->norm) {
    case LLMPERF_NORM_LAYER:
        return 2 * width;
    case LLMPERF_NORM_BARE:
        return 0;
    default:
        return width;
    }
}

llmperf_op *emit_op(emitter *e, llmperf_op_id id, llmperf_op_kind kind, llmperf_op_group group,
                    double repeat)
{
    llmperf_op *op = e->count < e->capacity ? &e->ops[e->count] : &e->spare;
    e->count++;
    memset(op, 0, sizeof *op);
    op->id = (uint8_t)id;
    op->kind = (uint8_t)kind;
    op->group = (uint8_t)group;
    op->launches = 1;
    op->devices = 1;
    op->repeat = repeat;
    return op;
}

llmperf_op *emit_gemm(emitter *e, llmperf_op_id id, llmperf_weight_class weights, double m,
                      double n, double k, double repeat)
{
    llmperf_op *op = emit_op(e, id, LLMPERF_KIND_GEMM, LLMPERF_GROUP_DENSE, repeat);
    op->dtype = e->weights->gemm_dtype[weights];
    op->stored = e->weights->dtype[weights];
    op->m = m;
    op->n = n;
    op->k = k;
    op->flop = 2 * m * n * k;
    op->weight_bytes = n * k * e->weights->bytes_per[weights];
    op->input_bytes = m * k * e->c->act_bytes_per;
    op->output_bytes = m * n * e->c->act_bytes_per;
    op->bytes = op->weight_bytes + op->input_bytes + op->output_bytes;
    return op;
}

llmperf_op *emit_elementwise(emitter *e, llmperf_op_id id, double flop, double values_in,
                             double values_out, double weights, double repeat)
{
    llmperf_op *op = emit_op(e, id, LLMPERF_KIND_ELEMENTWISE, LLMPERF_GROUP_OTHER, repeat);
    op->dtype = e->c->vector_dtype;
    op->flop = flop;
    op->weight_bytes = weights * e->weights->bytes_per[LLMPERF_WEIGHT_OTHER];
    op->input_bytes = values_in * e->c->act_bytes_per;
    op->output_bytes = values_out * e->c->act_bytes_per;
    op->bytes = op->weight_bytes + op->input_bytes + op->output_bytes;
    return op;
}

void emit_norm(emitter *e, llmperf_op_id id, double rows, double width, double repeat)
{
    const llmperf_model *model = e->c->model;
    /* RMS: square, sum, scale, weight; layer norm also subtracts the mean and adds a bias */
    double flop_per_value = model->norm == LLMPERF_NORM_RMS ? 4 : 7;
    double values = rows * width;
    emit_elementwise(e, id, flop_per_value * values, values, values,
                     (double)norm_weights(model, (int64_t)width), repeat);
}

/* The residual stream, read and written by the norm that follows (add and norm are one launch in
 * every engine): the branch that is added is that norm's input. */
void emit_residual(emitter *e, double repeat)
{
    double values = e->tokens * (double)e->c->model->hidden;
    llmperf_op *op = emit_elementwise(e, LLMPERF_OP_RESIDUAL, values, values, values, 0, repeat);
    op->launches = 0;
}

void emit_collective(emitter *e, llmperf_op_id id, llmperf_collective collective, double bytes,
                     double repeat)
{
    double devices = (double)e->c->workload.tp;
    if (devices <= 1)
        return;
    llmperf_op *op = emit_op(e, id, LLMPERF_KIND_COLLECTIVE, LLMPERF_GROUP_OTHER, repeat);
    op->collective = (uint8_t)collective;
    op->devices = e->c->workload.tp;
    op->link_bytes = llmperf_collective_share(collective, devices) * bytes;
}

void sum_bytes(llmperf_op *op)
{
    op->bytes = op->weight_bytes + op->input_bytes + op->output_bytes + op->kv_read_bytes +
                op->kv_write_bytes;
}
