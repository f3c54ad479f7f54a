/* SPDX-License-Identifier: MIT */
/*
 * The numbers of a prediction and how they come about. The value is the prediction's own; the formula
 * is evaluated apart, and tests/unit/test_explain.c holds the two together for every row.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "explain.h"
#include "layer_kind.h"
#include "model_object.h"

/* ---- numbers that are searched or need steps of their own ------------------------------------ */

static void explain_active(explainer *e, const field_row *row, double value)
{
    explain_name(e, "idle", explain_idle_weights(e), LLMPERF_UNIT_WEIGHTS,
                 "experts that a token does not pass");
    explain_say(e, row->says, value);
}

static void explain_activation(explainer *e, const field_row *row, double value)
{
    const llmperf_model *model = e->c->model;
    const char *text = "0";
    double widest = -1;
    for (int i = 0; i < model->layer_kind_count; i++)
        for (int k = 0; k < LAYER_KIND_COUNT; k++) {
            const layer_kind *kind = LAYER_KINDS[k];
            const llmperf_layer *layer = &model->layers[i];
            if (!kind->widest || !kind_in(kind, layer) || kind->widest(layer) <= widest)
                continue;
            widest = kind->widest(layer);
            text = kind->widest_formula;
            e->scope.layer = layer;
        }
    explain_add_named_step(e, "widest", "widest tensor inside a layer, per token", text,
                           LLMPERF_UNIT_COUNT);
    explain_add_named_step(e, "per_token", "bytes of a token's tensors", "(2 h + widest) a / tp",
                           LLMPERF_UNIT_BYTES);
    explain_add_named_step(e, "tokens", "tokens of the largest prefill step",
                           "min(b (s - cached), chunk)", LLMPERF_UNIT_TOKENS);
    explain_add_named_step(e, "rows", "rows of logits that it ends",
                           "logits_all ? tokens | min(b, ceil(tokens / (s - cached)))",
                           LLMPERF_UNIT_COUNT);
    explain_result(e, row->says, value);
}

static double free_at(const explainer *e, int64_t batch, int64_t prompt, int64_t tokens)
{
    const llmperf_memory *m = &e->p->memory;
    return m->capacity_bytes -
           (m->weight_bytes + m->reserved_bytes + llmperf_kv_bytes(e->c, batch, tokens) +
            llmperf_state_bytes(e->c, batch) + llmperf_activation_bytes(e->c, batch, prompt));
}

static void explain_max_batch(explainer *e, const field_row *row, double value)
{
    const llmperf_workload *w = &e->c->workload;
    explain_say(e, row->says, value);
    for (int64_t b = (int64_t)value; b <= (int64_t)value + 1; b++) {
        char name[64];
        explain_print(name, sizeof name, "free at batch %lld", (long long)b);
        if (b > 0)
            explain_add_step(e, name, NULL, LLMPERF_UNIT_BYTES,
                             free_at(e, b, w->prompt, w->prompt + w->generate));
    }
}

static void explain_max_context(explainer *e, const field_row *row, double value)
{
    const llmperf_workload *w = &e->c->workload;
    explain_say(e, row->says, value);
    for (int64_t tokens = (int64_t)value; tokens <= (int64_t)value + 1; tokens++) {
        char name[64];
        int64_t prompt = tokens > w->generate ? tokens - w->generate : 1;
        explain_print(name, sizeof name, "free at %lld tokens", (long long)tokens);
        if (tokens > 0)
            explain_add_step(e, name, NULL, LLMPERF_UNIT_BYTES,
                             free_at(e, w->batch, prompt, tokens));
    }
}

static void explain_ops(explainer *e, const field_row *row, double value)
{
    bool decode = strncmp(row->path, "decode", 6) == 0 || strncmp(row->path, "tpot", 4) == 0;
    int64_t batch = decode ? 0 : row->path[0] == 't' ? 1 : e->c->workload.batch;
    summand what = row->unit == LLMPERF_UNIT_FLOP    ? SUM_FLOP
                   : row->unit == LLMPERF_UNIT_BYTES ? SUM_BYTES
                                                     : SUM_TIME;
    explain_op_sum(e, batch, what, row->says, value);
}

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

/* Returns the time. */
static double tpot_step(explainer *e, int64_t batch)
{
    char name[64];
    explain_print(name, sizeof name, "TPOT at batch %lld", (long long)batch);
    return explain_add_step(e, name, NULL, LLMPERF_UNIT_S,
                            step_at(e, batch, e->c->workload.context).time_s);
}

static void explain_knee(explainer *e, const field_row *row, double value)
{
    explain_say(e, row->says, value);
    double alone = tpot_step(e, 1);
    explain_add_step(e, "1.1 times that", NULL, LLMPERF_UNIT_S, 1.1 * alone);
    if (value > 2)
        tpot_step(e, (int64_t)value - 1);
    if (value > 1)
        tpot_step(e, (int64_t)value);
}

static void explain_max_batch_at_tpot(explainer *e, const field_row *row, double value)
{
    explain_say(e, row->says, value);
    if (value > 0)
        tpot_step(e, (int64_t)value);
    if (!e->p->limited_by_memory)
        tpot_step(e, (int64_t)value + 1);
}

/* As the decode step has them; nothing where no layer has experts. */
static void explain_experts_read(explainer *e, const field_row *row, double value)
{
    symbol_value("X", &value, &e->scope);
    explain_say(e, row->says, value);
}

static void name_step(explainer *e, int64_t batch, int64_t context, const char *step,
                      const char *attention)
{
    const llmperf_total total = step_at(e, batch, context);
    char meaning[96];
    explain_print(meaning, sizeof meaning, "decode step at batch %lld, %lld tokens of context",
                  (long long)batch, (long long)context);
    explain_print(explain_name(e, step, total.time_s, LLMPERF_UNIT_S, meaning)->source,
                  LLMPERF_TEXT_MAX, "sum over its operators");
    explain_print(explain_name(e, attention, total.group_s[LLMPERF_GROUP_ATTENTION], LLMPERF_UNIT_S,
                               "attention's part of it")
                      ->source,
                  LLMPERF_TEXT_MAX, "sum over its operators");
}

static void explain_taken(explainer *e, const field_row *row, double value)
{
    int64_t batch = e->p->batching.batch, context = e->c->workload.context;
    if (batch <= 1 || value == 0) {
        explain_result(e, "0", value);
        llmperf_note(&e->x->notes,
                     batch <= 1 ? "no batch above 1 fits" : "attention takes nothing of the gain");
        return;
    }
    context = strstr(row->path, "4x") ? 4 * (context + 1) - 1 : context;
    name_step(e, 1, context, "t_1", "att_1");
    name_step(e, batch, context, "t_B", "att_B");
    explain_add_named_step(e, "G", "gain in tokens/s over batch 1", "B t_1 / t_B",
                           LLMPERF_UNIT_NONE);
    explain_add_named_step(e, "G_shared",
                           "gain if attention cost the batch what it costs one sequence",
                           "B t_1 / (t_B - att_B + att_1)", LLMPERF_UNIT_NONE);
    explain_result(e, row->says, value);
}

/* ---- the table ------------------------------------------------------------------------------- */

static double spread_prefill(const symbol_scope *s)
{
    (void)s;
    return llmperf_spread(LLMPERF_SPREAD_PREFILL_STEP);
}

static double spread_decode(const symbol_scope *s)
{
    (void)s;
    return llmperf_spread(LLMPERF_SPREAD_DECODE_STEP);
}

static const char SPREAD_MEANING[] = "slow engines over the bound";
static const char SPREAD_SOURCE[] =
    "95th percentile of measured / roofline in published data; docs/model.md, Bounds";

static const symbol SPREADS[] = {
    [LLMPERF_SPREAD_DECODE_STEP] = {"spread_decode", SPREAD_MEANING, LLMPERF_UNIT_NONE,
                                    SYMBOL_CONSTANT, NOWHERE, SPREAD_SOURCE, spread_decode, 0, 0},
    [LLMPERF_SPREAD_PREFILL_STEP] = {"spread_prefill", SPREAD_MEANING, LLMPERF_UNIT_NONE,
                                     SYMBOL_CONSTANT, NOWHERE, SPREAD_SOURCE, spread_prefill, 0, 0},
    {0},
};

/* clang-format off */
#define ROW(name, meaning, unit, at, ...) \
    {.path = name, meaning, LLMPERF_UNIT_##unit, FIELD_PLAIN, at, __VA_ARGS__}
#define SUM(path, meaning, unit, at, kinds, ...)                                                   \
    {path, meaning, LLMPERF_UNIT_##unit, FIELD_PLAIN, at, __VA_ARGS__,                             \
     .explain = explain_model_sum, .detail = kinds}
#define TIME(path, meaning, member, spread, ...)                                                   \
    {path, meaning, LLMPERF_UNIT_S, FIELD_TIME, IN_PREDICTION(member.value), __VA_ARGS__,          \
     .detail = LLMPERF_SPREAD_##spread##_STEP}
#define RATE(path, meaning, member, spread, ...)                                                   \
    {path, meaning, LLMPERF_UNIT_TOKENS_PER_S, FIELD_RATE, IN_PREDICTION(member.value),            \
     __VA_ARGS__, .detail = LLMPERF_SPREAD_##spread##_STEP}
#define CROSSING(name, meaning, function)                                                          \
    {"compute_bound_batch." name, meaning, LLMPERF_UNIT_SEQUENCES, FIELD_CROSSING, NOWHERE,        \
     NULL, function, NULL, NULL, NULL, 0}
#define SHARE(name, meaning, text, part, part_meaning)                                             \
    {"decode.share." #name, meaning, LLMPERF_UNIT_FRACTION, FIELD_PLAIN,                           \
     IN_PREDICTION(share.name), text,                                                              \
     .own = (const symbol[]){GIVEN("part_s", part_meaning, S, COMPUTED,                            \
                                   IN_PREDICTION(decode.total.part),                               \
                                   "sum over the operators of the step: explain tpot_s"), {0}}}
/* clang-format on */
#define NO_PART "0 ; no layer has that part"
#define NO_COST "NONE no --price was given and the device's file has none"
#define NO_POWER "NONE the device's file does not say its power"
#define AT_LIMIT " ; at the power limit: less while memory-bound | "
#define DISTINCT                                                                                   \
    " ; expected distinct experts that a decode step touches in a layer, routing uniform"

const field_row NUMBERS[] = {
    SUM("model.params", "parameters, without MTP layers", WEIGHTS, IN_COUNTS(params.total),
        SUM_WEIGHTS, "RULE sum over the weights"),
    ROW("model.mtp_params", "parameters of MTP layers", WEIGHTS, IN_MODEL(mtp_params),
        "mtp_params ; MTP layers are not part of the count"),
    ROW("model.active_params", "parameters that a token passes", WEIGHTS, IN_COUNTS(params.active),
        "idle ? params - idle | params ; a token passes every weight of this model",
        explain_active),
    ROW("model.active_params_no_embed", "active parameters without the token table", WEIGHTS,
        NOWHERE,
        "tied ? active ; the tied table works as the LM head, so it stays in | "
        "active - V $e ; the token table is left out; learned positions stay in"),
    ROW("model.active_params_no_embed_head", "active parameters without embedding and LM head",
        WEIGHTS, NOWHERE, "tied ? active - V $e | active - 2 V $e"),
    SUM("model.weight_bytes", "all weights of the model", BYTES, IN_COUNTS(weight_bytes),
        SUM_WEIGHTS, "RULE sum over the weights, each at the bytes of its class"),
    SUM("model.kv_bytes_per_token", "KV cache of one more token, below every window", BYTES,
        IN_COUNTS(kv_bytes_per_token), SUM_KV,
        "RULE sum over the layer shapes ; no layer keeps K and V"),
    SUM("model.kv_bytes_per_token_long", "KV cache of one more token, beyond all windows", BYTES,
        IN_COUNTS(kv_bytes_per_token_long), SUM_KV,
        "RULE sum over the layer shapes ; no layer's cache goes on growing", .when = "!C !W"),
    SUM("model.index_bytes_per_token", "index keys of sparse attention, one more token", BYTES,
        IN_COUNTS(index_bytes_per_token), SUM_INDEX,
        "RULE sum over the layer shapes ; no layer has an indexer"),
    SUM("model.state_bytes", "recurrent state of a sequence", BYTES, IN_COUNTS(state_bytes),
        SUM_STATE, "RULE sum over the layer shapes ; no layer has a recurrent state"),
    SUM("model.layers", "layers of all shapes", COUNT, IN_COUNTS(layers), SUM_LAYERS,
        "RULE sum over the layer shapes"),
    ROW("model.hidden", "hidden size h", COUNT, NOWHERE, "h"),
    ROW("model.heads", "attention heads n", COUNT, NOWHERE, "n ? n | " NO_PART, .when = "attends"),
    ROW("model.kv_heads", "KV heads n_kv", COUNT, NOWHERE, "n_kv ? n_kv | n ? n | " NO_PART,
        .when = "attends"),
    ROW("model.head_dim", "head size d", COUNT, NOWHERE, "d ? d | n ? d_n + d_r | " NO_PART,
        .when = "attends"),
    ROW("model.ffn", "FFN width f", COUNT, NOWHERE, "f ? f | " NO_PART, .when = "f"),
    ROW("model.experts", "experts E", COUNT, NOWHERE, "E ? E | NONE no layer has experts",
        .when = "E"),
    ROW("model.active_experts", "experts K that a token passes", COUNT, NOWHERE,
        "E ? K | NONE no layer has experts", .when = "E"),
    ROW("model.vocab", "vocabulary V", COUNT, NOWHERE, "V"),
    ROW("model.max_context", "trained context", TOKENS, NOWHERE,
        "max_context ? max_context | NONE the model's file does not say it"),

    ROW("workload.batch", "sequences decoded together", SEQUENCES, NOWHERE, "b"),
    ROW("workload.prompt_tokens", "prompt of each sequence", TOKENS, NOWHERE, "s"),
    ROW("workload.generate_tokens", "new tokens of each sequence", TOKENS, NOWHERE, "g"),
    ROW("workload.cached_tokens", "prompt tokens that a prefix cache holds", TOKENS, NOWHERE,
        "cached"),
    ROW("workload.context_tokens", "tokens cached when a decode step starts", TOKENS,
        IN_WORKLOAD(context), "asked_context ? context | s + floor(g / 2)"),
    ROW("workload.chunk_tokens", "most prefill tokens in a step", TOKENS, NOWHERE, "chunk"),
    ROW("workload.query_tokens", "query tokens of a sequence in a decode step", TOKENS, NOWHERE,
        "q"),
    ROW("workload.moe_skew", "power law of the routing", NONE, NOWHERE, "skew"),
    ROW("workload.tp", "tensor-parallel devices", COUNT, NOWHERE, "tp"),
    ROW("workload.memory_utilization_frac", "engine's share of usable memory", FRACTION, NOWHERE,
        "utilization"),
    ROW("workload.reserve_bytes", "memory of context and libraries", BYTES, NOWHERE, "reserve"),
    ROW("workload.kv_block_tokens", "tokens of a KV cache block", TOKENS, NOWHERE, "block"),
    ROW("workload.confidence_frac", "coverage of intervals", FRACTION, NOWHERE, "confidence"),
    ROW("workload.tpot_target_s", "target time per output token", S, NOWHERE,
        "tpot_target ? tpot_target | NONE no --tpot was given"),
    ROW("workload.ttft_target_s", "target time to first token", S, NOWHERE,
        "ttft_target ? ttft_target | NONE no --ttft was given"),
    ROW("workload.price_usd_per_h", "price of one device, as given", USD_PER_H, NOWHERE,
        "priced ? price | NONE no --price was given"),

    SUM("memory.weight_bytes", "weights on one device", BYTES, IN_PREDICTION(memory.weight_bytes),
        SUM_WEIGHTS, "RULE sum over the weights on one device, each at the bytes of its class"),
    SUM("memory.kv_bytes", "KV cache of all sequences at full length, on one device", BYTES,
        IN_PREDICTION(memory.kv_bytes), SUM_KV | SUM_INDEX,
        "RULE sum over the layer shapes, each cache in whole blocks and at most a window or "
        "chunk long ; no layer keeps K and V"),
    SUM("memory.state_bytes", "recurrent state of all sequences", BYTES,
        IN_PREDICTION(memory.state_bytes), SUM_STATE,
        "RULE sum over the layer shapes ; no layer has a recurrent state"),
    ROW("memory.activation_bytes", "tensors of the largest step, on one device", BYTES,
        IN_PREDICTION(memory.activation_bytes),
        "max(tokens per_token + 4 V rows, b q (per_token + 4 V)) ; the larger of a prefill step "
        "and a decode step; logits take 4 bytes each",
        explain_activation),
    ROW("memory.reserved_bytes", "memory kept free on one device", BYTES,
        IN_PREDICTION(memory.reserved_bytes), "(1 - utilization) capacity + reserve"),
    ROW("memory.total_bytes", "memory asked for on one device", BYTES,
        IN_PREDICTION(memory.total_bytes), "weights + kv + state + activation + reserved"),
    ROW("memory.capacity_bytes", "usable memory of one device", BYTES,
        IN_PREDICTION(memory.capacity_bytes), "memory_usable ? memory_usable | memory"),
    ROW("memory.max_batch", "largest batch that fits", SEQUENCES, IN_PREDICTION(memory.max_batch),
        "RULE the largest b with weights + reserved + kv(b) + state(b) + activation(b) <= "
        "capacity, found by bisection",
        explain_max_batch, "weights reserved capacity"),
    ROW("memory.max_context_tokens", "longest sequence that fits at this batch", TOKENS,
        IN_PREDICTION(memory.max_context_tokens),
        "RULE the longest sequence, generated tokens included, with weights + reserved + kv + "
        "state + activation <= capacity at this batch, found by bisection",
        explain_max_context, "weights reserved capacity b"),

    TIME("prefill.time_s", "prefill of all prompts", prefill.time_s, PREFILL,
         "RULE sum over the operators of all prefill steps, of launches x time", explain_ops),
    ROW("prefill.flop", "FLOP of the whole prefill, on one device", FLOP,
        IN_PREDICTION(prefill.total.flop), "RULE sum over the operators of all prefill steps",
        explain_ops),
    ROW("prefill.bytes", "bytes that the whole prefill moves, on one device", BYTES,
        IN_PREDICTION(prefill.total.bytes), "RULE sum over the operators of all prefill steps",
        explain_ops),
    RATE("prefill.tokens_per_s", "prompt tokens per second", prefill.tokens_per_s, PREFILL,
         "b (s - cached) / prefill_s"),
    ROW("prefill.steps", "steps of the prefill", COUNT, IN_PREDICTION(prefill_steps),
        "ceil(b (s - cached) / chunk)"),
    TIME("decode.time_s", "one decode step at mean context", decode.time_s, DECODE,
         "RULE sum over the operators of one decode step, of launches x time", explain_ops),
    ROW("decode.flop", "FLOP of a decode step, on one device", FLOP,
        IN_PREDICTION(decode.total.flop), "RULE sum over the operators of one decode step",
        explain_ops),
    ROW("decode.bytes", "bytes that a decode step moves, on one device", BYTES,
        IN_PREDICTION(decode.total.bytes), "RULE sum over the operators of one decode step",
        explain_ops),
    RATE("decode.tokens_per_s", "output tokens per second of all sequences", decode.tokens_per_s,
         DECODE, "b / tpot_s"),
    RATE("decode.tokens_per_s_per_seq", "output tokens per second of one sequence",
         tokens_per_s_per_seq, DECODE, "1 / tpot_s"),
    SHARE(dense, "weight GEMMs' share of a decode step", "part_s / step_s",
          group_s[LLMPERF_GROUP_DENSE], "weight GEMMs, without launch"),
    SHARE(attention, "attention's share of a decode step", "part_s / step_s",
          group_s[LLMPERF_GROUP_ATTENTION], "attention, without launch"),
    SHARE(other, "share of norms and the like", "part_s / step_s", group_s[LLMPERF_GROUP_OTHER],
          "norms and the like, without launch"),
    SHARE(launch, "share of launches", "part_s / step_s", launch_s, "launches"),
    SHARE(link, "share of communication", "part_s / step_s", link_s, "collectives"),
    SHARE(host, "share of the host",
          "host ? part_s / step_s | 0 ; host time is part of an engine profile (--engine); there "
          "is none here",
          host_s, "host of the engine, beside the operators"),
    TIME("ttft_s", "time to first token: one prompt on an idle server", ttft_s, PREFILL,
         "RULE the prefill of one prompt on an idle server: sum over its operators, of launches x "
         "time",
         explain_ops),
    TIME("ttft_batch_s", "time until all prompts have their first token", ttft_batch_s, PREFILL,
         "prefill_s"),
    TIME("tpot_s", "time per output token", tpot_s, DECODE,
         "RULE one decode step at mean context: sum over its operators, of launches x time",
         explain_ops),
    TIME("e2e_s", "time of a whole request", e2e_s, DECODE,
         "high_end ? ttft_s spread_prefill + (g - 1) tpot_s spread_decode | "
         "ttft_s + (g - 1) tpot_s",
         .own = SPREADS),

    CROSSING("datasheet.dense", "batch from which on the linear layers are compute-bound",
             explain_step_crossing),
    CROSSING("datasheet.step", "batch from which on the whole step is compute-bound",
             explain_step_crossing),
    /* the operators' rows are found by name; the table lists them once */
    CROSSING("datasheet.per_op.*", "batch from which on a dense operator is compute-bound", NULL),
    CROSSING("calibrated.dense", "the same with what the calibration reaches",
             explain_step_crossing),
    CROSSING("calibrated.step", "the same with what the calibration reaches",
             explain_step_crossing),
    CROSSING("calibrated.per_op.*", "the same with what the calibration reaches", NULL),
    ROW("compute_bound_batch.memory_limit", "largest batch that memory holds", SEQUENCES,
        IN_PREDICTION(memory.max_batch), "max_batch"),

    ROW("latency_knee_batch", "batch at which TPOT has risen by 10 %", SEQUENCES,
        IN_PREDICTION(latency_knee_batch),
        "!knee ? NONE TPOT does not rise by 10 % at any batch | "
        "RULE the smallest batch whose TPOT is at least 1.1 times that of batch 1, by bisection",
        explain_knee),
    ROW("experts_read_per_layer", "distinct experts that a decode step touches", COUNT, NOWHERE,
        "!E ? NONE no layer has experts | passes_all ? E" DISTINCT " | "
        "skew ? RULE sum over the experts of 1 - (1 - q_i)^(b q), with q_i = min(1, z i^-skew) the "
        "chance that a token picks expert i, z such that they add up to K | "
        "E (1 - (1 - K / E)^(b q))" DISTINCT,
        explain_experts_read, "E K b q skew", "E"),
    ROW("batching.batch", "batch at which attention's toll is taken", SEQUENCES,
        IN_PREDICTION(batching.batch),
        "batched ? b | max_batch ; at batch 1 nothing is batched yet: what memory would hold is "
        "taken"),
    ROW("batching.attention_takes_frac", "what attention takes of batching's gain", FRACTION,
        IN_PREDICTION(batching.taken), "(G_shared - G) / (G_shared - 1)", explain_taken),
    ROW("batching.attention_takes_at_4x_context_frac", "the same at four times the context",
        FRACTION, IN_PREDICTION(batching.taken_long), "(G_shared - G) / (G_shared - 1)",
        explain_taken),
    ROW("max_batch_at_tpot", "largest batch within the TPOT target", SEQUENCES,
        IN_PREDICTION(max_batch_at_tpot),
        "!tpot_target ? NONE no --tpot target was given | memory_limits ? RULE memory ends before "
        "TPOT passes the target: memory.max_batch | RULE the largest batch whose TPOT is within "
        "the target, by bisection",
        explain_max_batch_at_tpot, "tpot_target max_batch"),
    ROW("cost_usd_per_mtok", "USD per million output tokens, decode alone", USD,
        IN_PREDICTION(cost_usd_per_mtok),
        "cost ? 1000000 tp price / (3600 tokens_per_s) | " NO_COST),
    ROW("cost_with_prefill_usd_per_mtok", "USD per million output tokens, prompts included", USD,
        IN_PREDICTION(cost_with_prefill_usd_per_mtok),
        "cost ? 1000000 tp price (prefill_s + (g - 1) tpot_s) / (3600 b g) | " NO_COST),
    ROW("energy_wh_per_mtok", "energy per million output tokens, decode alone", WH,
        IN_PREDICTION(energy_wh_per_mtok),
        "energy ? 1000000 tp power / (3600 tokens_per_s)" AT_LIMIT NO_POWER),
    ROW("energy_with_prefill_wh_per_mtok", "energy per million output tokens, prompts included", WH,
        IN_PREDICTION(energy_with_prefill_wh_per_mtok),
        "energy ? 1000000 tp power (prefill_s + (g - 1) tpot_s) / (3600 b g)" AT_LIMIT NO_POWER),
    ROW("would_fit.tp", "smallest tp that would fit", COUNT, IN_PREDICTION(fitting_tp),
        "fits ? NONE it fits as asked | fitting_tp ? RULE the smallest tp that the heads allow and "
        "whose shards fit | NONE no legal tp up to 1024 fits"),
    ROW("would_fit.context_tokens", "longest sequence that would fit", TOKENS,
        IN_PREDICTION(fitting_context),
        "fits ? NONE it fits as asked | fitting_context ? max_context | "
        "NONE no length fits at this batch",
        .own = (const symbol[]){GIVEN("max_context", "longest sequence at this batch", TOKENS,
                                      FIELD, IN_PREDICTION(memory.max_context_tokens),
                                      "memory.max_context_tokens"),
                                {0}}),
};

const int NUMBER_COUNT = sizeof NUMBERS / sizeof *NUMBERS;

bool field_needs_hw(const field_row *row)
{
    return strncmp(row->path, "model.", 6) != 0 && strncmp(row->path, "workload.", 9) != 0;
}

/* ---- a row as an explanation ----------------------------------------------------------------- */

/* The value's own number among {value, low, high}. */
static double value_of(const explainer *e, const field_row *row)
{
    place at = row->at;
    bool end = row->kind != FIELD_CROSSING && (e->part == PART_LOW || e->part == PART_HIGH);
    at.offset += end ? (uint32_t)((size_t)e->part * sizeof(double)) : 0;
    return at.of == OF_NOTHING ? NAN : place_read(at, &e->scope);
}

/* The end of an interval. False: the row says it. */
static bool explain_end(explainer *e, const field_row *row, double value)
{
    bool rate = row->kind == FIELD_RATE, far_end = (e->part == PART_HIGH) != rate;
    if (e->part != PART_LOW && e->part != PART_HIGH)
        return false;
    if (e->c->calib) {
        explain_rule(e, value, "an end of the calibration's interval");
        return true;
    }
    if (row->own) /* a sum of estimates */
        return false;
    const symbol own[] = {
        {"value", "the bound", row->unit, SYMBOL_FIELD, row->at, row->path, NULL, 0, false},
        {"spread", SPREAD_MEANING, LLMPERF_UNIT_NONE, SYMBOL_CONSTANT, NOWHERE, SPREAD_SOURCE,
         SPREADS[row->detail].value, 0, false},
        {0},
    };
    e->own = own;
    explain_result(e, !far_end ? "value" : rate ? "value / spread" : "value spread", value);
    e->own = NULL;
    return true;
}

static void list_inputs(explainer *e, const char *names)
{
    while (names && *names) {
        char name[FORMULA_NAME_MAX];
        int length = (int)strcspn(names, " ");
        explain_print(name, sizeof name, "%.*s", length, names);
        explain_list_input(name, e);
        names += length;
        names += strspn(names, " ");
    }
}

/* What the row says in this scope. */
static void explain_row(explainer *e, const field_row *row, double value)
{
    char text[FORMULA_TEXT_MAX] = "", *note = NULL;
    const char *chosen = scope_choose(&e->scope, row->says);
    if (chosen)
        explain_print(text, sizeof text, "%s", chosen);
    char *bar = strstr(text, " | ");
    if (bar)
        *bar = '\0';
    if ((note = strstr(text, " ; "))) {
        *note = '\0';
        note += strlen(" ; ");
    }
    field_row said = *row;
    said.says = text;
    if (strncmp(text, "NONE ", 5) == 0)
        explain_none(e, text + 5);
    else if (row->explain)
        row->explain(e, &said, value);
    else
        explain_say(e, text, value);
    if (e->x->rule[0])
        list_inputs(e, row->list);
    bool is_sum = row->explain == explain_model_sum && strcmp(e->x->result.formula, "0") != 0;
    if (note && !is_sum) /* of a sum: that it has no terms */
        llmperf_note(&e->x->notes, "%s", note);
}

/* The first layer shape that counts, if there is one. */
static void choose_layer(explainer *e, const field_row *row)
{
    const llmperf_model *model = e->c->model;
    int kind = 0;
    while (kind < model->layer_kind_count) {
        e->scope.layer = &model->layers[kind];
        if (scope_holds(&e->scope, row->when))
            break;
        kind++;
    }
    if (kind == model->layer_kind_count)
        e->scope.layer = &model->layers[0];
    else if (row->when && model->layer_kind_count > 1 && strstr(row->says, NO_PART))
        llmperf_note(&e->x->notes, "of the first of %d layer shapes that has any",
                     model->layer_kind_count);
}

void explain_field(explainer *e, const field_row *row)
{
    static const char *const ends[] = {"", ".low", ".high", ".exact", "", ""};
    llmperf_explanation *x = e->x;
    explain_print(x->result.name, sizeof x->result.name, "%s%s", row->path, ends[e->part]);
    explain_print(x->meaning, sizeof x->meaning, "%s%s", row->meaning,
                  e->part == PART_EXACT         ? ", before it is rounded up"
                  : row->kind == FIELD_CROSSING ? ""
                  : e->part == PART_LOW         ? ", low end"
                  : e->part == PART_HIGH        ? ", high end"
                                                : "");
    x->result.unit = row->unit;
    if (strncmp(row->path, "model.", 6) == 0)
        e->scope.c = &e->whole;
    e->scope.held = strncmp(row->path, "memory.", 7) == 0;
    e->scope.high_end = e->part == PART_HIGH;
    if (row->explain != explain_model_sum)
        choose_layer(e, row);
    double value = value_of(e, row);
    if (row->kind != FIELD_CROSSING && explain_end(e, row, value))
        return;
    e->own = row->own;
    explain_row(e, row, value);
}
