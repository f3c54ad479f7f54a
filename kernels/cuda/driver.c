/* SPDX-License-Identifier: MIT */
/* The driver opened, and its answers as statuses. */
#include "cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

double cuda_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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
