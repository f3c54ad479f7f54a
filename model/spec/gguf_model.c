/* SPDX-License-Identifier: MIT */
/*
 * GGUF header -> llmperf_model.
 *
 * Tensors say what a layer is made of: biases, norms, gates, experts, and the format of every
 * weight. Metadata says how many and how wide; the two must agree. A row per architecture holds
 * what neither of them says: which layers look through a window, and whether positions are rotary.
 * An architecture without a row is read all the same when every tensor of its blocks is known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gguf.h"
#include "read.h"

enum {
    FAULTS_MAX = 8, /* one bad number disagrees with every layer */
    LAYERS_MAX = 4096,
    CHUNK_LLAMA4 = 8192, /* no key says it: llama.cpp's own constant */
};

/* ---- architectures --------------------------------------------------------------------------- */

enum {
    ALL = 1, /* every layer looks through the window, where there is one */
};

typedef struct architecture {
    const char *name;
    /* With a window: layers i with i % pattern < pattern - 1 look through it; ALL = each one;
     * 0 = windows are not counted. */
    int pattern;
    int64_t window; /* without the key */
    bool no_rope;   /* ALiBi or learned positions */
    bool half_ffn;  /* feed_forward_length is gate and up together */
    bool chunked;   /* the window is a chunk; layers without one have no positions */
    bool no_limit;  /* context_length is the training run's, not a limit */
} architecture;

/* In alphabetical order. Facts: the loaders of llama.cpp. */
static const architecture ARCHITECTURES[] = {
    {"arcee", .pattern = ALL},
    {"baichuan", .pattern = ALL},
    {"bailingmoe", .pattern = ALL},
    {"bloom", .no_rope = true, .no_limit = true},
    {"chatglm", .pattern = ALL},
    {"codeshell", .pattern = ALL},
    {"cohere2", .pattern = 4},
    {"command-r", .pattern = ALL},
    {"dbrx", .pattern = ALL},
    {"deepseek", .pattern = ALL},
    {"deepseek2", .pattern = ALL},
    {"dots1", .pattern = ALL},
    {"ernie4_5", .pattern = ALL},
    {"ernie4_5-moe", .pattern = ALL},
    {"exaone", .pattern = ALL},
    {"exaone4", .pattern = 4},
    {"falcon", .pattern = ALL},
    {"gemma", .pattern = ALL},
    {"gemma2", .pattern = 2, .window = 4096},
    {"gemma3", .pattern = 6},
    {"glm4", .pattern = ALL},
    {"glm4moe", .pattern = ALL},
    {"gpt-oss", .pattern = 2},
    {"gpt2", .no_rope = true},
    {"gptj", .pattern = ALL},
    {"gptneox", .pattern = ALL},
    {"granite", .pattern = ALL},
    {"granitemoe", .pattern = ALL},
    {"hunyuan-dense", .pattern = ALL},
    {"hunyuan-moe", .pattern = ALL},
    {"internlm2", .pattern = ALL},
    {"llama", .pattern = ALL},
    {"llama4", .pattern = 4, .window = CHUNK_LLAMA4, .chunked = true},
    {"minicpm", .pattern = ALL},
    {"minicpm3", .pattern = ALL},
    {"mistral", .pattern = ALL},
    {"mistral3", .pattern = ALL},
    {"mpt", .no_rope = true},
    {"nemotron", .pattern = ALL},
    {"olmo", .pattern = ALL},
    {"olmo2", .pattern = 4},
    {"olmoe", .pattern = ALL},
    {"orion", .pattern = ALL},
    {"phi2", .pattern = ALL},
    {"phi3", .pattern = ALL},
    {"phimoe", .pattern = ALL},
    {"qwen", .pattern = ALL, .half_ffn = true},
    {"qwen2", .pattern = ALL},
    {"qwen2moe", .pattern = ALL},
    {"qwen2vl", .pattern = ALL},
    {"qwen3", .pattern = ALL},
    {"qwen3moe", .pattern = ALL},
    {"qwen3vl", .pattern = ALL},
    {"qwen3vlmoe", .pattern = ALL},
    {"refact", .no_rope = true},
    {"seed_oss", .pattern = ALL},
    {"smollm3", .pattern = ALL},
    {"stablelm", .pattern = ALL},
    {"starcoder", .no_rope = true},
    {"starcoder2", .pattern = ALL},
    {"xverse", .pattern = ALL},
};

static const architecture *architecture_of(const char *name)
{
    for (size_t i = 0; i < sizeof ARCHITECTURES / sizeof *ARCHITECTURES; i++)
        if (strcmp(name, ARCHITECTURES[i].name) == 0)
            return &ARCHITECTURES[i];
    return NULL;
}

static void list_architectures(char *buffer, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < sizeof ARCHITECTURES / sizeof *ARCHITECTURES && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? ", " : "",
                                 ARCHITECTURES[i].name);
}

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

typedef struct part_row {
    const char *name;
    int weight_class; /* of its weight; biases are of class OTHER */
} part_row;

static const part_row PARTS[PART_COUNT] = {
    [ATTN_NORM] = {"attn_norm", LLMPERF_WEIGHT_OTHER},
    [ATTN_NORM_2] = {"attn_norm_2", LLMPERF_WEIGHT_OTHER},
    [ATTN_OUTPUT_NORM] = {"attn_output_norm", LLMPERF_WEIGHT_OTHER},
    [POST_ATTENTION_NORM] = {"post_attention_norm", LLMPERF_WEIGHT_OTHER},
    [FFN_NORM] = {"ffn_norm", LLMPERF_WEIGHT_OTHER},
    [POST_FFW_NORM] = {"post_ffw_norm", LLMPERF_WEIGHT_OTHER},
    [LAYER_OUTPUT_NORM] = {"layer_output_norm", LLMPERF_WEIGHT_OTHER},
    [ATTN_QKV] = {"attn_qkv", LLMPERF_WEIGHT_ATTENTION},
    [ATTN_Q] = {"attn_q", LLMPERF_WEIGHT_ATTENTION},
    [ATTN_K] = {"attn_k", LLMPERF_WEIGHT_ATTENTION},
    [ATTN_V] = {"attn_v", LLMPERF_WEIGHT_ATTENTION},
    [ATTN_OUTPUT] = {"attn_output", LLMPERF_WEIGHT_ATTENTION},
    [ATTN_Q_NORM] = {"attn_q_norm", LLMPERF_WEIGHT_OTHER},
    [ATTN_K_NORM] = {"attn_k_norm", LLMPERF_WEIGHT_OTHER},
    [ATTN_SINKS] = {"attn_sinks", LLMPERF_WEIGHT_OTHER},
    [ATTN_Q_A] = {"attn_q_a", LLMPERF_WEIGHT_ATTENTION},
    [ATTN_Q_A_NORM] = {"attn_q_a_norm", LLMPERF_WEIGHT_OTHER},
    [ATTN_Q_B] = {"attn_q_b", LLMPERF_WEIGHT_ATTENTION},
    [ATTN_KV_A] = {"attn_kv_a_mqa", LLMPERF_WEIGHT_ATTENTION},
    [ATTN_KV_A_NORM] = {"attn_kv_a_norm", LLMPERF_WEIGHT_OTHER},
    [ATTN_KV_B] = {"attn_kv_b", LLMPERF_WEIGHT_ATTENTION},
    [ATTN_K_B] = {"attn_k_b", LLMPERF_WEIGHT_ATTENTION},
    [ATTN_V_B] = {"attn_v_b", LLMPERF_WEIGHT_ATTENTION},
    [FFN_GATE] = {"ffn_gate", LLMPERF_WEIGHT_MLP},
    [FFN_UP] = {"ffn_up", LLMPERF_WEIGHT_MLP},
    [FFN_DOWN] = {"ffn_down", LLMPERF_WEIGHT_MLP},
    [FFN_GATE_INP] = {"ffn_gate_inp", LLMPERF_WEIGHT_ROUTER},
    [EXP_PROBS_B] = {"exp_probs_b", LLMPERF_WEIGHT_OTHER},
    [FFN_GATE_EXPS] = {"ffn_gate_exps", LLMPERF_WEIGHT_EXPERTS},
    [FFN_UP_EXPS] = {"ffn_up_exps", LLMPERF_WEIGHT_EXPERTS},
    [FFN_GATE_UP_EXPS] = {"ffn_gate_up_exps", LLMPERF_WEIGHT_EXPERTS},
    [FFN_DOWN_EXPS] = {"ffn_down_exps", LLMPERF_WEIGHT_EXPERTS},
    [FFN_GATE_SHEXP] = {"ffn_gate_shexp", LLMPERF_WEIGHT_SHARED},
    [FFN_UP_SHEXP] = {"ffn_up_shexp", LLMPERF_WEIGHT_SHARED},
    [FFN_DOWN_SHEXP] = {"ffn_down_shexp", LLMPERF_WEIGHT_SHARED},
    [FFN_GATE_INP_SHEXP] = {"ffn_gate_inp_shexp", LLMPERF_WEIGHT_SHARED},
};

/* Constants of rotary positions: no weights of the model. */
static const char *const ROPE_NAMES[] = {"rope_freqs", "rope_factors_long", "rope_factors_short",
                                         "attn_rot_embd", NULL};

/* Weights of one class, bytes of scale tensors beside them included. */
typedef struct class_sum {
    int64_t elements, bytes;
    uint32_t type; /* of the first tensor */
    bool mixed;    /* further types */
} class_sum;

typedef struct block {
    const gguf_tensor *weight[PART_COUNT], *bias[PART_COUNT];
    int64_t single[PART_COUNT]; /* tensors of one expert each, as old files hold them */
    class_sum sums[LLMPERF_WEIGHT_COUNT];
    bool predicts_further; /* a multi-token-prediction block */
} block;

typedef struct gguf_reader {
    const gguf *file;
    const architecture *known;   /* NULL: read by its tensors */
    char name[LLMPERF_NAME_MAX]; /* of the architecture */
    block *blocks;
    int64_t block_count; /* those of multi-token prediction left out */
    class_sum outside[LLMPERF_WEIGHT_COUNT];
    const gguf_tensor *token_embd, *position_embd, *output, *output_bias, *output_norm;
    const gguf_tensor *output_norm_bias, *token_embd_norm, *token_embd_norm_bias;
    int64_t seen;        /* elements of all tensors; bounds every sum */
    int64_t counted;     /* elements of those that the model stands for */
    int64_t not_counted; /* elements outside the blocks that nothing is known of */
    const gguf_tensor *stranger;
    llmperf_model *model;
    class_sum (*layer_sums)[LLMPERF_WEIGHT_COUNT]; /* of each layer shape, when shapes are merged */
    int faults;
    llmperf_error *error;
    llmperf_status status;
} gguf_reader;

static bool fail(gguf_reader *r, int part, int64_t at, llmperf_status status, const char *format,
                 ...) LLMPERF_PRINTF(5, 6);

static bool fail(gguf_reader *r, int part, int64_t at, llmperf_status status, const char *format,
                 ...)
{
    char text[4096];
    va_list arguments;
    if (r->faults++ >= FAULTS_MAX)
        return false;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    llmperf_fail(r->error, status, "%s: byte %lld: %s", r->file->parts[part], (long long)at, text);
    if (r->status == LLMPERF_OK)
        r->status = status;
    return false;
}

/* A fault of the whole header. */
#define FAIL_HEADER(r, ...) fail(r, 0, 0, LLMPERF_E_SPEC, __VA_ARGS__)
#define FAIL_TENSOR(r, tensor, ...)                                                                \
    fail(r, (tensor)->part, (tensor)->at, LLMPERF_E_SPEC, __VA_ARGS__)

/* ---- metadata -------------------------------------------------------------------------------- */

/* "llama.block_count" for "block_count"; fills `key`. NULL when it is absent. */
static const gguf_value *find(gguf_reader *r, const char *suffix, char *key, size_t size)
{
    snprintf(key, size, "%s.%s", r->name, suffix);
    return gguf_get(r->file, key);
}

static bool is_whole(uint32_t type)
{
    return type != GGUF_F32 && type != GGUF_F64 && type != GGUF_STRING && type != GGUF_ARRAY &&
           type != GGUF_BOOL;
}

static bool in_range(gguf_reader *r, const gguf_value *value, int64_t n, int64_t min, int64_t max)
{
    if (n >= min && n <= max)
        return true;
    return fail(r, 0, value->at, LLMPERF_E_SPEC, "%s is %lld; %lld to %lld are allowed", value->key,
                (long long)n, (long long)min, (long long)max);
}

/* A number; arrays are refused. False when it is absent or faulty. */
static bool number(gguf_reader *r, const char *suffix, int64_t min, int64_t max, int64_t *ret_value)
{
    char key[256], described[64];
    const gguf_value *value = find(r, suffix, key, sizeof key);
    if (!value)
        return false;
    if (!is_whole(value->type))
        return fail(r, 0, value->at, LLMPERF_E_SPEC, "%s is of type %s; an integer is allowed", key,
                    gguf_describe(value, described, sizeof described));
    if (!in_range(r, value, value->integer, min, max))
        return false;
    *ret_value = value->integer;
    return true;
}

static bool number_required(gguf_reader *r, const char *suffix, int64_t min, int64_t max,
                            int64_t *ret_value)
{
    char key[256];
    if (find(r, suffix, key, sizeof key))
        return number(r, suffix, min, max, ret_value);
    return FAIL_HEADER(r, "%s is missing; an integer is allowed (dimensions are never guessed)",
                       key);
}

static int64_t number_or(gguf_reader *r, const char *suffix, int64_t max, int64_t absent)
{
    int64_t value = absent;
    number(r, suffix, 0, max, &value);
    return value;
}

/* A number, or an array with one for each block. False when it is absent or faulty. */
static bool number_of_layer(gguf_reader *r, const char *suffix, int64_t i, int64_t max,
                            int64_t *ret_value)
{
    char key[256], described[64];
    const gguf_value *value = find(r, suffix, key, sizeof key);
    if (!value)
        return false;
    if (value->type != GGUF_ARRAY)
        return number(r, suffix, 0, max, ret_value);
    if (!value->items || value->count <= i)
        return fail(r, 0, value->at, LLMPERF_E_SPEC,
                    "%s is an %s; an integer, or one for each block, is allowed", key,
                    gguf_describe(value, described, sizeof described));
    if (!in_range(r, value, value->items[i], 0, max))
        return false;
    *ret_value = value->items[i];
    return true;
}

static bool flag(gguf_reader *r, const char *suffix, bool absent)
{
    char key[256], described[64];
    const gguf_value *value = find(r, suffix, key, sizeof key);
    if (!value)
        return absent;
    if (value->type != GGUF_BOOL) {
        fail(r, 0, value->at, LLMPERF_E_SPEC, "%s is of type %s; a bool is allowed", key,
             gguf_describe(value, described, sizeof described));
        return absent;
    }
    return value->integer != 0;
}

/* A text of 1 to `most` bytes; NULL when it is absent or faulty. */
static const char *text_of(gguf_reader *r, const char *key, int64_t most)
{
    char described[64];
    const gguf_value *value = gguf_get(r->file, key);
    if (!value)
        return NULL;
    if (value->type != GGUF_STRING)
        fail(r, 0, value->at, LLMPERF_E_SPEC, "%s is of type %s; a string is allowed", key,
             gguf_describe(value, described, sizeof described));
    else if (!value->text || value->count > most)
        fail(r, 0, value->at, LLMPERF_E_SPEC, "%s is of %lld bytes; at most %lld are allowed", key,
             (long long)value->count, (long long)most);
    else if (strlen(value->text) != (size_t)value->count)
        fail(r, 0, value->at, LLMPERF_E_SPEC, "%s holds a NUL byte; text is allowed", key);
    else if (value->count > 0)
        return value->text;
    return NULL;
}

/* ---- agreement ------------------------------------------------------------------------------- */

static const char *shape_of(const gguf_tensor *t, char *buffer, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < t->dim_count && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%lld", i ? " x " : "",
                                 (long long)t->dims[i]);
    return buffer;
}

/* The tensor's dimension (1-based) must be what the metadata make it. */
static bool agree(gguf_reader *r, const gguf_tensor *t, int dimension, int64_t want,
                  const char *because)
{
    char shape[128];
    if (!t || t->dims[dimension - 1] == want)
        return true;
    return FAIL_TENSOR(
        r, t, "%s is %s, but %s.%s makes dimension %d of it %lld; agreement is allowed", t->name,
        shape_of(t, shape, sizeof shape), r->name, because, dimension, (long long)want);
}

static bool agree_matrix(gguf_reader *r, const gguf_tensor *t, int64_t in, const char *because_in,
                         int64_t out, const char *because_out)
{
    return agree(r, t, 1, in, because_in) && agree(r, t, 2, out, because_out);
}

static bool missing(gguf_reader *r, int64_t i, int part)
{
    return FAIL_HEADER(r, "the tensor blk.%lld.%s.weight is missing; a whole block is allowed",
                       (long long)i, PARTS[part].name);
}

/* ---- sorting tensors ------------------------------------------------------------------------- */

static void add_type(class_sum *sum, const gguf_tensor *t)
{
    if (sum->elements == 0)
        sum->type = t->type;
    else if (sum->type != t->type)
        sum->mixed = true;
    sum->elements += t->elements;
    sum->bytes += t->bytes;
}

static void add_sum(class_sum *sum, const class_sum *more)
{
    if (more->elements == 0)
        return;
    if (sum->elements == 0)
        sum->type = more->type;
    sum->mixed |= more->mixed || sum->type != more->type;
    sum->elements += more->elements;
    sum->bytes += more->bytes;
}

/* "attn_q.weight" -> "attn_q" and "weight"; the last dot parts them. */
static void split_name(const char *name, char *base, size_t size, const char **ret_suffix)
{
    const char *dot = strrchr(name, '.');
    size_t length = dot ? (size_t)(dot - name) : strlen(name);
    if (length >= size)
        length = size - 1;
    memcpy(base, name, length);
    base[length] = '\0';
    *ret_suffix = dot ? dot + 1 : "";
}

static bool is_scale(const char *suffix)
{
    return strcmp(suffix, "scale") == 0 || strcmp(suffix, "input_scale") == 0;
}

static bool is_rope(const char *base)
{
    for (int i = 0; ROPE_NAMES[i]; i++)
        if (strcmp(base, ROPE_NAMES[i]) == 0)
            return true;
    return false;
}

/* "ffn_up.7": the matrix of one expert, as files of 2023 hold them. */
static int single_expert(const char *base)
{
    static const int parts[][2] = {
        {FFN_GATE, FFN_GATE_EXPS}, {FFN_UP, FFN_UP_EXPS}, {FFN_DOWN, FFN_DOWN_EXPS}};
    const char *dot = strrchr(base, '.');
    if (!dot || dot[1] == '\0' || dot[1 + strspn(dot + 1, "0123456789")] != '\0')
        return PART_COUNT;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strlen(PARTS[parts[i][0]].name) == (size_t)(dot - base) &&
            strncmp(base, PARTS[parts[i][0]].name, (size_t)(dot - base)) == 0)
            return parts[i][1];
    return PART_COUNT;
}

static int part_of(const char *base)
{
    for (int i = 0; i < PART_COUNT; i++)
        if (strcmp(base, PARTS[i].name) == 0)
            return i;
    return PART_COUNT;
}

static bool refuse_stranger(gguf_reader *r, const gguf_tensor *t)
{
    char names[2048];
    if (r->known)
        return fail(r, t->part, t->at, LLMPERF_E_UNSUPPORTED,
                    "%s is not counted by this version: what it does in a block of %s is not known",
                    t->name, r->name);
    list_architectures(names, sizeof names);
    return fail(
        r, t->part, t->at, LLMPERF_E_UNSUPPORTED,
        "the architecture '%s' is not counted by this version, and of its tensor %s nothing "
        "is known; known are %s",
        r->name, t->name, names);
}

static bool sort_block_tensor(gguf_reader *r, block *b, const gguf_tensor *t, const char *rest)
{
    char base[128];
    const char *suffix;
    split_name(rest, base, sizeof base, &suffix);
    if (is_rope(base))
        return true;
    if (strncmp(rest, "nextn.", 6) == 0) {
        b->predicts_further = true;
        add_type(&b->sums[LLMPERF_WEIGHT_OTHER], t);
        r->counted += t->elements;
        return true;
    }
    int part = part_of(base), single = single_expert(base);
    bool is_bias = strcmp(suffix, "bias") == 0;
    if (single < PART_COUNT && strcmp(suffix, "weight") == 0) {
        const gguf_tensor *first = b->weight[single];
        if (first && (first->dims[0] != t->dims[0] || first->dims[1] != t->dims[1]))
            return FAIL_TENSOR(r, t,
                               "%s is of another shape than %s; experts of one shape are "
                               "allowed",
                               t->name, first->name);
        if (!first)
            b->weight[single] = t;
        b->single[single]++;
        add_type(&b->sums[LLMPERF_WEIGHT_EXPERTS], t);
        r->counted += t->elements;
        return true;
    }
    if (part < PART_COUNT && is_scale(suffix)) { /* no weights, but bytes of them */
        b->sums[PARTS[part].weight_class].bytes += t->bytes;
        return true;
    }
    if (part == PART_COUNT || !(is_bias || strcmp(suffix, "weight") == 0))
        return refuse_stranger(r, t);
    const gguf_tensor **slot = is_bias ? &b->bias[part] : &b->weight[part];
    *slot = t;
    add_type(&b->sums[is_bias ? LLMPERF_WEIGHT_OTHER : PARTS[part].weight_class], t);
    r->counted += t->elements;
    return true;
}

static void sort_outer_tensor(gguf_reader *r, const gguf_tensor *t)
{
    struct {
        const char *name;
        const gguf_tensor **slot;
        int weight_class;
    } const rows[] = {
        {"token_embd.weight", &r->token_embd, LLMPERF_WEIGHT_EMBEDDING},
        {"position_embd.weight", &r->position_embd, LLMPERF_WEIGHT_EMBEDDING},
        {"token_embd_norm.weight", &r->token_embd_norm, LLMPERF_WEIGHT_OTHER},
        {"token_embd_norm.bias", &r->token_embd_norm_bias, LLMPERF_WEIGHT_OTHER},
        {"output_norm.weight", &r->output_norm, LLMPERF_WEIGHT_OTHER},
        {"output_norm.bias", &r->output_norm_bias, LLMPERF_WEIGHT_OTHER},
        {"output.weight", &r->output, LLMPERF_WEIGHT_HEAD},
        {"output.bias", &r->output_bias, LLMPERF_WEIGHT_OTHER},
    };
    char base[128];
    const char *suffix;
    split_name(t->name, base, sizeof base, &suffix);
    if (is_rope(base))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(t->name, rows[i].name) == 0) {
            *rows[i].slot = t;
            add_type(&r->outside[rows[i].weight_class], t);
            r->counted += t->elements;
            return;
        }
    if (is_scale(suffix) && strcmp(base, "output") == 0) {
        r->outside[LLMPERF_WEIGHT_HEAD].bytes += t->bytes;
    } else if (is_scale(suffix) && strcmp(base, "token_embd") == 0) {
        r->outside[LLMPERF_WEIGHT_EMBEDDING].bytes += t->bytes;
    } else {
        r->stranger = r->stranger ? r->stranger : t;
        r->not_counted += t->elements;
    }
}

static void sort_tensors(gguf_reader *r)
{
    for (size_t i = 0; i < r->file->tensor_count && r->status == LLMPERF_OK; i++) {
        const gguf_tensor *t = &r->file->tensors[i];
        int64_t block_number = 0;
        const char *c = t->name + 4;
        if (t->elements > ((int64_t)1 << 53) - r->seen) { /* no sum below overflows */
            FAIL_TENSOR(r, t, "more than 2^53 weights in all; at most that is allowed");
            return;
        }
        r->seen += t->elements;
        if (strncmp(t->name, "blk.", 4) != 0) {
            sort_outer_tensor(r, t);
            continue;
        }
        while (*c >= '0' && *c <= '9' && block_number < r->block_count)
            block_number = 10 * block_number + (*c++ - '0');
        if (c == t->name + 4 || *c != '.')
            FAIL_TENSOR(r, t, "%s names no block below %s.block_count %lld; blk.N. is allowed",
                        t->name, r->name, (long long)r->block_count);
        else if (block_number >= r->block_count)
            FAIL_TENSOR(r, t, "%s is of a block beyond %s.block_count %lld; agreement is allowed",
                        t->name, r->name, (long long)r->block_count);
        else
            sort_block_tensor(r, &r->blocks[block_number], t, c + 1);
    }
}

/* Scale tensors add bytes to a class; a header may claim more of them than any format has. */
static bool check_sums(gguf_reader *r, const class_sum *sums, const char *where, int64_t number)
{
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        if (sums[i].elements > 0 && sums[i].bytes > 8 * sums[i].elements)
            return FAIL_HEADER(r,
                               "%s %lld: %lld %s weights hold %lld bytes with their scales; at "
                               "most 64 bits a weight are allowed",
                               where, (long long)number, (long long)sums[i].elements,
                               spec_weight_word(i), (long long)sums[i].bytes);
    return true;
}

static bool check_all_sums(gguf_reader *r)
{
    for (int64_t i = 0; i < r->block_count; i++)
        if (!check_sums(r, r->blocks[i].sums, "block", i))
            return false;
    return check_sums(r, r->outside, "outside the blocks, of which there are", r->block_count);
}

/* ---- formats --------------------------------------------------------------------------------- */

/* The format of a class, from its tensors. A mixture is named by its bits: llama.cpp unpacks all
 * of these to the activations' 16 bit. */
static llmperf_weight_format format_of(const class_sum *sum, uint8_t activations)
{
    llmperf_weight_format format = {0};
    if (sum->elements == 0)
        return format;
    format.bits = 8.0 * (double)sum->bytes / (double)sum->elements;
    switch (sum->mixed ? UINT32_MAX : sum->type) {
    case GGML_F64:
        format.dtype = LLMPERF_DTYPE_FP64;
        return format;
    case GGML_F32:
        format.dtype = LLMPERF_DTYPE_FP32;
        return format;
    case GGML_F16:
        format.dtype = LLMPERF_DTYPE_FP16;
        return format;
    case GGML_BF16:
        format.dtype = LLMPERF_DTYPE_BF16;
        return format;
    case GGML_Q8_0:
        format.dtype = LLMPERF_DTYPE_Q8_0;
        return format;
    case GGML_Q4_0:
        format.dtype = LLMPERF_DTYPE_Q4_0;
        return format;
    case GGML_MXFP4:
        format.dtype = LLMPERF_DTYPE_MXFP4;
        return format;
    case GGML_NVFP4:
        format.dtype = LLMPERF_DTYPE_NVFP4;
        return format;
    default:
        break;
    }
    if (format.bits <= 4.9)
        format.dtype = LLMPERF_DTYPE_INT4;
    else if (format.bits <= 8.6)
        format.dtype = LLMPERF_DTYPE_INT8;
    else
        format.dtype = format.bits <= 24 ? activations : LLMPERF_DTYPE_FP32;
    return format;
}

static void set_formats(const gguf_reader *r, const class_sum *sums, llmperf_weight_format *formats)
{
    memset(formats, 0, LLMPERF_WEIGHT_COUNT * sizeof *formats);
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        formats[i] = format_of(&sums[i], r->model->dtype);
    /* norms and biases enter no product: their arithmetic is the vectors', whatever holds them */
    if (formats[LLMPERF_WEIGHT_OTHER].dtype)
        formats[LLMPERF_WEIGHT_OTHER].dtype = r->model->dtype;
}

static void set_outside(llmperf_model *model, int weight_class, const llmperf_weight_format *format)
{
    model->weight_dtype[weight_class] = format->dtype;
    model->weight_operand[weight_class] = format->operand;
    model->weight_bits[weight_class] = format->bits;
}

static bool same_format(const llmperf_weight_format *a, const llmperf_weight_format *b)
{
    return a->dtype == b->dtype && a->operand == b->operand && a->bits == b->bits;
}

/* A class that all layers hold alike is said once, for the model. */
static void lift_formats(llmperf_model *model, int weight_class)
{
    llmperf_weight_format common = {0};
    if (weight_class == LLMPERF_WEIGHT_OTHER)
        common = (llmperf_weight_format){.dtype = model->weight_dtype[weight_class],
                                         .operand = model->weight_operand[weight_class],
                                         .bits = model->weight_bits[weight_class]};
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_weight_format *own = &model->layers[i].weights[weight_class];
        if (own->dtype && common.dtype && !same_format(own, &common))
            return;
        if (own->dtype)
            common = *own;
    }
    if (!common.dtype)
        return;
    set_outside(model, weight_class, &common);
    for (int i = 0; i < model->layer_kind_count; i++)
        memset(&model->layers[i].weights[weight_class], 0, sizeof(llmperf_weight_format));
}

static void read_formats(gguf_reader *r)
{
    llmperf_model *m = r->model;
    llmperf_weight_format formats[LLMPERF_WEIGHT_COUNT];
    spec_uniform_weights(m, (llmperf_dtype)m->dtype);
    set_formats(r, r->outside, formats);
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        if (formats[i].dtype)
            set_outside(m, i, &formats[i]);
    if (m->tied && formats[LLMPERF_WEIGHT_EMBEDDING].dtype)
        set_outside(m, LLMPERF_WEIGHT_HEAD, &formats[LLMPERF_WEIGHT_EMBEDDING]);
    for (int i = LLMPERF_WEIGHT_ATTENTION; i < LLMPERF_WEIGHT_COUNT; i++)
        lift_formats(m, i);
}

/* ---- a layer --------------------------------------------------------------------------------- */

static int64_t norms_of(const block *b)
{
    int64_t norms = 0;
    for (int i = 0; i < NORM_COUNT; i++)
        norms += b->weight[i] != NULL;
    return norms;
}

static bool plan_norms(gguf_reader *r, const block *b, llmperf_layer *layer)
{
    bool ffn = layer->mlp.ffn > 0 || layer->moe.experts > 0;
    bool mixer = layer->attention.heads > 0 || layer->mla.heads > 0;
    layer->norms = norms_of(b);
    for (int i = 0; i < NORM_COUNT; i++)
        if (!agree(r, b->weight[i], 1, r->model->hidden, "embedding_length"))
            return false;
    if (r->model->norm == LLMPERF_NORM_BARE)
        layer->norms = ffn + mixer;
    else /* one norm ahead of both */
        layer->parallel = ffn && mixer && !b->weight[FFN_NORM] && !b->weight[POST_ATTENTION_NORM] &&
                          !b->weight[POST_FFW_NORM] && !b->weight[ATTN_OUTPUT_NORM];
    if (ffn && mixer && r->model->norm != LLMPERF_NORM_BARE)
        layer->parallel |= flag(r, "use_parallel_residual", false);
    return r->status == LLMPERF_OK;
}

/* Does layer i look through the window? */
static bool is_windowed(gguf_reader *r, int64_t i)
{
    char key[256];
    int64_t item = 0, pattern = r->known ? r->known->pattern : 0;
    const gguf_value *value = find(r, "attention.sliding_window_pattern", key, sizeof key);
    if (value && value->type == GGUF_ARRAY) /* of booleans */
        return number_of_layer(r, "attention.sliding_window_pattern", i, 1, &item) && item != 0;
    if (value)
        number(r, "attention.sliding_window_pattern", 0, LAYERS_MAX, &pattern);
    return pattern == ALL || (pattern > 1 && i % pattern < pattern - 1);
}

static int64_t window_of(gguf_reader *r, int64_t i)
{
    int64_t window =
        number_or(r, "attention.sliding_window", (int64_t)1 << 40, r->known ? r->known->window : 0);
    if (window == 0 || !is_windowed(r, i))
        return 0;
    /* a window as wide as the trained context never bites */
    return r->model->max_context > 0 && window >= r->model->max_context ? 0 : window;
}

static bool has_rope(const gguf_reader *r)
{
    char key[256];
    if (r->position_embd || (r->known && r->known->no_rope))
        return false;
    snprintf(key, sizeof key, "%s.attention.max_alibi_bias", r->name);
    const gguf_value *alibi = gguf_get(r->file, key);
    if (alibi && alibi->real > 0)
        return false;
    /* 13B models of Baichuan carry ALiBi and no key for it; their width tells them apart */
    return strcmp(r->name, "baichuan") != 0 || r->model->hidden < 5120;
}

/* Widths of a head: keys of their own for layers with a window come first. */
static bool head_widths(gguf_reader *r, bool windowed, llmperf_attention *a)
{
    int64_t h = r->model->hidden;
    if (!(windowed && number(r, "attention.key_length_swa", 1, 1 << 16, &a->head_dim)) &&
        !number(r, "attention.key_length", 1, 1 << 16, &a->head_dim)) {
        if (h % a->heads != 0)
            return FAIL_HEADER(r,
                               "%lld heads do not divide %s.embedding_length %lld; "
                               "%s.attention.key_length is required then",
                               (long long)a->heads, r->name, (long long)h, r->name);
        a->head_dim = h / a->heads;
    }
    a->value_dim = a->head_dim;
    if (!(windowed && number(r, "attention.value_length_swa", 1, 1 << 16, &a->value_dim)))
        number(r, "attention.value_length", 1, 1 << 16, &a->value_dim);
    return r->status == LLMPERF_OK;
}

static bool plan_qk_norm(gguf_reader *r, const block *b, llmperf_attention *a)
{
    const gguf_tensor *q = b->weight[ATTN_Q_NORM], *k = b->weight[ATTN_K_NORM];
    if (!q || !k)
        return !q == !k || FAIL_TENSOR(r, q ? q : k,
                                       "%s stands alone; norms of q and k together "
                                       "are allowed",
                                       (q ? q : k)->name);
    if (q->elements == a->head_dim && k->elements == a->head_dim)
        a->qk_norm = LLMPERF_QK_NORM_HEAD;
    else if (q->elements == a->heads * a->head_dim && k->elements == a->kv_heads * a->head_dim)
        a->qk_norm = q->dim_count > 1 ? LLMPERF_QK_NORM_PER_HEAD : LLMPERF_QK_NORM_FULL;
    else
        return FAIL_TENSOR(r, q,
                           "%s has %lld elements, but %s.attention.key_length makes it %lld or "
                           "%lld; agreement is allowed",
                           q->name, (long long)q->elements, r->name, (long long)a->head_dim,
                           (long long)(a->heads * a->head_dim));
    return true;
}

static bool plan_attention(gguf_reader *r, int64_t i, llmperf_layer *layer)
{
    const block *b = &r->blocks[i];
    llmperf_attention *a = &layer->attention;
    int64_t h = r->model->hidden, window = window_of(r, i);
    if (!number_of_layer(r, "attention.head_count_kv", i, 1 << 16, &a->kv_heads))
        a->kv_heads = a->heads;
    if (r->status != LLMPERF_OK)
        return false;
    if (a->kv_heads < 1 || a->heads % a->kv_heads != 0)
        return FAIL_HEADER(r,
                           "%s.attention.head_count_kv %lld of block %lld does not divide "
                           "head_count %lld; a divisor is allowed",
                           r->name, (long long)a->kv_heads, (long long)i, (long long)a->heads);
    if (!head_widths(r, window > 0, a))
        return false;
    bool chunked = r->known && r->known->chunked;
    a->window = chunked ? 0 : window;
    a->chunk = chunked ? window : 0;
    a->rope = has_rope(r) && (!chunked || is_windowed(r, i));
    a->sinks = b->weight[ATTN_SINKS] != NULL;
    int64_t q = a->heads * a->head_dim, k = a->kv_heads * a->head_dim;
    int64_t v = a->kv_heads * a->value_dim;
    const gguf_tensor *const *w = b->weight;
    if (w[ATTN_QKV]) {
        agree_matrix(r, w[ATTN_QKV], h, "embedding_length", q + k + v, "attention.head_count");
        a->qkv_bias = b->bias[ATTN_QKV] != NULL;
    } else {
        for (int part = ATTN_Q; part <= ATTN_V; part++)
            if (!w[part])
                return missing(r, i, part);
        agree_matrix(r, w[ATTN_Q], h, "embedding_length", q, "attention.head_count");
        agree_matrix(r, w[ATTN_K], h, "embedding_length", k, "attention.head_count_kv");
        agree_matrix(r, w[ATTN_V], h, "embedding_length", v, "attention.head_count_kv");
        a->qkv_bias = b->bias[ATTN_Q] != NULL;
    }
    if (!w[ATTN_OUTPUT])
        return missing(r, i, ATTN_OUTPUT);
    agree_matrix(r, w[ATTN_OUTPUT], a->heads * a->value_dim, "attention.head_count", h,
                 "embedding_length");
    a->out_bias = b->bias[ATTN_OUTPUT] != NULL;
    agree(r, w[ATTN_SINKS], 1, a->heads, "attention.head_count");
    return plan_qk_norm(r, b, a) && r->status == LLMPERF_OK;
}

/* Multi-head latent attention. Files since May 2025 write the widths of a head under *_mla, and
 * under the plain keys those of the latent. */
static bool plan_mla(gguf_reader *r, int64_t i, llmperf_layer *layer)
{
    const block *b = &r->blocks[i];
    const gguf_tensor *const *w = b->weight;
    llmperf_mla *m = &layer->mla;
    int64_t h = r->model->hidden, key = 0;
    m->heads = layer->attention.heads;
    memset(&layer->attention, 0, sizeof layer->attention);
    number_required(r, "attention.kv_lora_rank", 1, 1 << 20, &m->kv_rank);
    number_required(r, "rope.dimension_count", 1, 1 << 16, &m->rope_dim);
    if (!number(r, "attention.key_length_mla", 1, 1 << 16, &key))
        number_required(r, "attention.key_length", 1, 1 << 16, &key);
    if (!number(r, "attention.value_length_mla", 1, 1 << 16, &m->value_dim) &&
        !number(r, "attention.value_length", 1, 1 << 16, &m->value_dim))
        m->value_dim = h / m->heads; /* MiniCPM3 writes none; attn_output has to agree */
    if (r->status != LLMPERF_OK)
        return false;
    if (m->value_dim < 1)
        return FAIL_HEADER(r, "%s.attention.value_length is missing; an integer is allowed",
                           r->name);
    m->nope_dim = key - m->rope_dim;
    if (m->nope_dim < 1)
        return FAIL_HEADER(r,
                           "%s.rope.dimension_count %lld leaves nothing of the key length %lld; "
                           "less is allowed",
                           r->name, (long long)m->rope_dim, (long long)key);
    if (w[ATTN_Q_A]) {
        number_required(r, "attention.q_lora_rank", 1, 1 << 20, &m->q_rank);
        if (!w[ATTN_Q_B])
            return missing(r, i, ATTN_Q_B);
        agree_matrix(r, w[ATTN_Q_A], h, "embedding_length", m->q_rank, "attention.q_lora_rank");
        agree_matrix(r, w[ATTN_Q_B], m->q_rank, "attention.q_lora_rank", m->heads * key,
                     "attention.head_count");
    } else if (w[ATTN_Q]) {
        agree_matrix(r, w[ATTN_Q], h, "embedding_length", m->heads * key, "attention.head_count");
    } else {
        return missing(r, i, ATTN_Q);
    }
    agree_matrix(r, w[ATTN_KV_A], h, "embedding_length", m->kv_rank + m->rope_dim,
                 "attention.kv_lora_rank");
    if (w[ATTN_KV_B])
        agree_matrix(r, w[ATTN_KV_B], m->kv_rank, "attention.kv_lora_rank",
                     m->heads * (m->nope_dim + m->value_dim), "attention.head_count");
    else if (!w[ATTN_K_B] || !w[ATTN_V_B])
        return missing(r, i, ATTN_KV_B);
    if (w[ATTN_K_B])
        agree_matrix(r, w[ATTN_K_B], m->nope_dim, "attention.key_length_mla", m->kv_rank,
                     "attention.kv_lora_rank");
    if (w[ATTN_V_B])
        agree_matrix(r, w[ATTN_V_B], m->kv_rank, "attention.kv_lora_rank", m->value_dim,
                     "attention.value_length_mla");
    if (!w[ATTN_OUTPUT])
        return missing(r, i, ATTN_OUTPUT);
    agree_matrix(r, w[ATTN_OUTPUT], m->heads * m->value_dim, "attention.head_count", h,
                 "embedding_length");
    return r->status == LLMPERF_OK;
}

static bool plan_mixer(gguf_reader *r, int64_t i, llmperf_layer *layer)
{
    const block *b = &r->blocks[i];
    bool any = false;
    for (int part = ATTN_QKV; part <= ATTN_V_B; part++)
        any |= b->weight[part] != NULL;
    if (!number_of_layer(r, "attention.head_count", i, 1 << 16, &layer->attention.heads))
        return r->status == LLMPERF_OK &&
               FAIL_HEADER(r,
                           "%s.attention.head_count is missing; an integer is allowed (dimensions "
                           "are never guessed)",
                           r->name);
    if (layer->attention.heads == 0)
        return !any || FAIL_HEADER(r,
                                   "block %lld has attention, but %s.attention.head_count of it "
                                   "is 0; agreement is allowed",
                                   (long long)i, r->name);
    return b->weight[ATTN_KV_A] ? plan_mla(r, i, layer) : plan_attention(r, i, layer);
}

static bool plan_mlp(gguf_reader *r, int64_t i, llmperf_layer *layer)
{
    const block *b = &r->blocks[i];
    const gguf_tensor *const *w = b->weight;
    int64_t h = r->model->hidden, ffn = 0;
    if (!w[FFN_UP] && !w[FFN_DOWN] && !w[FFN_GATE])
        return true;
    if (!w[FFN_UP] || !w[FFN_DOWN])
        return missing(r, i, w[FFN_UP] ? FFN_DOWN : FFN_UP);
    if (!number_of_layer(r, "feed_forward_length", i, 1 << 24, &ffn))
        return r->status == LLMPERF_OK &&
               FAIL_HEADER(r,
                           "%s.feed_forward_length is missing; an integer is allowed (dimensions "
                           "are never guessed)",
                           r->name);
    if (r->known && r->known->half_ffn)
        ffn /= 2;
    /* gate and up in one matrix: Phi-3, GLM-4 */
    bool fused = !w[FFN_GATE] && w[FFN_UP]->dims[1] == 2 * ffn;
    agree_matrix(r, w[FFN_UP], h, "embedding_length", fused ? 2 * ffn : ffn, "feed_forward_length");
    agree_matrix(r, w[FFN_DOWN], ffn, "feed_forward_length", h, "embedding_length");
    if (w[FFN_GATE])
        agree_matrix(r, w[FFN_GATE], h, "embedding_length", ffn, "feed_forward_length");
    layer->mlp = (llmperf_mlp){.ffn = ffn,
                               .gated = fused || w[FFN_GATE],
                               .up_bias = b->bias[FFN_UP] != NULL,
                               .down_bias = b->bias[FFN_DOWN] != NULL};
    return r->status == LLMPERF_OK;
}

static bool agree_experts(gguf_reader *r, const block *b, int part, int64_t in,
                          const char *because_in, int64_t out, const char *because_out,
                          int64_t experts)
{
    const gguf_tensor *t = b->weight[part];
    if (!t)
        return true;
    if (b->single[part] > 0 && b->single[part] != experts)
        return FAIL_TENSOR(r, t,
                           "%lld experts of %s, but %s.expert_count is %lld; agreement is "
                           "allowed",
                           (long long)b->single[part], PARTS[part].name, r->name,
                           (long long)experts);
    return agree_matrix(r, t, in, because_in, out, because_out) &&
           (b->single[part] > 0 || agree(r, t, 3, experts, "expert_count"));
}

static bool plan_shared(gguf_reader *r, int64_t i, llmperf_moe *m)
{
    const block *b = &r->blocks[i];
    const gguf_tensor *const *w = b->weight;
    int64_t h = r->model->hidden, ffn, count = 0;
    if (!w[FFN_UP_SHEXP] && !w[FFN_DOWN_SHEXP])
        return true;
    if (!w[FFN_UP_SHEXP] || !w[FFN_DOWN_SHEXP])
        return missing(r, i, w[FFN_UP_SHEXP] ? FFN_DOWN_SHEXP : FFN_UP_SHEXP);
    ffn = w[FFN_UP_SHEXP]->dims[1];
    if (number(r, "expert_shared_feed_forward_length", 1, 1 << 24, &count))
        agree(r, w[FFN_UP_SHEXP], 2, count, "expert_shared_feed_forward_length");
    else if (number(r, "expert_shared_count", 1, 1 << 16, &count))
        agree(r, w[FFN_UP_SHEXP], 2, count * m->ffn, "expert_shared_count");
    agree(r, w[FFN_UP_SHEXP], 1, h, "embedding_length");
    if (w[FFN_GATE_SHEXP])
        agree_matrix(r, w[FFN_GATE_SHEXP], h, "embedding_length", ffn,
                     "expert_shared_feed_forward_length");
    agree_matrix(r, w[FFN_DOWN_SHEXP], ffn, "expert_shared_feed_forward_length", h,
                 "embedding_length");
    m->shared_ffn = ffn;
    m->shared_gate = w[FFN_GATE_INP_SHEXP] != NULL;
    return r->status == LLMPERF_OK;
}

static bool plan_moe(gguf_reader *r, int64_t i, llmperf_layer *layer)
{
    static const char hidden[] = "embedding_length";
    const block *b = &r->blocks[i];
    const gguf_tensor *const *w = b->weight;
    llmperf_moe *m = &layer->moe;
    int64_t h = r->model->hidden;
    bool fused = w[FFN_GATE_UP_EXPS] != NULL;
    int up = fused ? FFN_GATE_UP_EXPS : FFN_UP_EXPS;
    if (!w[up] && !w[FFN_DOWN_EXPS] && !w[FFN_GATE_EXPS])
        return true;
    if (!w[up] || !w[FFN_DOWN_EXPS])
        return missing(r, i, w[up] ? FFN_DOWN_EXPS : up);
    if (!w[FFN_GATE_INP])
        return missing(r, i, FFN_GATE_INP);
    number_required(r, "expert_count", 1, 1 << 16, &m->experts);
    number_required(r, "expert_used_count", 1, 1 << 16, &m->active);
    const char *width = "expert_feed_forward_length";
    if (!number(r, width, 1, 1 << 24, &m->ffn)) {
        width = "feed_forward_length";
        if (!number_of_layer(r, width, i, 1 << 24, &m->ffn))
            return r->status == LLMPERF_OK &&
                   FAIL_HEADER(r,
                               "%s.expert_feed_forward_length is missing; an integer is allowed "
                               "(dimensions are never guessed)",
                               r->name);
    }
    if (r->status != LLMPERF_OK)
        return false;
    if (m->active > m->experts)
        return FAIL_HEADER(r,
                           "%s.expert_used_count is %lld of %lld experts; at most all of them are "
                           "allowed",
                           r->name, (long long)m->active, (long long)m->experts);
    m->gated = fused || w[FFN_GATE_EXPS];
    agree_experts(r, b, up, h, hidden, fused ? 2 * m->ffn : m->ffn, width, m->experts);
    agree_experts(r, b, FFN_GATE_EXPS, h, hidden, m->ffn, width, m->experts);
    agree_experts(r, b, FFN_DOWN_EXPS, m->ffn, width, h, hidden, m->experts);
    agree_matrix(r, w[FFN_GATE_INP], h, hidden, m->experts, "expert_count");
    m->expert_bias = b->bias[up] != NULL;
    m->router_bias = b->bias[FFN_GATE_INP] || b->bias[EXP_PROBS_B];
    return r->status == LLMPERF_OK && plan_shared(r, i, m);
}

/* Like layers become one shape. False when there is no room for another. */
static bool add_layer(gguf_reader *r, llmperf_layer *layer, const class_sum *sums)
{
    llmperf_model *m = r->model;
    for (int k = 0; k < m->layer_kind_count; k++) {
        layer->count = m->layers[k].count;
        if (memcmp(layer, &m->layers[k], sizeof *layer) != 0)
            continue;
        m->layers[k].count++;
        for (int c = 0; c < LLMPERF_WEIGHT_COUNT; c++)
            add_sum(&r->layer_sums[k][c], &sums[c]);
        return true;
    }
    if (m->layer_kind_count == LLMPERF_LAYER_KINDS_MAX)
        return false;
    layer->count = 1;
    memcpy(r->layer_sums[m->layer_kind_count], sums, sizeof r->layer_sums[0]);
    memcpy(&m->layers[m->layer_kind_count++], layer, sizeof *layer);
    return true;
}

/* Shape of layer i, formats left out. */
static bool plan_layer(gguf_reader *r, int64_t i, llmperf_layer *layer)
{
    memset(layer, 0, sizeof *layer); /* padding too: shapes are compared as bytes */
    layer->count = 1;
    if (!plan_mixer(r, i, layer) || !plan_mlp(r, i, layer) || !plan_moe(r, i, layer))
        return false;
    if (layer->attention.heads == 0 && layer->mla.heads == 0 && layer->mlp.ffn == 0 &&
        layer->moe.experts == 0)
        return FAIL_HEADER(r,
                           "block %lld has neither attention nor a feed-forward network; a whole "
                           "block is allowed",
                           (long long)i);
    return plan_norms(r, &r->blocks[i], layer);
}

/* `formats`: layers that differ in the formats of their weights are different shapes. False when
 * there are too many of them. */
static bool plan_layers(gguf_reader *r, bool formats)
{
    r->model->layer_kind_count = 0;
    for (int64_t i = 0; i < r->block_count && r->status == LLMPERF_OK; i++) {
        llmperf_layer layer;
        if (!plan_layer(r, i, &layer))
            return true;
        if (formats)
            set_formats(r, r->blocks[i].sums, layer.weights);
        if (!add_layer(r, &layer, r->blocks[i].sums))
            return false;
    }
    return true;
}

static void read_layers(gguf_reader *r)
{
    llmperf_model *m = r->model;
    if (plan_layers(r, true))
        return;
    if (!plan_layers(r, false)) {
        fail(r, 0, 0, LLMPERF_E_UNSUPPORTED,
             "more than %d different layer shapes; at most %d are "
             "allowed",
             LLMPERF_LAYER_KINDS_MAX, LLMPERF_LAYER_KINDS_MAX);
        return;
    }
    for (int k = 0; k < m->layer_kind_count; k++)
        set_formats(r, r->layer_sums[k], m->layers[k].weights);
    llmperf_note(&m->warnings,
                 "more than %d layer shapes differ in the formats of their weights: bits are means "
                 "over the layers of one shape",
                 LLMPERF_LAYER_KINDS_MAX);
}

/* ---- the model ------------------------------------------------------------------------------- */

static bool read_architecture(gguf_reader *r)
{
    static const char *const refused[] = {"adapter",   "mmproj",  "clip-vision",
                                          "projector", "imatrix", NULL};
    const char *type = text_of(r, "general.type", 4096);
    for (int i = 0; type && refused[i]; i++)
        if (strcmp(type, refused[i]) == 0)
            return fail(r, 0, gguf_get(r->file, "general.type")->at, LLMPERF_E_UNSUPPORTED,
                        "the file is of type '%s'; 'model' is allowed", type);
    const char *name = text_of(r, "general.architecture", LLMPERF_NAME_MAX - 1);
    if (!name)
        return r->status == LLMPERF_OK &&
               FAIL_HEADER(r, "general.architecture is missing or empty; a name such as 'llama' is "
                              "allowed");
    snprintf(r->name, sizeof r->name, "%s", name);
    llmperf_escape(name, r->model->architecture, sizeof r->model->architecture);
    r->known = architecture_of(name);
    if (r->file->tensor_count == 0)
        return FAIL_HEADER(r, "the file holds no tensors (a vocabulary?); a model is allowed");
    if (!flag(r, "attention.causal", true))
        return fail(r, 0, 0, LLMPERF_E_UNSUPPORTED,
                    "attention of '%s' is not causal; a model that "
                    "generates token by token is allowed",
                    r->name);
    return r->status == LLMPERF_OK;
}

static bool read_blocks(gguf_reader *r)
{
    if (!number_required(r, "block_count", 1, LAYERS_MAX, &r->block_count))
        return false;
    if (r->block_count > (int64_t)r->file->tensor_count) /* bounds what is allocated */
        return FAIL_HEADER(r,
                           "%s.block_count is %lld, but the file holds %zu tensors; at least one "
                           "for each block is allowed",
                           r->name, (long long)r->block_count, r->file->tensor_count);
    r->blocks = calloc((size_t)r->block_count, sizeof *r->blocks);
    r->layer_sums = calloc(LLMPERF_LAYER_KINDS_MAX, sizeof *r->layer_sums);
    if (!r->blocks || !r->layer_sums) {
        r->status =
            llmperf_fail(r->error, LLMPERF_E_MEMORY, "%s: out of memory", r->file->parts[0]);
        return false;
    }
    sort_tensors(r);
    return r->status == LLMPERF_OK && check_all_sums(r);
}

/* Blocks at the end that predict further tokens: reported apart, as serving without speculation
 * never runs them. */
static void count_further_blocks(gguf_reader *r)
{
    llmperf_model *m = r->model;
    int64_t blocks = 0;
    while (r->block_count > 1 && r->blocks[r->block_count - 1].predicts_further) {
        const class_sum *sums = r->blocks[--r->block_count].sums;
        for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
            m->mtp_params += sums[i].elements;
        blocks++;
    }
    r->counted -= m->mtp_params;
    for (int64_t i = 0; i < r->block_count; i++)
        if (r->blocks[i].predicts_further)
            FAIL_HEADER(r,
                        "block %lld predicts further tokens, but is not among the last; the last "
                        "blocks are allowed",
                        (long long)i);
    if (blocks > 0)
        snprintf(m->not_counted, sizeof m->not_counted, "%lld multi-token-prediction layer%s",
                 (long long)blocks, blocks == 1 ? "" : "s");
}

/* Norms of the file: of the layers, else of the head. */
static uint8_t norm_of(gguf_reader *r)
{
    char key[256];
    bool weight = r->output_norm != NULL, bias = r->output_norm_bias != NULL;
    for (int64_t i = 0; i < r->block_count; i++)
        for (int part = 0; part < NORM_COUNT; part++) {
            weight |= r->blocks[i].weight[part] != NULL;
            bias |= r->blocks[i].bias[part] != NULL;
        }
    if (bias)
        return LLMPERF_NORM_LAYER;
    if (!weight)
        return LLMPERF_NORM_BARE;
    bool layer = find(r, "attention.layer_norm_epsilon", key, sizeof key) != NULL;
    bool rms = find(r, "attention.layer_norm_rms_epsilon", key, sizeof key) != NULL;
    return layer && !rms ? LLMPERF_NORM_LAYER_NOBIAS : LLMPERF_NORM_RMS;
}

static void read_vocab(gguf_reader *r)
{
    llmperf_model *m = r->model;
    const gguf_value *tokens = gguf_get(r->file, "tokenizer.ggml.tokens");
    int64_t said = 0;
    if (!r->token_embd) {
        FAIL_HEADER(r, "the tensor token_embd.weight is missing; it is required");
        return;
    }
    m->vocab = r->token_embd->dims[1];
    if (!agree(r, r->token_embd, 1, m->hidden, "embedding_length"))
        return;
    if (tokens && tokens->type == GGUF_ARRAY && tokens->count != m->vocab)
        FAIL_TENSOR(r, r->token_embd,
                    "%s has %lld rows, but tokenizer.ggml.tokens has %lld items; "
                    "agreement is allowed",
                    r->token_embd->name, (long long)m->vocab, (long long)tokens->count);
    else if (number(r, "vocab_size", 1, 1 << 24, &said) && said != m->vocab) {
        if (tokens) /* readers go by the tokens */
            llmperf_note(&m->warnings,
                         "%s.vocab_size is %lld, but tokens and embedding are %lld: the "
                         "latter is taken",
                         r->name, (long long)said, (long long)m->vocab);
        else
            agree(r, r->token_embd, 2, said, "vocab_size");
    }
    if (m->vocab > 1 << 24)
        FAIL_TENSOR(r, r->token_embd, "a vocabulary of %lld; at most 2^24 is allowed",
                    (long long)m->vocab);
}

static void read_outside(gguf_reader *r)
{
    llmperf_model *m = r->model;
    read_vocab(r);
    m->embedding_dim = m->hidden;
    m->tied = r->output == NULL;
    if (r->output)
        agree_matrix(r, r->output, m->hidden, "embedding_length", m->vocab, "vocab_size");
    m->head_bias = r->output_bias != NULL;
    agree(r, r->output_bias, 1, m->vocab, "vocab_size");
    m->final_norm = r->output_norm != NULL || m->norm == LLMPERF_NORM_BARE;
    agree(r, r->output_norm, 1, m->hidden, "embedding_length");
    m->embedding_norm = r->token_embd_norm != NULL;
    agree(r, r->token_embd_norm, 1, m->hidden, "embedding_length");
    if (r->position_embd) {
        agree(r, r->position_embd, 1, m->hidden, "embedding_length");
        m->position_embeddings = r->position_embd->dims[1];
        if (m->position_embeddings > 1 << 30)
            FAIL_TENSOR(r, r->position_embd, "%lld positions; at most 2^30 are allowed",
                        (long long)m->position_embeddings);
    }
}

/* 16-bit activations: bf16 where weights are, else fp16. */
static void read_dtype(gguf_reader *r)
{
    r->model->dtype = LLMPERF_DTYPE_FP16;
    for (size_t i = 0; i < r->file->tensor_count; i++)
        if (r->file->tensors[i].type == GGML_BF16)
            r->model->dtype = LLMPERF_DTYPE_BF16;
}

static const char *const FILE_TYPES[] = {
    [2] = "Q4_0",    [3] = "Q4_1",    [7] = "Q8_0",    [8] = "Q5_0",     [9] = "Q5_1",
    [10] = "Q2_K",   [11] = "Q3_K_S", [12] = "Q3_K_M", [13] = "Q3_K_L",  [14] = "Q4_K_S",
    [15] = "Q4_K_M", [16] = "Q5_K_S", [17] = "Q5_K_M", [18] = "Q6_K",    [19] = "IQ2_XXS",
    [20] = "IQ2_XS", [21] = "Q2_K_S", [22] = "IQ3_XS", [23] = "IQ3_XXS", [24] = "IQ1_S",
    [25] = "IQ4_NL", [26] = "IQ3_S",  [27] = "IQ3_M",  [28] = "IQ2_S",   [29] = "IQ2_M",
    [30] = "IQ4_XS", [31] = "IQ1_M",  [36] = "TQ1_0",  [37] = "TQ2_0",   [38] = "MXFP4",
    [39] = "NVFP4",  [40] = "Q1_0",
};

enum { FILE_TYPE_GUESSED = 1024 };

/* The tensor type that holds most bytes of quantised weights; NULL when nothing is quantised. */
static const char *main_type(const gguf *file)
{
    double bytes[64] = {0};
    int best = -1;
    for (size_t i = 0; i < file->tensor_count; i++) {
        uint32_t type = file->tensors[i].type;
        if (gguf_format_of(type)->block == 1 || type >= 64)
            continue;
        bytes[type] += (double)file->tensors[i].bytes;
        if (best < 0 || bytes[type] > bytes[best])
            best = (int)type;
    }
    return best < 0 ? NULL : gguf_format_of((uint32_t)best)->name;
}

/* "gguf Q4_K_M"; nothing for files of floats. */
static void read_scheme(gguf_reader *r)
{
    const gguf_value *type = gguf_get(r->file, "general.file_type");
    const gguf_value *version = gguf_get(r->file, "general.quantization_version");
    const char *name = main_type(r->file);
    char scheme[sizeof r->model->scheme];
    if (!name)
        return;
    if (type && is_whole(type->type)) {
        int64_t n = type->integer & ~(int64_t)FILE_TYPE_GUESSED;
        if (n >= 0 && n < (int64_t)(sizeof FILE_TYPES / sizeof *FILE_TYPES) && FILE_TYPES[n])
            name = FILE_TYPES[n];
    }
    snprintf(scheme, sizeof scheme, "gguf %s", name);
    if (version && is_whole(version->type) && version->integer != 2) /* 2 since May 2023 */
        snprintf(r->model->scheme, sizeof r->model->scheme, "%.20s, version %lld", scheme,
                 (long long)version->integer);
    else
        snprintf(r->model->scheme, sizeof r->model->scheme, "%s", scheme);
}

/* general.name, else the file's stem. */
static void read_name(gguf_reader *r)
{
    llmperf_model *m = r->model;
    const char *name = text_of(r, "general.name", 4096);
    if (name)
        llmperf_escape(name, m->name, sizeof m->name);
    if (m->name[0])
        return;
    const char *path = r->file->parts[0], *slash = strrchr(path, '/');
    llmperf_escape(slash ? slash + 1 : path, m->name, sizeof m->name);
    char *dot = strrchr(m->name, '.');
    if (dot && dot != m->name)
        *dot = '\0';
    if (!m->name[0])
        snprintf(m->name, sizeof m->name, "%s", m->architecture);
}

static void warn(gguf_reader *r)
{
    llmperf_model *m = r->model;
    char key[256];
    if (!r->known)
        llmperf_note(&m->warnings,
                     "the architecture '%s' is not known: it is read as its tensors "
                     "say%s",
                     r->name,
                     find(r, "attention.sliding_window", key, sizeof key) &&
                             !find(r, "attention.sliding_window_pattern", key, sizeof key)
                         ? ", and its sliding window is not counted"
                         : "");
    if (r->stranger) {
        size_t used = strlen(m->not_counted);
        snprintf(m->not_counted + used, sizeof m->not_counted - used,
                 "%s%lld weights of tensors such as %s", used ? ", " : "",
                 (long long)r->not_counted, r->stranger->name);
        llmperf_note(&m->warnings,
                     "%s is outside the blocks and not known: %lld weights are not "
                     "counted",
                     r->stranger->name, (long long)r->not_counted);
    }
    int64_t total = llmperf_model_params(m).total;
    if (total != r->counted)
        llmperf_note(&m->warnings, "the tensors hold %lld weights, the model as it is counted %lld",
                     (long long)r->counted, (long long)total);
}

static void read_model(gguf_reader *r)
{
    llmperf_model *m = r->model;
    if (!read_architecture(r) || !read_blocks(r))
        return;
    count_further_blocks(r);
    number_required(r, "embedding_length", 1, 1 << 20, &m->hidden);
    m->max_context = number_or(r, "context_length", (int64_t)1 << 40, 0);
    if (r->known && r->known->no_limit)
        m->max_context = 0;
    if (r->status != LLMPERF_OK)
        return;
    read_dtype(r);
    m->norm = norm_of(r);
    read_outside(r);
    read_layers(r);
    if (r->status != LLMPERF_OK)
        return;
    read_formats(r);
    read_scheme(r);
    read_name(r);
    snprintf(m->source, sizeof m->source, "GGUF header");
}

static llmperf_status read_gguf(gguf *file, llmperf_model *ret_model, llmperf_error *error)
{
    llmperf_model model = {0};
    gguf_reader r = {.file = file, .model = &model, .error = error};
    read_model(&r);
    if (r.status == LLMPERF_OK)
        r.status = llmperf_model_check(&model, error);
    if (r.status == LLMPERF_OK) {
        warn(&r);
        *ret_model = model;
    }
    free(r.blocks);
    free(r.layer_sums);
    gguf_free(file);
    return r.status;
}

llmperf_status spec_gguf_load(const char *path, llmperf_model *ret_model, llmperf_error *error)
{
    gguf *file;
    llmperf_status status = gguf_load_file(path, &file, error);
    return status == LLMPERF_OK ? read_gguf(file, ret_model, error) : status;
}

llmperf_status spec_gguf_load_memory(const char *name, const void *data, size_t size,
                                     llmperf_model *ret_model, llmperf_error *error)
{
    gguf *file;
    llmperf_status status = gguf_load_memory(name, data, size, &file, error);
    return status == LLMPERF_OK ? read_gguf(file, ret_model, error) : status;
}

bool spec_gguf_is(const char *path)
{
    size_t length = strlen(path);
    return (length > 5 && strcasecmp(path + length - 5, ".gguf") == 0) || gguf_has_magic(path);
}
