/* SPDX-License-Identifier: MIT */
#include "png.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/module.h"
#include "llmperf/png.h"

static llmperf_status open_module(const llmperf_png_module **ret_module, llmperf_error *error)
{
    char path[LLMPERF_PATH_MAX];
    if (!llmperf_module_path("png", "png", path))
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "this build writes no PNG: there is no llmperf-png.so in %s or "
                            "$LLMPERF_MODULES (it is built where librsvg is, Debian's "
                            "librsvg2-dev); svg is allowed",
                            llmperf_module_folder());
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        const char *reason = dlerror();
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "PNG cannot be written: %s",
                            reason ? reason : path);
    }
    llmperf_png_entry entry;
    void *symbol = dlsym(library, LLMPERF_PNG_SYMBOL);
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast from object to function */
    const llmperf_png_module *module = symbol ? entry() : NULL;
    if (!module || module->abi != LLMPERF_PNG_ABI)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "%s has interface %d; this llmperf needs %d", path,
                            module ? module->abi : 0, LLMPERF_PNG_ABI);
    *ret_module = module;
    return LLMPERF_OK;
}

llmperf_status png_write(FILE *out, const llmperf_plot *plot, const llmperf_plot_style *style,
                         double scale, llmperf_error *error)
{
    const llmperf_png_module *module = NULL;
    char *svg = NULL;
    size_t size = 0;
    llmperf_status status = open_module(&module, error);
    if (status != LLMPERF_OK || !module)
        return status;
    FILE *memory = open_memstream(&svg, &size);
    if (!memory)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    status = llmperf_write_plot(memory, "svg", plot, style, error);
    bool failed = ferror(memory) != 0;
    failed |= fclose(memory) != 0;
    if (status == LLMPERF_OK && (failed || !svg))
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    if (status == LLMPERF_OK)
        status = module->write(out, svg, size, scale, error);
    free(svg);
    return status;
}
