/* SPDX-License-Identifier: MIT */
/* Charts of measurements: in a build with the measuring room alone (LLMPERF_HAVE_CALIB). */
#ifndef LLMPERF_CLI_PLOT_SAMPLES_H
#define LLMPERF_CLI_PLOT_SAMPLES_H

#include "llmperf/chart.h"
#include "sample_files.h"

/* As given on the command line: lists with commas; NULL = not given. */
typedef struct plot_selection {
    const char *files, *map, *library, *dtype, *op;
} plot_selection;

typedef struct plot_samples {
    words files, map, library, dtype, op;
    llmperf_samples samples;
    llmperf_sample_filter filter; /* points into the words */
} plot_samples;

/* Reads the files and what chooses among their rows. plot_samples_close() also after a failure. */
llmperf_status plot_samples_open(const plot_selection *selection, plot_samples *ret,
                                 llmperf_error *error);
void plot_samples_close(plot_samples *s);

#endif
