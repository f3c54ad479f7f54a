/* SPDX-License-Identifier: MIT */
/* JSON: a tree, an entry a line, indented by depth. */
#include <stdio.h>

#include "formats.h"

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

static void new_line(const sink *s)
{
    fputc('\n', s->out);
    for (int i = 0; i < s->depth; i++)
        fputs("  ", s->out);
}

/* The comma and the indent before an entry, and its key. */
static void begin_entry(sink *s, const char *key, bool is_first)
{
    if (s->depth > 0) {
        if (!is_first)
            fputc(',', s->out);
        new_line(s);
    }
    if (key) {
        json_text(s->out, key);
        fputs(": ", s->out);
    }
}

static void put_open(sink *s, const char *key, bool is_first, bool is_array)
{
    begin_entry(s, key, is_first);
    fputc(is_array ? '[' : '{', s->out);
}

static void put_close(sink *s, bool is_empty, bool is_array)
{
    if (!is_empty)
        new_line(s);
    fputc(is_array ? ']' : '}', s->out);
}

static void put_word(sink *s, const char *key, bool is_first, const char *word)
{
    begin_entry(s, key, is_first);
    fputs(word ? word : "null", s->out);
}

static void put_text(sink *s, const char *key, bool is_first, const char *text)
{
    begin_entry(s, key, is_first);
    json_text(s->out, text);
}

const sink_format json_sink = {
    .open = put_open, .close = put_close, .word = put_word, .text = put_text};
