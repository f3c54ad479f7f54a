/* SPDX-License-Identifier: MIT */
/* A model's steps at several batches beside their predictions, and what to know of the measurements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/validate.h"
#include "config_object.h"
#include "config.h"
#include "entry.h"

/* ---- what to know ---------------------------------------------------------------------------- */

/* Says how much the memory has moved since the calibration, if that was kept. */
static void note_memory(llmperf_comparison *comparison, const llmperf_calib *calib,
                        double bytes_per_s)
{
    if (!(bytes_per_s > 0))
        return;
    if (!calib || !(calib->stream_bytes_per_s > 0)) {
        llmperf_note(&comparison->notes, "memory streams at %.3g GB/s now", bytes_per_s / 1e9);
        return;
    }
    llmperf_note(
        &comparison->notes,
        "memory streams at %.3g GB/s now, at %.3g GB/s as a rule when the calibration was made "
        "(%+.0f %%); the rows 'memory as now' allow for what it was around each measurement",
        bytes_per_s / 1e9, calib->stream_bytes_per_s / 1e9,
        100 * (bytes_per_s / calib->stream_bytes_per_s - 1));
}

/* How busy the device was, from the flags of what was measured. */
static void note_state(llmperf_comparison *comparison)
{
    int contended = 0, unsteady = 0, slow = 0;
    for (int i = 0; i < comparison->row_count; i++) {
        contended += (comparison->row[i].flags & LLMPERF_SAMPLE_CONTENDED) != 0;
        unsteady += (comparison->row[i].flags & LLMPERF_SAMPLE_UNSTEADY) != 0;
        slow += (comparison->row[i].flags & LLMPERF_SAMPLE_SLOW_MEMORY) != 0;
    }
    if (contended + unsteady + slow > 0)
        llmperf_note(&comparison->notes,
                     "%d of %d rows were measured while others used the machine, %d while times "
                     "drifted, %d while memory was slower",
                     contended, comparison->row_count, unsteady, slow);
}

/* Other products than those that were calibrated are another device. */
static void note_library(llmperf_comparison *comparison, const llmperf_calib *calib,
                         const llmperf_opened_device *device)
{
    llmperf_device now = device->device;
    if (!calib || now.simulated ||
        device->backend->describe(device->handle, &now, NULL) != LLMPERF_OK)
        return;
    for (int i = 0; i < calib->entry_count; i++) {
        const llmperf_calib_entry *e = &calib->entry[i];
        if (e->key.kind != LLMPERF_KIND_GEMM || !e->library[0] ||
            strncmp(e->library, now.library, sizeof e->library - 1) == 0)
            continue;
        llmperf_note(&comparison->notes,
                     "the calibration's products are by %s, those measured here by %s%s",
                     e->library, now.library,
                     strcmp(now.backend, "cpu") == 0 ? " (--options fp32=... chooses)" : "");
        return;
    }
}

/* ---- batches --------------------------------------------------------------------------------- */

/* A run over batches. */
typedef struct validation {
    const llmperf_opened_device *device;
    const llmperf_validate_options *options;
    llmperf_measure_options measuring;
    llmperf_probe_plan plan; /* for its stream that watches */
    double watch_best_s;
    llmperf_watch_log watch_log;
    int64_t batch; /* that is being measured */
    llmperf_comparison *comparison;
} validation;

/* A stream that watches; slower than when the calibration was made is tried again. */
static void watch(validation *v, const llmperf_calib *calib)
{
    v->measuring.watch = &v->plan.watch;
    v->measuring.watch_best_s = &v->watch_best_s;
    v->measuring.watch_log = &v->watch_log;
    if (calib && calib->stream_bytes_per_s > 0) {
        v->watch_best_s = llmperf_probe_bytes(&v->plan.watch) / calib->stream_bytes_per_s;
        v->measuring.watch_fixed = true;
    }
}

static void tell(const char *what, int done, int total, void *context)
{
    const validation *v = context;
    if (v->options->visit)
        v->options->visit(v->batch, what, done, total, v->options->context);
}

static llmperf_status validate_batch(validation *v, const llmperf_config *c, llmperf_error *error)
{
    const bool asked[] = {v->options->decode, v->options->prefill};
    llmperf_status status = LLMPERF_OK;
    for (int prefill = 0; prefill < 2 && status == LLMPERF_OK; prefill++)
        if (asked[prefill])
            status = llmperf_validate_step(c, prefill == 1, v->device->backend, v->device->handle,
                                           &v->measuring, tell, v, v->comparison, error);
    return status;
}

static llmperf_status validate_batches(validation *v, const llmperf_model *model,
                                       const llmperf_hw *hw, const llmperf_calib *calib,
                                       const llmperf_workload *workload, llmperf_error *error)
{
    llmperf_workload w = *workload;
    llmperf_status status = LLMPERF_OK;
    for (int64_t i = 0; i < v->options->batch_count && status == LLMPERF_OK; i++) {
        llmperf_config c;
        w.batch = v->batch = v->options->batches[i];
        status = config_init(&c, model, hw, calib, &w, error);
        if (status == LLMPERF_OK)
            status = validate_batch(v, &c, error);
    }
    return status;
}

llmperf_status llmperf_validate(const llmperf_model *model, const llmperf_hw *hw,
                                const llmperf_calib *calib, const llmperf_workload *workload,
                                const llmperf_opened_device *device,
                                const llmperf_validate_options *options,
                                llmperf_comparison *comparison, llmperf_error *error)
{
    NEEDS(model && hw_is_sound(hw) && workload && device && device->backend && options &&
              comparison,
          error);
    const bool simulated = device->device.simulated;
    validation *v = calloc(1, sizeof *v);
    if (!v)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    v->device = device;
    v->options = options;
    v->comparison = comparison;
    v->measuring = (llmperf_measure_options){
        .time_limit_s = options->time_limit_s > 0 ? options->time_limit_s : 1,
        .interval_frac = 0.03,
        .simulated = simulated};
    llmperf_status status = LLMPERF_OK;
    if (!simulated)
        status = llmperf_probe_plan_make(device->backend, device->handle, true, &v->plan, error);
    if (status == LLMPERF_OK && !simulated)
        watch(v, calib);
    if (status == LLMPERF_OK)
        status = validate_batches(v, model, hw, calib, workload, error);
    if (status == LLMPERF_OK) {
        note_memory(comparison, calib, llmperf_watch_rate(&v->watch_log, &v->plan.watch));
        note_state(comparison);
        note_library(comparison, calib, device);
    }
    llmperf_probe_plan_free(&v->plan);
    free(v);
    return status;
}
