/* SPDX-License-Identifier: MIT */
/* The reader of our model YAML: what it takes, and how it refuses. */
#include <criterion/criterion.h>

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "random_case.h"
#include "model_object.h"
#include "read.h"

static llmperf_error error;

static llmperf_status try_text(const char *yaml, llmperf_model *ret_model)
{
    error = (llmperf_error){0};
    return model_load_text("x.yaml", yaml, strlen(yaml), ret_model, &error);
}

static llmperf_model load(const char *yaml)
{
    llmperf_model model;
    llmperf_status status = try_text(yaml, &model);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return model;
}

static const char *refusal(const char *yaml)
{
    static llmperf_model model;
    memset(&model, 0x5a, sizeof model);
    llmperf_status status = try_text(yaml, &model);
    cr_expect(status == LLMPERF_E_SPEC && error.status == LLMPERF_E_SPEC, "status %d for\n%s",
              (int)status, yaml);
    cr_expect(((unsigned char *)&model)[5] == 0x5a, "a failure fills the result");
    return error.text;
}

static void expect_refusal(const char *yaml, const char *want)
{
    const char *got = refusal(yaml);
    cr_expect(strstr(got, want) != NULL, "wanted '%s'\n   got '%s'", want, got);
}

#define HEAD "name: toy\ndtype: bf16\nhidden: 8\nvocab: 10\n"
#define LAYER                                                                                      \
    "layers:\n"                                                                                    \
    "  - count: 3\n"                                                                               \
    "    attention: {heads: 4, kv_heads: 2, head_dim: 2}\n"                                        \
    "    mlp: {ffn: 12}\n"

Test(spec_model, defaults)
{
    llmperf_model model = load(HEAD LAYER);
    cr_expect_str_eq(model.name, "toy");
    cr_expect(model.hidden == 8 && model.vocab == 10 && model.embedding_dim == 8);
    cr_expect(model.dtype == LLMPERF_DTYPE_BF16 && model.kv_dtype == LLMPERF_DTYPE_NONE);
    cr_expect(!model.tied && model.final_norm && model.norm == LLMPERF_NORM_RMS);
    const llmperf_layer *layer = &model.layers[0];
    cr_expect(model.layer_kind_count == 1 && layer->count == 3 && layer->norms == 2);
    cr_expect(layer->attention.value_dim == 2 && layer->attention.rope);
    cr_expect(layer->attention.window == 0 && layer->mlp.gated && !layer->parallel);
    /* the same model as the tests' own */
    llmperf_model toy = toy_model();
    cr_expect(llmperf_model_params(&model).total == llmperf_model_params(&toy).total);
}

Test(spec_model, every_key)
{
    llmperf_model model =
        load("name: all\narchitecture: arch\nsource: here\nnot_counted: a tower\naliases: [a, b]\n"
             "dtype: float16\nkv_dtype: fp8\nhidden: 64\nvocab: 1000\nembedding_dim: 32\n"
             "position_embeddings: 128\nmax_context: 4096\npublished_params: 12345\ntied: yes\n"
             "head_bias: true\nembedding_norm: true\nfinal_norm: false\nnorm: layer\n"
             "weights: {mlp: int4, embedding: fp32}\nnotes: [one]\n"
             "layers:\n"
             "  - count: 2\n    norms: 1\n    parallel: true\n"
             "    attention: {heads: 4, kv_heads: 4, head_dim: 16, value_dim: 8, window: 512,\n"
             "                qkv_bias: true, out_bias: true, rope: false, qk_norm: head}\n"
             "    mlp: {ffn: 256, gated: false, up_bias: true, down_bias: true}\n"
             "  - count: 1\n"
             "    attention: {heads: 4, kv_heads: 1, head_dim: 16}\n"
             "    mlp: {ffn: 256}\n");
    cr_expect_str_eq(model.architecture, "arch");
    cr_expect_str_eq(model.not_counted, "a tower");
    cr_expect(model.alias_count == 2 && model.notes.count == 1);
    cr_expect(model.dtype == LLMPERF_DTYPE_FP16 && model.kv_dtype == LLMPERF_DTYPE_FP8);
    cr_expect(model.embedding_dim == 32 && model.position_embeddings == 128);
    cr_expect(model.max_context == 4096 && model.published_params == 12345);
    cr_expect(model.tied && model.head_bias && model.embedding_norm && !model.final_norm);
    cr_expect(model.norm == LLMPERF_NORM_LAYER);
    cr_expect(model.weight_dtype[LLMPERF_WEIGHT_MLP] == LLMPERF_DTYPE_INT4 &&
              model.weight_bits[LLMPERF_WEIGHT_MLP] == 4);
    cr_expect(model.weight_bits[LLMPERF_WEIGHT_EMBEDDING] == 32);
    cr_expect(model.weight_bits[LLMPERF_WEIGHT_ATTENTION] == 16);
    const llmperf_layer *l = &model.layers[0];
    cr_expect(l->count == 2 && l->norms == 1 && l->parallel);
    cr_expect(l->attention.value_dim == 8 && l->attention.window == 512 && l->attention.qkv_bias &&
              l->attention.out_bias && !l->attention.rope &&
              l->attention.qk_norm == LLMPERF_QK_NORM_HEAD);
    cr_expect(!l->mlp.gated && l->mlp.up_bias && l->mlp.down_bias);
    cr_expect(model.layer_kind_count == 2 && model.layers[1].attention.kv_heads == 1);
    cr_expect(llmperf_model_layers(&model) == 3);
}

/* ---- refusals ---- */

Test(spec_model, missing_keys_are_named_all_at_once)
{
    const char *text = refusal("architecture: x\n");
    static const char *const keys[] = {"name", "dtype", "hidden", "vocab", "layers"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char want[64];
        snprintf(want, sizeof want, "%s is missing; it is required", keys[i]);
        cr_expect(strstr(text, want) != NULL, "'%s' is not in '%s'", want, text);
    }
    expect_refusal(HEAD "layers:\n  - count: 1\n    attention: {heads: 4}\n    mlp: {ffn: 1}\n",
                   "kv_heads is missing; it is required");
}

Test(spec_model, refuses_with_position_and_what_is_allowed)
{
    expect_refusal("name: toy\ndtype: bf17\nhidden: 8\nvocab: 10\n" LAYER,
                   "x.yaml:2:8: dtype is 'bf17', did you mean 'bf16'?");
    expect_refusal("name: toy\ndtype: bf16\nhidden: 0\nvocab: 10\n" LAYER, "x.yaml:3:9: hidden");
    expect_refusal("name: toy\ndtype: bf16\nhidden: many\nvocab: 10\n" LAYER, "x.yaml:3:9: hidden");
    expect_refusal("name: toy\ndtype: bf16\nhidden: 8.5\nvocab: 10\n" LAYER, "x.yaml:3:9: hidden");
    expect_refusal("name: toy\ndtype: bf16\nhidden: \"8\"\nvocab: 10\n" LAYER, "hidden");
    expect_refusal(HEAD LAYER "norm: group\n",
                   "norm is 'group'; rms, layer, layer_nobias, bare are allowed");
    expect_refusal(HEAD LAYER "tied: perhaps\n", "tied");
    expect_refusal(HEAD LAYER "hiden: 9\n", "did you mean 'hidden'?");
    expect_refusal(HEAD LAYER "weights: {mpl: fp8}\n", "did you mean 'mlp'?");
    expect_refusal(HEAD LAYER "weights: fp8\n", "a map such as {mlp: fp8} is allowed");
    expect_refusal(HEAD LAYER "notes: one\n", "a list is allowed");
    expect_refusal("[1]\n", "a map");
    expect_refusal(HEAD "layers: 3\n", "a list of layer shapes is allowed");
    expect_refusal(HEAD "layers: []\n", "a list of layer shapes is allowed");
    expect_refusal(HEAD "layers: [3]\n", "a map is allowed");
    expect_refusal(HEAD "layers:\n  - count: 1\n    attention: 4\n    mlp: {ffn: 1}\n",
                   "attention is integer 4; a map is allowed");
    expect_refusal(HEAD "layers:\n  - count: 1\n    norms: 9\n", "norms");
}

Test(spec_model, heads_must_divide)
{
    expect_refusal(HEAD "layers:\n  - count: 3\n    attention: {heads: 4, kv_heads: 3, head_dim: 2}"
                        "\n    mlp: {ffn: 12}\n",
                   "3 KV heads do not divide 4 attention heads; a divisor is allowed");
}

Test(spec_model, refuses_more_layer_shapes_than_it_holds)
{
    static char yaml[20000];
    int used = snprintf(yaml, sizeof yaml, HEAD "layers:\n");
    for (int i = 0; i <= LLMPERF_LAYER_KINDS_MAX; i++)
        used += snprintf(yaml + used, sizeof yaml - (size_t)used,
                         "  - count: 1\n    attention: {heads: 4, kv_heads: 2, head_dim: %d}\n"
                         "    mlp: {ffn: 12}\n",
                         i + 1);
    expect_refusal(yaml, "more than 64 layer shapes; at most 64 are allowed");
}

Test(spec_model, check_refuses_models_filled_in_by_hand)
{
    static llmperf_model model;
    model = toy_model();
    cr_expect(model_check(&model, NULL) == LLMPERF_OK);
    model.layer_kind_count = 0;
    cr_expect(model_check(&model, NULL) == LLMPERF_E_SPEC);
    model.layer_kind_count = LLMPERF_LAYER_KINDS_MAX + 1;
    cr_expect(model_check(&model, NULL) == LLMPERF_E_SPEC);
    model = toy_model();
    model.weight_bits[LLMPERF_WEIGHT_MLP] = 0;
    cr_expect(model_check(&model, NULL) == LLMPERF_E_SPEC);
    model = toy_model();
    model.weight_bits[LLMPERF_WEIGHT_MLP] = NAN;
    cr_expect(model_check(&model, NULL) == LLMPERF_E_SPEC);
    model = toy_model();
    model.dtype = 200;
    cr_expect(model_check(&model, NULL) == LLMPERF_E_SPEC);
    model = toy_model();
    model.layers[0].attention.window = -1;
    cr_expect(model_check(&model, NULL) == LLMPERF_E_SPEC);
    model = toy_model();
    model.layers[0].count = 0;
    cr_expect(model_check(&model, NULL) == LLMPERF_E_SPEC);
    model = toy_model();
    model.hidden = (int64_t)1 << 40;
    cr_expect(model_check(&model, NULL) == LLMPERF_E_SPEC);
    model = toy_model();
    model.embedding_dim = 0;
    cr_expect(model_check(&model, NULL) == LLMPERF_E_SPEC);
}

/* ---- files ---- */

Test(spec_model, missing_files_are_io_errors)
{
    static llmperf_model model;
    error = (llmperf_error){0};
    cr_expect(model_load("/nowhere/x.yaml", &model, &error) == LLMPERF_E_IO);
    static char path[LLMPERF_PATH_MAX + 10];
    memset(path, 'a', sizeof path - 1);
    error = (llmperf_error){0};
    cr_expect(model_load(path, &model, &error) == LLMPERF_E_IO);
    cr_expect(error.text[0] != '\0');
}

static char *written(const llmperf_model *model)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert(llmperf_write_model(out, "yaml", model, NULL, &error) == LLMPERF_OK);
    fclose(out);
    return text;
}

/* What differs between a model and its written form, read back; NULL = nothing. */
static const char *round_trip(const llmperf_model *model)
{
    static llmperf_model again;
    char *text = written(model);
    llmperf_status status = try_text(text, &again);
    if (status != LLMPERF_OK) {
        free(text);
        return error.text;
    }
    char *twice = written(&again);
    bool same_text = strcmp(text, twice) == 0;
    free(text);
    free(twice);
    if (!same_text)
        return "the text";
    if (memcmp(model->layers, again.layers,
               (size_t)model->layer_kind_count * sizeof *model->layers) != 0)
        return "a layer";
    if (memcmp(model->weight_bits, again.weight_bits, sizeof again.weight_bits) != 0 ||
        memcmp(model->weight_dtype, again.weight_dtype, sizeof again.weight_dtype) != 0 ||
        memcmp(model->weight_operand, again.weight_operand, sizeof again.weight_operand) != 0)
        return "a format";
    if (model->hidden != again.hidden || model->vocab != again.vocab ||
        model->embedding_dim != again.embedding_dim || model->tied != again.tied ||
        model->final_norm != again.final_norm || model->norm != again.norm ||
        model->dtype != again.dtype || model->kv_dtype != again.kv_dtype ||
        model->position_embeddings != again.position_embeddings ||
        model->head_bias != again.head_bias || model->embedding_norm != again.embedding_norm ||
        model->max_context != again.max_context || model->mtp_params != again.mtp_params)
        return "a field";
    if (llmperf_model_params(model).total != llmperf_model_params(&again).total)
        return "the parameters";
    return NULL;
}

Test(spec_model, written_yaml_reads_back)
{
    rng r = {.state = 41};
    for (int i = 0; i < CASES(500); i++) {
        static llmperf_model model;
        random_model(&r, &model);
        const char *differs = round_trip(&model);
        cr_assert(differs == NULL, "model %d: %s\n%s", i, differs, written(&model));
    }
}

/* Any text that a config.json can hold comes back: every character of the first plane but NUL,
 * surrogates and what UTF-8 cannot say, and the last of all. */
Test(spec_model, written_text_reads_back_in_any_character)
{
    rng r = {.state = 43};
    static llmperf_model model, again;
    random_model(&r, &model);
    for (unsigned first = 0; first < 0x10000; first += 32) {
        size_t used = 0;
        for (unsigned c = first; c < first + 32; c++) {
            char *at = model.source + used;
            if (c == 0 || (c >= 0xD800 && c <= 0xDFFF))
                continue;
            if (c < 0x80) {
                at[0] = (char)c;
                used += 1;
            } else if (c < 0x800) {
                at[0] = (char)(0xC0 | c >> 6);
                at[1] = (char)(0x80 | (c & 0x3F));
                used += 2;
            } else {
                at[0] = (char)(0xE0 | c >> 12);
                at[1] = (char)(0x80 | (c >> 6 & 0x3F));
                at[2] = (char)(0x80 | (c & 0x3F));
                used += 3;
            }
        }
        strcpy(model.source + used, "\xf4\x8f\xbf\xbf.");
        char *text = written(&model);
        llmperf_status status = try_text(text, &again);
        cr_expect(status == LLMPERF_OK, "U+%04X: %s", first, error.text);
        cr_expect(strcmp(model.source, again.source) == 0, "U+%04X: %s", first, text);
        free(text);
    }
}

Test(spec_model, shipped_files_read_and_write_back)
{
    char folder[LLMPERF_PATH_MAX];
    const char *source = getenv("LLMPERF_SOURCE");
    cr_assert(source != NULL, "LLMPERF_SOURCE is not set");
    snprintf(folder, sizeof folder, "%s/specs/models", source);
    DIR *directory = opendir(folder);
    cr_assert(directory != NULL, "%s", folder);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory));) {
        static llmperf_model model;
        char path[LLMPERF_PATH_MAX + 300];
        if (!strstr(entry->d_name, ".yaml"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        error = (llmperf_error){0};
        cr_assert(model_load(path, &model, &error) == LLMPERF_OK, "%s", error.text);
        const char *differs = round_trip(&model);
        cr_expect(differs == NULL, "%s: %s", path, differs);
        count++;
    }
    closedir(directory);
    cr_expect(count >= 1);
}

/* A config.json bears no name: its folder does, else the file's stem. */
Test(spec_model, a_config_is_named_by_its_place)
{
    static const struct {
        const char *file, *want;
    } rows[] = {
        {"config.json", "config"},
        {"my-model/config.json", "my-model"},
        {"/a/b/my-model/config.json", "my-model"},
        {"/a/qwen2.5-7b.json", "qwen2.5-7b"},
        {"./config.json", "gpt2"}, /* "." is no name: the architecture's */
        {"../config.json", "gpt2"},
    };
    const char *json =
        "{\"model_type\": \"gpt2\", \"n_embd\": 768, \"n_head\": 12, \"n_layer\": 12, "
        "\"n_positions\": 1024, \"vocab_size\": 50257}";
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static llmperf_model model;
        cr_assert(model_load_text(rows[i].file, json, strlen(json), &model, NULL) == LLMPERF_OK);
        cr_expect_str_eq(model.name, rows[i].want);
    }
}

/* A folder that holds a config.json stands for it. */
Test(spec_model, a_folder_is_its_config)
{
    char folder[] = "/tmp/llmperf-model-XXXXXX";
    cr_assert(mkdtemp(folder) != NULL);
    char path[64];
    snprintf(path, sizeof path, "%s/config.json", folder);
    FILE *out = fopen(path, "w");
    fputs("{\"model_type\": \"gpt2\", \"n_embd\": 768, \"n_head\": 12, \"n_layer\": 12, "
          "\"n_positions\": 1024, \"vocab_size\": 50257}",
          out);
    fclose(out);
    static llmperf_model model;
    error = (llmperf_error){0};
    llmperf_status status = model_load(folder, &model, &error);
    unlink(path);
    rmdir(folder);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    cr_expect(strncmp(model.name, "llmperf-model-", 14) == 0, "%s", model.name);
}
