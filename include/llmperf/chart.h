/* SPDX-License-Identifier: MIT */
/* Charts of measured operators: what llmperf/plot.h draws of samples. Part of libllmperf-calib. */
#ifndef LLMPERF_CHART_H
#define LLMPERF_CHART_H

#include "llmperf/plot.h"
#include "llmperf/samples.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which samples: those of the part that match the words and did not run from a cache. */
typedef struct llmperf_chart_filter {
    const llmperf_hw *hw;
    const llmperf_calib *calib; /* NULL = none */
    /* libraries NULL = the calibration's, where the samples have it; else all */
    llmperf_sample_filter words;
    bool unfused;      /* attention: the batched product of queries and keys (attn_scores) */
    double confidence; /* of intervals; 0 = 0.9 */
} llmperf_chart_filter;

/*
 * A row for each sample, with its prediction; groups "gemm bf16", "attn_decode bf16, KV fp8". What
 * was left out (other parts and libraries, operands from a cache, operators that the part cannot
 * be asked for) is counted in comparison->notes.
 * Errors: LLMPERF_E_UNSUPPORTED when nothing is left; LLMPERF_E_MEMORY.
 */
LLMPERF_API llmperf_status llmperf_chart_rows(const llmperf_samples *samples,
                                              const llmperf_chart_filter *filter,
                                              llmperf_comparison *comparison, llmperf_error *error);

/* Measured over predicted, of every sample that the filter passes: a panel for each kind of operator,
 * titled. Errors as above. */
LLMPERF_API llmperf_status llmperf_chart_residuals(const llmperf_samples *samples,
                                                   const llmperf_chart_filter *filter,
                                                   llmperf_plot *plot, llmperf_error *error);

/*
 * Curves of the measured GEMMs over their rows m, each with the predicted one: up to five weight
 * matrices (n, k), square ones where there are, spread over their sizes; with `hidden` those of
 * hidden x hidden alone. Errors as above.
 */
LLMPERF_API llmperf_status llmperf_chart_dense(const llmperf_samples *samples,
                                               const llmperf_chart_filter *filter,
                                               const int64_t *hidden, int hidden_count,
                                               llmperf_curves *curves, llmperf_error *error);

/*
 * Curves of measured attention over the batch, each with the predicted one: of the head layout with
 * most samples, up to four lengths each of prefill and decode; with `prompts` those lengths alone.
 * Errors as above.
 */
LLMPERF_API llmperf_status llmperf_chart_attention(const llmperf_samples *samples,
                                                   const llmperf_chart_filter *filter,
                                                   const int64_t *prompts, int prompt_count,
                                                   llmperf_curves *curves, llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
