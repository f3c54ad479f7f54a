/* SPDX-License-Identifier: MIT */
/* Pages for people, and numbers as people read them. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats.h"

static char buffer[HUMAN_MAX];

typedef struct human_row {
    double value;
    const char *want;
} human_row;

#define EXPECT_HUMAN(function, rows)                                                               \
    for (size_t i = 0; i < sizeof(rows) / sizeof *(rows); i++)                                     \
    cr_expect(strcmp(function((rows)[i].value, buffer), (rows)[i].want) == 0,                      \
              #function "(%.17g) is '%s', wanted '%s'", (rows)[i].value, buffer, (rows)[i].want)

Test(page, times)
{
    static const human_row rows[] = {
        {0, "0 ns"},           {4.83e-3, "4.83 ms"}, {1e-6, "1.00 us"}, {9.994e-6, "9.99 us"},
        {9.996e-6, "10.0 us"}, {123e-9, "123 ns"},   {1, "1.00 s"},     {12.34, "12.3 s"},
        {0.9994, "999 ms"},    {0.99951, "1.00 s"},  {599, "599 s"},    {600, "10.0 min"},
        {3600, "60.0 min"},    {7200, "2.00 h"},     {86400, "24.0 h"},
    };
    EXPECT_HUMAN(human_time, rows);
}

Test(page, bytes_are_decimal)
{
    static const human_row rows[] = {
        {0, "0 B"},          {999, "999 B"},          {1000, "1.00 kB"},   {16.06e9, "16.1 GB"},
        {131072, "131 kB"},  {80e9, "80.0 GB"},       {1.5e12, "1.50 TB"}, {999.6e6, "1.00 GB"},
        {2.5e15, "2.50 PB"}, {1073741824, "1.07 GB"},
    };
    EXPECT_HUMAN(human_bytes, rows);
}

Test(page, counts)
{
    static const human_row rows[] = {
        {0, "0"},        {7, "7"},          {999, "999"},        {1000, "1,000"},
        {3060, "3,060"}, {12345, "12,345"}, {-12345, "-12,345"}, {1.234e6, "1.23M"},
        {7.6e9, "7.6B"}, {1e12, "1T"},      {-2e6, "-2M"},       {100000, "100,000"},
    };
    EXPECT_HUMAN(human_count, rows);
}

Test(page, flop_and_tokens)
{
    static const human_row flop[] = {{1.31e12, "1.31 TFLOP"}, {0, "0 FLOP"}, {2e15, "2.00 PFLOP"}};
    EXPECT_HUMAN(human_flop, flop);
    static const human_row tokens[] = {
        {7600, "7,600"}, {443000, "443k"}, {9999, "9,999"}, {10000, "10.0k"}, {2.5e6, "2.50M"}};
    EXPECT_HUMAN(human_tokens, tokens);
}

Test(page, numbers_have_three_digits)
{
    static const human_row rows[] = {
        {9.57, "9.57"},   {95.71, "95.7"}, {957.1, "957"},  {9570, "9,570"},  {0, "0"},
        {-9.57, "-9.57"}, {99.96, "100"},  {9.996, "10.0"}, {999.6, "1,000"}, {0.123, "0.123"},
    };
    EXPECT_HUMAN(human_number, rows);
}

/* Any double whatever fits its buffer, also those that a broken caller hands in. */
Test(page, numbers_fit_their_buffers)
{
    static const double rows[] = {1.7976931348623157e308,
                                  -1.7976931348623157e308,
                                  5e-324,
                                  NAN,
                                  INFINITY,
                                  -INFINITY,
                                  1e18,
                                  -1e-300,
                                  1e300};
    struct {
        char before[8], text[HUMAN_MAX], after[8];
    } guarded;
    char *(*const functions[])(double, char *) = {human_time, human_bytes,  human_count,
                                                  human_flop, human_number, human_tokens};
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            memset(&guarded, '#', sizeof guarded);
            cr_expect(functions[f](rows[i], guarded.text) == guarded.text);
            cr_expect(memchr(guarded.text, '\0', HUMAN_MAX) != NULL);
            cr_expect(memcmp(guarded.before, "########", 8) == 0 &&
                          memcmp(guarded.after, "########", 8) == 0,
                      "function %zu of %g", f, rows[i]);
        }
}

Test(page, bars)
{
    char bar[64];
    cr_expect_str_eq(human_bar(0, 10, bar), "");
    cr_expect_str_eq(human_bar(1, 10, bar), "##########");
    cr_expect_str_eq(human_bar(0.5, 10, bar), "#####");
    cr_expect_str_eq(human_bar(0.01, 10, bar), "#"); /* something is there */
    cr_expect_str_eq(human_bar(2, 10, bar), "##########");
    cr_expect_str_eq(human_bar(-1, 10, bar), "");
}

/* ---- pages ---- */

static char *text;
static size_t size;
static FILE *out;
static page p;

static void begin(bool markdown, bool color)
{
    free(text);
    text = NULL;
    out = open_memstream(&text, &size);
    cr_assert(out != NULL);
    page_open(&p, out, markdown ? &md_page : &text_page, color);
}

static const char *end(void)
{
    cr_expect(page_close(&p, NULL) == LLMPERF_OK);
    fclose(out);
    return text;
}

static void small_table(void)
{
    static const char *const headings[] = {"name", ">count", "note"};
    static const char *const first[] = {"a|b", "1", "x"}, *const second[] = {"longer", "1,000", ""};
    page_table(&p, 3, headings);
    page_row(&p, first);
    page_row(&p, second);
    page_end_table(&p);
}

Test(page, tables_are_aligned_without_trailing_blanks)
{
    begin(false, false);
    small_table();
    cr_expect_str_eq(end(), "  name    count  note\n"
                            "  a|b         1  x\n"
                            "  longer  1,000\n");
}

Test(page, tables_in_markdown)
{
    begin(true, false);
    small_table();
    cr_expect_str_eq(end(), "| name | count | note |\n"
                            "|---|---:|---|\n"
                            "| a\\|b | 1 | x |\n"
                            "| longer | 1,000 |  |\n\n");
}

/* e acute is two bytes and one column. */
Test(page, tables_count_characters)
{
    static const char *const headings[] = {"", ""};
    static const char *const first[] = {"\xc3\xa9", "x"}, *const second[] = {"ab", "y"};
    begin(false, false);
    page_table(&p, 2, headings);
    page_row(&p, first);
    page_row(&p, second);
    page_end_table(&p);
    cr_expect_str_eq(end(), "  \xc3\xa9   x\n  ab  y\n");
}

Test(page, tables_grow)
{
    static const char *const headings[] = {"n"};
    begin(false, false);
    page_table(&p, 1, headings);
    for (int i = 0; i < 1000; i++) {
        char cell[16];
        snprintf(cell, sizeof cell, "%d", i);
        const char *const cells[] = {cell};
        page_row(&p, cells);
    }
    page_end_table(&p);
    const char *got = end();
    int lines = 0;
    for (const char *c = got; *c; c++)
        lines += *c == '\n';
    cr_expect(lines == 1001);
}

/* A cell longer than its room is cut between characters, never in the middle of one. */
Test(page, long_cells_are_cut_between_characters)
{
    static const char *const headings[] = {"n"};
    for (int start = 0; start < 3; start++) {
        char cell[3 * PAGE_CELL_MAX] = "abc";
        for (size_t i = (size_t)start; i + 2 < sizeof cell; i += 2)
            memcpy(cell + i, "\xc3\xa9", 3);
        const char *const cells[] = {cell};
        begin(false, false);
        page_table(&p, 1, headings);
        page_row(&p, cells);
        page_end_table(&p);
        const char *got = end();
        const char *last = got + strlen(got) - 2; /* before the newline */
        cr_expect((unsigned char)*last == 0xa9, "start %d: the last byte is %02x", start,
                  (unsigned char)*last);
    }
}

/* What a file says must not steer a terminal. */
Test(page, control_bytes_are_shown_not_sent)
{
    static const char *const headings[] = {"n"};
    static const char *const cells[] = {"\x1b[31mred"};
    begin(false, false);
    page_title(&p, "%s", "a\x1b[31m");
    page_heading(&p, "%s", "b\x1b[31m");
    page_paragraph(&p, 2, "%s", "c\x1b]0;title\x07");
    page_table(&p, 1, headings);
    page_row(&p, cells);
    page_end_table(&p);
    const char *got = end();
    cr_expect(strchr(got, '\x1b') == NULL && strchr(got, '\x07') == NULL, "%s", got);
    cr_expect(strstr(got, "\\x1b[31mred") != NULL, "%s", got);
}

Test(page, paragraphs_wrap_at_80_columns)
{
    begin(false, false);
    page_paragraph(&p, 4, "%s",
                   "a note of many words that goes on and on until the line is far too "
                   "long for a terminal of eighty columns, and beyond it");
    const char *got = end();
    int width = 0, lines = 0;
    for (const char *c = got; *c; c++) {
        width = *c == '\n' ? 0 : width + 1;
        lines += *c == '\n';
        cr_assert(width <= PAGE_WIDTH);
    }
    cr_expect(lines == 2 && strstr(got, "\n    ") != NULL && strstr(got, " \n") == NULL, "%s", got);
}

/* Headings wrap as paragraphs do, with and without colour; a long word of characters of two and
 * three bytes is cut between characters. */
Test(page, headings_wrap_and_words_are_cut_between_characters)
{
    for (int color = 0; color < 2; color++) {
        begin(false, color == 1);
        page_heading(&p,
                     "dense layers turn compute-bound at batch %d, and at %d by the "
                     "calibration that was asked for",
                     326, 307);
        const char *got = end();
        const char *line = strchr(got, '\n');
        cr_assert(line != NULL && line[1] == ' ' && line[2] == ' ', "%s", got);
        cr_expect(line - got <= PAGE_WIDTH + (color ? 4 : 0), "%s", got);
    }
    for (int bytes = 2; bytes <= 3; bytes++) {
        char word[400] = "";
        for (int i = 0; i < 120; i++)
            strcat(word, bytes == 2 ? "\xc3\xa9" : "\xe2\x82\xac");
        for (int indent = 0; indent < 4; indent++) {
            begin(false, false);
            page_paragraph(&p, indent, "%s", word);
            const char *got = end();
            for (const char *c = got; *c; c++)
                if (((unsigned char)c[0] & 0xc0) == 0x80)
                    cr_assert(c > got && (unsigned char)c[-1] >= 0x80, "indent %d: %s", indent,
                              got);
            cr_expect(strstr(got, "\\x") == NULL, "%s", got);
        }
    }
}

Test(page, titles_headings_and_commands)
{
    begin(true, false);
    page_title(&p, "%s on %s", "m", "h");
    page_heading(&p, "Memory");
    page_command(&p, "llmperf x");
    cr_expect_str_eq(end(), "# m on h\n\n\n## Memory\n\n    llmperf x\n");
    begin(false, true);
    page_title(&p, "t");
    page_heading(&p, "H");
    cr_expect_str_eq(end(), "\033[1mt\033[0m\n\n\033[1mH\033[0m\n");
    begin(false, false);
    page_heading(&p, "first"); /* no gap above the first line */
    cr_expect_str_eq(end(), "first\n");
}
