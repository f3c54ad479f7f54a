/* SPDX-License-Identifier: MIT */
/* A step's operators, and the step as a whole, measured beside the prediction. */
#include "llmperf/validate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/samples.h"
#include "config_object.h"
#include "time_op.h"
#include "entry.h"

static const double MOVED = 0.02; /* of a prediction, by the speed of memory: worth a row */
/* As much longer for a step as for an operator: what company spoils is repeated. */
static const double WHOLE = 4;

typedef struct validation {
    const llmperf_config *c;
    const llmperf_backend *backend;
    void *handle;
    const llmperf_measure_options *options;
    llmperf_validate_progress progress;
    void *context; /* of `progress` */
    llmperf_comparison *comparison;
    llmperf_error *error;
    char step[48]; /* "decode b 4" */
    /* of the step: its operators, and room for those that were measured and as memory is now */
    int count;
    llmperf_op *ops, *kept, *slowed;
    int capacity; /* of each */
    llmperf_workspace *workspace;
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
    return time_op(op, v->c->hw, NULL, NULL, NULL);
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

/* How many times as long as for the calibration memory took around a measurement; 1 where that is
 * not known. */
static double memory_slowed(const validation *v, const llmperf_measurement *m)
{
    double then = v->c->calib ? v->c->calib->stream_bytes_per_s : 0;
    return then > 0 && m->stream_bytes_per_s > 0 ? then / m->stream_bytes_per_s : 1;
}

/* A row, and once more with memory as it was around the measurements (`slowed`) where that differs. */
static llmperf_status add_total(validation *v, const char *label, double measured, double roofline,
                                unsigned flags, const llmperf_op *ops, const llmperf_op *slowed,
                                int count)
{
    char text[64];
    const llmperf_estimate then = llmperf_estimate_ops(v->c, ops, count, v->workspace);
    const llmperf_estimate now = llmperf_estimate_ops(v->c, slowed, count, v->workspace);
    llmperf_status status = add_row(v, label, label, measured, then, roofline, flags);
    if (status != LLMPERF_OK || fabs(now.value / then.value - 1) < MOVED)
        return status;
    snprintf(text, sizeof text, "%s, memory as now", label);
    return add_row(v, text, text, measured, now, roofline, flags);
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

/* Each operator, then their sum. ret_skipped: those that the device cannot run. */
static llmperf_status measure_operators(validation *v, int *ret_skipped)
{
    const int count = v->count;
    double measured_sum = 0, roofline_sum = 0;
    unsigned flags = 0;
    int kept_count = 0;
    llmperf_status status = LLMPERF_OK;
    *ret_skipped = 0;
    for (int i = 0; i < count && status == LLMPERF_OK; i++) {
        const llmperf_op *op = &v->ops[i];
        const char *name = llmperf_op_name((llmperf_op_id)op->id);
        llmperf_measurement m;
        /* collectives need more devices; the residual add is no launch of its own: it is part of
         * the norm that follows, and alone it would say nothing about either */
        if (op->bytes <= 0 || op->launches == 0)
            continue;
        if (is_unsupported(v, op, name, &status)) {
            (*ret_skipped)++;
            continue;
        }
        if (v->progress)
            v->progress(name, i, count + 1, v->context);
        status = llmperf_measure_op(v->backend, v->handle, op, v->options, &m, v->error);
        if (status != LLMPERF_OK)
            return status;
        double roofline = roofline_of(v, op);
        measured_sum += op->repeat * m.summary.median_s;
        roofline_sum += op->repeat * roofline;
        flags |= m.flags;
        v->kept[kept_count] = *op;
        v->slowed[kept_count++] = llmperf_op_slowed(op, memory_slowed(v, &m));
        status = add_row(v, name, group_of(op), m.summary.median_s,
                         llmperf_estimate_op(v->c, op, v->workspace), roofline, m.flags);
    }
    if (status != LLMPERF_OK || kept_count == 0)
        return status;
    return add_total(v, "sum of operators", measured_sum, roofline_sum, flags, v->kept, v->slowed,
                     kept_count);
}

/* The step as one forward pass. */
static llmperf_status measure_whole(validation *v, const llmperf_segment *segment)
{
    const int count = v->count;
    const llmperf_op *ops = v->ops;
    llmperf_measurement m;
    llmperf_total bound;
    llmperf_config ideal = *v->c;
    llmperf_measure_options patient = {0};
    if (v->options)
        patient = *v->options;
    patient.time_limit_s *= WHOLE;
    llmperf_status status =
        llmperf_measure_step(v->backend, v->handle, ops, count, &patient, &m, v->error);
    if (status == LLMPERF_E_UNSUPPORTED)
        return skip_row(v, "whole step", "the device runs no forward pass of this model");
    if (status != LLMPERF_OK)
        return status;
    ideal.calib = NULL;
    llmperf_step(&ideal, segment, 1, v->workspace, &bound);
    for (int i = 0; i < count; i++)
        v->slowed[i] = llmperf_op_slowed(&ops[i], memory_slowed(v, &m));
    status = add_total(v, "whole step", m.summary.median_s, bound.time_s, m.flags, ops, v->slowed,
                       count);
    return status == LLMPERF_OK
               ? add_eager(v, ops, count, llmperf_estimate_ops(v->c, ops, count, v->workspace),
                           bound.time_s)
               : status;
}

static llmperf_status validate(validation *v, const llmperf_segment *segment)
{
    int skipped;
    v->count = llmperf_emit(v->c, segment, 1, v->capacity, v->ops);
    llmperf_status status = measure_operators(v, &skipped);
    if (status != LLMPERF_OK)
        return status;
    if (skipped > 0)
        return skip_row(v, "whole step", "some of its operators cannot be run here");
    if (v->progress)
        v->progress("whole step", v->count, v->count + 1, v->context);
    return measure_whole(v, segment);
}

llmperf_status llmperf_validate_step(const llmperf_config *c, bool prefill,
                                     const llmperf_backend *backend, void *handle,
                                     const llmperf_measure_options *options,
                                     llmperf_validate_progress progress, void *context,
                                     llmperf_comparison *comparison, llmperf_error *error)
{
    NEEDS(c && c->hw && backend && comparison, error);
    validation v = {.c = c,
                    .backend = backend,
                    .handle = handle,
                    .options = options,
                    .progress = progress,
                    .context = context,
                    .comparison = comparison,
                    .error = error};
    const llmperf_workload *w = &c->workload;
    llmperf_segment segment = llmperf_decode_segment(c, w->batch, w->context);
    if (prefill)
        segment = (llmperf_segment){
            .sequences = w->batch, .query = w->prompt, .past = 0, .logits = w->batch};
    snprintf(v.step, sizeof v.step, "%s b %lld", prefill ? "prefill" : "decode",
             (long long)w->batch);
    v.capacity = llmperf_emit_capacity(c, 1);
    const size_t most = (size_t)v.capacity;
    v.ops = malloc(3 * most * sizeof *v.ops);
    if (!v.ops)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    v.kept = v.ops + most;
    v.slowed = v.kept + most;
    llmperf_status status = llmperf_workspace_new(c, 1, &v.workspace, error);
    if (status == LLMPERF_OK)
        status = validate(&v, &segment);
    llmperf_workspace_free(v.workspace);
    free(v.ops);
    return status;
}
