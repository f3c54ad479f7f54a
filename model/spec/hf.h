/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face config.json, between the files hf*.c alone:
 *   hf_keys.c <- hf_hooks.c <- hf_families.c, hf_layers.c <- hf.c
 */
#ifndef LLMPERF_SPEC_HF_H
#define LLMPERF_SPEC_HF_H

#include "doc.h"
#include "llmperf/spec.h"
#include "quant.h"
#include "model_object.h"

/* When an optional bias is there. */
typedef enum bias_rule {
    BIAS_NEVER,
    BIAS_ALWAYS,
    BIAS_KEY_OFF, /* the family's key decides; absent = no */
    BIAS_KEY_ON,  /* the family's key decides; absent = yes */
} bias_rule;

typedef enum position_rule {
    POSITIONS_ROPE,
    POSITIONS_LEARNED, /* a table of max_position rows */
    POSITIONS_NONE,    /* ALiBi and the like: no weights, no pass over q and k */
} position_rule;

/* Which layers look through a window when the config has one. */
typedef enum window_rule {
    WINDOW_IGNORED, /* the type has no windows */
    WINDOW_ALL,     /* every layer */
    WINDOW_FROM,    /* use_sliding_window; layers from max_window_layers on */
    WINDOW_EVEN,    /* layers 0, 2, 4 ... */
    WINDOW_PATTERN, /* sliding_window_pattern N: every Nth layer is full */
} window_rule;

typedef enum ffn_rule {
    FFN_REQUIRED,
    FFN_FOUR_HIDDEN, /* 4 x hidden when absent or null */
} ffn_rule;

/* Width of the experts that every token passes. */
typedef enum shared_rule {
    SHARED_NONE,
    SHARED_WIDTH, /* a key holds the width */
    SHARED_COUNT, /* n_shared_experts x the routed experts' width */
    SHARED_ONE,   /* one expert as wide as a routed one */
} shared_rule;

typedef struct hf_family hf_family;
typedef struct hf_reader hf_reader;

struct hf_family {
    const char *model_type;
    bool gated;
    bool tied; /* when no key says so */
    uint8_t norm, norms, qk_norm;
    bool parallel, embedding_norm, head_bias;
    bias_rule qkv_bias, out_bias, mlp_bias;
    const char *bias_key; /* of qkv and out */
    const char *mlp_bias_key;
    position_rule positions;
    int position_offset; /* extra rows of a learned table */
    window_rule windows;
    int pattern; /* WINDOW_PATTERN without its key */
    ffn_rule ffn;
    bool head_dim_required;      /* hidden / heads would be a guess */
    bool moe;                    /* some or all layers hold experts */
    bool expert_is_intermediate; /* intermediate_size is the width of one expert */
    bool expert_bias, router_bias, shared_gate;
    shared_rule shared;
    bool mla, no_rope, gate, sinks;
    void (*hook)(hf_reader *r);
    /* turns the common layer into layer i: mixers of hybrids, chunks ... */
    void (*plan)(hf_reader *r, int64_t i, llmperf_layer *layer);
};

struct hf_reader {
    const doc *document;
    const hf_family *family;
    hf_family declared; /* of a model type that no row knows: what its own keys say */
    doc_node *outer;    /* the file's root */
    doc_node *map;      /* where the text model's keys are */
    llmperf_model *model;
    llmperf_layer layer;
    llmperf_moe moe; /* what a MoE layer holds in place of the dense FFN */
    int64_t layers;
    int64_t window;
    quant_scheme quant;
    llmperf_error *error;
    llmperf_status status;
};

/* ---- keys (hf_keys.c) ------------------------------------------------------------------------ */

/* Keys by which public configs name a dimension, the usual one first. */
extern const char *const HF_HIDDEN_KEYS[],
    *const HF_LAYERS_KEYS[], *const HF_HEADS_KEYS[],
                                 *const HF_KV_HEADS_KEYS[],
                                     *const HF_HEAD_DIM_KEYS[],
                                         *const HF_FFN_KEYS[],
                                             *const HF_EXPERTS_KEYS[],
                                                 *const HF_ACTIVE_KEYS[],
                                                     *const HF_EXPERT_FFN_KEYS[],
                                                         *const HF_SHARED_WIDTH_KEYS[],
                                                             *const HF_SHARED_COUNT_KEYS[],
                                                                 *const HF_VOCAB_KEYS[],
                                                                     *const HF_CONTEXT_KEYS[];

/* Remembers the first failure; true when there was none. */
bool hf_done(hf_reader *r, llmperf_status status);
/* The fault just reported is something that this version does not count. */
void hf_unsupported(hf_reader *r);

/* null counts as absent. */
doc_node *hf_find(doc_node *map, const char *key);
doc_node *hf_find_any(doc_node *map, const char *const *keys);

/* An optional dimension; false when it is absent (or faulty, which is reported). */
bool hf_dimension(hf_reader *r, const char *const *keys, int64_t max, int64_t *ret_value);
bool hf_dimension_required(hf_reader *r, const char *const *keys, int64_t max, int64_t *ret_value);
int64_t hf_integer_or(hf_reader *r, const char *key, int64_t absent);
int64_t hf_required_integer(hf_reader *r, const char *key);
bool hf_flag(hf_reader *r, const char *key, bool absent);
bool hf_has_bias(hf_reader *r, bias_rule rule, const char *key);

/* A list with an entry a layer that is shorter is refused, once: at the last layer. */
void hf_check_length(hf_reader *r, const doc_node *list, int64_t i);
/* Item i of a list of integers or booleans, one a layer. */
int64_t hf_list_item(hf_reader *r, doc_node *list, int64_t i, int64_t absent);
bool hf_list_has(doc_node *list, int64_t wanted);
/* Item i of a list of words, NULL when there is none. */
const char *hf_list_word(doc_node *list, int64_t i);

/* ---- what some types write in their own way (hf_hooks.c) ------------------------------------- */

void hook_gpt_bigcode(hf_reader *r);
void hook_falcon(hf_reader *r);
void hook_qwen1(hf_reader *r);
void hook_mpt(hf_reader *r);
void hook_opt(hf_reader *r);
void hook_chatglm(hf_reader *r);
void hook_gpt_neox(hf_reader *r);
void hook_baichuan(hf_reader *r);
void hook_stablelm(hf_reader *r);
void hook_cohere(hf_reader *r);
void hook_bloom(hf_reader *r);
void hook_qk_norm_flag(hf_reader *r);
void hook_dbrx(hf_reader *r);
void hook_llama4(hf_reader *r);
void hook_minimax_m3(hf_reader *r);
void hook_granite_hybrid(hf_reader *r);
void hook_nemotron_h(hf_reader *r);
void hook_mimo(hf_reader *r);
void hook_kimi_linear(hf_reader *r);
void plan_llama4(hf_reader *r, int64_t i, llmperf_layer *layer);
void plan_qwen_hybrid(hf_reader *r, int64_t i, llmperf_layer *layer);
void plan_jamba(hf_reader *r, int64_t i, llmperf_layer *layer);
void plan_granite_hybrid(hf_reader *r, int64_t i, llmperf_layer *layer);
void plan_nemotron_h(hf_reader *r, int64_t i, llmperf_layer *layer);
void plan_minimax_m1(hf_reader *r, int64_t i, llmperf_layer *layer);
void plan_minimax_m3(hf_reader *r, int64_t i, llmperf_layer *layer);
void plan_mimo(hf_reader *r, int64_t i, llmperf_layer *layer);
void plan_kimi_linear(hf_reader *r, int64_t i, llmperf_layer *layer);
void plan_index_types(hf_reader *r, int64_t i, llmperf_layer *layer);
void plan_mamba(hf_reader *r, int64_t i, llmperf_layer *layer);
void plan_nas(hf_reader *r, int64_t i, llmperf_layer *layer);

/* ---- the text model and its family (hf_families.c); the layer plan (hf_layers.c) -------------- */

/* Sets r->map and r->family; false, with a fault, when there is no model type that is counted. */
bool hf_find_family(hf_reader *r);
void hf_plan_layers(hf_reader *r);

#endif
