/* SPDX-License-Identifier: MIT */
/*
 * At which batch does one projection turn from memory-bound to compute-bound?
 *
 * A GEMM of m rows does 2 m n k flop and moves n k weights, m k inputs and m n outputs. Compute
 * takes longer once 2 m n k / peak >= bytes / bandwidth; in 16 bit that is at 1/m = 1/R - 1/n - 1/k
 * with R = peak / bandwidth. In decode m is the batch. No model or file is needed to ask this.
 */
#include <stdio.h>

#include "llmperf/predict.h"

int main(void)
{
    /* dense bf16 peaks and memory bandwidths, as the datasheets give them */
    const struct {
        const char *name;
        double peak_flop_per_s, bytes_per_s;
    } parts[] = {{"A100 SXM 80 GB", 312e12, 2.039e12}, {"H100 SXM", 989.4e12, 3.35e12}};
    const struct {
        const char *name;
        double n, k;
    } projections[] = {{"4096 x 4096", 4096, 4096}, {"1024 x 8192", 1024, 8192}};
    const double bf16_bytes = 2;

    for (size_t i = 0; i < sizeof projections / sizeof *projections; i++) {
        for (size_t j = 0; j < sizeof parts / sizeof *parts; j++) {
            llmperf_crossing crossing =
                llmperf_gemm_crossing(projections[i].n, projections[i].k, bf16_bytes, bf16_bytes,
                                      parts[j].peak_flop_per_s, parts[j].bytes_per_s);
            if (crossing.exists)
                printf("%s on %s: compute-bound from batch %lld\n", projections[i].name,
                       parts[j].name, (long long)crossing.batch);
            else
                printf("%s on %s: never compute-bound: %s\n", projections[i].name, parts[j].name,
                       crossing.why);
        }
    }
    return 0;
}
