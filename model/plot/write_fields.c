/* SPDX-License-Identifier: MIT */
/* The numbers of a chart, for those who draw it themselves. */
#include <math.h>

#include "plot.h"

/* "flop_per_s" + "_low" */
static const char *with_end(const char *field, const char *end, char buffer[64])
{
    snprintf(buffer, 64, "%s_%s", field, end);
    return buffer;
}

static void put_axis(sink *s, const char *name, const llmperf_plot_axis *axis)
{
    static const char *const scales[] = {"linear", "log", "log2"};
    sink_begin_object(s, name);
    sink_text(s, "field", axis->field);
    sink_text(s, "title", axis->title);
    sink_text(s, "scale", scales[axis->scale]);
    sink_end_object(s);
}

static void put_series(sink *s, const llmperf_plot_panel *panel, const llmperf_plot_series *series)
{
    char name[64];
    sink_begin_object(s, NULL);
    sink_text(s, "name", series->name[0] ? series->name : NULL);
    if (series->detail[0])
        sink_text(s, "detail", series->detail);
    sink_text(s, "band", series->band[0] ? series->band : NULL);
    sink_begin_array(s, "points");
    for (int i = 0; i < series->count; i++) {
        const llmperf_plot_point *p = &series->point[i];
        sink_begin_object(s, NULL);
        sink_number(s, panel->x.field, p->x);
        sink_number(s, panel->y.field, p->y);
        if (series->draw & LLMPERF_DRAW_BAND) {
            sink_number(s, with_end(panel->y.field, "low", name), p->low);
            sink_number(s, with_end(panel->y.field, "high", name), p->high);
        }
        if (p->label[0])
            sink_text(s, "label", p->label);
        if (p->share > 0)
            sink_number(s, "share_frac", p->share);
        sink_end_object(s);
    }
    sink_end_array(s);
    sink_end_object(s);
}

static void put_mark(sink *s, const llmperf_plot_panel *panel, const llmperf_plot_mark *mark)
{
    const llmperf_plot_axis *axis = mark->on_y ? &panel->y : &panel->x;
    sink_begin_object(s, NULL);
    sink_text(s, "field", axis->field);
    sink_number(s, "value", mark->value);
    sink_number(s, "low", mark->low);
    sink_number(s, "high", mark->high);
    sink_text(s, "text", mark->text);
    sink_end_object(s);
}

static void put_panel(sink *s, const llmperf_plot_panel *panel)
{
    sink_begin_object(s, NULL);
    sink_text(s, "name", panel->name);
    put_axis(s, "x", &panel->x);
    put_axis(s, "y", &panel->y);
    sink_begin_array(s, "series");
    for (int i = 0; i < panel->series_count; i++)
        put_series(s, panel, &panel->series[i]);
    sink_end_array(s);
    sink_begin_array(s, "marks");
    for (int i = 0; i < panel->mark_count; i++)
        put_mark(s, panel, &panel->mark[i]);
    sink_end_array(s);
    sink_end_object(s);
}

static void put_tree(sink *s, const llmperf_plot *plot)
{
    sink_begin_object(s, NULL);
    sink_head(s);
    sink_text(s, "plot", plot->kind);
    sink_text(s, "title", plot->title);
    sink_text(s, "subtitle", plot->subtitle);
    sink_begin_array(s, "panels");
    for (int i = 0; i < plot->panel_count; i++)
        put_panel(s, &plot->panel[i]);
    sink_end_array(s);
    sink_notes(s, "notes", &plot->notes);
    sink_notes(s, "not_modelled", &plot->not_modelled);
    sink_end_object(s);
}

/* One row a point and a mark. A column's unit is that of the field beside it. */
static void put_row(sink *s, const llmperf_plot_panel *panel, const char *series, const char *label,
                    const double *x, const double *y, const double *low, const double *high)
{
    sink_begin_row(s);
    sink_text(s, "panel", panel->name);
    sink_text(s, "series", series);
    sink_text(s, "label", label);
    sink_text(s, "x_field", x ? panel->x.field : NULL);
    sink_number(s, "x", x ? *x : NAN);
    sink_text(s, "y_field", y ? panel->y.field : NULL);
    sink_number(s, "y", y ? *y : NAN);
    sink_number(s, "y_low", low ? *low : NAN);
    sink_number(s, "y_high", high ? *high : NAN);
    sink_end_row(s);
}

static void put_rows(sink *s, const llmperf_plot_panel *panel)
{
    for (int k = 0; k < panel->series_count; k++) {
        const llmperf_plot_series *series = &panel->series[k];
        bool band = series->draw & LLMPERF_DRAW_BAND;
        for (int i = 0; i < series->count; i++) {
            const llmperf_plot_point *p = &series->point[i];
            put_row(s, panel, series->name, p->label, &p->x, &p->y, band ? &p->low : NULL,
                    band ? &p->high : NULL);
        }
    }
    for (int i = 0; i < panel->mark_count; i++) {
        const llmperf_plot_mark *mark = &panel->mark[i];
        put_row(s, panel, "mark", mark->text, mark->on_y ? NULL : &mark->value,
                mark->on_y ? &mark->value : NULL, NULL, NULL);
    }
}

llmperf_status plot_write_fields(FILE *out, const sink_format *format, const llmperf_plot *plot,
                                 llmperf_error *error)
{
    sink s;
    sink_open(&s, out, format);
    if (!s.is_table)
        put_tree(&s, plot);
    for (int k = 0; s.is_table && k < plot->panel_count; k++)
        put_rows(&s, &plot->panel[k]);
    return sink_close(&s, error);
}
