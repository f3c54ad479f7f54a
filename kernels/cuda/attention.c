/* SPDX-License-Identifier: MIT */
/*
 * Attention by own kernels: a portable lower bound of what engines reach. Decode splits the cached
 * keys over as many blocks as the device holds and merges; prompts run tile by tile.
 */
#include <math.h>

#include "cuda.h"

enum { SPLITS_MOST = 256 };

/* The kernels' head sizes; -1: none. */
static int size_index(const llmperf_op *op)
{
    static const double SIZES[] = {64, 128, 256};
    for (int i = 0; i < 3; i++)
        if (op->head_dim == SIZES[i] && op->value_dim == SIZES[i])
            return i;
    return -1;
}

bool cuda_attention_is_decode(const llmperf_op *op)
{
    return op->query_tokens == 1;
}

static double tokens_of(const llmperf_op *op)
{
    return op->past_tokens + op->query_tokens;
}

static bool refuse(llmperf_error *error, const char *why)
{
    llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend cuda: %s", why);
    return false;
}

bool cuda_attention_supports(cuda_device *d, const llmperf_op *op, llmperf_error *error)
{
    bool is_half = op->dtype == LLMPERF_DTYPE_FP16 || op->dtype == LLMPERF_DTYPE_BF16;
    bool decode = cuda_attention_is_decode(op);
    double kv_bytes = op->sequences * tokens_of(op) * op->kv_heads * 2 * op->head_dim *
                      llmperf_dtype_bits((llmperf_dtype)op->dtype) / 8;
    if (!(op->sequences >= 1 && op->query_tokens >= 1 && op->kv_heads >= 1 &&
          op->heads >= op->kv_heads && fmod(op->heads, op->kv_heads) == 0 &&
          op->sequences < 65536 && op->heads < 65536 && tokens_of(op) < 1e9))
        return refuse(error, "this attention is not a fused one of whole KV groups");
    if (size_index(op) < 0)
        return refuse(error, "attention kernels have heads of 64, 128 and 256");
    if (!is_half && !(decode && op->dtype == LLMPERF_DTYPE_FP32))
        return refuse(error, decode ? "decode attention runs in fp16, bf16 and fp32"
                                    : "prefill attention runs in fp16 and bf16");
    if (op->kv_read_bytes > 0 && fabs(op->kv_read_bytes / kv_bytes - 1) > 0.01)
        return refuse(error, "attention over a window, or a KV cache in another format than its "
                             "arithmetic, is not run");
    if (is_half && d->facts.major < 8 && !(decode && op->dtype == LLMPERF_DTYPE_FP16))
        return refuse(error, "attention kernels need compute capability 8.0");
    if (!decode &&
        kernel_prefill_shared_bytes((uint32_t)op->head_dim) > (uint32_t)d->facts.shared_optin)
        return refuse(error, "prefill attention with heads of this size needs more shared memory "
                             "than this device has");
    return true;
}

static const int DECODE[] = {CUDA_FN_kernel_decode_64, CUDA_FN_kernel_decode_128,
                             CUDA_FN_kernel_decode_256};
static const int MERGE[] = {CUDA_FN_kernel_decode_merge_64, CUDA_FN_kernel_decode_merge_128,
                            CUDA_FN_kernel_decode_merge_256};
static const int PREFILL[] = {CUDA_FN_kernel_prefill_64, CUDA_FN_kernel_prefill_128,
                              CUDA_FN_kernel_prefill_256};

/* As many parts as fill the device once, if each has keys enough. */
llmperf_status cuda_attention_splits(cuda_device *d, cuda_job *job, llmperf_error *error)
{
    const llmperf_op *op = &job->op;
    int resident = 0;
    job->splits = 1;
    if (!cuda_attention_is_decode(op))
        return LLMPERF_OK;
    int size = size_index(op);
    if (size < 0)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend cuda: no kernel for this head");
    llmperf_status status =
        CUDA_CALL(d, error, cuOccupancyMaxActiveBlocksPerMultiprocessor, &resident,
                  d->function[DECODE[size]], KERNEL_DECODE_THREADS, 0);
    if (status != LLMPERF_OK)
        return status;
    double room = (double)(resident > 0 ? resident : 1) * d->facts.units;
    double blocks = op->sequences * op->kv_heads;
    double splits = floor(room / blocks);
    splits = fmin(splits, floor(tokens_of(op) / KERNEL_DECODE_SPLIT_MIN));
    job->splits = (uint32_t)fmax(1, fmin(splits, SPLITS_MOST));
    return LLMPERF_OK;
}

/* Partial results by part, then maximum and sum of each. */
double cuda_attention_scratch(const cuda_job *job)
{
    if (job->splits <= 1)
        return 0;
    return job->op.sequences * job->op.heads * job->splits * (job->op.head_dim + 2) * sizeof(float);
}

static llmperf_status run_decode(cuda_device *d, const cuda_job *job, cu_address kv,
                                 llmperf_error *error)
{
    const llmperf_op *op = &job->op;
    int size = size_index(op);
    double half = op->sequences * op->kv_heads * tokens_of(op) * op->head_dim *
                  cuda_format_bytes(job->format);
    double partial = op->sequences * op->heads * job->splits * op->head_dim * sizeof(float);
    cu_address scratch = d->arena[CUDA_ARENA_SCRATCH].address;
    kernel_decode_args a = {
        .q = (const void *)(uintptr_t)d->arena[CUDA_ARENA_IN].address,
        .k = (const void *)(uintptr_t)kv,
        .v = (const void *)(uintptr_t)(kv + (cu_address)half),
        .o = (void *)(uintptr_t)d->arena[CUDA_ARENA_OUT].address,
        .partial = (float *)(uintptr_t)scratch,
        .max_sum = (float *)(uintptr_t)(scratch + (cu_address)partial),
        .batch = (uint32_t)op->sequences,
        .heads = (uint32_t)op->heads,
        .kv_heads = (uint32_t)op->kv_heads,
        .tokens = (uint32_t)tokens_of(op),
        .splits = job->splits,
        .format = job->format,
        .scale = (float)(1 / sqrt(op->head_dim)),
    };
    llmperf_status status = cuda_launch(d, DECODE[size], job->splits, a.kv_heads, a.batch,
                                        KERNEL_DECODE_THREADS, 0, &a, error);
    if (status == LLMPERF_OK && job->splits > 1)
        status =
            cuda_launch(d, MERGE[size], a.heads, a.batch, 1, (uint32_t)op->head_dim, 0, &a, error);
    return status;
}

static llmperf_status run_prefill(cuda_device *d, const cuda_job *job, cu_address kv,
                                  llmperf_error *error)
{
    const llmperf_op *op = &job->op;
    double half = op->sequences * op->kv_heads * tokens_of(op) * op->head_dim *
                  cuda_format_bytes(job->format);
    kernel_prefill_args a = {
        .q = (const void *)(uintptr_t)d->arena[CUDA_ARENA_IN].address,
        .k = (const void *)(uintptr_t)kv,
        .v = (const void *)(uintptr_t)(kv + (cu_address)half),
        .o = (void *)(uintptr_t)d->arena[CUDA_ARENA_OUT].address,
        .batch = (uint32_t)op->sequences,
        .heads = (uint32_t)op->heads,
        .kv_heads = (uint32_t)op->kv_heads,
        .queries = (uint32_t)op->query_tokens,
        .past = (uint32_t)op->past_tokens,
        .format = job->format,
        .scale = (float)(1 / sqrt(op->head_dim)),
    };
    uint32_t tiles = (a.queries + KERNEL_PREFILL_ROWS - 1) / KERNEL_PREFILL_ROWS;
    return cuda_launch(d, PREFILL[size_index(op)], tiles, a.heads, a.batch, KERNEL_PREFILL_THREADS,
                       kernel_prefill_shared_bytes((uint32_t)op->head_dim), &a, error);
}

llmperf_status cuda_attention_run(cuda_device *d, const cuda_job *job, cu_address kv,
                                  llmperf_error *error)
{
    return cuda_attention_is_decode(&job->op) ? run_decode(d, job, kv, error)
                                              : run_prefill(d, job, kv, error);
}
