/* SPDX-License-Identifier: MIT */
/* Explains one operator: its shape, what it moves, and the time formula with the numbers put in. */
#include "explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static llmperf_unit unit_of_quantity(op_quantity quantity)
{
    switch (quantity) {
    case OP_REPEAT:
    case OP_M:
    case OP_N:
    case OP_K:
        return LLMPERF_UNIT_COUNT;
    case OP_FLOP:
        return LLMPERF_UNIT_FLOP;
    case OP_INTENSITY:
        return LLMPERF_UNIT_FLOP_PER_BYTE;
    default:
        return LLMPERF_UNIT_BYTES;
    }
}

static void name_link(explainer *e, int64_t devices)
{
    const llmperf_hw *hw = e->c->hw;
    const llmperf_link *link = llmperf_hw_link(hw, devices);
    llmperf_hw_field field = link == &hw->link    ? LLMPERF_HW_LINK
                             : link == &hw->nodes ? LLMPERF_HW_NODES
                                                  : LLMPERF_HW_PCIE;
    char meaning[64];
    explain_print(meaning, sizeof meaning, "%s bandwidth per direction", link->kind);
    explain_name_hardware(e, "link_bytes_per_s", link->bytes_per_s, LLMPERF_UNIT_BYTES_PER_S,
                          meaning, field);
    explain_print(meaning, sizeof meaning, "%s latency", link->kind);
    explain_name_hardware(e, "latency", link->latency_s, LLMPERF_UNIT_S, meaning, field);
    llmperf_explain_input *latency = &e->named[e->named_count - 1];
    if (link->latency_assumed) {
        latency->assumed = true;
        latency->confidence = LLMPERF_CONFIDENCE_NONE;
        explain_print(latency->source, sizeof latency->source,
                      "a default of its kind: %.80s does not say", hw->name);
    }
}

static void name_param(explainer *e, const char *symbol, const llmperf_calib_entry *entry,
                       llmperf_param param, llmperf_unit unit, const char *meaning)
{
    char key[96];
    llmperf_explain_input *input =
        explain_name_value(e, symbol, entry->param[param], unit, meaning);
    input->origin = LLMPERF_ORIGIN_CALIBRATION;
    explain_print(input->source, sizeof input->source, "%.90s, %s", e->c->calib->name,
                  llmperf_calib_describe(&entry->key, key, sizeof key));
}

/* Compute time of a fit is flop / (e_c P) where no term of shape, format and clock adds to it. */
static bool is_plain(const llmperf_op *op, const llmperf_hw *hw, const llmperf_calib_entry *entry,
                     const llmperf_time *t)
{
    if (entry->compute_is_reads) /* of engine profiles, which have no such term there */
        return true;
    double reached = entry->param[LLMPERF_PARAM_COMPUTE] * hw->peak_flop_per_s[op->dtype];
    return fabs(t->compute_s * reached / op->flop - 1) < 1e-9;
}

/* launch + norm_p of the parts that are there + what is added, as a formula in their names. */
static void norm_text(explainer *e, const llmperf_time *t, bool collective, double p, char *buffer,
                      size_t size)
{
    const struct {
        const char *name;
        double value;
        bool in_norm;
    } parts[] = {{"launch_s", t->launch_s, collective}, {"compute_s", t->compute_s, true},
                 {"memory_s", t->memory_s, true},       {"serial_s", t->serial_s, true},
                 {"work_s", t->work_s, true},           {"link_s", t->link_s, true},
                 {"added_s", t->added_s, false}};
    const size_t count = sizeof parts / sizeof *parts;
    char norm[256] = "", rest[64] = "";
    int within = 0;
    for (size_t i = 0; i < count; i++) {
        char one[32];
        if (parts[i].value == 0)
            continue;
        if (!explain_find_named(e, parts[i].name))
            explain_add_step(e, parts[i].name, NULL, LLMPERF_UNIT_S, parts[i].value);
        explain_name_value(e, parts[i].name, parts[i].value, LLMPERF_UNIT_S, "part of the time");
        bool power = parts[i].in_norm && !isinf(p) && p != 1;
        explain_print(one, sizeof one, power ? "%s^p" : "%s", parts[i].name);
        char *target = parts[i].in_norm ? norm : rest;
        size_t used = strlen(target);
        const char *between = parts[i].in_norm && isinf(p) ? ", " : " + ";
        explain_print(target + used, (parts[i].in_norm ? sizeof norm : sizeof rest) - used, "%s%s",
                      used ? between : "", one);
        within += parts[i].in_norm;
    }
    if (within == 0)
        explain_print(buffer, size, "%s", rest[0] ? rest : "0");
    else
        explain_print(buffer, size, "%s%s%s%s%s", rest, rest[0] ? " + " : "",
                      isinf(p) ? within > 1 ? "max(" : ""
                      : p == 1 ? ""
                               : "(",
                      norm,
                      isinf(p) ? within > 1 ? ")" : ""
                      : p == 1 ? ""
                               : ")^(1 / p)");
}

/* Time on the link of a collective, as a fit makes it. */
static void explain_transfer(explainer *e, const llmperf_op *op, const llmperf_time *t,
                             const llmperf_calib_entry *entry)
{
    const llmperf_link *link = llmperf_hw_link(e->c->hw, op->devices);
    const double *param = entry->param;
    double n = (double)op->devices, second = param[LLMPERF_PARAM_SECOND];
    bool crowded = link == &e->c->hw->pcie && n > 2 && param[LLMPERF_PARAM_CROWD] > 0;
    double ring = op->link_bytes / (param[LLMPERF_PARAM_LINK] * link->bytes_per_s) *
                  (crowded ? 1 + param[LLMPERF_PARAM_CROWD] * (n - 2) : 1);
    bool phases = second > 0 && op->collective == LLMPERF_COLLECTIVE_ALL_REDUCE && n > 2;
    bool one = phases && fabs(t->link_s - ring * n / 2) < fabs(t->link_s - ring - second);
    char text[LLMPERF_FORMULA_MAX];
    explain_name_value(e, "link_bytes", op->link_bytes, LLMPERF_UNIT_BYTES, "bytes over the link");
    name_link(e, op->devices);
    name_param(e, "e_link", entry, LLMPERF_PARAM_LINK, LLMPERF_UNIT_FRACTION,
               "share of the link that is reached");
    if (one || crowded)
        explain_name_value(e, "devices", n, LLMPERF_UNIT_NONE, "that take part");
    if (crowded)
        name_param(e, "crowd", entry, LLMPERF_PARAM_CROWD, LLMPERF_UNIT_NONE,
                   "more for each device beyond two on the host bus");
    if (phases && !one)
        name_param(e, "second_phase_s", entry, LLMPERF_PARAM_SECOND, LLMPERF_UNIT_S,
                   "reduce-scatter, then all-gather: more than reading all at once");
    explain_print(text, sizeof text, "%slink_bytes%s / (e_link link_bytes_per_s)%s",
                  one ? "devices / 2 " : "", crowded ? " (1 + crowd (devices - 2))" : "",
                  phases && !one ? " + second_phase_s" : "");
    explain_add_step(e, "link_s", text, LLMPERF_UNIT_S, t->link_s);
    explain_name_value(e, "link_s", t->link_s, LLMPERF_UNIT_S, "time on the link");
    if (!(t->added_s > 0))
        return;
    double share = llmperf_collective_share((llmperf_collective)op->collective, n);
    name_param(e, "bulk_s", entry, LLMPERF_PARAM_BULK, LLMPERF_UNIT_S,
               "latency of the way for large buffers");
    name_param(e, "bulk_bytes", entry, LLMPERF_PARAM_LIMIT, LLMPERF_UNIT_BYTES,
               "buffer at which half of it is paid");
    explain_name_value(e, "q", 1 + param[LLMPERF_PARAM_SHARP], LLMPERF_UNIT_NONE,
                       "1 + bulk_sharpness");
    explain_name_value(e, "buffer_bytes", op->link_bytes / share, LLMPERF_UNIT_BYTES,
                       "the whole buffer");
    explain_add_step(e, "added_s", "bulk_s / (1 + (bulk_bytes / buffer_bytes)^q)", LLMPERF_UNIT_S,
                     t->added_s);
    explain_name_value(e, "added_s", t->added_s, LLMPERF_UNIT_S, "what large buffers cost on top");
}

/* Time of one launch as a fit makes it. */
static void explain_fitted_time(explainer *e, const llmperf_op *op, const llmperf_time *t,
                                const llmperf_calib_entry *entry)
{
    enum { NORM_MOST = 20 }; /* beyond it powers of microseconds run out of range */
    bool collective = op->kind == LLMPERF_KIND_COLLECTIVE;
    double p = entry->param[LLMPERF_PARAM_NORM];
    char text[LLMPERF_FORMULA_MAX];
    if (!isinf(p))
        name_param(e, "p", entry, LLMPERF_PARAM_NORM, LLMPERF_UNIT_NONE, "norm of the parts");
    if (collective) {
        explain_transfer(e, op, t, entry);
    } else {
        explain_name_bandwidth(e);
        explain_name_value(e, "bytes", op->bytes, LLMPERF_UNIT_BYTES, "bytes moved");
        name_param(e, "e_m", entry, LLMPERF_PARAM_MEMORY, LLMPERF_UNIT_FRACTION,
                   "share of the bandwidth that is reached");
        bool tall =
            op->kind == LLMPERF_KIND_GEMM && op->m > 16 && entry->param[LLMPERF_PARAM_TALL] > 0;
        if (tall)
            name_param(e, "tall", entry, LLMPERF_PARAM_TALL, LLMPERF_UNIT_FRACTION,
                       "more memory time beyond 16 rows");
        bool fed = entry->param[LLMPERF_PARAM_FEED] > 0;
        if (fed)
            name_param(e, "feed", entry, LLMPERF_PARAM_FEED, LLMPERF_UNIT_NONE,
                       "bytes come in at BW / feed at most, however fast memory is");
        bool reads = entry->compute_is_reads;
        bool plain = op->flop > 0 && is_plain(op, e->c->hw, entry, t);
        if (plain) {
            explain_name_peak(e, (llmperf_dtype)op->dtype);
            explain_name_value(e, "flop", op->flop, LLMPERF_UNIT_FLOP, "FLOP");
            name_param(e, "e_c", entry, LLMPERF_PARAM_COMPUTE, LLMPERF_UNIT_FRACTION,
                       reads ? "e_c P bytes/s: query heads read K and V through the caches"
                             : "share of the peak that is reached");
        }
        explain_add_step(e, "memory_s",
                         reads ? "bytes / (e_m BW) + flop / (e_c P)"
                         : fed && tall
                             ? "((bytes (1 + tall) / (e_m BW))^4 + (feed bytes / BW)^4)^(1 / 4)"
                         : fed  ? "((bytes / (e_m BW))^4 + (feed bytes / BW)^4)^(1 / 4)"
                         : tall ? "bytes (1 + tall) / (e_m BW)"
                                : "bytes / (e_m BW)",
                         LLMPERF_UNIT_S, t->memory_s);
        explain_name_value(e, "memory_s", t->memory_s, LLMPERF_UNIT_S, "memory time");
        if (plain && !reads) {
            explain_add_step(e, "compute_s", "flop / (e_c P)", LLMPERF_UNIT_S, t->compute_s);
            explain_name_value(e, "compute_s", t->compute_s, LLMPERF_UNIT_S, "compute time");
        } else if (op->flop > 0 && !plain) {
            llmperf_note(&e->x->notes, "the fit's compute time also depends on shape, format and "
                                       "clock: docs/calibration.md");
        }
    }
    norm_text(e, t, collective, p, text, sizeof text);
    if (isinf(p) || p <= NORM_MOST)
        explain_result(e, text, t->time_s);
    else
        explain_rule(e, t->time_s, "launch + norm of the parts + added, as calibrated");
}

/* Time of one launch: the roofline, or what the calibration makes of it. */
static void explain_op_time(explainer *e, const llmperf_op *op, double repeat)
{
    llmperf_time t;
    llmperf_gradient used;
    const llmperf_calib *calib = e->c->calib;
    double value = llmperf_time_op(op, e->c->hw, calib, &t, &used);
    bool fitted = calib && used.count > 0 && used.entry[0] != LLMPERF_CALIB_NO_ENTRY;
    bool joined = calib && used.count > 1;
    e->x->result.unit = LLMPERF_UNIT_S;
    if (joined) {
        explain_add_step(e, "compute_s", NULL, LLMPERF_UNIT_S, t.compute_s);
        explain_add_step(e, "memory_s", NULL, LLMPERF_UNIT_S, t.memory_s);
        explain_rule(
            e, value,
            "new tokens over cached ones: the parameters are joined from the fits of prefill "
            "and decode; launch + norm of the parts + added");
    } else if (fitted) {
        explain_fitted_time(e, op, &t, &calib->entry[used.entry[0]]);
    } else if (op->kind == LLMPERF_KIND_COLLECTIVE) {
        explain_name_value(e, "link_bytes", op->link_bytes, LLMPERF_UNIT_BYTES,
                           "bytes over the link");
        name_link(e, op->devices);
        explain_result(e, "latency + link_bytes / link_bytes_per_s", value);
    } else {
        explain_name_bandwidth(e);
        explain_name_value(e, "bytes", op->bytes, LLMPERF_UNIT_BYTES, "bytes moved");
        if (op->flop > 0) {
            explain_name_peak(e, (llmperf_dtype)op->dtype);
            explain_name_value(e, "flop", op->flop, LLMPERF_UNIT_FLOP, "FLOP");
            explain_add_step(e, "compute_s", "flop / P", LLMPERF_UNIT_S, t.compute_s);
        }
        explain_add_step(e, "memory_s", "bytes / BW", LLMPERF_UNIT_S, t.memory_s);
        explain_result(e, op->flop > 0 ? "max(flop / P, bytes / BW)" : "bytes / BW", value);
    }
    if (calib && !fitted && !joined)
        llmperf_note(&e->x->notes, "%s has no fit for this operator: the roofline is taken",
                     calib->name);
    llmperf_note(&e->x->notes, "bound by %s", llmperf_bound_name((llmperf_bound)t.bound));
    explain_add_step(e, "all launches", NULL, LLMPERF_UNIT_S, repeat * value);
}

/* `repeat`: launches of this kind in the step; `alone`: one place of the step has them all. */
static void explain_op_row(explainer *e, const op_formulas *row, double repeat, bool alone)
{
    const llmperf_op *op = &row->op;
    e->scope.layer = &e->c->model->layers[row->layer];
    e->scope.outside = row->outside;
    for (int q = OP_M; q < OP_QUANTITY_COUNT; q++)
        if (row->text[q][0])
            explain_add_step(e, op_quantity_name((op_quantity)q), row->text[q],
                             unit_of_quantity((op_quantity)q), op_quantity_of(op, (op_quantity)q));
    explain_add_step(e, "launches in the step", alone ? row->text[OP_REPEAT] : NULL,
                     LLMPERF_UNIT_COUNT, repeat);
    if (e->c->hw) {
        explain_op_time(e, op, repeat);
        return;
    }
    op_quantity shown = op->flop > 0 ? OP_FLOP : op->bytes > 0 ? OP_BYTES : OP_LINK_BYTES;
    e->x->result.unit = (uint8_t)unit_of_quantity(shown);
    explain_result(e, row->text[shown], op_quantity_of(op, shown));
}

static bool same_launch(const op_formulas *a, const op_formulas *b)
{
    llmperf_op copy = a->op;
    copy.repeat = b->op.repeat;
    return memcmp(&copy, &b->op, sizeof copy) == 0;
}

/* The operators of the step as words, for a message. */
static void list_operators(const op_formulas *rows, int count, char *buffer, size_t size)
{
    bool seen[LLMPERF_OP_COUNT] = {false};
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; i < count && used + 32 < size; i++) {
        if (!seen[rows[i].id])
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
                                     llmperf_op_name((llmperf_op_id)rows[i].id));
        seen[rows[i].id] = true;
    }
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
static bool search_operator(explainer *e, llmperf_op_id id, op_search *s)
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

llmperf_status explain_operator(explainer *e, llmperf_op_id id, int which, llmperf_error *error)
{
    const char *op_name = llmperf_op_name(id);
    const char *phase = e->scope.decode ? "a decode step" : "prefill";
    llmperf_explanation *x = e->x;
    op_search *s = calloc(1, sizeof *s);
    llmperf_status status = LLMPERF_OK;
    if (!s || !search_operator(e, id, s)) {
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    } else if (s->count == 0) {
        char words[512];
        list_operators(s->rows, s->row_count, words, sizeof words);
        status = llmperf_fail(error, LLMPERF_E_USAGE, "%s of %s has no '%s' as asked; it has %s",
                              phase, e->c->model->name, op_name, words);
    } else if (which > s->count) {
        status = llmperf_fail(error, LLMPERF_E_USAGE,
                              "'%s:%d': only %d of that name differ; 1 to %d is allowed", op_name,
                              which, s->count, s->count);
    } else {
        const op_formulas *row = &s->found[which - 1];
        bool named = strcmp(row->label, op_name) == 0;
        x->is_operator = true;
        explain_print(x->meaning, sizeof x->meaning, "%s%sone launch on one device, %s",
                      named ? "" : row->label, named ? "" : ", ",
                      e->scope.decode ? "in a decode step"
                                      : "in a prefill of all prompts in one step");
        explain_print(x->result.name, sizeof x->result.name, "%s", op_name);
        explain_op_row(e, row, s->repeat[which - 1], s->places[which - 1] == 1);
        if (s->count > 1)
            llmperf_note(&x->notes,
                         "%d different launches go by this name, %s:1 to %s:%d; this "
                         "is %s:%d",
                         s->count, op_name, op_name, s->count, op_name, which);
    }
    free(s);
    return status;
}
