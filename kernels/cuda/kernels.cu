/* SPDX-License-Identifier: MIT */
/*
 * The device kernels of the CUDA backend, in the part of CUDA that is also C: the tests compile this
 * very file with the C compiler (tests/cuda/shim.h). What each kernel takes and does: kernels.h;
 * bytes, flop and design: docs/kernels.md. Attention: decode.h and prefill.h.
 */
#include "device.h"
#include "kernels.h"

enum {
    THREADS = KERNEL_THREADS,
    WARPS = KERNEL_THREADS / 32,
    STREAM_LOADS = 8, /* 16-byte loads of one thread in flight */
    HELD = 4,         /* 16-byte words of a row that one thread keeps in registers */
};

/* ---- values of a format ------------------------------------------------------------------------ */

DEVICE uint32_t values_of_word4(uint32_t format)
{
    return format == KERNEL_FP32 ? 4 : 8;
}

/* The values of 16 bytes; `format` is fp32 (4 of them), fp16 or bf16 (8). */
DEVICE void unpack(float value[8], word4 words, uint32_t format)
{
    UNROLL
    for (int i = 0; i < 4; i++) {
        if (format == KERNEL_FP32) {
            value[i] = word_float(words.w[i]);
        } else if (format == KERNEL_FP16) {
            value[2 * i] = half_float(words.w[i] & 0xffff);
            value[2 * i + 1] = half_float(words.w[i] >> 16);
        } else {
            value[2 * i] = word_float(words.w[i] << 16);
            value[2 * i + 1] = word_float(words.w[i] & 0xffff0000);
        }
    }
}

DEVICE word4 pack(const float value[8], uint32_t format)
{
    word4 words;
    UNROLL
    for (int i = 0; i < 4; i++) {
        if (format == KERNEL_FP32)
            words.w[i] = float_word(value[i]);
        else if (format == KERNEL_FP16)
            words.w[i] = pack_half(value[2 * i], value[2 * i + 1]);
        else
            words.w[i] = pack_bf16(value[2 * i], value[2 * i + 1]);
    }
    return words;
}

/* e4m3: 4 bits of exponent (bias 7), 3 of fraction, no infinity. */
DEVICE float fp8_float(uint32_t bits)
{
    uint32_t sign = (bits & 0x80) << 24, exponent = bits >> 3 & 15, fraction = bits & 7;
    if ((bits & 0x7f) == 0x7f)
        return word_float(0x7fc00000);
    if (exponent == 0)
        return word_float(float_word((float)fraction * 0x1p-9f) | sign);
    return word_float(sign | (exponent + 120) << 23 | fraction << 20);
}

/* e2m1: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives. */
DEVICE float fp4_float(uint32_t bits)
{
    uint32_t exponent = bits >> 1 & 3, fraction = bits & 1;
    float magnitude =
        exponent ? (float)((2 + fraction) << (exponent - 1)) * 0.5f : (float)fraction * 0.5f;
    return bits & 8 ? -magnitude : magnitude;
}

/* Value i of an array in any format. */
DEVICE double value_at(const void *data, uint64_t i, uint32_t format)
{
    const uint8_t *bytes = (const uint8_t *)data;
    switch (format) {
    case KERNEL_FP32:
        return (double)((const float *)data)[i];
    case KERNEL_FP16:
        return (double)half_float(((const uint16_t *)data)[i]);
    case KERNEL_BF16:
        return (double)word_float((uint32_t)((const uint16_t *)data)[i] << 16);
    case KERNEL_FP8:
        return (double)fp8_float(bytes[i]);
    case KERNEL_INT8:
        return (double)((const int8_t *)data)[i];
    case KERNEL_FP4:
        return (double)fp4_float(bytes[i / 2] >> 4 * (i % 2) & 15);
    default:
        return (double)((const int32_t *)data)[i];
    }
}

DEVICE void store_value(void *data, uint64_t i, float value, uint32_t format)
{
    if (format == KERNEL_FP32)
        ((float *)data)[i] = value;
    else
        ((uint16_t *)data)[i] =
            (uint16_t)(format == KERNEL_FP16 ? float_half(value) : float_bf16(value));
}

/* ---- sums over a block --------------------------------------------------------------------------- */

/* The sum of every thread's value, in all of them. `room`: one float for each warp. */
DEVICE float block_sum(float value, float *room)
{
    UNROLL
    for (int mask = 16; mask; mask /= 2)
        value += lane_xor(value, mask);
    block_sync();
    if (threadIdx.x % 32 == 0)
        room[threadIdx.x / 32] = value;
    block_sync();
    value = 0;
    UNROLL
    for (int i = 0; i < WARPS; i++)
        value += room[i];
    return value;
}

DEVICE float block_largest(float value, float *room)
{
    UNROLL
    for (int mask = 16; mask; mask /= 2)
        value = larger(value, lane_xor(value, mask));
    block_sync();
    if (threadIdx.x % 32 == 0)
        room[threadIdx.x / 32] = value;
    block_sync();
    value = room[0];
    UNROLL
    for (int i = 1; i < WARPS; i++)
        value = larger(value, room[i]);
    return value;
}

/* ---- fill ------------------------------------------------------------------------------------------ */

/* b / 2^7 as e4m3, to nearest even. */
DEVICE uint32_t fill_fp8(int32_t b)
{
    uint32_t sign = b < 0 ? 0x80 : 0, magnitude = (uint32_t)(b < 0 ? -b : b);
    uint32_t bits = float_word((float)magnitude * 0x1p-7f);
    uint32_t normal = ((bits + 0x7ffff + (bits >> 20 & 1)) >> 20) - (120 << 3);
    return sign | (magnitude < 2 ? magnitude * 4 : normal);
}

DEVICE uint32_t fill_byte(uint32_t bits, uint32_t format)
{
    int32_t b = (int32_t)(bits ^ 0x80) - 0x80; /* eight bits with a sign */
    if (format == KERNEL_FP8)
        return fill_fp8(b);
    return (uint32_t)(b == -128 ? -127 : b) & 0xff;
}

/* Nibble n: the code of n / 2^3, n from -8 to 7. */
#define FILL_FP4 0x00999aaa22111000u

/* Random bits to four bytes of values. */
DEVICE uint32_t fill_word(uint32_t bits, uint32_t format)
{
    uint32_t word = 0;
    if (format == KERNEL_FP32)
        return float_word((float)(int32_t)bits * 0x1p-31f);
    if (format == KERNEL_FP16 || format == KERNEL_BF16) {
        float low = (float)(int16_t)(bits & 0xffff) * 0x1p-15f;
        float high = (float)(int16_t)(bits >> 16) * 0x1p-15f;
        return format == KERNEL_FP16 ? pack_half(low, high) : pack_bf16(low, high);
    }
    if (format == KERNEL_FP4) {
        UNROLL
        for (int i = 0; i < 8; i++)
            word |= (uint32_t)(FILL_FP4 >> 4 * (bits >> 4 * i & 15) & 15) << 4 * i;
        return word;
    }
    UNROLL
    for (int i = 0; i < 4; i++)
        word |= fill_byte(bits >> 8 * i & 0xff, format) << 8 * i;
    return word;
}

DEVICE word4 fill_word4(uint32_t seed, uint64_t i, uint32_t format)
{
    uint64_t first = kernel_random(seed, 2 * i), second = kernel_random(seed, 2 * i + 1);
    word4 words;
    words.w[0] = fill_word((uint32_t)first, format);
    words.w[1] = fill_word((uint32_t)(first >> 32), format);
    words.w[2] = fill_word((uint32_t)second, format);
    words.w[3] = fill_word((uint32_t)(second >> 32), format);
    return words;
}

/* The last, incomplete 16 bytes: `bytes` whole ones and half a byte when fp4's count is odd. */
DEVICE void fill_tail(const kernel_fill_args *a, uint64_t i, uint32_t bytes)
{
    const word4 words = fill_word4(a->seed, i, a->format);
    uint8_t *to = (uint8_t *)a->data + 16 * i;
    UNROLL
    for (uint32_t byte = 0; byte < 16; byte++)
        if (byte < bytes)
            to[byte] = (uint8_t)(words.w[byte / 4] >> 8 * (byte % 4));
    if (a->format == KERNEL_FP4 && a->count % 2)
        to[bytes - 1] &= 15;
}

DEVICE void fill(const kernel_fill_args *a, uint32_t format)
{
    const uint64_t bits = format == KERNEL_FP32   ? 32
                          : format == KERNEL_FP16 ? 16
                          : format == KERNEL_BF16 ? 16
                          : format == KERNEL_FP4  ? 4
                                                  : 8;
    const uint64_t bytes = (a->count * bits + 7) / 8, whole = a->count * bits / 128;
    const uint64_t step = (uint64_t)gridDim.x * THREADS;
    uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    for (; i < whole; i += step)
        store16((uint8_t *)a->data + 16 * i, fill_word4(a->seed, i, format));
    if (i == whole && bytes > 16 * whole)
        fill_tail(a, whole, (uint32_t)(bytes - 16 * whole));
}

KERNEL BOUNDS(THREADS, 4) kernel_fill(const kernel_fill_args a)
{
    switch (a.format) {
    case KERNEL_FP32:
        fill(&a, KERNEL_FP32);
        break;
    case KERNEL_FP16:
        fill(&a, KERNEL_FP16);
        break;
    case KERNEL_BF16:
        fill(&a, KERNEL_BF16);
        break;
    case KERNEL_FP8:
        fill(&a, KERNEL_FP8);
        break;
    case KERNEL_INT8:
        fill(&a, KERNEL_INT8);
        break;
    default:
        fill(&a, KERNEL_FP4);
    }
}

/* ---- streams ------------------------------------------------------------------------------------------ */

/* A block takes `loads` x THREADS words at a time; thread t takes words t, t + THREADS, ... of them. */
#define STREAM_FIRST(loads) ((uint64_t)blockIdx.x * THREADS * (loads) + threadIdx.x)
#define STREAM_STEP(loads) ((uint64_t)gridDim.x * THREADS * (loads))

DEVICE const char *word_of(const void *data, uint64_t i)
{
    return (const char *)data + 16 * i;
}

DEVICE uint32_t sum_of(word4 v)
{
    return v.w[0] + v.w[1] + v.w[2] + v.w[3];
}

DEVICE word4 triad_of(word4 a, word4 b, float scale)
{
    word4 c;
    UNROLL
    for (int i = 0; i < 4; i++)
        c.w[i] = float_word(word_float(a.w[i]) + scale * word_float(b.w[i]));
    return c;
}

KERNEL BOUNDS(THREADS, 4) kernel_read(const kernel_stream_args a)
{
    SHARED(uint32_t, room, WARPS);
    uint64_t i = STREAM_FIRST(STREAM_LOADS);
    uint32_t sum = 0;
    for (; i + (STREAM_LOADS - 1) * THREADS < a.words; i += STREAM_STEP(STREAM_LOADS)) {
        word4 v[STREAM_LOADS];
        UNROLL
        for (int j = 0; j < STREAM_LOADS; j++)
            v[j] = load16(word_of(a.a, i + (uint64_t)j * THREADS));
        UNROLL
        for (int j = 0; j < STREAM_LOADS; j++)
            sum += sum_of(v[j]);
    }
    UNROLL
    for (int j = 0; j < STREAM_LOADS; j++)
        if (i + (uint64_t)j * THREADS < a.words)
            sum += sum_of(load16(word_of(a.a, i + (uint64_t)j * THREADS)));
    UNROLL
    for (int mask = 16; mask; mask /= 2)
        sum += lane_xor_word(sum, mask);
    if (threadIdx.x % 32 == 0)
        room[threadIdx.x / 32] = sum;
    block_sync();
    if (threadIdx.x == 0) {
        sum = 0;
        UNROLL
        for (int j = 0; j < WARPS; j++)
            sum += room[j];
        add_atomic(a.sink, sum);
    }
}

KERNEL BOUNDS(THREADS, 4) kernel_write(const kernel_stream_args a)
{
    const uint32_t word = float_word(a.scale);
    const word4 value = {{word, word, word, word}};
    uint64_t i = STREAM_FIRST(STREAM_LOADS);
    for (; i + (STREAM_LOADS - 1) * THREADS < a.words; i += STREAM_STEP(STREAM_LOADS)) {
        UNROLL
        for (int j = 0; j < STREAM_LOADS; j++)
            store16((char *)a.c + 16 * (i + (uint64_t)j * THREADS), value);
    }
    UNROLL
    for (int j = 0; j < STREAM_LOADS; j++)
        if (i + (uint64_t)j * THREADS < a.words)
            store16((char *)a.c + 16 * (i + (uint64_t)j * THREADS), value);
}

KERNEL BOUNDS(THREADS, 4) kernel_copy(const kernel_stream_args a)
{
    uint64_t i = STREAM_FIRST(STREAM_LOADS);
    for (; i + (STREAM_LOADS - 1) * THREADS < a.words; i += STREAM_STEP(STREAM_LOADS)) {
        word4 v[STREAM_LOADS];
        UNROLL
        for (int j = 0; j < STREAM_LOADS; j++)
            v[j] = load16(word_of(a.a, i + (uint64_t)j * THREADS));
        UNROLL
        for (int j = 0; j < STREAM_LOADS; j++)
            store16((char *)a.c + 16 * (i + (uint64_t)j * THREADS), v[j]);
    }
    UNROLL
    for (int j = 0; j < STREAM_LOADS; j++)
        if (i + (uint64_t)j * THREADS < a.words)
            store16((char *)a.c + 16 * (i + (uint64_t)j * THREADS),
                    load16(word_of(a.a, i + (uint64_t)j * THREADS)));
}

/* Two arrays to read: half as many words of each, as many loads in flight. */
KERNEL BOUNDS(THREADS, 4) kernel_triad(const kernel_stream_args a)
{
    enum { LOADS = STREAM_LOADS / 2 };
    uint64_t i = STREAM_FIRST(LOADS);
    for (; i + (LOADS - 1) * THREADS < a.words; i += STREAM_STEP(LOADS)) {
        word4 v[LOADS], w[LOADS];
        UNROLL
        for (int j = 0; j < LOADS; j++)
            v[j] = load16(word_of(a.a, i + (uint64_t)j * THREADS));
        UNROLL
        for (int j = 0; j < LOADS; j++)
            w[j] = load16(word_of(a.b, i + (uint64_t)j * THREADS));
        UNROLL
        for (int j = 0; j < LOADS; j++)
            store16((char *)a.c + 16 * (i + (uint64_t)j * THREADS), triad_of(v[j], w[j], a.scale));
    }
    UNROLL
    for (int j = 0; j < LOADS; j++)
        if (i + (uint64_t)j * THREADS < a.words)
            store16((char *)a.c + 16 * (i + (uint64_t)j * THREADS),
                    triad_of(load16(word_of(a.a, i + (uint64_t)j * THREADS)),
                             load16(word_of(a.b, i + (uint64_t)j * THREADS)), a.scale));
}

/* ---- launches -------------------------------------------------------------------------------------------- */

KERNEL kernel_empty(const kernel_empty_args a)
{
    (void)a;
}

KERNEL kernel_block(const kernel_block_args a)
{
    const uint64_t start = clock_ns();
    while (load_host(a.flag) == 0) {
        if (clock_ns() - start > a.limit_ns) {
            if (a.late)
                *a.late = 1;
            return;
        }
        rest();
    }
}

/* ---- elementwise, norm, softmax, gather ---------------------------------------------------------------------- */

/* log2(e): exponentials are powers of two. */
#define LOG2_E 1.44269504f

DEVICE float elementwise_of(float a, float b, float c, float d, int inputs)
{
    if (inputs == 1)
        return larger(a, 0) * larger(a, 0);
    float value = a * reciprocal_fast(1 + exp2_fast(-LOG2_E * a)) * b;
    if (inputs > 2)
        value += c;
    if (inputs > 3)
        value += d;
    return value;
}

DEVICE word4 elementwise_word4(const kernel_elementwise_args *a, uint64_t i, uint32_t format,
                               int inputs)
{
    float in[4][8], out[8];
    word4 words[4];
    UNROLL
    for (int j = 0; j < inputs; j++)
        words[j] = load16(word_of(a->in[j], i));
    UNROLL
    for (int j = 0; j < 4; j++) {
        UNROLL
        for (int v = 0; v < 8; v++)
            in[j][v] = 0;
        if (j < inputs)
            unpack(in[j], words[j], format);
    }
    UNROLL
    for (int v = 0; v < 8; v++)
        out[v] = elementwise_of(in[0][v], in[1][v], in[2][v], in[3][v], inputs);
    return pack(out, format);
}

DEVICE float elementwise_value(const kernel_elementwise_args *a, uint64_t i, uint32_t format,
                               int inputs)
{
    float in[4] = {0, 0, 0, 0};
    UNROLL
    for (int j = 0; j < inputs; j++)
        in[j] = (float)value_at(a->in[j], i, format);
    return elementwise_of(in[0], in[1], in[2], in[3], inputs);
}

DEVICE void elementwise(const kernel_elementwise_args *a, uint32_t format, int inputs)
{
    enum { WORDS = 2 }; /* of each input in flight */
    const uint64_t words = a->count / values_of_word4(format);
    uint64_t i = STREAM_FIRST(WORDS);
    for (; i + (WORDS - 1) * THREADS < words; i += STREAM_STEP(WORDS)) {
        word4 out[WORDS];
        UNROLL
        for (int j = 0; j < WORDS; j++)
            out[j] = elementwise_word4(a, i + (uint64_t)j * THREADS, format, inputs);
        UNROLL
        for (int j = 0; j < WORDS; j++)
            store16((char *)a->out + 16 * (i + (uint64_t)j * THREADS), out[j]);
    }
    UNROLL
    for (int j = 0; j < WORDS; j++)
        if (i + (uint64_t)j * THREADS < words)
            store16((char *)a->out + 16 * (i + (uint64_t)j * THREADS),
                    elementwise_word4(a, i + (uint64_t)j * THREADS, format, inputs));
    i = words * values_of_word4(format) + threadIdx.x;
    if (blockIdx.x == 0 && i < a->count)
        store_value(a->out, i, elementwise_value(a, i, format, inputs), format);
}

DEVICE void elementwise_any(const kernel_elementwise_args *a, uint32_t format)
{
    if (a->inputs == 1)
        elementwise(a, format, 1);
    else if (a->inputs == 2)
        elementwise(a, format, 2);
    else if (a->inputs == 3)
        elementwise(a, format, 3);
    else
        elementwise(a, format, 4);
}

KERNEL BOUNDS(THREADS, 2) kernel_elementwise(const kernel_elementwise_args a)
{
    if (a.format == KERNEL_FP32)
        elementwise_any(&a, KERNEL_FP32);
    else if (a.format == KERNEL_FP16)
        elementwise_any(&a, KERNEL_FP16);
    else
        elementwise_any(&a, KERNEL_BF16);
}

DEVICE float norm_squares(word4 words, uint32_t format)
{
    float v[8], sum = 0;
    unpack(v, words, format);
    UNROLL
    for (int i = 0; i < 8; i++)
        if (i < (int)values_of_word4(format))
            sum += v[i] * v[i];
    return sum;
}

DEVICE word4 norm_word4(word4 words, word4 weights, float scale, uint32_t format)
{
    float v[8], w[8];
    unpack(v, words, format);
    unpack(w, weights, format);
    UNROLL
    for (int i = 0; i < 8; i++)
        if (i < (int)values_of_word4(format))
            v[i] = v[i] * scale * w[i];
    return pack(v, format);
}

DEVICE float norm_scale(float sum, uint32_t columns)
{
    return reciprocal_root(sum / (float)columns + KERNEL_NORM_EPSILON);
}

/* A row of whole 16-byte words; the first HELD x THREADS of them stay in registers. */
DEVICE void norm_row(const kernel_norm_args *a, uint64_t row, uint32_t format, float *room)
{
    const uint32_t words = a->columns / values_of_word4(format);
    const uint64_t first = row * words;
    word4 held[HELD];
    float sum = 0;
    UNROLL
    for (int j = 0; j < HELD; j++)
        if (threadIdx.x + (uint32_t)j * THREADS < words)
            held[j] = load16(word_of(a->in, first + threadIdx.x + (uint64_t)j * THREADS));
    UNROLL
    for (int j = 0; j < HELD; j++)
        if (threadIdx.x + (uint32_t)j * THREADS < words)
            sum += norm_squares(held[j], format);
    for (uint32_t i = threadIdx.x + HELD * THREADS; i < words; i += THREADS)
        sum += norm_squares(load16(word_of(a->in, first + i)), format);
    const float scale = norm_scale(block_sum(sum, room), a->columns);
    UNROLL
    for (int j = 0; j < HELD; j++) {
        const uint32_t i = threadIdx.x + (uint32_t)j * THREADS;
        if (i < words)
            store16((char *)a->out + 16 * (first + i),
                    norm_word4(held[j], load16(word_of(a->weight, i)), scale, format));
    }
    for (uint32_t i = threadIdx.x + HELD * THREADS; i < words; i += THREADS)
        store16((char *)a->out + 16 * (first + i),
                norm_word4(load16(word_of(a->in, first + i)), load16(word_of(a->weight, i)), scale,
                           format));
}

/* Any number of columns, a value at a time. */
DEVICE void norm_row_slow(const kernel_norm_args *a, uint64_t row, float *room)
{
    const uint64_t first = row * a->columns;
    float sum = 0;
    for (uint32_t i = threadIdx.x; i < a->columns; i += THREADS) {
        float v = (float)value_at(a->in, first + i, a->format);
        sum += v * v;
    }
    const float scale = norm_scale(block_sum(sum, room), a->columns);
    for (uint32_t i = threadIdx.x; i < a->columns; i += THREADS)
        store_value(a->out, first + i,
                    (float)value_at(a->in, first + i, a->format) * scale *
                        (float)value_at(a->weight, i, a->format),
                    a->format);
}

KERNEL BOUNDS(THREADS, 3) kernel_norm(const kernel_norm_args a)
{
    SHARED(float, room, WARPS);
    for (uint64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        if (a.columns % values_of_word4(a.format))
            norm_row_slow(&a, row, room);
        else if (a.format == KERNEL_FP32)
            norm_row(&a, row, KERNEL_FP32, room);
        else if (a.format == KERNEL_FP16)
            norm_row(&a, row, KERNEL_FP16, room);
        else
            norm_row(&a, row, KERNEL_BF16, room);
    }
}

#define MINUS_INFINITY word_float(0xff800000)

/* 2^(a - b) where both may be minus infinity: then nothing has been seen yet. */
DEVICE float exp2_difference(float a, float b)
{
    return a == MINUS_INFINITY ? 0 : exp2_fast(a - b);
}

/* Takes one more score, times log2(e), into the largest and the sum of 2^(score - largest). */
DEVICE void softmax_take(float *largest, float *sum, float score)
{
    const float next = larger(*largest, score);
    *sum = *sum * exp2_difference(*largest, next) + exp2_difference(score, next);
    *largest = next;
}

DEVICE void softmax_take_word4(float *largest, float *sum, word4 words, uint32_t format)
{
    const int values = (int)values_of_word4(format);
    float v[8], next = *largest;
    unpack(v, words, format);
    UNROLL
    for (int i = 0; i < 8; i++)
        if (i < values)
            next = larger(next, v[i] * LOG2_E);
    *sum *= exp2_difference(*largest, next);
    UNROLL
    for (int i = 0; i < 8; i++)
        if (i < values)
            *sum += exp2_difference(v[i] * LOG2_E, next);
    *largest = next;
}

DEVICE word4 softmax_word4(word4 words, float largest, float scale, uint32_t format)
{
    float v[8];
    unpack(v, words, format);
    UNROLL
    for (int i = 0; i < 8; i++)
        if (i < (int)values_of_word4(format))
            v[i] = exp2_fast(v[i] * LOG2_E - largest) * scale;
    return pack(v, format);
}

/* The block's largest score, and 1 over the sum relative to it. */
DEVICE void softmax_merge(float *largest, float *sum, float *room)
{
    const float all = block_largest(*largest, room);
    *sum = 1 / block_sum(*sum * exp2_difference(*largest, all), room);
    *largest = all;
}

DEVICE void softmax_row(const kernel_softmax_args *a, uint64_t row, uint32_t format, float *room)
{
    const uint32_t words = a->columns / values_of_word4(format);
    char *data = (char *)a->data + 16 * row * words;
    float largest = MINUS_INFINITY, sum = 0;
    word4 held[HELD];
    UNROLL
    for (int j = 0; j < HELD; j++)
        if (threadIdx.x + (uint32_t)j * THREADS < words)
            held[j] = load16_again(data + 16 * (threadIdx.x + (uint64_t)j * THREADS));
    UNROLL
    for (int j = 0; j < HELD; j++)
        if (threadIdx.x + (uint32_t)j * THREADS < words)
            softmax_take_word4(&largest, &sum, held[j], format);
    for (uint32_t i = threadIdx.x + HELD * THREADS; i < words; i += THREADS)
        softmax_take_word4(&largest, &sum, load16_again(data + (uint64_t)16 * i), format);
    softmax_merge(&largest, &sum, room);
    UNROLL
    for (int j = 0; j < HELD; j++)
        if (threadIdx.x + (uint32_t)j * THREADS < words)
            store16(data + 16 * (threadIdx.x + (uint64_t)j * THREADS),
                    softmax_word4(held[j], largest, sum, format));
    for (uint32_t i = threadIdx.x + HELD * THREADS; i < words; i += THREADS)
        store16(data + (uint64_t)16 * i,
                softmax_word4(load16_again(data + (uint64_t)16 * i), largest, sum, format));
}

DEVICE void softmax_row_slow(const kernel_softmax_args *a, uint64_t row, float *room)
{
    const uint64_t first = row * a->columns;
    float largest = MINUS_INFINITY, sum = 0;
    for (uint32_t i = threadIdx.x; i < a->columns; i += THREADS)
        softmax_take(&largest, &sum, (float)value_at(a->data, first + i, a->format) * LOG2_E);
    softmax_merge(&largest, &sum, room);
    for (uint32_t i = threadIdx.x; i < a->columns; i += THREADS) {
        float score = (float)value_at(a->data, first + i, a->format) * LOG2_E;
        store_value(a->data, first + i, exp2_fast(score - largest) * sum, a->format);
    }
}

KERNEL BOUNDS(THREADS, 3) kernel_softmax(const kernel_softmax_args a)
{
    SHARED(float, room, WARPS);
    for (uint64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        if (a.columns % values_of_word4(a.format))
            softmax_row_slow(&a, row, room);
        else if (a.format == KERNEL_FP32)
            softmax_row(&a, row, KERNEL_FP32, room);
        else if (a.format == KERNEL_FP16)
            softmax_row(&a, row, KERNEL_FP16, room);
        else
            softmax_row(&a, row, KERNEL_BF16, room);
    }
}

KERNEL BOUNDS(THREADS, 4) kernel_gather(const kernel_gather_args a)
{
    enum { LOADS = 4 };
    const uint32_t words = a.row_bytes / 16;
    for (uint64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        const uint64_t from = kernel_random(a.seed, row) % a.table_rows;
        for (uint32_t i = threadIdx.x; i < words; i += LOADS * THREADS) {
            word4 v[LOADS];
            UNROLL
            for (int j = 0; j < LOADS; j++)
                if (i + (uint32_t)j * THREADS < words)
                    v[j] = load16(word_of(a.table, from * words + i + (uint64_t)j * THREADS));
            UNROLL
            for (int j = 0; j < LOADS; j++)
                if (i + (uint32_t)j * THREADS < words)
                    store16((char *)a.out + 16 * (row * words + i + (uint64_t)j * THREADS), v[j]);
        }
    }
}

/* ---- the check of a product ------------------------------------------------------------------------------------ */

/* Sums of two values over the block, in thread 0. */
DEVICE void block_sum_doubles(double *first, double *second, double *room)
{
    UNROLL
    for (int mask = 16; mask; mask /= 2) {
        *first += lane_xor_double(*first, mask);
        *second += lane_xor_double(*second, mask);
    }
    block_sync();
    if (threadIdx.x % 32 == 0) {
        room[threadIdx.x / 32] = *first;
        room[WARPS + threadIdx.x / 32] = *second;
    }
    block_sync();
    *first = *second = 0;
    for (int i = 0; i < WARPS; i++) {
        *first += room[i];
        *second += room[WARPS + i];
    }
}

KERNEL BOUNDS(THREADS, 2) kernel_gemm_check(const kernel_check_args a)
{
    SHARED(double, room, 2 * WARPS);
    for (uint32_t i = blockIdx.x; i < a.count; i += gridDim.x) {
        const uint64_t row = kernel_random(a.seed, 2 * (uint64_t)i) % a.m;
        const uint64_t column = kernel_random(a.seed, 2 * (uint64_t)i + 1) % a.n;
        double sum = 0, magnitude = 0;
        for (uint64_t k = threadIdx.x; k < a.k; k += THREADS) {
            const double product =
                value_at(a.a, row * a.k + k, a.format) * value_at(a.b, column * a.k + k, a.format);
            sum += product;
            magnitude += product < 0 ? -product : product;
        }
        block_sum_doubles(&sum, &magnitude, room);
        if (threadIdx.x == 0) {
            a.expected[i] = sum * a.scale;
            a.magnitude[i] = magnitude * (a.scale < 0 ? -a.scale : a.scale);
            a.found[i] = value_at(a.d, row * a.n + column, a.out_format);
        }
    }
}

/* ---- attention: one source for each head size ------------------------------------------------------------------ */

/* c += a b on the tensor cores. fp32: each operand as a sum of two tf32 values, whose products but
 * the least are added: about 2^-21 of the product is lost. */
DEVICE void mma(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1, uint32_t format)
{
    const uint32_t kept = 0xffffe000;
    uint32_t low[4];
    if (format == KERNEL_FP16) {
        mma_half(c, a, b0, b1);
    } else if (format == KERNEL_BF16) {
        mma_bf16(c, a, b0, b1);
    } else {
        const uint32_t low0 = float_word(word_float(b0) - word_float(b0 & kept));
        const uint32_t low1 = float_word(word_float(b1) - word_float(b1 & kept));
        UNROLL
        for (int i = 0; i < 4; i++)
            low[i] = float_word(word_float(a[i]) - word_float(a[i] & kept));
        mma_tf32(c, low, b0, b1);
        mma_tf32(c, a, low0, low1);
        mma_tf32(c, a, b0, b1);
    }
}

DEVICE uint32_t pack_two(float low, float high, uint32_t format)
{
    return format == KERNEL_FP16 ? pack_half(low, high) : pack_bf16(low, high);
}

#define JOIN_WORDS(a, b) a##_##b
#define JOIN(a, b) JOIN_WORDS(a, b)
#define NAMED(name) JOIN(name, HEAD)

#define HEAD 64
#include "decode.h"
#include "prefill.h"
#undef HEAD
#define HEAD 128
#include "decode.h"
#include "prefill.h"
#undef HEAD
#define HEAD 256
#include "decode.h"
#include "prefill.h"
#undef HEAD
