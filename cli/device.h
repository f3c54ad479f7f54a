/* SPDX-License-Identifier: MIT */
/* What `devices` and `calibrate` share: opening a device and finding its datasheet. */
#ifndef LLMPERF_CLI_DEVICE_H
#define LLMPERF_CLI_DEVICE_H

#include "common.h"
#include "llmperf/measure.h"

/* A device that is open. */
typedef struct device_session {
    const llmperf_backend *backend;
    void *handle;
    llmperf_device device; /* as last described */
} device_session;

/* Errors: those of llmperf_backend_find() and open(). */
llmperf_status device_open(const char *backend, int index, const char *options,
                           device_session *ret_session, llmperf_error *error);
void device_close(device_session *session);

/* The same by what a user types: a number, or the beginning of a UUID ("GPU-8a2f").
 * Errors also: LLMPERF_E_USAGE for a text that is neither. */
llmperf_status device_open_text(const char *backend, const char *which, const char *options,
                                device_session *ret_session, llmperf_error *error);

/*
 * The shipped specification of a device: its name or alias is the device's name and, for a GPU, its
 * multiprocessors and memory agree with what was found (a MIG slice keeps the name of the whole).
 * False: there is none; `why` (may be NULL) then says in a line what disagrees or which parts have
 * the same properties, "" when nothing is known.
 */
bool device_spec(const common_arguments *arguments, const llmperf_device *device,
                 llmperf_loaded *ret_loaded, char why[LLMPERF_TEXT_MAX]);

/* "33.6 MB" and the like, for people. Returns buffer. */
char *device_bytes(double bytes, char *buffer, size_t size);

#endif
