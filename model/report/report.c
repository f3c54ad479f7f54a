/* SPDX-License-Identifier: MIT */
/* The public writers: a result in the format that was asked for. */
#include "llmperf/report.h"

#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "formats.h"
#include "writers.h"
#include "config_object.h"
#include "time_op.h"

static const llmperf_text_style PLAIN = {0};

llmperf_status llmperf_write_prediction(FILE *out, const char *name,
                                        const llmperf_prediction *prediction,
                                        const llmperf_text_style *style, llmperf_error *error)
{
    NEEDS(out && prediction && prediction->c, error);
    style = style ? style : &PLAIN;
    const output_format *f = NULL;
    llmperf_status status = format_find(name, FORMAT_REPORTS, &f, error);
    if (status != LLMPERF_OK)
        return status;
    if (f->sink)
        return record_prediction(out, f->sink, prediction, error);
    return page_prediction(out, f->page, prediction, style, error);
}

/* ---- layers: the operators of a phase, steps merged ---------------------------------------------------- */

typedef struct collector {
    const llmperf_config *c;
    phase_ops *phase;
    int capacity;
    bool out_of_memory;
} collector;

/* The same launch but for how often it runs. */
static bool same_op(const llmperf_op *a, const llmperf_op *b)
{
    llmperf_op copy = *a;
    copy.repeat = b->repeat;
    return memcmp(&copy, b, sizeof copy) == 0;
}

static void add(collector *k, const llmperf_op *op, double times)
{
    phase_ops *phase = k->phase;
    for (int i = 0; i < phase->count; i++)
        if (same_op(&phase->ops[i], op)) {
            phase->ops[i].repeat += op->repeat * times;
            return;
        }
    if (phase->count == k->capacity) {
        int capacity = k->capacity ? 2 * k->capacity : 64;
        llmperf_op *ops = realloc(phase->ops, (size_t)capacity * sizeof *ops);
        if (ops)
            phase->ops = ops;
        llmperf_time *t = realloc(phase->times, (size_t)capacity * sizeof *t);
        if (t)
            phase->times = t;
        if (!ops || !t) {
            k->out_of_memory = true;
            return;
        }
        k->capacity = capacity;
    }
    phase->ops[phase->count] = *op;
    phase->ops[phase->count].repeat *= times;
    phase->count++;
}

static void add_step(const llmperf_segment *segments, int segment_count, double times,
                     void *context)
{
    collector *k = context;
    const int capacity = llmperf_emit_capacity(k->c, segment_count);
    llmperf_op *ops = malloc(sizeof *ops * (size_t)capacity);
    if (!ops) {
        k->out_of_memory = true;
        return;
    }
    int count = llmperf_emit(k->c, segments, segment_count, capacity, ops);
    for (int i = 0; i < count && !k->out_of_memory; i++)
        add(k, &ops[i], times);
    k->phase->steps += times;
    free(ops);
}

static void sum_phase(const llmperf_config *c, phase_ops *phase)
{
    for (int i = 0; i < phase->count; i++) {
        if (c->hw)
            time_op(&phase->ops[i], c->hw, c->calib, &phase->times[i], NULL);
        llmperf_total_add(&phase->total, &phase->ops[i], c->hw ? &phase->times[i] : NULL, 1);
    }
}

llmperf_status llmperf_write_layers(FILE *out, const char *name, const llmperf_config *c,
                                    int64_t chunk, const llmperf_text_style *style,
                                    llmperf_error *error)
{
    NEEDS(out && c && chunk >= 0, error);
    style = style ? style : &PLAIN;
    const output_format *f = NULL;
    llmperf_status status = format_find(name, FORMAT_REPORTS, &f, error);
    if (status == LLMPERF_OK && chunk > 0)
        status = llmperf_config_check_steps(c, error);
    if (status != LLMPERF_OK)
        return status;
    phase_ops phases[2] = {{.name = "prefill"}, {.name = "decode"}};
    const llmperf_workload *w = &c->workload;
    collector prefill = {.c = c, .phase = &phases[0]}, decode = {.c = c, .phase = &phases[1]};
    llmperf_segment segment = llmperf_decode_segment(c, w->batch, w->context);
    int64_t tokens = w->batch * (w->prompt - w->cached);
    llmperf_prefill_steps(c, w->batch, chunk > 0 ? chunk : tokens, add_step, &prefill);
    add_step(&segment, 1, 1, &decode);
    if (prefill.out_of_memory || decode.out_of_memory) {
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    } else {
        sum_phase(c, &phases[0]);
        sum_phase(c, &phases[1]);
        status = f->sink ? record_layers(out, f->sink, c, phases, 2, error)
                         : page_layers(out, f->page, c, phases, 2, style, error);
    }
    for (int i = 0; i < 2; i++) {
        free(phases[i].ops);
        free(phases[i].times);
    }
    return status;
}

/* ---- specifications ----------------------------------------------------------------------------------- */

llmperf_status llmperf_write_model(FILE *out, const char *name, const llmperf_model *model,
                                   const llmperf_text_style *style, llmperf_error *error)
{
    NEEDS(out && model, error);
    style = style ? style : &PLAIN;
    const output_format *f = NULL;
    llmperf_status status = format_find(name, FORMAT_SPECS, &f, error);
    if (status != LLMPERF_OK)
        return status;
    if (f->spec) {
        f->spec->model(out, model);
        return LLMPERF_OK;
    }
    if (f->sink)
        return record_model(out, f->sink, model, error);
    return page_model(out, f->page, model, style, error);
}

llmperf_status llmperf_write_hw(FILE *out, const char *name, const llmperf_hw *hw,
                                const llmperf_text_style *style, llmperf_error *error)
{
    NEEDS(out && hw_is_sound(hw), error);
    style = style ? style : &PLAIN;
    const output_format *f = NULL;
    llmperf_status status = format_find(name, FORMAT_SPECS, &f, error);
    if (status != LLMPERF_OK)
        return status;
    if (f->spec) {
        f->spec->hw(out, hw);
        return LLMPERF_OK;
    }
    if (f->sink)
        return record_hw(out, f->sink, hw, error);
    return page_hw(out, f->page, hw, style, error);
}
