/* SPDX-License-Identifier: MIT */
/* Decode steps at several batches and contexts, each emitted once. */
#ifndef LLMPERF_PREDICT_DECODE_STEPS_H
#define LLMPERF_PREDICT_DECODE_STEPS_H

#include "workspace.h"
#include "config_object.h"

/* Sums of the compute and memory terms of a step, of its dense operators and of all. */
typedef struct step_sums {
    double dense_compute, dense_memory, compute, memory;
} step_sums;

/* Rates that compute and memory are held against: the datasheet's (calib NULL), or those of a
 * calibration with each fit's ratio of efficiencies moved by z standard deviations. */
typedef struct rate_set {
    const llmperf_calib *calib;
    double z;
} rate_set;

enum { RATES_DATASHEET, RATES_CALIBRATED, RATES_LOW, RATES_HIGH, RATE_SETS };

typedef struct decode_step {
    int64_t batch, past;
    double time_s, attention_s;
    step_sums sums[RATE_SETS];
} decode_step;

typedef struct decode_steps {
    const llmperf_config *c;
    llmperf_workspace *workspace;
    bool used[RATE_SETS];
    rate_set rates[RATE_SETS];
    llmperf_crossings per_op[RATE_SETS]; /* of the step of one sequence at the config's context */
    int count, capacity;
    decode_step *step;
} decode_steps;

/* datasheet, calibrated: for which rates; calib: whose. Errors: LLMPERF_E_MEMORY. */
llmperf_status decode_steps_new(const llmperf_config *c, llmperf_workspace *workspace,
                                bool datasheet, const llmperf_calib *calib,
                                decode_steps **ret_steps, llmperf_error *error);
void decode_steps_free(decode_steps *steps);

/* The step; valid until the next call. */
const decode_step *decode_step_at(decode_steps *steps, int64_t batch, int64_t past);

/* Takes over the step that stands in the workspace, with its sums. */
void decode_steps_add(decode_steps *steps, int64_t batch, int64_t past, const llmperf_total *total);

/* What memory and compute cross at (crossing.c); either may be NULL. */
void crossings_of(decode_steps *steps, llmperf_crossings *ret_datasheet,
                  llmperf_crossings *ret_calibrated);

#endif
