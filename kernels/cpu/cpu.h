/* SPDX-License-Identifier: MIT */
/* Inside the CPU backend: facts of the machine, company on it, BLAS and OpenMP. */
#ifndef LLMPERF_CPU_CPU_H
#define LLMPERF_CPU_CPU_H

#include <sched.h>

#include "kernels.h"
#include "llmperf/backend.h"

/* ---- host.c: what this machine is ------------------------------------------------------------ */

enum { CPU_CACHE_LEVELS = 4 }; /* data caches, L1 to L4 */

typedef struct cpu_host {
    char name[LLMPERF_NAME_MAX];
    int online;        /* logical processors of the machine */
    cpu_set_t allowed; /* affinity at start, before any runtime binds threads */
    int allowed_count;
    int cores;                         /* distinct physical cores among them */
    double quota_cores;                /* cgroup limit; 0 = none */
    char quota_file[LLMPERF_PATH_MAX]; /* where it was found */
    int usable; /* what measuring uses: the least of them, rounded down, at least 1 */
    double cache_bytes[CPU_CACHE_LEVELS];   /* of one instance, 0 = none */
    int cache_shared[CPU_CACHE_LEVELS];     /* processors that share it */
    double last_cache_bytes;                /* all instances of the last level that we may use */
    double memory_bytes, memory_free_bytes; /* also bounded by the cgroup */
    double clock_hz;                        /* highest, 0 = not readable */
    double load;                            /* 1 minute */
    char governor[32];                      /* "" = not readable */
    bool has_fma, has_avx512, has_bf16, is_virtual;
} cpu_host;

/* Reads what can be read; `cgroup` = a folder that holds the quota files instead of the process's
 * own groups, "" = those. Never fails: what cannot be read stays 0 or "". */
void cpu_host_read(const char *cgroup, cpu_host *ret_host);

/* First line of a small file, without newline; false when it cannot be read. */
bool cpu_read_line(const char *path, char *buffer, size_t size);

/* ---- company.c: is anybody else using the cores? --------------------------------------------- */

/* Counters at one moment. */
typedef struct cpu_moment {
    double wall_s, own_s;    /* clock, CPU time of this process */
    double busy_s, stolen_s; /* of the allowed processors, whole machine */
    double waiting_s;        /* our threads, runnable but not running */
    double throttled;        /* periods that the cgroup was held back, thermal events */
} cpu_moment;

typedef struct cpu_company {
    const cpu_host *host;
    char throttle_file[LLMPERF_PATH_MAX]; /* cpu.stat of the cgroup, "" = none */
} cpu_company;

enum { CPU_WHY_MAX = 160 };

void cpu_company_init(cpu_company *company, const cpu_host *host);
cpu_moment cpu_company_now(const cpu_company *company);

/* LLMPERF_SAMPLE_ flags of the time between two moments in which `threads` threads of ours worked
 * without pause; `why` says what they rest on ("" when nothing is flagged). */
unsigned cpu_company_threads(const cpu_moment *from, const cpu_moment *to, int threads,
                             char why[CPU_WHY_MAX]);
/* The same by what the whole machine did, pauses allowed; blind below 0.1 s. */
unsigned cpu_company_machine(const cpu_company *company, const cpu_moment *from,
                             const cpu_moment *to, int threads, char why[CPU_WHY_MAX]);

/* ---- runtime.c: OpenBLAS and OpenMP, chosen by trial ----------------------------------------- */

typedef struct cpu_blas {
    void (*sgemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                  const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
    void (*sgemv)(int order, int transpose, int m, int n, float alpha, const float *a, int lda,
                  const float *x, int incx, float beta, float *y, int incy);
    void (*set_threads)(int threads);
    char core[48], version[48];
    int parallel; /* 0 serial, 1 own threads, 2 OpenMP */
} cpu_blas;

enum { CPU_ORDER_ROWS = 101, CPU_NO_TRANSPOSE = 111, CPU_TRANSPOSE = 112 };

/* The libraries of this process: opened once, kept until it ends. */
typedef struct cpu_runtime {
    const cpu_kernels *kernels;
    cpu_blas blas;
    bool has_blas;
    char no_blas[LLMPERF_TEXT_MAX]; /* why there is none */
    llmperf_notes notes;            /* what was tried and chosen */
} cpu_runtime;

typedef struct cpu_runtime_options {
    const char *blas; /* path of the library; "" = look for it */
    int threads;
} cpu_runtime_options;

/* Errors: LLMPERF_E_UNSUPPORTED when the kernels cannot be opened. */
llmperf_status cpu_runtime_open(const cpu_host *host, const cpu_runtime_options *options,
                                const cpu_runtime **ret_runtime, llmperf_error *error);

#endif
