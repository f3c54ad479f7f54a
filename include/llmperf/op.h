/* SPDX-License-Identifier: MIT */
/*
 * llmperf_op, the common currency: a model emits operators, a backend times them, a fit compares
 * the time formula with the timings, a prediction sums the formula over the operators.
 */
#ifndef LLMPERF_OP_H
#define LLMPERF_OP_H

#include "llmperf/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number formats of weights, activations, KV cache and arithmetic. */
typedef enum llmperf_dtype {
    LLMPERF_DTYPE_NONE = 0, /* not said */
    LLMPERF_DTYPE_FP64,
    LLMPERF_DTYPE_FP32,
    LLMPERF_DTYPE_TF32,
    LLMPERF_DTYPE_BF16,
    LLMPERF_DTYPE_FP16,
    LLMPERF_DTYPE_FP8, /* e4m3 or e5m2 */
    LLMPERF_DTYPE_INT8,
    LLMPERF_DTYPE_INT4, /* 4.0 bits: scales not included */
    LLMPERF_DTYPE_FP6,
    LLMPERF_DTYPE_NVFP4, /* 4.5 bits: an fp8 scale per 16 elements */
    LLMPERF_DTYPE_MXFP4, /* 4.25 bits: an e8m0 scale per 32 elements */
    LLMPERF_DTYPE_Q8_0,  /* 8.5 bits: an fp16 scale per 32 elements */
    LLMPERF_DTYPE_Q4_0,  /* 4.5 bits: an fp16 scale per 32 elements */
    LLMPERF_DTYPE_COUNT
} llmperf_dtype;

#define LLMPERF_DTYPES_MAX 32 /* room for the enum to grow, in arrays that a dtype indexes */

/* Our name of a dtype, "bf16"; "none" for LLMPERF_DTYPE_NONE. Static storage. */
LLMPERF_API const char *llmperf_dtype_name(llmperf_dtype dtype);

/* Effective bits of one element, scales included. */
LLMPERF_API double llmperf_dtype_bits(llmperf_dtype dtype);

/* Reads any spelling found in public files ("bfloat16", "torch.float16", "float8_e4m3fn", "fp4"),
 * case-insensitively; LLMPERF_DTYPE_NONE when unknown. */
LLMPERF_API llmperf_dtype llmperf_dtype_parse(const char *text);

/* NULL-terminated list of our names, for messages and completion. Static storage. */
LLMPERF_API const char *const *llmperf_dtype_names(void);

typedef enum llmperf_op_kind {
    LLMPERF_KIND_GEMM,        /* (m x k) times (k x n) with resident weights */
    LLMPERF_KIND_ATTENTION,   /* fused core, or one of the unfused batched products */
    LLMPERF_KIND_ELEMENTWISE, /* norm, rope, activation, residual, softmax */
    LLMPERF_KIND_GATHER,      /* embedding look-up */
    LLMPERF_KIND_SCAN,        /* state-space and linear attention */
    LLMPERF_KIND_COLLECTIVE,
    LLMPERF_KIND_COUNT
} llmperf_op_kind;

typedef enum llmperf_op_group {
    LLMPERF_GROUP_DENSE, /* every weight GEMM but the router's */
    LLMPERF_GROUP_ATTENTION,
    LLMPERF_GROUP_OTHER,
    LLMPERF_GROUP_COUNT
} llmperf_op_group;

#define LLMPERF_GROUPS_MAX 4 /* room for the enum to grow */

typedef enum llmperf_regime {
    LLMPERF_REGIME_NONE,    /* everything but attention and scans */
    LLMPERF_REGIME_PREFILL, /* no cached tokens */
    LLMPERF_REGIME_EXTEND,  /* several query tokens over cached ones: chunks, verification */
    LLMPERF_REGIME_DECODE,  /* one query token per sequence */
    LLMPERF_REGIME_MIXED,   /* one launch for a prompt (or a chunk of it) and decoding sequences */
    LLMPERF_REGIME_COUNT
} llmperf_regime;

/* What an operator is; llmperf_op_name() gives the contract's name. */
typedef enum llmperf_op_id {
    LLMPERF_OP_EMBED,
    LLMPERF_OP_EMBED_PROJECT, /* tables narrower than the model (OPT-350m) */
    LLMPERF_OP_NORM,
    LLMPERF_OP_ATTN_QKV,
    LLMPERF_OP_ATTN_Q,
    LLMPERF_OP_ATTN_K,
    LLMPERF_OP_ATTN_V,
    LLMPERF_OP_ATTN_Q_A, /* MLA */
    LLMPERF_OP_ATTN_Q_B,
    LLMPERF_OP_ATTN_KV_A,
    LLMPERF_OP_ATTN_KV_B,
    LLMPERF_OP_ATTN_K_ABSORB,
    LLMPERF_OP_ATTN_V_ABSORB,
    LLMPERF_OP_ATTN_GATE,
    LLMPERF_OP_INDEX_Q, /* sparse attention's indexer */
    LLMPERF_OP_INDEX_K,
    LLMPERF_OP_INDEX_CORE,
    LLMPERF_OP_ROPE,
    LLMPERF_OP_ATTN_CORE,
    LLMPERF_OP_ATTN_SCORES,
    LLMPERF_OP_ATTN_SOFTMAX,
    LLMPERF_OP_ATTN_VALUES,
    LLMPERF_OP_ATTN_OUT,
    LLMPERF_OP_SSM_IN,
    LLMPERF_OP_SSM_CONV,
    LLMPERF_OP_SSM_DT,
    LLMPERF_OP_SSM_SCAN,
    LLMPERF_OP_SSM_GATE,
    LLMPERF_OP_SSM_OUT,
    LLMPERF_OP_RESIDUAL,
    LLMPERF_OP_MLP_GATE_UP,
    LLMPERF_OP_MLP_UP,
    LLMPERF_OP_MLP_ACT,
    LLMPERF_OP_MLP_DOWN,
    LLMPERF_OP_MOE_ROUTER,
    LLMPERF_OP_MOE_LATENT_DOWN,
    LLMPERF_OP_MOE_LATENT_UP,
    LLMPERF_OP_MOE_GATE_UP,
    LLMPERF_OP_MOE_UP,
    LLMPERF_OP_MOE_ACT,
    LLMPERF_OP_MOE_DOWN,
    LLMPERF_OP_MOE_SHARED_GATE_UP,
    LLMPERF_OP_MOE_SHARED_UP,
    LLMPERF_OP_MOE_SHARED_ACT,
    LLMPERF_OP_MOE_SHARED_DOWN,
    LLMPERF_OP_HEAD_PROJECT,
    LLMPERF_OP_LM_HEAD,
    LLMPERF_OP_COMM_EMBED,
    LLMPERF_OP_COMM_ATTN,
    LLMPERF_OP_COMM_MLP,
    LLMPERF_OP_COMM_LOGITS,
    LLMPERF_OP_COUNT
} llmperf_op_id;

typedef enum llmperf_collective {
    LLMPERF_COLLECTIVE_NONE,
    LLMPERF_COLLECTIVE_ALL_REDUCE,
    LLMPERF_COLLECTIVE_ALL_GATHER,
    /* no model emits these yet; measured and fitted for whoever sums operators of their own */
    LLMPERF_COLLECTIVE_REDUCE_SCATTER,
    LLMPERF_COLLECTIVE_ALL_TO_ALL,
    LLMPERF_COLLECTIVE_SEND_RECV,
    LLMPERF_COLLECTIVE_COUNT
} llmperf_collective;

/* "all_reduce" ...; NULL for LLMPERF_COLLECTIVE_NONE. */
LLMPERF_API const char *llmperf_collective_name(llmperf_collective collective);

/*
 * What each of N devices sends over its link, per byte of the buffer as nccl-tests counts it:
 * all-reduce 2 (N - 1)/N, all-gather, reduce-scatter (of the whole) and all-to-all (of what one
 * device sends) (N - 1)/N, send and receive 1.
 */
LLMPERF_API double llmperf_collective_share(llmperf_collective collective, double devices);

/*
 * One operator of one step on ONE device. Every quantity is for ONE launch; the step runs it
 * `repeat` times (layers of one shape). FMA = 2 flop; bytes cross the device's memory once.
 *   gemm:       flop = 2 m n k; weight = n k w; input = m k a; output = m n a
 *   attention:  m = n = k = 0; input = q, output = result, K and V only in kv_read and kv_write
 *   collective: link_bytes = what each device sends over its link (bus bytes), no memory bytes
 */
typedef struct llmperf_op {
    uint8_t id;         /* llmperf_op_id */
    uint8_t kind;       /* llmperf_op_kind */
    uint8_t group;      /* llmperf_op_group */
    uint8_t regime;     /* llmperf_regime */
    uint8_t dtype;      /* llmperf_dtype the arithmetic runs in */
    uint8_t collective; /* llmperf_collective */
    /* 1 = a launch of its own; 0 = rides in its neighbour's (the residual add inside a norm) */
    uint8_t launches;
    uint8_t stored;  /* gemm: llmperf_dtype of the weights; NONE = not said */
    int64_t devices; /* that take part in a collective, else 1 */
    double repeat;
    double m, n, k; /* gemm only, else 0; m may be a fraction (expected tokens per expert) */
    double flop;
    double weight_bytes, input_bytes, output_bytes, kv_read_bytes, kv_write_bytes;
    double bytes; /* sum of the five above */
    double link_bytes;
    /* attention only: its shape on this device, for the work-item and extend terms and for
     * whoever measures it */
    double sequences, query_tokens, past_tokens;
    double heads, kv_heads, head_dim, value_dim;
    /* regime mixed only, else 0: sequences of one query each beside the prompt, whose shape the three
     * counts above are; flop and bytes above are of both */
    double lone_sequences, lone_past; /* their number; cached tokens of each, on average */
    double lone_flop, lone_kv_read_bytes;
    double longest_keys; /* that one query of the launch sees */
    uint64_t room[4];    /* for what comes; 0 */
} llmperf_op;

/* The two parts of a mixed launch as launches of their own, as a step without the other has them. */
LLMPERF_API llmperf_op llmperf_op_prompt(const llmperf_op *op);
LLMPERF_API llmperf_op llmperf_op_lone(const llmperf_op *op);

/* One of the grouped products of a mixture of experts, which time all active experts together. */
LLMPERF_API bool llmperf_op_is_experts(const llmperf_op *op);

LLMPERF_API const char *llmperf_op_name(llmperf_op_id id);
/* The id of a contract name; LLMPERF_OP_COUNT when there is none. */
LLMPERF_API llmperf_op_id llmperf_op_parse(const char *name);
LLMPERF_API const char *llmperf_kind_name(llmperf_op_kind kind);
LLMPERF_API const char *llmperf_group_name(llmperf_op_group group);
/* NULL for LLMPERF_REGIME_NONE. */
LLMPERF_API const char *llmperf_regime_name(llmperf_regime regime);

#ifdef __cplusplus
}
#endif

#endif
