/* SPDX-License-Identifier: MIT */
/*
 * Writers: the same numbers as text, JSON, CSV or Markdown.
 */
#ifndef LLMPERF_REPORT_H
#define LLMPERF_REPORT_H

#include <stdio.h>

#include "llmperf/engine.h"
#include "llmperf/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llmperf_text_style {
    bool color; /* ANSI emphasis */
    /* how the user named the model and the part, shell-quoted, for the commands that a report
     * proposes; NULL = their spec names */
    const char *model, *hw;
    const char *options; /* the options given, shell-quoted; NULL = none */
} llmperf_text_style;

/* The output formats, "text", "json", "csv", "md"; NULL-terminated, static storage. */
LLMPERF_API const char *const *llmperf_formats(void);
/* The format that a file name's suffix asks for (.json .csv .md .txt), or NULL. */
LLMPERF_API const char *llmperf_format_of_suffix(const char *path);

/*
 * Each writes one result to `out` in a format named above (NULL = text). They do not check for
 * write errors: the caller looks at ferror(out) once, at the end.
 * Errors: LLMPERF_E_USAGE for an unknown format, LLMPERF_E_MEMORY.
 */
LLMPERF_API llmperf_status llmperf_write_prediction(FILE *out, const char *format,
                                                    const llmperf_prediction *prediction,
                                                    const llmperf_text_style *style,
                                                    llmperf_error *error);

/* The operators of prefill and decode. `chunk` 0: prefill as one step of all prompt tokens. */
LLMPERF_API llmperf_status llmperf_write_layers(FILE *out, const char *format,
                                                const llmperf_config *c, int64_t chunk,
                                                const llmperf_text_style *style,
                                                llmperf_error *error);

/* The formulas of each operator, in symbols (model NULL = the general dense decoder). */
LLMPERF_API llmperf_status llmperf_write_symbolic(FILE *out, const char *format,
                                                  const llmperf_config *c,
                                                  const llmperf_text_style *style,
                                                  llmperf_error *error);

/* What a specification says; format "yaml" too: a file that reads back as the same value. */
LLMPERF_API llmperf_status llmperf_write_model(FILE *out, const char *format,
                                               const llmperf_model *model,
                                               const llmperf_text_style *style,
                                               llmperf_error *error);
LLMPERF_API llmperf_status llmperf_write_hw(FILE *out, const char *format, const llmperf_hw *hw,
                                            const llmperf_text_style *style, llmperf_error *error);

/* One row of a sweep. */
typedef struct llmperf_sweep_row {
    const char *hw;    /* name */
    const char *quant; /* scheme that was asked for; NULL = none */
    llmperf_dtype weight_dtype, kv_dtype;
    int64_t tp, prompt, context, batch;
    llmperf_point point;
    const char *calibration; /* name; NULL = none */
} llmperf_sweep_row;

/*
 * Writes a sweep row by row; CSV and JSON stream. Open, row, ..., close; `skipped` are lines on
 * points that were left out, `total` the number of rows of the whole sweep, `shown` of those that
 * will be written.
 */
typedef struct llmperf_sweep_writer {
    FILE *out;
    int form;
    llmperf_sweep_phase phase;
    bool first, calibrated;
    int64_t total, shown;
    void *page; /* text and Markdown: the table being built; owned */
} llmperf_sweep_writer;

LLMPERF_API llmperf_status llmperf_sweep_open(
    FILE *out, const char *format, const llmperf_model *model,
    const char *calibrations, /* names with commas; NULL = none of the parts has one */
    llmperf_sweep_phase phase, const char *const *axes, int64_t total, int64_t shown,
    const llmperf_text_style *style, llmperf_sweep_writer *ret_writer, llmperf_error *error);
LLMPERF_API void llmperf_sweep_row_write(llmperf_sweep_writer *writer,
                                         const llmperf_sweep_row *row);
LLMPERF_API llmperf_status llmperf_sweep_close(llmperf_sweep_writer *writer,
                                               const llmperf_notes *skipped, llmperf_error *error);

/* One line of a list; `first` prints the heading (and, in JSON, no comma before it). Formats text,
 * csv, md; json writes one object of an open array. */
LLMPERF_API llmperf_status llmperf_write_model_row(FILE *out, const char *format,
                                                   const llmperf_model *model, bool first);
LLMPERF_API llmperf_status llmperf_write_hw_row(FILE *out, const char *format, const llmperf_hw *hw,
                                                bool first);
LLMPERF_API llmperf_status llmperf_write_calib_row(FILE *out, const char *format,
                                                   const llmperf_calib *calib, bool first);
LLMPERF_API llmperf_status llmperf_write_engine_row(FILE *out, const char *format,
                                                    const llmperf_engine *engine, bool first);

#ifdef __cplusplus
}
#endif

#endif
