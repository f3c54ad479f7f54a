/* SPDX-License-Identifier: MIT */
/* The devices' time: streams, events, graphs, the L2 cache, noise, heat and hangs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

enum { L2_MAX = 256 };

/* What one device's L2 holds, latest first; no two overlap. */
typedef struct l2_cache {
    struct {
        uint64_t from, to;
    } entry[L2_MAX];
    int count;
} l2_cache;

typedef struct device_time {
    double ready_s, busy_s;
    l2_cache l2;
} device_time;

static device_time devices[FAKE_DEVICES_MAX];
static uint64_t works; /* kernels and products so far */
static int sticky;
cu_stream fake_streams;

int fake_sticky(void)
{
    return sticky;
}

void fake_set_sticky(int code)
{
    sticky = code;
}

/* ---- L2 --------------------------------------------------------------------------------------- */

/* Takes [from, to) out of the cache; returns how many bytes it held. */
static uint64_t l2_take(l2_cache *l2, uint64_t from, uint64_t to)
{
    uint64_t held = 0;
    for (int i = 0; i < l2->count; i++) {
        uint64_t low = l2->entry[i].from, high = l2->entry[i].to;
        if (high <= from || low >= to)
            continue;
        held += (high < to ? high : to) - (low > from ? low : from);
        if (low < from && high > to && l2->count < L2_MAX) {
            l2->entry[i].to = from;
            memmove(&l2->entry[i + 2], &l2->entry[i + 1],
                    (size_t)(l2->count - i - 1) * sizeof *l2->entry);
            l2->entry[i + 1].from = to;
            l2->entry[i + 1].to = high;
            l2->count++;
        } else if (low < from) {
            l2->entry[i].to = from;
        } else if (high > to) {
            l2->entry[i].from = to;
        } else {
            memmove(&l2->entry[i], &l2->entry[i + 1],
                    (size_t)(l2->count - i - 1) * sizeof *l2->entry);
            l2->count--;
            i--;
        }
    }
    return held;
}

/* Latest first; the least recent falls out. A stretch beyond the cache leaves its end there. */
static void l2_put(l2_cache *l2, uint64_t from, uint64_t to)
{
    uint64_t size = (uint64_t)fake_get()->l2, sum = 0;
    if (size == 0 || to <= from)
        return;
    from = to - from > size ? to - size : from;
    if (l2->count == L2_MAX)
        l2->count--;
    memmove(&l2->entry[1], &l2->entry[0], (size_t)l2->count * sizeof *l2->entry);
    l2->entry[0].from = from;
    l2->entry[0].to = to;
    l2->count++;
    for (int i = 0; i < l2->count; i++) {
        uint64_t bytes = l2->entry[i].to - l2->entry[i].from;
        if (sum + bytes >= size) {
            l2->entry[i].from = l2->entry[i].to - (size - sum);
            l2->count = l2->entry[i].from < l2->entry[i].to ? i + 1 : i;
            return;
        }
        sum += bytes;
    }
}

/* What lies there still is read at the cache's speed, the rest at that of memory. A stream that
 * does not fit pushes out its own beginning before it comes round to it. */
double fake_traffic(int device, const fake_range *ranges, int count)
{
    const fake_settings *f = fake_get();
    l2_cache *l2 = &devices[device].l2;
    double from_l2 = 0, from_memory = 0;
    for (int i = 0; i < count; i++) {
        const fake_range *r = &ranges[i];
        uint64_t held = l2_take(l2, r->address, r->address + r->bytes);
        double moved = (double)(r->traffic ? r->traffic : r->bytes);
        double share = r->bytes > 0 ? (double)held / (double)r->bytes : 0;
        if ((double)r->bytes > f->l2)
            share = 0;
        from_l2 += moved * share;
        from_memory += moved * (1 - share);
    }
    for (int i = 0; i < count; i++) {
        l2_take(l2, ranges[i].address, ranges[i].address + ranges[i].bytes);
        l2_put(l2, ranges[i].address, ranges[i].address + ranges[i].bytes);
    }
    return from_memory / f->bandwidth + from_l2 / f->l2_bandwidth;
}

int fake_check_ranges(const char *who, const fake_range *ranges, int count)
{
    for (int i = 0; i < count; i++) {
        if (ranges[i].bytes == 0 || fake_memory_holds(ranges[i].address, ranges[i].bytes))
            continue;
        fake_set_sticky(CU_ILLEGAL_ADDRESS);
        return fake_misuse(
            CU_ILLEGAL_ADDRESS, "%s: operand %d: %llu bytes at %#llx are not allocated", who, i,
            (unsigned long long)ranges[i].bytes, (unsigned long long)ranges[i].address);
    }
    return 0;
}

/* ---- chance and heat -------------------------------------------------------------------------- */

/* Uniform in (0, 1): number `which` of piece of work `work`. */
static double uniform(uint64_t work, uint64_t which)
{
    uint64_t bits =
        kernel_mix(kernel_mix((uint64_t)fake_get()->seed) ^ kernel_mix(work * 4 + which));
    return ((double)(bits >> 11) + 0.5) * (1.0 / 9007199254740992.0);
}

static double disturbed(double seconds, uint64_t work)
{
    const fake_settings *f = fake_get();
    if (f->noise > 0)
        seconds *=
            exp(f->noise * sqrt(-2 * log(uniform(work, 0))) * cos(2 * M_PI * uniform(work, 1)));
    if (f->outliers > 0 && uniform(work, 2) < f->outliers)
        seconds *= f->outlier_factor;
    return seconds;
}

static bool hot(const device_time *d)
{
    const fake_settings *f = fake_get();
    return f->throttle_from >= 0 && d->busy_s >= f->throttle_from &&
           d->busy_s < f->throttle_from + f->throttle_for;
}

bool fake_throttled(void)
{
    return hot(&devices[0]);
}

/* How far device 0's power has risen: it worked a moment ago, and for some time already. */
double fake_busy_frac(void)
{
    const double moment_s = 0.05;
    const device_time *d = &devices[0];
    return d->ready_s < fake_now() - moment_s ? 0 : 1 - exp(-d->busy_s / fake_get()->settle);
}

static double heat(const device_time *d)
{
    const fake_settings *f = fake_get();
    double factor = hot(d) ? f->throttle_factor : 1;
    return factor * (1 - f->cold * exp(-d->busy_s / f->settle));
}

/* ---- streams ------------------------------------------------------------------------------------ */

static bool queue_push(fake_queue *queue, const fake_work *work)
{
    if (queue->count == queue->room) {
        int room = queue->room ? 2 * queue->room : 32;
        fake_work *grown = realloc(queue->work, (size_t)room * sizeof *grown);
        if (!grown)
            return false;
        queue->work = grown;
        queue->room = room;
    }
    queue->work[queue->count++] = *work;
    return true;
}

void fake_queue_free(fake_queue *queue)
{
    free(queue->work);
    *queue = (fake_queue){0};
}

bool fake_queue_copy(fake_queue *to, const fake_queue *from)
{
    *to = (fake_queue){0};
    for (int i = 0; i < from->count; i++)
        if (!queue_push(to, &from->work[i]))
            return false;
    return true;
}

static double work_seconds(const fake_work *work, bool in_graph)
{
    const fake_settings *f = fake_get();
    device_time *d = &devices[work->device];
    double body_s = work->run(work);
    if (work->cost == FAKE_COST_COPY)
        return disturbed(body_s + f->pcie_latency, works++);
    works++;
    if ((double)works == f->hang_at) {
        fake_count(FAKE_hung, 1);
        return INFINITY;
    }
    if ((double)works == f->fault_at)
        sticky = (int)f->fault_code;
    return disturbed(body_s * heat(d) + (in_graph ? f->graph : f->launch), works);
}

static void start_block(cu_stream stream, const fake_work *work)
{
    memcpy(&stream->block, work->payload.bytes, sizeof stream->block);
    stream->block_begin_s = fmax(work->queued_s + fake_get()->start, stream->ready_s);
    stream->blocked = true;
}

static void perform(cu_stream stream, const fake_work *work, bool in_graph)
{
    const fake_settings *f = fake_get();
    device_time *d = &devices[work->device];
    double begin_s = fmax(work->queued_s + f->start, stream->ready_s);
    if (work->cost == FAKE_COST_EVENT) {
        work->event->time_s = begin_s;
        return;
    }
    if (work->cost == FAKE_COST_BLOCK) {
        start_block(stream, work);
        return;
    }
    if (work->cost == FAKE_COST_GRAPH) {
        work->run(work);
        return;
    }
    begin_s = fmax(begin_s, d->ready_s);
    double seconds = work_seconds(work, in_graph);
    if (isinf(stream->ready_s)) /* a collective that never ends */
        return;
    stream->ready_s = d->ready_s = begin_s + seconds;
    d->busy_s += isinf(seconds) ? 0 : seconds;
}

/* Ends a block whose flag is set, or whose limit is over at `now_s`. */
static void try_unblock(cu_stream stream, double now_s)
{
    double limit_s = stream->block_begin_s + 1e-9 * (double)stream->block.limit_ns;
    bool is_late = now_s >= limit_s;
    if (!*stream->block.flag && !is_late)
        return;
    double end_s = fmin(fmax(stream->block_begin_s, now_s), limit_s);
    if (!*stream->block.flag && stream->block.late) {
        fake_memory_forget((uint64_t)stream->block.late, sizeof(uint32_t));
        *stream->block.late = 1;
    }
    stream->blocked = false;
    stream->ready_s = fmax(stream->ready_s, end_s);
    int done = 0;
    while (done < stream->pending.count && !stream->blocked)
        perform(stream, &stream->pending.work[done++], false);
    stream->pending.count -= done;
    memmove(stream->pending.work, stream->pending.work + done,
            (size_t)stream->pending.count * sizeof *stream->pending.work);
}

void fake_pump(void)
{
    for (cu_stream s = fake_streams; s; s = s->next)
        if (s->alive && s->blocked)
            try_unblock(s, fake_now());
}

int fake_submit(cu_stream stream, fake_work *work)
{
    work->queued_s = fake_now();
    work->device = stream->device;
    if (stream->capturing) {
        if (work->event)
            work->event->captured = true;
        if (work->cost == FAKE_COST_BLOCK)
            return fake_misuse(CU_NOT_SUPPORTED, "kernel_block inside a graph");
        return queue_push(&stream->graph->nodes, work) ? 0 : CU_OUT_OF_MEMORY;
    }
    if (work->event) {
        work->event->captured = false;
        work->event->recorded = true;
        work->event->time_s = NAN;
    }
    fake_pump();
    if (stream->blocked)
        return queue_push(&stream->pending, work) ? 0 : CU_OUT_OF_MEMORY;
    perform(stream, work, false);
    return 0;
}

static double run_graph(const fake_work *work)
{
    cu_stream stream;
    cu_graph_exec exec;
    memcpy(&stream, &work->payload.words[0], sizeof stream);
    memcpy(&exec, &work->payload.words[1], sizeof exec);
    double begin_s = fmax(fmax(work->queued_s + fake_get()->start, stream->ready_s),
                          devices[work->device].ready_s);
    stream->ready_s = begin_s;
    for (int i = 0; i < exec->nodes.count; i++) {
        fake_work node = exec->nodes.work[i];
        node.queued_s = -INFINITY;
        if (node.event) {
            node.event->captured = false;
            node.event->recorded = true;
        }
        perform(stream, &node, true);
    }
    return 0;
}

/* A graph is a piece of work that takes the time of its nodes and none of its own. */
int fake_submit_graph(cu_stream stream, cu_graph_exec exec)
{
    fake_work work = {.run = run_graph, .cost = FAKE_COST_GRAPH};
    memcpy(&work.payload.words[0], &stream, sizeof stream);
    memcpy(&work.payload.words[1], &exec, sizeof exec);
    return fake_submit(stream, &work);
}

/* ---- waiting -------------------------------------------------------------------------------------- */

double fake_finish(cu_stream stream, const char *who)
{
    fake_pump();
    while (stream->blocked) { /* the host waits, so that nobody sets the flag */
        double limit_s = stream->block_begin_s + 1e-9 * (double)stream->block.limit_ns;
        if (stream->block.limit_ns == 0 || limit_s > fake_now() + 3600)
            fake_wait_until(INFINITY, who);
        fake_wait_until(limit_s, who);
        try_unblock(stream, limit_s);
    }
    return stream->ready_s;
}

double fake_finish_all(const char *who)
{
    double latest_s = 0;
    for (cu_stream s = fake_streams; s; s = s->next)
        if (s->alive)
            latest_s = fmax(latest_s, fake_finish(s, who));
    return latest_s;
}

int fake_stream_device(cu_stream stream)
{
    return stream->device;
}

double fake_stream_ready(cu_stream stream)
{
    return stream->ready_s;
}

void fake_stream_hold(cu_stream stream, double until_s)
{
    stream->ready_s = fmax(stream->ready_s, until_s);
}

bool fake_capturing(void)
{
    for (cu_stream s = fake_streams; s; s = s->next)
        if (s->alive && s->capturing)
            return true;
    return false;
}
