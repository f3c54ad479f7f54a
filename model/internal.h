/* SPDX-License-Identifier: MIT */
/* What the files of model/ share and nobody else sees. */
#ifndef LLMPERF_MODEL_INTERNAL_H
#define LLMPERF_MODEL_INTERNAL_H

#include "doc.h"
#include "llmperf/predict.h"

/* Vector arithmetic (norms, activations): fp32 where the part has it, else the next best. */
llmperf_dtype vector_dtype_of(const llmperf_hw *hw);

/* The workload with the weights' format as it was asked for: a case of it holds the same formats,
 * where one of c->workload would put a checkpoint's main format in the place of all others. */
llmperf_workload config_asked(const llmperf_config *c);

/* ---- intervals (interval.c) ----------------------------------------------------------------------- */

/* What the operators of one predicted time add up to, per calibration entry. */
typedef struct interval_sum {
    double time_s;
    double launch_s; /* but for collectives */
    double residual; /* standard deviation of log(time) of the whole: an engine profile's */
    double bound_s;  /* of operators without a fit */
    double floor_s;  /* the least that the part's peaks and links allow */
    double vector[LLMPERF_CALIB_ENTRIES_MAX][LLMPERF_PARAM_COUNT]; /* sum of t d(log t)/dp */
    double linear[LLMPERF_CALIB_ENTRIES_MAX], square[LLMPERF_CALIB_ENTRIES_MAX]; /* of t, t^2 */
    /* of a profile's parameters beside the operators: sum of t d(log t)/d(log parameter) */
    double host[LLMPERF_ENGINE_PARAM_COUNT];
} interval_sum;

/* Adds op->repeat x `times` launches of an operator; the case has a calibration. */
void interval_add(interval_sum *sum, const llmperf_config *c, const llmperf_op *op, double times);
llmperf_estimate interval_of(const interval_sum *sum, const llmperf_config *c, double spread);

/* Adds the host's part of `times` equal steps, to what was added since `before`. */
void interval_add_host(interval_sum *sum, const interval_sum *before, const llmperf_config *c,
                       const llmperf_segment *segments, int segment_count, double times);

/* z with P(|N(0,1)| < z) = confidence. */
double normal_quantile(double confidence);

/* ---- compute-bound batch (crossing.c) --------------------------------------------------------------- */

/*
 * Peak and bandwidth that an operator reaches: the datasheet's, or with a calibration e P and e BW, a
 * product's with whole tiles of rows. So they do not depend on how a batch falls on tiles, and compute
 * overtakes memory once; partial tiles only add to compute, so from that batch on it stays so.
 */
void reached_rates(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                   double *ret_peak, double *ret_bandwidth);

/* ---- engine profiles (engine.c) --------------------------------------------------------------------- */

/* Layers and sequences of a step, as the host counts them. */
void host_counts(const llmperf_config *c, const llmperf_segment *segments, int segment_count,
                 double *ret_layers, double *ret_sequences);

/* What the host adds to a step whose operators take ops_s, launch_s of it launches (collectives
 * apart); 0 without a profile. */
double host_time(const llmperf_config *c, const llmperf_segment *segments, int segment_count,
                 double ops_s, double launch_s);

/* How far one part is from another (choose.c); below 0: nothing carries over. ret_kin: of one
 * architecture. */
bool is_processor(const llmperf_hw *hw); /* kind: cpu */
double hw_distance(const llmperf_hw *from, const llmperf_hw *to, bool *ret_kin);

/* ---- layer kinds: what a layer is made of (layers.c) -------------------------------------------- */

/* Where a layer's operators go while a step is emitted. */
typedef struct emitter {
    const llmperf_config *c;
    const llmperf_segment *segments;
    int segment_count;
    double tokens;                         /* T: query tokens of all segments */
    double sequences;                      /* of all segments */
    const llmperf_config_weights *weights; /* of the layer being emitted, or the model's own */
    llmperf_op *ops;
    int count;
} emitter;

typedef struct weight_count {
    int64_t by_class[LLMPERF_WEIGHT_COUNT];
} weight_count;

/*
 * A part of a layer: attention, feed-forward. One row of layers.c, one file layer_X.c.
 *   emit:          its operators on one device, from its norm to the all-reduce behind it
 *   count_weights: adds its weights on one of `tp` devices (1 = the whole model)
 *   kv_values:     cached K and V values of one sequence of `tokens` tokens on one of tp devices,
 *                  one layer; NULL = none
 *   index_values:  cached 8-bit index keys likewise; NULL = none
 *   state_bytes:   constant state of one sequence on one of tp devices, one layer; NULL = none
 *   present:       does the layer have this part?
 */
typedef struct layer_kind {
    const char *name;
    void (*emit)(emitter *e, const llmperf_layer *layer);
    void (*count_weights)(const llmperf_model *model, const llmperf_layer *layer, int64_t tp,
                          weight_count *sum);
    double (*kv_values)(const llmperf_layer *layer, int64_t tp, double tokens);
    double (*index_values)(const llmperf_layer *layer, int64_t tp, double tokens);
    double (*state_bytes)(const llmperf_layer *layer, int64_t tp);
    bool (*present)(const llmperf_layer *layer);
    bool mixes; /* tokens with one another: attention and its kin; else feed-forward */
} layer_kind;

extern const layer_kind LAYER_ATTENTION, LAYER_MLA, LAYER_SSM, LAYER_MLP, LAYER_MOE;
extern const layer_kind *const LAYER_KINDS[];
extern const int LAYER_KIND_COUNT;

/* Emission helpers (ops.c). Each returns the new operator, zeroed but for what it says. */
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

/* KV heads that one device holds: replicated once tp exceeds them. */
static inline int64_t kv_heads_per_device(int64_t kv_heads, int64_t tp)
{
    return kv_heads / tp > 1 ? kv_heads / tp : 1;
}

static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* Both head counts divide among tp devices (or KV heads are replicated evenly). */
bool tp_is_legal(const llmperf_model *model, int64_t tp);

/* Weights of a norm of this width: weight, and bias where the kind has one. */
int64_t norm_weights(const llmperf_model *model, int64_t width);

/* Refuses an empty name and escapes control bytes in it (LLMPERF_NAME_MAX bytes). */
llmperf_status clean_name(const doc *document, const doc_node *node, char *name,
                          llmperf_error *error);

/* `aliases: [..]` of a specification; adds a fault for each bad one. */
llmperf_status read_aliases(const doc *document, doc_node *root, int *ret_count,
                            char (*aliases)[LLMPERF_NAME_MAX], llmperf_error *error);

/* Weights of the model's own (embedding, head, last norm) and of one layer shape (all its layers)
 * on one of tp devices, by class. */
void count_outside(const llmperf_model *model, int64_t tp, weight_count *ret_sum);
void count_layer(const llmperf_model *model, const llmperf_layer *layer, int64_t tp,
                 weight_count *ret_sum);

/* ---- shared by attention and MLA (layer_index.c, layer_attention.c) ------------------------------- */

llmperf_regime segment_regime(const llmperf_segment *s);
/* Causal (query, key) pairs of one sequence; window 0 = none. */
double causal_pairs(double query, double past, double window);
/* Tokens that the queries of one sequence read. */
double keys_read(double query, double past, double window);
llmperf_op *emit_attention_op(emitter *e, llmperf_op_id id, double repeat,
                              const llmperf_segment *s);
void sum_bytes(llmperf_op *op);
/* The indexer's operators: projections, then a pass over every cached key per segment. q_input is
 * what its queries are projected from (the query latent, or hidden). */
void emit_index(emitter *e, const llmperf_layer *layer, double q_input);
void count_index(const llmperf_model *model, const llmperf_layer *layer, int64_t q_input,
                 weight_count *sum);
double index_values(const llmperf_layer *layer, int64_t tp, double tokens);
/* Keys that attention reads once the indexer has chosen. */
double index_limit(const llmperf_layer *layer);

#endif
