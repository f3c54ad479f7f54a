/* SPDX-License-Identifier: MIT */
/* Explains the numbers of a prediction: what a name means, and who explains it. */
#include "explain.h"
#include "entry.h"
#include "model_object.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---------------------------------------------------------------------------------- */

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

int llmperf_explain_field_count(void)
{
    return NUMBER_COUNT;
}

llmperf_explain_field llmperf_explain_field_at(int index)
{
    const field_row *row = &NUMBERS[index < 0 || index >= NUMBER_COUNT ? 0 : index];
    return (llmperf_explain_field){row->path, row->meaning, row->unit, field_needs_hw(row)};
}

/* ---- finding what a name means -------------------------------------------------------------- */

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

static bool begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The name's words occur in the path in this order, its last word at the path's end. */
static bool name_stands_for(const char *name, const char *path, int loose)
{
    char name_text[128], path_text[128], *name_words[WORDS_MAX], *path_words[WORDS_MAX];
    explain_print(name_text, sizeof name_text, "%s", name);
    explain_print(path_text, sizeof path_text, "%s", path);
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
        for (int i = 0; i < NUMBER_COUNT; i++) {
            const field_row *row = &NUMBERS[i];
            if (strchr(row->path, '*'))
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
    explain_print(name, sizeof name, "%.*s", (int)(colon ? colon - text : 60), text);
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

enum { NAME_MAX_SHOWN = 64 };

/* The last word of a path. */
static const char *last_word(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot ? dot + 1 : path;
}

/* The known name that is most like an unknown one, with or without its unit; "" when none is or memory
 * is out. */
static void nearest_name(const char *name, char ret_near[NAME_MAX_SHOWN])
{
    enum { LEAST_BARE = 4 };
    const size_t most = 3 * (size_t)NUMBER_COUNT + LLMPERF_OP_COUNT + 1;
    const char **words = calloc(most, sizeof *words);
    char(*bare)[NAME_MAX_SHOWN] = calloc((size_t)NUMBER_COUNT, sizeof *bare); /* without the unit */
    int count = 0;
    ret_near[0] = '\0';
    for (int i = 0; words && bare && i < NUMBER_COUNT; i++) {
        const char *path = NUMBERS[i].path, *last = last_word(path);
        words[count++] = path;
        if (last[0] == '*')
            continue;
        words[count++] = last;
        size_t length = without_unit(last);
        explain_print(bare[i], sizeof bare[i], "%.*s", (int)length, last);
        if (length >= LEAST_BARE)
            words[count++] = bare[i];
    }
    for (int i = 0; words && i < LLMPERF_OP_COUNT; i++)
        words[count++] = llmperf_op_name((llmperf_op_id)i);
    const char *near = words ? llmperf_nearest(name, words) : NULL;
    if (near)
        explain_print(ret_near, NAME_MAX_SHOWN, "%s", near);
    free(words);
    free(bare);
}

/* Length of a path's first word where more follow. */
static int group_length(const char *path)
{
    const char *dot = strchr(path, '.');
    return dot ? (int)(dot - path) : 0;
}

/* The known fields by group, a line each, and the operators. */
static llmperf_status list_names(llmperf_error *error)
{
    char line[LLMPERF_TEXT_MAX * 3] = "";
    size_t used = 0;
    for (int i = 0; i < NUMBER_COUNT; i++) {
        const char *path = NUMBERS[i].path, *next = i + 1 < NUMBER_COUNT ? NUMBERS[i + 1].path : "";
        int group = group_length(path);
        if (used + NAME_MAX_SHOWN < sizeof line)
            used +=
                (size_t)snprintf(line + used, sizeof line - used, "%s%s", used ? ", " : "", path);
        bool ends = i + 1 == NUMBER_COUNT || group != group_length(next) ||
                    strncmp(path, next, (size_t)group) != 0;
        if (ends)
            llmperf_fail(error, LLMPERF_E_USAGE, "  %s", line);
        used = ends ? 0 : used;
    }
    explain_operators(line, sizeof line);
    return llmperf_fail(error, LLMPERF_E_USAGE, "  operators: %s", line);
}

static llmperf_status unknown_name(const char *name, llmperf_error *error)
{
    char near[NAME_MAX_SHOWN];
    nearest_name(name, near);
    llmperf_fail(error, LLMPERF_E_USAGE, "'%s' is neither a field nor an operator%s%s%s", name,
                 near[0] ? "; did you mean '" : "", near, near[0] ? "'?" : "");
    return list_names(error);
}

/* Has a field such a part? */
static bool has_part(const field_row *row, part which)
{
    bool op_part = which == PART_N || which == PART_K;
    return row->kind == FIELD_CROSSING
               ? !op_part
               : row->kind != FIELD_PLAIN && !op_part && which != PART_EXACT;
}

static llmperf_status ambiguous(const char *name, const field_row *const *matches, int count,
                                llmperf_error *error)
{
    char words[LLMPERF_TEXT_MAX] = "";
    size_t used = 0;
    for (int i = 0; i < count && used + 64 < sizeof words; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s", used ? ", " : "",
                                 matches[i]->path);
    return llmperf_fail(error, LLMPERF_E_USAGE, "'%s' is ambiguous: %s", name, words);
}

static llmperf_status resolve(const char *name, target_of_name *ret_target, llmperf_error *error)
{
    const field_row *matches[MATCHES_MAX];
    target_of_name target = {.op = LLMPERF_OP_COUNT, .which = 1};
    char base[128];
    if (strlen(name) >= sizeof base)
        return unknown_name("?", error);
    explain_print(base, sizeof base, "%s",
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
        for (int k = 0; k < count; k++)
            if (!has_part(matches[k], target.part))
                count = 0;
        break;
    }
    if (count > 1)
        return ambiguous(name, matches, count, error);
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
    explain_print(x->result.name, sizeof x->result.name, "compute_bound_batch.%s.%s",
                  target->calibrated ? "calibrated" : "datasheet", llmperf_op_name(target->op));
    explain_print(x->meaning, sizeof x->meaning, "batch from which on %s is compute-bound",
                  llmperf_op_name(target->op));
    x->result.unit = target->part == PART_N || target->part == PART_K ? LLMPERF_UNIT_COUNT
                                                                      : LLMPERF_UNIT_SEQUENCES;
    if (!explain_has_crossings(e, target->calibrated))
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
    NEEDS(name, error);
    target_of_name target;
    return resolve(name, &target, error);
}

void llmperf_explanation_free(llmperf_explanation *explanation)
{
    if (!explanation)
        return;
    free(explanation->steps);
    free(explanation->terms);
    free(explanation->inputs);
    free(explanation);
}

/* One device: what the model counts as such. */
static void count_whole(explainer *e)
{
    const llmperf_model *model = e->c->model;
    e->whole = *e->c;
    e->whole.workload.tp = 1;
    e->counts = (whole_counts){
        .params = llmperf_model_params(model),
        .weight_bytes = llmperf_model_weight_bytes(model, e->c),
        .kv_bytes_per_token = llmperf_kv_bytes_per_token(model, e->c->kv_bytes_per),
        .kv_bytes_per_token_long = llmperf_kv_bytes_per_token_long(model, e->c->kv_bytes_per),
        .index_bytes_per_token = llmperf_index_bytes_per_token(model),
        .state_bytes = llmperf_state_bytes_per_sequence(model),
        .layers = (double)llmperf_model_layers(model),
    };
}

static llmperf_status explain_target(explainer *e, const target_of_name *target,
                                     llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    if (target->is_crossing)
        status = explain_crossing(e, target, error);
    else if (target->op != LLMPERF_OP_COUNT)
        status = explain_operator(e, target->op, target->which, error);
    else if (target->field)
        explain_field(e, target->field);
    if (e->out_of_memory && status == LLMPERF_OK)
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    return status;
}

llmperf_status llmperf_explain(const llmperf_explain_query *query,
                               llmperf_explanation **ret_explanation, llmperf_error *error)
{
    NEEDS(query && query->name && query->c && query->asked && ret_explanation, error);
    target_of_name target = {.op = LLMPERF_OP_COUNT};
    llmperf_status status = resolve(query->name, &target, error);
    if (status != LLMPERF_OK)
        return status;
    bool needs_hw = target.is_crossing || (target.field && field_needs_hw(target.field));
    if (needs_hw && !query->prediction)
        return llmperf_fail(error, LLMPERF_E_USAGE, "'%s' needs HARDWARE behind the model",
                            query->name);
    llmperf_explanation *x = calloc(1, sizeof *x);
    explainer *e = calloc(1, sizeof *e);
    if (x && e) {
        bool decode = target.field || target.is_crossing || !query->prefill;
        e->c = query->c;
        e->p = query->prediction;
        e->x = x;
        e->part = target.part;
        count_whole(e);
        e->scope = (symbol_scope){.c = e->c,
                                  .layer = &e->c->model->layers[0],
                                  .decode = decode,
                                  .asked = query->asked,
                                  .prediction = e->p,
                                  .counts = &e->counts};
        x->exists = true;
        x->result.evaluated = NAN;
        status = explain_target(e, &target, error);
    } else {
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    free(e);
    if (status == LLMPERF_OK)
        *ret_explanation = x;
    else
        llmperf_explanation_free(x);
    return status;
}
