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
    uint64_t room[8];    /* for what comes; 0 */
} llmperf_text_style;

/* The output formats of reports, "text", "json", "csv", "md"; NULL-terminated, static storage. */
LLMPERF_API const char *const *llmperf_formats(void);
/* Those of specifications, "yaml" too; and those that `llmperf devices` lists devices in. */
LLMPERF_API const char *const *llmperf_spec_formats(void);
LLMPERF_API const char *const *llmperf_device_formats(void);
/* The format of reports or specifications that a file name's suffix asks for (.json .csv .md .txt
 * .yaml, in whatever case), or NULL. */
LLMPERF_API const char *llmperf_format_of_suffix(const char *path);
/* Does a format hold fields for programs, rather than a page for people? */
LLMPERF_API bool llmperf_format_is_record(const char *format);

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
 * Writes a sweep row by row; JSON and CSV stream. Open, row, ..., close, which frees the writer;
 * `skipped` are lines on points that were left out, `total` the number of rows of the whole sweep,
 * `shown` of those that will be written.
 */
typedef struct llmperf_sweep_writer llmperf_sweep_writer;

LLMPERF_API llmperf_status llmperf_sweep_open(
    FILE *out, const char *format, const llmperf_model *model,
    const char *calibrations, /* names with commas; NULL = none of the parts has one */
    llmperf_sweep_phase phase, const char *const *axes, int64_t total, int64_t shown,
    const llmperf_text_style *style, llmperf_sweep_writer **ret_writer, llmperf_error *error);
LLMPERF_API void llmperf_sweep_row_write(llmperf_sweep_writer *writer,
                                         const llmperf_sweep_row *row);
LLMPERF_API llmperf_status llmperf_sweep_close(llmperf_sweep_writer *writer,
                                               const llmperf_notes *skipped, llmperf_error *error);

/*
 * Writes lists of specifications, a line each. Open, then for each list begin and its lines, close, which
 * frees the writer.
 */
typedef struct llmperf_list_writer llmperf_list_writer;

LLMPERF_API llmperf_status llmperf_list_open(FILE *out, const char *format,
                                             llmperf_list_writer **ret_writer,
                                             llmperf_error *error);
LLMPERF_API void llmperf_list_begin(llmperf_list_writer *writer, const char *name); /* "models" */
LLMPERF_API void llmperf_list_model(llmperf_list_writer *writer, const llmperf_model *model);
LLMPERF_API void llmperf_list_hw(llmperf_list_writer *writer, const llmperf_hw *hw);
LLMPERF_API void llmperf_list_calib(llmperf_list_writer *writer, const llmperf_calib *calib);
LLMPERF_API void llmperf_list_engine(llmperf_list_writer *writer, const llmperf_engine *engine);
LLMPERF_API llmperf_status llmperf_list_close(llmperf_list_writer *writer, llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
