/* SPDX-License-Identifier: MIT */
/*
 * Probes ready to be timed. What is timed is a unit of work (a launch, an operator, a whole step)
 * captured into a graph as many times as it has copies, and the graph replayed; streams and
 * operators have a plan each, so that a stream that watches for company costs no rebuilding.
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda.h"

enum {
    NODES_MOST = 1024,   /* launches in one graph */
    EAGER_MOST = 256,    /* launches that the driver queues behind the gate */
    HOST_LAUNCHES = 128, /* timed by the host's clock */
    GRIDS = 4,           /* sizes of a stream's grid that are tried */
    TRIAL = 3,
};

static const double WINDOW_S = 400e-6; /* what lies between two events at least */
static const double SHORT_S = 200e-6;  /* units below this are told by a slope */
static const double GRAPH_MOST_S = 20e-3;
/* products of 0.3 ms and more warm up first, those that run at the power cap longer */
static const double HEATED_S = 300e-6, HEAT_S = 0.12, HOT_S = 1e-3, HOT_HEAT_S = 0.3;
static const double BATCH_S = 20e-3; /* of warming work queued at a time */
static const double SETTLED_FRAC = 0.015;
enum { SETTLED_READINGS = 4, SETTLE_SIDE = 8192 };
static const double SETTLE_STEP_S = 0.1;

struct cuda_plan {
    llmperf_probe probe;
    llmperf_op *ops; /* PROBE_FORWARD: a copy of the probe's */
    cuda_job *jobs;
    int64_t *runs; /* how often each has run in this step */
    int job_count;
    int64_t layers;
    uint64_t words;  /* of a stream */
    uint32_t blocks; /* its grid */
    void *host;      /* pinned, of a host link */
    cu_graph_exec exec;
    int iterations; /* units in the graph, 1 without */
    int times;      /* graphs (or units) in the shorter stretch of a window */
    bool slope;
};

/* ---- identity ---------------------------------------------------------------------------------- */

static bool is_operator(const llmperf_probe *p)
{
    return p->kind == LLMPERF_PROBE_OP || p->kind == LLMPERF_PROBE_FORWARD;
}

/* All but `best`, which is a choice inside a plan. */
static bool is_same(const cuda_plan *plan, const llmperf_probe *p)
{
    const llmperf_probe *q = &plan->probe;
    if (p->kind != q->kind || p->bytes != q->bytes || p->cold != q->cold || p->eager != q->eager)
        return false;
    if (p->kind == LLMPERF_PROBE_OP)
        return memcmp(&p->op, &q->op, sizeof p->op) == 0;
    if (p->kind == LLMPERF_PROBE_FORWARD)
        return p->op_count == q->op_count &&
               memcmp(p->ops, plan->ops, (size_t)p->op_count * sizeof *p->ops) == 0;
    return true;
}

static void drop_graph(cuda_device *d, cuda_plan *plan)
{
    if (plan->exec)
        d->driver.cuGraphExecDestroy(plan->exec);
    plan->exec = NULL;
}

void cuda_plan_free(cuda_device *d, cuda_plan *plan)
{
    if (!plan)
        return;
    if (!d->hung) /* else every call may wait for ever */
        drop_graph(d, plan);
    for (int i = 0; plan->jobs && i < plan->job_count; i++) /* descriptors: the host's alone */
        cuda_job_free(d, &plan->jobs[i]);
    if (plan->host && !d->hung)
        d->driver.cuMemFreeHost(plan->host);
    free(plan->jobs);
    free(plan->runs);
    free(plan->ops);
    free(plan);
}

/* ---- one unit of work -------------------------------------------------------------------------- */

static llmperf_status run_stream(cuda_device *d, const cuda_plan *plan, llmperf_error *error)
{
    static const int FUNCTION[LLMPERF_PROBE_COUNT] = {[LLMPERF_PROBE_READ] = CUDA_FN_kernel_read,
                                                      [LLMPERF_PROBE_WRITE] = CUDA_FN_kernel_write,
                                                      [LLMPERF_PROBE_COPY] = CUDA_FN_kernel_copy,
                                                      [LLMPERF_PROBE_TRIAD] = CUDA_FN_kernel_triad};
    cu_address base = d->arena[CUDA_ARENA_STREAM].address;
    cu_address apart = cuda_aligned((double)plan->words * 16);
    bool is_write = plan->probe.kind == LLMPERF_PROBE_WRITE;
    kernel_stream_args a = {
        .a = (const void *)(uintptr_t)base,
        .b = (const void *)(uintptr_t)(base + 2 * apart),
        .c = (void *)(uintptr_t)(is_write ? base : base + apart),
        .words = plan->words,
        .scale = 0.5F,
        .sink = (uint32_t *)(uintptr_t)(d->arena[CUDA_ARENA_SMALL].address + 512),
    };
    return cuda_launch(d, FUNCTION[plan->probe.kind], plan->blocks, 1, 1, KERNEL_THREADS, 0, &a,
                       error);
}

static llmperf_status run_empty(cuda_device *d, llmperf_error *error)
{
    kernel_empty_args a = {0};
    return cuda_launch(d, CUDA_FN_kernel_empty, 1, 1, 1, 32, 0, &a, error);
}

static llmperf_status run_link(cuda_device *d, const cuda_plan *plan, llmperf_error *error)
{
    cu_address device = d->arena[CUDA_ARENA_STREAM].address;
    size_t bytes = (size_t)plan->probe.bytes;
    if (plan->probe.kind == LLMPERF_PROBE_H2D)
        return CUDA_CALL(d, error, cuMemcpyHtoDAsync_v2, device, plan->host, bytes, d->stream);
    return CUDA_CALL(d, error, cuMemcpyDtoHAsync_v2, plan->host, device, bytes, d->stream);
}

/* What is part of the operator that follows it (a residual add) is no launch of its own. */
static llmperf_status run_op(cuda_device *d, cuda_plan *plan, int i, llmperf_error *error)
{
    return plan->ops[i].launches > 0 ? cuda_job_run(d, &plan->jobs[i], error) : LLMPERF_OK;
}

/* Layer by layer in the order of `ops`; what runs once opens or closes the step. */
static llmperf_status run_forward(cuda_device *d, cuda_plan *plan, llmperf_error *error)
{
    const llmperf_op *ops = plan->ops;
    int count = plan->job_count, first = 0;
    llmperf_status status = LLMPERF_OK;
    while (first < count && ops[first].repeat <= 1)
        first++;
    for (int i = 0; i < count; i++) {
        plan->jobs[i].turn = 0;
        plan->runs[i] = 0;
    }
    for (int i = 0; i < first && status == LLMPERF_OK; i++)
        status = run_op(d, plan, i, error);
    for (int64_t layer = 1; layer <= plan->layers; layer++)
        for (int i = first; i < count; i++) {
            if (ops[i].repeat <= 1)
                continue;
            double share = (double)layer / (double)plan->layers;
            int64_t due = (int64_t)floor(ops[i].repeat * share + 1e-9);
            for (; plan->runs[i] < due && status == LLMPERF_OK; plan->runs[i]++)
                status = run_op(d, plan, i, error);
        }
    for (int i = first; i < count && status == LLMPERF_OK; i++)
        if (ops[i].repeat <= 1)
            status = run_op(d, plan, i, error);
    return status;
}

static llmperf_status run_unit(cuda_device *d, cuda_plan *plan, llmperf_error *error)
{
    switch (plan->probe.kind) {
    case LLMPERF_PROBE_OP:
        return cuda_job_run(d, &plan->jobs[0], error);
    case LLMPERF_PROBE_FORWARD:
        return run_forward(d, plan, error);
    case LLMPERF_PROBE_H2D:
    case LLMPERF_PROBE_D2H:
        return run_link(d, plan, error);
    case LLMPERF_PROBE_LAUNCH:
    case LLMPERF_PROBE_LAUNCH_GRAPH:
    case LLMPERF_PROBE_LAUNCH_HOST:
    case LLMPERF_PROBE_ROUND_TRIP:
        return run_empty(d, error);
    default:
        return run_stream(d, plan, error);
    }
}

/* cuda_work: units one by one, or graphs of them. */
static llmperf_status run_units(cuda_device *d, void *context, int times, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; i < times && status == LLMPERF_OK; i++)
        status = run_unit(d, context, error);
    return status;
}

static llmperf_status run_graphs(cuda_device *d, void *context, int times, llmperf_error *error)
{
    const cuda_plan *plan = context;
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; i < times && status == LLMPERF_OK; i++)
        status = CUDA_CALL(d, error, cuGraphLaunch, plan->exec, d->stream);
    return status;
}

/* ---- graphs ------------------------------------------------------------------------------------ */

static llmperf_status capture(cuda_device *d, cuda_plan *plan, llmperf_error *error)
{
    cu_graph graph = NULL;
    llmperf_status status =
        CUDA_CALL(d, error, cuStreamBeginCapture_v2, d->stream, CU_CAPTURE_THREAD_LOCAL);
    if (status != LLMPERF_OK)
        return status;
    status = run_units(d, plan, plan->iterations, error);
    cu_result ended = d->driver.cuStreamEndCapture(d->stream, &graph); /* also after a failure */
    if (status == LLMPERF_OK)
        status = cuda_check(d, ended, "cuStreamEndCapture", error);
    if (status == LLMPERF_OK)
        status = CUDA_CALL(d, error, cuGraphInstantiateWithFlags, &plan->exec, graph, 0);
    if (graph)
        d->driver.cuGraphDestroy(graph);
    if (status == LLMPERF_OK) /* the first launch also sends the graph to the device */
        status = run_graphs(d, plan, 1, error);
    return status == LLMPERF_OK ? cuda_wait(d, error) : status;
}

static int64_t copies_of(const cuda_plan *plan)
{
    return plan->probe.kind == LLMPERF_PROBE_OP ? plan->jobs[0].copies : 1;
}

static bool is_recorded(const cuda_plan *plan)
{
    switch (plan->probe.kind) {
    case LLMPERF_PROBE_LAUNCH:
    case LLMPERF_PROBE_LAUNCH_HOST:
    case LLMPERF_PROBE_ROUND_TRIP:
    case LLMPERF_PROBE_H2D:
    case LLMPERF_PROBE_D2H:
        return false;
    default:
        return !plan->probe.eager;
    }
}

/* Units in a graph and graphs in a window, from what one unit takes. */
static llmperf_status size_window(cuda_device *d, cuda_plan *plan, double unit_s,
                                  llmperf_error *error)
{
    double copies = (double)copies_of(plan), least = ceil(WINDOW_S / unit_s);
    double units = copies * ceil(fmax(least, 1) / copies);
    drop_graph(d, plan);
    plan->slope = unit_s < SHORT_S && plan->probe.kind != LLMPERF_PROBE_FORWARD;
    plan->iterations = 1;
    plan->times = (int)fmin(EAGER_MOST / 3.0, fmax(least, 1));
    if (!is_recorded(plan))
        return LLMPERF_OK;
    if (units * unit_s > GRAPH_MOST_S)
        units = floor(GRAPH_MOST_S / unit_s);
    plan->iterations = (int)fmax(1, fmin(units, NODES_MOST));
    if (plan->probe.kind == LLMPERF_PROBE_FORWARD)
        plan->iterations = 1;
    plan->times = (int)fmax(1, ceil(WINDOW_S / (unit_s * plan->iterations)));
    plan->times = plan->times > 8 ? 8 : plan->times;
    return capture(d, plan, error);
}

/* ---- preparing --------------------------------------------------------------------------------- */

/* Weights and KV cache of one operator: so many copies in turn that no cache keeps them. */
static llmperf_status prepare_op(cuda_device *d, cuda_plan *plan, llmperf_error *error)
{
    plan->jobs = calloc(1, sizeof *plan->jobs);
    if (!plan->jobs)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    plan->job_count = 1;
    cuda_job *j = plan->jobs;
    llmperf_status status = cuda_job_init(d, &plan->probe.op, plan->probe.cold, j, error);
    if (status == LLMPERF_OK)
        status =
            cuda_reserve(d, j->op.kind == LLMPERF_KIND_GEMM ? CUDA_ARENA_WEIGHTS : CUDA_ARENA_KV,
                         j->stride * (double)j->copies, error);
    if (status == LLMPERF_OK)
        status = cuda_job_reserve(d, j, error);
    return status == LLMPERF_OK ? cuda_job_prepare(d, j, true, error) : status;
}

/* Layers' own copies if they fit, else as many as do. */
static void place_jobs(const cuda_device *d, cuda_plan *plan, double total, double at[2])
{
    double most = 0.8 * cuda_most_bytes(d), held = total > most ? most / total : 1;
    for (int i = 0; i < plan->job_count; i++) {
        cuda_job *j = &plan->jobs[i];
        int which = j->op.kind != LLMPERF_KIND_GEMM;
        j->copies = (int64_t)fmax(1, floor(plan->ops[i].repeat * held));
        *(which ? &j->kv_at : &j->weights_at) = at[which];
        at[which] += j->stride * (double)j->copies;
    }
}

static llmperf_status prepare_forward(cuda_device *d, cuda_plan *plan, llmperf_error *error)
{
    size_t count = (size_t)plan->probe.op_count;
    double total = 0, at[2] = {0, 0};
    llmperf_status status = LLMPERF_OK;
    plan->ops = malloc((count + 1) * sizeof *plan->ops);
    plan->jobs = calloc(count + 1, sizeof *plan->jobs);
    plan->runs = calloc(count + 1, sizeof *plan->runs);
    if (!plan->ops || !plan->jobs || !plan->runs)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    memcpy(plan->ops, plan->probe.ops, count * sizeof *plan->ops);
    plan->probe.ops = plan->ops;
    plan->job_count = (int)count;
    plan->layers = 1;
    for (size_t i = 0; i < count && status == LLMPERF_OK; i++) {
        status = cuda_job_init(d, &plan->ops[i], false, &plan->jobs[i], error);
        total += plan->jobs[i].stride * fmax(1, plan->ops[i].repeat);
        if (plan->ops[i].repeat > (double)plan->layers)
            plan->layers = (int64_t)ceil(plan->ops[i].repeat);
    }
    if (status == LLMPERF_OK)
        place_jobs(d, plan, total, at);
    for (size_t i = 0; i < count && status == LLMPERF_OK; i++)
        status = cuda_job_reserve(d, &plan->jobs[i], error);
    if (status == LLMPERF_OK)
        status = cuda_reserve(d, CUDA_ARENA_WEIGHTS, at[0], error);
    if (status == LLMPERF_OK)
        status = cuda_reserve(d, CUDA_ARENA_KV, at[1], error);
    for (size_t i = 0; i < count && status == LLMPERF_OK; i++)
        status = cuda_job_prepare(d, &plan->jobs[i], false, error);
    return status;
}

/* The grid that moves most: loads in flight against the tail of the last wave. */
static llmperf_status choose_grid(cuda_device *d, cuda_plan *plan, llmperf_error *error)
{
    static const uint32_t PER_UNIT[GRIDS] = {8, 4, 16, 32};
    double best_s = INFINITY;
    uint32_t best = 0;
    for (int i = 0; i < GRIDS; i++) {
        double seconds = 0, least_s = INFINITY;
        plan->blocks = PER_UNIT[i] * (uint32_t)d->facts.units;
        for (int t = 0; t < TRIAL; t++) {
            llmperf_status status = cuda_time(d, run_units, plan, 2, false, &seconds, error);
            if (status != LLMPERF_OK)
                return status;
            least_s = fmin(least_s, seconds);
        }
        if (least_s < best_s) {
            best_s = least_s;
            best = plan->blocks;
        }
    }
    plan->blocks = best;
    return LLMPERF_OK;
}

static llmperf_status prepare_stream(cuda_device *d, cuda_plan *plan, llmperf_error *error)
{
    plan->words = (uint64_t)(plan->probe.bytes / 16);
    if (plan->words == 0)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend cuda: a stream of no bytes");
    double one = (double)cuda_aligned((double)plan->words * 16);
    double buffers = plan->probe.kind == LLMPERF_PROBE_TRIAD  ? 3
                     : plan->probe.kind == LLMPERF_PROBE_COPY ? 2
                                                              : 1;
    llmperf_status status = cuda_reserve(d, CUDA_ARENA_STREAM, buffers * one, error);
    if (status == LLMPERF_OK)
        status =
            cuda_fill(d, d->arena[CUDA_ARENA_STREAM].address, buffers * one, KERNEL_FP32, 4, error);
    return status == LLMPERF_OK ? choose_grid(d, plan, error) : status;
}

/* Processors beside the device: memory pinned from there lies there. */
static bool near_processors(const cuda_device *d, cpu_set_t *ret_set)
{
    char path[128], text[1024] = "", id[32];
    snprintf(id, sizeof id, "%s", d->facts.pci);
    for (char *c = id; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/local_cpulist", id);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    CPU_ZERO(ret_set);
    for (char *at = text; read && *at >= '0' && *at <= '9';) {
        long from = strtol(at, &at, 10), to = *at == '-' ? strtol(at + 1, &at, 10) : from;
        for (long i = from; i <= to && i < CPU_SETSIZE; i++)
            CPU_SET((size_t)i, ret_set);
        at += *at == ',';
    }
    return CPU_COUNT(ret_set) > 0;
}

static llmperf_status prepare_link(cuda_device *d, cuda_plan *plan, llmperf_error *error)
{
    cpu_set_t before, near;
    size_t bytes = (size_t)plan->probe.bytes;
    if (bytes == 0)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend cuda: a transfer of no bytes");
    llmperf_status status = cuda_reserve(d, CUDA_ARENA_STREAM, (double)bytes, error);
    if (status != LLMPERF_OK)
        return status;
    bool moved = sched_getaffinity(0, sizeof before, &before) == 0 && near_processors(d, &near) &&
                 sched_setaffinity(0, sizeof near, &near) == 0;
    status = CUDA_CALL(d, error, cuMemHostAlloc, &plan->host, bytes, CU_HOST_ALLOC_PORTABLE);
    if (status == LLMPERF_OK)
        memset(plan->host, 1, bytes);
    else
        plan->host = NULL;
    if (moved)
        sched_setaffinity(0, sizeof before, &before);
    return status;
}

static llmperf_status prepare(cuda_device *d, cuda_plan *plan, llmperf_error *error)
{
    switch (plan->probe.kind) {
    case LLMPERF_PROBE_OP:
        return prepare_op(d, plan, error);
    case LLMPERF_PROBE_FORWARD:
        return prepare_forward(d, plan, error);
    case LLMPERF_PROBE_READ:
    case LLMPERF_PROBE_WRITE:
    case LLMPERF_PROBE_COPY:
    case LLMPERF_PROBE_TRIAD:
        return prepare_stream(d, plan, error);
    case LLMPERF_PROBE_H2D:
    case LLMPERF_PROBE_D2H:
        return prepare_link(d, plan, error);
    case LLMPERF_PROBE_LAUNCH:
    case LLMPERF_PROBE_LAUNCH_GRAPH:
    case LLMPERF_PROBE_LAUNCH_HOST:
    case LLMPERF_PROBE_ROUND_TRIP:
        return LLMPERF_OK;
    case LLMPERF_PROBE_COUNT:
        break;
    }
    return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend cuda: unknown probe");
}

/* How long one unit takes: the first touch aside. */
static llmperf_status estimate_unit(cuda_device *d, cuda_plan *plan, double *ret_s,
                                    llmperf_error *error)
{
    bool whole = plan->probe.kind == LLMPERF_PROBE_FORWARD;
    llmperf_status status = run_unit(d, plan, error);
    if (status == LLMPERF_OK)
        status = cuda_wait(d, error);
    if (status == LLMPERF_OK)
        status = cuda_time(d, run_units, plan, 1, false, ret_s, error);
    if (status == LLMPERF_OK && *ret_s < SHORT_S && !whole)
        status = cuda_time(d, run_units, plan, 4, true, ret_s, error);
    return status;
}

/* Long products run for a moment before they are timed: power and clocks are then those of load. */
static llmperf_status heat(cuda_device *d, cuda_plan *plan, double unit_s, llmperf_error *error)
{
    double begun_s = cuda_now_s();
    double heat_s = fmin(unit_s < HOT_S ? HEAT_S : HOT_HEAT_S, d->settle_s);
    llmperf_status status = LLMPERF_OK;
    if (plan->probe.kind != LLMPERF_PROBE_OP || unit_s < HEATED_S ||
        plan->probe.op.kind == LLMPERF_KIND_ELEMENTWISE)
        return LLMPERF_OK;
    while (status == LLMPERF_OK && cuda_now_s() - begun_s < heat_s) {
        status = run_units(d, plan, (int)fmin(EAGER_MOST, ceil(BATCH_S / unit_s)), error);
        if (status == LLMPERF_OK)
            status = cuda_wait(d, error);
    }
    return status;
}

static llmperf_status make_plan(cuda_device *d, const llmperf_probe *probe, cuda_plan **ret_plan,
                                llmperf_error *error)
{
    double unit_s = 0;
    cuda_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    plan->probe = *probe;
    plan->iterations = plan->times = 1;
    llmperf_status status = prepare(d, plan, error);
    if (status == LLMPERF_OK)
        status = estimate_unit(d, plan, &unit_s, error);
    if (status == LLMPERF_OK)
        status = heat(d, plan, unit_s, error);
    if (status == LLMPERF_OK)
        status = size_window(d, plan, unit_s, error);
    if (status != LLMPERF_OK) {
        cuda_plan_free(d, plan);
        return status;
    }
    *ret_plan = plan;
    return LLMPERF_OK;
}

/* ---- timing ------------------------------------------------------------------------------------ */

/* By the host's clock: what one launch costs it, or how long until it knows of the end. */
static llmperf_status time_host(cuda_device *d, cuda_plan *plan, double *ret_s,
                                llmperf_error *error)
{
    int launches = plan->probe.kind == LLMPERF_PROBE_LAUNCH_HOST ? HOST_LAUNCHES : 1;
    llmperf_status status = cuda_wait(d, error);
    double begun_s = cuda_now_s();
    if (status == LLMPERF_OK)
        status = run_units(d, plan, launches, error);
    double launched_s = cuda_now_s();
    if (status == LLMPERF_OK)
        status = cuda_wait(d, error);
    *ret_s = plan->probe.kind == LLMPERF_PROBE_LAUNCH_HOST ? (launched_s - begun_s) / launches
                                                           : cuda_now_s() - begun_s;
    return status;
}

static llmperf_status time_once(cuda_device *d, cuda_plan *plan, double *ret_s,
                                llmperf_error *error)
{
    if (plan->probe.kind == LLMPERF_PROBE_LAUNCH_HOST ||
        plan->probe.kind == LLMPERF_PROBE_ROUND_TRIP)
        return time_host(d, plan, ret_s, error);
    llmperf_status status = cuda_time(d, plan->exec ? run_graphs : run_units, plan, plan->times,
                                      plan->slope, ret_s, error);
    *ret_s /= plan->iterations;
    return status;
}

/* The algorithm that is asked for, recorded anew when it is another one. */
static llmperf_status choose(cuda_device *d, cuda_plan *plan, bool best, llmperf_error *error)
{
    cuda_gemm *g = &plan->jobs[0].gemm;
    int wanted = best ? g->best : g->first;
    if (!plan->jobs[0].has_gemm || plan->probe.kind != LLMPERF_PROBE_OP || wanted == g->use)
        return LLMPERF_OK;
    g->use = wanted;
    return size_window(d, plan, g->seconds[wanted], error);
}

llmperf_status cuda_plan_time(cuda_device *d, const llmperf_probe *probe, int count,
                              double *seconds, llmperf_error *error)
{
    cuda_plan **slot = &d->plan[is_operator(probe)], *plan = *slot;
    llmperf_status status = LLMPERF_OK;
    if (!plan || !is_same(plan, probe)) {
        cuda_plan_free(d, plan);
        *slot = plan = NULL;
        if (is_operator(probe))
            cuda_release(d);
        status = make_plan(d, probe, &plan, error);
        *slot = plan;
    }
    if (!plan)
        return status;
    if (probe->kind == LLMPERF_PROBE_OP)
        status = choose(d, plan, probe->best, error);
    if (status != LLMPERF_OK) { /* its graph is gone, its counts are of the one that failed */
        cuda_plan_free(d, plan);
        *slot = NULL;
        return status;
    }
    for (int i = 0; i < count && status == LLMPERF_OK; i++)
        status = time_once(d, plan, &seconds[i], error);
    return status;
}

/* ---- settling ---------------------------------------------------------------------------------- */

/* The heaviest steady work there is: a large product, else a copy. */
static llmperf_probe settling_probe(const cuda_device *d)
{
    llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                     .dtype = d->facts.major >= 8 ? LLMPERF_DTYPE_BF16 : LLMPERF_DTYPE_FP16,
                     .m = SETTLE_SIDE,
                     .n = SETTLE_SIDE,
                     .k = SETTLE_SIDE,
                     .launches = 1,
                     .repeat = 1};
    llmperf_probe product = {.kind = LLMPERF_PROBE_OP, .op = op};
    llmperf_probe copy = {.kind = LLMPERF_PROBE_COPY, .bytes = fmax(4 * d->facts.l2_bytes, 512e6)};
    return d->has_lt && d->facts.major >= 7 ? product : copy;
}

static bool is_settled(const double *watts, int count)
{
    double least = INFINITY, most = 0;
    if (count < SETTLED_READINGS)
        return false;
    for (int i = count - SETTLED_READINGS; i < count; i++) {
        least = fmin(least, watts[i]);
        most = fmax(most, watts[i]);
    }
    return least > 0 && most - least < SETTLED_FRAC * most;
}

llmperf_status cuda_settle(cuda_device *d, llmperf_error *error)
{
    double watts[128], begun_s = cuda_now_s(), seconds[1];
    int readings = 0;
    if (d->settled || !(d->settle_s > 0))
        return LLMPERF_OK;
    d->settled = true;
    const llmperf_probe probe = settling_probe(d);
    d->settle_from_w = cuda_state_now(d).power_w;
    llmperf_error one = {0};
    llmperf_status status = LLMPERF_OK;
    while (status == LLMPERF_OK && cuda_now_s() - begun_s < d->settle_s) {
        double step_s = cuda_now_s();
        while (status == LLMPERF_OK && cuda_now_s() - step_s < fmin(SETTLE_STEP_S, d->settle_s))
            status = cuda_plan_time(d, &probe, 1, seconds, &one);
        watts[readings++ % 128] = cuda_state_now(d).power_w;
        if (readings < 128 && is_settled(watts, readings))
            break;
    }
    cuda_moment now = cuda_state_now(d);
    d->settle_to_w = now.power_w;
    d->settle_clock_hz = now.clock_hz;
    d->settle_took_s = cuda_now_s() - begun_s;
    /* no room or no product for it: then without */
    if (status == LLMPERF_E_UNSUPPORTED || status == LLMPERF_E_MEMORY)
        return LLMPERF_OK;
    if (status != LLMPERF_OK && error)
        *error = one;
    return status;
}
