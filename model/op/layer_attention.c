/* SPDX-License-Identifier: MIT */
/*
 * Self-attention of one layer: MHA, GQA and MQA, fused or as the seed's batched products; windows,
 * chunks, an output gate, a shared cache. docs/model.md, "Attention", derives every formula.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "rows.h"
#include "model_object.h"
#include "fits.h"

/* What one device holds of a layer's attention. */
typedef struct shard {
    double heads, kv_heads;
    double d_k, d_v;
} shard;

static shard shard_of(const llmperf_attention *a, int64_t tp)
{
    return (shard){
        .heads = (double)ceil_div(a->heads, tp),
        .kv_heads = (double)kv_heads_per_device(a->kv_heads, tp),
        .d_k = (double)a->head_dim,
        .d_v = (double)a->value_dim,
    };
}

/* Position i sees (i mod chunk) + 1 keys: pairs of the positions below `end`. */
static double chunked_pairs_below(double end, double chunk)
{
    double whole = floor(end / chunk), rest = end - whole * chunk;
    return whole * chunk * (chunk + 1) / 2 + rest * (rest + 1) / 2;
}

static double pairs_of(const llmperf_layer *layer, double query, double past)
{
    const llmperf_attention *a = &layer->attention;
    if (a->chunk > 0)
        return chunked_pairs_below(past + query, (double)a->chunk) -
               chunked_pairs_below(past, (double)a->chunk);
    double limit = index_limit(layer);
    return causal_pairs(query, past, limit > 0 ? limit : (double)a->window);
}

static double keys_of(const llmperf_layer *layer, double query, double past)
{
    const llmperf_attention *a = &layer->attention;
    double limit = index_limit(layer);
    if (a->chunk > 0) /* from the start of the chunk that the first query is in */
        return past + query - (double)a->chunk * floor(past / (double)a->chunk);
    if (limit > 0) /* each query picks its own keys */
        return fmin(past + query, query * limit);
    return keys_read(query, past, (double)a->window);
}

static llmperf_op *emit_core(emitter *e, llmperf_op_id id, const llmperf_layer *layer,
                             const llmperf_segment *s, const shard *sh)
{
    llmperf_op *op = emit_attention_op(e, id, (double)layer->count, s);
    op->heads = sh->heads;
    op->kv_heads = sh->kv_heads;
    op->head_dim = sh->d_k;
    op->value_dim = sh->d_v;
    return op;
}

/* K and V of the new tokens go into the cache, unless an earlier layer's is read. */
static double written(const llmperf_layer *layer, double bytes)
{
    return layer->attention.shares_kv ? 0 : bytes;
}

/* Adds the flop and bytes of a segment's fused core: scores stay on chip; K and V are read once per
 * KV head. */
static void count_fused(const emitter *e, const llmperf_layer *layer, const llmperf_segment *s,
                        const shard *sh, llmperf_op *op)
{
    double b = (double)s->sequences, q = (double)s->query, past = (double)s->past;
    double a = e->c->act_bytes_per, c = e->c->kv_bytes_per;
    double width = sh->d_k + sh->d_v;

    op->flop += 2 * sh->heads * width * b * pairs_of(layer, q, past);
    op->input_bytes += b * q * sh->heads * sh->d_k * a;
    op->output_bytes += b * q * sh->heads * sh->d_v * a;
    op->kv_read_bytes += b * keys_of(layer, q, past) * sh->kv_heads * width * c;
    op->kv_write_bytes += written(layer, b * q * sh->kv_heads * width * c);
}

static void emit_fused(emitter *e, const llmperf_layer *layer, const llmperf_segment *s)
{
    shard sh = shard_of(&layer->attention, e->c->workload.tp);
    llmperf_op *op = emit_core(e, LLMPERF_OP_ATTN_CORE, layer, s, &sh);
    count_fused(e, layer, s, &sh, op);
    sum_bytes(op);
}

/* Sequences with one query each, as decode has them. */
static bool is_lone(const llmperf_segment *s)
{
    return segment_regime(s) == LLMPERF_REGIME_DECODE;
}

/* The prompt that decoding sequences share a launch with: the last; -1 = there are not both. */
static int prompt_beside_lone_ones(const emitter *e)
{
    int prompt = -1;
    bool any_lone = false;
    for (int i = 0; i < e->segment_count; i++) {
        if (is_lone(&e->segments[i]))
            any_lone = true;
        else if (!e->segments[i].decode) /* verification is no prompt */
            prompt = i;
    }
    return any_lone ? prompt : -1;
}

/* Keys that the last query of a segment sees. */
static double last_keys(const llmperf_layer *layer, const llmperf_segment *s)
{
    return pairs_of(layer, 1, (double)(s->past + s->query - 1));
}

/*
 * One launch for a prompt and all the lone queries of the step, where the calibration times such
 * launches; false where it does not, and the parts are launches of their own.
 */
static bool emit_mixed(emitter *e, const llmperf_layer *layer, int prompt)
{
    shard sh = shard_of(&layer->attention, e->c->workload.tp);
    llmperf_op lone = {0};
    llmperf_op *op = emit_core(e, LLMPERF_OP_ATTN_CORE, layer, &e->segments[prompt], &sh);
    op->regime = LLMPERF_REGIME_MIXED;
    op->longest_keys = last_keys(layer, &e->segments[prompt]);
    for (int i = 0; i < e->segment_count; i++) {
        const llmperf_segment *s = &e->segments[i];
        if (!is_lone(s))
            continue;
        count_fused(e, layer, s, &sh, &lone);
        op->lone_sequences += (double)s->sequences;
        op->lone_past += (double)s->sequences * (double)s->past;
        op->longest_keys = fmax(op->longest_keys, last_keys(layer, s));
    }
    op->lone_past /= op->lone_sequences;
    count_fused(e, layer, &e->segments[prompt], &sh, op);
    op->flop += op->lone_flop = lone.flop;
    op->kv_read_bytes += op->lone_kv_read_bytes = lone.kv_read_bytes;
    op->input_bytes += lone.input_bytes;
    op->output_bytes += lone.output_bytes;
    op->kv_write_bytes += lone.kv_write_bytes;
    sum_bytes(op);
    if (calib_find(e->c->calib, op, LLMPERF_REGIME_MIXED) != LLMPERF_CALIB_NO_ENTRY)
        return true;
    e->count--;
    return false;
}

/* The seed's form: QK^T and the weighted values as batched products with the whole score matrix
 * in memory (no causal saving), K and V expanded to the query heads. */
static void emit_unfused(emitter *e, const llmperf_layer *layer, const llmperf_segment *s)
{
    shard sh = shard_of(&layer->attention, e->c->workload.tp);
    double b = (double)s->sequences, q = (double)s->query;
    double keys = keys_of(layer, q, (double)s->past);
    double a = e->c->act_bytes_per, c = e->c->kv_bytes_per;
    double scores = b * sh.heads * q * keys;

    llmperf_op *op = emit_core(e, LLMPERF_OP_ATTN_SCORES, layer, s, &sh);
    op->flop = 2 * sh.d_k * scores;
    op->input_bytes = b * sh.heads * (q * sh.d_k + keys * sh.d_k) * a;
    op->output_bytes = scores * a;
    op->kv_write_bytes = written(layer, b * q * sh.kv_heads * (sh.d_k + sh.d_v) * c);
    sum_bytes(op);

    /* maximum, difference, exponential, sum, quotient: 5 per score */
    op = emit_elementwise(e, LLMPERF_OP_ATTN_SOFTMAX, 5 * scores, scores, scores, 0,
                          (double)layer->count);
    op->group = LLMPERF_GROUP_ATTENTION;

    op = emit_core(e, LLMPERF_OP_ATTN_VALUES, layer, s, &sh);
    op->flop = 2 * sh.d_v * scores;
    op->input_bytes = b * sh.heads * (q * keys + keys * sh.d_v) * a;
    op->output_bytes = b * sh.heads * q * sh.d_v * a;
    sum_bytes(op);
}

static void emit_cores(emitter *e, const llmperf_layer *layer)
{
    bool unfused = e->c->workload.unfused;
    /* sparse attention picks keys for each query: kernels of its own */
    int prompt = unfused || layer->index.top_k > 0 || e->segment_count < 2 || !e->c->calib
                     ? -1
                     : prompt_beside_lone_ones(e);
    bool mixed = prompt >= 0 && emit_mixed(e, layer, prompt);
    for (int i = 0; i < e->segment_count; i++) {
        const llmperf_segment *s = &e->segments[i];
        if (unfused)
            emit_unfused(e, layer, s);
        else if (!mixed || (i != prompt && !is_lone(s)))
            emit_fused(e, layer, s);
    }
}

static void emit_attention(emitter *e, const llmperf_layer *layer)
{
    const llmperf_attention *at = &layer->attention;
    const llmperf_workload *w = &e->c->workload;
    shard sh = shard_of(at, w->tp);
    double h = (double)e->c->model->hidden;
    double repeat = (double)layer->count, t = e->tokens;
    double q_width = sh.heads * sh.d_k;
    double k_width = at->shares_kv ? 0 : sh.kv_heads * sh.d_k;
    double v_width = at->shares_kv ? 0 : sh.kv_heads * sh.d_v;
    double gate_width = at->gate ? sh.heads * sh.d_v : 0;

    if (w->split_qkv || at->shares_kv) {
        emit_gemm(e, LLMPERF_OP_ATTN_Q, LLMPERF_WEIGHT_ATTENTION, t, q_width + gate_width, h,
                  repeat);
        if (!at->shares_kv) {
            emit_gemm(e, LLMPERF_OP_ATTN_K, LLMPERF_WEIGHT_ATTENTION, t, k_width, h, repeat);
            emit_gemm(e, LLMPERF_OP_ATTN_V, LLMPERF_WEIGHT_ATTENTION, t, v_width, h, repeat);
        }
    } else {
        emit_gemm(e, LLMPERF_OP_ATTN_QKV, LLMPERF_WEIGHT_ATTENTION, t,
                  q_width + gate_width + k_width + v_width, h, repeat);
    }
    if (layer->index.top_k > 0)
        emit_index(e, layer, h);
    if (at->qk_norm != LLMPERF_QK_NORM_NONE) {
        /* norm of q and k: 4 flop a value, as RMSNorm */
        double values = t * (q_width + k_width);
        double weights = at->qk_norm == LLMPERF_QK_NORM_HEAD ? 2 * sh.d_k : q_width + k_width;
        emit_elementwise(e, LLMPERF_OP_NORM, 4 * values, values, values, weights, repeat);
    }
    if (at->rope) {
        /* two products and a sum per value of q and k */
        double values = t * (q_width + k_width);
        emit_elementwise(e, LLMPERF_OP_ROPE, 3 * values, values, values, 0, repeat);
    }
    emit_cores(e, layer);
    if (at->gate) { /* sigmoid (3 flop) and a product */
        double values = t * gate_width;
        emit_elementwise(e, LLMPERF_OP_ATTN_GATE, 4 * values, 2 * values, values, 0, repeat);
    }
    emit_gemm(e, LLMPERF_OP_ATTN_OUT, LLMPERF_WEIGHT_ATTENTION, t, h, sh.heads * sh.d_v, repeat);
}

static void count_attention(const llmperf_model *model, const llmperf_layer *layer, int64_t tp,
                            weight_count *sum)
{
    const llmperf_attention *a = &layer->attention;
    int64_t heads = ceil_div(a->heads, tp);
    int64_t kv_heads = a->shares_kv ? 0 : kv_heads_per_device(a->kv_heads, tp);
    int64_t q_width = heads * a->head_dim, out_width = heads * a->value_dim;
    int64_t k_width = kv_heads * a->head_dim, v_width = kv_heads * a->value_dim;
    int64_t gate_width = a->gate ? out_width : 0;
    int64_t linear = model->hidden * (q_width + gate_width + k_width + v_width + out_width);
    int64_t other = 0;
    if (a->qkv_bias)
        other += q_width + k_width + v_width;
    if (a->out_bias)
        other += model->hidden;
    if (a->sinks)
        other += heads;
    if (a->qk_norm == LLMPERF_QK_NORM_HEAD)
        other += 2 * a->head_dim;
    else if (a->qk_norm != LLMPERF_QK_NORM_NONE)
        other += q_width + k_width;
    sum->by_class[LLMPERF_WEIGHT_ATTENTION] += layer->count * linear;
    sum->by_class[LLMPERF_WEIGHT_OTHER] += layer->count * other;
    if (layer->index.top_k > 0)
        count_index(model, layer, model->hidden, sum);
}

static double attention_kv_values(const llmperf_layer *layer, int64_t tp, double tokens)
{
    const llmperf_attention *a = &layer->attention;
    double most = (double)(a->chunk > 0 ? a->chunk : a->window);
    double kept = most > 0 && tokens > most ? most : tokens;
    if (a->shares_kv)
        return 0;
    return kept * (double)kv_heads_per_device(a->kv_heads, tp) *
           (double)(a->head_dim + a->value_dim);
}

static double attention_widest(const llmperf_layer *layer)
{
    const llmperf_attention *a = &layer->attention;
    return (double)((a->heads + 2 * a->kv_heads) * a->head_dim);
}

/* KV heads are replicated once there are more devices than heads. */
static bool attention_splits(const llmperf_layer *layer, int64_t tp)
{
    const llmperf_attention *a = &layer->attention;
    return a->heads % tp == 0 && (a->kv_heads % tp == 0 || tp % a->kv_heads == 0);
}

static llmperf_status attention_check(const char *model, const llmperf_layer *layer, int number,
                                      llmperf_error *error)
{
    const llmperf_attention *a = &layer->attention;
    (void)number;
    if (a->heads % a->kv_heads == 0)
        return LLMPERF_OK;
    return llmperf_fail(error, LLMPERF_E_SPEC,
                        "model '%s': %lld KV heads do not divide %lld attention heads; a "
                        "divisor is allowed",
                        model, (long long)a->kv_heads, (long long)a->heads);
}

/* "32 heads, 8 KV heads of 128, window 4096" */
static void attention_describe(const llmperf_layer *layer, char *buffer, size_t size)
{
    const llmperf_attention *a = &layer->attention;
    char limit[64] = "";
    if (a->window > 0)
        snprintf(limit, sizeof limit, ", window %lld", (long long)a->window);
    size_t used = strlen(limit);
    if (a->chunk > 0)
        snprintf(limit + used, sizeof limit - used, ", chunks of %lld", (long long)a->chunk);
    snprintf(buffer, size, "%lld heads, %lld KV heads of %lld%s%s", (long long)a->heads,
             (long long)a->kv_heads, (long long)a->head_dim, limit,
             a->shares_kv ? ", shares an earlier cache" : "");
}

static const char *const QK_NORM_WORDS[] = {"none", "head", "full", "per_head", NULL};

static const layer_field ATTENTION_FIELDS[] = {
    {COUNT_FIELD(attention, heads, 1, LAYER_MOST_HEADS), .required = true},
    {COUNT_FIELD(attention, kv_heads, 1, LAYER_MOST_HEADS), .required = true},
    {COUNT_FIELD(attention, head_dim, 1, LAYER_MOST_HEADS), .required = true},
    {COUNT_FIELD(attention, value_dim, 1, LAYER_MOST_HEADS), .like = "head_dim"},
    {COUNT_FIELD(attention, window, 1, LAYER_MOST_TOKENS), .null_for_none = true},
    {COUNT_FIELD(attention, chunk, 1, LAYER_MOST_TOKENS), .null_for_none = true},
    {FLAG_FIELD(attention, qkv_bias)},
    {FLAG_FIELD(attention, out_bias)},
    {FLAG_FIELD(attention, rope), .absent = true},
    {FLAG_FIELD(attention, gate)},
    {FLAG_FIELD(attention, sinks)},
    {FLAG_FIELD(attention, shares_kv)},
    {WORD_FIELD(attention, qk_norm, QK_NORM_WORDS)},
    {0},
};

/* ---- its formulas ----------------------------------------------------------------------------- */

static const symbol ATTENTION_SYMBOLS[] = {
    FACT("n", "attention heads", attention.heads),
    FACT("n_kv", "KV heads", attention.kv_heads),
    FACT("d", "head size", attention.head_dim),
    FACT("d_k", "head size of q and k", attention.head_dim),
    FACT("d_v", "head size of v", attention.value_dim),
    GIVEN("W", "window: keys a query sees at most", TOKENS, MODEL, IN_LAYER(attention.window),
          NULL),
    FACT("C", "positions of an attention chunk", attention.chunk),
    {0},
};

TEST(is_square,
     s->layer->attention.head_dim == s->layer->attention.value_dim && s->layer->mla.heads == 0)
TEST(attends, s->layer->attention.heads + s->layer->mla.heads > 0)

static const flag ATTENTION_FLAGS[] = {
    TESTED("attends", attends),
    TESTED("square", is_square),
    {"norm_of_head", IN_LAYER(attention.qk_norm), LLMPERF_QK_NORM_HEAD, NULL},
    {0},
};

/* Pairs of all positions up to `end` where each sees its chunk alone. */
#define CHUNKED(end)                                                                               \
    "(floor(" end " / C) C (C + 1) / 2 + (" end " - C floor(" end " / C)) (" end " - C floor(" end \
    " / C) + 1) / 2)"
/* Pairs that a limit of keys leaves out, up to `end`. */
#define BEYOND(end) "max(0, " end " - $limit) (max(0, " end " - $limit) + 1) / 2"

static const macro ATTENTION_MACROS[] = {
    {"$N", "shared ? n / tp | n"},
    {"$N_kv", "shared ? max(1, n_kv / tp) | n_kv"},
    {"$d_k", "square ? d | d_k"},
    {"$d_v", "square ? d | d_v"},
    {"$own", "attention.shares_kv ? 0 | 1"}, /* K and V of its own */
    {"$QKV", "square attention.gate ? 2 ($N + $N_kv) d | "
             "square ? ($N + 2 $N_kv) d | "
             "attention.gate ? ($N + $N_kv) (d_k + d_v) | "
             "($N + $N_kv) d_k + $N_kv d_v"},
    {"$rotated", "r_kv ? ($N + 1) d_r | ($N + $own $N_kv) $d_k"},
    {"$qk_weights", "norm_of_head ? 2 $d_k | ($N + $own $N_kv) $d_k"},
    /* keys that a query sees at most */
    {"$limit", "k_i ? k_i | W ? W"},
    /* pairs of query and key of one sequence, and the keys that are read, by what a query sees */
    {"$pairs", "C whole ? $chunked_s | C single ? (L - C floor(p / C)) | "
               "C ? ($chunked_L - $chunked_p) | limited whole ? (s (s + 1) / 2 - $beyond_s) | "
               "limited single ? min(L, $limit) | "
               "limited ? (q p + q (q + 1) / 2 - $beyond_L + $beyond_p) | $all_pairs"},
    {"$chunked_s", CHUNKED("s")},
    {"$chunked_L", CHUNKED("L")},
    {"$chunked_p", CHUNKED("p")},
    {"$beyond_s", BEYOND("s")},
    {"$beyond_L", BEYOND("L")},
    {"$beyond_p", BEYOND("p")},
    {"$pairs_per_q", "!C !limited ? $all_pairs_per_q | $pairs / $q"},
    {"$keys", "whole ? s | C ? (L - C floor(p / C)) | limited single ? min(L, $limit) | "
              "k_i ? min(L, q k_i) | W ? min(L, W + q - 1) | L"},
    {"$keys_per_q", "whole ? 1 | $keys / $q"},
    /* an indexer looks at every key */
    {"$all_pairs", "whole ? s (s + 1) / 2 | single ? L | q (p + (q + 1) / 2)"},
    {"$all_pairs_per_q", "whole ? (s + 1) / 2 | single ? L | (p + (q + 1) / 2)"},
    {"$L_per_q", "whole ? 1 | L / $q"},
    {0},
};

static const op_row ATTENTION_OPS[] = {
    {.id = LLMPERF_OP_ATTN_QKV, .m = "$T", .n = "$QKV", .k = "h", .w = "w"},
    {.id = LLMPERF_OP_ATTN_Q,
     .m = "$T",
     .n = "$N ($d_k + $attention.gate $d_v)",
     .k = "h",
     .w = "w"},
    {.id = LLMPERF_OP_ATTN_K, .m = "$T", .n = "$N_kv $d_k", .k = "h", .w = "w"},
    {.id = LLMPERF_OP_ATTN_V, .m = "$T", .n = "$N_kv $d_v", .k = "h", .w = "w"},
    {MOVES(NORM, "4 $T ($N + $own $N_kv) $d_k", "$qk_weights $w_n", "$T ($N + $own $N_kv) $d_k a",
           "$T ($N + $own $N_kv) $d_k a",
           "4 / ($qk_weights $w_n / ($T ($N + $own $N_kv) $d_k) + 2 a)"),
     .behind = {LLMPERF_OP_ATTN_QKV, LLMPERF_OP_ATTN_V, LLMPERF_OP_ATTN_Q, LLMPERF_OP_INDEX_CORE},
     .when = "!outside", .label = "norm (q, k)"},
    /* pairs * 2 (d_k + d_v) per head; K and V once per KV head; pairs and keys over q cancel q */
    {CACHED(ATTN_CORE, "2 b $N ($d_k + $d_v) $pairs", NULL, "b $q $N $d_k a", "b $q $N $d_v a",
            "b $keys $N_kv ($d_k + $d_v) c", "$own b $q $N_kv ($d_k + $d_v) c",
            "2 $N $pairs_per_q / ($N a + ($keys_per_q + $own) $N_kv c)")},
    {CACHED(ATTN_SCORES, "2 b $N $d_k $q $keys", NULL, "b $N ($q + $keys) $d_k a",
            "b $N $q $keys a", NULL, "$own b $q $N_kv ($d_k + $d_v) c",
            "2 / (a / $keys + a / $q + a / $d_k + $own $N_kv ($d_k + $d_v) c / ($N $d_k $keys))")},
    {MOVES(ATTN_SOFTMAX, "5 b $N $q $keys", NULL, "b $N $q $keys a", "b $N $q $keys a",
           "5 / (2 a)")},
    {MOVES(ATTN_VALUES, "2 b $N $d_v $q $keys", NULL, "b $N ($q + $d_v) $keys a", "b $N $q $d_v a",
           "2 / (a / $d_v + a / $q + a / $keys)")},
    {.id = LLMPERF_OP_ATTN_GATE, ACT_ROW("$T $N $d_v", "4", "2")},
    {0},
};

static const term_row ATTENTION_TERMS[] = {
    {SUM_WEIGHTS, IN_LAYERS, "attention",
     "h (($N + $own $N_kv) ($d_k + $d_v) + $attention.gate $N $d_v)", "w"},
    {SUM_WEIGHTS, IN_LAYERS, "norms and biases",
     "attention.qkv_bias ? $N $d_k + $own $N_kv ($d_k + $d_v)", "$w_n"},
    {SUM_WEIGHTS, IN_LAYERS, "norms and biases", "attention.out_bias ? h", "$w_n"},
    {SUM_WEIGHTS, IN_LAYERS, "norms and biases", "attention.sinks ? $N", "$w_n"},
    {SUM_WEIGHTS, IN_LAYERS, "norms and biases", "attention.qk_norm ? $qk_weights", "$w_n"},
    {SUM_KV, IN_LAYERS, "K and V", "!attention.shares_kv ? $kept layers $N_kv ($d_k + $d_v) c",
     NULL},
    {0},
};

static const layer_rows ATTENTION_ROWS = {"attention.heads", ATTENTION_SYMBOLS, ATTENTION_FLAGS,
                                          ATTENTION_MACROS,  ATTENTION_OPS,     ATTENTION_TERMS};

const layer_kind LAYER_ATTENTION = {
    .name = "attention",
    .fields = ATTENTION_FIELDS,
    .mixes = true,
    .emit = emit_attention,
    .count_weights = count_attention,
    .kv_values = attention_kv_values,
    .index_values = index_values,
    .widest = attention_widest,
    .widest_formula = "(n + 2 n_kv) d",
    .splits = attention_splits,
    .check = attention_check,
    .describe = attention_describe,
    .rows = &ATTENTION_ROWS,
};
