/* SPDX-License-Identifier: MIT */
/* A sweep, row by row: fields stream, a page builds a table. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "formats.h"
#include "llmperf/report.h"
#include "model_object.h"

/* One of the two is written to. */
struct llmperf_sweep_writer {
    llmperf_sweep_phase phase;
    bool calibrated, is_page;
    int64_t total, shown;
    page page;
    sink sink;
};

static const char *const TEXT_HEADINGS[] = {"hardware", "weights", "KV",    ">tp",       ">prompt",
                                            ">context", ">batch",  ">time", ">tokens/s", "bound"};

static void open_page(page *p, const char *model, llmperf_sweep_phase phase,
                      const char *calibrations)
{
    page_title(p, "%s, %s; %s%s", model,
               phase == LLMPERF_SWEEP_DECODE ? "one decode step" : "prefill of all prompts",
               calibrations ? "calibrated: " : "no calibration: times are bounds",
               calibrations ? calibrations : "");
    page_gap(p);
    page_table(p, PAGE_COLUMNS_MAX, TEXT_HEADINGS);
}

static void open_tree(sink *s, const char *model, llmperf_sweep_phase phase,
                      const char *calibrations, const char *const *axes)
{
    sink_begin_object(s, NULL);
    sink_head(s);
    sink_text(s, "model", model);
    sink_text(s, "calibration", calibrations);
    sink_text(s, "phase", phase == LLMPERF_SWEEP_DECODE ? "decode" : "prefill");
    sink_begin_array(s, "axes");
    for (; *axes; axes++)
        sink_text(s, NULL, *axes);
    sink_end_array(s);
    sink_begin_array(s, "rows");
}

llmperf_status llmperf_sweep_open(FILE *out, const char *name, const llmperf_model *model,
                                  const char *calibrations, llmperf_sweep_phase phase,
                                  const char *const *axes, int64_t total, int64_t shown,
                                  const llmperf_text_style *style,
                                  llmperf_sweep_writer **ret_writer, llmperf_error *error)
{
    NEEDS(out && model && axes && ret_writer && IS_BELOW(phase, LLMPERF_SWEEP_PREFILL + 1), error);
    const output_format *f = NULL;
    llmperf_status status = format_find(name, FORMAT_REPORTS, &f, error);
    if (status != LLMPERF_OK)
        return status;
    llmperf_sweep_writer *w = malloc(sizeof *w);
    if (!w)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    w->phase = phase;
    w->calibrated = calibrations != NULL;
    w->is_page = f->page != NULL;
    w->total = total;
    w->shown = shown;
    if (w->is_page) {
        page_open(&w->page, out, f->page, style && style->color);
        open_page(&w->page, model->name, phase, calibrations);
    } else {
        sink_open(&w->sink, out, f->sink);
        if (!w->sink.is_table)
            open_tree(&w->sink, model->name, phase, calibrations, axes);
    }
    *ret_writer = w;
    return LLMPERF_OK;
}

static void row_fields(sink *s, const llmperf_sweep_row *r)
{
    sink_begin_row(s);
    sink_begin_object(s, NULL);
    sink_text(s, "hardware", r->hw);
    sink_text(s, "weight_dtype", llmperf_dtype_name(r->weight_dtype));
    sink_text(s, "kv_dtype", llmperf_dtype_name(r->kv_dtype));
    sink_integer(s, "tp", r->tp);
    sink_integer(s, "prompt", r->prompt);
    sink_integer(s, "context", r->context);
    sink_integer(s, "batch", r->batch);
    sink_number(s, "time_s", r->point.time_s.value);
    sink_number(s, "time_low_s", r->point.time_s.low);
    sink_number(s, "time_high_s", r->point.time_s.high);
    sink_number(s, "tokens_per_s", r->point.tokens_per_s.value);
    sink_number(s, "intensity_flop_per_byte", r->point.intensity_flop_per_byte);
    sink_number(s, "total_bytes", r->point.total_bytes);
    sink_text(s, "bound", llmperf_bound_name((llmperf_bound)r->point.bound));
    sink_bool(s, "fits", r->point.fits);
    sink_text(s, "calibration", r->calibration);
    sink_text(s, "kind", llmperf_estimate_kind_name(r->point.kind));
    sink_text(s, "quant", r->quant);
    sink_end_object(s);
    sink_end_row(s);
}

static void row_page(page *p, const llmperf_sweep_row *r)
{
    char tp[HUMAN_MAX], prompt[HUMAN_MAX], context[HUMAN_MAX], batch[HUMAN_MAX], time[HUMAN_MAX],
        rate[HUMAN_MAX];
    const char *cells[] = {
        r->hw,
        r->quant && strcmp(r->quant, "none") != 0 ? r->quant : llmperf_dtype_name(r->weight_dtype),
        llmperf_dtype_name(r->kv_dtype),
        human_count((double)r->tp, tp),
        human_tokens((double)r->prompt, prompt),
        human_tokens((double)r->context, context),
        human_count((double)r->batch, batch),
        human_time(r->point.time_s.value, time),
        human_number(r->point.tokens_per_s.value, rate),
        r->point.fits ? llmperf_bound_name((llmperf_bound)r->point.bound) : "NO FIT",
    };
    page_row(p, cells);
}

void llmperf_sweep_row_write(llmperf_sweep_writer *w, const llmperf_sweep_row *row)
{
    if (!w || !row || !row->hw)
        return;
    if (w->is_page)
        row_page(&w->page, row);
    else
        row_fields(&w->sink, row);
}

static void close_tree(sink *s, bool calibrated, const llmperf_notes *skipped)
{
    sink_end_array(s);
    sink_notes(s, "notes", skipped);
    sink_begin_array(s, "not_modelled");
    if (!calibrated)
        sink_text(s, NULL,
                  "kernel efficiency, launch and host time (no calibration: times are bounds)");
    sink_text(s, NULL, "mixed prefill and decode steps, queueing");
    sink_end_array(s);
    sink_end_object(s);
}

static void close_page(page *p, const llmperf_sweep_writer *w, const llmperf_notes *skipped)
{
    page_end_table(p);
    page_gap(p);
    if (w->shown < w->total)
        page_paragraph(p, 2,
                       "%" PRId64 " of %" PRId64 " points shown; --format csv or json has all.",
                       w->shown, w->total);
    for (int i = 0; i < skipped->count; i++)
        page_paragraph(p, 2, "Note: %s.", skipped->text[i]);
    if (!w->calibrated)
        page_paragraph(p, 2, "time at best; 95 %% of published runs are within %.3g times it.",
                       llmperf_spread(w->phase == LLMPERF_SWEEP_DECODE
                                          ? LLMPERF_SPREAD_DECODE_STEP
                                          : LLMPERF_SPREAD_PREFILL_STEP));
}

llmperf_status llmperf_sweep_close(llmperf_sweep_writer *w, const llmperf_notes *skipped,
                                   llmperf_error *error)
{
    NEEDS(w && notes_are_sound(skipped), error);
    llmperf_status status;
    if (w->is_page) {
        close_page(&w->page, w, skipped);
        status = page_close(&w->page, error);
    } else {
        if (!w->sink.is_table)
            close_tree(&w->sink, w->calibrated, skipped);
        status = sink_close(&w->sink, error);
    }
    free(w);
    return status;
}
