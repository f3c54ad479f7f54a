/* SPDX-License-Identifier: MIT */
/* The inputs of an explanation: what a symbol is, and where its value comes from. */
#include "explain.h"
#include "model_object.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void explain_print(char *buffer, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(buffer, size, format, arguments);
    va_end(arguments);
}

void *explain_grow(explainer *e, void *list, int count, size_t size)
{
    bool full = (count & (count - 1)) == 0; /* a power of two, or nothing yet */
    void *grown = full ? realloc(list, (count > 0 ? 2 * (size_t)count : 1) * size) : list;
    e->out_of_memory |= !grown;
    return grown;
}

/* ---- where a value comes from ---------------------------------------------------------------- */

/* Did the user give the option, by its long name? */
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

#define SAY(origin_of_it, ...)                                                                     \
    do {                                                                                           \
        input->origin = LLMPERF_ORIGIN_##origin_of_it;                                             \
        explain_print(input->source, sizeof input->source, __VA_ARGS__);                           \
    } while (0)

static void from_option(const explainer *e, const symbol *s, llmperf_explain_input *input)
{
    const char *option = s->source;
    bool prefill = !e->scope.decode, cached = strcmp(s->name, "p") == 0;
    if (prefill && strcmp(s->name, "q") == 0) {
        SAY(COMPUTED, "the prompt without its cached tokens");
        return;
    }
    if (prefill && cached)
        option = "cached";
    if (is_given(e->scope.asked, option))
        SAY(OPTION, "--%s", option);
    else if (cached && !prefill)
        SAY(DEFAULT, "default of --context: prompt + generate/2");
    else
        SAY(DEFAULT, "default of --%s", option);
}

/* Bytes of an element: by an option, or by the checkpoint. */
static void from_format(const explainer *e, const symbol *s, llmperf_explain_input *input)
{
    const llmperf_model *model = e->c->model;
    double bytes;
    const char *dtype = llmperf_dtype_name(symbol_format(s, &e->scope, &bytes));
    bool of_weights = s->name[0] == 'w';
    if (s->source && is_given(e->scope.asked, s->source))
        SAY(OPTION, "%s: --%s", dtype, s->source);
    else if (strcmp(s->name, "c") == 0 && !model->kv_dtype)
        SAY(DEFAULT, "%s: as the activations", dtype);
    else
        SAY(MODEL, "%s: the checkpoint's format%s%s", dtype,
            of_weights && model->scheme[0] ? ", " : "", of_weights ? model->scheme : "");
}

static void from_hardware(const explainer *e, llmperf_hw_field field, llmperf_explain_input *input)
{
    const llmperf_provenance *p = llmperf_hw_provenance(e->c->hw, field);
    input->confidence = p->confidence;
    SAY(HARDWARE, "%.80s%s%.280s", e->c->hw->name, p->source[0] ? ": " : "", p->source);
}

static void from(const explainer *e, const symbol *s, llmperf_explain_input *input)
{
    const llmperf_model *model = e->c->model;
    char key[96];
    switch (s->origin) {
    case SYMBOL_MODEL:
        SAY(MODEL, "%s%s%.250s", model->name, model->source[0] ? ": " : "", model->source);
        break;
    case SYMBOL_OPTION:
        from_option(e, s, input);
        break;
    case SYMBOL_FORMAT:
        from_format(e, s, input);
        break;
    case SYMBOL_FIELD:
        SAY(COMPUTED, "explain %s", s->source);
        break;
    case SYMBOL_HARDWARE:
        from_hardware(e, (llmperf_hw_field)s->detail, input);
        break;
    case SYMBOL_FIT:
        SAY(CALIBRATION, "%.90s, %s", e->c->calib->name,
            llmperf_calib_describe(&e->scope.fit->key, key, sizeof key));
        break;
    case SYMBOL_CONSTANT:
        SAY(CONSTANT, "%s", s->source);
        break;
    default:
        SAY(COMPUTED, "%s", s->source);
        if (strcmp(s->name, "L") == 0)
            SAY(COMPUTED, "p = %.0f cached + q = %.0f new",
                symbol_read(symbol_find("p", NULL, NULL), &e->scope),
                symbol_read(symbol_find("q", NULL, NULL), &e->scope));
    }
}

/* ---- symbols of an explanation --------------------------------------------------------------- */

static const llmperf_explain_input *find_named(const explainer *e, const char *name)
{
    for (int i = 0; i < e->named_count; i++)
        if (strcmp(e->named[i].symbol, name) == 0)
            return &e->named[i];
    return NULL;
}

static const symbol *find_symbol(const explainer *e, const char *name)
{
    for (const symbol *s = e->own; s && s->name; s++)
        if (strcmp(s->name, name) == 0)
            return s;
    return symbol_find(name, &e->scope, NULL);
}

bool explain_look_up(const char *name, double *ret_value, void *context)
{
    const explainer *e = context;
    const llmperf_explain_input *named = find_named(e, name);
    const symbol *s = named ? NULL : find_symbol(e, name);
    if (named || s)
        *ret_value = named ? named->value : symbol_read(s, &e->scope);
    return named || s;
}

bool explain_describe(const explainer *e, const char *name, llmperf_explain_input *ret_input)
{
    const llmperf_explain_input *named = find_named(e, name);
    const symbol *s = named ? NULL : find_symbol(e, name);
    if (named)
        *ret_input = *named;
    if (!s)
        return named != NULL;
    memset(ret_input, 0, sizeof *ret_input);
    ret_input->value = symbol_read(s, &e->scope);
    ret_input->unit = s->unit;
    ret_input->assumed = s->assumed;
    explain_print(ret_input->symbol, sizeof ret_input->symbol, "%s", name);
    explain_print(ret_input->meaning, sizeof ret_input->meaning, "%s", s->meaning);
    from(e, s, ret_input);
    return true;
}

void explain_list_input(const char *name, void *context)
{
    explainer *e = context;
    llmperf_explanation *x = e->x;
    llmperf_explain_input input;
    if (!explain_describe(e, name, &input))
        return;
    for (int i = 0; i < x->input_count; i++)
        if (strcmp(x->inputs[i].symbol, name) == 0 && x->inputs[i].value == input.value)
            return;
    llmperf_explain_input *inputs = explain_grow(e, x->inputs, x->input_count, sizeof *inputs);
    if (!inputs)
        return;
    x->inputs = inputs;
    x->inputs[x->input_count++] = input;
}

llmperf_explain_input *explain_name(explainer *e, const char *name, double value, llmperf_unit unit,
                                    const char *meaning)
{
    int at = 0;
    while (at < e->named_count && strcmp(e->named[at].symbol, name) != 0)
        at++;
    at = at < NAMED_MAX ? at : NAMED_MAX - 1;
    e->named_count += at == e->named_count;
    llmperf_explain_input *input = &e->named[at];
    *input = (llmperf_explain_input){.value = value, .unit = (uint8_t)unit};
    explain_print(input->symbol, sizeof input->symbol, "%s", name);
    explain_print(input->meaning, sizeof input->meaning, "%s", meaning);
    SAY(COMPUTED, "above");
    return input;
}

llmperf_explain_input *explain_name_hardware(explainer *e, const char *name, double value,
                                             llmperf_unit unit, const char *meaning,
                                             llmperf_hw_field field)
{
    llmperf_explain_input *input = explain_name(e, name, value, unit, meaning);
    from_hardware(e, field, input);
    return input;
}

void explain_name_peak(explainer *e, llmperf_dtype dtype)
{
    char meaning[64];
    explain_print(meaning, sizeof meaning, "%s peak, dense", llmperf_dtype_name(dtype));
    explain_name_hardware(e, "P", e->c->hw->peak_flop_per_s[dtype], LLMPERF_UNIT_FLOP_PER_S,
                          meaning, LLMPERF_HW_PEAK);
}
