/* SPDX-License-Identifier: MIT */
/* Words of model files for values of enums; and formats that hold for every weight. */
#include "read.h"

const char *const NORM_WORDS[] = {"rms", "layer", "layer_nobias", "bare", NULL};
const char *const QK_NORM_WORDS[] = {"none", "head", "full", "per_head", NULL};

const char *const SSM_WORDS[] = {"none", "mamba", "mamba2", "delta", "kda", "linear", NULL};

const char *spec_ssm_word(int kind)
{
    return SSM_WORDS[kind];
}
const char *spec_norm_word(int norm)
{
    return NORM_WORDS[norm];
}
const char *spec_qk_norm_word(int qk_norm)
{
    return QK_NORM_WORDS[qk_norm];
}

const char *const WEIGHT_WORDS[] = {"embedding", "head",   "attention", "ssm",   "mlp",
                                    "experts",   "shared", "router",    "other", NULL};

const char *spec_weight_word(int weight_class)
{
    return WEIGHT_WORDS[weight_class];
}

void spec_uniform_weights(llmperf_model *model, llmperf_dtype dtype)
{
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        model->weight_dtype[i] = (uint8_t)dtype;
        model->weight_operand[i] = LLMPERF_DTYPE_NONE;
        model->weight_bits[i] = llmperf_dtype_bits(dtype);
    }
}
