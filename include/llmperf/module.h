/* SPDX-License-Identifier: MIT */
/* Where the program's modules are: what is opened only when it is needed. */
#ifndef LLMPERF_MODULE_H
#define LLMPERF_MODULE_H

#include "llmperf/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Path of llmperf-NAME.so: in $LLMPERF_MODULES, in `build_folder` of the build tree that the running
 * program stands in, below the prefix it is installed in, or in the folder that was configured.
 * Absolute paths alone, never relative to where the user stands.
 *   ret_path: LLMPERF_PATH_MAX bytes
 *   returns:  false when there is no such file
 */
LLMPERF_API bool llmperf_module_path(const char *name, const char *build_folder, char *ret_path);

/* The folder that was configured, for messages. Static storage. */
LLMPERF_API const char *llmperf_module_folder(void);

#ifdef __cplusplus
}
#endif

#endif
