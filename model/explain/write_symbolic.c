/* SPDX-License-Identifier: MIT */
/* `layers --symbolic`: the operators in symbols as text, Markdown, JSON and CSV. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolic.h"
#include "llmperf/report.h"
#include "write_head.h"
#include "entry.h"
#include "config_object.h"
#include "read.h"
#include "config.h"

/* ---- collecting what is printed -------------------------------------------------------------- */

enum { PRINTED_MAX = 512 };

/* Operators of one phase as they are printed: equal ones once. */
typedef struct printed {
    int count;
    op_formulas *rows; /* of PRINTED_MAX */
    const char **form; /* likewise: NULL, or the form that they belong to */
} printed;

static bool same_formulas(const op_formulas *a, const op_formulas *b)
{
    for (int i = OP_M; i < OP_QUANTITY_COUNT; i++)
        if (strcmp(a->text[i], b->text[i]) != 0)
            return false;
    return a->id == b->id;
}

static void add_repeat(op_formulas *known, const op_formulas *more, const symbol_scope *scope)
{
    char sum[2 * FORMULA_TEXT_MAX + 8];
    snprintf(sum, sizeof sum, "%s + %s", known->text[OP_REPEAT], more->text[OP_REPEAT]);
    scope_expand(scope, NULL, sum, known->text[OP_REPEAT]);
    known->op.repeat += more->op.repeat;
}

/* Adds the operators of a layer shape whose row is not there yet, or collectives alone. */
static bool collect(printed *all, const llmperf_config *c, bool decode, int layer, const char *form,
                    bool only_collectives)
{
    op_formulas *rows = malloc(OP_FORMULAS_MAX * sizeof *rows);
    int count = rows ? symbolic_ops(c, decode, layer, rows) : -1;
    const symbol_scope scope = {.c = c, .layer = &c->model->layers[layer]};
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
                add_repeat(&all->rows[known], &rows[i], &scope);
        } else if (all->count < PRINTED_MAX) {
            all->form[all->count] = form;
            all->rows[all->count++] = rows[i];
        }
    }
    free(rows);
    return count >= 0;
}

#define MIXER "attention: {heads: 32, kv_heads: 8, head_dim: 128}"
#define FFN "mlp: {ffn: 14336}"

/* The decoder that stands for all when no model is given, whose numbers are never shown, and the forms
 * that it may take, shown behind it. */
static const struct {
    const char *form, *mixer, *ffn;
    llmperf_workload workload;
} FORMS[] = {
    {NULL, MIXER, FFN, {0}},
    {"unfused attention (--attention unfused), in place of attn.core",
     MIXER,
     FFN,
     {.unfused = true}},
    {"three projections (--split-qkv), in place of attn.qkv", MIXER, FFN, {.split_qkv = true}},
    {"FFN without a gate, in place of mlp.gate_up and mlp.act",
     MIXER,
     "mlp: {ffn: 14336, gated: false}",
     {0}},
    {"mixture of experts, in place of the FFN",
     MIXER,
     "moe: {experts: 64, active: 4, ffn: 2048, shared_ffn: 2048}",
     {0}},
    {"multi-head latent attention, in place of attention",
     "mla: {heads: 32, q_rank: 1536, kv_rank: 512, nope_dim: 128, rope_dim: 64, value_dim: 128}",
     FFN,
     {0}},
    {"on tp devices (--tp): n / tp for n, max(1, n_kv / tp) for n_kv, ceil(f / tp) for f, "
     "ceil(V / tp) for V in all of the above, and",
     MIXER,
     FFN,
     {.tp = 2}},
};

static llmperf_status collect_forms(printed *all, bool decode, llmperf_config *c,
                                    llmperf_model *model, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    for (size_t i = 0; i < sizeof FORMS / sizeof *FORMS && status == LLMPERF_OK; i++) {
        char text[512];
        int length = snprintf(text, sizeof text,
                              "name: decoder\nhidden: 4096\nvocab: 32000\ndtype: bf16\n"
                              "layers:\n  - count: 32\n    %s\n    %s\n",
                              FORMS[i].mixer, FORMS[i].ffn);
        status = model_load_text("decoder", text, (size_t)length, model, error);
        if (status == LLMPERF_OK)
            status = config_init(c, model, NULL, NULL, &FORMS[i].workload, error);
        if (status == LLMPERF_OK &&
            !collect(all, c, decode, 0, FORMS[i].form, FORMS[i].workload.tp > 1))
            status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    return status;
}

static llmperf_status collect_phase(printed *all, const llmperf_config *c, bool decode,
                                    llmperf_error *error)
{
    llmperf_model *model = malloc(sizeof *model);
    llmperf_config *form = malloc(sizeof *form);
    llmperf_status status = LLMPERF_OK;
    all->rows = malloc(PRINTED_MAX * sizeof *all->rows);
    all->form = malloc(PRINTED_MAX * sizeof *all->form);
    bool ok = all->rows && all->form && model && form;
    if (ok && !c)
        status = collect_forms(all, decode, form, model, error);
    for (int i = 0; c && ok && i < c->model->layer_kind_count; i++)
        ok = collect(all, c, decode, i, NULL, false);
    if (!ok)
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    free(form);
    free(model);
    return status;
}

static double value_at(const symbol *s, const llmperf_config *c, int layer, bool decode)
{
    symbol_scope scope = {.c = c, .layer = &c->model->layers[layer], .decode = decode};
    double value = 0;
    symbol_value(s->name, &value, &scope);
    return value;
}

/* Values of a symbol: of each layer shape, or where they differ in prefill and then in decode; ""
 * without a model. */
static void values_text(const llmperf_config *c, const symbol *s, char *buffer, size_t size)
{
    size_t used = 0;
    int shown = 0;
    buffer[0] = '\0';
    if (c && s->value) {
        int layer = 0, last = c->model->layer_kind_count - 1;
        while (layer < last && value_at(s, c, layer, false) == 0) /* experts seldom stand first */
            layer++;
        snprintf(buffer, size, "%.6g, then %.6g", value_at(s, c, layer, false),
                 value_at(s, c, layer, true));
        return;
    }
    for (int i = 0; c && i < c->model->layer_kind_count && used < size; i++) {
        char number[LLMPERF_DOUBLE_TEXT_MAX];
        double value = value_at(s, c, i, false);
        bool known = value == 0; /* a part that this shape does not have */
        for (int k = 0; k < i && !known; k++)
            known = value_at(s, c, k, false) == value;
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
    bool used[SYMBOLS_MAX];
} symbol_use;

static void mark_symbol(const char *name, void *context)
{
    symbol_use *use = context;
    int index;
    if (!symbol_find(name, NULL, &index) || index >= SYMBOLS_MAX)
        return;
    use->used[index] = true;
    if (strcmp(name, "X") == 0) { /* its meaning names these */
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

static void put_op_markdown(FILE *out, const op_formulas *r)
{
    const op_quantity cells[] = {OP_REPEAT,   OP_M,
                                 OP_N,        OP_K,
                                 OP_FLOP,     r->text[OP_LINK_BYTES][0] ? OP_LINK_BYTES : OP_BYTES,
                                 OP_INTENSITY};
    fprintf(out, "| %s ", r->label);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        fprintf(out, r->text[cells[i]][0] ? "| `%s` " : "| %s", r->text[cells[i]]);
    fputs("|\n", out);
}

static void shape_heading(page *p, const llmperf_config *c, int layer)
{
    static const char *const names[] = {"n", "n_kv", "W", "C", "n_s", "f", "E"};
    char facts[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        double value = value_at(symbol_find(names[i], NULL, NULL), c, layer, false);
        if (value > 0)
            used +=
                (size_t)snprintf(facts + used, sizeof facts - used, ", %s = %.0f", names[i], value);
    }
    page_gap(p);
    page_paragraph(p, 2, "Layers of shape %d (%lld of them%s), where they differ:", layer + 1,
                   (long long)c->model->layers[layer].count, facts);
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
            fputs("| operator | times | m | n | k | FLOP | bytes | FLOP/byte |\n"
                  "|---|---|---|---|---|---|---|---|\n",
                  p->out);
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
    for (int i = 0; symbol_at(i); i++) {
        const symbol *one = symbol_at(i);
        char value[PAGE_CELL_MAX];
        if (!use->used[i])
            continue;
        values_text(c, one, value, sizeof value);
        const char *cells[] = {one->name, one->meaning, value};
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
    sink_text(s, key, formula_program(text, program, sizeof program));
}

static void put_op_fields(sink *s, const op_formulas *r, const char *form)
{
    sink_text(s, "name", llmperf_op_name((llmperf_op_id)r->id));
    sink_text(s, "label", r->label);
    sink_integer(s, "layer_shape", r->layer + 1);
    sink_text(s, "form", form);
    for (op_quantity q = OP_REPEAT; q < OP_QUANTITY_COUNT; q++)
        put_formula(s, op_quantity_name(q), r->text[q]);
}

static const char *const PHASES[] = {"prefill", "decode"};

static void put_phase_fields(sink *s, const llmperf_config *c, const printed *all, bool decode)
{
    if (!s->is_table) {
        sink_begin_object(s, NULL);
        sink_text(s, "phase", PHASES[decode]);
        sink_text(s, "about", phase_text(c, decode));
        sink_begin_array(s, "ops");
    }
    for (int k = 0; k < all->count; k++) {
        explain_begin_item(s, "phase", PHASES[decode]);
        put_op_fields(s, &all->rows[k], all->form[k]);
        explain_end_item(s);
    }
    if (!s->is_table) {
        sink_end_array(s);
        sink_end_object(s);
    }
}

/* One value per layer shape, and per phase where they differ. */
static void put_symbol_fields(sink *s, const llmperf_config *c, const symbol *one)
{
    sink_begin_object(s, NULL);
    sink_text(s, "symbol", one->name);
    sink_text(s, "meaning", one->meaning);
    for (int decode = 0; decode < 2 && c; decode++) {
        sink_begin_array(s, decode ? "decode_values" : "prefill_values");
        for (int k = 0; k < c->model->layer_kind_count; k++)
            sink_number(s, NULL, value_at(one, c, k, decode == 1));
        sink_end_array(s);
    }
    sink_end_object(s);
}

static void put_consequences(sink *s)
{
    sink_begin_array(s, "consequences_at_16_bit");
    for (const symbolic_consequence *k = CONSEQUENCES; k->key; k++) {
        sink_begin_object(s, NULL);
        sink_text(s, "name", k->key);
        put_formula(s, "formula", k->formula);
        sink_text(s, "about", k->text);
        sink_end_object(s);
    }
    sink_end_array(s);
}

static llmperf_status record_symbolic(FILE *out, const sink_format *format, const llmperf_config *c,
                                      const printed *phases, const symbol_use *use,
                                      llmperf_error *error)
{
    sink s;
    sink_open(&s, out, format);
    if (!s.is_table) {
        explain_begin_record(&s);
        sink_text(&s, "model", c ? c->model->name : NULL);
        sink_begin_array(&s, "symbols");
        for (int i = 0; symbol_at(i); i++)
            if (use->used[i])
                put_symbol_fields(&s, c, symbol_at(i));
        sink_end_array(&s);
        sink_begin_array(&s, "phases");
    }
    for (int i = 0; i < 2; i++)
        put_phase_fields(&s, c, &phases[i], i == 1);
    if (!s.is_table) {
        sink_end_array(&s);
        put_consequences(&s);
        explain_end_record(&s, NULL);
    }
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
    for (int i = 0; i < 2; i++) {
        free(phases[i].rows);
        free(phases[i].form);
    }
    return status;
}
