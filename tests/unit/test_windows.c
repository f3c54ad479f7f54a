/* SPDX-License-Identifier: MIT */
/*
 * What attention sees and keeps: windows, chunks, K unlike V, a cache shared by layers, blocks of
 * one part. Pairs and keys by visiting every position.
 */
#include <criterion/criterion.h>

#include "random_case.h"
#include "config_object.h"
#include "read.h"
#include "config.h"

static llmperf_config config_of(const llmperf_model *model, const llmperf_workload *workload)
{
    llmperf_config c;
    llmperf_error error = {0};
    llmperf_status status = config_init(&c, model, NULL, NULL, workload, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return c;
}

static llmperf_model read_config(const char *json)
{
    llmperf_model model;
    llmperf_error error = {0};
    llmperf_status status = model_load_text("x/config.json", json, strlen(json), &model, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return model;
}

/* First key that the query at `position` sees. */
static int64_t first_key(const llmperf_attention *a, int64_t position)
{
    if (a->chunk > 0)
        return position - position % a->chunk;
    return a->window > 0 && position + 1 > a->window ? position + 1 - a->window : 0;
}

static const llmperf_op *core_of(const llmperf_config *c, const llmperf_segment *s, llmperf_op *ops)
{
    int count = llmperf_emit(c, s, 1, LLMPERF_OPS_MAX, ops);
    const llmperf_op *op = find_op(ops, count, LLMPERF_OP_ATTN_CORE);
    cr_assert(op);
    return op;
}

/* ---- windows and chunks ---- */

Test(windows, pairs_and_keys_by_visiting_every_position)
{
    rng r = {.state = 91};
    llmperf_op ops[LLMPERF_OPS_MAX];
    for (int i = 0; i < CASES(4000); i++) {
        llmperf_model model = toy_model();
        llmperf_attention *a = &model.layers[0].attention;
        int64_t size = rng_log_int(&r, 1, 300);
        bool chunked = rng_chance(&r, 0.5);
        a->chunk = chunked ? size : 0;
        a->window = chunked ? 0 : size;
        llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
        llmperf_segment s = {.sequences = rng_int(&r, 1, 3),
                             .query = rng_log_int(&r, 1, 200),
                             .past = rng_chance(&r, 0.3) ? 0 : rng_log_int(&r, 1, 700),
                             .logits = 1};
        double pairs = 0, b = (double)s.sequences, q = (double)s.query;
        for (int64_t at = s.past; at < s.past + s.query; at++)
            pairs += (double)(at + 1 - first_key(a, at));
        double keys = (double)(s.past + s.query - first_key(a, s.past));
        const llmperf_op *op = core_of(&c, &s, ops);
        /* 4 heads, 2 KV heads, d = 2 */
        cr_expect(op->flop == 2 * 4 * 4 * b * pairs,
                  "%s %" PRId64 " p %" PRId64 " q %" PRId64 ": %g pairs, by visiting %g",
                  chunked ? "chunk" : "window", size, s.past, s.query, op->flop / 32 / b, pairs);
        cr_expect(op->kv_read_bytes == b * keys * 2 * 4 * 2,
                  "%s %" PRId64 " p %" PRId64 " q %" PRId64, chunked ? "chunk" : "window", size,
                  s.past, s.query);
        cr_expect(op->kv_write_bytes == b * q * 2 * 4 * 2);
    }
}

/* C = 4: positions 0..9 see 1 2 3 4 1 2 3 4 1 2. */
Test(windows, chunks_by_hand)
{
    static const double seen[] = {1, 2, 3, 4, 1, 2, 3, 4, 1, 2};
    llmperf_model model = toy_model();
    model.layers[0].attention.chunk = 4;
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
    llmperf_op ops[LLMPERF_OPS_MAX];
    double sum = 0;
    for (int64_t p = 0; p < 10; p++) {
        llmperf_segment s = llmperf_decode_segment(&c, 1, p);
        const llmperf_op *op = core_of(&c, &s, ops);
        cr_expect(op->flop == 32 * seen[p] && op->kv_read_bytes == 16 * seen[p], "p %" PRId64, p);
        sum += seen[p];
    }
    llmperf_segment s = {.sequences = 1, .query = 10, .logits = 1};
    cr_expect(core_of(&c, &s, ops)->flop == 32 * sum);
}

/* One token more in the cache moves pairs and keys by at most one token's worth. */
Test(windows, nothing_jumps_at_the_edge)
{
    llmperf_model model = toy_model();
    llmperf_op ops[LLMPERF_OPS_MAX];
    for (int64_t window = 1; window < 40; window++) {
        model.layers[0].attention.window = window;
        llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
        for (int64_t q = 1; q < 12; q++) {
            double flop = -1, read = -1;
            for (int64_t p = 0; p < 80; p++) {
                llmperf_segment s = {.sequences = 1, .query = q, .past = p, .logits = 1};
                const llmperf_op *op = core_of(&c, &s, ops);
                if (p > 0) {
                    cr_expect(op->flop >= flop && op->flop <= flop + 32.0 * (double)q);
                    cr_expect(op->kv_read_bytes >= read && op->kv_read_bytes <= read + 16);
                }
                flop = op->flop;
                read = op->kv_read_bytes;
            }
        }
    }
}

/* A window or a chunk as long as the context is full attention, operator for operator. */
Test(windows, as_long_as_the_context_is_full_attention)
{
    rng r = {.state = 92};
    static llmperf_op a[LLMPERF_OPS_MAX], b[LLMPERF_OPS_MAX];
    for (int i = 0; i < CASES(2000); i++) {
        llmperf_model model = toy_model(), limited = toy_model();
        llmperf_segment s = {.sequences = 2,
                             .query = rng_log_int(&r, 1, 500),
                             .past = rng_log_int(&r, 1, 500) - 1,
                             .logits = 2,
                             .decode = rng_chance(&r, 0.5)};
        int64_t all = s.past + s.query + rng_int(&r, 0, 1) * rng_int(&r, 0, 1000);
        if (rng_chance(&r, 0.5))
            limited.layers[0].attention.window = all;
        else
            limited.layers[0].attention.chunk = all;
        llmperf_workload w = {.batch = 1, .unfused = rng_chance(&r, 0.3)};
        llmperf_config c = config_of(&model, &w), x = config_of(&limited, &w);
        int left = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, a),
            right = llmperf_emit(&x, &s, 1, LLMPERF_OPS_MAX, b);
        cr_assert(left == right && memcmp(a, b, sizeof *a * (size_t)left) == 0,
                  "p %" PRId64 " q %" PRId64 " all %" PRId64, s.past, s.query, all);
        cr_expect(llmperf_kv_bytes(&c, 1, all / 16 * 16) == llmperf_kv_bytes(&x, 1, all / 16 * 16));
    }
}

/* Two layers of 3 with a window of 100 (blocks of 16), then none: 16 bytes a token and layer. */
Test(windows, the_cache_fills_up)
{
    llmperf_model model = toy_model();
    model.layer_kind_count = 2;
    model.layers[1] = model.layers[0];
    model.layers[0].count = 2;
    model.layers[0].attention.window = 100;
    model.layers[1].count = 1;
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
    cr_expect(llmperf_kv_bytes(&c, 1, 96) == 3 * 96 * 16);
    cr_expect(llmperf_kv_bytes(&c, 1, 97) == (2 * 100 + 112) * 16);
    cr_expect(llmperf_kv_bytes(&c, 5, 1600) == 5 * (2 * 100 + 1600) * 16);
    cr_expect(llmperf_kv_bytes_per_token(&model, 2) == 48);
    cr_expect(llmperf_kv_bytes_per_token_long(&model, 2) == 16);
    model.layers[0].attention.window = 0;
    model.layers[0].attention.chunk = 100;
    c = config_of(&model, &(llmperf_workload){.batch = 1});
    cr_expect(llmperf_kv_bytes(&c, 5, 1600) == 5 * (2 * 100 + 1600) * 16);
    cr_expect(llmperf_kv_bytes_per_token_long(&model, 2) == 16);
}

/* Prompts in chunks of any size have the pairs of the whole. */
Test(windows, prefill_chunks_add_up)
{
    rng r = {.state = 93};
    llmperf_op ops[LLMPERF_OPS_MAX];
    for (int i = 0; i < CASES(1000); i++) {
        llmperf_model model = toy_model();
        llmperf_attention *a = &model.layers[0].attention;
        *(rng_chance(&r, 0.5) ? &a->chunk : &a->window) = rng_log_int(&r, 1, 100);
        llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
        int64_t prompt = rng_log_int(&r, 1, 400), step = rng_int(&r, 1, prompt);
        llmperf_segment whole = {.sequences = 1, .query = prompt, .logits = 1};
        double all = core_of(&c, &whole, ops)->flop, sum = 0;
        for (int64_t start = 0; start < prompt; start += step) {
            int64_t q = step < prompt - start ? step : prompt - start;
            llmperf_segment s = {.sequences = 1, .query = q, .past = start, .logits = 1};
            sum += core_of(&c, &s, ops)->flop;
        }
        cr_expect(is_near(all, sum, 1e-13), "s %" PRId64 " step %" PRId64, prompt, step);
    }
}

/* ---- K unlike V, shared caches, gates ---- */

/* K of 6, V of 2: 4 heads, 2 KV heads, h = 8; b = 1 over 5 cached: 6 keys. */
Test(windows, keys_wider_than_values)
{
    llmperf_model model = toy_model();
    model.layers[0].attention.head_dim = 6;
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 1, 5);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    const llmperf_op *op = find_op(ops, count, LLMPERF_OP_ATTN_CORE);
    cr_expect(op->flop == 2 * 4 * (6 + 2) * 6);
    cr_expect(op->input_bytes == 4 * 6 * 2 && op->output_bytes == 4 * 2 * 2);
    cr_expect(op->kv_read_bytes == 6 * 2 * 8 * 2 && op->kv_write_bytes == 2 * 8 * 2);
    cr_expect(find_op(ops, count, LLMPERF_OP_ATTN_QKV)->n == 4 * 6 + 2 * 6 + 2 * 2);
    cr_expect(find_op(ops, count, LLMPERF_OP_ATTN_OUT)->k == 4 * 2);
    cr_expect(llmperf_kv_bytes_per_token(&model, 2) == 3 * 2 * (6 + 2) * 2);
    /* 8 (24 + 12 + 4) + 8 x 8 a layer */
    cr_expect(llmperf_model_params(&model).by_class[LLMPERF_WEIGHT_ATTENTION] == 3 * 384);
}

/* A layer that reads an earlier layer's cache: no K and V projections, no writes, no cache. */
Test(windows, a_shared_cache_is_read_but_not_held)
{
    llmperf_model model = toy_model();
    model.layer_kind_count = 2;
    model.layers[1] = model.layers[0];
    model.layers[1].attention.shares_kv = true;
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 1, 5);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops), cores = 0;
    for (int i = 0; i < count; i++)
        if (ops[i].id == LLMPERF_OP_ATTN_CORE) {
            cr_expect(ops[i].kv_read_bytes == 6 * 2 * 4 * 2);
            cr_expect(ops[i].kv_write_bytes == (cores == 0 ? 2 * 4 * 2 : 0));
            cores++;
        }
    cr_expect(cores == 2);
    const llmperf_op *q = find_op(ops, count, LLMPERF_OP_ATTN_Q);
    cr_assert(q && q->n == 8, "the sharing layer projects q alone");
    cr_expect(!find_op(ops, count, LLMPERF_OP_ATTN_K) && !find_op(ops, count, LLMPERF_OP_ATTN_V));
    cr_expect(llmperf_kv_bytes_per_token(&model, 2) == 3 * 16);
    /* 8 x 8 + 8 x 8 where the other holds 8 x 16 + 8 x 8 */
    cr_expect(llmperf_model_params(&model).by_class[LLMPERF_WEIGHT_ATTENTION] == 3 * (192 + 128));
}

/* An output gate doubles the q projection: n = 8 + 8 + 4 + 4, and 8 values a token are gated. */
Test(windows, an_output_gate_widens_q)
{
    llmperf_model model = toy_model();
    model.layers[0].attention.gate = true;
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(&c, 3, 5);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    cr_expect(find_op(ops, count, LLMPERF_OP_ATTN_QKV)->n == 24);
    const llmperf_op *gate = find_op(ops, count, LLMPERF_OP_ATTN_GATE);
    cr_expect(gate && gate->flop == 4 * 24 && gate->input_bytes == 96 && gate->output_bytes == 48);
    cr_expect(llmperf_model_params(&model).by_class[LLMPERF_WEIGHT_ATTENTION] == 3 * (192 + 64));
}

/* ---- layers of one part ---- */

static void expect_sequence(const llmperf_config *c, const llmperf_op_id *wanted, int wanted_count)
{
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(c, 1, 5);
    int count = llmperf_emit(c, &s, 1, LLMPERF_OPS_MAX, ops);
    cr_assert(count == wanted_count, "%d operators, expected %d", count, wanted_count);
    for (int i = 0; i < count; i++)
        cr_expect(ops[i].id == wanted[i], "%d: %s, expected %s", i,
                  llmperf_op_name((llmperf_op_id)ops[i].id), llmperf_op_name(wanted[i]));
}

/* Nemotron-H: a block is a norm, one mixer and a residual; under TP one all-reduce. */
Test(windows, one_mixer_blocks)
{
    static const llmperf_op_id alone[] = {
        LLMPERF_OP_EMBED,    LLMPERF_OP_NORM,     LLMPERF_OP_ATTN_QKV, LLMPERF_OP_ATTN_CORE,
        LLMPERF_OP_ATTN_OUT, LLMPERF_OP_RESIDUAL, LLMPERF_OP_NORM,     LLMPERF_OP_MLP_UP,
        LLMPERF_OP_MLP_ACT,  LLMPERF_OP_MLP_DOWN, LLMPERF_OP_RESIDUAL, LLMPERF_OP_NORM,
        LLMPERF_OP_LM_HEAD};
    static const llmperf_op_id split[] = {
        LLMPERF_OP_EMBED,      LLMPERF_OP_COMM_EMBED, LLMPERF_OP_NORM,      LLMPERF_OP_ATTN_QKV,
        LLMPERF_OP_ATTN_CORE,  LLMPERF_OP_ATTN_OUT,   LLMPERF_OP_COMM_ATTN, LLMPERF_OP_RESIDUAL,
        LLMPERF_OP_NORM,       LLMPERF_OP_MLP_UP,     LLMPERF_OP_MLP_ACT,   LLMPERF_OP_MLP_DOWN,
        LLMPERF_OP_COMM_MLP,   LLMPERF_OP_RESIDUAL,   LLMPERF_OP_NORM,      LLMPERF_OP_LM_HEAD,
        LLMPERF_OP_COMM_LOGITS};
    llmperf_model model = read_config(
        "{\"model_type\": \"nemotron_h\", \"hidden_size\": 8, \"num_hidden_layers\": 2,"
        " \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"head_dim\": 2,"
        " \"intermediate_size\": 12, \"vocab_size\": 10, \"hybrid_override_pattern\": \"*-\","
        " \"tie_word_embeddings\": false}");
    /* 8 x 16 + 8 x 8 + 8; 2 x 8 x 12 + 8; outside 80 + 80 + 8 */
    cr_expect(llmperf_model_params(&model).total == 200 + 200 + 168);
    llmperf_config c = config_of(&model, &(llmperf_workload){.batch = 1});
    expect_sequence(&c, alone, sizeof alone / sizeof *alone);
    c = config_of(&model, &(llmperf_workload){.tp = 2});
    expect_sequence(&c, split, sizeof split / sizeof *split);
    cr_expect(llmperf_kv_bytes_per_token(&model, 2) == 16, "one attention block");
}

/*
 * nemotron-nas: 4 query heads; block 1 has 2 in a group (2 KV heads) and width 256 x ceil(2 x 96 x
 * 64 / 3 / 256) = 4096; block 2 no attention, block 3 no FFN. h = 64, d = 16.
 */
Test(windows, blocks_found_by_architecture_search)
{
    llmperf_model model = read_config(
        "{\"model_type\": \"nemotron-nas\", \"hidden_size\": 64, \"num_hidden_layers\": 3,"
        " \"num_attention_heads\": 4, \"num_key_value_heads\": null, \"intermediate_size\": null,"
        " \"vocab_size\": 10, \"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\","
        " \"block_configs\": ["
        "  {\"attention\": {\"n_heads_in_group\": 2, \"no_op\": false}, \"ffn\": {\"ffn_mult\": "
        "96.0}},"
        "  {\"attention\": {\"n_heads_in_group\": null, \"no_op\": true}, \"ffn\": {\"ffn_mult\": "
        "1.5}},"
        "  {\"attention\": {\"n_heads_in_group\": 4}, \"ffn\": {\"no_op\": true}}]}");
    cr_assert(model.layer_kind_count == 3);
    int64_t first = 64 * (64 + 2 * 32) + 64 * 64 + 3 * 64 * 4096 + 2 * 64;
    int64_t second = 3 * 64 * 256 + 64; /* 2 x 1.5 x 64 / 3 = 64, rounded up to 256 */
    int64_t third = 64 * (64 + 2 * 16) + 64 * 64 + 64;
    cr_expect(llmperf_model_params(&model).total == first + second + third + 2 * 640 + 64,
              "%" PRId64, llmperf_model_params(&model).total);
    cr_expect(llmperf_kv_bytes_per_token(&model, 2) == (2 + 1) * 32 * 2);
    cr_expect(model.layers[1].norms == 1 && model.layers[2].norms == 1);
}

/* Blocks without a width anywhere are an error, never attention alone. */
Test(windows, blocks_without_a_width_are_refused)
{
    static const char *const blocks[] = {
        "", ", \"block_configs\": []",
        ", \"block_configs\": [{\"attention\": {\"n_heads_in_group\": 2}, \"ffn\": {}}]",
        ", \"block_configs\": [{\"attention\": {\"replace_with_linear\": true}}]"};
    for (int i = 0; i < 4; i++) {
        char json[512];
        llmperf_model model;
        llmperf_error error = {0};
        snprintf(
            json, sizeof json,
            "{\"model_type\": \"nemotron-nas\", \"hidden_size\": 64, \"num_hidden_layers\": 1,"
            " \"num_attention_heads\": 4, \"vocab_size\": 10, \"torch_dtype\": \"bfloat16\"%s}",
            blocks[i]);
        llmperf_status status =
            model_load_text("x/config.json", json, strlen(json), &model, &error);
        cr_expect(status == (i < 3 ? LLMPERF_E_SPEC : LLMPERF_E_UNSUPPORTED), "%d: %s", i,
                  error.text);
    }
}
