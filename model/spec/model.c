/* SPDX-License-Identifier: MIT */
/* Loading a model: the choice between our YAML, a Hugging Face config.json and a GGUF file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "doc.h"
#include "read.h"
#include "entry.h"
#include "model_object.h"

/* A config.json bears no name: its folder does, else the file's stem. */
static void name_by_path(llmperf_model *model, const char *path)
{
    char text[LLMPERF_PATH_MAX];
    snprintf(text, sizeof text, "%s", path);
    char *slash = strrchr(text, '/');
    char *base = slash ? slash + 1 : text;
    if (strcmp(base, "config.json") == 0 && slash) {
        *slash = '\0';
        slash = strrchr(text, '/');
        base = slash ? slash + 1 : text;
    } else {
        char *dot = strrchr(base, '.');
        if (dot && dot != base)
            *dot = '\0';
    }
    if (strcmp(base, ".") == 0 || strcmp(base, "..") == 0 || !*base)
        base = model->architecture;
    size_t length = strlen(base);
    if (length >= sizeof model->name)
        length = sizeof model->name - 1;
    char raw[LLMPERF_NAME_MAX];
    memcpy(raw, base, length);
    raw[length] = '\0';
    llmperf_escape(raw, model->name, sizeof model->name);
}

/* path: by which a config.json is named. */
static llmperf_status read_document(doc *document, doc *second, const char *path,
                                    llmperf_model *ret_model, llmperf_error *error)
{
    llmperf_model *model = malloc(sizeof *model);
    const bool is_config = doc_is_json(document);
    llmperf_status status = LLMPERF_OK;
    if (!model)
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    else if (is_config)
        status = spec_hf_read(document, second, model, error);
    else
        status = spec_yaml_read(document, model, error);
    if (status == LLMPERF_OK)
        status = model_check(model, error);
    if (status == LLMPERF_OK && is_config)
        name_by_path(model, path);
    if (status == LLMPERF_OK)
        *ret_model = *model;
    free(model);
    doc_free(document);
    return status;
}

/* hf_quant_config.json beside a config.json: NULL when there is none. */
static llmperf_status load_second(const char *path, doc **ret_second, llmperf_error *error)
{
    char beside[LLMPERF_PATH_MAX + 32];
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    struct stat info;
    *ret_second = NULL;
    snprintf(beside, sizeof beside, "%.*shf_quant_config.json", folder, path);
    return stat(beside, &info) == 0 ? doc_load_file(beside, ret_second, error) : LLMPERF_OK;
}

llmperf_status model_load(const char *path, llmperf_model *ret_model, llmperf_error *error)
{
    NEEDS(path && ret_model, error);
    char file[LLMPERF_PATH_MAX];
    struct stat info;
    doc *document, *second = NULL;
    int length = snprintf(file, sizeof file, "%s", path);
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        length = snprintf(file, sizeof file, "%s/config.json", path);
    if (length < 0 || (size_t)length >= sizeof file)
        return llmperf_fail(error, LLMPERF_E_IO, "path of %zu bytes; at most %d are allowed",
                            strlen(path), LLMPERF_PATH_MAX - 1);
    if (spec_gguf_is(file))
        return spec_gguf_load(file, ret_model, error);
    llmperf_status status = doc_load_file(file, &document, error);
    if (status != LLMPERF_OK)
        return status;
    if (doc_is_json(document))
        status = load_second(file, &second, error);
    if (status != LLMPERF_OK) {
        doc_free(document);
        return status;
    }
    status = read_document(document, second, file, ret_model, error);
    doc_free(second);
    return status;
}

llmperf_status model_load_text(const char *name, const char *text, size_t size,
                               llmperf_model *ret_model, llmperf_error *error)
{
    NEEDS(name && text && ret_model, error);
    doc *document;
    llmperf_status status = doc_load_text(name, text, size, &document, error);
    return status == LLMPERF_OK ? read_document(document, NULL, name, ret_model, error) : status;
}
