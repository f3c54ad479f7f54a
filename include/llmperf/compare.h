/* SPDX-License-Identifier: MIT */
/*
 * Predictions beside measurements: rows, their errors by group, and the baselines that a
 * prediction has to beat.
 */
#ifndef LLMPERF_COMPARE_H
#define LLMPERF_COMPARE_H

#include <stdio.h>

#include "llmperf/report.h"
#include "llmperf/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LLMPERF_GROUP_MAX 224

/* One measurement and its prediction, in SI units. */
typedef struct llmperf_compare_row {
    char file[LLMPERF_NAME_MAX]; /* where the measurement comes from; "" = this device */
    int64_t line;                /* 0 = none */
    char label[LLMPERF_NAME_MAX];
    char group[LLMPERF_GROUP_MAX];
    char metric[32]; /* "time_s", "decode_tokens_per_s" ... */
    double measured;
    llmperf_estimate predicted;
    llmperf_estimate_kind kind;
    double roofline; /* what the datasheet alone says */
    unsigned flags;  /* LLMPERF_SAMPLE_ bits of the measurement */
    bool has_run;
    llmperf_run run; /* of an engine: what was run, with what the user added */
} llmperf_compare_row;

/* A measurement that has no prediction, and why. */
typedef struct llmperf_compare_skip {
    char file[LLMPERF_NAME_MAX];
    int64_t line;
    char label[LLMPERF_NAME_MAX];
    char why[LLMPERF_TEXT_MAX];
} llmperf_compare_skip;

/* Grows with its rows; start from a zeroed struct, end with llmperf_comparison_free(). */
typedef struct llmperf_comparison {
    int row_count, row_capacity;
    llmperf_compare_row *row;
    int skip_count, skip_capacity;
    llmperf_compare_skip *skip;
    llmperf_notes notes;
} llmperf_comparison;

LLMPERF_API llmperf_status llmperf_comparison_add(llmperf_comparison *comparison,
                                                  const llmperf_compare_row *row,
                                                  llmperf_error *error);
LLMPERF_API llmperf_status llmperf_comparison_skip(llmperf_comparison *comparison,
                                                   const llmperf_compare_skip *skip,
                                                   llmperf_error *error);
LLMPERF_API void llmperf_comparison_free(llmperf_comparison *comparison);

/* Notes how many rows were measured faster than the datasheet allows, by more than 5 %: what was run
 * is not what the file says, and no prediction can meet it. */
LLMPERF_API void llmperf_comparison_note_faster(llmperf_comparison *comparison);

/*
 * Errors of one group (NULL = all rows), fractions of predicted / measured - 1.
 *   constant: the roofline times the one factor that fits the group's median best, in hindsight:
 *             what a single efficiency could do
 */
typedef struct llmperf_compare_summary {
    char group[LLMPERF_GROUP_MAX];
    int n;
    double mape_frac, median_frac, p90_frac, bias_frac, coverage_frac;
    double roofline_mape_frac, constant_mape_frac;
    double constant_factor; /* of the roofline */
} llmperf_compare_summary;

/* Errors: LLMPERF_E_MEMORY. n is 0 when no row is of the group. */
LLMPERF_API llmperf_status llmperf_compare_summarise(const llmperf_comparison *comparison,
                                                     const char *group,
                                                     llmperf_compare_summary *ret_summary,
                                                     llmperf_error *error);

/*
 * Rows, what was skipped, and the summary, as text, json, csv or md. Text and Markdown thin long
 * tables and say so; JSON and CSV are complete. Rows of runs carry the columns of end-to-end CSV,
 * so that llmperf_runs_read() takes the CSV back.
 */
LLMPERF_API llmperf_status llmperf_write_comparison(FILE *out, const char *format,
                                                    const llmperf_comparison *comparison,
                                                    const char *title,
                                                    const llmperf_text_style *style,
                                                    llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
