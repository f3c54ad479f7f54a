/* SPDX-License-Identifier: MIT */
/* libcuda.so.1: the driver's functions of api.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake.h"

#define DECLARE(name, arguments) FAKE_API int name arguments;
CUDA_DRIVER_FUNCTIONS(DECLARE)
#undef DECLARE

enum {
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    CAPTURE_UNSUPPORTED = 900,
    CAPTURE_INVALIDATED = 901,
    CAPTURED_EVENT = 907,
};

struct cu_context_s {
    int device, retained;
};
struct cu_module_s {
    bool alive;
    struct cu_module_s *next;
};

static struct cu_context_s contexts[FAKE_DEVICES_MAX];
static cu_context current;
static cu_module modules;
static cu_event events;
static cu_graph graphs;
static cu_graph_exec execs;
static bool initialised;

/* ---- at the door of every function --------------------------------------------------------------- */

/* $FAKE_CUDA_FAIL first; codes that end a context stay. */
static int injected(fake_function *here)
{
    int code = fake_injected(here);
    if (code == CU_ECC_UNCORRECTABLE || (code >= CU_ILLEGAL_ADDRESS && code < CU_NOT_PERMITTED))
        fake_set_sticky(code);
    return code;
}

static int needs_nothing(fake_function *here)
{
    fake_count(FAKE_driver_calls, 1);
    fake_spend(fake_get()->call);
    return injected(here);
}

static int needs_init(fake_function *here)
{
    int code = needs_nothing(here);
    if (code == 0 && (!initialised || fake_forked()))
        code = fake_misuse(CU_NOT_INITIALIZED, "%s before cuInit in this process", here->name);
    return code;
}

static int needs_context(fake_function *here)
{
    int code = needs_init(here);
    if (code == 0 && (!current || current->retained == 0))
        code = fake_misuse(INVALID_CONTEXT, "%s without a context", here->name);
    if (code == 0)
        fake_pump();
    return code ? code : fake_sticky();
}

/* What might wait for the device or touch its memory is not allowed while a graph is recorded. */
static int needs_no_capture(fake_function *here)
{
    int code = needs_context(here);
    if (code == 0 && fake_capturing()) {
        for (cu_stream s = fake_streams; s; s = s->next)
            s->invalid = s->invalid || s->capturing;
        code = fake_misuse(CAPTURE_UNSUPPORTED, "%s while a graph is recorded", here->name);
    }
    return code;
}

#define ENTER(function, needs)                                                                     \
    do {                                                                                           \
        static fake_function here = {.name = #function, .library = "driver"};                      \
        int refused = needs(&here);                                                                \
        if (refused)                                                                               \
            return refused;                                                                        \
    } while (0)

/* Freeing works in a broken context too: it only says that it is broken. */
#define ENTER_TO_FREE(function)                                                                    \
    static fake_function here = {.name = #function, .library = "driver"};                          \
    int broken = needs_init(&here);                                                                \
    if (broken == 0)                                                                               \
        broken = fake_sticky();                                                                    \
    fake_pump()

static bool is_device(cu_device device)
{
    return device >= 0 && device < (int)fake_get()->devices;
}

/* ---- the machine ----------------------------------------------------------------------------------- */

int cuInit(unsigned flags)
{
    ENTER(cuInit, needs_nothing);
    if (flags != 0)
        return fake_misuse(CU_INVALID_VALUE, "cuInit(%u)", flags);
    if (fake_get()->devices < 1)
        return CU_NO_DEVICE;
    initialised = true;
    return fake_forked() ? CU_NOT_INITIALIZED : CU_OK;
}

int cuDriverGetVersion(int *version)
{
    ENTER(cuDriverGetVersion, needs_nothing);
    *version = (int)fake_get()->driver;
    return CU_OK;
}

static const struct {
    int code;
    const char *name, *text;
} ERRORS[] = {
    {CU_OK, "CUDA_SUCCESS", "no error"},
    {CU_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CU_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CU_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CU_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {CU_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {CU_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CU_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CU_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CU_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CU_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CU_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CU_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CU_SYSTEM_DRIVER_MISMATCH, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
};

static int error_index(cu_result result)
{
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++)
        if (ERRORS[i].code == result)
            return (int)i;
    return -1;
}

int cuGetErrorName(cu_result result, const char **name)
{
    int index = error_index(result);
    *name = index < 0 ? NULL : ERRORS[index].name;
    return index < 0 ? CU_INVALID_VALUE : CU_OK;
}

int cuGetErrorString(cu_result result, const char **text)
{
    int index = error_index(result);
    *text = index < 0 ? NULL : ERRORS[index].text;
    return index < 0 ? CU_INVALID_VALUE : CU_OK;
}

int cuDeviceGetCount(int *count)
{
    ENTER(cuDeviceGetCount, needs_init);
    *count = (int)fake_get()->devices;
    return CU_OK;
}

int cuDeviceGet(cu_device *device, int index)
{
    ENTER(cuDeviceGet, needs_init);
    if (!is_device(index))
        return CU_INVALID_DEVICE;
    *device = index;
    return CU_OK;
}

int cuDeviceGetName(char *name, int size, cu_device device)
{
    ENTER(cuDeviceGetName, needs_init);
    if (!is_device(device))
        return CU_INVALID_DEVICE;
    snprintf(name, (size_t)size, "%s", fake_get()->name);
    return CU_OK;
}

int cuDeviceGetUuid_v2(cu_uuid *uuid, cu_device device)
{
    ENTER(cuDeviceGetUuid_v2, needs_init);
    if (!is_device(device))
        return CU_INVALID_DEVICE;
    for (int i = 0; i < 16; i++)
        uuid->bytes[i] = (char)(0xa0 + 16 * (device & 3) + i);
    return CU_OK;
}

int cuDeviceGetPCIBusId(char *id, int size, cu_device device)
{
    ENTER(cuDeviceGetPCIBusId, needs_init);
    if (!is_device(device))
        return CU_INVALID_DEVICE;
    snprintf(id, (size_t)size, "0000:%02X:00.0", 0x18 + device);
    return CU_OK;
}

int cuDeviceTotalMem_v2(size_t *bytes, cu_device device)
{
    ENTER(cuDeviceTotalMem_v2, needs_init);
    if (!is_device(device))
        return CU_INVALID_DEVICE;
    *bytes = (size_t)fake_get()->memory;
    return CU_OK;
}

int cuDeviceGetAttribute(int *value, int attribute, cu_device device)
{
    ENTER(cuDeviceGetAttribute, needs_init);
    const fake_settings *f = fake_get();
    const struct {
        int attribute;
        double value;
    } facts[] = {
        {CU_ATTRIBUTE_MAX_SHARED_PER_BLOCK, 48 << 10},
        {CU_ATTRIBUTE_MAX_SHARED_PER_BLOCK_OPTIN, f->capability >= 9 ? 227 << 10 : 163 << 10},
        {CU_ATTRIBUTE_CLOCK_RATE, f->clock / 1e3},
        {CU_ATTRIBUTE_MULTIPROCESSORS, f->sms},
        {CU_ATTRIBUTE_INTEGRATED, 0},
        {CU_ATTRIBUTE_COMPUTE_MODE, f->compute_mode},
        {CU_ATTRIBUTE_ECC_ENABLED, f->ecc},
        {CU_ATTRIBUTE_PCI_BUS, 0x18 + device},
        {CU_ATTRIBUTE_PCI_DEVICE, 0},
        {CU_ATTRIBUTE_PCI_DOMAIN, 0},
        {CU_ATTRIBUTE_MEMORY_CLOCK_RATE, f->memory_clock / 1e3},
        {CU_ATTRIBUTE_MEMORY_BUS_WIDTH, 6144},
        {CU_ATTRIBUTE_L2_BYTES, f->l2},
        {CU_ATTRIBUTE_CAPABILITY_MAJOR, floor(f->capability + 1e-6)},
        {CU_ATTRIBUTE_CAPABILITY_MINOR, round(10 * (f->capability - floor(f->capability + 1e-6)))},
    };
    if (!is_device(device))
        return CU_INVALID_DEVICE;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].attribute == attribute) {
            *value = (int)facts[i].value;
            return CU_OK;
        }
    return fake_misuse(CU_INVALID_VALUE, "cuDeviceGetAttribute(%d)", attribute);
}

/* ---- contexts ---------------------------------------------------------------------------------------- */

int cuDevicePrimaryCtxRetain(cu_context *context, cu_device device)
{
    ENTER(cuDevicePrimaryCtxRetain, needs_init);
    if (!is_device(device))
        return CU_INVALID_DEVICE;
    if (fake_get()->compute_mode == 2) /* prohibited */
        return CU_DEVICE_UNAVAILABLE;
    contexts[device].device = device;
    contexts[device].retained++;
    fake_count(FAKE_live_contexts, 1);
    *context = &contexts[device];
    fake_spend(0.15);
    return CU_OK;
}

static void destroy_all(int device);

int cuDevicePrimaryCtxRelease_v2(cu_device device)
{
    ENTER_TO_FREE(cuDevicePrimaryCtxRelease_v2);
    (void)broken;
    if (!is_device(device) || contexts[device].retained == 0)
        return fake_misuse(INVALID_CONTEXT, "cuDevicePrimaryCtxRelease of one not retained");
    fake_count(FAKE_live_contexts, -1);
    if (--contexts[device].retained == 0) {
        destroy_all(device);
        fake_set_sticky(0);
    }
    return CU_OK;
}

int cuCtxSetCurrent(cu_context context)
{
    ENTER(cuCtxSetCurrent, needs_init);
    current = context;
    return CU_OK;
}

int cuCtxSynchronize(void)
{
    ENTER(cuCtxSynchronize, needs_no_capture);
    fake_wait_until(fake_finish_all("cuCtxSynchronize"), "cuCtxSynchronize");
    fake_spend(fake_get()->sync);
    return fake_sticky();
}

/* ---- memory ------------------------------------------------------------------------------------------- */

static size_t free_bytes(int device)
{
    double left = fake_get()->memory - fake_get()->used - (double)fake_memory_used(device);
    return left > 0 ? (size_t)left : 0;
}

int cuMemGetInfo_v2(size_t *free_to, size_t *total_to)
{
    ENTER(cuMemGetInfo_v2, needs_context);
    *free_to = free_bytes(current->device);
    *total_to = (size_t)fake_get()->memory;
    return CU_OK;
}

int cuMemAlloc_v2(cu_address *address, size_t bytes)
{
    ENTER(cuMemAlloc_v2, needs_no_capture);
    if (bytes == 0)
        return fake_misuse(CU_INVALID_VALUE, "cuMemAlloc of 0 bytes");
    if (bytes > free_bytes(current->device))
        return CU_OUT_OF_MEMORY;
    *address = fake_memory_allocate(current->device, bytes, false);
    fake_spend(20e-6);
    return *address ? CU_OK : CU_OUT_OF_MEMORY;
}

/* Waits for the device, as the driver does. */
int cuMemFree_v2(cu_address address)
{
    ENTER_TO_FREE(cuMemFree_v2);
    if (!broken)
        fake_wait_until(fake_finish_all("cuMemFree"), "cuMemFree");
    if (address && !fake_memory_free(address, false))
        return fake_misuse(CU_INVALID_VALUE, "cuMemFree(%#llx): no such allocation",
                           (unsigned long long)address);
    return broken;
}

int cuMemHostAlloc(void **address, size_t bytes, unsigned flags)
{
    ENTER(cuMemHostAlloc, needs_no_capture);
    if (bytes == 0 || flags > 7)
        return fake_misuse(CU_INVALID_VALUE, "cuMemHostAlloc(%zu bytes, flags %u)", bytes, flags);
    *address = (void *)fake_memory_allocate(current->device, bytes, true);
    return *address ? CU_OK : CU_OUT_OF_MEMORY;
}

int cuMemFreeHost(void *address)
{
    ENTER_TO_FREE(cuMemFreeHost);
    if (!broken)
        fake_wait_until(fake_finish_all("cuMemFreeHost"), "cuMemFreeHost");
    if (address && !fake_memory_free((uint64_t)address, true))
        return fake_misuse(CU_INVALID_VALUE, "cuMemFreeHost(%p): no such allocation", address);
    return broken;
}

int cuMemHostGetDevicePointer_v2(cu_address *address, void *host, unsigned flags)
{
    ENTER(cuMemHostGetDevicePointer_v2, needs_context);
    if (flags != 0 || !fake_memory_holds((uint64_t)host, 1))
        return fake_misuse(CU_INVALID_VALUE, "cuMemHostGetDevicePointer(%p, %u)", host, flags);
    *address = (cu_address)host;
    return CU_OK;
}

/* ---- copies --------------------------------------------------------------------------------------------- */

/* A copy as it waits in a stream: from host to device, or from device to host. */
enum { COPY_TO, COPY_FROM, COPY_BYTES, COPY_IS_UP, COPY_WORDS };

static double run_copy(const fake_work *work)
{
    const uint64_t *w = work->payload.words;
    uint64_t device_side = w[COPY_IS_UP] ? w[COPY_TO] : w[COPY_FROM];
    fake_memory_touch(device_side, w[COPY_BYTES]);
    if (w[COPY_IS_UP])
        fake_memory_forget(device_side, w[COPY_BYTES]);
    if (w[COPY_IS_UP])
        fake_memory_changed();
    memcpy((void *)w[COPY_TO], (const void *)w[COPY_FROM], w[COPY_BYTES]);
    return (double)w[COPY_BYTES] / fake_get()->pcie;
}

/* Large copies out of reserved pages would make them real: only the first and last page move. */
static double run_large_copy(const fake_work *work)
{
    return (double)work->payload.words[COPY_BYTES] / fake_get()->pcie;
}

static int submit_copy(uint64_t to, uint64_t from, size_t bytes, bool is_up, cu_stream stream)
{
    const size_t large = 1 << 20;
    fake_work work = {.run = bytes > large ? run_large_copy : run_copy,
                      .cost = FAKE_COST_COPY,
                      .payload.words = {to, from, bytes, is_up}};
    if (!fake_memory_holds(is_up ? to : from, bytes)) {
        fake_set_sticky(CU_ILLEGAL_ADDRESS);
        return fake_misuse(CU_INVALID_VALUE, "copy of %zu bytes: not allocated", bytes);
    }
    return fake_submit(stream, &work);
}

static int copy_now(uint64_t to, uint64_t from, size_t bytes, bool is_up)
{
    struct cu_stream_s own = {.alive = true, .device = current->device};
    double idle_s = fake_finish_all("a copy");
    fake_wait_until(idle_s, "a copy"); /* the default stream waits for all others */
    int code = submit_copy(to, from, bytes, is_up, &own);
    fake_wait_until(own.ready_s, "a copy");
    fake_spend(fake_get()->sync);
    return code ? code : fake_sticky();
}

int cuMemcpyHtoD_v2(cu_address to, const void *from, size_t bytes)
{
    ENTER(cuMemcpyHtoD_v2, needs_no_capture);
    return copy_now(to, (uint64_t)from, bytes, true);
}

int cuMemcpyDtoH_v2(void *to, cu_address from, size_t bytes)
{
    ENTER(cuMemcpyDtoH_v2, needs_no_capture);
    return copy_now((uint64_t)to, from, bytes, false);
}

static int check_stream(cu_stream stream, const char *who)
{
    for (cu_stream s = fake_streams; s && stream; s = s->next)
        if (s == stream)
            return s->alive ? CU_OK : fake_misuse(INVALID_HANDLE, "%s on a destroyed stream", who);
    return fake_misuse(INVALID_HANDLE, "%s on no stream (the default stream is not used here)",
                       who);
}

#define ENTER_STREAM(function, needs)                                                              \
    do {                                                                                           \
        ENTER(function, needs);                                                                    \
        int wrong = check_stream(stream, #function);                                               \
        if (wrong)                                                                                 \
            return wrong;                                                                          \
    } while (0)

int cuMemcpyHtoDAsync_v2(cu_address to, const void *from, size_t bytes, cu_stream stream)
{
    ENTER_STREAM(cuMemcpyHtoDAsync_v2, needs_context);
    fake_spend(fake_get()->launch_host);
    return submit_copy(to, (uint64_t)from, bytes, true, stream);
}

int cuMemcpyDtoHAsync_v2(void *to, cu_address from, size_t bytes, cu_stream stream)
{
    ENTER_STREAM(cuMemcpyDtoHAsync_v2, needs_context);
    fake_spend(fake_get()->launch_host);
    return submit_copy((uint64_t)to, from, bytes, false, stream);
}

static double run_set(const fake_work *work)
{
    const uint64_t *w = work->payload.words;
    const fake_range range = {.address = w[0], .bytes = w[1], .written = true};
    fake_memory_forget(w[0], w[1]);
    fake_memory_changed();
    fake_memory_set(w[0], w[1], (unsigned char)w[2]);
    return fake_traffic(work->device, &range, 1);
}

int cuMemsetD8Async(cu_address to, unsigned char value, size_t bytes, cu_stream stream)
{
    ENTER_STREAM(cuMemsetD8Async, needs_context);
    fake_work work = {
        .run = run_set, .cost = FAKE_COST_KERNEL, .payload.words = {to, bytes, value}};
    const fake_range range = {.address = to, .bytes = bytes};
    int code = fake_check_ranges("cuMemsetD8Async", &range, 1);
    fake_spend(fake_get()->launch_host);
    return code ? code : fake_submit(stream, &work);
}

/* ---- modules and launches --------------------------------------------------------------------------------- */

int cuModuleLoadData(cu_module *module, const void *image)
{
    ENTER(cuModuleLoadData, needs_context);
    const unsigned char fatbin[4] = {0x50, 0xed, 0x55, 0xba};
    if (!image || memcmp(image, fatbin, sizeof fatbin) != 0)
        return fake_misuse(CU_INVALID_PTX, "cuModuleLoadData: the image is no fat binary");
    cu_module m = calloc(1, sizeof *m);
    if (!m)
        return CU_OUT_OF_MEMORY;
    m->alive = true;
    m->next = modules;
    modules = *module = m;
    fake_count(FAKE_live_modules, 1);
    return CU_OK;
}

int cuModuleUnload(cu_module module)
{
    ENTER_TO_FREE(cuModuleUnload);
    if (!module || !module->alive)
        return fake_misuse(INVALID_HANDLE, "cuModuleUnload of no module");
    module->alive = false;
    fake_count(FAKE_live_modules, -1);
    return broken;
}

int cuModuleGetFunction(cu_function *function, cu_module module, const char *name)
{
    ENTER(cuModuleGetFunction, needs_context);
    if (!module || !module->alive)
        return fake_misuse(INVALID_HANDLE, "cuModuleGetFunction of no module");
    cu_function found = fake_kernel_find(name);
    if (!found)
        return fake_misuse(CU_NOT_FOUND, "no kernel '%s'", name);
    *function = found;
    return CU_OK;
}

int cuFuncSetAttribute(cu_function function, int attribute, int value)
{
    ENTER(cuFuncSetAttribute, needs_context);
    int most = fake_get()->capability >= 9 ? 227 << 10 : 163 << 10;
    if (!function)
        return fake_misuse(INVALID_HANDLE, "cuFuncSetAttribute of no function");
    if (attribute != CU_FUNC_MAX_DYNAMIC_SHARED || value < 0 || value > most)
        return fake_misuse(CU_INVALID_VALUE, "cuFuncSetAttribute(%s, %d, %d)", function->name,
                           attribute, value);
    function->shared_limit = value > function->shared_limit ? value : function->shared_limit;
    return CU_OK;
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, cu_function function, int block_size,
                                                size_t dynamic_bytes)
{
    ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor, needs_context);
    if (!function || block_size < 1 || block_size > 1024)
        return fake_misuse(CU_INVALID_VALUE, "occupancy of %d threads", block_size);
    int by_threads = 2048 / block_size;
    int by_shared = dynamic_bytes > 0 ? (int)((228u << 10) / (dynamic_bytes + 1024)) : by_threads;
    *blocks = by_threads < by_shared ? by_threads : by_shared;
    *blocks = *blocks > 32 ? 32 : *blocks;
    return CU_OK;
}

int cuLaunchKernel(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned dynamic_bytes,
                   cu_stream stream, void **arguments, void **extra)
{
    ENTER_STREAM(cuLaunchKernel, needs_context);
    if (!function || !arguments || !arguments[0] || extra)
        return fake_misuse(CU_INVALID_VALUE, "cuLaunchKernel without function or arguments");
    fake_spend(fake_get()->launch_host - fake_get()->call);
    return fake_kernel_launch(function, (unsigned[]){grid_x, grid_y, grid_z},
                              (unsigned[]){block_x, block_y, block_z}, dynamic_bytes, arguments[0],
                              stream);
}

/* ---- streams ------------------------------------------------------------------------------------------------ */

int cuStreamCreate(cu_stream *stream, unsigned flags)
{
    ENTER(cuStreamCreate, needs_context);
    if (flags > CU_STREAM_NON_BLOCKING)
        return fake_misuse(CU_INVALID_VALUE, "cuStreamCreate(%u)", flags);
    cu_stream s = calloc(1, sizeof *s);
    if (!s)
        return CU_OUT_OF_MEMORY;
    s->alive = true;
    s->device = current->device;
    s->next = fake_streams;
    fake_streams = *stream = s;
    fake_count(FAKE_live_streams, 1);
    return CU_OK;
}

/* A stream that goes with work still in it: nobody looked at how that ended. */
static void retire_stream(cu_stream stream)
{
    if (!fake_sticky() && (stream->blocked || stream->ready_s > fake_now()))
        fake_count(FAKE_unfinished, 1);
    stream->alive = stream->blocked = stream->capturing = false;
    fake_queue_free(&stream->pending);
    fake_count(FAKE_live_streams, -1);
}

int cuStreamDestroy_v2(cu_stream stream)
{
    ENTER_TO_FREE(cuStreamDestroy_v2);
    int wrong = check_stream(stream, "cuStreamDestroy");
    if (wrong)
        return wrong;
    retire_stream(stream);
    return broken;
}

static int check_not_capturing(cu_stream stream, const char *who)
{
    if (!stream->capturing)
        return CU_OK;
    stream->invalid = true;
    return fake_misuse(CAPTURE_UNSUPPORTED, "%s on a stream that records a graph", who);
}

int cuStreamSynchronize(cu_stream stream)
{
    ENTER_STREAM(cuStreamSynchronize, needs_context);
    int code = check_not_capturing(stream, "cuStreamSynchronize");
    if (code)
        return code;
    fake_wait_until(fake_finish(stream, "cuStreamSynchronize"), "cuStreamSynchronize");
    fake_spend(fake_get()->sync);
    return fake_sticky();
}

/* Asking passes the time: 1 % of what is left, so that asking in a loop gets there. */
static int answer_query(double done_s)
{
    double left_s = done_s - fake_now();
    if (!(left_s > 0))
        return fake_sticky();
    fake_spend(isinf(left_s) ? 1e-3 : fmin(left_s, fmax(1e-6, left_s / 100)));
    return CU_NOT_READY;
}

static double stream_done(cu_stream stream)
{
    return stream->blocked ? INFINITY : stream->ready_s;
}

int cuStreamQuery(cu_stream stream)
{
    ENTER_STREAM(cuStreamQuery, needs_context);
    int code = check_not_capturing(stream, "cuStreamQuery");
    return code ? code : answer_query(stream_done(stream));
}

/* ---- graphs ------------------------------------------------------------------------------------------------- */

int cuStreamBeginCapture_v2(cu_stream stream, int mode)
{
    ENTER_STREAM(cuStreamBeginCapture_v2, needs_context);
    if (mode < 0 || mode > 2 || stream->capturing)
        return fake_misuse(CU_INVALID_VALUE, "cuStreamBeginCapture(%d)", mode);
    cu_graph g = calloc(1, sizeof *g);
    if (!g)
        return CU_OUT_OF_MEMORY;
    stream->graph = g;
    stream->capturing = true;
    stream->invalid = false;
    return CU_OK;
}

int cuStreamEndCapture(cu_stream stream, cu_graph *graph)
{
    static fake_function here = {.name = "cuStreamEndCapture", .library = "driver"};
    int code = needs_context(&here);
    code = code ? code : check_stream(stream, here.name);
    if (!stream->capturing)
        return code ? code : fake_misuse(CU_INVALID_VALUE, "cuStreamEndCapture: not recording");
    stream->capturing = false;
    cu_graph g = stream->graph;
    stream->graph = NULL;
    if (code == 0 && stream->invalid)
        code = CAPTURE_INVALIDATED;
    if (code) {
        fake_queue_free(&g->nodes);
        free(g);
        *graph = NULL;
        return code;
    }
    g->alive = true;
    g->next = graphs;
    graphs = *graph = g;
    fake_count(FAKE_live_graphs, 1);
    return CU_OK;
}

int cuGraphInstantiateWithFlags(cu_graph_exec *exec, cu_graph graph, unsigned long long flags)
{
    ENTER(cuGraphInstantiateWithFlags, needs_context);
    if (!graph || !graph->alive || flags > 15)
        return fake_misuse(CU_INVALID_VALUE, "cuGraphInstantiate of no graph");
    cu_graph_exec e = calloc(1, sizeof *e);
    if (!e || !fake_queue_copy(&e->nodes, &graph->nodes)) {
        free(e);
        return CU_OUT_OF_MEMORY;
    }
    e->alive = true;
    e->next = execs;
    execs = *exec = e;
    fake_count(FAKE_live_graph_execs, 1);
    fake_spend(10e-6 * graph->nodes.count);
    return CU_OK;
}

int cuGraphLaunch(cu_graph_exec exec, cu_stream stream)
{
    ENTER_STREAM(cuGraphLaunch, needs_context);
    if (!exec || !exec->alive)
        return fake_misuse(INVALID_HANDLE, "cuGraphLaunch of no graph");
    fake_spend(2 * fake_get()->launch_host);
    return fake_submit_graph(stream, exec);
}

int cuGraphExecDestroy(cu_graph_exec exec)
{
    ENTER_TO_FREE(cuGraphExecDestroy);
    if (!exec || !exec->alive)
        return fake_misuse(INVALID_HANDLE, "cuGraphExecDestroy of no graph");
    bool waits = false; /* behind a block: it may be in there */
    for (cu_stream s = fake_streams; s; s = s->next)
        waits = waits || (s->alive && s->blocked);
    exec->alive = false;
    if (!waits)
        fake_queue_free(&exec->nodes);
    fake_count(FAKE_live_graph_execs, -1);
    return broken;
}

int cuGraphDestroy(cu_graph graph)
{
    ENTER_TO_FREE(cuGraphDestroy);
    if (!graph || !graph->alive)
        return fake_misuse(INVALID_HANDLE, "cuGraphDestroy of no graph");
    graph->alive = false;
    fake_queue_free(&graph->nodes);
    fake_count(FAKE_live_graphs, -1);
    return broken;
}

/* ---- events --------------------------------------------------------------------------------------------------- */

int cuEventCreate(cu_event *event, unsigned flags)
{
    ENTER(cuEventCreate, needs_context);
    if (flags > 7)
        return fake_misuse(CU_INVALID_VALUE, "cuEventCreate(%u)", flags);
    cu_event e = calloc(1, sizeof *e);
    if (!e)
        return CU_OUT_OF_MEMORY;
    e->alive = true;
    e->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    e->next = events;
    events = *event = e;
    fake_count(FAKE_live_events, 1);
    return CU_OK;
}

int cuEventDestroy_v2(cu_event event)
{
    ENTER_TO_FREE(cuEventDestroy_v2);
    if (!event || !event->alive)
        return fake_misuse(INVALID_HANDLE, "cuEventDestroy of no event");
    event->alive = false;
    fake_count(FAKE_live_events, -1);
    return broken;
}

int cuEventRecord(cu_event event, cu_stream stream)
{
    ENTER_STREAM(cuEventRecord, needs_context);
    if (!event || !event->alive)
        return fake_misuse(INVALID_HANDLE, "cuEventRecord of no event");
    fake_work work = {.cost = FAKE_COST_EVENT, .event = event};
    return fake_submit(stream, &work);
}

static int check_event(cu_event event, const char *who)
{
    if (!event || !event->alive)
        return fake_misuse(INVALID_HANDLE, "%s of no event", who);
    if (event->captured)
        return fake_misuse(CAPTURED_EVENT, "%s of an event inside a graph", who);
    return CU_OK;
}

/* When an event is reached; INFINITY: behind a block or a hang. */
static double event_done(cu_event event)
{
    if (!event->recorded)
        return 0;
    return isnan(event->time_s) ? INFINITY : event->time_s;
}

int cuEventQuery(cu_event event)
{
    ENTER(cuEventQuery, needs_context);
    int code = check_event(event, "cuEventQuery");
    return code ? code : answer_query(event_done(event));
}

int cuEventSynchronize(cu_event event)
{
    ENTER(cuEventSynchronize, needs_context);
    int code = check_event(event, "cuEventSynchronize");
    if (code)
        return code;
    if (isinf(event_done(event)))
        fake_finish_all("cuEventSynchronize");
    fake_wait_until(event_done(event), "cuEventSynchronize");
    fake_spend(fake_get()->sync);
    return fake_sticky();
}

int cuEventElapsedTime(float *milliseconds, cu_event from, cu_event to)
{
    ENTER(cuEventElapsedTime, needs_context);
    int code = check_event(from, "cuEventElapsedTime");
    code = code ? code : check_event(to, "cuEventElapsedTime");
    if (code)
        return code;
    if (!from->recorded || !to->recorded || !from->timed || !to->timed)
        return fake_misuse(INVALID_HANDLE, "cuEventElapsedTime of an event without a time");
    if (event_done(from) > fake_now() || event_done(to) > fake_now())
        return CU_NOT_READY;
    *milliseconds = (float)((to->time_s - from->time_s) * 1e3);
    return CU_OK;
}

/* ---- the end ---------------------------------------------------------------------------------------------------- */

/* What a context takes along that nobody gave back is a leak all the same: only counted here. */
static void destroy_all(int device)
{
    for (cu_stream s = fake_streams; s; s = s->next)
        if (s->alive && s->device == device && (s->blocked || s->ready_s > fake_now()))
            fake_count(FAKE_unfinished, 1);
}
