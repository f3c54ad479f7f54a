/* SPDX-License-Identifier: MIT */
#include "device.h"

#include <string.h>

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

bool device_spec(const common_arguments *arguments, const llmperf_device *device,
                 llmperf_hw *ret_hw)
{
    llmperf_error ignored = {0};
    if (strchr(device->name, '/')) /* would be taken for a path */
        return false;
    return common_load_hw(arguments, device->name, ret_hw, &ignored) == LLMPERF_OK;
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
