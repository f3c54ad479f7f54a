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
    *line = (llmperf_explain_line){.unit = (uint8_t)unit, .value = value, .evaluated = NAN};
    explain_print(line->name, sizeof line->name, "%s", name);
    text = scope_choose(&e->scope, text);
    if (!text)
        return;
    const char *bar = strstr(text, " | "), *macro_at = strchr(text, '$');
    if (macro_at && (!bar || macro_at < bar)) {
        scope_expand(&e->scope, NULL, text, expanded);
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

void explain_say(explainer *e, const char *says, double value)
{
    if (strncmp(says, "RULE ", 5) == 0)
        explain_rule(e, value, says + 5);
    else
        explain_result(e, says, value);
}

void explain_none(explainer *e, const char *why)
{
    e->x->exists = false;
    explain_print(e->x->why, sizeof e->x->why, "%s", why);
    explain_result(e, NULL, NAN);
}

static llmperf_explain_line *add_line(explainer *e, llmperf_explain_line **list, int *count)
{
    llmperf_explain_line *lines = explain_grow(e, *list, *count, sizeof *lines);
    if (!lines)
        return NULL;
    *list = lines;
    return &lines[(*count)++];
}

double explain_add_step(explainer *e, const char *name, const char *text, llmperf_unit unit,
                        double value)
{
    llmperf_explain_line *line = add_line(e, &e->x->steps, &e->x->step_count);
    line = line ? line : &e->spare;
    explain_fill_line(e, line, name, text, unit, value);
    return line->value;
}

void explain_add_named_step(explainer *e, const char *name, const char *meaning, const char *text,
                            llmperf_unit unit)
{
    double value = explain_add_step(e, name, text, unit, NAN);
    explain_name(e, name, value, unit, meaning);
}

llmperf_explain_line *explain_add_term(explainer *e, const char *name, const char *text,
                                       llmperf_unit unit, double value)
{
    llmperf_explain_line *line = add_line(e, &e->x->terms, &e->x->term_count);
    if (line)
        explain_fill_line(e, line, name, text, unit, value);
    return line;
}

void explain_close_sum(explainer *e, const char *says, double value)
{
    llmperf_explanation *x = e->x;
    if (x->term_count != 1) {
        x->is_sum = true;
        explain_say(e, says, value);
        return;
    }
    char name[sizeof x->result.name];
    explain_print(name, sizeof name, "%s", x->result.name);
    x->result = x->terms[0];
    memcpy(x->result.name, name, sizeof name);
    x->result.value = value;
    x->term_count = 0;
}
