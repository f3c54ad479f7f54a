/* SPDX-License-Identifier: MIT */
/* The host's part of a step, by an engine profile. */
#ifndef LLMPERF_ENGINE_HOST_H
#define LLMPERF_ENGINE_HOST_H

#include "llmperf/predict.h"
#include "config_object.h"

/* Layers and sequences of a step, as the host counts them. */
void host_counts(const llmperf_config *c, const llmperf_segment *segments, int segment_count,
                 double *ret_layers, double *ret_sequences);

/* What the host adds to a step whose operators take ops_s, launch_s of it launches (collectives
 * apart); 0 without a profile. */
double host_time(const llmperf_config *c, const llmperf_segment *segments, int segment_count,
                 double ops_s, double launch_s);

/*
 * What the host adds to a step of `layers` layers and `sequences` sequences, whose operators take
 * ops_s, launch_s of it launches that their fits count: norm_p(host, operators) - operators, with
 * host = step + layer x layers + sequence x sequences - launches. Never below 0.
 */
double host_time_of(const llmperf_host *host, double layers, double sequences, double ops_s,
                    double launch_s);

#endif
