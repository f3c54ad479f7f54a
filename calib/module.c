/* SPDX-License-Identifier: MIT */
/*
 * Backends by name. `fake` is built in; `cpu` is a module, so that predicting never loads a BLAS or
 * OpenMP. Modules are opened by absolute path alone.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llmperf/measure.h"

#ifndef LLMPERF_MODULE_FOLDER
#define LLMPERF_MODULE_FOLDER "/usr/local/lib/llmperf" /* where modules are installed */
#endif
#ifndef LLMPERF_MODULE_BELOW
#define LLMPERF_MODULE_BELOW "lib/llmperf" /* the same, below the prefix */
#endif

static const char *const NAMES[] = {"cpu", "fake", "cuda", NULL};

const char *const *llmperf_backend_names(void)
{
    return NAMES;
}

/* Folder of the running program, or "" when it cannot be told. */
static void program_folder(char *folder, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", folder, size - 1);
    folder[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash)
        *slash = '\0';
}

/* Appends to *tried where a module was looked for and not found. */
static void *open_in(const char *folder, const char *below, const char *name, char *tried,
                     size_t tried_size, char *why, size_t why_size)
{
    char path[LLMPERF_PATH_MAX];
    if (!folder || folder[0] != '/') /* never relative to where the user stands */
        return NULL;
    int length = snprintf(path, sizeof path, "%s%s/llmperf-%s.so", folder, below, name);
    if (length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0) {
        size_t used = strlen(tried);
        snprintf(tried + used, tried_size - used, "%s%s%s", used ? ", " : "", folder, below);
        return NULL;
    }
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!module) {
        const char *reason = dlerror();
        snprintf(why, why_size, "%s", reason ? reason : path);
    }
    return module;
}

static llmperf_status find_module(const char *name, const llmperf_backend **ret_backend,
                                  llmperf_error *error)
{
    char program[LLMPERF_PATH_MAX], tried[2048] = "", why[512] = "";
    program_folder(program, sizeof program);
    char below[128];
    snprintf(below, sizeof below, "/../kernels/%s", name);
    char test_below[128]; /* the tests of the build tree stand one level deeper */
    snprintf(test_below, sizeof test_below, "/../../kernels/%s", name);
    const struct {
        const char *folder, *below;
    } places[] = {{getenv("LLMPERF_MODULES"), ""},
                  {program, below},
                  {program, test_below},
                  {program, "/../" LLMPERF_MODULE_BELOW},
                  {LLMPERF_MODULE_FOLDER, ""}};
    void *module = NULL;
    for (size_t i = 0; i < sizeof places / sizeof *places && !module && !why[0]; i++)
        module = open_in(places[i].folder, places[i].below, name, tried, sizeof tried, why,
                         sizeof why);
    if (why[0])
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend %s cannot be loaded: %s", name,
                            why);
    if (!module)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend %s is not in this build: no llmperf-%s.so (it needs a C "
                            "compiler with OpenMP when llmperf is built); looked in %s",
                            name, name, tried);
    llmperf_backend_entry entry;
    void *symbol = dlsym(module, LLMPERF_BACKEND_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function */
    const llmperf_backend *backend = symbol ? entry() : NULL;
    if (!backend || backend->abi != LLMPERF_BACKEND_ABI)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "the module of backend %s has interface %d; this llmperf needs %d", name,
                            backend ? backend->abi : 0, LLMPERF_BACKEND_ABI);
    *ret_backend = backend;
    return LLMPERF_OK;
}

llmperf_status llmperf_backend_find(const char *name, const llmperf_backend **ret_backend,
                                    llmperf_error *error)
{
    if (strcmp(name, "fake") == 0) {
        *ret_backend = llmperf_backend_fake();
        return LLMPERF_OK;
    }
    if (strcmp(name, "cpu") == 0)
        return find_module(name, ret_backend, error);
    if (strcmp(name, "cuda") == 0) {
        void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
        if (driver)
            dlclose(driver);
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend cuda is not in this build (it has no CUDA backend yet)%s",
                            driver ? "" : "; the NVIDIA driver (libcuda.so.1) is missing here too");
    }
    const char *near = llmperf_nearest(name, NAMES);
    return llmperf_fail(error, LLMPERF_E_USAGE, "backend '%s' is not known%s%s%s; cpu, fake, cuda "
                        "are allowed", name, near ? ", did you mean '" : "", near ? near : "",
                        near ? "'?" : "");
}
