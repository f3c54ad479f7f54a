/* SPDX-License-Identifier: MIT */
/*
 * Is anybody else using the cores while we measure? Three witnesses, none of them timing itself:
 *   - how long our own threads stood in the run queue (/proc/self/task/N/schedstat, nanoseconds);
 *   - how much of the allowed processors' busy time is not ours, and what a hypervisor took
 *     (/proc/stat, ticks of 10 ms);
 *   - own CPU time against the clock: one thread at least should have been running all the time.
 * A held back cgroup (nr_throttled of cpu.stat) and thermal events count as throttling.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cpu.h"

static const double TICKS_FROM_S = 0.1; /* /proc/stat says nothing about less */
static const double WAITING_FRAC = 0.03, WAITING_S = 0.3e-3;
static const double OTHERS_FRAC = 0.07, SPARE_FRAC = 0.8, STOLEN_FRAC = 0.02;
static const double RUNNING_FRAC = 0.85, RUNNING_FROM_S = 5e-3;

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds that our threads were runnable without running. */
static double waiting_s(void)
{
    double sum = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *one; folder && (one = readdir(folder));) {
        char path[320], line[128];
        if (one->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", one->d_name);
        if (!cpu_read_line(path, line, sizeof line))
            continue;
        const char *second = strchr(line, ' ');
        if (second)
            sum += (double)strtoull(second + 1, NULL, 10) * 1e-9;
    }
    if (folder)
        closedir(folder);
    return sum;
}

/* Busy and stolen time of the processors that we may use. */
static void processor_time(const cpu_host *host, double *ret_busy_s, double *ret_stolen_s)
{
    char *line = NULL;
    size_t room = 0;
    long per_second = sysconf(_SC_CLK_TCK);
    double tick_s = per_second > 0 ? 1.0 / (double)per_second : 0.01;
    double busy = 0, stolen = 0;
    FILE *in = fopen("/proc/stat", "re");
    while (in && getline(&line, &room, in) > 0) {
        char *at;
        if (strncmp(line, "cpu", 3) != 0)
            break;
        if (line[3] == ' ') /* the sum over all */
            continue;
        unsigned long processor = strtoul(line + 3, &at, 10);
        if (processor >= CPU_SETSIZE || !CPU_ISSET(processor, &host->allowed))
            continue;
        /* user nice system idle iowait irq softirq steal; guest time is in user already */
        for (int field = 0; field < 8; field++) {
            double ticks = (double)strtoull(at, &at, 10);
            if (field == 7)
                stolen += ticks;
            else if (field != 3 && field != 4)
                busy += ticks;
        }
    }
    free(line);
    if (in)
        fclose(in);
    *ret_busy_s = busy * tick_s;
    *ret_stolen_s = stolen * tick_s;
}

static double throttled_count(const cpu_company *company)
{
    char line[128];
    double count = 0;
    FILE *in = company->throttle_file[0] ? fopen(company->throttle_file, "re") : NULL;
    while (in && fgets(line, sizeof line, in))
        if (strncmp(line, "nr_throttled ", 13) == 0)
            count += (double)strtoull(line + 13, NULL, 10);
    if (in)
        fclose(in);
    static const char *const EVENTS[] = {
        "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count",
        "/sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count"};
    for (int i = 0; i < 2; i++)
        if (cpu_read_line(EVENTS[i], line, sizeof line))
            count += (double)strtoull(line, NULL, 10);
    return count;
}

void cpu_company_init(cpu_company *company, const cpu_host *host)
{
    memset(company, 0, sizeof *company);
    company->host = host;
    if (host->quota_file[0]) { /* cpu.stat stands beside the quota */
        snprintf(company->throttle_file, sizeof company->throttle_file, "%s", host->quota_file);
        char *slash = strrchr(company->throttle_file, '/');
        if (slash && (size_t)(slash - company->throttle_file) + 10 < LLMPERF_PATH_MAX)
            memcpy(slash, "/cpu.stat", 10);
    }
}

cpu_moment cpu_company_now(const cpu_company *company)
{
    cpu_moment m = {.wall_s = seconds_of(CLOCK_MONOTONIC),
                    .own_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID),
                    .waiting_s = waiting_s(),
                    .throttled = throttled_count(company)};
    processor_time(company->host, &m.busy_s, &m.stolen_s);
    return m;
}

unsigned cpu_company_threads(const cpu_moment *from, const cpu_moment *to, int threads,
                             char why[CPU_WHY_MAX])
{
    unsigned flags = 0;
    double wall = to->wall_s - from->wall_s, own = to->own_s - from->own_s;
    double waiting = to->waiting_s - from->waiting_s;
    why[0] = '\0';
    if (to->throttled > from->throttled) {
        flags |= LLMPERF_SAMPLE_THROTTLED;
        snprintf(why, CPU_WHY_MAX, "held back by the cgroup's quota or by heat");
    }
    if (waiting > WAITING_FRAC * wall * threads && waiting > WAITING_S) {
        flags |= LLMPERF_SAMPLE_CONTENDED;
        snprintf(why, CPU_WHY_MAX, "threads waited for a core %.0f %% of the time",
                 100 * waiting / (wall * threads));
    } else if (wall > RUNNING_FROM_S && own < RUNNING_FRAC * wall) {
        flags |= LLMPERF_SAMPLE_CONTENDED;
        snprintf(why, CPU_WHY_MAX, "ran only %.0f %% of the time", 100 * own / wall);
    }
    return flags;
}

unsigned cpu_company_machine(const cpu_company *company, const cpu_moment *from,
                             const cpu_moment *to, int threads, char why[CPU_WHY_MAX])
{
    unsigned flags = 0;
    double wall = to->wall_s - from->wall_s;
    double processors = company->host->allowed_count;
    why[0] = '\0';
    if (wall < TICKS_FROM_S)
        return 0;
    double others = (to->busy_s - from->busy_s) - (to->own_s - from->own_s);
    double stolen = to->stolen_s - from->stolen_s;
    double rounding = 0.02 * processors; /* two ticks of every processor */
    double spare = processors > threads ? processors - threads : 0; /* company does no harm there */
    if (others - rounding > wall * (OTHERS_FRAC * threads + SPARE_FRAC * spare)) {
        flags |= LLMPERF_SAMPLE_CONTENDED;
        snprintf(why, CPU_WHY_MAX, "others used %.0f %% of the cores",
                 100 * others / (wall * processors));
    }
    if (stolen > STOLEN_FRAC * wall * processors + rounding / 2) {
        flags |= LLMPERF_SAMPLE_CONTENDED;
        snprintf(why, CPU_WHY_MAX, "the hypervisor took %.0f %% of the cores",
                 100 * stolen / (wall * processors));
    }
    return flags;
}
