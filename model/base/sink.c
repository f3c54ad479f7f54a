/* SPDX-License-Identifier: MIT */

#include "sink.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void sink_open(sink *s, FILE *out, bool csv)
{
    memset(s, 0, sizeof *s);
    s->out = out;
    s->csv = csv;
}

llmperf_status sink_close(sink *s, llmperf_error *error)
{
    if (!s->csv)
        fputc('\n', s->out);
    return s->out_of_memory ? llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory") : LLMPERF_OK;
}

void sink_begin_row(sink *s)
{
    if (!s->csv)
        return;
    s->header = open_memstream(&s->header_text, &s->header_size);
    s->row = open_memstream(&s->row_text, &s->row_size);
    s->first_cell = true;
    if (!s->header || !s->row)
        s->out_of_memory = true;
}

void sink_end_row(sink *s)
{
    if (!s->csv)
        return;
    /* a memory stream that could not grow says so in its error flag alone */
    bool ok = s->header && s->row && !ferror(s->header) && !ferror(s->row);
    ok &= s->header && fclose(s->header) == 0;
    ok &= s->row && fclose(s->row) == 0;
    s->header = s->row = NULL;
    ok &= s->header_text && s->row_text; /* NULL when fclose() could not trim the block */
    if (ok) {
        if (!s->header_done)
            fprintf(s->out, "%s\n", s->header_text);
        fprintf(s->out, "%s\n", s->row_text);
        s->header_done = true;
    } else {
        s->out_of_memory = true;
    }
    free(s->header_text);
    free(s->row_text);
    s->header_text = s->row_text = NULL;
}

void csv_text(FILE *out, const char *raw)
{
    char text[1024];
    bool formula = raw[0] && strchr("=+-@\t\r", raw[0]);
    llmperf_escape(raw, text, sizeof text); /* control bytes must not reach a terminal */
    if (!formula && !strpbrk(text, ",\"")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    if (formula)
        fputc('\'', out);
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            fputc('"', out);
        fputc(*c, out);
    }
    fputc('"', out);
}

/* A character beyond ASCII; bytes that are no UTF-8 as \xNN, so that JSON stays JSON. Returns how
 * many bytes it took. */
static size_t json_character(FILE *out, const unsigned char *at)
{
    char one[5] = {(char)at[0]}, safe[20];
    size_t length = 1;
    for (; length < 4 && (at[length] & 0xc0) == 0x80; length++)
        one[length] = (char)at[length];
    llmperf_escape(one, safe, sizeof safe);
    for (const char *c = safe; *c; c++)
        fputs(*c == '\\' ? "\\\\" : (char[]){*c, '\0'}, out);
    return length;
}

static void json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        switch (*c) {
        case '"':
            fputs("\\\"", out);
            break;
        case '\\':
            fputs("\\\\", out);
            break;
        case '\n':
            fputs("\\n", out);
            break;
        case '\t':
            fputs("\\t", out);
            break;
        default:
            if (*c < 0x20 || *c == 0x7f)
                fprintf(out, "\\u%04x", *c);
            else if (*c >= 0x80)
                c += json_character(out, c) - 1;
            else
                fputc(*c, out);
        }
    }
    fputc('"', out);
}

/* JSON: the comma and the indent before an entry, and its key. */
static void begin_entry(sink *s, const char *key)
{
    if (s->depth > 0) {
        int level = s->depth - 1;
        if (s->filled[level])
            fputc(',', s->out);
        s->filled[level] = true;
        fputc('\n', s->out);
        for (int i = 0; i < s->depth; i++)
            fputs("  ", s->out);
    }
    if (key) {
        json_text(s->out, key);
        fputs(": ", s->out);
    }
}

/* CSV: the column's name, "memory.weight_bytes"; false when there is nothing to write to. */
static bool begin_cell(sink *s, const char *key)
{
    if (!s->header || !s->row)
        return false;
    if (!s->first_cell) {
        fputc(',', s->header);
        fputc(',', s->row);
    }
    s->first_cell = false;
    if (s->path[0])
        fprintf(s->header, "%s%s", s->path, key ? "." : "");
    if (key)
        fputs(key, s->header);
    else if (s->depth > 0 && s->is_array[s->depth - 1])
        fprintf(s->header, ".%d", s->index[s->depth - 1]++);
    return true;
}

static void push(sink *s, const char *key, bool is_array)
{
    if (s->depth >= SINK_DEPTH_MAX)
        return;
    if (s->csv) {
        size_t length = strlen(s->path);
        s->path_length[s->depth] = length;
        if (key)
            snprintf(s->path + length, sizeof s->path - length, "%s%s", length ? "." : "", key);
        else if (s->depth > 0 && s->is_array[s->depth - 1])
            snprintf(s->path + length, sizeof s->path - length, ".%d", s->index[s->depth - 1]++);
    } else {
        begin_entry(s, key);
        fputc(is_array ? '[' : '{', s->out);
    }
    s->filled[s->depth] = false;
    s->is_array[s->depth] = is_array;
    s->index[s->depth] = 0;
    s->depth++;
}

static void pop(sink *s)
{
    s->depth--;
    if (s->csv) {
        s->path[s->path_length[s->depth]] = '\0';
        return;
    }
    if (s->filled[s->depth]) {
        fputc('\n', s->out);
        for (int i = 0; i < s->depth; i++)
            fputs("  ", s->out);
    }
    fputc(s->is_array[s->depth] ? ']' : '}', s->out);
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

/* A value whose text is the same in both formats. */
static void put_plain(sink *s, const char *key, const char *json, const char *csv)
{
    if (s->csv) {
        if (begin_cell(s, key))
            fputs(csv, s->row);
        return;
    }
    begin_entry(s, key);
    fputs(json, s->out);
}

void sink_number(sink *s, const char *key, double value)
{
    char text[LLMPERF_DOUBLE_TEXT_MAX];
    if (!isfinite(value)) {
        sink_null(s, key);
        return;
    }
    llmperf_format_double(value, text);
    put_plain(s, key, text, text);
}

void sink_integer(sink *s, const char *key, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, value);
    put_plain(s, key, text, text);
}

void sink_bool(sink *s, const char *key, bool value)
{
    const char *text = value ? "true" : "false";
    put_plain(s, key, text, text);
}

void sink_null(sink *s, const char *key)
{
    put_plain(s, key, "null", "");
}

void sink_text(sink *s, const char *key, const char *value)
{
    if (!value) {
        sink_null(s, key);
    } else if (s->csv) {
        if (begin_cell(s, key))
            csv_text(s->row, value);
    } else {
        begin_entry(s, key);
        json_text(s->out, value);
    }
}
