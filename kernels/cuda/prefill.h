/* SPDX-License-Identifier: MIT */
/*
 * Prefill attention for one head size, HEAD; kernels.cu includes this once for each of them.
 *
 * fp16, bf16: a block owns 128 queries of one head, each of its four warps 32 of them as two tiles
 * of 16 rows, so that an operand from shared memory serves two products. K and V come through
 * shared memory in tiles of 32 keys, two of each: the next is copied in the background while one is
 * worked on. Rows of shared memory are padded by 16 bytes, so that the eight rows of a matrix lie in
 * different banks. HEAD = 256 has registers for one tile of rows a warp: 64 queries, then the other
 * 64.
 * fp32: 64 queries at a time on plain fused multiply-adds, two threads a query, 16 keys at a time:
 * exact, and far from the tensor cores' speed.
 *
 * Blocks with the most keys start first.
 */
#define ROW_TILES (HEAD <= 128 ? 2 : 1) /* of 16 queries, for each warp */
#define PASS_ROWS (64 * ROW_TILES)
#define ROW_BYTES (HEAD * 2 + 16) /* of a row in shared memory */
#define FLOAT_ROW (HEAD + 4)      /* values of a row of fp32 there */
#define Q_IN_REGISTERS (HEAD == 64)

#ifndef LLMPERF_CUDA_PREFILL_H
#define LLMPERF_CUDA_PREFILL_H

enum {
    PREFILL_KEYS = KERNEL_PREFILL_COLUMNS / 2, /* two tiles of K and of V */
    PREFILL_FLOAT_ROWS = 64,
    PREFILL_FLOAT_KEYS = 16,
    PREFILL_THREADS = KERNEL_PREFILL_THREADS,
};

typedef struct prefill_place {
    const char *q, *k, *v; /* of this pass's first query; of this sequence and KV head */
    char *o;
    uint64_t q_stride;    /* bytes from one query to the next */
    uint32_t first, rows; /* queries of this pass */
    uint32_t keys, total; /* keys that the last of them sees; keys there are */
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

/* Where a pass of a block works: queries from `first` on, at most `rows` of them. Read anew each time
 * (fresh), so that no register holds what only the beginning and the end need. */
DEVICE void NAMED(prefill_locate)(const kernel_prefill_args *a, uint32_t first, uint32_t rows,
                                  uint32_t bytes, prefill_place *at)
{
    const uint32_t head = fresh(blockIdx.y), sequence = fresh(blockIdx.z);
    const uint32_t kv_head = head / (a->heads / a->kv_heads);
    at->total = a->past + a->queries;
    at->first = first;
    at->rows = a->queries - first < rows ? a->queries - first : rows;
    at->keys = a->past + first + at->rows;
    at->q_stride = (uint64_t)a->heads * HEAD * bytes;
    const uint64_t query =
        ((uint64_t)sequence * a->queries + first) * at->q_stride + (uint64_t)head * HEAD * bytes;
    const uint64_t cache = ((uint64_t)sequence * a->kv_heads + kv_head) * at->total * HEAD * bytes;
    at->q = (const char *)a->q + query;
    at->o = (char *)a->o + query;
    at->k = (const char *)a->k + cache;
    at->v = (const char *)a->v + cache;
}

/* Rows of one matrix to shared memory; rows from `there` on become zeros. */
DEVICE void NAMED(prefill_copy)(unsigned char *to, const char *from, uint64_t stride, uint32_t rows,
                                uint32_t there, uint32_t bytes, uint32_t to_stride)
{
    const uint32_t words = HEAD * bytes / 16, rounds = rows * words / PREFILL_THREADS;
    const uint32_t thread = fresh(threadIdx.x), word = thread % words;
    UNROLL
    for (uint32_t round = 0; round < rounds; round++) {
        const uint32_t row = thread / words + round * (PREFILL_THREADS / words);
        const int wanted = row < there;
        copy_async(to + row * to_stride + 16 * word, from + (wanted ? row : 0) * stride + 16 * word,
                   wanted);
    }
}

/* A tile of K and of V, from key `first` on, to one of the two places. */
DEVICE void NAMED(prefill_copy_keys)(unsigned char *shared, const prefill_place *at, uint32_t first)
{
    const uint64_t stride = HEAD * 2;
    unsigned char *to = shared + first / PREFILL_KEYS % 2 * (2 * PREFILL_KEYS * ROW_BYTES);
    NAMED(prefill_copy)
    (to, at->k + first * stride, stride, PREFILL_KEYS, at->total - first, 2, ROW_BYTES);
    NAMED(prefill_copy)
    (to + PREFILL_KEYS * ROW_BYTES, at->v + first * stride, stride, PREFILL_KEYS, at->total - first,
     2, ROW_BYTES);
    copy_commit();
}

/* The left operand: 16 queries of this warp, 16 columns from 16 `step` on. */
DEVICE void NAMED(prefill_query)(uint32_t q[4], const unsigned char *shared, uint32_t tile,
                                 uint32_t step)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t row = (threadIdx.x / 32 * ROW_TILES + tile) * 16 + lane % 16;
    load_matrices(q, shared + row * ROW_BYTES + 32 * step + lane / 16 * 16);
}

DEVICE void NAMED(prefill_scores)(float s[ROW_TILES][PREFILL_KEYS / 8][4],
                                  uint32_t q[ROW_TILES][HEAD / 16][4],
                                  const unsigned char *shared_q, const unsigned char *shared_k,
                                  uint32_t format)
{
    const uint32_t lane = threadIdx.x % 32;
    const unsigned char *k_row =
        shared_k + (lane / 16 * 8 + lane % 8) * ROW_BYTES + lane / 8 % 2 * 16;
    UNROLL
    for (uint32_t step = 0; step < HEAD / 16; step++) {
        uint32_t rows[ROW_TILES][4];
        UNROLL
        for (uint32_t m = 0; m < ROW_TILES; m++) {
            if (!Q_IN_REGISTERS)
                NAMED(prefill_query)(rows[m], shared_q, m, step);
            UNROLL
            for (int i = 0; i < 4 && Q_IN_REGISTERS; i++)
                rows[m][i] = q[m][step][i];
        }
        UNROLL
        for (uint32_t pair = 0; pair < PREFILL_KEYS / 16; pair++) {
            uint32_t k[4];
            load_matrices(k, k_row + 16 * pair * ROW_BYTES + 32 * step);
            UNROLL
            for (uint32_t m = 0; m < ROW_TILES; m++) {
                mma_two(s[m][2 * pair], rows[m], k[0], k[1], format);
                mma_two(s[m][2 * pair + 1], rows[m], k[2], k[3], format);
            }
        }
    }
}

DEVICE void NAMED(prefill_output)(float o[ROW_TILES][HEAD / 8][4],
                                  float s[ROW_TILES][PREFILL_KEYS / 8][4],
                                  const unsigned char *shared_v, uint32_t format)
{
    const uint32_t lane = threadIdx.x % 32;
    const unsigned char *v_row = shared_v + lane % 16 * ROW_BYTES + lane / 16 * 16;
    UNROLL
    for (uint32_t step = 0; step < PREFILL_KEYS / 16; step++) {
        uint32_t p[ROW_TILES][4];
        UNROLL
        for (uint32_t m = 0; m < ROW_TILES; m++) {
            UNROLL
            for (uint32_t i = 0; i < 4; i++)
                p[m][i] = pack_two(s[m][2 * step + i / 2][2 * (i % 2)],
                                   s[m][2 * step + i / 2][2 * (i % 2) + 1], format);
        }
        UNROLL
        for (uint32_t pair = 0; pair < HEAD / 16; pair++) {
            uint32_t v[4];
            load_matrices_transposed(v, v_row + 16 * step * ROW_BYTES + 32 * pair);
            UNROLL
            for (uint32_t m = 0; m < ROW_TILES; m++) {
                mma_two(o[m][2 * pair], p[m], v[0], v[1], format);
                mma_two(o[m][2 * pair + 1], p[m], v[2], v[3], format);
            }
        }
    }
}

/* 16 rows of a warp, from row `first` of the pass on. */
DEVICE void NAMED(prefill_store)(const prefill_place *at, float o[HEAD / 8][4], const float sum[2],
                                 uint32_t first, uint32_t format)
{
    const uint32_t thread = fresh(threadIdx.x), g = thread % 32 / 4, t = thread % 4;
    UNROLL
    for (uint32_t half = 0; half < 2; half++) {
        const uint32_t row = first + g + 8 * half;
        const float all = sum[half] + lane_xor(sum[half], 1);
        const float scale = 1 / (all + lane_xor(all, 2));
        uint32_t *to = (uint32_t *)(at->o + row * at->q_stride);
        if (row < at->rows) {
            UNROLL
            for (uint32_t i = 0; i < HEAD / 8; i++)
                to[4 * i + t] =
                    pack_two(o[i][2 * half] * scale, o[i][2 * half + 1] * scale, format);
        }
    }
}

/* Softmax of a warp's scores, and what earlier outputs are worth now. `seen`: the last key of the
 * warp's first row. */
DEVICE void NAMED(prefill_softmax)(float o[ROW_TILES][HEAD / 8][4],
                                   float s[ROW_TILES][PREFILL_KEYS / 8][4],
                                   float largest[ROW_TILES][2], float sum[ROW_TILES][2],
                                   float scale, uint32_t key, uint32_t seen)
{
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    UNROLL
    for (uint32_t m = 0; m < ROW_TILES; m++) {
        float shrink[2];
        if (key + PREFILL_KEYS - 1 > seen + 16 * m)
            prefill_mask(s[m], key + 2 * t, seen + 16 * m + g);
        prefill_weights(s[m], scale, largest[m], sum[m], shrink);
        if (shrink[0] == 1 && shrink[1] == 1) /* after the first tiles the rule */
            continue;
        UNROLL
        for (int i = 0; i < HEAD / 8; i++) {
            UNROLL
            for (int j = 0; j < 4; j++)
                o[m][i][j] *= shrink[j / 2];
        }
    }
}

/* What one tile of keys adds to a warp's rows. */
DEVICE void NAMED(prefill_tile)(float o[ROW_TILES][HEAD / 8][4], float largest[ROW_TILES][2],
                                float sum[ROW_TILES][2], uint32_t q[ROW_TILES][HEAD / 16][4],
                                const unsigned char *shared_q, const unsigned char *shared_k,
                                float scale, uint32_t key, uint32_t seen, uint32_t format)
{
    float s[ROW_TILES][PREFILL_KEYS / 8][4];
    UNROLL
    for (uint32_t m = 0; m < ROW_TILES; m++) {
        UNROLL
        for (int n = 0; n < PREFILL_KEYS / 8; n++) {
            UNROLL
            for (int i = 0; i < 4; i++)
                s[m][n][i] = 0;
        }
    }
    NAMED(prefill_scores)(s, q, shared_q, shared_k, format);
    NAMED(prefill_softmax)(o, s, largest, sum, scale, key, seen);
    NAMED(prefill_output)(o, s, shared_k + PREFILL_KEYS * ROW_BYTES, format);
}

DEVICE void NAMED(prefill_clear)(float o[ROW_TILES][HEAD / 8][4], float largest[ROW_TILES][2],
                                 float sum[ROW_TILES][2])
{
    UNROLL
    for (uint32_t m = 0; m < ROW_TILES; m++) {
        largest[m][0] = largest[m][1] = MINUS_INFINITY;
        sum[m][0] = sum[m][1] = 0;
        UNROLL
        for (int i = 0; i < HEAD / 8; i++) {
            UNROLL
            for (int j = 0; j < 4; j++)
                o[m][i][j] = 0;
        }
    }
}

DEVICE void NAMED(prefill_tiles)(const kernel_prefill_args *a, const prefill_place *at,
                                 unsigned char *shared, float o[ROW_TILES][HEAD / 8][4],
                                 float sum[ROW_TILES][2], uint32_t format)
{
    unsigned char *shared_k = shared + PASS_ROWS * ROW_BYTES;
    const uint32_t seen = a->past + at->first + threadIdx.x / 32 * 16 * ROW_TILES;
    float largest[ROW_TILES][2];
    uint32_t q[ROW_TILES][HEAD / 16][4];
    NAMED(prefill_clear)(o, largest, sum);
    NAMED(prefill_copy)(shared, at->q, at->q_stride, PASS_ROWS, at->rows, 2, ROW_BYTES);
    NAMED(prefill_copy_keys)(shared_k, at, 0);
    NO_UNROLL
    for (uint32_t key = 0; key < at->keys; key += PREFILL_KEYS) {
        copy_wait(0);
        block_sync(); /* this tile is there, and nobody reads the one before any more */
        if (key + PREFILL_KEYS < at->keys)
            NAMED(prefill_copy_keys)(shared_k, at, key + PREFILL_KEYS);
        UNROLL
        for (uint32_t m = 0; m < ROW_TILES; m++) {
            UNROLL
            for (uint32_t step = 0; step < HEAD / 16 && Q_IN_REGISTERS; step++)
                if (key == 0)
                    NAMED(prefill_query)(q[m][step], shared, m, step);
        }
        if (key < seen + 16 * ROW_TILES) /* some row of the warp sees the tile */
            NAMED(prefill_tile)
        (o, largest, sum, q, shared,
         shared_k + key / PREFILL_KEYS % 2 * (2 * PREFILL_KEYS * ROW_BYTES), a->scale * LOG2_E, key,
         seen, format);
    }
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

/* Scores to weights, those of keys from `limit` on to 0; returns what the earlier sum and outputs
 * are worth now. `limit`: how many of this thread's keys the query sees. */
DEVICE float NAMED(prefill_float_weights)(float s[PREFILL_FLOAT_KEYS / 2], float scale,
                                          uint32_t limit, float *largest, float *sum)
{
    float next = *largest;
    UNROLL
    for (uint32_t i = 0; i < PREFILL_FLOAT_KEYS / 2; i++) {
        s[i] = i < limit ? s[i] * scale : MINUS_INFINITY;
        next = larger(next, s[i]);
    }
    next = larger(next, lane_xor(next, 1));
    const float shrink = exp2_difference(*largest, next);
    *largest = next;
    *sum *= shrink;
    UNROLL
    for (uint32_t i = 0; i < PREFILL_FLOAT_KEYS / 2; i++) {
        s[i] = exp2_fast(s[i] - next);
        *sum += s[i];
    }
    return shrink;
}

/* fp32. Thread: query threadIdx.x / 2; keys and groups of four columns by parity. */
DEVICE void NAMED(prefill_float)(const kernel_prefill_args *a, uint32_t first,
                                 unsigned char *shared)
{
    prefill_place at;
    NAMED(prefill_locate)(a, first, PREFILL_FLOAT_ROWS, 4, &at);
    const uint32_t row = threadIdx.x / 2, half = threadIdx.x % 2, stride = FLOAT_ROW * 4;
    const uint32_t seen = a->past + at.first + row + 1;
    unsigned char *shared_k = shared + PREFILL_FLOAT_ROWS * stride;
    unsigned char *shared_v = shared_k + PREFILL_FLOAT_KEYS * stride;
    const float *q = (const float *)shared + row * FLOAT_ROW;
    float o[HEAD / 8][4], largest = MINUS_INFINITY, sum = 0;
    UNROLL
    for (int i = 0; i < HEAD / 8; i++) {
        UNROLL
        for (int j = 0; j < 4; j++)
            o[i][j] = 0;
    }
    NAMED(prefill_copy)(shared, at.q, at.q_stride, PREFILL_FLOAT_ROWS, at.rows, 4, stride);
    NO_UNROLL
    for (uint32_t key = 0; key < at.keys; key += PREFILL_FLOAT_KEYS) {
        float s[PREFILL_FLOAT_KEYS / 2];
        const uint64_t from = (uint64_t)key * HEAD * 4;
        NAMED(prefill_copy)
        (shared_k, at.k + from, HEAD * 4, PREFILL_FLOAT_KEYS, at.total - key, 4, stride);
        NAMED(prefill_copy)
        (shared_v, at.v + from, HEAD * 4, PREFILL_FLOAT_KEYS, at.total - key, 4, stride);
        copy_commit();
        copy_wait(0);
        block_sync();
        NAMED(prefill_float_scores)(s, q, (const float *)shared_k + half * FLOAT_ROW);
        const uint32_t limit = seen > key + half ? (seen - key - half + 1) / 2 : 0;
        const float shrink =
            NAMED(prefill_float_weights)(s, a->scale * LOG2_E, limit, &largest, &sum);
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
    float *to = (float *)(at.o + row * at.q_stride);
    if (row < at.rows) {
        UNROLL
        for (uint32_t i = 0; i < HEAD / 8; i++) {
            UNROLL
            for (uint32_t j = 0; j < 4; j++)
                to[8 * i + 4 * half + j] = o[i][j] / sum;
        }
    }
}

/* 64 queries, or 128 where a warp has registers for two tiles of rows. */
DEVICE void NAMED(prefill_tensor)(const kernel_prefill_args *a, uint32_t first,
                                  unsigned char *shared, uint32_t format)
{
    float o[ROW_TILES][HEAD / 8][4], sum[ROW_TILES][2];
    prefill_place at;
    NAMED(prefill_locate)(a, first, PASS_ROWS, 2, &at);
    NAMED(prefill_tiles)(a, &at, shared, o, sum, format);
    NAMED(prefill_locate)(a, first, PASS_ROWS, 2, &at);
    UNROLL
    for (uint32_t m = 0; m < ROW_TILES; m++) {
        const uint32_t row = (fresh(threadIdx.x) / 32 * ROW_TILES + m) * 16;
        NAMED(prefill_store)(&at, o[m], sum[m], row, format);
    }
}

/* The block's queries in passes of as many as its registers and shared memory take. */
DEVICE void NAMED(prefill)(const kernel_prefill_args *a, unsigned char *shared, uint32_t format)
{
    const uint32_t rows = format == KERNEL_FP32 ? PREFILL_FLOAT_ROWS : PASS_ROWS;
    NO_UNROLL
    for (uint32_t pass = 0; pass < KERNEL_PREFILL_ROWS; pass += rows) {
        const uint32_t block = gridDim.x - 1 - fresh(blockIdx.x);
        const uint32_t first = block * KERNEL_PREFILL_ROWS + pass;
        if (first >= a->queries)
            return;
        if (format == KERNEL_FP32)
            NAMED(prefill_float)(a, first, shared);
        else
            NAMED(prefill_tensor)(a, first, shared, format);
        if (rows < KERNEL_PREFILL_ROWS)
            block_sync(); /* nobody reads this pass's queries any more */
    }
}

KERNEL BOUNDS(PREFILL_THREADS, 2) NAMED(kernel_prefill)(const kernel_prefill_args a)
{
    DYNAMIC_SHARED(shared);
    if (a.format == KERNEL_FP16)
        NAMED(prefill)(&a, shared, KERNEL_FP16);
    else if (a.format == KERNEL_BF16)
        NAMED(prefill)(&a, shared, KERNEL_BF16);
    else
        NAMED(prefill)(&a, shared, KERNEL_FP32);
}

#undef ROW_TILES
#undef PASS_ROWS
#undef ROW_BYTES
#undef FLOAT_ROW
#undef Q_IN_REGISTERS
