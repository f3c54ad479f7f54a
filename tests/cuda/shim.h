/* SPDX-License-Identifier: MIT */
/*
 * Runs the CUDA kernels of kernels/cuda/kernels.cu on the CPU: the very same source compiled by the
 * C compiler, one fibre per CUDA thread of a block, blocks one after another.
 *   - a warp runs as far ahead of the others as the barriers let it, so that a missing one is seen;
 *     which warp and which lane comes next is permuted by the seed, anew in every round
 *   - static and dynamic shared memory hold NaN (bytes 0xff) when a block starts
 *   - asynchronous copies land only when they are waited for
 *   - device pointers are host pointers; the address sanitizer sees every access
 *   - clock: each look at the device's clock moves it by a microsecond, so no wait is endless
 * Not seen: reordered memory accesses between barriers, bank conflicts, speed.
 */
#ifndef LLMPERF_TESTS_CUDA_SHIM_H
#define LLMPERF_TESTS_CUDA_SHIM_H

#include <stddef.h>
#include <stdint.h>

typedef enum shim_status {
    SHIM_OK = 0,
    SHIM_UNKNOWN_KERNEL,
    SHIM_INVALID_SIZE,   /* grid, block or shared memory out of a real device's range */
    SHIM_DEADLOCK,       /* threads wait at a barrier that others left or never reach */
    SHIM_DIVERGED,       /* lanes of a warp meet in different warp-wide operations */
    SHIM_SHARED_OVERRUN, /* written behind the dynamic shared memory */
    SHIM_NO_MEMORY,
} shim_status;

typedef struct shim_options {
    uint64_t seed;       /* order of threads and blocks; 0 = ascending */
    uint64_t max_blocks; /* 0 = all; else only that many, spread evenly over the grid */
    char *message;       /* may be NULL: one line that says what failed */
    size_t message_size;
} shim_options;

/*
 * Launches `kernel`, a name of the list CUDA_KERNELS, with `arguments` pointing at its struct.
 * Not re-entrant; calls from several threads take turns. `options` may be NULL.
 */
int shim_launch(const char *kernel, const unsigned grid[3], const unsigned block[3],
                size_t shared_bytes, const void *arguments, const shim_options *options);

/* Bytes of the kernel's argument struct; 0 for a name that is not known. */
size_t shim_argument_bytes(const char *kernel);

const char *shim_status_name(int status);

#endif
