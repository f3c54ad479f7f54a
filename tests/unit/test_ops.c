/* SPDX-License-Identifier: MIT */
/*
 * The operators of a step, to the last digit. The toy model (random_case.h) has h = 8, n = 4,
 * n_kv = 2, d = 2, f = 12, V = 10, L = 3; every number below is worked by hand from the formulas of
 * docs/model.md, "Operators". Widths: q 8, k 4, v 4, qkv 16; bf16: 2 bytes.
 */
#include <criterion/criterion.h>

#include "random_case.h"
#include "steps.h"
#include "config_object.h"
#include "config.h"

/* One expected operator. */
typedef struct row {
    int id;
    double repeat, m, n, k, flop, weight, input, output, kv_read, kv_write;
} row;

static const llmperf_hw *hw_of_test(void)
{
    static llmperf_hw hw;
    hw = toy_hw();
    return &hw;
}

static llmperf_config config_of(const llmperf_model *model, const llmperf_workload *workload)
{
    llmperf_config c;
    llmperf_error error = {0};
    llmperf_status status = config_init(&c, model, hw_of_test(), NULL, workload, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return c;
}

static void expect_field(const char *what, const char *op, const char *field, double got,
                         double want)
{
    if (got != want)
        cr_expect(false, "%s: %s %s is %.17g, by hand %.17g", what, op, field, got, want);
}

static void expect_ops(const char *what, const llmperf_config *c, const llmperf_segment *segments,
                       int segment_count, const row *rows, size_t row_count)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    int count = llmperf_emit(c, segments, segment_count, LLMPERF_OPS_MAX, ops);
    cr_expect(count == (int)row_count, "%s: %d operators, by hand %zu", what, count, row_count);
    cr_expect(count <= llmperf_emit_capacity(c, LLMPERF_SEGMENTS_MAX));
    for (int i = 0; i < count && i < (int)row_count; i++) {
        const llmperf_op *op = &ops[i];
        const row *want = &rows[i];
        const char *name = llmperf_op_name((llmperf_op_id)want->id);
        cr_assert(op->id == want->id, "%s: operator %d is %s, by hand %s", what, i,
                  llmperf_op_name((llmperf_op_id)op->id), name);
        expect_field(what, name, "repeat", op->repeat, want->repeat);
        expect_field(what, name, "m", op->m, want->m);
        expect_field(what, name, "n", op->n, want->n);
        expect_field(what, name, "k", op->k, want->k);
        expect_field(what, name, "flop", op->flop, want->flop);
        expect_field(what, name, "weight_bytes", op->weight_bytes, want->weight);
        expect_field(what, name, "input_bytes", op->input_bytes, want->input);
        expect_field(what, name, "output_bytes", op->output_bytes, want->output);
        expect_field(what, name, "kv_read_bytes", op->kv_read_bytes, want->kv_read);
        expect_field(what, name, "kv_write_bytes", op->kv_write_bytes, want->kv_write);
        expect_field(what, name, "bytes", op->bytes,
                     want->weight + want->input + want->output + want->kv_read + want->kv_write);
        cr_expect(op->stored == LLMPERF_DTYPE_NONE || op->kind == LLMPERF_KIND_GEMM);
    }
}

#define EXPECT_OPS(what, c, segments, rows)                                                        \
    expect_ops(what, c, segments, sizeof(segments) / sizeof *(segments), rows,                     \
               sizeof(rows) / sizeof *(rows))

/* The operator of an id in a step of one segment; static storage. */
static const llmperf_op *one_op(const llmperf_config *c, llmperf_segment segment, llmperf_op_id id)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    int count = llmperf_emit(c, &segment, 1, LLMPERF_OPS_MAX, ops);
    return find_op(ops, count, id);
}

/* ---- the plain block ---- */

/* b = 2, s = 5: T = 10 rows; P = 2 * (5 * 6 / 2) = 30 pairs; logits of 2 last tokens. */
Test(ops, prefill_by_hand)
{
    llmperf_model model = toy_model();
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 2, .prompt = 5});
    llmperf_segment segments[] = {{.sequences = 2, .query = 5, .past = 0, .logits = 2}};
    static const row rows[] = {
        /* T h w = 10 * 8 * 2 read, the same written */
        {LLMPERF_OP_EMBED, 1, 0, 0, 0, 0, 160, 0, 160, 0, 0},
        /* 80 values at 4 flop; 8 weights */
        {LLMPERF_OP_NORM, 3, 0, 0, 0, 320, 16, 160, 160, 0, 0},
        /* 2 * 10 * 16 * 8; 16 * 8 * 2; 10 * 8 * 2; 10 * 16 * 2 */
        {LLMPERF_OP_ATTN_QKV, 3, 10, 16, 8, 2560, 256, 160, 320, 0, 0},
        /* 10 * (8 + 4) = 120 values at 3 flop */
        {LLMPERF_OP_ROPE, 3, 0, 0, 0, 360, 0, 240, 240, 0, 0},
        /* 2 n (d + d) P = 2 * 4 * 4 * 30; q 2*5*4*2*2; K and V 2*5*2*4*2 */
        {LLMPERF_OP_ATTN_CORE, 3, 0, 0, 0, 960, 0, 160, 160, 160, 160},
        {LLMPERF_OP_ATTN_OUT, 3, 10, 8, 8, 1280, 128, 160, 160, 0, 0},
        {LLMPERF_OP_RESIDUAL, 3, 0, 0, 0, 80, 0, 160, 160, 0, 0},
        {LLMPERF_OP_NORM, 3, 0, 0, 0, 320, 16, 160, 160, 0, 0},
        /* gate and up: n = 24 */
        {LLMPERF_OP_MLP_GATE_UP, 3, 10, 24, 8, 3840, 384, 160, 480, 0, 0},
        /* 120 results at 5 flop, two inputs each */
        {LLMPERF_OP_MLP_ACT, 3, 0, 0, 0, 600, 0, 480, 240, 0, 0},
        {LLMPERF_OP_MLP_DOWN, 3, 10, 8, 12, 1920, 192, 240, 160, 0, 0},
        {LLMPERF_OP_RESIDUAL, 3, 0, 0, 0, 80, 0, 160, 160, 0, 0},
        {LLMPERF_OP_NORM, 1, 0, 0, 0, 320, 16, 160, 160, 0, 0},
        {LLMPERF_OP_LM_HEAD, 1, 2, 10, 8, 320, 160, 32, 40, 0, 0},
    };
    EXPECT_OPS("prefill", &c, segments, rows);
}

/* b = 2 over 5 cached tokens: each query attends 6; T = 2, P = 12. */
Test(ops, decode_by_hand)
{
    llmperf_model model = toy_model();
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 2, .prompt = 5});
    llmperf_segment segments[] = {llmperf_decode_segment(&c, 2, 5)};
    static const row rows[] = {
        {LLMPERF_OP_EMBED, 1, 0, 0, 0, 0, 32, 0, 32, 0, 0},
        {LLMPERF_OP_NORM, 3, 0, 0, 0, 64, 16, 32, 32, 0, 0},
        {LLMPERF_OP_ATTN_QKV, 3, 2, 16, 8, 512, 256, 32, 64, 0, 0},
        {LLMPERF_OP_ROPE, 3, 0, 0, 0, 72, 0, 48, 48, 0, 0},
        /* 32 * 12; K and V read 2 * 6 * 2 * 4 * 2, written 2 * 1 * 2 * 4 * 2 */
        {LLMPERF_OP_ATTN_CORE, 3, 0, 0, 0, 384, 0, 32, 32, 192, 32},
        {LLMPERF_OP_ATTN_OUT, 3, 2, 8, 8, 256, 128, 32, 32, 0, 0},
        {LLMPERF_OP_RESIDUAL, 3, 0, 0, 0, 16, 0, 32, 32, 0, 0},
        {LLMPERF_OP_NORM, 3, 0, 0, 0, 64, 16, 32, 32, 0, 0},
        {LLMPERF_OP_MLP_GATE_UP, 3, 2, 24, 8, 768, 384, 32, 96, 0, 0},
        {LLMPERF_OP_MLP_ACT, 3, 0, 0, 0, 120, 0, 96, 48, 0, 0},
        {LLMPERF_OP_MLP_DOWN, 3, 2, 8, 12, 384, 192, 48, 32, 0, 0},
        {LLMPERF_OP_RESIDUAL, 3, 0, 0, 0, 16, 0, 32, 32, 0, 0},
        {LLMPERF_OP_NORM, 1, 0, 0, 0, 64, 16, 32, 32, 0, 0},
        {LLMPERF_OP_LM_HEAD, 1, 2, 10, 8, 320, 160, 32, 40, 0, 0},
    };
    EXPECT_OPS("decode", &c, segments, rows);
}

/* q = 3 query tokens (two drafts verified) over 5 cached: P = 2 * (3*5 + 3*4/2) = 42; T = 6. */
Test(ops, verification_by_hand)
{
    llmperf_model model = toy_model();
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 2, .prompt = 5, .query = 3});
    llmperf_segment segments[] = {llmperf_decode_segment(&c, 2, 5)};
    static const row rows[] = {
        {LLMPERF_OP_EMBED, 1, 0, 0, 0, 0, 96, 0, 96, 0, 0},
        {LLMPERF_OP_NORM, 3, 0, 0, 0, 192, 16, 96, 96, 0, 0},
        {LLMPERF_OP_ATTN_QKV, 3, 6, 16, 8, 1536, 256, 96, 192, 0, 0},
        {LLMPERF_OP_ROPE, 3, 0, 0, 0, 216, 0, 144, 144, 0, 0},
        /* K and V: all 8 tokens read, 3 written */
        {LLMPERF_OP_ATTN_CORE, 3, 0, 0, 0, 1344, 0, 96, 96, 256, 96},
        {LLMPERF_OP_ATTN_OUT, 3, 6, 8, 8, 768, 128, 96, 96, 0, 0},
        {LLMPERF_OP_RESIDUAL, 3, 0, 0, 0, 48, 0, 96, 96, 0, 0},
        {LLMPERF_OP_NORM, 3, 0, 0, 0, 192, 16, 96, 96, 0, 0},
        {LLMPERF_OP_MLP_GATE_UP, 3, 6, 24, 8, 2304, 384, 96, 288, 0, 0},
        {LLMPERF_OP_MLP_ACT, 3, 0, 0, 0, 360, 0, 288, 144, 0, 0},
        {LLMPERF_OP_MLP_DOWN, 3, 6, 8, 12, 1152, 192, 144, 96, 0, 0},
        {LLMPERF_OP_RESIDUAL, 3, 0, 0, 0, 48, 0, 96, 96, 0, 0},
        {LLMPERF_OP_NORM, 1, 0, 0, 0, 192, 16, 96, 96, 0, 0},
        /* every query token needs logits: m = b q */
        {LLMPERF_OP_LM_HEAD, 1, 6, 10, 8, 960, 160, 96, 120, 0, 0},
    };
    EXPECT_OPS("verification", &c, segments, rows);
    cr_expect(one_op(&c, segments[0], LLMPERF_OP_ATTN_CORE)->regime == LLMPERF_REGIME_EXTEND);
}

typedef struct step_list {
    int count;
    int segments[8];
    double times[8];
    llmperf_segment segment[8][LLMPERF_SEGMENTS_MAX];
} step_list;

static void keep_step(const llmperf_segment *segments, int count, double times, void *context)
{
    step_list *list = context;
    cr_assert(list->count < 8 && count <= LLMPERF_SEGMENTS_MAX);
    list->segments[list->count] = count;
    list->times[list->count] = times;
    memcpy(list->segment[list->count], segments, (size_t)count * sizeof *segments);
    list->count++;
}

/*
 * Two prompts of 5 with 2 cached tokens each, in steps of at most 4: step 1 takes the 3 new tokens
 * of the first prompt and 1 of the second, step 2 the 2 that are left.
 */
Test(ops, chunked_prefill_with_cached_context_by_hand)
{
    llmperf_model model = toy_model();
    llmperf_workload w = {.batch = 2, .prompt = 5, .cached = 2, .chunk = 4};
    llmperf_config c = config_of(&model, &w);
    step_list list = {0};
    llmperf_prefill_steps(&c, 2, 4, keep_step, &list);
    cr_assert(list.count == 2);
    cr_expect(list.times[0] == 1 && list.times[1] == 1);
    const llmperf_segment *s = list.segment[0];
    cr_assert(list.segments[0] == 2 && list.segments[1] == 1);
    cr_expect(s[0].sequences == 1 && s[0].query == 3 && s[0].past == 2 && s[0].logits == 1);
    cr_expect(s[1].sequences == 1 && s[1].query == 1 && s[1].past == 2 && s[1].logits == 0);
    s = list.segment[1];
    cr_expect(s[0].sequences == 1 && s[0].query == 2 && s[0].past == 3 && s[0].logits == 1);

    static const row first[] = {
        {LLMPERF_OP_EMBED, 1, 0, 0, 0, 0, 64, 0, 64, 0, 0},
        {LLMPERF_OP_NORM, 3, 0, 0, 0, 128, 16, 64, 64, 0, 0},
        {LLMPERF_OP_ATTN_QKV, 3, 4, 16, 8, 1024, 256, 64, 128, 0, 0},
        {LLMPERF_OP_ROPE, 3, 0, 0, 0, 144, 0, 96, 96, 0, 0},
        /* pairs 3*2 + 3*4/2 = 12; reads 5 tokens * 2 heads * 4 * 2, writes 3 */
        {LLMPERF_OP_ATTN_CORE, 3, 0, 0, 0, 384, 0, 48, 48, 80, 48},
        /* pairs 1*2 + 1 = 3; reads 3 tokens, writes 1 */
        {LLMPERF_OP_ATTN_CORE, 3, 0, 0, 0, 96, 0, 16, 16, 48, 16},
        {LLMPERF_OP_ATTN_OUT, 3, 4, 8, 8, 512, 128, 64, 64, 0, 0},
        {LLMPERF_OP_RESIDUAL, 3, 0, 0, 0, 32, 0, 64, 64, 0, 0},
        {LLMPERF_OP_NORM, 3, 0, 0, 0, 128, 16, 64, 64, 0, 0},
        {LLMPERF_OP_MLP_GATE_UP, 3, 4, 24, 8, 1536, 384, 64, 192, 0, 0},
        {LLMPERF_OP_MLP_ACT, 3, 0, 0, 0, 240, 0, 192, 96, 0, 0},
        {LLMPERF_OP_MLP_DOWN, 3, 4, 8, 12, 768, 192, 96, 64, 0, 0},
        {LLMPERF_OP_RESIDUAL, 3, 0, 0, 0, 32, 0, 64, 64, 0, 0},
        {LLMPERF_OP_NORM, 1, 0, 0, 0, 128, 16, 64, 64, 0, 0},
        {LLMPERF_OP_LM_HEAD, 1, 1, 10, 8, 160, 160, 16, 20, 0, 0},
    };
    expect_ops("first chunk", &c, list.segment[0], 2, first, sizeof first / sizeof *first);

    /* pairs 2*3 + 2*3/2 = 9 */
    const llmperf_op *core = one_op(&c, list.segment[1][0], LLMPERF_OP_ATTN_CORE);
    cr_expect(core->flop == 32 * 9 && core->kv_read_bytes == 80 && core->kv_write_bytes == 32);
    cr_expect(core->regime == LLMPERF_REGIME_EXTEND);

    /* The whole: 3 * (12 + 3 + 9) pairs at 32 flop are those of both prompts unchunked,
     * 2 * (3*2 + 6) = 24. */
    llmperf_total total;
    cr_expect(llmperf_prefill_total(&c, 2, room(), &total) == 2);
    cr_expect(total.kv_write_bytes == 3 * (48 + 16 + 32));
    cr_expect(total.kv_read_bytes == 3 * (80 + 48 + 80));
}

/* A chunk in the middle of a prompt needs no logits: the head is not run at all. */
Test(ops, a_chunk_that_ends_no_prompt_runs_no_head)
{
    llmperf_model model = toy_model();
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5});
    llmperf_segment middle = {.sequences = 1, .query = 2, .past = 1, .logits = 0};
    cr_expect(one_op(&c, middle, LLMPERF_OP_LM_HEAD) == NULL);
    middle.logits = 1;
    cr_expect(one_op(&c, middle, LLMPERF_OP_LM_HEAD) != NULL);
}

Test(ops, logits_all_makes_the_head_as_high_as_the_step)
{
    llmperf_model model = toy_model();
    llmperf_workload w = {.batch = 2, .prompt = 5, .logits_all = true};
    llmperf_config c = config_of(&model, &w);
    llmperf_total all, last;
    llmperf_prefill_total(&c, 2, room(), &all);
    w.logits_all = false;
    c = config_of(&model, &w);
    llmperf_prefill_total(&c, 2, room(), &last);
    /* 10 rows in place of 2: 8 * 2 * 10 * 8 flop, 8 * (8 + 10) * 2 bytes more */
    cr_expect(all.flop - last.flop == 1280);
    cr_expect(all.bytes - last.bytes == 288);
}

/* ---- regimes ---- */

Test(ops, regimes_follow_query_and_past)
{
    static const struct {
        int64_t query, past;
        int regime;
    } rows[] = {
        {5, 0, LLMPERF_REGIME_PREFILL}, {1, 0, LLMPERF_REGIME_DECODE},
        {1, 7, LLMPERF_REGIME_DECODE},  {2, 7, LLMPERF_REGIME_EXTEND},
        {2, 0, LLMPERF_REGIME_PREFILL},
    };
    llmperf_model model = toy_model();
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        llmperf_segment s = {.sequences = 3, .query = rows[i].query, .past = rows[i].past};
        const llmperf_op *core = one_op(&c, s, LLMPERF_OP_ATTN_CORE);
        cr_expect(core->regime == rows[i].regime, "query %d past %d", (int)rows[i].query,
                  (int)rows[i].past);
        cr_expect(core->sequences == 3 && core->query_tokens == (double)rows[i].query &&
                  core->past_tokens == (double)rows[i].past && core->kv_heads == 2);
        cr_expect(one_op(&c, s, LLMPERF_OP_ATTN_QKV)->regime == LLMPERF_REGIME_NONE);
    }
}

Test(ops, kinds_groups_and_launches)
{
    llmperf_model model = toy_model();
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5, .tp = 2});
    static llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        bool is_gemm = op->kind == LLMPERF_KIND_GEMM;
        cr_expect((op->group == LLMPERF_GROUP_DENSE) == is_gemm);
        cr_expect((op->m > 0) == is_gemm);
        cr_expect((op->collective != LLMPERF_COLLECTIVE_NONE) ==
                  (op->kind == LLMPERF_KIND_COLLECTIVE));
        cr_expect(op->devices == (op->kind == LLMPERF_KIND_COLLECTIVE ? 2 : 1));
        /* the residual add rides in the norm behind it */
        cr_expect(op->launches == (op->id == LLMPERF_OP_RESIDUAL ? 0 : 1));
        cr_expect(op->repeat >= 1);
        if (op->kind == LLMPERF_KIND_COLLECTIVE)
            cr_expect(op->bytes == 0 && op->flop == 0 && op->link_bytes > 0);
        else
            cr_expect(op->link_bytes == 0);
    }
    cr_expect(find_op(ops, count, LLMPERF_OP_EMBED)->kind == LLMPERF_KIND_GATHER);
    cr_expect(find_op(ops, count, LLMPERF_OP_ATTN_CORE)->group == LLMPERF_GROUP_ATTENTION);
    cr_expect(find_op(ops, count, LLMPERF_OP_NORM)->kind == LLMPERF_KIND_ELEMENTWISE);
}

/* ---- unfused attention: the seed's batched products ---- */

/* b = 2, s = 5, prefill: scores b n q L = 2 * 4 * 5 * 5 = 200. */
Test(ops, unfused_prefill_by_hand)
{
    llmperf_model model = toy_model();
    llmperf_config c =
        config_of(&model, &(llmperf_workload){.batch = 2, .prompt = 5, .unfused = true});
    llmperf_segment s = {.sequences = 2, .query = 5, .past = 0, .logits = 2};
    cr_expect(one_op(&c, s, LLMPERF_OP_ATTN_CORE) == NULL);
    const llmperf_op *op = one_op(&c, s, LLMPERF_OP_ATTN_SCORES);
    cr_expect(op->flop == 800);         /* 2 d 200 */
    cr_expect(op->input_bytes == 320);  /* 8 (5*2 + 5*2) 2 */
    cr_expect(op->output_bytes == 400); /* 200 scores */
    cr_expect(op->kv_read_bytes == 0 && op->kv_write_bytes == 160);
    cr_expect(op->bytes == 880 && op->kind == LLMPERF_KIND_ATTENTION);
    op = one_op(&c, s, LLMPERF_OP_ATTN_SOFTMAX);
    cr_expect(op->flop == 1000); /* 5 a score */
    cr_expect(op->bytes == 800); /* 2 b n q L a */
    cr_expect(op->kind == LLMPERF_KIND_ELEMENTWISE && op->group == LLMPERF_GROUP_ATTENTION);
    op = one_op(&c, s, LLMPERF_OP_ATTN_VALUES);
    cr_expect(op->flop == 800);
    cr_expect(op->input_bytes == 560);  /* 8 (5*5 + 5*2) 2 */
    cr_expect(op->output_bytes == 160); /* 8 * 5 * 2 * 2 */
    cr_expect(op->kv_write_bytes == 0 && op->bytes == 720);
}

/* b = 2 over 5 cached: scores 2 * 4 * 1 * 6 = 48. */
Test(ops, unfused_decode_by_hand)
{
    llmperf_model model = toy_model();
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5, .unfused = true});
    llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
    const llmperf_op *op = one_op(&c, s, LLMPERF_OP_ATTN_SCORES);
    cr_expect(op->flop == 192 && op->input_bytes == 224); /* 8 (2 + 12) 2 */
    cr_expect(op->output_bytes == 96 && op->kv_write_bytes == 32);
    op = one_op(&c, s, LLMPERF_OP_ATTN_SOFTMAX);
    cr_expect(op->flop == 240 && op->bytes == 192);
    op = one_op(&c, s, LLMPERF_OP_ATTN_VALUES);
    cr_expect(op->flop == 192 && op->input_bytes == 288); /* 8 (6 + 12) 2 */
    cr_expect(op->output_bytes == 32);
}

/* ---- projections, parallel devices, formats ---- */

Test(ops, split_qkv_by_hand)
{
    llmperf_model model = toy_model();
    llmperf_config c =
        config_of(&model, &(llmperf_workload){.batch = 2, .prompt = 5, .split_qkv = true});
    llmperf_segment s = {.sequences = 2, .query = 5, .past = 0, .logits = 2};
    cr_expect(one_op(&c, s, LLMPERF_OP_ATTN_QKV) == NULL);
    const llmperf_op *op = one_op(&c, s, LLMPERF_OP_ATTN_Q);
    cr_expect(op->n == 8 && op->flop == 1280 && op->weight_bytes == 128);
    cr_expect(op->input_bytes == 160 && op->output_bytes == 160);
    op = one_op(&c, s, LLMPERF_OP_ATTN_K);
    cr_expect(op->n == 4 && op->flop == 640 && op->weight_bytes == 64);
    cr_expect(op->input_bytes == 160 && op->output_bytes == 80);
    op = one_op(&c, s, LLMPERF_OP_ATTN_V);
    cr_expect(op->n == 4 && op->flop == 640 && op->bytes == 64 + 160 + 80);
}

/* Half of the heads, of f and of V on each device; the residual stream whole on both. */
Test(ops, tp_two_by_hand)
{
    llmperf_model model = toy_model();
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5, .tp = 2});
    llmperf_segment segments[] = {llmperf_decode_segment(&c, 2, 5)};
    static const row rows[] = {
        {LLMPERF_OP_EMBED, 1, 0, 0, 0, 0, 32, 0, 32, 0, 0},
        {LLMPERF_OP_COMM_EMBED, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
        {LLMPERF_OP_NORM, 3, 0, 0, 0, 64, 16, 32, 32, 0, 0},
        /* q 4, k 2, v 2 */
        {LLMPERF_OP_ATTN_QKV, 3, 2, 8, 8, 256, 128, 32, 32, 0, 0},
        {LLMPERF_OP_ROPE, 3, 0, 0, 0, 36, 0, 24, 24, 0, 0},
        /* 2 heads, 1 KV head: 2 * 2 * 4 * 12; 2*6*1*4*2 */
        {LLMPERF_OP_ATTN_CORE, 3, 0, 0, 0, 192, 0, 16, 16, 96, 16},
        {LLMPERF_OP_ATTN_OUT, 3, 2, 8, 4, 128, 64, 16, 32, 0, 0},
        {LLMPERF_OP_COMM_ATTN, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0},
        {LLMPERF_OP_RESIDUAL, 3, 0, 0, 0, 16, 0, 32, 32, 0, 0},
        {LLMPERF_OP_NORM, 3, 0, 0, 0, 64, 16, 32, 32, 0, 0},
        {LLMPERF_OP_MLP_GATE_UP, 3, 2, 12, 8, 384, 192, 32, 48, 0, 0},
        {LLMPERF_OP_MLP_ACT, 3, 0, 0, 0, 60, 0, 48, 24, 0, 0},
        {LLMPERF_OP_MLP_DOWN, 3, 2, 8, 6, 192, 96, 24, 32, 0, 0},
        {LLMPERF_OP_COMM_MLP, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0},
        {LLMPERF_OP_RESIDUAL, 3, 0, 0, 0, 16, 0, 32, 32, 0, 0},
        {LLMPERF_OP_NORM, 1, 0, 0, 0, 64, 16, 32, 32, 0, 0},
        {LLMPERF_OP_LM_HEAD, 1, 2, 5, 8, 160, 80, 32, 20, 0, 0},
        {LLMPERF_OP_COMM_LOGITS, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
    };
    EXPECT_OPS("tp 2", &c, segments, rows);
    /* all-reduce 2 (N-1)/N = 1 times T h a = 32 bytes; all-gather 1/2 times 2 * 10 * 2 */
    cr_expect(one_op(&c, segments[0], LLMPERF_OP_COMM_EMBED)->link_bytes == 32);
    cr_expect(one_op(&c, segments[0], LLMPERF_OP_COMM_ATTN)->link_bytes == 32);
    cr_expect(one_op(&c, segments[0], LLMPERF_OP_COMM_MLP)->link_bytes == 32);
    cr_expect(one_op(&c, segments[0], LLMPERF_OP_COMM_LOGITS)->link_bytes == 20);
    cr_expect(one_op(&c, segments[0], LLMPERF_OP_COMM_LOGITS)->collective ==
              LLMPERF_COLLECTIVE_ALL_GATHER);
    cr_expect(one_op(&c, segments[0], LLMPERF_OP_COMM_MLP)->collective ==
              LLMPERF_COLLECTIVE_ALL_REDUCE);
}

/* 4 devices, 2 KV heads: each device holds a whole KV head, so each head is held twice. */
Test(ops, tp_beyond_kv_heads_replicates_them)
{
    llmperf_model model = toy_model();
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5, .tp = 4});
    llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
    const llmperf_op *op = one_op(&c, s, LLMPERF_OP_ATTN_QKV);
    cr_expect(op->n == 2 + 2 + 2); /* 1 head, 1 KV head */
    op = one_op(&c, s, LLMPERF_OP_ATTN_CORE);
    cr_expect(op->kv_heads == 1);
    cr_expect(op->flop == 2 * 1 * 4 * 12);
    cr_expect(op->kv_read_bytes == 2 * 6 * 1 * 4 * 2);
    cr_expect(one_op(&c, s, LLMPERF_OP_ATTN_OUT)->k == 2);
    /* V = 10 over 4 devices: 3 rows each, the last padded; f = 12: 3 */
    cr_expect(one_op(&c, s, LLMPERF_OP_LM_HEAD)->n == 3);
    cr_expect(one_op(&c, s, LLMPERF_OP_MLP_DOWN)->k == 3);
    /* 2 (4-1)/4 * 32 */
    cr_expect(one_op(&c, s, LLMPERF_OP_COMM_MLP)->link_bytes == 48);
}

/* Dense weights int4 (0.5 bytes), KV fp8 (1), activations bf16 (2); embedding, head stay bf16. */
Test(ops, mixed_formats_by_hand)
{
    llmperf_model model = toy_model();
    llmperf_workload w = {
        .prompt = 5, .weight_dtype = LLMPERF_DTYPE_INT4, .kv_dtype = LLMPERF_DTYPE_FP8};
    llmperf_config c = config_of(&model, &w);
    llmperf_segment segments[] = {llmperf_decode_segment(&c, 2, 5)};
    static const row rows[] = {
        {LLMPERF_OP_EMBED, 1, 0, 0, 0, 0, 32, 0, 32, 0, 0},
        {LLMPERF_OP_NORM, 3, 0, 0, 0, 64, 16, 32, 32, 0, 0},
        {LLMPERF_OP_ATTN_QKV, 3, 2, 16, 8, 512, 64, 32, 64, 0, 0},
        {LLMPERF_OP_ROPE, 3, 0, 0, 0, 72, 0, 48, 48, 0, 0},
        {LLMPERF_OP_ATTN_CORE, 3, 0, 0, 0, 384, 0, 32, 32, 96, 16},
        {LLMPERF_OP_ATTN_OUT, 3, 2, 8, 8, 256, 32, 32, 32, 0, 0},
        {LLMPERF_OP_RESIDUAL, 3, 0, 0, 0, 16, 0, 32, 32, 0, 0},
        {LLMPERF_OP_NORM, 3, 0, 0, 0, 64, 16, 32, 32, 0, 0},
        {LLMPERF_OP_MLP_GATE_UP, 3, 2, 24, 8, 768, 96, 32, 96, 0, 0},
        {LLMPERF_OP_MLP_ACT, 3, 0, 0, 0, 120, 0, 96, 48, 0, 0},
        {LLMPERF_OP_MLP_DOWN, 3, 2, 8, 12, 384, 48, 48, 32, 0, 0},
        {LLMPERF_OP_RESIDUAL, 3, 0, 0, 0, 16, 0, 32, 32, 0, 0},
        {LLMPERF_OP_NORM, 1, 0, 0, 0, 64, 16, 32, 32, 0, 0},
        {LLMPERF_OP_LM_HEAD, 1, 2, 10, 8, 320, 160, 32, 40, 0, 0},
    };
    EXPECT_OPS("int4 weights, fp8 cache", &c, segments, rows);
    /* int4 and bf16, fp8 and bf16: both fit into bf16 arithmetic */
    cr_expect(one_op(&c, segments[0], LLMPERF_OP_MLP_DOWN)->dtype == LLMPERF_DTYPE_BF16);
    cr_expect(one_op(&c, segments[0], LLMPERF_OP_ATTN_CORE)->dtype == LLMPERF_DTYPE_BF16);
    cr_expect(one_op(&c, segments[0], LLMPERF_OP_NORM)->dtype == LLMPERF_DTYPE_FP32);
}

/* A checkpoint that holds classes in formats of its own: embedding fp32, head fp8, MLP int8. */
Test(ops, classes_of_weights_keep_their_own_bits)
{
    llmperf_model model = toy_model();
    model.weight_dtype[LLMPERF_WEIGHT_EMBEDDING] = LLMPERF_DTYPE_FP32;
    model.weight_bits[LLMPERF_WEIGHT_EMBEDDING] = 32;
    model.weight_dtype[LLMPERF_WEIGHT_HEAD] = LLMPERF_DTYPE_FP8;
    model.weight_bits[LLMPERF_WEIGHT_HEAD] = 8;
    model.weight_dtype[LLMPERF_WEIGHT_MLP] = LLMPERF_DTYPE_INT8;
    model.weight_bits[LLMPERF_WEIGHT_MLP] = 8.25; /* scales included */
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5});
    llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
    cr_expect(one_op(&c, s, LLMPERF_OP_EMBED)->weight_bytes == 2 * 8 * 4);
    cr_expect(one_op(&c, s, LLMPERF_OP_LM_HEAD)->weight_bytes == 80);
    cr_expect(one_op(&c, s, LLMPERF_OP_MLP_DOWN)->weight_bytes == 96 * 8.25 / 8);
    cr_expect(one_op(&c, s, LLMPERF_OP_ATTN_QKV)->weight_bytes == 256);
    /* tied: the head is the table */
    model.tied = true;
    c = config_of(&model, &(llmperf_workload){.prompt = 5});
    cr_expect(one_op(&c, s, LLMPERF_OP_LM_HEAD)->weight_bytes == 80 * 4);
    cr_expect(one_op(&c, s, LLMPERF_OP_LM_HEAD)->dtype == LLMPERF_DTYPE_FP32);
}

/* ---- other blocks ---- */

/* Tables of width 6 under a model of width 8 (OPT-350m): projected in and out. */
Test(ops, narrow_embedding_is_projected)
{
    llmperf_model model = toy_model();
    model.embedding_dim = 6;
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5});
    llmperf_segment s = {.sequences = 2, .query = 5, .past = 0, .logits = 2};
    const llmperf_op *op = one_op(&c, s, LLMPERF_OP_EMBED);
    cr_expect(op->weight_bytes == 10 * 6 * 2 && op->output_bytes == 120);
    op = one_op(&c, s, LLMPERF_OP_EMBED_PROJECT);
    cr_expect(op->m == 10 && op->n == 8 && op->k == 6 && op->flop == 960);
    cr_expect(op->weight_bytes == 96 && op->repeat == 1);
    op = one_op(&c, s, LLMPERF_OP_HEAD_PROJECT);
    cr_expect(op->m == 2 && op->n == 6 && op->k == 8 && op->flop == 192);
    op = one_op(&c, s, LLMPERF_OP_LM_HEAD);
    cr_expect(op->m == 2 && op->n == 10 && op->k == 6 && op->flop == 240);
}

/* A second gather of T rows of the position table, added on the way: one flop a value. */
Test(ops, learned_positions_are_gathered)
{
    llmperf_model model = toy_model();
    model.position_embeddings = 32;
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5});
    llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
    const llmperf_op *op = one_op(&c, s, LLMPERF_OP_EMBED);
    cr_expect(op->weight_bytes == 32 && op->input_bytes == 32 && op->output_bytes == 32);
    cr_expect(op->flop == 16 && op->bytes == 96);
}

Test(ops, plain_ffn_has_one_up_projection)
{
    llmperf_model model = toy_model();
    model.layers[0].mlp.gated = false;
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5});
    llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
    cr_expect(one_op(&c, s, LLMPERF_OP_MLP_GATE_UP) == NULL);
    const llmperf_op *op = one_op(&c, s, LLMPERF_OP_MLP_UP);
    cr_expect(op->n == 12 && op->flop == 384 && op->weight_bytes == 192);
    op = one_op(&c, s, LLMPERF_OP_MLP_ACT);
    cr_expect(op->flop == 4 * 24 && op->input_bytes == 48 && op->output_bytes == 48);
}

/* One norm feeds both branches; one all-reduce and one residual add end the block. */
Test(ops, parallel_block_reduces_once)
{
    llmperf_model model = toy_model();
    model.layers[0].parallel = true;
    model.layers[0].norms = 1;
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5, .tp = 2});
    static llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops), norms = 0, residuals = 0,
        reduces = 0;
    for (int i = 0; i < count; i++) {
        norms += ops[i].id == LLMPERF_OP_NORM ? (int)ops[i].repeat : 0;
        residuals += ops[i].id == LLMPERF_OP_RESIDUAL;
        reduces += ops[i].id == LLMPERF_OP_COMM_ATTN || ops[i].id == LLMPERF_OP_COMM_MLP;
    }
    cr_expect(norms == 3 + 1); /* one a layer, and the last */
    cr_expect(residuals == 1 && reduces == 1);
}

/* Every launch that is listed runs at least once: a layer without norms lists none. */
Test(ops, a_layer_without_norms_lists_none)
{
    llmperf_model model = toy_model();
    model.layers[0].norms = 0;
    model.final_norm = false;
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5});
    llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
    cr_expect(one_op(&c, s, LLMPERF_OP_NORM) == NULL);
}

Test(ops, norms_by_kind_and_number)
{
    /* flop a value: RMS 4 (square, sum, scale, weight), layer norm 7; weights of width 8 */
    static const struct {
        int norm;
        double flop, weights;
    } rows[] = {
        {LLMPERF_NORM_RMS, 4, 8},
        {LLMPERF_NORM_LAYER, 7, 16},
        {LLMPERF_NORM_LAYER_NOBIAS, 7, 8},
        {LLMPERF_NORM_BARE, 7, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        llmperf_model model = toy_model();
        model.norm = (uint8_t)rows[i].norm;
        llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5});
        llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
        const llmperf_op *op = one_op(&c, s, LLMPERF_OP_NORM);
        cr_expect(op->flop == rows[i].flop * 16 && op->weight_bytes == rows[i].weights * 2);
    }
    /* Gemma 2: four a layer, two before each branch's end */
    llmperf_model model = toy_model();
    model.layers[0].norms = 4;
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5});
    static llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    double norms = 0;
    for (int i = 0; i < count; i++)
        norms += ops[i].id == LLMPERF_OP_NORM ? ops[i].repeat : 0;
    cr_expect(norms == 4 * 3 + 1);
    /* however many a layer has: half of them, rounded up, before attention */
    for (int64_t number = 0; number <= 8; number++) {
        model.layers[0].norms = number;
        c = config_of(&model, &(llmperf_workload){.prompt = 5});
        count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
        norms = 0;
        for (int i = 0; i < count; i++)
            norms += ops[i].id == LLMPERF_OP_NORM ? ops[i].repeat : 0;
        cr_expect(norms == (double)(3 * number + 1), "%d: %g", (int)number, norms);
        /* behind the embedding: none, or those of attention in all three layers */
        double before = ops[1].id == LLMPERF_OP_NORM ? ops[1].repeat : 0;
        cr_expect(before == 3 * ceil(0.5 * (double)number), "%d: %g", (int)number, before);
    }
    /* BLOOM: one more behind the embedding */
    model = toy_model();
    model.embedding_norm = true;
    c = config_of(&model, &(llmperf_workload){.prompt = 5});
    count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    cr_expect(ops[1].id == LLMPERF_OP_NORM && ops[1].repeat == 1);
}

Test(ops, qk_norm_by_kind)
{
    static const double weights[] = {0, 2 * 2, 8 + 4, 8 + 4}; /* none, head, full, per head */
    for (int kind = 1; kind < 4; kind++) {
        llmperf_model model = toy_model();
        model.layers[0].attention.qk_norm = (uint8_t)kind;
        llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5});
        static llmperf_op ops[LLMPERF_OPS_MAX];
        llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
        llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
        /* embed, norm, qkv, then q and k: 2 * 12 values */
        cr_expect(ops[3].id == LLMPERF_OP_NORM && ops[3].repeat == 3);
        cr_expect(ops[3].flop == 4 * 24 && ops[3].input_bytes == 48);
        cr_expect(ops[3].weight_bytes == weights[kind] * 2);
    }
}

/* Biases are parameters; a GEMM's bytes are n k, m k and m n alone (the contract). */
Test(ops, biases_move_no_bytes)
{
    llmperf_model plain = toy_model(), biased = toy_model();
    biased.layers[0].attention.qkv_bias = biased.layers[0].attention.out_bias = true;
    biased.layers[0].mlp.up_bias = biased.layers[0].mlp.down_bias = true;
    biased.head_bias = true;
    llmperf_config c = config_of(&plain, &(llmperf_workload){.prompt = 5});
    llmperf_config d = config_of(&biased, &(llmperf_workload){.prompt = 5});
    llmperf_total a, b;
    llmperf_prefill_total(&c, 1, room(), &a);
    llmperf_prefill_total(&d, 1, room(), &b);
    cr_expect(a.bytes == b.bytes && a.flop == b.flop);
    /* qkv 16, out 8, gate and up 24, down 8 in each of 3 layers; head 10 */
    cr_expect(llmperf_model_params(&biased).total - llmperf_model_params(&plain).total ==
              3 * (16 + 8 + 24 + 8) + 10);
}

/* Values of another width than keys: d_k = 2, d_v = 3. */
Test(ops, value_heads_of_another_width)
{
    llmperf_model model = toy_model();
    model.layers[0].attention.value_dim = 3;
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5});
    llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
    cr_expect(one_op(&c, s, LLMPERF_OP_ATTN_QKV)->n == 8 + 4 + 6);
    const llmperf_op *op = one_op(&c, s, LLMPERF_OP_ATTN_CORE);
    cr_expect(op->flop == 2 * 4 * 5 * 12);
    cr_expect(op->input_bytes == 2 * 4 * 2 * 2 && op->output_bytes == 2 * 4 * 3 * 2);
    cr_expect(op->kv_read_bytes == 2 * 6 * 2 * 5 * 2 && op->kv_write_bytes == 2 * 2 * 5 * 2);
    cr_expect(one_op(&c, s, LLMPERF_OP_ATTN_OUT)->k == 12);
    llmperf_workload w = {.prompt = 5, .unfused = true};
    c = config_of(&model, &w);
    op = one_op(&c, s, LLMPERF_OP_ATTN_VALUES);
    cr_expect(op->flop == 2 * 3 * 48 && op->input_bytes == 8 * (6 + 18) * 2);
    cr_expect(op->output_bytes == 8 * 3 * 2);
}

Test(ops, layer_shapes_come_in_order)
{
    llmperf_model model = toy_model();
    model.layer_kind_count = 2;
    model.layers[1] = model.layers[0];
    model.layers[1].count = 5;
    model.layers[1].attention.window = 2;
    llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5});
    static llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 2, 5);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops), cores = 0;
    for (int i = 0; i < count; i++)
        if (ops[i].id == LLMPERF_OP_ATTN_CORE) {
            cr_expect(ops[i].repeat == (cores ? 5 : 3));
            cr_expect(ops[i].flop == 32 * 2 * (cores ? 2 : 6));
            cores++;
        }
    cr_expect(cores == 2);
}

/* ---- windows, counted one (query, key) at a time ---- */

Test(ops, window_pairs_and_keys_by_brute_force)
{
    llmperf_model model = toy_model();
    long checked = 0;
    for (int64_t window = 0; window <= 12; window++) {
        model.layers[0].attention.window = window;
        llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = 5});
        for (int64_t query = 1; query <= 14; query++)
            for (int64_t past = 0; past <= 14; past++) {
                int64_t pairs = 0, keys = 0;
                bool seen[32] = {false};
                for (int64_t i = past; i < past + query; i++)
                    for (int64_t key = 0; key <= i; key++)
                        if (window == 0 || key > i - window) {
                            pairs++;
                            seen[key] = true;
                        }
                for (int64_t key = 0; key < past + query; key++)
                    keys += seen[key];
                llmperf_segment s = {.sequences = 3, .query = query, .past = past};
                const llmperf_op *op = one_op(&c, s, LLMPERF_OP_ATTN_CORE);
                if (op->flop != (double)(32 * 3 * pairs) ||
                    op->kv_read_bytes != (double)(3 * keys * 2 * 4 * 2))
                    cr_expect(false, "window %d query %d past %d: flop %g read %g, by hand %g %g",
                              (int)window, (int)query, (int)past, op->flop, op->kv_read_bytes,
                              32.0 * 3 * (double)pairs, 3.0 * 16 * (double)keys);
                checked++;
            }
    }
    cr_expect(checked == 13 * 14 * 15);
}

/* ---- schedules of a chunked prefill ---- */

/* A step as the part each prompt has in it: (query, past, ends). Two equal steps hash alike. */
static uint64_t mix(uint64_t hash, int64_t query, int64_t past, bool ends)
{
    rng r = {.state = hash ^ ((uint64_t)query * 1000003u + (uint64_t)past * 10007u + ends)};
    return rng_next(&r);
}

typedef struct schedule {
    bool logits_all;
    int64_t fresh, cached;
    double steps, tokens, pairs, logits;
    uint64_t hashes; /* sum over the steps */
} schedule;

static void count_part(schedule *k, uint64_t *hash, int64_t query, int64_t past, double times)
{
    bool ends = past + query == k->cached + k->fresh;
    *hash = mix(*hash, query, past, ends);
    k->tokens += times * (double)query;
    k->pairs += times * (double)(query * past + query * (query + 1) / 2);
    k->logits += times * (double)(k->logits_all ? query : ends);
}

static void count_step(const llmperf_segment *segments, int count, double times, void *context)
{
    schedule *k = context;
    uint64_t hash = 0;
    double logits = 0, before = k->logits;
    for (int i = 0; i < count; i++) {
        logits += times * (double)segments[i].logits;
        for (int64_t j = 0; j < segments[i].sequences; j++)
            count_part(k, &hash, segments[i].query, segments[i].past, times);
    }
    cr_expect(k->logits - before == logits, "segments say %g logits", logits);
    k->steps += times;
    k->hashes += hash * (uint64_t)times;
}

/* All prompts laid end to end; each step takes the next `chunk` tokens. */
static void simulate(schedule *k, int64_t batch, int64_t chunk)
{
    int64_t at = 0, total = batch * k->fresh;
    while (at < total) {
        int64_t room = total - at < chunk ? total - at : chunk;
        uint64_t hash = 0;
        while (room > 0) {
            int64_t done = at % k->fresh;
            int64_t query = k->fresh - done < room ? k->fresh - done : room;
            count_part(k, &hash, query, k->cached + done, 1);
            at += query;
            room -= query;
        }
        k->steps++;
        k->hashes += hash;
    }
}

static void compare_schedule(int64_t batch, int64_t fresh, int64_t cached, int64_t chunk,
                             bool logits_all)
{
    llmperf_model model = toy_model();
    llmperf_workload w = {.batch = batch,
                          .prompt = fresh + cached,
                          .cached = cached,
                          .chunk = chunk,
                          .logits_all = logits_all};
    llmperf_config c = config_of(&model, &w);
    schedule got = {.fresh = fresh, .cached = cached, .logits_all = logits_all}, want = got;
    llmperf_prefill_steps(&c, batch, chunk, count_step, &got);
    simulate(&want, batch, chunk);
    bool same = got.steps == want.steps && got.tokens == want.tokens && got.pairs == want.pairs &&
                got.logits == want.logits && got.hashes == want.hashes;
    if (!same)
        cr_expect(false,
                  "b %d s %d cached %d chunk %d: steps %g tokens %g pairs %g logits %g, simulated "
                  "%g %g %g %g",
                  (int)batch, (int)fresh, (int)cached, (int)chunk, got.steps, got.tokens, got.pairs,
                  got.logits, want.steps, want.tokens, want.pairs, want.logits);
    /* and in closed form */
    int64_t total = batch * fresh;
    double pairs = (double)(batch * (fresh * cached + fresh * (fresh + 1) / 2));
    if (got.steps != (double)((total + chunk - 1) / chunk) || got.tokens != (double)total ||
        got.pairs != pairs)
        cr_expect(false, "b %d s %d cached %d chunk %d: closed form", (int)batch, (int)fresh,
                  (int)cached, (int)chunk);
}

Test(ops, prefill_steps_equal_a_simulation_of_the_schedule)
{
    for (int64_t batch = 1; batch <= 7; batch++)
        for (int64_t fresh = 1; fresh <= 9; fresh++)
            for (int64_t cached = 0; cached <= 4; cached += 2)
                for (int64_t chunk = 1; chunk <= 70; chunk += chunk < 20 ? 1 : 7)
                    compare_schedule(batch, fresh, cached, chunk, batch % 2 == 0);
}

Test(ops, prefill_steps_equal_a_simulation_at_random_sizes)
{
    rng r = {.state = 20260506};
    for (int i = 0; i < CASES(3000); i++) {
        int64_t batch = rng_log_int(&r, 1, 300), fresh = rng_log_int(&r, 1, 3000);
        int64_t cached = rng_chance(&r, 0.5) ? 0 : rng_int(&r, 0, 3000);
        int64_t chunk = rng_log_int(&r, batch * fresh / 300 + 1, 2 * batch * fresh);
        compare_schedule(batch, fresh, cached, chunk, rng_chance(&r, 0.5));
    }
}

/* Pairs, and so the flop of attention, do not depend on the chunk; each step reads all weights. */
Test(ops, chunks_add_up_to_the_whole_prefill)
{
    llmperf_model model = toy_model();
    llmperf_workload w = {.batch = 3, .prompt = 50, .chunk = 1000, .logits_all = true};
    llmperf_config c = config_of(&model, &w);
    llmperf_total whole;
    cr_expect(llmperf_prefill_total(&c, 3, room(), &whole) == 1);
    for (int64_t chunk = 1; chunk <= 160; chunk++) {
        w.chunk = chunk;
        c = config_of(&model, &w);
        llmperf_total total;
        double steps = llmperf_prefill_total(&c, 3, room(), &total);
        cr_expect(steps == ceil(150.0 / (double)chunk));
        cr_expect(total.flop == whole.flop, "chunk %d: %.17g, whole %.17g", (int)chunk, total.flop,
                  whole.flop);
        cr_expect(total.kv_write_bytes == whole.kv_write_bytes);
        cr_expect(total.kv_read_bytes >= whole.kv_read_bytes);
        /* GEMM weights 3 (256+128+384+192) + 160, norms 7 * 16; embedding 150 * 16 once */
        cr_expect(total.weight_bytes == steps * (3 * 960 + 160 + 112) + 2400);
    }
}

/* A window caps the pairs of a chunked prefill exactly as of a whole one. */
Test(ops, chunks_add_up_under_a_window)
{
    llmperf_model model = toy_model();
    model.layers[0].attention.window = 7;
    llmperf_workload w = {.batch = 2, .prompt = 40, .chunk = 1000, .logits_all = true};
    llmperf_config c = config_of(&model, &w);
    llmperf_total whole;
    llmperf_prefill_total(&c, 2, room(), &whole);
    for (int64_t chunk = 1; chunk <= 80; chunk++) {
        w.chunk = chunk;
        c = config_of(&model, &w);
        llmperf_total total;
        llmperf_prefill_total(&c, 2, room(), &total);
        cr_expect(total.flop == whole.flop, "chunk %d", (int)chunk);
    }
}

/* ---- names ---- */

Test(ops, names_read_back)
{
    for (int i = 0; i < LLMPERF_OP_COUNT; i++)
        cr_expect(llmperf_op_parse(llmperf_op_name((llmperf_op_id)i)) == (llmperf_op_id)i);
    cr_expect(llmperf_op_parse("attn.nothing") == LLMPERF_OP_COUNT);
    cr_expect_str_eq(llmperf_op_name(LLMPERF_OP_ATTN_CORE), "attn.core");
    cr_expect_str_eq(llmperf_op_name(LLMPERF_OP_COUNT), "?");
    cr_expect_str_eq(llmperf_kind_name(LLMPERF_KIND_COLLECTIVE), "collective");
    cr_expect_str_eq(llmperf_group_name(LLMPERF_GROUP_DENSE), "dense");
    cr_expect(llmperf_regime_name(LLMPERF_REGIME_NONE) == NULL);
    cr_expect_str_eq(llmperf_regime_name(LLMPERF_REGIME_EXTEND), "extend");
}
