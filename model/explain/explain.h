/* SPDX-License-Identifier: MIT */
/* What the files that explain numbers share. */
#ifndef LLMPERF_MODEL_EXPLAIN_H
#define LLMPERF_MODEL_EXPLAIN_H

#include "llmperf/explain.h"

#include "formula.h"
#include "config.h"
#include "crossing.h"
#include "emit.h"
#include "host.h"

/* Which number of an estimate {value, low, high} or a crossing {.., exact}. */
typedef enum part { PART_VALUE, PART_LOW, PART_HIGH, PART_EXACT, PART_N, PART_K } part;

enum { NAMED_MAX = 40 };

typedef struct explainer {
    const llmperf_config *c;
    llmperf_config whole; /* the same on one device: what counts the model as such */
    const llmperf_prediction *p;
    const llmperf_workload *asked;
    llmperf_explanation *x;
    part part;
    symbol_scope scope;
    /* symbols of this explanation alone; they hide the common ones */
    int named_count;
    llmperf_explain_input named[NAMED_MAX];
    bool out_of_memory;
} explainer;

typedef struct field_row {
    const char *path, *meaning;
    uint8_t unit;
    uint8_t kind; /* field_kind */
    bool needs_hw;
    void (*explain)(explainer *e);
} field_row;

typedef enum field_kind {
    FIELD_PLAIN,
    FIELD_TIME, /* an estimate whose value is the least */
    FIELD_RATE, /* an estimate whose value is the most */
    FIELD_CROSSING,
} field_kind;

/* ---- rows: one a number ------------------------------------------------------------------------ */

#define MODEL_ROW(name, text, unit, function)                                                      \
    {                                                                                              \
        "model." name, text, LLMPERF_UNIT_##unit, FIELD_PLAIN, false, function                     \
    }
#define WORKLOAD_ROW(name, text, unit, function)                                                   \
    {                                                                                              \
        "workload." name, text, LLMPERF_UNIT_##unit, FIELD_PLAIN, false, function                  \
    }
#define ROW(name, text, unit, function)                                                            \
    {                                                                                              \
        name, text, LLMPERF_UNIT_##unit, FIELD_PLAIN, true, function                               \
    }
#define TIME_ROW(name, text, function)                                                             \
    {                                                                                              \
        name, text, LLMPERF_UNIT_S, FIELD_TIME, true, function                                     \
    }
#define RATE_ROW(name, text, function)                                                             \
    {                                                                                              \
        name, text, LLMPERF_UNIT_TOKENS_PER_S, FIELD_RATE, true, function                          \
    }
#define CROSSING_ROW(name, text, function)                                                         \
    {                                                                                              \
        "compute_bound_batch." name, text, LLMPERF_UNIT_SEQUENCES, FIELD_CROSSING, true, function  \
    }

/* The rows of one file. */
typedef struct field_group {
    const field_row *row;
    int count;
} field_group;

extern const field_group EXPLAIN_MODEL, EXPLAIN_WORKLOAD, EXPLAIN_MEMORY, EXPLAIN_TIME,
    EXPLAIN_CROSSING, EXPLAIN_BATCHING;

/* ---- symbols (explain_symbols.c) ------------------------------------------------------------ */

/* True when the user gave the option, by its long name. */
bool explain_is_given(const llmperf_workload *w, const char *option);

/* snprintf() into a text of an explanation. */
void explain_print(char *buffer, size_t size, const char *format, ...) LLMPERF_PRINTF(3, 4);

/* Where an input comes from: --option, or its default. */
void explain_from_option(const explainer *e, const char *option, llmperf_explain_input *input);

/* Fills in value, meaning and source of a symbol that every explanation has. */
void explain_describe_symbol(const explainer *e, const symbol_info *info,
                             llmperf_explain_input *input);

/* A symbol of this explanation alone; NULL = none. */
const llmperf_explain_input *explain_find_named(const explainer *e, const char *name);

/* For formula_evaluate(): context = explainer. */
bool explain_look_up(const char *name, double *ret_value, void *context);

/* Lists a symbol among the inputs, once per value. */
void explain_list_input(const char *name, void *context);

/* A symbol of this explanation. The pointer is good until the next call. */
llmperf_explain_input *explain_name_value(explainer *e, const char *symbol, double value,
                                          llmperf_unit unit, const char *meaning);

/* A value that is a field of its own. */
void explain_name_field(explainer *e, const char *symbol, double value, llmperf_unit unit,
                        const char *meaning, const char *field);

/* A constant of the model of time, and where it is from. */
void explain_name_constant(explainer *e, const char *symbol, double value, const char *meaning,
                           const char *source);

/* A number of the hardware file, with its source and confidence. */
void explain_name_hardware(explainer *e, const char *symbol, double value, llmperf_unit unit,
                           const char *meaning, llmperf_hw_field field);

/* BW, P. */
void explain_name_bandwidth(explainer *e);
void explain_name_peak(explainer *e, llmperf_dtype dtype);
bool explain_begins_with(const char *text, const char *start);

/* ---- lines (explain_lines.c) ---------------------------------------------------------------- */

/* Fills a line: formula (macros of symbolic.c allowed), numbers, what it gives; its symbols become
 * inputs. value NAN: what the formula gives. text NULL: a value without formula. */
void explain_fill_line(explainer *e, llmperf_explain_line *line, const char *name, const char *text,
                       llmperf_unit unit, double value);

/* The result: its formula (NULL = none) and value. */
void explain_result(explainer *e, const char *text, double value);

/* A value that is found by search or by a sum. */
void explain_rule(explainer *e, double value, const char *rule);

/* There is no such number, and why. */
void explain_none(explainer *e, const char *why);

/* A number on the way to the result. value NAN: what the formula gives. */
llmperf_explain_line *explain_add_step(explainer *e, const char *name, const char *text,
                                       llmperf_unit unit, double value);

/* A step whose value the result's formula uses by `symbol`. */
void explain_add_named_step(explainer *e, const char *symbol, const char *meaning, const char *text,
                            llmperf_unit unit);

/* A term of a sum; none where the formula is empty for this layer. */
void explain_add_term(explainer *e, const char *name, const char *text, llmperf_unit unit);

/* The result is the sum of the terms; a single one is the result itself. */
void explain_close_sum(explainer *e, double value, const char *rule);

/* Makes a layer shape that of the scope; `name`: `what`, and which shape where there are several. */
void explain_set_layer(explainer *e, int kind, const char *what, char *name, size_t size);

/* ---- the model (explain_model.c) ------------------------------------------------------------ */

/* A term a class of weights and layer shape: weights, or with `bytes` what they take. */
void explain_weight_terms(explainer *e, bool bytes);

/* Cache of one layer shape: its formula per token, NULL = none. */
const char *explain_kv_text(const llmperf_layer *layer);

/* Tokens of a sequence that a layer keeps at most, as a symbol; NULL = all. */
const char *explain_kept_text(const llmperf_layer *layer);

/* Does a layer keep index keys of sparse attention? */
bool explain_keeps_index(const llmperf_layer *layer);

/* As explain_close_sum(), or 0 and why where there are no terms. */
void explain_close_sum_or_zero(explainer *e, double value, const char *rule, const char *why_zero);

/* The recurrent state of all sequences. */
void explain_state(explainer *e);

/* A fact as the file says it; of several layer shapes the first is shown. */
void explain_fact(explainer *e, const char *symbol);

/* The first layer shape with experts; false when there is none, which is then said. */
bool explain_find_experts(explainer *e);

/* ---- options (explain_workload.c) ----------------------------------------------------------- */

/* price, of one device. */
void explain_name_price(explainer *e);

/* ---- compute-bound batch (explain_crossing.c) ----------------------------------------------- */

/* False, and said, where there is no calibration. */
bool explain_calibrated_or_none(explainer *e);

/* One dense operator: the closed form in its own m, n, k. */
void explain_op_crossing(explainer *e, const llmperf_op_crossing *one, bool calibrated);

/* The largest batch that memory holds. */
void explain_memory_limit(explainer *e);

/* ---- operators (explain_op.c) --------------------------------------------------------------- */

/* `which`: of the different launches under one name, from 1. */
llmperf_status explain_operator(explainer *e, llmperf_op_id id, int which, llmperf_error *error);

#endif
