/* SPDX-License-Identifier: MIT */
#include "option.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Room for what one message says about the legal values. */
#define TEXT_MAX 4096

/* Stands for a blank at which help lines must not break; printed as a blank. */
#define GLUE '\001'

static void append(char *buffer, size_t size, const char *format, ...) LLMPERF_PRINTF(3, 4);

/* Appends to the string in `buffer`; what does not fit is cut. */
static void append(char *buffer, size_t size, const char *format, ...)
{
    size_t used = strlen(buffer);
    if (used + 1 >= size)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer + used, size - used, format, arguments);
    va_end(arguments);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* ---- Numbers ---- */

typedef enum integer_result { INTEGER_OK, INTEGER_NOT_DIGITS, INTEGER_TOO_LARGE } integer_result;

/* Reads "-12" or "12" from the start of `text`; *ret_end is behind the last digit. */
static integer_result read_integer(const char *text, const char **ret_end, int64_t *ret_value)
{
    bool negative = *text == '-';
    const char *at = text + (negative ? 1 : 0);
    if (!is_digit(*at))
        return INTEGER_NOT_DIGITS;

    /* Sums below zero, because INT64_MIN has no positive twin. */
    int64_t value = 0;
    bool large = false;
    for (; is_digit(*at); at++) {
        int digit = *at - '0';
        if (value < (INT64_MIN + digit) / 10)
            large = true;
        else
            value = value * 10 - digit;
    }
    if (!negative && value == INT64_MIN)
        large = true;
    *ret_end = at;
    if (large)
        return INTEGER_TOO_LARGE;
    *ret_value = negative ? value : -value;
    return INTEGER_OK;
}

static int64_t clamp_to_int64(double value)
{
    if (value >= 9223372036854775807.0)
        return INT64_MAX;
    if (value <= -9223372036854775808.0)
        return INT64_MIN;
    return (int64_t)value;
}

static bool has_bounds(const option *row)
{
    return row->min < 0 || row->min > 0 || row->max < 0 || row->max > 0;
}

static void integer_bounds(const option *row, int64_t *ret_min, int64_t *ret_max)
{
    bool any = !has_bounds(row);
    *ret_min = any ? INT64_MIN : clamp_to_int64(row->min);
    *ret_max = any ? INT64_MAX : clamp_to_int64(row->max);
}

typedef struct unit {
    const char *name;
    /* value = number * multiply / divide; a division by 1000 rounds correctly where a
     * multiplication by 0.001 does not. */
    double multiply, divide;
} unit;

static const unit time_units[] = {
    {"s", 1, 1}, {"ms", 1, 1e3}, {"us", 1, 1e6}, {"ns", 1, 1e9}, {NULL, 0, 0},
};

static const unit byte_units[] = {
    {"TiB", 1099511627776.0, 1},
    {"TB", 1e12, 1},
    {"GiB", 1073741824.0, 1},
    {"GB", 1e9, 1},
    {"MiB", 1048576.0, 1},
    {"MB", 1e6, 1},
    {"KiB", 1024, 1},
    {"kB", 1e3, 1},
    {"B", 1, 1},
    {NULL, 0, 0},
};

static const unit price_units[] = {
    {"USD/h", 1, 1},
    {"/h", 1, 1},
    {NULL, 0, 0},
};

/*
 * Splits "1.5 GiB" into its number and the rest (blanks skipped). False when it does not begin
 * with a finite decimal number.
 */
static bool split_quantity(const char *text, double *ret_number, const char **ret_unit)
{
    const char *at = text;
    if (*at == '-' || *at == '+')
        at++;
    while (is_digit(*at) || *at == '.')
        at++;
    if (*at == 'e' || *at == 'E') {
        const char *exponent = at + 1;
        if (*exponent == '-' || *exponent == '+')
            exponent++;
        if (is_digit(*exponent)) {
            at = exponent;
            while (is_digit(*at))
                at++;
        }
    }
    char digits[128];
    size_t length = (size_t)(at - text);
    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    double number = 0;
    if (!llmperf_parse_double(digits, &number) || !isfinite(number))
        return false;
    while (is_blank(*at))
        at++;
    *ret_number = number;
    *ret_unit = at;
    return true;
}

static const unit *find_unit(const unit *units, const char *name)
{
    for (; units->name; units++)
        if (strcmp(units->name, name) == 0)
            return units;
    return NULL;
}

/* "Gb", "Mib", "kbit", "bits": a unit that counts bits. */
static bool counts_bits(const char *name)
{
    size_t length = strlen(name);
    return (length > 0 && name[length - 1] == 'b') || strstr(name, "bit") || strstr(name, "Bit");
}

/* ---- Texts of legal values ---- */

/* Six decimals are enough for a bound; without the rounding 0.03 s could print as
 * 30.000000000000004ms. */
static void append_number(char *buffer, size_t size, double value)
{
    double rounded = fabs(value) < 1e9 ? round(value * 1e6) / 1e6 : value;
    if (rounded == 0 && value != 0)
        rounded = value;
    if (fabs(rounded) < 9e15 && rounded == floor(rounded)) {
        append(buffer, size, "%" PRId64, (int64_t)rounded);
        return;
    }
    char text[LLMPERF_DOUBLE_TEXT_MAX];
    append(buffer, size, "%s", llmperf_format_double(rounded, text));
}

/* A bound in the spelling that the option accepts: 30ms, 16GiB, 2.5/h, 65536. */
static void append_bound(char *buffer, size_t size, const option *row, double value)
{
    const unit *best = NULL;
    if (row->kind == OPTION_PRICE)
        best = find_unit(price_units, "/h");
    if (row->kind == OPTION_TIME) {
        best = time_units;
        while (value != 0 && best[1].name && fabs(value) * best->divide < 1 - 1e-9)
            best++;
    }
    if (row->kind == OPTION_BYTES) {
        /* The largest unit that divides it, so that 1GiB does not print as 1.073741824GB. */
        best = find_unit(byte_units, "B");
        for (const unit *each = byte_units; value != 0 && each->name; each++) {
            if (fmod(value, each->multiply) == 0) {
                best = each;
                break;
            }
        }
    }
    if (row->kind == OPTION_INT64 || row->kind == OPTION_RANGE)
        append(buffer, size, "%" PRId64, clamp_to_int64(value));
    else
        append_number(buffer, size, best ? value * best->divide / best->multiply : value);
    if (best)
        append(buffer, size, "%s", best->name);
}

/* "1 to 65536", "at least 1" or "at most 8" behind `two_ends` or `one_end`; nothing when every
 * value is legal. */
static void append_bounds(char *buffer, size_t size, const option *row, const char *two_ends,
                          const char *one_end)
{
    if (!has_bounds(row) || (isinf(row->min) && isinf(row->max)))
        return;
    if (isinf(row->max)) {
        append(buffer, size, "%sat least ", one_end);
        append_bound(buffer, size, row, row->min);
    } else if (isinf(row->min)) {
        append(buffer, size, "%sat most ", one_end);
        append_bound(buffer, size, row, row->max);
    } else {
        append(buffer, size, "%s", two_ends);
        append_bound(buffer, size, row, row->min);
        append(buffer, size, " to ");
        append_bound(buffer, size, row, row->max);
    }
}

const char *const *option_choices(const option *row)
{
    return row->choices_of ? row->choices_of() : row->choices;
}

/* "fp8, bf16 or fp16" */
static void append_words(char *buffer, size_t size, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        append(buffer, size, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
}

const char *option_metavar(const option *row)
{
    if (row->kind == OPTION_FLAG)
        return NULL;
    if (row->metavar)
        return row->metavar;
    switch (row->kind) {
    case OPTION_YESNO:
        return "yes|no";
    case OPTION_INT64:
        return "N";
    case OPTION_DOUBLE:
        return "X";
    case OPTION_TIME:
        return "TIME";
    case OPTION_BYTES:
        return "BYTES";
    case OPTION_PRICE:
        return "PRICE";
    case OPTION_CHOICE:
        return "WORD";
    case OPTION_RANGE:
        return "RANGE";
    case OPTION_WORDS:
        return "WORDS";
    case OPTION_TEXT:
    case OPTION_FLAG:
        break;
    }
    return "TEXT";
}

/* What stands behind "takes" in a message: "N from 1 to 65536". */
static void append_legal(char *buffer, size_t size, const option *row)
{
    switch (row->kind) {
    case OPTION_FLAG:
    case OPTION_YESNO:
        append(buffer, size, "yes or no");
        return;
    case OPTION_INT64:
        append(buffer, size, "%s", option_metavar(row));
        append_bounds(buffer, size, row, " from ", " of ");
        return;
    case OPTION_DOUBLE:
        append(buffer, size, "a number");
        append_bounds(buffer, size, row, " from ", " of ");
        return;
    case OPTION_TIME:
        append(buffer, size, "a time with its unit, for example 30ms");
        return;
    case OPTION_BYTES:
        append(buffer, size, "bytes with their unit, for example 16GiB");
        return;
    case OPTION_PRICE:
        append(buffer, size, "a price in USD per hour, for example 2.5/h");
        return;
    case OPTION_CHOICE:
        append_words(buffer, size, option_choices(row));
        return;
    case OPTION_RANGE:
        append(buffer, size, "a range, for example 8, 1..8, 1..512*2, 8..64+8 or 1,2,4");
        return;
    case OPTION_WORDS:
        append(buffer, size, "words with commas between them");
        if (option_choices(row)) {
            append(buffer, size, ", out of ");
            append_words(buffer, size, option_choices(row));
        }
        return;
    case OPTION_TEXT:
        append(buffer, size, "%s", option_metavar(row));
        return;
    }
}

/* `word` in another spelling of case, or near to one of `words`; NULL when none is. */
static const char *suggest(const char *word, const char *const *words)
{
    for (size_t i = 0; words[i]; i++)
        if (strcasecmp(words[i], word) == 0)
            return words[i];
    return llmperf_nearest(word, words);
}

/* ---- Ranges ---- */

/* Where a range is wrong; the item is quoted in the message. */
typedef struct range_fault {
    char text[512];
} range_fault;

static bool range_wrong(range_fault *fault, const char *item, size_t length, const char *format,
                        ...) LLMPERF_PRINTF(4, 5);

/* Notes "range 'ITEM' ..." and returns false. */
static bool range_wrong(range_fault *fault, const char *item, size_t length, const char *format,
                        ...)
{
    const size_t shown = 80;
    fault->text[0] = '\0';
    append(fault->text, sizeof fault->text, "range '%.*s%s' ",
           (int)(length < shown ? length : shown), item, length > shown ? "..." : "");
    size_t used = strlen(fault->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->text + used, sizeof fault->text - used, format, arguments);
    va_end(arguments);
    return false;
}

#define RANGE_FORMS "write N, A..B, A..B*FACTOR or A..B+STEP with digits only"

/* Reads one number of an item, which must be followed by the item's end or one of "*x+.". */
static bool range_number(const char *item, size_t length, const char **at, int64_t *ret_value,
                         range_fault *fault)
{
    switch (read_integer(*at, at, ret_value)) {
    case INTEGER_OK:
        return true;
    case INTEGER_TOO_LARGE:
        return range_wrong(fault, item, length, "has a number that does not fit into 64 bits");
    case INTEGER_NOT_DIGITS:
        break;
    }
    return range_wrong(fault, item, length, "is not understood; " RANGE_FORMS);
}

/* Reads the item of `length` bytes; `text` goes on with a comma, a blank or its end. */
static bool range_item(const char *item, size_t length, int64_t min, int64_t max,
                       option_range_part *ret_part, int64_t *ret_points, range_fault *fault)
{
    const char *at = item;
    const char *end = item + length;
    int64_t first = 0;
    if (!range_number(item, length, &at, &first, fault))
        return false;
    int64_t last = first, step = 1, factor = 1;
    if (at != end && at[0] == '.' && at[1] == '.') {
        at += 2;
        if (!range_number(item, length, &at, &last, fault))
            return false;
        if (at != end && (*at == '*' || *at == 'x')) {
            at++;
            if (!range_number(item, length, &at, &factor, fault))
                return false;
            if (factor < 2)
                return range_wrong(fault, item, length,
                                   "has a factor of %" PRId64 "; a factor is 2 or more", factor);
        } else if (at != end && *at == '+') {
            at++;
            if (!range_number(item, length, &at, &step, fault))
                return false;
            if (step < 1)
                return range_wrong(fault, item, length,
                                   "has a step of %" PRId64 "; a step is 1 or more", step);
        }
    }
    if (at != end)
        return range_wrong(fault, item, length, "is not understood; " RANGE_FORMS);

    if (last < first)
        return range_wrong(fault, item, length, "runs backwards; write %" PRId64 "..%" PRId64, last,
                           first);
    int64_t outside = first < min ? first : last;
    if (first < min || last > max) {
        if (first == last)
            return range_wrong(fault, item, length, "is outside the legal %" PRId64 " to %" PRId64,
                               min, max);
        return range_wrong(fault, item, length,
                           "reaches %" PRId64 ", outside the legal %" PRId64 " to %" PRId64,
                           outside, min, max);
    }
    if (factor > 1 && first < 1)
        return range_wrong(fault, item, length, "multiplies from %" PRId64 "; start at 1 or more",
                           first);

    int64_t points = 1;
    if (factor > 1) {
        int64_t value = first;
        for (; value <= last / factor; points++)
            value *= factor;
        last = value;
    } else {
        /* Unsigned, because the distance from INT64_MIN to INT64_MAX does not fit otherwise. */
        uint64_t steps = ((uint64_t)last - (uint64_t)first) / (uint64_t)step;
        if (steps >= OPTION_RANGE_MAX_POINTS)
            return range_wrong(fault, item, length, "has more than %d points",
                               OPTION_RANGE_MAX_POINTS);
        points = (int64_t)steps + 1;
        last = (int64_t)((uint64_t)first + steps * (uint64_t)step);
    }
    *ret_part = (option_range_part){.first = first, .last = last, .step = step, .factor = factor};
    *ret_points = points;
    return true;
}

static bool range_parse(const char *text, int64_t min, int64_t max, option_range *ret_range,
                        range_fault *fault)
{
    if (min == 0 && max == 0) {
        min = INT64_MIN;
        max = INT64_MAX;
    }
    option_range range = {0};
    const char *at = text;
    for (;;) {
        while (is_blank(*at))
            at++;
        const char *comma = strchr(at, ',');
        const char *end = comma ? comma : at + strlen(at);
        const char *next = comma ? comma + 1 : NULL;
        while (end > at && is_blank(end[-1]))
            end--;
        if (end == at)
            return range_wrong(fault, text, strlen(text), "%s; " RANGE_FORMS,
                               range.part_count == 0 && !next ? "is empty" : "has an empty item");
        if (range.part_count == OPTION_RANGE_MAX_PARTS)
            return range_wrong(fault, text, strlen(text), "has more than %d items",
                               OPTION_RANGE_MAX_PARTS);
        int64_t points = 0;
        if (!range_item(at, (size_t)(end - at), min, max, &range.parts[range.part_count], &points,
                        fault))
            return false;
        range.part_count++;
        range.point_count += points;
        if (range.point_count > OPTION_RANGE_MAX_POINTS)
            return range_wrong(fault, text, strlen(text), "has more than %d points",
                               OPTION_RANGE_MAX_POINTS);
        if (!next)
            break;
        at = next;
    }
    *ret_range = range;
    return true;
}

llmperf_status option_parse_range(const char *text, int64_t min, int64_t max,
                                  option_range *ret_range, llmperf_error *error)
{
    range_fault fault;
    if (!range_parse(text, min, max, ret_range, &fault))
        return llmperf_fail(error, LLMPERF_E_USAGE, "%s", fault.text);
    return LLMPERF_OK;
}

bool option_range_next(const option_range *range, option_range_cursor *cursor, int64_t *ret_value)
{
    if (cursor->started && cursor->value == range->parts[cursor->part].last) {
        cursor->part++;
        cursor->started = false;
    }
    if (cursor->part >= range->part_count)
        return false;
    const option_range_part *part = &range->parts[cursor->part];
    if (!cursor->started)
        cursor->value = part->first;
    else if (part->factor > 1)
        cursor->value *= part->factor;
    else
        cursor->value += part->step;
    cursor->started = true;
    *ret_value = cursor->value;
    return true;
}

bool option_words_next(const char **cursor, const char **ret_word, size_t *ret_length)
{
    const char *at = *cursor;
    if (!at)
        return false;
    while (is_blank(*at))
        at++;
    size_t length = strcspn(at, ",");
    /* NULL marks the end, so that the empty word behind a last comma is still seen. */
    *cursor = at[length] == ',' ? at + length + 1 : NULL;
    while (length > 0 && is_blank(at[length - 1]))
        length--;
    *ret_word = at;
    *ret_length = length;
    return true;
}

/* ---- Setting one value ---- */

/* The option that is set, for messages: dashes is "--" on the command line, "" in a file. */
typedef struct target {
    const option *row;
    const char *dashes;
    llmperf_error *error;
} target;

/* "option '--batch' takes LEGAL; found 'VALUE'" */
static llmperf_status refuse(const target *to, const char *legal, const char *value)
{
    return llmperf_fail(to->error, LLMPERF_E_USAGE, "option '%s%s' takes %s; found '%s'",
                        to->dashes, to->row->name, legal, value);
}

static llmperf_status set_integer(const target *to, const char *value, int64_t *field)
{
    int64_t min, max, number = 0;
    integer_bounds(to->row, &min, &max);
    const char *end = value;
    integer_result result = read_integer(value, &end, &number);
    bool digits = result != INTEGER_NOT_DIGITS && *end == '\0';
    if (digits && result == INTEGER_OK && number >= min && number <= max) {
        *field = number;
        return LLMPERF_OK;
    }
    char legal[TEXT_MAX] = "";
    append_legal(legal, sizeof legal, to->row);
    if (!digits)
        append(legal, sizeof legal, "%s in digits only", has_bounds(to->row) ? "," : "");
    else if (result == INTEGER_TOO_LARGE && (max == INT64_MAX || min == INT64_MIN))
        /* the option has no end of its own on one side: name that of the type */
        snprintf(legal, sizeof legal, "%s from %" PRId64 " to %" PRId64, option_metavar(to->row),
                 min, max);
    return refuse(to, legal, value);
}

static llmperf_status set_double(const target *to, const char *value, double *field)
{
    const option *row = to->row;
    double number = 0;
    char legal[TEXT_MAX] = "";
    append_legal(legal, sizeof legal, row);
    if (!llmperf_parse_double(value, &number) || !isfinite(number)) {
        append(legal, sizeof legal, "%s in decimal digits", has_bounds(row) ? "," : "");
        return refuse(to, legal, value);
    }
    if (has_bounds(row) && (number < row->min || number > row->max))
        return refuse(to, legal, value);
    *field = number;
    return LLMPERF_OK;
}

/* Times, bytes and prices. `noun` names them in messages about their range. */
static llmperf_status set_quantity(const target *to, const char *value, const unit *units,
                                   const char *noun, double *field)
{
    const option *row = to->row;
    char legal[TEXT_MAX] = "";
    double number = 0;
    const char *name = NULL;
    bool is_number = split_quantity(value, &number, &name);
    const unit *scale = is_number ? find_unit(units, name) : NULL;
    if (is_number && !scale && *name == '\0' && number == 0 && row->kind == OPTION_BYTES)
        scale = find_unit(units, "B");
    if (!scale) {
        if (is_number && row->kind == OPTION_BYTES && counts_bits(name))
            append(legal, sizeof legal,
                   "bytes, and '%.32s' counts bits; write B, kB, MB, GB, TB, "
                   "KiB, MiB, GiB or TiB",
                   name);
        else if (is_number && row->kind == OPTION_BYTES && *name)
            append(legal, sizeof legal, "bytes in B, kB, MB, GB, TB, KiB, MiB, GiB or TiB");
        else if (is_number && row->kind == OPTION_TIME && *name)
            append(legal, sizeof legal, "a time in ns, us, ms or s, for example 30ms");
        else
            append_legal(legal, sizeof legal, row);
        return refuse(to, legal, value);
    }

    double result = number * scale->multiply / scale->divide;
    bool bounded = has_bounds(row);
    double min = bounded ? row->min : 0, max = bounded ? row->max : INFINITY;
    if (isfinite(result) && result >= min && result <= max) {
        *field = result;
        return LLMPERF_OK;
    }
    append(legal, sizeof legal, "%s", noun);
    option shown = *row;
    shown.min = min;
    shown.max = max;
    append_bounds(legal, sizeof legal, &shown, " from ", " of ");
    return refuse(to, legal, value);
}

static llmperf_status set_yesno(const target *to, const char *value, bool *ret_yes)
{
    static const char *const words[] = {"yes", "true", "on", "no", "false", "off", NULL};
    for (size_t i = 0; words[i]; i++) {
        if (strcmp(words[i], value) == 0) {
            *ret_yes = i < 3;
            return LLMPERF_OK;
        }
    }
    return refuse(to, "yes or no", value);
}

static llmperf_status refuse_choice(const target *to, const char *value)
{
    char legal[TEXT_MAX] = "";
    append_words(legal, sizeof legal, option_choices(to->row));
    const char *near = suggest(value, option_choices(to->row));
    if (!near)
        return refuse(to, legal, value);
    return llmperf_fail(to->error, LLMPERF_E_USAGE,
                        "option '%s%s' takes %s; found '%s'; did you mean '%s'?", to->dashes,
                        to->row->name, legal, value, near);
}

static llmperf_status set_choice(const target *to, const char *value, int *field)
{
    const char *const *choices = option_choices(to->row);
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], value) == 0) {
            *field = i;
            return LLMPERF_OK;
        }
    }
    return refuse_choice(to, value);
}

static llmperf_status check_range(const target *to, const char *value)
{
    range_fault fault;
    option_range range;
    int64_t min, max;
    integer_bounds(to->row, &min, &max);
    if (range_parse(value, min, max, &range, &fault))
        return LLMPERF_OK;
    return llmperf_fail(to->error, LLMPERF_E_USAGE, "option '%s%s': %s", to->dashes, to->row->name,
                        fault.text);
}

static llmperf_status check_words(const target *to, const char *value)
{
    const char *cursor = value, *at = NULL;
    const char *const *choices = option_choices(to->row);
    size_t length = 0;
    while (option_words_next(&cursor, &at, &length)) {
        char word[256];
        if (length == 0)
            return llmperf_fail(to->error, LLMPERF_E_USAGE,
                                "option '%s%s' takes words with commas between them; '%s' has an "
                                "empty word",
                                to->dashes, to->row->name, value);
        if (!choices)
            continue;
        snprintf(word, sizeof word, "%.*s", (int)(length < 255 ? length : 255), at);
        bool known = false;
        for (size_t i = 0; choices[i]; i++)
            known = known || strcmp(choices[i], word) == 0;
        if (!known)
            return refuse_choice(to, word);
    }
    return LLMPERF_OK;
}

static llmperf_status set_value(const target *to, const char *value, void *arguments)
{
    const option *row = to->row;
    if (!value)
        value = "";
    char *base = arguments;
    void *field = base + row->offset;
    llmperf_status status = LLMPERF_OK;

    if ((row->kind == OPTION_CHOICE && !option_choices(row)) || !arguments)
        return llmperf_fail(to->error, LLMPERF_E_BUG, "option '%s%s' has a broken table row",
                            to->dashes, row->name);
    if (*value == '\0') {
        char legal[TEXT_MAX] = "";
        append_legal(legal, sizeof legal, row);
        return llmperf_fail(to->error, LLMPERF_E_USAGE,
                            "option '%s%s' takes %s; found an empty value", to->dashes, row->name,
                            legal);
    }

    switch (row->kind) {
    case OPTION_FLAG:
        status = set_yesno(to, value, field);
        break;
    case OPTION_YESNO: {
        bool yes = false;
        status = set_yesno(to, value, &yes);
        if (status == LLMPERF_OK)
            *(int *)field = yes ? 1 : 0;
        break;
    }
    case OPTION_INT64:
        status = set_integer(to, value, field);
        break;
    case OPTION_DOUBLE:
        status = set_double(to, value, field);
        break;
    case OPTION_TIME:
        status = set_quantity(to, value, time_units, "a time", field);
        break;
    case OPTION_BYTES:
        status = set_quantity(to, value, byte_units, "bytes", field);
        break;
    case OPTION_PRICE:
        status = set_quantity(to, value, price_units, "a price", field);
        break;
    case OPTION_CHOICE:
        status = set_choice(to, value, field);
        break;
    case OPTION_RANGE:
        status = check_range(to, value);
        break;
    case OPTION_WORDS:
        status = check_words(to, value);
        break;
    case OPTION_TEXT:
        break;
    }
    if (status != LLMPERF_OK)
        return status;
    if (row->kind == OPTION_TEXT || row->kind == OPTION_RANGE || row->kind == OPTION_WORDS)
        *(const char **)field = value;
    if (row->given_offset != OPTION_NOWHERE)
        *(bool *)(base + row->given_offset) = true;
    return LLMPERF_OK;
}

/* ---- Parsing a command line ---- */

static const option *find_name(const option *options, const char *name, size_t length)
{
    for (; options && options->name; options++)
        if (strncmp(options->name, name, length) == 0 && options->name[length] == '\0')
            return options;
    return NULL;
}

const option *option_find(const option *options, const char *name)
{
    return find_name(options, name, strlen(name));
}

static const option *find_letter(const option *options, char letter)
{
    for (; options && options->name; options++)
        if (letter && options->letter == letter)
            return options;
    return NULL;
}

/* The long name that an unknown one was meant to be: a longer one, or one spelled alike. */
static const char *suggest_name(const option *options, const char *name)
{
    size_t length = strlen(name), count = 0;
    const char *longer = NULL;
    int matches = 0;
    for (const option *row = options; row && row->name; row++, count++) {
        if (length >= 2 && strncmp(row->name, name, length) == 0) {
            longer = row->name;
            matches++;
        }
    }
    if (matches == 1)
        return longer;

    const char **names = calloc(count + 2, sizeof *names);
    if (!names)
        return NULL;
    for (size_t i = 0; i < count; i++)
        names[i] = options[i].name;
    names[count] = "help";
    const char *near = suggest(name, names);
    free(names);
    return near;
}

llmperf_status option_set(const option *options, const char *name, const char *value,
                          void *arguments, llmperf_error *error)
{
    const option *row = option_find(options, name);
    if (row) {
        const target to = {.row = row, .dashes = "", .error = error};
        return set_value(&to, value, arguments);
    }
    const char *near = suggest_name(options, name);
    if (near && strcmp(near, "help") != 0)
        return llmperf_fail(error, LLMPERF_E_USAGE, "option '%s' is not known; did you mean '%s'?",
                            name, near);
    return llmperf_fail(error, LLMPERF_E_USAGE, "option '%s' is not known", name);
}

typedef struct parser {
    const option_command *command;
    int argc;
    char **argv;
    int at; /* index of the argument in work */
    void *arguments;
    llmperf_error *error;
    llmperf_status status; /* the first fault, or LLMPERF_OK */
    bool unknown;          /* an unknown option was seen: its value may count as a positional */
    bool help;             /* an odd form such as "-qh" or "--help=x" asked for help */
} parser;

static void note(parser *p, llmperf_status status)
{
    if (p->status == LLMPERF_OK)
        p->status = status;
}

static void note_unknown(parser *p, const char *shown, const char *name)
{
    p->unknown = true;
    const char *near = name ? suggest_name(p->command->options, name) : NULL;
    if (near)
        note(p, llmperf_fail(p->error, LLMPERF_E_USAGE,
                             "option '%s' is not known; did you mean '--%s'?", shown, near));
    else
        note(p, llmperf_fail(p->error, LLMPERF_E_USAGE,
                             "option '%s' is not known; see llmperf %s --help", shown,
                             p->command->name));
}

/* May `text` be the value of an option before it? "-" alone and numbers may. */
static bool looks_like_value(const char *text)
{
    if (text[0] != '-' || text[1] == '\0')
        return true;
    return is_digit(text[1]) || (text[1] == '.' && is_digit(text[2]));
}

/* Sets `row` from `value`, or from the next argument when it is NULL. */
static void take_value(parser *p, const option *row, const char *value)
{
    const target to = {.row = row, .dashes = "--", .error = p->error};
    if (!value && row->kind == OPTION_FLAG)
        value = "yes";
    if (!value) {
        const char *next = p->at + 1 < p->argc ? p->argv[p->at + 1] : NULL;
        if (!next || !looks_like_value(next)) {
            char legal[TEXT_MAX] = "";
            append_legal(legal, sizeof legal, row);
            if (next && strcmp(next, "--") != 0 && row->kind == OPTION_TEXT)
                note(p, llmperf_fail(p->error, LLMPERF_E_USAGE,
                                     "option '--%s' takes %s; found the option '%s' (a value that "
                                     "begins with '-' is written --%s=VALUE)",
                                     row->name, legal, next, row->name));
            else
                note(p, llmperf_fail(p->error, LLMPERF_E_USAGE,
                                     "option '--%s' takes %s; found no value", row->name, legal));
            return;
        }
        value = next;
        p->at++;
    }
    if (row->kind == OPTION_FLAG && strcmp(value, "yes") != 0) {
        bool ignored = false;
        const target quiet = {.row = row, .dashes = "--", .error = NULL};
        if (set_yesno(&quiet, value, &ignored) != LLMPERF_OK) {
            note(p, llmperf_fail(p->error, LLMPERF_E_USAGE,
                                 "option '--%s' takes no value other than yes or no; found '%s'",
                                 row->name, value));
            return;
        }
    }
    note(p, set_value(&to, value, p->arguments));
}

static void parse_long(parser *p)
{
    const char *shown = p->argv[p->at];
    const char *name = shown + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const option *row = find_name(p->command->options, name, length);
    if (row) {
        take_value(p, row, equals ? equals + 1 : NULL);
        return;
    }
    if (length == 4 && strncmp(name, "help", 4) == 0) {
        p->help = true;
        return;
    }
    /* Only the name is shown: the value was not what is wrong. */
    char cut[128];
    snprintf(cut, sizeof cut, "--%.*s", (int)(length < 100 ? length : 100), name);
    note_unknown(p, cut, cut + 2);
}

static void parse_short(parser *p)
{
    const char *shown = p->argv[p->at];
    const char *text = shown + 1;
    size_t length = strcspn(text, "=");
    const option *meant = length > 1 ? find_name(p->command->options, text, length) : NULL;
    if (meant) {
        note(p, llmperf_fail(p->error, LLMPERF_E_USAGE,
                             "option '-%s' is not known; did you mean '--%s'?", meant->name,
                             meant->name));
        p->unknown = true;
        return;
    }
    for (; *text; text++) {
        const option *row = find_letter(p->command->options, *text);
        if (!row && *text == 'h') {
            p->help = true;
            return;
        }
        if (!row) {
            char cut[8] = {'-', *text, '\0'};
            /* A byte of a longer character would be no text: show the whole argument then. */
            note_unknown(p, (unsigned char)*text < 0x80 ? cut : shown, NULL);
            return;
        }
        if (row->kind != OPTION_FLAG || text[1] == '=') {
            const char *value = text[1] == '\0' ? NULL : text + 1 + (text[1] == '=');
            take_value(p, row, value);
            return;
        }
        take_value(p, row, NULL);
    }
}

/* Help wins over every fault; a value can not be "--help" or "-h" without "=". */
static bool asks_for_help(const option_command *command, int argc, char **argv)
{
    bool letter = !find_letter(command->options, 'h');
    bool name = !find_name(command->options, "help", 4);
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if ((name && strcmp(argv[i], "--help") == 0) || (letter && strcmp(argv[i], "-h") == 0))
            return true;
    return false;
}

static void check_positionals(parser *p, int count, const char *surplus)
{
    const option_command *command = p->command;
    bool none = command->max_positionals == 0 || !command->synopsis || !*command->synopsis;
    const char *legal = none ? "no arguments" : command->synopsis;
    char given[32];
    snprintf(given, sizeof given, count == 0 ? "none" : "%d", count);
    if (count < command->min_positionals)
        note(p, llmperf_fail(p->error, LLMPERF_E_USAGE, "'%s' takes %s; %s given", command->name,
                             legal, given));
    else if (surplus)
        note(p, llmperf_fail(p->error, LLMPERF_E_USAGE,
                             "'%s' takes %s; %s given, '%s' is one too many", command->name, legal,
                             given, surplus));
}

llmperf_status option_parse(const option_command *command, int argc, char **argv, void *arguments,
                            option_result *ret_result, llmperf_error *error)
{
    option_result result = {0};
    if (asks_for_help(command, argc, argv)) {
        result.help = true;
        *ret_result = result;
        return LLMPERF_OK;
    }

    parser p = {
        .command = command, .argc = argc, .argv = argv, .arguments = arguments, .error = error};
    int most = command->max_positionals < OPTION_MAX_POSITIONALS ? command->max_positionals
                                                                 : OPTION_MAX_POSITIONALS;
    bool ended = false;
    int count = 0;
    const char *surplus = NULL;
    for (p.at = 1; p.at < argc; p.at++) {
        const char *word = argv[p.at];
        if (!ended && strcmp(word, "--") == 0) {
            ended = true;
        } else if (!ended && strncmp(word, "--", 2) == 0) {
            parse_long(&p);
        } else if (!ended && word[0] == '-' && word[1] != '\0') {
            parse_short(&p);
        } else {
            if (count < most)
                result.positional[count] = word;
            else if (!surplus)
                surplus = word;
            count++;
        }
    }
    if (p.help && p.status == LLMPERF_OK) {
        *ret_result = (option_result){.help = true};
        return LLMPERF_OK;
    }
    /* Behind an unknown option nobody knows which words are its value. */
    if (!p.unknown)
        check_positionals(&p, count, surplus);
    if (p.status != LLMPERF_OK)
        return p.status;
    result.positional_count = count;
    *ret_result = result;
    return LLMPERF_OK;
}

/* ---- Help ---- */

#define HELP_COLUMNS 80
/* Left parts up to this width share the line with their text. */
#define HELP_LEFT_MAX 30

/* Columns of `length` bytes of UTF-8, one for each character. */
static int columns(const char *text, size_t length)
{
    int count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* Bytes of the first `count` characters. */
static size_t bytes_of(const char *text, size_t length, int count)
{
    size_t i = 0;
    while (i < length && columns(text, i + 1) <= count)
        i++;
    return i;
}

static void pad(FILE *out, int count)
{
    for (int i = 0; i < count; i++)
        fputc(' ', out);
}

/*
 * Prints the words of `text` up to `length` bytes into the columns from `indent` on; the cursor
 * stands at column `at` (at most `indent`, or behind text that the words follow after a blank).
 * Ends with a newline.
 */
static void print_wrapped(FILE *out, const char *text, size_t length, int at, int indent)
{
    size_t i = 0;
    while (i < length && (is_blank(text[i]) || text[i] == '\n'))
        i++;
    bool fresh = at <= indent;
    if (fresh && i < length) {
        pad(out, indent - at);
        at = indent;
    }
    while (i < length) {
        while (i < length && (is_blank(text[i]) || text[i] == '\n'))
            i++;
        size_t end = i;
        while (end < length && !is_blank(text[end]) && text[end] != '\n')
            end++;
        while (i < end) {
            int width = columns(text + i, end - i);
            int needed = width + (fresh ? 0 : 1);
            if (at + needed > HELP_COLUMNS && !fresh) {
                fputc('\n', out);
                pad(out, indent);
                at = indent;
                fresh = true;
            }
            if (!fresh) {
                fputc(' ', out);
                at++;
            }
            /* A word wider than the column is cut: nothing may pass the right edge. */
            size_t bytes = bytes_of(text + i, end - i, HELP_COLUMNS - at);
            for (size_t k = i; k < i + bytes; k++)
                fputc(text[k] == GLUE ? ' ' : text[k], out);
            at += columns(text + i, bytes);
            i += bytes;
            fresh = false;
        }
    }
    fputc('\n', out);
}

/* Short pieces stay on one line. */
static void glue(char *text)
{
    if (columns(text, strlen(text)) <= 30)
        for (; *text; text++)
            if (*text == ' ')
                *text = GLUE;
}

static void describe(const option *row, bool glued, char *buffer, size_t size)
{
    char piece[TEXT_MAX] = "";
    buffer[0] = '\0';
    append(buffer, size, "%s", row->help ? row->help : "");
    const char *const *choices = option_choices(row);
    if (choices) {
        append(piece, sizeof piece, " (");
        for (size_t i = 0; choices[i]; i++)
            append(piece, sizeof piece, "%s%s", i ? ", " : "", choices[i]);
        append(piece, sizeof piece, ")");
    } else if (row->kind != OPTION_TEXT && row->kind != OPTION_FLAG && row->kind != OPTION_YESNO &&
               row->kind != OPTION_WORDS) {
        append_bounds(piece, sizeof piece, row, " (", " (");
        if (piece[0])
            append(piece, sizeof piece, ")");
    }
    if (glued && piece[0])
        glue(piece + 1);
    append(buffer, size, "%s", piece);
    if (row->default_text) {
        snprintf(piece, sizeof piece, " [default: %s]", row->default_text);
        if (glued)
            glue(piece + 1);
        append(buffer, size, "%s", piece);
    }
}

char *option_describe(const option *row, char *buffer, size_t size)
{
    if (size > 0)
        describe(row, false, buffer, size);
    return buffer;
}

static void left_part(const option *row, char *buffer, size_t size)
{
    const char *metavar = option_metavar(row);
    buffer[0] = '\0';
    if (row->letter)
        append(buffer, size, "  -%c, --%s", row->letter, row->name);
    else
        append(buffer, size, "      --%s", row->name);
    if (metavar)
        append(buffer, size, " %s", metavar);
}

static void print_row(FILE *out, const option *row, int column)
{
    char left[256];
    char text[TEXT_MAX];
    left_part(row, left, sizeof left);
    describe(row, true, text, sizeof text);
    int width = columns(left, strlen(left));
    if (width + 2 > column) {
        print_wrapped(out, left, strlen(left), 0, row->letter ? 2 : 6);
        width = 0;
    } else {
        fputs(left, out);
    }
    print_wrapped(out, text, strlen(text), width, column);
}

static const char *group_of(const option *row)
{
    return row->group ? row->group : "Options";
}

/* Is this the first row of its group? Then its heading is due. */
static bool opens_group(const option *options, const option *row)
{
    for (const option *each = options; each != row; each++)
        if (strcmp(group_of(each), group_of(row)) == 0)
            return false;
    return true;
}

static void print_options(FILE *out, const option_command *command)
{
    const option *options = command->options;
    const option help = {.name = "help",
                         .letter = find_letter(options, 'h') ? '\0' : 'h',
                         .kind = OPTION_FLAG,
                         .help = "show this help"};
    bool own_help = options && find_name(options, "help", 4);
    int column = 0;
    const option *last = NULL;
    for (const option *row = options; row && row->name; row++) {
        char left[256];
        left_part(row, left, sizeof left);
        int width = columns(left, strlen(left));
        if (width <= HELP_LEFT_MAX && width > column)
            column = width;
        if (opens_group(options, row))
            last = row;
    }
    column = (column < 12 ? 12 : column) + 2;

    for (const option *first = options; first && first->name; first++) {
        if (!opens_group(options, first))
            continue;
        fprintf(out, "\n%s:\n", group_of(first));
        for (const option *row = first; row->name; row++)
            if (strcmp(group_of(row), group_of(first)) == 0)
                print_row(out, row, column);
        if (first == last && !own_help && strcmp(group_of(first), "Options") == 0)
            print_row(out, &help, column);
    }
    if (!own_help && (!last || strcmp(group_of(last), "Options") != 0)) {
        fprintf(out, "\n%s:\n", last ? "Other" : "Options");
        print_row(out, &help, column);
    }
}

/* One line of the examples: the command, and what stands behind "  # ". */
typedef struct example {
    const char *command, *comment;
    size_t command_length, comment_length;
} example;

/* The example line at *cursor, which moves to the next one; false at the end. */
static bool next_example(const char **cursor, example *ret_example)
{
    const char *line = *cursor;
    while (is_blank(*line) || *line == '\n')
        line++;
    if (*line == '\0')
        return false;
    size_t length = strcspn(line, "\n");
    *cursor = line + length;
    example found = {.command = line, .command_length = length, .comment = ""};
    for (size_t i = 0; i + 3 < length; i++) {
        if (memcmp(line + i, "  # ", 4) == 0) {
            found.command_length = i;
            found.comment = line + i + 4;
            found.comment_length = length - i - 4;
            break;
        }
    }
    while (found.command_length > 0 && is_blank(line[found.command_length - 1]))
        found.command_length--;
    *ret_example = found;
    return true;
}

/* A command of one or, when it is too wide, several lines that a shell joins again. */
static void print_command(FILE *out, const char *text, size_t length)
{
    int indent = 2;
    while (length > 0) {
        int room = HELP_COLUMNS - indent;
        size_t cut = length;
        if (columns(text, length) > room) {
            /* The last blank outside quotes that leaves room for " \". */
            char quote = '\0';
            size_t best = 0;
            for (size_t i = 0; i < length && (best == 0 || columns(text, i) <= room - 2); i++) {
                if (quote ? text[i] == quote : (text[i] == '\'' || text[i] == '"'))
                    quote = quote ? '\0' : text[i];
                else if (!quote && text[i] == ' ' && i > 0)
                    best = i;
            }
            if (best > 0)
                cut = best;
        }
        pad(out, indent);
        fwrite(text, 1, cut, out);
        text += cut;
        length -= cut;
        while (length > 0 && *text == ' ') {
            text++;
            length--;
        }
        fputs(length > 0 ? " \\\n" : "\n", out);
        indent = 6;
    }
}

static void print_examples(FILE *out, const char *examples)
{
    int widest = 0;
    bool aligned = true;
    example each;
    for (const char *cursor = examples; next_example(&cursor, &each);)
        if (columns(each.command, each.command_length) > widest)
            widest = columns(each.command, each.command_length);
    for (const char *cursor = examples; next_example(&cursor, &each);)
        if (2 + widest + 4 + columns(each.comment, each.comment_length) > HELP_COLUMNS)
            aligned = false;

    fputs("\nExamples:\n", out);
    for (const char *cursor = examples; next_example(&cursor, &each);) {
        if (aligned) {
            fprintf(out, "  %.*s", (int)each.command_length, each.command);
            if (each.comment_length) {
                pad(out, widest - columns(each.command, each.command_length));
                fprintf(out, "  # %.*s", (int)each.comment_length, each.comment);
            }
            fputc('\n', out);
            continue;
        }
        if (each.comment_length) {
            fputs("  #", out);
            print_wrapped(out, each.comment, each.comment_length, 3, 4);
        }
        print_command(out, each.command, each.command_length);
    }
}

/* Paragraphs, each behind an empty line. */
static void print_paragraphs(FILE *out, const char *text)
{
    while (*text) {
        while (*text == '\n' || is_blank(*text))
            text++;
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        if (length > 0) {
            fputc('\n', out);
            print_wrapped(out, text, length, 0, 0);
        }
        text += length;
    }
}

void option_print_help(FILE *out, const option_command *command)
{
    char usage[TEXT_MAX] = "";
    append(usage, sizeof usage, "Usage:%cllmperf%c%s [options] %s", GLUE, GLUE, command->name,
           command->synopsis ? command->synopsis : "");
    print_wrapped(out, usage, strlen(usage), 0, 0);
    if (command->about || command->summary)
        print_paragraphs(out, command->about ? command->about : command->summary);
    print_options(out, command);
    if (command->examples && *command->examples)
        print_examples(out, command->examples);
}

void option_print_overview(FILE *out, const option_command *commands)
{
    fputs("Usage: llmperf COMMAND [options] ...\n\n"
          "Predicts the performance of LLM inference.\n\nCommands:\n",
          out);
    int column = 0;
    for (const option_command *each = commands; each->name; each++) {
        int width = columns(each->name, strlen(each->name));
        if (width > column)
            column = width;
    }
    column += 4;
    for (const option_command *each = commands; each->name; each++) {
        const char *summary = each->summary ? each->summary : "";
        fprintf(out, "  %s", each->name);
        print_wrapped(out, summary, strlen(summary), 2 + columns(each->name, strlen(each->name)),
                      column);
    }
    fputs("\n'llmperf COMMAND --help' describes a command and shows examples.\n"
          "'llmperf --version' prints the version.\n",
          out);
}
