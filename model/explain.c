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

/* ---- names ----------------------------------------------------------------------------------- */

const char *llmperf_unit_name(llmperf_unit unit)
{
    static const char *const names[] = {
        "",      "",     "tokens",   "sequences", "weights", "s",
        "bytes", "flop", "tokens/s", "bytes/s",   "flop/s",  "flop/byte",
        "",      "USD",  "USD/h",    "Wh",        "W",
    };
    return (unsigned)unit < sizeof names / sizeof *names ? names[unit] : "?";
}

const char *llmperf_origin_name(llmperf_origin origin)
{
    static const char *const names[] = {"model",    "hardware", "option",     "default",
                                        "computed", "constant", "calibration"};
    return (unsigned)origin < sizeof names / sizeof *names ? names[origin] : "?";
}

/* ---- the explainer --------------------------------------------------------------------------- */

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

/* ---- symbols: options and hardware beside those of symbolic.c -------------------------------- */

typedef struct option_symbol {
    const char *name, *meaning, *option;
    uint8_t unit;
    double (*value)(const llmperf_case *c);
} option_symbol;

static double opt_g(const llmperf_case *c)
{
    return (double)c->workload.generate;
}
static double opt_cached(const llmperf_case *c)
{
    return (double)c->workload.cached;
}
static double opt_chunk(const llmperf_case *c)
{
    return (double)c->workload.chunk;
}
static double opt_block(const llmperf_case *c)
{
    return (double)c->workload.kv_block;
}
static double opt_context(const llmperf_case *c)
{
    return (double)c->workload.context;
}
static double opt_utilization(const llmperf_case *c)
{
    return c->workload.memory_utilization;
}
static double opt_reserve(const llmperf_case *c)
{
    return c->workload.reserve_bytes;
}
static double opt_tpot(const llmperf_case *c)
{
    return c->workload.tpot_s;
}
static double opt_ttft(const llmperf_case *c)
{
    return c->workload.ttft_s;
}
static double opt_skew(const llmperf_case *c)
{
    return c->workload.moe_skew;
}
static double opt_confidence(const llmperf_case *c)
{
    return c->workload.confidence;
}
static double fact_positions(const llmperf_case *c)
{
    return (double)c->model->position_embeddings;
}
static double fact_mtp(const llmperf_case *c)
{
    return (double)c->model->mtp_params;
}
static double fact_context(const llmperf_case *c)
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
    double bytes;
    llmperf_dtype dtype = strcmp(name, "a") == 0   ? c->workload.act_dtype
                          : strcmp(name, "c") == 0 ? c->workload.kv_dtype
                                                   : symbol_format(name, &e->scope, &bytes);
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
        put_text(input->source, sizeof input->source, "%s: the checkpoint's format%s%s", bits,
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
    } else if (strcmp(info->name, "p") == 0 && e->scope.decode && !is_given(e->asked, "context")) {
        input->origin = LLMPERF_ORIGIN_DEFAULT;
        put_text(input->source, sizeof input->source, "default of --context: prompt + generate/2");
    } else if (!e->scope.decode && strcmp(info->name, "q") == 0) {
        input->origin = LLMPERF_ORIGIN_COMPUTED;
        put_text(input->source, sizeof input->source, "the prompt without its cached tokens");
    } else if (info->origin == SYMBOL_DERIVED) {
        input->origin = LLMPERF_ORIGIN_COMPUTED;
        if (strcmp(info->name, "L") == 0)
            put_text(input->source, sizeof input->source, "p = %.0f cached + q = %.0f new",
                     symbol_find("p")->value(&e->scope), symbol_find("q")->value(&e->scope));
        else
            put_text(input->source, sizeof input->source, "%s",
                     strcmp(info->name, "T") == 0
                         ? "b q"
                         : "E (1 - (1 - K / E)^T) where routing is uniform: explain "
                           "experts_read_per_layer");
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

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

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
    int at =
        x->step_count < LLMPERF_EXPLAIN_STEPS_MAX ? x->step_count++ : LLMPERF_EXPLAIN_STEPS_MAX - 1;
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

/* ---- model ----------------------------------------------------------------------------------- */

/* One term a class and layer shape: weights, or with `bytes` what they take. */
static void weight_term(explainer *e, const char *name, const char *count, const char *bytes_each,
                        bool bytes)
{
    char text[FORMULA_TEXT_MAX];
    put_text(text, sizeof text, bytes ? "(%s) %s" : "%s", count, bytes_each);
    add_term(e, name, text, bytes ? LLMPERF_UNIT_BYTES : LLMPERF_UNIT_WEIGHTS);
}

/* A sum of formulas, some of which are there. */
typedef struct text_sum {
    char text[FORMULA_TEXT_MAX];
    size_t used;
} text_sum;

static void add_text(text_sum *sum, bool there, const char *text)
{
    if (!there || sum->used + strlen(text) + 4 >= sizeof sum->text)
        return;
    put_text(sum->text + sum->used, sizeof sum->text - sum->used, "%s%s", sum->used ? " + " : "",
             text);
    sum->used += strlen(sum->text + sum->used);
}

static void layer_term(explainer *e, int kind, const char *what, const text_sum *sum,
                       const char *bytes_each, bool bytes)
{
    char name[64], text[FORMULA_TEXT_MAX];
    if (sum->used == 0)
        return;
    set_layer(e, kind, what, name, sizeof name);
    put_text(text, sizeof text, "layers (%.480s)", sum->text);
    weight_term(e, name, text, bytes_each, bytes);
}

static void mixer_terms(explainer *e, int kind, bool bytes)
{
    const llmperf_layer *layer = &e->c->model->layers[kind];
    const llmperf_attention *a = &layer->attention;
    const llmperf_mla *m = &layer->mla;
    const llmperf_ssm *s = &layer->ssm;
    text_sum attention = {.used = 0}, latent = {.used = 0}, index = {.used = 0}, ssm = {.used = 0};
    add_text(&attention, a->heads > 0 && !a->gate, "h ($N + $own $N_kv) ($d_k + $d_v)");
    add_text(&attention, a->heads > 0 && a->gate, "h (($N + $own $N_kv) ($d_k + $d_v) + $N $d_v)");
    layer_term(e, kind, "attention", &attention, "w", bytes);
    add_text(&latent, m->heads > 0 && m->q_rank > 0, "h r_q + r_q $N (d_n + d_r)");
    add_text(&latent, m->heads > 0 && m->q_rank == 0, "h $N (d_n + d_r)");
    add_text(&latent, m->heads > 0, "h (r_kv + d_r) + r_kv $N (d_n + d_v)");
    add_text(&latent, m->heads > 0, m->gate ? "2 $N d_v h" : "$N d_v h");
    layer_term(e, kind, "latent attention", &latent, "w", bytes);
    bool indexed = layer->index.top_k > 0 && !layer->index.shared && layer->index.heads > 0 &&
                   (a->heads > 0 || m->heads > 0);
    add_text(&index, indexed, "$index_input n_i d_i + h (d_i + n_i)");
    layer_term(e, kind, "indexer", &index, "w", bytes);
    add_text(&ssm, s->kind != LLMPERF_SSM_NONE, "h ($ssm_in) + $inner h");
    add_text(&ssm, s->kind == LLMPERF_SSM_MAMBA, "$inner (r_dt + 2 r_s) + r_dt $inner");
    add_text(&ssm, s->kind == LLMPERF_SSM_KDA, "d_s $inner");
    layer_term(e, kind, "state space", &ssm, "$w_s", bytes);
}

static void ffn_terms(explainer *e, int kind, bool bytes)
{
    const llmperf_layer *layer = &e->c->model->layers[kind];
    const llmperf_moe *m = &layer->moe;
    bool moe = m->experts > 0;
    text_sum mlp = {.used = 0}, experts = {.used = 0}, shared = {.used = 0}, router = {.used = 0};
    add_text(&mlp, layer->mlp.ffn > 0, layer->mlp.gated ? "3 h $F" : "2 h $F");
    layer_term(e, kind, "FFN", &mlp, "$w_f", bytes);
    add_text(&experts, moe, m->gated ? "3 E $width_x $F_x" : "2 E $width_x $F_x");
    layer_term(e, kind, "experts", &experts, "$w_x", bytes);
    add_text(&shared, moe && m->shared_ffn > 0, m->gated ? "3 h $F_s" : "2 h $F_s");
    add_text(&shared, moe && m->latent > 0, "2 h l_x");
    add_text(&shared, moe && m->shared_gate, "h");
    layer_term(e, kind, "shared experts", &shared, "$w_y", bytes);
    add_text(&router, moe, "h E");
    layer_term(e, kind, "router", &router, "$w_r", bytes);
}

/* Norms, biases and what else is a vector. */
static void vector_terms(explainer *e, int kind, bool bytes)
{
    const llmperf_layer *layer = &e->c->model->layers[kind];
    const llmperf_attention *a = &layer->attention;
    const llmperf_mla *m = &layer->mla;
    const llmperf_ssm *s = &layer->ssm;
    const llmperf_moe *x = &layer->moe;
    bool attends = a->heads > 0, ssm = s->kind != LLMPERF_SSM_NONE, moe = x->experts > 0;
    bool indexed = layer->index.top_k > 0 && !layer->index.shared && layer->index.heads > 0 &&
                   (attends || m->heads > 0);
    char norms[64];
    text_sum sum = {.used = 0}, more = {.used = 0};
    put_text(norms, sizeof norms, "%lld $norm_weights h", (long long)layer->norms);
    add_text(&sum, layer->norms > 0, norms);
    add_text(&sum, attends && a->qkv_bias, "$N $d_k + $own $N_kv ($d_k + $d_v)");
    add_text(&sum, attends && a->out_bias, "h");
    add_text(&sum, attends && a->sinks, "$N");
    add_text(&sum, attends && a->qk_norm == LLMPERF_QK_NORM_HEAD, "2 $d_k");
    add_text(&sum,
             attends && a->qk_norm != LLMPERF_QK_NORM_NONE && a->qk_norm != LLMPERF_QK_NORM_HEAD,
             "($N + $own $N_kv) $d_k");
    add_text(&sum, m->heads > 0, m->q_rank > 0 ? "r_q + r_kv" : "r_kv");
    add_text(&sum, indexed, "2 d_i");
    add_text(&sum, layer->mlp.ffn > 0 && layer->mlp.up_bias, layer->mlp.gated ? "2 $F" : "$F");
    add_text(&sum, layer->mlp.ffn > 0 && layer->mlp.down_bias, "h");
    add_text(&sum, moe && x->router_bias, "E");
    add_text(&sum, moe && x->expert_bias,
             x->gated ? "E (2 $F_x + $width_x)" : "E ($F_x + $width_x)");
    layer_term(e, kind, "norms and biases", &sum, "$w_n", bytes);

    add_text(&more, ssm, s->conv_bias ? "$ssm_conv (k_s + 1)" : "$ssm_conv k_s");
    add_text(&more, ssm && s->proj_bias, "$ssm_in + h");
    add_text(&more, s->kind == LLMPERF_SSM_MAMBA, "2 $inner + $inner r_s");
    add_text(&more, s->kind == LLMPERF_SSM_MAMBA && s->bc_norm, "r_dt + 2 r_s");
    add_text(&more, s->kind == LLMPERF_SSM_MAMBA2, "3 $N_s + $inner");
    add_text(&more, s->kind == LLMPERF_SSM_DELTA, "2 $N_s + d_s");
    add_text(&more, s->kind == LLMPERF_SSM_KDA, "$N_s + $inner + d_s");
    add_text(&more, s->kind == LLMPERF_SSM_LINEAR, "$inner");
    layer_term(e, kind, "convolution, decay, norms", &more, "$w_n", bytes);
}

static void layer_weight_terms(explainer *e, int kind, bool bytes)
{
    mixer_terms(e, kind, bytes);
    ffn_terms(e, kind, bytes);
    vector_terms(e, kind, bytes);
    e->scope.layer = &e->c->model->layers[0];
}

static void weight_terms(explainer *e, bool bytes)
{
    const llmperf_model *model = e->c->model;
    e->scope.outside = true;
    weight_term(e, "token embeddings", "$V $e", "$w_e", bytes);
    if (model->position_embeddings > 0)
        weight_term(e, "position embeddings", "positions h", "$w_e", bytes);
    if (model->embedding_dim != model->hidden)
        weight_term(e, "embedding projections", "2 e h", "$w_e", bytes);
    e->scope.outside = false;
    for (int i = 0; i < model->layer_kind_count; i++)
        layer_weight_terms(e, i, bytes);
    e->scope.outside = true;
    int norms = model->final_norm + model->embedding_norm;
    if (norms > 0)
        weight_term(e, norms == 2 ? "embedding and final norm" : "final norm",
                    norms == 2 ? "2 $norm_weights h" : "$norm_weights h", "$w_n", bytes);
    if (!model->tied)
        weight_term(e, "LM head", "$V $e", "$w_h", bytes);
    if (model->head_bias)
        weight_term(e, "LM head bias", "$V", "$w_n", bytes);
    e->scope.outside = false;
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

static void name_params(explainer *e, bool active)
{
    llmperf_params params = llmperf_model_params(e->c->model);
    if (active)
        name_field(e, "active", (double)params.active, LLMPERF_UNIT_WEIGHTS, "active parameters",
                   "model.active_params");
    else
        name_field(e, "params", (double)params.total, LLMPERF_UNIT_WEIGHTS, "parameters",
                   "model.params");
}

static void explain_active(explainer *e)
{
    const llmperf_model *model = e->c->model;
    double idle = 0;
    take_whole(e);
    name_params(e, false);
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_moe *m = &model->layers[i].moe;
        char name[64];
        if (m->experts == 0)
            continue;
        set_layer(e, i, "idle experts", name, sizeof name);
        const char *text = m->expert_bias
                               ? m->gated ? "layers (E - K) (3 $width_x f_x + 2 f_x + $width_x)"
                                          : "layers (E - K) (2 $width_x f_x + f_x + $width_x)"
                           : m->gated ? "3 layers (E - K) $width_x f_x"
                                      : "2 layers (E - K) $width_x f_x";
        idle += add_step(e, name, text, LLMPERF_UNIT_WEIGHTS, NAN)->value;
    }
    double value = (double)llmperf_model_params(model).active;
    if (idle == 0) {
        llmperf_note(&e->x->notes, "a token passes every weight of this model");
        fill_result(e, "params", value);
        return;
    }
    name_value(e, "idle", idle, LLMPERF_UNIT_WEIGHTS, "experts that a token does not pass");
    fill_result(e, "params - idle", value);
}

static void explain_mtp(explainer *e)
{
    fill_result(e, "mtp_params", (double)e->c->model->mtp_params);
    llmperf_note(&e->x->notes, "MTP layers are not part of the count");
}

static void explain_active_no_embed(explainer *e)
{
    const llmperf_model *model = e->c->model;
    bool narrow = model->embedding_dim != model->hidden;
    int64_t table = model->vocab * model->embedding_dim;
    double active = (double)llmperf_model_params(model).active;
    take_whole(e);
    name_params(e, true);
    llmperf_note(&e->x->notes, model->tied
                                   ? "the tied table works as the LM head, so it stays in"
                                   : "the token table is left out; learned positions stay in");
    fill_result(e,
                model->tied ? "active"
                : narrow    ? "active - V e"
                            : "active - V h",
                active - (model->tied ? 0 : (double)table));
}

static void explain_active_no_embed_head(explainer *e)
{
    const llmperf_model *model = e->c->model;
    bool narrow = model->embedding_dim != model->hidden;
    llmperf_params params = llmperf_model_params(model);
    int64_t table = model->vocab * model->embedding_dim;
    int64_t head = model->tied ? 0 : params.by_class[LLMPERF_WEIGHT_HEAD];
    take_whole(e);
    name_params(e, true);
    const char *text = model->tied ? narrow ? "active - V e" : "active - V h"
                       : narrow    ? "active - 2 V e"
                                   : "active - 2 V h";
    fill_result(e, text, (double)(params.active - table - head));
}

static void explain_model_weight_bytes(explainer *e)
{
    take_whole(e);
    weight_terms(e, true);
    close_sum(e, llmperf_model_weight_bytes(e->c->model, e->c),
              "sum over the weights, each at the bytes of its class");
}

/* Cache of one layer shape: its formula per token, NULL = none. */
static const char *kv_text(const llmperf_layer *layer)
{
    if (layer->mla.heads > 0)
        return "layers (r_kv + d_r) c";
    if (layer->attention.heads > 0 && !layer->attention.shares_kv)
        return "layers $N_kv ($d_k + $d_v) c";
    return NULL;
}

/* Tokens of a sequence that a layer keeps at most, as a symbol; NULL = all. */
static const char *kept_text(const llmperf_layer *layer)
{
    return layer->attention.chunk > 0 ? "C" : layer->attention.window > 0 ? "W" : NULL;
}

static bool keeps_index(const llmperf_layer *layer)
{
    return layer->index.top_k > 0 && !layer->index.shared && layer->index.dim > 0 &&
           (layer->attention.heads > 0 || layer->mla.heads > 0);
}

static void close_sum_or_zero(explainer *e, double value, const char *rule, const char *why_zero)
{
    if (e->x->term_count > 0) {
        close_sum(e, value, rule);
        return;
    }
    fill_result(e, "0", value);
    llmperf_note(&e->x->notes, "%s", why_zero);
}

static void kv_per_token(explainer *e, bool beyond_windows)
{
    const llmperf_model *model = e->c->model;
    take_whole(e);
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        char name[64];
        if (!kv_text(layer) || (beyond_windows && kept_text(layer)))
            continue;
        set_layer(e, i, "K and V", name, sizeof name);
        add_term(e, name, kv_text(layer), LLMPERF_UNIT_BYTES);
    }
    double value = beyond_windows ? llmperf_kv_bytes_per_token_long(model, e->c->kv_bytes_per)
                                  : llmperf_kv_bytes_per_token(model, e->c->kv_bytes_per);
    close_sum_or_zero(e, value, "sum over the layer shapes",
                      beyond_windows ? "no layer's cache goes on growing"
                                     : "no layer keeps K and V");
}

static void explain_index_per_token(explainer *e)
{
    const llmperf_model *model = e->c->model;
    take_whole(e);
    for (int i = 0; i < model->layer_kind_count; i++) {
        char name[64];
        if (!keeps_index(&model->layers[i]))
            continue;
        set_layer(e, i, "index keys of one byte", name, sizeof name);
        add_term(e, name, "layers d_i", LLMPERF_UNIT_BYTES);
    }
    close_sum_or_zero(e, llmperf_index_bytes_per_token(model), "sum over the layer shapes",
                      "no layer has an indexer");
}

/* States of four bytes and the tails of the convolution of two. */
static void state_terms(explainer *e, const char *sequences)
{
    const llmperf_model *model = e->c->model;
    for (int i = 0; i < model->layer_kind_count; i++) {
        char name[64], text[160];
        if (model->layers[i].ssm.kind == LLMPERF_SSM_NONE)
            continue;
        set_layer(e, i, "states", name, sizeof name);
        bool conv = model->layers[i].ssm.conv > 0;
        put_text(text, sizeof text, "%slayers (4 $inner r_s%s)", sequences,
                 conv ? " + 2 $ssm_conv (k_s - 1)" : "");
        add_term(e, name, text, LLMPERF_UNIT_BYTES);
    }
}

static const char NO_STATE[] = "no layer has a recurrent state";

static void explain_model_state(explainer *e)
{
    take_whole(e);
    state_terms(e, "");
    close_sum_or_zero(e, llmperf_state_bytes_per_sequence(e->c->model), "sum over the layer shapes",
                      NO_STATE);
}

static void explain_state(explainer *e)
{
    state_terms(e, "b ");
    close_sum_or_zero(e, llmperf_state_bytes(e->c, e->c->workload.batch),
                      "sum over the layer shapes", NO_STATE);
}

static void explain_kv_per_token(explainer *e)
{
    kv_per_token(e, false);
}
static void explain_kv_per_token_long(explainer *e)
{
    kv_per_token(e, true);
}

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

static void explain_skew(explainer *e)
{
    fact(e, "skew");
}
static void explain_hidden(explainer *e)
{
    fact(e, "h");
}
static void explain_vocab(explainer *e)
{
    fact(e, "V");
}

/* A fact of the first layer shape that has the part. */
static void shape_fact(explainer *e, int kind, const char *text, double value)
{
    const llmperf_model *model = e->c->model;
    if (kind == model->layer_kind_count) {
        fill_result(e, "0", value);
        llmperf_note(&e->x->notes, "no layer has that part");
        return;
    }
    e->scope.layer = &model->layers[kind];
    fill_result(e, text, value);
    if (model->layer_kind_count > 1)
        llmperf_note(&e->x->notes, "of the first of %d layer shapes that has any",
                     model->layer_kind_count);
}

/* The first layer shape with attention of any kind; the number of shapes when there is none. */
static int first_attention(const llmperf_model *model)
{
    int kind = 0;
    while (kind < model->layer_kind_count && !model->layers[kind].attention.heads &&
           !model->layers[kind].mla.heads)
        kind++;
    return kind;
}

static void attention_fact(explainer *e, const char *text, const char *latent_text)
{
    int kind = first_attention(e->c->model);
    const llmperf_model *model = e->c->model;
    bool latent = kind < model->layer_kind_count && model->layers[kind].attention.heads == 0;
    if (kind < model->layer_kind_count)
        e->scope.layer = &model->layers[kind];
    formula f;
    double value = 0;
    text = latent ? latent_text : text;
    if (kind < model->layer_kind_count && formula_parse(text, NULL, &f))
        formula_evaluate(&f, look_up, e, &value);
    shape_fact(e, kind, text, value);
}

static void explain_heads(explainer *e)
{
    attention_fact(e, "n", "n");
}
static void explain_kv_heads(explainer *e)
{
    attention_fact(e, "n_kv", "n");
}
static void explain_head_dim(explainer *e)
{
    attention_fact(e, "d", "d_n + d_r");
}

static void explain_ffn(explainer *e)
{
    const llmperf_model *model = e->c->model;
    int kind = 0;
    while (kind < model->layer_kind_count && !model->layers[kind].mlp.ffn)
        kind++;
    shape_fact(e, kind, "f",
               kind < model->layer_kind_count ? (double)model->layers[kind].mlp.ffn : 0);
}

/* The first layer shape with experts; false when there is none, which is then said. */
static bool find_experts(explainer *e)
{
    const llmperf_model *model = e->c->model;
    for (int i = 0; i < model->layer_kind_count; i++)
        if (model->layers[i].moe.experts > 0) {
            e->scope.layer = &model->layers[i];
            return true;
        }
    fill_none(e, "no layer has experts");
    return false;
}

static void explain_experts(explainer *e)
{
    if (find_experts(e))
        fact(e, "E");
}

static void explain_active_experts(explainer *e)
{
    if (find_experts(e))
        fact(e, "K");
}

static void explain_experts_read(explainer *e)
{
    if (!find_experts(e))
        return;
    const llmperf_moe *moe = &e->scope.layer->moe;
    double skew = e->c->workload.moe_skew;
    double tokens = (double)e->c->workload.batch * (double)e->c->workload.query;
    double value = llmperf_distinct_experts(moe, tokens, skew);
    if (skew > 0 && moe->active < moe->experts) {
        fill_rule(e, value,
                  "sum over the experts of 1 - (1 - q_i)^(b q), with q_i = min(1, z i^-skew) the "
                  "chance that a token picks expert i, z such that they add up to K");
        list_input("E", e);
        list_input("K", e);
        list_input("b", e);
        list_input("q", e);
        list_input("skew", e);
        return;
    }
    fill_result(e, moe->active >= moe->experts ? "E" : "E (1 - (1 - K / E)^(b q))", value);
    llmperf_note(&e->x->notes, "expected distinct experts that a decode step touches in a layer, "
                               "routing uniform");
}

static void explain_max_context(explainer *e)
{
    if (e->c->model->max_context > 0)
        fact(e, "max_context");
    else
        fill_none(e, "the model's file does not say it");
}

/* ---- workload -------------------------------------------------------------------------------- */

static void explain_batch(explainer *e)
{
    fact(e, "b");
}
static void explain_prompt(explainer *e)
{
    fact(e, "s");
}
static void explain_generate(explainer *e)
{
    fact(e, "g");
}
static void explain_cached(explainer *e)
{
    fact(e, "cached");
}
static void explain_chunk(explainer *e)
{
    fact(e, "chunk");
}
static void explain_query(explainer *e)
{
    fact(e, "q");
}
static void explain_tp(explainer *e)
{
    fact(e, "tp");
}
static void explain_block(explainer *e)
{
    fact(e, "block");
}
static void explain_utilization(explainer *e)
{
    fact(e, "utilization");
}
static void explain_reserve(explainer *e)
{
    fact(e, "reserve");
}
static void explain_confidence(explainer *e)
{
    fact(e, "confidence");
}

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

/* ---- memory ---------------------------------------------------------------------------------- */

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
        const llmperf_layer *layer = &model->layers[i];
        char name[64], text[256];
        const char *most = kept_text(layer);
        if (kv_text(layer)) {
            put_text(text, sizeof text,
                     most ? "b min(%s, block ceil((s + g) / block)) %s"
                          : "%sb block ceil((s + g) / block) %s",
                     most ? most : "", kv_text(layer));
            set_layer(e, i, layer->mla.heads > 0 ? "latents" : "K and V", name, sizeof name);
            add_term(e, name, text, LLMPERF_UNIT_BYTES);
        }
        if (keeps_index(layer)) {
            set_layer(e, i, "index keys of one byte", name, sizeof name);
            add_term(e, name, "b block ceil((s + g) / block) layers d_i", LLMPERF_UNIT_BYTES);
        }
    }
    close_sum_or_zero(e, llmperf_kv_bytes(e->c, w->batch, w->prompt + w->generate),
                      "sum over the layer shapes, each cache in whole blocks and at most a window "
                      "or chunk long",
                      "no layer keeps K and V");
}

static void explain_activation_bytes(explainer *e)
{
    const llmperf_model *model = e->c->model;
    const llmperf_workload *w = &e->c->workload;
    double widest = -1;
    const char *text = "0";
    for (int i = 0; i < model->layer_kind_count; i++) {
        const llmperf_layer *layer = &model->layers[i];
        const llmperf_attention *a = &layer->attention;
        const struct {
            const char *text;
            int64_t value;
        } tensors[] = {
            {"(n + 2 n_kv) d", (a->heads + 2 * a->kv_heads) * a->head_dim},
            {"n (d_n + d_r)", layer->mla.heads * (layer->mla.nope_dim + layer->mla.rope_dim)},
            {"2 n_s d_s", 2 * layer->ssm.heads * layer->ssm.head_dim},
            {"2 f", 2 * layer->mlp.ffn},
            {"2 (f_x K + f_s)", 2 * (layer->moe.ffn * layer->moe.active + layer->moe.shared_ffn)},
        };
        for (size_t k = 0; k < sizeof tensors / sizeof *tensors; k++)
            if ((double)tensors[k].value > widest) {
                widest = (double)tensors[k].value;
                text = tensors[k].text;
                e->scope.layer = layer;
            }
    }
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

static void list_memory(explainer *e)
{
    name_memory(e);
    name_capacity(e);
    list_input("weights", e);
    list_input("reserved", e);
    list_input("capacity", e);
}

static double bytes_at(const explainer *e, int64_t batch, int64_t prompt, int64_t tokens)
{
    const llmperf_memory *m = &e->p->memory;
    return m->weight_bytes + m->reserved_bytes + llmperf_kv_bytes(e->c, batch, tokens) +
           llmperf_state_bytes(e->c, batch) + llmperf_activation_bytes(e->c, batch, prompt);
}

static void explain_max_batch(explainer *e)
{
    const llmperf_workload *w = &e->c->workload;
    const llmperf_memory *m = &e->p->memory;
    fill_rule(
        e, (double)m->max_batch,
        "the largest b with weights + reserved + kv(b) + state(b) + activation(b) <= capacity, "
        "found by bisection");
    for (int64_t b = m->max_batch; b <= m->max_batch + 1; b++) {
        char name[64];
        put_text(name, sizeof name, "free at batch %lld", (long long)b);
        if (b > 0)
            add_step(e, name, NULL, LLMPERF_UNIT_BYTES,
                     m->capacity_bytes - bytes_at(e, b, w->prompt, w->prompt + w->generate));
    }
    list_memory(e);
}

static void explain_max_context_tokens(explainer *e)
{
    const llmperf_workload *w = &e->c->workload;
    int64_t most = e->p->memory.max_context_tokens;
    fill_rule(e, (double)most,
              "the longest sequence, generated tokens included, with weights + reserved + kv + "
              "state + activation <= capacity at this batch, found by bisection");
    for (int64_t tokens = most; tokens <= most + 1; tokens++) {
        char name[64];
        int64_t prompt = tokens > w->generate ? tokens - w->generate : 1;
        put_text(name, sizeof name, "free at %lld tokens", (long long)tokens);
        if (tokens > 0)
            add_step(e, name, NULL, LLMPERF_UNIT_BYTES,
                     e->p->memory.capacity_bytes - bytes_at(e, w->batch, prompt, tokens));
    }
    list_memory(e);
    list_input("b", e);
}

/* ---- sums over operators --------------------------------------------------------------------- */

typedef enum summand { SUM_TIME, SUM_FLOP, SUM_BYTES } summand;

/* Totals by operator name; `each` is one launch's while all launches are alike. */
typedef struct op_sums {
    explainer *e;
    summand what;
    double total[LLMPERF_OP_COUNT], launches[LLMPERF_OP_COUNT], each[LLMPERF_OP_COUNT];
    bool mixed[LLMPERF_OP_COUNT];
    double host_s, steps, sequences; /* of an engine profile; sequences summed over the steps */
} op_sums;

static void sum_host(op_sums *s, const llmperf_segment *segments, int segment_count, double times,
                     double ops_s, double launch_s)
{
    s->host_s += times * host_time(s->e->c, segments, segment_count, ops_s, launch_s);
    s->steps += times;
    for (int i = 0; i < segment_count; i++)
        s->sequences += times * (double)segments[i].sequences;
}

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
    double ops_s = 0, launch_s = 0;
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        llmperf_time time = {0};
        double each = s->what == SUM_FLOP    ? op->flop
                      : s->what == SUM_BYTES ? op->bytes
                                             : llmperf_time_op(op, c->hw, c->calib, &time, NULL);
        double launches = op->repeat * times;
        ops_s += op->repeat * time.time_s;
        if (op->kind != LLMPERF_KIND_COLLECTIVE)
            launch_s += op->repeat * time.launch_s;
        s->mixed[op->id] |= s->launches[op->id] > 0 && s->each[op->id] != each;
        s->each[op->id] = each;
        s->launches[op->id] += launches;
        s->total[op->id] += launches * each;
    }
    if (s->what == SUM_TIME)
        sum_host(s, segments, segment_count, times, ops_s, launch_s);
    free(ops);
}

/* What the engine's host adds, as a term of its own. */
static void host_term(op_sums *s)
{
    const llmperf_calib *calib = s->e->c->calib;
    char steps[LLMPERF_DOUBLE_TEXT_MAX], step[LLMPERF_DOUBLE_TEXT_MAX];
    char layers[LLMPERF_DOUBLE_TEXT_MAX], layer[LLMPERF_DOUBLE_TEXT_MAX];
    char sequences[LLMPERF_DOUBLE_TEXT_MAX], sequence[LLMPERF_DOUBLE_TEXT_MAX];
    if (!calib || !(s->host_s > 0))
        return;
    const llmperf_host *host = &calib->host;
    double layer_count = (double)llmperf_model_layers(s->e->c->model);
    llmperf_explain_line *term = &s->e->x->terms[s->e->x->term_count++];
    fill_line(s->e, term, "host", NULL, LLMPERF_UNIT_S, s->host_s);
    llmperf_note(&s->e->x->notes,
                 "host: what %s takes beside the operators, per step, per layer "
                 "and per sequence (engine profile, docs/engines.md)",
                 host->engine);
    double plain =
        s->steps * (host->step_s + host->layer_s * layer_count) + host->sequence_s * s->sequences;
    if (!(fabs(plain / s->host_s - 1) < 1e-9)) /* launches counted by the operators' fits */
        return;
    put_text(term->formula, sizeof term->formula,
             "steps (step_s + layers layer_s) + sequences sequence_s");
    put_text(term->numbers, sizeof term->numbers, "%s * (%s + %s * %s) + %s * %s",
             llmperf_format_double(s->steps, steps), llmperf_format_double(host->step_s, step),
             llmperf_format_double(layer_count, layers),
             llmperf_format_double(host->layer_s, layer),
             llmperf_format_double(s->sequences, sequences),
             llmperf_format_double(host->sequence_s, sequence));
    term->evaluated = plain;
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
        fill_line(s->e, term, llmperf_op_name((llmperf_op_id)i), NULL, units[s->what], s->total[i]);
        if (s->mixed[i])
            continue;
        put_text(term->formula, sizeof term->formula, "%s", formulas[s->what]);
        put_text(term->numbers, sizeof term->numbers, "%s * %s",
                 llmperf_format_double(s->launches[i], launches),
                 llmperf_format_double(s->each[i], each));
        term->evaluated = s->launches[i] * s->each[i];
    }
    host_term(s);
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

/* ---- times and rates ------------------------------------------------------------------------- */

static const char SPREAD_SOURCE[] =
    "95th percentile of measured / roofline in published data; docs/model.md, Bounds";

static void name_spread(explainer *e, const char *symbol, llmperf_spread_class spread)
{
    name_constant(e, symbol, llmperf_spread(spread), "slow engines over the bound", SPREAD_SOURCE);
}

static bool is_bound(const explainer *e)
{
    return !e->c->calib;
}

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
    fill_result(e,
                !far_end ? "value"
                : rate   ? "value / spread"
                         : "value spread",
                part_of(e, estimate));
    return true;
}

static void explain_prefill_time(explainer *e)
{
    if (!explain_end(e, e->p->prefill.time_s, false, LLMPERF_SPREAD_PREFILL_STEP, "prefill.time_s"))
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
    share(e, "weight GEMMs, without launch", e->p->decode.total.group_s[LLMPERF_GROUP_DENSE],
          e->p->share.dense);
}
static void explain_share_attention(explainer *e)
{
    share(e, "attention, without launch", e->p->decode.total.group_s[LLMPERF_GROUP_ATTENTION],
          e->p->share.attention);
}
static void explain_share_other(explainer *e)
{
    share(e, "norms and the like, without launch", e->p->decode.total.group_s[LLMPERF_GROUP_OTHER],
          e->p->share.other);
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
    if (e->c->calib && e->c->calib->host.engine[0]) {
        share(e, "host of the engine, beside the operators", e->p->decode.total.host_s,
              e->p->share.host);
        return;
    }
    fill_result(e, "0", e->p->share.host);
    llmperf_note(&e->x->notes, "host time is part of an engine profile (--engine); there is none "
                               "here");
}

/* ---- compute-bound batch --------------------------------------------------------------------- */

/* Peak and bandwidth that an operator reaches: the datasheet's, or the calibration's at most. */
static void reached(const explainer *e, const llmperf_op *op, bool calibrated, double *ret_peak,
                    double *ret_bandwidth)
{
    reached_rates(op, e->c->hw, calibrated ? e->c->calib : NULL, ret_peak, ret_bandwidth);
}

/* What does not depend on how the batch was found: none, or an end of a calibration's interval. */
static bool put_crossing_end(explainer *e, const llmperf_crossing *crossing, bool calibrated)
{
    if (!crossing->exists) {
        fill_none(e, crossing->why);
        return true;
    }
    if (!calibrated || (e->part != PART_LOW && e->part != PART_HIGH))
        return false;
    if (e->part == PART_HIGH && crossing->high == 0)
        fill_none(e, "within the calibration's interval there may be no such batch");
    else
        fill_rule(e, (double)(e->part == PART_LOW ? crossing->low : crossing->high),
                  "the same batch with the fits' ratio of compute to memory efficiency at an end "
                  "of its interval");
    return true;
}

static void put_crossing(explainer *e, const char *text, const llmperf_crossing *crossing,
                         bool calibrated)
{
    if (put_crossing_end(e, crossing, calibrated))
        return;
    if (e->part == PART_EXACT) {
        fill_result(e, text, crossing->exact);
        return;
    }
    e->x->rounded_up = true;
    fill_result(e, text, (double)crossing->batch);
}

/* Sums of compute and memory time over the operators of a decode step. */
typedef struct step_terms {
    double compute, memory;
} step_terms;

static step_terms terms_at(explainer *e, int64_t batch, bool calibrated, bool dense)
{
    const llmperf_case *c = e->c;
    step_terms sum = {0, 0};
    llmperf_op *ops = malloc(sizeof *ops * (size_t)llmperf_emit_capacity(c));
    if (!ops) {
        e->out_of_memory = true;
        return sum;
    }
    llmperf_segment segment = llmperf_decode_segment(c, batch, c->workload.context);
    int count = llmperf_emit(c, &segment, 1, ops);
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        double peak, bandwidth;
        if (op->kind == LLMPERF_KIND_COLLECTIVE || (dense && op->group != LLMPERF_GROUP_DENSE))
            continue;
        reached(e, op, calibrated, &peak, &bandwidth);
        sum.compute += op->repeat * op->flop / peak;
        sum.memory += op->repeat * op->bytes / bandwidth;
    }
    free(ops);
    return sum;
}

static bool has_experts(const llmperf_model *model)
{
    for (int i = 0; i < model->layer_kind_count; i++)
        if (model->layers[i].moe.experts > 0)
            return true;
    return false;
}

/* With experts the sums are not affine: the batch is searched. */
static void searched_crossing(explainer *e, const llmperf_crossing *crossing, bool calibrated,
                              bool dense)
{
    if (put_crossing_end(e, crossing, calibrated))
        return;
    fill_rule(e, e->part == PART_EXACT ? crossing->exact : (double)crossing->batch,
              "the smallest batch at which the sum of flop / peak is at least the sum of bytes / "
              "bandwidth, by bisection: experts' bytes are not linear in the batch");
    for (int64_t b = crossing->batch - 1; b <= crossing->batch; b++) {
        char name[64];
        if (b < 1)
            continue;
        step_terms sum = terms_at(e, b, calibrated, dense);
        put_text(name, sizeof name, "compute at %lld", (long long)b);
        add_step(e, name, NULL, LLMPERF_UNIT_S, sum.compute);
        add_step(e, "less memory time", NULL, LLMPERF_UNIT_S, sum.compute - sum.memory);
    }
}

/* Sums over operators are affine in the batch, fixed + b each: two batches give both. */
static void sum_crossing(explainer *e, const llmperf_crossings *crossings, bool calibrated,
                         bool dense)
{
    const llmperf_crossing *crossing = dense ? &crossings->dense : &crossings->step;
    if (!dense)
        llmperf_note(&e->x->notes, "at %lld tokens of context", (long long)e->c->workload.context);
    if (calibrated)
        llmperf_note(&e->x->notes, "peak and bandwidth as the calibration says they are reached");
    if (has_experts(e->c->model)) {
        searched_crossing(e, crossing, calibrated, dense);
        return;
    }
    step_terms one = terms_at(e, 1, calibrated, dense), two = terms_at(e, 2, calibrated, dense);
    const struct {
        const char *name, *meaning;
        double value;
    } parts[] = {
        {"compute_each", "compute time that a sequence adds", two.compute - one.compute},
        {"memory_each", "memory time that a sequence adds", two.memory - one.memory},
        {"compute_fixed", "compute time without sequences", 2 * one.compute - two.compute},
        {"memory_fixed", "memory time without sequences: the weights", 2 * one.memory - two.memory},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        put_text(
            name_value(e, parts[i].name, parts[i].value, LLMPERF_UNIT_S, parts[i].meaning)->source,
            LLMPERF_TEXT_MAX, "sum of %s over the operators of a decode step at batch 1 and 2",
            i % 2 ? "bytes / bandwidth" : "flop / peak");
    bool at_once = crossing->exists && crossing->exact == 0; /* from the first sequence on */
    put_crossing(e,
                 at_once ? "max(0, (memory_fixed - compute_fixed) / (compute_each - memory_each))"
                         : "(memory_fixed - compute_fixed) / (compute_each - memory_each)",
                 crossing, calibrated);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !crossing->exists; i++)
        list_input(parts[i].name, e);
}

static void explain_dense(explainer *e)
{
    sum_crossing(e, &e->p->datasheet, false, true);
}
static void explain_step(explainer *e)
{
    sum_crossing(e, &e->p->datasheet, false, false);
}

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

/* The class of an operator's weights, as the symbol of their bytes. */
static const char *weight_symbol(llmperf_op_id id)
{
    static const struct {
        const char *start, *symbol;
    } CLASSES[] = {{"mlp.", "w_f"},        {"moe.shared", "w_y"}, {"moe.latent", "w_y"},
                   {"moe.experts", "w_x"}, {"ssm.", "w_s"},       {"lm_head.project", "w_e"},
                   {"embed", "w_e"},       {"lm_head", "w_h"}};
    const char *name = llmperf_op_name(id);
    for (size_t i = 0; i < sizeof CLASSES / sizeof *CLASSES; i++)
        if (begins_with(name, CLASSES[i].start))
            return CLASSES[i].symbol;
    return "w";
}

/* The operator of a decode step at batch 1 that a crossing is about, and its layer shape. */
static bool find_dense(explainer *e, const llmperf_op_crossing *one, llmperf_op *ret_op)
{
    op_formulas *rows = malloc(OP_FORMULAS_MAX * sizeof *rows);
    bool found = false;
    llmperf_case *single = malloc(sizeof *single);
    if (rows && single) {
        *single = *e->c;
        single->workload.batch = 1;
        for (int i = 0; i < e->c->model->layer_kind_count; i++) {
            int count = symbolic_ops(single, true, i, rows);
            for (int k = 0; k < count; k++) {
                const llmperf_op *op = &rows[k].op;
                /* layers may hold the matrix in several formats: that of most of them counts */
                if (op->id != one->id || op->n != one->n || op->k != one->k ||
                    (found && op->repeat <= ret_op->repeat))
                    continue;
                found = true;
                *ret_op = *op;
                e->scope.layer = &e->c->model->layers[i];
            }
        }
    } else {
        e->out_of_memory = true;
    }
    free(single);
    free(rows);
    return found;
}

/* Why there is no such batch. */
static void add_row_bytes(explainer *e)
{
    add_step(e, "bytes of a row", "a (n + k)", LLMPERF_UNIT_BYTES, NAN);
    add_step(e, "bytes its compute hides", "2 n k / R", LLMPERF_UNIT_BYTES, NAN);
}

/* Experts: the batch that brings as many rows to each expert that is touched. */
static void explain_expert_crossing(explainer *e, const llmperf_crossing *crossing, bool calibrated)
{
    const llmperf_workload *w = &e->c->workload;
    if (put_crossing_end(e, crossing, calibrated)) {
        if (!crossing->exists)
            add_row_bytes(e);
        return;
    }
    add_step(e, "rows an expert needs", "w n k / (2 n k / R - a (n + k))", LLMPERF_UNIT_COUNT, NAN);
    if (!find_experts(e)) /* the engine's rows are those of the first shape with experts */
        return;
    fill_rule(e, e->part == PART_EXACT ? crossing->exact : (double)crossing->batch,
              "the smallest batch b at which each expert that is touched gets that many rows: "
              "b q K / X(b q), X the expected distinct experts; by bisection");
    const llmperf_moe *moe = &e->scope.layer->moe;
    for (int64_t b = crossing->batch - 1; b <= crossing->batch; b++) {
        char name[64];
        double tokens = (double)b * (double)w->query;
        put_text(name, sizeof name, "rows at batch %lld", (long long)b);
        if (b > 0)
            add_step(e, name, NULL, LLMPERF_UNIT_COUNT,
                     tokens * (double)moe->active /
                         llmperf_distinct_experts(moe, tokens, w->moe_skew));
    }
}

/* One dense operator: the closed form in its own m, n, k. */
static void explain_op_crossing(explainer *e, const llmperf_op_crossing *one, bool calibrated)
{
    llmperf_op_id id = (llmperf_op_id)one->id;
    const char *op_name = llmperf_op_name(id);
    char meaning[96], field[96];
    llmperf_op op;
    double peak, bandwidth;
    if (!find_dense(e, one, &op)) {
        fill_none(e, "the operator is not in a decode step at batch 1");
        return;
    }
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
    reached(e, &op, calibrated, &peak, &bandwidth);
    if (calibrated) {
        name_value(e, "P", peak, LLMPERF_UNIT_FLOP_PER_S, "peak that the calibration reaches");
        name_value(e, "BW", bandwidth, LLMPERF_UNIT_BYTES_PER_S,
                   "bandwidth that the calibration reaches");
    } else {
        name_peak(e, (llmperf_dtype)op.dtype);
        name_bandwidth(e);
    }
    add_named_step(e, "R", "ridge point", "P / BW", LLMPERF_UNIT_FLOP_PER_BYTE);
    if (strcmp(weight_symbol(id), "w_x") == 0) {
        explain_expert_crossing(e, &one->crossing, calibrated);
        return;
    }
    put_crossing(e,
                 e->c->workload.query > 1 ? "w n k / (2 n k / R - a (n + k)) / q"
                                          : "w n k / (2 n k / R - a (n + k))",
                 &one->crossing, calibrated);
    if (!one->crossing.exists)
        add_row_bytes(e);
}

static void explain_memory_limit(explainer *e)
{
    name_field(e, "max_batch", (double)e->p->memory.max_batch, LLMPERF_UNIT_SEQUENCES,
               "largest batch that memory holds", "memory.max_batch");
    fill_result(e, "max_batch", (double)e->p->memory.max_batch);
}

/* ---- batching, targets, cost ----------------------------------------------------------------- */

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
    llmperf_note(&e->x->notes,
                 "at batch 1 nothing is batched yet: what memory would hold is taken");
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
    put_text(name_value(e, attention_symbol, total.group_s[LLMPERF_GROUP_ATTENTION], LLMPERF_UNIT_S,
                        meaning)
                 ->source,
             LLMPERF_TEXT_MAX, "sum over its operators");
}

static void batching_taken(explainer *e, int64_t context, double value)
{
    int64_t batch = e->p->batching.batch;
    if (batch <= 1 || value == 0) {
        fill_result(e, "0", value);
        llmperf_note(&e->x->notes,
                     batch <= 1 ? "no batch above 1 fits" : "attention takes nothing of the gain");
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

/* ---- the table ------------------------------------------------------------------------------- */

#define MODEL_ROW(name, text, unit, function)                                                      \
    {                                                                                              \
        "model." name, text, LLMPERF_UNIT_##unit, FIELD_PLAIN, false, function                     \
    }
#define WORKLOAD_ROW(name, text, unit, function)                                                   \
    {                                                                                              \
        "workload." name, text, LLMPERF_UNIT_##unit, FIELD_PLAIN, false, function                  \
    }
#define ROW(name, text, unit, function)                                                            \
    {                                                                                              \
        name, text, LLMPERF_UNIT_##unit, FIELD_PLAIN, true, function                               \
    }
#define TIME_ROW(name, text, function)                                                             \
    {                                                                                              \
        name, text, LLMPERF_UNIT_S, FIELD_TIME, true, function                                     \
    }
#define RATE_ROW(name, text, function)                                                             \
    {                                                                                              \
        name, text, LLMPERF_UNIT_TOKENS_PER_S, FIELD_RATE, true, function                          \
    }
#define CROSSING_ROW(name, text, function)                                                         \
    {                                                                                              \
        "compute_bound_batch." name, text, LLMPERF_UNIT_SEQUENCES, FIELD_CROSSING, true, function  \
    }

static const field_row FIELDS[] = {
    MODEL_ROW("params", "parameters, without MTP layers", WEIGHTS, explain_params),
    MODEL_ROW("mtp_params", "parameters of MTP layers", WEIGHTS, explain_mtp),
    MODEL_ROW("active_params", "parameters that a token passes", WEIGHTS, explain_active),
    MODEL_ROW("active_params_no_embed", "active parameters without the token table", WEIGHTS,
              explain_active_no_embed),
    MODEL_ROW("active_params_no_embed_head", "active parameters without embedding and LM head",
              WEIGHTS, explain_active_no_embed_head),
    MODEL_ROW("weight_bytes", "all weights of the model", BYTES, explain_model_weight_bytes),
    MODEL_ROW("kv_bytes_per_token", "KV cache of one more token, below every window", BYTES,
              explain_kv_per_token),
    MODEL_ROW("kv_bytes_per_token_long", "KV cache of one more token, beyond all windows", BYTES,
              explain_kv_per_token_long),
    MODEL_ROW("index_bytes_per_token", "index keys of sparse attention, one more token", BYTES,
              explain_index_per_token),
    MODEL_ROW("state_bytes", "recurrent state of a sequence", BYTES, explain_model_state),
    MODEL_ROW("layers", "layers of all shapes", COUNT, explain_layers),
    MODEL_ROW("hidden", "hidden size h", COUNT, explain_hidden),
    MODEL_ROW("heads", "attention heads n", COUNT, explain_heads),
    MODEL_ROW("kv_heads", "KV heads n_kv", COUNT, explain_kv_heads),
    MODEL_ROW("head_dim", "head size d", COUNT, explain_head_dim),
    MODEL_ROW("ffn", "FFN width f", COUNT, explain_ffn),
    MODEL_ROW("experts", "experts E", COUNT, explain_experts),
    MODEL_ROW("active_experts", "experts K that a token passes", COUNT, explain_active_experts),
    MODEL_ROW("vocab", "vocabulary V", COUNT, explain_vocab),
    MODEL_ROW("max_context", "trained context", TOKENS, explain_max_context),

    WORKLOAD_ROW("batch", "sequences decoded together", SEQUENCES, explain_batch),
    WORKLOAD_ROW("prompt_tokens", "prompt of each sequence", TOKENS, explain_prompt),
    WORKLOAD_ROW("generate_tokens", "new tokens of each sequence", TOKENS, explain_generate),
    WORKLOAD_ROW("cached_tokens", "prompt tokens that a prefix cache holds", TOKENS,
                 explain_cached),
    WORKLOAD_ROW("context_tokens", "tokens cached when a decode step starts", TOKENS,
                 explain_context),
    WORKLOAD_ROW("chunk_tokens", "most prefill tokens in a step", TOKENS, explain_chunk),
    WORKLOAD_ROW("query_tokens", "query tokens of a sequence in a decode step", TOKENS,
                 explain_query),
    WORKLOAD_ROW("moe_skew", "power law of the routing", NONE, explain_skew),
    WORKLOAD_ROW("tp", "tensor-parallel devices", COUNT, explain_tp),
    WORKLOAD_ROW("memory_utilization_frac", "engine's share of usable memory", FRACTION,
                 explain_utilization),
    WORKLOAD_ROW("reserve_bytes", "memory of context and libraries", BYTES, explain_reserve),
    WORKLOAD_ROW("kv_block_tokens", "tokens of a KV cache block", TOKENS, explain_block),
    WORKLOAD_ROW("confidence_frac", "coverage of intervals", FRACTION, explain_confidence),
    WORKLOAD_ROW("tpot_target_s", "target time per output token", S, explain_tpot_target),
    WORKLOAD_ROW("ttft_target_s", "target time to first token", S, explain_ttft_target),
    WORKLOAD_ROW("price_usd_per_h", "price of one device, as given", USD_PER_H, explain_price),

    ROW("memory.weight_bytes", "weights on one device", BYTES, explain_weight_bytes),
    ROW("memory.kv_bytes", "KV cache of all sequences at full length, on one device", BYTES,
        explain_kv_bytes),
    ROW("memory.state_bytes", "recurrent state of all sequences", BYTES, explain_state),
    ROW("memory.activation_bytes", "tensors of the largest step, on one device", BYTES,
        explain_activation_bytes),
    ROW("memory.reserved_bytes", "memory kept free on one device", BYTES, explain_reserved),
    ROW("memory.total_bytes", "memory asked for on one device", BYTES, explain_total),
    ROW("memory.capacity_bytes", "usable memory of one device", BYTES, explain_capacity),
    ROW("memory.max_batch", "largest batch that fits", SEQUENCES, explain_max_batch),
    ROW("memory.max_context_tokens", "longest sequence that fits at this batch", TOKENS,
        explain_max_context_tokens),

    TIME_ROW("prefill.time_s", "prefill of all prompts", explain_prefill_time),
    ROW("prefill.flop", "FLOP of the whole prefill, on one device", FLOP, explain_prefill_flop),
    ROW("prefill.bytes", "bytes that the whole prefill moves, on one device", BYTES,
        explain_prefill_bytes),
    RATE_ROW("prefill.tokens_per_s", "prompt tokens per second", explain_prefill_rate),
    ROW("prefill.steps", "steps of the prefill", COUNT, explain_steps),

    TIME_ROW("decode.time_s", "one decode step at mean context", explain_decode_time),
    ROW("decode.flop", "FLOP of a decode step, on one device", FLOP, explain_decode_flop),
    ROW("decode.bytes", "bytes that a decode step moves, on one device", BYTES,
        explain_decode_bytes),
    RATE_ROW("decode.tokens_per_s", "output tokens per second of all sequences",
             explain_decode_rate),
    RATE_ROW("decode.tokens_per_s_per_seq", "output tokens per second of one sequence",
             explain_rate_per_seq),
    ROW("decode.share.dense", "weight GEMMs' share of a decode step", FRACTION,
        explain_share_dense),
    ROW("decode.share.attention", "attention's share of a decode step", FRACTION,
        explain_share_attention),
    ROW("decode.share.other", "share of norms and the like", FRACTION, explain_share_other),
    ROW("decode.share.launch", "share of launches", FRACTION, explain_share_launch),
    ROW("decode.share.link", "share of communication", FRACTION, explain_share_link),
    ROW("decode.share.host", "share of the host", FRACTION, explain_share_host),

    TIME_ROW("ttft_s", "time to first token: one prompt on an idle server", explain_ttft),
    TIME_ROW("ttft_batch_s", "time until all prompts have their first token", explain_ttft_batch),
    TIME_ROW("tpot_s", "time per output token", explain_tpot),
    TIME_ROW("e2e_s", "time of a whole request", explain_e2e),

    CROSSING_ROW("datasheet.dense", "batch from which on the dense layers are compute-bound",
                 explain_dense),
    CROSSING_ROW("datasheet.step", "batch from which on the whole step is compute-bound",
                 explain_step),
    /* the operators' rows are found by name; the table lists them once */
    CROSSING_ROW("datasheet.per_op.*", "batch from which on a dense operator is compute-bound",
                 NULL),
    CROSSING_ROW("calibrated.dense", "the same with what the calibration reaches",
                 explain_dense_calibrated),
    CROSSING_ROW("calibrated.step", "the same with what the calibration reaches",
                 explain_step_calibrated),
    CROSSING_ROW("calibrated.per_op.*", "the same with what the calibration reaches", NULL),
    ROW("compute_bound_batch.memory_limit", "largest batch that memory holds", SEQUENCES,
        explain_memory_limit),
    ROW("latency_knee_batch", "batch at which TPOT has risen by 10 %", SEQUENCES, explain_knee),
    ROW("experts_read_per_layer", "distinct experts that a decode step touches", COUNT,
        explain_experts_read),
    ROW("batching.batch", "batch at which attention's toll is taken", SEQUENCES,
        explain_batching_batch),
    ROW("batching.attention_takes_frac", "what attention takes of batching's gain", FRACTION,
        explain_taken),
    ROW("batching.attention_takes_at_4x_context_frac", "the same at four times the context",
        FRACTION, explain_taken_long),
    ROW("max_batch_at_tpot", "largest batch within the TPOT target", SEQUENCES,
        explain_max_batch_at_tpot),
    ROW("cost_usd_per_mtok", "USD per million output tokens", USD, explain_cost),
    ROW("energy_wh_per_mtok", "energy per million output tokens", WH, explain_energy),
    ROW("would_fit.tp", "smallest tp that would fit", COUNT, explain_fitting_tp),
    ROW("would_fit.context_tokens", "longest sequence that would fit", TOKENS,
        explain_fitting_context),
};

enum { FIELD_COUNT = sizeof FIELDS / sizeof *FIELDS };

int llmperf_explain_field_count(void)
{
    return FIELD_COUNT;
}

llmperf_explain_field llmperf_explain_field_at(int index)
{
    const field_row *row = &FIELDS[index < 0 || index >= FIELD_COUNT ? 0 : index];
    return (llmperf_explain_field){row->path, row->meaning, row->unit, row->needs_hw};
}

/* ---- operators ------------------------------------------------------------------------------- */

static llmperf_unit unit_of_quantity(op_quantity quantity)
{
    switch (quantity) {
    case OP_REPEAT:
    case OP_M:
    case OP_N:
    case OP_K:
        return LLMPERF_UNIT_COUNT;
    case OP_FLOP:
        return LLMPERF_UNIT_FLOP;
    case OP_INTENSITY:
        return LLMPERF_UNIT_FLOP_PER_BYTE;
    default:
        return LLMPERF_UNIT_BYTES;
    }
}

static void name_link(explainer *e, int64_t devices)
{
    const llmperf_hw *hw = e->c->hw;
    const llmperf_link *link = llmperf_hw_link(hw, devices);
    llmperf_hw_field field = link == &hw->link    ? LLMPERF_HW_LINK
                             : link == &hw->nodes ? LLMPERF_HW_NODES
                                                  : LLMPERF_HW_PCIE;
    char meaning[64];
    put_text(meaning, sizeof meaning, "%s bandwidth per direction", link->kind);
    name_hardware(e, "link_bytes_per_s", link->bytes_per_s, LLMPERF_UNIT_BYTES_PER_S, meaning,
                  field);
    put_text(meaning, sizeof meaning, "%s latency", link->kind);
    name_hardware(e, "latency", link->latency_s, LLMPERF_UNIT_S, meaning, field);
    llmperf_explain_input *latency = &e->named[e->named_count - 1];
    if (link->latency_assumed) {
        latency->assumed = true;
        latency->confidence = LLMPERF_CONFIDENCE_NONE;
        put_text(latency->source, sizeof latency->source,
                 "a default of its kind: %.80s does not say", hw->name);
    }
}

static void name_param(explainer *e, const char *symbol, const llmperf_calib_entry *entry,
                       llmperf_param param, llmperf_unit unit, const char *meaning)
{
    char key[96];
    llmperf_explain_input *input = name_value(e, symbol, entry->param[param], unit, meaning);
    input->origin = LLMPERF_ORIGIN_CALIBRATION;
    put_text(input->source, sizeof input->source, "%.90s, %s", e->c->calib->name,
             llmperf_calib_describe(&entry->key, key, sizeof key));
}

/* Compute time of a fit is flop / (e_c P) where it has no terms of shape and clock. */
static bool is_plain(const llmperf_calib_entry *entry)
{
    const double *p = entry->param;
    return p[LLMPERF_PARAM_FILL] == 0 && p[LLMPERF_PARAM_SCORE] == 0 &&
           p[LLMPERF_PARAM_TILE] == 0 && p[LLMPERF_PARAM_SETTLE] == 0;
}

/* launch + norm_p of the parts that are there + what is added, as a formula in their names. */
static void norm_text(explainer *e, const llmperf_time *t, bool collective, double p, char *buffer,
                      size_t size)
{
    const struct {
        const char *name;
        double value;
        bool in_norm;
    } parts[] = {{"launch_s", t->launch_s, collective}, {"compute_s", t->compute_s, true},
                 {"memory_s", t->memory_s, true},       {"serial_s", t->serial_s, true},
                 {"work_s", t->work_s, true},           {"link_s", t->link_s, true},
                 {"added_s", t->added_s, false}};
    const size_t count = sizeof parts / sizeof *parts;
    char norm[256] = "", rest[64] = "";
    int within = 0;
    for (size_t i = 0; i < count; i++) {
        char one[32];
        if (parts[i].value == 0)
            continue;
        if (!find_named(e, parts[i].name))
            add_step(e, parts[i].name, NULL, LLMPERF_UNIT_S, parts[i].value);
        name_value(e, parts[i].name, parts[i].value, LLMPERF_UNIT_S, "part of the time");
        bool power = parts[i].in_norm && !isinf(p) && p != 1;
        put_text(one, sizeof one, power ? "%s^p" : "%s", parts[i].name);
        char *target = parts[i].in_norm ? norm : rest;
        size_t used = strlen(target);
        const char *between = parts[i].in_norm && isinf(p) ? ", " : " + ";
        put_text(target + used, (parts[i].in_norm ? sizeof norm : sizeof rest) - used, "%s%s",
                 used ? between : "", one);
        within += parts[i].in_norm;
    }
    if (within == 0)
        put_text(buffer, size, "%s", rest[0] ? rest : "0");
    else
        put_text(buffer, size, "%s%s%s%s%s", rest, rest[0] ? " + " : "",
                 isinf(p) ? within > 1 ? "max(" : ""
                 : p == 1 ? ""
                          : "(",
                 norm,
                 isinf(p) ? within > 1 ? ")" : ""
                 : p == 1 ? ""
                          : ")^(1 / p)");
}

/* Time on the link of a collective, as a fit makes it. */
static void explain_transfer(explainer *e, const llmperf_op *op, const llmperf_time *t,
                             const llmperf_calib_entry *entry)
{
    const llmperf_link *link = llmperf_hw_link(e->c->hw, op->devices);
    const double *param = entry->param;
    double n = (double)op->devices, second = param[LLMPERF_PARAM_SECOND];
    bool crowded = link == &e->c->hw->pcie && n > 2 && param[LLMPERF_PARAM_CROWD] > 0;
    double ring = op->link_bytes / (param[LLMPERF_PARAM_LINK] * link->bytes_per_s) *
                  (crowded ? 1 + param[LLMPERF_PARAM_CROWD] * (n - 2) : 1);
    bool phases = second > 0 && op->collective == LLMPERF_COLLECTIVE_ALL_REDUCE && n > 2;
    bool one = phases && fabs(t->link_s - ring * n / 2) < fabs(t->link_s - ring - second);
    char text[LLMPERF_FORMULA_MAX];
    name_value(e, "link_bytes", op->link_bytes, LLMPERF_UNIT_BYTES, "bytes over the link");
    name_link(e, op->devices);
    name_param(e, "e_link", entry, LLMPERF_PARAM_LINK, LLMPERF_UNIT_FRACTION,
               "share of the link that is reached");
    if (one || crowded)
        name_value(e, "devices", n, LLMPERF_UNIT_NONE, "that take part");
    if (crowded)
        name_param(e, "crowd", entry, LLMPERF_PARAM_CROWD, LLMPERF_UNIT_NONE,
                   "more for each device beyond two on the host bus");
    if (phases && !one)
        name_param(e, "second_phase_s", entry, LLMPERF_PARAM_SECOND, LLMPERF_UNIT_S,
                   "reduce-scatter, then all-gather: more than reading all at once");
    put_text(text, sizeof text, "%slink_bytes%s / (e_link link_bytes_per_s)%s",
             one ? "devices / 2 " : "", crowded ? " (1 + crowd (devices - 2))" : "",
             phases && !one ? " + second_phase_s" : "");
    add_step(e, "link_s", text, LLMPERF_UNIT_S, t->link_s);
    name_value(e, "link_s", t->link_s, LLMPERF_UNIT_S, "time on the link");
    if (!(t->added_s > 0))
        return;
    double rounds = op->collective == LLMPERF_COLLECTIVE_ALL_REDUCE ? 2 : 1;
    name_param(e, "bulk_s", entry, LLMPERF_PARAM_BULK, LLMPERF_UNIT_S,
               "latency of the way for large buffers");
    name_param(e, "bulk_bytes", entry, LLMPERF_PARAM_LIMIT, LLMPERF_UNIT_BYTES,
               "buffer at which half of it is paid");
    name_value(e, "q", 1 + param[LLMPERF_PARAM_SHARP], LLMPERF_UNIT_NONE, "1 + bulk_sharpness");
    name_value(e, "buffer_bytes", op->link_bytes * n / ((n - 1) * rounds), LLMPERF_UNIT_BYTES,
               "the whole buffer");
    add_step(e, "added_s", "bulk_s / (1 + (bulk_bytes / buffer_bytes)^q)", LLMPERF_UNIT_S,
             t->added_s);
    name_value(e, "added_s", t->added_s, LLMPERF_UNIT_S, "what large buffers cost on top");
}

/* Time of one launch as a fit makes it. */
static void explain_fitted_time(explainer *e, const llmperf_op *op, const llmperf_time *t,
                                const llmperf_calib_entry *entry)
{
    enum { NORM_MOST = 20 }; /* beyond it powers of microseconds run out of range */
    bool collective = op->kind == LLMPERF_KIND_COLLECTIVE;
    double p = entry->param[LLMPERF_PARAM_NORM];
    char text[LLMPERF_FORMULA_MAX];
    if (!isinf(p))
        name_param(e, "p", entry, LLMPERF_PARAM_NORM, LLMPERF_UNIT_NONE, "norm of the parts");
    if (collective) {
        explain_transfer(e, op, t, entry);
    } else {
        name_bandwidth(e);
        name_value(e, "bytes", op->bytes, LLMPERF_UNIT_BYTES, "bytes moved");
        name_param(e, "e_m", entry, LLMPERF_PARAM_MEMORY, LLMPERF_UNIT_FRACTION,
                   "share of the bandwidth that is reached");
        bool tall =
            op->kind == LLMPERF_KIND_GEMM && op->m > 16 && entry->param[LLMPERF_PARAM_TALL] > 0;
        if (tall)
            name_param(e, "tall", entry, LLMPERF_PARAM_TALL, LLMPERF_UNIT_FRACTION,
                       "more memory time beyond 16 rows");
        add_step(e, "memory_s", tall ? "bytes (1 + tall) / (e_m BW)" : "bytes / (e_m BW)",
                 LLMPERF_UNIT_S, t->memory_s);
        name_value(e, "memory_s", t->memory_s, LLMPERF_UNIT_S, "memory time");
        if (op->flop > 0 && is_plain(entry)) {
            name_peak(e, (llmperf_dtype)op->dtype);
            name_value(e, "flop", op->flop, LLMPERF_UNIT_FLOP, "FLOP");
            name_param(e, "e_c", entry, LLMPERF_PARAM_COMPUTE, LLMPERF_UNIT_FRACTION,
                       "share of the peak that is reached");
            add_step(e, "compute_s", "flop / (e_c P)", LLMPERF_UNIT_S, t->compute_s);
            name_value(e, "compute_s", t->compute_s, LLMPERF_UNIT_S, "compute time");
        } else if (op->flop > 0) {
            llmperf_note(&e->x->notes, "the fit's compute time also depends on shape and clock: "
                                       "docs/calibration.md");
        }
    }
    norm_text(e, t, collective, p, text, sizeof text);
    if (isinf(p) || p <= NORM_MOST)
        fill_result(e, text, t->time_s);
    else
        fill_rule(e, t->time_s, "launch + norm of the parts + added, as calibrated");
}

/* Time of one launch: the roofline, or what the calibration makes of it. */
static void explain_op_time(explainer *e, const llmperf_op *op, double repeat)
{
    llmperf_time t;
    llmperf_gradient used;
    const llmperf_calib *calib = e->c->calib;
    double value = llmperf_time_op(op, e->c->hw, calib, &t, &used);
    bool fitted = calib && used.count > 0 && used.entry[0] != LLMPERF_CALIB_NO_ENTRY;
    bool joined = calib && used.count > 1;
    e->x->result.unit = LLMPERF_UNIT_S;
    if (joined) {
        add_step(e, "compute_s", NULL, LLMPERF_UNIT_S, t.compute_s);
        add_step(e, "memory_s", NULL, LLMPERF_UNIT_S, t.memory_s);
        fill_rule(e, value,
                  "new tokens over cached ones: the parameters are joined from the fits of prefill "
                  "and decode; launch + norm of the parts + added");
    } else if (fitted) {
        explain_fitted_time(e, op, &t, &calib->entry[used.entry[0]]);
    } else if (op->kind == LLMPERF_KIND_COLLECTIVE) {
        name_value(e, "link_bytes", op->link_bytes, LLMPERF_UNIT_BYTES, "bytes over the link");
        name_link(e, op->devices);
        fill_result(e, "latency + link_bytes / link_bytes_per_s", value);
    } else {
        name_bandwidth(e);
        name_value(e, "bytes", op->bytes, LLMPERF_UNIT_BYTES, "bytes moved");
        if (op->flop > 0) {
            name_peak(e, (llmperf_dtype)op->dtype);
            name_value(e, "flop", op->flop, LLMPERF_UNIT_FLOP, "FLOP");
            add_step(e, "compute_s", "flop / P", LLMPERF_UNIT_S, t.compute_s);
        }
        add_step(e, "memory_s", "bytes / BW", LLMPERF_UNIT_S, t.memory_s);
        fill_result(e, op->flop > 0 ? "max(flop / P, bytes / BW)" : "bytes / BW", value);
    }
    if (calib && !fitted && !joined)
        llmperf_note(&e->x->notes, "%s has no fit for this operator: the roofline is taken",
                     calib->name);
    llmperf_note(&e->x->notes, "bound by %s", llmperf_bound_name((llmperf_bound)t.bound));
    add_step(e, "all launches", NULL, LLMPERF_UNIT_S, repeat * value);
}

/* `repeat`: launches of this kind in the step; `alone`: one place of the step has them all. */
static void explain_op_row(explainer *e, const op_formulas *row, double repeat, bool alone)
{
    const llmperf_op *op = &row->op;
    e->scope.layer = &e->c->model->layers[row->layer];
    e->scope.outside = row->outside;
    for (int q = OP_M; q < OP_QUANTITY_COUNT; q++)
        if (row->text[q][0])
            add_step(e, op_quantity_name((op_quantity)q), row->text[q],
                     unit_of_quantity((op_quantity)q), op_quantity_of(op, (op_quantity)q));
    add_step(e, "launches in the step", alone ? row->text[OP_REPEAT] : NULL, LLMPERF_UNIT_COUNT,
             repeat);
    if (e->c->hw) {
        explain_op_time(e, op, repeat);
        return;
    }
    op_quantity shown = op->flop > 0 ? OP_FLOP : op->bytes > 0 ? OP_BYTES : OP_LINK_BYTES;
    e->x->result.unit = (uint8_t)unit_of_quantity(shown);
    fill_result(e, row->text[shown], op_quantity_of(op, shown));
}

static bool same_launch(const op_formulas *a, const op_formulas *b)
{
    llmperf_op copy = a->op;
    copy.repeat = b->op.repeat;
    return memcmp(&copy, &b->op, sizeof copy) == 0;
}

/* The operators of the step as words, for a message. */
static void list_operators(const op_formulas *rows, int count, char *buffer, size_t size)
{
    bool seen[LLMPERF_OP_COUNT] = {false};
    size_t used = 0;
    buffer[0] = '\0';
    for (int i = 0; i < count && used + 32 < size; i++) {
        if (!seen[rows[i].id])
            used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
                                     llmperf_op_name((llmperf_op_id)rows[i].id));
        seen[rows[i].id] = true;
    }
}

enum { PLACES_MAX = 4 * LLMPERF_LAYER_KINDS_MAX };

/* The different launches under one name, each with how often it runs and in how many places. */
typedef struct op_search {
    op_formulas rows[OP_FORMULAS_MAX]; /* of the last layer shape */
    op_formulas found[PLACES_MAX];
    double repeat[PLACES_MAX];
    int places[PLACES_MAX];
    int count, row_count;
} op_search;

/* False when memory runs out. */
static bool search_operator(explainer *e, llmperf_op_id id, op_search *s)
{
    const llmperf_model *model = e->c->model;
    for (int kind = 0; kind < model->layer_kind_count; kind++) {
        s->row_count = symbolic_ops(e->c, e->scope.decode, kind, s->rows);
        if (s->row_count < 0)
            return false;
        for (int i = 0; i < s->row_count; i++) {
            const op_formulas *row = &s->rows[i];
            int known = 0;
            /* what runs once is in front of and behind every layer shape: counted with the first */
            if (row->id != id || row->op.repeat == 0 || (row->outside && kind > 0))
                continue;
            while (known < s->count && !same_launch(&s->found[known], row))
                known++;
            if (known == PLACES_MAX)
                continue;
            if (known == s->count)
                s->found[s->count++] = *row;
            s->repeat[known] += row->op.repeat;
            s->places[known]++;
        }
    }
    return true;
}

/* `which`: of the different launches under one name, from 1. */
static llmperf_status explain_operator(explainer *e, llmperf_op_id id, int which,
                                       llmperf_error *error)
{
    const char *op_name = llmperf_op_name(id);
    const char *phase = e->scope.decode ? "a decode step" : "prefill";
    llmperf_explanation *x = e->x;
    op_search *s = calloc(1, sizeof *s);
    llmperf_status status = LLMPERF_OK;
    if (!s || !search_operator(e, id, s)) {
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    } else if (s->count == 0) {
        char words[512];
        list_operators(s->rows, s->row_count, words, sizeof words);
        status = llmperf_fail(error, LLMPERF_E_USAGE, "%s of %s has no '%s' as asked; it has %s",
                              phase, e->c->model->name, op_name, words);
    } else if (which > s->count) {
        status = llmperf_fail(error, LLMPERF_E_USAGE,
                              "'%s:%d': only %d of that name differ; 1 to %d is allowed", op_name,
                              which, s->count, s->count);
    } else {
        const op_formulas *row = &s->found[which - 1];
        bool named = strcmp(row->label, op_name) == 0;
        x->is_operator = true;
        put_text(x->meaning, sizeof x->meaning, "%s%sone launch on one device, %s",
                 named ? "" : row->label, named ? "" : ", ",
                 e->scope.decode ? "in a decode step" : "in a prefill of all prompts in one step");
        put_text(x->result.name, sizeof x->result.name, "%s", op_name);
        explain_op_row(e, row, s->repeat[which - 1], s->places[which - 1] == 1);
        if (s->count > 1)
            llmperf_note(&x->notes,
                         "%d different launches go by this name, %s:1 to %s:%d; this "
                         "is %s:%d",
                         s->count, op_name, op_name, s->count, op_name, which);
    }
    free(s);
    return status;
}

/* ---- finding what a name means --------------------------------------------------------------- */

enum { WORDS_MAX = 16, MATCHES_MAX = 8 };

/* What a name resolves to. */
typedef struct target_of_name {
    const field_row *field;
    llmperf_op_id op; /* an operator, or of a compute-bound batch; LLMPERF_OP_COUNT = none */
    bool is_crossing, calibrated;
    int which;
    part part;
} target_of_name;

static const struct {
    const char *suffix;
    part part;
} PARTS[] = {{".value", PART_VALUE}, {".batch", PART_VALUE}, {".low", PART_LOW},
             {".high", PART_HIGH},   {".exact", PART_EXACT}, {".n", PART_N},
             {".k", PART_K}};

/* Words of a dotted path; returns their number. */
static int split(char *text, char **ret_words)
{
    int count = 0;
    for (char *word = text; word && count < WORDS_MAX;) {
        char *dot = strchr(word, '.');
        if (dot)
            *dot++ = '\0';
        ret_words[count++] = word;
        word = dot;
    }
    return count;
}

/* How loosely the last word of a name may stand for that of a path. */
enum { LOOSE_NOT, LOOSE_UNIT, LOOSE_PART, LOOSE_COUNT };

/* Length of a word without the unit at its end. */
static size_t without_unit(const char *word)
{
    static const char *const units[] = {"_s",     "_bytes", "_tokens",       "_frac",
                                        "_batch", "_per_s", "_usd_per_mtok", "_wh_per_mtok"};
    size_t length = strlen(word), shortest = length;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t unit = strlen(units[i]);
        if (length > unit && strcmp(word + length - unit, units[i]) == 0 &&
            length - unit < shortest)
            shortest = length - unit;
    }
    return shortest;
}

static bool word_stands_for(const char *word, const char *whole, int loose)
{
    size_t length = strlen(word);
    if (strcmp(word, whole) == 0)
        return true;
    if (loose == LOOSE_NOT || length == 0)
        return false;
    if (length == without_unit(whole) && strncmp(word, whole, length) == 0)
        return true;
    if (loose < LOOSE_PART)
        return false;
    for (const char *at = strstr(whole, word); at; at = strstr(at + 1, word)) {
        bool begins = at == whole || at[-1] == '_';
        if (begins && (at[length] == '\0' || at[length] == '_'))
            return true;
    }
    return false;
}

/* The name's words occur in the path in this order, its last word at the path's end. */
static bool name_stands_for(const char *name, const char *path, int loose)
{
    char name_text[128], path_text[128], *name_words[WORDS_MAX], *path_words[WORDS_MAX];
    put_text(name_text, sizeof name_text, "%s", name);
    put_text(path_text, sizeof path_text, "%s", path);
    int n = split(name_text, name_words), p = split(path_text, path_words);
    if (n == 0 || p < n || !word_stands_for(name_words[n - 1], path_words[p - 1], loose))
        return false;
    int at = 0;
    for (int i = 0; i < p - 1 && at < n - 1; i++)
        at += strcmp(name_words[at], path_words[i]) == 0;
    return at == n - 1;
}

/* Fields that a name may mean, the tightest reading that finds any. */
static int find_fields(const char *name, const field_row **ret_matches)
{
    int count = 0;
    for (int loose = 0; loose < LOOSE_COUNT && count == 0; loose++)
        for (int i = 0; i < FIELD_COUNT; i++) {
            const field_row *row = &FIELDS[i];
            if (!row->explain)
                continue;
            if (strcmp(name, row->path) == 0) {
                ret_matches[0] = row;
                return 1;
            }
            /* the datasheet's, unless the calibrated one is asked, and likewise */
            bool hidden = (strstr(row->path, ".calibrated.") && !strstr(name, "calibrated")) ||
                          (begins_with(row->path, "would_fit.") && !strstr(name, "would_fit"));
            if (!hidden && count < MATCHES_MAX && name_stands_for(name, row->path, loose))
                ret_matches[count++] = row;
        }
    return count;
}

static llmperf_op_id parse_operator(const char *text, int *ret_which)
{
    char name[64];
    const char *colon = strrchr(text, ':');
    double which = 1;
    put_text(name, sizeof name, "%.*s", (int)(colon ? colon - text : 60), text);
    if (colon && (!llmperf_parse_double(colon + 1, &which) || which < 1 || which > 1000 ||
                  which != floor(which)))
        return LLMPERF_OP_COUNT;
    *ret_which = (int)which;
    return llmperf_op_parse(name);
}

/* "compute_bound_batch.attn.out", with or without datasheet. and per_op. */
static bool find_crossing(const char *name, target_of_name *target)
{
    const char *rest = name;
    if (!begins_with(rest, "compute_bound_batch."))
        return false;
    rest += strlen("compute_bound_batch.");
    target->calibrated = begins_with(rest, "calibrated.");
    if (target->calibrated || begins_with(rest, "datasheet."))
        rest = strchr(rest, '.') + 1;
    if (begins_with(rest, "per_op."))
        rest += strlen("per_op.");
    target->op = parse_operator(rest, &target->which);
    target->is_crossing = target->op != LLMPERF_OP_COUNT;
    return target->is_crossing;
}

static llmperf_status unknown_name(const char *name, llmperf_error *error)
{
    const char *words[3 * FIELD_COUNT + LLMPERF_OP_COUNT + 1];
    char bare[FIELD_COUNT][64]; /* without the unit */
    int count = 0;
    for (int i = 0; i < FIELD_COUNT; i++) {
        const char *last = strrchr(FIELDS[i].path, '.');
        last = last ? last + 1 : FIELDS[i].path;
        words[count++] = FIELDS[i].path;
        if (last[0] == '*')
            continue;
        words[count++] = last;
        size_t length = without_unit(last);
        put_text(bare[i], sizeof bare[i], "%.*s", (int)length, last);
        if (length >= 4)
            words[count++] = bare[i];
    }
    for (int i = 0; i < LLMPERF_OP_COUNT; i++)
        words[count++] = llmperf_op_name((llmperf_op_id)i);
    words[count] = NULL;
    const char *near = llmperf_nearest(name, words);
    llmperf_fail(error, LLMPERF_E_USAGE, "'%s' is neither a field nor an operator%s%s%s", name,
                 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    /* the known ones, by group, a line each */
    char line[LLMPERF_TEXT_MAX * 3] = "", group[64] = "";
    size_t used = 0;
    for (int i = 0; i <= FIELD_COUNT; i++) {
        char own[64] = "";
        const char *path = i < FIELD_COUNT ? FIELDS[i].path : "";
        const char *dot = strchr(path, '.');
        put_text(own, sizeof own, "%.*s", (int)(dot ? dot - path : 0), path);
        if (used > 0 && (i == FIELD_COUNT || strcmp(own, group) != 0)) {
            llmperf_fail(error, LLMPERF_E_USAGE, "  %s", line);
            used = 0;
        }
        memcpy(group, own, sizeof group);
        if (i < FIELD_COUNT && used + 64 < sizeof line)
            used +=
                (size_t)snprintf(line + used, sizeof line - used, "%s%s", used ? ", " : "", path);
    }
    used = 0;
    for (int i = 0; i < LLMPERF_OP_COUNT && used + 32 < sizeof line; i++)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s%s", used ? ", " : "",
                                 llmperf_op_name((llmperf_op_id)i));
    return llmperf_fail(error, LLMPERF_E_USAGE, "  operators: %s", line);
}

static llmperf_status resolve(const char *name, target_of_name *ret_target, llmperf_error *error)
{
    const field_row *matches[MATCHES_MAX];
    target_of_name target = {.op = LLMPERF_OP_COUNT, .which = 1};
    char base[128];
    if (strlen(name) >= sizeof base)
        return unknown_name("?", error);
    put_text(base, sizeof base, "%s",
             strcmp(name, "compute_bound_batch") == 0 ? "compute_bound_batch.datasheet.dense"
                                                      : name);
    target.op = parse_operator(base, &target.which);
    if (target.op != LLMPERF_OP_COUNT) {
        *ret_target = target;
        return LLMPERF_OK;
    }
    int count = find_crossing(base, &target) ? 0 : find_fields(base, matches);
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS && count == 0 && !target.is_crossing; i++) {
        size_t length = strlen(base), tail = strlen(PARTS[i].suffix);
        if (length <= tail || strcmp(base + length - tail, PARTS[i].suffix) != 0)
            continue;
        base[length - tail] = '\0';
        target.part = PARTS[i].part;
        count = find_crossing(base, &target) ? 0 : find_fields(base, matches);
        bool op_part = target.part == PART_N || target.part == PART_K;
        for (int k = 0; k < count; k++) {
            bool has_part =
                matches[k]->kind == FIELD_CROSSING
                    ? !op_part
                    : matches[k]->kind != FIELD_PLAIN && !op_part && target.part != PART_EXACT;
            if (!has_part)
                count = 0;
        }
        break;
    }
    if (count > 1) {
        char words[LLMPERF_TEXT_MAX] = "";
        size_t used = 0;
        for (int i = 0; i < count && used + 64 < sizeof words; i++)
            used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", used ? ", " : "",
                                     matches[i]->path);
        return llmperf_fail(error, LLMPERF_E_USAGE, "'%s' is ambiguous: %s", name, words);
    }
    if (count == 0 && !target.is_crossing)
        return unknown_name(name, error);
    target.field = count == 1 ? matches[0] : NULL;
    *ret_target = target;
    return LLMPERF_OK;
}

/* The compute-bound batch of one operator; the field's name in full. */
static llmperf_status explain_crossing(explainer *e, const target_of_name *target,
                                       llmperf_error *error)
{
    const llmperf_crossings *all = target->calibrated ? &e->p->calibrated : &e->p->datasheet;
    llmperf_explanation *x = e->x;
    int seen = 0;
    put_text(x->result.name, sizeof x->result.name, "compute_bound_batch.%s.%s",
             target->calibrated ? "calibrated" : "datasheet", llmperf_op_name(target->op));
    put_text(x->meaning, sizeof x->meaning, "batch from which on %s is compute-bound",
             llmperf_op_name(target->op));
    x->result.unit = target->part == PART_N || target->part == PART_K ? LLMPERF_UNIT_COUNT
                                                                      : LLMPERF_UNIT_SEQUENCES;
    if (target->calibrated && !calibrated_or_none(e))
        return LLMPERF_OK;
    const llmperf_op_crossing *one = NULL;
    for (int i = 0; i < all->op_count; i++)
        if (all->op[i].id == target->op && ++seen == target->which)
            one = &all->op[i];
    if (!one)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "no dense operator '%s'%s in a decode step of %s; 'llmperf layers' "
                            "lists them",
                            llmperf_op_name(target->op), seen ? " of that number" : "",
                            e->c->model->name);
    explain_op_crossing(e, one, target->calibrated);
    if (seen > 1)
        llmperf_note(&x->notes, "%d shapes go by that name; this is %s:%d", seen,
                     llmperf_op_name(target->op), target->which);
    return LLMPERF_OK;
}

llmperf_status llmperf_explain_check(const char *name, llmperf_error *error)
{
    target_of_name target;
    return resolve(name, &target, error);
}

llmperf_status llmperf_explain(const llmperf_explain_query *query,
                               llmperf_explanation *ret_explanation, llmperf_error *error)
{
    target_of_name target;
    llmperf_status status = resolve(query->name, &target, error);
    if (status != LLMPERF_OK)
        return status;
    bool needs_hw = target.is_crossing || (target.field && target.field->needs_hw);
    if (needs_hw && !query->prediction)
        return llmperf_fail(error, LLMPERF_E_USAGE, "'%s' needs HARDWARE behind the model",
                            query->name);
    llmperf_explanation *x = calloc(1, sizeof *x);
    explainer *e = calloc(1, sizeof *e);
    if (!x || !e) {
        free(x);
        free(e);
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    e->c = query->c;
    e->p = query->prediction;
    e->asked = query->asked;
    e->x = x;
    e->part = target.part;
    bool decode = target.field || target.is_crossing || !query->prefill;
    e->scope = (symbol_scope){.c = e->c, .layer = &e->c->model->layers[0], .decode = decode};
    x->exists = true;
    x->result.evaluated = NAN;
    if (target.is_crossing) {
        status = explain_crossing(e, &target, error);
    } else if (target.op != LLMPERF_OP_COUNT) {
        status = explain_operator(e, target.op, target.which, error);
    } else {
        const field_row *row = target.field;
        static const char *const ends[] = {"", ".low", ".high", ".exact", "", ""};
        put_text(x->result.name, sizeof x->result.name, "%s%s", row->path, ends[e->part]);
        put_text(x->meaning, sizeof x->meaning, "%s%s", row->meaning,
                 e->part == PART_EXACT         ? ", before it is rounded up"
                 : row->kind == FIELD_CROSSING ? ""
                 : e->part == PART_LOW         ? ", low end"
                 : e->part == PART_HIGH        ? ", high end"
                                               : "");
        x->result.unit = row->unit;
        row->explain(e);
    }
    if (e->out_of_memory && status == LLMPERF_OK)
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    if (status == LLMPERF_OK)
        *ret_explanation = *x;
    free(x);
    free(e);
    return status;
}

/* ---- writers --------------------------------------------------------------------------------- */

/* For a person: "1.34 GB". */
static char *human_value(double value, llmperf_unit unit, char *buffer)
{
    switch (unit) {
    case LLMPERF_UNIT_S:
        return human_time(value, buffer);
    case LLMPERF_UNIT_BYTES: /* of an element: 4.5 bits are 0.5625 bytes */
        if (fabs(value) < 10000)
            snprintf(buffer, HUMAN_MAX, "%g B", value);
        else
            human_bytes(value, buffer);
        return buffer;
    case LLMPERF_UNIT_FLOP:
        return human_flop(value, buffer);
    case LLMPERF_UNIT_BYTES_PER_S:
        human_bytes(value, buffer);
        strncat(buffer, "/s", HUMAN_MAX - strlen(buffer) - 1);
        return buffer;
    case LLMPERF_UNIT_FLOP_PER_S:
        human_flop(value, buffer);
        strncat(buffer, "/s", HUMAN_MAX - strlen(buffer) - 1);
        return buffer;
    case LLMPERF_UNIT_COUNT:
    case LLMPERF_UNIT_TOKENS:
    case LLMPERF_UNIT_SEQUENCES:
    case LLMPERF_UNIT_WEIGHTS:
        if (value == floor(value) && fabs(value) < 1e7)
            snprintf(buffer, HUMAN_MAX, "%.0f", value);
        else if (value != floor(value))
            snprintf(buffer, HUMAN_MAX, "%.6g", value);
        else
            human_count(value, buffer);
        return buffer;
    case LLMPERF_UNIT_FRACTION:
        snprintf(buffer, HUMAN_MAX, "%.4g", value);
        return buffer;
    default:
        return human_number(value, buffer);
    }
}

/* With the unit where the number alone does not say it; `named`: what stands beside it does. */
static void value_words(double value, llmperf_unit unit, bool named, char *buffer, size_t size)
{
    char human[HUMAN_MAX];
    bool counts = unit == LLMPERF_UNIT_TOKENS || unit == LLMPERF_UNIT_SEQUENCES ||
                  unit == LLMPERF_UNIT_WEIGHTS;
    bool bare = (named && counts) || unit == LLMPERF_UNIT_S || unit == LLMPERF_UNIT_BYTES ||
                unit == LLMPERF_UNIT_FLOP || unit == LLMPERF_UNIT_BYTES_PER_S ||
                unit == LLMPERF_UNIT_FLOP_PER_S || unit == LLMPERF_UNIT_COUNT;
    const char *name = bare ? "" : llmperf_unit_name(unit);
    human_value(value, unit, human);
    put_text(buffer, size, "%s%s%s", human, name[0] ? " " : "", name);
}

/* Numbers at six digits, for a line of text. */
static void short_numbers(const char *numbers, char *buffer, size_t size)
{
    formula f;
    if (!formula_parse(numbers, NULL, &f) ||
        !formula_print(&f, FORMULA_NUMBERS, NULL, NULL, buffer, size))
        put_text(buffer, size, "%s", numbers);
}

static void put_pair(page *p, const char *label, const char *text)
{
    if (p->markdown)
        fprintf(p->out, "- %s: `%s`\n", label, text);
    else
        page_paragraph(p, 11, "  %-8s %s", label, text);
}

static void put_result(page *p, const llmperf_explanation *x)
{
    const llmperf_explain_line *r = &x->result;
    char text[LLMPERF_FORMULA_MAX], words[96], exact[LLMPERF_DOUBLE_TEXT_MAX];
    const char *unit = llmperf_unit_name((llmperf_unit)r->unit);
    if (x->rule[0])
        put_pair(p, "rule", x->rule);
    if (r->formula[0])
        put_pair(p, "formula", r->formula);
    if (r->numbers[0] && strcmp(r->formula, r->numbers) != 0) {
        short_numbers(r->numbers, text, sizeof text);
        put_pair(p, "numbers", text);
    }
    if (!x->exists) {
        put_text(text, sizeof text, "none: %s", x->why);
        put_pair(p, "value", text);
        return;
    }
    value_words(r->value, (llmperf_unit)r->unit, false, words, sizeof words);
    if (r->value == floor(r->value))
        llmperf_format_double(r->value, exact);
    else
        put_text(exact, sizeof exact, "%.9g", r->value);
    char rounded[48] = "", whole[64] = "";
    if (x->rounded_up && r->evaluated == r->evaluated)
        put_text(rounded, sizeof rounded, "%.6g, rounded up: ", r->evaluated);
    if (strncmp(words, exact, strlen(exact)) != 0)
        put_text(whole, sizeof whole, " (%s%s%s)", exact, unit[0] ? " " : "", unit);
    put_text(text, sizeof text, "%s%s%s", rounded, words, whole);
    put_pair(p, "value", text);
}

static void put_steps(page *p, const llmperf_explanation *x)
{
    enum { INDENT = 27 };
    if (x->step_count == 0)
        return;
    page_heading(p, "%s", x->is_operator ? "What it computes and moves" : "On the way");
    for (int i = 0; i < x->step_count; i++) {
        const llmperf_explain_line *s = &x->steps[i];
        char words[96], numbers[LLMPERF_FORMULA_MAX];
        value_words(s->value, (llmperf_unit)s->unit, false, words, sizeof words);
        short_numbers(s->numbers, numbers, sizeof numbers);
        if (p->markdown && s->formula[0])
            fprintf(p->out, "- %s: `%s` = `%s` = %s\n", s->name, s->formula, numbers, words);
        else if (p->markdown)
            fprintf(p->out, "- %s: %s\n", s->name, words);
        else if (!s->formula[0] || strcmp(numbers, s->formula) == 0)
            page_paragraph(p, INDENT, "  %-24s %s", s->name, words);
        else if (strchr(s->formula, ' ')) /* more than a symbol */
            page_paragraph(p, INDENT, "  %-24s %s = %s = %s", s->name, s->formula, numbers, words);
        else
            page_paragraph(p, INDENT, "  %-24s %s = %s", s->name, s->formula, words);
    }
}

/* One of the terms: launches and what each takes, or its formula. */
static void term_middle(const llmperf_explain_line *t, bool by_launch, char *buffer, size_t size)
{
    const char *star = strstr(t->numbers, " * ");
    double one;
    if (!by_launch) {
        put_text(buffer, size, "%s", t->formula);
    } else if (star && llmperf_parse_double(star + 3, &one)) {
        char human[96];
        value_words(one, (llmperf_unit)t->unit, true, human, sizeof human);
        put_text(buffer, size, "%.*s x %s", (int)(star - t->numbers), t->numbers, human);
    } else {
        put_text(buffer, size, "launches that differ");
    }
}

static void put_terms(page *p, const llmperf_explanation *x)
{
    enum { SHOWN = 12 };
    static const char *const headings[] = {"term", "", ">value", ">share"};
    if (x->term_count == 0)
        return;
    bool by_launch = false;
    for (int i = 0; i < x->term_count; i++)
        by_launch |= begins_with(x->terms[i].formula, "launches ");
    double rest = 0, whole = x->result.value;
    page_heading(p, "The terms");
    page_table(p, 4, headings);
    for (int i = 0; i < x->term_count; i++) {
        const llmperf_explain_line *t = &x->terms[i];
        char words[96], share[32], middle[LLMPERF_FORMULA_MAX];
        if (by_launch && i >= SHOWN && x->term_count > SHOWN + 1) {
            rest += t->value;
            continue;
        }
        term_middle(t, by_launch, middle, sizeof middle);
        value_words(t->value, (llmperf_unit)t->unit, true, words, sizeof words);
        put_text(share, sizeof share, "%.1f %%", whole > 0 ? 100 * t->value / whole : 0);
        const char *cells[] = {t->name, middle, words, share};
        page_row(p, cells);
    }
    if (rest > 0) {
        char words[96], share[32];
        value_words(rest, (llmperf_unit)x->result.unit, true, words, sizeof words);
        put_text(share, sizeof share, "%.1f %%", 100 * rest / whole);
        const char *cells[] = {"the others", "", words, share};
        page_row(p, cells);
    }
    page_end_table(p);
}

/* Files are named once, below the inputs. A format, in bytes, says its source in a few words. */
static bool from_file(const llmperf_explain_input *in)
{
    return in->origin == LLMPERF_ORIGIN_HARDWARE ||
           (in->origin == LLMPERF_ORIGIN_MODEL && in->unit != LLMPERF_UNIT_BYTES);
}

/* Number of a source among the files named so far, from 1. */
static int source_number(const llmperf_explanation *x, int input, bool *ret_is_new)
{
    int count = 0;
    for (int i = 0; i <= input; i++) {
        if (!from_file(&x->inputs[i]))
            continue;
        int first = 0;
        while (!from_file(&x->inputs[first]) ||
               strcmp(x->inputs[first].source, x->inputs[i].source) != 0)
            first++;
        count += first == i;
        if (i == input) {
            *ret_is_new = first == i;
            return first == i ? count : source_number(x, first, &(bool){false});
        }
    }
    return count;
}

static void put_inputs(page *p, const llmperf_explanation *x)
{
    enum { INDENT = 32 };
    if (x->input_count == 0)
        return;
    page_heading(p, "Inputs");
    for (int i = 0; i < x->input_count; i++) {
        const llmperf_explain_input *in = &x->inputs[i];
        char words[96], trust[48] = "", source[LLMPERF_TEXT_MAX];
        bool is_new;
        value_words(in->value, (llmperf_unit)in->unit, true, words, sizeof words);
        if (in->assumed)
            put_text(trust, sizeof trust, " (ASSUMED)");
        else if (in->origin == LLMPERF_ORIGIN_HARDWARE)
            put_text(trust, sizeof trust, " (%s)",
                     llmperf_confidence_name((llmperf_confidence)in->confidence));
        if (from_file(in))
            put_text(source, sizeof source, "[%d]", source_number(x, i, &is_new));
        else
            put_text(source, sizeof source, "%s", in->source);
        if (p->markdown)
            fprintf(p->out, "- `%s` = %s: %s; %s%s\n", in->symbol, words, in->meaning, source,
                    trust);
        else
            page_paragraph(p, INDENT, "  %-14s %13s  %s; %s%s", in->symbol, words, in->meaning,
                           source, trust);
    }
    if (p->markdown)
        fputc('\n', p->out);
    for (int i = 0; i < x->input_count; i++) {
        bool is_new = false;
        int number = from_file(&x->inputs[i]) ? source_number(x, i, &is_new) : 0;
        if (is_new)
            page_paragraph(p, 6, "  [%d] %s", number, x->inputs[i].source);
    }
}

static llmperf_status page_explanation(FILE *out, bool markdown, const llmperf_explanation *x,
                                       bool color, llmperf_error *error)
{
    page p;
    page_open(&p, out, markdown, color);
    page_title(&p, "%s: %s", x->result.name, x->meaning);
    put_result(&p, x);
    put_steps(&p, x);
    put_terms(&p, x);
    put_inputs(&p, x);
    if (x->notes.count > 0)
        page_gap(&p);
    for (int i = 0; i < x->notes.count; i++)
        page_paragraph(&p, 2, "Note: %s.", x->notes.text[i]);
    return page_close(&p, error);
}

static void line_fields(sink *s, const llmperf_explain_line *l)
{
    char program[2 * LLMPERF_FORMULA_MAX];
    formula f;
    sink_text(s, "name", l->name);
    bool ok = l->formula[0] && formula_parse(l->formula, NULL, &f) &&
              formula_print(&f, FORMULA_PROGRAM, NULL, NULL, program, sizeof program);
    sink_text(s, "formula", ok ? program : NULL);
    sink_text(s, "numbers", l->numbers[0] ? l->numbers : NULL);
    sink_number(s, "value", l->value);
    sink_text(s, "unit", llmperf_unit_name((llmperf_unit)l->unit));
}

static void input_fields(sink *s, const llmperf_explain_input *in)
{
    bool hardware = in->origin == LLMPERF_ORIGIN_HARDWARE && in->confidence;
    sink_text(s, "origin", llmperf_origin_name((llmperf_origin)in->origin));
    sink_text(s, "source", in->source);
    sink_text(s, "confidence",
              hardware ? llmperf_confidence_name((llmperf_confidence)in->confidence) : NULL);
    sink_bool(s, "assumed", in->assumed);
}

static void csv_line(sink *s, const char *kind, const llmperf_explain_line *l, const char *meaning)
{
    sink_begin_row(s);
    sink_text(s, "part", kind);
    line_fields(s, l);
    sink_text(s, "meaning", meaning);
    sink_null(s, "origin");
    sink_null(s, "source");
    sink_null(s, "confidence");
    sink_null(s, "assumed");
    sink_end_row(s);
}

static llmperf_status csv_explanation(FILE *out, const llmperf_explanation *x, llmperf_error *error)
{
    sink s;
    sink_open(&s, out, true);
    csv_line(&s, "result", &x->result, x->meaning);
    for (int i = 0; i < x->step_count; i++)
        csv_line(&s, "step", &x->steps[i], NULL);
    for (int i = 0; i < x->term_count; i++)
        csv_line(&s, "term", &x->terms[i], NULL);
    for (int i = 0; i < x->input_count; i++) {
        const llmperf_explain_input *in = &x->inputs[i];
        sink_begin_row(&s);
        sink_text(&s, "part", "input");
        sink_text(&s, "name", in->symbol);
        sink_null(&s, "formula");
        sink_null(&s, "numbers");
        sink_number(&s, "value", in->value);
        sink_text(&s, "unit", llmperf_unit_name((llmperf_unit)in->unit));
        sink_text(&s, "meaning", in->meaning);
        input_fields(&s, in);
        sink_end_row(&s);
    }
    return sink_close(&s, error);
}

static void put_head(sink *s)
{
    sink_text(s, "llmperf", llmperf_version());
    sink_integer(s, "schema", LLMPERF_JSON_SCHEMA);
}

static void put_notes(sink *s, const llmperf_notes *notes)
{
    sink_begin_array(s, "notes");
    for (int i = 0; notes && i < notes->count; i++)
        sink_text(s, NULL, notes->text[i]);
    sink_end_array(s);
    sink_begin_array(s, "not_modelled");
    sink_end_array(s);
}

static llmperf_status json_explanation(FILE *out, const llmperf_explanation *x,
                                       llmperf_error *error)
{
    sink s;
    const struct {
        const char *key;
        int count;
        const llmperf_explain_line *lines;
    } lists[] = {{"steps", x->step_count, x->steps}, {"terms", x->term_count, x->terms}};
    sink_open(&s, out, false);
    sink_begin_object(&s, NULL);
    put_head(&s);
    line_fields(&s, &x->result);
    sink_text(&s, "kind", x->is_operator ? "operator" : "field");
    sink_text(&s, "meaning", x->meaning);
    sink_text(&s, "why", x->exists ? NULL : x->why);
    sink_text(&s, "rule", x->rule[0] ? x->rule : NULL);
    sink_bool(&s, "rounded_up", x->rounded_up);
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
        sink_begin_array(&s, lists[k].key);
        for (int i = 0; i < lists[k].count; i++) {
            sink_begin_object(&s, NULL);
            line_fields(&s, &lists[k].lines[i]);
            sink_end_object(&s);
        }
        sink_end_array(&s);
    }
    sink_begin_array(&s, "inputs");
    for (int i = 0; i < x->input_count; i++) {
        const llmperf_explain_input *in = &x->inputs[i];
        sink_begin_object(&s, NULL);
        sink_text(&s, "symbol", in->symbol);
        sink_text(&s, "meaning", in->meaning);
        sink_number(&s, "value", in->value);
        sink_text(&s, "unit", llmperf_unit_name((llmperf_unit)in->unit));
        input_fields(&s, in);
        sink_end_object(&s);
    }
    sink_end_array(&s);
    put_notes(&s, &x->notes);
    sink_end_object(&s);
    return sink_close(&s, error);
}

typedef enum form { FORM_TEXT, FORM_JSON, FORM_CSV, FORM_MD, FORM_UNKNOWN } form;

static form form_of(const char *format, llmperf_error *error)
{
    static const char *const names[] = {"text", "json", "csv", "md"};
    for (int i = 0; i < FORM_UNKNOWN; i++)
        if (strcmp(format ? format : "text", names[i]) == 0)
            return (form)i;
    llmperf_fail(error, LLMPERF_E_USAGE,
                 "format '%s' is not known here; text, json, csv, md are allowed", format);
    return FORM_UNKNOWN;
}

llmperf_status llmperf_write_explanation(FILE *out, const char *format,
                                         const llmperf_explanation *explanation,
                                         const llmperf_text_style *style, llmperf_error *error)
{
    switch (form_of(format, error)) {
    case FORM_JSON:
        return json_explanation(out, explanation, error);
    case FORM_CSV:
        return csv_explanation(out, explanation, error);
    case FORM_MD:
        return page_explanation(out, true, explanation, false, error);
    case FORM_TEXT:
        return page_explanation(out, false, explanation, style && style->color, error);
    default:
        return LLMPERF_E_USAGE;
    }
}

static void list_row(sink *s, const char *name, const char *kind, const char *unit, bool needs_hw,
                     const char *meaning)
{
    sink_begin_row(s);
    if (!s->csv)
        sink_begin_object(s, NULL);
    sink_text(s, "name", name);
    sink_text(s, "kind", kind);
    sink_text(s, "unit", unit);
    sink_bool(s, "needs_hardware", needs_hw);
    sink_text(s, "meaning", meaning);
    if (!s->csv)
        sink_end_object(s);
    sink_end_row(s);
}

static llmperf_status record_list(FILE *out, bool csv, llmperf_error *error)
{
    sink s;
    sink_open(&s, out, csv);
    if (!csv) {
        sink_begin_object(&s, NULL);
        put_head(&s);
        sink_begin_array(&s, "fields");
    }
    for (int i = 0; i < FIELD_COUNT; i++)
        list_row(&s, FIELDS[i].path, "field", llmperf_unit_name((llmperf_unit)FIELDS[i].unit),
                 FIELDS[i].needs_hw, FIELDS[i].meaning);
    for (int i = 0; i < LLMPERF_OP_COUNT; i++)
        list_row(&s, llmperf_op_name((llmperf_op_id)i), "operator", "s", false,
                 "one launch: shape, FLOP, bytes, time");
    if (!csv) {
        sink_end_array(&s);
        put_notes(&s, NULL);
        sink_end_object(&s);
    }
    return sink_close(&s, error);
}

static llmperf_status page_list(FILE *out, bool markdown, bool color, llmperf_error *error)
{
    static const char *const headings[] = {"field", "meaning"};
    page p;
    char words[LLMPERF_TEXT_MAX * 2] = "";
    size_t used = 0;
    page_open(&p, out, markdown, color);
    page_title(&p, "What `llmperf explain` can explain");
    page_paragraph(&p, 0,
                   "The end of a path will do where only one fits (kv_bytes, tpot). Times "
                   "and rates also have .low and .high, batches .exact; * stands for a "
                   "dense operator.");
    page_gap(&p);
    page_table(&p, 2, headings);
    for (int i = 0; i < FIELD_COUNT; i++) {
        const char *cells[] = {FIELDS[i].path, FIELDS[i].meaning};
        page_row(&p, cells);
    }
    page_end_table(&p);
    for (int i = 0; i < LLMPERF_OP_COUNT && used + 32 < sizeof words; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", used ? ", " : "",
                                 llmperf_op_name((llmperf_op_id)i));
    page_heading(&p, "Operators (--phase prefill or decode)");
    page_paragraph(&p, 2, "  %s", words);
    return page_close(&p, error);
}

llmperf_status llmperf_write_explain_list(FILE *out, const char *format,
                                          const llmperf_text_style *style, llmperf_error *error)
{
    switch (form_of(format, error)) {
    case FORM_JSON:
        return record_list(out, false, error);
    case FORM_CSV:
        return record_list(out, true, error);
    case FORM_MD:
        return page_list(out, true, false, error);
    case FORM_TEXT:
        return page_list(out, false, style && style->color, error);
    default:
        return LLMPERF_E_USAGE;
    }
}
