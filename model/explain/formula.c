/* SPDX-License-Identifier: MIT */
/* Parses, tidies, evaluates and prints the formulas that `layers --symbolic` and `explain` show. */
#include "formula.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

static int new_node(formula *f, int kind)
{
    if (f->count == FORMULA_NODES_MAX)
        return wrong(f, "formula too long", NULL);
    formula_node *n = &f->node[f->count];
    memset(n, 0, sizeof *n);
    n->kind = (uint8_t)kind;
    n->first = n->next = NONE;
    return f->count++;
}

static int new_number(formula *f, double value)
{
    int at = new_node(f, NUMBER);
    if (at != NONE)
        f->node[at].number = value;
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

static void prepend(formula *f, list *l, int at)
{
    f->node[at].next = (int16_t)l->first;
    l->first = at;
    if (l->last == NONE)
        l->last = at;
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

/* ---- tidying --------------------------------------------------------------------------------- */

static bool print_node(const formula *f, int at, int level, formula_style style,
                       formula_lookup lookup, void *context, char *buffer, size_t size,
                       size_t *used);

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
        else if (n->turned)
            number /= n->number;
        else
            number *= n->number;
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
    if (divisor != 1) {
        int at = new_number(f, divisor);
        if (at == NONE)
            return NONE;
        f->node[at].turned = true;
        prepend(f, &factors, at);
    }
    if (number * divisor != 1) {
        int at = new_number(f, number * divisor);
        if (at == NONE)
            return NONE;
        prepend(f, &factors, at);
    }
    if (factors.first == factors.last && !f->node[factors.first].turned)
        return factors.first;
    int at = new_node(f, PRODUCT);
    if (at != NONE)
        f->node[at].first = (int16_t)factors.first;
    return at;
}

/* s s is s^2; symbols alone. */
static bool join_powers(formula *f, list *factors)
{
    list result = EMPTY;
    for (int at = factors->first, next; at != NONE; at = next) {
        int times = 1;
        next = f->node[at].next;
        if (f->node[at].kind == SYMBOL) { /* take its equals out of the rest */
            list rest = EMPTY;
            for (int k = next, after; k != NONE; k = after) {
                after = f->node[k].next;
                if (f->node[k].kind == SYMBOL && f->node[k].turned == f->node[at].turned &&
                    strcmp(f->node[k].name, f->node[at].name) == 0)
                    times++;
                else
                    append(f, &rest, k);
            }
            next = rest.first;
        }
        if (times > 1) {
            int power = new_node(f, POWER), exponent = new_number(f, times);
            if (power == NONE || exponent == NONE)
                return false;
            f->node[power].turned = f->node[at].turned;
            f->node[power].first = (int16_t)at;
            f->node[at].turned = false;
            f->node[at].next = (int16_t)exponent;
            at = power;
        }
        append(f, &result, at);
    }
    *factors = result;
    return true;
}

static int tidy_product(formula *f, list factors)
{
    double number;
    list rest = without_numbers(f, factors.first, &number);
    return join_powers(f, &rest) ? make_product(f, number, rest) : NONE;
}

static bool put(const char *text, char *buffer, size_t size, size_t *used)
{
    size_t length = strlen(text);
    if (*used + length >= size)
        return false;
    memcpy(buffer + *used, text, length + 1);
    *used += length;
    return true;
}

/* A term as coefficient and the text of the rest, by which equal terms are found. */
static double coefficient_of(const formula *f, int at, char *rest, size_t size)
{
    const formula_node *n = &f->node[at];
    double number = 1;
    size_t used = 0;
    bool ok = true;
    rest[0] = '\0';
    if (n->kind == NUMBER) {
        number = n->number;
    } else if (n->kind != PRODUCT) {
        ok = put("*", rest, size, &used) &&
             print_node(f, at, PRODUCT, FORMULA_PROGRAM, NULL, NULL, rest, size, &used);
    } else {
        for (int c = n->first; c != NONE && ok; c = f->node[c].next) {
            const formula_node *child = &f->node[c];
            if (child->kind == NUMBER)
                number = child->turned ? number / child->number : number * child->number;
            else
                ok = put(child->turned ? "/" : "*", rest, size, &used) &&
                     print_node(f, c, PRODUCT, FORMULA_PROGRAM, NULL, NULL, rest, size, &used);
        }
    }
    if (!ok) /* too long to compare: equal to no other */
        snprintf(rest, size, "#%d", at);
    return n->turned ? -number : number;
}

/* The same term with another coefficient (its sign goes to `turned`). */
static int with_coefficient(formula *f, int at, double coefficient)
{
    double old;
    list rest = EMPTY;
    if (f->node[at].kind == PRODUCT)
        rest = without_numbers(f, f->node[at].first, &old);
    else if (f->node[at].kind != NUMBER) {
        f->node[at].turned = false;
        append(f, &rest, at);
    }
    int made = make_product(f, fabs(coefficient), rest);
    if (made != NONE)
        f->node[made].turned = coefficient < 0;
    return made;
}

static int tidy_sum(formula *f, list terms)
{
    char one[FORMULA_TEXT_MAX], other[FORMULA_TEXT_MAX];
    list kept = EMPTY;
    for (int at = terms.first, next; at != NONE; at = next) {
        next = f->node[at].next;
        double coefficient = coefficient_of(f, at, one, sizeof one);
        bool merged = false;
        list seen = EMPTY;
        for (int k = kept.first, after; k != NONE; k = after) {
            after = f->node[k].next;
            double known = coefficient_of(f, k, other, sizeof other);
            if (!merged && strcmp(one, other) == 0) {
                merged = true;
                k = with_coefficient(f, k, known + coefficient);
                if (k == NONE)
                    return NONE;
            }
            append(f, &seen, k);
        }
        kept = seen;
        if (!merged)
            append(f, &kept, at);
    }
    list result = EMPTY;
    for (int at = kept.first, next; at != NONE; at = next) {
        next = f->node[at].next;
        if (f->node[at].kind != NUMBER || f->node[at].number != 0)
            append(f, &result, at);
    }
    if (result.first == NONE)
        return new_number(f, 0);
    if (result.first == result.last && !f->node[result.first].turned)
        return result.first;
    int at = new_node(f, SUM);
    if (at != NONE)
        f->node[at].first = (int16_t)result.first;
    return at;
}

static int make(formula *f, int kind, list children)
{
    if (f->tidy)
        return kind == SUM ? tidy_sum(f, children) : tidy_product(f, children);
    if (children.first == children.last && !f->node[children.first].turned)
        return children.first;
    int at = new_node(f, kind);
    if (at != NONE)
        f->node[at].first = (int16_t)children.first;
    return at;
}

/* ---- parsing --------------------------------------------------------------------------------- */

typedef struct parser {
    formula *f;
    const char *at;
    const formula_macro *macros;
    int depth;
} parser;

static int parse_sum(parser *p);

static void skip(parser *p)
{
    while (*p->at == ' ')
        p->at++;
}

static bool begins_name(char c)
{
    return isalpha((unsigned char)c) || c == '_' || c == '$';
}

static int parse_number(parser *p)
{
    char text[32];
    size_t length = strspn(p->at, "0123456789.");
    const char *end = p->at + length;
    if (*end == 'e') { /* an exponent, not the symbol e */
        const char *digits = end + 1 + (end[1] == '+' || end[1] == '-');
        if (isdigit((unsigned char)*digits))
            end = digits + strspn(digits, "0123456789");
    }
    length = (size_t)(end - p->at);
    double value;
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
        skip(p);
    } while (*p->at == ',' && p->at++);
    if (*p->at != ')')
        return wrong(p->f, "')' is missing after the arguments of", CALLS[call].name);
    p->at++;
    if (count < CALLS[call].least || count > CALLS[call].most)
        return wrong(p->f, "wrong number of arguments of", CALLS[call].name);
    int at = new_node(p->f, CALL);
    if (at == NONE)
        return NONE;
    p->f->node[at].call = (uint8_t)call;
    p->f->node[at].first = (int16_t)arguments.first;
    return at;
}

static int parse_macro(parser *p, const char *name)
{
    for (const formula_macro *m = p->macros; m && m->name; m++)
        if (strcmp(m->name, name) == 0) {
            const char *outer = p->at;
            p->at = m->text;
            int at = parse_sum(p);
            skip(p);
            if (at != NONE && *p->at)
                at = wrong(p->f, "cannot read the macro", name);
            p->at = outer;
            return at;
        }
    return wrong(p->f, "unknown macro", name);
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
    if (*end == '(') {
        for (int i = 0; i < CALL_COUNT; i++)
            if (strcmp(name, CALLS[i].name) == 0)
                return parse_call(p, i);
        return wrong(p->f, "unknown function", name);
    }
    int at = new_node(p->f, SYMBOL);
    if (at != NONE)
        snprintf(p->f->node[at].name, FORMULA_NAME_MAX, "%s", name);
    return at;
}

static int parse_base(parser *p)
{
    skip(p);
    if (isdigit((unsigned char)*p->at) || *p->at == '.')
        return parse_number(p);
    if (begins_name(*p->at))
        return parse_name(p);
    if (*p->at != '(')
        return wrong(p->f, *p->at ? "cannot read" : "ends too early", *p->at ? p->at : NULL);
    p->at++;
    int at = parse_sum(p);
    skip(p);
    if (at != NONE && *p->at != ')')
        return wrong(p->f, "')' is missing", NULL);
    p->at++;
    return at;
}

static int parse_factor(parser *p)
{
    int base = parse_base(p);
    skip(p);
    if (base == NONE || *p->at != '^')
        return base;
    p->at++;
    int exponent = parse_base(p);
    int at = exponent == NONE ? NONE : new_node(p->f, POWER);
    if (at == NONE)
        return NONE;
    p->f->node[base].turned = p->f->node[exponent].turned = false;
    p->f->node[base].next = (int16_t)exponent;
    p->f->node[exponent].next = NONE;
    p->f->node[at].first = (int16_t)base;
    return at;
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
        skip(p);
        divides = *p->at == '/';
        bool goes_on = divides || *p->at == '*';
        if (goes_on)
            p->at++;
        else if (!isdigit((unsigned char)*p->at) && !begins_name(*p->at) && *p->at != '(')
            return make(p->f, PRODUCT, factors);
    }
}

static int parse_sum(parser *p)
{
    list terms = EMPTY;
    if (++p->depth > DEPTH_MAX)
        return wrong(p->f, "nested too deeply", NULL);
    skip(p);
    bool minus = *p->at == '-';
    if (minus)
        p->at++;
    for (;;) {
        int term = parse_product(p);
        if (term == NONE)
            return NONE;
        add_child(p->f, &terms, SUM, term, minus);
        skip(p);
        if (*p->at != '+' && *p->at != '-')
            break;
        minus = *p->at == '-';
        p->at++;
    }
    p->depth--;
    return make(p->f, SUM, terms);
}

bool formula_parse(const char *text, const formula_macro *macros, formula *ret_formula)
{
    formula *f = ret_formula;
    parser p = {.f = f, .at = text, .macros = macros};
    f->count = 0;
    f->wrong[0] = '\0';
    f->tidy = macros != NULL;
    f->root = parse_sum(&p);
    skip(&p);
    if (f->root != NONE && *p.at)
        f->root = wrong(f, "cannot read", p.at);
    if (f->root == NONE)
        return false;
    f->node[f->root].next = NONE;
    return true;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

static bool evaluate(formula *f, int at, formula_lookup lookup, void *context, double *ret_value)
{
    const formula_node *n = &f->node[at];
    if (n->kind == NUMBER) {
        *ret_value = n->number;
        return true;
    }
    if (n->kind == SYMBOL) {
        if (lookup && lookup(n->name, ret_value, context))
            return true;
        wrong(f, "no value for", n->name);
        return false;
    }
    double value = n->kind == SUM ? 0 : 1;
    bool first = true;
    for (int c = n->first; c != NONE; c = f->node[c].next) {
        double x;
        if (!evaluate(f, c, lookup, context, &x))
            return false;
        bool turned = f->node[c].turned;
        if (n->kind == SUM)
            value += turned ? -x : x;
        else if (n->kind == PRODUCT)
            value = turned ? value / x : value * x;
        else if (first)
            value = x;
        else if (n->kind == POWER)
            value = pow(value, x);
        else
            value = n->call == CALL_MIN ? fmin(value, x) : fmax(value, x);
        first = false;
    }
    if (n->kind == CALL) {
        value = n->call == CALL_CEIL    ? ceil(value)
                : n->call == CALL_FLOOR ? floor(value)
                : n->call == CALL_SQRT  ? sqrt(value)
                                        : value;
    }
    *ret_value = value;
    return true;
}

bool formula_evaluate(formula *f, formula_lookup lookup, void *context, double *ret_value)
{
    f->wrong[0] = '\0';
    return evaluate(f, f->root, lookup, context, ret_value);
}

/* ---- printing -------------------------------------------------------------------------------- */

/* Six significant digits, whole numbers below 10^12 in full. */
static void number_text(double value, bool exact, char *buffer)
{
    if (exact || (value == floor(value) && fabs(value) < 1e12)) {
        llmperf_format_double(value, buffer);
        return;
    }
    char raw[LLMPERF_DOUBLE_TEXT_MAX];
    snprintf(raw, sizeof raw, "%.6g", value);
    size_t used = 0;
    for (const char *c = raw; *c; c++)
        if (*c != '+') /* 3.35e12 */
            buffer[used++] = *c == ',' ? '.' : *c;
    buffer[used] = '\0';
}

static bool put_number(double value, bool exact, char *buffer, size_t size, size_t *used)
{
    char text[LLMPERF_DOUBLE_TEXT_MAX + 2], digits[LLMPERF_DOUBLE_TEXT_MAX];
    number_text(value, exact, digits);
    snprintf(text, sizeof text, value < 0 ? "(%s)" : "%s", digits);
    return put(text, buffer, size, used);
}

static bool put_product(const formula *f, const formula_node *n, formula_style style,
                        formula_lookup lookup, void *context, char *buffer, size_t size,
                        size_t *used)
{
    const char *times = style == FORMULA_PEOPLE ? " " : " * ";
    int above = 0, below = 0;
    bool ok = true;
    for (int c = n->first; c != NONE; c = f->node[c].next)
        f->node[c].turned ? below++ : above++;
    if (above == 0)
        ok = put("1", buffer, size, used);
    for (int under = 0; under < 2 && ok; under++) {
        bool begun = false;
        if (under && below > 0)
            ok = put(below > 1 ? " / (" : " / ", buffer, size, used);
        for (int c = n->first; c != NONE && ok; c = f->node[c].next) {
            if (f->node[c].turned != (under == 1))
                continue;
            ok = (!begun || put(times, buffer, size, used)) &&
                 print_node(f, c, PRODUCT, style, lookup, context, buffer, size, used);
            begun = true;
        }
        if (under && below > 1)
            ok = ok && put(")", buffer, size, used);
    }
    return ok;
}

/* `level`: the kind of node around this one, which decides on parentheses. */
static bool print_node(const formula *f, int at, int level, formula_style style,
                       formula_lookup lookup, void *context, char *buffer, size_t size,
                       size_t *used)
{
    const formula_node *n = &f->node[at];
    bool numbers = style == FORMULA_NUMBERS || style == FORMULA_EXACT;
    bool atom = n->kind == NUMBER || n->kind == SYMBOL || n->kind == CALL;
    bool parentheses = !atom && ((level == PRODUCT && n->kind == SUM) || level == POWER);
    double value;
    bool ok = true;
    if (parentheses)
        ok = put("(", buffer, size, used);
    switch (n->kind) {
    case NUMBER:
        ok = ok && put_number(n->number, style != FORMULA_NUMBERS, buffer, size, used);
        break;
    case SYMBOL:
        if (numbers && lookup && lookup(n->name, &value, context))
            ok = ok && put_number(value, style == FORMULA_EXACT, buffer, size, used);
        else
            ok = ok && put(n->name, buffer, size, used);
        break;
    case PRODUCT:
        ok = ok && put_product(f, n, style, lookup, context, buffer, size, used);
        break;
    default: {
        const char *between = n->kind == SUM ? " + " : n->kind == POWER ? "^" : ", ";
        if (n->kind == CALL)
            ok = ok && put(CALLS[n->call].name, buffer, size, used) && put("(", buffer, size, used);
        for (int c = n->first; c != NONE && ok; c = f->node[c].next) {
            bool minus = n->kind == SUM && f->node[c].turned;
            if (c != n->first)
                ok = put(minus ? " - " : between, buffer, size, used);
            else if (minus)
                ok = put("-", buffer, size, used);
            ok = ok && print_node(f, c, n->kind == CALL ? NUMBER : n->kind, style, lookup, context,
                                  buffer, size, used);
        }
        if (n->kind == CALL)
            ok = ok && put(")", buffer, size, used);
    }
    }
    if (parentheses)
        ok = ok && put(")", buffer, size, used);
    return ok;
}

bool formula_print(const formula *f, formula_style style, formula_lookup lookup, void *context,
                   char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    return print_node(f, f->root, NUMBER, style, lookup, context, buffer, size, &used);
}

enum { SYMBOLS_MAX = 64 };

typedef struct symbol_walk {
    const char *seen[SYMBOLS_MAX];
    int count;
    void (*visit)(const char *name, void *context);
    void *context;
} symbol_walk;

static void walk(const formula *f, int at, symbol_walk *w)
{
    const formula_node *n = &f->node[at];
    bool known = n->kind != SYMBOL;
    for (int i = 0; i < w->count && !known; i++)
        known = strcmp(w->seen[i], n->name) == 0;
    if (!known && w->count < SYMBOLS_MAX) {
        w->seen[w->count++] = n->name;
        w->visit(n->name, w->context);
    }
    for (int c = n->first; c != NONE; c = f->node[c].next)
        walk(f, c, w);
}

void formula_symbols(const formula *f, void (*visit)(const char *name, void *context),
                     void *context)
{
    symbol_walk w = {.visit = visit, .context = context};
    walk(f, f->root, &w);
}
