/* SPDX-License-Identifier: MIT */
/* A model's own operators, timed on a device beside their predictions. Part of libllmperf-calib. */
#ifndef LLMPERF_VALIDATE_H
#define LLMPERF_VALIDATE_H

#include "llmperf/compare.h"
#include "llmperf/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Says what is being measured, for progress; `done` of `total`. */
typedef void (*llmperf_validate_progress)(const char *what, int done, int total, void *context);

/*
 * Times every operator of one step of `c` (decode at its batch and context, or the prefill of its
 * prompts in one step) on a device, then the whole step as one forward pass, and adds rows:
 * each operator, the sum of the operators, and the whole step. Operators that the device cannot run
 * are skipped with the reason; the sum then covers the others, and the whole step is skipped.
 * When options->watch is set and the calibration says how fast its memory stream was, sum and whole
 * step are predicted once more with memory as slow as that stream was around each measurement: rows
 * of the groups "sum of operators, memory as now" and "whole step, memory as now", where it matters.
 * Errors: those of the device.
 */
LLMPERF_API llmperf_status llmperf_validate_step(const llmperf_config *c, bool prefill,
                                                 const llmperf_backend *backend, void *handle,
                                                 const llmperf_measure_options *options,
                                                 llmperf_validate_progress progress, void *context,
                                                 llmperf_comparison *comparison,
                                                 llmperf_error *error);

/* Zero means default. */
typedef struct llmperf_validate_options {
    const int64_t *batches; /* each on its own */
    int64_t batch_count;
    bool decode, prefill; /* which steps */
    double time_limit_s;  /* spent on one operator; 1 */
    /* told of each operator; may be NULL */
    void (*visit)(int64_t batch, const char *what, int done, int total, void *context);
    void *context;
} llmperf_validate_options;

/*
 * llmperf_validate_step() for each batch of a workload, a memory stream watching beside it; then notes
 * how fast memory is now and was when the calibration was made, how busy the device was, and whether
 * its products are those that were calibrated. calib NULL = none. Errors: those of
 * llmperf_config_new(), llmperf_probe_plan_make() and the device.
 */
LLMPERF_API llmperf_status llmperf_validate(const llmperf_model *model, const llmperf_hw *hw,
                                            const llmperf_calib *calib,
                                            const llmperf_workload *workload,
                                            const llmperf_opened_device *device,
                                            const llmperf_validate_options *options,
                                            llmperf_comparison *comparison, llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
