/* SPDX-License-Identifier: MIT */
/*
 * Backends by name. `fake` and `cuda` are built in; `cpu` is a module, so that predicting never loads a BLAS or
 * OpenMP. Modules are opened by absolute path alone.
 */
#include <dlfcn.h>
#include <string.h>

#include "llmperf/measure.h"
#include "llmperf/module.h"
#include "entry.h"

/* LLMPERF_NO_CUDA: why this build has no CUDA backend; not defined where it has one */

static const char *const NAMES[] = {"cpu", "fake", "cuda", NULL};

const char *const *llmperf_backend_names(void)
{
    return NAMES;
}

static llmperf_status find_module(const char *name, const llmperf_backend **ret_backend,
                                  llmperf_error *error)
{
    char path[LLMPERF_PATH_MAX];
    if (!llmperf_module_path(name, "kernels/cpu", path))
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend %s is not in this build: there is no llmperf-%s.so in %s or "
                            "$LLMPERF_MODULES (llmperf must be built by a compiler with OpenMP)",
                            name, name, llmperf_module_folder());
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
    NEEDS(name && ret_backend, error);
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
