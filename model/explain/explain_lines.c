/* SPDX-License-Identifier: MIT */
/* Lines of an explanation: a formula, its numbers, what it gives. */
#include "explain.h"

#include <math.h>
#include <string.h>

void explain_fill_line(explainer *e, llmperf_explain_line *line, const char *name, const char *text,
                       llmperf_unit unit, double value)
{
    formula f;
    char expanded[FORMULA_TEXT_MAX];
    memset(line, 0, sizeof *line);
    explain_print(line->name, sizeof line->name, "%s", name);
    line->unit = (uint8_t)unit;
    line->value = value;
    line->evaluated = NAN;
    if (!text)
        return;
    if (strchr(text, '$')) {
        symbolic_expand(text, &e->scope, expanded);
        text = expanded[0] ? expanded : "0";
    }
    if (!formula_parse(text, NULL, &f) ||
        !formula_evaluate(&f, explain_look_up, e, &line->evaluated)) {
        llmperf_note(&e->x->notes, "formula '%s': %s: a bug of llmperf", text, f.wrong);
        return;
    }
    if (!formula_print(&f, FORMULA_PEOPLE, NULL, NULL, line->formula, sizeof line->formula) ||
        !formula_print(&f, FORMULA_EXACT, explain_look_up, e, line->numbers, sizeof line->numbers))
        llmperf_note(&e->x->notes, "the formula of %s is too long to be shown whole", name);
    if (isnan(value))
        line->value = line->evaluated;
    formula_symbols(&f, explain_list_input, e);
}

void explain_result(explainer *e, const char *text, double value)
{
    llmperf_explain_line *r = &e->x->result;
    char name[sizeof r->name];
    explain_print(name, sizeof name, "%s", r->name);
    explain_fill_line(e, r, name, text, (llmperf_unit)r->unit, value);
}

void explain_rule(explainer *e, double value, const char *rule)
{
    explain_print(e->x->rule, sizeof e->x->rule, "%s", rule);
    explain_result(e, NULL, value);
}

void explain_none(explainer *e, const char *why)
{
    e->x->exists = false;
    explain_print(e->x->why, sizeof e->x->why, "%s", why);
    explain_result(e, NULL, NAN);
}

llmperf_explain_line *explain_add_step(explainer *e, const char *name, const char *text,
                                       llmperf_unit unit, double value)
{
    llmperf_explanation *x = e->x;
    int at =
        x->step_count < LLMPERF_EXPLAIN_STEPS_MAX ? x->step_count++ : LLMPERF_EXPLAIN_STEPS_MAX - 1;
    explain_fill_line(e, &x->steps[at], name, text, unit, value);
    return &x->steps[at];
}

void explain_add_named_step(explainer *e, const char *symbol, const char *meaning, const char *text,
                            llmperf_unit unit)
{
    double value = explain_add_step(e, symbol, text, unit, NAN)->value;
    explain_name_value(e, symbol, value, unit, meaning);
}

void explain_add_term(explainer *e, const char *name, const char *text, llmperf_unit unit)
{
    llmperf_explanation *x = e->x;
    char probe[FORMULA_TEXT_MAX];
    symbolic_expand(text, &e->scope, probe);
    if (!probe[0] || x->term_count == LLMPERF_EXPLAIN_TERMS_MAX) /* nothing of that kind */
        return;
    explain_fill_line(e, &x->terms[x->term_count++], name, text, unit, NAN);
}

void explain_close_sum(explainer *e, double value, const char *rule)
{
    llmperf_explanation *x = e->x;
    if (x->term_count == 1) {
        const llmperf_explain_line *only = &x->terms[0];
        memcpy(x->result.formula, only->formula, sizeof only->formula);
        memcpy(x->result.numbers, only->numbers, sizeof only->numbers);
        x->result.evaluated = only->evaluated;
        x->result.value = value;
        x->term_count = 0;
        return;
    }
    x->is_sum = true;
    explain_rule(e, value, rule);
}

void explain_set_layer(explainer *e, int kind, const char *what, char *name, size_t size)
{
    const llmperf_model *model = e->c->model;
    e->scope.layer = &model->layers[kind];
    if (model->layer_kind_count == 1)
        explain_print(name, size, "%s", what);
    else
        explain_print(name, size, "%s, %lld layers of shape %d", what,
                      (long long)model->layers[kind].count, kind + 1);
}
