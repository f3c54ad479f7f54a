/* SPDX-License-Identifier: MIT */
/* Measurements of whole engines, and what the model says of the same workload. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "llmperf/runs.h"

const char *llmperf_metric_name(llmperf_metric metric)
{
    static const char *const NAMES[LLMPERF_METRIC_COUNT] = {
        [LLMPERF_METRIC_E2E] = "e2e_s",
        [LLMPERF_METRIC_TTFT] = "ttft_s",
        [LLMPERF_METRIC_TPOT] = "tpot_s",
        [LLMPERF_METRIC_DECODE_RATE] = "decode_tokens_per_s",
        [LLMPERF_METRIC_PREFILL_RATE] = "prefill_tokens_per_s",
        [LLMPERF_METRIC_OUTPUT_RATE] = "output_tokens_per_s",
        [LLMPERF_METRIC_TOTAL_RATE] = "total_tokens_per_s",
        [LLMPERF_METRIC_MEMORY] = "memory_bytes",
    };
    return (unsigned)metric < LLMPERF_METRIC_COUNT ? NAMES[metric] : NULL;
}

llmperf_status llmperf_runs_add(llmperf_runs *runs, const llmperf_run *run, llmperf_error *error)
{
    if (runs->count == runs->capacity) {
        int64_t capacity = runs->capacity ? 2 * runs->capacity : 64;
        llmperf_run *grown = realloc(runs->run, (size_t)capacity * sizeof *grown);
        if (!grown)
            return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
        runs->run = grown;
        runs->capacity = capacity;
    }
    runs->run[runs->count++] = *run;
    return LLMPERF_OK;
}

void llmperf_runs_free(llmperf_runs *runs)
{
    if (!runs)
        return;
    free(runs->run);
    *runs = (llmperf_runs){0};
}

llmperf_status llmperf_run_model(const llmperf_run *run, llmperf_model *ret_model,
                                 llmperf_error *error)
{
    const llmperf_run_shape *s = &run->shape;
    int64_t head_dim = s->heads > 0 ? s->hidden / s->heads : 0;
    llmperf_model model = {
        .architecture = "by its dimensions",
        .hidden = s->hidden,
        .vocab = s->vocab,
        .embedding_dim = s->hidden,
        .final_norm = true,
        .dtype = LLMPERF_DTYPE_FP16,
        .layer_kind_count = 1,
        .layers = {{
            .count = s->layers,
            .norms = 2,
            .attention = {.heads = s->heads,
                          .kv_heads = s->kv_heads > 0 ? s->kv_heads : s->heads,
                          .head_dim = head_dim,
                          .value_dim = head_dim,
                          .rope = true},
            .mlp = {.ffn = s->ffn, .gated = true},
        }},
    };
    snprintf(model.name, sizeof model.name, "%s", run->model[0] ? run->model : "unnamed");
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        model.weight_dtype[i] = LLMPERF_DTYPE_FP16;
        model.weight_bits[i] = llmperf_dtype_bits(LLMPERF_DTYPE_FP16);
    }
    llmperf_status status = llmperf_model_check(&model, error);
    if (status == LLMPERF_OK)
        *ret_model = model;
    return status;
}

static bool is_prefill(const llmperf_run *run)
{
    return run->metric == LLMPERF_METRIC_PREFILL_RATE || run->metric == LLMPERF_METRIC_TTFT;
}

llmperf_status llmperf_run_workload(const llmperf_run *run, const llmperf_workload *base,
                                    llmperf_workload *ret_workload, llmperf_error *error)
{
    static const double LONGEST = 1 << 30;
    llmperf_workload w = *base;
    double prompt = round(run->depth + run->prompt), generate = round(run->generate);
    if (run->pp > 1 || run->ep > 1 || run->dp > 1)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "pipeline, expert and data parallelism are not predicted");
    if (!(prompt >= 0 && prompt <= LONGEST && generate >= 0 && generate <= LONGEST) ||
        run->batch > (int64_t)LONGEST)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "more than 2^30 tokens or sequences are not predicted");
    if (prompt < 1 && (is_prefill(run) || !run->has_depth))
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "the run has no prompt");
    bool chosen = run->batch < 1 && run->kind == LLMPERF_RUN_OFFLINE; /* by the engine */
    if ((run->batch < 1 && !chosen) || (generate < 1 && !is_prefill(run)))
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "the run has no %s",
                            run->batch < 1 ? "batch" : "generated tokens");
    w.batch = chosen ? 1 : run->batch;
    w.prompt = prompt < 1 ? 1 : (int64_t)prompt;
    w.generate = generate < 1 ? 1 : (int64_t)generate;
    w.cached = run->prompt >= 0.5 ? (int64_t)prompt - (int64_t)round(run->prompt) : 0;
    w.context = (int64_t)prompt + w.generate / 2;
    w.has_context = true;
    if (run->tp > 0)
        w.tp = run->tp;
    *ret_workload = w;
    return LLMPERF_OK;
}

/* A rate from a time: the longest time gives the lowest rate. */
static llmperf_estimate rate_of(llmperf_estimate time_s, double tokens)
{
    return (llmperf_estimate){.value = tokens / time_s.value,
                              .low = isinf(time_s.high) ? 0 : tokens / time_s.high,
                              .high = tokens / time_s.low};
}

llmperf_status llmperf_run_predict(const llmperf_case *c, const llmperf_run *run,
                                   llmperf_estimate *ret_estimate, llmperf_error *error)
{
    const llmperf_workload *w = &c->workload;
    double batch = (double)w->batch, prompt = (double)w->prompt, generate = (double)w->generate;
    llmperf_prediction p;
    if (run->kind != LLMPERF_RUN_STATIC)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "the run is served requests, not one static batch");
    llmperf_status status = llmperf_predict(c, &p, error);
    if (status != LLMPERF_OK)
        return status;
    llmperf_estimate whole = p.ttft_batch_s; /* of the batch, not of one request of it */
    whole.value += (generate - 1) * p.tpot_s.value;
    whole.low += (generate - 1) * p.tpot_s.low;
    whole.high += (generate - 1) * p.tpot_s.high;
    switch (run->metric) {
    case LLMPERF_METRIC_E2E:
        *ret_estimate = whole;
        return LLMPERF_OK;
    case LLMPERF_METRIC_TTFT:
        *ret_estimate = p.ttft_batch_s;
        return LLMPERF_OK;
    case LLMPERF_METRIC_TPOT:
        *ret_estimate = p.tpot_s;
        return LLMPERF_OK;
    case LLMPERF_METRIC_DECODE_RATE:
        *ret_estimate = p.decode.tokens_per_s;
        return LLMPERF_OK;
    case LLMPERF_METRIC_PREFILL_RATE:
        *ret_estimate = p.prefill.tokens_per_s;
        return LLMPERF_OK;
    case LLMPERF_METRIC_OUTPUT_RATE:
        *ret_estimate = rate_of(whole, batch * generate);
        return LLMPERF_OK;
    case LLMPERF_METRIC_TOTAL_RATE:
        *ret_estimate = rate_of(whole, batch * (prompt + generate));
        return LLMPERF_OK;
    case LLMPERF_METRIC_MEMORY:
        *ret_estimate = (llmperf_estimate){.value = p.memory.total_bytes,
                                           .low = p.memory.total_bytes,
                                           .high = p.memory.total_bytes};
        return LLMPERF_OK;
    case LLMPERF_METRIC_NONE:
    case LLMPERF_METRIC_COUNT:
        break;
    }
    return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "the run has no metric");
}
