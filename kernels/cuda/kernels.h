/* SPDX-License-Identifier: MIT */
/*
 * The device kernels and what each takes: one struct by value, the same for nvcc, for the host
 * that launches and for the CPU shim of the tests. Pointers are device addresses.
 */
#ifndef LLMPERF_CUDA_KERNELS_H
#define LLMPERF_CUDA_KERNELS_H

#include <stdint.h>

#ifdef __CUDACC__
#define KERNEL_SHARED_FUNCTION static inline __device__ __host__
#else
#define KERNEL_SHARED_FUNCTION static inline
#endif

/* Element formats as the kernels number them. */
enum {
    KERNEL_FP32 = 0,
    KERNEL_FP16 = 1,
    KERNEL_BF16 = 2,
    KERNEL_FP8 = 3,  /* e4m3 */
    KERNEL_INT8 = 4, /* -127..127 */
    KERNEL_FP4 = 5,  /* e2m1, two a byte */
};

/* Threads of a block, unless a kernel's comment says otherwise. */
#define KERNEL_THREADS 256

/*
 * kernel_fill: uniform values in [-1, 1] (int8: -127..127; fp4: of -1, -0.5, 0, 0.5, 1), a pure
 * function of seed and index: signed integers of the format's width, cut from kernel_random of the
 * 8-byte word they lie in, lowest first, over 2^31, 2^15 (fp16, bf16), 2^7 (fp8) or 2^3 (fp4), to
 * nearest even. Data aligned to 16 bytes. Grid-stride; any grid.
 */
typedef struct kernel_fill_args {
    void *data;
    uint64_t count; /* elements */
    uint32_t format, seed;
} kernel_fill_args;

/*
 * kernel_read, kernel_write, kernel_copy, kernel_triad: streams of 16-byte words, several
 * independent loads in flight for each thread. Grid-stride; any grid.
 *   read:  *sink += sum of a's 32-bit words, modulo 2^32; one atomic addition a block
 *   write: c = scale, as fp32;  copy: c = a;  triad: c = a + scale * b, as fp32
 */
typedef struct kernel_stream_args {
    const void *a, *b;
    void *c;
    uint64_t words; /* of 16 bytes */
    float scale;
    uint32_t *sink;
} kernel_stream_args;

/* kernel_empty: does nothing. */
typedef struct kernel_empty_args {
    uint32_t unused;
} kernel_empty_args;

/*
 * kernel_block: one thread that waits until *flag (host memory, mapped) is not 0 or limit_ns have
 * passed on the device's clock; then *late = 1 if it was the limit.
 */
typedef struct kernel_block_args {
    const volatile uint32_t *flag;
    uint32_t *late; /* may be NULL */
    uint64_t limit_ns;
} kernel_block_args;

/*
 * kernel_decode_{64,128,256}: attention of one query per sequence over `tokens` cached keys, split
 * over `splits` parts; partial results by part, then kernel_decode_merge.
 *   q       (batch, heads, d)           o (batch, heads, d): same format as q
 *   k, v    (batch, kv_heads, tokens, d)  fp16, bf16 or fp32
 *   partial (batch, heads, splits, d) fp32; max_sum (batch, heads, splits, 2) fp32: the largest
 *           score times log2(e), and the sum of the weights 2^(score - largest)
 *   grid    (splits, kv_heads, batch), KERNEL_DECODE_THREADS threads, of which three blocks (d = 256:
 *           two) fit on a multiprocessor, so that one streams while another ends; all heads of a KV head share its
 *           loads, heads / kv_heads at most KERNEL_DECODE_GROUP of them at a time
 *   splits  1: o is written directly; every split but the last has the same whole number of tiles,
 *           and splits beyond the tokens are empty, which is right but idle
 */
#define KERNEL_DECODE_THREADS 128
#define KERNEL_DECODE_GROUP 16
#define KERNEL_DECODE_SPLIT_MIN 256 /* tokens of a part below which splitting further costs time */
typedef struct kernel_decode_args {
    const void *q, *k, *v;
    void *o;
    float *partial, *max_sum;
    uint32_t batch, heads, kv_heads, tokens, splits, format;
    float scale; /* 1 / sqrt(d) */
} kernel_decode_args;

/* kernel_decode_merge_{64,128,256}: grid (heads, batch), d threads. Same arguments. */

/*
 * kernel_prefill_{64,128,256}: causal self-attention of `queries` new tokens after `past` cached
 * ones. Tensor cores (mma.sync m16n8k16) for fp16 and bf16.
 *   q, o (batch, queries, heads, d); k, v (batch, kv_heads, past + queries, d)
 *   grid (ceil(queries / KERNEL_PREFILL_ROWS), heads, batch), KERNEL_PREFILL_THREADS threads;
 *   dynamic shared memory: kernel_prefill_shared_bytes(d)
 */
#define KERNEL_PREFILL_ROWS 128
#define KERNEL_PREFILL_COLUMNS 64
#define KERNEL_PREFILL_THREADS 128
typedef struct kernel_prefill_args {
    const void *q, *k, *v;
    void *o;
    uint32_t batch, heads, kv_heads, queries, past, format;
    float scale;
} kernel_prefill_args;
/* One tile of Q, K and V, rows padded by 16 bytes; for d = 256 half the queries at a time: 101376
 * bytes, what a block of any device from sm_80 on may ask for. */
KERNEL_SHARED_FUNCTION uint32_t kernel_prefill_shared_bytes(uint32_t head_dim)
{
    const uint32_t rows = head_dim <= 128 ? KERNEL_PREFILL_ROWS : KERNEL_PREFILL_ROWS / 2;
    return (rows + 2 * KERNEL_PREFILL_COLUMNS) * (head_dim + 8) * 2;
}

/* kernel_softmax: rows of `columns` values in place, fp32 arithmetic; fp32, fp16 or bf16. One block a
 * row, grid-stride over rows. Fast where a row is a multiple of 16 bytes. */
typedef struct kernel_softmax_args {
    void *data;
    uint64_t rows;
    uint32_t columns, format;
} kernel_softmax_args;

/*
 * kernel_elementwise: out[i] from `inputs` (1 to 4) arrays a, b, c, d of `count` values each: 16-byte
 * loads, fp32 arithmetic, result in `format` (fp32, fp16 or bf16). Grid-stride; any grid.
 *   1: max(a, 0)^2   2: a / (1 + e^-a) * b   3: the same + c   4: the same + c + d
 * kernel_norm: out = in / sqrt(mean(in^2) + KERNEL_NORM_EPSILON) * weight over rows of `columns`
 * values; one block a row, grid-stride over rows. Same formats.
 */
#define KERNEL_NORM_EPSILON 1e-6f
typedef struct kernel_elementwise_args {
    const void *in[4];
    void *out;
    uint64_t count;
    uint32_t inputs, format;
} kernel_elementwise_args;
typedef struct kernel_norm_args {
    const void *in, *weight;
    void *out;
    uint64_t rows;
    uint32_t columns, format;
} kernel_norm_args;

/* kernel_gather: out[i] = table[index(i)], rows of `row_bytes` (a multiple of 16); index(i) =
 * kernel_random(seed, i) % table_rows. One block a row, grid-stride over rows. */
typedef struct kernel_gather_args {
    const void *table;
    void *out;
    uint64_t rows, table_rows;
    uint32_t row_bytes, seed;
} kernel_gather_args;

/*
 * kernel_gemm_check: the right value, in double, of `count` elements of D (m x n) = A B, at row
 * kernel_random(seed, 2 i) % m and column kernel_random(seed, 2 i + 1) % n, for the host to compare
 * with what a library wrote. One block an element, grid-stride over elements.
 *   a (m, k) row major; b (n, k) row major: weights as they lie; d (m, n) row major
 *   expected[i], found[i]: doubles; magnitude[i] = sum of |a b|, the scale of the rounding error
 *   formats of a and b alike; of d apart (int8 products: KERNEL_INT32 = 6)
 */
#define KERNEL_INT32 6
typedef struct kernel_check_args {
    const void *a, *b, *d;
    double *expected, *found, *magnitude;
    uint64_t m, n, k;
    uint32_t count, seed, format, out_format;
    double scale; /* of the product: scale_a * scale_b */
} kernel_check_args;

/* splitmix64: Steele, Lea and Flood 2014; constants in the public domain. */
KERNEL_SHARED_FUNCTION uint64_t kernel_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

KERNEL_SHARED_FUNCTION uint64_t kernel_random(uint32_t seed, uint64_t i)
{
    return kernel_mix(kernel_mix(seed) ^ i);
}

/* Every kernel, for tables: X(symbol, arguments struct). */
#define CUDA_KERNELS(X)                                                                            \
    X(kernel_fill, kernel_fill_args)                                                               \
    X(kernel_read, kernel_stream_args)                                                             \
    X(kernel_write, kernel_stream_args)                                                            \
    X(kernel_copy, kernel_stream_args)                                                             \
    X(kernel_triad, kernel_stream_args)                                                            \
    X(kernel_empty, kernel_empty_args)                                                             \
    X(kernel_block, kernel_block_args)                                                             \
    X(kernel_decode_64, kernel_decode_args)                                                        \
    X(kernel_decode_128, kernel_decode_args)                                                       \
    X(kernel_decode_256, kernel_decode_args)                                                       \
    X(kernel_decode_merge_64, kernel_decode_args)                                                  \
    X(kernel_decode_merge_128, kernel_decode_args)                                                 \
    X(kernel_decode_merge_256, kernel_decode_args)                                                 \
    X(kernel_prefill_64, kernel_prefill_args)                                                      \
    X(kernel_prefill_128, kernel_prefill_args)                                                     \
    X(kernel_prefill_256, kernel_prefill_args)                                                     \
    X(kernel_softmax, kernel_softmax_args)                                                         \
    X(kernel_elementwise, kernel_elementwise_args)                                                 \
    X(kernel_norm, kernel_norm_args)                                                               \
    X(kernel_gather, kernel_gather_args)                                                           \
    X(kernel_gemm_check, kernel_check_args)

#endif
