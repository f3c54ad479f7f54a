/* SPDX-License-Identifier: MIT */
/* Lists on the command line: "vllm,nccl" as words of their own. */
#ifndef LLMPERF_CLI_WORDS_H
#define LLMPERF_CLI_WORDS_H

#include "llmperf/base.h"

enum { WORDS_MAX = 64 };

/* The words of an OPTION_WORDS text, cut up. Start zeroed. */
typedef struct words {
    char *text;        /* owned, as is the list */
    const char **word; /* NULL-terminated; NULL = the option was not given */
} words;

/* Cuts the words of option --`name`; text NULL: none. Errors: LLMPERF_E_USAGE for more than `most`
 * `nouns`, LLMPERF_E_MEMORY. */
llmperf_status words_split(const char *name, const char *text, int most, const char *nouns,
                           words *ret, llmperf_error *error);
void words_free(words *w);
/* NULL where there are none. */
const char *const *words_list(const words *w);

#endif
