/* SPDX-License-Identifier: MIT */
/* The layer plan of a GGUF file: a shape from the tensors of each block; like shapes become one. */
#include <string.h>

#include "gguf_read.h"
#include "layer_kind.h"
#include "model_object.h"

static int64_t norms_of(const gguf_block *b)
{
    int64_t norms = 0;
    for (int i = 0; i < NORM_COUNT; i++)
        norms += b->weight[i] != NULL;
    return norms;
}

static bool plan_norms(gguf_reader *r, const gguf_block *b, llmperf_layer *layer)
{
    bool ffn = layer->mlp.ffn > 0 || layer->moe.experts > 0;
    bool mixer = layer->attention.heads > 0 || layer->mla.heads > 0;
    layer->norms = norms_of(b);
    for (int i = 0; i < NORM_COUNT; i++)
        if (!gguf_agree(r, b->weight[i], 1, r->model->hidden, "embedding_length"))
            return false;
    if (r->model->norm == LLMPERF_NORM_BARE)
        layer->norms = ffn + mixer;
    else /* one norm ahead of both */
        layer->parallel = ffn && mixer && !b->weight[FFN_NORM] && !b->weight[POST_ATTENTION_NORM] &&
                          !b->weight[POST_FFW_NORM] && !b->weight[ATTN_OUTPUT_NORM];
    if (ffn && mixer && r->model->norm != LLMPERF_NORM_BARE)
        layer->parallel |= gguf_flag(r, "use_parallel_residual", false);
    return r->status == LLMPERF_OK;
}

/* Does layer i look through the window? */
static bool is_windowed(gguf_reader *r, int64_t i)
{
    char key[256];
    int64_t item = 0, pattern = r->known ? r->known->pattern : 0;
    const gguf_value *value = gguf_find(r, "attention.sliding_window_pattern", key, sizeof key);
    if (value && value->type == GGUF_ARRAY) /* of booleans */
        return gguf_number_of_layer(r, "attention.sliding_window_pattern", i, 1, &item) &&
               item != 0;
    if (value)
        gguf_number(r, "attention.sliding_window_pattern", 0, GGUF_LAYERS_MAX, &pattern);
    return pattern == GGUF_ALL_LAYERS || (pattern > 1 && i % pattern < pattern - 1);
}

static int64_t window_of(gguf_reader *r, int64_t i)
{
    int64_t window = gguf_number_or(r, "attention.sliding_window", (int64_t)1 << 40,
                                    r->known ? r->known->window : 0);
    if (window == 0 || !is_windowed(r, i))
        return 0;
    /* a window as wide as the trained context never bites */
    return r->model->max_context > 0 && window >= r->model->max_context ? 0 : window;
}

static bool has_rope(const gguf_reader *r)
{
    char key[256];
    if (r->position_embd || (r->known && r->known->no_rope))
        return false;
    snprintf(key, sizeof key, "%s.attention.max_alibi_bias", r->name);
    const gguf_value *alibi = gguf_get(r->file, key);
    if (alibi && alibi->real > 0)
        return false;
    /* 13B models of Baichuan carry ALiBi and no key for it; their width tells them apart */
    return strcmp(r->name, "baichuan") != 0 || r->model->hidden < 5120;
}

/* Widths of a head: keys of their own for layers with a window come first. */
static bool head_widths(gguf_reader *r, bool windowed, llmperf_attention *a)
{
    int64_t h = r->model->hidden;
    if (!(windowed && gguf_number(r, "attention.key_length_swa", 1, 1 << 16, &a->head_dim)) &&
        !gguf_number(r, "attention.key_length", 1, 1 << 16, &a->head_dim)) {
        if (h % a->heads != 0)
            return GGUF_FAIL_HEADER(r,
                                    "%lld heads do not divide %s.embedding_length %lld; "
                                    "%s.attention.key_length is required then",
                                    (long long)a->heads, r->name, (long long)h, r->name);
        a->head_dim = h / a->heads;
    }
    a->value_dim = a->head_dim;
    if (!(windowed && gguf_number(r, "attention.value_length_swa", 1, 1 << 16, &a->value_dim)))
        gguf_number(r, "attention.value_length", 1, 1 << 16, &a->value_dim);
    return r->status == LLMPERF_OK;
}

static bool plan_qk_norm(gguf_reader *r, const gguf_block *b, llmperf_attention *a)
{
    const gguf_tensor *q = b->weight[ATTN_Q_NORM], *k = b->weight[ATTN_K_NORM];
    if (!q || !k)
        return !q == !k || GGUF_FAIL_TENSOR(r, q ? q : k,
                                            "%s stands alone; norms of q and k together "
                                            "are allowed",
                                            (q ? q : k)->name);
    if (q->elements == a->head_dim && k->elements == a->head_dim)
        a->qk_norm = LLMPERF_QK_NORM_HEAD;
    else if (q->elements == a->heads * a->head_dim && k->elements == a->kv_heads * a->head_dim)
        a->qk_norm = q->dim_count > 1 ? LLMPERF_QK_NORM_PER_HEAD : LLMPERF_QK_NORM_FULL;
    else
        return GGUF_FAIL_TENSOR(
            r, q,
            "%s has %lld elements, but %s.attention.key_length makes it %lld or "
            "%lld; agreement is allowed",
            q->name, (long long)q->elements, r->name, (long long)a->head_dim,
            (long long)(a->heads * a->head_dim));
    return true;
}

static bool plan_attention(gguf_reader *r, int64_t i, llmperf_layer *layer)
{
    const gguf_block *b = &r->blocks[i];
    llmperf_attention *a = &layer->attention;
    int64_t h = r->model->hidden, window = window_of(r, i);
    if (!gguf_number_of_layer(r, "attention.head_count_kv", i, 1 << 16, &a->kv_heads))
        a->kv_heads = a->heads;
    if (r->status != LLMPERF_OK)
        return false;
    if (a->kv_heads < 1 || a->heads % a->kv_heads != 0)
        return GGUF_FAIL_HEADER(r,
                                "%s.attention.head_count_kv %lld of block %lld does not divide "
                                "head_count %lld; a divisor is allowed",
                                r->name, (long long)a->kv_heads, (long long)i, (long long)a->heads);
    if (!head_widths(r, window > 0, a))
        return false;
    bool chunked = r->known && r->known->chunked;
    a->window = chunked ? 0 : window;
    a->chunk = chunked ? window : 0;
    a->rope = has_rope(r) && (!chunked || is_windowed(r, i));
    a->sinks = b->weight[ATTN_SINKS] != NULL;
    int64_t q = a->heads * a->head_dim, k = a->kv_heads * a->head_dim;
    int64_t v = a->kv_heads * a->value_dim;
    const gguf_tensor *const *w = b->weight;
    if (w[ATTN_QKV]) {
        gguf_agree_matrix(r, w[ATTN_QKV], h, "embedding_length", q + k + v, "attention.head_count");
        a->qkv_bias = b->bias[ATTN_QKV] != NULL;
    } else {
        for (int part = ATTN_Q; part <= ATTN_V; part++)
            if (!w[part])
                return gguf_missing(r, i, part);
        gguf_agree_matrix(r, w[ATTN_Q], h, "embedding_length", q, "attention.head_count");
        gguf_agree_matrix(r, w[ATTN_K], h, "embedding_length", k, "attention.head_count_kv");
        gguf_agree_matrix(r, w[ATTN_V], h, "embedding_length", v, "attention.head_count_kv");
        a->qkv_bias = b->bias[ATTN_Q] != NULL;
    }
    if (!w[ATTN_OUTPUT])
        return gguf_missing(r, i, ATTN_OUTPUT);
    gguf_agree_matrix(r, w[ATTN_OUTPUT], a->heads * a->value_dim, "attention.head_count", h,
                      "embedding_length");
    a->out_bias = b->bias[ATTN_OUTPUT] != NULL;
    gguf_agree(r, w[ATTN_SINKS], 1, a->heads, "attention.head_count");
    return plan_qk_norm(r, b, a) && r->status == LLMPERF_OK;
}

/* Multi-head latent attention. Files since May 2025 write the widths of a head under *_mla, and
 * under the plain keys those of the latent. */
static bool plan_mla(gguf_reader *r, int64_t i, llmperf_layer *layer)
{
    const gguf_block *b = &r->blocks[i];
    const gguf_tensor *const *w = b->weight;
    llmperf_mla *m = &layer->mla;
    int64_t h = r->model->hidden, key = 0;
    m->heads = layer->attention.heads;
    memset(&layer->attention, 0, sizeof layer->attention);
    gguf_number_required(r, "attention.kv_lora_rank", 1, 1 << 20, &m->kv_rank);
    gguf_number_required(r, "rope.dimension_count", 1, 1 << 16, &m->rope_dim);
    if (!gguf_number(r, "attention.key_length_mla", 1, 1 << 16, &key))
        gguf_number_required(r, "attention.key_length", 1, 1 << 16, &key);
    if (!gguf_number(r, "attention.value_length_mla", 1, 1 << 16, &m->value_dim) &&
        !gguf_number(r, "attention.value_length", 1, 1 << 16, &m->value_dim))
        m->value_dim = h / m->heads; /* MiniCPM3 writes none; attn_output has to agree */
    if (r->status != LLMPERF_OK)
        return false;
    if (m->value_dim < 1)
        return GGUF_FAIL_HEADER(r, "%s.attention.value_length is missing; an integer is allowed",
                                r->name);
    m->nope_dim = key - m->rope_dim;
    if (m->nope_dim < 1)
        return GGUF_FAIL_HEADER(
            r,
            "%s.rope.dimension_count %lld leaves nothing of the key length %lld; "
            "less is allowed",
            r->name, (long long)m->rope_dim, (long long)key);
    if (w[ATTN_Q_A]) {
        gguf_number_required(r, "attention.q_lora_rank", 1, 1 << 20, &m->q_rank);
        if (!w[ATTN_Q_B])
            return gguf_missing(r, i, ATTN_Q_B);
        gguf_agree_matrix(r, w[ATTN_Q_A], h, "embedding_length", m->q_rank,
                          "attention.q_lora_rank");
        gguf_agree_matrix(r, w[ATTN_Q_B], m->q_rank, "attention.q_lora_rank", m->heads * key,
                          "attention.head_count");
    } else if (w[ATTN_Q]) {
        gguf_agree_matrix(r, w[ATTN_Q], h, "embedding_length", m->heads * key,
                          "attention.head_count");
    } else {
        return gguf_missing(r, i, ATTN_Q);
    }
    gguf_agree_matrix(r, w[ATTN_KV_A], h, "embedding_length", m->kv_rank + m->rope_dim,
                      "attention.kv_lora_rank");
    if (w[ATTN_KV_B])
        gguf_agree_matrix(r, w[ATTN_KV_B], m->kv_rank, "attention.kv_lora_rank",
                          m->heads * (m->nope_dim + m->value_dim), "attention.head_count");
    else if (!w[ATTN_K_B] || !w[ATTN_V_B])
        return gguf_missing(r, i, ATTN_KV_B);
    if (w[ATTN_K_B])
        gguf_agree_matrix(r, w[ATTN_K_B], m->nope_dim, "attention.key_length_mla", m->kv_rank,
                          "attention.kv_lora_rank");
    if (w[ATTN_V_B])
        gguf_agree_matrix(r, w[ATTN_V_B], m->kv_rank, "attention.kv_lora_rank", m->value_dim,
                          "attention.value_length_mla");
    if (!w[ATTN_OUTPUT])
        return gguf_missing(r, i, ATTN_OUTPUT);
    gguf_agree_matrix(r, w[ATTN_OUTPUT], m->heads * m->value_dim, "attention.head_count", h,
                      "embedding_length");
    return r->status == LLMPERF_OK;
}

static bool plan_mixer(gguf_reader *r, int64_t i, llmperf_layer *layer)
{
    const gguf_block *b = &r->blocks[i];
    bool any = false;
    for (int part = ATTN_QKV; part <= ATTN_V_B; part++)
        any |= b->weight[part] != NULL;
    if (!gguf_number_of_layer(r, "attention.head_count", i, 1 << 16, &layer->attention.heads))
        return r->status == LLMPERF_OK &&
               GGUF_FAIL_HEADER(
                   r,
                   "%s.attention.head_count is missing; an integer is allowed (dimensions "
                   "are never guessed)",
                   r->name);
    if (layer->attention.heads == 0)
        return !any ||
               GGUF_FAIL_HEADER(r,
                                "block %lld has attention, but %s.attention.head_count of it "
                                "is 0; agreement is allowed",
                                (long long)i, r->name);
    return b->weight[ATTN_KV_A] ? plan_mla(r, i, layer) : plan_attention(r, i, layer);
}

static bool plan_mlp(gguf_reader *r, int64_t i, llmperf_layer *layer)
{
    const gguf_block *b = &r->blocks[i];
    const gguf_tensor *const *w = b->weight;
    int64_t h = r->model->hidden, ffn = 0;
    if (!w[FFN_UP] && !w[FFN_DOWN] && !w[FFN_GATE])
        return true;
    if (!w[FFN_UP] || !w[FFN_DOWN])
        return gguf_missing(r, i, w[FFN_UP] ? FFN_DOWN : FFN_UP);
    if (!gguf_number_of_layer(r, "feed_forward_length", i, 1 << 24, &ffn))
        return r->status == LLMPERF_OK &&
               GGUF_FAIL_HEADER(
                   r,
                   "%s.feed_forward_length is missing; an integer is allowed (dimensions "
                   "are never guessed)",
                   r->name);
    if (r->known && r->known->half_ffn)
        ffn /= 2;
    /* gate and up in one matrix: Phi-3, GLM-4 */
    bool fused = !w[FFN_GATE] && w[FFN_UP]->dims[1] == 2 * ffn;
    gguf_agree_matrix(r, w[FFN_UP], h, "embedding_length", fused ? 2 * ffn : ffn,
                      "feed_forward_length");
    gguf_agree_matrix(r, w[FFN_DOWN], ffn, "feed_forward_length", h, "embedding_length");
    if (w[FFN_GATE])
        gguf_agree_matrix(r, w[FFN_GATE], h, "embedding_length", ffn, "feed_forward_length");
    layer->mlp = (llmperf_mlp){.ffn = ffn,
                               .gated = fused || w[FFN_GATE],
                               .up_bias = b->bias[FFN_UP] != NULL,
                               .down_bias = b->bias[FFN_DOWN] != NULL};
    return r->status == LLMPERF_OK;
}

static bool agree_experts(gguf_reader *r, const gguf_block *b, int part, int64_t in,
                          const char *because_in, int64_t out, const char *because_out,
                          int64_t experts)
{
    const gguf_tensor *t = b->weight[part];
    if (!t)
        return true;
    if (b->single[part] > 0 && b->single[part] != experts)
        return GGUF_FAIL_TENSOR(r, t,
                                "%lld experts of %s, but %s.expert_count is %lld; agreement is "
                                "allowed",
                                (long long)b->single[part], GGUF_PARTS[part].name, r->name,
                                (long long)experts);
    return gguf_agree_matrix(r, t, in, because_in, out, because_out) &&
           (b->single[part] > 0 || gguf_agree(r, t, 3, experts, "expert_count"));
}

static bool plan_shared(gguf_reader *r, int64_t i, llmperf_moe *m)
{
    const gguf_block *b = &r->blocks[i];
    const gguf_tensor *const *w = b->weight;
    int64_t h = r->model->hidden, ffn, count = 0;
    if (!w[FFN_UP_SHEXP] && !w[FFN_DOWN_SHEXP])
        return true;
    if (!w[FFN_UP_SHEXP] || !w[FFN_DOWN_SHEXP])
        return gguf_missing(r, i, w[FFN_UP_SHEXP] ? FFN_DOWN_SHEXP : FFN_UP_SHEXP);
    ffn = w[FFN_UP_SHEXP]->dims[1];
    if (gguf_number(r, "expert_shared_feed_forward_length", 1, 1 << 24, &count))
        gguf_agree(r, w[FFN_UP_SHEXP], 2, count, "expert_shared_feed_forward_length");
    else if (gguf_number(r, "expert_shared_count", 1, 1 << 16, &count))
        gguf_agree(r, w[FFN_UP_SHEXP], 2, count * m->ffn, "expert_shared_count");
    gguf_agree(r, w[FFN_UP_SHEXP], 1, h, "embedding_length");
    if (w[FFN_GATE_SHEXP])
        gguf_agree_matrix(r, w[FFN_GATE_SHEXP], h, "embedding_length", ffn,
                          "expert_shared_feed_forward_length");
    gguf_agree_matrix(r, w[FFN_DOWN_SHEXP], ffn, "expert_shared_feed_forward_length", h,
                      "embedding_length");
    m->shared_ffn = ffn;
    m->shared_gate = w[FFN_GATE_INP_SHEXP] != NULL;
    return r->status == LLMPERF_OK;
}

static bool plan_moe(gguf_reader *r, int64_t i, llmperf_layer *layer)
{
    static const char hidden[] = "embedding_length";
    const gguf_block *b = &r->blocks[i];
    const gguf_tensor *const *w = b->weight;
    llmperf_moe *m = &layer->moe;
    int64_t h = r->model->hidden;
    bool fused = w[FFN_GATE_UP_EXPS] != NULL;
    int up = fused ? FFN_GATE_UP_EXPS : FFN_UP_EXPS;
    if (!w[up] && !w[FFN_DOWN_EXPS] && !w[FFN_GATE_EXPS])
        return true;
    if (!w[up] || !w[FFN_DOWN_EXPS])
        return gguf_missing(r, i, w[up] ? FFN_DOWN_EXPS : up);
    if (!w[FFN_GATE_INP])
        return gguf_missing(r, i, FFN_GATE_INP);
    gguf_number_required(r, "expert_count", 1, 1 << 16, &m->experts);
    gguf_number_required(r, "expert_used_count", 1, 1 << 16, &m->active);
    const char *width = "expert_feed_forward_length";
    if (!gguf_number(r, width, 1, 1 << 24, &m->ffn)) {
        width = "feed_forward_length";
        if (!gguf_number_of_layer(r, width, i, 1 << 24, &m->ffn))
            return r->status == LLMPERF_OK &&
                   GGUF_FAIL_HEADER(
                       r,
                       "%s.expert_feed_forward_length is missing; an integer is allowed "
                       "(dimensions are never guessed)",
                       r->name);
    }
    if (r->status != LLMPERF_OK)
        return false;
    if (m->active > m->experts)
        return GGUF_FAIL_HEADER(
            r,
            "%s.expert_used_count is %lld of %lld experts; at most all of them are "
            "allowed",
            r->name, (long long)m->active, (long long)m->experts);
    m->gated = fused || w[FFN_GATE_EXPS];
    agree_experts(r, b, up, h, hidden, fused ? 2 * m->ffn : m->ffn, width, m->experts);
    agree_experts(r, b, FFN_GATE_EXPS, h, hidden, m->ffn, width, m->experts);
    agree_experts(r, b, FFN_DOWN_EXPS, m->ffn, width, h, hidden, m->experts);
    gguf_agree_matrix(r, w[FFN_GATE_INP], h, hidden, m->experts, "expert_count");
    m->expert_bias = b->bias[up] != NULL;
    m->router_bias = b->bias[FFN_GATE_INP] || b->bias[EXP_PROBS_B];
    return r->status == LLMPERF_OK && plan_shared(r, i, m);
}

/* Like layers become one shape. False when there is no room for another. */
static bool add_layer(gguf_reader *r, llmperf_layer *layer, const gguf_sum *sums)
{
    llmperf_model *m = r->model;
    for (int k = 0; k < m->layer_kind_count; k++) {
        layer->count = m->layers[k].count;
        if (memcmp(layer, &m->layers[k], sizeof *layer) != 0)
            continue;
        m->layers[k].count++;
        for (int c = 0; c < LLMPERF_WEIGHT_COUNT; c++)
            gguf_add_sum(&r->layer_sums[k][c], &sums[c]);
        return true;
    }
    if (m->layer_kind_count == LLMPERF_LAYER_KINDS_MAX)
        return false;
    layer->count = 1;
    memcpy(r->layer_sums[m->layer_kind_count], sums, sizeof r->layer_sums[0]);
    memcpy(&m->layers[m->layer_kind_count++], layer, sizeof *layer);
    return true;
}

/* Shape of layer i, formats left out. */
static bool plan_layer(gguf_reader *r, int64_t i, llmperf_layer *layer)
{
    memset(layer, 0, sizeof *layer); /* padding too: shapes are compared as bytes */
    layer->count = 1;
    if (!plan_mixer(r, i, layer) || !plan_mlp(r, i, layer) || !plan_moe(r, i, layer))
        return false;
    if (layer->attention.heads == 0 && layer->mla.heads == 0 && layer->mlp.ffn == 0 &&
        layer->moe.experts == 0)
        return GGUF_FAIL_HEADER(
            r,
            "block %lld has neither attention nor a feed-forward network; a whole "
            "block is allowed",
            (long long)i);
    return plan_norms(r, &r->blocks[i], layer);
}

/* `formats`: layers that differ in the formats of their weights are different shapes. False when
 * there are too many of them. */
static bool plan_layers(gguf_reader *r, bool formats)
{
    r->model->layer_kind_count = 0;
    for (int64_t i = 0; i < r->block_count && r->status == LLMPERF_OK; i++) {
        llmperf_layer layer;
        if (!plan_layer(r, i, &layer))
            return true;
        if (formats)
            gguf_set_formats(r, r->blocks[i].sums, layer.weights);
        if (!add_layer(r, &layer, r->blocks[i].sums))
            return false;
    }
    return true;
}

void gguf_read_layers(gguf_reader *r)
{
    llmperf_model *m = r->model;
    if (plan_layers(r, true))
        return;
    if (!plan_layers(r, false)) {
        gguf_fail(r, 0, 0, LLMPERF_E_UNSUPPORTED,
                  "more than %d different layer shapes; at most %d are "
                  "allowed",
                  LLMPERF_LAYER_KINDS_MAX, LLMPERF_LAYER_KINDS_MAX);
        return;
    }
    for (int k = 0; k < m->layer_kind_count; k++)
        gguf_set_formats(r, r->layer_sums[k], m->layers[k].weights);
    llmperf_note(&m->warnings,
                 "more than %d layer shapes differ in the formats of their weights: bits are means "
                 "over the layers of one shape",
                 LLMPERF_LAYER_KINDS_MAX);
}
