/* SPDX-License-Identifier: MIT */
/* Specifications as YAML that our reader takes back to the same value. */
#include <inttypes.h>
#include <string.h>

#include "internal.h"
#include "spec_read.h"
#include "writers.h"

/* A double-quoted scalar: safe for any text. */
static void quoted(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(out, "\\x%02x", *c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}

static void text(FILE *out, const char *key, const char *value)
{
    if (!value[0])
        return;
    fprintf(out, "%s: ", key);
    quoted(out, value);
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
        quoted(out, aliases[i]);
    }
    fputs("]\n", out);
}

static void notes(FILE *out, const llmperf_notes *list)
{
    if (list->count > 0)
        fputs("notes:\n", out);
    for (int i = 0; i < list->count; i++) {
        fputs("  - ", out);
        quoted(out, list->text[i]);
        fputc('\n', out);
    }
}

static const char *boolean(bool value) { return value ? "true" : "false"; }

static void layer_shape(FILE *out, const llmperf_layer *layer)
{
    const llmperf_attention *a = &layer->attention;
    const llmperf_mlp *m = &layer->mlp;
    fprintf(out, "  - count: %" PRId64 "\n    norms: %" PRId64 "\n    parallel: %s\n",
            layer->count, layer->norms, boolean(layer->parallel));
    fprintf(out, "    attention: {heads: %" PRId64 ", kv_heads: %" PRId64 ", head_dim: %" PRId64,
            a->heads, a->kv_heads, a->head_dim);
    if (a->value_dim != a->head_dim)
        fprintf(out, ", value_dim: %" PRId64, a->value_dim);
    if (a->window > 0)
        fprintf(out, ", window: %" PRId64, a->window);
    fprintf(out, ", qkv_bias: %s, out_bias: %s, rope: %s, qk_norm: %s}\n", boolean(a->qkv_bias),
            boolean(a->out_bias), boolean(a->rope), spec_qk_norm_word(a->qk_norm));
    fprintf(out, "    mlp: {ffn: %" PRId64 ", gated: %s, up_bias: %s, down_bias: %s}\n", m->ffn,
            boolean(m->gated), boolean(m->up_bias), boolean(m->down_bias));
}

static void weights(FILE *out, const llmperf_model *model)
{
    bool any = false;
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        if (model->weight_dtype[i] != model->dtype) {
            fprintf(out, "%s%s: %s", any ? ", " : "weights: {", spec_weight_word(i),
                    llmperf_dtype_name((llmperf_dtype)model->weight_dtype[i]));
            any = true;
        }
    if (any)
        fputs("}\n", out);
}

void yaml_model(FILE *out, const llmperf_model *model)
{
    text(out, "name", model->name);
    names(out, model->alias_count, model->aliases);
    text(out, "architecture", model->architecture);
    text(out, "source", model->source);
    integer(out, "published_params", model->published_params);
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
    quoted(out, link->kind);
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
            quoted(out, p->source);
        any = true;
    }
    if (any)
        fputs("}\n", out);
}

void yaml_hw(FILE *out, const llmperf_hw *hw)
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
            quoted(out, hw->absent[i]);
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
