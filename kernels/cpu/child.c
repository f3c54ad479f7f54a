/* SPDX-License-Identifier: MIT */
/* Work that may die, hang or load what cannot be unloaded, done in a child process. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cpu.h"

double cpu_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long switches_now(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_nivcsw : 0;
}

cpu_best cpu_best_begin(double seconds)
{
    return (cpu_best){.seconds = seconds, .begun_s = cpu_now_s(), .least_s = INFINITY};
}

bool cpu_best_more(cpu_best *best)
{
    enum { CLEAN = 3, PATIENCE = 12 };
    double now = cpu_now_s(), gone = now - best->begun_s;
    if (best->runs > 1) { /* the first warms */
        best->least_s = fmin(best->least_s, now - best->started_s);
        best->seen[(best->runs - 2) % CPU_BEST_SEEN] = now - best->started_s;
        best->clean += switches_now() == best->switches;
    }
    if (best->runs > CLEAN &&
        (gone > PATIENCE * best->seconds || (gone > best->seconds && best->clean >= CLEAN)))
        return false;
    best->runs++;
    best->switches = switches_now();
    best->started_s = cpu_now_s();
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double cpu_best_usual(const cpu_best *best)
{
    double sorted[CPU_BEST_SEEN];
    int count = best->runs - 1 < CPU_BEST_SEEN ? best->runs - 1 : CPU_BEST_SEEN;
    if (count < 1)
        return INFINITY;
    memcpy(sorted, best->seen, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    return sorted[count / 2];
}

/* Reads all of it before the deadline; false when it did not come. */
static bool receive(int from, char *to, size_t size, bool *ret_late)
{
    size_t have = 0;
    double deadline = cpu_now_s() + CPU_CHILD_LIMIT_S;
    *ret_late = false;
    while (have < size) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        int left_ms = (int)((deadline - cpu_now_s()) * 1e3);
        int count = left_ms > 0 ? poll(&ready, 1, left_ms) : 0;
        if (count < 0 && errno == EINTR)
            continue;
        *ret_late = count == 0;
        if (count <= 0)
            return false;
        ssize_t got = read(from, to + have, size - have);
        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return true;
}

static bool send_all(int to, const char *from, size_t size)
{
    while (size > 0) {
        ssize_t sent = write(to, from, size);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        from += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* The child's whole life. */
_Noreturn static void live(void (*work)(void *job), void *job, size_t size, int to)
{
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (quiet >= 0)
        dup2(quiet, STDERR_FILENO);
    signal(SIGINT, SIG_IGN); /* the parent decides */
    work(job);
    _exit(send_all(to, job, size) ? 0 : 1);
}

bool cpu_in_child(void (*work)(void *job), void *job, void *scratch, size_t size, int *ret_ended_by)
{
    int ends[2], state = 0;
    bool late = false, whole = false;
    *ret_ended_by = SIGABRT;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return false;
    pid_t child = fork();
    if (child == 0)
        live(work, job, size, ends[1]);
    close(ends[1]);
    if (child > 0) {
        whole = receive(ends[0], scratch, size, &late);
        if (!whole)
            kill(child, SIGKILL);
        while (waitpid(child, &state, 0) < 0 && errno == EINTR)
            ;
        if (!whole)
            *ret_ended_by = late ? -1 : WIFSIGNALED(state) ? WTERMSIG(state) : SIGABRT;
    }
    close(ends[0]);
    if (whole) {
        *ret_ended_by = 0;
        memcpy(job, scratch, size);
    }
    return whole;
}
