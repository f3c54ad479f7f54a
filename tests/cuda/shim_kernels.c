/* SPDX-License-Identifier: MIT */
/* kernels/cuda/kernels.cu as C, and the table by which shim.c finds its kernels. */
#include "kernels.cu"

#define CALL(kernel, type)                                                                         \
    static void call_##kernel(const void *arguments)                                               \
    {                                                                                              \
        type copy;                                                                                 \
        memcpy(&copy, arguments, sizeof copy);                                                     \
        kernel(copy);                                                                              \
    }
CUDA_KERNELS(CALL)

#define ROW(kernel, type) {#kernel, call_##kernel, sizeof(type)},
const shim_kernel shim_kernels[] = {CUDA_KERNELS(ROW)};
const size_t shim_kernel_count = sizeof shim_kernels / sizeof *shim_kernels;
