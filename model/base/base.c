/* SPDX-License-Identifier: MIT */
#include "llmperf/base.h"

#include <ctype.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the "C" locale for the calling thread, so that a decimal comma never gets in or out ---- */

typedef struct locale_scope {
    locale_t neutral, previous;
} locale_scope;

static locale_scope enter_neutral_locale(void)
{
    /* glibc hands out a static object for "C", so this does not fail; if it did, we would go on
     * in the caller's locale. */
    locale_scope scope = {.neutral = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    if (scope.neutral)
        scope.previous = uselocale(scope.neutral);
    return scope;
}

static void leave_neutral_locale(locale_scope scope)
{
    if (!scope.neutral)
        return;
    uselocale(scope.previous);
    freelocale(scope.neutral);
}

/* ---- escaping ---- */

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

/*
 * Length of the character at `at` (not at the final NUL). `ret_harmless` is false for control
 * characters and for bytes that are no valid UTF-8: a terminal that is not in UTF-8 mode takes a
 * lone 0x9B for the start of a control sequence.
 */
static size_t character_length(const char *at, bool *ret_harmless)
{
    const unsigned char *s = (const unsigned char *)at;
    *ret_harmless = false;
    if (s[0] < 0x80) {
        *ret_harmless = s[0] >= 0x20 && s[0] != 0x7F;
        return 1;
    }
    if (s[0] >= 0xC2 && s[0] <= 0xDF && is_continuation(s[1])) {
        *ret_harmless = s[0] != 0xC2 || s[1] >= 0xA0;
        return 2;
    }
    if (s[0] >= 0xE0 && s[0] <= 0xEF && is_continuation(s[1]) && is_continuation(s[2])) {
        bool overlong = s[0] == 0xE0 && s[1] < 0xA0;
        bool surrogate = s[0] == 0xED && s[1] >= 0xA0;
        *ret_harmless = !overlong && !surrogate;
        return *ret_harmless ? 3 : 1;
    }
    if (s[0] >= 0xF0 && s[0] <= 0xF4 && is_continuation(s[1]) && is_continuation(s[2]) &&
        is_continuation(s[3])) {
        bool overlong = s[0] == 0xF0 && s[1] < 0x90;
        bool too_high = s[0] == 0xF4 && s[1] >= 0x90;
        *ret_harmless = !overlong && !too_high;
        return *ret_harmless ? 4 : 1;
    }
    return 1;
}

char *llmperf_escape(const char *text, char *buffer, size_t size)
{
    if (!text || !buffer)
        return buffer;
    static const char digits[] = "0123456789abcdef";
    if (size == 0)
        return buffer;
    size_t used = 0;
    while (*text) {
        bool harmless;
        size_t length = character_length(text, &harmless);
        /* Whole characters and whole escapes only: half of one would be a new fault. */
        if (size - 1 - used < (harmless ? length : 4 * length))
            break;
        for (size_t i = 0; i < length; i++) {
            unsigned char byte = (unsigned char)text[i];
            if (harmless) {
                buffer[used++] = text[i];
                continue;
            }
            buffer[used++] = '\\';
            buffer[used++] = 'x';
            buffer[used++] = digits[byte >> 4];
            buffer[used++] = digits[byte & 15];
        }
        text += length;
    }
    buffer[used] = '\0';
    return buffer;
}

/* ---- errors ---- */

static const char more_faults[] = "... and more faults";

/* Room for a newline and `more_faults` is kept free at the end of the text for the day when a
 * fault does not fit. */
#define FAULT_ROOM (LLMPERF_ERROR_TEXT_MAX - sizeof more_faults - 1)

static bool is_full(const char *text, size_t used)
{
    size_t mark = sizeof more_faults - 1;
    return used >= mark && strcmp(text + used - mark, more_faults) == 0;
}

llmperf_status llmperf_fail_va(llmperf_error *error, llmperf_status status, const char *format,
                               va_list arguments)
{
    if (!error || !format)
        return status;
    if (error->faults <= 0)
        error->status = status;
    if (error->faults < INT_MAX)
        error->faults++;

    size_t used = strnlen(error->text, sizeof error->text);
    if (used == sizeof error->text || is_full(error->text, used))
        return status;

    char message[FAULT_ROOM + 1]; /* what is longer has no room anyway */
    locale_scope scope = enter_neutral_locale();
    int length = vsnprintf(message, sizeof message, format, arguments);
    leave_neutral_locale(scope);
    if (length < 0)
        snprintf(message, sizeof message, "a fault whose text could not be written");

    /* a little more than there is room for, so that a text cut at an escape is seen not to fit */
    enum { LONGEST_ESCAPE = 4 };
    size_t separator = used > 0 ? 1 : 0, start = used + separator;
    bool fits = start < FAULT_ROOM;
    if (fits) {
        llmperf_escape(message, error->text + start, FAULT_ROOM + LONGEST_ESCAPE + 1 - start);
        fits = start + strlen(error->text + start) < FAULT_ROOM;
    }
    if (fits) {
        if (separator)
            error->text[used] = '\n';
    } else if (used == 0) {
        /* One fault longer than the whole buffer: its start says what happened. */
        llmperf_escape(message, error->text, FAULT_ROOM);
    } else {
        snprintf(error->text + used, sizeof error->text - used, "\n%s", more_faults);
    }
    return status;
}

llmperf_status llmperf_fail(llmperf_error *error, llmperf_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    llmperf_fail_va(error, status, format, arguments);
    va_end(arguments);
    return status;
}

/* ---- did you mean ---- */

/* Longer words are never names that we know. */
#define WORD_MAX 64

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`, both of at
 * most WORD_MAX bytes; letter case costs nothing, so that BF16 finds bf16. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++)
        above[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t substitution = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
            row[j] = smaller(above[j] + 1, row[j - 1] + 1);
            row[j] = smaller(row[j], above[j - 1] + substitution);
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]))
                row[j] = smaller(row[j], before[j - 2] + 1);
        }
        size_t *free_row = before;
        before = above;
        above = row;
        row = free_row;
    }
    return above[b_length];
}

const char *llmperf_nearest(const char *word, const char *const *words)
{
    if (!word || !words)
        return NULL;
    size_t length = strlen(word);
    if (length > WORD_MAX)
        return NULL;
    size_t limit = length / 3;
    if (limit < 1)
        limit = 1;
    if (limit > 3)
        limit = 3;

    const char *nearest = NULL;
    for (; *words; words++) {
        size_t other_length = strlen(*words);
        if (other_length > WORD_MAX)
            continue;
        size_t distance = edit_distance(word, length, *words, other_length);
        if (distance > limit || (nearest && distance == limit))
            continue;
        nearest = *words;
        limit = distance; /* from here on only a nearer word is better */
    }
    return nearest;
}

static bool is_separator(char c)
{
    return c == ' ' || c == '-' || c == '_';
}

/* The next character of a name that counts, in lower case; 0 = its end. */
static int next_of_name(const char *name, const char **at)
{
    static const char *const MAKERS[] = {"nvidia", "geforce",  "tesla", "amd",
                                         "radeon", "instinct", "intel", "gpu"};
    for (;;) {
        bool starts = *at == name || is_separator((*at)[-1]);
        size_t length = strcspn(*at, " -_");
        bool maker = false;
        for (size_t i = 0; starts && length > 0 && i < sizeof MAKERS / sizeof *MAKERS; i++)
            maker |= length == strlen(MAKERS[i]) && strncasecmp(*at, MAKERS[i], length) == 0;
        if (maker)
            *at += length;
        else if (is_separator(**at))
            (*at)++;
        else
            break;
    }
    return **at ? tolower((unsigned char)*(*at)++) : 0;
}

bool llmperf_same_part(const char *a, const char *b)
{
    if (!a || !b)
        return false;
    const char *at = a, *bt = b;
    for (bool some = false;; some = true) {
        int c = next_of_name(a, &at);
        if (c != next_of_name(b, &bt))
            return false;
        if (c == 0)
            return some;
    }
}

/* ---- numbers ---- */

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

static bool is_decimal_number(const char *text)
{
    if (*text == '+' || *text == '-')
        text++;
    const char *whole_end = skip_digits(text);
    size_t digits = (size_t)(whole_end - text);
    const char *at = whole_end;
    if (*at == '.') {
        const char *fraction = at + 1;
        at = skip_digits(fraction);
        digits += (size_t)(at - fraction);
    }
    if (digits == 0)
        return false;
    if (*at == 'e' || *at == 'E') {
        at++;
        if (*at == '+' || *at == '-')
            at++;
        const char *exponent = at;
        at = skip_digits(exponent);
        if (at == exponent)
            return false;
    }
    return *at == '\0';
}

/*
 * Up to 15 digits times a power of ten of up to 22: both are exact in a double, so that their product or
 * quotient is the double next to what is written, as strtod() finds it at five times the cost.
 *   source: Clinger, "How to read floating point numbers accurately", PLDI 1990
 */
static bool parse_short(const char *text, double *ret_value)
{
    static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const int64_t most = INT64_C(1000000000000000);
    const bool negative = *text == '-';
    int64_t digits = 0;
    int exponent = 0, written = 0;
    bool point = false;
    for (text += negative || *text == '+'; *text && (*text | 0x20) != 'e'; text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        digits = 10 * digits + (*text - '0');
        exponent -= point;
        if (digits >= most || exponent < -22)
            return false;
    }
    if (*text) {
        const bool down = text[1] == '-';
        for (text += down || text[1] == '+' ? 2 : 1; *text && written < 1000; text++)
            written = 10 * written + (*text - '0');
        exponent += down ? -written : written;
    }
    if (FLT_EVAL_METHOD != 0 || exponent < -22 || exponent > 22)
        return false;
    const double scaled =
        exponent < 0 ? (double)digits / POWERS[-exponent] : (double)digits * POWERS[exponent];
    *ret_value = negative ? -scaled : scaled;
    return true;
}

bool llmperf_parse_double(const char *text, double *ret_value)
{
    if (!text || !ret_value)
        return false;
    if (!is_decimal_number(text))
        return false;
    if (parse_short(text, ret_value))
        return true;
    locale_t neutral = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!neutral)
        return false;
    char *end;
    double value = strtod_l(text, &end, neutral);
    freelocale(neutral);
    if (*end != '\0' || !isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

char *llmperf_format_double(double value, char *buffer)
{
    if (!buffer)
        return NULL;
    const double exact_integers = 9007199254740992.0; /* 2^53 */
    locale_scope scope = enter_neutral_locale();
    if (fabs(value) <= exact_integers && value == floor(value)) {
        snprintf(buffer, LLMPERF_DOUBLE_TEXT_MAX, "%.0f", value);
    } else {
        /* 15 digits always survive the way through a double, 17 always name one; %g drops the
         * zeros of a shorter number. Subnormal numbers carry fewer digits than 15. */
        int digits = fabs(value) < DBL_MIN ? 1 : 15;
        for (; digits <= 17; digits++) {
            double read_back;
            snprintf(buffer, LLMPERF_DOUBLE_TEXT_MAX, "%.*g", digits, value);
            if (!isfinite(value) ||
                (llmperf_parse_double(buffer, &read_back) && read_back == value))
                break;
        }
    }
    leave_neutral_locale(scope);
    return buffer;
}

const char *llmperf_version(void)
{
    return LLMPERF_VERSION;
}

int llmperf_api_version(void)
{
    return LLMPERF_API_VERSION;
}
