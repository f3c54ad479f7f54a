/* SPDX-License-Identifier: MIT */
/* The operators of a step in symbols. */
#ifndef LLMPERF_EXPLAIN_SYMBOLIC_H
#define LLMPERF_EXPLAIN_SYMBOLIC_H

#include "symbols.h"
#include "config_object.h"

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
llmperf_unit op_quantity_unit(op_quantity quantity);
/* The engine's value of a quantity. */
double op_quantity_of(const llmperf_op *op, op_quantity quantity);

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

/* The bytes of a GEMM's weight, as a symbol; "w" for what is none. */
const char *symbolic_weight(llmperf_op_id id);

/* Consequences at 16 bit, as formulas in the same symbols. */
typedef struct symbolic_consequence {
    const char *key, *formula, *text;
} symbolic_consequence;
extern const symbolic_consequence CONSEQUENCES[]; /* the last has a NULL key */

#endif
