/* SPDX-License-Identifier: MIT */
/* Looking the keys of a config.json up; what is missing is named. */
#include "hf.h"

const char *const HF_HIDDEN_KEYS[] = {"hidden_size", "n_embd", "d_model", "n_embed", NULL};
const char *const HF_LAYERS_KEYS[] = {"num_hidden_layers", "n_layer", "num_layers", "n_layers",
                                      NULL};
const char *const HF_HEADS_KEYS[] = {"num_attention_heads", "n_head", "n_heads", "num_heads", NULL};
const char *const HF_KV_HEADS_KEYS[] = {"num_key_value_heads", "num_kv_heads", "n_head_kv", NULL};
const char *const HF_HEAD_DIM_KEYS[] = {"head_dim", "kv_channels", "attention_head_dim", NULL};
const char *const HF_FFN_KEYS[] = {"intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size",
                                   NULL};
const char *const HF_EXPERTS_KEYS[] = {"num_local_experts", "num_experts", "n_routed_experts",
                                       "moe_num_experts", NULL};
const char *const HF_ACTIVE_KEYS[] = {"num_experts_per_tok",
                                      "num_experts_per_token",
                                      "experts_per_token",
                                      "moe_top_k",
                                      "moe_k",
                                      "top_k_experts",
                                      NULL};
const char *const HF_EXPERT_FFN_KEYS[] = {"moe_intermediate_size", "expert_ffn_hidden_size",
                                          "moe_ffn_hidden_size", NULL};
const char *const HF_SHARED_WIDTH_KEYS[] = {"shared_expert_intermediate_size", "share_expert_dim",
                                            "shared_intermediate_size", NULL};
const char *const HF_SHARED_COUNT_KEYS[] = {"n_shared_experts", "num_shared_experts",
                                            "moe_num_shared_experts", NULL};
const char *const HF_VOCAB_KEYS[] = {"padded_vocab_size", "vocab_size", NULL};
const char *const HF_CONTEXT_KEYS[] = {
    "max_position_embeddings", "n_positions",      "n_ctx", "seq_length", "max_seq_len",
    "max_sequence_length",     "model_max_length", NULL};

bool hf_done(hf_reader *r, llmperf_status status)
{
    if (status != LLMPERF_OK && r->status == LLMPERF_OK)
        r->status = status;
    return status == LLMPERF_OK;
}

void hf_unsupported(hf_reader *r)
{
    r->status = LLMPERF_E_UNSUPPORTED;
    if (r->error)
        r->error->status = LLMPERF_E_UNSUPPORTED;
}

doc_node *hf_find(doc_node *map, const char *key)
{
    doc_node *node = doc_get(map, key);
    return doc_is_null(node) ? NULL : node;
}

doc_node *hf_find_any(doc_node *map, const char *const *keys)
{
    for (int i = 0; keys[i]; i++) {
        doc_node *node = hf_find(map, keys[i]);
        if (node)
            return node;
    }
    return NULL;
}

bool hf_dimension(hf_reader *r, const char *const *keys, int64_t max, int64_t *ret_value)
{
    doc_node *node = hf_find_any(r->map, keys);
    return node && hf_done(r, doc_int64(r->document, node, 1, max, ret_value, r->error));
}

bool hf_dimension_required(hf_reader *r, const char *const *keys, int64_t max, int64_t *ret_value)
{
    if (hf_find_any(r->map, keys))
        return hf_dimension(r, keys, max, ret_value);
    return hf_done(r, doc_fail(r->document, r->map, r->error,
                               "%s is missing or null; %s models need it (dimensions are never "
                               "guessed)",
                               keys[0], r->family->model_type));
}

bool hf_flag(hf_reader *r, const char *key, bool absent)
{
    doc_node *node = key ? hf_find(r->map, key) : NULL;
    bool value = absent;
    if (node)
        hf_done(r, doc_bool(r->document, node, &value, r->error));
    return value;
}

bool hf_has_bias(hf_reader *r, bias_rule rule, const char *key)
{
    switch (rule) {
    case BIAS_ALWAYS:
        return true;
    case BIAS_KEY_OFF:
        return hf_flag(r, key, false);
    case BIAS_KEY_ON:
        return hf_flag(r, key, true);
    default:
        return false;
    }
}

void hf_check_length(hf_reader *r, const doc_node *list, int64_t i)
{
    size_t count = list && list->kind == DOC_SEQ ? list->count : 0;
    if (list && i == r->layers - 1 && (int64_t)count < r->layers)
        hf_done(r, doc_fail(r->document, list, r->error,
                            "%s has %zu entries; one for each of the %lld layers is allowed",
                            list->key ? list->key : "the list", count, (long long)r->layers));
}

int64_t hf_list_item(hf_reader *r, doc_node *list, int64_t i, int64_t absent)
{
    int64_t at = 0, value = absent;
    hf_check_length(r, list, i);
    for (doc_node *node = list->first; node; node = node->next, at++)
        if (at == i) {
            hf_done(r, doc_int64(r->document, node, 0, (int64_t)1 << 40, &value, r->error));
            break;
        }
    return value;
}

bool hf_list_has(doc_node *list, int64_t wanted)
{
    for (doc_node *node = list ? list->first : NULL; node; node = node->next) {
        double value;
        if (node->kind == DOC_SCALAR && llmperf_parse_double(node->text, &value) &&
            value == (double)wanted)
            return true;
    }
    return false;
}

const char *hf_list_word(doc_node *list, int64_t i)
{
    int64_t at = 0;
    for (doc_node *node = list ? list->first : NULL; node; node = node->next, at++)
        if (at == i)
            return node->kind == DOC_SCALAR ? node->text : NULL;
    return NULL;
}

int64_t hf_integer_or(hf_reader *r, const char *key, int64_t absent)
{
    doc_node *node = hf_find(r->map, key);
    int64_t value = absent;
    if (node)
        hf_done(r, doc_int64(r->document, node, 0, (int64_t)1 << 40, &value, r->error));
    return value;
}

int64_t hf_required_integer(hf_reader *r, const char *key)
{
    const char *const keys[] = {key, NULL};
    int64_t value = 1;
    hf_dimension_required(r, keys, 1 << 20, &value);
    return value;
}
