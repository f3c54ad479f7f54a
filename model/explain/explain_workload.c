/* SPDX-License-Identifier: MIT */
/* Explains options: what was asked, or the default. */
#include "explain.h"

#include <math.h>

static void explain_batch(explainer *e)
{
    explain_fact(e, "b");
}

static void explain_prompt(explainer *e)
{
    explain_fact(e, "s");
}

static void explain_generate(explainer *e)
{
    explain_fact(e, "g");
}

static void explain_cached(explainer *e)
{
    explain_fact(e, "cached");
}

static void explain_chunk(explainer *e)
{
    explain_fact(e, "chunk");
}

static void explain_query(explainer *e)
{
    explain_fact(e, "q");
}

static void explain_skew(explainer *e)
{
    explain_fact(e, "skew");
}

static void explain_tp(explainer *e)
{
    explain_fact(e, "tp");
}

static void explain_block(explainer *e)
{
    explain_fact(e, "block");
}

static void explain_utilization(explainer *e)
{
    explain_fact(e, "utilization");
}

static void explain_reserve(explainer *e)
{
    explain_fact(e, "reserve");
}

static void explain_confidence(explainer *e)
{
    explain_fact(e, "confidence");
}

static void explain_context(explainer *e)
{
    if (explain_is_given(e->asked, "context") || !e->asked)
        explain_fact(e, "context");
    else
        explain_result(e, "s + floor(g / 2)", (double)e->c->workload.context);
}

static void target(explainer *e, const char *symbol, double value, const char *why)
{
    if (value > 0)
        explain_fact(e, symbol);
    else
        explain_none(e, why);
}

static void explain_tpot_target(explainer *e)
{
    target(e, "tpot_target", e->c->workload.tpot_s, "no --tpot was given");
}

static void explain_ttft_target(explainer *e)
{
    target(e, "ttft_target", e->c->workload.ttft_s, "no --ttft was given");
}

void explain_name_price(explainer *e)
{
    double given = e->c->workload.price_usd_per_h;
    if (given > 0 || !e->c->hw) {
        explain_from_option(
            e, "price",
            explain_name_value(e, "price", given, LLMPERF_UNIT_USD_PER_H, "price of one device"));
        return;
    }
    explain_name_hardware(e, "price", e->c->hw->price_usd_per_h, LLMPERF_UNIT_USD_PER_H,
                          "price of one device", LLMPERF_HW_PRICE);
}

static void explain_price(explainer *e)
{
    explain_name_price(e);
    target(e, "price", e->c->workload.price_usd_per_h, "no --price was given");
}

static const field_row ROWS[] = {
    WORKLOAD_ROW("batch", "sequences decoded together", SEQUENCES, explain_batch),
    WORKLOAD_ROW("prompt_tokens", "prompt of each sequence", TOKENS, explain_prompt),
    WORKLOAD_ROW("generate_tokens", "new tokens of each sequence", TOKENS, explain_generate),
    WORKLOAD_ROW("cached_tokens", "prompt tokens that a prefix cache holds", TOKENS,
                 explain_cached),
    WORKLOAD_ROW("context_tokens", "tokens cached when a decode step starts", TOKENS,
                 explain_context),
    WORKLOAD_ROW("chunk_tokens", "most prefill tokens in a step", TOKENS, explain_chunk),
    WORKLOAD_ROW("query_tokens", "query tokens of a sequence in a decode step", TOKENS,
                 explain_query),
    WORKLOAD_ROW("moe_skew", "power law of the routing", NONE, explain_skew),
    WORKLOAD_ROW("tp", "tensor-parallel devices", COUNT, explain_tp),
    WORKLOAD_ROW("memory_utilization_frac", "engine's share of usable memory", FRACTION,
                 explain_utilization),
    WORKLOAD_ROW("reserve_bytes", "memory of context and libraries", BYTES, explain_reserve),
    WORKLOAD_ROW("kv_block_tokens", "tokens of a KV cache block", TOKENS, explain_block),
    WORKLOAD_ROW("confidence_frac", "coverage of intervals", FRACTION, explain_confidence),
    WORKLOAD_ROW("tpot_target_s", "target time per output token", S, explain_tpot_target),
    WORKLOAD_ROW("ttft_target_s", "target time to first token", S, explain_ttft_target),
    WORKLOAD_ROW("price_usd_per_h", "price of one device, as given", USD_PER_H, explain_price),
};

const field_group EXPLAIN_WORKLOAD = {ROWS, sizeof ROWS / sizeof *ROWS};
