/* SPDX-License-Identifier: MIT */
/* llmperf layers MODEL [HARDWARE], or ad hoc dimensions */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common.h"

typedef struct layers_arguments {
    common_arguments common;
    bool symbolic;
    int64_t hidden, heads, kv_heads, head_dim, ffn, layers, vocab;
    int gated, tied;
} layers_arguments;

#define DIMENSION(field, name, text, most)                                                         \
    OPTION_ROW(layers_arguments, field, INT64, name, 0, "N", text, .min = 1, .max = most,          \
               .group = "Ad hoc model (instead of MODEL)")

static const option OPTIONS[] = {
    OPTION_ROW(layers_arguments, symbolic, FLAG, "symbolic", 0, NULL,
               "print the formulas in symbols instead of numbers", .group = "Formulas"),
    DIMENSION(hidden, "hidden", "hidden size h", 1048576),
    DIMENSION(heads, "heads", "attention heads n", 65536),
    DIMENSION(kv_heads, "kv-heads", "KV heads [default: heads]", 65536),
    DIMENSION(head_dim, "head-dim", "head size d [default: hidden / heads]", 65536),
    DIMENSION(ffn, "ffn", "FFN width f", 16777216),
    DIMENSION(layers, "layers", "number of layers", 65536),
    DIMENSION(vocab, "vocab", "vocabulary V", 16777216),
    OPTION_ROW(layers_arguments, gated, YESNO, "gated", 0, NULL, "FFN with a gate",
               .default_text = "yes", .group = "Ad hoc model (instead of MODEL)"),
    OPTION_ROW(layers_arguments, tied, YESNO, "tied", 0, NULL, "LM head shares the embedding",
               .default_text = "no", .group = "Ad hoc model (instead of MODEL)"),
    COMMON_WORKLOAD_ROWS(layers_arguments),
    COMMON_OUTPUT_ROWS(layers_arguments),
    OPTION_END,
};

static bool is_ad_hoc(const layers_arguments *a)
{
    return a->hidden || a->heads || a->kv_heads || a->head_dim || a->ffn || a->layers || a->vocab ||
           a->gated >= 0 || a->tied >= 0;
}

/* The model that the dimensions describe: a llama-like decoder in bf16. */
static llmperf_status ad_hoc_model(const layers_arguments *a, llmperf_model *ret_model,
                                   llmperf_error *error)
{
    const struct {
        const char *name;
        int64_t value;
    } needed[] = {{"hidden", a->hidden},
                  {"heads", a->heads},
                  {"ffn", a->ffn},
                  {"layers", a->layers},
                  {"vocab", a->vocab}};
    llmperf_status status = LLMPERF_OK;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].value)
            status = llmperf_fail(error, LLMPERF_E_USAGE,
                                  "option '--%s' is missing; an ad hoc model needs --hidden, "
                                  "--heads, --ffn, --layers and --vocab",
                                  needed[i].name);
    if (status != LLMPERF_OK)
        return status;
    if (!a->head_dim && a->hidden % a->heads != 0)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "%lld heads do not divide hidden size %lld; give --head-dim",
                            (long long)a->heads, (long long)a->hidden);
    int64_t head_dim = a->head_dim ? a->head_dim : a->hidden / a->heads;
    llmperf_model model = {
        .name = "ad-hoc",
        .architecture = "ad hoc",
        .hidden = a->hidden,
        .vocab = a->vocab,
        .embedding_dim = a->hidden,
        .tied = a->tied == 1,
        .final_norm = true,
        .dtype = LLMPERF_DTYPE_BF16,
        .layer_kind_count = 1,
        .layers = {{
            .count = a->layers,
            .norms = 2,
            .attention = {.heads = a->heads,
                          .kv_heads = a->kv_heads ? a->kv_heads : a->heads,
                          .head_dim = head_dim,
                          .value_dim = head_dim,
                          .rope = true},
            .mlp = {.ffn = a->ffn, .gated = a->gated != 0},
        }},
    };
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        model.weight_dtype[i] = LLMPERF_DTYPE_BF16;
        model.weight_bits[i] = llmperf_dtype_bits(LLMPERF_DTYPE_BF16);
    }
    status = llmperf_model_check(&model, error);
    if (status == LLMPERF_E_SPEC) /* the values came from options, not from a file */
        status = error->status = LLMPERF_E_USAGE;
    if (status == LLMPERF_OK)
        *ret_model = model;
    return status;
}

static llmperf_status write(const layers_arguments *a, const llmperf_config *c,
                            llmperf_error *error)
{
    common_output output;
    llmperf_status status = common_open_output(&a->common, &output, error);
    if (status != LLMPERF_OK)
        return status;
    const llmperf_text_style style = {.color = output.terminal && !getenv("NO_COLOR")};
    if (a->symbolic)
        status = llmperf_write_symbolic(output.file, output.format, c, &style, error);
    else
        status = llmperf_write_layers(output.file, output.format, c,
                                      a->common.chunk_given ? c->workload.chunk : 0, &style, error);
    llmperf_status closed = common_close_output(&output, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

static int run(int argc, char **argv)
{
    layers_arguments arguments = {.common = COMMON_DEFAULTS, .gated = -1, .tied = -1};
    option_result result = {0};
    llmperf_error error = {0};
    llmperf_workload workload;
    llmperf_config c;
    static llmperf_model described;
    llmperf_loaded l = {0};

    llmperf_status status = common_parse(&COMMAND_LAYERS, argc, argv, &arguments, &result, &error);
    if (status != LLMPERF_OK)
        return common_report(status, &error);
    if (result.help) {
        option_print_help(stdout, &COMMAND_LAYERS);
        return 0;
    }
    bool ad_hoc = is_ad_hoc(&arguments);
    int model_words = ad_hoc || (arguments.symbolic && result.positional_count == 0) ? 0 : 1;
    if (result.positional_count < model_words || result.positional_count > model_words + 1) {
        status = llmperf_fail(&error, LLMPERF_E_USAGE,
                              "'layers' takes MODEL [HARDWARE], or the ad hoc dimensions and "
                              "[HARDWARE]; %d given",
                              result.positional_count);
        return common_report(status, &error);
    }
    const char *hw_name =
        result.positional_count > model_words ? result.positional[model_words] : NULL;
    status = common_workload(&arguments.common, &workload, &error);
    if (status == LLMPERF_OK && ad_hoc)
        status = ad_hoc_model(&arguments, &described, &error);
    if (status == LLMPERF_OK)
        status = common_load(&arguments.common, model_words ? result.positional[0] : NULL, hw_name,
                             &l, &error);
    const llmperf_model *model = ad_hoc ? &described : l.model;
    if (status == LLMPERF_OK && model)
        status = llmperf_config_init(&c, model, l.hw, l.calib, &workload, &error);
    if (status == LLMPERF_OK)
        status = write(&arguments, model ? &c : NULL, &error);
    llmperf_loaded_free(&l);
    return common_report(status, &error);
}

const option_command COMMAND_LAYERS = {
    .name = "layers",
    .synopsis = "[MODEL] [HARDWARE]",
    .summary = "each operator's shape, FLOPs, bytes, intensity and time",
    .about =
        "Lists the operators of prefill and of one decode step: shape, FLOPs, bytes, arithmetic "
        "intensity, and with HARDWARE the time and what bounds it. Prefill is shown as one step of "
        "all prompt tokens unless --chunk is given. Instead of MODEL, dimensions can be given.\n\n"
        "--symbolic prints each operator's formulas: the weights, FLOPs, bytes and intensity in "
        "the symbols b (batch), s (prompt), q (query tokens), p (cached), h, n, n_kv, d, f, V.",
    .examples = "llmperf layers llama-3.1-8b h100-sxm -b 8 -s 2048\n"
                "llmperf layers --hidden 4096 --heads 32 --kv-heads 8 --ffn 14336 --layers 32 "
                "--vocab 128256 -b 1 -s 1024 h100-sxm\n"
                "llmperf layers llama-3.1-8b --symbolic\n"
                "llmperf layers gpt2 --attention unfused --format csv -o gpt2.csv",
    .options = OPTIONS,
    .min_positionals = 0,
    .max_positionals = 2,
    .run = run,
};
