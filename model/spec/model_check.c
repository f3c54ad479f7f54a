/* SPDX-License-Identifier: MIT */
/* Legality of a model, whoever filled it in. */
#include "llmperf/spec.h"
#include "read.h"

static bool within(int64_t value, int64_t least, int64_t most)
{
    return value >= least && value <= most;
}

static bool attention_in_range(const llmperf_attention *a)
{
    return within(a->heads, 1, 1 << 16) && within(a->kv_heads, 1, 1 << 16) &&
           within(a->head_dim, 1, 1 << 16) && within(a->value_dim, 1, 1 << 16) && a->window >= 0 &&
           a->chunk >= 0;
}

static bool mla_in_range(const llmperf_mla *m)
{
    return within(m->heads, 1, 1 << 16) && within(m->q_rank, 0, 1 << 20) &&
           within(m->kv_rank, 1, 1 << 20) && within(m->nope_dim, 1, 1 << 16) &&
           within(m->rope_dim, 0, 1 << 16) && within(m->value_dim, 1, 1 << 16);
}

static bool ssm_in_range(const llmperf_ssm *s)
{
    return s->kind <= LLMPERF_SSM_LINEAR && within(s->heads, 1, 1 << 16) &&
           within(s->head_dim, 1, 1 << 20) && within(s->state, 1, 1 << 16) &&
           within(s->groups, 1, 1 << 16) && within(s->conv, 0, 64) &&
           within(s->dt_rank, s->kind == LLMPERF_SSM_MAMBA, 1 << 16);
}

static bool moe_in_range(const llmperf_moe *m)
{
    return within(m->experts, 1, 1 << 16) && within(m->active, 1, m->experts) &&
           within(m->ffn, 1, 1 << 24) && within(m->shared_ffn, 0, 1 << 24) &&
           within(m->latent, 0, 1 << 20);
}

static llmperf_status check_layer(const char *name, const llmperf_layer *layer, int number,
                                  llmperf_error *error)
{
    const llmperf_attention *a = &layer->attention;
    bool any = a->heads != 0 || layer->mla.heads != 0 || layer->ssm.kind != 0 ||
               layer->mlp.ffn != 0 || layer->moe.experts != 0;
    if (!any)
        return llmperf_fail(error, LLMPERF_E_SPEC,
                            "model '%s': layer shape %d is empty; attention, mla, ssm, mlp or moe "
                            "is required",
                            name, number);
    if (a->heads != 0 && layer->mla.heads != 0)
        return llmperf_fail(error, LLMPERF_E_SPEC,
                            "model '%s': layer shape %d has both attention and mla; one of them is "
                            "allowed",
                            name, number);
    if (!within(layer->count, 1, 1 << 16) || !within(layer->norms, 0, 8) ||
        (a->heads != 0 && !attention_in_range(a)) ||
        (layer->mla.heads != 0 && !mla_in_range(&layer->mla)) ||
        (layer->ssm.kind != 0 && !ssm_in_range(&layer->ssm)) ||
        !within(layer->mlp.ffn, 0, 1 << 24) ||
        (layer->moe.experts != 0 && !moe_in_range(&layer->moe)) || layer->index.top_k < 0 ||
        !within(layer->index.heads, 0, 1 << 16) || !within(layer->index.dim, 0, 1 << 16))
        return llmperf_fail(error, LLMPERF_E_SPEC,
                            "model '%s': a dimension of layer shape %d is out of range", name,
                            number);
    if (a->heads != 0 && a->heads % a->kv_heads != 0)
        return llmperf_fail(error, LLMPERF_E_SPEC,
                            "model '%s': %lld KV heads do not divide %lld attention heads; a "
                            "divisor is allowed",
                            name, (long long)a->kv_heads, (long long)a->heads);
    if (layer->index.top_k > 0 && !layer->index.shared &&
        (layer->index.heads == 0 || layer->index.dim == 0))
        return llmperf_fail(error, LLMPERF_E_SPEC,
                            "model '%s': the indexer of layer shape %d needs heads and dim, or "
                            "shared: true",
                            name, number);
    return LLMPERF_OK;
}

llmperf_status llmperf_model_check(const llmperf_model *model, llmperf_error *error)
{
    const char *name = model->name;
    if (!within(model->hidden, 1, 1 << 20) || !within(model->vocab, 1, 1 << 24) ||
        !within(model->embedding_dim, 1, 1 << 20) ||
        !within(model->position_embeddings, 0, 1 << 30) ||
        !within(model->layer_kind_count, 1, LLMPERF_LAYER_KINDS_MAX))
        return llmperf_fail(error, LLMPERF_E_SPEC,
                            "model '%s': hidden, vocab, embedding or number of layer shapes out of "
                            "range",
                            name);
    for (int i = 0; i < model->layer_kind_count; i++) {
        llmperf_status status = check_layer(name, &model->layers[i], i + 1, error);
        if (status != LLMPERF_OK)
            return status;
    }
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        if (!(model->weight_bits[i] > 0 && model->weight_bits[i] <= 64) ||
            model->weight_dtype[i] == LLMPERF_DTYPE_NONE ||
            model->weight_dtype[i] >= LLMPERF_DTYPE_COUNT)
            return llmperf_fail(error, LLMPERF_E_SPEC,
                                "model '%s': the format of its %s weights is not set", name,
                                WEIGHT_WORDS[i]);
    if (model->dtype == LLMPERF_DTYPE_NONE || model->dtype >= LLMPERF_DTYPE_COUNT)
        return llmperf_fail(error, LLMPERF_E_SPEC, "model '%s': dtype is not set", name);
    return LLMPERF_OK;
}
