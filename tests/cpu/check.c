/* SPDX-License-Identifier: MIT */
/*
 * By hand, on a quiet machine: does the backend measure what plain code does in the same minute?
 *   - read and triad beside loops as STREAM has them, within 5 %
 *   - a product beside a plain loop of cblas_sgemm calls, within 5 %
 *   - a whole step beside the sum of its operators, reported
 * Usage: check [REPEATS]; LLMPERF_MODULES names the folder of the modules. Not part of CI: speeds.
 */
#include <dlfcn.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "llmperf/measure.h"
#include "llmperf/samples.h"

typedef void sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int,
                   float, float *, int);

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const llmperf_backend *backend;
static void *handle;
static int bad;

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

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *seconds, int count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, by_value);
    return seconds[count / 2];
}

static void report(const char *what, double ours, double plain, const char *unit, unsigned flags,
                   double within)
{
    double off = ours / plain - 1;
    int wrong = !(fabs(off) <= within);
    bad += wrong;
    printf("%-28s ours %8.2f %s  plain %8.2f %s  %+5.1f %% %s%s\n", what, ours, unit, plain, unit,
           100 * off, wrong ? "DIFFERS" : "agrees",
           flags & LLMPERF_SAMPLE_CONTENDED ? " (contended)" : "");
}

enum { REPS = 25 };

static void check_streams(double bytes)
{
    const size_t count = (size_t)(bytes / sizeof(float));
    float *a = malloc((size_t)bytes), *b = malloc((size_t)bytes), *c = malloc((size_t)bytes);
    double seconds[REPS];
    unsigned flags = 0;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] = c[i] = 1;
    for (int r = 0; r < REPS; r++) {
        double start = now_s();
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < count; i++)
            c[i] = a[i] + 0.4f * b[i];
        seconds[r] = now_s() - start;
    }
    double plain = 3 * bytes / median(seconds, REPS) / 1e9;
    const llmperf_probe triad = {.kind = LLMPERF_PROBE_TRIAD, .bytes = bytes, .cold = true};
    report("triad", 3 * bytes / median_of(&triad, &flags) / 1e9, plain, "GB/s", flags, 0.05);
    float sum = 0;
    for (int r = 0; r < REPS; r++) {
        double start = now_s();
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
        for (size_t i = 0; i < count; i++)
            sum += a[i];
        seconds[r] = now_s() - start;
    }
    plain = bytes / median(seconds, REPS) / 1e9;
    flags = 0;
    const llmperf_probe read = {.kind = LLMPERF_PROBE_READ, .bytes = bytes, .cold = true};
    report("read", bytes / median_of(&read, &flags) / 1e9, plain, "GB/s", flags, 0.05);
    if (sum == 0)
        puts("");
    free(a), free(b), free(c);
}

static void check_product(sgemm *gemm, int m, int n, int k)
{
    enum { COPIES = 4 };
    const size_t weights = (size_t)n * (size_t)k;
    float *a = malloc((size_t)m * (size_t)k * 4), *w = malloc(COPIES * weights * 4);
    float *c = malloc((size_t)m * (size_t)n * 4);
    double seconds[REPS];
    unsigned flags = 0;
    char what[64];
    for (size_t i = 0; i < (size_t)m * (size_t)k; i++)
        a[i] = (float)(i % 17) / 17 - 0.5f;
    for (size_t i = 0; i < COPIES * weights; i++)
        w[i] = (float)(i % 23) / 23 - 0.5f;
    for (int r = 0; r < REPS; r++) {
        double start = now_s();
        gemm(101, 111, 112, m, n, k, 1, a, k, w + (size_t)(r % COPIES) * weights, k, 0, c, n);
        seconds[r] = now_s() - start;
    }
    double flop = 2.0 * m * n * k, plain = flop / median(seconds, REPS) / 1e9;
    const llmperf_probe probe = {
        .kind = LLMPERF_PROBE_OP,
        .cold = true,
        .op = llmperf_sample_gemm(LLMPERF_DTYPE_FP32, LLMPERF_DTYPE_NONE, m, n, k)};
    snprintf(what, sizeof what, "gemm m=%d n=%d k=%d", m, n, k);
    report(what, flop / median_of(&probe, &flags) / 1e9, plain, "GF/s", flags, 0.05);
    free(a), free(w), free(c);
}

/* Sixteen layers of a small model: what runs one after the other against the sum. */
static void check_step(void)
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
    report("step against its operators", 1e3 * median_of(&step, &flags), 1e3 * sum, "ms", flags,
           INFINITY);
}

int main(int argc, char **argv)
{
    llmperf_error error = {0};
    llmperf_device d;
    int repeats = argc > 1 ? atoi(argv[1]) : 3;
    if (llmperf_backend_find("cpu", &backend, &error) != LLMPERF_OK ||
        backend->open(0, NULL, &handle, &error) != LLMPERF_OK) {
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
    omp_set_num_threads((int)d.units);
    /* the library that the backend has loaded: the same core type, the same threads */
    void *library = NULL;
    for (int i = 0; i < d.notes.count; i++) {
        const char *path = strstr(d.notes.text[i], "build, from ");
        if (path)
            library = dlopen(path + 12, RTLD_NOW);
    }
    void *symbol = library ? dlsym(library, "cblas_sgemm") : NULL;
    sgemm *gemm;
    memcpy(&gemm, &symbol, sizeof gemm);
    printf("%s, %.0f threads, %s %s\n", d.name, d.units, d.library, d.version);
    for (int r = 0; r < repeats; r++) {
        check_streams(fmax(4 * d.cache_bytes, 268435456));
        for (int m = 8; gemm && m <= 512; m *= 8)
            check_product(gemm, m, 4096, 4096);
        check_step();
    }
    backend->close(handle);
    return bad > 0;
}
