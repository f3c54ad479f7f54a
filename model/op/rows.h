/* SPDX-License-Identifier: MIT */
/*
 * What the tables of formulas are made of. A layer kind says its symbols, its operators' formulas and
 * its weights in one layer_rows. Formulas are texts in the grammar of formula.h, with two additions:
 *   alternatives  "tied ? V h | narrow !tied ? V e | 0": the first counts whose flags all hold ("!": do
 *                 not hold); none: there is no such formula
 *   macros        "$N" stands for the text of that name, or for the number of a flag
 * docs/model.md derives the formulas.
 */
#ifndef LLMPERF_OP_ROWS_H
#define LLMPERF_OP_ROWS_H

#include <stddef.h>

#include "llmperf/explain.h"
#include "config_object.h"

/* What the model counts as a whole, on one device. */
typedef struct whole_counts {
    llmperf_params params;
    double weight_bytes, kv_bytes_per_token, kv_bytes_per_token_long, index_bytes_per_token,
        state_bytes, layers;
} whole_counts;

/* Where symbols get their values: one layer shape in one phase of a config. */
typedef struct symbol_scope {
    const llmperf_config *c;
    const llmperf_layer *layer; /* one of c->model->layers */
    bool decode;
    bool outside; /* the layers: embedding, last norm, head */
    /* of `explain`; else NULL */
    const llmperf_workload *asked;
    const llmperf_prediction *prediction;
    const whole_counts *counts;
    const llmperf_op *op;
    const llmperf_time *time;
    const llmperf_calib_entry *fit;
    bool held;     /* the cache of whole sequences, not of a token */
    bool high_end; /* of an interval */
} symbol_scope;

/* q and T: new tokens of a sequence, and of all. */
static inline double scope_new_tokens(const symbol_scope *s)
{
    const llmperf_workload *w = &s->c->workload;
    return (double)(s->decode ? w->query : w->prompt - w->cached);
}

static inline double scope_tokens(const symbol_scope *s)
{
    return (double)s->c->workload.batch * scope_new_tokens(s);
}

/* ---- places of numbers ----------------------------------------------------------------------- */

typedef enum place_of {
    OF_NOTHING,
    OF_LAYER,
    OF_MODEL,
    OF_CONFIG,
    OF_HARDWARE,
    OF_PREDICTION,
    OF_COUNTS,
    OF_OP,
    OF_TIME,
    OF_FIT,
} place_of;

typedef enum place_type { AS_BOOL, AS_BYTE, AS_INT, AS_COUNT, AS_DOUBLE } place_type;

typedef struct place {
    uint8_t of, type; /* place_of, place_type */
    uint32_t offset;
} place;

#define PLACE(of, type, member)                                                                    \
    {                                                                                              \
        of,                                                                                        \
            _Generic(((type *)0)->member, bool                                                     \
                     : AS_BOOL, uint8_t                                                            \
                     : AS_BYTE, int                                                                \
                     : AS_INT, int64_t                                                             \
                     : AS_COUNT, double                                                            \
                     : AS_DOUBLE),                                                                 \
            offsetof(type, member)                                                                 \
    }
#define IN_LAYER(member) PLACE(OF_LAYER, llmperf_layer, member)
#define IN_MODEL(member) PLACE(OF_MODEL, llmperf_model, member)
#define IN_CONFIG(member) PLACE(OF_CONFIG, llmperf_config, member)
#define IN_WORKLOAD(member) PLACE(OF_CONFIG, llmperf_config, workload.member)
#define IN_HARDWARE(member) PLACE(OF_HARDWARE, llmperf_hw, member)
#define IN_PREDICTION(member) PLACE(OF_PREDICTION, llmperf_prediction, member)
#define IN_COUNTS(member) PLACE(OF_COUNTS, whole_counts, member)
#define IN_OP(member) PLACE(OF_OP, llmperf_op, member)
#define IN_TIME(member) PLACE(OF_TIME, llmperf_time, member)
#define IN_FIT(which) PLACE(OF_FIT, llmperf_calib_entry, param[LLMPERF_PARAM_##which])
#define NOWHERE                                                                                    \
    {                                                                                              \
        OF_NOTHING, 0, 0                                                                           \
    }

/* ---- symbols, flags, macros ------------------------------------------------------------------ */

/* Where a symbol's value comes from, and so what `source` is. */
typedef enum symbol_origin {
    SYMBOL_MODEL,
    SYMBOL_OPTION,   /* source: the option, without dashes */
    SYMBOL_FORMAT,   /* bytes of an element; source: the option, NULL = none */
    SYMBOL_COMPUTED, /* source: in words */
    SYMBOL_FIELD,    /* source: the field to explain */
    SYMBOL_HARDWARE,
    SYMBOL_FIT, /* of the calibration */
    SYMBOL_CONSTANT,
} symbol_origin;

/* Of several rows with one name that which has a value counts: a layer has one kind of heads. */
typedef struct symbol {
    const char *name, *meaning;
    uint8_t unit, origin; /* llmperf_unit, symbol_origin */
    place at;
    const char *source;
    double (*value)(const symbol_scope *scope); /* where it is in no place */
    uint8_t detail;                             /* llmperf_weight_class or llmperf_hw_field */
    bool assumed;                               /* nobody said so: a stand-in */
} symbol;

#define GIVEN(name, meaning, unit, origin, place, source)                                          \
    {                                                                                              \
        name, meaning, LLMPERF_UNIT_##unit, SYMBOL_##origin, place, source, NULL, 0, false         \
    }

/* A fact that formulas depend on: the number in its place; with `is`, whether it is that. Symbols are
 * flags too: they hold where they are not 0. */
typedef struct flag {
    const char *name;
    place at;
    int is;
    bool (*holds)(const symbol_scope *scope); /* where it is in no place */
} flag;

typedef struct macro {
    const char *name, *text;
} macro;

/* ---- operators and sums ---------------------------------------------------------------------- */

enum { BEHIND_MAX = 4 };

/*
 * What one operator computes and moves on one device. The first row counts whose flags hold and that
 * stands behind one of the operators that it names.
 *   gemm: m, n, k and the bytes of a weight; `times` matrices side by side (heads of an absorbed
 *         product). `rows`: m is per expert, `rows` tokens in all touch X matrices. The rest
 *         follows.
 *   else: each quantity. FLOP per byte is written out where it is simpler than the quotient.
 */
typedef struct op_row {
    uint8_t id;                 /* llmperf_op_id */
    uint8_t behind[BEHIND_MAX]; /* llmperf_op_id; none = wherever */
    const char *when, *label;   /* NULL = the operator's name */
    const char *m, *n, *k, *w, *times, *rows;
    const char *flop, *weight, *input, *output, *kv_read, *kv_write, *link;
    const char *intensity;
} op_row;

typedef enum sum_kind {
    SUM_NONE,
    SUM_WEIGHTS = 1,
    SUM_KV = 2,
    SUM_INDEX = 4,
    SUM_STATE = 8,
    SUM_LAYERS = 16,
    SUM_IDLE = 32, /* experts */
} sum_kind;

typedef enum term_where { IN_LAYERS, IN_FRONT, IN_BACK } term_where;

/* A term of a sum over the model. Weights of one name and layer shape are one term: `text` counts them
 * in one layer, `each` is the bytes of one. */
typedef struct term_row {
    uint8_t sum, where; /* sum_kind, term_where */
    const char *name, *text, *each;
} term_row;

/* All that one layer kind has to say; each list ends with a row of zeros. */
typedef struct layer_rows {
    const char *present; /* flag of a layer that has the kind; NULL = every layer */
    const symbol *symbols;
    const flag *flags;
    const macro *macros;
    const op_row *ops;
    const term_row *terms;
} layer_rows;

/* clang-format off */
#define FACT(name, meaning, member) GIVEN(name, meaning, COUNT, MODEL, IN_LAYER(member), NULL)
#define VALUE(name, meaning, unit, origin, source, function)                                       \
    {name, meaning, LLMPERF_UNIT_##unit, SYMBOL_##origin, NOWHERE, source, function, 0, false}
#define FLAG(name, place) {name, place, 0, NULL}
#define TESTED(name, function) {name, NOWHERE, 0, function}
#define TEST(function, condition) static bool function(const symbol_scope *s) { return condition; }
#define MOVES(op, flops, weights, reads, writes, per_byte)                                          \
    .id = LLMPERF_OP_##op, .flop = flops, .weight = weights, .input = reads, .output = writes,     \
    .intensity = per_byte
#define CACHED(op, flops, weights, reads, writes, cache_reads, cache_writes, per_byte)             \
    MOVES(op, flops, weights, reads, writes, per_byte), .kv_read = cache_reads,                    \
    .kv_write = cache_writes
#define NORM_ROW(width)                                                                            \
    .flop = "$norm_flop $T " width, .weight = "$norm_weights " width " $w_n",                      \
    .input = "$T " width " a", .output = "$T " width " a",                                         \
    .intensity = "$norm_flop / ($norm_weights $w_n / ($T) + 2 a)"
#define ACT_ROW(width, flop_per_value, values)                                                     \
    .flop = flop_per_value " " width, .input = values " " width " a", .output = width " a",        \
    .intensity = flop_per_value " / ((" values " + 1) a)"
/* clang-format on */

#endif
