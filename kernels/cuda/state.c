/* SPDX-License-Identifier: MIT */
/*
 * What NVML tells of the device: clocks, power, heat, throttling, company. Every call may be
 * denied (containers, MIG, WSL) and is then left out. The device is found by its UUID or PCI id:
 * NVML counts devices in another order than CUDA.
 */
#include <stdio.h>
#include <string.h>

#include "cuda.h"

static const double READ_EVERY_S = 0.05;

enum {
    PROCESSES_MAX = 64,
    READ_COUNT = 5, /* measurements of so many repetitions have a reading of their own */
    /* what slows a device below what it does on its own power and cooling */
    THROTTLING = NVML_REASON_HW_SLOWDOWN | NVML_REASON_SW_THERMAL | NVML_REASON_HW_THERMAL |
                 NVML_REASON_POWER_BRAKE,
};

void cuda_state_find(cuda_device *d)
{
    const cuda_nvml *n = &d->nvml;
    nvml_device found = NULL;
    bool is_found = n->nvmlDeviceGetHandleByUUID && d->facts.uuid[0] &&
                    n->nvmlDeviceGetHandleByUUID(d->facts.uuid, &found) == 0;
    if (!is_found)
        is_found = n->nvmlDeviceGetHandleByPciBusId_v2 && d->facts.pci[0] &&
                   n->nvmlDeviceGetHandleByPciBusId_v2(d->facts.pci, &found) == 0;
    d->nvml_handle = is_found ? found : NULL;
    unsigned mig = 0, later = 0;
    d->is_slice = is_found && n->nvmlDeviceGetMigMode &&
                  n->nvmlDeviceGetMigMode(found, &mig, &later) == 0 && mig != 0;
}

/* ---- single readings; -1 where the call is not there or says no ------------------------------- */

typedef int (*reading)(nvml_device device, unsigned *value);
typedef int (*reading_of)(nvml_device device, int which, unsigned *value);

static double read_one(const cuda_device *d, reading call, double unit)
{
    unsigned value = 0;
    if (!d->nvml_handle || !call || call(d->nvml_handle, &value) != 0)
        return -1;
    return unit * (double)value;
}

static double read_which(const cuda_device *d, reading_of call, int which, double unit)
{
    unsigned value = 0;
    if (!d->nvml_handle || !call || call(d->nvml_handle, which, &value) != 0)
        return -1;
    return unit * (double)value;
}

static int64_t read_reasons(const cuda_device *d)
{
    unsigned long long bits = 0;
    if (!d->nvml_handle || !d->nvml.nvmlDeviceGetCurrentClocksThrottleReasons ||
        d->nvml.nvmlDeviceGetCurrentClocksThrottleReasons(d->nvml_handle, &bits) != 0)
        return -1;
    return (int64_t)(bits & INT64_MAX);
}

static int64_t read_processes(const cuda_device *d)
{
    nvml_process processes[PROCESSES_MAX];
    unsigned count = PROCESSES_MAX;
    /* of the whole part: who works in another slice is no company */
    if (d->is_slice || !d->nvml_handle || !d->nvml.nvmlDeviceGetComputeRunningProcesses_v3)
        return -1;
    int result = d->nvml.nvmlDeviceGetComputeRunningProcesses_v3(d->nvml_handle, &count, processes);
    if (result != 0 && result != NVML_INSUFFICIENT_SIZE)
        return -1;
    return (int64_t)count;
}

cuda_moment cuda_state_now(const cuda_device *d)
{
    return (cuda_moment){
        .at_s = cuda_now_s(),
        .clock_hz = read_which(d, d->nvml.nvmlDeviceGetClockInfo, NVML_CLOCK_SM, 1e6),
        .memory_clock_hz = read_which(d, d->nvml.nvmlDeviceGetClockInfo, NVML_CLOCK_MEMORY, 1e6),
        .power_w = read_one(d, d->nvml.nvmlDeviceGetPowerUsage, 1e-3),
        .celsius = read_which(d, d->nvml.nvmlDeviceGetTemperature, NVML_TEMPERATURE_GPU, 1),
        .reasons = read_reasons(d),
        .processes = read_processes(d),
    };
}

/* Processes other than this one. In containers their numbers are the host's, so that ours cannot be
 * told by its number: with a context open, one of them is ours. */
static int64_t others_of(const cuda_device *d, const cuda_moment *m)
{
    int64_t ours = d->context ? 1 : 0;
    return m->processes > ours ? m->processes - ours : 0;
}

/* A device at its power limit is as it always is under load: counted and said, not flagged. The
 * moment before is the one after the last measurement; asking takes milliseconds on some drivers, so
 * that short warm-up calls share an answer. */
unsigned cuda_state_judge(cuda_device *d, int count)
{
    const cuda_moment from = d->last;
    if (count < READ_COUNT && from.at_s > 0 && cuda_now_s() - from.at_s < READ_EVERY_S)
        return d->last_flags;
    const cuda_moment to = cuda_state_now(d);
    int64_t reasons = (from.reasons > 0 ? from.reasons : 0) | (to.reasons > 0 ? to.reasons : 0);
    unsigned flags = 0;
    if (reasons & THROTTLING)
        flags |= LLMPERF_SAMPLE_THROTTLED;
    if (others_of(d, &from) > 0 || others_of(d, &to) > 0)
        flags |= LLMPERF_SAMPLE_CONTENDED;
    d->capped += (reasons & NVML_REASON_POWER_CAP) != 0;
    d->throttled += (flags & LLMPERF_SAMPLE_THROTTLED) != 0;
    d->contended += (flags & LLMPERF_SAMPLE_CONTENDED) != 0;
    d->judged++;
    d->last = to;
    d->last_flags = flags;
    return flags;
}

/* ---- describing -------------------------------------------------------------------------------- */

static void put_number(llmperf_device *device, const char *key, double number)
{
    llmperf_state_item *item = &device->state[device->state_count];
    if (number < 0 || device->state_count == LLMPERF_STATE_MAX)
        return;
    device->state_count++;
    snprintf(item->key, sizeof item->key, "%s", key);
    item->number = number;
}

static void put_text(llmperf_device *device, const char *key, const char *text)
{
    if (!text[0] || device->state_count == LLMPERF_STATE_MAX)
        return;
    snprintf(device->state[device->state_count].text, LLMPERF_NAME_MAX, "%s", text);
    put_number(device, key, 0);
}

static void reasons_text(int64_t reasons, char *text, size_t size)
{
    static const struct {
        int64_t bit;
        const char *word;
    } WORDS[] = {{NVML_REASON_IDLE, "idle"},
                 {NVML_REASON_APPLICATION_CLOCKS, "application clocks"},
                 {NVML_REASON_POWER_CAP, "power cap"},
                 {NVML_REASON_HW_SLOWDOWN, "hardware slowdown"},
                 {NVML_REASON_SW_THERMAL, "heat (driver)"},
                 {NVML_REASON_HW_THERMAL, "heat (hardware)"},
                 {NVML_REASON_POWER_BRAKE, "power brake"}};
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS && used < size; i++)
        if (reasons & WORDS[i].bit)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? " + " : "",
                                     WORDS[i].word);
    if (!text[0])
        snprintf(text, size, "none");
}

/* ECC, MIG and persistence: on or off. */
static void put_switches(const cuda_device *d, llmperf_device *device)
{
    int now = 0, later = 0;
    unsigned mig = 0, mig_later = 0;
    const cuda_nvml *n = &d->nvml;
    if (!d->nvml_handle)
        return;
    if (n->nvmlDeviceGetEccMode && n->nvmlDeviceGetEccMode(d->nvml_handle, &now, &later) == 0)
        put_text(device, "ecc", now ? "on" : "off");
    if (n->nvmlDeviceGetMigMode && n->nvmlDeviceGetMigMode(d->nvml_handle, &mig, &mig_later) == 0) {
        put_text(device, "mig", mig ? "on" : "off");
        if (mig)
            llmperf_note(&device->notes,
                         "MIG: a slice of the device; its multiprocessors and memory "
                         "count, not its name");
    }
    if (n->nvmlDeviceGetPersistenceMode &&
        n->nvmlDeviceGetPersistenceMode(d->nvml_handle, &now) == 0)
        put_text(device, "persistence", now ? "on" : "off");
}

static void put_power(const cuda_device *d, llmperf_device *device)
{
    double cap_w = read_one(d, d->nvml.nvmlDeviceGetEnforcedPowerLimit, 1e-3);
    double usual_w = read_one(d, d->nvml.nvmlDeviceGetPowerManagementDefaultLimit, 1e-3);
    put_number(device, "power_cap_w", cap_w);
    if (cap_w > 0 && usual_w > 0 && cap_w < 0.99 * usual_w)
        llmperf_note(&device->notes, "the power cap is %.0f W; this device's own is %.0f W", cap_w,
                     usual_w);
}

void cuda_state_describe(const cuda_device *d, llmperf_device *device)
{
    char text[LLMPERF_NAME_MAX];
    cuda_moment now = cuda_state_now(d);
    snprintf(text, sizeof text, "%d.%d", d->facts.major, d->facts.minor);
    put_text(device, "capability", text);
    snprintf(text, sizeof text, "%d.%d", d->facts.driver_version / 1000,
             d->facts.driver_version % 1000 / 10);
    put_text(device, "driver_cuda", text);
    char version[80] = "";
    if (d->has_nvml && d->nvml.nvmlSystemGetDriverVersion &&
        d->nvml.nvmlSystemGetDriverVersion(version, (unsigned)sizeof version) == 0)
        put_text(device, "driver", version);
    put_text(device, "uuid", d->facts.uuid);
    put_text(device, "pci", d->facts.pci);
    put_number(device, "memory_clock_hz", d->facts.memory_clock_hz);
    put_number(device, "bus_bits", d->facts.bus_bits);
    if (!d->nvml_handle) {
        llmperf_note(&device->notes, "NVML %s: clocks, power and throttling are not known",
                     d->has_nvml ? "does not know this device" : "is not here");
        return;
    }
    put_number(device, "clock_hz", now.clock_hz);
    put_number(device, "clock_most_hz",
               read_which(d, d->nvml.nvmlDeviceGetMaxClockInfo, NVML_CLOCK_SM, 1e6));
    put_number(device, "power_w", now.power_w);
    put_power(d, device);
    put_number(device, "temperature_c", now.celsius);
    if (now.reasons >= 0) {
        reasons_text(now.reasons, text, sizeof text);
        put_text(device, "throttle", text);
    }
    put_switches(d, device);
    if (now.processes >= 0)
        put_number(device, "other_processes", (double)others_of(d, &now));
    if (others_of(d, &now) > 0)
        llmperf_note(&device->notes, "%lld other process%s on this device",
                     (long long)others_of(d, &now), others_of(d, &now) == 1 ? " is" : "es are");
    put_number(device, "pcie_generation",
               read_one(d, d->nvml.nvmlDeviceGetCurrPcieLinkGeneration, 1));
    put_number(device, "pcie_lanes", read_one(d, d->nvml.nvmlDeviceGetCurrPcieLinkWidth, 1));
}
