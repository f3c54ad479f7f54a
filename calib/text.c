/* SPDX-License-Identifier: MIT */
#include "text.h"

#include <stdio.h>
#include <string.h>

char *text_time(double seconds, char *buffer, size_t size)
{
    if (seconds >= 1)
        snprintf(buffer, size, "%.3g s", seconds);
    else if (seconds >= 1e-3)
        snprintf(buffer, size, "%.3g ms", seconds * 1e3);
    else
        snprintf(buffer, size, "%.3g us", seconds * 1e6);
    return buffer;
}

char *text_rate(double per_s, const char *unit, char *buffer, size_t size)
{
    if (per_s >= 1e15)
        snprintf(buffer, size, "%.3g P%s", per_s / 1e15, unit);
    else if (per_s >= 1e12)
        snprintf(buffer, size, "%.3g T%s", per_s / 1e12, unit);
    else
        snprintf(buffer, size, "%.3g G%s", per_s / 1e9, unit);
    return buffer;
}

char *text_flags(unsigned flags, char *buffer, size_t size)
{
    static const char *const WORDS[] = {" contended", " throttled", "",
                                        " unsteady",  " timeout",   " slow_memory"};
    buffer[0] = '\0';
    for (int i = 0; i < 6; i++)
        if (flags & 1u << i) {
            size_t used = strlen(buffer);
            snprintf(buffer + used, size - used, "%s", WORDS[i]);
        }
    return buffer;
}

char *text_bytes(double bytes, char *buffer, size_t size)
{
    static const char *const UNITS[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    while (bytes >= 1000 && unit < 4) {
        bytes /= 1000;
        unit++;
    }
    snprintf(buffer, size, "%.3g %s", bytes, UNITS[unit]);
    return buffer;
}
