/* SPDX-License-Identifier: MIT */
/* Charts of measurements: in a build with the measuring room alone (LLMPERF_HAVE_CALIB). */
#ifndef LLMPERF_CLI_PLOT_SAMPLES_H
#define LLMPERF_CLI_PLOT_SAMPLES_H

#include "llmperf/chart.h"

/* Reads sample files, a list with commas. Bad rows are reported on stderr and left out. */
llmperf_status plot_samples_read(const char *files, llmperf_samples *samples, llmperf_error *error);

/* Measured over predicted, of every sample that the filter passes. */
llmperf_status plot_samples_residuals(const llmperf_samples *samples,
                                      const llmperf_chart_filter *filter, llmperf_plot *plot,
                                      llmperf_error *error);

#endif
