/* SPDX-License-Identifier: MIT */
/*
 * Result files of engines and of serving benchmarks, read as runs. Part of libllmperf-bench.
 */
#ifndef LLMPERF_RESULTS_H
#define LLMPERF_RESULTS_H

#include "llmperf/runs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Told of each row that gives no run: where it is, what it is called ("" = nothing better than its
 * line) and why. Control bytes are escaped. */
typedef void (*llmperf_runs_visit)(const char *file, int64_t line, const char *label,
                                   const char *why, void *context);

typedef struct llmperf_runs_options {
    const char *const *map;   /* "their=ours" column names, NULL-terminated; may be NULL; rules that
                               * name no column of ours are passed over (names of parts, models) */
    bool median;              /* of the requests of a serving run; else their mean */
    llmperf_runs_visit visit; /* may be NULL */
    void *context;
} llmperf_runs_options;

/*
 * Adds the runs of a result file, streaming; the format is told by the content (docs/compare.md
 * lists them). .gz is read where zlib was there at build. What a row does not say stays 0 or "";
 * a row with a fault or without a measurement is reported and left out.
 * Errors: LLMPERF_E_IO; LLMPERF_E_SPEC with FILE:LINE for a garbled file, one of no known format, or
 * one none of whose rows is sound; LLMPERF_E_UNSUPPORTED for a known format that is not read;
 * LLMPERF_E_MEMORY. On failure the runs read before it stay.
 */
LLMPERF_API llmperf_status llmperf_runs_read(llmperf_runs *runs, const char *path,
                                             const llmperf_runs_options *options,
                                             llmperf_error *error);
/* The same from memory; `name` stands for the file in messages. */
LLMPERF_API llmperf_status llmperf_runs_read_text(llmperf_runs *runs, const char *name,
                                                  const char *text, size_t size,
                                                  const llmperf_runs_options *options,
                                                  llmperf_error *error);

/* Does this file hold samples of operators (llmperf_samples_read() takes those)? Errors:
 * LLMPERF_E_IO, LLMPERF_E_MEMORY, LLMPERF_E_UNSUPPORTED. */
LLMPERF_API llmperf_status llmperf_results_are_samples(const char *path,
                                                       const llmperf_runs_options *options,
                                                       bool *ret_samples, llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
