/* SPDX-License-Identifier: MIT */
/* Explains numbers that are sums: over the model's parts, and over the operators of a step. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "host.h"
#include "config_object.h"
#include "time_op.h"

/* ---- over the model -------------------------------------------------------------------------- */

/* The rows that count in the scope, one after the other; NULL behind the last. */
static const term_row *term_at(const explainer *e, int sums, term_where where, int index)
{
    for (const layer_rows *rows = rows_next(NULL); rows; rows = rows_next(rows))
        for (const term_row *t = rows->terms; t->text; t++)
            if ((t->sum & sums) && t->where == where && scope_holds(&e->scope, rows->present) &&
                index-- == 0)
                return t;
    return NULL;
}

/* The texts of all rows of a name, as a sum; false when there are none or an earlier row has it. */
static bool join(const explainer *e, int sums, term_where where, int index, char *buffer,
                 size_t size)
{
    const term_row *first = term_at(e, sums, where, index), *t;
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; i < index; i++)
        if (strcmp(term_at(e, sums, where, i)->name, first->name) == 0)
            return false;
    for (int i = index; (t = term_at(e, sums, where, i)) && used < size; i++) {
        const char *text =
            strcmp(t->name, first->name) == 0 ? scope_choose(&e->scope, t->text) : NULL;
        if (text)
            used += (size_t)snprintf(
                buffer + used, size - used, "%s%.*s", used ? " + " : "",
                (int)(strstr(text, " | ") ? strstr(text, " | ") - text : (long)strlen(text)), text);
    }
    return used > 0;
}

/* "experts", and of which layers where there are several shapes. */
static void name_term(const explainer *e, const term_row *t, char *name, size_t size)
{
    const llmperf_model *model = e->c->model;
    if (t->where != IN_LAYERS || model->layer_kind_count == 1)
        explain_print(name, size, "%s", t->name);
    else
        explain_print(name, size, "%s, %lld layers of shape %d", t->name,
                      (long long)e->scope.layer->count, (int)(e->scope.layer - model->layers) + 1);
}

/* Terms of the scope's layer shape, or outside the layers; vectors of weights behind matrices. */
static void add_terms(explainer *e, int sums, term_where where, llmperf_unit unit, bool vectors)
{
    const term_row *t;
    e->scope.outside = where != IN_LAYERS;
    for (int i = 0; (t = term_at(e, sums, where, i)); i++) {
        char sum[2 * FORMULA_TEXT_MAX], text[3 * FORMULA_TEXT_MAX], name[64];
        char probe[FORMULA_TEXT_MAX];
        bool is_vector = where == IN_LAYERS && t->each && strcmp(t->each, "$w_n") == 0;
        if (is_vector != vectors || !join(e, sums, where, i, sum, sizeof sum))
            continue;
        bool counted = t->each && where == IN_LAYERS,
             in_bytes = t->each && unit == LLMPERF_UNIT_BYTES;
        snprintf(text, sizeof text, "%s%s%s%s%s%s", in_bytes ? "(" : "", counted ? "layers (" : "",
                 sum, counted ? ")" : "", in_bytes ? ") " : "", in_bytes ? t->each : "");
        scope_expand(&e->scope, NULL, text, probe);
        if (!probe[0]) /* nothing of that kind */
            continue;
        name_term(e, t, name, sizeof name);
        explain_add_term(e, name, text, unit, NAN);
    }
}

void explain_model_sum(explainer *e, const field_row *row, double value)
{
    const llmperf_model *model = e->c->model;
    llmperf_unit unit = (llmperf_unit)row->unit;
    add_terms(e, row->detail, IN_FRONT, unit, false);
    for (int i = 0; i < model->layer_kind_count; i++) {
        e->scope.layer = &model->layers[i];
        for (int vectors = 0; vectors < 2 && scope_holds(&e->scope, row->when); vectors++)
            add_terms(e, row->detail, IN_LAYERS, unit, vectors == 1);
    }
    e->scope.layer = &model->layers[0];
    add_terms(e, row->detail, IN_BACK, unit, false);
    e->scope.outside = false;
    if (e->x->term_count > 0)
        explain_close_sum(e, row->says, value);
    else
        explain_result(e, "0", value);
}

double explain_idle_weights(explainer *e)
{
    const llmperf_model *model = e->c->model;
    double idle = 0;
    for (int i = 0; i < model->layer_kind_count; i++) {
        const term_row *t;
        char name[64];
        e->scope.layer = &model->layers[i];
        for (int k = 0; (t = term_at(e, SUM_IDLE, IN_LAYERS, k)); k++) {
            name_term(e, t, name, sizeof name);
            idle += explain_add_step(e, name, t->text, LLMPERF_UNIT_WEIGHTS, NAN);
        }
    }
    return idle;
}

/* ---- over the operators of steps ------------------------------------------------------------- */

/* Totals by operator name; `each` is one launch's while all launches are alike. */
typedef struct op_sums {
    explainer *e;
    summand what;
    double total[LLMPERF_OP_COUNT], launches[LLMPERF_OP_COUNT], each[LLMPERF_OP_COUNT];
    bool mixed[LLMPERF_OP_COUNT];
    double host_s, steps, sequences; /* of an engine profile; sequences summed over the steps */
} op_sums;

static void sum_host(op_sums *s, const llmperf_segment *segments, int segment_count, double times,
                     double ops_s, double launch_s)
{
    s->host_s += times * host_time(s->e->c, segments, segment_count, ops_s, launch_s);
    s->steps += times;
    for (int i = 0; i < segment_count; i++)
        s->sequences += times * (double)segments[i].sequences;
}

static void sum_step(const llmperf_segment *segments, int segment_count, double times,
                     void *context)
{
    op_sums *s = context;
    const llmperf_config *c = s->e->c;
    const int capacity = llmperf_emit_capacity(c, segment_count);
    llmperf_op *ops = malloc(sizeof *ops * (size_t)capacity);
    if (!ops) {
        s->e->out_of_memory = true;
        return;
    }
    int count = llmperf_emit(c, segments, segment_count, capacity, ops);
    double ops_s = 0, launch_s = 0;
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        llmperf_time time = {0};
        double each = s->what == SUM_FLOP    ? op->flop
                      : s->what == SUM_BYTES ? op->bytes
                                             : time_op(op, c->hw, c->calib, &time, NULL);
        double launches = op->repeat * times;
        ops_s += op->repeat * time.time_s;
        if (op->kind != LLMPERF_KIND_COLLECTIVE)
            launch_s += op->repeat * time.launch_s;
        s->mixed[op->id] |= s->launches[op->id] > 0 && s->each[op->id] != each;
        s->each[op->id] = each;
        s->launches[op->id] += launches;
        s->total[op->id] += launches * each;
    }
    if (s->what == SUM_TIME)
        sum_host(s, segments, segment_count, times, ops_s, launch_s);
    free(ops);
}

/* What the engine's host adds, as a term of its own. */
static void host_term(op_sums *s)
{
    const llmperf_calib *calib = s->e->c->calib;
    llmperf_explain_line *term;
    if (!calib || !(s->host_s > 0) ||
        !(term = explain_add_term(s->e, "host", NULL, LLMPERF_UNIT_S, s->host_s)))
        return;
    const llmperf_host *host = &calib->host;
    double layers = (double)llmperf_model_layers(s->e->c->model);
    llmperf_note(&s->e->x->notes,
                 "host: what %s takes beside the operators, per step, per layer "
                 "and per sequence (engine profile, docs/engines.md)",
                 host->engine);
    double plain =
        s->steps * (host->step_s + host->layer_s * layers) + host->sequence_s * s->sequences;
    if (!(fabs(plain / s->host_s - 1) < 1e-9)) /* launches counted by the operators' fits */
        return;
    char text[6][LLMPERF_DOUBLE_TEXT_MAX];
    explain_print(term->formula, sizeof term->formula,
                  "steps (step_s + layers layer_s) + sequences sequence_s");
    explain_print(
        term->numbers, sizeof term->numbers, "%s * (%s + %s * %s) + %s * %s",
        llmperf_format_double(s->steps, text[0]), llmperf_format_double(host->step_s, text[1]),
        llmperf_format_double(layers, text[2]), llmperf_format_double(host->layer_s, text[3]),
        llmperf_format_double(s->sequences, text[4]),
        llmperf_format_double(host->sequence_s, text[5]));
    term->evaluated = plain;
}

static int by_value(const void *a, const void *b)
{
    const llmperf_explain_line *x = a, *y = b;
    return (x->value < y->value) - (x->value > y->value);
}

static void op_terms(op_sums *s)
{
    static const llmperf_unit units[] = {LLMPERF_UNIT_S, LLMPERF_UNIT_FLOP, LLMPERF_UNIT_BYTES};
    static const char *const formulas[] = {"launches time_s", "launches flop", "launches bytes"};
    for (int i = 0; i < LLMPERF_OP_COUNT; i++) {
        char launches[LLMPERF_DOUBLE_TEXT_MAX], each[LLMPERF_DOUBLE_TEXT_MAX];
        llmperf_explain_line *term = s->total[i] > 0
                                         ? explain_add_term(s->e, llmperf_op_name((llmperf_op_id)i),
                                                            NULL, units[s->what], s->total[i])
                                         : NULL;
        if (!term || s->mixed[i])
            continue;
        explain_print(term->formula, sizeof term->formula, "%s", formulas[s->what]);
        explain_print(term->numbers, sizeof term->numbers, "%s * %s",
                      llmperf_format_double(s->launches[i], launches),
                      llmperf_format_double(s->each[i], each));
        term->evaluated = s->launches[i] * s->each[i];
    }
}

void explain_op_sum(explainer *e, int64_t batch, summand what, const char *says, double value)
{
    const llmperf_workload *w = &e->c->workload;
    llmperf_explanation *x = e->x;
    op_sums s = {.e = e, .what = what};
    llmperf_segment segment = llmperf_decode_segment(e->c, w->batch, w->context);
    if (batch > 0)
        llmperf_prefill_steps(e->c, batch, w->chunk, sum_step, &s);
    else
        sum_step(&segment, 1, 1, &s);
    op_terms(&s);
    host_term(&s);
    if (x->term_count > 0)
        qsort(x->terms, (size_t)x->term_count, sizeof *x->terms, by_value);
    x->is_sum = true;
    explain_say(e, says, value);
    llmperf_note(&x->notes, "explain OPERATOR shows one of them");
    if (batch == 0 && what == SUM_TIME && e->c->calib == NULL)
        llmperf_note(&x->notes, "without a calibration an operator takes the larger of "
                                "flop / peak and bytes / bandwidth, and nothing else takes "
                                "time");
}
