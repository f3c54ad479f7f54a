/* SPDX-License-Identifier: MIT */
/*
 * libcublasLt.so.13: products that are remembered and worked out where somebody looks, so that a
 * wrong layout, transposition or stride gives wrong numbers, as with the library itself. It refuses
 * what the library's guide refuses.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

#define DECLARE(name, arguments) FAKE_API int name arguments;
CUDA_LT_FUNCTIONS(DECLARE)
#undef DECLARE
FAKE_API size_t cublasLtGetVersion(void);

enum { ALGORITHMS_MAX = 16, OBJECTS_MAX = 1024 };

struct lt_context {
    bool alive;
};
struct lt_desc_s {
    int compute, scale, transposed_a, transposed_b;
    signed char fast;
    uint64_t scale_a, scale_b;
    int mode_a, mode_b;
};
struct lt_layout_s {
    int type;
    uint64_t rows, columns;
    int64_t stride, batch_stride;
    int batch;
};
struct lt_preference_s {
    uint64_t workspace;
};

/* ---- entering ------------------------------------------------------------------------------------ */

static int entered(fake_function *here)
{
    fake_spend(fake_get()->call);
    return fake_injected(here);
}

#define ENTER(function)                                                                            \
    do {                                                                                           \
        static fake_function here = {.name = #function, .library = "lt"};                          \
        int refused = entered(&here);                                                              \
        if (refused)                                                                               \
            return refused;                                                                        \
    } while (0)

/* Freeing frees, whatever it then says. */
#define ENTER_TO_FREE(function)                                                                    \
    static fake_function here = {.name = #function, .library = "lt"};                              \
    int said = entered(&here)

/* ---- objects --------------------------------------------------------------------------------------- */

/* All that are alive: a leak is ours to report, not the sanitizer's, which would take it for a fault
 * where a hung device is rightly left. */
static void *alive[OBJECTS_MAX];

static void remember(void *object, void *instead)
{
    int i = 0;
    while (i < OBJECTS_MAX && alive[i] != instead)
        i++;
    if (i < OBJECTS_MAX)
        alive[i] = object;
}

size_t cublasLtGetVersion(void)
{
    return (size_t)fake_get()->lt_version;
}

int cublasLtCreate(lt_handle *handle)
{
    ENTER(cublasLtCreate);
    lt_handle h = calloc(1, sizeof *h);
    if (!h)
        return LT_ALLOC_FAILED;
    if (fake_counted(FAKE_live_contexts) == 0) {
        free(h);
        return fake_misuse(LT_NOT_INITIALIZED, "cublasLtCreate without a context");
    }
    h->alive = true;
    remember(h, NULL);
    fake_count(FAKE_live_lt_handles, 1);
    *handle = h;
    return LT_OK;
}

int cublasLtDestroy(lt_handle handle)
{
    ENTER_TO_FREE(cublasLtDestroy);
    if (!handle)
        return fake_misuse(LT_INVALID_VALUE, "cublasLtDestroy of no handle");
    fake_count(FAKE_live_lt_handles, -1);
    remember(NULL, handle);
    free(handle);
    return said;
}

/* Zeroed and counted. */
static void *object_new(size_t size)
{
    void *object = calloc(1, size);
    if (object) {
        remember(object, NULL);
        fake_count(FAKE_live_lt_objects, 1);
    }
    return object;
}

static int object_free(void *object, const char *who)
{
    if (!object)
        return fake_misuse(LT_INVALID_VALUE, "%s of nothing", who);
    fake_count(FAKE_live_lt_objects, -1);
    remember(NULL, object);
    free(object);
    return LT_OK;
}

int cublasLtMatmulDescCreate(lt_desc *desc, int compute, int scale)
{
    ENTER(cublasLtMatmulDescCreate);
    *desc = object_new(sizeof **desc);
    if (!*desc)
        return LT_ALLOC_FAILED;
    (*desc)->compute = compute;
    (*desc)->scale = scale;
    return LT_OK;
}

int cublasLtMatmulDescDestroy(lt_desc desc)
{
    ENTER_TO_FREE(cublasLtMatmulDescDestroy);
    int code = object_free(desc, "cublasLtMatmulDescDestroy");
    return code ? code : said;
}

int cublasLtMatrixLayoutCreate(lt_layout *layout, int type, uint64_t rows, uint64_t columns,
                               int64_t stride)
{
    ENTER(cublasLtMatrixLayoutCreate);
    if (fake_bits(type) == 0 || stride < (int64_t)rows)
        return fake_misuse(LT_INVALID_VALUE, "layout of type %d, %llu x %llu, stride %lld", type,
                           (unsigned long long)rows, (unsigned long long)columns,
                           (long long)stride);
    *layout = object_new(sizeof **layout);
    if (!*layout)
        return LT_ALLOC_FAILED;
    **layout = (struct lt_layout_s){
        .type = type, .rows = rows, .columns = columns, .stride = stride, .batch = 1};
    return LT_OK;
}

int cublasLtMatrixLayoutDestroy(lt_layout layout)
{
    ENTER_TO_FREE(cublasLtMatrixLayoutDestroy);
    int code = object_free(layout, "cublasLtMatrixLayoutDestroy");
    return code ? code : said;
}

int cublasLtMatmulPreferenceCreate(lt_preference *preference)
{
    ENTER(cublasLtMatmulPreferenceCreate);
    *preference = object_new(sizeof **preference);
    return *preference ? LT_OK : LT_ALLOC_FAILED;
}

int cublasLtMatmulPreferenceDestroy(lt_preference preference)
{
    ENTER_TO_FREE(cublasLtMatmulPreferenceDestroy);
    int code = object_free(preference, "cublasLtMatmulPreferenceDestroy");
    return code ? code : said;
}

/* ---- attributes ------------------------------------------------------------------------------------ */

/* One attribute: where it goes and how long it is. */
typedef struct attribute {
    int number;
    size_t offset, size;
} attribute;

static int set(void *object, const attribute *rows, int number, const void *value, size_t size,
               const char *who)
{
    for (; rows->size > 0; rows++) {
        if (rows->number != number)
            continue;
        if (rows->size != size || !value)
            return fake_misuse(LT_INVALID_VALUE, "%s: attribute %d of %zu bytes, %zu expected", who,
                               number, size, rows->size);
        memcpy((char *)object + rows->offset, value, size);
        return LT_OK;
    }
    return fake_misuse(LT_INVALID_VALUE, "%s: no attribute %d", who, number);
}

#define ATTRIBUTE(type, number, field)                                                             \
    {                                                                                              \
        number, offsetof(struct type, field), sizeof(((struct type *)0)->field)                    \
    }

int cublasLtMatmulDescSetAttribute(lt_desc desc, int attribute_number, const void *value,
                                   size_t size)
{
    static const attribute ROWS[] = {ATTRIBUTE(lt_desc_s, LT_DESC_TRANSA, transposed_a),
                                     ATTRIBUTE(lt_desc_s, LT_DESC_TRANSB, transposed_b),
                                     ATTRIBUTE(lt_desc_s, LT_DESC_FAST_ACCUM, fast),
                                     ATTRIBUTE(lt_desc_s, LT_DESC_A_SCALE_POINTER, scale_a),
                                     ATTRIBUTE(lt_desc_s, LT_DESC_B_SCALE_POINTER, scale_b),
                                     ATTRIBUTE(lt_desc_s, LT_DESC_A_SCALE_MODE, mode_a),
                                     ATTRIBUTE(lt_desc_s, LT_DESC_B_SCALE_MODE, mode_b),
                                     {0}};
    ENTER(cublasLtMatmulDescSetAttribute);
    return set(desc, ROWS, attribute_number, value, size, "cublasLtMatmulDescSetAttribute");
}

int cublasLtMatrixLayoutSetAttribute(lt_layout layout, int attribute_number, const void *value,
                                     size_t size)
{
    static const attribute ROWS[] = {ATTRIBUTE(lt_layout_s, LT_LAYOUT_BATCH_COUNT, batch),
                                     ATTRIBUTE(lt_layout_s, LT_LAYOUT_BATCH_STRIDE, batch_stride),
                                     {0}};
    ENTER(cublasLtMatrixLayoutSetAttribute);
    return set(layout, ROWS, attribute_number, value, size, "cublasLtMatrixLayoutSetAttribute");
}

int cublasLtMatmulPreferenceSetAttribute(lt_preference preference, int attribute_number,
                                         const void *value, size_t size)
{
    static const attribute ROWS[] = {
        ATTRIBUTE(lt_preference_s, LT_PREFERENCE_MAX_WORKSPACE, workspace), {0}};
    ENTER(cublasLtMatmulPreferenceSetAttribute);
    return set(preference, ROWS, attribute_number, value, size,
               "cublasLtMatmulPreferenceSetAttribute");
}

/* ---- which products there are ---------------------------------------------------------------------- */

static bool rate_of(const struct lt_desc_s *desc, int type, fake_rate *ret_rate)
{
    switch (type) {
    case LT_R_32F:
        *ret_rate = desc->compute == LT_COMPUTE_32F_FAST_TF32 ? FAKE_TF32 : FAKE_FP32;
        return true;
    case LT_R_16F:
        *ret_rate = FAKE_FP16;
        return true;
    case LT_R_16BF:
        *ret_rate = FAKE_BF16;
        return true;
    case LT_R_8F_E4M3:
        *ret_rate = FAKE_FP8;
        return true;
    case LT_R_8I:
        *ret_rate = FAKE_INT8;
        return true;
    case LT_R_4F_E2M1:
        *ret_rate = FAKE_FP4;
        return true;
    default:
        return false;
    }
}

/* Inner and outer sizes agree, after transposition. */
static bool shapes_fit(const struct lt_desc_s *desc, lt_layout a, lt_layout b, lt_layout d)
{
    uint64_t m = desc->transposed_a ? a->columns : a->rows;
    uint64_t k = desc->transposed_a ? a->rows : a->columns;
    uint64_t k_of_b = desc->transposed_b ? b->columns : b->rows;
    uint64_t n = desc->transposed_b ? b->rows : b->columns;
    return m == d->rows && n == d->columns && k == k_of_b && a->batch == b->batch &&
           b->batch == d->batch;
}

static bool strides_aligned(lt_layout layout, uint64_t bytes)
{
    return (uint64_t)layout->stride * fake_bits(layout->type) / 8 % bytes == 0;
}

/* Compute, scale and output types that go with an input type. */
static bool types_fit(const struct lt_desc_s *desc, int in, int out)
{
    bool single = desc->scale == LT_R_32F &&
                  (desc->compute == LT_COMPUTE_32F || desc->compute == LT_COMPUTE_32F_FAST_TF32);
    switch (in) {
    case LT_R_32F:
        return single && out == LT_R_32F;
    case LT_R_16F:
    case LT_R_16BF:
        return single && desc->compute == LT_COMPUTE_32F && (out == in || out == LT_R_32F);
    case LT_R_8F_E4M3:
    case LT_R_4F_E2M1:
        return single && desc->compute == LT_COMPUTE_32F &&
               (out == LT_R_16BF || out == LT_R_16F || out == LT_R_32F);
    case LT_R_8I:
        return desc->compute == LT_COMPUTE_32I && desc->scale == LT_R_32I && out == LT_R_32I;
    default:
        return false;
    }
}

/* Narrow formats: first operand transposed, sizes of 16 (int8: 4), block scales for fp4. */
static bool narrow_fits(const struct lt_desc_s *desc, lt_layout a, lt_layout d)
{
    uint64_t k = a->rows, m = d->rows;
    if (a->type == LT_R_32F || a->type == LT_R_16F || a->type == LT_R_16BF)
        return true;
    if (!desc->transposed_a || desc->transposed_b)
        return false;
    if (a->type == LT_R_8I)
        return k % 4 == 0 && m % 4 == 0 && strides_aligned(a, 4);
    if (a->type == LT_R_4F_E2M1 &&
        (desc->mode_a != LT_SCALE_VEC16_UE4M3 || desc->mode_b != LT_SCALE_VEC16_UE4M3 ||
         !desc->scale_a || !desc->scale_b || k % 32 != 0))
        return false;
    return k % 16 == 0 && m % 16 == 0 && strides_aligned(a, 16);
}

static double least_capability(int type)
{
    return type == LT_R_4F_E2M1 ? 10 : type == LT_R_8F_E4M3 ? 8.9 : 8;
}

static int check(const struct lt_desc_s *desc, lt_layout a, lt_layout b, lt_layout c, lt_layout d,
                 fake_rate *ret_rate)
{
    if (!desc || !a || !b || !c || !d || !shapes_fit(desc, a, b, d) || c->rows != d->rows ||
        c->columns != d->columns)
        return fake_misuse(LT_INVALID_VALUE, "a product whose shapes do not fit");
    if (!rate_of(desc, a->type, ret_rate) || a->type != b->type || c->type != d->type ||
        !types_fit(desc, a->type, d->type))
        return fake_misuse(LT_NOT_SUPPORTED,
                           "a product of types %d x %d -> %d, computed in %d, scaled in %d",
                           a->type, b->type, d->type, desc->compute, desc->scale);
    if (!(fake_get()->rate[*ret_rate] > 0) ||
        fake_get()->capability < least_capability(a->type) - 1e-6)
        return LT_NOT_SUPPORTED;
    return narrow_fits(desc, a, d) ? LT_OK : LT_NOT_SUPPORTED;
}

/* ---- algorithms ---------------------------------------------------------------------------------------- */

/* The second of the heuristics' order is the best; some want a workspace; one is refused. */
static const struct {
    double share; /* of the rate */
    size_t workspace;
} ALGORITHMS[ALGORITHMS_MAX] = {{0.94, 0},       {1, 8 << 20},    {0.97, 1 << 20}, {0.9, 0},
                                {0.85, 4 << 20}, {0.8, 64 << 20}, {0.7, 0},        {0.6, 0},
                                {0.5, 0},        {0.5, 0},        {0.5, 0},        {0.5, 0},
                                {0.5, 0},        {0.5, 0},        {0.5, 0},        {0.5, 0}};

static uint64_t fingerprint(const struct lt_desc_s *desc, lt_layout a, lt_layout b, lt_layout d)
{
    const uint64_t parts[] = {(uint64_t)desc->compute,
                              (uint64_t)(desc->transposed_a * 2 + desc->transposed_b),
                              (uint64_t)a->type,
                              a->rows,
                              a->columns,
                              (uint64_t)a->stride,
                              (uint64_t)a->batch,
                              b->columns,
                              (uint64_t)b->stride,
                              (uint64_t)d->type,
                              (uint64_t)d->stride};
    uint64_t hash = 1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        hash = kernel_mix(hash ^ parts[i]);
    return hash | 1;
}

int cublasLtMatmulAlgoGetHeuristic(lt_handle handle, lt_desc desc, lt_layout a, lt_layout b,
                                   lt_layout c, lt_layout d, lt_preference preference, int wanted,
                                   lt_heuristic *results, int *found)
{
    ENTER(cublasLtMatmulAlgoGetHeuristic);
    fake_rate rate = FAKE_FP32;
    if (!handle || !preference || wanted < 1)
        return fake_misuse(LT_INVALID_VALUE, "cublasLtMatmulAlgoGetHeuristic: %d wanted", wanted);
    *found = 0;
    int code = check(desc, a, b, c, d, &rate);
    if (code)
        return code;
    int most = (int)fmin(fake_get()->algorithms, ALGORITHMS_MAX);
    for (int i = 0; i < most && *found < wanted; i++) {
        if (ALGORITHMS[i].workspace > preference->workspace)
            continue;
        lt_heuristic *r = &results[(*found)++];
        memset(r, 0, sizeof *r);
        r->algo.data[0] = fingerprint(desc, a, b, d);
        r->algo.data[1] = (uint64_t)i;
        r->workspace_bytes = ALGORITHMS[i].workspace;
        r->state = i == 3 ? LT_NOT_SUPPORTED : LT_OK;
        r->waves = 1;
    }
    fake_spend(30e-6);
    return *found > 0 ? LT_OK : LT_NOT_SUPPORTED;
}

/* ---- products -------------------------------------------------------------------------------------------- */

/* A product as it waits in a stream. */
typedef struct waiting {
    fake_product product;
    double compute_s;
} waiting;

_Static_assert(sizeof(waiting) <= sizeof((fake_work *)0)->payload.bytes,
               "a product fits into a stream's entry");

/* fp4: block scales, a byte for 16 values, come along. */
static fake_range range_of(const fake_matrix *m, bool written)
{
    uint64_t bytes = (fake_matrix_span(m) * fake_bits(m->type) + 7) / 8;
    return (fake_range){.address = m->address,
                        .bytes = bytes,
                        .written = written,
                        .traffic = m->type == LT_R_4F_E2M1 ? bytes + bytes / 8 : 0};
}

static double run(const fake_work *work)
{
    waiting w;
    memcpy(&w, work->payload.bytes, sizeof w);
    const fake_range ranges[] = {range_of(&w.product.a, false), range_of(&w.product.b, false),
                                 range_of(&w.product.d, true)};
    fake_memory_product(&w.product);
    fake_count(FAKE_products, 1);
    return fmax(w.compute_s, fake_traffic(work->device, ranges, 3)) + fake_get()->t0;
}

static fake_matrix matrix(const void *address, lt_layout layout, bool transposed)
{
    return (fake_matrix){.address = (uint64_t)address,
                         .type = layout->type,
                         .transposed = transposed,
                         .rows = layout->rows,
                         .columns = layout->columns,
                         .batch = (uint64_t)layout->batch,
                         .stride = layout->stride,
                         .batch_stride = layout->batch_stride};
}

/* alpha and the scales of the operands. fp4: one scale for 16 values, all alike here. */
static int product_scale(const struct lt_desc_s *desc, int type, const void *alpha,
                         double *ret_scale)
{
    float single = 1;
    int32_t whole = 1;
    memcpy(&single, alpha, sizeof single);
    memcpy(&whole, alpha, sizeof whole);
    *ret_scale = desc->scale == LT_R_32I ? (double)whole : (double)single;
    const uint64_t scales[] = {desc->scale_a, desc->scale_b};
    for (int i = 0; i < 2; i++) {
        int format = type == LT_R_4F_E2M1 ? LT_R_8F_E4M3 : LT_R_32F;
        if (!scales[i])
            continue;
        if (!fake_memory_holds(scales[i], fake_bits(format) / 8))
            return fake_misuse(LT_INVALID_VALUE, "a scale at %#llx is not allocated",
                               (unsigned long long)scales[i]);
        fake_memory_touch(scales[i], fake_bits(format) / 8);
        *ret_scale *= fake_load(format, scales[i], 0);
    }
    return LT_OK;
}

static int check_algorithm(const lt_algo *algo, uint64_t hash, const void *workspace,
                           size_t workspace_bytes)
{
    if (!algo)
        return LT_OK;
    uint64_t index = algo->data[1];
    if (algo->data[0] != hash || index >= ALGORITHMS_MAX)
        return fake_misuse(LT_INVALID_VALUE, "an algorithm of another product");
    if (ALGORITHMS[index].workspace == 0)
        return LT_OK;
    if (workspace_bytes < ALGORITHMS[index].workspace || (uint64_t)workspace % 16 != 0 ||
        !fake_memory_holds((uint64_t)workspace, workspace_bytes))
        return fake_misuse(LT_INVALID_VALUE, "a workspace of %zu bytes where %zu are needed",
                           workspace_bytes, ALGORITHMS[index].workspace);
    return index == 3 ? LT_NOT_SUPPORTED : LT_OK;
}

static int check_operands(const fake_product *p)
{
    const fake_range ranges[] = {range_of(&p->a, false), range_of(&p->b, false),
                                 range_of(&p->d, true)};
    for (int i = 0; i < 3; i++)
        if (ranges[i].address % 16 != 0)
            return fake_misuse(LT_INVALID_VALUE, "operand %d is not aligned to 16 bytes", i);
    return fake_check_ranges("cublasLtMatmul", ranges, 3) ? LT_INVALID_VALUE : LT_OK;
}

static double zero_of(const struct lt_desc_s *desc, const void *beta)
{
    float single;
    int32_t whole;
    memcpy(&single, beta, sizeof single);
    memcpy(&whole, beta, sizeof whole);
    return desc->scale == LT_R_32I ? (double)whole : (double)single;
}

int cublasLtMatmul(lt_handle handle, lt_desc desc, const void *alpha, const void *a,
                   lt_layout a_layout, const void *b, lt_layout b_layout, const void *beta,
                   const void *c, lt_layout c_layout, void *d, lt_layout d_layout,
                   const lt_algo *algo, void *workspace, size_t workspace_bytes, cu_stream stream)
{
    ENTER(cublasLtMatmul);
    fake_rate rate = FAKE_FP32;
    waiting w = {0};
    int code = check(desc, a_layout, b_layout, c_layout, d_layout, &rate);
    if (code)
        return code;
    if (!handle || !stream || !alpha || !beta || c != d || zero_of(desc, beta) != 0)
        return fake_misuse(LT_INVALID_VALUE, "cublasLtMatmul: only D = alpha A B on a stream");
    code = check_algorithm(algo, fingerprint(desc, a_layout, b_layout, d_layout), workspace,
                           workspace_bytes);
    if (code)
        return code;
    uint64_t index = algo ? algo->data[1] : 0;
    w.product = (fake_product){.a = matrix(a, a_layout, desc->transposed_a),
                               .b = matrix(b, b_layout, desc->transposed_b),
                               .d = matrix(d, d_layout, false)};
    w.product.k = desc->transposed_a ? a_layout->rows : a_layout->columns;
    w.product.wrong =
        (double)index == fake_get()->wrong_algorithm || (double)rate == fake_get()->wrong_type;
    code = check_operands(&w.product);
    code = code ? code : product_scale(desc, a_layout->type, alpha, &w.product.alpha);
    if (code)
        return code;
    double flop = 2.0 * (double)w.product.k * (double)d_layout->rows * (double)d_layout->columns *
                  d_layout->batch;
    double share = w.product.wrong ? 3 : ALGORITHMS[index].share;
    w.compute_s = flop / (fake_get()->rate[rate] * share);
    fake_work work = {.run = run, .cost = FAKE_COST_KERNEL};
    memcpy(work.payload.bytes, &w, sizeof w);
    fake_spend(fake_get()->launch_host);
    return fake_submit(stream, &work) ? LT_ALLOC_FAILED : LT_OK;
}
