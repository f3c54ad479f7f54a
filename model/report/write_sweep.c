/* SPDX-License-Identifier: MIT */
/* A sweep, row by row: CSV and JSON stream, text and Markdown build a table. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/predict.h"
#include "page.h"
#include "sink.h"
#include "writers.h"
#include "entry.h"

enum { FORM_TEXT, FORM_JSON, FORM_CSV, FORM_MD, FORM_COUNT };

static const char *const TEXT_HEADINGS[] = {"hardware", "weights", "KV",    ">tp",       ">prompt",
                                            ">context", ">batch",  ">time", ">tokens/s", "bound"};

static int form_of(const char *format)
{
    const char *const *names = llmperf_formats();
    for (int i = 0; i < FORM_COUNT; i++)
        if (strcmp(format ? format : "text", names[i]) == 0)
            return i;
    return -1;
}

llmperf_status llmperf_sweep_open(FILE *out, const char *format, const llmperf_model *model,
                                  const char *calibrations, llmperf_sweep_phase phase,
                                  const char *const *axes, int64_t total, int64_t shown,
                                  const llmperf_text_style *style, llmperf_sweep_writer *ret_writer,
                                  llmperf_error *error)
{
    NEEDS(out && model && axes && ret_writer && IS_BELOW(phase, LLMPERF_SWEEP_PREFILL + 1), error);
    llmperf_sweep_writer w = {.out = out,
                              .form = form_of(format),
                              .phase = phase,
                              .first = true,
                              .calibrated = calibrations != NULL,
                              .total = total,
                              .shown = shown};
    if (w.form < 0)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "format '%s' is not known here; text, json, csv, md are allowed",
                            format);
    const char *phase_name = phase == LLMPERF_SWEEP_DECODE ? "decode" : "prefill";
    if (w.form == FORM_CSV) {
        fputs("hardware,weight_dtype,kv_dtype,tp,prompt,context,batch,time_s,time_low_s,"
              "time_high_s,tokens_per_s,intensity_flop_per_byte,total_bytes,bound,fits,"
              "calibration,kind,quant\n",
              out);
    } else if (w.form == FORM_JSON) {
        sink s;
        sink_open(&s, out, false);
        sink_begin_object(&s, NULL);
        sink_text(&s, "llmperf", llmperf_version());
        sink_integer(&s, "schema", LLMPERF_JSON_SCHEMA);
        sink_text(&s, "model", model->name);
        sink_text(&s, "calibration", calibrations);
        sink_text(&s, "phase", phase_name);
        sink_begin_array(&s, "axes");
        for (; *axes; axes++)
            sink_text(&s, NULL, *axes);
        sink_end_array(&s);
        sink_begin_array(&s, "rows");
    } else {
        page *p = malloc(sizeof *p);
        if (!p)
            return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
        page_open(p, out, w.form == FORM_MD, style && style->color);
        page_title(p, "%s, %s; %s%s", model->name,
                   phase == LLMPERF_SWEEP_DECODE ? "one decode step" : "prefill of all prompts",
                   calibrations ? "calibrated: " : "no calibration: times are bounds",
                   calibrations ? calibrations : "");
        page_gap(p);
        page_table(p, PAGE_COLUMNS_MAX, TEXT_HEADINGS);
        w.page = p;
    }
    *ret_writer = w;
    return LLMPERF_OK;
}

static void csv_number(FILE *out, double value)
{
    char text[LLMPERF_DOUBLE_TEXT_MAX];
    fputs(llmperf_format_double(value, text), out);
    fputc(',', out);
}

static void row_csv(FILE *out, const llmperf_sweep_row *r)
{
    csv_text(out, r->hw);
    fprintf(out, ",%s,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",",
            llmperf_dtype_name(r->weight_dtype), llmperf_dtype_name(r->kv_dtype), r->tp, r->prompt,
            r->context, r->batch);
    csv_number(out, r->point.time_s.value);
    csv_number(out, r->point.time_s.low);
    csv_number(out, r->point.time_s.high);
    csv_number(out, r->point.tokens_per_s.value);
    csv_number(out, r->point.intensity_flop_per_byte);
    csv_number(out, r->point.total_bytes);
    fprintf(out, "%s,%s,", llmperf_bound_name((llmperf_bound)r->point.bound),
            r->point.fits ? "true" : "false");
    csv_text(out, r->calibration ? r->calibration : "");
    fprintf(out, ",%s,", llmperf_estimate_kind_name(r->point.kind));
    csv_text(out, r->quant ? r->quant : "");
    fputc('\n', out);
}

static void row_json(llmperf_sweep_writer *w, const llmperf_sweep_row *r)
{
    sink s;
    sink_open(&s, w->out, false);
    s.depth = 2; /* inside the open object and its array of rows */
    s.filled[1] = !w->first;
    s.is_array[1] = true;
    sink_begin_object(&s, NULL);
    sink_text(&s, "hardware", r->hw);
    sink_text(&s, "weight_dtype", llmperf_dtype_name(r->weight_dtype));
    sink_text(&s, "kv_dtype", llmperf_dtype_name(r->kv_dtype));
    sink_integer(&s, "tp", r->tp);
    sink_integer(&s, "prompt", r->prompt);
    sink_integer(&s, "context", r->context);
    sink_integer(&s, "batch", r->batch);
    sink_number(&s, "time_s", r->point.time_s.value);
    sink_number(&s, "time_low_s", r->point.time_s.low);
    sink_number(&s, "time_high_s", r->point.time_s.high);
    sink_number(&s, "tokens_per_s", r->point.tokens_per_s.value);
    sink_number(&s, "intensity_flop_per_byte", r->point.intensity_flop_per_byte);
    sink_number(&s, "total_bytes", r->point.total_bytes);
    sink_text(&s, "bound", llmperf_bound_name((llmperf_bound)r->point.bound));
    sink_bool(&s, "fits", r->point.fits);
    sink_text(&s, "calibration", r->calibration);
    sink_text(&s, "kind", llmperf_estimate_kind_name(r->point.kind));
    sink_text(&s, "quant", r->quant);
    sink_end_object(&s);
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
    if (w->form == FORM_CSV)
        row_csv(w->out, row);
    else if (w->form == FORM_JSON)
        row_json(w, row);
    else
        row_page(w->page, row);
    w->first = false;
}

llmperf_status llmperf_sweep_close(llmperf_sweep_writer *w, const llmperf_notes *skipped,
                                   llmperf_error *error)
{
    NEEDS(w && notes_are_sound(skipped), error);
    if (w->form == FORM_CSV)
        return LLMPERF_OK;
    if (w->form == FORM_JSON) {
        sink s;
        sink_open(&s, w->out, false);
        fputs(w->first ? "]" : "\n  ]", w->out);
        s.depth = 1;
        s.filled[0] = true;
        sink_begin_array(&s, "notes");
        for (int i = 0; i < skipped->count; i++)
            sink_text(&s, NULL, skipped->text[i]);
        sink_end_array(&s);
        sink_begin_array(&s, "not_modelled");
        if (!w->calibrated)
            sink_text(&s, NULL,
                      "kernel efficiency, launch and host time (no calibration: times are "
                      "bounds)");
        sink_text(&s, NULL, "mixed prefill and decode steps, queueing");
        sink_end_array(&s);
        sink_end_object(&s);
        return sink_close(&s, error);
    }
    page *p = w->page;
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
    llmperf_status status = page_close(p, error);
    free(p);
    w->page = NULL;
    return status;
}
