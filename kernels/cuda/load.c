/* SPDX-License-Identifier: MIT */
/* Opens the driver, NVML, cuBLASLt and NCCL and fills their tables of functions. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"

/* One library file: in `folder` first, then where the loader looks. NULL: not there. */
static void *open_one(const char *folder, const char *file)
{
    char path[LLMPERF_PATH_MAX];
    void *library = NULL;
    if (folder[0] == '/') { /* never relative to where the user stands */
        int length = snprintf(path, sizeof path, "%s/%s", folder, file);
        if (length > 0 && (size_t)length < sizeof path)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    }
    return library ? library : dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* The first of `files` that opens. */
static void *open_any(const char *folder, const char *const *files)
{
    void *library = NULL;
    for (; !library && *files; files++)
        library = open_one(folder, *files);
    return library;
}

void cuda_unload(void *library)
{
    if (library)
        dlclose(library);
}

/* A function's address into a pointer of its table; ISO C has no cast from object to function. */
static bool take(void *library, const char *name, void *pointer)
{
    void *symbol = dlsym(library, name);
    memcpy(pointer, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* Fills one row; remembers the first function that is missing. */
#define TAKE(name, arguments)                                                                      \
    if (!take(table.library, #name, &table.name) && !missing)                                      \
        missing = #name;

llmperf_status cuda_load_driver(const char *folder, cuda_driver *ret_driver, llmperf_error *error)
{
    static const char *const FILES[] = {"libcuda.so.1", NULL};
    const char *missing = NULL;
    cuda_driver table = {.library = open_any(folder, FILES)};
    if (!table.library)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend cuda: the NVIDIA driver is missing here (libcuda.so.1 cannot "
                            "be opened)");
    CUDA_DRIVER_FUNCTIONS(TAKE)
    if (missing) {
        cuda_unload(table.library);
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend cuda: the NVIDIA driver is too old: libcuda.so.1 has no %s; "
                            "R525 (CUDA 12) or later is needed",
                            missing);
    }
    *ret_driver = table;
    return LLMPERF_OK;
}

llmperf_status cuda_load_lt(const char *folder, cuda_lt *ret_lt, llmperf_error *error)
{
    static const char *const FILES[] = {"libcublasLt.so.13", "libcublasLt.so.12", NULL};
    /* where the toolkit puts them when the loader is not told */
    static const char *const PLACES[] = {"/usr/local/cuda/lib64", "/opt/cuda/lib64", NULL};
    const char *missing = NULL;
    cuda_lt table = {.library = open_any(folder, FILES)};
    for (int i = 0; !table.library && PLACES[i]; i++)
        table.library = open_any(PLACES[i], FILES);
    if (!table.library)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend cuda: no cuBLASLt here (libcublasLt.so.13 or .12), so no "
                            "products: install the CUDA toolkit, or say libraries=FOLDER");
    CUDA_LT_FUNCTIONS(TAKE)
    TAKE(cublasLtGetVersion, (void))
    if (missing) {
        cuda_unload(table.library);
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend cuda: this cuBLASLt has no %s, so no products", missing);
    }
    *ret_lt = table;
    return LLMPERF_OK;
}

llmperf_status cuda_load_nccl(const char *folder, cuda_nccl *ret_nccl, llmperf_error *error)
{
    static const char *const FILES[] = {"libnccl.so.2", NULL};
    static const char *const PLACES[] = {"/usr/local/cuda/lib64", NULL};
    const char *missing = NULL;
    cuda_nccl table = {.library = open_any(folder, FILES)};
    for (int i = 0; !table.library && PLACES[i]; i++)
        table.library = open_any(PLACES[i], FILES);
    if (!table.library)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend cuda: no NCCL here (libnccl.so.2), so no collectives");
    CUDA_NCCL_FUNCTIONS(TAKE)
    if (missing) {
        cuda_unload(table.library);
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend cuda: this NCCL has no %s, so no collectives", missing);
    }
    *ret_nccl = table;
    return LLMPERF_OK;
}

bool cuda_load_nvml(const char *folder, cuda_nvml *ret_nvml)
{
    static const char *const FILES[] = {"libnvidia-ml.so.1", NULL};
    const char *missing = NULL;
    cuda_nvml table = {.library = open_any(folder, FILES)};
    if (!table.library)
        return false;
    CUDA_NVML_FUNCTIONS(TAKE)
    (void)missing; /* every call is optional but the first */
    if (!table.nvmlInit_v2 || table.nvmlInit_v2() != 0) {
        cuda_unload(table.library);
        return false;
    }
    *ret_nvml = table;
    return true;
}
