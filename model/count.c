/* SPDX-License-Identifier: MIT */
/*
 * Exact counts: parameters, weight bytes, KV cache and memory per device.
 * docs/model.md, "Parameters" and "Memory".
 */
#include <math.h>
#include <string.h>

#include "internal.h"

int64_t norm_weights(const llmperf_model *model, int64_t width)
{
    switch (model->norm) {
    case LLMPERF_NORM_LAYER:
        return 2 * width;
    case LLMPERF_NORM_BARE:
        return 0;
    default:
        return width;
    }
}

/* Token table, learned positions, and the projections of a narrower table. */
static int64_t embedding_weights(const llmperf_model *model, int64_t tp)
{
    int64_t projections =
        model->embedding_dim != model->hidden ? 2 * model->embedding_dim * model->hidden : 0;
    return ceil_div(model->vocab, tp) * model->embedding_dim +
           model->position_embeddings * model->hidden + projections;
}

void count_weights(const llmperf_model *model, int64_t tp, weight_count *ret_sum)
{
    memset(ret_sum, 0, sizeof *ret_sum);
    int64_t *by_class = ret_sum->by_class;
    by_class[LLMPERF_WEIGHT_EMBEDDING] = embedding_weights(model, tp);
    int64_t vocab = ceil_div(model->vocab, tp);
    if (!model->tied)
        by_class[LLMPERF_WEIGHT_HEAD] = vocab * model->embedding_dim;
    if (model->head_bias)
        by_class[LLMPERF_WEIGHT_OTHER] += vocab;
    int64_t norm = norm_weights(model, model->hidden);
    by_class[LLMPERF_WEIGHT_OTHER] += norm * (model->embedding_norm + model->final_norm);
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        for (int k = 0; k < LAYER_KIND_COUNT; k++)
            LAYER_KINDS[k]->count_weights(model, layer, tp, ret_sum);
        by_class[LLMPERF_WEIGHT_OTHER] += layer->count * layer->norms * norm;
    }
}

llmperf_params llmperf_model_params(const llmperf_model *model)
{
    weight_count sum;
    count_weights(model, 1, &sum);
    llmperf_params params = {0};
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        params.by_class[i] = sum.by_class[i];
        params.total += sum.by_class[i];
    }
    params.embedding = model->vocab * model->embedding_dim +
                       model->position_embeddings * model->hidden;
    return params;
}

int64_t llmperf_model_layers(const llmperf_model *model)
{
    int64_t layers = 0;
    for (int i = 0; i < model->layer_kind_count; i++)
        layers += model->layers[i].count;
    return layers;
}

static double weight_bytes(const llmperf_model *model, const llmperf_case *c, int64_t tp)
{
    weight_count sum;
    count_weights(model, tp, &sum);
    double bytes = 0;
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        bytes += (double)sum.by_class[i] *
                 (c ? c->weight_bytes_per[i] : model->weight_bits[i] / 8);
    return bytes;
}

double llmperf_model_weight_bytes(const llmperf_model *model, const llmperf_case *c)
{
    return weight_bytes(model, c, 1);
}

double llmperf_weight_bytes(const llmperf_case *c)
{
    return weight_bytes(c->model, c, c->workload.tp);
}

/* K and V values of one sequence of `tokens` tokens on one of tp devices, all layers. */
static double kv_values(const llmperf_model *model, int64_t tp, double tokens)
{
    double values = 0;
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        for (int k = 0; k < LAYER_KIND_COUNT; k++)
            if (LAYER_KINDS[k]->kv_values)
                values += (double)layer->count * LAYER_KINDS[k]->kv_values(layer, tp, tokens);
    }
    return values;
}

double llmperf_kv_bytes(const llmperf_case *c, int64_t batch, int64_t tokens)
{
    int64_t blocks = ceil_div(tokens, c->workload.kv_block);
    double held = (double)blocks * (double)c->workload.kv_block;
    return (double)batch * kv_values(c->model, c->workload.tp, held) * c->kv_bytes_per;
}

double llmperf_kv_bytes_per_token(const llmperf_model *model, double bytes_per_element)
{
    return kv_values(model, 1, 1) * bytes_per_element;
}

double llmperf_kv_bytes_per_token_long(const llmperf_model *model, double bytes_per_element)
{
    /* beyond every window only layers without one go on growing */
    double values = 0;
    for (int i = 0; i < model->layer_kind_count; i++)
        if (model->layers[i].attention.window == 0)
            values += (double)model->layers[i].count *
                      LAYER_ATTENTION.kv_values(&model->layers[i], 1, 1);
    return values * bytes_per_element;
}

/* Largest step's tensors between operators, and fp32 logits of the sequences that it ends. */
double llmperf_activation_bytes(const llmperf_case *c, int64_t batch, int64_t prompt)
{
    const llmperf_model *model = c->model;
    const llmperf_workload *w = &c->workload;
    double h = (double)model->hidden, widest = 0;
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_attention *a = &model->layers[i].attention;
        double qkv = (double)((a->heads + 2 * a->kv_heads) * a->head_dim);
        double ffn = 2 * (double)model->layers[i].mlp.ffn;
        widest = fmax(widest, fmax(ffn, qkv));
    }
    double per_token = (2 * h + widest) * c->act_bytes_per / (double)w->tp;
    double per_row = 4 * (double)model->vocab;

    double fresh = (double)(prompt - w->cached > 0 ? prompt - w->cached : 1);
    double prefill_tokens = fmin((double)batch * fresh, (double)w->chunk);
    double prefill_rows =
        w->logits_all ? prefill_tokens : fmin((double)batch, ceil(prefill_tokens / fresh));
    double decode_tokens = (double)batch * (double)w->query;
    return fmax(prefill_tokens * per_token + prefill_rows * per_row,
                decode_tokens * (per_token + per_row));
}

/* Bytes on one device with `batch` sequences of `prompt` + `generate` tokens. */
static double total_bytes(const llmperf_case *c, double fixed, int64_t batch, int64_t prompt,
                          int64_t tokens)
{
    return fixed + llmperf_kv_bytes(c, batch, tokens) + llmperf_activation_bytes(c, batch, prompt);
}

enum { SEARCH_LIMIT_LOG2 = 40 };

/* Largest x in [0, 2^40] for which fits(x) holds; fits(0) is not asked. From above, as fits need
 * not hold at small x: short prompts end more sequences in a step, each with its logits. */
typedef bool (*fits_function)(const llmperf_case *c, double fixed, double capacity, int64_t x);

static int64_t largest(const llmperf_case *c, double fixed, double capacity, fits_function fits)
{
    int64_t low = (int64_t)1 << SEARCH_LIMIT_LOG2;
    while (low > 0 && !fits(c, fixed, capacity, low))
        low /= 2;
    int64_t high = low > 0 ? 2 * low : 0;
    if (high > (int64_t)1 << SEARCH_LIMIT_LOG2)
        return low;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (fits(c, fixed, capacity, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool batch_fits(const llmperf_case *c, double fixed, double capacity, int64_t batch)
{
    const llmperf_workload *w = &c->workload;
    return total_bytes(c, fixed, batch, w->prompt, w->prompt + w->generate) <= capacity;
}

/* A sequence of x tokens, all but the generated ones of them prompt. */
static bool context_fits(const llmperf_case *c, double fixed, double capacity, int64_t tokens)
{
    const llmperf_workload *w = &c->workload;
    int64_t prompt = tokens > w->generate ? tokens - w->generate : 1;
    return total_bytes(c, fixed, w->batch, prompt, tokens) <= capacity;
}

static double capacity_of(const llmperf_hw *hw)
{
    return hw->memory_usable_bytes > 0 ? hw->memory_usable_bytes : hw->memory_bytes;
}

static double reserved_of(const llmperf_case *c)
{
    return (1 - c->workload.memory_utilization) * capacity_of(c->hw) + c->workload.reserve_bytes;
}

double llmperf_memory_total(const llmperf_case *c, bool *ret_fits)
{
    const llmperf_workload *w = &c->workload;
    double fixed = llmperf_weight_bytes(c) + reserved_of(c);
    double total = total_bytes(c, fixed, w->batch, w->prompt, w->prompt + w->generate);
    *ret_fits = total <= capacity_of(c->hw);
    return total;
}

void llmperf_memory_of(const llmperf_case *c, llmperf_memory *ret_memory)
{
    const llmperf_workload *w = &c->workload;
    llmperf_memory m = {0};
    m.capacity_bytes = capacity_of(c->hw);
    m.weight_bytes = llmperf_weight_bytes(c);
    m.kv_bytes = llmperf_kv_bytes(c, w->batch, w->prompt + w->generate);
    m.activation_bytes = llmperf_activation_bytes(c, w->batch, w->prompt);
    m.reserved_bytes = reserved_of(c);
    m.total_bytes = llmperf_memory_total(c, &m.fits);
    double fixed = m.weight_bytes + m.reserved_bytes;
    m.max_batch = largest(c, fixed, m.capacity_bytes, batch_fits);
    m.max_context_tokens = largest(c, fixed, m.capacity_bytes, context_fits);
    *ret_memory = m;
}
