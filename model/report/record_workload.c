/* SPDX-License-Identifier: MIT */
/* A workload, with every default filled in, as fields. */
#include "llmperf/predict.h"
#include "writers.h"
#include "config_object.h"

void record_put_workload(sink *s, const llmperf_config *c)
{
    const llmperf_workload *w = &c->workload;
    sink_begin_object(s, "workload");
    sink_integer(s, "batch", w->batch);
    sink_integer(s, "prompt_tokens", w->prompt);
    sink_integer(s, "generate_tokens", w->generate);
    sink_integer(s, "cached_tokens", w->cached);
    sink_integer(s, "context_tokens", w->context);
    sink_integer(s, "chunk_tokens", w->chunk);
    sink_integer(s, "query_tokens", w->query);
    sink_text(s, "weight_dtype", llmperf_dtype_name(w->weight_dtype));
    sink_text(s, "act_dtype", llmperf_dtype_name(w->act_dtype));
    sink_text(s, "kv_dtype", llmperf_dtype_name(w->kv_dtype));
    sink_text(s, "compute_dtype",
              llmperf_dtype_name((llmperf_dtype)llmperf_config_compute_dtype(c)));
    sink_text(s, "attention", w->unfused ? "unfused" : "fused");
    sink_text(s, "logits", w->logits_all ? "all" : "last");
    sink_number(s, "moe_skew", w->moe_skew);
    sink_integer(s, "tp", w->tp);
    sink_number(s, "memory_utilization_frac", w->memory_utilization);
    sink_number(s, "reserve_bytes", w->reserve_bytes);
    sink_integer(s, "kv_block_tokens", w->kv_block);
    sink_number(s, "confidence_frac", w->confidence);
    sink_positive(s, "tpot_target_s", w->tpot_s);
    sink_positive(s, "ttft_target_s", w->ttft_s);
    sink_positive(s, "price_usd_per_h", w->price_usd_per_h);
    sink_end_object(s);
}
