/* SPDX-License-Identifier: MIT */
/* The folders of specifications. docs/interface.md has their order. */
#include "paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llmperf/load.h"

#ifndef LLMPERF_DATA_FOLDER
#define LLMPERF_DATA_FOLDER "/usr/local/share/llmperf" /* where data is installed */
#endif

void program_folder(char *folder, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", folder, size - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
}

static void add_path(llmperf_spec_paths *paths, const char *folder, const char *below)
{
    const int most = (int)(sizeof paths->folder / sizeof *paths->folder);
    if (!folder || !*folder || paths->count >= most)
        return;
    int length = snprintf(paths->folder[paths->count], LLMPERF_PATH_MAX, "%s%s", folder, below);
    if (length > 0 && length < LLMPERF_PATH_MAX)
        paths->count++;
}

void llmperf_spec_paths_default(const char *first, llmperf_spec_paths *ret_paths)
{
    if (!ret_paths)
        return;
    char program[LLMPERF_PATH_MAX];
    memset(ret_paths, 0, sizeof *ret_paths);
    add_path(ret_paths, first, "");
    add_path(ret_paths, getenv("LLMPERF_SPECS"), "");
    const char *data = getenv("XDG_DATA_HOME");
    if (data && data[0] == '/')
        add_path(ret_paths, data, "/llmperf/specs");
    else
        add_path(ret_paths, getenv("HOME"), "/.local/share/llmperf/specs");
    /* by the program's own place, so that a moved tree or package still finds its files: the
     * prefix's share/ when installed, the source tree two levels up when not */
    program_folder(program, sizeof program);
    add_path(ret_paths, program, "/../share/llmperf/specs");
    add_path(ret_paths, program, "/../../specs");
    add_path(ret_paths, LLMPERF_DATA_FOLDER, "/specs");
}
