/* SPDX-License-Identifier: MIT */
/* A page on a terminal: lines of at most 80 columns, tables whose columns are aligned. */
#include <string.h>

#include "formats.h"

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
        char word[PAGE_TEXT_MAX];
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

/* Zero-width on a terminal, so the lines break where they do without colour. */
static void bold(page *p, const char *text)
{
    if (p->color)
        fputs("\033[1m", p->out);
    wrap_open(p, 2, text);
    fputs(p->color ? "\033[0m\n" : "\n", p->out);
}

static void put_heading(page *p, int level, const char *text)
{
    (void)level;
    bold(p, text);
}

static void put_paragraph(page *p, int indent, const char *text)
{
    wrap_open(p, indent, text);
    fputc('\n', p->out);
}

static void put_command(page *p, const char *text)
{
    fprintf(p->out, "  %s\n", text);
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

static void put_table(page *p)
{
    int width[PAGE_COLUMNS_MAX];
    bool headed = false;
    for (int i = 0; i < p->columns; i++) {
        width[i] = width_of(p->heading[i]);
        headed |= width[i] > 0;
        for (int r = 0; r < p->rows; r++) {
            int w = width_of(page_cell(p, r, i));
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
        while (last > 0 && !(r < 0 ? p->heading[last] : page_cell(p, r, last))[0])
            last--;
        int column = indent;
        for (int i = 0; i <= last; i++) {
            if (i > 0)
                fprintf(p->out, "%*s", gap, "");
            column += i > 0 ? gap : 0;
            if (i == p->columns - 1 && !p->right[i] && r >= 0) {
                hang(p, column, page_cell(p, r, i));
                continue;
            }
            column += width[i];
            put_cell(p, r < 0 ? p->heading[i] : page_cell(p, r, i), width[i], p->right[i],
                     i == last);
        }
        fputc('\n', p->out);
    }
}

/* The first and last columns are words, to the left. */
static void put_line(page *p, const int *widths, const char *const *cells, int columns,
                     bool is_heading)
{
    (void)is_heading;
    for (int i = 0; i < columns; i++)
        fprintf(p->out, i == 0 ? "%-*s" : i == columns - 1 ? "  %*s" : "%*s", widths[i], cells[i]);
    fputc('\n', p->out);
}

const page_format text_page = {.heading = put_heading,
                               .paragraph = put_paragraph,
                               .command = put_command,
                               .table = put_table,
                               .line = put_line};
