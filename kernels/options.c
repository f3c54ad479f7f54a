/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <stdio.h>
#include <string.h>

enum { KEYS_MAX = 96, WORD_MAX = LLMPERF_PATH_MAX };

static llmperf_status parse_dtypes(const char *key, const char *text, uint64_t *ret_set,
                                   llmperf_error *error)
{
    uint64_t set = 0;
    char word[32];
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, "+");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1),
                 at);
        llmperf_dtype dtype = llmperf_dtype_parse(word);
        if (dtype == LLMPERF_DTYPE_NONE)
            return llmperf_fail(error, LLMPERF_E_USAGE,
                                "backend option '%s' takes dtypes such as fp8+int8; found '%s'",
                                key, word);
        set |= (uint64_t)1 << dtype;
        at += length + (at[length] == '+');
    }
    *ret_set = set;
    return LLMPERF_OK;
}

static llmperf_status set_one(const backend_option *row, const char *value, void *target,
                              llmperf_error *error)
{
    char *field = (char *)target + row->offset;
    if (row->kind == BACKEND_OPTION_TEXT) {
        snprintf(field, LLMPERF_PATH_MAX, "%s", value);
        return LLMPERF_OK;
    }
    if (row->kind == BACKEND_OPTION_DTYPES) {
        uint64_t set = 0;
        llmperf_status status = parse_dtypes(row->key, value, &set, error);
        memcpy(field, &set, sizeof set);
        return status;
    }
    double number;
    if (!llmperf_parse_double(value, &number) || !(number >= row->min && number <= row->max))
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "backend option '%s' takes a number from %g to %g; found '%s'",
                            row->key, row->min, row->max, value);
    memcpy(field, &number, sizeof number);
    return LLMPERF_OK;
}

static llmperf_status unknown(const char *backend, const backend_option *rows, const char *key,
                              llmperf_error *error)
{
    const char *keys[KEYS_MAX + 1];
    int count = 0;
    for (; rows[count].key && count < KEYS_MAX; count++)
        keys[count] = rows[count].key;
    keys[count] = NULL;
    const char *near = llmperf_nearest(key, keys);
    return llmperf_fail(error, LLMPERF_E_USAGE, "backend %s has no option '%s'%s%s%s", backend, key,
                        near ? ", did you mean '" : "; docs/backends.md lists them",
                        near ? near : "", near ? "'?" : "");
}

llmperf_status backend_options_parse(const char *backend, const backend_option *rows,
                                     const char *text, void *target, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    char word[WORD_MAX];
    for (const char *at = text ? text : ""; *at;) {
        size_t length = strcspn(at, ",");
        llmperf_status one = LLMPERF_OK;
        if (length >= sizeof word)
            return llmperf_fail(error, LLMPERF_E_USAGE, "a backend option is too long");
        memcpy(word, at, length);
        word[length] = '\0';
        at += length + (at[length] == ',');
        char *equals = strchr(word, '=');
        const backend_option *row = rows;
        if (equals)
            *equals = '\0';
        while (row->key && strcmp(row->key, word) != 0)
            row++;
        if (!row->key)
            one = unknown(backend, rows, word, error);
        else if (!equals || !equals[1])
            one = llmperf_fail(error, LLMPERF_E_USAGE,
                               "backend option '%s' has no value; "
                               "key=value,... is allowed",
                               word);
        else
            one = set_one(row, equals + 1, target, error);
        status = status == LLMPERF_OK ? one : status;
    }
    return status;
}
