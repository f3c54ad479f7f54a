/* SPDX-License-Identifier: MIT */
/*
 * What attention, MLA and the indexer share: which keys a query sees and an operator that reads them.
 * docs/model.md, "Attention".
 */
#include "emit.h"

/* Query i (0-based) sees min(W, past + i + 1) keys. */
double causal_pairs(double query, double past, double window)
{
    double full = query * past + query * (query + 1) / 2;
    if (window <= 0 || past + query <= window)
        return full;
    if (past + 1 >= window)
        return query * window;
    double growing = window - past; /* queries that still see all before them */
    return growing * past + growing * (growing + 1) / 2 + (query - growing) * window;
}

double keys_read(double query, double past, double window)
{
    double all = past + query;
    double seen = window + query - 1;
    return window > 0 && seen < all ? seen : all;
}

llmperf_regime segment_regime(const llmperf_segment *s)
{
    if (s->query == 1)
        return LLMPERF_REGIME_DECODE;
    return s->past == 0 ? LLMPERF_REGIME_PREFILL : LLMPERF_REGIME_EXTEND;
}

llmperf_op *emit_attention_op(emitter *e, llmperf_op_id id, double repeat, const llmperf_segment *s)
{
    llmperf_op *op = emit_op(e, id, LLMPERF_KIND_ATTENTION, LLMPERF_GROUP_ATTENTION, repeat);
    op->regime = (uint8_t)segment_regime(s);
    op->dtype = e->c->attention_dtype;
    op->sequences = (double)s->sequences;
    op->query_tokens = (double)s->query;
    op->past_tokens = (double)s->past;
    return op;
}
