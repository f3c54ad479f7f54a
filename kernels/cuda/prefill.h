/* SPDX-License-Identifier: MIT */
/*
 * Prefill attention for one head size, HEAD; kernels.cu includes this once for each of them.
 *
 * fp16, bf16: a block owns 64 queries of one head, a warp 16 of them; K and V come through shared
 * memory in tiles of 64 keys, one tile each, copied in the background: V while the scores are
 * computed, the next K during softmax and output. Rows of shared memory are padded by 16 bytes, so
 * that the eight rows of a matrix lie in different banks. Queries of HEAD <= 128 stay in registers.
 * fp32: the same block of queries on plain fused multiply-adds, two threads a query, 16 keys at a
 * time: exact, and far from the tensor cores' speed.
 *
 * Blocks with the most keys start first.
 */
#define ROW_VALUES (HEAD + 8) /* of a row in shared memory, 2 bytes each */
#define FLOAT_ROW (HEAD + 4)  /* the same of fp32 */
#define Q_IN_REGISTERS (HEAD <= 128)

#ifndef LLMPERF_CUDA_PREFILL_H
#define LLMPERF_CUDA_PREFILL_H

enum {
    PREFILL_ROWS = KERNEL_PREFILL_ROWS,
    PREFILL_KEYS = KERNEL_PREFILL_COLUMNS,
    PREFILL_FLOAT_KEYS = 16,
    PREFILL_THREADS = KERNEL_PREFILL_THREADS,
};

typedef struct prefill_place {
    const char *q, *k, *v; /* of this block's first query; of this sequence and KV head */
    uint64_t q_stride;     /* bytes from one query to the next */
    uint32_t first, rows;  /* queries */
    uint32_t keys, total;  /* keys that the last of them sees; keys there are */
} prefill_place;

/* Scores of a lane: rows g and g + 8, keys 2 t, 2 t + 1 of each tile of 8. */
DEVICE void prefill_mask(float s[PREFILL_KEYS / 8][4], uint32_t key, uint32_t limit)
{
    UNROLL
    for (uint32_t n = 0; n < PREFILL_KEYS / 8; n++) {
        UNROLL
        for (uint32_t i = 0; i < 4; i++)
            if (key + 8 * n + i % 2 > limit + 8 * (i / 2))
                s[n][i] = MINUS_INFINITY;
    }
}

DEVICE void prefill_weights(float s[PREFILL_KEYS / 8][4], float scale, float largest[2],
                            float sum[2], float shrink[2])
{
    UNROLL
    for (int half = 0; half < 2; half++) {
        float next = MINUS_INFINITY, more = 0;
        UNROLL
        for (int n = 0; n < PREFILL_KEYS / 8; n++)
            next = larger(next, larger(s[n][2 * half], s[n][2 * half + 1]));
        next = larger(next, lane_xor(next, 1));
        next = larger(next, lane_xor(next, 2));
        next = larger(largest[half], next * scale);
        shrink[half] = exp2_fast(largest[half] - next);
        largest[half] = next;
        UNROLL
        for (int n = 0; n < PREFILL_KEYS / 8; n++) {
            UNROLL
            for (int i = 2 * half; i < 2 * half + 2; i++) {
                s[n][i] = exp2_fast(s[n][i] * scale - next);
                more += s[n][i];
            }
        }
        sum[half] = sum[half] * shrink[half] + more;
    }
}

DEVICE void mma_two(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1, uint32_t format)
{
    if (format == KERNEL_FP16)
        mma_half(c, a, b0, b1);
    else
        mma_bf16(c, a, b0, b1);
}

#endif

/* Rows of one matrix to shared memory; rows from `there` on become zeros. */
DEVICE void NAMED(prefill_copy)(unsigned char *to, const char *from, uint64_t stride, uint32_t rows,
                                uint32_t there, uint32_t bytes, uint32_t to_stride)
{
    const uint32_t words = HEAD * bytes / 16;
    UNROLL
    for (uint32_t i = threadIdx.x; i < rows * words; i += PREFILL_THREADS) {
        const uint32_t row = i / words, word = i % words;
        const int wanted = row < there;
        copy_async(to + row * to_stride + 16 * word, from + (wanted ? row : 0) * stride + 16 * word,
                   wanted);
    }
}

/* One tile of K or V, from key `first` on. */
DEVICE void NAMED(prefill_copy_keys)(unsigned char *to, const char *from, const prefill_place *at,
                                     uint32_t first)
{
    const uint64_t stride = HEAD * 2;
    NAMED(prefill_copy)
    (to, from + first * stride, stride, PREFILL_KEYS, at->total - first, 2, ROW_VALUES * 2);
}

/* The left operand: 16 queries of this warp, 16 columns from 16 `step` on. */
DEVICE void NAMED(prefill_query)(uint32_t q[4], const unsigned char *shared, uint32_t step)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t row = threadIdx.x / 32 * 16 + lane / 8 % 2 * 8 + lane % 8;
    load_matrices(q, shared + (row * ROW_VALUES + 16 * step + lane / 16 * 8) * 2);
}

DEVICE void NAMED(prefill_scores)(float s[PREFILL_KEYS / 8][4], uint32_t q[HEAD / 16][4],
                                  const unsigned char *shared_q, const unsigned char *shared_k,
                                  uint32_t format)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t row = lane / 16 * 8 + lane % 8, column = lane / 8 % 2 * 8;
    UNROLL
    for (uint32_t step = 0; step < HEAD / 16; step++) {
        uint32_t rows[4];
        if (Q_IN_REGISTERS) {
            UNROLL
            for (int i = 0; i < 4; i++)
                rows[i] = q[step][i];
        } else
            NAMED(prefill_query)(rows, shared_q, step);
        UNROLL
        for (uint32_t pair = 0; pair < PREFILL_KEYS / 16; pair++) {
            uint32_t k[4];
            load_matrices(k, shared_k + ((16 * pair + row) * ROW_VALUES + 16 * step + column) * 2);
            mma_two(s[2 * pair], rows, k[0], k[1], format);
            mma_two(s[2 * pair + 1], rows, k[2], k[3], format);
        }
    }
}

DEVICE void NAMED(prefill_output)(float o[HEAD / 8][4], float s[PREFILL_KEYS / 8][4],
                                  const unsigned char *shared_v, uint32_t format)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t row = lane / 8 % 2 * 8 + lane % 8, column = lane / 16 * 8;
    UNROLL
    for (uint32_t step = 0; step < PREFILL_KEYS / 16; step++) {
        float(*w)[4] = &s[2 * step];
        const uint32_t p[4] = {
            pack_two(w[0][0], w[0][1], format), pack_two(w[0][2], w[0][3], format),
            pack_two(w[1][0], w[1][1], format), pack_two(w[1][2], w[1][3], format)};
        UNROLL
        for (uint32_t pair = 0; pair < HEAD / 16; pair++) {
            uint32_t v[4];
            load_matrices_transposed(
                v, shared_v + ((16 * step + row) * ROW_VALUES + 16 * pair + column) * 2);
            mma_two(o[2 * pair], p, v[0], v[1], format);
            mma_two(o[2 * pair + 1], p, v[2], v[3], format);
        }
    }
}

DEVICE void NAMED(prefill_store)(const kernel_prefill_args *a, const prefill_place *at,
                                 float o[HEAD / 8][4], const float sum[2], uint32_t format)
{
    const uint32_t thread = fresh(threadIdx.x), g = thread % 32 / 4, t = thread % 4;
    char *out = (char *)a->o + (at->q - (const char *)a->q);
    UNROLL
    for (uint32_t half = 0; half < 2; half++) {
        const uint32_t row = thread / 32 * 16 + g + 8 * half;
        const float all = sum[half] + lane_xor(sum[half], 1);
        const float scale = 1 / (all + lane_xor(all, 2));
        uint32_t *to = (uint32_t *)(out + row * at->q_stride);
        if (row < at->rows) {
            UNROLL
            for (uint32_t i = 0; i < HEAD / 8; i++)
                to[4 * i + t] =
                    pack_two(o[i][2 * half] * scale, o[i][2 * half + 1] * scale, format);
        }
    }
}

DEVICE void NAMED(prefill_tensor)(const kernel_prefill_args *a, const prefill_place *at,
                                  unsigned char *shared, uint32_t format)
{
    unsigned char *shared_k = shared + PREFILL_ROWS * ROW_VALUES * 2;
    unsigned char *shared_v = shared_k + PREFILL_KEYS * ROW_VALUES * 2;
    const uint32_t warp = threadIdx.x / 32, g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    float o[HEAD / 8][4], largest[2] = {MINUS_INFINITY, MINUS_INFINITY}, sum[2] = {0, 0};
    uint32_t q[HEAD / 16][4];
    UNROLL
    for (int i = 0; i < HEAD / 8; i++) {
        UNROLL
        for (int j = 0; j < 4; j++)
            o[i][j] = 0;
    }
    NAMED(prefill_copy)(shared, at->q, at->q_stride, PREFILL_ROWS, at->rows, 2, ROW_VALUES * 2);
    NAMED(prefill_copy_keys)(shared_k, at->k, at, 0);
    copy_commit();
    NO_UNROLL
    for (uint32_t key = 0; key < at->keys; key += PREFILL_KEYS) {
        float s[PREFILL_KEYS / 8][4], shrink[2];
        const uint32_t seen = a->past + at->first + 16 * warp; /* last key of the warp's row 0 */
        copy_wait(0);
        block_sync(); /* K is there, and nobody reads the last V any more */
        NAMED(prefill_copy_keys)(shared_v, at->v, at, key);
        copy_commit();
        if (Q_IN_REGISTERS && key == 0) {
            UNROLL
            for (uint32_t step = 0; step < HEAD / 16; step++)
                NAMED(prefill_query)(q[step], shared, step);
        }
        UNROLL
        for (int n = 0; n < PREFILL_KEYS / 8; n++) {
            UNROLL
            for (int i = 0; i < 4; i++)
                s[n][i] = 0;
        }
        NAMED(prefill_scores)(s, q, shared, shared_k, format);
        copy_wait(0);
        block_sync(); /* V is there, and nobody reads K any more */
        if (key + PREFILL_KEYS < at->keys)
            NAMED(prefill_copy_keys)(shared_k, at->k, at, key + PREFILL_KEYS);
        copy_commit();
        if (key + PREFILL_KEYS - 1 > seen)
            prefill_mask(s, key + 2 * t, seen + g);
        prefill_weights(s, a->scale * LOG2_E, largest, sum, shrink);
        UNROLL
        for (int i = 0; i < HEAD / 8; i++) {
            UNROLL
            for (int j = 0; j < 4; j++)
                o[i][j] *= shrink[j / 2];
        }
        NAMED(prefill_output)(o, s, shared_v, format);
    }
    NAMED(prefill_store)(a, at, o, sum, format);
}

/* Eight scores of one query against every other key of a tile. */
DEVICE void NAMED(prefill_float_scores)(float s[PREFILL_FLOAT_KEYS / 2], const float *q,
                                        const float *k)
{
    UNROLL
    for (int i = 0; i < PREFILL_FLOAT_KEYS / 2; i++)
        s[i] = 0;
    for (uint32_t column = 0; column < HEAD; column += 4) {
        const word4 left = load_shared16(q + column);
        UNROLL
        for (int i = 0; i < PREFILL_FLOAT_KEYS / 2; i++) {
            const word4 right = load_shared16(k + 2 * i * FLOAT_ROW + column);
            UNROLL
            for (int j = 0; j < 4; j++)
                s[i] += word_float(left.w[j]) * word_float(right.w[j]);
        }
    }
}

DEVICE void NAMED(prefill_float_output)(float o[HEAD / 8][4], const float s[PREFILL_FLOAT_KEYS / 2],
                                        const float *v, uint32_t half)
{
    UNROLL
    for (uint32_t key = 0; key < PREFILL_FLOAT_KEYS; key++) {
        const float other = lane_xor(s[key / 2], 1);
        const float weight = key % 2 == half ? s[key / 2] : other;
        UNROLL
        for (uint32_t i = 0; i < HEAD / 8; i++) {
            const word4 values = load_shared16(v + key * FLOAT_ROW + 8 * i + 4 * half);
            UNROLL
            for (int j = 0; j < 4; j++)
                o[i][j] += weight * word_float(values.w[j]);
        }
    }
}

/* fp32. Thread: query threadIdx.x / 2; keys and groups of four columns by parity. */
DEVICE void NAMED(prefill_float)(const kernel_prefill_args *a, const prefill_place *at,
                                 unsigned char *shared)
{
    const uint32_t row = threadIdx.x / 2, half = threadIdx.x % 2, stride = FLOAT_ROW * 4;
    const uint32_t seen = a->past + at->first + row;
    unsigned char *shared_k = shared + PREFILL_ROWS * stride;
    unsigned char *shared_v = shared_k + PREFILL_FLOAT_KEYS * stride;
    const float *q = (const float *)shared + row * FLOAT_ROW;
    float o[HEAD / 8][4], largest = MINUS_INFINITY, sum = 0;
    UNROLL
    for (int i = 0; i < HEAD / 8; i++) {
        UNROLL
        for (int j = 0; j < 4; j++)
            o[i][j] = 0;
    }
    NAMED(prefill_copy)(shared, at->q, at->q_stride, PREFILL_ROWS, at->rows, 4, stride);
    NO_UNROLL
    for (uint32_t key = 0; key < at->keys; key += PREFILL_FLOAT_KEYS) {
        float s[PREFILL_FLOAT_KEYS / 2], next = largest;
        const uint64_t from = (uint64_t)key * HEAD * 4;
        NAMED(prefill_copy)
        (shared_k, at->k + from, HEAD * 4, PREFILL_FLOAT_KEYS, at->total - key, 4, stride);
        NAMED(prefill_copy)
        (shared_v, at->v + from, HEAD * 4, PREFILL_FLOAT_KEYS, at->total - key, 4, stride);
        copy_commit();
        copy_wait(0);
        block_sync();
        NAMED(prefill_float_scores)(s, q, (const float *)shared_k + half * FLOAT_ROW);
        UNROLL
        for (uint32_t i = 0; i < PREFILL_FLOAT_KEYS / 2; i++) {
            s[i] = key + 2 * i + half > seen ? MINUS_INFINITY : s[i] * (a->scale * LOG2_E);
            next = larger(next, s[i]);
        }
        next = larger(next, lane_xor(next, 1));
        const float shrink = exp2_difference(largest, next);
        largest = next;
        sum *= shrink;
        UNROLL
        for (uint32_t i = 0; i < PREFILL_FLOAT_KEYS / 2; i++) {
            s[i] = exp2_fast(s[i] - next);
            sum += s[i];
        }
        UNROLL
        for (int i = 0; i < HEAD / 8; i++) {
            UNROLL
            for (int j = 0; j < 4; j++)
                o[i][j] *= shrink;
        }
        NAMED(prefill_float_output)(o, s, (const float *)shared_v, half);
        block_sync();
    }
    sum += lane_xor(sum, 1);
    float *to = (float *)((char *)a->o + (at->q - (const char *)a->q) + row * at->q_stride);
    if (row < at->rows) {
        UNROLL
        for (uint32_t i = 0; i < HEAD / 8; i++) {
            UNROLL
            for (uint32_t j = 0; j < 4; j++)
                to[8 * i + 4 * half + j] = o[i][j] / sum;
        }
    }
}

KERNEL BOUNDS(PREFILL_THREADS, HEAD <= 128 ? 3 : 2)
    NAMED(kernel_prefill)(const kernel_prefill_args a)
{
    DYNAMIC_SHARED(shared);
    const uint32_t bytes = value_bytes(a.format), head = blockIdx.y, sequence = blockIdx.z;
    prefill_place at;
    at.total = a.past + a.queries;
    at.first = (gridDim.x - 1 - blockIdx.x) * PREFILL_ROWS;
    at.rows = a.queries - at.first < PREFILL_ROWS ? a.queries - at.first : PREFILL_ROWS;
    at.keys = a.past + at.first + at.rows;
    at.q_stride = (uint64_t)a.heads * HEAD * bytes;
    at.q = (const char *)a.q + ((uint64_t)sequence * a.queries + at.first) * at.q_stride +
           (uint64_t)head * HEAD * bytes;
    const uint64_t cache =
        ((uint64_t)sequence * a.kv_heads + head / (a.heads / a.kv_heads)) * at.total * HEAD * bytes;
    at.k = (const char *)a.k + cache;
    at.v = (const char *)a.v + cache;
    if (a.format == KERNEL_FP16)
        NAMED(prefill_tensor)(&a, &at, shared, KERNEL_FP16);
    else if (a.format == KERNEL_BF16)
        NAMED(prefill_tensor)(&a, &at, shared, KERNEL_BF16);
    else
        NAMED(prefill_float)(&a, &at, shared);
}

#undef ROW_VALUES
#undef FLOAT_ROW
#undef Q_IN_REGISTERS
