/* SPDX-License-Identifier: MIT */
/* Numbers for people. */
#include <math.h>
#include <string.h>

#include "page.h"

/* Three significant digits without an exponent: "9.57", "95.7", "957", "9,570". */
char *human_number(double value, char *buffer)
{
    double size = fabs(value);
    if (size >= 999.5)
        return human_count(value, buffer);
    int decimals = size >= 99.95 || value == 0 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
    if (size > 0 && size < 0.0005)
        snprintf(buffer, HUMAN_MAX, "%.2g", value);
    else
        snprintf(buffer, HUMAN_MAX, "%.*f", decimals, value);
    return buffer;
}

char *human_count(double count, char *buffer)
{
    static const struct {
        double at;
        const char *suffix;
    } steps[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "B"}, {1e6, "M"}};
    char plain[HUMAN_MAX];
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (fabs(count) >= steps[i].at * 0.9995) {
            snprintf(buffer, HUMAN_MAX, "%.3g%s", count / steps[i].at, steps[i].suffix);
            return buffer;
        }
    int length = snprintf(plain, sizeof plain, "%.0f", count);
    int used = 0;
    for (int i = 0; i < length && used < HUMAN_MAX - 2; i++) {
        if (i > 0 && plain[i - 1] != '-' && (length - i) % 3 == 0)
            buffer[used++] = ',';
        buffer[used++] = plain[i];
    }
    buffer[used] = '\0';
    return buffer;
}

static char *scaled(double value, const char *const *units, double step, char *buffer)
{
    char number[HUMAN_MAX];
    int i = 0;
    while (units[i + 1] && fabs(value) >= step * 0.9995) {
        value /= step;
        i++;
    }
    snprintf(buffer, HUMAN_MAX, "%.16s %s", human_number(value, number), units[i]);
    return buffer;
}

char *human_time(double seconds, char *buffer)
{
    static const char *const small[] = {"ns", "us", "ms", "s", NULL};
    char number[HUMAN_MAX];
    if (seconds >= 599.5) {
        bool hours = seconds >= 7200;
        snprintf(buffer, HUMAN_MAX, "%.16s %s", human_number(seconds / (hours ? 3600 : 60), number),
                 hours ? "h" : "min");
        return buffer;
    }
    return scaled(seconds * 1e9, small, 1000, buffer);
}

char *human_bytes(double bytes, char *buffer)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", NULL};
    return scaled(bytes, units, 1000, buffer);
}

char *human_flop(double flop, char *buffer)
{
    static const char *const units[] = {"FLOP",  "kFLOP", "MFLOP", "GFLOP",
                                        "TFLOP", "PFLOP", "EFLOP", NULL};
    return scaled(flop, units, 1000, buffer);
}

char *human_tokens(double tokens, char *buffer)
{
    char number[HUMAN_MAX];
    if (tokens >= 1e6)
        snprintf(buffer, HUMAN_MAX, "%.16sM", human_number(tokens / 1e6, number));
    else if (tokens >= 1e4)
        snprintf(buffer, HUMAN_MAX, "%.16sk", human_number(tokens / 1e3, number));
    else
        human_count(tokens, buffer);
    return buffer;
}

char *human_bar(double fraction, int width, char *buffer)
{
    int filled = (int)lround(fraction * width);
    if (filled == 0 && fraction > 0.005)
        filled = 1;
    filled = filled < 0 ? 0 : filled > width ? width : filled;
    memset(buffer, '#', (size_t)filled);
    buffer[filled] = '\0';
    return buffer;
}
