/* SPDX-License-Identifier: MIT */
/*
 * Multi-head latent attention and the indexer of sparse attention, worked by hand with the
 * dimensions of DeepSeek-V3: 128 heads of 128 + 64 (values 128), latents 1536 and 512.
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

static llmperf_model deepseek(void)
{
    llmperf_model model = llama_like("mla", 61, 7168, 128, 128, 128, 18432, 129280);
    memset(&model.layers[0].attention, 0, sizeof model.layers[0].attention);
    model.layers[0].mla = (llmperf_mla){.heads = 128,
                                        .q_rank = 1536,
                                        .kv_rank = 512,
                                        .nope_dim = 128,
                                        .rope_dim = 64,
                                        .value_dim = 128};
    return model;
}

static llmperf_model sparse(void)
{
    llmperf_model model = deepseek();
    model.layers[0].index = (llmperf_index){.top_k = 2048, .heads = 64, .dim = 128};
    return model;
}

static const llmperf_op *op_of(const llmperf_op *ops, int count, llmperf_op_id id)
{
    const llmperf_op *op = find_op(ops, count, id);
    cr_assert(op, "%s is missing", llmperf_op_name(id));
    return op;
}

#define EXPECT(op, field, value)                                                                   \
    cr_expect((op)->field == (double)(value), "%s " #field ": %.17g",                              \
              llmperf_op_name((llmperf_op_id)(op)->id), (op)->field)

/* ---- weights and cache ---- */

/* A layer: 7168 x 1536, 1536 x 128 x 192, 7168 x 576, 512 x 128 x 256, 128 x 128 x 7168; norms of
 * the latents 1536 + 512. */
Test(mla, weights_by_hand)
{
    llmperf_model model = deepseek();
    llmperf_params params = llmperf_model_params(&model);
    int64_t layer = 11010048 + 37748736 + 4128768 + 16777216 + 117440512;
    cr_expect(params.by_class[LLMPERF_WEIGHT_ATTENTION] == 61 * layer);
    cr_expect(params.by_class[LLMPERF_WEIGHT_OTHER] == 61 * (2048 + 2 * 7168) + 7168);
    model.layers[0].mla.q_rank = 0; /* q straight from hidden: 7168 x 128 x 192 */
    params = llmperf_model_params(&model);
    cr_expect(params.by_class[LLMPERF_WEIGHT_ATTENTION] ==
              61 * (layer - 11010048 - 37748736 + 176160768));
    /* the indexer: 1536 x 64 x 128, 7168 x (128 + 64), a layer norm of its 128-wide key */
    model = sparse();
    params = llmperf_model_params(&model);
    cr_expect(params.by_class[LLMPERF_WEIGHT_ATTENTION] == 61 * (layer + 12582912 + 1376256));
    cr_expect(params.by_class[LLMPERF_WEIGHT_OTHER] == 61 * (2048 + 256 + 2 * 7168) + 7168);
}

Test(mla, cache_is_one_latent_at_any_degree)
{
    llmperf_model model = deepseek();
    cr_expect(llmperf_kv_bytes_per_token(&model, 2) == 61 * (512 + 64) * 2);
    cr_expect(llmperf_kv_bytes_per_token_long(&model, 2) == 61 * (512 + 64) * 2);
    for (int64_t tp = 1; tp <= 128; tp *= 2) {
        llmperf_config c = config_of(&model, &(llmperf_workload){.tp = tp});
        cr_expect(llmperf_kv_bytes(&c, 3, 1024) == 3.0 * 1024 * 61 * 1152, "tp %" PRId64, tp);
    }
    /* MHA of the same heads holds 128 (192 + 128) values, 56.9 times as many */
    llmperf_model mha = llama_like("mha", 61, 7168, 128, 128, 192, 18432, 129280);
    mha.layers[0].attention.value_dim = 128;
    cr_expect(is_near(llmperf_kv_bytes_per_token(&mha, 2) / llmperf_kv_bytes_per_token(&model, 2),
                      128.0 * 320 / 576, 1e-14));
    model = sparse();
    cr_expect(llmperf_index_bytes_per_token(&model) == 61 * 128);
    llmperf_config c = config_of(&model, &(llmperf_workload){.tp = 8});
    cr_expect(llmperf_kv_bytes(&c, 1, 1024) == 1024.0 * 61 * (1152 + 128));
}

/* ---- decode: absorbed ---- */

/* b = 2 over 4095 cached tokens, L = 4096. */
Test(mla, decode_is_absorbed_by_hand)
{
    llmperf_model model = deepseek();
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 2});
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 2, 4095);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    const llmperf_op *op = op_of(ops, count, LLMPERF_OP_ATTN_CORE);
    EXPECT(op, flop, 2.0 * 128 * (576 + 512) * 2 * 4096);
    EXPECT(op, kv_read_bytes, 2.0 * 4096 * 576 * 2);
    EXPECT(op, kv_write_bytes, 2.0 * 576 * 2);
    EXPECT(op, input_bytes, 2.0 * 128 * 576 * 2);
    EXPECT(op, output_bytes, 2.0 * 128 * 512 * 2);
    EXPECT(op, repeat, 61);
    /* 242 flop per byte of cache: 2 x 128 x 1088 / 1152 */
    cr_expect(is_near(op->flop / op->kv_read_bytes, 241.78, 1e-5));
    op = op_of(ops, count, LLMPERF_OP_ATTN_K_ABSORB); /* m, n, k of one head, the rest of all */
    cr_expect(op->m == 2 && op->n == 512 && op->k == 128);
    EXPECT(op, flop, 128 * 2.0 * 2 * 512 * 128);
    EXPECT(op, weight_bytes, 128 * 512.0 * 128 * 2);
    EXPECT(op, input_bytes, 128 * 2 * 128.0 * 2);
    EXPECT(op, output_bytes, 128 * 2 * 512.0 * 2);
    EXPECT(op, bytes, op->weight_bytes + op->input_bytes + op->output_bytes);
    op = op_of(ops, count, LLMPERF_OP_ATTN_V_ABSORB);
    cr_expect(op->m == 2 && op->n == 128 && op->k == 512);
    EXPECT(op, weight_bytes, 128 * 512.0 * 128 * 2);
    op = op_of(ops, count, LLMPERF_OP_ROPE); /* 64 channels of 128 queries and of the one key */
    EXPECT(op, input_bytes, 2 * 129 * 64.0 * 2);
    EXPECT(op, output_bytes, 2 * 129 * 64.0 * 2);
    EXPECT(op, flop, 3 * 2 * 129 * 64.0);
    op = op_of(ops, count, LLMPERF_OP_ATTN_Q_A);
    cr_expect(op->m == 2 && op->n == 1536 && op->k == 7168);
    op = op_of(ops, count, LLMPERF_OP_ATTN_Q_B);
    cr_expect(op->m == 2 && op->n == 128 * 192 && op->k == 1536);
    op = op_of(ops, count, LLMPERF_OP_ATTN_KV_A);
    cr_expect(op->m == 2 && op->n == 576 && op->k == 7168);
    op = op_of(ops, count, LLMPERF_OP_ATTN_OUT);
    cr_expect(op->m == 2 && op->n == 7168 && op->k == 128 * 128);
    cr_expect(!find_op(ops, count, LLMPERF_OP_ATTN_KV_B) &&
              !find_op(ops, count, LLMPERF_OP_ATTN_QKV));
}

/* Verification of two drafts: still absorbed, pairs 3 x 4095 + 6, latents read once. */
Test(mla, verification_is_absorbed)
{
    llmperf_model model = deepseek();
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 2, .query = 3});
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 2, 4095);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    const llmperf_op *op = op_of(ops, count, LLMPERF_OP_ATTN_CORE);
    EXPECT(op, flop, 2.0 * 128 * (576 + 512) * 2 * (3 * 4095 + 6));
    EXPECT(op, kv_read_bytes, 2.0 * 4098 * 576 * 2);
    EXPECT(op, kv_write_bytes, 2.0 * 3 * 576 * 2);
    cr_expect(op->regime == LLMPERF_REGIME_EXTEND);
    cr_expect(op_of(ops, count, LLMPERF_OP_ATTN_K_ABSORB)->m == 6);
    cr_expect(!find_op(ops, count, LLMPERF_OP_ATTN_KV_B));
}

/* tp 8: 16 heads a device; the down-projections and the latent stay whole. */
Test(mla, tp_splits_heads_but_not_the_latent)
{
    llmperf_model model = deepseek();
    llmperf_config c = config_of(&model, &(llmperf_workload){.tp = 8});
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 1, 4095);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    const llmperf_op *op = op_of(ops, count, LLMPERF_OP_ATTN_CORE);
    EXPECT(op, flop, 2.0 * 16 * 1088 * 4096);
    EXPECT(op, kv_read_bytes, 4096.0 * 1152);
    cr_expect(op_of(ops, count, LLMPERF_OP_ATTN_Q_A)->n == 1536);
    cr_expect(op_of(ops, count, LLMPERF_OP_ATTN_KV_A)->n == 576);
    cr_expect(op_of(ops, count, LLMPERF_OP_ATTN_Q_B)->n == 16 * 192);
    cr_expect(op_of(ops, count, LLMPERF_OP_ATTN_OUT)->k == 16 * 128);
    llmperf_error error = {0};
    cr_expect(config_init(&c, &model, NULL, NULL, &(llmperf_workload){.tp = 3}, &error) ==
              LLMPERF_E_USAGE);
}

/* ---- prefill: expanded ---- */

/* 3 prompts of 16: pairs 136 each; K and V of every head are made and read in 16 bit. */
Test(mla, prefill_is_expanded_by_hand)
{
    llmperf_model model = deepseek();
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 3, .prompt = 16});
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = {.sequences = 3, .query = 16, .past = 0, .logits = 3};
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    const llmperf_op *op = op_of(ops, count, LLMPERF_OP_ATTN_KV_B);
    cr_expect(op->m == 48 && op->n == 128 * 256 && op->k == 512);
    op = op_of(ops, count, LLMPERF_OP_ATTN_CORE);
    EXPECT(op, flop, 2.0 * 128 * (192 + 128) * 3 * 136);
    EXPECT(op, input_bytes, 48.0 * 128 * 192 * 2);
    EXPECT(op, output_bytes, 48.0 * 128 * 128 * 2);
    EXPECT(op, kv_read_bytes, 48.0 * 128 * 320 * 2);
    EXPECT(op, kv_write_bytes, 48.0 * 576 * 2);
    cr_expect(!find_op(ops, count, LLMPERF_OP_ATTN_K_ABSORB));
    /* a chunk of 16 over 100 cached latents expands all 116 again */
    s = (llmperf_segment){.sequences = 1, .query = 16, .past = 100, .logits = 1};
    count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    cr_expect(op_of(ops, count, LLMPERF_OP_ATTN_KV_B)->m == 116);
    EXPECT(op_of(ops, count, LLMPERF_OP_ATTN_CORE), kv_read_bytes, 116.0 * 128 * 320 * 2);
    EXPECT(op_of(ops, count, LLMPERF_OP_ATTN_CORE), flop, 2.0 * 128 * 320 * (1600 + 136));
}

/* Chunks of a prompt have the pairs of the whole. */
Test(mla, chunks_add_up)
{
    llmperf_model model = sparse();
    model.layers[0].index.top_k = 50;
    rng r = {.state = 81};
    for (int i = 0; i < CASES(300); i++) {
        int64_t prompt = rng_log_int(&r, 2, 400), chunk = rng_int(&r, 1, prompt);
        llmperf_config c = config_of(&model, &(llmperf_workload){.prompt = prompt});
        llmperf_op ops[LLMPERF_OPS_MAX];
        double core = 0, scores = 0;
        for (int64_t start = 0; start < prompt; start += chunk) {
            int64_t query = chunk < prompt - start ? chunk : prompt - start;
            llmperf_segment s = {.sequences = 1, .query = query, .past = start, .logits = 1};
            int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
            core += op_of(ops, count, LLMPERF_OP_ATTN_CORE)->flop;
            scores += op_of(ops, count, LLMPERF_OP_INDEX_CORE)->flop;
        }
        double pairs = 0, p = (double)prompt;
        for (int64_t at = 0; at < prompt; at++)
            pairs += at + 1 < 50 ? (double)at + 1 : 50;
        cr_expect(is_near(core, 2 * 128 * 320 * pairs, 1e-12), "s %" PRId64, prompt);
        cr_expect(is_near(scores, 2 * 64 * 128 * p * (p + 1) / 2, 1e-12), "s %" PRId64, prompt);
    }
}

/* Decode of MLA never moves more bytes in the core than MHA of the same heads. */
Test(mla, absorbed_reads_no_more_than_mha)
{
    rng r = {.state = 82};
    for (int i = 0; i < CASES(3000); i++) {
        llmperf_model model = deepseek(), mha = deepseek();
        llmperf_mla *m = &model.layers[0].mla;
        m->heads = rng_log_int(&r, 2, 128);
        m->nope_dim = rng_log_int(&r, 16, 256);
        m->rope_dim = rng_int(&r, 0, 64);
        m->value_dim = rng_log_int(&r, 16, 256);
        m->kv_rank = rng_log_int(&r, 16, m->heads * m->value_dim);
        memset(&mha.layers[0].mla, 0, sizeof *m);
        mha.layers[0].attention = (llmperf_attention){.heads = m->heads,
                                                      .kv_heads = m->heads,
                                                      .head_dim = m->nope_dim + m->rope_dim,
                                                      .value_dim = m->value_dim};
        llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
        llmperf_config x = config_of(&mha, &(llmperf_workload){.batch = 1});
        llmperf_op a[LLMPERF_OPS_MAX], b[LLMPERF_OPS_MAX];
        int64_t past = rng_log_int(&r, 1, 100000);
        llmperf_segment s = llmperf_decode_segment(&c, 5, past);
        int left = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, a),
            right = llmperf_emit(&x, &s, 1, LLMPERF_OPS_MAX, b);
        cr_expect(op_of(a, left, LLMPERF_OP_ATTN_CORE)->kv_read_bytes <=
                      op_of(b, right, LLMPERF_OP_ATTN_CORE)->kv_read_bytes,
                  "heads %" PRId64 " rank %" PRId64, m->heads, m->kv_rank);
    }
}

/* ---- the indexer ---- */

/*
 * L = 131072: attention reads 2048 x 576 x 2 = 2,359,296 bytes, the indexer 131072 x 128 =
 * 16,777,216; full MLA 131072 x 576 x 2 = 150,994,944. Together 0.1267, an eighth.
 */
Test(mla, indexer_reads_an_eighth_at_128k)
{
    llmperf_model model = sparse(), full = deepseek();
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
    llmperf_segment s = llmperf_decode_segment(&c, 1, 131071);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    const llmperf_op *core = op_of(ops, count, LLMPERF_OP_ATTN_CORE);
    const llmperf_op *index = op_of(ops, count, LLMPERF_OP_INDEX_CORE);
    EXPECT(core, kv_read_bytes, 2359296);
    EXPECT(core, flop, 2.0 * 128 * 1088 * 2048);
    EXPECT(index, kv_read_bytes, 16777216);
    EXPECT(index, kv_write_bytes, 128);
    EXPECT(index, flop, 2.0 * 64 * 128 * 131072);
    EXPECT(index, input_bytes, 64 * 128 * 2); /* its queries in 16 bit */
    EXPECT(index, output_bytes, 2048 * 4);    /* chosen positions in 32 */
    double sparse_bytes = core->kv_read_bytes + index->kv_read_bytes;
    const llmperf_op *op = op_of(ops, count, LLMPERF_OP_INDEX_Q);
    cr_expect(op->n == 64 * 128 && op->k == 1536);
    op = op_of(ops, count, LLMPERF_OP_INDEX_K);
    cr_expect(op->n == 128 + 64 && op->k == 7168);

    c = config_of(&full, &(llmperf_workload){.batch = 1});
    count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    double all = op_of(ops, count, LLMPERF_OP_ATTN_CORE)->kv_read_bytes;
    cr_expect(all == 150994944);
    cr_expect(is_near(sparse_bytes / all, 0.12674, 1e-4));
}

/* Up to top_k keys attention is dense; one more key, no more pairs. */
Test(mla, indexer_is_dense_up_to_its_choice)
{
    llmperf_model model = sparse(), full = deepseek();
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
    llmperf_config x = config_of(&full, &(llmperf_workload){.batch = 1});
    llmperf_op a[LLMPERF_OPS_MAX], b[LLMPERF_OPS_MAX];
    double last = 0;
    for (int64_t past = 2040; past < 2056; past++) {
        llmperf_segment s = llmperf_decode_segment(&c, 1, past);
        int left = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, a),
            right = llmperf_emit(&x, &s, 1, LLMPERF_OPS_MAX, b);
        const llmperf_op *core = op_of(a, left, LLMPERF_OP_ATTN_CORE);
        const llmperf_op *dense = op_of(b, right, LLMPERF_OP_ATTN_CORE);
        if (past + 1 <= 2048)
            cr_expect(core->flop == dense->flop && core->kv_read_bytes == dense->kv_read_bytes);
        else
            cr_expect(core->flop == last, "past %" PRId64, past);
        last = core->flop;
    }
}

/* A layer that shares an index has no indexer and no index keys, but the same limit. */
Test(mla, a_shared_index_is_reused)
{
    llmperf_model model = sparse(), full = deepseek();
    model.layers[0].index = (llmperf_index){.top_k = 2048, .shared = true};
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 1, 131071);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    EXPECT(op_of(ops, count, LLMPERF_OP_ATTN_CORE), kv_read_bytes, 2359296);
    cr_expect(!find_op(ops, count, LLMPERF_OP_INDEX_CORE) &&
              !find_op(ops, count, LLMPERF_OP_INDEX_Q) && !find_op(ops, count, LLMPERF_OP_INDEX_K));
    cr_expect(llmperf_index_bytes_per_token(&model) == 0);
    cr_expect(llmperf_model_params(&model).total == llmperf_model_params(&full).total);
    model.layers[0].index.heads = 64; /* dimensions of what it does not have change nothing */
    model.layers[0].index.dim = 128;
    cr_expect(llmperf_index_bytes_per_token(&model) == 0);
    cr_expect(llmperf_model_params(&model).total == llmperf_model_params(&full).total);
}

/* Index arithmetic is 8 bit where the part has it, else the next wider. */
Test(mla, index_arithmetic)
{
    llmperf_model model = sparse();
    llmperf_hw parts[] = {h100(), a100()};
    static const llmperf_dtype wanted[] = {LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_BF16};
    for (int i = 0; i < 2; i++) {
        llmperf_config c;
        llmperf_op ops[LLMPERF_OPS_MAX];
        llmperf_error error = {0};
        cr_assert(config_init(&c, &model, &parts[i], NULL, &(llmperf_workload){.batch = 1},
                              &error) == LLMPERF_OK);
        llmperf_segment s = llmperf_decode_segment(&c, 1, 1000);
        int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
        cr_expect(op_of(ops, count, LLMPERF_OP_INDEX_CORE)->dtype == wanted[i]);
        cr_expect(op_of(ops, count, LLMPERF_OP_ATTN_CORE)->dtype == LLMPERF_DTYPE_BF16);
    }
}
