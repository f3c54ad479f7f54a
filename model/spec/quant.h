/* SPDX-License-Identifier: MIT */
/* Quantised checkpoints: what a quantization_config says about each class of weights. */
#ifndef LLMPERF_MODEL_SPEC_QUANT_H
#define LLMPERF_MODEL_SPEC_QUANT_H

#include "doc.h"
#include "llmperf/spec.h"
#include "model_object.h"

/* One scheme: the format of quantised weights, and what is left alone. */
typedef struct quant_scheme {
    char name[48];
    llmperf_weight_format format; /* dtype NONE = nothing is quantised */
    uint8_t kv_dtype;             /* NONE = not said */
    bool experts_only, head, embedding;
    doc_node *ignore; /* list of patterns; borrowed from the document */
} quant_scheme;

/*
 * Reads quantization_config (fp8, compressed-tensors, modelopt, mxfp4, awq, gptq, bitsandbytes,
 * hqq), MLX's `quantization`, or the `quantization` of hf_quant_config.json. A method that is not
 * known adds a warning and quantises nothing. Errors: LLMPERF_E_SPEC for values out of range.
 */
llmperf_status quant_read(const doc *document, doc_node *config, quant_scheme *ret_scheme,
                          llmperf_notes *warnings, llmperf_error *error);

/* Sets the formats of layer `number` (0-based) / of the weights outside the layers. */
void quant_layer(const quant_scheme *scheme, int64_t number, llmperf_layer *layer);
void quant_outside(const quant_scheme *scheme, llmperf_model *model);

#endif
