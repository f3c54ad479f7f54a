/* SPDX-License-Identifier: MIT */
/*
 * Exact counts: parameters, weight bytes, KV cache and memory per device.
 * docs/model.md, "Parameters" and "Memory".
 */
#include <math.h>
#include <string.h>

#include "emit.h"
#include "config_object.h"
#include "entry.h"

/* Token table, learned positions, and the projections of a narrower table. */
static int64_t embedding_weights(const llmperf_model *model, int64_t tp)
{
    int64_t projections =
        model->embedding_dim != model->hidden ? 2 * model->embedding_dim * model->hidden : 0;
    return ceil_div(model->vocab, tp) * model->embedding_dim +
           model->position_embeddings * model->hidden + projections;
}

void count_outside(const llmperf_model *model, int64_t tp, weight_count *ret_sum)
{
    memset(ret_sum, 0, sizeof *ret_sum);
    int64_t *by_class = ret_sum->by_class;
    by_class[LLMPERF_WEIGHT_EMBEDDING] = embedding_weights(model, tp);
    int64_t vocab = ceil_div(model->vocab, tp);
    if (!model->tied)
        by_class[LLMPERF_WEIGHT_HEAD] = vocab * model->embedding_dim;
    if (model->head_bias)
        by_class[LLMPERF_WEIGHT_OTHER] += vocab;
    by_class[LLMPERF_WEIGHT_OTHER] +=
        norm_weights(model, model->hidden) * (model->embedding_norm + model->final_norm);
}

void count_layer(const llmperf_model *model, const llmperf_layer *layer, int64_t tp,
                 weight_count *ret_sum)
{
    memset(ret_sum, 0, sizeof *ret_sum);
    for (int k = 0; k < LAYER_KIND_COUNT; k++)
        if (LAYER_KINDS[k]->count_weights && kind_in(LAYER_KINDS[k], layer))
            LAYER_KINDS[k]->count_weights(model, layer, tp, ret_sum);
    ret_sum->by_class[LLMPERF_WEIGHT_OTHER] +=
        layer->count * layer->norms * norm_weights(model, model->hidden);
}

llmperf_params llmperf_model_params(const llmperf_model *model)
{
    if (!model)
        return (llmperf_params){0};
    weight_count sum;
    llmperf_params params = {0};
    int64_t idle = 0;
    count_outside(model, 1, &sum);
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        params.by_class[i] = sum.by_class[i];
    for (int l = 0; l < model->layer_kind_count; l++) {
        const llmperf_layer *layer = &model->layers[l];
        count_layer(model, layer, 1, &sum);
        for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
            params.by_class[i] += sum.by_class[i];
        for (int k = 0; k < LAYER_KIND_COUNT; k++)
            if (LAYER_KINDS[k]->idle_weights && kind_in(LAYER_KINDS[k], layer))
                idle += LAYER_KINDS[k]->idle_weights(model, layer);
    }
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        params.total += params.by_class[i];
    params.active = params.total - idle;
    params.embedding =
        model->vocab * model->embedding_dim + model->position_embeddings * model->hidden;
    return params;
}

llmperf_status llmperf_model_check_params(const llmperf_model *model, const char *name,
                                          llmperf_error *error)
{
    NEEDS(model && name, error);
    static const double MOST_OFF = 0.005;
    int64_t total = llmperf_model_params(model).total, published = model->published_params;
    double off = published ? (double)total / (double)published - 1 : 0;
    if (off <= MOST_OFF && off >= -MOST_OFF)
        return LLMPERF_OK;
    return llmperf_fail(error, LLMPERF_E_SPEC,
                        "%s: %lld parameters counted, %lld published: off by %.2f %%; at most 0.5 "
                        "%% is allowed",
                        name, (long long)total, (long long)published, 100 * off);
}

int64_t llmperf_model_layers(const llmperf_model *model)
{
    if (!model)
        return 0;
    int64_t layers = 0;
    for (int i = 0; i < model->layer_kind_count; i++)
        layers += model->layers[i].count;
    return layers;
}

static double bytes_of(const weight_count *count, const double *bytes_per)
{
    double bytes = 0;
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        bytes += (double)count->by_class[i] * bytes_per[i];
    return bytes;
}

/* Bytes of one weight as the file holds it; layer NULL = outside the layers. */
static void file_bytes_per(const llmperf_model *model, const llmperf_layer *layer,
                           double ret_bytes_per[LLMPERF_WEIGHT_COUNT])
{
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        ret_bytes_per[i] =
            (layer && layer->weights[i].dtype ? layer->weights[i].bits : model->weight_bits[i]) / 8;
}

static double weight_bytes(const llmperf_model *model, const llmperf_config *c, int64_t tp)
{
    weight_count sum;
    double of_file[LLMPERF_WEIGHT_COUNT];
    count_outside(model, tp, &sum);
    file_bytes_per(model, NULL, of_file);
    double bytes = bytes_of(&sum, c ? c->outside.bytes_per : of_file);
    for (int l = 0; l < model->layer_kind_count; l++) {
        count_layer(model, &model->layers[l], tp, &sum);
        file_bytes_per(model, &model->layers[l], of_file);
        bytes += bytes_of(&sum, c ? c->layer[l].bytes_per : of_file);
    }
    return bytes;
}

double llmperf_model_weight_bytes(const llmperf_model *model, const llmperf_config *c)
{
    if (!model)
        return 0;
    return weight_bytes(model, c, 1);
}

double llmperf_weight_bytes(const llmperf_config *c)
{
    if (!c)
        return 0;
    return weight_bytes(c->model, c, c->workload.tp);
}

/* K and V values of one sequence of `tokens` tokens on one of tp devices, all layers. */
static double kv_values(const llmperf_model *model, int64_t tp, double tokens)
{
    double values = 0;
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        for (int k = 0; k < LAYER_KIND_COUNT; k++)
            if (LAYER_KINDS[k]->kv_values && kind_in(LAYER_KINDS[k], layer))
                values += (double)layer->count * LAYER_KINDS[k]->kv_values(layer, tp, tokens);
    }
    return values;
}

/* Index keys likewise: one byte each. */
static double index_bytes(const llmperf_model *model, int64_t tp, double tokens)
{
    double bytes = 0;
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        for (int k = 0; k < LAYER_KIND_COUNT; k++)
            if (LAYER_KINDS[k]->index_values && kind_in(LAYER_KINDS[k], layer))
                bytes += (double)layer->count * LAYER_KINDS[k]->index_values(layer, tp, tokens);
    }
    return bytes;
}

static double state_bytes(const llmperf_model *model, int64_t tp)
{
    double bytes = 0;
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        for (int k = 0; k < LAYER_KIND_COUNT; k++)
            if (LAYER_KINDS[k]->state_bytes && kind_in(LAYER_KINDS[k], layer))
                bytes += (double)layer->count * LAYER_KINDS[k]->state_bytes(layer, tp);
    }
    return bytes;
}

double llmperf_kv_bytes(const llmperf_config *c, int64_t batch, int64_t tokens)
{
    if (!c || batch < 0 || tokens < 0 || tokens > (int64_t)1 << 53)
        return 0;
    int64_t blocks = ceil_div(tokens, c->workload.kv_block);
    double held = (double)blocks * (double)c->workload.kv_block;
    int64_t tp = c->workload.tp;
    return (double)batch *
           (kv_values(c->model, tp, held) * c->kv_bytes_per + index_bytes(c->model, tp, held));
}

double llmperf_state_bytes(const llmperf_config *c, int64_t batch)
{
    if (!c)
        return 0;
    return (double)batch * state_bytes(c->model, c->workload.tp);
}

double llmperf_kv_bytes_per_token(const llmperf_model *model, double bytes_per_element)
{
    if (!model)
        return 0;
    return kv_values(model, 1, 1) * bytes_per_element;
}

double llmperf_kv_bytes_per_token_long(const llmperf_model *model, double bytes_per_element)
{
    if (!model)
        return 0;
    /* between two lengths beyond every window only layers without one grow */
    double far = 4611686018427387904.0; /* 2^62: doubles and its half stay exact for one token */
    double values = 0;
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        for (int k = 0; k < LAYER_KIND_COUNT; k++)
            if (LAYER_KINDS[k]->kv_values && kind_in(LAYER_KINDS[k], layer)) {
                double one = LAYER_KINDS[k]->kv_values(layer, 1, 1);
                bool grows = LAYER_KINDS[k]->kv_values(layer, 1, far) >
                             LAYER_KINDS[k]->kv_values(layer, 1, far / 2);
                values += grows ? (double)layer->count * one : 0;
            }
    }
    return values * bytes_per_element;
}

double llmperf_index_bytes_per_token(const llmperf_model *model)
{
    if (!model)
        return 0;
    return index_bytes(model, 1, 1);
}

double llmperf_state_bytes_per_sequence(const llmperf_model *model)
{
    if (!model)
        return 0;
    return state_bytes(model, 1);
}
