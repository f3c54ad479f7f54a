/* SPDX-License-Identifier: MIT */
/*
 * The caller's room for a step. It remembers which fits time the operator at each position, as steps of
 * one model differ in how much there is to do and hardly ever in what.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workspace.h"

llmperf_status llmperf_workspace_new(const llmperf_config *c, int segments,
                                     llmperf_workspace **ret_workspace, llmperf_error *error)
{
    const int most = 1 << 16;
    if (!ret_workspace || segments < 1 || segments > most)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "a workspace for %d segments; 1 to %d are allowed", segments, most);
    size_t capacity = (size_t)llmperf_emit_capacity(c, segments);
    llmperf_workspace *w = calloc(1, sizeof *w);
    if (w) {
        w->capacity = (int)capacity;
        w->ops = calloc(capacity, sizeof *w->ops);
        w->times = calloc(capacity, sizeof *w->times);
        w->found = calloc(capacity, sizeof *w->found);
    }
    if (!w || !w->ops || !w->times || !w->found) {
        llmperf_workspace_free(w);
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    *ret_workspace = w;
    return LLMPERF_OK;
}

void llmperf_workspace_free(llmperf_workspace *workspace)
{
    if (!workspace)
        return;
    free(workspace->ops);
    free(workspace->times);
    free(workspace->found);
    free(workspace);
}

const llmperf_op *llmperf_workspace_ops(const llmperf_workspace *workspace, int *ret_count)
{
    *ret_count = workspace->count;
    return workspace->ops;
}

const llmperf_time *llmperf_workspace_times(const llmperf_workspace *workspace)
{
    return workspace->times;
}

/* Stored elements x bits = `amount` of them; the bits of an operator without any are 0. */
static void stored_amounts(const llmperf_op *op, double *ret_bits, double *ret_elements)
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
static bool same_bits(double bits, double amount, double elements)
{
    return fabs(amount - bits * elements) <= 1e-9 * amount;
}

static bool is_alike(const found_entries *f, const llmperf_op *op, double amount, double elements)
{
    return f->valid && f->kind == op->kind && f->id == op->id && f->regime == op->regime &&
           f->dtype == op->dtype && f->stored == op->stored && f->collective == op->collective &&
           f->single == (op->m <= 1) && f->devices == op->devices && f->heads == op->heads &&
           f->kv_heads == op->kv_heads && f->head_dim == op->head_dim &&
           f->value_dim == op->value_dim && same_bits(f->bits, amount, elements);
}

static void forget_other_calibration(llmperf_workspace *w, const llmperf_calib *calib)
{
    if (w->keys == calib->keys)
        return;
    w->keys = calib->keys;
    for (int i = 0; i < w->capacity; i++)
        w->found[i].valid = false;
}

const op_entries *entries_at(llmperf_workspace *w, const llmperf_calib *calib, int at)
{
    const llmperf_op *op = &w->ops[at];
    found_entries *f = &w->found[at];
    double amount, elements;
    forget_other_calibration(w, calib);
    stored_amounts(op, &amount, &elements);
    if (!is_alike(f, op, amount, elements))
        *f = (found_entries){
            .valid = true,
            .kind = op->kind,
            .id = op->id,
            .regime = op->regime,
            .dtype = op->dtype,
            .stored = op->stored,
            .collective = op->collective,
            .single = op->m <= 1,
            .devices = op->devices,
            .heads = op->heads,
            .kv_heads = op->kv_heads,
            .head_dim = op->head_dim,
            .value_dim = op->value_dim,
            .bits = elements > 0 ? amount / elements : 0,
            .entries = entries_of(calib, op),
        };
    return &f->entries;
}
