/* SPDX-License-Identifier: MIT */
/* One CUDA device: finding it, its context and module, and giving it back. */
#include "cuda.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    WORKSPACE_LARGE = 32 << 20, /* Hopper and later, as engines use */
    WORKSPACE_SMALL = 8 << 20,
    SMALL_BYTES = 1 << 20,
};

/* ---- finding --------------------------------------------------------------------------------- */

static double attribute(cuda_device *d, int which)
{
    int value = 0;
    return d->driver.cuDeviceGetAttribute(&value, which, d->device) == CU_OK ? value : 0;
}

static void uuid_text(const cu_uuid *uuid, char *text, size_t size)
{
    static const int DASHES[] = {4, 6, 8, 10};
    size_t used = (size_t)snprintf(text, size, "GPU-");
    for (int i = 0, dash = 0; i < 16 && used + 3 < size; i++) {
        if (dash < 4 && i == DASHES[dash]) {
            text[used++] = '-';
            dash++;
        }
        used += (size_t)snprintf(text + used, size - used, "%02x", (unsigned char)uuid->bytes[i]);
    }
}

static llmperf_status read_facts(cuda_device *d, int index, llmperf_error *error)
{
    cuda_facts f = {.index = index};
    size_t bytes = 0;
    cu_uuid uuid = {{0}};
    llmperf_status status = CUDA_CALL(d, error, cuDeviceGet, &d->device, index);
    if (status == LLMPERF_OK)
        status = CUDA_CALL(d, error, cuDeviceGetName, f.name, (int)sizeof f.name, d->device);
    if (status == LLMPERF_OK)
        status = CUDA_CALL(d, error, cuDeviceTotalMem_v2, &bytes, d->device);
    if (status == LLMPERF_OK)
        status = CUDA_CALL(d, error, cuDriverGetVersion, &f.driver_version);
    if (status != LLMPERF_OK)
        return status;
    if (d->driver.cuDeviceGetUuid_v2(&uuid, d->device) == CU_OK)
        uuid_text(&uuid, f.uuid, sizeof f.uuid);
    if (d->driver.cuDeviceGetPCIBusId(f.pci, (int)sizeof f.pci, d->device) != CU_OK)
        f.pci[0] = '\0';
    f.memory_bytes = (double)bytes;
    f.major = (int)attribute(d, CU_ATTRIBUTE_CAPABILITY_MAJOR);
    f.minor = (int)attribute(d, CU_ATTRIBUTE_CAPABILITY_MINOR);
    f.units = (int)attribute(d, CU_ATTRIBUTE_MULTIPROCESSORS);
    f.shared_optin = (int)attribute(d, CU_ATTRIBUTE_MAX_SHARED_PER_BLOCK_OPTIN);
    f.l2_bytes = attribute(d, CU_ATTRIBUTE_L2_BYTES);
    f.clock_hz = 1e3 * attribute(d, CU_ATTRIBUTE_CLOCK_RATE);
    f.memory_clock_hz = 1e3 * attribute(d, CU_ATTRIBUTE_MEMORY_CLOCK_RATE);
    f.bus_bits = attribute(d, CU_ATTRIBUTE_MEMORY_BUS_WIDTH);
    f.integrated = attribute(d, CU_ATTRIBUTE_INTEGRATED) > 0;
    if (f.units <= 0 || f.memory_bytes <= 0)
        return llmperf_fail(error, LLMPERF_E_DEVICE,
                            "cuda: device %d says it has %d multiprocessors and %.0f bytes", index,
                            f.units, f.memory_bytes);
    d->facts = f;
    return LLMPERF_OK;
}

/* The device whose UUID begins like this; `index` counts on. */
static llmperf_status find_uuid(cuda_device *d, int count, llmperf_error *error)
{
    const char *wanted = d->uuid;
    if (strncasecmp(wanted, "GPU-", 4) == 0 || strncasecmp(wanted, "MIG-", 4) == 0)
        wanted += 4;
    for (int i = 0; i < count; i++) {
        llmperf_status status = read_facts(d, i, error);
        if (status != LLMPERF_OK)
            return status;
        if (*wanted && strncasecmp(d->facts.uuid + 4, wanted, strlen(wanted)) == 0)
            return LLMPERF_OK;
    }
    return llmperf_fail(error, LLMPERF_E_USAGE, "backend cuda has no device '%s'; %d device%s here",
                        d->uuid, count, count == 1 ? " is" : "s are");
}

llmperf_status cuda_device_find(cuda_device *d, int index, llmperf_error *error)
{
    int count = 0;
    llmperf_status status = cuda_driver_open(d, &count, error);
    if (status != LLMPERF_OK)
        return status;
    if (d->uuid[0])
        status = find_uuid(d, count, error);
    else if (index < 0 || index >= count)
        return llmperf_fail(error, LLMPERF_E_USAGE, "backend cuda has devices 0 to %d; found %d",
                            count - 1, index);
    else
        status = read_facts(d, index, error);
    if (status != LLMPERF_OK)
        return status;
    d->has_nvml = cuda_load_nvml(d->libraries, &d->nvml);
    if (d->has_nvml)
        cuda_state_find(d);
    llmperf_error no_lt = {0};
    d->has_lt = cuda_load_lt(d->libraries, &d->lt, &no_lt) == LLMPERF_OK;
    snprintf(d->no_lt, sizeof d->no_lt, "%.*s", (int)sizeof d->no_lt - 1, no_lt.text);
    return LLMPERF_OK;
}

/* ---- context and module ------------------------------------------------------------------------ */

/* A module that this device cannot run is no fault of the device. */
static llmperf_status load_module(cuda_device *d, llmperf_error *error)
{
    if (d->module) /* a start that failed after it */
        return LLMPERF_OK;
    cu_result result = d->driver.cuModuleLoadData(&d->module, llmperf_cuda_fatbin);
    if (result == CU_NO_BINARY_FOR_GPU || result == CU_UNSUPPORTED_PTX_VERSION ||
        result == CU_INVALID_PTX)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend cuda: this build has no kernels for compute capability %d.%d "
                            "under a driver for CUDA %d.%d",
                            d->facts.major, d->facts.minor, d->facts.driver_version / 1000,
                            d->facts.driver_version % 1000 / 10);
    return cuda_check(d, result, "cuModuleLoadData", error);
}

static llmperf_status find_functions(cuda_device *d, llmperf_error *error)
{
#define NAME_OF(symbol, arguments) #symbol,
    static const char *const NAMES[] = {CUDA_KERNELS(NAME_OF)};
#undef NAME_OF
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; i < CUDA_FN_COUNT && status == LLMPERF_OK; i++)
        status = CUDA_CALL(d, error, cuModuleGetFunction, &d->function[i], d->module, NAMES[i]);
    return status;
}

/* Tiles of prefill attention need more shared memory than a launch gets unasked. */
static llmperf_status allow_shared(cuda_device *d, llmperf_error *error)
{
    static const struct {
        int function;
        uint32_t head_dim;
    } ROWS[] = {{CUDA_FN_kernel_prefill_64, 64},
                {CUDA_FN_kernel_prefill_128, 128},
                {CUDA_FN_kernel_prefill_256, 256}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        int bytes = (int)kernel_prefill_shared_bytes(ROWS[i].head_dim);
        if (bytes > d->facts.shared_optin)
            continue; /* refused by name when asked for */
        llmperf_status status =
            CUDA_CALL(d, error, cuFuncSetAttribute, d->function[ROWS[i].function],
                      CU_FUNC_MAX_DYNAMIC_SHARED, bytes);
        if (status != LLMPERF_OK)
            return status;
    }
    return LLMPERF_OK;
}

static llmperf_status make_gate(cuda_device *d, llmperf_error *error)
{
    void *host = (void *)(uintptr_t)d->gate; /* of a start that failed after it */
    llmperf_status status = LLMPERF_OK;
    if (!host)
        status = CUDA_CALL(d, error, cuMemHostAlloc, &host, cuda_aligned(2 * sizeof *d->gate),
                           CU_HOST_ALLOC_PORTABLE | CU_HOST_ALLOC_DEVICEMAP);
    if (status != LLMPERF_OK)
        return status;
    d->gate = host;
    d->gate[0] = d->gate[1] = 0;
    return CUDA_CALL(d, error, cuMemHostGetDevicePointer_v2, &d->gate_address, host, 0);
}

static llmperf_status start_lt(cuda_device *d, llmperf_error *error)
{
    if (!d->has_lt)
        return LLMPERF_OK;
    /* a start that failed after it has one already */
    lt_status made = d->lt_handle ? LT_OK : d->lt.cublasLtCreate(&d->lt_handle);
    if (made == LT_OK)
        return cuda_reserve(d, CUDA_ARENA_WORKSPACE,
                            d->facts.major >= 9 ? WORKSPACE_LARGE : WORKSPACE_SMALL, error);
    d->has_lt = false;
    d->lt_handle = NULL;
    snprintf(d->no_lt, sizeof d->no_lt,
             "backend cuda: cublasLtCreate fails with status %d, so no products", made);
    return LLMPERF_OK;
}

llmperf_status cuda_device_start(cuda_device *d, llmperf_error *error)
{
    size_t free_bytes = 0, total_bytes = 0;
    if (d->hung)
        return llmperf_fail(error, LLMPERF_E_DEVICE, "cuda: the device hangs since %s",
                            d->broken_by);
    if (d->broken)
        return llmperf_fail(error, LLMPERF_E_DEVICE, "cuda: the device is out of order since %s",
                            d->broken_by);
    if (d->started)
        return LLMPERF_OK;
    d->doing = "start-up";
    double begun_s = cuda_now_s();
    llmperf_status status = LLMPERF_OK;
    if (!d->context)
        status = CUDA_CALL(d, error, cuDevicePrimaryCtxRetain, &d->context, d->device);
    if (status == LLMPERF_OK)
        status = CUDA_CALL(d, error, cuCtxSetCurrent, d->context);
    if (status == LLMPERF_OK)
        status = CUDA_CALL(d, error, cuMemGetInfo_v2, &free_bytes, &total_bytes);
    d->free_bytes = (double)free_bytes;
    if (status == LLMPERF_OK && !d->stream)
        status = CUDA_CALL(d, error, cuStreamCreate, &d->stream, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 3 && status == LLMPERF_OK; i++)
        if (!d->event[i])
            status = CUDA_CALL(d, error, cuEventCreate, &d->event[i], CU_EVENT_DEFAULT);
    if (status == LLMPERF_OK)
        status = load_module(d, error);
    if (status == LLMPERF_OK)
        status = find_functions(d, error);
    if (status == LLMPERF_OK)
        status = allow_shared(d, error);
    if (status == LLMPERF_OK)
        status = make_gate(d, error);
    if (status == LLMPERF_OK)
        status = cuda_reserve(d, CUDA_ARENA_SMALL, SMALL_BYTES, error);
    if (status == LLMPERF_OK)
        status = start_lt(d, error);
    d->started = status == LLMPERF_OK;
    d->start_took_s = cuda_now_s() - begun_s;
    /* without a context nothing can be measured: not a shortage of one probe */
    return status == LLMPERF_E_MEMORY ? LLMPERF_E_DEVICE : status;
}

void cuda_device_end(cuda_device *d)
{
    bool reachable = d->context && !d->hung;
    if (d->gate)
        d->gate[0] = 1; /* should the blocking kernel still wait */
    if (reachable)
        d->driver.cuCtxSetCurrent(d->context);
    for (int i = 0; i < 2; i++)
        cuda_plan_free(d, d->plan[i]);
    if (reachable) {
        if (d->lt_handle)
            d->lt.cublasLtDestroy(d->lt_handle);
        cuda_free_memory(d);
        if (d->gate)
            d->driver.cuMemFreeHost((void *)(uintptr_t)d->gate);
        for (int i = 0; i < 3; i++)
            if (d->event[i])
                d->driver.cuEventDestroy_v2(d->event[i]);
        if (d->module)
            d->driver.cuModuleUnload(d->module);
        if (d->stream)
            d->driver.cuStreamDestroy_v2(d->stream);
        d->driver.cuDevicePrimaryCtxRelease_v2(d->device);
    }
    if (d->has_nvml && d->nvml.nvmlShutdown && !d->hung)
        d->nvml.nvmlShutdown();
    cuda_unload(d->nvml.library);
    cuda_unload(d->lt.library);
    cuda_unload(d->driver.library);
}
