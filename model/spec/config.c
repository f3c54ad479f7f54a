/* SPDX-License-Identifier: MIT */
/*
 * A workload on a model and a part: defaults, legality, and the arithmetic each operator runs in.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "entry.h"
#include "layer_kind.h"
#include "config_object.h"
#include "read.h"

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

int64_t llmperf_mean_context(int64_t prompt, int64_t generate)
{
    if (prompt < 0 || generate < 0 || prompt > INT64_MAX - generate / 2)
        return 0;
    return prompt + generate / 2;
}

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

static bool check_dtypes(const llmperf_workload *w, llmperf_error *error)
{
    bool ok = in_range("weight_dtype", (int64_t)w->weight_dtype, 0, LLMPERF_DTYPE_COUNT - 1, error);
    ok &= in_range("act_dtype", (int64_t)w->act_dtype, 0, LLMPERF_DTYPE_COUNT - 1, error);
    ok &= in_range("kv_dtype", (int64_t)w->kv_dtype, 0, LLMPERF_DTYPE_COUNT - 1, error);
    return ok;
}

/* `asked`: of the workload before defaults were filled in. */
static bool check_workload(const llmperf_workload *w, const llmperf_workload *asked,
                           llmperf_error *error)
{
    bool ok = in_range("batch", w->batch, 1, MOST_SEQUENCES, error);
    ok &= in_range("prompt", w->prompt, 1, MOST_TOKENS, error);
    ok &= in_range("generate", w->generate, 1, MOST_TOKENS, error);
    ok &= in_range(asked->has_context ? "context" : "context, prompt + generate / 2,", w->context,
                   0, MOST_TOKENS, error);
    ok &= in_range("chunk", w->chunk, 1, MOST_TOKENS, error);
    ok &= in_range("query", w->query, 1, 65536, error);
    ok &= in_range("kv-block", w->kv_block, 1, 65536, error);
    ok &= in_range("tp", w->tp, 1, 65536, error);
    ok &= in_range("cached", w->cached, 0, w->prompt > 0 ? w->prompt - 1 : 0, error);
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
    if (!(w->moe_skew >= 0 && w->moe_skew <= 10)) {
        llmperf_fail(error, LLMPERF_E_USAGE, "moe-skew is %g; 0 to 10 is allowed", w->moe_skew);
        ok = false;
    }
    const double amounts[] = {w->reserve_bytes, w->tpot_s, w->ttft_s, w->price_usd_per_h};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        if (amounts[i] >= 0 && isfinite(amounts[i]))
            continue;
        llmperf_fail(error, LLMPERF_E_USAGE,
                     "reserve, tpot, ttft and price must be finite and must not be negative");
        ok = false;
        break;
    }
    return ok;
}

bool tp_is_legal(const llmperf_model *model, int64_t tp)
{
    for (int i = 0; i < model->layer_kind_count; i++)
        for (int k = 0; k < LAYER_KIND_COUNT; k++) {
            const layer_kind *kind = LAYER_KINDS[k];
            if (kind->splits && kind_in(kind, &model->layers[i]) &&
                !kind->splits(&model->layers[i], tp))
                return false;
        }
    return true;
}

static llmperf_status check_tp(const llmperf_model *model, const llmperf_hw *hw, int64_t tp,
                               llmperf_error *error)
{
    if (!tp_is_legal(model, tp)) {
        char legal[256] = "";
        size_t used = 0;
        int64_t heads = 1, kv_heads = 0;
        for (int i = 0; i < model->layer_kind_count; i++) {
            const llmperf_layer *layer = &model->layers[i];
            int64_t own = layer->attention.heads + layer->mla.heads;
            heads = own > heads ? own : heads;
            kv_heads = layer->attention.kv_heads > kv_heads ? layer->attention.kv_heads : kv_heads;
        }
        if (heads == 1) /* no attention at all */
            heads = 1024;
        for (int64_t t = 1; t <= heads && used + 24 < sizeof legal; t++)
            if (tp_is_legal(model, t))
                used += (size_t)snprintf(legal + used, sizeof legal - used, "%s%lld",
                                         used ? ", " : "", (long long)t);
        if (kv_heads > 0)
            return llmperf_fail(
                error, LLMPERF_E_USAGE,
                "tp is %lld, which does not divide the %lld heads and %lld KV heads "
                "of %s; %s is allowed",
                (long long)tp, (long long)heads, (long long)kv_heads, model->name, legal);
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "tp is %lld, which does not divide the heads of %s; %s is allowed",
                            (long long)tp, model->name, legal);
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
    if (hw && dtype == LLMPERF_DTYPE_NONE) { /* without a part every format computes as itself */
        char peaks[128];
        list_peaks(hw, peaks, sizeof peaks);
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "%s has no peak that holds %s of %s with %s; it has %s", hw->name, what,
                            llmperf_dtype_name(a), llmperf_dtype_name(b), peaks);
    }
    *ret_dtype = (uint8_t)dtype;
    return LLMPERF_OK;
}

static void note_widened(llmperf_config *c, const char *what, llmperf_dtype a, llmperf_dtype b,
                         llmperf_dtype chosen)
{
    if (chosen == a && chosen == b)
        return;
    if (llmperf_dtype_bits(chosen) > 16 && llmperf_dtype_bits(a) <= 16 &&
        llmperf_dtype_bits(b) <= 16)
        llmperf_note(&c->notes, "%s compute in %s: %s has no 16-bit peak that holds %s and %s%s",
                     what, llmperf_dtype_name(chosen), c->hw->name, llmperf_dtype_name(a),
                     llmperf_dtype_name(b),
                     c->hw->peak_flop_per_s[LLMPERF_DTYPE_FP16] > 0 &&
                             (a == LLMPERF_DTYPE_BF16 || b == LLMPERF_DTYPE_BF16)
                         ? " (an engine would take fp16: --weight-dtype fp16 --act-dtype fp16)"
                         : "");
    else if (a != b)
        llmperf_note(&c->notes, "%s compute in %s (%s with %s)", what, llmperf_dtype_name(chosen),
                     llmperf_dtype_name(a), llmperf_dtype_name(b));
}

/* The class that most of a model's weights are in: its format stands for the model's. */
static llmperf_weight_class main_class(const llmperf_model *model)
{
    llmperf_params params = llmperf_model_params(model);
    int best = LLMPERF_WEIGHT_ATTENTION;
    for (int i = LLMPERF_WEIGHT_ATTENTION; i < LLMPERF_WEIGHT_ROUTER; i++)
        if (params.by_class[i] > params.by_class[best])
            best = i;
    return (llmperf_weight_class)best;
}

static llmperf_dtype main_weight_dtype(const llmperf_model *model)
{
    llmperf_weight_class class = main_class(model);
    for (int i = model->layer_kind_count - 1; i >= 0; i--)
        if (model->layers[i].weights[class].dtype)
            return (llmperf_dtype)model->layers[i].weights[class].dtype;
    return (llmperf_dtype)model->weight_dtype[class];
}

llmperf_dtype llmperf_config_compute_dtype(const llmperf_config *c)
{
    if (!c)
        return LLMPERF_DTYPE_NONE;
    llmperf_weight_class class = main_class(c->model);
    for (int i = c->model->layer_kind_count - 1; i >= 0; i--)
        if (c->layer[i].dtype[class] == c->workload.weight_dtype)
            return (llmperf_dtype)c->layer[i].gemm_dtype[class];
    return (llmperf_dtype)c->outside.gemm_dtype[class];
}

static bool is_dense_class(int weight_class)
{
    return weight_class == LLMPERF_WEIGHT_ATTENTION || weight_class == LLMPERF_WEIGHT_SSM ||
           weight_class == LLMPERF_WEIGHT_MLP || weight_class == LLMPERF_WEIGHT_EXPERTS ||
           weight_class == LLMPERF_WEIGHT_SHARED;
}

/* Does the asked format replace the file's in this class? Dense weights always. Embedding and LM head
 * when a cast widens them: who loads a bf16 checkpoint as fp32 casts all of it, who quantises leaves
 * them. Router and norms keep the file's: hardly any bytes, and often wider on purpose. */
static bool is_replaced(llmperf_dtype asked, int weight_class, double bits)
{
    bool is_cast =
        asked == LLMPERF_DTYPE_FP32 || asked == LLMPERF_DTYPE_BF16 || asked == LLMPERF_DTYPE_FP16;
    bool is_table = weight_class == LLMPERF_WEIGHT_EMBEDDING || weight_class == LLMPERF_WEIGHT_HEAD;
    return is_dense_class(weight_class) ||
           (is_cast && is_table && llmperf_dtype_bits(asked) > bits);
}

/* Format and arithmetic of each class of weights, of one layer shape or outside the layers. */
static llmperf_status resolve_weights(const llmperf_hw *hw, const llmperf_model *model,
                                      const llmperf_layer *layer, llmperf_dtype asked,
                                      llmperf_dtype act, llmperf_config_weights *ret_weights,
                                      llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT && status == LLMPERF_OK; i++) {
        llmperf_dtype dtype = (llmperf_dtype)model->weight_dtype[i];
        llmperf_dtype operand = (llmperf_dtype)model->weight_operand[i];
        double bits = model->weight_bits[i];
        if (layer && layer->weights[i].dtype) {
            dtype = (llmperf_dtype)layer->weights[i].dtype;
            operand = (llmperf_dtype)layer->weights[i].operand;
            bits = layer->weights[i].bits;
        }
        if (asked && is_replaced(asked, i, bits)) {
            dtype = asked;
            operand = LLMPERF_DTYPE_NONE;
            bits = llmperf_dtype_bits(asked);
        }
        ret_weights->dtype[i] = (uint8_t)dtype;
        ret_weights->bytes_per[i] = bits / 8;
        status = choose(hw, "weights", dtype, operand ? operand : act, &ret_weights->gemm_dtype[i],
                        error);
    }
    return status;
}

llmperf_status config_init(llmperf_config *ret_config, const llmperf_model *model,
                           const llmperf_hw *hw, const llmperf_calib *calib,
                           const llmperf_workload *workload, llmperf_error *error)
{
    NEEDS(ret_config && model && workload, error);
    llmperf_config c = {.model = model, .hw = hw, .calib = calib, .workload = *workload};
    llmperf_workload *w = &c.workload;
    llmperf_status status = model_check(model, error);
    if (status == LLMPERF_OK && hw)
        status = llmperf_hw_check(hw, error);
    if (status != LLMPERF_OK)
        return status;
    if (!check_dtypes(w, error))
        return LLMPERF_E_USAGE;
    fill_defaults(model, w);
    if (!check_workload(w, workload, error))
        return LLMPERF_E_USAGE;
    status = check_tp(model, hw, w->tp, error);
    if (status != LLMPERF_OK)
        return status;

    c.act_bytes_per = llmperf_dtype_bits(w->act_dtype) / 8;
    c.kv_bytes_per = llmperf_dtype_bits(w->kv_dtype) / 8;
    llmperf_dtype asked = w->weight_dtype;
    c.asked_weight_dtype = (uint8_t)asked;
    if (!asked)
        w->weight_dtype = main_weight_dtype(model);
    status = resolve_weights(hw, model, NULL, asked, w->act_dtype, &c.outside, error);
    for (int i = 0; i < model->layer_kind_count && status == LLMPERF_OK; i++)
        status =
            resolve_weights(hw, model, &model->layers[i], asked, w->act_dtype, &c.layer[i], error);
    if (status == LLMPERF_OK)
        status = choose(hw, "a KV cache", w->kv_dtype, w->act_dtype, &c.attention_dtype, error);
    if (status == LLMPERF_OK) /* index keys and queries are fp8, or what holds it */
        status =
            choose(hw, "an index", LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_FP8, &c.index_dtype, error);
    if (status != LLMPERF_OK)
        return status;
    c.vector_dtype = (uint8_t)vector_dtype_of(hw);
    if (hw) {
        llmperf_dtype computed = llmperf_config_compute_dtype(&c);
        if (!asked && model->scheme[0])
            llmperf_note(&c.notes, "weights are quantised (%s); linear layers compute in %s",
                         model->scheme, llmperf_dtype_name(computed));
        else
            note_widened(&c, "linear layers", w->weight_dtype, w->act_dtype, computed);
        if (w->kv_dtype != w->act_dtype)
            note_widened(&c, "attention", w->kv_dtype, w->act_dtype,
                         (llmperf_dtype)c.attention_dtype);
    }
    for (int i = 0; i < model->layer_kind_count; i++)
        if (model->layers[i].attention.heads > 0 && w->tp > model->layers[i].attention.kv_heads) {
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
    *ret_config = c;
    return LLMPERF_OK;
}

llmperf_workload config_asked(const llmperf_config *c)
{
    llmperf_workload w = c->workload;
    w.weight_dtype = (llmperf_dtype)c->asked_weight_dtype;
    return w;
}
