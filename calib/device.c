/* SPDX-License-Identifier: MIT */
/* Devices by what users call them, and their datasheets. */
#include "llmperf/device.h"
#include "calib_object.h"
#include "entry.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIKE_MAX = 4 }; /* parts of the same properties that are named */

static const double MEMORY_FRAC = 0.08; /* drivers keep some for themselves, labels are rounded */
static const double BANDWIDTH_FRAC = 0.1;

static llmperf_status open_device(const char *backend, int index, const char *options,
                                  llmperf_opened_device *ret_device, llmperf_error *error)
{
    llmperf_opened_device d = {0};
    llmperf_status status = llmperf_backend_find(backend, &d.backend, error);
    if (status == LLMPERF_OK)
        status = d.backend->open(index, options, &d.handle, error);
    if (status != LLMPERF_OK)
        return status;
    status = d.backend->describe(d.handle, &d.device, error);
    if (status != LLMPERF_OK) {
        d.backend->close(d.handle);
        return status;
    }
    *ret_device = d;
    return LLMPERF_OK;
}

void llmperf_device_close(llmperf_opened_device *device)
{
    if (!device)
        return;
    if (device->backend)
        device->backend->close(device->handle);
    memset(device, 0, sizeof *device);
}

llmperf_status llmperf_device_open(const char *backend, const char *which, const char *options,
                                   llmperf_opened_device *ret_device, llmperf_error *error)
{
    NEEDS(backend && ret_device, error);
    char with[LLMPERF_PATH_MAX];
    which = which ? which : "0";
    size_t length = strlen(which), digits = strspn(which, "0123456789");
    if (length > 0 && length == digits && length <= 4)
        return open_device(backend, (int)strtol(which, NULL, 10), options, ret_device, error);
    if (length == 0 || strspn(which, "0123456789abcdefABCDEFGPUMIgpumi-") != length)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "--device takes a number or a UUID (GPU-...); found '%s'", which);
    snprintf(with, sizeof with, "%s%suuid=%s", options ? options : "", options ? "," : "", which);
    return open_device(backend, 0, with, ret_device, error);
}

llmperf_status llmperf_device_follow(llmperf_opened_device *device, const char *which,
                                     const char *options, const llmperf_calib *calib,
                                     llmperf_error *error)
{
    NEEDS(device && device->backend, error);
    char with[LLMPERF_PATH_MAX], backend[sizeof device->device.backend];
    const char *fp32 = NULL, *given = options ? options : "";
    if (strcmp(device->device.backend, "cpu") != 0 || !calib || strstr(given, "fp32="))
        return LLMPERF_OK;
    for (int i = 0; i < calib->entry_count && !fp32; i++) {
        const llmperf_calib_entry *e = &calib->entry[i];
        bool dnn = strncmp(e->library, "oneDNN", 6) == 0, blas = strstr(e->library, "OpenBLAS");
        if (e->key.kind == LLMPERF_KIND_GEMM && e->key.dtype == LLMPERF_DTYPE_FP32 && (dnn || blas))
            fp32 = dnn && blas ? "mixed" : dnn ? "onednn" : "openblas";
    }
    if (!fp32)
        return LLMPERF_OK;
    snprintf(with, sizeof with, "%s%sfp32=%s", given, given[0] ? "," : "", fp32);
    memcpy(backend, device->device.backend, sizeof backend);
    llmperf_device_close(device);
    return llmperf_device_open(backend, which, with, device, error);
}

/* ---- the datasheet of a device ------------------------------------------------------------------ */

static double state_number(const llmperf_device *device, const char *key)
{
    for (int i = 0; i < device->state_count; i++)
        if (strcmp(device->state[i].key, key) == 0)
            return device->state[i].number;
    return 0;
}

static bool is_near(double a, double b, double frac)
{
    return !(a > 0) || !(b > 0) || fabs(a / b - 1) <= frac;
}

static double memory_of(const llmperf_hw *hw)
{
    return hw->memory_usable_bytes > 0 ? hw->memory_usable_bytes : hw->memory_bytes;
}

/* Multiprocessors, memory, and two transfers a memory clock: what a part is known by but its name. */
static bool is_like(const llmperf_device *device, const llmperf_hw *hw)
{
    double bytes_per_s =
        state_number(device, "memory_clock_hz") * 2 * state_number(device, "bus_bits") / 8;
    return hw->units > 0 && hw->units == device->units &&
           is_near(device->memory_bytes, memory_of(hw), MEMORY_FRAC) &&
           is_near(bytes_per_s, hw->mem_bytes_per_s, BANDWIDTH_FRAC);
}

typedef struct likeness {
    const llmperf_device *device;
    llmperf_hw *hw; /* scratch */
    int count;
    char names[LLMPERF_TEXT_MAX];
} likeness;

static bool visit_like(const char *name, const char *path, void *context)
{
    likeness *l = context;
    if (llmperf_hw_load(path, l->hw, NULL) != LLMPERF_OK || strcmp(l->hw->kind, "gpu") != 0 ||
        !is_like(l->device, l->hw))
        return true;
    size_t used = strlen(l->names);
    snprintf(l->names + used, sizeof l->names - used, "%s%s", used ? ", " : "", name);
    return ++l->count < LIKE_MAX;
}

static bool refuse(char why[LLMPERF_TEXT_MAX], const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (why)
        vsnprintf(why, LLMPERF_TEXT_MAX, format, list);
    va_end(list);
    return false;
}

/* Does what was found agree with the part that has the device's name? */
static bool agrees(const llmperf_device *device, const llmperf_hw *hw, char why[LLMPERF_TEXT_MAX])
{
    if (strcmp(device->kind, "gpu") != 0)
        return true;
    if (hw->units > 0 && hw->units != device->units)
        return refuse(why, "its name is that of %s, but it has %.0f units where that has %.0f",
                      hw->name, device->units, hw->units);
    if (!is_near(device->memory_bytes, memory_of(hw), MEMORY_FRAC))
        return refuse(why, "its name is that of %s, but it has %.3g GB where that has %.3g GB",
                      hw->name, device->memory_bytes / 1e9, memory_of(hw) / 1e9);
    return true;
}

/* Hardware that a device is like though its name is another's or nobody's. */
static bool name_like(const llmperf_spec_paths *paths, const llmperf_device *device,
                      char why[LLMPERF_TEXT_MAX])
{
    likeness like = {.device = device, .hw = malloc(sizeof *like.hw)};
    if (like.hw)
        llmperf_list_specs(paths, "hardware", visit_like, &like, NULL);
    free(like.hw);
    if (like.count > 0)
        return refuse(why, "by units, memory and bandwidth it is like %s; --spec names one",
                      like.names);
    return false;
}

bool llmperf_device_spec(const llmperf_spec_paths *paths, const llmperf_device *device,
                         llmperf_loaded *ret_loaded, char ret_why[LLMPERF_TEXT_MAX])
{
    if (!paths_are_sound(paths) || !device || !ret_loaded)
        return false;
    const llmperf_load_options options = {
        .paths = paths, .hw = device->name, .calibration = "none"};
    llmperf_loaded l = {0};
    refuse(ret_why, "%s", "");
    if (!strchr(device->name, '/') && /* would be taken for a path */
        llmperf_load(&options, &l, NULL) == LLMPERF_OK) {
        bool good = agrees(device, l.hw, ret_why);
        if (good)
            *ret_loaded = l;
        else
            llmperf_loaded_free(&l);
        return good;
    }
    return strcmp(device->kind, "gpu") == 0 && name_like(paths, device, ret_why);
}
