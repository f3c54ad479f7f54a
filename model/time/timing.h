/* SPDX-License-Identifier: MIT */
/* The time of an operator whose fits are known. */
#ifndef LLMPERF_TIME_TIMING_H
#define LLMPERF_TIME_TIMING_H

#include "fits.h"
#include "calib_object.h"
#include "time_op.h"

/* time_op() with the result of entries_of(calib, op). */
double time_by(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
               const op_entries *entries, llmperf_time *ret_time, llmperf_gradient *ret_gradient);

/* The same of an operator that is no collective and no mixed launch, with each fit's ratio of compute to
 * memory efficiency moved by z standard deviations; a product as a GEMM, also of one row. */
double time_moved(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                  const op_entries *entries, double z, llmperf_time *ret_time);

#endif
