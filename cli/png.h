/* SPDX-License-Identifier: MIT */
/* Charts as PNG, by the module that links librsvg. */
#ifndef LLMPERF_CLI_PNG_H
#define LLMPERF_CLI_PNG_H

#include "llmperf/plot.h"

/* Writes the SVG of a plot as PNG, `scale` pixels for each of its own. Errors: LLMPERF_E_UNSUPPORTED
 * in a build without the module, and those of the module. */
llmperf_status png_write(FILE *out, const llmperf_plot *plot, const llmperf_plot_style *style,
                         double scale, llmperf_error *error);

#endif
