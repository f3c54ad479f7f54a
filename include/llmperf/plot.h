/* SPDX-License-Identifier: MIT */
/*
 * Charts: what is drawn, apart from how. Plain functions fill an llmperf_plot with numbers of the
 * functions that predict (llmperf_step, llmperf_time_op, llmperf_point_of, llmperf_predict); writers
 * draw it as SVG or on a terminal, or list its numbers as CSV and JSON. docs/plot.md shows them.
 */
#ifndef LLMPERF_PLOT_H
#define LLMPERF_PLOT_H

#include <stdio.h>

#include "llmperf/compare.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LLMPERF_PLOT_PANELS_MAX 4
#define LLMPERF_PLOT_SERIES_MAX 32
#define LLMPERF_PLOT_MARKS_MAX 16
#define LLMPERF_PLOT_TEXT_MAX 128

typedef enum llmperf_plot_scale {
    LLMPERF_SCALE_LINEAR,
    LLMPERF_SCALE_LOG,  /* decades */
    LLMPERF_SCALE_LOG2, /* octaves: batches and tokens */
} llmperf_plot_scale;

typedef struct llmperf_plot_axis {
    char field[48];     /* name in CSV and JSON, SI, with its unit: "flop_per_s" */
    char title[96];     /* for people, without the unit */
    char unit[16];      /* "s", "FLOP/s"; "" = a count */
    uint8_t scale;      /* llmperf_plot_scale */
    double least, most; /* 0, 0 = what the data need */
} llmperf_plot_axis;

/* SI units. low and high are the ends of a band around y, used where the series has one. */
typedef struct llmperf_plot_point {
    double x, y, low, high;
    double share;  /* 0..1, as the area of its marker; 0 = all markers alike */
    uint8_t color; /* of its marker: 1 + a colour; 0 = the series' */
    char label[48];
} llmperf_plot_point;

/* How a series is drawn; bits. */
#define LLMPERF_DRAW_LINE 1u
#define LLMPERF_DRAW_MARKERS 2u
#define LLMPERF_DRAW_BAND 4u /* from low to high */
#define LLMPERF_DRAW_DASHED 8u
#define LLMPERF_DRAW_NAMES 16u /* the labels of the points, beside their markers */
#define LLMPERF_DRAW_DOTTED 32u

typedef enum llmperf_plot_marker {
    LLMPERF_MARKER_CIRCLE,
    LLMPERF_MARKER_SQUARE,
    LLMPERF_MARKER_TRIANGLE,
    LLMPERF_MARKER_DIAMOND,
    LLMPERF_MARKER_DOWN,                        /* a triangle on its tip */
    LLMPERF_MARKER_COUNT,                       /* of those that curves take in turn */
    LLMPERF_MARKER_RING = LLMPERF_MARKER_COUNT, /* hollow: a place on a curve */
} llmperf_plot_marker;

typedef struct llmperf_plot_series {
    char name[LLMPERF_PLOT_TEXT_MAX];   /* one legend entry a name over all panels; "" = none */
    char detail[LLMPERF_PLOT_TEXT_MAX]; /* behind the name in the legend; "" = none */
    char band[LLMPERF_PLOT_TEXT_MAX];   /* legend of the band */
    unsigned draw;                      /* LLMPERF_DRAW_ bits */
    uint8_t color;                      /* 0..7, colours that colour-blind readers tell apart */
    uint8_t marker;                     /* llmperf_plot_marker */
    int count, capacity;
    llmperf_plot_point *point; /* owned by the plot */
} llmperf_plot_series;

/* A value on an axis, as a line across the panel. */
typedef struct llmperf_plot_mark {
    bool on_y;        /* else on x */
    bool beyond;      /* shade what lies beyond it */
    double value;     /* SI */
    double low, high; /* its interval, shaded; equal to value when there is none */
    uint8_t color;
    char text[LLMPERF_PLOT_TEXT_MAX];
} llmperf_plot_mark;

typedef struct llmperf_plot_panel {
    char name[48];  /* in CSV and JSON */
    char title[96]; /* for people */
    llmperf_plot_axis x, y;
    int series_count, mark_count;
    llmperf_plot_series series[LLMPERF_PLOT_SERIES_MAX];
    llmperf_plot_mark mark[LLMPERF_PLOT_MARKS_MAX];
} llmperf_plot_panel;

/* Large: static or on the heap. Start zeroed, end with llmperf_plot_free(). */
typedef struct llmperf_plot {
    char kind[24]; /* "roofline" ... */
    char title[320], subtitle[512];
    int panel_count;
    llmperf_plot_panel panel[LLMPERF_PLOT_PANELS_MAX];
    llmperf_notes notes;
    llmperf_notes not_modelled; /* of the predictions drawn; in JSON */
} llmperf_plot;

LLMPERF_API void llmperf_plot_free(llmperf_plot *plot);

/* A new panel, or a new series of a panel, zeroed but for the names; NULL when there is no room. */
LLMPERF_API llmperf_plot_panel *llmperf_plot_add_panel(llmperf_plot *plot, const char *name,
                                                       const char *title);
LLMPERF_API llmperf_plot_series *llmperf_plot_add_series(llmperf_plot_panel *panel,
                                                         const char *name, unsigned draw);
/* Errors: LLMPERF_E_MEMORY. A point that is not finite, or not positive on a logarithmic axis of
 * its panel, is left out. */
LLMPERF_API llmperf_status llmperf_plot_add_point(const llmperf_plot_panel *panel,
                                                  llmperf_plot_series *series,
                                                  const llmperf_plot_point *point,
                                                  llmperf_error *error);
LLMPERF_API void llmperf_plot_add_mark(llmperf_plot_panel *panel, const llmperf_plot_mark *mark);

/* ---- the figures: each fills a zeroed plot ------------------------------------------------------- */

/*
 * Roofline: the operators of decode (at each of `batches`) and of the prefill of the case's prompts,
 * FLOP/s against FLOP/byte, under the roofs of the formats that compute; with a calibration also
 * the roof that its GEMMs reach. Operators that take less than 1 % of their step are left out.
 *   requires: hw.  errors: LLMPERF_E_MEMORY, LLMPERF_E_UNSUPPORTED when there is nothing to draw
 */
LLMPERF_API llmperf_status llmperf_plot_roofline(const llmperf_config *c, const int64_t *batches,
                                                 int batch_count, llmperf_plot *ret_plot,
                                                 llmperf_error *error);

/*
 * Throughput and time per output token against batch, at the case's context, with memory's limit
 * and the compute-bound batch marked, and the interval as a band. batch_count 0: chosen so that
 * both limits are seen.
 */
LLMPERF_API llmperf_status llmperf_plot_batch(const llmperf_config *c, const int64_t *batches,
                                              int batch_count, llmperf_plot *ret_plot,
                                              llmperf_error *error);

/* One curve of a figure over operators: an operator as its tokens or its batch grow. */
typedef struct llmperf_curve_item {
    llmperf_op op;
    double batch;  /* sequences together */
    double time_s; /* measured; 0 = what llmperf_time_op() says */
} llmperf_curve_item;

typedef struct llmperf_curve {
    char name[LLMPERF_PLOT_TEXT_MAX]; /* a measured and a predicted one of a name belong together */
    bool measured;
    bool decode; /* attention: of a decode step, else of prefill */
    int count, capacity;
    llmperf_curve_item *item; /* owned */
    bool has_knee;
    llmperf_curve_item knee; /* dense: where it turns compute-bound; batch = b s */
} llmperf_curve;

#define LLMPERF_CURVES_MAX 24

/* Large. Start zeroed, end with llmperf_curves_free(). */
typedef struct llmperf_curves {
    char what[160], shape[224]; /* for title and subtitle: of whom, of which shape */
    llmperf_notes notes;        /* for the figure's */
    int count;
    llmperf_curve curve[LLMPERF_CURVES_MAX];
} llmperf_curves;

LLMPERF_API void llmperf_curves_free(llmperf_curves *curves);
/* NULL when there is no room. */
LLMPERF_API llmperf_curve *llmperf_curves_add(llmperf_curves *curves, const char *name);
LLMPERF_API llmperf_status llmperf_curve_add(llmperf_curve *curve, const llmperf_curve_item *item,
                                             llmperf_error *error);

/*
 * Curves of dense layers as the tokens b s grow from 1: of one layer of hidden x hidden weights in
 * bf16, or the format that the workload asks for, or of every dense operator of a model's decode
 * step. token_count 0: 1 to 16384. Errors: LLMPERF_E_MEMORY, LLMPERF_E_UNSUPPORTED.
 */
LLMPERF_API llmperf_status llmperf_curves_hidden(const llmperf_hw *hw, const llmperf_calib *calib,
                                                 const llmperf_workload *workload,
                                                 const int64_t *hidden, int hidden_count,
                                                 const int64_t *tokens, int token_count,
                                                 llmperf_curves *curves, llmperf_error *error);
LLMPERF_API llmperf_status llmperf_curves_dense(const llmperf_config *c, const int64_t *tokens,
                                                int token_count, llmperf_curves *curves,
                                                llmperf_error *error);
/*
 * Curves of one layer's attention as the batch grows, a curve a prompt length: of the prefill of
 * that many tokens, and of a decode step with that many cached. Of a fused case the core; of an
 * unfused one the product of queries and keys. Errors: as above.
 */
LLMPERF_API llmperf_status llmperf_curves_attention(const llmperf_config *c, const int64_t *prompts,
                                                    int prompt_count, const int64_t *batches,
                                                    int batch_count, llmperf_curves *curves,
                                                    llmperf_error *error);

/* FLOP/s, and time, against the FLOP of one launch. */
LLMPERF_API llmperf_status llmperf_plot_dense(const llmperf_hw *hw, const llmperf_calib *calib,
                                              const llmperf_curves *curves, llmperf_plot *ret_plot,
                                              llmperf_error *error);
/* FLOP/s, and time, against batch: two panels each for prefill and decode, where there are curves. */
LLMPERF_API llmperf_status llmperf_plot_attention(const llmperf_hw *hw, const llmperf_calib *calib,
                                                  const llmperf_curves *curves,
                                                  llmperf_plot *ret_plot, llmperf_error *error);

/* Measured / predicted of each row against its roofline time, a panel a group; the largest four. */
LLMPERF_API llmperf_status llmperf_plot_residuals(const llmperf_comparison *comparison,
                                                  llmperf_plot *ret_plot, llmperf_error *error);

/* ---- writers --------------------------------------------------------------------------------------- */

typedef struct llmperf_plot_style {
    int width, height; /* SVG: pixels; text: columns, lines a panel; 0 = default */
    bool ascii;        /* text without braille and without any character beyond ASCII */
    bool color;        /* text: ANSI colours */
    uint64_t room[8];  /* for what comes; 0 */
} llmperf_plot_style;

/* "text", "json", "csv", "svg" (and "png", which a module renders from the SVG, llmperf/png.h);
 * NULL-terminated, static storage. */
LLMPERF_API const char *const *llmperf_plot_formats(void);
/* The format that a file name's suffix asks for, or NULL. */
LLMPERF_API const char *llmperf_plot_format_of_suffix(const char *path);
/*
 * The format that is named, else the one of the suffix of `path`, else text; `named` and `path` may be
 * NULL. LLMPERF_E_USAGE for a picture's suffix over another format, and for a suffix that nothing is
 * written for.
 */
LLMPERF_API llmperf_status llmperf_plot_choose_format(const char *path, const char *named,
                                                      const char **ret_format,
                                                      llmperf_error *error);

/* The same plot and style give the same bytes on every machine and under every locale.
 * Errors: LLMPERF_E_USAGE for an unknown format, LLMPERF_E_MEMORY. */
LLMPERF_API llmperf_status llmperf_write_plot(FILE *out, const char *format,
                                              const llmperf_plot *plot,
                                              const llmperf_plot_style *style,
                                              llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
