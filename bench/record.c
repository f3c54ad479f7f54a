/* SPDX-License-Identifier: MIT */
/*
 * JSON of result files through jansson, fed a byte at a time: so several objects in a row, the
 * elements of one long array, and NaN or Infinity are read from a stream, and arrays that nobody
 * needs never reach the memory.
 */
#include "record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD_MAX_BYTES = 32,
    PENDING_MAX_BYTES = 16,
    OBJECT_MAX_BYTES = 256 << 20, /* that reach the parser */
    SEARCH_DEPTH_MAX = 16,
};

/* Keys whose arrays and objects hold a value per token, or texts. */
static const char *const PASSED_OVER[] = {
    "itls",  "ttfts",     "generated_texts",     "errors",       "start_times", "pdf",
    "texts", "responses", "inter_chunk_latency", "error_details"};

/* ---- the stream as the parser sees it ---------------------------------------------------------------- */

typedef struct feed {
    source *from;
    bool in_string, escaped;
    bool pass_next;  /* the value that follows is not wanted */
    int64_t passing; /* depth inside of it; 0 = not in one */
    bool word_ended; /* `word` is complete: a ':' makes it a key */
    size_t
        word_bytes; /* of the last string; more than WORD_MAX_BYTES = too long to be a key of ours */
    char word[WORD_MAX_BYTES + 1];
    char pending[PENDING_MAX_BYTES]; /* to be handed on before anything else */
    size_t pending_at, pending_bytes;
    int64_t handed_on;
    bool too_large;
} feed;

static bool is_passed_over(const feed *f)
{
    for (size_t i = 0; i < sizeof PASSED_OVER / sizeof *PASSED_OVER; i++)
        if (strlen(PASSED_OVER[i]) == f->word_bytes &&
            memcmp(PASSED_OVER[i], f->word, f->word_bytes) == 0)
            return true;
    return false;
}

/* Inside a string, its first byte past: keeps the word, finds the end. */
static void follow_string(feed *f, int byte)
{
    if (f->escaped) {
        f->escaped = false;
    } else if (byte == '\\') {
        f->escaped = true;
    } else if (byte == '"') {
        f->in_string = false;
        f->word_ended = true;
        return;
    }
    if (f->word_bytes < WORD_MAX_BYTES)
        f->word[f->word_bytes] = (char)byte;
    f->word_bytes += f->word_bytes <= WORD_MAX_BYTES;
}

/* Bare words that Python writes for floats: a text of the same length in their place. */
static bool translate(feed *f, int byte)
{
    static const struct {
        const char *word, *text;
    } words[] = {{"NaN", "\"N\""}, {"Infinity", "\"inf\"   "}, {"-Infinity", "\"-inf\"   "}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *word = words[i].word;
        size_t at = 1;
        if (byte != word[0] || source_peek(f->from) != word[1])
            continue;
        f->pending[0] = (char)byte;
        while (word[at] && source_peek(f->from) == word[at])
            f->pending[at++] = (char)source_get(f->from);
        f->pending_bytes = at;
        f->pending_at = 0;
        if (!word[at])
            memcpy(f->pending, words[i].text, at);
        return true;
    }
    return false;
}

/* One byte of a value that is passed over: a blank in its place, so that positions stay. */
static int pass_over(feed *f, int byte)
{
    if (f->in_string)
        follow_string(f, byte);
    else if (byte == '"')
        f->in_string = true;
    else if (byte == '[' || byte == '{')
        f->passing++;
    else if (byte == ']' || byte == '}')
        f->passing--;
    return byte == '\n' ? '\n' : ' ';
}

/* The next byte for the parser; -1 at the end. */
static int next_byte(feed *f)
{
    if (f->pending_at < f->pending_bytes)
        return (unsigned char)f->pending[f->pending_at++];
    int byte = source_get(f->from);
    if (byte < 0)
        return byte;
    if (f->passing > 0)
        return pass_over(f, byte);
    if (f->in_string) {
        follow_string(f, byte);
        return byte;
    }
    if (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n')
        return byte;
    bool passed_over = f->pass_next && (byte == '[' || byte == '{');
    f->pass_next = byte == ':' && f->word_ended && is_passed_over(f);
    f->word_ended = false;
    if (passed_over) {
        f->passing = 1;
        return '0';
    }
    if (byte == '"') {
        f->in_string = true;
        f->word_bytes = 0;
    }
    return translate(f, byte) ? (unsigned char)f->pending[f->pending_at++] : byte;
}

/* One byte at a time, so that what follows the object is still there when the parser is done. */
static size_t hand_on(void *buffer, size_t size, void *context)
{
    feed *f = context;
    int byte = size > 0 ? next_byte(f) : -1;
    if (byte != ' ')
        f->handed_on++;
    f->too_large |= f->handed_on > OBJECT_MAX_BYTES;
    if (byte < 0 || f->too_large)
        return 0;
    *(char *)buffer = (char)byte;
    return 1;
}

/* ---- objects in a row -------------------------------------------------------------------------------- */

static void skip_blanks(source *from)
{
    int byte;
    while ((byte = source_peek(from)) == ' ' || byte == '\t' || byte == '\r' || byte == '\n')
        source_get(from);
}

static llmperf_status unexpected(const results *r, const char *allowed)
{
    int byte = source_peek(r->from);
    char found[16];
    if (byte < 0)
        snprintf(found, sizeof found, "the end");
    else if (byte > ' ' && byte < 0x7f)
        snprintf(found, sizeof found, "'%c'", byte);
    else
        snprintf(found, sizeof found, "byte 0x%02x", (unsigned)byte);
    return llmperf_fail(r->error, LLMPERF_E_SPEC, "%s:%lld:%lld: %s; %s is allowed", r->from->name,
                        (long long)r->from->line, (long long)source_column(r->from), found,
                        allowed);
}

/* What of an object's text is allowed, where the parser names what it found. */
static const char *allowed_by(const json_error_t *e)
{
    switch (json_error_code(e)) {
    case json_error_premature_end_of_input:
        return "a whole object is";
    case json_error_invalid_utf8:
        return "text in UTF-8 is";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "text without NUL is";
    case json_error_duplicate_key:
        return "each key once is";
    case json_error_numeric_overflow:
        return "numbers that a double holds are";
    case json_error_stack_overflow:
        return "2048 levels are";
    default:
        return "JSON is";
    }
}

static llmperf_status parse_failed(const results *r, const feed *f, const json_error_t *e,
                                   int64_t line, int64_t column)
{
    llmperf_status status = source_status(r->from, r->error);
    if (status != LLMPERF_OK)
        return status;
    if (json_error_code(e) == json_error_out_of_memory)
        return llmperf_fail(r->error, LLMPERF_E_MEMORY, "out of memory");
    int at = e->line > 0 ? e->line : 1, column_at = e->column > 0 ? e->column : 1;
    if (f->too_large)
        return llmperf_fail(r->error, LLMPERF_E_SPEC,
                            "%s:%lld: an object of more than 256 MiB; smaller ones are allowed",
                            r->from->name, (long long)line);
    return llmperf_fail(r->error, LLMPERF_E_SPEC, "%s:%lld:%lld: %.120s; %s allowed", r->from->name,
                        (long long)(line + at - 1),
                        (long long)(at == 1 ? column + column_at - 1 : column_at), e->text,
                        allowed_by(e));
}

static llmperf_status visit_object(results *r, llmperf_status (*visit)(record *rec))
{
    feed f = {.from = r->from};
    json_error_t e;
    int64_t line = r->from->line, column = source_column(r->from);
    json_t *object =
        json_load_callback(hand_on, &f, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &e);
    if (!object)
        return parse_failed(r, &f, &e, line, column);
    record rec = {.r = r, .object = object, .line = line};
    llmperf_status status = visit(&rec);
    json_decref(object);
    return status;
}

llmperf_status record_each(results *r, llmperf_status (*visit)(record *rec))
{
    llmperf_status status = LLMPERF_OK;
    bool in_array = false, first = false;
    for (skip_blanks(r->from); status == LLMPERF_OK; skip_blanks(r->from)) {
        int byte = source_peek(r->from);
        if (byte < 0 && !in_array)
            break;
        if (in_array ? byte == ']' : byte == '[') {
            source_get(r->from);
            in_array = !in_array;
            first = true;
            continue;
        }
        if (in_array && !first) {
            if (byte != ',')
                return unexpected(r, "',' or ']'");
            source_get(r->from);
            skip_blanks(r->from);
        }
        if (source_peek(r->from) != '{')
            return unexpected(r, "an object, '{'");
        first = false;
        status = visit_object(r, visit);
    }
    return status == LLMPERF_OK ? source_status(r->from, r->error) : status;
}

/* ---- facts ------------------------------------------------------------------------------------------- */

const json_t *record_at(const json_t *object, const char *key, const char *inner)
{
    const json_t *value = json_object_get(object, key);
    if (value && inner)
        value = json_object_get(value, inner);
    return json_is_null(value) ? NULL : value;
}

/* A number or the text of one. */
static bool number_of(const json_t *value, double *ret_number)
{
    if (json_is_number(value)) {
        *ret_number = json_number_value(value);
        return true;
    }
    return json_is_string(value) && llmperf_parse_double(json_string_value(value), ret_number);
}

static void say_no_number(record *rec, const json_t *value, const char *name)
{
    const char *text = json_string_value(value);
    if (!text)
        results_leave_out(rec->r, rec->line, rec->label, "%s is no number; a number is allowed",
                          name);
    else if (strcmp(text, "N") == 0)
        results_leave_out(rec->r, rec->line, rec->label, "%s is NaN; a number is allowed", name);
    else
        results_leave_out(rec->r, rec->line, rec->label, "%s is '%.40s'; a number is allowed", name,
                          text);
}

double record_number(record *rec, const json_t *value, const char *name)
{
    double number = 0;
    if (!value || json_is_null(value) || rec->bad)
        return 0;
    if (number_of(value, &number) && number >= 0 && number <= 9007199254740992.0)
        return number;
    rec->bad = true;
    if (number_of(value, &number))
        results_leave_out(rec->r, rec->line, rec->label, "%s is %g; 0 to 2^53 is allowed", name,
                          number);
    else
        say_no_number(rec, value, name);
    return 0;
}

double record_fact(record *rec, const char *key)
{
    return record_number(rec, json_object_get(rec->object, key), key);
}

int64_t record_count(record *rec, const char *key)
{
    return (int64_t)llround(record_fact(rec, key));
}

void record_text(const json_t *value, char *to, size_t size)
{
    double number = 0;
    const char *text = json_string_value(value);
    to[0] = '\0';
    if (text && strcmp(text, "None") != 0 && strcmp(text, "auto") != 0)
        results_name(to, size, text);
    else if (!text && number_of(value, &number))
        snprintf(to, size, "%g", number);
}

llmperf_status record_metric(record *rec, const llmperf_run *run, llmperf_metric metric,
                             const json_t *value, const char *name, double scale)
{
    double number = 0;
    if (!value || json_is_null(value) || rec->bad)
        return LLMPERF_OK;
    if (!number_of(value, &number)) {
        say_no_number(rec, value, name);
        return LLMPERF_OK;
    }
    return results_add(rec->r, run, metric, scale * number);
}

void record_quantised(llmperf_run *run, const char *quantization)
{
    char word[sizeof run->weight_dtype];
    snprintf(word, sizeof word, "%s", quantization[0] ? quantization : run->act_dtype);
    memcpy(run->weight_dtype, word, sizeof word);
    if (quantization[0])
        run->act_dtype[0] = '\0';
}

static const json_t *search(const json_t *value, const char *const *keys, int depth)
{
    const char *key;
    json_t *member;
    size_t index;
    const json_t *found = NULL;
    if (depth == SEARCH_DEPTH_MAX)
        return NULL;
    for (int i = 0; keys[i]; i++)
        if ((found = record_at(value, keys[i], NULL)))
            return found;
    json_object_foreach((json_t *)value, key, member)
    {
        if ((found = search(member, keys, depth + 1)))
            return found;
    }
    json_array_foreach(value, index, member)
    {
        if ((found = search(member, keys, depth + 1)))
            return found;
    }
    return NULL;
}

const json_t *record_search(const json_t *value, const char *const *keys)
{
    return search(value, keys, 0);
}

double record_mean(const json_t *array)
{
    size_t index;
    const json_t *value;
    double sum = 0, number = 0, count = 0;
    json_array_foreach(array, index, value)
    {
        if (number_of(value, &number)) {
            sum += number;
            count++;
        }
    }
    return count > 0 ? sum / count : 0;
}

double record_rate(record *rec, const json_t *value, const char *name)
{
    const char *text = json_string_value(value);
    if (text && (strcmp(text, "inf") == 0 || strcmp(text, "Infinity") == 0))
        return INFINITY;
    if (text && strcmp(text, "trace") == 0)
        return 0;
    return record_number(rec, value, name);
}
