/* SPDX-License-Identifier: MIT */
/* The table of fits: looking an operator's entry up (find.c). */
#ifndef LLMPERF_OP_FITS_H
#define LLMPERF_OP_FITS_H

#include "llmperf/calib.h"
#include "calib_object.h"

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

/* A calibration without entries: every operator is ideal. */
void calib_init(llmperf_calib *ret_calib);

/* The ideal entry: e = 1, t0 = 0, p = infinity (collectives: p = 1). */
llmperf_calib_entry calib_ideal(llmperf_op_kind kind);

/* Adds or replaces the entry of a key. Errors: LLMPERF_E_SPEC when a parameter leaves physics,
 * LLMPERF_E_UNSUPPORTED when the table is full. */
llmperf_status calib_set(llmperf_calib *calib, llmperf_op_kind kind, llmperf_regime regime,
                         llmperf_dtype dtype, const llmperf_calib_entry *entry,
                         llmperf_error *error);

/* Adds or replaces the entry of entry->key, which may be a variant. Errors as above, and
 * LLMPERF_E_SPEC for a key that means nothing (a GEMM with devices). */
llmperf_status calib_add(llmperf_calib *calib, const llmperf_calib_entry *entry,
                         llmperf_error *error);

/* The entry that times an operator, or LLMPERF_CALIB_NO_ENTRY: the variant that matches it, else
 * index[], else that of a like dtype (fp16 for bf16 ..., docs/calibration.md). Collectives: that of
 * the same kind and nearest number of devices. */
uint8_t calib_find(const llmperf_calib *calib, const llmperf_op *op, llmperf_regime regime);

/* True when two keys name the same entry. */
bool calib_same_key(const llmperf_calib_key *a, const llmperf_calib_key *b);

llmperf_head_group head_group_of(const llmperf_op *op);

llmperf_head_size head_size_of(const llmperf_op *op);

#endif
