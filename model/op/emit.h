/* SPDX-License-Identifier: MIT */
/* Emission and counting of operators: the helpers that layer kinds use. */
#ifndef LLMPERF_OP_EMIT_H
#define LLMPERF_OP_EMIT_H

#include "layer_kind.h"
#include "config_object.h"

/* Where a layer's operators go while a step is emitted. */
struct emitter {
    const llmperf_config *c;
    const llmperf_segment *segments;
    int segment_count;
    double tokens;                         /* T: query tokens of all segments */
    double sequences;                      /* of all segments */
    const llmperf_config_weights *weights; /* of the layer being emitted, or the model's own */
    llmperf_op *ops;
    int count, capacity; /* emitted, also those that ops had no room for */
    llmperf_op spare;    /* where these go */
};

/* Emission helpers (emit.c). Each returns the new operator, zeroed but for what it says. */
llmperf_op *emit_op(emitter *e, llmperf_op_id id, llmperf_op_kind kind, llmperf_op_group group,
                    double repeat);
/* Dense m x n x k with weights of a class. */
llmperf_op *emit_gemm(emitter *e, llmperf_op_id id, llmperf_weight_class weights, double m,
                      double n, double k, double repeat);
/* Elementwise pass: values read and written in the activation format, weights of class OTHER. */
llmperf_op *emit_elementwise(emitter *e, llmperf_op_id id, double flop, double values_in,
                             double values_out, double weights, double repeat);
/* One norm over `rows` of `width`, weights included. */
void emit_norm(emitter *e, llmperf_op_id id, double rows, double width, double repeat);
void emit_residual(emitter *e, double repeat);
/* All-reduce or all-gather of `bytes` over the TP group; nothing when tp = 1. */
void emit_collective(emitter *e, llmperf_op_id id, llmperf_collective collective, double bytes,
                     double repeat);

/* op->bytes of its parts, once they are all set. */
void sum_bytes(llmperf_op *op);

/* KV heads that one device holds: replicated once tp exceeds them. */
static inline int64_t kv_heads_per_device(int64_t kv_heads, int64_t tp)
{
    return kv_heads / tp > 1 ? kv_heads / tp : 1;
}

static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* Weights of a norm of this width: weight, and bias where the kind has one. */
int64_t norm_weights(const llmperf_model *model, int64_t width);

/* Weights of the model's own (embedding, head, last norm) and of one layer shape (all its layers)
 * on one of tp devices, by class. */
void count_outside(const llmperf_model *model, int64_t tp, weight_count *ret_sum);
void count_layer(const llmperf_model *model, const llmperf_layer *layer, int64_t tp,
                 weight_count *ret_sum);

/* ---- shared by attention, MLA and the indexer (attend.c, layer_index.c) ---------------------------- */

llmperf_regime segment_regime(const llmperf_segment *s);
/* Causal (query, key) pairs of one sequence; window 0 = none. */
double causal_pairs(double query, double past, double window);
/* Tokens that the queries of one sequence read. */
double keys_read(double query, double past, double window);
llmperf_op *emit_attention_op(emitter *e, llmperf_op_id id, double repeat,
                              const llmperf_segment *s);
/* The indexer's operators: projections, then a pass over every cached key per segment. q_input is
 * what its queries are projected from (the query latent, or hidden). */
void emit_index(emitter *e, const llmperf_layer *layer, double q_input);
void count_index(const llmperf_model *model, const llmperf_layer *layer, int64_t q_input,
                 weight_count *sum);
double index_values(const llmperf_layer *layer, int64_t tp, double tokens);
/* Keys that attention reads once the indexer has chosen. */
double index_limit(const llmperf_layer *layer);

/* Distinct experts that `tokens` tokens touch in a layer (expected), of one device. */
double moe_distinct_experts(const llmperf_moe *moe, double tokens, double skew);

#endif
