/* SPDX-License-Identifier: MIT */
/*
 * Bytes of a result file, streaming: a file, its .gz form where zlib was there at build, or memory;
 * taken byte by byte or line by line, with the position for messages.
 */
#ifndef LLMPERF_BENCH_SOURCE_H
#define LLMPERF_BENCH_SOURCE_H

#include "llmperf/base.h"

enum {
    SOURCE_BLOCK_BYTES = 1 << 16,
    SOURCE_LINE_MAX = 1 << 16, /* bytes of a line; longer ones come cut, with too_long */
    SOURCE_ENDLESS = 1 << 28,  /* bytes without a line's end: reading breaks off */
    SOURCE_CELLS_MAX = 256,
};

typedef struct source {
    const char *name; /* borrowed: the path, or what stands for it */
    void *in;         /* NULL = from memory */
    const char *bytes;
    size_t size, at; /* of `bytes`, and what is taken of them */
    char *block, *text;
    int64_t line; /* of the byte that comes next, from 1 */
    int64_t total_bytes, line_begin_bytes;
    bool failed; /* reading broke off; source_status() has the reason */
    char why[160];
    /* of the last line */
    int64_t text_line;
    bool too_long, has_nul;
} source;

/* Errors: LLMPERF_E_IO, LLMPERF_E_MEMORY, LLMPERF_E_UNSUPPORTED for .gz without zlib. On failure
 * there is nothing to close. */
llmperf_status source_open(source *s, const char *path, llmperf_error *error);
llmperf_status source_open_text(source *s, const char *name, const char *text, size_t size,
                                llmperf_error *error);
void source_close(source *s);

/* The beginning of the file, nothing taken: up to one block. */
const char *source_head(source *s, size_t *ret_size);

/* The next byte, taken or not; -1 at the end or where reading failed. */
int source_get(source *s);
int source_peek(source *s);

/* Of the byte that comes next, in bytes, from 1. */
int64_t source_column(const source *s);

/* The next line without its end ("\n" or "\r\n"), NUL-terminated, valid until the next call; a byte
 * order mark at the beginning goes. NULL at the end. */
char *source_line(source *s);

/* LLMPERF_E_IO with the reason where reading failed. */
llmperf_status source_status(const source *s, llmperf_error *error);

/*
 * Cuts a line of CSV into cells in place, quotes as in RFC 4180; blanks around a cell go.
 *   cell:    SOURCE_CELLS_MAX pointers into the line
 *   returns: their number; -1 = too many, -2 = an open quote
 */
int source_cells(char *line, char **cell);

/* What is wrong with a count below 0 of source_cells(), and with the line that was read last; "found;
 * allowed". NULL: nothing is. Static storage. */
const char *source_cells_fault(int count);
const char *source_line_fault(const source *from);

#endif
