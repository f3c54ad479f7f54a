/* SPDX-License-Identifier: MIT */
/* Between engine_rows.c (rows, operators, times), engine_fit.c (what is left out) and fit_engine.c
 * (GSL: one part's parameters). */
#ifndef LLMPERF_CALIB_ENGINE_ROWS_H
#define LLMPERF_CALIB_ENGINE_ROWS_H

#include "llmperf/fit_engine.h"
#include "llmperf/predict.h"
#include "model_object.h"
#include "calib_object.h"
#include "engine_object.h"

enum { ENGINE_FITTED = LLMPERF_ENGINE_PARAM_COUNT }; /* all parameters are fitted */

/* `times` equal steps of a row. */
typedef struct engine_step {
    double times, layers, sequences;
    bool mixed; /* takes 1 + mixed_frac as long */
    int64_t first;
    int count; /* of operators */
} engine_step;

/* One measurement of whole steps. */
typedef struct engine_row {
    const llmperf_run *run;
    int part, model; /* indices */
    bool prefill;    /* prefill alone: TTFT, prompt rates */
    double log_time; /* measured, s */
    double roofline_s;
    double waits; /* how often request_s counts */
    int64_t first;
    int count; /* of steps */
    /* log(predicted / measured): fitted, of an unseen model, of an unseen part; NAN = not known */
    double fitted, unseen, unseen_part;
    /* variance of log(time) that the parameters of that fit bring; 0 for an unseen part */
    double fitted_variance, unseen_variance;
} engine_row;

typedef struct engine_rows {
    int part_count;
    llmperf_hw part[LLMPERF_ENGINE_PARTS_MAX];
    bool serving[LLMPERF_ENGINE_PARTS_MAX]; /* a part's static and served runs are two entries */
    char versions[LLMPERF_ENGINE_PARTS_MAX][96];
    int64_t refused[LLMPERF_ENGINE_PARTS_MAX];
    int model_count, model_capacity;
    llmperf_model *model;
    int64_t row_count, row_capacity;
    engine_row *row;
    int64_t step_count, step_capacity;
    engine_step *step;
    int64_t op_count, op_capacity;
    llmperf_op *op;
} engine_rows;

/* Builds the cases of the runs and their operators. `engine` receives the name of the rows' one. */
llmperf_status engine_rows_build(const llmperf_runs *runs, const llmperf_spec_paths *paths,
                                 const llmperf_engine_fit_options *options, engine_rows *ret_rows,
                                 char engine[48], llmperf_error *error);
void engine_rows_free(engine_rows *rows);

/* A profile of one part, and what it comes to. */
typedef struct engine_form {
    llmperf_engine_part part;
    llmperf_calib calib;
    /* d(entry parameter) / d(profile parameter) */
    double chain[LLMPERF_CALIB_ENTRIES_MAX][LLMPERF_PARAM_COUNT][ENGINE_FITTED];
} engine_form;
/* Sets the parameters; with_chain = false leaves the derivatives alone. */
void engine_form_set(engine_form *form, const llmperf_hw *hw, const double *param, bool with_chain);

/* Predicted time of a row; ret_dlog (may be NULL): d log(time) / d log(parameter). */
double engine_row_time(const engine_rows *rows, const engine_row *row, const engine_form *form,
                       double *ret_dlog);

/* What one part's parameters are held to. */
typedef struct engine_prior {
    double param[LLMPERF_ENGINE_PARAM_COUNT];
    double deviation[ENGINE_FITTED]; /* of log(parameter) */
} engine_prior;

/*
 * Fits `count` rows of one part (GSL). `param` comes with the start and leaves with the result;
 * ret_covariance: of log(parameter).
 * False: not finite, or out of memory.
 */
bool engine_solve(const engine_rows *rows, const engine_row *const *row, int64_t count,
                  const llmperf_hw *hw, const engine_prior *prior, int rounds,
                  double param[LLMPERF_ENGINE_PARAM_COUNT],
                  double ret_covariance[][LLMPERF_ENGINE_PARAM_COUNT]);

#endif
