/* SPDX-License-Identifier: MIT */
/*
 * Measuring a device well: finding its backend, choosing what to measure, sampling until the median
 * is known. Part of libllmperf-calib, not of libllmperf.
 */
#ifndef LLMPERF_MEASURE_H
#define LLMPERF_MEASURE_H

#include "llmperf/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- backends (calib/module.c) --------------------------------------------------------------- */

/* Names of the backends that this program knows, NULL-terminated. Static storage. */
LLMPERF_API const char *const *llmperf_backend_names(void);

/*
 * A backend by name. Modules are opened by absolute path only: from $LLMPERF_MODULES (a folder),
 * the build tree or the installed folder beside this program, never from the current directory; they
 * stay loaded until the process ends.
 * Errors: LLMPERF_E_USAGE for an unknown name; LLMPERF_E_UNSUPPORTED, naming what is missing.
 */
LLMPERF_API llmperf_status llmperf_backend_find(const char *name,
                                                const llmperf_backend **ret_backend,
                                                llmperf_error *error);

/* ---- sampling (calib/measure.c) -------------------------------------------------------------- */

/* What the stream that watches for company has found each time it ran. */
typedef struct llmperf_watch_log {
    double sum_log_s; /* of log(seconds) */
    int64_t count;
    int slow; /* attempts in a row that met slow memory: beyond some nothing is repeated for it */
} llmperf_watch_log;

/* Zero means default. */
typedef struct llmperf_measure_options {
    int least;            /* repetitions at least; 10 */
    int most;             /* at most; 2000 */
    double interval_frac; /* half width of the interval / median that is enough; 0.01 */
    double short_frac;    /* the same for medians below short_s; 0.05 */
    double short_s;       /* 20e-6 */
    double time_limit_s;  /* of one attempt; then what there is is kept; 3 */
    int retries;    /* after throttling, contention, drift or slow memory; 2; negative = none */
    double cool_s;  /* pause before a retry, longer each time; 0.2; negative = none */
    bool simulated; /* limits count the device's own seconds, and there are no pauses: the
                               same samples each time */
    /* a memory stream run before, after and now and then meanwhile: when it is slower than its best so
     * far by more than watch_frac, memory is slower than it can be (others use it, or a hypervisor
     * moved the processors); when it changes by more, the times drift. NULL = none */
    const llmperf_probe *watch;
    double watch_frac;    /* 0.15 */
    double *watch_best_s; /* in and out: the best time of `watch` so far, 0 at first */
    bool watch_fixed;     /* watch_best_s is what to compare with: no better one is learnt */
    llmperf_watch_log *watch_log; /* in and out: all of its times; NULL = not wanted */
} llmperf_measure_options;

/* Bytes per second of a stream that watched, its mean (of logarithms); 0 = none. */
LLMPERF_API double llmperf_watch_rate(const llmperf_watch_log *log, const llmperf_probe *watch);

/*
 * What a sequence of times says.
 *   median_s:      of all repetitions, outliers included
 *   low_s, high_s: distribution-free 95 % interval of the median: order statistics l and n + 1 - l
 *                  with l the largest rank for which P(Binomial(n, 1/2) < l) <= 2.5 %; the extremes
 *                  when n < 6
 *   outliers:      times beyond 3 interquartile ranges of the quartiles; counted, never dropped
 *   drift_frac:    (median of the last third - of the first) / median
 *   drifting:      |drift| > 2 % and the Mann-Kendall test rejects "no trend" at |z| > 3
 */
typedef struct llmperf_summary {
    int count, outliers;
    double median_s, low_s, high_s, least_s;
    double drift_frac, trend_z;
    bool drifting;
} llmperf_summary;

/* Needs count >= 1. Sorts nothing in place. Errors: LLMPERF_E_MEMORY. */
LLMPERF_API llmperf_status llmperf_summarise(const double *seconds, int count,
                                             llmperf_summary *ret_summary, llmperf_error *error);

/* Rank l of the lower order statistic of llmperf_summary, from 1. */
LLMPERF_API int llmperf_interval_rank(int count);

typedef struct llmperf_measurement {
    llmperf_summary summary;   /* of the attempt that was kept */
    unsigned flags;            /* LLMPERF_SAMPLE_ bits of that attempt */
    double stream_bytes_per_s; /* of the watching stream around that attempt, mean; 0 = none */
    int attempts;
    double spent_s; /* all attempts, by the clock that counts */
} llmperf_measurement;

/*
 * Times a probe until the interval of the median is narrow enough. Attempts that throttle, have company,
 * drift or meet slow memory are repeated; when none is clean the best is kept and flagged.
 * Errors: those of the backend's time_op.
 */
LLMPERF_API llmperf_status llmperf_measure(const llmperf_backend *backend, void *handle,
                                           const llmperf_probe *probe,
                                           const llmperf_measure_options *options,
                                           llmperf_measurement *ret_measurement,
                                           llmperf_error *error);

/* The same for one operator with cold operands: what `validate` sets beside a prediction. */
LLMPERF_API llmperf_status llmperf_measure_op(const llmperf_backend *backend, void *handle,
                                              const llmperf_op *op,
                                              const llmperf_measure_options *options,
                                              llmperf_measurement *ret_measurement,
                                              llmperf_error *error);

/* A whole step as a sequence of operators on the device, PROBE_FORWARD. */
LLMPERF_API llmperf_status llmperf_measure_step(const llmperf_backend *backend, void *handle,
                                                const llmperf_op *ops, int op_count,
                                                const llmperf_measure_options *options,
                                                llmperf_measurement *ret_measurement,
                                                llmperf_error *error);

/* ---- what to measure (calib/probes.c) -------------------------------------------------------- */

#define LLMPERF_PROBE_TEXT_MAX 96

/* A short description: "gemm fp32 m=16 n=4096 k=4096", "read 256 MiB". Returns buffer. */
LLMPERF_API char *llmperf_probe_describe(const llmperf_probe *probe, char *buffer, size_t size);

/* Bytes that a probe moves, and its flop: what a rate is computed from. */
LLMPERF_API double llmperf_probe_bytes(const llmperf_probe *probe);
LLMPERF_API double llmperf_probe_flop(const llmperf_probe *probe);

typedef struct llmperf_probe_plan {
    int count;
    llmperf_probe *probe;  /* owned; free with llmperf_probe_plan_free */
    llmperf_probe watch;   /* a memory stream for llmperf_measure_options.watch */
    double time_limit_s;   /* per probe, to begin with */
    double budget_s;       /* for all of them */
    double most_s;         /* what is not measured by then is left out; 0 = no end */
    llmperf_notes skipped; /* what the device does not support, each reason once */
} llmperf_probe_plan;

/*
 * Chooses the probes for a device: memory and cache streams, the GEMM grid, GEMV, attention,
 * elementwise passes and the launch, for every dtype that it supports. Asks the backend which of
 * them it can run. quick: a thinner grid, under a minute on two cores.
 * Errors: LLMPERF_E_MEMORY, LLMPERF_E_UNSUPPORTED when nothing can be measured.
 */
LLMPERF_API llmperf_status llmperf_probe_plan_make(const llmperf_backend *backend, void *handle,
                                                   bool quick, llmperf_probe_plan *ret_plan,
                                                   llmperf_error *error);
LLMPERF_API void llmperf_probe_plan_free(llmperf_probe_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
