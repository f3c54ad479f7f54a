/* SPDX-License-Identifier: MIT */
/* Time of an operator, with its slopes (time.c). */
#ifndef LLMPERF_TIME_OP_H
#define LLMPERF_TIME_OP_H

#include "calib_object.h"

/*
 * d(log time) / d(parameter), natural parameters, of up to two calibration entries (an extend
 * operator joins the prefill and the decode fit): the first `count` of entry and dlog are set, none
 * where the time is 0. entry[i] = LLMPERF_CALIB_NO_ENTRY: ideal.
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
 *                 config_init() has checked both for the operators it emits.
 *   returns:      time_s, also in ret_time (may be NULL).
 *   source:       docs/model.md, "Time"
 */
double time_op(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
               llmperf_time *ret_time, llmperf_gradient *ret_gradient);

#endif
