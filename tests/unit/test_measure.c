/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/measure.h"

/* ---- the interval ---- */

Test(measure, interval_ranks_are_those_of_the_tables)
{
    /* P(Binomial(n, 1/2) < l) <= 2.5 %: n = 10: P(B <= 1) = 11/1024; n = 20: P(B <= 5) = 2.07 %;
     * n = 100: P(B <= 39) = 1.76 %, P(B <= 40) = 2.84 %. Conover, Practical Nonparametric
     * Statistics, gives the same ranks. */
    const struct {
        int count, rank;
    } rows[] = {{1, 1},  {5, 1},  {6, 1},  {8, 1},    {9, 2},
                {10, 2}, {12, 3}, {20, 6}, {100, 40}, {2000, 956}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_eq(llmperf_interval_rank(rows[i].count), rows[i].rank, "n = %d: %d",
                     rows[i].count, llmperf_interval_rank(rows[i].count));
}

static llmperf_summary summary_of(const double *seconds, int count)
{
    llmperf_summary s;
    cr_assert(llmperf_summarise(seconds, count, &s, NULL) == LLMPERF_OK);
    return s;
}

Test(measure, summary_of_a_known_sequence)
{
    const double seconds[] = {7, 3, 9, 1, 5, 10, 2, 8, 4, 6};
    llmperf_summary s = summary_of(seconds, 10);
    cr_expect_eq(s.count, 10);
    cr_expect_float_eq(s.median_s, 5.5, 1e-12);
    cr_expect_float_eq(s.low_s, 2, 0); /* the 2nd smallest and the 2nd largest */
    cr_expect_float_eq(s.high_s, 9, 0);
    cr_expect_float_eq(s.least_s, 1, 0);
    cr_expect_eq(s.outliers, 0);
    cr_expect(!s.drifting);
    cr_expect(seconds[0] == 7, "the input is left as it was");
}

Test(measure, one_time_is_a_summary_too)
{
    const double seconds[] = {0.5};
    llmperf_summary s = summary_of(seconds, 1);
    cr_expect(s.median_s == 0.5 && s.low_s == 0.5 && s.high_s == 0.5 && !s.drifting);
    cr_expect(llmperf_summarise(seconds, 0, &s, NULL) == LLMPERF_E_USAGE);
}

static uint64_t state = 42;

static double uniform(void)
{
    state += 0x9e3779b97f4a7c15u;
    uint64_t x = state;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return (double)((x ^ (x >> 31)) >> 11) * (1.0 / 9007199254740992.0);
}

Test(measure, the_interval_holds_the_median_95_times_of_100)
{
    /* of a skewed law: exponential, median ln 2; binomial standard deviation of 4000 trials at 95 %
     * is 0.34 %; n = 10 covers 97.85 %, n = 30 95.7 %, n = 75 95.1 % at least */
    const int counts[] = {10, 30, 75};
    for (int c = 0; c < 3; c++) {
        int inside = 0;
        for (int trial = 0; trial < 4000; trial++) {
            double seconds[75];
            for (int i = 0; i < counts[c]; i++)
                seconds[i] = -log(1 - uniform());
            llmperf_summary s = summary_of(seconds, counts[c]);
            inside += s.low_s <= M_LN2 && M_LN2 <= s.high_s;
        }
        cr_expect(inside >= 4000 * 0.94, "n = %d: %d of 4000", counts[c], inside);
    }
}

Test(measure, outliers_are_counted_and_stay_in)
{
    double seconds[100];
    for (int i = 0; i < 100; i++)
        seconds[i] = 1 + 0.01 * sin(i);
    seconds[17] = 5;
    seconds[60] = 8;
    llmperf_summary s = summary_of(seconds, 100);
    cr_expect_eq(s.outliers, 2);
    cr_expect_eq(s.count, 100);
    cr_expect_float_eq(s.median_s, 1, 0.01);
}

Test(measure, drift_is_seen_through_noise_and_noise_is_no_drift)
{
    double seconds[60];
    int false_alarms = 0;
    for (int trial = 0; trial < 500; trial++) {
        for (int i = 0; i < 60; i++)
            seconds[i] = 1 + 0.05 * (uniform() - 0.5);
        false_alarms += summary_of(seconds, 60).drifting;
    }
    cr_expect(false_alarms <= 5, "%d of 500", false_alarms); /* |z| > 3: 0.27 % */
    for (int direction = -1; direction <= 1; direction += 2) {
        for (int i = 0; i < 60; i++)
            seconds[i] = 1 + direction * 0.1 * i / 60 + 0.05 * (uniform() - 0.5);
        llmperf_summary s = summary_of(seconds, 60);
        cr_expect(s.drifting);
        cr_expect(s.drift_frac * direction > 0.04 && s.drift_frac * direction < 0.09, "%g",
                  s.drift_frac);
    }
    /* two outliers at the end are no trend */
    for (int i = 0; i < 60; i++)
        seconds[i] = 1 + 0.001 * (i % 7) + (i >= 58 ? 3 : 0);
    cr_expect(!summary_of(seconds, 60).drifting);
}

/* ---- sampling ---- */

/* A backend whose next times, flags and faults a test decides. */
typedef struct script {
    int calls, reps;
    double seconds;               /* of a repetition */
    double wobble;                /* +- share, uniform */
    double grow;                  /* per repetition */
    int flagged_from, flagged_to; /* calls */
    unsigned flags;
    double slow;              /* factor of flagged calls */
    double watch_seconds[64]; /* of each call of a READ probe */
    bool cold;                /* the probe's operands come from memory */
    int watch_calls;
    int fail_at;
} script;

static llmperf_status scripted(void *handle, const llmperf_probe *probe, int count, double *seconds,
                               unsigned *ret_flags, llmperf_error *error)
{
    script *s = handle;
    *ret_flags = 0;
    if (probe->kind == LLMPERF_PROBE_READ) {
        for (int i = 0; i < count; i++)
            seconds[i] = s->watch_seconds[s->watch_calls];
        s->watch_calls += s->watch_calls < 63;
        return LLMPERF_OK;
    }
    s->calls++;
    if (s->calls == s->fail_at)
        return llmperf_fail(error, LLMPERF_E_DEVICE, "scripted");
    bool flagged = s->calls >= s->flagged_from && s->calls <= s->flagged_to;
    for (int i = 0; i < count; i++, s->reps++)
        seconds[i] = s->seconds * (1 + s->grow * s->reps) * (flagged && s->slow ? s->slow : 1) *
                     (1 + s->wobble * (uniform() - 0.5));
    *ret_flags = flagged ? s->flags : 0;
    return LLMPERF_OK;
}

static const llmperf_backend SCRIPTED = {
    .abi = LLMPERF_BACKEND_ABI, .name = "scripted", .time_op = scripted};

static llmperf_measurement measure(script *s, const llmperf_measure_options *options)
{
    llmperf_probe probe = {.kind = LLMPERF_PROBE_OP, .cold = s->cold};
    llmperf_measurement m;
    llmperf_error error = {0};
    llmperf_status status = llmperf_measure(&SCRIPTED, s, &probe, options, &m, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return m;
}

#define QUICK .simulated = true

Test(measure, ten_repetitions_are_enough_for_a_steady_device)
{
    script s = {.seconds = 1e-3, .wobble = 0.001};
    llmperf_measurement m = measure(&s, &(llmperf_measure_options){QUICK});
    cr_expect_eq(m.summary.count, 10);
    cr_expect_eq(m.flags, 0);
    cr_expect_eq(m.attempts, 1);
}

Test(measure, noise_is_sampled_until_the_interval_is_narrow)
{
    script s = {.seconds = 1e-4, .wobble = 0.2};
    llmperf_measurement m = measure(&s, &(llmperf_measure_options){QUICK});
    cr_expect(m.summary.count > 100);
    cr_expect((m.summary.high_s - m.summary.low_s) / 2 <= 0.01 * m.summary.median_s);
    cr_expect_eq(m.flags, 0);
}

Test(measure, short_times_need_five_percent)
{
    script s = {.seconds = 19e-6, .wobble = 0.1}, t = {.seconds = 21e-6, .wobble = 0.1};
    int below = measure(&s, &(llmperf_measure_options){QUICK}).summary.count;
    int above = measure(&t, &(llmperf_measure_options){QUICK}).summary.count;
    cr_expect_eq(below, 10);
    cr_expect(above > 20, "%d", above);
}

Test(measure, time_out_keeps_what_there_is_and_says_so)
{
    script s = {.seconds = 0.2, .wobble = 0.5}; /* simulated: the clock hardly moves */
    llmperf_measurement m = measure(&s, &(llmperf_measure_options){.time_limit_s = 2, QUICK});
    cr_expect(m.flags == LLMPERF_SAMPLE_TIMEOUT);
    cr_expect(m.summary.count >= 5 && m.summary.count <= 10, "%d", m.summary.count);
}

Test(measure, one_run_that_takes_all_the_time_is_the_sample)
{
    script s = {.seconds = 7, .wobble = 0.01};
    llmperf_measurement m = measure(&s, &(llmperf_measure_options){.time_limit_s = 2, QUICK});
    cr_expect_eq(s.calls, 1);
    cr_expect_eq(m.summary.count, 1);
    cr_expect_float_eq(m.summary.median_s, 7, 0.1);
    cr_expect(m.flags == LLMPERF_SAMPLE_TIMEOUT);
}

Test(measure, contention_is_tried_again_and_the_clean_attempt_kept)
{
    /* calls: 2 warm-ups, then samples; the first attempt's samples are disturbed */
    script s = {.seconds = 1e-3,
                .wobble = 0.001,
                .flagged_from = 3,
                .flagged_to = 3,
                .flags = LLMPERF_SAMPLE_CONTENDED,
                .slow = 1.7};
    llmperf_measurement m = measure(&s, &(llmperf_measure_options){QUICK});
    cr_expect_eq(m.attempts, 2);
    cr_expect_eq(m.flags, 0);
    cr_expect_float_eq(m.summary.median_s, 1e-3, 1e-5);
}

Test(measure, what_stays_throttled_is_accepted_and_flagged)
{
    script s = {.seconds = 1e-3,
                .wobble = 0.001,
                .flagged_from = 1,
                .flagged_to = 1 << 20,
                .flags = LLMPERF_SAMPLE_THROTTLED};
    llmperf_measurement m = measure(&s, &(llmperf_measure_options){.retries = 3, QUICK});
    cr_expect_eq(m.attempts, 4);
    cr_expect(m.flags == LLMPERF_SAMPLE_THROTTLED);
    cr_expect_eq(m.summary.count, 10);
}

/* Heat and company slow down and never speed up: of attempts alike in that the fastest stays, be it the
 * first or the last. A repetition is 0.2 % faster or slower than the one before it. */
Test(measure, of_attempts_in_company_the_fastest_stays)
{
    for (int direction = -1; direction <= 1; direction += 2) {
        script s = {.seconds = 1e-3,
                    .grow = 0.002 * direction,
                    .flagged_from = 1,
                    .flagged_to = 1 << 20,
                    .flags = LLMPERF_SAMPLE_THROTTLED};
        llmperf_measurement m = measure(&s, &(llmperf_measure_options){.retries = 3, QUICK});
        cr_expect_eq(m.attempts, 4);
        cr_expect(m.flags == LLMPERF_SAMPLE_THROTTLED);
        /* the median of the first ten repetitions, or of the last ten */
        double at = direction > 0 ? 0.5 * (s.reps / 4 - 10) + 6 : s.reps - 5.5;
        double want = 1e-3 * (1 + s.grow * at);
        cr_expect(fabs(m.summary.median_s / want - 1) < 5e-3, "%g, not %g", m.summary.median_s,
                  want);
    }
}

Test(measure, a_flag_of_the_warm_up_does_not_count)
{
    script s = {.seconds = 1e-3,
                .wobble = 0.001,
                .flagged_from = 1,
                .flagged_to = 2,
                .flags = LLMPERF_SAMPLE_CONTENDED};
    llmperf_measurement m = measure(&s, &(llmperf_measure_options){QUICK});
    cr_expect_eq(m.attempts, 1);
    cr_expect_eq(m.flags, 0);
}

Test(measure, a_drift_that_goes_on_is_flagged_unsteady)
{
    script s = {.seconds = 1e-3, .wobble = 0.01, .grow = 0.01};
    llmperf_measurement m = measure(&s, &(llmperf_measure_options){.least = 30, .most = 30, QUICK});
    cr_expect(m.flags & LLMPERF_SAMPLE_UNSTEADY);
    cr_expect_eq(m.attempts, 3);
}

Test(measure, retries_can_be_switched_off)
{
    script s = {.seconds = 1e-3,
                .flagged_from = 1,
                .flagged_to = 1 << 20,
                .flags = LLMPERF_SAMPLE_CONTENDED};
    llmperf_measurement m = measure(&s, &(llmperf_measure_options){.retries = -1, QUICK});
    cr_expect_eq(m.attempts, 1);
    cr_expect(m.flags & LLMPERF_SAMPLE_CONTENDED);
}

Test(measure, a_slow_watch_means_slow_memory)
{
    const llmperf_probe watch = {.kind = LLMPERF_PROBE_READ, .bytes = 4e8};
    double best = 0;
    llmperf_measure_options options = {
        .watch = &watch, .watch_best_s = &best, .retries = -1, QUICK};
    /* before and after each of four measurements */
    script s = {.seconds = 1e-3,
                .cold = true,
                .watch_seconds = {1e-2, 1.05e-2, 1e-2, 1.5e-2, 1.6e-2, 1.6e-2, 1.6e-2, 1.6e-2,
                                  1.6e-2, 1.6e-2}};
    cr_expect_eq(measure(&s, &options).flags, 0);
    cr_expect_float_eq(best, 1e-2, 0);
    /* it changed meanwhile: neither here nor there */
    cr_expect(measure(&s, &options).flags ==
              (LLMPERF_SAMPLE_SLOW_MEMORY | LLMPERF_SAMPLE_UNSTEADY));
    llmperf_measurement slow = measure(&s, &options);
    cr_expect(slow.flags == LLMPERF_SAMPLE_SLOW_MEMORY);
    cr_expect_float_eq(slow.stream_bytes_per_s, 4e8 / 1.6e-2, 1);
    cr_expect_float_eq(best, 1e-2, 0);
    s.cold = false; /* what is in a cache does not care */
    cr_expect_eq(measure(&s, &options).flags, 0);
}

Test(measure, slow_memory_is_tried_again)
{
    const llmperf_probe watch = {.kind = LLMPERF_PROBE_READ, .bytes = 4e8};
    double best = 1e-2;
    llmperf_measure_options options = {.watch = &watch, .watch_best_s = &best, QUICK};
    script s = {.seconds = 1e-3, .cold = true, .watch_seconds = {2e-2, 2e-2, 1e-2, 1e-2}};
    llmperf_measurement m = measure(&s, &options);
    cr_expect_eq(m.attempts, 2);
    cr_expect_eq(m.flags, 0);
    cr_expect_float_eq(m.stream_bytes_per_s, 4e8 / 1e-2, 1); /* of the attempt that was kept */
}

/* Memory that stays slow is not waited for: it costs another attempt some times, then no more. */
Test(measure, memory_that_stays_slow_is_not_waited_for)
{
    const llmperf_probe watch = {.kind = LLMPERF_PROBE_READ, .bytes = 4e8};
    double best = 1e-2;
    llmperf_watch_log log = {0};
    llmperf_measure_options options = {
        .watch = &watch, .watch_best_s = &best, .watch_log = &log, .retries = 2, QUICK};
    script s = {.seconds = 1e-3, .cold = true};
    for (int i = 0; i < 64; i++)
        s.watch_seconds[i] = 2e-2;
    cr_expect_eq(measure(&s, &options).attempts, 3);
    cr_expect_eq(measure(&s, &options).attempts, 3);
    for (int i = 0; i < 3; i++) {
        s.watch_calls = 0;
        llmperf_measurement m = measure(&s, &options);
        cr_expect(m.attempts == 1 || i == 0, "%d attempts", m.attempts);
        cr_expect(m.flags == LLMPERF_SAMPLE_SLOW_MEMORY);
    }
    /* once it is as fast as it was, slow memory is worth another attempt again */
    script quick = {.seconds = 1e-3, .cold = true, .watch_seconds = {1e-2, 1e-2}};
    cr_expect_eq(measure(&quick, &options).attempts, 1);
    s.watch_calls = 0;
    cr_expect_eq(measure(&s, &options).attempts, 3);
}

/* A rate that is given is what memory is compared with, also where it was faster meanwhile. */
Test(measure, a_given_rate_of_the_watch_stays)
{
    const llmperf_probe watch = {.kind = LLMPERF_PROBE_READ, .bytes = 4e8};
    double best = 2e-2;
    llmperf_measure_options options = {
        .watch = &watch, .watch_best_s = &best, .watch_fixed = true, .retries = -1, QUICK};
    script fast = {.seconds = 1e-3, .cold = true, .watch_seconds = {1e-2, 1e-2}};
    script usual = {.seconds = 1e-3, .cold = true, .watch_seconds = {2e-2, 2e-2}};
    cr_expect_eq(measure(&fast, &options).flags, 0);
    cr_expect_float_eq(best, 2e-2, 0);
    cr_expect_eq(measure(&usual, &options).flags, 0);
}

Test(measure, the_rate_of_the_watch_is_kept)
{
    const llmperf_probe watch = {.kind = LLMPERF_PROBE_READ, .bytes = 4e8};
    double best = 0;
    llmperf_watch_log log = {0};
    llmperf_measure_options options = {
        .watch = &watch, .watch_best_s = &best, .watch_log = &log, .retries = -1, QUICK};
    cr_expect_eq(llmperf_watch_rate(&log, &watch), 0);
    script s = {.seconds = 1e-3, .watch_seconds = {1e-2, 2e-2, 2e-2, 4e-2}};
    /* the geometric mean of 10 and 20 ms is 14.14 ms */
    cr_expect_float_eq(measure(&s, &options).stream_bytes_per_s, 4e8 / sqrt(2e-4), 1);
    measure(&s, &options);
    /* that of 10, 20, 20 and 40 ms is 20 ms */
    cr_expect_eq(log.count, 4);
    cr_expect_float_eq(llmperf_watch_rate(&log, &watch), 4e8 / 2e-2, 1);
}

Test(measure, errors_of_the_device_come_through)
{
    llmperf_probe probe = {.kind = LLMPERF_PROBE_OP};
    llmperf_error error = {0};
    llmperf_measurement m = {.attempts = 77};
    for (int at = 1; at <= 3; at++) {
        script s = {.seconds = 1e-3, .fail_at = at};
        memset(&error, 0, sizeof error);
        cr_expect(llmperf_measure(&SCRIPTED, &s, &probe, NULL, &m, &error) == LLMPERF_E_DEVICE);
        cr_expect_str_eq(error.text, "scripted");
        cr_expect_eq(m.attempts, 77);
    }
}

Test(measure, impossible_times_are_device_errors)
{
    llmperf_probe probe = {.kind = LLMPERF_PROBE_OP};
    const double bad[] = {0, -1, NAN, INFINITY};
    for (int i = 0; i < 4; i++) {
        script s = {.seconds = bad[i]};
        llmperf_measurement m;
        cr_expect(llmperf_measure(&SCRIPTED, &s, &probe, NULL, &m, NULL) == LLMPERF_E_DEVICE);
    }
}

/* ---- modules ---- */

Test(measure, backends_are_found_by_name)
{
    llmperf_error error = {0};
    const llmperf_backend *backend = NULL;
    cr_expect(llmperf_backend_find("fake", &backend, &error) == LLMPERF_OK);
    cr_expect(backend == llmperf_backend_fake());
    cr_expect(llmperf_backend_find("fakee", &backend, &error) == LLMPERF_E_USAGE);
    cr_expect(strstr(error.text, "did you mean 'fake'"), "%s", error.text);
}

Test(measure, measuring_an_operator_and_a_step_agree_on_the_fake)
{
    void *handle;
    llmperf_measurement one, step;
    llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                     .dtype = LLMPERF_DTYPE_FP32,
                     .m = 8,
                     .n = 1024,
                     .k = 1024,
                     .flop = 2.0 * 8 * 1024 * 1024,
                     .weight_bytes = 4194304,
                     .bytes = 4194304,
                     .launches = 1,
                     .repeat = 10};
    cr_assert(llmperf_backend_fake()->open(0, "noise=0", &handle, NULL) == LLMPERF_OK);
    cr_assert(llmperf_measure_op(llmperf_backend_fake(), handle, &op, NULL, &one, NULL) ==
              LLMPERF_OK);
    cr_assert(llmperf_measure_step(llmperf_backend_fake(), handle, &op, 1, NULL, &step, NULL) ==
              LLMPERF_OK);
    cr_expect_float_eq(step.summary.median_s, 10 * one.summary.median_s, 1e-12);
    llmperf_backend_fake()->close(handle);
}
