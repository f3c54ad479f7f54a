/* SPDX-License-Identifier: MIT */
/* What a model is inside. */
#ifndef LLMPERF_MODEL_OBJECT_H
#define LLMPERF_MODEL_OBJECT_H

#include "llmperf/spec.h"

typedef enum llmperf_norm_kind {
    LLMPERF_NORM_RMS,   /* one weight per channel */
    LLMPERF_NORM_LAYER, /* weight and bias */
    LLMPERF_NORM_LAYER_NOBIAS,
    LLMPERF_NORM_BARE, /* no weights */
} llmperf_norm_kind;

typedef enum llmperf_qk_norm {
    LLMPERF_QK_NORM_NONE,
    LLMPERF_QK_NORM_HEAD,     /* one weight per channel of a head, shared by the heads */
    LLMPERF_QK_NORM_FULL,     /* one weight per channel of all heads */
    LLMPERF_QK_NORM_PER_HEAD, /* a weight per channel and head, normed head by head */
} llmperf_qk_norm;

typedef enum llmperf_ssm_kind {
    LLMPERF_SSM_NONE,
    LLMPERF_SSM_MAMBA,  /* selective state space, first form (Jamba) */
    LLMPERF_SSM_MAMBA2, /* (Nemotron-H, Granite 4) */
    LLMPERF_SSM_DELTA,  /* gated delta net (Qwen3-Next) */
    LLMPERF_SSM_KDA,    /* Kimi delta attention */
    LLMPERF_SSM_LINEAR, /* lightning attention (MiniMax-M1) */
} llmperf_ssm_kind;

/*
 * Parts that a layer may have; each is there when its first field is above zero. A plain decoder
 * layer has attention and mlp; a mixture-of-experts layer attention and moe; a hybrid's layer a
 * state-space mixer in place of attention; one-mixer blocks (Nemotron-H) a single part.
 */

/* Self-attention: MHA (kv_heads = heads), GQA, MQA (kv_heads = 1). */
typedef struct llmperf_attention {
    int64_t heads, kv_heads;
    int64_t head_dim;  /* of q and k */
    int64_t value_dim; /* of v; equals head_dim but for a few models */
    int64_t window;    /* keys a query sees at most; 0 = all */
    int64_t chunk;     /* positions attend inside chunks of this size (Llama 4); 0 = no chunks */
    bool qkv_bias, out_bias;
    bool rope;       /* rotary positions (an elementwise pass over q and k) */
    bool gate;       /* output gate: the q projection is twice as wide (Qwen3-Next) */
    bool sinks;      /* a learned logit per head (gpt-oss) */
    bool shares_kv;  /* reads the cache of an earlier layer: no k, v projections, no cache */
    uint8_t qk_norm; /* llmperf_qk_norm */
} llmperf_attention;

/* Multi-head latent attention: what is cached is one latent of kv_rank + rope_dim values. */
typedef struct llmperf_mla {
    int64_t heads;
    int64_t q_rank; /* 0 = q is projected directly */
    int64_t kv_rank;
    int64_t nope_dim, rope_dim, value_dim; /* of one head */
    bool gate;                             /* output gate of heads x value_dim (Kimi K3) */
} llmperf_mla;

/* Indexer of sparse attention (DeepSeek-V3.2, GLM-5): scores every cached key, attention then
 * reads the top_k best. Index keys are cached in 8 bit. */
typedef struct llmperf_index {
    int64_t top_k; /* tokens that attention reads at most; 0 = dense attention */
    int64_t heads, dim;
    bool shared; /* takes the choice of an earlier layer: no indexer of its own */
} llmperf_index;

/*
 * State-space and linear attention: a constant state per sequence.
 *   mamba:  heads = 1, head_dim = inner width, state = N, dt_rank
 *   mamba2: heads x head_dim = inner width, state = N, groups share B and C
 *   delta, kda, linear: heads value heads of head_dim; groups key heads of state (key size)
 */
typedef struct llmperf_ssm {
    int64_t kind; /* llmperf_ssm_kind */
    int64_t heads, head_dim, state, groups;
    int64_t conv;    /* kernel of the causal convolution; 0 = none */
    int64_t dt_rank; /* mamba */
    bool conv_bias, proj_bias, bc_norm;
} llmperf_ssm;

/* Feed-forward network: gated = gate and up projections side by side, else up alone. */
typedef struct llmperf_mlp {
    int64_t ffn;
    bool gated;
    bool up_bias, down_bias;
} llmperf_mlp;

/* Mixture of experts: a router picks `active` of `experts` for each token. */
typedef struct llmperf_moe {
    int64_t experts, active;
    int64_t ffn;        /* width of one expert */
    int64_t shared_ffn; /* width of the experts that every token passes, together; 0 = none */
    int64_t latent;     /* width the routed experts work in, behind a projection; 0 = hidden */
    bool gated;
    bool expert_bias, router_bias;
    bool shared_gate; /* a scalar gate on the shared experts (Qwen2-MoE) */
} llmperf_moe;

/* How one class of weights is held and computed with. */
typedef struct llmperf_weight_format {
    uint8_t dtype;   /* llmperf_dtype of storage; NONE = the model's */
    uint8_t operand; /* llmperf_dtype that activations are quantised to; NONE = they stay */
    double bits;     /* effective, scales included */
} llmperf_weight_format;

/* `count` layers of one shape. */
typedef struct llmperf_layer {
    int64_t count;
    int64_t norms; /* hidden-wide norms in the layer: 2, 1 (parallel blocks), 4 (Gemma 2) */
    bool parallel; /* attention and FFN read the same normed input, one residual add */
    llmperf_attention attention;
    llmperf_mla mla;
    llmperf_index index; /* of attention or MLA */
    llmperf_ssm ssm;
    llmperf_mlp mlp;
    llmperf_moe moe;
    /* fields of kinds without a struct above; the file of the kind says which is what */
    int64_t own[LLMPERF_LAYER_OWN_MAX];
    /* where this layer's weights differ from the model's */
    llmperf_weight_format weights[LLMPERF_WEIGHT_COUNT];
} llmperf_layer;

struct llmperf_model {
    char name[LLMPERF_NAME_MAX];
    char architecture[LLMPERF_NAME_MAX]; /* model_type of the config, or "ad hoc" */
    char source[LLMPERF_TEXT_MAX];       /* where the facts come from */
    int alias_count;
    char aliases[LLMPERF_ALIASES_MAX][LLMPERF_NAME_MAX];

    int64_t hidden, vocab;
    int64_t embedding_dim; /* width of the embedding table; hidden unless projected (OPT-350m) */
    int64_t position_embeddings; /* rows of a learned position table; 0 = none */
    int64_t max_context;         /* trained context; 0 = not said */
    bool tied;                   /* LM head is the embedding table */
    bool head_bias;
    bool embedding_norm; /* a norm right after the embedding (BLOOM) */
    bool final_norm;
    uint8_t norm; /* llmperf_norm_kind */

    int layer_kind_count;
    llmperf_layer layers[LLMPERF_LAYER_KINDS_MAX]; /* the layer plan, by shape */

    uint8_t dtype;    /* llmperf_dtype of the file (activations follow it) */
    uint8_t kv_dtype; /* the checkpoint's own scheme, or NONE */
    /* format of each class of weights and its effective bits per weight */
    uint8_t weight_dtype[LLMPERF_WEIGHT_COUNT];
    uint8_t weight_operand[LLMPERF_WEIGHT_COUNT]; /* dtype activations are quantised to, or NONE */
    double weight_bits[LLMPERF_WEIGHT_COUNT];
    char scheme[48];    /* quantisation scheme of the checkpoint, "" = none */
    int64_t mtp_params; /* multi-token-prediction layers, not part of the count */

    int64_t published_params;           /* from the source, for checks; 0 = not said */
    char not_counted[LLMPERF_TEXT_MAX]; /* towers, MTP layers ... that the numbers leave out */
    llmperf_notes notes;                /* of the file: quirks and sources */
    llmperf_notes warnings;             /* of the reader: what was assumed, what is suspicious */
};

#endif
