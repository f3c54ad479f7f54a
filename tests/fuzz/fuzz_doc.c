/* SPDX-License-Identifier: MIT */
/*
 * Any bytes, read as YAML and as JSON: every document that loads is walked through all getters. The
 * walk also holds the promises that doc.h makes about the tree.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "doc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool promise)
{
    if (!promise)
        abort();
}

static void read_all_ways(const doc *document, const doc_node *node, llmperf_error *error)
{
    int64_t count = -1;
    if (doc_int64(document, node, 0, 1000000, &count, error) == LLMPERF_OK)
        require(count >= 0 && count <= 1000000);
    else
        require(count == -1);
    if (doc_int64(document, node, INT64_MIN, INT64_MAX, &count, error) == LLMPERF_OK) {
        double same = 0;
        require(count >= -((int64_t)1 << 53) && count <= (int64_t)1 << 53);
        require(doc_double(document, node, -INFINITY, INFINITY, &same, error) == LLMPERF_OK);
        require((int64_t)same == count);
    }
    double number = -1;
    if (doc_double(document, node, 0, DBL_MAX, &number, error) == LLMPERF_OK)
        require(isfinite(number) && number >= 0);
    if (doc_double(document, node, -DBL_MAX, DBL_MAX, &number, error) == LLMPERF_OK) {
        char text[LLMPERF_DOUBLE_TEXT_MAX];
        double read_back = 0;
        require(llmperf_parse_double(llmperf_format_double(number, text), &read_back));
        require(read_back == number);
    }
    bool yes;
    doc_bool(document, node, &yes, error);
    char text[64], small[1];
    if (doc_text(document, node, text, sizeof text, error) == LLMPERF_OK)
        require(strcmp(text, node->text) == 0);
    doc_text(document, node, small, sizeof small, error);
    doc_describe(node, text, 5);
    require(strlen(text) < 5);
    doc_describe(node, text, sizeof text);
    doc_is_null(node);
}

static void walk(const doc *document, doc_node *node, int depth, llmperf_error *error)
{
    static const char *const known[] = {"hidden_size", "name", "a", "b", NULL};
    require(node->line >= 1 && node->column >= 1);
    require(node->kind != DOC_SCALAR || node->text);
    read_all_ways(document, node, error);
    if (node->kind == DOC_SCALAR)
        return;
    require(depth < LLMPERF_DOC_MAX_DEPTH);
    size_t count = 0;
    int line = 0, column = 0;
    for (doc_node *child = node->first; child; child = child->next) {
        bool later = child->line > line || (child->line == line && child->column >= column);
        require(later && !child->used);
        require((child->key != NULL) == (node->kind == DOC_MAP));
        line = child->line;
        column = child->column;
        count++;
        walk(document, child, depth + 1, error);
    }
    require(count == node->count);
    for (doc_node *child = node->first; child && node->kind == DOC_MAP && count < 100;
         child = child->next)
        require(doc_get(node, child->key) == child && child->used);
    doc_get(node, "name");
    doc_refuse_unknown(document, node, known, error);
}

static void load_and_walk(const char *name, const uint8_t *data, size_t size)
{
    /* A copy of its own, so that a read behind its end is seen. */
    char *text = malloc(size > 0 ? size : 1);
    llmperf_error *error = calloc(1, sizeof *error);
    doc *document = NULL;
    if (text && error) {
        if (size > 0)
            memcpy(text, data, size);
        llmperf_status status = doc_load_text(name, text, size, &document, error);
        require((status == LLMPERF_OK) == (document != NULL));
        require((error->faults > 0) == (status != LLMPERF_OK) && error->status == status);
        require(status == LLMPERF_OK || strncmp(error->text, name, strlen(name)) == 0);
        if (document)
            walk(document, doc_root(document), 0, error);
        for (const char *at = error->text; *at; at++)
            require((unsigned char)*at >= 0x20 || *at == '\n');
    }
    doc_free(document);
    free(error);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    load_and_walk("x.yaml", data, size);
    load_and_walk("x.json", data, size);
    return 0;
}
