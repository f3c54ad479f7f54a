/* SPDX-License-Identifier: MIT */
/* The printed formulas against the engine, and the small grammar that they are written in. */
#include <criterion/criterion.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbolic.h"
#include "config.h"
#include "doc.h"
#include "emit.h"
#include "llmperf/report.h"
#include "config_object.h"

/* ---- grammar --------------------------------------------------------------------------------- */

typedef struct pair {
    const char *name;
    double value;
} pair;

static const pair SOME[] = {{"a", 3}, {"b", 4}, {"n_kv", 8}, {"e", 2}, {NULL, 0}};

static bool look_up(const char *name, double *ret_value, void *context)
{
    for (const pair *p = context; p->name; p++)
        if (strcmp(p->name, name) == 0) {
            *ret_value = p->value;
            return true;
        }
    return false;
}

static double value_of(const char *text)
{
    formula f;
    double value;
    cr_assert(formula_parse(text, NULL, &f), "%s: %s", text, f.wrong);
    cr_assert(formula_evaluate(&f, look_up, (void *)SOME, &value), "%s: %s", text, f.wrong);
    return value;
}

Test(formula, follows_the_usual_precedence)
{
    cr_expect_eq(value_of("1 + 2 * 3"), 7);
    cr_expect_eq(value_of("(1 + 2) * 3"), 9);
    cr_expect_eq(value_of("2 * 3 ^ 2"), 18);
    cr_expect_eq(value_of("10 - 3 - 2"), 5);
    cr_expect_eq(value_of("12 / 2 / 3"), 2);
    cr_expect_eq(value_of("12 / (2 / 3)"), 18);
    cr_expect_eq(value_of("7 - (2 - 1)"), 6);
    cr_expect_eq(value_of("-3 + 5"), 2);
}

Test(formula, takes_a_blank_for_a_product)
{
    cr_expect_eq(value_of("2 a b"), 24);
    cr_expect_eq(value_of("2 a (b + 1) n_kv"), 240);
    cr_expect_eq(value_of("a / 2 b"), 6); /* from the left, as written */
    cr_expect_eq(value_of("2e2 + 2 e"), 204);
}

Test(formula, knows_its_functions)
{
    cr_expect_eq(value_of("max(a, b, 2)"), 4);
    cr_expect_eq(value_of("min(a, b)"), 3);
    cr_expect_eq(value_of("ceil(n_kv / a)"), 3);
    cr_expect_eq(value_of("floor(n_kv / a)"), 2);
    cr_expect_eq(value_of("sqrt(b) a"), 6);
}

Test(formula, says_what_it_cannot_read)
{
    static const char *const bad[] = {"",      "1 +",  "(1",        "1)",   "a(2)",   "min()",
                                      "a ? b", "$T a", "ceil(1,2)", "1..2", "sqrt(2", "* 2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        formula f;
        cr_expect(!formula_parse(bad[i], NULL, &f), "%s", bad[i]);
        cr_expect(f.wrong[0], "%s", bad[i]);
    }
    formula f;
    double value;
    cr_assert(formula_parse("2 nobody", NULL, &f));
    cr_expect(!formula_evaluate(&f, look_up, (void *)SOME, &value));
    cr_expect_str_eq(f.wrong, "no value for 'nobody'");
}

Test(formula, refuses_what_is_too_deep_or_too_long)
{
    char text[4096] = "";
    formula f;
    memset(text, '(', 100);
    cr_expect(!formula_parse(text, NULL, &f));
    for (int i = 0; i < 1000; i++)
        memcpy(text + 4 * i, "1 + ", 4);
    cr_expect(!formula_parse(text, NULL, &f));
    cr_expect_str_eq(f.wrong, "formula too long");
}

static const char *find_macro(const char *name, void *context)
{
    static const macro MACROS[] = {
        {"$one", "1"}, {"$none", "0"}, {"$sum", "(a + b)"}, {"$half", "a / 2"}};
    (void)context;
    for (size_t i = 0; i < sizeof MACROS / sizeof *MACROS; i++)
        if (strcmp(MACROS[i].name, name) == 0)
            return MACROS[i].text;
    return NULL;
}

static void expect_tidy(const char *text, const char *want)
{
    static const formula_macros macros = {find_macro, NULL};
    formula f;
    char got[FORMULA_TEXT_MAX];
    cr_assert(formula_parse(text, &macros, &f), "%s: %s", text, f.wrong);
    cr_assert(formula_print(&f, FORMULA_PEOPLE, NULL, NULL, got, sizeof got));
    cr_expect_str_eq(got, want, "%s: '%s' instead of '%s'", text, got, want);
}

Test(formula, is_tidied_when_macros_are_put_in)
{
    expect_tidy("2 $one a $one", "2 a");
    expect_tidy("b $none + a", "a");
    expect_tidy("4 a (b (b + 1) / 2)", "2 a b (b + 1)");
    expect_tidy("2 $sum", "2 (a + b)");
    expect_tidy("1 / $sum", "1 / (a + b)");
    expect_tidy("b / $half", "2 b / a");
    expect_tidy("a b + a b", "2 a b");
    expect_tidy("a b - 3 a b", "-2 a b");
    expect_tidy("a - a", "0");
    expect_tidy("a a b", "a^2 b");
    expect_tidy("5 / (3 a)", "5 / (3 a)");
    expect_tidy("max($one, a / b)", "max(1, a / b)");
    expect_tidy("(a + $one) ^ 2", "(a + 1)^2");
}

Test(formula, prints_the_numbers_in_place_of_the_symbols)
{
    formula f;
    char text[128];
    cr_assert(formula_parse("2 a (n_kv + b) / max(1, e)", NULL, &f));
    cr_assert(formula_print(&f, FORMULA_NUMBERS, look_up, (void *)SOME, text, sizeof text));
    cr_expect_str_eq(text, "2 * 3 * (8 + 4) / max(1, 2)");
    cr_assert(formula_print(&f, FORMULA_PROGRAM, NULL, NULL, text, sizeof text));
    cr_expect_str_eq(text, "2 * a * (n_kv + b) / max(1, e)");
    cr_expect(!formula_print(&f, FORMULA_PROGRAM, NULL, NULL, text, 10));
    cr_expect(strlen(text) < 10);
}

/* ---- random models, against the engine ------------------------------------------------------- */

static uint64_t state;

static uint64_t next(void) /* xorshift64* */
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717u;
}

static int64_t from(int64_t least, int64_t most)
{
    return least + (int64_t)(next() % (uint64_t)(most - least + 1));
}

static bool coin(void)
{
    return next() >> 63;
}

static llmperf_attention random_attention(void)
{
    int64_t kv_heads = (int64_t)1 << from(0, 4);
    int64_t head_dim = coin() ? 8 * from(1, 32) : from(1, 300);
    return (llmperf_attention){
        .heads = kv_heads * from(1, 8),
        .kv_heads = kv_heads,
        .head_dim = head_dim,
        .value_dim = coin() ? head_dim : from(1, 300),
        .window = coin() ? from(1, 5000) : 0,
        .chunk = from(0, 4) == 0 ? from(1, 9000) : 0,
        .qkv_bias = coin(),
        .out_bias = coin(),
        .rope = coin(),
        .gate = coin(),
        .sinks = coin(),
        .shares_kv = from(0, 4) == 0,
        .qk_norm = (uint8_t)from(0, 3),
    };
}

static llmperf_mla random_mla(void)
{
    return (llmperf_mla){
        .heads = 8 * from(1, 16),
        .q_rank = coin() ? from(1, 2000) : 0,
        .kv_rank = from(1, 600),
        .nope_dim = from(1, 200),
        .rope_dim = from(0, 80),
        .value_dim = from(1, 200),
        .gate = coin(),
    };
}

static llmperf_ssm random_ssm(void)
{
    int64_t kind = from(LLMPERF_SSM_MAMBA, LLMPERF_SSM_LINEAR);
    bool mamba = kind == LLMPERF_SSM_MAMBA;
    return (llmperf_ssm){
        .kind = kind,
        .heads = mamba ? 1 : 8 * from(1, 12),
        .head_dim = mamba ? 8 * from(1, 900) : from(1, 200),
        .state = from(1, 256),
        .groups = from(1, 16),
        .conv = coin() ? from(1, 8) : 0,
        .dt_rank = mamba ? from(1, 300) : 0,
        .conv_bias = coin(),
        .proj_bias = coin(),
        .bc_norm = coin(),
    };
}

static llmperf_moe random_moe(void)
{
    int64_t experts = from(1, 64);
    return (llmperf_moe){
        .experts = experts,
        .active = from(1, experts),
        .ffn = from(1, 5000),
        .shared_ffn = coin() ? from(1, 5000) : 0,
        .latent = from(0, 3) == 0 ? from(1, 3000) : 0,
        .gated = coin(),
        .expert_bias = coin(),
        .router_bias = coin(),
        .shared_gate = coin(),
    };
}

static const llmperf_dtype STORED[] = {LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_INT4,
                                       LLMPERF_DTYPE_Q8_0, LLMPERF_DTYPE_FP32};

/* Any mixer, or none, with any feed-forward part, or none, but one of them. */
static void random_layer(llmperf_layer *layer)
{
    int mixer = (int)from(0, 5), ffn = (int)from(mixer == 5 ? 1 : 0, 4);
    *layer = (llmperf_layer){.count = from(1, 90), .norms = from(0, 4), .parallel = coin()};
    if (mixer <= 2)
        layer->attention = random_attention();
    if (mixer == 3)
        layer->mla = random_mla();
    if (mixer == 4 || mixer == 2) /* 2: both side by side */
        layer->ssm = random_ssm();
    if ((mixer <= 1 || mixer == 3) && from(0, 3) == 0)
        layer->index = (llmperf_index){
            .top_k = from(1, 4000), .heads = from(1, 64), .dim = from(1, 128), .shared = coin()};
    if (ffn == 1 || ffn == 2 || ffn == 4)
        layer->mlp = (llmperf_mlp){
            .ffn = from(1, 30000), .gated = coin(), .up_bias = coin(), .down_bias = coin()};
    if (ffn >= 3)
        layer->moe = random_moe();
    if (mixer == 5 && layer->mlp.ffn == 0 && layer->moe.experts == 0)
        layer->mlp.ffn = 100;
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        if (from(0, 5) == 0) {
            llmperf_dtype dtype = STORED[from(0, 4)];
            layer->weights[i] = (llmperf_weight_format){.dtype = (uint8_t)dtype,
                                                        .bits = llmperf_dtype_bits(dtype) + 0.125};
        }
}

static void random_model(llmperf_model *m)
{
    memset(m, 0, sizeof *m);
    m->hidden = from(1, 9000);
    m->vocab = from(1, 300000);
    m->embedding_dim = coin() ? m->hidden : from(1, 4000);
    m->position_embeddings = coin() ? from(1, 5000) : 0;
    m->tied = coin();
    m->head_bias = coin();
    m->embedding_norm = coin();
    m->final_norm = coin();
    m->norm = (uint8_t)from(0, 3);
    m->dtype = LLMPERF_DTYPE_BF16;
    m->layer_kind_count = (int)from(1, 3);
    for (int i = 0; i < m->layer_kind_count; i++)
        random_layer(&m->layers[i]);
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        m->weight_dtype[i] = STORED[from(0, 4)];
        m->weight_bits[i] = llmperf_dtype_bits((llmperf_dtype)m->weight_dtype[i]);
    }
    snprintf(m->name, sizeof m->name, "random");
}

static llmperf_workload random_workload(void)
{
    int64_t prompt = coin() ? from(1, 20) : from(1, 20000);
    return (llmperf_workload){
        .batch = from(1, 600),
        .prompt = prompt,
        .cached = coin() ? from(0, prompt - 1) : 0,
        .context = from(0, 20000),
        .has_context = true,
        .query = coin() ? 1 : from(1, 9),
        .kv_dtype = coin() ? LLMPERF_DTYPE_NONE : LLMPERF_DTYPE_FP8,
        .act_dtype = coin() ? LLMPERF_DTYPE_NONE : LLMPERF_DTYPE_FP32,
        .unfused = coin(),
        .logits_all = coin(),
        .split_qkv = coin(),
        .moe_skew = from(0, 3) == 0 ? 0.7 : 0,
        .tp = (int64_t)1 << from(0, 3),
    };
}

static bool close_to(double got, double want)
{
    return fabs(got - want) <= 1e-12 * fabs(want);
}

/* The text, and what JSON prints of it, evaluate to the engine's value; no text means zero. */
static void expect_quantity(uint64_t seed, const op_formulas *row, op_quantity quantity,
                            const llmperf_op *op, symbol_scope *scope)
{
    const char *text = row->text[quantity];
    double want = op_quantity_of(op, quantity), got = 0, again;
    formula f;
    char program[2 * FORMULA_TEXT_MAX], exact[4 * FORMULA_TEXT_MAX];
    if (!text[0]) {
        cr_assert_eq(want, 0, "seed %" PRIu64 ": no formula for %s of %s, which is %g", seed,
                     op_quantity_name(quantity), row->label, want);
        return;
    }
    cr_assert(formula_parse(text, NULL, &f) && formula_evaluate(&f, symbol_value, scope, &got),
              "seed %" PRIu64 ": '%s': %s", seed, text, f.wrong);
    cr_assert(close_to(got, want), "seed %" PRIu64 ": %s of %s: '%s' is %.17g, the engine's %.17g",
              seed, op_quantity_name(quantity), row->label, text, got, want);
    cr_assert(formula_print(&f, FORMULA_PROGRAM, NULL, NULL, program, sizeof program));
    cr_assert(formula_print(&f, FORMULA_EXACT, symbol_value, scope, exact, sizeof exact));
    cr_assert(formula_parse(program, NULL, &f) &&
              formula_evaluate(&f, symbol_value, scope, &again));
    cr_assert(close_to(again, got), "seed %" PRIu64 ": '%s' is not '%s'", seed, program, text);
    cr_assert(formula_parse(exact, NULL, &f) && formula_evaluate(&f, NULL, NULL, &again),
              "'%s': %s", exact, f.wrong);
    cr_assert(close_to(again, got), "seed %" PRIu64 ": '%s' is not '%s'", seed, exact, text);
}

/* The engine's operators of one step, in order: embedding, the layers of each shape, head. */
static int expect_step(uint64_t seed, const llmperf_config *c, bool decode)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    static op_formulas rows[OP_FORMULAS_MAX];
    const llmperf_workload *w = &c->workload;
    int64_t fresh = w->prompt - w->cached;
    llmperf_segment segment = {.sequences = w->batch,
                               .query = fresh,
                               .past = w->cached,
                               .logits = w->logits_all ? w->batch * fresh : w->batch};
    if (decode)
        segment = llmperf_decode_segment(c, w->batch, w->context);
    int count = llmperf_emit(c, &segment, 1, LLMPERF_OPS_MAX, ops), at = 0;
    for (int i = 0; i < c->model->layer_kind_count; i++) {
        symbol_scope scope = {.c = c, .layer = &c->model->layers[i], .decode = decode};
        int row_count = symbolic_ops(c, decode, i, rows);
        bool layers_begun = false;
        for (int r = 0; r < row_count; r++) {
            layers_begun |= !rows[r].outside;
            bool head = layers_begun && rows[r].outside;
            bool last = i + 1 == c->model->layer_kind_count;
            if ((!layers_begun && i > 0) || (head && !last))
                continue;
            scope.outside = rows[r].outside;
            cr_assert(at < count, "seed %" PRIu64 ": more formulas than operators", seed);
            cr_assert_eq(rows[r].id, ops[at].id, "seed %" PRIu64 ": %s where the engine has %s",
                         seed, rows[r].label, llmperf_op_name((llmperf_op_id)ops[at].id));
            for (int q = 0; q < OP_QUANTITY_COUNT; q++)
                expect_quantity(seed, &rows[r], (op_quantity)q, &ops[at], &scope);
            at++;
        }
    }
    cr_assert_eq(at, count, "seed %" PRIu64 ": %d formulas for %d operators", seed, at, count);
    return count;
}

Test(symbolic, every_formula_gives_what_the_engine_emits)
{
    enum { CASES = 400 };
    static llmperf_model model;
    int done = 0, operators = 0;
    for (uint64_t seed = 1; done < CASES; seed++) {
        llmperf_config c;
        state = seed * 0x9e3779b97f4a7c15u;
        random_model(&model);
        llmperf_workload workload = random_workload();
        llmperf_status status = config_init(&c, &model, NULL, NULL, &workload, NULL);
        if (status == LLMPERF_E_USAGE) /* a tp that the heads do not allow */
            continue;
        cr_assert_eq(status, LLMPERF_OK, "seed %" PRIu64, seed);
        operators += expect_step(seed, &c, false);
        operators += expect_step(seed, &c, true);
        done++;
    }
    cr_log_info("%d cases, %d operators", done, operators);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static llmperf_model small_llama(void)
{
    llmperf_model m = {
        .name = "by hand",
        .hidden = 4096,
        .vocab = 128256,
        .embedding_dim = 4096,
        .final_norm = true,
        .dtype = LLMPERF_DTYPE_BF16,
        .layer_kind_count = 1,
        .layers = {{.count = 32,
                    .norms = 2,
                    .attention = {.heads = 32,
                                  .kv_heads = 8,
                                  .head_dim = 128,
                                  .value_dim = 128,
                                  .rope = true},
                    .mlp = {.ffn = 14336, .gated = true}}},
    };
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        m.weight_dtype[i] = LLMPERF_DTYPE_BF16;
        m.weight_bits[i] = 16;
    }
    return m;
}

static const op_formulas *row_of(const op_formulas *rows, int count, llmperf_op_id id)
{
    for (int i = 0; i < count; i++)
        if (rows[i].id == id)
            return &rows[i];
    cr_assert_fail("no %s", llmperf_op_name(id));
    return NULL;
}

static double evaluated(const char *text, symbol_scope *scope)
{
    formula f;
    double value = NAN;
    cr_assert(formula_parse(text, NULL, &f) && formula_evaluate(&f, symbol_value, scope, &value),
              "%s: %s", text, f.wrong);
    return value;
}

Test(symbolic, reads_as_on_paper)
{
    static op_formulas rows[OP_FORMULAS_MAX];
    llmperf_model m = small_llama();
    llmperf_workload w = {.batch = 2, .prompt = 1024, .context = 1023, .has_context = true};
    llmperf_config c;
    cr_assert_eq(config_init(&c, &m, NULL, NULL, &w, NULL), LLMPERF_OK);
    int count = symbolic_ops(&c, false, 0, rows);
    symbol_scope scope = {.c = &c, .layer = &m.layers[0]};

    const op_formulas *qkv = row_of(rows, count, LLMPERF_OP_ATTN_QKV);
    cr_expect_str_eq(qkv->text[OP_M], "b s");
    cr_expect_str_eq(qkv->text[OP_N], "(n + 2 n_kv) d");
    cr_expect_str_eq(qkv->text[OP_K], "h");
    cr_expect_str_eq(qkv->text[OP_FLOP], "2 b s (n + 2 n_kv) d h");
    cr_expect_str_eq(qkv->text[OP_REPEAT], "layers");
    /* 2 * 2048 * 6144 * 4096 */
    cr_expect_eq(evaluated(qkv->text[OP_FLOP], &scope), 103079215104.0);
    /* 6144 * 4096 * 2 + 2048 * 4096 * 2 + 2048 * 6144 * 2 */
    cr_expect_eq(evaluated(qkv->text[OP_BYTES], &scope), 92274688.0);

    const op_formulas *core = row_of(rows, count, LLMPERF_OP_ATTN_CORE);
    cr_expect_str_eq(core->text[OP_FLOP], "2 b n d s (s + 1)");
    cr_expect_str_eq(core->text[OP_INTENSITY], "n (s + 1) / (n a + 2 n_kv c)");
    /* 2 * 2 * 32 * 128 * 1024 * 1025 */
    cr_expect_eq(evaluated(core->text[OP_FLOP], &scope), 17196646400.0);
    /* 32 * 1025 / (64 + 32) */
    cr_expect(close_to(evaluated(core->text[OP_INTENSITY], &scope), 32800.0 / 96));

    count = symbolic_ops(&c, true, 0, rows);
    scope.decode = true;
    core = row_of(rows, count, LLMPERF_OP_ATTN_CORE);
    cr_expect_str_eq(core->text[OP_FLOP], "4 b n d L");
    /* 2 * 32 * 1024 / (64 + 1025 * 16) */
    cr_expect(close_to(evaluated(core->text[OP_INTENSITY], &scope), 65536.0 / 16464));
    for (int i = 0; i < count; i++) /* attention: no batch in FLOP per byte */
        if (rows[i].op.kind == LLMPERF_KIND_ATTENTION)
            cr_expect(!strchr(rows[i].text[OP_INTENSITY], 'b'));
}

Test(symbolic, has_a_formula_for_every_operator)
{
    static op_formulas rows[OP_FORMULAS_MAX];
    static llmperf_model model;
    bool seen[LLMPERF_OP_COUNT] = {false};
    for (uint64_t seed = 1; seed < 600; seed++) {
        llmperf_config c;
        state = seed * 0x9e3779b97f4a7c15u;
        random_model(&model);
        llmperf_workload workload = random_workload();
        if (config_init(&c, &model, NULL, NULL, &workload, NULL) != LLMPERF_OK)
            continue;
        for (int decode = 0; decode < 2; decode++) {
            int count = symbolic_ops(&c, decode, 0, rows);
            for (int k = 0; k < count; k++) {
                seen[rows[k].id] = true;
                cr_expect(rows[k].text[OP_BYTES][0] || rows[k].text[OP_LINK_BYTES][0], "%s",
                          rows[k].label);
            }
        }
    }
    for (int i = 0; i < LLMPERF_OP_COUNT; i++)
        cr_expect(seen[i], "%s was never emitted: teach random_layer() the part that has it",
                  llmperf_op_name((llmperf_op_id)i));
}

/* ---- consequences ---------------------------------------------------------------------------- */

static double consequence(const char *key, const pair *values)
{
    for (const symbolic_consequence *k = CONSEQUENCES; k->key; k++) {
        formula f;
        double value = NAN;
        if (strcmp(k->key, key) != 0)
            continue;
        cr_assert(formula_parse(k->formula, NULL, &f) &&
                      formula_evaluate(&f, look_up, (void *)values, &value),
                  "%s: %s", k->formula, f.wrong);
        return value;
    }
    cr_assert_fail("no consequence %s", key);
    return NAN;
}

Test(symbolic, consequences_are_right_by_hand)
{
    /* 1/1024 + 1/6144 + 1/4096 = (12 + 2 + 3) / 12288 */
    const pair gemm[] = {{"m", 1024}, {"n", 6144}, {"k", 4096}, {NULL, 0}};
    cr_expect(close_to(consequence("dense", gemm), 12288.0 / 17));
    /* 1/4096 + 1/(4 * 1024) = 2 / 4096 */
    const pair prefill[] = {{"h", 4096}, {"b", 4}, {"s", 1024}, {NULL, 0}};
    cr_expect(close_to(consequence("dense_prefill", prefill), 2048));
    /* 1/4096 + 1/4 = 1025 / 4096 */
    cr_expect(close_to(consequence("dense_decode", prefill), 4096.0 / 1025));
    /* MHA: (s + 1) / 6 */
    const pair mha[] = {{"n", 32}, {"n_kv", 32}, {"s", 599}, {"L", 599}, {NULL, 0}};
    cr_expect(close_to(consequence("attention_prefill", mha), 100));
    /* GQA by 4: 32 * 1000 / (32 + 8 * 1001) */
    const pair gqa[] = {{"n", 32}, {"n_kv", 8}, {"L", 1000}, {NULL, 0}};
    cr_expect(close_to(consequence("attention_decode", gqa), 32000.0 / 8040));
    /* the seed's s / 3 at s = d */
    const pair square[] = {{"q", 128}, {"L", 128}, {"d", 128}, {NULL, 0}};
    cr_expect(close_to(consequence("attention_unfused", square), 128.0 / 3));
    const pair ten[] = {{"h", 10}, {NULL, 0}};
    cr_expect_eq(consequence("qkv_weights", ten), 300);
    cr_expect_eq(consequence("other_weights", ten), 900);
    /* 2 of 8, two tokens: 8 (1 - (3/4)^2) = 3.5 */
    const pair experts[] = {{"E", 8}, {"K", 2}, {"T", 2}, {NULL, 0}};
    cr_expect(close_to(consequence("distinct_experts", experts), 3.5));
    const llmperf_moe moe = {.experts = 8, .active = 2, .ffn = 1};
    cr_expect(close_to(moe_distinct_experts(&moe, 2, 0), 3.5));
    /* R = 295: 2 * 4096^2 / (2 * 4096^2 / 295 - 2 * 8192): 1 / (1/295 - 2/4096) */
    const pair ridge[] = {{"w", 2}, {"a", 2}, {"n", 4096}, {"k", 4096}, {"R", 295}, {NULL, 0}};
    cr_expect(close_to(consequence("compute_bound_rows", ridge), 295.0 * 4096 / (4096 - 590)));
    cr_expect(close_to(consequence("compute_bound_rows_16bit", ridge), 295.0 * 4096 / 3506));
}

Test(symbolic, consequences_are_the_engines_at_16_bit)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_model m = small_llama();
    for (int unfused = 0; unfused < 2; unfused++) {
        llmperf_workload w = {.batch = 3,
                              .prompt = 700,
                              .context = 900,
                              .has_context = true,
                              .unfused = unfused == 1};
        llmperf_config c;
        cr_assert_eq(config_init(&c, &m, NULL, NULL, &w, NULL), LLMPERF_OK);
        for (int decode = 0; decode < 2; decode++) {
            llmperf_segment segment = {.sequences = 3, .query = 700, .logits = 3};
            if (decode)
                segment = llmperf_decode_segment(&c, 3, 900);
            const pair shape[] = {{"n", 32},
                                  {"n_kv", 8},
                                  {"s", 700},
                                  {"d", 128},
                                  {"q", decode ? 1 : 700},
                                  {"L", decode ? 901 : 700},
                                  {NULL, 0}};
            int count = llmperf_emit(&c, &segment, 1, LLMPERF_OPS_MAX, ops);
            for (int i = 0; i < count; i++) {
                double intensity = ops[i].flop / ops[i].bytes;
                const pair gemm[] = {{"m", ops[i].m}, {"n", ops[i].n}, {"k", ops[i].k}, {NULL, 0}};
                if (ops[i].kind == LLMPERF_KIND_GEMM)
                    cr_expect(close_to(intensity, consequence("dense", gemm)));
                if (ops[i].id == LLMPERF_OP_ATTN_CORE)
                    cr_expect(close_to(
                        intensity,
                        consequence(decode ? "attention_decode" : "attention_prefill", shape)));
                if (ops[i].id == LLMPERF_OP_ATTN_VALUES)
                    cr_expect(close_to(intensity, consequence("attention_unfused", shape)));
            }
        }
    }
}

Test(symbolic, weights_of_a_plain_block_are_three_to_nine)
{
    /* h = 256, n d = h, f = 4 h: QKV 3 h^2 = 196608; output h^2 and FFN 8 h^2 = 589824 */
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_model m = small_llama();
    const pair at[] = {{"h", 256}, {NULL, 0}};
    m.hidden = m.embedding_dim = 256;
    m.layers[0].attention =
        (llmperf_attention){.heads = 8, .kv_heads = 8, .head_dim = 32, .value_dim = 32};
    m.layers[0].mlp = (llmperf_mlp){.ffn = 1024};
    llmperf_workload w = {.batch = 1};
    llmperf_config c;
    cr_assert_eq(config_init(&c, &m, NULL, NULL, &w, NULL), LLMPERF_OK);
    llmperf_segment segment = llmperf_decode_segment(&c, 1, 10);
    int count = llmperf_emit(&c, &segment, 1, LLMPERF_OPS_MAX, ops);
    double qkv = 0, others = 0;
    for (int i = 0; i < count; i++) {
        if (ops[i].id == LLMPERF_OP_ATTN_QKV)
            qkv += ops[i].n * ops[i].k;
        else if (ops[i].kind == LLMPERF_KIND_GEMM && ops[i].id != LLMPERF_OP_LM_HEAD)
            others += ops[i].n * ops[i].k;
    }
    cr_expect_eq(qkv, 196608);
    cr_expect_eq(others, 589824);
    cr_expect_eq(qkv, consequence("qkv_weights", at));
    cr_expect_eq(others, consequence("other_weights", at));
}

/* ---- the writer ------------------------------------------------------------------------------ */

static char *written(const char *format, const llmperf_config *c)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert(out);
    cr_assert_eq(llmperf_write_symbolic(out, format, c, NULL, NULL), LLMPERF_OK);
    fclose(out);
    return text;
}

Test(symbolic, text_stays_within_80_columns)
{
    char *text = written("text", NULL);
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        cr_expect(length <= 80, "%.*s", (int)length, line);
        cr_expect(length == 0 || line[length - 1] != ' ', "trailing blank: '%.*s'", (int)length,
                  line);
        line += length + (line[length] == '\n');
    }
    cr_expect(strstr(text, "2 b s (n + 2 n_kv) d h"));
    cr_expect(strstr(text, "4 b n d L"));
    cr_expect(strstr(text, "attn.scores")); /* the other forms, too */
    cr_expect(strstr(text, "comm.mlp"));
    free(text);
}

Test(symbolic, json_is_json_and_csv_has_one_width)
{
    char *text = written("json", NULL);
    doc *document;
    cr_assert_eq(doc_load_text("symbolic.json", text, strlen(text), &document, NULL), LLMPERF_OK);
    cr_expect_eq(doc_get(doc_root(document), "phases")->count, 2);
    doc_free(document);
    free(text);

    text = written("csv", NULL);
    size_t width = 0;
    bool quoted = false;
    size_t commas = 0;
    for (const char *p = text; *p; p++) {
        quoted ^= *p == '"';
        commas += *p == ',' && !quoted;
        if (*p == '\n') {
            width = width ? width : commas;
            cr_expect_eq(commas, width);
            commas = 0;
        }
    }
    free(text);
    cr_expect_eq(llmperf_write_symbolic(stdout, "xml", NULL, NULL, NULL), LLMPERF_E_USAGE);
}
