/* SPDX-License-Identifier: MIT */
/* Rates behind the compute-bound batch (crossing.c). */
#ifndef LLMPERF_PREDICT_CROSSING_H
#define LLMPERF_PREDICT_CROSSING_H

#include "llmperf/predict.h"
#include "calib_object.h"

/*
 * Peak and bandwidth that an operator reaches: the datasheet's, or with a calibration e P and e BW, a
 * product's with whole tiles of rows. So they do not depend on how a batch falls on tiles, and compute
 * overtakes memory once; partial tiles only add to compute, so from that batch on it stays so.
 */
void reached_rates(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib *calib,
                   double *ret_peak, double *ret_bandwidth);

#endif
