/* SPDX-License-Identifier: MIT */
/*
 * Where the fields of a result go: JSON as a tree, CSV as rows whose columns are the same fields'
 * paths. A result is walked once, whatever the format.
 */
#ifndef LLMPERF_MODEL_SINK_H
#define LLMPERF_MODEL_SINK_H

#include <stdio.h>

#include "llmperf/base.h"

enum { SINK_DEPTH_MAX = 16, SINK_PATH_MAX = 512 };

typedef struct sink {
    FILE *out;
    bool csv;
    int depth;
    bool filled[SINK_DEPTH_MAX]; /* this level has an entry already */
    bool is_array[SINK_DEPTH_MAX];
    /* CSV: the path of the open objects, and the row being built */
    char path[SINK_PATH_MAX];
    size_t path_length[SINK_DEPTH_MAX];
    int index[SINK_DEPTH_MAX]; /* of the next array item */
    bool header_done;
    FILE *header, *row; /* memory streams of one row */
    char *header_text, *row_text;
    size_t header_size, row_size;
    bool first_cell;
    bool out_of_memory;
} sink;

void sink_open(sink *s, FILE *out, bool csv);
/* Ends the output. LLMPERF_E_MEMORY when a CSV row could not be built. */
llmperf_status sink_close(sink *s, llmperf_error *error);

/* CSV: the fields between these two make one row; nothing in JSON. */
void sink_begin_row(sink *s);
void sink_end_row(sink *s);

/* key NULL inside arrays and for the top-level object. */
void sink_begin_object(sink *s, const char *key);
void sink_end_object(sink *s);
void sink_begin_array(sink *s, const char *key);
void sink_end_array(sink *s);

void sink_number(sink *s, const char *key, double value); /* null when not finite */
void sink_integer(sink *s, const char *key, int64_t value);
void sink_text(sink *s, const char *key, const char *value); /* NULL = null */
void sink_bool(sink *s, const char *key, bool value);
void sink_null(sink *s, const char *key);

/* A CSV cell: quoted where needed; a text that a spreadsheet would run as a formula is quoted
 * with a leading apostrophe. */
void csv_text(FILE *out, const char *text);

#endif
