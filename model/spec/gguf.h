/* SPDX-License-Identifier: MIT */
/*
 * The header of a GGUF file: metadata and tensor infos. Tensor data is never read, so that a file
 * of 100 GB opens at once. docs/gguf.md says what is read and what is refused.
 */
#ifndef LLMPERF_MODEL_GGUF_H
#define LLMPERF_MODEL_GGUF_H

#include "llmperf/base.h"

enum {
    GGUF_DIMS_MAX = 4,
    GGUF_PARTS_MAX = 1024,
};

/* Types of metadata values; the numbers are the file's. */
typedef enum gguf_value_type {
    GGUF_U8,
    GGUF_I8,
    GGUF_U16,
    GGUF_I16,
    GGUF_U32,
    GGUF_I32,
    GGUF_F32,
    GGUF_BOOL,
    GGUF_STRING,
    GGUF_ARRAY,
    GGUF_U64,
    GGUF_I64,
    GGUF_F64,
    GGUF_VALUE_TYPE_COUNT
} gguf_value_type;

/* Tensor types that the reader has a reason to name; the numbers are the file's. */
enum {
    GGML_F32 = 0,
    GGML_F16 = 1,
    GGML_Q4_0 = 2,
    GGML_Q8_0 = 8,
    GGML_F64 = 28,
    GGML_BF16 = 30,
    GGML_MXFP4 = 39,
    GGML_NVFP4 = 40,
};

/* One tensor type: `block` elements are held in `bytes` bytes. */
typedef struct gguf_format {
    const char *name; /* "Q4_K"; NULL = no such type */
    int64_t block, bytes;
} gguf_format;

/* NULL when the type is unknown. Static storage. */
const gguf_format *gguf_format_of(uint32_t type);

typedef struct gguf_value {
    char *key;
    int64_t at; /* byte offset of the key in the first part */
    uint32_t type, item_type;
    int64_t count;   /* items of an array, bytes of a string */
    int64_t integer; /* integers and booleans; cut to int64_t */
    double real;     /* floats */
    char *text;      /* strings up to 4 KiB, else NULL; may hold NULs before its last one */
    int64_t *items;  /* arrays of up to 4096 integers or booleans outside tokenizer.*, else NULL */
} gguf_value;

typedef struct gguf_tensor {
    char *name;
    int part;   /* index into gguf.parts */
    int64_t at; /* byte offset of the info */
    int dim_count;
    int64_t dims[GGUF_DIMS_MAX]; /* the fastest first; 1 behind the last */
    uint32_t type;
    int64_t elements, bytes;
} gguf_tensor;

typedef struct gguf {
    int part_count; /* files that the tensors come from */
    char **parts;   /* their names, for messages */
    size_t value_count;
    gguf_value *values; /* of the first part, sorted by key */
    size_t tensor_count;
    gguf_tensor *tensors;
} gguf;

/* Reads the header of a file, and of the other parts of a split model that lie beside it.
 * Errors: LLMPERF_E_IO (also for a missing part), LLMPERF_E_SPEC as "FILE: byte N: ...",
 * LLMPERF_E_UNSUPPORTED for big-endian files, LLMPERF_E_MEMORY. */
llmperf_status gguf_load_file(const char *path, gguf **ret_file, llmperf_error *error);

/* The same from memory, where `name` stands for the file; a split model is refused. */
llmperf_status gguf_load_memory(const char *name, const void *data, size_t size, gguf **ret_file,
                                llmperf_error *error);

void gguf_free(gguf *file);

/* NULL when there is no such key. */
const gguf_value *gguf_get(const gguf *file, const char *key);

/* "u32", "array of string"; for messages. Static storage for scalars, else `buffer`. */
const char *gguf_describe(const gguf_value *value, char *buffer, size_t size);

/* True for a regular file that begins with the bytes "GGUF". */
bool gguf_has_magic(const char *path);

#endif
