/* SPDX-License-Identifier: MIT */
#include "page.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = PAGE_TEXT_MAX };

void page_open(page *p, FILE *out, const page_format *format, bool color)
{
    memset(p, 0, sizeof *p);
    p->out = out;
    p->format = format;
    p->markdown = format->markdown;
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

void page_title(page *p, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    clean_text(text, format, arguments);
    va_end(arguments);
    p->format->heading(p, 1, text);
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
    p->format->heading(p, 2, text);
    p->started = true;
}

void page_paragraph(page *p, int indent, const char *format, ...)
{
    char text[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    clean_text(text, format, arguments);
    va_end(arguments);
    p->format->paragraph(p, indent, text);
    p->started = true;
}

void page_command(page *p, const char *text)
{
    p->format->command(p, text);
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

const char *page_cell(const page *p, int row, int column)
{
    return p->cells[row * PAGE_COLUMNS_MAX + column];
}

void page_end_table(page *p)
{
    p->started = true;
    p->format->table(p);
}

void page_line(page *p, const int *widths, const char *const *cells, int columns, bool is_heading)
{
    p->format->line(p, widths, cells, columns, is_heading);
    p->started = true;
}
