/* SPDX-License-Identifier: MIT */
/*
 * The part of oneDNN's C interface, version 2, that the CPU backend calls: declared by hand, so that
 * neither its header nor the library is needed to build. tests/cpu/onednn_header.c compares every
 * line with the real header where there is one; LLMPERF_DNNL_HEADER then puts the real types here.
 * Source: oneDNN 2.6 developer guide, "C API".
 */
#ifndef LLMPERF_CPU_ONEDNN_API_H
#define LLMPERF_CPU_ONEDNN_API_H

#include <stddef.h>
#include <stdint.h>

enum {
    DNN_MEMORY_DESC_SIZE = 696,
    DNN_MATMUL_DESC_SIZE = 2800,

    DNN_SUCCESS = 0,
    DNN_CPU = 1,            /* engine kind */
    DNN_STREAM_DEFAULT = 1, /* flags */
    DNN_BF16 = 2,           /* data types */
    DNN_F32 = 3,
    DNN_S32 = 4,
    DNN_S8 = 5,
    DNN_U8 = 6,
    DNN_ANY = 1,      /* format tags: whatever suits the primitive */
    DNN_ROWS = 3,     /* "ab" */
    DNN_COLUMNS = 22, /* "ba" */
    DNN_QUERY_IMPLEMENTATION = 8,
    DNN_QUERY_WEIGHTS = 131,
    DNN_ARG_FROM = 1, /* source of a primitive or a reorder */
    DNN_ARG_TO = 17,  /* its destination */
    DNN_ARG_OF_WEIGHTS = 33,
    DNN_RUNTIME_OMP = 2,
};

#ifndef LLMPERF_DNNL_HEADER
typedef struct dnn_engine_object *dnn_engine;
typedef struct dnn_stream_object *dnn_stream;
typedef struct dnn_memory_object *dnn_memory;
typedef struct dnn_primitive_object *dnn_primitive;
typedef struct dnn_primitive_desc_object *dnn_primitive_desc;
typedef const struct dnn_primitive_desc_object *dnn_const_primitive_desc;
typedef const struct dnn_primitive_object *dnn_const_primitive;
typedef const struct dnn_attr_object *dnn_const_attr;
typedef const void *dnn_const_op_desc;
typedef int64_t dnn_dims[12];
typedef struct dnn_memory_desc {
    int64_t opaque[DNN_MEMORY_DESC_SIZE / 8];
} dnn_memory_desc;
typedef struct dnn_matmul_desc {
    int64_t opaque[DNN_MATMUL_DESC_SIZE / 8];
} dnn_matmul_desc;
typedef struct dnn_argument {
    int index;
    dnn_memory memory;
} dnn_argument;
typedef struct dnn_version_text {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
} dnn_version_text;
typedef int dnn_status, dnn_engine_kind, dnn_data_type, dnn_format_tag, dnn_query, dnn_isa;
#endif

typedef struct dnn_api {
    const dnn_version_text *(*version)(void);
    dnn_isa (*isa)(void);
    dnn_status (*engine_create)(dnn_engine *engine, dnn_engine_kind kind, size_t index);
    dnn_status (*stream_create)(dnn_stream *stream, dnn_engine engine, unsigned flags);
    dnn_status (*stream_wait)(dnn_stream stream);
    dnn_status (*desc_init)(dnn_memory_desc *desc, int ndims, const dnn_dims dims,
                            dnn_data_type type, dnn_format_tag tag);
    size_t (*desc_size)(const dnn_memory_desc *desc);
    dnn_status (*memory_create)(dnn_memory *memory, const dnn_memory_desc *desc, dnn_engine engine,
                                void *data);
    dnn_status (*memory_destroy)(dnn_memory memory);
    dnn_status (*memory_set)(dnn_memory memory, void *data);
    dnn_status (*matmul_init)(dnn_matmul_desc *desc, const dnn_memory_desc *from,
                              const dnn_memory_desc *weights, const dnn_memory_desc *bias,
                              const dnn_memory_desc *to);
    dnn_status (*reorder_desc)(dnn_primitive_desc *desc, const dnn_memory_desc *from,
                               dnn_engine from_engine, const dnn_memory_desc *to,
                               dnn_engine to_engine, dnn_const_attr attributes);
    dnn_status (*primitive_desc_create)(dnn_primitive_desc *desc, dnn_const_op_desc op,
                                        dnn_const_attr attributes, dnn_engine engine,
                                        dnn_const_primitive_desc hint);
    dnn_status (*primitive_desc_destroy)(dnn_primitive_desc desc);
    const dnn_memory_desc *(*query_desc)(dnn_const_primitive_desc desc, dnn_query what, int index);
    dnn_status (*query)(dnn_const_primitive_desc desc, dnn_query what, int index, void *result);
    dnn_status (*primitive_create)(dnn_primitive *primitive, dnn_const_primitive_desc desc);
    dnn_status (*primitive_destroy)(dnn_primitive primitive);
    dnn_status (*execute)(dnn_const_primitive primitive, dnn_stream stream, int count,
                          const dnn_argument *arguments);
} dnn_api;

#endif
