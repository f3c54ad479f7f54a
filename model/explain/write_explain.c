/* SPDX-License-Identifier: MIT */
/* Explanations as text, Markdown, JSON and CSV. */
#include "explain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "entry.h"
#include "write_head.h"

/* For a person: "1.34 GB". */
static char *human_value(double value, llmperf_unit unit, char *buffer)
{
    switch (unit) {
    case LLMPERF_UNIT_S:
        return human_time(value, buffer);
    case LLMPERF_UNIT_BYTES: /* of an element: 4.5 bits are 0.5625 bytes */
        if (fabs(value) < 10000)
            snprintf(buffer, HUMAN_MAX, "%g B", value);
        else
            human_bytes(value, buffer);
        return buffer;
    case LLMPERF_UNIT_FLOP:
        return human_flop(value, buffer);
    case LLMPERF_UNIT_BYTES_PER_S:
        human_bytes(value, buffer);
        strncat(buffer, "/s", HUMAN_MAX - strlen(buffer) - 1);
        return buffer;
    case LLMPERF_UNIT_FLOP_PER_S:
        human_flop(value, buffer);
        strncat(buffer, "/s", HUMAN_MAX - strlen(buffer) - 1);
        return buffer;
    case LLMPERF_UNIT_COUNT:
    case LLMPERF_UNIT_TOKENS:
    case LLMPERF_UNIT_SEQUENCES:
    case LLMPERF_UNIT_WEIGHTS:
        if (value == floor(value) && fabs(value) < 1e7)
            snprintf(buffer, HUMAN_MAX, "%.0f", value);
        else if (value != floor(value))
            snprintf(buffer, HUMAN_MAX, "%.6g", value);
        else
            human_count(value, buffer);
        return buffer;
    case LLMPERF_UNIT_FRACTION:
        snprintf(buffer, HUMAN_MAX, "%.4g", value);
        return buffer;
    default:
        return human_number(value, buffer);
    }
}

/* With the unit where the number alone does not say it; `named`: what stands beside it does. */
static void value_words(double value, llmperf_unit unit, bool named, char *buffer, size_t size)
{
    char human[HUMAN_MAX];
    bool counts = unit == LLMPERF_UNIT_TOKENS || unit == LLMPERF_UNIT_SEQUENCES ||
                  unit == LLMPERF_UNIT_WEIGHTS;
    bool bare = (named && counts) || unit == LLMPERF_UNIT_S || unit == LLMPERF_UNIT_BYTES ||
                unit == LLMPERF_UNIT_FLOP || unit == LLMPERF_UNIT_BYTES_PER_S ||
                unit == LLMPERF_UNIT_FLOP_PER_S || unit == LLMPERF_UNIT_COUNT;
    const char *name = bare ? "" : llmperf_unit_name(unit);
    human_value(value, unit, human);
    explain_print(buffer, size, "%s%s%s", human, name[0] ? " " : "", name);
}

/* Numbers at six digits, for a line of text. */
static void short_numbers(const char *numbers, char *buffer, size_t size)
{
    formula f;
    if (!formula_parse(numbers, NULL, &f) ||
        !formula_print(&f, FORMULA_NUMBERS, NULL, NULL, buffer, size))
        explain_print(buffer, size, "%s", numbers);
}

static void put_pair(page *p, const char *label, const char *text)
{
    if (p->markdown)
        fprintf(p->out, "- %s: `%s`\n", label, text);
    else
        page_paragraph(p, 11, "  %-8s %s", label, text);
}

static void put_result(page *p, const llmperf_explanation *x)
{
    const llmperf_explain_line *r = &x->result;
    char text[LLMPERF_FORMULA_MAX], words[96], exact[LLMPERF_DOUBLE_TEXT_MAX];
    const char *unit = llmperf_unit_name((llmperf_unit)r->unit);
    if (x->rule[0])
        put_pair(p, "rule", x->rule);
    if (r->formula[0])
        put_pair(p, "formula", r->formula);
    if (r->numbers[0] && strcmp(r->formula, r->numbers) != 0) {
        short_numbers(r->numbers, text, sizeof text);
        put_pair(p, "numbers", text);
    }
    if (!x->exists) {
        explain_print(text, sizeof text, "none: %s", x->why);
        put_pair(p, "value", text);
        return;
    }
    value_words(r->value, (llmperf_unit)r->unit, false, words, sizeof words);
    if (r->value == floor(r->value))
        llmperf_format_double(r->value, exact);
    else
        explain_print(exact, sizeof exact, "%.9g", r->value);
    char rounded[48] = "", whole[64] = "";
    if (x->rounded_up && r->evaluated == r->evaluated)
        explain_print(rounded, sizeof rounded, "%.6g, rounded up: ", r->evaluated);
    if (strncmp(words, exact, strlen(exact)) != 0)
        explain_print(whole, sizeof whole, " (%s%s%s)", exact, unit[0] ? " " : "", unit);
    explain_print(text, sizeof text, "%s%s%s", rounded, words, whole);
    put_pair(p, "value", text);
}

static void put_steps(page *p, const llmperf_explanation *x)
{
    enum { INDENT = 27 };
    if (x->step_count == 0)
        return;
    page_heading(p, "%s", x->is_operator ? "What it computes and moves" : "On the way");
    for (int i = 0; i < x->step_count; i++) {
        const llmperf_explain_line *s = &x->steps[i];
        char words[96], numbers[LLMPERF_FORMULA_MAX];
        value_words(s->value, (llmperf_unit)s->unit, false, words, sizeof words);
        short_numbers(s->numbers, numbers, sizeof numbers);
        if (p->markdown && s->formula[0])
            fprintf(p->out, "- %s: `%s` = `%s` = %s\n", s->name, s->formula, numbers, words);
        else if (p->markdown)
            fprintf(p->out, "- %s: %s\n", s->name, words);
        else if (!s->formula[0] || strcmp(numbers, s->formula) == 0)
            page_paragraph(p, INDENT, "  %-24s %s", s->name, words);
        else if (strchr(s->formula, ' ')) /* more than a symbol */
            page_paragraph(p, INDENT, "  %-24s %s = %s = %s", s->name, s->formula, numbers, words);
        else
            page_paragraph(p, INDENT, "  %-24s %s = %s", s->name, s->formula, words);
    }
}

/* One of the terms: launches and what each takes, or its formula. */
static void term_middle(const llmperf_explain_line *t, bool by_launch, char *buffer, size_t size)
{
    const char *star = strstr(t->numbers, " * ");
    double one;
    if (!by_launch) {
        explain_print(buffer, size, "%s", t->formula);
    } else if (star && llmperf_parse_double(star + 3, &one)) {
        char human[96];
        value_words(one, (llmperf_unit)t->unit, true, human, sizeof human);
        explain_print(buffer, size, "%.*s x %s", (int)(star - t->numbers), t->numbers, human);
    } else if (strcmp(t->name, "host") == 0) {
        explain_print(buffer, size, "per step, layer, sequence");
    } else {
        explain_print(buffer, size, "launches that differ");
    }
}

static void put_terms(page *p, const llmperf_explanation *x)
{
    enum { SHOWN = 12 };
    static const char *const headings[] = {"term", "", ">value", ">share"};
    if (x->term_count == 0)
        return;
    bool by_launch = false;
    for (int i = 0; i < x->term_count; i++)
        by_launch |= strncmp(x->terms[i].formula, "launches ", 9) == 0;
    double rest = 0, whole = x->result.value;
    page_heading(p, "The terms");
    page_table(p, 4, headings);
    for (int i = 0; i < x->term_count; i++) {
        const llmperf_explain_line *t = &x->terms[i];
        char words[96], share[32], middle[LLMPERF_FORMULA_MAX];
        if (by_launch && i >= SHOWN && x->term_count > SHOWN + 1) {
            rest += t->value;
            continue;
        }
        term_middle(t, by_launch, middle, sizeof middle);
        value_words(t->value, (llmperf_unit)t->unit, true, words, sizeof words);
        explain_print(share, sizeof share, "%.1f %%", whole > 0 ? 100 * t->value / whole : 0);
        const char *cells[] = {t->name, middle, words, share};
        page_row(p, cells);
    }
    if (rest > 0) {
        char words[96], share[32];
        value_words(rest, (llmperf_unit)x->result.unit, true, words, sizeof words);
        explain_print(share, sizeof share, "%.1f %%", 100 * rest / whole);
        const char *cells[] = {"the others", "", words, share};
        page_row(p, cells);
    }
    page_end_table(p);
}

/* Files are named once, below the inputs. A format, in bytes, says its source in a few words. */
static bool from_file(const llmperf_explain_input *in)
{
    return in->origin == LLMPERF_ORIGIN_HARDWARE ||
           (in->origin == LLMPERF_ORIGIN_MODEL && in->unit != LLMPERF_UNIT_BYTES);
}

/* Number of a source among the files named so far, from 1. */
static int source_number(const llmperf_explanation *x, int input, bool *ret_is_new)
{
    int count = 0;
    for (int i = 0; i <= input; i++) {
        if (!from_file(&x->inputs[i]))
            continue;
        int first = 0;
        while (!from_file(&x->inputs[first]) ||
               strcmp(x->inputs[first].source, x->inputs[i].source) != 0)
            first++;
        count += first == i;
        if (i == input) {
            *ret_is_new = first == i;
            return first == i ? count : source_number(x, first, &(bool){false});
        }
    }
    return count;
}

static void put_inputs(page *p, const llmperf_explanation *x)
{
    enum { INDENT = 32 };
    if (x->input_count == 0)
        return;
    page_heading(p, "Inputs");
    for (int i = 0; i < x->input_count; i++) {
        const llmperf_explain_input *in = &x->inputs[i];
        char words[96], trust[48] = "", source[LLMPERF_TEXT_MAX];
        bool is_new;
        value_words(in->value, (llmperf_unit)in->unit, true, words, sizeof words);
        if (in->assumed)
            explain_print(trust, sizeof trust, " (ASSUMED)");
        else if (in->origin == LLMPERF_ORIGIN_HARDWARE)
            explain_print(trust, sizeof trust, " (%s)",
                          llmperf_confidence_name((llmperf_confidence)in->confidence));
        if (from_file(in))
            explain_print(source, sizeof source, "[%d]", source_number(x, i, &is_new));
        else
            explain_print(source, sizeof source, "%s", in->source);
        if (p->markdown)
            fprintf(p->out, "- `%s` = %s: %s; %s%s\n", in->symbol, words, in->meaning, source,
                    trust);
        else
            page_paragraph(p, INDENT, "  %-14s %13s  %s; %s%s", in->symbol, words, in->meaning,
                           source, trust);
    }
    if (p->markdown)
        fputc('\n', p->out);
    for (int i = 0; i < x->input_count; i++) {
        bool is_new = false;
        int number = from_file(&x->inputs[i]) ? source_number(x, i, &is_new) : 0;
        if (is_new)
            page_paragraph(p, 6, "  [%d] %s", number, x->inputs[i].source);
    }
}

static llmperf_status page_explanation(FILE *out, const page_format *format,
                                       const llmperf_explanation *x, bool color,
                                       llmperf_error *error)
{
    page p;
    page_open(&p, out, format, color);
    page_title(&p, "%s: %s", x->result.name, x->meaning);
    put_result(&p, x);
    put_steps(&p, x);
    put_terms(&p, x);
    put_inputs(&p, x);
    if (x->notes.count > 0)
        page_gap(&p);
    for (int i = 0; i < x->notes.count; i++)
        page_paragraph(&p, 2, "Note: %s.", x->notes.text[i]);
    return page_close(&p, error);
}

static void line_fields(sink *s, const llmperf_explain_line *l)
{
    char program[2 * LLMPERF_FORMULA_MAX];
    sink_text(s, "name", l->name);
    sink_text(s, "formula", formula_program(l->formula, program, sizeof program));
    sink_text(s, "numbers", l->numbers[0] ? l->numbers : NULL);
    sink_number(s, "value", l->value);
    sink_text(s, "unit", llmperf_unit_name((llmperf_unit)l->unit));
}

static void input_fields(sink *s, const llmperf_explain_input *in)
{
    bool hardware = in->origin == LLMPERF_ORIGIN_HARDWARE && in->confidence;
    sink_text(s, s->is_table ? "name" : "symbol", in->symbol);
    if (s->is_table) {
        sink_null(s, "formula");
        sink_null(s, "numbers");
    } else {
        sink_text(s, "meaning", in->meaning);
    }
    sink_number(s, "value", in->value);
    sink_text(s, "unit", llmperf_unit_name((llmperf_unit)in->unit));
    if (s->is_table)
        sink_text(s, "meaning", in->meaning);
    sink_text(s, "origin", llmperf_origin_name((llmperf_origin)in->origin));
    sink_text(s, "source", in->source);
    sink_text(s, "confidence",
              hardware ? llmperf_confidence_name((llmperf_confidence)in->confidence) : NULL);
    sink_bool(s, "assumed", in->assumed);
}

/* A line as an object, or as a row of a table, which has the columns of inputs too. */
static void put_line(sink *s, const char *kind, const llmperf_explain_line *l, const char *meaning)
{
    static const char *const empty[] = {"origin", "source", "confidence", "assumed"};
    explain_begin_item(s, "part", kind);
    line_fields(s, l);
    if (s->is_table)
        sink_text(s, "meaning", meaning);
    for (size_t i = 0; s->is_table && i < sizeof empty / sizeof *empty; i++)
        sink_null(s, empty[i]);
    explain_end_item(s);
}

static void put_lines(sink *s, const char *kind, const llmperf_explain_line *lines, int count)
{
    char key[16];
    explain_print(key, sizeof key, "%ss", kind);
    explain_begin_list(s, key);
    for (int i = 0; i < count; i++)
        put_line(s, kind, &lines[i], NULL);
    explain_end_list(s);
}

static llmperf_status record_explanation(FILE *out, const sink_format *format,
                                         const llmperf_explanation *x, llmperf_error *error)
{
    sink s;
    sink_open(&s, out, format);
    if (s.is_table) {
        put_line(&s, "result", &x->result, x->meaning);
    } else {
        explain_begin_record(&s);
        line_fields(&s, &x->result);
        sink_text(&s, "kind", x->is_operator ? "operator" : "field");
        sink_text(&s, "meaning", x->meaning);
        sink_text(&s, "why", x->exists ? NULL : x->why);
        sink_text(&s, "rule", x->rule[0] ? x->rule : NULL);
        sink_bool(&s, "rounded_up", x->rounded_up);
    }
    put_lines(&s, "step", x->steps, x->step_count);
    put_lines(&s, "term", x->terms, x->term_count);
    explain_begin_list(&s, "inputs");
    for (int i = 0; i < x->input_count; i++) {
        explain_begin_item(&s, "part", "input");
        input_fields(&s, &x->inputs[i]);
        explain_end_item(&s);
    }
    explain_end_list(&s);
    if (!s.is_table)
        explain_end_record(&s, &x->notes);
    return sink_close(&s, error);
}

llmperf_status llmperf_write_explanation(FILE *out, const char *name,
                                         const llmperf_explanation *explanation,
                                         const llmperf_text_style *style, llmperf_error *error)
{
    NEEDS(out && explanation, error);
    const output_format *f = NULL;
    llmperf_status status = format_find(name, FORMAT_REPORTS, &f, error);
    if (status != LLMPERF_OK)
        return status;
    if (f->sink)
        return record_explanation(out, f->sink, explanation, error);
    return page_explanation(out, f->page, explanation, style && style->color, error);
}

static void list_row(sink *s, const char *name, const char *kind, const char *unit, bool needs_hw,
                     const char *meaning)
{
    explain_begin_item(s, NULL, NULL);
    sink_text(s, "name", name);
    sink_text(s, "kind", kind);
    sink_text(s, "unit", unit);
    sink_bool(s, "needs_hardware", needs_hw);
    sink_text(s, "meaning", meaning);
    explain_end_item(s);
}

static llmperf_status record_list(FILE *out, const sink_format *format, llmperf_error *error)
{
    sink s;
    sink_open(&s, out, format);
    if (!s.is_table) {
        explain_begin_record(&s);
        sink_begin_array(&s, "fields");
    }
    for (int i = 0; i < llmperf_explain_field_count(); i++) {
        const llmperf_explain_field f = llmperf_explain_field_at(i);
        list_row(&s, f.path, "field", llmperf_unit_name((llmperf_unit)f.unit), f.needs_hw,
                 f.meaning);
    }
    for (int i = 0; i < LLMPERF_OP_COUNT; i++)
        list_row(&s, llmperf_op_name((llmperf_op_id)i), "operator", "s", false,
                 "one launch: shape, FLOP, bytes, time");
    if (!s.is_table) {
        sink_end_array(&s);
        explain_end_record(&s, NULL);
    }
    return sink_close(&s, error);
}

static llmperf_status page_list(FILE *out, const page_format *format, bool color,
                                llmperf_error *error)
{
    static const char *const headings[] = {"field", "meaning"};
    page p;
    char words[LLMPERF_TEXT_MAX * 2];
    page_open(&p, out, format, color);
    page_title(&p, "What `llmperf explain` can explain");
    page_paragraph(&p, 0,
                   "The end of a path will do where only one fits (kv_bytes, tpot). Times "
                   "and rates also have .low and .high, batches .exact; * stands for a "
                   "dense operator.");
    page_gap(&p);
    page_table(&p, 2, headings);
    for (int i = 0; i < llmperf_explain_field_count(); i++) {
        const llmperf_explain_field f = llmperf_explain_field_at(i);
        const char *cells[] = {f.path, f.meaning};
        page_row(&p, cells);
    }
    page_end_table(&p);
    page_heading(&p, "Operators (--phase prefill or decode)");
    page_paragraph(&p, 2, "  %s", explain_operators(words, sizeof words));
    return page_close(&p, error);
}

llmperf_status llmperf_write_explain_list(FILE *out, const char *name,
                                          const llmperf_text_style *style, llmperf_error *error)
{
    NEEDS(out, error);
    const output_format *f = NULL;
    llmperf_status status = format_find(name, FORMAT_REPORTS, &f, error);
    if (status != LLMPERF_OK)
        return status;
    if (f->sink)
        return record_list(out, f->sink, error);
    return page_list(out, f->page, style && style->color, error);
}
