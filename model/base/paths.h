/* SPDX-License-Identifier: MIT */
/* Where the running program stands. */
#ifndef LLMPERF_BASE_PATHS_H
#define LLMPERF_BASE_PATHS_H

#include <stddef.h>

/* Folder of the running program, or "" when it cannot be told. */
void program_folder(char *folder, size_t size);

#endif
