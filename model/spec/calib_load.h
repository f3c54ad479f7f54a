/* SPDX-License-Identifier: MIT */
/* Calibrations that are not copied: one is large, most of it entries that no file fills. */
#ifndef LLMPERF_SPEC_CALIB_LOAD_H
#define LLMPERF_SPEC_CALIB_LOAD_H

#include "llmperf/calib.h"
#include "calib_object.h"

/* calib_load() into memory that the caller frees; what no entry fills is 0 and never touched. */
llmperf_status calib_load_new(const char *path, llmperf_calib **ret_calib, llmperf_error *error);

#endif
