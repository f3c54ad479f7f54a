/* SPDX-License-Identifier: MIT */
/* What a loaded document says: look-ups, typed readings and the faults of who reads them. */
#include <float.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "doc_build.h"

/* ---- looking things up ---- */

doc_node *doc_get(doc_node *map, const char *key)
{
    if (!map || map->kind != DOC_MAP)
        return NULL;
    for (doc_node *child = map->first; child; child = child->next) {
        if (strcmp(child->key, key) == 0) {
            child->used = true;
            return child;
        }
    }
    return NULL;
}

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++) {
        if (strcmp(text, *words) == 0)
            return true;
    }
    return false;
}

/* Most texts of a file are numbers: no word starts like one. */
static bool is_digit_or_sign(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+';
}

bool doc_is_null(const doc_node *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    if (!node || node->kind != DOC_SCALAR || node->quoted)
        return !node;
    return !is_digit_or_sign(node->text[0]) && is_one_of(node->text, nulls);
}

/* ---- what a scalar is ---- */

static const char *const true_words[] = {"true", "True", "TRUE", NULL};
static const char *const false_words[] = {"false", "False", "FALSE", NULL};
static const char *const yes_words[] = {"yes", "Yes", "YES", "on", "On", "ON", NULL};
static const char *const no_words[] = {"no", "No", "NO", "off", "Off", "OFF", NULL};

typedef enum number_form {
    NUMBER_NONE,
    NUMBER_INTEGER,    /* digits only */
    NUMBER_DECIMAL,    /* with a point or an exponent */
    NUMBER_NOT_FINITE, /* .inf, .nan, and what Python writes */
    NUMBER_UNDERSCORE, /* from here on: what other readers take for numbers and we refuse */
    NUMBER_HEX,
    NUMBER_OCTAL,
    NUMBER_BINARY,
    NUMBER_LEADING_ZERO,
    NUMBER_COMMA,
} number_form;

/* Why a text of that form is refused; goes behind the text. */
static const char *form_reason(number_form form)
{
    switch (form) {
    case NUMBER_UNDERSCORE:
        return " with '_' between the digits";
    case NUMBER_HEX:
        return " in hexadecimal";
    case NUMBER_OCTAL:
        return " in octal";
    case NUMBER_BINARY:
        return " in binary";
    case NUMBER_LEADING_ZERO:
        return " with a leading zero, which some readers take for octal";
    case NUMBER_COMMA:
        return " with a comma among the digits";
    case NUMBER_NONE:
    case NUMBER_INTEGER:
    case NUMBER_DECIMAL:
    case NUMBER_NOT_FINITE:
        break;
    }
    return "";
}

/* [0-9]+ or [0-9]+.[0-9]* or .[0-9]+, then an exponent or not; no sign. `extra` characters count as
 * digits behind the first one. */
static bool is_number(const char *text, const char *extra, bool *ret_integer)
{
    size_t digits = 0;
    bool integer = true;
    for (; (*text >= '0' && *text <= '9') || *text == '.' || (*text && strchr(extra, *text));
         text++) {
        if (*text == '.') {
            if (!integer)
                return false;
            integer = false;
        } else if (*text >= '0' && *text <= '9') {
            digits++;
        } else if (digits == 0) {
            return false;
        }
    }
    if (digits == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        integer = false;
        text++;
        if (*text == '+' || *text == '-')
            text++;
        if (*text < '0' || *text > '9')
            return false;
        while (*text >= '0' && *text <= '9')
            text++;
    }
    *ret_integer = integer;
    return *text == '\0';
}

static bool has_prefix_and_digits(const char *text, char mark, const char *digits)
{
    return text[0] == '0' && (text[1] | 0x20) == mark && text[2] != '\0' &&
           text[2 + strspn(text + 2, digits)] == '\0';
}

static number_form classify(const char *text)
{
    static const char *const not_finite[] = {".inf", ".Inf", ".INF",     ".nan", ".NaN", ".NAN",
                                             "NaN",  "nan",  "Infinity", "inf",  NULL};
    if (*text == '+' || *text == '-')
        text++;
    if (!is_digit_or_sign(*text) && is_one_of(text, not_finite))
        return NUMBER_NOT_FINITE;
    bool integer = false;
    if (is_number(text, "", &integer)) {
        if (text[0] == '0' && text[1] >= '0' && text[1] <= '9')
            return NUMBER_LEADING_ZERO;
        return integer ? NUMBER_INTEGER : NUMBER_DECIMAL;
    }
    if (has_prefix_and_digits(text, 'x', "0123456789abcdefABCDEF_"))
        return NUMBER_HEX;
    if (has_prefix_and_digits(text, 'o', "01234567_"))
        return NUMBER_OCTAL;
    if (has_prefix_and_digits(text, 'b', "01_"))
        return NUMBER_BINARY;
    if (is_number(text, "_", &integer))
        return NUMBER_UNDERSCORE;
    if (is_number(text, ",", &integer))
        return NUMBER_COMMA;
    return NUMBER_NONE;
}

const char *doc_describe(const doc_node *node, char *buffer, size_t size)
{
    if (size == 0)
        return buffer;
    const char *what = "text";
    if (!node)
        what = "missing";
    else if (node->kind == DOC_MAP)
        what = node->count > 0 ? "a map" : "an empty map";
    else if (node->kind == DOC_SEQ)
        what = node->count > 0 ? "a list" : "an empty list";
    else if (doc_is_null(node))
        what = "null";
    if (strcmp(what, "text") != 0) {
        snprintf(buffer, size, "%s", what);
        return buffer;
    }
    const char *quote = "\"";
    if (!node->quoted) {
        number_form form = classify(node->text);
        if (is_one_of(node->text, true_words) || is_one_of(node->text, false_words))
            what = "boolean";
        else if (form == NUMBER_INTEGER)
            what = "integer";
        else if (form == NUMBER_DECIMAL || form == NUMBER_NOT_FINITE)
            what = "number";
        quote = strcmp(what, "text") == 0 ? "\"" : "";
    }
    char start[DOC_SHOWN_MAX + 1], escaped[4 * DOC_SHOWN_MAX + 1], full[sizeof escaped + 32];
    size_t length = doc_cut_length(node->text, DOC_SHOWN_MAX);
    memcpy(start, node->text, length);
    start[length] = '\0';
    llmperf_escape(start, escaped, sizeof escaped);
    snprintf(full, sizeof full, "%s %s%s%s%s", what, quote, escaped, doc_cut_mark(node->text),
             quote);
    return llmperf_escape(full, buffer, size); /* cuts between characters */
}

/* ---- faults of the caller ---- */

/* As vsnprintf(), without the decimal comma of the user's locale. */
static void format_neutral(char *buffer, size_t size, const char *format, va_list arguments)
{
    locale_t neutral = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t previous = neutral ? uselocale(neutral) : (locale_t)0;
    if (vsnprintf(buffer, size, format, arguments) < 0)
        snprintf(buffer, size, "a fault whose text could not be written");
    if (neutral) {
        uselocale(previous);
        freelocale(neutral);
    }
}

static llmperf_status fail_at(const doc *document, const doc_node *node, bool at_key,
                              llmperf_error *error, const char *format, va_list arguments)
{
    if (!error)
        return LLMPERF_E_SPEC;
    char text[LLMPERF_ERROR_TEXT_MAX];
    format_neutral(text, sizeof text, format, arguments);
    if (!node)
        return llmperf_fail(error, LLMPERF_E_SPEC, "%s: %s", document->name, text);
    bool key = at_key && node->key;
    return llmperf_fail(error, LLMPERF_E_SPEC, "%s:%d:%d: %s", document->name,
                        key ? node->key_line : node->line, key ? node->key_column : node->column,
                        text);
}

llmperf_status doc_fail(const doc *document, const doc_node *node, llmperf_error *error,
                        const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    llmperf_status status = fail_at(document, node, false, error, format, arguments);
    va_end(arguments);
    return status;
}

llmperf_status doc_fail_at_key(const doc *document, const doc_node *node, llmperf_error *error,
                               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    llmperf_status status = fail_at(document, node, true, error, format, arguments);
    va_end(arguments);
    return status;
}

#define DESCRIBED_MAX (5 * DOC_SHOWN_MAX)

/* "KEY is WHAT<reason>; <allowed>" at the node. */
static llmperf_status refuse(const doc *document, const doc_node *node, const char *reason,
                             const char *allowed, llmperf_error *error)
{
    if (!error)
        return LLMPERF_E_SPEC;
    char what[DESCRIBED_MAX], subject[DOC_SHOWN_MAX + 4];
    doc_describe(node, what, sizeof what);
    if (node && node->key)
        snprintf(subject, sizeof subject, "%.*s%s", (int)doc_cut_length(node->key, DOC_SHOWN_MAX),
                 node->key, doc_cut_mark(node->key));
    else
        snprintf(subject, sizeof subject, "%s",
                 !node                    ? "a value"
                 : node == document->root ? "the document"
                                          : "the item");
    return doc_fail(document, node, error, "%s is %s%s; %s", subject, what, reason, allowed);
}

/* ---- typed readings ---- */

#define LARGEST_COUNT ((int64_t)1 << 53)

typedef enum exact_result { EXACT_OK, EXACT_NOT_WHOLE, EXACT_TOO_LARGE } exact_result;

/* The integer that a text of NUMBER_INTEGER or NUMBER_DECIMAL form means, digit by digit: by way of
 * a double, 9007199254740993 and 4096.0000000000000001 would pass as their neighbours. */
static exact_result exact_integer(const char *text, int64_t *ret_value)
{
    bool negative = *text == '-';
    if (*text == '+' || *text == '-')
        text++;

    int64_t exponent = 0;
    const char *mark = text + strcspn(text, "eE");
    if (*mark) {
        bool down = mark[1] == '-';
        for (const char *at = mark + (mark[1] == '-' || mark[1] == '+' ? 2 : 1); *at; at++) {
            /* The text itself has fewer than 2^30 digits to move the point over. */
            if (exponent < (int64_t)1 << 40)
                exponent = 10 * exponent + (*at - '0');
        }
        exponent = down ? -exponent : exponent;
    }

    /* The value is DIGITS * 10^exponent; zeros at the end of DIGITS wait until a digit follows. */
    int64_t value = 0, zeros = 0;
    bool point = false, too_large = false;
    for (const char *at = text; at < mark; at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        exponent -= point;
        if (*at == '0') {
            zeros += value != 0 || too_large;
            continue;
        }
        for (int64_t i = 0; i < zeros + 1 && !too_large; i++) {
            value *= 10;
            too_large = value > LARGEST_COUNT;
        }
        value += *at - '0';
        too_large = too_large || value > LARGEST_COUNT;
        zeros = 0;
    }
    if (value == 0) {
        *ret_value = 0;
        return EXACT_OK;
    }
    exponent += zeros;
    if (exponent < 0)
        return EXACT_NOT_WHOLE;
    for (; exponent > 0 && !too_large; exponent--) {
        value *= 10;
        too_large = value > LARGEST_COUNT;
    }
    if (too_large)
        return EXACT_TOO_LARGE;
    *ret_value = negative ? -value : value;
    return EXACT_OK;
}

/* Why a node is no integer from `min` to `max`; NULL = it is one, *ret_value. */
static const char *not_an_integer(const doc_node *node, int64_t min, int64_t max,
                                  int64_t *ret_value)
{
    if (doc_is_null(node) || node->kind != DOC_SCALAR || node->quoted)
        return "";
    number_form form = classify(node->text);
    if (form != NUMBER_INTEGER && form != NUMBER_DECIMAL)
        return form_reason(form);
    int64_t value = 0;
    switch (exact_integer(node->text, &value)) {
    case EXACT_NOT_WHOLE:
        return ", which is not whole";
    case EXACT_TOO_LARGE:
        return ", too large to count exactly";
    case EXACT_OK:
        break;
    }
    if (value < min || value > max)
        return "";
    *ret_value = value;
    return NULL;
}

llmperf_status doc_int64(const doc *document, const doc_node *node, int64_t min, int64_t max,
                         int64_t *ret_value, llmperf_error *error)
{
    char allowed[96];
    const char *reason = not_an_integer(node, min, max, ret_value);
    if (!reason)
        return LLMPERF_OK;
    snprintf(allowed, sizeof allowed, "an integer from %lld to %lld is allowed",
             (long long)(min < -LARGEST_COUNT ? -LARGEST_COUNT : min),
             (long long)(max > LARGEST_COUNT ? LARGEST_COUNT : max));
    return refuse(document, node, reason, allowed, error);
}

/* "a number from 0 to 1 is allowed" and its forms with open ends. */
static void say_range(double min, double max, char *buffer, size_t size)
{
    char low[LLMPERF_DOUBLE_TEXT_MAX], high[LLMPERF_DOUBLE_TEXT_MAX], upper[64] = "";
    bool low_open = min <= -DBL_MAX, above_zero = min > 0 && min <= DBL_MIN;
    bool high_open = max >= DBL_MAX;
    llmperf_format_double(above_zero || low_open ? 0 : min, low);
    llmperf_format_double(high_open ? 0 : max, high);
    if (!high_open)
        snprintf(upper, sizeof upper, " %s %s", low_open || above_zero ? "up to" : "to", high);
    if (low_open)
        snprintf(buffer, size, "a finite number%s is allowed", upper);
    else if (above_zero)
        snprintf(buffer, size, "a number above 0%s%s is allowed", high_open ? "" : " and", upper);
    else if (high_open)
        snprintf(buffer, size, "a number of %s or more is allowed", low);
    else
        snprintf(buffer, size, "a number from %s%s is allowed", low, upper);
}

/* Why a node is no number from `min` to `max`; NULL = it is one, *ret_value. */
static const char *not_a_number(const doc_node *node, double min, double max, double *ret_value)
{
    double value;
    if (doc_is_null(node) || node->kind != DOC_SCALAR || node->quoted)
        return "";
    number_form form = classify(node->text);
    if (form == NUMBER_NOT_FINITE)
        return ", which is not finite";
    if (form != NUMBER_INTEGER && form != NUMBER_DECIMAL)
        return form_reason(form);
    if (!llmperf_parse_double(node->text, &value))
        return ", too large for a double";
    if (!(value >= min && value <= max))
        return "";
    *ret_value = value;
    return NULL;
}

llmperf_status doc_double(const doc *document, const doc_node *node, double min, double max,
                          double *ret_value, llmperf_error *error)
{
    char allowed[160];
    const char *reason = not_a_number(node, min, max, ret_value);
    if (!reason)
        return LLMPERF_OK;
    say_range(min, max, allowed, sizeof allowed);
    return refuse(document, node, reason, allowed, error);
}

llmperf_status doc_bool(const doc *document, const doc_node *node, bool *ret_value,
                        llmperf_error *error)
{
    bool plain = node && node->kind == DOC_SCALAR && !node->quoted;
    if (plain && (is_one_of(node->text, true_words) ||
                  (!document->json && is_one_of(node->text, yes_words)))) {
        *ret_value = true;
        return LLMPERF_OK;
    }
    if (plain && (is_one_of(node->text, false_words) ||
                  (!document->json && is_one_of(node->text, no_words)))) {
        *ret_value = false;
        return LLMPERF_OK;
    }
    return refuse(document, node, "",
                  document->json ? "true or false is allowed"
                                 : "true, false, yes, no, on or off is allowed",
                  error);
}

llmperf_status doc_text(const doc *document, const doc_node *node, char *buffer, size_t size,
                        llmperf_error *error)
{
    if (doc_is_null(node) || node->kind != DOC_SCALAR)
        return refuse(document, node, "", "a text is allowed", error);
    size_t length = strlen(node->text);
    if (length >= size) {
        char reason[64], allowed[64];
        snprintf(reason, sizeof reason, ", %zu bytes long", length);
        snprintf(allowed, sizeof allowed, "a text of up to %zu bytes is allowed",
                 size > 0 ? size - 1 : 0);
        return refuse(document, node, reason, allowed, error);
    }
    memcpy(buffer, node->text, length + 1);
    return LLMPERF_OK;
}

/* "a, b, c are allowed here", cut when there are many. */
static void say_known(const char *const *known, char *buffer, size_t size)
{
    const size_t tail = sizeof ", ... are allowed here";
    size_t used = 0, count = 0;
    buffer[0] = '\0';
    for (; known[count]; count++) {
        size_t length = strlen(known[count]) + 2;
        if (used + length + tail > size)
            break;
        snprintf(buffer + used, size - used, "%s%s", count ? ", " : "", known[count]);
        used = strlen(buffer);
    }
    snprintf(buffer + used, size - used, "%s%s allowed here", known[count] ? ", ..." : "",
             count == 1 && !known[count] ? " is" : " are");
}

static llmperf_status refuse_key(const doc *document, const doc_node *child,
                                 const char *const *known, llmperf_error *error)
{
    char allowed[512];
    int length = (int)doc_cut_length(child->key, DOC_SHOWN_MAX);
    const char *mark = doc_cut_mark(child->key);
    const char *near = llmperf_nearest(child->key, known);
    if (near && strcmp(near, child->key) == 0)
        return doc_fail_at_key(document, child, error,
                               "key '%.*s%s' has no effect here; it is allowed elsewhere", length,
                               child->key, mark);
    if (near)
        return doc_fail_at_key(document, child, error,
                               "key '%.*s%s' is not known; did you mean '%s'?", length, child->key,
                               mark, near);
    if (known[0])
        say_known(known, allowed, sizeof allowed);
    else
        snprintf(allowed, sizeof allowed, "no key is allowed here");
    return doc_fail_at_key(document, child, error, "key '%.*s%s' is not known; %s", length,
                           child->key, mark, allowed);
}

llmperf_status doc_refuse_unknown(const doc *document, const doc_node *map,
                                  const char *const *known, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    if (!map || map->kind != DOC_MAP)
        return LLMPERF_OK;
    for (const doc_node *child = map->first; child; child = child->next)
        if (!child->used)
            status = refuse_key(document, child, known, error);
    return status;
}
