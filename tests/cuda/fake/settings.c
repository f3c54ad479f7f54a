/* SPDX-License-Identifier: MIT */
/* Settings, clock, report and injected faults: what the four libraries share. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake.h"

/* ---- settings -------------------------------------------------------------------------------- */

static const fake_settings DEFAULTS = {
    .name = "NVIDIA H200",
    .driver_text = "580.65.06",
    .devices = 1,
    .capability = 9.0,
    .sms = 132,
    .memory = 150e9,
    .used = 0.6e9,
    .clock = 1980e6,
    .memory_clock = 3201e6,
    .power = 700,
    .driver = 13000,
    .lt_version = 130000,
    .rate = {[FAKE_FP32] = 52e12,
             [FAKE_TF32] = 400e12,
             [FAKE_FP16] = 800e12,
             [FAKE_BF16] = 790e12,
             [FAKE_FP8] = 1500e12,
             [FAKE_INT8] = 1450e12},
    .bandwidth = 4.2e12,
    .l2 = 50e6,
    .l2_bandwidth = 9e12,
    .t0 = 1e-6,
    .decode = 0.8,
    .prefill = 0.45,
    .stream = 1,
    .launch_host = 1.5e-6,
    .launch = 2e-6,
    .graph = 1.2e-6,
    .start = 3e-6,
    .call = 0.1e-6,
    .sync = 1.5e-6,
    .pcie = 55e9,
    .pcie_latency = 8e-6,
    .nvlink = 360e9,
    .nvlink_latency = 10e-6,
    .noise = 0.003,
    .seed = 1,
    .outlier_factor = 4,
    .throttle_from = -1,
    .throttle_factor = 1.3,
    .settle = 1,
    .fault_code = CU_LAUNCH_FAILED,
    .algorithms = 8,
    .wrong_algorithm = -1,
    .wrong_type = -1,
    .ecc = 1,
    .persistence = 1,
    .checked = 32,
    .real = 20000,
};

#define NUMBER(key)                                                                                \
    {                                                                                              \
#key, offsetof(fake_settings, key), 0                                                      \
    }
#define RATE(key, index)                                                                           \
    {                                                                                              \
#key, offsetof(fake_settings, rate) + sizeof(double) * (index), 0                          \
    }
#define TEXT(key)                                                                                  \
    {                                                                                              \
#key, offsetof(fake_settings, key), sizeof(((fake_settings *)0)->key)                      \
    }

static const struct {
    const char *key;
    size_t offset, text_size; /* 0 = a number */
} SETTINGS[] = {
    TEXT(name),         /* of the devices */
    TEXT(driver_text),  /* what NVML says */
    NUMBER(devices),    /* how many, all alike */
    NUMBER(capability), /* 9.0 = sm_90 */
    NUMBER(sms),
    NUMBER(memory), /* total bytes */
    NUMBER(used),   /* bytes of others */
    NUMBER(clock),  /* Hz */
    NUMBER(memory_clock),
    NUMBER(power),  /* W, limit */
    NUMBER(driver), /* 13000 = CUDA 13.0 */
    NUMBER(lt_version),
    RATE(fp32, FAKE_FP32), /* what the best algorithm sustains; 0 = not supported */
    RATE(tf32, FAKE_TF32),
    RATE(fp16, FAKE_FP16),
    RATE(bf16, FAKE_BF16),
    RATE(fp8, FAKE_FP8),
    RATE(int8, FAKE_INT8),
    RATE(fp4, FAKE_FP4),
    NUMBER(bandwidth), /* what kernels get from memory */
    NUMBER(l2),
    NUMBER(l2_bandwidth),
    NUMBER(t0),          /* of a product, beside its launch */
    NUMBER(decode),      /* share of the bandwidth */
    NUMBER(prefill),     /* share of the rate */
    NUMBER(stream),      /* share of the bandwidth of elementwise kernels */
    NUMBER(launch_host), /* host time of a launch */
    NUMBER(launch),      /* device time between kernels of a stream */
    NUMBER(graph),       /* the same inside a graph */
    NUMBER(start),       /* from a launch to its start on an idle device */
    NUMBER(call),        /* host time of any call */
    NUMBER(sync),        /* host time from the device's end to the host's return */
    NUMBER(pcie),
    NUMBER(pcie_latency),
    NUMBER(nvlink),
    NUMBER(nvlink_latency),
    NUMBER(noise), /* sigma of log(time) */
    NUMBER(seed),
    NUMBER(outliers), /* share of works that take outlier_factor times as long */
    NUMBER(outlier_factor),
    NUMBER(throttle_from), /* device-busy seconds; below 0 = never */
    NUMBER(throttle_for),
    NUMBER(throttle_factor),
    NUMBER(cold),     /* share by which a cold device is faster ... */
    NUMBER(settle),   /* ... and seconds of work until it is not */
    NUMBER(hang_at),  /* the n-th kernel or product never ends */
    NUMBER(fault_at), /* the n-th ends the context with fault_code */
    NUMBER(fault_code),
    NUMBER(nccl_hang),       /* from the n-th collective on */
    NUMBER(algorithms),      /* that cuBLASLt offers */
    NUMBER(wrong_algorithm), /* this one (0 ...) is fast and wrong */
    NUMBER(wrong_type),      /* all of them are wrong for this fake_rate */
    NUMBER(mig),
    NUMBER(ecc),
    NUMBER(persistence),
    NUMBER(others), /* processes on the device */
    NUMBER(compute_mode),
    NUMBER(checked), /* values of a product that are worked out, at most, in one check */
    NUMBER(real),    /* launches of fewer values run the real kernel */
};

static fake_settings settings;
static bool settings_read;

static void refuse(const char *what, const char *text)
{
    fprintf(stderr, "fake-cuda: %s: '%s'\n", what, text);
    _exit(96);
}

static void set(const char *key, size_t key_length, const char *value, size_t value_length)
{
    for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++) {
        if (strlen(SETTINGS[i].key) != key_length || strncmp(SETTINGS[i].key, key, key_length) != 0)
            continue;
        char *to = (char *)&settings + SETTINGS[i].offset;
        if (SETTINGS[i].text_size > 0) {
            snprintf(to, SETTINGS[i].text_size, "%.*s", (int)value_length, value);
            return;
        }
        char *end;
        double number = strtod(value, &end);
        if (end != value + value_length || value_length == 0)
            refuse("not a number in FAKE_CUDA", key);
        memcpy(to, &number, sizeof number);
        return;
    }
    refuse("no such setting in FAKE_CUDA", key);
}

const fake_settings *fake_get(void)
{
    if (settings_read)
        return &settings;
    settings_read = true;
    settings = DEFAULTS;
    for (const char *at = getenv("FAKE_CUDA"); at && *at;) {
        size_t whole = strcspn(at, ","), key = strcspn(at, "=");
        if (key >= whole)
            refuse("key=value expected in FAKE_CUDA", at);
        set(at, key, at + key + 1, whole - key - 1);
        at += whole + (at[whole] == ',');
    }
    settings.devices = fmin(settings.devices, FAKE_DEVICES_MAX);
    return &settings;
}

/* ---- clock ----------------------------------------------------------------------------------- */

static double *shared_clock(void)
{
    static double own = 1000, *clock;
    if (clock)
        return clock;
    double *(*lent)(void);
    void *symbol = dlsym(RTLD_DEFAULT, "fake_clock");
    memcpy(&lent, &symbol, sizeof lent);
    return clock = symbol ? lent() : &own;
}

double fake_now(void)
{
    return *shared_clock();
}

void fake_spend(double seconds)
{
    *shared_clock() += seconds;
}

/* Waiting for what never comes cannot be told from a hang, so that it ends the process. */
void fake_wait_until(double time_s, const char *who)
{
    if (isinf(time_s)) {
        fake_misuse(0, "%s waits for ever for the device", who);
        fprintf(stderr, "fake-cuda: %s waits for ever for the device\n", who);
        _exit(95);
    }
    if (time_s > fake_now())
        *shared_clock() = time_s;
}

/* ---- report: $FAKE_CUDA_REPORT/PID, kept up to date, so that it survives any end --------------- */

static const char *const COUNTER_NAMES[] = {
#define NAME(name) #name,
    FAKE_COUNTERS(NAME)
#undef NAME
};

/* The counters as 64-bit integers, then their names, each with a line feed. */
static int64_t own[FAKE_COUNTER_COUNT], *counters = own;
static bool opened, forked;

static void in_child(void)
{
    forked = true;
    opened = false;
}

bool fake_forked(void)
{
    return forked;
}

static void open_report(void)
{
    char path[4096], names[1024];
    size_t used = 0;
    const char *folder = getenv("FAKE_CUDA_REPORT");
    opened = true;
    if (!forked)
        pthread_atfork(NULL, NULL, in_child);
    counters = own;
    memset(own, 0, sizeof own);
    if (!folder || !*folder)
        return;
    for (int i = 0; i < FAKE_COUNTER_COUNT; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s\n", COUNTER_NAMES[i]);
    snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || pwrite(file, own, sizeof own, 0) != (ssize_t)sizeof own ||
        pwrite(file, names, used, sizeof own) != (ssize_t)used)
        refuse("no report can be written", path);
    void *map = mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map == MAP_FAILED)
        refuse("no report can be written", path);
    close(file);
    counters = map;
}

void fake_count(enum fake_counter counter, int64_t by)
{
    if (!opened)
        open_report();
    counters[counter] += by;
}

/* Of the machine's clock, from its first call on. */
static void count_time(void)
{
    static double begun_s;
    if (!(begun_s > 0))
        begun_s = fake_now();
    fake_count(FAKE_elapsed_ms,
               (int64_t)((fake_now() - begun_s) * 1e3) - fake_counted(FAKE_elapsed_ms));
}

int64_t fake_counted(enum fake_counter counter)
{
    return counters[counter];
}

int fake_misuse(int code, const char *format, ...)
{
    char path[4096];
    const char *folder = getenv("FAKE_CUDA_REPORT");
    va_list list;
    FILE *out = NULL;
    if (folder && *folder) {
        snprintf(path, sizeof path, "%s/misuse", folder);
        out = fopen(path, "ae");
    }
    FILE *to = out ? out : stderr;
    fake_count(FAKE_misuse, 1);
    va_start(list, format);
    fputs("fake-cuda: ", to);
    vfprintf(to, format, list);
    fputc('\n', to);
    va_end(list);
    if (out)
        fclose(out);
    return code;
}

/* ---- faults ---------------------------------------------------------------------------------- */

/*
 * $FAKE_CUDA_FAIL, "NAME=CODE[@N[+]],...": calls of NAME answer CODE: all of them, the N-th, or all
 * from the N-th on. NAME is a function, a library (driver, nvml, lt, nccl) or "alloc": whatever
 * allocates.
 */
typedef struct rule {
    char name[64];
    int code;
    long at, calls; /* at 0 = always */
    bool stays;
} rule;

enum { RULES_MAX = 64 };

static rule rules[RULES_MAX];
static int rule_count = -1;

static void read_rule(const char *text, size_t length)
{
    rule *r = &rules[rule_count++];
    size_t name = strcspn(text, "=");
    char *end;
    if (name >= length || name >= sizeof r->name)
        refuse("NAME=CODE[@N[+]] expected in FAKE_CUDA_FAIL", text);
    snprintf(r->name, sizeof r->name, "%.*s", (int)name, text);
    r->code = (int)strtol(text + name + 1, &end, 10);
    if (*end == '@')
        r->at = strtol(end + 1, &end, 10);
    if (*end == '+') {
        r->stays = true;
        end++;
    }
    if (end != text + length)
        refuse("NAME=CODE[@N[+]] expected in FAKE_CUDA_FAIL", text);
}

static void read_rules(void)
{
    rule_count = 0;
    for (const char *at = getenv("FAKE_CUDA_FAIL"); at && *at && rule_count < RULES_MAX;) {
        size_t whole = strcspn(at, ",");
        read_rule(at, whole);
        at += whole + (at[whole] == ',');
    }
}

static bool allocates(const char *name)
{
    static const char *const NAMES[] = {"cuMemAlloc_v2",
                                        "cuMemHostAlloc",
                                        "cuDevicePrimaryCtxRetain",
                                        "cuModuleLoadData",
                                        "cuStreamCreate",
                                        "cuEventCreate",
                                        "cuStreamEndCapture",
                                        "cuGraphInstantiateWithFlags",
                                        NULL};
    for (int i = 0; NAMES[i]; i++)
        if (strcmp(NAMES[i], name) == 0)
            return true;
    return false;
}

static void find_rules(fake_function *function)
{
    if (rule_count < 0)
        read_rules();
    function->known = true;
    function->allocates = allocates(function->name);
    for (int i = 0; i < rule_count; i++)
        if (strcmp(rules[i].name, function->name) == 0 ||
            strcmp(rules[i].name, function->library) == 0 ||
            (strcmp(rules[i].name, "alloc") == 0 && function->allocates))
            function->rules |= (uint64_t)1 << i;
}

int fake_injected(fake_function *function)
{
    int code = 0;
    if (!function->known)
        find_rules(function);
    fake_count(FAKE_allocating, function->allocates);
    count_time();
    for (int i = 0; i < rule_count && function->rules; i++) {
        rule *r = &rules[i];
        if (!(function->rules >> i & 1))
            continue;
        r->calls++;
        if (code == 0 && (r->at == 0 || r->calls == r->at || (r->stays && r->calls > r->at)))
            code = r->code;
    }
    if (code != 0)
        fake_count(FAKE_injected, 1);
    return code;
}
