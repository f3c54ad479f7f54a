/* SPDX-License-Identifier: MIT */
/* A walk over the devices of this machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/device.h"
#include "entry.h"

enum { DEVICES_MAX = 64 }; /* of one backend */

/* A walk, with room for one device. */
typedef struct walk {
    const llmperf_devices_options *options;
    const llmperf_spec_paths *paths;
    llmperf_device_visit visit;
    void *context;
    llmperf_opened_device opened;
    llmperf_device described;
    llmperf_notes extra;
    llmperf_error error; /* of a try */
} walk;

/* What a calibration would take; the reason why it cannot be. */
static void look_ahead(walk *w, llmperf_device_facts *facts)
{
    for (int quick = 0; quick < 2; quick++) {
        llmperf_probe_plan plan = {0};
        memset(&w->error, 0, sizeof w->error);
        if (llmperf_probe_plan_make(w->opened.backend, w->opened.handle, quick, &plan, &w->error) !=
            LLMPERF_OK) {
            if (quick == 0)
                llmperf_note(&w->extra, "cannot be measured: %s", w->error.text);
            continue;
        }
        *(quick ? &facts->quick_probes : &facts->full_probes) = plan.count;
        *(quick ? &facts->quick_s : &facts->full_s) = plan.budget_s;
        for (int i = 0; quick == 0 && i < plan.skipped.count; i++)
            llmperf_note(&w->extra, "left out: %s", plan.skipped.text[i]);
        llmperf_probe_plan_free(&plan);
    }
}

static void tell(walk *w, int index)
{
    char why[LLMPERF_TEXT_MAX];
    llmperf_loaded spec = {0};
    llmperf_device *d = &w->described;
    llmperf_device_facts facts = {.device = d, .why = why};
    memset(&w->extra, 0, sizeof w->extra);
    look_ahead(w, &facts);
    *d = w->opened.device;
    if (w->opened.backend->describe(w->opened.handle, d, NULL) != LLMPERF_OK)
        *d = w->opened.device;
    d->index = index;
    for (int i = 0; i < w->extra.count; i++)
        llmperf_note(&d->notes, "%s", w->extra.text[i]);
    llmperf_device_spec(w->paths, d, &spec, why);
    facts.spec = spec.hw;
    w->visit(&facts, w->context);
    llmperf_loaded_free(&spec);
}

/* All devices of a backend; w->error has why it is not here. */
static llmperf_status visit_backend(walk *w, const char *name)
{
    for (int index = 0; index < DEVICES_MAX; index++) {
        /* options that choose a device are for one of them */
        const char *options = w->options->options;
        char which[16];
        if (index > 0 && options && strstr(options, "uuid="))
            return LLMPERF_OK;
        snprintf(which, sizeof which, "%d", index);
        memset(&w->error, 0, sizeof w->error);
        llmperf_status status = llmperf_device_open(name, which, options, &w->opened, &w->error);
        if (status != LLMPERF_OK) /* behind the first: that was the last one */
            return index > 0 ? LLMPERF_OK : status;
        tell(w, index);
        llmperf_device_close(&w->opened);
    }
    return LLMPERF_OK;
}

/* "backend cuda: no device" is told in a line that names the backend already. */
static const char *without_name(const char *text, const char *name)
{
    char prefix[64];
    int length = snprintf(prefix, sizeof prefix, "backend %s: ", name);
    return length > 0 && strncmp(text, prefix, (size_t)length) == 0 ? text + length : text;
}

static llmperf_status visit_all(walk *w, llmperf_notes *ret_absent, llmperf_error *error)
{
    const char *only = w->options->backend;
    llmperf_status status = LLMPERF_OK;
    for (const char *const *name = llmperf_backend_names(); *name; name++) {
        if (only && strcmp(only, *name) != 0)
            continue;
        llmperf_status here = visit_backend(w, *name);
        if (here == LLMPERF_OK)
            continue;
        if (only || here != LLMPERF_E_UNSUPPORTED) {
            if (error)
                *error = w->error;
            status = status == LLMPERF_OK ? here : status;
        }
        llmperf_note(ret_absent, "%s: %s", *name, without_name(w->error.text, *name));
    }
    return status;
}

/* A backend that is missing here is no fault of the options. */
llmperf_status llmperf_devices_check(const llmperf_devices_options *options, llmperf_error *error)
{
    NEEDS(options, error);
    const llmperf_backend *known;
    if (options->options && !options->backend)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "--options belong to one backend; --backend NAME is required");
    if (options->backend && llmperf_backend_find(options->backend, &known, NULL) == LLMPERF_E_USAGE)
        return llmperf_backend_find(options->backend, &known, error);
    return LLMPERF_OK;
}

llmperf_status llmperf_devices_visit(const llmperf_devices_options *options,
                                     llmperf_device_visit visit, void *context,
                                     llmperf_notes *ret_absent, llmperf_error *error)
{
    NEEDS(options && visit && ret_absent, error);
    llmperf_status status = llmperf_devices_check(options, error);
    if (status != LLMPERF_OK)
        return status;
    walk *w = calloc(1, sizeof *w);
    llmperf_spec_paths *paths = options->paths ? NULL : malloc(sizeof *paths);
    if (!w || (!options->paths && !paths)) {
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    } else {
        if (paths)
            llmperf_spec_paths_default(NULL, paths);
        w->options = options;
        w->paths = paths ? paths : options->paths;
        w->visit = visit;
        w->context = context;
        status = visit_all(w, ret_absent, error);
    }
    free(paths);
    free(w);
    return status;
}
