/* SPDX-License-Identifier: MIT */
#include "page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 2048 };

void page_open(page *p, FILE *out, bool markdown, bool color)
{
    memset(p, 0, sizeof *p);
    p->out = out;
    p->markdown = markdown;
    p->color = color;
}

llmperf_status page_close(page *p, llmperf_error *error)
{
    free(p->cells);
    p->cells = NULL;
    return p->out_of_memory ? llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory") : LLMPERF_OK;
}

void page_gap(page *p)
{
    if (p->started)
        fputc('\n', p->out);
}

/* The formatted text with control bytes escaped: names and notes come from files. */
static void clean_text(char text[TEXT_MAX], const char *format, va_list arguments)
    LLMPERF_PRINTF(2, 0);

static void clean_text(char text[TEXT_MAX], const char *format, va_list arguments)
{
    char raw[TEXT_MAX];
    vsnprintf(raw, sizeof raw, format, arguments);
    llmperf_escape(raw, text, TEXT_MAX);
}

/* Columns that a UTF-8 text takes on a terminal, one per code point. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Breaks at blanks so that no line passes the page's width; the last line is left open. */
static void wrap_open(page *p, int indent, const char *text)
{
    int column = 0;
    for (; *text == ' '; text++) { /* a deliberate indent of the first line */
        fputc(' ', p->out);
        column++;
    }
    bool first = true;
    while (*text) {
        const char *end = text + strcspn(text, " ");
        char word[TEXT_MAX];
        size_t length = (size_t)(end - text);
        if (length >= sizeof word)
            length = sizeof word - 1;
        memcpy(word, text, length);
        word[length] = '\0';
        int width = width_of(word);
        if (width > PAGE_WIDTH - indent) { /* a path without blanks: broken where the line ends */
            width = PAGE_WIDTH - indent;
            while (((unsigned char)word[width] & 0xc0) == 0x80) /* not within a character */
                width--;
            word[width] = '\0';
            end = text + width;
        }
        if (column > indent && column + 1 + width > PAGE_WIDTH) {
            fprintf(p->out, "\n%*s", indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', p->out);
            column++;
        }
        first = false;
        fputs(word, p->out);
        column += width;
        text = *end == ' ' ? end + 1 : end;
    }
}

static void wrap(page *p, int indent, const char *text)
{
    wrap_open(p, indent, text);
    fputc('\n', p->out);
}

/* Zero-width on a terminal, so the lines break where they do without colour. */
static void bold(page *p, const char *text)
{
    if (p->color)
        fputs("\033[1m", p->out);
    wrap_open(p, 2, text);
    fputs(p->color ? "\033[0m\n" : "\n", p->out);
}

void page_title(page *p, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    clean_text(text, format, arguments);
    va_end(arguments);
    if (p->markdown)
        fprintf(p->out, "# %s\n\n", text);
    else
        bold(p, text);
    p->started = true;
}

void page_heading(page *p, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    clean_text(text, format, arguments);
    va_end(arguments);
    page_gap(p);
    if (p->markdown)
        fprintf(p->out, "## %s\n\n", text);
    else
        bold(p, text);
    p->started = true;
}

void page_paragraph(page *p, int indent, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    clean_text(text, format, arguments);
    va_end(arguments);
    if (p->markdown)
        fprintf(p->out, "%s\n\n", text);
    else
        wrap(p, indent, text);
    p->started = true;
}

void page_command(page *p, const char *text)
{
    if (p->markdown)
        fprintf(p->out, "    %s\n", text);
    else
        fprintf(p->out, "  %s\n", text);
    p->started = true;
}

void page_table(page *p, int columns, const char *const *headings)
{
    p->columns = columns;
    p->rows = 0;
    for (int i = 0; i < columns; i++) {
        p->right[i] = headings[i][0] == '>';
        p->heading[i] = headings[i] + p->right[i];
    }
}

void page_row(page *p, const char *const *cells)
{
    if (p->rows == p->capacity) {
        int capacity = p->capacity ? 2 * p->capacity : 32;
        void *grown = realloc(p->cells, (size_t)capacity * PAGE_COLUMNS_MAX * sizeof *p->cells);
        if (!grown) {
            p->out_of_memory = true;
            return;
        }
        p->cells = grown;
        p->capacity = capacity;
    }
    for (int i = 0; i < p->columns; i++)
        llmperf_escape(cells[i], p->cells[p->rows * PAGE_COLUMNS_MAX + i], PAGE_CELL_MAX);
    p->rows++;
}

static const char *cell(const page *p, int row, int column)
{
    return p->cells[row * PAGE_COLUMNS_MAX + column];
}

static void put_cell(page *p, const char *text, int width, bool right, bool last)
{
    int pad = width - width_of(text);
    if (right)
        fprintf(p->out, "%*s%s", pad > 0 ? pad : 0, "", text);
    else
        fprintf(p->out, "%s%*s", text, last || pad < 0 ? 0 : pad, "");
}

/* A text from `column` on, its further lines beginning there too. */
static void hang(page *p, int column, const char *text)
{
    int at = column;
    while (*text) {
        int length = (int)strcspn(text, " ");
        char word[PAGE_CELL_MAX * 4];
        snprintf(word, sizeof word, "%.*s", length, text);
        int width = width_of(word);
        if (at > column && at + 1 + width > PAGE_WIDTH) {
            fprintf(p->out, "\n%*s", column, "");
            at = column;
        } else if (at > column) {
            fputc(' ', p->out);
            at++;
        }
        fputs(word, p->out);
        at += width;
        text += length + (text[length] == ' ');
    }
}

static void end_markdown_table(page *p)
{
    for (int i = 0; i < p->columns; i++)
        fprintf(p->out, "| %s ", p->heading[i][0] ? p->heading[i] : " ");
    fputs("|\n", p->out);
    for (int i = 0; i < p->columns; i++)
        fputs(p->right[i] ? "|---:" : "|---", p->out);
    fputs("|\n", p->out);
    for (int r = 0; r < p->rows; r++) {
        for (int i = 0; i < p->columns; i++) {
            fputs("| ", p->out);
            for (const char *c = cell(p, r, i); *c; c++) {
                if (*c == '|')
                    fputc('\\', p->out);
                fputc(*c, p->out);
            }
            fputc(' ', p->out);
        }
        fputs("|\n", p->out);
    }
    fputc('\n', p->out);
}

void page_end_table(page *p)
{
    p->started = true;
    if (p->markdown) {
        end_markdown_table(p);
        return;
    }
    int width[PAGE_COLUMNS_MAX];
    bool headed = false;
    for (int i = 0; i < p->columns; i++) {
        width[i] = width_of(p->heading[i]);
        headed |= width[i] > 0;
        for (int r = 0; r < p->rows; r++) {
            int w = width_of(cell(p, r, i));
            width[i] = w > width[i] ? w : width[i];
        }
    }
    /* a table that is too wide stands closer; words in its last column wrap */
    int total = 0, gap = 2, indent = 2;
    for (int i = 0; i < p->columns; i++)
        total += width[i];
    const int sentence = 30; /* a last column of sentences wraps rather than narrows the table */
    if (!p->right[p->columns - 1] && width[p->columns - 1] > sentence)
        total -= width[p->columns - 1] - sentence;
    if (indent + total + gap * (p->columns - 1) > PAGE_WIDTH)
        gap = 1;
    if (indent + total + gap * (p->columns - 1) > PAGE_WIDTH)
        indent = 0;
    for (int r = headed ? -1 : 0; r < p->rows; r++) {
        fprintf(p->out, "%*s", indent, "");
        /* cells behind the last filled one are left out: no trailing blanks */
        int last = p->columns - 1;
        while (last > 0 && !(r < 0 ? p->heading[last] : cell(p, r, last))[0])
            last--;
        int column = indent;
        for (int i = 0; i <= last; i++) {
            if (i > 0)
                fprintf(p->out, "%*s", gap, "");
            column += i > 0 ? gap : 0;
            if (i == p->columns - 1 && !p->right[i] && r >= 0) {
                hang(p, column, cell(p, r, i));
                continue;
            }
            column += width[i];
            put_cell(p, r < 0 ? p->heading[i] : cell(p, r, i), width[i], p->right[i], i == last);
        }
        fputc('\n', p->out);
    }
}

/* ---- numbers for people ------------------------------------------------------------------------------ */

/* Three significant digits without an exponent: "9.57", "95.7", "957", "9,570". */
char *human_number(double value, char *buffer)
{
    double size = fabs(value);
    if (size >= 999.5)
        return human_count(value, buffer);
    int decimals = size >= 99.95 || value == 0 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
    if (size > 0 && size < 0.0005)
        snprintf(buffer, HUMAN_MAX, "%.2g", value);
    else
        snprintf(buffer, HUMAN_MAX, "%.*f", decimals, value);
    return buffer;
}

char *human_count(double count, char *buffer)
{
    static const struct {
        double at;
        const char *suffix;
    } steps[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}};
    char plain[HUMAN_MAX];
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (fabs(count) >= steps[i].at * 0.9995) {
            snprintf(buffer, HUMAN_MAX, "%.3g%s", count / steps[i].at, steps[i].suffix);
            return buffer;
        }
    int length = snprintf(plain, sizeof plain, "%.0f", count);
    int used = 0;
    for (int i = 0; i < length && used < HUMAN_MAX - 2; i++) {
        if (i > 0 && plain[i - 1] != '-' && (length - i) % 3 == 0)
            buffer[used++] = ',';
        buffer[used++] = plain[i];
    }
    buffer[used] = '\0';
    return buffer;
}

static char *scaled(double value, const char *const *units, double step, char *buffer)
{
    char number[HUMAN_MAX];
    int i = 0;
    while (units[i + 1] && fabs(value) >= step * 0.9995) {
        value /= step;
        i++;
    }
    snprintf(buffer, HUMAN_MAX, "%.16s %s", human_number(value, number), units[i]);
    return buffer;
}

char *human_time(double seconds, char *buffer)
{
    static const char *const small[] = {"ns", "us", "ms", "s", NULL};
    char number[HUMAN_MAX];
    if (seconds >= 599.5) {
        bool hours = seconds >= 7200;
        snprintf(buffer, HUMAN_MAX, "%.16s %s", human_number(seconds / (hours ? 3600 : 60), number),
                 hours ? "h" : "min");
        return buffer;
    }
    return scaled(seconds * 1e9, small, 1000, buffer);
}

char *human_bytes(double bytes, char *buffer)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", NULL};
    return scaled(bytes, units, 1000, buffer);
}

char *human_flop(double flop, char *buffer)
{
    static const char *const units[] = {"FLOP",  "kFLOP", "MFLOP", "GFLOP",
                                        "TFLOP", "PFLOP", "EFLOP", NULL};
    return scaled(flop, units, 1000, buffer);
}

char *human_tokens(double tokens, char *buffer)
{
    char number[HUMAN_MAX];
    if (tokens >= 1e6)
        snprintf(buffer, HUMAN_MAX, "%.16sM", human_number(tokens / 1e6, number));
    else if (tokens >= 1e4)
        snprintf(buffer, HUMAN_MAX, "%.16sk", human_number(tokens / 1e3, number));
    else
        human_count(tokens, buffer);
    return buffer;
}

char *human_bar(double fraction, int width, char *buffer)
{
    int filled = (int)lround(fraction * width);
    if (filled == 0 && fraction > 0.005)
        filled = 1;
    filled = filled < 0 ? 0 : filled > width ? width : filled;
    memset(buffer, '#', (size_t)filled);
    buffer[filled] = '\0';
    return buffer;
}
