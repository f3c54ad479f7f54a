/* SPDX-License-Identifier: MIT */
/* Words of model files for values of enums; and formats that hold for every weight. */
#include "read.h"
#include "model_object.h"

const char *const SPEC_NORM_WORDS[] = {"rms", "layer", "layer_nobias", "bare", NULL};

const char *const SPEC_WEIGHT_WORDS[] = {"embedding", "head",   "attention", "ssm",   "mlp",
                                         "experts",   "shared", "router",    "other", NULL};

const char *spec_norm_word(int norm)
{
    return SPEC_NORM_WORDS[norm];
}

const char *spec_weight_word(int weight_class)
{
    return SPEC_WEIGHT_WORDS[weight_class];
}

void spec_uniform_weights(llmperf_model *model, llmperf_dtype dtype)
{
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        model->weight_dtype[i] = (uint8_t)dtype;
        model->weight_operand[i] = LLMPERF_DTYPE_NONE;
        model->weight_bits[i] = llmperf_dtype_bits(dtype);
    }
}
