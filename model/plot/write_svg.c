/* SPDX-License-Identifier: MIT */
/*
 * Charts as SVG 1.1: no library, no locale, coordinates with one decimal, so that the same chart is
 * the same bytes everywhere. Layout from top to bottom: title, legend, panels, notes; nothing is
 * ever laid over the data but the labels that belong to it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"

enum {
    WIDTH = 900,
    WIDTH_LEAST = 360,
    HEIGHT_LEAST = 260,
    PANEL_LEAST = 112, /* without title and marks */
    NARROW = 640,      /* below: panels stand one below the other */
    MARGIN = 16,
    SEGMENTS_MAX = 1024,
    BOXES_MAX = 512,
    MARKERS_MAX = 1200, /* of a panel */
    MARKERS_MANY = 100, /* from here on they are small */
};

static const double TITLE = 16, TEXT = 12, SMALL = 11; /* font sizes */

/* Okabe and Ito's colours, told apart by colour-blind readers; and darker ones for text. */
static const char *const COLORS[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#e69f00", "#56b4e9", "#333333", "#808080"};
static const char *const INKS[] = {"#005a8c", "#a84600", "#00724f", "#95466f",
                                   "#855a00", "#246a96", "#222222", "#555555"};

enum { COLOR_COUNT = sizeof COLORS / sizeof *COLORS };

static const char *color_of(int index)
{
    return COLORS[index % COLOR_COUNT];
}

static const char *ink_of(int index)
{
    return INKS[index % COLOR_COUNT];
}

typedef struct svg {
    FILE *out;
    const llmperf_plot *plot;
    double width, height;
    double top, bottom; /* what title, legend and notes leave */
    int nameless;       /* labels of points that find no room, known beforehand */
    int unplaced;       /* the same, counted */
} svg;

/* A panel on the page. */
typedef struct frame {
    const llmperf_plot_panel *panel;
    plot_range x, y;
    plot_box box;         /* the data's rectangle */
    double largest_share; /* of its points */
    int marker_count, x_tick_count, y_tick_count;
    plot_tick x_tick[PLOT_TICKS_MAX], y_tick[PLOT_TICKS_MAX];
} frame;

/* ---- writing -------------------------------------------------------------------------------------- */

/* A short code for a character that XML refuses: escaped control bytes arrive as \xNN already. */
static bool is_noncharacter(const char *at)
{
    return strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0;
}

static void put_text(FILE *out, const char *raw)
{
    char text[LLMPERF_TEXT_MAX * 4];
    llmperf_escape(raw, text, sizeof text);
    for (const char *c = text; *c; c++) {
        if (*c == '&')
            fputs("&amp;", out);
        else if (*c == '<')
            fputs("&lt;", out);
        else if (*c == '>')
            fputs("&gt;", out);
        else if (*c == '"')
            fputs("&quot;", out);
        else if (is_noncharacter(c)) {
            fputs("\xef\xbf\xbd", out);
            c += 2;
        } else
            fputc(*c, out);
    }
}

static void put_number(FILE *out, double value)
{
    char text[PLOT_NUMBER_MAX];
    fputs(plot_coordinate(value, text), out);
}

/* " name=\"value\"" */
static void put(svg *s, const char *name, double value)
{
    fprintf(s->out, " %s=\"", name);
    put_number(s->out, value);
    fputc('"', s->out);
}

static void put_point(svg *s, char command, double x, double y)
{
    fputc(command, s->out);
    put_number(s->out, x);
    fputc(' ', s->out);
    put_number(s->out, y);
}

typedef struct text_style {
    double size;
    const char *fill, *anchor; /* NULL = near black, start */
    bool bold, halo;
    double turn; /* degrees about its point */
} text_style;

static void put_label(svg *s, double x, double y, const char *text, const text_style *style)
{
    fputs("<text", s->out);
    put(s, "x", x);
    put(s, "y", y);
    if (style->turn != 0) {
        fputs(" transform=\"rotate(", s->out);
        put_number(s->out, style->turn);
        fputc(' ', s->out);
        put_number(s->out, x);
        fputc(' ', s->out);
        put_number(s->out, y);
        fputs(")\"", s->out);
    }
    if (style->size != TEXT)
        put(s, "font-size", style->size);
    if (style->fill)
        fprintf(s->out, " fill=\"%s\"", style->fill);
    if (style->anchor)
        fprintf(s->out, " text-anchor=\"%s\"", style->anchor);
    if (style->bold)
        fputs(" font-weight=\"bold\"", s->out);
    if (style->halo)
        fputs(
            " stroke=\"#fff\" stroke-width=\"3\" stroke-linejoin=\"round\" paint-order=\"stroke\"",
            s->out);
    fputc('>', s->out);
    put_text(s->out, text);
    fputs("</text>\n", s->out);
}

/* A paragraph from `y` on, broken at the page's width; returns the baseline below it. */
static double put_paragraph(svg *s, double y, double line, const char *text,
                            const text_style *style)
{
    char safe[LLMPERF_TEXT_MAX * 4];
    llmperf_escape(text, safe, sizeof safe);
    for (const char *at = safe; *at;) {
        char one[LLMPERF_TEXT_MAX * 4];
        size_t length = plot_wrap(at, style->size * (style->bold ? 1.1 : 1), s->width - 2 * MARGIN);
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        put_label(s, MARGIN, y, one, style);
        y += line;
        at += length;
        at += *at == ' ';
    }
    return y;
}

/* Lines that a paragraph takes. */
static int paragraph_lines(const svg *s, const char *text, double size)
{
    int lines = 0;
    char safe[LLMPERF_TEXT_MAX * 4];
    llmperf_escape(text, safe, sizeof safe);
    for (const char *at = safe; *at; lines++) {
        at += plot_wrap(at, size, s->width - 2 * MARGIN);
        at += *at == ' ';
    }
    return lines;
}

/* ---- title, legend, notes --------------------------------------------------------------------------- */

/* What the markers of a series have in common. */
static void begin_markers(svg *s, const llmperf_plot_series *series, bool many)
{
    fprintf(s->out, "<g fill=\"%s\" fill-opacity=\"%s\"%s>\n", color_of(series->color),
            many ? "0.6" : "0.75", many ? "" : " stroke=\"#fff\" stroke-width=\"0.8\"");
}

/* A diamond or a triangle, up to its path's end. */
static void put_cornered(svg *s, llmperf_plot_marker marker, double x, double y, double r)
{
    const double up = marker == LLMPERF_MARKER_DOWN ? -r : r;
    fputs("<path d=\"", s->out);
    put_point(s, 'M', x, y - 1.2 * up);
    if (marker == LLMPERF_MARKER_DIAMOND) {
        put_point(s, 'L', x + 1.2 * r, y);
        put_point(s, 'L', x, y + 1.2 * r);
        put_point(s, 'L', x - 1.2 * r, y);
    } else {
        put_point(s, 'L', x + 1.1 * r, y + 0.8 * up);
        put_point(s, 'L', x - 1.1 * r, y + 0.8 * up);
    }
    fputs("z\"", s->out);
}

/* `color` < 0: the series'. `name` (NULL = none): what a browser shows when the pointer is on it. */
static void put_marker(svg *s, const llmperf_plot_series *series, double x, double y, double r,
                       int color, const char *name)
{
    const char *tag = "circle";
    switch (series->marker) {
    case LLMPERF_MARKER_SQUARE:
        tag = "rect";
        fputs("<rect", s->out);
        put(s, "x", x - 0.9 * r);
        put(s, "y", y - 0.9 * r);
        put(s, "width", 1.8 * r);
        put(s, "height", 1.8 * r);
        break;
    case LLMPERF_MARKER_TRIANGLE:
    case LLMPERF_MARKER_DOWN:
    case LLMPERF_MARKER_DIAMOND:
        tag = "path";
        put_cornered(s, (llmperf_plot_marker)series->marker, x, y, r);
        break;
    default:
        fputs("<circle", s->out);
        put(s, "cx", x);
        put(s, "cy", y);
        put(s, "r", r);
    }
    color = color >= 0 ? color : series->color;
    if (series->marker == LLMPERF_MARKER_RING)
        fprintf(s->out, " fill=\"#fff\" fill-opacity=\"1\" stroke=\"%s\" stroke-width=\"2\"",
                color_of(color));
    else if (color != series->color)
        fprintf(s->out, " fill=\"%s\"", color_of(color));
    if (!name) {
        fputs("/>\n", s->out);
        return;
    }
    fputs("><title>", s->out);
    put_text(s->out, name);
    fprintf(s->out, "</title></%s>\n", tag);
}

static const char *dash_of(const llmperf_plot_series *series)
{
    return series->draw & LLMPERF_DRAW_DASHED   ? " stroke-dasharray=\"6 4\""
           : series->draw & LLMPERF_DRAW_DOTTED ? " stroke-dasharray=\"2 3\""
                                                : "";
}

static void put_swatch(svg *s, const plot_legend_entry *entry, double x, double y)
{
    if (entry->band) {
        fputs("<rect", s->out);
        put(s, "x", x);
        put(s, "y", y - 10);
        put(s, "width", 22);
        put(s, "height", 11);
        fprintf(s->out, " fill=\"%s\" fill-opacity=\"0.18\"/>\n", color_of(entry->band->color));
    }
    if (entry->line) {
        fputs("<path d=\"", s->out);
        put_point(s, 'M', x, y - 4);
        put_point(s, 'L', x + 22, y - 4);
        fprintf(s->out, "\" stroke=\"%s\" stroke-width=\"2\"%s/>\n", color_of(entry->line->color),
                dash_of(entry->line));
    }
    if (entry->markers) {
        begin_markers(s, entry->markers, false);
        put_marker(s, entry->markers, x + 11, y - 4, 4, -1, NULL);
        fputs("</g>\n", s->out);
    }
}

/* The legend's rows from baseline `y` on; returns the baseline below. `draw` false only measures. */
static double put_legend(svg *s, double y, bool draw)
{
    plot_legend_entry entry[PLOT_LEGEND_MAX];
    const double room = s->width - 2 * MARGIN - 28;
    int count = plot_legend(s->plot, entry);
    double x = MARGIN;
    for (int i = 0; i < count; i++) {
        char text[PLOT_LEGEND_TEXT];
        plot_legend_text(entry[i].text, entry[i].detail, text);
        const text_style style = {.size = plot_fit(text, TEXT, room)};
        double width = 28 + plot_text_width(text, style.size);
        if (x > MARGIN && x + width > s->width - MARGIN) {
            x = MARGIN;
            y += 18;
        }
        if (draw) {
            put_swatch(s, &entry[i], x, y);
            put_label(s, x + 28, y, text, &style);
        }
        x += width + 18;
    }
    return count > 0 ? y + 18 : y;
}

static void put_head(svg *s)
{
    const text_style title = {.size = TITLE, .bold = true}, grey = {.size = TEXT, .fill = "#555"};
    double y = put_paragraph(s, 26, 20, s->plot->title, &title);
    if (s->plot->subtitle[0])
        y = put_paragraph(s, y, 16, s->plot->subtitle, &grey);
    s->top = put_legend(s, y + 6, true) - 8;
}

static int marker_count(const llmperf_plot_panel *panel)
{
    int count = 0;
    for (int k = 0; k < panel->series_count; k++)
        if (panel->series[k].draw & LLMPERF_DRAW_MARKERS)
            count += panel->series[k].count;
    return count;
}

/* What this picture leaves out of the plot, a line at a time; false behind the last. */
static bool own_note(const svg *s, int index, char text[LLMPERF_TEXT_MAX])
{
    bool thinned = false;
    for (int i = 0; i < s->plot->panel_count; i++)
        thinned |= marker_count(&s->plot->panel[i]) > MARKERS_MAX;
    if (thinned && index-- == 0) {
        snprintf(text, LLMPERF_TEXT_MAX,
                 "Panels of more than %d points show every so-many-th; csv and json list all",
                 MARKERS_MAX);
        return true;
    }
    if (s->nameless > 0 && index-- == 0) {
        snprintf(
            text, LLMPERF_TEXT_MAX,
            "No room for the names of %d knot%s of points; a larger picture or text shows them",
            s->nameless, s->nameless == 1 ? "" : "s");
        return true;
    }
    return false;
}

static void put_foot(svg *s)
{
    const text_style grey = {.size = SMALL, .fill = "#555"};
    double y = s->bottom + 14;
    char own[LLMPERF_TEXT_MAX];
    for (int i = 0; i < s->plot->notes.count; i++)
        y = put_paragraph(s, y, 14, s->plot->notes.text[i], &grey);
    for (int i = 0; own_note(s, i, own); i++)
        y = put_paragraph(s, y, 14, own, &grey);
}

static double head_height(svg *s)
{
    double y = 26 + 20 * paragraph_lines(s, s->plot->title, TITLE * 1.1);
    y += 16 * paragraph_lines(s, s->plot->subtitle, TEXT);
    return put_legend(s, y + 6, false) - 8;
}

static double foot_height(const svg *s)
{
    int lines = 0;
    char own[LLMPERF_TEXT_MAX];
    for (int i = 0; own_note(s, i, own); i++)
        lines += paragraph_lines(s, own, SMALL);
    for (int i = 0; i < s->plot->notes.count; i++)
        lines += paragraph_lines(s, s->plot->notes.text[i], SMALL);
    return 10 + 14 * lines;
}

/* ---- a panel: places ---------------------------------------------------------------------------------- */

static double at_x(const frame *f, double value)
{
    return f->box.x + f->box.width * fmin(fmax(plot_at(&f->x, value), 0), 1);
}

static double at_y(const frame *f, double value)
{
    return f->box.y + f->box.height * (1 - fmin(fmax(plot_at(&f->y, value), 0), 1));
}

/* Where the text of a mark on x stands above the frame. */
typedef struct mark_place {
    const llmperf_plot_mark *mark;
    double at, left, width, size; /* of its line; of its text */
    int row;
} mark_place;

/* A text, or the stem of a higher one, in the way of another? */
static bool clash(const mark_place *a, const mark_place *b)
{
    const double gap = 6;
    if (a->row == b->row)
        return a->left < b->left + b->width + gap && b->left < a->left + a->width + gap;
    const mark_place *high = a->row > b->row ? a : b, *low = a->row > b->row ? b : a;
    return high->at > low->left - 3 && high->at < low->left + low->width + 3;
}

/* Places behind `at` do not count; `strict` also keeps stems out of texts. */
static bool fits_row(const mark_place *places, int at, bool strict)
{
    for (int i = 0; i < at; i++)
        if ((strict || places[at].row == places[i].row) && clash(&places[at], &places[i]))
            return false;
    return true;
}

/* The marks on x that the panel shows, from left to right. */
static int shown_marks(const frame *f, mark_place *places)
{
    int count = 0;
    for (int i = 0; i < f->panel->mark_count; i++) {
        const llmperf_plot_mark *mark = &f->panel->mark[i];
        double at = plot_at(&f->x, mark->value);
        int k = count;
        if (mark->on_y || at < 0 || at > 1)
            continue;
        double size = plot_fit(mark->text, SMALL, f->box.width);
        const mark_place one = {.mark = mark,
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
static bool place_mark(const frame *f, mark_place *places, int at, const double shifts[5])
{
    mark_place *p = &places[at];
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
static int place_all(const frame *f, mark_place *places, int count, const double shifts[5],
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
static int place_marks(const frame *f, mark_place *places, int *ret_count)
{
    static const double left[] = {1, 0, 0.5, 0.75, 0.25}, right[] = {0, 1, 0.5, 0.25, 0.75};
    mark_place other[LLMPERF_PLOT_MARKS_MAX];
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

static double widest_tick(const plot_tick *ticks, int count)
{
    double widest = 0;
    for (int i = 0; i < count; i++)
        widest = fmax(widest, plot_text_width(ticks[i].text, SMALL));
    return widest;
}

static int tick_room(double length, double each)
{
    int count = (int)(length / each);
    return count < 2 ? 2 : count;
}

static void set_frame(frame *f, const llmperf_plot_panel *panel, plot_box outer)
{
    mark_place places[LLMPERF_PLOT_MARKS_MAX];
    int marks;
    *f = (frame){.panel = panel,
                 .x = plot_range_x(panel),
                 .y = plot_range_y(panel),
                 .largest_share = largest_share(panel),
                 .marker_count = marker_count(panel)};
    double above = panel->title[0] ? 24 : 8, below = 42;
    f->y_tick_count =
        plot_ticks(&f->y, panel->y.unit, tick_room(outer.height - above - below, 24), f->y_tick);
    double left = 30 + widest_tick(f->y_tick, f->y_tick_count);
    f->box = (plot_box){outer.x + left, outer.y, outer.width - left - 6, outer.height};
    above += 15 * place_marks(f, places, &marks);
    f->box.y += above;
    f->box.height = fmax(outer.height - above - below, 40);
    f->x_tick_count = plot_ticks(&f->x, panel->x.unit, tick_room(f->box.width, 46), f->x_tick);
}

/* ---- a panel: drawing ----------------------------------------------------------------------------------- */

static void put_grid(svg *s, const frame *f, bool major)
{
    fprintf(s->out, "<path fill=\"none\" stroke=\"%s\" d=\"", major ? "#dcdcdc" : "#f1f1f1");
    for (int i = 0; i < f->x_tick_count; i++)
        if (f->x_tick[i].major == major) {
            put_point(s, 'M', at_x(f, f->x_tick[i].value), f->box.y);
            fputc('v', s->out);
            put_number(s->out, f->box.height);
        }
    for (int i = 0; i < f->y_tick_count; i++)
        if (f->y_tick[i].major == major) {
            put_point(s, 'M', f->box.x, at_y(f, f->y_tick[i].value));
            fputc('h', s->out);
            put_number(s->out, f->box.width);
        }
    fputs("\"/>\n", s->out);
}

static void put_axis_title(svg *s, const llmperf_plot_axis *axis, double x, double y, double turn,
                           double room)
{
    char text[160];
    text_style style = {.anchor = "middle", .turn = turn};
    bool unit = axis->unit[0] && !plot_unit_on_ticks(axis->unit) && strcmp(axis->unit, "x") != 0;
    snprintf(text, sizeof text, "%s%s%s%s", axis->title, unit ? " (" : "", unit ? axis->unit : "",
             unit ? ")" : "");
    style.size = plot_fit(text, TEXT, room);
    put_label(s, x, y, text, &style);
}

static void put_axes(svg *s, const frame *f)
{
    const plot_box *b = &f->box;
    const text_style middle = {.size = SMALL, .anchor = "middle"},
                     end = {.size = SMALL, .anchor = "end"};
    put_grid(s, f, false);
    put_grid(s, f, true);
    double last = -1e9;
    for (int i = 0; i < f->x_tick_count; i++) {
        double at = at_x(f, f->x_tick[i].value);
        double half = plot_text_width(f->x_tick[i].text, SMALL) / 2;
        if (!f->x_tick[i].major || at - half < last + 4)
            continue;
        put_label(s, at, b->y + b->height + 15, f->x_tick[i].text, &middle);
        last = at + half;
    }
    for (int i = 0; i < f->y_tick_count; i++)
        if (f->y_tick[i].major)
            put_label(s, b->x - 5, at_y(f, f->y_tick[i].value) + 4, f->y_tick[i].text, &end);
    put_axis_title(s, &f->panel->x, b->x + b->width / 2, b->y + b->height + 33, 0, b->width + 20);
    double left = b->x - 16 - widest_tick(f->y_tick, f->y_tick_count);
    put_axis_title(s, &f->panel->y, left, b->y + b->height / 2, -90, b->height + 60);
    if (f->panel->title[0]) {
        mark_place places[LLMPERF_PLOT_MARKS_MAX];
        int count;
        double rows = 15 * place_marks(f, places, &count);
        const text_style title = {.size = plot_fit(f->panel->title, TEXT, b->width / 1.1),
                                  .bold = true};
        put_label(s, b->x, b->y - rows - 10, f->panel->title, &title);
    }
}

/* The bounding line of a panel, over everything that touches it. */
static void put_border(svg *s, const frame *f)
{
    fputs("<rect fill=\"none\" stroke=\"#888\"", s->out);
    put(s, "x", f->box.x);
    put(s, "y", f->box.y);
    put(s, "width", f->box.width);
    put(s, "height", f->box.height);
    fputs("/>\n", s->out);
}

static void put_shade(svg *s, const frame *f, double from, double to, int color, double opacity)
{
    fputs("<rect", s->out);
    put(s, "x", from);
    put(s, "y", f->box.y);
    put(s, "width", to - from);
    put(s, "height", f->box.height);
    fprintf(s->out, " fill=\"%s\" fill-opacity=\"", color_of(color));
    put_number(s->out, opacity);
    fputs("\"/>\n", s->out);
}

static void put_mark_shades(svg *s, const frame *f)
{
    for (int i = 0; i < f->panel->mark_count; i++) {
        const llmperf_plot_mark *m = &f->panel->mark[i];
        if (m->on_y)
            continue;
        double from = at_x(f, m->low), to = at_x(f, m->high);
        if (to - from > 0.5)
            put_shade(s, f, from, to, m->color, 0.1);
        if (m->beyond)
            put_shade(s, f, at_x(f, m->value), f->box.x + f->box.width, m->color, 0.1);
    }
}

static void put_dashed(svg *s, double x1, double y1, double x2, double y2, int color)
{
    fputs("<path d=\"", s->out);
    put_point(s, 'M', x1, y1);
    put_point(s, 'L', x2, y2);
    fprintf(s->out, "\" stroke=\"%s\" stroke-dasharray=\"3 3\"/>\n", color_of(color));
}

static void put_marks(svg *s, const frame *f)
{
    mark_place places[LLMPERF_PLOT_MARKS_MAX];
    int count;
    place_marks(f, places, &count);
    for (int i = 0; i < count; i++)
        put_dashed(s, places[i].at, f->box.y - 3 - 15 * places[i].row, places[i].at,
                   f->box.y + f->box.height, places[i].mark->color);
    for (int i = 0; i < count; i++) {
        const mark_place *p = &places[i];
        const text_style style = {.size = p->size, .fill = ink_of(p->mark->color), .halo = true};
        put_label(s, p->left, f->box.y - 5 - 15 * p->row, p->mark->text, &style);
    }
    for (int i = 0; i < f->panel->mark_count; i++) {
        const llmperf_plot_mark *m = &f->panel->mark[i];
        const text_style style = {.size = SMALL, .fill = ink_of(m->color), .halo = true};
        if (!m->on_y)
            continue;
        double y = at_y(f, m->value);
        put_dashed(s, f->box.x, y, f->box.x + f->box.width, y, m->color);
        if (m->text[0])
            put_label(s, f->box.x + 6, y - 4, m->text, &style);
    }
}

static void put_band(svg *s, const frame *f, const llmperf_plot_series *series)
{
    if (!(series->draw & LLMPERF_DRAW_BAND) || series->count == 0)
        return;
    if (series->count == 1) { /* a bar */
        const llmperf_plot_point *p = &series->point[0];
        double x = at_x(f, p->x), top = at_y(f, p->high);
        fputs("<rect", s->out);
        put(s, "x", x - 4);
        put(s, "y", top);
        put(s, "width", 8);
        put(s, "height", at_y(f, p->low) - top);
        fprintf(s->out, " fill=\"%s\" fill-opacity=\"0.18\"/>\n", color_of(series->color));
        return;
    }
    fputs("<path d=\"", s->out);
    for (int i = 0; i < series->count; i++)
        put_point(s, i ? 'L' : 'M', at_x(f, series->point[i].x), at_y(f, series->point[i].high));
    for (int i = series->count - 1; i >= 0; i--)
        put_point(s, 'L', at_x(f, series->point[i].x), at_y(f, series->point[i].low));
    fprintf(s->out, "z\" fill=\"%s\" fill-opacity=\"0.18\"/>\n", color_of(series->color));
}

static void put_line(svg *s, const frame *f, const llmperf_plot_series *series)
{
    if (!(series->draw & LLMPERF_DRAW_LINE) || series->count == 0)
        return;
    fputs("<path d=\"", s->out);
    for (int i = 0; i < series->count; i++)
        put_point(s, i ? 'L' : 'M', at_x(f, series->point[i].x), at_y(f, series->point[i].y));
    fprintf(s->out,
            "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\"%s/>\n",
            color_of(series->color), dash_of(series));
}

static double radius_of(const frame *f, const llmperf_plot_series *series,
                        const llmperf_plot_point *point)
{
    if (f->largest_share > 0)
        return fmax(3, 9 * sqrt(point->share / f->largest_share));
    return f->marker_count > MARKERS_MANY && !(series->draw & LLMPERF_DRAW_NAMES) ? 2 : 3.8;
}

/* "attn.qkv: 62.4 FLOP/byte, 209 TFLOP/s" */
static void describe_point(const frame *f, const llmperf_plot_point *p,
                           char text[LLMPERF_PLOT_TEXT_MAX])
{
    char x[PLOT_NUMBER_MAX], y[PLOT_NUMBER_MAX];
    snprintf(text, LLMPERF_PLOT_TEXT_MAX, "%.47s: %.30s, %.30s", p->label,
             plot_number(p->x, f->panel->x.unit, x), plot_number(p->y, f->panel->y.unit, y));
}

/* Too many markers make one dark cloud: of a panel with more, every so-many-th is drawn. */
static void put_markers(svg *s, const frame *f, const llmperf_plot_series *series)
{
    const int step =
        f->marker_count > MARKERS_MAX ? (f->marker_count + MARKERS_MAX - 1) / MARKERS_MAX : 1;
    const bool named = series->draw & LLMPERF_DRAW_NAMES;
    /* a line of one point shows as a marker */
    const bool alone = (series->draw & LLMPERF_DRAW_LINE) && series->count == 1;
    if (!(series->draw & LLMPERF_DRAW_MARKERS || alone) || series->count == 0)
        return;
    begin_markers(s, series, f->marker_count > MARKERS_MANY && !named);
    for (int i = 0; i < series->count; i += named ? 1 : step) {
        const llmperf_plot_point *p = &series->point[i];
        char name[LLMPERF_PLOT_TEXT_MAX];
        describe_point(f, p, name);
        put_marker(s, series, at_x(f, p->x), at_y(f, p->y), radius_of(f, series, p), p->color - 1,
                   named ? name : NULL);
    }
    fputs("</g>\n", s->out);
}

/* ---- a panel: labels of points -------------------------------------------------------------------------- */

/* Points of one series that stand together share a label, a line each three names. */
typedef struct label_text {
    char line[6][LLMPERF_PLOT_TEXT_MAX];
    int lines;
    int color;
    double share; /* of all its points */
} label_text;

typedef struct labels {
    const frame *f;
    int count, box_count, segment_count;
    plot_label label[PLOT_LABELS_MAX];
    label_text text[PLOT_LABELS_MAX];
    plot_box box[BOXES_MAX];
    plot_segment segment[SEGMENTS_MAX];
} labels;

static void add_name(label_text *text, const char *name)
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

static void finish_label(labels *l, plot_label *label, const label_text *text)
{
    for (int i = 0; i < text->lines; i++)
        label->width = fmax(label->width, plot_text_width(text->line[i], SMALL));
    label->height = 13 * text->lines;
    l->count++;
}

/* A label for each knot of points of a series that have one. */
static void add_labels(labels *l, const llmperf_plot_series *series)
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
        label_text *text = &l->text[l->count];
        *label =
            (plot_label){.x = at_x(l->f, series->point[i].x), .y = at_y(l->f, series->point[i].y)};
        const uint8_t color = series->point[i].color;
        *text = (label_text){.lines = 1, .color = color ? color - 1 : series->color};
        for (int k = i; k < series->count; k++) {
            double dx = at_x(l->f, series->point[k].x) - label->x;
            double dy = at_y(l->f, series->point[k].y) - label->y;
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

static void add_box(labels *l, plot_box box)
{
    if (l->box_count < BOXES_MAX)
        l->box[l->box_count++] = box;
}

static void add_segment(labels *l, double x1, double y1, double x2, double y2)
{
    if (l->segment_count < SEGMENTS_MAX)
        l->segment[l->segment_count++] = (plot_segment){x1, y1, x2, y2};
}

static void add_obstacles(labels *l, const llmperf_plot_series *series)
{
    const frame *f = l->f;
    for (int i = 0; i < series->count; i++) {
        const llmperf_plot_point *p = &series->point[i];
        double x = at_x(f, p->x), y = at_y(f, p->y);
        double r = radius_of(f, series, p) + 1;
        if (series->draw & LLMPERF_DRAW_MARKERS)
            add_box(l, (plot_box){x - r, y - r, 2 * r, 2 * r});
        if ((series->draw & LLMPERF_DRAW_LINE) && i + 1 < series->count)
            add_segment(l, x, y, at_x(f, p[1].x), at_y(f, p[1].y));
    }
}

static bool is_taken(const labels *l, const plot_box *box)
{
    for (int i = 0; i < l->box_count; i++)
        if (box->x < l->box[i].x + l->box[i].width && l->box[i].x < box->x + box->width &&
            box->y < l->box[i].y + l->box[i].height && l->box[i].y < box->y + box->height)
            return true;
    return false;
}

static bool is_crossed(const labels *l, const plot_box *box)
{
    for (int i = 0; i < l->segment_count; i++)
        if (plot_crosses(&l->segment[i], box))
            return true;
    return false;
}

/* Above the right end of a line, or below, or farther to the left: where no other label and no other
 * line is, else where at least no label is. */
static void put_end_label(svg *s, labels *l, const llmperf_plot_series *series,
                          const llmperf_plot_point *last)
{
    const text_style style = {
        .size = SMALL, .fill = ink_of(series->color), .halo = true, .anchor = "end"};
    const double x = at_x(l->f, last->x) - 5, y = at_y(l->f, last->y);
    const double width = plot_text_width(last->label, SMALL), begin = at_x(l->f, last[-1].x);
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
    put_label(s, best.x + width, best.y + 11, last->label, &style);
    add_box(l, best);
}

/* The labels that a line carries at its ends: along its first piece, and at its last. */
static void put_line_labels(svg *s, labels *l, const llmperf_plot_series *series)
{
    const frame *f = l->f;
    if (!(series->draw & LLMPERF_DRAW_LINE) || series->count < 2)
        return;
    const llmperf_plot_point *first = &series->point[0], *last = &series->point[series->count - 1];
    text_style style = {.size = SMALL, .fill = ink_of(series->color), .halo = true};
    if (first->label[0]) {
        double x = at_x(f, first->x), y = at_y(f, first->y);
        double dx = at_x(f, first[1].x) - x, dy = at_y(f, first[1].y) - y;
        double length = hypot(dx, dy), width = plot_text_width(first->label, SMALL);
        const double side = -5, along = 10;
        double tx = x + along * dx / length - side * dy / length;
        double ty = y + along * dy / length + side * dx / length;
        style.turn = atan2(dy, dx) * 180 / acos(-1);
        put_label(s, tx, ty, first->label, &style);
        for (int i = 0; 8 * i <= width; i++)
            add_box(
                l, (plot_box){tx + 8 * i * dx / length - 7, ty + 8 * i * dy / length - 11, 14, 14});
    }
    if (last->label[0])
        put_end_label(s, l, series, last);
}

/* What matters most is placed first. */
static void sort_labels(labels *l)
{
    for (int i = 1; i < l->count; i++) {
        const plot_label label = l->label[i];
        const label_text text = l->text[i];
        int at = i;
        for (; at > 0 && l->text[at - 1].share < text.share; at--) {
            l->label[at] = l->label[at - 1];
            l->text[at] = l->text[at - 1];
        }
        l->label[at] = label;
        l->text[at] = text;
    }
}

static void put_point_label(svg *s, const plot_label *label, const label_text *text)
{
    const plot_box *b = &label->box;
    text_style style = {.size = SMALL, .fill = ink_of(text->color), .halo = true};
    double nx = fmin(fmax(label->x, b->x), b->x + b->width);
    double ny = fmin(fmax(label->y, b->y), b->y + b->height);
    const double length = hypot(nx - label->x, ny - label->y), gap = 3;
    if (length > 12) {
        fputs("<path d=\"", s->out);
        put_point(s, 'M', label->x, label->y);
        put_point(s, 'L', nx + (label->x - nx) * gap / length, ny + (label->y - ny) * gap / length);
        fprintf(s->out, "\" stroke=\"%s\" stroke-width=\"0.7\"/>\n", ink_of(text->color));
    }
    bool left = b->x + b->width / 2 < label->x - b->width / 4;
    style.anchor = left ? "end" : NULL;
    for (int i = 0; i < text->lines; i++)
        put_label(s, left ? b->x + b->width : b->x, b->y + 10 + 13 * i, text->line[i], &style);
}

static void put_labels(svg *s, labels *l)
{
    const frame *f = l->f;
    const double inset = 3;
    for (int i = 0; i < f->panel->series_count; i++)
        add_obstacles(l, &f->panel->series[i]);
    for (int i = 0; i < f->panel->series_count; i++) {
        put_line_labels(s, l, &f->panel->series[i]);
        add_labels(l, &f->panel->series[i]);
    }
    for (int i = 0; i < f->panel->mark_count; i++) {
        const llmperf_plot_mark *m = &f->panel->mark[i];
        double x = at_x(f, m->value), y = at_y(f, m->value);
        if (m->on_y)
            add_box(l, (plot_box){f->box.x, y - 16, 6 + plot_text_width(m->text, SMALL), 18});
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

static void put_panel(svg *s, const llmperf_plot_panel *panel, plot_box outer, labels *l)
{
    frame f;
    set_frame(&f, panel, outer);
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
    put_labels(s, l);
}

/* ---- the page ------------------------------------------------------------------------------------------- */

static int columns_of(const svg *s)
{
    return s->plot->panel_count > 1 && s->width >= NARROW ? 2 : 1;
}

static int rows_of(const svg *s)
{
    int columns = columns_of(s), rows = (s->plot->panel_count + columns - 1) / columns;
    return rows > 0 ? rows : 1;
}

/* With panels of a height each. */
static double height_with(svg *s, double each)
{
    return head_height(s) + foot_height(s) + each * rows_of(s);
}

static void put_panels(svg *s, labels *l)
{
    const int columns = columns_of(s), count = s->plot->panel_count, rows = rows_of(s);
    double gap = 20, width = (s->width - 2 * MARGIN - gap * (columns - 1)) / columns;
    double height = (s->bottom - s->top) / rows;
    for (int i = 0; i < count; i++) {
        const int row = i / columns, column = i % columns;
        const plot_box outer = {MARGIN + column * (width + gap), s->top + row * height, width,
                                height - 4};
        put_panel(s, &s->plot->panel[i], outer, l);
    }
}

static void put_body(svg *s, labels *l)
{
    s->bottom = s->height - foot_height(s);
    put_head(s);
    put_panels(s, l);
    put_foot(s);
}

/* What the panel that needs most takes at least: its axes, title, marks, and some data. */
static double least_height(const llmperf_plot *plot)
{
    double most = PANEL_LEAST;
    for (int i = 0; i < plot->panel_count; i++) {
        const llmperf_plot_panel *panel = &plot->panel[i];
        double height = PANEL_LEAST + (panel->title[0] ? 16 : 0);
        for (int k = 0; k < panel->mark_count; k++)
            height += panel->mark[k].on_y ? 0 : 15;
        most = fmax(most, height);
    }
    return most;
}

/* As asked for, but never so low that a panel has no room. */
static void set_height(svg *s, const llmperf_plot_style *style)
{
    double usual = s->plot->panel_count == 1 ? fmax(300, 0.55 * s->width) : 330;
    double asked = style->height ? style->height : height_with(s, usual);
    double least = height_with(s, least_height(s->plot));
    s->height = round(fmax(fmax(asked, least), HEIGHT_LEAST));
}

/* Draws once into nothing, to know which labels find no room: a note says so. */
static llmperf_status count_nameless(svg *s, labels *l, llmperf_error *error)
{
    svg trial = *s;
    char *text = NULL;
    size_t size = 0;
    trial.out = open_memstream(&text, &size);
    if (!trial.out)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    put_body(&trial, l);
    fclose(trial.out);
    free(text);
    s->nameless = trial.unplaced;
    return LLMPERF_OK;
}

static void put_opening(svg *s)
{
    fputs("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"", s->out);
    put(s, "width", s->width);
    put(s, "height", s->height);
    fputs(" viewBox=\"0 0 ", s->out);
    put_number(s->out, s->width);
    fputc(' ', s->out);
    put_number(s->out, s->height);
    fputs("\" font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\" "
          "font-size=\"12\" fill=\"#222\">\n<title>",
          s->out);
    put_text(s->out, s->plot->title);
    fputs("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", s->out);
}

llmperf_status plot_write_svg(FILE *out, const llmperf_plot *plot, const llmperf_plot_style *style,
                              llmperf_error *error)
{
    svg s = {.out = out, .plot = plot, .width = style->width ? style->width : WIDTH};
    s.width = fmax(s.width, WIDTH_LEAST);
    set_height(&s, style);
    labels *l = malloc(sizeof *l); /* large */
    if (!l)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_status status = count_nameless(&s, l, error);
    if (status == LLMPERF_OK) {
        set_height(&s, style);
        put_opening(&s);
        put_body(&s, l);
        fputs("</svg>\n", out);
    }
    free(l);
    return status;
}
