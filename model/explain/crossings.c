/* SPDX-License-Identifier: MIT */
/* Explains the batches from which on operators and steps are compute-bound. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "crossing.h"
#include "symbolic.h"
#include "config_object.h"
#include "emit.h"

/* What does not depend on how the batch was found: none, or an end of a calibration's interval. */
static bool put_end(explainer *e, const llmperf_crossing *crossing, bool calibrated)
{
    if (!crossing->exists) {
        explain_none(e, crossing->why);
        return true;
    }
    if (!calibrated || (e->part != PART_LOW && e->part != PART_HIGH))
        return false;
    if (e->part == PART_HIGH && crossing->high == 0)
        explain_none(e, "within the calibration's interval there may be no such batch");
    else
        explain_rule(e, (double)(e->part == PART_LOW ? crossing->low : crossing->high),
                     "the same batch with the fits' ratio of compute to memory efficiency at an "
                     "end of its interval");
    return true;
}

/* False: there is no batch, or an end of the interval was asked. */
static bool put_crossing(explainer *e, const char *says, const llmperf_crossing *crossing,
                         bool calibrated)
{
    if (put_end(e, crossing, calibrated))
        return false;
    bool exact = e->part == PART_EXACT, rule = strncmp(says, "RULE ", 5) == 0;
    e->x->rounded_up = !exact && !rule;
    explain_say(e, says, exact ? crossing->exact : (double)crossing->batch);
    return true;
}

bool explain_has_crossings(explainer *e, bool calibrated)
{
    if (calibrated && !e->p->has_calibrated)
        explain_none(e, "no calibration is used");
    return !calibrated || e->p->has_calibrated;
}

/* ---- sums over the operators of a decode step ------------------------------------------------ */

typedef struct step_terms {
    double compute, memory;
} step_terms;

static step_terms terms_at(explainer *e, int64_t batch, bool calibrated, bool dense)
{
    const llmperf_config *c = e->c;
    step_terms sum = {0, 0};
    const int capacity = llmperf_emit_capacity(c, 1);
    llmperf_op *ops = malloc(sizeof *ops * (size_t)capacity);
    llmperf_segment segment = llmperf_decode_segment(c, batch, c->workload.context);
    int count = ops ? llmperf_emit(c, &segment, 1, capacity, ops) : 0;
    e->out_of_memory |= !ops;
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        double peak, bandwidth;
        if (op->kind == LLMPERF_KIND_COLLECTIVE || (dense && op->group != LLMPERF_GROUP_DENSE))
            continue;
        reached_rates(op, c->hw, calibrated ? c->calib : NULL, &peak, &bandwidth);
        sum.compute += op->repeat * op->flop / peak;
        sum.memory += op->repeat * op->bytes / bandwidth;
    }
    free(ops);
    return sum;
}

/* With experts the sums are not affine: the batch is searched. */
static void searched_crossing(explainer *e, const llmperf_crossing *crossing, bool calibrated,
                              bool dense)
{
    bool found = put_crossing(
        e,
        "RULE the smallest batch at which the sum of flop / peak is at least the sum of bytes / "
        "bandwidth, by bisection: experts' bytes are not linear in the batch",
        crossing, calibrated);
    for (int64_t b = crossing->batch - 1; found && b <= crossing->batch; b++) {
        char name[64];
        if (b < 1)
            continue;
        step_terms sum = terms_at(e, b, calibrated, dense);
        explain_print(name, sizeof name, "compute at %lld", (long long)b);
        explain_add_step(e, name, NULL, LLMPERF_UNIT_S, sum.compute);
        explain_add_step(e, "less memory time", NULL, LLMPERF_UNIT_S, sum.compute - sum.memory);
    }
}

/* Sums over operators are affine in the batch, fixed + b each: two batches give both. */
static void affine_crossing(explainer *e, const llmperf_crossing *crossing, bool calibrated,
                            bool dense)
{
    step_terms one = terms_at(e, 1, calibrated, dense), two = terms_at(e, 2, calibrated, dense);
    const struct {
        const char *name, *meaning;
        double value;
    } parts[] = {
        {"compute_each", "compute time that a sequence adds", two.compute - one.compute},
        {"memory_each", "memory time that a sequence adds", two.memory - one.memory},
        {"compute_fixed", "compute time without sequences", 2 * one.compute - two.compute},
        {"memory_fixed", "memory time without sequences: the weights", 2 * one.memory - two.memory},
    };
    for (int i = 0; i < 4; i++)
        explain_print(
            explain_name(e, parts[i].name, parts[i].value, LLMPERF_UNIT_S, parts[i].meaning)
                ->source,
            LLMPERF_TEXT_MAX, "sum of %s over the operators of a decode step at batch 1 and 2",
            i % 2 ? "bytes / bandwidth" : "flop / peak");
    bool at_once = crossing->exists && crossing->exact == 0; /* from the first sequence on */
    put_crossing(e,
                 at_once ? "max(0, (memory_fixed - compute_fixed) / (compute_each - memory_each))"
                         : "(memory_fixed - compute_fixed) / (compute_each - memory_each)",
                 crossing, calibrated);
    for (int i = 0; i < 4 && !crossing->exists; i++)
        explain_list_input(parts[i].name, e);
}

static bool has_experts(const llmperf_model *model)
{
    for (int i = 0; i < model->layer_kind_count; i++)
        if (model->layers[i].moe.experts > 0)
            return true;
    return false;
}

void explain_step_crossing(explainer *e, const field_row *row, double value)
{
    bool calibrated = strstr(row->path, "calibrated") != NULL;
    bool dense = strstr(row->path, "dense") != NULL;
    const llmperf_crossings *all = calibrated ? &e->p->calibrated : &e->p->datasheet;
    (void)value;
    if (!explain_has_crossings(e, calibrated))
        return;
    if (!dense)
        llmperf_note(&e->x->notes, "at %lld tokens of context", (long long)e->c->workload.context);
    if (calibrated)
        llmperf_note(&e->x->notes, "peak and bandwidth as the calibration says they are reached");
    if (has_experts(e->c->model))
        searched_crossing(e, dense ? &all->dense : &all->step, calibrated, dense);
    else
        affine_crossing(e, dense ? &all->dense : &all->step, calibrated, dense);
}

/* ---- one operator ---------------------------------------------------------------------------- */

/* Of a decode step at batch 1 that operator which a crossing is about, and its layer shape: layers
 * may hold the matrix in several formats, that of most of them counts. */
static bool find_dense(explainer *e, const llmperf_op_crossing *one, llmperf_op *ret_op)
{
    op_formulas *rows = malloc(OP_FORMULAS_MAX * sizeof *rows);
    llmperf_config *single = malloc(sizeof *single);
    bool found = false;
    e->out_of_memory |= !rows || !single;
    if (rows && single) {
        *single = *e->c;
        single->workload.batch = 1;
    }
    for (int i = 0; rows && single && i < e->c->model->layer_kind_count; i++) {
        int count = symbolic_ops(single, true, i, rows);
        for (int k = 0; k < count; k++) {
            const llmperf_op *op = &rows[k].op;
            if (op->id != one->id || op->n != one->n || op->k != one->k ||
                (found && op->repeat <= ret_op->repeat))
                continue;
            found = true;
            *ret_op = *op;
            e->scope.layer = &e->c->model->layers[i];
        }
    }
    free(single);
    free(rows);
    return found;
}

/* Experts: the batch that brings as many rows to each expert that is touched. */
static void expert_crossing(explainer *e, const llmperf_crossing *crossing, bool calibrated)
{
    const llmperf_workload *w = &e->c->workload;
    const llmperf_model *model = e->c->model;
    int kind = 0; /* the engine's rows are those of the first shape with experts */
    if (put_end(e, crossing, calibrated))
        return;
    explain_add_step(e, "rows an expert needs", "w n k / (2 n k / R - a (n + k))",
                     LLMPERF_UNIT_COUNT, NAN);
    put_crossing(e,
                 "RULE the smallest batch b at which each expert that is touched gets that many "
                 "rows: b q K / X(b q), X the expected distinct experts; by bisection",
                 crossing, calibrated);
    while (kind + 1 < model->layer_kind_count && model->layers[kind].moe.experts == 0)
        kind++;
    const llmperf_moe *moe = &model->layers[kind].moe;
    e->scope.layer = &model->layers[kind];
    for (int64_t b = crossing->batch - 1; b <= crossing->batch; b++) {
        char name[64];
        double tokens = (double)b * (double)w->query;
        explain_print(name, sizeof name, "rows at batch %lld", (long long)b);
        if (b > 0)
            explain_add_step(e, name, NULL, LLMPERF_UNIT_COUNT,
                             tokens * (double)moe->active /
                                 moe_distinct_experts(moe, tokens, w->moe_skew));
    }
}

/* n, k, w, P, BW of the operator. */
static void name_shape(explainer *e, const llmperf_op_crossing *one)
{
    const char *name = llmperf_op_name((llmperf_op_id)one->id);
    char meaning[96];
    explain_print(meaning, sizeof meaning, "columns of %s on a device", name);
    explain_print(explain_name(e, "n", one->n, LLMPERF_UNIT_COUNT, meaning)->source,
                  LLMPERF_TEXT_MAX, "explain %s", name);
    explain_print(meaning, sizeof meaning, "inner size of %s on a device", name);
    explain_print(explain_name(e, "k", one->k, LLMPERF_UNIT_COUNT, meaning)->source,
                  LLMPERF_TEXT_MAX, "explain %s", name);
}

static void name_rates(explainer *e, const llmperf_op *op, bool calibrated)
{
    double peak, bandwidth;
    if (!calibrated) {
        explain_name_peak(e, (llmperf_dtype)op->dtype);
        return;
    }
    reached_rates(op, e->c->hw, e->c->calib, &peak, &bandwidth);
    explain_name(e, "P", peak, LLMPERF_UNIT_FLOP_PER_S, "peak that the calibration reaches");
    explain_name(e, "BW", bandwidth, LLMPERF_UNIT_BYTES_PER_S,
                 "bandwidth that the calibration reaches");
}

void explain_op_crossing(explainer *e, const llmperf_op_crossing *one, bool calibrated)
{
    const char *weight = symbolic_weight((llmperf_op_id)one->id);
    llmperf_op op;
    llmperf_explain_input w;
    if (!find_dense(e, one, &op)) {
        explain_none(e, "the operator is not in a decode step at batch 1");
        return;
    }
    name_shape(e, one);
    if (e->part == PART_N || e->part == PART_K) {
        explain_result(e, e->part == PART_N ? "n" : "k", e->part == PART_N ? one->n : one->k);
        return;
    }
    explain_describe(e, weight, &w);
    llmperf_explain_input *named = explain_name(e, "w", 0, LLMPERF_UNIT_BYTES, "");
    *named = w;
    explain_print(named->symbol, sizeof named->symbol, "w");
    name_rates(e, &op, calibrated);
    explain_add_named_step(e, "R", "ridge point", "P / BW", LLMPERF_UNIT_FLOP_PER_BYTE);
    if (llmperf_op_is_experts(&op))
        expert_crossing(e, &one->crossing, calibrated);
    else
        put_crossing(e,
                     e->c->workload.query > 1 ? "w n k / (2 n k / R - a (n + k)) / q"
                                              : "w n k / (2 n k / R - a (n + k))",
                     &one->crossing, calibrated);
    if (one->crossing.exists)
        return;
    explain_add_step(e, "bytes of a row", "a (n + k)", LLMPERF_UNIT_BYTES, NAN);
    explain_add_step(e, "bytes its compute hides", "2 n k / R", LLMPERF_UNIT_BYTES, NAN);
}
