/* SPDX-License-Identifier: MIT */
/*
 * Between the files that make a model of a GGUF header:
 *   gguf_keys.c, gguf_architectures.c <- gguf_tensors.c <- gguf_formats.c <- gguf_layers.c <- gguf_model.c
 */
#ifndef LLMPERF_SPEC_GGUF_READ_H
#define LLMPERF_SPEC_GGUF_READ_H

#include "gguf.h"
#include "llmperf/spec.h"
#include "model_object.h"

enum { GGUF_LAYERS_MAX = 4096 };

/* ---- architectures (gguf_architectures.c) ---------------------------------------------------- */

enum {
    GGUF_ALL_LAYERS = 1, /* every layer looks through the window, where there is one */
};

typedef struct gguf_architecture {
    const char *name;
    /* With a window: layers i with i % pattern < pattern - 1 look through it; GGUF_ALL_LAYERS = each
     * one; 0 = windows are not counted. */
    int pattern;
    int64_t window; /* without the key */
    bool no_rope;   /* ALiBi or learned positions */
    bool half_ffn;  /* feed_forward_length is gate and up together */
    bool chunked;   /* the window is a chunk; layers without one have no positions */
    bool no_limit;  /* context_length is the training run's, not a limit */
} gguf_architecture;

/* NULL = no row. */
const gguf_architecture *gguf_architecture_of(const char *name);
void gguf_list_architectures(char *buffer, size_t size);

/* ---- tensors of a block ---------------------------------------------------------------------- */

enum {
    ATTN_NORM,
    ATTN_NORM_2,
    ATTN_OUTPUT_NORM,
    POST_ATTENTION_NORM,
    FFN_NORM,
    POST_FFW_NORM,
    LAYER_OUTPUT_NORM,
    NORM_COUNT, /* those above are as wide as the model */
    ATTN_QKV = NORM_COUNT,
    ATTN_Q,
    ATTN_K,
    ATTN_V,
    ATTN_OUTPUT,
    ATTN_Q_NORM,
    ATTN_K_NORM,
    ATTN_SINKS,
    ATTN_Q_A,
    ATTN_Q_A_NORM,
    ATTN_Q_B,
    ATTN_KV_A,
    ATTN_KV_A_NORM,
    ATTN_KV_B,
    ATTN_K_B,
    ATTN_V_B,
    FFN_GATE,
    FFN_UP,
    FFN_DOWN,
    FFN_GATE_INP,
    EXP_PROBS_B,
    FFN_GATE_EXPS,
    FFN_UP_EXPS,
    FFN_GATE_UP_EXPS,
    FFN_DOWN_EXPS,
    FFN_GATE_SHEXP,
    FFN_UP_SHEXP,
    FFN_DOWN_SHEXP,
    FFN_GATE_INP_SHEXP,
    PART_COUNT
};

typedef struct gguf_part {
    const char *name;
    int weight_class; /* of its weight; biases are of class OTHER */
} gguf_part;

extern const gguf_part GGUF_PARTS[PART_COUNT];

/* ---- the reader ------------------------------------------------------------------------------ */

/* Weights of one class, bytes of scale tensors beside them included. */
typedef struct gguf_sum {
    int64_t elements, bytes;
    uint32_t type; /* of the first tensor */
    bool mixed;    /* further types */
} gguf_sum;

typedef struct gguf_block {
    const gguf_tensor *weight[PART_COUNT], *bias[PART_COUNT];
    int64_t single[PART_COUNT]; /* tensors of one expert each, as old files hold them */
    gguf_sum sums[LLMPERF_WEIGHT_COUNT];
    bool predicts_further; /* a multi-token-prediction block */
} gguf_block;

typedef struct gguf_reader {
    const gguf *file;
    const gguf_architecture *known; /* NULL: read by its tensors */
    char name[LLMPERF_NAME_MAX];    /* of the architecture */
    gguf_block *blocks;
    int64_t block_count; /* those of multi-token prediction left out */
    gguf_sum outside[LLMPERF_WEIGHT_COUNT];
    const gguf_tensor *token_embd, *position_embd, *output, *output_bias, *output_norm;
    const gguf_tensor *output_norm_bias, *token_embd_norm, *token_embd_norm_bias;
    int64_t seen;        /* elements of all tensors; bounds every sum */
    int64_t counted;     /* elements of those that the model stands for */
    int64_t not_counted; /* elements outside the blocks that nothing is known of */
    const gguf_tensor *stranger;
    llmperf_model *model;
    gguf_sum (*layer_sums)[LLMPERF_WEIGHT_COUNT]; /* of each layer shape, when shapes are merged */
    int faults;
    llmperf_error *error;
    llmperf_status status;
} gguf_reader;

/* Notes a fault at a byte of a part. False. */
bool gguf_fail(gguf_reader *r, int part, int64_t at, llmperf_status status, const char *format, ...)
    LLMPERF_PRINTF(5, 6);

/* A fault of the whole header. */
#define GGUF_FAIL_HEADER(r, ...) gguf_fail(r, 0, 0, LLMPERF_E_SPEC, __VA_ARGS__)
#define GGUF_FAIL_TENSOR(r, tensor, ...)                                                           \
    gguf_fail(r, (tensor)->part, (tensor)->at, LLMPERF_E_SPEC, __VA_ARGS__)

/* ---- metadata (gguf_keys.c) ------------------------------------------------------------------ */

/* "llama.block_count" for "block_count"; fills `key`. NULL when it is absent. */
const gguf_value *gguf_find(gguf_reader *r, const char *suffix, char *key, size_t size);
bool gguf_is_whole(uint32_t type);
/* A number; arrays are refused. False when it is absent or faulty. */
bool gguf_number(gguf_reader *r, const char *suffix, int64_t min, int64_t max, int64_t *ret_value);
bool gguf_number_required(gguf_reader *r, const char *suffix, int64_t min, int64_t max,
                          int64_t *ret_value);
int64_t gguf_number_or(gguf_reader *r, const char *suffix, int64_t max, int64_t absent);
/* A number, or an array with one for each block. False when it is absent or faulty. */
bool gguf_number_of_layer(gguf_reader *r, const char *suffix, int64_t i, int64_t max,
                          int64_t *ret_value);
bool gguf_flag(gguf_reader *r, const char *suffix, bool absent);
/* A text of 1 to `most` bytes; NULL when it is absent or faulty. */
const char *gguf_text_of(gguf_reader *r, const char *key, int64_t most);

/* The tensor's dimension (1-based) must be what the metadata make it. */
bool gguf_agree(gguf_reader *r, const gguf_tensor *t, int dimension, int64_t want,
                const char *because);
bool gguf_agree_matrix(gguf_reader *r, const gguf_tensor *t, int64_t in, const char *because_in,
                       int64_t out, const char *because_out);

/* ---- tensors, formats, layers ---------------------------------------------------------------- */

/* The fault of a block without such a tensor. False. */
bool gguf_missing(gguf_reader *r, int64_t i, int part);
void gguf_sort_tensors(gguf_reader *r);
void gguf_add_sum(gguf_sum *sum, const gguf_sum *more);
/* Scale tensors add bytes to a class; a header may claim more of them than any format has. */
bool gguf_check_sums(gguf_reader *r);

void gguf_set_formats(const gguf_reader *r, const gguf_sum *sums, llmperf_weight_format *formats);
void gguf_read_formats(gguf_reader *r);
void gguf_read_layers(gguf_reader *r);

#endif
