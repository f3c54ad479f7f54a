/* SPDX-License-Identifier: MIT */
/*
 * Symbols, formulas and weights of what stands before and behind the layers, and what all kinds share;
 * what a layer kind says stands in its own file. tests/unit/test_symbolic.c holds every operator's
 * formulas against llmperf_emit(), tests/unit/test_explain.c the sums against the counts.
 */
#include "symbols.h"
#include "layer_kind.h"
#include "calib_object.h"

/* clang-format off */
#define FORMAT(name, meaning, class, option)                                                       \
    {name, meaning, LLMPERF_UNIT_BYTES, SYMBOL_FORMAT, NOWHERE, option, NULL,                      \
     LLMPERF_WEIGHT_##class, false}
#define OPTION(name, meaning, unit, member, option)                                                \
    GIVEN(name, meaning, unit, OPTION, IN_WORKLOAD(member), option)
#define FIELD(name, meaning, unit, member, path)                                                   \
    GIVEN(name, meaning, unit, FIELD, IN_PREDICTION(member), path)
#define HARDWARE(name, meaning, unit, member, field, assumed)                                      \
    {name, meaning, LLMPERF_UNIT_##unit, SYMBOL_HARDWARE, IN_HARDWARE(member), NULL, NULL,         \
     LLMPERF_HW_##field, assumed}
/* clang-format on */

/* ---- before the layers, and what all of them share ------------------------------------------- */

static double tokens_cached(const symbol_scope *s)
{
    return (double)(s->decode ? s->c->workload.context : s->c->workload.cached);
}

static double tokens_attended(const symbol_scope *s)
{
    return tokens_cached(s) + scope_new_tokens(s);
}

TEST(is_whole, !s->decode && s->c->workload.cached == 0) /* p = 0, q = s = L */
TEST(is_single, s->decode && s->c->workload.query == 1)  /* q = 1, L = p + 1 */
TEST(is_decode, s->decode)
TEST(is_outside, s->outside)
TEST(is_held, s->held)
TEST(is_shared, s->c->workload.tp > 1)
TEST(is_narrow, s->c->model->embedding_dim != s->c->model->hidden)

static const symbol BEFORE_SYMBOLS[] = {
    OPTION("b", "sequences", SEQUENCES, batch, "batch"),
    OPTION("s", "prompt tokens of each", TOKENS, prompt, "prompt"),
    VALUE("q", "query tokens of each in the step", TOKENS, OPTION, "query", scope_new_tokens),
    VALUE("p", "tokens already cached", TOKENS, OPTION, "context", tokens_cached),
    VALUE("L", "attended tokens, p + q", TOKENS, COMPUTED, "p + q", tokens_attended),
    VALUE("T", "tokens of the step, b q", TOKENS, COMPUTED, "b q", scope_tokens),
    GIVEN("h", "hidden size", COUNT, MODEL, IN_MODEL(hidden), NULL),
    GIVEN("e", "width of the embedding table", COUNT, MODEL, IN_MODEL(embedding_dim), NULL),
    {0},
};

static const flag BEFORE_FLAGS[] = {
    TESTED("decode", is_decode),
    TESTED("outside", is_outside),
    TESTED("whole", is_whole),
    TESTED("single", is_single),
    TESTED("held", is_held),
    TESTED("shared", is_shared),
    TESTED("narrow", is_narrow),
    FLAG("logits_all", IN_WORKLOAD(logits_all)),
    FLAG("tied", IN_MODEL(tied)),
    FLAG("embedding_norm", IN_MODEL(embedding_norm)),
    FLAG("final_norm", IN_MODEL(final_norm)),
    FLAG("head_bias", IN_MODEL(head_bias)),
    FLAG("not_rms", IN_MODEL(norm)),
    {"layer_norm", IN_MODEL(norm), LLMPERF_NORM_LAYER, NULL},
    {"bare_norm", IN_MODEL(norm), LLMPERF_NORM_BARE, NULL},
    FLAG("norms", IN_LAYER(norms)),
    {0},
};

static const macro BEFORE_MACROS[] = {
    {"$q", "whole ? s | single ? 1 | q"},
    {"$L", "whole ? s | L"},
    {"$T", "whole ? b s | single ? b | b q"},
    {"$rows", "decode ? $T | logits_all ? $T | b"},
    {"$V", "shared ? ceil(V / tp) | V"},
    {"$e", "narrow ? e | h"},
    {"$pos", "positions ? 1 | 0"},
    {"$norm_flop", "not_rms ? 7 | 4"},
    {"$norm_weights", "layer_norm ? 2 | bare_norm ? 0 | 1"},
    /* tokens that a cache holds, and what of them attention keeps; sequences with a state */
    {"$tokens", "held ? b block ceil((s + g) / block) | 1"},
    {"$kept", "held C ? b min(C, block ceil((s + g) / block)) | "
              "held W ? b min(W, block ceil((s + g) / block)) | "
              "$tokens"},
    {"$sequences", "held ? b | 1"},
    {0},
};

static const op_row BEFORE_OPS[] = {
    {MOVES(EMBED, "$pos $T h", "$T $e $w_e", "$pos $T h $w_e", "$T $e a",
           "$pos h / ($e $w_e + $pos h $w_e + $e a)")},
    {.id = LLMPERF_OP_EMBED_PROJECT, .m = "$T", .n = "h", .k = "$e", .w = "$w_e"},
    {.id = LLMPERF_OP_COMM_EMBED, .link = "2 (tp - 1) / tp $T $e a"},
    {.id = LLMPERF_OP_COMM_ATTN, .link = "2 (tp - 1) / tp $T h a"},
    {.id = LLMPERF_OP_COMM_MLP, .link = "2 (tp - 1) / tp $T h a"},
    {.id = LLMPERF_OP_RESIDUAL, ACT_ROW("$T h", "1", "1")},
    {0},
};

static const term_row BEFORE_TERMS[] = {
    {SUM_WEIGHTS, IN_FRONT, "token embeddings", "$V $e", "$w_e"},
    {SUM_WEIGHTS, IN_FRONT, "position embeddings", "positions ? positions h", "$w_e"},
    {SUM_WEIGHTS, IN_FRONT, "embedding projections", "narrow ? 2 e h", "$w_e"},
    {SUM_WEIGHTS, IN_LAYERS, "norms and biases", "norms ? $norms $norm_weights h", "$w_n"},
    {SUM_LAYERS, IN_LAYERS, "layers", "layers", NULL},
    {0},
};

static const layer_rows BEFORE = {NULL,          BEFORE_SYMBOLS, BEFORE_FLAGS,
                                  BEFORE_MACROS, BEFORE_OPS,     BEFORE_TERMS};

/* ---- behind the layers, the deployment, what was asked and predicted ------------------------- */

static const symbol BEHIND_SYMBOLS[] = {
    GIVEN("V", "vocabulary", COUNT, MODEL, IN_MODEL(vocab), NULL),
    FACT("layers", "layers", count),
    FORMAT("w", "bytes of a weight", ATTENTION, "weight-dtype"),
    FORMAT("w_s", "bytes of a state-space weight", SSM, "weight-dtype"),
    FORMAT("w_f", "bytes of an FFN weight", MLP, "weight-dtype"),
    FORMAT("w_x", "bytes of an expert's weight", EXPERTS, "weight-dtype"),
    FORMAT("w_y", "bytes of a shared expert's weight", SHARED, "weight-dtype"),
    FORMAT("w_r", "bytes of a router weight", ROUTER, NULL),
    FORMAT("w_e", "bytes of an embedding weight", EMBEDDING, NULL),
    FORMAT("w_h", "bytes of an LM head weight", HEAD, NULL),
    FORMAT("w_n", "bytes of a norm weight or bias", OTHER, NULL),
    GIVEN("a", "bytes of an activation", BYTES, FORMAT, IN_CONFIG(act_bytes_per), "act-dtype"),
    GIVEN("c", "bytes of a KV cache element", BYTES, FORMAT, IN_CONFIG(kv_bytes_per), "kv-dtype"),
    OPTION("tp", "tensor-parallel devices", COUNT, tp, "tp"),
    /* of `explain` alone from here */
    OPTION("g", "new tokens of each sequence", TOKENS, generate, "generate"),
    OPTION("cached", "prompt tokens that a prefix cache holds", TOKENS, cached, "cached"),
    OPTION("chunk", "most prefill tokens in a step", TOKENS, chunk, "chunk"),
    OPTION("block", "tokens of a KV cache block", TOKENS, kv_block, "kv-block"),
    OPTION("context", "tokens cached when a decode step starts", TOKENS, context, "context"),
    OPTION("utilization", "engine's share of usable memory", FRACTION, memory_utilization,
           "memory-utilization"),
    OPTION("reserve", "memory of context and libraries", BYTES, reserve_bytes, "reserve"),
    OPTION("tpot_target", "target time per output token", S, tpot_s, "tpot"),
    OPTION("ttft_target", "target time to first token", S, ttft_s, "ttft"),
    OPTION("confidence", "coverage of intervals", FRACTION, confidence, "confidence"),
    OPTION("skew", "power law of the routing, 0 = uniform", NONE, moe_skew, "moe-skew"),
    OPTION("price", "price of one device", USD_PER_H, price_usd_per_h, "price"),
    GIVEN("positions", "rows of the learned position table", COUNT, MODEL,
          IN_MODEL(position_embeddings), NULL),
    GIVEN("max_context", "trained context", TOKENS, MODEL, IN_MODEL(max_context), NULL),
    GIVEN("mtp_params", "parameters of MTP layers", WEIGHTS, MODEL, IN_MODEL(mtp_params), NULL),
    GIVEN("params", "parameters", WEIGHTS, FIELD, IN_COUNTS(params.total), "model.params"),
    GIVEN("active", "active parameters", WEIGHTS, FIELD, IN_COUNTS(params.active),
          "model.active_params"),
    HARDWARE("BW", "memory bandwidth", BYTES_PER_S, mem_bytes_per_s, BANDWIDTH, false),
    HARDWARE("price", "price of one device", USD_PER_H, price_usd_per_h, PRICE, false),
    HARDWARE("power", "power limit of one device", W, power_w, POWER, false),
    HARDWARE("memory_usable", "what the driver reports", BYTES, memory_usable_bytes, MEMORY_USABLE,
             false),
    HARDWARE("memory", "the label's size; what the driver leaves is not known", BYTES, memory_bytes,
             MEMORY, true),
    FIELD("weights", "weights", BYTES, memory.weight_bytes, "memory.weight_bytes"),
    FIELD("kv", "KV cache", BYTES, memory.kv_bytes, "memory.kv_bytes"),
    FIELD("state", "recurrent state", BYTES, memory.state_bytes, "memory.state_bytes"),
    FIELD("activation", "tensors of the largest step", BYTES, memory.activation_bytes,
          "memory.activation_bytes"),
    FIELD("reserved", "kept free", BYTES, memory.reserved_bytes, "memory.reserved_bytes"),
    FIELD("capacity", "usable memory of the device", BYTES, memory.capacity_bytes,
          "memory.capacity_bytes"),
    FIELD("max_batch", "largest batch that memory holds", SEQUENCES, memory.max_batch,
          "memory.max_batch"),
    FIELD("prefill_s", "time of all prefill steps", S, prefill.time_s.value, "prefill.time_s"),
    FIELD("ttft_s", "time to first token", S, ttft_s.value, "ttft_s"),
    FIELD("tpot_s", "time per output token", S, tpot_s.value, "tpot_s"),
    FIELD("step_s", "time of the decode step", S, decode.total.time_s, "decode.time_s"),
    FIELD("tokens_per_s", "output tokens of all sequences", TOKENS_PER_S, decode.tokens_per_s.value,
          "decode.tokens_per_s"),
    FIELD("B", "batch", SEQUENCES, batching.batch, "batching.batch"),
    {0},
};

TEST(is_tall, s->op && s->fit && s->op->kind == LLMPERF_KIND_GEMM && s->op->m > 16 &&
                  s->fit->param[LLMPERF_PARAM_TALL] > 0)
TEST(has_idle, s->counts && s->counts->params.total != s->counts->params.active)
TEST(is_asked_context, !s->asked || s->asked->has_context)
TEST(is_high_end, s->high_end)
TEST(is_batched, s->c->workload.batch > 1)
TEST(passes_all, s->layer->moe.active >= s->layer->moe.experts)
TEST(has_host, s->c->calib && s->c->calib->host.engine[0])

static const flag BEHIND_FLAGS[] = {
    TESTED("idle", has_idle),
    TESTED("is_tall", is_tall),
    FLAG("fed", IN_FIT(FEED)),
    FLAG("reads", PLACE(OF_FIT, llmperf_calib_entry, compute_is_reads)),
    TESTED("asked_context", is_asked_context),
    FLAG("knee", IN_PREDICTION(has_knee)),
    FLAG("memory_limits", IN_PREDICTION(limited_by_memory)),
    FLAG("fits", IN_PREDICTION(memory.fits)),
    FLAG("fitting_tp", IN_PREDICTION(fitting_tp)),
    FLAG("fitting_context", IN_PREDICTION(fitting_context)),
    FLAG("cost", IN_PREDICTION(has_cost)),
    FLAG("energy", IN_PREDICTION(has_energy)),
    FLAG("priced", IN_WORKLOAD(price_usd_per_h)),
    TESTED("high_end", is_high_end),
    TESTED("batched", is_batched),
    TESTED("passes_all", passes_all),
    TESTED("host", has_host),
    {0},
};

static const op_row BEHIND_OPS[] = {
    {.id = LLMPERF_OP_NORM, NORM_ROW("h")},
    {MOVES(ROPE, "3 $T $rotated", NULL, "$T $rotated a", "$T $rotated a", "3 / (2 a)")},
    {.id = LLMPERF_OP_ATTN_OUT, .m = "$T", .n = "h", .k = "$N $d_v", .w = "w"},
    {.id = LLMPERF_OP_HEAD_PROJECT, .m = "$rows", .n = "$e", .k = "h", .w = "$w_e"},
    {.id = LLMPERF_OP_LM_HEAD, .m = "$rows", .n = "$V", .k = "$e", .w = "$w_h"},
    {.id = LLMPERF_OP_COMM_LOGITS, .link = "(tp - 1) / tp $rows V a"},
    {0},
};

static const term_row BEHIND_TERMS[] = {
    {SUM_WEIGHTS, IN_BACK, "embedding and final norm",
     "final_norm embedding_norm ? 2 $norm_weights h", "$w_n"},
    {SUM_WEIGHTS, IN_BACK, "final norm", "final_norm !embedding_norm ? $norm_weights h", "$w_n"},
    {SUM_WEIGHTS, IN_BACK, "final norm", "!final_norm embedding_norm ? $norm_weights h", "$w_n"},
    {SUM_WEIGHTS, IN_BACK, "LM head", "!tied ? $V $e", "$w_h"},
    {SUM_WEIGHTS, IN_BACK, "LM head bias", "head_bias ? $V", "$w_n"},
    {0},
};

static const layer_rows BEHIND = {NULL, BEHIND_SYMBOLS, BEHIND_FLAGS,
                                  NULL, BEHIND_OPS,     BEHIND_TERMS};

const layer_rows *rows_next(const layer_rows *rows)
{
    int kind = 0;
    if (!rows || rows == &BEHIND)
        return rows ? NULL : &BEFORE;
    while (rows != &BEFORE && LAYER_KINDS[kind++]->rows != rows)
        ;
    while (kind < LAYER_KIND_COUNT && !LAYER_KINDS[kind]->rows)
        kind++;
    return kind < LAYER_KIND_COUNT ? LAYER_KINDS[kind]->rows : &BEHIND;
}
