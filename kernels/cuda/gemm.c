/* SPDX-License-Identifier: MIT */
/*
 * Products by cuBLASLt. Weights lie as engines hold them, (n, k) row major, so that in the library's
 * column-major words the product is D (n x m) = W^T (n x k) A (k x m): transposed, not transposed.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cuda.h"

enum {
    CHECKED = 128,         /* values of a product that are computed again in double */
    NARROW_MULTIPLE = 16,  /* n and k of 8- and 4-bit products */
    SCALE_ONE_BYTES = 256, /* in the small arena: a float 1, alone on its line */
    SMALL_CHECK = 65536,   /* in the small arena: checked values from here on */
};

/* ---- formats --------------------------------------------------------------------------------- */

static const struct {
    uint32_t in, out;   /* as the kernels number them */
    int type, out_type; /* as the library does */
    int compute, scale_type;
    int major, minor; /* least compute capability */
} FORMATS[LLMPERF_DTYPE_COUNT] = {
    [LLMPERF_DTYPE_FP32] = {KERNEL_FP32, KERNEL_FP32, LT_R_32F, LT_R_32F, LT_COMPUTE_32F, LT_R_32F,
                            5, 0},
    [LLMPERF_DTYPE_TF32] = {KERNEL_FP32, KERNEL_FP32, LT_R_32F, LT_R_32F, LT_COMPUTE_32F_FAST_TF32,
                            LT_R_32F, 8, 0},
    [LLMPERF_DTYPE_FP16] = {KERNEL_FP16, KERNEL_FP16, LT_R_16F, LT_R_16F, LT_COMPUTE_32F, LT_R_32F,
                            7, 0},
    [LLMPERF_DTYPE_BF16] = {KERNEL_BF16, KERNEL_BF16, LT_R_16BF, LT_R_16BF, LT_COMPUTE_32F,
                            LT_R_32F, 8, 0},
    [LLMPERF_DTYPE_FP8] = {KERNEL_FP8, KERNEL_BF16, LT_R_8F_E4M3, LT_R_16BF, LT_COMPUTE_32F,
                           LT_R_32F, 8, 9},
    [LLMPERF_DTYPE_INT8] = {KERNEL_INT8, KERNEL_INT32, LT_R_8I, LT_R_32I, LT_COMPUTE_32I, LT_R_32I,
                            7, 5},
    [LLMPERF_DTYPE_NVFP4] = {KERNEL_FP4, KERNEL_BF16, LT_R_4F_E2M1, LT_R_16BF, LT_COMPUTE_32F,
                             LT_R_32F, 10, 0},
};

static bool is_known(llmperf_dtype dtype)
{
    return (unsigned)dtype < LLMPERF_DTYPE_COUNT && FORMATS[dtype].compute != 0;
}

bool cuda_gemm_formats(llmperf_dtype dtype, uint32_t *ret_in, uint32_t *ret_out)
{
    if (!is_known(dtype))
        return false;
    *ret_in = FORMATS[dtype].in;
    *ret_out = FORMATS[dtype].out;
    return true;
}

static bool is_narrow(llmperf_dtype dtype)
{
    return cuda_format_bytes(FORMATS[dtype].in) <= 1;
}

static bool refuse(llmperf_error *error, const char *format, ...)
{
    char text[LLMPERF_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "%s", text);
    return false;
}

bool cuda_gemm_supports(cuda_device *d, const llmperf_op *op, llmperf_error *error)
{
    llmperf_dtype dtype = (llmperf_dtype)op->dtype;
    const char *name = llmperf_dtype_name(dtype);
    int capability = 10 * d->facts.major + d->facts.minor;
    if (!d->has_lt)
        return refuse(error, "%s", d->no_lt);
    if (!is_known(dtype))
        return refuse(error, "backend cuda: cuBLASLt has no %s product", name);
    if (capability < 10 * FORMATS[dtype].major + FORMATS[dtype].minor)
        return refuse(
            error, "backend cuda: no %s products on compute capability %d.%d; %d.%d is needed",
            name, d->facts.major, d->facts.minor, FORMATS[dtype].major, FORMATS[dtype].minor);
    if (!(op->m > 0 && op->n >= 1 && op->k >= 1 && op->m < 1e9 && op->n < 1e9 && op->k < 1e9))
        return refuse(error, "backend cuda: no product of this shape");
    if (op->flop > 2.02 * op->m * op->n * op->k)
        return refuse(error, "backend cuda runs one product at a time, not a batch of several "
                             "(experts, absorbed heads)");
    if (op->weight_bytes > 0 &&
        op->weight_bytes < 0.9 * op->n * op->k * cuda_format_bytes(FORMATS[dtype].in))
        return refuse(error,
                      "backend cuda: weights narrower than %s arithmetic have no product in "
                      "cuBLASLt",
                      name);
    if (is_narrow(dtype) &&
        (fmod(op->n, NARROW_MULTIPLE) != 0 || fmod(op->k, NARROW_MULTIPLE) != 0))
        return refuse(error, "backend cuda: %s products need n and k in multiples of %d", name,
                      NARROW_MULTIPLE);
    return true;
}

/* ---- making ------------------------------------------------------------------------------------ */

/* A status of the library that is no fault of the device: the product is not to be had. */
static llmperf_status lt_check(lt_status status, const char *call, llmperf_error *error)
{
    if (status == LT_OK)
        return LLMPERF_OK;
    if (status == LT_ALLOC_FAILED)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "cuda: %s is out of memory", call);
    return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "cuda: %s says %s (status %d)", call,
                        status == LT_NOT_SUPPORTED   ? "not supported"
                        : status == LT_INVALID_VALUE ? "invalid value"
                        : status == LT_ARCH_MISMATCH ? "not on this architecture"
                                                     : "failure",
                        status);
}

#define LT_CALL(d, error, name, ...) lt_check((d)->lt.name(__VA_ARGS__), #name, (error))

static llmperf_status set_desc(cuda_device *d, lt_desc desc, int attribute, const void *value,
                               size_t size, llmperf_error *error)
{
    return LT_CALL(d, error, cublasLtMatmulDescSetAttribute, desc, attribute, value, size);
}

/* Scale factors of 1 in device memory: one float for fp8, a byte for 16 values of fp4. */
static llmperf_status set_scales(cuda_device *d, llmperf_dtype dtype, lt_desc desc,
                                 llmperf_error *error)
{
    static const int MODE = LT_SCALE_VEC16_UE4M3;
    static const int8_t FAST = 1; /* as engines run it */
    cu_address one = d->arena[CUDA_ARENA_SMALL].address;
    llmperf_status status = LLMPERF_OK;
    if (dtype == LLMPERF_DTYPE_NVFP4) {
        one = d->arena[CUDA_ARENA_SCALES].address;
        status = set_desc(d, desc, LT_DESC_A_SCALE_MODE, &MODE, sizeof MODE, error);
        if (status == LLMPERF_OK)
            status = set_desc(d, desc, LT_DESC_B_SCALE_MODE, &MODE, sizeof MODE, error);
    } else {
        status = set_desc(d, desc, LT_DESC_FAST_ACCUM, &FAST, sizeof FAST, error);
    }
    void *address = (void *)(uintptr_t)one;
    if (status == LLMPERF_OK)
        status = set_desc(d, desc, LT_DESC_A_SCALE_POINTER, &address, sizeof address, error);
    if (status == LLMPERF_OK)
        status = set_desc(d, desc, LT_DESC_B_SCALE_POINTER, &address, sizeof address, error);
    return status;
}

/* fp4: tiles of 128 rows and 4 scales; all alike, so that their order does not matter. */
double cuda_gemm_scales(llmperf_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    if (dtype != LLMPERF_DTYPE_NVFP4)
        return 0;
    return 128 * ceil((double)(m > n ? m : n) / 128) * 4 * ceil((double)k / 64);
}

static llmperf_status write_scales(cuda_device *d, llmperf_dtype dtype, llmperf_error *error)
{
    static const float ONE = 1;
    static const unsigned char E4M3_ONE = 0x38;
    const cuda_arena *scales = &d->arena[CUDA_ARENA_SCALES];
    if (dtype == LLMPERF_DTYPE_FP8)
        /* in our stream: it does not wait for the default one */
        return CUDA_CALL(d, error, cuMemcpyHtoDAsync_v2, d->arena[CUDA_ARENA_SMALL].address, &ONE,
                         sizeof ONE, d->stream);
    if (dtype != LLMPERF_DTYPE_NVFP4)
        return LLMPERF_OK;
    return CUDA_CALL(d, error, cuMemsetD8Async, scales->address, E4M3_ONE, scales->bytes,
                     d->stream);
}

static llmperf_status make_layout(cuda_device *d, lt_layout *ret_layout, int type, int64_t rows,
                                  int64_t columns, int64_t batch, llmperf_error *error)
{
    int32_t count = (int32_t)batch;
    int64_t stride = rows * columns;
    llmperf_status status = LT_CALL(d, error, cublasLtMatrixLayoutCreate, ret_layout, type,
                                    (uint64_t)rows, (uint64_t)columns, rows);
    if (status == LLMPERF_OK && batch > 1)
        status = LT_CALL(d, error, cublasLtMatrixLayoutSetAttribute, *ret_layout,
                         LT_LAYOUT_BATCH_COUNT, &count, sizeof count);
    if (status == LLMPERF_OK && batch > 1)
        status = LT_CALL(d, error, cublasLtMatrixLayoutSetAttribute, *ret_layout,
                         LT_LAYOUT_BATCH_STRIDE, &stride, sizeof stride);
    return status;
}

static llmperf_status ask_heuristic(cuda_device *d, cuda_gemm *g, llmperf_error *error)
{
    lt_preference preference = NULL;
    lt_heuristic found[CUDA_GEMM_CHOICES];
    size_t most = d->arena[CUDA_ARENA_WORKSPACE].bytes;
    int count = 0;
    memset(found, 0, sizeof found);
    llmperf_status status = LT_CALL(d, error, cublasLtMatmulPreferenceCreate, &preference);
    if (status != LLMPERF_OK)
        return status;
    status = LT_CALL(d, error, cublasLtMatmulPreferenceSetAttribute, preference,
                     LT_PREFERENCE_MAX_WORKSPACE, &most, sizeof most);
    if (status == LLMPERF_OK)
        status = LT_CALL(d, error, cublasLtMatmulAlgoGetHeuristic, d->lt_handle, g->desc, g->w,
                         g->a, g->d, g->d, preference, CUDA_GEMM_CHOICES, found, &count);
    d->lt.cublasLtMatmulPreferenceDestroy(preference);
    if (status != LLMPERF_OK)
        return status;
    for (int i = 0; i < count && i < CUDA_GEMM_CHOICES; i++) {
        if (found[i].state != LT_OK || found[i].workspace_bytes > most)
            continue;
        g->algo[g->count] = found[i].algo;
        g->workspace[g->count++] = found[i].workspace_bytes;
    }
    if (g->count == 0)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "cuda: cuBLASLt has no algorithm for this product");
    return LLMPERF_OK;
}

llmperf_status cuda_gemm_make(cuda_device *d, llmperf_dtype dtype, int64_t m, int64_t n, int64_t k,
                              int64_t batch, cuda_gemm *ret_gemm, llmperf_error *error)
{
    static const int32_t TRANSPOSED = LT_OP_T, PLAIN = LT_OP_N;
    cuda_gemm g = {.is_integer = FORMATS[dtype].scale_type == LT_R_32I};
    llmperf_status status = write_scales(d, dtype, error);
    if (status == LLMPERF_OK)
        status = LT_CALL(d, error, cublasLtMatmulDescCreate, &g.desc, FORMATS[dtype].compute,
                         FORMATS[dtype].scale_type);
    if (status == LLMPERF_OK)
        status = set_desc(d, g.desc, LT_DESC_TRANSA, &TRANSPOSED, sizeof TRANSPOSED, error);
    if (status == LLMPERF_OK)
        status = set_desc(d, g.desc, LT_DESC_TRANSB, &PLAIN, sizeof PLAIN, error);
    if (status == LLMPERF_OK && (dtype == LLMPERF_DTYPE_FP8 || dtype == LLMPERF_DTYPE_NVFP4))
        status = set_scales(d, dtype, g.desc, error);
    if (status == LLMPERF_OK)
        status = make_layout(d, &g.w, FORMATS[dtype].type, k, n, batch, error);
    if (status == LLMPERF_OK)
        status = make_layout(d, &g.a, FORMATS[dtype].type, k, m, batch, error);
    if (status == LLMPERF_OK)
        status = make_layout(d, &g.d, FORMATS[dtype].out_type, n, m, batch, error);
    if (status == LLMPERF_OK)
        status = ask_heuristic(d, &g, error);
    if (status != LLMPERF_OK) {
        cuda_gemm_free(d, &g);
        return status;
    }
    *ret_gemm = g;
    return LLMPERF_OK;
}

void cuda_gemm_free(cuda_device *d, cuda_gemm *gemm)
{
    const lt_layout layouts[] = {gemm->w, gemm->a, gemm->d};
    for (int i = 0; i < 3; i++)
        if (layouts[i])
            d->lt.cublasLtMatrixLayoutDestroy(layouts[i]);
    if (gemm->desc)
        d->lt.cublasLtMatmulDescDestroy(gemm->desc);
    memset(gemm, 0, sizeof *gemm);
}

/* ---- running ----------------------------------------------------------------------------------- */

llmperf_status cuda_gemm_run(cuda_device *d, const cuda_gemm *gemm, cu_address w, cu_address a,
                             cu_address out, llmperf_error *error)
{
    static const float FLOAT_ONE = 1, FLOAT_ZERO = 0;
    static const int32_t INT_ONE = 1, INT_ZERO = 0;
    const void *one = gemm->is_integer ? (const void *)&INT_ONE : &FLOAT_ONE;
    const void *zero = gemm->is_integer ? (const void *)&INT_ZERO : &FLOAT_ZERO;
    void *result = (void *)(uintptr_t)out;
    return LT_CALL(d, error, cublasLtMatmul, d->lt_handle, gemm->desc, one,
                   (const void *)(uintptr_t)w, gemm->w, (const void *)(uintptr_t)a, gemm->a, zero,
                   result, gemm->d, result, gemm->d, &gemm->algo[gemm->use],
                   (void *)(uintptr_t)d->arena[CUDA_ARENA_WORKSPACE].address,
                   gemm->workspace[gemm->use], d->stream);
}

/* ---- checking ---------------------------------------------------------------------------------- */

/*
 * What rounding may do to one value: of the result (eps_out; also of partial sums that are added in
 * that format, whose size is about sqrt(k) of the mean product = 4 magnitude / sqrt(k)), and of
 * inputs and sums (eps_sum of the magnitude).
 */
static double tolerance(llmperf_dtype dtype, double expected, double magnitude, double k)
{
    double out = 0, sum = 1e-6;
    switch (dtype) {
    case LLMPERF_DTYPE_INT8:
        return 0.25;
    case LLMPERF_DTYPE_FP32:
        sum = 1e-5;
        break;
    case LLMPERF_DTYPE_TF32:
        sum = 1e-3; /* 10 bits of the inputs */
        break;
    case LLMPERF_DTYPE_FP16:
        out = 0x1p-9;
        break;
    case LLMPERF_DTYPE_BF16:
        out = 0x1p-6;
        break;
    default:
        out = 0x1p-6;
        sum = 2e-3; /* Hopper adds fp8 products in about 14 bits */
        break;
    }
    return out * (fabs(expected) + 4 * magnitude / sqrt(k)) + sum * magnitude;
}

/* One product of a batch: `at` values computed again and compared. */
static llmperf_status verify_one(cuda_device *d, const cuda_gemm *gemm, const cuda_gemm_case *c,
                                 int64_t which, bool *ret_right, char why[LLMPERF_TEXT_MAX],
                                 llmperf_error *error)
{
    double values[3][CHECKED];
    cu_address room = d->arena[CUDA_ARENA_SMALL].address + SMALL_CHECK;
    double *device = (double *)(uintptr_t)room; /* not ours to read */
    double in = cuda_format_bytes(FORMATS[c->dtype].in) * (double)(which * c->k);
    double out = cuda_format_bytes(FORMATS[c->dtype].out) * (double)(which * c->n);
    kernel_check_args a = {
        .a = (const void *)(uintptr_t)(c->a + (cu_address)(in * (double)c->m)),
        .b = (const void *)(uintptr_t)(c->w + (cu_address)(in * (double)c->n)),
        .d = (const void *)(uintptr_t)(c->out + (cu_address)(out * (double)c->m)),
        .expected = device,
        .found = device + CHECKED,
        .magnitude = device + 2 * CHECKED,
        .m = (uint64_t)c->m,
        .n = (uint64_t)c->n,
        .k = (uint64_t)c->k,
        .count = CHECKED,
        .seed = 7,
        .format = FORMATS[c->dtype].in,
        .out_format = FORMATS[c->dtype].out,
        .scale = 1,
    };
    llmperf_status status =
        cuda_launch(d, CUDA_FN_kernel_gemm_check, CHECKED, 1, 1, KERNEL_THREADS, 0, &a, error);
    if (status == LLMPERF_OK)
        status = cuda_wait(d, error);
    if (status == LLMPERF_OK)
        status = CUDA_CALL(d, error, cuMemcpyDtoH_v2, values, room, sizeof values);
    for (int i = 0; status == LLMPERF_OK && i < CHECKED && *ret_right; i++) {
        double wrong = fabs(values[0][i] - values[1][i]);
        double allowed = tolerance(c->dtype, values[0][i], values[2][i], (double)c->k);
        if (wrong <= allowed) /* NaN is not */
            continue;
        *ret_right = false;
        snprintf(why, LLMPERF_TEXT_MAX,
                 "algorithm %d of %s m=%lld n=%lld k=%lld computes %.6g where %.6g is right",
                 gemm->use, llmperf_dtype_name(c->dtype), (long long)c->m, (long long)c->n,
                 (long long)c->k, values[1][i], values[0][i]);
    }
    return status;
}

llmperf_status cuda_gemm_verify(cuda_device *d, const cuda_gemm *gemm, const cuda_gemm_case *c,
                                bool *ret_right, char why[LLMPERF_TEXT_MAX], llmperf_error *error)
{
    double out_bytes =
        (double)c->m * (double)c->n * (double)c->batch * cuda_format_bytes(FORMATS[c->dtype].out);
    *ret_right = true;
    /* every bit set: NaN, or -1 where integers are written: an unwritten value is seen */
    llmperf_status status =
        CUDA_CALL(d, error, cuMemsetD8Async, c->out, 0xff, (size_t)out_bytes, d->stream);
    if (status == LLMPERF_OK)
        status = cuda_gemm_run(d, gemm, c->w, c->a, c->out, error);
    if (status == LLMPERF_OK)
        status = verify_one(d, gemm, c, 0, ret_right, why, error);
    int64_t last = (c->batch - 1) / 8 * 8; /* starts on 16 bytes whatever the shape */
    if (status == LLMPERF_OK && last > 0)
        status = verify_one(d, gemm, c, last, ret_right, why, error);
    return status;
}
