/* SPDX-License-Identifier: MIT */
/*
 * TensorRT-LLM: the report of `trtllm-bench throughput|latency --report_json`.
 *   source: NVIDIA/TensorRT-LLM tensorrt_llm/bench/dataclasses/{reporting,general,statistics}.py
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record.h"

static bool is_report(const json_t *object)
{
    return json_is_object(json_object_get(object, "engine")) &&
           json_is_object(json_object_get(object, "performance")) &&
           json_is_object(json_object_get(object, "request_info"));
}

static void take_engine(record *rec, llmperf_run *run)
{
    const json_t *engine = json_object_get(rec->object, "engine");
    const json_t *world = json_object_get(rec->object, "world_info");
    char quantization[32];
    snprintf(run->engine, sizeof run->engine, "tensorrt-llm");
    record_text(json_object_get(engine, "model"), run->model, sizeof run->model);
    record_text(json_object_get(engine, "version"), run->engine_version,
                sizeof run->engine_version);
    record_text(json_object_get(engine, "dtype"), run->act_dtype, sizeof run->act_dtype);
    record_text(json_object_get(engine, "kv_cache_dtype"), run->kv_dtype, sizeof run->kv_dtype);
    record_text(json_object_get(engine, "quantization"), quantization, sizeof quantization);
    record_quantised(run, quantization);
    record_text(record_at(rec->object, "machine", "name"), run->gpu, sizeof run->gpu);
    run->tp = (int64_t)record_number(rec, json_object_get(world, "tp_size"), "tp_size");
    run->pp = (int64_t)record_number(rec, json_object_get(world, "pp_size"), "pp_size");
    run->ep = (int64_t)record_number(rec, json_object_get(world, "ep_size"), "ep_size");
    run->devices = (int64_t)record_number(rec, json_object_get(world, "world_size"), "world_size");
    snprintf(rec->label, sizeof rec->label, "%s", run->model);
}

/* A time in milliseconds: its mean, or the median where that is asked for. */
static llmperf_status time_metric(record *rec, const llmperf_run *run, llmperf_metric metric,
                                  const char *group, const char *mean, const char *percentiles)
{
    const json_t *members = json_object_get(rec->object, group);
    const json_t *median = record_at(members, percentiles, "p50");
    bool wanted = rec->r->options && rec->r->options->median;
    return wanted ? record_metric(rec, run, metric, median, percentiles, 1e-3)
                  : record_metric(rec, run, metric, json_object_get(members, mean), mean, 1e-3);
}

static llmperf_status metrics(record *rec, const llmperf_run *run)
{
    const json_t *performance = json_object_get(rec->object, "performance");
    const json_t *output = json_object_get(performance, "system_output_throughput_tok_s");
    const json_t *total = json_object_get(performance, "system_total_throughput_tok_s");
    llmperf_status status = time_metric(rec, run, LLMPERF_METRIC_TTFT, "streaming_metrics",
                                        "avg_ttft_ms", "ttft_percentiles");
    if (status == LLMPERF_OK)
        status = time_metric(rec, run, LLMPERF_METRIC_TPOT, "streaming_metrics", "avg_tpot_ms",
                             "tpot_percentiles");
    if (status == LLMPERF_OK)
        status = time_metric(rec, run, LLMPERF_METRIC_E2E, "performance", "avg_request_latency_ms",
                             "request_latency_percentiles_ms");
    if (status == LLMPERF_OK)
        status = record_metric(rec, run, LLMPERF_METRIC_OUTPUT_RATE, output,
                               "system_output_throughput_tok_s", 1);
    if (status == LLMPERF_OK)
        status = record_metric(rec, run, LLMPERF_METRIC_TOTAL_RATE, total,
                               "system_total_throughput_tok_s", 1);
    return status;
}

static llmperf_status read_report(record *rec)
{
    llmperf_run run = results_run(rec->r, rec->line);
    const json_t *requests = json_object_get(rec->object, "request_info");
    take_engine(rec, &run);
    run.kind = LLMPERF_RUN_SERVING;
    /* in flight on average, as Little's law has it */
    run.batch = (int64_t)llround(
        record_number(rec, json_object_get(requests, "avg_num_concurrent_requests"),
                      "avg_num_concurrent_requests"));
    run.requests =
        (int64_t)record_number(rec, json_object_get(requests, "num_requests"), "num_requests");
    run.prompt =
        record_number(rec, json_object_get(requests, "avg_input_length"), "avg_input_length");
    run.generate =
        record_number(rec, json_object_get(requests, "avg_output_length"), "avg_output_length");
    if (rec->bad)
        return LLMPERF_OK;
    if (json_is_object(json_object_get(rec->object, "decoding_stats")))
        return results_leave_out(rec->r, rec->line, rec->label,
                                 "decoding_stats: speculative decoding is not told apart");
    return metrics(rec, &run);
}

const json_format TRTLLM_REPORT = {
    .name = "TensorRT-LLM report",
    .matches = is_report,
    .read = read_report,
};
