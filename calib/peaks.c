/* SPDX-License-Identifier: MIT */
#include "peaks.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

/* ---- what was reached ------------------------------------------------------------------------ */

/* Which stream a sample is: the plan's largest buffers, told apart by the bytes they move. */
static int stream_of(const llmperf_session *s, const llmperf_sample *sample)
{
    for (int i = 0; i < s->plan.count; i++) {
        const llmperf_probe *p = &s->plan.probe[i];
        if (p->cold && schedule_kind(p) == LLMPERF_SAMPLE_COPY &&
            llmperf_probe_bytes(p) == sample->bytes)
            return p->kind == LLMPERF_PROBE_READ ? 0 : p->kind == LLMPERF_PROBE_COPY ? 1 : 2;
    }
    return 0;
}

static void raise_to(double *largest, double value)
{
    if (value > *largest)
        *largest = value;
}

llmperf_peaks peaks_find(const llmperf_session *s)
{
    llmperf_peaks p = {0};
    for (int64_t i = 0; i < s->samples.count; i++) {
        const llmperf_sample *one = &s->samples.sample[i];
        double t = one->time_s;
        p.contended += (one->flags & LLMPERF_SAMPLE_CONTENDED) != 0;
        p.throttled += (one->flags & LLMPERF_SAMPLE_THROTTLED) != 0;
        p.unsteady += (one->flags & LLMPERF_SAMPLE_UNSTEADY) != 0;
        p.timed_out += (one->flags & LLMPERF_SAMPLE_TIMEOUT) != 0;
        p.slow_memory += (one->flags & LLMPERF_SAMPLE_SLOW_MEMORY) != 0;
        if (one->kind == LLMPERF_SAMPLE_LAUNCH) {
            p.launch_s = t;
            p.launch_contended = (one->flags & LLMPERF_SAMPLE_CONTENDED) != 0;
        } else if (one->kind == LLMPERF_SAMPLE_LAUNCH_GRAPH) {
            p.graph_s = t;
        } else if (one->kind == LLMPERF_SAMPLE_LAUNCH_HOST) {
            p.host_s = t;
        } else if (one->kind == LLMPERF_SAMPLE_ROUND_TRIP) {
            p.round_s = t;
        } else if (one->kind == LLMPERF_SAMPLE_H2D) {
            raise_to(&p.h2d_bytes_per_s, one->bytes / t);
        } else if (one->kind == LLMPERF_SAMPLE_D2H) {
            raise_to(&p.d2h_bytes_per_s, one->bytes / t);
        } else if (one->kind == LLMPERF_SAMPLE_WRITE) {
            raise_to(&p.stream_bytes_per_s[3], one->bytes / t);
        } else if (one->kind == LLMPERF_SAMPLE_COPY && one->place == LLMPERF_PLACE_COLD) {
            raise_to(&p.stream_bytes_per_s[stream_of(s, one)], one->bytes / t);
            raise_to(&p.memory_bytes_per_s, one->bytes / t);
        } else if (one->kind == LLMPERF_SAMPLE_COPY) {
            if (one->bytes / t > p.cache_bytes_per_s)
                p.cache_at_bytes = one->bytes;
            raise_to(&p.cache_bytes_per_s, one->bytes / t);
        } else if (one->op.kind == LLMPERF_KIND_GEMM) {
            raise_to(&(one->library == s->names.best_library ? p.best_flop_per_s
                                                             : p.flop_per_s)[one->op.dtype],
                     one->op.flop / t);
            if (one->kind == LLMPERF_SAMPLE_GEMV)
                raise_to(&p.gemv_bytes_per_s[one->op.dtype], one->op.bytes / t);
        }
        /* small ones may hide in a cache that is larger than it says */
        if (one->place == LLMPERF_PLACE_COLD && one->op.bytes >= s->opened.device.cache_bytes)
            raise_to(&p.memory_bytes_per_s, one->op.bytes / t);
    }
    /* the stream that watched for company ran all the time: its best is the least disturbed */
    if (s->watch_best_s > 0)
        raise_to(&p.memory_bytes_per_s, s->plan.watch.bytes / s->watch_best_s);
    return p;
}

/* "amd-epyc-2c": a name for a file, from what the device calls itself. */
static void slug_of(const llmperf_device *d, char *name, size_t size)
{
    size_t used = 0;
    for (const char *c = d->name; *c && used + 8 < size && used < 48; c++) {
        if (isalnum((unsigned char)*c))
            name[used++] = (char)tolower((unsigned char)*c);
        else if (used > 0 && name[used - 1] != '-')
            name[used++] = '-';
    }
    while (used > 0 && name[used - 1] == '-')
        used--;
    snprintf(name + used, size - used, "%s%.0fc", used ? "-" : "device-", d->units);
}

void date_text(char *buffer, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc) || strftime(buffer, size, "%Y-%m-%d", &utc) == 0)
        snprintf(buffer, size, "unknown date");
}

void peaks_to_hw(const llmperf_session *s, const llmperf_peaks *p, llmperf_hw *ret_hw)
{
    const llmperf_device *d = &s->opened.device;
    char date[32];
    memset(ret_hw, 0, sizeof *ret_hw);
    slug_of(d, ret_hw->name, sizeof ret_hw->name);
    snprintf(ret_hw->kind, sizeof ret_hw->kind, "%s", d->kind);
    snprintf(ret_hw->aliases[0], sizeof ret_hw->aliases[0], "%s", d->name);
    ret_hw->alias_count = 1;
    memcpy(ret_hw->peak_flop_per_s, p->flop_per_s, sizeof ret_hw->peak_flop_per_s);
    ret_hw->mem_bytes_per_s = p->memory_bytes_per_s;
    ret_hw->memory_bytes = d->memory_bytes;
    ret_hw->units = d->units;
    ret_hw->l2_bytes = d->cache_bytes;
    ret_hw->clock_hz = d->clock_hz;
    ret_hw->launch_s = p->launch_contended ? 0 : p->launch_s;
    date_text(date, sizeof date);
    ret_hw->provenance[LLMPERF_HW_DEFAULT].confidence = LLMPERF_CONFIDENCE_DERIVED;
    snprintf(ret_hw->provenance[LLMPERF_HW_DEFAULT].source, LLMPERF_TEXT_MAX,
             "measured on this machine by llmperf %s calibrate, %s, %s %s", llmperf_version(), date,
             d->library, d->version);
    llmperf_note(&ret_hw->notes, "peaks are the best rates that were measured, not a datasheet's: "
                                 "another machine of this name may differ");
    if (p->contended > 0)
        llmperf_note(&ret_hw->notes,
                     "%d of %lld samples were contended: a quiet machine may reach "
                     "more",
                     p->contended, (long long)s->samples.count);
}
