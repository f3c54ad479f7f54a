/* SPDX-License-Identifier: MIT */
/*
 * A workload on a model and a part: defaults, legality, and the arithmetic each operator runs in.
 */
#include <stdio.h>
#include <string.h>

#include "internal.h"

/* Bounds that keep every count exact in a double and every product inside int64_t. */
static const int64_t MOST_SEQUENCES = (int64_t)1 << 24;
static const int64_t MOST_TOKENS = (int64_t)1 << 30;

llmperf_dtype vector_dtype_of(const llmperf_hw *hw)
{
    static const llmperf_dtype order[] = {LLMPERF_DTYPE_FP32, LLMPERF_DTYPE_BF16,
                                          LLMPERF_DTYPE_FP16, LLMPERF_DTYPE_TF32,
                                          LLMPERF_DTYPE_FP64};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (!hw || hw->peak_flop_per_s[order[i]] > 0)
            return order[i];
    for (int i = 1; i < LLMPERF_DTYPE_COUNT; i++)
        if (hw->peak_flop_per_s[i] > 0)
            return (llmperf_dtype)i;
    return LLMPERF_DTYPE_NONE;
}

int64_t llmperf_mean_context(int64_t prompt, int64_t generate) { return prompt + generate / 2; }

static void fill_defaults(const llmperf_model *model, llmperf_workload *w)
{
    if (!w->batch)
        w->batch = 1;
    if (!w->prompt)
        w->prompt = 1024;
    if (!w->generate)
        w->generate = 256;
    if (!w->has_context)
        w->context = llmperf_mean_context(w->prompt, w->generate);
    w->has_context = true;
    if (!w->chunk)
        w->chunk = 8192;
    if (!w->query)
        w->query = 1;
    if (!w->tp)
        w->tp = 1;
    if (w->memory_utilization == 0)
        w->memory_utilization = 0.9;
    if (!w->has_reserve)
        w->reserve_bytes = 1024.0 * 1024 * 1024;
    w->has_reserve = true;
    if (!w->kv_block)
        w->kv_block = 16;
    if (w->confidence == 0)
        w->confidence = 0.9;
    if (!w->act_dtype)
        w->act_dtype = (llmperf_dtype)model->dtype;
    if (!w->kv_dtype)
        w->kv_dtype = model->kv_dtype ? (llmperf_dtype)model->kv_dtype : w->act_dtype;
}

static bool in_range(const char *name, int64_t value, int64_t least, int64_t most,
                     llmperf_error *error)
{
    if (value >= least && value <= most)
        return true;
    llmperf_fail(error, LLMPERF_E_USAGE, "%s is %lld; %lld to %lld is allowed", name,
                 (long long)value, (long long)least, (long long)most);
    return false;
}

static bool check_workload(const llmperf_workload *w, llmperf_error *error)
{
    bool ok = in_range("batch", w->batch, 1, MOST_SEQUENCES, error);
    ok &= in_range("prompt", w->prompt, 1, MOST_TOKENS, error);
    ok &= in_range("generate", w->generate, 1, MOST_TOKENS, error);
    ok &= in_range("context", w->context, 0, MOST_TOKENS, error);
    ok &= in_range("chunk", w->chunk, 1, MOST_TOKENS, error);
    ok &= in_range("query", w->query, 1, 65536, error);
    ok &= in_range("kv-block", w->kv_block, 1, 65536, error);
    ok &= in_range("tp", w->tp, 1, 65536, error);
    ok &= in_range("cached", w->cached, 0, w->prompt - 1, error);
    if (!(w->memory_utilization > 0 && w->memory_utilization <= 1)) {
        llmperf_fail(error, LLMPERF_E_USAGE,
                     "memory-utilization is %g; above 0 and at most 1 is allowed",
                     w->memory_utilization);
        ok = false;
    }
    if (!(w->confidence > 0 && w->confidence < 1)) {
        llmperf_fail(error, LLMPERF_E_USAGE, "confidence is %g; above 0 and below 1 is allowed",
                     w->confidence);
        ok = false;
    }
    if (!(w->reserve_bytes >= 0 && w->tpot_s >= 0 && w->ttft_s >= 0 && w->price_usd_per_h >= 0)) {
        llmperf_fail(error, LLMPERF_E_USAGE,
                     "reserve, tpot, ttft and price must not be negative");
        ok = false;
    }
    return ok;
}

bool tp_is_legal(const llmperf_model *model, int64_t tp)
{
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_attention *a = &model->layers[i].attention;
        if (a->heads % tp != 0 || (a->kv_heads % tp != 0 && tp % a->kv_heads != 0))
            return false;
    }
    return true;
}

static llmperf_status check_tp(const llmperf_model *model, const llmperf_hw *hw, int64_t tp,
                               llmperf_error *error)
{
    if (!tp_is_legal(model, tp)) {
        char legal[256];
        size_t used = 0;
        for (int64_t t = 1; t <= model->layers[0].attention.heads && used + 24 < sizeof legal; t++)
            if (tp_is_legal(model, t))
                used += (size_t)snprintf(legal + used, sizeof legal - used, "%s%lld",
                                         used ? ", " : "", (long long)t);
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "tp is %lld, which does not divide the %lld heads and %lld KV heads of "
                            "%s; %s is allowed",
                            (long long)tp, (long long)model->layers[0].attention.heads,
                            (long long)model->layers[0].attention.kv_heads, model->name, legal);
    }
    if (hw && tp > 1 && !llmperf_hw_link(hw, tp)) {
        if (hw->link.kind[0])
            return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                                "tp is %lld, but %s links %lld devices and its file names no link "
                                "between nodes; up to %lld is allowed",
                                (long long)tp, hw->name, (long long)hw->link.domain,
                                (long long)hw->link.domain);
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "tp is %lld, but the file of %s names neither link nor pcie; "
                            "tp 1 is allowed",
                            (long long)tp, hw->name);
    }
    return LLMPERF_OK;
}

/* Names the peaks that a part has, for a message. */
static void list_peaks(const llmperf_hw *hw, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 1; i < LLMPERF_DTYPE_COUNT && used < size; i++)
        if (hw->peak_flop_per_s[i] > 0)
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
                                     llmperf_dtype_name((llmperf_dtype)i));
}

static llmperf_status choose(const llmperf_hw *hw, const char *what, llmperf_dtype a,
                             llmperf_dtype b, uint8_t *ret_dtype, llmperf_error *error)
{
    llmperf_dtype dtype = llmperf_compute_dtype(hw, a, b);
    if (dtype == LLMPERF_DTYPE_NONE) {
        char peaks[128];
        list_peaks(hw, peaks, sizeof peaks);
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "%s has no peak that holds %s of %s with %s; it has %s", hw->name, what,
                            llmperf_dtype_name(a), llmperf_dtype_name(b), peaks);
    }
    *ret_dtype = (uint8_t)dtype;
    return LLMPERF_OK;
}

static void note_widened(llmperf_case *c, const char *what, llmperf_dtype a, llmperf_dtype b,
                         llmperf_dtype chosen)
{
    if (chosen == a && chosen == b)
        return;
    if (llmperf_dtype_bits(chosen) > 16 && llmperf_dtype_bits(a) <= 16 &&
        llmperf_dtype_bits(b) <= 16)
        llmperf_note(&c->notes,
                     "%s compute in %s: %s has no 16-bit peak that holds %s and %s%s", what,
                     llmperf_dtype_name(chosen), c->hw->name, llmperf_dtype_name(a),
                     llmperf_dtype_name(b),
                     c->hw->peak_flop_per_s[LLMPERF_DTYPE_FP16] > 0 &&
                             (a == LLMPERF_DTYPE_BF16 || b == LLMPERF_DTYPE_BF16)
                         ? " (an engine would take fp16: --weight-dtype fp16 --act-dtype fp16)"
                         : "");
    else if (a != b)
        llmperf_note(&c->notes, "%s compute in %s (%s with %s)", what, llmperf_dtype_name(chosen),
                     llmperf_dtype_name(a), llmperf_dtype_name(b));
}

llmperf_status llmperf_case_init(llmperf_case *ret_case, const llmperf_model *model,
                                 const llmperf_hw *hw, const llmperf_calib *calib,
                                 const llmperf_workload *workload, llmperf_error *error)
{
    llmperf_case c = {.model = model, .hw = hw, .calib = calib, .workload = *workload};
    llmperf_workload *w = &c.workload;
    llmperf_status status = llmperf_model_check(model, error);
    if (status == LLMPERF_OK && hw)
        status = llmperf_hw_check(hw, error);
    if (status != LLMPERF_OK)
        return status;
    fill_defaults(model, w);
    if (!check_workload(w, error))
        return LLMPERF_E_USAGE;
    status = check_tp(model, hw, w->tp, error);
    if (status != LLMPERF_OK)
        return status;

    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        c.weight_dtype[i] = model->weight_dtype[i];
        c.weight_bytes_per[i] = model->weight_bits[i] / 8;
    }
    if (w->weight_dtype) { /* dense weights only: embedding and LM head keep the file's */
        static const llmperf_weight_class dense[] = {LLMPERF_WEIGHT_ATTENTION, LLMPERF_WEIGHT_MLP};
        for (size_t i = 0; i < sizeof dense / sizeof *dense; i++) {
            c.weight_dtype[dense[i]] = (uint8_t)w->weight_dtype;
            c.weight_bytes_per[dense[i]] = llmperf_dtype_bits(w->weight_dtype) / 8;
        }
    } else {
        w->weight_dtype = (llmperf_dtype)model->weight_dtype[LLMPERF_WEIGHT_MLP];
    }
    c.act_bytes_per = llmperf_dtype_bits(w->act_dtype) / 8;
    c.kv_bytes_per = llmperf_dtype_bits(w->kv_dtype) / 8;

    for (int i = 0; i < LLMPERF_WEIGHT_COUNT && status == LLMPERF_OK; i++)
        status = choose(hw, "weights", (llmperf_dtype)c.weight_dtype[i], w->act_dtype,
                        &c.gemm_dtype[i], error);
    if (status == LLMPERF_OK)
        status = choose(hw, "a KV cache", w->kv_dtype, w->act_dtype, &c.attention_dtype, error);
    if (status != LLMPERF_OK)
        return status;
    c.vector_dtype = (uint8_t)vector_dtype_of(hw);
    if (hw) {
        note_widened(&c, "dense layers", w->weight_dtype, w->act_dtype,
                     (llmperf_dtype)c.gemm_dtype[LLMPERF_WEIGHT_MLP]);
        if (w->kv_dtype != w->act_dtype)
            note_widened(&c, "attention", w->kv_dtype, w->act_dtype,
                         (llmperf_dtype)c.attention_dtype);
    }
    for (int i = 0; i < model->layer_kind_count; i++)
        if (w->tp > model->layers[i].attention.kv_heads) {
            llmperf_note(&c.notes,
                         "tp %lld exceeds the %lld KV heads: each is held by %lld devices",
                         (long long)w->tp, (long long)model->layers[i].attention.kv_heads,
                         (long long)(w->tp / model->layers[i].attention.kv_heads));
            break;
        }
    int64_t reach = w->prompt + w->generate;
    if (w->context + w->query > reach)
        reach = w->context + w->query;
    if (model->max_context > 0 && reach > model->max_context)
        llmperf_note(&c.notes, "%lld tokens exceed the %lld that %s was trained for",
                     (long long)reach, (long long)model->max_context, model->name);
    *ret_case = c;
    return LLMPERF_OK;
}
