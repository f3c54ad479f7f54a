/* SPDX-License-Identifier: MIT */
#include "doc_reader.h"

bool reader_done(doc_reader *r, llmperf_status status)
{
    if (status != LLMPERF_OK && r->status == LLMPERF_OK)
        r->status = status;
    return status == LLMPERF_OK;
}

bool reader_is_kind(doc_reader *r, const doc_node *node, doc_kind kind, const char *example)
{
    char described[128];
    return node->kind == kind ||
           reader_done(r,
                       doc_fail(r->document, node, r->error, "%s is %s; %s such as %s is allowed",
                                node->key ? node->key : "the file",
                                doc_describe(node, described, sizeof described),
                                kind == DOC_MAP ? "a map" : "a list", example));
}

void reader_text(doc_reader *r, doc_node *map, const char *key, char *buffer, size_t size)
{
    doc_node *node = doc_get(map, key);
    if (node)
        reader_done(r, doc_text(r->document, node, buffer, size, r->error));
}

void reader_double(doc_reader *r, doc_node *map, const char *key, double least, double most,
                   double *ret_value)
{
    doc_node *node = doc_get(map, key);
    if (node)
        reader_done(r, doc_double(r->document, node, least, most, ret_value, r->error));
}

void reader_bool(doc_reader *r, doc_node *map, const char *key, bool *ret_value)
{
    doc_node *node = doc_get(map, key);
    if (node)
        reader_done(r, doc_bool(r->document, node, ret_value, r->error));
}

void reader_count(doc_reader *r, doc_node *map, const char *key, int64_t *ret_value)
{
    doc_node *node = doc_get(map, key);
    if (node)
        reader_done(r, doc_int64(r->document, node, 0, INT64_C(1) << 53, ret_value, r->error));
}

void reader_schema(doc_reader *r, doc_node *root, int schema, const char *what)
{
    int64_t found = 0;
    doc_node *node = doc_get(root, "schema");
    if (!node)
        reader_done(r, doc_fail(r->document, root, r->error,
                                "schema is missing; %d is required: is this %s?", schema, what));
    else if (reader_done(r, doc_int64(r->document, node, 1, INT32_MAX, &found, r->error)) &&
             found != schema)
        reader_done(r, doc_fail(r->document, node, r->error,
                                "schema is %lld; this version reads %d", (long long)found, schema));
}
