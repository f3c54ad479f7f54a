/* SPDX-License-Identifier: MIT */
/* What the subcommands share: workload options, finding specifications, output. */
#ifndef LLMPERF_CLI_COMMON_H
#define LLMPERF_CLI_COMMON_H

#include "llmperf/llmperf.h"
#include "option.h"

/* Values of the shared options; start from COMMON_DEFAULTS. */
typedef struct common_arguments {
    int64_t batch, prompt, generate, cached, context, chunk, query;
    bool context_given, chunk_given, reserve_given;
    const char *weight_dtype, *act_dtype, *kv_dtype, *quant;
    double moe_skew;
    int attention, logits; /* 1 = unfused, all */
    bool split_qkv;
    int64_t tp, pp, ep, dp;
    double memory_utilization, reserve_bytes;
    int64_t kv_block;
    double tpot_s, ttft_s, price_usd_per_h, confidence;
    const char *calibration, *engine;
    int format; /* index into llmperf_formats() */
    bool format_given;
    const char *output, *workload, *specs;
} common_arguments;

#define COMMON_DEFAULTS                                                                            \
    {                                                                                              \
        .context = 0                                                                               \
    }

/* Rows of the tables, for a struct whose member `common` is a common_arguments. Commands that take a range
 * or a list where others take one value have rows of their own for it. */
#define COMMON_CONTEXT_ROW(type)                                                                   \
    OPTION_ROW_GIVEN(type, common.context, common.context_given, INT64, "context", 0, "N",         \
                     "tokens already cached when a decode step starts", .min = 0,                  \
                     .max = 1073741824, .default_text = "prompt + generate/2",                     \
                     .group = "Workload")

#define COMMON_STEP_ROWS(type)                                                                     \
    OPTION_ROW(type, common.generate, INT64, "generate", 'g', "N", "new tokens of each", .min = 1, \
               .max = 1073741824, .default_text = "256", .group = "Workload"),                     \
        OPTION_ROW(type, common.cached, INT64, "cached", 0, "N",                                   \
                   "prompt tokens that a prefix cache holds already", .min = 0, .max = 1073741824, \
                   .default_text = "0", .group = "Workload"),                                      \
        OPTION_ROW_GIVEN(type, common.chunk, common.chunk_given, INT64, "chunk", 0, "N",           \
                         "most prefill tokens in a step", .min = 1, .max = 1073741824,             \
                         .default_text = "8192", .group = "Workload"),                             \
        OPTION_ROW(type, common.query, INT64, "query", 0, "N",                                     \
                   "query tokens per sequence in a decode step (verification)", .min = 1,          \
                   .max = 65536, .default_text = "1", .group = "Workload"),                        \
        OPTION_ROW(type, common.moe_skew, DOUBLE, "moe-skew", 0, "F",                              \
                   "experts are picked by a power law of this exponent", .min = 0, .max = 10,      \
                   .default_text = "0, uniform", .group = "Workload")

#define COMMON_WEIGHT_ROW(type)                                                                    \
    OPTION_ROW(type, common.weight_dtype, TEXT, "weight-dtype", 0, "DTYPE",                        \
               "format of dense weights; a wider one is also the LM head's",                       \
               .default_text = "the file's", .group = "Formats")

#define COMMON_ACT_ROW(type)                                                                       \
    OPTION_ROW(type, common.act_dtype, TEXT, "act-dtype", 0, "DTYPE", "format of activations",     \
               .default_text = "the file's", .group = "Formats")

#define COMMON_KV_ROW(type)                                                                        \
    OPTION_ROW(type, common.kv_dtype, TEXT, "kv-dtype", 0, "DTYPE", "format of the KV cache",      \
               .default_text = "as activations", .group = "Formats")

#define COMMON_QUANT_ROW(type)                                                                     \
    OPTION_ROW(type, common.quant, TEXT, "quant", 0, "NAME",                                       \
               "apply a scheme: fp8 fp8-block int8 awq gptq nf4 mxfp4 nvfp4 q8_0 q4_0 none",       \
               .default_text = "the checkpoint's", .group = "Formats")

#define COMMON_FORM_ROWS(type)                                                                     \
    OPTION_ROW(type, common.attention, CHOICE, "attention", 0, "KIND",                             \
               "fused, or unfused: batched products with the scores in memory",                    \
               .choices = COMMON_ATTENTION, .default_text = "fused", .group = "Formats"),          \
        OPTION_ROW(type, common.logits, CHOICE, "logits", 0, "ROWS",                               \
                   "LM head for the last token of a prompt, or for all", .choices = COMMON_LOGITS, \
                   .default_text = "last", .group = "Formats"),                                    \
        OPTION_ROW(type, common.split_qkv, FLAG, "split-qkv", 0, NULL,                             \
                   "three projections instead of one", .group = "Formats")

#define COMMON_TP_ROW(type)                                                                        \
    OPTION_ROW(type, common.tp, INT64, "tp", 0, "N", "tensor-parallel degree", .min = 1,           \
               .max = 65536, .default_text = "1", .group = "Deployment")

#define COMMON_MEMORY_ROWS(type)                                                                   \
    OPTION_ROW(type, common.memory_utilization, DOUBLE, "memory-utilization", 0, "F",              \
               "engine's share of usable memory", .min = 0.01, .max = 1, .default_text = "0.9",    \
               .group = "Deployment"),                                                             \
        OPTION_ROW_GIVEN(type, common.reserve_bytes, common.reserve_given, BYTES, "reserve", 0,    \
                         "SIZE", "memory of context and libraries", .default_text = "1GiB",        \
                         .group = "Deployment"),                                                   \
        OPTION_ROW(type, common.kv_block, INT64, "kv-block", 0, "N", "tokens per KV cache block",  \
                   .min = 1, .max = 65536, .default_text = "16", .group = "Deployment")

#define COMMON_TIMING_ROWS(type)                                                                   \
    OPTION_ROW(type, common.calibration, TEXT, "calibration", 0, "NAME",                           \
               "which measurements to use: a file, a name, or none",                               \
               .default_text = "the best for the device", .group = "Deployment"),                  \
        OPTION_ROW(type, common.engine, TEXT, "engine", 0, "NAME",                                 \
                   "profile of an inference engine: vllm, sglang, tensorrt-llm, llama.cpp ...",    \
                   .default_text = "none: operators alone", .group = "Deployment")

#define COMMON_CONFIDENCE_ROW(type, of_group)                                                      \
    OPTION_ROW(type, common.confidence, DOUBLE, "confidence", 0, "F", "coverage of intervals",     \
               .min = 0.01, .max = 0.999, .default_text = "0.9", .group = of_group)

#define COMMON_WORKLOAD_ROWS(type)                                                                 \
    OPTION_ROW(type, common.batch, INT64, "batch", 'b', "N", "sequences decoded together",         \
               .min = 1, .max = 16777216, .default_text = "1", .group = "Workload"),               \
        OPTION_ROW(type, common.prompt, INT64, "prompt", 's', "N", "prompt tokens of each",        \
                   .min = 1, .max = 1073741824, .default_text = "1024", .group = "Workload"),      \
        COMMON_CONTEXT_ROW(type), COMMON_STEP_ROWS(type), COMMON_WEIGHT_ROW(type),                 \
        COMMON_ACT_ROW(type), COMMON_KV_ROW(type), COMMON_QUANT_ROW(type), COMMON_FORM_ROWS(type), \
        COMMON_TP_ROW(type),                                                                       \
        OPTION_ROW(type, common.pp, INT64, "pp", 0, "N", "pipeline-parallel degree (only 1 yet)",  \
                   .min = 1, .max = 65536, .default_text = "1", .group = "Deployment"),            \
        OPTION_ROW(type, common.ep, INT64, "ep", 0, "N", "expert-parallel degree (only 1 yet)",    \
                   .min = 1, .max = 65536, .default_text = "1", .group = "Deployment"),            \
        OPTION_ROW(type, common.dp, INT64, "dp", 0, "N", "data-parallel degree (only 1 yet)",      \
                   .min = 1, .max = 65536, .default_text = "1", .group = "Deployment"),            \
        COMMON_MEMORY_ROWS(type), COMMON_TIMING_ROWS(type)

#define COMMON_TARGET_ROWS(type)                                                                   \
    OPTION_ROW(type, common.tpot_s, TIME, "tpot", 0, "TIME", "target time per output token",       \
               .min = 1e-9, .max = 1e6, .group = "Targets"),                                       \
        OPTION_ROW(type, common.ttft_s, TIME, "ttft", 0, "TIME", "target time to first token",     \
                   .min = 1e-9, .max = 1e6, .group = "Targets"),                                   \
        OPTION_ROW(type, common.price_usd_per_h, PRICE, "price", 0, "USD/h",                       \
                   "price of one device", .group = "Targets"),                                     \
        COMMON_CONFIDENCE_ROW(type, "Targets")

#define COMMON_OUTPUT_ROWS(type)                                                                   \
    OPTION_ROW_GIVEN(type, common.format, common.format_given, CHOICE, "format", 0, "FORMAT",      \
                     "how to print the result", .choices_of = llmperf_formats,                     \
                     .default_text = "text", .group = "Output"),                                   \
        OPTION_ROW(type, common.output, TEXT, "output", 'o', "FILE",                               \
                   "write to a file; its suffix picks the format", .group = "Output"),             \
        OPTION_ROW(type, common.workload, TEXT, "workload", 0, "FILE",                             \
                   "read options from a YAML file (keys: long names); the command line wins",      \
                   .group = "Output"),                                                             \
        OPTION_ROW(type, common.specs, TEXT, "specs", 0, "DIR",                                    \
                   "look for specifications here first", .group = "Output")

extern const char *const COMMON_ATTENTION[], *const COMMON_LOGITS[];

/* Prints each line of an error as "llmperf: line" to stderr; returns its exit code. */
int common_report(llmperf_status status, const llmperf_error *error);

/*
 * option_parse(), with --workload FILE.yaml read first: its keys are long option names, and model
 * and hardware for positionals that the command line leaves out; the command line wins.
 */
llmperf_status common_parse(const option_command *command, int argc, char **argv, void *arguments,
                            option_result *ret_result, llmperf_error *error);

/* How the options ask to load, model and hardware apart; `paths` is filled and borrowed. */
void common_load_options(const common_arguments *arguments, llmperf_spec_paths *paths,
                         llmperf_load_options *ret_options);

/* The workload that the options ask for. Errors: LLMPERF_E_USAGE, LLMPERF_E_UNSUPPORTED. */
llmperf_status common_workload(const common_arguments *arguments, llmperf_workload *ret_workload,
                               llmperf_error *error);

/* A model and hardware (NULL = not wanted) with what times it, as the options ask for. On failure
 * there is nothing to free. */
llmperf_status common_load(const common_arguments *arguments, const char *model, const char *hw,
                           llmperf_loaded *ret_loaded, llmperf_error *error);
/* Hardware alone; and what times hardware that is loaded. */
llmperf_status common_load_hw(const common_arguments *arguments, const char *name,
                              llmperf_loaded *ret_loaded, llmperf_error *error);
llmperf_status common_load_calib(const common_arguments *arguments, llmperf_loaded *loaded,
                                 llmperf_error *error);

/* Where a result goes, and in which format: by --format, else the suffix, else text. */
typedef struct common_output {
    llmperf_output to;
    FILE *file; /* of `to` */
    const char *format;
    bool terminal;
} common_output;

llmperf_status common_open_output(const common_arguments *arguments, common_output *ret_output,
                                  llmperf_error *error);
/* Checks that everything was written; keep = false throws the file away. */
llmperf_status common_close_output(common_output *output, bool keep, llmperf_error *error);

/* The options of a command line but for positionals and output, quoted for a shell. */
void common_quote_options(int argc, char **argv, const option_result *result, char *buffer,
                          size_t size);
void common_quote(const char *text, char *buffer, size_t size);

#endif
