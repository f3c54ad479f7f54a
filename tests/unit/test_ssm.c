/* SPDX-License-Identifier: MIT */
/*
 * State-space and linear-attention mixers, worked by hand on small widths: projections, convolution,
 * scan, the constant state, and what tensor parallelism splits.
 */
#include <criterion/criterion.h>

#include "random_case.h"
#include "config_object.h"
#include "config.h"

static llmperf_config config_of(const llmperf_model *model, const llmperf_workload *workload)
{
    llmperf_config c;
    llmperf_error error = {0};
    llmperf_status status = config_init(&c, model, NULL, NULL, workload, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return c;
}

/* h = 8, three layers, the given mixer in place of attention. */
static llmperf_model ssm_toy(llmperf_ssm ssm)
{
    llmperf_model model = toy_model();
    memset(&model.layers[0].attention, 0, sizeof model.layers[0].attention);
    model.layers[0].ssm = ssm;
    return model;
}

static const llmperf_ssm MAMBA = {.kind = LLMPERF_SSM_MAMBA,
                                  .heads = 1,
                                  .head_dim = 16,
                                  .state = 3,
                                  .groups = 1,
                                  .conv = 4,
                                  .dt_rank = 2,
                                  .conv_bias = true};
static const llmperf_ssm MAMBA2 = {.kind = LLMPERF_SSM_MAMBA2,
                                   .heads = 4,
                                   .head_dim = 2,
                                   .state = 3,
                                   .groups = 2,
                                   .conv = 4,
                                   .conv_bias = true};
static const llmperf_ssm DELTA = {
    .kind = LLMPERF_SSM_DELTA, .heads = 4, .head_dim = 2, .state = 3, .groups = 2, .conv = 4};
static const llmperf_ssm KDA = {
    .kind = LLMPERF_SSM_KDA, .heads = 4, .head_dim = 2, .state = 2, .groups = 4, .conv = 4};
static const llmperf_ssm LINEAR = {
    .kind = LLMPERF_SSM_LINEAR, .heads = 4, .head_dim = 2, .state = 2, .groups = 4};

/* What a mixer is on one device. */
typedef struct shape {
    const llmperf_ssm *ssm;
    int64_t tp;
    double inner, in, conv; /* columns of the projection, channels of the convolution */
    double state;           /* values of the state */
    double flop_per_value;
    int64_t linear, other; /* weights of the mixer in one layer, tp = 1 only */
} shape;

/*
 * mamba    in 2 x 16; conv 16; state 16 x 3. B, C and step 16 x (2 + 6), step 2 x 16.
 *          weights 8 x 32 + 16 x 8 + 16 x 8 + 2 x 16; other conv 16 x 5, step bias 16, A 48, D 16
 * mamba2   inner 8, B and C 2 x 3 each: in 16 + 12 + 4; conv 8 + 12; state 8 x 3.
 *          weights 8 x 32 + 8 x 8; other conv 20 x 5, A D bias 3 x 4, norm 8
 * delta    keys 6: in q k 12, v and gate 16, beta and decay 8; conv 12 + 8; state 8 x 3.
 *          weights 8 x 36 + 64; other conv 20 x 4, A and bias 8, norm of a head 2
 * kda      keys 8: in q k 16, v and gate 16, beta 4, low rank 2; conv 24; state 8 x 2.
 *          weights 8 x 38 + 64 + 2 x 8; other conv 24 x 4, A 4, bias 8, norm 2
 * linear   in q k v gate 32; no conv; state 8 x 2. weights 8 x 32 + 64; other norm 8
 */
static const shape SHAPES[] = {
    {&MAMBA, 1, 16, 32, 16, 48, 5, 256 + 128 + 128 + 32, 80 + 16 + 48 + 16},
    {&MAMBA2, 1, 8, 32, 20, 24, 5, 256 + 64, 100 + 12 + 8},
    {&DELTA, 1, 8, 36, 20, 24, 7, 288 + 64, 80 + 8 + 2},
    {&KDA, 1, 8, 38, 24, 16, 7, 304 + 64 + 16, 96 + 4 + 8 + 2},
    {&LINEAR, 1, 8, 32, 0, 16, 5, 256 + 64, 8},
    /* tp 2 halves heads and key heads (kda keeps its low rank of 2) */
    {&MAMBA, 2, 8, 16, 8, 24, 5, 0, 0},
    {&MAMBA2, 2, 4, 16, 10, 12, 5, 0, 0},
    {&DELTA, 2, 4, 18, 10, 12, 7, 0, 0},
    {&KDA, 2, 4, 4 * 4 + 2 + 2, 12, 8, 7, 0, 0},
    {&LINEAR, 2, 4, 16, 0, 8, 5, 0, 0},
    /* tp 4: two groups on four devices, each held twice: inner 2, keys 3 */
    {&MAMBA2, 4, 2, 4 + 6 + 1, 8, 6, 5, 0, 0},
    {&DELTA, 4, 2, 6 + 4 + 2, 8, 6, 7, 0, 0},
};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES };

Test(ssm, weights_by_hand)
{
    for (int i = 0; i < 5; i++) {
        llmperf_model model = ssm_toy(*SHAPES[i].ssm);
        llmperf_params params = llmperf_model_params(&model);
        cr_expect(params.by_class[LLMPERF_WEIGHT_SSM] == 3 * SHAPES[i].linear, "%d: %" PRId64, i,
                  params.by_class[LLMPERF_WEIGHT_SSM]);
        /* two norms of 8 a layer, the last one */
        cr_expect(params.by_class[LLMPERF_WEIGHT_OTHER] == 3 * (SHAPES[i].other + 16) + 8,
                  "%d: %" PRId64, i, params.by_class[LLMPERF_WEIGHT_OTHER]);
    }
}

/* b = 2 sequences of q = 3 tokens over any number of cached ones. */
Test(ssm, operators_by_hand)
{
    for (int i = 0; i < SHAPE_COUNT; i++) {
        const shape *w = &SHAPES[i];
        llmperf_model model = ssm_toy(*w->ssm);
        llmperf_config c =
            config_of(&model, &(llmperf_workload){.batch = 2, .query = 3, .tp = w->tp});
        llmperf_op ops[LLMPERF_OPS_MAX];
        llmperf_segment s = llmperf_decode_segment(&c, 2, 1000);
        int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
        const llmperf_op *in = find_op(ops, count, LLMPERF_OP_SSM_IN);
        const llmperf_op *conv = find_op(ops, count, LLMPERF_OP_SSM_CONV);
        const llmperf_op *scan = find_op(ops, count, LLMPERF_OP_SSM_SCAN);
        const llmperf_op *out = find_op(ops, count, LLMPERF_OP_SSM_OUT);
        cr_assert(in && scan && out, "%d", i);
        cr_expect(in->m == 6 && in->n == w->in && in->k == 8, "%d: n %g", i, in->n);
        cr_expect(out->m == 6 && out->n == 8 && out->k == w->inner, "%d: k %g", i, out->k);
        cr_expect(scan->flop == w->flop_per_value * 6 * w->state, "%d: flop %g", i, scan->flop);
        cr_expect(scan->kv_read_bytes == 2 * w->state * 4 &&
                      scan->kv_write_bytes == 2 * w->state * 4,
                  "%d: %g", i, scan->kv_read_bytes);
        cr_expect(scan->output_bytes == 6 * w->inner * 2);
        cr_expect(scan->kind == LLMPERF_KIND_SCAN && scan->group == LLMPERF_GROUP_ATTENTION);
        cr_expect((conv != NULL) == (w->conv > 0), "%d", i);
        if (conv) { /* 4 taps: the last 3 inputs of each channel are kept in 16 bit */
            cr_expect(conv->input_bytes == 6 * w->conv * 2 &&
                      conv->output_bytes == 6 * w->conv * 2);
            cr_expect(conv->flop == 6 * w->conv * (2 * 4 + 4));
            cr_expect(conv->kv_read_bytes == 2 * w->conv * 3 * 2, "%d: %g", i, conv->kv_read_bytes);
            cr_expect(conv->weight_bytes == w->conv * 4 * 2);
        }
        cr_expect(!find_op(ops, count, LLMPERF_OP_ATTN_QKV) &&
                  !find_op(ops, count, LLMPERF_OP_ATTN_CORE) &&
                  !find_op(ops, count, LLMPERF_OP_ROPE));
    }
}

/* Mamba's step: 16 -> 2 + 2 x 3, then 2 -> 16. KDA's decay: 2 -> 8. */
Test(ssm, low_rank_steps_by_hand)
{
    llmperf_model model = ssm_toy(MAMBA);
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 2});
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 2, 0);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    const llmperf_op *first = find_op(ops, count, LLMPERF_OP_SSM_DT);
    cr_assert(first);
    cr_expect(first->m == 2 && first->n == 8 && first->k == 16);
    cr_expect(first[1].id == LLMPERF_OP_SSM_DT && first[1].n == 16 && first[1].k == 2);
    model = ssm_toy(KDA);
    c = config_of(&model, &(llmperf_workload){.batch = 2});
    count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    first = find_op(ops, count, LLMPERF_OP_SSM_DT);
    cr_expect(first && first->m == 2 && first->n == 8 && first->k == 2);
}

/* The state is as large after a million tokens as after one, and so is what a step reads. */
Test(ssm, the_state_is_constant)
{
    for (int i = 0; i < SHAPE_COUNT; i++) {
        const shape *w = &SHAPES[i];
        llmperf_model model = ssm_toy(*w->ssm);
        llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 2, .tp = w->tp});
        double state = 3 * (w->state * 4 + w->conv * 3 * 2);
        cr_expect(llmperf_state_bytes(&c, 7) == 7 * state, "%d: %g", i, llmperf_state_bytes(&c, 7));
        if (w->tp == 1)
            cr_expect(llmperf_state_bytes_per_sequence(&model) == state);
        cr_expect(llmperf_kv_bytes(&c, 7, 4096) == 0);
        cr_expect(llmperf_kv_bytes_per_token(&model, 2) == 0 &&
                  llmperf_kv_bytes_per_token_long(&model, 2) == 0);
        llmperf_op few[LLMPERF_OPS_MAX], many[LLMPERF_OPS_MAX];
        llmperf_segment s = llmperf_decode_segment(&c, 2, 1);
        int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, few);
        s = llmperf_decode_segment(&c, 2, 1000000);
        cr_assert(llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, many) == count);
        for (int o = 0; o < count; o++)
            cr_expect(few[o].bytes == many[o].bytes && few[o].flop == many[o].flop, "%s",
                      llmperf_op_name((llmperf_op_id)few[o].id));
    }
}

/* Published: Nemotron-H 56B has 54 Mamba-2 blocks of 256 heads of 64 and 256 states, 8 groups. */
Test(ssm, state_of_a_known_model)
{
    llmperf_ssm ssm = {.kind = LLMPERF_SSM_MAMBA2,
                       .heads = 256,
                       .head_dim = 64,
                       .state = 256,
                       .groups = 8,
                       .conv = 4,
                       .conv_bias = true};
    llmperf_model model = ssm_toy(ssm);
    model.layers[0].count = 54;
    /* 16384 x 256 values of 4 bytes; (16384 + 2 x 8 x 256) x 3 taps of 2 bytes */
    cr_expect(llmperf_state_bytes_per_sequence(&model) == 54.0 * (16777216 + 122880));
}

/* Splitting heads that do not divide is refused. */
Test(ssm, illegal_degrees)
{
    llmperf_config c;
    llmperf_error error = {0};
    llmperf_model model = ssm_toy(MAMBA2); /* 4 heads */
    cr_expect(config_init(&c, &model, NULL, NULL, &(llmperf_workload){.tp = 8}, &error) ==
              LLMPERF_E_USAGE);
    model = ssm_toy(MAMBA); /* a width of 16 */
    cr_expect(config_init(&c, &model, NULL, NULL, &(llmperf_workload){.tp = 16}, &error) ==
              LLMPERF_OK);
    cr_expect(config_init(&c, &model, NULL, NULL, &(llmperf_workload){.tp = 3}, &error) ==
              LLMPERF_E_USAGE);
}

/* Chunks of a prompt: the same scan flop as the whole, the state once more a chunk. */
Test(ssm, prefill_chunks_add_up)
{
    llmperf_model model = ssm_toy(DELTA);
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
    llmperf_op ops[LLMPERF_OPS_MAX];
    double flop = 0, state = 0;
    for (int64_t start = 0; start < 1000; start += 250) {
        llmperf_segment s = {.sequences = 1, .query = 250, .past = start, .logits = 1};
        int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
        flop += find_op(ops, count, LLMPERF_OP_SSM_SCAN)->flop;
        state += find_op(ops, count, LLMPERF_OP_SSM_SCAN)->kv_read_bytes;
    }
    cr_expect(flop == 7.0 * 1000 * 24 && state == 4 * 24 * 4);
}
