/* SPDX-License-Identifier: MIT */
/*
 * A calibration from the first probe to the fit: what `llmperf calibrate` does. A session opens a
 * device, measures what a samples file does not hold yet, keeps every sample as it comes, and fits.
 * Part of libllmperf-calib.
 */
#ifndef LLMPERF_SESSION_H
#define LLMPERF_SESSION_H

#include <stdio.h>

#include "llmperf/device.h"
#include "llmperf/fit.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct llmperf_session llmperf_session;

typedef enum llmperf_session_event {
    LLMPERF_SESSION_TRANSFER, /* a collective was measured: `what`, `result` */
    LLMPERF_SESSION_RESUME,   /* begins; `done` of `count` probes are in the samples file already */
    LLMPERF_SESSION_START,    /* probe `done` of `count` begins: `what`, about `left_s` to go */
    LLMPERF_SESSION_DONE,     /* it was measured: `what`, `result` */
    LLMPERF_SESSION_END,      /* of measuring, also where it was stopped or failed */
} llmperf_session_event;

/* Told while a session measures; texts are valid during the call. */
typedef struct llmperf_session_progress {
    llmperf_session_event event;
    int done, count;
    double left_s;
    const char *what;   /* "gemm fp32 m=16 n=4096 k=4096" */
    const char *result; /* "545 us +-1.0 %, 10 repetitions, contended" */
} llmperf_session_progress;

typedef void (*llmperf_session_visit)(const llmperf_session_progress *progress, void *context);

/* Asked before each probe: true ends measuring there. */
typedef bool (*llmperf_session_stop)(void *context);

/* Zero means none or default. Texts are borrowed until llmperf_session_free(). */
typedef struct llmperf_session_options {
    const llmperf_spec_paths *paths;      /* NULL = llmperf_spec_paths_default(NULL) */
    const char *backend;                  /* NULL = "cpu" */
    const char *device, *backend_options; /* of llmperf_device_open() */
    bool all_devices;                     /* first the collectives between all of them */
    bool quick;                           /* a thinner grid, less time each */
    double most_s;       /* what is not measured by then is left out; 0 = the plan's own limit */
    const char *samples; /* file: what it holds is not measured again, what is measured is added */
    const char *spec;    /* the datasheet that the fit is against; NULL = the shipped one of the
                          * device's name, else what was measured */
    bool spec_measured;  /* against what was measured, whatever is shipped */
    llmperf_session_visit visit;
    llmperf_session_stop stop;
    void *context; /* of both */
} llmperf_session_options;

/*
 * Opens the device, plans, and takes up what the samples file holds. Collectives are measured here,
 * before the device is open (their backend works in a child process).
 * Errors: LLMPERF_E_USAGE for an unknown backend, device or specification, and for samples of another
 * device or library; LLMPERF_E_UNSUPPORTED naming what is missing; LLMPERF_E_IO, LLMPERF_E_SPEC for
 * the samples file; LLMPERF_E_DEVICE, LLMPERF_E_MEMORY.
 */
LLMPERF_API llmperf_status llmperf_session_open(const llmperf_session_options *options,
                                                llmperf_session **ret_session,
                                                llmperf_error *error);
/* Closes the device too. */
LLMPERF_API void llmperf_session_free(llmperf_session *session);

/*
 * Measures what is missing: every probe once, some of them once more at the end. The samples file is
 * replaced after each, so that it holds complete rows at any moment. What the device cannot do is
 * passed over and counted. Ends early where options->stop says so: LLMPERF_OK all the same; another
 * call goes on from there.
 * Errors: LLMPERF_E_DEVICE, LLMPERF_E_IO, LLMPERF_E_MEMORY; samples measured before it are kept.
 */
LLMPERF_API llmperf_status llmperf_session_measure(llmperf_session *session, llmperf_error *error);

/* How far a session came. resumed: of the file; failed: not possible, or no time was left. */
typedef struct llmperf_session_counts {
    int wanted, measured, resumed, failed;
    int64_t samples; /* in memory, and in the file where there is one */
    bool stopped;    /* by options->stop */
} llmperf_session_counts;
LLMPERF_API llmperf_session_counts llmperf_session_counts_of(const llmperf_session *session);

/*
 * Finds what was reached, chooses the datasheet and fits. The calibration carries the names of the
 * hardware, the device and the backend, and today's date.
 * Errors: LLMPERF_E_FIT when nothing could be fitted; the reason of the last probe when nothing could
 * be measured; those of loading the specification. What was reached and the datasheet are there also
 * when the fit fails.
 */
LLMPERF_API llmperf_status llmperf_session_fit(llmperf_session *session, llmperf_error *error);

/* The best that was measured; 0 = not measured. */
typedef struct llmperf_peaks {
    double flop_per_s[LLMPERF_DTYPES_MAX];
    double best_flop_per_s[LLMPERF_DTYPES_MAX]; /* of the library's fastest algorithms */
    double stream_bytes_per_s[4];               /* read, copy, triad, write; from memory */
    double h2d_bytes_per_s, d2h_bytes_per_s;
    double graph_s, host_s, round_s; /* launches in their other forms */
    double gemv_bytes_per_s[LLMPERF_DTYPES_MAX];
    double memory_bytes_per_s; /* the best of everything that came from memory */
    double cache_bytes_per_s, cache_at_bytes;
    double launch_s;
    bool launch_contended;
    int contended, throttled, unsteady, timed_out, slow_memory; /* samples */
} llmperf_peaks;

/* They belong to the session; before llmperf_session_fit() peaks, hw, fits and calib are NULL. */
LLMPERF_API const llmperf_device *llmperf_session_device(const llmperf_session *session);
LLMPERF_API const llmperf_samples *llmperf_session_samples(const llmperf_session *session);
LLMPERF_API const llmperf_peaks *llmperf_session_peaks(const llmperf_session *session);
/* The datasheet; *ret_measured (may be NULL): it is made of what was measured. */
LLMPERF_API const llmperf_hw *llmperf_session_hw(const llmperf_session *session,
                                                 bool *ret_measured);
LLMPERF_API const llmperf_fits *llmperf_session_fits(const llmperf_session *session);
LLMPERF_API const llmperf_calib *llmperf_session_calib(const llmperf_session *session);
/* Why no shipped specification is of this device, "" = nothing is known. */
LLMPERF_API const char *llmperf_session_why(const llmperf_session *session);

/* What llmperf_session_fit() found, as text: rates beside the datasheet's, then the fits. */
LLMPERF_API void llmperf_write_session(FILE *out, const llmperf_session *session);
/* What to know of it: disturbed samples, what was left out, where layers turn compute-bound. */
LLMPERF_API void llmperf_write_session_notes(FILE *out, const llmperf_session *session);

#ifdef __cplusplus
}
#endif

#endif
