/* SPDX-License-Identifier: MIT */
#include "llmperf/report.h"
llmperf_status llmperf_write_symbolic(FILE *out, const char *format, const llmperf_case *c,
                                      const llmperf_text_style *style, llmperf_error *error)
{
    (void)out; (void)format; (void)c; (void)style;
    return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "not yet");
}
