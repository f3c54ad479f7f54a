/* SPDX-License-Identifier: MIT */
/* Parses, tidies, evaluates and prints the formulas that `layers --symbolic` and `explain` show. */
#include "formula.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "llmperf/base.h"

enum { NUMBER, SYMBOL, SUM, PRODUCT, POWER, CALL };
enum { DEPTH_MAX = 48, NONE = -1 };

static const struct {
    const char *name;
    int least, most; /* arguments */
} CALLS[] = {{"min", 1, 8}, {"max", 1, 8}, {"ceil", 1, 1}, {"floor", 1, 1}, {"sqrt", 1, 1}};

enum { CALL_MIN, CALL_MAX, CALL_CEIL, CALL_FLOOR, CALL_SQRT, CALL_COUNT };

/* ---- nodes and lists of children ------------------------------------------------------------- */

typedef struct list {
    int first, last;
} list;

static const list EMPTY = {NONE, NONE};

static int wrong(formula *f, const char *what, const char *which)
{
    if (!f->wrong[0])
        snprintf(f->wrong, sizeof f->wrong, "%s%s%.40s%s", what, which ? " '" : "",
                 which ? which : "", which ? "'" : "");
    return NONE;
}

static int new_node(formula *f, int kind, int first)
{
    if (f->count == FORMULA_NODES_MAX)
        return wrong(f, "formula too long", NULL);
    f->node[f->count] =
        (formula_node){.kind = (uint8_t)kind, .first = (int16_t)first, .next = NONE};
    return f->count++;
}

static int new_number(formula *f, double value)
{
    int at = new_node(f, NUMBER, NONE);
    if (at != NONE)
        f->node[at].is.number = value;
    return at;
}

static int new_symbol(formula *f, const char *name)
{
    int known = 0, at = new_node(f, SYMBOL, NONE);
    if (at == NONE)
        return NONE;
    while (known < f->name_count && strcmp(f->name[known], name) != 0)
        known++;
    if (known == FORMULA_NAMES_MAX)
        return wrong(f, "too many symbols", NULL);
    if (known == f->name_count)
        snprintf(f->name[f->name_count++], FORMULA_NAME_MAX, "%s", name);
    f->node[at].is.name = known;
    return at;
}

static void append(formula *f, list *l, int at)
{
    f->node[at].next = NONE;
    if (l->last == NONE)
        l->first = at;
    else
        f->node[l->last].next = (int16_t)at;
    l->last = at;
}

static bool prepend_number(formula *f, list *l, double number, bool turned)
{
    int at = new_number(f, number);
    if (at == NONE)
        return false;
    f->node[at].turned = turned;
    f->node[at].next = (int16_t)l->first;
    l->first = at;
    l->last = l->last == NONE ? at : l->last;
    return true;
}

/* Adds a child to a sum or product of that kind; a child of the same kind brings its own. */
static void add_child(formula *f, list *l, int kind, int child, bool turned)
{
    if (f->node[child].kind != kind) {
        f->node[child].turned = turned;
        append(f, l, child);
        return;
    }
    for (int at = f->node[child].first, next; at != NONE; at = next) {
        next = f->node[at].next;
        f->node[at].turned ^= turned;
        append(f, l, at);
    }
}

/* The node of a sum or product; a single child stands for itself. */
static int new_parent(formula *f, int kind, list children)
{
    if (children.first == children.last && !f->node[children.first].turned)
        return children.first;
    return new_node(f, kind, children.first);
}

/* ---- tidying --------------------------------------------------------------------------------- */

/* The factors of a product without its numbers; ret_number is what they multiply to. */
static list without_numbers(formula *f, int first, double *ret_number)
{
    list rest = EMPTY;
    double number = 1;
    for (int at = first, next; at != NONE; at = next) {
        const formula_node *n = &f->node[at];
        next = n->next;
        if (n->kind != NUMBER)
            append(f, &rest, at);
        else
            number = n->turned ? number / n->is.number : number * n->is.number;
    }
    *ret_number = number;
    return rest;
}

/* A number as quotient of whole ones, 5 / 3, where a small divisor does it; else over 1. */
static double divisor_of(double number)
{
    enum { DIVISOR_MAX = 64 };
    for (int i = 1; i <= DIVISOR_MAX; i++)
        if (number * i == floor(number * i))
            return i;
    return 1;
}

/* number * factors, numbers first; the shortest node that says it. */
static int make_product(formula *f, double number, list factors)
{
    if (number == 0 || factors.first == NONE)
        return new_number(f, number);
    double divisor = divisor_of(number);
    if (divisor != 1 && !prepend_number(f, &factors, divisor, true))
        return NONE;
    if (number * divisor != 1 && !prepend_number(f, &factors, number * divisor, false))
        return NONE;
    return new_parent(f, PRODUCT, factors);
}

static bool is_same(const formula *f, int a, int b)
{
    const formula_node *x = &f->node[a], *y = &f->node[b];
    bool leaf = x->kind == NUMBER || x->kind == SYMBOL;
    if (x->kind != y->kind || x->call != y->call || x->turned != y->turned ||
        (x->kind == NUMBER && x->is.number != y->is.number) ||
        (x->kind == SYMBOL && x->is.name != y->is.name))
        return false;
    for (a = x->first, b = y->first; !leaf && a != NONE && b != NONE && is_same(f, a, b);) {
        a = f->node[a].next;
        b = f->node[b].next;
    }
    return leaf || (a == NONE && b == NONE);
}

/* `at` raised to as often as it stands among the factors behind it, which are taken out. */
static int join_power(formula *f, int at, int *ret_next)
{
    int times = 1;
    list rest = EMPTY;
    for (int k = *ret_next, after; k != NONE; k = after) {
        after = f->node[k].next;
        if (is_same(f, k, at))
            times++;
        else
            append(f, &rest, k);
    }
    *ret_next = rest.first;
    if (times == 1)
        return at;
    int power = new_node(f, POWER, at), exponent = new_number(f, times);
    if (power == NONE || exponent == NONE)
        return NONE;
    f->node[power].turned = f->node[at].turned;
    f->node[at].turned = false;
    f->node[at].next = (int16_t)exponent;
    return power;
}

/* s s is s^2; symbols alone. */
static int tidy_product(formula *f, list factors)
{
    double number;
    list result = EMPTY;
    for (int at = without_numbers(f, factors.first, &number).first, next; at != NONE; at = next) {
        next = f->node[at].next;
        if (f->node[at].kind == SYMBOL)
            at = join_power(f, at, &next);
        if (at == NONE)
            return NONE;
        append(f, &result, at);
    }
    return make_product(f, number, result);
}

/* A term as the product of its factors but for numbers; these go, with the sign, to is.number. */
static int split_term(formula *f, int at)
{
    formula_node *n = &f->node[at];
    double number = n->kind == NUMBER ? n->is.number : 1, sign = n->turned ? -1 : 1;
    int first = n->kind == PRODUCT ? without_numbers(f, n->first, &number).first : NONE;
    n->turned = false;
    if (n->kind != PRODUCT && n->kind != NUMBER) {
        n->next = NONE;
        first = at;
        at = new_node(f, PRODUCT, at);
        if (at == NONE)
            return NONE;
    }
    f->node[at].kind = PRODUCT;
    f->node[at].first = (int16_t)first;
    f->node[at].is.number = sign * number;
    return at;
}

static int join_term(formula *f, int at)
{
    double number = f->node[at].is.number;
    list factors = {f->node[at].first, f->node[at].first};
    while (factors.last != NONE && f->node[factors.last].next != NONE)
        factors.last = f->node[factors.last].next;
    int made = make_product(f, fabs(number), factors);
    if (made != NONE)
        f->node[made].turned = number < 0;
    return made;
}

/* Equal terms are added up, at the first of them. */
static int tidy_sum(formula *f, list terms)
{
    list kept = EMPTY, result = EMPTY;
    for (int at = terms.first, next; at != NONE; at = next) {
        next = f->node[at].next;
        if ((at = split_term(f, at)) == NONE)
            return NONE;
        int like = kept.first;
        while (like != NONE && !is_same(f, like, at))
            like = f->node[like].next;
        if (like == NONE)
            append(f, &kept, at);
        else
            f->node[like].is.number += f->node[at].is.number;
    }
    for (int at = kept.first, next; at != NONE; at = next) {
        next = f->node[at].next;
        if (f->node[at].is.number == 0)
            continue;
        if ((at = join_term(f, at)) == NONE)
            return NONE;
        append(f, &result, at);
    }
    return result.first == NONE ? new_number(f, 0) : new_parent(f, SUM, result);
}

static int make(formula *f, int kind, list children)
{
    if (!f->tidy)
        return new_parent(f, kind, children);
    return kind == SUM ? tidy_sum(f, children) : tidy_product(f, children);
}

/* ---- parsing --------------------------------------------------------------------------------- */

typedef struct parser {
    formula *f;
    const char *at;
    const formula_macros *macros;
    int depth;
} parser;

static int parse_sum(parser *p);

/* The next character; '|' ends a text, as its end does. */
static char peek(parser *p)
{
    while (*p->at == ' ')
        p->at++;
    return *p->at == '|' ? '\0' : *p->at;
}

static bool is_digit(char c)
{
    return isdigit((unsigned char)c);
}

static bool begins_name(char c)
{
    return isalpha((unsigned char)c) || c == '_' || c == '$';
}

static int parse_number(parser *p)
{
    char text[32];
    double value;
    const char *end = p->at + strspn(p->at, "0123456789.");
    if (*end == 'e') { /* an exponent, not the symbol e */
        const char *digits = end + 1 + (end[1] == '+' || end[1] == '-');
        if (is_digit(*digits))
            end = digits + strspn(digits, "0123456789");
    }
    size_t length = (size_t)(end - p->at);
    if (length >= sizeof text)
        return wrong(p->f, "number too long", NULL);
    memcpy(text, p->at, length);
    text[length] = '\0';
    if (!llmperf_parse_double(text, &value))
        return wrong(p->f, "bad number", text);
    p->at = end;
    return new_number(p->f, value);
}

static int parse_call(parser *p, int call)
{
    list arguments = EMPTY;
    int count = 0;
    p->at++; /* the parenthesis */
    do {
        int argument = parse_sum(p);
        if (argument == NONE)
            return NONE;
        p->f->node[argument].turned = false;
        append(p->f, &arguments, argument);
        count++;
    } while (peek(p) == ',' && p->at++);
    if (*p->at != ')')
        return wrong(p->f, "')' is missing after the arguments of", CALLS[call].name);
    p->at++;
    if (count < CALLS[call].least || count > CALLS[call].most)
        return wrong(p->f, "wrong number of arguments of", CALLS[call].name);
    int at = new_node(p->f, CALL, arguments.first);
    if (at != NONE)
        p->f->node[at].call = (uint8_t)call;
    return at;
}

static int parse_macro(parser *p, const char *name)
{
    const char *outer = p->at;
    const char *text = p->macros ? p->macros->find(name, p->macros->context) : NULL;
    if (!text)
        return wrong(p->f, "unknown macro", name);
    p->at = text;
    int at = parse_sum(p);
    if (at != NONE && peek(p))
        at = wrong(p->f, "cannot read the macro", name);
    p->at = outer;
    return at;
}

static int parse_name(parser *p)
{
    char name[FORMULA_NAME_MAX];
    const char *end = p->at + 1;
    while (isalnum((unsigned char)*end) || *end == '_' || *end == '.')
        end++;
    size_t length = (size_t)(end - p->at);
    if (length >= sizeof name)
        return wrong(p->f, "name too long", p->at);
    memcpy(name, p->at, length);
    name[length] = '\0';
    p->at = end;
    if (name[0] == '$')
        return parse_macro(p, name);
    if (*end != '(')
        return new_symbol(p->f, name);
    for (int i = 0; i < CALL_COUNT; i++)
        if (strcmp(name, CALLS[i].name) == 0)
            return parse_call(p, i);
    return wrong(p->f, "unknown function", name);
}

static int parse_base(parser *p)
{
    char c = peek(p);
    if (is_digit(c) || c == '.')
        return parse_number(p);
    if (begins_name(c))
        return parse_name(p);
    if (c != '(')
        return wrong(p->f, c ? "cannot read" : "ends too early", c ? p->at : NULL);
    p->at++;
    int at = parse_sum(p);
    if (at != NONE && peek(p) != ')')
        return wrong(p->f, "')' is missing", NULL);
    p->at++;
    return at;
}

static int parse_factor(parser *p)
{
    formula_node *node = p->f->node;
    int base = parse_base(p);
    if (base == NONE || peek(p) != '^')
        return base;
    p->at++;
    int exponent = parse_base(p);
    if (exponent == NONE)
        return NONE;
    node[base].turned = node[exponent].turned = false;
    node[base].next = (int16_t)exponent;
    node[exponent].next = NONE;
    return new_node(p->f, POWER, base);
}

static int parse_product(parser *p)
{
    list factors = EMPTY;
    bool divides = false;
    for (;;) {
        int factor = parse_factor(p);
        if (factor == NONE)
            return NONE;
        add_child(p->f, &factors, PRODUCT, factor, divides);
        char c = peek(p);
        divides = c == '/';
        if (divides || c == '*')
            p->at++;
        else if (!is_digit(c) && !begins_name(c) && c != '(')
            return make(p->f, PRODUCT, factors);
    }
}

static int parse_sum(parser *p)
{
    list terms = EMPTY;
    if (++p->depth > DEPTH_MAX)
        return wrong(p->f, "nested too deeply", NULL);
    bool minus = peek(p) == '-';
    p->at += minus;
    for (;;) {
        int term = parse_product(p);
        if (term == NONE)
            return NONE;
        add_child(p->f, &terms, SUM, term, minus);
        minus = peek(p) == '-';
        if (!minus && *p->at != '+')
            break;
        p->at++;
    }
    p->depth--;
    return make(p->f, SUM, terms);
}

bool formula_parse(const char *text, const formula_macros *macros, formula *ret_formula)
{
    formula *f = ret_formula;
    parser p = {.f = f, .at = text, .macros = macros};
    f->count = f->name_count = 0;
    f->wrong[0] = '\0';
    f->tidy = macros != NULL;
    f->root = parse_sum(&p);
    if (f->root != NONE && peek(&p))
        f->root = wrong(f, "cannot read", p.at);
    if (f->root == NONE)
        return false;
    f->node[f->root].next = NONE;
    return true;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

static double apply(const formula_node *n, double value, double x, bool turned)
{
    switch (n->kind) {
    case SUM:
        return value + (turned ? -x : x);
    case PRODUCT:
        return turned ? value / x : value * x;
    case POWER:
        return pow(value, x);
    default:
        return n->call == CALL_MIN ? fmin(value, x) : fmax(value, x);
    }
}

static bool evaluate(formula *f, int at, formula_lookup lookup, void *context, double *ret_value)
{
    const formula_node *n = &f->node[at];
    double value = n->kind == SUM ? 0 : n->kind == NUMBER ? n->is.number : 1;
    if (n->kind == SYMBOL && !(lookup && lookup(f->name[n->is.name], &value, context))) {
        wrong(f, "no value for", f->name[n->is.name]);
        return false;
    }
    for (int c = n->first; c != NONE; c = f->node[c].next) {
        double x;
        if (!evaluate(f, c, lookup, context, &x))
            return false;
        bool begins = c == n->first && (n->kind == POWER || n->kind == CALL);
        value = begins ? x : apply(n, value, x, f->node[c].turned);
    }
    if (n->kind == CALL)
        value = n->call == CALL_CEIL    ? ceil(value)
                : n->call == CALL_FLOOR ? floor(value)
                : n->call == CALL_SQRT  ? sqrt(value)
                                        : value;
    *ret_value = value;
    return true;
}

bool formula_evaluate(formula *f, formula_lookup lookup, void *context, double *ret_value)
{
    f->wrong[0] = '\0';
    return evaluate(f, f->root, lookup, context, ret_value);
}

/* ---- printing -------------------------------------------------------------------------------- */

typedef struct printer {
    const formula *f;
    formula_style style;
    formula_lookup lookup;
    void *context;
    char *buffer;
    size_t size, used;
    bool cut; /* nothing more fits */
} printer;

static void put(printer *p, const char *text)
{
    size_t length = strlen(text);
    p->cut |= p->used + length >= p->size;
    if (p->cut)
        return;
    memcpy(p->buffer + p->used, text, length + 1);
    p->used += length;
}

/* Exact, or six significant digits and whole numbers below 10^12 in full; "3.35e12". */
static void put_number(printer *p, double value, bool exact)
{
    char digits[LLMPERF_DOUBLE_TEXT_MAX], *end = digits;
    if (exact || (value == floor(value) && fabs(value) < 1e12)) {
        llmperf_format_double(value, digits);
    } else {
        snprintf(digits, sizeof digits, "%.6g", value);
        for (const char *c = digits; *c; c++)
            if (*c != '+')
                *end++ = *c == ',' ? '.' : *c;
        *end = '\0';
    }
    put(p, value < 0 ? "(" : "");
    put(p, digits);
    put(p, value < 0 ? ")" : "");
}

static void print_node(printer *p, int at, int level);

/* The factors above the line, or those below it. */
static int put_factors(printer *p, int first, bool below)
{
    int count = 0;
    for (int c = first; c != NONE; c = p->f->node[c].next) {
        if (p->f->node[c].turned != below)
            continue;
        put(p, count++ == 0 ? "" : p->style == FORMULA_PEOPLE ? " " : " * ");
        print_node(p, c, PRODUCT);
    }
    return count;
}

static void put_product(printer *p, const formula_node *n)
{
    int below = 0;
    for (int c = n->first; c != NONE; c = p->f->node[c].next)
        below += p->f->node[c].turned;
    if (put_factors(p, n->first, false) == 0)
        put(p, "1");
    if (below > 0) {
        put(p, below > 1 ? " / (" : " / ");
        put_factors(p, n->first, true);
        put(p, below > 1 ? ")" : "");
    }
}

/* The children of a sum, a power or a call. */
static void put_children(printer *p, const formula_node *n)
{
    const char *between = n->kind == SUM ? " + " : n->kind == POWER ? "^" : ", ";
    for (int c = n->first; c != NONE; c = p->f->node[c].next) {
        bool minus = n->kind == SUM && p->f->node[c].turned, begins = c == n->first;
        put(p, begins ? minus ? "-" : "" : minus ? " - " : between);
        print_node(p, c, n->kind == CALL ? NUMBER : n->kind);
    }
}

/* `level`: the kind of node around this one, which decides on parentheses. */
static void print_node(printer *p, int at, int level)
{
    const formula_node *n = &p->f->node[at];
    bool atom = n->kind == NUMBER || n->kind == SYMBOL || n->kind == CALL;
    bool parentheses = !atom && ((level == PRODUCT && n->kind == SUM) || level == POWER);
    bool numbers = p->style == FORMULA_NUMBERS || p->style == FORMULA_EXACT;
    double value;
    if (n->kind == NUMBER) {
        put_number(p, n->is.number, p->style != FORMULA_NUMBERS);
        return;
    }
    if (n->kind == SYMBOL) {
        const char *name = p->f->name[n->is.name];
        if (numbers && p->lookup && p->lookup(name, &value, p->context))
            put_number(p, value, p->style == FORMULA_EXACT);
        else
            put(p, name);
        return;
    }
    if (n->kind == CALL)
        put(p, CALLS[n->call].name);
    put(p, parentheses || n->kind == CALL ? "(" : "");
    if (n->kind == PRODUCT)
        put_product(p, n);
    else
        put_children(p, n);
    put(p, parentheses || n->kind == CALL ? ")" : "");
}

bool formula_print(const formula *f, formula_style style, formula_lookup lookup, void *context,
                   char *buffer, size_t size)
{
    printer p = {f, style, lookup, context, buffer, size, 0, false};
    buffer[0] = '\0';
    print_node(&p, f->root, NUMBER);
    return !p.cut;
}

const char *formula_program(const char *text, char *buffer, size_t size)
{
    formula f;
    bool is_formula = text[0] && formula_parse(text, NULL, &f) &&
                      formula_print(&f, FORMULA_PROGRAM, NULL, NULL, buffer, size);
    return is_formula ? buffer : NULL;
}

static void walk(const formula *f, int at, bool *seen,
                 void (*visit)(const char *name, void *context), void *context)
{
    const formula_node *n = &f->node[at];
    if (n->kind == SYMBOL && !seen[n->is.name]) {
        seen[n->is.name] = true;
        visit(f->name[n->is.name], context);
    }
    for (int c = n->first; c != NONE; c = f->node[c].next)
        walk(f, c, seen, visit, context);
}

void formula_symbols(const formula *f, void (*visit)(const char *name, void *context),
                     void *context)
{
    bool seen[FORMULA_NAMES_MAX] = {false};
    walk(f, f->root, seen, visit, context);
}
