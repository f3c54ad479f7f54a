/* SPDX-License-Identifier: MIT */
/*
 * A measured layer of experts as one operator: what the busiest device of its group computes, reads
 * and moves. docs/calibration.md, "Experts".
 */
#include <math.h>
#include <stdlib.h>

#include "llmperf/samples.h"
#include "entry.h"

enum { EXPERTS_MAX = 4096, DRAWS = 4 };

/* xorshift64*: the same draws everywhere. */
static double uniform(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return (double)((x * 2685821657736338717u) >> 11) * 0x1p-53;
}

/* Rows sum to `total`, none above `most`: the rest goes to or comes from the fullest on. */
static void settle_sum(double *rows, int count, double total, double most)
{
    double left = total;
    for (int i = 0; i < count; i++)
        left -= rows[i];
    for (int round = 0; round < 64 && fabs(left) > 0.5; round++)
        for (int i = 0; i < count && fabs(left) > 0.5; i++) {
            double step = left > 0 ? fmin(left, most - rows[i]) : -fmin(-left, rows[i]);
            step = step > 0 ? fmin(step, 1) : fmax(step, -1);
            rows[i] += step;
            left -= step;
        }
}

/* One draw of the loads: x^-skew between the generator's ends, one from each slice of the
 * distribution, in random order over the devices. */
static void draw(const llmperf_moe_shape *s, uint64_t *state, double *rows)
{
    int count = (int)s->experts;
    double total = s->tokens * s->top_k, low = 0.01, high = 2, sum = 0;
    double q = 1 - (fabs(s->skew - 1) < 1e-9 ? 1 + 1e-9 : s->skew);
    if (total > s->experts) {
        low = 1;
        high = fmax(0.8 * s->tokens, 1 + 1e-9);
    }
    double a = pow(low, q), b = pow(high, q);
    for (int i = 0; i < count; i++) {
        rows[i] = pow((b - a) * (i + uniform(state)) / count + a, 1 / q);
        sum += rows[i];
    }
    for (int i = count - 1; i > 0; i--) {
        int k = (int)(uniform(state) * (i + 1));
        double kept = rows[i];
        rows[i] = rows[k];
        rows[k] = kept;
    }
    for (int i = 0; i < count; i++)
        rows[i] = fmin(floor(rows[i] / sum * total + 0.5), s->tokens);
    settle_sum(rows, count, total, s->tokens);
}

llmperf_moe_load llmperf_moe_load_of(const llmperf_moe_shape *s)
{
    if (!s)
        return (llmperf_moe_load){0};
    int each = (int)(s->experts / s->ep);
    double total = s->tokens * s->top_k;
    llmperf_moe_load even = {.rows = fmax(1, total / s->ep)};
    even.active = fmin(each, even.rows);
    if (s->skew <= 0 || s->experts > EXPERTS_MAX || each < 1)
        return even;
    double *rows = malloc((size_t)s->experts * sizeof *rows);
    if (!rows)
        return (llmperf_moe_load){0};
    uint64_t state = 88172645463325252u;
    llmperf_moe_load mean = {0};
    for (int i = 0; i < DRAWS; i++) {
        llmperf_moe_load busiest = {0};
        draw(s, &state, rows);
        for (int first = 0; first + each <= (int)s->experts; first += each) {
            llmperf_moe_load own = {0};
            for (int k = first; k < first + each; k++) {
                own.rows += rows[k];
                own.active += rows[k] > 0;
            }
            if (own.rows > busiest.rows)
                busiest = own;
        }
        mean.rows += busiest.rows / DRAWS;
        mean.active += busiest.active / DRAWS;
    }
    free(rows);
    mean.rows = fmax(1, mean.rows);
    mean.active = fmax(1, mean.active);
    return mean;
}

llmperf_op llmperf_sample_moe(const llmperf_moe_shape *s, llmperf_moe_load load)
{
    if (!s || !IS_BELOW(s->dtype, LLMPERF_DTYPE_COUNT) ||
        !IS_BELOW(s->weights, LLMPERF_DTYPE_COUNT))
        return (llmperf_op){0};
    double in = llmperf_dtype_bits(s->dtype) / 8, a = in < 2 ? 2 : in;
    double w = s->weights ? llmperf_dtype_bits(s->weights) / 8 : in;
    llmperf_op op = {.id = LLMPERF_OP_MOE_GATE_UP,
                     .kind = LLMPERF_KIND_GEMM,
                     .group = LLMPERF_GROUP_DENSE,
                     .dtype = (uint8_t)s->dtype,
                     .launches = 2, /* gate and up, down */
                     .devices = 1,
                     .repeat = 1,
                     .m = load.rows / load.active,
                     .n = (s->ungated ? 2 : 3) * s->width,
                     .k = s->hidden};
    op.flop = 2 * load.rows * op.n * op.k;
    op.weight_bytes = load.active * op.n * op.k * w;
    /* every device of the group writes and sums the rows of all tokens */
    op.input_bytes = s->tokens * s->top_k * (s->hidden + s->width) * a;
    op.output_bytes = load.rows * ((s->ungated ? 1 : 2) * s->width + s->hidden) * a;
    op.bytes = op.weight_bytes + op.input_bytes + op.output_bytes;
    return op;
}
