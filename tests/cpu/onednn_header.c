/* SPDX-License-Identifier: MIT */
/*
 * Compiles, and that is the test: every prototype, size and number of kernels/cpu/onednn_api.h
 * beside oneDNN's own header. Built where that header is of version 2.
 */
#include <dnnl.h>

typedef dnnl_engine_t dnn_engine;
typedef dnnl_stream_t dnn_stream;
typedef dnnl_memory_t dnn_memory;
typedef dnnl_primitive_t dnn_primitive;
typedef dnnl_primitive_desc_t dnn_primitive_desc;
typedef const_dnnl_primitive_desc_t dnn_const_primitive_desc;
typedef const_dnnl_primitive_t dnn_const_primitive;
typedef const_dnnl_primitive_attr_t dnn_const_attr;
typedef const_dnnl_op_desc_t dnn_const_op_desc;
typedef dnnl_dims_t dnn_dims;
typedef dnnl_memory_desc_t dnn_memory_desc;
typedef dnnl_matmul_desc_t dnn_matmul_desc;
typedef dnnl_exec_arg_t dnn_argument;
typedef dnnl_version_t dnn_version_text;
typedef dnnl_status_t dnn_status;
typedef dnnl_engine_kind_t dnn_engine_kind;
typedef dnnl_data_type_t dnn_data_type;
typedef dnnl_format_tag_t dnn_format_tag;
typedef dnnl_query_t dnn_query;
typedef dnnl_cpu_isa_t dnn_isa;
#define LLMPERF_DNNL_HEADER
#include "../../kernels/cpu/onednn_api.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(DNN_MEMORY_DESC_SIZE, sizeof(dnnl_memory_desc_t));
SAME(DNN_MATMUL_DESC_SIZE, sizeof(dnnl_matmul_desc_t));
SAME(8, _Alignof(dnnl_memory_desc_t));
SAME(8, _Alignof(dnnl_matmul_desc_t));
SAME(sizeof(int64_t), sizeof(dnnl_dim_t));
SAME(12, DNNL_MAX_NDIMS);
SAME(16, sizeof(dnnl_exec_arg_t));
SAME(0, offsetof(dnnl_exec_arg_t, arg));
SAME(8, offsetof(dnnl_exec_arg_t, memory));
SAME(8, offsetof(dnnl_version_t, patch));
SAME(16, offsetof(dnnl_version_t, hash));
SAME(24, offsetof(dnnl_version_t, cpu_runtime));
SAME(sizeof(int), sizeof(dnnl_status_t));
SAME(DNN_SUCCESS, dnnl_success);
SAME(DNN_CPU, dnnl_cpu);
SAME(DNN_STREAM_DEFAULT, dnnl_stream_default_flags);
SAME(DNN_BF16, dnnl_bf16);
SAME(DNN_F32, dnnl_f32);
SAME(DNN_S32, dnnl_s32);
SAME(DNN_S8, dnnl_s8);
SAME(DNN_U8, dnnl_u8);
SAME(DNN_ANY, dnnl_format_tag_any);
SAME(DNN_ROWS, dnnl_ab);
SAME(DNN_COLUMNS, dnnl_ba);
SAME(DNN_QUERY_IMPLEMENTATION, dnnl_query_impl_info_str);
SAME(DNN_QUERY_WEIGHTS, dnnl_query_weights_md);
SAME(DNN_ARG_FROM, DNNL_ARG_FROM);
SAME(DNN_ARG_FROM, DNNL_ARG_SRC);
SAME(DNN_ARG_TO, DNNL_ARG_TO);
SAME(DNN_ARG_TO, DNNL_ARG_DST);
SAME(DNN_ARG_OF_WEIGHTS, DNNL_ARG_WEIGHTS);
SAME(DNN_RUNTIME_OMP, DNNL_RUNTIME_OMP);

/* Incompatible pointers are errors here. */
extern const dnn_api real_functions;
const dnn_api real_functions = {
    .version = dnnl_version,
    .isa = dnnl_get_effective_cpu_isa,
    .engine_create = dnnl_engine_create,
    .stream_create = dnnl_stream_create,
    .stream_wait = dnnl_stream_wait,
    .desc_init = dnnl_memory_desc_init_by_tag,
    .desc_size = dnnl_memory_desc_get_size,
    .memory_create = dnnl_memory_create,
    .memory_destroy = dnnl_memory_destroy,
    .memory_set = dnnl_memory_set_data_handle,
    .matmul_init = dnnl_matmul_desc_init,
    .reorder_desc = dnnl_reorder_primitive_desc_create,
    .primitive_desc_create = dnnl_primitive_desc_create,
    .primitive_desc_destroy = dnnl_primitive_desc_destroy,
    .query_desc = dnnl_primitive_desc_query_md,
    .query = dnnl_primitive_desc_query,
    .primitive_create = dnnl_primitive_create,
    .primitive_destroy = dnnl_primitive_destroy,
    .execute = dnnl_primitive_execute,
};
