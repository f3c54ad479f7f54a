/* SPDX-License-Identifier: MIT */
/*
 * What plain code reaches on this machine, written without any part of llmperf: the loops of STREAM
 * (McCalpin) under OpenMP, and cblas_sgemm in a loop over cold weights. Prints "name rate" lines that
 * tests/bench/bench_cpu.py sets beside what the CPU backend measures in the same minute.
 * Usage: reference BYTES
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { REPS = 41, COPIES = 4, N = 4096, K = 4096, M_MOST = 512 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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

/* Large pages, as the backend asks for: else page tables are a part of what is measured. */
static float *buffer(size_t bytes)
{
    const size_t page = 2097152;
    float *data = aligned_alloc(page, (bytes + page - 1) / page * page);
    if (data)
        madvise(data, bytes, MADV_HUGEPAGE);
    return data;
}

static int streams(size_t bytes)
{
    const size_t count = bytes / sizeof(float);
    float *a = buffer(bytes), *b = buffer(bytes), *c = buffer(bytes);
    double seconds[REPS];
    float sum = 0;
    if (!a || !b || !c) {
        free(a), free(b), free(c);
        return 1;
    }
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] = c[i] = 1;
    for (int r = 0; r < REPS; r++) {
        double start = now_s();
#pragma omp parallel for simd schedule(static) reduction(+ : sum)
        for (size_t i = 0; i < count; i++)
            sum += a[i];
        seconds[r] = now_s() - start;
    }
    printf("read %.6g\n", (double)bytes / median(seconds, REPS));
    for (int r = 0; r < REPS; r++) {
        double start = now_s();
#pragma omp parallel for simd schedule(static)
        for (size_t i = 0; i < count; i++)
            c[i] = a[i];
        seconds[r] = now_s() - start;
    }
    printf("copy %.6g\n", 2 * (double)bytes / median(seconds, REPS));
    for (int r = 0; r < REPS; r++) {
        double start = now_s();
#pragma omp parallel for simd schedule(static)
        for (size_t i = 0; i < count; i++)
            c[i] = a[i] + 0.4f * b[i];
        seconds[r] = now_s() - start;
    }
    printf("triad %.6g\n", 3 * (double)bytes / median(seconds, REPS));
    int wrong = sum == 0 || c[count / 2] == 0; /* the results are used */
    free(a), free(b), free(c);
    return wrong;
}

static int products(void)
{
    static const int rows[] = {1, 8, 64, 512};
    const size_t weights = (size_t)N * K;
    float *a = buffer((size_t)M_MOST * K * sizeof *a), *w = buffer(COPIES * weights * sizeof *w);
    float *c = buffer((size_t)M_MOST * N * sizeof *c);
    double seconds[REPS];
    if (!a || !w || !c) {
        free(a), free(w), free(c);
        return 1;
    }
    for (size_t i = 0; i < (size_t)M_MOST * K; i++)
        a[i] = (float)(i % 17) / 17 - 0.5f;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < COPIES * weights; i++)
        w[i] = (float)(i % 23) / 23 - 0.5f;
    for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
        int m = rows[j], reps = m > 64 ? 9 : REPS;
        for (int r = 0; r < reps; r++) {
            const float *one = w + (size_t)(r % COPIES) * weights;
            double start = now_s();
            if (m == 1)
                cblas_sgemv(CblasRowMajor, CblasNoTrans, N, K, 1, one, K, a, 1, 0, c, 1);
            else
                cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, N, K, 1, a, K, one, K, 0, c,
                            N);
            seconds[r] = now_s() - start;
        }
        printf("gemm-%d %.6g\n", m, 2.0 * m * N * K / median(seconds, reps));
    }
    free(a), free(w), free(c);
    return 0;
}

int main(int argc, char **argv)
{
    long long bytes = argc > 1 ? atoll(argv[1]) : 268435456;
    if (bytes < 1048576) {
        fputs("reference: at least 1048576 bytes are allowed\n", stderr);
        return 2;
    }
    return streams((size_t)bytes) + products();
}
