/* SPDX-License-Identifier: MIT */
/*
 * Mixtures of experts: how many experts a step touches, the grouped products, and the batch from
 * which they are compute-bound. Values worked by hand or by simulating the router.
 */
#include <criterion/criterion.h>

#include "random_case.h"
#include "steps.h"
#include "config_object.h"
#include "fits.h"
#include "emit.h"
#include "config.h"
#include "time_op.h"

static llmperf_config config_of(const llmperf_model *model, const llmperf_hw *hw,
                                const llmperf_workload *workload)
{
    llmperf_config c;
    llmperf_error error = {0};
    llmperf_status status = config_init(&c, model, hw, NULL, workload, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return c;
}

/* h = 8; 4 experts, 2 active, of width 6; a shared one of width 10; gated, bf16, 3 layers. */
static llmperf_model moe_toy(void)
{
    llmperf_model model = toy_model();
    memset(&model.layers[0].mlp, 0, sizeof model.layers[0].mlp);
    model.layers[0].moe = (llmperf_moe){
        .experts = 4, .active = 2, .ffn = 6, .shared_ffn = 10, .gated = true, .router_bias = true};
    return model;
}

static llmperf_model moe_model(int64_t hidden, int64_t experts, int64_t active, int64_t ffn)
{
    llmperf_model model = llama_like("moe", 1, hidden, 32, 4, 128, 1, 32000);
    memset(&model.layers[0].mlp, 0, sizeof model.layers[0].mlp);
    model.layers[0].moe =
        (llmperf_moe){.experts = experts, .active = active, .ffn = ffn, .gated = true};
    return model;
}

static double distinct(int64_t experts, int64_t active, double tokens, double skew)
{
    llmperf_moe moe = {.experts = experts, .active = active, .ffn = 1};
    return moe_distinct_experts(&moe, tokens, skew);
}

/* ---- how many experts ---- */

/* E (1 - (1 - K/E)^T): 4 (1 - 1/2^T) = 2, 3, 3.5, 3.75; 8 (1 - (3/4)^3) = 4.625;
 * 128 (1 - (15/16)^32) = 128 (1 - 0.126787) = 111.771. */
Test(moe, expected_experts_by_hand)
{
    const double four[] = {2, 3, 3.5, 3.75};
    for (int t = 1; t <= 4; t++)
        cr_expect(is_near(distinct(4, 2, t, 0), four[t - 1], 1e-14), "T %d", t);
    cr_expect(is_near(distinct(8, 2, 3, 0), 4.625, 1e-14));
    cr_expect(is_near(distinct(128, 8, 32, 0), 111.771, 1e-5), "%g", distinct(128, 8, 32, 0));
    cr_expect(distinct(128, 8, 0, 0) == 0);
    cr_expect(distinct(16, 16, 1, 0) == 16 && distinct(16, 16, 7, 2) == 16, "all active");
    cr_expect(is_near(distinct(256, 8, 1e6, 0), 256, 1e-12), "every expert in the end");
}

/* A router that picks K of E at random for each of T tokens. */
static double simulate_uniform(rng *r, int experts, int active, int tokens, int trials)
{
    double sum = 0;
    for (int trial = 0; trial < trials; trial++) {
        bool hit[256] = {false};
        for (int t = 0; t < tokens; t++) {
            int order[256];
            for (int i = 0; i < experts; i++)
                order[i] = i;
            for (int i = 0; i < active; i++) { /* Fisher and Yates, the first K */
                int at = (int)rng_int(r, i, experts - 1);
                int chosen = order[at];
                order[at] = order[i];
                order[i] = chosen;
                hit[chosen] = true;
            }
        }
        for (int i = 0; i < experts; i++)
            sum += hit[i];
    }
    return sum / trials;
}

Test(moe, expected_experts_equal_a_simulated_router)
{
    static const int shapes[][3] = {{8, 2, 1}, {8, 2, 5}, {16, 1, 9}, {64, 6, 10}, {128, 8, 20}};
    rng r = {.state = 71};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        double found = simulate_uniform(&r, shapes[i][0], shapes[i][1], shapes[i][2], 4000);
        double formula = distinct(shapes[i][0], shapes[i][1], shapes[i][2], 0);
        cr_expect(is_near(found, formula, 0.01), "E %d K %d T %d: simulated %g, formula %g",
                  shapes[i][0], shapes[i][1], shapes[i][2], found, formula);
    }
}

/* Probabilities min(1, c i^-s) that sum to K: cap the largest until the rest fit. */
static void power_law(int experts, int active, double skew, double *ret_q)
{
    int capped = 0;
    for (;;) {
        double tail = 0;
        for (int i = capped; i < experts; i++)
            tail += pow(i + 1, -skew);
        double c = (active - capped) / tail;
        if (c * pow(capped + 1, -skew) <= 1 || capped == active) {
            for (int i = 0; i < experts; i++)
                ret_q[i] = i < capped ? 1 : c * pow(i + 1, -skew);
            return;
        }
        capped++;
    }
}

/* Systematic sampling: exactly K of E a token, expert i with probability q_i. */
static double simulate_skewed(rng *r, const double *q, int experts, int tokens, int trials)
{
    double sum = 0;
    for (int trial = 0; trial < trials; trial++) {
        bool hit[256] = {false};
        for (int t = 0; t < tokens; t++) {
            double next = rng_real(r, 0, 1), reached = 0;
            for (int i = 0; i < experts; i++) {
                reached += q[i];
                if (reached > next) {
                    hit[i] = true;
                    next += 1;
                }
            }
        }
        for (int i = 0; i < experts; i++)
            sum += hit[i];
    }
    return sum / trials;
}

Test(moe, skewed_experts_equal_a_simulated_router)
{
    rng r = {.state = 72};
    double q[256];
    for (double skew = 0.25; skew < 3; skew *= 2) {
        power_law(64, 6, skew, q);
        double found = simulate_skewed(&r, q, 64, 12, 4000);
        cr_expect(is_near(found, distinct(64, 6, 12, skew), 0.015), "skew %g: %g, formula %g", skew,
                  found, distinct(64, 6, 12, skew));
    }
}

/* One token touches K experts however skewed the router is; more skew, fewer experts. */
Test(moe, skew_sums_to_k_and_touches_fewer)
{
    rng r = {.state = 73};
    for (int i = 0; i < CASES(2000); i++) {
        int64_t experts = rng_log_int(&r, 2, 512), active = rng_int(&r, 1, experts);
        double skew = rng_real(&r, 0.01, 6), tokens = (double)rng_log_int(&r, 1, 5000);
        double one = distinct(experts, active, 1, skew);
        cr_expect(is_near(one, (double)active, 1e-9), "E %" PRId64 " K %" PRId64 " s %g: %g",
                  experts, active, skew, one);
        double some = distinct(experts, active, tokens, skew);
        double uniform = distinct(experts, active, tokens, 0);
        cr_expect(some <= uniform * (1 + 1e-9), "skew %g: %g > %g", skew, some, uniform);
        cr_expect(some >= (double)active * (1 - 1e-9) && some <= (double)experts * (1 + 1e-12) &&
                  some <= tokens * (double)active * (1 + 1e-9));
        double more = distinct(experts, active, tokens + 1, skew);
        cr_expect(more >= some * (1 - 1e-12), "T %g: %g then %g", tokens, some, more);
    }
}

/* ---- operators ---- */

typedef struct row {
    int id;
    double m, n, k, flop, weight, input, output;
} row;

static void expect_rows(const llmperf_op *ops, int count, const row *rows, int row_count)
{
    for (int i = 0; i < row_count; i++) {
        const llmperf_op *op = find_op(ops, count, (llmperf_op_id)rows[i].id);
        const char *name = llmperf_op_name((llmperf_op_id)rows[i].id);
        cr_assert(op, "%s is missing", name);
        cr_expect(is_near(op->m, rows[i].m, 1e-14) && op->n == rows[i].n && op->k == rows[i].k,
                  "%s: %g x %g x %g", name, op->m, op->n, op->k);
        cr_expect(is_near(op->flop, rows[i].flop, 1e-14), "%s: flop %g", name, op->flop);
        cr_expect(is_near(op->weight_bytes, rows[i].weight, 1e-14), "%s: weights %g", name,
                  op->weight_bytes);
        cr_expect(op->input_bytes == rows[i].input && op->output_bytes == rows[i].output,
                  "%s: in %g, out %g", name, op->input_bytes, op->output_bytes);
        cr_expect(op->repeat == 3 &&
                  op->bytes == op->weight_bytes + op->input_bytes + op->output_bytes);
    }
}

/* b = 2: T = 2, E' = 4 (1 - 1/4) = 3, T K = 4 rows, m = 4/3 a touched expert. */
Test(moe, decode_by_hand)
{
    llmperf_model model = moe_toy();
    llmperf_config c = config_of(&model, NULL, &(llmperf_workload){.batch = 2, .prompt = 5});
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    static const row rows[] = {
        {LLMPERF_OP_MOE_ROUTER, 2, 4, 8, 128, 64, 32, 16},
        {LLMPERF_OP_MOE_GATE_UP, 4.0 / 3, 12, 8, 768, 576, 64, 96}, /* weights 3 x 12 x 8 x 2 */
        {LLMPERF_OP_MOE_ACT, 0, 0, 0, 120, 0, 96, 48},
        {LLMPERF_OP_MOE_DOWN, 4.0 / 3, 8, 6, 384, 288, 48, 64},
        {LLMPERF_OP_MOE_SHARED_GATE_UP, 2, 20, 8, 640, 320, 32, 80},
        {LLMPERF_OP_MOE_SHARED_ACT, 0, 0, 0, 100, 0, 80, 40},
        {LLMPERF_OP_MOE_SHARED_DOWN, 2, 8, 10, 320, 160, 40, 32},
    };
    expect_rows(ops, count, rows, sizeof rows / sizeof *rows);
    cr_expect(find_op(ops, count, LLMPERF_OP_MOE_ROUTER)->group == LLMPERF_GROUP_OTHER);
    static const llmperf_op_id dense[] = {LLMPERF_OP_MOE_GATE_UP, LLMPERF_OP_MOE_DOWN,
                                          LLMPERF_OP_MOE_SHARED_GATE_UP,
                                          LLMPERF_OP_MOE_SHARED_DOWN};
    for (int i = 0; i < 4; i++)
        cr_expect(find_op(ops, count, dense[i])->group == LLMPERF_GROUP_DENSE);
    cr_expect(!find_op(ops, count, LLMPERF_OP_MLP_GATE_UP) &&
              !find_op(ops, count, LLMPERF_OP_MLP_UP));
}

/* The experts work in a latent of 4 behind two projections of 8 x 4; not gated. tp 2: width 3. */
Test(moe, latent_and_plain_experts_by_hand)
{
    llmperf_model model = moe_toy();
    model.layers[0].moe.latent = 4;
    model.layers[0].moe.gated = false;
    llmperf_config c = config_of(&model, NULL, &(llmperf_workload){.batch = 2, .prompt = 5});
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    static const row rows[] = {
        {LLMPERF_OP_MOE_ROUTER, 2, 4, 8, 128, 64, 32, 16}, /* sees the hidden state */
        {LLMPERF_OP_MOE_LATENT_DOWN, 2, 4, 8, 128, 64, 32, 16},
        {LLMPERF_OP_MOE_UP, 4.0 / 3, 6, 4, 192, 144, 32, 48},
        {LLMPERF_OP_MOE_ACT, 0, 0, 0, 96, 0, 48, 48},
        {LLMPERF_OP_MOE_DOWN, 4.0 / 3, 4, 6, 192, 144, 48, 32},
        {LLMPERF_OP_MOE_LATENT_UP, 2, 8, 4, 128, 64, 16, 32},
        {LLMPERF_OP_MOE_SHARED_UP, 2, 10, 8, 320, 160, 32, 40},
        {LLMPERF_OP_MOE_SHARED_DOWN, 2, 8, 10, 320, 160, 40, 32},
    };
    expect_rows(ops, count, rows, sizeof rows / sizeof *rows);
    /* weights of a layer: experts 4 (6 x 4 + 4 x 6), shared 2 x 8 x 10 and latents 2 x 8 x 4 */
    llmperf_params params = llmperf_model_params(&model);
    cr_expect(params.by_class[LLMPERF_WEIGHT_EXPERTS] == 3 * 192);
    cr_expect(params.by_class[LLMPERF_WEIGHT_SHARED] == 3 * (160 + 64));
    cr_expect(params.by_class[LLMPERF_WEIGHT_ROUTER] == 3 * 32);
    cr_expect(params.total - params.active == 3 * 2 * 48, "2 of 4 experts idle");

    c = config_of(&model, NULL, &(llmperf_workload){.batch = 2, .prompt = 5, .tp = 2});
    s = llmperf_decode_segment(&c, 2, 5);
    count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    static const row halves[] = {
        {LLMPERF_OP_MOE_ROUTER, 2, 4, 8, 128, 64, 32, 16},
        {LLMPERF_OP_MOE_LATENT_DOWN, 2, 4, 8, 128, 64, 32, 16},
        {LLMPERF_OP_MOE_UP, 4.0 / 3, 3, 4, 96, 72, 32, 24},
        {LLMPERF_OP_MOE_DOWN, 4.0 / 3, 4, 3, 96, 72, 24, 32},
        {LLMPERF_OP_MOE_SHARED_UP, 2, 5, 8, 160, 80, 32, 20},
    };
    expect_rows(ops, count, halves, sizeof halves / sizeof *halves);
    /* on each of two devices a layer holds attention 8 (4 + 2 + 2) + 4 x 8 = 96, router 32 + 4, the
     * latents 64, 4 experts of 3 x 4 x 2, a shared one of 2 x 8 x 5, norms 16; outside 40 + 40 + 8 */
    cr_expect(llmperf_weight_bytes(&c) == 2 * (3 * (96 + 36 + 64 + 96 + 80 + 16) + 88));
}

/* Active experts' parameters: one expert 3 h f, with biases 2 f + h. */
Test(moe, active_parameters_by_hand)
{
    llmperf_model model = moe_toy();
    llmperf_params params = llmperf_model_params(&model);
    /* a layer: attention 8 (8 + 4 + 4) + 8 x 8 = 192, router 32 + 4, experts 4 x 144, shared 240,
     * norms 16; outside 80 + 80 + 8 */
    cr_expect(params.total == 3 * (192 + 36 + 576 + 240 + 16) + 168);
    cr_expect(params.total - params.active == 3 * 2 * 144);
    model.layers[0].moe.expert_bias = true;
    params = llmperf_model_params(&model);
    cr_expect(params.total == 3 * (192 + 36 + 576 + 4 * 20 + 240 + 16) + 168);
    cr_expect(params.total - params.active == 3 * 2 * (144 + 20));
    model.layers[0].moe.shared_gate = true;
    cr_expect(llmperf_model_params(&model).total == params.total + 3 * 8);
}

static const llmperf_op *decode_op(const llmperf_config *c, int64_t batch, llmperf_op_id id,
                                   llmperf_op *ops)
{
    llmperf_segment s = llmperf_decode_segment(c, batch, 100);
    int count = llmperf_emit(c, &s, 1, LLMPERF_OPS_MAX, ops);
    const llmperf_op *op = find_op(ops, count, id);
    cr_assert(op);
    return op;
}

/* Bytes rise with the batch and stop at all E experts; flop grow as the rows do. */
Test(moe, bytes_rise_and_saturate)
{
    llmperf_model model = moe_model(2048, 128, 8, 768);
    llmperf_config c = config_of(&model, NULL, &(llmperf_workload){.prompt = 5});
    llmperf_op ops[LLMPERF_OPS_MAX];
    double one = 2.0 * 2048 * 768 * 2; /* gate and up of an expert */
    double last = 0;
    for (int64_t b = 1; b < 5000; b = b * 5 / 4 + 1) {
        const llmperf_op *op = decode_op(&c, b, LLMPERF_OP_MOE_GATE_UP, ops);
        double expected = 128 * (1 - pow(1 - 8.0 / 128, (double)b)) * one;
        cr_expect(is_near(op->weight_bytes, expected, 1e-12), "b %" PRId64 ": %g", b,
                  op->weight_bytes);
        cr_expect(op->weight_bytes >= last && op->weight_bytes <= 128 * one * (1 + 1e-12));
        cr_expect(op->flop == 2.0 * (double)b * 8 * 2 * 768 * 2048);
        last = op->weight_bytes;
    }
    cr_expect(is_near(last, 128 * one, 1e-12), "all experts");
    cr_expect(decode_op(&c, 1, LLMPERF_OP_MOE_DOWN, ops)->weight_bytes == 8.0 * 2048 * 768 * 2);
}

/* All experts active is a wide dense FFN: same weight bytes, flop of K rows a token. */
Test(moe, one_expert_of_one_is_the_dense_ffn)
{
    llmperf_model dense = toy_model(), model = moe_toy();
    model.layers[0].moe = (llmperf_moe){.experts = 1, .active = 1, .ffn = 12, .gated = true};
    llmperf_config c = config_of(&dense, NULL, &(llmperf_workload){.prompt = 5});
    llmperf_config x = config_of(&model, NULL, &(llmperf_workload){.prompt = 5});
    llmperf_op a[LLMPERF_OPS_MAX], b[LLMPERF_OPS_MAX];
    static const llmperf_op_id pairs[][2] = {{LLMPERF_OP_MLP_GATE_UP, LLMPERF_OP_MOE_GATE_UP},
                                             {LLMPERF_OP_MLP_ACT, LLMPERF_OP_MOE_ACT},
                                             {LLMPERF_OP_MLP_DOWN, LLMPERF_OP_MOE_DOWN}};
    for (int i = 0; i < 3; i++) {
        const llmperf_op *left = decode_op(&c, 7, pairs[i][0], a);
        llmperf_op right = *decode_op(&x, 7, pairs[i][1], b);
        right.id = left->id;
        cr_expect(memcmp(left, &right, sizeof right) == 0, "%s", llmperf_op_name(pairs[i][0]));
    }
}

/* ---- the batch from which experts are compute-bound ---- */

static double side(const llmperf_config *c, const llmperf_op *op, bool compute)
{
    return compute ? op->repeat * op->flop / c->hw->peak_flop_per_s[op->dtype]
                   : op->repeat * op->bytes / c->hw->mem_bytes_per_s;
}

static double dense_gap(const llmperf_config *c, int64_t batch, int id)
{
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(c, batch, c->workload.context);
    int count = llmperf_emit(c, &s, 1, LLMPERF_OPS_MAX, ops);
    double gap = 0;
    for (int i = 0; i < count; i++)
        if (id < 0 ? ops[i].group == LLMPERF_GROUP_DENSE : ops[i].id == id)
            gap += side(c, &ops[i], true) - side(c, &ops[i], false);
    return gap;
}

static void expect_brute_force(const llmperf_config *c, int64_t most)
{
    llmperf_crossings all;
    llmperf_crossings_of(c, NULL, room(), &all, NULL);
    static const int ids[] = {LLMPERF_OP_MOE_GATE_UP, LLMPERF_OP_MOE_DOWN, -1};
    for (int i = 0; i < 3; i++) {
        llmperf_crossing got = all.dense;
        for (int o = 0; o < all.op_count && ids[i] >= 0; o++)
            if (all.op[o].id == ids[i])
                got = all.op[o].crossing;
        int64_t first = 0;
        for (int64_t b = 1; b <= most && first == 0; b++)
            if (dense_gap(c, b, ids[i]) >= 0)
                first = b;
        cr_expect(got.exists == (first > 0), "%d: %s", ids[i], got.why);
        cr_expect(got.batch == first, "%d: %" PRId64 ", by trying %" PRId64, ids[i], got.batch,
                  first);
    }
}

Test(moe, compute_bound_batch_by_trying_every_one)
{
    llmperf_hw part = h100(), other = a100();
    llmperf_model mixtral = moe_model(4096, 8, 2, 14336), qwen = moe_model(2048, 128, 8, 768);
    llmperf_config c = config_of(&mixtral, &part, &(llmperf_workload){.prompt = 1});
    expect_brute_force(&c, 4000);
    c = config_of(&qwen, &part, &(llmperf_workload){.prompt = 1});
    expect_brute_force(&c, 16000);
    c = config_of(&qwen, &other, &(llmperf_workload){.prompt = 1});
    expect_brute_force(&c, 16000);
    /* verification: q rows a sequence; skew: the hot experts fill first */
    c = config_of(&mixtral, &part, &(llmperf_workload){.prompt = 1, .query = 4});
    expect_brute_force(&c, 4000);
    mixtral.layers[0].moe.experts = 16;
    c = config_of(&mixtral, &part, &(llmperf_workload){.prompt = 1, .moe_skew = 1});
    expect_brute_force(&c, 4000);
    /* int4 experts under bf16 activations */
    c = config_of(&qwen, &part,
                  &(llmperf_workload){.prompt = 1, .weight_dtype = LLMPERF_DTYPE_INT4});
    expect_brute_force(&c, 16000);
}

/* H100, Mixtral's down: 1/m* = 1/295.343 - 1/4096 - 1/14336 = 0.00307199: m* = 325.5 rows; all 8
 * experts are touched by then, so b = 325.5 x 8 / 2 = 1302.1. */
Test(moe, compute_bound_batch_by_hand)
{
    llmperf_hw part = h100();
    llmperf_model model = moe_model(4096, 8, 2, 14336);
    llmperf_config c = config_of(&model, &part, &(llmperf_workload){.prompt = 1});
    llmperf_crossings all;
    llmperf_crossings_of(&c, NULL, room(), &all, NULL);
    for (int i = 0; i < all.op_count; i++)
        if (all.op[i].id == LLMPERF_OP_MOE_DOWN)
            cr_expect(is_near(all.op[i].crossing.exact, 1302.1, 1e-4) &&
                          all.op[i].crossing.batch == 1303,
                      "%g", all.op[i].crossing.exact);
}

/* By the formula of time itself, partial tiles and all. */
static double timed_gap(const llmperf_config *c, int64_t batch)
{
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(c, batch, c->workload.context);
    int count = llmperf_emit(c, &s, 1, LLMPERF_OPS_MAX, ops);
    double gap = 0;
    for (int i = 0; i < count; i++) {
        llmperf_time t;
        time_op(&ops[i], c->hw, c->calib, &t, NULL);
        if (ops[i].group == LLMPERF_GROUP_DENSE)
            gap += ops[i].repeat * (t.compute_s - t.memory_s);
    }
    return gap;
}

/*
 * A kernel that pays for whole tiles computes as much for 129 rows of an expert as for 256, so that at a
 * tile's beginning it looks compute-bound and at its end it is not. What is reported is the batch from which on
 * it is and stays so: that of whole tiles, the same for a kernel that pays for none. Qwen3-30B's layer,
 * experts reach e_c = 0.9 and e_m = 0.6: they need 128 to 256 rows.
 */
Test(moe, compute_bound_batch_does_not_fall_on_tile_edges)
{
    static llmperf_calib calib;
    llmperf_hw part = h100();
    llmperf_model model = moe_model(2048, 128, 8, 768);
    llmperf_crossings padded, plain;
    for (int tile = 0; tile <= 1; tile++) {
        llmperf_calib_entry entry = calib_ideal(LLMPERF_KIND_GEMM);
        calib_init(&calib);
        entry.param[LLMPERF_PARAM_COMPUTE] = 0.9;
        entry.param[LLMPERF_PARAM_MEMORY] = 0.6;
        entry.param[LLMPERF_PARAM_TILE] = tile;
        entry.covariance[LLMPERF_PARAM_MEMORY][LLMPERF_PARAM_MEMORY] = 0.012 * 0.012; /* 2 % */
        cr_assert(calib_set(&calib, LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16,
                            &entry, NULL) == LLMPERF_OK);
        llmperf_config c = config_of(&model, &part, &(llmperf_workload){.prompt = 1});
        c.calib = &calib;
        llmperf_crossings_of(&c, &calib, room(), tile ? &padded : &plain, NULL);
        const llmperf_crossing *dense = tile ? &padded.dense : &plain.dense;
        cr_assert(dense->exists, "%s", dense->why);
        for (int64_t b = dense->batch; b < 20 * dense->batch; b += 1 + b / 97)
            cr_assert(timed_gap(&c, b) >= 0, "tile %d: not compute-bound at %" PRId64, tile, b);
    }
    cr_expect(padded.dense.batch == plain.dense.batch, "%" PRId64 ", without padding %" PRId64,
              padded.dense.batch, plain.dense.batch);
    double rows = (double)padded.dense.batch * 8 / 128;
    cr_expect(fabs(rows - 256 * round(rows / 256)) > 4, "%g rows are a tile's edge", rows);
    /* 1.645 x 2 % of the ratio of efficiencies moves 1/R as much, the batch a little more */
    double down = (double)padded.dense.low / (double)padded.dense.batch;
    double up = (double)padded.dense.high / (double)padded.dense.batch;
    cr_expect(0.9 < down && down < 0.97 && 1.03 < up && up < 1.1, "%g to %g", down, up);
}

/* Two kinds of experts in one model: each has its own batch. A100, n = 8192, k = 4096 and E 64 of
 * which 2 are active: 1/m* = 1/153.016 - 1/8192 - 1/4096 = 0.00616906, 162.1 rows, b = 162.1 x 32. */
Test(moe, compute_bound_batch_of_each_kind_of_expert)
{
    llmperf_hw part = a100();
    llmperf_model model = moe_model(4096, 8, 2, 14336);
    model.layer_kind_count = 2;
    model.layers[1] = model.layers[0];
    model.layers[1].moe.experts = 64;
    model.layers[1].moe.ffn = 4096;
    llmperf_config c = config_of(&model, &part, &(llmperf_workload){.prompt = 1});
    llmperf_crossings all;
    llmperf_crossings_of(&c, NULL, room(), &all, NULL);
    int seen = 0;
    for (int i = 0; i < all.op_count; i++)
        if (all.op[i].id == LLMPERF_OP_MOE_GATE_UP && all.op[i].n == 8192) {
            seen++;
            cr_expect(is_near(all.op[i].crossing.exact, 5187.2, 1e-4), "%g",
                      all.op[i].crossing.exact);
        }
    cr_expect(seen == 1);
}
