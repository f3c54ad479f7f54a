/* SPDX-License-Identifier: MIT */
/* A flat file of keys and values, for option files. */
#include <stdio.h>
#include <string.h>

#include "doc.h"
#include "llmperf/spec.h"
#include "entry.h"

enum { VALUE_MAX = 1024 };

/* The text of a scalar, or of a list's items with commas. */
static llmperf_status value_text(const doc *document, const doc_node *node, char *buffer,
                                 size_t size, llmperf_error *error)
{
    char described[128];
    if (node->kind == DOC_SCALAR)
        return doc_text(document, node, buffer, size, error);
    if (node->kind != DOC_SEQ)
        return doc_fail(document, node, error, "%s is %s; a value or a list of values is allowed",
                        node->key, doc_describe(node, described, sizeof described));
    size_t used = 0;
    buffer[0] = '\0';
    for (const doc_node *item = node->first; item; item = item->next) {
        if (item->kind != DOC_SCALAR)
            return doc_fail(document, item, error, "an item of %s is %s; a value is allowed",
                            node->key, doc_describe(item, described, sizeof described));
        int length = snprintf(buffer + used, size - used, "%s%s", used ? "," : "", item->text);
        if (length < 0 || (size_t)length >= size - used)
            return doc_fail(document, item, error, "%s is longer than %zu bytes; less is allowed",
                            node->key, size - 1);
        used += (size_t)length;
    }
    return LLMPERF_OK;
}

llmperf_status llmperf_read_pairs(const char *path, llmperf_pair_visit visit, void *context,
                                  llmperf_error *error)
{
    NEEDS(path && visit, error);
    doc *document;
    llmperf_status status = doc_load_file(path, &document, error);
    if (status != LLMPERF_OK)
        return status;
    doc_node *root = doc_root(document);
    if (root->kind != DOC_MAP)
        status = doc_fail(document, root, error,
                          "the file is no map; keys and values such as 'batch: 8' are allowed");
    for (doc_node *node = status == LLMPERF_OK ? root->first : NULL; node; node = node->next) {
        char place[LLMPERF_PATH_MAX + 64], text[VALUE_MAX];
        if (doc_is_null(node))
            continue;
        llmperf_status one = value_text(document, node, text, sizeof text, error);
        if (one != LLMPERF_OK) {
            status = one;
            continue;
        }
        snprintf(place, sizeof place, "%s:%d:%d", doc_name(document), node->line, node->column);
        visit(place, node->key, text, context);
    }
    doc_free(document);
    return status;
}
