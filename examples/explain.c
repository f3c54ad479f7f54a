/* SPDX-License-Identifier: MIT */
/*
 * Where does a number come from? Its formula, the formula with the numbers put in, and the source of
 * each input.
 *
 *     cc explain.c $(pkg-config --cflags --libs llmperf) -o explain
 *     ./explain memory.kv_bytes llama-3.1-8b h100-sxm
 */
#include <stdio.h>

#include "llmperf/llmperf.h"

static void print(const llmperf_explanation *x)
{
    printf("%s: %s\n", x->result.name, x->meaning);
    if (!x->exists) {
        printf("  none: %s\n", x->why);
        return;
    }
    printf("  = %.17g %s\n", x->result.value, llmperf_unit_name((llmperf_unit)x->result.unit));
    if (x->result.formula[0])
        printf("  = %s\n  = %s\n", x->result.formula, x->result.numbers);
    else if (x->rule[0])
        printf("  %s\n", x->rule);
    for (int i = 0; i < x->term_count; i++)
        printf("  + %s = %.17g\n", x->terms[i].name, x->terms[i].value);
    for (int i = 0; i < x->input_count; i++)
        printf("  %s = %.17g: %s (%s%s%s)\n", x->inputs[i].symbol, x->inputs[i].value,
               x->inputs[i].meaning, llmperf_origin_name((llmperf_origin)x->inputs[i].origin),
               x->inputs[i].source[0] ? ": " : "", x->inputs[i].source);
}

int main(int argc, char **argv)
{
    llmperf_load_options options = {0};
    llmperf_loaded loaded = {0};
    llmperf_config *config = NULL;
    llmperf_explanation *explanation = NULL;
    llmperf_prediction prediction = LLMPERF_PREDICTION_INIT;
    llmperf_workload workload = LLMPERF_WORKLOAD_INIT;
    llmperf_error error = {0};
    if (argc != 4) {
        fprintf(stderr, "usage: explain FIELD MODEL HARDWARE\n");
        return LLMPERF_E_USAGE;
    }
    options.model = argv[2];
    options.hw = argv[3];
    options.calibration = "none";
    workload.batch = 16;
    llmperf_status status = llmperf_load(&options, &loaded, &error);
    if (status == LLMPERF_OK)
        status =
            llmperf_config_new(loaded.model, loaded.hw, loaded.calib, &workload, &config, &error);
    if (status == LLMPERF_OK)
        status = llmperf_predict(config, &prediction, &error);
    if (status == LLMPERF_OK) {
        llmperf_explain_query query = {0};
        query.name = argv[1];
        query.c = config;
        query.prediction = &prediction;
        query.asked = &workload;
        status = llmperf_explain(&query, &explanation, &error);
    }
    if (status == LLMPERF_OK)
        print(explanation);
    else
        fprintf(stderr, "%s\n", error.text);
    llmperf_explanation_free(explanation);
    llmperf_config_free(config);
    llmperf_loaded_free(&loaded);
    return (int)status;
}
