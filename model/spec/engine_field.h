/* SPDX-License-Identifier: MIT */
/* What the reader and the writer of engine profiles share. */
#ifndef LLMPERF_SPEC_ENGINE_FIELD_H
#define LLMPERF_SPEC_ENGINE_FIELD_H

#include "llmperf/engine.h"
#include "engine_object.h"

/* Fields of an engine profile's `quality` (engine_file.c), for its reader and its writer. */
typedef struct engine_field {
    const char *key;
    size_t offset; /* in llmperf_engine_quality */
    bool is_count; /* int64_t, else double */
    double least;
} engine_field;
extern const engine_field ENGINE_QUALITY[];
extern const int ENGINE_QUALITY_COUNT;

/* What is typical of engines, where nothing is known of one: about the middle of what fits to public
 * runs give. */
double engine_param_typical(llmperf_engine_param param);

/* The same on a part of the kind of `hw`: processors differ. */
double engine_typical_on(const llmperf_hw *hw, llmperf_engine_param param);

/* False for a parameter that says nothing on a part of the kind of `hw`. */
bool engine_param_applies(const llmperf_hw *hw, llmperf_engine_param param);

#endif
