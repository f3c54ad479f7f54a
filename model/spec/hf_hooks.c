/* SPDX-License-Identifier: MIT */
/*
 * What some model types write in their own way: hooks for the common layer, and plans that turn it
 * into layer i.
 */
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "hf.h"
#include "model_object.h"

void hook_gpt_bigcode(hf_reader *r)
{
    if (hf_flag(r, "multi_query", true))
        r->layer.attention.kv_heads = 1;
}

void hook_falcon(hf_reader *r)
{
    llmperf_attention *a = &r->layer.attention;
    bool new_decoder =
        hf_flag(r, "new_decoder_architecture", strcmp(r->family->model_type, "RefinedWeb") == 0);
    if (!new_decoder) /* num_kv_heads is stale in old files: the flag decides */
        a->kv_heads = hf_flag(r, "multi_query", true) ? 1 : a->heads;
    r->layer.parallel = new_decoder || hf_flag(r, "parallel_attn", true);
    int64_t norms = new_decoder ? 2 : 1; /* ln_attn and ln_mlp side by side */
    doc_node *node = hf_find(r->map, "num_ln_in_parallel_attn");
    if (node)
        hf_done(r, doc_int64(r->document, node, 1, 2, &norms, r->error));
    r->layer.norms = r->layer.parallel ? norms : 2;
    if (hf_flag(r, "alibi", false))
        a->rope = false;
}

void hook_qwen1(hf_reader *r)
{
    /* intermediate_size is gate and up together */
    r->layer.mlp.ffn /= 2;
}

void hook_mpt(hf_reader *r)
{
    llmperf_attention *a = &r->layer.attention;
    doc_node *config = hf_find(r->map, "attn_config");
    doc_node *kv = hf_find(config, "kv_n_heads");
    doc_node *type = hf_find(config, "attn_type");
    doc_node *alibi = hf_find(config, "alibi");
    doc_node *ratio = hf_find(r->map, "expansion_ratio");
    bool has_alibi = false;
    char word[32] = "";
    if (type)
        hf_done(r, doc_text(r->document, type, word, sizeof word, r->error));
    if (strcmp(word, "multiquery_attention") == 0)
        a->kv_heads = 1;
    else if (kv)
        hf_done(r, doc_int64(r->document, kv, 1, 1 << 16, &a->kv_heads, r->error));
    if (alibi)
        hf_done(r, doc_bool(r->document, alibi, &has_alibi, r->error));
    if (has_alibi || !hf_flag(r, "learned_pos_emb", true))
        r->model->position_embeddings = 0;
    int64_t times = 4;
    if (ratio && hf_done(r, doc_int64(r->document, ratio, 1, 1024, &times, r->error)))
        r->layer.mlp.ffn = times * r->model->hidden;
    if (!hf_flag(r, "no_bias", true)) {
        r->model->norm = LLMPERF_NORM_LAYER;
        a->qkv_bias = a->out_bias = true;
        r->layer.mlp.up_bias = r->layer.mlp.down_bias = true;
    }
}

void hook_opt(hf_reader *r)
{
    static const char *const projection[] = {"word_embed_proj_dim", NULL};
    hf_dimension(r, projection, 1 << 20, &r->model->embedding_dim);
    r->model->final_norm =
        hf_flag(r, "do_layer_norm_before", true) && !hf_flag(r, "_remove_final_layer_norm", false);
}

void hook_chatglm(hf_reader *r)
{
    static const char *const groups[] = {"multi_query_group_num", NULL};
    if (hf_flag(r, "multi_query_attention", false))
        hf_dimension_required(r, groups, 1 << 16, &r->layer.attention.kv_heads);
    if (hf_flag(r, "add_bias_linear", false)) {
        r->layer.attention.qkv_bias = r->layer.attention.out_bias = true;
        r->layer.mlp.up_bias = r->layer.mlp.down_bias = true;
    }
}

void hook_gpt_neox(hf_reader *r)
{
    r->layer.parallel = hf_flag(r, "use_parallel_residual", true);
}

void hook_baichuan(hf_reader *r)
{
    /* 13B models carry ALiBi and no rotary positions; their width tells them apart */
    if (r->model->hidden >= 5120)
        r->layer.attention.rope = false;
}

void hook_stablelm(hf_reader *r)
{
    r->layer.parallel = hf_flag(r, "use_parallel_residual", false);
    if (r->layer.parallel)
        r->layer.norms = 1;
    if (hf_flag(r, "qk_layernorm", false))
        r->layer.attention.qk_norm = LLMPERF_QK_NORM_PER_HEAD;
}

void hook_cohere(hf_reader *r)
{
    if (hf_flag(r, "use_qk_norm", false))
        r->layer.attention.qk_norm = LLMPERF_QK_NORM_PER_HEAD;
}

void hook_bloom(hf_reader *r)
{
    r->model->max_context = 0; /* ALiBi: seq_length is the training run's, not a limit */
}

/* ---- layer by layer: mixers of hybrids, experts, indexers ------------------------------------ */

/* indexer_types: "full" layers choose, "shared" ones take the choice of the layer before. */
void plan_index_types(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *types = hf_find(r->map, "indexer_types");
    const char *word = hf_list_word(types, i);
    hf_check_length(r, types, i);
    if (word && strcmp(word, "shared") == 0) {
        layer->index.shared = true;
        layer->index.heads = layer->index.dim = 0;
    }
}

static void drop_attention(llmperf_layer *layer)
{
    memset(&layer->attention, 0, sizeof layer->attention);
    memset(&layer->mla, 0, sizeof layer->mla);
    memset(&layer->index, 0, sizeof layer->index);
}

void plan_qwen_hybrid(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    const char *word = hf_list_word(hf_find(r->map, "layer_types"), i);
    int64_t interval = hf_integer_or(r, "full_attention_interval", 4);
    bool full =
        word ? strcmp(word, "full_attention") == 0 : interval > 0 && (i + 1) % interval == 0;
    if (full)
        return;
    drop_attention(layer);
    layer->ssm = (llmperf_ssm){
        .kind = LLMPERF_SSM_DELTA,
        .heads = hf_required_integer(r, "linear_num_value_heads"),
        .head_dim = hf_required_integer(r, "linear_value_head_dim"),
        .groups = hf_required_integer(r, "linear_num_key_heads"),
        .state = hf_required_integer(r, "linear_key_head_dim"),
        .conv = hf_required_integer(r, "linear_conv_kernel_dim"),
    };
}

void plan_jamba(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    int64_t period = hf_integer_or(r, "attn_layer_period", 8);
    if (period > 0 && i % period == hf_integer_or(r, "attn_layer_offset", 4))
        return;
    drop_attention(layer);
    layer->ssm = (llmperf_ssm){
        .kind = LLMPERF_SSM_MAMBA,
        .heads = 1,
        .groups = 1,
        .head_dim = hf_integer_or(r, "mamba_expand", 2) * r->model->hidden,
        .state = hf_required_integer(r, "mamba_d_state"),
        .conv = hf_required_integer(r, "mamba_d_conv"),
        .dt_rank = hf_integer_or(r, "mamba_dt_rank", ceil_div(r->model->hidden, 16)),
        .conv_bias = hf_flag(r, "mamba_conv_bias", true),
        .proj_bias = hf_flag(r, "mamba_proj_bias", false),
        .bc_norm = true,
    };
}

/* The first form of Mamba alone: state-spaces files (ssm_cfg) and Hugging Face's. */
void plan_mamba(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    (void)i;
    int64_t h = r->model->hidden;
    drop_attention(layer);
    memset(&layer->mlp, 0, sizeof layer->mlp);
    layer->ssm = (llmperf_ssm){
        .kind = LLMPERF_SSM_MAMBA,
        .heads = 1,
        .groups = 1,
        .head_dim = hf_integer_or(r, "intermediate_size", hf_integer_or(r, "expand", 2) * h),
        .state = hf_integer_or(r, "state_size", 16),
        .conv = hf_integer_or(r, "conv_kernel", 4),
        .dt_rank = hf_integer_or(r, "time_step_rank", ceil_div(h, 16)),
        .conv_bias = hf_flag(r, "use_conv_bias", true),
    };
}

void hook_granite_hybrid(hf_reader *r)
{
    /* a shared MLP in every layer; routed experts beside it where there are any */
    llmperf_layer *layer = &r->layer;
    int64_t experts = hf_integer_or(r, "num_local_experts", 0);
    int64_t shared = hf_integer_or(r, "shared_intermediate_size", layer->mlp.ffn);
    layer->attention.rope = false;
    doc_node *positions = hf_find(r->map, "position_embedding_type");
    if (positions && positions->kind == DOC_SCALAR && strcmp(positions->text, "rope") == 0)
        layer->attention.rope = true;
    if (experts > 0) {
        r->moe = (llmperf_moe){
            .experts = experts,
            .active = hf_required_integer(r, "num_experts_per_tok"),
            .ffn = layer->mlp.ffn,
            .shared_ffn = shared,
            .gated = true,
        };
    } else {
        layer->mlp.ffn = shared;
    }
}

void plan_granite_hybrid(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *types = hf_find(r->map, "layer_types"),
             *indices = hf_find(r->map, "attn_layer_indices");
    const char *word = hf_list_word(types, i);
    bool attention = word ? strcmp(word, "attention") == 0 : hf_list_has(indices, i);
    if (!types && !indices)
        hf_done(r, doc_fail(r->document, r->map, r->error,
                            "layer_types is missing; it says which layers are attention"));
    if (attention)
        return;
    drop_attention(layer);
    layer->ssm = (llmperf_ssm){
        .kind = LLMPERF_SSM_MAMBA2,
        .heads = hf_required_integer(r, "mamba_n_heads"),
        .head_dim = hf_required_integer(r, "mamba_d_head"),
        .state = hf_required_integer(r, "mamba_d_state"),
        .groups = hf_integer_or(r, "mamba_n_groups", 1),
        .conv = hf_integer_or(r, "mamba_d_conv", 4),
        .conv_bias = hf_flag(r, "mamba_conv_bias", true),
        .proj_bias = hf_flag(r, "mamba_proj_bias", false),
    };
}

void hook_nemotron_h(hf_reader *r)
{
    llmperf_moe *m = &r->moe;
    doc_node *shared = hf_find_any(r->map, HF_SHARED_COUNT_KEYS);
    int64_t shared_count = 0;
    if (!hf_find_any(r->map, HF_EXPERTS_KEYS))
        return;
    hf_dimension(r, HF_EXPERTS_KEYS, 1 << 16, &m->experts);
    hf_dimension_required(r, HF_ACTIVE_KEYS, 1 << 16, &m->active);
    hf_dimension_required(r, HF_EXPERT_FFN_KEYS, 1 << 24, &m->ffn);
    if (shared)
        hf_done(r, doc_int64(r->document, shared, 0, 1 << 16, &shared_count, r->error));
    m->shared_ffn = shared_count * hf_integer_or(r, "moe_shared_expert_intermediate_size", m->ffn);
    m->latent = hf_integer_or(r, "moe_latent_size", 0);
    m->router_bias = true;
}

/* One mixer a block: M Mamba-2, * attention, - MLP, E experts. */
void plan_nemotron_h(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *pattern = hf_find(r->map, "hybrid_override_pattern");
    const char *word = hf_list_word(hf_find(r->map, "layers_block_type"), i);
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
            .heads = hf_required_integer(r, "mamba_num_heads"),
            .head_dim = hf_required_integer(r, "mamba_head_dim"),
            .state = hf_required_integer(r, "ssm_state_size"),
            .groups = hf_integer_or(r, "n_groups", 1),
            .conv = hf_integer_or(r, "conv_kernel", 4),
            .conv_bias = hf_flag(r, "use_conv_bias", true),
            .proj_bias = hf_flag(r, "mamba_proj_bias", false),
        };
        break;
    default:
        hf_done(
            r, doc_fail(r->document, pattern ? pattern : r->map, r->error,
                        "block %lld has no kind; hybrid_override_pattern of M, *, - and E with one "
                        "letter a layer is allowed",
                        (long long)i + 1));
        return;
    }
    if (kind == 'E' && r->moe.experts == 0)
        hf_done(r, doc_fail(r->document, r->map, r->error,
                            "a block of experts needs n_routed_experts; it is missing"));
    *layer = block;
}

void plan_minimax_m1(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *types = hf_find(r->map, "attn_type_list");
    if (!types) {
        hf_done(r,
                doc_fail(r->document, r->map, r->error,
                         "attn_type_list is missing; it says which layers are softmax attention"));
        return;
    }
    if (hf_list_item(r, types, i, 1) == 1)
        return;
    llmperf_attention a = layer->attention;
    drop_attention(layer);
    layer->ssm = (llmperf_ssm){.kind = LLMPERF_SSM_LINEAR,
                               .heads = a.heads,
                               .groups = a.heads,
                               .head_dim = a.head_dim,
                               .state = a.head_dim};
}

void hook_minimax_m3(hf_reader *r)
{
    static const char *const dense[] = {"dense_intermediate_size", NULL};
    if (hf_find_any(r->map, dense))
        hf_dimension(r, dense, 1 << 24, &r->layer.mlp.ffn);
}

/* Block-sparse attention: some heads score blocks of keys, the best blocks are read. */
void plan_minimax_m3(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *sparse = hf_find(r->map, "sparse_attention_config");
    doc_node *freq = hf_find(sparse, "sparse_attention_freq");
    doc_node *heads = hf_find(sparse, "sparse_num_index_heads"),
             *dim = hf_find(sparse, "sparse_index_dim");
    doc_node *blocks = hf_find(sparse, "sparse_topk_blocks"),
             *size = hf_find(sparse, "sparse_block_size");
    int64_t block = 1;
    if (!sparse || !heads || !dim || !blocks || !size || (freq && hf_list_item(r, freq, i, 1) == 0))
        return;
    hf_done(r, doc_int64(r->document, heads, 1, 1 << 16, &layer->index.heads, r->error));
    hf_done(r, doc_int64(r->document, dim, 1, 1 << 16, &layer->index.dim, r->error));
    hf_done(r, doc_int64(r->document, blocks, 1, 1 << 20, &layer->index.top_k, r->error));
    hf_done(r, doc_int64(r->document, size, 1, 1 << 20, &block, r->error));
    layer->index.top_k *= block;
}

void hook_mimo(hf_reader *r)
{
    static const char *const value[] = {"v_head_dim", NULL};
    if (hf_find_any(r->map, value))
        hf_dimension(r, value, 1 << 16, &r->layer.attention.value_dim);
}

void plan_mimo(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *pattern = hf_find(r->map, "hybrid_layer_pattern");
    llmperf_attention *a = &layer->attention;
    if (!pattern || hf_list_item(r, pattern, i, 0) == 0)
        return;
    a->heads = hf_integer_or(r, "swa_num_attention_heads", a->heads);
    a->kv_heads = hf_integer_or(r, "swa_num_key_value_heads", a->kv_heads);
    a->head_dim = hf_integer_or(r, "swa_head_dim", a->head_dim);
    a->value_dim = hf_integer_or(r, "swa_v_head_dim", a->value_dim);
    a->window = hf_required_integer(r, "sliding_window");
    a->sinks = hf_flag(r, "add_swa_attention_sink_bias", false);
}

void hook_kimi_linear(hf_reader *r)
{
    r->layer.mla.gate = hf_flag(r, "mla_use_output_gate", false);
    r->moe.latent = hf_integer_or(r, "routed_expert_hidden_size", 0);
    if (r->moe.latent == r->model->hidden)
        r->moe.latent = 0;
}

void plan_kimi_linear(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *config = hf_find(r->map, "linear_attn_config");
    doc_node *full = hf_find(config, "full_attn_layers");
    doc_node *heads = hf_find(config, "num_heads"), *dim = hf_find(config, "head_dim");
    doc_node *conv = hf_find(config, "short_conv_kernel_size");
    if (!config || hf_list_has(full, i + 1)) /* the lists count from 1 */
        return;
    drop_attention(layer);
    layer->ssm = (llmperf_ssm){.kind = LLMPERF_SSM_KDA};
    if (!heads || !dim) {
        hf_done(r, doc_fail(r->document, config, r->error,
                            "linear_attn_config needs num_heads and head_dim"));
        return;
    }
    hf_done(r, doc_int64(r->document, heads, 1, 1 << 16, &layer->ssm.heads, r->error));
    hf_done(r, doc_int64(r->document, dim, 1, 1 << 16, &layer->ssm.head_dim, r->error));
    if (conv)
        hf_done(r, doc_int64(r->document, conv, 0, 64, &layer->ssm.conv, r->error));
    layer->ssm.groups = layer->ssm.heads;
    layer->ssm.state = layer->ssm.head_dim;
}

void hook_llama4(hf_reader *r)
{
    static const char *const dense[] = {"intermediate_size_mlp", NULL};
    if (hf_find_any(r->map, dense))
        hf_dimension(r, dense, 1 << 24, &r->layer.mlp.ffn);
}

/* Layers with rotary positions attend inside chunks; every fourth has neither. */
void plan_llama4(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *list = hf_find(r->map, "no_rope_layers");
    bool rope = (i + 1) % hf_integer_or(r, "no_rope_layer_interval", 4) != 0;
    if (list && list->kind == DOC_SEQ && list->count > 0)
        rope = hf_list_item(r, list, i, 1) != 0;
    layer->attention.rope = rope;
    if (rope)
        layer->attention.chunk = hf_integer_or(r, "attention_chunk_size", 0);
}

void hook_dbrx(hf_reader *r)
{
    static const char *const experts[] = {"moe_num_experts", NULL};
    static const char *const active[] = {"moe_top_k", NULL};
    static const char *const ffn[] = {"ffn_hidden_size", NULL};
    doc_node *outer = r->map, *attention = hf_find(r->map, "attn_config");
    doc_node *kv = hf_find(attention, "kv_n_heads"), *config = hf_find(r->map, "ffn_config");
    if (kv)
        hf_done(r, doc_int64(r->document, kv, 1, 1 << 16, &r->layer.attention.kv_heads, r->error));
    if (!config) {
        hf_done(r, doc_fail(r->document, r->map, r->error,
                            "ffn_config is missing; dbrx models need it"));
        return;
    }
    r->map = config;
    hf_dimension_required(r, experts, 1 << 16, &r->moe.experts);
    hf_dimension_required(r, active, 1 << 16, &r->moe.active);
    hf_dimension_required(r, ffn, 1 << 24, &r->moe.ffn);
    r->moe.gated = true;
    r->map = outer;
}

void hook_qk_norm_flag(hf_reader *r)
{
    if (hf_flag(r, "use_qk_norm", false))
        r->layer.attention.qk_norm = LLMPERF_QK_NORM_HEAD;
}

/* Models shaped by architecture search: each block says its own heads and width, or nothing. */
void plan_nas(hf_reader *r, int64_t i, llmperf_layer *layer)
{
    doc_node *per_layer = hf_find(r->map, "num_key_value_heads_per_layer");
    doc_node *blocks = hf_find(r->map, "block_configs"), *block = NULL;
    int64_t at = 0;
    if (per_layer)
        layer->attention.kv_heads = hf_list_item(r, per_layer, i, layer->attention.kv_heads);
    hf_check_length(r, blocks, i);
    for (doc_node *node = blocks ? blocks->first : NULL; node; node = node->next, at++)
        if (at == i)
            block = node;
    if (!block && !blocks && layer->mlp.ffn == 0)
        hf_done(r, doc_fail(r->document, r->map, r->error,
                            "block_configs has no entry for block %lld, "
                            "and the model no intermediate_size",
                            (long long)i + 1));
    if (!block)
        return;
    doc_node *attention = hf_find(block, "attention"), *ffn = hf_find(block, "ffn");
    doc_node *group = hf_find(attention, "n_heads_in_group"),
             *no_attention = hf_find(attention, "no_op");
    doc_node *linear = hf_find(attention, "replace_with_linear");
    doc_node *times = hf_find(ffn, "ffn_mult"), *no_ffn = hf_find(ffn, "no_op");
    bool skip = false, replaced = false;
    if (linear)
        hf_done(r, doc_bool(r->document, linear, &replaced, r->error));
    if (replaced) {
        hf_done(r,
                doc_fail(r->document, linear, r->error,
                         "replace_with_linear is not counted by this version; false is allowed"));
        hf_unsupported(r);
    }
    if (no_attention)
        hf_done(r, doc_bool(r->document, no_attention, &skip, r->error));
    int64_t heads_in_group = 1;
    if (skip)
        drop_attention(layer);
    else if (group &&
             hf_done(r, doc_int64(r->document, group, 1, 1 << 16, &heads_in_group, r->error)))
        layer->attention.kv_heads = layer->attention.heads / heads_in_group;
    skip = false;
    double mult = 0;
    if (no_ffn)
        hf_done(r, doc_bool(r->document, no_ffn, &skip, r->error));
    if (skip)
        layer->mlp.ffn = 0;
    else if (times && hf_done(r, doc_double(r->document, times, 0, 1024, &mult, r->error)))
        layer->mlp.ffn = ceil_div((int64_t)(2 * mult * (double)r->model->hidden / 3), 256) * 256;
    if (!skip && layer->mlp.ffn == 0)
        hf_done(r, doc_fail(r->document, block, r->error,
                            "block %lld has no ffn_mult, and the model "
                            "no intermediate_size",
                            (long long)i + 1));
    layer->norms = (layer->attention.heads > 0) + (layer->mlp.ffn > 0);
}
