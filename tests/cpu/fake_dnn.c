/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for oneDNN 2 that misbehaves on request: $FAKE_DNN is a list of
 *   good         right; large products are not computed, they take 2 ms (fp32), 1 ms (bf16), 0.5 ms
 *   wrong-bf16   one element of a bf16 product is off
 *   no-int8      there is no int8 product
 *   few-slow     large products of fewer than four rows take twice as long
 *   crash        dies of SIGILL when a product runs
 *   version-3    says that it is version 3
 *   threads      says that its threads are not those of OpenMP
 */
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../kernels/cpu/onednn_api.h"

#define EXPORT __attribute__((visibility("default")))

enum { UNIMPLEMENTED = 3, LARGE = 1000000 };

/* What stands in the opaque bytes of a memory descriptor. */
typedef struct layout {
    int64_t rows, columns;
    int type, tag;
} layout;

struct dnn_memory_object {
    layout layout;
    void *data;
};

struct dnn_primitive_desc_object {
    layout from, weights, to;
    dnn_memory_desc weights_desc;
    bool reorder;
};

static bool is(const char *word)
{
    const char *list = getenv("FAKE_DNN");
    return list && strstr(list, word);
}

static layout layout_of(const dnn_memory_desc *desc)
{
    layout l;
    memcpy(&l, desc, sizeof l);
    return l;
}

static size_t element(int type)
{
    return type == DNN_BF16 ? 2 : type == DNN_S8 || type == DNN_U8 ? 1 : 4;
}

EXPORT const dnn_version_text *dnnl_version(void);
const dnn_version_text *dnnl_version(void)
{
    static dnn_version_text version;
    version = (dnn_version_text){.major = is("version-3") ? 3 : 2,
                                 .minor = 99,
                                 .patch = 1,
                                 .cpu_runtime = is("threads") ? 4 : DNN_RUNTIME_OMP};
    return &version;
}

EXPORT dnn_isa dnnl_get_effective_cpu_isa(void);
dnn_isa dnnl_get_effective_cpu_isa(void)
{
    return 0x7;
}

EXPORT dnn_status dnnl_engine_create(dnn_engine *engine, dnn_engine_kind kind, size_t index);
dnn_status dnnl_engine_create(dnn_engine *engine, dnn_engine_kind kind, size_t index)
{
    static char object;
    *engine = (dnn_engine)(void *)&object;
    return kind == DNN_CPU && index == 0 ? DNN_SUCCESS : UNIMPLEMENTED;
}

EXPORT dnn_status dnnl_stream_create(dnn_stream *stream, dnn_engine engine, unsigned flags);
dnn_status dnnl_stream_create(dnn_stream *stream, dnn_engine engine, unsigned flags)
{
    (void)flags;
    *stream = (dnn_stream)(void *)engine;
    return DNN_SUCCESS;
}

EXPORT dnn_status dnnl_stream_wait(dnn_stream stream);
dnn_status dnnl_stream_wait(dnn_stream stream)
{
    return stream ? DNN_SUCCESS : UNIMPLEMENTED;
}

EXPORT dnn_status dnnl_memory_desc_init_by_tag(dnn_memory_desc *desc, int ndims,
                                               const dnn_dims dims, dnn_data_type type,
                                               dnn_format_tag tag);
dnn_status dnnl_memory_desc_init_by_tag(dnn_memory_desc *desc, int ndims, const dnn_dims dims,
                                        dnn_data_type type, dnn_format_tag tag)
{
    const layout l = {.rows = dims[0], .columns = dims[1], .type = type, .tag = tag};
    memset(desc, 0, sizeof *desc);
    memcpy(desc, &l, sizeof l);
    return ndims == 2 ? DNN_SUCCESS : UNIMPLEMENTED;
}

EXPORT size_t dnnl_memory_desc_get_size(const dnn_memory_desc *desc);
size_t dnnl_memory_desc_get_size(const dnn_memory_desc *desc)
{
    layout l = layout_of(desc);
    return (size_t)(l.rows * l.columns) * element(l.type);
}

EXPORT dnn_status dnnl_memory_create(dnn_memory *memory, const dnn_memory_desc *desc,
                                     dnn_engine engine, void *data);
dnn_status dnnl_memory_create(dnn_memory *memory, const dnn_memory_desc *desc, dnn_engine engine,
                              void *data)
{
    (void)engine;
    *memory = malloc(sizeof **memory);
    if (!*memory)
        return UNIMPLEMENTED;
    (*memory)->layout = layout_of(desc);
    (*memory)->data = data;
    return DNN_SUCCESS;
}

EXPORT dnn_status dnnl_memory_destroy(dnn_memory memory);
dnn_status dnnl_memory_destroy(dnn_memory memory)
{
    free(memory);
    return DNN_SUCCESS;
}

EXPORT dnn_status dnnl_memory_set_data_handle(dnn_memory memory, void *data);
dnn_status dnnl_memory_set_data_handle(dnn_memory memory, void *data)
{
    memory->data = data;
    return DNN_SUCCESS;
}

EXPORT dnn_status dnnl_matmul_desc_init(dnn_matmul_desc *desc, const dnn_memory_desc *from,
                                        const dnn_memory_desc *weights, const dnn_memory_desc *bias,
                                        const dnn_memory_desc *to);
dnn_status dnnl_matmul_desc_init(dnn_matmul_desc *desc, const dnn_memory_desc *from,
                                 const dnn_memory_desc *weights, const dnn_memory_desc *bias,
                                 const dnn_memory_desc *to)
{
    const layout all[] = {layout_of(from), layout_of(weights), layout_of(to)};
    memset(desc, 0, sizeof *desc);
    memcpy(desc, all, sizeof all);
    return bias ? UNIMPLEMENTED : DNN_SUCCESS;
}

EXPORT dnn_status dnnl_primitive_desc_create(dnn_primitive_desc *desc, dnn_const_op_desc op,
                                             dnn_const_attr attributes, dnn_engine engine,
                                             dnn_const_primitive_desc hint);
dnn_status dnnl_primitive_desc_create(dnn_primitive_desc *desc, dnn_const_op_desc op,
                                      dnn_const_attr attributes, dnn_engine engine,
                                      dnn_const_primitive_desc hint)
{
    layout all[3];
    (void)attributes, (void)engine, (void)hint;
    memcpy(all, op, sizeof all);
    if (all[1].type == DNN_S8 && is("no-int8"))
        return UNIMPLEMENTED;
    *desc = calloc(1, sizeof **desc);
    if (!*desc)
        return UNIMPLEMENTED;
    all[1].tag = DNN_COLUMNS; /* the layout of its choice */
    (*desc)->from = all[0];
    (*desc)->weights = all[1];
    (*desc)->to = all[2];
    memcpy(&(*desc)->weights_desc, &all[1], sizeof all[1]);
    return DNN_SUCCESS;
}

EXPORT dnn_status dnnl_reorder_primitive_desc_create(
    dnn_primitive_desc *desc, const dnn_memory_desc *from, dnn_engine from_engine,
    const dnn_memory_desc *to, dnn_engine to_engine, dnn_const_attr attributes);
dnn_status dnnl_reorder_primitive_desc_create(dnn_primitive_desc *desc, const dnn_memory_desc *from,
                                              dnn_engine from_engine, const dnn_memory_desc *to,
                                              dnn_engine to_engine, dnn_const_attr attributes)
{
    (void)from_engine, (void)to_engine, (void)attributes;
    *desc = calloc(1, sizeof **desc);
    if (!*desc)
        return UNIMPLEMENTED;
    (*desc)->from = layout_of(from);
    (*desc)->to = layout_of(to);
    (*desc)->reorder = true;
    return DNN_SUCCESS;
}

EXPORT dnn_status dnnl_primitive_desc_destroy(dnn_primitive_desc desc);
dnn_status dnnl_primitive_desc_destroy(dnn_primitive_desc desc)
{
    free(desc);
    return DNN_SUCCESS;
}

EXPORT const dnn_memory_desc *dnnl_primitive_desc_query_md(dnn_const_primitive_desc desc,
                                                           dnn_query what, int index);
const dnn_memory_desc *dnnl_primitive_desc_query_md(dnn_const_primitive_desc desc, dnn_query what,
                                                    int index)
{
    return what == DNN_QUERY_WEIGHTS && index == 0 ? &desc->weights_desc : NULL;
}

EXPORT dnn_status dnnl_primitive_desc_query(dnn_const_primitive_desc desc, dnn_query what,
                                            int index, void *result);
dnn_status dnnl_primitive_desc_query(dnn_const_primitive_desc desc, dnn_query what, int index,
                                     void *result)
{
    static const char *const NAME = "fake:loops";
    (void)desc, (void)index;
    if (what != DNN_QUERY_IMPLEMENTATION)
        return UNIMPLEMENTED;
    memcpy(result, &NAME, sizeof NAME);
    return DNN_SUCCESS;
}

EXPORT dnn_status dnnl_primitive_create(dnn_primitive *primitive, dnn_const_primitive_desc desc);
dnn_status dnnl_primitive_create(dnn_primitive *primitive, dnn_const_primitive_desc desc)
{
    struct dnn_primitive_desc_object *own = malloc(sizeof *own);
    if (!own)
        return UNIMPLEMENTED;
    *own = *desc;
    *primitive = (dnn_primitive)(void *)own;
    return DNN_SUCCESS;
}

EXPORT dnn_status dnnl_primitive_destroy(dnn_primitive primitive);
dnn_status dnnl_primitive_destroy(dnn_primitive primitive)
{
    free(primitive);
    return DNN_SUCCESS;
}

static double value(const void *data, int type, int64_t i)
{
    if (type == DNN_F32)
        return (double)((const float *)data)[i];
    if (type == DNN_S8)
        return ((const int8_t *)data)[i];
    if (type == DNN_U8)
        return ((const uint8_t *)data)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)data)[i] << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

static void put(void *data, int type, int64_t i, double x)
{
    float single = (float)x;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (type == DNN_F32)
        ((float *)data)[i] = single;
    else if (type == DNN_S32)
        ((int32_t *)data)[i] = (int32_t)x;
    else
        ((uint16_t *)data)[i] = (uint16_t)((bits + 0x8000) >> 16);
}

static void multiply(const struct dnn_primitive_desc_object *p, const void *a, const void *w,
                     void *c)
{
    int64_t m = p->from.rows, k = p->from.columns, n = p->weights.columns;
    if (m * n * k > LARGE) {
        long ns = p->weights.type == DNN_F32    ? 2000000
                  : p->weights.type == DNN_BF16 ? 1000000
                                                : 500000;
        if (m < 4 && is("few-slow"))
            ns *= 2;
        nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
        return;
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < k; l++)
                sum += value(a, p->from.type, i * k + l) * value(w, p->weights.type, j * k + l);
            put(c, p->to.type, i * n + j, sum);
        }
    if (p->weights.type == DNN_BF16 && is("wrong-bf16"))
        put(c, p->to.type, m * n - 1, NAN);
}

EXPORT dnn_status dnnl_primitive_execute(dnn_const_primitive primitive, dnn_stream stream,
                                         int count, const dnn_argument *arguments);
dnn_status dnnl_primitive_execute(dnn_const_primitive primitive, dnn_stream stream, int count,
                                  const dnn_argument *arguments)
{
    const struct dnn_primitive_desc_object *p = (const void *)primitive;
    void *from = NULL, *weights = NULL, *to = NULL;
    (void)stream;
    for (int i = 0; i < count; i++) {
        void *data = arguments[i].memory->data;
        if (arguments[i].index == DNN_ARG_FROM)
            from = data;
        else if (arguments[i].index == DNN_ARG_TO)
            to = data;
        else
            weights = data;
    }
    if (is("crash"))
        raise(SIGILL);
    if (!from || !to || (!weights && !p->reorder))
        return UNIMPLEMENTED;
    if (p->reorder) /* from columns to columns: nothing to turn round */
        memcpy(to, from, (size_t)(p->from.rows * p->from.columns) * element(p->from.type));
    else
        multiply(p, from, weights, to);
    return DNN_SUCCESS;
}
