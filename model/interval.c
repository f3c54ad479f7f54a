/* SPDX-License-Identifier: MIT */
/*
 * Intervals of summed times. docs/model.md, "Uncertainty":
 *   - the parameters of one fit err together wherever it is used: their share of the variance is
 *     v' C v, with v = sum of time x d(log time)/d(parameter) over all operators of that fit;
 *   - repeats of one shape share one residual; shapes of a fit correlate with its rho;
 *   - fits of different kinds are independent;
 *   - what borrowing from another part adds is one error for all of them;
 *   - an engine profile's residual is one error of the whole step;
 *   - operators without a fit stay bounds: they may take up to `spread` times longer.
 */
#include <math.h>
#include <string.h>

#include "internal.h"

void interval_add(interval_sum *sum, const llmperf_case *c, const llmperf_op *op, double times)
{
    llmperf_time time;
    llmperf_gradient gradient;
    llmperf_time_op(op, c->hw, c->calib, &time, &gradient);
    double t = op->repeat * times * time.time_s;
    bool fitted = false;
    sum->time_s += t;
    if (op->kind != LLMPERF_KIND_COLLECTIVE)
        sum->launch_s += op->repeat * times * time.launch_s;
    for (int i = 0; i < gradient.count; i++) {
        uint8_t entry = gradient.entry[i];
        if (entry == LLMPERF_CALIB_NO_ENTRY)
            continue;
        fitted = true;
        for (int p = 0; p < LLMPERF_PARAM_COUNT; p++)
            sum->vector[entry][p] += t * gradient.dlog[i][p];
        /* an operator joined from two fits carries the residual of each half */
        double share = t / gradient.count;
        sum->linear[entry] += share;
        sum->square[entry] += share * share;
    }
    if (!fitted)
        sum->bound_s += t;
}

void interval_add_host(interval_sum *sum, const interval_sum *before, const llmperf_case *c,
                       const llmperf_segment *segments, int segment_count, double times)
{
    double ops_s = (sum->time_s - before->time_s) / times;
    double launch_s = (sum->launch_s - before->launch_s) / times;
    sum->time_s += times * host_time(c, segments, segment_count, ops_s, launch_s);
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

llmperf_estimate interval_of(const interval_sum *sum, const llmperf_calib *calib, double confidence,
                             double spread)
{
    double variance = 0;
    /* a profile's residual was found on models that it has not seen: it holds all of its error */
    int entries = calib->host.engine[0] ? 0 : calib->entry_count;
    for (int e = 0; e < entries; e++) {
        const llmperf_calib_entry *entry = &calib->entry[e];
        const double *v = sum->vector[e];
        double parameters = 0;
        for (int p = 0; p < LLMPERF_PARAM_COUNT; p++)
            for (int q = 0; q < LLMPERF_PARAM_COUNT; q++)
                parameters += v[p] * entry->covariance[p][q] * v[q];
        double rho = entry->correlation;
        double residual = entry->residual * entry->residual *
                          ((1 - rho) * sum->square[e] + rho * sum->linear[e] * sum->linear[e]);
        variance += fmax(parameters, 0) + residual;
    }
    double fitted = sum->time_s - sum->bound_s, lent = calib->borrowed * fitted;
    double whole = sum->residual * fitted;
    variance += lent * lent + whole * whole;
    double s = fitted > 0 ? sqrt(variance) / fitted : 0;
    double factor = exp(normal_quantile(confidence) * s);
    return (llmperf_estimate){
        .value = sum->time_s,
        /* rounding must not put the value outside */
        .low = fmin(sum->time_s, fitted / factor + sum->bound_s),
        .high = fmax(sum->time_s, fitted * factor + sum->bound_s * spread),
    };
}
