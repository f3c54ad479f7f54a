/* SPDX-License-Identifier: MIT */
/* Between groups.c (which samples), fit.c (which parameters) and fit_common.c (what they share). */
#ifndef LLMPERF_CALIB_FIT_INTERNAL_H
#define LLMPERF_CALIB_FIT_INTERNAL_H

#include "llmperf/fit.h"
#include "calib_object.h"

/* One measured operator of a group. */
typedef struct fit_row {
    llmperf_op op;
    double log_time; /* of the measured time */
    double weight;   /* by the interval of the measurement, 0..1 */
    uint64_t family; /* shape family: one weight matrix, one head layout */
    int fold;        /* of the cross-validation */
} fit_row;

/* What is to be fitted: rows of one key. */
typedef struct fit_problem {
    const llmperf_hw *hw;
    llmperf_calib_key key;
    const fit_row *row;
    int64_t count;
    int folds;
    bool plain;        /* no refinements */
    bool many_devices; /* a collective: more than one group size */
    bool many_sizes;   /* attention: heads of more than one size */
    bool memory_moves; /* bytes took more time in some samples than in others */
    int points;
    int jobs; /* threads; 0 = as many as there are processors */
} fit_problem;

/* Calls work(context, i) for i = 0 .. count - 1 from up to `jobs` threads, this one among them (0 = as
 * many as there are processors), in any order; returns when all are done. */
typedef void fit_piece(void *context, int i);
void fit_spread(int jobs, int count, fit_piece *work, void *context);

/* GSL's error handler is the process's: it is put aside around all fits. */
typedef void fit_handler(void);
fit_handler *fit_begin(void);
void fit_end(fit_handler *begun);

/* Fits a problem: fills param, covariance, fitted, remarks and quality.points and left_out_frac of
 * `entry`. Errors: LLMPERF_E_FIT, LLMPERF_E_MEMORY. */
llmperf_status fit_solve(const fit_problem *problem, llmperf_calib_entry *entry, bool *ret_at_bound,
                         llmperf_error *error);

/* A calibration whose one entry times every operator of the key. */
void fit_calib_of(const llmperf_calib_entry *entry, llmperf_calib *ret_calib);

/* Values by size: ascending; quantile by linear interpolation. */
void fit_sort(double *values, int64_t count);
double fit_quantile(const double *sorted, int64_t count, double share);

uint64_t fit_hash(uint64_t hash, const void *bytes, size_t size); /* FNV-1a */
uint64_t fit_hash_op(uint64_t hash, const llmperf_op *op);
#define FIT_HASH_START 14695981039346656037u

/* Half width of the interval of log(time) of one operator at `z` standard deviations: parameters
 * (gradient x covariance) and residual. */
double fit_half_width(const llmperf_calib_entry *entry, const double dlog[LLMPERF_PARAM_COUNT],
                      double z);

#endif
