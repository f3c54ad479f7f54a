/* SPDX-License-Identifier: MIT */
/* Symbols of formulas: options and hardware beside those of symbolic.c, and where each comes from. */
#include "explain.h"

#include <stdarg.h>
#include <string.h>

typedef struct option_symbol {
    const char *name, *meaning, *option;
    uint8_t unit;
    double (*value)(const llmperf_config *c);
} option_symbol;

static double opt_g(const llmperf_config *c)
{
    return (double)c->workload.generate;
}

static double opt_cached(const llmperf_config *c)
{
    return (double)c->workload.cached;
}

static double opt_chunk(const llmperf_config *c)
{
    return (double)c->workload.chunk;
}

static double opt_block(const llmperf_config *c)
{
    return (double)c->workload.kv_block;
}

static double opt_context(const llmperf_config *c)
{
    return (double)c->workload.context;
}

static double opt_utilization(const llmperf_config *c)
{
    return c->workload.memory_utilization;
}

static double opt_reserve(const llmperf_config *c)
{
    return c->workload.reserve_bytes;
}

static double opt_tpot(const llmperf_config *c)
{
    return c->workload.tpot_s;
}

static double opt_ttft(const llmperf_config *c)
{
    return c->workload.ttft_s;
}

static double opt_skew(const llmperf_config *c)
{
    return c->workload.moe_skew;
}

static double opt_confidence(const llmperf_config *c)
{
    return c->workload.confidence;
}

static double fact_positions(const llmperf_config *c)
{
    return (double)c->model->position_embeddings;
}

static double fact_mtp(const llmperf_config *c)
{
    return (double)c->model->mtp_params;
}

static double fact_context(const llmperf_config *c)
{
    return (double)c->model->max_context;
}

/* option NULL: a fact of the model */
static const option_symbol OPTION_SYMBOLS[] = {
    {"g", "new tokens of each sequence", "generate", LLMPERF_UNIT_TOKENS, opt_g},
    {"cached", "prompt tokens that a prefix cache holds", "cached", LLMPERF_UNIT_TOKENS,
     opt_cached},
    {"chunk", "most prefill tokens in a step", "chunk", LLMPERF_UNIT_TOKENS, opt_chunk},
    {"block", "tokens of a KV cache block", "kv-block", LLMPERF_UNIT_TOKENS, opt_block},
    {"context", "tokens cached when a decode step starts", "context", LLMPERF_UNIT_TOKENS,
     opt_context},
    {"utilization", "engine's share of usable memory", "memory-utilization", LLMPERF_UNIT_FRACTION,
     opt_utilization},
    {"reserve", "memory of context and libraries", "reserve", LLMPERF_UNIT_BYTES, opt_reserve},
    {"tpot_target", "target time per output token", "tpot", LLMPERF_UNIT_S, opt_tpot},
    {"ttft_target", "target time to first token", "ttft", LLMPERF_UNIT_S, opt_ttft},
    {"confidence", "coverage of intervals", "confidence", LLMPERF_UNIT_FRACTION, opt_confidence},
    {"skew", "power law of the routing, 0 = uniform", "moe-skew", LLMPERF_UNIT_NONE, opt_skew},
    {"positions", "rows of the learned position table", NULL, LLMPERF_UNIT_COUNT, fact_positions},
    {"max_context", "trained context", NULL, LLMPERF_UNIT_TOKENS, fact_context},
    {"mtp_params", "parameters of MTP layers", NULL, LLMPERF_UNIT_WEIGHTS, fact_mtp},
};

static const option_symbol *find_option_symbol(const char *name)
{
    for (size_t i = 0; i < sizeof OPTION_SYMBOLS / sizeof *OPTION_SYMBOLS; i++)
        if (strcmp(OPTION_SYMBOLS[i].name, name) == 0)
            return &OPTION_SYMBOLS[i];
    return NULL;
}

bool explain_is_given(const llmperf_workload *w, const char *option)
{
    if (!w)
        return false;
    const struct {
        const char *option;
        bool given;
    } table[] = {
        {"batch", w->batch != 0},
        {"prompt", w->prompt != 0},
        {"generate", w->generate != 0},
        {"cached", w->cached != 0},
        {"context", w->has_context},
        {"chunk", w->chunk != 0},
        {"query", w->query != 0},
        {"tp", w->tp != 0},
        {"moe-skew", w->moe_skew != 0},
        {"weight-dtype", w->weight_dtype != LLMPERF_DTYPE_NONE},
        {"act-dtype", w->act_dtype != LLMPERF_DTYPE_NONE},
        {"kv-dtype", w->kv_dtype != LLMPERF_DTYPE_NONE},
        {"memory-utilization", w->memory_utilization != 0},
        {"reserve", w->has_reserve},
        {"kv-block", w->kv_block != 0},
        {"tpot", w->tpot_s != 0},
        {"ttft", w->ttft_s != 0},
        {"price", w->price_usd_per_h != 0},
        {"confidence", w->confidence != 0},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].option, option) == 0)
            return table[i].given;
    return false;
}

void explain_print(char *buffer, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer, size, format, arguments);
    va_end(arguments);
}

void explain_from_option(const explainer *e, const char *option, llmperf_explain_input *input)
{
    bool given = explain_is_given(e->asked, option);
    input->origin = given ? LLMPERF_ORIGIN_OPTION : LLMPERF_ORIGIN_DEFAULT;
    explain_print(input->source, sizeof input->source, given ? "--%s" : "default of --%s", option);
}

static void from_model(const explainer *e, llmperf_explain_input *input)
{
    const llmperf_model *model = e->c->model;
    input->origin = LLMPERF_ORIGIN_MODEL;
    explain_print(input->source, sizeof input->source, "%s%s%.250s", model->name,
                  model->source[0] ? ": " : "", model->source);
}

/* Bytes of an element: by an option, or by the checkpoint. */
static void from_format(const explainer *e, const symbol_info *info, llmperf_explain_input *input)
{
    const llmperf_config *c = e->c;
    const char *name = info->name;
    bool given = info->option && explain_is_given(e->asked, info->option);
    double bytes;
    llmperf_dtype dtype = strcmp(name, "a") == 0   ? c->workload.act_dtype
                          : strcmp(name, "c") == 0 ? c->workload.kv_dtype
                                                   : symbol_format(name, &e->scope, &bytes);
    input->unit = LLMPERF_UNIT_BYTES;
    bool follows = strcmp(name, "c") == 0 && !c->model->kv_dtype;
    const char *bits = llmperf_dtype_name(dtype);
    if (given) {
        input->origin = LLMPERF_ORIGIN_OPTION;
        explain_print(input->source, sizeof input->source, "%s: --%s", bits, info->option);
    } else if (follows) {
        input->origin = LLMPERF_ORIGIN_DEFAULT;
        explain_print(input->source, sizeof input->source, "%s: as the activations", bits);
    } else {
        from_model(e, input);
        explain_print(input->source, sizeof input->source, "%s: the checkpoint's format%s%s", bits,
                      name[0] == 'w' && c->model->scheme[0] ? ", " : "",
                      name[0] == 'w' ? c->model->scheme : "");
    }
}

static uint8_t unit_of_symbol(const symbol_info *info)
{
    if (strcmp(info->name, "b") == 0)
        return LLMPERF_UNIT_SEQUENCES;
    return strchr("sqpLTW", info->name[0]) && !info->name[1] ? LLMPERF_UNIT_TOKENS
                                                             : LLMPERF_UNIT_COUNT;
}

void explain_describe_symbol(const explainer *e, const symbol_info *info,
                             llmperf_explain_input *input)
{
    input->value = info->value(&e->scope);
    input->unit = unit_of_symbol(info);
    explain_print(input->meaning, sizeof input->meaning, "%s", info->meaning);
    if (info->origin == SYMBOL_FORMAT) {
        from_format(e, info, input);
    } else if (info->origin == SYMBOL_MODEL) {
        from_model(e, input);
    } else if (strcmp(info->name, "p") == 0 && e->scope.decode &&
               !explain_is_given(e->asked, "context")) {
        input->origin = LLMPERF_ORIGIN_DEFAULT;
        explain_print(input->source, sizeof input->source,
                      "default of --context: prompt + generate/2");
    } else if (!e->scope.decode && strcmp(info->name, "q") == 0) {
        input->origin = LLMPERF_ORIGIN_COMPUTED;
        explain_print(input->source, sizeof input->source, "the prompt without its cached tokens");
    } else if (info->origin == SYMBOL_DERIVED) {
        input->origin = LLMPERF_ORIGIN_COMPUTED;
        if (strcmp(info->name, "L") == 0)
            explain_print(input->source, sizeof input->source, "p = %.0f cached + q = %.0f new",
                          symbol_find("p")->value(&e->scope), symbol_find("q")->value(&e->scope));
        else
            explain_print(input->source, sizeof input->source, "%s",
                          strcmp(info->name, "T") == 0
                              ? "b q"
                              : "E (1 - (1 - K / E)^T) where routing is uniform: explain "
                                "experts_read_per_layer");
    } else {
        explain_from_option(
            e, !e->scope.decode && strcmp(info->name, "p") == 0 ? "cached" : info->option, input);
    }
}

const llmperf_explain_input *explain_find_named(const explainer *e, const char *name)
{
    for (int i = 0; i < e->named_count; i++)
        if (strcmp(e->named[i].symbol, name) == 0)
            return &e->named[i];
    return NULL;
}

bool explain_look_up(const char *name, double *ret_value, void *context)
{
    explainer *e = context;
    const llmperf_explain_input *named = explain_find_named(e, name);
    const option_symbol *option = find_option_symbol(name);
    if (named)
        *ret_value = named->value;
    else if (option)
        *ret_value = option->value(e->c);
    else
        return symbol_value(name, ret_value, &e->scope);
    return true;
}

void explain_list_input(const char *name, void *context)
{
    explainer *e = context;
    llmperf_explanation *x = e->x;
    llmperf_explain_input input = {.value = 0};
    const llmperf_explain_input *named = explain_find_named(e, name);
    const option_symbol *option = find_option_symbol(name);
    const symbol_info *info = symbol_find(name);
    explain_print(input.symbol, sizeof input.symbol, "%s", name);
    if (named) {
        input = *named;
    } else if (option) {
        input.value = option->value(e->c);
        input.unit = option->unit;
        explain_print(input.meaning, sizeof input.meaning, "%s", option->meaning);
        if (option->option)
            explain_from_option(e, option->option, &input);
        else
            from_model(e, &input);
    } else if (info) {
        explain_describe_symbol(e, info, &input);
    } else {
        return;
    }
    for (int i = 0; i < x->input_count; i++)
        if (strcmp(x->inputs[i].symbol, name) == 0 && x->inputs[i].value == input.value)
            return;
    if (x->input_count < LLMPERF_EXPLAIN_INPUTS_MAX)
        x->inputs[x->input_count++] = input;
}

llmperf_explain_input *explain_name_value(explainer *e, const char *symbol, double value,
                                          llmperf_unit unit, const char *meaning)
{
    llmperf_explain_input *input = NULL;
    for (int i = 0; i < e->named_count; i++)
        if (strcmp(e->named[i].symbol, symbol) == 0)
            input = &e->named[i];
    if (!input)
        input = &e->named[e->named_count < NAMED_MAX - 1 ? e->named_count++ : NAMED_MAX - 1];
    memset(input, 0, sizeof *input);
    input->value = value;
    input->unit = (uint8_t)unit;
    input->origin = LLMPERF_ORIGIN_COMPUTED;
    explain_print(input->symbol, sizeof input->symbol, "%s", symbol);
    explain_print(input->meaning, sizeof input->meaning, "%s", meaning);
    explain_print(input->source, sizeof input->source, "above");
    return input;
}

void explain_name_field(explainer *e, const char *symbol, double value, llmperf_unit unit,
                        const char *meaning, const char *field)
{
    llmperf_explain_input *input = explain_name_value(e, symbol, value, unit, meaning);
    explain_print(input->source, sizeof input->source, "explain %s", field);
}

void explain_name_constant(explainer *e, const char *symbol, double value, const char *meaning,
                           const char *source)
{
    llmperf_explain_input *input = explain_name_value(e, symbol, value, LLMPERF_UNIT_NONE, meaning);
    input->origin = LLMPERF_ORIGIN_CONSTANT;
    explain_print(input->source, sizeof input->source, "%s", source);
}

void explain_name_hardware(explainer *e, const char *symbol, double value, llmperf_unit unit,
                           const char *meaning, llmperf_hw_field field)
{
    const llmperf_provenance *p = llmperf_hw_provenance(e->c->hw, field);
    llmperf_explain_input *input = explain_name_value(e, symbol, value, unit, meaning);
    input->origin = LLMPERF_ORIGIN_HARDWARE;
    input->confidence = p->confidence;
    explain_print(input->source, sizeof input->source, "%.80s%s%.280s", e->c->hw->name,
                  p->source[0] ? ": " : "", p->source);
}

void explain_name_bandwidth(explainer *e)
{
    explain_name_hardware(e, "BW", e->c->hw->mem_bytes_per_s, LLMPERF_UNIT_BYTES_PER_S,
                          "memory bandwidth", LLMPERF_HW_BANDWIDTH);
}

void explain_name_peak(explainer *e, llmperf_dtype dtype)
{
    char meaning[64];
    explain_print(meaning, sizeof meaning, "%s peak, dense", llmperf_dtype_name(dtype));
    explain_name_hardware(e, "P", e->c->hw->peak_flop_per_s[dtype], LLMPERF_UNIT_FLOP_PER_S,
                          meaning, LLMPERF_HW_PEAK);
}

bool explain_begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}
