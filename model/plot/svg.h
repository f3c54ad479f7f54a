/* SPDX-License-Identifier: MIT */
/* A chart as SVG, between the files that draw it. */
#ifndef LLMPERF_PLOT_SVG_H
#define LLMPERF_PLOT_SVG_H

#include "plot.h"

enum {
    SVG_MARGIN = 16,
    SVG_SEGMENTS_MAX = 1024,
    SVG_BOXES_MAX = 512,
    SVG_MARKERS_MAX = 1200, /* of a panel */
    SVG_MARKERS_MANY = 100, /* from here on they are small */
};

enum { SVG_TITLE = 16, SVG_TEXT = 12, SVG_SMALL = 11 }; /* font sizes */

typedef struct svg {
    FILE *out;
    const llmperf_plot *plot;
    double width, height;
    double top, bottom; /* what title, legend and notes leave */
    int nameless;       /* labels of points that find no room, known beforehand */
    int unplaced;       /* the same, counted */
} svg;

/* A panel on the page. */
typedef struct svg_frame {
    const llmperf_plot_panel *panel;
    plot_range x, y;
    plot_box box;         /* the data's rectangle */
    double largest_share; /* of its points */
    int marker_count, x_tick_count, y_tick_count;
    plot_tick x_tick[PLOT_TICKS_MAX], y_tick[PLOT_TICKS_MAX];
} svg_frame;

/* ---- svg.c: elements ------------------------------------------------------------------------------- */

typedef struct svg_text_style {
    double size;
    const char *fill, *anchor; /* NULL = near black, start */
    bool bold, halo;
    double turn; /* degrees about its point */
} svg_text_style;

/* Colours of series, and darker ones of their texts. */
const char *svg_color(int index);
const char *svg_ink(int index);
void svg_put_text(FILE *out, const char *raw);
void svg_put_number(FILE *out, double value);
/* " name=\"value\"" */
void svg_put(svg *s, const char *name, double value);
/* "M12 34.5" of a path. */
void svg_put_point(svg *s, char command, double x, double y);
void svg_put_label(svg *s, double x, double y, const char *text, const svg_text_style *style);
/* A paragraph from `y` on, broken at the page's width; returns the baseline below it. */
double svg_put_paragraph(svg *s, double y, double line, const char *text,
                         const svg_text_style *style);
int svg_paragraph_lines(const svg *s, const char *text, double size);
/* Opens a group of what the markers of a series have in common. */
void svg_begin_markers(svg *s, const llmperf_plot_series *series, bool many);
/* `color` < 0: the series'. `name` (NULL = none): what a browser shows when the pointer is on it. */
void svg_put_marker(svg *s, const llmperf_plot_series *series, double x, double y, double r,
                    int color, const char *name);
const char *svg_dash(const llmperf_plot_series *series);

/* ---- svg_frame.c: places --------------------------------------------------------------------------- */

/* Where the text of a mark on x stands above the frame. */
typedef struct svg_mark_place {
    const llmperf_plot_mark *mark;
    double at, left, width, size; /* of its line; of its text */
    int row;
} svg_mark_place;

/* Where a value stands on the page. */
double svg_x(const svg_frame *f, double value);
double svg_y(const svg_frame *f, double value);
/* Returns the rows that texts of marks take. */
int svg_place_marks(const svg_frame *f, svg_mark_place *places, int *ret_count);
int svg_marker_count(const llmperf_plot_panel *panel);
double svg_widest_tick(const plot_tick *ticks, int count);
/* Of the marker of a point. */
double svg_radius(const svg_frame *f, const llmperf_plot_series *series,
                  const llmperf_plot_point *point);
void svg_set_frame(svg_frame *f, const llmperf_plot_panel *panel, plot_box outer);

/* ---- svg_labels.c: names ---------------------------------------------------------------------------- */

/* Points of one series that stand together share a label, a line each three names. */
typedef struct svg_label_text {
    char line[6][LLMPERF_PLOT_TEXT_MAX];
    int lines;
    int color;
    double share; /* of all its points */
} svg_label_text;

typedef struct svg_labels {
    const svg_frame *f;
    int count, box_count, segment_count;
    plot_label label[PLOT_LABELS_MAX];
    svg_label_text text[PLOT_LABELS_MAX];
    plot_box box[SVG_BOXES_MAX];
    plot_segment segment[SVG_SEGMENTS_MAX];
} svg_labels;

/* Of a panel whose frame is l->f; counts in `s` those that find no room. */
void svg_put_labels(svg *s, svg_labels *l);

/* ---- svg_panel.c -------------------------------------------------------------------------------------- */

/* `l`: room to work in. */
void svg_put_panel(svg *s, const llmperf_plot_panel *panel, plot_box outer, svg_labels *l);

#endif
