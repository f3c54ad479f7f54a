/* SPDX-License-Identifier: MIT */
/*
 * Lets the kernels' tests run on a real device: included before everything else, it turns their
 * buffers into pairs of host and device memory.
 */
#ifndef LLMPERF_TESTS_CUDA_ON_DEVICE_H
#define LLMPERF_TESTS_CUDA_ON_DEVICE_H

#include <stddef.h>
#include <stdlib.h>

void *on_device_allocate(size_t bytes);
void on_device_free(void *memory);

#define malloc on_device_allocate
#define free on_device_free
#define LLMPERF_ON_DEVICE

#endif
