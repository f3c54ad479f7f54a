/* SPDX-License-Identifier: MIT */
/* What symbols, flags and macros of the tables (rows.h) are in a scope. */
#ifndef LLMPERF_EXPLAIN_SYMBOLS_H
#define LLMPERF_EXPLAIN_SYMBOLS_H

#include "formula.h"
#include "rows.h"

/* The rows behind these: what stands before the layers (behind NULL), each layer kind's, what stands
 * behind the layers, NULL. */
const layer_rows *rows_next(const layer_rows *rows);

/* 0 where the scope has nothing of that kind. */
double place_read(place at, const symbol_scope *scope);

enum { SYMBOLS_MAX = 128 };

/* All symbols, in the order in which they are listed; NULL behind the last. */
const symbol *symbol_at(int index);

/* The row of a name that has a value in the scope, else the first (scope NULL: the first); NULL when
 * there is none. ret_index may be NULL. */
const symbol *symbol_find(const char *name, const symbol_scope *scope, int *ret_index);

double symbol_read(const symbol *s, const symbol_scope *scope);

/* formula_lookup; context is a symbol_scope. */
bool symbol_value(const char *name, double *ret_value, void *scope);

/* Format behind a symbol of weights ("w", "w_e" ...), and the bytes of one. */
llmperf_dtype symbol_format(const symbol *s, const symbol_scope *scope, double *ret_bytes);

/* Do all of the flags hold ("W !held")? NULL = yes. */
bool scope_holds(const symbol_scope *scope, const char *flags);

/* The first alternative of `text` whose flags hold, up to " | " or the end; NULL when there is none. */
const char *scope_choose(const symbol_scope *scope, const char *text);

/* `text` with the macros of the scope, and before them `own` (NULL = none, else ends with NULL), put
 * in, as it is printed; "" for zero and for no formula. buffer holds FORMULA_TEXT_MAX. */
void scope_expand(const symbol_scope *scope, const macro *own, const char *text, char *buffer);

#endif
