/* SPDX-License-Identifier: MIT */
/*
 * Products by oneDNN, opened at run time. Its matmul takes weights in a layout of its own choice:
 * they are packed once, as an engine does when it loads a model, and not at every call as in a BLAS.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"

/* Where version 2 is; its name holds the version of the interface. */
static const char *const PLACES[] = {"libdnnl.so.2", NULL};

static bool symbols_of(void *library, dnn_api *api)
{
    const struct {
        const char *name;
        void *to;
    } rows[] = {
        {"dnnl_version", &api->version},
        {"dnnl_get_effective_cpu_isa", &api->isa},
        {"dnnl_engine_create", &api->engine_create},
        {"dnnl_stream_create", &api->stream_create},
        {"dnnl_stream_wait", &api->stream_wait},
        {"dnnl_memory_desc_init_by_tag", &api->desc_init},
        {"dnnl_memory_desc_get_size", &api->desc_size},
        {"dnnl_memory_create", &api->memory_create},
        {"dnnl_memory_destroy", &api->memory_destroy},
        {"dnnl_memory_set_data_handle", &api->memory_set},
        {"dnnl_matmul_desc_init", &api->matmul_init},
        {"dnnl_reorder_primitive_desc_create", &api->reorder_desc},
        {"dnnl_primitive_desc_create", &api->primitive_desc_create},
        {"dnnl_primitive_desc_destroy", &api->primitive_desc_destroy},
        {"dnnl_primitive_desc_query_md", &api->query_desc},
        {"dnnl_primitive_desc_query", &api->query},
        {"dnnl_primitive_create", &api->primitive_create},
        {"dnnl_primitive_destroy", &api->primitive_destroy},
        {"dnnl_primitive_execute", &api->execute},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *found = dlsym(library, rows[i].name);
        if (!found)
            return false;
        memcpy(rows[i].to, &found, sizeof found); /* ISO C has no cast from object to function */
    }
    return true;
}

static void isa_name(dnn_isa isa, char *buffer, size_t size)
{
    static const struct {
        dnn_isa isa;
        const char *name;
    } NAMES[] = {{0x1, "sse41"},
                 {0x3, "avx"},
                 {0x7, "avx2"},
                 {0x407, "avx2_vnni"},
                 {0x27, "avx512_core"},
                 {0x67, "avx512_core_vnni"},
                 {0xe7, "avx512_core_bf16"},
                 {0x3e7, "avx512_core_amx"}};
    snprintf(buffer, size, "isa %#x", (unsigned)isa);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (NAMES[i].isa == isa)
            snprintf(buffer, size, "%s", NAMES[i].name);
}

bool cpu_dnn_open(const char *given, cpu_dnn *ret, char *why, size_t size)
{
    cpu_dnn d = {0};
    void *library = NULL;
    if (given[0]) {
        library = dlopen(given, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        snprintf(d.path, sizeof d.path, "%s", given);
    }
    for (int i = 0; !given[0] && !library && PLACES[i]; i++) {
        library = dlopen(PLACES[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        snprintf(d.path, sizeof d.path, "%s", PLACES[i]);
    }
    if (!library) {
        snprintf(why, size, "oneDNN is missing (libdnnl.so.2; Debian: libdnnl2)%s%s",
                 given[0] ? ": " : "", given);
        return false;
    }
    if (!symbols_of(library, &d.api)) {
        snprintf(why, size, "%s has not the functions of oneDNN 2", d.path);
        return false;
    }
    const dnn_version_text *version = d.api.version();
    if (version->major != 2 || version->cpu_runtime != DNN_RUNTIME_OMP) {
        snprintf(why, size, "oneDNN %d.%d with %s is not used: version 2 with OpenMP is",
                 version->major, version->minor,
                 version->cpu_runtime == DNN_RUNTIME_OMP ? "OpenMP" : "threads of its own kind");
        return false;
    }
    snprintf(d.version, sizeof d.version, "%d.%d.%d", version->major, version->minor,
             version->patch);
    isa_name(d.api.isa(), d.isa, sizeof d.isa);
    if (d.api.engine_create(&d.engine, DNN_CPU, 0) != DNN_SUCCESS ||
        d.api.stream_create(&d.stream, d.engine, DNN_STREAM_DEFAULT) != DNN_SUCCESS) {
        snprintf(why, size, "oneDNN %s gives no engine for this processor", d.version);
        return false;
    }
    *ret = d;
    return true;
}

/* ---- one product ------------------------------------------------------------------------------- */

/* Formats of activations, weights and result. int8: unsigned activations, the form that VNNI has
 * instructions for, and sums of 32 bit. */
static const struct {
    dnn_data_type from, weights, to;
} FORMATS[CPU_TYPES] = {[CPU_FP32] = {DNN_F32, DNN_F32, DNN_F32},
                        [CPU_BF16] = {DNN_BF16, DNN_BF16, DNN_BF16},
                        [CPU_INT8] = {DNN_U8, DNN_S8, DNN_S32}};

/* Descriptions of the three tensors of c (m, n) = a (m, k) times w (k, n); true when all went well. */
static bool describe(const cpu_dnn *d, cpu_product *p, dnn_memory_desc *weights)
{
    const dnn_dims from = {p->m, p->k}, inner = {p->k, p->n}, to = {p->m, p->n};
    return d->api.desc_init(&p->from, 2, from, FORMATS[p->type].from, DNN_ROWS) == DNN_SUCCESS &&
           d->api.desc_init(weights, 2, inner, FORMATS[p->type].weights, DNN_ANY) == DNN_SUCCESS &&
           d->api.desc_init(&p->to, 2, to, FORMATS[p->type].to, DNN_ROWS) == DNN_SUCCESS;
}

bool cpu_product_open(const cpu_dnn *d, cpu_type type, int64_t m, int64_t n, int64_t k,
                      cpu_product *ret)
{
    cpu_product p = {.dnn = d, .type = type, .m = m, .n = n, .k = k};
    dnn_memory_desc any;
    dnn_matmul_desc op;
    dnn_primitive_desc desc = NULL;
    const char *name = NULL;
    if (!describe(d, &p, &any) ||
        d->api.matmul_init(&op, &p.from, &any, NULL, &p.to) != DNN_SUCCESS ||
        d->api.primitive_desc_create(&desc, &op, NULL, d->engine, NULL) != DNN_SUCCESS)
        return false;
    const dnn_memory_desc *chosen = d->api.query_desc(desc, DNN_QUERY_WEIGHTS, 0);
    bool good = chosen && d->api.primitive_create(&p.primitive, desc) == DNN_SUCCESS;
    if (good) {
        p.weights = *chosen;
        p.weight_bytes = d->api.desc_size(&p.weights);
        if (d->api.query(desc, DNN_QUERY_IMPLEMENTATION, 0, &name) == DNN_SUCCESS && name)
            snprintf(p.implementation, sizeof p.implementation, "%s", name);
    }
    d->api.primitive_desc_destroy(desc);
    if (good)
        *ret = p;
    return good;
}

static void unbind(cpu_product *p)
{
    for (int64_t i = 0; p->held && i < p->copies; i++)
        p->dnn->api.memory_destroy(p->held[i]);
    free(p->held);
    if (p->in)
        p->dnn->api.memory_destroy(p->in);
    if (p->out)
        p->dnn->api.memory_destroy(p->out);
    p->held = NULL;
    p->in = p->out = NULL;
    p->copies = 0;
}

void cpu_product_close(cpu_product *p)
{
    if (!p->dnn)
        return;
    unbind(p);
    p->dnn->api.primitive_destroy(p->primitive);
    memset(p, 0, sizeof *p);
}

bool cpu_product_bind(cpu_product *p, void *in, void *out, char *weights, size_t stride,
                      int64_t copies)
{
    const dnn_api *api = &p->dnn->api;
    if (p->held && p->copies == copies && p->bound_in == in && p->bound_out == out &&
        p->bound_weights == weights && p->bound_stride == stride)
        return true;
    unbind(p);
    p->held = calloc((size_t)copies, sizeof *p->held);
    if (!p->held)
        return false;
    bool good = api->memory_create(&p->in, &p->from, p->dnn->engine, in) == DNN_SUCCESS &&
                api->memory_create(&p->out, &p->to, p->dnn->engine, out) == DNN_SUCCESS;
    for (; good && p->copies < copies; p->copies++)
        if (api->memory_create(&p->held[p->copies], &p->weights, p->dnn->engine,
                               weights + (size_t)p->copies * stride) != DNN_SUCCESS)
            break;
    if (!good || p->copies < copies) {
        unbind(p);
        return false;
    }
    p->bound_in = in;
    p->bound_out = out;
    p->bound_weights = weights;
    p->bound_stride = stride;
    return true;
}

bool cpu_product_run(const cpu_product *p, int64_t copy)
{
    const dnn_argument arguments[] = {
        {DNN_ARG_FROM, p->in}, {DNN_ARG_OF_WEIGHTS, p->held[copy]}, {DNN_ARG_TO, p->out}};
    return p->dnn->api.execute(p->primitive, p->dnn->stream, 3, arguments) == DNN_SUCCESS &&
           p->dnn->api.stream_wait(p->dnn->stream) == DNN_SUCCESS;
}

bool cpu_product_pack(const cpu_product *p, void *plain, void *packed)
{
    const dnn_api *api = &p->dnn->api;
    const dnn_dims inner = {p->k, p->n};
    dnn_memory_desc rows;
    dnn_primitive_desc desc = NULL;
    dnn_primitive reorder = NULL;
    dnn_memory from = NULL, to = NULL;
    /* (k, n) by columns is (n, k) by rows: how a model stores its weights */
    bool good =
        api->desc_init(&rows, 2, inner, FORMATS[p->type].weights, DNN_COLUMNS) == DNN_SUCCESS &&
        api->reorder_desc(&desc, &rows, p->dnn->engine, &p->weights, p->dnn->engine, NULL) ==
            DNN_SUCCESS &&
        api->primitive_create(&reorder, desc) == DNN_SUCCESS &&
        api->memory_create(&from, &rows, p->dnn->engine, plain) == DNN_SUCCESS &&
        api->memory_create(&to, &p->weights, p->dnn->engine, packed) == DNN_SUCCESS;
    if (good) {
        const dnn_argument arguments[] = {{DNN_ARG_FROM, from}, {DNN_ARG_TO, to}};
        good = api->execute(reorder, p->dnn->stream, 2, arguments) == DNN_SUCCESS &&
               api->stream_wait(p->dnn->stream) == DNN_SUCCESS;
    }
    if (from)
        api->memory_destroy(from);
    if (to)
        api->memory_destroy(to);
    if (reorder)
        api->primitive_destroy(reorder);
    if (desc)
        api->primitive_desc_destroy(desc);
    return good;
}
