/* SPDX-License-Identifier: MIT */
/*
 * The model types: a row each holds what a config.json does not say, biases, norms, whether the FFN is
 * gated, whether the head is tied when no key says so. A few types need a hook (hf_hooks.c).
 */
#include <stdio.h>
#include <string.h>

#include "hf.h"

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

/* ---- finding the text model and its family ------------------------------------------------------ */

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
    doc_node *act = hf_find(r->map, "hidden_act");
    if (strange_key(r->map) || !hf_find(r->map, "rms_norm_eps") || !act ||
        act->kind != DOC_SCALAR || !is_word(act->text, gated))
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
        .moe = hf_find_any(r->map, HF_EXPERTS_KEYS) != NULL,
        .mla = hf_find_any(r->map, mla) != NULL,
        .windows = hf_find(r->map, "use_sliding_window") ? WINDOW_FROM : WINDOW_ALL,
    };
    if (f.moe)
        f.shared = hf_find_any(r->map, HF_SHARED_WIDTH_KEYS)   ? SHARED_WIDTH
                   : hf_find_any(r->map, HF_SHARED_COUNT_KEYS) ? SHARED_COUNT
                                                               : SHARED_NONE;
    if (hf_flag(r, "use_qk_norm", false) || hf_flag(r, "qk_norm", false))
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
    hf_done(r, doc_fail(r->document, node, r->error,
                        "model_type '%s' is not counted by this version%s; known are %s",
                        model_type, strange, names));
    hf_unsupported(r);
}

/* Where wrappers of several models keep the text model. */
static doc_node *text_map(doc_node *outer)
{
    static const char *const keys[] = {"text_config", "language_config", "llm_config", NULL};
    for (int i = 0; keys[i]; i++) {
        doc_node *node = hf_find(outer, keys[i]);
        if (node && node->kind == DOC_MAP)
            return node;
    }
    return outer;
}

bool hf_find_family(hf_reader *r)
{
    char model_type[LLMPERF_NAME_MAX] = "";
    r->map = text_map(r->outer);
    doc_node *node = hf_find(r->map, "model_type");
    if (!node)
        node = hf_find(r->outer, "model_type");
    if (!node && hf_find(r->map, "ssm_cfg")) { /* state-spaces files name no type */
        r->family = family_of("mamba");
        snprintf(r->model->architecture, sizeof r->model->architecture, "mamba");
        return true;
    }
    if (!node)
        return hf_done(r,
                       doc_fail(r->document, r->outer, r->error,
                                "model_type is missing; a Hugging Face config.json names it, for "
                                "example \"llama\""));
    if (!hf_done(r, doc_text(r->document, node, model_type, sizeof model_type, r->error)))
        return false;
    r->family = family_of(model_type);
    if (!r->family && !declare_family(r, model_type)) {
        refuse_family(r, node, model_type);
        return false;
    }
    snprintf(r->model->architecture, sizeof r->model->architecture, "%s", model_type);
    if (r->map != r->outer) {
        static const char *const towers[] = {"vision_config", "audio_config", NULL};
        if (hf_find_any(r->outer, towers))
            snprintf(r->model->not_counted, sizeof r->model->not_counted,
                     "vision and audio towers (text model only)");
    }
    return true;
}
