/* SPDX-License-Identifier: MIT */
#include "sample_files.h"

#include <stdio.h>
#include <string.h>

enum { BAD_ROWS_SHOWN = 20 };

typedef struct bad_rows {
    int64_t refused, skipped;
    char first_skipped[LLMPERF_TEXT_MAX];
} bad_rows;

static void bad_row(bool refused, const char *text, void *context)
{
    bad_rows *bad = context;
    if (!refused) {
        if (bad->skipped++ == 0)
            snprintf(bad->first_skipped, sizeof bad->first_skipped, "%s", text);
    } else if (++bad->refused <= BAD_ROWS_SHOWN) {
        fprintf(stderr, "llmperf: %s\n", text);
    }
}

llmperf_status sample_files_read(const char *const *paths, const words *map,
                                 llmperf_samples *samples, llmperf_error *error)
{
    bad_rows bad = {0};
    const llmperf_samples_options options = {
        .map = words_list(map), .visit = bad_row, .context = &bad};
    for (int i = 0; paths[i]; i++) {
        llmperf_status status = llmperf_samples_read(samples, paths[i], &options, error);
        if (status != LLMPERF_OK)
            return status;
    }
    if (bad.refused > BAD_ROWS_SHOWN)
        fprintf(stderr, "llmperf: ... and %lld more bad rows, left out\n",
                (long long)(bad.refused - BAD_ROWS_SHOWN));
    if (bad.skipped > 0)
        fprintf(stderr, "llmperf: %lld rows left out, the first: %s\n", (long long)bad.skipped,
                bad.first_skipped);
    return LLMPERF_OK;
}

/* "gemm, gemv, ..." */
static void list_kinds(const char *const *names, char *buffer, size_t size)
{
    size_t used = 0;
    for (int i = 0; names[i] && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? ", " : "", names[i]);
}

llmperf_status sample_files_check_kinds(const words *kinds, llmperf_error *error)
{
    const char *const *names = llmperf_sample_kind_names();
    for (int i = 0; kinds->word && kinds->word[i]; i++) {
        int k = 0;
        char all[512];
        while (names[k] && strcmp(names[k], kinds->word[i]) != 0)
            k++;
        if (names[k])
            continue;
        const char *near = llmperf_nearest(kinds->word[i], names);
        list_kinds(names, all, sizeof all);
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "option '--op': '%s' is not known%s%s%s; %s are allowed",
                            kinds->word[i], near ? ", did you mean '" : "", near ? near : "",
                            near ? "'?" : "", all);
    }
    return LLMPERF_OK;
}

llmperf_status sample_files_check_dtypes(words *dtypes, llmperf_error *error)
{
    for (int i = 0; dtypes->word && dtypes->word[i]; i++) {
        const char *word = dtypes->word[i];
        llmperf_dtype dtype = llmperf_dtype_parse(word);
        if (dtype == LLMPERF_DTYPE_NONE) {
            const char *near = llmperf_nearest(word, llmperf_dtype_names());
            return llmperf_fail(error, LLMPERF_E_USAGE,
                                "option '--dtype': '%s' is not known%s%s%s; bf16, fp16, fp8, int8, "
                                "int4 and the like are allowed",
                                word, near ? ", did you mean '" : "", near ? near : "",
                                near ? "'?" : "");
        }
        dtypes->word[i] = llmperf_dtype_name(dtype);
    }
    return LLMPERF_OK;
}
