/* SPDX-License-Identifier: MIT */
/* One line a specification, for `specs list`. */
#include <string.h>

#include "llmperf/predict.h"
#include "llmperf/engine.h"
#include "page.h"
#include "sink.h"
#include "writers.h"
#include "entry.h"

enum { CELLS = 5, WIDE_LAST = 20 };

static void put_row(FILE *out, const char *format, const char *const *headings,
                    const char *const *cells, bool first)
{
    static const int widths[CELLS] = {24, 11, 13, 10, 0};
    if (format && strcmp(format, "md") == 0) {
        for (int h = 0; first && h < 2; h++) {
            for (int i = 0; i < CELLS; i++)
                fprintf(out, "| %s ", h ? "---" : headings[i]);
            fputs("|\n", out);
        }
        for (int i = 0; i < CELLS; i++)
            fprintf(out, "| %s ", cells[i]);
        fputs("|\n", out);
        return;
    }
    for (int h = first ? 0 : 1; h < 2; h++) {
        const char *const *row = h ? cells : headings;
        for (int i = 0; i < CELLS; i++) /* the first and last columns are words, to the left */
            fprintf(out, i == 0 ? "%-*s" : i == CELLS - 1 ? "  %*s" : "%*s", widths[i], row[i]);
        fputc('\n', out);
    }
}

static void put_record(FILE *out, const char *const *keys, const char *name, const double *values,
                       const char *last, bool csv, bool first)
{
    char number[LLMPERF_DOUBLE_TEXT_MAX];
    if (csv) {
        for (int i = 0; first && i < CELLS; i++)
            fprintf(out, "%s%s", keys[i], i + 1 < CELLS ? "," : "\n");
        csv_text(out, name);
        for (int i = 1; i < CELLS - 1; i++)
            fprintf(out, ",%s", values[i] > 0 ? llmperf_format_double(values[i], number) : "");
        fputc(',', out);
        csv_text(out, last);
        fputc('\n', out);
        return;
    }
    sink s;
    sink_open(&s, out, false);
    s.depth = 2; /* inside the array that the caller opened */
    s.filled[1] = !first;
    s.is_array[1] = true;
    sink_begin_object(&s, NULL);
    sink_text(&s, keys[0], name);
    for (int i = 1; i < CELLS - 1; i++)
        if (values[i] > 0)
            sink_number(&s, keys[i], values[i]);
        else
            sink_null(&s, keys[i]);
    sink_text(&s, keys[CELLS - 1], last);
    sink_end_object(&s);
}

static bool is_record(const char *format)
{
    return format && (strcmp(format, "csv") == 0 || strcmp(format, "json") == 0);
}

llmperf_status llmperf_write_model_row(FILE *out, const char *format, const llmperf_model *model,
                                       bool first)
{
    NEEDS(out && model, NULL);
    static const char *const keys[] = {"name", "params", "kv_bytes_per_token", "max_context",
                                       "architecture"};
    static const char *const headings[] = {"model", "params", "KV/token", "context",
                                           "architecture"};
    char params[HUMAN_MAX], kv[HUMAN_MAX], context[HUMAN_MAX];
    double bits =
        llmperf_dtype_bits((llmperf_dtype)(model->kv_dtype ? model->kv_dtype : model->dtype));
    const double values[CELLS] = {0, (double)llmperf_model_params(model).total,
                                  llmperf_kv_bytes_per_token(model, bits / 8),
                                  (double)model->max_context, 0};
    if (is_record(format)) {
        put_record(out, keys, model->name, values, model->architecture, strcmp(format, "csv") == 0,
                   first);
        return LLMPERF_OK;
    }
    char name[LLMPERF_NAME_MAX * 2];
    llmperf_escape(model->name, name, sizeof name);
    const char *cells[] = {name, human_count(values[1], params), human_bytes(values[2], kv),
                           values[3] > 0 ? human_tokens(values[3], context) : "-",
                           model->architecture};
    put_row(out, format, headings, cells, first);
    return LLMPERF_OK;
}

llmperf_status llmperf_write_hw_row(FILE *out, const char *format, const llmperf_hw *hw, bool first)
{
    NEEDS(out && hw_is_sound(hw), NULL);
    static const char *const keys[] = {"name", "memory_bytes", "mem_bw_bytes_per_s",
                                       "bf16_flop_per_s", "confidence"};
    static const char *const headings[] = {"hardware", "memory", "bandwidth", "bf16", "confidence"};
    char memory[HUMAN_MAX], bandwidth[HUMAN_MAX], peak[HUMAN_MAX], rate[HUMAN_MAX];
    const double values[CELLS] = {0, hw->memory_bytes, hw->mem_bytes_per_s,
                                  hw->peak_flop_per_s[LLMPERF_DTYPE_BF16], 0};
    const char *confidence =
        llmperf_confidence_name((llmperf_confidence)hw->provenance[LLMPERF_HW_DEFAULT].confidence);
    if (is_record(format)) {
        put_record(out, keys, hw->name, values, confidence, strcmp(format, "csv") == 0, first);
        return LLMPERF_OK;
    }
    snprintf(rate, sizeof rate, "%.28s/s", human_bytes(values[2], bandwidth));
    char name[LLMPERF_NAME_MAX * 2];
    llmperf_escape(hw->name, name, sizeof name);
    const char *cells[] = {name, human_bytes(values[1], memory), rate,
                           values[3] > 0 ? human_flop(values[3], peak) : "-", confidence};
    put_row(out, format, headings, cells, first);
    return LLMPERF_OK;
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

llmperf_status llmperf_write_calib_row(FILE *out, const char *format, const llmperf_calib *calib,
                                       bool first)
{
    NEEDS(out && calib, NULL);
    static const char *const keys[] = {"name", "fits", "samples", "mean_error_frac", "hardware"};
    static const char *const headings[] = {"calibration", "fits", "samples", "error", "hardware"};
    const double values[CELLS] = {0, calib->entry_count, (double)calib->samples, mean_error(calib),
                                  0};
    if (is_record(format)) {
        put_record(out, keys, calib->name, values, calib->hw, strcmp(format, "csv") == 0, first);
        return LLMPERF_OK;
    }
    char name[LLMPERF_NAME_MAX * 2], fits[HUMAN_MAX], samples[HUMAN_MAX], percent[HUMAN_MAX];
    llmperf_escape(calib->name, name, sizeof name);
    snprintf(percent, sizeof percent, "%.1f %%", 100 * values[3]);
    const char *cells[] = {name, human_count(values[1], fits), human_count(values[2], samples),
                           values[3] > 0 ? percent : "-", calib->hw};
    put_row(out, format, headings, cells, first);
    return LLMPERF_OK;
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

llmperf_status llmperf_write_engine_row(FILE *out, const char *format, const llmperf_engine *engine,
                                        bool first)
{
    NEEDS(out && engine, NULL);
    static const char *const keys[] = {"name", "parts", "runs", "unseen_error_frac", "licence"};
    static const char *const headings[] = {"engine", "parts", "runs", "unseen", "licence"};
    double rows, error = unseen_error(engine, &rows);
    const double values[CELLS] = {0, engine->part_count, rows, error, 0};
    if (is_record(format)) {
        put_record(out, keys, engine->name, values, engine->licence, strcmp(format, "csv") == 0,
                   first);
        return LLMPERF_OK;
    }
    char name[LLMPERF_NAME_MAX * 2], licence[LLMPERF_NAME_MAX * 2], percent[HUMAN_MAX];
    char parts[HUMAN_MAX], runs[HUMAN_MAX];
    llmperf_escape(engine->name, name, sizeof name);
    llmperf_escape(engine->licence, licence, sizeof licence);
    if (strlen(licence) > WIDE_LAST) /* records have the whole */
        memcpy(licence + WIDE_LAST - 3, "...", 4);
    snprintf(percent, sizeof percent, "%.1f %%", 100 * error);
    const char *cells[] = {name, human_count(values[1], parts), human_count(rows, runs),
                           error > 0 ? percent : "-", licence};
    put_row(out, format, headings, cells, first);
    return LLMPERF_OK;
}
