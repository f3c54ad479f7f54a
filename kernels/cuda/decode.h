/* SPDX-License-Identifier: MIT */
/*
 * Decode attention for one head size, HEAD; kernels.cu includes this once for each of them.
 *
 * One query a sequence, so K and V stream from memory once and everything else has to hide behind
 * that. The up to 16 heads of a KV head are the 16 rows of a tensor core's product; a warp takes a
 * tile of tokens and needs no shared memory for K and V, because a product does not care in which
 * order it sums:
 *   scores (16 x tokens) = Q K^T: lane (g, t) = (lane / 4, lane % 4) loads 16 bytes of token g at
 *       column (t + 4 j) of 16 bytes, which are the operands of two steps; Q lies in shared memory
 *       in that same order of columns
 *   output (16 x HEAD) += P V: lane (g, t) loads 16 bytes of the tokens that the scores put into
 *       its P operands; tile i of the output then holds columns g * values + i
 * K of the next tile is asked for as soon as the scores are done, V as soon as the output is: 8
 * loads of 16 bytes a lane are always on the way, 16 most of the time. The warps take tiles in
 * turn; at the end they agree on the largest score and add up.
 *
 * `format` is a constant wherever these functions are inlined.
 */
#define PHASES (HEAD == 256 ? 2 : 1)       /* 8 loads hold this part of a tile's columns */
#define STEPS_OF_TILE (HEAD == 64 ? 2 : 1) /* tensor core steps of tokens in a tile */

#ifndef LLMPERF_CUDA_DECODE_H
#define LLMPERF_CUDA_DECODE_H

enum {
    DECODE_THREADS = KERNEL_DECODE_THREADS,
    DECODE_WARPS = DECODE_THREADS / 32,
    DECODE_ROWS = KERNEL_DECODE_GROUP,
    DECODE_SLICE = 64,        /* columns that the warps add up at a time */
    DECODE_SLICE_STRIDE = 72, /* its rows in shared memory lie in different banks */
    DECODE_ROOM = DECODE_WARPS * DECODE_ROWS * DECODE_SLICE_STRIDE,
    DECODE_STATS = 2 * DECODE_WARPS * DECODE_ROWS + 2 * DECODE_ROWS,
};

typedef struct decode_place {
    const char *k, *v;         /* of this sequence and KV head */
    uint32_t begin, end;       /* tokens of this part */
    uint32_t first_head, rows; /* heads of this pass: rows of them, from first_head on */
    uint32_t sequence, split;
} decode_place;

DEVICE uint32_t decode_step(uint32_t format) /* tokens a tensor core sums at once */
{
    return format == KERNEL_FP32 ? 8 : 16;
}

DEVICE uint32_t value_bytes(uint32_t format)
{
    return format == KERNEL_FP32 ? 4 : 2;
}

/* Scores of a lane: rows g and g + 8, tokens 2 t and 2 t + 1 of each tile of 8. To weights
 * 2^(score - largest); `shrink` is what the earlier sums and outputs are worth now. */
DEVICE void decode_weights(float s[4][4], uint32_t tiles, float scale, float largest[2],
                           float sum[2], float shrink[2])
{
    UNROLL
    for (int half = 0; half < 2; half++) {
        float next = MINUS_INFINITY;
        UNROLL
        for (uint32_t n = 0; n < tiles; n++)
            next = larger(next, larger(s[n][2 * half], s[n][2 * half + 1]));
        next = larger(next, lane_xor(next, 1));
        next = larger(next, lane_xor(next, 2));
        next = larger(largest[half], next * scale);
        shrink[half] = exp2_fast(largest[half] - next);
        largest[half] = next;
        sum[half] *= shrink[half];
        UNROLL
        for (uint32_t n = 0; n < tiles; n++) {
            UNROLL
            for (int i = 2 * half; i < 2 * half + 2; i++) {
                s[n][i] = exp2_fast(s[n][i] * scale - next);
                sum[half] += s[n][i];
            }
        }
    }
}

/* Minus infinity for tokens from `end` on. */
DEVICE void decode_mask(float s[4][4], uint32_t tiles, uint32_t first, uint32_t end)
{
    const uint32_t t = threadIdx.x % 4;
    UNROLL
    for (uint32_t n = 0; n < tiles; n++) {
        UNROLL
        for (uint32_t i = 0; i < 4; i++)
            if (first + 8 * n + 2 * t + i % 2 >= end)
                s[n][i] = MINUS_INFINITY;
    }
}

/* The largest score and the sum of every row over all warps, to stats' last 32 floats. */
DEVICE void decode_agree(const float largest[2], const float sum[2], float *stats)
{
    const uint32_t thread = fresh(threadIdx.x);
    const uint32_t g = thread % 32 / 4, warp = thread / 32;
    float *sums = stats + DECODE_WARPS * DECODE_ROWS, *total = sums + DECODE_WARPS * DECODE_ROWS;
    if (thread % 4 == 0) {
        UNROLL
        for (uint32_t half = 0; half < 2; half++) {
            stats[warp * DECODE_ROWS + g + 8 * half] = largest[half];
            sums[warp * DECODE_ROWS + g + 8 * half] = sum[half];
        }
    }
    block_sync();
    if (thread < DECODE_ROWS) {
        float all = MINUS_INFINITY, all_sum = 0;
        UNROLL
        for (int w = 0; w < DECODE_WARPS; w++)
            all = larger(all, stats[(uint32_t)w * DECODE_ROWS + thread]);
        UNROLL
        for (int w = 0; w < DECODE_WARPS; w++) {
            const uint32_t i = (uint32_t)w * DECODE_ROWS + thread;
            all_sum += sums[i] * exp2_difference(stats[i], all);
        }
        total[2 * thread] = all;
        total[2 * thread + 1] = all_sum;
    }
    block_sync();
}

#endif

/* Q of this pass as the lanes' operands: word4 [step][lane]; rows without a head are zeros. */
DEVICE void NAMED(decode_stage)(const kernel_decode_args *a, const decode_place *at, float *room,
                                uint32_t format)
{
    const uint32_t thread = fresh(threadIdx.x);
    const uint32_t words = HEAD * value_bytes(format) / 4; /* of a row */
    const uint32_t *q =
        (const uint32_t *)a->q + ((uint64_t)at->sequence * a->heads + at->first_head) * words;
    uint32_t *to = (uint32_t *)room;
    NO_UNROLL
    for (uint32_t i = thread; i < DECODE_ROWS * words; i += DECODE_THREADS) {
        const uint32_t lane = i / 4 % 32, step = i / 128;
        const uint32_t row = lane / 4 + 8 * (i % 2);
        const uint32_t column = 4 * (lane % 4 + 4 * (step / 2)) + 2 * (step % 2) + i % 4 / 2;
        to[i] = row < at->rows ? q[row * words + column] : 0;
    }
}

DEVICE void NAMED(decode_load_k)(word4 k[8], const decode_place *at, uint32_t first, uint32_t phase,
                                 uint32_t format)
{
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const uint32_t tiles = STEPS_OF_TILE * decode_step(format) / 8, loads = 8 / tiles;
    UNROLL
    for (uint32_t n = 0; n < tiles; n++) {
        uint32_t token = first + 8 * n + g;
        if (token >= at->end)
            token = at->end - 1;
        const char *row = at->k + (uint64_t)token * (HEAD * value_bytes(format)) + 16 * t;
        UNROLL
        for (uint32_t j = 0; j < loads; j++)
            k[n * loads + j] = load16(row + 64 * (phase * loads + j));
    }
}

DEVICE void NAMED(decode_load_v)(word4 v[8], const decode_place *at, uint32_t first, uint32_t phase,
                                 uint32_t format)
{
    const uint32_t g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    const uint32_t tokens = decode_step(format) / 4, loads = 8 / (STEPS_OF_TILE * tokens);
    UNROLL
    for (uint32_t step = 0; step < STEPS_OF_TILE; step++) {
        UNROLL
        for (uint32_t i = 0; i < tokens; i++) {
            uint32_t token = first + step * decode_step(format) + 2 * t + i % 2 + 8 * (i / 2);
            if (token >= at->end)
                token = at->end - 1;
            const char *row = at->v + (uint64_t)token * (HEAD * value_bytes(format)) + 16 * g;
            UNROLL
            for (uint32_t j = 0; j < loads; j++)
                v[(step * loads + j) * tokens + i] = load16(row + 128 * (phase * loads + j));
        }
    }
}

DEVICE void NAMED(decode_scores)(float s[4][4], const word4 k[8], const float *room, uint32_t phase,
                                 uint32_t format)
{
    const uint32_t tiles = STEPS_OF_TILE * decode_step(format) / 8, loads = 8 / tiles;
    const word4 *q = (const word4 *)room + threadIdx.x % 32;
    UNROLL
    for (uint32_t j = 0; j < loads; j++) {
        UNROLL
        for (uint32_t half = 0; half < 2; half++) {
            const word4 rows = load_shared16(q + 32 * (2 * (phase * loads + j) + half));
            UNROLL
            for (uint32_t n = 0; n < tiles; n++)
                mma(s[n], rows.w, k[n * loads + j].w[2 * half], k[n * loads + j].w[2 * half + 1],
                    format);
        }
    }
}

/* The weights of one step of tokens as the left operand. */
DEVICE void NAMED(decode_weight_operand)(uint32_t p[4], float s[4][4], uint32_t step,
                                         uint32_t format)
{
    if (format == KERNEL_FP32) {
        UNROLL
        for (uint32_t i = 0; i < 4; i++)
            p[i] = float_word(s[step][2 * (i % 2) + i / 2]);
        return;
    }
    UNROLL
    for (uint32_t i = 0; i < 4; i++)
        p[i] = pack_two(s[2 * step + i / 2][2 * (i % 2)], s[2 * step + i / 2][2 * (i % 2) + 1],
                        format);
}

DEVICE void NAMED(decode_output)(float o[HEAD / 8][4], float s[4][4], const word4 v[8],
                                 uint32_t phase, uint32_t format)
{
    const uint32_t tokens = decode_step(format) / 4, loads = 8 / (STEPS_OF_TILE * tokens);
    const uint32_t values = values_of_word4(format);
    UNROLL
    for (uint32_t step = 0; step < STEPS_OF_TILE; step++) {
        uint32_t p[4];
        NAMED(decode_weight_operand)(p, s, step, format);
        UNROLL
        for (uint32_t j = 0; j < loads; j++) {
            UNROLL
            for (uint32_t i = 0; i < values; i++) {
                const word4 *from = &v[(step * loads + j) * tokens];
                float *to = o[(phase * loads + j) * values + i];
                if (format == KERNEL_FP32) {
                    mma(to, p, from[0].w[i], from[1].w[i], format);
                } else {
                    const uint32_t half = i % 2 ? 0x7632 : 0x5410;
                    mma(to, p, byte_permute(from[0].w[i / 2], from[1].w[i / 2], half),
                        byte_permute(from[2].w[i / 2], from[3].w[i / 2], half), format);
                }
            }
        }
    }
}

/* One warp's tiles of this part, every DECODE_WARPS-th of them. */
DEVICE void NAMED(decode_tiles)(float o[HEAD / 8][4], float largest[2], float sum[2],
                                const decode_place *at, const float *room, float scale,
                                uint32_t format)
{
    const uint32_t thread = fresh(threadIdx.x);
    const uint32_t tile = STEPS_OF_TILE * decode_step(format), jump = DECODE_WARPS * tile;
    uint32_t first = at->begin + thread / 32 * tile;
    word4 k[8], v[8];
    if (first >= at->end)
        return;
    NAMED(decode_load_k)(k, at, first, 0, format);
    NAMED(decode_load_v)(v, at, first, 0, format);
    NO_UNROLL
    for (; first < at->end; first += jump) {
        float s[4][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, shrink[2];
        UNROLL
        for (uint32_t phase = 0; phase < PHASES; phase++) {
            NAMED(decode_scores)(s, k, room, phase, format);
            if (phase + 1 < PHASES)
                NAMED(decode_load_k)(k, at, first, phase + 1, format);
            else if (first + jump < at->end)
                NAMED(decode_load_k)(k, at, first + jump, 0, format);
        }
        if (first + tile > at->end)
            decode_mask(s, tile / 8, first, at->end);
        decode_weights(s, tile / 8, scale, largest, sum, shrink);
        UNROLL
        for (uint32_t i = 0; i < HEAD / 8; i++) {
            UNROLL
            for (uint32_t j = 0; j < 4; j++)
                o[i][j] *= shrink[j / 2];
        }
        UNROLL
        for (uint32_t phase = 0; phase < PHASES; phase++) {
            NAMED(decode_output)(o, s, v, phase, format);
            if (phase + 1 < PHASES)
                NAMED(decode_load_v)(v, at, first, phase + 1, format);
            else if (first + jump < at->end)
                NAMED(decode_load_v)(v, at, first + jump, 0, format);
        }
    }
}

/* Row and column (of a slice) of one result: added over the warps, to where it belongs. */
DEVICE void NAMED(decode_store)(const kernel_decode_args *a, const decode_place *at,
                                const float *room, const float *total, uint32_t row, uint32_t slice,
                                uint32_t column, uint32_t format)
{
    const uint32_t values = values_of_word4(format);
    const uint32_t tile = column / (8 * values) * values + column % values;
    const uint64_t head = (uint64_t)at->sequence * a->heads + at->first_head + row;
    float value = 0;
    UNROLL
    for (uint32_t warp = 0; warp < DECODE_WARPS; warp++)
        value += room[(warp * DECODE_ROWS + row) * DECODE_SLICE_STRIDE + 8 * tile +
                      column % (8 * values) / values];
    column += slice * DECODE_SLICE;
    if (a->splits == 1)
        store_value(a->o, head * HEAD + column, value / total[2 * row + 1], format);
    else
        a->partial[(head * a->splits + at->split) * HEAD + column] = value;
}

DEVICE void NAMED(decode_merge)(const kernel_decode_args *a, const decode_place *at,
                                float o[HEAD / 8][4], const float largest[2], float *room,
                                float *stats, uint32_t format)
{
    const uint32_t thread = fresh(threadIdx.x);
    const uint32_t warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
    const float *total = stats + 2 * DECODE_WARPS * DECODE_ROWS;
    const float factor[2] = {exp2_difference(largest[0], total[2 * g]),
                             exp2_difference(largest[1], total[2 * (g + 8)])};
    UNROLL
    for (uint32_t slice = 0; slice < HEAD / DECODE_SLICE; slice++) {
        UNROLL
        for (uint32_t i = 0; i < 8; i++) {
            UNROLL
            for (uint32_t j = 0; j < 4; j++)
                room[(warp * DECODE_ROWS + g + 8 * (j / 2)) * DECODE_SLICE_STRIDE + 8 * i + 2 * t +
                     j % 2] = o[8 * slice + i][j] * factor[j / 2];
        }
        block_sync();
        NO_UNROLL
        for (uint32_t i = thread; i < at->rows * DECODE_SLICE; i += DECODE_THREADS)
            NAMED(decode_store)
        (a, at, room, total, i / DECODE_SLICE, slice, i % DECODE_SLICE, format);
        block_sync();
    }
    if (a->splits > 1 && thread < at->rows) {
        const uint64_t head = (uint64_t)at->sequence * a->heads + at->first_head + thread;
        float *to = a->max_sum + 2 * (head * a->splits + at->split);
        to[0] = total[2 * thread];
        to[1] = total[2 * thread + 1];
    }
}

/* Where this block works in this pass. Blocks and lanes are read anew each time (fresh), so that no
 * register holds what only the beginning and the end need while the tiles stream. */
DEVICE void NAMED(decode_locate)(const kernel_decode_args *a, uint32_t pass, uint32_t format,
                                 decode_place *at)
{
    const uint32_t group = a->heads / a->kv_heads, kv_head = fresh(blockIdx.y);
    const uint32_t tile = STEPS_OF_TILE * decode_step(format);
    const uint32_t part = ((a->tokens + a->splits - 1) / a->splits + tile - 1) / tile * tile;
    at->sequence = fresh(blockIdx.z);
    at->split = fresh(blockIdx.x);
    const uint64_t cache =
        ((uint64_t)at->sequence * a->kv_heads + kv_head) * a->tokens * (HEAD * value_bytes(format));
    at->k = (const char *)a->k + cache;
    at->v = (const char *)a->v + cache;
    at->begin = at->split * part;
    at->end = at->begin + part < a->tokens ? at->begin + part : a->tokens;
    at->first_head = kv_head * group + pass;
    at->rows = group - pass < DECODE_ROWS ? group - pass : DECODE_ROWS;
}

DEVICE void NAMED(decode_pass)(const kernel_decode_args *a, uint32_t pass, float *room,
                               float *stats, uint32_t format)
{
    float o[HEAD / 8][4], sum[2] = {0, 0};
    float largest[2] = {MINUS_INFINITY, MINUS_INFINITY};
    decode_place at;
    UNROLL
    for (uint32_t i = 0; i < HEAD / 8; i++) {
        UNROLL
        for (uint32_t j = 0; j < 4; j++)
            o[i][j] = 0;
    }
    NAMED(decode_locate)(a, pass, format, &at);
    NAMED(decode_stage)(a, &at, room, format);
    block_sync();
    NAMED(decode_tiles)(o, largest, sum, &at, room, a->scale * LOG2_E, format);
    UNROLL
    for (int half = 0; half < 2; half++) {
        sum[half] += lane_xor(sum[half], 1);
        sum[half] += lane_xor(sum[half], 2);
    }
    decode_agree(largest, sum, stats);
    NAMED(decode_locate)(a, pass, format, &at);
    NAMED(decode_merge)(a, &at, o, largest, room, stats, format);
}

DEVICE void NAMED(decode)(const kernel_decode_args *a, float *room, float *stats, uint32_t format)
{
    NO_UNROLL
    for (uint32_t pass = 0; pass < a->heads / a->kv_heads; pass += DECODE_ROWS)
        NAMED(decode_pass)(a, pass, room, stats, format);
}

KERNEL BOUNDS(DECODE_THREADS, HEAD <= 128 ? 3 : 2) NAMED(kernel_decode)(const kernel_decode_args a)
{
    SHARED(float, room, DECODE_ROOM);
    SHARED(float, stats, DECODE_STATS);
    if (a.format == KERNEL_FP16)
        NAMED(decode)(&a, room, stats, KERNEL_FP16);
    else if (a.format == KERNEL_BF16)
        NAMED(decode)(&a, room, stats, KERNEL_BF16);
    else
        NAMED(decode)(&a, room, stats, KERNEL_FP32);
}

/* One thread a column. */
KERNEL BOUNDS(HEAD, 1) NAMED(kernel_decode_merge)(const kernel_decode_args a)
{
    const uint64_t head = (uint64_t)blockIdx.y * a.heads + blockIdx.x;
    const float *max_sum = a.max_sum + 2 * head * a.splits;
    float all = MINUS_INFINITY, sum = 0, value = 0;
    for (uint32_t split = 0; split < a.splits; split++)
        all = larger(all, max_sum[2 * split]);
    for (uint32_t split = 0; split < a.splits; split++) {
        const float factor = exp2_difference(max_sum[2 * split], all);
        sum += max_sum[2 * split + 1] * factor;
        value += a.partial[(head * a.splits + split) * HEAD + threadIdx.x] * factor;
    }
    store_value(a.o, head * HEAD + threadIdx.x, value / sum, a.format);
}

#undef PHASES
#undef STEPS_OF_TILE
