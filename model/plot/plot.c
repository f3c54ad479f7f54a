/* SPDX-License-Identifier: MIT */
/* The chart structure and its legend. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "entry.h"
#include "calib_object.h"

void llmperf_plot_free(llmperf_plot *plot)
{
    if (!plot)
        return;
    for (int p = 0; p < plot->panel_count; p++)
        for (int s = 0; s < plot->panel[p].series_count; s++)
            free(plot->panel[p].series[s].point);
    memset(plot, 0, sizeof *plot);
}

llmperf_plot_panel *llmperf_plot_add_panel(llmperf_plot *plot, const char *name, const char *title)
{
    if (!plot || !name || !title || plot->panel_count == LLMPERF_PLOT_PANELS_MAX)
        return NULL;
    llmperf_plot_panel *panel = &plot->panel[plot->panel_count++];
    snprintf(panel->name, sizeof panel->name, "%s", name);
    snprintf(panel->title, sizeof panel->title, "%s", title);
    return panel;
}

llmperf_plot_series *llmperf_plot_add_series(llmperf_plot_panel *panel, const char *name,
                                             unsigned draw)
{
    if (!panel || !name || panel->series_count == LLMPERF_PLOT_SERIES_MAX)
        return NULL;
    llmperf_plot_series *series = &panel->series[panel->series_count++];
    snprintf(series->name, sizeof series->name, "%s", name);
    series->draw = draw;
    return series;
}

static bool is_drawable(const llmperf_plot_axis *axis, double value)
{
    return isfinite(value) && (axis->scale == LLMPERF_SCALE_LINEAR || value > 0);
}

llmperf_status llmperf_plot_add_point(const llmperf_plot_panel *panel, llmperf_plot_series *series,
                                      const llmperf_plot_point *point, llmperf_error *error)
{
    NEEDS(panel && point, error);
    llmperf_plot_point p = *point;
    if (!series || !is_drawable(&panel->x, p.x) || !is_drawable(&panel->y, p.y))
        return LLMPERF_OK;
    if (!is_drawable(&panel->y, p.low) || !is_drawable(&panel->y, p.high))
        p.low = p.high = p.y;
    if (series->count == series->capacity) {
        int capacity = series->capacity ? 2 * series->capacity : 16;
        void *grown = realloc(series->point, (size_t)capacity * sizeof *series->point);
        if (!grown)
            return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
        series->point = grown;
        series->capacity = capacity;
    }
    series->point[series->count++] = p;
    return LLMPERF_OK;
}

void llmperf_plot_add_mark(llmperf_plot_panel *panel, const llmperf_plot_mark *mark)
{
    if (!panel || !mark)
        return;
    const llmperf_plot_axis *axis = mark->on_y ? &panel->y : &panel->x;
    if (panel->mark_count == LLMPERF_PLOT_MARKS_MAX || !is_drawable(axis, mark->value))
        return;
    llmperf_plot_mark m = *mark;
    if (!is_drawable(axis, m.low) || !is_drawable(axis, m.high))
        m.low = m.high = m.value;
    panel->mark[panel->mark_count++] = m;
}

char *plot_basis(const llmperf_calib *calib, llmperf_estimate_kind kind, const char *none,
                 char *buffer, size_t size)
{
    if (!calib)
        snprintf(buffer, size, "no calibration: %s", none);
    else if (kind == LLMPERF_ESTIMATE_BOUND)
        snprintf(buffer, size, "no fit in %s: %s", calib->name, none);
    else
        snprintf(buffer, size, "%s %s%s", calib->host.engine[0] ? "profile" : "calibration",
                 calib->name, kind == LLMPERF_ESTIMATE_BORROWED ? ", borrowed" : "");
    return buffer;
}

char *plot_devices(const llmperf_workload *w, char *buffer, size_t size)
{
    snprintf(buffer, size, w->tp > 1 ? ", one of %lld devices" : "", (long long)w->tp);
    return buffer;
}

/* ---- legend --------------------------------------------------------------------------------------- */

char *plot_legend_text(const char *name, const char *detail, char buffer[PLOT_LEGEND_TEXT])
{
    snprintf(buffer, PLOT_LEGEND_TEXT, "%s%s%s", name, detail[0] ? ": " : "", detail);
    return buffer;
}

static plot_legend_entry *entry_of(plot_legend_entry *entries, int *count, const char *text)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(entries[i].text, text) == 0)
            return &entries[i];
    if (*count == PLOT_LEGEND_MAX)
        return NULL;
    entries[*count] = (plot_legend_entry){.text = text, .detail = ""};
    return &entries[(*count)++];
}

int plot_legend(const llmperf_plot *plot, plot_legend_entry *ret_entries)
{
    int count = 0;
    for (int p = 0; p < plot->panel_count; p++)
        for (int s = 0; s < plot->panel[p].series_count; s++) {
            const llmperf_plot_series *series = &plot->panel[p].series[s];
            plot_legend_entry *entry =
                series->name[0] ? entry_of(ret_entries, &count, series->name) : NULL;
            if (entry && !entry->detail[0])
                entry->detail = series->detail;
            if (entry && (series->draw & LLMPERF_DRAW_LINE) && !entry->line)
                entry->line = series;
            /* a line of one point shows as a marker */
            bool alone = (series->draw & LLMPERF_DRAW_LINE) && series->count == 1;
            if (entry && (series->draw & LLMPERF_DRAW_MARKERS || alone) && !entry->markers)
                entry->markers = series;
            entry = series->band[0] ? entry_of(ret_entries, &count, series->band) : NULL;
            if (entry && !entry->band)
                entry->band = series;
        }
    return count;
}
