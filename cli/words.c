/* SPDX-License-Identifier: MIT */
#include "words.h"

#include <stdlib.h>
#include <string.h>

#include "option.h"

llmperf_status words_split(const char *name, const char *text, int most, const char *nouns,
                           words *ret, llmperf_error *error)
{
    const char *cursor = text, *start;
    size_t length;
    int count = 0;
    *ret = (words){0};
    if (!text)
        return LLMPERF_OK;
    char *at = ret->text = calloc(strlen(text) + 2, 1);
    ret->word = calloc((size_t)most + 1, sizeof *ret->word);
    if (!ret->text || !ret->word)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    while (option_words_next(&cursor, &start, &length)) {
        if (count == most)
            return llmperf_fail(error, LLMPERF_E_USAGE, "option '--%s' takes at most %d %s", name,
                                most, nouns);
        memcpy(at, start, length);
        ret->word[count++] = at;
        at += length + 1;
    }
    return LLMPERF_OK;
}

void words_free(words *w)
{
    free(w->text);
    free(w->word);
    *w = (words){0};
}

const char *const *words_list(const words *w)
{
    return w->word && w->word[0] ? (const char *const *)w->word : NULL;
}
