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

#include "gguf_read.h"
#include "read.h"
#include "model_object.h"

static bool read_architecture(gguf_reader *r)
{
    static const char *const refused[] = {"adapter",   "mmproj",  "clip-vision",
                                          "projector", "imatrix", NULL};
    const char *type = gguf_text_of(r, "general.type", 4096);
    for (int i = 0; type && refused[i]; i++)
        if (strcmp(type, refused[i]) == 0)
            return gguf_fail(r, 0, gguf_get(r->file, "general.type")->at, LLMPERF_E_UNSUPPORTED,
                             "the file is of type '%s'; 'model' is allowed", type);
    const char *name = gguf_text_of(r, "general.architecture", LLMPERF_NAME_MAX - 1);
    if (!name)
        return r->status == LLMPERF_OK &&
               GGUF_FAIL_HEADER(
                   r, "general.architecture is missing or empty; a name such as 'llama' is "
                      "allowed");
    snprintf(r->name, sizeof r->name, "%s", name);
    llmperf_escape(name, r->model->architecture, sizeof r->model->architecture);
    r->known = gguf_architecture_of(name);
    if (r->file->tensor_count == 0)
        return GGUF_FAIL_HEADER(r, "the file holds no tensors (a vocabulary?); a model is allowed");
    if (!gguf_flag(r, "attention.causal", true))
        return gguf_fail(r, 0, 0, LLMPERF_E_UNSUPPORTED,
                         "attention of '%s' is not causal; a model that "
                         "generates token by token is allowed",
                         r->name);
    return r->status == LLMPERF_OK;
}

static bool read_blocks(gguf_reader *r)
{
    if (!gguf_number_required(r, "block_count", 1, GGUF_LAYERS_MAX, &r->block_count))
        return false;
    if (r->block_count > (int64_t)r->file->tensor_count) /* bounds what is allocated */
        return GGUF_FAIL_HEADER(
            r,
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
    gguf_sort_tensors(r);
    return r->status == LLMPERF_OK && gguf_check_sums(r);
}

/* Blocks at the end that predict further tokens: reported apart, as serving without speculation
 * never runs them. */
static void count_further_blocks(gguf_reader *r)
{
    llmperf_model *m = r->model;
    int64_t blocks = 0;
    while (r->block_count > 1 && r->blocks[r->block_count - 1].predicts_further) {
        const gguf_sum *sums = r->blocks[--r->block_count].sums;
        for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
            m->mtp_params += sums[i].elements;
        blocks++;
    }
    r->counted -= m->mtp_params;
    for (int64_t i = 0; i < r->block_count; i++)
        if (r->blocks[i].predicts_further)
            GGUF_FAIL_HEADER(
                r,
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
    bool layer = gguf_find(r, "attention.layer_norm_epsilon", key, sizeof key) != NULL;
    bool rms = gguf_find(r, "attention.layer_norm_rms_epsilon", key, sizeof key) != NULL;
    return layer && !rms ? LLMPERF_NORM_LAYER_NOBIAS : LLMPERF_NORM_RMS;
}

static void read_vocab(gguf_reader *r)
{
    llmperf_model *m = r->model;
    const gguf_value *tokens = gguf_get(r->file, "tokenizer.ggml.tokens");
    int64_t said = 0;
    if (!r->token_embd) {
        GGUF_FAIL_HEADER(r, "the tensor token_embd.weight is missing; it is required");
        return;
    }
    m->vocab = r->token_embd->dims[1];
    if (!gguf_agree(r, r->token_embd, 1, m->hidden, "embedding_length"))
        return;
    if (tokens && tokens->type == GGUF_ARRAY && tokens->count != m->vocab)
        GGUF_FAIL_TENSOR(r, r->token_embd,
                         "%s has %lld rows, but tokenizer.ggml.tokens has %lld items; "
                         "agreement is allowed",
                         r->token_embd->name, (long long)m->vocab, (long long)tokens->count);
    else if (gguf_number(r, "vocab_size", 1, 1 << 24, &said) && said != m->vocab) {
        if (tokens) /* readers go by the tokens */
            llmperf_note(&m->warnings,
                         "%s.vocab_size is %lld, but tokens and embedding are %lld: the "
                         "latter is taken",
                         r->name, (long long)said, (long long)m->vocab);
        else
            gguf_agree(r, r->token_embd, 2, said, "vocab_size");
    }
    if (m->vocab > 1 << 24)
        GGUF_FAIL_TENSOR(r, r->token_embd, "a vocabulary of %lld; at most 2^24 is allowed",
                         (long long)m->vocab);
}

static void read_outside(gguf_reader *r)
{
    llmperf_model *m = r->model;
    read_vocab(r);
    m->embedding_dim = m->hidden;
    m->tied = r->output == NULL;
    if (r->output)
        gguf_agree_matrix(r, r->output, m->hidden, "embedding_length", m->vocab, "vocab_size");
    m->head_bias = r->output_bias != NULL;
    gguf_agree(r, r->output_bias, 1, m->vocab, "vocab_size");
    m->final_norm = r->output_norm != NULL || m->norm == LLMPERF_NORM_BARE;
    gguf_agree(r, r->output_norm, 1, m->hidden, "embedding_length");
    m->embedding_norm = r->token_embd_norm != NULL;
    gguf_agree(r, r->token_embd_norm, 1, m->hidden, "embedding_length");
    if (r->position_embd) {
        gguf_agree(r, r->position_embd, 1, m->hidden, "embedding_length");
        m->position_embeddings = r->position_embd->dims[1];
        if (m->position_embeddings > 1 << 30)
            GGUF_FAIL_TENSOR(r, r->position_embd, "%lld positions; at most 2^30 are allowed",
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
    if (type && gguf_is_whole(type->type)) {
        int64_t n = type->integer & ~(int64_t)FILE_TYPE_GUESSED;
        if (n >= 0 && n < (int64_t)(sizeof FILE_TYPES / sizeof *FILE_TYPES) && FILE_TYPES[n])
            name = FILE_TYPES[n];
    }
    snprintf(scheme, sizeof scheme, "gguf %s", name);
    if (version && gguf_is_whole(version->type) && version->integer != 2) /* 2 since May 2023 */
        snprintf(r->model->scheme, sizeof r->model->scheme, "%.20s, version %lld", scheme,
                 (long long)version->integer);
    else
        snprintf(r->model->scheme, sizeof r->model->scheme, "%s", scheme);
}

/* general.name, else the file's stem. */
static void read_name(gguf_reader *r)
{
    llmperf_model *m = r->model;
    const char *name = gguf_text_of(r, "general.name", 4096);
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
                     gguf_find(r, "attention.sliding_window", key, sizeof key) &&
                             !gguf_find(r, "attention.sliding_window_pattern", key, sizeof key)
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
    gguf_number_required(r, "embedding_length", 1, 1 << 20, &m->hidden);
    m->max_context = gguf_number_or(r, "context_length", (int64_t)1 << 40, 0);
    if (r->known && r->known->no_limit)
        m->max_context = 0;
    if (r->status != LLMPERF_OK)
        return;
    read_dtype(r);
    m->norm = norm_of(r);
    read_outside(r);
    gguf_read_layers(r);
    if (r->status != LLMPERF_OK)
        return;
    gguf_read_formats(r);
    read_scheme(r);
    read_name(r);
    snprintf(m->source, sizeof m->source, "GGUF header");
}

static llmperf_status read_gguf(gguf *file, llmperf_model *ret_model, llmperf_error *error)
{
    llmperf_model *model = calloc(1, sizeof *model);
    gguf_reader r = {.file = file, .model = model, .error = error};
    if (model)
        read_model(&r);
    else
        r.status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    if (r.status == LLMPERF_OK)
        r.status = model_check(model, error);
    if (r.status == LLMPERF_OK) {
        warn(&r);
        *ret_model = *model;
    }
    free(model);
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
