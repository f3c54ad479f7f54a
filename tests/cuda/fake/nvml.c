/* SPDX-License-Identifier: MIT */
/* libnvidia-ml.so.1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

#define DECLARE(name, arguments) FAKE_API int name arguments;
CUDA_NVML_FUNCTIONS(DECLARE)
#undef DECLARE

enum { UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_FOUND = 6 };

struct nvml_device_s {
    int index;
};

static struct nvml_device_s devices[FAKE_DEVICES_MAX];
static int users;

static int entered(fake_function *here, bool needs_init)
{
    int code = fake_injected(here);
    if (code == 0 && needs_init && users == 0)
        code = fake_misuse(UNINITIALIZED, "%s before nvmlInit", here->name);
    fake_spend(5e-6);
    return code;
}

#define ENTER(function, needs_init)                                                                \
    do {                                                                                           \
        static fake_function here = {.name = #function, .library = "nvml"};                        \
        int refused = entered(&here, needs_init);                                                  \
        if (refused)                                                                               \
            return refused;                                                                        \
    } while (0)

#define ENTER_DEVICE(function)                                                                     \
    ENTER(function, true);                                                                         \
    if (!is_device(device))                                                                        \
    return fake_misuse(INVALID_ARGUMENT, #function " of no device")

static bool is_device(nvml_device device)
{
    return device >= devices && device < devices + (int)fake_get()->devices;
}

int nvmlInit_v2(void)
{
    ENTER(nvmlInit_v2, false);
    users++;
    fake_count(FAKE_live_nvml, 1);
    return 0;
}

int nvmlShutdown(void)
{
    static fake_function here = {.name = "nvmlShutdown", .library = "nvml"};
    int said = entered(&here, true); /* whatever it says, it is done */
    users--;
    fake_count(FAKE_live_nvml, -1);
    return said;
}

int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    ENTER(nvmlSystemGetDriverVersion, true);
    if (strlen(fake_get()->driver_text) >= size)
        return NVML_INSUFFICIENT_SIZE;
    snprintf(version, size, "%s", fake_get()->driver_text);
    return 0;
}

static nvml_device device_at(int index)
{
    devices[index].index = index;
    return &devices[index];
}

int nvmlDeviceGetHandleByUUID(const char *uuid, nvml_device *device)
{
    ENTER(nvmlDeviceGetHandleByUUID, true);
    for (int i = 0; i < (int)fake_get()->devices; i++) {
        char text[64];
        int at = snprintf(text, sizeof text, "GPU-");
        for (int b = 0; b < 16; b++)
            at += snprintf(text + at, sizeof text - (size_t)at, "%s%02x",
                           b == 4 || b == 6 || b == 8 || b == 10 ? "-" : "",
                           (0xa0 + 16 * (i & 3) + b) & 0xff);
        if (strcmp(text, uuid) == 0) {
            *device = device_at(i);
            return 0;
        }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvml_device *device)
{
    ENTER(nvmlDeviceGetHandleByPciBusId_v2, true);
    unsigned domain = 0, bus = 0;
    if (sscanf(id, "%x:%x:", &domain, &bus) != 2 || bus < 0x18 ||
        bus >= 0x18 + (unsigned)fake_get()->devices)
        return NOT_FOUND;
    *device = device_at((int)bus - 0x18);
    return 0;
}

int nvmlDeviceGetClockInfo(nvml_device device, int clock, unsigned *mhz)
{
    ENTER_DEVICE(nvmlDeviceGetClockInfo);
    const fake_settings *f = fake_get();
    double sm = fake_busy_frac() > 0 ? f->clock : f->clock * 0.2;
    if (fake_throttled())
        sm = f->clock / f->throttle_factor;
    *mhz = (unsigned)((clock == NVML_CLOCK_MEMORY ? f->memory_clock : sm) / 1e6);
    return 0;
}

int nvmlDeviceGetMaxClockInfo(nvml_device device, int clock, unsigned *mhz)
{
    ENTER_DEVICE(nvmlDeviceGetMaxClockInfo);
    const fake_settings *f = fake_get();
    *mhz = (unsigned)((clock == NVML_CLOCK_MEMORY ? f->memory_clock : f->clock) / 1e6);
    return 0;
}

int nvmlDeviceGetPowerUsage(nvml_device device, unsigned *milliwatts)
{
    ENTER_DEVICE(nvmlDeviceGetPowerUsage);
    *milliwatts = (unsigned)(fake_get()->power * (0.15 + 0.75 * fake_busy_frac()) * 1e3);
    return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(nvml_device device, unsigned *milliwatts)
{
    ENTER_DEVICE(nvmlDeviceGetEnforcedPowerLimit);
    *milliwatts = (unsigned)(fake_get()->power * 1e3);
    return 0;
}

int nvmlDeviceGetPowerManagementDefaultLimit(nvml_device device, unsigned *milliwatts)
{
    ENTER_DEVICE(nvmlDeviceGetPowerManagementDefaultLimit);
    *milliwatts = 700000;
    return 0;
}

int nvmlDeviceGetTemperature(nvml_device device, int sensor, unsigned *celsius)
{
    ENTER_DEVICE(nvmlDeviceGetTemperature);
    if (sensor != NVML_TEMPERATURE_GPU)
        return fake_misuse(INVALID_ARGUMENT, "temperature sensor %d", sensor);
    *celsius = fake_throttled() ? 88 : 45;
    return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvml_device device, unsigned long long *bits)
{
    ENTER_DEVICE(nvmlDeviceGetCurrentClocksThrottleReasons);
    *bits = fake_throttled()       ? NVML_REASON_HW_THERMAL | NVML_REASON_HW_SLOWDOWN
            : fake_busy_frac() > 0 ? 0
                                   : NVML_REASON_IDLE;
    return 0;
}

int nvmlDeviceGetEccMode(nvml_device device, int *current, int *pending)
{
    ENTER_DEVICE(nvmlDeviceGetEccMode);
    *current = *pending = (int)fake_get()->ecc;
    return 0;
}

int nvmlDeviceGetMigMode(nvml_device device, unsigned *current, unsigned *pending)
{
    ENTER_DEVICE(nvmlDeviceGetMigMode);
    *current = *pending = (unsigned)fake_get()->mig;
    return 0;
}

int nvmlDeviceGetPersistenceMode(nvml_device device, int *mode)
{
    ENTER_DEVICE(nvmlDeviceGetPersistenceMode);
    *mode = (int)fake_get()->persistence;
    return 0;
}

/* This process, once it has a context, and some others. */
int nvmlDeviceGetComputeRunningProcesses_v3(nvml_device device, unsigned *count,
                                            nvml_process *processes)
{
    ENTER_DEVICE(nvmlDeviceGetComputeRunningProcesses_v3);
    bool own = fake_counted(FAKE_live_contexts) > 0;
    unsigned there = (unsigned)fake_get()->others + own, room = *count;
    *count = there;
    if (room < there)
        return NVML_INSUFFICIENT_SIZE;
    for (unsigned i = 0; i < there && processes; i++)
        processes[i] =
            (nvml_process){.pid = own && i == 0 ? (unsigned)getpid() : 1, .used_bytes = 400000000};
    return 0;
}

int nvmlDeviceGetCurrPcieLinkGeneration(nvml_device device, unsigned *generation)
{
    ENTER_DEVICE(nvmlDeviceGetCurrPcieLinkGeneration);
    *generation = 5;
    return 0;
}

int nvmlDeviceGetCurrPcieLinkWidth(nvml_device device, unsigned *lanes)
{
    ENTER_DEVICE(nvmlDeviceGetCurrPcieLinkWidth);
    *lanes = 16;
    return 0;
}

int nvmlDeviceGetMemoryInfo(nvml_device device, nvml_memory *memory)
{
    ENTER_DEVICE(nvmlDeviceGetMemoryInfo);
    unsigned long long used =
        (unsigned long long)fake_get()->used + fake_memory_used((int)(device - devices));
    memory->total = (unsigned long long)fake_get()->memory;
    memory->used = used;
    memory->free = memory->total - used;
    return 0;
}
