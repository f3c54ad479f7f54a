/* SPDX-License-Identifier: MIT */
#include "llmperf/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llmperf/spec.h"
#include "paths.h"

#ifndef LLMPERF_MODULE_FOLDER
#define LLMPERF_MODULE_FOLDER "/usr/local/lib/llmperf" /* where modules are installed */
#endif
#ifndef LLMPERF_MODULE_BELOW
#define LLMPERF_MODULE_BELOW "lib/llmperf" /* the same, below the prefix */
#endif

const char *llmperf_module_folder(void)
{
    return LLMPERF_MODULE_FOLDER;
}

/* FOLDER + UP + BELOW + "/llmperf-NAME.so"; false when it is too long or there is no such file. */
static bool path_of(const char *folder, const char *up, const char *below, const char *name,
                    char *path)
{
    if (!folder || folder[0] != '/') /* never relative to where the user stands */
        return false;
    int length = snprintf(path, LLMPERF_PATH_MAX, "%s%s%s/llmperf-%s.so", folder, up, below, name);
    return length > 0 && length < LLMPERF_PATH_MAX && access(path, R_OK) == 0;
}

bool llmperf_module_path(const char *name, const char *build_folder, char *ret_path)
{
    if (!name || !build_folder || !ret_path)
        return false;
    char program[LLMPERF_PATH_MAX], path[LLMPERF_PATH_MAX];
    const struct {
        const char *folder, *up, *below;
    } places[] = {{getenv("LLMPERF_MODULES"), "", ""},
                  {program, "/../", build_folder},
                  {program, "/../../", build_folder}, /* tests stand one level deeper */
                  {program, "/../", LLMPERF_MODULE_BELOW},
                  {LLMPERF_MODULE_FOLDER, "", ""}};
    program_folder(program, sizeof program);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (path_of(places[i].folder, places[i].up, places[i].below, name, path)) {
            memcpy(ret_path, path, strlen(path) + 1);
            return true;
        }
    return false;
}
