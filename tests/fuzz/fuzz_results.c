/* SPDX-License-Identifier: MIT */
/*
 * Any bytes, read as a result file of an engine. What is read must be a measurement: positive, finite,
 * its texts harmless; what is refused must say so in one line; the workload of a run must be one that
 * a case takes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/results.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool promise)
{
    if (!promise)
        abort();
}

static void check_text(const char *text)
{
    for (const char *c = text; *c; c++)
        require((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static void tell(const char *file, int64_t line, const char *label, const char *why, void *context)
{
    int *count = context;
    require(line >= 1 && why[0]);
    check_text(file);
    check_text(label);
    check_text(why);
    ++*count;
}

static void check_run(const llmperf_run *run)
{
    const char *const texts[] = {run->file,           run->source,       run->engine,
                                 run->engine_version, run->gpu,          run->model,
                                 run->kv_dtype,       run->weight_dtype, run->act_dtype};
    const llmperf_workload base = {.chunk = 8192};
    llmperf_workload w;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_text(texts[i]);
    require(llmperf_metric_name(run->metric) != NULL);
    require(isfinite(run->value) && run->value > 0 && run->line >= 0);
    require(run->batch >= 0 && run->tp >= 0 && run->pp >= 0 && run->devices >= 0);
    require(run->prompt >= 0 && run->generate >= 0 && run->depth >= 0 && run->spread >= 0);
    if (llmperf_run_workload(run, &base, &w, NULL) != LLMPERF_OK)
        return;
    require(w.batch >= 1 && w.prompt >= 1 && w.generate >= 1);
    require(w.cached >= 0 && w.cached < w.prompt && w.context >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const map[] = {"latency=value", "kind of=metric", NULL};
    for (int median = 0; median < 2; median++) {
        llmperf_runs runs = {0};
        llmperf_error error = {0};
        int left_out = 0;
        const llmperf_runs_options options = {
            .map = map, .median = median == 1, .visit = tell, .context = &left_out};
        llmperf_status status =
            llmperf_runs_read_text(&runs, "dir/fuzz", (const char *)data, size, &options, &error);
        if (status == LLMPERF_OK) {
            require(runs.count > 0 && error.faults == 0);
        } else {
            require(error.status == status && error.faults == 1 && error.text[0]);
            check_text(error.text);
        }
        for (int64_t i = 0; i < runs.count; i++)
            check_run(&runs.run[i]);
        llmperf_runs_free(&runs);
    }
    return 0;
}
