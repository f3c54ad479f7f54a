/* SPDX-License-Identifier: MIT */
/* What a config is resolved by (config.c). */
#ifndef LLMPERF_SPEC_CONFIG_H
#define LLMPERF_SPEC_CONFIG_H

#include "llmperf/predict.h"
#include "config_object.h"

/* Vector arithmetic (norms, activations): fp32 where the part has it, else the next best. */
llmperf_dtype vector_dtype_of(const llmperf_hw *hw);

bool is_processor(const llmperf_hw *hw); /* kind: cpu */

/* The workload with the weights' format as it was asked for: a case of it holds the same formats,
 * where one of c->workload would put a checkpoint's main format in the place of all others. */
llmperf_workload config_asked(const llmperf_config *c);

/* Both head counts divide among tp devices (or KV heads are replicated evenly). */
bool tp_is_legal(const llmperf_model *model, int64_t tp);

/* Errors: LLMPERF_E_USAGE for an illegal degree or a value the model forbids (legal ones listed),
 * LLMPERF_E_UNSUPPORTED when the part has no usable peak or no link for tp > 1. */
llmperf_status config_init(llmperf_config *ret_config, const llmperf_model *model,
                           const llmperf_hw *hw, const llmperf_calib *calib,
                           const llmperf_workload *workload, llmperf_error *error);

#endif
