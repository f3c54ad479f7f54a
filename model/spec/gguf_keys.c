/* SPDX-License-Identifier: MIT */
/* Metadata of a GGUF header, and tensors that must agree with them. */
#include <stdio.h>
#include <string.h>

#include "gguf_read.h"

enum { FAULTS_MAX = 8 }; /* one bad number disagrees with every layer */

bool gguf_fail(gguf_reader *r, int part, int64_t at, llmperf_status status, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    if (r->faults++ >= FAULTS_MAX)
        return false;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    llmperf_fail(r->error, status, "%s: byte %lld: %s", r->file->parts[part], (long long)at, text);
    if (r->status == LLMPERF_OK)
        r->status = status;
    return false;
}

/* ---- metadata -------------------------------------------------------------------------------- */

/* "llama.block_count" for "block_count"; fills `key`. NULL when it is absent. */
const gguf_value *gguf_find(gguf_reader *r, const char *suffix, char *key, size_t size)
{
    snprintf(key, size, "%s.%s", r->name, suffix);
    return gguf_get(r->file, key);
}

bool gguf_is_whole(uint32_t type)
{
    return type != GGUF_F32 && type != GGUF_F64 && type != GGUF_STRING && type != GGUF_ARRAY &&
           type != GGUF_BOOL;
}

static bool in_range(gguf_reader *r, const gguf_value *value, int64_t n, int64_t min, int64_t max)
{
    if (n >= min && n <= max)
        return true;
    return gguf_fail(r, 0, value->at, LLMPERF_E_SPEC, "%s is %lld; %lld to %lld are allowed",
                     value->key, (long long)n, (long long)min, (long long)max);
}

/* A number; arrays are refused. False when it is absent or faulty. */
bool gguf_number(gguf_reader *r, const char *suffix, int64_t min, int64_t max, int64_t *ret_value)
{
    char key[256], described[64];
    const gguf_value *value = gguf_find(r, suffix, key, sizeof key);
    if (!value)
        return false;
    if (!gguf_is_whole(value->type))
        return gguf_fail(r, 0, value->at, LLMPERF_E_SPEC, "%s is of type %s; an integer is allowed",
                         key, gguf_describe(value, described, sizeof described));
    if (!in_range(r, value, value->integer, min, max))
        return false;
    *ret_value = value->integer;
    return true;
}

bool gguf_number_required(gguf_reader *r, const char *suffix, int64_t min, int64_t max,
                          int64_t *ret_value)
{
    char key[256];
    if (gguf_find(r, suffix, key, sizeof key))
        return gguf_number(r, suffix, min, max, ret_value);
    return GGUF_FAIL_HEADER(
        r, "%s is missing; an integer is allowed (dimensions are never guessed)", key);
}

int64_t gguf_number_or(gguf_reader *r, const char *suffix, int64_t max, int64_t absent)
{
    int64_t value = absent;
    gguf_number(r, suffix, 0, max, &value);
    return value;
}

/* A number, or an array with one for each block. False when it is absent or faulty. */
bool gguf_number_of_layer(gguf_reader *r, const char *suffix, int64_t i, int64_t max,
                          int64_t *ret_value)
{
    char key[256], described[64];
    const gguf_value *value = gguf_find(r, suffix, key, sizeof key);
    if (!value)
        return false;
    if (value->type != GGUF_ARRAY)
        return gguf_number(r, suffix, 0, max, ret_value);
    if (!value->items || value->count <= i)
        return gguf_fail(r, 0, value->at, LLMPERF_E_SPEC,
                         "%s is an %s; an integer, or one for each block, is allowed", key,
                         gguf_describe(value, described, sizeof described));
    if (!in_range(r, value, value->items[i], 0, max))
        return false;
    *ret_value = value->items[i];
    return true;
}

bool gguf_flag(gguf_reader *r, const char *suffix, bool absent)
{
    char key[256], described[64];
    const gguf_value *value = gguf_find(r, suffix, key, sizeof key);
    if (!value)
        return absent;
    if (value->type != GGUF_BOOL) {
        gguf_fail(r, 0, value->at, LLMPERF_E_SPEC, "%s is of type %s; a bool is allowed", key,
                  gguf_describe(value, described, sizeof described));
        return absent;
    }
    return value->integer != 0;
}

/* A text of 1 to `most` bytes; NULL when it is absent or faulty. */
const char *gguf_text_of(gguf_reader *r, const char *key, int64_t most)
{
    char described[64];
    const gguf_value *value = gguf_get(r->file, key);
    if (!value)
        return NULL;
    if (value->type != GGUF_STRING)
        gguf_fail(r, 0, value->at, LLMPERF_E_SPEC, "%s is of type %s; a string is allowed", key,
                  gguf_describe(value, described, sizeof described));
    else if (!value->text || value->count > most)
        gguf_fail(r, 0, value->at, LLMPERF_E_SPEC, "%s is of %lld bytes; at most %lld are allowed",
                  key, (long long)value->count, (long long)most);
    else if (strlen(value->text) != (size_t)value->count)
        gguf_fail(r, 0, value->at, LLMPERF_E_SPEC, "%s holds a NUL byte; text is allowed", key);
    else if (value->count > 0)
        return value->text;
    return NULL;
}

/* ---- agreement ------------------------------------------------------------------------------- */

static const char *shape_of(const gguf_tensor *t, char *buffer, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < t->dim_count && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%lld", i ? " x " : "",
                                 (long long)t->dims[i]);
    return buffer;
}

/* The tensor's dimension (1-based) must be what the metadata make it. */
bool gguf_agree(gguf_reader *r, const gguf_tensor *t, int dimension, int64_t want,
                const char *because)
{
    char shape[128];
    if (!t || t->dims[dimension - 1] == want)
        return true;
    return GGUF_FAIL_TENSOR(
        r, t, "%s is %s, but %s.%s makes dimension %d of it %lld; agreement is allowed", t->name,
        shape_of(t, shape, sizeof shape), r->name, because, dimension, (long long)want);
}

bool gguf_agree_matrix(gguf_reader *r, const gguf_tensor *t, int64_t in, const char *because_in,
                       int64_t out, const char *because_out)
{
    return gguf_agree(r, t, 1, in, because_in) && gguf_agree(r, t, 2, out, because_out);
}
