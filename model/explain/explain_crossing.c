/* SPDX-License-Identifier: MIT */
/* Explains the batches from which on operators and steps are compute-bound. */
#include "explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Peak and bandwidth that an operator reaches: the datasheet's, or the calibration's at most. */
static void reached(const explainer *e, const llmperf_op *op, bool calibrated, double *ret_peak,
                    double *ret_bandwidth)
{
    reached_rates(op, e->c->hw, calibrated ? e->c->calib : NULL, ret_peak, ret_bandwidth);
}

/* What does not depend on how the batch was found: none, or an end of a calibration's interval. */
static bool put_crossing_end(explainer *e, const llmperf_crossing *crossing, bool calibrated)
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
        explain_rule(
            e, (double)(e->part == PART_LOW ? crossing->low : crossing->high),
            "the same batch with the fits' ratio of compute to memory efficiency at an end "
            "of its interval");
    return true;
}

static void put_crossing(explainer *e, const char *text, const llmperf_crossing *crossing,
                         bool calibrated)
{
    if (put_crossing_end(e, crossing, calibrated))
        return;
    if (e->part == PART_EXACT) {
        explain_result(e, text, crossing->exact);
        return;
    }
    e->x->rounded_up = true;
    explain_result(e, text, (double)crossing->batch);
}

/* Sums of compute and memory time over the operators of a decode step. */
typedef struct step_terms {
    double compute, memory;
} step_terms;

static step_terms terms_at(explainer *e, int64_t batch, bool calibrated, bool dense)
{
    const llmperf_config *c = e->c;
    step_terms sum = {0, 0};
    const int capacity = llmperf_emit_capacity(c, 1);
    llmperf_op *ops = malloc(sizeof *ops * (size_t)capacity);
    if (!ops) {
        e->out_of_memory = true;
        return sum;
    }
    llmperf_segment segment = llmperf_decode_segment(c, batch, c->workload.context);
    int count = llmperf_emit(c, &segment, 1, capacity, ops);
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        double peak, bandwidth;
        if (op->kind == LLMPERF_KIND_COLLECTIVE || (dense && op->group != LLMPERF_GROUP_DENSE))
            continue;
        reached(e, op, calibrated, &peak, &bandwidth);
        sum.compute += op->repeat * op->flop / peak;
        sum.memory += op->repeat * op->bytes / bandwidth;
    }
    free(ops);
    return sum;
}

static bool has_experts(const llmperf_model *model)
{
    for (int i = 0; i < model->layer_kind_count; i++)
        if (model->layers[i].moe.experts > 0)
            return true;
    return false;
}

/* With experts the sums are not affine: the batch is searched. */
static void searched_crossing(explainer *e, const llmperf_crossing *crossing, bool calibrated,
                              bool dense)
{
    if (put_crossing_end(e, crossing, calibrated))
        return;
    explain_rule(
        e, e->part == PART_EXACT ? crossing->exact : (double)crossing->batch,
        "the smallest batch at which the sum of flop / peak is at least the sum of bytes / "
        "bandwidth, by bisection: experts' bytes are not linear in the batch");
    for (int64_t b = crossing->batch - 1; b <= crossing->batch; b++) {
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
static void sum_crossing(explainer *e, const llmperf_crossings *crossings, bool calibrated,
                         bool dense)
{
    const llmperf_crossing *crossing = dense ? &crossings->dense : &crossings->step;
    if (!dense)
        llmperf_note(&e->x->notes, "at %lld tokens of context", (long long)e->c->workload.context);
    if (calibrated)
        llmperf_note(&e->x->notes, "peak and bandwidth as the calibration says they are reached");
    if (has_experts(e->c->model)) {
        searched_crossing(e, crossing, calibrated, dense);
        return;
    }
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
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        explain_print(
            explain_name_value(e, parts[i].name, parts[i].value, LLMPERF_UNIT_S, parts[i].meaning)
                ->source,
            LLMPERF_TEXT_MAX, "sum of %s over the operators of a decode step at batch 1 and 2",
            i % 2 ? "bytes / bandwidth" : "flop / peak");
    bool at_once = crossing->exists && crossing->exact == 0; /* from the first sequence on */
    put_crossing(e,
                 at_once ? "max(0, (memory_fixed - compute_fixed) / (compute_each - memory_each))"
                         : "(memory_fixed - compute_fixed) / (compute_each - memory_each)",
                 crossing, calibrated);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !crossing->exists; i++)
        explain_list_input(parts[i].name, e);
}

static void explain_dense(explainer *e)
{
    sum_crossing(e, &e->p->datasheet, false, true);
}

static void explain_step(explainer *e)
{
    sum_crossing(e, &e->p->datasheet, false, false);
}

bool explain_calibrated_or_none(explainer *e)
{
    if (e->p->has_calibrated)
        return true;
    explain_none(e, "no calibration is used");
    return false;
}

static void explain_dense_calibrated(explainer *e)
{
    if (explain_calibrated_or_none(e))
        sum_crossing(e, &e->p->calibrated, true, true);
}

static void explain_step_calibrated(explainer *e)
{
    if (explain_calibrated_or_none(e))
        sum_crossing(e, &e->p->calibrated, true, false);
}

/* The class of an operator's weights, as the symbol of their bytes. */
static const char *weight_symbol(llmperf_op_id id)
{
    static const struct {
        const char *start, *symbol;
    } CLASSES[] = {{"mlp.", "w_f"},        {"moe.shared", "w_y"}, {"moe.latent", "w_y"},
                   {"moe.experts", "w_x"}, {"ssm.", "w_s"},       {"lm_head.project", "w_e"},
                   {"embed", "w_e"},       {"lm_head", "w_h"}};
    const char *name = llmperf_op_name(id);
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++)
        if (explain_begins_with(name, CLASSES[i].start))
            return CLASSES[i].symbol;
    return "w";
}

/* The operator of a decode step at batch 1 that a crossing is about, and its layer shape. */
static bool find_dense(explainer *e, const llmperf_op_crossing *one, llmperf_op *ret_op)
{
    op_formulas *rows = malloc(OP_FORMULAS_MAX * sizeof *rows);
    bool found = false;
    llmperf_config *single = malloc(sizeof *single);
    if (rows && single) {
        *single = *e->c;
        single->workload.batch = 1;
        for (int i = 0; i < e->c->model->layer_kind_count; i++) {
            int count = symbolic_ops(single, true, i, rows);
            for (int k = 0; k < count; k++) {
                const llmperf_op *op = &rows[k].op;
                /* layers may hold the matrix in several formats: that of most of them counts */
                if (op->id != one->id || op->n != one->n || op->k != one->k ||
                    (found && op->repeat <= ret_op->repeat))
                    continue;
                found = true;
                *ret_op = *op;
                e->scope.layer = &e->c->model->layers[i];
            }
        }
    } else {
        e->out_of_memory = true;
    }
    free(single);
    free(rows);
    return found;
}

/* Why there is no such batch. */
static void add_row_bytes(explainer *e)
{
    explain_add_step(e, "bytes of a row", "a (n + k)", LLMPERF_UNIT_BYTES, NAN);
    explain_add_step(e, "bytes its compute hides", "2 n k / R", LLMPERF_UNIT_BYTES, NAN);
}

/* Experts: the batch that brings as many rows to each expert that is touched. */
static void explain_expert_crossing(explainer *e, const llmperf_crossing *crossing, bool calibrated)
{
    const llmperf_workload *w = &e->c->workload;
    if (put_crossing_end(e, crossing, calibrated)) {
        if (!crossing->exists)
            add_row_bytes(e);
        return;
    }
    explain_add_step(e, "rows an expert needs", "w n k / (2 n k / R - a (n + k))",
                     LLMPERF_UNIT_COUNT, NAN);
    if (!explain_find_experts(e)) /* the engine's rows are those of the first shape with experts */
        return;
    explain_rule(e, e->part == PART_EXACT ? crossing->exact : (double)crossing->batch,
                 "the smallest batch b at which each expert that is touched gets that many rows: "
                 "b q K / X(b q), X the expected distinct experts; by bisection");
    const llmperf_moe *moe = &e->scope.layer->moe;
    for (int64_t b = crossing->batch - 1; b <= crossing->batch; b++) {
        char name[64];
        double tokens = (double)b * (double)w->query;
        explain_print(name, sizeof name, "rows at batch %lld", (long long)b);
        if (b > 0)
            explain_add_step(e, name, NULL, LLMPERF_UNIT_COUNT,
                             tokens * (double)moe->active /
                                 llmperf_distinct_experts(moe, tokens, w->moe_skew));
    }
}

void explain_op_crossing(explainer *e, const llmperf_op_crossing *one, bool calibrated)
{
    llmperf_op_id id = (llmperf_op_id)one->id;
    const char *op_name = llmperf_op_name(id);
    char meaning[96], field[96];
    llmperf_op op;
    double peak, bandwidth;
    if (!find_dense(e, one, &op)) {
        explain_none(e, "the operator is not in a decode step at batch 1");
        return;
    }
    explain_print(field, sizeof field, "%s", op_name);
    explain_print(meaning, sizeof meaning, "columns of %s on a device", op_name);
    explain_name_field(e, "n", one->n, LLMPERF_UNIT_COUNT, meaning, field);
    explain_print(meaning, sizeof meaning, "inner size of %s on a device", op_name);
    explain_name_field(e, "k", one->k, LLMPERF_UNIT_COUNT, meaning, field);
    if (e->part == PART_N || e->part == PART_K) {
        explain_fact(e, e->part == PART_N ? "n" : "k");
        return;
    }
    const symbol_info *weight = symbol_find(weight_symbol(id));
    llmperf_explain_input w = {.value = 0};
    explain_describe_symbol(e, weight, &w);
    llmperf_explain_input *named =
        explain_name_value(e, "w", w.value, LLMPERF_UNIT_BYTES, weight->meaning);
    named->origin = w.origin;
    memcpy(named->source, w.source, sizeof w.source);
    reached(e, &op, calibrated, &peak, &bandwidth);
    if (calibrated) {
        explain_name_value(e, "P", peak, LLMPERF_UNIT_FLOP_PER_S,
                           "peak that the calibration reaches");
        explain_name_value(e, "BW", bandwidth, LLMPERF_UNIT_BYTES_PER_S,
                           "bandwidth that the calibration reaches");
    } else {
        explain_name_peak(e, (llmperf_dtype)op.dtype);
        explain_name_bandwidth(e);
    }
    explain_add_named_step(e, "R", "ridge point", "P / BW", LLMPERF_UNIT_FLOP_PER_BYTE);
    if (strcmp(weight_symbol(id), "w_x") == 0) {
        explain_expert_crossing(e, &one->crossing, calibrated);
        return;
    }
    put_crossing(e,
                 e->c->workload.query > 1 ? "w n k / (2 n k / R - a (n + k)) / q"
                                          : "w n k / (2 n k / R - a (n + k))",
                 &one->crossing, calibrated);
    if (!one->crossing.exists)
        add_row_bytes(e);
}

void explain_memory_limit(explainer *e)
{
    explain_name_field(e, "max_batch", (double)e->p->memory.max_batch, LLMPERF_UNIT_SEQUENCES,
                       "largest batch that memory holds", "memory.max_batch");
    explain_result(e, "max_batch", (double)e->p->memory.max_batch);
}

static const field_row ROWS[] = {
    CROSSING_ROW("datasheet.dense", "batch from which on the dense layers are compute-bound",
                 explain_dense),
    CROSSING_ROW("datasheet.step", "batch from which on the whole step is compute-bound",
                 explain_step),
    /* the operators' rows are found by name; the table lists them once */
    CROSSING_ROW("datasheet.per_op.*", "batch from which on a dense operator is compute-bound",
                 NULL),
    CROSSING_ROW("calibrated.dense", "the same with what the calibration reaches",
                 explain_dense_calibrated),
    CROSSING_ROW("calibrated.step", "the same with what the calibration reaches",
                 explain_step_calibrated),
    CROSSING_ROW("calibrated.per_op.*", "the same with what the calibration reaches", NULL),
    ROW("compute_bound_batch.memory_limit", "largest batch that memory holds", SEQUENCES,
        explain_memory_limit),
};

const field_group EXPLAIN_CROSSING = {ROWS, sizeof ROWS / sizeof *ROWS};
