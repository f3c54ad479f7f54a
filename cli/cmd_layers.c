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
static llmperf_status ad_hoc_model(const layers_arguments *a, llmperf_model **ret_model,
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
    llmperf_decoder decoder = LLMPERF_DECODER_INIT;
    decoder.name = "ad-hoc";
    decoder.layers = a->layers;
    decoder.hidden = a->hidden;
    decoder.heads = a->heads;
    decoder.kv_heads = a->kv_heads;
    decoder.head_dim = a->head_dim;
    decoder.ffn = a->ffn;
    decoder.vocab = a->vocab;
    decoder.ungated = a->gated == 0;
    decoder.tied = a->tied == 1;
    return llmperf_model_new(&decoder, ret_model, error);
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
                                      a->common.chunk_given ? llmperf_config_workload(c)->chunk : 0,
                                      &style, error);
    llmperf_status closed = common_close_output(&output, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

static int run(int argc, char **argv)
{
    layers_arguments arguments = {.common = COMMON_DEFAULTS, .gated = -1, .tied = -1};
    option_result result = {0};
    llmperf_error error = {0};
    llmperf_workload workload;
    llmperf_config *c = NULL;
    llmperf_model *described = NULL;
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
    const llmperf_model *model = ad_hoc ? described : l.model;
    if (status == LLMPERF_OK && model)
        status = llmperf_config_new(model, l.hw, l.calib, &workload, &c, &error);
    if (status == LLMPERF_OK)
        status = write(&arguments, c, &error);
    llmperf_config_free(c);
    llmperf_model_free(described);
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
