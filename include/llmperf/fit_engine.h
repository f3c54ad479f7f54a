/* SPDX-License-Identifier: MIT */
/*
 * From measurements of whole engines to an engine profile. Part of libllmperf-calib, which links
 * GSL: a program with it is under the terms of the GPL, version 3 or later; our sources stay MIT.
 */
#ifndef LLMPERF_FIT_ENGINE_H
#define LLMPERF_FIT_ENGINE_H

#include <stdio.h>

#include "llmperf/fitted.h"
#include "llmperf/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One row of the fit, in seconds; 0 = not known (no other model, no other part). */
typedef struct llmperf_engine_fit_row {
    const llmperf_run *run;
    const char *hw; /* name of the part */
    double measured_s, roofline_s;
    double fitted_s;
    double unseen_s;      /* by a fit without this model */
    double unseen_part_s; /* by the other parts alone */
    double residual;      /* standard deviation of log(time) that its interval has */
} llmperf_engine_fit_row;

/* Zero means default. */
typedef struct llmperf_engine_fit_options {
    const char *engine; /* rows of this engine alone; NULL = all rows, which must be of one */
    /* names that stand for `engine` in the rows and for the profile, NULL-terminated; NULL = those of
     * the shipped profile of that name, which then gives its own name too */
    const char *const *aliases;
    const char *source, *licence, *date; /* of the rows, for the profile; NULL = "" */
    /* the part of rows that name none, and the only one to fit; NULL = each row's own */
    const llmperf_hw *hw;
    const llmperf_model *model; /* of rows that name none and tell no shape; may be NULL */
    bool quick; /* without leaving models and parts out: residuals of the fit alone */
    /* told of each row that is left out; may be NULL */
    void (*visit)(const llmperf_run *run, const char *why, void *context);
    void (*row)(const llmperf_engine_fit_row *row, void *context); /* told of each row; or NULL */
    void *context;
} llmperf_engine_fit_options;

/*
 * Fits every part that the static rows hold, weak ones towards like parts of the engine.
 *   minimises: log(measured / predicted) over whole requests, prefills and decode steps, with
 *              llmperf_time_op()'s gradient, robust against outliers, each parameter held to what is
 *              typical (first round) or to the estimate from like parts (second) by a prior
 *   leaves out: rows faster than the roofline, more devices than one node's link joins, what
 *              llmperf_run_workload() does not take
 *   quality:   each model left out in turn gives the residuals; each part left out, `borrowed`
 *   errors:    LLMPERF_E_FIT when no row is usable; LLMPERF_E_USAGE when rows are of several
 *              engines; LLMPERF_E_MEMORY
 *   threads:   as llmperf_fit()
 */
LLMPERF_API llmperf_status llmperf_fit_engine(const llmperf_runs *runs,
                                              const llmperf_spec_paths *paths,
                                              const llmperf_engine_fit_options *options,
                                              llmperf_engine **ret_engine, llmperf_error *error);

/* What a profile's fit is worth, part by part, as text; with `parameters` these too. */
LLMPERF_API void llmperf_write_engine_fit(FILE *out, const llmperf_engine *engine, bool parameters);

/* CSV: what llmperf_engine_fit_options.row is told of; row NULL = the header. */
LLMPERF_API void llmperf_write_engine_fit_row(FILE *out, const llmperf_engine_fit_row *row);

#ifdef __cplusplus
}
#endif

#endif
