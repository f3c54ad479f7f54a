/* SPDX-License-Identifier: MIT */
/*
 * Which fit times an operator: its own variant, the plain one of its kind, or a stand-in.
 * docs/calibration.md, "Which fit times an operator".
 */
#include <math.h>
#include <stdlib.h>

#include "fits.h"
#include "calib_object.h"

/* Bits of a stored element: of the weights of a GEMM, of the KV cache of attention; 0 = none. */
static double stored_bits(const llmperf_op *op)
{
    if (op->kind == LLMPERF_KIND_GEMM && op->flop > 0) /* weights: flop / 2 m, experts and all */
        return 16 * op->m * op->weight_bytes / op->flop;
    double tokens = op->sequences * op->query_tokens + op->lone_sequences;
    double values = tokens * op->kv_heads * (op->head_dim + op->value_dim);
    return op->kind == LLMPERF_KIND_ATTENTION && values > 0 ? 8 * op->kv_write_bytes / values : 0;
}

llmperf_head_group head_group_of(const llmperf_op *op)
{
    if (op->kv_heads <= 0)
        return LLMPERF_HEADS_ANY;
    double group = op->heads / op->kv_heads;
    return group > 32  ? LLMPERF_HEADS_WIDE
           : group > 1 ? LLMPERF_HEADS_GROUPED
                       : LLMPERF_HEADS_SINGLE;
}

llmperf_head_size head_size_of(const llmperf_op *op)
{
    double channels = (op->head_dim + op->value_dim) / 2;
    return channels <= 0     ? LLMPERF_HEAD_SIZE_ANY
           : channels <= 64  ? LLMPERF_HEAD_SIZE_64
           : channels <= 128 ? LLMPERF_HEAD_SIZE_128
                             : LLMPERF_HEAD_SIZE_256;
}

/* 8-bit weights with fp32 scales per block, of 128 x 128 down to 1 x 128: told by the bytes. */
static bool has_block_scales(const llmperf_op *op)
{
    double bits = stored_bits(op);
    return op->kind == LLMPERF_KIND_GEMM && bits > 8.0005 && bits < 8.3;
}

/* What the plain entry of an operator comes to beside its variants. */
static const double PLAIN = 0.5;

/* Better than the plain entry within an octave of bits, the nearer the better; of formats of the same
 * bits, the one that is named. */
static double suits_near(double ratio, bool named)
{
    double octaves = fabs(log2(ratio));
    return octaves < 1 ? 2 - octaves + (named ? 0.1 : 0) : -1;
}

/* Of a fitted collective to the one that is to be timed: its own, one for any, the mirror image
 * (gathering and scattering move the same bytes in the same steps), the most measured one, others. */
static double likeness_of(llmperf_collective fitted, llmperf_collective wanted)
{
    bool mirror =
        (fitted == LLMPERF_COLLECTIVE_ALL_GATHER && wanted == LLMPERF_COLLECTIVE_REDUCE_SCATTER) ||
        (fitted == LLMPERF_COLLECTIVE_REDUCE_SCATTER && wanted == LLMPERF_COLLECTIVE_ALL_GATHER);
    return fitted == wanted                          ? 4
           : fitted == LLMPERF_COLLECTIVE_NONE       ? 3
           : mirror                                  ? 2
           : fitted == LLMPERF_COLLECTIVE_ALL_REDUCE ? 1
                                                     : 0;
}

/* How well a variant suits an operator of its kind, regime and dtype; below 0 = not at all. */
static double suits(const llmperf_calib_key *key, const llmperf_op *op)
{
    if (op->kind == LLMPERF_KIND_COLLECTIVE) {
        /* the very size, else a fit over sizes, else the nearest one */
        double size = !key->devices ? 1.5
                      : key->devices == op->devices
                          ? 2
                          : 1 / (1 + fabs(log2((double)key->devices / (double)op->devices)));
        return 8 * likeness_of((llmperf_collective)key->collective,
                               (llmperf_collective)op->collective) +
               size;
    }
    if (key->gemv)
        return -1; /* compared with the GEMM, see time_op() */
    if (key->experts && !llmperf_op_is_experts(op))
        return -1;
    if (key->block && !has_block_scales(op))
        return -1;
    if (key->stored) {
        double ratio = stored_bits(op) / llmperf_dtype_bits((llmperf_dtype)key->stored);
        if (key->near)
            return suits_near(ratio, key->stored == op->stored);
        if (!(fabs(ratio - 1) < 0.01))
            return -1;
    }
    double own_heads = key->heads == LLMPERF_HEADS_ANY   ? PLAIN
                       : key->heads == head_group_of(op) ? 1
                                                         : 0; /* borrowed */
    double own_size = PLAIN / 2; /* less than the group of heads; borrowed: the nearest */
    if (key->head_size != LLMPERF_HEAD_SIZE_ANY) {
        int apart = abs((int)key->head_size - (int)head_size_of(op));
        own_size = apart == 0 ? PLAIN * 0.9 : 0.1 / apart;
    }
    return 4 * key->experts + (key->stored ? 2 : 0) + key->block + own_heads + own_size;
}

/* The entry of one dtype of arithmetic, or CALIB_NO_ENTRY. */
static uint8_t find_dtype(const llmperf_calib *calib, const llmperf_op *op, llmperf_regime regime,
                          uint8_t dtype)
{
    uint8_t found = calib->index[op->kind][regime][dtype];
    bool is_plain = found != LLMPERF_CALIB_NO_ENTRY && op->kind != LLMPERF_KIND_COLLECTIVE;
    double best = is_plain ? PLAIN + PLAIN / 2 : -1;
    for (int i = 0; calib->variants > 0 && i < calib->entry_count; i++) {
        const llmperf_calib_key *key = &calib->entry[i].key;
        if (i == found || key->kind != op->kind || key->regime != regime || key->dtype != dtype)
            continue;
        double fitness = suits(key, op);
        if (fitness > best) {
            best = fitness;
            found = (uint8_t)i;
        }
    }
    return found;
}

/* Whose efficiencies stand in for those of an arithmetic that was not measured: that of the same
 * units, then the next wider one. Peaks stay the dtype's own. */
static const uint8_t STAND_IN[LLMPERF_DTYPE_COUNT][3] = {
    [LLMPERF_DTYPE_BF16] = {LLMPERF_DTYPE_FP16},
    [LLMPERF_DTYPE_FP16] = {LLMPERF_DTYPE_BF16},
    [LLMPERF_DTYPE_TF32] = {LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP16},
    [LLMPERF_DTYPE_FP8] = {LLMPERF_DTYPE_INT8, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP16},
    [LLMPERF_DTYPE_INT8] = {LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP16},
    [LLMPERF_DTYPE_INT4] = {LLMPERF_DTYPE_INT8, LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_BF16},
    [LLMPERF_DTYPE_NVFP4] = {LLMPERF_DTYPE_MXFP4, LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_BF16},
    [LLMPERF_DTYPE_MXFP4] = {LLMPERF_DTYPE_NVFP4, LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_BF16},
};

uint8_t calib_find(const llmperf_calib *calib, const llmperf_op *op, llmperf_regime regime)
{
    if (!calib)
        return LLMPERF_CALIB_NO_ENTRY;
    uint8_t found = find_dtype(calib, op, regime, op->dtype);
    for (int i = 0; i < 3 && found == LLMPERF_CALIB_NO_ENTRY && STAND_IN[op->dtype][i]; i++)
        found = find_dtype(calib, op, regime, STAND_IN[op->dtype][i]);
    /* a look-up of rows reads and writes memory as a norm does */
    if (found == LLMPERF_CALIB_NO_ENTRY && op->kind == LLMPERF_KIND_GATHER)
        found = calib->index[LLMPERF_KIND_ELEMENTWISE][regime][op->dtype];
    return found;
}

/* The entry for a product with one row, or CALIB_NO_ENTRY. */
uint8_t gemv_of(const llmperf_calib *calib, const llmperf_op *op)
{
    if (!calib || calib->variants == 0 || op->kind != LLMPERF_KIND_GEMM || op->m > 1)
        return LLMPERF_CALIB_NO_ENTRY;
    for (int i = 0; i < calib->entry_count; i++)
        if (calib->entry[i].key.gemv && calib->entry[i].key.dtype == op->dtype)
            return (uint8_t)i;
    return LLMPERF_CALIB_NO_ENTRY;
}

op_entries entries_of(const llmperf_calib *calib, const llmperf_op *op)
{
    op_entries e = {.own = calib_find(calib, op, (llmperf_regime)op->regime),
                    .prefill = LLMPERF_CALIB_NO_ENTRY,
                    .decode = LLMPERF_CALIB_NO_ENTRY,
                    .gemv = gemv_of(calib, op)};
    if (e.own == LLMPERF_CALIB_NO_ENTRY && op->regime == LLMPERF_REGIME_EXTEND) {
        e.prefill = calib_find(calib, op, LLMPERF_REGIME_PREFILL);
        e.decode = calib_find(calib, op, LLMPERF_REGIME_DECODE);
    }
    return e;
}
