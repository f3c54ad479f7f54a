/* SPDX-License-Identifier: MIT */
/* What an engine profile is inside. */
#ifndef LLMPERF_ENGINE_OBJECT_H
#define LLMPERF_ENGINE_OBJECT_H

#include "llmperf/fitted.h"

#define LLMPERF_ENGINE_PARTS_MAX 48

struct llmperf_engine {
    char name[48];
    int alias_count;
    char aliases[LLMPERF_ALIASES_MAX][LLMPERF_NAME_MAX];
    char source[LLMPERF_TEXT_MAX], licence[LLMPERF_NAME_MAX]; /* of the rows */
    char date[32], digest[32];
    double borrowed; /* standard deviation of log(time) that a part without an entry adds */
    int part_count;
    llmperf_engine_part part[LLMPERF_ENGINE_PARTS_MAX];
};

#endif
