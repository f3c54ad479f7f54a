/* SPDX-License-Identifier: MIT */
/* The reader of Hugging Face config.json: dimensions, traits of a type, refusals, notes. */
#include <criterion/criterion.h>

#include "random_case.h"
#include "model_object.h"
#include "read.h"

static llmperf_error error;

static llmperf_status try_text(const char *json, llmperf_model *ret_model)
{
    error = (llmperf_error){0};
    return model_load_text("x/config.json", json, strlen(json), ret_model, &error);
}

static const llmperf_model *load(const char *json)
{
    static llmperf_model model;
    llmperf_status status = try_text(json, &model);
    cr_assert(status == LLMPERF_OK, "%s\n%s", error.text, json);
    return &model;
}

static void expect_refusal(const char *json, llmperf_status want, const char *piece)
{
    static llmperf_model model;
    memset(&model, 0x5a, sizeof model);
    llmperf_status status = try_text(json, &model);
    cr_expect(status == want, "status %d, wanted %d for\n%s", (int)status, (int)want, json);
    cr_expect(error.status == status, "the error says %d, the function %d for\n%s",
              (int)error.status, (int)status, json);
    cr_expect(strstr(error.text, piece) != NULL, "wanted '%s'\n   got '%s'", piece, error.text);
    cr_expect(((unsigned char *)&model)[5] == 0x5a, "a failure fills the result");
}

static bool has_note(const llmperf_model *model, const char *piece)
{
    for (int i = 0; i < model->notes.count; i++)
        if (strstr(model->notes.text[i], piece))
            return true;
    for (int i = 0; i < model->warnings.count; i++)
        if (strstr(model->warnings.text[i], piece))
            return true;
    return false;
}

/* A llama of the toy's size; `more` goes in front. */
#define LLAMA(more)                                                                                \
    "{" more "\"model_type\": \"llama\", \"hidden_size\": 8, \"num_attention_heads\": 4, "         \
    "\"num_key_value_heads\": 2, \"num_hidden_layers\": 3, \"intermediate_size\": 12, "            \
    "\"vocab_size\": 10}"

/* ---- dimensions ---- */

Test(spec_hf, a_plain_llama)
{
    const llmperf_model *m = load(LLAMA("\"torch_dtype\": \"float16\", \"rms_norm_eps\": 1e-5, "));
    cr_expect(m->hidden == 8 && m->vocab == 10 && llmperf_model_layers(m) == 3);
    const llmperf_layer *l = &m->layers[0];
    cr_expect(l->attention.heads == 4 && l->attention.kv_heads == 2 && l->attention.head_dim == 2);
    cr_expect(l->mlp.ffn == 12 && l->mlp.gated && l->norms == 2 && l->attention.rope);
    cr_expect(m->dtype == LLMPERF_DTYPE_FP16 && !m->tied && m->norm == LLMPERF_NORM_RMS);
    cr_expect_str_eq(m->architecture, "llama");
    llmperf_model toy = toy_model();
    cr_expect(llmperf_model_params(m).total == llmperf_model_params(&toy).total);
}

Test(spec_hf, head_dim_is_read_or_divided)
{
    cr_expect(load(LLAMA("\"head_dim\": 16, "))->layers[0].attention.head_dim == 16);
    cr_expect(load(LLAMA("\"head_dim\": null, "))->layers[0].attention.head_dim == 2);
    expect_refusal("{\"model_type\": \"llama\", \"hidden_size\": 9, \"num_attention_heads\": 4, "
                   "\"num_hidden_layers\": 3, \"intermediate_size\": 12, \"vocab_size\": 10}",
                   LLMPERF_E_SPEC, "4 heads do not divide hidden_size 9; head_dim must be given");
}

/* Every type's own rule: as many as heads. A null is noted. */
Test(spec_hf, kv_heads_default_to_heads)
{
    const llmperf_model *m =
        load("{\"model_type\": \"llama\", \"hidden_size\": 8, \"num_attention_heads\": 4, "
             "\"num_hidden_layers\": 3, \"intermediate_size\": 12, \"vocab_size\": 10}");
    cr_expect(m->layers[0].attention.kv_heads == 4 && !has_note(m, "num_key_value_heads"));
    m = load("{\"model_type\": \"llama\", \"hidden_size\": 8, \"num_attention_heads\": 4, "
             "\"num_key_value_heads\": null, "
             "\"num_hidden_layers\": 3, \"intermediate_size\": 12, \"vocab_size\": 10}");
    cr_expect(m->layers[0].attention.kv_heads == 4);
    cr_expect(has_note(m, "num_key_value_heads is null: taken as the 4 heads"));
}

Test(spec_hf, ties_are_read_or_the_types_own)
{
    cr_expect(!load(LLAMA(""))->tied);
    cr_expect(load(LLAMA("\"tie_word_embeddings\": true, "))->tied);
    cr_expect(load("{\"model_type\": \"gpt2\", \"n_embd\": 8, \"n_head\": 4, \"n_layer\": 3, "
                   "\"n_positions\": 16, \"vocab_size\": 10}")
                  ->tied);
}

Test(spec_hf, biases_follow_their_keys)
{
    const llmperf_model *m = load(LLAMA("\"attention_bias\": true, "));
    cr_expect(m->layers[0].attention.qkv_bias && m->layers[0].attention.out_bias);
    cr_expect(!m->layers[0].mlp.up_bias);
    m = load(LLAMA("\"mlp_bias\": true, "));
    cr_expect(!m->layers[0].attention.qkv_bias && m->layers[0].mlp.up_bias &&
              m->layers[0].mlp.down_bias);
}

Test(spec_hf, learned_positions_are_rows_of_a_table)
{
    const llmperf_model *m = load("{\"model_type\": \"gpt2\", \"n_embd\": 8, \"n_head\": 4, "
                                  "\"n_layer\": 3, \"n_positions\": 16, \"vocab_size\": 10}");
    cr_expect(m->position_embeddings == 16 && !m->layers[0].attention.rope);
    cr_expect(m->layers[0].mlp.ffn == 32); /* 4 hidden where n_inner is absent */
    m = load("{\"model_type\": \"opt\", \"hidden_size\": 8, \"ffn_dim\": 12, "
             "\"num_attention_heads\": 4, \"num_hidden_layers\": 3, \"vocab_size\": 10, "
             "\"max_position_embeddings\": 16}");
    cr_expect(m->position_embeddings == 18); /* OPT keeps 2 rows for padding */
}

Test(spec_hf, text_config_is_the_text_model)
{
    const llmperf_model *m =
        load("{\"model_type\": \"a_vision_model\", \"vision_config\": {\"hidden_size\": 5}, "
             "\"tie_word_embeddings\": true, \"text_config\": " LLAMA("") "}");
    cr_expect(m->hidden == 8 && m->tied);
    cr_expect(strstr(m->not_counted, "vision") != NULL, "%s", m->not_counted);
}

/* ---- windows ---- */

static void expect_windows(const char *json, int64_t windowed, int64_t full)
{
    const llmperf_model *m = load(json);
    int64_t with = 0, without = 0;
    for (int i = 0; i < m->layer_kind_count; i++)
        *(m->layers[i].attention.window > 0 ? &with : &without) += m->layers[i].count;
    cr_expect(with == windowed && without == full, "%d and %d of\n%s", (int)with, (int)without,
              json);
}

#define TYPE(type, more)                                                                           \
    "{\"model_type\": \"" type "\", " more "\"hidden_size\": 8, \"num_attention_heads\": 4, "      \
    "\"head_dim\": 2, \"num_hidden_layers\": 12, \"intermediate_size\": 12, \"vocab_size\": 10}"

Test(spec_hf, windows_by_the_rule_of_the_type)
{
    expect_windows(TYPE("mistral", "\"sliding_window\": 64, "), 12, 0);
    expect_windows(TYPE("mistral", "\"sliding_window\": null, "), 0, 12);
    expect_windows(TYPE("llama", "\"sliding_window\": 64, "), 0, 12); /* the type has none */
    /* Gemma 2: every second layer; Gemma 3: five of six */
    expect_windows(TYPE("gemma2", "\"sliding_window\": 64, "), 6, 6);
    expect_windows(TYPE("gemma3_text", "\"sliding_window\": 64, "), 10, 2);
    expect_windows(TYPE("gemma3_text", "\"sliding_window\": 64, \"sliding_window_pattern\": 4, "),
                   9, 3);
    /* Qwen 2: only when asked, from max_window_layers on */
    expect_windows(TYPE("qwen2", "\"sliding_window\": 64, \"max_window_layers\": 8, "), 0, 12);
    expect_windows(TYPE("qwen2", "\"sliding_window\": 64, \"max_window_layers\": 8, "
                                 "\"use_sliding_window\": true, "),
                   4, 8);
    expect_windows(TYPE("qwen2", "\"sliding_window\": 64, \"max_window_layers\": 40, "
                                 "\"use_sliding_window\": true, "),
                   0, 12);
}

Test(spec_hf, layer_types_win)
{
    expect_windows("{\"model_type\": \"gemma2\", \"sliding_window\": 64, \"hidden_size\": 8, "
                   "\"num_attention_heads\": 4, \"head_dim\": 2, \"num_hidden_layers\": 3, "
                   "\"intermediate_size\": 12, \"vocab_size\": 10, "
                   "\"layer_types\": [\"full_attention\", \"full_attention\", "
                   "\"sliding_attention\"]}",
                   1, 2);
    expect_refusal(
        TYPE("gemma2", "\"sliding_window\": 64, \"layer_types\": [\"full_attention\"], "),
        LLMPERF_E_SPEC, "layer_types has 1 entries; one for each of the 12 layers is allowed");
}

/* The status in the error is the one that is returned, so both lead to one exit code. */
Test(spec_hf, an_unknown_layer_type_is_unsupported)
{
    expect_refusal("{\"model_type\": \"gemma2\", \"sliding_window\": 64, \"hidden_size\": 8, "
                   "\"num_attention_heads\": 4, \"head_dim\": 2, \"num_hidden_layers\": 2, "
                   "\"intermediate_size\": 12, \"vocab_size\": 10, "
                   "\"layer_types\": [\"full_attention\", \"spiral_attention\"]}",
                   LLMPERF_E_UNSUPPORTED, "full_attention and sliding_attention are allowed");
}

/* ---- formats ---- */

Test(spec_hf, dtype_is_read_assumed_or_narrowed_with_a_note)
{
    cr_expect(load(LLAMA("\"torch_dtype\": \"bfloat16\", "))->dtype == LLMPERF_DTYPE_BF16);
    cr_expect(load(LLAMA("\"dtype\": \"float16\", "))->dtype == LLMPERF_DTYPE_FP16);
    const llmperf_model *m = load(LLAMA(""));
    cr_expect(m->dtype == LLMPERF_DTYPE_BF16 && has_note(m, "names no dtype: bf16 is taken"));
    m = load(LLAMA("\"torch_dtype\": null, "));
    cr_expect(m->dtype == LLMPERF_DTYPE_BF16 && has_note(m, "names no dtype"));
    m = load(LLAMA("\"torch_dtype\": \"float32\", "));
    cr_expect(m->dtype == LLMPERF_DTYPE_BF16 && has_note(m, "the config says float32"));
    m = load(LLAMA("\"torch_dtype\": \"auto\", "));
    cr_expect(m->dtype == LLMPERF_DTYPE_BF16 && has_note(m, "torch_dtype is auto"));
    expect_refusal(LLAMA("\"torch_dtype\": \"bfloat17\", "), LLMPERF_E_SPEC,
                   "torch_dtype is 'bfloat17'");
}

/* ---- refusals ---- */

Test(spec_hf, missing_dimensions_are_named_all_at_once)
{
    expect_refusal("{\"model_type\": \"llama\"}", LLMPERF_E_SPEC, "hidden_size is missing or null");
    static const char *const keys[] = {"hidden_size", "num_attention_heads", "num_hidden_layers",
                                       "vocab_size", "intermediate_size"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char want[80];
        snprintf(want, sizeof want, "%s is missing or null; llama models need it", keys[i]);
        cr_expect(strstr(error.text, want) != NULL, "'%s' is not in '%s'", want, error.text);
    }
}

Test(spec_hf, types_without_a_rule_need_head_dim)
{
    expect_refusal("{\"model_type\": \"qwen3\", \"hidden_size\": 8, \"num_attention_heads\": 4, "
                   "\"num_hidden_layers\": 3, \"intermediate_size\": 12, \"vocab_size\": 10}",
                   LLMPERF_E_SPEC, "head_dim is missing or null; qwen3 models need it");
}

Test(spec_hf, unknown_types_are_unsupported_by_name)
{
    expect_refusal("{\"model_type\": \"transmogrifier\", \"hidden_size\": 8}",
                   LLMPERF_E_UNSUPPORTED,
                   "x/config.json:1:16: model_type 'transmogrifier' is not counted by this "
                   "version; known are ");
    expect_refusal("{\"hidden_size\": 8}", LLMPERF_E_SPEC, "model_type is missing");
    expect_refusal("{\"model_type\": null}", LLMPERF_E_SPEC, "model_type is missing");
    expect_refusal("{\"model_type\": 7}", LLMPERF_E_UNSUPPORTED, "model_type '7'");
}

Test(spec_hf, refuses_wrong_values)
{
    expect_refusal(LLAMA("\"head_dim\": -2, "), LLMPERF_E_SPEC, "head_dim");
    expect_refusal(LLAMA("\"head_dim\": \"2\", "), LLMPERF_E_SPEC, "head_dim");
    expect_refusal(LLAMA("\"head_dim\": 2.5, "), LLMPERF_E_SPEC, "head_dim");
    expect_refusal(LLAMA("\"head_dim\": true, "), LLMPERF_E_SPEC, "head_dim");
    expect_refusal(LLAMA("\"tie_word_embeddings\": \"yes\", "), LLMPERF_E_SPEC,
                   "tie_word_embeddings");
    expect_refusal("{\"model_type\": \"llama\", \"hidden_size\": 8, \"num_attention_heads\": 4, "
                   "\"num_key_value_heads\": 3, \"num_hidden_layers\": 3, "
                   "\"intermediate_size\": 12, \"vocab_size\": 10}",
                   LLMPERF_E_SPEC, "3 KV heads do not divide 4 attention heads");
    expect_refusal("[1, 2]", LLMPERF_E_SPEC, "a map is allowed");
    expect_refusal("{", LLMPERF_E_SPEC, "x/config.json:1:");
}

/* Whole numbers written as floats are whole: 4096.0, 4e3. */
Test(spec_hf, whole_floats_are_dimensions)
{
    cr_expect(load(LLAMA("\"head_dim\": 16.0, "))->layers[0].attention.head_dim == 16);
    cr_expect(load(LLAMA("\"head_dim\": 1.6e1, "))->layers[0].attention.head_dim == 16);
}
