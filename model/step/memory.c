/* SPDX-License-Identifier: MIT */
/*
 * Memory per device, and what fits into it. docs/model.md, "Memory".
 */
#include <math.h>

#include "layer_kind.h"
#include "config_object.h"

/* Largest step's tensors between operators, and fp32 logits of the sequences that it ends. */
double llmperf_activation_bytes(const llmperf_config *c, int64_t batch, int64_t prompt)
{
    if (!c || batch < 0 || prompt < 0)
        return 0;
    const llmperf_model *model = c->model;
    const llmperf_workload *w = &c->workload;
    double h = (double)model->hidden, widest = 0;
    for (int i = 0; i < model->layer_kind_count; i++)
        for (int k = 0; k < LAYER_KIND_COUNT; k++)
            if (LAYER_KINDS[k]->widest && kind_in(LAYER_KINDS[k], &model->layers[i]))
                widest = fmax(widest, LAYER_KINDS[k]->widest(&model->layers[i]));
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
static double total_bytes(const llmperf_config *c, double fixed, int64_t batch, int64_t prompt,
                          int64_t tokens)
{
    return fixed + llmperf_kv_bytes(c, batch, tokens) + llmperf_state_bytes(c, batch) +
           llmperf_activation_bytes(c, batch, prompt);
}

enum { SEARCH_LIMIT_LOG2 = 40 };

/* Largest x in [0, 2^40] for which fits(x) holds; fits(0) is not asked. From above, as fits need
 * not hold at small x: short prompts end more sequences in a step, each with its logits. */
typedef bool (*fits_function)(const llmperf_config *c, double fixed, double capacity, int64_t x);

static int64_t largest(const llmperf_config *c, double fixed, double capacity, fits_function fits)
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

static bool batch_fits(const llmperf_config *c, double fixed, double capacity, int64_t batch)
{
    const llmperf_workload *w = &c->workload;
    return total_bytes(c, fixed, batch, w->prompt, w->prompt + w->generate) <= capacity;
}

/* A sequence of x tokens, all but the generated ones of them prompt. */
static bool context_fits(const llmperf_config *c, double fixed, double capacity, int64_t tokens)
{
    const llmperf_workload *w = &c->workload;
    int64_t prompt = tokens > w->generate ? tokens - w->generate : 1;
    return total_bytes(c, fixed, w->batch, prompt, tokens) <= capacity;
}

static double capacity_of(const llmperf_hw *hw)
{
    return hw->memory_usable_bytes > 0 ? hw->memory_usable_bytes : hw->memory_bytes;
}

static double reserved_of(const llmperf_config *c)
{
    return (1 - c->workload.memory_utilization) * capacity_of(c->hw) + c->workload.reserve_bytes;
}

double llmperf_memory_total(const llmperf_config *c, bool *ret_fits)
{
    if (!c || !c->hw || !ret_fits)
        return 0;
    const llmperf_workload *w = &c->workload;
    double fixed = llmperf_weight_bytes(c) + reserved_of(c);
    double total = total_bytes(c, fixed, w->batch, w->prompt, w->prompt + w->generate);
    *ret_fits = total <= capacity_of(c->hw);
    return total;
}

void llmperf_memory_of(const llmperf_config *c, llmperf_memory *ret_memory)
{
    if (!ret_memory)
        return;
    *ret_memory = (llmperf_memory){0};
    if (!c || !c->hw)
        return;
    const llmperf_workload *w = &c->workload;
    llmperf_memory m = {0};
    m.capacity_bytes = capacity_of(c->hw);
    m.weight_bytes = llmperf_weight_bytes(c);
    m.kv_bytes = llmperf_kv_bytes(c, w->batch, w->prompt + w->generate);
    m.state_bytes = llmperf_state_bytes(c, w->batch);
    m.activation_bytes = llmperf_activation_bytes(c, w->batch, w->prompt);
    m.reserved_bytes = reserved_of(c);
    m.total_bytes = llmperf_memory_total(c, &m.fits);
    double fixed = m.weight_bytes + m.reserved_bytes;
    m.max_batch = largest(c, fixed, m.capacity_bytes, batch_fits);
    m.max_context_tokens = largest(c, fixed, m.capacity_bytes, context_fits);
    *ret_memory = m;
}
