/* SPDX-License-Identifier: MIT */
/*
 * A calibration: the parameters of the time formula per (operator kind, regime, dtype), as fitted
 * to measurements. The ideal calibration (a NULL pointer) is the plain roofline.
 */
#ifndef LLMPERF_CALIB_H
#define LLMPERF_CALIB_H

#include "llmperf/op.h"
#include "llmperf/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parameters of t = t0 + norm_p(compute, memory, serial, work); see docs/model.md, "Time". */
typedef enum llmperf_param {
    LLMPERF_PARAM_COMPUTE, /* e_c: share of the peak that is reached, (0, 1.05] */
    LLMPERF_PARAM_MEMORY,  /* e_m: share of the bandwidth that is reached, (0, 1.05] */
    LLMPERF_PARAM_LAUNCH,  /* t0, seconds */
    LLMPERF_PARAM_SERIAL,  /* c_k, seconds: k loop of a small GEMM */
    LLMPERF_PARAM_WORK,    /* c_w, seconds: one work item per sequence and KV head */
    LLMPERF_PARAM_NORM,    /* p of the norm, in (0, infinity] */
    LLMPERF_PARAM_LINK,    /* e: share of the link's bandwidth that is reached */
    LLMPERF_PARAM_HOP,     /* t1, seconds per doubling of the group */
    LLMPERF_PARAM_COUNT
} llmperf_param;

LLMPERF_API const char *llmperf_param_name(llmperf_param param);

typedef struct llmperf_calib_entry {
    double param[LLMPERF_PARAM_COUNT];
    double covariance[LLMPERF_PARAM_COUNT][LLMPERF_PARAM_COUNT]; /* of the natural parameters */
    double residual;    /* standard deviation of log(measured / predicted) */
    double correlation; /* rho of residuals within the kind, 0..1 */
} llmperf_calib_entry;

#define LLMPERF_CALIB_ENTRIES_MAX 64
#define LLMPERF_CALIB_NO_ENTRY 0xff

typedef struct llmperf_calib {
    char name[LLMPERF_NAME_MAX];
    int entry_count;
    llmperf_calib_entry entry[LLMPERF_CALIB_ENTRIES_MAX];
    /* index into entry[], or LLMPERF_CALIB_NO_ENTRY: that operator keeps the ideal form */
    uint8_t index[LLMPERF_KIND_COUNT][LLMPERF_REGIME_COUNT][LLMPERF_DTYPE_COUNT];
} llmperf_calib;

/* A calibration without entries: every operator is ideal. */
LLMPERF_API void llmperf_calib_init(llmperf_calib *ret_calib);

/* The ideal entry: e = 1, t0 = 0, p = infinity (collectives: p = 1). */
LLMPERF_API llmperf_calib_entry llmperf_calib_ideal(llmperf_op_kind kind);

/* Adds or replaces the entry of a key. Errors: LLMPERF_E_SPEC when a parameter leaves physics,
 * LLMPERF_E_UNSUPPORTED when the table is full. */
LLMPERF_API llmperf_status llmperf_calib_set(llmperf_calib *calib, llmperf_op_kind kind,
                                             llmperf_regime regime, llmperf_dtype dtype,
                                             const llmperf_calib_entry *entry,
                                             llmperf_error *error);

typedef enum llmperf_bound {
    LLMPERF_BOUND_COMPUTE,
    LLMPERF_BOUND_MEMORY,
    LLMPERF_BOUND_LATENCY, /* the serial or work-item term */
    LLMPERF_BOUND_LAUNCH,
    LLMPERF_BOUND_LINK,
    LLMPERF_BOUND_COUNT
} llmperf_bound;

LLMPERF_API const char *llmperf_bound_name(llmperf_bound bound);

/* Where the time of one launch goes, seconds. time_s = launch_s + norm_p(the others). */
typedef struct llmperf_time {
    double time_s;
    double compute_s, memory_s, serial_s, work_s, launch_s, link_s;
    uint8_t bound; /* llmperf_bound: the largest term */
} llmperf_time;

/*
 * d(log time) / d(parameter), natural parameters, of up to two calibration entries (an extend
 * operator joins the prefill and the decode fit). entry[i] = LLMPERF_CALIB_NO_ENTRY: ideal.
 */
typedef struct llmperf_gradient {
    int count;
    uint8_t entry[2];
    double dlog[2][LLMPERF_PARAM_COUNT];
} llmperf_gradient;

/*
 * Time of one launch of `op` on one device of `hw`: the only place where time is computed; fit,
 * predict, sweep and validate all call it.
 *   calib:        NULL = ideal: max(flop / peak, bytes / bandwidth); a collective costs the
 *                 link's latency + bytes over it.
 *   ret_gradient: NULL when not wanted.
 *   requires:     hw->peak of op->dtype > 0 when op->flop > 0, and a link for collectives;
 *                 llmperf_case_init() has checked both for the operators it emits.
 *   returns:      time_s, also in ret_time (may be NULL).
 *   source:       docs/model.md, "Time"
 */
LLMPERF_API double llmperf_time_op(const llmperf_op *op, const llmperf_hw *hw,
                                   const llmperf_calib *calib, llmperf_time *ret_time,
                                   llmperf_gradient *ret_gradient);

#ifdef __cplusplus
}
#endif

#endif
