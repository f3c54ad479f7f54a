/* SPDX-License-Identifier: MIT */
/* How well fits agree with their samples, as a table. */
#include <math.h>
#include <stdio.h>

#include "llmperf/fit.h"
#include "calib_object.h"
#include "entry.h"

static void put_percent(FILE *out, double frac)
{
    fprintf(out, " %7.1f", 100 * frac);
}

static void put_head(FILE *out, bool test)
{
    fprintf(out, "%-44s %8s %7s %7s %7s %7s %7s %8s %8s%s\n", "errors in %", "samples", "mean",
            "median", "P90", "bias", "unseen", "roofline", "constant", test ? "  in 90 %" : "");
}

static void put_quality(FILE *out, const char *what, const llmperf_calib_quality *q,
                        double coverage)
{
    fprintf(out, "%-44s %8lld", what, (long long)q->samples);
    put_percent(out, q->mean_frac);
    put_percent(out, q->median_frac);
    put_percent(out, q->p90_frac);
    put_percent(out, q->bias_frac);
    if (q->left_out_frac > 0)
        put_percent(out, q->left_out_frac);
    else
        fprintf(out, " %7s", "-");
    fprintf(out, " %8.1f %8.1f", 100 * q->roofline_frac, 100 * q->constant_frac);
    if (coverage >= 0)
        fprintf(out, " %8.1f", 100 * coverage);
    fprintf(out, "\n");
}

static void put_parameters(FILE *out, const llmperf_calib_entry *e)
{
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++) {
        if (!(e->fitted & UINT64_C(1) << i))
            continue;
        fprintf(out, "    %-20s %12.5g +- %.2g\n", llmperf_param_name((llmperf_param)i),
                e->param[i], sqrt(e->covariance[i][i]));
    }
    fprintf(out, "    %-20s %12.3g  correlation in a family %.2f, %lld families\n", "residual",
            e->residual, e->correlation, (long long)e->quality.groups);
}

int llmperf_write_fits(FILE *out, const llmperf_fits *fits, const llmperf_samples *test,
                       const llmperf_hw *hw, const llmperf_fit_options *options, bool parameters)
{
    if (!out || !fits || !test || !hw_is_sound(hw))
        return 0;
    int good = 0;
    put_head(out, test->count > 0);
    for (int i = 0; i < fits->count; i++) {
        const llmperf_fit_one *one = &fits->fit[i];
        const llmperf_calib_entry *e = &one->entry;
        char key[96], what[160];
        llmperf_fit_score score;
        llmperf_calib_describe(&e->key, key, sizeof key);
        snprintf(what, sizeof what, "%s%s%s", key, e->library[0] ? ", " : "", e->library);
        if (one->status != LLMPERF_OK) {
            fprintf(out, "%-44s no fit: %s\n", what, one->why);
            continue;
        }
        good++;
        put_quality(out, what, &e->quality, -1);
        if (llmperf_fit_judge(test, hw, options, e, &score))
            put_quality(out, "  test", &score.quality, score.coverage_frac);
        if (e->quality.warm + e->quality.refused > 0)
            fprintf(out,
                    "  left out: %lld warm, %lld faster than the roofline, windowed or disturbed\n",
                    (long long)e->quality.warm, (long long)e->quality.refused);
        if (e->quality.points < e->quality.samples)
            fprintf(out, "  fitted on %lld samples spread over the shapes, scored on all\n",
                    (long long)e->quality.points);
        if (e->remarks[0])
            fprintf(out, "  %s\n", e->remarks);
        if (parameters)
            put_parameters(out, e);
    }
    return good;
}
