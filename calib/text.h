/* SPDX-License-Identifier: MIT */
/* Times, rates and sizes in words. Each returns buffer. */
#ifndef LLMPERF_CALIB_TEXT_H
#define LLMPERF_CALIB_TEXT_H

#include <stddef.h>

/* "545 us"; "33.6 TB/s" with the unit "B/s"; "33.6 MB". */
char *text_time(double seconds, char *buffer, size_t size);
char *text_rate(double per_s, const char *unit, char *buffer, size_t size);
char *text_bytes(double bytes, char *buffer, size_t size);

/* " contended unsteady": LLMPERF_SAMPLE_ bits, "" = none. */
char *text_flags(unsigned flags, char *buffer, size_t size);

#endif
