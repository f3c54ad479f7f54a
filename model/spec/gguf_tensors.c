/* SPDX-License-Identifier: MIT */
/* The tensors of a GGUF file, sorted by block and by what they are there. */
#include <stdio.h>
#include <string.h>

#include "gguf_read.h"
#include "read.h"

const gguf_part GGUF_PARTS[PART_COUNT] = {
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

bool gguf_missing(gguf_reader *r, int64_t i, int part)
{
    return GGUF_FAIL_HEADER(r, "the tensor blk.%lld.%s.weight is missing; a whole block is allowed",
                            (long long)i, GGUF_PARTS[part].name);
}

/* ---- sorting ------------------------------------------------------------------------------------ */

static void add_type(gguf_sum *sum, const gguf_tensor *t)
{
    if (sum->elements == 0)
        sum->type = t->type;
    else if (sum->type != t->type)
        sum->mixed = true;
    sum->elements += t->elements;
    sum->bytes += t->bytes;
}

void gguf_add_sum(gguf_sum *sum, const gguf_sum *more)
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
        if (strlen(GGUF_PARTS[parts[i][0]].name) == (size_t)(dot - base) &&
            strncmp(base, GGUF_PARTS[parts[i][0]].name, (size_t)(dot - base)) == 0)
            return parts[i][1];
    return PART_COUNT;
}

static int part_of(const char *base)
{
    for (int i = 0; i < PART_COUNT; i++)
        if (strcmp(base, GGUF_PARTS[i].name) == 0)
            return i;
    return PART_COUNT;
}

static bool refuse_stranger(gguf_reader *r, const gguf_tensor *t)
{
    char names[2048];
    if (r->known)
        return gguf_fail(
            r, t->part, t->at, LLMPERF_E_UNSUPPORTED,
            "%s is not counted by this version: what it does in a block of %s is not known",
            t->name, r->name);
    gguf_list_architectures(names, sizeof names);
    return gguf_fail(
        r, t->part, t->at, LLMPERF_E_UNSUPPORTED,
        "the architecture '%s' is not counted by this version, and of its tensor %s nothing "
        "is known; known are %s",
        r->name, t->name, names);
}

static bool sort_block_tensor(gguf_reader *r, gguf_block *b, const gguf_tensor *t, const char *rest)
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
            return GGUF_FAIL_TENSOR(r, t,
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
        b->sums[GGUF_PARTS[part].weight_class].bytes += t->bytes;
        return true;
    }
    if (part == PART_COUNT || !(is_bias || strcmp(suffix, "weight") == 0))
        return refuse_stranger(r, t);
    const gguf_tensor **slot = is_bias ? &b->bias[part] : &b->weight[part];
    *slot = t;
    add_type(&b->sums[is_bias ? LLMPERF_WEIGHT_OTHER : GGUF_PARTS[part].weight_class], t);
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

void gguf_sort_tensors(gguf_reader *r)
{
    for (size_t i = 0; i < r->file->tensor_count && r->status == LLMPERF_OK; i++) {
        const gguf_tensor *t = &r->file->tensors[i];
        int64_t block_number = 0;
        const char *c = t->name + 4;
        if (t->elements > ((int64_t)1 << 53) - r->seen) { /* no sum below overflows */
            GGUF_FAIL_TENSOR(r, t, "more than 2^53 weights in all; at most that is allowed");
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
            GGUF_FAIL_TENSOR(r, t, "%s names no block below %s.block_count %lld; blk.N. is allowed",
                             t->name, r->name, (long long)r->block_count);
        else if (block_number >= r->block_count)
            GGUF_FAIL_TENSOR(r, t,
                             "%s is of a block beyond %s.block_count %lld; agreement is allowed",
                             t->name, r->name, (long long)r->block_count);
        else
            sort_block_tensor(r, &r->blocks[block_number], t, c + 1);
    }
}

/* Scale tensors add bytes to a class; a header may claim more of them than any format has. */
static bool check_sums(gguf_reader *r, const gguf_sum *sums, const char *where, int64_t number)
{
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        if (sums[i].elements > 0 && sums[i].bytes > 8 * sums[i].elements)
            return GGUF_FAIL_HEADER(
                r,
                "%s %lld: %lld %s weights hold %lld bytes with their scales; at "
                "most 64 bits a weight are allowed",
                where, (long long)number, (long long)sums[i].elements, spec_weight_word(i),
                (long long)sums[i].bytes);
    return true;
}

bool gguf_check_sums(gguf_reader *r)
{
    for (int64_t i = 0; i < r->block_count; i++)
        if (!check_sums(r, r->blocks[i].sums, "block", i))
            return false;
    return check_sums(r, r->outside, "outside the blocks, of which there are", r->block_count);
}
