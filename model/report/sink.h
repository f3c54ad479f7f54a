/* SPDX-License-Identifier: MIT */
/*
 * Where the fields of a result go: a tree, as JSON, or the rows of a table, as CSV, whose columns are
 * the same fields' paths. A result is walked once, whatever the format.
 */
#ifndef LLMPERF_MODEL_SINK_H
#define LLMPERF_MODEL_SINK_H

#include <stdio.h>

#include "llmperf/spec.h"

enum { SINK_DEPTH_MAX = 16, SINK_PATH_MAX = 512 };

typedef struct sink sink;

/* A format of fields: a table has a separator and cells, a tree the four functions. */
typedef struct sink_format {
    char separator; /* between the cells of a row; 0 = a tree */
    void (*cell)(FILE *out,
                 const char *text); /* a text, quoted where needed, without control bytes */
    /* key NULL: an array's item, or the whole; is_first: of its object or array. `depth` of the sink
     * counts what is open around the entry. */
    void (*open)(sink *s, const char *key, bool is_first, bool is_array);
    void (*close)(sink *s, bool is_empty, bool is_array);
    void (*word)(sink *s, const char *key, bool is_first,
                 const char *word); /* a number, true, false;
                                                                              * NULL = null */
    void (*text)(sink *s, const char *key, bool is_first, const char *text);
} sink_format;

struct sink {
    FILE *out;
    const sink_format *format;
    bool is_table; /* a row of numbers: prose and lists go to trees and pages */
    int depth;
    bool filled[SINK_DEPTH_MAX]; /* this level has an entry already */
    bool is_array[SINK_DEPTH_MAX];
    /* a table: the path of the open objects, and the row being written */
    char path[SINK_PATH_MAX];
    size_t path_length[SINK_DEPTH_MAX];
    int index[SINK_DEPTH_MAX]; /* of the next array item */
    bool header_done;
    FILE *row; /* `out`, or the memory stream of the first row */
    char *first_row;
    size_t first_row_size;
    bool first_cell;
    bool out_of_memory;
};

void sink_open(sink *s, FILE *out, const sink_format *format);
/* Ends the output. LLMPERF_E_MEMORY when a row could not be built. */
llmperf_status sink_close(sink *s, llmperf_error *error);

/* A table: the fields between these two make one row, and those of the first row its header; nothing in
 * a tree. */
void sink_begin_row(sink *s);
void sink_end_row(sink *s);
/* A table: the next row begins another table, with a header of its own. */
void sink_new_header(sink *s);

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

/* The first fields of every tree: versions of the program and of the layout. */
void sink_head(sink *s);
void sink_positive(sink *s, const char *key, double value); /* else null */
/* NULL = none. A table has no place for prose. */
void sink_notes(sink *s, const char *key, const llmperf_notes *notes);

#endif
