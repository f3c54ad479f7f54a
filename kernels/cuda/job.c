/* SPDX-License-Identifier: MIT */
/* Operators ready to run: their buffers, what rotates so that it comes from memory, their launches. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cuda.h"

enum {
    COPIES_MOST = 512,
    ROW_BYTES = 8192, /* of a table that is looked up, when the result has so many */
    NORM_LEAST = 64,  /* columns */
    NORM_MOST = 65536,
    RANK_TIMES = 4, /* launches in the shorter stretch of a trial */
};

static const double COLD_CACHES = 2; /* operands rotate over this many L2 caches */
static const double LONG_S = 2e-3;   /* a trial of an algorithm that takes longer is one launch */

/* ---- what can run ------------------------------------------------------------------------------ */

static bool refuse(llmperf_error *error, const char *format, const char *what)
{
    llmperf_fail(error, LLMPERF_E_UNSUPPORTED, format, what);
    return false;
}

/* The two products of unfused attention: one for each sequence and head. */
static bool is_batched(const llmperf_op *op)
{
    return op->id == LLMPERF_OP_ATTN_SCORES || op->id == LLMPERF_OP_ATTN_VALUES;
}

static bool is_product(const llmperf_op *op)
{
    return op->kind == LLMPERF_KIND_GEMM || is_batched(op);
}

static bool supports_batched(cuda_device *d, const llmperf_op *op, llmperf_error *error)
{
    llmperf_op one = {.dtype = op->dtype,
                      .m = op->query_tokens,
                      .n = op->past_tokens + op->query_tokens,
                      .k = op->head_dim};
    if (!(op->sequences * op->heads >= 1 && op->sequences * op->heads < 1e6))
        return refuse(error, "backend cuda: no batched products of this %s", "shape");
    return cuda_gemm_supports(d, &one, error);
}

/* Formats of attention; of passes, which say in what they compute (fp32), not how values lie:
 * activations of 16 bit. KERNEL_ or -1. */
static int vector_format(const llmperf_op *op)
{
    switch (op->dtype) {
    case LLMPERF_DTYPE_FP16:
        return KERNEL_FP16;
    case LLMPERF_DTYPE_FP32:
        return op->kind == LLMPERF_KIND_ATTENTION ? KERNEL_FP32 : KERNEL_BF16;
    case LLMPERF_DTYPE_BF16:
    case LLMPERF_DTYPE_NONE:
        return KERNEL_BF16;
    default:
        return -1;
    }
}

bool cuda_job_supports(cuda_device *d, const llmperf_op *op, llmperf_error *error)
{
    switch (op->kind) {
    case LLMPERF_KIND_GEMM:
        return cuda_gemm_supports(d, op, error);
    case LLMPERF_KIND_ATTENTION:
        if (op->regime == LLMPERF_REGIME_MIXED)
            return refuse(error, "backend cuda has no kernel for %s",
                          "a prompt and decoding sequences in one launch");
        if (is_batched(op))
            return supports_batched(d, op, error);
        return cuda_attention_supports(d, op, error);
    case LLMPERF_KIND_ELEMENTWISE:
        if (vector_format(op) < 0)
            return refuse(error, "backend cuda: elementwise passes compute in fp32 alone, not %s",
                          llmperf_dtype_name((llmperf_dtype)op->dtype));
        return true;
    case LLMPERF_KIND_GATHER:
        return true;
    default:
        return refuse(error, "backend cuda has no kernel for a %s",
                      llmperf_kind_name((llmperf_op_kind)op->kind));
    }
}

/* ---- shapes ------------------------------------------------------------------------------------ */

/* Shape of the product: scores (q, keys) of d; values (q, d) of keys, V held as (d, keys). */
static void shape_product(cuda_job *j)
{
    const llmperf_op *op = &j->op;
    int64_t keys = (int64_t)(op->past_tokens + op->query_tokens);
    bool scores = op->id == LLMPERF_OP_ATTN_SCORES;
    j->batch = 1;
    j->m = (int64_t)ceil(op->m);
    j->n = (int64_t)op->n;
    j->k = (int64_t)op->k;
    if (!is_batched(op))
        return;
    j->batch = (int64_t)(op->sequences * op->heads);
    j->m = (int64_t)op->query_tokens;
    j->n = scores ? keys : (int64_t)op->value_dim;
    j->k = scores ? (int64_t)op->head_dim : keys;
}

/* One row after another, each with its own norm; else a pass that moves as many bytes. */
static bool is_norm(const cuda_job *j)
{
    return j->columns > 0 && j->op.kind == LLMPERF_KIND_ELEMENTWISE;
}

/* Reads as its bytes say, values so that all its bytes are moved. */
static void shape_elementwise(cuda_job *j)
{
    const llmperf_op *op = &j->op;
    double width = cuda_format_bytes(j->format);
    double inputs = op->output_bytes > 0 ? round(op->input_bytes / op->output_bytes) : 1;
    double columns = op->weight_bytes / width;
    if (op->id == LLMPERF_OP_NORM && columns >= NORM_LEAST && columns <= NORM_MOST &&
        fmod(op->output_bytes, columns * width) == 0 && op->input_bytes == op->output_bytes) {
        j->columns = (uint32_t)columns;
        j->inputs = 1;
        j->count = (uint64_t)(op->output_bytes / (columns * width));
        return;
    }
    j->inputs = inputs < 1 ? 1 : inputs > 4 ? 4 : (uint32_t)inputs;
    j->count = (uint64_t)fmax(1, round(op->bytes / ((j->inputs + 1) * width)));
}

static void shape_gather(cuda_job *j)
{
    double bytes = 16 * ceil(fmax(j->op.output_bytes, 16) / 16);
    j->columns = (uint32_t)fmin(bytes, ROW_BYTES);
    j->count = (uint64_t)fmax(1, round(bytes / j->columns));
}

/* Values of an elementwise pass: all of its input, or its result. */
static double vector_bytes(const cuda_job *j)
{
    double values = (double)j->count * (is_norm(j) ? j->columns : 1);
    return (double)cuda_aligned(values * cuda_format_bytes(j->format));
}

static double kv_bytes(const cuda_job *j)
{
    const llmperf_op *op = &j->op;
    return op->sequences * (op->past_tokens + op->query_tokens) * op->kv_heads *
           (op->head_dim + op->value_dim) * cuda_format_bytes(j->format);
}

static void set_copies(const cuda_device *d, cuda_job *j, bool cold)
{
    double cache = d->facts.l2_bytes > 0 ? d->facts.l2_bytes : 32e6;
    double one = j->op.kind == LLMPERF_KIND_GATHER ? (double)j->count * j->columns : j->stride;
    j->copies = 1;
    if (cold && one > 0)
        j->copies = (int64_t)fmin(COPIES_MOST, ceil(COLD_CACHES * cache / one) + 1);
}

llmperf_status cuda_job_init(cuda_device *d, const llmperf_op *op, bool cold, cuda_job *ret_job,
                             llmperf_error *error)
{
    cuda_job j = {.op = *op, .splits = 1};
    uint32_t out = 0;
    llmperf_status status = LLMPERF_OK;
    if (is_product(op)) {
        cuda_gemm_formats((llmperf_dtype)op->dtype, &j.format, &out);
        shape_product(&j);
        j.stride = (double)cuda_aligned((double)j.n * (double)j.k * (double)j.batch *
                                        cuda_format_bytes(j.format));
    } else {
        int format = vector_format(op);
        j.format = format < 0 ? KERNEL_BF16 : (uint32_t)format;
    }
    if (op->kind == LLMPERF_KIND_ATTENTION && !is_batched(op)) {
        j.stride = (double)cuda_aligned(kv_bytes(&j));
        status = cuda_attention_splits(d, &j, error);
    } else if (op->kind == LLMPERF_KIND_ELEMENTWISE) {
        shape_elementwise(&j);
        j.rotates = cold;
        if (cold)
            j.stride = (j.inputs + 1) * vector_bytes(&j);
    } else if (op->kind == LLMPERF_KIND_GATHER) {
        shape_gather(&j);
    }
    set_copies(d, &j, cold);
    if (status == LLMPERF_OK)
        *ret_job = j;
    return status;
}

/* ---- buffers ----------------------------------------------------------------------------------- */

static double input_bytes(const cuda_job *j)
{
    const llmperf_op *op = &j->op;
    double width = cuda_format_bytes(j->format);
    if (is_product(op))
        return (double)j->m * (double)j->k * (double)j->batch * width;
    if (op->kind == LLMPERF_KIND_ATTENTION)
        return op->sequences * op->query_tokens * op->heads * op->head_dim * width;
    if (op->kind == LLMPERF_KIND_ELEMENTWISE && !j->rotates)
        return j->inputs * vector_bytes(j);
    return 0;
}

static double output_bytes(const cuda_job *j)
{
    const llmperf_op *op = &j->op;
    uint32_t in = 0, out = j->format;
    if (is_product(op)) {
        cuda_gemm_formats((llmperf_dtype)op->dtype, &in, &out);
        return (double)j->m * (double)j->n * (double)j->batch * cuda_format_bytes(out);
    }
    if (op->kind == LLMPERF_KIND_ATTENTION)
        return op->sequences * op->query_tokens * op->heads * op->value_dim *
               cuda_format_bytes(j->format);
    if (op->kind == LLMPERF_KIND_GATHER)
        return (double)j->count * j->columns;
    return j->rotates ? 0 : vector_bytes(j);
}

/* Norm weights lie behind the inputs. */
static double weights_behind(const cuda_job *j)
{
    return is_norm(j) ? (double)cuda_aligned(j->columns * cuda_format_bytes(j->format)) : 0;
}

/* The table of a look-up: larger than the cache. */
static double table_bytes(const cuda_device *d, const cuda_job *j)
{
    return j->columns * ceil((COLD_CACHES + 2) * fmax(d->facts.l2_bytes, 32e6) / j->columns);
}

llmperf_status cuda_job_reserve(cuda_device *d, const cuda_job *job, llmperf_error *error)
{
    const llmperf_op *op = &job->op;
    llmperf_status status =
        cuda_reserve(d, CUDA_ARENA_IN, input_bytes(job) + weights_behind(job), error);
    if (status == LLMPERF_OK)
        status = cuda_reserve(d, CUDA_ARENA_OUT, output_bytes(job), error);
    if (status == LLMPERF_OK && op->kind == LLMPERF_KIND_ATTENTION && !is_batched(op))
        status = cuda_reserve(d, CUDA_ARENA_SCRATCH, cuda_attention_scratch(job), error);
    if (status == LLMPERF_OK && op->kind == LLMPERF_KIND_GATHER)
        status = cuda_reserve(d, CUDA_ARENA_SCRATCH, table_bytes(d, job), error);
    if (status == LLMPERF_OK && op->kind == LLMPERF_KIND_GEMM)
        status =
            cuda_reserve(d, CUDA_ARENA_SCALES,
                         cuda_gemm_scales((llmperf_dtype)op->dtype, job->m, job->n, job->k), error);
    return status;
}

/* ---- algorithms of a product ------------------------------------------------------------------- */

static llmperf_status run_copies(cuda_device *d, void *context, int times, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; i < times && status == LLMPERF_OK; i++)
        status = cuda_job_run(d, context, error);
    return status;
}

/* An algorithm that the library takes back or that computes wrong is passed over. */
static llmperf_status try_algorithm(cuda_device *d, cuda_job *j, const cuda_gemm_case *c, bool rank,
                                    llmperf_error *error)
{
    cuda_gemm *g = &j->gemm;
    bool right = false;
    double seconds = 0;
    char why[LLMPERF_TEXT_MAX] = "";
    llmperf_error one = {0};
    llmperf_status status = cuda_gemm_verify(d, g, c, &right, why, &one);
    if (status == LLMPERF_E_UNSUPPORTED)
        return LLMPERF_OK;
    if (status == LLMPERF_OK && !right) {
        d->rejected++;
        memcpy(d->rejected_why, why, sizeof d->rejected_why);
        return LLMPERF_OK;
    }
    if (status == LLMPERF_OK && rank) {
        status = cuda_time(d, run_copies, j, 1, false, &seconds, &one);
        if (status == LLMPERF_OK && seconds < LONG_S)
            status = cuda_time(d, run_copies, j, RANK_TIMES, true, &seconds, &one);
    }
    if (status != LLMPERF_OK && error)
        *error = one;
    g->seconds[g->use] = rank ? seconds : 1;
    return status;
}

/* Where a job's first copy lies. */
static cu_address place_of(const cuda_device *d, const cuda_job *j)
{
    if (j->op.kind == LLMPERF_KIND_GEMM)
        return d->arena[CUDA_ARENA_WEIGHTS].address + (cu_address)j->weights_at;
    return d->arena[CUDA_ARENA_KV].address + (cu_address)j->kv_at;
}

static llmperf_status choose_algorithm(cuda_device *d, cuda_job *j, bool rank, llmperf_error *error)
{
    cuda_gemm *g = &j->gemm;
    const cuda_gemm_case c = {.dtype = (llmperf_dtype)j->op.dtype,
                              .m = j->m,
                              .n = j->n,
                              .k = j->k,
                              .batch = j->batch,
                              .w = place_of(d, j),
                              .a = d->arena[CUDA_ARENA_IN].address,
                              .out = d->arena[CUDA_ARENA_OUT].address};
    g->first = g->best = -1;
    for (int i = 0; i < g->count; i++) {
        g->use = i;
        llmperf_status status = try_algorithm(d, j, &c, rank, error);
        if (status != LLMPERF_OK)
            return status;
        if (!(g->seconds[i] > 0))
            continue;
        if (g->first < 0)
            g->first = i;
        if (g->best < 0 || g->seconds[i] < g->seconds[g->best])
            g->best = i;
        if (!rank)
            break;
    }
    if (g->first < 0)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "cuda: no algorithm of cuBLASLt computes "
                            "this product%s%s",
                            d->rejected_why[0] ? " right: " : "", d->rejected_why);
    g->use = g->first;
    return LLMPERF_OK;
}

llmperf_status cuda_job_prepare(cuda_device *d, cuda_job *job, bool rank, llmperf_error *error)
{
    const llmperf_op *op = &job->op;
    double copies = job->stride * (double)job->copies;
    llmperf_status status = LLMPERF_OK;
    if (copies > 0)
        status = cuda_fill(d, place_of(d, job), copies, job->format, 1, error);
    if (status == LLMPERF_OK)
        status = cuda_fill(d, d->arena[CUDA_ARENA_IN].address,
                           input_bytes(job) + weights_behind(job), job->format, 2, error);
    if (status == LLMPERF_OK && op->kind == LLMPERF_KIND_GATHER)
        status = cuda_fill(d, d->arena[CUDA_ARENA_SCRATCH].address, table_bytes(d, job),
                           job->format, 3, error);
    if (status != LLMPERF_OK || !is_product(op))
        return status;
    status = cuda_gemm_make(d, (llmperf_dtype)op->dtype, job->m, job->n, job->k, job->batch,
                            &job->gemm, error);
    job->has_gemm = status == LLMPERF_OK;
    return status == LLMPERF_OK ? choose_algorithm(d, job, rank, error) : status;
}

void cuda_job_free(cuda_device *d, cuda_job *job)
{
    if (job->has_gemm)
        cuda_gemm_free(d, &job->gemm);
    job->has_gemm = false;
}

/* ---- launches ---------------------------------------------------------------------------------- */

static llmperf_status run_norm(cuda_device *d, const cuda_job *j, cu_address in, cu_address out,
                               llmperf_error *error)
{
    cu_address weights = d->arena[CUDA_ARENA_IN].address + (cu_address)input_bytes(j);
    kernel_norm_args a = {.in = (const void *)(uintptr_t)in,
                          .weight = (const void *)(uintptr_t)weights,
                          .out = (void *)(uintptr_t)out,
                          .rows = j->count,
                          .columns = j->columns,
                          .format = j->format};
    return cuda_launch(d, CUDA_FN_kernel_norm, (uint32_t)fmin((double)j->count, 1 << 20), 1, 1,
                       KERNEL_THREADS, 0, &a, error);
}

static llmperf_status run_elementwise(cuda_device *d, const cuda_job *j, cu_address copy,
                                      llmperf_error *error)
{
    double apart = vector_bytes(j);
    cu_address in = j->rotates ? copy : d->arena[CUDA_ARENA_IN].address;
    cu_address out =
        j->rotates ? copy + (cu_address)(j->inputs * apart) : d->arena[CUDA_ARENA_OUT].address;
    if (is_norm(j))
        return run_norm(d, j, in, out, error);
    kernel_elementwise_args a = {
        .out = (void *)(uintptr_t)out, .count = j->count, .inputs = j->inputs, .format = j->format};
    for (uint32_t i = 0; i < j->inputs; i++)
        a.in[i] = (const void *)(uintptr_t)(in + (cu_address)(i * apart));
    double words = ceil((double)j->count * cuda_format_bytes(j->format) / 16);
    double blocks = fmin(ceil(words / KERNEL_THREADS), 16.0 * d->facts.units);
    return cuda_launch(d, CUDA_FN_kernel_elementwise, (uint32_t)fmax(1, blocks), 1, 1,
                       KERNEL_THREADS, 0, &a, error);
}

static llmperf_status run_gather(cuda_device *d, const cuda_job *j, llmperf_error *error)
{
    kernel_gather_args a = {.table = (const void *)(uintptr_t)d->arena[CUDA_ARENA_SCRATCH].address,
                            .out = (void *)(uintptr_t)d->arena[CUDA_ARENA_OUT].address,
                            .rows = j->count,
                            .table_rows = (uint64_t)(table_bytes(d, j) / j->columns),
                            .row_bytes = j->columns,
                            .seed = (uint32_t)j->turn};
    return cuda_launch(d, CUDA_FN_kernel_gather, (uint32_t)fmin((double)j->count, 1 << 20), 1, 1,
                       KERNEL_THREADS, 0, &a, error);
}

llmperf_status cuda_job_run(cuda_device *d, cuda_job *job, llmperf_error *error)
{
    cu_address copy = place_of(d, job) + (cu_address)((double)job->turn * job->stride);
    llmperf_status status;
    if (is_product(&job->op))
        status = cuda_gemm_run(d, &job->gemm, copy, d->arena[CUDA_ARENA_IN].address,
                               d->arena[CUDA_ARENA_OUT].address, error);
    else if (job->op.kind == LLMPERF_KIND_GATHER)
        status = run_gather(d, job, error);
    else if (job->op.kind == LLMPERF_KIND_ATTENTION)
        status = cuda_attention_run(d, job, copy, error);
    else
        status = run_elementwise(d, job, copy, error);
    job->turn = job->turn + 1 < job->copies ? job->turn + 1 : 0;
    return status;
}
