/* SPDX-License-Identifier: MIT */
/* What rows are called, what they are grouped by, and which facts they lack. */
#include <stdio.h>
#include <string.h>

#include "join.h"

void missing_facts(const llmperf_run *run, bool model, bool hw, char *buffer, size_t size)
{
    bool prefill = run->metric == LLMPERF_METRIC_PREFILL_RATE ||
                   (run->metric == LLMPERF_METRIC_TTFT && run->kind == LLMPERF_RUN_STATIC);
    const struct {
        const char *option;
        bool missing;
    } facts[] = {
        {"--model", !model},
        {"--hw", !hw},
        {"--batch", run->batch == 0 && run->kind != LLMPERF_RUN_OFFLINE},
        {"--prompt", run->prompt == 0 && (prefill || !run->has_depth)},
        {"--generate", run->generate == 0 && !prefill},
    };
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].missing && used < size)
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
                                     facts[i].option);
}

static const char *short_metric(llmperf_metric metric)
{
    switch (metric) {
    case LLMPERF_METRIC_E2E:
        return "e2e";
    case LLMPERF_METRIC_TTFT:
        return "TTFT";
    case LLMPERF_METRIC_TPOT:
        return "TPOT";
    case LLMPERF_METRIC_DECODE_RATE:
        return "decode tok/s";
    case LLMPERF_METRIC_PREFILL_RATE:
        return "prefill tok/s";
    case LLMPERF_METRIC_OUTPUT_RATE:
        return "output tok/s";
    case LLMPERF_METRIC_TOTAL_RATE:
        return "all tok/s";
    case LLMPERF_METRIC_MEMORY:
        return "memory";
    case LLMPERF_METRIC_NONE:
    case LLMPERF_METRIC_COUNT:
        break;
    }
    return "?";
}

void label_of(const llmperf_run *run, char *buffer, size_t size)
{
    char depth[40] = "", tp[24] = "";
    if (run->depth > 0)
        snprintf(depth, sizeof depth, "%.0f:", run->depth);
    if (run->tp > 1)
        snprintf(tp, sizeof tp, " tp %lld", (long long)run->tp);
    snprintf(buffer, size, "%.40s%s%.12s %c %lld %s%.0f+%.0f%s %s",
             run->model[0] ? run->model : "?", run->weight_dtype[0] ? " " : "", run->weight_dtype,
             run->kind != LLMPERF_RUN_STATIC ? 'c' : 'b', (long long)run->batch, depth, run->prompt,
             run->generate, tp, short_metric(run->metric));
}

/* ---- groups -------------------------------------------------------------------------------------------- */

enum { GROUP_COUNT = 11 };

static const char *const GROUPS[GROUP_COUNT + 1] = {"engine", "version", "gpu",  "model",
                                                    "dtype",  "metric",  "tp",   "batch",
                                                    "input",  "output",  "file", NULL};

const char *const *llmperf_join_groups(void)
{
    return GROUPS;
}

static int group_index(const char *word)
{
    int i = 0;
    while (i < GROUP_COUNT && strcmp(GROUPS[i], word) != 0)
        i++;
    return i;
}

llmperf_status check_groups(const char *const *words, llmperf_error *error)
{
    for (int i = 0; words && words[i]; i++) {
        if (group_index(words[i]) < GROUP_COUNT)
            continue;
        const char *near = llmperf_nearest(words[i], GROUPS);
        return llmperf_fail(error, LLMPERF_E_USAGE, "rows are not grouped by '%s'%s%s%s", words[i],
                            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return LLMPERF_OK;
}

void group_of(const llmperf_join_options *options, const llmperf_run *run, const char *metric,
              char *buffer, size_t size)
{
    static const char *const BY_DEFAULT[] = {"engine", "gpu", "metric", NULL};
    const char *const *words = options->group_by ? options->group_by : BY_DEFAULT;
    char batch[24], prompt[24], generate[24], tp[24];
    size_t used = 0;
    snprintf(batch, sizeof batch, "batch %lld", (long long)run->batch);
    snprintf(prompt, sizeof prompt, "input %.0f", run->prompt);
    snprintf(generate, sizeof generate, "output %.0f", run->generate);
    snprintf(tp, sizeof tp, "tp %lld", (long long)(run->tp > 0 ? run->tp : 1));
    const char *const texts[GROUP_COUNT] = {run->engine,
                                            run->engine_version,
                                            run->gpu,
                                            run->model,
                                            run->weight_dtype,
                                            metric,
                                            tp,
                                            batch,
                                            prompt,
                                            generate,
                                            run->file};
    buffer[0] = '\0';
    for (int i = 0; words[i] && used < size; i++) {
        const char *text = texts[group_index(words[i])]; /* all were checked */
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
                                 text[0] ? text : "?");
    }
}
