/* SPDX-License-Identifier: MIT */
#include "doc.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

/* ---- arena: every node and text of a document, freed at once ---- */

typedef struct arena_block arena_block;

struct arena_block {
    arena_block *older;
    size_t size, used;
    alignas(max_align_t) char bytes[];
};

#define ARENA_BLOCK_MIN ((size_t)4 << 10)
#define ARENA_BLOCK_MAX ((size_t)1 << 20)

struct doc {
    arena_block *newest;
    const char *name;
    bool json;
    doc_node *root;
};

static void *arena_new(doc *document, size_t size, size_t alignment)
{
    arena_block *block = document->newest;
    if (block) {
        size_t start = (block->used + alignment - 1) & ~(alignment - 1);
        if (start <= block->size && size <= block->size - start) {
            block->used = start + size;
            return block->bytes + start;
        }
    }
    /* Sizes are bounded by the input (16 MiB), so nothing here overflows. */
    size_t block_size = block ? 2 * block->size : ARENA_BLOCK_MIN;
    if (block_size > ARENA_BLOCK_MAX)
        block_size = ARENA_BLOCK_MAX;
    if (block_size < size)
        block_size = size;
    arena_block *fresh = malloc(sizeof *fresh + block_size);
    if (!fresh)
        return NULL;
    fresh->older = block;
    fresh->size = block_size;
    fresh->used = size;
    document->newest = fresh;
    return fresh->bytes;
}

static char *arena_copy(doc *document, const char *text, size_t length)
{
    char *copy = arena_new(document, length + 1, 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

void doc_free(doc *document)
{
    if (!document)
        return;
    arena_block *block = document->newest;
    while (block) {
        arena_block *older = block->older;
        free(block);
        block = older;
    }
    free(document);
}

doc_node *doc_root(doc *document)
{
    return document->root;
}

const char *doc_name(const doc *document)
{
    return document->name;
}

bool doc_is_json(const doc *document)
{
    return document->json;
}

/* ---- builder ---- */

/* More faults than this are counted only: their text would not fit into llmperf_error anyway, as
 * each takes more than 32 bytes. */
#define FAULTS_KEPT (LLMPERF_ERROR_TEXT_MAX / 32)
#define FAULT_TEXT_MAX 512

typedef struct fault {
    doc_place at;
    int order;
    const char *text;
} fault;

typedef struct open_node {
    doc_node *node, *last_child;
    const char *key; /* map: the key that waits for its value */
    doc_place key_at;
} open_node;

struct doc_builder {
    doc *document;
    bool out_of_memory;
    size_t depth;
    open_node open[LLMPERF_DOC_MAX_DEPTH];
    doc_node **sorted; /* scratch of find_duplicates() */
    size_t sorted_capacity;
    int faults, faults_not_kept;
    fault fault[FAULTS_KEPT];
};

static llmperf_status no_memory(doc_builder *builder)
{
    builder->out_of_memory = true;
    return LLMPERF_E_MEMORY;
}

llmperf_status doc_build_fail(doc_builder *builder, doc_place at, const char *format, ...)
{
    if (builder->faults == FAULTS_KEPT) {
        builder->faults_not_kept++;
        return LLMPERF_E_SPEC;
    }
    char text[FAULT_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = arena_copy(builder->document, text, strlen(text));
    if (!kept)
        return no_memory(builder);
    builder->fault[builder->faults] = (fault){.at = at, .order = builder->faults, .text = kept};
    builder->faults++;
    return LLMPERF_E_SPEC;
}

/* For faults after which reading goes on: only a lack of memory stops. */
static llmperf_status unless_fatal(llmperf_status status)
{
    return status == LLMPERF_E_SPEC ? LLMPERF_OK : status;
}

static int compare_faults(const void *left, const void *right)
{
    const fault *a = left, *b = right;
    if (a->at.line != b->at.line)
        return a->at.line < b->at.line ? -1 : 1;
    if (a->at.column != b->at.column)
        return a->at.column < b->at.column ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* Moves the noted faults into `error`, in file order. */
static llmperf_status report_faults(doc_builder *builder, llmperf_error *error)
{
    const char *name = builder->document->name;
    if (builder->out_of_memory)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "%s: not enough memory to read it", name);
    if (builder->faults == 0)
        return LLMPERF_OK;
    qsort(builder->fault, (size_t)builder->faults, sizeof builder->fault[0], compare_faults);
    for (int i = 0; i < builder->faults; i++) {
        const fault *f = &builder->fault[i];
        llmperf_fail(error, LLMPERF_E_SPEC, "%s:%d:%d: %s", name, f->at.line, f->at.column,
                     f->text);
    }
    if (builder->faults_not_kept > 0) {
        /* One call writes "... and more faults"; the others only count. */
        llmperf_fail(error, LLMPERF_E_SPEC, "%s: more faults", name);
        int others = builder->faults_not_kept - 1;
        if (error)
            error->faults += others < INT_MAX - error->faults ? others : INT_MAX - error->faults;
    }
    return LLMPERF_E_SPEC;
}

char *doc_build_text(doc_builder *builder, size_t size)
{
    char *text = arena_new(builder->document, size, 1);
    if (!text)
        no_memory(builder);
    return text;
}

/* Bytes of `text` to print when at most `max` are wanted; never ends within a character. */
static size_t cut_length(const char *text, size_t max)
{
    size_t length = strnlen(text, max + 1);
    if (length <= max)
        return length;
    length = max;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
        length--;
    return length;
}

#define SHOWN_MAX 60

static const char *cut_mark(const char *text)
{
    return strnlen(text, SHOWN_MAX + 1) > SHOWN_MAX ? "..." : "";
}

static int compare_keys(const void *left, const void *right)
{
    const doc_node *a = *(doc_node *const *)left, *b = *(doc_node *const *)right;
    int order = strcmp(a->key, b->key);
    if (order != 0)
        return order;
    if (a->key_line != b->key_line)
        return a->key_line < b->key_line ? -1 : 1;
    return a->key_column < b->key_column ? -1 : a->key_column > b->key_column;
}

/* `node` repeats a key of its map, whose entries stand in builder->sorted. */
static llmperf_status refuse_duplicate(doc_builder *builder, const doc_node *node, size_t count)
{
    if (builder->faults == FAULTS_KEPT) {
        builder->faults_not_kept++;
        return LLMPERF_OK;
    }
    size_t low = 0, high = count; /* the first of the equal keys is in low..high-1 */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(builder->sorted[middle - 1]->key, node->key) < 0)
            low = middle;
        else
            high = middle;
    }
    doc_place at = {node->key_line, node->key_column};
    return unless_fatal(doc_build_fail(
        builder, at, "key '%.*s%s' is given again, first on line %d; each key is allowed once",
        (int)cut_length(node->key, SHOWN_MAX), node->key, cut_mark(node->key),
        builder->sorted[low]->key_line));
}

/* Sorting, not hashing: keys come from strangers, who could make a hash table quadratic. */
static llmperf_status find_duplicates(doc_builder *builder, const doc_node *map)
{
    if (map->count < 2)
        return LLMPERF_OK;
    if (builder->sorted_capacity < map->count) {
        size_t capacity = map->count < 64 ? 64 : map->count;
        doc_node **sorted = realloc(builder->sorted, capacity * sizeof *sorted);
        if (!sorted)
            return no_memory(builder);
        builder->sorted = sorted;
        builder->sorted_capacity = capacity;
    }
    size_t count = 0;
    for (doc_node *child = map->first; child; child = child->next)
        builder->sorted[count++] = child;
    qsort(builder->sorted, count, sizeof *builder->sorted, compare_keys);

    bool any = false;
    for (size_t i = 1; i < count; i++) {
        doc_node *node = builder->sorted[i];
        node->used = strcmp(node->key, builder->sorted[i - 1]->key) == 0; /* a mark, for now */
        any = any || node->used;
    }
    if (!any)
        return LLMPERF_OK;
    llmperf_status status = LLMPERF_OK;
    for (doc_node *child = map->first; child; child = child->next) {
        if (!child->used)
            continue;
        child->used = false;
        if (status == LLMPERF_OK)
            status = refuse_duplicate(builder, child, count);
    }
    return status;
}

/* Hangs `node` under the open map or sequence, or makes it the root. */
static void attach(doc_builder *builder, doc_node *node)
{
    if (builder->depth == 0) {
        builder->document->root = node;
        return;
    }
    open_node *parent = &builder->open[builder->depth - 1];
    if (parent->node->kind == DOC_MAP) {
        node->key = parent->key;
        node->key_line = parent->key_at.line;
        node->key_column = parent->key_at.column;
        parent->key = NULL;
    }
    if (parent->last_child)
        parent->last_child->next = node;
    else
        parent->node->first = node;
    parent->last_child = node;
    parent->node->count++;
}

static bool waits_for_key(const doc_builder *builder)
{
    if (builder->depth == 0)
        return false;
    const open_node *parent = &builder->open[builder->depth - 1];
    return parent->node->kind == DOC_MAP && !parent->key;
}

static doc_node *new_node(doc_builder *builder, doc_kind kind, doc_place at)
{
    doc_node *node = arena_new(builder->document, sizeof *node, alignof(doc_node));
    if (!node) {
        no_memory(builder);
        return NULL;
    }
    *node = (doc_node){.kind = kind, .line = at.line, .column = at.column};
    return node;
}

llmperf_status doc_build_scalar(doc_builder *builder, doc_place at, const char *text, bool quoted)
{
    if (waits_for_key(builder)) {
        open_node *parent = &builder->open[builder->depth - 1];
        parent->key = text;
        parent->key_at = at;
        return LLMPERF_OK;
    }
    doc_node *node = new_node(builder, DOC_SCALAR, at);
    if (!node)
        return LLMPERF_E_MEMORY;
    node->text = text;
    node->quoted = quoted;
    attach(builder, node);
    return LLMPERF_OK;
}

llmperf_status doc_build_open(doc_builder *builder, doc_kind kind, doc_place at)
{
    if (builder->depth == LLMPERF_DOC_MAX_DEPTH)
        return doc_build_fail(builder, at,
                              "maps and lists are nested too deeply; %d levels are "
                              "allowed",
                              LLMPERF_DOC_MAX_DEPTH);
    doc_node *node = new_node(builder, kind, at);
    if (!node)
        return LLMPERF_E_MEMORY;
    attach(builder, node);
    builder->open[builder->depth++] = (open_node){.node = node};
    return LLMPERF_OK;
}

llmperf_status doc_build_close(doc_builder *builder)
{
    const doc_node *node = builder->open[--builder->depth].node;
    return node->kind == DOC_MAP ? find_duplicates(builder, node) : LLMPERF_OK;
}

/* ---- checks of the bytes, before any grammar ---- */

#define WHAT_IS_ALLOWED "a YAML or JSON document is allowed"

/* Code point at `at`, or -1 when the bytes are no valid UTF-8; `ret_length` gets its bytes. */
static long decode(const unsigned char *at, const unsigned char *end, int *ret_length)
{
    static const long lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = *at < 0x80                   ? 1
                 : *at >= 0xC2 && *at <= 0xDF ? 2
                 : *at >= 0xE0 && *at <= 0xEF ? 3
                 : *at >= 0xF0 && *at <= 0xF4 ? 4
                                              : 0;
    if (length == 0 || end - at < length)
        return -1;
    long value = length == 1 ? *at : *at & (0x7F >> length);
    for (int i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80)
            return -1;
        value = value << 6 | (at[i] & 0x3F);
    }
    if (value < lowest[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF))
        return -1;
    *ret_length = length;
    return value;
}

/* What libyaml refuses without a position, or takes for the end of a line where editors do not. */
static const char *yaml_character_fault(long c)
{
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F ||
        (c >= 0x80 && c <= 0x9F && c != 0x85))
        return "control character";
    if (c == 0x85 || c == 0x2028 || c == 0x2029)
        return "line separator";
    if (c == 0xFEFF)
        return "byte order mark inside the text,";
    if (c == 0xFFFE || c == 0xFFFF)
        return "noncharacter";
    return NULL;
}

/* Refuses NUL bytes, bytes that are no UTF-8 and, in YAML, characters that libyaml mistreats.
 * `ret_end` gets the place behind the last character. */
static llmperf_status check_characters(doc_builder *builder, const char *text, size_t size,
                                       doc_place *ret_end)
{
    bool json = builder->document->json;
    doc_place place = {1, 1};
    const unsigned char *at = (const unsigned char *)text, *end = at + size;
    while (at < end) {
        int length = 1;
        long c = *at >= 0x20 && *at < 0x7F ? *at : decode(at, end, &length);
        if (c < 0)
            return doc_build_fail(builder, place,
                                  "byte 0x%02X is no valid UTF-8; text in UTF-8 "
                                  "is allowed",
                                  *at);
        if (c == 0)
            return doc_build_fail(builder, place,
                                  "found a NUL byte, as binary files have it; "
                                  "text in UTF-8 is allowed");
        const char *what = json || (c >= 0x20 && c < 0x7F) ? NULL : yaml_character_fault(c);
        if (what)
            return doc_build_fail(builder, place,
                                  "found %s U+%04lX; in YAML it is allowed as "
                                  "\"\\u%04lx\" in double quotes",
                                  what, (unsigned long)c, (unsigned long)c);
        at += length;
        if (c == '\n' || (c == '\r' && (at == end || *at != '\n'))) {
            place.line++;
            place.column = 1;
        } else if (c != '\r') {
            place.column++;
        }
    }
    *ret_end = place;
    return LLMPERF_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool has_json_suffix(const char *name)
{
    size_t length = strlen(name);
    return length >= 5 && strcasecmp(name + length - 5, ".json") == 0;
}

/* ---- YAML ---- */

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
    for (const char *at = reader->text; at < reader->end; at = next_line(at, reader->end), line++) {
        while (content && content->last < line)
            content = content->next;
        if (content && content->first <= line)
            continue;
        doc_place place = {line, tab_in_indentation(at, reader->end)};
        if (place.column == 0)
            continue;
        llmperf_status status = doc_build_fail(reader->builder, place, TAB_FAULT);
        if (unless_fatal(status) != LLMPERF_OK)
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
    line_range *range = arena_new(reader->builder->document, sizeof *range, alignof(line_range));
    if (!range)
        return no_memory(reader->builder);
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
        return no_memory(builder);
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
        status = unless_fatal(doc_build_fail(
            builder, at, "found anchor '&%.*s'; plain values without anchors are allowed",
            (int)cut_length((const char *)anchor, SHOWN_MAX), (const char *)anchor));
    if (tag && status == LLMPERF_OK)
        status = unless_fatal(
            doc_build_fail(builder, at, "found tag '%.*s'; plain values without tags are allowed",
                           (int)cut_length((const char *)tag, SHOWN_MAX), (const char *)tag));
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
        status = unless_fatal(doc_build_fail(
            builder, at, "found a NUL character in a text; any other character is allowed"));
    if (status == LLMPERF_OK && !quoted && waits_for_key(builder)) {
        if (strcmp(value, "<<") == 0)
            status = unless_fatal(doc_build_fail(
                builder, at, "found a merge key '<<'; keys written out in full are allowed"));
        else if (length == 0)
            status = unless_fatal(
                doc_build_fail(builder, at, "a key is missing; 'key: value' is allowed"));
    }
    if (status == LLMPERF_OK)
        status = note_content_lines(reader, event);
    if (status != LLMPERF_OK)
        return status;
    const char *text = arena_copy(builder->document, value, length);
    if (!text)
        return no_memory(builder);
    return doc_build_scalar(builder, at, text, quoted);
}

static llmperf_status take_alias(doc_builder *builder, const yaml_event_t *event)
{
    doc_place at = place_of(event->start_mark);
    const char *anchor = (const char *)event->data.alias.anchor;
    llmperf_status status =
        doc_build_fail(builder, at, "found alias '*%.*s'; values written out in full are allowed",
                       (int)cut_length(anchor, SHOWN_MAX), anchor);
    if (unless_fatal(status) != LLMPERF_OK)
        return status;
    /* Some node must stand in its place to keep keys and values in step. */
    const char *text = arena_copy(builder->document, anchor, strlen(anchor));
    if (!text)
        return no_memory(builder);
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
    if (waits_for_key(builder))
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
        if (builder->document->root)
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

static llmperf_status yaml_parse(doc_builder *builder, const char *text, size_t size,
                                 doc_place end_place)
{
    yaml_reader reader = {
        .builder = builder, .text = text, .end = text + size, .end_place = end_place};
    int line = 1;
    const char *content = skip_to_content(text, reader.end, false, &line);
    llmperf_status status = refuse_directive(&reader, content, line);
    if (status != LLMPERF_OK)
        return status;

    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return no_memory(builder);
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

/* ---- loading ---- */

static llmperf_status parse(doc_builder *builder, const char *text, size_t size)
{
    doc *document = builder->document;
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        size -= 3;
    }
    doc_place start = {1, 1};
    size_t blanks = 0;
    while (blanks < size && is_blank(text[blanks]))
        blanks++;
    if (blanks == size)
        return doc_build_fail(builder, start, "the file is empty; " WHAT_IS_ALLOWED);
    if (size >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0))
        return doc_build_fail(builder, start, "looks like UTF-16; text in UTF-8 is allowed");
    char first = text[blanks];
    bool json_by_name = has_json_suffix(document->name);
    document->json = json_by_name || first == '{' || first == '[';
    /* "<<" is a YAML merge key, which has its own message. */
    if (first == '<' && !(blanks + 1 < size && text[blanks + 1] == '<')) {
        for (size_t i = 0; i < blanks; i++) {
            bool ends_line = text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n');
            start.line += ends_line;
            start.column = ends_line ? 1 : start.column + 1;
        }
        return doc_build_fail(builder, start,
                              "looks like HTML or XML, not YAML or JSON; the raw "
                              "file is allowed, not a web page");
    }
    doc_place end;
    llmperf_status status = check_characters(builder, text, size, &end);
    if (status != LLMPERF_OK)
        return status;
    status = document->json ? doc_json_parse(builder, text, size, !json_by_name)
                            : yaml_parse(builder, text, size, end);
    if (status == LLMPERF_OK && !document->root)
        return doc_build_fail(builder, start,
                              "the file is empty but for comments; " WHAT_IS_ALLOWED);
    return status;
}

static llmperf_status too_large(const char *name, llmperf_error *error)
{
    return llmperf_fail(error, LLMPERF_E_IO,
                        "%s: is larger than %u MiB; up to %u bytes are allowed", name,
                        LLMPERF_DOC_MAX_BYTES >> 20, LLMPERF_DOC_MAX_BYTES);
}

llmperf_status doc_load_text(const char *name, const char *text, size_t size, doc **ret_doc,
                             llmperf_error *error)
{
    if (size > LLMPERF_DOC_MAX_BYTES)
        return too_large(name, error);
    llmperf_status status = LLMPERF_OK;
    doc_builder *builder = calloc(1, sizeof *builder);
    doc *document = calloc(1, sizeof *document);
    if (document)
        document->name = arena_copy(document, name, strlen(name));
    if (!builder || !document || !document->name) {
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "%s: not enough memory to read it", name);
        goto out;
    }
    builder->document = document;
    parse(builder, text, size);
    status = report_faults(builder, error);
    if (status == LLMPERF_OK) {
        *ret_doc = document;
        document = NULL;
    }
out:
    doc_free(document);
    if (builder)
        free(builder->sorted);
    free(builder);
    return status;
}

/* Reads until the end, whatever fstat() said, into a buffer that the caller frees. */
static llmperf_status read_all(int file, size_t size_guess, const char *path, char **ret_text,
                               size_t *ret_size, llmperf_error *error)
{
    const size_t most = (size_t)LLMPERF_DOC_MAX_BYTES + 1; /* one more byte shows "too large" */
    size_t capacity = size_guess < most ? size_guess + 1 : most, size = 0;
    char *text = malloc(capacity);
    while (text) {
        ssize_t got = read(file, text + size, capacity - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int reason = errno;
            free(text);
            return llmperf_fail(error, LLMPERF_E_IO, "%s: cannot be read: %s", path,
                                strerror(reason));
        }
        if (got == 0) {
            *ret_text = text;
            *ret_size = size;
            return LLMPERF_OK;
        }
        size += (size_t)got;
        if (size == most) {
            free(text);
            return too_large(path, error);
        }
        if (size == capacity) {
            capacity = capacity < most / 2 ? 2 * capacity : most;
            char *larger = realloc(text, capacity);
            if (!larger)
                free(text);
            text = larger;
        }
    }
    return llmperf_fail(error, LLMPERF_E_MEMORY, "%s: not enough memory to read it", path);
}

llmperf_status doc_load_file(const char *path, doc **ret_doc, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    char *text = NULL;
    size_t size = 0;
    struct stat about;
    /* Without O_NONBLOCK a FIFO would keep us waiting for a writer. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return llmperf_fail(error, LLMPERF_E_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(file, &about) != 0)
        status = llmperf_fail(error, LLMPERF_E_IO, "%s: cannot be read: %s", path, strerror(errno));
    else if (S_ISDIR(about.st_mode))
        status = llmperf_fail(error, LLMPERF_E_IO,
                              "%s: is a folder; a YAML or JSON file is allowed", path);
    else if (!S_ISREG(about.st_mode))
        status = llmperf_fail(error, LLMPERF_E_IO,
                              "%s: is no regular file; a YAML or JSON file is allowed", path);
    else if (about.st_size > (off_t)LLMPERF_DOC_MAX_BYTES)
        status = too_large(path, error);
    else
        status = read_all(file, (size_t)about.st_size, path, &text, &size, error);
    close(file);
    if (status == LLMPERF_OK)
        status = doc_load_text(path, text, size, ret_doc, error);
    free(text);
    return status;
}

/* ---- looking things up ---- */

doc_node *doc_get(doc_node *map, const char *key)
{
    if (!map || map->kind != DOC_MAP)
        return NULL;
    for (doc_node *child = map->first; child; child = child->next) {
        if (strcmp(child->key, key) == 0) {
            child->used = true;
            return child;
        }
    }
    return NULL;
}

static bool is_one_of(const char *text, const char *const *words)
{
    for (; *words; words++) {
        if (strcmp(text, *words) == 0)
            return true;
    }
    return false;
}

bool doc_is_null(const doc_node *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    return !node || (node->kind == DOC_SCALAR && !node->quoted && is_one_of(node->text, nulls));
}

/* ---- what a scalar is ---- */

static const char *const true_words[] = {"true", "True", "TRUE", NULL};
static const char *const false_words[] = {"false", "False", "FALSE", NULL};
static const char *const yes_words[] = {"yes", "Yes", "YES", "on", "On", "ON", NULL};
static const char *const no_words[] = {"no", "No", "NO", "off", "Off", "OFF", NULL};

typedef enum number_form {
    NUMBER_NONE,
    NUMBER_INTEGER,    /* digits only */
    NUMBER_DECIMAL,    /* with a point or an exponent */
    NUMBER_NOT_FINITE, /* .inf, .nan, and what Python writes */
    NUMBER_UNDERSCORE, /* from here on: what other readers take for numbers and we refuse */
    NUMBER_HEX,
    NUMBER_OCTAL,
    NUMBER_BINARY,
    NUMBER_LEADING_ZERO,
    NUMBER_COMMA,
} number_form;

/* Why a text of that form is refused; goes behind the text. */
static const char *form_reason(number_form form)
{
    switch (form) {
    case NUMBER_UNDERSCORE:
        return " with '_' between the digits";
    case NUMBER_HEX:
        return " in hexadecimal";
    case NUMBER_OCTAL:
        return " in octal";
    case NUMBER_BINARY:
        return " in binary";
    case NUMBER_LEADING_ZERO:
        return " with a leading zero, which some readers take for octal";
    case NUMBER_COMMA:
        return " with a comma among the digits";
    case NUMBER_NONE:
    case NUMBER_INTEGER:
    case NUMBER_DECIMAL:
    case NUMBER_NOT_FINITE:
        break;
    }
    return "";
}

/* [0-9]+ or [0-9]+.[0-9]* or .[0-9]+, then an exponent or not; no sign. `extra` characters count as
 * digits behind the first one. */
static bool is_number(const char *text, const char *extra, bool *ret_integer)
{
    size_t digits = 0;
    bool integer = true;
    for (; (*text >= '0' && *text <= '9') || *text == '.' || (*text && strchr(extra, *text));
         text++) {
        if (*text == '.') {
            if (!integer)
                return false;
            integer = false;
        } else if (*text >= '0' && *text <= '9') {
            digits++;
        } else if (digits == 0) {
            return false;
        }
    }
    if (digits == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        integer = false;
        text++;
        if (*text == '+' || *text == '-')
            text++;
        if (*text < '0' || *text > '9')
            return false;
        while (*text >= '0' && *text <= '9')
            text++;
    }
    *ret_integer = integer;
    return *text == '\0';
}

static bool has_prefix_and_digits(const char *text, char mark, const char *digits)
{
    return text[0] == '0' && (text[1] | 0x20) == mark && text[2] != '\0' &&
           text[2 + strspn(text + 2, digits)] == '\0';
}

static number_form classify(const char *text)
{
    static const char *const not_finite[] = {".inf", ".Inf", ".INF",     ".nan", ".NaN", ".NAN",
                                             "NaN",  "nan",  "Infinity", "inf",  NULL};
    if (*text == '+' || *text == '-')
        text++;
    if (is_one_of(text, not_finite))
        return NUMBER_NOT_FINITE;
    bool integer = false;
    if (is_number(text, "", &integer)) {
        if (text[0] == '0' && text[1] >= '0' && text[1] <= '9')
            return NUMBER_LEADING_ZERO;
        return integer ? NUMBER_INTEGER : NUMBER_DECIMAL;
    }
    if (has_prefix_and_digits(text, 'x', "0123456789abcdefABCDEF_"))
        return NUMBER_HEX;
    if (has_prefix_and_digits(text, 'o', "01234567_"))
        return NUMBER_OCTAL;
    if (has_prefix_and_digits(text, 'b', "01_"))
        return NUMBER_BINARY;
    if (is_number(text, "_", &integer))
        return NUMBER_UNDERSCORE;
    if (is_number(text, ",", &integer))
        return NUMBER_COMMA;
    return NUMBER_NONE;
}

const char *doc_describe(const doc_node *node, char *buffer, size_t size)
{
    if (size == 0)
        return buffer;
    const char *what = "text";
    if (!node)
        what = "missing";
    else if (node->kind == DOC_MAP)
        what = node->count > 0 ? "a map" : "an empty map";
    else if (node->kind == DOC_SEQ)
        what = node->count > 0 ? "a list" : "an empty list";
    else if (doc_is_null(node))
        what = "null";
    if (strcmp(what, "text") != 0) {
        snprintf(buffer, size, "%s", what);
        return buffer;
    }
    const char *quote = "\"";
    if (!node->quoted) {
        number_form form = classify(node->text);
        if (is_one_of(node->text, true_words) || is_one_of(node->text, false_words))
            what = "boolean";
        else if (form == NUMBER_INTEGER)
            what = "integer";
        else if (form == NUMBER_DECIMAL || form == NUMBER_NOT_FINITE)
            what = "number";
        quote = strcmp(what, "text") == 0 ? "\"" : "";
    }
    char start[SHOWN_MAX + 1], escaped[4 * SHOWN_MAX + 1], full[sizeof escaped + 32];
    size_t length = cut_length(node->text, SHOWN_MAX);
    memcpy(start, node->text, length);
    start[length] = '\0';
    llmperf_escape(start, escaped, sizeof escaped);
    snprintf(full, sizeof full, "%s %s%s%s%s", what, quote, escaped, cut_mark(node->text), quote);
    return llmperf_escape(full, buffer, size); /* cuts between characters */
}

/* ---- faults of the caller ---- */

/* As vsnprintf(), without the decimal comma of the user's locale. */
static void format_neutral(char *buffer, size_t size, const char *format, va_list arguments)
{
    locale_t neutral = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t previous = neutral ? uselocale(neutral) : (locale_t)0;
    if (vsnprintf(buffer, size, format, arguments) < 0)
        snprintf(buffer, size, "a fault whose text could not be written");
    if (neutral) {
        uselocale(previous);
        freelocale(neutral);
    }
}

static llmperf_status fail_at(const doc *document, const doc_node *node, bool at_key,
                              llmperf_error *error, const char *format, va_list arguments)
{
    if (!error)
        return LLMPERF_E_SPEC;
    char text[LLMPERF_ERROR_TEXT_MAX];
    format_neutral(text, sizeof text, format, arguments);
    if (!node)
        return llmperf_fail(error, LLMPERF_E_SPEC, "%s: %s", document->name, text);
    bool key = at_key && node->key;
    return llmperf_fail(error, LLMPERF_E_SPEC, "%s:%d:%d: %s", document->name,
                        key ? node->key_line : node->line, key ? node->key_column : node->column,
                        text);
}

llmperf_status doc_fail(const doc *document, const doc_node *node, llmperf_error *error,
                        const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    llmperf_status status = fail_at(document, node, false, error, format, arguments);
    va_end(arguments);
    return status;
}

llmperf_status doc_fail_at_key(const doc *document, const doc_node *node, llmperf_error *error,
                               const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    llmperf_status status = fail_at(document, node, true, error, format, arguments);
    va_end(arguments);
    return status;
}

#define DESCRIBED_MAX (5 * SHOWN_MAX)

/* "KEY is WHAT<reason>; <allowed>" at the node. */
static llmperf_status refuse(const doc *document, const doc_node *node, const char *reason,
                             const char *allowed, llmperf_error *error)
{
    if (!error)
        return LLMPERF_E_SPEC;
    char what[DESCRIBED_MAX], subject[SHOWN_MAX + 4];
    doc_describe(node, what, sizeof what);
    if (node && node->key)
        snprintf(subject, sizeof subject, "%.*s%s", (int)cut_length(node->key, SHOWN_MAX),
                 node->key, cut_mark(node->key));
    else
        snprintf(subject, sizeof subject, "%s",
                 !node                    ? "a value"
                 : node == document->root ? "the document"
                                          : "the item");
    return doc_fail(document, node, error, "%s is %s%s; %s", subject, what, reason, allowed);
}

/* ---- typed readings ---- */

#define LARGEST_COUNT ((int64_t)1 << 53)

typedef enum exact_result { EXACT_OK, EXACT_NOT_WHOLE, EXACT_TOO_LARGE } exact_result;

/* The integer that a text of NUMBER_INTEGER or NUMBER_DECIMAL form means, digit by digit: by way of
 * a double, 9007199254740993 and 4096.0000000000000001 would pass as their neighbours. */
static exact_result exact_integer(const char *text, int64_t *ret_value)
{
    bool negative = *text == '-';
    if (*text == '+' || *text == '-')
        text++;

    int64_t exponent = 0;
    const char *mark = text + strcspn(text, "eE");
    if (*mark) {
        bool down = mark[1] == '-';
        for (const char *at = mark + (mark[1] == '-' || mark[1] == '+' ? 2 : 1); *at; at++) {
            /* The text itself has fewer than 2^30 digits to move the point over. */
            if (exponent < (int64_t)1 << 40)
                exponent = 10 * exponent + (*at - '0');
        }
        exponent = down ? -exponent : exponent;
    }

    /* The value is DIGITS * 10^exponent; zeros at the end of DIGITS wait until a digit follows. */
    int64_t value = 0, zeros = 0;
    bool point = false, too_large = false;
    for (const char *at = text; at < mark; at++) {
        if (*at == '.') {
            point = true;
            continue;
        }
        exponent -= point;
        if (*at == '0') {
            zeros += value != 0 || too_large;
            continue;
        }
        for (int64_t i = 0; i < zeros + 1 && !too_large; i++) {
            value *= 10;
            too_large = value > LARGEST_COUNT;
        }
        value += *at - '0';
        too_large = too_large || value > LARGEST_COUNT;
        zeros = 0;
    }
    if (value == 0) {
        *ret_value = 0;
        return EXACT_OK;
    }
    exponent += zeros;
    if (exponent < 0)
        return EXACT_NOT_WHOLE;
    for (; exponent > 0 && !too_large; exponent--) {
        value *= 10;
        too_large = value > LARGEST_COUNT;
    }
    if (too_large)
        return EXACT_TOO_LARGE;
    *ret_value = negative ? -value : value;
    return EXACT_OK;
}

/* Why a node is no integer from `min` to `max`; NULL = it is one, *ret_value. */
static const char *not_an_integer(const doc_node *node, int64_t min, int64_t max,
                                  int64_t *ret_value)
{
    if (doc_is_null(node) || node->kind != DOC_SCALAR || node->quoted)
        return "";
    number_form form = classify(node->text);
    if (form != NUMBER_INTEGER && form != NUMBER_DECIMAL)
        return form_reason(form);
    int64_t value = 0;
    switch (exact_integer(node->text, &value)) {
    case EXACT_NOT_WHOLE:
        return ", which is not whole";
    case EXACT_TOO_LARGE:
        return ", too large to count exactly";
    case EXACT_OK:
        break;
    }
    if (value < min || value > max)
        return "";
    *ret_value = value;
    return NULL;
}

llmperf_status doc_int64(const doc *document, const doc_node *node, int64_t min, int64_t max,
                         int64_t *ret_value, llmperf_error *error)
{
    char allowed[96];
    const char *reason = not_an_integer(node, min, max, ret_value);
    if (!reason)
        return LLMPERF_OK;
    snprintf(allowed, sizeof allowed, "an integer from %lld to %lld is allowed",
             (long long)(min < -LARGEST_COUNT ? -LARGEST_COUNT : min),
             (long long)(max > LARGEST_COUNT ? LARGEST_COUNT : max));
    return refuse(document, node, reason, allowed, error);
}

/* "a number from 0 to 1 is allowed" and its forms with open ends. */
static void say_range(double min, double max, char *buffer, size_t size)
{
    char low[LLMPERF_DOUBLE_TEXT_MAX], high[LLMPERF_DOUBLE_TEXT_MAX], upper[64] = "";
    bool low_open = min <= -DBL_MAX, above_zero = min > 0 && min <= DBL_MIN;
    bool high_open = max >= DBL_MAX;
    llmperf_format_double(above_zero || low_open ? 0 : min, low);
    llmperf_format_double(high_open ? 0 : max, high);
    if (!high_open)
        snprintf(upper, sizeof upper, " %s %s", low_open || above_zero ? "up to" : "to", high);
    if (low_open)
        snprintf(buffer, size, "a finite number%s is allowed", upper);
    else if (above_zero)
        snprintf(buffer, size, "a number above 0%s%s is allowed", high_open ? "" : " and", upper);
    else if (high_open)
        snprintf(buffer, size, "a number of %s or more is allowed", low);
    else
        snprintf(buffer, size, "a number from %s%s is allowed", low, upper);
}

/* Why a node is no number from `min` to `max`; NULL = it is one, *ret_value. */
static const char *not_a_number(const doc_node *node, double min, double max, double *ret_value)
{
    double value;
    if (doc_is_null(node) || node->kind != DOC_SCALAR || node->quoted)
        return "";
    number_form form = classify(node->text);
    if (form == NUMBER_NOT_FINITE)
        return ", which is not finite";
    if (form != NUMBER_INTEGER && form != NUMBER_DECIMAL)
        return form_reason(form);
    if (!llmperf_parse_double(node->text, &value))
        return ", too large for a double";
    if (!(value >= min && value <= max))
        return "";
    *ret_value = value;
    return NULL;
}

llmperf_status doc_double(const doc *document, const doc_node *node, double min, double max,
                          double *ret_value, llmperf_error *error)
{
    char allowed[160];
    const char *reason = not_a_number(node, min, max, ret_value);
    if (!reason)
        return LLMPERF_OK;
    say_range(min, max, allowed, sizeof allowed);
    return refuse(document, node, reason, allowed, error);
}

llmperf_status doc_bool(const doc *document, const doc_node *node, bool *ret_value,
                        llmperf_error *error)
{
    bool plain = node && node->kind == DOC_SCALAR && !node->quoted;
    if (plain && (is_one_of(node->text, true_words) ||
                  (!document->json && is_one_of(node->text, yes_words)))) {
        *ret_value = true;
        return LLMPERF_OK;
    }
    if (plain && (is_one_of(node->text, false_words) ||
                  (!document->json && is_one_of(node->text, no_words)))) {
        *ret_value = false;
        return LLMPERF_OK;
    }
    return refuse(document, node, "",
                  document->json ? "true or false is allowed"
                                 : "true, false, yes, no, on or off is allowed",
                  error);
}

llmperf_status doc_text(const doc *document, const doc_node *node, char *buffer, size_t size,
                        llmperf_error *error)
{
    if (doc_is_null(node) || node->kind != DOC_SCALAR)
        return refuse(document, node, "", "a text is allowed", error);
    size_t length = strlen(node->text);
    if (length >= size) {
        char reason[64], allowed[64];
        snprintf(reason, sizeof reason, ", %zu bytes long", length);
        snprintf(allowed, sizeof allowed, "a text of up to %zu bytes is allowed",
                 size > 0 ? size - 1 : 0);
        return refuse(document, node, reason, allowed, error);
    }
    memcpy(buffer, node->text, length + 1);
    return LLMPERF_OK;
}

/* "a, b, c are allowed here", cut when there are many. */
static void say_known(const char *const *known, char *buffer, size_t size)
{
    const size_t tail = sizeof ", ... are allowed here";
    size_t used = 0, count = 0;
    buffer[0] = '\0';
    for (; known[count]; count++) {
        size_t length = strlen(known[count]) + 2;
        if (used + length + tail > size)
            break;
        snprintf(buffer + used, size - used, "%s%s", count ? ", " : "", known[count]);
        used = strlen(buffer);
    }
    snprintf(buffer + used, size - used, "%s%s allowed here", known[count] ? ", ..." : "",
             count == 1 && !known[count] ? " is" : " are");
}

llmperf_status doc_refuse_unknown(const doc *document, const doc_node *map,
                                  const char *const *known, llmperf_error *error)
{
    if (!map || map->kind != DOC_MAP)
        return LLMPERF_OK;
    char allowed[512];
    if (known[0])
        say_known(known, allowed, sizeof allowed);
    else
        snprintf(allowed, sizeof allowed, "no key is allowed here");

    llmperf_status status = LLMPERF_OK;
    for (const doc_node *child = map->first; child; child = child->next) {
        if (child->used)
            continue;
        int length = (int)cut_length(child->key, SHOWN_MAX);
        const char *mark = cut_mark(child->key);
        const char *near = llmperf_nearest(child->key, known);
        if (near && strcmp(near, child->key) == 0)
            status = doc_fail_at_key(document, child, error,
                                     "key '%.*s%s' has no effect here; it is allowed elsewhere",
                                     length, child->key, mark);
        else if (near)
            status = doc_fail_at_key(document, child, error,
                                     "key '%.*s%s' is not known; did you mean '%s'?", length,
                                     child->key, mark, near);
        else
            status = doc_fail_at_key(document, child, error, "key '%.*s%s' is not known; %s",
                                     length, child->key, mark, allowed);
    }
    return status;
}
