/* SPDX-License-Identifier: MIT */
/* A page for a person: text at 80 columns or Markdown, from the same calls. */
#ifndef LLMPERF_MODEL_PAGE_H
#define LLMPERF_MODEL_PAGE_H

#include <stdio.h>

#include "llmperf/base.h"

enum { PAGE_WIDTH = 80, PAGE_COLUMNS_MAX = 10, PAGE_CELL_MAX = 224, PAGE_TEXT_MAX = 2048 };

typedef struct page page;

/* A format of pages. Texts come without control bytes. */
typedef struct page_format {
    bool markdown; /* whoever shows the page lays it out: no alignment by blanks; lists and code are
                    * marked as in Markdown */
    void (*heading)(page *p, int level, const char *text); /* 1 = the title */
    void (*paragraph)(page *p, int indent, const char *text);
    void (*command)(page *p, const char *text);
    void (*table)(page *p); /* the open table, by page_cell() */
    void (*line)(page *p, const int *widths, const char *const *cells, int columns,
                 bool is_heading);
} page_format;

struct page {
    FILE *out;
    const page_format *format;
    bool markdown; /* of the format */
    bool color;
    bool started;
    /* the open table */
    int columns, rows, capacity;
    const char *heading[PAGE_COLUMNS_MAX];
    bool right[PAGE_COLUMNS_MAX]; /* aligned to the right */
    char (*cells)[PAGE_CELL_MAX];
    bool out_of_memory;
};

void page_open(page *p, FILE *out, const page_format *format, bool color);
llmperf_status page_close(page *p, llmperf_error *error);

void page_title(page *p, const char *format, ...) LLMPERF_PRINTF(2, 3);
void page_heading(page *p, const char *format, ...) LLMPERF_PRINTF(2, 3);
/* Wrapped at 80 columns, further lines indented by `indent`. */
void page_paragraph(page *p, int indent, const char *format, ...) LLMPERF_PRINTF(3, 4);
/* A command line: never wrapped. */
void page_command(page *p, const char *text);
void page_gap(page *p);

/* A column heading that begins with '>' is aligned to the right. */
void page_table(page *p, int columns, const char *const *headings);
/* The cells of a row, in order; each cut to PAGE_CELL_MAX. */
void page_row(page *p, const char *const *cells);
void page_end_table(page *p);
/* For formats: a cell of the open table. */
const char *page_cell(const page *p, int row, int column);

/* A row of a table that is written as it comes, whose columns have fixed widths; its heading first. */
void page_line(page *p, const int *widths, const char *const *cells, int columns, bool is_heading);

/* ---- numbers for people; each fills and returns buffer -------------------------------------------- */

enum { HUMAN_MAX = 32 };
char *human_time(double seconds, char *buffer);            /* "4.83 ms" */
char *human_bytes(double bytes, char *buffer);             /* "16.1 GB", decimal */
char *human_count(double count, char *buffer);             /* "3,060", "1.2M" beyond a million */
char *human_flop(double flop, char *buffer);               /* "1.31 TFLOP" */
char *human_number(double value, char *buffer);            /* three significant digits */
char *human_tokens(double tokens, char *buffer);           /* "7,600", "443k" */
char *human_bar(double fraction, int width, char *buffer); /* "#####" */

#endif
