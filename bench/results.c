/* SPDX-License-Identifier: MIT */
/* What the readers of result files share. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "readers.h"

void results_name(char *to, size_t size, const char *text)
{
    llmperf_escape(text ? text : "", to, size);
}

llmperf_status results_leave_out(results *r, int64_t line, const char *label, const char *format,
                                 ...)
{
    char raw[LLMPERF_TEXT_MAX], why[LLMPERF_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(raw, sizeof raw, format, arguments);
    va_end(arguments);
    llmperf_escape(raw, why, sizeof why);
    if (r->left_out++ == 0)
        snprintf(r->first_why, sizeof r->first_why, "%lld: %.350s", (long long)line, why);
    if (r->options && r->options->visit)
        r->options->visit(r->file, line, label, why, r->options->context);
    return LLMPERF_OK;
}

llmperf_run results_run(const results *r, int64_t line)
{
    llmperf_run run = {.line = line};
    snprintf(run.file, sizeof run.file, "%s", r->file);
    return run;
}

llmperf_status results_add(results *r, const llmperf_run *run, llmperf_metric metric, double value)
{
    llmperf_run complete = *run;
    const char *name = llmperf_metric_name(metric);
    if (!isfinite(value) || value <= 0 || value > 1e18)
        return results_leave_out(r, run->line, run->model, "%s is %g; above zero is allowed",
                                 name ? name : "the metric", value);
    complete.metric = metric;
    complete.value = value;
    return llmperf_runs_add(r->runs, &complete, r->error);
}

const char *results_renamed(const results *r, const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; r->options && r->options->map && r->options->map[i]; i++) {
        const char *rule = r->options->map[i];
        if (strncmp(rule, name, length) == 0 && rule[length] == '=')
            return rule + length + 1;
    }
    return NULL;
}
