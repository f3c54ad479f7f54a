/* SPDX-License-Identifier: MIT */
/* Specifications as YAML that our reader takes back to the same value. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "layer_kind.h"
#include "llmperf/predict.h"
#include "read.h"
#include "writers.h"
#include "model_object.h"

/* Characters that YAML does not take as they stand, or takes for the end of a line: the number of
 * the one that starts at `at` and its length; 0 = it may stand. */
static unsigned yaml_special(const unsigned char *at, int *ret_length)
{
    *ret_length = 1;
    if (*at < 0x20 || *at == 0x7F)
        return *at;
    *ret_length = 2;
    if (at[0] == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0) /* C1 control characters, next line */
        return at[1];
    *ret_length = 3;
    if (at[0] == 0xE2 && at[1] == 0x80 && (at[2] == 0xA8 || at[2] == 0xA9)) /* separators */
        return 0x2000u + (at[2] & 0x3F);
    if (at[0] == 0xEF && at[1] == 0xBB && at[2] == 0xBF)
        return 0xFEFF;
    if (at[0] == 0xEF && at[1] == 0xBF && at[2] >= 0xBE)
        return 0xFFC0u + (at[2] & 0x3F);
    return 0;
}

void yaml_quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int length;
        unsigned special = yaml_special(c, &length);
        if (special) {
            fprintf(out, special < 0x100 ? "\\x%02x" : "\\u%04x", special);
            c += length;
            continue;
        }
        if (*c == '"' || *c == '\\')
            fputc('\\', out);
        fputc(*c++, out);
    }
    fputc('"', out);
}

void yaml_put_text(FILE *out, const char *key, const char *value)
{
    if (!value[0])
        return;
    fprintf(out, "%s: ", key);
    yaml_quoted(out, value);
    fputc('\n', out);
}

void yaml_number(FILE *out, double value)
{
    char text[LLMPERF_DOUBLE_TEXT_MAX];
    fputs(isinf(value) ? "max" : llmperf_format_double(value, text), out);
}

void yaml_put_number(FILE *out, const char *key, double value)
{
    if (value == 0)
        return;
    fprintf(out, "%s: ", key);
    yaml_number(out, value);
    fputc('\n', out);
}

void yaml_put_count(FILE *out, const char *key, int64_t value)
{
    if (value != 0)
        fprintf(out, "%s: %" PRId64 "\n", key, value);
}

static void text(FILE *out, const char *key, const char *value)
{
    if (!value[0])
        return;
    fprintf(out, "%s: ", key);
    yaml_quoted(out, value);
    fputc('\n', out);
}

static void integer(FILE *out, const char *key, int64_t value)
{
    if (value != 0)
        fprintf(out, "%s: %" PRId64 "\n", key, value);
}

static void flag(FILE *out, const char *key, bool value)
{
    fprintf(out, "%s: %s\n", key, value ? "true" : "false");
}

/* The exact value in its base unit: "3350000000000 B/s" reads back to the last digit. */
static void quantity(FILE *out, const char *key, double value, const char *unit)
{
    char number[LLMPERF_DOUBLE_TEXT_MAX];
    if (value > 0)
        fprintf(out, "%s: %s %s\n", key, llmperf_format_double(value, number), unit);
}

static void names(FILE *out, int count, const char (*aliases)[LLMPERF_NAME_MAX])
{
    if (count == 0)
        return;
    fputs("aliases: [", out);
    for (int i = 0; i < count; i++) {
        fputs(i ? ", " : "", out);
        yaml_quoted(out, aliases[i]);
    }
    fputs("]\n", out);
}

static void notes(FILE *out, const llmperf_notes *list)
{
    if (list->count > 0)
        fputs("notes:\n", out);
    for (int i = 0; i < list->count; i++) {
        fputs("  - ", out);
        yaml_quoted(out, list->text[i]);
        fputc('\n', out);
    }
}

static void kind_field(FILE *out, const layer_field *f, const llmperf_layer *layer)
{
    int64_t value = field_value(f, layer);
    if (f->type == FIELD_WORD)
        fprintf(out, "%s: %s", f->key, field_word(f, layer));
    else if (f->type == FIELD_FLAG)
        fprintf(out, "%s: %s", f->key, value ? "true" : "false");
    else
        fprintf(out, "%s: %" PRId64, f->key, value);
}

/* mlp: {ffn: 14336, gated: false}: what the file would mean without the key is left out. */
static void kind_map(FILE *out, const layer_kind *kind, const llmperf_layer *layer)
{
    bool first = true;
    fprintf(out, "    %s: {", kind->name);
    for (const layer_field *f = kind->fields; f->key; f++) {
        bool said =
            f->required || f->always || field_value(f, layer) != field_absent(kind, f, layer);
        if (!said)
            continue;
        fputs(first ? "" : ", ", out);
        first = false;
        kind_field(out, f, layer);
    }
    fputs("}\n", out);
}

/* weights: {experts: {dtype: mxfp4, bits: 4.25}}; formats that are the plain dtype as a word. */
static void format_map(FILE *out, const char *indent, const llmperf_weight_format *formats)
{
    char number[LLMPERF_DOUBLE_TEXT_MAX];
    bool first = true;
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        const llmperf_weight_format *f = &formats[i];
        if (!f->dtype)
            continue;
        fprintf(out, first ? "%sweights: {%s: " : "%.0s, %s: ", indent, spec_weight_word(i));
        first = false;
        const char *dtype = llmperf_dtype_name((llmperf_dtype)f->dtype);
        if (f->bits == llmperf_dtype_bits((llmperf_dtype)f->dtype) && !f->operand) {
            fputs(dtype, out);
            continue;
        }
        fprintf(out, "{dtype: %s, bits: %s", dtype, llmperf_format_double(f->bits, number));
        if (f->operand)
            fprintf(out, ", operand: %s", llmperf_dtype_name((llmperf_dtype)f->operand));
        fputc('}', out);
    }
    if (!first)
        fputs("}\n", out);
}

static void layer_shape(FILE *out, const llmperf_layer *layer)
{
    fprintf(out, "  - count: %" PRId64 "\n", layer->count);
    if (layer->norms != 2)
        fprintf(out, "    norms: %" PRId64 "\n", layer->norms);
    if (layer->parallel)
        fputs("    parallel: true\n", out);
    for (int k = 0; k < LAYER_KIND_COUNT; k++)
        if (kind_in(LAYER_KINDS[k], layer))
            kind_map(out, LAYER_KINDS[k], layer);
    format_map(out, "    ", layer->weights);
}

static void weights(FILE *out, const llmperf_model *model)
{
    llmperf_weight_format formats[LLMPERF_WEIGHT_COUNT] = {{0}};
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        if (model->weight_dtype[i] != model->dtype || model->weight_operand[i] ||
            model->weight_bits[i] != llmperf_dtype_bits((llmperf_dtype)model->dtype))
            formats[i] = (llmperf_weight_format){.dtype = model->weight_dtype[i],
                                                 .operand = model->weight_operand[i],
                                                 .bits = model->weight_bits[i]};
    format_map(out, "", formats);
}

static void yaml_model(FILE *out, const llmperf_model *model)
{
    text(out, "name", model->name);
    names(out, model->alias_count, model->aliases);
    text(out, "architecture", model->architecture);
    text(out, "source", model->source);
    text(out, "scheme", model->scheme);
    integer(out, "published_params", model->published_params);
    integer(out, "mtp_params", model->mtp_params);
    fprintf(out, "dtype: %s\n", llmperf_dtype_name((llmperf_dtype)model->dtype));
    if (model->kv_dtype)
        fprintf(out, "kv_dtype: %s\n", llmperf_dtype_name((llmperf_dtype)model->kv_dtype));
    weights(out, model);
    integer(out, "hidden", model->hidden);
    integer(out, "vocab", model->vocab);
    if (model->embedding_dim != model->hidden)
        integer(out, "embedding_dim", model->embedding_dim);
    integer(out, "position_embeddings", model->position_embeddings);
    integer(out, "max_context", model->max_context);
    flag(out, "tied", model->tied);
    if (model->head_bias)
        flag(out, "head_bias", true);
    if (model->embedding_norm)
        flag(out, "embedding_norm", true);
    if (!model->final_norm)
        flag(out, "final_norm", false);
    fprintf(out, "norm: %s\n", spec_norm_word(model->norm));
    fputs("layers:\n", out);
    for (int i = 0; i < model->layer_kind_count; i++)
        layer_shape(out, &model->layers[i]);
    text(out, "not_counted", model->not_counted);
    notes(out, &model->notes);
}

static void link_map(FILE *out, const char *key, const char *kind_key, const llmperf_link *link)
{
    char number[LLMPERF_DOUBLE_TEXT_MAX];
    if (!link->kind[0])
        return;
    fprintf(out, "%s: {%s: ", key, kind_key);
    yaml_quoted(out, link->kind);
    fprintf(out, ", bandwidth: %s B/s", llmperf_format_double(link->bytes_per_s, number));
    if (!link->latency_assumed)
        fprintf(out, ", latency: %s s", llmperf_format_double(link->latency_s, number));
    if (link->domain > 0)
        fprintf(out, ", domain: %" PRId64, link->domain);
    fputs("}\n", out);
}

static void provenance(FILE *out, const llmperf_hw *hw, bool confidence)
{
    bool any = false;
    for (int i = 0; i < LLMPERF_HW_FIELD_COUNT; i++) {
        const llmperf_provenance *p = &hw->provenance[i];
        if (confidence ? !p->confidence : !p->source[0])
            continue;
        fprintf(out, "%s%s: ",
                any          ? ", "
                : confidence ? "confidence: {"
                             : "source: {",
                llmperf_hw_field_name((llmperf_hw_field)i));
        if (confidence)
            fputs(llmperf_confidence_name((llmperf_confidence)p->confidence), out);
        else
            yaml_quoted(out, p->source);
        any = true;
    }
    if (any)
        fputs("}\n", out);
}

static void yaml_hw(FILE *out, const llmperf_hw *hw)
{
    char number[LLMPERF_DOUBLE_TEXT_MAX];
    text(out, "name", hw->name);
    names(out, hw->alias_count, hw->aliases);
    fprintf(out, "kind: %s\n", hw->kind);
    text(out, "vendor", hw->vendor);
    text(out, "architecture", hw->architecture);
    fputs("peak:\n", out);
    for (int i = 1; i < LLMPERF_DTYPE_COUNT; i++)
        if (hw->peak_flop_per_s[i] > 0)
            fprintf(out, "  %s: %s FLOP/s\n", llmperf_dtype_name((llmperf_dtype)i),
                    llmperf_format_double(hw->peak_flop_per_s[i], number));
    bool any = false;
    for (int i = 1; i < LLMPERF_DTYPE_COUNT; i++)
        if (hw->absent[i][0]) {
            fputs(any ? "" : "absent:\n", out);
            fprintf(out, "  %s: ", llmperf_dtype_name((llmperf_dtype)i));
            yaml_quoted(out, hw->absent[i]);
            fputc('\n', out);
            any = true;
        }
    quantity(out, "memory", hw->memory_bytes, "B");
    quantity(out, "memory_usable", hw->memory_usable_bytes, "B");
    quantity(out, "bandwidth", hw->mem_bytes_per_s, "B/s");
    quantity(out, "bandwidth_achievable", hw->mem_achievable_bytes_per_s, "B/s");
    quantity(out, "l2", hw->l2_bytes, "B");
    integer(out, "units", (int64_t)hw->units);
    quantity(out, "clock", hw->clock_hz, "Hz");
    quantity(out, "launch", hw->launch_s, "s");
    fputs("sparsity: dense\n", out);
    link_map(out, "link", "kind", &hw->link);
    link_map(out, "nodes", "link", &hw->nodes);
    if (hw->pcie.kind[0])
        fprintf(out, "pcie: {generation: %" PRId64 ", lanes: %" PRId64 "}\n", hw->pcie_generation,
                hw->pcie_lanes);
    quantity(out, "power", hw->power_w, "W");
    quantity(out, "price", hw->price_usd_per_h, "USD/h");
    provenance(out, hw, false);
    provenance(out, hw, true);
    notes(out, &hw->notes);
}

const spec_format yaml_spec = {.model = yaml_model, .hw = yaml_hw};
