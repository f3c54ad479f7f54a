/* SPDX-License-Identifier: MIT */
/* Explains what batching gains, the largest batch under a target, cost, and what would fit. */
#include "explain.h"

static llmperf_total step_at(explainer *e, int64_t batch, int64_t context)
{
    llmperf_segment segment = llmperf_decode_segment(e->c, batch, context);
    llmperf_workspace *workspace = NULL;
    llmperf_total total = {0};
    if (llmperf_workspace_new(e->c, 1, &workspace, NULL) == LLMPERF_OK)
        llmperf_step(e->c, &segment, 1, workspace, &total);
    else
        e->out_of_memory = true;
    llmperf_workspace_free(workspace);
    return total;
}

static void tpot_step(explainer *e, int64_t batch)
{
    char name[64];
    explain_print(name, sizeof name, "TPOT at batch %lld", (long long)batch);
    explain_add_step(e, name, NULL, LLMPERF_UNIT_S,
                     step_at(e, batch, e->c->workload.context).time_s);
}

static void explain_knee(explainer *e)
{
    int64_t knee = e->p->latency_knee_batch;
    if (!e->p->has_knee) {
        explain_none(e, "TPOT does not rise by 10 % at any batch");
        return;
    }
    explain_rule(
        e, (double)knee,
        "the smallest batch whose TPOT is at least 1.1 times that of batch 1, by bisection");
    tpot_step(e, 1);
    explain_add_step(e, "1.1 times that", NULL, LLMPERF_UNIT_S,
                     1.1 * step_at(e, 1, e->c->workload.context).time_s);
    if (knee > 2)
        tpot_step(e, knee - 1);
    if (knee > 1)
        tpot_step(e, knee);
}

static void explain_experts_read(explainer *e)
{
    if (!explain_find_experts(e))
        return;
    const llmperf_moe *moe = &e->scope.layer->moe;
    double skew = e->c->workload.moe_skew;
    double tokens = (double)e->c->workload.batch * (double)e->c->workload.query;
    double value = llmperf_distinct_experts(moe, tokens, skew);
    if (skew > 0 && moe->active < moe->experts) {
        explain_rule(
            e, value,
            "sum over the experts of 1 - (1 - q_i)^(b q), with q_i = min(1, z i^-skew) the "
            "chance that a token picks expert i, z such that they add up to K");
        explain_list_input("E", e);
        explain_list_input("K", e);
        explain_list_input("b", e);
        explain_list_input("q", e);
        explain_list_input("skew", e);
        return;
    }
    explain_result(e, moe->active >= moe->experts ? "E" : "E (1 - (1 - K / E)^(b q))", value);
    llmperf_note(&e->x->notes, "expected distinct experts that a decode step touches in a layer, "
                               "routing uniform");
}

static void explain_batching_batch(explainer *e)
{
    if (e->c->workload.batch > 1) {
        explain_fact(e, "b");
        return;
    }
    explain_memory_limit(e);
    llmperf_note(&e->x->notes,
                 "at batch 1 nothing is batched yet: what memory would hold is taken");
}

static void attention_step(explainer *e, int64_t batch, int64_t context, const char *step_symbol,
                           const char *attention_symbol)
{
    const llmperf_total total = step_at(e, batch, context);
    char meaning[96];
    explain_print(meaning, sizeof meaning, "decode step at batch %lld, %lld tokens of context",
                  (long long)batch, (long long)context);
    explain_print(explain_name_value(e, step_symbol, total.time_s, LLMPERF_UNIT_S, meaning)->source,
                  LLMPERF_TEXT_MAX, "sum over its operators");
    explain_print(meaning, sizeof meaning, "attention's part of it");
    explain_print(explain_name_value(e, attention_symbol, total.group_s[LLMPERF_GROUP_ATTENTION],
                                     LLMPERF_UNIT_S, meaning)
                      ->source,
                  LLMPERF_TEXT_MAX, "sum over its operators");
}

static void batching_taken(explainer *e, int64_t context, double value)
{
    int64_t batch = e->p->batching.batch;
    if (batch <= 1 || value == 0) {
        explain_result(e, "0", value);
        llmperf_note(&e->x->notes,
                     batch <= 1 ? "no batch above 1 fits" : "attention takes nothing of the gain");
        return;
    }
    explain_name_field(e, "B", (double)batch, LLMPERF_UNIT_SEQUENCES, "batch", "batching.batch");
    attention_step(e, 1, context, "t_1", "att_1");
    attention_step(e, batch, context, "t_B", "att_B");
    explain_add_named_step(e, "G", "gain in tokens/s over batch 1", "B t_1 / t_B",
                           LLMPERF_UNIT_NONE);
    explain_add_named_step(e, "G_shared",
                           "gain if attention cost the batch what it costs one sequence",
                           "B t_1 / (t_B - att_B + att_1)", LLMPERF_UNIT_NONE);
    explain_result(e, "(G_shared - G) / (G_shared - 1)", value);
}

static void explain_taken(explainer *e)
{
    batching_taken(e, e->c->workload.context, e->p->batching.taken);
}

static void explain_taken_long(explainer *e)
{
    batching_taken(e, 4 * (e->c->workload.context + 1) - 1, e->p->batching.taken_long);
}

static void explain_max_batch_at_tpot(explainer *e)
{
    const llmperf_prediction *p = e->p;
    int64_t most = p->max_batch_at_tpot;
    if (e->c->workload.tpot_s <= 0) {
        explain_none(e, "no --tpot target was given");
        return;
    }
    explain_rule(e, (double)most,
                 p->limited_by_memory
                     ? "memory ends before TPOT passes the target: memory.max_batch"
                     : "the largest batch whose TPOT is within the target, by bisection");
    if (most > 0)
        tpot_step(e, most);
    if (!p->limited_by_memory)
        tpot_step(e, most + 1);
    explain_list_input("tpot_target", e);
    explain_name_field(e, "max_batch", (double)p->memory.max_batch, LLMPERF_UNIT_SEQUENCES,
                       "largest batch that memory holds", "memory.max_batch");
    explain_list_input("max_batch", e);
}

static void name_rate(explainer *e)
{
    explain_name_field(e, "tokens_per_s", e->p->decode.tokens_per_s.value,
                       LLMPERF_UNIT_TOKENS_PER_S, "output tokens of all sequences",
                       "decode.tokens_per_s");
}

/* The times of a whole request's batch. */
static void name_whole(explainer *e)
{
    explain_name_field(e, "prefill_s", e->p->prefill.time_s.value, LLMPERF_UNIT_S,
                       "prefill of all prompts", "prefill.time_s");
    explain_name_field(e, "tpot_s", e->p->tpot_s.value, LLMPERF_UNIT_S, "time per output token",
                       "tpot_s");
}

static bool name_cost(explainer *e)
{
    if (e->p->has_cost)
        explain_name_price(e);
    else
        explain_none(e, "no --price was given and the part's file has none");
    return e->p->has_cost;
}

static void explain_cost(explainer *e)
{
    if (!name_cost(e))
        return;
    name_rate(e);
    explain_result(e, "1000000 tp price / (3600 tokens_per_s)", e->p->cost_usd_per_mtok);
}

static void explain_whole_cost(explainer *e)
{
    if (!name_cost(e))
        return;
    name_whole(e);
    explain_result(e, "1000000 tp price (prefill_s + (g - 1) tpot_s) / (3600 b g)",
                   e->p->cost_with_prefill_usd_per_mtok);
}

static bool name_energy(explainer *e)
{
    if (e->p->has_energy) {
        explain_name_hardware(e, "power", e->c->hw->power_w, LLMPERF_UNIT_W,
                              "power limit of one device", LLMPERF_HW_POWER);
        llmperf_note(&e->x->notes, "at the power limit: less while memory-bound");
    } else {
        explain_none(e, "the part's file does not say its power");
    }
    return e->p->has_energy;
}

static void explain_energy(explainer *e)
{
    if (!name_energy(e))
        return;
    name_rate(e);
    explain_result(e, "1000000 tp power / (3600 tokens_per_s)", e->p->energy_wh_per_mtok);
}

static void explain_whole_energy(explainer *e)
{
    if (!name_energy(e))
        return;
    name_whole(e);
    explain_result(e, "1000000 tp power (prefill_s + (g - 1) tpot_s) / (3600 b g)",
                   e->p->energy_with_prefill_wh_per_mtok);
}

static void explain_fitting_tp(explainer *e)
{
    if (e->p->memory.fits)
        explain_none(e, "it fits as asked");
    else if (e->p->fitting_tp == 0)
        explain_none(e, "no legal tp up to 1024 fits");
    else
        explain_rule(e, (double)e->p->fitting_tp,
                     "the smallest tp that the heads allow and whose shards fit");
}

static void explain_fitting_context(explainer *e)
{
    if (e->p->memory.fits) {
        explain_none(e, "it fits as asked");
    } else if (e->p->fitting_context == 0) {
        explain_none(e, "no length fits at this batch");
    } else {
        explain_name_field(e, "max_context", (double)e->p->memory.max_context_tokens,
                           LLMPERF_UNIT_TOKENS, "longest sequence at this batch",
                           "memory.max_context_tokens");
        explain_result(e, "max_context", (double)e->p->fitting_context);
    }
}

static const field_row ROWS[] = {
    ROW("latency_knee_batch", "batch at which TPOT has risen by 10 %", SEQUENCES, explain_knee),
    ROW("experts_read_per_layer", "distinct experts that a decode step touches", COUNT,
        explain_experts_read),
    ROW("batching.batch", "batch at which attention's toll is taken", SEQUENCES,
        explain_batching_batch),
    ROW("batching.attention_takes_frac", "what attention takes of batching's gain", FRACTION,
        explain_taken),
    ROW("batching.attention_takes_at_4x_context_frac", "the same at four times the context",
        FRACTION, explain_taken_long),
    ROW("max_batch_at_tpot", "largest batch within the TPOT target", SEQUENCES,
        explain_max_batch_at_tpot),
    ROW("cost_usd_per_mtok", "USD per million output tokens, decode alone", USD, explain_cost),
    ROW("cost_with_prefill_usd_per_mtok", "USD per million output tokens, prompts included", USD,
        explain_whole_cost),
    ROW("energy_wh_per_mtok", "energy per million output tokens, decode alone", WH, explain_energy),
    ROW("energy_with_prefill_wh_per_mtok", "energy per million output tokens, prompts included", WH,
        explain_whole_energy),
    ROW("would_fit.tp", "smallest tp that would fit", COUNT, explain_fitting_tp),
    ROW("would_fit.context_tokens", "longest sequence that would fit", TOKENS,
        explain_fitting_context),
};

const field_group EXPLAIN_BATCHING = {ROWS, sizeof ROWS / sizeof *ROWS};
