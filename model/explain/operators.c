/* SPDX-License-Identifier: MIT */
/* Explains one operator: its shape, what it moves, and the time formula with the numbers put in. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "symbolic.h"
#include "model_object.h"
#include "calib_object.h"
#include "time_op.h"

/* ---- time of one launch ---------------------------------------------------------------------- */

#define ABOVE(name, meaning, unit, of, member)                                                     \
    GIVEN(name, meaning, unit, COMPUTED, IN_##of(member), "above")

static double one_and_sharpness(const symbol_scope *s)
{
    return 1 + s->fit->param[LLMPERF_PARAM_SHARP];
}

static double buffer_bytes(const symbol_scope *s)
{
    return s->op->link_bytes /
           llmperf_collective_share((llmperf_collective)s->op->collective, (double)s->op->devices);
}

static double devices(const symbol_scope *s)
{
    return (double)s->op->devices;
}

static const symbol TIME_SYMBOLS[] = {
    ABOVE("bytes", "bytes moved", BYTES, OP, bytes),
    ABOVE("flop", "FLOP", FLOP, OP, flop),
    ABOVE("link_bytes", "bytes over the link", BYTES, OP, link_bytes),
    {"devices", "that take part", LLMPERF_UNIT_NONE, SYMBOL_COMPUTED, NOWHERE, "above", devices, 0,
     false},
    GIVEN("p", "norm of the parts", NONE, FIT, IN_FIT(NORM), NULL),
    GIVEN("e_m", "share of the bandwidth that is reached", FRACTION, FIT, IN_FIT(MEMORY), NULL),
    GIVEN("tall", "more memory time beyond 16 rows", FRACTION, FIT, IN_FIT(TALL), NULL),
    GIVEN("feed", "bytes come in at BW / feed at most, however fast memory is", NONE, FIT,
          IN_FIT(FEED), NULL),
    GIVEN("e_c", "share of the peak that is reached", FRACTION, FIT, IN_FIT(COMPUTE), NULL),
    GIVEN("e_link", "share of the link that is reached", FRACTION, FIT, IN_FIT(LINK), NULL),
    GIVEN("crowd", "more for each device beyond two on the host bus", NONE, FIT, IN_FIT(CROWD),
          NULL),
    GIVEN("second_phase_s", "reduce-scatter, then all-gather: more than reading all at once", S,
          FIT, IN_FIT(SECOND), NULL),
    GIVEN("bulk_s", "latency of the way for large buffers", S, FIT, IN_FIT(BULK), NULL),
    GIVEN("bulk_bytes", "buffer at which half of it is paid", BYTES, FIT, IN_FIT(LIMIT), NULL),
    {"q", "1 + bulk_sharpness", LLMPERF_UNIT_NONE, SYMBOL_COMPUTED, NOWHERE, "above",
     one_and_sharpness, 0, false},
    {"buffer_bytes", "the whole buffer", LLMPERF_UNIT_BYTES, SYMBOL_COMPUTED, NOWHERE, "above",
     buffer_bytes, 0, false},
    {0},
};

static void name_link(explainer *e, int64_t count)
{
    const llmperf_hw *hw = e->c->hw;
    const llmperf_link *link = llmperf_hw_link(hw, count);
    llmperf_hw_field field = link == &hw->link    ? LLMPERF_HW_LINK
                             : link == &hw->nodes ? LLMPERF_HW_NODES
                                                  : LLMPERF_HW_PCIE;
    char meaning[64];
    explain_print(meaning, sizeof meaning, "%s bandwidth per direction", link->kind);
    explain_name_hardware(e, "link_bytes_per_s", link->bytes_per_s, LLMPERF_UNIT_BYTES_PER_S,
                          meaning, field);
    explain_print(meaning, sizeof meaning, "%s latency", link->kind);
    llmperf_explain_input *latency =
        explain_name_hardware(e, "latency", link->latency_s, LLMPERF_UNIT_S, meaning, field);
    if (!link->latency_assumed)
        return;
    latency->assumed = true;
    latency->confidence = LLMPERF_CONFIDENCE_NONE;
    explain_print(latency->source, sizeof latency->source,
                  "a default of its kind: %.80s does not say", hw->name);
}

/* launch + norm_p of the parts that are there + what is added, as a formula in their names. */
static void norm_text(explainer *e, double p, char *buffer, size_t size)
{
    const llmperf_time *t = e->scope.time;
    const bool collective = e->scope.op->kind == LLMPERF_KIND_COLLECTIVE, most = isinf(p);
    const struct {
        const char *name;
        double value;
        bool in_norm;
    } parts[] = {{"launch_s", t->launch_s, collective}, {"compute_s", t->compute_s, true},
                 {"memory_s", t->memory_s, true},       {"serial_s", t->serial_s, true},
                 {"work_s", t->work_s, true},           {"link_s", t->link_s, true},
                 {"added_s", t->added_s, false}};
    char norm[256] = "", rest[64] = "";
    int within = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *target = parts[i].in_norm ? norm : rest;
        size_t used = strlen(target);
        bool told = false;
        if (parts[i].value == 0)
            continue;
        for (int k = 0; k < e->x->step_count; k++)
            told |= strcmp(e->x->steps[k].name, parts[i].name) == 0;
        if (!told)
            explain_add_step(e, parts[i].name, NULL, LLMPERF_UNIT_S, parts[i].value);
        explain_name(e, parts[i].name, parts[i].value, LLMPERF_UNIT_S, "part of the time");
        explain_print(target + used, (parts[i].in_norm ? sizeof norm : sizeof rest) - used,
                      "%s%s%s",
                      !used                      ? ""
                      : parts[i].in_norm && most ? ", "
                                                 : " + ",
                      parts[i].name, parts[i].in_norm && !most && p != 1 ? "^p" : "");
        within += parts[i].in_norm;
    }
    const char *open = most ? within > 1 ? "max(" : "" : p == 1 ? "" : "(";
    const char *close = most ? within > 1 ? ")" : "" : p == 1 ? "" : ")^(1 / p)";
    if (within == 0)
        explain_print(buffer, size, "%s", rest[0] ? rest : "0");
    else
        explain_print(buffer, size, "%s%s%s%s%s", rest, rest[0] ? " + " : "", open, norm, close);
}

/* Time on the link of a collective, as a fit makes it. */
static void fitted_transfer(explainer *e)
{
    const llmperf_op *op = e->scope.op;
    const llmperf_time *t = e->scope.time;
    const double *param = e->scope.fit->param;
    const llmperf_link *link = llmperf_hw_link(e->c->hw, op->devices);
    double n = (double)op->devices, second = param[LLMPERF_PARAM_SECOND];
    bool crowded = link == &e->c->hw->pcie && n > 2 && param[LLMPERF_PARAM_CROWD] > 0;
    double ring = op->link_bytes / (param[LLMPERF_PARAM_LINK] * link->bytes_per_s) *
                  (crowded ? 1 + param[LLMPERF_PARAM_CROWD] * (n - 2) : 1);
    bool phases = second > 0 && op->collective == LLMPERF_COLLECTIVE_ALL_REDUCE && n > 2;
    bool one = phases && fabs(t->link_s - ring * n / 2) < fabs(t->link_s - ring - second);
    char text[LLMPERF_FORMULA_MAX];
    name_link(e, op->devices);
    explain_print(text, sizeof text, "%slink_bytes%s / (e_link link_bytes_per_s)%s",
                  one ? "devices / 2 " : "", crowded ? " (1 + crowd (devices - 2))" : "",
                  phases && !one ? " + second_phase_s" : "");
    explain_add_step(e, "link_s", text, LLMPERF_UNIT_S, t->link_s);
    if (t->added_s > 0)
        explain_add_step(e, "added_s", "bulk_s / (1 + (bulk_bytes / buffer_bytes)^q)",
                         LLMPERF_UNIT_S, t->added_s);
}

/* Compute and memory time of other launches. Of a fit compute is flop / (e_c P) where no term of shape,
 * format and clock adds to it. */
static void fitted_parts(explainer *e)
{
    const llmperf_op *op = e->scope.op;
    const llmperf_time *t = e->scope.time;
    const llmperf_calib_entry *fit = e->scope.fit;
    double reached = fit->param[LLMPERF_PARAM_COMPUTE] * e->c->hw->peak_flop_per_s[op->dtype];
    bool reads = fit->compute_is_reads; /* of engine profiles, which have no such term there */
    bool plain = op->flop > 0 && (reads || fabs(t->compute_s * reached / op->flop - 1) < 1e-9);
    if (plain)
        explain_name_peak(e, (llmperf_dtype)op->dtype);
    if (reads && explain_describe(e, "e_c", &e->named[e->named_count]))
        explain_print(e->named[e->named_count++].meaning, sizeof e->named[0].meaning,
                      "e_c P bytes/s: query heads read K and V through the caches");
    explain_add_step(
        e, "memory_s",
        "reads ? bytes / (e_m BW) + flop / (e_c P) | "
        "fed is_tall ? ((bytes (1 + tall) / (e_m BW))^4 + (feed bytes / BW)^4)^(1 / 4) | "
        "fed ? ((bytes / (e_m BW))^4 + (feed bytes / BW)^4)^(1 / 4) | "
        "is_tall ? bytes (1 + tall) / (e_m BW) | bytes / (e_m BW)",
        LLMPERF_UNIT_S, t->memory_s);
    if (plain && !reads)
        explain_add_step(e, "compute_s", "flop / (e_c P)", LLMPERF_UNIT_S, t->compute_s);
    else if (op->flop > 0 && !plain)
        llmperf_note(&e->x->notes, "the fit's compute time also depends on shape, format and "
                                   "clock: docs/calibration.md");
}

static void fitted_time(explainer *e)
{
    enum { NORM_MOST = 20 }; /* beyond it powers of microseconds run out of range */
    double p = e->scope.fit->param[LLMPERF_PARAM_NORM], value = e->scope.time->time_s;
    char text[LLMPERF_FORMULA_MAX];
    if (e->scope.op->kind == LLMPERF_KIND_COLLECTIVE)
        fitted_transfer(e);
    else
        fitted_parts(e);
    norm_text(e, p, text, sizeof text);
    if (isinf(p) || p <= NORM_MOST)
        explain_result(e, text, value);
    else
        explain_rule(e, value, "launch + norm of the parts + added, as calibrated");
}

/* The datasheet's: the roofline. */
static void ideal_time(explainer *e)
{
    const llmperf_op *op = e->scope.op;
    const llmperf_time *t = e->scope.time;
    if (op->kind == LLMPERF_KIND_COLLECTIVE) {
        name_link(e, op->devices);
        explain_result(e, "latency + link_bytes / link_bytes_per_s", t->time_s);
        return;
    }
    if (op->flop > 0) {
        explain_name_peak(e, (llmperf_dtype)op->dtype);
        explain_add_step(e, "compute_s", "flop / P", LLMPERF_UNIT_S, t->compute_s);
    }
    explain_add_step(e, "memory_s", "bytes / BW", LLMPERF_UNIT_S, t->memory_s);
    explain_result(e, op->flop > 0 ? "max(flop / P, bytes / BW)" : "bytes / BW", t->time_s);
}

/* Time of one launch: the roofline, or what the calibration makes of it. */
static void explain_op_time(explainer *e, const llmperf_op *op, double repeat)
{
    llmperf_time t;
    llmperf_gradient used;
    const llmperf_calib *calib = e->c->calib;
    double value = time_op(op, e->c->hw, calib, &t, &used);
    bool fitted = calib && used.count == 1 && used.entry[0] != LLMPERF_CALIB_NO_ENTRY;
    bool joined = calib && used.count > 1;
    e->own = TIME_SYMBOLS;
    e->scope.op = op;
    e->scope.time = &t;
    e->scope.fit = fitted ? &calib->entry[used.entry[0]] : NULL;
    e->x->result.unit = LLMPERF_UNIT_S;
    if (joined) {
        explain_add_step(e, "compute_s", NULL, LLMPERF_UNIT_S, t.compute_s);
        explain_add_step(e, "memory_s", NULL, LLMPERF_UNIT_S, t.memory_s);
        explain_rule(
            e, value,
            "new tokens over cached ones: the parameters are joined from the fits of prefill "
            "and decode; launch + norm of the parts + added");
    } else if (fitted) {
        fitted_time(e);
    } else {
        ideal_time(e);
    }
    if (calib && !fitted && !joined)
        llmperf_note(&e->x->notes, "%s has no fit for this operator: the roofline is taken",
                     calib->name);
    llmperf_note(&e->x->notes, "bound by %s", llmperf_bound_name((llmperf_bound)t.bound));
    explain_add_step(e, "all launches", NULL, LLMPERF_UNIT_S, repeat * value);
    e->own = NULL;
    e->scope.time = NULL;
}

char *explain_operators(char *buffer, size_t size)
{
    size_t used = 0;
    for (int i = 0; i < LLMPERF_OP_COUNT && used + 32 < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
                                 llmperf_op_name((llmperf_op_id)i));
    return buffer;
}

/* ---- finding an operator --------------------------------------------------------------------- */

/* `repeat`: launches of this kind in the step; `alone`: one place of the step has them all. */
static void explain_op_row(explainer *e, const op_formulas *row, double repeat, bool alone)
{
    const llmperf_op *op = &row->op;
    e->scope.layer = &e->c->model->layers[row->layer];
    e->scope.outside = row->outside;
    for (op_quantity q = OP_M; q < OP_QUANTITY_COUNT; q++)
        if (row->text[q][0])
            explain_add_step(e, op_quantity_name(q), row->text[q], op_quantity_unit(q),
                             op_quantity_of(op, q));
    explain_add_step(e, "launches in the step", alone ? row->text[OP_REPEAT] : NULL,
                     LLMPERF_UNIT_COUNT, repeat);
    if (e->c->hw) {
        explain_op_time(e, op, repeat);
        return;
    }
    op_quantity shown = op->flop > 0 ? OP_FLOP : op->bytes > 0 ? OP_BYTES : OP_LINK_BYTES;
    e->x->result.unit = (uint8_t)op_quantity_unit(shown);
    explain_result(e, row->text[shown], op_quantity_of(op, shown));
}

static bool same_launch(const op_formulas *a, const op_formulas *b)
{
    llmperf_op copy = a->op;
    copy.repeat = b->op.repeat;
    return memcmp(&copy, &b->op, sizeof copy) == 0;
}

enum { PLACES_MAX = 4 * LLMPERF_LAYER_KINDS_MAX };

/* The different launches under one name, each with how often it runs and in how many places. */
typedef struct op_search {
    op_formulas rows[OP_FORMULAS_MAX]; /* of the last layer shape */
    op_formulas found[PLACES_MAX];
    double repeat[PLACES_MAX];
    int places[PLACES_MAX];
    int count, row_count;
} op_search;

/* False when memory runs out. */
static bool search_operator(const explainer *e, llmperf_op_id id, op_search *s)
{
    const llmperf_model *model = e->c->model;
    for (int kind = 0; kind < model->layer_kind_count; kind++) {
        s->row_count = symbolic_ops(e->c, e->scope.decode, kind, s->rows);
        if (s->row_count < 0)
            return false;
        for (int i = 0; i < s->row_count; i++) {
            const op_formulas *row = &s->rows[i];
            int known = 0;
            /* what runs once is in front of and behind every layer shape: counted with the first */
            if (row->id != id || row->op.repeat == 0 || (row->outside && kind > 0))
                continue;
            while (known < s->count && !same_launch(&s->found[known], row))
                known++;
            if (known == PLACES_MAX)
                continue;
            if (known == s->count)
                s->found[s->count++] = *row;
            s->repeat[known] += row->op.repeat;
            s->places[known]++;
        }
    }
    return true;
}

/* What the step has instead. */
static llmperf_status no_operator(const explainer *e, llmperf_op_id id, const op_search *s,
                                  llmperf_error *error)
{
    bool seen[LLMPERF_OP_COUNT] = {false};
    char words[512] = "";
    size_t used = 0;
    for (int i = 0; i < s->row_count && used + 32 < sizeof words; i++) {
        if (!seen[s->rows[i].id])
            used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", used ? ", " : "",
                                     llmperf_op_name((llmperf_op_id)s->rows[i].id));
        seen[s->rows[i].id] = true;
    }
    return llmperf_fail(error, LLMPERF_E_USAGE, "%s of %s has no '%s' as asked; it has %s",
                        e->scope.decode ? "a decode step" : "prefill", e->c->model->name,
                        llmperf_op_name(id), words);
}

static void explain_found(explainer *e, const op_search *s, int which)
{
    const op_formulas *row = &s->found[which - 1];
    const char *op_name = llmperf_op_name((llmperf_op_id)row->id);
    bool named = strcmp(row->label, op_name) == 0;
    llmperf_explanation *x = e->x;
    x->is_operator = true;
    explain_print(x->meaning, sizeof x->meaning, "%s%sone launch on one device, %s",
                  named ? "" : row->label, named ? "" : ", ",
                  e->scope.decode ? "in a decode step" : "in a prefill of all prompts in one step");
    explain_print(x->result.name, sizeof x->result.name, "%s", op_name);
    explain_op_row(e, row, s->repeat[which - 1], s->places[which - 1] == 1);
    if (s->count > 1)
        llmperf_note(&x->notes,
                     "%d different launches go by this name, %s:1 to %s:%d; this is %s:%d",
                     s->count, op_name, op_name, s->count, op_name, which);
}

llmperf_status explain_operator(explainer *e, llmperf_op_id id, int which, llmperf_error *error)
{
    op_search *s = calloc(1, sizeof *s);
    llmperf_status status = LLMPERF_OK;
    if (!s || !search_operator(e, id, s))
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    else if (s->count == 0)
        status = no_operator(e, id, s, error);
    else if (which > s->count)
        status = llmperf_fail(error, LLMPERF_E_USAGE,
                              "'%s:%d': only %d of that name differ; 1 to %d is allowed",
                              llmperf_op_name(id), which, s->count, s->count);
    else
        explain_found(e, s, which);
    free(s);
    return status;
}
