/* SPDX-License-Identifier: MIT */
/* The results as pages and as fields, for report.c to choose among. */
#ifndef LLMPERF_MODEL_WRITERS_H
#define LLMPERF_MODEL_WRITERS_H

#include <stdio.h>

#include "formats.h"
#include "llmperf/report.h"
#include "config_object.h"

/* The operators of one phase, as `layers` shows them. */
typedef struct phase_ops {
    const char *name; /* "prefill", "decode" */
    int count;
    llmperf_op *ops;
    llmperf_time *times; /* as long as ops; meaningless without hardware */
    llmperf_total total;
    double steps;
} phase_ops;

llmperf_status record_prediction(FILE *out, const sink_format *format,
                                 const llmperf_prediction *prediction, llmperf_error *error);
llmperf_status record_layers(FILE *out, const sink_format *format, const llmperf_config *c,
                             const phase_ops *phases, int phase_count, llmperf_error *error);
llmperf_status record_model(FILE *out, const sink_format *format, const llmperf_model *model,
                            llmperf_error *error);
llmperf_status record_hw(FILE *out, const sink_format *format, const llmperf_hw *hw,
                         llmperf_error *error);

/* Fields that results share. Model: c NULL = as its file holds it. */
void record_put_model(sink *s, const llmperf_model *model, const llmperf_config *c);
void record_put_hw(sink *s, const llmperf_hw *hw);
void record_put_workload(sink *s, const llmperf_config *c);
const char *record_dtype(int dtype); /* its name; NULL = none */

/* `style` is not NULL. */
llmperf_status page_prediction(FILE *out, const page_format *format,
                               const llmperf_prediction *prediction,
                               const llmperf_text_style *style, llmperf_error *error);
llmperf_status page_layers(FILE *out, const page_format *format, const llmperf_config *c,
                           const phase_ops *phases, int phase_count,
                           const llmperf_text_style *style, llmperf_error *error);
llmperf_status page_model(FILE *out, const page_format *format, const llmperf_model *model,
                          const llmperf_text_style *style, llmperf_error *error);
llmperf_status page_hw(FILE *out, const page_format *format, const llmperf_hw *hw,
                       const llmperf_text_style *style, llmperf_error *error);

/* A double-quoted YAML scalar: any UTF-8 text reads back as it is. */
void yaml_quoted(FILE *out, const char *text);
/* "key: value" and a newline; nothing for an empty text or a 0. `key` brings its indentation. */
void yaml_put_text(FILE *out, const char *key, const char *value);
void yaml_put_number(FILE *out, const char *key, double value);
void yaml_put_count(FILE *out, const char *key, int64_t value);
void yaml_number(FILE *out, double value); /* "max" when infinite */

#endif
