/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "llmperf/spec.h"

void llmperf_note(llmperf_notes *notes, const char *format, ...)
{
    char raw[LLMPERF_TEXT_MAX];
    va_list arguments;
    if (!notes || !format || notes->count < 0 || notes->count >= LLMPERF_NOTES_MAX)
        return;
    va_start(arguments, format);
    vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    llmperf_escape(raw, notes->text[notes->count], sizeof notes->text[0]);
    notes->count++;
}
