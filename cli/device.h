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

/* The shipped specification whose name or alias the device's name is; false: there is none. */
bool device_spec(const common_arguments *arguments, const llmperf_device *device,
                 llmperf_hw *ret_hw);

/* "33.6 MB" and the like, for people. Returns buffer. */
char *device_bytes(double bytes, char *buffer, size_t size);

#endif
