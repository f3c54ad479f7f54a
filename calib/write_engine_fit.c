/* SPDX-License-Identifier: MIT */
/* What a fit of an engine's runs is worth: a table, and each row as CSV. */
#include <stdio.h>

#include "llmperf/fit_engine.h"
#include "engine_object.h"

/* ---- rows -------------------------------------------------------------------------------------------------- */

static void put_cell(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        if (*text != '"' && (unsigned char)*text >= 0x20)
            fputc(*text, out);
    fputs("\",", out);
}

void llmperf_write_engine_fit_row(FILE *out, const llmperf_engine_fit_row *row)
{
    if (!out)
        return;
    char text[LLMPERF_DOUBLE_TEXT_MAX];
    if (!row) {
        fputs("file,line,engine,hardware,model,metric,kind,batch,measured_s,roofline_s,fitted_s,"
              "unseen_s,unseen_part_s,residual\n",
              out);
        return;
    }
    const llmperf_run *run = row->run;
    const double values[] = {row->measured_s, row->roofline_s,    row->fitted_s,
                             row->unseen_s,   row->unseen_part_s, row->residual};
    put_cell(out, run->file);
    fprintf(out, "%lld,", (long long)run->line);
    put_cell(out, run->engine);
    put_cell(out, row->hw);
    put_cell(out, run->model);
    put_cell(out, llmperf_metric_name(run->metric));
    fprintf(out, "%s,%lld", run->kind == LLMPERF_RUN_SERVING ? "serving" : "static",
            (long long)run->batch);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        fprintf(out, ",%s", values[i] > 0 ? llmperf_format_double(values[i], text) : "");
    fputc('\n', out);
}

/* ---- the table --------------------------------------------------------------------------------------------- */

static void put_percent(FILE *out, double frac)
{
    if (frac > 0 || frac < 0)
        fprintf(out, " %7.1f", 100 * frac);
    else
        fprintf(out, " %7s", "-");
}

static void put_parameters(FILE *out, const llmperf_engine_part *part)
{
    for (int k = 0; k < LLMPERF_ENGINE_PARAM_COUNT; k++) {
        const char *name = llmperf_engine_param_name((llmperf_engine_param)k);
        if (part->error[k] > 0)
            fprintf(out, "    %-22s %11.4g +- %.0f %%%s\n", name, part->param[k],
                    100 * part->error[k], part->fitted & 1u << k ? "" : "  (by like devices)");
    }
    fprintf(out, "    %-22s %11.3g decode, %.3g prefill\n", "residual", part->decode_residual,
            part->prefill_residual);
}

void llmperf_write_engine_fit(FILE *out, const llmperf_engine *engine, bool parameters)
{
    if (!out || !engine)
        return;
    fprintf(out, "%-24s %6s %6s %7s %7s %7s %7s %7s %8s %8s %8s %8s\n", "median errors in %",
            "rows", "models", "fit", "mean", "P90", "bias", "unseen", "in 90 %", "held-out",
            "roofline", "constant");
    for (int i = 0; i < engine->part_count; i++) {
        const llmperf_engine_part *part = &engine->part[i];
        const llmperf_engine_quality *q = &part->quality;
        char name[LLMPERF_NAME_MAX + 16];
        snprintf(name, sizeof name, "%s%s", part->hw, part->serving ? ", served" : "");
        fprintf(out, "%-24s %6lld %6lld", name, (long long)q->rows, (long long)q->models);
        put_percent(out, q->median_frac);
        put_percent(out, q->mean_frac);
        put_percent(out, q->p90_frac);
        put_percent(out, q->bias_frac);
        put_percent(out, q->unseen_median_frac);
        put_percent(out, q->unseen_coverage_frac);
        fputc(' ', out);
        put_percent(out, q->unseen_part_frac);
        fputc(' ', out);
        put_percent(out, q->roofline_frac);
        fputc(' ', out);
        put_percent(out, q->constant_frac);
        fputc('\n', out);
        if (q->refused > 0)
            fprintf(out, "  left out: %lld faster than the roofline\n", (long long)q->refused);
        if (part->remarks[0])
            fprintf(out, "  %s\n", part->remarks);
        if (parameters)
            put_parameters(out, part);
    }
}
