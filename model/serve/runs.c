/* SPDX-License-Identifier: MIT */
/* Measurements of whole engines, and what the model says of the same workload. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workspace.h"
#include "llmperf/predict.h"
#include "llmperf/runs.h"
#include "config_object.h"
#include "entry.h"
#include "read.h"

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
    NEEDS(runs && run_is_sound(run), error);
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

double llmperf_run_share(const llmperf_run *run, const llmperf_hw *hw)
{
    if (!run || !hw_is_sound(hw))
        return 1;
    double threads = (double)run->threads;
    bool part = strcmp(hw->kind, "cpu") == 0 && threads > 0 && threads < hw->units;
    return part ? threads / hw->units : 1;
}

static void fill_model(const llmperf_run *run, llmperf_model *ret_model)
{
    const llmperf_run_shape *s = &run->shape;
    int64_t head_dim = s->heads > 0 ? s->hidden / s->heads : 0;
    llmperf_layer *layer = &ret_model->layers[0];
    memset(ret_model, 0, sizeof *ret_model);
    snprintf(ret_model->architecture, sizeof ret_model->architecture, "by its dimensions");
    ret_model->hidden = ret_model->embedding_dim = s->hidden;
    ret_model->vocab = s->vocab;
    ret_model->final_norm = true;
    ret_model->dtype = LLMPERF_DTYPE_FP16;
    ret_model->layer_kind_count = 1;
    layer->count = s->layers;
    layer->norms = 2;
    layer->attention = (llmperf_attention){.heads = s->heads,
                                           .kv_heads = s->kv_heads > 0 ? s->kv_heads : s->heads,
                                           .head_dim = head_dim,
                                           .value_dim = head_dim,
                                           .rope = true};
    layer->mlp = (llmperf_mlp){.ffn = s->ffn, .gated = true};
    snprintf(ret_model->name, sizeof ret_model->name, "%s", run->model[0] ? run->model : "unnamed");
    spec_uniform_weights(ret_model, LLMPERF_DTYPE_FP16);
}

llmperf_status llmperf_run_model(const llmperf_run *run, llmperf_model **ret_model,
                                 llmperf_error *error)
{
    NEEDS(run_is_sound(run) && ret_model, error);
    llmperf_model *model = malloc(sizeof *model);
    if (!model)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    fill_model(run, model);
    llmperf_status status = model_check(model, error);
    if (status == LLMPERF_OK)
        *ret_model = model;
    else
        free(model);
    return status;
}

static bool is_prefill(const llmperf_run *run)
{
    return run->metric == LLMPERF_METRIC_PREFILL_RATE || run->metric == LLMPERF_METRIC_TTFT;
}

llmperf_status llmperf_run_workload(const llmperf_run *run, const llmperf_workload *base,
                                    llmperf_workload *ret_workload, llmperf_error *error)
{
    NEEDS(run_is_sound(run) && base && ret_workload, error);
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

/* ---- what a run's time is made of ------------------------------------------------------------------------ */

static bool is_whole(llmperf_metric metric)
{
    return metric == LLMPERF_METRIC_E2E || metric == LLMPERF_METRIC_OUTPUT_RATE ||
           metric == LLMPERF_METRIC_TOTAL_RATE;
}

/* What is counted in the time of a rate; 0 = the metric is a time itself. */
static double counted(const llmperf_run *run, const llmperf_workload *w)
{
    double batch = (double)w->batch, generate = (double)w->generate;
    switch (run->metric) {
    case LLMPERF_METRIC_DECODE_RATE:
        return batch;
    case LLMPERF_METRIC_PREFILL_RATE:
        return batch * (double)(w->prompt - w->cached);
    case LLMPERF_METRIC_OUTPUT_RATE:
        return batch * generate;
    case LLMPERF_METRIC_TOTAL_RATE:
        return batch * ((double)w->prompt + generate);
    default:
        return 0;
    }
}

double llmperf_run_time(const llmperf_run *run, const llmperf_workload *workload)
{
    if (!run || !workload)
        return 0;
    double amount = counted(run, workload);
    if (run->metric == LLMPERF_METRIC_MEMORY || run->metric == LLMPERF_METRIC_NONE)
        return 0;
    return amount > 0 ? amount / run->value : run->value;
}

/* Passes steps of a prefill on, `times` as often. */
typedef struct step_sender {
    llmperf_run_visit visit;
    void *context;
    double times;
    bool mixed;
    llmperf_segment beside; /* sequences that decode in the same steps; none = apart */
} step_sender;

static void send_prefill(const llmperf_segment *segments, int segment_count, double times,
                         void *context)
{
    const step_sender *s = context;
    llmperf_segment together[LLMPERF_SEGMENTS_MAX];
    bool beside = s->beside.sequences > 0 && segment_count < LLMPERF_SEGMENTS_MAX;
    if (beside) {
        memcpy(together, segments, (size_t)segment_count * sizeof *together);
        together[segment_count] = s->beside;
    }
    const llmperf_run_step step = {.segments = beside ? together : segments,
                                   .segment_count = segment_count + beside,
                                   .times = s->times * times,
                                   .prefill = true,
                                   .mixed = s->mixed};
    s->visit(&step, s->context);
}

static void send_decode(const llmperf_config *c, double times, step_sender *s)
{
    llmperf_segment segment = llmperf_decode_segment(c, c->workload.batch, c->workload.context);
    const llmperf_run_step step = {.segments = &segment, .segment_count = 1, .times = times};
    if (times > 0)
        s->visit(&step, s->context);
}

static void static_steps(const llmperf_config *c, llmperf_metric metric, step_sender *s)
{
    const llmperf_workload *w = &c->workload;
    bool whole = is_whole(metric);
    bool prefill = metric == LLMPERF_METRIC_TTFT || metric == LLMPERF_METRIC_PREFILL_RATE;
    s->times = 1;
    if (whole || prefill)
        llmperf_prefill_steps(c, w->batch, w->chunk, send_prefill, s);
    if (!prefill)
        send_decode(c, whole ? (double)(w->generate - 1) : 1, s);
}

/* A prompt waits for this share of the other clients' prompts: half of them in the first of `requests`
 * / C rounds, when all clients start together. */
static double burst(const llmperf_run *run, double concurrency)
{
    static const double ROUNDS = 10; /* the usual benchmark: ten requests a client */
    double rounds = run->requests > 0 ? (double)run->requests / concurrency : ROUNDS;
    return 0.5 / fmax(rounds, 1);
}

/* Do prompts share launches with decoding sequences, as far as this case knows? An engine profile has
 * a number of its own for what such steps cost. */
static bool shares_launches(const llmperf_config *c)
{
    if (!c->calib || c->calib->host.engine[0] || c->workload.unfused || c->workload.query != 1)
        return false;
    for (int i = 0; i < c->calib->entry_count; i++)
        if (c->calib->entry[i].key.regime == LLMPERF_REGIME_MIXED)
            return true;
    return false;
}

static void count_steps(const llmperf_segment *segments, int segment_count, double times,
                        void *context)
{
    (void)segments;
    (void)segment_count;
    *(double *)context += times;
}

/*
 * Prompts that ride in decode steps: `prompts` of the others while a request decodes `tokens`, each in
 * a step for every chunk with C - 1 decoding sequences, as far as there are steps; and its own.
 * Returns how many prompts do; *ret_steps = the decode steps that hold them, its own apart.
 */
static double send_beside(const llmperf_config *c, double prompts, double tokens, double own,
                          step_sender *s, double *ret_steps)
{
    const llmperf_workload *w = &c->workload;
    double chunks = 0;
    llmperf_prefill_steps(c, 1, w->chunk, count_steps, &chunks);
    double riding = fmin(prompts, tokens / chunks);
    s->times = riding + own;
    s->beside = llmperf_decode_segment(c, w->batch - 1, w->context);
    llmperf_prefill_steps(c, 1, w->chunk, send_prefill, s);
    s->beside = (llmperf_segment){0};
    *ret_steps = riding * chunks;
    return riding + own;
}

static void served_steps(const llmperf_config *c, const llmperf_run *run, step_sender *s,
                         double *ret_waits)
{
    const llmperf_workload *w = &c->workload;
    double concurrency = (double)w->batch, generate = (double)w->generate;
    bool first = run->metric == LLMPERF_METRIC_TTFT || is_whole(run->metric);
    double tokens = is_whole(run->metric)                ? generate - 1
                    : run->metric == LLMPERF_METRIC_TTFT ? 0
                                                         : 1;
    double prefills = tokens * concurrency / generate;
    s->mixed = concurrency > 1;
    if (first)
        prefills += 1 + (concurrency - 1) * burst(run, concurrency);
    double shared = 0;
    if (s->mixed && shares_launches(c))
        prefills -= send_beside(c, tokens * concurrency / generate, tokens, first, s, &shared);
    s->times = prefills;
    if (prefills > 0)
        llmperf_prefill_steps(c, 1, w->chunk, send_prefill, s);
    send_decode(c, tokens - shared + (first && concurrency > 1 ? 0.5 : 0), s);
    *ret_waits = first;
}

llmperf_status llmperf_run_steps(const llmperf_config *c, const llmperf_run *run,
                                 llmperf_run_visit visit, void *context, double *ret_waits,
                                 llmperf_error *error)
{
    NEEDS(c && run_is_sound(run) && visit && ret_waits, error);
    step_sender s = {.visit = visit, .context = context};
    *ret_waits = 0;
    if (run->metric == LLMPERF_METRIC_NONE || run->metric == LLMPERF_METRIC_MEMORY ||
        (unsigned)run->metric >= LLMPERF_METRIC_COUNT)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "the run has no time");
    if (run->kind == LLMPERF_RUN_OFFLINE && run->metric != LLMPERF_METRIC_OUTPUT_RATE &&
        run->metric != LLMPERF_METRIC_TOTAL_RATE)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "of an offline run the rate of whole requests is predicted");
    if (run->kind == LLMPERF_RUN_STATIC) {
        static_steps(c, run->metric, &s);
        return LLMPERF_OK;
    }
    if (run->rate_per_s > 0 && isfinite(run->rate_per_s))
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "requests come at a rate; a known concurrency is predicted");
    if (run->metric == LLMPERF_METRIC_PREFILL_RATE)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "the prompt rate of served requests is not predicted");
    served_steps(c, run, &s, ret_waits);
    return LLMPERF_OK;
}

/*
 * The most sequences that engines keep in flight unless they are told otherwise; others take what
 * memory holds.
 *   source: vLLM 0.5 - 0.8, "Engine Arguments", --max-num-seqs (later versions 1024 on parts of 70 GB
 *           and more); TensorRT-LLM, trtllm-build, --max_batch_size
 */
static const struct {
    const char *engine;
    int64_t most;
} IN_FLIGHT[] = {{"vllm", 256}, {"tensorrt-llm", 2048}, {"trtllm", 2048}, {"trt-llm", 2048}};

int64_t llmperf_run_in_flight(const llmperf_config *c, const llmperf_run *run, int64_t most)
{
    if (!c || !c->hw || !run)
        return 0;
    llmperf_memory memory;
    llmperf_memory_of(c, &memory);
    int64_t count = memory.max_batch;
    for (size_t i = 0; i < sizeof IN_FLIGHT / sizeof *IN_FLIGHT && most <= 0; i++)
        if (strncmp(run->engine, IN_FLIGHT[i].engine, strlen(IN_FLIGHT[i].engine)) == 0)
            most = IN_FLIGHT[i].most;
    const int64_t limits[] = {most, run->batch, run->requests};
    for (int i = 0; i < 3; i++)
        if (limits[i] > 0 && limits[i] < count)
            count = limits[i];
    return count;
}

/* ---- prediction ---------------------------------------------------------------------------------------------- */

/* A rate from a time: the longest time gives the lowest rate. */
static llmperf_estimate rate_of(llmperf_estimate time_s, double tokens)
{
    return (llmperf_estimate){.value = tokens / time_s.value,
                              .low = isinf(time_s.high) ? 0 : tokens / time_s.high,
                              .high = tokens / time_s.low};
}

/* Prefill and decode apart: their intervals add, as the profile's residual is common to both. */
typedef struct run_sum {
    const llmperf_config *c;
    llmperf_workspace *workspace;
    interval_sum part[2]; /* decode, prefill */
    double bound_s[2];    /* without a calibration */
} run_sum;

static void add_step(const llmperf_run_step *step, void *context)
{
    run_sum *sum = context;
    const llmperf_config *c = sum->c;
    interval_sum *part = &sum->part[step->prefill];
    llmperf_total total = {0};
    if (!c->calib) {
        step_add(sum->workspace, c, step->segments, step->segment_count, step->times, &total, NULL);
        sum->bound_s[step->prefill] += total.time_s;
        return;
    }
    double times = step->times * (step->mixed ? 1 + c->calib->host.mixed_frac : 1);
    const double before_s = part->time_s, floor_s = part->floor_s;
    step_add(sum->workspace, c, step->segments, step->segment_count, times, &total, part);
    /* what mixing costs is no floor */
    part->floor_s = floor_s + (part->floor_s - floor_s) * step->times / times;
    if (step->mixed) /* d(time) / d(log mixed) */
        part->host[LLMPERF_ENGINE_MIXED] += (part->time_s - before_s) * (1 - step->times / times);
}

/* What the server adds before a request's first step: part of its prefill, and known as well. */
static void add_wait(run_sum *sum, double waits)
{
    const llmperf_calib *calib = sum->c->calib;
    double wait_s = calib ? waits * calib->host.request_s : 0;
    sum->part[1].time_s += wait_s;
    sum->part[1].host[LLMPERF_ENGINE_REQUEST] += wait_s;
}

static llmperf_estimate time_of(run_sum *sum)
{
    static const llmperf_spread_class SPREADS[2] = {LLMPERF_SPREAD_DECODE_STEP,
                                                    LLMPERF_SPREAD_PREFILL_STEP};
    const llmperf_calib *calib = sum->c->calib;
    llmperf_estimate time_s = {0};
    for (int i = 0; i < 2; i++) {
        double spread = llmperf_spread(SPREADS[i]);
        llmperf_estimate one = {sum->bound_s[i], sum->bound_s[i], sum->bound_s[i] * spread};
        if (calib)
            one = interval_of(&sum->part[i], sum->c, spread);
        time_s.value += one.value;
        time_s.low += one.low;
        time_s.high += one.high;
    }
    return time_s;
}

llmperf_status llmperf_run_predict(const llmperf_config *c, const llmperf_run *run,
                                   llmperf_estimate *ret_estimate, llmperf_error *error)
{
    NEEDS(c && c->hw && run_is_sound(run) && ret_estimate, error);
    if (!c->hw)
        return llmperf_fail(error, LLMPERF_E_USAGE, "a prediction needs hardware; none was given");
    llmperf_status status = llmperf_config_check_steps(c, error);
    if (status != LLMPERF_OK)
        return status;
    if (run->metric == LLMPERF_METRIC_MEMORY) {
        llmperf_memory memory;
        llmperf_memory_of(c, &memory);
        *ret_estimate = (llmperf_estimate){
            .value = memory.total_bytes, .low = memory.total_bytes, .high = memory.total_bytes};
        return LLMPERF_OK;
    }
    run_sum *sum = calloc(1, sizeof *sum);
    double waits;
    if (!sum)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    sum->c = c;
    status = llmperf_workspace_new(c, LLMPERF_SEGMENTS_MAX, &sum->workspace, error);
    if (c->calib) {
        sum->part[0].residual = c->calib->host.decode_residual;
        sum->part[1].residual = c->calib->host.prefill_residual;
    }
    if (status == LLMPERF_OK)
        status = llmperf_run_steps(c, run, add_step, sum, &waits, error);
    if (status == LLMPERF_OK) {
        add_wait(sum, waits);
        llmperf_estimate time_s = time_of(sum);
        double amount = counted(run, &c->workload);
        *ret_estimate = amount > 0 ? rate_of(time_s, amount) : time_s;
    }
    llmperf_workspace_free(sum->workspace);
    free(sum);
    return status;
}
