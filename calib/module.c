/* SPDX-License-Identifier: MIT */
/*
 * Backends by name. `fake` and `cuda` are built in; `cpu` is a module, so that predicting never loads a BLAS or
 * OpenMP. Modules are opened by absolute path alone.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "llmperf/measure.h"

/* LLMPERF_NO_CUDA: why this build has no CUDA backend; not defined where it has one */
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

/* FOLDER + BELOW + "/llmperf-NAME.so"; false when it is too long or there is no such file. */
static bool module_path(const char *folder, const char *below, const char *name, char *path)
{
    if (!folder || folder[0] != '/') /* never relative to where the user stands */
        return false;
    int length = snprintf(path, LLMPERF_PATH_MAX, "%s%s/llmperf-%s.so", folder, below, name);
    return length > 0 && length < LLMPERF_PATH_MAX && access(path, R_OK) == 0;
}

static llmperf_status find_module(const char *name, const llmperf_backend **ret_backend,
                                  llmperf_error *error)
{
    char program[LLMPERF_PATH_MAX], path[LLMPERF_PATH_MAX];
    const struct {
        const char *folder, *below;
    } places[] = {{getenv("LLMPERF_MODULES"), ""},
                  {program, "/../kernels/cpu"},    /* the build tree */
                  {program, "/../../kernels/cpu"}, /* its tests stand one level deeper */
                  {program, "/../" LLMPERF_MODULE_BELOW},
                  {LLMPERF_MODULE_FOLDER, ""}};
    const size_t count = sizeof places / sizeof *places;
    size_t at = 0;
    program_folder(program, sizeof program);
    while (at < count && !module_path(places[at].folder, places[at].below, name, path))
        at++;
    if (at == count)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend %s is not in this build: there is no llmperf-%s.so in %s or "
                            "$LLMPERF_MODULES (llmperf must be built by a compiler with OpenMP)",
                            name, name, LLMPERF_MODULE_FOLDER);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!module) {
        const char *reason = dlerror();
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "backend %s cannot be loaded: %s", name,
                            reason ? reason : path);
    }
    llmperf_backend_entry entry;
    void *symbol = dlsym(module, LLMPERF_BACKEND_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function */
    const llmperf_backend *backend = symbol ? entry() : NULL;
    if (!backend || backend->abi != LLMPERF_BACKEND_ABI)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "%s has interface %d; this llmperf needs %d", path,
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
#ifdef LLMPERF_NO_CUDA
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend cuda is not in this build: " LLMPERF_NO_CUDA);
#else
        *ret_backend = llmperf_backend_cuda();
        return LLMPERF_OK;
#endif
    }
    const char *near = llmperf_nearest(name, NAMES);
    return llmperf_fail(error, LLMPERF_E_USAGE,
                        "backend '%s' is not known%s%s%s; cpu, fake, cuda "
                        "are allowed",
                        name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
}
