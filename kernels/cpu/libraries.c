/* SPDX-License-Identifier: MIT */
/* The kernels beside this module, and OpenBLAS: found and opened. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cpu.h"

/* A function pointer from a module; ISO C has no cast for it. */
static bool symbol(void *library, const char *name, void *ret_function)
{
    void *found = dlsym(library, name);
    memcpy(ret_function, &found, sizeof found);
    return found != NULL;
}

void *cpu_kernels_open(const cpu_kernels **ret_kernels, char *why, size_t size)
{
    Dl_info self;
    char path[LLMPERF_PATH_MAX];
    cpu_kernels_entry entry;
    *ret_kernels = NULL;
    snprintf(why, size, "its own folder cannot be told");
    static const char here = 0; /* any object of this module */
    if (!dladdr(&here, &self) || !self.dli_fname || self.dli_fname[0] != '/')
        return NULL;
    const char *slash = strrchr(self.dli_fname, '/');
    int length = snprintf(path, sizeof path, "%.*s/llmperf-cpu-omp.so",
                          (int)(slash - self.dli_fname), self.dli_fname);
    if (length < 0 || (size_t)length >= sizeof path)
        return NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library || !symbol(library, CPU_KERNELS_SYMBOL, &entry)) {
        const char *reason = dlerror();
        snprintf(why, size, "%s", reason ? reason : "no reason is given");
        return NULL;
    }
    const cpu_kernels *kernels = entry();
    if (kernels->abi != CPU_KERNELS_ABI) {
        snprintf(why, size, "llmperf-cpu-omp.so has interface %d, %d is needed", kernels->abi,
                 CPU_KERNELS_ABI);
        return NULL;
    }
    *ret_kernels = kernels;
    return library;
}

/* Where the OpenMP build of OpenBLAS is, and after it whatever else is installed. */
static const char *const BLAS_PLACES[] = {
#ifdef LLMPERF_OPENBLAS
    LLMPERF_OPENBLAS, /* where the build found it */
#endif
    "/usr/lib/x86_64-linux-gnu/openblas-openmp/libopenblas.so.0",
    "/usr/lib/aarch64-linux-gnu/openblas-openmp/libopenblas.so.0",
    "libopenblasp-openmp.so.0", /* openSUSE */
    "libopenblaso.so.0",        /* Fedora */
    "libopenblas.so.0",
    NULL,
};

void *cpu_blas_open(const char *given, cpu_blas *ret_blas, char *ret_path, size_t size)
{
    cpu_blas b = {0};
    void *library = NULL;
    const char *(*config)(void) = NULL;
    char *(*core)(void) = NULL;
    int (*parallel)(void) = NULL;
    if (given[0]) {
        library = dlopen(given, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        snprintf(ret_path, size, "%s", given);
    }
    for (int i = 0; !given[0] && !library && BLAS_PLACES[i]; i++) {
        library = dlopen(BLAS_PLACES[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        snprintf(ret_path, size, "%s", BLAS_PLACES[i]);
    }
    if (!library)
        return NULL;
    if (!symbol(library, "cblas_sgemm", &b.sgemm) || !symbol(library, "cblas_sgemv", &b.sgemv) ||
        !symbol(library, "openblas_set_num_threads", &b.set_threads))
        return NULL;
    b.parallel = symbol(library, "openblas_get_parallel", &parallel) ? parallel() : 0;
    if (symbol(library, "openblas_get_corename", &core))
        llmperf_escape(core(), b.core, sizeof b.core);
    /* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..." */
    if (symbol(library, "openblas_get_config", &config)) {
        char version[32] = "";
        const char *text = config();
        const char *space = strncmp(text, "OpenBLAS ", 9) == 0 ? text + 9 : "";
        snprintf(version, sizeof version, "%.*s", (int)strcspn(space, " "), space);
        llmperf_escape(version, b.version, sizeof b.version);
    }
    *ret_blas = b;
    return library;
}
