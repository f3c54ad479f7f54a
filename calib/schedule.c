/* SPDX-License-Identifier: MIT */
/* What is still to be measured of a plan, made once for a session. */
#include "schedule.h"

#include <stdlib.h>

enum { REPEATS = 5 }; /* probes of a kind and format that are measured twice */

/* ---- probes as samples ----------------------------------------------------------------------- */

llmperf_sample_kind schedule_kind(const llmperf_probe *probe)
{
    const llmperf_op *op = &probe->op;
    switch (probe->kind) {
    case LLMPERF_PROBE_OP:
        break;
    case LLMPERF_PROBE_LAUNCH:
        return LLMPERF_SAMPLE_LAUNCH;
    case LLMPERF_PROBE_LAUNCH_GRAPH:
        return LLMPERF_SAMPLE_LAUNCH_GRAPH;
    case LLMPERF_PROBE_LAUNCH_HOST:
        return LLMPERF_SAMPLE_LAUNCH_HOST;
    case LLMPERF_PROBE_ROUND_TRIP:
        return LLMPERF_SAMPLE_ROUND_TRIP;
    case LLMPERF_PROBE_WRITE:
        return LLMPERF_SAMPLE_WRITE;
    case LLMPERF_PROBE_H2D:
        return LLMPERF_SAMPLE_H2D;
    case LLMPERF_PROBE_D2H:
        return LLMPERF_SAMPLE_D2H;
    default:
        return LLMPERF_SAMPLE_COPY;
    }
    if (op->kind == LLMPERF_KIND_GEMM)
        return op->m == 1 ? LLMPERF_SAMPLE_GEMV : LLMPERF_SAMPLE_GEMM;
    if (op->id == LLMPERF_OP_ATTN_SCORES)
        return LLMPERF_SAMPLE_ATTN_SCORES;
    if (op->kind == LLMPERF_KIND_ATTENTION)
        return op->regime == LLMPERF_REGIME_DECODE    ? LLMPERF_SAMPLE_ATTN_DECODE
               : op->regime == LLMPERF_REGIME_PREFILL ? LLMPERF_SAMPLE_ATTN_PREFILL
                                                      : LLMPERF_SAMPLE_ATTN_MIXED;
    return LLMPERF_SAMPLE_ELEMENTWISE;
}

static bool is_launch(llmperf_sample_kind kind)
{
    return kind == LLMPERF_SAMPLE_LAUNCH || kind == LLMPERF_SAMPLE_LAUNCH_GRAPH ||
           kind == LLMPERF_SAMPLE_LAUNCH_HOST || kind == LLMPERF_SAMPLE_ROUND_TRIP;
}

llmperf_sample schedule_sample(const sample_names *names, const llmperf_probe *probe)
{
    llmperf_sample_kind kind = schedule_kind(probe);
    bool is_blas = kind == LLMPERF_SAMPLE_GEMM || kind == LLMPERF_SAMPLE_GEMV ||
                   kind == LLMPERF_SAMPLE_ATTN_SCORES;
    llmperf_sample sample = {.hw = names->hw, .kind = (uint8_t)kind};
    if (probe->kind == LLMPERF_PROBE_OP)
        sample.op = probe->op;
    else
        sample.bytes = llmperf_probe_bytes(probe);
    sample.library = !is_blas      ? names->own_library
                     : probe->best ? names->best_library
                                   : names->library;
    sample.version = is_blas ? names->version : names->own_version;
    if (!is_launch(kind))
        sample.place = probe->cold ? LLMPERF_PLACE_COLD : LLMPERF_PLACE_WARM;
    return sample;
}

/* Do two samples measure the same thing? */
static bool same_shape(const llmperf_sample *a, const llmperf_sample *b)
{
    const llmperf_op *x = &a->op, *y = &b->op;
    if (a->kind != b->kind || a->hw != b->hw)
        return false;
    if (is_launch((llmperf_sample_kind)a->kind))
        return true;
    if (a->kind >= LLMPERF_SAMPLE_COPY)
        return a->bytes == b->bytes && a->place == b->place;
    if (x->dtype != y->dtype || a->library != b->library)
        return false;
    if (a->kind == LLMPERF_SAMPLE_ELEMENTWISE)
        return x->bytes == y->bytes;
    return x->m == y->m && x->n == y->n && x->k == y->k && x->sequences == y->sequences &&
           x->query_tokens == y->query_tokens && x->past_tokens == y->past_tokens &&
           x->heads == y->heads && x->kv_heads == y->kv_heads && x->head_dim == y->head_dim;
}

static int times_measured(const llmperf_samples *samples, const llmperf_sample *wanted)
{
    int times = 0;
    for (int64_t i = 0; i < samples->count; i++)
        times += same_shape(&samples->sample[i], wanted);
    return times;
}

/* ---- what is measured twice ------------------------------------------------------------------ */

/* How many probes of each kind and format there are, and how many of them were passed. */
typedef struct tally {
    int all[LLMPERF_SAMPLE_KIND_COUNT][LLMPERF_DTYPE_COUNT];
    int passed[LLMPERF_SAMPLE_KIND_COUNT][LLMPERF_DTYPE_COUNT];
} tally;

static bool may_repeat(const llmperf_probe *probe)
{
    return probe->kind == LLMPERF_PROBE_OP && !probe->best;
}

/* Is the next probe of its kind and format one of those that are measured once more at the end? Of
 * every kind and format some, spread over its shapes: what differs between two runs minutes apart
 * shows in no single one. */
static bool is_repeated(tally *t, const llmperf_probe *probe)
{
    if (!may_repeat(probe))
        return false;
    llmperf_sample_kind kind = schedule_kind(probe);
    int all = t->all[kind][probe->op.dtype], before = t->passed[kind][probe->op.dtype]++;
    /* the r-th of `all` when it is where one of REPEATS evenly spread ones falls */
    return (before * REPEATS + all / 2) / all != ((before + 1) * REPEATS + all / 2) / all;
}

llmperf_status schedule_make(const llmperf_probe_plan *plan, const llmperf_samples *samples,
                             const sample_names *names, schedule *ret_schedule,
                             llmperf_error *error)
{
    schedule s = {.all = plan->count,
                  .index = calloc(2 * (size_t)plan->count + 1, sizeof *s.index)};
    int *times = calloc((size_t)plan->count + 1, sizeof *times); /* each was measured */
    tally *t = calloc(1, sizeof *t);
    llmperf_status status = LLMPERF_OK;
    if (!s.index || !times || !t) {
        schedule_free(&s);
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    for (int i = 0; status == LLMPERF_OK && i < plan->count; i++) {
        const llmperf_probe *probe = &plan->probe[i];
        llmperf_sample wanted = schedule_sample(names, probe);
        times[i] = times_measured(samples, &wanted);
        if (may_repeat(probe))
            t->all[wanted.kind][probe->op.dtype]++;
        if (times[i] < 1)
            s.index[s.count++] = i;
    }
    for (int i = 0; status == LLMPERF_OK && i < plan->count; i++) {
        bool again = is_repeated(t, &plan->probe[i]);
        s.all += again;
        if (again && times[i] < 2)
            s.index[s.count++] = i;
    }
    free(times);
    free(t);
    if (status == LLMPERF_OK)
        *ret_schedule = s;
    return status;
}

void schedule_free(schedule *s)
{
    free(s->index);
    *s = (schedule){0};
}
