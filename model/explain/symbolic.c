/* SPDX-License-Identifier: MIT */
/*
 * The operators in symbols: the seed's table. One row of ROWS per operator says its formulas in
 * terms of macros; what a phase, a model and a deployment make of the macros is said once, in
 * fill_macros(). tests/unit/test_symbolic.c holds every printed formula against llmperf_emit().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula.h"
#include "emit.h"
#include "entry.h"
#include "formats.h"
#include "llmperf/report.h"

/* ---- symbols --------------------------------------------------------------------------------- */

static double sym_b(const symbol_scope *s)
{
    return (double)s->c->workload.batch;
}
static double sym_s(const symbol_scope *s)
{
    return (double)s->c->workload.prompt;
}
static double sym_q(const symbol_scope *s)
{
    const llmperf_workload *w = &s->c->workload;
    return (double)(s->decode ? w->query : w->prompt - w->cached);
}
static double sym_p(const symbol_scope *s)
{
    return (double)(s->decode ? s->c->workload.context : s->c->workload.cached);
}
static double sym_l(const symbol_scope *s)
{
    return sym_p(s) + sym_q(s);
}
static double sym_t(const symbol_scope *s)
{
    return sym_b(s) * sym_q(s);
}
static double sym_h(const symbol_scope *s)
{
    return (double)s->c->model->hidden;
}
static double sym_e(const symbol_scope *s)
{
    return (double)s->c->model->embedding_dim;
}
static double sym_n(const symbol_scope *s)
{
    return (double)(s->layer->attention.heads + s->layer->mla.heads); /* a layer has one of them */
}
static double sym_n_kv(const symbol_scope *s)
{
    return (double)s->layer->attention.kv_heads;
}
static double sym_d(const symbol_scope *s)
{
    return (double)s->layer->attention.head_dim;
}
static double sym_d_v(const symbol_scope *s)
{
    return (double)(s->layer->attention.value_dim + s->layer->mla.value_dim);
}
static double sym_window(const symbol_scope *s)
{
    return (double)s->layer->attention.window;
}
static double sym_chunk(const symbol_scope *s)
{
    return (double)s->layer->attention.chunk;
}
static double sym_r_q(const symbol_scope *s)
{
    return (double)s->layer->mla.q_rank;
}
static double sym_r_kv(const symbol_scope *s)
{
    return (double)s->layer->mla.kv_rank;
}
static double sym_d_n(const symbol_scope *s)
{
    return (double)s->layer->mla.nope_dim;
}
static double sym_d_r(const symbol_scope *s)
{
    return (double)s->layer->mla.rope_dim;
}
static double sym_k_i(const symbol_scope *s)
{
    return (double)s->layer->index.top_k;
}
static double sym_n_i(const symbol_scope *s)
{
    return (double)s->layer->index.heads;
}
static double sym_d_i(const symbol_scope *s)
{
    return (double)s->layer->index.dim;
}
static double sym_n_s(const symbol_scope *s)
{
    return (double)s->layer->ssm.heads;
}
static double sym_d_s(const symbol_scope *s)
{
    return (double)s->layer->ssm.head_dim;
}
static double sym_r_s(const symbol_scope *s)
{
    return (double)s->layer->ssm.state;
}
static double sym_g_s(const symbol_scope *s)
{
    return (double)s->layer->ssm.groups;
}
static double sym_k_s(const symbol_scope *s)
{
    return (double)s->layer->ssm.conv;
}
static double sym_r_dt(const symbol_scope *s)
{
    return (double)s->layer->ssm.dt_rank;
}
static double sym_f(const symbol_scope *s)
{
    return (double)s->layer->mlp.ffn;
}
static double sym_experts(const symbol_scope *s)
{
    return (double)s->layer->moe.experts;
}
static double sym_active(const symbol_scope *s)
{
    return (double)s->layer->moe.active;
}
static double sym_f_x(const symbol_scope *s)
{
    return (double)s->layer->moe.ffn;
}
static double sym_f_s(const symbol_scope *s)
{
    return (double)s->layer->moe.shared_ffn;
}
static double sym_l_x(const symbol_scope *s)
{
    return (double)s->layer->moe.latent;
}
static double sym_distinct(const symbol_scope *s)
{
    return s->layer->moe.experts > 0
               ? llmperf_distinct_experts(&s->layer->moe, sym_t(s), s->c->workload.moe_skew)
               : 0;
}
static double sym_v(const symbol_scope *s)
{
    return (double)s->c->model->vocab;
}
static double sym_layers(const symbol_scope *s)
{
    return (double)s->layer->count;
}
static double sym_tp(const symbol_scope *s)
{
    return (double)s->c->workload.tp;
}
static double sym_a(const symbol_scope *s)
{
    return s->c->act_bytes_per;
}
static double sym_c(const symbol_scope *s)
{
    return s->c->kv_bytes_per;
}

llmperf_dtype symbol_format(const char *name, const symbol_scope *s, double *ret_bytes)
{
    static const struct {
        const char *name;
        llmperf_weight_class class;
        bool outside; /* the layers */
    } CLASSES[] = {
        {"w", LLMPERF_WEIGHT_ATTENTION, false}, {"w_s", LLMPERF_WEIGHT_SSM, false},
        {"w_f", LLMPERF_WEIGHT_MLP, false},     {"w_x", LLMPERF_WEIGHT_EXPERTS, false},
        {"w_y", LLMPERF_WEIGHT_SHARED, false},  {"w_r", LLMPERF_WEIGHT_ROUTER, false},
        {"w_n", LLMPERF_WEIGHT_OTHER, false},   {"w_e", LLMPERF_WEIGHT_EMBEDDING, true},
        {"w_h", LLMPERF_WEIGHT_HEAD, true},
    };
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++) {
        if (strcmp(CLASSES[i].name, name) != 0)
            continue;
        llmperf_weight_class class = CLASSES[i].class;
        if (class == LLMPERF_WEIGHT_HEAD && s->c->model->tied)
            class = LLMPERF_WEIGHT_EMBEDDING;
        bool outside = CLASSES[i].outside || (s->outside && class == LLMPERF_WEIGHT_OTHER);
        const llmperf_config_weights *weights =
            outside ? &s->c->outside : &s->c->layer[s->layer - s->c->model->layers];
        *ret_bytes = weights->bytes_per[class];
        return (llmperf_dtype)weights->dtype[class];
    }
    *ret_bytes = 0;
    return LLMPERF_DTYPE_NONE;
}

static double format_of(const char *name, const symbol_scope *s)
{
    double bytes;
    symbol_format(name, s, &bytes);
    return bytes;
}

static double sym_w(const symbol_scope *s)
{
    return format_of("w", s);
}
static double sym_w_s(const symbol_scope *s)
{
    return format_of("w_s", s);
}
static double sym_w_f(const symbol_scope *s)
{
    return format_of("w_f", s);
}
static double sym_w_x(const symbol_scope *s)
{
    return format_of("w_x", s);
}
static double sym_w_y(const symbol_scope *s)
{
    return format_of("w_y", s);
}
static double sym_w_r(const symbol_scope *s)
{
    return format_of("w_r", s);
}
static double sym_w_e(const symbol_scope *s)
{
    return format_of("w_e", s);
}
static double sym_w_h(const symbol_scope *s)
{
    return format_of("w_h", s);
}
static double sym_w_n(const symbol_scope *s)
{
    return format_of("w_n", s);
}

const symbol_info SYMBOLS[] = {
    {"b", "sequences", SYMBOL_WORKLOAD, "batch", sym_b},
    {"s", "prompt tokens of each", SYMBOL_WORKLOAD, "prompt", sym_s},
    {"q", "query tokens of each in the step", SYMBOL_WORKLOAD, "query", sym_q},
    {"p", "tokens already cached", SYMBOL_WORKLOAD, "context", sym_p},
    {"L", "attended tokens, p + q", SYMBOL_DERIVED, NULL, sym_l},
    {"T", "tokens of the step, b q", SYMBOL_DERIVED, NULL, sym_t},
    {"h", "hidden size", SYMBOL_MODEL, NULL, sym_h},
    {"e", "width of the embedding table", SYMBOL_MODEL, NULL, sym_e},
    {"n", "attention heads", SYMBOL_MODEL, NULL, sym_n},
    {"n_kv", "KV heads", SYMBOL_MODEL, NULL, sym_n_kv},
    {"d", "head size", SYMBOL_MODEL, NULL, sym_d},
    {"d_k", "head size of q and k", SYMBOL_MODEL, NULL, sym_d},
    {"d_v", "head size of v", SYMBOL_MODEL, NULL, sym_d_v},
    {"W", "window: keys a query sees at most", SYMBOL_MODEL, NULL, sym_window},
    {"C", "positions of an attention chunk", SYMBOL_MODEL, NULL, sym_chunk},
    {"r_q", "width of the query latent", SYMBOL_MODEL, NULL, sym_r_q},
    {"r_kv", "width of the KV latent", SYMBOL_MODEL, NULL, sym_r_kv},
    {"d_n", "head size without positions", SYMBOL_MODEL, NULL, sym_d_n},
    {"d_r", "head size with rotary positions", SYMBOL_MODEL, NULL, sym_d_r},
    {"k_i", "keys that the indexer chooses", SYMBOL_MODEL, NULL, sym_k_i},
    {"n_i", "heads of the indexer", SYMBOL_MODEL, NULL, sym_n_i},
    {"d_i", "head size of the indexer", SYMBOL_MODEL, NULL, sym_d_i},
    {"n_s", "state-space heads", SYMBOL_MODEL, NULL, sym_n_s},
    {"d_s", "state-space head size", SYMBOL_MODEL, NULL, sym_d_s},
    {"r_s", "state size of a channel", SYMBOL_MODEL, NULL, sym_r_s},
    {"g_s", "state-space groups (key heads)", SYMBOL_MODEL, NULL, sym_g_s},
    {"k_s", "taps of the convolution", SYMBOL_MODEL, NULL, sym_k_s},
    {"r_dt", "rank of the step size", SYMBOL_MODEL, NULL, sym_r_dt},
    {"f", "FFN width", SYMBOL_MODEL, NULL, sym_f},
    {"E", "experts", SYMBOL_MODEL, NULL, sym_experts},
    {"K", "experts that a token passes", SYMBOL_MODEL, NULL, sym_active},
    {"X", "experts that a step's T tokens touch", SYMBOL_DERIVED, NULL, sym_distinct},
    {"f_x", "width of an expert", SYMBOL_MODEL, NULL, sym_f_x},
    {"f_s", "width of the shared experts", SYMBOL_MODEL, NULL, sym_f_s},
    {"l_x", "width that experts work in", SYMBOL_MODEL, NULL, sym_l_x},
    {"V", "vocabulary", SYMBOL_MODEL, NULL, sym_v},
    {"layers", "layers", SYMBOL_MODEL, NULL, sym_layers},
    {"w", "bytes of a weight", SYMBOL_FORMAT, "weight-dtype", sym_w},
    {"w_s", "bytes of a state-space weight", SYMBOL_FORMAT, "weight-dtype", sym_w_s},
    {"w_f", "bytes of an FFN weight", SYMBOL_FORMAT, "weight-dtype", sym_w_f},
    {"w_x", "bytes of an expert's weight", SYMBOL_FORMAT, "weight-dtype", sym_w_x},
    {"w_y", "bytes of a shared expert's weight", SYMBOL_FORMAT, "weight-dtype", sym_w_y},
    {"w_r", "bytes of a router weight", SYMBOL_FORMAT, NULL, sym_w_r},
    {"w_e", "bytes of an embedding weight", SYMBOL_FORMAT, NULL, sym_w_e},
    {"w_h", "bytes of an LM head weight", SYMBOL_FORMAT, NULL, sym_w_h},
    {"w_n", "bytes of a norm weight or bias", SYMBOL_FORMAT, NULL, sym_w_n},
    {"a", "bytes of an activation", SYMBOL_FORMAT, "act-dtype", sym_a},
    {"c", "bytes of a KV cache element", SYMBOL_FORMAT, "kv-dtype", sym_c},
    {"tp", "tensor-parallel devices", SYMBOL_WORKLOAD, "tp", sym_tp},
    {NULL, NULL, SYMBOL_MODEL, NULL, NULL},
};

const symbol_info *symbol_find(const char *name)
{
    for (const symbol_info *i = SYMBOLS; i->name; i++)
        if (strcmp(i->name, name) == 0)
            return i;
    return NULL;
}

bool symbol_value(const char *name, double *ret_value, void *scope)
{
    const symbol_info *info = symbol_find(name);
    if (!info)
        return false;
    *ret_value = info->value(scope);
    return true;
}

/* ---- the table of formulas ------------------------------------------------------------------- */

/*
 * What one operator computes and moves on one device.
 *   gemm: m, n, k and the bytes of a weight; `times` matrices side by side (heads of an absorbed
 *         product). `rows`: m is per expert, `rows` tokens in all touch X matrices. The rest
 *         follows.
 *   else: each quantity. FLOP per byte is written out where it is simpler than the quotient.
 */
typedef struct row {
    const char *m, *n, *k, *w, *times, *rows;
    const char *flop, *weight, *input, *output, *kv_read, *kv_write, *link;
    const char *intensity;
} row;

#define NORM_ROW(width)                                                                            \
    {                                                                                              \
        .flop = "$norm_flop $T " width, .weight = "$norm_weights " width " $w_n",                  \
        .input = "$T " width " a", .output = "$T " width " a",                                     \
        .intensity = "$norm_flop / ($norm_weights $w_n / ($T) + 2 a)"                              \
    }
#define ACT_ROW(width, flop_per_value, values)                                                     \
    {                                                                                              \
        .flop = flop_per_value " " width, .input = values " " width " a", .output = width " a",    \
        .intensity = flop_per_value " / ((" values " + 1) a)"                                      \
    }

static const row ROWS[LLMPERF_OP_COUNT] = {
    [LLMPERF_OP_EMBED] = {.flop = "$pos $T h",
                          .weight = "$T $e $w_e",
                          .input = "$pos $T h $w_e",
                          .output = "$T $e a",
                          .intensity = "$pos h / ($e $w_e + $pos h $w_e + $e a)"},
    [LLMPERF_OP_EMBED_PROJECT] = {.m = "$T", .n = "h", .k = "$e", .w = "$w_e"},
    [LLMPERF_OP_NORM] = NORM_ROW("h"),

    [LLMPERF_OP_ATTN_QKV] = {.m = "$T", .n = "$QKV", .k = "h", .w = "w"},
    [LLMPERF_OP_ATTN_Q] = {.m = "$T", .n = "$Q", .k = "h", .w = "w"},
    [LLMPERF_OP_ATTN_K] = {.m = "$T", .n = "$N_kv $d_k", .k = "h", .w = "w"},
    [LLMPERF_OP_ATTN_V] = {.m = "$T", .n = "$N_kv $d_v", .k = "h", .w = "w"},
    [LLMPERF_OP_ATTN_Q_A] = {.m = "$T", .n = "r_q", .k = "h", .w = "w"},
    [LLMPERF_OP_ATTN_Q_B] = {.m = "$T", .n = "$N (d_n + d_r)", .k = "r_q", .w = "w"},
    [LLMPERF_OP_ATTN_KV_A] = {.m = "$T", .n = "r_kv + d_r", .k = "h", .w = "w"},
    /* every attended token is expanded from its latent */
    [LLMPERF_OP_ATTN_KV_B] = {.m = "b $L", .n = "$N (d_n + d_v)", .k = "r_kv", .w = "w"},
    [LLMPERF_OP_ATTN_K_ABSORB] = {.m = "$T", .n = "r_kv", .k = "d_n", .w = "w", .times = "$N"},
    [LLMPERF_OP_ATTN_V_ABSORB] = {.m = "$T", .n = "d_v", .k = "r_kv", .w = "w", .times = "$N"},
    [LLMPERF_OP_ATTN_GATE] = ACT_ROW("$T $N $d_v", "4", "2"),
    [LLMPERF_OP_INDEX_Q] = {.m = "$T", .n = "n_i d_i", .k = "$index_input", .w = "w"},
    [LLMPERF_OP_INDEX_K] = {.m = "$T", .n = "d_i + n_i", .k = "h", .w = "w"},
    /* every cached key is scored; keys of one byte, choices of four */
    [LLMPERF_OP_INDEX_CORE] = {.flop = "2 b n_i d_i $all_pairs",
                               .input = "b $q n_i d_i a",
                               .output = "4 b $q k_i",
                               .kv_read = "b $L d_i",
                               .kv_write = "b $q d_i",
                               .intensity = "2 n_i d_i $all_pairs_per_q / "
                                            "(n_i d_i a + 4 k_i + ($L_per_q + 1) d_i)"},
    [LLMPERF_OP_ROPE] = {.flop = "3 $T $rotated",
                         .input = "$T $rotated a",
                         .output = "$T $rotated a",
                         .intensity = "3 / (2 a)"},
    /* pairs * 2 (d_k + d_v) per head; K and V once per KV head; pairs and keys over q cancel q */
    [LLMPERF_OP_ATTN_CORE] = {.flop = "2 b $N ($d_k + $d_v) $pairs",
                              .input = "b $q $N $d_k a",
                              .output = "b $q $N $d_v a",
                              .kv_read = "b $keys $N_kv ($d_k + $d_v) c",
                              .kv_write = "$own b $q $N_kv ($d_k + $d_v) c",
                              .intensity = "2 $N $pairs_per_q / "
                                           "($N a + ($keys_per_q + $own) $N_kv c)"},
    [LLMPERF_OP_ATTN_SCORES] = {.flop = "2 b $N $d_k $q $keys",
                                .input = "b $N ($q + $keys) $d_k a",
                                .output = "b $N $q $keys a",
                                .kv_write = "$own b $q $N_kv ($d_k + $d_v) c",
                                .intensity = "2 / (a / $keys + a / $q + a / $d_k + "
                                             "$own $N_kv ($d_k + $d_v) c / ($N $d_k $keys))"},
    [LLMPERF_OP_ATTN_SOFTMAX] = {.flop = "5 b $N $q $keys",
                                 .input = "b $N $q $keys a",
                                 .output = "b $N $q $keys a",
                                 .intensity = "5 / (2 a)"},
    [LLMPERF_OP_ATTN_VALUES] = {.flop = "2 b $N $d_v $q $keys",
                                .input = "b $N ($q + $d_v) $keys a",
                                .output = "b $N $q $d_v a",
                                .intensity = "2 / (a / $d_v + a / $q + a / $keys)"},
    [LLMPERF_OP_ATTN_OUT] = {.m = "$T", .n = "h", .k = "$N $d_v", .w = "w"},

    [LLMPERF_OP_SSM_IN] = {.m = "$T", .n = "$ssm_in", .k = "h", .w = "$w_s"},
    [LLMPERF_OP_SSM_CONV] = {.flop = "(2 k_s + 4) $T $ssm_conv",
                             .weight = "$ssm_conv k_s $w_n",
                             .input = "$T $ssm_conv a",
                             .output = "$T $ssm_conv a",
                             .kv_read = "2 b $ssm_conv (k_s - 1)",
                             .kv_write = "2 b $ssm_conv (k_s - 1)",
                             .intensity = "(2 k_s + 4) / (k_s $w_n / ($T) + 2 a + "
                                          "4 (k_s - 1) / $q)"},
    [LLMPERF_OP_SSM_DT] = {.m = "$T", .n = "$dt_n", .k = "$dt_k", .w = "$w_s"},
    /* the state is held in four bytes, read and written once a step */
    [LLMPERF_OP_SSM_SCAN] = {.flop = "$scan_flop $T $inner r_s",
                             .input = "$T ($inner + 2 $ssm_keys + $ssm_steps) a",
                             .output = "$T $inner a",
                             .kv_read = "4 b $inner r_s",
                             .kv_write = "4 b $inner r_s",
                             .intensity = "$scan_flop $inner r_s / ((2 $inner + 2 $ssm_keys + "
                                          "$ssm_steps) a + 8 $inner r_s / $q)"},
    [LLMPERF_OP_SSM_GATE] = {.flop = "8 $T $inner",
                             .weight = "$inner $w_n",
                             .input = "2 $T $inner a",
                             .output = "$T $inner a",
                             .intensity = "8 / ($w_n / ($T) + 3 a)"},
    [LLMPERF_OP_SSM_OUT] = {.m = "$T", .n = "h", .k = "$inner", .w = "$w_s"},

    [LLMPERF_OP_RESIDUAL] = ACT_ROW("$T h", "1", "1"),
    [LLMPERF_OP_MLP_GATE_UP] = {.m = "$T", .n = "2 $F", .k = "h", .w = "$w_f"},
    [LLMPERF_OP_MLP_UP] = {.m = "$T", .n = "$F", .k = "h", .w = "$w_f"},
    [LLMPERF_OP_MLP_ACT] = ACT_ROW("$T $F", "$mlp_flop", "$mlp_values"),
    [LLMPERF_OP_MLP_DOWN] = {.m = "$T", .n = "h", .k = "$F", .w = "$w_f"},

    [LLMPERF_OP_MOE_ROUTER] = {.m = "$T", .n = "E", .k = "h", .w = "$w_r"},
    [LLMPERF_OP_MOE_LATENT_DOWN] = {.m = "$T", .n = "l_x", .k = "h", .w = "$w_y"},
    [LLMPERF_OP_MOE_LATENT_UP] = {.m = "$T", .n = "h", .k = "l_x", .w = "$w_y"},
    [LLMPERF_OP_MOE_GATE_UP] = {.n = "2 $F_x", .k = "$width_x", .w = "$w_x", .rows = "$T K"},
    [LLMPERF_OP_MOE_UP] = {.n = "$F_x", .k = "$width_x", .w = "$w_x", .rows = "$T K"},
    [LLMPERF_OP_MOE_ACT] = ACT_ROW("$T K $F_x", "$moe_flop", "$moe_values"),
    [LLMPERF_OP_MOE_DOWN] = {.n = "$width_x", .k = "$F_x", .w = "$w_x", .rows = "$T K"},
    [LLMPERF_OP_MOE_SHARED_GATE_UP] = {.m = "$T", .n = "2 $F_s", .k = "h", .w = "$w_y"},
    [LLMPERF_OP_MOE_SHARED_UP] = {.m = "$T", .n = "$F_s", .k = "h", .w = "$w_y"},
    [LLMPERF_OP_MOE_SHARED_ACT] = ACT_ROW("$T $F_s", "$moe_flop", "$moe_values"),
    [LLMPERF_OP_MOE_SHARED_DOWN] = {.m = "$T", .n = "h", .k = "$F_s", .w = "$w_y"},

    [LLMPERF_OP_HEAD_PROJECT] = {.m = "$rows", .n = "$e", .k = "h", .w = "$w_e"},
    [LLMPERF_OP_LM_HEAD] = {.m = "$rows", .n = "$V", .k = "$e", .w = "$w_h"},
    [LLMPERF_OP_COMM_EMBED] = {.link = "2 (tp - 1) / tp $T $e a"},
    [LLMPERF_OP_COMM_ATTN] = {.link = "2 (tp - 1) / tp $T h a"},
    [LLMPERF_OP_COMM_MLP] = {.link = "2 (tp - 1) / tp $T h a"},
    [LLMPERF_OP_COMM_LOGITS] = {.link = "(tp - 1) / tp $rows V a"},
};

/* Operators that go by a common name but are counted apart. */
static const row NORM_QK = {.flop = "4 $T ($N + $own $N_kv) $d_k",
                            .weight = "$qk_weights $w_n",
                            .input = "$T ($N + $own $N_kv) $d_k a",
                            .output = "$T ($N + $own $N_kv) $d_k a",
                            .intensity =
                                "4 / ($qk_weights $w_n / ($T ($N + $own $N_kv) $d_k) + 2 a)"};
static const row NORM_Q_LATENT = NORM_ROW("r_q");
static const row NORM_KV_LATENT = NORM_ROW("r_kv");
static const row MLA_Q = {.m = "$T", .n = "$N (d_n + d_r)", .k = "h", .w = "w"};
static const row MLA_GATE = {.m = "$T", .n = "$N d_v", .k = "h", .w = "w"};
/* absorbed: all heads read one latent, which is K and V at once */
static const row MLA_ABSORBED = {.flop = "2 b $N (2 r_kv + d_r) $pairs",
                                 .input = "b $q $N (r_kv + d_r) a",
                                 .output = "b $q $N r_kv a",
                                 .kv_read = "b $keys (r_kv + d_r) c",
                                 .kv_write = "b $q (r_kv + d_r) c",
                                 .intensity = "2 $N (2 r_kv + d_r) $pairs_per_q / "
                                              "($N (2 r_kv + d_r) a + "
                                              "($keys_per_q + 1) (r_kv + d_r) c)"};
/* expanded: K and V of every head, read as activations */
static const row MLA_EXPANDED = {.flop = "2 b $N (d_n + d_r + d_v) $pairs",
                                 .input = "b $q $N (d_n + d_r) a",
                                 .output = "b $q $N d_v a",
                                 .kv_read = "b $keys $N (d_n + d_r + d_v) a",
                                 .kv_write = "b $q (r_kv + d_r) c",
                                 .intensity = "2 $N (d_n + d_r + d_v) $pairs_per_q / "
                                              "(($keys_per_q + 1) $N (d_n + d_r + d_v) a + "
                                              "(r_kv + d_r) c)"};
static const row SSM_DT_UP = {.m = "$T", .n = "$inner", .k = "r_dt", .w = "$w_s"};

/* The row of an operator and what to call it; `before` is the operator in front of it. */
static const row *row_of(const llmperf_op *op, llmperf_op_id before, bool outside,
                         const symbol_scope *s, const char **ret_label)
{
    bool mla = s->layer->mla.heads > 0;
    *ret_label = llmperf_op_name((llmperf_op_id)op->id);
    switch (op->id) {
    case LLMPERF_OP_NORM:
        if (outside)
            break;
        if (before == LLMPERF_OP_ATTN_Q_A) {
            *ret_label = "norm (q)";
            return &NORM_Q_LATENT;
        }
        if (before == LLMPERF_OP_ATTN_KV_A) {
            *ret_label = "norm (kv)";
            return &NORM_KV_LATENT;
        }
        if (before == LLMPERF_OP_ATTN_QKV || before == LLMPERF_OP_ATTN_V ||
            before == LLMPERF_OP_ATTN_Q || before == LLMPERF_OP_INDEX_CORE) {
            *ret_label = "norm (q, k)";
            return &NORM_QK;
        }
        break;
    case LLMPERF_OP_ATTN_Q:
        return mla ? &MLA_Q : &ROWS[op->id];
    case LLMPERF_OP_ATTN_GATE:
        return mla ? &MLA_GATE : &ROWS[op->id];
    case LLMPERF_OP_ATTN_CORE:
        if (mla)
            return s->decode ? &MLA_ABSORBED : &MLA_EXPANDED;
        break;
    case LLMPERF_OP_SSM_DT:
        if (before == LLMPERF_OP_SSM_DT)
            return &SSM_DT_UP;
        break;
    default:
        break;
    }
    return &ROWS[op->id];
}

static const row GEMM = {.flop = "2 $m $n $k $times",
                         .weight = "$n $k $w $times",
                         .input = "$m $k a $times",
                         .output = "$m $n a $times",
                         .intensity = "2 / ($w / ($m) + a / ($n) + a / ($k))"};

/* The tokens' products with the X experts that they touch; m rows for each of these. */
static const row GROUPED = {.flop = "2 $all $n $k",
                            .weight = "X $n $k $w",
                            .input = "$all $k a",
                            .output = "$all $n a",
                            .intensity = "2 / ($w / ($m) + a / ($n) + a / ($k))"};

static const char *const QUANTITY_NAMES[OP_QUANTITY_COUNT] = {
    "repeat",
    "m",
    "n",
    "k",
    "flop",
    "weight_bytes",
    "input_bytes",
    "output_bytes",
    "kv_read_bytes",
    "kv_write_bytes",
    "bytes",
    "link_bytes",
    "intensity_flop_per_byte",
};

const char *op_quantity_name(op_quantity quantity)
{
    return QUANTITY_NAMES[quantity];
}

double op_quantity_of(const llmperf_op *op, op_quantity quantity)
{
    const double values[OP_QUANTITY_COUNT] = {
        op->repeat,
        op->m,
        op->n,
        op->k,
        op->flop,
        op->weight_bytes,
        op->input_bytes,
        op->output_bytes,
        op->kv_read_bytes,
        op->kv_write_bytes,
        op->bytes,
        op->link_bytes,
        op->bytes > 0 ? op->flop / op->bytes : 0,
    };
    return values[quantity];
}

/* ---- macros: what phase, model and deployment make of the table ------------------------------ */

enum { MACROS_MAX = 72 };

typedef struct macro_set {
    formula_macro macro[MACROS_MAX + 1];
    int count;
} macro_set;

static void define(macro_set *set, const char *name, const char *text)
{
    if (set->count < MACROS_MAX)
        set->macro[set->count++] = (formula_macro){name, text};
}

static const char *same_or(double value, double w, const char *name)
{
    return value == w ? "w" : name;
}

/* Pairs of all positions up to `end` where each sees its chunk alone. */
#define CHUNKED(end)                                                                               \
    "(floor(" end " / C) C (C + 1) / 2 + (" end " - C floor(" end " / C)) (" end " - C floor(" end \
    " / C) + 1) / 2)"
/* Pairs that a limit `w` of keys leaves out, up to `end`. */
#define BEYOND(end, w) "max(0, " end " - " w ") (max(0, " end " - " w ") + 1) / 2"

typedef enum reach { REACH_ALL, REACH_WINDOW, REACH_INDEX, REACH_CHUNK } reach;

/* Pairs of query and key of one sequence, and the keys that are read, by what a query sees. */
static const struct {
    const char *whole, *single, *some; /* pairs: p = 0; q = 1; else */
    const char *single_keys, *some_keys;
} REACHES[] = {
    [REACH_ALL] = {"s (s + 1) / 2", "L", "q (p + (q + 1) / 2)", "L", "L"},
    [REACH_WINDOW] = {"(s (s + 1) / 2 - " BEYOND("s", "W") ")", "min(L, W)",
                      "(q p + q (q + 1) / 2 - " BEYOND("L", "W") " + " BEYOND("p", "W") ")",
                      "min(L, W)", "min(L, W + q - 1)"},
    [REACH_INDEX] = {"(s (s + 1) / 2 - " BEYOND("s", "k_i") ")", "min(L, k_i)",
                     "(q p + q (q + 1) / 2 - " BEYOND("L", "k_i") " + " BEYOND("p", "k_i") ")",
                     "min(L, k_i)", "min(L, q k_i)"},
    [REACH_CHUNK] = {CHUNKED("s"), "(L - C floor(p / C))", "(" CHUNKED("L") " - " CHUNKED("p") ")",
                     "(L - C floor(p / C))", "(L - C floor(p / C))"},
};

static void fill_step(macro_set *m, const symbol_scope *s)
{
    const llmperf_workload *w = &s->c->workload;
    const llmperf_attention *a = &s->layer->attention;
    reach r = a->chunk > 0                ? REACH_CHUNK
              : s->layer->index.top_k > 0 ? REACH_INDEX
              : a->window > 0             ? REACH_WINDOW
                                          : REACH_ALL;
    bool whole = !s->decode && w->cached == 0; /* p = 0, q = s = L */
    bool single = s->decode && w->query == 1;  /* q = 1, L = p + 1 */
    define(m, "$q", whole ? "s" : single ? "1" : "q");
    define(m, "$L", whole ? "s" : "L");
    define(m, "$L_per_q", whole ? "1" : single ? "L" : "L / q");
    define(m, "$T", whole ? "b s" : single ? "b" : "b q");
    define(m, "$rows", s->decode || w->logits_all ? "$T" : "b");
    define(m, "$pairs", whole ? REACHES[r].whole : single ? REACHES[r].single : REACHES[r].some);
    define(m, "$pairs_per_q",
           r == REACH_ALL && whole     ? "(s + 1) / 2"
           : r == REACH_ALL && !single ? "(p + (q + 1) / 2)"
           : single                    ? "$pairs"
           : whole                     ? "$pairs / s"
                                       : "$pairs / q");
    define(m, "$keys", whole ? "s" : single ? REACHES[r].single_keys : REACHES[r].some_keys);
    define(m, "$keys_per_q", whole ? "1" : single ? "$keys" : "$keys / q");
    /* an indexer looks at every key */
    define(m, "$all_pairs",
           whole    ? REACHES[REACH_ALL].whole
           : single ? REACHES[REACH_ALL].single
                    : REACHES[REACH_ALL].some);
    define(m, "$all_pairs_per_q", whole ? "(s + 1) / 2" : single ? "L" : "(p + (q + 1) / 2)");
}

static void fill_attention(macro_set *m, const symbol_scope *s, bool shared)
{
    const llmperf_attention *a = &s->layer->attention;
    bool square = a->head_dim == a->value_dim && s->layer->mla.heads == 0;
    define(m, "$N", shared ? "n / tp" : "n");
    define(m, "$N_kv", shared ? "max(1, n_kv / tp)" : "n_kv");
    define(m, "$d_k", square ? "d" : "d_k");
    define(m, "$d_v", square ? "d" : "d_v");
    define(m, "$own", a->shares_kv ? "0" : "1"); /* K and V of its own */
    define(m, "$QKV",
           square && a->gate ? "2 ($N + $N_kv) d"
           : square          ? "($N + 2 $N_kv) d"
           : a->gate         ? "($N + $N_kv) (d_k + d_v)"
                             : "($N + $N_kv) d_k + $N_kv d_v");
    define(m, "$Q", a->gate ? "$N ($d_k + $d_v)" : "$N $d_k");
    define(m, "$rotated", s->layer->mla.heads > 0 ? "($N + 1) d_r" : "($N + $own $N_kv) $d_k");
    define(m, "$qk_weights",
           a->qk_norm == LLMPERF_QK_NORM_HEAD ? "2 $d_k" : "($N + $own $N_kv) $d_k");
    define(m, "$index_input", s->layer->mla.q_rank > 0 ? "r_q" : "h");
}

static void fill_ssm(macro_set *m, const symbol_scope *s, bool shared)
{
    int64_t kind = s->layer->ssm.kind;
    define(m, "$inner", shared ? "n_s d_s / tp" : "n_s d_s");
    define(m, "$N_s", !shared ? "n_s" : kind == LLMPERF_SSM_MAMBA ? "ceil(n_s / tp)" : "n_s / tp");
    define(m, "$ssm_steps",
           kind == LLMPERF_SSM_MAMBA    ? "$inner"
           : kind == LLMPERF_SSM_MAMBA2 ? "$N_s"
           : kind == LLMPERF_SSM_DELTA  ? "2 $N_s"
           : kind == LLMPERF_SSM_KDA    ? "($inner + $N_s)"
                                        : "0");
    define(m, "$ssm_keys", shared ? "max(1, floor(g_s / tp)) r_s" : "g_s r_s");
    define(m, "$ssm_in",
           kind == LLMPERF_SSM_MAMBA    ? "2 $inner"
           : kind == LLMPERF_SSM_MAMBA2 ? "2 $inner + 2 $ssm_keys + $N_s"
           : kind == LLMPERF_SSM_DELTA  ? "2 $inner + 2 $ssm_keys + 2 $N_s"
           : kind == LLMPERF_SSM_KDA    ? "2 $inner + 2 $ssm_keys + $N_s + d_s"
                                        : "2 $inner + 2 $ssm_keys");
    bool conv = s->layer->ssm.conv > 0 && kind != LLMPERF_SSM_LINEAR;
    define(m, "$ssm_conv",
           !conv                       ? "0"
           : kind == LLMPERF_SSM_MAMBA ? "$inner"
                                       : "($inner + 2 $ssm_keys)");
    /* the delta rule also reads the state at k */
    define(m, "$scan_flop", kind == LLMPERF_SSM_DELTA || kind == LLMPERF_SSM_KDA ? "7" : "5");
    define(m, "$dt_n", kind == LLMPERF_SSM_MAMBA ? "r_dt + 2 r_s" : "$inner");
    define(m, "$dt_k", kind == LLMPERF_SSM_MAMBA ? "$inner" : "d_s");
}

static void fill_shape(macro_set *m, const symbol_scope *s)
{
    const llmperf_model *model = s->c->model;
    const llmperf_moe *moe = &s->layer->moe;
    bool shared = s->c->workload.tp > 1;
    fill_attention(m, s, shared);
    fill_ssm(m, s, shared);
    define(m, "$F", shared ? "ceil(f / tp)" : "f");
    define(m, "$F_x", shared ? "ceil(f_x / tp)" : "f_x");
    define(m, "$F_s", shared ? "ceil(f_s / tp)" : "f_s");
    define(m, "$width_x", moe->latent > 0 ? "l_x" : "h");
    define(m, "$V", shared ? "ceil(V / tp)" : "V");
    define(m, "$e", model->embedding_dim == model->hidden ? "h" : "e");
    define(m, "$pos", model->position_embeddings > 0 ? "1" : "0");
    define(m, "$norm_flop", model->norm == LLMPERF_NORM_RMS ? "4" : "7");
    int64_t per_channel = norm_weights(model, 1);
    define(m, "$norm_weights", per_channel == 2 ? "2" : per_channel == 1 ? "1" : "0");
    define(m, "$mlp_flop", s->layer->mlp.gated ? "5" : "4");
    define(m, "$mlp_values", s->layer->mlp.gated ? "2" : "1");
    define(m, "$moe_flop", moe->gated ? "5" : "4");
    define(m, "$moe_values", moe->gated ? "2" : "1");
    /* one format for all is the common case: then w stands for each */
    double w = sym_w(s);
    define(m, "$w_s", same_or(sym_w_s(s), w, "w_s"));
    define(m, "$w_f", same_or(sym_w_f(s), w, "w_f"));
    define(m, "$w_x", same_or(sym_w_x(s), w, "w_x"));
    define(m, "$w_y", same_or(sym_w_y(s), w, "w_y"));
    define(m, "$w_r", same_or(sym_w_r(s), w, "w_r"));
    define(m, "$w_e", same_or(sym_w_e(s), w, "w_e"));
    define(m, "$w_h", same_or(sym_w_h(s), w, "w_h"));
    define(m, "$w_n", same_or(sym_w_n(s), w, "w_n"));
}

/* Text of a formula with the macros put in, "" for none and for zero. */
static void expand(const char *text, const macro_set *m, char *buffer)
{
    formula f;
    buffer[0] = '\0';
    if (!text)
        return;
    if (!formula_parse(text, m->macro, &f) ||
        !formula_print(&f, FORMULA_PEOPLE, NULL, NULL, buffer, FORMULA_TEXT_MAX)) {
        snprintf(buffer, FORMULA_TEXT_MAX, "? %s", f.wrong);
        return;
    }
    if (strcmp(buffer, "0") == 0)
        buffer[0] = '\0';
}

void symbolic_expand(const char *text, const symbol_scope *scope, char *buffer)
{
    macro_set m = {.count = 0};
    fill_step(&m, scope);
    fill_shape(&m, scope);
    expand(text, &m, buffer);
}

static void fill_row(op_formulas *r, const row *t, const symbol_scope *s)
{
    macro_set m = {.count = 0};
    fill_step(&m, s);
    fill_shape(&m, s);
    if (t->n) {
        const row *gemm = t;
        define(&m, "$all", gemm->rows ? gemm->rows : gemm->m);
        define(&m, "$m", gemm->rows ? "$all / X" : gemm->m);
        define(&m, "$n", gemm->n);
        define(&m, "$k", gemm->k);
        define(&m, "$w", gemm->w);
        define(&m, "$times", gemm->times ? gemm->times : "1");
        expand("$m", &m, r->text[OP_M]);
        expand("$n", &m, r->text[OP_N]);
        expand("$k", &m, r->text[OP_K]);
        t = gemm->rows ? &GROUPED : &GEMM;
    }
    expand(t->flop, &m, r->text[OP_FLOP]);
    expand(t->weight, &m, r->text[OP_WEIGHT_BYTES]);
    expand(t->input, &m, r->text[OP_INPUT_BYTES]);
    expand(t->output, &m, r->text[OP_OUTPUT_BYTES]);
    expand(t->kv_read, &m, r->text[OP_KV_READ_BYTES]);
    expand(t->kv_write, &m, r->text[OP_KV_WRITE_BYTES]);
    expand(t->link, &m, r->text[OP_LINK_BYTES]);
    expand(t->intensity, &m, r->text[OP_INTENSITY]);
    /* bytes: the sum of the classes, equal ones added up */
    char sum[5 * FORMULA_TEXT_MAX] = "";
    size_t used = 0;
    for (int i = OP_WEIGHT_BYTES; i <= OP_KV_WRITE_BYTES; i++)
        if (r->text[i][0])
            used += (size_t)snprintf(sum + used, sizeof sum - used, "%s%s", used ? " + " : "",
                                     r->text[i]);
    expand(used ? sum : NULL, &m, r->text[OP_BYTES]);
}

/* Embedding and head run once, whatever the layers do. */
static bool runs_once(const llmperf_model *model, const llmperf_op *ops, int count, int at)
{
    int first_norm = count, last_norm = -1;
    for (int i = 0; i < count; i++)
        if (ops[i].id == LLMPERF_OP_NORM) {
            first_norm = first_norm == count ? i : first_norm;
            last_norm = i;
        }
    switch (ops[at].id) {
    case LLMPERF_OP_EMBED:
    case LLMPERF_OP_EMBED_PROJECT:
    case LLMPERF_OP_HEAD_PROJECT:
    case LLMPERF_OP_LM_HEAD:
    case LLMPERF_OP_COMM_EMBED:
    case LLMPERF_OP_COMM_LOGITS:
        return true;
    case LLMPERF_OP_NORM:
        return (model->embedding_norm && at == first_norm) ||
               (model->final_norm && at == last_norm);
    default:
        return false;
    }
}

int symbolic_ops(const llmperf_config *c, bool decode, int layer, op_formulas *ret_rows)
{
    llmperf_op ops[OP_FORMULAS_MAX];
    const llmperf_workload *w = &c->workload;
    int64_t fresh = w->prompt - w->cached;
    llmperf_segment segment = {
        .sequences = w->batch,
        .query = fresh,
        .past = w->cached,
        .logits = w->logits_all ? w->batch * fresh : w->batch,
    };
    if (decode)
        segment = llmperf_decode_segment(c, w->batch, w->context);
    /* the engine says which operators there are: a model of this layer shape alone */
    llmperf_model *model = malloc(sizeof *model);
    llmperf_config *one = malloc(sizeof *one);
    int count = -1;
    if (model && one) {
        *model = *c->model;
        model->layer_kind_count = 1;
        model->layers[0] = c->model->layers[layer];
        *one = *c;
        one->model = model;
        one->layer[0] = c->layer[layer];
        count = llmperf_emit(one, &segment, 1, OP_FORMULAS_MAX, ops);
    }
    free(one);
    free(model);

    symbol_scope scope = {.c = c, .layer = &c->model->layers[layer], .decode = decode};
    llmperf_op_id before = LLMPERF_OP_COUNT;
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        op_formulas *r = &ret_rows[i];
        memset(r, 0, sizeof *r);
        r->op = *op;
        r->id = op->id;
        r->layer = layer;
        r->outside = scope.outside = runs_once(c->model, ops, count, i);
        fill_row(r, row_of(op, before, r->outside, &scope, &r->label), &scope);
        double times = op->repeat / (double)scope.layer->count;
        if (r->outside)
            snprintf(r->text[OP_REPEAT], FORMULA_TEXT_MAX, "%.0f", op->repeat);
        else if (times == 1)
            snprintf(r->text[OP_REPEAT], FORMULA_TEXT_MAX, "layers");
        else
            snprintf(r->text[OP_REPEAT], FORMULA_TEXT_MAX, "%.0f layers", times);
        before = (llmperf_op_id)op->id;
    }
    return count;
}

/* ---- consequences ---------------------------------------------------------------------------- */

const symbolic_consequence CONSEQUENCES[] = {
    {"dense", "1 / (1 / m + 1 / n + 1 / k)",
     "FLOP per byte of a dense GEMM of m x n x k. Here and in the compute-bound lines m, n, k "
     "are a GEMM's, m the tokens."},
    {"dense_prefill", "1 / (1 / h + 1 / (b s))",
     "its order in prefill, m = b s: it grows as b s, so a long prompt alone fills the GEMM and "
     "batching adds little."},
    {"dense_decode", "1 / (1 / h + 1 / b)",
     "its order in decode, m = b: it grows as b, so batching turns memory-bound products into "
     "compute-bound ones."},
    {"attention_prefill", "n (s + 1) / (2 n + 4 n_kv)",
     "fused attention in prefill: grows with s, no b in it."},
    {"attention_decode", "n L / (n + n_kv (L + 1))",
     "fused attention in decode: tends to n / n_kv, no b in it, so batching does not help."},
    {"attention_unfused", "1 / (1 / q + 1 / L + 1 / d)",
     "a batched product with its scores in memory, no b in it: tends to d in prefill (s / 3 where "
     "s = d), to 1 in decode."},
    {"qkv_weights", "3 h^2",
     "weights of the QKV projection in a plain block (n_kv = n, n d = h, f = 4 h, no gate)."},
    {"other_weights", "9 h^2",
     "weights of its output projection and FFN: 3 to 9, a quarter and three quarters."},
    {"compute_bound_rows", "w n k / (2 n k / R - a (n + k))",
     "tokens from which on a GEMM is compute-bound, rounded up; R = peak FLOP/s over bytes/s. None "
     "where the divisor is not positive. In decode the batch is this over q. Any format."},
    {"compute_bound_rows_16bit", "1 / (1 / R - 1 / n - 1 / k)", "the same at 16 bit."},
    {"distinct_experts", "E (1 - (1 - K / E)^T)",
     "experts that T tokens touch, of E with K per token, routing uniform. Each gets T K over this "
     "many rows, so experts turn compute-bound at about E / K times the tokens."},
    {NULL, NULL, NULL},
};

/* ---- collecting what is printed -------------------------------------------------------------- */

enum { PRINTED_MAX = 512 };

/* Operators of one phase as they are printed: equal ones once. */
typedef struct printed {
    int count;
    op_formulas *rows;             /* of PRINTED_MAX */
    const char *form[PRINTED_MAX]; /* NULL, or the form that they belong to */
} printed;

static bool same_formulas(const op_formulas *a, const op_formulas *b)
{
    for (int i = OP_M; i < OP_QUANTITY_COUNT; i++)
        if (strcmp(a->text[i], b->text[i]) != 0)
            return false;
    return a->id == b->id;
}

static void add_repeat(op_formulas *known, const op_formulas *more)
{
    static const formula_macro none[] = {{NULL, NULL}};
    char sum[2 * FORMULA_TEXT_MAX + 8];
    formula f;
    snprintf(sum, sizeof sum, "%s + %s", known->text[OP_REPEAT], more->text[OP_REPEAT]);
    if (formula_parse(sum, none, &f))
        formula_print(&f, FORMULA_PEOPLE, NULL, NULL, known->text[OP_REPEAT], FORMULA_TEXT_MAX);
    known->op.repeat += more->op.repeat;
}

/* Adds the operators of a layer shape whose row is not there yet, or collectives alone. */
static bool collect(printed *all, const llmperf_config *c, bool decode, int layer, const char *form,
                    bool only_collectives)
{
    op_formulas *rows = malloc(OP_FORMULAS_MAX * sizeof *rows);
    int count = rows ? symbolic_ops(c, decode, layer, rows) : -1;
    for (int i = 0; i < count; i++) {
        int known = 0;
        if (rows[i].op.repeat == 0 ||
            (only_collectives && rows[i].op.kind != LLMPERF_KIND_COLLECTIVE))
            continue;
        while (known < all->count && !same_formulas(&all->rows[known], &rows[i]))
            known++;
        if (known < all->count) {
            bool here = all->rows[known].layer == layer && all->form[known] == form;
            if (here)
                add_repeat(&all->rows[known], &rows[i]);
        } else if (all->count < PRINTED_MAX) {
            all->form[all->count] = form;
            all->rows[all->count++] = rows[i];
        }
    }
    free(rows);
    return count >= 0;
}

/* The decoder that stands for all when no model is given; its numbers are never shown. */
static void general_model(llmperf_model *ret_model)
{
    memset(ret_model, 0, sizeof *ret_model);
    *ret_model = (llmperf_model){
        .name = "decoder",
        .hidden = 4096,
        .vocab = 32000,
        .embedding_dim = 4096,
        .final_norm = true,
        .dtype = LLMPERF_DTYPE_BF16,
        .layer_kind_count = 1,
        .layers = {{
            .count = 32,
            .norms = 2,
            .attention =
                {.heads = 32, .kv_heads = 8, .head_dim = 128, .value_dim = 128, .rope = true},
            .mlp = {.ffn = 14336, .gated = true},
        }},
    };
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        ret_model->weight_dtype[i] = LLMPERF_DTYPE_BF16;
        ret_model->weight_bits[i] = 16;
    }
}

static void without_gate(llmperf_layer *layer)
{
    layer->mlp.gated = false;
}

static void with_experts(llmperf_layer *layer)
{
    layer->mlp = (llmperf_mlp){.ffn = 0};
    layer->moe =
        (llmperf_moe){.experts = 64, .active = 4, .ffn = 2048, .shared_ffn = 2048, .gated = true};
}

static void with_latents(llmperf_layer *layer)
{
    layer->attention = (llmperf_attention){.heads = 0};
    layer->mla = (llmperf_mla){.heads = 32,
                               .q_rank = 1536,
                               .kv_rank = 512,
                               .nope_dim = 128,
                               .rope_dim = 64,
                               .value_dim = 128};
}

/* The forms that the general decoder may take, shown behind it. */
static llmperf_status collect_general(printed *all, bool decode, llmperf_model *model,
                                      llmperf_error *error)
{
    static const struct {
        const char *form;
        llmperf_workload workload;
        void (*change)(llmperf_layer *layer);
    } FORMS[] = {
        {NULL, {0}, NULL},
        {"unfused attention (--attention unfused), in place of attn.core", {.unfused = true}, NULL},
        {"three projections (--split-qkv), in place of attn.qkv", {.split_qkv = true}, NULL},
        {"FFN without a gate, in place of mlp.gate_up and mlp.act", {0}, without_gate},
        {"mixture of experts, in place of the FFN", {0}, with_experts},
        {"multi-head latent attention, in place of attention", {0}, with_latents},
        {"on tp devices (--tp): n / tp for n, max(1, n_kv / tp) for n_kv, ceil(f / tp) for f, "
         "ceil(V / tp) for V in all of the above, and",
         {.tp = 2},
         NULL},
    };
    const llmperf_layer plain = model->layers[0];
    llmperf_config *c = malloc(sizeof *c);
    if (!c)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_status status = LLMPERF_OK;
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS && status == LLMPERF_OK; i++) {
        model->layers[0] = plain;
        if (FORMS[i].change)
            FORMS[i].change(&model->layers[0]);
        status = llmperf_config_init(c, model, NULL, NULL, &FORMS[i].workload, error);
        if (status == LLMPERF_OK &&
            !collect(all, c, decode, 0, FORMS[i].form, FORMS[i].workload.tp > 1))
            status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    free(c);
    return status;
}

static llmperf_status collect_phase(printed *all, const llmperf_config *c, bool decode,
                                    llmperf_error *error)
{
    all->count = 0;
    all->rows = malloc(PRINTED_MAX * sizeof *all->rows);
    llmperf_model *model = c ? NULL : malloc(sizeof *model);
    llmperf_status status = LLMPERF_OK;
    if (!all->rows || (!c && !model)) {
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    } else if (!c) {
        general_model(model);
        status = collect_general(all, decode, model, error);
    } else {
        for (int i = 0; i < c->model->layer_kind_count && status == LLMPERF_OK; i++)
            if (!collect(all, c, decode, i, NULL, false))
                status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    free(model);
    return status;
}

/* Values of a symbol over the layer shapes, "32" or "16, 32", or in prefill and then in decode; ""
 * without a model. */
static void values_text(const llmperf_config *c, const symbol_info *info, char *buffer, size_t size)
{
    size_t used = 0;
    int shown = 0;
    buffer[0] = '\0';
    if (c && (info->value == sym_q || info->value == sym_p || info->value == sym_l ||
              info->value == sym_t || info->value == sym_distinct)) {
        symbol_scope scope = {.c = c, .layer = &c->model->layers[0]};
        int last = c->model->layer_kind_count - 1; /* experts seldom stand in the first layers */
        for (int i = 0; i < last && info->value(&scope) == 0; i++)
            scope.layer = &c->model->layers[i + 1];
        double prefill = info->value(&scope);
        scope.decode = true;
        snprintf(buffer, size, "%.6g, then %.6g", prefill, info->value(&scope));
        return;
    }
    for (int i = 0; c && i < c->model->layer_kind_count && used < size; i++) {
        char number[LLMPERF_DOUBLE_TEXT_MAX];
        symbol_scope scope = {.c = c, .layer = &c->model->layers[i]};
        double value = info->value(&scope);
        bool known = value == 0; /* a part that this shape does not have */
        for (int k = 0; k < i && !known; k++) {
            scope.layer = &c->model->layers[k];
            known = info->value(&scope) == value;
        }
        if (known)
            continue;
        if (shown++ == 4) {
            snprintf(buffer + used, size - used, " ...");
            return;
        }
        llmperf_format_double(value, number);
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", number);
    }
}

typedef struct symbol_use {
    bool used[sizeof SYMBOLS / sizeof *SYMBOLS];
} symbol_use;

static void mark_symbol(const char *name, void *context)
{
    symbol_use *use = context;
    const symbol_info *info = symbol_find(name);
    if (!info)
        return;
    use->used[info - SYMBOLS] = true;
    if (info->value == sym_distinct) { /* its meaning names these */
        mark_symbol("E", use);
        mark_symbol("K", use);
    }
}

static void mark_symbols(const printed *all, symbol_use *use)
{
    formula f;
    static const char *const always[] = {"b", "s", "q", "p", "L"}; /* the headings name them */
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        mark_symbol(always[i], use);
    for (int i = 0; i < all->count; i++)
        for (int q = 0; q < OP_QUANTITY_COUNT; q++)
            if (all->rows[i].text[q][0] && formula_parse(all->rows[i].text[q], NULL, &f))
                formula_symbols(&f, mark_symbol, use);
}

/* What q, p and T are in a phase. */
static const char *phase_text(const llmperf_config *c, bool decode)
{
    if (!decode)
        return c && c->workload.cached > 0
                   ? "Prefill, one step: q = s - p new tokens of each prompt after p cached ones"
                   : "Prefill, one step: b prompts of s tokens, q = L = s, p = 0";
    return c && c->workload.query > 1
               ? "Decode, one step: q tokens of each of b sequences, p cached, L = p + q"
               : "Decode, one step: one token of each of b sequences, p cached, L = p + 1";
}

/* ---- text and Markdown ----------------------------------------------------------------------- */

enum { INDENT = 16 };

static void put_line(page *p, const char *label, const char *text, const char *value)
{
    if (text[0])
        page_paragraph(p, INDENT, "    %-11s %s%s%s", label, text, value[0] ? " = " : "", value);
}

static void value_text(const llmperf_config *c, const op_formulas *r, op_quantity quantity,
                       char *buffer)
{
    double value = op_quantity_of(&r->op, quantity);
    buffer[0] = '\0';
    if (!c)
        return;
    if (quantity == OP_FLOP)
        human_flop(value, buffer);
    else if (quantity == OP_INTENSITY)
        human_number(value, buffer);
    else
        human_bytes(value, buffer);
}

/* A sum stands in parentheses between the signs of a shape. */
static bool is_sum(const char *text)
{
    int depth = 0;
    for (const char *c = text; *c; c++) {
        depth += *c == '(' ? 1 : *c == ')' ? -1 : 0;
        if (depth == 0 && (*c == '+' || *c == '-'))
            return true;
    }
    return false;
}

#define PARENTHESES(text) is_sum(text) ? "(" : "", text, is_sum(text) ? ")" : ""

static void put_op_text(page *p, const llmperf_config *c, const op_formulas *r)
{
    static const struct {
        const char *label;
        op_quantity quantity;
    } LINES[] = {{"FLOP", OP_FLOP},
                 {"bytes", OP_BYTES},
                 {"link bytes", OP_LINK_BYTES},
                 {"FLOP/byte", OP_INTENSITY}};
    char shape[4 * FORMULA_TEXT_MAX + 16] = "", value[HUMAN_MAX];
    bool once = strcmp(r->text[OP_REPEAT], "1") == 0;
    if (r->text[OP_M][0])
        snprintf(shape, sizeof shape, "%s%s%s x %s%s%s x %s%s%s", PARENTHESES(r->text[OP_M]),
                 PARENTHESES(r->text[OP_N]), PARENTHESES(r->text[OP_K]));
    if (!once) {
        size_t used = strlen(shape);
        snprintf(shape + used, sizeof shape - used, "%s(%s times)", used ? "  " : "",
                 r->text[OP_REPEAT]);
    }
    if (shape[0])
        page_paragraph(p, INDENT, "  %-13s %s", r->label, shape);
    else
        page_paragraph(p, INDENT, "  %s", r->label);
    for (size_t i = 0; i < sizeof LINES / sizeof *LINES; i++) {
        value_text(c, r, LINES[i].quantity, value);
        put_line(p, LINES[i].label, r->text[LINES[i].quantity], value);
    }
}

static void put_code(FILE *out, const char *text)
{
    if (text[0])
        fprintf(out, "| `%s` ", text);
    else
        fputs("| ", out);
}

static void put_op_markdown(FILE *out, const op_formulas *r)
{
    const bool link = r->text[OP_LINK_BYTES][0];
    fprintf(out, "| %s ", r->label);
    put_code(out, r->text[OP_REPEAT]);
    put_code(out, r->text[OP_M]);
    put_code(out, r->text[OP_N]);
    put_code(out, r->text[OP_K]);
    put_code(out, r->text[OP_FLOP]);
    put_code(out, r->text[link ? OP_LINK_BYTES : OP_BYTES]);
    put_code(out, r->text[OP_INTENSITY]);
    fputs("|\n", out);
}

static void markdown_heading(FILE *out)
{
    fputs("| operator | times | m | n | k | FLOP | bytes | FLOP/byte |\n"
          "|---|---|---|---|---|---|---|---|\n",
          out);
}

static void shape_heading(page *p, const llmperf_config *c, int layer)
{
    const llmperf_layer *l = &c->model->layers[layer];
    char facts[256] = "";
    size_t used = 0;
    const struct {
        const char *name;
        int64_t value;
    } parts[] = {{"n", l->attention.heads + l->mla.heads},
                 {"n_kv", l->attention.kv_heads},
                 {"W", l->attention.window},
                 {"C", l->attention.chunk},
                 {"n_s", l->ssm.heads},
                 {"f", l->mlp.ffn},
                 {"E", l->moe.experts}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].value > 0)
            used += (size_t)snprintf(facts + used, sizeof facts - used, ", %s = %lld",
                                     parts[i].name, (long long)parts[i].value);
    page_gap(p);
    page_paragraph(p, 2, "Layers of shape %d (%lld of them%s), where they differ:", layer + 1,
                   (long long)l->count, facts);
}

static void put_phase(page *p, const llmperf_config *c, const printed *all, bool decode)
{
    const char *form = NULL;
    int layer = 0;
    page_heading(p, "%s", phase_text(c, decode));
    for (int i = 0; i < all->count; i++) {
        const op_formulas *r = &all->rows[i];
        if (all->form[i] != form) {
            page_gap(p);
            page_paragraph(p, 2, "Other form: %s", all->form[i]);
        } else if (c && r->layer != layer) {
            shape_heading(p, c, r->layer);
        }
        bool opens = i == 0 || all->form[i] != form || r->layer != layer;
        form = all->form[i];
        layer = r->layer;
        if (p->markdown && opens)
            markdown_heading(p->out);
        if (p->markdown)
            put_op_markdown(p->out, r);
        else
            put_op_text(p, c, r);
    }
}

static void put_symbols(page *p, const llmperf_config *c, const symbol_use *use)
{
    static const char *const headings[] = {"symbol", "meaning", ">value"};
    page_table(p, c ? 3 : 2, headings);
    for (int i = 0; SYMBOLS[i].name; i++) {
        char value[PAGE_CELL_MAX];
        if (!use->used[i])
            continue;
        values_text(c, &SYMBOLS[i], value, sizeof value);
        const char *cells[] = {SYMBOLS[i].name, SYMBOLS[i].meaning, value};
        page_row(p, cells);
    }
    page_end_table(p);
}

static llmperf_status page_symbolic(FILE *out, const page_format *format, const llmperf_config *c,
                                    const printed *phases, const symbol_use *use, bool color,
                                    llmperf_error *error)
{
    page p;
    page_open(&p, out, format, color);
    if (c)
        page_title(&p, "%s in symbols", c->model->name);
    else
        page_title(&p, "A decoder in symbols: gated FFN, grouped-query attention, fused");
    page_paragraph(&p, 0,
                   "FLOP and bytes are of one launch on one device; one multiply-add is "
                   "2 FLOP; every tensor crosses memory once. Beside a GEMM's name: m x n "
                   "x k, and how often a step launches it.");
    page_gap(&p);
    put_symbols(&p, c, use);
    for (int i = 0; i < 2; i++)
        put_phase(&p, c, &phases[i], i == 1);
    page_heading(&p, "What follows (at 16 bit: w = a = c = 2)");
    for (const symbolic_consequence *k = CONSEQUENCES; k->key; k++) {
        if (p.markdown) {
            fprintf(out, "- `%s`: %s\n", k->formula, k->text);
        } else {
            page_paragraph(&p, 4, "  %s", k->formula);
            page_paragraph(&p, 6, "      %s", k->text);
        }
    }
    return page_close(&p, error);
}

/* ---- JSON and CSV ---------------------------------------------------------------------------- */

/* With every product written out, for programs. */
static void put_formula(sink *s, const char *key, const char *text)
{
    char program[2 * FORMULA_TEXT_MAX];
    formula f;
    if (text[0] && formula_parse(text, NULL, &f) &&
        formula_print(&f, FORMULA_PROGRAM, NULL, NULL, program, sizeof program))
        sink_text(s, key, program);
    else
        sink_null(s, key);
}

static void put_op_fields(sink *s, const op_formulas *r, const char *form)
{
    sink_text(s, "name", llmperf_op_name((llmperf_op_id)r->id));
    sink_text(s, "label", r->label);
    sink_integer(s, "layer_shape", r->layer + 1);
    sink_text(s, "form", form);
    for (int q = 0; q < OP_QUANTITY_COUNT; q++)
        put_formula(s, op_quantity_name((op_quantity)q), r->text[q]);
}

static void put_symbols_json(sink *s, const llmperf_config *c, const symbol_use *use)
{
    sink_begin_array(s, "symbols");
    for (int i = 0; SYMBOLS[i].name; i++) {
        if (!use->used[i])
            continue;
        sink_begin_object(s, NULL);
        sink_text(s, "symbol", SYMBOLS[i].name);
        sink_text(s, "meaning", SYMBOLS[i].meaning);
        /* one value per layer shape, and per phase where they differ */
        for (int decode = 0; decode < 2 && c; decode++) {
            sink_begin_array(s, decode ? "decode_values" : "prefill_values");
            for (int k = 0; k < c->model->layer_kind_count; k++) {
                const symbol_scope scope = {
                    .c = c, .layer = &c->model->layers[k], .decode = decode == 1};
                sink_number(s, NULL, SYMBOLS[i].value(&scope));
            }
            sink_end_array(s);
        }
        sink_end_object(s);
    }
    sink_end_array(s);
}

static llmperf_status record_symbolic(FILE *out, const sink_format *format, const llmperf_config *c,
                                      const printed *phases, const symbol_use *use,
                                      llmperf_error *error)
{
    static const char *const names[] = {"prefill", "decode"};
    sink s;
    sink_open(&s, out, format);
    if (s.is_table) {
        for (int i = 0; i < 2; i++)
            for (int k = 0; k < phases[i].count; k++) {
                sink_begin_row(&s);
                sink_text(&s, "phase", names[i]);
                put_op_fields(&s, &phases[i].rows[k], phases[i].form[k]);
                sink_end_row(&s);
            }
        return sink_close(&s, error);
    }
    sink_begin_object(&s, NULL);
    sink_text(&s, "llmperf", llmperf_version());
    sink_integer(&s, "schema", LLMPERF_JSON_SCHEMA);
    sink_text(&s, "model", c ? c->model->name : NULL);
    put_symbols_json(&s, c, use);
    sink_begin_array(&s, "phases");
    for (int i = 0; i < 2; i++) {
        sink_begin_object(&s, NULL);
        sink_text(&s, "phase", names[i]);
        sink_text(&s, "about", phase_text(c, i == 1));
        sink_begin_array(&s, "ops");
        for (int k = 0; k < phases[i].count; k++) {
            sink_begin_object(&s, NULL);
            put_op_fields(&s, &phases[i].rows[k], phases[i].form[k]);
            sink_end_object(&s);
        }
        sink_end_array(&s);
        sink_end_object(&s);
    }
    sink_end_array(&s);
    sink_begin_array(&s, "consequences_at_16_bit");
    for (const symbolic_consequence *k = CONSEQUENCES; k->key; k++) {
        sink_begin_object(&s, NULL);
        sink_text(&s, "name", k->key);
        put_formula(&s, "formula", k->formula);
        sink_text(&s, "about", k->text);
        sink_end_object(&s);
    }
    sink_end_array(&s);
    sink_begin_array(&s, "notes");
    sink_end_array(&s);
    sink_begin_array(&s, "not_modelled");
    sink_end_array(&s);
    sink_end_object(&s);
    return sink_close(&s, error);
}

llmperf_status llmperf_write_symbolic(FILE *out, const char *name, const llmperf_config *c,
                                      const llmperf_text_style *style, llmperf_error *error)
{
    NEEDS(out, error);
    printed phases[2] = {{.count = 0}, {.count = 0}};
    symbol_use use = {.used = {false}};
    const output_format *f = NULL;
    llmperf_status status = format_find(name, FORMAT_REPORTS, &f, error);
    for (int i = 0; i < 2 && status == LLMPERF_OK; i++) {
        status = collect_phase(&phases[i], c, i == 1, error);
        if (status == LLMPERF_OK)
            mark_symbols(&phases[i], &use);
    }
    if (status == LLMPERF_OK && f->sink)
        status = record_symbolic(out, f->sink, c, phases, &use, error);
    else if (status == LLMPERF_OK)
        status = page_symbolic(out, f->page, c, phases, &use, style && style->color, error);
    free(phases[0].rows);
    free(phases[1].rows);
    return status;
}
