/* SPDX-License-Identifier: MIT */
/* A prediction as fields. */
#include <math.h>

#include "llmperf/predict.h"
#include "writers.h"
#include "config_object.h"
#include "emit.h"

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
            return moe_distinct_experts(&c->model->layers[i].moe,
                                        (double)c->workload.batch * (double)c->workload.query,
                                        c->workload.moe_skew);
    return 0;
}

static void put_prediction(sink *s, const llmperf_prediction *p)
{
    const llmperf_config *c = p->c;
    const llmperf_workload *w = &c->workload;
    record_put_model(s, c->model, c);
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
    record_put_workload(s, c);
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
        sink_positive(s, "tp", (double)p->fitting_tp);
        sink_text(s, "weight_dtype", record_dtype((int)p->fitting_weight_dtype));
        sink_positive(s, "context_tokens", (double)p->fitting_context);
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
        sink_head(&s);
    put_prediction(&s, prediction);
    sink_notes(&s, "notes", &prediction->notes);
    sink_notes(&s, "not_modelled", &left_out);
    sink_end_object(&s);
    sink_end_row(&s);
    return sink_close(&s, error);
}
