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
#include "internal.h"
#include "llmperf/report.h"
#include "page.h"
#include "sink.h"

/* ---- symbols --------------------------------------------------------------------------------------- */

static double sym_b(const symbol_scope *s) { return (double)s->c->workload.batch; }
static double sym_s(const symbol_scope *s) { return (double)s->c->workload.prompt; }
static double sym_q(const symbol_scope *s)
{
    const llmperf_workload *w = &s->c->workload;
    return (double)(s->decode ? w->query : w->prompt - w->cached);
}
static double sym_p(const symbol_scope *s)
{
    return (double)(s->decode ? s->c->workload.context : s->c->workload.cached);
}
static double sym_l(const symbol_scope *s) { return sym_p(s) + sym_q(s); }
static double sym_t(const symbol_scope *s) { return sym_b(s) * sym_q(s); }
static double sym_h(const symbol_scope *s) { return (double)s->c->model->hidden; }
static double sym_e(const symbol_scope *s) { return (double)s->c->model->embedding_dim; }
static double sym_n(const symbol_scope *s) { return (double)s->layer->attention.heads; }
static double sym_n_kv(const symbol_scope *s) { return (double)s->layer->attention.kv_heads; }
static double sym_d(const symbol_scope *s) { return (double)s->layer->attention.head_dim; }
static double sym_d_v(const symbol_scope *s) { return (double)s->layer->attention.value_dim; }
static double sym_window(const symbol_scope *s) { return (double)s->layer->attention.window; }
static double sym_f(const symbol_scope *s) { return (double)s->layer->mlp.ffn; }
static double sym_v(const symbol_scope *s) { return (double)s->c->model->vocab; }
static double sym_layers(const symbol_scope *s) { return (double)s->layer->count; }
static double sym_tp(const symbol_scope *s) { return (double)s->c->workload.tp; }
static double sym_a(const symbol_scope *s) { return s->c->act_bytes_per; }
static double sym_c(const symbol_scope *s) { return s->c->kv_bytes_per; }
static double sym_w(const symbol_scope *s)
{
    return s->c->layer[0].bytes_per[LLMPERF_WEIGHT_ATTENTION];
}
static double sym_w_f(const symbol_scope *s) { return s->c->layer[0].bytes_per[LLMPERF_WEIGHT_MLP]; }
static double sym_w_e(const symbol_scope *s)
{
    return s->c->outside.bytes_per[LLMPERF_WEIGHT_EMBEDDING];
}
static double sym_w_h(const symbol_scope *s)
{
    return s->c->outside.bytes_per[s->c->model->tied ? LLMPERF_WEIGHT_EMBEDDING
                                                    : LLMPERF_WEIGHT_HEAD];
}
static double sym_w_n(const symbol_scope *s)
{
    return s->c->outside.bytes_per[LLMPERF_WEIGHT_OTHER];
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
    {"f", "FFN width", SYMBOL_MODEL, NULL, sym_f},
    {"V", "vocabulary", SYMBOL_MODEL, NULL, sym_v},
    {"layers", "layers", SYMBOL_MODEL, NULL, sym_layers},
    {"w", "bytes of a weight", SYMBOL_FORMAT, "weight-dtype", sym_w},
    {"w_f", "bytes of an FFN weight", SYMBOL_FORMAT, "weight-dtype", sym_w_f},
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

/* ---- the table of formulas ----------------------------------------------------------------------------- */

/* What one operator computes and moves on one device. A GEMM says m, n, k and its weights' bytes;
 * the rest follows. FLOP per byte is written out where it is simpler than the quotient. */
typedef struct row {
    const char *m, *n, *k, *w;
    const char *flop, *weight, *input, *output, *kv_read, *kv_write, *link;
    const char *intensity;
} row;

static const row ROWS[LLMPERF_OP_COUNT] = {
    [LLMPERF_OP_EMBED] = {.flop = "$pos $T h",
                          .weight = "$T $e $w_e",
                          .input = "$pos $T h $w_e",
                          .output = "$T $e a",
                          .intensity = "$pos h / ($e $w_e + $pos h $w_e + $e a)"},
    [LLMPERF_OP_EMBED_PROJECT] = {.m = "$T", .n = "h", .k = "$e", .w = "$w_e"},
    [LLMPERF_OP_NORM] = {.flop = "$norm_flop $T h",
                         .weight = "$norm_weights h $w_n",
                         .input = "$T h a",
                         .output = "$T h a",
                         .intensity = "$norm_flop / ($norm_weights $w_n / ($T) + 2 a)"},
    [LLMPERF_OP_ATTN_QKV] = {.m = "$T", .n = "$QKV", .k = "h", .w = "w"},
    [LLMPERF_OP_ATTN_Q] = {.m = "$T", .n = "$N $d_k", .k = "h", .w = "w"},
    [LLMPERF_OP_ATTN_K] = {.m = "$T", .n = "$N_kv $d_k", .k = "h", .w = "w"},
    [LLMPERF_OP_ATTN_V] = {.m = "$T", .n = "$N_kv $d_v", .k = "h", .w = "w"},
    [LLMPERF_OP_ROPE] = {.flop = "3 $T ($N + $N_kv) $d_k",
                         .input = "$T ($N + $N_kv) $d_k a",
                         .output = "$T ($N + $N_kv) $d_k a",
                         .intensity = "3 / (2 a)"},
    /* pairs * 2 (d_k + d_v) per head; K and V once per KV head; pairs and keys over q cancel q */
    [LLMPERF_OP_ATTN_CORE] = {.flop = "2 b $N ($d_k + $d_v) $pairs",
                              .input = "b $q $N $d_k a",
                              .output = "b $q $N $d_v a",
                              .kv_read = "b $keys $N_kv ($d_k + $d_v) c",
                              .kv_write = "b $q $N_kv ($d_k + $d_v) c",
                              .intensity = "2 $N $pairs_per_q / "
                                           "($N a + ($keys_per_q + 1) $N_kv c)"},
    [LLMPERF_OP_ATTN_SCORES] = {.flop = "2 b $N $d_k $q $keys",
                                .input = "b $N ($q + $keys) $d_k a",
                                .output = "b $N $q $keys a",
                                .kv_write = "b $q $N_kv ($d_k + $d_v) c",
                                .intensity = "2 / (a / $keys + a / $q + a / $d_k + "
                                             "$N_kv ($d_k + $d_v) c / ($N $d_k $keys))"},
    [LLMPERF_OP_ATTN_SOFTMAX] = {.flop = "5 b $N $q $keys",
                                 .input = "b $N $q $keys a",
                                 .output = "b $N $q $keys a",
                                 .intensity = "5 / (2 a)"},
    [LLMPERF_OP_ATTN_VALUES] = {.flop = "2 b $N $d_v $q $keys",
                                .input = "b $N ($q + $d_v) $keys a",
                                .output = "b $N $q $d_v a",
                                .intensity = "2 / (a / $d_v + a / $q + a / $keys)"},
    [LLMPERF_OP_ATTN_OUT] = {.m = "$T", .n = "h", .k = "$N $d_v", .w = "w"},
    [LLMPERF_OP_RESIDUAL] = {.flop = "$T h",
                             .input = "$T h a",
                             .output = "$T h a",
                             .intensity = "1 / (2 a)"},
    [LLMPERF_OP_MLP_GATE_UP] = {.m = "$T", .n = "2 $F", .k = "h", .w = "$w_f"},
    [LLMPERF_OP_MLP_UP] = {.m = "$T", .n = "$F", .k = "h", .w = "$w_f"},
    [LLMPERF_OP_MLP_ACT] = {.flop = "$act_flop $T $F",
                            .input = "$act_values $T $F a",
                            .output = "$T $F a",
                            .intensity = "$act_flop / (($act_values + 1) a)"},
    [LLMPERF_OP_MLP_DOWN] = {.m = "$T", .n = "h", .k = "$F", .w = "$w_f"},
    [LLMPERF_OP_HEAD_PROJECT] = {.m = "$rows", .n = "$e", .k = "h", .w = "$w_e"},
    [LLMPERF_OP_LM_HEAD] = {.m = "$rows", .n = "$V", .k = "$e", .w = "$w_h"},
    [LLMPERF_OP_COMM_EMBED] = {.link = "2 (tp - 1) / tp $T $e a"},
    [LLMPERF_OP_COMM_ATTN] = {.link = "2 (tp - 1) / tp $T h a"},
    [LLMPERF_OP_COMM_MLP] = {.link = "2 (tp - 1) / tp $T h a"},
    [LLMPERF_OP_COMM_LOGITS] = {.link = "(tp - 1) / tp $rows V a"},
};

/* The norm of q and k shares its name with the norms of the hidden state. */
static const row QK_NORM = {.flop = "4 $T ($N + $N_kv) $d_k",
                            .weight = "$qk_weights $w_n",
                            .input = "$T ($N + $N_kv) $d_k a",
                            .output = "$T ($N + $N_kv) $d_k a",
                            .intensity = "4 / ($qk_weights $w_n / ($T ($N + $N_kv) $d_k) + 2 a)"};

static const row GEMM = {.flop = "2 $m $n $k",
                         .weight = "$n $k $w",
                         .input = "$m $k a",
                         .output = "$m $n a",
                         .intensity = "2 / ($w / ($m) + a / ($n) + a / ($k))"};

static const char *const QUANTITY_NAMES[OP_QUANTITY_COUNT] = {
    "repeat",        "m",
    "n",             "k",
    "flop",          "weight_bytes",
    "input_bytes",   "output_bytes",
    "kv_read_bytes", "kv_write_bytes",
    "bytes",         "link_bytes",
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

/* ---- macros: what phase, model and deployment make of the table -------------------------------------------- */

enum { MACROS_MAX = 48 };

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

static void fill_step(macro_set *m, const symbol_scope *s)
{
    const llmperf_workload *w = &s->c->workload;
    bool window = s->layer->attention.window > 0;
    bool whole = !s->decode && w->cached == 0; /* p = 0, q = s = L */
    bool single = s->decode && w->query == 1;  /* q = 1, L = p + 1 */
    define(m, "$q", whole ? "s" : single ? "1" : "q");
    define(m, "$T", whole ? "b s" : single ? "b" : "b q");
    define(m, "$rows", s->decode || w->logits_all ? "$T" : "b");
    /* causal pairs of a sequence: all, less those that a window leaves out */
    if (whole) {
        define(m, "$pairs", window ? "(s (s + 1) / 2 - max(0, s - W) (max(0, s - W) + 1) / 2)"
                                   : "s (s + 1) / 2");
        define(m, "$pairs_per_q", window ? "$pairs / s" : "(s + 1) / 2");
        define(m, "$keys", "s");
        define(m, "$keys_per_q", "1");
    } else if (single) {
        define(m, "$pairs", window ? "min(L, W)" : "L");
        define(m, "$pairs_per_q", "$pairs");
        define(m, "$keys", "$pairs");
        define(m, "$keys_per_q", "$pairs");
    } else {
        define(m, "$pairs",
               window ? "(q p + q (q + 1) / 2 - max(0, L - W) (max(0, L - W) + 1) / 2 + "
                        "max(0, p - W) (max(0, p - W) + 1) / 2)"
                      : "q (p + (q + 1) / 2)");
        define(m, "$pairs_per_q", window ? "$pairs / q" : "(p + (q + 1) / 2)");
        define(m, "$keys", window ? "min(L, W + q - 1)" : "L");
        define(m, "$keys_per_q", "$keys / q");
    }
}

static void fill_shape(macro_set *m, const symbol_scope *s)
{
    const llmperf_model *model = s->c->model;
    const llmperf_attention *a = &s->layer->attention;
    bool shared = s->c->workload.tp > 1;
    bool square = a->head_dim == a->value_dim;
    define(m, "$N", shared ? "n / tp" : "n");
    define(m, "$N_kv", shared ? "max(1, n_kv / tp)" : "n_kv");
    define(m, "$F", shared ? "ceil(f / tp)" : "f");
    define(m, "$V", shared ? "ceil(V / tp)" : "V");
    define(m, "$d_k", square ? "d" : "d_k");
    define(m, "$d_v", square ? "d" : "d_v");
    define(m, "$QKV", square ? "($N + 2 $N_kv) d" : "($N + $N_kv) d_k + $N_kv d_v");
    define(m, "$e", model->embedding_dim == model->hidden ? "h" : "e");
    define(m, "$pos", model->position_embeddings > 0 ? "1" : "0");
    define(m, "$norm_flop", model->norm == LLMPERF_NORM_RMS ? "4" : "7");
    int64_t per_channel = norm_weights(model, 1);
    define(m, "$norm_weights", per_channel == 2 ? "2" : per_channel == 1 ? "1" : "0");
    define(m, "$qk_weights",
           a->qk_norm == LLMPERF_QK_NORM_HEAD ? "2 $d_k" : "($N + $N_kv) $d_k");
    define(m, "$act_flop", s->layer->mlp.gated ? "5" : "4");
    define(m, "$act_values", s->layer->mlp.gated ? "2" : "1");
    double w = sym_w(s);
    define(m, "$w_f", same_or(sym_w_f(s), w, "w_f"));
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
    if (t->m) {
        const row *gemm = t;
        define(&m, "$m", gemm->m);
        define(&m, "$n", gemm->n);
        define(&m, "$k", gemm->k);
        define(&m, "$w", gemm->w);
        expand(gemm->m, &m, r->text[OP_M]);
        expand(gemm->n, &m, r->text[OP_N]);
        expand(gemm->k, &m, r->text[OP_K]);
        t = &GEMM;
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

int symbolic_ops(const llmperf_case *c, bool decode, int layer, op_formulas *ret_rows)
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
    if (!model)
        return -1;
    *model = *c->model;
    model->layer_kind_count = 1;
    model->layers[0] = c->model->layers[layer];
    llmperf_case one = *c;
    one.model = model;
    int count = llmperf_emit(&one, &segment, 1, ops);
    free(model);

    const symbol_scope scope = {.c = c, .layer = &c->model->layers[layer], .decode = decode};
    int previous = LLMPERF_OP_COUNT;
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        op_formulas *r = &ret_rows[i];
        memset(r, 0, sizeof *r);
        r->op = *op;
        r->id = op->id;
        r->layer = layer;
        bool once = runs_once(c->model, ops, count, i);
        bool qk = op->id == LLMPERF_OP_NORM && !once &&
                  (previous == LLMPERF_OP_ATTN_QKV || previous == LLMPERF_OP_ATTN_V);
        r->label = qk ? "norm (q, k)" : llmperf_op_name((llmperf_op_id)op->id);
        fill_row(r, qk ? &QK_NORM : &ROWS[op->id], &scope);
        double times = op->repeat / (double)scope.layer->count;
        if (once)
            snprintf(r->text[OP_REPEAT], FORMULA_TEXT_MAX, "%.0f", op->repeat);
        else if (times == 1)
            snprintf(r->text[OP_REPEAT], FORMULA_TEXT_MAX, "layers");
        else
            snprintf(r->text[OP_REPEAT], FORMULA_TEXT_MAX, "%.0f layers", times);
        previous = op->id;
    }
    return count;
}

/* ---- consequences -------------------------------------------------------------------------------------- */

const symbolic_consequence CONSEQUENCES[] = {
    {"dense", "1 / (1 / m + 1 / n + 1 / k)",
     "FLOP per byte of a dense GEMM of m x n x k. Here and in the last two lines m, n, k are a "
     "GEMM's, m the tokens."},
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
    {NULL, NULL, NULL},
};

/* ---- collecting what is printed -------------------------------------------------------------------------- */

enum { PRINTED_MAX = 128, FORMS_MAX = 8 };

/* Operators of one phase as they are printed: equal ones once. */
typedef struct printed {
    int count;
    op_formulas *rows; /* of PRINTED_MAX */
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
static bool collect(printed *all, const llmperf_case *c, bool decode, int layer, const char *form,
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
            .attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .value_dim = 128,
                          .rope = true},
            .mlp = {.ffn = 14336, .gated = true},
        }},
    };
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        ret_model->weight_dtype[i] = LLMPERF_DTYPE_BF16;
        ret_model->weight_bits[i] = 16;
    }
}

/* The forms that the general decoder may take, shown behind it. */
static llmperf_status collect_general(printed *all, bool decode, llmperf_model *model,
                                      llmperf_error *error)
{
    static const struct {
        const char *form;
        llmperf_workload workload;
        bool plain;
    } FORMS[] = {
        {NULL, {0}, false},
        {"unfused attention (--attention unfused), in place of attn.core", {.unfused = true}, false},
        {"three projections (--split-qkv), in place of attn.qkv", {.split_qkv = true}, false},
        {"FFN without a gate, in place of mlp.gate_up and mlp.act", {0}, true},
        {"on tp devices (--tp): n / tp for n, max(1, n_kv / tp) for n_kv, ceil(f / tp) for f, "
         "ceil(V / tp) for V in all of the above, and",
         {.tp = 2},
         false},
    };
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS; i++) {
        llmperf_case c;
        model->layers[0].mlp.gated = !FORMS[i].plain;
        llmperf_status status = llmperf_case_init(&c, model, NULL, NULL, &FORMS[i].workload, error);
        if (status != LLMPERF_OK)
            return status;
        if (!collect(all, &c, decode, 0, FORMS[i].form, FORMS[i].workload.tp > 1))
            return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    return LLMPERF_OK;
}

static llmperf_status collect_phase(printed *all, const llmperf_case *c, bool decode,
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
static void values_text(const llmperf_case *c, const symbol_info *info, char *buffer, size_t size)
{
    size_t used = 0;
    int shown = 0;
    buffer[0] = '\0';
    if (c && (info->value == sym_q || info->value == sym_p || info->value == sym_l)) {
        symbol_scope scope = {.c = c, .layer = &c->model->layers[0]};
        double prefill = info->value(&scope);
        scope.decode = true;
        snprintf(buffer, size, "%.0f, then %.0f", prefill, info->value(&scope));
        return;
    }
    for (int i = 0; c && i < c->model->layer_kind_count && used < size; i++) {
        char number[LLMPERF_DOUBLE_TEXT_MAX];
        symbol_scope scope = {.c = c, .layer = &c->model->layers[i]};
        double value = info->value(&scope);
        bool known = false;
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
        if (info->value == sym_window && value == 0)
            snprintf(number, sizeof number, "none");
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
    if (info)
        use->used[info - SYMBOLS] = true;
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
static const char *phase_text(const llmperf_case *c, bool decode)
{
    if (!decode)
        return c && c->workload.cached > 0
                   ? "Prefill, one step: q = s - p new tokens of each prompt after p cached ones"
                   : "Prefill, one step: b prompts of s tokens, q = L = s, p = 0";
    return c && c->workload.query > 1
               ? "Decode, one step: q tokens of each of b sequences, p cached, L = p + q"
               : "Decode, one step: one token of each of b sequences, p cached, L = p + 1";
}

/* ---- text and Markdown ---------------------------------------------------------------------------------- */

enum { INDENT = 16 };

static void put_line(page *p, const char *label, const char *text, const char *value)
{
    if (text[0])
        page_paragraph(p, INDENT, "    %-11s %s%s%s", label, text, value[0] ? " = " : "", value);
}

static void value_text(const llmperf_case *c, const op_formulas *r, op_quantity quantity,
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

static void put_op_text(page *p, const llmperf_case *c, const op_formulas *r)
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
        snprintf(shape, sizeof shape, "%s x %s x %s", r->text[OP_M], r->text[OP_N], r->text[OP_K]);
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

static void shape_heading(page *p, const llmperf_case *c, int layer)
{
    const llmperf_layer *l = &c->model->layers[layer];
    char window[48] = "";
    if (l->attention.window > 0)
        snprintf(window, sizeof window, ", window W = %lld", (long long)l->attention.window);
    page_gap(p);
    page_paragraph(p, 2, "Layers of shape %d (%lld of them: n = %lld, n_kv = %lld, f = %lld%s), "
                         "where they differ:",
                   layer + 1, (long long)l->count, (long long)l->attention.heads,
                   (long long)l->attention.kv_heads, (long long)l->mlp.ffn, window);
}

static void put_phase(page *p, const llmperf_case *c, const printed *all, bool decode)
{
    const char *form = NULL;
    int layer = 0;
    page_heading(p, "%s", phase_text(c, decode));
    for (int i = 0; i < all->count; i++) {
        const op_formulas *r = &all->rows[i];
        if (all->form[i] != form) {
            page_gap(p);
            page_paragraph(p, 2, "Other form: %s", all->form[i]);
        } else if (r->layer != layer) {
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

static void put_symbols(page *p, const llmperf_case *c, const symbol_use *use)
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

static llmperf_status page_symbolic(FILE *out, bool markdown, const llmperf_case *c,
                                    const printed *phases, const symbol_use *use, bool color,
                                    llmperf_error *error)
{
    page p;
    page_open(&p, out, markdown, color);
    if (c)
        page_title(&p, "%s in symbols", c->model->name);
    else
        page_title(&p, "A decoder in symbols: gated FFN, grouped-query attention, fused");
    page_paragraph(&p, 0, "FLOP and bytes are of one launch on one device; one multiply-add is "
                          "2 FLOP; every tensor crosses memory once. Beside a GEMM's name: m x n "
                          "x k, and how often a step launches it.");
    page_gap(&p);
    put_symbols(&p, c, use);
    for (int i = 0; i < 2; i++)
        put_phase(&p, c, &phases[i], i == 1);
    page_heading(&p, "What follows (at 16 bit: w = a = c = 2)");
    for (const symbolic_consequence *k = CONSEQUENCES; k->key; k++) {
        if (markdown) {
            fprintf(out, "- `%s`: %s\n", k->formula, k->text);
        } else {
            page_paragraph(&p, 4, "  %s", k->formula);
            page_paragraph(&p, 6, "      %s", k->text);
        }
    }
    return page_close(&p, error);
}

/* ---- JSON and CSV ------------------------------------------------------------------------------------------ */

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

static void put_symbols_json(sink *s, const llmperf_case *c, const symbol_use *use)
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

static llmperf_status record_symbolic(FILE *out, bool csv, const llmperf_case *c,
                                      const printed *phases, const symbol_use *use,
                                      llmperf_error *error)
{
    static const char *const names[] = {"prefill", "decode"};
    sink s;
    sink_open(&s, out, csv);
    if (csv) {
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

llmperf_status llmperf_write_symbolic(FILE *out, const char *format, const llmperf_case *c,
                                      const llmperf_text_style *style, llmperf_error *error)
{
    printed phases[2] = {{.count = 0}, {.count = 0}};
    symbol_use use = {.used = {false}};
    const char *const *known = llmperf_formats();
    format = format ? format : known[0];
    while (*known && strcmp(*known, format) != 0)
        known++;
    if (!*known)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "format '%s' is not known here; text, json, csv, md are allowed",
                            format);
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; i < 2 && status == LLMPERF_OK; i++) {
        status = collect_phase(&phases[i], c, i == 1, error);
        if (status == LLMPERF_OK)
            mark_symbols(&phases[i], &use);
    }
    bool csv = strcmp(format, "csv") == 0, markdown = strcmp(format, "md") == 0;
    if (status == LLMPERF_OK && (csv || strcmp(format, "json") == 0))
        status = record_symbolic(out, csv, c, phases, &use, error);
    else if (status == LLMPERF_OK)
        status = page_symbolic(out, markdown, c, phases, &use, style && style->color, error);
    free(phases[0].rows);
    free(phases[1].rows);
    return status;
}
