/* SPDX-License-Identifier: MIT */
/*
 * Layer kinds as data: what holds for the table of fields of every kind, those to come included, and
 * that files, the record and the checks follow it.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layer_kind.h"
#include "llmperf/report.h"
#include "model_object.h"
#include "read.h"

/* For each kind and field. */
#define EACH_FIELD(kind, f)                                                                        \
    for (int k_ = 0; k_ < LAYER_KIND_COUNT; k_++)                                                  \
        for (const layer_kind *kind = LAYER_KINDS[k_]; kind; kind = NULL)                          \
            for (const layer_field *f = kind->fields; f->key; f++)

static int field_count(const layer_kind *kind)
{
    int count = 0;
    while (kind->fields[count].key)
        count++;
    return count;
}

Test(layer_kind, the_first_field_says_whether_a_layer_has_the_kind)
{
    for (int k = 0; k < LAYER_KIND_COUNT; k++) {
        const layer_kind *kind = LAYER_KINDS[k];
        llmperf_layer layer = {0};
        cr_assert(kind->fields[0].required, "%s", kind->name);
        cr_assert_neq(kind->fields[0].type, FIELD_FLAG, "%s", kind->name);
        cr_assert_leq(field_count(kind), LAYER_FIELDS_MAX, "%s", kind->name);
        cr_assert(!kind_in(kind, &layer), "%s", kind->name);
        field_set(&kind->fields[0], &layer, 1);
        cr_assert(kind_in(kind, &layer), "%s", kind->name);
        cr_assert_eq(layer_is_empty(&layer), kind->emit == NULL, "%s", kind->name);
    }
}

Test(layer_kind, fields_share_no_byte_of_a_layer)
{
    static int owner[sizeof(llmperf_layer)];
    int number = 0;
    EACH_FIELD(kind, f)
    {
        number++;
        cr_assert_leq(f->offset + f->size, sizeof(llmperf_layer), "%s.%s", kind->name, f->key);
        for (size_t i = f->offset; i < f->offset + f->size; i++) {
            cr_assert_eq(owner[i], 0, "%s.%s: byte %zu is field %d's too", kind->name, f->key, i,
                         owner[i]);
            owner[i] = number;
        }
    }
    cr_assert_gt(number, 40);
}

Test(layer_kind, keys_are_unique_and_what_they_refer_to_is_there)
{
    for (int k = 0; k < LAYER_KIND_COUNT; k++) {
        const layer_kind *kind = LAYER_KINDS[k];
        bool partner = !kind->not_with;
        for (int other = 0; other < LAYER_KIND_COUNT; other++) {
            cr_assert(other == k || strcmp(kind->name, LAYER_KINDS[other]->name) != 0, "%s",
                      kind->name);
            partner |= kind->not_with && strcmp(kind->not_with, LAYER_KINDS[other]->name) == 0;
        }
        cr_assert(partner, "%s goes not with %s, which is no kind", kind->name, kind->not_with);
        cr_assert_eq(kind->widest == NULL, kind->widest_formula == NULL, "%s", kind->name);
    }
    EACH_FIELD(kind, f)
    {
        cr_assert_eq(field_of(kind, f->key), f, "%s.%s is given twice", kind->name, f->key);
        cr_assert(!f->like || field_of(kind, f->like), "%s.%s", kind->name, f->key);
        cr_assert_eq(f->type == FIELD_WORD, f->words != NULL, "%s.%s", kind->name, f->key);
        cr_assert(f->size == 1 || f->size == 8, "%s.%s", kind->name, f->key);
        cr_assert_eq(f->type == FIELD_COUNT, f->most > 0, "%s.%s", kind->name, f->key);
    }
    cr_assert_null(field_of(LAYER_KINDS[0], "no such key"));
}

/* The values of all fields together. */
static int64_t sum_of_fields(const llmperf_layer *layer)
{
    int64_t sum = 0;
    EACH_FIELD(kind, f)
    sum += field_value(f, layer);
    return sum;
}

Test(layer_kind, fields_are_set_and_read_alone)
{
    EACH_FIELD(kind, f)
    {
        llmperf_layer layer = {0};
        field_set(f, &layer, 1);
        cr_assert_eq(field_value(f, &layer), 1, "%s.%s", kind->name, f->key);
        cr_assert_eq(sum_of_fields(&layer), 1, "%s.%s", kind->name, f->key);
    }
}

/* Counts beyond both ends of their range, and words beyond the list, are out of range. */
Test(layer_kind, ranges_end_where_their_rows_say)
{
    EACH_FIELD(kind, f)
    {
        llmperf_layer layer = {0};
        int64_t words = 0;
        if (f->type == FIELD_FLAG)
            continue;
        for (; f->words && f->words[words]; words++)
            ;
        int64_t least = f->words ? 0 : f->least, most = f->words ? words - 1 : f->most;
        field_set(f, &layer, least);
        cr_assert(field_in_range(f, &layer), "%s.%s %lld", kind->name, f->key, (long long)least);
        field_set(f, &layer, most);
        cr_assert(field_in_range(f, &layer), "%s.%s %lld", kind->name, f->key, (long long)most);
        field_set(f, &layer, most + 1);
        cr_assert(!field_in_range(f, &layer), "%s.%s", kind->name, f->key);
        if (f->words)
            cr_assert_str_eq(field_word(f, &layer), "?");
        if (f->size == 1)
            continue;
        field_set(f, &layer, -1);
        cr_assert(!field_in_range(f, &layer), "%s.%s", kind->name, f->key);
    }
}

/* The whole file as one text; the caller frees it. */
static char *file_text(const char *path)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    char *text = calloc(1, 1 << 20);
    cr_assert_gt(fread(text, 1, (1 << 20) - 1, file), 0u);
    fclose(file);
    return text;
}

static bool is_word_character(char c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool has_word(const char *text, const char *end, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at && at < end; at = strstr(at + 1, word))
        if (!is_word_character(at[-1]) && !is_word_character(at[length]))
            return true;
    return false;
}

/* specs/README.md: from the line of the kind, indented by six, to the next key as far to the left. */
Test(layer_kind, every_key_is_documented)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/specs/README.md", getenv("LLMPERF_SOURCE"));
    char *text = file_text(path);
    EACH_FIELD(kind, f)
    {
        char line[64];
        snprintf(line, sizeof line, "\n      %s ", kind->name);
        const char *start = strstr(text, line);
        cr_assert_not_null(start, "specs/README.md does not explain %s", kind->name);
        const char *end = strchr(start + 1, '\n');
        while (end && strncmp(end, "\n        ", 9) == 0)
            end = strchr(end + 1, '\n');
        cr_assert(end && has_word(start, end, f->key), "specs/README.md: %s.%s", kind->name,
                  f->key);
    }
    free(text);
}

/* A model file of one layer that holds the kind, with every field other than absent: counts are 2. */
static void write_file(const layer_kind *kind, char *buffer, size_t size)
{
    const char *host = kind->emit ? "" : "    attention: {heads: 2, kv_heads: 2, head_dim: 2}\n";
    size_t used = (size_t)snprintf(buffer, size,
                                   "name: toy\ndtype: bf16\nhidden: 8\nvocab: 8\nlayers:\n"
                                   "  - count: 1\n%s    %s: {",
                                   host, kind->name);
    for (const layer_field *f = kind->fields; f->key; f++) {
        const char *value = f->type == FIELD_WORD   ? f->words[1]
                            : f->type == FIELD_FLAG ? (f->absent ? "false" : "true")
                                                    : "2";
        used += (size_t)snprintf(buffer + used, size - used, "%s%s: %s",
                                 f == kind->fields ? "" : ", ", f->key, value);
    }
    snprintf(buffer + used, size - used, "}\n");
}

static void load(const char *text, llmperf_model *ret_model)
{
    llmperf_error error = {0};
    llmperf_status status = model_load_text("toy.yaml", text, strlen(text), ret_model, &error);
    cr_assert(status == LLMPERF_OK, "%s\n%s", error.text, text);
}

static void written(const llmperf_model *model, const char *format, char *buffer, size_t size)
{
    FILE *out = fmemopen(buffer, size, "w");
    llmperf_error error = {0};
    cr_assert(llmperf_write_model(out, format, model, NULL, &error) == LLMPERF_OK, "%s",
              error.text);
    fclose(out);
}

Test(layer_kind, files_and_the_record_hold_every_field)
{
    static char file[4096], yaml[8192], json[16384];
    static llmperf_model model, again;
    for (int k = 0; k < LAYER_KIND_COUNT; k++) {
        const layer_kind *kind = LAYER_KINDS[k];
        write_file(kind, file, sizeof file);
        load(file, &model);
        const llmperf_layer *layer = &model.layers[0];
        written(&model, "yaml", yaml, sizeof yaml);
        written(&model, "json", json, sizeof json);
        load(yaml, &again);
        char name[64];
        snprintf(name, sizeof name, "\"%s\": {", kind->name);
        const char *record = strstr(json, name);
        cr_assert_not_null(record, "%s", json);
        const char *end = strchr(record, '}');
        for (const layer_field *f = kind->fields; f->key; f++) {
            int64_t want = f->type == FIELD_WORD ? 1 : f->type == FIELD_FLAG ? !f->absent : 2;
            cr_assert_eq(field_value(f, layer), want, "%s.%s", kind->name, f->key);
            cr_assert_eq(field_value(f, &again.layers[0]), want, "%s.%s", kind->name, f->key);
            snprintf(name, sizeof name, "\"%s\": ", f->key);
            const char *key = strstr(record, name);
            cr_assert_eq(key != NULL && key < end, !f->file_only, "%s.%s", kind->name, f->key);
        }
    }
}

Test(layer_kind, what_is_absent_is_not_written)
{
    static char yaml[8192];
    static llmperf_model model;
    load("name: toy\ndtype: bf16\nhidden: 8\nvocab: 8\nlayers:\n  - count: 1\n"
         "    attention: {heads: 4, kv_heads: 2, head_dim: 2}\n"
         "    ssm: {kind: mamba2, heads: 1, head_dim: 2, state: 3}\n"
         "    mlp: {ffn: 16}\n",
         &model);
    cr_assert(model.layers[0].attention.rope);
    cr_assert_eq(model.layers[0].attention.value_dim, 2);
    cr_assert_eq(model.layers[0].ssm.groups, 1);
    cr_assert(model.layers[0].mlp.gated);
    cr_assert(!model.layers[0].moe.gated, "there is no moe");
    written(&model, "yaml", yaml, sizeof yaml);
    cr_assert(strstr(yaml, "    attention: {heads: 4, kv_heads: 2, head_dim: 2}\n"), "%s", yaml);
    cr_assert(strstr(yaml, "    ssm: {kind: mamba2, heads: 1, head_dim: 2, state: 3, groups: 1}\n"),
              "%s", yaml);
    cr_assert(strstr(yaml, "    mlp: {ffn: 16}\n"), "%s", yaml);
}

Test(layer_kind, describes_itself_by_its_required_fields)
{
    static const layer_field fields[] = {
        {OWN_FIELD("width", 0, 1, 64), .required = true},
        {OWN_FIELD("kernel", 1, 1, 64), .required = true},
        {OWN_FIELD("extra", 2, 0, 64)},
        {0},
    };
    static const layer_kind kind = {.name = "mixer", .fields = fields};
    const llmperf_layer layer = {.own = {24, 3, 7}};
    char text[64], cut[8];
    kind_describe(&kind, &layer, text, sizeof text);
    cr_assert_str_eq(text, "mixer, width 24, kernel 3");
    kind_describe(&kind, &layer, cut, sizeof cut);
    cr_assert_str_eq(cut, "mixer, ");
}
