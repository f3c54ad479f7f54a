/* SPDX-License-Identifier: MIT */
/* What this machine is: processors that we may use, caches, memory, limits, state. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cpu.h"

bool cpu_read_line(const char *path, char *buffer, size_t size)
{
    FILE *in = fopen(path, "re");
    if (!in)
        return false;
    bool ok = fgets(buffer, (int)size, in) != NULL;
    fclose(in);
    if (ok)
        buffer[strcspn(buffer, "\n")] = '\0';
    return ok;
}

/* Leading decimal number of a text; false when there is none. */
static bool leading_number(const char *text, double *ret_value)
{
    char digits[40];
    size_t length = strspn(text, "0123456789.");
    if (length == 0 || length >= sizeof digits)
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    return llmperf_parse_double(digits, ret_value);
}

static bool read_number(const char *path, double *ret_value)
{
    char line[128];
    return cpu_read_line(path, line, sizeof line) && leading_number(line, ret_value);
}

/* ---- /proc/cpuinfo --------------------------------------------------------------------------- */

static bool has_word(const char *line, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(line, word); at; at = strstr(at + 1, word))
        if (at[-1] == ' ' && (at[length] == ' ' || at[length] == '\n' || at[length] == '\0'))
            return true;
    return false;
}

static void read_cpuinfo(cpu_host *h)
{
    char *line = NULL;
    size_t room = 0;
    FILE *in = fopen("/proc/cpuinfo", "re");
    while (in && getline(&line, &room, in) > 0) {
        char *value = strchr(line, ':');
        if (!value)
            continue;
        value += 1 + (value[1] == ' ');
        value[strcspn(value, "\n")] = '\0';
        if (!h->name[0] && (strncmp(line, "model name", 10) == 0 || strncmp(line, "Model", 5) == 0))
            llmperf_escape(value, h->name, sizeof h->name);
        if (strncmp(line, "flags", 5) == 0) {
            value[-1] = ' ';
            h->has_fma = has_word(value, "fma");
            h->has_avx512 = has_word(value, "avx512f");
            h->has_bf16 = has_word(value, "avx512_bf16") || has_word(value, "amx_bf16");
            h->has_int8 = has_word(value, "avx512_vnni") || has_word(value, "avx_vnni") ||
                          has_word(value, "amx_int8");
            h->is_virtual = has_word(value, "hypervisor");
            break; /* the first processor stands for all */
        }
        if (strncmp(line, "Features", 8) == 0) { /* arm64 */
            value[-1] = ' ';
            h->has_bf16 = has_word(value, "bf16");
            h->has_int8 = has_word(value, "asimddp") || has_word(value, "i8mm");
            break;
        }
    }
    free(line);
    if (in)
        fclose(in);
    if (!h->name[0])
        snprintf(h->name, sizeof h->name, "CPU");
}

/* ---- processors that we may use -------------------------------------------------------------- */

/* Finds the distinct cores, and a processor of each. */
static void find_cores(cpu_host *h)
{
    static const char folder[] = "/sys/devices/system/cpu/cpu%d/topology/%s";
    double seen[CPU_CORES_MAX];
    int cores = 0;
    for (int i = 0; i < CPU_SETSIZE && cores < CPU_CORES_MAX; i++) {
        char path[128];
        double core, package;
        if (!CPU_ISSET((size_t)i, &h->allowed))
            continue;
        snprintf(path, sizeof path, folder, i, "core_id");
        bool known = read_number(path, &core);
        snprintf(path, sizeof path, folder, i, "physical_package_id");
        known = known && read_number(path, &package);
        double id = known ? package * 65536 + core : -1 - (double)i; /* unknown: a core each */
        int at = 0;
        while (at < cores && seen[at] != id)
            at++;
        if (at == cores) {
            h->core_cpu[cores] = i;
            seen[cores++] = id;
        }
    }
    h->cores = cores > 0 ? cores : h->allowed_count;
}

/* FOLDER/NAME into `path` (LLMPERF_PATH_MAX bytes); false when it is too long. */
static bool path_in(const char *folder, const char *name, char *path)
{
    int length = snprintf(path, LLMPERF_PATH_MAX, "%s/%s", folder, name);
    return length > 0 && length < LLMPERF_PATH_MAX;
}

/* "MAX PERIOD" of cgroup 2, or two files of cgroup 1, in one folder. Cores, 0 = no limit here. */
static double quota_in(const char *folder, char *ret_file)
{
    char path[LLMPERF_PATH_MAX], line[128];
    double quota, period;
    if (path_in(folder, "cpu.max", path) && cpu_read_line(path, line, sizeof line)) {
        const char *second = strchr(line, ' ');
        if (!leading_number(line, &quota) || !second || !leading_number(second + 1, &period) ||
            !(period > 0)) /* "max": no limit */
            return 0;
    } else {
        if (!path_in(folder, "cpu.cfs_period_us", path) || !read_number(path, &period) ||
            !(period > 0))
            return 0;
        if (!path_in(folder, "cpu.cfs_quota_us", path) || !read_number(path, &quota))
            return 0; /* "-1": no limit */
    }
    memcpy(ret_file, path, strlen(path) + 1);
    return quota / period;
}

static void take_quota(cpu_host *h, const char *folder)
{
    char file[LLMPERF_PATH_MAX] = "";
    double cores = quota_in(folder, file);
    if (cores > 0 && (h->quota_cores == 0 || cores < h->quota_cores)) {
        h->quota_cores = cores;
        memcpy(h->quota_file, file, sizeof file);
    }
}

/* The memory limit of a folder, 0 = none. */
static double memory_limit_in(const char *folder)
{
    static const char *const NAMES[] = {"memory.max", "memory.limit_in_bytes"};
    char path[LLMPERF_PATH_MAX];
    double limit;
    for (int i = 0; i < 2; i++) {
        if (path_in(folder, NAMES[i], path) && read_number(path, &limit))
            return limit < 1e18 ? limit : 0; /* a huge number: no limit */
    }
    return 0;
}

static void take_memory_limit(const char *folder, double *limit)
{
    double one = memory_limit_in(folder);
    if (one > 0 && (*limit == 0 || one < *limit))
        *limit = one;
}

/* Calls for a group and all above it: any of them may hold the limit. A container often sees its
 * group as the root, so folders that do not exist are passed over. */
static void walk_up(cpu_host *h, const char *root, const char *group, bool memory, double *limit)
{
    char folder[LLMPERF_PATH_MAX];
    int length = snprintf(folder, sizeof folder, "%s%s", root, group);
    if (length < 0 || (size_t)length >= sizeof folder)
        return;
    size_t stop = strlen(root);
    for (;;) {
        if (memory)
            take_memory_limit(folder, limit);
        else
            take_quota(h, folder);
        char *slash = strrchr(folder, '/');
        if (!slash || (size_t)(slash - folder) < stop || strlen(folder) <= stop)
            break;
        *slash = '\0';
    }
}

static bool lists_controller(const char *list, const char *end, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma ? comma : end;
        if ((size_t)(stop - at) == length && memcmp(at, name, length) == 0)
            return true;
        at = comma ? comma + 1 : end;
    }
    return false;
}

static void read_groups(cpu_host *h, double *memory_limit)
{
    char *line = NULL;
    size_t room = 0;
    FILE *in = fopen("/proc/self/cgroup", "re");
    while (in && getline(&line, &room, in) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *list = strchr(line, ':');
        char *group = list ? strchr(list + 1, ':') : NULL;
        if (!group)
            continue;
        list++;
        if (list == group) { /* cgroup 2 */
            walk_up(h, "/sys/fs/cgroup", group + 1, false, NULL);
            walk_up(h, "/sys/fs/cgroup", group + 1, true, memory_limit);
        }
        if (lists_controller(list, group, "cpu"))
            walk_up(h, "/sys/fs/cgroup/cpu", group + 1, false, NULL);
        if (lists_controller(list, group, "memory"))
            walk_up(h, "/sys/fs/cgroup/memory", group + 1, true, memory_limit);
    }
    free(line);
    if (in)
        fclose(in);
}

/* ---- caches, memory, state ------------------------------------------------------------------- */

/* Processors of a list such as "0-3,8-11" that are allowed; *ret_all = of the list. */
static int allowed_of_list(const char *text, const cpu_set_t *allowed, int *ret_all)
{
    int count = 0;
    *ret_all = 0;
    for (const char *at = text; *at;) {
        char *end;
        long from = strtol(at, &end, 10), to = from;
        if (end == at)
            break;
        if (*end == '-')
            to = strtol(end + 1, &end, 10);
        for (long i = from; i <= to && i < CPU_SETSIZE; i++) {
            ++*ret_all;
            count += CPU_ISSET((size_t)i, allowed) != 0;
        }
        at = *end == ',' ? end + 1 : end + strlen(end);
    }
    return count;
}

static int first_allowed(const cpu_host *h)
{
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET((size_t)i, &h->allowed))
            return i;
    return 0;
}

static void read_caches(cpu_host *h)
{
    int processor = first_allowed(h);
    for (int i = 0; i < 8; i++) {
        char path[128], text[256];
        double level, kib;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/type", processor,
                 i);
        if (!cpu_read_line(path, text, sizeof text))
            break;
        if (strcmp(text, "Instruction") == 0)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/level", processor,
                 i);
        if (!read_number(path, &level) || level < 1 || level > CPU_CACHE_LEVELS)
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/size", processor,
                 i);
        if (!cpu_read_line(path, text, sizeof text) || !leading_number(text, &kib))
            continue;
        double unit = strchr(text, 'M') ? 1048576 : 1024;
        int at = (int)level - 1, all = 1;
        h->cache_bytes[at] = kib * unit;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list",
                 processor, i);
        int ours = 1;
        if (cpu_read_line(path, text, sizeof text))
            ours = allowed_of_list(text, &h->allowed, &all);
        h->cache_shared[at] = all;
        /* as many instances as our processors are spread over, alike everywhere */
        double instances = ours > 0 ? (double)h->allowed_count / ours : 1;
        h->last_cache_bytes = h->cache_bytes[at] * (instances > 1 ? instances : 1);
    }
}

static void read_memory(cpu_host *h, double limit)
{
    char *line = NULL;
    size_t room = 0;
    FILE *in = fopen("/proc/meminfo", "re");
    while (in && getline(&line, &room, in) > 0) {
        double kib;
        const char *value = strchr(line, ':');
        if (!value || !leading_number(value + 1 + strspn(value + 1, " "), &kib))
            continue;
        if (strncmp(line, "MemTotal:", 9) == 0)
            h->memory_bytes = kib * 1024;
        if (strncmp(line, "MemAvailable:", 13) == 0)
            h->memory_free_bytes = kib * 1024;
    }
    free(line);
    if (in)
        fclose(in);
    if (limit > 0 && limit < h->memory_bytes) {
        h->memory_bytes = limit;
        h->memory_free_bytes = h->memory_free_bytes < limit ? h->memory_free_bytes : limit;
    }
}

static void read_state(cpu_host *h)
{
    char path[128], line[128];
    double khz;
    int processor = first_allowed(h);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor",
             processor);
    if (cpu_read_line(path, line, sizeof line))
        llmperf_escape(line, h->governor, sizeof h->governor);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq",
             processor);
    if (read_number(path, &khz))
        h->clock_hz = khz * 1e3;
    read_number("/proc/loadavg", &h->load);
}

void cpu_host_read(const char *cgroup, cpu_host *ret_host)
{
    cpu_host *h = ret_host;
    double memory_limit = 0;
    memset(h, 0, sizeof *h);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    h->online = online > 0 ? (int)online : 1;
    read_cpuinfo(h);
    CPU_ZERO(&h->allowed);
    if (sched_getaffinity(0, sizeof h->allowed, &h->allowed) != 0)
        for (int i = 0; i < h->online && i < CPU_SETSIZE; i++)
            CPU_SET((size_t)i, &h->allowed);
    h->allowed_count = CPU_COUNT(&h->allowed);
    find_cores(h);
    if (cgroup[0]) {
        take_quota(h, cgroup);
        take_memory_limit(cgroup, &memory_limit);
    } else {
        read_groups(h, &memory_limit);
    }
    h->usable = h->cores;
    if (h->quota_cores > 0 && h->quota_cores < h->usable)
        h->usable = (int)h->quota_cores; /* rounded down: a half core would be throttled */
    h->usable = h->usable > 0 ? h->usable : 1;
    read_caches(h);
    read_memory(h, memory_limit);
    read_state(h);
}
