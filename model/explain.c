/* SPDX-License-Identifier: MIT */
/*
 * Explains the numbers of a prediction. One row of FIELDS per number; its function says the formula
 * and what goes into it. The value is the prediction's own; the formula is evaluated apart, and
 * tests/unit/test_explain.c holds the two together for every row.
 */
#include "llmperf/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formula.h"
#include "internal.h"
#include "page.h"
#include "sink.h"

/* ---- names ------------------------------------------------------------------------------------------ */

const char *llmperf_unit_name(llmperf_unit unit)
{
    static const char *const names[] = {
        "",       "",         "tokens",  "sequences",  "weights", "s",   "bytes",
        "flop",   "tokens/s", "bytes/s", "flop/s",     "flop/byte", "", "USD",
        "USD/h",  "Wh",       "W",
    };
    return (unsigned)unit < sizeof names / sizeof *names ? names[unit] : "?";
}

const char *llmperf_origin_name(llmperf_origin origin)
{
    static const char *const names[] = {"model",   "hardware", "option",
                                        "default", "computed", "constant"};
    return (unsigned)origin < sizeof names / sizeof *names ? names[origin] : "?";
}

/* ---- the explainer ------------------------------------------------------------------------------------ */

/* Which number of an estimate {value, low, high} or a crossing {.., exact}. */
typedef enum part { PART_VALUE, PART_LOW, PART_HIGH, PART_EXACT, PART_N, PART_K } part;

enum { NAMED_MAX = 40 };

typedef struct explainer {
    const llmperf_case *c;
    llmperf_case whole; /* the same on one device: what counts the model as such */
    const llmperf_prediction *p;
    const llmperf_workload *asked;
    llmperf_explanation *x;
    part part;
    symbol_scope scope;
    /* symbols of this explanation alone; they hide the common ones */
    int named_count;
    llmperf_explain_input named[NAMED_MAX];
    bool out_of_memory;
} explainer;

typedef struct field_row {
    const char *path, *meaning;
    uint8_t unit;
    uint8_t kind; /* field_kind */
    bool needs_hw;
    void (*explain)(explainer *e);
} field_row;

typedef enum field_kind {
    FIELD_PLAIN,
    FIELD_TIME, /* an estimate whose value is the least */
    FIELD_RATE, /* an estimate whose value is the most */
    FIELD_CROSSING,
} field_kind;

/* ---- symbols: options and hardware beside those of symbolic.c ---------------------------------------------- */

typedef struct option_symbol {
    const char *name, *meaning, *option;
    uint8_t unit;
    double (*value)(const llmperf_case *c);
} option_symbol;

static double opt_g(const llmperf_case *c) { return (double)c->workload.generate; }
static double opt_cached(const llmperf_case *c) { return (double)c->workload.cached; }
static double opt_chunk(const llmperf_case *c) { return (double)c->workload.chunk; }
static double opt_block(const llmperf_case *c) { return (double)c->workload.kv_block; }
static double opt_context(const llmperf_case *c) { return (double)c->workload.context; }
static double opt_utilization(const llmperf_case *c) { return c->workload.memory_utilization; }
static double opt_reserve(const llmperf_case *c) { return c->workload.reserve_bytes; }
static double opt_tpot(const llmperf_case *c) { return c->workload.tpot_s; }
static double opt_ttft(const llmperf_case *c) { return c->workload.ttft_s; }
static double opt_confidence(const llmperf_case *c) { return c->workload.confidence; }
static double fact_positions(const llmperf_case *c) { return (double)c->model->position_embeddings; }
static double fact_context(const llmperf_case *c) { return (double)c->model->max_context; }

/* option NULL: a fact of the model */
static const option_symbol OPTION_SYMBOLS[] = {
    {"g", "new tokens of each sequence", "generate", LLMPERF_UNIT_TOKENS, opt_g},
    {"cached", "prompt tokens that a prefix cache holds", "cached", LLMPERF_UNIT_TOKENS, opt_cached},
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
    {"positions", "rows of the learned position table", NULL, LLMPERF_UNIT_COUNT, fact_positions},
    {"max_context", "trained context", NULL, LLMPERF_UNIT_TOKENS, fact_context},
};

static const option_symbol *find_option_symbol(const char *name)
{
    for (size_t i = 0; i < sizeof OPTION_SYMBOLS / sizeof *OPTION_SYMBOLS; i++)
        if (strcmp(OPTION_SYMBOLS[i].name, name) == 0)
            return &OPTION_SYMBOLS[i];
    return NULL;
}

/* True when the user gave the option, by its long name. */
static bool is_given(const llmperf_workload *w, const char *option)
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

static void put_text(char *buffer, size_t size, const char *format, ...) LLMPERF_PRINTF(3, 4);

static void put_text(char *buffer, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer, size, format, arguments);
    va_end(arguments);
}

static void from_option(const explainer *e, const char *option, llmperf_explain_input *input)
{
    bool given = is_given(e->asked, option);
    input->origin = given ? LLMPERF_ORIGIN_OPTION : LLMPERF_ORIGIN_DEFAULT;
    put_text(input->source, sizeof input->source, given ? "--%s" : "default of --%s", option);
}

static void from_model(const explainer *e, llmperf_explain_input *input)
{
    const llmperf_model *model = e->c->model;
    input->origin = LLMPERF_ORIGIN_MODEL;
    put_text(input->source, sizeof input->source, "%s%s%.250s", model->name,
             model->source[0] ? ": " : "", model->source);
}

/* Bytes of an element: by an option, or by the checkpoint. */
static void from_format(const explainer *e, const symbol_info *info, llmperf_explain_input *input)
{
    const llmperf_case *c = e->c;
    const char *name = info->name;
    bool given = info->option && is_given(e->asked, info->option);
    llmperf_dtype dtype;
    if (strcmp(name, "a") == 0)
        dtype = c->workload.act_dtype;
    else if (strcmp(name, "c") == 0)
        dtype = c->workload.kv_dtype;
    else if (strcmp(name, "w_e") == 0 || (strcmp(name, "w_h") == 0 && c->model->tied))
        dtype = (llmperf_dtype)c->weight_dtype[LLMPERF_WEIGHT_EMBEDDING];
    else if (strcmp(name, "w_h") == 0)
        dtype = (llmperf_dtype)c->weight_dtype[LLMPERF_WEIGHT_HEAD];
    else if (strcmp(name, "w_n") == 0)
        dtype = (llmperf_dtype)c->weight_dtype[LLMPERF_WEIGHT_OTHER];
    else if (strcmp(name, "w_f") == 0)
        dtype = (llmperf_dtype)c->weight_dtype[LLMPERF_WEIGHT_MLP];
    else
        dtype = (llmperf_dtype)c->weight_dtype[LLMPERF_WEIGHT_ATTENTION];
    input->unit = LLMPERF_UNIT_BYTES;
    bool follows = strcmp(name, "c") == 0 && !c->model->kv_dtype;
    const char *bits = llmperf_dtype_name(dtype);
    if (given) {
        input->origin = LLMPERF_ORIGIN_OPTION;
        put_text(input->source, sizeof input->source, "%s: --%s", bits, info->option);
    } else if (follows) {
        input->origin = LLMPERF_ORIGIN_DEFAULT;
        put_text(input->source, sizeof input->source, "%s: as the activations", bits);
    } else {
        from_model(e, input);
        put_text(input->source, sizeof input->source, "%s: the checkpoint's format", bits);
    }
}

static uint8_t unit_of_symbol(const symbol_info *info)
{
    if (strcmp(info->name, "b") == 0)
        return LLMPERF_UNIT_SEQUENCES;
    return strchr("sqpLTW", info->name[0]) && !info->name[1] ? LLMPERF_UNIT_TOKENS
                                                            : LLMPERF_UNIT_COUNT;
}

static void describe_common(const explainer *e, const symbol_info *info,
                            llmperf_explain_input *input)
{
    input->value = info->value(&e->scope);
    input->unit = unit_of_symbol(info);
    put_text(input->meaning, sizeof input->meaning, "%s", info->meaning);
    if (info->origin == SYMBOL_FORMAT) {
        from_format(e, info, input);
    } else if (info->origin == SYMBOL_MODEL) {
        from_model(e, input);
    } else if (strcmp(info->name, "p") == 0 && e->scope.decode &&
               !is_given(e->asked, "context")) {
        input->origin = LLMPERF_ORIGIN_DEFAULT;
        put_text(input->source, sizeof input->source, "default of --context: prompt + generate/2");
    } else if (!e->scope.decode && strcmp(info->name, "q") == 0) {
        input->origin = LLMPERF_ORIGIN_COMPUTED;
        put_text(input->source, sizeof input->source, "the prompt without its cached tokens");
    } else if (info->origin == SYMBOL_DERIVED) {
        input->origin = LLMPERF_ORIGIN_COMPUTED;
        put_text(input->source, sizeof input->source, "p = %.0f cached + q = %.0f new",
                 symbol_find("p")->value(&e->scope), symbol_find("q")->value(&e->scope));
    } else {
        from_option(e, !e->scope.decode && strcmp(info->name, "p") == 0 ? "cached" : info->option,
                    input);
    }
}

static const llmperf_explain_input *find_named(const explainer *e, const char *name)
{
    for (int i = 0; i < e->named_count; i++)
        if (strcmp(e->named[i].symbol, name) == 0)
            return &e->named[i];
    return NULL;
}

static bool look_up(const char *name, double *ret_value, void *context)
{
    explainer *e = context;
    const llmperf_explain_input *named = find_named(e, name);
    const option_symbol *option = find_option_symbol(name);
    if (named)
        *ret_value = named->value;
    else if (option)
        *ret_value = option->value(e->c);
    else
        return symbol_value(name, ret_value, &e->scope);
    return true;
}

/* Lists a symbol among the inputs, once per value. */
static void list_input(const char *name, void *context)
{
    explainer *e = context;
    llmperf_explanation *x = e->x;
    llmperf_explain_input input = {.value = 0};
    const llmperf_explain_input *named = find_named(e, name);
    const option_symbol *option = find_option_symbol(name);
    const symbol_info *info = symbol_find(name);
    put_text(input.symbol, sizeof input.symbol, "%s", name);
    if (named) {
        input = *named;
    } else if (option) {
        input.value = option->value(e->c);
        input.unit = option->unit;
        put_text(input.meaning, sizeof input.meaning, "%s", option->meaning);
        if (option->option)
            from_option(e, option->option, &input);
        else
            from_model(e, &input);
    } else if (info) {
        describe_common(e, info, &input);
    } else {
        return;
    }
    for (int i = 0; i < x->input_count; i++)
        if (strcmp(x->inputs[i].symbol, name) == 0 && x->inputs[i].value == input.value)
            return;
    if (x->input_count < LLMPERF_EXPLAIN_INPUTS_MAX)
        x->inputs[x->input_count++] = input;
}

/* A symbol of this explanation. The pointer is good until the next call. */
static llmperf_explain_input *name_value(explainer *e, const char *symbol, double value,
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
    put_text(input->symbol, sizeof input->symbol, "%s", symbol);
    put_text(input->meaning, sizeof input->meaning, "%s", meaning);
    put_text(input->source, sizeof input->source, "above");
    return input;
}

/* A value that is a field of its own. */
static void name_field(explainer *e, const char *symbol, double value, llmperf_unit unit,
                       const char *meaning, const char *field)
{
    llmperf_explain_input *input = name_value(e, symbol, value, unit, meaning);
    put_text(input->source, sizeof input->source, "explain %s", field);
}

static void name_constant(explainer *e, const char *symbol, double value, const char *meaning,
                          const char *source)
{
    llmperf_explain_input *input = name_value(e, symbol, value, LLMPERF_UNIT_NONE, meaning);
    input->origin = LLMPERF_ORIGIN_CONSTANT;
    put_text(input->source, sizeof input->source, "%s", source);
}

static void name_hardware(explainer *e, const char *symbol, double value, llmperf_unit unit,
                          const char *meaning, llmperf_hw_field field)
{
    const llmperf_provenance *p = llmperf_hw_provenance(e->c->hw, field);
    llmperf_explain_input *input = name_value(e, symbol, value, unit, meaning);
    input->origin = LLMPERF_ORIGIN_HARDWARE;
    input->confidence = p->confidence;
    put_text(input->source, sizeof input->source, "%.80s%s%.280s", e->c->hw->name,
             p->source[0] ? ": " : "", p->source);
}

static void name_bandwidth(explainer *e)
{
    name_hardware(e, "BW", e->c->hw->mem_bytes_per_s, LLMPERF_UNIT_BYTES_PER_S, "memory bandwidth",
                  LLMPERF_HW_BANDWIDTH);
}

static void name_peak(explainer *e, llmperf_dtype dtype)
{
    char meaning[64];
    put_text(meaning, sizeof meaning, "%s peak, dense", llmperf_dtype_name(dtype));
    name_hardware(e, "P", e->c->hw->peak_flop_per_s[dtype], LLMPERF_UNIT_FLOP_PER_S, meaning,
                  LLMPERF_HW_PEAK);
}

/* ---- lines ---------------------------------------------------------------------------------------------- */

/* Fills a line: formula (macros of symbolic.c allowed), numbers, what it gives; its symbols become
 * inputs. value NAN: what the formula gives. text NULL: a value without formula. */
static void fill_line(explainer *e, llmperf_explain_line *line, const char *name, const char *text,
                      llmperf_unit unit, double value)
{
    formula f;
    char expanded[FORMULA_TEXT_MAX];
    memset(line, 0, sizeof *line);
    put_text(line->name, sizeof line->name, "%s", name);
    line->unit = (uint8_t)unit;
    line->value = value;
    line->evaluated = NAN;
    if (!text)
        return;
    if (strchr(text, '$')) {
        symbolic_expand(text, &e->scope, expanded);
        text = expanded[0] ? expanded : "0";
    }
    if (!formula_parse(text, NULL, &f) || !formula_evaluate(&f, look_up, e, &line->evaluated)) {
        llmperf_note(&e->x->notes, "formula '%s': %s: a bug of llmperf", text, f.wrong);
        return;
    }
    if (!formula_print(&f, FORMULA_PEOPLE, NULL, NULL, line->formula, sizeof line->formula) ||
        !formula_print(&f, FORMULA_EXACT, look_up, e, line->numbers, sizeof line->numbers))
        llmperf_note(&e->x->notes, "the formula of %s is too long to be shown whole", name);
    if (isnan(value))
        line->value = line->evaluated;
    formula_symbols(&f, list_input, e);
}

static void fill_result(explainer *e, const char *text, double value)
{
    llmperf_explain_line *r = &e->x->result;
    char name[sizeof r->name];
    put_text(name, sizeof name, "%s", r->name);
    fill_line(e, r, name, text, (llmperf_unit)r->unit, value);
}

/* A value that is found by search or by a sum. */
static void fill_rule(explainer *e, double value, const char *rule)
{
    put_text(e->x->rule, sizeof e->x->rule, "%s", rule);
    fill_result(e, NULL, value);
}

static void fill_none(explainer *e, const char *why)
{
    e->x->exists = false;
    put_text(e->x->why, sizeof e->x->why, "%s", why);
    fill_result(e, NULL, NAN);
}

static llmperf_explain_line *add_step(explainer *e, const char *name, const char *text,
                                      llmperf_unit unit, double value)
{
    llmperf_explanation *x = e->x;
    int at = x->step_count < LLMPERF_EXPLAIN_STEPS_MAX ? x->step_count++
                                                       : LLMPERF_EXPLAIN_STEPS_MAX - 1;
    fill_line(e, &x->steps[at], name, text, unit, value);
    return &x->steps[at];
}

/* A step whose value the result's formula uses by `symbol`. */
static void add_named_step(explainer *e, const char *symbol, const char *meaning, const char *text,
                           llmperf_unit unit)
{
    double value = add_step(e, symbol, text, unit, NAN)->value;
    name_value(e, symbol, value, unit, meaning);
}

static void add_term(explainer *e, const char *name, const char *text, llmperf_unit unit)
{
    llmperf_explanation *x = e->x;
    char probe[FORMULA_TEXT_MAX];
    symbolic_expand(text, &e->scope, probe);
    if (!probe[0] || x->term_count == LLMPERF_EXPLAIN_TERMS_MAX) /* nothing of that kind */
        return;
    fill_line(e, &x->terms[x->term_count++], name, text, unit, NAN);
}

/* The result is the sum of the terms; a single one is the result itself. */
static void close_sum(explainer *e, double value, const char *rule)
{
    llmperf_explanation *x = e->x;
    if (x->term_count == 1) {
        const llmperf_explain_line *only = &x->terms[0];
        memcpy(x->result.formula, only->formula, sizeof only->formula);
        memcpy(x->result.numbers, only->numbers, sizeof only->numbers);
        x->result.evaluated = only->evaluated;
        x->result.value = value;
        x->term_count = 0;
        return;
    }
    x->is_sum = true;
    fill_rule(e, value, rule);
}

static void set_layer(explainer *e, int kind, const char *what, char *name, size_t size)
{
    const llmperf_model *model = e->c->model;
    e->scope.layer = &model->layers[kind];
    if (model->layer_kind_count == 1)
        put_text(name, size, "%s", what);
    else
        put_text(name, size, "%s, %lld layers of shape %d", what,
                 (long long)model->layers[kind].count, kind + 1);
}

/* ---- model ------------------------------------------------------------------------------------------------ */

/* One term a class and layer shape: weights, or with `bytes` what they take. */
static void weight_term(explainer *e, const char *name, const char *count, const char *bytes_each,
                        bool bytes)
{
    char text[FORMULA_TEXT_MAX];
    put_text(text, sizeof text, bytes ? "(%s) %s" : "%s", count, bytes_each);
    add_term(e, name, text, bytes ? LLMPERF_UNIT_BYTES : LLMPERF_UNIT_WEIGHTS);
}

static void layer_weight_terms(explainer *e, int kind, bool bytes)
{
    char name[64], text[FORMULA_TEXT_MAX] = "0 $N";
    size_t used = strlen(text);
    set_layer(e, kind, "attention", name, sizeof name);
    const llmperf_layer *layer = e->scope.layer;
    const llmperf_attention *a = &layer->attention;
    weight_term(e, name, "layers h ($N + $N_kv) ($d_k + $d_v)", "w", bytes);
    set_layer(e, kind, "FFN", name, sizeof name);
    weight_term(e, name, layer->mlp.gated ? "3 layers h $F" : "2 layers h $F", "$w_f", bytes);

    const struct {
        bool there;
        const char *text;
    } parts[] = {
        {layer->norms > 0, NULL},
        {a->qkv_bias, "layers ($N $d_k + $N_kv ($d_k + $d_v))"},
        {a->out_bias, "layers h"},
        {a->qk_norm == LLMPERF_QK_NORM_HEAD, "2 layers $d_k"},
        {a->qk_norm != LLMPERF_QK_NORM_NONE && a->qk_norm != LLMPERF_QK_NORM_HEAD,
         "layers ($N + $N_kv) $d_k"},
        {layer->mlp.up_bias, layer->mlp.gated ? "2 layers $F" : "layers $F"},
        {layer->mlp.down_bias, "layers h"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char norms[64];
        if (!parts[i].there || used + sizeof norms >= sizeof text)
            continue;
        put_text(norms, sizeof norms, "%lld $norm_weights layers h", (long long)layer->norms);
        put_text(text + used, sizeof text - used, " + %s", parts[i].text ? parts[i].text : norms);
        used += strlen(text + used);
    }
    set_layer(e, kind, "norms and biases", name, sizeof name);
    weight_term(e, name, text, "$w_n", bytes);
    e->scope.layer = &e->c->model->layers[0];
}

static void weight_terms(explainer *e, bool bytes)
{
    const llmperf_model *model = e->c->model;
    weight_term(e, "token embeddings", "$V $e", "$w_e", bytes);
    if (model->position_embeddings > 0)
        weight_term(e, "position embeddings", "positions h $one", "$w_e", bytes);
    if (model->embedding_dim != model->hidden)
        weight_term(e, "embedding projections", "2 e h $one", "$w_e", bytes);
    for (int i = 0; i < model->layer_kind_count; i++)
        layer_weight_terms(e, i, bytes);
    int norms = model->final_norm + model->embedding_norm;
    if (norms > 0)
        weight_term(e, norms == 2 ? "embedding and final norm" : "final norm",
                    norms == 2 ? "2 $norm_weights h" : "$norm_weights h", "$w_n", bytes);
    if (!model->tied)
        weight_term(e, "LM head", "$V $e", "$w_h", bytes);
    if (model->head_bias)
        weight_term(e, "LM head bias", "$V", "$w_n", bytes);
}

/* The formulas of the model as a whole: one device. */
static void take_whole(explainer *e)
{
    e->whole = *e->c;
    e->whole.workload.tp = 1;
    e->scope.c = &e->whole;
}

static void explain_params(explainer *e)
{
    take_whole(e);
    weight_terms(e, false);
    close_sum(e, (double)llmperf_model_params(e->c->model).total, "sum over the weights");
}

static void name_params(explainer *e)
{
    name_field(e, "params", (double)llmperf_model_params(e->c->model).total, LLMPERF_UNIT_WEIGHTS,
               "parameters", "model.params");
}

static void explain_active(explainer *e)
{
    name_params(e);
    llmperf_note(&e->x->notes, "every weight of a dense model is active");
    fill_result(e, "params", (double)llmperf_model_params(e->c->model).total);
}

static const char *tables_of(const llmperf_model *model, bool embedding, bool head)
{
    bool positions = model->position_embeddings > 0;
    const char *table = model->embedding_dim == model->hidden ? "V h" : "V e";
    static const char *const texts[2][3][2] = {
        {{"params", "params - V h"}, {"params - V h", "params - 2 V h"}, {NULL, NULL}},
        {{"params", "params - V e"}, {"params - V e", "params - 2 V e"}, {NULL, NULL}},
    };
    static const char *const with_positions[2][3][2] = {
        {{"params - positions h", "params - V h - positions h"},
         {"params - V h - positions h", "params - 2 V h - positions h"},
         {NULL, NULL}},
        {{"params - positions h", "params - V e - positions h"},
         {"params - V e - positions h", "params - 2 V e - positions h"},
         {NULL, NULL}},
    };
    bool narrow = strcmp(table, "V e") == 0;
    return positions ? with_positions[narrow][embedding][head] : texts[narrow][embedding][head];
}

static void explain_active_no_embed(explainer *e)
{
    const llmperf_model *model = e->c->model;
    llmperf_params params = llmperf_model_params(model);
    int64_t tied_table = model->tied ? model->vocab * model->embedding_dim : 0;
    take_whole(e);
    name_params(e);
    if (model->tied)
        llmperf_note(&e->x->notes, "the tied table works as the LM head, so it stays in");
    fill_result(e, tables_of(model, !model->tied, false),
                (double)(params.total - params.embedding + tied_table));
}

static void explain_active_no_embed_head(explainer *e)
{
    const llmperf_model *model = e->c->model;
    llmperf_params params = llmperf_model_params(model);
    int64_t head = model->tied ? 0 : params.by_class[LLMPERF_WEIGHT_HEAD];
    take_whole(e);
    name_params(e);
    fill_result(e, tables_of(model, true, !model->tied),
                (double)(params.total - params.embedding - head));
}

static void explain_zero(explainer *e)
{
    fill_result(e, "0", 0);
    llmperf_note(&e->x->notes, "no model that this version counts has any");
}

static void explain_model_weight_bytes(explainer *e)
{
    take_whole(e);
    weight_terms(e, true);
    close_sum(e, llmperf_model_weight_bytes(e->c->model, e->c),
              "sum over the weights, each at the bytes of its class");
}

static void kv_per_token(explainer *e, bool beyond_windows)
{
    const llmperf_model *model = e->c->model;
    take_whole(e);
    for (int i = 0; i < model->layer_kind_count; i++) {
        char name[64];
        if (beyond_windows && model->layers[i].attention.window > 0)
            continue;
        set_layer(e, i, "K and V", name, sizeof name);
        add_term(e, name, "layers $N_kv ($d_k + $d_v) c", LLMPERF_UNIT_BYTES);
    }
    double value = beyond_windows
                       ? llmperf_kv_bytes_per_token_long(model, e->c->kv_bytes_per)
                       : llmperf_kv_bytes_per_token(model, e->c->kv_bytes_per);
    if (e->x->term_count == 0) {
        fill_result(e, "0", value);
        llmperf_note(&e->x->notes, "every layer has a window, so the cache stops growing");
    } else {
        close_sum(e, value, "sum over the layer shapes");
    }
}

static void explain_kv_per_token(explainer *e) { kv_per_token(e, false); }
static void explain_kv_per_token_long(explainer *e) { kv_per_token(e, true); }

static void explain_layers(explainer *e)
{
    for (int i = 0; i < e->c->model->layer_kind_count; i++) {
        char name[64];
        set_layer(e, i, "layers", name, sizeof name);
        add_term(e, name, "layers", LLMPERF_UNIT_COUNT);
    }
    close_sum(e, (double)llmperf_model_layers(e->c->model), "sum over the layer shapes");
}

/* A fact as the file says it; of several layer shapes the first is shown. */
static void fact(explainer *e, const char *symbol)
{
    double value = 0;
    look_up(symbol, &value, e);
    fill_result(e, symbol, value);
}

static void explain_hidden(explainer *e) { fact(e, "h"); }
static void explain_vocab(explainer *e) { fact(e, "V"); }

static void shape_fact(explainer *e, const char *symbol)
{
    fact(e, symbol);
    if (e->c->model->layer_kind_count > 1)
        llmperf_note(&e->x->notes, "of the first of %d layer shapes",
                     e->c->model->layer_kind_count);
}

static void explain_heads(explainer *e) { shape_fact(e, "n"); }
static void explain_kv_heads(explainer *e) { shape_fact(e, "n_kv"); }
static void explain_head_dim(explainer *e) { shape_fact(e, "d"); }
static void explain_ffn(explainer *e) { shape_fact(e, "f"); }

static void explain_max_context(explainer *e)
{
    if (e->c->model->max_context > 0)
        fact(e, "max_context");
    else
        fill_none(e, "the model's file does not say it");
}

/* ---- workload ---------------------------------------------------------------------------------------------- */

static void explain_batch(explainer *e) { fact(e, "b"); }
static void explain_prompt(explainer *e) { fact(e, "s"); }
static void explain_generate(explainer *e) { fact(e, "g"); }
static void explain_cached(explainer *e) { fact(e, "cached"); }
static void explain_chunk(explainer *e) { fact(e, "chunk"); }
static void explain_query(explainer *e) { fact(e, "q"); }
static void explain_tp(explainer *e) { fact(e, "tp"); }
static void explain_block(explainer *e) { fact(e, "block"); }
static void explain_utilization(explainer *e) { fact(e, "utilization"); }
static void explain_reserve(explainer *e) { fact(e, "reserve"); }
static void explain_confidence(explainer *e) { fact(e, "confidence"); }

static void explain_context(explainer *e)
{
    if (is_given(e->asked, "context") || !e->asked)
        fact(e, "context");
    else
        fill_result(e, "s + floor(g / 2)", (double)e->c->workload.context);
}

static void target(explainer *e, const char *symbol, double value, const char *why)
{
    if (value > 0)
        fact(e, symbol);
    else
        fill_none(e, why);
}

static void explain_tpot_target(explainer *e)
{
    target(e, "tpot_target", e->c->workload.tpot_s, "no --tpot was given");
}

static void explain_ttft_target(explainer *e)
{
    target(e, "ttft_target", e->c->workload.ttft_s, "no --ttft was given");
}

static void name_price(explainer *e)
{
    double given = e->c->workload.price_usd_per_h;
    if (given > 0 || !e->c->hw) {
        from_option(e, "price",
                    name_value(e, "price", given, LLMPERF_UNIT_USD_PER_H, "price of one device"));
        return;
    }
    name_hardware(e, "price", e->c->hw->price_usd_per_h, LLMPERF_UNIT_USD_PER_H,
                  "price of one device", LLMPERF_HW_PRICE);
}

static void explain_price(explainer *e)
{
    name_price(e);
    target(e, "price", e->c->workload.price_usd_per_h, "no --price was given");
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

static void explain_weight_bytes(explainer *e)
{
    weight_terms(e, true);
    close_sum(e, llmperf_weight_bytes(e->c),
              "sum over the weights on one device, each at the bytes of its class");
}

static void explain_kv_bytes(explainer *e)
{
    const llmperf_model *model = e->c->model;
    const llmperf_workload *w = &e->c->workload;
    for (int i = 0; i < model->layer_kind_count; i++) {
        char name[64];
        set_layer(e, i, "K and V", name, sizeof name);
        add_term(e, name,
                 model->layers[i].attention.window > 0
                     ? "b layers min(W, block ceil((s + g) / block)) $N_kv ($d_k + $d_v) c"
                     : "b layers block ceil((s + g) / block) $N_kv ($d_k + $d_v) c",
                 LLMPERF_UNIT_BYTES);
    }
    close_sum(e, llmperf_kv_bytes(e->c, w->batch, w->prompt + w->generate),
              "sum over the layer shapes, each cache in whole blocks and at most a window long");
}

static void explain_activation_bytes(explainer *e)
{
    const llmperf_model *model = e->c->model;
    const llmperf_workload *w = &e->c->workload;
    double widest = -1;
    int at = 0;
    static const char text[] = "max(2 f, (n + 2 n_kv) d)";
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_attention *a = &model->layers[i].attention;
        double qkv = (double)((a->heads + 2 * a->kv_heads) * a->head_dim);
        double value = fmax(2 * (double)model->layers[i].mlp.ffn, qkv);
        if (value > widest) {
            widest = value;
            at = i;
        }
    }
    e->scope.layer = &model->layers[at];
    add_named_step(e, "widest", "widest tensor inside a layer, per token", text,
                   LLMPERF_UNIT_COUNT);
    add_named_step(e, "per_token", "bytes of a token's tensors", "(2 h + widest) a / tp",
                   LLMPERF_UNIT_BYTES);
    add_named_step(e, "tokens", "tokens of the largest prefill step", "min(b (s - cached), chunk)",
                   LLMPERF_UNIT_TOKENS);
    add_named_step(e, "rows", "rows of logits that it ends",
                   w->logits_all ? "tokens" : "min(b, ceil(tokens / (s - cached)))",
                   LLMPERF_UNIT_COUNT);
    fill_result(e, "max(tokens per_token + 4 V rows, b q (per_token + 4 V))",
                llmperf_activation_bytes(e->c, w->batch, w->prompt));
    llmperf_note(&e->x->notes, "the larger of a prefill step and a decode step; logits take 4 "
                               "bytes each");
}

static void name_capacity(explainer *e)
{
    name_field(e, "capacity", e->p->memory.capacity_bytes, LLMPERF_UNIT_BYTES,
               "usable memory of the part", "memory.capacity_bytes");
}

static void explain_capacity(explainer *e)
{
    const llmperf_hw *hw = e->c->hw;
    if (hw->memory_usable_bytes > 0) {
        name_hardware(e, "memory_usable", hw->memory_usable_bytes, LLMPERF_UNIT_BYTES,
                      "what the driver reports", LLMPERF_HW_MEMORY_USABLE);
        fill_result(e, "memory_usable", e->p->memory.capacity_bytes);
        return;
    }
    name_hardware(e, "memory", hw->memory_bytes, LLMPERF_UNIT_BYTES,
                  "the label's size; what the driver leaves is not known", LLMPERF_HW_MEMORY);
    e->named[e->named_count - 1].assumed = true;
    fill_result(e, "memory", e->p->memory.capacity_bytes);
}

static void explain_reserved(explainer *e)
{
    name_capacity(e);
    fill_result(e, "(1 - utilization) capacity + reserve", e->p->memory.reserved_bytes);
}

static void name_memory(explainer *e)
{
    const llmperf_memory *m = &e->p->memory;
    const struct {
        const char *symbol, *meaning, *field;
        double value;
    } parts[] = {
        {"weights", "weights", "memory.weight_bytes", m->weight_bytes},
        {"kv", "KV cache", "memory.kv_bytes", m->kv_bytes},
        {"state", "recurrent state", "memory.state_bytes", m->state_bytes},
        {"activation", "tensors of the largest step", "memory.activation_bytes",
         m->activation_bytes},
        {"reserved", "kept free", "memory.reserved_bytes", m->reserved_bytes},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        name_field(e, parts[i].symbol, parts[i].value, LLMPERF_UNIT_BYTES, parts[i].meaning,
                   parts[i].field);
}

static void explain_total(explainer *e)
{
    name_memory(e);
    fill_result(e, "weights + kv + state + activation + reserved", e->p->memory.total_bytes);
}

static double bytes_at(const explainer *e, int64_t batch, int64_t prompt, int64_t tokens)
{
    const llmperf_memory *m = &e->p->memory;
    return m->weight_bytes + m->reserved_bytes + llmperf_kv_bytes(e->c, batch, tokens) +
           llmperf_activation_bytes(e->c, batch, prompt);
}

static void explain_max_batch(explainer *e)
{
    const llmperf_workload *w = &e->c->workload;
    const llmperf_memory *m = &e->p->memory;
    fill_rule(e, (double)m->max_batch,
              "the largest b with weights + reserved + kv(b) + activation(b) <= capacity, found by "
              "bisection");
    for (int64_t b = m->max_batch; b <= m->max_batch + 1; b++) {
        char name[64];
        put_text(name, sizeof name, "bytes at batch %lld", (long long)b);
        if (b > 0)
            add_step(e, name, NULL, LLMPERF_UNIT_BYTES,
                     bytes_at(e, b, w->prompt, w->prompt + w->generate));
    }
    name_capacity(e);
    list_input("capacity", e);
}

static void explain_max_context_tokens(explainer *e)
{
    const llmperf_workload *w = &e->c->workload;
    int64_t most = e->p->memory.max_context_tokens;
    fill_rule(e, (double)most,
              "the longest sequence, generated tokens included, with weights + reserved + kv + "
              "activation <= capacity at this batch, found by bisection");
    for (int64_t tokens = most; tokens <= most + 1; tokens++) {
        char name[64];
        put_text(name, sizeof name, "bytes at %lld tokens", (long long)tokens);
        if (tokens > 0)
            add_step(e, name, NULL, LLMPERF_UNIT_BYTES,
                     bytes_at(e, w->batch, tokens > w->generate ? tokens - w->generate : 1,
                              tokens));
    }
    name_capacity(e);
    list_input("capacity", e);
    list_input("b", e);
}

/* ---- sums over operators ---------------------------------------------------------------------------------------- */

typedef enum summand { SUM_TIME, SUM_FLOP, SUM_BYTES } summand;

/* Totals by operator name; `each` is one launch's while all launches are alike. */
typedef struct op_sums {
    explainer *e;
    summand what;
    double total[LLMPERF_OP_COUNT], launches[LLMPERF_OP_COUNT], each[LLMPERF_OP_COUNT];
    bool mixed[LLMPERF_OP_COUNT];
} op_sums;

static void sum_step(const llmperf_segment *segments, int segment_count, double times,
                     void *context)
{
    op_sums *s = context;
    const llmperf_case *c = s->e->c;
    llmperf_op *ops = malloc(sizeof *ops * (size_t)llmperf_emit_capacity(c));
    if (!ops) {
        s->e->out_of_memory = true;
        return;
    }
    int count = llmperf_emit(c, segments, segment_count, ops);
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        double each = s->what == SUM_FLOP    ? op->flop
                      : s->what == SUM_BYTES ? op->bytes
                                             : llmperf_time_op(op, c->hw, c->calib, NULL, NULL);
        double launches = op->repeat * times;
        s->mixed[op->id] |= s->launches[op->id] > 0 && s->each[op->id] != each;
        s->each[op->id] = each;
        s->launches[op->id] += launches;
        s->total[op->id] += launches * each;
    }
    free(ops);
}

static int by_value(const void *a, const void *b)
{
    const llmperf_explain_line *x = a, *y = b;
    return (x->value < y->value) - (x->value > y->value);
}

static void close_op_sums(op_sums *s, double value, const char *rule)
{
    static const llmperf_unit units[] = {LLMPERF_UNIT_S, LLMPERF_UNIT_FLOP, LLMPERF_UNIT_BYTES};
    static const char *const formulas[] = {"launches time_s", "launches flop", "launches bytes"};
    llmperf_explanation *x = s->e->x;
    for (int i = 0; i < LLMPERF_OP_COUNT; i++) {
        char launches[LLMPERF_DOUBLE_TEXT_MAX], each[LLMPERF_DOUBLE_TEXT_MAX];
        if (s->total[i] <= 0)
            continue;
        llmperf_explain_line *term = &x->terms[x->term_count++];
        fill_line(s->e, term, llmperf_op_name((llmperf_op_id)i), NULL, units[s->what],
                  s->total[i]);
        if (s->mixed[i])
            continue;
        put_text(term->formula, sizeof term->formula, "%s", formulas[s->what]);
        put_text(term->numbers, sizeof term->numbers, "%s * %s",
                 llmperf_format_double(s->launches[i], launches),
                 llmperf_format_double(s->each[i], each));
        term->evaluated = s->launches[i] * s->each[i];
    }
    qsort(x->terms, (size_t)x->term_count, sizeof *x->terms, by_value);
    x->is_sum = true;
    fill_rule(s->e, value, rule);
    llmperf_note(&x->notes, "explain OPERATOR shows one of them");
}

static void sum_prefill(explainer *e, int64_t batch, summand what, double value, const char *rule)
{
    op_sums s = {.e = e, .what = what};
    llmperf_prefill_steps(e->c, batch, e->c->workload.chunk, sum_step, &s);
    close_op_sums(&s, value, rule);
}

static void sum_decode(explainer *e, summand what, double value, const char *rule)
{
    op_sums s = {.e = e, .what = what};
    llmperf_segment segment =
        llmperf_decode_segment(e->c, e->c->workload.batch, e->c->workload.context);
    sum_step(&segment, 1, 1, &s);
    close_op_sums(&s, value, rule);
    if (what == SUM_TIME && e->c->calib == NULL)
        llmperf_note(&e->x->notes, "without a calibration an operator takes the larger of "
                                   "flop / peak and bytes / bandwidth, and nothing else takes "
                                   "time");
}

/* ---- times and rates --------------------------------------------------------------------------------------------- */

static const char SPREAD_SOURCE[] =
    "95th percentile of measured / roofline in published data; docs/model.md, Bounds";

static void name_spread(explainer *e, const char *symbol, llmperf_spread_class spread)
{
    name_constant(e, symbol, llmperf_spread(spread), "slow engines over the bound", SPREAD_SOURCE);
}

static bool is_bound(const explainer *e) { return e->p->kind == LLMPERF_ESTIMATE_BOUND; }

static double part_of(const explainer *e, llmperf_estimate estimate)
{
    return e->part == PART_LOW    ? estimate.low
           : e->part == PART_HIGH ? estimate.high
                                  : estimate.value;
}

/* The ends of an interval. True: explained here; false: the value itself is asked. */
static bool explain_end(explainer *e, llmperf_estimate estimate, bool rate,
                        llmperf_spread_class spread, const char *field)
{
    if (e->part == PART_VALUE)
        return false;
    if (!is_bound(e)) {
        fill_rule(e, part_of(e, estimate), "an end of the calibration's interval");
        return true;
    }
    name_field(e, "value", estimate.value, (llmperf_unit)e->x->result.unit, "the bound", field);
    name_spread(e, "spread", spread);
    bool far_end = (e->part == PART_HIGH) != rate;
    fill_result(e, !far_end ? "value" : rate ? "value / spread" : "value spread",
                part_of(e, estimate));
    return true;
}

static void explain_prefill_time(explainer *e)
{
    if (!explain_end(e, e->p->prefill.time_s, false, LLMPERF_SPREAD_PREFILL_STEP,
                     "prefill.time_s"))
        sum_prefill(e, e->c->workload.batch, SUM_TIME, e->p->prefill.time_s.value,
                    "sum over the operators of all prefill steps, of launches x time");
}

static void explain_prefill_flop(explainer *e)
{
    sum_prefill(e, e->c->workload.batch, SUM_FLOP, e->p->prefill.total.flop,
                "sum over the operators of all prefill steps");
}

static void explain_prefill_bytes(explainer *e)
{
    sum_prefill(e, e->c->workload.batch, SUM_BYTES, e->p->prefill.total.bytes,
                "sum over the operators of all prefill steps");
}

static void explain_prefill_rate(explainer *e)
{
    if (explain_end(e, e->p->prefill.tokens_per_s, true, LLMPERF_SPREAD_PREFILL_STEP,
                    "prefill.tokens_per_s"))
        return;
    name_field(e, "prefill_s", e->p->prefill.time_s.value, LLMPERF_UNIT_S,
               "time of all prefill steps", "prefill.time_s");
    fill_result(e, "b (s - cached) / prefill_s", e->p->prefill.tokens_per_s.value);
}

static void explain_steps(explainer *e)
{
    fill_result(e, "ceil(b (s - cached) / chunk)", e->p->prefill_steps);
}

static void explain_ttft(explainer *e)
{
    if (!explain_end(e, e->p->ttft_s, false, LLMPERF_SPREAD_PREFILL_STEP, "ttft_s"))
        sum_prefill(e, 1, SUM_TIME, e->p->ttft_s.value,
                    "the prefill of one prompt on an idle server: sum over its operators, of "
                    "launches x time");
}

static void explain_ttft_batch(explainer *e)
{
    if (explain_end(e, e->p->ttft_batch_s, false, LLMPERF_SPREAD_PREFILL_STEP, "ttft_batch_s"))
        return;
    name_field(e, "prefill_s", e->p->prefill.time_s.value, LLMPERF_UNIT_S,
               "time of all prefill steps", "prefill.time_s");
    fill_result(e, "prefill_s", e->p->ttft_batch_s.value);
}

static void explain_decode_time(explainer *e)
{
    if (!explain_end(e, e->p->decode.time_s, false, LLMPERF_SPREAD_DECODE_STEP, "decode.time_s"))
        sum_decode(e, SUM_TIME, e->p->decode.time_s.value,
                   "sum over the operators of one decode step, of launches x time");
}

static void explain_tpot(explainer *e)
{
    if (!explain_end(e, e->p->tpot_s, false, LLMPERF_SPREAD_DECODE_STEP, "tpot_s"))
        sum_decode(e, SUM_TIME, e->p->tpot_s.value,
                   "one decode step at mean context: sum over its operators, of launches x time");
}

static void explain_decode_flop(explainer *e)
{
    sum_decode(e, SUM_FLOP, e->p->decode.total.flop, "sum over the operators of one decode step");
}

static void explain_decode_bytes(explainer *e)
{
    sum_decode(e, SUM_BYTES, e->p->decode.total.bytes, "sum over the operators of one decode step");
}

static void name_tpot(explainer *e)
{
    name_field(e, "tpot_s", e->p->tpot_s.value, LLMPERF_UNIT_S, "time per output token", "tpot_s");
}

static void explain_decode_rate(explainer *e)
{
    if (explain_end(e, e->p->decode.tokens_per_s, true, LLMPERF_SPREAD_DECODE_STEP,
                    "decode.tokens_per_s"))
        return;
    name_tpot(e);
    fill_result(e, "b / tpot_s", e->p->decode.tokens_per_s.value);
}

static void explain_rate_per_seq(explainer *e)
{
    if (explain_end(e, e->p->tokens_per_s_per_seq, true, LLMPERF_SPREAD_DECODE_STEP,
                    "decode.tokens_per_s_per_seq"))
        return;
    name_tpot(e);
    fill_result(e, "1 / tpot_s", e->p->tokens_per_s_per_seq.value);
}

static void explain_e2e(explainer *e)
{
    const llmperf_prediction *p = e->p;
    if (e->part != PART_VALUE && !is_bound(e)) {
        fill_rule(e, part_of(e, p->e2e_s), "an end of the calibration's interval");
        return;
    }
    name_field(e, "ttft_s", p->ttft_s.value, LLMPERF_UNIT_S, "time to first token", "ttft_s");
    name_tpot(e);
    name_spread(e, "spread_prefill", LLMPERF_SPREAD_PREFILL_STEP);
    name_spread(e, "spread_decode", LLMPERF_SPREAD_DECODE_STEP);
    fill_result(e,
                e->part == PART_HIGH ? "ttft_s spread_prefill + (g - 1) tpot_s spread_decode"
                                     : "ttft_s + (g - 1) tpot_s",
                part_of(e, p->e2e_s));
}

static void share(explainer *e, const char *meaning, double part_s, double value)
{
    name_value(e, "part_s", part_s, LLMPERF_UNIT_S, meaning);
    put_text(e->named[e->named_count - 1].source, LLMPERF_TEXT_MAX,
             "sum over the operators of the step: explain tpot_s");
    name_field(e, "step_s", e->p->decode.total.time_s, LLMPERF_UNIT_S, "time of the decode step",
               "decode.time_s");
    fill_result(e, "part_s / step_s", value);
}

static void explain_share_dense(explainer *e)
{
    share(e, "weight GEMMs, without launch",
          e->p->decode.total.group_s[LLMPERF_GROUP_DENSE], e->p->share.dense);
}
static void explain_share_attention(explainer *e)
{
    share(e, "attention, without launch",
          e->p->decode.total.group_s[LLMPERF_GROUP_ATTENTION], e->p->share.attention);
}
static void explain_share_other(explainer *e)
{
    share(e, "norms and the like, without launch",
          e->p->decode.total.group_s[LLMPERF_GROUP_OTHER], e->p->share.other);
}
static void explain_share_launch(explainer *e)
{
    share(e, "launches", e->p->decode.total.launch_s, e->p->share.launch);
}
static void explain_share_link(explainer *e)
{
    share(e, "collectives", e->p->decode.total.link_s, e->p->share.link);
}
static void explain_share_host(explainer *e)
{
    fill_result(e, "0", e->p->share.host);
    llmperf_note(&e->x->notes, "host time is part of an engine profile; there is none here");
}

/* ---- compute-bound batch ------------------------------------------------------------------------------------------ */

/* Peak and bandwidth that an operator reaches: the datasheet's, or the calibration's at most. */
static void reached(const explainer *e, const llmperf_op *op, bool calibrated, double *ret_peak,
                    double *ret_bandwidth)
{
    const llmperf_hw *hw = e->c->hw;
    llmperf_time t;
    *ret_peak = op->flop > 0 ? hw->peak_flop_per_s[op->dtype] : INFINITY;
    *ret_bandwidth = hw->mem_bytes_per_s;
    if (!calibrated)
        return;
    llmperf_time_op(op, hw, e->c->calib, &t, NULL);
    if (t.compute_s > 0)
        *ret_peak = op->flop / t.compute_s;
    if (t.memory_s > 0)
        *ret_bandwidth = op->bytes / t.memory_s;
}

static void put_crossing(explainer *e, const char *text, const llmperf_crossing *crossing)
{
    if (!crossing->exists) {
        fill_none(e, crossing->why);
        return;
    }
    if (e->part == PART_EXACT) {
        fill_result(e, text, crossing->exact);
        return;
    }
    e->x->rounded_up = true;
    fill_result(e, text, (double)crossing->batch);
}

/* Sums over operators that are affine in the batch: fixed + b per sequence. */
static void sum_crossing(explainer *e, const llmperf_crossings *crossings, bool calibrated,
                         bool dense)
{
    const llmperf_case *c = e->c;
    size_t capacity = (size_t)llmperf_emit_capacity(c);
    llmperf_op *one = malloc(2 * capacity * sizeof *one);
    if (!one) {
        e->out_of_memory = true;
        return;
    }
    llmperf_op *two = one + capacity;
    llmperf_segment at_one = llmperf_decode_segment(c, 1, c->workload.context);
    llmperf_segment at_two = llmperf_decode_segment(c, 2, c->workload.context);
    int count = llmperf_emit(c, &at_one, 1, one);
    llmperf_emit(c, &at_two, 1, two);
    double fixed[2] = {0, 0}, each[2] = {0, 0}; /* compute, memory */
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &one[i];
        double peak, bandwidth;
        if (op->kind == LLMPERF_KIND_COLLECTIVE || (dense && op->group != LLMPERF_GROUP_DENSE))
            continue;
        reached(e, op, calibrated, &peak, &bandwidth);
        double flop = two[i].flop - op->flop, bytes = two[i].bytes - op->bytes;
        fixed[0] += op->repeat * (op->flop - flop) / peak;
        each[0] += op->repeat * flop / peak;
        fixed[1] += op->repeat * (op->bytes - bytes) / bandwidth;
        each[1] += op->repeat * bytes / bandwidth;
    }
    free(one);
    const char *from = "sum over the operators of a decode step at batch 1 and 2";
    const char *const names[] = {"compute_each_s", "memory_each_s", "compute_fixed_s",
                                 "memory_fixed_s"};
    const char *const meanings[] = {
        "compute time that a sequence adds", "memory time that a sequence adds",
        "compute time without sequences", "memory time without sequences: the weights"};
    const double values[] = {each[0], each[1], fixed[0], fixed[1]};
    for (int i = 0; i < 4; i++)
        put_text(name_value(e, names[i], values[i], LLMPERF_UNIT_S, meanings[i])->source,
                 LLMPERF_TEXT_MAX, "%s", from);
    const llmperf_crossing *crossing = dense ? &crossings->dense : &crossings->step;
    const char *text = fixed[0] != 0
                           ? "(memory_fixed_s - compute_fixed_s) / (compute_each_s - memory_each_s)"
                           : "memory_fixed_s / (compute_each_s - memory_each_s)";
    if (crossing->exists && crossing->exact == 0)
        text = "0"; /* compute-bound from the first sequence on */
    put_crossing(e, text, crossing);
    for (int i = 0; i < 4 && !crossing->exists; i++)
        list_input(names[i], e);
    char context[96];
    put_text(context, sizeof context, "at %lld tokens of context",
             (long long)c->workload.context);
    if (!dense)
        llmperf_note(&e->x->notes, "%s", context);
    if (calibrated)
        llmperf_note(&e->x->notes, "peak and bandwidth as the calibration says they are reached");
}

static void explain_dense(explainer *e) { sum_crossing(e, &e->p->datasheet, false, true); }
static void explain_step(explainer *e) { sum_crossing(e, &e->p->datasheet, false, false); }

static bool calibrated_or_none(explainer *e)
{
    if (e->p->has_calibrated)
        return true;
    fill_none(e, "no calibration is used");
    return false;
}

static void explain_dense_calibrated(explainer *e)
{
    if (calibrated_or_none(e))
        sum_crossing(e, &e->p->calibrated, true, true);
}

static void explain_step_calibrated(explainer *e)
{
    if (calibrated_or_none(e))
        sum_crossing(e, &e->p->calibrated, true, false);
}

static const char *weight_symbol(llmperf_op_id id)
{
    switch (id) {
    case LLMPERF_OP_MLP_GATE_UP:
    case LLMPERF_OP_MLP_UP:
    case LLMPERF_OP_MLP_DOWN:
        return "w_f";
    case LLMPERF_OP_LM_HEAD:
        return "w_h";
    case LLMPERF_OP_EMBED_PROJECT:
    case LLMPERF_OP_HEAD_PROJECT:
        return "w_e";
    default:
        return "w";
    }
}

/* One dense operator: the closed form in its own m, n, k. */
static void explain_op_crossing(explainer *e, const llmperf_op_crossing *one, bool calibrated)
{
    const llmperf_case *c = e->c;
    llmperf_op_id id = (llmperf_op_id)one->id;
    const char *op_name = llmperf_op_name(id);
    char meaning[96], field[96];
    llmperf_op *ops = malloc(sizeof *ops * (size_t)llmperf_emit_capacity(c));
    if (!ops) {
        e->out_of_memory = true;
        return;
    }
    llmperf_segment segment = llmperf_decode_segment(c, 1, c->workload.context);
    int count = llmperf_emit(c, &segment, 1, ops);
    double peak = 0, bandwidth = 1;
    llmperf_dtype dtype = LLMPERF_DTYPE_NONE;
    for (int i = 0; i < count; i++)
        if (ops[i].id == one->id && ops[i].n == one->n && ops[i].k == one->k) {
            reached(e, &ops[i], calibrated, &peak, &bandwidth);
            dtype = (llmperf_dtype)ops[i].dtype;
            break;
        }
    free(ops);

    put_text(field, sizeof field, "%s", op_name);
    put_text(meaning, sizeof meaning, "columns of %s on a device", op_name);
    name_field(e, "n", one->n, LLMPERF_UNIT_COUNT, meaning, field);
    put_text(meaning, sizeof meaning, "inner size of %s on a device", op_name);
    name_field(e, "k", one->k, LLMPERF_UNIT_COUNT, meaning, field);
    if (e->part == PART_N || e->part == PART_K) {
        fact(e, e->part == PART_N ? "n" : "k");
        return;
    }
    const symbol_info *weight = symbol_find(weight_symbol(id));
    llmperf_explain_input w = {.value = 0};
    describe_common(e, weight, &w);
    llmperf_explain_input *named = name_value(e, "w", w.value, LLMPERF_UNIT_BYTES, weight->meaning);
    named->origin = w.origin;
    memcpy(named->source, w.source, sizeof w.source);
    if (calibrated) {
        name_value(e, "P", peak, LLMPERF_UNIT_FLOP_PER_S, "peak that the calibration reaches");
        name_value(e, "BW", bandwidth, LLMPERF_UNIT_BYTES_PER_S,
                   "bandwidth that the calibration reaches");
    } else {
        name_peak(e, dtype);
        name_bandwidth(e);
    }
    add_named_step(e, "R", "ridge point", "P / BW", LLMPERF_UNIT_FLOP_PER_BYTE);
    put_crossing(e,
                 c->workload.query > 1 ? "w n k / (2 n k / R - a (n + k)) / q"
                                       : "w n k / (2 n k / R - a (n + k))",
                 &one->crossing);
    if (!one->crossing.exists) {
        add_step(e, "bytes of a row", "a (n + k)", LLMPERF_UNIT_BYTES, NAN);
        add_step(e, "bytes that its compute hides", "2 n k / R", LLMPERF_UNIT_BYTES, NAN);
    }
}

static void explain_memory_limit(explainer *e)
{
    name_field(e, "max_batch", (double)e->p->memory.max_batch, LLMPERF_UNIT_SEQUENCES,
               "largest batch that memory holds", "memory.max_batch");
    fill_result(e, "max_batch", (double)e->p->memory.max_batch);
}

/* ---- batching, targets, cost ---------------------------------------------------------------------------------------- */

static void tpot_step(explainer *e, int64_t batch)
{
    char name[64];
    put_text(name, sizeof name, "TPOT at batch %lld", (long long)batch);
    add_step(e, name, NULL, LLMPERF_UNIT_S, llmperf_tpot(e->c, batch));
}

static void explain_knee(explainer *e)
{
    int64_t knee = e->p->latency_knee_batch;
    if (!e->p->has_knee) {
        fill_none(e, "TPOT does not rise by 10 % at any batch");
        return;
    }
    fill_rule(e, (double)knee,
              "the smallest batch whose TPOT is at least 1.1 times that of batch 1, by bisection");
    tpot_step(e, 1);
    add_step(e, "1.1 times that", NULL, LLMPERF_UNIT_S, 1.1 * llmperf_tpot(e->c, 1));
    if (knee > 2)
        tpot_step(e, knee - 1);
    if (knee > 1)
        tpot_step(e, knee);
}

static void explain_batching_batch(explainer *e)
{
    if (e->c->workload.batch > 1) {
        fact(e, "b");
        return;
    }
    explain_memory_limit(e);
    llmperf_note(&e->x->notes, "at batch 1 nothing is batched yet: what memory would hold is taken");
}

static void attention_step(explainer *e, int64_t batch, int64_t context, const char *step_symbol,
                           const char *attention_symbol)
{
    llmperf_segment segment = llmperf_decode_segment(e->c, batch, context);
    llmperf_total total;
    char meaning[96];
    llmperf_step(e->c, &segment, 1, NULL, NULL, &total);
    put_text(meaning, sizeof meaning, "decode step at batch %lld, %lld tokens of context",
             (long long)batch, (long long)context);
    put_text(name_value(e, step_symbol, total.time_s, LLMPERF_UNIT_S, meaning)->source,
             LLMPERF_TEXT_MAX, "sum over its operators");
    put_text(meaning, sizeof meaning, "attention's part of it");
    put_text(name_value(e, attention_symbol, total.group_s[LLMPERF_GROUP_ATTENTION],
                        LLMPERF_UNIT_S, meaning)->source,
             LLMPERF_TEXT_MAX, "sum over its operators");
}

static void batching_taken(explainer *e, int64_t context, double value)
{
    int64_t batch = e->p->batching.batch;
    if (batch <= 1 || value == 0) {
        fill_result(e, "0", value);
        llmperf_note(&e->x->notes, batch <= 1 ? "no batch above 1 fits"
                                              : "attention takes nothing of the gain");
        return;
    }
    name_field(e, "B", (double)batch, LLMPERF_UNIT_SEQUENCES, "batch", "batching.batch");
    attention_step(e, 1, context, "t_1", "att_1");
    attention_step(e, batch, context, "t_B", "att_B");
    add_named_step(e, "G", "gain in tokens/s over batch 1", "B t_1 / t_B", LLMPERF_UNIT_NONE);
    add_named_step(e, "G_shared", "gain if attention cost the batch what it costs one sequence",
                   "B t_1 / (t_B - att_B + att_1)", LLMPERF_UNIT_NONE);
    fill_result(e, "(G_shared - G) / (G_shared - 1)", value);
}

static void explain_taken(explainer *e)
{
    batching_taken(e, e->c->workload.context, e->p->batching.taken);
}

static void explain_taken_long(explainer *e)
{
    batching_taken(e, 4 * (e->c->workload.context + 1) - 1, e->p->batching.taken_long);
}

static void explain_max_batch_at_tpot(explainer *e)
{
    const llmperf_prediction *p = e->p;
    int64_t most = p->max_batch_at_tpot;
    if (e->c->workload.tpot_s <= 0) {
        fill_none(e, "no --tpot target was given");
        return;
    }
    fill_rule(e, (double)most,
              p->limited_by_memory
                  ? "memory ends before TPOT passes the target: memory.max_batch"
                  : "the largest batch whose TPOT is within the target, by bisection");
    if (most > 0)
        tpot_step(e, most);
    if (!p->limited_by_memory)
        tpot_step(e, most + 1);
    list_input("tpot_target", e);
    name_field(e, "max_batch", (double)p->memory.max_batch, LLMPERF_UNIT_SEQUENCES,
               "largest batch that memory holds", "memory.max_batch");
    list_input("max_batch", e);
}

static void name_rate(explainer *e)
{
    name_field(e, "tokens_per_s", e->p->decode.tokens_per_s.value, LLMPERF_UNIT_TOKENS_PER_S,
               "output tokens of all sequences", "decode.tokens_per_s");
}

static void explain_cost(explainer *e)
{
    if (!e->p->has_cost) {
        fill_none(e, "no --price was given and the part's file has none");
        return;
    }
    name_price(e);
    name_rate(e);
    fill_result(e, "1000000 tp price / (3600 tokens_per_s)", e->p->cost_usd_per_mtok);
}

static void explain_energy(explainer *e)
{
    if (!e->p->has_energy) {
        fill_none(e, "the part's file does not say its power");
        return;
    }
    name_hardware(e, "power", e->c->hw->power_w, LLMPERF_UNIT_W, "power limit of one device",
                  LLMPERF_HW_POWER);
    name_rate(e);
    fill_result(e, "1000000 tp power / (3600 tokens_per_s)", e->p->energy_wh_per_mtok);
    llmperf_note(&e->x->notes, "at the power limit: less while memory-bound");
}

static void explain_fitting_tp(explainer *e)
{
    if (e->p->memory.fits)
        fill_none(e, "it fits as asked");
    else if (e->p->fitting_tp == 0)
        fill_none(e, "no legal tp up to 1024 fits");
    else
        fill_rule(e, (double)e->p->fitting_tp,
                  "the smallest tp that the heads allow and whose shards fit");
}

static void explain_fitting_context(explainer *e)
{
    if (e->p->memory.fits) {
        fill_none(e, "it fits as asked");
    } else if (e->p->fitting_context == 0) {
        fill_none(e, "no length fits at this batch");
    } else {
        name_field(e, "max_context", (double)e->p->memory.max_context_tokens, LLMPERF_UNIT_TOKENS,
                   "longest sequence at this batch", "memory.max_context_tokens");
        fill_result(e, "max_context", (double)e->p->fitting_context);
    }
}
