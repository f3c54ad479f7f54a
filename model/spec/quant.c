/* SPDX-License-Identifier: MIT */
/*
 * Quantisation schemes. Effective bits include the scales: 16-bit scales (and zero points as wide
 * as a weight) per group, fp32 per block of fp8, as docs/architectures.md, "Quantised checkpoints", lists.
 */
#include "quant.h"

#include <ctype.h>
#include <fnmatch.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/spec.h"
#include "entry.h"
#include "model_object.h"

/* ---- which modules are left alone ------------------------------------------------------------------- */

/* Names under which public checkpoints hold the matrices of a class. A class counts as left alone
 * when a pattern hits any of them. */
static const char *const ATTENTION_NAMES[] = {
    "self_attn.q_proj",    "self_attn.k_proj",   "self_attn.o_proj", "self_attn.q_a_proj",
    "self_attn.kv_b_proj", "self_attn.qkv_proj", "mixer.q_proj",     NULL};
static const char *const SSM_NAMES[] = {"linear_attn.in_proj_qkvz",
                                        "linear_attn.in_proj",
                                        "linear_attn.out_proj",
                                        "mamba.in_proj",
                                        "mixer.in_proj",
                                        "self_attn.q_proj",
                                        NULL};
static const char *const MLP_NAMES[] = {"mlp.gate_proj",
                                        "mlp.down_proj",
                                        "mlp.gate_up_proj",
                                        "feed_forward.gate_proj",
                                        "feed_forward.down_proj",
                                        "mixer.up_proj",
                                        NULL};
static const char *const EXPERT_NAMES[] = {"mlp.experts.0.gate_proj",
                                           "mlp.experts.0.down_proj",
                                           "feed_forward.experts.0.gate_proj",
                                           "feed_forward.experts.gate_up_proj",
                                           "block_sparse_moe.experts.0.w1",
                                           "mixer.experts.0.up_proj",
                                           NULL};
static const char *const SHARED_NAMES[] = {
    "mlp.shared_experts.gate_proj", "mlp.shared_expert.gate_proj",
    "feed_forward.shared_expert.gate_proj", "mixer.shared_experts.up_proj", NULL};

static const char *const *const CLASS_NAMES[LLMPERF_WEIGHT_COUNT] = {
    [LLMPERF_WEIGHT_ATTENTION] = ATTENTION_NAMES,
    [LLMPERF_WEIGHT_SSM] = SSM_NAMES,
    [LLMPERF_WEIGHT_MLP] = MLP_NAMES,
    [LLMPERF_WEIGHT_EXPERTS] = EXPERT_NAMES,
    [LLMPERF_WEIGHT_SHARED] = SHARED_NAMES,
};

static const char *const PREFIXES[] = {"model.layers.", "language_model.model.layers.",
                                       "model.language_model.layers.", "backbone.layers.", NULL};

/* A part of a dotted name, from a boundary to a boundary: "mlp.gate" is no part of
 * "mlp.gate_proj". A pattern that ends with a dot brings its boundary along. */
static bool is_part(const char *name, const char *pattern)
{
    size_t length = strlen(pattern);
    if (length == 0)
        return false;
    for (const char *at = strstr(name, pattern); at; at = strstr(at + 1, pattern)) {
        bool begins = at == name || at[-1] == '.';
        bool ends = at[length] == '\0' || at[length] == '.' || pattern[length - 1] == '.';
        if (begins && ends)
            return true;
    }
    return false;
}

/* "re:..." as checkpoints write it (Python): anchored at the start; \d and (?: are put in POSIX
 * words. A pattern that POSIX cannot read matches nothing. */
static bool matches_regex(const char *name, const char *pattern)
{
    char text[512];
    size_t used = 0;
    regex_t compiled;
    text[used++] = '^';
    text[used++] = '(';
    for (const char *c = pattern; *c && used + 8 < sizeof text; c++) {
        if (c[0] == '\\' && c[1] == 'd') {
            memcpy(text + used, "[0-9]", 5);
            used += 5;
            c++;
        } else if (c[0] == '(' && c[1] == '?' && c[2] == ':') {
            text[used++] = '(';
            c += 2;
        } else {
            text[used++] = *c;
        }
    }
    text[used++] = ')';
    text[used] = '\0';
    if (regcomp(&compiled, text, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    bool hit = regexec(&compiled, name, 0, NULL, 0) == 0;
    regfree(&compiled);
    return hit;
}

static bool matches(const char *name, const char *pattern)
{
    if (strncmp(pattern, "re:", 3) == 0)
        return matches_regex(name, pattern + 3);
    if (strchr(pattern, '*')) {
        char open[512];
        snprintf(open, sizeof open, "%s*", pattern);
        return fnmatch(pattern, name, 0) == 0 || fnmatch(open, name, 0) == 0;
    }
    return is_part(name, pattern);
}

/* A plain pattern that names another layer cannot hit this one: most lists are long and made of
 * those. */
static bool names_another_layer(const char *pattern, int64_t number)
{
    const char *at = strstr(pattern, "layers.");
    if (!at || strncmp(pattern, "re:", 3) == 0 || !isdigit((unsigned char)at[7]))
        return false;
    char *end;
    int64_t named = strtoll(at + 7, &end, 10);
    return named != number && (*end == '.' || *end == '\0'); /* "layers.1*" is 10 as well */
}

static bool left_alone(const quant_scheme *scheme, int64_t number, int weight_class)
{
    char name[192];
    if (!scheme->ignore)
        return false;
    for (doc_node *node = scheme->ignore->first; node; node = node->next) {
        if (node->kind != DOC_SCALAR || names_another_layer(node->text, number))
            continue;
        for (int p = 0; PREFIXES[p]; p++)
            for (const char *const *n = CLASS_NAMES[weight_class]; *n; n++) {
                snprintf(name, sizeof name, "%s%lld.%s", PREFIXES[p], (long long)number, *n);
                if (matches(name, node->text))
                    return true;
            }
    }
    return false;
}

/* `name` as it is, or inside the wrapper of a multimodal model. */
static bool name_left_alone(const quant_scheme *scheme, const char *name)
{
    char wrapped[64];
    snprintf(wrapped, sizeof wrapped, "language_model.%s", name);
    for (doc_node *node = scheme->ignore ? scheme->ignore->first : NULL; node; node = node->next)
        if (node->kind == DOC_SCALAR && (matches(name, node->text) || matches(wrapped, node->text)))
            return true;
    return false;
}

static bool has_class(const llmperf_layer *layer, int weight_class)
{
    switch (weight_class) {
    case LLMPERF_WEIGHT_ATTENTION:
        return layer->attention.heads > 0 || layer->mla.heads > 0;
    case LLMPERF_WEIGHT_SSM:
        return layer->ssm.kind != LLMPERF_SSM_NONE;
    case LLMPERF_WEIGHT_MLP:
        return layer->mlp.ffn > 0;
    case LLMPERF_WEIGHT_EXPERTS:
        return layer->moe.experts > 0;
    case LLMPERF_WEIGHT_SHARED:
        return layer->moe.shared_ffn > 0 || layer->moe.latent > 0;
    default:
        return false;
    }
}

void quant_layer(const quant_scheme *scheme, int64_t number, llmperf_layer *layer)
{
    if (scheme->format.dtype == LLMPERF_DTYPE_NONE)
        return;
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        if (!has_class(layer, i) || (scheme->experts_only && i != LLMPERF_WEIGHT_EXPERTS))
            continue;
        if (!left_alone(scheme, number, i))
            layer->weights[i] = scheme->format;
    }
}

static void set_outside(const quant_scheme *scheme, llmperf_model *model, int weight_class)
{
    model->weight_dtype[weight_class] = scheme->format.dtype;
    model->weight_operand[weight_class] = scheme->format.operand;
    model->weight_bits[weight_class] = scheme->format.bits;
}

void quant_outside(const quant_scheme *scheme, llmperf_model *model)
{
    if (scheme->kv_dtype)
        model->kv_dtype = scheme->kv_dtype;
    if (scheme->format.dtype == LLMPERF_DTYPE_NONE)
        return;
    snprintf(model->scheme, sizeof model->scheme, "%s", scheme->name);
    if (scheme->head && !model->tied && !name_left_alone(scheme, "lm_head"))
        set_outside(scheme, model, LLMPERF_WEIGHT_HEAD);
    if (scheme->embedding && !name_left_alone(scheme, "model.embed_tokens"))
        set_outside(scheme, model, LLMPERF_WEIGHT_EMBEDDING);
}

/* ---- reading a scheme ------------------------------------------------------------------------------------ */

typedef struct quant_reader {
    const doc *document;
    quant_scheme *scheme;
    llmperf_notes *warnings;
    llmperf_error *error;
    llmperf_status status;
} quant_reader;

static doc_node *find(doc_node *map, const char *key)
{
    doc_node *node = doc_get(map, key);
    return doc_is_null(node) ? NULL : node;
}

static doc_node *find_either(doc_node *map, const char *a, const char *b)
{
    doc_node *node = find(map, a);
    return node ? node : find(map, b);
}

static int64_t integer(quant_reader *r, doc_node *node, int64_t min, int64_t max, int64_t absent)
{
    int64_t value = absent;
    if (node && doc_int64(r->document, node, min, max, &value, r->error) != LLMPERF_OK)
        r->status = LLMPERF_E_SPEC;
    return value;
}

static bool is_true(quant_reader *r, doc_node *node)
{
    bool value = false;
    if (node && doc_bool(r->document, node, &value, r->error) != LLMPERF_OK)
        r->status = LLMPERF_E_SPEC;
    return value;
}

static bool has_text(doc_node *node, const char *text)
{
    return node && node->kind == DOC_SCALAR && strcasecmp(node->text, text) == 0;
}

static void set(quant_reader *r, const char *name, llmperf_dtype dtype, double bits,
                llmperf_dtype operand)
{
    snprintf(r->scheme->name, sizeof r->scheme->name, "%s", name);
    r->scheme->format =
        (llmperf_weight_format){.dtype = (uint8_t)dtype, .operand = (uint8_t)operand, .bits = bits};
}

/* Integer weights of `bits` with a 16-bit scale per group, and a zero point as wide as a weight
 * where `zero`; group -1 = one scale per channel, which rounds to nothing. */
static double grouped_bits(int64_t bits, int64_t group, bool zero)
{
    return group > 0 ? (double)bits + (16.0 + (zero ? (double)bits : 0)) / (double)group
                     : (double)bits;
}

static llmperf_dtype integer_dtype(int64_t bits)
{
    return bits > 4 ? LLMPERF_DTYPE_INT8 : LLMPERF_DTYPE_INT4;
}

static void read_fp8(quant_reader *r, doc_node *config)
{
    doc_node *block = find(config, "weight_block_size");
    double bits = 8;
    if (block && block->kind == DOC_SEQ && block->count == 2) {
        int64_t rows = integer(r, block->first, 1, 1 << 20, 128);
        int64_t columns = integer(r, block->first->next, 1, 1 << 20, 128);
        bits += 32.0 / (double)(rows * columns);
    }
    set(r, block ? "fp8-block" : "fp8", LLMPERF_DTYPE_FP8, bits, LLMPERF_DTYPE_FP8);
}

/* Weights of one config group: {num_bits, type, group_size, strategy}. */
static void read_group(quant_reader *r, doc_node *group, const char *name)
{
    doc_node *weights = find(group, "weights"), *inputs = find(group, "input_activations");
    int64_t bits = integer(r, find(weights, "num_bits"), 1, 16, 8);
    int64_t size = integer(r, find(weights, "group_size"), -1, 1 << 20, -1);
    bool is_float = has_text(find(weights, "type"), "float");
    bool symmetric = !find(weights, "symmetric") || is_true(r, find(weights, "symmetric"));
    int64_t input_bits = integer(r, find(inputs, "num_bits"), 1, 16, 16);
    bool input_float = has_text(find(inputs, "type"), "float");
    llmperf_dtype operand = LLMPERF_DTYPE_NONE;
    if (input_bits == 8)
        operand = input_float ? LLMPERF_DTYPE_FP8 : LLMPERF_DTYPE_INT8;
    else if (input_bits == 4 && input_float)
        operand = LLMPERF_DTYPE_NVFP4;
    if (is_float && bits == 8)
        set(r, name, LLMPERF_DTYPE_FP8, 8, operand);
    else if (is_float && bits == 4 && size == 16)
        set(r, name, LLMPERF_DTYPE_NVFP4, 4.5, operand);
    else if (is_float && bits == 4)
        set(r, name, LLMPERF_DTYPE_MXFP4, 4.25, operand);
    else
        set(r, name, integer_dtype(bits), grouped_bits(bits, size, !symmetric), operand);
}

static void read_groups(quant_reader *r, doc_node *config, const char *name)
{
    doc_node *groups = find(config, "config_groups");
    doc_node *sparsity = find(config, "sparsity_config");
    r->scheme->head = true;
    r->scheme->ignore = find(config, "ignore");
    if (!groups || !groups->first) {
        llmperf_note(r->warnings,
                     "%s without config_groups is not applied: weights count as the "
                     "file's dtype; --weight-dtype sets their format",
                     name);
        return;
    }
    read_group(r, groups->first, name);
    if (groups->count > 1)
        llmperf_note(r->warnings, "%s has %zu config groups: the first is taken for all", name,
                     groups->count);
    if (has_text(find(sparsity, "sparsity_structure"),
                 "2:4")) /* half the values, 2-bit positions */
        r->scheme->format.bits = r->scheme->format.bits / 2 + 1;
}

static void read_algorithm(quant_reader *r, const char *algorithm, int64_t group)
{
    if (strcasecmp(algorithm, "FP8") == 0)
        set(r, "modelopt fp8", LLMPERF_DTYPE_FP8, 8, LLMPERF_DTYPE_FP8);
    else if (strncasecmp(algorithm, "FP8_PB", 6) == 0 || strcasecmp(algorithm, "FP8_BLOCK") == 0)
        set(r, "modelopt fp8-block", LLMPERF_DTYPE_FP8, 8.0 + 32.0 / 16384, LLMPERF_DTYPE_FP8);
    else if (strcasecmp(algorithm, "NVFP4") == 0)
        set(r, "modelopt nvfp4", LLMPERF_DTYPE_NVFP4, 4.5, LLMPERF_DTYPE_NVFP4);
    else if (strcasecmp(algorithm, "MXFP4") == 0)
        set(r, "modelopt mxfp4", LLMPERF_DTYPE_MXFP4, 4.25, LLMPERF_DTYPE_NONE);
    else if (strcasecmp(algorithm, "W4A16_AWQ") == 0)
        set(r, "modelopt awq", LLMPERF_DTYPE_INT4, grouped_bits(4, group, false),
            LLMPERF_DTYPE_NONE);
    else if (strcasecmp(algorithm, "W4A8_AWQ") == 0)
        set(r, "modelopt awq", LLMPERF_DTYPE_INT4, grouped_bits(4, group, false),
            LLMPERF_DTYPE_FP8);
    else if (strcasecmp(algorithm, "INT8_SQ") == 0 || strcasecmp(algorithm, "W8A8") == 0)
        set(r, "modelopt int8", LLMPERF_DTYPE_INT8, 8, LLMPERF_DTYPE_INT8);
    else
        llmperf_note(r->warnings,
                     "quant_algo %s is not known: weights count as the file's dtype; "
                     "--weight-dtype sets their format",
                     algorithm);
}

static void read_modelopt(quant_reader *r, doc_node *config)
{
    doc_node *algorithm = find(config, "quant_algo");
    doc_node *scheme = find(config, "kv_cache_scheme");
    r->scheme->head = true;
    r->scheme->ignore = find_either(config, "exclude_modules", "ignore");
    if (has_text(find(config, "kv_cache_quant_algo"), "FP8") ||
        integer(r, find(scheme, "num_bits"), 1, 64, 16) == 8)
        r->scheme->kv_dtype = LLMPERF_DTYPE_FP8;
    if (algorithm && algorithm->kind == DOC_SCALAR)
        read_algorithm(r, algorithm->text,
                       integer(r, find(config, "group_size"), -1, 1 << 20, 128));
    else if (find(config, "config_groups"))
        read_groups(r, config, "modelopt");
}

static void read_bitsandbytes(quant_reader *r, doc_node *config)
{
    r->scheme->ignore = find(config, "llm_int8_skip_modules");
    if (is_true(r, find(config, "load_in_8bit")))
        set(r, "bitsandbytes int8", LLMPERF_DTYPE_INT8, 8, LLMPERF_DTYPE_INT8);
    else if (is_true(r,
                     find(config, "load_in_4bit"))) /* fp32 scale per 64, itself 8-bit if double */
        set(r, "bitsandbytes nf4", LLMPERF_DTYPE_INT4,
            is_true(r, find(config, "bnb_4bit_use_double_quant"))
                ? 4.0 + 8.0 / 64 + 32.0 / (64 * 256)
                : 4.5,
            LLMPERF_DTYPE_NONE);
}

static void read_integer(quant_reader *r, doc_node *config, const char *name, bool zero)
{
    int64_t bits = integer(r, find_either(config, "bits", "w_bit"), 2, 8, 4);
    int64_t group = integer(r, find_either(config, "group_size", "q_group_size"), -1, 1 << 20, 128);
    set(r, name, integer_dtype(bits), grouped_bits(bits, group, zero), LLMPERF_DTYPE_NONE);
}

static void read_method(quant_reader *r, doc_node *config, const char *method)
{
    r->scheme->ignore = find(config, "modules_to_not_convert");
    if (strcmp(method, "fp8") == 0 || strcmp(method, "fbgemm_fp8") == 0) {
        read_fp8(r, config);
    } else if (strcmp(method, "compressed-tensors") == 0) {
        read_groups(r, config, "compressed-tensors");
        doc_node *kv = find(config, "kv_cache_scheme");
        if (kv && integer(r, find(kv, "num_bits"), 1, 64, 16) == 8)
            r->scheme->kv_dtype = LLMPERF_DTYPE_FP8;
    } else if (strncmp(method, "modelopt", 8) == 0) {
        read_modelopt(r, config);
    } else if (strcmp(method, "mxfp4") == 0) {
        set(r, "mxfp4", LLMPERF_DTYPE_MXFP4, 4.25, LLMPERF_DTYPE_NONE);
        r->scheme->experts_only = true;
    } else if (strcmp(method, "awq") == 0) {
        read_integer(r, config, "awq", true);
    } else if (strcmp(method, "gptq") == 0) {
        read_integer(r, config, "gptq", true);
    } else if (strcmp(method, "bitsandbytes") == 0) {
        read_bitsandbytes(r, config);
    } else if (strcmp(method, "hqq") == 0) {
        int64_t bits = integer(r, find_either(config, "nbits", "bits"), 1, 8, 4);
        int64_t group = integer(r, find(config, "group_size"), -1, 1 << 20, 64);
        /* scale and zero point in 16 bit each */
        set(r, "hqq", integer_dtype(bits), (double)bits + (group > 0 ? 32.0 / (double)group : 0),
            LLMPERF_DTYPE_NONE);
    } else {
        llmperf_note(r->warnings,
                     "quant_method %s is not known: weights count as the file's dtype; "
                     "--weight-dtype sets their format",
                     method);
    }
}

llmperf_status quant_read(const doc *document, doc_node *config, quant_scheme *ret_scheme,
                          llmperf_notes *warnings, llmperf_error *error)
{
    quant_scheme scheme = {0};
    quant_reader r = {
        .document = document, .scheme = &scheme, .warnings = warnings, .error = error};
    doc_node *method = find(config, "quant_method");
    if (method && method->kind == DOC_SCALAR) {
        read_method(&r, config, method->text);
    } else if (find(config, "quant_algo")) {
        read_modelopt(&r, config);
    } else if (find(config, "load_in_4bit") || find(config, "load_in_8bit")) {
        read_bitsandbytes(&r, config);
    } else if (find(config, "bits") && find(config, "group_size")) { /* MLX: embeddings too */
        int64_t bits = integer(&r, find(config, "bits"), 2, 8, 4);
        int64_t group = integer(&r, find(config, "group_size"), 1, 1 << 20, 64);
        set(&r, "mlx", integer_dtype(bits), (double)bits + 32.0 / (double)group,
            LLMPERF_DTYPE_NONE);
        scheme.embedding = scheme.head = true;
    } else if (config->kind == DOC_MAP && config->count > 0) {
        llmperf_note(warnings,
                     "quantization_config names no method that is known: weights count as "
                     "the file's dtype; --weight-dtype sets their format");
    }
    if (r.status == LLMPERF_OK)
        *ret_scheme = scheme;
    return r.status;
}

/* ---- schemes by name -------------------------------------------------------------------------------------- */

typedef struct named_scheme {
    const char *name;
    llmperf_weight_format format;
    bool experts_only; /* where there are experts */
} named_scheme;

static const named_scheme NAMED[] = {
    {"fp8", {LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_FP8, 8}, false},
    {"fp8-block", {LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_FP8, 8.0 + 32.0 / 16384}, false},
    {"int8", {LLMPERF_DTYPE_INT8, LLMPERF_DTYPE_INT8, 8}, false},
    {"awq", {LLMPERF_DTYPE_INT4, LLMPERF_DTYPE_NONE, 4.0 + 20.0 / 128}, false},
    {"gptq", {LLMPERF_DTYPE_INT4, LLMPERF_DTYPE_NONE, 4.0 + 20.0 / 128}, false},
    {"nf4", {LLMPERF_DTYPE_INT4, LLMPERF_DTYPE_NONE, 4.5}, false},
    {"mxfp4", {LLMPERF_DTYPE_MXFP4, LLMPERF_DTYPE_NONE, 4.25}, true},
    {"nvfp4", {LLMPERF_DTYPE_NVFP4, LLMPERF_DTYPE_NVFP4, 4.5}, false},
    {"q8_0", {LLMPERF_DTYPE_Q8_0, LLMPERF_DTYPE_NONE, 8.5}, false},
    {"q4_0", {LLMPERF_DTYPE_Q4_0, LLMPERF_DTYPE_NONE, 4.5}, false},
};

enum { NAMED_COUNT = sizeof NAMED / sizeof *NAMED };

const char *const *llmperf_quant_names(void)
{
    static const char *const names[] = {"fp8",   "fp8-block", "int8", "awq",  "gptq", "nf4",
                                        "mxfp4", "nvfp4",     "q8_0", "q4_0", "none", NULL};
    return names;
}

static bool any_experts(const llmperf_model *model)
{
    for (int i = 0; i < model->layer_kind_count; i++)
        if (model->layers[i].moe.experts > 0)
            return true;
    return false;
}

llmperf_status llmperf_model_quantise(llmperf_model *model, const char *name, llmperf_error *error)
{
    NEEDS(model && name, error);
    quant_scheme scheme = {0};
    for (int i = 0; i < NAMED_COUNT; i++)
        if (strcmp(name, NAMED[i].name) == 0) {
            scheme.format = NAMED[i].format;
            scheme.experts_only = NAMED[i].experts_only && any_experts(model);
        }
    if (scheme.format.dtype == LLMPERF_DTYPE_NONE && strcmp(name, "none") != 0) {
        const char *near = llmperf_nearest(name, llmperf_quant_names());
        return llmperf_fail(
            error, LLMPERF_E_USAGE,
            "quantisation '%s' is not known%s%s%s; fp8, fp8-block, int8, awq, gptq, "
            "nf4, mxfp4, nvfp4, q8_0, q4_0 and none are allowed",
            name, near ? ", did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    snprintf(scheme.name, sizeof scheme.name, "%s", name);
    /* the checkpoint's own scheme gives way, its head, embedding and cache format with it */
    if (model->scheme[0])
        model->kv_dtype = LLMPERF_DTYPE_NONE;
    model->scheme[0] = '\0';
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        model->weight_dtype[i] = model->dtype;
        model->weight_operand[i] = LLMPERF_DTYPE_NONE;
        model->weight_bits[i] = llmperf_dtype_bits((llmperf_dtype)model->dtype);
    }
    for (int i = 0; i < model->layer_kind_count; i++) {
        memset(model->layers[i].weights, 0, sizeof model->layers[i].weights);
        quant_layer(&scheme, 0, &model->layers[i]);
    }
    quant_outside(&scheme, model);
    return LLMPERF_OK;
}
