/* SPDX-License-Identifier: MIT */
/* Quantities as a datasheet prints them: a number and a unit. */
#ifndef LLMPERF_MODEL_QUANTITY_H
#define LLMPERF_MODEL_QUANTITY_H

#include "doc.h"

typedef enum quantity_kind {
    QUANTITY_FLOP_PER_S,  /* TFLOP/s, TFLOPS, TOP/s, TOPS; k M G T P E */
    QUANTITY_BYTES_PER_S, /* GB/s, TB/s, GiB/s; Gb/s is bits */
    QUANTITY_BYTES,       /* B kB MB GB TB KiB MiB GiB TiB; Gb is bits */
    QUANTITY_HZ,
    QUANTITY_S, /* s ms us ns */
    QUANTITY_W,
    QUANTITY_USD_PER_H, /* "2.5 USD/h" */
} quantity_kind;

/*
 * Reads "3.35 TB/s" into SI base units. ret_bits (may be NULL) says that the unit was bits.
 * Returns NULL, or what is wrong with the text (static storage): no number, no unit, another
 * unit ("a unit such as GB/s"), not finite.
 */
const char *quantity_parse(const char *text, quantity_kind kind, double *ret_value, bool *ret_bits);

/* A unit of the kind, for messages: "80 GB". */
const char *quantity_example(quantity_kind kind);

/* The scalar of a document, which must be a positive quantity; adds a fault otherwise. */
llmperf_status doc_quantity(const doc *document, const doc_node *node, quantity_kind kind,
                            double *ret_value, bool *ret_bits, llmperf_error *error);

#endif
