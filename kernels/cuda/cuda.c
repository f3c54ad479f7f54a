/* SPDX-License-Identifier: MIT */
/*
 * NVIDIA devices behind the table of llmperf/backend.h.
 *
 * Options:
 *   libraries  folder (absolute) in which libcuda, NVML, cuBLASLt and NCCL are looked for first; default:
 *              $LLMPERF_CUDA_LIBRARIES
 *   uuid       the device whose UUID begins so, whatever its number
 *   timeout    seconds after which a launch is taken to hang; 30
 *   settle     most seconds of load before the first measurement; 0 = none; 3
 *   share      most of the free memory that buffers take; 0.6
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../options.h"
#include "cuda.h"

static const backend_option OPTIONS[] = {
    {"libraries", BACKEND_OPTION_TEXT, offsetof(cuda_device, libraries), 0, 0},
    {"uuid", BACKEND_OPTION_TEXT, offsetof(cuda_device, uuid), 0, 0},
    {"timeout", BACKEND_OPTION_NUMBER, offsetof(cuda_device, timeout_s), 1e-3, 3600},
    {"settle", BACKEND_OPTION_NUMBER, offsetof(cuda_device, settle_s), 0, 60},
    {"share", BACKEND_OPTION_NUMBER, offsetof(cuda_device, share), 1e-6, 1},
    {NULL, BACKEND_OPTION_NUMBER, 0, 0, 0},
};

static void cuda_close(void *handle)
{
    cuda_device *d = handle;
    if (!d)
        return;
    cuda_device_end(d);
    free(d);
}

static llmperf_status read_options(cuda_device *d, const char *options, llmperf_error *error)
{
    const char *folder = getenv("LLMPERF_CUDA_LIBRARIES");
    d->timeout_s = 30;
    d->settle_s = 3;
    d->share = 0.6;
    snprintf(d->libraries, sizeof d->libraries, "%s", folder ? folder : "");
    llmperf_status status = backend_options_parse("cuda", OPTIONS, options, d, error);
    if (status == LLMPERF_OK && d->libraries[0] && d->libraries[0] != '/')
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "backend cuda takes libraries from an absolute path; found '%.200s'",
                            d->libraries);
    return status;
}

static llmperf_status cuda_open(int index, const char *options, void **ret_handle,
                                llmperf_error *error)
{
    cuda_device *d = calloc(1, sizeof *d);
    if (!d)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_status status = read_options(d, options, error);
    if (status == LLMPERF_OK)
        status = cuda_device_find(d, index, error);
    if (status != LLMPERF_OK) {
        cuda_close(d);
        return status;
    }
    *ret_handle = d;
    return LLMPERF_OK;
}

static bool supports_op(cuda_device *d, const llmperf_op *op, llmperf_error *error)
{
    return cuda_job_supports(d, op, error);
}

static bool cuda_supports(void *handle, const llmperf_probe *probe, llmperf_error *error)
{
    cuda_device *d = handle;
    if (probe->kind == LLMPERF_PROBE_OP)
        return supports_op(d, &probe->op, error);
    for (int i = 0; probe->kind == LLMPERF_PROBE_FORWARD && i < probe->op_count; i++)
        if (!supports_op(d, &probe->ops[i], error))
            return false;
    return probe->kind < LLMPERF_PROBE_COUNT;
}

/* For messages: "gemm bf16 m=16 n=4096 k=4096". */
static void name_probe(cuda_device *d, const llmperf_probe *probe)
{
    static const char *const WORDS[LLMPERF_PROBE_COUNT] = {
        [LLMPERF_PROBE_READ] = "a read stream",
        [LLMPERF_PROBE_WRITE] = "a write stream",
        [LLMPERF_PROBE_COPY] = "a copy stream",
        [LLMPERF_PROBE_TRIAD] = "a triad stream",
        [LLMPERF_PROBE_H2D] = "a transfer from the host",
        [LLMPERF_PROBE_D2H] = "a transfer to the host",
        [LLMPERF_PROBE_LAUNCH] = "an empty launch",
        [LLMPERF_PROBE_LAUNCH_GRAPH] = "a graph of empty launches",
        [LLMPERF_PROBE_LAUNCH_HOST] = "empty launches",
        [LLMPERF_PROBE_ROUND_TRIP] = "a round trip",
        [LLMPERF_PROBE_FORWARD] = "a whole step",
    };
    const llmperf_op *op = &probe->op;
    const char *dtype = llmperf_dtype_name((llmperf_dtype)op->dtype);
    d->doing = d->doing_text;
    if (probe->kind != LLMPERF_PROBE_OP)
        snprintf(d->doing_text, sizeof d->doing_text, "%s",
                 probe->kind < LLMPERF_PROBE_COUNT ? WORDS[probe->kind] : "a probe");
    else if (op->kind == LLMPERF_KIND_GEMM)
        snprintf(d->doing_text, sizeof d->doing_text, "gemm %s m=%.0f n=%.0f k=%.0f", dtype, op->m,
                 op->n, op->k);
    else if (op->kind == LLMPERF_KIND_ATTENTION)
        snprintf(d->doing_text, sizeof d->doing_text,
                 "attention %s b=%.0f q=%.0f past=%.0f heads=%.0f/%.0f d=%.0f", dtype,
                 op->sequences, op->query_tokens, op->past_tokens, op->heads, op->kv_heads,
                 op->head_dim);
    else
        snprintf(d->doing_text, sizeof d->doing_text, "%s %s of %.0f bytes",
                 llmperf_kind_name((llmperf_op_kind)op->kind), dtype, op->bytes);
}

static bool fits_cache(const cuda_device *d, const llmperf_probe *probe)
{
    if (probe->cold || probe->kind == LLMPERF_PROBE_FORWARD ||
        (probe->kind >= LLMPERF_PROBE_H2D && probe->kind <= LLMPERF_PROBE_ROUND_TRIP))
        return false;
    double bytes = probe->kind == LLMPERF_PROBE_OP ? probe->op.bytes : probe->bytes;
    return bytes <= d->facts.l2_bytes;
}

static llmperf_status cuda_time_op(void *handle, const llmperf_probe *probe, int count,
                                   double *seconds, unsigned *ret_flags, llmperf_error *error)
{
    cuda_device *d = handle;
    if (!cuda_supports(d, probe, error))
        return LLMPERF_E_UNSUPPORTED;
    llmperf_status status = cuda_device_start(d, error);
    if (status == LLMPERF_OK) /* several devices may be open in this thread */
        status = CUDA_CALL(d, error, cuCtxSetCurrent, d->context);
    d->doing = "the warm-up";
    if (status == LLMPERF_OK)
        status = cuda_settle(d, error);
    name_probe(d, probe);
    if (status != LLMPERF_OK)
        return status;
    status = cuda_plan_time(d, probe, count, seconds, error);
    if (status != LLMPERF_OK)
        return status;
    *ret_flags = cuda_state_judge(d, count) | (fits_cache(d, probe) ? LLMPERF_SAMPLE_CACHED : 0U);
    return LLMPERF_OK;
}

static void cuda_conditions(void *handle, double *ret_clock_hz, double *ret_power_w)
{
    const cuda_device *d = handle;
    *ret_clock_hz = d->last.clock_hz > 0 ? d->last.clock_hz : 0;
    *ret_power_w = d->last.power_w > 0 ? d->last.power_w : 0;
}

static llmperf_status transfers(const char *options, llmperf_transfer_visit visit, void *context,
                                llmperf_error *error)
{
    cuda_device *d = calloc(1, sizeof *d);
    if (!d)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_status status = read_options(d, options, error);
    if (status == LLMPERF_OK)
        status = cuda_transfers(d, visit, context, error);
    free(d);
    return status;
}

/* ---- describing -------------------------------------------------------------------------------- */

static void note_measuring(const cuda_device *d, llmperf_notes *notes)
{
    if (d->start_took_s > 1)
        llmperf_note(notes, "context, kernels and cuBLASLt took %.1f s to start", d->start_took_s);
    if (d->settle_took_s > 0 && d->settle_to_w > 0)
        llmperf_note(
            notes,
            "measured settled: %.1f s of load brought %.0f W to %.0f W at %.0f MHz; a cold "
            "device reads a few percent more",
            d->settle_took_s, d->settle_from_w, d->settle_to_w, d->settle_clock_hz / 1e6);
    else if (d->settle_took_s > 0)
        llmperf_note(notes, "measured after %.1f s of load; power and clocks are not readable",
                     d->settle_took_s);
    if (d->capped > 0)
        llmperf_note(notes, "%lld of %lld measurements ran at the power cap, as large products do",
                     (long long)d->capped, (long long)d->judged);
    if (d->throttled > 0)
        llmperf_note(notes, "%lld of %lld measurements were throttled by heat or supply",
                     (long long)d->throttled, (long long)d->judged);
    if (d->late > 0)
        llmperf_note(notes, "%lld of %lld windows began before all work was queued",
                     (long long)d->late, (long long)d->windows);
    if (d->rejected > 0)
        llmperf_note(notes, "%lld algorithm%s of cuBLASLt rejected, the last: %s",
                     (long long)d->rejected, d->rejected == 1 ? "" : "s", d->rejected_why);
}

static double free_memory(const cuda_device *d)
{
    nvml_memory memory = {0};
    if (d->started)
        return d->free_bytes;
    if (d->nvml_handle && d->nvml.nvmlDeviceGetMemoryInfo &&
        d->nvml.nvmlDeviceGetMemoryInfo(d->nvml_handle, &memory) == 0 &&
        (double)memory.free < d->facts.memory_bytes)
        return (double)memory.free;
    return 0;
}

static llmperf_status cuda_describe(void *handle, llmperf_device *ret_device, llmperf_error *error)
{
    const cuda_device *d = handle;
    llmperf_device device = {.index = d->facts.index};
    (void)error;
    snprintf(device.backend, sizeof device.backend, "cuda");
    snprintf(device.kind, sizeof device.kind, "gpu");
    snprintf(device.name, sizeof device.name, "%s", d->facts.name);
    device.units = d->facts.units;
    device.memory_bytes = d->facts.memory_bytes;
    device.memory_free_bytes = free_memory(d);
    device.cache_bytes = d->facts.l2_bytes;
    device.clock_hz = d->facts.clock_hz;
    if (d->has_lt) {
        size_t v = d->lt.cublasLtGetVersion();
        snprintf(device.library, sizeof device.library, "cublaslt");
        /* 130002 = 13.0.2 */
        snprintf(device.version, sizeof device.version, "%zu.%zu.%zu", v / 10000, v / 100 % 100,
                 v % 100);
    } else {
        llmperf_note(&device.notes, "%s", d->no_lt);
    }
    cuda_state_describe(d, &device);
    note_measuring(d, &device.notes);
    *ret_device = device;
    return LLMPERF_OK;
}

const llmperf_backend *llmperf_backend_cuda(void)
{
    static const llmperf_backend table = {
        .abi = LLMPERF_BACKEND_ABI,
        .name = "cuda",
        .open = cuda_open,
        .describe = cuda_describe,
        .supports = cuda_supports,
        .time_op = cuda_time_op,
        .close = cuda_close,
        .conditions = cuda_conditions,
        .transfers = transfers,
    };
    return &table;
}
