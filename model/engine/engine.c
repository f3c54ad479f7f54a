/* SPDX-License-Identifier: MIT */
/*
 * An engine profile as a calibration: the parameters of a part become entries that time_op()
 * reads, and the host's share of a step. docs/engines.md derives each line.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "entry.h"
#include "llmperf/engine.h"
#include "calib_object.h"
#include "engine_object.h"
#include "fits.h"
#include "profile.h"

/* What a share of the peak is a share of, over the peak of the dtype that an operator is counted in:
 * processors compute in their fp32 units, whatever the formats (a matrix unit of theirs that holds
 * them is another engine's, or another build's). */
static double unit_share(const llmperf_hw *hw, llmperf_dtype dtype)
{
    double fp32 = hw->peak_flop_per_s[LLMPERF_DTYPE_FP32];
    return is_processor(hw) && fp32 > 0 ? fp32 / hw->peak_flop_per_s[dtype] : 1;
}

/* Decode attention, what each query head costs. Elements of a half-precision query pass are 2 bytes
 * each, so one FLOP stands for one byte read; on processors it is arithmetic. */
static double decode_efficiency(const llmperf_engine_part *part, const llmperf_hw *hw,
                                llmperf_dtype dtype)
{
    if (is_processor(hw))
        return part->param[LLMPERF_ENGINE_DECODE] * unit_share(hw, dtype);
    return part->param[LLMPERF_ENGINE_HEADS] * hw->mem_bytes_per_s / hw->peak_flop_per_s[dtype];
}

/* Score traffic in units of time_op()'s score term: channels per head. */
static double score_channels(const llmperf_engine_part *part, const llmperf_hw *hw,
                             llmperf_dtype dtype)
{
    return part->param[LLMPERF_ENGINE_SCORE] * part->param[LLMPERF_ENGINE_ATTENTION] *
           unit_share(hw, dtype) * hw->peak_flop_per_s[dtype] / (4 * hw->mem_bytes_per_s);
}

/* Formats of weights that a processor's kernels differ by, and the factors of each. */
static const struct {
    uint8_t stored;
    llmperf_engine_param weight, compute, rows;
} FORMATS[] = {
    {LLMPERF_DTYPE_FP16, LLMPERF_ENGINE_WEIGHT_FP16, LLMPERF_ENGINE_COMPUTE_FP16,
     LLMPERF_ENGINE_ROWS_FP16},
    {LLMPERF_DTYPE_BF16, LLMPERF_ENGINE_WEIGHT_BF16, LLMPERF_ENGINE_COMPUTE_BF16,
     LLMPERF_ENGINE_ROWS_BF16},
    {LLMPERF_DTYPE_Q8_0, LLMPERF_ENGINE_WEIGHT_8, LLMPERF_ENGINE_COMPUTE_8, LLMPERF_ENGINE_ROWS_8},
    {LLMPERF_DTYPE_Q4_0, LLMPERF_ENGINE_WEIGHT_4, LLMPERF_ENGINE_COMPUTE_4, LLMPERF_ENGINE_ROWS_4},
};
static const double MOST = 1.05; /* of an efficiency */
enum { FORMAT_COUNT = sizeof FORMATS / sizeof *FORMATS };

/* The row of FORMATS that an entry stands for; -1 = none. */
static int format_of(const llmperf_calib_key *key)
{
    for (int i = 0; i < FORMAT_COUNT && key->near; i++)
        if (key->stored == FORMATS[i].stored)
            return i;
    return -1;
}

/* What is not known of the two efficiencies, for the compute-bound batch. */
static void set_errors(llmperf_calib_entry *e, const llmperf_engine_part *part,
                       const llmperf_hw *hw)
{
    static const llmperf_param EFFICIENCIES[] = {LLMPERF_PARAM_COMPUTE, LLMPERF_PARAM_MEMORY};
    double d[2][LLMPERF_ENGINE_PARAM_COUNT];
    for (int i = 0; i < 2; i++) {
        engine_derivative(part, hw, e, EFFICIENCIES[i], d[i]);
        for (int k = 0; k < LLMPERF_ENGINE_PARAM_COUNT; k++)
            d[i][k] *= part->param[k];
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            llmperf_param p = EFFICIENCIES[i], q = EFFICIENCIES[j];
            for (int k = 0; k < LLMPERF_ENGINE_PARAM_COUNT; k++)
                for (int l = 0; l < LLMPERF_ENGINE_PARAM_COUNT; l++)
                    e->covariance[p][q] += d[i][k] * part->covariance[k][l] * d[j][l];
            if (p == q && e->covariance[p][p] > 0)
                e->fitted |= UINT64_C(1) << p;
        }
}

/* A product on a processor: the shares times those of the weights' format. */
static void set_product_on_cpu(const llmperf_engine_part *part, const llmperf_hw *hw,
                               llmperf_calib_entry *e)
{
    int format = format_of(&e->key);
    double weight = part->param[LLMPERF_ENGINE_WEIGHT];
    double compute =
        part->param[LLMPERF_ENGINE_COMPUTE] * unit_share(hw, (llmperf_dtype)e->key.dtype);
    if (format >= 0) {
        weight *= part->param[FORMATS[format].weight];
        compute *= part->param[FORMATS[format].compute];
        e->param[LLMPERF_PARAM_ROWS] = part->param[FORMATS[format].rows];
    }
    e->param[LLMPERF_PARAM_MEMORY] = fmin(MOST, weight);
    e->param[LLMPERF_PARAM_COMPUTE] = fmin(MOST, compute);
}

/* The parameters of the entry of one kind, regime and dtype. */
static void fill_entry(const llmperf_engine_part *part, const llmperf_hw *hw, llmperf_calib_key key,
                       llmperf_calib_entry *e)
{
    *e = *ideal_entry((llmperf_op_kind)key.kind);
    const double *profile = part->param;
    llmperf_dtype dtype = (llmperf_dtype)key.dtype;
    e->key = key;
    e->param[LLMPERF_PARAM_NORM] = 1;
    e->param[LLMPERF_PARAM_MEMORY] = profile[LLMPERF_ENGINE_WEIGHT];
    switch (key.kind) {
    case LLMPERF_KIND_GEMM:
        if (is_processor(hw)) {
            set_product_on_cpu(part, hw, e);
            break;
        }
        e->param[LLMPERF_PARAM_COMPUTE] = profile[LLMPERF_ENGINE_COMPUTE];
        if (key.experts)
            e->param[LLMPERF_PARAM_GROUP] = profile[LLMPERF_ENGINE_EXPERTS];
        e->param[LLMPERF_PARAM_UNPACK] = 1 / profile[LLMPERF_ENGINE_STORED] - 1;
        break;
    case LLMPERF_KIND_ATTENTION:
        if (key.regime == LLMPERF_REGIME_DECODE) {
            e->param[LLMPERF_PARAM_MEMORY] = profile[LLMPERF_ENGINE_KV];
            e->param[LLMPERF_PARAM_COMPUTE] = fmin(MOST, decode_efficiency(part, hw, dtype));
            e->compute_is_reads = !is_processor(hw);
        } else {
            e->param[LLMPERF_PARAM_COMPUTE] =
                fmin(MOST, profile[LLMPERF_ENGINE_ATTENTION] * unit_share(hw, dtype));
            e->param[LLMPERF_PARAM_SCORE] = fmin(1e4, score_channels(part, hw, dtype));
        }
        break;
    case LLMPERF_KIND_COLLECTIVE:
        e->param[LLMPERF_PARAM_MEMORY] = 1;
        e->param[LLMPERF_PARAM_HOP] = profile[LLMPERF_ENGINE_HOP];
        e->param[LLMPERF_PARAM_LINK] = profile[LLMPERF_ENGINE_LINK];
        break;
    default: /* norms, gathers, scans: their bytes decide */
        break;
    }
    set_errors(e, part, hw);
}

/* The efficiencies of processors are products of profile parameters and a constant, up to MOST. */
static void derivative_on_cpu(const llmperf_engine_part *part, const llmperf_calib_entry *entry,
                              llmperf_param param, double *d)
{
    const llmperf_calib_key *key = &entry->key;
    int format = format_of(key);
    llmperf_engine_param factor[2] = {LLMPERF_ENGINE_PARAM_COUNT, LLMPERF_ENGINE_PARAM_COUNT};
    if (param == LLMPERF_PARAM_ROWS && format >= 0)
        d[FORMATS[format].rows] = 1;
    if ((param != LLMPERF_PARAM_COMPUTE && param != LLMPERF_PARAM_MEMORY) ||
        entry->param[param] >= MOST)
        return;
    if (key->kind == LLMPERF_KIND_GEMM) {
        bool memory = param == LLMPERF_PARAM_MEMORY;
        factor[0] = memory ? LLMPERF_ENGINE_WEIGHT : LLMPERF_ENGINE_COMPUTE;
        if (format >= 0)
            factor[1] = memory ? FORMATS[format].weight : FORMATS[format].compute;
    } else if (key->kind == LLMPERF_KIND_ATTENTION) {
        factor[0] =
            key->regime == LLMPERF_REGIME_DECODE ? LLMPERF_ENGINE_DECODE : LLMPERF_ENGINE_ATTENTION;
    }
    for (int i = 0; i < 2; i++)
        if (factor[i] != LLMPERF_ENGINE_PARAM_COUNT)
            d[factor[i]] = entry->param[param] / part->param[factor[i]];
}

void engine_derivative(const llmperf_engine_part *part, const llmperf_hw *hw,
                       const llmperf_calib_entry *entry, llmperf_param param,
                       double ret_derivative[LLMPERF_ENGINE_PARAM_COUNT])
{
    const llmperf_calib_key *key = &entry->key;
    const double *profile = part->param;
    double *d = ret_derivative;
    bool decode = key->kind == LLMPERF_KIND_ATTENTION && key->regime == LLMPERF_REGIME_DECODE;
    memset(d, 0, sizeof(double) * LLMPERF_ENGINE_PARAM_COUNT);
    if (is_processor(hw) && (param == LLMPERF_PARAM_COMPUTE ||
                             (param == LLMPERF_PARAM_MEMORY && key->kind == LLMPERF_KIND_GEMM) ||
                             param == LLMPERF_PARAM_UNPACK || param == LLMPERF_PARAM_ROWS)) {
        derivative_on_cpu(part, entry, param, d);
        return;
    }
    switch (param) {
    case LLMPERF_PARAM_MEMORY:
        if (key->kind != LLMPERF_KIND_COLLECTIVE)
            d[decode ? LLMPERF_ENGINE_KV : LLMPERF_ENGINE_WEIGHT] = 1;
        break;
    case LLMPERF_PARAM_COMPUTE:
        if (key->kind == LLMPERF_KIND_GEMM)
            d[LLMPERF_ENGINE_COMPUTE] = 1;
        else if (decode && entry->param[param] < 1.05)
            d[LLMPERF_ENGINE_HEADS] = entry->param[param] / profile[LLMPERF_ENGINE_HEADS];
        else if (key->kind == LLMPERF_KIND_ATTENTION && !decode)
            d[LLMPERF_ENGINE_ATTENTION] = 1;
        break;
    case LLMPERF_PARAM_UNPACK:
        if (key->kind == LLMPERF_KIND_GEMM)
            d[LLMPERF_ENGINE_STORED] =
                -1 / (profile[LLMPERF_ENGINE_STORED] * profile[LLMPERF_ENGINE_STORED]);
        break;
    case LLMPERF_PARAM_GROUP:
        d[LLMPERF_ENGINE_EXPERTS] = key->kind == LLMPERF_KIND_GEMM && key->experts;
        break;
    case LLMPERF_PARAM_SCORE:
        if (key->kind == LLMPERF_KIND_ATTENTION && !decode) {
            double one = score_channels(part, hw, (llmperf_dtype)key->dtype);
            d[LLMPERF_ENGINE_ATTENTION] = one / profile[LLMPERF_ENGINE_ATTENTION];
            d[LLMPERF_ENGINE_SCORE] = one / profile[LLMPERF_ENGINE_SCORE];
        }
        break;
    case LLMPERF_PARAM_HOP:
        d[LLMPERF_ENGINE_HOP] = key->kind == LLMPERF_KIND_COLLECTIVE;
        break;
    case LLMPERF_PARAM_LINK:
        d[LLMPERF_ENGINE_LINK] = key->kind == LLMPERF_KIND_COLLECTIVE;
        break;
    default:
        break;
    }
}

/* Has the calibration a plain fit of this kind and regime, whatever the dtype? */
static bool has_fit(const llmperf_calib *calib, int kind, int regime)
{
    for (int i = 0; calib && i < calib->entry_count; i++)
        if (calib->entry[i].key.kind == kind && calib->entry[i].key.regime == regime)
            return true;
    return false;
}

/* In range, and there is room: they are few. */
OWN_FRAME static void add_entry(const llmperf_engine_part *part, const llmperf_hw *hw,
                                llmperf_calib_key key, llmperf_calib *calib)
{
    llmperf_calib_entry e;
    fill_entry(part, hw, key, &e);
    calib_add(calib, &e, NULL);
}

/* Products of one arithmetic, an entry per format of weights. */
static void add_formats(const llmperf_engine_part *part, const llmperf_hw *hw, uint8_t dtype,
                        llmperf_calib *calib)
{
    for (int i = 0; i < FORMAT_COUNT; i++)
        add_entry(
            part, hw,
            (llmperf_calib_key){
                .kind = LLMPERF_KIND_GEMM, .dtype = dtype, .stored = FORMATS[i].stored, .near = 1},
            calib);
}

static void add_entries(const llmperf_engine_part *part, const llmperf_hw *hw,
                        const llmperf_calib *kernels, llmperf_calib *calib)
{
    static const struct {
        uint8_t kind, regime, experts;
    } ROWS[] = {
        {LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, 0},
        {LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, 1},
        {LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_PREFILL, 0},
        {LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_DECODE, 0},
        {LLMPERF_KIND_SCAN, LLMPERF_REGIME_PREFILL, 0},
        {LLMPERF_KIND_SCAN, LLMPERF_REGIME_EXTEND, 0},
        {LLMPERF_KIND_SCAN, LLMPERF_REGIME_DECODE, 0},
        {LLMPERF_KIND_ELEMENTWISE, LLMPERF_REGIME_NONE, 0},
        {LLMPERF_KIND_GATHER, LLMPERF_REGIME_NONE, 0},
    };
    uint8_t vector = (uint8_t)vector_dtype_of(hw);
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        bool any_dtype =
            ROWS[i].kind == LLMPERF_KIND_GEMM || ROWS[i].kind == LLMPERF_KIND_ATTENTION;
        if (has_fit(kernels, ROWS[i].kind, ROWS[i].regime) || (ROWS[i].experts && is_processor(hw)))
            continue;
        for (int dtype = 1; dtype < LLMPERF_DTYPE_COUNT; dtype++) {
            if (!(hw->peak_flop_per_s[dtype] > 0) || (!any_dtype && dtype != vector))
                continue;
            add_entry(part, hw,
                      (llmperf_calib_key){.kind = ROWS[i].kind,
                                          .regime = ROWS[i].regime,
                                          .experts = ROWS[i].experts,
                                          .dtype = (uint8_t)dtype},
                      calib);
            if (is_processor(hw) && ROWS[i].kind == LLMPERF_KIND_GEMM)
                add_formats(part, hw, (uint8_t)dtype, calib);
        }
    }
    if (!has_fit(kernels, LLMPERF_KIND_COLLECTIVE, LLMPERF_REGIME_NONE))
        add_entry(part, hw, (llmperf_calib_key){.kind = LLMPERF_KIND_COLLECTIVE}, calib);
}

void engine_calib(const llmperf_engine *engine, const llmperf_engine_part *part,
                  const llmperf_hw *hw, const llmperf_calib *kernels, llmperf_calib *ret_calib)
{
    const double *profile = part->param;
    llmperf_calib *c = ret_calib;
    if (kernels)
        *c = *kernels;
    else
        calib_init(c);
    add_entries(part, hw, kernels, c);
    if (kernels)
        snprintf(c->name, sizeof c->name, "%.30s with %.30s", engine->name, kernels->name);
    else
        snprintf(c->name, sizeof c->name, "%s", engine->name);
    snprintf(c->hw, sizeof c->hw, "%s", part->hw);
    snprintf(c->backend, sizeof c->backend, "engine");
    c->borrowed = fmax(part->borrowed, kernels ? kernels->borrowed : 0);
    c->samples = part->quality.rows;
    c->host = (llmperf_host){
        .step_s = profile[LLMPERF_ENGINE_STEP],
        .layer_s = profile[LLMPERF_ENGINE_LAYER],
        .sequence_s = profile[LLMPERF_ENGINE_SEQUENCE],
        .norm = 1,
        .request_s = profile[LLMPERF_ENGINE_REQUEST],
        .mixed_frac = profile[LLMPERF_ENGINE_MIXED],
        .decode_residual = part->decode_residual,
        .prefill_residual = part->prefill_residual,
    };
    snprintf(c->host.engine, sizeof c->host.engine, "%s", engine->name);
    memcpy(c->host.param, part->param, sizeof c->host.param);
    memcpy(c->host.covariance, part->covariance, sizeof c->host.covariance);
    c->host.first_entry = kernels ? kernels->entry_count : 0;
}
