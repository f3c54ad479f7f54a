/* SPDX-License-Identifier: MIT */
/* What was reached on a device. */
#ifndef LLMPERF_CALIB_PEAKS_H
#define LLMPERF_CALIB_PEAKS_H

#include "session.h"

llmperf_peaks peaks_find(const llmperf_session *s);

/* Hardware whose datasheet is what was measured on it. */
void peaks_to_hw(const llmperf_session *s, const llmperf_peaks *p, llmperf_hw *ret_hw);

/* Today, "2026-02-28". */
void date_text(char *buffer, size_t size);

#endif
