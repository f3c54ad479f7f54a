/* SPDX-License-Identifier: MIT */
/*
 * A first program with libllmperf: how fast does a model decode on a part, and how far does
 * batching help? Files in, two numbers out.
 *
 *     cc predict.c $(pkg-config --cflags --libs llmperf) -o predict
 *     ./predict specs/models/llama-3.1-8b.yaml specs/hardware/h100-sxm.yaml
 */
#include <stdio.h>

#include "llmperf/llmperf.h"

static void print(const llmperf_model *model, const llmperf_hw *hw, const llmperf_config *c,
                  const llmperf_prediction *prediction)
{
    const llmperf_crossing *dense = &prediction->datasheet.dense;
    printf("%s on %s, batch %lld\n", llmperf_model_name(model), hw->name,
           (long long)llmperf_config_workload(c)->batch);
    printf("TPOT: %.17g s at best\n", prediction->tpot_s.value);
    if (dense->exists)
        printf("linear layers turn compute-bound at batch %lld\n", (long long)dense->batch);
    else
        printf("linear layers never turn compute-bound: %s\n", dense->why);
    printf("memory holds %lld sequences%s\n", (long long)prediction->memory.max_batch,
           prediction->memory.fits ? "" : "; the asked batch does not fit");
}

int main(int argc, char **argv)
{
    llmperf_model *model = NULL;
    llmperf_config *c = NULL;
    llmperf_hw hw = LLMPERF_HW_INIT;
    llmperf_prediction prediction = LLMPERF_PREDICTION_INIT;
    llmperf_error error = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: predict MODEL HARDWARE\n");
        return LLMPERF_E_USAGE;
    }

    /* 1. What is asked. Zero means default: batch 1, a prompt of 1024, 256 new tokens. */
    llmperf_workload workload = LLMPERF_WORKLOAD_INIT;
    workload.batch = 8;
    workload.prompt = 2048;

    /* 2. What the model and the part are. A Hugging Face config.json does as well. */
    llmperf_status status = llmperf_model_load(argv[1], &model, &error);
    if (status == LLMPERF_OK)
        status = llmperf_hw_load(argv[2], &hw, &error);

    /* 3. Model, part and workload together: defaults filled in, formats chosen, legality checked.
     * The NULL stands for a calibration; without one every time is the roofline bound. */
    if (status == LLMPERF_OK)
        status = llmperf_config_new(model, &hw, NULL, &workload, &c, &error);

    /* 4. The prediction. What does not fit is predicted all the same; memory.fits says so. */
    if (status == LLMPERF_OK)
        status = llmperf_predict(c, &prediction, &error);

    if (status == LLMPERF_OK)
        print(model, &hw, c, &prediction);
    else /* the library never prints: it hands over lines, one per fault, that are safe to show */
        fprintf(stderr, "%s\n", error.text);
    llmperf_config_free(c);
    llmperf_model_free(model);
    return (int)status; /* the status is the exit code that llmperf itself uses */
}
