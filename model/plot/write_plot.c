/* SPDX-License-Identifier: MIT */
/* The numbers of a chart, for those who draw it themselves. */
#include <string.h>

#include "plot.h"
#include "sink.h"

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

static llmperf_status write_json(FILE *out, const llmperf_plot *plot, llmperf_error *error)
{
    sink s;
    sink_open(&s, out, false);
    sink_begin_object(&s, NULL);
    sink_text(&s, "llmperf", llmperf_version());
    sink_integer(&s, "schema", LLMPERF_JSON_SCHEMA);
    sink_text(&s, "plot", plot->kind);
    sink_text(&s, "title", plot->title);
    sink_text(&s, "subtitle", plot->subtitle);
    sink_begin_array(&s, "panels");
    for (int i = 0; i < plot->panel_count; i++)
        put_panel(&s, &plot->panel[i]);
    sink_end_array(&s);
    sink_begin_array(&s, "notes");
    for (int i = 0; i < plot->notes.count; i++)
        sink_text(&s, NULL, plot->notes.text[i]);
    sink_end_array(&s);
    sink_begin_array(&s, "not_modelled");
    for (int i = 0; i < plot->not_modelled.count; i++)
        sink_text(&s, NULL, plot->not_modelled.text[i]);
    sink_end_array(&s);
    sink_end_object(&s);
    return sink_close(&s, error);
}

/* One row a point and a mark. A column's unit is that of the field beside it. */
static void put_csv_row(FILE *out, const llmperf_plot_panel *panel, const char *series,
                        const llmperf_plot_point *p, bool band, const char *label)
{
    char x[LLMPERF_DOUBLE_TEXT_MAX], y[LLMPERF_DOUBLE_TEXT_MAX], low[LLMPERF_DOUBLE_TEXT_MAX] = "",
                                                                 high[LLMPERF_DOUBLE_TEXT_MAX] = "";
    if (band) {
        llmperf_format_double(p->low, low);
        llmperf_format_double(p->high, high);
    }
    csv_text(out, panel->name);
    fputc(',', out);
    csv_text(out, series);
    fputc(',', out);
    csv_text(out, label);
    fprintf(out, ",%s,%s,%s,%s,%s,%s\n", panel->x.field, llmperf_format_double(p->x, x),
            panel->y.field, llmperf_format_double(p->y, y), low, high);
}

static void put_csv_mark(FILE *out, const llmperf_plot_panel *panel, const llmperf_plot_mark *mark)
{
    char value[LLMPERF_DOUBLE_TEXT_MAX];
    llmperf_format_double(mark->value, value);
    csv_text(out, panel->name);
    fputs(",mark,", out);
    csv_text(out, mark->text);
    if (mark->on_y)
        fprintf(out, ",,,%s,%s,,\n", panel->y.field, value);
    else
        fprintf(out, ",%s,%s,,,,\n", panel->x.field, value);
}

static void write_csv(FILE *out, const llmperf_plot *plot)
{
    fputs("panel,series,label,x_field,x,y_field,y,y_low,y_high\n", out);
    for (int k = 0; k < plot->panel_count; k++) {
        const llmperf_plot_panel *panel = &plot->panel[k];
        for (int s = 0; s < panel->series_count; s++)
            for (int i = 0; i < panel->series[s].count; i++)
                put_csv_row(out, panel, panel->series[s].name, &panel->series[s].point[i],
                            panel->series[s].draw & LLMPERF_DRAW_BAND,
                            panel->series[s].point[i].label);
        for (int i = 0; i < panel->mark_count; i++)
            put_csv_mark(out, panel, &panel->mark[i]);
    }
}

llmperf_status plot_write_record(FILE *out, bool csv, const llmperf_plot *plot,
                                 llmperf_error *error)
{
    if (!csv)
        return write_json(out, plot, error);
    write_csv(out, plot);
    return LLMPERF_OK;
}
