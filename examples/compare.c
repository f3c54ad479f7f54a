/* SPDX-License-Identifier: MIT */
/*
 * Your measurements beside predictions: each row of a result file (llama-bench, vLLM, SGLang, our CSV ...)
 * finds its model, hardware and engine profile, and is predicted.
 *
 *     cc compare.c $(pkg-config --cflags --libs --static llmperf-bench) -o compare
 *     ./compare examples/data/llama.cpp-cpu-1.1B.csv two-core-xeon
 */
#include <stdio.h>

#include "llmperf/join.h"
#include "llmperf/llmperf.h"

static llmperf_status print(const llmperf_comparison *rows, llmperf_error *error)
{
    llmperf_compare_summary all;
    llmperf_status status = llmperf_compare_summarise(rows, NULL, &all, error);
    if (status != LLMPERF_OK)
        return status;
    for (int i = 0; i < rows->row_count; i++)
        printf("%s,%s,%.17g,%.17g\n", rows->row[i].label, rows->row[i].metric,
               rows->row[i].measured, rows->row[i].predicted.value);
    printf("%d rows, %d skipped; median error %.3g %%, the roofline's mean error %.3g %%\n",
           rows->row_count, rows->skip_count, 100 * all.median_frac, 100 * all.roofline_mape_frac);
    return LLMPERF_OK;
}

int main(int argc, char **argv)
{
    llmperf_join_options options = {0};
    llmperf_join *join = NULL;
    llmperf_error error = {0};
    if (argc != 3) {
        fprintf(stderr, "usage: compare RESULTS HARDWARE\n");
        return LLMPERF_E_USAGE;
    }
    options.hw = argv[2]; /* for rows that do not say */
    llmperf_status status = llmperf_join_new(&options, &join, &error);
    if (status == LLMPERF_OK)
        status = llmperf_join_read(join, argv[1], &error);
    const llmperf_comparison *rows = status == LLMPERF_OK ? llmperf_join_finish(join) : NULL;
    if (status == LLMPERF_OK)
        status = llmperf_join_check(join, &error); /* was anything joined? */
    if (status == LLMPERF_OK)
        status = print(rows, &error);
    if (status != LLMPERF_OK)
        fprintf(stderr, "%s\n", error.text);
    llmperf_join_free(join);
    return (int)status;
}
