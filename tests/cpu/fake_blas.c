/* SPDX-License-Identifier: MIT */
/*
 * A stand-in for OpenBLAS whose core types misbehave on request. $FAKE_BLAS lists them:
 * "Auto:wrong,HASWELL:crash,*:good"; Auto is what it picks when OPENBLAS_CORETYPE is not set.
 *   good   right, and at once when the same product is asked again: faster than any loop
 *   slow   right, and slower than plain loops
 *   wrong  one element is off; nan: one element is NaN; crash: dies of SIGILL
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT char *openblas_get_corename(void);
EXPORT const char *openblas_get_config(void);
EXPORT int openblas_get_parallel(void);
EXPORT void openblas_set_num_threads(int threads);
EXPORT void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k,
                        float alpha, const float *a, int lda, const float *b, int ldb, float beta,
                        float *c, int ldc);
EXPORT void cblas_sgemv(int order, int transpose, int m, int n, float alpha, const float *a,
                        int lda, const float *x, int incx, float beta, float *y, int incy);

static char core[64], behaviour[32];

__attribute__((constructor)) static void begin(void)
{
    const char *type = getenv("OPENBLAS_CORETYPE"), *list = getenv("FAKE_BLAS");
    snprintf(core, sizeof core, "%s", type && type[0] ? type : "Auto");
    snprintf(behaviour, sizeof behaviour, "good");
    for (const char *at = list; at && *at;) {
        size_t name = strcspn(at, ":"), whole = strcspn(at, ",");
        if ((name == 1 && *at == '*') || (name == strlen(core) && memcmp(at, core, name) == 0)) {
            snprintf(behaviour, sizeof behaviour, "%.*s", (int)(whole - name - 1), at + name + 1);
            return;
        }
        at += whole + (at[whole] == ',');
    }
}

static int is(const char *word)
{
    return strcmp(behaviour, word) == 0;
}

char *openblas_get_corename(void)
{
    return core;
}

const char *openblas_get_config(void)
{
    return "OpenBLAS 9.9.9 FAKE";
}

int openblas_get_parallel(void)
{
    const char *text = getenv("FAKE_BLAS_PARALLEL");
    return text ? atoi(text) : 2;
}

void openblas_set_num_threads(int threads)
{
    (void)threads;
}

static void product(int m, int n, int k, const float *a, int lda, const float *b, int ldb, float *c,
                    int ldc)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int l = 0; l < k; l++)
                sum +=
                    a[(size_t)i * (size_t)lda + (size_t)l] * b[(size_t)j * (size_t)ldb + (size_t)l];
            c[(size_t)i * (size_t)ldc + (size_t)j] = sum;
        }
    if (is("wrong"))
        c[0] += 1;
    if (is("nan"))
        c[(size_t)m * (size_t)n - 1] = NAN;
    if (is("crash"))
        raise(SIGILL);
    if (is("slow"))
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

void cblas_sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc)
{
    static const float *last_a, *last_b;
    static float *last_c;
    (void)order, (void)transpose_a, (void)transpose_b, (void)alpha, (void)beta;
    if (!is("slow") && a == last_a && b == last_b && c == last_c)
        return;
    if ((double)m * n * k > 1e8) /* nobody looks at the result of so large a one */
        return;
    product(m, n, k, a, lda, b, ldb, c, ldc);
    last_a = a;
    last_b = b;
    last_c = c;
}

void cblas_sgemv(int order, int transpose, int m, int n, float alpha, const float *a, int lda,
                 const float *x, int incx, float beta, float *y, int incy)
{
    (void)order, (void)transpose, (void)alpha, (void)beta, (void)incx, (void)incy;
    product(1, m, n, x, n, a, lda, y, m);
}
