/* SPDX-License-Identifier: MIT */
/* The real kernels of kernels.cu, by way of the CPU shim. */
#include <stdio.h>
#include <string.h>

#include "../shim.h"
#include "fake.h"

void fake_kernel_run(const char *name, const unsigned grid[3], const unsigned block[3],
                     unsigned shared, const void *arguments)
{
    char message[160] = "";
    const shim_options options = {.message = message, .message_size = sizeof message};
    int status = shim_launch(name, grid, block, shared, arguments, &options);
    if (status == SHIM_OK)
        return;
    fake_set_sticky(CU_LAUNCH_FAILED);
    fake_misuse(0, "%s: %s %s", name, shim_status_name(status), message);
}
