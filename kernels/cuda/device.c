/* SPDX-License-Identifier: MIT */
/* One CUDA device: finding it, its context, memory, launches, and the clock of its events. */
#include "cuda.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
    STEP_BYTES = 4096,
    WORKSPACE_LARGE = 32 << 20, /* Hopper and later, as engines use */
    WORKSPACE_SMALL = 8 << 20,
    SMALL_BYTES = 1 << 20,
    GATE_TRIES = 3,
};

/* the blocking kernel ends by itself after this; a host that queues slower gets more */
static const double GATE_LEAST_S = 0.05, GATE_MOST_S = 0.4;
static const double SPIN_S = 2e-3, NAP_S = 50e-6;

double cuda_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* Errors after which a context answers nothing else: an illegal access, a failed launch, ECC. */
static bool is_sticky(cu_result result)
{
    return result == CU_ECC_UNCORRECTABLE || (result >= CU_ILLEGAL_ADDRESS && result <= 720) ||
           result == 219 || result == 220 || result == 999;
}

static const char *result_name(const cuda_device *d, cu_result result, char *buffer, size_t size)
{
    const char *name = NULL;
    if (d->driver.cuGetErrorName && d->driver.cuGetErrorName(result, &name) == CU_OK && name)
        return name;
    snprintf(buffer, size, "CUDA error %d", result);
    return buffer;
}

llmperf_status cuda_check(cuda_device *d, cu_result result, const char *call, llmperf_error *error)
{
    char buffer[32], while_doing[112] = "";
    if (result == CU_OK)
        return LLMPERF_OK;
    if (d->doing)
        snprintf(while_doing, sizeof while_doing, " during %.96s", d->doing);
    const char *name = result_name(d, result, buffer, sizeof buffer);
    if (result == CU_OUT_OF_MEMORY)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "cuda: out of device memory: %s says %s%s",
                            call, name, while_doing);
    if (result == CU_NOT_SUPPORTED || result == CU_NOT_PERMITTED)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "cuda: %s says %s%s", call, name,
                            while_doing);
    if (is_sticky(result) && !d->broken) {
        d->broken = true;
        snprintf(d->broken_by, sizeof d->broken_by, "%s says %s%s", call, name, while_doing);
    }
    return llmperf_fail(error, LLMPERF_E_DEVICE, "cuda: %s says %s%s%s", call, name, while_doing,
                        is_sticky(result) ? "; the device answers nothing after that" : "");
}

/* ---- finding --------------------------------------------------------------------------------- */

/* "No driver" told by code, not by text. */
static llmperf_status init_failed(cuda_device *d, cu_result result, llmperf_error *error)
{
    const char *why;
    char buffer[32];
    switch (result) {
    case CU_STUB_LIBRARY:
        why = "the NVIDIA driver is missing here (libcuda.so.1 is the toolkit's stub)";
        break;
    case CU_INSUFFICIENT_DRIVER:
    case CU_CALL_REQUIRES_NEWER_DRIVER:
        why = "the NVIDIA driver is too old";
        break;
    case CU_NO_DEVICE:
        why = "no NVIDIA device is here or visible (CUDA_VISIBLE_DEVICES)";
        break;
    case CU_SYSTEM_DRIVER_MISMATCH:
        why = "libcuda.so.1 and the kernel's NVIDIA driver are of different versions";
        break;
    default:
        return llmperf_fail(error, LLMPERF_E_DEVICE, "backend cuda: cuInit says %s",
                            result_name(d, result, buffer, sizeof buffer));
    }
    return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend cuda: %s", why);
}

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

llmperf_status cuda_driver_open(cuda_device *d, int *ret_count, llmperf_error *error)
{
    int count = 0;
    llmperf_status status = cuda_load_driver(d->libraries, &d->driver, error);
    if (status != LLMPERF_OK)
        return status;
    /* kernels are loaded when the module is, not inside the first timing; a user's choice stays */
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    cu_result result = d->driver.cuInit(0);
    if (result != CU_OK)
        return init_failed(d, result, error);
    status = CUDA_CALL(d, error, cuDeviceGetCount, &count);
    if (status != LLMPERF_OK)
        return status;
    if (count < 1)
        return init_failed(d, CU_NO_DEVICE, error);
    *ret_count = count;
    return LLMPERF_OK;
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
        status = CUDA_CALL(d, error, cuMemHostAlloc, &host, STEP_BYTES,
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

static void free_arenas(cuda_device *d, int from, int to)
{
    for (int i = from; i <= to; i++) {
        if (d->arena[i].address)
            d->driver.cuMemFree_v2(d->arena[i].address);
        d->arena[i] = (cuda_arena){0};
    }
}

void cuda_release(cuda_device *d)
{
    double held = 0;
    for (int i = CUDA_ARENA_WEIGHTS; i <= CUDA_ARENA_SCRATCH; i++)
        held += (double)d->arena[i].bytes;
    if (held > cuda_most_bytes(d) / 4)
        free_arenas(d, CUDA_ARENA_WEIGHTS, CUDA_ARENA_SCRATCH);
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
        free_arenas(d, 0, CUDA_ARENA_COUNT - 1);
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

/* ---- memory ---------------------------------------------------------------------------------- */

size_t cuda_aligned(double bytes)
{
    size_t count = bytes > 0 ? (size_t)ceil(bytes) : 0;
    return (count + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
}

double cuda_most_bytes(const cuda_device *d)
{
    return d->share * d->free_bytes;
}

llmperf_status cuda_reserve(cuda_device *d, int arena, double bytes, llmperf_error *error)
{
    cuda_arena *a = &d->arena[arena];
    double others = 0, most = cuda_most_bytes(d);
    size_t wanted = cuda_aligned(bytes);
    if (wanted <= a->bytes)
        return LLMPERF_OK;
    for (int i = 0; i < CUDA_ARENA_COUNT; i++)
        others += i == arena ? 0 : (double)d->arena[i].bytes;
    if ((double)wanted + others > most)
        return llmperf_fail(error, LLMPERF_E_MEMORY,
                            "cuda: %.3g GB of buffers are needed; %.3g GB may be used (%.0f %% of "
                            "the free memory)",
                            ((double)wanted + others) / 1e9, most / 1e9, d->share * 100);
    if (a->address) {
        llmperf_status status = CUDA_CALL(d, error, cuMemFree_v2, a->address);
        *a = (cuda_arena){0};
        if (status != LLMPERF_OK)
            return status;
    }
    llmperf_status status = CUDA_CALL(d, error, cuMemAlloc_v2, &a->address, wanted);
    if (status == LLMPERF_OK)
        a->bytes = wanted;
    else
        a->address = 0;
    return status;
}

/* ---- work ------------------------------------------------------------------------------------ */

llmperf_status cuda_launch(cuda_device *d, int function, uint32_t x, uint32_t y, uint32_t z,
                           uint32_t threads, uint32_t shared_bytes, void *arguments,
                           llmperf_error *error)
{
    void *pointers[] = {arguments};
    return CUDA_CALL(d, error, cuLaunchKernel, d->function[function], x, y, z, threads, 1, 1,
                     shared_bytes, d->stream, pointers, NULL);
}

double cuda_format_bytes(uint32_t format)
{
    static const double BYTES[] = {
        [KERNEL_FP32] = 4, [KERNEL_FP16] = 2,  [KERNEL_BF16] = 2, [KERNEL_FP8] = 1,
        [KERNEL_INT8] = 1, [KERNEL_FP4] = 0.5, [KERNEL_INT32] = 4};
    return format < sizeof BYTES / sizeof *BYTES ? BYTES[format] : 4;
}

llmperf_status cuda_fill(cuda_device *d, cu_address address, double bytes, uint32_t format,
                         uint32_t seed, llmperf_error *error)
{
    kernel_fill_args a = {.data = (void *)(uintptr_t)address,
                          .count = (uint64_t)(bytes / cuda_format_bytes(format)),
                          .format = format,
                          .seed = seed};
    if (a.count == 0)
        return LLMPERF_OK;
    double blocks = ceil((double)a.count / KERNEL_THREADS);
    return cuda_launch(d, CUDA_FN_kernel_fill, (uint32_t)fmin(blocks, 16 * d->facts.units), 1, 1,
                       KERNEL_THREADS, 0, &a, error);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void nap(double seconds)
{
    const struct timespec rest = {.tv_nsec = (long)(seconds * 1e9)};
    nanosleep(&rest, NULL);
}

/* Waits for an event by asking: never inside a call that would not come back. */
static llmperf_status wait_event(cuda_device *d, cu_event event, llmperf_error *error)
{
    double begun_s = cuda_now_s();
    for (;;) {
        cu_result result = d->driver.cuEventQuery(event);
        if (result != CU_NOT_READY)
            return cuda_check(d, result, "cuEventQuery", error);
        double gone_s = cuda_now_s() - begun_s;
        if (gone_s > d->timeout_s) {
            d->hung = true;
            snprintf(d->broken_by, sizeof d->broken_by, "%s, which did not end within %g s",
                     d->doing ? d->doing : "a launch", d->timeout_s);
            return llmperf_fail(error, LLMPERF_E_DEVICE,
                                "cuda: %s did not end within %g s: the "
                                "device hangs",
                                d->doing ? d->doing : "a launch", d->timeout_s);
        }
        if (gone_s < SPIN_S)
            sched_yield();
        else
            nap(NAP_S);
    }
}

llmperf_status cuda_wait(cuda_device *d, llmperf_error *error)
{
    llmperf_status status = CUDA_CALL(d, error, cuEventRecord, d->event[0], d->stream);
    return status == LLMPERF_OK ? wait_event(d, d->event[0], error) : status;
}

/* A kernel that holds the stream until gate[0] is set, or its limit has passed. */
static llmperf_status close_gate(cuda_device *d, llmperf_error *error)
{
    kernel_block_args a = {.flag = (const volatile uint32_t *)(uintptr_t)d->gate_address,
                           .late = (uint32_t *)(uintptr_t)(d->gate_address + sizeof(uint32_t)),
                           .limit_ns = (uint64_t)(fmax(d->gate_s, GATE_LEAST_S) * 1e9)};
    d->gate[0] = d->gate[1] = 0;
    __sync_synchronize();
    return cuda_launch(d, CUDA_FN_kernel_block, 1, 1, 1, 1, 0, &a, error);
}

static void open_gate(cuda_device *d)
{
    __sync_synchronize();
    d->gate[0] = 1;
    __sync_synchronize();
}

static llmperf_status elapsed(cuda_device *d, int from, int to, double *ret_s, llmperf_error *error)
{
    float milliseconds = 0;
    llmperf_status status =
        CUDA_CALL(d, error, cuEventElapsedTime, &milliseconds, d->event[from], d->event[to]);
    *ret_s = 1e-3 * (double)milliseconds;
    return status;
}

/* One window: queued behind the gate, then let go. The gate opens on every path. */
static llmperf_status window(cuda_device *d, cuda_work work, void *context, int times, bool slope,
                             llmperf_error *error)
{
    llmperf_status status = close_gate(d, error);
    if (status != LLMPERF_OK)
        return status;
    status = CUDA_CALL(d, error, cuEventRecord, d->event[0], d->stream);
    if (status == LLMPERF_OK)
        status = work(d, context, times, error);
    if (status == LLMPERF_OK)
        status = CUDA_CALL(d, error, cuEventRecord, d->event[1], d->stream);
    if (status == LLMPERF_OK && slope)
        status = work(d, context, 2 * times, error);
    if (status == LLMPERF_OK && slope)
        status = CUDA_CALL(d, error, cuEventRecord, d->event[2], d->stream);
    open_gate(d);
    if (status != LLMPERF_OK)
        return status;
    return wait_event(d, d->event[slope ? 2 : 1], error);
}

llmperf_status cuda_time(cuda_device *d, cuda_work work, void *context, int times, bool slope,
                         double *ret_seconds, llmperf_error *error)
{
    double first = 0, second = 0, seconds = 0;
    for (int i = 0; i < GATE_TRIES; i++) {
        llmperf_status status = window(d, work, context, times, slope, error);
        if (status == LLMPERF_OK)
            status = elapsed(d, 0, 1, &first, error);
        if (status == LLMPERF_OK && slope)
            status = elapsed(d, 1, 2, &second, error);
        if (status != LLMPERF_OK)
            return status;
        seconds = slope ? (second - first) / times : first / times;
        d->windows++;
        if (!d->gate[1] && seconds > 0)
            break;
        d->late++; /* the queue was not full when it began: once more */
        d->gate_s = fmin(GATE_MOST_S, 2 * fmax(d->gate_s, GATE_LEAST_S));
    }
    /* a slope that noise turned around: the longer stretch alone is still a time */
    *ret_seconds = seconds > 0 ? seconds : second > 0 ? second / (2 * times) : first / times;
    if (!(*ret_seconds > 0))
        return llmperf_fail(error, LLMPERF_E_DEVICE, "cuda: %s took no time by the device's events",
                            d->doing ? d->doing : "a launch");
    return LLMPERF_OK;
}
