/* SPDX-License-Identifier: MIT */
/* One line a specification, for `specs list`. */
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "formats.h"
#include "llmperf/engine.h"
#include "llmperf/predict.h"
#include "llmperf/report.h"
#include "model_object.h"
#include "calib_object.h"
#include "engine_object.h"

enum { CELLS = 5, WIDE_LAST = 20 };

/* One of the two is written to. */
struct llmperf_list_writer {
    bool is_page;
    bool began, filled; /* a list; it has a line */
    page page;
    sink sink;
};

/* What a line says: a name, three numbers, 0 = not known, and words. */
typedef struct line {
    const char *name;
    double value[CELLS - 2];
    const char *last;
} line;

llmperf_status llmperf_list_open(FILE *out, const char *name, llmperf_list_writer **ret_writer,
                                 llmperf_error *error)
{
    NEEDS(out && ret_writer, error);
    const output_format *f = NULL;
    llmperf_status status = format_find(name, FORMAT_REPORTS, &f, error);
    if (status != LLMPERF_OK)
        return status;
    llmperf_list_writer *w = malloc(sizeof *w);
    if (!w)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    w->is_page = f->page != NULL;
    w->began = false;
    if (w->is_page) {
        page_open(&w->page, out, f->page, false);
    } else {
        sink_open(&w->sink, out, f->sink);
        if (!w->sink.is_table) {
            sink_begin_object(&w->sink, NULL);
            sink_head(&w->sink);
        }
    }
    *ret_writer = w;
    return LLMPERF_OK;
}

static void end_list(llmperf_list_writer *w)
{
    if (w->began && !w->is_page && !w->sink.is_table)
        sink_end_array(&w->sink);
}

void llmperf_list_begin(llmperf_list_writer *w, const char *name)
{
    if (!w || !name)
        return;
    if (!w || !name)
        return;
    end_list(w);
    w->began = true;
    w->filled = false;
    if (w->is_page)
        return;
    sink_new_header(&w->sink);
    if (!w->sink.is_table)
        sink_begin_array(&w->sink, name);
}

llmperf_status llmperf_list_close(llmperf_list_writer *w, llmperf_error *error)
{
    NEEDS(w, error);
    NEEDS(w, error);
    llmperf_status status;
    end_list(w);
    if (w->is_page) {
        status = page_close(&w->page, error);
    } else {
        if (!w->sink.is_table) {
            sink_notes(&w->sink, "notes", NULL);
            sink_notes(&w->sink, "not_modelled", NULL);
            sink_end_object(&w->sink);
        }
        status = sink_close(&w->sink, error);
    }
    free(w);
    return status;
}

static void put_fields(sink *s, const char *const *keys, const line *l)
{
    sink_begin_row(s);
    sink_begin_object(s, NULL);
    sink_text(s, keys[0], l->name);
    for (int i = 0; i < CELLS - 2; i++)
        sink_positive(s, keys[i + 1], l->value[i]);
    sink_text(s, keys[CELLS - 1], l->last);
    sink_end_object(s);
    sink_end_row(s);
}

/* A row of a page, and the headings before the first. */
static void put_cells(llmperf_list_writer *w, const char *const *headings, const char *const *cells)
{
    static const int widths[CELLS] = {24, 11, 13, 10, 0};
    char name[LLMPERF_NAME_MAX * 2];
    llmperf_escape(cells[0], name, sizeof name);
    const char *const clean[CELLS] = {name, cells[1], cells[2], cells[3], cells[4]};
    if (!w->filled)
        page_line(&w->page, widths, headings, CELLS, true);
    page_line(&w->page, widths, clean, CELLS, false);
    w->filled = true;
}

void llmperf_list_model(llmperf_list_writer *w, const llmperf_model *model)
{
    if (!w || !model)
        return;
    if (!w || !model)
        return;
    static const char *const keys[] = {"name", "params", "kv_bytes_per_token", "max_context",
                                       "architecture"};
    static const char *const headings[] = {"model", "params", "KV/token", "context",
                                           "architecture"};
    char params[HUMAN_MAX], kv[HUMAN_MAX], context[HUMAN_MAX];
    double bits =
        llmperf_dtype_bits((llmperf_dtype)(model->kv_dtype ? model->kv_dtype : model->dtype));
    const line l = {.name = model->name,
                    .value = {(double)llmperf_model_params(model).total,
                              llmperf_kv_bytes_per_token(model, bits / 8),
                              (double)model->max_context},
                    .last = model->architecture};
    if (!w->is_page) {
        put_fields(&w->sink, keys, &l);
        return;
    }
    const char *cells[] = {l.name, human_count(l.value[0], params), human_bytes(l.value[1], kv),
                           l.value[2] > 0 ? human_tokens(l.value[2], context) : "-", l.last};
    put_cells(w, headings, cells);
}

void llmperf_list_hw(llmperf_list_writer *w, const llmperf_hw *hw)
{
    if (!w || !hw_is_sound(hw))
        return;
    if (!w || !hw_is_sound(hw))
        return;
    static const char *const keys[] = {"name", "memory_bytes", "mem_bw_bytes_per_s",
                                       "bf16_flop_per_s", "confidence"};
    static const char *const headings[] = {"hardware", "memory", "bandwidth", "bf16", "confidence"};
    char memory[HUMAN_MAX], bandwidth[HUMAN_MAX], peak[HUMAN_MAX], rate[HUMAN_MAX];
    const line l = {
        .name = hw->name,
        .value = {hw->memory_bytes, hw->mem_bytes_per_s, hw->peak_flop_per_s[LLMPERF_DTYPE_BF16]},
        .last = llmperf_confidence_name(
            (llmperf_confidence)hw->provenance[LLMPERF_HW_DEFAULT].confidence)};
    if (!w->is_page) {
        put_fields(&w->sink, keys, &l);
        return;
    }
    snprintf(rate, sizeof rate, "%.28s/s", human_bytes(l.value[1], bandwidth));
    const char *cells[] = {l.name, human_bytes(l.value[0], memory), rate,
                           l.value[2] > 0 ? human_flop(l.value[2], peak) : "-", l.last};
    put_cells(w, headings, cells);
}

/* Mean error of a calibration over all its scored samples; 0 = not said. */
static double mean_error(const llmperf_calib *calib)
{
    double sum = 0, samples = 0;
    for (int i = 0; i < calib->entry_count; i++) {
        const llmperf_calib_quality *quality = &calib->entry[i].quality;
        sum += (double)quality->samples * quality->mean_frac;
        samples += (double)quality->samples;
    }
    return samples > 0 ? sum / samples : 0;
}

void llmperf_list_calib(llmperf_list_writer *w, const llmperf_calib *calib)
{
    if (!w || !calib)
        return;
    if (!w || !calib)
        return;
    static const char *const keys[] = {"name", "fits", "samples", "mean_error_frac", "hardware"};
    static const char *const headings[] = {"calibration", "fits", "samples", "error", "hardware"};
    const line l = {.name = calib->name,
                    .value = {calib->entry_count, (double)calib->samples, mean_error(calib)},
                    .last = calib->hw};
    if (!w->is_page) {
        put_fields(&w->sink, keys, &l);
        return;
    }
    char fits[HUMAN_MAX], samples[HUMAN_MAX], percent[HUMAN_MAX];
    snprintf(percent, sizeof percent, "%.1f %%", 100 * l.value[2]);
    const char *cells[] = {l.name, human_count(l.value[0], fits), human_count(l.value[1], samples),
                           l.value[2] > 0 ? percent : "-", l.last};
    put_cells(w, headings, cells);
}

/* Median error of an engine's parts on models that their fits have not seen, by rows; 0 = not said. */
static double unseen_error(const llmperf_engine *engine, double *ret_rows)
{
    double sum = 0, counted = 0;
    *ret_rows = 0;
    for (int i = 0; i < engine->part_count; i++) {
        const llmperf_engine_quality *quality = &engine->part[i].quality;
        *ret_rows += (double)quality->rows;
        if (quality->unseen_median_frac <= 0)
            continue;
        sum += (double)quality->rows * quality->unseen_median_frac;
        counted += (double)quality->rows;
    }
    return counted > 0 ? sum / counted : 0;
}

void llmperf_list_engine(llmperf_list_writer *w, const llmperf_engine *engine)
{
    if (!w || !engine)
        return;
    if (!w || !engine)
        return;
    static const char *const keys[] = {"name", "parts", "runs", "unseen_error_frac", "licence"};
    static const char *const headings[] = {"engine", "parts", "runs", "unseen", "licence"};
    double rows, error = unseen_error(engine, &rows);
    const line l = {
        .name = engine->name, .value = {engine->part_count, rows, error}, .last = engine->licence};
    if (!w->is_page) {
        put_fields(&w->sink, keys, &l);
        return;
    }
    char licence[LLMPERF_NAME_MAX * 2], percent[HUMAN_MAX], parts[HUMAN_MAX], runs[HUMAN_MAX];
    llmperf_escape(engine->licence, licence, sizeof licence);
    if (strlen(licence) > WIDE_LAST) /* records have the whole */
        memcpy(licence + WIDE_LAST - 3, "...", 4);
    snprintf(percent, sizeof percent, "%.1f %%", 100 * error);
    const char *cells[] = {l.name, human_count(l.value[0], parts), human_count(rows, runs),
                           error > 0 ? percent : "-", licence};
    put_cells(w, headings, cells);
}
