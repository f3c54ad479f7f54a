/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/base.h"

#define expect_text(got, want) cr_expect_str_eq(got, want)

static bool set_comma_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                        "fr_FR.utf8",  "de_DE",      "ru_RU.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (setlocale(LC_ALL, names[i]) && strcmp(localeconv()->decimal_point, ",") == 0)
            return true;
    }
    return false;
}

/* ---- version ---- */

Test(base, version_has_the_numbers_of_the_header)
{
    char want[32];
    snprintf(want, sizeof want, "%d.%d.%d", LLMPERF_VERSION_MAJOR, LLMPERF_VERSION_MINOR,
             LLMPERF_VERSION_PATCH);
    expect_text(llmperf_version(), want);
    expect_text(LLMPERF_VERSION, want);
}

/* ---- llmperf_fail ---- */

Test(base, fail_keeps_the_first_status_and_joins_lines)
{
    llmperf_error error = {0};
    cr_expect(llmperf_fail(&error, LLMPERF_E_IO, "cannot open '%s'", "x") == LLMPERF_E_IO);
    cr_expect(llmperf_fail(&error, LLMPERF_E_SPEC, "line %d", 7) == LLMPERF_E_SPEC);
    cr_expect(error.status == LLMPERF_E_IO);
    cr_expect_eq(error.faults, 2);
    expect_text(error.text, "cannot open 'x'\nline 7");
}

Test(base, fail_without_an_error_only_returns_the_status)
{
    cr_expect(llmperf_fail(NULL, LLMPERF_E_FIT, "%s", "unseen") == LLMPERF_E_FIT);
}

Test(base, fail_escapes_control_bytes)
{
    llmperf_error error = {0};
    llmperf_fail(&error, LLMPERF_E_SPEC, "a%sb", "\x1b[2J\n\x7f");
    expect_text(error.text, "a\\x1b[2J\\x0a\\x7fb");
}

Test(base, fail_says_when_there_is_no_room_and_counts_on)
{
    llmperf_error error = {0};
    char line[101];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    for (int i = 0; i < 200; i++)
        llmperf_fail(&error, LLMPERF_E_SPEC, "%s", line);
    cr_expect_eq(error.faults, 200);

    const char *last = strrchr(error.text, '\n');
    cr_assert(last != NULL);
    expect_text(last, "\n... and more faults");
    /* Whole lines of 100 before it: 8192 bytes hold 80 of them with their newlines. */
    cr_expect_eq(last - error.text, 80 * 101 - 1);

    /* A short one that would fit must not come after the mark. */
    llmperf_fail(&error, LLMPERF_E_SPEC, "y");
    expect_text(strrchr(error.text, '\n'), "\n... and more faults");
    cr_expect_eq(error.faults, 201);
}

Test(base, fail_has_room_for_the_mark_whatever_the_lengths)
{
    static char line[LLMPERF_ERROR_TEXT_MAX + 100];
    memset(line, 'x', sizeof line - 1);
    for (int first = LLMPERF_ERROR_TEXT_MAX - 60; first < LLMPERF_ERROR_TEXT_MAX + 60; first++) {
        llmperf_error error = {0};
        llmperf_fail(&error, LLMPERF_E_SPEC, "%.*s", first, line);
        cr_expect(strlen(error.text) > LLMPERF_ERROR_TEXT_MAX - 80);
        cr_expect(strspn(error.text, "x") == strlen(error.text));
        llmperf_fail(&error, LLMPERF_E_SPEC, "%s", line);
        cr_assert(strlen(error.text) < sizeof error.text);
        const char *last = strrchr(error.text, '\n');
        cr_assert(last != NULL);
        expect_text(last, "\n... and more faults");
    }
}

Test(base, fail_does_not_overflow_the_count)
{
    llmperf_error error = {.status = LLMPERF_E_SPEC, .faults = INT_MAX};
    llmperf_fail(&error, LLMPERF_E_SPEC, "one more");
    cr_expect_eq(error.faults, INT_MAX);
}

Test(base, fail_can_quote_its_own_text)
{
    llmperf_error error = {0};
    llmperf_fail(&error, LLMPERF_E_SPEC, "one");
    llmperf_fail(&error, LLMPERF_E_SPEC, "not only %s", error.text);
    expect_text(error.text, "one\nnot only one");
}

/* ---- llmperf_escape ---- */

Test(base, escape_leaves_text_alone_and_shows_control_characters)
{
    static const struct {
        const char *text, *want;
    } rows[] = {
        {"", ""},
        {"plain \"text\" \\ 100%", "plain \"text\" \\ 100%"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\xa4\x97", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\xa4\x97"},
        {"\t\n\r\x01\x1f", "\\x09\\x0a\\x0d\\x01\\x1f"},
        {"\x7f", "\\x7f"},
        {"\xc2\x80\xc2\x9b\xc2\x9f", "\\xc2\\x80\\xc2\\x9b\\xc2\\x9f"}, /* C1 */
        {"\xc2\xa0", "\xc2\xa0"},                                       /* the first after C1 */
        /* No UTF-8: a terminal in an 8-bit mode takes 0x9B for the start of a control sequence. */
        {"a\x9b"
         "b\xff",
         "a\\x9bb\\xff"},
        {"\xc0\xaf", "\\xc0\\xaf"},                   /* overlong '/' */
        {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},          /* overlong, three bytes */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* surrogate */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* above U+10FFFF */
        {"\xe2\x82", "\\xe2\\x82"},                   /* cut */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char buffer[128];
        cr_expect(llmperf_escape(rows[i].text, buffer, sizeof buffer) == buffer);
        expect_text(buffer, rows[i].want);
    }
}

Test(base, escape_cuts_between_characters)
{
    char buffer[16];
    memset(buffer, '#', sizeof buffer);
    llmperf_escape("abc", buffer, 0);
    cr_expect(buffer[0] == '#');
    expect_text(llmperf_escape("abc", buffer, 1), "");
    expect_text(llmperf_escape("abc", buffer, 3), "ab");
    expect_text(llmperf_escape("abc", buffer, 4), "abc");
    expect_text(llmperf_escape("a\xc3\xa9z", buffer, 3), "a"); /* no half of an e acute */
    expect_text(llmperf_escape("a\nz", buffer, 5), "a");       /* no half of \x0a */
    expect_text(llmperf_escape("a\nz", buffer, 6), "a\\x0a");
}

/* ---- llmperf_nearest ---- */

static const char *const keys[] = {"name", "memory", "bandwidth", "compute",
                                   "tp",   "bf16",   "fp8",       NULL};

Test(base, nearest_finds_the_word_that_was_meant)
{
    static const struct {
        const char *word, *want; /* NULL = none */
    } rows[] = {
        {"bandwith", "bandwidth"},   /* one letter left out */
        {"bandwiddth", "bandwidth"}, /* one too many */
        {"bandwidht", "bandwidth"},  /* two swapped */
        {"bendwith", "bandwidth"},   /* 2 <= 8/3 */
        {"bandwidth", "bandwidth"},  /* itself */
        {"bf61", "bf16"},            /* a swap is one step: 1 <= 4/3 */
        {"BF16", "bf16"},            /* case costs nothing */
        {"Memory", "memory"},
        {"pt", "tp"},          /* at least one step is near */
        {"memoria", "memory"}, /* y for ia: 2 <= 7/3 */
        {"nombre", NULL},      /* 3 steps from name > 6/3 */
        {"bf3200", NULL},
        {"xyz", NULL},
        /* 3 at most, however long the word is: 4 more letters are too many. */
        {"bandwidthabcd", NULL},
        {"bandwidthabc", "bandwidth"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *got = llmperf_nearest(rows[i].word, keys);
        if (rows[i].want)
            expect_text(got ? got : "(none)", rows[i].want);
        else
            cr_expect(got == NULL, "'%s' found '%s'", rows[i].word, got);
    }
}

Test(base, nearest_prefers_the_smaller_distance_then_the_earlier_word)
{
    const char *const words[] = {"prefill_a", "prefill", "prefilx", NULL};
    cr_expect(llmperf_nearest("prefil", words) == words[1]);
    const char *const twins[] = {"abcd1", "abcd2", NULL};
    cr_expect(llmperf_nearest("abcd3", twins) == twins[0]);
}

Test(base, nearest_takes_any_length)
{
    static char word[100000];
    memset(word, 'a', sizeof word - 1);
    const char *const words[] = {word, "b", NULL};
    cr_expect(llmperf_nearest(word, words) == NULL);
    cr_expect(llmperf_nearest("", words) == words[1]); /* one insertion */
    const char *const none[] = {NULL};
    cr_expect(llmperf_nearest("a", none) == NULL);
}

/* ---- numbers ---- */

Test(base, parse_double_takes_decimal_numbers)
{
    static const struct {
        const char *text;
        double want;
    } rows[] = {
        {"0", 0},      {"-0", -0.0},       {"42", 42},       {"-1.5", -1.5},
        {"+2", 2},     {"1e3", 1000},      {"1E+3", 1000},   {"25e-2", 0.25},
        {".5", 0.5},   {"5.", 5},          {"007.5", 7.5},   {"3.35e12", 3.35e12},
        {"1e-400", 0}, {"5e-324", 5e-324}, {"1e308", 1e308}, {"1.7976931348623157e308", DBL_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value = NAN;
        cr_expect(llmperf_parse_double(rows[i].text, &value), "%s", rows[i].text);
        cr_expect(value == rows[i].want && signbit(value) == signbit(rows[i].want), "%s",
                  rows[i].text);
    }
}

Test(base, parse_double_refuses_everything_else_and_leaves_the_value)
{
    static const char *const rows[] = {
        "",         " 1",  "1 ",    "\t1",    "1\n",   "0x10",    "0x1p3", "inf",   "-inf",
        "Infinity", "nan", "NaN",   "nan(1)", ".inf",  ".",       "-",     "+",     "e3",
        "1e",       "1e+", "1.2.3", "1,5",    "1_000", "--1",     "1e1.5", "1e999", "-1e999",
        "12a",      "1f",  "1d",    "+-1",    "1e 3",  "\u00a01",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value = 7;
        cr_expect_not(llmperf_parse_double(rows[i], &value), "'%s'", rows[i]);
        cr_expect(value == 7);
    }
}

/* What strtod() says, the nearest double by the C library, is the independent source. */
static void expect_like_strtod(const char *text)
{
    double value = NAN, want = strtod(text, NULL);
    cr_assert(llmperf_parse_double(text, &value), "%s", text);
    cr_expect(memcmp(&value, &want, sizeof value) == 0, "%s: %a, not %a", text, value, want);
}

/* 15 digits and powers up to 10^22 take a short way; these stand on both sides of its ends. */
Test(base, parse_double_is_the_nearest_at_the_ends_of_the_short_way)
{
    static const char *const rows[] = {
        "999999999999999",
        "1000000000000000",
        "9007199254740993",
        "999999999999999e22",
        "999999999999999e23",
        "999999999999999e-22",
        "999999999999999e-23",
        "0.0000000000000000000001",
        "0.00000000000000000000001",
        "1e22",
        "1e23",
        "8.5e22",
        "9.5e-21",
        "123456789012345.6",
        "000000000000000000001.5",
        "1.500000000000000000000",
        "-0.0e5",
        "1e00000000000000000005",
        "1e-00000000000000000005",
        "3.e2",
        "+.25e-3",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_like_strtod(rows[i]);
}

Test(base, parse_double_is_the_nearest_of_any_digits)
{
    uint64_t state = 20260101;
    for (int i = 0; i < 200000; i++) {
        char text[64];
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        int digits = 1 + (int)(state % 17), point = (int)(state >> 8 & 15);
        int exponent = (int)(state >> 16 & 63) - 32;
        uint64_t most = 1;
        for (int k = 0; k < digits; k++)
            most *= 10;
        uint64_t whole = (state >> 22) * 2654435761u % most;
        if (point % 3 == 0)
            snprintf(text, sizeof text, "%" PRIu64 "e%d", whole, exponent);
        else
            snprintf(text, sizeof text, "%s%" PRIu64 ".%0*" PRIu64 "e%d", point & 1 ? "-" : "",
                     whole / 1000, point, whole % 1000, exponent);
        expect_like_strtod(text);
    }
}

Test(base, format_double_is_short)
{
    static const struct {
        double value;
        const char *want;
    } rows[] = {
        {0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-42, "-42"},
        {0.1, "0.1"},
        {0.30000000000000004, "0.30000000000000004"}, /* 0.1 + 0.2 needs all 17 digits */
        {1.0 / 3, "0.3333333333333333"},              /* 16 digits do */
        {3.35e12, "3350000000000"},
        {1e15, "1000000000000000"},
        {9007199254740991.0, "9007199254740991"}, /* 2^53 - 1 */
        {9007199254740992.0, "9007199254740992"},
        {-9007199254740991.0, "-9007199254740991"},
        {1e16, "1e+16"},
        {1e22, "1e+22"},
        {2.5e-7, "2.5e-07"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {-DBL_MAX, "-1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {5e-324, "5e-324"}, /* subnormal: 15 digits would be 4.94065645841247e-324 */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char buffer[LLMPERF_DOUBLE_TEXT_MAX];
        cr_expect(llmperf_format_double(rows[i].value, buffer) == buffer);
        expect_text(buffer, rows[i].want);
    }
}

static void expect_round_trip(uint64_t bits)
{
    double value, read_back = 0;
    memcpy(&value, &bits, sizeof value);
    if (!isfinite(value))
        return;
    char buffer[LLMPERF_DOUBLE_TEXT_MAX];
    llmperf_format_double(value, buffer);
    cr_assert(strlen(buffer) < sizeof buffer);
    cr_expect(llmperf_parse_double(buffer, &read_back), "%s", buffer);
    cr_expect(memcmp(&read_back, &value, sizeof value) == 0, "%016" PRIx64 " became %s", bits,
              buffer);
}

Test(base, format_double_reads_back_bit_for_bit)
{
    uint64_t state = 20240607; /* xorshift; the seed stands in the message of a failure as bits */
    for (int i = 0; i < 100000; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        expect_round_trip(state);
    }
}

Test(base, format_double_of_no_number_stays_in_its_buffer)
{
    char buffer[LLMPERF_DOUBLE_TEXT_MAX];
    expect_text(llmperf_format_double(INFINITY, buffer), "inf");
    expect_text(llmperf_format_double(-INFINITY, buffer), "-inf");
    cr_expect(strstr(llmperf_format_double(NAN, buffer), "nan") != NULL);
}

Test(base, numbers_do_not_depend_on_the_locale)
{
    if (!set_comma_locale())
        cr_skip_test("no locale with a decimal comma is installed");
    char buffer[LLMPERF_DOUBLE_TEXT_MAX], printed[16];
    double value = 0;
    expect_text(llmperf_format_double(0.5, buffer), "0.5");
    cr_expect(llmperf_parse_double("3.35", &value));
    cr_expect(value == 3.35);
    cr_expect_not(llmperf_parse_double("3,35", &value));
    llmperf_error error = {0};
    llmperf_fail(&error, LLMPERF_E_SPEC, "%.1f", 0.5);
    expect_text(error.text, "0.5");
    snprintf(printed, sizeof printed, "%.1f", 0.5); /* the caller's locale is as it was */
    expect_text(printed, "0,5");
}

Test(base, parts_are_spelt_in_many_ways)
{
    static const char *const same[][2] = {{"NVIDIA GeForce RTX 4090", "rtx4090"},
                                          {"RTX_4090", "rtx-4090"},
                                          {"H100-SXM5-80GB", "h100 sxm5 80gb"},
                                          {"Tesla T4", "t4"},
                                          {"AMD Instinct MI300X GPU", "mi300x"}};
    static const char *const other[][2] = {
        {"rtx-4090", "rtx-4080"}, {"h100", "h100-sxm"}, {"NVIDIA", ""}, {"NVIDIA", "GeForce"},
        {"l40", "l40s"},          {"teslat4", "t4"},    {"", ""},       {"-", "_"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        cr_expect(llmperf_same_part(same[i][0], same[i][1]), "%s", same[i][0]);
        cr_expect(llmperf_same_part(same[i][1], same[i][0]), "%s", same[i][0]);
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        cr_expect(!llmperf_same_part(other[i][0], other[i][1]), "%s", other[i][0]);
        cr_expect(!llmperf_same_part(other[i][1], other[i][0]), "%s", other[i][0]);
    }
}
