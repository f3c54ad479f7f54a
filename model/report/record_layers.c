/* SPDX-License-Identifier: MIT */
/* The operators of each phase as fields. */
#include <math.h>

#include "llmperf/predict.h"
#include "writers.h"
#include "config_object.h"

static void put_op(sink *s, const llmperf_op *op, const llmperf_time *t)
{
    sink_text(s, "name", llmperf_op_name((llmperf_op_id)op->id));
    sink_text(s, "kind", llmperf_kind_name((llmperf_op_kind)op->kind));
    sink_text(s, "group", llmperf_group_name((llmperf_op_group)op->group));
    sink_text(s, "regime", llmperf_regime_name((llmperf_regime)op->regime));
    sink_text(s, "dtype", record_dtype(op->dtype));
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
    sink_head(&s);
    record_put_model(&s, c->model, c);
    record_put_workload(&s, c);
    if (c->hw) {
        sink_begin_object(&s, "hardware");
        record_put_hw(&s, c->hw);
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
    sink_notes(&s, "notes", &notes);
    sink_notes(&s, "not_modelled", &left_out);
    sink_end_object(&s);
    return sink_close(&s, error);
}
