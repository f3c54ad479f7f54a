/* SPDX-License-Identifier: MIT */
/* What a specification says as fields: the JSON contract of docs/interface.md, and CSV with the same
 * names. */
#include "layer_kind.h"
#include "llmperf/predict.h"
#include "read.h"
#include "writers.h"
#include "config_object.h"

const char *record_dtype(int dtype)
{
    return dtype == LLMPERF_DTYPE_NONE ? NULL : llmperf_dtype_name((llmperf_dtype)dtype);
}

/* ---- model ------------------------------------------------------------------------------------------ */

static void put_field(sink *s, const layer_field *f, const llmperf_layer *layer)
{
    int64_t value = field_value(f, layer);
    if (f->type == FIELD_WORD)
        sink_text(s, f->key, field_word(f, layer));
    else if (f->type == FIELD_FLAG)
        sink_bool(s, f->key, value != 0);
    else if (f->null_for_none && value == 0)
        sink_null(s, f->key);
    else
        sink_integer(s, f->key, value);
}

static void put_kind(sink *s, const layer_kind *kind, const llmperf_layer *layer)
{
    sink_begin_object(s, kind->name);
    for (const layer_field *f = kind->fields; f->key; f++)
        if (!f->file_only)
            put_field(s, f, layer);
    sink_end_object(s);
}

static void put_layer_plan(sink *s, const llmperf_model *model)
{
    sink_begin_array(s, "layer_plan");
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        sink_begin_object(s, NULL);
        sink_integer(s, "count", layer->count);
        sink_integer(s, "norms", layer->norms);
        sink_bool(s, "parallel", layer->parallel);
        for (int k = 0; k < LAYER_KIND_COUNT; k++)
            if (kind_in(LAYER_KINDS[k], layer))
                put_kind(s, LAYER_KINDS[k], layer);
        sink_begin_object(s, "weights");
        for (int k = 0; k < LLMPERF_WEIGHT_COUNT; k++)
            if (layer->weights[k].dtype) {
                sink_begin_object(s, spec_weight_word(k));
                sink_text(s, "dtype", llmperf_dtype_name((llmperf_dtype)layer->weights[k].dtype));
                sink_number(s, "bits", layer->weights[k].bits);
                sink_text(s, "operand", record_dtype(layer->weights[k].operand));
                sink_end_object(s);
            }
        sink_end_object(s);
        sink_end_object(s);
    }
    sink_end_array(s);
}

/* The first shape that has attention speaks for the model's heads, the first with an FFN for its
 * width; 0 where there is none. */
typedef struct headline {
    int64_t heads, kv_heads, head_dim, ffn, experts, active_experts;
    bool gated;
} headline;

static headline headline_of(const llmperf_model *model)
{
    headline h = {0};
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        if (!h.heads && layer->attention.heads) {
            h.heads = layer->attention.heads;
            h.kv_heads = layer->attention.kv_heads;
            h.head_dim = layer->attention.head_dim;
        } else if (!h.heads && layer->mla.heads) {
            h.heads = h.kv_heads = layer->mla.heads;
            h.head_dim = layer->mla.nope_dim + layer->mla.rope_dim;
        }
        if (!h.ffn && layer->mlp.ffn) {
            h.ffn = layer->mlp.ffn;
            h.gated = layer->mlp.gated;
        }
        if (!h.experts && layer->moe.experts) {
            h.experts = layer->moe.experts;
            h.active_experts = layer->moe.active;
            h.gated |= layer->moe.gated;
        }
    }
    return h;
}

/* c NULL: as the file holds it. */
void record_put_model(sink *s, const llmperf_model *model, const llmperf_config *c)
{
    llmperf_params params = llmperf_model_params(model);
    headline first = headline_of(model);
    double kv_bytes_per =
        c ? c->kv_bytes_per
          : llmperf_dtype_bits((llmperf_dtype)(model->kv_dtype ? model->kv_dtype : model->dtype)) /
                8;
    int64_t head = model->tied ? 0 : params.by_class[LLMPERF_WEIGHT_HEAD];
    /* learned positions stay: the published conventions leave out the token table alone */
    int64_t no_embed = params.active - model->vocab * model->embedding_dim;
    /* a tied table is embedding and head at once: it works as the head */
    int64_t active_no_embed =
        model->tied ? no_embed + model->vocab * model->embedding_dim : no_embed;
    sink_begin_object(s, "model");
    sink_text(s, "name", model->name);
    sink_text(s, "architecture", model->architecture[0] ? model->architecture : NULL);
    sink_integer(s, "params", params.total);
    sink_integer(s, "mtp_params", model->mtp_params);
    sink_integer(s, "active_params", params.active);
    sink_integer(s, "active_params_no_embed", active_no_embed);
    sink_integer(s, "active_params_no_embed_head", no_embed - head);
    sink_number(s, "weight_bytes", llmperf_model_weight_bytes(model, c));
    sink_number(s, "kv_bytes_per_token", llmperf_kv_bytes_per_token(model, kv_bytes_per));
    sink_number(s, "kv_bytes_per_token_long", llmperf_kv_bytes_per_token_long(model, kv_bytes_per));
    sink_number(s, "index_bytes_per_token", llmperf_index_bytes_per_token(model));
    sink_number(s, "state_bytes", llmperf_state_bytes_per_sequence(model));
    sink_integer(s, "layers", llmperf_model_layers(model));
    sink_integer(s, "hidden", model->hidden);
    sink_integer(s, "heads", first.heads);
    sink_integer(s, "kv_heads", first.kv_heads);
    sink_integer(s, "head_dim", first.head_dim);
    sink_integer(s, "ffn", first.ffn);
    sink_positive(s, "experts", (double)first.experts);
    sink_positive(s, "active_experts", (double)first.active_experts);
    sink_integer(s, "vocab", model->vocab);
    sink_bool(s, "gated", first.gated);
    sink_bool(s, "tied", model->tied);
    sink_positive(s, "max_context", (double)model->max_context);
    sink_text(s, "dtype", llmperf_dtype_name((llmperf_dtype)model->dtype));
    sink_text(s, "kv_dtype", record_dtype(model->kv_dtype));
    sink_text(s, "quantisation", model->scheme[0] ? model->scheme : NULL);
    sink_text(s, "source", model->source[0] ? model->source : NULL);
    if (!s->is_table)
        put_layer_plan(s, model);
    sink_text(s, "not_counted", model->not_counted[0] ? model->not_counted : NULL);
    sink_end_object(s);
}

/* ---- hardware ----------------------------------------------------------------------------------------- */

static void put_link(sink *s, const char *key, const llmperf_link *link)
{
    if (!link->kind[0]) {
        if (!s->is_table)
            sink_null(s, key);
        return;
    }
    sink_begin_object(s, key);
    sink_text(s, "kind", link->kind);
    sink_number(s, "bytes_per_s", link->bytes_per_s);
    sink_number(s, "latency_s", link->latency_s);
    sink_bool(s, "latency_assumed", link->latency_assumed);
    sink_positive(s, "domain", (double)link->domain);
    sink_end_object(s);
}

static void put_provenance(sink *s, const llmperf_hw *hw)
{
    sink_begin_object(s, "sources");
    for (int i = 0; i < LLMPERF_HW_FIELD_COUNT; i++) {
        const llmperf_provenance *p = &hw->provenance[i];
        if (!p->source[0] && !p->confidence)
            continue;
        const llmperf_provenance *whole = &hw->provenance[LLMPERF_HW_DEFAULT];
        const char *source = p->source[0] ? p->source : whole->source;
        int confidence = p->confidence ? p->confidence : whole->confidence;
        sink_begin_object(s, llmperf_hw_field_name((llmperf_hw_field)i));
        sink_text(s, "source", source[0] ? source : NULL);
        sink_text(s, "confidence", llmperf_confidence_name((llmperf_confidence)confidence));
        sink_end_object(s);
    }
    sink_end_object(s);
}

void record_put_hw(sink *s, const llmperf_hw *hw)
{
    sink_text(s, "name", hw->name);
    sink_text(s, "kind", hw->kind);
    sink_text(s, "vendor", hw->vendor[0] ? hw->vendor : NULL);
    sink_text(s, "architecture", hw->architecture[0] ? hw->architecture : NULL);
    const char *source = hw->provenance[LLMPERF_HW_DEFAULT].source;
    sink_text(s, "source", source[0] ? source : NULL);
    sink_begin_object(s, "peak_flop_per_s");
    for (int i = 1; i < LLMPERF_DTYPE_COUNT; i++)
        if (hw->peak_flop_per_s[i] > 0)
            sink_number(s, llmperf_dtype_name((llmperf_dtype)i), hw->peak_flop_per_s[i]);
    sink_end_object(s);
    if (!s->is_table) {
        sink_begin_object(s, "absent");
        for (int i = 1; i < LLMPERF_DTYPE_COUNT; i++)
            if (hw->absent[i][0])
                sink_text(s, llmperf_dtype_name((llmperf_dtype)i), hw->absent[i]);
        sink_end_object(s);
    }
    sink_number(s, "mem_bw_bytes_per_s", hw->mem_bytes_per_s);
    sink_positive(s, "mem_bw_achievable_bytes_per_s", hw->mem_achievable_bytes_per_s);
    sink_number(s, "memory_bytes", hw->memory_bytes);
    sink_positive(s, "memory_usable_bytes", hw->memory_usable_bytes);
    sink_positive(s, "l2_bytes", hw->l2_bytes);
    sink_positive(s, "units", hw->units);
    sink_positive(s, "clock_hz", hw->clock_hz);
    sink_positive(s, "launch_s", hw->launch_s);
    put_link(s, "link", &hw->link);
    put_link(s, "nodes", &hw->nodes);
    put_link(s, "pcie", &hw->pcie);
    sink_positive(s, "power_w", hw->power_w);
    sink_positive(s, "price_usd_per_h", hw->price_usd_per_h);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

llmperf_status record_model(FILE *out, const sink_format *format, const llmperf_model *model,
                            llmperf_error *error)
{
    sink s;
    sink_open(&s, out, format);
    sink_begin_row(&s);
    sink_begin_object(&s, NULL);
    if (!s.is_table)
        sink_head(&s);
    record_put_model(&s, model, NULL);
    llmperf_notes notes = model->notes;
    for (int i = 0; i < model->warnings.count; i++)
        llmperf_note(&notes, "%s", model->warnings.text[i]);
    sink_notes(&s, "notes", &notes);
    sink_end_object(&s);
    sink_end_row(&s);
    return sink_close(&s, error);
}

llmperf_status record_hw(FILE *out, const sink_format *format, const llmperf_hw *hw,
                         llmperf_error *error)
{
    sink s;
    llmperf_notes notes = hw->notes;
    for (int i = 0; i < hw->warnings.count; i++)
        llmperf_note(&notes, "%s", hw->warnings.text[i]);
    sink_open(&s, out, format);
    sink_begin_row(&s);
    sink_begin_object(&s, NULL);
    if (!s.is_table)
        sink_head(&s);
    record_put_hw(&s, hw);
    if (!s.is_table)
        put_provenance(&s, hw);
    sink_notes(&s, "notes", &notes);
    sink_end_object(&s);
    sink_end_row(&s);
    return sink_close(&s, error);
}
