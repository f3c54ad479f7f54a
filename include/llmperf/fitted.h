/* SPDX-License-Identifier: MIT */
/*
 * What a fit leaves: the fit of one kind of operator, and a profile's entry for one part, with how good
 * they are. For programs that print fits; libllmperf itself hands them out as opaque (calib.h, engine.h),
 * as they grow with every parameter. Part of libllmperf-calib.
 */
#ifndef LLMPERF_FITTED_H
#define LLMPERF_FITTED_H

#include "llmperf/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How good a fit is; errors are |predicted / measured - 1|, fractions. All 0 = not known. */
typedef struct llmperf_calib_quality {
    int64_t samples, points; /* scored; of these, the fit used */
    int64_t groups;          /* shape families */
    int64_t warm, refused;   /* rows left out: operands in a cache; faster than the roofline ... */
    double mean_frac, median_frac, p90_frac, bias_frac;
    double rms_log;                      /* of log(measured / predicted) */
    double left_out_frac;                /* mean error of groups that the fit did not see */
    double roofline_frac, constant_frac; /* mean errors of the datasheet and of two efficiencies */
    double flop_least, flop_most, bytes_least, bytes_most, time_least_s, time_most_s;
} llmperf_calib_quality;

struct llmperf_calib_entry {
    double param[LLMPERF_PARAM_COUNT];
    double covariance[LLMPERF_PARAM_COUNT][LLMPERF_PARAM_COUNT]; /* of the natural parameters */
    double residual;       /* standard deviation of log(measured / predicted) */
    double correlation;    /* rho of residuals within the kind, 0..1 */
    llmperf_calib_key key; /* what it is for */
    uint64_t fitted;       /* bit i: param[i] was fitted; the others were set or left out */
    bool compute_is_reads; /* its compute term stands for reads through the caches: memory time */
    char library[48], version[48];
    char remarks[LLMPERF_TEXT_MAX]; /* which parameters were fixed and why */
    llmperf_calib_quality quality;
};

/* How good a profile is on one part; errors are |predicted / measured - 1|, fractions. */
typedef struct llmperf_engine_quality {
    int64_t rows, models; /* fitted on */
    int64_t refused;      /* rows left out: faster than the roofline ... */
    double median_frac, mean_frac, p90_frac, bias_frac;
    /* of models that the fit did not see; 0 = there was one model only */
    double unseen_median_frac, unseen_p90_frac, unseen_coverage_frac;
    double unseen_part_frac; /* median, from the other parts alone; 0 = there are none */
    double roofline_frac, constant_frac; /* medians of the datasheet and of one efficiency */
} llmperf_engine_quality;

/* An engine on one part. */
struct llmperf_engine_part {
    char hw[LLMPERF_NAME_MAX];
    bool serving;      /* fitted to served requests; else to static batches */
    char versions[96]; /* of the engine, as its rows say */
    double param[LLMPERF_ENGINE_PARAM_COUNT];
    double error[LLMPERF_ENGINE_PARAM_COUNT]; /* standard error of log(param) */
    /* of log(param), with the squares of `error` in its diagonal; all 0 where they are not known */
    double covariance[LLMPERF_ENGINE_PARAM_COUNT][LLMPERF_ENGINE_PARAM_COUNT];
    uint32_t fitted; /* bit i: the rows tell param[i]; else it is that of like parts */
    /* standard deviation of log(measured / predicted) of a whole step, models never seen, beside what
     * the covariance of the parameters explains */
    double decode_residual, prefill_residual;
    double borrowed; /* added to it; 0 = the part's own. Set where it is lent */
    char remarks[LLMPERF_TEXT_MAX];
    llmperf_engine_quality quality;
};

#ifdef __cplusplus
}
#endif

#endif
