/* SPDX-License-Identifier: MIT */
/*
 * Measurements of whole engines: one run is a workload that somebody timed end to end. Readers of
 * result files produce them, `compare` sets them beside predictions, `fit` makes engine profiles of
 * them.
 */
#ifndef LLMPERF_RUNS_H
#define LLMPERF_RUNS_H

#include "llmperf/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What was timed. Rates count the tokens of all sequences together. */
typedef enum llmperf_metric {
    LLMPERF_METRIC_NONE,
    LLMPERF_METRIC_E2E,          /* s: whole request(s), prefill included */
    LLMPERF_METRIC_TTFT,         /* s: until the first token */
    LLMPERF_METRIC_TPOT,         /* s: between tokens, the first apart */
    LLMPERF_METRIC_DECODE_RATE,  /* output tokens/s while decoding, prefill apart */
    LLMPERF_METRIC_PREFILL_RATE, /* prompt tokens/s */
    LLMPERF_METRIC_OUTPUT_RATE,  /* output tokens / whole time, prefill included */
    LLMPERF_METRIC_TOTAL_RATE,   /* (prompt + output tokens) / whole time */
    LLMPERF_METRIC_MEMORY,       /* bytes on one device */
    LLMPERF_METRIC_COUNT
} llmperf_metric;

/* "e2e_s", "ttft_s", "tpot_s", "decode_tokens_per_s", "prefill_tokens_per_s",
 * "output_tokens_per_s", "total_tokens_per_s", "memory_bytes"; NULL for NONE. */
LLMPERF_API const char *llmperf_metric_name(llmperf_metric metric);

/* How the load was offered. */
typedef enum llmperf_run_kind {
    LLMPERF_RUN_STATIC,  /* one batch from beginning to end */
    LLMPERF_RUN_OFFLINE, /* as many as fit, all at once: the engine picks the batch */
    LLMPERF_RUN_SERVING, /* a stream of requests at a concurrency or a rate */
} llmperf_run_kind;

/* A plain decoder by its dimensions, where a file tells them and no name that is known. */
typedef struct llmperf_run_shape {
    int64_t layers, hidden, heads, kv_heads, ffn, vocab; /* layers 0 = not said */
} llmperf_run_shape;

/* One measurement. 0 and "" = the file does not say; never guessed. */
typedef struct llmperf_run {
    char file[LLMPERF_NAME_MAX]; /* base name, for messages and tables */
    int64_t line;                /* 0 = the format has none */
    char source[LLMPERF_NAME_MAX];
    char engine[48], engine_version[48];
    char gpu[LLMPERF_NAME_MAX], model[LLMPERF_NAME_MAX]; /* as the file spells them */
    llmperf_run_shape shape;
    int64_t devices, tp, pp, ep, dp;
    char weight_dtype[32], act_dtype[32], kv_dtype[32]; /* as the file spells them */
    llmperf_run_kind kind;
    int64_t batch;           /* sequences together; concurrency when serving */
    double rate_per_s;       /* requests/s offered; 0 = not said, infinity = all at once */
    double prompt, generate; /* tokens per request; means where they differ */
    double depth;            /* tokens cached before the run began; 0 */
    bool has_depth;          /* the file tells what was cached: a prompt of 0 means none */
    int64_t requests;
    int64_t threads; /* that a processor ran on; 0 = not said */
    llmperf_metric metric;
    double value;  /* SI */
    double spread; /* standard deviation of repetitions; 0 = not said */
} llmperf_run;

/* Grows; start from a zeroed struct, end with llmperf_runs_free(). */
typedef struct llmperf_runs {
    int64_t count, capacity;
    llmperf_run *run;
} llmperf_runs;

LLMPERF_API llmperf_status llmperf_runs_add(llmperf_runs *runs, const llmperf_run *run,
                                            llmperf_error *error);
LLMPERF_API void llmperf_runs_free(llmperf_runs *runs);

/* The share of a processor that a run had: its threads of the part's units, in peaks and bandwidth.
 * All of it where the run does not say, has as many, or the part is no processor. */
LLMPERF_API double llmperf_run_share(const llmperf_run *run, const llmperf_hw *hw);

/* The plain gated decoder, untied, fp16, of the dimensions that a run tells (shape.layers > 0).
 * Errors: LLMPERF_E_SPEC for dimensions that make no model; LLMPERF_E_MEMORY. */
LLMPERF_API llmperf_status llmperf_run_model(const llmperf_run *run, llmperf_model **ret_model,
                                             llmperf_error *error);

/*
 * The workload that a run describes, on top of `base` (whose other members stay): its batch,
 * lengths, cached tokens, context and tensor-parallel degree. A run that decodes from an empty cache
 * is given the one prompt token that begins it. Dtypes are the caller's business.
 *   needs:  batch > 0 (an offline run whose engine picked it gets 1), prompt > 0 or has_depth, generate > 0 (but for a prefill metric)
 *   errors: LLMPERF_E_UNSUPPORTED for pp, ep or dp above 1, and lengths above 2^30
 */
LLMPERF_API llmperf_status llmperf_run_workload(const llmperf_run *run,
                                                const llmperf_workload *base,
                                                llmperf_workload *ret_workload,
                                                llmperf_error *error);

/*
 * Puts the formats that a run names on a model and a workload; what it does not name stays. Words
 * are those of engines: fp16, fp8, fp8_block, int4-g128, awq, q4_k_m (llama.cpp: effective bits of a
 * whole file), exl2-4.0bpw ... Quantised weights come as the scheme of llmperf_model_quantise(), with
 * activations left alone where act_dtype names a 16-bit format.
 *   errors: LLMPERF_E_UNSUPPORTED for a word that is not known; the model may be changed then
 */
LLMPERF_API llmperf_status llmperf_run_formats(const llmperf_run *run, llmperf_model *model,
                                               llmperf_workload *workload, llmperf_error *error);

/* Seconds that a measured value stands for, at the workload of the run; 0 = its metric is no time.
 * Rates count what llmperf_metric says; a request's time when served. */
LLMPERF_API double llmperf_run_time(const llmperf_run *run, const llmperf_workload *workload);

/*
 * The sequences that an engine keeps in flight when all requests come at once: as many as memory
 * holds at full length, but no more than were offered (run->requests, run->batch) nor than `most`; 0 =
 * the engine's documented default, where it is known (vllm 256, tensorrt-llm 2048). 0 where not even
 * one fits. The case is of one sequence: llmperf_config_move() gives it the others.
 */
LLMPERF_API int64_t llmperf_run_in_flight(const llmperf_config *c, const llmperf_run *run,
                                          int64_t most);

/* Equal steps that make up the time of a run. */
typedef struct llmperf_run_step {
    const llmperf_segment *segments;
    int segment_count;
    double times;
    bool prefill; /* of prompts; else decode */
    bool mixed;   /* shared with decoding sequences: takes 1 + mixed_frac as long */
} llmperf_run_step;
typedef void (*llmperf_run_visit)(const llmperf_run_step *step, void *context);

/*
 * The steps whose times sum to llmperf_run_time(), for `visit`.
 *   static:  prefill of the whole batch, then g - 1 decode steps at mean context (E2E and the rates of
 *            whole requests); the prefill alone (TTFT, prompt rate); one decode step (TPOT, rate)
 *   serving, at a known concurrency C of closed-loop clients:
 *            TPOT = decode step(C) + C / g x the prefill of one prompt (mixed)
 *            TTFT = the prefill of one prompt x (1 + (C - 1) C / (2 requests)) (mixed: the clients
 *            start together, so that a prompt of the first round waits for half of the others'; 10 C
 *            requests where the run does not say) + half a decode step; plus the engine's request_s
 *            E2E = TTFT + (g - 1) TPOT
 *            Without an engine profile, where the calibration times prompts and decoding sequences in
 *            one launch, C / g of the decode steps hold a prompt and C - 1 decoding sequences (all of
 *            them at most; prompts beyond have steps of their own), and TTFT begins with such a step
 *   offline: rates of whole requests, as served at the case's batch: llmperf_run_in_flight()
 *   ret_waits: how often request_s counts, 0 or 1
 *   source:    docs/model.md, "Serving"
 *   errors:    LLMPERF_E_UNSUPPORTED, with the reason, for what the model does not predict
 */
LLMPERF_API llmperf_status llmperf_run_steps(const llmperf_config *c, const llmperf_run *run,
                                             llmperf_run_visit visit, void *context,
                                             double *ret_waits, llmperf_error *error);

/*
 * What the model says a run should have measured: the same metric, in the same unit, of the case
 * that the run describes (its batch, lengths and degrees are already in `c`).
 *   errors: LLMPERF_E_UNSUPPORTED, with the reason, for what the model does not predict
 */
LLMPERF_API llmperf_status llmperf_run_predict(const llmperf_config *c, const llmperf_run *run,
                                               llmperf_estimate *ret_estimate,
                                               llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
