/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face config.json -> llmperf_model, by a table of model types.
 *
 * A config.json says dimensions, its model type says the rest: biases, norms, whether the FFN is
 * gated, whether the head is tied when no key says so. A row per model type holds those facts; a
 * few types need a hook for a dimension that they write in their own way. Dimensions are never
 * guessed: what is missing is named, all of it at once.
 */
#include <stdio.h>
#include <string.h>

#include "doc.h"
#include "emit.h"
#include "quant.h"
#include "read.h"

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

static void hook_gpt_bigcode(hf_reader *r);
static void hook_falcon(hf_reader *r);
static void hook_qwen1(hf_reader *r);
static void hook_mpt(hf_reader *r);
static void hook_opt(hf_reader *r);
static void hook_chatglm(hf_reader *r);
static void hook_gpt_neox(hf_reader *r);
static void hook_baichuan(hf_reader *r);
static void hook_stablelm(hf_reader *r);
static void hook_cohere(hf_reader *r);
static void hook_bloom(hf_reader *r);
static void hook_qk_norm_flag(hf_reader *r);
static void hook_dbrx(hf_reader *r);
static void hook_llama4(hf_reader *r);
static void hook_minimax_m3(hf_reader *r);
static void hook_granite_hybrid(hf_reader *r);
static void hook_nemotron_h(hf_reader *r);
static void hook_mimo(hf_reader *r);
static void hook_kimi_linear(hf_reader *r);
static void plan_llama4(hf_reader *r, int64_t i, llmperf_layer *layer);
static void plan_qwen_hybrid(hf_reader *r, int64_t i, llmperf_layer *layer);
static void plan_jamba(hf_reader *r, int64_t i, llmperf_layer *layer);
static void plan_granite_hybrid(hf_reader *r, int64_t i, llmperf_layer *layer);
static void plan_nemotron_h(hf_reader *r, int64_t i, llmperf_layer *layer);
static void plan_minimax_m1(hf_reader *r, int64_t i, llmperf_layer *layer);
static void plan_minimax_m3(hf_reader *r, int64_t i, llmperf_layer *layer);
static void plan_mimo(hf_reader *r, int64_t i, llmperf_layer *layer);
static void plan_kimi_linear(hf_reader *r, int64_t i, llmperf_layer *layer);
static void plan_index_types(hf_reader *r, int64_t i, llmperf_layer *layer);
static void plan_mamba(hf_reader *r, int64_t i, llmperf_layer *layer);
static void plan_nas(hf_reader *r, int64_t i, llmperf_layer *layer);

#define RMS .norm = LLMPERF_NORM_RMS, .norms = 2
#define LAYER_NORM .norm = LLMPERF_NORM_LAYER, .norms = 2
#define LLAMA_LIKE .gated = true, RMS
#define ALL_BIASES .qkv_bias = BIAS_ALWAYS, .out_bias = BIAS_ALWAYS, .mlp_bias = BIAS_ALWAYS

/* In alphabetical order. Facts: the reference implementation of each type. */
static const hf_family FAMILIES[] = {
    {"Yi", LLAMA_LIKE},
    {"apertus", .gated = false, RMS, .qk_norm = LLMPERF_QK_NORM_HEAD, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"arcee", .gated = false, RMS, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "mlp_bias"},
    {"baichuan", LLAMA_LIKE, .hook = hook_baichuan},
    {"bloom", LAYER_NORM, .tied = true, ALL_BIASES, .embedding_norm = true,
     .positions = POSITIONS_NONE, .ffn = FFN_FOUR_HIDDEN, .hook = hook_bloom},
    {"chatglm", LLAMA_LIKE, .qkv_bias = BIAS_KEY_OFF, .bias_key = "add_qkv_bias",
     .out_bias = BIAS_NEVER, .hook = hook_chatglm},
    {"codegen", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true, .mlp_bias = BIAS_ALWAYS,
     .head_bias = true, .ffn = FFN_FOUR_HIDDEN},
    {"cohere", .gated = true, .norm = LLMPERF_NORM_LAYER_NOBIAS, .norms = 1, .parallel = true,
     .tied = true, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias",
     .hook = hook_cohere},
    {"cohere2", .gated = true, .norm = LLMPERF_NORM_LAYER_NOBIAS, .norms = 1, .parallel = true,
     .tied = true, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias",
     .windows = WINDOW_PATTERN, .pattern = 4},
    {"dbrx", .gated = true, .norm = LLMPERF_NORM_LAYER_NOBIAS, .norms = 2, .moe = true,
     .hook = hook_dbrx},
    {"deci", LLAMA_LIKE, .plan = plan_nas},
    {"deepseek", LLAMA_LIKE, .moe = true, .shared = SHARED_COUNT, .qkv_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias"},
    {"deepseek_v2", LLAMA_LIKE, .mla = true, .moe = true, .shared = SHARED_COUNT},
    {"deepseek_v3", LLAMA_LIKE, .mla = true, .moe = true, .shared = SHARED_COUNT,
     .router_bias = true},
    {"deepseek_v32", LLAMA_LIKE, .mla = true, .moe = true, .shared = SHARED_COUNT,
     .router_bias = true, .plan = plan_index_types},
    {"ernie4_5", LLAMA_LIKE, .tied = true, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "use_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "use_bias"},
    {"ernie4_5_moe", LLAMA_LIKE, .tied = true, .moe = true, .shared = SHARED_COUNT,
     .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF, .bias_key = "use_bias",
     .router_bias = true},
    {"exaone", LLAMA_LIKE},
    {"exaone4", LLAMA_LIKE, .qk_norm = LLMPERF_QK_NORM_HEAD, .windows = WINDOW_PATTERN,
     .pattern = 4},
    {"falcon", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "bias",
     .ffn = FFN_FOUR_HIDDEN, .hook = hook_falcon},
    {"gemma", LLAMA_LIKE, .tied = true, .head_dim_required = true, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"gemma2", .gated = true, .norm = LLMPERF_NORM_RMS, .norms = 4, .tied = true,
     .head_dim_required = true, .windows = WINDOW_EVEN},
    {"gemma3_text", .gated = true, .norm = LLMPERF_NORM_RMS, .norms = 4, .tied = true,
     .head_dim_required = true, .qk_norm = LLMPERF_QK_NORM_HEAD, .windows = WINDOW_PATTERN,
     .pattern = 6},
    {"glm", LLAMA_LIKE, .qkv_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"glm4", .gated = true, .norm = LLMPERF_NORM_RMS, .norms = 4, .qkv_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias"},
    {"glm4_moe", LLAMA_LIKE, .moe = true, .shared = SHARED_COUNT, .router_bias = true,
     .head_dim_required = true, .qkv_bias = BIAS_KEY_OFF, .bias_key = "attention_bias",
     .hook = hook_qk_norm_flag},
    {"glm_moe_dsa", LLAMA_LIKE, .mla = true, .moe = true, .shared = SHARED_COUNT,
     .router_bias = true, .plan = plan_index_types},
    {"gpt2", LAYER_NORM, .tied = true, ALL_BIASES, .positions = POSITIONS_LEARNED,
     .ffn = FFN_FOUR_HIDDEN},
    {"gpt_bigcode", LAYER_NORM, .tied = true, ALL_BIASES, .positions = POSITIONS_LEARNED,
     .ffn = FFN_FOUR_HIDDEN, .hook = hook_gpt_bigcode},
    {"gpt_neox", LAYER_NORM, .qkv_bias = BIAS_KEY_ON, .out_bias = BIAS_KEY_ON,
     .bias_key = "attention_bias", .mlp_bias = BIAS_ALWAYS, .hook = hook_gpt_neox},
    {"gpt_oss", LLAMA_LIKE, .moe = true, .expert_is_intermediate = true, .expert_bias = true,
     .router_bias = true, .sinks = true, .head_dim_required = true, .qkv_bias = BIAS_KEY_ON,
     .out_bias = BIAS_KEY_ON, .bias_key = "attention_bias", .windows = WINDOW_EVEN},
    {"gptj", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true, .mlp_bias = BIAS_ALWAYS,
     .head_bias = true, .ffn = FFN_FOUR_HIDDEN},
    {"granite", LLAMA_LIKE, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "mlp_bias"},
    {"granitemoe", LLAMA_LIKE, .moe = true, .expert_is_intermediate = true,
     .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"granitemoehybrid", LLAMA_LIKE, .hook = hook_granite_hybrid, .plan = plan_granite_hybrid},
    {"granitemoeshared", LLAMA_LIKE, .moe = true, .expert_is_intermediate = true,
     .shared = SHARED_WIDTH, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias"},
    {"helium", LLAMA_LIKE, .head_dim_required = true, .qkv_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias"},
    {"hunyuan_v1_dense", LLAMA_LIKE, .qk_norm = LLMPERF_QK_NORM_HEAD, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"internlm", LLAMA_LIKE, .qkv_bias = BIAS_KEY_ON, .out_bias = BIAS_KEY_ON, .bias_key = "bias"},
    {"internlm2", LLAMA_LIKE, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "bias"},
    {"internlm3", LLAMA_LIKE, .qkv_bias = BIAS_KEY_OFF, .bias_key = "qkv_bias",
     .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "bias"},
    {"jamba", LLAMA_LIKE, .moe = true, .expert_is_intermediate = true, .no_rope = true,
     .plan = plan_jamba},
    {"kimi_k2", LLAMA_LIKE, .mla = true, .moe = true, .shared = SHARED_COUNT, .router_bias = true},
    {"kimi_linear", LLAMA_LIKE, .mla = true, .moe = true, .shared = SHARED_COUNT,
     .router_bias = true, .hook = hook_kimi_linear, .plan = plan_kimi_linear},
    {"llama", LLAMA_LIKE, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "mlp_bias"},
    {"llama4_text", LLAMA_LIKE, .moe = true, .expert_is_intermediate = true, .shared = SHARED_ONE,
     .head_dim_required = true, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .hook = hook_llama4, .plan = plan_llama4},
    {"mamba", .norm = LLMPERF_NORM_RMS, .norms = 1, .tied = true, .plan = plan_mamba},
    {"mimo_v2_flash", LLAMA_LIKE, .moe = true, .shared = SHARED_COUNT, .router_bias = true,
     .head_dim_required = true, .qkv_bias = BIAS_KEY_OFF, .bias_key = "attention_bias",
     .hook = hook_mimo, .plan = plan_mimo},
    {"minicpm", LLAMA_LIKE, .tied = true},
    {"minicpm3", LLAMA_LIKE, .tied = true, .mla = true},
    {"minimax_m1", LLAMA_LIKE, .moe = true, .expert_is_intermediate = true,
     .head_dim_required = true, .plan = plan_minimax_m1},
    {"minimax_m2", LLAMA_LIKE, .moe = true, .expert_is_intermediate = true, .router_bias = true,
     .qk_norm = LLMPERF_QK_NORM_FULL, .head_dim_required = true},
    {"minimax_m3", LLAMA_LIKE, .moe = true, .expert_is_intermediate = true, .shared = SHARED_COUNT,
     .router_bias = true, .qk_norm = LLMPERF_QK_NORM_HEAD, .head_dim_required = true,
     .hook = hook_minimax_m3, .plan = plan_minimax_m3},
    {"ministral", LLAMA_LIKE, .windows = WINDOW_ALL},
    {"ministral3", LLAMA_LIKE, .windows = WINDOW_ALL},
    {"mistral", LLAMA_LIKE, .windows = WINDOW_ALL},
    {"mixtral", LLAMA_LIKE, .moe = true, .expert_is_intermediate = true, .windows = WINDOW_ALL},
    {"mpt", .norm = LLMPERF_NORM_LAYER_NOBIAS, .norms = 2, .tied = true,
     .positions = POSITIONS_LEARNED, .ffn = FFN_FOUR_HIDDEN, .hook = hook_mpt},
    {"nemotron", LAYER_NORM, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "mlp_bias"},
    {"nemotron-nas", LLAMA_LIKE, .plan = plan_nas},
    {"nemotron_h", .norm = LLMPERF_NORM_RMS, .norms = 1, .no_rope = true, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias", .hook = hook_nemotron_h,
     .plan = plan_nemotron_h},
    {"olmo", .gated = true, .norm = LLMPERF_NORM_BARE, .norms = 2, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"olmo2", LLAMA_LIKE, .qk_norm = LLMPERF_QK_NORM_FULL, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"olmo3", LLAMA_LIKE, .qk_norm = LLMPERF_QK_NORM_FULL, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias", .windows = WINDOW_PATTERN,
     .pattern = 4},
    {"olmoe", LLAMA_LIKE, .moe = true, .expert_is_intermediate = true,
     .qk_norm = LLMPERF_QK_NORM_FULL, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias"},
    {"opt", LAYER_NORM, .tied = true, .qkv_bias = BIAS_KEY_ON, .out_bias = BIAS_KEY_ON,
     .bias_key = "enable_bias", .mlp_bias = BIAS_KEY_ON, .mlp_bias_key = "enable_bias",
     .positions = POSITIONS_LEARNED, .position_offset = 2, .hook = hook_opt},
    {"phi", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true, ALL_BIASES, .head_bias = true,
     .ffn = FFN_FOUR_HIDDEN},
    {"phi-msft", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true, ALL_BIASES,
     .head_bias = true, .ffn = FFN_FOUR_HIDDEN},
    {"phi3", LLAMA_LIKE, .windows = WINDOW_ALL},
    {"phimoe", .gated = true, LAYER_NORM, .moe = true, .expert_is_intermediate = true,
     .head_bias = true, .qkv_bias = BIAS_KEY_ON, .out_bias = BIAS_KEY_ON,
     .bias_key = "attention_bias", .windows = WINDOW_ALL},
    {"qwen", LLAMA_LIKE, .qkv_bias = BIAS_ALWAYS, .hook = hook_qwen1},
    {"qwen2", LLAMA_LIKE, .qkv_bias = BIAS_ALWAYS, .windows = WINDOW_FROM},
    {"qwen2_5_vl", LLAMA_LIKE, .qkv_bias = BIAS_ALWAYS, .windows = WINDOW_FROM},
    {"qwen2_5_vl_text", LLAMA_LIKE, .qkv_bias = BIAS_ALWAYS, .windows = WINDOW_FROM},
    {"qwen2_moe", LLAMA_LIKE, .moe = true, .shared = SHARED_WIDTH, .shared_gate = true,
     .qkv_bias = BIAS_ALWAYS, .windows = WINDOW_FROM},
    {"qwen2_vl", LLAMA_LIKE, .qkv_bias = BIAS_ALWAYS, .windows = WINDOW_FROM},
    {"qwen3", LLAMA_LIKE, .qk_norm = LLMPERF_QK_NORM_HEAD, .head_dim_required = true,
     .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias",
     .windows = WINDOW_FROM},
    {"qwen3_5_moe_text", LLAMA_LIKE, .moe = true, .shared = SHARED_WIDTH, .shared_gate = true,
     .qk_norm = LLMPERF_QK_NORM_HEAD, .head_dim_required = true, .gate = true,
     .plan = plan_qwen_hybrid},
    {"qwen3_5_text", LLAMA_LIKE, .qk_norm = LLMPERF_QK_NORM_HEAD, .head_dim_required = true,
     .gate = true, .plan = plan_qwen_hybrid},
    {"qwen3_moe", LLAMA_LIKE, .moe = true, .qk_norm = LLMPERF_QK_NORM_HEAD,
     .head_dim_required = true, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .windows = WINDOW_FROM},
    {"qwen3_next", LLAMA_LIKE, .moe = true, .shared = SHARED_WIDTH, .shared_gate = true,
     .qk_norm = LLMPERF_QK_NORM_HEAD, .head_dim_required = true, .gate = true,
     .plan = plan_qwen_hybrid},
    {"qwen3_vl_moe_text", LLAMA_LIKE, .moe = true, .qk_norm = LLMPERF_QK_NORM_HEAD,
     .head_dim_required = true, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias"},
    {"qwen3_vl_text", LLAMA_LIKE, .qk_norm = LLMPERF_QK_NORM_HEAD, .head_dim_required = true,
     .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"RefinedWeb", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true,
     .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF, .bias_key = "bias",
     .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "bias", .ffn = FFN_FOUR_HIDDEN, .hook = hook_falcon},
    {"RefinedWebModel", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true,
     .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF, .bias_key = "bias",
     .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "bias", .ffn = FFN_FOUR_HIDDEN, .hook = hook_falcon},
    {"seed_oss", LLAMA_LIKE, .head_dim_required = true, .qkv_bias = BIAS_KEY_ON,
     .bias_key = "attention_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "mlp_bias"},
    {"smollm3", LLAMA_LIKE, .tied = true, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "mlp_bias"},
    {"stablelm", .gated = true, LAYER_NORM, .qkv_bias = BIAS_KEY_OFF, .bias_key = "use_qkv_bias",
     .hook = hook_stablelm},
    {"starcoder2", LAYER_NORM, .tied = true, .qkv_bias = BIAS_KEY_ON, .out_bias = BIAS_KEY_ON,
     .bias_key = "use_bias", .mlp_bias = BIAS_KEY_ON, .mlp_bias_key = "use_bias",
     .windows = WINDOW_ALL},
    {"step3p5", LLAMA_LIKE, .moe = true, .shared = SHARED_WIDTH, .router_bias = true,
     .head_dim_required = true, .windows = WINDOW_PATTERN, .pattern = 4},
    {"step3p7", LLAMA_LIKE, .moe = true, .shared = SHARED_WIDTH, .router_bias = true,
     .head_dim_required = true, .windows = WINDOW_PATTERN, .pattern = 4},
};

/* Keys by which public configs name a dimension, the usual one first. */
static const char *const HIDDEN_KEYS[] = {"hidden_size", "n_embd", "d_model", "n_embed", NULL};
static const char *const LAYERS_KEYS[] = {"num_hidden_layers", "n_layer", "num_layers", "n_layers",
                                          NULL};
static const char *const HEADS_KEYS[] = {"num_attention_heads", "n_head", "n_heads", "num_heads",
                                         NULL};
static const char *const KV_HEADS_KEYS[] = {"num_key_value_heads", "num_kv_heads", "n_head_kv",
                                            NULL};
static const char *const HEAD_DIM_KEYS[] = {"head_dim", "kv_channels", "attention_head_dim", NULL};
static const char *const FFN_KEYS[] = {"intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size",
                                       NULL};
static const char *const EXPERTS_KEYS[] = {"num_local_experts", "num_experts", "n_routed_experts",
                                           "moe_num_experts", NULL};
static const char *const ACTIVE_KEYS[] = {"num_experts_per_tok",
                                          "num_experts_per_token",
                                          "experts_per_token",
                                          "moe_top_k",
                                          "moe_k",
                                          "top_k_experts",
                                          NULL};
static const char *const EXPERT_FFN_KEYS[] = {"moe_intermediate_size", "expert_ffn_hidden_size",
                                              "moe_ffn_hidden_size", NULL};
static const char *const SHARED_WIDTH_KEYS[] = {
    "shared_expert_intermediate_size", "share_expert_dim", "shared_intermediate_size", NULL};
static const char *const SHARED_COUNT_KEYS[] = {"n_shared_experts", "num_shared_experts",
                                                "moe_num_shared_experts", NULL};
static const char *const VOCAB_KEYS[] = {"padded_vocab_size", "vocab_size", NULL};
static const char *const CONTEXT_KEYS[] = {
    "max_position_embeddings", "n_positions",      "n_ctx", "seq_length", "max_seq_len",
    "max_sequence_length",     "model_max_length", NULL};

static bool done(hf_reader *r, llmperf_status status)
{
    if (status != LLMPERF_OK && r->status == LLMPERF_OK)
        r->status = status;
    return status == LLMPERF_OK;
}

/* The fault just reported is something that this version does not count. */
static void unsupported(hf_reader *r)
{
    r->status = LLMPERF_E_UNSUPPORTED;
    if (r->error)
        r->error->status = LLMPERF_E_UNSUPPORTED;
}

/* null counts as absent. */
static doc_node *find(doc_node *map, const char *key)
{
    doc_node *node = doc_get(map, key);
    return doc_is_null(node) ? NULL : node;
}

static doc_node *find_any(doc_node *map, const char *const *keys)
{
    for (int i = 0; keys[i]; i++) {
        doc_node *node = find(map, keys[i]);
        if (node)
            return node;
    }
    return NULL;
}

/* An optional dimension; false when it is absent (or faulty, which is reported). */
static bool dimension(hf_reader *r, const char *const *keys, int64_t max, int64_t *ret_value)
{
    doc_node *node = find_any(r->map, keys);
    return node && done(r, doc_int64(r->document, node, 1, max, ret_value, r->error));
}

static bool dimension_required(hf_reader *r, const char *const *keys, int64_t max,
                               int64_t *ret_value)
{
    if (find_any(r->map, keys))
        return dimension(r, keys, max, ret_value);
    return done(r, doc_fail(r->document, r->map, r->error,
                            "%s is missing or null; %s models need it (dimensions are never "
                            "guessed)",
                            keys[0], r->family->model_type));
}

static bool flag(hf_reader *r, const char *key, bool absent)
{
    doc_node *node = key ? find(r->map, key) : NULL;
    bool value = absent;
    if (node)
        done(r, doc_bool(r->document, node, &value, r->error));
    return value;
}

static bool has_bias(hf_reader *r, bias_rule rule, const char *key)
{
    switch (rule) {
    case BIAS_ALWAYS:
        return true;
    case BIAS_KEY_OFF:
        return flag(r, key, false);
    case BIAS_KEY_ON:
        return flag(r, key, true);
    default:
        return false;
    }
}

/* ---- what some types write in their own way ------------------------------------------------------ */

static void hook_gpt_bigcode(hf_reader *r)
{
    if (flag(r, "multi_query", true))
        r->layer.attention.kv_heads = 1;
}

static void hook_falcon(hf_reader *r)
{
    llmperf_attention *a = &r->layer.attention;
    bool new_decoder =
        flag(r, "new_decoder_architecture", strcmp(r->family->model_type, "RefinedWeb") == 0);
    if (!new_decoder) /* num_kv_heads is stale in old files: the flag decides */
        a->kv_heads = flag(r, "multi_query", true) ? 1 : a->heads;
    r->layer.parallel = new_decoder || flag(r, "parallel_attn", true);
    int64_t norms = new_decoder ? 2 : 1; /* ln_attn and ln_mlp side by side */
    doc_node *node = find(r->map, "num_ln_in_parallel_attn");
    if (node)
        done(r, doc_int64(r->document, node, 1, 2, &norms, r->error));
    r->layer.norms = r->layer.parallel ? norms : 2;
    if (flag(r, "alibi", false))
        a->rope = false;
}

static void hook_qwen1(hf_reader *r)
{
    /* intermediate_size is gate and up together */
    r->layer.mlp.ffn /= 2;
}

static void hook_mpt(hf_reader *r)
{
    llmperf_attention *a = &r->layer.attention;
    doc_node *config = find(r->map, "attn_config");
    doc_node *kv = find(config, "kv_n_heads");
    doc_node *type = find(config, "attn_type");
    doc_node *alibi = find(config, "alibi");
    doc_node *ratio = find(r->map, "expansion_ratio");
    bool has_alibi = false;
    char word[32] = "";
    if (type)
        done(r, doc_text(r->document, type, word, sizeof word, r->error));
    if (strcmp(word, "multiquery_attention") == 0)
        a->kv_heads = 1;
    else if (kv)
        done(r, doc_int64(r->document, kv, 1, 1 << 16, &a->kv_heads, r->error));
    if (alibi)
        done(r, doc_bool(r->document, alibi, &has_alibi, r->error));
    if (has_alibi || !flag(r, "learned_pos_emb", true))
        r->model->position_embeddings = 0;
    int64_t times = 4;
    if (ratio && done(r, doc_int64(r->document, ratio, 1, 1024, &times, r->error)))
        r->layer.mlp.ffn = times * r->model->hidden;
    if (!flag(r, "no_bias", true)) {
        r->model->norm = LLMPERF_NORM_LAYER;
        a->qkv_bias = a->out_bias = true;
        r->layer.mlp.up_bias = r->layer.mlp.down_bias = true;
    }
}

static void hook_opt(hf_reader *r)
{
    static const char *const projection[] = {"word_embed_proj_dim", NULL};
    dimension(r, projection, 1 << 20, &r->model->embedding_dim);
    r->model->final_norm =
        flag(r, "do_layer_norm_before", true) && !flag(r, "_remove_final_layer_norm", false);
}

static void hook_chatglm(hf_reader *r)
{
    static const char *const groups[] = {"multi_query_group_num", NULL};
    if (flag(r, "multi_query_attention", false))
        dimension_required(r, groups, 1 << 16, &r->layer.attention.kv_heads);
    if (flag(r, "add_bias_linear", false)) {
        r->layer.attention.qkv_bias = r->layer.attention.out_bias = true;
        r->layer.mlp.up_bias = r->layer.mlp.down_bias = true;
    }
}

static void hook_gpt_neox(hf_reader *r)
{
    r->layer.parallel = flag(r, "use_parallel_residual", true);
}

static void hook_baichuan(hf_reader *r)
{
    /* 13B models carry ALiBi and no rotary positions; their width tells them apart */
    if (r->model->hidden >= 5120)
        r->layer.attention.rope = false;
}

static void hook_stablelm(hf_reader *r)
{
    r->layer.parallel = flag(r, "use_parallel_residual", false);
    if (r->layer.parallel)
        r->layer.norms = 1;
    if (flag(r, "qk_layernorm", false))
        r->layer.attention.qk_norm = LLMPERF_QK_NORM_PER_HEAD;
}

static void hook_cohere(hf_reader *r)
{
    if (flag(r, "use_qk_norm", false))
        r->layer.attention.qk_norm = LLMPERF_QK_NORM_PER_HEAD;
}

static void hook_bloom(hf_reader *r)
{
    r->model->max_context = 0; /* ALiBi: seq_length is the training run's, not a limit */
}

/* ---- mixture of experts ------------------------------------------------------------------------------- */

/* A list with an entry a layer that is shorter is refused, once: at the last layer. */
static void check_length(hf_reader *r, const doc_node *list, int64_t i)
{
    size_t count = list && list->kind == DOC_SEQ ? list->count : 0;
    if (list && i == r->layers - 1 && (int64_t)count < r->layers)
        done(r, doc_fail(r->document, list, r->error,
                         "%s has %zu entries; one for each of the %lld layers is allowed",
                         list->key ? list->key : "the list", count, (long long)r->layers));
}

/* Item i of a list of integers or booleans, one a layer. */
static int64_t list_item(hf_reader *r, doc_node *list, int64_t i, int64_t absent)
{
    int64_t at = 0, value = absent;
    check_length(r, list, i);
    for (doc_node *node = list->first; node; node = node->next, at++)
        if (at == i) {
            done(r, doc_int64(r->document, node, 0, (int64_t)1 << 40, &value, r->error));
            break;
        }
    return value;
}

static bool list_has(doc_node *list, int64_t wanted)
{
    for (doc_node *node = list ? list->first : NULL; node; node = node->next) {
        double value;
        if (node->kind == DOC_SCALAR && llmperf_parse_double(node->text, &value) &&
            value == (double)wanted)
            return true;
    }
    return false;
}

/* Item i of a list of words, NULL when there is none. */
static const char *list_word(doc_node *list, int64_t i)
{
    int64_t at = 0;
    for (doc_node *node = list ? list->first : NULL; node; node = node->next, at++)
        if (at == i)
            return node->kind == DOC_SCALAR ? node->text : NULL;
    return NULL;
}

static int64_t integer_or(hf_reader *r, const char *key, int64_t absent)
{
    doc_node *node = find(r->map, key);
    int64_t value = absent;
    if (node)
        done(r, doc_int64(r->document, node, 0, (int64_t)1 << 40, &value, r->error));
    return value;
}

/* Every way in which configs say which layers hold experts. */
static bool is_moe_layer(hf_reader *r, int64_t i)
{
    doc_node *types = find(r->map, "mlp_layer_types"), *freq = find(r->map, "moe_layer_freq");
    doc_node *layers = find(r->map, "moe_layers");
    const char *word = list_word(types, i);
    check_length(r, types, i);
    if (word)
        return strcmp(word, "sparse") == 0;
    if (layers && layers->kind == DOC_SEQ)
        return list_has(layers, i);
    if (i < integer_or(r, "first_k_dense_replace", 0))
        return false;
    if (freq && freq->kind == DOC_SEQ)
        return list_item(r, freq, i, 1) != 0;
    if (freq)
        return i % (integer_or(r, "moe_layer_freq", 1) ? integer_or(r, "moe_layer_freq", 1) : 1) ==
               0;
    if (find(r->map, "decoder_sparse_step")) {
        int64_t step = integer_or(r, "decoder_sparse_step", 1);
        doc_node *dense = find(r->map, "mlp_only_layers");
        return !list_has(dense, i) && step > 0 && (i + 1) % step == 0;
    }
    if (find(r->map, "interleave_moe_layer_step")) {
        int64_t step = integer_or(r, "interleave_moe_layer_step", 1);
        return step > 0 && (i + 1) % step == 0;
    }
    if (find(r->map, "expert_layer_period")) {
        int64_t period = integer_or(r, "expert_layer_period", 1);
        return period > 0 && i % period == integer_or(r, "expert_layer_offset", 0);
    }
    if (find(r->map, "moe_layer_interval") || find(r->map, "moe_layer_start_index")) {
        int64_t interval = integer_or(r, "moe_layer_interval", 1);
        return i >= integer_or(r, "moe_layer_start_index", 0) &&
               i <= integer_or(r, "moe_layer_end_index", r->layers - 1) && interval > 0 &&
               (i + 1) % interval == 0;
    }
    return true;
}

static void read_moe(hf_reader *r)
{
    const hf_family *f = r->family;
    llmperf_moe *m = &r->moe;
    int64_t count = 0;
    if (!f->moe)
        return;
    m->gated = f->gated;
    m->expert_bias = f->expert_bias;
    m->router_bias = f->router_bias;
    dimension_required(r, EXPERTS_KEYS, 1 << 16, &m->experts);
    dimension_required(r, ACTIVE_KEYS, 1 << 16, &m->active);
    if (find_any(r->map, EXPERT_FFN_KEYS))
        dimension(r, EXPERT_FFN_KEYS, 1 << 24, &m->ffn);
    else if (f->expert_is_intermediate)
        dimension_required(r, FFN_KEYS, 1 << 24, &m->ffn);
    else
        dimension_required(r, EXPERT_FFN_KEYS, 1 << 24, &m->ffn);
    if (f->shared == SHARED_WIDTH) {
        doc_node *width = find_any(r->map, SHARED_WIDTH_KEYS);
        if (width)
            done(r, doc_int64(r->document, width, 0, 1 << 24, &m->shared_ffn, r->error));
    } else if (f->shared == SHARED_COUNT) {
        doc_node *shared = find_any(r->map, SHARED_COUNT_KEYS);
        if (shared)
            done(r, doc_int64(r->document, shared, 0, 1 << 16, &count, r->error));
        m->shared_ffn = count * m->ffn;
    } else if (f->shared == SHARED_ONE) {
        m->shared_ffn = m->ffn;
    }
    m->shared_gate = f->shared_gate && m->shared_ffn > 0;
    if (r->status == LLMPERF_OK && m->active > m->experts)
        done(r, doc_fail(r->document, find_any(r->map, ACTIVE_KEYS), r->error,
                         "%lld active experts of %lld; at most all of them are allowed",
                         (long long)m->active, (long long)m->experts));
}

/* ---- MLA ------------------------------------------------------------------------------------------------ */

static void read_mla(hf_reader *r)
{
    static const char *const kv_rank[] = {"kv_lora_rank", NULL};
    static const char *const nope[] = {"qk_nope_head_dim", NULL};
    static const char *const rope[] = {"qk_rope_head_dim", NULL};
    static const char *const value[] = {"v_head_dim", NULL};
    static const char *const q_rank[] = {"q_lora_rank", NULL};
    llmperf_mla *m = &r->layer.mla;
    m->heads = r->layer.attention.heads;
    dimension_required(r, kv_rank, 1 << 20, &m->kv_rank);
    dimension_required(r, nope, 1 << 16, &m->nope_dim);
    dimension_required(r, rope, 1 << 16, &m->rope_dim);
    dimension(r, q_rank, 1 << 20, &m->q_rank);
    if (find_any(r->map, value))
        dimension(r, value, 1 << 16, &m->value_dim);
    else if (r->model->hidden % (m->heads ? m->heads : 1) == 0 && m->heads)
        m->value_dim = r->model->hidden / m->heads;
    memset(&r->layer.attention, 0, sizeof r->layer.attention);
    if (find(r->map, "index_topk")) {
        static const char *const heads[] = {"index_n_heads", NULL};
        static const char *const dim[] = {"index_head_dim", NULL};
        static const char *const top[] = {"index_topk", NULL};
        dimension_required(r, top, (int64_t)1 << 40, &r->layer.index.top_k);
        dimension_required(r, heads, 1 << 16, &r->layer.index.heads);
        dimension_required(r, dim, 1 << 16, &r->layer.index.dim);
    }
}

/* indexer_types: "full" layers choose, "shared" ones take the choice of the layer before. */
static void plan_index_types(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *types = find(r->map, "indexer_types");
    const char *word = list_word(types, i);
    check_length(r, types, i);
    if (word && strcmp(word, "shared") == 0) {
        layer->index.shared = true;
        layer->index.heads = layer->index.dim = 0;
    }
}

/* ---- hybrids ---------------------------------------------------------------------------------------------- */

static void drop_attention(llmperf_layer *layer)
{
    memset(&layer->attention, 0, sizeof layer->attention);
    memset(&layer->mla, 0, sizeof layer->mla);
    memset(&layer->index, 0, sizeof layer->index);
}

static int64_t required_integer(hf_reader *r, const char *key)
{
    const char *const keys[] = {key, NULL};
    int64_t value = 1;
    dimension_required(r, keys, 1 << 20, &value);
    return value;
}

static void plan_qwen_hybrid(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    const char *word = list_word(find(r->map, "layer_types"), i);
    int64_t interval = integer_or(r, "full_attention_interval", 4);
    bool full =
        word ? strcmp(word, "full_attention") == 0 : interval > 0 && (i + 1) % interval == 0;
    if (full)
        return;
    drop_attention(layer);
    layer->ssm = (llmperf_ssm){
        .kind = LLMPERF_SSM_DELTA,
        .heads = required_integer(r, "linear_num_value_heads"),
        .head_dim = required_integer(r, "linear_value_head_dim"),
        .groups = required_integer(r, "linear_num_key_heads"),
        .state = required_integer(r, "linear_key_head_dim"),
        .conv = required_integer(r, "linear_conv_kernel_dim"),
    };
}

static void plan_jamba(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    int64_t period = integer_or(r, "attn_layer_period", 8);
    if (period > 0 && i % period == integer_or(r, "attn_layer_offset", 4))
        return;
    drop_attention(layer);
    layer->ssm = (llmperf_ssm){
        .kind = LLMPERF_SSM_MAMBA,
        .heads = 1,
        .groups = 1,
        .head_dim = integer_or(r, "mamba_expand", 2) * r->model->hidden,
        .state = required_integer(r, "mamba_d_state"),
        .conv = required_integer(r, "mamba_d_conv"),
        .dt_rank = integer_or(r, "mamba_dt_rank", ceil_div(r->model->hidden, 16)),
        .conv_bias = flag(r, "mamba_conv_bias", true),
        .proj_bias = flag(r, "mamba_proj_bias", false),
        .bc_norm = true,
    };
}

/* The first form of Mamba alone: state-spaces files (ssm_cfg) and Hugging Face's. */
static void plan_mamba(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    (void)i;
    int64_t h = r->model->hidden;
    drop_attention(layer);
    memset(&layer->mlp, 0, sizeof layer->mlp);
    layer->ssm = (llmperf_ssm){
        .kind = LLMPERF_SSM_MAMBA,
        .heads = 1,
        .groups = 1,
        .head_dim = integer_or(r, "intermediate_size", integer_or(r, "expand", 2) * h),
        .state = integer_or(r, "state_size", 16),
        .conv = integer_or(r, "conv_kernel", 4),
        .dt_rank = integer_or(r, "time_step_rank", ceil_div(h, 16)),
        .conv_bias = flag(r, "use_conv_bias", true),
    };
}

static void hook_granite_hybrid(hf_reader *r)
{
    /* a shared MLP in every layer; routed experts beside it where there are any */
    llmperf_layer *layer = &r->layer;
    int64_t experts = integer_or(r, "num_local_experts", 0);
    int64_t shared = integer_or(r, "shared_intermediate_size", layer->mlp.ffn);
    layer->attention.rope = false;
    doc_node *positions = find(r->map, "position_embedding_type");
    if (positions && positions->kind == DOC_SCALAR && strcmp(positions->text, "rope") == 0)
        layer->attention.rope = true;
    if (experts > 0) {
        r->moe = (llmperf_moe){
            .experts = experts,
            .active = required_integer(r, "num_experts_per_tok"),
            .ffn = layer->mlp.ffn,
            .shared_ffn = shared,
            .gated = true,
        };
    } else {
        layer->mlp.ffn = shared;
    }
}

static void plan_granite_hybrid(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *types = find(r->map, "layer_types"), *indices = find(r->map, "attn_layer_indices");
    const char *word = list_word(types, i);
    bool attention = word ? strcmp(word, "attention") == 0 : list_has(indices, i);
    if (!types && !indices)
        done(r, doc_fail(r->document, r->map, r->error,
                         "layer_types is missing; it says which layers are attention"));
    if (attention)
        return;
    drop_attention(layer);
    layer->ssm = (llmperf_ssm){
        .kind = LLMPERF_SSM_MAMBA2,
        .heads = required_integer(r, "mamba_n_heads"),
        .head_dim = required_integer(r, "mamba_d_head"),
        .state = required_integer(r, "mamba_d_state"),
        .groups = integer_or(r, "mamba_n_groups", 1),
        .conv = integer_or(r, "mamba_d_conv", 4),
        .conv_bias = flag(r, "mamba_conv_bias", true),
        .proj_bias = flag(r, "mamba_proj_bias", false),
    };
}

static void hook_nemotron_h(hf_reader *r)
{
    llmperf_moe *m = &r->moe;
    doc_node *shared = find_any(r->map, SHARED_COUNT_KEYS);
    int64_t shared_count = 0;
    if (!find_any(r->map, EXPERTS_KEYS))
        return;
    dimension(r, EXPERTS_KEYS, 1 << 16, &m->experts);
    dimension_required(r, ACTIVE_KEYS, 1 << 16, &m->active);
    dimension_required(r, EXPERT_FFN_KEYS, 1 << 24, &m->ffn);
    if (shared)
        done(r, doc_int64(r->document, shared, 0, 1 << 16, &shared_count, r->error));
    m->shared_ffn = shared_count * integer_or(r, "moe_shared_expert_intermediate_size", m->ffn);
    m->latent = integer_or(r, "moe_latent_size", 0);
    m->router_bias = true;
}

/* One mixer a block: M Mamba-2, * attention, - MLP, E experts. */
static void plan_nemotron_h(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *pattern = find(r->map, "hybrid_override_pattern");
    const char *word = list_word(find(r->map, "layers_block_type"), i);
    char kind = '?';
    if (word)
        kind = strcmp(word, "mamba") == 0       ? 'M'
               : strcmp(word, "attention") == 0 ? '*'
               : strcmp(word, "moe") == 0       ? 'E'
               : strcmp(word, "mlp") == 0       ? '-'
                                                : '?';
    else if (pattern && pattern->kind == DOC_SCALAR && i < (int64_t)strlen(pattern->text))
        kind = pattern->text[i];
    llmperf_layer block = {.count = 1, .norms = 1};
    switch (kind) {
    case '*':
        block.attention = layer->attention;
        break;
    case '-':
        block.mlp = layer->mlp;
        break;
    case 'E':
        block.moe = r->moe;
        break;
    case 'M':
        block.ssm = (llmperf_ssm){
            .kind = LLMPERF_SSM_MAMBA2,
            .heads = required_integer(r, "mamba_num_heads"),
            .head_dim = required_integer(r, "mamba_head_dim"),
            .state = required_integer(r, "ssm_state_size"),
            .groups = integer_or(r, "n_groups", 1),
            .conv = integer_or(r, "conv_kernel", 4),
            .conv_bias = flag(r, "use_conv_bias", true),
            .proj_bias = flag(r, "mamba_proj_bias", false),
        };
        break;
    default:
        done(r,
             doc_fail(r->document, pattern ? pattern : r->map, r->error,
                      "block %lld has no kind; hybrid_override_pattern of M, *, - and E with one "
                      "letter a layer is allowed",
                      (long long)i + 1));
        return;
    }
    if (kind == 'E' && r->moe.experts == 0)
        done(r, doc_fail(r->document, r->map, r->error,
                         "a block of experts needs n_routed_experts; it is missing"));
    *layer = block;
}

static void plan_minimax_m1(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *types = find(r->map, "attn_type_list");
    if (!types) {
        done(r, doc_fail(r->document, r->map, r->error,
                         "attn_type_list is missing; it says which layers are softmax attention"));
        return;
    }
    if (list_item(r, types, i, 1) == 1)
        return;
    llmperf_attention a = layer->attention;
    drop_attention(layer);
    layer->ssm = (llmperf_ssm){.kind = LLMPERF_SSM_LINEAR,
                               .heads = a.heads,
                               .groups = a.heads,
                               .head_dim = a.head_dim,
                               .state = a.head_dim};
}

static void hook_minimax_m3(hf_reader *r)
{
    static const char *const dense[] = {"dense_intermediate_size", NULL};
    if (find_any(r->map, dense))
        dimension(r, dense, 1 << 24, &r->layer.mlp.ffn);
}

/* Block-sparse attention: some heads score blocks of keys, the best blocks are read. */
static void plan_minimax_m3(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *sparse = find(r->map, "sparse_attention_config");
    doc_node *freq = find(sparse, "sparse_attention_freq");
    doc_node *heads = find(sparse, "sparse_num_index_heads"),
             *dim = find(sparse, "sparse_index_dim");
    doc_node *blocks = find(sparse, "sparse_topk_blocks"),
             *size = find(sparse, "sparse_block_size");
    int64_t block = 1;
    if (!sparse || !heads || !dim || !blocks || !size || (freq && list_item(r, freq, i, 1) == 0))
        return;
    done(r, doc_int64(r->document, heads, 1, 1 << 16, &layer->index.heads, r->error));
    done(r, doc_int64(r->document, dim, 1, 1 << 16, &layer->index.dim, r->error));
    done(r, doc_int64(r->document, blocks, 1, 1 << 20, &layer->index.top_k, r->error));
    done(r, doc_int64(r->document, size, 1, 1 << 20, &block, r->error));
    layer->index.top_k *= block;
}

static void hook_mimo(hf_reader *r)
{
    static const char *const value[] = {"v_head_dim", NULL};
    if (find_any(r->map, value))
        dimension(r, value, 1 << 16, &r->layer.attention.value_dim);
}

static void plan_mimo(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *pattern = find(r->map, "hybrid_layer_pattern");
    llmperf_attention *a = &layer->attention;
    if (!pattern || list_item(r, pattern, i, 0) == 0)
        return;
    a->heads = integer_or(r, "swa_num_attention_heads", a->heads);
    a->kv_heads = integer_or(r, "swa_num_key_value_heads", a->kv_heads);
    a->head_dim = integer_or(r, "swa_head_dim", a->head_dim);
    a->value_dim = integer_or(r, "swa_v_head_dim", a->value_dim);
    a->window = required_integer(r, "sliding_window");
    a->sinks = flag(r, "add_swa_attention_sink_bias", false);
}

static void hook_kimi_linear(hf_reader *r)
{
    r->layer.mla.gate = flag(r, "mla_use_output_gate", false);
    r->moe.latent = integer_or(r, "routed_expert_hidden_size", 0);
    if (r->moe.latent == r->model->hidden)
        r->moe.latent = 0;
}

static void plan_kimi_linear(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *config = find(r->map, "linear_attn_config");
    doc_node *full = find(config, "full_attn_layers");
    doc_node *heads = find(config, "num_heads"), *dim = find(config, "head_dim");
    doc_node *conv = find(config, "short_conv_kernel_size");
    if (!config || list_has(full, i + 1)) /* the lists count from 1 */
        return;
    drop_attention(layer);
    layer->ssm = (llmperf_ssm){.kind = LLMPERF_SSM_KDA};
    if (!heads || !dim) {
        done(r, doc_fail(r->document, config, r->error,
                         "linear_attn_config needs num_heads and head_dim"));
        return;
    }
    done(r, doc_int64(r->document, heads, 1, 1 << 16, &layer->ssm.heads, r->error));
    done(r, doc_int64(r->document, dim, 1, 1 << 16, &layer->ssm.head_dim, r->error));
    if (conv)
        done(r, doc_int64(r->document, conv, 0, 64, &layer->ssm.conv, r->error));
    layer->ssm.groups = layer->ssm.heads;
    layer->ssm.state = layer->ssm.head_dim;
}

static void hook_llama4(hf_reader *r)
{
    static const char *const dense[] = {"intermediate_size_mlp", NULL};
    if (find_any(r->map, dense))
        dimension(r, dense, 1 << 24, &r->layer.mlp.ffn);
}

/* Layers with rotary positions attend inside chunks; every fourth has neither. */
static void plan_llama4(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *list = find(r->map, "no_rope_layers");
    bool rope = (i + 1) % integer_or(r, "no_rope_layer_interval", 4) != 0;
    if (list && list->kind == DOC_SEQ && list->count > 0)
        rope = list_item(r, list, i, 1) != 0;
    layer->attention.rope = rope;
    if (rope)
        layer->attention.chunk = integer_or(r, "attention_chunk_size", 0);
}

static void hook_dbrx(hf_reader *r)
{
    static const char *const experts[] = {"moe_num_experts", NULL};
    static const char *const active[] = {"moe_top_k", NULL};
    static const char *const ffn[] = {"ffn_hidden_size", NULL};
    doc_node *outer = r->map, *attention = find(r->map, "attn_config");
    doc_node *kv = find(attention, "kv_n_heads"), *config = find(r->map, "ffn_config");
    if (kv)
        done(r, doc_int64(r->document, kv, 1, 1 << 16, &r->layer.attention.kv_heads, r->error));
    if (!config) {
        done(r,
             doc_fail(r->document, r->map, r->error, "ffn_config is missing; dbrx models need it"));
        return;
    }
    r->map = config;
    dimension_required(r, experts, 1 << 16, &r->moe.experts);
    dimension_required(r, active, 1 << 16, &r->moe.active);
    dimension_required(r, ffn, 1 << 24, &r->moe.ffn);
    r->moe.gated = true;
    r->map = outer;
}

static void hook_qk_norm_flag(hf_reader *r)
{
    if (flag(r, "use_qk_norm", false))
        r->layer.attention.qk_norm = LLMPERF_QK_NORM_HEAD;
}

/* Models shaped by architecture search: each block says its own heads and width, or nothing. */
static void plan_nas(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *per_layer = find(r->map, "num_key_value_heads_per_layer");
    doc_node *blocks = find(r->map, "block_configs"), *block = NULL;
    int64_t at = 0;
    if (per_layer)
        layer->attention.kv_heads = list_item(r, per_layer, i, layer->attention.kv_heads);
    check_length(r, blocks, i);
    for (doc_node *node = blocks ? blocks->first : NULL; node; node = node->next, at++)
        if (at == i)
            block = node;
    if (!block && !blocks && layer->mlp.ffn == 0)
        done(r, doc_fail(r->document, r->map, r->error,
                         "block_configs has no entry for block %lld, "
                         "and the model no intermediate_size",
                         (long long)i + 1));
    if (!block)
        return;
    doc_node *attention = find(block, "attention"), *ffn = find(block, "ffn");
    doc_node *group = find(attention, "n_heads_in_group"), *no_attention = find(attention, "no_op");
    doc_node *linear = find(attention, "replace_with_linear");
    doc_node *times = find(ffn, "ffn_mult"), *no_ffn = find(ffn, "no_op");
    bool skip = false, replaced = false;
    if (linear)
        done(r, doc_bool(r->document, linear, &replaced, r->error));
    if (replaced) {
        done(r, doc_fail(r->document, linear, r->error,
                         "replace_with_linear is not counted by this version; false is allowed"));
        unsupported(r);
    }
    if (no_attention)
        done(r, doc_bool(r->document, no_attention, &skip, r->error));
    int64_t heads_in_group = 1;
    if (skip)
        drop_attention(layer);
    else if (group && done(r, doc_int64(r->document, group, 1, 1 << 16, &heads_in_group, r->error)))
        layer->attention.kv_heads = layer->attention.heads / heads_in_group;
    skip = false;
    double mult = 0;
    if (no_ffn)
        done(r, doc_bool(r->document, no_ffn, &skip, r->error));
    if (skip)
        layer->mlp.ffn = 0;
    else if (times && done(r, doc_double(r->document, times, 0, 1024, &mult, r->error)))
        layer->mlp.ffn = ceil_div((int64_t)(2 * mult * (double)r->model->hidden / 3), 256) * 256;
    if (!skip && layer->mlp.ffn == 0)
        done(r, doc_fail(r->document, block, r->error,
                         "block %lld has no ffn_mult, and the model "
                         "no intermediate_size",
                         (long long)i + 1));
    layer->norms = (layer->attention.heads > 0) + (layer->mlp.ffn > 0);
}

/* ---- the common part ---------------------------------------------------------------------------------- */

static void read_dtype(hf_reader *r)
{
    llmperf_model *m = r->model;
    static const char *const keys[] = {"torch_dtype", "dtype", NULL};
    doc_node *node = find_any(r->map, keys);
    if (!node && r->map != r->outer)
        node = find_any(r->outer, keys);
    m->dtype = LLMPERF_DTYPE_BF16;
    char text[64] = "";
    if (!node) {
        llmperf_note(&m->warnings, "the config names no dtype: bf16 is taken");
        return;
    }
    if (!done(r, doc_text(r->document, node, text, sizeof text, r->error)))
        return;
    if (strcmp(text, "auto") == 0) {
        llmperf_note(&m->warnings, "torch_dtype is auto: bf16 is taken; --weight-dtype and "
                                   "--act-dtype say otherwise");
        return;
    }
    llmperf_dtype dtype = llmperf_dtype_parse(text);
    if (dtype == LLMPERF_DTYPE_NONE) {
        const char *near = llmperf_nearest(text, llmperf_dtype_names());
        done(r, doc_fail(r->document, node, r->error,
                         "%s is '%s'%s%s%s; bfloat16, float16, float32 or another known dtype is "
                         "allowed",
                         node->key, text, near ? ", did you mean '" : "", near ? near : "",
                         near ? "'?" : ""));
        return;
    }
    if (dtype == LLMPERF_DTYPE_FP32 || dtype == LLMPERF_DTYPE_FP64) {
        llmperf_note(&m->warnings,
                     "the config says %s: weights are served in 16 bit, bf16 is taken "
                     "(--weight-dtype fp32 --act-dtype fp32 for full precision)",
                     text);
        return;
    }
    m->dtype = (uint8_t)dtype;
}

static void read_dimensions(hf_reader *r)
{
    llmperf_model *m = r->model;
    llmperf_layer *layer = &r->layer;
    llmperf_attention *a = &layer->attention;
    const hf_family *f = r->family;
    bool have_hidden = dimension_required(r, HIDDEN_KEYS, 1 << 20, &m->hidden);
    bool no_attention = f->plan == plan_mamba;
    bool have_heads = no_attention || dimension_required(r, HEADS_KEYS, 1 << 16, &a->heads);
    doc_node *block_types = find(r->map, "layers_block_type");
    if (!find_any(r->map, LAYERS_KEYS) && block_types && block_types->kind == DOC_SEQ)
        r->layers = (int64_t)block_types->count;
    else
        dimension_required(r, LAYERS_KEYS, 1 << 16, &r->layers);
    dimension_required(r, VOCAB_KEYS, 1 << 24, &m->vocab);
    if (!dimension(r, CONTEXT_KEYS, (int64_t)1 << 40, &m->max_context))
        m->max_context = 0;

    int64_t multiple = 0;
    static const char *const multiple_keys[] = {"pad_vocab_size_multiple", NULL};
    if (dimension(r, multiple_keys, 1 << 16, &multiple))
        m->vocab = ceil_div(m->vocab, multiple) * multiple;
    m->embedding_dim = m->hidden;
    if (no_attention)
        return;

    if (find_any(r->map, KV_HEADS_KEYS)) {
        dimension(r, KV_HEADS_KEYS, 1 << 16, &a->kv_heads);
    } else {
        a->kv_heads = a->heads; /* every family's own rule */
        if (doc_get(r->map, "num_key_value_heads") && f->plan != plan_nas)
            llmperf_note(&m->warnings, "num_key_value_heads is null: taken as the %lld heads",
                         (long long)a->heads);
    }
    if (find_any(r->map, HEAD_DIM_KEYS)) {
        dimension(r, HEAD_DIM_KEYS, 1 << 16, &a->head_dim);
    } else if (f->head_dim_required) {
        dimension_required(r, HEAD_DIM_KEYS, 1 << 16, &a->head_dim);
    } else if (have_hidden && have_heads && !f->mla) {
        if (m->hidden % a->heads != 0)
            done(r, doc_fail(r->document, r->map, r->error,
                             "%lld heads do not divide hidden_size %lld; head_dim must be given",
                             (long long)a->heads, (long long)m->hidden));
        else
            a->head_dim = m->hidden / a->heads;
    }
    a->value_dim = a->head_dim;

    if (find_any(r->map, FFN_KEYS))
        dimension(r, FFN_KEYS, 1 << 24, &layer->mlp.ffn);
    else if (f->ffn == FFN_FOUR_HIDDEN)
        layer->mlp.ffn = 4 * m->hidden;
    else if (!f->moe && f->plan != plan_nas) /* experts alone; or each block says its own */
        dimension_required(r, FFN_KEYS, 1 << 24, &layer->mlp.ffn);
    m->embedding_dim = m->hidden;
}

static void read_traits(hf_reader *r)
{
    llmperf_model *m = r->model;
    llmperf_layer *layer = &r->layer;
    const hf_family *f = r->family;
    m->norm = f->norm;
    m->final_norm = true;
    m->embedding_norm = f->embedding_norm;
    m->head_bias = f->head_bias;
    layer->norms = f->norms;
    layer->parallel = f->parallel;
    layer->mlp.gated = f->gated;
    layer->attention.qk_norm = f->qk_norm;
    layer->attention.rope = f->positions == POSITIONS_ROPE && !f->no_rope;
    layer->attention.gate = f->gate;
    layer->attention.sinks = f->sinks;
    layer->attention.qkv_bias = has_bias(r, f->qkv_bias, f->bias_key);
    layer->attention.out_bias = has_bias(r, f->out_bias, f->bias_key);
    layer->mlp.up_bias = layer->mlp.down_bias = has_bias(r, f->mlp_bias, f->mlp_bias_key);
    if (f->positions == POSITIONS_LEARNED) {
        if (m->max_context == 0)
            dimension_required(r, CONTEXT_KEYS, (int64_t)1 << 30, &m->max_context);
        m->position_embeddings = m->max_context + f->position_offset;
    }

    /* the tie flag may stand inside text_config or beside it */
    doc_node *tie = find(r->map, "tie_word_embeddings");
    if (!tie)
        tie = find(r->outer, "tie_word_embeddings");
    m->tied = f->tied;
    if (tie)
        done(r, doc_bool(r->document, tie, &m->tied, r->error));
}

/* ---- windows --------------------------------------------------------------------------------------------- */

/* Does layer i look through the window? layer_types decides where there is one. */
static bool is_windowed(hf_reader *r, int64_t i)
{
    static const char *const pattern_keys[] = {"sliding_window_pattern", "_sliding_window_pattern",
                                               NULL};
    const char *word = list_word(find(r->map, "layer_types"), i);
    if (word)
        return strcmp(word, "sliding_attention") == 0;
    int64_t pattern = r->family->pattern;
    switch (r->family->windows) {
    case WINDOW_ALL:
        return true;
    case WINDOW_EVEN:
        return i % 2 == 0;
    case WINDOW_FROM:
        return flag(r, "use_sliding_window", false) && i >= integer_or(r, "max_window_layers", 0);
    case WINDOW_PATTERN: {
        doc_node *node = find_any(r->map, pattern_keys);
        if (node && node->kind == DOC_SCALAR && node->text[0] == 'L')
            pattern = (int64_t)strlen(node->text); /* EXAONE 4: "LLLG" */
        else if (node)
            dimension(r, pattern_keys, 1 << 16, &pattern);
        return pattern > 0 && (i + 1) % pattern != 0;
    }
    default:
        return false;
    }
}

/* layer_types must have one word a layer, each of a kind that somebody reads. */
static void check_layer_types(hf_reader *r)
{
    static const char *const known[] = {"full_attention",
                                        "sliding_attention",
                                        "chunked_attention",
                                        "linear_attention",
                                        "attention",
                                        "mamba",
                                        NULL};
    doc_node *types = find(r->map, "layer_types");
    if (!types)
        return;
    if (types->kind != DOC_SEQ || (int64_t)types->count != r->layers) {
        done(r, doc_fail(r->document, types, r->error,
                         "layer_types has %zu entries; one for each of the %lld layers is allowed",
                         types->count, (long long)r->layers));
        return;
    }
    for (doc_node *node = types->first; node; node = node->next) {
        bool ok = false;
        for (int i = 0; known[i] && node->kind == DOC_SCALAR; i++)
            ok |= strcmp(node->text, known[i]) == 0;
        /* a mixer that the family does not plan would be counted as attention */
        if (ok && !r->family->plan && strcmp(node->text, "full_attention") != 0 &&
            strcmp(node->text, "sliding_attention") != 0)
            ok = false;
        if (!ok) {
            done(r, doc_fail(r->document, node, r->error,
                             "this layer type is not counted for %s; full_attention and "
                             "sliding_attention are allowed",
                             r->family->model_type));
            unsupported(r);
            return;
        }
    }
}

static void read_window(hf_reader *r)
{
    static const char *const keys[] = {"sliding_window", NULL};
    doc_node *types = find(r->map, "layer_types");
    if (r->family->windows != WINDOW_IGNORED && find_any(r->map, keys))
        dimension(r, keys, (int64_t)1 << 40, &r->window);
    /* a window as wide as the trained context never bites */
    if (r->model->max_context > 0 && r->window >= r->model->max_context)
        r->window = 0;
    else if (types && r->window == 0 && r->family->windows != WINDOW_IGNORED)
        for (int64_t i = 0; i < r->layers; i++)
            if (list_word(types, i) && strcmp(list_word(types, i), "sliding_attention") == 0) {
                done(r, doc_fail(r->document, types, r->error,
                                 "layer_types names sliding_attention, but sliding_window is "
                                 "missing"));
                return;
            }
}

/* ---- the layer plan: like layers become one shape ----------------------------------------------------------- */

static void add_layer(hf_reader *r, llmperf_layer *layer)
{
    llmperf_model *m = r->model;
    if (layer->attention.heads == 0 && layer->mla.heads == 0 && layer->ssm.kind == 0 &&
        layer->mlp.ffn == 0 && layer->moe.experts == 0)
        return; /* a block that architecture search left empty */
    for (int k = 0; k < m->layer_kind_count; k++) {
        layer->count = m->layers[k].count;
        if (memcmp(layer, &m->layers[k], sizeof *layer) == 0) {
            m->layers[k].count++;
            return;
        }
    }
    if (m->layer_kind_count == LLMPERF_LAYER_KINDS_MAX) {
        done(r, doc_fail(r->document, r->map, r->error,
                         "more than %d different layer shapes; at most %d are allowed",
                         LLMPERF_LAYER_KINDS_MAX, LLMPERF_LAYER_KINDS_MAX));
        unsupported(r);
        return;
    }
    layer->count = 1;
    m->layers[m->layer_kind_count++] = *layer;
}

static void plan_layers(hf_reader *r)
{
    read_window(r);
    check_layer_types(r);
    r->model->layer_kind_count = 0;
    for (int64_t i = 0; i < r->layers && r->status == LLMPERF_OK; i++) {
        llmperf_layer layer;
        memset(&layer, 0, sizeof layer); /* padding too: shapes are compared as bytes */
        memcpy(&layer, &r->layer, sizeof layer);
        if (r->window > 0 && layer.attention.heads > 0 && is_windowed(r, i))
            layer.attention.window = r->window;
        if (r->moe.experts > 0 && is_moe_layer(r, i)) {
            layer.moe = r->moe;
            memset(&layer.mlp, 0, sizeof layer.mlp);
        }
        if (r->family->plan)
            r->family->plan(r, i, &layer);
        if (r->status == LLMPERF_OK)
            quant_layer(&r->quant, i, &layer);
        if (r->status == LLMPERF_OK)
            add_layer(r, &layer);
    }
}

/* ---- finding the text model and its family ------------------------------------------------------------------ */

static const hf_family *family_of(const char *model_type)
{
    for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES; i++)
        if (strcmp(model_type, FAMILIES[i].model_type) == 0)
            return &FAMILIES[i];
    return NULL;
}

static void list_families(char *buffer, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? ", " : "",
                                 FAMILIES[i].model_type);
}

/* Keys whose meaning is the same in every decoder. A model type that no row knows is read by them;
 * one more key could be one more matrix. */
static const char *const PLAIN_KEYS[] = {
    /* dimensions */
    "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
    "intermediate_size", "vocab_size", "max_position_embeddings", "sliding_window",
    "use_sliding_window", "max_window_layers", "layer_types",
    /* experts */
    "num_experts", "num_local_experts", "n_routed_experts", "num_experts_per_tok",
    "moe_intermediate_size", "shared_expert_intermediate_size", "n_shared_experts",
    "num_shared_experts", "first_k_dense_replace", "moe_layer_freq", "decoder_sparse_step",
    "mlp_only_layers", "mlp_layer_types", "interleave_moe_layer_step",
    /* MLA */
    "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim",
    "qk_head_dim",
    /* traits */
    "attention_bias", "mlp_bias", "tie_word_embeddings", "rms_norm_eps", "hidden_act",
    "use_qk_norm", "qk_norm", "torch_dtype", "dtype", "quantization_config",
    "num_nextn_predict_layers",
    /* no weights behind them */
    "model_type", "architectures", "auto_map", "transformers_version", "initializer_range",
    "use_cache", "attention_dropout", "hidden_dropout", "bos_token_id", "eos_token_id",
    "pad_token_id", "rope_theta", "rope_scaling", "rope_parameters", "rope_interleave",
    "partial_rotary_factor", "pretraining_tp", "norm_topk_prob", "router_aux_loss_coef",
    "output_router_logits", "aux_loss_alpha", "seq_aux", "n_group", "topk_group", "topk_method",
    "scoring_func", "routed_scaling_factor", "ep_size", "router_jitter_noise", "router_z_loss_coef",
    "moe_router_dtype", "_name_or_path", "torchscript", "attn_implementation",
    "_attn_implementation", "text_config", "vision_config", "audio_config", "language_config",
    "llm_config", "tokenizer_class", "logits_to_keep", "num_logits_to_keep", NULL};

static bool is_word(const char *word, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

/* The first key of the map whose meaning is not known, NULL when there is none. */
static const doc_node *strange_key(const doc_node *map)
{
    for (const doc_node *node = map->first; node; node = node->next)
        if (!is_word(node->key, PLAIN_KEYS) && !doc_is_null(node))
            return node;
    return NULL;
}

/*
 * A family from the keys of the file alone: a gated decoder with RMS norms, the form of every
 * recent model; experts and MLA where their keys are. False: the keys do not say enough.
 */
static bool declare_family(hf_reader *r, const char *model_type)
{
    static const char *const gated[] = {"silu", "swish", "swiglu", NULL};
    static const char *const mla[] = {"kv_lora_rank", NULL};
    doc_node *act = find(r->map, "hidden_act");
    if (strange_key(r->map) || !find(r->map, "rms_norm_eps") || !act || act->kind != DOC_SCALAR ||
        !is_word(act->text, gated))
        return false;
    hf_family f = {
        .model_type = "this type of",
        .gated = true,
        .norm = LLMPERF_NORM_RMS,
        .norms = 2,
        .qkv_bias = BIAS_KEY_OFF,
        .out_bias = BIAS_KEY_OFF,
        .bias_key = "attention_bias",
        .mlp_bias = BIAS_KEY_OFF,
        .mlp_bias_key = "mlp_bias",
        .moe = find_any(r->map, EXPERTS_KEYS) != NULL,
        .mla = find_any(r->map, mla) != NULL,
        .windows = find(r->map, "use_sliding_window") ? WINDOW_FROM : WINDOW_ALL,
    };
    if (f.moe)
        f.shared = find_any(r->map, SHARED_WIDTH_KEYS)   ? SHARED_WIDTH
                   : find_any(r->map, SHARED_COUNT_KEYS) ? SHARED_COUNT
                                                         : SHARED_NONE;
    if (flag(r, "use_qk_norm", false) || flag(r, "qk_norm", false))
        f.qk_norm = LLMPERF_QK_NORM_HEAD;
    r->declared = f;
    r->family = &r->declared;
    char shown[LLMPERF_NAME_MAX * 2];
    llmperf_escape(model_type, shown, sizeof shown);
    llmperf_note(&r->model->warnings,
                 "model_type %s is not known: read by its keys, as a gated decoder with RMS norms; "
                 "biases, norms of q and k, and a tied head only where a key says so",
                 shown);
    return true;
}

static void refuse_family(hf_reader *r, const doc_node *node, const char *model_type)
{
    char names[2048], strange[160] = "";
    const doc_node *key = strange_key(r->map);
    list_families(names, sizeof names);
    if (key)
        snprintf(strange, sizeof strange, " and its key '%.96s' could mean more weights", key->key);
    done(r, doc_fail(r->document, node, r->error,
                     "model_type '%s' is not counted by this version%s; known are %s", model_type,
                     strange, names));
    unsupported(r);
}

/* Where wrappers of several models keep the text model. */
static doc_node *text_map(doc_node *outer)
{
    static const char *const keys[] = {"text_config", "language_config", "llm_config", NULL};
    for (int i = 0; keys[i]; i++) {
        doc_node *node = find(outer, keys[i]);
        if (node && node->kind == DOC_MAP)
            return node;
    }
    return outer;
}

static bool find_family(hf_reader *r)
{
    char model_type[LLMPERF_NAME_MAX] = "";
    r->map = text_map(r->outer);
    doc_node *node = find(r->map, "model_type");
    if (!node)
        node = find(r->outer, "model_type");
    if (!node && find(r->map, "ssm_cfg")) { /* state-spaces files name no type */
        r->family = family_of("mamba");
        snprintf(r->model->architecture, sizeof r->model->architecture, "mamba");
        return true;
    }
    if (!node)
        return done(r, doc_fail(r->document, r->outer, r->error,
                                "model_type is missing; a Hugging Face config.json names it, for "
                                "example \"llama\""));
    if (!done(r, doc_text(r->document, node, model_type, sizeof model_type, r->error)))
        return false;
    r->family = family_of(model_type);
    if (!r->family && !declare_family(r, model_type)) {
        refuse_family(r, node, model_type);
        return false;
    }
    snprintf(r->model->architecture, sizeof r->model->architecture, "%s", model_type);
    if (r->map != r->outer) {
        static const char *const towers[] = {"vision_config", "audio_config", NULL};
        if (find_any(r->outer, towers))
            snprintf(r->model->not_counted, sizeof r->model->not_counted,
                     "vision and audio towers (text model only)");
    }
    return true;
}

/* quantization_config inside or beside the text model, else a second file's. */
static void read_quantisation(hf_reader *r, doc *second)
{
    static const char *const keys[] = {"quantization_config", "quantization", NULL};
    const doc *document = r->document;
    doc_node *config = find_any(r->map, keys);
    if (!config)
        config = find_any(r->outer, keys);
    if (!config && second) {
        document = second;
        config = find(doc_root(second), "quantization");
    }
    if (config)
        done(r, quant_read(document, config, &r->quant, &r->model->warnings, r->error));
}

static void check_kv_heads(hf_reader *r)
{
    const llmperf_attention *a = &r->layer.attention;
    doc_node *node = find_any(r->map, KV_HEADS_KEYS);
    if (a->heads > 0 && a->heads % a->kv_heads != 0)
        done(r, doc_fail(r->document, node ? node : r->map, r->error,
                         "%lld KV heads do not divide %lld attention heads; a divisor is allowed",
                         (long long)a->kv_heads, (long long)a->heads));
}

/* Layers that predict further tokens: one more of the last shape, and the projection that joins
 * two hidden states. Reported apart: serving without speculation never runs them. */
static void count_mtp(hf_reader *r)
{
    static const char *const keys[] = {"num_nextn_predict_layers", "mtp_num_hidden_layers", NULL};
    llmperf_model *m = r->model;
    doc_node *node = find_any(r->map, keys);
    int64_t count = 0;
    weight_count sum;
    if (!node || !done(r, doc_int64(r->document, node, 0, 64, &count, r->error)) || count == 0)
        return;
    llmperf_layer last = m->layers[m->layer_kind_count - 1];
    last.count = 1;
    count_layer(m, &last, 1, &sum);
    int64_t params = 2 * m->hidden * m->hidden + 3 * m->hidden;
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        params += sum.by_class[i];
    m->mtp_params = count * params;
    snprintf(m->not_counted, sizeof m->not_counted, "%s%s%lld multi-token-prediction layer%s",
             m->not_counted[0] ? "vision and audio towers (text model only)" : "",
             m->not_counted[0] ? ", " : "", (long long)count, count == 1 ? "" : "s");
}

llmperf_status spec_hf_read(doc *document, doc *second, llmperf_model *ret_model,
                            llmperf_error *error)
{
    llmperf_model model = {0};
    hf_reader r = {.document = document, .model = &model, .error = error};
    r.outer = doc_root(document);
    if (r.outer->kind != DOC_MAP)
        return doc_fail(document, r.outer, error,
                        "the file is a list or a scalar; a map is allowed");
    if (!find_family(&r))
        return r.status;
    read_dtype(&r);
    read_dimensions(&r);
    read_traits(&r);
    if (r.family->hook != hook_dbrx)
        read_moe(&r);
    if (r.family->mla)
        read_mla(&r);
    if (r.status == LLMPERF_OK && r.family->hook)
        r.family->hook(&r);
    if (r.status == LLMPERF_OK)
        check_kv_heads(&r);
    spec_uniform_weights(&model, (llmperf_dtype)model.dtype);
    read_quantisation(&r, second);
    if (r.status == LLMPERF_OK)
        plan_layers(&r);
    if (r.status != LLMPERF_OK)
        return r.status;
    count_mtp(&r);
    quant_outside(&r.quant, &model);
    snprintf(model.source, sizeof model.source, "config.json");
    *ret_model = model;
    return LLMPERF_OK;
}
