/* SPDX-License-Identifier: MIT */
/*
 * Intervals of summed times. docs/model.md, "Uncertainty":
 *   - the parameters of one fit err together wherever it is used: their share of the variance is
 *     v' C v, with v = sum of time x d(log time)/d(parameter) over all operators of that fit;
 *   - repeats of one shape share one residual; shapes of a fit correlate with its rho;
 *   - fits of different kinds are independent;
 *   - what borrowing from another part adds is one error for all of them;
 *   - an engine profile's residual is one error of the whole step; its parameters, of which the entries
 *     of several fits are made, have one covariance of their logarithms;
 *   - operators without a fit stay bounds: they may take up to `spread` times longer;
 *   - no low end is below what the part's peaks allow, by more than an efficiency may exceed them.
 */
#include <math.h>
#include <string.h>

#include "host.h"
#include "interval.h"
#include "llmperf/engine.h"
#include "config_object.h"
#include "engine_object.h"
#include "profile.h"
#include "time_op.h"

/* The least time of one launch. A link's latency is often an assumption, and so no floor. */
static double floor_of(const llmperf_op *op, const llmperf_hw *hw)
{
    if (op->kind != LLMPERF_KIND_COLLECTIVE)
        return time_op(op, hw, NULL, NULL, NULL);
    const llmperf_link *link = llmperf_hw_link(hw, op->devices);
    return link ? op->link_bytes / link->bytes_per_s : 0;
}

void interval_begin(interval_sum *sum, const llmperf_calib *calib, double residual)
{
    const size_t entries = (size_t)calib->entry_count;
    sum->time_s = sum->launch_s = sum->bound_s = sum->floor_s = 0;
    sum->residual = residual;
    memset(sum->vector, 0, sizeof sum->vector[0] * entries);
    memset(sum->linear, 0, sizeof sum->linear[0] * entries);
    memset(sum->square, 0, sizeof sum->square[0] * entries);
    memset(sum->host, 0, sizeof sum->host);
}

void interval_add(interval_sum *sum, const llmperf_config *c, const llmperf_op *op,
                  const llmperf_time *time, const llmperf_gradient *gradient, double times)
{
    double t = op->repeat * times * time->time_s;
    bool fitted = false;
    sum->time_s += t;
    sum->floor_s += op->repeat * times * floor_of(op, c->hw);
    if (op->kind != LLMPERF_KIND_COLLECTIVE)
        sum->launch_s += op->repeat * times * time->launch_s;
    for (int i = 0; i < gradient->count; i++) {
        uint8_t entry = gradient->entry[i];
        if (entry == LLMPERF_CALIB_NO_ENTRY)
            continue;
        fitted = true;
        for (int p = 0; p < LLMPERF_PARAM_COUNT; p++)
            sum->vector[entry][p] += t * gradient->dlog[i][p];
        /* an operator joined from two fits carries the residual of each half */
        double share = t / gradient->count;
        sum->linear[entry] += share;
        sum->square[entry] += share * share;
    }
    if (!fitted)
        sum->bound_s += t;
}

void interval_add_host(interval_sum *sum, const llmperf_config *c, const llmperf_segment *segments,
                       int segment_count, double times, double host_s)
{
    sum->time_s += times * host_s;
    if (!(host_s > 0))
        return;
    const llmperf_host *host = &c->calib->host;
    double layers, sequences;
    host_counts(c, segments, segment_count, &layers, &sequences);
    /* a host that overlaps nothing (norm 1): its seconds are the step's */
    sum->host[LLMPERF_ENGINE_STEP] += times * host->step_s;
    sum->host[LLMPERF_ENGINE_LAYER] += times * host->layer_s * layers;
    sum->host[LLMPERF_ENGINE_SEQUENCE] += times * host->sequence_s * sequences;
}

/* v' C v of a profile's parameters; the entries' gradients are passed on to what they are made of. */
static double profile_variance(const interval_sum *sum, const llmperf_config *c)
{
    const llmperf_calib *calib = c->calib;
    const llmperf_host *host = &calib->host;
    llmperf_engine_part part = {0};
    double v[LLMPERF_ENGINE_PARAM_COUNT], d[LLMPERF_ENGINE_PARAM_COUNT], variance = 0;
    memcpy(part.param, host->param, sizeof part.param);
    memcpy(v, sum->host, sizeof v);
    for (int e = host->first_entry; e < calib->entry_count; e++)
        for (int p = 0; p < LLMPERF_PARAM_COUNT; p++) {
            if (sum->vector[e][p] == 0)
                continue;
            engine_derivative(&part, c->hw, &calib->entry[e], (llmperf_param)p, d);
            for (int k = 0; k < LLMPERF_ENGINE_PARAM_COUNT; k++)
                v[k] += sum->vector[e][p] * d[k] * host->param[k];
        }
    for (int k = 0; k < LLMPERF_ENGINE_PARAM_COUNT; k++)
        for (int l = 0; l < LLMPERF_ENGINE_PARAM_COUNT; l++)
            variance += v[k] * host->covariance[k][l] * v[l];
    return fmax(variance, 0);
}

/* z with P(|N(0,1)| < z) = confidence, by bisection of the error function. */
double normal_quantile(double confidence)
{
    double low = 0, high = 40;
    for (int i = 0; i < 80; i++) {
        double middle = (low + high) / 2;
        if (erf(middle / sqrt(2)) < confidence)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Variance of the sum by the fits' own parameters and residuals. */
static double fits_variance(const interval_sum *sum, const llmperf_calib *calib)
{
    double variance = 0;
    for (int e = 0; e < calib->entry_count; e++) {
        const llmperf_calib_entry *entry = &calib->entry[e];
        const double *v = sum->vector[e];
        double parameters = 0;
        if (sum->linear[e] == 0) /* times nothing here */
            continue;
        for (int p = 0; p < LLMPERF_PARAM_COUNT; p++)
            for (int q = 0; v[p] != 0 && q < LLMPERF_PARAM_COUNT; q++)
                parameters += v[p] * entry->covariance[p][q] * v[q];
        double rho = entry->correlation;
        double residual = entry->residual * entry->residual *
                          ((1 - rho) * sum->square[e] + rho * sum->linear[e] * sum->linear[e]);
        variance += fmax(parameters, 0) + residual;
    }
    return variance;
}

llmperf_estimate interval_of(interval_sum *sum, const llmperf_config *c, double spread)
{
    const llmperf_calib *calib = c->calib;
    /* a profile's residual was found on models that it has not seen: it holds what its fits of
     * operators miss; what its parameters are not known to comes on top */
    double variance = calib->host.engine[0] ? profile_variance(sum, c) : fits_variance(sum, calib);
    double fitted = sum->time_s - sum->bound_s, lent = calib->borrowed * fitted;
    double whole = sum->residual * fitted;
    variance += lent * lent + whole * whole;
    double s = fitted > 0 ? sqrt(variance) / fitted : 0;
    if (sum->confidence != c->workload.confidence) {
        sum->confidence = c->workload.confidence;
        sum->quantile = normal_quantile(sum->confidence);
    }
    double factor = exp(sum->quantile * s);
    double least = sum->floor_s / llmperf_param_limits(LLMPERF_PARAM_MEMORY).most;
    return (llmperf_estimate){
        .value = sum->time_s,
        /* rounding must not put the value outside */
        .low = fmin(sum->time_s, fmax(least, fitted / factor + sum->bound_s)),
        .high = fmax(sum->time_s, fitted * factor + sum->bound_s * spread),
    };
}
