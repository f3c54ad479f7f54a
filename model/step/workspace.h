/* SPDX-License-Identifier: MIT */
/* Room for one step, and what the rooms above ask of one. */
#ifndef LLMPERF_STEP_WORKSPACE_H
#define LLMPERF_STEP_WORKSPACE_H

#include "fits.h"
#include "interval.h"

/* The fits of an operator, remembered with what they depend on. */
typedef struct found_entries {
    bool valid;
    uint8_t kind, id, regime, dtype, stored, collective;
    bool single; /* a product with one row */
    int64_t devices;
    double heads, kv_heads, head_dim, value_dim;
    double bits; /* of a stored element */
    op_entries entries;
} found_entries;

struct llmperf_workspace {
    int capacity; /* operators */
    int count;    /* those of the last step */
    llmperf_op *ops;
    llmperf_time *times;
    llmperf_gradient gradient; /* of the operator at hand */
    found_entries *found;      /* by position in a step */
    uint64_t keys;             /* of the calibration that they were looked up in */
    interval_sum sum; /* for whoever asks for one interval at a time */
};

/* The fits of ops[at]: those of the operator that stood there in the last step if it was alike, else
 * looked up. */
const op_entries *entries_at(llmperf_workspace *w, const llmperf_calib *calib, int at);

/* Emits, times and adds `times` equal steps to *total, and to *interval unless that is NULL (the config
 * has a calibration). The operators stay in the workspace. Returns their number; -1, with nothing
 * added, when it has no room for them. */
int step_add(llmperf_workspace *w, const llmperf_config *c, const llmperf_segment *segments,
             int segment_count, double times, llmperf_total *total, interval_sum *interval);

/* The whole prefill of `batch` prompts likewise. Returns the number of steps. */
double prefill_add(llmperf_workspace *w, const llmperf_config *c, int64_t batch,
                   llmperf_total *ret_total, interval_sum *interval);

#endif
