/* SPDX-License-Identifier: MIT */
/*
 * GenAI-Perf and AIPerf: the summary (profile_export_genai_perf.json, profile_export_aiperf.json) and
 * AIPerf's requests one by one (profile_export.jsonl), which make one run together.
 *   units:  each metric names its own (ms, us, ns, sec, tokens/sec); numbers may be texts
 *   source: ai-dynamo/aiperf src/aiperf/common/models/export_models.py, triton-inference-server
 *           perf_analyzer/genai-perf
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record.h"

/* What makes a number of this unit SI; 0 = not known. */
static double scale_of(const char *unit)
{
    static const struct {
        const char *unit;
        double scale;
    } units[] = {
        {"ms", 1e-3},
        {"milliseconds", 1e-3},
        {"us", 1e-6},
        {"microseconds", 1e-6},
        {"ns", 1e-9},
        {"nanoseconds", 1e-9},
        {"s", 1},
        {"sec", 1},
        {"seconds", 1},
        {"tokens/sec", 1},
        {"tokens/second", 1},
        {"tokens/s", 1},
        {"tokens", 1},
        {"requests", 1},
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].unit, unit) == 0)
            return units[i].scale;
    return 0;
}

static const char *unit_of(const json_t *metric)
{
    const char *unit = json_string_value(json_object_get(metric, "unit"));
    return unit ? unit : "";
}

/* The first of the spellings that versions use. */
static const json_t *spelled(const json_t *object, const char *const *names)
{
    const json_t *found = NULL;
    for (int i = 0; names[i] && !found; i++)
        found = record_at(object, names[i], NULL);
    return json_is_object(found) ? found : NULL;
}

static const char *const TTFT[] = {"time_to_first_token", "ttft", NULL};
static const char *const ITL[] = {"inter_token_latency", "itl", NULL};
static const char *const LATENCY[] = {"request_latency", NULL};
static const char *const INPUT[] = {"input_sequence_length", "isl", "num_input_token", NULL};
static const char *const OUTPUT[] = {"output_sequence_length", "osl", "num_output_token",
                                     "output_token_count", NULL};
static const char *const OUTPUT_RATE[] = {"output_token_throughput", NULL};

typedef struct quantity {
    const char *const *names;
    llmperf_metric metric;
    bool rate;
} quantity;

static const quantity QUANTITIES[] = {
    {TTFT, LLMPERF_METRIC_TTFT, false},
    {ITL, LLMPERF_METRIC_TPOT, false},
    {LATENCY, LLMPERF_METRIC_E2E, false},
    {OUTPUT_RATE, LLMPERF_METRIC_OUTPUT_RATE, true},
};

/* ---- the summary ---------------------------------------------------------------------------------------- */

static bool is_summary(const json_t *object)
{
    return json_object_get(spelled(object, LATENCY), "avg") ||
           json_object_get(spelled(object, TTFT), "avg");
}

/* A member of an array of one, or the value itself. */
static const json_t *only(const json_t *value)
{
    return json_is_array(value) && json_array_size(value) == 1 ? json_array_get(value, 0) : value;
}

/* The input's settings: their layout changes with the versions, the names of the leaves do not. */
static void take_config(record *rec, llmperf_run *run)
{
    static const char *const model[] = {"model_names", "model_name", "model", NULL};
    static const char *const backend[] = {"backend", NULL};
    static const char *const concurrency[] = {"concurrency", NULL};
    static const char *const rate[] = {"request_rate", NULL};
    const json_t *config = record_at(rec->object, "input_config", NULL);
    run->kind = LLMPERF_RUN_SERVING;
    record_text(only(record_search(config, model)), run->model, sizeof run->model);
    record_text(record_search(config, backend), run->engine, sizeof run->engine);
    run->batch =
        (int64_t)record_number(rec, only(record_search(config, concurrency)), "concurrency");
    run->rate_per_s = record_rate(rec, only(record_search(config, rate)), "request_rate");
    snprintf(rec->label, sizeof rec->label, "%s", run->model);
}

static llmperf_status summary_metric(record *rec, const llmperf_run *run, const quantity *q)
{
    const json_t *metric = spelled(rec->object, q->names);
    llmperf_run one = *run;
    bool median = !q->rate && rec->r->options && rec->r->options->median;
    double scale = scale_of(unit_of(metric));
    if (!metric)
        return LLMPERF_OK;
    if (scale == 0)
        return results_leave_out(rec->r, rec->line, rec->label,
                                 "%s: unit '%.20s' is not known; ms, us, ns, sec, tokens/sec are "
                                 "allowed",
                                 q->names[0], unit_of(metric));
    one.spread = scale * record_number(rec, json_object_get(metric, "std"), "std");
    return record_metric(rec, &one, q->metric, json_object_get(metric, median ? "p50" : "avg"),
                         q->names[0], scale);
}

static llmperf_status read_summary(record *rec)
{
    llmperf_run run = results_run(rec->r, rec->line);
    llmperf_status status = LLMPERF_OK;
    take_config(rec, &run);
    run.prompt = record_number(rec, json_object_get(spelled(rec->object, INPUT), "avg"), INPUT[0]);
    run.generate =
        record_number(rec, json_object_get(spelled(rec->object, OUTPUT), "avg"), OUTPUT[0]);
    run.requests = (int64_t)record_number(rec, record_at(rec->object, "request_count", "avg"),
                                          "request_count");
    if (json_is_true(json_object_get(rec->object, "was_cancelled")))
        return results_leave_out(rec->r, rec->line, rec->label, "the run was cancelled");
    if (rec->bad)
        return LLMPERF_OK;
    for (size_t i = 0; i < sizeof QUANTITIES / sizeof *QUANTITIES && status == LLMPERF_OK; i++)
        status = summary_metric(rec, &run, &QUANTITIES[i]);
    return status;
}

const json_format AIPERF = {
    .name = "AIPerf, GenAI-Perf",
    .matches = is_summary,
    .read = read_summary,
};

/* ---- requests one by one -------------------------------------------------------------------------------- */

static bool is_request(const json_t *object)
{
    return json_is_object(json_object_get(object, "metadata")) &&
           json_is_object(json_object_get(object, "metrics"));
}

/* Its value in SI units; false where it is missing or no number. */
static bool request_value(record *rec, const char *const *names, double *ret_value)
{
    const json_t *metric = spelled(json_object_get(rec->object, "metrics"), names);
    double scale = scale_of(unit_of(metric));
    double value = record_number(rec, json_object_get(metric, "value"), names[0]);
    *ret_value = scale * value;
    return metric && scale > 0 && value > 0 && !rec->bad;
}

static llmperf_status read_request(record *rec)
{
    results_requests *sums = &rec->r->requests;
    const char *phase = json_string_value(record_at(rec->object, "metadata", "benchmark_phase"));
    double prompt = 0, generate = 0, value = 0;
    if (phase && strcmp(phase, "profiling") != 0)
        return LLMPERF_OK; /* warm-up */
    if (record_at(rec->object, "error", NULL))
        return results_leave_out(rec->r, rec->line, rec->label, "the request failed");
    if (!request_value(rec, INPUT, &prompt) || !request_value(rec, OUTPUT, &generate))
        return rec->bad ? LLMPERF_OK
                        : results_leave_out(rec->r, rec->line, rec->label,
                                            "the lengths of the request are missing");
    if (sums->count == 0)
        sums->line = rec->line;
    sums->count++;
    sums->prompt += prompt;
    sums->generate += generate;
    for (size_t i = 0; i < 3; i++)
        if (request_value(rec, QUANTITIES[i].names, &value)) {
            sums->value[i] += value;
            sums->values[i]++;
        }
    return LLMPERF_OK;
}

/* One run of all requests: their means. */
static llmperf_status finish_requests(results *r)
{
    const results_requests *sums = &r->requests;
    llmperf_status status = LLMPERF_OK;
    if (sums->count == 0)
        return LLMPERF_OK;
    llmperf_run run = results_run(r, sums->line);
    run.kind = LLMPERF_RUN_SERVING;
    run.requests = sums->count;
    run.prompt = sums->prompt / (double)sums->count;
    run.generate = sums->generate / (double)sums->count;
    for (size_t i = 0; i < 3 && status == LLMPERF_OK; i++)
        if (sums->values[i] > 0)
            status = results_add(r, &run, QUANTITIES[i].metric,
                                 sums->value[i] / (double)sums->values[i]);
    return status;
}

const json_format AIPERF_REQUESTS = {
    .name = "AIPerf requests",
    .matches = is_request,
    .read = read_request,
    .finish = finish_requests,
};
