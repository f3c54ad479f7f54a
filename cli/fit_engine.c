/* SPDX-License-Identifier: MIT */
/* llmperf fit RUNS.csv...: an engine profile from measurements of whole engines. */
#include "fit_engine.h"

#include <stdlib.h>
#include <string.h>

#include "llmperf/fit_engine.h"
#include "llmperf/results.h"

enum { REASONS_MAX = 24 };

/* Why rows were left out, and how often; where the others go. */
typedef struct reasons {
    FILE *residuals; /* CSV; NULL = not asked for */
    int count;
    struct {
        char why[LLMPERF_TEXT_MAX], first[LLMPERF_NAME_MAX + 32];
        int64_t times;
    } reason[REASONS_MAX];
} reasons;

static void count_reason(reasons *r, const char *file, int64_t line, const char *why)
{
    int at = 0;
    while (at < r->count && strncmp(r->reason[at].why, why, 24) != 0)
        at++;
    if (at == REASONS_MAX)
        at = REASONS_MAX - 1;
    if (at == r->count) {
        r->count++;
        snprintf(r->reason[at].why, sizeof r->reason[at].why, "%s", why);
        snprintf(r->reason[at].first, sizeof r->reason[at].first, "%s:%lld", file, (long long)line);
    }
    r->reason[at].times++;
}

static void bad_row(const char *file, int64_t line, const char *label, const char *why,
                    void *context)
{
    (void)label;
    count_reason(context, file, line, why);
}

static void left_out(const llmperf_run *run, const char *why, void *context)
{
    char line[LLMPERF_TEXT_MAX];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(why, "\n"), why);
    if (run->metric != LLMPERF_METRIC_MEMORY)
        count_reason(context, run->file, run->line, line);
}

static void put_row(const llmperf_engine_fit_row *row, void *context)
{
    const reasons *r = context;
    if (r->residuals)
        llmperf_write_engine_fit_row(r->residuals, row);
}

static void print_reasons(const reasons *r)
{
    for (int i = 0; i < r->count; i++)
        fprintf(stderr, "llmperf: %lld row%s left out, the first %s: %s\n",
                (long long)r->reason[i].times, r->reason[i].times == 1 ? "" : "s",
                r->reason[i].first, r->reason[i].why);
}

llmperf_status fit_engine_is_for(const char *path, const char *const *map, bool *ret_runs,
                                 llmperf_error *error)
{
    const llmperf_runs_options options = {.map = map};
    bool samples = true;
    llmperf_status status = llmperf_results_are_samples(path, &options, &samples, error);
    *ret_runs = !samples;
    return status;
}

static llmperf_status write_engine(const fit_engine_arguments *a, const llmperf_engine *engine,
                                   llmperf_error *error)
{
    llmperf_output output;
    if (!a->common->output)
        return LLMPERF_OK;
    llmperf_status status = llmperf_output_open(a->common->output, &output, error);
    if (status != LLMPERF_OK)
        return status;
    status = llmperf_engine_write(output.file, engine, error);
    llmperf_status closed = llmperf_output_close(&output, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

/* Fits; rows go to the file of --residuals as they are told. */
static llmperf_status fit(const fit_engine_arguments *a, const llmperf_runs *runs,
                          const llmperf_spec_paths *specs,
                          const llmperf_engine_fit_options *options, reasons *why,
                          llmperf_engine **ret_engine, llmperf_error *error)
{
    llmperf_output residuals;
    if (!a->residuals)
        return llmperf_fit_engine(runs, specs, options, ret_engine, error);
    llmperf_status status = llmperf_output_open(a->residuals, &residuals, error);
    if (status != LLMPERF_OK)
        return status;
    why->residuals = residuals.file;
    llmperf_write_engine_fit_row(residuals.file, NULL);
    status = llmperf_fit_engine(runs, specs, options, ret_engine, error);
    llmperf_status closed = llmperf_output_close(&residuals, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

llmperf_status fit_engine_run(const fit_engine_arguments *a, const char *const *paths,
                              llmperf_error *error)
{
    llmperf_loaded part = {0};
    llmperf_spec_paths specs;
    llmperf_runs runs = {0};
    reasons *why = calloc(1, sizeof *why);
    llmperf_engine *engine = NULL;
    llmperf_status status = LLMPERF_OK;
    if (!why)
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    const llmperf_runs_options reading = {.map = a->map, .visit = bad_row, .context = why};
    llmperf_spec_paths_default(a->common->specs, &specs);
    if (status == LLMPERF_OK && a->hw)
        status = common_load_hw(a->common, a->hw, &part, error);
    for (int i = 0; paths[i] && status == LLMPERF_OK; i++)
        status = llmperf_runs_read(&runs, paths[i], &reading, error);
    const llmperf_engine_fit_options options = {.engine = a->engine,
                                                .aliases = a->aliases,
                                                .source = a->source,
                                                .licence = a->licence,
                                                .date = a->date,
                                                .hw = part.hw,
                                                .quick = a->quick,
                                                .visit = left_out,
                                                .row = put_row,
                                                .context = why};
    if (status == LLMPERF_OK)
        status = fit(a, &runs, &specs, &options, why, &engine, error);
    if (why)
        print_reasons(why);
    if (status == LLMPERF_OK) {
        llmperf_write_engine_fit(stdout, engine, a->parameters);
        status = write_engine(a, engine, error);
    }
    llmperf_runs_free(&runs);
    llmperf_loaded_free(&part);
    llmperf_engine_free(engine);
    free(why);
    return status;
}
