/* SPDX-License-Identifier: MIT */
/*
 * What to measure: the streams, products and attention shapes from which the time formula's
 * parameters separate. A new microbenchmark is a row here.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/measure.h"
#include "llmperf/samples.h"
#include "entry.h"

static const double MIB = 1048576, KIB = 1024;
static const double QUICK_BUDGET_S = 45, FULL_BUDGET_S = 370;
static const double QUICK_LIMIT_S = 1.5, FULL_LIMIT_S = 6;
/* device time is dear: what has not been measured by MOST is left out */
static const double GPU_QUICK_BUDGET_S = 40, GPU_FULL_BUDGET_S = 150;
static const double GPU_QUICK_MOST_S = 55, GPU_FULL_MOST_S = 170;
static const double GPU_QUICK_LIMIT_S = 0.5, GPU_FULL_LIMIT_S = 1;
static const double LINK_BYTES[] = {256 * 1048576.0, 4 * 1048576.0, 65536};
static const double MEMORY_SHARE = 0.6; /* of free memory, all buffers together */

/* ---- probes as text and numbers -------------------------------------------------------------- */

static void size_text(double bytes, char *buffer, size_t size)
{
    if (bytes >= 1024 * MIB)
        snprintf(buffer, size, "%.4g GiB", bytes / (1024 * MIB));
    else if (bytes >= MIB)
        snprintf(buffer, size, "%.4g MiB", bytes / MIB);
    else
        snprintf(buffer, size, "%.4g KiB", bytes / KIB);
}

static void describe_op(const llmperf_op *op, char *buffer, size_t size)
{
    const char *dtype = llmperf_dtype_name((llmperf_dtype)op->dtype);
    const char *regime = llmperf_regime_name((llmperf_regime)op->regime);
    char amount[32];
    switch (op->kind) {
    case LLMPERF_KIND_GEMM:
        snprintf(buffer, size, "%s %s m=%.0f n=%.0f k=%.0f", op->m == 1 ? "gemv" : "gemm", dtype,
                 op->m, op->n, op->k);
        return;
    case LLMPERF_KIND_ATTENTION:
        snprintf(buffer, size, "%s %s %s b=%.0f q=%.0f past=%.0f heads=%.0f/%.0f d=%.0f",
                 op->id == LLMPERF_OP_ATTN_SCORES ? "scores" : "attention", regime ? regime : "",
                 dtype, op->sequences, op->query_tokens, op->past_tokens, op->heads, op->kv_heads,
                 op->head_dim);
        return;
    default:
        size_text(op->bytes, amount, sizeof amount);
        snprintf(buffer, size, "%s %s %s", llmperf_kind_name((llmperf_op_kind)op->kind), dtype,
                 amount);
    }
}

char *llmperf_probe_describe(const llmperf_probe *probe, char *buffer, size_t size)
{
    if (!probe || !buffer || size == 0)
        return buffer;
    static const char *const WORDS[LLMPERF_PROBE_COUNT] = {
        [LLMPERF_PROBE_READ] = "read",
        [LLMPERF_PROBE_WRITE] = "write",
        [LLMPERF_PROBE_COPY] = "copy",
        [LLMPERF_PROBE_TRIAD] = "triad",
        [LLMPERF_PROBE_H2D] = "host to device",
        [LLMPERF_PROBE_D2H] = "device to host",
        [LLMPERF_PROBE_LAUNCH] = "empty launch",
        [LLMPERF_PROBE_LAUNCH_GRAPH] = "empty launch in a graph",
        [LLMPERF_PROBE_LAUNCH_HOST] = "empty launch, the host's cost",
        [LLMPERF_PROBE_ROUND_TRIP] = "empty launch, there and back",
    };
    char amount[32];
    if (size == 0)
        return buffer;
    buffer[0] = '\0';
    switch (probe->kind) {
    case LLMPERF_PROBE_OP:
        describe_op(&probe->op, buffer, size);
        if (probe->best && strlen(buffer) + 1 < size)
            snprintf(buffer + strlen(buffer), size - strlen(buffer), ", best");
        break;
    case LLMPERF_PROBE_READ:
    case LLMPERF_PROBE_WRITE:
    case LLMPERF_PROBE_COPY:
    case LLMPERF_PROBE_TRIAD:
    case LLMPERF_PROBE_H2D:
    case LLMPERF_PROBE_D2H:
        size_text(probe->bytes, amount, sizeof amount);
        snprintf(buffer, size, "%s %s", WORDS[probe->kind], amount);
        break;
    case LLMPERF_PROBE_LAUNCH:
    case LLMPERF_PROBE_LAUNCH_GRAPH:
    case LLMPERF_PROBE_LAUNCH_HOST:
    case LLMPERF_PROBE_ROUND_TRIP:
        snprintf(buffer, size, "%s", WORDS[probe->kind]);
        break;
    case LLMPERF_PROBE_FORWARD:
        snprintf(buffer, size, "whole step of %d operators%s", probe->op_count,
                 probe->eager ? ", launched one by one" : "");
        break;
    case LLMPERF_PROBE_COUNT:
        break;
    }
    return buffer;
}

double llmperf_probe_bytes(const llmperf_probe *probe)
{
    if (!probe)
        return 0;
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
            sum += probe->ops[i].repeat * probe->ops[i].bytes;
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

double llmperf_probe_flop(const llmperf_probe *probe)
{
    if (!probe)
        return 0;
    double sum = 0;
    if (probe->kind == LLMPERF_PROBE_OP)
        return probe->op.flop;
    for (int i = 0; probe->kind == LLMPERF_PROBE_FORWARD && i < probe->op_count; i++)
        sum += probe->ops[i].repeat * probe->ops[i].flop;
    return sum;
}

/* ---- the grids ------------------------------------------------------------------------------- */

/* Who measures a row: everyone, only a full run, only devices other than CPUs, only CPUs, on CPUs
 * only fp32
 * in a quick run. */
enum { ALWAYS = 0, FULL = 1, LARGE = 2, CPU = 4, FP32 = 8 };

/* Three weight sizes and more, so that t0 and bandwidth separate; k < 1024, so that the serial term
 * does; thin = every other m. On CPUs also sides that are no powers of two: rows that are a power of
 * two apart share cache sets, so such matrices alone would show libraries slower than they are. */
static const struct {
    double n, k;
    unsigned when;
    bool thin;
} GEMM[] = {
    {4096, 4096, ALWAYS, false},    {2048, 2048, FP32, true},   {1024, 1024, LARGE, true},
    {4096, 512, ALWAYS, true},      {1152, 896, CPU, true},     {896, 4864, CPU, true},
    {9728, 896, CPU | FP32, true},  {1024, 4096, FULL, true},   {11008, 4096, FULL, true},
    {4096, 11008, FULL, true},      {8192, 256, FULL, true},    {512, 2048, FULL, true},
    {5504, 2048, CPU | FULL, true}, {8192, 8192, LARGE, false}, {28672, 8192, LARGE, true},
    {8192, 28672, LARGE, true},
};

/* GPUs: long stretches of m where engines work (time is not monotone in m), few for the shapes that
 * tell bandwidth, t0 and the k loop apart. A dense layer of b sequences, s tokens and width h is the
 * row n = k = h with m = b s. */
static const struct {
    double n, k;
    unsigned when;
    bool thin;
} GPU_GEMM[] = {
    {4096, 4096, ALWAYS, false}, {8192, 8192, ALWAYS, false}, {28672, 8192, ALWAYS, true},
    {8192, 28672, FULL, true},   {1024, 1024, ALWAYS, true},  {4096, 512, ALWAYS, true},
    {8192, 256, FULL, true},     {1024, 4096, FULL, true},    {512, 2048, FULL, true},
    {2048, 2048, FULL, true},
};
static const double M_GPU[] = {1,   2,   4,   8,   16,  24,   32,   48,   64,  96,
                               128, 192, 256, 384, 512, 1024, 2048, 4096, 8192};
static const double M_GPU_SOME[] = {1, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
static const double M_GPU_FEW[] = {1, 16, 64, 256, 1024, 4096};
static const double M_GPU_QUICK[] = {1, 16, 64, 256, 1024, 8192};
static const double M_GPU_QUICK_FEW[] = {1, 64, 2048};

/* Products with one row are a regime of their own on CPUs: more weight sizes. */
static const struct {
    double n, k;
    unsigned when;
} GEMV[] = {{8192, 1024, FP32}, {11008, 4096, ALWAYS}, {2048, 1024, FP32},
            {512, 512, ALWAYS}, {32000, 2048, FULL},   {1024, 8192, FULL}};

static const double M_FULL[] = {1,   2,   4,   8,   16,  24,  32,   48,   64,   96,
                                128, 192, 256, 384, 512, 768, 1024, 2048, 4096, 8192};
static const double M_QUICK[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 2048, 8192};
static const double M_MOST_CPU_QUICK = 512, M_MOST_CPU = 1024;

typedef struct attention_row {
    double sequences, tokens, heads, kv_heads, head_dim;
    unsigned when;
} attention_row;

static const attention_row DECODE[] = {
    {1, 512, 32, 8, 128, ALWAYS},   {1, 4096, 32, 8, 128, ALWAYS},  {8, 1024, 32, 8, 128, ALWAYS},
    {4, 2048, 32, 32, 128, ALWAYS}, {16, 512, 32, 8, 128, FULL},    {1, 16384, 32, 8, 128, FULL},
    {32, 1024, 16, 16, 64, ALWAYS}, {4, 4096, 8, 1, 128, FULL},     {1, 2048, 32, 32, 128, FULL},
    {2, 8192, 32, 8, 128, FULL},    {64, 256, 16, 2, 64, ALWAYS},   {8, 4096, 28, 4, 128, FULL},
    {64, 4096, 32, 8, 128, LARGE},  {256, 1024, 64, 8, 128, LARGE}, {1, 131072, 64, 8, 128, LARGE},
    {8, 4096, 16, 8, 256, LARGE},   {32, 2048, 32, 4, 64, LARGE},   {16, 1024, 8, 8, 256, LARGE},
};

static const attention_row PREFILL[] = {
    {1, 128, 32, 8, 128, ALWAYS},  {1, 256, 32, 32, 128, ALWAYS}, {1, 512, 32, 8, 128, ALWAYS},
    {1, 1024, 16, 4, 128, ALWAYS}, {4, 128, 16, 16, 64, ALWAYS},  {1, 2048, 16, 4, 128, FULL},
    {8, 256, 16, 2, 64, FULL},     {1, 768, 32, 8, 128, FULL},    {1, 4096, 32, 8, 128, LARGE},
    {4, 2048, 64, 8, 128, LARGE},  {1, 16384, 32, 8, 128, LARGE},
};

static const struct {
    double tokens, width, reads;
    unsigned when;
} ELEMENTWISE[] = {
    {1, 1024, 1, CPU},      {4, 1024, 2, CPU},       {1, 4096, 1, ALWAYS},    {16, 4096, 1, ALWAYS},
    {256, 4096, 1, ALWAYS}, {4096, 4096, 1, ALWAYS}, {256, 11008, 2, ALWAYS}, {64, 4096, 1, FULL},
    {1024, 4096, 1, FULL},  {1024, 11008, 2, FULL},  {16384, 8192, 1, LARGE},
};

/* In the order of interest: what LLMs are served in. */
enum { FORMATS = 7 };
static const llmperf_dtype DTYPES[FORMATS] = {LLMPERF_DTYPE_FP32, LLMPERF_DTYPE_TF32,
                                              LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP16,
                                              LLMPERF_DTYPE_FP8,  LLMPERF_DTYPE_INT8};
static const llmperf_dtype GPU_DTYPES[FORMATS] = {
    LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP8,  LLMPERF_DTYPE_NVFP4, LLMPERF_DTYPE_FP16,
    LLMPERF_DTYPE_TF32, LLMPERF_DTYPE_INT8, LLMPERF_DTYPE_FP32};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A plan being made. */
typedef struct planner {
    const llmperf_backend *backend;
    void *handle;
    llmperf_device device;
    bool quick, is_cpu, is_gpu;
    double most_bytes; /* that one probe may ask for */
    llmperf_probe_plan *plan;
    int room;
    llmperf_error *error;
    llmperf_status status;
} planner;

static bool wanted(const planner *p, unsigned when, llmperf_dtype dtype)
{
    if ((when & FULL) && p->quick)
        return false;
    if ((when & FP32) && p->is_cpu && p->quick && dtype != LLMPERF_DTYPE_FP32)
        return false;
    return !(when & (p->is_cpu ? LARGE : CPU));
}

static void note_once(llmperf_notes *notes, const char *text)
{
    char line[LLMPERF_TEXT_MAX];
    snprintf(line, sizeof line, "%.*s", (int)sizeof line - 1, text);
    for (int i = 0; i < notes->count; i++)
        if (strcmp(notes->text[i], line) == 0)
            return;
    llmperf_note(notes, "%s", line);
}

/* Adds a probe that the device supports; returns whether it does. */
static bool add(planner *p, const llmperf_probe *probe)
{
    llmperf_error reason = {0};
    llmperf_probe_plan *plan = p->plan;
    if (p->status != LLMPERF_OK || llmperf_probe_bytes(probe) > p->most_bytes)
        return false;
    if (!p->backend->supports(p->handle, probe, &reason)) {
        note_once(&plan->skipped, reason.text);
        return false;
    }
    if (plan->count == p->room) {
        int room = p->room ? 2 * p->room : 128;
        llmperf_probe *grown = realloc(plan->probe, (size_t)room * sizeof *grown);
        if (!grown) {
            p->status = llmperf_fail(p->error, LLMPERF_E_MEMORY, "out of memory");
            return false;
        }
        plan->probe = grown;
        p->room = room;
    }
    plan->probe[plan->count++] = *probe;
    return true;
}

static void add_op(planner *p, llmperf_op op)
{
    add(p, &(llmperf_probe){.kind = LLMPERF_PROBE_OP, .op = op, .cold = true});
}

static void add_bytes(planner *p, llmperf_probe_kind kind, double bytes)
{
    add(p, &(llmperf_probe){.kind = kind, .bytes = bytes, .cold = true});
}

/* Launches in their forms, and the link to the host, whose time against size has a latency. */
static void add_host(planner *p)
{
    add(p, &(llmperf_probe){.kind = LLMPERF_PROBE_LAUNCH});
    if (!p->is_gpu)
        return;
    add(p, &(llmperf_probe){.kind = LLMPERF_PROBE_LAUNCH_GRAPH});
    add(p, &(llmperf_probe){.kind = LLMPERF_PROBE_LAUNCH_HOST});
    add(p, &(llmperf_probe){.kind = LLMPERF_PROBE_ROUND_TRIP});
    for (size_t i = 0; i < COUNT(LINK_BYTES) && (i == 0 || !p->quick); i++) {
        add_bytes(p, LLMPERF_PROBE_H2D, LINK_BYTES[i]);
        add_bytes(p, LLMPERF_PROBE_D2H, LINK_BYTES[i]);
    }
}

/* Memory: buffers of several caches. Cache: read sizes from where one core's cache ends upwards,
 * so that the plateaus are seen where they are, not where they are advertised. */
static void add_streams(planner *p)
{
    double cache = p->device.cache_bytes > 0 ? p->device.cache_bytes : 32 * MIB;
    /* so long that a GPU's start and end of a launch do not count */
    double least = p->is_cpu ? 256 * MIB : p->is_gpu ? 2048 * MIB : 512 * MIB;
    double memory = fmax(4 * cache, least);
    memory = fmin(memory, p->most_bytes / 3);
    add_bytes(p, LLMPERF_PROBE_READ, memory);
    if (p->is_gpu)
        add_bytes(p, LLMPERF_PROBE_WRITE, memory);
    add_bytes(p, LLMPERF_PROBE_COPY, memory);
    add_bytes(p, LLMPERF_PROBE_TRIAD, memory);
    int64_t from = p->is_cpu ? 256 << 10 : 2 << 20;
    for (int64_t bytes = from; (double)bytes < memory; bytes *= p->quick ? 4 : 2)
        add(p, &(llmperf_probe){.kind = LLMPERF_PROBE_READ, .bytes = (double)bytes});
    p->plan->watch = (llmperf_probe){.kind = LLMPERF_PROBE_READ, .bytes = memory, .cold = true};
}

static llmperf_op gemm(llmperf_dtype dtype, double m, double n, double k)
{
    return llmperf_sample_gemm(dtype, LLMPERF_DTYPE_NONE, m, n, k);
}

static void add_gemms(planner *p, llmperf_dtype dtype)
{
    const double *grid = p->quick ? M_QUICK : M_FULL;
    int count = (int)(p->quick ? COUNT(M_QUICK) : COUNT(M_FULL));
    double most = !p->is_cpu ? INFINITY : p->quick ? M_MOST_CPU_QUICK : M_MOST_CPU;
    for (size_t s = 0; s < COUNT(GEMM); s++) {
        if (!wanted(p, GEMM[s].when, dtype))
            continue;
        for (int i = 0; i < count && grid[i] <= most; i++) {
            /* thin: 1, 4, 16, 64 ... or in a full run every other; on CPUs 2 as well, where libraries
             * have a kernel for few rows that differs from that for more */
            if (GEMM[s].thin && i % 2 == 1 && !(p->is_cpu && grid[i] == 2))
                continue;
            add_op(p, gemm(dtype, grid[i], GEMM[s].n, GEMM[s].k));
        }
    }
}

/* Both the library's first choice, which engines get, and the fastest that it has. */
static void add_gpu_gemm(planner *p, llmperf_op op)
{
    llmperf_probe probe = {.kind = LLMPERF_PROBE_OP, .op = op, .cold = true};
    if (!add(p, &probe))
        return;
    probe.best = true;
    if ((!p->quick || op.m >= 1024) && p->backend->supports(p->handle, &probe, NULL))
        add(p, &probe);
}

/* Formats that LLMs are served in get the long stretches. */
static void add_gpu_gemms(planner *p, llmperf_dtype dtype)
{
    bool served = dtype == LLMPERF_DTYPE_BF16 || dtype == LLMPERF_DTYPE_FP8;
    for (size_t s = 0; s < COUNT(GPU_GEMM); s++) {
        bool thin = GPU_GEMM[s].thin;
        const double *grid = p->quick ? (thin ? M_GPU_QUICK_FEW : M_GPU_QUICK)
                             : thin   ? M_GPU_FEW
                             : served ? M_GPU
                                      : M_GPU_SOME;
        size_t count = p->quick ? (thin ? COUNT(M_GPU_QUICK_FEW) : COUNT(M_GPU_QUICK))
                       : thin   ? COUNT(M_GPU_FEW)
                       : served ? COUNT(M_GPU)
                                : COUNT(M_GPU_SOME);
        for (size_t i = 0; i < count && wanted(p, GPU_GEMM[s].when, dtype); i++)
            add_gpu_gemm(p, gemm(dtype, grid[i], GPU_GEMM[s].n, GPU_GEMM[s].k));
    }
}

static void add_gemvs(planner *p, llmperf_dtype dtype)
{
    for (size_t i = 0; p->is_cpu && i < COUNT(GEMV); i++)
        if (wanted(p, GEMV[i].when, dtype))
            add_op(p, gemm(dtype, 1, GEMV[i].n, GEMV[i].k));
}

static bool supports_gemm(planner *p, llmperf_dtype dtype, llmperf_error *reason)
{
    const llmperf_probe probe = {
        .kind = LLMPERF_PROBE_OP, .op = gemm(dtype, 16, 1024, 1024), .cold = true};
    return p->backend->supports(p->handle, &probe, reason);
}

/* One line for all formats without a product: their names and the first reason. */
static void note_formats(planner *p, const llmperf_dtype *dtypes, const bool *has)
{
    char names[128] = "";
    llmperf_error reason = {0};
    for (size_t i = 0; i < FORMATS; i++) {
        size_t used = strlen(names);
        if (has[i] || dtypes[i] == LLMPERF_DTYPE_NONE)
            continue;
        if (!used)
            supports_gemm(p, dtypes[i], &reason);
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                 llmperf_dtype_name(dtypes[i]));
    }
    if (names[0])
        llmperf_note(&p->plan->skipped, "%s (%s)", names, reason.text);
}

static void add_attention(planner *p, llmperf_dtype dtype, const attention_row *row, bool decode)
{
    llmperf_attention_shape shape = {.dtype = dtype,
                                     .sequences = row->sequences,
                                     .heads = row->heads,
                                     .kv_heads = row->kv_heads,
                                     .head_dim = row->head_dim};
    shape.query_tokens = decode ? 1 : row->tokens;
    shape.past_tokens = decode ? row->tokens - 1 : 0;
    if (wanted(p, row->when, dtype))
        add_op(p, llmperf_sample_attention(&shape));
}

/* Runs in formats of 16 bit and more. */
static void add_attentions(planner *p, llmperf_dtype dtype)
{
    for (size_t i = 0; i < COUNT(DECODE); i++)
        add_attention(p, dtype, &DECODE[i], true);
    for (size_t i = 0; i < COUNT(PREFILL); i++)
        add_attention(p, dtype, &PREFILL[i], false);
}

/* Attention against batch and length as batched products, both phases: scores of n heads. */
static void add_scores(planner *p, llmperf_dtype dtype)
{
    static const double BATCH[] = {1, 8, 64}, TOKENS[] = {128, 512, 2048},
                        CACHED[] = {512, 2048, 8192};
    llmperf_attention_shape shape = {.dtype = dtype, .heads = 16, .kv_heads = 16, .head_dim = 128};
    for (size_t b = 0; b < COUNT(BATCH); b++)
        for (size_t t = 0; t < COUNT(TOKENS); t++) {
            shape.sequences = BATCH[b];
            shape.query_tokens = TOKENS[t];
            shape.past_tokens = 0;
            add_op(p, llmperf_sample_scores(&shape));
            shape.query_tokens = 1;
            shape.past_tokens = CACHED[t] - 1;
            add_op(p, llmperf_sample_scores(&shape));
        }
}

/* Counted by bytes, computed in fp32 whatever the format: one tells all, the narrowest of 16 bit and
 * more. */
static void add_elementwise(planner *p, const llmperf_dtype *dtypes, const bool *has)
{
    llmperf_dtype dtype = LLMPERF_DTYPE_NONE;
    for (size_t i = 0; i < FORMATS; i++)
        if (has[i] && llmperf_dtype_bits(dtypes[i]) >= 16 &&
            (!dtype || llmperf_dtype_bits(dtypes[i]) <= llmperf_dtype_bits(dtype)))
            dtype = dtypes[i];
    for (size_t i = 0; dtype && i < COUNT(ELEMENTWISE); i++) {
        double values = ELEMENTWISE[i].tokens * ELEMENTWISE[i].width;
        if (wanted(p, ELEMENTWISE[i].when, dtype))
            add_op(p, llmperf_sample_elementwise(dtype, values * ELEMENTWISE[i].reads, values));
    }
}

/* Products and attention of one format. */
static void add_format(planner *p, llmperf_dtype dtype)
{
    if (p->is_gpu)
        add_gpu_gemms(p, dtype);
    else
        add_gemms(p, dtype);
    add_gemvs(p, dtype);
    if (llmperf_dtype_bits(dtype) >= 16 && dtype != LLMPERF_DTYPE_TF32)
        add_attentions(p, dtype);
    if (p->is_gpu && !p->quick && dtype == GPU_DTYPES[0])
        add_scores(p, dtype);
}

/* What the device is decides the grid and its time. */
static llmperf_status look_at(planner *p)
{
    llmperf_status status = p->backend->describe(p->handle, &p->device, p->error);
    const llmperf_device *d = &p->device;
    p->is_cpu = strcmp(d->kind, "cpu") == 0;
    p->is_gpu = strcmp(d->kind, "gpu") == 0;
    p->plan->budget_s = p->quick ? QUICK_BUDGET_S : FULL_BUDGET_S;
    p->plan->time_limit_s = p->quick ? QUICK_LIMIT_S : FULL_LIMIT_S;
    if (p->is_gpu) {
        p->plan->budget_s = p->quick ? GPU_QUICK_BUDGET_S : GPU_FULL_BUDGET_S;
        p->plan->time_limit_s = p->quick ? GPU_QUICK_LIMIT_S : GPU_FULL_LIMIT_S;
        p->plan->most_s = p->quick ? GPU_QUICK_MOST_S : GPU_FULL_MOST_S;
    }
    double free_bytes = d->memory_free_bytes > 0 ? d->memory_free_bytes : d->memory_bytes;
    p->most_bytes = free_bytes > 0 ? MEMORY_SHARE * free_bytes : INFINITY;
    return status;
}

static llmperf_status plan_all(planner *p)
{
    const llmperf_notes *skipped = &p->plan->skipped;
    add_streams(p);
    add_host(p);
    const llmperf_dtype *dtypes = p->is_gpu ? GPU_DTYPES : DTYPES;
    bool has[FORMATS] = {false};
    for (size_t i = 0; i < FORMATS; i++)
        has[i] = dtypes[i] && supports_gemm(p, dtypes[i], NULL);
    if (p->is_gpu) /* the time may not last for all formats */
        add_elementwise(p, dtypes, has);
    for (size_t i = 0; i < FORMATS; i++)
        if (has[i])
            add_format(p, dtypes[i]);
    if (!p->is_gpu)
        add_elementwise(p, dtypes, has);
    note_formats(p, dtypes, has);
    if (p->status == LLMPERF_OK && p->plan->count == 0)
        p->status = llmperf_fail(
            p->error, LLMPERF_E_UNSUPPORTED, "nothing can be measured on this device%s%s",
            skipped->count ? ": " : "", skipped->count ? skipped->text[0] : "");
    return p->status;
}

llmperf_status llmperf_probe_plan_make(const llmperf_backend *backend, void *handle, bool quick,
                                       llmperf_probe_plan *ret_plan, llmperf_error *error)
{
    NEEDS(backend && ret_plan, error);
    llmperf_probe_plan *plan = calloc(1, sizeof *plan);
    planner *p = calloc(1, sizeof *p);
    llmperf_status status = LLMPERF_OK;
    if (!plan || !p) {
        free(plan);
        free(p);
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    *p = (planner){
        .backend = backend, .handle = handle, .quick = quick, .plan = plan, .error = error};
    status = look_at(p);
    if (status == LLMPERF_OK)
        status = plan_all(p);
    if (status == LLMPERF_OK)
        *ret_plan = *plan;
    else
        free(plan->probe);
    free(plan);
    free(p);
    return status;
}

void llmperf_probe_plan_free(llmperf_probe_plan *plan)
{
    if (!plan)
        return;
    free(plan->probe);
    memset(plan, 0, sizeof *plan);
}
