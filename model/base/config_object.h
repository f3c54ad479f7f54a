/* SPDX-License-Identifier: MIT */
/* What a config is inside. */
#ifndef LLMPERF_CONFIG_OBJECT_H
#define LLMPERF_CONFIG_OBJECT_H

#include "calib_object.h"
#include "llmperf/predict.h"
#include "model_object.h"

/* Weights as a case holds them, by class. */
typedef struct llmperf_config_weights {
    double bytes_per[LLMPERF_WEIGHT_COUNT]; /* bytes of one weight */
    uint8_t dtype[LLMPERF_WEIGHT_COUNT];
    uint8_t gemm_dtype[LLMPERF_WEIGHT_COUNT]; /* arithmetic of a GEMM with such weights */
} llmperf_config_weights;

/*
 * A model on a part under a workload, resolved and checked: defaults filled in, formats and the
 * arithmetic dtype chosen, sharding legal. Borrows model, hw (NULL = counting only) and calib
 * (NULL = ideal); they must outlive it. Read-only afterwards, so threads may share it.
 */
struct llmperf_config {
    const llmperf_model *model;
    const llmperf_hw *hw;
    const llmperf_calib *calib;
    llmperf_workload workload; /* every default filled in */

    double act_bytes_per, kv_bytes_per;
    uint8_t attention_dtype, index_dtype, vector_dtype;
    uint8_t asked_weight_dtype; /* NONE = each class of weights as the file has it */
    /* the model's own weights (embedding, head) and each layer shape's */
    llmperf_config_weights outside, layer[LLMPERF_LAYER_KINDS_MAX];
    llmperf_notes notes;
};

#endif
