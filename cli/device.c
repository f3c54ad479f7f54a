/* SPDX-License-Identifier: MIT */
#include "device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIKE_MAX = 4 }; /* parts of the same properties that are named */

static const double MEMORY_FRAC = 0.08; /* drivers keep some for themselves, labels are rounded */
static const double BANDWIDTH_FRAC = 0.1;

llmperf_status device_open(const char *backend, int index, const char *options,
                           device_session *ret_session, llmperf_error *error)
{
    device_session s = {0};
    llmperf_status status = llmperf_backend_find(backend, &s.backend, error);
    if (status == LLMPERF_OK)
        status = s.backend->open(index, options, &s.handle, error);
    if (status != LLMPERF_OK)
        return status;
    status = s.backend->describe(s.handle, &s.device, error);
    if (status != LLMPERF_OK) {
        s.backend->close(s.handle);
        return status;
    }
    *ret_session = s;
    return LLMPERF_OK;
}

void device_close(device_session *session)
{
    if (session->backend)
        session->backend->close(session->handle);
    memset(session, 0, sizeof *session);
}

llmperf_status device_open_text(const char *backend, const char *which, const char *options,
                                device_session *ret_session, llmperf_error *error)
{
    char with[LLMPERF_PATH_MAX];
    size_t length = strlen(which), digits = strspn(which, "0123456789");
    if (length > 0 && length == digits && length <= 4)
        return device_open(backend, (int)strtol(which, NULL, 10), options, ret_session, error);
    if (length == 0 || strspn(which, "0123456789abcdefABCDEFGPUMIgpumi-") != length)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "--device takes a number or a UUID (GPU-...); found '%s'", which);
    snprintf(with, sizeof with, "%s%suuid=%s", options ? options : "", options ? "," : "", which);
    return device_open(backend, 0, with, ret_session, error);
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
    int count;
    char names[LLMPERF_TEXT_MAX];
} likeness;

static bool visit_like(const char *name, const char *path, void *context)
{
    static llmperf_hw hw;
    likeness *l = context;
    llmperf_error ignored = {0};
    if (llmperf_hw_load(path, &hw, &ignored) != LLMPERF_OK || strcmp(hw.kind, "gpu") != 0 ||
        !is_like(l->device, &hw))
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

bool device_spec(const common_arguments *arguments, const llmperf_device *device,
                 llmperf_loaded *ret_loaded, char why[LLMPERF_TEXT_MAX])
{
    llmperf_error ignored = {0};
    likeness like = {.device = device};
    llmperf_loaded l = {0};
    llmperf_spec_paths paths;
    refuse(why, "%s", "");
    if (!strchr(device->name, '/') && /* would be taken for a path */
        common_load_hw(arguments, device->name, &l, &ignored) == LLMPERF_OK) {
        bool good = agrees(device, l.hw, why);
        if (good)
            *ret_loaded = l;
        else
            llmperf_loaded_free(&l);
        return good;
    }
    if (strcmp(device->kind, "gpu") != 0)
        return false;
    llmperf_spec_paths_default(arguments->specs, &paths);
    llmperf_list_specs(&paths, "hardware", visit_like, &like, &ignored);
    if (like.count > 0)
        return refuse(why, "by units, memory and bandwidth it is like %s; --spec names one",
                      like.names);
    return false;
}

char *device_bytes(double bytes, char *buffer, size_t size)
{
    static const char *const UNITS[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    while (bytes >= 1000 && unit < 4) {
        bytes /= 1000;
        unit++;
    }
    snprintf(buffer, size, "%.3g %s", bytes, UNITS[unit]);
    return buffer;
}
