/* SPDX-License-Identifier: MIT */
/*
 * SGLang: bench_one_batch (one static batch: the closest of all formats to what is predicted) and
 * bench_serving, both JSON lines.
 *   units:  one_batch in seconds, serving *_ms in milliseconds
 *   source: sgl-project/sglang python/sglang/benchmark/{one_batch,serving}.py @02f0c2a0
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record.h"

/* ---- one batch ------------------------------------------------------------------------------------------ */

static bool is_one_batch(const json_t *object)
{
    return json_object_get(object, "prefill_latency") && json_object_get(object, "batch_size");
}

static llmperf_status read_one_batch(record *rec)
{
    static const struct {
        const char *key;
        llmperf_metric metric;
    } metrics[] = {
        {"prefill_latency", LLMPERF_METRIC_TTFT},
        {"median_decode_latency", LLMPERF_METRIC_TPOT}, /* absent for one token */
        {"total_latency", LLMPERF_METRIC_E2E},
    };
    llmperf_run run = results_run(rec->r, rec->line);
    llmperf_status status = LLMPERF_OK;
    snprintf(run.engine, sizeof run.engine, "sglang");
    record_text(json_object_get(rec->object, "run_name"), run.source, sizeof run.source);
    run.batch = record_count(rec, "batch_size");
    run.prompt = record_fact(rec, "input_len");
    run.generate = record_fact(rec, "output_len");
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics && status == LLMPERF_OK; i++)
        status = record_metric(rec, &run, metrics[i].metric,
                               json_object_get(rec->object, metrics[i].key), metrics[i].key, 1);
    return status;
}

const json_format SGLANG_ONE_BATCH = {
    .name = "SGLang one_batch",
    .matches = is_one_batch,
    .read = read_one_batch,
};

/* ---- serving -------------------------------------------------------------------------------------------- */

static bool is_serving(const json_t *object)
{
    return json_object_get(object, "mean_e2e_latency_ms") ||
           json_object_get(object, "total_output_tokens_retokenized");
}

/* The server's own settings, where it was asked for them. */
static void take_server(record *rec, llmperf_run *run)
{
    const json_t *info = record_at(rec->object, "server_info", NULL);
    char quantization[32];
    record_text(json_object_get(info, "model_path"), run->model, sizeof run->model);
    record_text(json_object_get(info, "version"), run->engine_version, sizeof run->engine_version);
    record_text(json_object_get(info, "dtype"), run->act_dtype, sizeof run->act_dtype);
    record_text(json_object_get(info, "kv_cache_dtype"), run->kv_dtype, sizeof run->kv_dtype);
    record_text(json_object_get(info, "quantization"), quantization, sizeof quantization);
    record_quantised(run, quantization);
    run->tp = (int64_t)record_number(rec, json_object_get(info, "tp_size"), "tp_size");
    run->pp = (int64_t)record_number(rec, json_object_get(info, "pp_size"), "pp_size");
    run->ep = (int64_t)record_number(rec, json_object_get(info, "ep_size"), "ep_size");
    run->dp = (int64_t)record_number(rec, json_object_get(info, "dp_size"), "dp_size");
    snprintf(rec->label, sizeof rec->label, "%s", run->model);
}

static llmperf_status serving_metrics(record *rec, const llmperf_run *run)
{
    static const struct {
        const char *quantity;
        llmperf_metric metric;
    } times[] = {{"ttft", LLMPERF_METRIC_TTFT},
                 {"tpot", LLMPERF_METRIC_TPOT},
                 {"e2e_latency", LLMPERF_METRIC_E2E}};
    llmperf_status status = LLMPERF_OK;
    bool median = rec->r->options && rec->r->options->median;
    for (size_t i = 0; i < sizeof times / sizeof *times && status == LLMPERF_OK; i++) {
        char key[64], spread[64];
        llmperf_run one = *run;
        snprintf(key, sizeof key, "%s_%s_ms", median ? "median" : "mean", times[i].quantity);
        snprintf(spread, sizeof spread, "std_%s_ms", times[i].quantity);
        one.spread = 1e-3 * record_fact(rec, spread);
        status =
            record_metric(rec, &one, times[i].metric, json_object_get(rec->object, key), key, 1e-3);
    }
    if (status == LLMPERF_OK)
        status = record_metric(rec, run, LLMPERF_METRIC_OUTPUT_RATE,
                               json_object_get(rec->object, "output_throughput"),
                               "output_throughput", 1);
    if (status == LLMPERF_OK)
        status =
            record_metric(rec, run, LLMPERF_METRIC_TOTAL_RATE,
                          json_object_get(rec->object, "total_throughput"), "total_throughput", 1);
    return status;
}

static llmperf_status read_serving(record *rec)
{
    llmperf_run run = results_run(rec->r, rec->line);
    record_text(json_object_get(rec->object, "backend"), run.engine, sizeof run.engine);
    take_server(rec, &run);
    run.kind = LLMPERF_RUN_SERVING;
    run.batch = record_count(rec, "max_concurrency");
    run.rate_per_s = record_rate(rec, json_object_get(rec->object, "request_rate"), "request_rate");
    if (run.batch == 0 && isinf(run.rate_per_s))
        run.kind = LLMPERF_RUN_OFFLINE;
    run.requests = record_count(rec, "completed");
    double prompts = record_fact(rec, "total_input_tokens");
    double outputs = record_fact(rec, "total_output_tokens");
    if (record_fact(rec, "accept_length") > 0)
        return results_leave_out(rec->r, rec->line, rec->label,
                                 "accept_length: speculative decoding is not told apart");
    if (rec->bad)
        return LLMPERF_OK;
    if (run.requests == 0)
        return results_leave_out(rec->r, rec->line, rec->label, "no request completed");
    run.prompt = prompts / (double)run.requests;
    run.generate = outputs / (double)run.requests;
    return serving_metrics(rec, &run);
}

const json_format SGLANG_SERVING = {
    .name = "SGLang serving",
    .matches = is_serving,
    .read = read_serving,
};
