/* SPDX-License-Identifier: MIT */
/* Readers of model documents: each turns a tree into a model; the caller checks and names it. What is in
 * *ret_model after a failure means nothing. */
#ifndef LLMPERF_SPEC_READ_H
#define LLMPERF_SPEC_READ_H

#include "doc.h"
#include "llmperf/spec.h"
#include "model_object.h"
#include "engine_object.h"
#include "calib_object.h"

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

/* Reads a model file: our YAML, or a Hugging Face config.json (also a folder that holds one).
 * Errors: LLMPERF_E_IO, LLMPERF_E_SPEC with position, LLMPERF_E_UNSUPPORTED for an architecture
 * or feature that is not counted (by name). */
llmperf_status model_load(const char *path, llmperf_model *ret_model, llmperf_error *error);

/* The same from memory; `name` stands for the file in messages. */
llmperf_status model_load_text(const char *name, const char *text, size_t size,
                               llmperf_model *ret_model, llmperf_error *error);

/* Checks what every function below relies on (dimensions in range, heads a multiple of KV heads
 * ...). Readers call it; call it for a model filled in by hand. Errors: LLMPERF_E_SPEC. */
llmperf_status model_check(const llmperf_model *model, llmperf_error *error);

/*
 * Reads a calibration YAML (docs/calibration.md describes it): unknown keys, parameters outside
 * physics and covariances that are none are refused. Errors: LLMPERF_E_IO, LLMPERF_E_SPEC with
 * position; all faults of the file in one run.
 */
llmperf_status calib_load(const char *path, llmperf_calib *ret_calib, llmperf_error *error);

llmperf_status calib_load_text(const char *name, const char *text, size_t size,
                               llmperf_calib *ret_calib, llmperf_error *error);

/* Reads a profile YAML (docs/engines.md); unknown keys and values outside physics are refused.
 * Errors: LLMPERF_E_IO, LLMPERF_E_SPEC with position; all faults of the file in one run. */
llmperf_status engine_load(const char *path, llmperf_engine *ret_engine, llmperf_error *error);

llmperf_status engine_load_text(const char *name, const char *text, size_t size,
                                llmperf_engine *ret_engine, llmperf_error *error);

#endif
