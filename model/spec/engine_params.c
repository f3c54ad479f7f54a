/* SPDX-License-Identifier: MIT */
/*
 * Parameters of engine profiles: names, limits, and what is typical.
 */
#include <string.h>

#include "config.h"
#include "llmperf/engine.h"
#include "entry.h"
#include "engine_field.h"

/* name; typical: about the middle of what fits to public runs give, on processors where it is not 0;
 * range as physics allows it */
static const struct {
    const char *name;
    double typical, on_cpu;
    llmperf_param_range range;
} PARAMS[LLMPERF_ENGINE_PARAM_COUNT] = {
    [LLMPERF_ENGINE_WEIGHT] = {"weight_efficiency", 0.75, 0.75, {0, 1.05, true}},
    [LLMPERF_ENGINE_KV] = {"kv_efficiency", 0.75, 0.5, {0, 1.05, true}},
    [LLMPERF_ENGINE_HEADS] = {"head_reads", 4, 0, {0, 1e3, true}},
    [LLMPERF_ENGINE_COMPUTE] = {"compute_efficiency", 0.6, 0.5, {0, 1.05, true}},
    [LLMPERF_ENGINE_STORED] = {"stored_efficiency", 0.6, 0, {0, 1, true}},
    [LLMPERF_ENGINE_EXPERTS] = {"expert_rows", 16, 0, {0, 1e4, false}},
    [LLMPERF_ENGINE_ATTENTION] = {"attention_efficiency", 0.4, 0.15, {0, 1.05, true}},
    [LLMPERF_ENGINE_SCORE] = {"score_bytes", 1, 0, {0, 1e4, false}},
    [LLMPERF_ENGINE_LAYER] = {"layer_s", 25e-6, 0, {0, 10, false}},
    [LLMPERF_ENGINE_STEP] = {"step_s", 300e-6, 0, {0, 100, false}},
    [LLMPERF_ENGINE_SEQUENCE] = {"sequence_s", 15e-6, 0, {0, 10, false}},
    [LLMPERF_ENGINE_HOP] = {"hop_s", 12e-6, 0, {0, 10, false}},
    [LLMPERF_ENGINE_LINK] = {"link_efficiency", 0.4, 0, {0, 1.05, true}},
    [LLMPERF_ENGINE_REQUEST] = {"request_s", 0.02, 0, {0, 100, false}},
    [LLMPERF_ENGINE_MIXED] = {"mixed_frac", 0.2, 0, {0, 10, false}},
    [LLMPERF_ENGINE_DECODE] = {"decode_efficiency", 1, 0.02, {0, 1.05, true}},
    [LLMPERF_ENGINE_WEIGHT_FP16] = {"weight_fp16", 1, 0, {0, 10, true}},
    [LLMPERF_ENGINE_WEIGHT_BF16] = {"weight_bf16", 1, 0, {0, 10, true}},
    [LLMPERF_ENGINE_WEIGHT_8] = {"weight_8bit", 1, 0, {0, 10, true}},
    [LLMPERF_ENGINE_WEIGHT_4] = {"weight_4bit", 1, 0, {0, 10, true}},
    [LLMPERF_ENGINE_COMPUTE_FP16] = {"compute_fp16", 1, 0, {0, 10, true}},
    [LLMPERF_ENGINE_COMPUTE_BF16] = {"compute_bf16", 1, 0, {0, 10, true}},
    [LLMPERF_ENGINE_COMPUTE_8] = {"compute_8bit", 1, 0, {0, 10, true}},
    [LLMPERF_ENGINE_COMPUTE_4] = {"compute_4bit", 1, 0, {0, 10, true}},
    [LLMPERF_ENGINE_ROWS_FP16] = {"short_rows_fp16", 0, 0.3, {0, 1, false}},
    [LLMPERF_ENGINE_ROWS_BF16] = {"short_rows_bf16", 0, 0.3, {0, 1, false}},
    [LLMPERF_ENGINE_ROWS_8] = {"short_rows_8bit", 0, 0.3, {0, 1, false}},
    [LLMPERF_ENGINE_ROWS_4] = {"short_rows_4bit", 0, 0.3, {0, 1, false}},
};

const char *llmperf_engine_param_name(llmperf_engine_param param)
{
    return (unsigned)param < LLMPERF_ENGINE_PARAM_COUNT ? PARAMS[param].name : "?";
}

llmperf_engine_param llmperf_engine_param_parse(const char *name)
{
    if (!name)
        return LLMPERF_ENGINE_PARAM_COUNT;
    for (int i = 0; i < LLMPERF_ENGINE_PARAM_COUNT; i++)
        if (strcmp(name, PARAMS[i].name) == 0)
            return (llmperf_engine_param)i;
    return LLMPERF_ENGINE_PARAM_COUNT;
}

llmperf_param_range llmperf_engine_param_limits(llmperf_engine_param param)
{
    if (!IS_BELOW(param, LLMPERF_ENGINE_PARAM_COUNT))
        return (llmperf_param_range){0};
    return PARAMS[param].range;
}

double engine_param_typical(llmperf_engine_param param)
{
    return PARAMS[param].typical;
}

bool is_processor(const llmperf_hw *hw)
{
    return strcmp(hw->kind, "cpu") == 0;
}

double engine_typical_on(const llmperf_hw *hw, llmperf_engine_param param)
{
    return is_processor(hw) && PARAMS[param].on_cpu > 0 ? PARAMS[param].on_cpu
                                                        : PARAMS[param].typical;
}

bool engine_param_applies(const llmperf_hw *hw, llmperf_engine_param param)
{
    if (param == LLMPERF_ENGINE_HEADS || param == LLMPERF_ENGINE_STORED ||
        param == LLMPERF_ENGINE_EXPERTS)
        return !is_processor(hw);
    return param < LLMPERF_ENGINE_DECODE || is_processor(hw);
}
