/* SPDX-License-Identifier: MIT */
/* A session from inside: session.c runs it, write_session.c tells of it. */
#ifndef LLMPERF_CALIB_SESSION_H
#define LLMPERF_CALIB_SESSION_H

#include "llmperf/session.h"
#include "schedule.h"
#include "calib_object.h"

struct llmperf_session {
    llmperf_session_options options;
    llmperf_spec_paths *paths; /* the default ones; NULL = those of the options */
    llmperf_opened_device opened;
    llmperf_probe_plan plan;
    llmperf_samples samples;
    sample_names names;
    schedule schedule;
    int next; /* of the schedule */
    llmperf_session_counts counts;
    double watch_best_s; /* fastest pass of the stream that notices company */
    llmperf_watch_log watch_log;
    llmperf_status failure; /* the last of those that were passed over */
    llmperf_notes skipped;  /* the first of each reason ... */
    char skipped_why[LLMPERF_NOTES_MAX][LLMPERF_TEXT_MAX];
    int skipped_more[LLMPERF_NOTES_MAX]; /* ... and how many others share it */
    /* what llmperf_session_fit() found */
    bool fitted; /* peaks and datasheet are there */
    llmperf_peaks peaks;
    llmperf_loaded spec; /* the datasheet */
    bool hw_measured;    /* it is made of the peaks */
    char why[LLMPERF_TEXT_MAX];
    llmperf_fits fits;
    llmperf_calib *calib;
    llmperf_error error; /* of one probe; scratch */
};

#endif
