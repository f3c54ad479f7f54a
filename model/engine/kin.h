/* SPDX-License-Identifier: MIT */
/* How alike parts are. */
#ifndef LLMPERF_ENGINE_KIN_H
#define LLMPERF_ENGINE_KIN_H

#include "llmperf/spec.h"
#include "engine_object.h"

/* How far one part is from another (choose.c); below 0: nothing carries over. ret_kin: of one
 * architecture. */
double hw_distance(const llmperf_hw *from, const llmperf_hw *to, bool *ret_kin);

/* Standard deviation of the logarithm on such a part: between engines, or between the parts of one. */
double engine_spread_on(const llmperf_hw *hw, llmperf_engine_param param, bool of_parts);

/* How alike two parts are to an engine: the correlation of what it makes of them; 1 = twins, 0 = a
 * processor and a GPU. */
double engine_likeness(const llmperf_hw *a, const llmperf_hw *b);

/* False for an entry whose rows reach less than half of the memory bandwidth: something that they do
 * not tell holds the part up, and other parts must not inherit it. */
bool engine_lends(const llmperf_engine_part *part);

/*
 * The estimate that choose takes, from `count` entries on parts other than `hw`: the best linear one
 * of the logarithms, given how alike the parts are and how well their rows tell each parameter
 * (error[], quality.rows); entries of the other load count for little where there are any of this
 * one. Each parameter lies within what the entries and the typical engine span. ret_nearest: index
 * of the entry most alike, -1 without any. source: docs/engines.md, "Which part"
 */
void engine_mean(const llmperf_engine_part *const *parts, const llmperf_hw *const *parts_hw,
                 int count, const llmperf_hw *hw, bool serving,
                 double ret_param[LLMPERF_ENGINE_PARAM_COUNT], int *ret_nearest);

#endif
