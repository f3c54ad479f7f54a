/* SPDX-License-Identifier: MIT */
/*
 * libnccl.so.2: collectives over one link per device, each waited for by all of its devices. What
 * only some of them call never ends, as with the library itself. Values are not moved.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

#define DECLARE(name, arguments) FAKE_API int name arguments;
CUDA_NCCL_FUNCTIONS(DECLARE)
#undef DECLARE

enum { INVALID_ARGUMENT = 4, INVALID_USAGE = 5, GROUP_MAX = 256 };

typedef enum kind { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, SEND, RECEIVE } kind;

struct nccl_comm_s {
    int rank, ranks;
    struct nccl_comm_s *team[FAKE_DEVICES_MAX];
};

typedef struct call {
    kind kind;
    nccl_comm comm;
    cu_stream stream;
    double bytes; /* of `count` elements */
    int peer;
} call;

static call group[GROUP_MAX];
static int depth, grouped;
static double collectives;

static int entered(fake_function *here)
{
    fake_spend(fake_get()->call);
    return fake_injected(here);
}

#define ENTER(function)                                                                            \
    do {                                                                                           \
        static fake_function here = {.name = #function, .library = "nccl"};                        \
        int refused = entered(&here);                                                              \
        if (refused)                                                                               \
            return refused;                                                                        \
    } while (0)

int ncclGetVersion(int *version)
{
    ENTER(ncclGetVersion);
    *version = 22707;
    return 0;
}

int ncclCommInitAll(nccl_comm *comms, int devices, const int *list)
{
    ENTER(ncclCommInitAll);
    if (devices < 1 || devices > (int)fake_get()->devices)
        return fake_misuse(INVALID_ARGUMENT, "ncclCommInitAll of %d devices", devices);
    for (int i = 0; i < devices; i++) {
        comms[i] = calloc(1, sizeof *comms[i]);
        if (!comms[i] || (list && (list[i] < 0 || list[i] >= (int)fake_get()->devices)))
            return fake_misuse(INVALID_ARGUMENT, "ncclCommInitAll: device %d", list ? list[i] : i);
        comms[i]->rank = i;
        comms[i]->ranks = devices;
    }
    for (int i = 0; i < devices; i++)
        memcpy(comms[i]->team, comms, (size_t)devices * sizeof *comms);
    fake_count(FAKE_live_comms, devices);
    fake_spend(0.5);
    return 0;
}

static int comm_free(nccl_comm comm, const char *who)
{
    if (!comm)
        return fake_misuse(INVALID_ARGUMENT, "%s of nothing", who);
    fake_count(FAKE_live_comms, -1);
    free(comm);
    return 0;
}

int ncclCommDestroy(nccl_comm comm)
{
    ENTER(ncclCommDestroy);
    return comm_free(comm, "ncclCommDestroy");
}

int ncclCommAbort(nccl_comm comm)
{
    ENTER(ncclCommAbort);
    return comm_free(comm, "ncclCommAbort");
}

int ncclCommGetAsyncError(nccl_comm comm, nccl_result *error)
{
    ENTER(ncclCommGetAsyncError);
    if (!comm)
        return INVALID_ARGUMENT;
    *error = 0;
    return 0;
}

/* ---- a group -------------------------------------------------------------------------------------- */

/* Seconds of the link of one device. */
static double link_s(const call *c)
{
    double ranks = c->comm->ranks, bytes = c->bytes;
    switch (c->kind) {
    case ALL_REDUCE:
        bytes *= 2 * (ranks - 1) / ranks;
        break;
    case ALL_GATHER:
    case REDUCE_SCATTER:
        bytes *= ranks - 1;
        break;
    case SEND:
    case RECEIVE:
        break;
    }
    return bytes / fake_get()->nvlink;
}

/* Every device of the team takes part in each collective; every send meets a receive. */
static bool complete(void)
{
    int sum = 0, expected = 0;
    for (int i = 0; i < grouped; i++) {
        if (group[i].kind == SEND || group[i].kind == RECEIVE) {
            int mate = 0;
            for (int j = 0; j < grouped; j++)
                mate += group[j].comm->rank == group[i].peer &&
                        group[j].peer == group[i].comm->rank &&
                        group[j].kind == (group[i].kind == SEND ? RECEIVE : SEND) &&
                        group[j].bytes == group[i].bytes;
            if (mate != 1)
                return false;
            continue;
        }
        sum++;
        expected = group[i].comm->ranks;
    }
    return expected == 0 || sum % expected == 0;
}

/* All begin when the last stream is ready. Sends and receives of a device share its link each way. */
static void finish_group(void)
{
    const fake_settings *f = fake_get();
    double begin_s = fake_now() + f->start, sent[FAKE_DEVICES_MAX] = {0};
    double received[FAKE_DEVICES_MAX] = {0}, longest_s = 0;
    for (int i = 0; i < grouped; i++) {
        begin_s = fmax(begin_s, fake_stream_ready(group[i].stream));
        int rank = group[i].comm->rank;
        if (group[i].kind != RECEIVE)
            sent[rank] += link_s(&group[i]);
        if (group[i].kind != SEND)
            received[rank] += link_s(&group[i]);
        longest_s = fmax(longest_s, fmax(sent[rank], received[rank]));
    }
    collectives++;
    bool hangs = !complete() || (f->nccl_hang > 0 && collectives >= f->nccl_hang);
    fake_count(FAKE_hung, hangs);
    double end_s = hangs ? INFINITY : begin_s + f->launch + f->nvlink_latency + longest_s;
    for (int i = 0; i < grouped; i++)
        fake_stream_hold(group[i].stream, end_s);
    grouped = 0;
}

int ncclGroupStart(void)
{
    ENTER(ncclGroupStart);
    depth++;
    return 0;
}

int ncclGroupEnd(void)
{
    ENTER(ncclGroupEnd);
    if (depth == 0)
        return fake_misuse(INVALID_USAGE, "ncclGroupEnd without a start");
    if (--depth == 0 && grouped > 0)
        finish_group();
    return 0;
}

static int add(kind what, nccl_comm comm, cu_stream stream, size_t count, int type, int peer,
               const void *send, double send_times, const void *receive, double receive_times)
{
    double size = type == NCCL_BFLOAT16 ? 2 : type == 7 ? 4 : 1;
    if (!comm || !stream || peer >= comm->ranks)
        return fake_misuse(INVALID_ARGUMENT, "a collective without a communicator or a stream");
    const fake_range ranges[] = {
        {.address = (uint64_t)send, .bytes = (uint64_t)(size * (double)count * send_times)},
        {.address = (uint64_t)receive, .bytes = (uint64_t)(size * (double)count * receive_times)}};
    if (fake_check_ranges("a collective", ranges, 2))
        return INVALID_ARGUMENT;
    if (grouped == GROUP_MAX)
        return fake_misuse(INVALID_USAGE, "a group of more than %d calls", GROUP_MAX);
    group[grouped++] = (call){
        .kind = what, .comm = comm, .stream = stream, .bytes = size * (double)count, .peer = peer};
    if (depth == 0)
        finish_group();
    return 0;
}

int ncclAllReduce(const void *send, void *receive, size_t count, int type, int op, nccl_comm comm,
                  cu_stream stream)
{
    ENTER(ncclAllReduce);
    if (op != NCCL_SUM)
        return fake_misuse(INVALID_ARGUMENT, "ncclAllReduce: operation %d", op);
    return add(ALL_REDUCE, comm, stream, count, type, -1, send, 1, receive, 1);
}

int ncclAllGather(const void *send, void *receive, size_t count, int type, nccl_comm comm,
                  cu_stream stream)
{
    ENTER(ncclAllGather);
    return add(ALL_GATHER, comm, stream, count, type, -1, send, 1, receive, comm ? comm->ranks : 1);
}

int ncclReduceScatter(const void *send, void *receive, size_t count, int type, int op,
                      nccl_comm comm, cu_stream stream)
{
    ENTER(ncclReduceScatter);
    if (op != NCCL_SUM)
        return fake_misuse(INVALID_ARGUMENT, "ncclReduceScatter: operation %d", op);
    return add(REDUCE_SCATTER, comm, stream, count, type, -1, send, comm ? comm->ranks : 1, receive,
               1);
}

int ncclSend(const void *send, size_t count, int type, int peer, nccl_comm comm, cu_stream stream)
{
    ENTER(ncclSend);
    return add(SEND, comm, stream, count, type, peer, send, 1, NULL, 0);
}

int ncclRecv(void *receive, size_t count, int type, int peer, nccl_comm comm, cu_stream stream)
{
    ENTER(ncclRecv);
    return add(RECEIVE, comm, stream, count, type, peer, NULL, 0, receive, 1);
}
