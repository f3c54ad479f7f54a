/* SPDX-License-Identifier: MIT */
/* llmperf fit RUNS.csv...: an engine profile from measurements of whole engines. */
#include "fit_engine.h"

#include <stdio.h>
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

static void put_cell(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        if (*text != '"' && (unsigned char)*text >= 0x20)
            fputc(*text, out);
    fputs("\",", out);
}

static void put_row(const llmperf_engine_fit_row *row, void *context)
{
    const reasons *r = context;
    const llmperf_run *run = row->run;
    char text[LLMPERF_DOUBLE_TEXT_MAX];
    const double values[] = {row->measured_s, row->roofline_s,    row->fitted_s,
                             row->unseen_s,   row->unseen_part_s, row->residual};
    if (!r->residuals)
        return;
    put_cell(r->residuals, run->file);
    fprintf(r->residuals, "%lld,", (long long)run->line);
    put_cell(r->residuals, run->engine);
    put_cell(r->residuals, row->hw);
    put_cell(r->residuals, run->model);
    put_cell(r->residuals, llmperf_metric_name(run->metric));
    fprintf(r->residuals, "%s,%lld", run->kind == LLMPERF_RUN_SERVING ? "serving" : "static",
            (long long)run->batch);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        fprintf(r->residuals, ",%s", values[i] > 0 ? llmperf_format_double(values[i], text) : "");
    fputc('\n', r->residuals);
}

static void print_reasons(const reasons *r)
{
    for (int i = 0; i < r->count; i++)
        fprintf(stderr, "llmperf: %lld row%s left out, the first %s: %s\n",
                (long long)r->reason[i].times, r->reason[i].times == 1 ? "" : "s",
                r->reason[i].first, r->reason[i].why);
}

static void percent(double frac)
{
    if (frac > 0 || frac < 0)
        printf(" %7.1f", 100 * frac);
    else
        printf(" %7s", "-");
}

static void print_parameters(const llmperf_engine_part *part)
{
    for (int k = 0; k < LLMPERF_ENGINE_PARAM_COUNT; k++) {
        const char *name = llmperf_engine_param_name((llmperf_engine_param)k);
        if (part->error[k] > 0)
            printf("    %-22s %11.4g +- %.0f %%%s\n", name, part->param[k], 100 * part->error[k],
                   part->fitted & 1u << k ? "" : "  (by like parts)");
    }
    printf("    %-22s %11.3g decode, %.3g prefill\n", "residual", part->decode_residual,
           part->prefill_residual);
}

static void print_engine(const llmperf_engine *engine, bool parameters)
{
    printf("%-24s %6s %6s %7s %7s %7s %7s %7s %8s %8s %8s %8s\n", "median errors in %", "rows",
           "models", "fit", "mean", "P90", "bias", "unseen", "in 90 %", "by kin", "roofline",
           "constant");
    for (int i = 0; i < engine->part_count; i++) {
        const llmperf_engine_part *part = &engine->part[i];
        const llmperf_engine_quality *q = &part->quality;
        char name[LLMPERF_NAME_MAX + 16];
        snprintf(name, sizeof name, "%s%s", part->hw, part->serving ? ", served" : "");
        printf("%-24s %6lld %6lld", name, (long long)q->rows, (long long)q->models);
        percent(q->median_frac);
        percent(q->mean_frac);
        percent(q->p90_frac);
        percent(q->bias_frac);
        percent(q->unseen_median_frac);
        percent(q->unseen_coverage_frac);
        fputc(' ', stdout);
        percent(q->unseen_part_frac);
        fputc(' ', stdout);
        percent(q->roofline_frac);
        fputc(' ', stdout);
        percent(q->constant_frac);
        fputc('\n', stdout);
        if (q->refused > 0)
            printf("  left out: %lld faster than the roofline\n", (long long)q->refused);
        if (part->remarks[0])
            printf("  %s\n", part->remarks);
        if (parameters)
            print_parameters(part);
    }
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

/* Name and aliases: those asked for, else of a shipped profile of that name. */
static void name_engine(const fit_engine_arguments *a, const llmperf_spec_paths *paths,
                        llmperf_engine *shipped, llmperf_engine_fit_options *options,
                        const char *aliases[LLMPERF_ALIASES_MAX + 1])
{
    char path[LLMPERF_PATH_MAX];
    options->engine = a->engine;
    for (int i = 0; a->aliases && a->aliases[i] && i < LLMPERF_ALIASES_MAX; i++)
        aliases[i] = a->aliases[i];
    if (a->engine && !aliases[0] &&
        llmperf_find_engine(paths, a->engine, path, NULL) == LLMPERF_OK &&
        llmperf_engine_load(path, shipped, NULL) == LLMPERF_OK) {
        options->engine = shipped->name;
        for (int i = 0; i < shipped->alias_count; i++)
            aliases[i] = shipped->aliases[i];
    }
    options->aliases = aliases;
}

static void describe(const fit_engine_arguments *a, const char *const *aliases,
                     llmperf_engine *engine)
{
    engine->alias_count = 0;
    for (int i = 0; aliases[i]; i++)
        snprintf(engine->aliases[engine->alias_count++], sizeof *engine->aliases, "%s", aliases[i]);
    snprintf(engine->source, sizeof engine->source, "%s", a->source ? a->source : "");
    snprintf(engine->licence, sizeof engine->licence, "%s", a->licence ? a->licence : "");
    snprintf(engine->date, sizeof engine->date, "%s", a->date ? a->date : "");
}

static llmperf_status write_engine(const fit_engine_arguments *a, const llmperf_engine *engine,
                                   llmperf_error *error)
{
    common_output output;
    llmperf_status status = common_open_output(a->common, &output, error);
    if (status != LLMPERF_OK)
        return status;
    status = llmperf_engine_write(output.file, engine, error);
    llmperf_status closed = common_close_output(&output, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

static llmperf_status open_residuals(const char *path, common_output *ret_output,
                                     llmperf_error *error)
{
    const common_arguments to = {.output = path};
    llmperf_status status = common_open_output(&to, ret_output, error);
    if (status == LLMPERF_OK)
        fputs("file,line,engine,hardware,model,metric,kind,batch,measured_s,roofline_s,fitted_s,"
              "unseen_s,unseen_part_s,residual\n",
              ret_output->file);
    return status;
}

llmperf_status fit_engine_run(const fit_engine_arguments *a, const char *const *paths,
                              llmperf_error *error)
{
    static llmperf_engine engine, shipped;
    llmperf_loaded part = {0};
    static reasons why;
    llmperf_spec_paths specs;
    common_output residuals;
    llmperf_runs runs = {0};
    llmperf_engine_fit_options options = {
        .quick = a->quick, .visit = left_out, .row = put_row, .context = &why};
    const llmperf_runs_options reading = {.map = a->map, .visit = bad_row, .context = &why};
    const char *aliases[LLMPERF_ALIASES_MAX + 1] = {0};
    llmperf_status status = LLMPERF_OK;
    llmperf_spec_paths_default(a->common->specs, &specs);
    name_engine(a, &specs, &shipped, &options, aliases);
    if (a->hw) {
        status = common_load_hw(a->common, a->hw, &part, error);
        options.hw = part.hw;
    }
    for (int i = 0; paths[i] && status == LLMPERF_OK; i++)
        status = llmperf_runs_read(&runs, paths[i], &reading, error);
    if (status == LLMPERF_OK && a->residuals) {
        status = open_residuals(a->residuals, &residuals, error);
        why.residuals = status == LLMPERF_OK ? residuals.file : NULL;
    }
    if (status == LLMPERF_OK)
        status = llmperf_fit_engine(&runs, &specs, &options, &engine, error);
    llmperf_runs_free(&runs);
    llmperf_loaded_free(&part);
    if (why.residuals) {
        llmperf_status closed = common_close_output(&residuals, status == LLMPERF_OK, error);
        status = status == LLMPERF_OK ? closed : status;
    }
    print_reasons(&why);
    if (status != LLMPERF_OK)
        return status;
    describe(a, aliases, &engine);
    print_engine(&engine, a->parameters);
    return a->common->output ? write_engine(a, &engine, error) : LLMPERF_OK;
}
