/* SPDX-License-Identifier: MIT */
/* A document under construction: its memory, its tree, the faults found in it. */
#include <limits.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doc_build.h"

/* ---- arena: every node and text of a document, freed at once ---- */

typedef struct arena_block arena_block;

struct arena_block {
    arena_block *older;
    size_t size, used;
    alignas(max_align_t) char bytes[];
};

#define ARENA_BLOCK_MIN ((size_t)4 << 10)
#define ARENA_BLOCK_MAX ((size_t)1 << 20)

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

llmperf_status doc_build_no_memory(doc_builder *builder)
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
    const char *kept = doc_build_copy(builder, text, strlen(text));
    if (!kept)
        return LLMPERF_E_MEMORY;
    builder->fault[builder->faults] = (fault){.at = at, .order = builder->faults, .text = kept};
    builder->faults++;
    return LLMPERF_E_SPEC;
}

llmperf_status doc_build_unless_fatal(llmperf_status status)
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

void *doc_build_bytes(doc_builder *builder, size_t size, size_t alignment)
{
    void *bytes = arena_new(builder->document, size, alignment);
    if (!bytes)
        doc_build_no_memory(builder);
    return bytes;
}

char *doc_build_text(doc_builder *builder, size_t size)
{
    return doc_build_bytes(builder, size, 1);
}

char *doc_build_copy(doc_builder *builder, const char *text, size_t length)
{
    char *copy = arena_copy(builder->document, text, length);
    if (!copy)
        doc_build_no_memory(builder);
    return copy;
}

size_t doc_cut_length(const char *text, size_t max)
{
    size_t length = strnlen(text, max + 1);
    if (length <= max)
        return length;
    length = max;
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80)
        length--;
    return length;
}

const char *doc_cut_mark(const char *text)
{
    return strnlen(text, DOC_SHOWN_MAX + 1) > DOC_SHOWN_MAX ? "..." : "";
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
    return doc_build_unless_fatal(doc_build_fail(
        builder, at, "key '%.*s%s' is given again, first on line %d; each key is allowed once",
        (int)doc_cut_length(node->key, DOC_SHOWN_MAX), node->key, doc_cut_mark(node->key),
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
            return doc_build_no_memory(builder);
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

bool doc_build_waits_for_key(const doc_builder *builder)
{
    if (builder->depth == 0)
        return false;
    const open_node *parent = &builder->open[builder->depth - 1];
    return parent->node->kind == DOC_MAP && !parent->key;
}

static doc_node *new_node(doc_builder *builder, doc_kind kind, doc_place at)
{
    doc_node *node = doc_build_bytes(builder, sizeof *node, alignof(doc_node));
    if (!node)
        return NULL;
    *node = (doc_node){.kind = kind, .line = at.line, .column = at.column};
    return node;
}

llmperf_status doc_build_scalar(doc_builder *builder, doc_place at, const char *text, bool quoted)
{
    if (doc_build_waits_for_key(builder)) {
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

doc *doc_build_document(doc_builder *builder)
{
    return builder->document;
}

doc_builder *doc_build_start(const char *name)
{
    doc_builder *builder = calloc(1, sizeof *builder);
    doc *document = calloc(1, sizeof *document);
    if (document)
        document->name = arena_copy(document, name, strlen(name));
    if (!builder || !document || !document->name) {
        doc_free(document);
        free(builder);
        return NULL;
    }
    builder->document = document;
    return builder;
}

llmperf_status doc_build_finish(doc_builder *builder, doc **ret_doc, llmperf_error *error)
{
    llmperf_status status = report_faults(builder, error);
    if (status == LLMPERF_OK)
        *ret_doc = builder->document;
    else
        doc_free(builder->document);
    free(builder->sorted);
    free(builder);
    return status;
}
