/* SPDX-License-Identifier: MIT */
/* Comparisons: rows, errors by group, and how they are written. */
#include "llmperf/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "formats.h"

enum {
    ROWS_WHOLE = 60, /* of a table for people; longer ones are thinned to ROWS_SHOWN */
    ROWS_SHOWN = 40,
    REASONS_MAX = 40,
};

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
    NEEDS(comparison && row, error);
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
    NEEDS(comparison && skip, error);
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
    if (!comparison)
        return;
    free(comparison->row);
    free(comparison->skip);
    memset(comparison, 0, sizeof *comparison);
}

static bool is_time(const char *metric)
{
    size_t length = strlen(metric);
    return length > 2 && strcmp(metric + length - 2, "_s") == 0 && !strstr(metric, "per_s");
}

/* By more than what parts beat their datasheets. */
static bool beats_datasheet(const llmperf_compare_row *row)
{
    static const double MARGIN = 1.05;
    if (row->has_run &&
        row->run.kind == LLMPERF_RUN_OFFLINE) /* its batch is ours, not the file's */
        return false;
    if (is_time(row->metric))
        return row->roofline > MARGIN * row->measured;
    return strstr(row->metric, "per_s") && row->measured > MARGIN * row->roofline;
}

void llmperf_comparison_note_faster(llmperf_comparison *comparison)
{
    if (!comparison)
        return;
    const llmperf_compare_row *first = NULL;
    int count = 0;
    for (int i = 0; i < comparison->row_count && comparison->row; i++)
        if (beats_datasheet(&comparison->row[i])) {
            first = first ? first : &comparison->row[i];
            count++;
        }
    if (first)
        llmperf_note(
            &comparison->notes,
            "%d of %d rows were measured faster than the datasheet allows, the first %s:%lld; "
            "what was run there is not what the file says",
            count, comparison->row_count, first->file, (long long)first->line);
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
    NEEDS(comparison && ret_summary, error);
    llmperf_compare_summary s = {0};
    snprintf(s.group, sizeof s.group, "%s", group ? group : "all");
    double *values = malloc(sizeof *values * (size_t)(comparison->row_count + 1));
    if (!values)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    for (int i = 0; i < comparison->row_count && comparison->row; i++) {
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
    double factor = s.constant_factor = quantile(values, s.n, 0.5);
    int at = 0;
    for (int i = 0; i < comparison->row_count && comparison->row; i++) {
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

/* The groups, by their first rows and in that order. */
typedef struct groups {
    int count;
    int *first;
    llmperf_compare_summary *summary;
} groups;

static void free_groups(groups *g)
{
    free(g->first);
    free(g->summary);
    *g = (groups){0};
}

static int find_group(const groups *g, const llmperf_comparison *c, const char *name)
{
    for (int k = g->count - 1; k >= 0; k--) /* neighbours are alike */
        if (strcmp(c->row[g->first[k]].group, name) == 0)
            return k;
    return -1;
}

static llmperf_status find_groups(const llmperf_comparison *c, groups *ret, llmperf_error *error)
{
    groups g = {.first = malloc(sizeof *g.first * (size_t)(c->row_count + 1))};
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; i < c->row_count && c->row && g.first; i++)
        if (find_group(&g, c, c->row[i].group) < 0)
            g.first[g.count++] = i;
    g.summary = malloc(sizeof *g.summary * (size_t)(g.count + 1));
    if (!g.first || !g.summary) {
        free_groups(&g);
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    for (int k = 0; k < g.count && status == LLMPERF_OK; k++)
        status = llmperf_compare_summarise(c, c->row[g.first[k]].group, &g.summary[k], error);
    if (status == LLMPERF_OK) /* behind them: all rows */
        status = llmperf_compare_summarise(c, NULL, &g.summary[g.count], error);
    if (status == LLMPERF_OK)
        *ret = g;
    else
        free_groups(&g);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------ */

static const char *kind_name(llmperf_run_kind kind)
{
    return kind == LLMPERF_RUN_SERVING   ? "serving"
           : kind == LLMPERF_RUN_OFFLINE ? "offline_max"
                                         : "static";
}

static void put_count(sink *s, const char *key, int64_t count)
{
    if (count > 0)
        sink_integer(s, key, count);
    else
        sink_null(s, key);
}

static void put_amount(sink *s, const char *key, double amount, bool known)
{
    if (known)
        sink_number(s, key, amount);
    else
        sink_null(s, key);
}

static void put_word(sink *s, const char *key, const char *word)
{
    sink_text(s, key, word[0] ? word : NULL);
}

/* The columns of end-to-end CSV. */
static void put_run(sink *s, const llmperf_run *run)
{
    put_word(s, "source", run->source);
    put_word(s, "engine", run->engine);
    put_word(s, "engine_version", run->engine_version);
    put_word(s, "gpu", run->gpu);
    put_count(s, "gpu_count", run->devices);
    put_count(s, "tp", run->tp);
    put_count(s, "pp", run->pp);
    put_count(s, "ep", run->ep);
    put_count(s, "dp", run->dp);
    put_word(s, "model", run->model);
    put_word(s, "weight_dtype", run->weight_dtype);
    put_word(s, "act_dtype", run->act_dtype);
    put_word(s, "kv_dtype", run->kv_dtype);
    put_count(s, "batch", run->batch);
    put_amount(s, "input_len", run->prompt, run->prompt > 0 || run->has_depth);
    put_amount(s, "output_len", run->generate, run->generate > 0);
    put_amount(s, "depth", run->depth, run->has_depth);
    put_amount(s, "rate_per_s", run->rate_per_s, run->rate_per_s > 0);
    put_count(s, "requests", run->requests);
    sink_text(s, "kind", kind_name(run->kind));
    put_amount(s, "spread", run->spread, run->spread > 0);
    put_count(s, "layers", run->shape.layers);
    put_count(s, "hidden", run->shape.hidden);
    put_count(s, "heads", run->shape.heads);
    put_count(s, "kv_heads", run->shape.kv_heads);
    put_count(s, "ffn", run->shape.ffn);
    put_count(s, "vocab", run->shape.vocab);
}

static void put_row(sink *s, const llmperf_compare_row *row, double constant_factor)
{
    sink_text(s, "file", row->file[0] ? row->file : NULL);
    put_count(s, "line", row->line);
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
    sink_number(s, "constant", constant_factor * row->roofline);
    sink_number(s, "error_frac", row->predicted.value / row->measured - 1);
    if (row->has_run)
        put_run(s, &row->run);
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

static double factor_of(const groups *g, const llmperf_comparison *c, int row)
{
    return g->summary[find_group(g, c, c->row[row].group)].constant_factor;
}

static void put_skipped(sink *s, const llmperf_compare_skip *skip)
{
    sink_begin_object(s, NULL);
    sink_text(s, "file", skip->file[0] ? skip->file : NULL);
    put_count(s, "line", skip->line);
    sink_text(s, "label", skip->label);
    sink_text(s, "why", skip->why);
    sink_end_object(s);
}

static void record_rows(sink *s, const llmperf_comparison *c, const groups *g)
{
    for (int i = 0; i < c->row_count; i++) {
        sink_begin_row(s);
        put_row(s, &c->row[i], factor_of(g, c, i));
        sink_end_row(s);
    }
}

static void record_tree(sink *s, const llmperf_comparison *c, const groups *g)
{
    sink_begin_object(s, NULL);
    sink_head(s);
    sink_begin_array(s, "rows");
    for (int i = 0; i < c->row_count; i++) {
        sink_begin_object(s, NULL);
        put_row(s, &c->row[i], factor_of(g, c, i));
        sink_end_object(s);
    }
    sink_end_array(s);
    sink_begin_array(s, "skipped");
    for (int i = 0; i < c->skip_count; i++)
        put_skipped(s, &c->skip[i]);
    sink_end_array(s);
    sink_begin_array(s, "summary");
    for (int k = 0; k <= g->count && c->row_count > 0; k++)
        put_summary(s, &g->summary[k]);
    sink_end_array(s);
    sink_notes(s, "notes", &c->notes);
    sink_notes(s, "not_modelled", NULL);
    sink_end_object(s);
}

static char *human_metric(const char *metric, double value, char *buffer)
{
    if (is_time(metric))
        return human_time(value, buffer);
    if (strcmp(metric, "memory_bytes") == 0)
        return human_bytes(value, buffer);
    return value < 1000 ? human_number(value, buffer) : human_count(value, buffer);
}

static char *percent(double fraction, bool sign, char *buffer)
{
    snprintf(buffer, HUMAN_MAX, sign ? "%+.1f %%" : "%.1f %%", 100 * fraction);
    return buffer;
}

static void page_one_row(page *p, const llmperf_compare_row *r)
{
    char a[HUMAN_MAX], b[HUMAN_MAX], low[HUMAN_MAX], high[HUMAN_MAX], e[HUMAN_MAX], f[HUMAN_MAX],
        interval[2 * HUMAN_MAX + 8];
    snprintf(interval, sizeof interval, "%s - %s", human_metric(r->metric, r->predicted.low, low),
             human_metric(r->metric, r->predicted.high, high));
    const char *cells[] = {r->label,
                           human_metric(r->metric, r->measured, a),
                           human_metric(r->metric, r->predicted.value, b),
                           interval,
                           percent(r->predicted.value / r->measured - 1, true, e),
                           percent(r->roofline / r->measured - 1, true, f)};
    page_row(p, cells);
}

/* Rows of a long table are taken at equal steps, first and last among them. */
static void page_rows(page *p, const llmperf_comparison *c)
{
    static const char *const headings[] = {"",          ">measured", ">predicted",
                                           ">interval", ">error",    ">roofline"};
    int shown = c->row_count <= ROWS_WHOLE ? c->row_count : ROWS_SHOWN;
    if (shown == 0)
        return;
    page_gap(p);
    page_table(p, 6, headings);
    for (int i = 0; i < shown; i++) {
        int64_t at = shown == 1 ? 0 : (int64_t)i * (c->row_count - 1) / (shown - 1);
        page_one_row(p, &c->row[at]);
    }
    page_end_table(p);
    if (shown < c->row_count)
        page_paragraph(p, 2, "%d of %d rows are shown; --format csv or json has all.", shown,
                       c->row_count);
}

static void page_summary(page *p, const llmperf_comparison *c, const groups *g)
{
    static const char *const headings[] = {"errors by group", ">n",        ">mean",
                                           ">median",         ">90 %",     ">bias",
                                           ">covered",        ">roofline", ">constant"};
    if (c->row_count == 0)
        return;
    page_gap(p);
    page_table(p, 9, headings);
    for (int k = 0; k <= g->count; k++) {
        const llmperf_compare_summary *m = &g->summary[k];
        char n[HUMAN_MAX], mean[HUMAN_MAX], median[HUMAN_MAX], p90[HUMAN_MAX], bias[HUMAN_MAX],
            covered[HUMAN_MAX], roofline[HUMAN_MAX], constant[HUMAN_MAX];
        if (k == g->count && g->count < 2)
            break;
        const char *cells[] = {m->group,
                               human_count(m->n, n),
                               percent(m->mape_frac, false, mean),
                               percent(m->median_frac, false, median),
                               percent(m->p90_frac, false, p90),
                               percent(m->bias_frac, true, bias),
                               percent(m->coverage_frac, false, covered),
                               percent(m->roofline_mape_frac, false, roofline),
                               percent(m->constant_mape_frac, false, constant)};
        page_row(p, cells);
    }
    page_end_table(p);
}

/* Rows that are left out for the same reason as row `at`; 0 when it is not the first of them. */
static int count_alike(const llmperf_comparison *c, int at)
{
    int alike = 0;
    for (int i = 0; i < at; i++)
        if (strcmp(c->skip[i].why, c->skip[at].why) == 0)
            return 0;
    for (int i = at; i < c->skip_count; i++)
        alike += strcmp(c->skip[i].why, c->skip[at].why) == 0;
    return alike;
}

/* One line for each reason, with the first place that it was found at. */
static void page_skipped(page *p, const llmperf_comparison *c)
{
    int said = 0;
    for (int i = 0; i < c->skip_count && said < REASONS_MAX; i++) {
        const llmperf_compare_skip *skip = &c->skip[i];
        char place[LLMPERF_NAME_MAX + 48] = "";
        int alike = count_alike(c, i);
        said += alike > 0;
        if (skip->file[0] && skip->line > 0)
            snprintf(place, sizeof place, " (%s:%lld%s)", skip->file, (long long)skip->line,
                     alike > 1 ? ", the first" : "");
        if (alike > 1)
            page_paragraph(p, 2, "Skipped %d rows: %s%s.", alike, skip->why, place);
        else if (alike == 1)
            page_paragraph(p, 2, "Skipped%s%s: %s%s.", skip->label[0] ? " " : "", skip->label,
                           skip->why, place);
    }
    if (said == REASONS_MAX)
        page_paragraph(p, 2, "Further reasons are in --format json.");
}

static llmperf_status write_page(FILE *out, const page_format *format, const llmperf_comparison *c,
                                 const groups *g, const char *title,
                                 const llmperf_text_style *style, llmperf_error *error)
{
    page p;
    page_open(&p, out, format, style && style->color);
    page_title(&p, "%s", title);
    page_rows(&p, c);
    page_summary(&p, c, g);
    if (c->skip_count + c->notes.count > 0)
        page_gap(&p);
    page_skipped(&p, c);
    for (int i = 0; i < c->notes.count; i++)
        page_paragraph(&p, 2, "Note: %s.", c->notes.text[i]);
    return page_close(&p, error);
}

llmperf_status llmperf_write_comparison(FILE *out, const char *name, const llmperf_comparison *c,
                                        const char *title, const llmperf_text_style *style,
                                        llmperf_error *error)
{
    NEEDS(out && c && title, error);
    groups g = {0};
    const output_format *f = NULL;
    llmperf_status status = format_find(name, FORMAT_REPORTS, &f, error);
    if (status == LLMPERF_OK)
        status = find_groups(c, &g, error);
    if (status != LLMPERF_OK)
        return status;
    if (f->sink) {
        sink s;
        sink_open(&s, out, f->sink);
        if (s.is_table)
            record_rows(&s, c, &g);
        else
            record_tree(&s, c, &g);
        status = sink_close(&s, error);
    } else {
        status = write_page(out, f->page, c, &g, title, style, error);
    }
    free_groups(&g);
    return status;
}
