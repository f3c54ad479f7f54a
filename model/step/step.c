/* SPDX-License-Identifier: MIT */
/*
 * One step: its operators emitted, timed and summed; and the steps that a prefill is made of.
 */
#include <string.h>

#include "host.h"
#include "timing.h"
#include "workspace.h"
#include "config_object.h"

static const op_entries NO_ENTRIES = {LLMPERF_CALIB_NO_ENTRY, LLMPERF_CALIB_NO_ENTRY,
                                      LLMPERF_CALIB_NO_ENTRY, LLMPERF_CALIB_NO_ENTRY};

void llmperf_total_add(llmperf_total *sum, const llmperf_op *op, const llmperf_time *time,
                       double times)
{
    if (!sum || !op || op->group >= LLMPERF_GROUP_COUNT ||
        (time && time->bound >= LLMPERF_BOUND_COUNT))
        return;
    double r = op->repeat * times;
    sum->flop += r * op->flop;
    sum->weight_bytes += r * op->weight_bytes;
    sum->input_bytes += r * op->input_bytes;
    sum->output_bytes += r * op->output_bytes;
    sum->kv_read_bytes += r * op->kv_read_bytes;
    sum->kv_write_bytes += r * op->kv_write_bytes;
    sum->bytes += r * op->bytes;
    sum->link_bytes += r * op->link_bytes;
    if (!time)
        return;
    sum->time_s += r * time->time_s;
    sum->bound_s[time->bound] += r * time->time_s;
    if (op->kind == LLMPERF_KIND_COLLECTIVE) {
        sum->link_s += r * time->time_s;
        return;
    }
    sum->compute_s += r * time->compute_s;
    sum->memory_s += r * time->memory_s;
    sum->launch_s += r * time->launch_s;
    sum->group_s[op->group] += r * (time->time_s - time->launch_s);
    sum->group_compute_s[op->group] += r * time->compute_s;
    sum->group_memory_s[op->group] += r * time->memory_s;
}

/* Times one operator; its gradient too where an interval is asked for. */
static void add_op(llmperf_workspace *w, const llmperf_config *c, int at, double times,
                   llmperf_total *total, interval_sum *interval)
{
    const llmperf_op *op = &w->ops[at];
    llmperf_time *t = &w->times[at];
    const op_entries entries = c->calib ? *entries_at(w, c->calib, at) : NO_ENTRIES;
    time_by(op, c->hw, c->calib, &entries, t, interval ? &w->gradient : NULL);
    llmperf_total_add(total, op, t, times);
    if (interval)
        interval_add(interval, c, op, t, &w->gradient, times);
}

int step_add(llmperf_workspace *w, const llmperf_config *c, const llmperf_segment *segments,
             int segment_count, double times, llmperf_total *total, interval_sum *interval)
{
    int count = llmperf_emit(c, segments, segment_count, w->capacity, w->ops);
    if (count > w->capacity)
        return -1;
    w->count = count;
    if (c->calib)
        entries_begin(w, c->calib);
    const double before_s = total->time_s, launched_s = total->launch_s;
    for (int i = 0; i < count && c->hw; i++)
        add_op(w, c, i, times, total, interval);
    for (int i = 0; i < count && !c->hw; i++) {
        w->times[i] = (llmperf_time){0};
        llmperf_total_add(total, &w->ops[i], NULL, times);
    }
    if (c->calib && c->calib->host.engine[0]) {
        double ops_s = (total->time_s - before_s) / times;
        double host_s =
            host_time(c, segments, segment_count, ops_s, (total->launch_s - launched_s) / times);
        total->host_s += times * host_s;
        total->time_s += times * host_s;
        total->bound_s[LLMPERF_BOUND_LAUNCH] += times * host_s;
        if (interval)
            interval_add_host(interval, c, segments, segment_count, times, host_s);
    }
    return count;
}

int llmperf_step(const llmperf_config *c, const llmperf_segment *segments, int segment_count,
                 llmperf_workspace *workspace, llmperf_total *ret_total)
{
    if (!c || !workspace || segment_count < 1 || !segments)
        return -1;
    llmperf_total sum = {0};
    int count = step_add(workspace, c, segments, segment_count, 1, &sum, NULL);
    if (ret_total && count >= 0)
        *ret_total = sum;
    return count;
}

/* ---- prefill in chunks ------------------------------------------------------------------------------ */

static int64_t greatest_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The segments of the step that takes `tokens` tokens from position `start` of all prompts laid
 * end to end, each bringing `fresh` tokens after `cached` ones. */
static int chunk_segments(int64_t start, int64_t tokens, int64_t fresh, int64_t cached,
                          bool logits_all, llmperf_segment *ret_segments)
{
    int count = 0;
    int64_t offset = start % fresh;
    if (offset > 0) { /* goes on with a prompt that an earlier step began */
        int64_t rest = fresh - offset;
        int64_t query = rest < tokens ? rest : tokens;
        ret_segments[count++] = (llmperf_segment){
            .sequences = 1,
            .query = query,
            .past = cached + offset,
            .logits = logits_all ? query : query == rest,
        };
        tokens -= query;
    }
    if (tokens >= fresh) {
        int64_t whole = tokens / fresh;
        ret_segments[count++] = (llmperf_segment){
            .sequences = whole,
            .query = fresh,
            .past = cached,
            .logits = logits_all ? whole * fresh : whole,
        };
        tokens -= whole * fresh;
    }
    if (tokens > 0)
        ret_segments[count++] = (llmperf_segment){
            .sequences = 1,
            .query = tokens,
            .past = cached,
            .logits = logits_all ? tokens : 0,
        };
    return count;
}

void llmperf_prefill_steps(const llmperf_config *c, int64_t batch, int64_t chunk,
                           llmperf_prefill_visit visit, void *context)
{
    if (!c || !visit || batch < 1 || batch > INT32_MAX || chunk < 1)
        return;
    int64_t cached = c->workload.cached;
    int64_t fresh = c->workload.prompt - cached;
    int64_t total = batch * fresh;
    int64_t full_steps = total / chunk;
    /* full steps repeat once chunk and prompt boundaries meet again */
    int64_t period = fresh / greatest_common_divisor(fresh, chunk);
    int64_t distinct = full_steps < period ? full_steps : period;
    llmperf_segment segments[LLMPERF_SEGMENTS_MAX];
    for (int64_t i = 0; i < distinct; i++) {
        int64_t times = full_steps / period + (i < full_steps % period);
        int count =
            chunk_segments(i * chunk, chunk, fresh, cached, c->workload.logits_all, segments);
        visit(segments, count, (double)times, context);
    }
    int64_t rest = total - full_steps * chunk;
    if (rest > 0) {
        int count = chunk_segments(full_steps * chunk, rest, fresh, cached, c->workload.logits_all,
                                   segments);
        visit(segments, count, 1, context);
    }
}

typedef struct prefill_sum {
    const llmperf_config *c;
    llmperf_workspace *workspace;
    llmperf_total total;
    interval_sum *interval;
    double steps;
} prefill_sum;

static void add_prefill_step(const llmperf_segment *segments, int segment_count, double times,
                             void *context)
{
    prefill_sum *p = context;
    step_add(p->workspace, p->c, segments, segment_count, times, &p->total, p->interval);
    p->steps += times;
}

double prefill_add(llmperf_workspace *w, const llmperf_config *c, int64_t batch,
                   llmperf_total *ret_total, interval_sum *interval)
{
    prefill_sum p = {.c = c, .workspace = w, .interval = interval};
    llmperf_prefill_steps(c, batch, c->workload.chunk, add_prefill_step, &p);
    *ret_total = p.total;
    return p.steps;
}

double llmperf_prefill_total(const llmperf_config *c, int64_t batch, llmperf_workspace *workspace,
                             llmperf_total *ret_total)
{
    if (!ret_total)
        return 0;
    *ret_total = (llmperf_total){0};
    if (!c || !workspace || batch < 1 || batch > INT32_MAX)
        return 0;
    return prefill_add(workspace, c, batch, ret_total, NULL);
}
