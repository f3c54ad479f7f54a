/* SPDX-License-Identifier: MIT */
/* The table of fits: looking an operator's entry up (find.c). */
#ifndef LLMPERF_OP_FITS_H
#define LLMPERF_OP_FITS_H

#include "llmperf/calib.h"

/* The entry of a kind that leaves every term out. Static storage. */
const llmperf_calib_entry *ideal_entry(llmperf_op_kind kind);

/*
 * The fits that time one operator: indices into entry[], LLMPERF_CALIB_NO_ENTRY for none. They depend on
 * what the operator is, not on how much of it there is, so that a step finds them once.
 *   own:             of its own kind and regime
 *   prefill, decode: of an extend operator without its own: what it is joined from
 *   gemv:            of the product with one row
 */
typedef struct op_entries {
    uint8_t own, prefill, decode, gemv;
} op_entries;

op_entries entries_of(const llmperf_calib *calib, const llmperf_op *op);

/* The entry for a product with one row, or LLMPERF_CALIB_NO_ENTRY. */
uint8_t gemv_of(const llmperf_calib *calib, const llmperf_op *op);

/* entry[index], or the ideal one of the kind. */
static inline const llmperf_calib_entry *entry_at(const llmperf_calib *calib, uint8_t index,
                                                  llmperf_op_kind kind)
{
    if (calib && index != LLMPERF_CALIB_NO_ENTRY)
        return &calib->entry[index];
    return ideal_entry(kind);
}

#endif
