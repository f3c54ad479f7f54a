/* SPDX-License-Identifier: MIT */
/*
 * The operators in symbols: which row of the tables says an operator's formulas, and what a phase, a
 * model and a deployment make of them.
 */
#include "symbolic.h"
#include "config_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- quantities ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    llmperf_unit unit;
    size_t offset; /* in llmperf_op */
} QUANTITIES[OP_QUANTITY_COUNT] = {
    {"repeat", LLMPERF_UNIT_COUNT, offsetof(llmperf_op, repeat)},
    {"m", LLMPERF_UNIT_COUNT, offsetof(llmperf_op, m)},
    {"n", LLMPERF_UNIT_COUNT, offsetof(llmperf_op, n)},
    {"k", LLMPERF_UNIT_COUNT, offsetof(llmperf_op, k)},
    {"flop", LLMPERF_UNIT_FLOP, offsetof(llmperf_op, flop)},
    {"weight_bytes", LLMPERF_UNIT_BYTES, offsetof(llmperf_op, weight_bytes)},
    {"input_bytes", LLMPERF_UNIT_BYTES, offsetof(llmperf_op, input_bytes)},
    {"output_bytes", LLMPERF_UNIT_BYTES, offsetof(llmperf_op, output_bytes)},
    {"kv_read_bytes", LLMPERF_UNIT_BYTES, offsetof(llmperf_op, kv_read_bytes)},
    {"kv_write_bytes", LLMPERF_UNIT_BYTES, offsetof(llmperf_op, kv_write_bytes)},
    {"bytes", LLMPERF_UNIT_BYTES, offsetof(llmperf_op, bytes)},
    {"link_bytes", LLMPERF_UNIT_BYTES, offsetof(llmperf_op, link_bytes)},
    {"intensity_flop_per_byte", LLMPERF_UNIT_FLOP_PER_BYTE, 0},
};

const char *op_quantity_name(op_quantity quantity)
{
    return QUANTITIES[quantity].name;
}

llmperf_unit op_quantity_unit(op_quantity quantity)
{
    return QUANTITIES[quantity].unit;
}

double op_quantity_of(const llmperf_op *op, op_quantity quantity)
{
    if (quantity == OP_INTENSITY)
        return op->bytes > 0 ? op->flop / op->bytes : 0;
    const void *value = (const char *)op + QUANTITIES[quantity].offset;
    return *(const double *)value;
}

/* ---- the row of an operator ------------------------------------------------------------------ */

static bool is_empty(const op_row *row)
{
    return !row->n && !row->output && !row->link;
}

static bool stands_behind(const op_row *row, llmperf_op_id before)
{
    bool anywhere = row->behind[0] == 0;
    for (int i = 0; i < BEHIND_MAX && row->behind[i] && !anywhere; i++)
        if (row->behind[i] == before)
            return true;
    return anywhere;
}

/* NULL: there are no formulas of it. `before`: the operator in front of it. */
static const op_row *row_of(llmperf_op_id id, llmperf_op_id before, const symbol_scope *s)
{
    for (const layer_rows *rows = rows_next(NULL); rows; rows = rows_next(rows))
        for (const op_row *r = rows->ops; !is_empty(r); r++)
            if (r->id == id && stands_behind(r, before) && scope_holds(s, rows->present) &&
                scope_holds(s, r->when))
                return r;
    return NULL;
}

const char *symbolic_weight(llmperf_op_id id)
{
    for (const layer_rows *rows = rows_next(NULL); rows; rows = rows_next(rows))
        for (const op_row *r = rows->ops; !is_empty(r); r++)
            if (r->id == id && r->w)
                return r->w[0] == '$' ? r->w + 1 : r->w;
    return "w";
}

static const op_row GEMM = {.flop = "2 $m $n $k $times",
                            .weight = "$n $k $w $times",
                            .input = "$m $k a $times",
                            .output = "$m $n a $times",
                            .intensity = "2 / ($w / ($m) + a / ($n) + a / ($k))"};

/* The tokens' products with the X experts that they touch; m rows for each of these. */
static const op_row GROUPED = {.flop = "2 $all $n $k",
                               .weight = "X $n $k $w",
                               .input = "$all $k a",
                               .output = "$all $n a",
                               .intensity = "2 / ($w / ($m) + a / ($n) + a / ($k))"};

static void fill_row(op_formulas *r, const op_row *t, const symbol_scope *s)
{
    const op_row *form = !t->n ? t : t->rows ? &GROUPED : &GEMM;
    const macro own[] = {
        {"$m", !t->n     ? "0"
               : t->rows ? "$all / X"
                         : t->m},
        {"$n", t->n ? t->n : "0"},
        {"$k", t->n ? t->k : "0"},
        {"$w", t->w},
        {"$times", t->times ? t->times : "1"},
        {"$all", t->rows},
        {NULL, NULL},
    };
    const char *const texts[OP_QUANTITY_COUNT] = {
        [OP_M] = "$m",
        [OP_N] = "$n",
        [OP_K] = "$k",
        [OP_FLOP] = form->flop,
        [OP_WEIGHT_BYTES] = form->weight,
        [OP_INPUT_BYTES] = form->input,
        [OP_OUTPUT_BYTES] = form->output,
        [OP_KV_READ_BYTES] = form->kv_read,
        [OP_KV_WRITE_BYTES] = form->kv_write,
        [OP_LINK_BYTES] = form->link,
        [OP_INTENSITY] = form->intensity,
    };
    for (int q = OP_M; q < OP_QUANTITY_COUNT; q++)
        scope_expand(s, own, texts[q], r->text[q]);
    /* bytes: the sum of the classes, equal ones added up */
    char sum[5 * FORMULA_TEXT_MAX] = "";
    size_t used = 0;
    for (int i = OP_WEIGHT_BYTES; i <= OP_KV_WRITE_BYTES; i++)
        if (r->text[i][0])
            used += (size_t)snprintf(sum + used, sizeof sum - used, "%s%s", used ? " + " : "",
                                     r->text[i]);
    scope_expand(s, NULL, used ? sum : NULL, r->text[OP_BYTES]);
}

/* ---- the operators of a step ----------------------------------------------------------------- */

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

/* The engine says which operators there are: a model of this layer shape alone. -1: no memory. */
static int emit_alone(const llmperf_config *c, bool decode, int layer, llmperf_op *ret_ops)
{
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
        count = llmperf_emit(one, &segment, 1, OP_FORMULAS_MAX, ret_ops);
    }
    free(one);
    free(model);
    return count;
}

int symbolic_ops(const llmperf_config *c, bool decode, int layer, op_formulas *ret_rows)
{
    llmperf_op *ops = calloc(OP_FORMULAS_MAX, sizeof *ops);
    int count = ops ? emit_alone(c, decode, layer, ops) : -1;
    symbol_scope scope = {.c = c, .layer = &c->model->layers[layer], .decode = decode};
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        op_formulas *r = &ret_rows[i];
        memset(r, 0, sizeof *r);
        r->op = *op;
        r->id = op->id;
        r->layer = layer;
        r->outside = scope.outside = runs_once(c->model, ops, count, i);
        const op_row *row = row_of((llmperf_op_id)op->id,
                                   i > 0 ? (llmperf_op_id)ops[i - 1].id : LLMPERF_OP_COUNT, &scope);
        r->label = row && row->label ? row->label : llmperf_op_name((llmperf_op_id)op->id);
        if (row)
            fill_row(r, row, &scope);
        double times = op->repeat / (double)scope.layer->count;
        if (r->outside)
            snprintf(r->text[OP_REPEAT], FORMULA_TEXT_MAX, "%.0f", op->repeat);
        else if (times == 1)
            snprintf(r->text[OP_REPEAT], FORMULA_TEXT_MAX, "layers");
        else
            snprintf(r->text[OP_REPEAT], FORMULA_TEXT_MAX, "%.0f layers", times);
    }
    free(ops);
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
