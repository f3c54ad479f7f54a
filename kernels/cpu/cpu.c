/* SPDX-License-Identifier: MIT */
/*
 * The CPU as a device: streams, products by OpenBLAS and oneDNN, attention, elementwise passes,
 * whole steps.
 *
 * Options:
 *   threads   number of threads; default: usable cores = affinity and cgroup quota, rounded down
 *   cgroup    folder with quota files (cpu.max, or cpu.cfs_*) instead of the process's own groups
 *   blas      path of an OpenBLAS library
 *   onednn    path of a oneDNN library; none = do without
 *   fp32      whose fp32 products: openblas, onednn, mixed (one row by OpenBLAS, more by oneDNN);
 *             default: what is faster
 *   share     most of the free memory that buffers may take; 0.6
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../options.h"
#include "cpu.h"

enum {
    PAGE = 4096,       /* buffers of one arena do not share lines or pages */
    ROW_FLOATS = 1024, /* of a gather */
    INNER_MOST = 1000000,
};

static const double SHORT_S = 50e-6, INNER_S = 100e-6; /* what is shorter runs many times inside */
static const double MACHINE_WINDOW_S = 0.15;
/* Operands rotate over this many last-level caches. Two are not enough: a cache that does not replace
 * the oldest line keeps a share of them (int8 weights then came at 89 GB/s from a memory of 60). */
static const double COLD_CACHES = 8, COLD_LEAST_CACHES = 2, COLD_MOST_BYTES = 1 << 30;

/* Memory that only grows, until others need it. */
typedef struct arena {
    char *data;
    size_t bytes; /* mapped */
    int64_t plan; /* the last one that asked for it */
} arena;

/* Weights, KV caches and inputs by the format that they hold: + cpu_type. */
enum {
    ARENA_WEIGHTS,
    ARENA_KV = ARENA_WEIGHTS + CPU_TYPES,
    ARENA_IN = ARENA_KV + CPU_TYPES,
    ARENA_OUT = ARENA_IN + CPU_TYPES,
    ARENA_STREAM,
    ARENA_SCRATCH,
    ARENA_COUNT,
};

enum { PRODUCTS = 64 }; /* of oneDNN, kept: making one takes a millisecond */

typedef struct kept_product {
    cpu_product product;
    int64_t plan; /* that uses it */
} kept_product;

/* One operator ready to run. */
typedef struct job {
    llmperf_op op;
    cpu_attention attention;
    cpu_type type;        /* of a product's operands, of the KV cache */
    cpu_product *product; /* by oneDNN; NULL = OpenBLAS, or no product */
    int home;             /* arena of its weights or cache */
    size_t at;            /* offset of its first copy there, bytes */
    size_t stride;        /* between copies */
    int64_t copies, turn;
} job;

typedef struct cpu_device {
    cpu_host host;
    cpu_company company;
    char cgroup[LLMPERF_PATH_MAX], blas[LLMPERF_PATH_MAX], onednn[LLMPERF_PATH_MAX];
    char fp32[LLMPERF_PATH_MAX];
    double threads_asked, share;
    int threads;
    const cpu_runtime *runtime; /* NULL until the first probe */
    arena arena[ARENA_COUNT];
    kept_product *kept;    /* PRODUCTS of them */
    int64_t plan;          /* number of the one that is prepared or runs */
    bool failed;           /* a library refused to run what it had accepted */
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
    {"onednn", BACKEND_OPTION_TEXT, offsetof(cpu_device, onednn), 0, 0},
    {"fp32", BACKEND_OPTION_TEXT, offsetof(cpu_device, fp32), 0, 0},
    {"share", BACKEND_OPTION_NUMBER, offsetof(cpu_device, share), 1e-6, 1},
    {NULL, BACKEND_OPTION_NUMBER, 0, 0, 0},
};

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t aligned(double bytes)
{
    size_t count = bytes > 0 ? (size_t)ceil(bytes) : 0;
    return (count + PAGE - 1) / PAGE * PAGE;
}

static double last_cache(const cpu_device *d)
{
    return d->host.last_cache_bytes > 0 ? d->host.last_cache_bytes : 32 * 1048576.0;
}

static void release(arena *a)
{
    if (a->data)
        munmap(a->data, a->bytes);
    *a = (arena){0};
}

/* Numbers in [-1, 1], int8 in [-127, 127]; touched first by the threads that use them. */
static void fill_arena(cpu_device *d, int which)
{
    const cpu_kernels *kernels = d->runtime->kernels;
    arena *a = &d->arena[which];
    uint64_t seed = (uint64_t)which + 1;
    int type = which < ARENA_OUT ? which % CPU_TYPES : CPU_FP32;
    if (type == CPU_BF16)
        kernels->fill_bf16((uint16_t *)(void *)a->data, a->bytes / 2, seed);
    else if (type == CPU_INT8)
        kernels->fill_int8((int8_t *)a->data, a->bytes, seed);
    else
        kernels->fill((float *)(void *)a->data, a->bytes / sizeof(float), seed);
}

/* Bytes that all arenas but one hold. With `idle`, those that this plan does not use go first. */
static double held_by_others(cpu_device *d, int which, bool drop_idle)
{
    double others = 0;
    for (int i = 0; i < ARENA_COUNT; i++) {
        if (i == which)
            continue;
        if (drop_idle && d->arena[i].plan != d->plan)
            release(&d->arena[i]);
        others += (double)d->arena[i].bytes;
    }
    return others;
}

/* Bytes that operands rotate over so that they come from memory. */
static double cold_bytes(const cpu_device *d)
{
    double cache = last_cache(d);
    return fmax(COLD_LEAST_CACHES * cache, fmin(COLD_CACHES * cache, COLD_MOST_BYTES));
}

/* Makes an arena hold so many bytes. */
static llmperf_status reserve(cpu_device *d, int which, double bytes, llmperf_error *error)
{
    arena *a = &d->arena[which];
    double most = d->share * d->host.memory_free_bytes, others = held_by_others(d, which, false);
    size_t wanted = aligned(bytes);
    if (wanted > 0)
        a->plan = d->plan;
    if (wanted <= a->bytes)
        return LLMPERF_OK;
    if (most > 0 && bytes + others > most)
        others = held_by_others(d, which, true);
    if (most > 0 && bytes + others > most)
        return llmperf_fail(error, LLMPERF_E_MEMORY,
                            "cpu: %.3g GB of buffers are needed; %.3g GB may be used (%.0f %% of "
                            "the free memory)",
                            (bytes + others) / 1e9, most / 1e9, d->share * 100);
    release(a);
    void *data = mmap(NULL, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "cpu: no %.3g GB of memory to be had",
                            (double)wanted / 1e9);
    madvise(data, wanted, MADV_HUGEPAGE); /* fewer TLB misses; may be refused */
    *a = (arena){.data = data, .bytes = wanted, .plan = d->plan};
    fill_arena(d, which);
    return LLMPERF_OK;
}

static float *floats_of(const cpu_device *d, int which)
{
    return (float *)(void *)d->arena[which].data;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static bool is_gemm(const llmperf_op *op)
{
    return op->kind == LLMPERF_KIND_GEMM;
}

static const double TYPE_BYTES[CPU_TYPES] = {[CPU_FP32] = 4, [CPU_BF16] = 2, [CPU_INT8] = 1};
static const double SUM_BYTES[CPU_TYPES] = {[CPU_FP32] = 4, [CPU_BF16] = 2, [CPU_INT8] = 4};

/* The format of a product's arithmetic; false: there is none of this dtype. */
static bool type_of(uint8_t dtype, cpu_type *ret_type)
{
    *ret_type = dtype == LLMPERF_DTYPE_BF16   ? CPU_BF16
                : dtype == LLMPERF_DTYPE_INT8 ? CPU_INT8
                                              : CPU_FP32;
    return *ret_type != CPU_FP32 || dtype == LLMPERF_DTYPE_FP32 || dtype == LLMPERF_DTYPE_NONE;
}

/* Keys and values of all attended tokens, elements. */
static double kv_elements(const llmperf_op *op)
{
    return op->sequences * (op->past_tokens + op->query_tokens) * op->kv_heads *
           (op->head_dim + op->value_dim);
}

/* Bits of an element of the KV cache, by what its new tokens write; 0 = not told. */
static double kv_bits(const llmperf_op *op)
{
    double written =
        op->sequences * op->query_tokens * op->kv_heads * (op->head_dim + op->value_dim);
    return written > 0 && op->kv_write_bytes > 0 ? 8 * op->kv_write_bytes / written : 0;
}

/* Inputs of an elementwise pass, 1 to 3 as its bytes say. */
static int reads_of(const llmperf_op *op)
{
    double reads = op->output_bytes > 0 ? round(op->input_bytes / op->output_bytes) : 1;
    return reads < 1 ? 1 : reads > 3 ? 3 : (int)reads;
}

/* Rows of the buffers of a product. */
static double rows_of(const job *j)
{
    return j->product ? (double)j->product->m : ceil(j->op.m);
}

/* Bytes of the buffers of activations; attention computes in fp32. */
static double bytes_in(const job *j)
{
    const llmperf_op *op = &j->op;
    if (is_gemm(op))
        return rows_of(j) * op->k * TYPE_BYTES[j->type];
    if (op->kind == LLMPERF_KIND_ATTENTION)
        return op->sequences * op->query_tokens * op->heads * op->head_dim * sizeof(float);
    if (op->kind == LLMPERF_KIND_ELEMENTWISE)
        return (double)reads_of(op) * (double)aligned(op->output_bytes);
    return op->input_bytes;
}

static double bytes_out(const job *j)
{
    const llmperf_op *op = &j->op;
    if (is_gemm(op))
        return rows_of(j) * op->n * SUM_BYTES[j->type];
    if (op->kind == LLMPERF_KIND_ATTENTION)
        return op->sequences * op->query_tokens * op->heads * op->value_dim * sizeof(float);
    return op->output_bytes;
}

/* Is this product one for oneDNN? */
static bool is_for_dnn(const cpu_device *d, cpu_type type, double m)
{
    const cpu_runtime *r = d->runtime;
    if (type != CPU_FP32 || !r->has_blas)
        return true;
    return r->has_dnn[CPU_FP32] && (ceil(m) <= 1 ? r->dnn_one_row : r->dnn_rows);
}

/* A product of this shape that the plan does not use yet, kept from before or new. Few rows run as
 * more of them where that is faster: what is computed beside them is not looked at. */
static cpu_product *product_for(cpu_device *d, cpu_type type, const llmperf_op *op)
{
    int64_t m = (int64_t)ceil(op->m), n = (int64_t)op->n, k = (int64_t)op->k;
    if (m <= CPU_FEW_ROWS)
        m = d->runtime->dnn_rows_as[type][m];
    kept_product *slot = NULL;
    if (!d->kept)
        d->kept = calloc(PRODUCTS, sizeof *d->kept);
    for (int i = 0; d->kept && i < PRODUCTS; i++) {
        kept_product *one = &d->kept[i];
        if (one->plan == d->plan)
            continue;
        if (one->product.dnn && one->product.type == type && one->product.m == m &&
            one->product.n == n && one->product.k == k) {
            one->plan = d->plan;
            return &one->product;
        }
        if (!slot || one->plan < slot->plan) /* the one that was not asked for the longest */
            slot = one;
    }
    if (!slot)
        return NULL;
    cpu_product_close(&slot->product);
    slot->plan = d->plan;
    return cpu_product_open(&d->runtime->dnn, type, m, n, k, &slot->product) ? &slot->product
                                                                             : NULL;
}

/* Fills in how an operator runs; its place in memory comes later. */
static llmperf_status make_job(cpu_device *d, const llmperf_op *op, job *j, llmperf_error *error)
{
    *j = (job){.op = *op, .copies = 1, .home = ARENA_WEIGHTS};
    if (is_gemm(op)) {
        type_of(op->dtype, &j->type);
        j->home = ARENA_WEIGHTS + (int)j->type;
        j->stride = aligned(op->n * op->k * TYPE_BYTES[j->type]);
        if (!is_for_dnn(d, j->type, op->m))
            return LLMPERF_OK;
        j->product = product_for(d, j->type, op);
        if (!j->product)
            return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                                "backend cpu: oneDNN takes no product m=%.0f n=%.0f k=%.0f of %s",
                                op->m, op->n, op->k, llmperf_dtype_name((llmperf_dtype)op->dtype));
        j->stride = aligned((double)j->product->weight_bytes);
    } else if (op->kind == LLMPERF_KIND_ATTENTION) {
        bool kv_bf16 = kv_bits(op) == 16;
        j->attention = (cpu_attention){.sequences = (int64_t)op->sequences,
                                       .query = (int64_t)op->query_tokens,
                                       .past = (int64_t)op->past_tokens,
                                       .heads = (int64_t)op->heads,
                                       .kv_heads = (int64_t)op->kv_heads,
                                       .head_dim = (int64_t)op->head_dim,
                                       .value_dim = (int64_t)op->value_dim,
                                       .kv_bf16 = kv_bf16};
        j->type = kv_bf16 ? CPU_BF16 : CPU_FP32;
        j->home = ARENA_KV + (int)j->type;
        j->stride = aligned(kv_elements(op) * TYPE_BYTES[j->type]);
    } else if (op->kind == LLMPERF_KIND_GATHER) {
        j->stride = aligned(op->weight_bytes);
    }
    return LLMPERF_OK;
}

/* Buffers of activations and scratch that an operator needs. */
static llmperf_status reserve_activations(cpu_device *d, const job *j, llmperf_error *error)
{
    int input = is_gemm(&j->op) ? ARENA_IN + (int)j->type : ARENA_IN;
    llmperf_status status = reserve(d, input, bytes_in(j), error);
    if (status == LLMPERF_OK)
        status = reserve(d, ARENA_OUT, bytes_out(j), error);
    if (status == LLMPERF_OK && j->op.kind == LLMPERF_KIND_ATTENTION)
        status = reserve(d, ARENA_SCRATCH,
                         sizeof(float) * (double)d->runtime->kernels->attention_scratch(
                                             &j->attention, d->threads),
                         error);
    return status;
}

/* Tells oneDNN where the buffers are, once they are where they stay. */
static llmperf_status bind_job(cpu_device *d, job *j, llmperf_error *error)
{
    if (!j->product || cpu_product_bind(j->product, d->arena[ARENA_IN + (int)j->type].data,
                                        d->arena[ARENA_OUT].data, d->arena[j->home].data + j->at,
                                        j->stride, j->copies))
        return LLMPERF_OK;
    return llmperf_fail(error, LLMPERF_E_MEMORY, "cpu: oneDNN refuses its buffers");
}

static void run_gemm(cpu_device *d, const job *j, int64_t turn)
{
    const cpu_blas *blas = &d->runtime->blas;
    int m = (int)ceil(j->op.m), n = (int)j->op.n, k = (int)j->op.k;
    if (j->product) {
        d->failed |= !cpu_product_run(j->product, turn);
        return;
    }
    const float *in = floats_of(d, ARENA_IN);
    const float *weights =
        (const float *)(const void *)(d->arena[j->home].data + j->at + (size_t)turn * j->stride);
    float *out = floats_of(d, ARENA_OUT);
    /* a product of one row packs its weights anew each time: twice as slow */
    if (m == 1)
        blas->sgemv(CPU_ORDER_ROWS, CPU_NO_TRANSPOSE, n, k, 1, weights, k, in, 1, 0, out, 1);
    else
        blas->sgemm(CPU_ORDER_ROWS, CPU_NO_TRANSPOSE, CPU_TRANSPOSE, m, n, k, 1, in, k, weights, k,
                    0, out, n);
}

static void run_attention(cpu_device *d, const job *j, size_t shift)
{
    const cpu_attention *a = &j->attention;
    const char *k = d->arena[j->home].data + j->at + shift;
    double keys = (double)(a->sequences * (a->past + a->query) * a->kv_heads * a->head_dim);
    const char *v = k + (size_t)(keys * TYPE_BYTES[j->type]);
    d->runtime->kernels->attention(a, d->threads, floats_of(d, ARENA_IN), k, v,
                                   floats_of(d, ARENA_OUT), floats_of(d, ARENA_SCRATCH));
}

/* Rows from all over the weights that there are. */
static void run_gather(cpu_device *d, const job *j)
{
    int table = ARENA_WEIGHTS;
    for (int i = ARENA_WEIGHTS; i < ARENA_WEIGHTS + CPU_TYPES; i++)
        if (d->arena[i].bytes > d->arena[table].bytes)
            table = i;
    size_t count = (size_t)(j->op.output_bytes / sizeof(float));
    size_t width = count < ROW_FLOATS ? count : ROW_FLOATS;
    size_t rows = width > 0 ? count / width : 0;
    size_t table_rows = width > 0 ? d->arena[table].bytes / sizeof(float) / width : 0;
    d->runtime->kernels->gather(floats_of(d, ARENA_OUT), floats_of(d, table), rows, width,
                                table_rows > 0 ? table_rows : 1, (uint64_t)j->turn);
}

static void run_elementwise(cpu_device *d, const job *j, size_t shift)
{
    size_t count = (size_t)(j->op.output_bytes / sizeof(float));
    size_t apart = aligned(j->op.output_bytes) / sizeof(float);
    const float *in[3];
    float *out = floats_of(d, ARENA_OUT), *from = floats_of(d, ARENA_IN);
    if (j->stride > 0) { /* a copy of its own: result first */
        out = (float *)(void *)(d->arena[j->home].data + shift);
        from = out + apart;
    }
    for (int i = 0; i < 3; i++)
        in[i] = from + (size_t)i * apart;
    d->runtime->kernels->elementwise(out, in, reads_of(&j->op), count);
}

/* One launch. Each runs on the next copy of its weights or cache. */
static void run_job(cpu_device *d, job *j)
{
    int64_t turn = j->turn;
    size_t shift = (size_t)turn * j->stride;
    j->turn = j->turn + 1 < j->copies ? j->turn + 1 : 0;
    if (is_gemm(&j->op))
        run_gemm(d, j, turn);
    else if (j->op.kind == LLMPERF_KIND_ATTENTION)
        run_attention(d, j, shift);
    else if (j->op.kind == LLMPERF_KIND_GATHER)
        run_gather(d, j);
    else
        run_elementwise(d, j, shift);
}

/* ---- what can run ---------------------------------------------------------------------------- */

/* Every core gets a thread: then each thread stays on its own. Two that spin on one core wait for
 * each other's time slices, which no scheduler sees as a fault while others keep the rest busy. */
static const int *cpus_of(const cpu_device *d, bool bound_by_user)
{
    bool whole = d->threads == d->host.cores && d->threads <= CPU_CORES_MAX;
    return whole && !bound_by_user ? d->host.core_cpu : NULL;
}

static llmperf_status start_runtime(cpu_device *d, llmperf_error *error)
{
    const char *bind = getenv("OMP_PROC_BIND");
    const cpu_runtime_options options = {.blas = d->blas,
                                         .onednn = d->onednn,
                                         .fp32 = d->fp32,
                                         .threads = d->threads,
                                         .cpus = cpus_of(d, bind && bind[0])};
    if (d->runtime)
        return LLMPERF_OK;
    return cpu_runtime_open(&d->host, &options, &d->runtime, error);
}

static bool refuse(llmperf_error *error, const char *format, const char *what)
{
    llmperf_fail(error, LLMPERF_E_UNSUPPORTED, format, what);
    return false;
}

/* A product is one matrix times weights in the format it is computed in. */
static bool supports_gemm(const cpu_device *d, const llmperf_op *op, llmperf_error *error)
{
    const cpu_runtime *r = d->runtime;
    const char *dtype = llmperf_dtype_name((llmperf_dtype)op->dtype);
    cpu_type type;
    if (!(op->m >= 1 && op->n >= 1 && op->k >= 1 && op->m < 1e9 && op->n < 1e9 && op->k < 1e9))
        return refuse(error, "backend cpu: a %s of this shape is not possible", "gemm");
    if (!type_of(op->dtype, &type))
        return refuse(error,
                      "backend cpu computes products in fp32, bf16 and int8; OpenBLAS and oneDNN 2 "
                      "have none in %s",
                      dtype);
    if (is_for_dnn(d, type, op->m) && !r->has_dnn[type]) {
        llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend cpu: no %s product: %s%s%s", dtype,
                     type == CPU_FP32 ? r->no_blas : r->no_dnn[type], type == CPU_FP32 ? "; " : "",
                     type == CPU_FP32 ? r->no_dnn[type] : "");
        return false;
    }
    if (op->flop > 2.02 * op->m * op->n * op->k)
        return refuse(error, "backend cpu runs one product at a time, not a %s of several",
                      "batch");
    if (op->weight_bytes > 0 &&
        fabs(op->weight_bytes / (op->n * op->k * TYPE_BYTES[type]) - 1) > 0.01) {
        llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                     "backend cpu: weights of %.3g bits under %s arithmetic; they are multiplied "
                     "in the format they are stored in",
                     8 * op->weight_bytes / (op->n * op->k), dtype);
        return false;
    }
    return true;
}

static bool supports_attention(const llmperf_op *op, llmperf_error *error)
{
    double bits = kv_bits(op);
    cpu_type type;
    if (!(op->sequences >= 1 && op->query_tokens >= 1 && op->kv_heads >= 1 &&
          op->heads >= op->kv_heads && op->head_dim >= 1 && op->value_dim >= 1 &&
          fmod(op->heads, op->kv_heads) == 0))
        return refuse(error, "backend cpu: this %s is not a fused one of whole KV groups",
                      "attention");
    if (!type_of(op->dtype, &type) || type == CPU_INT8 || (bits > 0 && bits != 16 && bits != 32)) {
        llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                     "backend cpu: attention in %s with a KV cache of %.3g bits; fp32 and bf16 "
                     "are there",
                     llmperf_dtype_name((llmperf_dtype)op->dtype), bits);
        return false;
    }
    return true;
}

static bool supports_op(const cpu_device *d, const llmperf_op *op, llmperf_error *error)
{
    if (op->kind == LLMPERF_KIND_SCAN || op->kind == LLMPERF_KIND_COLLECTIVE)
        return refuse(error, "backend cpu has no kernel for a %s",
                      llmperf_kind_name((llmperf_op_kind)op->kind));
    if (is_gemm(op))
        return supports_gemm(d, op, error);
    if (op->regime == LLMPERF_REGIME_MIXED)
        return refuse(error, "backend cpu has no kernel for %s",
                      "a prompt and decoding sequences in one launch");
    return op->kind != LLMPERF_KIND_ATTENTION || supports_attention(op, error);
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
    size_t bytes;   /* of a stream's buffer */
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

/* From one buffer of a stream to the next. An odd number of pages and a line between them: buffers a
 * power of two apart meet in the same banks of memory. */
static size_t stream_apart(size_t bytes)
{
    return aligned((double)bytes) + (size_t)37 * PAGE + 64;
}

static void run_once(cpu_device *d, plan *p)
{
    const cpu_kernels *kernels = d->runtime->kernels;
    float *a = floats_of(d, ARENA_STREAM);
    size_t count = p->bytes / sizeof(float), apart = stream_apart(p->bytes) / sizeof(float);
    switch (p->probe->kind) {
    case LLMPERF_PROBE_OP:
        run_job(d, &p->one);
        break;
    case LLMPERF_PROBE_READ:
        d->sink += kernels->read(a, count);
        break;
    case LLMPERF_PROBE_COPY:
        kernels->copy(a + apart, a, count);
        break;
    case LLMPERF_PROBE_TRIAD:
        kernels->triad(a + 2 * apart, a, a + apart, count);
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
    llmperf_status status = make_job(d, &p->probe->op, j, error);
    if (status != LLMPERF_OK)
        return status;
    if (j->op.kind == LLMPERF_KIND_ELEMENTWISE && p->probe->cold) {
        j->home = ARENA_KV;
        j->stride = aligned(bytes_out(j)) + aligned(bytes_in(j));
    }
    if (j->stride > 0 && p->probe->cold)
        j->copies = (int64_t)ceil(cold_bytes(d) / (double)j->stride) + 1;
    if (j->stride > 0)
        status = reserve(d, j->home, (double)j->stride * (double)j->copies, error);
    if (status == LLMPERF_OK)
        status = reserve_activations(d, j, error);
    return status == LLMPERF_OK ? bind_job(d, j, error) : status;
}

/* Makes the jobs; counts what they need for all layers, and for one. */
static llmperf_status make_jobs(cpu_device *d, plan *p, double *ret_total, double *ret_layer,
                                llmperf_error *error)
{
    const llmperf_op *ops = p->probe->ops;
    *ret_total = *ret_layer = 0;
    p->layers = 1;
    for (int i = 0; i < p->probe->op_count; i++) {
        llmperf_status status = make_job(d, &ops[i], &p->jobs[i], error);
        if (status != LLMPERF_OK)
            return status;
        *ret_layer += (double)p->jobs[i].stride;
        *ret_total += (double)p->jobs[i].stride * fmax(1, ops[i].repeat);
        if (ops[i].repeat > (double)p->layers)
            p->layers = (int64_t)ceil(ops[i].repeat);
    }
    return LLMPERF_OK;
}

/* Copies of everything for every layer if they fit, else as many as do. */
static llmperf_status prepare_forward(cpu_device *d, plan *p, llmperf_error *error)
{
    int count = p->probe->op_count;
    double total, one_layer, most = d->share * d->host.memory_free_bytes * 0.9;
    double at[ARENA_COUNT] = {0};
    p->jobs = calloc((size_t)count + 1, sizeof *p->jobs);
    p->runs = calloc((size_t)count + 1, sizeof *p->runs);
    if (!p->jobs || !p->runs)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_status status = make_jobs(d, p, &total, &one_layer, error);
    if (status != LLMPERF_OK)
        return status;
    double held = 1; /* share of the layers that have their own */
    if (most > 0 && total > most)
        held = fmax(0, (most - one_layer) / total);
    for (int i = 0; i < count; i++) {
        job *j = &p->jobs[i];
        j->copies = (int64_t)fmax(1, floor(j->op.repeat * held));
        j->at = (size_t)at[j->home];
        at[j->home] += (double)j->stride * (double)j->copies;
        status = status == LLMPERF_OK ? reserve_activations(d, j, error) : status;
    }
    for (int i = 0; i < ARENA_IN; i++)
        if (status == LLMPERF_OK && at[i] > 0)
            status = reserve(d, i, at[i], error);
    for (int i = 0; i < count; i++)
        status = status == LLMPERF_OK ? bind_job(d, &p->jobs[i], error) : status;
    return status;
}

static llmperf_status prepare(cpu_device *d, plan *p, llmperf_error *error)
{
    double buffers = 1;
    d->plan++;
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
    p->bytes = (size_t)p->probe->bytes;
    if (p->bytes < sizeof(float))
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend cpu: a stream of no bytes");
    return reserve(d, ARENA_STREAM, buffers * (double)stream_apart(p->bytes), error);
}

/* ---- timing ---------------------------------------------------------------------------------- */

/* Runs of a probe inside one timed repetition. */
static int64_t inner_of(cpu_device *d, plan *p)
{
    bool known = d->last_inner > 0 && memcmp(&d->last, p->probe, sizeof d->last) == 0;
    if (known || p->probe->kind == LLMPERF_PROBE_FORWARD)
        return known ? d->last_inner : 1;
    double begun = cpu_now_s(), one = 0;
    int64_t runs = 0;
    do { /* the first may be cold in every respect: up to three, the last counts */
        double start = cpu_now_s();
        run_once(d, p);
        one = cpu_now_s() - start;
        runs++;
    } while (runs < 3 && cpu_now_s() - begun < 1e-3);
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
    if (d->runtime->pinned)
        d->runtime->kernels->pin(d->host.core_cpu, d->threads);
    llmperf_status status = prepare(d, &p, error);
    if (status == LLMPERF_OK) {
        int64_t inner = inner_of(d, &p);
        cpu_moment from = cpu_company_now(&d->company);
        for (int i = 0; i < count; i++) {
            double start = cpu_now_s();
            for (int64_t r = 0; r < inner; r++)
                run_once(d, &p);
            seconds[i] = (cpu_now_s() - start) / (double)inner;
        }
        cpu_moment to = cpu_company_now(&d->company);
        if (d->failed)
            status = llmperf_fail(error, LLMPERF_E_DEVICE,
                                  "backend cpu: oneDNN failed to run a product");
        *ret_flags = judge(d, &from, &to) | (fits_cache(d, probe) ? LLMPERF_SAMPLE_CACHED : 0);
    }
    if (d->runtime->pinned) /* this thread is the caller's; the others are ours alone */
        sched_setaffinity(0, sizeof d->host.allowed, &d->host.allowed);
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
        release(&d->arena[i]);
    for (int i = 0; d->kept && i < PRODUCTS; i++)
        cpu_product_close(&d->kept[i].product);
    free(d->kept);
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
    if (d->fp32[0] && strcmp(d->fp32, "openblas") != 0 && strcmp(d->fp32, "onednn") != 0 &&
        strcmp(d->fp32, "mixed") != 0) {
        status =
            llmperf_fail(error, LLMPERF_E_USAGE,
                         "backend cpu: fp32=%.40s; openblas, onednn, mixed are allowed", d->fp32);
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

/* What products are computed by, that of fp32 first: "oneDNN avx512_core_bf16 + OpenBLAS Haswell" =
 * fp32 by oneDNN but for one row, which is OpenBLAS's; "OpenBLAS Haswell + oneDNN avx512_core_bf16" =
 * fp32 by OpenBLAS, other formats by oneDNN. */
static void name_libraries(const cpu_runtime *r, llmperf_device *device)
{
    bool other = r->has_dnn[CPU_BF16] || r->has_dnn[CPU_INT8];
    bool fp32 = r->has_dnn[CPU_FP32] && (!r->has_blas || r->dnn_rows);
    bool dnn = other || fp32, blas = r->has_blas && !(fp32 && r->dnn_one_row);
    char name[2][32] = {"", ""}, version[2][24] = {"", ""};
    int count = 0;
    for (int i = 0; i < 2; i++) {
        bool is_dnn = (i == 0) == fp32;
        if (is_dnn && dnn) {
            snprintf(name[count], sizeof name[0], "oneDNN %.16s", r->dnn.isa);
            snprintf(version[count++], sizeof version[0], "%.20s", r->dnn.version);
        } else if (!is_dnn && blas) {
            snprintf(name[count], sizeof name[0], "OpenBLAS %.16s", r->blas.core);
            snprintf(version[count++], sizeof version[0], "%.20s", r->blas.version);
        }
    }
    const char *and = count > 1 ? " + " : "";
    snprintf(device->library, sizeof device->library, "%s%s%s", name[0], and, name[1]);
    snprintf(device->version, sizeof device->version, "%s%s%s", version[0], and, version[1]);
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
        name_libraries(r, &device);
        if (!r->has_blas)
            llmperf_note(&device.notes, "%s", r->no_blas);
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
