/* SPDX-License-Identifier: MIT */
/*
 * Measured operator times: one sample is an llmperf_op as a model would emit it, and how long one
 * launch took. Read from CSV files of anyone's, written as ours. Part of libllmperf-bench.
 */
#ifndef LLMPERF_SAMPLES_H
#define LLMPERF_SAMPLES_H

#include <stdio.h>

#include "llmperf/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The words of the column `op`. */
typedef enum llmperf_sample_kind {
    LLMPERF_SAMPLE_GEMM,
    LLMPERF_SAMPLE_GEMV,
    LLMPERF_SAMPLE_ATTN_PREFILL,
    LLMPERF_SAMPLE_ATTN_DECODE,
    LLMPERF_SAMPLE_ATTN_MIXED,
    LLMPERF_SAMPLE_ELEMENTWISE,
    LLMPERF_SAMPLE_MOE,
    LLMPERF_SAMPLE_ALL_REDUCE,
    LLMPERF_SAMPLE_ALL_GATHER,
    LLMPERF_SAMPLE_REDUCE_SCATTER,
    LLMPERF_SAMPLE_ALL_TO_ALL,
    LLMPERF_SAMPLE_SEND_RECV,
    LLMPERF_SAMPLE_ATTN_SCORES, /* the batched product of queries and keys; not fitted */
    LLMPERF_SAMPLE_COPY,        /* read, copy and triad streams: from here on no operators */
    LLMPERF_SAMPLE_LAUNCH,
    LLMPERF_SAMPLE_WRITE,
    LLMPERF_SAMPLE_H2D,
    LLMPERF_SAMPLE_D2H,
    LLMPERF_SAMPLE_LAUNCH_GRAPH,
    LLMPERF_SAMPLE_LAUNCH_HOST,
    LLMPERF_SAMPLE_ROUND_TRIP,
    LLMPERF_SAMPLE_KIND_COUNT
} llmperf_sample_kind;

LLMPERF_API const char *llmperf_sample_kind_name(llmperf_sample_kind kind);
/* NULL-terminated. Static storage. */
LLMPERF_API const char *const *llmperf_sample_kind_names(void);

/* Where the operands of a timed launch were. */
typedef enum llmperf_sample_place {
    LLMPERF_PLACE_UNKNOWN, /* told by size and by how many copies were used in turn */
    LLMPERF_PLACE_COLD,    /* memory */
    LLMPERF_PLACE_WARM,    /* a cache */
} llmperf_sample_place;

/* Names are indices into llmperf_samples.name; 0 is the empty name. */
typedef struct llmperf_sample {
    llmperf_op op; /* kind, regime, dtype, shape, flop and bytes of one launch */
    double time_s;
    double ci_s;         /* half width of the 95 % interval of the time; 0 = not said */
    double reps;         /* 0 = not said */
    double window;       /* keys a query sees at most; 0 = all */
    double longest_past; /* of a mixed launch: cached tokens of the longest decoding sequence */
    double copies;       /* sets of weights used in turn; 1 = the same again and again */
    double clock_hz, power_w;  /* 0 = not said */
    double stream_bytes_per_s; /* of a memory stream just before and after; 0 = not said */
    double bytes;              /* as recorded, for collectives and streams */
    double tokens, experts, top_k, ep, skew; /* of a layer of experts */
    int32_t hw, library, version, file;
    int64_t line;
    uint32_t flags;  /* LLMPERF_SAMPLE_ bits of backend.h */
    uint8_t kind;    /* llmperf_sample_kind */
    uint8_t stored;  /* weights or KV cache in another dtype than op.dtype; NONE = the same */
    uint8_t block;   /* 1 = block-scaled (fp8_block): kernels of their own */
    uint8_t ungated; /* 1 = experts without a gate */
    uint8_t place;   /* llmperf_sample_place */
} llmperf_sample;

#define LLMPERF_SAMPLE_NAMES_MAX 1024

/* Owned arrays; start zeroed, free with llmperf_samples_free(). */
typedef struct llmperf_samples {
    int64_t count, capacity;
    llmperf_sample *sample;
    int name_count;
    char (*name)[LLMPERF_NAME_MAX];
    int64_t rows, skipped, refused; /* data rows seen; left out for a reason; faulty */
} llmperf_samples;

LLMPERF_API void llmperf_samples_free(llmperf_samples *samples);

/* Index of a name, added when it is new; 0 for "". Errors: LLMPERF_E_MEMORY, LLMPERF_E_UNSUPPORTED
 * when there are too many. */
LLMPERF_API llmperf_status llmperf_samples_name(llmperf_samples *samples, const char *name,
                                                int32_t *ret_index, llmperf_error *error);
LLMPERF_API llmperf_status llmperf_samples_add(llmperf_samples *samples,
                                               const llmperf_sample *sample, llmperf_error *error);

/* Operators from a shape, with flop and bytes as a model counts them (docs/model.md). */
LLMPERF_API llmperf_op llmperf_sample_gemm(llmperf_dtype dtype, llmperf_dtype weights, double m,
                                           double n, double k);
typedef struct llmperf_attention_shape {
    llmperf_dtype dtype, kv_dtype; /* kv_dtype NONE = dtype */
    double sequences, query_tokens, past_tokens, window;
    double heads, kv_heads, head_dim, value_dim; /* value_dim 0 = head_dim */
} llmperf_attention_shape;
LLMPERF_API llmperf_op llmperf_sample_attention(const llmperf_attention_shape *shape);
/* A prompt, or a chunk of it, beside decoding sequences in one launch (regime mixed): their number, what
 * each has cached on average, and the most that one has (0 = all alike). */
typedef struct llmperf_mixed_shape {
    llmperf_attention_shape prompt;
    double lone_sequences, lone_past, lone_longest_past;
} llmperf_mixed_shape;
LLMPERF_API llmperf_op llmperf_sample_mixed(const llmperf_mixed_shape *shape);
/* QK^T alone, unfused: every query with every key, K expanded to the query heads, scores in memory. */
LLMPERF_API llmperf_op llmperf_sample_scores(const llmperf_attention_shape *shape);
/* bytes: the whole buffer, as nccl-tests counts it. */
LLMPERF_API llmperf_op llmperf_sample_collective(llmperf_collective collective, double devices,
                                                 double bytes);
LLMPERF_API llmperf_op llmperf_sample_elementwise(llmperf_dtype dtype, double values_in,
                                                  double values_out);

/* An operator as it is where memory takes `factor` times as long as usual: `bytes` is worth so many
 * times as many; its parts (weights, inputs ...) stay what they are. */
LLMPERF_API llmperf_op llmperf_op_slowed(const llmperf_op *op, double factor);

/*
 * Which samples: words that one must match, whatever their case; each list is NULL-terminated, NULL =
 * all. libraries: "vllm", "-" = none is said; dtypes: of the arithmetic or the stored one, for
 * products and attention alone; kinds: words of the column `op`.
 */
typedef struct llmperf_sample_filter {
    const char *const *libraries, *const *dtypes, *const *kinds;
} llmperf_sample_filter;
LLMPERF_API bool llmperf_sample_matches(const llmperf_samples *samples,
                                        const llmperf_sample *sample,
                                        const llmperf_sample_filter *filter);

/* Did the operands come from memory? Small ones that a cache of `hw` holds between launches did not;
 * a fit leaves those out. */
LLMPERF_API bool llmperf_sample_is_cold(const llmperf_sample *sample, const llmperf_hw *hw);

/*
 * A layer of experts of a group of devices: gate (unless ungated), up and down products of the
 * experts that `tokens`
 * tokens are sent to, top_k each. `width` = FFN width of one expert on one device; `ep` devices hold
 * experts / ep experts each; skew = exponent of the power law that loads are drawn from, 0 = even.
 */
typedef struct llmperf_moe_shape {
    llmperf_dtype dtype, weights; /* of the arithmetic; of the weights, NONE = the same */
    double tokens, hidden, width, experts, top_k, ep, skew;
    bool ungated; /* up and down alone */
} llmperf_moe_shape;

/* Rows of the busiest device, and experts of it that get some. Even: tokens top_k / ep rows over as
 * many experts as there are rows for. Skewed: the mean of seeded draws (docs/calibration.md). 0 rows:
 * out of memory. */
typedef struct llmperf_moe_load {
    double rows, active;
} llmperf_moe_load;
LLMPERF_API llmperf_moe_load llmperf_moe_load_of(const llmperf_moe_shape *shape);

/* m = rows per active expert, n = 3 width (2 ungated), k = hidden; flop and weights of all active ones; inputs
 * and outputs as moe.experts.gate_up and moe.experts.down have them together, the inputs those of
 * all tokens whatever ep is. */
LLMPERF_API llmperf_op llmperf_sample_moe(const llmperf_moe_shape *shape, llmperf_moe_load load);

/* Told of each row that gives no sample: refused = faulty, else left out for the reason. `text` is
 * "FILE:LINE: reason" with control bytes escaped. */
typedef void (*llmperf_samples_visit)(bool refused, const char *text, void *context);

typedef struct llmperf_samples_options {
    const char *const *map;      /* "their=ours" column names, NULL-terminated; may be NULL */
    llmperf_samples_visit visit; /* may be NULL */
    void *context;
} llmperf_samples_options;

/*
 * Adds the samples of a CSV file, streaming: our columns (docs/calibration.md), any of which may be
 * absent, or one of the known headers of public collections. '#' lines are skipped, a column of
 * times for each library (t_vllm) gives a sample each, .gz is read where zlib was there at build.
 * A bad row is reported and left out. Errors: LLMPERF_E_IO; LLMPERF_E_SPEC for a header that tells
 * no time or no operator; LLMPERF_E_USAGE for a bad map; LLMPERF_E_UNSUPPORTED; LLMPERF_E_MEMORY.
 */
LLMPERF_API llmperf_status llmperf_samples_read(llmperf_samples *samples, const char *path,
                                                const llmperf_samples_options *options,
                                                llmperf_error *error);
/* The same from memory; `name` stands for the file in messages. */
LLMPERF_API llmperf_status llmperf_samples_read_text(llmperf_samples *samples, const char *name,
                                                     const char *text, size_t size,
                                                     const llmperf_samples_options *options,
                                                     llmperf_error *error);

/* Writes our columns; llmperf_samples_read() takes them back to the same values. */
LLMPERF_API llmperf_status llmperf_samples_write(FILE *out, const llmperf_samples *samples,
                                                 llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
