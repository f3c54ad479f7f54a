/* SPDX-License-Identifier: MIT */
/* What the files that fill and draw charts share: ranges, ticks, numbers, text widths. */
#ifndef LLMPERF_MODEL_PLOT_H
#define LLMPERF_MODEL_PLOT_H

#include "llmperf/plot.h"
#include "sink.h"
#include "calib_object.h"

/* ---- axes (plot_axis.c) ----------------------------------------------------------------------- */

/* An axis with its ends decided; both positive on a logarithmic one, least < most. */
typedef struct plot_range {
    uint8_t scale; /* llmperf_plot_scale */
    double least, most;
} plot_range;

/* Ends of the x or y axis of a panel: its own, else those of series, bands and marks. `snug`: not
 * rounded outwards. */
plot_range plot_range_x(const llmperf_plot_panel *panel);
plot_range plot_range_y(const llmperf_plot_panel *panel);

/* Where a value lies, 0 at the least end and 1 at the most; beyond them outside 0..1. */
double plot_at(const plot_range *range, double value);

enum { PLOT_TICKS_MAX = 64, PLOT_TICK_TEXT = 24 };

typedef struct plot_tick {
    double value;
    bool major; /* labelled */
    char text[PLOT_TICK_TEXT];
} plot_tick;

/* Ticks inside a range, ascending, at most `labels` (2 or more) of them labelled. Returns how many. */
int plot_ticks(const plot_range *range, const char *unit, int labels, plot_tick *ret_ticks);

/* Every whole number up to 8, then four an octave, up to a power of two. Returns how many. */
enum { PLOT_OCTAVES_MAX = 8 + 4 * 24 };
int plot_octaves(int64_t most, int64_t ret_values[PLOT_OCTAVES_MAX]);

/* True when tick labels carry the unit ("10 ms"), so that the axis title need not. */
bool plot_unit_on_ticks(const char *unit);

/* "1.25 ms", "989 TFLOP/s", "16k": three significant digits, the same under every locale. Returns
 * buffer. `ascii` writes u for the micro sign. */
enum { PLOT_NUMBER_MAX = 48 };
char *plot_number(double value, const char *unit, char *buffer);

/* A coordinate with one decimal, no trailing ".0". Returns buffer of PLOT_NUMBER_MAX. */
char *plot_coordinate(double value, char *buffer);

/* "calibration X", "profile X, borrowed", or what stands in its place. Returns buffer. */
char *plot_basis(const llmperf_calib *calib, llmperf_estimate_kind kind, const char *none,
                 char *buffer, size_t size);

/* ", one of 4 devices", or nothing where there is one. Returns buffer. */
char *plot_devices(const llmperf_workload *workload, char *buffer, size_t size);

/* ---- text -------------------------------------------------------------------------------------- */

/* Width of a UTF-8 text in a sans-serif font of `size`, on the wide side. */
double plot_text_width(const char *text, double size);

/* Font size, at most `size`, at which a text fits `width`. */
double plot_fit(const char *text, double size, double width);

/* Length in bytes of the first line of `text` that fits `width`: broken at a blank or behind
 * a hyphen where there is one, at least one character. */
size_t plot_wrap(const char *text, double size, double width);

/* ---- legend ------------------------------------------------------------------------------------- */

/* One entry a series name, in the order of appearance over all panels; its line and its markers
 * may come from two series. */
typedef struct plot_legend_entry {
    const char *text, *detail;                        /* detail: "" = none */
    const llmperf_plot_series *line, *markers, *band; /* NULL = none */
} plot_legend_entry;

enum { PLOT_LEGEND_MAX = 2 * LLMPERF_PLOT_SERIES_MAX };
int plot_legend(const llmperf_plot *plot, plot_legend_entry *ret_entries);

/* The text of an entry or series, "name: detail". Returns buffer. */
enum { PLOT_LEGEND_TEXT = 2 * LLMPERF_PLOT_TEXT_MAX + 4 };
char *plot_legend_text(const char *name, const char *detail, char buffer[PLOT_LEGEND_TEXT]);

/* ---- labels that do not overlap (plot_place.c) ---------------------------------------------------- */

typedef struct plot_box {
    double x, y, width, height; /* left, top */
} plot_box;

typedef struct plot_segment {
    double x1, y1, x2, y2;
} plot_segment;

/* A label that belongs to a point. */
typedef struct plot_label {
    double x, y;          /* of the point */
    double width, height; /* of the text */
    plot_box box;         /* where it goes */
    bool placed;          /* false: there is no room for it */
} plot_label;

/* What labels keep clear of. */
typedef struct plot_obstacles {
    plot_box inside; /* where labels may be */
    const plot_box *box;
    int box_count;
    const plot_segment *segment;
    int segment_count;
} plot_obstacles;

/* Does a segment pass through a box? */
bool plot_crosses(const plot_segment *segment, const plot_box *box);

/* Places at most PLOT_LABELS_MAX labels, the first with most choice, each beside its point or, where
 * that is crowded, farther off; in another order where that finds room for more. */
enum { PLOT_LABELS_MAX = 128 };
void plot_place(plot_label *labels, int count, const plot_obstacles *obstacles);

/* ---- writers -------------------------------------------------------------------------------------- */

llmperf_status plot_write_svg(FILE *out, const llmperf_plot *plot, const llmperf_plot_style *style,
                              llmperf_error *error);
llmperf_status plot_write_text(FILE *out, const llmperf_plot *plot, const llmperf_plot_style *style,
                               llmperf_error *error);
llmperf_status plot_write_fields(FILE *out, const sink_format *format, const llmperf_plot *plot,
                                 llmperf_error *error);

#endif
