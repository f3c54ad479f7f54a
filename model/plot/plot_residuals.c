/* SPDX-License-Identifier: MIT */
/* Measured over predicted, against the size of what was measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"
#include "entry.h"

static const double BEYOND = 0.01; /* share of the ratios, at either end, that may lie outside */

typedef struct group {
    const char *name;
    int count;
} group;

/* The groups with most rows, the largest first; returns how many, at most one a panel. */
static int largest_groups(const llmperf_comparison *comparison, group *groups, int *ret_all)
{
    int found = 0;
    *ret_all = 0;
    for (int i = 0; i < comparison->row_count; i++) {
        group g = {.name = comparison->row[i].group};
        int at;
        for (at = 0; at < i; at++)
            if (strcmp(comparison->row[at].group, g.name) == 0)
                break;
        if (at < i)
            continue;
        for (int k = i; k < comparison->row_count; k++)
            g.count += strcmp(comparison->row[k].group, g.name) == 0;
        ++*ret_all;
        for (at = found; at > 0 && groups[at - 1].count < g.count; at--)
            if (at < LLMPERF_PLOT_PANELS_MAX)
                groups[at] = groups[at - 1];
        if (at < LLMPERF_PLOT_PANELS_MAX) {
            groups[at] = g;
            found += found < LLMPERF_PLOT_PANELS_MAX;
        }
    }
    return found;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The y axis holds all but the outermost ratios, and 0.5 to 2 in any case. */
static llmperf_status set_ratio_axis(const llmperf_comparison *comparison, const group *g,
                                     llmperf_plot_axis *axis, llmperf_error *error)
{
    double *ratio = malloc((size_t)g->count * sizeof *ratio);
    int count = 0;
    if (!ratio)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    for (int i = 0; i < comparison->row_count; i++) {
        const llmperf_compare_row *row = &comparison->row[i];
        if (strcmp(row->group, g->name) == 0)
            ratio[count++] = row->measured / row->predicted.value;
    }
    qsort(ratio, (size_t)count, sizeof *ratio, by_value);
    axis->least = fmin(0.5, 0.95 * ratio[(int)(BEYOND * (count - 1))]);
    axis->most = fmax(2, 1.05 * ratio[(int)ceil((1 - BEYOND) * (count - 1))]);
    free(ratio);
    return LLMPERF_OK;
}

static llmperf_status add_points(const llmperf_comparison *comparison, const group *g,
                                 llmperf_plot_panel *panel, llmperf_error *error)
{
    llmperf_plot_series *inside =
        llmperf_plot_add_series(panel, "inside the interval", LLMPERF_DRAW_MARKERS);
    llmperf_plot_series *outside = llmperf_plot_add_series(panel, "outside", LLMPERF_DRAW_MARKERS);
    llmperf_status status = LLMPERF_OK;
    outside->color = 1;
    outside->marker = LLMPERF_MARKER_TRIANGLE;
    for (int i = 0; i < comparison->row_count && status == LLMPERF_OK; i++) {
        const llmperf_compare_row *row = &comparison->row[i];
        llmperf_plot_point point = {.x = row->roofline, .y = row->measured / row->predicted.value};
        if (strcmp(row->group, g->name) != 0)
            continue;
        bool in = row->measured >= row->predicted.low && row->measured <= row->predicted.high;
        snprintf(point.label, sizeof point.label, "%.47s", row->label);
        status = llmperf_plot_add_point(panel, in ? inside : outside, &point, error);
    }
    return status;
}

static llmperf_status add_group(const llmperf_comparison *comparison, const group *g,
                                llmperf_plot *plot, llmperf_error *error)
{
    llmperf_compare_summary summary;
    llmperf_plot_panel *panel = llmperf_plot_add_panel(plot, g->name, "");
    llmperf_status status = llmperf_compare_summarise(comparison, g->name, &summary, error);
    if (status != LLMPERF_OK)
        return status;
    snprintf(panel->title, sizeof panel->title, "%.40s: %d sample%s, error %.1f %%, %.0f %% inside",
             g->name, g->count, g->count == 1 ? "" : "s", 100 * summary.mape_frac,
             100 * summary.coverage_frac);
    panel->x = (llmperf_plot_axis){.field = "roofline_s",
                                   .title = "size: time at the roofline",
                                   .unit = "s",
                                   .scale = LLMPERF_SCALE_LOG};
    panel->y = (llmperf_plot_axis){.field = "measured_per_predicted",
                                   .title = "measured / predicted",
                                   .unit = "x",
                                   .scale = LLMPERF_SCALE_LOG};
    status = set_ratio_axis(comparison, g, &panel->y, error);
    llmperf_plot_add_mark(panel, &(llmperf_plot_mark){.on_y = true, .value = 1, .color = 6});
    return status == LLMPERF_OK ? add_points(comparison, g, panel, error) : status;
}

/* Points that lie beyond the y axis of their panel. */
static int count_beyond(const llmperf_plot *plot)
{
    int count = 0;
    for (int p = 0; p < plot->panel_count; p++) {
        const llmperf_plot_panel *panel = &plot->panel[p];
        for (int s = 0; s < panel->series_count; s++)
            for (int i = 0; i < panel->series[s].count; i++) {
                double y = panel->series[s].point[i].y;
                count += y < panel->y.least || y > panel->y.most;
            }
    }
    return count;
}

llmperf_status llmperf_plot_residuals(const llmperf_comparison *comparison, llmperf_plot *ret_plot,
                                      llmperf_error *error)
{
    NEEDS(comparison && ret_plot, error);
    group groups[LLMPERF_PLOT_PANELS_MAX + 1];
    int all, count = largest_groups(comparison, groups, &all);
    llmperf_status status = LLMPERF_OK;
    if (count == 0)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "there are no measurements to draw");
    snprintf(ret_plot->kind, sizeof ret_plot->kind, "residuals");
    for (int i = 0; i < count && status == LLMPERF_OK; i++)
        status = add_group(comparison, &groups[i], ret_plot, error);
    if (all > count)
        llmperf_note(&ret_plot->notes, "%d smaller group%s not shown", all - count,
                     all - count == 1 ? " is" : "s are");
    for (int i = 0; i < comparison->notes.count; i++)
        llmperf_note(&ret_plot->notes, "%s", comparison->notes.text[i]);
    int beyond = count_beyond(ret_plot);
    if (beyond > 0)
        llmperf_note(&ret_plot->notes, "%d ratio%s beyond the axes; %s at the frame", beyond,
                     beyond == 1 ? " lies" : "s lie", beyond == 1 ? "it stands" : "they stand");
    if (status != LLMPERF_OK)
        llmperf_plot_free(ret_plot);
    return status;
}
