/* SPDX-License-Identifier: MIT */
#include "sink.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void sink_open(sink *s, FILE *out, const sink_format *format)
{
    memset(s, 0, sizeof *s);
    s->out = out;
    s->format = format;
    s->is_table = format->separator;
}

llmperf_status sink_close(sink *s, llmperf_error *error)
{
    if (!s->is_table)
        fputc('\n', s->out);
    return s->out_of_memory ? llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory") : LLMPERF_OK;
}

/* ---- tables ------------------------------------------------------------------------------------------- */

void sink_new_header(sink *s)
{
    s->header_done = false;
}

/* The first row waits until its header, which is written from the same fields, has ended. */
void sink_begin_row(sink *s)
{
    if (!s->is_table)
        return;
    s->first_cell = true;
    s->row = s->header_done ? s->out : open_memstream(&s->first_row, &s->first_row_size);
    if (!s->row)
        s->out_of_memory = true;
}

static void end_first_row(sink *s)
{
    /* a memory stream that could not grow says so in its error flag alone */
    bool ok = s->row && !ferror(s->row);
    ok &= s->row && fclose(s->row) == 0;
    ok &= s->first_row != NULL; /* NULL when fclose() could not trim the block */
    if (ok)
        fprintf(s->out, "\n%s", s->first_row);
    else
        s->out_of_memory = true;
    free(s->first_row);
    s->first_row = NULL;
    s->header_done = true;
}

void sink_end_row(sink *s)
{
    if (!s->is_table)
        return;
    if (!s->header_done)
        end_first_row(s);
    fputc('\n', s->out);
    s->row = NULL;
}

/* The name of the column: "memory.weight_bytes", "list.0". */
static void put_header(sink *s, const char *key)
{
    if (!s->first_cell)
        fputc(s->format->separator, s->out);
    if (s->path[0])
        fprintf(s->out, "%s%s", s->path, key ? "." : "");
    if (key)
        fputs(key, s->out);
    else if (s->depth > 0 && s->is_array[s->depth - 1])
        fprintf(s->out, ".%d", s->index[s->depth - 1]++);
}

/* False when there is nothing to write to. */
static bool begin_cell(sink *s, const char *key)
{
    if (!s->row)
        return false;
    if (!s->header_done)
        put_header(s, key);
    if (!s->first_cell)
        fputc(s->format->separator, s->row);
    s->first_cell = false;
    return true;
}

static void push_path(sink *s, const char *key)
{
    size_t length = strlen(s->path);
    s->path_length[s->depth] = length;
    if (key)
        snprintf(s->path + length, sizeof s->path - length, "%s%s", length ? "." : "", key);
    else if (s->depth > 0 && s->is_array[s->depth - 1])
        snprintf(s->path + length, sizeof s->path - length, ".%d", s->index[s->depth - 1]++);
}

/* ---- both --------------------------------------------------------------------------------------------- */

/* Is the entry that comes the first of its object or array? */
static bool is_first(sink *s)
{
    if (s->depth == 0)
        return true;
    bool first = !s->filled[s->depth - 1];
    s->filled[s->depth - 1] = true;
    return first;
}

static void push(sink *s, const char *key, bool is_array)
{
    if (s->depth >= SINK_DEPTH_MAX)
        return;
    if (s->is_table)
        push_path(s, key);
    else
        s->format->open(s, key, is_first(s), is_array);
    s->filled[s->depth] = false;
    s->is_array[s->depth] = is_array;
    s->index[s->depth] = 0;
    s->depth++;
}

static void pop(sink *s)
{
    s->depth--;
    if (s->is_table)
        s->path[s->path_length[s->depth]] = '\0';
    else
        s->format->close(s, !s->filled[s->depth], s->is_array[s->depth]);
}

void sink_begin_object(sink *s, const char *key)
{
    push(s, key, false);
}
void sink_end_object(sink *s)
{
    pop(s);
}
void sink_begin_array(sink *s, const char *key)
{
    push(s, key, true);
}
void sink_end_array(sink *s)
{
    pop(s);
}

/* NULL = null, an empty cell. */
static void put_word(sink *s, const char *key, const char *word)
{
    if (!s->is_table)
        s->format->word(s, key, is_first(s), word);
    else if (begin_cell(s, key))
        fputs(word ? word : "", s->row);
}

void sink_number(sink *s, const char *key, double value)
{
    char text[LLMPERF_DOUBLE_TEXT_MAX];
    put_word(s, key, isfinite(value) ? llmperf_format_double(value, text) : NULL);
}

void sink_integer(sink *s, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    put_word(s, key, text);
}

void sink_bool(sink *s, const char *key, bool value)
{
    put_word(s, key, value ? "true" : "false");
}

void sink_null(sink *s, const char *key)
{
    put_word(s, key, NULL);
}

void sink_text(sink *s, const char *key, const char *value)
{
    if (!value)
        sink_null(s, key);
    else if (!s->is_table)
        s->format->text(s, key, is_first(s), value);
    else if (begin_cell(s, key))
        s->format->cell(s->row, value);
}

/* ---- what results share --------------------------------------------------------------------------------- */

void sink_head(sink *s)
{
    sink_text(s, "llmperf", llmperf_version());
    sink_integer(s, "schema", LLMPERF_JSON_SCHEMA);
}

void sink_positive(sink *s, const char *key, double value)
{
    if (value > 0)
        sink_number(s, key, value);
    else
        sink_null(s, key);
}

void sink_notes(sink *s, const char *key, const llmperf_notes *notes)
{
    if (s->is_table)
        return;
    sink_begin_array(s, key);
    for (int i = 0; notes && i < notes->count; i++)
        sink_text(s, NULL, notes->text[i]);
    sink_end_array(s);
}
