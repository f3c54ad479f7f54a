/* SPDX-License-Identifier: MIT */
/* Files of measured operators, and the words that choose among their rows: what `fit` and `plot`
 * share. In a build with the measuring room alone (LLMPERF_HAVE_CALIB). */
#ifndef LLMPERF_CLI_SAMPLE_FILES_H
#define LLMPERF_CLI_SAMPLE_FILES_H

#include "llmperf/samples.h"
#include "words.h"

/* Adds the samples of files (NULL-terminated); `map`: "their=ours". Bad rows are reported on stderr
 * and left out. */
llmperf_status sample_files_read(const char *const *paths, const words *map,
                                 llmperf_samples *samples, llmperf_error *error);

/* LLMPERF_E_USAGE for a word that is none of the column `op`; for one that is no dtype. Dtypes get the
 * names that samples carry: bfloat16 becomes bf16. */
llmperf_status sample_files_check_kinds(const words *kinds, llmperf_error *error);
llmperf_status sample_files_check_dtypes(words *dtypes, llmperf_error *error);

#endif
