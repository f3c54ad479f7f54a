/* SPDX-License-Identifier: MIT */
/*
 * The claims of the article this project began with ("LLM inference batching and throughput"),
 * each as it follows from the counts. 16-bit formats, so one element is 2 bytes.
 */
#include <criterion/criterion.h>

#include "random_case.h"
#include "steps.h"
#include "config_object.h"
#include "config.h"
#include "time_op.h"

static llmperf_config config_on(const llmperf_model *model, const llmperf_hw *hw,
                                const llmperf_workload *workload)
{
    llmperf_config c;
    llmperf_error error = {0};
    llmperf_status status = config_init(&c, model, hw, NULL, workload, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return c;
}

static llmperf_op op_of(const llmperf_config *c, llmperf_segment segment, llmperf_op_id id)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    int count = llmperf_emit(c, &segment, 1, LLMPERF_OPS_MAX, ops);
    const llmperf_op *op = find_op(ops, count, id);
    cr_assert(op != NULL);
    return *op;
}

static double intensity(const llmperf_op *op)
{
    return op->flop / op->bytes;
}

/* A plain block: MHA, f = 4 h, not gated, h = 4096, 32 heads of 128. */
static llmperf_model plain_block(void)
{
    llmperf_model model = llama_like("plain", 32, 4096, 32, 32, 128, 4 * 4096, 50000);
    model.layers[0].mlp.gated = false;
    return model;
}

static llmperf_segment prefill_of(int64_t batch, int64_t prompt)
{
    return (llmperf_segment){.sequences = batch, .query = prompt, .past = 0, .logits = batch};
}

/* ---- dense layers ---- */

/* "O(1 / (1/h + 1/(bs)))": exactly 1 / (1/m + 1/n + 1/k) with m = b s, n = k = h. */
Test(seed, prefill_intensity_of_a_dense_layer_follows_h_and_bs)
{
    llmperf_model model = plain_block();
    llmperf_hw hw = a100();
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){0});
    for (int64_t b = 1; b <= 64; b *= 2)
        for (int64_t s = 1; s <= 4096; s *= 4) {
            double m = (double)(b * s);
            llmperf_op op = op_of(&c, prefill_of(b, s), LLMPERF_OP_ATTN_OUT);
            cr_expect(is_near(intensity(&op), 1 / (1 / m + 2 / 4096.0), 1e-14));
            op = op_of(&c, prefill_of(b, s), LLMPERF_OP_MLP_UP);
            cr_expect(is_near(intensity(&op), 1 / (1 / m + 1 / 16384.0 + 1 / 4096.0), 1e-14));
        }
}

/* Batch and length count alike: b prompts of s tokens are s prompts of b to a dense layer. */
Test(seed, prefill_is_symmetric_in_batch_and_length)
{
    static const int ids[] = {LLMPERF_OP_ATTN_QKV, LLMPERF_OP_ATTN_OUT, LLMPERF_OP_MLP_UP,
                              LLMPERF_OP_MLP_DOWN};
    llmperf_model model = plain_block();
    llmperf_hw hw = a100();
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){0});
    for (int64_t b = 1; b <= 100; b += 7)
        for (int64_t s = 1; s <= 2000; s += 111)
            for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
                llmperf_op one = op_of(&c, prefill_of(b, s), (llmperf_op_id)ids[i]);
                llmperf_op other = op_of(&c, prefill_of(s, b), (llmperf_op_id)ids[i]);
                cr_expect(one.flop == other.flop && one.bytes == other.bytes);
            }
}

/* "O(1 / (1/h + 1/b))": with one token a sequence m = b, so intensity grows with the batch. */
Test(seed, decode_intensity_of_a_dense_layer_follows_h_and_b)
{
    llmperf_model model = plain_block();
    llmperf_hw hw = a100();
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){0});
    double last = 0;
    for (int64_t b = 1; b <= 65536; b *= 2) {
        llmperf_op op = op_of(&c, llmperf_decode_segment(&c, b, 1000), LLMPERF_OP_ATTN_OUT);
        double got = intensity(&op);
        cr_expect(is_near(got, 1 / (1 / (double)b + 2 / 4096.0), 1e-14));
        cr_expect(got > last);
        last = got;
    }
    /* a GEMV: about one flop a byte; and never more than h / 2 */
    llmperf_op op = op_of(&c, llmperf_decode_segment(&c, 1, 1000), LLMPERF_OP_ATTN_OUT);
    cr_expect(is_near(intensity(&op), 1, 1e-3));
    cr_expect(last < 2048 && last > 1900);
}

/* "batching does not raise latency": a dense layer takes as long for 64 sequences as for one,
 * within what its activations add, until it turns compute-bound at 166. */
Test(seed, dense_time_is_flat_until_the_crossing)
{
    llmperf_model model = plain_block();
    llmperf_hw hw = a100();
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){0});
    double t[3];
    static const int64_t batches[] = {1, 64, 332};
    for (int i = 0; i < 3; i++) {
        llmperf_op op =
            op_of(&c, llmperf_decode_segment(&c, batches[i], 1000), LLMPERF_OP_ATTN_OUT);
        t[i] = time_op(&op, &hw, NULL, NULL, NULL);
    }
    /* bytes grow by 63 * 2 * 4096 on 4096^2: 3 % */
    cr_expect(is_near(t[1] / t[0], (1 + 2 * 64 / 4096.0) / (1 + 2 / 4096.0), 1e-12));
    /* beyond it time is flop over peak: 332 rows */
    cr_expect(is_near(t[2], 2 * 332 * 4096.0 * 4096.0 / 312e12, 1e-12));
}

/* ---- attention ---- */

static double attention_intensity(const llmperf_config *c, llmperf_segment segment)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    int count = llmperf_emit(c, &segment, 1, LLMPERF_OPS_MAX, ops);
    double flop = 0, bytes = 0;
    for (int i = 0; i < count; i++)
        if (ops[i].group == LLMPERF_GROUP_ATTENTION) {
            flop += ops[i].flop;
            bytes += ops[i].bytes;
        }
    return flop / bytes;
}

/* "batch size does not change the arithmetic intensity of an attention matmul": fused and unfused,
 * prefill and decode, flop and bytes grow alike. */
Test(seed, attention_intensity_does_not_move_with_the_batch)
{
    llmperf_model model = plain_block();
    llmperf_hw hw = a100();
    for (int form = 0; form < 4; form++) {
        bool unfused = form & 1, decode = form & 2;
        model.layers[0].attention.kv_heads = form == 3 ? 8 : 32;
        llmperf_config c = config_on(&model, &hw, &(llmperf_workload){.unfused = unfused});
        double alone = attention_intensity(&c, decode ? llmperf_decode_segment(&c, 1, 777)
                                                      : prefill_of(1, 777));
        for (int64_t b = 2; b <= 4096; b *= 2) {
            double got = attention_intensity(&c, decode ? llmperf_decode_segment(&c, b, 777)
                                                        : prefill_of(b, 777));
            cr_expect(is_near(got, alone, 1e-14), "unfused %d decode %d b %d: %g, alone %g",
                      unfused, decode, (int)b, got, alone);
        }
    }
}

/* "batching attention raises latency clearly": its time is that of one sequence, times b. */
Test(seed, attention_time_grows_with_the_batch)
{
    llmperf_model model = plain_block();
    llmperf_hw hw = a100();
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){0});
    llmperf_op one = op_of(&c, llmperf_decode_segment(&c, 1, 2000), LLMPERF_OP_ATTN_CORE);
    llmperf_op many = op_of(&c, llmperf_decode_segment(&c, 48, 2000), LLMPERF_OP_ATTN_CORE);
    cr_expect(is_near(time_op(&many, &hw, NULL, NULL, NULL),
                      48 * time_op(&one, &hw, NULL, NULL, NULL), 1e-13));
}

/*
 * QK^T of one head: 2 s^2 d flop over 2 (s d + s d + s^2) bytes = s d / (2 d + s). The article's
 * s^2 d / (3 s d) = s / 3 takes the scores to be s d large; that holds at s = d. For long prompts
 * the scores dominate and the intensity tends to d.
 */
Test(seed, unfused_prefill_is_s_over_three_at_s_equal_d_and_tends_to_d)
{
    llmperf_model model = plain_block(); /* d = 128 */
    llmperf_hw hw = a100();
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){.unfused = true});
    static const int ids[] = {LLMPERF_OP_ATTN_SCORES, LLMPERF_OP_ATTN_VALUES};
    for (int i = 0; i < 2; i++) {
        for (int64_t s = 1; s <= 1 << 20; s *= 2) {
            llmperf_op op = op_of(&c, prefill_of(3, s), (llmperf_op_id)ids[i]);
            double product = op.flop / (op.input_bytes + op.output_bytes); /* no cache write */
            double want = (double)s * 128 / (2 * 128 + (double)s);
            cr_expect(is_near(product, want, 1e-14), "s %d: %g, %g", (int)s, product, want);
            if (s == 128)
                cr_expect(is_near(product, 128 / 3.0, 1e-14));
            if (s == 1 << 20)
                cr_expect(is_near(product, 128, 1e-3));
            cr_expect(product < 128);
        }
    }
}

/* Fused, scores stay on chip: causal flop 4 n d s (s+1)/2 over 2 (q + result + K, V read and
 * written) = 2 * 6 s n d bytes at n_kv = n: (s + 1) / 6, as s. */
Test(seed, fused_prefill_grows_as_the_prompt)
{
    llmperf_model model = plain_block();
    llmperf_hw hw = a100();
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){0});
    for (int64_t s = 2; s <= 1 << 17; s *= 2)
        cr_expect(is_near(attention_intensity(&c, prefill_of(5, s)), ((double)s + 1) / 6, 1e-14));
}

/* Decode: 4 n d L flop over 4 L n_kv d bytes of cache: n / n_kv; the q, result and write fade. */
Test(seed, fused_decode_tends_to_heads_per_kv_head)
{
    llmperf_model model = plain_block();
    llmperf_hw hw = a100();
    for (int64_t kv = 1; kv <= 32; kv *= 2) {
        model.layers[0].attention.kv_heads = kv;
        llmperf_config c = config_on(&model, &hw, &(llmperf_workload){0});
        double want = 32.0 / (double)kv;
        double got = attention_intensity(&c, llmperf_decode_segment(&c, 7, 100000));
        cr_expect(is_near(got, want, 2e-3), "n_kv %d: %g, about %g", (int)kv, got, want);
        cr_expect(got < want);
    }
}

/* Unfused decode: each product 2 L d over 2 (d + L d + L), about d / (d + 1); K and V expanded,
 * so grouped heads do not help. */
Test(seed, unfused_decode_is_about_one)
{
    llmperf_model model = plain_block();
    llmperf_hw hw = a100();
    for (int64_t kv = 1; kv <= 32; kv *= 2) {
        model.layers[0].attention.kv_heads = kv;
        llmperf_config c = config_on(&model, &hw, &(llmperf_workload){.unfused = true});
        llmperf_segment s = llmperf_decode_segment(&c, 7, 100000);
        llmperf_op op = op_of(&c, s, LLMPERF_OP_ATTN_SCORES);
        cr_expect(is_near(intensity(&op), 128.0 / 129, 1e-3), "%g", intensity(&op));
        op = op_of(&c, s, LLMPERF_OP_ATTN_VALUES);
        cr_expect(is_near(intensity(&op), 128.0 / 129, 1e-3), "%g", intensity(&op));
    }
}

/* ---- where the weights are ---- */

/* "dense layers hold 9 h^2, attention 3 h^2": QKV projection against output projection and FFN. */
Test(seed, a_plain_block_holds_three_and_nine_h_squared)
{
    llmperf_model model = plain_block();
    llmperf_hw hw = a100();
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){0});
    llmperf_segment s = llmperf_decode_segment(&c, 1, 100);
    double h2 = 4096.0 * 4096.0 * 2; /* bytes */
    llmperf_op qkv = op_of(&c, s, LLMPERF_OP_ATTN_QKV), out = op_of(&c, s, LLMPERF_OP_ATTN_OUT);
    llmperf_op up = op_of(&c, s, LLMPERF_OP_MLP_UP), down = op_of(&c, s, LLMPERF_OP_MLP_DOWN);
    cr_expect(qkv.weight_bytes == 3 * h2);
    cr_expect(out.weight_bytes + up.weight_bytes + down.weight_bytes == 9 * h2);
    /* and in parameters: 32 layers of 12 h^2 */
    llmperf_params p = llmperf_model_params(&model);
    cr_expect(p.by_class[LLMPERF_WEIGHT_ATTENTION] == 32 * 4 * (int64_t)4096 * 4096);
    cr_expect(p.by_class[LLMPERF_WEIGHT_MLP] == 32 * 8 * (int64_t)4096 * 4096);
}

/* "batching pays in decode, by its dense layers": 32 sequences on a short context give nearly 32
 * times the tokens; on a long one attention takes most of the gain. */
Test(seed, batching_pays_in_decode_until_attention_takes_it)
{
    llmperf_model model = plain_block();
    llmperf_hw hw = a100();
    static const struct {
        int64_t context;
        double least, most;
    } rows[] = {{16, 28, 32}, {200000, 1, 1.2}};
    for (int i = 0; i < 2; i++) {
        llmperf_workload w = {.context = rows[i].context, .has_context = true};
        llmperf_config c = config_on(&model, &hw, &w);
        double gain = 32 * llmperf_tpot(&c, 1, room()) / llmperf_tpot(&c, 32, room());
        cr_expect(gain > rows[i].least && gain <= rows[i].most, "context %d: %g times",
                  (int)rows[i].context, gain);
    }
}

/* "batching a prefill gains little": a prompt of 2048 tokens is compute-bound by itself. */
Test(seed, batching_does_not_pay_in_prefill)
{
    llmperf_model model = plain_block();
    llmperf_hw hw = a100();
    llmperf_config c =
        config_on(&model, &hw, &(llmperf_workload){.prompt = 2048, .chunk = 1 << 20});
    llmperf_total one, many;
    llmperf_prefill_total(&c, 1, room(), &one);
    llmperf_prefill_total(&c, 16, room(), &many);
    double gain = 16 * one.time_s / many.time_s;
    cr_expect(gain >= 1 && gain < 1.05, "%g times", gain);
}
