/* SPDX-License-Identifier: MIT */
/*
 * How to measure well: repeat until the distribution-free interval of the median is narrow, count
 * outliers instead of dropping them, notice drift, throttling and company, try again, and never end
 * with nothing.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "llmperf/measure.h"
#include "entry.h"

enum {
    LEAST = 10,
    MOST = 2000,
    RETRIES = 2,
    WATCH_REPS = 3,
    TREND_POINTS = 400, /* the trend test is quadratic */
    SLOW_MOST = 6,      /* attempts in a row that slow memory may cost another */
};

static const double INTERVAL_FRAC = 0.01, SHORT_FRAC = 0.05, SHORT_S = 20e-6;
static const double TIME_LIMIT_S = 3, COOL_S = 0.2, COOL_SHARE = 0.1, WATCH_FRAC = 0.15;
static const double WATCH_EVERY_S = 0.25; /* of a long attempt */
static const double OUTLIER_RANGES = 3, DRIFT_FRAC = 0.02, TREND_Z = 3;
/* what a second attempt may cure */
static const unsigned CURABLE = LLMPERF_SAMPLE_CONTENDED | LLMPERF_SAMPLE_THROTTLED |
                                LLMPERF_SAMPLE_UNSTEADY | LLMPERF_SAMPLE_SLOW_MEMORY;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_s(double seconds)
{
    struct timespec rest = {.tv_sec = (time_t)seconds};
    rest.tv_nsec = (long)((seconds - (double)rest.tv_sec) * 1e9);
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        ;
}

/* ---- what a sequence of times says ----------------------------------------------------------- */

/*
 * The largest l with P(B < l) <= 2.5 %, B ~ Binomial(n, 1/2): the interval from the l-th smallest
 * to the l-th largest of n independent times then holds the true median with at least 95 %, whatever
 * their distribution. n = 10 gives 2 (covers 97.9 %), n = 100 gives 40.
 */
int llmperf_interval_rank(int count)
{
    const double tail = 0.025;
    double log_probability = -(double)count * M_LN2; /* P(B = 0) */
    double sum = 0;
    int rank = 0;
    for (int i = 0; i < count; i++) {
        sum += exp(log_probability);
        log_probability += log((double)(count - i) / (i + 1)); /* P(B = i + 1) */
        if (sum > tail)
            break;
        rank = i + 1;
    }
    return rank > 0 ? rank : 1;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Linear interpolation between order statistics. */
static double quantile(const double *sorted, int count, double share)
{
    double at = share * (count - 1);
    int below = (int)at;
    int above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

/* Mann-Kendall: (earlier, later) pairs that rise minus those that fall, in standard deviations of
 * a sequence without trend. Few outliers move it little. */
static double trend_of(const double *seconds, int count)
{
    int points = count < TREND_POINTS ? count : TREND_POINTS;
    double rising = 0;
    for (int i = 0; i < points; i++) {
        double earlier = seconds[(int64_t)i * count / points];
        for (int j = i + 1; j < points; j++) {
            double later = seconds[(int64_t)j * count / points];
            rising += (later > earlier) - (later < earlier);
        }
    }
    double n = points;
    double deviation = sqrt(n * (n - 1) * (2 * n + 5) / 18);
    return deviation > 0 ? rising / deviation : 0;
}

/* Median of a stretch; sorts `scratch`. */
static double median_of(const double *seconds, int count, double *scratch)
{
    memcpy(scratch, seconds, (size_t)count * sizeof *scratch);
    qsort(scratch, (size_t)count, sizeof *scratch, by_value);
    return quantile(scratch, count, 0.5);
}

static void summarise(const double *seconds, int count, double *scratch, llmperf_summary *s)
{
    memset(s, 0, sizeof *s);
    s->count = count;
    int third = count / 3 > 0 ? count / 3 : 1;
    double first = median_of(seconds, third, scratch);
    double last = median_of(seconds + count - third, third, scratch);
    s->trend_z = trend_of(seconds, count);
    s->median_s = median_of(seconds, count, scratch); /* sorts all of them */
    int rank = llmperf_interval_rank(count);
    s->low_s = scratch[rank - 1];
    s->high_s = scratch[count - rank];
    s->least_s = scratch[0];
    double lower = quantile(scratch, count, 0.25), upper = quantile(scratch, count, 0.75);
    double reach = OUTLIER_RANGES * (upper - lower);
    for (int i = 0; i < count; i++)
        s->outliers += scratch[i] < lower - reach || scratch[i] > upper + reach;
    s->drift_frac = s->median_s > 0 ? (last - first) / s->median_s : 0;
    s->drifting = fabs(s->drift_frac) > DRIFT_FRAC && fabs(s->trend_z) > TREND_Z;
}

llmperf_status llmperf_summarise(const double *seconds, int count, llmperf_summary *ret_summary,
                                 llmperf_error *error)
{
    NEEDS(seconds && count > 0 && ret_summary, error);
    if (count < 1)
        return llmperf_fail(error, LLMPERF_E_USAGE, "%d times to summarise; at least 1 is needed",
                            count);
    double *scratch = malloc((size_t)count * sizeof *scratch);
    if (!scratch)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    summarise(seconds, count, scratch, ret_summary);
    free(scratch);
    return LLMPERF_OK;
}

/* ---- one attempt ----------------------------------------------------------------------------- */

/* The times of a probe being sampled. */
typedef struct sampler {
    const llmperf_backend *backend;
    void *handle;
    const llmperf_probe *probe;
    llmperf_measure_options options; /* defaults filled in */
    double *seconds, *scratch;       /* options.most each */
    double begun_s;                  /* clock at the start of an attempt */
    double reported_s;               /* sum of the times of all attempts, warm-ups included */
    double reported_before_s;        /* of earlier attempts */
    double watched_s;                /* clock when the stream ran last */
    double stream_sum_log_s;         /* of this attempt's streams: sum of log(seconds) */
    double stream_least_s, stream_most_s;
    int stream_count;
    unsigned curable; /* of CURABLE: memory that stays slow is not waited for */
} sampler;

/* Seconds of this attempt. A simulated device answers at once: its own count. */
static double spent_s(const sampler *s)
{
    return s->options.simulated ? s->reported_s - s->reported_before_s : now_s() - s->begun_s;
}

static bool narrow_enough(const sampler *s, const llmperf_summary *summary)
{
    double half = (summary->high_s - summary->low_s) / 2;
    double enough =
        summary->median_s < s->options.short_s ? s->options.short_frac : s->options.interval_frac;
    return summary->count >= s->options.least && half <= enough * summary->median_s;
}

static llmperf_status run(sampler *s, int count, double *seconds, unsigned *flags,
                          llmperf_error *error)
{
    unsigned one = 0;
    llmperf_status status = s->backend->time_op(s->handle, s->probe, count, seconds, &one, error);
    if (status != LLMPERF_OK)
        return status;
    for (int i = 0; i < count; i++) {
        if (!(seconds[i] > 0) || isinf(seconds[i]))
            return llmperf_fail(error, LLMPERF_E_DEVICE, "backend %s reports a time of %g s",
                                s->backend->name, seconds[i]);
        s->reported_s += seconds[i];
    }
    *flags |= one;
    return LLMPERF_OK;
}

/* What a stream of `seconds` says of this attempt. What is in a cache does not care. */
static void note_stream(sampler *s, double seconds, bool alone, unsigned *flags)
{
    s->stream_least_s = s->stream_count > 0 ? fmin(s->stream_least_s, seconds) : seconds;
    s->stream_most_s = s->stream_count > 0 ? fmax(s->stream_most_s, seconds) : seconds;
    s->stream_sum_log_s += log(seconds);
    s->stream_count++;
    if (!s->probe->cold)
        return;
    if (!alone)
        *flags |= LLMPERF_SAMPLE_SLOW_MEMORY;
    if (s->stream_most_s > s->stream_least_s * (1 + s->options.watch_frac))
        *flags |= LLMPERF_SAMPLE_UNSTEADY;
}

/* Is the memory stream slower than it can be? Remembers its best. */
static llmperf_status watch(sampler *s, unsigned *flags, llmperf_error *error)
{
    const llmperf_measure_options *o = &s->options;
    double seconds[WATCH_REPS], best_s = INFINITY;
    unsigned ignored = 0;
    if (!o->watch || !o->watch_best_s)
        return LLMPERF_OK;
    llmperf_status status =
        s->backend->time_op(s->handle, o->watch, WATCH_REPS, seconds, &ignored, error);
    if (status != LLMPERF_OK)
        return status;
    for (int i = 0; i < WATCH_REPS; i++)
        best_s = fmin(best_s, seconds[i]);
    if (!(*o->watch_best_s > 0) || (!o->watch_fixed && best_s < *o->watch_best_s))
        *o->watch_best_s = best_s;
    bool alone = best_s <= *o->watch_best_s * (1 + o->watch_frac);
    s->watched_s = now_s();
    if (best_s > 0)
        note_stream(s, best_s, alone, flags);
    if (o->watch_log && best_s > 0) {
        o->watch_log->sum_log_s += log(best_s);
        o->watch_log->count++;
    }
    return LLMPERF_OK;
}

double llmperf_watch_rate(const llmperf_watch_log *log, const llmperf_probe *watch)
{
    if (!log || !watch)
        return 0;
    return log->count < 1 ? 0
                          : llmperf_probe_bytes(watch) / exp(log->sum_log_s / (double)log->count);
}

/* How many repetitions next: a half more than there are, as far as the time allows. */
static int next_count(const sampler *s, int have, double one_s, double limit_s)
{
    double wanted = have < s->options.least ? s->options.least - have : have / 2.0;
    double room = (limit_s - spent_s(s)) / one_s;
    double count = fmin(fmin(wanted, room), s->options.most - have);
    return count >= 1 ? (int)count : 1;
}

/* Samples until the interval is narrow, time or repetitions run out. When `may_retry`, a curable
 * flag ends the attempt early: it would be thrown away. */
static llmperf_status attempt(sampler *s, bool may_retry, double limit_s, llmperf_measurement *ret,
                              llmperf_error *error)
{
    double warm_s = 0;
    unsigned flags = 0;
    int have = 0;
    llmperf_measurement m = {0};

    s->stream_count = 0;
    s->stream_sum_log_s = 0;
    llmperf_status status = watch(s, &flags, error);
    /* pages, caches, clocks: the first run tells how long one takes, the second warms; what a backend
     * prepares meanwhile (operands, algorithms to choose from) is not taken off the limit */
    for (int i = 0; status == LLMPERF_OK && i < 2 && (i == 0 || warm_s < limit_s / 10); i++) {
        status = run(s, 1, &warm_s, &flags, error);
        if (i == 0 && !s->options.simulated)
            s->begun_s = now_s() - warm_s;
    }
    if (status != LLMPERF_OK)
        return status;
    if (spent_s(s) + warm_s > limit_s) {
        /* one run takes all the time there is: it is the sample */
        s->seconds[have++] = warm_s;
    } else {
        flags &= ~CURABLE | LLMPERF_SAMPLE_SLOW_MEMORY; /* what the warm-up met does not count */
        do {
            int count = next_count(s, have, warm_s, limit_s);
            status = run(s, count, s->seconds + have, &flags, error);
            if (status != LLMPERF_OK)
                return status;
            have += count;
            if (!s->options.simulated && now_s() - s->watched_s > WATCH_EVERY_S)
                status = watch(s, &flags, error);
            if (status != LLMPERF_OK)
                return status;
            summarise(s->seconds, have, s->scratch, &m.summary);
            if (narrow_enough(s, &m.summary) || (may_retry && (flags & s->curable)))
                break;
        } while (have < s->options.most && spent_s(s) < limit_s);
    }
    summarise(s->seconds, have, s->scratch, &m.summary);
    status = watch(s, &flags, error);
    if (status != LLMPERF_OK)
        return status;
    if (m.summary.drifting)
        flags |= LLMPERF_SAMPLE_UNSTEADY;
    if (!narrow_enough(s, &m.summary))
        flags |= LLMPERF_SAMPLE_TIMEOUT;
    if (s->stream_count > 0)
        m.stream_bytes_per_s =
            llmperf_probe_bytes(s->options.watch) / exp(s->stream_sum_log_s / s->stream_count);
    m.flags = flags;
    *ret = m;
    return LLMPERF_OK;
}

/* ---- several attempts ------------------------------------------------------------------------ */

static int curable_count(unsigned flags, unsigned curable)
{
    int count = 0;
    for (unsigned rest = flags & curable; rest; rest &= rest - 1)
        count++;
    return count;
}

/* Fewer troubles are better; company and heat only ever slow down, so there the faster one is; a
 * drift settles, so there the later one is. */
static bool is_better(const llmperf_measurement *later, const llmperf_measurement *best)
{
    int a = curable_count(later->flags, CURABLE), b = curable_count(best->flags, CURABLE);
    if (a != b)
        return a < b;
    if (later->summary.count > 2 * best->summary.count) /* the other was given up early */
        return true;
    if (later->flags &
        (LLMPERF_SAMPLE_CONTENDED | LLMPERF_SAMPLE_THROTTLED | LLMPERF_SAMPLE_SLOW_MEMORY))
        return later->summary.median_s < best->summary.median_s;
    return true;
}

/* What another attempt may cure: memory that was slow so often will be so next time. */
static unsigned curable_after(const llmperf_watch_log *log)
{
    bool stays = log && log->slow > SLOW_MOST;
    return stays ? CURABLE & ~(unsigned)LLMPERF_SAMPLE_SLOW_MEMORY : CURABLE;
}

static void note_slowness(sampler *s, unsigned flags)
{
    llmperf_watch_log *log = s->options.watch_log;
    if (!log || !s->probe->cold)
        return;
    log->slow = flags & LLMPERF_SAMPLE_SLOW_MEMORY ? log->slow + 1 : 0;
    s->curable = curable_after(log);
}

static llmperf_measure_options with_defaults(const llmperf_measure_options *options)
{
    llmperf_measure_options o = {0};
    if (options)
        o = *options;
    o.least = o.least > 0 ? o.least : LEAST;
    o.most = o.most > 0 ? o.most : MOST;
    o.most = o.most > o.least ? o.most : o.least;
    o.interval_frac = o.interval_frac > 0 ? o.interval_frac : INTERVAL_FRAC;
    o.short_frac = o.short_frac > 0 ? o.short_frac : SHORT_FRAC;
    o.short_s = o.short_s > 0 ? o.short_s : SHORT_S;
    o.time_limit_s = o.time_limit_s > 0 ? o.time_limit_s : TIME_LIMIT_S;
    o.retries = o.retries == 0 ? RETRIES : o.retries < 0 ? 0 : o.retries;
    o.cool_s = o.cool_s == 0 ? COOL_S : o.cool_s < 0 ? 0 : o.cool_s;
    o.watch_frac = o.watch_frac > 0 ? o.watch_frac : WATCH_FRAC;
    return o;
}

llmperf_status llmperf_measure(const llmperf_backend *backend, void *handle,
                               const llmperf_probe *probe, const llmperf_measure_options *options,
                               llmperf_measurement *ret_measurement, llmperf_error *error)
{
    NEEDS(backend && probe && IS_BELOW(probe->kind, LLMPERF_PROBE_COUNT) && ret_measurement, error);
    sampler s = {
        .backend = backend, .handle = handle, .probe = probe, .options = with_defaults(options)};
    llmperf_status status = LLMPERF_OK;
    llmperf_measurement best = {0};
    double begun_s = now_s();
    int attempts = 0;

    s.seconds = malloc((size_t)s.options.most * sizeof *s.seconds);
    s.scratch = malloc((size_t)s.options.most * sizeof *s.scratch);
    if (!s.seconds || !s.scratch) {
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
        goto out;
    }
    s.curable = curable_after(s.options.watch_log);
    /* the last attempt takes all the time that is left; those before end at the first trouble */
    for (bool is_last = false; !is_last;) {
        llmperf_measurement one;
        double gone_s = s.options.simulated ? s.reported_s : now_s() - begun_s;
        double left_s = s.options.time_limit_s - gone_s;
        if (attempts > 0 && left_s < s.options.time_limit_s / 2)
            break; /* too little time for one that would be better */
        is_last = attempts >= s.options.retries;
        s.begun_s = now_s();
        s.reported_before_s = s.reported_s;
        status = attempt(&s, !is_last, left_s, &one, error);
        if (status != LLMPERF_OK)
            goto out;
        attempts++;
        if (attempts == 1 || is_better(&one, &best))
            best = one;
        is_last = is_last || curable_count(one.flags, s.curable) == 0;
        note_slowness(&s, one.flags);
        if (!is_last && !s.options.simulated)
            sleep_s(fmin(s.options.cool_s * attempts, s.options.time_limit_s * COOL_SHARE));
    }
    best.attempts = attempts;
    best.spent_s = s.options.simulated ? s.reported_s : now_s() - begun_s;
    *ret_measurement = best;
out:
    free(s.seconds);
    free(s.scratch);
    return status;
}

llmperf_status llmperf_measure_op(const llmperf_backend *backend, void *handle,
                                  const llmperf_op *op, const llmperf_measure_options *options,
                                  llmperf_measurement *ret_measurement, llmperf_error *error)
{
    NEEDS(backend && op_is_sound(op) && ret_measurement, error);
    const llmperf_probe probe = {.kind = LLMPERF_PROBE_OP, .op = *op, .cold = true};
    return llmperf_measure(backend, handle, &probe, options, ret_measurement, error);
}

llmperf_status llmperf_measure_step(const llmperf_backend *backend, void *handle,
                                    const llmperf_op *ops, int op_count,
                                    const llmperf_measure_options *options,
                                    llmperf_measurement *ret_measurement, llmperf_error *error)
{
    NEEDS(backend && op_count > 0 && ops_are_sound(ops, op_count) && ret_measurement, error);
    const llmperf_probe probe = {
        .kind = LLMPERF_PROBE_FORWARD, .ops = ops, .op_count = op_count, .cold = true};
    return llmperf_measure(backend, handle, &probe, options, ret_measurement, error);
}
