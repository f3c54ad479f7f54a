/* SPDX-License-Identifier: MIT */
/*
 * The CPU as a device: streams, OpenBLAS products, attention, elementwise passes, whole steps.
 *
 * Options:
 *   threads   number of threads; default: usable cores = affinity and cgroup quota, rounded down
 *   cgroup    folder with quota files (cpu.max, or cpu.cfs_*) instead of the process's own groups
 *   blas      path of an OpenBLAS library
 *   share     most of the free memory that buffers may take; 0.6
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../options.h"
#include "cpu.h"

enum {
    ALIGN_FLOATS = 1024, /* a page: buffers of one arena do not share lines or pages */
    INNER_MOST = 1000000,
};

static const double SHORT_S = 50e-6, INNER_S = 100e-6; /* what is shorter runs many times inside */
static const double MACHINE_WINDOW_S = 0.15;
static const double COLD_CACHES = 2; /* operands rotate over this many last-level caches */

/* Memory that only grows. */
typedef struct arena {
    float *data;
    size_t floats; /* mapped */
} arena;

enum { ARENA_WEIGHTS, ARENA_KV, ARENA_IN, ARENA_OUT, ARENA_STREAM, ARENA_SCRATCH, ARENA_COUNT };

/* One operator ready to run. */
typedef struct job {
    llmperf_op op;
    cpu_attention attention;
    size_t weights_at, kv_at; /* offsets of its first copy, floats */
    size_t stride;            /* between copies */
    int64_t copies, turn;
} job;

typedef struct cpu_device {
    cpu_host host;
    cpu_company company;
    char cgroup[LLMPERF_PATH_MAX], blas[LLMPERF_PATH_MAX];
    double threads_asked, share;
    int threads;
    const cpu_runtime *runtime; /* NULL until the first probe */
    arena arena[ARENA_COUNT];
    cpu_moment window;     /* start of the stretch that /proc/stat judges next */
    unsigned window_flags; /* verdict of the last one */
    int judged, contended, throttled;
    char why[CPU_WHY_MAX]; /* of the last verdict that flagged */
    llmperf_probe last;    /* whose inner repetitions are known */
    int64_t last_inner;
    float sink; /* keeps results alive */
} cpu_device;

static const backend_option OPTIONS[] = {
    {"threads", BACKEND_OPTION_NUMBER, offsetof(cpu_device, threads_asked), 1, 4096},
    {"cgroup", BACKEND_OPTION_TEXT, offsetof(cpu_device, cgroup), 0, 0},
    {"blas", BACKEND_OPTION_TEXT, offsetof(cpu_device, blas), 0, 0},
    {"share", BACKEND_OPTION_NUMBER, offsetof(cpu_device, share), 1e-6, 1},
    {NULL, BACKEND_OPTION_NUMBER, 0, 0, 0},
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t aligned(double floats)
{
    size_t count = floats > 0 ? (size_t)ceil(floats) : 0;
    return (count + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
}

static double last_cache(const cpu_device *d)
{
    return d->host.last_cache_bytes > 0 ? d->host.last_cache_bytes : 32 * 1048576.0;
}

/* Makes an arena hold `floats`: numbers in [-1, 1], touched first by the threads that use them. */
static llmperf_status reserve(cpu_device *d, int which, double floats, llmperf_error *error)
{
    arena *a = &d->arena[which];
    double most = d->share * d->host.memory_free_bytes, others = 0;
    size_t wanted = aligned(floats);
    if (wanted <= a->floats)
        return LLMPERF_OK;
    for (int i = 0; i < ARENA_COUNT; i++)
        others += i == which ? 0 : (double)d->arena[i].floats * sizeof(float);
    if (most > 0 && floats * sizeof(float) + others > most)
        return llmperf_fail(error, LLMPERF_E_MEMORY,
                            "cpu: %.3g GB of buffers are needed; %.3g GB may be used (%.0f %% of "
                            "the free memory)",
                            (floats * sizeof(float) + others) / 1e9, most / 1e9, d->share * 100);
    if (a->data)
        munmap(a->data, a->floats * sizeof(float));
    *a = (arena){0};
    void *data = mmap(NULL, wanted * sizeof(float), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "cpu: no %.3g GB of memory to be had",
                            (double)wanted * sizeof(float) / 1e9);
    madvise(data, wanted * sizeof(float), MADV_HUGEPAGE); /* fewer TLB misses; may be refused */
    *a = (arena){.data = data, .floats = wanted};
    d->runtime->kernels->fill(a->data, wanted, (uint64_t)which + 1);
    return LLMPERF_OK;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static bool is_gemm(const llmperf_op *op)
{
    return op->kind == LLMPERF_KIND_GEMM;
}

static double weight_floats(const llmperf_op *op)
{
    return is_gemm(op) ? op->n * op->k : op->kind == LLMPERF_KIND_GATHER ? op->weight_bytes / 4 : 0;
}

static double kv_floats(const llmperf_op *op)
{
    if (op->kind != LLMPERF_KIND_ATTENTION)
        return 0;
    return op->sequences * (op->past_tokens + op->query_tokens) * op->kv_heads *
           (op->head_dim + op->value_dim);
}

/* Inputs of an elementwise pass, 1 to 3 as its bytes say. */
static int reads_of(const llmperf_op *op)
{
    double reads = op->output_bytes > 0 ? round(op->input_bytes / op->output_bytes) : 1;
    return reads < 1 ? 1 : reads > 3 ? 3 : (int)reads;
}

static double input_floats(const llmperf_op *op)
{
    if (is_gemm(op))
        return ceil(op->m) * op->k;
    if (op->kind == LLMPERF_KIND_ATTENTION)
        return op->sequences * op->query_tokens * op->heads * op->head_dim;
    if (op->kind == LLMPERF_KIND_ELEMENTWISE)
        return (double)reads_of(op) * (double)aligned(op->output_bytes / 4);
    return op->input_bytes / 4;
}

static double output_floats(const llmperf_op *op)
{
    if (is_gemm(op))
        return ceil(op->m) * op->n;
    if (op->kind == LLMPERF_KIND_ATTENTION)
        return op->sequences * op->query_tokens * op->heads * op->value_dim;
    return op->output_bytes / 4;
}

static job make_job(const llmperf_op *op)
{
    job j = {.op = *op, .copies = 1};
    if (op->kind == LLMPERF_KIND_ATTENTION)
        j.attention = (cpu_attention){.sequences = (int64_t)op->sequences,
                                      .query = (int64_t)op->query_tokens,
                                      .past = (int64_t)op->past_tokens,
                                      .heads = (int64_t)op->heads,
                                      .kv_heads = (int64_t)op->kv_heads,
                                      .head_dim = (int64_t)op->head_dim,
                                      .value_dim = (int64_t)op->value_dim};
    j.stride = aligned(fmax(weight_floats(op), kv_floats(op)));
    return j;
}

/* Buffers of activations and scratch that an operator needs. */
static llmperf_status reserve_activations(cpu_device *d, const job *j, llmperf_error *error)
{
    llmperf_status status = reserve(d, ARENA_IN, input_floats(&j->op), error);
    if (status == LLMPERF_OK)
        status = reserve(d, ARENA_OUT, output_floats(&j->op), error);
    if (status == LLMPERF_OK && j->op.kind == LLMPERF_KIND_ATTENTION)
        status = reserve(d, ARENA_SCRATCH,
                         (double)d->runtime->kernels->attention_scratch(&j->attention, d->threads),
                         error);
    return status;
}

static void run_gemm(cpu_device *d, const job *j, const float *weights)
{
    const cpu_blas *blas = &d->runtime->blas;
    int m = (int)ceil(j->op.m), n = (int)j->op.n, k = (int)j->op.k;
    const float *in = d->arena[ARENA_IN].data;
    float *out = d->arena[ARENA_OUT].data;
    /* a product of one row packs its weights anew each time: twice as slow */
    if (m == 1)
        blas->sgemv(CPU_ORDER_ROWS, CPU_NO_TRANSPOSE, n, k, 1, weights, k, in, 1, 0, out, 1);
    else
        blas->sgemm(CPU_ORDER_ROWS, CPU_NO_TRANSPOSE, CPU_TRANSPOSE, m, n, k, 1, in, k, weights, k,
                    0, out, n);
}

static void run_elementwise(cpu_device *d, const job *j, size_t shift)
{
    size_t count = (size_t)(j->op.output_bytes / 4), apart = aligned((double)count);
    const float *in[3];
    float *out = d->arena[ARENA_OUT].data, *from = d->arena[ARENA_IN].data;
    if (j->stride > 0) { /* a copy of its own: result first */
        out = d->arena[ARENA_KV].data + shift;
        from = out + apart;
    }
    for (int i = 0; i < 3; i++)
        in[i] = from + (size_t)i * apart;
    d->runtime->kernels->elementwise(out, in, reads_of(&j->op), count);
}

/* One launch. Each runs on the next copy of its weights or cache. */
static void run_job(cpu_device *d, job *j)
{
    size_t shift = (size_t)j->turn * j->stride;
    j->turn = j->turn + 1 < j->copies ? j->turn + 1 : 0;
    const cpu_kernels *kernels = d->runtime->kernels;
    if (is_gemm(&j->op)) {
        run_gemm(d, j, d->arena[ARENA_WEIGHTS].data + j->weights_at + shift);
    } else if (j->op.kind == LLMPERF_KIND_ATTENTION) {
        const cpu_attention *a = &j->attention;
        const float *k = d->arena[ARENA_KV].data + j->kv_at + shift;
        const float *v = k + a->sequences * (a->past + a->query) * a->kv_heads * a->head_dim;
        kernels->attention(a, d->threads, d->arena[ARENA_IN].data, k, v, d->arena[ARENA_OUT].data,
                           d->arena[ARENA_SCRATCH].data);
    } else if (j->op.kind == LLMPERF_KIND_GATHER) {
        size_t count = (size_t)(j->op.output_bytes / 4);
        size_t width = count < ALIGN_FLOATS ? count : ALIGN_FLOATS;
        size_t rows = width > 0 ? count / width : 0;
        size_t table = width > 0 ? d->arena[ARENA_WEIGHTS].floats / width : 0;
        kernels->gather(d->arena[ARENA_OUT].data, d->arena[ARENA_WEIGHTS].data, rows, width,
                        table > 0 ? table : 1, (uint64_t)j->turn);
    } else {
        run_elementwise(d, j, shift);
    }
}

/* ---- what can run ---------------------------------------------------------------------------- */

static llmperf_status start_runtime(cpu_device *d, llmperf_error *error)
{
    const cpu_runtime_options options = {.blas = d->blas, .threads = d->threads};
    if (d->runtime)
        return LLMPERF_OK;
    return cpu_runtime_open(&d->host, &options, &d->runtime, error);
}

static bool refuse(llmperf_error *error, const char *format, const char *what)
{
    llmperf_fail(error, LLMPERF_E_UNSUPPORTED, format, what);
    return false;
}

static bool supports_op(cpu_device *d, const llmperf_op *op, llmperf_error *error)
{
    const char *dtype = llmperf_dtype_name((llmperf_dtype)op->dtype);
    if (op->kind == LLMPERF_KIND_SCAN || op->kind == LLMPERF_KIND_COLLECTIVE)
        return refuse(error, "backend cpu has no kernel for a %s",
                      llmperf_kind_name((llmperf_op_kind)op->kind));
    if (op->dtype != LLMPERF_DTYPE_FP32 && op->dtype != LLMPERF_DTYPE_NONE)
        return refuse(error,
                      "backend cpu computes in fp32 alone: OpenBLAS has no %s product, and this "
                      "build has no oneDNN",
                      dtype);
    if (is_gemm(op)) {
        if (!d->runtime->has_blas)
            return refuse(error, "backend cpu: %s", d->runtime->no_blas);
        if (!(op->m >= 1 && op->n >= 1 && op->k >= 1 && op->m < 1e9 && op->n < 1e9 && op->k < 1e9))
            return refuse(error, "backend cpu: a %s of this shape is not possible", "gemm");
    }
    if (op->kind == LLMPERF_KIND_ATTENTION &&
        !(op->sequences >= 1 && op->query_tokens >= 1 && op->kv_heads >= 1 &&
          op->heads >= op->kv_heads && op->head_dim >= 1 && op->value_dim >= 1 &&
          fmod(op->heads, op->kv_heads) == 0))
        return refuse(error, "backend cpu: this %s is not a fused one of whole KV groups",
                      "attention");
    return true;
}

static bool cpu_supports(void *handle, const llmperf_probe *probe, llmperf_error *error)
{
    cpu_device *d = handle;
    static const unsigned KNOWN = 1U << LLMPERF_PROBE_OP | 1U << LLMPERF_PROBE_READ |
                                  1U << LLMPERF_PROBE_COPY | 1U << LLMPERF_PROBE_TRIAD |
                                  1U << LLMPERF_PROBE_LAUNCH | 1U << LLMPERF_PROBE_FORWARD;
    if (probe->kind >= LLMPERF_PROBE_COUNT || !(KNOWN >> probe->kind & 1) || probe->best ||
        probe->eager)
        return refuse(error, "backend cpu does not measure %s", "this");
    if (start_runtime(d, error) != LLMPERF_OK)
        return false;
    if (probe->kind == LLMPERF_PROBE_OP)
        return supports_op(d, &probe->op, error);
    for (int i = 0; probe->kind == LLMPERF_PROBE_FORWARD && i < probe->op_count; i++)
        if (!supports_op(d, &probe->ops[i], error))
            return false;
    return true;
}

/* ---- a probe ready to run -------------------------------------------------------------------- */

/* A probe with its buffers; run_once() is what is timed. */
typedef struct plan {
    const llmperf_probe *probe;
    job one;
    job *jobs;      /* PROBE_FORWARD: one for each row of `ops` */
    int64_t *runs;  /* how often each has run in this step */
    int64_t layers; /* largest repeat */
    size_t floats;  /* of a stream's buffer */
} plan;

static void run_forward(cpu_device *d, plan *p)
{
    const llmperf_op *ops = p->probe->ops;
    int count = p->probe->op_count, first = 0;
    while (first < count && ops[first].repeat <= 1)
        first++;
    for (int i = 0; i < count; i++) {
        p->jobs[i].turn = 0;
        p->runs[i] = 0;
    }
    for (int i = 0; i < first; i++) /* opens the step: the embedding */
        run_job(d, &p->jobs[i]);
    for (int64_t layer = 1; layer <= p->layers; layer++)
        for (int i = first; i < count; i++) {
            if (ops[i].repeat <= 1)
                continue;
            int64_t due = (int64_t)floor(ops[i].repeat * (double)layer / (double)p->layers + 1e-9);
            for (; p->runs[i] < due; p->runs[i]++)
                run_job(d, &p->jobs[i]);
        }
    for (int i = first; i < count; i++) /* closes it: the head */
        if (ops[i].repeat <= 1)
            run_job(d, &p->jobs[i]);
}

static void run_once(cpu_device *d, plan *p)
{
    const cpu_kernels *kernels = d->runtime->kernels;
    float *a = d->arena[ARENA_STREAM].data;
    switch (p->probe->kind) {
    case LLMPERF_PROBE_OP:
        run_job(d, &p->one);
        break;
    case LLMPERF_PROBE_READ:
        d->sink += kernels->read(a, p->floats);
        break;
    case LLMPERF_PROBE_COPY:
        kernels->copy(a + aligned((double)p->floats), a, p->floats);
        break;
    case LLMPERF_PROBE_TRIAD:
        kernels->triad(a + 2 * aligned((double)p->floats), a, a + aligned((double)p->floats),
                       p->floats);
        break;
    case LLMPERF_PROBE_LAUNCH:
        kernels->launch();
        break;
    case LLMPERF_PROBE_FORWARD:
        run_forward(d, p);
        break;
    default: /* not supported */
        break;
    }
}

/* Weights and KV cache of one operator: so many copies in turn that no cache keeps them. */
static llmperf_status prepare_op(cpu_device *d, plan *p, llmperf_error *error)
{
    job *j = &p->one;
    *j = make_job(&p->probe->op);
    if (j->op.kind == LLMPERF_KIND_ELEMENTWISE && p->probe->cold)
        j->stride = aligned(output_floats(&j->op)) + aligned(input_floats(&j->op));
    if (j->stride > 0 && p->probe->cold)
        j->copies = (int64_t)ceil(COLD_CACHES * last_cache(d) / ((double)j->stride * 4)) + 1;
    bool has_weights = is_gemm(&j->op) || j->op.kind == LLMPERF_KIND_GATHER;
    int which = has_weights ? ARENA_WEIGHTS : ARENA_KV;
    llmperf_status status = LLMPERF_OK;
    if (j->stride > 0)
        status = reserve(d, which, (double)j->stride * (double)j->copies, error);
    return status == LLMPERF_OK ? reserve_activations(d, j, error) : status;
}

/* Copies of everything for every layer if they fit, else as many as do. */
static llmperf_status prepare_forward(cpu_device *d, plan *p, llmperf_error *error)
{
    const llmperf_op *ops = p->probe->ops;
    int count = p->probe->op_count;
    double total = 0, most = d->share * d->host.memory_free_bytes / 4 * 0.9, one_layer = 0;
    p->jobs = calloc((size_t)count + 1, sizeof *p->jobs);
    p->runs = calloc((size_t)count + 1, sizeof *p->runs);
    if (!p->jobs || !p->runs)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    p->layers = 1;
    for (int i = 0; i < count; i++) {
        p->jobs[i] = make_job(&ops[i]);
        one_layer += (double)p->jobs[i].stride;
        total += (double)p->jobs[i].stride * fmax(1, ops[i].repeat);
        if (ops[i].repeat > (double)p->layers)
            p->layers = (int64_t)ceil(ops[i].repeat);
    }
    double held = 1; /* share of the layers that have their own */
    if (most > 0 && total > most)
        held = fmax(0, (most - one_layer) / total);
    double at[2] = {0, 0};
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; i < count; i++) {
        job *j = &p->jobs[i];
        bool is_cache = j->op.kind == LLMPERF_KIND_ATTENTION;
        j->copies = (int64_t)fmax(1, floor(ops[i].repeat * held));
        j->weights_at = (size_t)at[0];
        j->kv_at = (size_t)at[1];
        at[is_cache] += (double)j->stride * (double)j->copies;
        status = status == LLMPERF_OK ? reserve_activations(d, j, error) : status;
    }
    if (status == LLMPERF_OK)
        status = reserve(d, ARENA_WEIGHTS, at[0], error);
    return status == LLMPERF_OK ? reserve(d, ARENA_KV, at[1], error) : status;
}

static llmperf_status prepare(cpu_device *d, plan *p, llmperf_error *error)
{
    double buffers = 1;
    switch (p->probe->kind) {
    case LLMPERF_PROBE_OP:
        return prepare_op(d, p, error);
    case LLMPERF_PROBE_FORWARD:
        return prepare_forward(d, p, error);
    case LLMPERF_PROBE_TRIAD:
        buffers = 3;
        break;
    case LLMPERF_PROBE_COPY:
        buffers = 2;
        break;
    case LLMPERF_PROBE_READ:
        break;
    case LLMPERF_PROBE_LAUNCH:
        return LLMPERF_OK;
    default:
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend cpu: unknown probe");
    }
    p->floats = (size_t)(p->probe->bytes / 4);
    if (p->floats == 0)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend cpu: a stream of no bytes");
    return reserve(d, ARENA_STREAM, buffers * (double)aligned((double)p->floats), error);
}

/* ---- timing ---------------------------------------------------------------------------------- */

/* Runs of a probe inside one timed repetition. */
static int64_t inner_of(cpu_device *d, plan *p)
{
    bool known = d->last_inner > 0 && memcmp(&d->last, p->probe, sizeof d->last) == 0;
    if (known || p->probe->kind == LLMPERF_PROBE_FORWARD)
        return known ? d->last_inner : 1;
    double begun = now_s(), one = 0;
    int64_t runs = 0;
    do { /* the first may be cold in every respect: up to three, the last counts */
        double start = now_s();
        run_once(d, p);
        one = now_s() - start;
        runs++;
    } while (runs < 3 && now_s() - begun < 1e-3);
    double inner = one < SHORT_S ? ceil(INNER_S / fmax(one, 20e-9)) : 1;
    d->last = *p->probe;
    d->last_inner = inner < INNER_MOST ? (int64_t)inner : INNER_MOST;
    return d->last_inner;
}

/* Counts a verdict and remembers its reason. */
static void remember(cpu_device *d, unsigned flags, const char *why)
{
    d->judged++;
    d->contended += (flags & LLMPERF_SAMPLE_CONTENDED) != 0;
    d->throttled += (flags & LLMPERF_SAMPLE_THROTTLED) != 0;
    if (flags)
        snprintf(d->why, sizeof d->why, "%s", why);
}

static unsigned judge(cpu_device *d, const cpu_moment *from, const cpu_moment *to)
{
    char why[CPU_WHY_MAX];
    unsigned flags = cpu_company_threads(from, to, d->threads, why);
    remember(d, flags, why);
    if (to->wall_s - d->window.wall_s >= MACHINE_WINDOW_S) {
        d->window_flags = cpu_company_machine(&d->company, &d->window, to, d->threads, why);
        d->window = *to;
        remember(d, d->window_flags, why);
    }
    flags |= d->window_flags;
    if (d->threads > d->host.usable) /* more threads than cores: they are their own company */
        flags |= LLMPERF_SAMPLE_CONTENDED;
    return flags;
}

static bool fits_cache(const cpu_device *d, const llmperf_probe *probe)
{
    if (probe->cold || probe->kind == LLMPERF_PROBE_LAUNCH)
        return false;
    return probe->kind != LLMPERF_PROBE_OP ? probe->bytes <= last_cache(d)
                                           : probe->op.bytes <= last_cache(d);
}

static llmperf_status cpu_time_op(void *handle, const llmperf_probe *probe, int count,
                                  double *seconds, unsigned *ret_flags, llmperf_error *error)
{
    cpu_device *d = handle;
    plan p = {.probe = probe};
    if (!cpu_supports(d, probe, error))
        return LLMPERF_E_UNSUPPORTED;
    llmperf_status status = prepare(d, &p, error);
    if (status == LLMPERF_OK) {
        int64_t inner = inner_of(d, &p);
        cpu_moment from = cpu_company_now(&d->company);
        for (int i = 0; i < count; i++) {
            double start = now_s();
            for (int64_t r = 0; r < inner; r++)
                run_once(d, &p);
            seconds[i] = (now_s() - start) / (double)inner;
        }
        cpu_moment to = cpu_company_now(&d->company);
        *ret_flags = judge(d, &from, &to) | (fits_cache(d, probe) ? LLMPERF_SAMPLE_CACHED : 0);
    }
    free(p.jobs);
    free(p.runs);
    return status;
}

/* ---- opening and describing ------------------------------------------------------------------ */

static void cpu_close(void *handle)
{
    cpu_device *d = handle;
    if (!d)
        return;
    for (int i = 0; i < ARENA_COUNT; i++)
        if (d->arena[i].data)
            munmap(d->arena[i].data, d->arena[i].floats * sizeof(float));
    free(d);
}

static llmperf_status cpu_open(int index, const char *options, void **ret_handle,
                               llmperf_error *error)
{
    if (index != 0)
        return llmperf_fail(error, LLMPERF_E_USAGE, "backend cpu has one device, 0; found %d",
                            index);
    cpu_device *d = calloc(1, sizeof *d);
    if (!d)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    d->share = 0.6;
    llmperf_status status = backend_options_parse("cpu", OPTIONS, options, d, error);
    if (status != LLMPERF_OK) {
        cpu_close(d);
        return status;
    }
    cpu_host_read(d->cgroup, &d->host);
    d->threads = d->threads_asked > 0 ? (int)d->threads_asked : d->host.usable;
    cpu_company_init(&d->company, &d->host);
    d->window = cpu_company_now(&d->company);
    *ret_handle = d;
    return LLMPERF_OK;
}

static void put_number(llmperf_device *device, const char *key, double number)
{
    llmperf_state_item *item = &device->state[device->state_count];
    if (device->state_count == LLMPERF_STATE_MAX)
        return;
    device->state_count++;
    snprintf(item->key, sizeof item->key, "%s", key);
    item->number = number;
}

static void put_text(llmperf_device *device, const char *key, const char *text)
{
    if (!text[0] || device->state_count == LLMPERF_STATE_MAX)
        return;
    snprintf(device->state[device->state_count].text, LLMPERF_NAME_MAX, "%s", text);
    put_number(device, key, 0);
}

static void note_cores(const cpu_device *d, llmperf_notes *notes)
{
    const cpu_host *h = &d->host;
    if (h->allowed_count < h->online)
        llmperf_note(notes, "affinity allows %d of %d processors", h->allowed_count, h->online);
    if (h->cores < h->allowed_count)
        llmperf_note(notes,
                     "%d processors are %d cores with several threads each; one thread a core "
                     "is used",
                     h->allowed_count, h->cores);
    if (h->quota_cores > 0)
        llmperf_note(notes, "the cgroup's quota is %.4g cores (%s); %d used", h->quota_cores,
                     h->quota_file, h->usable);
    if (d->threads > h->usable)
        llmperf_note(notes,
                     "%d threads on %d usable core%s: oversubscribed as asked, every sample is "
                     "flagged contended",
                     d->threads, h->usable, h->usable == 1 ? "" : "s");
    if (h->is_virtual)
        llmperf_note(notes, "a virtual machine: the cache it advertises may be shared with others; "
                            "trust the measured plateau");
}

static llmperf_status cpu_describe(void *handle, llmperf_device *ret_device, llmperf_error *error)
{
    static const char *const CACHE_KEYS[CPU_CACHE_LEVELS] = {"l1_bytes", "l2_bytes", "l3_bytes",
                                                             "l4_bytes"};
    cpu_device *d = handle;
    const cpu_host *h = &d->host;
    llmperf_device device = {0};
    (void)error;
    snprintf(device.backend, sizeof device.backend, "cpu");
    snprintf(device.kind, sizeof device.kind, "cpu");
    snprintf(device.name, sizeof device.name, "%s", h->name);
    device.units = d->threads;
    device.memory_bytes = h->memory_bytes;
    device.memory_free_bytes = h->memory_free_bytes;
    device.cache_bytes = h->last_cache_bytes;
    device.clock_hz = h->clock_hz;
    put_number(&device, "usable_cores", h->usable);
    put_number(&device, "threads", d->threads);
    put_number(&device, "online", h->online);
    put_number(&device, "allowed", h->allowed_count);
    if (h->quota_cores > 0)
        put_number(&device, "quota_cores", h->quota_cores);
    for (int i = 0; i < CPU_CACHE_LEVELS; i++)
        if (h->cache_bytes[i] > 0)
            put_number(&device, CACHE_KEYS[i], h->cache_bytes[i]);
    put_number(&device, "memory_free_bytes", h->memory_free_bytes);
    put_number(&device, "load", h->load);
    put_text(&device, "governor", h->governor);
    note_cores(d, &device.notes);
    if (h->governor[0] && strcmp(h->governor, "performance") != 0)
        llmperf_note(&device.notes,
                     "governor '%s': clocks change with load; 'performance' measures "
                     "steadier",
                     h->governor);
    if (h->load > 0.1 * h->online)
        llmperf_note(&device.notes, "load %.2f: something else is running here", h->load);
    if (d->runtime) {
        const cpu_runtime *r = d->runtime;
        if (r->has_blas) {
            snprintf(device.library, sizeof device.library, "OpenBLAS %s", r->blas.core);
            snprintf(device.version, sizeof device.version, "%s", r->blas.version);
        } else {
            llmperf_note(&device.notes, "%s", r->no_blas);
        }
        for (int i = 0; i < r->notes.count; i++)
            llmperf_note(&device.notes, "%s", r->notes.text[i]);
        llmperf_note(&device.notes, "own kernels: OpenMP, inner loops compiled %s",
                     r->kernels->vector);
    }
    if (d->contended > 0 || d->throttled > 0)
        llmperf_note(&device.notes,
                     "%d of %d judged stretches contended, %d throttled; the last: %s",
                     d->contended, d->judged, d->throttled, d->why);
    *ret_device = device;
    return LLMPERF_OK;
}

__attribute__((visibility("default"))) const llmperf_backend *llmperf_backend_table(void);

const llmperf_backend *llmperf_backend_table(void)
{
    static const llmperf_backend table = {
        .abi = LLMPERF_BACKEND_ABI,
        .name = "cpu",
        .open = cpu_open,
        .describe = cpu_describe,
        .supports = cpu_supports,
        .time_op = cpu_time_op,
        .close = cpu_close,
    };
    return &table;
}
