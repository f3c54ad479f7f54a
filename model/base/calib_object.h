/* SPDX-License-Identifier: MIT */
/* What a calibration is inside. */
#ifndef LLMPERF_CALIB_OBJECT_H
#define LLMPERF_CALIB_OBJECT_H

#include "llmperf/fitted.h"

/*
 * What an engine's host adds to the operators of a step; all 0 = nothing (a calibration of operators
 * alone). Not in the calibration file: engine_calib() sets it.
 *   t_step = norm_p(host, operators), host = step + layer x layers + sequence x sequences, less the
 *   launches that the operators' own fits count
 */
typedef struct llmperf_host {
    char engine[48]; /* "" = no profile */
    double step_s, layer_s, sequence_s;
    double norm;                              /* p; 1 = they add, infinity = they overlap */
    double request_s, mixed_frac;             /* serving: see engine.h */
    double decode_residual, prefill_residual; /* standard deviation of log(time), once a step */
    /* the profile's parameters, the covariance of their logarithms, and the first of the entries that
     * are made of them; those before are fits of operators that take a profile's place */
    double param[LLMPERF_ENGINE_PARAM_COUNT];
    double covariance[LLMPERF_ENGINE_PARAM_COUNT][LLMPERF_ENGINE_PARAM_COUNT];
    int first_entry;
} llmperf_host;

#define LLMPERF_CALIB_ENTRIES_MAX 64
#define LLMPERF_CALIB_NO_ENTRY 0xff

struct llmperf_calib {
    char name[LLMPERF_NAME_MAX];
    char hw[LLMPERF_NAME_MAX];     /* name of the part */
    char device[LLMPERF_NAME_MAX]; /* what the driver or the file calls it; "" = not said */
    char library[48];              /* whose kernels: that of its GEMM; "" = not said */
    char backend[24];              /* cpu, cuda, fake, samples */
    char date[32];                 /* as passed in; "" = not said */
    char digest[32];               /* of the samples, "fnv1a64:..." */
    int64_t samples;               /* rows read */
    double clock_hz, power_w;      /* conditions; 0 = not said */
    double stream_bytes_per_s;     /* a memory stream meanwhile; 0 = not said */
    bool throttled, contended;
    /* standard deviation of log(time) that borrowing from another part adds; 0 = the part's own.
     * Not in the file: llmperf_calib_lend() sets it. */
    double borrowed;
    /* What its times (launch, loops, work items, hops) were multiplied by for use on that part: the
     * ratio of the clocks; 0 = as in the file. Set with `borrowed`. */
    double time_scale;
    llmperf_host host; /* of an engine profile */
    int variants;      /* entries that index[] does not hold */
    uint64_t keys; /* digest of the keys in entry[], in their order: what is found depends on it */
    int entry_count;
    llmperf_calib_entry entry[LLMPERF_CALIB_ENTRIES_MAX];
    /* index into entry[], or LLMPERF_CALIB_NO_ENTRY: that operator keeps the ideal form */
    uint8_t index[LLMPERF_KIND_COUNT][LLMPERF_REGIME_COUNT][LLMPERF_DTYPE_COUNT];
};

#endif
