/* SPDX-License-Identifier: MIT */
/*
 * From samples to a calibration: the parameters of llmperf_time_op() that make it agree with what
 * was measured, with their uncertainty. Part of libllmperf-calib, which links GSL: a program with
 * it is under the terms of the GPL, version 3 or later; our sources stay MIT.
 */
#ifndef LLMPERF_FIT_H
#define LLMPERF_FIT_H

#include "llmperf/fitted.h"
#include "llmperf/samples.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero means default. */
typedef struct llmperf_fit_options {
    int points;      /* the fit uses at most this many, spread over the shapes; 3000 */
    int folds;       /* for the error on shapes left out; 10 */
    int jobs;        /* threads; as many as there are processors. The result is the same */
    bool plain;      /* t0, e_c, e_m, c_k, c_w, p alone, none of the refinements */
    bool gemv_apart; /* products with one row get a fit of their own */
    bool windowed;   /* fit sliding-window shapes together with the others */
    /* words that a sample must match; NULL-terminated; NULL = all */
    const char *const *libraries; /* "vllm", "sglang"; "-" = none is said */
    const char *const *dtypes;    /* of the arithmetic, or the stored one */
    const char *const *kinds;     /* words of the column `op` */
} llmperf_fit_options;

/* One fit. status other than LLMPERF_OK: `why` says what was wrong; entry.key and library are set. */
typedef struct llmperf_fit_one {
    llmperf_status status;
    llmperf_calib_entry entry;
    bool at_bound;
    char why[LLMPERF_TEXT_MAX];
} llmperf_fit_one;

typedef struct llmperf_fits {
    int count;
    llmperf_fit_one *fit;              /* owned; llmperf_fits_free() */
    int64_t foreign;                   /* samples of other parts, not used */
    char other_part[LLMPERF_NAME_MAX]; /* the first of these */
    char device[LLMPERF_NAME_MAX];     /* what the samples call the part */
    char digest[32];                   /* of the samples that were used */
    int64_t samples;
    bool throttled, contended; /* some samples were */
    double
        stream_bytes_per_s; /* of the stream beside the samples, as it usually was: what the fit is
                                  for; 0 = none ran */
} llmperf_fits;

LLMPERF_API void llmperf_fits_free(llmperf_fits *fits);

/*
 * Fits every (library, kind, regime, dtype, stored dtype, collective) that the samples of `hw` hold.
 *   minimises: log(measured / predicted), by gsl_multifit_nlinear with the gradient of
 *              llmperf_time_op(), robust against outliers; cold operands alone where caches matter
 *   errors:    LLMPERF_E_FIT when no sample is usable; a group that fails keeps its reason and the
 *              others go on; LLMPERF_E_MEMORY
 *   threads:   starts options->jobs of its own and joins them. GSL's error handler is saved, disabled
 *              and restored: not re-entrant
 */
LLMPERF_API llmperf_status llmperf_fit(const llmperf_samples *samples, const llmperf_hw *hw,
                                       const llmperf_fit_options *options, llmperf_fits *ret_fits,
                                       llmperf_error *error);

/* Makes a calibration of the successful fits. Errors: LLMPERF_E_USAGE when two libraries give a fit
 * for one key (both are named); LLMPERF_E_MEMORY. */
LLMPERF_API llmperf_status llmperf_fits_to_calib(const llmperf_fits *fits,
                                                 llmperf_calib **ret_calib, llmperf_error *error);

/* What a calibration is called and what it lacks; NULL = default. */
typedef struct llmperf_fits_naming {
    const char *name;                /* by default the hardware's and the library's */
    const char *date;                /* "" */
    const llmperf_spec_paths *paths; /* where `complete` is looked up */
    /* calibrations, NULL-terminated names: what is still missing is taken from them, lent and widened */
    const char *const *complete;
} llmperf_fits_naming;

/* A calibration of the successful fits, for a file. free() ends it. Errors: those of
 * llmperf_fits_to_calib(), llmperf_load_calib() and llmperf_calib_complete(). */
LLMPERF_API llmperf_status llmperf_fits_name(const llmperf_fits *fits, const llmperf_hw *hw,
                                             const llmperf_fits_naming *naming,
                                             llmperf_calib **ret_calib, llmperf_error *error);

/* How well an entry predicts samples of its own key and library. coverage_frac: share of samples
 * within the 90 % interval. False: no sample matches. */
typedef struct llmperf_fit_score {
    llmperf_calib_quality quality;
    double coverage_frac;
} llmperf_fit_score;
LLMPERF_API bool llmperf_fit_judge(const llmperf_samples *samples, const llmperf_hw *hw,
                                   const llmperf_fit_options *options,
                                   const llmperf_calib_entry *entry, llmperf_fit_score *ret_score);

/* The table of fits: errors beside those of the roofline and of one efficiency, and how well they do on
 * `test` (may be empty). Returns how many fits there are. */
LLMPERF_API int llmperf_write_fits(FILE *out, const llmperf_fits *fits, const llmperf_samples *test,
                                   const llmperf_hw *hw, const llmperf_fit_options *options,
                                   bool parameters);

#ifdef __cplusplus
}
#endif

#endif
