/* SPDX-License-Identifier: MIT */
/*
 * A first program with libllmperf: how fast does a model decode on a part, and how far does
 * batching help? Files in, two numbers out.
 *
 *     cc predict.c $(pkg-config --cflags --libs llmperf) -o predict
 *     ./predict specs/models/llama-3.1-8b.yaml specs/hardware/h100-sxm.yaml
 */
#include <stdio.h>
#include <stdlib.h>

#include "llmperf/llmperf.h"

/* The library never prints: it hands over lines, one per fault, that are safe to show. */
static int fail(const llmperf_error *error)
{
    fprintf(stderr, "%s\n", error->text);
    return (int)error->status; /* the status is the exit code that llmperf itself uses */
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: predict MODEL HARDWARE\n");
        return LLMPERF_E_USAGE;
    }

    /* Specifications are plain values: no handles, nothing to free. They are large, so they are
     * better not on a small stack. */
    static llmperf_model model;
    static llmperf_hw hw;
    static llmperf_config c;
    static llmperf_prediction prediction;
    llmperf_error error = {0};

    /* 1. What the model and the part are. A Hugging Face config.json does as well. */
    if (llmperf_model_load(argv[1], &model, &error) != LLMPERF_OK)
        return fail(&error);
    if (llmperf_hw_load(argv[2], &hw, &error) != LLMPERF_OK)
        return fail(&error);

    /* 2. What is asked. Zero means default: batch 1, a prompt of 1024, 256 new tokens. */
    const llmperf_workload workload = {.batch = 8, .prompt = 2048};

    /* 3. Model, part and workload together: defaults filled in, formats chosen, legality checked.
     * The NULL stands for a calibration; without one every time is the roofline bound. */
    if (llmperf_config_init(&c, &model, &hw, NULL, &workload, &error) != LLMPERF_OK)
        return fail(&error);

    /* 4. The prediction. What does not fit is predicted all the same; memory.fits says so. */
    if (llmperf_predict(&c, &prediction, &error) != LLMPERF_OK)
        return fail(&error);

    printf("%s on %s, batch %lld\n", model.name, hw.name, (long long)c.workload.batch);
    printf("TPOT: %.17g s at best\n", prediction.tpot_s.value);
    const llmperf_crossing *dense = &prediction.datasheet.dense;
    if (dense->exists)
        printf("dense layers turn compute-bound at batch %lld\n", (long long)dense->batch);
    else
        printf("dense layers never turn compute-bound: %s\n", dense->why);
    printf("memory holds %lld sequences%s\n", (long long)prediction.memory.max_batch,
           prediction.memory.fits ? "" : "; the asked batch does not fit");
    return EXIT_SUCCESS;
}
