/* SPDX-License-Identifier: MIT */
/*
 * The interface of the module that turns SVG into PNG. It links librsvg and cairo, so it is opened
 * only to write a PNG: nothing else of llmperf waits for them.
 */
#ifndef LLMPERF_PNG_H
#define LLMPERF_PNG_H

#include <stdio.h>

#include "llmperf/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LLMPERF_PNG_ABI 1
#define LLMPERF_PNG_SYMBOL "llmperf_png_table" /* a llmperf_png_entry */

typedef struct llmperf_png_module {
    int abi; /* LLMPERF_PNG_ABI */
    /*
     * Renders an SVG of `size` bytes with `scale` pixels for each of its own.
     *   errors: LLMPERF_E_USAGE for a picture that is too large, LLMPERF_E_UNSUPPORTED when no font
     *           is installed, LLMPERF_E_IO, LLMPERF_E_MEMORY, LLMPERF_E_BUG for an SVG that librsvg
     *           refuses
     */
    llmperf_status (*write)(FILE *out, const char *svg, size_t size, double scale,
                            llmperf_error *error);
} llmperf_png_module;

typedef const llmperf_png_module *(*llmperf_png_entry)(void);

#ifdef __cplusplus
}
#endif

#endif
