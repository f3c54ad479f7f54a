/* SPDX-License-Identifier: MIT */
/* Room for one step, and what the rooms above ask of one. */
#ifndef LLMPERF_STEP_WORKSPACE_H
#define LLMPERF_STEP_WORKSPACE_H

#include <math.h>
#include <string.h>

#include "fits.h"
#include "interval.h"
#include "config_object.h"
#include "time_op.h"

/* The fits of an operator, remembered with what they depend on. */
typedef struct found_entries {
    bool valid, single; /* single: a product with one row */
    op_entries entries;
    uint64_t facts; /* the enums that an operator begins with */
    int64_t devices;
    double attention[4]; /* heads, kv_heads, head_dim, value_dim */
    double bits;         /* of a stored element */
} found_entries;

struct llmperf_workspace {
    int capacity; /* operators */
    int count;    /* those of the last step */
    llmperf_op *ops;
    llmperf_time *times;
    llmperf_gradient gradient; /* of the operator at hand */
    found_entries *found;      /* by position in a step */
    uint64_t keys;             /* of the calibration that they were looked up in */
    interval_sum sum;          /* for whoever asks for one interval at a time */
};

/* Before the first entries_at() in a calibration that may be another than the last. */
static inline void entries_begin(llmperf_workspace *w, const llmperf_calib *calib)
{
    if (w->keys == calib->keys)
        return;
    w->keys = calib->keys;
    for (int i = 0; i < w->capacity; i++)
        w->found[i].valid = false;
}

/* Stored elements x bits = `amount` of them; the bits of an operator without any are 0. */
static inline void stored_amounts(const llmperf_op *op, double *ret_bits, double *ret_elements)
{
    *ret_bits = *ret_elements = 0;
    if (op->kind == LLMPERF_KIND_GEMM) {
        *ret_bits = 16 * op->m * op->weight_bytes;
        *ret_elements = op->flop;
    } else if (op->kind == LLMPERF_KIND_ATTENTION) {
        double tokens = op->sequences * op->query_tokens + op->lone_sequences;
        *ret_bits = 8 * op->kv_write_bytes;
        *ret_elements = tokens * op->kv_heads * (op->head_dim + op->value_dim);
    }
}

/* Formats differ by whole steps of bits; the same one comes out alike but for rounding. */
static inline bool same_bits(double bits, double amount, double elements)
{
    return fabs(amount - bits * elements) <= 1e-9 * amount;
}

/* Looks the fits of ops[at] up and remembers them. */
const op_entries *entries_found(llmperf_workspace *w, const llmperf_calib *calib, int at);

/* The fits of ops[at], after entries_begin(): those of the operator that stood there in the last step if
 * it was alike, else looked up. */
static inline const op_entries *entries_at(llmperf_workspace *w, const llmperf_calib *calib, int at)
{
    const llmperf_op *op = &w->ops[at];
    const found_entries *f = &w->found[at];
    uint64_t facts;
    double amount, elements;
    memcpy(&facts, op, sizeof facts);
    stored_amounts(op, &amount, &elements);
    const bool is_alike = f->valid && f->facts == facts && f->single == (op->m <= 1) &&
                          f->devices == op->devices &&
                          memcmp(f->attention, &op->heads, sizeof f->attention) == 0 &&
                          same_bits(f->bits, amount, elements);
    return is_alike ? &f->entries : entries_found(w, calib, at);
}

/* Emits, times and adds `times` equal steps to *total, and to *interval unless that is NULL (the config
 * has a calibration). The operators stay in the workspace. Returns their number; -1, with nothing
 * added, when it has no room for them. */
int step_add(llmperf_workspace *w, const llmperf_config *c, const llmperf_segment *segments,
             int segment_count, double times, llmperf_total *total, interval_sum *interval);

/* The whole prefill of `batch` prompts likewise. Returns the number of steps. */
double prefill_add(llmperf_workspace *w, const llmperf_config *c, int64_t batch,
                   llmperf_total *ret_total, interval_sum *interval);

#endif
