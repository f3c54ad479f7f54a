/* SPDX-License-Identifier: MIT */
/* The operators of each phase as a page for a person. */
#include <string.h>

#include "llmperf/predict.h"
#include "writers.h"
#include "config_object.h"

static void shape_of(const llmperf_op *op, char *buffer, size_t size)
{
    if (op->kind == LLMPERF_KIND_GEMM)
        snprintf(buffer, size, "%.6g x %.6g x %.6g", op->m, op->n, op->k);
    else if (op->kind == LLMPERF_KIND_ATTENTION)
        snprintf(buffer, size, "b %.6g q %.6g kv %.6g", op->sequences, op->query_tokens,
                 op->past_tokens + op->query_tokens);
    else if (op->kind == LLMPERF_KIND_COLLECTIVE)
        snprintf(buffer, size, "%lld devices", (long long)op->devices);
    else
        buffer[0] = '\0';
}

static void phase_table(page *p, const llmperf_config *c, const phase_ops *phase)
{
    static const char *const headings[] = {"operator", "m x n x k", ">x",    ">FLOP",
                                           ">bytes",   ">FLOP/B",   ">time", "bound"};
    int columns = c->hw ? 8 : 6;
    page_table(p, columns, headings);
    for (int i = 0; i < phase->count; i++) {
        const llmperf_op *op = &phase->ops[i];
        const llmperf_time *t = &phase->times[i];
        char shape[64], repeat[HUMAN_MAX], flop[HUMAN_MAX], bytes[HUMAN_MAX], intensity[HUMAN_MAX],
            time[HUMAN_MAX] = "";
        shape_of(op, shape, sizeof shape);
        human_flop(op->flop, flop);
        flop[strcspn(flop, "F")] = '\0'; /* the heading says FLOP: "1.31 G" */
        double moved = op->bytes > 0 ? op->bytes : op->link_bytes;
        const char *cells[] = {
            llmperf_op_name((llmperf_op_id)op->id),
            shape,
            human_count(op->repeat, repeat),
            flop,
            human_bytes(moved, bytes),
            op->bytes > 0 ? human_number(op->flop / op->bytes, intensity) : "",
            c->hw ? human_time(t->time_s, time) : "",
            c->hw ? llmperf_bound_name((llmperf_bound)t->bound) : "",
        };
        page_row(p, cells);
    }
    char flop[HUMAN_MAX], bytes[HUMAN_MAX], intensity[HUMAN_MAX], time[HUMAN_MAX] = "";
    human_flop(phase->total.flop, flop);
    flop[strcspn(flop, "F")] = '\0';
    const char *cells[] = {"total",
                           "",
                           "",
                           flop,
                           human_bytes(phase->total.bytes, bytes),
                           human_number(phase->total.flop / phase->total.bytes, intensity),
                           c->hw ? human_time(phase->total.time_s, time) : "",
                           ""};
    page_row(p, cells);
    page_end_table(p);
}

llmperf_status page_layers(FILE *out, const page_format *format, const llmperf_config *c,
                           const phase_ops *phases, int phase_count,
                           const llmperf_text_style *style, llmperf_error *error)
{
    page p;
    const llmperf_workload *w = &c->workload;
    char a[HUMAN_MAX], b[HUMAN_MAX], d[HUMAN_MAX];
    page_open(&p, out, format, style->color);
    page_title(&p, "%s, %s parameters%s%s", c->model->name,
               human_count((double)llmperf_model_params(c->model).total, a), c->hw ? ", on " : "",
               c->hw ? c->hw->name : "");
    char basis[160] = "";
    if (c->hw && c->calib)
        snprintf(basis, sizeof basis, "; times are %s (%.60s)",
                 llmperf_estimate_kind_name(llmperf_config_estimate_kind(c)), c->calib->name);
    else if (c->hw)
        snprintf(basis, sizeof basis, "; times are roofline bounds");
    page_paragraph(&p, 0,
                   "FLOP, bytes and time are of one launch on one device, x is how often it "
                   "runs%s.",
                   basis);
    for (int i = 0; i < phase_count; i++) {
        if (i == 0)
            page_heading(&p, "Prefill: %s prompt%s of %s tokens in %s step%s",
                         human_count((double)w->batch, a), w->batch == 1 ? "" : "s",
                         human_count((double)(w->prompt - w->cached), b),
                         human_count(phases[i].steps, d), phases[i].steps == 1 ? "" : "s");
        else
            page_heading(&p, "Decode: one step of %s sequence%s with %s tokens of context",
                         human_count((double)w->batch, a), w->batch == 1 ? "" : "s",
                         human_count((double)w->context, b));
        phase_table(&p, c, &phases[i]);
    }
    if (c->model->warnings.count + c->notes.count > 0)
        page_gap(&p);
    for (int i = 0; i < c->model->warnings.count; i++)
        page_paragraph(&p, 2, "Note: %s.", c->model->warnings.text[i]);
    for (int i = 0; i < c->notes.count; i++)
        page_paragraph(&p, 2, "Note: %s.", c->notes.text[i]);
    return page_close(&p, error);
}
