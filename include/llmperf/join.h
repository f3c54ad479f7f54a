/* SPDX-License-Identifier: MIT */
/*
 * Measurements joined with predictions: each row of a result file finds its model, its hardware and
 * what times it, and is set beside the prediction of the same workload. `llmperf compare` is this and
 * a writer. Part of libllmperf-bench.
 */
#ifndef LLMPERF_JOIN_H
#define LLMPERF_JOIN_H

#include "llmperf/compare.h"
#include "llmperf/samples.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How rows are joined; zero means none or default. What a row says is taken; the facts here are for
 * rows that do not say. Borrowed until llmperf_join_free().
 */
typedef struct llmperf_join_options {
    const llmperf_spec_paths *paths; /* NULL = llmperf_spec_paths_default(NULL) */
    /* facts: names or paths of specifications, and what was run. engine: "none" = operators alone; a
     * profile's file serves every row, whatever engine that names */
    const char *model, *hw, *engine;
    int64_t batch, prompt, generate, tp;
    const char *weight_dtype, *act_dtype, *kv_dtype;
    const char *const
        *map; /* "theirs=ours" names of models, hardware and columns, NULL-terminated */
    /* predictions */
    int64_t chunk;           /* most prefill tokens in a step; 0 = 8192 */
    const char *calibration; /* a name, a path, "none"; NULL = each row's engine profile, else the
                              * best for its hardware */
    double confidence;       /* of intervals; 0 = 0.9 */
    bool median;             /* of the requests of a serving run; else their mean */
    /* what rows of a group share, NULL-terminated words of llmperf_join_groups(); NULL = engine, gpu
     * and metric */
    const char *const *group_by;
} llmperf_join_options;

/* Rows that are being joined: names that were looked up, calibrations, what was skipped and why. */
typedef struct llmperf_join llmperf_join;

/* "engine", "version", "gpu", "model", "dtype", "metric", "tp", "batch", "input", "output", "file";
 * NULL-terminated. Static storage. */
LLMPERF_API const char *const *llmperf_join_groups(void);

/* Errors: LLMPERF_E_USAGE for a rule of `map` or a word of `group_by` that is none;
 * LLMPERF_E_MEMORY. */
LLMPERF_API llmperf_status llmperf_join_new(const llmperf_join_options *options,
                                            llmperf_join **ret_join, llmperf_error *error);
LLMPERF_API void llmperf_join_free(llmperf_join *join);

/*
 * Adds the rows of a result file, or of samples of operators; what it is is told by the content. A
 * row that lacks a fact, or of which nothing can be predicted, is skipped with the reason; where
 * options would help they are named as those of `llmperf compare`. A file's text is never opened as a
 * path.
 *   errors: those of llmperf_runs_read() and llmperf_samples_read(); those of loading what the
 *           options name. Rows joined before it stay.
 */
LLMPERF_API llmperf_status llmperf_join_read(llmperf_join *join, const char *path,
                                             llmperf_error *error);
/* The same of one run, and of samples that are in memory. */
LLMPERF_API llmperf_status llmperf_join_run(llmperf_join *join, const llmperf_run *run,
                                            llmperf_error *error);
LLMPERF_API llmperf_status llmperf_join_samples(llmperf_join *join, const llmperf_samples *samples,
                                                llmperf_error *error);

/* Notes what the rows have in common (bounds, borrowed fits, facts that no row took), and gives the
 * rows; they belong to the join. To be called once, after all rows. */
LLMPERF_API const llmperf_comparison *llmperf_join_finish(llmperf_join *join);

/* Was anything joined? LLMPERF_E_USAGE: no, and the text says which facts are missing;
 * LLMPERF_E_UNSUPPORTED: no, and why the first row was skipped. */
LLMPERF_API llmperf_status llmperf_join_check(const llmperf_join *join, llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
