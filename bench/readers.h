/* SPDX-License-Identifier: MIT */
/* What the readers of result files share: one file a tool, one row in readers.c. */
#ifndef LLMPERF_BENCH_READERS_H
#define LLMPERF_BENCH_READERS_H

#include "llmperf/results.h"
#include "source.h"

/* Requests that were recorded one by one: sums, for the means of the run that they make. */
typedef struct results_requests {
    int64_t count, line; /* of the first */
    double prompt, generate, value[3];
    int64_t values[3];
} results_requests;

/* A file that is being read. */
typedef struct results {
    llmperf_runs *runs;
    const llmperf_runs_options *options; /* may be NULL */
    llmperf_error *error;
    source *from;
    char file[LLMPERF_NAME_MAX]; /* base name */
    results_requests requests;
    int64_t left_out;
    char first_why[LLMPERF_TEXT_MAX]; /* of what was left out */
} results;

/* Says why a row gives no run. Always LLMPERF_OK: reading goes on. */
llmperf_status results_leave_out(results *r, int64_t line, const char *label, const char *format,
                                 ...) LLMPERF_PRINTF(4, 5);

/* A run of this file, everything else not said. */
llmperf_run results_run(const results *r, int64_t line);

/*
 * Adds `run` with a metric and its value; left out, with the reason, unless value is finite and
 * above zero.  Errors: LLMPERF_E_MEMORY.
 */
llmperf_status results_add(results *r, const llmperf_run *run, llmperf_metric metric, double value);

/* Copies a name, cut, control bytes escaped. */
void results_name(char *to, size_t size, const char *text);

/* "their=ours" of --map for one name; NULL = no rule. */
const char *results_renamed(const results *r, const char *name);

/* ---- CSV: a header tells the format ------------------------------------------------------------------ */

/* Columns by place; read on from r->from. */
typedef struct csv_format {
    const char *name;
    /* Is this header ours? */
    bool (*matches)(const results *r, char *const *cell, int count);
    llmperf_status (*read)(results *r, char *const *header, int count);
} csv_format;

/* Does a header belong to samples of operators? (read_samples.c) */
bool samples_match(const results *r, char *const *cell, int count);

#endif
