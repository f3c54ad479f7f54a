/* SPDX-License-Identifier: MIT */
/*
 * The OpenMP kernels of the CPU backend. They live in a shared object of their own
 * (llmperf-cpu-omp.so), because libgomp reads OMP_PROC_BIND and its friends when it is loaded: the
 * backend first finds out, in child processes, which settings are best, and only then opens it.
 */
#ifndef LLMPERF_CPU_KERNELS_H
#define LLMPERF_CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPU_KERNELS_ABI 2
#define CPU_KERNELS_SYMBOL "llmperf_cpu_kernels"

/*
 * Attention of one layer, causal: query i of a sequence sees keys 0 .. past + i.
 *   q    (sequences, query, heads, head_dim)
 *   k    (sequences, kv_heads, past + query, head_dim)
 *   v    (sequences, kv_heads, past + query, value_dim)
 *   out  (sequences, query, heads, value_dim)
 * Arithmetic, q and out are fp32; k and v are fp32 or bf16, widened block by block.
 */
typedef struct cpu_attention {
    int64_t sequences, query, past, heads, kv_heads, head_dim, value_dim;
    bool kv_bf16;
} cpu_attention;

typedef struct cpu_kernels {
    int abi;
    const char *vector; /* how the inner loops are compiled: "per processor", "baseline" */
    void (*set_threads)(int threads);
    void (*pin)(const int *cpus, int count); /* thread i to processor cpus[i] */
    int (*team_size)(void);                  /* threads that a parallel region really gets */
    /* data[i] uniform in [-1, 1], touched first by the thread that uses it */
    void (*fill)(float *data, size_t count, uint64_t seed);
    void (*fill_bf16)(uint16_t *data, size_t count, uint64_t seed); /* the same, cut to 16 bit */
    void (*fill_int8)(int8_t *data, size_t count, uint64_t seed);   /* uniform in [-127, 127] */
    float (*read)(const float *a, size_t count);
    void (*copy)(float *to, const float *from, size_t count);
    void (*triad)(float *to, const float *a, const float *b, size_t count);
    void (*launch)(void); /* an empty parallel region */
    /* c (m, n) = a (m, k) times w (n, k) transposed; plain loops: the reference */
    void (*gemm)(int m, int n, int k, const float *a, const float *w, float *c);
    size_t (*attention_scratch)(const cpu_attention *shape, int threads); /* floats */
    void (*attention)(const cpu_attention *shape, int threads, const float *q, const void *k,
                      const void *v, float *out, float *scratch);
    /* out[i] from `reads` (1 to 3) inputs */
    void (*elementwise)(float *out, const float *const *in, int reads, size_t count);
    /* rows of `width` from scattered places of a table of `table_rows` */
    void (*gather)(float *out, const float *table, size_t rows, size_t width, size_t table_rows,
                   uint64_t seed);
} cpu_kernels;

typedef const cpu_kernels *(*cpu_kernels_entry)(void);

#endif
