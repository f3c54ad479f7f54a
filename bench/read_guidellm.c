/* SPDX-License-Identifier: MIT */
/*
 * GuideLLM: benchmarks.json, one benchmark for each load that was tried.
 *   units:  request_latency in seconds, *_ms in milliseconds; of successful requests alone
 *   TPOT is inter_token_latency_ms: its time_per_output_token_ms counts the first token in
 *   source: vllm-project/guidellm src/guidellm/benchmark/schemas
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record.h"

static bool is_guidellm(const json_t *object)
{
    const json_t *first = json_array_get(json_object_get(object, "benchmarks"), 0);
    return json_is_object(json_object_get(first, "metrics"));
}

/* Statistics of one quantity over the requests that succeeded. */
static const json_t *statistic(const json_t *benchmark, const char *quantity, const char *name)
{
    const json_t *metrics = json_object_get(benchmark, "metrics");
    return json_object_get(record_at(metrics, quantity, "successful"), name);
}

/* How the load was offered: versions put it in different places. */
static void take_load(record *rec, const json_t *benchmark, llmperf_run *run)
{
    const json_t *strategy = record_at(benchmark, "config", "strategy");
    char type[32];
    if (!strategy)
        strategy = record_at(benchmark, "args", "strategy");
    record_text(json_object_get(strategy, "type_"), type, sizeof type);
    const json_t *streams = record_at(strategy, "streams", NULL);
    run->kind = LLMPERF_RUN_SERVING;
    run->rate_per_s = record_number(rec, json_object_get(strategy, "rate"), "strategy.rate");
    if (strcmp(type, "synchronous") == 0)
        run->batch = 1;
    else if (streams)
        run->batch = (int64_t)record_number(rec, streams, "strategy.streams");
    else /* requests in flight on average */
        run->batch = (int64_t)llround(record_number(
            rec, statistic(benchmark, "request_concurrency", "mean"), "request_concurrency"));
}

static llmperf_status metrics(record *rec, const json_t *benchmark, const llmperf_run *run)
{
    static const struct {
        const char *quantity;
        llmperf_metric metric;
        double scale;
        bool rate; /* means alone make sense */
    } rows[] = {
        {"time_to_first_token_ms", LLMPERF_METRIC_TTFT, 1e-3, false},
        {"inter_token_latency_ms", LLMPERF_METRIC_TPOT, 1e-3, false},
        {"request_latency", LLMPERF_METRIC_E2E, 1, false},
        {"output_tokens_per_second", LLMPERF_METRIC_OUTPUT_RATE, 1, true},
        {"tokens_per_second", LLMPERF_METRIC_TOTAL_RATE, 1, true},
    };
    llmperf_status status = LLMPERF_OK;
    bool median = rec->r->options && rec->r->options->median;
    for (size_t i = 0; i < sizeof rows / sizeof *rows && status == LLMPERF_OK; i++) {
        llmperf_run one = *run;
        const char *name = rows[i].quantity;
        if (!rows[i].rate)
            one.spread =
                rows[i].scale * record_number(rec, statistic(benchmark, name, "std_dev"), name);
        status =
            record_metric(rec, &one, rows[i].metric,
                          statistic(benchmark, name, median && !rows[i].rate ? "median" : "mean"),
                          name, rows[i].scale);
    }
    return status;
}

static llmperf_status read_benchmark(record *rec, const json_t *benchmark)
{
    static const char *const model[] = {"backend_model", "model", NULL};
    llmperf_run run = results_run(rec->r, rec->line);
    const json_t *name = record_search(json_object_get(rec->object, "args"), model);
    if (!name)
        name = record_search(json_object_get(benchmark, "worker"), model);
    record_text(name, run.model, sizeof run.model);
    rec->bad = false;
    take_load(rec, benchmark, &run);
    run.requests = (int64_t)record_number(rec, statistic(benchmark, "request_latency", "count"),
                                          "request_latency.count");
    run.prompt = record_number(rec, statistic(benchmark, "prompt_token_count", "mean"),
                               "prompt_token_count");
    run.generate = record_number(rec, statistic(benchmark, "output_token_count", "mean"),
                                 "output_token_count");
    if (rec->bad)
        return LLMPERF_OK;
    if (run.requests == 0)
        return results_leave_out(rec->r, rec->line, rec->label, "no request succeeded");
    return metrics(rec, benchmark, &run);
}

static llmperf_status read_guidellm(record *rec)
{
    size_t index;
    json_t *benchmark;
    llmperf_status status = LLMPERF_OK;
    json_array_foreach(json_object_get(rec->object, "benchmarks"), index, benchmark)
    {
        snprintf(rec->label, sizeof rec->label, "benchmark %zu", index + 1);
        if (status == LLMPERF_OK)
            status = read_benchmark(rec, benchmark);
    }
    return status;
}

const json_format GUIDELLM = {
    .name = "GuideLLM",
    .matches = is_guidellm,
    .read = read_guidellm,
};
