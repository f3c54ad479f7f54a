/* SPDX-License-Identifier: MIT */
/* Readers of model documents: each turns a tree into a model; the caller checks and names it. */
#ifndef LLMPERF_SPEC_READ_H
#define LLMPERF_SPEC_READ_H

#include "doc.h"
#include "llmperf/spec.h"

/* A Hugging Face config.json; `second` is the hf_quant_config.json beside it, or NULL. */
llmperf_status spec_hf_read(doc *document, doc *second, llmperf_model *ret_model,
                            llmperf_error *error);

/* Our YAML. */
llmperf_status spec_yaml_read(doc *document, llmperf_model *ret_model, llmperf_error *error);

/* A GGUF header (docs/gguf.md), from a file and the other parts of a split model beside it, or from
 * memory. The model is checked and named. */
llmperf_status spec_gguf_load(const char *path, llmperf_model *ret_model, llmperf_error *error);
llmperf_status spec_gguf_load_memory(const char *name, const void *data, size_t size,
                                     llmperf_model *ret_model, llmperf_error *error);

/* A path that ends in .gguf, or a file that begins with the bytes "GGUF". */
bool spec_gguf_is(const char *path);

/* Words of our YAML for enum values; NULL-terminated. */
extern const char *const SPEC_NORM_WORDS[], *const SPEC_WEIGHT_WORDS[];
const char *spec_norm_word(int norm);
const char *spec_weight_word(int weight_class);

/* Every class of weights in one format. */
void spec_uniform_weights(llmperf_model *model, llmperf_dtype dtype);

/* Refuses an empty name and escapes control bytes in it (LLMPERF_NAME_MAX bytes). */
llmperf_status clean_name(const doc *document, const doc_node *node, char *name,
                          llmperf_error *error);

/* `aliases: [..]` of a specification; adds a fault for each bad one. */
llmperf_status read_aliases(const doc *document, doc_node *root, int *ret_count,
                            char (*aliases)[LLMPERF_NAME_MAX], llmperf_error *error);

#endif
