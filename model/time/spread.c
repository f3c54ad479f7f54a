/* SPDX-License-Identifier: MIT */
/*
 * How far published measurements lie above the roofline: the other end of an uncalibrated bound.
 * docs/model.md, "Bounds", names the data, what was left out, and how the figures were computed.
 */
#include "llmperf/predict.h"
#include "entry.h"

double llmperf_spread(llmperf_spread_class spread)
{
    if (!IS_BELOW(spread, LLMPERF_SPREAD_COUNT))
        return 0;
    static const double p95[LLMPERF_SPREAD_COUNT] = {
        [LLMPERF_SPREAD_DECODE_STEP] = 5.6,  /* 2,401 points, 32 parts */
        [LLMPERF_SPREAD_PREFILL_STEP] = 6.0, /* 291 points, 25 parts */
    };
    return p95[spread];
}
