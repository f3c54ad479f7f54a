/* SPDX-License-Identifier: MIT */
/*
 * From specifications to numbers: a workload and a deployment, the operators of a step, memory,
 * the compute-bound batch, and the whole prediction.
 */
#ifndef LLMPERF_PREDICT_H
#define LLMPERF_PREDICT_H

#include "llmperf/calib.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is asked. Zero means default; the has_ flags are for values whose zero means something. */
typedef struct llmperf_workload {
    size_t size;      /* of this struct */
    int64_t batch;    /* sequences decoded together; 1 */
    int64_t prompt;   /* prompt tokens of each; 1024 */
    int64_t generate; /* new tokens of each; 256 */
    int64_t cached;   /* prompt tokens that a prefix cache already holds; 0 */
    int64_t context;  /* tokens cached when a decode step starts; prompt + generate / 2 */
    bool has_context;
    int64_t chunk; /* most prefill tokens in a step; 8192 */
    int64_t query; /* query tokens per sequence of a decode step (verification); 1 */

    llmperf_dtype weight_dtype; /* of dense weights; the checkpoint's */
    llmperf_dtype act_dtype;    /* the file's dtype */
    llmperf_dtype kv_dtype;     /* the checkpoint's scheme, else the activations' */
    bool unfused;    /* attention as two batched products and a softmax, scores in memory */
    bool logits_all; /* LM head for every token instead of the last of each prompt */
    bool split_qkv;  /* three projections instead of one */

    double moe_skew; /* routing is a power law p_i ~ i^-skew; 0 = uniform */

    int64_t tp;                /* tensor-parallel degree; 1 */
    double memory_utilization; /* engine's share of usable memory; 0.9 */
    double reserve_bytes;      /* context and libraries; 1 GiB */
    bool has_reserve;
    int64_t kv_block; /* tokens per KV cache block; 16 */

    double tpot_s, ttft_s;  /* targets; 0 = none */
    double price_usd_per_h; /* of one device; 0 = the part's, if it has one */
    double confidence;      /* of intervals; 0.9 */
    uint64_t room[32];      /* for what comes; 0 */
} llmperf_workload;

#define LLMPERF_WORKLOAD_INIT LLMPERF_SIZED(llmperf_workload)

/*
 * A model on a part under a workload, resolved and checked: defaults filled in, formats and the
 * arithmetic dtype chosen, sharding legal. Borrows model, hw (NULL = counting only) and calib
 * (NULL = ideal); they must outlive it unchanged. Read-only in use, so threads may share it.
 */
typedef struct llmperf_config llmperf_config;

/* workload NULL: every default. Errors: LLMPERF_E_USAGE for an illegal degree or a value the model
 * forbids (legal ones listed), LLMPERF_E_UNSUPPORTED when the part has no usable peak or no link for
 * tp > 1, LLMPERF_E_SPEC for hardware that is none, LLMPERF_E_MEMORY. */
LLMPERF_API llmperf_status llmperf_config_new(const llmperf_model *model, const llmperf_hw *hw,
                                              const llmperf_calib *calib,
                                              const llmperf_workload *workload,
                                              llmperf_config **ret_config, llmperf_error *error);
/* One of its own, for llmperf_config_move(). Errors: LLMPERF_E_MEMORY. */
LLMPERF_API llmperf_status llmperf_config_copy(const llmperf_config *c, llmperf_config **ret_config,
                                               llmperf_error *error);
/* Makes one config the same as another. Nothing is allocated. */
LLMPERF_API void llmperf_config_assign(llmperf_config *c, const llmperf_config *from);
LLMPERF_API void llmperf_config_free(llmperf_config *c); /* NULL is fine */

/* What it borrows; NULL = none. */
LLMPERF_API const llmperf_model *llmperf_config_model(const llmperf_config *c);
LLMPERF_API const llmperf_hw *llmperf_config_hw(const llmperf_config *c);
LLMPERF_API const llmperf_calib *llmperf_config_calib(const llmperf_config *c);
/* With every default filled in, formats too; belongs to the config. */
LLMPERF_API const llmperf_workload *llmperf_config_workload(const llmperf_config *c);
/* What was widened, replicated or exceeded. */
LLMPERF_API const llmperf_notes *llmperf_config_notes(const llmperf_config *c);

/* Whether its prompts can be timed step by step: each prefill step is evaluated, and a chunk that makes a
 * million of them is a slip of the pen. Errors: LLMPERF_E_USAGE. */
LLMPERF_API llmperf_status llmperf_config_check_steps(const llmperf_config *c,
                                                      llmperf_error *error);

/* The arithmetic that most of the dense weights run in. */
LLMPERF_API llmperf_dtype llmperf_config_compute_dtype(const llmperf_config *c);

/* ---- operators of a step ---------------------------------------------------------------------- */

/* Sequences of one step that are alike: each brings `query` new tokens after `past` cached ones;
 * `logits` rows of the LM head are computed for all of them together. */
typedef struct llmperf_segment {
    int64_t sequences, query, past, logits;
    bool decode; /* a decode or verification step: MLA takes its absorbed form */
} llmperf_segment;

/* Enough for every step of a model with this many layer shapes. */
#define LLMPERF_OPS_PER_LAYER_KIND 48
#define LLMPERF_SEGMENTS_MAX 4    /* that a prefill in chunks makes */
#define LLMPERF_OPS_PER_SEGMENT 8 /* more, of each layer shape, for each segment beyond those */
#define LLMPERF_OPS_MAX (LLMPERF_LAYER_KINDS_MAX * LLMPERF_OPS_PER_LAYER_KIND + 16)

/*
 * The operators of one step that runs `segments` together, on one device. Any number of segments.
 *   capacity: of ret_ops; llmperf_emit_capacity() is enough, LLMPERF_OPS_MAX for up to
 *             LLMPERF_SEGMENTS_MAX segments of any model
 *   returns:  their number; above `capacity` when not all are in ret_ops
 *   source:   docs/model.md, "Operators"
 */
LLMPERF_API int llmperf_emit(const llmperf_config *c, const llmperf_segment *segments,
                             int segment_count, int capacity, llmperf_op *ret_ops);
/* Room for every step of up to `segments` segments; c NULL = of any model. */
LLMPERF_API int llmperf_emit_capacity(const llmperf_config *c, int segments);

/* The one segment of a decode step at a batch and a context (cached tokens). */
LLMPERF_API llmperf_segment llmperf_decode_segment(const llmperf_config *c, int64_t batch,
                                                   int64_t past);

/* Sums over the operators of a step (or of several), times repeat. */
typedef struct llmperf_total {
    double flop, weight_bytes, input_bytes, output_bytes, kv_read_bytes, kv_write_bytes, bytes;
    double link_bytes;
    double time_s;                      /* 0 without hardware, like all below */
    double compute_s, memory_s;         /* sums of the terms */
    double launch_s;                    /* sum of launch times but for collectives */
    double link_s;                      /* time of collectives */
    double host_s;                      /* of an engine profile, added to the operators */
    double group_s[LLMPERF_GROUPS_MAX]; /* time - launch of the group, collectives apart */
    double group_compute_s[LLMPERF_GROUPS_MAX], group_memory_s[LLMPERF_GROUPS_MAX];
    double bound_s[LLMPERF_BOUNDS_MAX]; /* time of the operators by what bounds them */
} llmperf_total;

/* Adds op->repeat x `times` launches of one operator; time NULL = counted only. */
LLMPERF_API void llmperf_total_add(llmperf_total *total, const llmperf_op *op,
                                   const llmperf_time *time, double times);

/*
 * Room for a step, owned by the caller: one a thread, for any number of steps and configs. `segments` is
 * the most that a step may have (LLMPERF_SEGMENTS_MAX where in doubt), `c` the config with the most
 * layer shapes, or NULL for any. Errors: LLMPERF_E_USAGE, LLMPERF_E_MEMORY.
 */
typedef struct llmperf_workspace llmperf_workspace;
LLMPERF_API llmperf_status llmperf_workspace_new(const llmperf_config *c, int segments,
                                                 llmperf_workspace **ret_workspace,
                                                 llmperf_error *error);
LLMPERF_API void llmperf_workspace_free(llmperf_workspace *workspace); /* NULL is fine */

/* The operators of the last step and the times of one launch of each; they last until the next one. */
LLMPERF_API const llmperf_op *llmperf_workspace_ops(const llmperf_workspace *workspace,
                                                    int *ret_count);
LLMPERF_API const llmperf_time *llmperf_workspace_times(const llmperf_workspace *workspace);

/* Emits, times and sums one step: the one place where that is done. No allocation. Returns the number
 * of operators; -1, with *ret_total untouched, when the workspace has no room for them. */
LLMPERF_API int llmperf_step(const llmperf_config *c, const llmperf_segment *segments,
                             int segment_count, llmperf_workspace *workspace,
                             llmperf_total *ret_total);

/*
 * Calls `visit` for each distinct step of the prefill of `batch` prompts in steps of at most
 * `chunk` tokens, with the number of times it runs. Tokens are taken prompt after prompt, so a
 * step may end one prompt, hold several and begin another (up to three segments).
 */
typedef void (*llmperf_prefill_visit)(const llmperf_segment *segments, int segment_count,
                                      double times, void *context);
LLMPERF_API void llmperf_prefill_steps(const llmperf_config *c, int64_t batch, int64_t chunk,
                                       llmperf_prefill_visit visit, void *context);

/* Sum over the whole prefill of `batch` prompts. Returns the number of steps. */
LLMPERF_API double llmperf_prefill_total(const llmperf_config *c, int64_t batch,
                                         llmperf_workspace *workspace, llmperf_total *ret_total);

/* Arithmetic of operands a and b on hw: the smallest peak of the part that holds both. Without hw
 * every dtype counts as present. LLMPERF_DTYPE_NONE: no usable peak. */
LLMPERF_API llmperf_dtype llmperf_compute_dtype(const llmperf_hw *hw, llmperf_dtype a,
                                                llmperf_dtype b);

/* ---- memory ------------------------------------------------------------------------------------ */

typedef struct llmperf_memory {
    double weight_bytes, kv_bytes, state_bytes, activation_bytes, reserved_bytes, total_bytes;
    double capacity_bytes;
    bool fits;
    int64_t max_batch;          /* whose prompt + generated tokens fit; 0 = not even one */
    int64_t max_context_tokens; /* per sequence at the asked batch; 0 = none */
} llmperf_memory;

/* Per device. Needs hw. */
LLMPERF_API void llmperf_memory_of(const llmperf_config *c, llmperf_memory *ret_memory);
LLMPERF_API double llmperf_state_bytes(const llmperf_config *c, int64_t batch);
/* Parts of it. */
LLMPERF_API double llmperf_weight_bytes(const llmperf_config *c); /* per device */
LLMPERF_API double llmperf_kv_bytes(const llmperf_config *c, int64_t batch, int64_t tokens);
LLMPERF_API double llmperf_activation_bytes(const llmperf_config *c, int64_t batch, int64_t prompt);

/* KV bytes of one more token, whole model, one sequence, at `bytes_per_element`: below every
 * window, and beyond all windows. */
LLMPERF_API double llmperf_kv_bytes_per_token(const llmperf_model *model, double bytes_per_element);
LLMPERF_API double llmperf_kv_bytes_per_token_long(const llmperf_model *model,
                                                   double bytes_per_element);
/* Index keys of sparse attention and the constant state of state-space layers: bytes of one more
 * token, and bytes per sequence, whole model. */
LLMPERF_API double llmperf_index_bytes_per_token(const llmperf_model *model);
LLMPERF_API double llmperf_state_bytes_per_sequence(const llmperf_model *model);
/* Weights of the whole model as the case holds them (or as the file does, c NULL). */
LLMPERF_API double llmperf_model_weight_bytes(const llmperf_model *model, const llmperf_config *c);

/* ---- compute-bound batch ------------------------------------------------------------------------ */

/* From this batch on compute takes at least as long as memory. */
typedef struct llmperf_crossing {
    bool exists;
    int64_t batch;
    int64_t low, high; /* interval of a calibrated one, else batch; high 0 = perhaps never */
    double exact;      /* before rounding up */
    char why[128];     /* where it does not exist */
} llmperf_crossing;

typedef struct llmperf_op_crossing {
    uint8_t id; /* llmperf_op_id */
    double n, k;
    llmperf_crossing crossing;
} llmperf_op_crossing;

#define LLMPERF_CROSSINGS_MAX 64

typedef struct llmperf_crossings {
    llmperf_crossing dense, step;
    int op_count;
    llmperf_op_crossing op[LLMPERF_CROSSINGS_MAX]; /* distinct dense operators */
} llmperf_crossings;

/*
 * Smallest m with 2 m n k / peak >= bytes / bandwidth of one GEMM, closed form:
 *   m* = w n k / (2 n k / R - a (n + k)), R = peak / bandwidth; none if the divisor is <= 0.
 *   w, a: bytes per weight and activation element.  source: docs/model.md
 */
LLMPERF_API llmperf_crossing llmperf_gemm_crossing(double n, double k, double w, double a,
                                                   double peak_flop_per_s, double bytes_per_s);

/* Decode, at the case's context. calib NULL = from the datasheet. Needs hw. */
LLMPERF_API llmperf_status llmperf_crossings_of(const llmperf_config *c, const llmperf_calib *calib,
                                                llmperf_workspace *workspace,
                                                llmperf_crossings *ret_crossings,
                                                llmperf_error *error);

/* ---- the whole prediction ------------------------------------------------------------------------ */

typedef enum llmperf_estimate_kind {
    LLMPERF_ESTIMATE_BOUND,
    LLMPERF_ESTIMATE_BORROWED,
    LLMPERF_ESTIMATE_CALIBRATED,
} llmperf_estimate_kind;

LLMPERF_API const char *llmperf_estimate_kind_name(llmperf_estimate_kind kind);

/* What the times of a case are: bounds without a calibration, borrowed with another part's. */
LLMPERF_API llmperf_estimate_kind llmperf_config_estimate_kind(const llmperf_config *c);

/* A predicted time or rate with its interval. For a bound: a time's value = low, a rate's = high. */
typedef struct llmperf_estimate {
    double value, low, high;
} llmperf_estimate;

/* Published spread of measured / roofline, 95th percentile, by class. docs/model.md, "Bounds". */
typedef enum llmperf_spread_class {
    LLMPERF_SPREAD_DECODE_STEP,
    LLMPERF_SPREAD_PREFILL_STEP,
    LLMPERF_SPREAD_COUNT
} llmperf_spread_class;
LLMPERF_API double llmperf_spread(llmperf_spread_class spread);

typedef struct llmperf_phase {
    llmperf_estimate time_s, tokens_per_s;
    llmperf_total total;
    uint8_t bound; /* llmperf_bound under which most of the time is spent */
} llmperf_phase;

typedef struct llmperf_share {
    double dense, attention, other, launch, link, host; /* of a decode step; sum to 1 */
} llmperf_share;

/* What attention takes of the throughput that batching gains (docs/model.md, "Compute-bound batch"). */
typedef struct llmperf_batching {
    int64_t batch; /* at which it is taken: the asked one, or memory's limit at batch 1 */
    double taken, taken_long; /* fractions, at the context and at four times it */
} llmperf_batching;

typedef struct llmperf_prediction {
    size_t size;             /* of this struct */
    const llmperf_config *c; /* borrowed */
    llmperf_params params;
    llmperf_memory memory;
    llmperf_estimate_kind kind;
    llmperf_phase prefill, decode;
    double prefill_steps;
    llmperf_share share;
    llmperf_estimate tokens_per_s_per_seq;
    llmperf_estimate ttft_s, ttft_batch_s, tpot_s, e2e_s;
    llmperf_crossings datasheet, calibrated;
    bool has_calibrated;
    int64_t latency_knee_batch;
    bool has_knee;
    llmperf_batching batching;
    int64_t max_batch_at_tpot; /* valid with a TPOT target */
    llmperf_estimate tpot_at_max_batch_s;
    bool limited_by_memory;
    bool has_cost, has_energy;
    double cost_usd_per_mtok, energy_wh_per_mtok; /* of decode alone */
    /* of whole requests: the prefill of all prompts is part of what their new tokens cost */
    double cost_with_prefill_usd_per_mtok, energy_with_prefill_wh_per_mtok;
    /* where it does not fit: what would */
    int64_t fitting_tp;                 /* smallest legal degree that fits; 0 = none tried fits */
    llmperf_dtype fitting_weight_dtype; /* NONE = none of fp8, int4 fits */
    int64_t fitting_context;            /* tokens per sequence at this batch; 0 = none */
    llmperf_notes notes;
    uint64_t room[64]; /* for what comes; 0 */
} llmperf_prediction;

#define LLMPERF_PREDICTION_INIT LLMPERF_SIZED(llmperf_prediction)

/* Needs hw. A deployment that does not fit is predicted all the same (memory.fits says so).
 * Errors: LLMPERF_E_MEMORY. */
LLMPERF_API llmperf_status llmperf_predict(const llmperf_config *c,
                                           llmperf_prediction *ret_prediction,
                                           llmperf_error *error);

/* One point of a sweep: a decode step, or the prefill of all prompts. */
typedef enum llmperf_sweep_phase {
    LLMPERF_SWEEP_DECODE,
    LLMPERF_SWEEP_PREFILL
} llmperf_sweep_phase;

typedef struct llmperf_point {
    llmperf_estimate time_s, tokens_per_s;
    double intensity_flop_per_byte;
    double total_bytes;         /* of memory per device at prompt + generate tokens */
    llmperf_estimate_kind kind; /* a bound where the calibration times less than half of it */
    uint8_t bound;              /* llmperf_bound under which most of the time is spent */
    bool fits;
} llmperf_point;

/* Needs hw. No allocation; about as dear as one step (decode) or one step per chunk (prefill). */
LLMPERF_API void llmperf_point_of(const llmperf_config *c, llmperf_sweep_phase phase,
                                  llmperf_workspace *workspace, llmperf_point *ret_point);

/* Moves a config to another batch (up to 2^30), prompt (above the cached tokens) and context (both up
 * to 2^30); everything else stays resolved as it is. What is beyond them is not done. */
LLMPERF_API void llmperf_config_move(llmperf_config *c, int64_t batch, int64_t prompt,
                                     int64_t context);

/* Cached tokens half-way through generation: where decode is taken unless a context is asked. */
LLMPERF_API int64_t llmperf_mean_context(int64_t prompt, int64_t generate);

/* Bytes on one device at the case's batch and length, and whether they fit. */
LLMPERF_API double llmperf_memory_total(const llmperf_config *c, bool *ret_fits);

/* Decode step time at a batch and the case's context. */
LLMPERF_API double llmperf_tpot(const llmperf_config *c, int64_t batch,
                                llmperf_workspace *workspace);

/* Time of one launch of an operator, and of `count` operators as often as each repeats, with the
 * interval of the case's calibration or the bounds of a decode step. */
LLMPERF_API llmperf_estimate llmperf_estimate_op(const llmperf_config *c, const llmperf_op *op,
                                                 llmperf_workspace *workspace);
LLMPERF_API llmperf_estimate llmperf_estimate_ops(const llmperf_config *c, const llmperf_op *ops,
                                                  int count, llmperf_workspace *workspace);

/* Lines on what the numbers leave out. */
LLMPERF_API void llmperf_not_modelled(const llmperf_config *c, llmperf_notes *ret_notes);

#ifdef __cplusplus
}
#endif

#endif
