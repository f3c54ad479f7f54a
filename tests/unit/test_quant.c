/* SPDX-License-Identifier: MIT */
/*
 * Quantised checkpoints: effective bits, what is left alone, the arithmetic that follows. The kinds
 * of quantization_config of tests/data/configs/quant are tried by tests/cli/test_architectures.py.
 */
#include <criterion/criterion.h>

#include "random_case.h"
#include "steps.h"
#include "config_object.h"
#include "read.h"
#include "config.h"

/* Two layers of 64 wide, 4 experts of 32 from layer `dense` on. */
static llmperf_model checkpoint(int dense, const char *scheme)
{
    char json[2048];
    llmperf_model model;
    llmperf_error error = {0};
    snprintf(json, sizeof json,
             "{\"model_type\": \"qwen2_moe\", \"hidden_size\": 64, \"intermediate_size\": 128,"
             " \"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"num_hidden_layers\": 12,"
             " \"num_experts\": 4, \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32,"
             " \"shared_expert_intermediate_size\": 48, \"vocab_size\": 100,"
             " \"decoder_sparse_step\": 1, \"mlp_only_layers\": [%s],"
             " \"tie_word_embeddings\": false, \"torch_dtype\": \"bfloat16\"%s}",
             dense == 0 ? "" : "0", scheme);
    llmperf_status status = model_load_text("x/config.json", json, strlen(json), &model, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return model;
}

/* Layers (of 12) whose weights of a class are in `dtype`; a layer without the class counts not. */
static int64_t layers_in(const llmperf_model *model, llmperf_weight_class class,
                         llmperf_dtype dtype)
{
    int64_t layers = 0;
    for (int i = 0; i < model->layer_kind_count; i++)
        if (model->layers[i].weights[class].dtype == dtype)
            layers += model->layers[i].count;
    return layers;
}

static void expect_layers(const llmperf_model *model, llmperf_dtype dtype, int64_t attention,
                          int64_t mlp, int64_t experts, int64_t shared)
{
    cr_expect(layers_in(model, LLMPERF_WEIGHT_ATTENTION, dtype) == attention,
              "%" PRId64 " attention", layers_in(model, LLMPERF_WEIGHT_ATTENTION, dtype));
    cr_expect(layers_in(model, LLMPERF_WEIGHT_MLP, dtype) == mlp, "%" PRId64 " mlp",
              layers_in(model, LLMPERF_WEIGHT_MLP, dtype));
    cr_expect(layers_in(model, LLMPERF_WEIGHT_EXPERTS, dtype) == experts, "%" PRId64 " experts",
              layers_in(model, LLMPERF_WEIGHT_EXPERTS, dtype));
    cr_expect(layers_in(model, LLMPERF_WEIGHT_SHARED, dtype) == shared, "%" PRId64 " shared",
              layers_in(model, LLMPERF_WEIGHT_SHARED, dtype));
    for (int i = 0; i < model->layer_kind_count; i++)
        cr_expect(!model->layers[i].weights[LLMPERF_WEIGHT_ROUTER].dtype &&
                  !model->layers[i].weights[LLMPERF_WEIGHT_OTHER].dtype);
}

#define FP8 ", \"quantization_config\": {\"quant_method\": \"fp8\""
#define CT(ignore)                                                                                 \
    ", \"quantization_config\": {\"quant_method\": \"compressed-tensors\", \"config_groups\": "    \
    "{\"group_0\": {\"weights\": {\"num_bits\": 8, \"type\": \"float\"}}}, \"ignore\": [" ignore   \
    "]}"

Test(quant, routers_norms_embedding_and_head_stay)
{
    llmperf_model model = checkpoint(1, FP8 ", \"weight_block_size\": [128, 128]}");
    expect_layers(&model, LLMPERF_DTYPE_FP8, 12, 1, 11, 11);
    cr_expect(model.layers[0].weights[LLMPERF_WEIGHT_ATTENTION].bits == 8 + 32.0 / 16384);
    cr_expect(model.weight_dtype[LLMPERF_WEIGHT_EMBEDDING] == LLMPERF_DTYPE_BF16 &&
              model.weight_dtype[LLMPERF_WEIGHT_HEAD] == LLMPERF_DTYPE_BF16 &&
              model.weight_dtype[LLMPERF_WEIGHT_ROUTER] == LLMPERF_DTYPE_BF16);
    /* 12 layers: q and o 64 x 64, k and v 64 x 32; one FFN of 3 x 64 x 128; 11 x (4 experts of
     * 3 x 64 x 32, a shared one of 3 x 64 x 48 and its gate of 64) */
    double quantised = 12 * 12288 + 24576 + 11.0 * (4 * 6144 + 9216 + 64);
    double rest = (double)llmperf_model_params(&model).total - quantised;
    cr_expect(is_near(llmperf_model_weight_bytes(&model, NULL),
                      quantised * (8 + 32.0 / 16384) / 8 + rest * 2, 1e-14));
}

/* compressed-tensors quantises the head unless the list names it. */
Test(quant, the_head_is_quantised_unless_named)
{
    llmperf_model model = checkpoint(0, CT("\"lm_head\""));
    cr_expect(model.weight_dtype[LLMPERF_WEIGHT_HEAD] == LLMPERF_DTYPE_BF16);
    model = checkpoint(0, CT(""));
    cr_expect(model.weight_dtype[LLMPERF_WEIGHT_HEAD] == LLMPERF_DTYPE_FP8);
    cr_expect(model.weight_dtype[LLMPERF_WEIGHT_EMBEDDING] == LLMPERF_DTYPE_BF16);
    model = checkpoint(0, CT("\"re:.*lm_head\""));
    cr_expect(model.weight_dtype[LLMPERF_WEIGHT_HEAD] == LLMPERF_DTYPE_BF16);
    /* as the lists of multimodal models name it (Llama 4) */
    model = checkpoint(0, CT("\"language_model.lm_head\""));
    cr_expect(model.weight_dtype[LLMPERF_WEIGHT_HEAD] == LLMPERF_DTYPE_BF16);
    model = checkpoint(0, CT("\"vision_model.lm_head\", \"lm_head_norm\""));
    cr_expect(model.weight_dtype[LLMPERF_WEIGHT_HEAD] == LLMPERF_DTYPE_FP8);
}

Test(quant, patterns_hit_what_they_name)
{
    llmperf_model model = checkpoint(0, CT("\"re:.*self_attn.*\""));
    expect_layers(&model, LLMPERF_DTYPE_FP8, 0, 0, 12, 12);
    model = checkpoint(0, CT("\"model.layers.0.self_attn.q_proj\", \"model.layers.3.self_attn\""));
    expect_layers(&model, LLMPERF_DTYPE_FP8, 10, 0, 12, 12);
    model = checkpoint(0, CT("\"re:.*\\\\.layers\\\\.(?:0|11)\\\\..*\""));
    expect_layers(&model, LLMPERF_DTYPE_FP8, 10, 0, 10, 10);
    model = checkpoint(0, CT("\"re:.*shared_expert.*\""));
    expect_layers(&model, LLMPERF_DTYPE_FP8, 12, 0, 12, 0);
    /* the router's name is no part of an expert's */
    model = checkpoint(1, CT("\"re:.*mlp.gate$\", \"mlp.gate\", \"model.layers.1.mlp.gate\""));
    expect_layers(&model, LLMPERF_DTYPE_FP8, 12, 1, 11, 11);
    /* a regular expression begins at the start of the name, as Python's match does */
    model = checkpoint(0, CT("\"re:self_attn.*\""));
    expect_layers(&model, LLMPERF_DTYPE_FP8, 12, 0, 12, 12);
}

/* "layers.1." is layer 1; the glob "layers.1*" is 1, 10 and 11, "layers.0*" 0 alone. */
Test(quant, globs_and_layer_numbers)
{
    llmperf_model model = checkpoint(0, CT("\"model.layers.1.\""));
    expect_layers(&model, LLMPERF_DTYPE_FP8, 11, 0, 11, 11);
    model = checkpoint(0, CT("\"layers.1.\""));
    expect_layers(&model, LLMPERF_DTYPE_FP8, 11, 0, 11, 11);
    model = checkpoint(0, CT("\"model.layers.0*\", \"model.layers.1.*\""));
    expect_layers(&model, LLMPERF_DTYPE_FP8, 10, 0, 10, 10);
    model = checkpoint(0, CT("\"model.layers.1*\""));
    expect_layers(&model, LLMPERF_DTYPE_FP8, 9, 0, 9, 9);
    model = checkpoint(0, CT("\"model.layers.*.self_attn*\""));
    expect_layers(&model, LLMPERF_DTYPE_FP8, 0, 0, 12, 12);
    model = checkpoint(0, CT("\"model.layers.*.mlp.experts*\""));
    expect_layers(&model, LLMPERF_DTYPE_FP8, 12, 0, 0, 12);
}

/* As a public AWQ checkpoint writes it: layer 0, attention and shared experts stay. */
Test(quant, awq_leaves_layer_0_attention_and_shared_experts)
{
    llmperf_model model = checkpoint(
        0,
        ", \"quantization_config\": {\"quant_method\": \"awq\", \"bits\": 4, \"group_size\": 128,"
        " \"modules_to_not_convert\": [\"model.layers.0.\", \"self_attn\", \"shared_expert\","
        " \"mlp.gate\", \"lm_head\"]}");
    expect_layers(&model, LLMPERF_DTYPE_INT4, 0, 0, 11, 0);
    /* 4 bits, and per 128 a 16-bit scale and a 4-bit zero point */
    for (int i = 0; i < model.layer_kind_count; i++)
        if (model.layers[i].weights[LLMPERF_WEIGHT_EXPERTS].dtype)
            cr_expect(model.layers[i].weights[LLMPERF_WEIGHT_EXPERTS].bits == 4 + 20.0 / 128);
}

Test(quant, mxfp4_is_for_experts_alone)
{
    llmperf_model model = checkpoint(1, ", \"quantization_config\": {\"quant_method\": \"mxfp4\"}");
    expect_layers(&model, LLMPERF_DTYPE_MXFP4, 0, 0, 11, 0);
    llmperf_error error = {0};
    cr_assert(llmperf_model_quantise(&model, "mxfp4", &error) == LLMPERF_OK);
    expect_layers(&model, LLMPERF_DTYPE_MXFP4, 0, 0, 11, 0);
    /* a dense model has no experts: its matrices, then */
    llmperf_model dense = toy_model();
    cr_assert(llmperf_model_quantise(&dense, "mxfp4", &error) == LLMPERF_OK);
    cr_expect(dense.layers[0].weights[LLMPERF_WEIGHT_MLP].dtype == LLMPERF_DTYPE_MXFP4 &&
              dense.layers[0].weights[LLMPERF_WEIGHT_ATTENTION].dtype == LLMPERF_DTYPE_MXFP4);
}

/* ---- by name ---- */

/* Bits by name: scales of 16 bit per 128 and zero points of 4; fp32 per 128 x 128. */
Test(quant, names_and_their_bits)
{
    static const struct {
        char name[12];
        double bits;
        llmperf_dtype operand;
    } rows[] = {
        {"fp8", 8, LLMPERF_DTYPE_FP8},
        {"fp8-block", 8 + 32.0 / 16384, LLMPERF_DTYPE_FP8},
        {"int8", 8, LLMPERF_DTYPE_INT8},
        {"awq", 4 + 20.0 / 128, LLMPERF_DTYPE_NONE},
        {"gptq", 4 + 20.0 / 128, LLMPERF_DTYPE_NONE},
        {"nf4", 4.5, LLMPERF_DTYPE_NONE},
        {"nvfp4", 4.5, LLMPERF_DTYPE_NVFP4},
        {"q8_0", 8.5, LLMPERF_DTYPE_NONE},
        {"q4_0", 4.5, LLMPERF_DTYPE_NONE},
        {"mxfp4", 4.25, LLMPERF_DTYPE_NONE},
    };
    llmperf_error error = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        llmperf_model model = toy_model();
        cr_assert(llmperf_model_quantise(&model, rows[i].name, &error) == LLMPERF_OK);
        const llmperf_weight_format *mlp = &model.layers[0].weights[LLMPERF_WEIGHT_MLP];
        cr_expect(mlp->bits == rows[i].bits && mlp->operand == rows[i].operand, "%s: %g bits",
                  rows[i].name, mlp->bits);
        cr_expect(model.weight_dtype[LLMPERF_WEIGHT_HEAD] == LLMPERF_DTYPE_BF16);
        /* matrices: 3 x (8 x 16 + 8 x 8 + 3 x 8 x 12) = 1440; the rest 2 bytes: 160 + 56 */
        cr_expect(is_near(llmperf_model_weight_bytes(&model, NULL),
                          1440 * rows[i].bits / 8 + 216 * 2, 1e-14),
                  "%s: %g", rows[i].name, llmperf_model_weight_bytes(&model, NULL));
        cr_assert(llmperf_model_quantise(&model, "none", &error) == LLMPERF_OK);
        cr_expect(llmperf_model_weight_bytes(&model, NULL) == 2 * 1656 && model.scheme[0] == '\0');
    }
    llmperf_model model = toy_model();
    cr_expect(llmperf_model_quantise(&model, "fp9", &error) == LLMPERF_E_USAGE);
    cr_expect(strstr(error.text, "fp8"), "%s", error.text);
    for (const char *const *name = llmperf_quant_names(); *name; name++)
        cr_expect(llmperf_model_quantise(&model, *name, &error) == LLMPERF_OK, "%s", *name);
}

/* Any model under any name: never heavier than its 16-bit parent, whatever it was before. */
Test(quant, never_heavier_than_the_parent)
{
    rng r = {.state = 95};
    llmperf_error error = {0};
    for (int i = 0; i < CASES(1000); i++) {
        llmperf_model model;
        random_model(&r, &model);
        cr_assert(llmperf_model_quantise(&model, "none", &error) == LLMPERF_OK);
        double parent = llmperf_model_weight_bytes(&model, NULL), last = 0;
        for (const char *const *name = llmperf_quant_names(); *name; name++) {
            cr_assert(llmperf_model_quantise(&model, *name, &error) == LLMPERF_OK);
            double bytes = llmperf_model_weight_bytes(&model, NULL);
            cr_expect(bytes <= parent, "%s: %g of %g", *name, bytes, parent);
            last = bytes;
        }
        cr_expect(last == parent, "none comes last and undoes them");
    }
}

/* ---- the arithmetic that follows ---- */

static llmperf_dtype dtype_on(const llmperf_model *model, const llmperf_hw *hw, llmperf_op_id id)
{
    llmperf_config c;
    llmperf_error error = {0};
    llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_status status =
        config_init(&c, model, hw, NULL, &(llmperf_workload){.batch = 1}, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    llmperf_segment s = llmperf_decode_segment(&c, 1, 5);
    int count = llmperf_emit(&c, &s, 1, LLMPERF_OPS_MAX, ops);
    const llmperf_op *op = find_op(ops, count, id);
    cr_assert(op);
    return (llmperf_dtype)op->dtype;
}

/* fp8 with fp8 activations: fp8 on H100, bf16 on A100. Weight-only formats: bf16 on both. nvfp4
 * on a part with it, else the next peak that holds e2m1: fp8. int8 with int8: int8 on both. */
Test(quant, operands_choose_the_arithmetic)
{
    llmperf_hw hopper = h100(), ampere = a100(), blackwell = h100();
    blackwell.peak_flop_per_s[LLMPERF_DTYPE_NVFP4] = 9e15;
    static const struct {
        char name[12];
        llmperf_dtype hopper, ampere, blackwell;
    } rows[] = {
        {"fp8", LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP8},
        {"fp8-block", LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP8},
        {"int8", LLMPERF_DTYPE_INT8, LLMPERF_DTYPE_INT8, LLMPERF_DTYPE_INT8},
        {"awq", LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_BF16},
        {"nf4", LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_BF16},
        {"q4_0", LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_BF16},
        {"mxfp4", LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_BF16},
        {"nvfp4", LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_NVFP4},
    };
    llmperf_error error = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        llmperf_model model = toy_model();
        cr_assert(llmperf_model_quantise(&model, rows[i].name, &error) == LLMPERF_OK);
        static const llmperf_op_id ids[] = {LLMPERF_OP_ATTN_QKV, LLMPERF_OP_MLP_DOWN};
        for (int o = 0; o < 2; o++) {
            cr_expect(dtype_on(&model, &hopper, ids[o]) == rows[i].hopper, "%s", rows[i].name);
            cr_expect(dtype_on(&model, &ampere, ids[o]) == rows[i].ampere, "%s", rows[i].name);
            cr_expect(dtype_on(&model, &blackwell, ids[o]) == rows[i].blackwell, "%s",
                      rows[i].name);
        }
        cr_expect(dtype_on(&model, &hopper, LLMPERF_OP_LM_HEAD) == LLMPERF_DTYPE_BF16);
        cr_expect(dtype_on(&model, &hopper, LLMPERF_OP_ATTN_CORE) == LLMPERF_DTYPE_BF16);
    }
}

/* --weight-dtype replaces what the checkpoint says of dense weights, and its operand. */
Test(quant, a_weight_dtype_replaces_the_scheme)
{
    llmperf_model model = toy_model();
    llmperf_error error = {0};
    cr_assert(llmperf_model_quantise(&model, "fp8", &error) == LLMPERF_OK);
    llmperf_hw part = h100();
    llmperf_config c;
    cr_assert(config_init(&c, &model, &part, NULL,
                          &(llmperf_workload){.weight_dtype = LLMPERF_DTYPE_INT4},
                          &error) == LLMPERF_OK);
    cr_expect(c.layer[0].dtype[LLMPERF_WEIGHT_MLP] == LLMPERF_DTYPE_INT4 &&
              c.layer[0].gemm_dtype[LLMPERF_WEIGHT_MLP] == LLMPERF_DTYPE_BF16);
    cr_expect(is_near(llmperf_weight_bytes(&c), 1440 * 0.5 + 216 * 2, 1e-14));
}

/*
 * The batch reported for a GEMM is that of most layers, not of the one that is left alone. H100,
 * n = k = 4096: bf16 345.1; int4 weights: w n k = 0.51953 x 2^24 = 8,716,288 over 2 n k / R - a (n +
 * k) = 113,612 - 16,384 = 97,228: 89.65.
 */
Test(quant, compute_bound_batch_is_that_of_most_layers)
{
    llmperf_model model = llama_like("awq", 31, 4096, 32, 8, 128, 4096, 32000);
    llmperf_hw part = h100();
    llmperf_error error = {0};
    cr_assert(llmperf_model_quantise(&model, "awq", &error) == LLMPERF_OK);
    model.layer_kind_count = 2;
    model.layers[1] = model.layers[0];
    memset(model.layers[0].weights, 0, sizeof model.layers[0].weights);
    model.layers[0].count = 1;
    llmperf_config c;
    llmperf_crossings all;
    cr_assert(config_init(&c, &model, &part, NULL, &(llmperf_workload){.batch = 1}, &error) ==
              LLMPERF_OK);
    llmperf_crossings_of(&c, NULL, room(), &all, NULL);
    int seen = 0;
    for (int i = 0; i < all.op_count; i++)
        if (all.op[i].id == LLMPERF_OP_ATTN_OUT) {
            seen++;
            cr_expect(all.op[i].crossing.batch == 90, "%" PRId64, all.op[i].crossing.batch);
        }
    cr_expect(seen == 1);
}
