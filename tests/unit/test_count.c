/* SPDX-License-Identifier: MIT */
/*
 * Exact counts: parameters of known models, KV bytes, memory per device. Where a model is public
 * its count is the one its publisher's checkpoint holds, and the sum is worked in the comment.
 */
#include <criterion/criterion.h>

#include "random_case.h"
#include "config_object.h"
#include "read.h"
#include "config.h"

static llmperf_model read_config(const char *json)
{
    llmperf_model model;
    llmperf_error error = {0};
    llmperf_status status = model_load_text("x/config.json", json, strlen(json), &model, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return model;
}

static void expect_params(const char *json, int64_t want)
{
    llmperf_model model = read_config(json);
    llmperf_params params = llmperf_model_params(&model);
    int64_t sum = 0;
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        sum += params.by_class[i];
    cr_expect(params.total == want, "%s: %" PRId64 ", by hand %" PRId64, model.architecture,
              params.total, want);
    cr_expect(sum == params.total);
}

/* ---- parameters ---- */

/* 50257*768 + 1024*768 = 39,383,808; a layer: qkv 768*2304 + 2304, out 768*768 + 768, up
 * 768*3072 + 3072, down 3072*768 + 768, two norms 4*768 = 7,087,872, times 12; last norm 1,536. */
Test(count, gpt2)
{
    expect_params("{\"model_type\": \"gpt2\", \"n_embd\": 768, \"n_head\": 12, \"n_layer\": 12, "
                  "\"n_positions\": 1024, \"n_ctx\": 1024, \"vocab_size\": 50257}",
                  124439808);
}

/* 2*32000*4096 = 262,144,000; a layer: 4*4096^2 + 3*4096*11008 + 2*4096 = 202,383,360, times 32;
 * last norm 4,096. */
Test(count, llama_2_7b)
{
    expect_params(
        "{\"model_type\": \"llama\", \"hidden_size\": 4096, \"intermediate_size\": 11008, "
        "\"num_attention_heads\": 32, \"num_hidden_layers\": 32, \"vocab_size\": 32000, "
        "\"max_position_embeddings\": 4096, \"num_key_value_heads\": 32, "
        "\"tie_word_embeddings\": false, \"torch_dtype\": \"float16\"}",
        6738415616);
}

/* 2*32000*8192; a layer: 8192^2*2 + 2*8192*1024 + 3*8192*28672 + 2*8192 = 855,654,400, times 80. */
Test(count, llama_2_70b)
{
    expect_params(
        "{\"model_type\": \"llama\", \"hidden_size\": 8192, \"intermediate_size\": 28672, "
        "\"num_attention_heads\": 64, \"num_hidden_layers\": 80, \"vocab_size\": 32000, "
        "\"num_key_value_heads\": 8, \"tie_word_embeddings\": false}",
        68976648192);
}

/* 2*128256*4096 = 1,050,673,152; a layer: 4096^2*2 + 2*4096*1024 + 3*4096*14336 + 8192
 * = 218,112,000, times 32; 4,096. */
Test(count, llama_3_1_8b)
{
    expect_params(
        "{\"model_type\": \"llama\", \"hidden_size\": 4096, \"intermediate_size\": 14336, "
        "\"num_attention_heads\": 32, \"num_hidden_layers\": 32, \"vocab_size\": 128256, "
        "\"num_key_value_heads\": 8, \"tie_word_embeddings\": false}",
        8030261248);
}

/* 128256*2048 (tied) + 16 * (2048^2*2 + 2*2048*512 + 3*2048*8192 + 4096) + 2048 */
Test(count, llama_3_2_1b)
{
    expect_params("{\"model_type\": \"llama\", \"hidden_size\": 2048, \"intermediate_size\": 8192, "
                  "\"num_attention_heads\": 32, \"num_hidden_layers\": 16, \"vocab_size\": 128256, "
                  "\"num_key_value_heads\": 8, \"head_dim\": 64, \"tie_word_embeddings\": true}",
                  1235814400);
}

/* 50272*768 + (2048+2)*768 = 40,183,296; 12 layers of 7,087,872 as GPT-2's; 1,536. */
Test(count, opt_125m)
{
    expect_params("{\"model_type\": \"opt\", \"hidden_size\": 768, \"ffn_dim\": 3072, "
                  "\"num_attention_heads\": 12, \"num_hidden_layers\": 12, \"vocab_size\": 50272, "
                  "\"max_position_embeddings\": 2048, \"word_embed_proj_dim\": 768, "
                  "\"do_layer_norm_before\": true}",
                  125239296);
}

/* Table 50272*512, positions 2050*1024, projections 2*512*1024, 24 layers of 12*1024^2 + 13*1024,
 * no last norm: 25,739,264 + 2,099,200 + 1,048,576 + 24 * 12,596,224 */
Test(count, opt_350m_projects_its_embedding)
{
    expect_params("{\"model_type\": \"opt\", \"hidden_size\": 1024, \"ffn_dim\": 4096, "
                  "\"num_attention_heads\": 16, \"num_hidden_layers\": 24, \"vocab_size\": 50272, "
                  "\"max_position_embeddings\": 2048, \"word_embed_proj_dim\": 512, "
                  "\"do_layer_norm_before\": false}",
                  331196416);
}

/* 2*152064*3584 = 1,089,994,752; a layer: 3584^2*2 + 2*3584*512 + 3*3584*18944 + biases
 * 3584 + 1024 + norms 7168 = 233,057,792, times 28; 3,584. */
Test(count, qwen2_7b_has_qkv_biases)
{
    expect_params(
        "{\"model_type\": \"qwen2\", \"hidden_size\": 3584, \"intermediate_size\": 18944, "
        "\"num_attention_heads\": 28, \"num_hidden_layers\": 28, \"vocab_size\": 152064, "
        "\"num_key_value_heads\": 4, \"tie_word_embeddings\": false}",
        7615616512);
}

/* 151936*896 tied + 24 * (896^2*2 + 2*896*128 + 3*896*4864 + 896 + 256 + 1792) + 896 */
Test(count, qwen2_5_0_5b)
{
    expect_params("{\"model_type\": \"qwen2\", \"hidden_size\": 896, \"intermediate_size\": 4864, "
                  "\"num_attention_heads\": 14, \"num_hidden_layers\": 24, \"vocab_size\": 151936, "
                  "\"num_key_value_heads\": 2, \"tie_word_embeddings\": true}",
                  494032768);
}

/* 151936*1024 tied = 155,582,464; a layer: q and out 2*1024*2048, k and v 2*1024*1024, FFN
 * 3*1024*3072, norms 2048, q and k norms 2*128 = 15,730,944, times 28; 1,024. */
Test(count, qwen3_0_6b_has_heads_wider_than_the_model)
{
    expect_params("{\"model_type\": \"qwen3\", \"hidden_size\": 1024, \"intermediate_size\": 3072, "
                  "\"num_attention_heads\": 16, \"num_hidden_layers\": 28, \"vocab_size\": 151936, "
                  "\"num_key_value_heads\": 8, \"head_dim\": 128, \"tie_word_embeddings\": true}",
                  596049920);
}

/* 2*32000*4096 + 32 * (4096^2*2 + 2*4096*1024 + 3*4096*14336 + 8192) + 4096; windows add none */
Test(count, mistral_7b)
{
    expect_params("{\"model_type\": \"mistral\", \"hidden_size\": 4096, "
                  "\"intermediate_size\": 14336, \"num_attention_heads\": 32, "
                  "\"num_hidden_layers\": 32, \"vocab_size\": 32000, \"num_key_value_heads\": 8, "
                  "\"sliding_window\": 4096, \"tie_word_embeddings\": false}",
                  7241732096);
}

/* 256000*2048 tied + 18 * (2*2048*2048 + 2*2048*256 + 3*2048*16384 + 4096) + 2048 */
Test(count, gemma_2b_is_mqa)
{
    expect_params(
        "{\"model_type\": \"gemma\", \"hidden_size\": 2048, \"intermediate_size\": 16384, "
        "\"num_attention_heads\": 8, \"num_hidden_layers\": 18, \"vocab_size\": 256000, "
        "\"num_key_value_heads\": 1, \"head_dim\": 256}",
        2506172416);
}

/* 256000*3584 tied + 42 * (2*3584*4096 + 2*3584*2048 + 3*3584*14336 + 4*3584) + 3584 */
Test(count, gemma_2_9b_has_four_norms)
{
    expect_params("{\"model_type\": \"gemma2\", \"hidden_size\": 3584, "
                  "\"intermediate_size\": 14336, \"num_attention_heads\": 16, "
                  "\"num_hidden_layers\": 42, \"vocab_size\": 256000, \"num_key_value_heads\": 8, "
                  "\"head_dim\": 256, \"sliding_window\": 4096}",
                  9241705984);
}

/* 51200*2560*2 + 51200 + 32 * (4*2560^2 + 4*2560 + 8*2560^2 + 10240 + 2560 + 2*2560) + 2*2560 */
Test(count, phi_2_is_parallel_with_biases)
{
    expect_params("{\"model_type\": \"phi\", \"hidden_size\": 2560, \"intermediate_size\": 10240, "
                  "\"num_attention_heads\": 32, \"num_hidden_layers\": 32, \"vocab_size\": 51200, "
                  "\"num_key_value_heads\": 32, \"max_position_embeddings\": 2048, "
                  "\"tie_word_embeddings\": false}",
                  2779683840);
}

/* 50400*4096*2 + 50400 + 28 * (4*4096^2 + 8*4096^2 + 16384 + 4096 + 2*4096) + 2*4096 */
Test(count, gpt_j_6b)
{
    expect_params("{\"model_type\": \"gptj\", \"n_embd\": 4096, \"n_head\": 16, \"n_layer\": 28, "
                  "\"n_positions\": 2048, \"vocab_size\": 50400, \"tie_word_embeddings\": false}",
                  6050882784);
}

/* 65024*4544 tied + 32 * (4544*4672 + 4544^2 + 8*4544^2 + 2*4544) + 2*4544; q 4544, k and v 64 */
Test(count, falcon_7b_is_mqa)
{
    expect_params("{\"model_type\": \"falcon\", \"hidden_size\": 4544, "
                  "\"num_attention_heads\": 71, \"num_hidden_layers\": 32, \"vocab_size\": 65024, "
                  "\"multi_query\": true, \"parallel_attn\": true, \"bias\": false, "
                  "\"new_decoder_architecture\": false, \"alibi\": false, "
                  "\"tie_word_embeddings\": true}",
                  6921720704);
}

/* 250880*1024 tied + 2*1024 + 24 * (12*1024^2 + 13*1024) + 2*1024 */
Test(count, bloom_560m_norms_its_embedding)
{
    expect_params("{\"model_type\": \"bloom\", \"n_embed\": 1024, \"num_attention_heads\": 16, "
                  "\"n_layer\": 24, \"vocab_size\": 250880}",
                  559214592);
}

Test(count, classes_of_the_toy_by_hand)
{
    llmperf_model model = toy_model();
    llmperf_params p = llmperf_model_params(&model);
    cr_expect(p.by_class[LLMPERF_WEIGHT_EMBEDDING] == 80);
    cr_expect(p.by_class[LLMPERF_WEIGHT_HEAD] == 80);
    /* 3 * (8 * 16 + 8 * 8); 3 * (8 * 24 + 12 * 8); 3 * 2 * 8 + 8 */
    cr_expect(p.by_class[LLMPERF_WEIGHT_ATTENTION] == 576);
    cr_expect(p.by_class[LLMPERF_WEIGHT_MLP] == 864);
    cr_expect(p.by_class[LLMPERF_WEIGHT_OTHER] == 56);
    cr_expect(p.total == 80 + 80 + 576 + 864 + 56);
    cr_expect(p.embedding == 80);
    cr_expect(llmperf_model_layers(&model) == 3);
    cr_expect(llmperf_model_weight_bytes(&model, NULL) == 2.0 * 1656);

    model.tied = true;
    cr_expect(llmperf_model_params(&model).by_class[LLMPERF_WEIGHT_HEAD] == 0);
    cr_expect(llmperf_model_params(&model).total == 1576);
    model.position_embeddings = 32;
    model.embedding_norm = true;
    /* 32 * 8 more in the tables, 8 in a norm */
    cr_expect(llmperf_model_params(&model).total == 1576 + 256 + 8);
    cr_expect(llmperf_model_params(&model).embedding == 80 + 256);
}

/* A sink is one logit a head: 4 in each of 3 layers; biases of q, k and v are 8 + 4 + 4. */
Test(count, sinks_and_biases_of_the_toy_by_hand)
{
    llmperf_model model = toy_model();
    model.layers[0].attention.sinks = true;
    cr_expect(llmperf_model_params(&model).total == 1656 + 3 * 4);
    model.layers[0].attention.qkv_bias = true;
    cr_expect(llmperf_model_params(&model).total == 1656 + 3 * (4 + 16));
}

/* ---- cases ---- */

static llmperf_config config_on(const llmperf_model *model, const llmperf_hw *hw,
                                const llmperf_workload *workload)
{
    llmperf_config c;
    llmperf_error error = {0};
    llmperf_status status = config_init(&c, model, hw, NULL, workload, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return c;
}

Test(count, weights_on_one_of_two_devices_by_hand)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){.tp = 2});
    /* table and head 5 * 8 each; 3 * (8 * 8 + 4 * 8); 3 * (8 * 12 + 6 * 8); norms whole */
    cr_expect(llmperf_weight_bytes(&c) == 2.0 * (40 + 40 + 288 + 432 + 56));
    /* 4 devices: 3 rows of the table; q 2, k 2, v 2, out 2; f 3 */
    c = config_on(&model, &hw, &(llmperf_workload){.tp = 4});
    cr_expect(llmperf_weight_bytes(&c) == 2.0 * (24 + 24 + 3 * (8 * 6 + 2 * 8) + 3 * 72 + 56));
}

Test(count, weight_dtype_leaves_embedding_and_head)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    llmperf_config c =
        config_on(&model, &hw, &(llmperf_workload){.weight_dtype = LLMPERF_DTYPE_INT4});
    cr_expect(llmperf_weight_bytes(&c) == 160 * 2 + (576 + 864) * 0.5 + 56 * 2);
    cr_expect(llmperf_model_weight_bytes(&model, &c) == llmperf_weight_bytes(&c));
    c = config_on(&model, &hw, &(llmperf_workload){.weight_dtype = LLMPERF_DTYPE_Q8_0});
    cr_expect(llmperf_weight_bytes(&c) == 160 * 2 + (576 + 864) * 8.5 / 8 + 56 * 2);
}

/* ---- KV cache ---- */

/* Llama 3.1 8B: 32 layers * 8 heads * 2 * 128 * 2 bytes = 131,072 a token (Meta's 128 KiB). */
Test(count, kv_bytes_of_known_models)
{
    llmperf_model llama = llama_like("llama-3.1-8b", 32, 4096, 32, 8, 128, 14336, 128256);
    cr_expect(llmperf_kv_bytes_per_token(&llama, 2) == 131072);
    cr_expect(llmperf_kv_bytes_per_token(&llama, 1) == 65536);
    /* Llama 2 7B, MHA: 32 * 32 * 2 * 128 * 2 = 524,288; GPT-2: 12 * 12 * 2 * 64 * 2 = 36,864 */
    llmperf_model mha = llama_like("llama-2-7b", 32, 4096, 32, 32, 128, 11008, 32000);
    cr_expect(llmperf_kv_bytes_per_token(&mha, 2) == 524288);
    llmperf_model gpt2 = llama_like("gpt2", 12, 768, 12, 12, 64, 3072, 50257);
    cr_expect(llmperf_kv_bytes_per_token(&gpt2, 2) == 36864);
}

/* Two shapes: 3 layers without a window, 5 with a window of 20; 2 KV heads, d 2 and 2: 8 values. */
Test(count, kv_bytes_under_windows_by_hand)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    model.layer_kind_count = 2;
    model.layers[1] = model.layers[0];
    model.layers[1].count = 5;
    model.layers[1].attention.window = 20;
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){.kv_block = 1});
    cr_expect(llmperf_kv_bytes_per_token(&model, 2) == 8 * 8 * 2);
    cr_expect(llmperf_kv_bytes_per_token_long(&model, 2) == 3 * 8 * 2);
    cr_expect(llmperf_kv_bytes(&c, 1, 20) == 8 * 20 * 8 * 2);
    cr_expect(llmperf_kv_bytes(&c, 3, 50) == 3 * (3 * 50 + 5 * 20) * 8 * 2);
    /* one token more than the window costs the three full layers alone */
    cr_expect(llmperf_kv_bytes(&c, 1, 21) - llmperf_kv_bytes(&c, 1, 20) == 3 * 8 * 2);
    /* whole blocks of 16: 17 tokens hold 32, of which the windowed layers keep 20 */
    c = config_on(&model, &hw, &(llmperf_workload){.kv_block = 16});
    cr_expect(llmperf_kv_bytes(&c, 1, 1) == 8 * 16 * 8 * 2);
    cr_expect(llmperf_kv_bytes(&c, 1, 17) == (3 * 32 + 5 * 20) * 8 * 2);
    /* fp8 halves it; two devices hold one KV head each, four still one each */
    c = config_on(&model, &hw, &(llmperf_workload){.kv_block = 1, .kv_dtype = LLMPERF_DTYPE_FP8});
    cr_expect(llmperf_kv_bytes(&c, 1, 10) == 8 * 10 * 8);
    c = config_on(&model, &hw, &(llmperf_workload){.kv_block = 1, .tp = 2});
    cr_expect(llmperf_kv_bytes(&c, 1, 10) == 8 * 10 * 4 * 2);
    c = config_on(&model, &hw, &(llmperf_workload){.kv_block = 1, .tp = 4});
    cr_expect(llmperf_kv_bytes(&c, 1, 10) == 8 * 10 * 4 * 2);
}

/* ---- memory ---- */

/*
 * The toy on 1 GB, b = 2, s = 5, g = 3: weights 1656 * 2; KV 2 * 16 tokens (one block) * 24 values
 * * 2; per token (2*8 + max(2*12, (4 + 2*2)*2)) * 2 = 80; prefill 10 tokens and 2 rows of 10
 * logits in fp32: 800 + 80 (decode: 2 * (80 + 40) is less); reserve 0.1 of 1e9 + 1 GiB.
 */
Test(count, memory_by_hand)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    hw.memory_bytes = 2e9;
    llmperf_config c =
        config_on(&model, &hw, &(llmperf_workload){.batch = 2, .prompt = 5, .generate = 3});
    llmperf_memory m;
    llmperf_memory_of(&c, &m);
    cr_expect(m.weight_bytes == 3312);
    cr_expect(m.kv_bytes == 2 * 16 * 24 * 2);
    cr_expect(m.state_bytes == 0);
    cr_expect(m.activation_bytes == 880);
    cr_expect(is_near(m.reserved_bytes, 0.2e9 + 1073741824.0, 1e-12));
    cr_expect(m.capacity_bytes == 2e9);
    cr_expect(is_near(m.total_bytes,
                      m.weight_bytes + m.kv_bytes + m.activation_bytes + m.reserved_bytes, 1e-15));
    cr_expect(m.fits);

    /* usable memory, where the part says it, is the capacity */
    hw.memory_usable_bytes = 1.9e9;
    llmperf_memory_of(&c, &m);
    cr_expect(m.capacity_bytes == 1.9e9);
    cr_expect(is_near(m.reserved_bytes, 0.19e9 + 1073741824.0, 1e-12));

    /* a reserve of zero bytes is a value, not "unset"; utilization 1 leaves nothing aside */
    c = config_on(&model, &hw, &(llmperf_workload){.has_reserve = true, .memory_utilization = 1});
    llmperf_memory_of(&c, &m);
    cr_expect(m.reserved_bytes == 0);
}

Test(count, activations_are_the_largest_step)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    /* 3 prompts of 40 in chunks of 64: 64 tokens, ceil(64 / 40) = 2 ends: 64 * 80 + 2 * 40 */
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){.prompt = 40, .chunk = 64});
    cr_expect(llmperf_activation_bytes(&c, 3, 40) == 64 * 80 + 2 * 40);
    /* 2 devices: the tensors are halved, the logits are not */
    c = config_on(&model, &hw, &(llmperf_workload){.prompt = 40, .chunk = 64, .tp = 2});
    cr_expect(llmperf_activation_bytes(&c, 3, 40) == 64 * 40 + 2 * 40);
    /* all logits: 64 rows */
    c = config_on(&model, &hw, &(llmperf_workload){.prompt = 40, .chunk = 64, .logits_all = true});
    cr_expect(llmperf_activation_bytes(&c, 3, 40) == 64 * 80 + 64 * 40);
    /* many sequences in decode outweigh a small chunk: 100 * (80 + 40) */
    c = config_on(&model, &hw, &(llmperf_workload){.prompt = 40, .chunk = 8});
    cr_expect(llmperf_activation_bytes(&c, 100, 40) == 100 * 120);
    /* and each of 5 verified tokens has its logits */
    c = config_on(&model, &hw, &(llmperf_workload){.prompt = 40, .chunk = 8, .query = 5});
    cr_expect(llmperf_activation_bytes(&c, 100, 40) == 500 * 120);
    /* 30 of 40 tokens cached: 10 new ones a prompt */
    c = config_on(&model, &hw, &(llmperf_workload){.prompt = 40, .cached = 30});
    cr_expect(llmperf_activation_bytes(&c, 3, 40) == 30 * 80 + 3 * 40);
    /* where heads are wide the qkv tensor counts: (4 + 2*2) * 16 = 128 > 2 * 12 */
    model.layers[0].attention.head_dim = model.layers[0].attention.value_dim = 16;
    c = config_on(&model, &hw, &(llmperf_workload){.prompt = 40});
    cr_expect(llmperf_activation_bytes(&c, 1, 40) == 40 * (16 + 128) * 2 + 40);
}

/* Each token's rows of its two active experts stand side by side, with the shared one's: gate and up
 * of 2 x 12 + 5 are 58 values, beside twice the hidden 8: 74 x 2 bytes a token. */
Test(count, activations_hold_the_rows_of_all_active_experts)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    model.layers[0].mlp = (llmperf_mlp){0};
    model.layers[0].moe =
        (llmperf_moe){.experts = 8, .active = 2, .ffn = 12, .shared_ffn = 5, .gated = true};
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){.prompt = 40});
    cr_expect(llmperf_activation_bytes(&c, 1, 40) == 40 * 148 + 40);
}

/* The widest tensor of a layer beside twice the hidden 8, in 2 bytes: of MLA 4 x (9 + 2) queries, of a
 * mixer 2 x 4 x 5 values and gates, where the feed-forward network has 2 x 6. */
Test(count, activations_hold_the_widest_tensor_of_any_layer)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    model.layers[0].mlp.ffn = 6;
    model.layers[0].attention = (llmperf_attention){0};
    model.layers[0].mla = (llmperf_mla){
        .heads = 4, .q_rank = 8, .kv_rank = 4, .nope_dim = 9, .rope_dim = 2, .value_dim = 3};
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){.prompt = 40});
    cr_expect(llmperf_activation_bytes(&c, 1, 40) == 40 * (16 + 44) * 2 + 40);
    model.layers[0].mla = (llmperf_mla){0};
    model.layers[0].ssm = (llmperf_ssm){
        .kind = LLMPERF_SSM_MAMBA2, .heads = 4, .head_dim = 5, .state = 3, .groups = 2, .conv = 4};
    c = config_on(&model, &hw, &(llmperf_workload){.prompt = 40});
    cr_expect(llmperf_activation_bytes(&c, 1, 40) == 40 * (16 + 40) * 2 + 40);
}

/* Mamba-2 of 4 heads of 2 channels with 3 states: 24 values in fp32, and 3 columns of its convolution's
 * 8 + 2 x 2 x 3 channels in 16 bit, in each of 3 layers: 3 x (96 + 120) bytes a sequence. */
Test(count, states_are_held_in_memory)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    llmperf_memory m, more;
    model.layers[0].attention = (llmperf_attention){0};
    model.layers[0].ssm = (llmperf_ssm){
        .kind = LLMPERF_SSM_MAMBA2, .heads = 4, .head_dim = 2, .state = 3, .groups = 2, .conv = 4};
    hw.memory_bytes = 2e9;
    llmperf_config c = config_on(&model, &hw, &(llmperf_workload){.batch = 5, .prompt = 5});
    llmperf_memory_of(&c, &m);
    cr_expect(m.state_bytes == 5 * 648 && m.kv_bytes == 0);
    cr_expect(m.total_bytes == m.weight_bytes + 5 * 648 + m.activation_bytes + m.reserved_bytes);
    /* where a device holds all but these it holds as many sequences less */
    hw.memory_bytes = m.total_bytes;
    c = config_on(&model, &hw,
                  &(llmperf_workload){.batch = 5,
                                      .prompt = 5,
                                      .memory_utilization = 1,
                                      .reserve_bytes = m.reserved_bytes,
                                      .has_reserve = true});
    llmperf_memory_of(&c, &more);
    cr_expect(more.fits && more.max_batch == 5, "%" PRId64, more.max_batch);
    hw.memory_bytes -= 1;
    llmperf_memory_of(&c, &more);
    cr_expect(!more.fits && more.max_batch == 4, "%" PRId64, more.max_batch);
}

static bool fits_at(const llmperf_model *model, const llmperf_hw *hw, llmperf_workload w,
                    int64_t batch, int64_t prompt)
{
    w.batch = batch;
    w.prompt = prompt;
    llmperf_config c = config_on(model, hw, &w);
    llmperf_memory m;
    llmperf_memory_of(&c, &m);
    return m.fits;
}

/* max_batch fits and one more does not; likewise the longest context at the asked batch. */
Test(count, limits_are_the_last_that_fit)
{
    rng r = {.state = 7};
    int batches = 0, contexts = 0;
    for (int i = 0; i < CASES(2000); i++) {
        llmperf_model model;
        llmperf_hw hw;
        llmperf_workload w;
        random_model(&r, &model);
        random_hw(&r, &hw);
        random_workload(&r, &model, &w);
        w.cached = 0;
        llmperf_config c = config_on(&model, &hw, &w);
        llmperf_memory m;
        llmperf_memory_of(&c, &m);
        if (m.max_batch == 0) {
            if (fits_at(&model, &hw, w, 1, w.prompt))
                cr_assert(false, "case %d: max_batch 0, but 1 fits: %s", i, describe_case(&c));
        } else if (m.max_batch < 1 << 23) {
            if (!fits_at(&model, &hw, w, m.max_batch, w.prompt) ||
                fits_at(&model, &hw, w, m.max_batch + 1, w.prompt))
                cr_assert(false, "case %d: max_batch %" PRId64 " is not the last: %s", i,
                          m.max_batch, describe_case(&c));
            batches++;
        }
        int64_t longest = m.max_context_tokens;
        if (longest > w.generate && longest < 1 << 29) {
            if (!fits_at(&model, &hw, w, w.batch, longest - w.generate) ||
                fits_at(&model, &hw, w, w.batch, longest + 1 - w.generate))
                cr_assert(false, "case %d: max_context %" PRId64 " is not the last: %s", i, longest,
                          describe_case(&c));
            contexts++;
        }
        if (m.fits != (m.max_batch >= w.batch))
            cr_assert(false, "case %d: fits %d, max_batch %" PRId64 ": %s", i, m.fits, m.max_batch,
                      describe_case(&c));
        if (m.fits && m.max_context_tokens < w.prompt + w.generate)
            cr_assert(false, "case %d: fits, but the longest context is %" PRId64 ": %s", i,
                      longest, describe_case(&c));
    }
    cr_expect(batches > CASES(400) && contexts > CASES(400), "%d %d", batches, contexts);
}

/*
 * A wide vocabulary and a small cache: at short prompts a step of 8192 tokens ends up to 1000
 * prompts, whose logits weigh more than the cache that longer prompts hold. 1000 sequences of one
 * layer, MQA, d 16 (64 bytes a token); a token takes 2 (2*4096 + 2*16384) = 82 kB, a row of logits
 * 400 kB. Prompts of 8: 8000 * 82 kB + 1000 * 400 kB = 1.06 GB; of 1000: 8192 * 82 kB + 9 * 400 kB
 * + 64 MB = 0.74 GB.
 */
Test(count, longest_context_is_the_longest_where_short_prompts_need_more)
{
    llmperf_model model = llama_like("wide", 1, 4096, 4, 1, 16, 16384, 100000);
    llmperf_hw hw = toy_hw();
    llmperf_workload w = {.batch = 1000,
                          .prompt = 64,
                          .generate = 1,
                          .chunk = 8192,
                          .memory_utilization = 1,
                          .has_reserve = true,
                          .kv_block = 1};
    llmperf_config c = config_on(&model, &hw, &w);
    hw.memory_bytes = llmperf_weight_bytes(&c) + 0.9e9;
    llmperf_memory m;
    llmperf_memory_of(&c, &m);
    int64_t longest = 0;
    for (int64_t tokens = 2; tokens < 20000; tokens++)
        if (fits_at(&model, &hw, w, 1000, tokens - 1))
            longest = tokens;
    cr_expect(longest > 1000);
    cr_expect(m.max_context_tokens == longest, "%" PRId64 ", by trying all %" PRId64,
              m.max_context_tokens, longest);
}
