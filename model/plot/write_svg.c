/* SPDX-License-Identifier: MIT */
/*
 * Charts as SVG 1.1: no library, no locale, coordinates with one decimal, so that the same chart is
 * the same bytes everywhere. Layout from top to bottom: title, legend, panels, notes; nothing is
 * ever laid over the data but the labels that belong to it.
 */
#include <math.h>
#include <stdlib.h>

#include "svg.h"

enum {
    WIDTH = 900,
    WIDTH_LEAST = 360,
    HEIGHT_LEAST = 260,
    PANEL_LEAST = 112, /* without title and marks */
    NARROW = 640,      /* below: panels stand one below the other */
};

/* ---- title, legend, notes --------------------------------------------------------------------------- */

static void put_swatch(svg *s, const plot_legend_entry *entry, double x, double y)
{
    if (entry->band) {
        fputs("<rect", s->out);
        svg_put(s, "x", x);
        svg_put(s, "y", y - 10);
        svg_put(s, "width", 22);
        svg_put(s, "height", 11);
        fprintf(s->out, " fill=\"%s\" fill-opacity=\"0.18\"/>\n", svg_color(entry->band->color));
    }
    if (entry->line) {
        fputs("<path d=\"", s->out);
        svg_put_point(s, 'M', x, y - 4);
        svg_put_point(s, 'L', x + 22, y - 4);
        fprintf(s->out, "\" stroke=\"%s\" stroke-width=\"2\"%s/>\n", svg_color(entry->line->color),
                svg_dash(entry->line));
    }
    if (entry->markers) {
        svg_begin_markers(s, entry->markers, false);
        svg_put_marker(s, entry->markers, x + 11, y - 4, 4, -1, NULL);
        fputs("</g>\n", s->out);
    }
}

/* The legend's rows from baseline `y` on; returns the baseline below. `draw` false only measures. */
static double put_legend(svg *s, double y, bool draw)
{
    plot_legend_entry entry[PLOT_LEGEND_MAX];
    const double room = s->width - 2 * SVG_MARGIN - 28;
    int count = plot_legend(s->plot, entry);
    double x = SVG_MARGIN;
    for (int i = 0; i < count; i++) {
        char text[PLOT_LEGEND_TEXT];
        plot_legend_text(entry[i].text, entry[i].detail, text);
        const svg_text_style style = {.size = plot_fit(text, SVG_TEXT, room)};
        double width = 28 + plot_text_width(text, style.size);
        if (x > SVG_MARGIN && x + width > s->width - SVG_MARGIN) {
            x = SVG_MARGIN;
            y += 18;
        }
        if (draw) {
            put_swatch(s, &entry[i], x, y);
            svg_put_label(s, x + 28, y, text, &style);
        }
        x += width + 18;
    }
    return count > 0 ? y + 18 : y;
}

static void put_head(svg *s)
{
    const svg_text_style title = {.size = SVG_TITLE, .bold = true},
                         grey = {.size = SVG_TEXT, .fill = "#555"};
    double y = svg_put_paragraph(s, 26, 20, s->plot->title, &title);
    if (s->plot->subtitle[0])
        y = svg_put_paragraph(s, y, 16, s->plot->subtitle, &grey);
    s->top = put_legend(s, y + 6, true) - 8;
}

/* What this picture leaves out of the plot, a line at a time; false behind the last. */
static bool own_note(const svg *s, int index, char text[LLMPERF_TEXT_MAX])
{
    bool thinned = false;
    for (int i = 0; i < s->plot->panel_count; i++)
        thinned |= svg_marker_count(&s->plot->panel[i]) > SVG_MARKERS_MAX;
    if (thinned && index-- == 0) {
        snprintf(text, LLMPERF_TEXT_MAX,
                 "Panels of more than %d points show every so-many-th; csv and json list all",
                 SVG_MARKERS_MAX);
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
    const svg_text_style grey = {.size = SVG_SMALL, .fill = "#555"};
    double y = s->bottom + 14;
    char own[LLMPERF_TEXT_MAX];
    for (int i = 0; i < s->plot->notes.count; i++)
        y = svg_put_paragraph(s, y, 14, s->plot->notes.text[i], &grey);
    for (int i = 0; own_note(s, i, own); i++)
        y = svg_put_paragraph(s, y, 14, own, &grey);
}

static double head_height(svg *s)
{
    double y = 26 + 20 * svg_paragraph_lines(s, s->plot->title, SVG_TITLE * 1.1);
    y += 16 * svg_paragraph_lines(s, s->plot->subtitle, SVG_TEXT);
    return put_legend(s, y + 6, false) - 8;
}

static double foot_height(const svg *s)
{
    int lines = 0;
    char own[LLMPERF_TEXT_MAX];
    for (int i = 0; own_note(s, i, own); i++)
        lines += svg_paragraph_lines(s, own, SVG_SMALL);
    for (int i = 0; i < s->plot->notes.count; i++)
        lines += svg_paragraph_lines(s, s->plot->notes.text[i], SVG_SMALL);
    return 10 + 14 * lines;
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

static void put_panels(svg *s, svg_labels *l)
{
    const int columns = columns_of(s), count = s->plot->panel_count, rows = rows_of(s);
    double gap = 20, width = (s->width - 2 * SVG_MARGIN - gap * (columns - 1)) / columns;
    double height = (s->bottom - s->top) / rows;
    for (int i = 0; i < count; i++) {
        const int row = i / columns, column = i % columns;
        const plot_box outer = {SVG_MARGIN + column * (width + gap), s->top + row * height, width,
                                height - 4};
        svg_put_panel(s, &s->plot->panel[i], outer, l);
    }
}

static void put_body(svg *s, svg_labels *l)
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
static llmperf_status count_nameless(svg *s, svg_labels *l, llmperf_error *error)
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
    svg_put(s, "width", s->width);
    svg_put(s, "height", s->height);
    fputs(" viewBox=\"0 0 ", s->out);
    svg_put_number(s->out, s->width);
    fputc(' ', s->out);
    svg_put_number(s->out, s->height);
    fputs("\" font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\" "
          "font-size=\"12\" fill=\"#222\">\n<title>",
          s->out);
    svg_put_text(s->out, s->plot->title);
    fputs("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", s->out);
}

llmperf_status plot_write_svg(FILE *out, const llmperf_plot *plot, const llmperf_plot_style *style,
                              llmperf_error *error)
{
    svg s = {.out = out, .plot = plot, .width = style->width ? style->width : WIDTH};
    s.width = fmax(s.width, WIDTH_LEAST);
    set_height(&s, style);
    svg_labels *l = malloc(sizeof *l); /* large */
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
