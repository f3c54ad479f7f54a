/* SPDX-License-Identifier: MIT */
/*
 * Some entries of a document's top alone: who looks through many files for a name needs two lines of each,
 * and parsing all of them takes a hundred times as long.
 */
#include <stdlib.h>
#include <string.h>

#include "doc_build.h"

/* Start of the line after `at`. */
static const char *next_line(const char *at, const char *end)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline + 1 : end;
}

/* Does an entry of the top start at this line? What belongs to one is indented, a comment or a "- item". */
static bool starts_entry(const char *line, const char *end)
{
    return line < end && !strchr(" \t\r\n#-", *line);
}

static bool has_key(const char *line, const char *end, const char *key)
{
    size_t length = strlen(key);
    return (size_t)(end - line) > length && memcmp(line, key, length) == 0 && line[length] == ':';
}

static bool is_wanted(const char *line, const char *end, const char *const *keys, unsigned *found)
{
    for (int i = 0; keys[i]; i++)
        if (has_key(line, end, keys[i])) {
            *found |= 1u << i;
            return true;
        }
    return false;
}

static bool holds(const char *text, size_t size, const char *word)
{
    return memmem(text, size, word, strlen(word)) != NULL;
}

/* Copies the wanted entries. False: they are not told by lines alone, as in JSON or with quoted keys. */
static bool cut(const char *text, size_t size, const char *const *keys, char *ret_text,
                size_t *ret_size)
{
    const char *end = text + size;
    unsigned found = 0;
    bool wanted = false;
    size_t used = 0;
    for (const char *line = text, *next; line < end; line = next) {
        next = next_line(line, end);
        if (starts_entry(line, end))
            wanted = is_wanted(line, end, keys, &found);
        if (!wanted)
            continue;
        memcpy(ret_text + used, line, (size_t)(next - line));
        used += (size_t)(next - line);
    }
    *ret_size = used;
    for (int i = 0; keys[i]; i++)
        if (!(found & 1u << i) && holds(text, size, keys[i]))
            return false;
    return used > 0;
}

llmperf_status doc_load_entries_text(const char *name, const char *text, size_t size,
                                     const char *const *keys, doc **ret_doc, llmperf_error *error)
{
    size_t used = 0;
    char *part = malloc(size + 1);
    if (!part)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "%s: not enough memory to read it", name);
    bool is_cut = cut(text, size, keys, part, &used);
    llmperf_status status =
        doc_load_text(name, is_cut ? part : text, is_cut ? used : size, ret_doc, error);
    free(part);
    return status;
}

llmperf_status doc_load_entries(const char *path, const char *const *keys, doc **ret_doc,
                                llmperf_error *error)
{
    char *text;
    size_t size;
    llmperf_status status = doc_read_file(path, &text, &size, error);
    if (status != LLMPERF_OK)
        return status;
    status = doc_load_entries_text(path, text, size, keys, ret_doc, error);
    free(text);
    return status;
}
