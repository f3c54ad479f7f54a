/* SPDX-License-Identifier: MIT */
/* How alike parts are. */
#ifndef LLMPERF_ENGINE_KIN_H
#define LLMPERF_ENGINE_KIN_H

#include "llmperf/spec.h"

/* How far one part is from another (choose.c); below 0: nothing carries over. ret_kin: of one
 * architecture. */
double hw_distance(const llmperf_hw *from, const llmperf_hw *to, bool *ret_kin);

#endif
