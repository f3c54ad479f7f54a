/* SPDX-License-Identifier: MIT */
/*
 * Formulas as text: the grammar that `layers --symbolic` and `explain` are written in.
 *
 * Grammar: numbers, symbols, + - * / ^, parentheses, min max ceil floor sqrt. A blank between two
 * factors is a product too, as on paper: "2 b s h"; a function's name touches its parenthesis.
 * Products and quotients bind equally, from the left: a / b c is (a / b) c. '|' ends a formula.
 */
#ifndef LLMPERF_EXPLAIN_FORMULA_H
#define LLMPERF_EXPLAIN_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    FORMULA_NODES_MAX = 640,
    FORMULA_NAMES_MAX = 48, /* different symbols of one formula */
    FORMULA_NAME_MAX = 24,
    FORMULA_TEXT_MAX = 512,
};

typedef struct formula_node {
    uint8_t kind, call;
    bool turned;         /* subtracted in its sum, divided by in its product */
    int16_t first, next; /* children and siblings; -1 = none */
    union {
        double number;
        int name; /* of a symbol, in formula.name */
    } is;
} formula_node;

/* A parsed formula; holds no pointers. */
typedef struct formula {
    int count, name_count, root;
    bool tidy;
    formula_node node[FORMULA_NODES_MAX];
    char name[FORMULA_NAMES_MAX][FORMULA_NAME_MAX];
    char wrong[96]; /* why parsing or evaluation failed */
} formula;

/* Names that stand for a text: "$T" for "b s". `find` gives the text, NULL for an unknown name. */
typedef struct formula_macros {
    const char *(*find)(const char *name, void *context);
    void *context;
} formula_macros;

/*
 * Parses `text`. macros NULL: kept as written, but for nested sums and products, which are
 * flattened. Else macros are put in and the result is tidied: numbers of a product are multiplied
 * out and stand first, factors 1 and terms 0 go, equal terms are added up.
 * False: ret_formula->wrong says why.
 */
bool formula_parse(const char *text, const formula_macros *macros, formula *ret_formula);

/* Value of a symbol; false when there is none of that name. */
typedef bool (*formula_lookup)(const char *name, double *ret_value, void *context);

/* False: a symbol without a value (f->wrong names it). */
bool formula_evaluate(formula *f, formula_lookup lookup, void *context, double *ret_value);

typedef enum formula_style {
    FORMULA_PEOPLE,  /* "2 b s h" */
    FORMULA_PROGRAM, /* "2 * b * s * h" */
    FORMULA_NUMBERS, /* values in place of symbols, six digits */
    FORMULA_EXACT,   /* values that read back as they are */
} formula_style;

/* Writes the formula so that it parses again to the same value; false when it was cut. The last
 * two styles need lookup. */
bool formula_print(const formula *f, formula_style style, formula_lookup lookup, void *context,
                   char *buffer, size_t size);

/* `text` as programs read it, every product written out; NULL when it is no formula, as "" is. */
const char *formula_program(const char *text, char *buffer, size_t size);

/* Calls visit for each symbol once, in the order in which they are printed. */
void formula_symbols(const formula *f, void (*visit)(const char *name, void *context),
                     void *context);

#endif
