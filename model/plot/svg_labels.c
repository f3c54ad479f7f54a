/* SPDX-License-Identifier: MIT */
/* Names of points and lines, where nothing is in their way. */
#include <math.h>
#include <string.h>

#include "svg.h"

static void add_name(svg_label_text *text, const char *name)
{
    char *line = text->line[text->lines - 1];
    size_t used = strlen(line);
    if (used > 0 && used + strlen(name) > 26 && text->lines < 6) {
        snprintf(line + used, sizeof text->line[0] - used, ",");
        line = text->line[text->lines++];
        used = 0;
    }
    snprintf(line + used, sizeof text->line[0] - used, "%s%s", used ? ", " : "", name);
}

static void finish_label(svg_labels *l, plot_label *label, const svg_label_text *text)
{
    for (int i = 0; i < text->lines; i++)
        label->width = fmax(label->width, plot_text_width(text->line[i], SVG_SMALL));
    label->height = 13 * text->lines;
    l->count++;
}

/* A label for each knot of points of a series that have one. */
static void add_labels(svg_labels *l, const llmperf_plot_series *series)
{
    enum { POINTS_MAX = 256 };
    const double near = 13;
    bool done[POINTS_MAX] = {false};
    if (!(series->draw & LLMPERF_DRAW_NAMES) || series->count > POINTS_MAX)
        return;
    for (int i = 0; i < series->count && l->count < PLOT_LABELS_MAX; i++) {
        if (done[i] || !series->point[i].label[0])
            continue;
        plot_label *label = &l->label[l->count];
        svg_label_text *text = &l->text[l->count];
        *label = (plot_label){.x = svg_x(l->f, series->point[i].x),
                              .y = svg_y(l->f, series->point[i].y)};
        const uint8_t color = series->point[i].color;
        *text = (svg_label_text){.lines = 1, .color = color ? color - 1 : series->color};
        for (int k = i; k < series->count; k++) {
            double dx = svg_x(l->f, series->point[k].x) - label->x;
            double dy = svg_y(l->f, series->point[k].y) - label->y;
            if (done[k] || !series->point[k].label[0] || dx * dx + dy * dy > near * near ||
                series->point[k].color != color)
                continue;
            done[k] = true;
            text->share += series->point[k].share;
            add_name(text, series->point[k].label);
        }
        finish_label(l, label, text);
    }
}

static void add_box(svg_labels *l, plot_box box)
{
    if (l->box_count < SVG_BOXES_MAX)
        l->box[l->box_count++] = box;
}

static void add_segment(svg_labels *l, double x1, double y1, double x2, double y2)
{
    if (l->segment_count < SVG_SEGMENTS_MAX)
        l->segment[l->segment_count++] = (plot_segment){x1, y1, x2, y2};
}

static void add_obstacles(svg_labels *l, const llmperf_plot_series *series)
{
    const svg_frame *f = l->f;
    for (int i = 0; i < series->count; i++) {
        const llmperf_plot_point *p = &series->point[i];
        double x = svg_x(f, p->x), y = svg_y(f, p->y);
        double r = svg_radius(f, series, p) + 1;
        if (series->draw & LLMPERF_DRAW_MARKERS)
            add_box(l, (plot_box){x - r, y - r, 2 * r, 2 * r});
        if ((series->draw & LLMPERF_DRAW_LINE) && i + 1 < series->count)
            add_segment(l, x, y, svg_x(f, p[1].x), svg_y(f, p[1].y));
    }
}

static bool is_taken(const svg_labels *l, const plot_box *box)
{
    for (int i = 0; i < l->box_count; i++)
        if (box->x < l->box[i].x + l->box[i].width && l->box[i].x < box->x + box->width &&
            box->y < l->box[i].y + l->box[i].height && l->box[i].y < box->y + box->height)
            return true;
    return false;
}

static bool is_crossed(const svg_labels *l, const plot_box *box)
{
    for (int i = 0; i < l->segment_count; i++)
        if (plot_crosses(&l->segment[i], box))
            return true;
    return false;
}

/* Above the right end of a line, or below, or farther to the left: where no other label and no other
 * line is, else where at least no label is. */
static void put_end_label(svg *s, svg_labels *l, const llmperf_plot_series *series,
                          const llmperf_plot_point *last)
{
    const svg_text_style style = {
        .size = SVG_SMALL, .fill = svg_ink(series->color), .halo = true, .anchor = "end"};
    const double x = svg_x(l->f, last->x) - 5, y = svg_y(l->f, last->y);
    const double width = plot_text_width(last->label, SVG_SMALL), begin = svg_x(l->f, last[-1].x);
    plot_box best = {x - width, y - 16, width, 13};
    bool found = false;
    static const double above[] = {-16, 3, -29, 16};
    for (int k = 0;; k++) {
        const int farther = k / 4 * 40;
        const plot_box box = {x - width - farther, y + above[k % 4], width, 13};
        if (k >= 4 && box.x <= begin)
            break;
        if (is_taken(l, &box))
            continue;
        bool free = !is_crossed(l, &box);
        if (free || !found)
            best = box;
        found = true;
        if (free)
            break;
    }
    if (!found) /* the legend says it too */
        return;
    svg_put_label(s, best.x + width, best.y + 11, last->label, &style);
    add_box(l, best);
}

/* The labels that a line carries at its ends: along its first piece, and at its last. */
static void put_line_labels(svg *s, svg_labels *l, const llmperf_plot_series *series)
{
    const svg_frame *f = l->f;
    if (!(series->draw & LLMPERF_DRAW_LINE) || series->count < 2)
        return;
    const llmperf_plot_point *first = &series->point[0], *last = &series->point[series->count - 1];
    svg_text_style style = {.size = SVG_SMALL, .fill = svg_ink(series->color), .halo = true};
    if (first->label[0]) {
        double x = svg_x(f, first->x), y = svg_y(f, first->y);
        double dx = svg_x(f, first[1].x) - x, dy = svg_y(f, first[1].y) - y;
        double length = hypot(dx, dy), width = plot_text_width(first->label, SVG_SMALL);
        const double side = -5, along = 10;
        double tx = x + along * dx / length - side * dy / length;
        double ty = y + along * dy / length + side * dx / length;
        style.turn = atan2(dy, dx) * 180 / acos(-1);
        svg_put_label(s, tx, ty, first->label, &style);
        for (int i = 0; 8 * i <= width; i++)
            add_box(
                l, (plot_box){tx + 8 * i * dx / length - 7, ty + 8 * i * dy / length - 11, 14, 14});
    }
    if (last->label[0])
        put_end_label(s, l, series, last);
}

/* What matters most is placed first. */
static void sort_labels(svg_labels *l)
{
    for (int i = 1; i < l->count; i++) {
        const plot_label label = l->label[i];
        const svg_label_text text = l->text[i];
        int at = i;
        for (; at > 0 && l->text[at - 1].share < text.share; at--) {
            l->label[at] = l->label[at - 1];
            l->text[at] = l->text[at - 1];
        }
        l->label[at] = label;
        l->text[at] = text;
    }
}

static void put_point_label(svg *s, const plot_label *label, const svg_label_text *text)
{
    const plot_box *b = &label->box;
    svg_text_style style = {.size = SVG_SMALL, .fill = svg_ink(text->color), .halo = true};
    double nx = fmin(fmax(label->x, b->x), b->x + b->width);
    double ny = fmin(fmax(label->y, b->y), b->y + b->height);
    const double length = hypot(nx - label->x, ny - label->y), gap = 3;
    if (length > 12) {
        fputs("<path d=\"", s->out);
        svg_put_point(s, 'M', label->x, label->y);
        svg_put_point(s, 'L', nx + (label->x - nx) * gap / length,
                      ny + (label->y - ny) * gap / length);
        fprintf(s->out, "\" stroke=\"%s\" stroke-width=\"0.7\"/>\n", svg_ink(text->color));
    }
    bool left = b->x + b->width / 2 < label->x - b->width / 4;
    style.anchor = left ? "end" : NULL;
    for (int i = 0; i < text->lines; i++)
        svg_put_label(s, left ? b->x + b->width : b->x, b->y + 10 + 13 * i, text->line[i], &style);
}

void svg_put_labels(svg *s, svg_labels *l)
{
    const svg_frame *f = l->f;
    const double inset = 3;
    for (int i = 0; i < f->panel->series_count; i++)
        add_obstacles(l, &f->panel->series[i]);
    for (int i = 0; i < f->panel->series_count; i++) {
        put_line_labels(s, l, &f->panel->series[i]);
        add_labels(l, &f->panel->series[i]);
    }
    for (int i = 0; i < f->panel->mark_count; i++) {
        const llmperf_plot_mark *m = &f->panel->mark[i];
        double x = svg_x(f, m->value), y = svg_y(f, m->value);
        if (m->on_y)
            add_box(l, (plot_box){f->box.x, y - 16, 6 + plot_text_width(m->text, SVG_SMALL), 18});
        else
            add_segment(l, x, f->box.y, x, f->box.y + f->box.height);
    }
    const plot_obstacles o = {.inside = {f->box.x + inset, f->box.y + inset,
                                         f->box.width - 2 * inset, f->box.height - 2 * inset},
                              .box = l->box,
                              .box_count = l->box_count,
                              .segment = l->segment,
                              .segment_count = l->segment_count};
    sort_labels(l);
    plot_place(l->label, l->count, &o);
    for (int i = 0; i < l->count; i++) {
        if (l->label[i].placed)
            put_point_label(s, &l->label[i], &l->text[i]);
        s->unplaced += !l->label[i].placed;
    }
}
