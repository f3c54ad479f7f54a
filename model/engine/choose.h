/* SPDX-License-Identifier: MIT */
/* The choice of a calibration, without a copy. */
#ifndef LLMPERF_ENGINE_CHOOSE_H
#define LLMPERF_ENGINE_CHOOSE_H

#include "llmperf/calib.h"
#include "calib_object.h"

/* calib_choose() into memory that the caller frees; NULL where no part is near enough. */
llmperf_status calib_choose_new(const llmperf_spec_paths *paths, const llmperf_hw *hw,
                                const char *library, llmperf_calib **ret_calib,
                                llmperf_error *error);

#endif
