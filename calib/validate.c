/* SPDX-License-Identifier: MIT */
/* A step's operators, and the step as a whole, measured beside the prediction. */
#include "llmperf/validate.h"

#include <stdio.h>
#include <string.h>

typedef struct validation {
    const llmperf_case *c;
    const llmperf_backend *backend;
    void *handle;
    const llmperf_measure_options *options;
    llmperf_comparison *comparison;
    llmperf_error *error;
    char step[48]; /* "decode b 4" */
} validation;

static const char *group_of(const llmperf_op *op)
{
    switch (op->kind) {
    case LLMPERF_KIND_GEMM:
        return op->m == 1 ? "gemv" : "gemm";
    case LLMPERF_KIND_ATTENTION:
        return op->regime == LLMPERF_REGIME_DECODE ? "attention decode" : "attention prefill";
    case LLMPERF_KIND_SCAN:
        return "scan";
    default:
        return "elementwise";
    }
}

/* One launch of the operator as the datasheet alone would have it. */
static double roofline_of(const validation *v, const llmperf_op *op)
{
    return llmperf_time_op(op, v->c->hw, NULL, NULL, NULL);
}

static llmperf_status add_row(validation *v, const char *label, const char *group, double measured,
                              llmperf_estimate predicted, double roofline, unsigned flags)
{
    llmperf_compare_row row = {
        .metric = "time_s",
        .measured = measured,
        .predicted = predicted,
        .kind = v->c->calib ? LLMPERF_ESTIMATE_CALIBRATED : LLMPERF_ESTIMATE_BOUND,
        .roofline = roofline,
        .flags = flags,
    };
    snprintf(row.label, sizeof row.label, "%s %s", v->step, label);
    snprintf(row.group, sizeof row.group, "%s", group);
    return llmperf_comparison_add(v->comparison, &row, v->error);
}

static llmperf_status skip_row(validation *v, const char *label, const char *why)
{
    llmperf_compare_skip skip = {0};
    snprintf(skip.label, sizeof skip.label, "%s %s", v->step, label);
    snprintf(skip.why, sizeof skip.why, "%.*s", (int)sizeof skip.why - 1, why);
    return llmperf_comparison_skip(v->comparison, &skip, v->error);
}

/* How fast memory is now beside the time of the calibration; 0 = not known. */
static double memory_moved(const validation *v, const llmperf_watch_log *before)
{
    const llmperf_measure_options *o = v->options;
    if (!o || !o->watch || !o->watch_log || !v->c->calib || !(v->c->calib->stream_bytes_per_s > 0))
        return 0;
    const llmperf_watch_log meanwhile = {.sum_log_s = o->watch_log->sum_log_s - before->sum_log_s,
                                         .count = o->watch_log->count - before->count};
    return llmperf_watch_rate(&meanwhile, o->watch, false) / v->c->calib->stream_bytes_per_s;
}

/* The whole step once more, as a memory of today's speed would have it. */
static llmperf_status add_as_now(validation *v, const llmperf_op *ops, int count, double measured,
                                 double roofline, double moved, unsigned flags)
{
    llmperf_hw hw = *v->c->hw;
    llmperf_case now = *v->c;
    if (!(moved > 0))
        return LLMPERF_OK;
    hw.mem_bytes_per_s *= moved;
    now.hw = &hw;
    return add_row(v, "whole step, memory as now", "whole step, memory as now", measured,
                   llmperf_estimate_ops(&now, ops, count), roofline, flags);
}

/* True when the device cannot run it, which is then said. */
static bool is_unsupported(validation *v, const llmperf_op *op, const char *name,
                           llmperf_status *ret_status)
{
    llmperf_error why = {0};
    llmperf_probe probe = {.kind = LLMPERF_PROBE_OP, .op = *op, .cold = true};
    if (v->backend->supports(v->handle, &probe, &why))
        return false;
    *ret_status = skip_row(v, name, why.text);
    return true;
}

/* The same step without a recording, where the device tells the two apart: what launches cost. */
static llmperf_status add_eager(validation *v, const llmperf_op *ops, int count,
                                llmperf_estimate predicted, double roofline)
{
    const llmperf_probe probe = {
        .kind = LLMPERF_PROBE_FORWARD, .ops = ops, .op_count = count, .cold = true, .eager = true};
    llmperf_measurement m;
    if (!v->backend->supports(v->handle, &probe, NULL))
        return LLMPERF_OK;
    llmperf_status status =
        llmperf_measure(v->backend, v->handle, &probe, v->options, &m, v->error);
    if (status != LLMPERF_OK)
        return status;
    return add_row(v, "whole step, launched one by one", "whole step, launched one by one",
                   m.summary.median_s, predicted, roofline, m.flags);
}

llmperf_status llmperf_validate_step(const llmperf_case *c, bool prefill,
                                     const llmperf_backend *backend, void *handle,
                                     const llmperf_measure_options *options,
                                     llmperf_validate_progress progress, void *context,
                                     llmperf_comparison *comparison, llmperf_error *error)
{
    validation v = {.c = c,
                    .backend = backend,
                    .handle = handle,
                    .options = options,
                    .comparison = comparison,
                    .error = error};
    const llmperf_workload *w = &c->workload;
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment segment = llmperf_decode_segment(c, w->batch, w->context);
    if (prefill)
        segment = (llmperf_segment){
            .sequences = w->batch, .query = w->prompt, .past = 0, .logits = w->batch};
    snprintf(v.step, sizeof v.step, "%s b %lld", prefill ? "prefill" : "decode",
             (long long)w->batch);
    int count = llmperf_emit(c, &segment, 1, ops), skipped = 0;
    double measured_sum = 0, roofline_sum = 0;
    unsigned flags = 0;
    llmperf_op kept[LLMPERF_OPS_MAX];
    int kept_count = 0;
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        const char *name = llmperf_op_name((llmperf_op_id)op->id);
        llmperf_measurement m;
        llmperf_status status = LLMPERF_OK;
        /* collectives need more devices; the residual add is no launch of its own: it is part of
         * the norm that follows, and alone it would say nothing about either */
        if (op->bytes <= 0 || op->launches == 0)
            continue;
        if (is_unsupported(&v, op, name, &status)) {
            skipped++;
            if (status != LLMPERF_OK)
                return status;
            continue;
        }
        if (progress)
            progress(name, i, count + 1, context);
        status = llmperf_measure_op(backend, handle, op, options, &m, error);
        if (status != LLMPERF_OK)
            return status;
        llmperf_estimate predicted = llmperf_estimate_op(c, op);
        double roofline = roofline_of(&v, op);
        measured_sum += op->repeat * m.summary.median_s;
        roofline_sum += op->repeat * roofline;
        flags |= m.flags;
        kept[kept_count++] = *op;
        status = add_row(&v, name, group_of(op), m.summary.median_s, predicted, roofline, m.flags);
        if (status != LLMPERF_OK)
            return status;
    }
    llmperf_estimate sum = llmperf_estimate_ops(c, kept, kept_count);
    llmperf_status status = LLMPERF_OK;
    if (kept_count > 0)
        status = add_row(&v, "sum of operators", "sum of operators", measured_sum, sum,
                         roofline_sum, flags);
    if (status != LLMPERF_OK)
        return status;
    if (skipped > 0)
        return skip_row(&v, "whole step", "some of its operators cannot be run here");
    if (progress)
        progress("whole step", count, count + 1, context);
    llmperf_measurement whole;
    llmperf_watch_log before = {0};
    if (options && options->watch_log)
        before = *options->watch_log;
    status = llmperf_measure_step(backend, handle, ops, count, options, &whole, error);
    if (status == LLMPERF_E_UNSUPPORTED)
        return skip_row(&v, "whole step", "the device runs no forward pass of this model");
    if (status != LLMPERF_OK)
        return status;
    llmperf_total bound;
    llmperf_case ideal = *c;
    ideal.calib = NULL;
    llmperf_step(&ideal, &segment, 1, NULL, NULL, &bound);
    llmperf_estimate predicted = llmperf_estimate_ops(c, ops, count);
    status = add_row(&v, "whole step", "whole step", whole.summary.median_s, predicted,
                     bound.time_s, whole.flags);
    if (status == LLMPERF_OK)
        status = add_as_now(&v, ops, count, whole.summary.median_s, bound.time_s,
                            memory_moved(&v, &before), whole.flags);
    return status == LLMPERF_OK ? add_eager(&v, ops, count, predicted, bound.time_s) : status;
}
