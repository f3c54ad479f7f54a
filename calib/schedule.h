/* SPDX-License-Identifier: MIT */
/* What a session measures, and in which order. */
#ifndef LLMPERF_CALIB_SCHEDULE_H
#define LLMPERF_CALIB_SCHEDULE_H

#include "llmperf/measure.h"
#include "llmperf/samples.h"

/* Indices into the names of the samples of a session. */
typedef struct sample_names {
    int32_t hw, library, best_library, version, own_library, own_version;
} sample_names;

/* The word of the column `op` for a probe. */
llmperf_sample_kind schedule_kind(const llmperf_probe *probe);

/* A probe as the sample that measuring it gives, its times apart. */
llmperf_sample schedule_sample(const sample_names *names, const llmperf_probe *probe);

/* Probes that are still to be measured, in order: every one once, then some of them again. */
typedef struct schedule {
    int count, all; /* of `index`; with those that the samples hold already */
    int *index;     /* into the plan's probes; owned */
} schedule;

/* Errors: LLMPERF_E_MEMORY. */
llmperf_status schedule_make(const llmperf_probe_plan *plan, const llmperf_samples *samples,
                             const sample_names *names, schedule *ret_schedule,
                             llmperf_error *error);
void schedule_free(schedule *s);

#endif
