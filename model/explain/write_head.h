/* SPDX-License-Identifier: MIT */
/* What stands first and last in every record of this room. */
#ifndef LLMPERF_EXPLAIN_WRITE_HEAD_H
#define LLMPERF_EXPLAIN_WRITE_HEAD_H

#include "formats.h"
#include "llmperf/report.h"

static inline void explain_begin_record(sink *s)
{
    sink_begin_object(s, NULL);
    sink_text(s, "llmperf", llmperf_version());
    sink_integer(s, "schema", LLMPERF_JSON_SCHEMA);
}

/* notes NULL = none */
static inline void explain_end_record(sink *s, const llmperf_notes *notes)
{
    sink_begin_array(s, "notes");
    for (int i = 0; notes && i < notes->count; i++)
        sink_text(s, NULL, notes->text[i]);
    sink_end_array(s);
    sink_begin_array(s, "not_modelled");
    sink_end_array(s);
    sink_end_object(s);
}

/* A list of records, or of rows of a table, which say in their first column what they are. */
static inline void explain_begin_list(sink *s, const char *key)
{
    if (!s->is_table)
        sink_begin_array(s, key);
}

static inline void explain_end_list(sink *s)
{
    if (!s->is_table)
        sink_end_array(s);
}

static inline void explain_begin_item(sink *s, const char *column, const char *kind)
{
    sink_begin_row(s);
    if (!s->is_table)
        sink_begin_object(s, NULL);
    else if (column)
        sink_text(s, column, kind);
}

static inline void explain_end_item(sink *s)
{
    if (!s->is_table)
        sink_end_object(s);
    sink_end_row(s);
}

#endif
