/* SPDX-License-Identifier: MIT */
#include "plot_samples.h"

#include <string.h>

llmperf_status plot_samples_open(const plot_selection *selection, plot_samples *ret,
                                 llmperf_error *error)
{
    memset(ret, 0, sizeof *ret);
    const struct {
        const char *option, *text;
        words *words;
    } all[] = {{"samples", selection->files, &ret->files},
               {"map", selection->map, &ret->map},
               {"library", selection->library, &ret->library},
               {"dtype", selection->dtype, &ret->dtype},
               {"op", selection->op, &ret->op}};
    llmperf_status status = LLMPERF_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all && status == LLMPERF_OK; i++)
        status = words_split(all[i].option, all[i].text, WORDS_MAX, "words", all[i].words, error);
    if (status == LLMPERF_OK)
        status = sample_files_check_kinds(&ret->op, error);
    if (status == LLMPERF_OK)
        status = sample_files_check_dtypes(&ret->dtype, error);
    if (status == LLMPERF_OK && !words_list(&ret->files))
        status = llmperf_fail(error, LLMPERF_E_USAGE,
                              "option '--samples' names no file; FILE.csv, or several with commas, "
                              "is allowed");
    if (status == LLMPERF_OK)
        status = sample_files_read(ret->files.word, &ret->map, &ret->samples, error);
    ret->filter = (llmperf_sample_filter){words_list(&ret->library), words_list(&ret->dtype),
                                          words_list(&ret->op)};
    return status;
}

void plot_samples_close(plot_samples *s)
{
    llmperf_samples_free(&s->samples);
    words_free(&s->files);
    words_free(&s->map);
    words_free(&s->library);
    words_free(&s->dtype);
    words_free(&s->op);
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
                 "each sample against its size; %s%s%s; error: mean of |predicted / measured - 1|, "
                 "inside: the %d %% interval",
                 filter->calib ? "calibration " : "no calibration: predictions are the roofline",
                 filter->calib ? filter->calib->name : "",
                 filter->calib && filter->calib->borrowed > 0 ? ", borrowed" : "",
                 (int)(100 * (filter->confidence > 0 ? filter->confidence : 0.9) + 0.5));
    }
    llmperf_comparison_free(&comparison);
    return status;
}
