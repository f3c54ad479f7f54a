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

#include "emit.h"
#include "hf.h"
#include "read.h"
#include "model_object.h"

static void read_dtype(hf_reader *r)
{
    llmperf_model *m = r->model;
    static const char *const keys[] = {"torch_dtype", "dtype", NULL};
    doc_node *node = hf_find_any(r->map, keys);
    if (!node && r->map != r->outer)
        node = hf_find_any(r->outer, keys);
    m->dtype = LLMPERF_DTYPE_BF16;
    char text[64] = "";
    if (!node) {
        llmperf_note(&m->warnings, "the config names no dtype: bf16 is taken");
        return;
    }
    if (!hf_done(r, doc_text(r->document, node, text, sizeof text, r->error)))
        return;
    if (strcmp(text, "auto") == 0) {
        llmperf_note(&m->warnings, "torch_dtype is auto: bf16 is taken; --weight-dtype and "
                                   "--act-dtype say otherwise");
        return;
    }
    llmperf_dtype dtype = llmperf_dtype_parse(text);
    if (dtype == LLMPERF_DTYPE_NONE) {
        const char *near = llmperf_nearest(text, llmperf_dtype_names());
        hf_done(r,
                doc_fail(r->document, node, r->error,
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
    bool have_hidden = hf_dimension_required(r, HF_HIDDEN_KEYS, 1 << 20, &m->hidden);
    bool no_attention = f->plan == plan_mamba;
    bool have_heads = no_attention || hf_dimension_required(r, HF_HEADS_KEYS, 1 << 16, &a->heads);
    doc_node *block_types = hf_find(r->map, "layers_block_type");
    if (!hf_find_any(r->map, HF_LAYERS_KEYS) && block_types && block_types->kind == DOC_SEQ)
        r->layers = (int64_t)block_types->count;
    else
        hf_dimension_required(r, HF_LAYERS_KEYS, 1 << 16, &r->layers);
    hf_dimension_required(r, HF_VOCAB_KEYS, 1 << 24, &m->vocab);
    if (!hf_dimension(r, HF_CONTEXT_KEYS, (int64_t)1 << 40, &m->max_context))
        m->max_context = 0;

    int64_t multiple = 0;
    static const char *const multiple_keys[] = {"pad_vocab_size_multiple", NULL};
    if (hf_dimension(r, multiple_keys, 1 << 16, &multiple))
        m->vocab = ceil_div(m->vocab, multiple) * multiple;
    m->embedding_dim = m->hidden;
    if (no_attention)
        return;

    if (hf_find_any(r->map, HF_KV_HEADS_KEYS)) {
        hf_dimension(r, HF_KV_HEADS_KEYS, 1 << 16, &a->kv_heads);
    } else {
        a->kv_heads = a->heads; /* every family's own rule */
        if (doc_get(r->map, "num_key_value_heads") && f->plan != plan_nas)
            llmperf_note(&m->warnings, "num_key_value_heads is null: taken as the %lld heads",
                         (long long)a->heads);
    }
    if (hf_find_any(r->map, HF_HEAD_DIM_KEYS)) {
        hf_dimension(r, HF_HEAD_DIM_KEYS, 1 << 16, &a->head_dim);
    } else if (f->head_dim_required) {
        hf_dimension_required(r, HF_HEAD_DIM_KEYS, 1 << 16, &a->head_dim);
    } else if (have_hidden && have_heads && !f->mla) {
        if (m->hidden % a->heads != 0)
            hf_done(r, doc_fail(r->document, r->map, r->error,
                                "%lld heads do not divide hidden_size %lld; head_dim must be given",
                                (long long)a->heads, (long long)m->hidden));
        else
            a->head_dim = m->hidden / a->heads;
    }
    a->value_dim = a->head_dim;

    if (hf_find_any(r->map, HF_FFN_KEYS))
        hf_dimension(r, HF_FFN_KEYS, 1 << 24, &layer->mlp.ffn);
    else if (f->ffn == FFN_FOUR_HIDDEN)
        layer->mlp.ffn = 4 * m->hidden;
    else if (!f->moe && f->plan != plan_nas) /* experts alone; or each block says its own */
        hf_dimension_required(r, HF_FFN_KEYS, 1 << 24, &layer->mlp.ffn);
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
    layer->attention.qkv_bias = hf_has_bias(r, f->qkv_bias, f->bias_key);
    layer->attention.out_bias = hf_has_bias(r, f->out_bias, f->bias_key);
    layer->mlp.up_bias = layer->mlp.down_bias = hf_has_bias(r, f->mlp_bias, f->mlp_bias_key);
    if (f->positions == POSITIONS_LEARNED) {
        if (m->max_context == 0)
            hf_dimension_required(r, HF_CONTEXT_KEYS, (int64_t)1 << 30, &m->max_context);
        m->position_embeddings = m->max_context + f->position_offset;
    }

    /* the tie flag may stand inside text_config or beside it */
    doc_node *tie = hf_find(r->map, "tie_word_embeddings");
    if (!tie)
        tie = hf_find(r->outer, "tie_word_embeddings");
    m->tied = f->tied;
    if (tie)
        hf_done(r, doc_bool(r->document, tie, &m->tied, r->error));
}

/* ---- experts, MLA --------------------------------------------------------------------------- */

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
    hf_dimension_required(r, HF_EXPERTS_KEYS, 1 << 16, &m->experts);
    hf_dimension_required(r, HF_ACTIVE_KEYS, 1 << 16, &m->active);
    if (hf_find_any(r->map, HF_EXPERT_FFN_KEYS))
        hf_dimension(r, HF_EXPERT_FFN_KEYS, 1 << 24, &m->ffn);
    else if (f->expert_is_intermediate)
        hf_dimension_required(r, HF_FFN_KEYS, 1 << 24, &m->ffn);
    else
        hf_dimension_required(r, HF_EXPERT_FFN_KEYS, 1 << 24, &m->ffn);
    if (f->shared == SHARED_WIDTH) {
        doc_node *width = hf_find_any(r->map, HF_SHARED_WIDTH_KEYS);
        if (width)
            hf_done(r, doc_int64(r->document, width, 0, 1 << 24, &m->shared_ffn, r->error));
    } else if (f->shared == SHARED_COUNT) {
        doc_node *shared = hf_find_any(r->map, HF_SHARED_COUNT_KEYS);
        if (shared)
            hf_done(r, doc_int64(r->document, shared, 0, 1 << 16, &count, r->error));
        m->shared_ffn = count * m->ffn;
    } else if (f->shared == SHARED_ONE) {
        m->shared_ffn = m->ffn;
    }
    m->shared_gate = f->shared_gate && m->shared_ffn > 0;
    if (r->status == LLMPERF_OK && m->active > m->experts)
        hf_done(r, doc_fail(r->document, hf_find_any(r->map, HF_ACTIVE_KEYS), r->error,
                            "%lld active experts of %lld; at most all of them are allowed",
                            (long long)m->active, (long long)m->experts));
}

static void read_mla(hf_reader *r)
{
    static const char *const kv_rank[] = {"kv_lora_rank", NULL};
    static const char *const nope[] = {"qk_nope_head_dim", NULL};
    static const char *const rope[] = {"qk_rope_head_dim", NULL};
    static const char *const value[] = {"v_head_dim", NULL};
    static const char *const q_rank[] = {"q_lora_rank", NULL};
    llmperf_mla *m = &r->layer.mla;
    m->heads = r->layer.attention.heads;
    hf_dimension_required(r, kv_rank, 1 << 20, &m->kv_rank);
    hf_dimension_required(r, nope, 1 << 16, &m->nope_dim);
    hf_dimension_required(r, rope, 1 << 16, &m->rope_dim);
    hf_dimension(r, q_rank, 1 << 20, &m->q_rank);
    if (hf_find_any(r->map, value))
        hf_dimension(r, value, 1 << 16, &m->value_dim);
    else if (r->model->hidden % (m->heads ? m->heads : 1) == 0 && m->heads)
        m->value_dim = r->model->hidden / m->heads;
    memset(&r->layer.attention, 0, sizeof r->layer.attention);
    if (hf_find(r->map, "index_topk")) {
        static const char *const heads[] = {"index_n_heads", NULL};
        static const char *const dim[] = {"index_head_dim", NULL};
        static const char *const top[] = {"index_topk", NULL};
        hf_dimension_required(r, top, (int64_t)1 << 40, &r->layer.index.top_k);
        hf_dimension_required(r, heads, 1 << 16, &r->layer.index.heads);
        hf_dimension_required(r, dim, 1 << 16, &r->layer.index.dim);
    }
}

/* ---- the model ------------------------------------------------------------------------------ */

/* quantization_config inside or beside the text model, else a second file's. */
static void read_quantisation(hf_reader *r, doc *second)
{
    static const char *const keys[] = {"quantization_config", "quantization", NULL};
    const doc *document = r->document;
    doc_node *config = hf_find_any(r->map, keys);
    if (!config)
        config = hf_find_any(r->outer, keys);
    if (!config && second) {
        document = second;
        config = hf_find(doc_root(second), "quantization");
    }
    if (config)
        hf_done(r, quant_read(document, config, &r->quant, &r->model->warnings, r->error));
}

static void check_kv_heads(hf_reader *r)
{
    const llmperf_attention *a = &r->layer.attention;
    doc_node *node = hf_find_any(r->map, HF_KV_HEADS_KEYS);
    if (a->heads > 0 && a->heads % a->kv_heads != 0)
        hf_done(r,
                doc_fail(r->document, node ? node : r->map, r->error,
                         "%lld KV heads do not divide %lld attention heads; a divisor is allowed",
                         (long long)a->kv_heads, (long long)a->heads));
}

/* Layers that predict further tokens: one more of the last shape, and the projection that joins
 * two hidden states. Reported apart: serving without speculation never runs them. */
static void count_mtp(hf_reader *r)
{
    static const char *const keys[] = {"num_nextn_predict_layers", "mtp_num_hidden_layers", NULL};
    llmperf_model *m = r->model;
    doc_node *node = hf_find_any(r->map, keys);
    int64_t count = 0;
    weight_count sum;
    if (!node || !hf_done(r, doc_int64(r->document, node, 0, 64, &count, r->error)) || count == 0)
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
    llmperf_model *model = ret_model;
    memset(model, 0, sizeof *model);
    hf_reader r = {.document = document, .model = model, .error = error};
    r.outer = doc_root(document);
    if (r.outer->kind != DOC_MAP)
        return doc_fail(document, r.outer, error,
                        "the file is a list or a scalar; a map is allowed");
    if (!hf_find_family(&r))
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
    spec_uniform_weights(model, (llmperf_dtype)model->dtype);
    read_quantisation(&r, second);
    if (r.status == LLMPERF_OK)
        hf_plan_layers(&r);
    if (r.status != LLMPERF_OK)
        return r.status;
    count_mtp(&r);
    quant_outside(&r.quant, model);
    snprintf(model->source, sizeof model->source, "config.json");
    return LLMPERF_OK;
}
