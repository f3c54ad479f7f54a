/* SPDX-License-Identifier: MIT */
/* Where a result goes: a file that is replaced once it is complete, or the standard output. */
#ifndef LLMPERF_OUTPUT_H
#define LLMPERF_OUTPUT_H

#include <stdio.h>

#include "llmperf/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llmperf_output {
    FILE *file;
    const char *path;              /* borrowed; NULL = standard output */
    char target[LLMPERF_PATH_MAX]; /* what is replaced: where a symbolic link leads */
    char aside[LLMPERF_PATH_MAX + 32];
    bool terminal; /* standard output is one */
} llmperf_output;

/*
 * Opens a file beside `path` that takes its place when it is closed; a device or a pipe is written to
 * directly. path NULL: the standard output. Errors: LLMPERF_E_IO.
 */
LLMPERF_API llmperf_status llmperf_output_open(const char *path, llmperf_output *ret_output,
                                               llmperf_error *error);

/* Checks that everything was written and puts the file in place; keep = false throws it away.
 * Errors: LLMPERF_E_IO. The output is closed in any case; the standard output stays open. */
LLMPERF_API llmperf_status llmperf_output_close(llmperf_output *output, bool keep,
                                                llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
