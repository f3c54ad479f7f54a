/* SPDX-License-Identifier: MIT */
/*
 * Collectives between all devices of this machine by NCCL. A communicator that hangs cannot be left,
 * so it lives in a child process: the child measures and tells each result through a pipe, the
 * parent stops it when nothing comes for too long.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda.h"

enum {
    DEVICES_MAX = 64,
    REPS = LLMPERF_TRANSFER_REPS,
    WARM_UPS = 3,
    INNER_MOST = 50,
};

static const double LEAST_BYTES = 1024, MOST_BYTES = 1073741824.0, STEP = 4;
static const double WINDOW_S = 400e-6; /* what is shorter runs several times between two events */
static const double REAP_S = 2;

/* ---- what the child says ----------------------------------------------------------------------- */

typedef struct message {
    enum { SAYS_TIMES, SAYS_ERROR, SAYS_DONE } type;
    llmperf_status status; /* of SAYS_ERROR */
    char text[LLMPERF_TEXT_MAX];
    llmperf_transfer times;
} message;

_Static_assert(sizeof(message) <= 4096, "longer than a pipe writes at once");

/* ---- the child ---------------------------------------------------------------------------------- */

/* One device's part. */
typedef struct rank {
    cu_context context;
    cu_stream stream;
    cu_event from, to;
    cu_address send, receive;
    nccl_comm comm;
} rank;

typedef struct team {
    cuda_device d; /* its driver and what is being done; no device of its own */
    cuda_nccl nccl;
    int count;
    rank rank[DEVICES_MAX];
    double most_bytes; /* of one buffer */
    int pipe;
    char version[32];
} team;

static llmperf_status nccl_check(team *t, nccl_result result, const char *call,
                                 llmperf_error *error)
{
    if (result == 0)
        return LLMPERF_OK;
    return llmperf_fail(error, LLMPERF_E_DEVICE, "cuda: %s fails with NCCL code %d during %s", call,
                        result, t->d.doing ? t->d.doing : "start-up");
}

#define NCCL_CALL(t, error, name, ...) nccl_check((t), (t)->nccl.name(__VA_ARGS__), #name, (error))

static llmperf_status enter(team *t, int i, llmperf_error *error)
{
    return CUDA_CALL(&t->d, error, cuCtxSetCurrent, t->rank[i].context);
}

static llmperf_status start_rank(team *t, int i, llmperf_error *error)
{
    rank *r = &t->rank[i];
    cu_device device = 0;
    size_t free_bytes = 0, total_bytes = 0;
    cuda_device *d = &t->d;
    llmperf_status status = CUDA_CALL(d, error, cuDeviceGet, &device, i);
    if (status == LLMPERF_OK)
        status = CUDA_CALL(d, error, cuDevicePrimaryCtxRetain, &r->context, device);
    if (status == LLMPERF_OK)
        status = enter(t, i, error);
    if (status == LLMPERF_OK)
        status = CUDA_CALL(d, error, cuMemGetInfo_v2, &free_bytes, &total_bytes);
    if (status == LLMPERF_OK)
        status = CUDA_CALL(d, error, cuStreamCreate, &r->stream, CU_STREAM_NON_BLOCKING);
    if (status == LLMPERF_OK)
        status = CUDA_CALL(d, error, cuEventCreate, &r->from, CU_EVENT_DEFAULT);
    if (status == LLMPERF_OK)
        status = CUDA_CALL(d, error, cuEventCreate, &r->to, CU_EVENT_DEFAULT);
    t->most_bytes = fmin(t->most_bytes, d->share * (double)free_bytes / 2);
    return status;
}

static llmperf_status reserve(team *t, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    double bytes = LEAST_BYTES;
    while (bytes * STEP <= fmin(t->most_bytes, MOST_BYTES))
        bytes *= STEP;
    t->most_bytes = bytes;
    for (int i = 0; i < t->count && status == LLMPERF_OK; i++) {
        rank *r = &t->rank[i];
        status = enter(t, i, error);
        if (status == LLMPERF_OK)
            status = CUDA_CALL(&t->d, error, cuMemAlloc_v2, &r->send, (size_t)bytes);
        if (status == LLMPERF_OK)
            status = CUDA_CALL(&t->d, error, cuMemAlloc_v2, &r->receive, (size_t)bytes);
        if (status == LLMPERF_OK)
            status = CUDA_CALL(&t->d, error, cuMemsetD8Async, r->send, 0, (size_t)bytes, r->stream);
    }
    return status;
}

static llmperf_status start_team(team *t, const char *folder, llmperf_error *error)
{
    int list[DEVICES_MAX], version = 0;
    nccl_comm comms[DEVICES_MAX] = {NULL};
    llmperf_status status = cuda_load_nccl(folder, &t->nccl, error);
    if (status == LLMPERF_OK)
        status = cuda_driver_open(&t->d, &t->count, error);
    if (status != LLMPERF_OK)
        return status;
    if (t->count < 2)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend cuda: collectives need two devices; one is here");
    t->count = t->count < DEVICES_MAX ? t->count : DEVICES_MAX;
    t->most_bytes = MOST_BYTES;
    for (int i = 0; i < t->count && status == LLMPERF_OK; i++)
        status = start_rank(t, i, error);
    if (status == LLMPERF_OK)
        status = reserve(t, error);
    for (int i = 0; i < t->count; i++)
        list[i] = i;
    if (status == LLMPERF_OK)
        status = NCCL_CALL(t, error, ncclGetVersion, &version);
    if (status == LLMPERF_OK)
        status = NCCL_CALL(t, error, ncclCommInitAll, comms, t->count, list);
    for (int i = 0; i < t->count; i++)
        t->rank[i].comm = comms[i];
    snprintf(t->version, sizeof t->version, "%d.%d.%d", version / 10000, version / 100 % 100,
             version % 100);
    return status;
}

/* One device's calls of one operation over `bytes`, the whole buffer as nccl-tests counts it. */
static llmperf_status call_rank(team *t, int i, llmperf_transfer_kind kind, double bytes,
                                llmperf_error *error)
{
    const rank *r = &t->rank[i];
    const void *send = (const void *)(uintptr_t)r->send;
    void *receive = (void *)(uintptr_t)r->receive;
    size_t all = (size_t)(bytes / 2), part = all / (size_t)t->count; /* of bf16 */
    int next = (i + 1) % t->count, last = (i + t->count - 1) % t->count;
    part = part > 0 ? part : 1;
    llmperf_status status = LLMPERF_OK;
    switch (kind) {
    case LLMPERF_TRANSFER_ALL_REDUCE:
        return NCCL_CALL(t, error, ncclAllReduce, send, receive, all, NCCL_BFLOAT16, NCCL_SUM,
                         r->comm, r->stream);
    case LLMPERF_TRANSFER_ALL_GATHER:
        return NCCL_CALL(t, error, ncclAllGather, send, receive, part, NCCL_BFLOAT16, r->comm,
                         r->stream);
    case LLMPERF_TRANSFER_REDUCE_SCATTER:
        return NCCL_CALL(t, error, ncclReduceScatter, send, receive, part, NCCL_BFLOAT16, NCCL_SUM,
                         r->comm, r->stream);
    case LLMPERF_TRANSFER_ALL_TO_ALL:
        for (int peer = 0; peer < t->count && status == LLMPERF_OK; peer++) {
            size_t at = 2 * part * (size_t)peer;
            status = NCCL_CALL(t, error, ncclSend, (const char *)send + at, part, NCCL_BFLOAT16,
                               peer, r->comm, r->stream);
            if (status == LLMPERF_OK)
                status = NCCL_CALL(t, error, ncclRecv, (char *)receive + at, part, NCCL_BFLOAT16,
                                   peer, r->comm, r->stream);
        }
        return status;
    default: /* each to the next in a ring */
        status = NCCL_CALL(t, error, ncclSend, send, all, NCCL_BFLOAT16, next, r->comm, r->stream);
        if (status == LLMPERF_OK)
            status = NCCL_CALL(t, error, ncclRecv, receive, all, NCCL_BFLOAT16, last, r->comm,
                               r->stream);
        return status;
    }
}

static llmperf_status call_all(team *t, llmperf_transfer_kind kind, double bytes,
                               llmperf_error *error)
{
    llmperf_status status = NCCL_CALL(t, error, ncclGroupStart);
    for (int i = 0; i < t->count && status == LLMPERF_OK; i++) {
        status = enter(t, i, error);
        if (status == LLMPERF_OK)
            status = call_rank(t, i, kind, bytes, error);
    }
    if (status != LLMPERF_OK)
        return status;
    return NCCL_CALL(t, error, ncclGroupEnd);
}

/* Until every device has passed its last event. The parent holds the watch. */
static llmperf_status wait_all(team *t, llmperf_error *error)
{
    for (int i = 0; i < t->count; i++) {
        llmperf_status status = enter(t, i, error);
        cu_result result = CU_NOT_READY;
        while (status == LLMPERF_OK && result == CU_NOT_READY) {
            nccl_result state = 0;
            result = t->d.driver.cuEventQuery(t->rank[i].to);
            if (t->nccl.ncclCommGetAsyncError(t->rank[i].comm, &state) == 0 && state != 0 &&
                state != NCCL_IN_PROGRESS)
                return nccl_check(t, state, "a collective", error);
        }
        if (status == LLMPERF_OK)
            status = cuda_check(&t->d, result, "cuEventQuery", error);
        if (status != LLMPERF_OK)
            return status;
    }
    return LLMPERF_OK;
}

/* Seconds of one operation: `inner` of them between two events of each device, the slowest counts. */
static llmperf_status time_once(team *t, llmperf_transfer_kind kind, double bytes, int inner,
                                double *ret_s, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    double most_s = 0;
    for (int i = 0; i < t->count && status == LLMPERF_OK; i++) {
        status = enter(t, i, error);
        if (status == LLMPERF_OK)
            status = CUDA_CALL(&t->d, error, cuEventRecord, t->rank[i].from, t->rank[i].stream);
    }
    for (int n = 0; n < inner && status == LLMPERF_OK; n++)
        status = call_all(t, kind, bytes, error);
    for (int i = 0; i < t->count && status == LLMPERF_OK; i++) {
        status = enter(t, i, error);
        if (status == LLMPERF_OK)
            status = CUDA_CALL(&t->d, error, cuEventRecord, t->rank[i].to, t->rank[i].stream);
    }
    if (status == LLMPERF_OK)
        status = wait_all(t, error);
    for (int i = 0; i < t->count && status == LLMPERF_OK; i++) {
        float milliseconds = 0;
        status = enter(t, i, error);
        if (status == LLMPERF_OK)
            status = CUDA_CALL(&t->d, error, cuEventElapsedTime, &milliseconds, t->rank[i].from,
                               t->rank[i].to);
        most_s = fmax(most_s, 1e-3 * (double)milliseconds);
    }
    *ret_s = most_s / inner;
    return status;
}

static bool say(const team *t, const message *m)
{
    return write(t->pipe, m, sizeof *m) == (ssize_t)sizeof *m;
}

/* One operation over one size: warmed, then timed. */
static llmperf_status measure(team *t, llmperf_transfer_kind kind, double bytes,
                              llmperf_error *error)
{
    static const char *const WORDS[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                        "send_recv"};
    message m = {.type = SAYS_TIMES};
    double one_s = 0;
    snprintf(t->d.doing_text, sizeof t->d.doing_text, "%s of %.0f bytes over %d devices",
             WORDS[kind], bytes, t->count);
    t->d.doing = t->d.doing_text;
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; i < WARM_UPS && status == LLMPERF_OK; i++)
        status = time_once(t, kind, bytes, 1, &one_s, error);
    int inner = one_s > 0 ? (int)fmin(INNER_MOST, ceil(WINDOW_S / one_s)) : 1;
    m.times.kind = kind;
    m.times.devices = t->count;
    m.times.bytes = bytes;
    m.times.count = REPS;
    snprintf(m.times.version, sizeof m.times.version, "%s", t->version);
    for (int i = 0; i < REPS && status == LLMPERF_OK; i++)
        status = time_once(t, kind, bytes, inner, &m.times.seconds[i], error);
    if (status == LLMPERF_OK && !say(t, &m))
        status = llmperf_fail(error, LLMPERF_E_IO, "cuda: nobody listens");
    return status;
}

static void end_team(team *t)
{
    for (int i = 0; i < t->count; i++) {
        rank *r = &t->rank[i];
        if (!r->context || t->d.driver.cuCtxSetCurrent(r->context) != CU_OK)
            continue;
        if (r->comm)
            t->nccl.ncclCommDestroy(r->comm);
        if (r->send)
            t->d.driver.cuMemFree_v2(r->send);
        if (r->receive)
            t->d.driver.cuMemFree_v2(r->receive);
        if (r->from)
            t->d.driver.cuEventDestroy_v2(r->from);
        if (r->to)
            t->d.driver.cuEventDestroy_v2(r->to);
        if (r->stream)
            t->d.driver.cuStreamDestroy_v2(r->stream);
        cu_device device = 0;
        if (t->d.driver.cuDeviceGet(&device, i) == CU_OK)
            t->d.driver.cuDevicePrimaryCtxRelease_v2(device);
    }
}

/* Never returns into the program: what it was about to print is the parent's. */
static void run_child(team *t, int pipe_end)
{
    llmperf_error error = {0};
    message last = {.type = SAYS_DONE};
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody is left to watch it */
    t->pipe = pipe_end;
    llmperf_status status = start_team(t, t->d.libraries, &error);
    for (int kind = 0; kind < LLMPERF_TRANSFER_COUNT; kind++)
        for (double bytes = LEAST_BYTES; status == LLMPERF_OK && bytes <= t->most_bytes;
             bytes *= STEP)
            status = measure(t, (llmperf_transfer_kind)kind, bytes, &error);
    if (status == LLMPERF_OK)
        end_team(t); /* after a failure the process's end does it: NCCL may wait for ever */
    if (status != LLMPERF_OK) {
        last.type = SAYS_ERROR;
        last.status = status;
        snprintf(last.text, sizeof last.text, "%.*s", (int)sizeof last.text - 1, error.text);
    }
    say(t, &last);
    _exit(0);
}

/* ---- the parent --------------------------------------------------------------------------------- */

/* Ends the child, and waits a moment for it: one that hangs inside the driver stays behind. */
static void reap(pid_t child, bool stop)
{
    double begun_s = cuda_now_s();
    if (stop)
        kill(child, SIGKILL);
    while (waitpid(child, NULL, WNOHANG) == 0 && cuda_now_s() - begun_s < REAP_S) {
        const struct timespec rest = {.tv_nsec = 1000000};
        nanosleep(&rest, NULL);
    }
}

/* One message, or why there is none. */
static llmperf_status hear(int pipe_end, double timeout_s, message *ret, llmperf_error *error)
{
    struct pollfd one = {.fd = pipe_end, .events = POLLIN};
    int ready = poll(&one, 1, (int)fmin(1e9, timeout_s * 1e3));
    if (ready == 0)
        return llmperf_fail(error, LLMPERF_E_DEVICE,
                            "cuda: a collective did not end within %g s: the devices hang",
                            timeout_s);
    ssize_t got = ready > 0 ? read(pipe_end, ret, sizeof *ret) : -1;
    if (got == (ssize_t)sizeof *ret)
        return LLMPERF_OK;
    return llmperf_fail(error, LLMPERF_E_DEVICE,
                        "cuda: the process that measures collectives ended");
}

static llmperf_status listen(int pipe_end, double timeout_s, llmperf_transfer_visit visit,
                             void *context, llmperf_error *error)
{
    for (;;) {
        message m;
        llmperf_status status = hear(pipe_end, timeout_s, &m, error);
        if (status != LLMPERF_OK)
            return status;
        if (m.type == SAYS_DONE)
            return LLMPERF_OK;
        if (m.type == SAYS_ERROR)
            return llmperf_fail(error, m.status, "%s", m.text);
        status = visit(&m.times, context, error);
        if (status != LLMPERF_OK)
            return status;
    }
}

llmperf_status cuda_transfers(cuda_device *options, llmperf_transfer_visit visit, void *context,
                              llmperf_error *error)
{
    int ends[2];
    llmperf_status status = LLMPERF_OK;
    team *t = calloc(1, sizeof *t);
    if (!t)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    t->d = *options;
    if (pipe(ends) != 0) {
        status = llmperf_fail(error, LLMPERF_E_IO, "cuda: no pipe: %s", strerror(errno));
        goto out;
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run_child(t, ends[1]);
    }
    close(ends[1]);
    if (child < 0)
        status = llmperf_fail(error, LLMPERF_E_IO, "cuda: no process: %s", strerror(errno));
    else
        status = listen(ends[0], options->timeout_s, visit, context, error);
    close(ends[0]);
    if (child > 0)
        reap(child, status != LLMPERF_OK);
out:
    free(t);
    return status;
}
