/* SPDX-License-Identifier: MIT */
/*
 * A document under construction, between the files doc*.c alone: the loader starts it, the parser of
 * a grammar builds the tree. A function that returns a status says LLMPERF_OK = go on, anything else
 * = stop and hand the status up.
 */
#ifndef LLMPERF_TEXT_DOC_BUILD_H
#define LLMPERF_TEXT_DOC_BUILD_H

#include "doc.h"

typedef struct doc_builder doc_builder;

typedef struct doc_place {
    int line, column;
} doc_place;

struct doc {
    struct arena_block *newest;
    const char *name;
    bool json;
    doc_node *root;
};

/* An empty document; NULL when there is no memory. Ended by doc_build_finish(). */
doc_builder *doc_build_start(const char *name);

/* Moves the noted faults into `error`, in file order, and frees the builder; the document becomes
 * the caller's where there was none, else it is freed too. */
llmperf_status doc_build_finish(doc_builder *builder, doc **ret_doc, llmperf_error *error);

doc *doc_build_document(doc_builder *builder);

/* Memory that lives as long as the document; NULL when there is none, which is noted. */
void *doc_build_bytes(doc_builder *builder, size_t size, size_t alignment);
char *doc_build_text(doc_builder *builder, size_t size);
char *doc_build_copy(doc_builder *builder, const char *text, size_t length);

/* A scalar (a key when the open map waits for one), or the start of a map or sequence; `text` comes
 * from doc_build_text() or is static. */
llmperf_status doc_build_scalar(doc_builder *builder, doc_place at, const char *text, bool quoted);
llmperf_status doc_build_open(doc_builder *builder, doc_kind kind, doc_place at);
llmperf_status doc_build_close(doc_builder *builder);
bool doc_build_waits_for_key(const doc_builder *builder);

/* Notes one fault; all of them are reported in file order at the end. LLMPERF_E_SPEC. */
llmperf_status doc_build_fail(doc_builder *builder, doc_place at, const char *format, ...)
    LLMPERF_PRINTF(3, 4);
/* Notes that memory has run out. LLMPERF_E_MEMORY. */
llmperf_status doc_build_no_memory(doc_builder *builder);
/* For faults after which reading goes on: only a lack of memory stops. */
llmperf_status doc_build_unless_fatal(llmperf_status status);

/* Texts of a file in messages: at most so many bytes of one, then "...". */
#define DOC_SHOWN_MAX 60
/* Bytes of `text` to print when at most `max` are wanted; never ends within a character. */
size_t doc_cut_length(const char *text, size_t max);
const char *doc_cut_mark(const char *text);

/* The bytes of a file, to be freed by the caller. Errors: LLMPERF_E_IO, LLMPERF_E_MEMORY. */
llmperf_status doc_read_file(const char *path, char **ret_text, size_t *ret_size,
                             llmperf_error *error);

/* The grammars. Each parses valid UTF-8 without NUL bytes.
 *   YAML: `end` is the place behind the last character.
 *   JSON: `explain`: messages say why the text is read as JSON, as the file's name does not tell. */
llmperf_status doc_yaml_parse(doc_builder *builder, const char *text, size_t size, doc_place end);
llmperf_status doc_json_parse(doc_builder *builder, const char *text, size_t size, bool explain);

#endif
