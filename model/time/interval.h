/* SPDX-License-Identifier: MIT */
/* Intervals of summed times (interval.c). */
#ifndef LLMPERF_TIME_INTERVAL_H
#define LLMPERF_TIME_INTERVAL_H

#include "llmperf/predict.h"
#include "config_object.h"
#include "time_op.h"

/* What the operators of one predicted time add up to, per calibration entry. */
typedef struct interval_sum {
    double time_s;
    double launch_s; /* but for collectives */
    double residual; /* standard deviation of log(time) of the whole: an engine profile's */
    double bound_s;  /* of operators without a fit */
    double floor_s;  /* the least that the part's peaks and links allow */
    double vector[LLMPERF_CALIB_ENTRIES_MAX][LLMPERF_PARAM_COUNT]; /* sum of t d(log t)/dp */
    double linear[LLMPERF_CALIB_ENTRIES_MAX], square[LLMPERF_CALIB_ENTRIES_MAX]; /* of t, t^2 */
    /* of a profile's parameters beside the operators: sum of t d(log t)/d(log parameter) */
    double host[LLMPERF_ENGINE_PARAM_COUNT];
    /* z of the confidence that was asked last: many intervals ask for one. 0 = none yet */
    double confidence, quantile;
} interval_sum;

/* Nothing so far; residual: an engine profile's, once for the whole. */
void interval_begin(interval_sum *sum, const llmperf_calib *calib, double residual);

/* Adds op->repeat x `times` launches of an operator that time_op() timed; the config has a
 * calibration. */
void interval_add(interval_sum *sum, const llmperf_config *c, const llmperf_op *op,
                  const llmperf_time *time, const llmperf_gradient *gradient, double times);
llmperf_estimate interval_of(interval_sum *sum, const llmperf_config *c, double spread);

/* Adds the host's part of `times` equal steps, host_s each. */
void interval_add_host(interval_sum *sum, const llmperf_config *c, const llmperf_segment *segments,
                       int segment_count, double times, double host_s);

/* z with P(|N(0,1)| < z) = confidence. */
double normal_quantile(double confidence);

#endif
