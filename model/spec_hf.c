/* SPDX-License-Identifier: MIT */
/*
 * Hugging Face config.json -> llmperf_model, by a table of model types.
 *
 * A config.json says dimensions, its model type says the rest: biases, norms, whether the FFN is
 * gated, whether the head is tied when no key says so. A row per model type holds those facts; a
 * few types need a hook for a dimension that they write in their own way. Dimensions are never
 * guessed: what is missing is named, all of it at once.
 */
#include <stdio.h>
#include <string.h>

#include "doc.h"
#include "internal.h"
#include "spec_read.h"

/* When an optional bias is there. */
typedef enum bias_rule {
    BIAS_NEVER,
    BIAS_ALWAYS,
    BIAS_KEY_OFF, /* the family's key decides; absent = no */
    BIAS_KEY_ON,  /* the family's key decides; absent = yes */
} bias_rule;

typedef enum position_rule {
    POSITIONS_ROPE,
    POSITIONS_LEARNED, /* a table of max_position rows */
    POSITIONS_NONE,    /* ALiBi and the like: no weights, no pass over q and k */
} position_rule;

/* Which layers look through a window when the config has one. */
typedef enum window_rule {
    WINDOW_IGNORED,   /* the type has no windows */
    WINDOW_ALL,       /* every layer */
    WINDOW_FROM,      /* use_sliding_window; layers from max_window_layers on */
    WINDOW_EVEN,      /* layers 0, 2, 4 ... */
    WINDOW_PATTERN,   /* sliding_window_pattern N: every Nth layer is full */
} window_rule;

typedef enum ffn_rule {
    FFN_REQUIRED,
    FFN_FOUR_HIDDEN, /* 4 x hidden when absent or null */
} ffn_rule;

typedef struct hf_family hf_family;
typedef struct hf_reader hf_reader;

struct hf_family {
    const char *model_type;
    bool gated;
    bool tied; /* when no key says so */
    uint8_t norm, norms, qk_norm;
    bool parallel, embedding_norm, head_bias;
    bias_rule qkv_bias, out_bias, mlp_bias;
    const char *bias_key; /* of qkv and out */
    const char *mlp_bias_key;
    position_rule positions;
    int position_offset; /* extra rows of a learned table */
    window_rule windows;
    int pattern; /* WINDOW_PATTERN without its key */
    ffn_rule ffn;
    bool head_dim_required; /* hidden / heads would be a guess */
    void (*hook)(hf_reader *r);
};

struct hf_reader {
    const doc *document;
    const hf_family *family;
    doc_node *outer; /* the file's root */
    doc_node *map;   /* where the text model's keys are */
    llmperf_model *model;
    llmperf_layer layer;
    int64_t layers;
    llmperf_error *error;
    llmperf_status status;
};

static void hook_gpt_bigcode(hf_reader *r);
static void hook_falcon(hf_reader *r);
static void hook_qwen1(hf_reader *r);
static void hook_mpt(hf_reader *r);
static void hook_opt(hf_reader *r);
static void hook_chatglm(hf_reader *r);
static void hook_gpt_neox(hf_reader *r);
static void hook_baichuan(hf_reader *r);
static void hook_stablelm(hf_reader *r);
static void hook_cohere(hf_reader *r);
static void hook_bloom(hf_reader *r);

#define RMS .norm = LLMPERF_NORM_RMS, .norms = 2
#define LAYER_NORM .norm = LLMPERF_NORM_LAYER, .norms = 2
#define LLAMA_LIKE .gated = true, RMS
#define ALL_BIASES .qkv_bias = BIAS_ALWAYS, .out_bias = BIAS_ALWAYS, .mlp_bias = BIAS_ALWAYS

/* In alphabetical order. Facts: the reference implementation of each type. */
static const hf_family FAMILIES[] = {
    {"Yi", LLAMA_LIKE},
    {"apertus", .gated = false, RMS, .qk_norm = LLMPERF_QK_NORM_HEAD, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"arcee", .gated = false, RMS, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "mlp_bias"},
    {"baichuan", LLAMA_LIKE, .hook = hook_baichuan},
    {"bloom", LAYER_NORM, .tied = true, ALL_BIASES, .embedding_norm = true,
     .positions = POSITIONS_NONE, .ffn = FFN_FOUR_HIDDEN, .hook = hook_bloom},
    {"chatglm", LLAMA_LIKE, .qkv_bias = BIAS_KEY_OFF, .bias_key = "add_qkv_bias",
     .out_bias = BIAS_NEVER, .hook = hook_chatglm},
    {"codegen", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true, .mlp_bias = BIAS_ALWAYS,
     .head_bias = true, .ffn = FFN_FOUR_HIDDEN},
    {"cohere", .gated = true, .norm = LLMPERF_NORM_LAYER_NOBIAS, .norms = 1, .parallel = true,
     .tied = true, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .hook = hook_cohere},
    {"cohere2", .gated = true, .norm = LLMPERF_NORM_LAYER_NOBIAS, .norms = 1, .parallel = true,
     .tied = true, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .windows = WINDOW_PATTERN, .pattern = 4},
    {"ernie4_5", LLAMA_LIKE, .tied = true, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "use_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "use_bias"},
    {"exaone", LLAMA_LIKE},
    {"exaone4", LLAMA_LIKE, .qk_norm = LLMPERF_QK_NORM_HEAD, .windows = WINDOW_PATTERN,
     .pattern = 4},
    {"falcon", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true,
     .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF, .bias_key = "bias",
     .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "bias", .ffn = FFN_FOUR_HIDDEN,
     .hook = hook_falcon},
    {"gemma", LLAMA_LIKE, .tied = true, .head_dim_required = true, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"gemma2", .gated = true, .norm = LLMPERF_NORM_RMS, .norms = 4, .tied = true,
     .head_dim_required = true, .windows = WINDOW_EVEN},
    {"gemma3_text", .gated = true, .norm = LLMPERF_NORM_RMS, .norms = 4, .tied = true,
     .head_dim_required = true, .qk_norm = LLMPERF_QK_NORM_HEAD, .windows = WINDOW_PATTERN,
     .pattern = 6},
    {"glm", LLAMA_LIKE, .qkv_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"glm4", .gated = true, .norm = LLMPERF_NORM_RMS, .norms = 4, .qkv_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias"},
    {"gpt2", LAYER_NORM, .tied = true, ALL_BIASES, .positions = POSITIONS_LEARNED,
     .ffn = FFN_FOUR_HIDDEN},
    {"gpt_bigcode", LAYER_NORM, .tied = true, ALL_BIASES, .positions = POSITIONS_LEARNED,
     .ffn = FFN_FOUR_HIDDEN, .hook = hook_gpt_bigcode},
    {"gpt_neox", LAYER_NORM, .qkv_bias = BIAS_KEY_ON, .out_bias = BIAS_KEY_ON,
     .bias_key = "attention_bias", .mlp_bias = BIAS_ALWAYS, .hook = hook_gpt_neox},
    {"gptj", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true, .mlp_bias = BIAS_ALWAYS,
     .head_bias = true, .ffn = FFN_FOUR_HIDDEN},
    {"granite", LLAMA_LIKE, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "mlp_bias"},
    {"helium", LLAMA_LIKE, .head_dim_required = true, .qkv_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias"},
    {"hunyuan_v1_dense", LLAMA_LIKE, .qk_norm = LLMPERF_QK_NORM_HEAD, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"internlm", LLAMA_LIKE, .qkv_bias = BIAS_KEY_ON, .out_bias = BIAS_KEY_ON, .bias_key = "bias"},
    {"internlm2", LLAMA_LIKE, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "bias"},
    {"internlm3", LLAMA_LIKE, .qkv_bias = BIAS_KEY_OFF, .bias_key = "qkv_bias",
     .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "bias"},
    {"llama", LLAMA_LIKE, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "mlp_bias"},
    {"minicpm", LLAMA_LIKE, .tied = true},
    {"ministral", LLAMA_LIKE, .windows = WINDOW_ALL},
    {"ministral3", LLAMA_LIKE, .windows = WINDOW_ALL},
    {"mistral", LLAMA_LIKE, .windows = WINDOW_ALL},
    {"mpt", .norm = LLMPERF_NORM_LAYER_NOBIAS, .norms = 2, .tied = true,
     .positions = POSITIONS_LEARNED, .ffn = FFN_FOUR_HIDDEN, .hook = hook_mpt},
    {"nemotron", LAYER_NORM, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "mlp_bias"},
    {"olmo", .gated = true, .norm = LLMPERF_NORM_BARE, .norms = 2, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"olmo2", LLAMA_LIKE, .qk_norm = LLMPERF_QK_NORM_FULL, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias"},
    {"olmo3", LLAMA_LIKE, .qk_norm = LLMPERF_QK_NORM_FULL, .qkv_bias = BIAS_KEY_OFF,
     .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias", .windows = WINDOW_PATTERN,
     .pattern = 4},
    {"opt", LAYER_NORM, .tied = true, .qkv_bias = BIAS_KEY_ON, .out_bias = BIAS_KEY_ON,
     .bias_key = "enable_bias", .mlp_bias = BIAS_KEY_ON, .mlp_bias_key = "enable_bias",
     .positions = POSITIONS_LEARNED, .position_offset = 2, .hook = hook_opt},
    {"phi", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true, ALL_BIASES,
     .head_bias = true, .ffn = FFN_FOUR_HIDDEN},
    {"phi-msft", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true, ALL_BIASES,
     .head_bias = true, .ffn = FFN_FOUR_HIDDEN},
    {"phi3", LLAMA_LIKE, .windows = WINDOW_ALL},
    {"qwen", LLAMA_LIKE, .qkv_bias = BIAS_ALWAYS, .hook = hook_qwen1},
    {"qwen2", LLAMA_LIKE, .qkv_bias = BIAS_ALWAYS, .windows = WINDOW_FROM},
    {"qwen3", LLAMA_LIKE, .qk_norm = LLMPERF_QK_NORM_HEAD, .head_dim_required = true,
     .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF, .bias_key = "attention_bias",
     .windows = WINDOW_FROM},
    {"RefinedWeb", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true,
     .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF, .bias_key = "bias",
     .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "bias", .ffn = FFN_FOUR_HIDDEN,
     .hook = hook_falcon},
    {"RefinedWebModel", .norm = LLMPERF_NORM_LAYER, .norms = 1, .parallel = true,
     .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF, .bias_key = "bias",
     .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "bias", .ffn = FFN_FOUR_HIDDEN,
     .hook = hook_falcon},
    {"seed_oss", LLAMA_LIKE, .head_dim_required = true, .qkv_bias = BIAS_KEY_ON,
     .bias_key = "attention_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "mlp_bias"},
    {"smollm3", LLAMA_LIKE, .tied = true, .qkv_bias = BIAS_KEY_OFF, .out_bias = BIAS_KEY_OFF,
     .bias_key = "attention_bias", .mlp_bias = BIAS_KEY_OFF, .mlp_bias_key = "mlp_bias"},
    {"stablelm", .gated = true, LAYER_NORM, .qkv_bias = BIAS_KEY_OFF, .bias_key = "use_qkv_bias",
     .hook = hook_stablelm},
    {"starcoder2", LAYER_NORM, .tied = true, .qkv_bias = BIAS_KEY_ON, .out_bias = BIAS_KEY_ON,
     .bias_key = "use_bias", .mlp_bias = BIAS_KEY_ON, .mlp_bias_key = "use_bias",
     .windows = WINDOW_ALL},
};

/* Keys by which public configs name a dimension, the usual one first. */
static const char *const HIDDEN_KEYS[] = {"hidden_size", "n_embd", "d_model", "n_embed", NULL};
static const char *const LAYERS_KEYS[] = {"num_hidden_layers", "n_layer", "num_layers", "n_layers",
                                          NULL};
static const char *const HEADS_KEYS[] = {"num_attention_heads", "n_head", "n_heads", "num_heads",
                                         NULL};
static const char *const KV_HEADS_KEYS[] = {"num_key_value_heads", "num_kv_heads", "n_head_kv",
                                            NULL};
static const char *const HEAD_DIM_KEYS[] = {"head_dim", "kv_channels", "attention_head_dim", NULL};
static const char *const FFN_KEYS[] = {"intermediate_size", "ffn_dim", "n_inner",
                                       "ffn_hidden_size", NULL};
static const char *const VOCAB_KEYS[] = {"padded_vocab_size", "vocab_size", NULL};
static const char *const CONTEXT_KEYS[] = {"max_position_embeddings", "n_positions", "n_ctx",
                                           "seq_length", "max_seq_len", "max_sequence_length",
                                           "model_max_length", NULL};

static bool done(hf_reader *r, llmperf_status status)
{
    if (status != LLMPERF_OK && r->status == LLMPERF_OK)
        r->status = status;
    return status == LLMPERF_OK;
}

/* null counts as absent. */
static doc_node *find(doc_node *map, const char *key)
{
    doc_node *node = doc_get(map, key);
    return doc_is_null(node) ? NULL : node;
}

static doc_node *find_any(doc_node *map, const char *const *keys)
{
    for (int i = 0; keys[i]; i++) {
        doc_node *node = find(map, keys[i]);
        if (node)
            return node;
    }
    return NULL;
}

/* An optional dimension; false when it is absent (or faulty, which is reported). */
static bool dimension(hf_reader *r, const char *const *keys, int64_t max, int64_t *ret_value)
{
    doc_node *node = find_any(r->map, keys);
    return node && done(r, doc_int64(r->document, node, 1, max, ret_value, r->error));
}

static bool dimension_required(hf_reader *r, const char *const *keys, int64_t max,
                               int64_t *ret_value)
{
    if (find_any(r->map, keys))
        return dimension(r, keys, max, ret_value);
    return done(r, doc_fail(r->document, r->map, r->error,
                            "%s is missing or null; %s models need it (dimensions are never "
                            "guessed)",
                            keys[0], r->family->model_type));
}

static bool flag(hf_reader *r, const char *key, bool absent)
{
    doc_node *node = key ? find(r->map, key) : NULL;
    bool value = absent;
    if (node)
        done(r, doc_bool(r->document, node, &value, r->error));
    return value;
}

static bool has_bias(hf_reader *r, bias_rule rule, const char *key)
{
    switch (rule) {
    case BIAS_ALWAYS:
        return true;
    case BIAS_KEY_OFF:
        return flag(r, key, false);
    case BIAS_KEY_ON:
        return flag(r, key, true);
    default:
        return false;
    }
}

/* ---- what some types write in their own way ------------------------------------------------------ */

static void hook_gpt_bigcode(hf_reader *r)
{
    if (flag(r, "multi_query", true))
        r->layer.attention.kv_heads = 1;
}

static void hook_falcon(hf_reader *r)
{
    llmperf_attention *a = &r->layer.attention;
    bool new_decoder = flag(r, "new_decoder_architecture",
                            strcmp(r->family->model_type, "RefinedWeb") == 0);
    if (!new_decoder) /* num_kv_heads is stale in old files: the flag decides */
        a->kv_heads = flag(r, "multi_query", true) ? 1 : a->heads;
    r->layer.parallel = new_decoder || flag(r, "parallel_attn", true);
    int64_t norms = new_decoder ? 2 : 1; /* ln_attn and ln_mlp side by side */
    doc_node *node = find(r->map, "num_ln_in_parallel_attn");
    if (node)
        done(r, doc_int64(r->document, node, 1, 2, &norms, r->error));
    r->layer.norms = r->layer.parallel ? norms : 2;
    if (flag(r, "alibi", false))
        a->rope = false;
}

static void hook_qwen1(hf_reader *r)
{
    /* intermediate_size is gate and up together */
    r->layer.mlp.ffn /= 2;
}

static void hook_mpt(hf_reader *r)
{
    llmperf_attention *a = &r->layer.attention;
    doc_node *config = find(r->map, "attn_config");
    doc_node *kv = find(config, "kv_n_heads");
    doc_node *type = find(config, "attn_type");
    doc_node *alibi = find(config, "alibi");
    doc_node *ratio = find(r->map, "expansion_ratio");
    bool has_alibi = false;
    char word[32] = "";
    if (type)
        done(r, doc_text(r->document, type, word, sizeof word, r->error));
    if (strcmp(word, "multiquery_attention") == 0)
        a->kv_heads = 1;
    else if (kv)
        done(r, doc_int64(r->document, kv, 1, 1 << 16, &a->kv_heads, r->error));
    if (alibi)
        done(r, doc_bool(r->document, alibi, &has_alibi, r->error));
    if (has_alibi || !flag(r, "learned_pos_emb", true))
        r->model->position_embeddings = 0;
    int64_t times = 4;
    if (ratio && done(r, doc_int64(r->document, ratio, 1, 1024, &times, r->error)))
        r->layer.mlp.ffn = times * r->model->hidden;
    if (!flag(r, "no_bias", true)) {
        r->model->norm = LLMPERF_NORM_LAYER;
        a->qkv_bias = a->out_bias = true;
        r->layer.mlp.up_bias = r->layer.mlp.down_bias = true;
    }
}

static void hook_opt(hf_reader *r)
{
    static const char *const projection[] = {"word_embed_proj_dim", NULL};
    dimension(r, projection, 1 << 20, &r->model->embedding_dim);
    r->model->final_norm =
        flag(r, "do_layer_norm_before", true) && !flag(r, "_remove_final_layer_norm", false);
}

static void hook_chatglm(hf_reader *r)
{
    static const char *const groups[] = {"multi_query_group_num", NULL};
    if (flag(r, "multi_query_attention", false))
        dimension_required(r, groups, 1 << 16, &r->layer.attention.kv_heads);
    if (flag(r, "add_bias_linear", false)) {
        r->layer.attention.qkv_bias = r->layer.attention.out_bias = true;
        r->layer.mlp.up_bias = r->layer.mlp.down_bias = true;
    }
}

static void hook_gpt_neox(hf_reader *r)
{
    r->layer.parallel = flag(r, "use_parallel_residual", true);
}

static void hook_baichuan(hf_reader *r)
{
    /* 13B models carry ALiBi and no rotary positions; their width tells them apart */
    if (r->model->hidden >= 5120)
        r->layer.attention.rope = false;
}

static void hook_stablelm(hf_reader *r)
{
    r->layer.parallel = flag(r, "use_parallel_residual", false);
    if (r->layer.parallel)
        r->layer.norms = 1;
    if (flag(r, "qk_layernorm", false))
        r->layer.attention.qk_norm = LLMPERF_QK_NORM_PER_HEAD;
}

static void hook_cohere(hf_reader *r)
{
    if (flag(r, "use_qk_norm", false))
        r->layer.attention.qk_norm = LLMPERF_QK_NORM_PER_HEAD;
}

static void hook_bloom(hf_reader *r)
{
    r->model->max_context = 0; /* ALiBi: seq_length is the training run's, not a limit */
}

/* ---- the common part ---------------------------------------------------------------------------------- */

static void read_dtype(hf_reader *r)
{
    llmperf_model *m = r->model;
    static const char *const keys[] = {"torch_dtype", "dtype", NULL};
    doc_node *node = find_any(r->map, keys);
    if (!node && r->map != r->outer)
        node = find_any(r->outer, keys);
    m->dtype = LLMPERF_DTYPE_BF16;
    char text[64] = "";
    if (!node) {
        llmperf_note(&m->notes, "the config names no dtype: bf16 is taken");
        return;
    }
    if (!done(r, doc_text(r->document, node, text, sizeof text, r->error)))
        return;
    if (strcmp(text, "auto") == 0) {
        llmperf_note(&m->notes, "torch_dtype is auto: bf16 is taken; --weight-dtype and "
                                "--act-dtype say otherwise");
        return;
    }
    llmperf_dtype dtype = llmperf_dtype_parse(text);
    if (dtype == LLMPERF_DTYPE_NONE) {
        const char *near = llmperf_nearest(text, llmperf_dtype_names());
        done(r, doc_fail(r->document, node, r->error,
                         "%s is '%s'%s%s%s; bfloat16, float16, float32 or another known dtype is "
                         "allowed",
                         node->key, text, near ? ", did you mean '" : "", near ? near : "",
                         near ? "'?" : ""));
        return;
    }
    if (dtype == LLMPERF_DTYPE_FP32 || dtype == LLMPERF_DTYPE_FP64) {
        llmperf_note(&m->notes, "the config says %s: weights are served in 16 bit, bf16 is taken "
                                "(--weight-dtype fp32 --act-dtype fp32 for full precision)", text);
        return;
    }
    m->dtype = (uint8_t)dtype;
}

static void read_dimensions(hf_reader *r)
{
    llmperf_model *m = r->model;
    llmperf_layer *layer = &r->layer;
    llmperf_attention *a = &layer->attention;
    const hf_family *f = r->family;
    bool have_hidden = dimension_required(r, HIDDEN_KEYS, 1 << 20, &m->hidden);
    bool have_heads = dimension_required(r, HEADS_KEYS, 1 << 16, &a->heads);
    dimension_required(r, LAYERS_KEYS, 1 << 16, &r->layers);
    dimension_required(r, VOCAB_KEYS, 1 << 24, &m->vocab);
    if (!dimension(r, CONTEXT_KEYS, (int64_t)1 << 40, &m->max_context))
        m->max_context = 0;

    if (find_any(r->map, KV_HEADS_KEYS)) {
        dimension(r, KV_HEADS_KEYS, 1 << 16, &a->kv_heads);
    } else {
        a->kv_heads = a->heads; /* every family's own rule */
        if (doc_get(r->map, "num_key_value_heads"))
            llmperf_note(&m->notes, "num_key_value_heads is null: taken as the %lld heads",
                         (long long)a->heads);
    }
    if (find_any(r->map, HEAD_DIM_KEYS)) {
        dimension(r, HEAD_DIM_KEYS, 1 << 16, &a->head_dim);
    } else if (f->head_dim_required) {
        dimension_required(r, HEAD_DIM_KEYS, 1 << 16, &a->head_dim);
    } else if (have_hidden && have_heads) {
        if (m->hidden % a->heads != 0)
            done(r, doc_fail(r->document, r->map, r->error,
                             "%lld heads do not divide hidden_size %lld; head_dim must be given",
                             (long long)a->heads, (long long)m->hidden));
        else
            a->head_dim = m->hidden / a->heads;
    }
    a->value_dim = a->head_dim;

    if (find_any(r->map, FFN_KEYS))
        dimension(r, FFN_KEYS, 1 << 24, &layer->mlp.ffn);
    else if (f->ffn == FFN_FOUR_HIDDEN)
        layer->mlp.ffn = 4 * m->hidden;
    else
        dimension_required(r, FFN_KEYS, 1 << 24, &layer->mlp.ffn);
    m->embedding_dim = m->hidden;
}

static void read_traits(hf_reader *r)
{
    llmperf_model *m = r->model;
    llmperf_layer *layer = &r->layer;
    const hf_family *f = r->family;
    m->norm = f->norm;
    m->final_norm = true;
    m->embedding_norm = f->embedding_norm;
    m->head_bias = f->head_bias;
    layer->norms = f->norms;
    layer->parallel = f->parallel;
    layer->mlp.gated = f->gated;
    layer->attention.qk_norm = f->qk_norm;
    layer->attention.rope = f->positions == POSITIONS_ROPE;
    layer->attention.qkv_bias = has_bias(r, f->qkv_bias, f->bias_key);
    layer->attention.out_bias = has_bias(r, f->out_bias, f->bias_key);
    layer->mlp.up_bias = layer->mlp.down_bias = has_bias(r, f->mlp_bias, f->mlp_bias_key);
    if (f->positions == POSITIONS_LEARNED) {
        if (m->max_context == 0)
            dimension_required(r, CONTEXT_KEYS, (int64_t)1 << 30, &m->max_context);
        m->position_embeddings = m->max_context + f->position_offset;
    }

    /* the tie flag may stand inside text_config or beside it */
    doc_node *tie = find(r->map, "tie_word_embeddings");
    if (!tie)
        tie = find(r->outer, "tie_word_embeddings");
    m->tied = f->tied;
    if (tie)
        done(r, doc_bool(r->document, tie, &m->tied, r->error));
}

/* ---- windows --------------------------------------------------------------------------------------------- */

/* layer_types: [full_attention, sliding_attention ...], one word a layer. */
static bool windowed_by_list(hf_reader *r, doc_node *types, int64_t *ret_windowed)
{
    int64_t windowed = 0;
    if (types->kind != DOC_SEQ || (int64_t)types->count != r->layers)
        return done(r, doc_fail(r->document, types, r->error,
                                "layer_types has %zu entries; one for each of the %lld layers is "
                                "allowed",
                                types->count, (long long)r->layers));
    for (doc_node *node = types->first; node; node = node->next) {
        char word[64] = "";
        if (!done(r, doc_text(r->document, node, word, sizeof word, r->error)))
            return false;
        if (strcmp(word, "sliding_attention") == 0)
            windowed++;
        else if (strcmp(word, "full_attention") != 0) {
            done(r, doc_fail(r->document, node, r->error,
                             "layer type '%s' is not counted yet; full_attention and "
                             "sliding_attention are allowed",
                             word));
            r->status = LLMPERF_E_UNSUPPORTED;
            return false;
        }
    }
    *ret_windowed = windowed;
    return true;
}

static int64_t windowed_by_rule(hf_reader *r)
{
    static const char *const pattern_keys[] = {"sliding_window_pattern", "_sliding_window_pattern",
                                               NULL};
    static const char *const from_keys[] = {"max_window_layers", NULL};
    int64_t pattern = r->family->pattern, from = 0;
    switch (r->family->windows) {
    case WINDOW_ALL:
        return r->layers;
    case WINDOW_EVEN:
        return (r->layers + 1) / 2;
    case WINDOW_FROM:
        if (!flag(r, "use_sliding_window", false))
            return 0;
        dimension(r, from_keys, 1 << 16, &from);
        return from < r->layers ? r->layers - from : 0;
    case WINDOW_PATTERN: {
        doc_node *node = find_any(r->map, pattern_keys);
        char word[64] = "";
        if (node && node->kind == DOC_SCALAR && node->text[0] == 'L') {
            /* EXAONE 4 writes "LLLG": local layers, then a global one */
            done(r, doc_text(r->document, node, word, sizeof word, r->error));
            pattern = (int64_t)strlen(word);
        } else if (node) {
            dimension(r, pattern_keys, 1 << 16, &pattern);
        }
        return r->layers - r->layers / pattern;
    }
    default:
        return 0;
    }
}

/* Splits the layers by window into one or two shapes. */
static void read_windows(hf_reader *r)
{
    static const char *const window_keys[] = {"sliding_window", NULL};
    llmperf_model *m = r->model;
    int64_t window = 0, windowed = 0;
    doc_node *types = find(r->map, "layer_types");
    bool has_window = r->family->windows != WINDOW_IGNORED && find_any(r->map, window_keys) &&
                      dimension(r, window_keys, (int64_t)1 << 40, &window);
    if (r->status != LLMPERF_OK)
        return;
    if (types && !windowed_by_list(r, types, &windowed))
        return;
    if (!types && has_window)
        windowed = windowed_by_rule(r);
    if (windowed > 0 && !has_window) {
        done(r, doc_fail(r->document, types, r->error,
                         "layer_types names sliding_attention, but %s has no window here",
                         r->family->model_type));
        return;
    }
    m->layer_kind_count = 0;
    if (windowed > 0) {
        llmperf_layer *layer = &m->layers[m->layer_kind_count++];
        *layer = r->layer;
        layer->count = windowed;
        layer->attention.window = window;
    }
    if (windowed < r->layers) {
        llmperf_layer *layer = &m->layers[m->layer_kind_count++];
        *layer = r->layer;
        layer->count = r->layers - windowed;
    }
}

/* ---- finding the text model and its family ------------------------------------------------------------------ */

static const hf_family *family_of(const char *model_type)
{
    for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES; i++)
        if (strcmp(model_type, FAMILIES[i].model_type) == 0)
            return &FAMILIES[i];
    return NULL;
}

static void list_families(char *buffer, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < sizeof FAMILIES / sizeof *FAMILIES && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", i ? ", " : "",
                                 FAMILIES[i].model_type);
}

static bool find_family(hf_reader *r)
{
    char model_type[LLMPERF_NAME_MAX] = "";
    doc_node *text = find(r->outer, "text_config");
    r->map = text && text->kind == DOC_MAP ? text : r->outer;
    doc_node *node = find(r->map, "model_type");
    if (!node)
        node = find(r->outer, "model_type");
    if (!node)
        return done(r, doc_fail(r->document, r->outer, r->error,
                                "model_type is missing; a Hugging Face config.json names it, for "
                                "example \"llama\""));
    if (!done(r, doc_text(r->document, node, model_type, sizeof model_type, r->error)))
        return false;
    r->family = family_of(model_type);
    if (!r->family) {
        char names[2048];
        list_families(names, sizeof names);
        done(r, doc_fail(r->document, node, r->error,
                         "model_type '%s' is not counted by this version; known are %s", model_type,
                         names));
        r->status = LLMPERF_E_UNSUPPORTED;
        if (r->error)
            r->error->status = LLMPERF_E_UNSUPPORTED;
        return false;
    }
    snprintf(r->model->architecture, sizeof r->model->architecture, "%s", model_type);
    if (r->map != r->outer) {
        static const char *const towers[] = {"vision_config", "audio_config", NULL};
        if (find_any(r->outer, towers))
            snprintf(r->model->not_counted, sizeof r->model->not_counted,
                     "vision and audio towers (text model only)");
    }
    return true;
}

static void note_quantisation(hf_reader *r)
{
    doc_node *quant = find(r->map, "quantization_config");
    if (!quant)
        quant = find(r->outer, "quantization_config");
    if (!quant)
        return;
    doc_node *method = find(quant, "quant_method");
    char word[64] = "unnamed";
    if (method && method->kind == DOC_SCALAR)
        llmperf_escape(method->text, word, sizeof word);
    llmperf_note(&r->model->notes,
                 "quantization_config (%s) is not applied: weights count as %s; --weight-dtype "
                 "sets their format",
                 word, llmperf_dtype_name((llmperf_dtype)r->model->dtype));
}

llmperf_status spec_hf_read(doc *document, llmperf_model *ret_model, llmperf_error *error)
{
    llmperf_model model = {0};
    hf_reader r = {.document = document, .model = &model, .error = error};
    r.outer = doc_root(document);
    if (r.outer->kind != DOC_MAP)
        return doc_fail(document, r.outer, error, "the file is a list or a scalar; a map is allowed");
    if (!find_family(&r))
        return r.status;
    read_dtype(&r);
    read_dimensions(&r);
    read_traits(&r);
    if (r.status == LLMPERF_OK && r.family->hook)
        r.family->hook(&r);
    read_windows(&r);
    if (r.status != LLMPERF_OK)
        return r.status;
    const llmperf_attention *a = &r.layer.attention;
    if (a->heads % a->kv_heads != 0)
        return doc_fail(document, find_any(r.map, KV_HEADS_KEYS) ? find_any(r.map, KV_HEADS_KEYS)
                                                                 : r.map,
                        error,
                        "%lld KV heads do not divide %lld attention heads; a divisor is allowed",
                        (long long)a->kv_heads, (long long)a->heads);
    spec_uniform_weights(&model, (llmperf_dtype)model.dtype);
    note_quantisation(&r);
    snprintf(model.source, sizeof model.source, "config.json");
    *ret_model = model;
    return LLMPERF_OK;
}
