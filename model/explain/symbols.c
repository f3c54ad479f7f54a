/* SPDX-License-Identifier: MIT */
/* Looks symbols, flags and macros up in the tables. */
#include "symbols.h"
#include "layer_kind.h"
#include "config_object.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- numbers --------------------------------------------------------------------------------- */

static const void *base_of(place_of of, const symbol_scope *s)
{
    const void *const bases[] = {
        [OF_LAYER] = s->layer,           [OF_MODEL] = s->c->model, [OF_CONFIG] = s->c,
        [OF_HARDWARE] = s->c->hw,        [OF_COUNTS] = s->counts,  [OF_OP] = s->op,
        [OF_PREDICTION] = s->prediction, [OF_TIME] = s->time,      [OF_FIT] = s->fit,
    };
    return bases[of];
}

double place_read(place at, const symbol_scope *scope)
{
    const char *base = base_of((place_of)at.of, scope);
    if (!base)
        return 0;
    const void *value = base + at.offset;
    switch (at.type) {
    case AS_BOOL:
        return *(const bool *)value;
    case AS_BYTE:
        return *(const uint8_t *)value;
    case AS_INT:
        return *(const int *)value;
    case AS_COUNT:
        return (double)*(const int64_t *)value;
    default:
        return *(const double *)value;
    }
}

llmperf_dtype symbol_format(const symbol *s, const symbol_scope *scope, double *ret_bytes)
{
    const llmperf_config *c = scope->c;
    llmperf_weight_class class = (llmperf_weight_class)s->detail;
    if (s->at.of != OF_NOTHING) { /* of activations and the KV cache */
        *ret_bytes = place_read(s->at, scope);
        return s->name[0] == 'a' ? c->workload.act_dtype : c->workload.kv_dtype;
    }
    if (class == LLMPERF_WEIGHT_HEAD && c->model->tied)
        class = LLMPERF_WEIGHT_EMBEDDING;
    bool outside = class == LLMPERF_WEIGHT_EMBEDDING || class == LLMPERF_WEIGHT_HEAD ||
                   (scope->outside && class == LLMPERF_WEIGHT_OTHER);
    const llmperf_config_weights *weights =
        outside ? &c->outside : &c->layer[scope->layer - c->model->layers];
    *ret_bytes = weights->bytes_per[class];
    return (llmperf_dtype)weights->dtype[class];
}

double symbol_read(const symbol *s, const symbol_scope *scope)
{
    double value;
    if (s->value)
        return s->value(scope);
    if (s->origin != SYMBOL_FORMAT)
        return place_read(s->at, scope);
    symbol_format(s, scope, &value);
    return value;
}

/* ---- symbols --------------------------------------------------------------------------------- */

const symbol *symbol_at(int index)
{
    for (const layer_rows *rows = rows_next(NULL); rows; rows = rows_next(rows))
        for (const symbol *s = rows->symbols; s->name; s++)
            if (index-- == 0)
                return s;
    return NULL;
}

const symbol *symbol_find(const char *name, const symbol_scope *scope, int *ret_index)
{
    const symbol *first = NULL;
    int index = 0, found = 0;
    for (const layer_rows *rows = rows_next(NULL); rows; rows = rows_next(rows))
        for (const symbol *s = rows->symbols; s->name; s++, index++) {
            if (strcmp(s->name, name) != 0)
                continue;
            if (!scope || symbol_read(s, scope) != 0) {
                if (ret_index)
                    *ret_index = index;
                return s;
            }
            found = first ? found : index;
            first = first ? first : s;
        }
    if (first && ret_index)
        *ret_index = found;
    return first;
}

bool symbol_value(const char *name, double *ret_value, void *scope)
{
    const symbol *s = symbol_find(name, scope, NULL);
    if (s)
        *ret_value = symbol_read(s, scope);
    return s != NULL;
}

/* ---- flags and alternatives ------------------------------------------------------------------ */

/* "moe.gated", a field of a layer kind; "ssm.mamba", a word of one that has words. */
static bool field_number(const char *name, const llmperf_layer *layer, double *ret_value)
{
    const char *dot = strchr(name, '.');
    for (int i = 0; dot && i < LAYER_KIND_COUNT; i++) {
        const layer_kind *kind = LAYER_KINDS[i];
        if (strncmp(kind->name, name, (size_t)(dot - name)) != 0)
            continue;
        for (const layer_field *f = kind->fields; f->key; f++) {
            bool word = f->type == FIELD_WORD && strcmp(field_word(f, layer), dot + 1) == 0;
            *ret_value = word ? 1 : (double)field_value(f, layer);
            if (word || strcmp(f->key, dot + 1) == 0)
                return true;
        }
        *ret_value = 0;
        return true;
    }
    return false;
}

/* The number of a flag, of a layer's field or of a symbol; false when there is none of that name. */
static bool flag_value(const char *name, const symbol_scope *scope, double *ret_value)
{
    for (const layer_rows *rows = rows_next(NULL); rows; rows = rows_next(rows))
        for (const flag *f = rows->flags; f && f->name; f++) {
            if (strcmp(f->name, name) != 0)
                continue;
            double value = f->holds ? f->holds(scope) : place_read(f->at, scope);
            *ret_value = f->is ? value == f->is : value;
            return true;
        }
    return field_number(name, scope->layer, ret_value) ||
           symbol_value(name, ret_value, (void *)scope);
}

static bool holds_until(const symbol_scope *scope, const char *flags, const char *end)
{
    while (flags < end) {
        char name[FORMULA_NAME_MAX];
        double value = 0;
        bool wanted = *flags != '!';
        flags += !wanted;
        int length = (int)strcspn(flags, " ");
        snprintf(name, sizeof name, "%.*s", length, flags);
        flag_value(name, scope, &value);
        if ((value != 0) != wanted)
            return false;
        flags += length;
        flags += strspn(flags, " ");
    }
    return true;
}

bool scope_holds(const symbol_scope *scope, const char *flags)
{
    return !flags || holds_until(scope, flags, flags + strlen(flags));
}

const char *scope_choose(const symbol_scope *scope, const char *text)
{
    while (text) {
        const char *bar = strstr(text, " | "), *mark = strstr(text, " ? ");
        bool conditional = mark && (!bar || mark < bar);
        if (!conditional || holds_until(scope, text, mark))
            return conditional ? mark + 3 : text;
        text = bar ? bar + 3 : NULL;
    }
    return NULL;
}

/* ---- macros ---------------------------------------------------------------------------------- */

typedef struct expansion {
    const symbol_scope *scope;
    const macro *own;
    char number[LLMPERF_DOUBLE_TEXT_MAX];
} expansion;

static const char *find_among(const macro *m, const char *name)
{
    while (m && m->name && strcmp(m->name, name) != 0)
        m++;
    return m ? m->text : NULL;
}

static const char *find_macro(const char *name, void *context)
{
    expansion *x = context;
    const char *text = find_among(x->own, name);
    double value;
    for (const layer_rows *rows = rows_next(NULL); rows && !text; rows = rows_next(rows))
        text = find_among(rows->macros, name);
    if (text)
        return scope_choose(x->scope, text);
    if (!flag_value(name + 1, x->scope, &value))
        return NULL;
    const symbol *s = symbol_find(name + 1, NULL, NULL);
    if (!s)
        return llmperf_format_double(value, x->number);
    /* one format for all weights is the common case: then w stands for each */
    double w = 0;
    symbol_value("w", &w, (void *)x->scope);
    return value == w ? "w" : s->name;
}

void scope_expand(const symbol_scope *scope, const macro *own, const char *text, char *buffer)
{
    expansion x = {.scope = scope, .own = own};
    const formula_macros macros = {find_macro, &x};
    formula f;
    buffer[0] = '\0';
    text = scope_choose(scope, text);
    if (!text)
        return;
    if (!formula_parse(text, &macros, &f) ||
        !formula_print(&f, FORMULA_PEOPLE, NULL, NULL, buffer, FORMULA_TEXT_MAX))
        snprintf(buffer, FORMULA_TEXT_MAX, "? %s", f.wrong);
    else if (strcmp(buffer, "0") == 0)
        buffer[0] = '\0';
}
