/* SPDX-License-Identifier: MIT */
/* The half of `fit` that takes measurements of whole engines. */
#ifndef LLMPERF_CLI_FIT_ENGINE_H
#define LLMPERF_CLI_FIT_ENGINE_H

#include "common.h"

typedef struct fit_engine_arguments {
    const common_arguments *common;
    const char *hw, *engine, *source, *licence, *date, *residuals;
    const char *const *aliases; /* NULL-terminated; may be NULL */
    const char *const *map;     /* "their=ours"; may be NULL */
    bool quick, parameters;
} fit_engine_arguments;

/* Is the file one of end-to-end runs, no samples of operators? */
llmperf_status fit_engine_is_for(const char *path, const char *const *map, bool *ret_runs,
                                 llmperf_error *error);

/* Reads the runs, fits, prints the table, writes the profile. */
llmperf_status fit_engine_run(const fit_engine_arguments *arguments, const char *const *paths,
                              llmperf_error *error);

#endif
