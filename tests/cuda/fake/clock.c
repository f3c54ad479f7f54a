/* SPDX-License-Identifier: MIT */
/*
 * LD_PRELOAD: the program's monotonic clock and its sleeps run on a clock of their own, which only
 * sleeping and the fake libraries move. A wait of an hour takes no time and is the same each run.
 */
#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT double *fake_clock(void);

static const double LOOK_S = 30e-9; /* of the clock itself: who only looks at it gets on too */

static double clock_s = 1000;

double *fake_clock(void)
{
    return &clock_s;
}

/* ISO C has no cast from object to function. */
typedef int (*gettime_function)(clockid_t, struct timespec *);

static int real_gettime(clockid_t clock, struct timespec *ret_time)
{
    static gettime_function next;
    if (!next) {
        void *symbol = dlsym(RTLD_NEXT, "clock_gettime");
        memcpy(&next, &symbol, sizeof next);
    }
    return next(clock, ret_time);
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_RAW && clock != CLOCK_BOOTTIME)
        return real_gettime(clock, ret_time);
    clock_s += LOOK_S;
    ret_time->tv_sec = (time_t)clock_s;
    ret_time->tv_nsec = (long)((clock_s - (double)ret_time->tv_sec) * 1e9);
    return 0;
}

EXPORT int nanosleep(const struct timespec *wanted, struct timespec *ret_left)
{
    (void)ret_left;
    clock_s += (double)wanted->tv_sec + 1e-9 * (double)wanted->tv_nsec;
    return 0;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *wanted,
                           struct timespec *ret_left)
{
    double s = (double)wanted->tv_sec + 1e-9 * (double)wanted->tv_nsec;
    (void)clock, (void)ret_left;
    if (flags & TIMER_ABSTIME)
        clock_s = clock_s > s ? clock_s : s;
    else
        clock_s += s;
    return 0;
}

EXPORT int usleep(useconds_t wanted)
{
    clock_s += 1e-6 * (double)wanted;
    return 0;
}

EXPORT unsigned sleep(unsigned wanted)
{
    clock_s += wanted;
    return 0;
}

EXPORT int sched_yield(void)
{
    clock_s += LOOK_S;
    return 0;
}
