/* SPDX-License-Identifier: MIT */
/*
 * JSON by RFC 8259, plus bare NaN, Infinity and -Infinity. The first fault ends the reading; its
 * place is the first character that cannot be right (a wrong word: its first letter; a wrong
 * escape: its backslash).
 */
#include <stdio.h>
#include <string.h>

#include "doc_build.h"

typedef struct json_reader {
    doc_builder *builder;
    const char *at, *end;
    doc_place place;
    bool explain;
} json_reader;

/* ---- reading on ---- */

/* Goes behind the character at `at`; the text is known to be valid UTF-8. */
static void step(json_reader *reader)
{
    char c = *reader->at++;
    if (c == '\n' || (c == '\r' && (reader->at == reader->end || *reader->at != '\n'))) {
        reader->place.line++;
        reader->place.column = 1;
        return;
    }
    while (reader->at < reader->end && ((unsigned char)*reader->at & 0xC0) == 0x80)
        reader->at++;
    reader->place.column++;
}

static bool next_is(const json_reader *reader, char c)
{
    return reader->at < reader->end && *reader->at == c;
}

static bool next_is_digit(const json_reader *reader)
{
    return reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9';
}

static bool is_word_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t word_length(const json_reader *reader)
{
    size_t length = 0, left = (size_t)(reader->end - reader->at);
    while (length < left && is_word_character(reader->at[length]))
        length++;
    return length;
}

static void skip_blanks(json_reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t' ||
                                        *reader->at == '\n' || *reader->at == '\r'))
        step(reader);
}

/* ---- faults ---- */

/* "found WHAT STANDS HERE<where>; <allowed>" */
static llmperf_status unexpected(json_reader *reader, const char *where, const char *allowed)
{
    char found[64];
    const char *at = reader->at;
    size_t word = word_length(reader), left = (size_t)(reader->end - at);
    bool comment =
        left > 0 && (*at == '#' || (*at == '/' && left > 1 && (at[1] == '/' || at[1] == '*')));
    if (left == 0)
        snprintf(found, sizeof found, "end of input");
    else if (comment)
        snprintf(found, sizeof found, "a comment (JSON has none)");
    else if (word > 0)
        snprintf(found, sizeof found, "'%.*s%s'", (int)(word < 32 ? word : 32), at,
                 word > 32 ? "..." : "");
    else if ((unsigned char)*at < 0x20 || *at == 0x7F)
        snprintf(found, sizeof found, "control character U+%04X", (unsigned)*at);
    else {
        size_t length = 1;
        while (length < left && ((unsigned char)at[length] & 0xC0) == 0x80)
            length++;
        snprintf(found, sizeof found, *at == '\'' ? "a single quote" : "'%.*s'", (int)length, at);
    }
    return doc_build_fail(reader->builder, reader->place, "found %s%s; %s%s", found, where, allowed,
                          reader->explain ? " (text that starts with '{' or '[' is JSON)" : "");
}

/* ---- strings ---- */

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* The code unit of "\uXXXX" at `at`, or -1 when there is none. */
static long code_unit(const char *at, const char *end)
{
    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    long unit = 0;
    for (int i = 2; i < 6; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

static char *put_utf8(char *out, long c)
{
    if (c < 0x80) {
        *out++ = (char)c;
        return out;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const int lead[] = {0, 0xC0, 0xE0, 0xF0};
    *out++ = (char)(lead[more] | (c >> (6 * more)));
    while (more-- > 0)
        *out++ = (char)(0x80 | ((c >> (6 * more)) & 0x3F));
    return out;
}

/* Reads the escape at the backslash; `*out` moves behind the character. */
static llmperf_status read_escape(json_reader *reader, char **out)
{
    static const char letters[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    const char *at = reader->at;
    size_t left = (size_t)(reader->end - at);
    const char *letter = left > 1 && at[1] ? strchr(letters, at[1]) : NULL;
    int consumed = 2;
    if (letter) {
        *(*out)++ = values[letter - letters];
    } else {
        long c = code_unit(at, reader->end);
        if (c < 0 && left < 6 && (left == 1 || (at[1] == 'u' && !memchr(at, '"', left)))) {
            while (reader->at < reader->end)
                step(reader);
            return unexpected(reader, " in a string", "a closing '\"' is allowed");
        }
        if (c < 0)
            return doc_build_fail(reader->builder, reader->place,
                                  "found a wrong escape in a string; \\\" \\\\ \\/ \\b \\f \\n "
                                  "\\r \\t and \\uXXXX are allowed");
        if (c == 0)
            return doc_build_fail(reader->builder, reader->place,
                                  "found a NUL character in a string; any other is allowed");
        consumed = 6;
        if (c >= 0xD800 && c <= 0xDFFF) {
            long low = c < 0xDC00 ? code_unit(at + 6, reader->end) : -1;
            if (low < 0xDC00 || low > 0xDFFF)
                return doc_build_fail(reader->builder, reader->place,
                                      "found the lone surrogate \\u%04lx in a string; pairs such "
                                      "as \\ud83e\\udd17 are allowed",
                                      (unsigned long)c);
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
            consumed = 12;
        }
        *out = put_utf8(*out, c);
    }
    reader->at += consumed;
    reader->place.column += consumed;
    return LLMPERF_OK;
}

/* Reads the string whose opening quote is next. */
static llmperf_status read_string(json_reader *reader, const char **ret_text)
{
    step(reader);
    /* A decoded string is never longer than its source. */
    const char *close = reader->at;
    while (close < reader->end && *close != '"' && *close != '\n')
        close += *close == '\\' && close + 1 < reader->end ? 2 : 1;
    char *text = doc_build_text(reader->builder, (size_t)(close - reader->at) + 1);
    if (!text)
        return LLMPERF_E_MEMORY;
    char *out = text;
    while (reader->at < reader->end && *reader->at != '"') {
        if ((unsigned char)*reader->at < 0x20) {
            bool line_end = *reader->at == '\n' || *reader->at == '\r';
            if (line_end)
                return doc_build_fail(reader->builder, reader->place,
                                      "found the end of the line in a string; a closing '\"' is "
                                      "allowed, and \\n for a line end in the text");
            return unexpected(reader, " in a string", "it is allowed as an escape: \\t, \\u001b");
        }
        if (*reader->at == '\\') {
            llmperf_status status = read_escape(reader, &out);
            if (status != LLMPERF_OK)
                return status;
            continue;
        }
        const char *start = reader->at;
        step(reader);
        while (start < reader->at)
            *out++ = *start++;
    }
    if (reader->at == reader->end)
        return unexpected(reader, " in a string", "a closing '\"' is allowed");
    step(reader);
    *out = '\0';
    *ret_text = text;
    return LLMPERF_OK;
}

/* ---- numbers and words ---- */

static bool skip_digits(json_reader *reader)
{
    bool any = next_is_digit(reader);
    while (next_is_digit(reader))
        step(reader);
    return any;
}

static llmperf_status read_number(json_reader *reader)
{
    doc_place start = reader->place;
    const char *first = reader->at;
    if (next_is(reader, '-'))
        step(reader);
    size_t word = word_length(reader);
    if (word == 8 && first < reader->at && memcmp(reader->at, "Infinity", 8) == 0) {
        reader->at += word;
        reader->place.column += (int)word;
        return doc_build_scalar(reader->builder, start, "-Infinity", false);
    }
    bool zero = next_is(reader, '0');
    if (zero)
        step(reader);
    else if (!skip_digits(reader))
        return unexpected(reader, " in a number", "a digit is allowed after '-'");
    if (zero && next_is_digit(reader))
        return unexpected(reader, " after a leading zero",
                          "numbers without leading zeros are allowed");
    if (next_is(reader, '.')) {
        step(reader);
        if (!skip_digits(reader))
            return unexpected(reader, " in a number", "a digit is allowed after the point");
    }
    if (next_is(reader, 'e') || next_is(reader, 'E')) {
        step(reader);
        if (next_is(reader, '+') || next_is(reader, '-'))
            step(reader);
        if (!skip_digits(reader))
            return unexpected(reader, " in a number", "a digit is allowed in the exponent");
    }
    if (word_length(reader) > 0)
        return unexpected(reader, " behind a number",
                          "digits, or ',' or a closing bracket, are "
                          "allowed");
    size_t length = (size_t)(reader->at - first);
    char *text = doc_build_text(reader->builder, length + 1);
    if (!text)
        return LLMPERF_E_MEMORY;
    memcpy(text, first, length);
    text[length] = '\0';
    return doc_build_scalar(reader->builder, start, text, false);
}

#define A_VALUE "a value is allowed: \"text\", a number, true, false, null, {...} or [...]"

static llmperf_status read_word(json_reader *reader)
{
    static const char *const words[] = {"true", "false", "null", "NaN", "Infinity"};
    size_t length = word_length(reader);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (length == strlen(words[i]) && memcmp(reader->at, words[i], length) == 0) {
            doc_place start = reader->place;
            reader->at += length;
            reader->place.column += (int)length;
            return doc_build_scalar(reader->builder, start, words[i], false);
        }
    }
    return unexpected(reader, "", A_VALUE);
}

/* ---- values ---- */

static llmperf_status read_value(json_reader *reader);

static llmperf_status read_map_entry(json_reader *reader)
{
    doc_place start = reader->place;
    const char *key;
    if (!next_is(reader, '"'))
        return unexpected(reader, "", "a key in double quotes is allowed");
    llmperf_status status = read_string(reader, &key);
    if (status == LLMPERF_OK)
        status = doc_build_scalar(reader->builder, start, key, true);
    if (status != LLMPERF_OK)
        return status;
    skip_blanks(reader);
    if (!next_is(reader, ':'))
        return unexpected(reader, " after a key", "':' is allowed");
    step(reader);
    skip_blanks(reader);
    return read_value(reader);
}

/* The map or list whose opening bracket is next. */
static llmperf_status read_items(json_reader *reader, bool map)
{
    char close = map ? '}' : ']';
    llmperf_status status = doc_build_open(reader->builder, map ? DOC_MAP : DOC_SEQ, reader->place);
    step(reader);
    skip_blanks(reader);
    if (status == LLMPERF_OK && next_is(reader, close)) {
        step(reader);
        return doc_build_close(reader->builder);
    }
    while (status == LLMPERF_OK) {
        status = map ? read_map_entry(reader) : read_value(reader);
        if (status != LLMPERF_OK)
            return status;
        skip_blanks(reader);
        if (next_is(reader, close)) {
            step(reader);
            return doc_build_close(reader->builder);
        }
        if (!next_is(reader, ','))
            return unexpected(reader, "", map ? "',' or '}' is allowed" : "',' or ']' is allowed");
        step(reader);
        skip_blanks(reader);
        if (next_is(reader, close))
            return unexpected(reader, " after a comma",
                              map ? "a key in double quotes is allowed" : A_VALUE);
    }
    return status;
}

/* Recursion goes LLMPERF_DOC_MAX_DEPTH levels deep at most: doc_build_open() sees to it. */
static llmperf_status read_value(json_reader *reader)
{
    if (reader->at == reader->end)
        return unexpected(reader, "", A_VALUE);
    char c = *reader->at;
    if (c == '{' || c == '[')
        return read_items(reader, c == '{');
    if (c == '-' || (c >= '0' && c <= '9'))
        return read_number(reader);
    if (c != '"')
        return read_word(reader);
    doc_place start = reader->place;
    const char *text;
    llmperf_status status = read_string(reader, &text);
    if (status != LLMPERF_OK)
        return status;
    return doc_build_scalar(reader->builder, start, text, true);
}

llmperf_status doc_json_parse(doc_builder *builder, const char *text, size_t size, bool explain)
{
    json_reader reader = {
        .builder = builder, .at = text, .end = text + size, .place = {1, 1}, .explain = explain};
    skip_blanks(&reader);
    llmperf_status status = read_value(&reader);
    if (status != LLMPERF_OK)
        return status;
    skip_blanks(&reader);
    if (reader.at < reader.end)
        return unexpected(&reader, " after the end of the document", "one value is allowed");
    return LLMPERF_OK;
}
