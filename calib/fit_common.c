/* SPDX-License-Identifier: MIT */
/* Small things that groups.c, fit.c and the fit of engines share. */
#include <stdlib.h>
#include <string.h>

#include "fit_internal.h"
#include "calib_object.h"
#include "fits.h"

uint64_t fit_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void fit_sort(double *values, int64_t count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
}

double fit_quantile(const double *sorted, int64_t count, double share)
{
    if (count == 0)
        return 0;
    double at = share * (double)(count - 1);
    int64_t below = (int64_t)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

void fit_calib_of(const llmperf_calib_entry *entry, llmperf_calib *ret_calib)
{
    calib_init(ret_calib);
    ret_calib->entry_count = 1;
    ret_calib->entry[0] = *entry;
    if (entry->key.regime == LLMPERF_REGIME_MIXED) /* its parts have fits of their own */
        memset(ret_calib->index[entry->key.kind][entry->key.regime], 0,
               sizeof ret_calib->index[0][0]);
    else
        memset(ret_calib->index[entry->key.kind], 0, sizeof ret_calib->index[0]);
}

/* What a digest or a choice by hash goes by. */
uint64_t fit_hash_op(uint64_t hash, const llmperf_op *op)
{
    size_t common = offsetof(llmperf_op, lone_sequences);
    return fit_hash(hash, op, op->regime == LLMPERF_REGIME_MIXED ? sizeof *op : common);
}
