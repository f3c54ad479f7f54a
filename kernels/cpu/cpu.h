/* SPDX-License-Identifier: MIT */
/* Inside the CPU backend: facts of the machine, company on it, BLAS and OpenMP. */
#ifndef LLMPERF_CPU_CPU_H
#define LLMPERF_CPU_CPU_H

#include <sched.h>

#include "kernels.h"
#include "llmperf/backend.h"
#include "onednn_api.h"

/* ---- host.c: what this machine is ------------------------------------------------------------ */

enum { CPU_CORES_MAX = 1024 };
enum { CPU_CACHE_LEVELS = 4 }; /* data caches, L1 to L4 */

typedef struct cpu_host {
    char name[LLMPERF_NAME_MAX];
    int online;        /* logical processors of the machine */
    cpu_set_t allowed; /* affinity at start, before any runtime binds threads */
    int allowed_count;
    int cores;                         /* distinct physical cores among them */
    int core_cpu[CPU_CORES_MAX];       /* a processor of each */
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
    bool has_fma, has_avx512, is_virtual;
    bool has_bf16, has_int8; /* instructions for dot products of these */
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

/* ---- child.c: work in a child process ---------------------------------------------------------- */

double cpu_now_s(void); /* CLOCK_MONOTONIC */

/*
 * The least time of several runs:
 *   for (cpu_best b = cpu_best_begin(0.02); cpu_best_more(&b);) run();
 * The first run warms. Goes on for `seconds`, and longer while no run was undisturbed: a thread that
 * lost its core keeps all the others waiting, which would be read as a slow library.
 */
enum { CPU_BEST_SEEN = 64 };
typedef struct cpu_best {
    double seconds, begun_s, started_s, least_s;
    long switches; /* involuntary ones of all threads when the run started */
    int runs, clean;
    double seen[CPU_BEST_SEEN]; /* the latest times */
} cpu_best;

cpu_best cpu_best_begin(double seconds);
bool cpu_best_more(cpu_best *best);
/* The median of the latest runs: where the least is one that found its operands in a cache. */
double cpu_best_usual(const cpu_best *best);

enum { CPU_CHILD_LIMIT_S = 10 }; /* a child that takes longer is ended */

/*
 * Runs work(job) in a child process; what it leaves in the `size` bytes of `job` comes back. False:
 * it did not, `job` is as it was, and *ret_ended_by is the signal that ended the child, -1 when it
 * took too long. `scratch`: another `size` bytes.
 */
bool cpu_in_child(void (*work)(void *job), void *job, void *scratch, size_t size,
                  int *ret_ended_by);

/* ---- onednn.c: products by oneDNN ------------------------------------------------------------ */

/* Formats of what is multiplied. */
typedef enum cpu_type { CPU_FP32, CPU_BF16, CPU_INT8, CPU_TYPES } cpu_type;

enum { CPU_FEW_ROWS = 6 }; /* rows that oneDNN's kernels for AVX2 and AVX-512 keep in registers */

typedef struct cpu_dnn {
    dnn_api api;
    dnn_engine engine;
    dnn_stream stream;
    char version[32], isa[32]; /* "2.6.3", "avx512_core_bf16" */
    char path[256];
} cpu_dnn;

/* Opens the library, `given` or where it usually is; false, and why. Stays open. */
bool cpu_dnn_open(const char *given, cpu_dnn *ret_dnn, char *why, size_t size);

/* c (m, n) = a (m, k) times w (k, n), w packed. */
typedef struct cpu_product {
    const cpu_dnn *dnn; /* NULL = closed */
    cpu_type type;
    int64_t m, n, k;
    dnn_memory_desc from, weights, to;
    dnn_primitive primitive;
    size_t weight_bytes;       /* of one packed copy */
    char implementation[48];   /* "brg:avx512_core_bf16" */
    dnn_memory in, out, *held; /* of the buffers it is bound to */
    int64_t copies;
    const void *bound_in, *bound_out, *bound_weights;
    size_t bound_stride;
} cpu_product;

/* False: oneDNN has no product of this format here. */
bool cpu_product_open(const cpu_dnn *dnn, cpu_type type, int64_t m, int64_t n, int64_t k,
                      cpu_product *ret_product);
void cpu_product_close(cpu_product *product); /* a closed one is fine */
/* Buffers to work on: activations, result, `copies` of the packed weights `stride` bytes apart. */
bool cpu_product_bind(cpu_product *product, void *in, void *out, char *weights, size_t stride,
                      int64_t copies);
bool cpu_product_run(const cpu_product *product, int64_t copy);
/* plain (n, k) by rows into product->weight_bytes of packed weights */
bool cpu_product_pack(const cpu_product *product, void *plain, void *packed);

/* ---- libraries.c: the OpenMP kernels and OpenBLAS ------------------------------------------------- */

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

/* The kernels beside this module, OpenBLAS: NULL when there is none. Both stay open. */
void *cpu_kernels_open(const cpu_kernels **ret_kernels, char *why, size_t size);
void *cpu_blas_open(const char *given, cpu_blas *ret_blas, char *ret_path, size_t size);

/* ---- runtime.c: OpenBLAS, oneDNN and OpenMP, chosen by trial ----------------------------------------- */

/* The libraries of this process: opened once, kept until it ends. */
typedef struct cpu_runtime {
    const cpu_kernels *kernels;
    cpu_blas blas;
    bool has_blas;
    char no_blas[LLMPERF_TEXT_MAX]; /* why there is none */
    cpu_dnn dnn;
    bool has_dnn[CPU_TYPES];     /* products of this format that oneDNN computes right */
    char no_dnn[CPU_TYPES][128]; /* why it does not */
    bool pinned;                 /* threads are to be pinned to options->cpus */
    bool dnn_one_row, dnn_rows;  /* fp32: faster there than OpenBLAS */
    /* oneDNN's products of so few rows run as ones of this many, which take less time; [0] unused */
    int64_t dnn_rows_as[CPU_TYPES][CPU_FEW_ROWS + 1];
    llmperf_notes notes; /* what was tried and chosen */
} cpu_runtime;

typedef struct cpu_runtime_options {
    const char *blas;   /* path of the library; "" = look for it */
    const char *onednn; /* the same; "none" = do without */
    const char *fp32;   /* "openblas", "onednn", "mixed"; "" = what is faster */
    int threads;
    const int *cpus; /* a processor for each thread; NULL = do not pin them */
} cpu_runtime_options;

/* onednn_trial.c: opens oneDNN, compares its products with plain loops and with OpenBLAS in a child
 * process, and puts what is to be used into `r` and its notes. */
void cpu_dnn_choose(const cpu_host *host, const cpu_runtime_options *options, cpu_runtime *r);

/* Errors: LLMPERF_E_UNSUPPORTED when the kernels cannot be opened. */
llmperf_status cpu_runtime_open(const cpu_host *host, const cpu_runtime_options *options,
                                const cpu_runtime **ret_runtime, llmperf_error *error);

#endif
