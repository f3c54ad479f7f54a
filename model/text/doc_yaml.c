/* SPDX-License-Identifier: MIT */
/* Plain YAML by libyaml: its events become the tree; what libyaml lets pass and we do not is refused. */
#include <stdalign.h>
#include <string.h>
#include <yaml.h>

#include "doc_build.h"

typedef struct line_range line_range;

/* Lines (from 1) whose leading blanks are the content of a quoted or block scalar. */
struct line_range {
    line_range *next;
    int first, last;
};

typedef struct yaml_reader {
    doc_builder *builder;
    const char *text, *end;
    doc_place end_place;
    line_range *content_first, *content_last;
} yaml_reader;

static doc_place place_of(yaml_mark_t mark)
{
    return (doc_place){(int)mark.line + 1, (int)mark.column + 1};
}

/* Start of the line after `at`; `end` when there is none. */
static const char *next_line(const char *at, const char *end)
{
    while (at < end && *at != '\n' && *at != '\r')
        at++;
    if (at < end && *at == '\r' && at + 1 < end && at[1] == '\n')
        return at + 2;
    return at < end ? at + 1 : end;
}

static const char *skip_line_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

static const char *line_start(const yaml_reader *reader, int line)
{
    const char *at = reader->text;
    for (int i = 1; i < line && at < reader->end; i++)
        at = next_line(at, reader->end);
    return at;
}

/* First content from `at` (the start of line `*line`): skips empty lines, comments and, when asked,
 * end-of-document marks. */
static const char *skip_to_content(const char *at, const char *end, bool document_ends, int *line)
{
    while (at < end) {
        const char *content = skip_line_blanks(at, end);
        bool ends = document_ends && end - at >= 3 && memcmp(at, "...", 3) == 0;
        if (ends)
            content = skip_line_blanks(at + 3, end);
        if (content < end && *content != '#' && *content != '\n' && *content != '\r')
            return ends ? at : content;
        at = next_line(content, end);
        ++*line;
    }
    return end;
}

/* libyaml compares every %TAG directive with all before it: refuse the first one ourselves. */
static llmperf_status refuse_directive(const yaml_reader *reader, const char *content, int line)
{
    bool starts_line = content == reader->text || content[-1] == '\n' || content[-1] == '\r';
    if (content == reader->end || *content != '%' || !starts_line)
        return LLMPERF_OK;
    doc_place at = {line, 1};
    return doc_build_fail(reader->builder, at,
                          "found a %%directive; plain YAML without directives "
                          "is allowed");
}

#define TAB_FAULT "found a tab in the indentation; spaces are allowed there"

/* Column of the first tab in the leading blanks of a line that has content; 0 = none. */
static int tab_in_indentation(const char *line, const char *end)
{
    const char *content = skip_line_blanks(line, end);
    if (content == end || *content == '\n' || *content == '\r' || *content == '#')
        return 0;
    const char *tab = memchr(line, '\t', (size_t)(content - line));
    return tab ? (int)(tab - line) + 1 : 0;
}

/* libyaml lets tabs pass where a plain scalar or a flow collection goes on in the next line. */
static llmperf_status refuse_tabs(const yaml_reader *reader)
{
    const line_range *content = reader->content_first;
    int line = 1;
    if (!memchr(reader->text, '\t', (size_t)(reader->end - reader->text)))
        return LLMPERF_OK;
    for (const char *at = reader->text; at < reader->end; at = next_line(at, reader->end), line++) {
        while (content && content->last < line)
            content = content->next;
        if (content && content->first <= line)
            continue;
        doc_place place = {line, tab_in_indentation(at, reader->end)};
        if (place.column == 0)
            continue;
        llmperf_status status = doc_build_fail(reader->builder, place, TAB_FAULT);
        if (doc_build_unless_fatal(status) != LLMPERF_OK)
            return status;
    }
    return LLMPERF_OK;
}

/* Notes the lines on which a scalar goes on, when blanks at their start belong to its content. */
static llmperf_status note_content_lines(yaml_reader *reader, const yaml_event_t *event)
{
    yaml_mark_t start = event->start_mark, end = event->end_mark;
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE || start.line == end.line)
        return LLMPERF_OK;
    bool block = event->data.scalar.style == YAML_LITERAL_SCALAR_STYLE ||
                 event->data.scalar.style == YAML_FOLDED_SCALAR_STYLE;
    line_range *range = doc_build_bytes(reader->builder, sizeof *range, alignof(line_range));
    if (!range)
        return LLMPERF_E_MEMORY;
    *range = (line_range){.first = (int)start.line + 2, .last = (int)end.line + 1};
    if (block && end.column == 0)
        range->last--;
    if (reader->content_last)
        reader->content_last->next = range;
    else
        reader->content_first = range;
    reader->content_last = range;
    return LLMPERF_OK;
}

/* What would be right, by a piece of libyaml's message. */
static const char *yaml_hint(const char *problem)
{
    static const struct {
        const char *piece, *hint;
    } hints[] = {
        {"cannot start any token", "text that starts with one of @ ` % is allowed in quotes only"},
        {"mapping values are not allowed",
         "one 'key: value' on a line is allowed, and text that holds ': ' in quotes"},
        {"could not find expected ':'", "'key: value' lines are allowed in a map"},
        {"did not find expected key",
         "'key: value' lines that start in the same column are allowed in one map"},
        {"did not find expected '-'",
         "'- item' lines that start in the same column are allowed in one list"},
        {"did not find expected ',' or ']'", "'[item, item]' is allowed"},
        {"did not find expected ',' or '}'", "'{key: value, key: value}' is allowed"},
        {"unexpected end of stream", "a quoted text is allowed that ends with its quote"},
        {"unexpected document indicator", "a quoted text is allowed that ends with its quote"},
        {"block sequence entries are not allowed",
         "a list is allowed on the lines after its key, '- item' on each"},
        {"unknown escape character",
         "\\n \\t \\\\ \\\" \\uXXXX are allowed in double quotes; single quotes keep a backslash"},
        {"Unicode character escape code",
         "\\u0000 to \\uffff but surrogates, and \\UXXXXXXXX, are allowed in double quotes"},
        {"did not find expected hexdecimal number", "\\xXX, \\uXXXX and \\UXXXXXXXX are allowed"},
    };
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
        if (strstr(problem, hints[i].piece))
            return hints[i].hint;
    }
    return "plain YAML is allowed: 'key: value' and '- item' lines, indented by spaces";
}

/* Passes a fault that libyaml found on, at a place where the reader of the message looks. */
static llmperf_status yaml_fault(const yaml_reader *reader, const yaml_parser_t *parser)
{
    doc_builder *builder = reader->builder;
    if (parser->error == YAML_MEMORY_ERROR)
        return doc_build_no_memory(builder);
    const char *problem = parser->problem ? parser->problem : "cannot be read";
    const char *context = parser->context ? parser->context : "";
    doc_place at = place_of(parser->problem_mark), start = place_of(parser->context_mark);
    /* libyaml counts one more line at the end of a text without a final newline. */
    bool at_end = at.line > reader->end_place.line;
    if (at_end)
        at = reader->end_place;

    const char *line = line_start(reader, at.line);
    int tab = tab_in_indentation(line, reader->end);
    bool in_quotes = strstr(context, "quoted scalar") != NULL;
    if (tab && !in_quotes && !at_end) {
        at.column = tab;
        return doc_build_fail(builder, at, TAB_FAULT);
    }
    const char *character = line;
    for (int i = 1; i < at.column && character < reader->end; i++) {
        do
            character++;
        while (character < reader->end && ((unsigned char)*character & 0xC0) == 0x80);
    }
    if (!in_quotes && character < reader->end && *character == '\t')
        return doc_build_fail(builder, at, TAB_FAULT);

    if (strcmp(context, "while scanning a simple key") == 0)
        return doc_build_fail(builder, start, "%s after the text that starts here; %s", problem,
                              yaml_hint(problem));
    if (*context && strcmp(context, "while scanning for the next token") != 0)
        return doc_build_fail(builder, at, "%s %s that starts on line %d; %s", problem, context,
                              start.line, yaml_hint(problem));
    return doc_build_fail(builder, at, "%s; %s", problem, yaml_hint(problem));
}

static llmperf_status refuse_properties(doc_builder *builder, doc_place at,
                                        const yaml_char_t *anchor, const yaml_char_t *tag)
{
    llmperf_status status = LLMPERF_OK;
    if (anchor)
        status = doc_build_unless_fatal(doc_build_fail(
            builder, at, "found anchor '&%.*s'; plain values without anchors are allowed",
            (int)doc_cut_length((const char *)anchor, DOC_SHOWN_MAX), (const char *)anchor));
    if (tag && status == LLMPERF_OK)
        status = doc_build_unless_fatal(doc_build_fail(
            builder, at, "found tag '%.*s'; plain values without tags are allowed",
            (int)doc_cut_length((const char *)tag, DOC_SHOWN_MAX), (const char *)tag));
    return status;
}

static llmperf_status take_scalar(yaml_reader *reader, const yaml_event_t *event)
{
    doc_builder *builder = reader->builder;
    doc_place at = place_of(event->start_mark);
    const char *value = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    llmperf_status status =
        refuse_properties(builder, at, event->data.scalar.anchor, event->data.scalar.tag);
    if (status == LLMPERF_OK && memchr(value, '\0', length))
        status = doc_build_unless_fatal(doc_build_fail(
            builder, at, "found a NUL character in a text; any other character is allowed"));
    if (status == LLMPERF_OK && !quoted && doc_build_waits_for_key(builder)) {
        if (strcmp(value, "<<") == 0)
            status = doc_build_unless_fatal(doc_build_fail(
                builder, at, "found a merge key '<<'; keys written out in full are allowed"));
        else if (length == 0)
            status = doc_build_unless_fatal(
                doc_build_fail(builder, at, "a key is missing; 'key: value' is allowed"));
    }
    if (status == LLMPERF_OK)
        status = note_content_lines(reader, event);
    if (status != LLMPERF_OK)
        return status;
    const char *text = doc_build_copy(builder, value, length);
    if (!text)
        return LLMPERF_E_MEMORY;
    return doc_build_scalar(builder, at, text, quoted);
}

static llmperf_status take_alias(doc_builder *builder, const yaml_event_t *event)
{
    doc_place at = place_of(event->start_mark);
    const char *anchor = (const char *)event->data.alias.anchor;
    llmperf_status status =
        doc_build_fail(builder, at, "found alias '*%.*s'; values written out in full are allowed",
                       (int)doc_cut_length(anchor, DOC_SHOWN_MAX), anchor);
    if (doc_build_unless_fatal(status) != LLMPERF_OK)
        return status;
    /* Some node must stand in its place to keep keys and values in step. */
    const char *text = doc_build_copy(builder, anchor, strlen(anchor));
    if (!text)
        return LLMPERF_E_MEMORY;
    return doc_build_scalar(builder, at, text, false);
}

static llmperf_status take_open(doc_builder *builder, const yaml_event_t *event)
{
    doc_place at = place_of(event->start_mark);
    bool map = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor =
        map ? event->data.mapping_start.anchor : event->data.sequence_start.anchor;
    const yaml_char_t *tag = map ? event->data.mapping_start.tag : event->data.sequence_start.tag;
    llmperf_status status = refuse_properties(builder, at, anchor, tag);
    if (status != LLMPERF_OK)
        return status;
    if (doc_build_waits_for_key(builder))
        return doc_build_fail(builder, at, "found a %s as a key; a text is allowed",
                              map ? "map" : "list");
    return doc_build_open(builder, map ? DOC_MAP : DOC_SEQ, at);
}

/* After the end of the document: comments are fine; directives are refused before libyaml sees
 * them; what else there is, libyaml shall name. */
static llmperf_status check_rest(const yaml_reader *reader, const yaml_event_t *event,
                                 bool *ret_done)
{
    int line = (int)event->start_mark.line + 1;
    const char *content = skip_to_content(line_start(reader, line), reader->end, true, &line);
    *ret_done = content == reader->end;
    return refuse_directive(reader, content, line);
}

static llmperf_status take_event(yaml_reader *reader, const yaml_event_t *event, bool *ret_done)
{
    doc_builder *builder = reader->builder;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (doc_build_document(builder)->root)
            return doc_build_fail(builder, place_of(event->start_mark),
                                  "a second document starts; one document in a file is allowed");
        return LLMPERF_OK;
    case YAML_DOCUMENT_END_EVENT:
        return check_rest(reader, event, ret_done);
    case YAML_ALIAS_EVENT:
        return take_alias(builder, event);
    case YAML_SCALAR_EVENT:
        return take_scalar(reader, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return take_open(builder, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return doc_build_close(builder);
    case YAML_STREAM_END_EVENT:
        *ret_done = true;
        return LLMPERF_OK;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
        return LLMPERF_OK;
    }
    return LLMPERF_OK;
}

llmperf_status doc_yaml_parse(doc_builder *builder, const char *text, size_t size, doc_place end)
{
    yaml_reader reader = {.builder = builder, .text = text, .end = text + size, .end_place = end};
    int line = 1;
    const char *content = skip_to_content(text, reader.end, false, &line);
    llmperf_status status = refuse_directive(&reader, content, line);
    if (status != LLMPERF_OK)
        return status;

    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return doc_build_no_memory(builder);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
    bool done = false;
    while (status == LLMPERF_OK && !done) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            status = yaml_fault(&reader, &parser);
            break;
        }
        status = take_event(&reader, &event, &done);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return status == LLMPERF_OK ? refuse_tabs(&reader) : status;
}
