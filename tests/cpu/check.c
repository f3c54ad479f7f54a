/* SPDX-License-Identifier: MIT */
/*
 * What the CPU backend measures, through the code that `calibrate` uses. Reads names and prints the
 * rate of each: read, copy, triad, gemm-M, and step-over-sum, a whole step beside the sum of its
 * operators. tests/bench/bench_cpu.py asks this and tests/cpu/reference.c by turns. Not part of the
 * tests: these are speeds.
 * Usage: check [OPTIONS-OF-THE-BACKEND]; LLMPERF_MODULES names the folder of the modules.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/measure.h"
#include "llmperf/samples.h"

static const llmperf_backend *backend;
static void *handle;

/* Median seconds of a probe; exits when it cannot be measured. */
static double median_of(const llmperf_probe *probe, unsigned *flags)
{
    llmperf_measurement m;
    llmperf_error error = {0};
    if (llmperf_measure(backend, handle, probe, NULL, &m, &error) != LLMPERF_OK) {
        fprintf(stderr, "check: %s\n", error.text);
        exit(1);
    }
    *flags |= m.flags;
    return m.summary.median_s;
}

static void report(const char *name, double rate, unsigned flags)
{
    printf("%s %.6g%s\n", name, rate, flags & LLMPERF_SAMPLE_CONTENDED ? " contended" : "");
    fflush(stdout);
}

static bool measure_stream(const char *name, double bytes)
{
    const struct {
        const char *name;
        llmperf_probe_kind kind;
        double passes;
    } rows[] = {{"read", LLMPERF_PROBE_READ, 1},
                {"copy", LLMPERF_PROBE_COPY, 2},
                {"triad", LLMPERF_PROBE_TRIAD, 3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const llmperf_probe probe = {.kind = rows[i].kind, .bytes = bytes, .cold = true};
        unsigned flags = 0;
        if (strcmp(name, rows[i].name) != 0)
            continue;
        double seconds = median_of(&probe, &flags);
        report(name, rows[i].passes * bytes / seconds, flags);
        return true;
    }
    return false;
}

static bool measure_product(const char *name)
{
    int m;
    unsigned flags = 0;
    if (sscanf(name, "gemm-%d", &m) != 1 || m < 1 || m > 4096)
        return false;
    const llmperf_probe probe = {
        .kind = LLMPERF_PROBE_OP,
        .cold = true,
        .op = llmperf_sample_gemm(LLMPERF_DTYPE_FP32, LLMPERF_DTYPE_NONE, m, 4096, 4096)};
    double seconds = median_of(&probe, &flags);
    report(name, probe.op.flop / seconds, flags);
    return true;
}

/* Sixteen layers of a small model: what runs one after the other against the sum. */
static void measure_step(void)
{
    llmperf_attention_shape shape = {.dtype = LLMPERF_DTYPE_FP32,
                                     .sequences = 4,
                                     .query_tokens = 1,
                                     .past_tokens = 511,
                                     .heads = 16,
                                     .kv_heads = 4,
                                     .head_dim = 64};
    llmperf_op ops[] = {
        llmperf_sample_gemm(LLMPERF_DTYPE_FP32, LLMPERF_DTYPE_NONE, 4, 1536, 1024),
        llmperf_sample_attention(&shape),
        llmperf_sample_gemm(LLMPERF_DTYPE_FP32, LLMPERF_DTYPE_NONE, 4, 1024, 1024),
        llmperf_sample_gemm(LLMPERF_DTYPE_FP32, LLMPERF_DTYPE_NONE, 4, 5632, 1024),
        llmperf_sample_gemm(LLMPERF_DTYPE_FP32, LLMPERF_DTYPE_NONE, 4, 1024, 2816),
    };
    enum { COUNT = sizeof ops / sizeof *ops };
    unsigned flags = 0;
    double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        ops[i].repeat = 16;
        const llmperf_probe one = {.kind = LLMPERF_PROBE_OP, .op = ops[i], .cold = true};
        sum += ops[i].repeat * median_of(&one, &flags);
    }
    const llmperf_probe step = {.kind = LLMPERF_PROBE_FORWARD, .ops = ops, .op_count = COUNT};
    report("step-over-sum", median_of(&step, &flags) / sum, flags);
}

int main(int argc, char **argv)
{
    llmperf_error error = {0};
    llmperf_device d;
    const char *options = argc > 1 ? argv[1] : NULL;
    if (llmperf_backend_find("cpu", &backend, &error) != LLMPERF_OK ||
        backend->open(0, options, &handle, &error) != LLMPERF_OK) {
        fprintf(stderr, "check: %s\n", error.text);
        return 5;
    }
    const llmperf_probe product = {
        .kind = LLMPERF_PROBE_OP,
        .op = llmperf_sample_gemm(LLMPERF_DTYPE_FP32, LLMPERF_DTYPE_NONE, 4, 64, 64)};
    if (!backend->supports(handle, &product, &error)) {
        fprintf(stderr, "check: %s\n", error.text);
        return 5;
    }
    backend->describe(handle, &d, &error);
    printf("# %s, %.0f threads, %s %s\n", d.name, d.units, d.library, d.version);
    fflush(stdout);
    char name[32];
    while (scanf("%31s", name) == 1)
        if (strcmp(name, "step-over-sum") == 0)
            measure_step();
        else if (!measure_stream(name, fmax(4 * d.cache_bytes, 268435456)) &&
                 !measure_product(name))
            report(name, 0, 0);
    backend->close(handle);
    return 0;
}
