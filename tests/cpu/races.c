/* SPDX-License-Identifier: MIT */
/*
 * Every OpenMP kernel of the CPU backend on two to four threads, for ThreadSanitizer: `./dev tsan`
 * builds it with clang, whose OpenMP tells the sanitizer (by way of Archer) where threads meet, which
 * that of GCC does not. A plain main; results are checked in traps.c.
 * Usage: races KERNELS.so [broken]; "broken" races on purpose, to show that it would be seen.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernels/cpu/kernels.h"

enum { COUNT = 100003 }; /* floats; no multiple of anything */

static const cpu_kernels *load(const char *path)
{
    cpu_kernels_entry entry;
    void *library = dlopen(path, RTLD_NOW);
    void *symbol = library ? dlsym(library, CPU_KERNELS_SYMBOL) : NULL;
    if (!symbol) {
        fprintf(stderr, "races: %s\n", dlerror());
        exit(2);
    }
    memcpy(&entry, &symbol, sizeof entry);
    return entry();
}

static void run_attention(const cpu_kernels *kernels, int threads)
{
    static const cpu_attention shapes[] = {
        {1, 1, 2047, 8, 2, 64, 64, false}, /* split over the keys, merged */
        {3, 1, 99, 6, 2, 64, 64, true},
        {2, 67, 0, 3, 3, 64, 64, false},
        {1, 16, 300, 8, 2, 80, 80, true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const cpu_attention *a = &shapes[i];
        size_t tokens = (size_t)(a->past + a->query);
        size_t q = (size_t)(a->sequences * a->query * a->heads * a->head_dim);
        size_t kv = (size_t)(a->sequences * a->kv_heads * a->head_dim) * tokens;
        size_t scratch = kernels->attention_scratch(a, threads);
        float *data = malloc((2 * q + 2 * kv + scratch) * sizeof *data);
        if (!data)
            exit(2);
        float *k = data + q, *v = k + kv, *out = v + kv;
        kernels->fill(data, q, 1);
        if (a->kv_bf16) {
            kernels->fill_bf16((uint16_t *)(void *)k, kv, 2);
            kernels->fill_bf16((uint16_t *)(void *)v, kv, 3);
        } else {
            kernels->fill(k, 2 * kv, 2);
        }
        for (int run = 0; run < 2; run++)
            kernels->attention(a, threads, data, k, v, out, out + q);
        free(data);
    }
}

static void run_all(const cpu_kernels *kernels, int threads)
{
    static float a[COUNT], b[COUNT], c[COUNT];
    static int8_t small[COUNT];
    const int cpus[] = {0, 0, 0, 0};
    const float *in[3] = {a, b, a};
    kernels->set_threads(threads);
    kernels->pin(cpus, threads);
    if (kernels->team_size() != threads)
        exit(2);
    for (int run = 0; run < 2; run++) {
        kernels->fill(a, COUNT, 1);
        kernels->fill(b, COUNT, 2);
        kernels->fill_int8(small, COUNT, 3);
        kernels->launch();
        c[0] = kernels->read(a, COUNT);
        kernels->copy(c, a, COUNT);
        kernels->triad(c, a, b, COUNT);
        kernels->elementwise(c, in, 3, COUNT);
        kernels->gemm(5, 37, 53, a, b, c);
        kernels->gather(c, a, 50, 64, COUNT / 64, 1);
    }
    run_attention(kernels, threads);
}

int main(int argc, char **argv)
{
    static float same[4096];
    if (argc < 2) {
        fputs("usage: races KERNELS.so [broken]\n", stderr);
        return 2;
    }
    const cpu_kernels *kernels = load(argv[1]);
    if (argc > 2) { /* read and written by neighbours: what a caller must not ask for */
        kernels->set_threads(2);
        for (int run = 0; run < 100; run++)
            kernels->triad(same + 1, same, same, 4095);
        puts("raced on purpose");
        return 0;
    }
    for (int threads = 2; threads <= 4; threads++)
        run_all(kernels, threads);
    puts("no kernel raced");
    return 0;
}
