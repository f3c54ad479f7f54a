/* SPDX-License-Identifier: MIT */
/* What a specification says as a page for a person. */
#include <stdarg.h>

#include "layer_kind.h"
#include "llmperf/predict.h"
#include "writers.h"
#include "model_object.h"

static void fact(page *p, const char *label, const char *format, ...) LLMPERF_PRINTF(3, 4);

static void fact(page *p, const char *label, const char *format, ...)
{
    char text[PAGE_CELL_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *cells[] = {label, text};
    page_row(p, cells);
}

/* "32 heads, 8 KV heads of 128, window 4096; gated FFN 14336" */
static void layer_text(const llmperf_layer *layer, char *buffer, size_t size)
{
    char words[PAGE_CELL_MAX];
    size_t used = 0;
    buffer[0] = '\0';
    for (int k = 0; k < LAYER_KIND_COUNT; k++) {
        const layer_kind *kind = LAYER_KINDS[k];
        if (!kind_in(kind, layer) || used >= size)
            continue;
        kind_describe(kind, layer, words, sizeof words);
        /* what no operator of its own stands for belongs to the part before */
        used += (size_t)snprintf(buffer + used, size - used, "%s%s",
                                 used == 0    ? ""
                                 : kind->emit ? "; "
                                              : ", ",
                                 words);
    }
}

llmperf_status page_model(FILE *out, const page_format *format, const llmperf_model *model,
                          const llmperf_text_style *style, llmperf_error *error)
{
    static const char *const headings[] = {"", ""};
    page p;
    char a[HUMAN_MAX], b[HUMAN_MAX];
    llmperf_params params = llmperf_model_params(model);
    page_open(&p, out, format, style->color);
    page_title(&p, "%s (%s)", model->name, model->architecture[0] ? model->architecture : "model");
    page_table(&p, 2, headings);
    fact(&p, "parameters", "%s (%lld)", human_count((double)params.total, a),
         (long long)params.total);
    if (params.active < params.total) {
        /* three figures are in print: with the tables, without the input table, without both */
        double tables = (double)model->vocab * (double)model->embedding_dim;
        double no_input = (double)params.active - (model->tied ? 0 : tables);
        char c[HUMAN_MAX], d[HUMAN_MAX];
        fact(&p, "active", "%s per token; %s without the embedding, %s without the head too",
             human_count((double)params.active, a), human_count(no_input, c),
             human_count(no_input - tables, d));
    }
    fact(&p, "weights", "%s as %s%s%s", human_bytes(llmperf_model_weight_bytes(model, NULL), a),
         llmperf_dtype_name((llmperf_dtype)model->dtype), model->scheme[0] ? ", quantised: " : "",
         model->scheme);
    double per =
        llmperf_dtype_bits((llmperf_dtype)(model->kv_dtype ? model->kv_dtype : model->dtype)) / 8;
    fact(&p, "KV cache", "%s per token", human_bytes(llmperf_kv_bytes_per_token(model, per), a));
    fact(&p, "hidden, vocabulary", "%lld, %lld%s", (long long)model->hidden,
         (long long)model->vocab, model->tied ? ", head tied" : "");
    if (model->max_context > 0)
        fact(&p, "trained context", "%s tokens", human_count((double)model->max_context, b));
    for (int i = 0; i < model->layer_kind_count; i++) {
        char label[32], text[PAGE_CELL_MAX];
        snprintf(label, sizeof label, "%lld layer%s", (long long)model->layers[i].count,
                 model->layers[i].count == 1 ? "" : "s");
        layer_text(&model->layers[i], text, sizeof text);
        fact(&p, label, "%s", text);
    }
    page_end_table(&p);
    if (model->not_counted[0])
        page_paragraph(&p, 2, "Not counted: %s.", model->not_counted);
    if (model->source[0])
        page_paragraph(&p, 2, "Source: %s", model->source);
    for (int i = 0; i < model->notes.count; i++)
        page_paragraph(&p, 2, "Note: %s.", model->notes.text[i]);
    for (int i = 0; i < model->warnings.count; i++)
        page_paragraph(&p, 2, "Warning: %s.", model->warnings.text[i]);
    return page_close(&p, error);
}

static void link_fact(page *p, const char *label, const llmperf_link *link)
{
    char rate[HUMAN_MAX], latency[HUMAN_MAX], domain[48] = "";
    if (!link->kind[0])
        return;
    if (link->domain > 0)
        snprintf(domain, sizeof domain, ", %lld devices", (long long)link->domain);
    fact(p, label, "%s %s/s each way%s, %s latency%s", link->kind,
         human_bytes(link->bytes_per_s, rate), domain, human_time(link->latency_s, latency),
         link->latency_assumed ? " (assumed)" : "");
}

llmperf_status page_hw(FILE *out, const page_format *format, const llmperf_hw *hw,
                       const llmperf_text_style *style, llmperf_error *error)
{
    static const char *const headings[] = {"", ""};
    page p;
    char a[HUMAN_MAX];
    page_open(&p, out, format, style->color);
    page_title(&p, "%s (%s%s%s)", hw->name, hw->vendor, hw->vendor[0] ? " " : "",
               hw->architecture[0] ? hw->architecture : hw->kind);
    page_table(&p, 2, headings);
    for (int i = 1; i < LLMPERF_DTYPE_COUNT; i++)
        if (hw->peak_flop_per_s[i] > 0) {
            char label[32], batch[64] = "";
            snprintf(label, sizeof label, "peak %s", llmperf_dtype_name((llmperf_dtype)i));
            snprintf(batch, sizeof batch, ", ridge %.0f FLOP/byte",
                     hw->peak_flop_per_s[i] / hw->mem_bytes_per_s);
            fact(&p, label, "%s/s dense%s", human_flop(hw->peak_flop_per_s[i], a), batch);
        } else if (hw->absent[i][0]) {
            char label[32];
            snprintf(label, sizeof label, "no %s", llmperf_dtype_name((llmperf_dtype)i));
            fact(&p, label, "%s", hw->absent[i]);
        }
    fact(&p, "memory", "%s", human_bytes(hw->memory_bytes, a));
    if (hw->memory_usable_bytes > 0)
        fact(&p, "usable memory", "%s (%.0f MiB)", human_bytes(hw->memory_usable_bytes, a),
             hw->memory_usable_bytes / 1048576);
    fact(&p, "bandwidth", "%s/s", human_bytes(hw->mem_bytes_per_s, a));
    if (hw->l2_bytes > 0)
        fact(&p, "L2", "%s", human_bytes(hw->l2_bytes, a));
    if (hw->units > 0)
        fact(&p, "units", "%.0f", hw->units);
    link_fact(&p, "link", &hw->link);
    link_fact(&p, "between nodes", &hw->nodes);
    link_fact(&p, "host bus", &hw->pcie);
    if (hw->power_w > 0)
        fact(&p, "power", "%.0f W", hw->power_w);
    if (hw->price_usd_per_h > 0)
        fact(&p, "price", "%.4g USD/h", hw->price_usd_per_h);
    page_end_table(&p);
    page_gap(&p);
    for (int i = 0; i < LLMPERF_HW_FIELD_COUNT; i++) {
        const llmperf_provenance *own = &hw->provenance[i];
        if (own->source[0] || own->confidence)
            page_paragraph(
                &p, 2, "Source of %s: %s (%s)",
                i == LLMPERF_HW_DEFAULT ? "the rest" : llmperf_hw_field_name((llmperf_hw_field)i),
                own->source[0] ? own->source : "as the rest",
                llmperf_confidence_name(
                    (llmperf_confidence)(own->confidence
                                             ? own->confidence
                                             : hw->provenance[LLMPERF_HW_DEFAULT].confidence)));
    }
    for (int i = 0; i < hw->notes.count; i++)
        page_paragraph(&p, 2, "Note: %s.", hw->notes.text[i]);
    for (int i = 0; i < hw->warnings.count; i++)
        page_paragraph(&p, 2, "Warning: %s.", hw->warnings.text[i]);
    return page_close(&p, error);
}
