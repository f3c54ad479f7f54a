/* SPDX-License-Identifier: MIT */
/* Results as fields: the JSON contract of docs/interface.md, and CSV with the same names. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "layer_kind.h"
#include "llmperf/predict.h"
#include "sink.h"
#include "read.h"
#include "writers.h"

static void put_notes(sink *s, const char *key, const llmperf_notes *notes)
{
    if (s->is_table) /* a row of numbers: prose goes to the other formats */
        return;
    sink_begin_array(s, key);
    for (int i = 0; i < notes->count; i++)
        sink_text(s, NULL, notes->text[i]);
    sink_end_array(s);
}

static void put_head(sink *s)
{
    sink_text(s, "llmperf", llmperf_version());
    sink_integer(s, "schema", LLMPERF_JSON_SCHEMA);
}

static void put_positive(sink *s, const char *key, double value)
{
    if (value > 0)
        sink_number(s, key, value);
    else
        sink_null(s, key);
}

static const char *dtype_or_null(int dtype)
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
                sink_text(s, "operand", dtype_or_null(layer->weights[k].operand));
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
static void put_model(sink *s, const llmperf_model *model, const llmperf_config *c)
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
    put_positive(s, "experts", (double)first.experts);
    put_positive(s, "active_experts", (double)first.active_experts);
    sink_integer(s, "vocab", model->vocab);
    sink_bool(s, "gated", first.gated);
    sink_bool(s, "tied", model->tied);
    put_positive(s, "max_context", (double)model->max_context);
    sink_text(s, "dtype", llmperf_dtype_name((llmperf_dtype)model->dtype));
    sink_text(s, "kv_dtype", dtype_or_null(model->kv_dtype));
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
    put_positive(s, "domain", (double)link->domain);
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

static void put_hw_fields(sink *s, const llmperf_hw *hw)
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
    put_positive(s, "mem_bw_achievable_bytes_per_s", hw->mem_achievable_bytes_per_s);
    sink_number(s, "memory_bytes", hw->memory_bytes);
    put_positive(s, "memory_usable_bytes", hw->memory_usable_bytes);
    put_positive(s, "l2_bytes", hw->l2_bytes);
    put_positive(s, "units", hw->units);
    put_positive(s, "clock_hz", hw->clock_hz);
    put_positive(s, "launch_s", hw->launch_s);
    put_link(s, "link", &hw->link);
    put_link(s, "nodes", &hw->nodes);
    put_link(s, "pcie", &hw->pcie);
    put_positive(s, "power_w", hw->power_w);
    put_positive(s, "price_usd_per_h", hw->price_usd_per_h);
}

/* ---- workload ------------------------------------------------------------------------------------------- */

static void put_workload(sink *s, const llmperf_config *c)
{
    const llmperf_workload *w = &c->workload;
    sink_begin_object(s, "workload");
    sink_integer(s, "batch", w->batch);
    sink_integer(s, "prompt_tokens", w->prompt);
    sink_integer(s, "generate_tokens", w->generate);
    sink_integer(s, "cached_tokens", w->cached);
    sink_integer(s, "context_tokens", w->context);
    sink_integer(s, "chunk_tokens", w->chunk);
    sink_integer(s, "query_tokens", w->query);
    sink_text(s, "weight_dtype", llmperf_dtype_name(w->weight_dtype));
    sink_text(s, "act_dtype", llmperf_dtype_name(w->act_dtype));
    sink_text(s, "kv_dtype", llmperf_dtype_name(w->kv_dtype));
    sink_text(s, "compute_dtype",
              llmperf_dtype_name((llmperf_dtype)llmperf_config_compute_dtype(c)));
    sink_text(s, "attention", w->unfused ? "unfused" : "fused");
    sink_text(s, "logits", w->logits_all ? "all" : "last");
    sink_number(s, "moe_skew", w->moe_skew);
    sink_integer(s, "tp", w->tp);
    sink_number(s, "memory_utilization_frac", w->memory_utilization);
    sink_number(s, "reserve_bytes", w->reserve_bytes);
    sink_integer(s, "kv_block_tokens", w->kv_block);
    sink_number(s, "confidence_frac", w->confidence);
    put_positive(s, "tpot_target_s", w->tpot_s);
    put_positive(s, "ttft_target_s", w->ttft_s);
    put_positive(s, "price_usd_per_h", w->price_usd_per_h);
    sink_end_object(s);
}

/* ---- layers ------------------------------------------------------------------------------------------------ */

static void put_op(sink *s, const llmperf_op *op, const llmperf_time *t)
{
    sink_text(s, "name", llmperf_op_name((llmperf_op_id)op->id));
    sink_text(s, "kind", llmperf_kind_name((llmperf_op_kind)op->kind));
    sink_text(s, "group", llmperf_group_name((llmperf_op_group)op->group));
    sink_text(s, "regime", llmperf_regime_name((llmperf_regime)op->regime));
    sink_text(s, "dtype", dtype_or_null(op->dtype));
    sink_number(s, "repeat", op->repeat);
    if (op->kind == LLMPERF_KIND_GEMM) {
        sink_number(s, "m", op->m);
        sink_number(s, "n", op->n);
        sink_number(s, "k", op->k);
    } else {
        sink_null(s, "m");
        sink_null(s, "n");
        sink_null(s, "k");
    }
    sink_number(s, "flop", op->flop);
    sink_number(s, "weight_bytes", op->weight_bytes);
    sink_number(s, "input_bytes", op->input_bytes);
    sink_number(s, "output_bytes", op->output_bytes);
    sink_number(s, "kv_read_bytes", op->kv_read_bytes);
    sink_number(s, "kv_write_bytes", op->kv_write_bytes);
    sink_number(s, "bytes", op->bytes);
    sink_number(s, "link_bytes", op->link_bytes);
    if (op->bytes > 0)
        sink_number(s, "intensity_flop_per_byte", op->flop / op->bytes);
    else
        sink_null(s, "intensity_flop_per_byte");
    static const char *const keys[] = {"time_s", "compute_s", "memory_s", "serial_s",
                                       "work_s", "launch_s",  "link_s",   "added_s"};
    if (!t) {
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            sink_null(s, keys[i]);
        sink_null(s, "bound");
        return;
    }
    const double values[] = {t->time_s, t->compute_s, t->memory_s, t->serial_s,
                             t->work_s, t->launch_s,  t->link_s,   t->added_s};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        sink_number(s, keys[i], values[i]);
    sink_text(s, "bound", llmperf_bound_name((llmperf_bound)t->bound));
}

static void put_total(sink *s, const llmperf_total *total, bool timed)
{
    sink_begin_object(s, "total");
    sink_number(s, "flop", total->flop);
    sink_number(s, "weight_bytes", total->weight_bytes);
    sink_number(s, "input_bytes", total->input_bytes);
    sink_number(s, "output_bytes", total->output_bytes);
    sink_number(s, "kv_read_bytes", total->kv_read_bytes);
    sink_number(s, "kv_write_bytes", total->kv_write_bytes);
    sink_number(s, "bytes", total->bytes);
    sink_number(s, "link_bytes", total->link_bytes);
    sink_number(s, "intensity_flop_per_byte", total->bytes > 0 ? total->flop / total->bytes : NAN);
    if (timed)
        sink_number(s, "time_s", total->time_s);
    else
        sink_null(s, "time_s");
    sink_end_object(s);
}

llmperf_status record_layers(FILE *out, const sink_format *format, const llmperf_config *c,
                             const phase_ops *phases, int phase_count, llmperf_error *error)
{
    sink s;
    sink_open(&s, out, format);
    if (s.is_table) {
        for (int p = 0; p < phase_count; p++)
            for (int i = 0; i < phases[p].count; i++) {
                sink_begin_row(&s);
                sink_text(&s, "phase", phases[p].name);
                put_op(&s, &phases[p].ops[i], c->hw ? &phases[p].times[i] : NULL);
                sink_end_row(&s);
            }
        return sink_close(&s, error);
    }
    llmperf_notes left_out;
    llmperf_not_modelled(c, &left_out);
    sink_begin_object(&s, NULL);
    put_head(&s);
    put_model(&s, c->model, c);
    put_workload(&s, c);
    if (c->hw) {
        sink_begin_object(&s, "hardware");
        put_hw_fields(&s, c->hw);
        sink_text(&s, "calibration", c->calib ? c->calib->name : NULL);
        sink_end_object(&s);
    } else {
        sink_null(&s, "hardware");
    }
    sink_begin_array(&s, "phases");
    for (int p = 0; p < phase_count; p++) {
        sink_begin_object(&s, NULL);
        sink_text(&s, "phase", phases[p].name);
        sink_number(&s, "steps", phases[p].steps);
        sink_begin_array(&s, "ops");
        for (int i = 0; i < phases[p].count; i++) {
            sink_begin_object(&s, NULL);
            put_op(&s, &phases[p].ops[i], c->hw ? &phases[p].times[i] : NULL);
            sink_end_object(&s);
        }
        sink_end_array(&s);
        put_total(&s, &phases[p].total, c->hw != NULL);
        sink_end_object(&s);
    }
    sink_end_array(&s);
    llmperf_notes notes = c->model->warnings;
    for (int i = 0; i < c->notes.count; i++)
        llmperf_note(&notes, "%s", c->notes.text[i]);
    put_notes(&s, "notes", &notes);
    put_notes(&s, "not_modelled", &left_out);
    sink_end_object(&s);
    return sink_close(&s, error);
}

/* ---- predict -------------------------------------------------------------------------------------------------- */

static void put_estimate(sink *s, const char *key, llmperf_estimate e, llmperf_estimate_kind kind)
{
    sink_begin_object(s, key);
    sink_number(s, "value", e.value);
    sink_number(s, "low", e.low);
    sink_number(s, "high", e.high);
    sink_text(s, "kind", llmperf_estimate_kind_name(kind));
    sink_end_object(s);
}

static void put_crossing(sink *s, const char *key, const llmperf_crossing *crossing)
{
    char why[64];
    snprintf(why, sizeof why, "%s_why", key);
    if (crossing->exists) {
        sink_begin_object(s, key);
        sink_integer(s, "value", crossing->batch);
        sink_integer(s, "low", crossing->low);
        if (crossing->high > 0)
            sink_integer(s, "high", crossing->high);
        else
            sink_null(s, "high");
        sink_number(s, "exact", crossing->exact);
        sink_end_object(s);
        sink_null(s, why);
        return;
    }
    if (s->is_table) { /* the same columns whether it exists or not */
        sink_begin_object(s, key);
        sink_null(s, "value");
        sink_null(s, "low");
        sink_null(s, "high");
        sink_null(s, "exact");
        sink_end_object(s);
    } else {
        sink_null(s, key);
    }
    sink_text(s, why, crossing->why);
}

static void put_crossings(sink *s, const char *key, const llmperf_crossings *crossings)
{
    sink_begin_object(s, key);
    put_crossing(s, "dense", &crossings->dense);
    put_crossing(s, "step", &crossings->step);
    sink_begin_array(s, "per_op");
    for (int i = 0; i < crossings->op_count; i++) {
        const llmperf_op_crossing *one = &crossings->op[i];
        sink_begin_object(s, NULL);
        sink_text(s, "name", llmperf_op_name((llmperf_op_id)one->id));
        sink_number(s, "n", one->n);
        sink_number(s, "k", one->k);
        if (one->crossing.exists) {
            sink_integer(s, "batch", one->crossing.batch);
            sink_number(s, "exact", one->crossing.exact);
            sink_null(s, "why");
        } else {
            sink_null(s, "batch");
            sink_null(s, "exact");
            sink_text(s, "why", one->crossing.why);
        }
        sink_end_object(s);
    }
    sink_end_array(s);
    sink_end_object(s);
}

static void put_memory(sink *s, const llmperf_memory *m)
{
    sink_begin_object(s, "memory");
    sink_number(s, "weight_bytes", m->weight_bytes);
    sink_number(s, "kv_bytes", m->kv_bytes);
    sink_number(s, "state_bytes", m->state_bytes);
    sink_number(s, "activation_bytes", m->activation_bytes);
    sink_number(s, "reserved_bytes", m->reserved_bytes);
    sink_number(s, "total_bytes", m->total_bytes);
    sink_number(s, "capacity_bytes", m->capacity_bytes);
    sink_bool(s, "fits", m->fits);
    sink_integer(s, "max_batch", m->max_batch);
    sink_integer(s, "max_context_tokens", m->max_context_tokens);
    sink_end_object(s);
}

/* Expected distinct experts that a decode step touches in a layer; 0 = no experts. */
static double experts_read(const llmperf_config *c)
{
    for (int i = 0; i < c->model->layer_kind_count; i++)
        if (c->model->layers[i].moe.experts > 0)
            return llmperf_distinct_experts(&c->model->layers[i].moe,
                                            (double)c->workload.batch * (double)c->workload.query,
                                            c->workload.moe_skew);
    return 0;
}

static void put_prediction(sink *s, const llmperf_prediction *p)
{
    const llmperf_config *c = p->c;
    const llmperf_workload *w = &c->workload;
    put_model(s, c->model, c);
    sink_begin_object(s, "hardware");
    sink_text(s, "name", c->hw->name);
    if (c->calib) {
        sink_begin_object(s, "calibration");
        sink_text(s, "name", c->calib->name);
        sink_text(s, "kind", llmperf_estimate_kind_name(p->kind));
        sink_text(s, "hardware", c->calib->hw);
        sink_text(s, "library", c->calib->library[0] ? c->calib->library : NULL);
        sink_number(s, "time_scale", c->calib->time_scale > 0 ? c->calib->time_scale : 1);
        sink_text(s, "engine", c->calib->host.engine[0] ? c->calib->host.engine : NULL);
        sink_end_object(s);
    } else {
        sink_null(s, "calibration");
    }
    sink_end_object(s);
    put_workload(s, c);
    put_memory(s, &p->memory);

    sink_begin_object(s, "prefill");
    put_estimate(s, "time_s", p->prefill.time_s, p->kind);
    sink_number(s, "flop", p->prefill.total.flop);
    sink_number(s, "bytes", p->prefill.total.bytes);
    put_estimate(s, "tokens_per_s", p->prefill.tokens_per_s, p->kind);
    sink_text(s, "bound", llmperf_bound_name((llmperf_bound)p->prefill.bound));
    sink_number(s, "steps", p->prefill_steps);
    sink_end_object(s);

    sink_begin_object(s, "decode");
    put_estimate(s, "time_s", p->decode.time_s, p->kind);
    sink_number(s, "flop", p->decode.total.flop);
    sink_number(s, "bytes", p->decode.total.bytes);
    put_estimate(s, "tokens_per_s", p->decode.tokens_per_s, p->kind);
    put_estimate(s, "tokens_per_s_per_seq", p->tokens_per_s_per_seq, p->kind);
    sink_text(s, "bound", llmperf_bound_name((llmperf_bound)p->decode.bound));
    sink_begin_object(s, "share");
    sink_number(s, "dense", p->share.dense);
    sink_number(s, "attention", p->share.attention);
    sink_number(s, "other", p->share.other);
    sink_number(s, "launch", p->share.launch);
    sink_number(s, "link", p->share.link);
    sink_number(s, "host", p->share.host);
    sink_end_object(s);
    sink_end_object(s);

    put_estimate(s, "ttft_s", p->ttft_s, p->kind);
    put_estimate(s, "ttft_batch_s", p->ttft_batch_s, p->kind);
    put_estimate(s, "tpot_s", p->tpot_s, p->kind);
    put_estimate(s, "e2e_s", p->e2e_s, p->kind);

    sink_begin_object(s, "compute_bound_batch");
    put_crossings(s, "datasheet", &p->datasheet);
    if (p->has_calibrated)
        put_crossings(s, "calibrated", &p->calibrated);
    else
        sink_null(s, "calibrated");
    sink_integer(s, "memory_limit", p->memory.max_batch);
    sink_end_object(s);

    if (p->has_knee)
        sink_integer(s, "latency_knee_batch", p->latency_knee_batch);
    else
        sink_null(s, "latency_knee_batch");
    if (experts_read(c) > 0)
        sink_number(s, "experts_read_per_layer", experts_read(c));
    else
        sink_null(s, "experts_read_per_layer");
    sink_begin_object(s, "batching");
    sink_integer(s, "batch", p->batching.batch);
    sink_number(s, "attention_takes_frac", p->batching.taken);
    sink_number(s, "attention_takes_at_4x_context_frac", p->batching.taken_long);
    sink_end_object(s);
    if (w->tpot_s > 0)
        sink_integer(s, "max_batch_at_tpot", p->max_batch_at_tpot);
    else
        sink_null(s, "max_batch_at_tpot");
    sink_number(s, "cost_usd_per_mtok", p->has_cost ? p->cost_usd_per_mtok : NAN);
    sink_number(s, "cost_with_prefill_usd_per_mtok",
                p->has_cost ? p->cost_with_prefill_usd_per_mtok : NAN);
    sink_number(s, "energy_wh_per_mtok", p->has_energy ? p->energy_wh_per_mtok : NAN);
    sink_number(s, "energy_with_prefill_wh_per_mtok",
                p->has_energy ? p->energy_with_prefill_wh_per_mtok : NAN);
    if (!p->memory.fits) {
        sink_begin_object(s, "would_fit");
        put_positive(s, "tp", (double)p->fitting_tp);
        sink_text(s, "weight_dtype", dtype_or_null((int)p->fitting_weight_dtype));
        put_positive(s, "context_tokens", (double)p->fitting_context);
        sink_end_object(s);
    }
}

llmperf_status record_prediction(FILE *out, const sink_format *format,
                                 const llmperf_prediction *prediction, llmperf_error *error)
{
    sink s;
    llmperf_notes left_out;
    llmperf_not_modelled(prediction->c, &left_out);
    sink_open(&s, out, format);
    sink_begin_row(&s);
    sink_begin_object(&s, NULL);
    if (!s.is_table)
        put_head(&s);
    put_prediction(&s, prediction);
    put_notes(&s, "notes", &prediction->notes);
    put_notes(&s, "not_modelled", &left_out);
    sink_end_object(&s);
    sink_end_row(&s);
    return sink_close(&s, error);
}

/* ---- specs ------------------------------------------------------------------------------------------------------ */

llmperf_status record_model(FILE *out, const sink_format *format, const llmperf_model *model,
                            llmperf_error *error)
{
    sink s;
    sink_open(&s, out, format);
    sink_begin_row(&s);
    sink_begin_object(&s, NULL);
    if (!s.is_table)
        put_head(&s);
    put_model(&s, model, NULL);
    llmperf_notes notes = model->notes;
    for (int i = 0; i < model->warnings.count; i++)
        llmperf_note(&notes, "%s", model->warnings.text[i]);
    put_notes(&s, "notes", &notes);
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
        put_head(&s);
    put_hw_fields(&s, hw);
    if (!s.is_table)
        put_provenance(&s, hw);
    put_notes(&s, "notes", &notes);
    sink_end_object(&s);
    sink_end_row(&s);
    return sink_close(&s, error);
}
