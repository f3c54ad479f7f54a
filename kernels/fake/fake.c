/* SPDX-License-Identifier: MIT */
/*
 * A deterministic device: it answers from a formula, with seeded noise, and fails on request. It
 * runs no clock and no thread, so a whole calibration takes milliseconds and repeats bit by bit.
 * The formula is written here a second time on purpose: a mistake in model/time/time.c then shows.
 *
 * Options (numbers; the defaults are what specs/hardware/fake.yaml says):
 *   fp64 fp32 tf32 bf16 fp16 fp8 int8   peak, flop/s; 0 = not supported
 *   bandwidth cache_bandwidth           bytes/s of memory and cache
 *   cache memory                        bytes
 *   units                               cores
 *   launch                              seconds of an empty launch
 *   stream                              share of the bandwidth that a stream reaches
 *   link                                bytes/s between host and device
 *   gpu                                 1: says that it is a GPU, so that a GPU's grid is measured
 *   {gemm,prefill,decode}_{compute,memory,p}, vector_memory
 *                                       shares and norm exponents of the operators (p 0 = max)
 *   serial work                         seconds per k loop of 1024, per work item and unit
 *   mixed_{compute,memory,p}, tile_rows unsplit_rows group_reads block idle_block
 *                                       a prompt and decoding sequences in one launch
 *   noise seed                          sigma of log(time), stream of random numbers
 *   outliers outlier_factor             share of repetitions that are slower, and how much
 *   drift drift_reps                    relative growth per repetition, over how many of them
 *   throttle_at throttle_calls throttle_factor, contend_at contend_calls contend_factor
 *                                       calls n .. n + calls - 1 are slower and flagged
 *   fail_at oom_at hang_at              the n-th call reports a device error, no memory, a time-out
 *   unsupported                         dtypes that are refused: fp8+int8
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/backend.h"
#include "../options.h"

typedef struct roof {
    double compute, memory, p;
} roof;

typedef struct fake {
    double peak[LLMPERF_DTYPE_COUNT];
    double bandwidth, cache_bandwidth, cache, memory, units, launch, stream, link, gpu;
    roof gemm, prefill, decode, mixed;
    double vector_memory, serial, work;
    double tile_rows, unsplit_rows, group_reads, block, idle_block;
    double noise, seed, outliers, outlier_factor, drift, drift_reps;
    double throttle_at, throttle_calls, throttle_factor;
    double contend_at, contend_calls, contend_factor;
    double fail_at, oom_at, hang_at;
    uint64_t unsupported;
    double calls, reps;
} fake;

static const fake DEFAULTS = {
    .peak = {[LLMPERF_DTYPE_FP64] = 5e12,
             [LLMPERF_DTYPE_FP32] = 10e12,
             [LLMPERF_DTYPE_BF16] = 40e12,
             [LLMPERF_DTYPE_FP16] = 40e12,
             [LLMPERF_DTYPE_FP8] = 80e12,
             [LLMPERF_DTYPE_INT8] = 80e12},
    .bandwidth = 1e12,
    .cache_bandwidth = 4e12,
    .cache = 32 * 1048576.0,
    .memory = 64e9,
    .units = 64,
    .launch = 5e-6,
    .stream = 1,
    .link = 25e9,
    .gemm = {0.85, 0.9, 2},
    .prefill = {0.6, 0.8, 1.25},
    .decode = {0.5, 0.8, 2},
    .mixed = {0.5, 0.9, 2},
    .vector_memory = 0.85,
    .serial = 2e-6,
    .work = 0.5e-6,
    .tile_rows = 60,
    .unsplit_rows = 110,
    .group_reads = 0.8,
    .block = 3e-6,
    .idle_block = 0.4e-6,
    .noise = 0.03,
    .seed = 1,
    .outlier_factor = 5,
    .drift_reps = 100,
    .throttle_calls = 1,
    .throttle_factor = 1.3,
    .contend_calls = 1,
    .contend_factor = 1.5,
};

#define NUMBER(name, field, least, most)                                                           \
    {                                                                                              \
        .key = name, .kind = BACKEND_OPTION_NUMBER, .offset = offsetof(fake, field), .min = least, \
        .max = most                                                                                \
    }
#define PEAK(name, dtype) NUMBER(name, peak[LLMPERF_DTYPE_##dtype], 0, 1e21)
#define CALLS(name, field) NUMBER(name, field, 0, 1e15)

static const backend_option OPTIONS[] = {
    PEAK("fp64", FP64),
    PEAK("fp32", FP32),
    PEAK("tf32", TF32),
    PEAK("bf16", BF16),
    PEAK("fp16", FP16),
    PEAK("fp8", FP8),
    PEAK("int8", INT8),
    NUMBER("bandwidth", bandwidth, 1, 1e18),
    NUMBER("cache_bandwidth", cache_bandwidth, 1, 1e18),
    NUMBER("cache", cache, 0, 1e15),
    NUMBER("memory", memory, 1, 1e18),
    NUMBER("units", units, 1, 1e9),
    NUMBER("launch", launch, 0, 1),
    NUMBER("stream", stream, 1e-6, 1.5),
    NUMBER("link", link, 1, 1e18),
    NUMBER("gpu", gpu, 0, 1),
    NUMBER("gemm_compute", gemm.compute, 1e-6, 1.5),
    NUMBER("gemm_memory", gemm.memory, 1e-6, 1.5),
    NUMBER("gemm_p", gemm.p, 0, 1e3),
    NUMBER("prefill_compute", prefill.compute, 1e-6, 1.5),
    NUMBER("prefill_memory", prefill.memory, 1e-6, 1.5),
    NUMBER("prefill_p", prefill.p, 0, 1e3),
    NUMBER("decode_compute", decode.compute, 1e-6, 1.5),
    NUMBER("decode_memory", decode.memory, 1e-6, 1.5),
    NUMBER("decode_p", decode.p, 0, 1e3),
    NUMBER("mixed_compute", mixed.compute, 1e-6, 1.5),
    NUMBER("mixed_memory", mixed.memory, 1e-6, 1.5),
    NUMBER("mixed_p", mixed.p, 0, 1e3),
    NUMBER("tile_rows", tile_rows, 0, 1e4),
    NUMBER("unsplit_rows", unsplit_rows, 0, 1e6),
    NUMBER("group_reads", group_reads, 0, 1),
    NUMBER("block", block, 0, 1),
    NUMBER("idle_block", idle_block, 0, 1),
    NUMBER("vector_memory", vector_memory, 1e-6, 1.5),
    NUMBER("serial", serial, 0, 1),
    NUMBER("work", work, 0, 1),
    NUMBER("noise", noise, 0, 1),
    NUMBER("seed", seed, 0, 9007199254740992.0),
    NUMBER("outliers", outliers, 0, 1),
    NUMBER("outlier_factor", outlier_factor, 1, 1e6),
    NUMBER("drift", drift, -1e-3, 1),
    CALLS("drift_reps", drift_reps),
    CALLS("throttle_at", throttle_at),
    CALLS("throttle_calls", throttle_calls),
    NUMBER("throttle_factor", throttle_factor, 1, 1e6),
    CALLS("contend_at", contend_at),
    CALLS("contend_calls", contend_calls),
    NUMBER("contend_factor", contend_factor, 1, 1e6),
    CALLS("fail_at", fail_at),
    CALLS("oom_at", oom_at),
    CALLS("hang_at", hang_at),
    {.key = "unsupported", .kind = BACKEND_OPTION_DTYPES, .offset = offsetof(fake, unsupported)},
    {.key = NULL},
};

/* ---- random numbers: a pure function of seed and repetition ---------------------------------- */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u; /* splitmix64, Steele et al. 2014; public domain */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Uniform in (0, 1): number `which` of repetition `rep`. */
static double uniform(const fake *f, uint64_t rep, uint64_t which)
{
    uint64_t bits = mix(mix((uint64_t)f->seed) ^ mix(rep * 4 + which));
    return ((double)(bits >> 11) + 0.5) * (1.0 / 9007199254740992.0);
}

static double normal(const fake *f, uint64_t rep)
{
    return sqrt(-2 * log(uniform(f, rep, 0))) * cos(2 * M_PI * uniform(f, rep, 1));
}

/* ---- time ------------------------------------------------------------------------------------ */

/* (sum x^p)^(1/p); p = 0: the largest */
static double join(double p, double a, double b, double c, double d)
{
    double most = fmax(fmax(a, b), fmax(c, d));
    if (p == 0 || most == 0)
        return most;
    return most *
           pow(pow(a / most, p) + pow(b / most, p) + pow(c / most, p) + pow(d / most, p), 1 / p);
}

static const roof *roof_of(const fake *f, const llmperf_op *op)
{
    if (op->kind == LLMPERF_KIND_GEMM)
        return &f->gemm;
    return op->regime == LLMPERF_REGIME_DECODE ? &f->decode : &f->prefill;
}

/* One launch for a prompt and sequences of one query each: tiles of 64 rows, no context split, and
 * what the cache does not hold of a KV head is read by every query head of its group. */
static double mixed_seconds(const fake *f, const llmperf_op *op)
{
    double peak = f->peak[op->dtype], per_key = 2 * (op->head_dim + op->value_dim);
    double prompt = op->flop - op->lone_flop;
    double rows = f->tile_rows * (prompt / op->query_tokens + op->lone_flop);
    double group = op->heads / op->kv_heads;
    double missed = fmax(0, op->lone_kv_read_bytes - op->kv_heads * f->cache);
    double compute = (op->flop + rows) / (f->mixed.compute * peak);
    double memory =
        (op->bytes + f->group_reads * (group - 1) * missed) / (f->mixed.memory * f->bandwidth);
    double chain = f->unsplit_rows * per_key * op->longest_keys / (peak / f->units);
    double blocks = (op->sequences + op->lone_sequences) * op->heads / f->units;
    double idle = op->lone_sequences * op->heads / f->units * (op->query_tokens / 64);
    return f->launch * op->launches + join(f->mixed.p, compute, memory, chain, 0) +
           f->block * blocks + f->idle_block * idle;
}

static double op_seconds(const fake *f, const llmperf_op *op, bool cold, unsigned *flags)
{
    bool cached = !cold && op->bytes <= f->cache;
    double bandwidth = cached ? f->cache_bandwidth : f->bandwidth;
    *flags |= cached ? LLMPERF_SAMPLE_CACHED : 0;
    if (op->kind != LLMPERF_KIND_GEMM && op->kind != LLMPERF_KIND_ATTENTION)
        return f->launch * op->launches + op->bytes / (f->vector_memory * bandwidth);
    if (op->regime == LLMPERF_REGIME_MIXED)
        return mixed_seconds(f, op);
    const roof *r = roof_of(f, op);
    double compute = op->flop / (r->compute * f->peak[op->dtype]);
    double memory = op->bytes / (r->memory * bandwidth);
    double k = op->k / 1024;
    double serial = op->kind == LLMPERF_KIND_GEMM ? f->serial * k / (1 + k / 3) : 0;
    double work = op->kind == LLMPERF_KIND_ATTENTION && op->regime == LLMPERF_REGIME_DECODE
                      ? f->work * op->sequences * op->kv_heads / f->units
                      : 0;
    return f->launch * op->launches + join(r->p, compute, memory, serial, work);
}

static double clean_seconds(const fake *f, const llmperf_probe *probe, unsigned *flags)
{
    double times = 1, sum = 0;
    switch (probe->kind) {
    case LLMPERF_PROBE_OP:
        return op_seconds(f, &probe->op, probe->cold, flags);
    case LLMPERF_PROBE_TRIAD:
        times = 3;
        break;
    case LLMPERF_PROBE_COPY:
        times = 2;
        break;
    case LLMPERF_PROBE_READ:
    case LLMPERF_PROBE_WRITE:
        break;
    case LLMPERF_PROBE_H2D:
    case LLMPERF_PROBE_D2H:
        return f->launch + probe->bytes / f->link;
    case LLMPERF_PROBE_FORWARD:
        for (int i = 0; i < probe->op_count; i++)
            sum += probe->ops[i].repeat * op_seconds(f, &probe->ops[i], true, flags);
        return sum;
    case LLMPERF_PROBE_LAUNCH:
    case LLMPERF_PROBE_LAUNCH_GRAPH:
    case LLMPERF_PROBE_LAUNCH_HOST:
    case LLMPERF_PROBE_ROUND_TRIP:
    case LLMPERF_PROBE_COUNT:
        return f->launch;
    }
    bool cached = probe->bytes * times <= f->cache;
    *flags |= cached ? LLMPERF_SAMPLE_CACHED : 0;
    return f->launch +
           probe->bytes * times / (f->stream * (cached ? f->cache_bandwidth : f->bandwidth));
}

static double noisy(fake *f, double seconds)
{
    uint64_t rep = (uint64_t)f->reps;
    double grown = f->drift_reps > 0 && f->reps > f->drift_reps ? f->drift_reps : f->reps;
    f->reps++;
    seconds *= 1 + f->drift * grown;
    if (f->noise > 0)
        seconds *= exp(f->noise * normal(f, rep));
    if (f->outliers > 0 && uniform(f, rep, 2) < f->outliers)
        seconds *= f->outlier_factor;
    return seconds;
}

/* ---- the table ------------------------------------------------------------------------------- */

static llmperf_status fake_open(int index, const char *options, void **ret_handle,
                                llmperf_error *error)
{
    if (index != 0)
        return llmperf_fail(error, LLMPERF_E_USAGE, "backend fake has one device, 0; found %d",
                            index);
    fake *f = malloc(sizeof *f);
    if (!f)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    *f = DEFAULTS;
    llmperf_status status = backend_options_parse("fake", OPTIONS, options, f, error);
    if (status != LLMPERF_OK) {
        free(f);
        return status;
    }
    *ret_handle = f;
    return LLMPERF_OK;
}

static llmperf_status fake_describe(void *handle, llmperf_device *ret_device, llmperf_error *error)
{
    const fake *f = handle;
    (void)error;
    memset(ret_device, 0, sizeof *ret_device);
    snprintf(ret_device->backend, sizeof ret_device->backend, "fake");
    snprintf(ret_device->name, sizeof ret_device->name, "fake");
    snprintf(ret_device->kind, sizeof ret_device->kind, f->gpu > 0 ? "gpu" : "accelerator");
    snprintf(ret_device->library, sizeof ret_device->library, "formula");
    snprintf(ret_device->version, sizeof ret_device->version, "1");
    ret_device->simulated = true;
    ret_device->units = f->units;
    ret_device->memory_bytes = ret_device->memory_free_bytes = f->memory;
    ret_device->cache_bytes = f->cache;
    ret_device->state[0] = (llmperf_state_item){.key = "noise_frac", .number = f->noise};
    ret_device->state[1] = (llmperf_state_item){.key = "seed", .number = f->seed};
    ret_device->state_count = 2;
    llmperf_note(&ret_device->notes,
                 "not a real device: times come from a formula with %.3g %% "
                 "seeded noise",
                 f->noise * 100);
    return LLMPERF_OK;
}

static bool supports_op(const fake *f, const llmperf_op *op, llmperf_error *error)
{
    if (op->kind == LLMPERF_KIND_COLLECTIVE || op->kind == LLMPERF_KIND_SCAN) {
        llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend fake does not time a %s",
                     llmperf_kind_name((llmperf_op_kind)op->kind));
        return false;
    }
    bool refused = (f->unsupported >> op->dtype & 1) != 0;
    if (refused || (op->flop > 0 && !(f->peak[op->dtype] > 0))) {
        llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend fake does not support %s",
                     llmperf_dtype_name((llmperf_dtype)op->dtype));
        return false;
    }
    return true;
}

static bool fake_supports(void *handle, const llmperf_probe *probe, llmperf_error *error)
{
    const fake *f = handle;
    if (probe->best) {
        llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend fake has one algorithm alone");
        return false;
    }
    if (probe->eager) {
        llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend fake has no host that launches");
        return false;
    }
    if (probe->kind == LLMPERF_PROBE_OP)
        return supports_op(f, &probe->op, error);
    for (int i = 0; probe->kind == LLMPERF_PROBE_FORWARD && i < probe->op_count; i++)
        if (!supports_op(f, &probe->ops[i], error))
            return false;
    return true;
}

static double needed_bytes(const llmperf_probe *probe)
{
    double sum = 0;
    switch (probe->kind) {
    case LLMPERF_PROBE_OP:
        return probe->op.bytes;
    case LLMPERF_PROBE_READ:
    case LLMPERF_PROBE_WRITE:
    case LLMPERF_PROBE_H2D:
    case LLMPERF_PROBE_D2H:
        return probe->bytes;
    case LLMPERF_PROBE_COPY:
        return 2 * probe->bytes;
    case LLMPERF_PROBE_TRIAD:
        return 3 * probe->bytes;
    case LLMPERF_PROBE_FORWARD:
        for (int i = 0; i < probe->op_count; i++)
            sum = fmax(sum, probe->ops[i].bytes);
        return sum;
    case LLMPERF_PROBE_LAUNCH:
    case LLMPERF_PROBE_LAUNCH_GRAPH:
    case LLMPERF_PROBE_LAUNCH_HOST:
    case LLMPERF_PROBE_ROUND_TRIP:
    case LLMPERF_PROBE_COUNT:
        break;
    }
    return 0;
}

/* Call `now` lies in a stretch of `calls` calls from `at` on. */
static bool within(double now, double at, double calls)
{
    return at > 0 && now >= at && now < at + calls;
}

static llmperf_status fake_time_op(void *handle, const llmperf_probe *probe, int count,
                                   double *seconds, unsigned *ret_flags, llmperf_error *error)
{
    fake *f = handle;
    unsigned flags = 0;
    f->calls++;
    if (!fake_supports(f, probe, error))
        return LLMPERF_E_UNSUPPORTED;
    if (f->calls == f->fail_at)
        return llmperf_fail(error, LLMPERF_E_DEVICE, "fake: injected device error at call %.0f",
                            f->calls);
    if (f->calls == f->hang_at)
        return llmperf_fail(error, LLMPERF_E_DEVICE,
                            "fake: call %.0f did not end within its "
                            "time-out",
                            f->calls);
    if (f->calls == f->oom_at || needed_bytes(probe) > f->memory)
        return llmperf_fail(error, LLMPERF_E_MEMORY,
                            "fake: out of device memory: %.4g GB needed, "
                            "%.4g GB there",
                            needed_bytes(probe) / 1e9, f->memory / 1e9);
    double clean = clean_seconds(f, probe, &flags);
    if (within(f->calls, f->throttle_at, f->throttle_calls)) {
        clean *= f->throttle_factor;
        flags |= LLMPERF_SAMPLE_THROTTLED;
    }
    if (within(f->calls, f->contend_at, f->contend_calls)) {
        clean *= f->contend_factor;
        flags |= LLMPERF_SAMPLE_CONTENDED;
    }
    for (int i = 0; i < count; i++)
        seconds[i] = noisy(f, clean);
    *ret_flags = flags;
    return LLMPERF_OK;
}

static void fake_close(void *handle)
{
    free(handle);
}

const llmperf_backend *llmperf_backend_fake(void)
{
    static const llmperf_backend table = {
        .abi = LLMPERF_BACKEND_ABI,
        .name = "fake",
        .open = fake_open,
        .describe = fake_describe,
        .supports = fake_supports,
        .time_op = fake_time_op,
        .close = fake_close,
    };
    return &table;
}
