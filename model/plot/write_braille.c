/* SPDX-License-Identifier: MIT */
/*
 * Charts on a terminal: braille cells of two by four dots, or one ASCII character a cell. Letters
 * stand on the points and curves and are explained below, so that nothing hangs on colour.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"

enum {
    COLUMNS = 80,
    COLUMNS_LEAST = 40,
    COLUMNS_MOST = 500,
    LINES = 16,
    LINES_ALONE = 20, /* of a single panel */
    LINES_LEAST = 4,
    LINES_MOST = 200,
    MARGIN_MOST = 14, /* of the y axis */
    TEXT_MAX = 1024,
};

static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
/* Of series, in ASCII: no letters, which stand on points, and none of the characters of axes. */
static const char GLYPHS[] = "*+#@%&$=";

enum { GLYPH_COUNT = sizeof GLYPHS - 1, KEY_DOTS = 1 /* a key: braille dots alone */ };

typedef struct cell {
    uint8_t dots, color;
    char over; /* a character that hides the dots; 0 = none */
    bool mark; /* the line of a mark passes */
} cell;

typedef struct canvas {
    FILE *out;
    const llmperf_plot_style *style;
    const llmperf_plot_panel *panel;
    plot_range x, y;
    int columns, rows;
    cell *cell;                        /* rows x columns */
    int letters;                       /* used so far */
    char key[LLMPERF_PLOT_SERIES_MAX]; /* letter or glyph of a curve, KEY_DOTS; 0 = none */
} canvas;

/* ---- characters --------------------------------------------------------------------------------------- */

/* The text with control bytes escaped; in ASCII what lies beyond becomes '?'. */
static void clean(const char *raw, bool ascii, char text[TEXT_MAX])
{
    char safe[TEXT_MAX];
    size_t used = 0;
    llmperf_escape(raw, safe, sizeof safe);
    for (const char *c = safe; *c && used + 1 < TEXT_MAX; c++) {
        if (ascii && (unsigned char)*c >= 0x80) {
            if (((unsigned char)*c & 0xc0) != 0x80)
                text[used++] = '?';
            continue;
        }
        text[used++] = *c;
    }
    text[used] = '\0';
}

static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

/* Cut or filled with blanks to `width` columns. */
static void put_padded(FILE *out, const char *text, int width)
{
    int used = 0;
    for (; *text; text++) {
        used += ((unsigned char)*text & 0xc0) != 0x80;
        if (used > width)
            break;
        fputc(*text, out);
    }
    fprintf(out, "%*s", used < width ? width - used : 0, "");
}

/* Wraps at `width`; the line that is open stands at column `start`, further ones begin at `indent`;
 * the last one is left open. */
static void put_wrapped(FILE *out, const llmperf_plot_style *style, int width, int start,
                        int indent, const char *raw)
{
    char text[TEXT_MAX];
    clean(raw, style->ascii, text);
    int column = start;
    for (const char *at = text; *at;) {
        char word[TEXT_MAX];
        size_t length = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (column > indent && column + 1 + width_of(word) > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (column > 0) {
            fputc(' ', out);
            column++;
        }
        fputs(word, out);
        column += width_of(word);
        at += length;
        at += *at == ' ';
    }
}

static void put_paragraph(FILE *out, const llmperf_plot_style *style, int width, const char *raw)
{
    put_wrapped(out, style, width, 0, 0, raw);
    fputc('\n', out);
}

static void put_bold(FILE *out, const llmperf_plot_style *style, int width, const char *raw)
{
    fputs(style->color ? "\033[1m" : "", out);
    put_wrapped(out, style, width, 0, 0, raw);
    fputs(style->color ? "\033[0m\n" : "\n", out);
}

/* The colours of pictures as the xterm palette has them: none too dark for a black ground or too
 * light for a white one. */
static const char *color_code(int color)
{
    static const char *const codes[] = {"38;5;33",  "38;5;202", "38;5;35", "38;5;169",
                                        "38;5;172", "38;5;38",  "1",       "38;5;244"};
    return codes[color % 8];
}

static void put_colored(const canvas *c, int color, const char *text)
{
    if (c->style->color)
        fprintf(c->out, "\033[%sm%s\033[0m", color_code(color), text);
    else
        fputs(text, c->out);
}

/* U+2800 + dots */
static void braille(uint8_t dots, char text[4])
{
    text[0] = '\xe2';
    text[1] = (char)(0xa0 | (dots >> 6));
    text[2] = (char)(0x80 | (dots & 0x3f));
    text[3] = '\0';
}

/* ---- drawing -------------------------------------------------------------------------------------------- */

static cell *cell_at(canvas *c, int column, int row)
{
    bool inside = column >= 0 && row >= 0 && column < c->columns && row < c->rows;
    return inside ? &c->cell[row * c->columns + column] : NULL;
}

/* Position in dots: two a column, four a row. */
static int dot_x(const canvas *c, double value)
{
    return (int)lround(plot_at(&c->x, value) * (2 * c->columns - 1));
}

static int dot_y(const canvas *c, double value)
{
    return (int)lround((1 - plot_at(&c->y, value)) * (4 * c->rows - 1));
}

/* Do letters stand on its points? */
static bool is_labelled(const llmperf_plot_series *series)
{
    return (series->draw & LLMPERF_DRAW_NAMES) && series->count > 0 && series->count <= 64;
}

/* A series of the panel with the name of series `s`, drawn as `draw` says; -1 = none. */
static int namesake(const canvas *c, int s, unsigned draw, int before)
{
    const llmperf_plot_panel *panel = c->panel;
    for (int i = 0; i < before; i++)
        if (i != s && panel->series[i].count > 0 && (panel->series[i].draw & draw) &&
            strcmp(panel->series[i].name, panel->series[s].name) == 0)
            return i;
    return -1;
}

/* A curve whose measured points are a series of their own: letters on them tell whose it is. */
static bool is_paired(const canvas *c, int s)
{
    return (c->panel->series[s].draw & LLMPERF_DRAW_LINE) && c->panel->series[s].name[0] &&
           namesake(c, s, LLMPERF_DRAW_MARKERS, c->panel->series_count) >= 0;
}

/* In ASCII. */
static char glyph_of(const canvas *c, int s)
{
    if (is_paired(c, s))
        return '.';
    return c->key[s] > KEY_DOTS ? c->key[s] : GLYPHS[s % GLYPH_COUNT];
}

static void put_dot(canvas *c, int x, int y, int series, bool edge)
{
    static const uint8_t bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    cell *one = x >= 0 && y >= 0 ? cell_at(c, x / 2, y / 4) : NULL;
    if (!one)
        return;
    one->color = c->panel->series[series].color;
    if (c->style->ascii && (!one->over || one->over == '.'))
        one->over = edge ? '.' : glyph_of(c, series);
    one->dots |= bits[y % 4][x % 2];
}

static void put_stroke(canvas *c, int x1, int y1, int x2, int y2, int series, int period, bool edge)
{
    int steps = abs(x2 - x1) > abs(y2 - y1) ? abs(x2 - x1) : abs(y2 - y1);
    for (int i = 0; i <= steps; i++) {
        double share = steps ? (double)i / steps : 0;
        int x = (int)lround(x1 + share * (x2 - x1)), y = (int)lround(y1 + share * (y2 - y1));
        if (period <= 1 || (x + y) % period < period / 2)
            put_dot(c, x, y, series, edge);
    }
}

typedef enum edge { EDGE_VALUE, EDGE_LOW, EDGE_HIGH } edge;

static double value_of(const llmperf_plot_point *point, edge which)
{
    return which == EDGE_LOW ? point->low : which == EDGE_HIGH ? point->high : point->y;
}

static void put_curve(canvas *c, int series, edge which, int period)
{
    const llmperf_plot_series *s = &c->panel->series[series];
    if (s->count == 1)
        put_dot(c, dot_x(c, s->point[0].x), dot_y(c, value_of(&s->point[0], which)), series,
                which != EDGE_VALUE);
    for (int i = 0; i + 1 < s->count; i++)
        put_stroke(c, dot_x(c, s->point[i].x), dot_y(c, value_of(&s->point[i], which)),
                   dot_x(c, s->point[i + 1].x), dot_y(c, value_of(&s->point[i + 1], which)), series,
                   period, which != EDGE_VALUE);
}

static void put_mark_lines(canvas *c)
{
    int number = 0;
    for (int i = 0; i < c->panel->mark_count; i++) {
        const llmperf_plot_mark *m = &c->panel->mark[i];
        double at = plot_at(m->on_y ? &c->y : &c->x, m->value);
        number += m->text[0] != '\0';
        if (at < 0 || at > 1)
            continue;
        int length = m->on_y ? c->columns : c->rows;
        for (int k = 0; k < length; k++) {
            cell *one = m->on_y ? cell_at(c, k, dot_y(c, m->value) / 4)
                                : cell_at(c, dot_x(c, m->value) / 2, k);
            if (one)
                one->mark = !m->on_y || k % 2 == 0;
        }
        cell *end = m->on_y ? cell_at(c, c->columns - 1, dot_y(c, m->value) / 4)
                            : cell_at(c, dot_x(c, m->value) / 2, 0);
        while (!m->on_y && end && end->over && end - c->cell < c->columns * (c->rows - 1))
            end += c->columns; /* two marks in one column: one number below the other */
        if (end && m->text[0])
            end->over = (char)('0' + number % 10);
    }
}

/* The next letter; the last one stands for all that come after it. */
static char next_letter(canvas *c)
{
    size_t last = sizeof LETTERS - 2;
    char letter = LETTERS[(size_t)c->letters < last ? (size_t)c->letters : last];
    c->letters++;
    return letter;
}

/* Named series, of which a name counts once. */
static int count_keys(const canvas *c)
{
    int count = 0;
    for (int s = 0; s < c->panel->series_count; s++) {
        const llmperf_plot_series *one = &c->panel->series[s];
        count += one->name[0] && one->count > 0 && !is_labelled(one) && namesake(c, s, ~0u, s) < 0;
    }
    return count;
}

/* The key of a series that no namesake before it has got. Of markers without a line the first are
 * dots, and others stand out from them. */
static char new_key(canvas *c, int s, bool few, bool *dots_used)
{
    bool markers = !(c->panel->series[s].draw & LLMPERF_DRAW_LINE);
    if (!c->style->ascii && markers && !*dots_used) {
        *dots_used = true;
        return KEY_DOTS;
    }
    bool paired = is_paired(c, s);
    return !paired && few && (c->style->ascii || markers) ? GLYPHS[s % GLYPH_COUNT]
                                                          : next_letter(c);
}

static void put_end_key(canvas *c, int s)
{
    const llmperf_plot_series *series = &c->panel->series[s];
    const llmperf_plot_point *end = &series->point[series->count - 1];
    cell *one = cell_at(c, dot_x(c, end->x) / 2, dot_y(c, end->y) / 4);
    while (one && one->over && one > c->cell && (one - c->cell) % c->columns != 0)
        one--; /* the letter of another curve stands there */
    if (!one)
        return;
    one->over = c->key[s];
    one->color = series->color;
}

/* Markers that are no dots: the key on every point. */
static void put_point_keys(canvas *c, int s)
{
    const llmperf_plot_series *series = &c->panel->series[s];
    for (int i = 0; i < series->count; i++) {
        cell *one = cell_at(c, dot_x(c, series->point[i].x) / 2, dot_y(c, series->point[i].y) / 4);
        if (!one)
            continue;
        one->over = c->key[s];
        one->color = series->color;
    }
}

/* Keys of series: a letter, in ASCII a glyph, on the end of a curve or on the points; series of one
 * name share it. */
static void put_keys(canvas *c)
{
    const bool few = count_keys(c) <= GLYPH_COUNT;
    bool dots_used = false;
    for (int s = 0; s < c->panel->series_count; s++) {
        const llmperf_plot_series *series = &c->panel->series[s];
        if (!series->name[0] || series->count == 0 || is_labelled(series))
            continue;
        int before = namesake(c, s, ~0u, s);
        c->key[s] = before >= 0 ? c->key[before] : new_key(c, s, few, &dots_used);
        if (c->key[s] == KEY_DOTS)
            continue;
        if (!(series->draw & LLMPERF_DRAW_LINE))
            put_point_keys(c, s);
        else if (!c->style->ascii && before < 0 && !is_paired(c, s))
            put_end_key(c, s);
    }
}

/* ---- operators and their letters ------------------------------------------------------------------------ */

/* Puts letters on labelled points; points of one cell share one. letter[] follows the points. */
static void put_letters(canvas *c, int s, char letter[64])
{
    const llmperf_plot_series *series = &c->panel->series[s];
    for (int i = 0; i < series->count; i++) {
        int column = dot_x(c, series->point[i].x) / 2, row = dot_y(c, series->point[i].y) / 4;
        letter[i] = 0;
        for (int k = 0; k < i; k++)
            if (dot_x(c, series->point[k].x) / 2 == column &&
                dot_y(c, series->point[k].y) / 4 == row)
                letter[i] = letter[k];
        cell *one = cell_at(c, column, row);
        if (letter[i] || !one)
            continue;
        letter[i] = next_letter(c);
        for (cell *end = c->cell + (row + 1) * c->columns - 1; one->over && one < end;)
            one++; /* another series' letter stands there */
        one->over = letter[i];
        one->color = series->point[i].color ? series->point[i].color - 1 : series->color;
    }
}

enum { NUMBER = 12, SHARE = 15, NAME_LEAST = 8, NAME_MOST = 36 };

/* "1.48 us": units that stand on ticks stand in the table too. */
static const char *table_number(double value, const llmperf_plot_axis *axis, char *buffer)
{
    return plot_number(value, plot_unit_on_ticks(axis->unit) ? axis->unit : "", buffer);
}

static const char *table_head(const llmperf_plot_axis *axis)
{
    return plot_unit_on_ticks(axis->unit) ? "time" : axis->unit[0] ? axis->unit : axis->field;
}

static void put_letter_table(const canvas *c, int s, const char letter[64], int width)
{
    const llmperf_plot_series *series = &c->panel->series[s];
    const llmperf_plot_axis *x_axis = &c->panel->x, *y_axis = &c->panel->y;
    char x[PLOT_NUMBER_MAX], y[PLOT_NUMBER_MAX], name[TEXT_MAX];
    int room = width - 6 - 2 * NUMBER;
    bool shares = series->point[0].share > 0 && room - SHARE >= NAME_LEAST;
    room -= shares ? SHARE : 0;
    room = room > NAME_MOST ? NAME_MOST : room;
    clean(series->name, c->style->ascii, name);
    fputs("\n    ", c->out);
    put_padded(c->out, name, room);
    fprintf(c->out, " %*.*s %*.*s%s\n", NUMBER, NUMBER, table_head(x_axis), NUMBER, NUMBER,
            table_head(y_axis), shares ? "  share of step" : "");
    for (int i = 0; i < series->count; i++) {
        const llmperf_plot_point *p = &series->point[i];
        char key[2] = {letter[i], '\0'};
        fputs("  ", c->out);
        put_colored(c, p->color ? p->color - 1 : series->color, key);
        clean(p->label, c->style->ascii, name);
        fputc(' ', c->out);
        put_padded(c->out, name, room);
        fprintf(c->out, " %*s %*s", NUMBER, table_number(p->x, x_axis, x), NUMBER,
                table_number(p->y, y_axis, y));
        if (shares)
            fprintf(c->out, " %12d %%", (int)lround(100 * p->share));
        fputc('\n', c->out);
    }
}

/* ---- a panel ---------------------------------------------------------------------------------------------- */

/* The character of a cell; *ret_color is that of its series, -1 = none. */
static void cell_text(const canvas *c, const cell *one, char text[4], int *ret_color)
{
    bool digit = one->over >= '0' && one->over <= '9';
    snprintf(text, 4, " ");
    if (one->over)
        text[0] = one->over;
    else if (one->dots)
        braille(one->dots, text);
    else if (one->mark)
        snprintf(text, 4, "%s", c->style->ascii ? ":" : "\xe2\x94\x8a"); /* dotted */
    *ret_color = c->style->color && !digit && (one->dots || one->over) ? one->color : -1;
}

/* A row up to its last filled cell, colours switched only where they change. */
static void put_cells(const canvas *c, const cell *row, int count)
{
    int now = -1;
    for (int i = 0; i < count; i++) {
        char text[4];
        int color;
        cell_text(c, &row[i], text, &color);
        if (color != now && now >= 0)
            fputs("\033[0m", c->out);
        if (color != now && color >= 0)
            fprintf(c->out, "\033[%sm", color_code(color));
        fputs(text, c->out);
        now = color;
    }
    if (now >= 0)
        fputs("\033[0m", c->out);
}

static bool is_blank(const cell *one)
{
    return !one->dots && !one->over && !one->mark;
}

static void put_rows(const canvas *c, int margin)
{
    plot_tick tick[PLOT_TICKS_MAX];
    int ticks = plot_ticks(&c->y, c->panel->y.unit, c->rows / 3, tick);
    for (int row = 0; row < c->rows; row++) {
        const char *label = "";
        for (int i = 0; i < ticks; i++)
            if (tick[i].major && dot_y(c, tick[i].value) / 4 == row)
                label = tick[i].text;
        const char *line =
            c->style->ascii ? (label[0] ? "+" : "|") : (label[0] ? "\xe2\x94\xa4" : "\xe2\x94\x82");
        fprintf(c->out, "%*s %s", margin, label, line);
        int last = c->columns;
        while (last > 0 && is_blank(&c->cell[row * c->columns + last - 1]))
            last--;
        put_cells(c, &c->cell[row * c->columns], last);
        fputc('\n', c->out);
    }
}

static void put_x_axis(const canvas *c, int margin)
{
    plot_tick tick[PLOT_TICKS_MAX];
    char label[COLUMNS_MOST + PLOT_TICK_TEXT + 1];
    int ticks = plot_ticks(&c->x, c->panel->x.unit, c->columns / 9, tick), end = 0;
    bool at[COLUMNS_MOST] = {false};
    memset(label, ' ', sizeof label);
    for (int i = 0; i < ticks; i++) {
        int column = dot_x(c, tick[i].value) / 2, width = (int)strlen(tick[i].text);
        int from = column - width / 2 > 0 ? column - width / 2 : 0;
        from = from + width > c->columns ? c->columns - width : from;
        if (!tick[i].major || column >= c->columns || from < end)
            continue;
        at[column] = true;
        memcpy(label + from, tick[i].text, (size_t)width);
        end = from + width + 1;
    }
    fprintf(c->out, "%*s %s", margin, "", c->style->ascii ? "+" : "\xe2\x94\x94");
    for (int i = 0; i < c->columns; i++)
        fputs(c->style->ascii ? (at[i] ? "+" : "-") : (at[i] ? "\xe2\x94\xb4" : "\xe2\x94\x80"),
              c->out);
    label[end > 0 ? end - 1 : 0] = '\0';
    fprintf(c->out, "\n%*s  %s\n", margin, "", label);
    bool unit = c->panel->x.unit[0] && !plot_unit_on_ticks(c->panel->x.unit);
    char title[160], text[TEXT_MAX];
    snprintf(title, sizeof title, "%s%s%s%s", c->panel->x.title, unit ? " (" : "",
             unit ? c->panel->x.unit : "", unit ? ")" : "");
    clean(title, c->style->ascii, text);
    int pad = (c->columns - width_of(text)) / 2;
    fprintf(c->out, "%*s%s\n", margin + 2 + (pad > 0 ? pad : 0), "", text);
}

static void put_key_lines(const canvas *c, int width)
{
    char text[PLOT_LEGEND_TEXT + LLMPERF_PLOT_TEXT_MAX + 16], name[PLOT_LEGEND_TEXT];
    for (int s = 0; s < c->panel->series_count; s++) {
        const llmperf_plot_series *series = &c->panel->series[s];
        const char key[2] = {c->key[s], '\0'};
        if (!c->key[s] || namesake(c, s, ~0u, s) >= 0)
            continue;
        fputs("  ", c->out);
        put_colored(c, series->color, c->key[s] == KEY_DOTS ? "\xe2\xa0\xb6" : key);
        snprintf(text, sizeof text, "%s%s%s", plot_legend_text(series->name, series->detail, name),
                 series->band[0] ? "; dotted: " : "", series->band);
        put_wrapped(c->out, c->style, width, 3, 4, text);
        fputc('\n', c->out);
    }
    for (int i = 0, number = 0; i < c->panel->mark_count; i++) {
        if (!c->panel->mark[i].text[0])
            continue;
        fprintf(c->out, "  %d", ++number % 10);
        put_wrapped(c->out, c->style, width, 3, 4, c->panel->mark[i].text);
        fputc('\n', c->out);
    }
}

static int margin_of(const canvas *c)
{
    plot_tick tick[PLOT_TICKS_MAX];
    int ticks = plot_ticks(&c->y, c->panel->y.unit, c->rows / 3, tick), widest = 0;
    for (int i = 0; i < ticks; i++)
        widest = (int)strlen(tick[i].text) > widest ? (int)strlen(tick[i].text) : widest;
    return widest < MARGIN_MOST ? widest + 1 : MARGIN_MOST;
}

static void draw_curves(canvas *c)
{
    for (int s = 0; s < c->panel->series_count; s++) {
        const llmperf_plot_series *series = &c->panel->series[s];
        if (series->draw & LLMPERF_DRAW_BAND) {
            put_curve(c, s, EDGE_LOW, 4);
            put_curve(c, s, EDGE_HIGH, 4);
        }
        if (series->draw & LLMPERF_DRAW_LINE)
            put_curve(c, s, EDGE_VALUE, series->draw & LLMPERF_DRAW_DASHED ? 6 : 1);
        if ((series->draw & LLMPERF_DRAW_MARKERS) && (c->style->ascii || c->key[s] <= KEY_DOTS))
            for (int i = 0; i < series->count; i++)
                put_dot(c, dot_x(c, series->point[i].x), dot_y(c, series->point[i].y), s, false);
    }
}

static void put_heading(const canvas *c, int width)
{
    char text[256];
    const llmperf_plot_axis *y = &c->panel->y;
    bool unit = y->unit[0] && !plot_unit_on_ticks(y->unit) && strcmp(y->unit, "x") != 0;
    snprintf(text, sizeof text, "%s%s%s%s%s%s", c->panel->title, c->panel->title[0] ? ": " : "",
             y->title, unit ? " (" : "", unit ? y->unit : "", unit ? ")" : "");
    fputc('\n', c->out);
    put_bold(c->out, c->style, width, text);
}

static llmperf_status put_panel(canvas *c, int width, llmperf_error *error)
{
    char letter[LLMPERF_PLOT_SERIES_MAX][64];
    c->x = plot_range_x(c->panel);
    c->y = plot_range_y(c->panel);
    int margin = margin_of(c);
    c->columns = width - margin - 2;
    c->cell = calloc((size_t)c->rows * (size_t)c->columns, sizeof *c->cell);
    if (!c->cell)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    put_mark_lines(c);
    put_keys(c);
    for (int s = 0; s < c->panel->series_count; s++)
        if (is_labelled(&c->panel->series[s]))
            put_letters(c, s, letter[s]);
    draw_curves(c);
    put_heading(c, width);
    put_rows(c, margin);
    put_x_axis(c, margin);
    put_key_lines(c, width);
    for (int s = 0; s < c->panel->series_count; s++)
        if (is_labelled(&c->panel->series[s]))
            put_letter_table(c, s, letter[s], width);
    free(c->cell);
    c->cell = NULL;
    return LLMPERF_OK;
}

static int within(int value, int fallback, int least, int most)
{
    value = value ? value : fallback;
    return value < least ? least : value > most ? most : value;
}

llmperf_status plot_write_text(FILE *out, const llmperf_plot *plot, const llmperf_plot_style *style,
                               llmperf_error *error)
{
    int width = within(style->width, COLUMNS, COLUMNS_LEAST, COLUMNS_MOST);
    int rows = within(style->height, plot->panel_count == 1 ? LINES_ALONE : LINES, LINES_LEAST,
                      LINES_MOST);
    put_bold(out, style, width, plot->title);
    put_paragraph(out, style, width, plot->subtitle);
    for (int i = 0; i < plot->panel_count; i++) {
        canvas c = {.out = out, .style = style, .panel = &plot->panel[i], .rows = rows};
        llmperf_status status = put_panel(&c, width, error);
        if (status != LLMPERF_OK)
            return status;
    }
    if (plot->notes.count > 0)
        fputc('\n', out);
    for (int i = 0; i < plot->notes.count; i++)
        put_paragraph(out, style, width, plot->notes.text[i]);
    return LLMPERF_OK;
}
