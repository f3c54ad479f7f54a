/* SPDX-License-Identifier: MIT */
/*
 * OpenMP kernels. Inner loops are plain C on vectors of 64 bytes (GCC and clang lower them to what
 * the target has), compiled several times and chosen at run time where the compiler can.
 */
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

#ifdef LLMPERF_TARGET_CLONES
#define PER_PROCESSOR __attribute__((target_clones("default", "fma", "avx512f")))
#define VECTOR "per processor (SSE2, FMA, AVX-512)"
#else
#define PER_PROCESSOR
#define VECTOR "baseline"
#endif

/* ThreadSanitizer does not see accesses of more than 16 bytes. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VECTOR_BYTES 16
#endif
#endif
#ifndef VECTOR_BYTES
#define VECTOR_BYTES 64
#endif

enum {
    LANES = VECTOR_BYTES / 4, /* floats of a vector */
    ROWS = 64,                /* query rows of a work item */
    KEYS = 64,                /* keys of a block */
    FEW_ROWS = 8,             /* below: dot products; from here on: transposed block of keys */
    STEP_ROWS = 4,            /* of the inner product kernel */
    STEP_COLUMNS = 2 * LANES,
    SPLIT_LEAST = 256, /* keys of a split of the KV cache, at least */
};

typedef float vec __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef int32_t ivec __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef uint32_t uvec __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef uint16_t hvec __attribute__((vector_size(VECTOR_BYTES / 2), aligned(2), may_alias));

/* This thread's part of `count`, in whole vectors but for the last. */
static void part_of(size_t count, size_t *ret_from, size_t *ret_to)
{
    size_t threads = (size_t)omp_get_num_threads(), me = (size_t)omp_get_thread_num();
    size_t lines = (count + LANES - 1) / LANES;
    size_t from = lines * me / threads * LANES, to = lines * (me + 1) / threads * LANES;
    *ret_from = from < count ? from : count;
    *ret_to = to < count ? to : count;
}

/* ---- streams --------------------------------------------------------------------------------- */

PER_PROCESSOR static float read_part(const float *a, size_t count)
{
    vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}; /* independent: loads do not wait for adds */
    size_t i = 0;
    for (; i + 4 * LANES <= count; i += 4 * LANES) {
        s0 += *(const vec *)(a + i);
        s1 += *(const vec *)(a + i + LANES);
        s2 += *(const vec *)(a + i + 2 * LANES);
        s3 += *(const vec *)(a + i + 3 * LANES);
    }
    s0 += s1 + s2 + s3;
    float sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += s0[l];
    for (; i < count; i++)
        sum += a[i];
    return sum;
}

PER_PROCESSOR static void triad_part(float *to, const float *a, const float *b, size_t count)
{
    size_t i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        vec x = *(const vec *)(a + i) + 0.4f * *(const vec *)(b + i);
        vec y = *(const vec *)(a + i + LANES) + 0.4f * *(const vec *)(b + i + LANES);
        *(vec *)(to + i) = x;
        *(vec *)(to + i + LANES) = y;
    }
    for (; i < count; i++)
        to[i] = a[i] + 0.4f * b[i];
}

static float read_all(const float *a, size_t count)
{
    float sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        size_t from, to;
        part_of(count, &from, &to);
        sum += read_part(a + from, to - from);
    }
    return sum;
}

static void copy_all(float *to, const float *from, size_t count)
{
#pragma omp parallel
    {
        size_t begin, end;
        part_of(count, &begin, &end);
        /* what compilers make of such a loop as well; past the caches it writes without reading */
        memcpy(to + begin, from + begin, (end - begin) * sizeof *to);
    }
}

static void triad_all(float *to, const float *a, const float *b, size_t count)
{
#pragma omp parallel
    {
        size_t begin, end;
        part_of(count, &begin, &end);
        triad_part(to + begin, a + begin, b + begin, end - begin);
    }
}

/* A number uniform in [-2^31, 2^31) for every index and seed. */
static inline int32_t scrambled(size_t i, uint64_t seed)
{
    uint32_t x = (uint32_t)(i + 1) * 0x9e3779b9u + (uint32_t)seed * 0x85ebca6bu;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    x ^= x >> 16;
    return (int32_t)x;
}

static void fill_all(float *data, size_t count, uint64_t seed)
{
#pragma omp parallel
    {
        size_t from, to;
        part_of(count, &from, &to);
        for (size_t i = from; i < to; i++)
            data[i] = (float)scrambled(i, seed) * (1.0f / 2147483648.0f);
    }
}

static void fill_bf16(uint16_t *data, size_t count, uint64_t seed)
{
#pragma omp parallel
    {
        size_t from, to;
        part_of(count, &from, &to);
        for (size_t i = from; i < to; i++) {
            float x = (float)scrambled(i, seed) * (1.0f / 2147483648.0f);
            uint32_t bits;
            memcpy(&bits, &x, sizeof bits);
            data[i] = (uint16_t)(bits >> 16);
        }
    }
}

static void fill_int8(int8_t *data, size_t count, uint64_t seed)
{
#pragma omp parallel
    {
        size_t from, to;
        part_of(count, &from, &to);
        for (size_t i = from; i < to; i++)
            data[i] = (int8_t)((int64_t)scrambled(i, seed) * 127 / 2147483648);
    }
}

static void launch(void)
{
#pragma omp parallel
    {
        __asm__ volatile("" ::: "memory"); /* keeps the empty region */
    }
}

static void set_threads(int threads)
{
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
}

static void pin(const int *cpus, int count)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        cpu_set_t one;
        CPU_ZERO(&one);
        if (me < count) {
            CPU_SET((size_t)cpus[me], &one);
            sched_setaffinity(0, sizeof one, &one); /* refused: it stays where it is */
        }
    }
}

static int team_size(void)
{
    int size = 0;
#pragma omp parallel
    {
#pragma omp single
        size = omp_get_num_threads();
    }
    return size;
}

/* ---- reference product ----------------------------------------------------------------------- */

PER_PROCESSOR static float dot(const float *a, const float *b, int count)
{
    vec s0 = {0}, s1 = {0};
    int i = 0;
    for (; i + 2 * LANES <= count; i += 2 * LANES) {
        s0 += *(const vec *)(a + i) * *(const vec *)(b + i);
        s1 += *(const vec *)(a + i + LANES) * *(const vec *)(b + i + LANES);
    }
    s0 += s1;
    float sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += s0[l];
    for (; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

static void gemm(int m, int n, int k, const float *a, const float *w, float *c)
{
#pragma omp parallel for schedule(static)
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++)
            c[(size_t)i * (size_t)n + (size_t)j] =
                dot(a + (size_t)i * (size_t)k, w + (size_t)j * (size_t)k, k);
}

/* ---- attention ------------------------------------------------------------------------------- */

/*
 * c (4, 32) += a (4, depth) times b (depth, 32); rows of a are `a_stride` apart and so on.
 */
#define PRODUCT_4X32(a, a_stride, b, b_stride, c, c_stride, depth)                                 \
    do {                                                                                           \
        float *c_ = (c);                                                                           \
        const float *a_ = (a), *b_ = (b);                                                          \
        vec x00 = *(vec *)(c_), x01 = *(vec *)(c_ + LANES);                                        \
        vec x10 = *(vec *)(c_ + (c_stride)), x11 = *(vec *)(c_ + (c_stride) + LANES);              \
        vec x20 = *(vec *)(c_ + 2 * (c_stride)), x21 = *(vec *)(c_ + 2 * (c_stride) + LANES);      \
        vec x30 = *(vec *)(c_ + 3 * (c_stride)), x31 = *(vec *)(c_ + 3 * (c_stride) + LANES);      \
        for (int d_ = 0; d_ < (depth); d_++) {                                                     \
            const float *row_ = b_ + (size_t)d_ * (size_t)(b_stride);                              \
            vec y0 = *(const vec *)row_, y1 = *(const vec *)(row_ + LANES);                        \
            float f0 = a_[d_], f1 = a_[(a_stride) + d_], f2 = a_[2 * (a_stride) + d_],             \
                  f3 = a_[3 * (a_stride) + d_];                                                    \
            x00 += f0 * y0;                                                                        \
            x01 += f0 * y1;                                                                        \
            x10 += f1 * y0;                                                                        \
            x11 += f1 * y1;                                                                        \
            x20 += f2 * y0;                                                                        \
            x21 += f2 * y1;                                                                        \
            x30 += f3 * y0;                                                                        \
            x31 += f3 * y1;                                                                        \
        }                                                                                          \
        *(vec *)(c_) = x00, *(vec *)(c_ + LANES) = x01;                                            \
        *(vec *)(c_ + (c_stride)) = x10, *(vec *)(c_ + (c_stride) + LANES) = x11;                  \
        *(vec *)(c_ + 2 * (c_stride)) = x20, *(vec *)(c_ + 2 * (c_stride) + LANES) = x21;          \
        *(vec *)(c_ + 3 * (c_stride)) = x30, *(vec *)(c_ + 3 * (c_stride) + LANES) = x31;          \
    } while (0)

/* c (rows, columns) += a (rows, depth) b (depth, columns); rows a multiple of 4, columns of 32. */
PER_PROCESSOR static void product(int rows, int columns, int depth, const float *a, int a_stride,
                                  const float *b, int b_stride, float *c, int c_stride)
{
    for (int j = 0; j < columns; j += STEP_COLUMNS)
        for (int i = 0; i < rows; i += STEP_ROWS)
            PRODUCT_4X32(a + (size_t)i * (size_t)a_stride, a_stride, b + j, b_stride,
                         c + (size_t)i * (size_t)c_stride + j, c_stride, depth);
}

/*
 * x[i] = exp(x[i] - most), returns their sum. exp(t) = 2^j 2^f, f in [-1/2, 1/2], 2^f by a
 * polynomial of degree 6 (relative error 3e-8 before rounding); below -87 it is 0.
 */
PER_PROCESSOR static float exp_row(float *x, float most)
{
    vec sum = {0};
    for (int i = 0; i < KEYS; i += LANES) {
        vec t = (*(vec *)(x + i) - most) * 1.44269504f;
        ivec keep = t > -126.0f, masked;
        memcpy(&masked, &t, sizeof masked);
        masked &= keep; /* far below: 0 here, a scale of 0 later */
        memcpy(&t, &masked, sizeof t);
        const float round = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer */
        vec whole = (t + round) - round;
        vec f = t - whole;
        vec p = f * 1.5403530e-4f + 1.3333558e-3f;
        p = p * f + 9.6181291e-3f;
        p = p * f + 5.5504109e-2f;
        p = p * f + 2.4022651e-1f;
        p = p * f + 6.9314718e-1f;
        p = p * f + 1.0f;
        ivec bits = (__builtin_convertvector(whole, ivec) + 127) << 23;
        vec scale;
        bits &= keep;
        memcpy(&scale, &bits, sizeof scale);
        vec e = p * scale;
        *(vec *)(x + i) = e;
        sum += e;
    }
    float total = 0;
    for (int l = 0; l < LANES; l++)
        total += sum[l];
    return total;
}

PER_PROCESSOR static void scale_row(float *x, int count, float factor)
{
    for (int i = 0; i < count; i += LANES)
        *(vec *)(x + i) *= factor;
}

/* t (head_dim, KEYS) = k (keys, head_dim) transposed; missing keys 0. */
PER_PROCESSOR static void transpose(const float *k, int keys, int head_dim, float *t)
{
    for (int d = 0; d < head_dim; d++)
        for (int j = 0; j < KEYS; j++)
            t[d * KEYS + j] = j < keys ? k[(size_t)j * (size_t)head_dim + (size_t)d] : 0;
}

/* s (rows, KEYS) = q (rows, head_dim) k (keys, head_dim) transposed, for few rows. */
PER_PROCESSOR static void scores_few(int rows, const float *q, const float *k, int keys,
                                     int head_dim, float *s)
{
    for (int j = 0; j < keys; j++) {
        const float *key = k + (size_t)j * (size_t)head_dim;
        for (int r = 0; r < rows; r++) {
            const float *row = q + (size_t)r * (size_t)head_dim;
            vec s0 = {0};
            int d = 0;
            for (; d + LANES <= head_dim; d += LANES)
                s0 += *(const vec *)(row + d) * *(const vec *)(key + d);
            float sum = 0;
            for (int l = 0; l < LANES; l++)
                sum += s0[l];
            for (; d < head_dim; d++)
                sum += row[d] * key[d];
            s[r * KEYS + j] = sum;
        }
    }
}

/* `count` values from `at` on, as floats: where they are, or widened into `room`. */
PER_PROCESSOR static const float *as_floats(const void *base, int64_t at, int count, bool bf16,
                                            float *room)
{
    if (!bf16)
        return (const float *)base + at;
    const uint16_t *from = (const uint16_t *)base + at;
    int i = 0;
    for (; i + LANES <= count; i += LANES)
        *(uvec *)(room + i) = __builtin_convertvector(*(const hvec *)(from + i), uvec) << 16;
    for (; i < count; i++) {
        uint32_t bits = (uint32_t)from[i] << 16;
        memcpy(room + i, &bits, sizeof bits);
    }
    return room;
}

static int padded(int64_t dim)
{
    return (int)((dim + STEP_COLUMNS - 1) / STEP_COLUMNS * STEP_COLUMNS);
}

/* Scratch of one thread, floats. */
static size_t thread_scratch(const cpu_attention *a)
{
    size_t d = (size_t)a->head_dim, v = (size_t)padded(a->value_dim);
    size_t widened = a->kv_bf16 ? KEYS * (d > v ? d : v) : 0;
    return ROWS * d + KEYS * d + ROWS * KEYS + ROWS * v + KEYS * v + 2 * ROWS + widened + 64;
}

/* How a problem is cut: rows are (query, head of the KV head's group) pairs. */
typedef struct cut {
    int64_t rows, row_blocks, splits, split_keys, items;
} cut;

static cut cut_of(const cpu_attention *a, int threads)
{
    cut c = {0};
    int64_t tokens = a->past + a->query;
    c.rows = a->query * (a->heads / a->kv_heads);
    c.row_blocks = (c.rows + ROWS - 1) / ROWS;
    c.splits = 1;
    int64_t items = a->sequences * a->kv_heads * c.row_blocks;
    /* the KV cache is split only where there is too little else to share out */
    while (items * c.splits < 2 * (int64_t)threads && tokens / (2 * c.splits) >= SPLIT_LEAST)
        c.splits *= 2;
    c.split_keys = (tokens + c.splits - 1) / c.splits;
    c.split_keys = (c.split_keys + KEYS - 1) / KEYS * KEYS;
    c.splits = (tokens + c.split_keys - 1) / c.split_keys;
    c.items = items * c.splits;
    return c;
}

/* Partial result of one row and split: value_dim sums, then the largest score and the weight. */
static size_t partial_size(const cpu_attention *a)
{
    return (size_t)a->value_dim + 2;
}

static size_t attention_scratch(const cpu_attention *a, int threads)
{
    cut c = cut_of(a, threads);
    size_t partials = 0;
    if (c.splits > 1)
        partials = (size_t)(a->sequences * a->kv_heads * c.rows * c.splits) * partial_size(a);
    return (size_t)threads * thread_scratch(a) + partials;
}

/* One work item: a block of rows of one KV head against one split of the keys. */
static void attend(const cpu_attention *a, const cut *c, int64_t item, const float *q,
                   const void *k, const void *v, float *out, float *mine, float *partials)
{
    const int head_dim = (int)a->head_dim, value_dim = (int)a->value_dim, wide = padded(value_dim);
    const int64_t tokens = a->past + a->query, group = a->heads / a->kv_heads;
    int64_t split = item % c->splits, rest = item / c->splits;
    int64_t block = rest % c->row_blocks;
    rest /= c->row_blocks;
    int64_t kv_head = rest % a->kv_heads, sequence = rest / a->kv_heads;
    int64_t first_row = block * ROWS;
    int rows = (int)(c->rows - first_row < ROWS ? c->rows - first_row : ROWS);
    int even_rows = (rows + STEP_ROWS - 1) / STEP_ROWS * STEP_ROWS;

    float *rows_q = mine, *keys_t = rows_q + ROWS * head_dim, *s = keys_t + KEYS * head_dim;
    float *sums = s + ROWS * KEYS, *values = sums + ROWS * wide, *most = values + KEYS * wide;
    float *weight = most + ROWS, *widened = weight + ROWS;
    const float scale = 1.0f / sqrtf((float)head_dim);

    memset(rows_q, 0, (size_t)(even_rows * head_dim) * sizeof *rows_q);
    for (int r = 0; r < rows; r++) {
        int64_t query = (first_row + r) / group, head = kv_head * group + (first_row + r) % group;
        const float *from = q + ((sequence * a->query + query) * a->heads + head) * head_dim;
        for (int d = 0; d < head_dim; d++)
            rows_q[r * head_dim + d] = from[d] * scale;
    }
    memset(sums, 0, (size_t)(even_rows * wide) * sizeof *sums);
    for (int r = 0; r < even_rows; r++) {
        most[r] = -1e30f;
        weight[r] = 0;
    }

    int64_t begin = split * c->split_keys, end = begin + c->split_keys;
    int64_t seen = a->past + (first_row + rows - 1) / group + 1; /* by the last row */
    end = end < tokens ? end : tokens;
    end = end < seen ? end : seen;
    const int64_t first_token = (sequence * a->kv_heads + kv_head) * tokens;
    for (int64_t key = begin; key < end; key += KEYS) {
        int keys = (int)(end - key < KEYS ? end - key : KEYS);
        const float *block_k =
            as_floats(k, (first_token + key) * head_dim, keys * head_dim, a->kv_bf16, widened);
        if (rows < FEW_ROWS) {
            scores_few(rows, rows_q, block_k, keys, head_dim, s);
        } else {
            transpose(block_k, keys, head_dim, keys_t);
            memset(s, 0, (size_t)(even_rows * KEYS) * sizeof *s);
            product(even_rows, KEYS, head_dim, rows_q, head_dim, keys_t, KEYS, s, KEYS);
        }
        for (int r = 0; r < rows; r++) {
            float *row = s + r * KEYS;
            int64_t last = a->past + (first_row + r) / group - key; /* key that row r still sees */
            int visible = last < 0 ? 0 : last + 1 < keys ? (int)last + 1 : keys;
            float largest = most[r];
            for (int j = 0; j < visible; j++)
                largest = row[j] > largest ? row[j] : largest;
            for (int j = visible; j < KEYS; j++)
                row[j] = -1e30f;
            if (largest > most[r]) {
                float factor = expf(most[r] - largest);
                scale_row(sums + r * wide, wide, factor);
                weight[r] *= factor;
                most[r] = largest;
            }
            weight[r] += visible > 0 ? exp_row(row, largest) : 0;
            if (visible == 0)
                memset(row, 0, KEYS * sizeof *row);
        }
        for (int r = rows; r < even_rows; r++)
            memset(s + r * KEYS, 0, KEYS * sizeof *s);
        const float *block_v =
            as_floats(v, (first_token + key) * value_dim, keys * value_dim, a->kv_bf16, widened);
        if (wide != value_dim) { /* pad to whole steps */
            for (int j = 0; j < keys; j++)
                for (int d = 0; d < wide; d++)
                    values[j * wide + d] = d < value_dim ? block_v[j * value_dim + d] : 0;
            block_v = values;
        }
        product(even_rows, wide, keys, s, KEYS, block_v, wide, sums, wide);
    }

    for (int r = 0; r < rows; r++) {
        int64_t row = first_row + r;
        if (c->splits == 1) {
            int64_t query = row / group, head = kv_head * group + row % group;
            float *to = out + ((sequence * a->query + query) * a->heads + head) * value_dim;
            for (int d = 0; d < value_dim; d++)
                to[d] = sums[r * wide + d] / weight[r];
            continue;
        }
        float *to =
            partials +
            (size_t)(((sequence * a->kv_heads + kv_head) * c->rows + row) * c->splits + split) *
                partial_size(a);
        memcpy(to, sums + r * wide, (size_t)value_dim * sizeof *to);
        to[value_dim] = most[r];
        to[value_dim + 1] = weight[r];
    }
}

/* Joins the splits of one row. */
static void merge(const cpu_attention *a, const cut *c, int64_t index, const float *partials,
                  float *out)
{
    const int64_t group = a->heads / a->kv_heads;
    int64_t row = index % c->rows, kv_head = index / c->rows % a->kv_heads;
    int64_t sequence = index / c->rows / a->kv_heads;
    int64_t query = row / group, head = kv_head * group + row % group;
    float *to = out + ((sequence * a->query + query) * a->heads + head) * a->value_dim;
    const float *first = partials + (size_t)(index * c->splits) * partial_size(a);
    float most = -1e30f, weight = 0;
    for (int64_t i = 0; i < c->splits; i++)
        most = fmaxf(most, first[(size_t)i * partial_size(a) + (size_t)a->value_dim]);
    memset(to, 0, (size_t)a->value_dim * sizeof *to);
    for (int64_t i = 0; i < c->splits; i++) {
        const float *one = first + (size_t)i * partial_size(a);
        float factor = expf(one[a->value_dim] - most);
        weight += one[a->value_dim + 1] * factor;
        for (int64_t d = 0; d < a->value_dim; d++)
            to[d] += one[d] * factor;
    }
    for (int64_t d = 0; d < a->value_dim; d++)
        to[d] /= weight;
}

static void attention(const cpu_attention *a, int threads, const float *q, const void *k,
                      const void *v, float *out, float *scratch)
{
    cut c = cut_of(a, threads);
    float *partials = scratch + (size_t)threads * thread_scratch(a);
#pragma omp parallel num_threads(threads)
    {
        float *mine = scratch + (size_t)omp_get_thread_num() * thread_scratch(a);
#pragma omp for schedule(dynamic)
        for (int64_t item = c.items - 1; item >= 0; item--) /* the long ones first */
            attend(a, &c, item, q, k, v, out, mine, partials);
        if (c.splits > 1) {
#pragma omp for schedule(static)
            for (int64_t i = 0; i < a->sequences * a->kv_heads * c.rows; i++)
                merge(a, &c, i, partials, out);
        }
    }
}

/* ---- elementwise, gather --------------------------------------------------------------------- */

PER_PROCESSOR static void elementwise_part(float *out, const float *const *in, int reads,
                                           size_t from, size_t to)
{
    size_t i = from;
    for (; i + LANES <= to; i += LANES) {
        vec x = *(const vec *)(in[0] + i);
        for (int r = 1; r < reads; r++)
            x += *(const vec *)(in[r] + i);
        *(vec *)(out + i) = x * 0.5f + 0.25f;
    }
    for (; i < to; i++) {
        float x = in[0][i];
        for (int r = 1; r < reads; r++)
            x += in[r][i];
        out[i] = x * 0.5f + 0.25f;
    }
}

static void elementwise(float *out, const float *const *in, int reads, size_t count)
{
#pragma omp parallel
    {
        size_t from, to;
        part_of(count, &from, &to);
        elementwise_part(out, in, reads, from, to);
    }
}

static void gather(float *out, const float *table, size_t rows, size_t width, size_t table_rows,
                   uint64_t seed)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < rows; i++) {
        uint64_t x = (seed + i + 1) * 0x9e3779b97f4a7c15u;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
        x ^= x >> 27;
        memcpy(out + i * width, table + (size_t)(x % table_rows) * width, width * sizeof *out);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

__attribute__((visibility("default"))) const cpu_kernels *llmperf_cpu_kernels(void);

const cpu_kernels *llmperf_cpu_kernels(void)
{
    static const cpu_kernels table = {
        .abi = CPU_KERNELS_ABI,
        .vector = VECTOR,
        .set_threads = set_threads,
        .pin = pin,
        .team_size = team_size,
        .fill = fill_all,
        .fill_bf16 = fill_bf16,
        .fill_int8 = fill_int8,
        .read = read_all,
        .copy = copy_all,
        .triad = triad_all,
        .launch = launch,
        .gemm = gemm,
        .attention_scratch = attention_scratch,
        .attention = attention,
        .elementwise = elementwise,
        .gather = gather,
    };
    return &table;
}
