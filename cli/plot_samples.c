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
