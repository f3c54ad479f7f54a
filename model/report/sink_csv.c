/* SPDX-License-Identifier: MIT */
/* CSV: cells between commas. A text that a spreadsheet would run as a formula is quoted with a leading
 * apostrophe. */
#include <string.h>

#include "formats.h"

static void csv_text(FILE *out, const char *raw)
{
    char text[1024];
    bool formula = raw[0] && strchr("=+-@\t\r", raw[0]);
    llmperf_escape(raw, text, sizeof text); /* control bytes must not reach a terminal */
    if (!formula && !strpbrk(text, ",\"")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    if (formula)
        fputc('\'', out);
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            fputc('"', out);
        fputc(*c, out);
    }
    fputc('"', out);
}

const sink_format csv_sink = {.separator = ',', .cell = csv_text};
