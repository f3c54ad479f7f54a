/* SPDX-License-Identifier: MIT */
/* A panel on the page: where its data, ticks and marks stand. */
#include <math.h>
#include <string.h>

#include "svg.h"

double svg_x(const svg_frame *f, double value)
{
    return f->box.x + f->box.width * fmin(fmax(plot_at(&f->x, value), 0), 1);
}

double svg_y(const svg_frame *f, double value)
{
    return f->box.y + f->box.height * (1 - fmin(fmax(plot_at(&f->y, value), 0), 1));
}

/* A text, or the stem of a higher one, in the way of another? */
static bool clash(const svg_mark_place *a, const svg_mark_place *b)
{
    const double gap = 6;
    if (a->row == b->row)
        return a->left < b->left + b->width + gap && b->left < a->left + a->width + gap;
    const svg_mark_place *high = a->row > b->row ? a : b, *low = a->row > b->row ? b : a;
    return high->at > low->left - 3 && high->at < low->left + low->width + 3;
}

/* Places behind `at` do not count; `strict` also keeps stems out of texts. */
static bool fits_row(const svg_mark_place *places, int at, bool strict)
{
    for (int i = 0; i < at; i++)
        if ((strict || places[at].row == places[i].row) && clash(&places[at], &places[i]))
            return false;
    return true;
}

/* The marks on x that the panel shows, from left to right. */
static int shown_marks(const svg_frame *f, svg_mark_place *places)
{
    int count = 0;
    for (int i = 0; i < f->panel->mark_count; i++) {
        const llmperf_plot_mark *mark = &f->panel->mark[i];
        double at = plot_at(&f->x, mark->value);
        int k = count;
        if (mark->on_y || at < 0 || at > 1)
            continue;
        double size = plot_fit(mark->text, SVG_SMALL, f->box.width);
        const svg_mark_place one = {.mark = mark,
                                    .at = f->box.x + f->box.width * at,
                                    .size = size,
                                    .width = plot_text_width(mark->text, size)};
        for (; k > 0 && places[k - 1].at > one.at; k--)
            places[k] = places[k - 1];
        places[k] = one;
        count++;
    }
    return count;
}

/* Finds one mark a place among those in front of it; false when a line has to pass a text. */
static bool place_mark(const svg_frame *f, svg_mark_place *places, int at, const double shifts[5])
{
    svg_mark_place *p = &places[at];
    const double most = f->box.x + f->box.width - p->width;
    for (int k = 0; k < 2 * (at + 1) * 5; k++) {
        bool strict = k < (at + 1) * 5;
        p->row = k / 5 % (at + 1);
        p->left = fmax(f->box.x, fmin(p->at - shifts[k % 5] * (p->width + 8) + 4, most));
        if (fits_row(places, at, strict))
            return strict;
    }
    return false;
}

/* Places marks in the order given; *ret_rows of them. Returns how many lines pass a text. */
static int place_all(const svg_frame *f, svg_mark_place *places, int count, const double shifts[5],
                     int *ret_rows)
{
    int passed = 0;
    *ret_rows = 0;
    for (int i = 0; i < count; i++) {
        passed += !place_mark(f, places, i, shifts);
        *ret_rows = places[i].row + 1 > *ret_rows ? places[i].row + 1 : *ret_rows;
    }
    return passed;
}

/*
 * Finds the text of each mark a row above the frame; returns the number of rows. From left to right
 * with texts on the left of their lines no line has to pass a text; on the left, where there is no
 * room for that, from right to left with texts on the right. The better of the two is taken.
 */
int svg_place_marks(const svg_frame *f, svg_mark_place *places, int *ret_count)
{
    static const double left[] = {1, 0, 0.5, 0.75, 0.25}, right[] = {0, 1, 0.5, 0.25, 0.75};
    svg_mark_place other[LLMPERF_PLOT_MARKS_MAX];
    int count = shown_marks(f, places), rows, other_rows;
    for (int i = 0; i < count; i++)
        other[count - 1 - i] = places[i];
    int passed = place_all(f, places, count, left, &rows);
    int other_passed = place_all(f, other, count, right, &other_rows);
    *ret_count = count;
    if (other_passed > passed || (other_passed == passed && other_rows >= rows))
        return rows;
    memcpy(places, other, (size_t)count * sizeof *other);
    return other_rows;
}

/* Largest share of a panel's points, so that the biggest marker has one size. */
static double largest_share(const llmperf_plot_panel *panel)
{
    double most = 0;
    for (int k = 0; k < panel->series_count; k++)
        for (int i = 0; i < panel->series[k].count; i++)
            most = fmax(most, panel->series[k].point[i].share);
    return most;
}

double svg_widest_tick(const plot_tick *ticks, int count)
{
    double widest = 0;
    for (int i = 0; i < count; i++)
        widest = fmax(widest, plot_text_width(ticks[i].text, SVG_SMALL));
    return widest;
}

static int tick_room(double length, double each)
{
    int count = (int)(length / each);
    return count < 2 ? 2 : count;
}

int svg_marker_count(const llmperf_plot_panel *panel)
{
    int count = 0;
    for (int k = 0; k < panel->series_count; k++)
        if (panel->series[k].draw & LLMPERF_DRAW_MARKERS)
            count += panel->series[k].count;
    return count;
}

void svg_set_frame(svg_frame *f, const llmperf_plot_panel *panel, plot_box outer)
{
    svg_mark_place places[LLMPERF_PLOT_MARKS_MAX];
    int marks;
    *f = (svg_frame){.panel = panel,
                     .x = plot_range_x(panel),
                     .y = plot_range_y(panel),
                     .largest_share = largest_share(panel),
                     .marker_count = svg_marker_count(panel)};
    double above = panel->title[0] ? 24 : 8, below = 42;
    f->y_tick_count =
        plot_ticks(&f->y, panel->y.unit, tick_room(outer.height - above - below, 24), f->y_tick);
    double left = 30 + svg_widest_tick(f->y_tick, f->y_tick_count);
    f->box = (plot_box){outer.x + left, outer.y, outer.width - left - 6, outer.height};
    above += 15 * svg_place_marks(f, places, &marks);
    f->box.y += above;
    f->box.height = fmax(outer.height - above - below, 40);
    f->x_tick_count = plot_ticks(&f->x, panel->x.unit, tick_room(f->box.width, 46), f->x_tick);
}

double svg_radius(const svg_frame *f, const llmperf_plot_series *series,
                  const llmperf_plot_point *point)
{
    if (f->largest_share > 0)
        return fmax(3, 9 * sqrt(point->share / f->largest_share));
    return f->marker_count > SVG_MARKERS_MANY && !(series->draw & LLMPERF_DRAW_NAMES) ? 2 : 3.8;
}
