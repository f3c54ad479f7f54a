/* SPDX-License-Identifier: MIT */
/*
 * The caller's room for a step. It remembers which fits time the operator at each position, as steps of
 * one model differ in how much there is to do and hardly ever in what.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workspace.h"
#include "config_object.h"

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
    if (ret_count)
        *ret_count = workspace ? workspace->count : 0;
    return workspace ? workspace->ops : NULL;
}

const llmperf_time *llmperf_workspace_times(const llmperf_workspace *workspace)
{
    return workspace ? workspace->times : NULL;
}

_Static_assert(offsetof(llmperf_op, devices) == sizeof(uint64_t),
               "an operator begins with its enums");
_Static_assert(offsetof(llmperf_op, value_dim) == offsetof(llmperf_op, heads) + 3 * sizeof(double),
               "heads, kv_heads, head_dim, value_dim");

const op_entries *entries_found(llmperf_workspace *w, const llmperf_calib *calib, int at)
{
    const llmperf_op *op = &w->ops[at];
    found_entries *f = &w->found[at];
    double amount, elements;
    stored_amounts(op, &amount, &elements);
    *f = (found_entries){
        .valid = true,
        .single = op->m <= 1,
        .entries = entries_of(calib, op),
        .devices = op->devices,
        .bits = elements > 0 ? amount / elements : 0,
    };
    memcpy(&f->facts, op, sizeof f->facts);
    memcpy(f->attention, &op->heads, sizeof f->attention);
    return &f->entries;
}
