/* SPDX-License-Identifier: MIT */
/*
 * Formulas as text, and the formulas of the operators.
 *
 * Grammar: numbers, symbols, + - * / ^, parentheses, min max ceil floor sqrt. A blank between two
 * factors is a product too, as on paper: "2 b s h"; a function's name touches its parenthesis.
 * Products and quotients bind equally, from the left: a / b c is (a / b) c.
 */
#ifndef LLMPERF_MODEL_FORMULA_H
#define LLMPERF_MODEL_FORMULA_H

#include "llmperf/predict.h"

enum {
    FORMULA_NODES_MAX = 384,
    FORMULA_NAME_MAX = 24,
    FORMULA_TEXT_MAX = 512,
};

/* A name that stands for a text: "$T" for "b s". The last one of a table has a NULL name. */
typedef struct formula_macro {
    const char *name, *text;
} formula_macro;

typedef struct formula_node {
    uint8_t kind, call;
    bool turned;         /* subtracted in its sum, divided by in its product */
    int16_t first, next; /* children and siblings; -1 = none */
    double number;
    char name[FORMULA_NAME_MAX];
} formula_node;

/* A parsed formula; holds no pointers. */
typedef struct formula {
    int count, root;
    bool tidy;
    formula_node node[FORMULA_NODES_MAX];
    char wrong[96]; /* why parsing or evaluation failed */
} formula;

/*
 * Parses `text`. macros NULL: kept as written, but for nested sums and products, which are
 * flattened. Else macros are put in and the result is tidied: numbers of a product are multiplied
 * out and stand first, factors 1 and terms 0 go, equal terms are added up.
 * False: ret_formula->wrong says why.
 */
bool formula_parse(const char *text, const formula_macro *macros, formula *ret_formula);

/* Value of a symbol; false when there is none of that name. */
typedef bool (*formula_lookup)(const char *name, double *ret_value, void *context);

/* False: a symbol without a value (ret_formula->wrong names it). */
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

/* Calls visit for each symbol once, in the order in which they are printed. */
void formula_symbols(const formula *f, void (*visit)(const char *name, void *context),
                     void *context);

/* ---- the formulas of the operators (symbolic.c) ---------------------------------------------- */

typedef enum op_quantity {
    OP_REPEAT,
    OP_M,
    OP_N,
    OP_K,
    OP_FLOP,
    OP_WEIGHT_BYTES,
    OP_INPUT_BYTES,
    OP_OUTPUT_BYTES,
    OP_KV_READ_BYTES,
    OP_KV_WRITE_BYTES,
    OP_BYTES,
    OP_LINK_BYTES,
    OP_INTENSITY,
    OP_QUANTITY_COUNT
} op_quantity;

/* "flop", "weight_bytes" ... as in the JSON contract. */
const char *op_quantity_name(op_quantity quantity);
/* The engine's value of a quantity. */
double op_quantity_of(const llmperf_op *op, op_quantity quantity);

/* Where symbols get their values: one layer shape in one phase of a case. */
typedef struct symbol_scope {
    const llmperf_config *c;
    const llmperf_layer *layer; /* one of c->model->layers */
    bool decode;
    bool outside; /* the layers: embedding, last norm, head */
} symbol_scope;

/* The formulas of one operator, in symbols; "" where a quantity is zero or has no sense. */
typedef struct op_formulas {
    uint8_t id;        /* llmperf_op_id */
    const char *label; /* its name, or what tells it from its namesakes; static storage */
    int layer;         /* the layer shape that was asked */
    bool outside;      /* it runs once, in front of or behind the layers */
    llmperf_op op;     /* what the engine emits */
    char text[OP_QUANTITY_COUNT][FORMULA_TEXT_MAX];
} op_formulas;

enum { OP_FORMULAS_MAX = LLMPERF_OPS_PER_LAYER_KIND + 16 };

/*
 * The operators of one step that has only layers of shape `layer`: prefill of all prompts in one
 * step, or decode. ret_rows holds OP_FORMULAS_MAX. Returns their number, in the engine's order;
 * -1 when memory runs out.
 */
int symbolic_ops(const llmperf_config *c, bool decode, int layer, op_formulas *ret_rows);

/* formula_lookup of the base symbols; context is a symbol_scope. */
bool symbol_value(const char *name, double *ret_value, void *scope);

/* `text` with the macros of the scope put in ($N: heads on a device, $T: tokens of the step ...;
 * see symbolic.c), as it is printed; "" for zero. buffer holds FORMULA_TEXT_MAX. */
void symbolic_expand(const char *text, const symbol_scope *scope, char *buffer);

/* Format behind a symbol of weights ("w", "w_e" ...), and the bytes of one. */
llmperf_dtype symbol_format(const char *name, const symbol_scope *scope, double *ret_bytes);

/* What kind of thing a symbol stands for, and where its value comes from. */
typedef enum symbol_origin {
    SYMBOL_MODEL,
    SYMBOL_WORKLOAD,
    SYMBOL_FORMAT,  /* bytes of an element */
    SYMBOL_DERIVED, /* L = p + q */
} symbol_origin;

typedef struct symbol_info {
    const char *name, *meaning;
    symbol_origin origin;
    const char *option; /* of the command line, without dashes; NULL = none */
    double (*value)(const symbol_scope *scope);
} symbol_info;

/* The base symbols; the last has a NULL name. */
extern const symbol_info SYMBOLS[];
const symbol_info *symbol_find(const char *name);

/* Consequences at 16 bit, as formulas in the same symbols. */
typedef struct symbolic_consequence {
    const char *key, *formula, *text;
} symbolic_consequence;
extern const symbolic_consequence CONSEQUENCES[]; /* the last has a NULL key */

#endif
