/* SPDX-License-Identifier: MIT */
/* What the files that explain numbers share. */
#ifndef LLMPERF_EXPLAIN_EXPLAIN_H
#define LLMPERF_EXPLAIN_EXPLAIN_H

#include "symbols.h"
#include "config_object.h"

/* Which number of an estimate {value, low, high}, a crossing {.., exact} or its operator. */
typedef enum part { PART_VALUE, PART_LOW, PART_HIGH, PART_EXACT, PART_N, PART_K } part;

enum { NAMED_MAX = 24 };

/* One explanation while it is made. */
typedef struct explainer {
    const llmperf_config *c;
    llmperf_config whole; /* the same on one device: what counts the model as such */
    whole_counts counts;
    const llmperf_prediction *p;
    llmperf_explanation *x;
    part part;
    symbol_scope scope;
    /* symbols of this explanation alone; they hide the common ones */
    const symbol *own;
    int named_count;
    llmperf_explain_input named[NAMED_MAX];
    llmperf_explain_line spare; /* where a line goes that no memory is left for */
    bool out_of_memory;
} explainer;

/* ---- sources.c: symbols and where their values are from -------------------------------------- */

/* snprintf() into a text of an explanation. */
void explain_print(char *buffer, size_t size, const char *format, ...) LLMPERF_PRINTF(3, 4);

/* Room for one more in a list of `count`; NULL when memory is out, which is noted. */
void *explain_grow(explainer *e, void *list, int count, size_t size);

/* formula_lookup; context is an explainer. */
bool explain_look_up(const char *name, double *ret_value, void *context);

/* What is said of a symbol among the inputs; false when there is none. */
bool explain_describe(const explainer *e, const char *name, llmperf_explain_input *ret_input);

/* Lists a symbol among the inputs, once per value; context is an explainer. */
void explain_list_input(const char *name, void *context);

/* A symbol of this explanation, computed "above" unless its source is set. The pointer is good until
 * the next call. */
llmperf_explain_input *explain_name(explainer *e, const char *name, double value, llmperf_unit unit,
                                    const char *meaning);

/* A number of the hardware file, with its source and confidence. */
llmperf_explain_input *explain_name_hardware(explainer *e, const char *name, double value,
                                             llmperf_unit unit, const char *meaning,
                                             llmperf_hw_field field);

/* P, the datasheet's. */
void explain_name_peak(explainer *e, llmperf_dtype dtype);

/* ---- lines.c: a formula, its numbers, what it gives ------------------------------------------ */

/* Fills a line: alternatives and macros allowed; its symbols become inputs. value NAN: what the
 * formula gives. text NULL: a value without formula. */
void explain_fill_line(explainer *e, llmperf_explain_line *line, const char *name, const char *text,
                       llmperf_unit unit, double value);

/* The result: its formula (NULL = none) and value. */
void explain_result(explainer *e, const char *text, double value);

/* A value that is found by search or by a sum. */
void explain_rule(explainer *e, double value, const char *rule);

/* A formula, or "RULE words". */
void explain_say(explainer *e, const char *says, double value);

/* There is no such number, and why. */
void explain_none(explainer *e, const char *why);

/* A number on the way to the result. value NAN: what the formula gives. Returns the value. */
double explain_add_step(explainer *e, const char *name, const char *text, llmperf_unit unit,
                        double value);

/* A step whose value the result's formula uses by its name. */
void explain_add_named_step(explainer *e, const char *name, const char *meaning, const char *text,
                            llmperf_unit unit);

/* A term of a sum; NULL when memory is out. */
llmperf_explain_line *explain_add_term(explainer *e, const char *name, const char *text,
                                       llmperf_unit unit, double value);

/* The result is the sum of the terms; a single one is the result itself. */
void explain_close_sum(explainer *e, const char *says, double value);

/* ---- sums.c: sums over the model and over the operators of a step ---------------------------- */

typedef struct field_row field_row;

/* A field that is a sum over the model's parts, row->detail says which. */
void explain_model_sum(explainer *e, const field_row *row, double value);
/* Steps of the weights that a token does not pass. */
double explain_idle_weights(explainer *e);

typedef enum summand { SUM_TIME, SUM_FLOP, SUM_BYTES } summand;

/* batch 0: of a decode step, else of the prefill of as many prompts */
void explain_op_sum(explainer *e, int64_t batch, summand what, const char *says, double value);

/* ---- crossing.c: compute-bound batches ------------------------------------------------------- */

void explain_step_crossing(explainer *e, const field_row *row, double value);

/* One dense operator: the closed form in its own m, n, k. */
void explain_op_crossing(explainer *e, const llmperf_op_crossing *one, bool calibrated);

/* False, and said, where a calibrated one is asked without a calibration. */
bool explain_has_crossings(explainer *e, bool calibrated);

/* ---- operators.c ----------------------------------------------------------------------------- */

/* `which`: of the different launches under one name, from 1. */
llmperf_status explain_operator(explainer *e, llmperf_op_id id, int which, llmperf_error *error);

/* The names of all operators, with commas; fills and returns buffer. */
char *explain_operators(char *buffer, size_t size);

/* ---- fields.c: the table of what can be explained -------------------------------------------- */

typedef enum field_kind {
    FIELD_PLAIN,
    FIELD_TIME, /* an estimate whose value is the least */
    FIELD_RATE, /* an estimate whose value is the most */
    FIELD_CROSSING,
} field_kind;

/*
 * One number. `says` holds alternatives as formulas do (rows.h): a formula, "RULE words" where there is
 * no closed form, "NONE words" where there is no such number; " ; " and a note may follow.
 */
struct field_row {
    const char *path, *meaning;
    uint8_t unit, kind; /* llmperf_unit, field_kind */
    place at;           /* NOWHERE: the value is what the formula gives */
    const char *says;
    void (*explain)(explainer *e, const field_row *row, double value);
    const char *list;  /* symbols among the inputs that a rule names */
    const char *when;  /* layer shapes that count; the first of them where the number is of one */
    const symbol *own; /* symbols of this row alone */
    uint8_t detail;    /* sum_kind of a sum over the model; llmperf_spread_class of an estimate */
};

extern const field_row NUMBERS[];
extern const int NUMBER_COUNT;

/* Can it be explained without hardware? */
bool field_needs_hw(const field_row *row);

void explain_field(explainer *e, const field_row *row);

#endif
