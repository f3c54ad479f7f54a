/* SPDX-License-Identifier: MIT */
/*
 * Devices of this machine: opening one by what a user calls it, its datasheet among the shipped
 * specifications, and what can be measured here. Part of libllmperf-calib.
 */
#ifndef LLMPERF_DEVICE_H
#define LLMPERF_DEVICE_H

#include <stdio.h>

#include "llmperf/load.h"
#include "llmperf/measure.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A device that is open: the first two go to the functions of measure.h. */
typedef struct llmperf_opened_device {
    const llmperf_backend *backend;
    void *handle;
    llmperf_device device; /* as described when it was opened */
} llmperf_opened_device;

/*
 * Opens a device of a backend. which: its number, or the beginning of its UUID ("GPU-8a2f"); NULL = 0.
 * options: of the backend, may be NULL. Errors: those of llmperf_backend_find() and the backend's
 * open(); LLMPERF_E_USAGE for a `which` that is neither.
 */
LLMPERF_API llmperf_status llmperf_device_open(const char *backend, const char *which,
                                               const char *options,
                                               llmperf_opened_device *ret_device,
                                               llmperf_error *error);
/* Also of a zeroed struct. */
LLMPERF_API void llmperf_device_close(llmperf_opened_device *device);

/*
 * On a processor fp32 products come from either of two libraries, whichever is faster in a trial when
 * the device is opened; measurements beside a calibration need those that it timed. Opens the device
 * again where the calibration (NULL = none) says whose, unless `options` do. On failure the device is
 * closed. Errors: those of llmperf_device_open().
 */
LLMPERF_API llmperf_status llmperf_device_follow(llmperf_opened_device *device, const char *which,
                                                 const char *options, const llmperf_calib *calib,
                                                 llmperf_error *error);

/*
 * The shipped specification of a device: its name or alias is the device's name and, for a GPU, its
 * multiprocessors and memory agree with what was found (a MIG slice keeps the name of the whole).
 * False: there is none; `ret_why` (may be NULL) then says in a line what disagrees or which hardware
 * has the same properties, "" when nothing is known. ret_loaded->hw is set alone.
 */
LLMPERF_API bool llmperf_device_spec(const llmperf_spec_paths *paths, const llmperf_device *device,
                                     llmperf_loaded *ret_loaded, char ret_why[LLMPERF_TEXT_MAX]);

/* Which devices; zero = all. */
typedef struct llmperf_devices_options {
    const llmperf_spec_paths *paths; /* NULL = llmperf_spec_paths_default(NULL) */
    const char *backend;             /* only this one; it must be here */
    const char *options;             /* of that backend */
} llmperf_devices_options;

/* A device, and what a calibration of it would take. */
typedef struct llmperf_device_facts {
    const llmperf_device *device;
    const llmperf_hw *spec; /* NULL = none shipped; `why` as above */
    const char *why;
    int quick_probes, full_probes; /* 0 = it cannot be measured; device->notes has the reason */
    double quick_s, full_s;
} llmperf_device_facts;

typedef void (*llmperf_device_visit)(const llmperf_device_facts *facts, void *context);

/*
 * Calls `visit` for each device of each backend. A backend that is not here is added to ret_absent
 * with the reason, and is a fault where it was asked for by name.
 * Errors: that of a backend that is asked for; any but LLMPERF_E_UNSUPPORTED of the others. The walk
 * goes on behind it.
 */
LLMPERF_API llmperf_status llmperf_devices_visit(const llmperf_devices_options *options,
                                                 llmperf_device_visit visit, void *context,
                                                 llmperf_notes *ret_absent, llmperf_error *error);

/* LLMPERF_E_USAGE for an unknown backend, and for options without one: what the walk begins with. */
LLMPERF_API llmperf_status llmperf_devices_check(const llmperf_devices_options *options,
                                                 llmperf_error *error);

/* The same as text or json. */
LLMPERF_API llmperf_status llmperf_write_devices(FILE *out, const char *format,
                                                 const llmperf_devices_options *options,
                                                 llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
