/* SPDX-License-Identifier: MIT */
/* Launches, and the clock of the device's events. */
#include "cuda.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

enum { GATE_TRIES = 3 };

/* the blocking kernel ends by itself after this; a host that queues slower gets more */
static const double GATE_LEAST_S = 0.05, GATE_MOST_S = 0.4;
static const double SPIN_S = 2e-3, NAP_S = 50e-6;

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
