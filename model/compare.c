/* SPDX-License-Identifier: MIT */
/* Comparisons: rows, errors by group, and how they are written. */
#include "llmperf/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "page.h"
#include "sink.h"

/* Room for one more of `size` bytes behind `count`; NULL when there is no memory. */
static void *grown(void *items, int count, int *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    int more = *capacity ? 2 * *capacity : 64;
    void *larger = realloc(items, (size_t)more * size);
    if (larger)
        *capacity = more;
    return larger;
}

llmperf_status llmperf_comparison_add(llmperf_comparison *comparison,
                                      const llmperf_compare_row *row, llmperf_error *error)
{
    void *rows = grown(comparison->row, comparison->row_count, &comparison->row_capacity,
                       sizeof *comparison->row);
    if (!rows)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    comparison->row = rows;
    comparison->row[comparison->row_count++] = *row;
    return LLMPERF_OK;
}

llmperf_status llmperf_comparison_skip(llmperf_comparison *comparison,
                                       const llmperf_compare_skip *skip, llmperf_error *error)
{
    void *skips = grown(comparison->skip, comparison->skip_count, &comparison->skip_capacity,
                        sizeof *comparison->skip);
    if (!skips)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    comparison->skip = skips;
    comparison->skip[comparison->skip_count++] = *skip;
    return LLMPERF_OK;
}

void llmperf_comparison_free(llmperf_comparison *comparison)
{
    free(comparison->row);
    free(comparison->skip);
    memset(comparison, 0, sizeof *comparison);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of sorted values, between neighbours. */
static double quantile(const double *sorted, int count, double q)
{
    double at = q * (count - 1);
    int low = (int)floor(at), high = (int)ceil(at);
    return sorted[low] + (at - low) * (sorted[high] - sorted[low]);
}

static bool in_group(const llmperf_compare_row *row, const char *group)
{
    return !group || strcmp(row->group, group) == 0;
}

llmperf_status llmperf_compare_summarise(const llmperf_comparison *comparison, const char *group,
                                         llmperf_compare_summary *ret_summary, llmperf_error *error)
{
    llmperf_compare_summary s = {0};
    snprintf(s.group, sizeof s.group, "%s", group ? group : "all");
    double *values = malloc(sizeof *values * (size_t)(comparison->row_count + 1));
    if (!values)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    for (int i = 0; i < comparison->row_count; i++) {
        const llmperf_compare_row *row = &comparison->row[i];
        if (in_group(row, group))
            values[s.n++] = row->measured / row->roofline;
    }
    if (s.n == 0) {
        free(values);
        *ret_summary = s;
        return LLMPERF_OK;
    }
    qsort(values, (size_t)s.n, sizeof *values, by_value);
    double factor = quantile(values, s.n, 0.5);
    int at = 0;
    for (int i = 0; i < comparison->row_count; i++) {
        const llmperf_compare_row *row = &comparison->row[i];
        if (!in_group(row, group))
            continue;
        double error_frac = row->predicted.value / row->measured - 1;
        values[at++] = fabs(error_frac);
        s.mape_frac += fabs(error_frac) / s.n;
        s.bias_frac += error_frac / s.n;
        s.coverage_frac +=
            (row->predicted.low <= row->measured && row->measured <= row->predicted.high) /
            (double)s.n;
        s.roofline_mape_frac += fabs(row->roofline / row->measured - 1) / s.n;
        s.constant_mape_frac += fabs(factor * row->roofline / row->measured - 1) / s.n;
    }
    qsort(values, (size_t)s.n, sizeof *values, by_value);
    s.median_frac = quantile(values, s.n, 0.5);
    s.p90_frac = quantile(values, s.n, 0.9);
    free(values);
    *ret_summary = s;
    return LLMPERF_OK;
}

/* Is this row the first of its group? Groups are written in the order of their first rows. */
static bool begins_group(const llmperf_comparison *comparison, int at)
{
    for (int i = 0; i < at; i++)
        if (strcmp(comparison->row[i].group, comparison->row[at].group) == 0)
            return false;
    return true;
}

/* ---- writing ------------------------------------------------------------------------------------------ */

static void put_row(sink *s, const llmperf_compare_row *row)
{
    sink_text(s, "file", row->file[0] ? row->file : NULL);
    if (row->line > 0)
        sink_integer(s, "line", row->line);
    else
        sink_null(s, "line");
    sink_text(s, "label", row->label);
    sink_text(s, "group", row->group);
    sink_text(s, "metric", row->metric);
    sink_number(s, "measured", row->measured);
    sink_begin_object(s, "predicted");
    sink_number(s, "value", row->predicted.value);
    sink_number(s, "low", row->predicted.low);
    sink_number(s, "high", row->predicted.high);
    sink_text(s, "kind", llmperf_estimate_kind_name(row->kind));
    sink_end_object(s);
    sink_number(s, "roofline", row->roofline);
    sink_number(s, "error_frac", row->predicted.value / row->measured - 1);
}

static void put_summary(sink *s, const llmperf_compare_summary *m)
{
    sink_begin_object(s, NULL);
    sink_text(s, "group", m->group);
    sink_integer(s, "n", m->n);
    sink_number(s, "mape_frac", m->mape_frac);
    sink_number(s, "median_frac", m->median_frac);
    sink_number(s, "p90_frac", m->p90_frac);
    sink_number(s, "bias_frac", m->bias_frac);
    sink_number(s, "coverage_frac", m->coverage_frac);
    sink_number(s, "roofline_mape_frac", m->roofline_mape_frac);
    sink_number(s, "constant_mape_frac", m->constant_mape_frac);
    sink_end_object(s);
}

static llmperf_status record(FILE *out, bool csv, const llmperf_comparison *c, llmperf_error *error)
{
    sink s;
    llmperf_compare_summary summary;
    llmperf_status status = LLMPERF_OK;
    sink_open(&s, out, csv);
    if (csv) {
        for (int i = 0; i < c->row_count; i++) {
            sink_begin_row(&s);
            put_row(&s, &c->row[i]);
            sink_end_row(&s);
        }
        return sink_close(&s, error);
    }
    sink_begin_object(&s, NULL);
    sink_text(&s, "llmperf", llmperf_version());
    sink_integer(&s, "schema", LLMPERF_JSON_SCHEMA);
    sink_begin_array(&s, "rows");
    for (int i = 0; i < c->row_count; i++) {
        sink_begin_object(&s, NULL);
        put_row(&s, &c->row[i]);
        sink_end_object(&s);
    }
    sink_end_array(&s);
    sink_begin_array(&s, "skipped");
    for (int i = 0; i < c->skip_count; i++) {
        sink_begin_object(&s, NULL);
        sink_text(&s, "file", c->skip[i].file[0] ? c->skip[i].file : NULL);
        if (c->skip[i].line > 0)
            sink_integer(&s, "line", c->skip[i].line);
        else
            sink_null(&s, "line");
        sink_text(&s, "label", c->skip[i].label);
        sink_text(&s, "why", c->skip[i].why);
        sink_end_object(&s);
    }
    sink_end_array(&s);
    sink_begin_array(&s, "summary");
    for (int i = 0; i < c->row_count && status == LLMPERF_OK; i++)
        if (begins_group(c, i)) {
            status = llmperf_compare_summarise(c, c->row[i].group, &summary, error);
            put_summary(&s, &summary);
        }
    if (status == LLMPERF_OK && c->row_count > 0) {
        status = llmperf_compare_summarise(c, NULL, &summary, error);
        put_summary(&s, &summary);
    }
    sink_end_array(&s);
    sink_begin_array(&s, "notes");
    for (int i = 0; i < c->notes.count; i++)
        sink_text(&s, NULL, c->notes.text[i]);
    sink_end_array(&s);
    sink_begin_array(&s, "not_modelled");
    sink_end_array(&s);
    sink_end_object(&s);
    llmperf_status closed = sink_close(&s, error);
    return status == LLMPERF_OK ? closed : status;
}

static bool is_time(const char *metric)
{
    size_t length = strlen(metric);
    return length > 2 && strcmp(metric + length - 2, "_s") == 0 && !strstr(metric, "per_s");
}

static char *human_metric(const char *metric, double value, char *buffer)
{
    return is_time(metric) ? human_time(value, buffer) : human_number(value, buffer);
}

static char *percent(double fraction, bool sign, char *buffer)
{
    snprintf(buffer, HUMAN_MAX, sign ? "%+.1f %%" : "%.1f %%", 100 * fraction);
    return buffer;
}

static void page_rows(page *p, const llmperf_comparison *c)
{
    static const char *const headings[] = {"",          ">measured", ">predicted",
                                           ">interval", ">error",    ">roofline"};
    page_table(p, 6, headings);
    for (int i = 0; i < c->row_count; i++) {
        const llmperf_compare_row *r = &c->row[i];
        char a[HUMAN_MAX], b[HUMAN_MAX], low[HUMAN_MAX], high[HUMAN_MAX], e[HUMAN_MAX],
            f[HUMAN_MAX], interval[2 * HUMAN_MAX + 8];
        snprintf(interval, sizeof interval, "%s - %s",
                 human_metric(r->metric, r->predicted.low, low),
                 human_metric(r->metric, r->predicted.high, high));
        const char *cells[] = {r->label,
                               human_metric(r->metric, r->measured, a),
                               human_metric(r->metric, r->predicted.value, b),
                               interval,
                               percent(r->predicted.value / r->measured - 1, true, e),
                               percent(r->roofline / r->measured - 1, true, f)};
        page_row(p, cells);
    }
    page_end_table(p);
}

static llmperf_status page_summary(page *p, const llmperf_comparison *c, llmperf_error *error)
{
    static const char *const headings[] = {"errors by group", ">n",        ">mean",
                                           ">median",         ">90 %",     ">bias",
                                           ">covered",        ">roofline", ">constant"};
    llmperf_status status = LLMPERF_OK;
    int groups = 0;
    page_gap(p);
    page_table(p, 9, headings);
    for (int i = 0; i <= c->row_count && status == LLMPERF_OK; i++) {
        bool all = i == c->row_count;
        if (!all && !begins_group(c, i))
            continue;
        if (all && groups < 2)
            break;
        groups++;
        llmperf_compare_summary m = {0};
        status = llmperf_compare_summarise(c, all ? NULL : c->row[i].group, &m, error);
        char n[HUMAN_MAX], mean[HUMAN_MAX], median[HUMAN_MAX], p90[HUMAN_MAX], bias[HUMAN_MAX],
            covered[HUMAN_MAX], roofline[HUMAN_MAX], constant[HUMAN_MAX];
        const char *cells[] = {m.group,
                               human_count(m.n, n),
                               percent(m.mape_frac, false, mean),
                               percent(m.median_frac, false, median),
                               percent(m.p90_frac, false, p90),
                               percent(m.bias_frac, true, bias),
                               percent(m.coverage_frac, false, covered),
                               percent(m.roofline_mape_frac, false, roofline),
                               percent(m.constant_mape_frac, false, constant)};
        page_row(p, cells);
    }
    page_end_table(p);
    return status;
}

llmperf_status llmperf_write_comparison(FILE *out, const char *format, const llmperf_comparison *c,
                                        const char *title, const llmperf_text_style *style,
                                        llmperf_error *error)
{
    bool csv = format && strcmp(format, "csv") == 0, json = format && strcmp(format, "json") == 0;
    bool md = format && strcmp(format, "md") == 0;
    if (format && !csv && !json && !md && strcmp(format, "text") != 0)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "format '%s' is not known here; text, json, csv, md are allowed",
                            format);
    if (csv || json)
        return record(out, csv, c, error);
    page p;
    page_open(&p, out, md, style && style->color);
    page_title(&p, "%s", title);
    page_gap(&p);
    page_rows(&p, c);
    llmperf_status status = page_summary(&p, c, error);
    if (c->skip_count + c->notes.count > 0)
        page_gap(&p);
    for (int i = 0; i < c->skip_count; i++)
        page_paragraph(&p, 2, "Skipped %s: %s", c->skip[i].label, c->skip[i].why);
    for (int i = 0; i < c->notes.count; i++)
        page_paragraph(&p, 2, "Note: %s.", c->notes.text[i]);
    llmperf_status closed = page_close(&p, error);
    return status == LLMPERF_OK ? closed : status;
}
