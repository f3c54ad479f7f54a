/* SPDX-License-Identifier: MIT */
/*
 * One reader for YAML and JSON: libyaml events -> a tree that knows line and column.
 *
 * YAML is read as the plain subset that specifications need: one document, block or flow maps and
 * sequences, plain and quoted scalars. Anchors, aliases, tags, merge keys, tabs in indentation and
 * duplicate keys are refused, each with its position. JSON (a file whose first character is '{' or
 * '[' or whose name ends in .json) must be JSON: missing commas, unquoted keys, single quotes and
 * comments are refused; bare NaN, Infinity and -Infinity, which Python writes, are let through as
 * scalars for the caller to judge. UTF-8 BOM and CRLF are accepted. Text that looks like HTML is
 * refused by that name.
 *
 * JSON is parsed by doc_json.c alone: libyaml knows no surrogate pairs, refuses keys of more than
 * 1024 characters and a key whose ':' stands on the next line, and alters strings with U+2028.
 *
 * Limits: LLMPERF_DOC_MAX_BYTES of input, LLMPERF_DOC_MAX_DEPTH levels. Columns count characters
 * (code points) from 1; a tab is one character; LF, CRLF and a lone CR end a line.
 */
#ifndef LLMPERF_MODEL_DOC_H
#define LLMPERF_MODEL_DOC_H

#include "llmperf/base.h"

#define LLMPERF_DOC_MAX_BYTES (16u << 20)
#define LLMPERF_DOC_MAX_DEPTH 64

typedef enum doc_kind { DOC_SCALAR, DOC_MAP, DOC_SEQ } doc_kind;

typedef struct doc_node doc_node;

struct doc_node {
    doc_kind kind;
    int line, column; /* 1-based position of the node's first character */
    bool quoted;      /* scalar: written in quotes, so it is text and never a number or null */
    bool used;        /* map entry's value: some reader asked for it (doc_get marks it) */
    const char *text; /* scalar: NUL-terminated UTF-8; embedded NUL is refused at load */
    const char *key;  /* the key under which the parent map holds this node; NULL elsewhere */
    int key_line, key_column;
    size_t count;    /* map: entries; sequence: items */
    doc_node *first; /* first child; children are chained by next, in file order */
    doc_node *next;
};

/* A loaded document: owns every node and text; free with doc_free(). */
typedef struct doc doc;

/* Reads a file. Errors: LLMPERF_E_IO (cannot open or read, no regular file, too large),
 * LLMPERF_E_SPEC (with position), LLMPERF_E_MEMORY. `name` in messages is `path`.
 * Reports every duplicate key, anchor, alias, tag, merge key and tab in one run, in file order;
 * a fault of the syntax itself ends the run. */
llmperf_status doc_load_file(const char *path, doc **ret_doc, llmperf_error *error);

/* The same from memory; `name` stands for the file in messages and decides nothing but .json.
 * `text` need not end with a NUL. */
llmperf_status doc_load_text(const char *name, const char *text, size_t size, doc **ret_doc,
                             llmperf_error *error);

/* As those, but of a YAML map the top entries of `keys` alone (up to 32, NULL-terminated), for who looks
 * through many files: faults of the others are not found, and positions count the lines that are read.
 * Written in a way that lines do not tell (JSON, keys in quotes), a document is read whole. */
llmperf_status doc_load_entries(const char *path, const char *const *keys, doc **ret_doc,
                                llmperf_error *error);
llmperf_status doc_load_entries_text(const char *name, const char *text, size_t size,
                                     const char *const *keys, doc **ret_doc, llmperf_error *error);

void doc_free(doc *document); /* NULL is fine */

doc_node *doc_root(doc *document);
const char *doc_name(const doc *document);
bool doc_is_json(const doc *document);

/* Value under `key` of a map, or NULL (also when `map` is NULL or no map); marks it used. */
doc_node *doc_get(doc_node *map, const char *key);

/* null, ~ or an empty plain scalar (never a quoted one). NULL counts as null. */
bool doc_is_null(const doc_node *node);

/* Adds one fault "NAME:LINE:COL: ..." at the node (its key when `at_key` and it has one). */
llmperf_status doc_fail(const doc *document, const doc_node *node, llmperf_error *error,
                        const char *format, ...) LLMPERF_PRINTF(4, 5);
llmperf_status doc_fail_at_key(const doc *document, const doc_node *node, llmperf_error *error,
                               const char *format, ...) LLMPERF_PRINTF(4, 5);

/*
 * Typed readings of a scalar. Each returns LLMPERF_OK or adds one fault and returns
 * LLMPERF_E_SPEC; the value is untouched on failure. Numbers are plain scalars only: "4096" in
 * quotes is text, 4e3 and 4096.0 are accepted as integers when they are whole.
 *   int64:  min..max checked, at most 2^53 in size. Digits are read exactly, never by way of a
 *           double: 4096.0000000000000001 is not whole. 1_000, 0x10 and 010 are refused by name.
 *   bool:   true/false (any of true True TRUE false False FALSE); yes/no/on/off too when not JSON.
 *   double: finite, min..max checked (infinite or DBL_MAX = open end; DBL_MIN as min = above 0).
 *   text:   any scalar but null, copied into `buffer`; a text that does not fit is a fault.
 * A NULL node is a fault without position.
 */
llmperf_status doc_int64(const doc *document, const doc_node *node, int64_t min, int64_t max,
                         int64_t *ret_value, llmperf_error *error);
llmperf_status doc_double(const doc *document, const doc_node *node, double min, double max,
                          double *ret_value, llmperf_error *error);
llmperf_status doc_bool(const doc *document, const doc_node *node, bool *ret_value,
                        llmperf_error *error);
llmperf_status doc_text(const doc *document, const doc_node *node, char *buffer, size_t size,
                        llmperf_error *error);

/* One fault for each entry of `map` that nobody asked for, with a "did you mean" out of `known`
 * (NULL-terminated); LLMPERF_OK when there is none. */
llmperf_status doc_refuse_unknown(const doc *document, const doc_node *map,
                                  const char *const *known, llmperf_error *error);

/* "integer 4096", "number 0.5", "text \"4096\"", "boolean true", "a map", "a list", "null" ...:
 * what a node is, for messages; long texts are cut, control bytes escaped. Returns buffer. */
const char *doc_describe(const doc_node *node, char *buffer, size_t size);

#endif
