/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

/* ---- formats ----------------------------------------------------------------------------------- */

/* Bits of a value, of its exponent and its fraction; the exponent's bias. */
static const struct format_row {
    unsigned bits, exponent, fraction;
    int bias;
} FORMATS[] = {
    [KERNEL_FP32] = {32, 8, 23, 127}, [KERNEL_FP16] = {16, 5, 10, 15},
    [KERNEL_BF16] = {16, 8, 7, 127},  [KERNEL_FP8] = {8, 4, 3, 7},
    [KERNEL_INT8] = {8, 0, 0, 0},     [KERNEL_FP4] = {4, 2, 1, 1},
    [KERNEL_INT32] = {32, 0, 0, 0},
};

size_t reference_bytes(uint64_t count, uint32_t format)
{
    return (size_t)((count * FORMATS[format].bits + 7) / 8);
}

/* `bits` of an array at index i, lowest first. */
static uint32_t bits_at(const void *data, uint64_t i, unsigned bits)
{
    const unsigned char *bytes = data;
    uint32_t value = 0;
    if (bits < 8)
        return bytes[i / 2] >> 4 * (i % 2) & 15;
    memcpy(&value, bytes + i * (bits / 8), bits / 8);
    return value;
}

static double decode_bits(uint32_t bits, uint32_t format)
{
    const struct format_row *f = &FORMATS[format];
    if (format == KERNEL_INT8)
        return (int8_t)bits;
    if (format == KERNEL_INT32)
        return (int32_t)bits;
    const uint32_t fraction = bits & ((1u << f->fraction) - 1);
    const uint32_t exponent = bits >> f->fraction & ((1u << f->exponent) - 1);
    const double sign = bits >> (f->bits - 1) & 1 ? -1 : 1;
    const int ieee = format == KERNEL_FP32 || format == KERNEL_FP16 || format == KERNEL_BF16;
    if (ieee && exponent == (1u << f->exponent) - 1)
        return fraction ? NAN : sign * INFINITY;
    if (format == KERNEL_FP8 && (bits & 0x7f) == 0x7f)
        return NAN;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - f->bias - (int)f->fraction);
    const uint64_t wide =
        (uint64_t)((int)exponent - f->bias + 1023) << 52 | (uint64_t)fraction << (52 - f->fraction);
    double magnitude;
    memcpy(&magnitude, &wide, sizeof magnitude);
    return sign * magnitude;
}

double reference_value(const void *data, uint64_t i, uint32_t format)
{
    return decode_bits(bits_at(data, i, FORMATS[format].bits), format);
}

uint32_t reference_round(double x, uint32_t format)
{
    const struct format_row *f = &FORMATS[format];
    const uint32_t sign = signbit(x) ? 1u << (f->bits - 1) : 0;
    int power;
    double magnitude = fabs(x);
    if (magnitude == 0)
        return sign;
    frexp(magnitude, &power); /* magnitude = [0.5, 1) 2^power */
    int exponent = power - 1 + f->bias;
    if (exponent < 1)
        exponent = 1; /* subnormal: the smallest exponent's spacing */
    /* in units of the last place; nearbyint rounds to even */
    uint32_t units = (uint32_t)nearbyint(ldexp(magnitude, (int)f->fraction - (exponent - f->bias)));
    return sign | ((((uint32_t)exponent - 1) << f->fraction) + units);
}

/* ---- fill -------------------------------------------------------------------------------------- */

uint32_t reference_fill_bits(uint32_t seed, uint64_t i, uint32_t format)
{
    const unsigned bits = FORMATS[format].bits, per_word = 64 / bits;
    const uint64_t word = kernel_random(seed, i / per_word) >> bits * (i % per_word);
    const uint64_t field = word & ((UINT64_C(1) << bits) - 1);
    double number = (double)field;
    if (field >> (bits - 1))
        number -= ldexp(1, (int)bits);
    if (format == KERNEL_INT8)
        return (uint32_t)(int32_t)(number < -127 ? -127 : number) & 0xff;
    number = ldexp(number, -((int)bits - 1));
    uint32_t result = reference_round(number, format);
    if (format == KERNEL_FP4 && (result & 7) == 0)
        result = 0; /* no negative zero */
    return result;
}

void reference_fill(void *data, uint64_t count, uint32_t format, uint32_t seed)
{
    unsigned char *bytes = data;
    const unsigned bits = FORMATS[format].bits;
    if (bits < 8)
        memset(data, 0, reference_bytes(count, format));
    for (uint64_t i = 0; i < count; i++) {
        uint32_t value = reference_fill_bits(seed, i, format);
        if (bits < 8)
            bytes[i / 2] = (unsigned char)(bytes[i / 2] | value << 4 * (i % 2));
        else
            memcpy(bytes + i * (bits / 8), &value, bits / 8);
    }
}

double reference_tolerance(uint32_t format)
{
    const double fp32 = 1e-5;
    if (format == KERNEL_FP32)
        return fp32;
    return fp32 + 2.5 * ldexp(1, -(int)FORMATS[format].fraction - 1);
}

/* ---- attention --------------------------------------------------------------------------------- */

int reference_attention(const void *q, const void *k, const void *v, uint32_t d, uint32_t keys,
                        double scale, uint32_t format, double *ret_out, double *ret_magnitude)
{
    double *score = malloc((keys + d) * sizeof *score), largest = -INFINITY, sum = 0;
    if (!score)
        return -1;
    double *query = score + keys;
    for (uint32_t i = 0; i < d; i++)
        query[i] = reference_value(q, i, format) * scale;
    for (uint32_t key = 0; key < keys; key++) {
        score[key] = 0;
        for (uint32_t i = 0; i < d; i++)
            score[key] += query[i] * reference_value(k, (uint64_t)key * d + i, format);
        largest = fmax(largest, score[key]);
    }
    for (uint32_t key = 0; key < keys; key++)
        sum += score[key] = exp(score[key] - largest);
    for (uint32_t i = 0; i < d; i++) {
        ret_out[i] = ret_magnitude[i] = 0;
        for (uint32_t key = 0; key < keys; key++) {
            double term = score[key] / sum * reference_value(v, (uint64_t)key * d + i, format);
            ret_out[i] += term;
            ret_magnitude[i] += fabs(term);
        }
    }
    free(score);
    return 0;
}

/* Value `index` of an array as a pointer; not for fp4. */
static const void *at(const void *data, uint64_t index, uint32_t format)
{
    return (const char *)data + index * (FORMATS[format].bits / 8);
}

int reference_decode(const kernel_decode_args *a, uint32_t d, uint32_t sequence, uint32_t head,
                     double *ret_out, double *ret_magnitude)
{
    const uint64_t kv_head = head / (a->heads / a->kv_heads);
    const uint64_t cache = (sequence * (uint64_t)a->kv_heads + kv_head) * a->tokens * d;
    return reference_attention(at(a->q, ((uint64_t)sequence * a->heads + head) * d, a->format),
                               at(a->k, cache, a->format), at(a->v, cache, a->format), d, a->tokens,
                               (double)a->scale, a->format, ret_out, ret_magnitude);
}

int reference_prefill(const kernel_prefill_args *a, uint32_t d, uint32_t sequence, uint32_t query,
                      uint32_t head, double *ret_out, double *ret_magnitude)
{
    const uint64_t kv_head = head / (a->heads / a->kv_heads), total = a->past + a->queries;
    const uint64_t cache = (sequence * (uint64_t)a->kv_heads + kv_head) * total * d;
    const uint64_t row = (sequence * (uint64_t)a->queries + query) * a->heads + head;
    return reference_attention(at(a->q, row * d, a->format), at(a->k, cache, a->format),
                               at(a->v, cache, a->format), d, a->past + query + 1, (double)a->scale,
                               a->format, ret_out, ret_magnitude);
}

/* ---- the others ---------------------------------------------------------------------------------- */

double reference_softmax(const void *data, uint64_t row, uint32_t columns, uint32_t format,
                         uint32_t column)
{
    const void *x = at(data, row * columns, format);
    double largest = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < columns; i++)
        largest = fmax(largest, reference_value(x, i, format));
    for (uint32_t i = 0; i < columns; i++)
        sum += exp(reference_value(x, i, format) - largest);
    return exp(reference_value(x, column, format) - largest) / sum;
}

double reference_elementwise(const kernel_elementwise_args *a, uint64_t i, double *ret_magnitude)
{
    double in[4] = {0, 0, 0, 0};
    for (uint32_t j = 0; j < a->inputs; j++)
        in[j] = reference_value(a->in[j], i, a->format);
    if (a->inputs == 1) {
        double positive = fmax(in[0], 0);
        *ret_magnitude = positive * positive;
        return positive * positive;
    }
    double gated = in[0] / (1 + exp(-in[0])) * in[1];
    *ret_magnitude = fabs(gated) + fabs(in[2]) + fabs(in[3]);
    return gated + in[2] + in[3];
}

double reference_norm(const kernel_norm_args *a, uint64_t row, uint32_t column)
{
    const void *x = at(a->in, row * a->columns, a->format);
    double sum = 0;
    for (uint32_t i = 0; i < a->columns; i++)
        sum += reference_value(x, i, a->format) * reference_value(x, i, a->format);
    return reference_value(x, column, a->format) /
           sqrt(sum / a->columns + (double)KERNEL_NORM_EPSILON) *
           reference_value(a->weight, column, a->format);
}

uint64_t reference_gather(const kernel_gather_args *a, uint64_t i)
{
    return kernel_random(a->seed, i) % a->table_rows;
}

double reference_product(const kernel_check_args *a, uint32_t i, double *ret_magnitude,
                         double *ret_found)
{
    const uint64_t row = kernel_random(a->seed, 2 * (uint64_t)i) % a->m;
    const uint64_t column = kernel_random(a->seed, 2 * (uint64_t)i + 1) % a->n;
    double sum = 0;
    *ret_magnitude = 0;
    for (uint64_t k = 0; k < a->k; k++) {
        double term = reference_value(a->a, row * a->k + k, a->format) *
                      reference_value(a->b, column * a->k + k, a->format) * a->scale;
        sum += term;
        *ret_magnitude += fabs(term);
    }
    *ret_found = reference_value(a->d, row * a->n + column, a->out_format);
    return sum;
}
