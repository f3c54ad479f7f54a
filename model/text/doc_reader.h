/* SPDX-License-Identifier: MIT */
/* Reading the fields of a document one after the other, so that every fault is told in one run. */
#ifndef LLMPERF_MODEL_DOC_READER_H
#define LLMPERF_MODEL_DOC_READER_H

#include "doc.h"

typedef struct doc_reader {
    const doc *document;
    llmperf_error *error;
    llmperf_status status; /* of the first fault */
} doc_reader;

/* Remembers the first failure; true when there was none. */
bool reader_done(doc_reader *r, llmperf_status status);

/* A fault unless the node is a map or list such as `example`. */
bool reader_is_kind(doc_reader *r, const doc_node *node, doc_kind kind, const char *example);

/* The value under `key` of a map; a missing key leaves the value as it is. */
void reader_text(doc_reader *r, doc_node *map, const char *key, char *buffer, size_t size);
void reader_double(doc_reader *r, doc_node *map, const char *key, double least, double most,
                   double *ret_value);
void reader_bool(doc_reader *r, doc_node *map, const char *key, bool *ret_value);
void reader_count(doc_reader *r, doc_node *map, const char *key, int64_t *ret_value);

/* The required `schema: N`, N == schema; `what` the file should be: "calibration". */
void reader_schema(doc_reader *r, doc_node *root, int schema, const char *what);

#endif
