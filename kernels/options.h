/* SPDX-License-Identifier: MIT */
/* "key=value,key=value" options of a backend. */
#ifndef LLMPERF_KERNELS_OPTIONS_H
#define LLMPERF_KERNELS_OPTIONS_H

#include "llmperf/backend.h"

typedef enum backend_option_kind {
    BACKEND_OPTION_NUMBER, /* double */
    BACKEND_OPTION_TEXT,   /* char[LLMPERF_PATH_MAX] */
    BACKEND_OPTION_DTYPES, /* uint64_t of bits 1 << dtype; "fp8+int8" */
} backend_option_kind;

/* A row of a backend's option table, which ends with a NULL key. */
typedef struct backend_option {
    const char *key;
    backend_option_kind kind;
    size_t offset; /* into the backend's own struct */
    double min, max;
} backend_option;

/* Reads `text` (NULL = nothing) into `target`. All faults are told in one run.
 * Errors: LLMPERF_E_USAGE. */
llmperf_status backend_options_parse(const char *backend, const backend_option *rows,
                                     const char *text, void *target, llmperf_error *error);

#endif
