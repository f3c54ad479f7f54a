/* SPDX-License-Identifier: MIT */
/* Explains what takes memory, and what fits. */
#include "explain.h"
#include "layer_kind.h"

#include <math.h>

static void explain_weight_bytes(explainer *e)
{
    explain_weight_terms(e, true);
    explain_close_sum(e, llmperf_weight_bytes(e->c),
                      "sum over the weights on one device, each at the bytes of its class");
}

static void explain_kv_bytes(explainer *e)
{
    const llmperf_model *model = e->c->model;
    const llmperf_workload *w = &e->c->workload;
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        char name[64], text[256];
        const char *most = explain_kept_text(layer);
        if (explain_kv_text(layer)) {
            explain_print(text, sizeof text,
                          most ? "b min(%s, block ceil((s + g) / block)) %s"
                               : "%sb block ceil((s + g) / block) %s",
                          most ? most : "", explain_kv_text(layer));
            explain_set_layer(e, i, layer->mla.heads > 0 ? "latents" : "K and V", name,
                              sizeof name);
            explain_add_term(e, name, text, LLMPERF_UNIT_BYTES);
        }
        if (explain_keeps_index(layer)) {
            explain_set_layer(e, i, "index keys of one byte", name, sizeof name);
            explain_add_term(e, name, "b block ceil((s + g) / block) layers d_i",
                             LLMPERF_UNIT_BYTES);
        }
    }
    explain_close_sum_or_zero(
        e, llmperf_kv_bytes(e->c, w->batch, w->prompt + w->generate),
        "sum over the layer shapes, each cache in whole blocks and at most a window "
        "or chunk long",
        "no layer keeps K and V");
}

static void explain_activation_bytes(explainer *e)
{
    const llmperf_model *model = e->c->model;
    const llmperf_workload *w = &e->c->workload;
    double widest = -1;
    const char *text = "0";
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        for (int k = 0; k < LAYER_KIND_COUNT; k++) {
            const layer_kind *kind = LAYER_KINDS[k];
            if (!kind->widest || !kind_in(kind, layer) || kind->widest(layer) <= widest)
                continue;
            widest = kind->widest(layer);
            text = kind->widest_formula;
            e->scope.layer = layer;
        }
    }
    explain_add_named_step(e, "widest", "widest tensor inside a layer, per token", text,
                           LLMPERF_UNIT_COUNT);
    explain_add_named_step(e, "per_token", "bytes of a token's tensors", "(2 h + widest) a / tp",
                           LLMPERF_UNIT_BYTES);
    explain_add_named_step(e, "tokens", "tokens of the largest prefill step",
                           "min(b (s - cached), chunk)", LLMPERF_UNIT_TOKENS);
    explain_add_named_step(e, "rows", "rows of logits that it ends",
                           w->logits_all ? "tokens" : "min(b, ceil(tokens / (s - cached)))",
                           LLMPERF_UNIT_COUNT);
    explain_result(e, "max(tokens per_token + 4 V rows, b q (per_token + 4 V))",
                   llmperf_activation_bytes(e->c, w->batch, w->prompt));
    llmperf_note(&e->x->notes, "the larger of a prefill step and a decode step; logits take 4 "
                               "bytes each");
}

static void name_capacity(explainer *e)
{
    explain_name_field(e, "capacity", e->p->memory.capacity_bytes, LLMPERF_UNIT_BYTES,
                       "usable memory of the part", "memory.capacity_bytes");
}

static void explain_capacity(explainer *e)
{
    const llmperf_hw *hw = e->c->hw;
    if (hw->memory_usable_bytes > 0) {
        explain_name_hardware(e, "memory_usable", hw->memory_usable_bytes, LLMPERF_UNIT_BYTES,
                              "what the driver reports", LLMPERF_HW_MEMORY_USABLE);
        explain_result(e, "memory_usable", e->p->memory.capacity_bytes);
        return;
    }
    explain_name_hardware(e, "memory", hw->memory_bytes, LLMPERF_UNIT_BYTES,
                          "the label's size; what the driver leaves is not known",
                          LLMPERF_HW_MEMORY);
    e->named[e->named_count - 1].assumed = true;
    explain_result(e, "memory", e->p->memory.capacity_bytes);
}

static void explain_reserved(explainer *e)
{
    name_capacity(e);
    explain_result(e, "(1 - utilization) capacity + reserve", e->p->memory.reserved_bytes);
}

static void name_memory(explainer *e)
{
    const llmperf_memory *m = &e->p->memory;
    const struct {
        const char *symbol, *meaning, *field;
        double value;
    } parts[] = {
        {"weights", "weights", "memory.weight_bytes", m->weight_bytes},
        {"kv", "KV cache", "memory.kv_bytes", m->kv_bytes},
        {"state", "recurrent state", "memory.state_bytes", m->state_bytes},
        {"activation", "tensors of the largest step", "memory.activation_bytes",
         m->activation_bytes},
        {"reserved", "kept free", "memory.reserved_bytes", m->reserved_bytes},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        explain_name_field(e, parts[i].symbol, parts[i].value, LLMPERF_UNIT_BYTES, parts[i].meaning,
                           parts[i].field);
}

static void explain_total(explainer *e)
{
    name_memory(e);
    explain_result(e, "weights + kv + state + activation + reserved", e->p->memory.total_bytes);
}

static void list_memory(explainer *e)
{
    name_memory(e);
    name_capacity(e);
    explain_list_input("weights", e);
    explain_list_input("reserved", e);
    explain_list_input("capacity", e);
}

static double bytes_at(const explainer *e, int64_t batch, int64_t prompt, int64_t tokens)
{
    const llmperf_memory *m = &e->p->memory;
    return m->weight_bytes + m->reserved_bytes + llmperf_kv_bytes(e->c, batch, tokens) +
           llmperf_state_bytes(e->c, batch) + llmperf_activation_bytes(e->c, batch, prompt);
}

static void explain_max_batch(explainer *e)
{
    const llmperf_workload *w = &e->c->workload;
    const llmperf_memory *m = &e->p->memory;
    explain_rule(
        e, (double)m->max_batch,
        "the largest b with weights + reserved + kv(b) + state(b) + activation(b) <= capacity, "
        "found by bisection");
    for (int64_t b = m->max_batch; b <= m->max_batch + 1; b++) {
        char name[64];
        explain_print(name, sizeof name, "free at batch %lld", (long long)b);
        if (b > 0)
            explain_add_step(e, name, NULL, LLMPERF_UNIT_BYTES,
                             m->capacity_bytes -
                                 bytes_at(e, b, w->prompt, w->prompt + w->generate));
    }
    list_memory(e);
}

static void explain_max_context_tokens(explainer *e)
{
    const llmperf_workload *w = &e->c->workload;
    int64_t most = e->p->memory.max_context_tokens;
    explain_rule(e, (double)most,
                 "the longest sequence, generated tokens included, with weights + reserved + kv + "
                 "state + activation <= capacity at this batch, found by bisection");
    for (int64_t tokens = most; tokens <= most + 1; tokens++) {
        char name[64];
        int64_t prompt = tokens > w->generate ? tokens - w->generate : 1;
        explain_print(name, sizeof name, "free at %lld tokens", (long long)tokens);
        if (tokens > 0)
            explain_add_step(e, name, NULL, LLMPERF_UNIT_BYTES,
                             e->p->memory.capacity_bytes - bytes_at(e, w->batch, prompt, tokens));
    }
    list_memory(e);
    explain_list_input("b", e);
}

static const field_row ROWS[] = {
    ROW("memory.weight_bytes", "weights on one device", BYTES, explain_weight_bytes),
    ROW("memory.kv_bytes", "KV cache of all sequences at full length, on one device", BYTES,
        explain_kv_bytes),
    ROW("memory.state_bytes", "recurrent state of all sequences", BYTES, explain_state),
    ROW("memory.activation_bytes", "tensors of the largest step, on one device", BYTES,
        explain_activation_bytes),
    ROW("memory.reserved_bytes", "memory kept free on one device", BYTES, explain_reserved),
    ROW("memory.total_bytes", "memory asked for on one device", BYTES, explain_total),
    ROW("memory.capacity_bytes", "usable memory of one device", BYTES, explain_capacity),
    ROW("memory.max_batch", "largest batch that fits", SEQUENCES, explain_max_batch),
    ROW("memory.max_context_tokens", "longest sequence that fits at this batch", TOKENS,
        explain_max_context_tokens),
};

const field_group EXPLAIN_MEMORY = {ROWS, sizeof ROWS / sizeof *ROWS};
