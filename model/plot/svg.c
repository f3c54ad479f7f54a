/* SPDX-License-Identifier: MIT */
/* The elements of an SVG picture: text, numbers, markers. */
#include "svg.h"

#include <string.h>

/* Okabe and Ito's colours, told apart by colour-blind readers; and darker ones for text. */
static const char *const COLORS[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#e69f00", "#56b4e9", "#333333", "#808080"};
static const char *const INKS[] = {"#005a8c", "#a84600", "#00724f", "#95466f",
                                   "#855a00", "#246a96", "#222222", "#555555"};

enum { COLOR_COUNT = sizeof COLORS / sizeof *COLORS };

const char *svg_color(int index)
{
    return COLORS[index % COLOR_COUNT];
}

const char *svg_ink(int index)
{
    return INKS[index % COLOR_COUNT];
}

/* A short code for a character that XML refuses: escaped control bytes arrive as \xNN already. */
static bool is_noncharacter(const char *at)
{
    return strncmp(at, "\xef\xbf\xbe", 3) == 0 || strncmp(at, "\xef\xbf\xbf", 3) == 0;
}

void svg_put_text(FILE *out, const char *raw)
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

void svg_put_number(FILE *out, double value)
{
    char text[PLOT_NUMBER_MAX];
    fputs(plot_coordinate(value, text), out);
}

/* " name=\"value\"" */
void svg_put(svg *s, const char *name, double value)
{
    fprintf(s->out, " %s=\"", name);
    svg_put_number(s->out, value);
    fputc('"', s->out);
}

void svg_put_point(svg *s, char command, double x, double y)
{
    fputc(command, s->out);
    svg_put_number(s->out, x);
    fputc(' ', s->out);
    svg_put_number(s->out, y);
}

void svg_put_label(svg *s, double x, double y, const char *text, const svg_text_style *style)
{
    fputs("<text", s->out);
    svg_put(s, "x", x);
    svg_put(s, "y", y);
    if (style->turn != 0) {
        fputs(" transform=\"rotate(", s->out);
        svg_put_number(s->out, style->turn);
        fputc(' ', s->out);
        svg_put_number(s->out, x);
        fputc(' ', s->out);
        svg_put_number(s->out, y);
        fputs(")\"", s->out);
    }
    if (style->size != SVG_TEXT)
        svg_put(s, "font-size", style->size);
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
    svg_put_text(s->out, text);
    fputs("</text>\n", s->out);
}

/* A paragraph from `y` on, broken at the page's width; returns the baseline below it. */
double svg_put_paragraph(svg *s, double y, double line, const char *text,
                         const svg_text_style *style)
{
    char safe[LLMPERF_TEXT_MAX * 4];
    llmperf_escape(text, safe, sizeof safe);
    for (const char *at = safe; *at;) {
        char one[LLMPERF_TEXT_MAX * 4];
        size_t length =
            plot_wrap(at, style->size * (style->bold ? 1.1 : 1), s->width - 2 * SVG_MARGIN);
        snprintf(one, sizeof one, "%.*s", (int)length, at);
        svg_put_label(s, SVG_MARGIN, y, one, style);
        y += line;
        at += length;
        at += *at == ' ';
    }
    return y;
}

/* Lines that a paragraph takes. */
int svg_paragraph_lines(const svg *s, const char *text, double size)
{
    int lines = 0;
    char safe[LLMPERF_TEXT_MAX * 4];
    llmperf_escape(text, safe, sizeof safe);
    for (const char *at = safe; *at; lines++) {
        at += plot_wrap(at, size, s->width - 2 * SVG_MARGIN);
        at += *at == ' ';
    }
    return lines;
}

/* What the markers of a series have in common. */
void svg_begin_markers(svg *s, const llmperf_plot_series *series, bool many)
{
    fprintf(s->out, "<g fill=\"%s\" fill-opacity=\"%s\"%s>\n", svg_color(series->color),
            many ? "0.6" : "0.75", many ? "" : " stroke=\"#fff\" stroke-width=\"0.8\"");
}

/* A diamond or a triangle, up to its path's end. */
static void put_cornered(svg *s, llmperf_plot_marker marker, double x, double y, double r)
{
    const double up = marker == LLMPERF_MARKER_DOWN ? -r : r;
    fputs("<path d=\"", s->out);
    svg_put_point(s, 'M', x, y - 1.2 * up);
    if (marker == LLMPERF_MARKER_DIAMOND) {
        svg_put_point(s, 'L', x + 1.2 * r, y);
        svg_put_point(s, 'L', x, y + 1.2 * r);
        svg_put_point(s, 'L', x - 1.2 * r, y);
    } else {
        svg_put_point(s, 'L', x + 1.1 * r, y + 0.8 * up);
        svg_put_point(s, 'L', x - 1.1 * r, y + 0.8 * up);
    }
    fputs("z\"", s->out);
}

/* `color` < 0: the series'. `name` (NULL = none): what a browser shows when the pointer is on it. */
void svg_put_marker(svg *s, const llmperf_plot_series *series, double x, double y, double r,
                    int color, const char *name)
{
    const char *tag = "circle";
    switch (series->marker) {
    case LLMPERF_MARKER_SQUARE:
        tag = "rect";
        fputs("<rect", s->out);
        svg_put(s, "x", x - 0.9 * r);
        svg_put(s, "y", y - 0.9 * r);
        svg_put(s, "width", 1.8 * r);
        svg_put(s, "height", 1.8 * r);
        break;
    case LLMPERF_MARKER_TRIANGLE:
    case LLMPERF_MARKER_DOWN:
    case LLMPERF_MARKER_DIAMOND:
        tag = "path";
        put_cornered(s, (llmperf_plot_marker)series->marker, x, y, r);
        break;
    default:
        fputs("<circle", s->out);
        svg_put(s, "cx", x);
        svg_put(s, "cy", y);
        svg_put(s, "r", r);
    }
    color = color >= 0 ? color : series->color;
    if (series->marker == LLMPERF_MARKER_RING)
        fprintf(s->out, " fill=\"#fff\" fill-opacity=\"1\" stroke=\"%s\" stroke-width=\"2\"",
                svg_color(color));
    else if (color != series->color)
        fprintf(s->out, " fill=\"%s\"", svg_color(color));
    if (!name) {
        fputs("/>\n", s->out);
        return;
    }
    fputs("><title>", s->out);
    svg_put_text(s->out, name);
    fprintf(s->out, "</title></%s>\n", tag);
}

const char *svg_dash(const llmperf_plot_series *series)
{
    return series->draw & LLMPERF_DRAW_DASHED   ? " stroke-dasharray=\"6 4\""
           : series->draw & LLMPERF_DRAW_DOTTED ? " stroke-dasharray=\"2 3\""
                                                : "";
}
