/* SPDX-License-Identifier: MIT */
/* Device memory: arenas that only grow. */
#include "cuda.h"

#include <math.h>

enum { STEP_BYTES = 4096 };

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

void cuda_free_memory(cuda_device *d)
{
    free_arenas(d, 0, CUDA_ARENA_COUNT - 1);
}
