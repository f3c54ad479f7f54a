/* SPDX-License-Identifier: MIT */
/* A workload on a model and a part: defaults, what is refused, what is chosen and noted. */
#include <criterion/criterion.h>

#include "random_case.h"
#include "steps.h"
#include "config_object.h"
#include "config.h"

static llmperf_error error;

static llmperf_status try_case(const llmperf_model *model, const llmperf_hw *hw,
                               const llmperf_workload *w, llmperf_config *ret_case)
{
    error = (llmperf_error){0};
    return config_init(ret_case, model, hw, NULL, w, &error);
}

static llmperf_config init(const llmperf_model *model, const llmperf_hw *hw,
                           const llmperf_workload *w)
{
    llmperf_config c;
    llmperf_status status = try_case(model, hw, w, &c);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return c;
}

/* The whole message of a workload that must be refused. */
static const char *refusal(const llmperf_model *model, const llmperf_hw *hw,
                           const llmperf_workload *w, llmperf_status want)
{
    static llmperf_config c;
    memset(&c, 0x5a, sizeof c);
    llmperf_status status = try_case(model, hw, w, &c);
    cr_expect(status == want && error.status == want, "status %d and %d, wanted %d: %s",
              (int)status, (int)error.status, (int)want, error.text);
    cr_expect(((unsigned char *)&c)[0] == 0x5a, "a failure fills the result");
    return error.text;
}

static bool has_note(const llmperf_notes *notes, const char *piece)
{
    for (int i = 0; i < notes->count; i++)
        if (strstr(notes->text[i], piece))
            return true;
    return false;
}

/* ---- defaults ---- */

Test(config, defaults)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    llmperf_config c = init(&model, &hw, &(llmperf_workload){0});
    const llmperf_workload *w = &c.workload;
    cr_expect(w->batch == 1 && w->prompt == 1024 && w->generate == 256 && w->cached == 0);
    cr_expect(w->context == 1024 + 128 && w->has_context);
    cr_expect(w->chunk == 8192 && w->query == 1 && w->tp == 1 && w->kv_block == 16);
    cr_expect(w->memory_utilization == 0.9 && w->confidence == 0.9);
    cr_expect(w->reserve_bytes == 1024.0 * 1024 * 1024 && w->has_reserve);
    cr_expect(w->weight_dtype == LLMPERF_DTYPE_BF16 && w->act_dtype == LLMPERF_DTYPE_BF16 &&
              w->kv_dtype == LLMPERF_DTYPE_BF16);
    cr_expect(!w->unfused && !w->logits_all && !w->split_qkv);
    cr_expect(c.act_bytes_per == 2 && c.kv_bytes_per == 2);
    cr_expect(c.attention_dtype == LLMPERF_DTYPE_BF16 && c.vector_dtype == LLMPERF_DTYPE_FP32);
    cr_expect(c.model == &model && c.hw == &hw && c.calib == NULL);
}

/* context = prompt + floor(generate / 2): 100 + 3 */
Test(config, context_is_the_middle_of_the_generation)
{
    llmperf_model model = toy_model();
    llmperf_config c = init(&model, NULL, &(llmperf_workload){.prompt = 100, .generate = 7});
    cr_expect(c.workload.context == 103);
    c = init(&model, NULL, &(llmperf_workload){.context = 0, .has_context = true});
    cr_expect(c.workload.context == 0);
}

/* The cache follows the activations, never the weights, unless the checkpoint says so. */
Test(config, formats_follow_the_file)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = h100();
    uniform_weights(&model, LLMPERF_DTYPE_FP16);
    llmperf_config c = init(&model, &hw, &(llmperf_workload){.weight_dtype = LLMPERF_DTYPE_INT4});
    cr_expect(c.workload.act_dtype == LLMPERF_DTYPE_FP16);
    cr_expect(c.workload.kv_dtype == LLMPERF_DTYPE_FP16);
    c = init(&model, &hw, &(llmperf_workload){.act_dtype = LLMPERF_DTYPE_FP8});
    cr_expect(c.workload.kv_dtype == LLMPERF_DTYPE_FP8 && c.kv_bytes_per == 1);
    model.kv_dtype = LLMPERF_DTYPE_FP8;
    c = init(&model, &hw, &(llmperf_workload){0});
    cr_expect(c.workload.kv_dtype == LLMPERF_DTYPE_FP8 && c.kv_bytes_per == 1);
    c = init(&model, &hw, &(llmperf_workload){.kv_dtype = LLMPERF_DTYPE_FP16});
    cr_expect(c.kv_bytes_per == 2);
}

/* ---- refusals ---- */

/* A cast (fp32, bf16, fp16) that widens takes embedding and head along, as loading a checkpoint in that
 * format does; a quantised format leaves them. Norms and routers stay as they are. */
Test(config, a_cast_takes_the_head_along_and_quantising_leaves_it)
{
    llmperf_model model = toy_model(); /* a bf16 file */
    const struct {
        llmperf_dtype asked;
        double dense, head;
    } want[] = {{LLMPERF_DTYPE_FP32, 4, 4}, {LLMPERF_DTYPE_FP16, 2, 2},
                {LLMPERF_DTYPE_BF16, 2, 2}, {LLMPERF_DTYPE_FP8, 1, 2},
                {LLMPERF_DTYPE_INT8, 1, 2}, {LLMPERF_DTYPE_INT4, 0.5, 2}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        llmperf_config c = init(&model, NULL, &(llmperf_workload){.weight_dtype = want[i].asked});
        const char *name = llmperf_dtype_name(want[i].asked);
        cr_expect(c.layer[0].bytes_per[LLMPERF_WEIGHT_MLP] == want[i].dense, "%s", name);
        cr_expect(c.outside.bytes_per[LLMPERF_WEIGHT_HEAD] == want[i].head, "%s", name);
        cr_expect(c.outside.bytes_per[LLMPERF_WEIGHT_EMBEDDING] == want[i].head, "%s", name);
        cr_expect(c.outside.bytes_per[LLMPERF_WEIGHT_OTHER] == 2, "%s", name);
    }
}

Test(config, ranges_are_checked_all_at_once)
{
    llmperf_model model = toy_model();
    llmperf_workload w = {.batch = -1, .prompt = -2, .generate = -3, .chunk = -4, .query = 70000};
    const char *text = refusal(&model, NULL, &w, LLMPERF_E_USAGE);
    cr_expect(strstr(text, "batch is -1; 1 to ") != NULL, "%s", text);
    cr_expect(strstr(text, "prompt is -2; 1 to ") != NULL, "%s", text);
    cr_expect(strstr(text, "generate is -3; 1 to ") != NULL, "%s", text);
    cr_expect(strstr(text, "chunk is -4; 1 to ") != NULL, "%s", text);
    cr_expect(strstr(text, "query is 70000; 1 to ") != NULL, "%s", text);
    cr_expect(error.faults >= 5);
}

Test(config, each_limit_is_named)
{
    llmperf_model model = toy_model();
    static const struct {
        llmperf_workload w;
        const char *piece;
    } rows[] = {
        {{.cached = 1024}, "cached is 1024; 0 to 1023 is allowed"},
        {{.cached = -1}, "cached is -1; 0 to 1023 is allowed"},
        {{.batch = 1 << 30}, "batch is 1073741824"},
        {{.context = -1, .has_context = true}, "context is -1; 0 to "},
        {{.kv_block = -1}, "kv-block is -1; 1 to "},
        {{.tp = -1}, "tp is -1; 1 to "},
        {{.memory_utilization = 1.5}, "memory-utilization is 1.5; above 0 and at most 1"},
        {{.memory_utilization = -0.5}, "memory-utilization is -0.5"},
        {{.memory_utilization = NAN}, "memory-utilization is "},
        {{.confidence = 1}, "confidence is 1; above 0 and below 1"},
        {{.confidence = NAN}, "confidence is "},
        {{.reserve_bytes = -1, .has_reserve = true}, "must not be negative"},
        {{.reserve_bytes = NAN, .has_reserve = true}, "must not be negative"},
        {{.tpot_s = -1}, "must not be negative"},
        {{.ttft_s = NAN}, "must not be negative"},
        {{.price_usd_per_h = -2}, "must not be negative"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = refusal(&model, NULL, &rows[i].w, LLMPERF_E_USAGE);
        cr_expect(strstr(text, rows[i].piece) != NULL, "'%s' is not in '%s'", rows[i].piece, text);
    }
}

/* A number that is no number of anything would print as null everywhere. */
Test(config, infinite_amounts_are_refused)
{
    llmperf_model model = toy_model();
    static const llmperf_workload rows[] = {
        {.reserve_bytes = INFINITY, .has_reserve = true},
        {.tpot_s = INFINITY},
        {.price_usd_per_h = INFINITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refusal(&model, NULL, &rows[i], LLMPERF_E_USAGE);
}

/* n = 4, n_kv = 2: n % tp = 0 and (n_kv % tp = 0 or tp % n_kv = 0): 1, 2, 4. */
Test(config, illegal_tp_lists_the_legal_ones)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    const char *text = refusal(&model, &hw, &(llmperf_workload){.tp = 3}, LLMPERF_E_USAGE);
    cr_expect_str_eq(text, "tp is 3, which does not divide the 4 heads and 2 KV heads of toy; "
                           "1, 2, 4 is allowed");
    refusal(&model, &hw, &(llmperf_workload){.tp = 8}, LLMPERF_E_USAGE);
    /* 12 heads, 4 KV heads: 3 divides the heads but neither divides the other */
    model.layers[0].attention.heads = 12;
    model.layers[0].attention.kv_heads = 4;
    text = refusal(&model, &hw, &(llmperf_workload){.tp = 3}, LLMPERF_E_USAGE);
    cr_expect(strstr(text, "; 1, 2, 4, 12 is allowed") != NULL, "%s", text);
    init(&model, &hw, &(llmperf_workload){.tp = 4});
}

Test(config, every_layer_shape_must_divide)
{
    llmperf_model model = toy_model();
    model.layer_kind_count = 2;
    model.layers[1] = model.layers[0];
    model.layers[1].attention.heads = model.layers[1].attention.kv_heads = 3;
    const char *text = refusal(&model, NULL, &(llmperf_workload){.tp = 2}, LLMPERF_E_USAGE);
    cr_expect(strstr(text, "; 1 is allowed") != NULL, "%s", text);
}

Test(config, tp_beyond_the_domain_goes_over_nodes_or_pcie)
{
    llmperf_model model = llama_like("wide", 2, 4096, 64, 64, 64, 8192, 1000);
    llmperf_hw hw = toy_hw(); /* a domain of 8 */
    init(&model, &hw, &(llmperf_workload){.tp = 8});
    const char *text = refusal(&model, &hw, &(llmperf_workload){.tp = 16}, LLMPERF_E_UNSUPPORTED);
    cr_expect(strstr(text, "links 8 devices") != NULL, "%s", text);
    hw.nodes = (llmperf_link){.kind = "infiniband", .bytes_per_s = 1e8, .latency_s = 1e-5};
    init(&model, &hw, &(llmperf_workload){.tp = 16});
    hw.nodes = (llmperf_link){0};
    hw.pcie = (llmperf_link){.kind = "pcie", .bytes_per_s = 1e8, .latency_s = 1e-5};
    hw.link.domain = 2; /* a bridge between two cards of a host */
    init(&model, &hw, &(llmperf_workload){.tp = 4});
    hw.link = hw.pcie = (llmperf_link){0};
    text = refusal(&model, &hw, &(llmperf_workload){.tp = 2}, LLMPERF_E_UNSUPPORTED);
    cr_expect(strstr(text, "neither link nor pcie") != NULL, "%s", text);
    init(&model, &hw, &(llmperf_workload){.tp = 1});
}

Test(config, no_usable_peak_is_unsupported)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    memset(hw.peak_flop_per_s, 0, sizeof hw.peak_flop_per_s);
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP16] = 1e12;
    hw.peak_flop_per_s[LLMPERF_DTYPE_INT8] = 2e12;
    const char *text = refusal(&model, &hw, &(llmperf_workload){0}, LLMPERF_E_UNSUPPORTED);
    cr_expect(strstr(text, "toy-gpu has no peak that holds weights of bf16 with bf16") != NULL,
              "%s", text);
    cr_expect(strstr(text, "fp16, int8") != NULL, "%s", text);
}

Test(config, broken_models_and_parts_are_refused)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    model.layers[0].attention.kv_heads = 3;
    refusal(&model, &hw, &(llmperf_workload){0}, LLMPERF_E_SPEC);
    model = toy_model();
    hw.mem_bytes_per_s = 0;
    refusal(&model, &hw, &(llmperf_workload){0}, LLMPERF_E_SPEC);
    hw = toy_hw();
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = NAN;
    refusal(&model, &hw, &(llmperf_workload){0}, LLMPERF_E_SPEC);
}

/* ---- the arithmetic, and what is said about it ---- */

static llmperf_dtype computed(const llmperf_model *model, const llmperf_hw *hw, llmperf_workload w)
{
    llmperf_config c = init(model, hw, &w);
    return llmperf_config_compute_dtype(&c);
}

Test(config, compute_dtype_by_part)
{
    llmperf_model model = toy_model();
    llmperf_hw h = h100(), a = a100();
    llmperf_workload int4 = {.weight_dtype = LLMPERF_DTYPE_INT4};
    llmperf_workload fp8 = {.weight_dtype = LLMPERF_DTYPE_FP8, .act_dtype = LLMPERF_DTYPE_FP8};
    llmperf_workload fp4 = {.weight_dtype = LLMPERF_DTYPE_NVFP4, .act_dtype = LLMPERF_DTYPE_NVFP4};
    llmperf_workload weights_only = {.weight_dtype = LLMPERF_DTYPE_FP8};
    cr_expect(computed(&model, &h, (llmperf_workload){0}) == LLMPERF_DTYPE_BF16);
    cr_expect(computed(&model, &h, int4) == LLMPERF_DTYPE_BF16);
    cr_expect(computed(&model, &h, fp8) == LLMPERF_DTYPE_FP8);
    cr_expect(computed(&model, &a, fp8) == LLMPERF_DTYPE_BF16);
    cr_expect(computed(&model, &h, fp4) == LLMPERF_DTYPE_FP8);
    cr_expect(computed(&model, &h, weights_only) == LLMPERF_DTYPE_BF16);
}

Test(config, volta_computes_bf16_in_fp32_and_says_so)
{
    llmperf_model model = toy_model();
    llmperf_hw v = v100();
    llmperf_config c = init(&model, &v, &(llmperf_workload){0});
    cr_expect(llmperf_config_compute_dtype(&c) == LLMPERF_DTYPE_FP32);
    cr_expect(has_note(&c.notes, "compute in fp32") && has_note(&c.notes, "fp16"), "%s",
              c.notes.count ? c.notes.text[0] : "no note");
    llmperf_workload fp16 = {.weight_dtype = LLMPERF_DTYPE_FP16, .act_dtype = LLMPERF_DTYPE_FP16};
    uniform_weights(&model, LLMPERF_DTYPE_FP16);
    c = init(&model, &v, &fp16);
    cr_expect(llmperf_config_compute_dtype(&c) == LLMPERF_DTYPE_FP16);
    cr_expect(!has_note(&c.notes, "compute in"));
}

Test(config, mixed_operands_are_noted)
{
    llmperf_model model = toy_model();
    llmperf_hw h = h100();
    llmperf_config c = init(&model, &h, &(llmperf_workload){.weight_dtype = LLMPERF_DTYPE_INT4});
    cr_expect(has_note(&c.notes, "linear layers compute in bf16 (int4 with bf16)"));
    c = init(&model, &h, &(llmperf_workload){.kv_dtype = LLMPERF_DTYPE_FP8});
    cr_expect(has_note(&c.notes, "attention compute in bf16 (fp8 with bf16)"));
    c = init(&model, &h, &(llmperf_workload){0});
    cr_expect(c.notes.count == 0);
}

Test(config, replicated_heads_and_long_contexts_are_noted)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    llmperf_config c = init(&model, &hw, &(llmperf_workload){.tp = 4});
    cr_expect(has_note(&c.notes, "tp 4 exceeds the 2 KV heads: each is held by 2 devices"));
    model.max_context = 2048;
    c = init(&model, &hw, &(llmperf_workload){.prompt = 1024, .generate = 1024});
    cr_expect(c.notes.count == 0);
    c = init(&model, &hw, &(llmperf_workload){.prompt = 1024, .generate = 1025});
    cr_expect(has_note(&c.notes, "2049 tokens exceed the 2048 that toy was trained for"));
    c = init(&model, &hw, &(llmperf_workload){.context = 4000, .has_context = true});
    cr_expect(has_note(&c.notes, "4001 tokens exceed"));
}

/* Counting needs no part. */
Test(config, without_hardware)
{
    llmperf_model model = toy_model();
    llmperf_config c = init(&model, NULL, &(llmperf_workload){.tp = 2, .prompt = 5});
    llmperf_total total;
    cr_expect(llmperf_prefill_total(&c, 2, room(), &total) == 1);
    cr_expect(total.flop > 0 && total.time_s == 0);
    llmperf_prediction p = LLMPERF_PREDICTION_INIT;
    error = (llmperf_error){0};
    cr_expect(llmperf_predict(&c, &p, &error) == LLMPERF_E_USAGE);
    cr_expect(error.text[0] != '\0');
}

/* A case is its fields alone: two of the same inputs are the same bytes. */
Test(config, is_repeatable)
{
    llmperf_model model = toy_model();
    llmperf_hw hw = toy_hw();
    static llmperf_config a, b;
    llmperf_workload w = {.tp = 2};
    cr_assert(try_case(&model, &hw, &w, &a) == LLMPERF_OK);
    cr_assert(try_case(&model, &hw, &w, &b) == LLMPERF_OK);
    llmperf_segment s = llmperf_decode_segment(&a, 3, 10);
    llmperf_total x, y;
    llmperf_step(&a, &s, 1, room(), &x);
    llmperf_step(&b, &s, 1, room(), &y);
    cr_expect(memcmp(&x, &y, sizeof x) == 0);
}
