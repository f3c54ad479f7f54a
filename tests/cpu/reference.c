/* SPDX-License-Identifier: MIT */
/*
 * What plain code reaches on this machine, written without any part of llmperf: the loops of STREAM
 * (McCalpin) under OpenMP, and cblas_sgemm in a loop over cold weights. Reads names (read, copy, triad,
 * gemm-M) and prints the rate of each; tests/bench/bench_cpu.py asks this and the CPU backend by turns.
 * Usage: reference BYTES
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

typedef struct streams {
    size_t count;
    float *a, *b, *c;
    float sum;
} streams;

static void one_pass(streams *s, char what)
{
    const float *a = s->a, *b = s->b;
    float *c = s->c;
    if (what == 'r') { /* several sums: one alone would wait for its own additions */
        float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        const size_t part = s->count / 4;
#pragma omp parallel for simd schedule(static) reduction(+ : s0, s1, s2, s3)
        for (size_t i = 0; i < part; i++) {
            s0 += a[i];
            s1 += a[part + i];
            s2 += a[2 * part + i];
            s3 += a[3 * part + i];
        }
        s->sum += s0 + s1 + s2 + s3;
    } else if (what == 'c') {
#pragma omp parallel for simd schedule(static)
        for (size_t i = 0; i < s->count; i++)
            c[i] = a[i];
    } else {
#pragma omp parallel for simd schedule(static)
        for (size_t i = 0; i < s->count; i++)
            c[i] = a[i] + 0.4f * b[i];
    }
}

static double stream(streams *s, char what, double passes)
{
    double seconds[REPS];
    for (int r = 0; r < REPS; r++) {
        double start = now_s();
        one_pass(s, what);
        seconds[r] = now_s() - start;
    }
    return passes * (double)(s->count * sizeof(float)) / median(seconds, REPS);
}

static double product(int m, const float *a, const float *w, float *c)
{
    double seconds[REPS];
    int reps = m > 64 ? 9 : REPS;
    for (int r = 0; r < reps; r++) {
        const float *one = w + (size_t)(r % COPIES) * N * K;
        double start = now_s();
        if (m == 1)
            cblas_sgemv(CblasRowMajor, CblasNoTrans, N, K, 1, one, K, a, 1, 0, c, 1);
        else
            cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, N, K, 1, a, K, one, K, 0, c, N);
        seconds[r] = now_s() - start;
    }
    return 2.0 * m * N * K / median(seconds, reps);
}

int main(int argc, char **argv)
{
    long long bytes = argc > 1 ? atoll(argv[1]) : 268435456;
    if (bytes < 1048576) {
        fputs("reference: at least 1048576 bytes are allowed\n", stderr);
        return 2;
    }
    streams s = {.count = (size_t)bytes / sizeof(float),
                 .a = buffer((size_t)bytes),
                 .b = buffer((size_t)bytes),
                 .c = buffer((size_t)bytes)};
    const size_t weights = (size_t)COPIES * N * K, inputs = (size_t)M_MOST * K;
    float *a = buffer(inputs * sizeof *a), *w = buffer(weights * sizeof *w);
    float *c = buffer((size_t)M_MOST * N * sizeof *c);
    if (!s.a || !s.b || !s.c || !a || !w || !c)
        return 1;
        /* touched first by the threads that use them */
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < s.count; i++)
        s.a[i] = s.b[i] = s.c[i] = 1;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < weights; i++)
        w[i] = (float)(i % 23) / 23 - 0.5f;
    for (size_t i = 0; i < inputs; i++)
        a[i] = (float)(i % 17) / 17 - 0.5f;
    char name[32];
    int m;
    while (scanf("%31s", name) == 1) {
        double rate = 0;
        if (strcmp(name, "read") == 0)
            rate = stream(&s, 'r', 1);
        else if (strcmp(name, "copy") == 0)
            rate = stream(&s, 'c', 2);
        else if (strcmp(name, "triad") == 0)
            rate = stream(&s, 't', 3);
        else if (sscanf(name, "gemm-%d", &m) == 1 && m >= 1 && m <= M_MOST)
            rate = product(m, a, w, c);
        printf("%s %.6g\n", name, rate);
        fflush(stdout);
    }
    int wrong = !(s.sum >= 0); /* the results are used */
    free(s.a), free(s.b), free(s.c), free(a), free(w), free(c);
    return wrong;
}
