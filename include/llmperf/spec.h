/* SPDX-License-Identifier: MIT */
/*
 * What a model and a part are: typed values read from YAML or a Hugging Face config.json.
 */
#ifndef LLMPERF_SPEC_H
#define LLMPERF_SPEC_H

#include "llmperf/op.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LLMPERF_NAME_MAX 96
#define LLMPERF_TEXT_MAX 384
#define LLMPERF_PATH_MAX 4096
#define LLMPERF_NOTES_MAX 16
#define LLMPERF_ALIASES_MAX 24
#define LLMPERF_LAYER_KINDS_MAX 64
#define LLMPERF_LAYER_OWN_MAX 8

/* Lines for a person: what was assumed, what is suspicious. */
typedef struct llmperf_notes {
    int count;
    char text[LLMPERF_NOTES_MAX][LLMPERF_TEXT_MAX];
} llmperf_notes;

/* Adds a line (cut to size); further ones than LLMPERF_NOTES_MAX are dropped. */
LLMPERF_API void llmperf_note(llmperf_notes *notes, const char *format, ...) LLMPERF_PRINTF(2, 3);

/* ---- model ---------------------------------------------------------------------------------- */

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

typedef enum llmperf_ssm_kind {
    LLMPERF_SSM_NONE,
    LLMPERF_SSM_MAMBA,  /* selective state space, first form (Jamba) */
    LLMPERF_SSM_MAMBA2, /* (Nemotron-H, Granite 4) */
    LLMPERF_SSM_DELTA,  /* gated delta net (Qwen3-Next) */
    LLMPERF_SSM_KDA,    /* Kimi delta attention */
    LLMPERF_SSM_LINEAR, /* lightning attention (MiniMax-M1) */
} llmperf_ssm_kind;

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

/* Classes of weights that a checkpoint may hold in different formats. */
typedef enum llmperf_weight_class {
    LLMPERF_WEIGHT_EMBEDDING, /* token (and learned position) embeddings; also a tied head */
    LLMPERF_WEIGHT_HEAD,
    LLMPERF_WEIGHT_ATTENTION, /* projections of attention, MLA and indexers */
    LLMPERF_WEIGHT_SSM,       /* projections of state-space and linear-attention mixers */
    LLMPERF_WEIGHT_MLP,       /* dense feed-forward networks */
    LLMPERF_WEIGHT_EXPERTS,   /* routed experts */
    LLMPERF_WEIGHT_SHARED,    /* shared experts */
    LLMPERF_WEIGHT_ROUTER,
    LLMPERF_WEIGHT_OTHER, /* norms, biases, convolutions */
    LLMPERF_WEIGHT_COUNT
} llmperf_weight_class;

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

typedef struct llmperf_model {
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
} llmperf_model;

/* Exact parameters by class; the sum of all is the model's count. */
typedef struct llmperf_params {
    int64_t by_class[LLMPERF_WEIGHT_COUNT];
    int64_t total;
    int64_t active;    /* of one token: experts that it does not pass left out */
    int64_t embedding; /* token and position tables: what a step does not stream */
} llmperf_params;

LLMPERF_API llmperf_params llmperf_model_params(const llmperf_model *model);

/* Compares the count with the one that the model's file says was published, if it does; `name` stands
 * for the file. Errors: LLMPERF_E_SPEC when they differ by more than 0.5 %. */
LLMPERF_API llmperf_status llmperf_model_check_params(const llmperf_model *model, const char *name,
                                                      llmperf_error *error);

/* Number of layers of all kinds. */
LLMPERF_API int64_t llmperf_model_layers(const llmperf_model *model);

/* Checks what every function below relies on (dimensions in range, heads a multiple of KV heads
 * ...). Readers call it; call it for a model filled in by hand. Errors: LLMPERF_E_SPEC. */
LLMPERF_API llmperf_status llmperf_model_check(const llmperf_model *model, llmperf_error *error);

/* Reads a model file: our YAML, or a Hugging Face config.json (also a folder that holds one).
 * Errors: LLMPERF_E_IO, LLMPERF_E_SPEC with position, LLMPERF_E_UNSUPPORTED for an architecture
 * or feature that is not counted (by name). */
LLMPERF_API llmperf_status llmperf_model_load(const char *path, llmperf_model *ret_model,
                                              llmperf_error *error);

/* The same from memory; `name` stands for the file in messages. */
LLMPERF_API llmperf_status llmperf_model_load_text(const char *name, const char *text, size_t size,
                                                   llmperf_model *ret_model, llmperf_error *error);

/* Applies a scheme by name (fp8, awq, mxfp4 ...; "none" undoes the checkpoint's own) to the dense
 * weights of a model; embedding, LM head, routers and norms stay. mxfp4 quantises experts alone
 * where there are any. Errors: LLMPERF_E_USAGE for an unknown name. */
LLMPERF_API llmperf_status llmperf_model_quantise(llmperf_model *model, const char *name,
                                                  llmperf_error *error);
/* The names, NULL-terminated; static storage. */
LLMPERF_API const char *const *llmperf_quant_names(void);

/* ---- hardware ------------------------------------------------------------------------------- */

typedef enum llmperf_confidence {
    LLMPERF_CONFIDENCE_NONE,
    LLMPERF_CONFIDENCE_READ,     /* read in the named text */
    LLMPERF_CONFIDENCE_MIRRORED, /* from a copy of it */
    LLMPERF_CONFIDENCE_DERIVED,  /* computed, scaled or halved */
} llmperf_confidence;

/* Fields of a hardware file that may have a source of their own. */
typedef enum llmperf_hw_field {
    LLMPERF_HW_DEFAULT, /* the whole file */
    LLMPERF_HW_PEAK,
    LLMPERF_HW_MEMORY,
    LLMPERF_HW_MEMORY_USABLE,
    LLMPERF_HW_BANDWIDTH,
    LLMPERF_HW_BANDWIDTH_ACHIEVABLE,
    LLMPERF_HW_L2,
    LLMPERF_HW_UNITS,
    LLMPERF_HW_CLOCK,
    LLMPERF_HW_LAUNCH,
    LLMPERF_HW_LINK,
    LLMPERF_HW_NODES,
    LLMPERF_HW_PCIE,
    LLMPERF_HW_POWER,
    LLMPERF_HW_PRICE,
    LLMPERF_HW_FIELD_COUNT
} llmperf_hw_field;

LLMPERF_API const char *llmperf_hw_field_name(llmperf_hw_field field);
LLMPERF_API const char *llmperf_confidence_name(llmperf_confidence confidence);

typedef struct llmperf_provenance {
    uint8_t confidence; /* llmperf_confidence */
    char source[LLMPERF_TEXT_MAX];
} llmperf_provenance;

/* A way between devices. bytes_per_s is per direction and device. */
typedef struct llmperf_link {
    char kind[24]; /* "nvlink", "xgmi", "pcie", "infiniband" ...; "" = none */
    double bytes_per_s;
    double latency_s;
    bool latency_assumed; /* the documented default of its kind, not the file's */
    int64_t domain;       /* devices that reach each other over it; 0 = not said */
} llmperf_link;

typedef struct llmperf_hw {
    /* dense peak per dtype, flop/s (an integer operation counts as one flop); 0 = none */
    double peak_flop_per_s[LLMPERF_DTYPE_COUNT];
    double mem_bytes_per_s;
    double units;       /* SMs, CUs, cores; 0 = not said */
    llmperf_link link;  /* between devices of one node */
    llmperf_link nodes; /* between nodes */
    llmperf_link pcie;  /* host bus, the way between devices without a link */
    int64_t pcie_generation, pcie_lanes;

    char name[LLMPERF_NAME_MAX];
    char kind[24]; /* gpu, cpu, tpu, accelerator */
    char vendor[48], architecture[48];
    int alias_count;
    char aliases[LLMPERF_ALIASES_MAX][LLMPERF_NAME_MAX];
    char absent[LLMPERF_DTYPE_COUNT][128]; /* why a dtype has no peak; "" = not said */

    double memory_bytes;
    double memory_usable_bytes;        /* what the driver reports; 0 = not said */
    double mem_achievable_bytes_per_s; /* 0 = not said */
    double l2_bytes, clock_hz, launch_s, power_w, price_usd_per_h; /* 0 = not said */

    llmperf_provenance provenance[LLMPERF_HW_FIELD_COUNT];
    llmperf_notes notes;    /* of the file: traps and disagreements */
    llmperf_notes warnings; /* of the reader: suspicious values */
} llmperf_hw;

/* Reads a hardware YAML. Errors: LLMPERF_E_IO, LLMPERF_E_SPEC with position. */
LLMPERF_API llmperf_status llmperf_hw_load(const char *path, llmperf_hw *ret_hw,
                                           llmperf_error *error);
LLMPERF_API llmperf_status llmperf_hw_load_text(const char *name, const char *text, size_t size,
                                                llmperf_hw *ret_hw, llmperf_error *error);
LLMPERF_API llmperf_status llmperf_hw_check(const llmperf_hw *hw, llmperf_error *error);

/* The link a group of `devices` works over: the node's own link while the group fits into its
 * domain, else the link between nodes; PCIe where there is no link. NULL: no way is known. */
LLMPERF_API const llmperf_link *llmperf_hw_link(const llmperf_hw *hw, int64_t devices);

/* Is this a name or an alias of the part, as llmperf_same_part() compares them? */
LLMPERF_API bool llmperf_hw_is(const llmperf_hw *hw, const char *name);

/* Source and confidence of one field: its own, else the file's. */
LLMPERF_API const llmperf_provenance *llmperf_hw_provenance(const llmperf_hw *hw,
                                                            llmperf_hw_field field);

/* ---- where specifications are found ----------------------------------------------------------- */

/* Folders that hold models/, hardware/ and calibration/, searched in order. Filled by the program. */
typedef struct llmperf_spec_paths {
    int count;
    char folder[8][LLMPERF_PATH_MAX];
} llmperf_spec_paths;

/* A path is anything with a '/' or a known suffix (.yaml .yml .json .gguf): it is taken as it is.
 * Else a shipped name or alias, never looked up in the current directory. Fills ret_path (at
 * least LLMPERF_PATH_MAX bytes). Errors: LLMPERF_E_USAGE for an unknown name, with a suggestion. */
LLMPERF_API llmperf_status llmperf_find_model(const llmperf_spec_paths *paths, const char *name,
                                              char *ret_path, llmperf_error *error);
LLMPERF_API llmperf_status llmperf_find_hw(const llmperf_spec_paths *paths, const char *name,
                                           char *ret_path, llmperf_error *error);
LLMPERF_API llmperf_status llmperf_find_calib(const llmperf_spec_paths *paths, const char *name,
                                              char *ret_path, llmperf_error *error);

/* Calls `visit` for each shipped file of a kind ("models" or "hardware"), by name, each name once
 * (the first folder wins). A visit that returns false ends the walk. */
typedef bool (*llmperf_spec_visit)(const char *name, const char *path, void *context);
LLMPERF_API llmperf_status llmperf_list_specs(const llmperf_spec_paths *paths, const char *kind,
                                              llmperf_spec_visit visit, void *context,
                                              llmperf_error *error);

/* Compares the peaks of a part with the shipped ones and adds a warning to hw->warnings for each
 * that looks 2:4-sparse: twice the dense peak of a part of the same bandwidth. */
LLMPERF_API llmperf_status llmperf_hw_suspect(const llmperf_spec_paths *paths, llmperf_hw *hw,
                                              llmperf_error *error);

/* ---- flat files of keys and values -------------------------------------------------------------- */

/* `place` is "FILE:LINE:COL"; the items of a list come as one text with commas. */
typedef void (*llmperf_pair_visit)(const char *place, const char *key, const char *value,
                                   void *context);

/* Reads a YAML or JSON map of scalars and lists of scalars, in order; null values are passed over.
 * Errors: LLMPERF_E_IO, LLMPERF_E_SPEC. */
LLMPERF_API llmperf_status llmperf_read_pairs(const char *path, llmperf_pair_visit visit,
                                              void *context, llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
