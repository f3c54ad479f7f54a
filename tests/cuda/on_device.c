/* SPDX-License-Identifier: MIT */
/*
 * shim_launch() on a real device: with test_kernels.c it checks the machine code of every kernel
 * against double precision. Each buffer of a test has a twin on the device; a launch sends all of
 * them over, with the pointers in its arguments changed to the twins', and takes them back.
 *   without a driver or a device: exit code 77, the reason on one line
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "shim.h"

void *on_device_allocate(size_t bytes);
void on_device_free(void *memory);

enum { BUFFERS_MAX = 64, ARGUMENTS_MAX = 256 };

static struct {
    unsigned char *host;
    size_t bytes;
    cu_address twin;
} buffers[BUFFERS_MAX];

static cuda_device device;

static void stop(const char *what)
{
    printf("Bail out! %s\n", what);
    exit(1);
}

static void must(cu_result result, const char *what)
{
    llmperf_error error = {0};
    if (cuda_check(&device, result, what, &error) != LLMPERF_OK)
        stop(error.text);
}

static void start(void)
{
    llmperf_error error = {0};
    const char *folder = getenv("LLMPERF_CUDA_LIBRARIES");
    if (device.started)
        return;
    device.timeout_s = 20;
    device.share = 0.5;
    snprintf(device.libraries, sizeof device.libraries, "%s", folder ? folder : "");
    llmperf_status status = cuda_device_find(&device, 0, &error);
    if (status == LLMPERF_E_UNSUPPORTED) {
        printf("1..0 # SKIP %s\n", error.text);
        exit(77);
    }
    if (status == LLMPERF_OK)
        status = cuda_device_start(&device, &error);
    if (status != LLMPERF_OK)
        stop(error.text);
    printf("# %s, compute capability %d.%d, started in %.2f s\n", device.facts.name,
           device.facts.major, device.facts.minor, device.start_took_s);
}

void *on_device_allocate(size_t bytes)
{
    start();
    for (int i = 0; i < BUFFERS_MAX; i++) {
        if (buffers[i].host)
            continue;
        buffers[i].bytes = bytes;
        buffers[i].host = malloc(bytes);
        if (!buffers[i].host)
            return NULL;
        must(device.driver.cuMemAlloc_v2(&buffers[i].twin, bytes), "cuMemAlloc");
        return buffers[i].host;
    }
    stop("more buffers than a test may have");
    return NULL;
}

void on_device_free(void *memory)
{
    for (int i = 0; memory && i < BUFFERS_MAX; i++)
        if (buffers[i].host == memory) {
            must(device.driver.cuMemFree_v2(buffers[i].twin), "cuMemFree");
            free(buffers[i].host);
            memset(&buffers[i], 0, sizeof buffers[i]);
            return;
        }
}

/* The device's address of a host pointer into a buffer; false: it points into none. */
static bool twin_of(uintptr_t pointer, uintptr_t *ret_address)
{
    for (int i = 0; i < BUFFERS_MAX; i++) {
        uintptr_t host = (uintptr_t)buffers[i].host;
        if (host && pointer >= host && pointer < host + buffers[i].bytes) {
            *ret_address = (uintptr_t)buffers[i].twin + (pointer - host);
            return true;
        }
    }
    return false;
}

/* Every argument struct holds its pointers on 8-byte places. */
static void translate(const void *from, unsigned char *to, size_t bytes)
{
    memcpy(to, from, bytes);
    for (size_t at = 0; at + sizeof(uintptr_t) <= bytes; at += sizeof(uintptr_t)) {
        uintptr_t value;
        memcpy(&value, to + at, sizeof value);
        if (twin_of(value, &value))
            memcpy(to + at, &value, sizeof value);
    }
}

static void copy_all(bool to_device)
{
    for (int i = 0; i < BUFFERS_MAX; i++) {
        if (!buffers[i].host || buffers[i].bytes == 0)
            continue;
        if (to_device)
            must(device.driver.cuMemcpyHtoD_v2(buffers[i].twin, buffers[i].host, buffers[i].bytes),
                 "cuMemcpyHtoD");
        else
            must(device.driver.cuMemcpyDtoH_v2(buffers[i].host, buffers[i].twin, buffers[i].bytes),
                 "cuMemcpyDtoH");
    }
}

static const struct {
    const char *name;
    size_t bytes;
} KERNELS[] = {
#define ROW(symbol, arguments) {#symbol, sizeof(arguments)},
    CUDA_KERNELS(ROW)
#undef ROW
};

int shim_launch(const char *kernel, const unsigned grid[3], const unsigned block[3],
                size_t dynamic_bytes, const void *arguments, const shim_options *options)
{
    unsigned char sent[ARGUMENTS_MAX];
    llmperf_error error = {0};
    int function = 0;
    start();
    while (function < CUDA_FN_COUNT && strcmp(KERNELS[function].name, kernel) != 0)
        function++;
    if (function == CUDA_FN_COUNT || KERNELS[function].bytes > sizeof sent)
        return SHIM_UNKNOWN_KERNEL;
    translate(arguments, sent, KERNELS[function].bytes);
    device.doing = kernel;
    copy_all(true);
    must(device.driver.cuCtxSynchronize(), "cuCtxSynchronize"); /* the launch's stream does not */
    llmperf_status status = cuda_launch(&device, function, grid[0], grid[1], grid[2], block[0],
                                        (uint32_t)dynamic_bytes, sent, &error);
    if (status == LLMPERF_OK)
        status = cuda_wait(&device, &error);
    if (status != LLMPERF_OK) {
        if (options && options->message)
            snprintf(options->message, options->message_size, "%s", error.text);
        if (device.broken || device.hung)
            stop(error.text);
        return -1;
    }
    copy_all(false);
    return 0;
}
