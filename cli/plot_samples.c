/* SPDX-License-Identifier: MIT */
#include "plot_samples.h"

#include <string.h>

#include "option.h"

enum { BAD_ROWS_SHOWN = 5 };

static void bad_row(bool refused, const char *text, void *context)
{
    int64_t *bad = context;
    if (refused && ++*bad <= BAD_ROWS_SHOWN)
        fprintf(stderr, "llmperf: %s\n", text);
}

llmperf_status plot_samples_read(const char *files, llmperf_samples *samples, llmperf_error *error)
{
    int64_t bad = 0;
    const llmperf_samples_options options = {.visit = bad_row, .context = &bad};
    const char *cursor = files, *word;
    size_t length;
    llmperf_status status = LLMPERF_OK;
    while (status == LLMPERF_OK && option_words_next(&cursor, &word, &length)) {
        char path[LLMPERF_PATH_MAX];
        if (length >= sizeof path)
            return llmperf_fail(error, LLMPERF_E_IO, "a file name is too long");
        memcpy(path, word, length);
        path[length] = '\0';
        status = llmperf_samples_read(samples, path, &options, error);
    }
    if (status == LLMPERF_OK && bad > BAD_ROWS_SHOWN)
        fprintf(stderr, "llmperf: ... and %lld more bad rows, left out\n",
                (long long)(bad - BAD_ROWS_SHOWN));
    return status;
}

llmperf_status plot_samples_residuals(const llmperf_samples *samples,
                                      const llmperf_chart_filter *filter, llmperf_plot *plot,
                                      llmperf_error *error)
{
    llmperf_comparison comparison = {0};
    llmperf_status status = llmperf_chart_rows(samples, filter, &comparison, error);
    if (status == LLMPERF_OK)
        status = llmperf_plot_residuals(&comparison, plot, error);
    if (status == LLMPERF_OK) {
        snprintf(plot->title, sizeof plot->title, "Measured over predicted on %s",
                 filter->hw->name);
        snprintf(plot->subtitle, sizeof plot->subtitle,
                 "each sample against its size; %s%s%s; blue within the %d %% interval",
                 filter->calib ? "calibration " : "no calibration: predictions are the roofline",
                 filter->calib ? filter->calib->name : "",
                 filter->calib && filter->calib->borrowed > 0 ? ", borrowed" : "",
                 (int)(100 * (filter->confidence > 0 ? filter->confidence : 0.9) + 0.5));
    }
    llmperf_comparison_free(&comparison);
    return status;
}
