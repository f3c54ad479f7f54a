/* SPDX-License-Identifier: MIT */
/* A panel drawn: grid, axes, marks, bands, lines, markers. */
#include <math.h>
#include <string.h>

#include "svg.h"

static void put_grid(svg *s, const svg_frame *f, bool major)
{
    fprintf(s->out, "<path fill=\"none\" stroke=\"%s\" d=\"", major ? "#dcdcdc" : "#f1f1f1");
    for (int i = 0; i < f->x_tick_count; i++)
        if (f->x_tick[i].major == major) {
            svg_put_point(s, 'M', svg_x(f, f->x_tick[i].value), f->box.y);
            fputc('v', s->out);
            svg_put_number(s->out, f->box.height);
        }
    for (int i = 0; i < f->y_tick_count; i++)
        if (f->y_tick[i].major == major) {
            svg_put_point(s, 'M', f->box.x, svg_y(f, f->y_tick[i].value));
            fputc('h', s->out);
            svg_put_number(s->out, f->box.width);
        }
    fputs("\"/>\n", s->out);
}

static void put_axis_title(svg *s, const llmperf_plot_axis *axis, double x, double y, double turn,
                           double room)
{
    char text[160];
    svg_text_style style = {.anchor = "middle", .turn = turn};
    bool unit = axis->unit[0] && !plot_unit_on_ticks(axis->unit) && strcmp(axis->unit, "x") != 0;
    snprintf(text, sizeof text, "%s%s%s%s", axis->title, unit ? " (" : "", unit ? axis->unit : "",
             unit ? ")" : "");
    style.size = plot_fit(text, SVG_TEXT, room);
    svg_put_label(s, x, y, text, &style);
}

static void put_axes(svg *s, const svg_frame *f)
{
    const plot_box *b = &f->box;
    const svg_text_style middle = {.size = SVG_SMALL, .anchor = "middle"},
                         end = {.size = SVG_SMALL, .anchor = "end"};
    put_grid(s, f, false);
    put_grid(s, f, true);
    double last = -1e9;
    for (int i = 0; i < f->x_tick_count; i++) {
        double at = svg_x(f, f->x_tick[i].value);
        double half = plot_text_width(f->x_tick[i].text, SVG_SMALL) / 2;
        if (!f->x_tick[i].major || at - half < last + 4)
            continue;
        svg_put_label(s, at, b->y + b->height + 15, f->x_tick[i].text, &middle);
        last = at + half;
    }
    for (int i = 0; i < f->y_tick_count; i++)
        if (f->y_tick[i].major)
            svg_put_label(s, b->x - 5, svg_y(f, f->y_tick[i].value) + 4, f->y_tick[i].text, &end);
    put_axis_title(s, &f->panel->x, b->x + b->width / 2, b->y + b->height + 33, 0, b->width + 20);
    double left = b->x - 16 - svg_widest_tick(f->y_tick, f->y_tick_count);
    put_axis_title(s, &f->panel->y, left, b->y + b->height / 2, -90, b->height + 60);
    if (f->panel->title[0]) {
        svg_mark_place places[LLMPERF_PLOT_MARKS_MAX];
        int count;
        double rows = 15 * svg_place_marks(f, places, &count);
        const svg_text_style title = {.size = plot_fit(f->panel->title, SVG_TEXT, b->width / 1.1),
                                      .bold = true};
        svg_put_label(s, b->x, b->y - rows - 10, f->panel->title, &title);
    }
}

/* The bounding line of a panel, over everything that touches it. */
static void put_border(svg *s, const svg_frame *f)
{
    fputs("<rect fill=\"none\" stroke=\"#888\"", s->out);
    svg_put(s, "x", f->box.x);
    svg_put(s, "y", f->box.y);
    svg_put(s, "width", f->box.width);
    svg_put(s, "height", f->box.height);
    fputs("/>\n", s->out);
}

static void put_shade(svg *s, const svg_frame *f, double from, double to, int color, double opacity)
{
    fputs("<rect", s->out);
    svg_put(s, "x", from);
    svg_put(s, "y", f->box.y);
    svg_put(s, "width", to - from);
    svg_put(s, "height", f->box.height);
    fprintf(s->out, " fill=\"%s\" fill-opacity=\"", svg_color(color));
    svg_put_number(s->out, opacity);
    fputs("\"/>\n", s->out);
}

static void put_mark_shades(svg *s, const svg_frame *f)
{
    for (int i = 0; i < f->panel->mark_count; i++) {
        const llmperf_plot_mark *m = &f->panel->mark[i];
        if (m->on_y)
            continue;
        double from = svg_x(f, m->low), to = svg_x(f, m->high);
        if (to - from > 0.5)
            put_shade(s, f, from, to, m->color, 0.1);
        if (m->beyond)
            put_shade(s, f, svg_x(f, m->value), f->box.x + f->box.width, m->color, 0.1);
    }
}

static void put_dashed(svg *s, double x1, double y1, double x2, double y2, int color)
{
    fputs("<path d=\"", s->out);
    svg_put_point(s, 'M', x1, y1);
    svg_put_point(s, 'L', x2, y2);
    fprintf(s->out, "\" stroke=\"%s\" stroke-dasharray=\"3 3\"/>\n", svg_color(color));
}

static void put_marks(svg *s, const svg_frame *f)
{
    svg_mark_place places[LLMPERF_PLOT_MARKS_MAX];
    int count;
    svg_place_marks(f, places, &count);
    for (int i = 0; i < count; i++)
        put_dashed(s, places[i].at, f->box.y - 3 - 15 * places[i].row, places[i].at,
                   f->box.y + f->box.height, places[i].mark->color);
    for (int i = 0; i < count; i++) {
        const svg_mark_place *p = &places[i];
        const svg_text_style style = {
            .size = p->size, .fill = svg_ink(p->mark->color), .halo = true};
        svg_put_label(s, p->left, f->box.y - 5 - 15 * p->row, p->mark->text, &style);
    }
    for (int i = 0; i < f->panel->mark_count; i++) {
        const llmperf_plot_mark *m = &f->panel->mark[i];
        const svg_text_style style = {.size = SVG_SMALL, .fill = svg_ink(m->color), .halo = true};
        if (!m->on_y)
            continue;
        double y = svg_y(f, m->value);
        put_dashed(s, f->box.x, y, f->box.x + f->box.width, y, m->color);
        if (m->text[0])
            svg_put_label(s, f->box.x + 6, y - 4, m->text, &style);
    }
}

static void put_band(svg *s, const svg_frame *f, const llmperf_plot_series *series)
{
    if (!(series->draw & LLMPERF_DRAW_BAND) || series->count == 0)
        return;
    if (series->count == 1) { /* a bar */
        const llmperf_plot_point *p = &series->point[0];
        double x = svg_x(f, p->x), top = svg_y(f, p->high);
        fputs("<rect", s->out);
        svg_put(s, "x", x - 4);
        svg_put(s, "y", top);
        svg_put(s, "width", 8);
        svg_put(s, "height", svg_y(f, p->low) - top);
        fprintf(s->out, " fill=\"%s\" fill-opacity=\"0.18\"/>\n", svg_color(series->color));
        return;
    }
    fputs("<path d=\"", s->out);
    for (int i = 0; i < series->count; i++)
        svg_put_point(s, i ? 'L' : 'M', svg_x(f, series->point[i].x),
                      svg_y(f, series->point[i].high));
    for (int i = series->count - 1; i >= 0; i--)
        svg_put_point(s, 'L', svg_x(f, series->point[i].x), svg_y(f, series->point[i].low));
    fprintf(s->out, "z\" fill=\"%s\" fill-opacity=\"0.18\"/>\n", svg_color(series->color));
}

static void put_line(svg *s, const svg_frame *f, const llmperf_plot_series *series)
{
    if (!(series->draw & LLMPERF_DRAW_LINE) || series->count == 0)
        return;
    fputs("<path d=\"", s->out);
    for (int i = 0; i < series->count; i++)
        svg_put_point(s, i ? 'L' : 'M', svg_x(f, series->point[i].x), svg_y(f, series->point[i].y));
    fprintf(s->out,
            "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\"%s/>\n",
            svg_color(series->color), svg_dash(series));
}

/* "attn.qkv: 62.4 FLOP/byte, 209 TFLOP/s" */
static void describe_point(const svg_frame *f, const llmperf_plot_point *p,
                           char text[LLMPERF_PLOT_TEXT_MAX])
{
    char x[PLOT_NUMBER_MAX], y[PLOT_NUMBER_MAX];
    snprintf(text, LLMPERF_PLOT_TEXT_MAX, "%.47s: %.30s, %.30s", p->label,
             plot_number(p->x, f->panel->x.unit, x), plot_number(p->y, f->panel->y.unit, y));
}

/* Too many markers make one dark cloud: of a panel with more, every so-many-th is drawn. */
static void put_markers(svg *s, const svg_frame *f, const llmperf_plot_series *series)
{
    const int step = f->marker_count > SVG_MARKERS_MAX
                         ? (f->marker_count + SVG_MARKERS_MAX - 1) / SVG_MARKERS_MAX
                         : 1;
    const bool named = series->draw & LLMPERF_DRAW_NAMES;
    /* a line of one point shows as a marker */
    const bool alone = (series->draw & LLMPERF_DRAW_LINE) && series->count == 1;
    if (!(series->draw & LLMPERF_DRAW_MARKERS || alone) || series->count == 0)
        return;
    svg_begin_markers(s, series, f->marker_count > SVG_MARKERS_MANY && !named);
    for (int i = 0; i < series->count; i += named ? 1 : step) {
        const llmperf_plot_point *p = &series->point[i];
        char name[LLMPERF_PLOT_TEXT_MAX];
        describe_point(f, p, name);
        svg_put_marker(s, series, svg_x(f, p->x), svg_y(f, p->y), svg_radius(f, series, p),
                       p->color - 1, named ? name : NULL);
    }
    fputs("</g>\n", s->out);
}

void svg_put_panel(svg *s, const llmperf_plot_panel *panel, plot_box outer, svg_labels *l)
{
    svg_frame f;
    svg_set_frame(&f, panel, outer);
    memset(l, 0, sizeof *l);
    l->f = &f;
    put_axes(s, &f);
    put_mark_shades(s, &f);
    for (int i = 0; i < panel->series_count; i++)
        put_band(s, &f, &panel->series[i]);
    put_marks(s, &f);
    for (int i = 0; i < panel->series_count; i++)
        put_line(s, &f, &panel->series[i]);
    put_border(s, &f);
    for (int i = 0; i < panel->series_count; i++)
        put_markers(s, &f, &panel->series[i]);
    svg_put_labels(s, l);
}
