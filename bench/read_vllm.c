/* SPDX-License-Identifier: MIT */
/*
 * vLLM: `vllm bench serve` (also detailed, appended, and the older benchmark_serving.py), `bench
 * latency` and `bench throughput`.
 *   units:  *_ms in milliseconds, arrays and latency files in seconds
 *   source: vllm/benchmarks/{serve,latency,throughput}.py @009e6d4a
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record.h"

/* The first of several keys that is there; NULL = none. */
static const json_t *first_of(const json_t *object, const char *const *keys)
{
    const json_t *value = NULL;
    for (int i = 0; keys[i] && !value; i++)
        value = record_at(object, keys[i], NULL);
    return value;
}

/* Facts that `--metadata K=V` may have added, under the names that people use. */
static void take_metadata(record *rec, llmperf_run *run)
{
    static const char *const gpu[] = {"gpu", "gpu_name", "hardware", "accelerator", NULL};
    static const char *const dtype[] = {"dtype", NULL};
    static const char *const quantization[] = {"quantization", "weight_dtype", NULL};
    static const char *const kv[] = {"kv_cache_dtype", "kv_dtype", NULL};
    static const char *const tp[] = {"tensor_parallel_size", "tp_size", "tp", NULL};
    static const char *const pp[] = {"pipeline_parallel_size", "pp_size", "pp", NULL};
    static const char *const version[] = {"vllm_version", "engine_version", NULL};
    record_text(first_of(rec->object, gpu), run->gpu, sizeof run->gpu);
    record_text(first_of(rec->object, dtype), run->act_dtype, sizeof run->act_dtype);
    record_text(first_of(rec->object, quantization), run->weight_dtype, sizeof run->weight_dtype);
    record_text(first_of(rec->object, kv), run->kv_dtype, sizeof run->kv_dtype);
    record_text(first_of(rec->object, version), run->engine_version, sizeof run->engine_version);
    run->tp = (int64_t)record_number(rec, first_of(rec->object, tp), "tensor_parallel_size");
    run->pp = (int64_t)record_number(rec, first_of(rec->object, pp), "pipeline_parallel_size");
    record_quantised(run, run->weight_dtype);
}

/* The engine, where the backend names one: "openai" is a protocol. */
static void take_engine(record *rec, llmperf_run *run)
{
    record_text(json_object_get(rec->object, "backend"), run->engine, sizeof run->engine);
    if (strncmp(run->engine, "openai", 6) == 0)
        run->engine[0] = '\0';
}

/* Tokens of a request: the mean of what each had, else the sum over those that completed. */
static double tokens_each(record *rec, const char *each, const char *sum)
{
    double mean = record_mean(json_object_get(rec->object, each));
    double completed = record_fact(rec, "completed"), total = record_fact(rec, sum);
    if (mean > 0)
        return mean;
    return completed > 0 ? total / completed : 0;
}

/* Adds what `bench serve` says of one quantity, such as "ttft". */
static llmperf_status serve_metric(record *rec, const llmperf_run *run, const char *quantity,
                                   llmperf_metric metric)
{
    char key[64], spread[64];
    llmperf_run one = *run;
    bool median = rec->r->options && rec->r->options->median;
    snprintf(key, sizeof key, "%s_%s_ms", median ? "median" : "mean", quantity);
    snprintf(spread, sizeof spread, "std_%s_ms", quantity);
    one.spread = 1e-3 * record_fact(rec, spread);
    return record_metric(rec, &one, metric, json_object_get(rec->object, key), key, 1e-3);
}

static llmperf_status serve_metrics(record *rec, const llmperf_run *run)
{
    const json_t *output = json_object_get(rec->object, "output_throughput");
    const json_t *total = json_object_get(rec->object, "total_token_throughput");
    llmperf_status status = serve_metric(rec, run, "ttft", LLMPERF_METRIC_TTFT);
    if (status == LLMPERF_OK)
        status = serve_metric(rec, run, "tpot", LLMPERF_METRIC_TPOT);
    if (status == LLMPERF_OK)
        status = serve_metric(rec, run, "e2el", LLMPERF_METRIC_E2E);
    if (status == LLMPERF_OK)
        status =
            record_metric(rec, run, LLMPERF_METRIC_OUTPUT_RATE, output, "output_throughput", 1);
    if (status == LLMPERF_OK)
        status =
            record_metric(rec, run, LLMPERF_METRIC_TOTAL_RATE, total, "total_token_throughput", 1);
    return status;
}

static bool is_serve(const json_t *object)
{
    return json_object_get(object, "request_throughput") && json_object_get(object, "model_id");
}

static llmperf_status read_serve(record *rec)
{
    llmperf_run run = results_run(rec->r, rec->line);
    record_text(json_object_get(rec->object, "model_id"), run.model, sizeof run.model);
    snprintf(rec->label, sizeof rec->label, "%s", run.model);
    take_engine(rec, &run);
    take_metadata(rec, &run);
    run.kind = LLMPERF_RUN_SERVING;
    run.batch = record_count(rec, "max_concurrency");
    run.rate_per_s = record_rate(rec, json_object_get(rec->object, "request_rate"), "request_rate");
    if (run.batch == 0 && isinf(run.rate_per_s))
        run.kind = LLMPERF_RUN_OFFLINE;
    run.requests = record_count(rec, "completed");
    run.prompt = tokens_each(rec, "input_lens", "total_input_tokens");
    run.generate = tokens_each(rec, "output_lens", "total_output_tokens");
    if (rec->bad)
        return LLMPERF_OK;
    if (run.requests == 0)
        return results_leave_out(rec->r, rec->line, rec->label, "no request completed");
    return serve_metrics(rec, &run);
}

const json_format VLLM_SERVE = {
    .name = "vLLM serve",
    .matches = is_serve,
    .read = read_serve,
};

/* ---- latency: one batch; its size and lengths are not in the file -------------------------------------- */

static bool is_latency(const json_t *object)
{
    return json_object_get(object, "avg_latency") && json_object_get(object, "percentiles");
}

static llmperf_status read_latency(record *rec)
{
    llmperf_run run = results_run(rec->r, rec->line);
    bool median = rec->r->options && rec->r->options->median;
    const json_t *value = median ? record_at(rec->object, "percentiles", "50")
                                 : json_object_get(rec->object, "avg_latency");
    snprintf(run.engine, sizeof run.engine, "vllm");
    run.spread = record_fact(rec, "std_latency");
    return record_metric(rec, &run, LLMPERF_METRIC_E2E, value,
                         median ? "percentiles.50" : "avg_latency", 1);
}

const json_format VLLM_LATENCY = {
    .name = "vLLM latency",
    .matches = is_latency,
    .read = read_latency,
};

/* ---- throughput: all requests at once; tokens_per_second counts prompts too ----------------------------- */

static bool is_throughput(const json_t *object)
{
    return json_object_get(object, "elapsed_time") && json_object_get(object, "tokens_per_second");
}

static llmperf_status read_throughput(record *rec)
{
    llmperf_run run = results_run(rec->r, rec->line);
    snprintf(run.engine, sizeof run.engine, "vllm");
    run.kind = LLMPERF_RUN_OFFLINE;
    run.rate_per_s = INFINITY;
    run.requests = record_count(rec, "num_requests");
    return record_metric(rec, &run, LLMPERF_METRIC_TOTAL_RATE,
                         json_object_get(rec->object, "tokens_per_second"), "tokens_per_second", 1);
}

const json_format VLLM_THROUGHPUT = {
    .name = "vLLM throughput",
    .matches = is_throughput,
    .read = read_throughput,
};
