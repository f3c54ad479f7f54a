/* SPDX-License-Identifier: MIT */
/* What the reader and the writer of engine profiles share. */
#ifndef LLMPERF_SPEC_ENGINE_FIELD_H
#define LLMPERF_SPEC_ENGINE_FIELD_H

#include "llmperf/engine.h"

/* Fields of an engine profile's `quality` (engine_file.c), for its reader and its writer. */
typedef struct engine_field {
    const char *key;
    size_t offset; /* in llmperf_engine_quality */
    bool is_count; /* int64_t, else double */
    double least;
} engine_field;
extern const engine_field ENGINE_QUALITY[];
extern const int ENGINE_QUALITY_COUNT;

#endif
