/* SPDX-License-Identifier: MIT */
/* Charts: axes, numbers, labels, and what the writers make of them. */
#include <criterion/criterion.h>

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"

/* ---- numbers ------------------------------------------------------------------------------------------ */

typedef struct number_row {
    double value;
    const char *unit, *want;
} number_row;

Test(plot, numbers_have_three_digits_and_a_prefix)
{
    static const number_row rows[] = {
        {0.0253, "s", "25.3 ms"},
        {4.5e-6, "s", "4.5 us"},
        {1e-3, "s", "1 ms"},
        {0.99951, "s", "1 s"}, /* rounds up to the next prefix */
        {120, "s", "120 s"},
        {989.4e12, "FLOP/s", "989 TFLOP/s"},
        {999.6e12, "FLOP/s", "1 PFLOP/s"},
        {3.35e12, "B/s", "3.35 TB/s"},
        {295.34, "FLOP/byte", "295 FLOP/byte"},
        {0.25, "FLOP/byte", "0.25 FLOP/byte"},
        {16384, "", "16384"}, /* a batch is written out */
        {131072, "", "131k"},
        {0.5, "", "0.5"},
        {0, "s", "0 s"},
        {-2.5, "x", "-2.5"},
        {1e15, "", "1P"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char buffer[PLOT_NUMBER_MAX];
        plot_number(rows[i].value, rows[i].unit, buffer);
        cr_expect(strcmp(buffer, rows[i].want) == 0, "%g %s is '%s', wanted '%s'", rows[i].value,
                  rows[i].unit, buffer, rows[i].want);
    }
}

Test(plot, coordinates_have_one_decimal)
{
    char buffer[PLOT_NUMBER_MAX];
    cr_expect_str_eq(plot_coordinate(12, buffer), "12");
    cr_expect_str_eq(plot_coordinate(12.34, buffer), "12.3");
    cr_expect_str_eq(plot_coordinate(-0.04, buffer), "0");
    cr_expect_str_eq(plot_coordinate(-7.25, buffer), "-7.3");
}

/* ---- axes --------------------------------------------------------------------------------------------- */

Test(plot, place_on_an_axis)
{
    const plot_range log = {LLMPERF_SCALE_LOG, 1, 100}, linear = {LLMPERF_SCALE_LINEAR, 10, 20};
    cr_expect_float_eq(plot_at(&log, 10), 0.5, 1e-12);
    cr_expect_float_eq(plot_at(&log, 1), 0, 1e-12);
    cr_expect_float_eq(plot_at(&linear, 17.5), 0.75, 1e-12);
    cr_expect(plot_at(&linear, 25) > 1);
}

/* The labelled ticks in one line: "1 10 100". */
static const char *labels_of(plot_range range, const char *unit, int most, char *text, size_t size)
{
    plot_tick tick[PLOT_TICKS_MAX];
    int count = plot_ticks(&range, unit, most, tick);
    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        size_t used = strlen(text);
        cr_expect(tick[i].value >= range.least * (1 - 1e-9) - 1e-300 &&
                  tick[i].value <= range.most * (1 + 1e-9));
        cr_expect(i == 0 || tick[i].value > tick[i - 1].value);
        if (tick[i].major)
            snprintf(text + used, size - used, "%s%s", used ? "|" : "", tick[i].text);
    }
    return text;
}

#define EXPECT_LABELS(scale, least, most, unit, labels, want)                                      \
    do {                                                                                           \
        char text[512];                                                                            \
        cr_expect_str_eq(                                                                          \
            labels_of((plot_range){scale, least, most}, unit, labels, text, sizeof text), want);   \
    } while (0)

Test(plot, ticks)
{
    EXPECT_LABELS(LLMPERF_SCALE_LOG, 1, 1000, "", 8, "1|10|100|1000");
    EXPECT_LABELS(LLMPERF_SCALE_LOG, 1, 100, "", 12, "1|2|5|10|20|50|100");
    EXPECT_LABELS(LLMPERF_SCALE_LOG, 1e-3, 0.1, "s", 4, "1 ms|10 ms|100 ms");
    /* where 1 2 5 gives too few, the steps that lie most evenly */
    EXPECT_LABELS(LLMPERF_SCALE_LOG, 2e12, 5e12, "FLOP/s", 6, "2T|3T|4T|5T");
    EXPECT_LABELS(LLMPERF_SCALE_LOG, 0.5, 2, "x", 9, "0.5|0.7|1|1.5|2");
    EXPECT_LABELS(LLMPERF_SCALE_LOG, 1, 1e6, "", 20, "1|10|100|1000|10000|100k|1M");
    EXPECT_LABELS(LLMPERF_SCALE_LOG2, 0.5, 2, "", 5, "1|2");
    EXPECT_LABELS(LLMPERF_SCALE_LOG, 1e6, 1e13, "", 4, "1M|100M|10G|1T");
    EXPECT_LABELS(LLMPERF_SCALE_LOG2, 1, 256, "", 5, "1|4|16|64|256");
    EXPECT_LABELS(LLMPERF_SCALE_LOG2, 3, 20, "", 8, "4|8|16");
    EXPECT_LABELS(LLMPERF_SCALE_LINEAR, 0, 0.05, "s", 6, "0 s|10 ms|20 ms|30 ms|40 ms|50 ms");
    EXPECT_LABELS(LLMPERF_SCALE_LINEAR, 1000, 1010, "", 6, "1000|1002|1004|1006|1008|1010");
    /* within one decade, no 1, 2 or 5 of it inside: linear ticks stand in */
    EXPECT_LABELS(LLMPERF_SCALE_LOG, 6.1, 8.9, "", 4, "7|8");
}

static llmperf_plot plot; /* of the cases below: Criterion runs each in a process of its own */

static llmperf_plot_panel *panel_with(uint8_t x_scale, uint8_t y_scale)
{
    llmperf_plot_panel *panel = llmperf_plot_add_panel(&plot, "p", "");
    panel->x = (llmperf_plot_axis){.field = "batch", .title = "batch", .scale = x_scale};
    panel->y =
        (llmperf_plot_axis){.field = "time_s", .title = "time", .unit = "s", .scale = y_scale};
    return panel;
}

static void add(llmperf_plot_panel *panel, llmperf_plot_series *series, double x, double y)
{
    const llmperf_plot_point point = {.x = x, .y = y};
    cr_assert_eq(llmperf_plot_add_point(panel, series, &point, NULL), LLMPERF_OK);
}

Test(plot, ranges_hold_the_data)
{
    llmperf_plot_panel *panel = panel_with(LLMPERF_SCALE_LOG2, LLMPERF_SCALE_LOG);
    llmperf_plot_series *series = llmperf_plot_add_series(panel, "s", LLMPERF_DRAW_LINE);
    add(panel, series, 1, 0.003);
    add(panel, series, 64, 0.04);
    plot_range x = plot_range_x(panel), y = plot_range_y(panel);
    cr_expect_eq(x.least, 1);
    cr_expect_eq(x.most, 64);
    cr_expect_float_eq(y.least, 0.002, 1e-12); /* 1, 2, 5 outwards */
    cr_expect_float_eq(y.most, 0.05, 1e-12);
    panel->y.scale = LLMPERF_SCALE_LINEAR;
    y = plot_range_y(panel);
    cr_expect_eq(y.least, 0, "a linear scale begins at zero");
    cr_expect_float_eq(y.most, 0.04, 1e-12);
    llmperf_plot_free(&plot);
}

Test(plot, one_point_and_none_have_a_range)
{
    llmperf_plot_panel *panel = panel_with(LLMPERF_SCALE_LOG, LLMPERF_SCALE_LINEAR);
    plot_range x = plot_range_x(panel), y = plot_range_y(panel);
    cr_expect(x.least > 0 && x.least < x.most && y.least < y.most);
    llmperf_plot_series *series = llmperf_plot_add_series(panel, "s", LLMPERF_DRAW_LINE);
    add(panel, series, 8, 0);
    x = plot_range_x(panel);
    y = plot_range_y(panel);
    cr_expect(x.least < 8 && x.most > 8 && y.least < y.most);
    llmperf_plot_free(&plot);
}

Test(plot, what_cannot_be_drawn_is_left_out)
{
    llmperf_plot_panel *panel = panel_with(LLMPERF_SCALE_LOG, LLMPERF_SCALE_LOG);
    llmperf_plot_series *series = llmperf_plot_add_series(panel, "s", LLMPERF_DRAW_LINE);
    add(panel, series, 0, 1);
    add(panel, series, 1, -1);
    add(panel, series, NAN, 1);
    add(panel, series, 1, INFINITY);
    cr_expect_eq(series->count, 0);
    for (int i = 0; i < 2 * LLMPERF_PLOT_MARKS_MAX; i++)
        llmperf_plot_add_mark(panel, &(llmperf_plot_mark){.value = 2});
    cr_expect_eq(panel->mark_count, LLMPERF_PLOT_MARKS_MAX);
    cr_expect_eq(panel->mark[0].low, 2, "a mark without an interval");
    llmperf_plot_free(&plot);
}

/* ---- labels ------------------------------------------------------------------------------------------- */

Test(plot, text_breaks_at_blanks)
{
    cr_expect_eq(plot_wrap("one two three", 10, 1e6), strlen("one two three"));
    cr_expect_eq(plot_wrap("one two three", 10, plot_text_width("one two", 10) + 1),
                 strlen("one two"));
    cr_expect_eq(plot_wrap("unbreakable", 10, plot_text_width("unbre", 10) + 1), strlen("unbre"));
    cr_expect_eq(plot_wrap("one-two-three", 10, plot_text_width("one-two-th", 10) + 1),
                 strlen("one-two-"), "behind a hyphen");
    cr_expect_eq(plot_wrap("\xe6\xa8\xa1\xe5", 10, 1), 3, "a whole character, at least one");
    cr_expect_float_eq(plot_fit("abc", 12, plot_text_width("abc", 12) / 2), 6, 1e-9);
    cr_expect_eq(plot_fit("abc", 12, 1e3), 12);
    cr_expect(plot_text_width("WWW", 10) > plot_text_width("iii", 10));
    cr_expect_float_eq(plot_text_width("ab", 20), 2 * plot_text_width("ab", 10), 1e-9);
}

static bool boxes_overlap(const plot_box *a, const plot_box *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height &&
           b->y < a->y + a->height;
}

Test(plot, labels_do_not_overlap)
{
    for (unsigned seed = 1; seed <= 200; seed++) {
        plot_label label[12];
        plot_box box[12];
        srand(seed);
        for (int i = 0; i < 12; i++) {
            label[i] = (plot_label){.x = 50 + rand() % 700,
                                    .y = 30 + rand() % 340,
                                    .width = 20 + rand() % 120,
                                    .height = 13};
            box[i] = (plot_box){label[i].x - 4, label[i].y - 4, 8, 8};
        }
        const plot_segment roof = {0, 400, 800, 0};
        const plot_obstacles o = {.inside = {0, 0, 800, 400},
                                  .box = box,
                                  .box_count = 12,
                                  .segment = &roof,
                                  .segment_count = 1};
        plot_place(label, 12, &o);
        for (int i = 0; i < 12; i++)
            for (int k = 0; k < 12; k++) {
                cr_assert(!label[i].placed || !boxes_overlap(&label[i].box, &box[k]),
                          "seed %u: label %d on marker %d", seed, i, k);
                cr_assert(i == k || !label[i].placed || !label[k].placed ||
                              !boxes_overlap(&label[i].box, &label[k].box),
                          "seed %u: labels %d and %d", seed, i, k);
            }
        cr_expect(label[0].placed, "seed %u", seed);
    }
}

Test(plot, a_label_without_room_is_left_out)
{
    plot_label label = {.x = 10, .y = 10, .width = 200, .height = 13};
    const plot_obstacles o = {.inside = {0, 0, 100, 100}};
    plot_place(&label, 1, &o);
    cr_expect(!label.placed);
}

/* ---- writers ------------------------------------------------------------------------------------------ */

static char *written(const char *format, const llmperf_plot_style *style)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert_eq(llmperf_write_plot(out, format, &plot, style, NULL), LLMPERF_OK);
    fclose(out);
    return text;
}

/*
 * A line from the lower left to the upper right of 4 lines: in braille the first cell of the lowest
 * line has its lowest left dot set (bit 7, U+2840 and more), the last of the top line its highest
 * right dot (bit 4, U+2808 and more).
 */
Test(plot, braille_fills_the_corners)
{
    llmperf_plot_panel *panel = panel_with(LLMPERF_SCALE_LINEAR, LLMPERF_SCALE_LINEAR);
    llmperf_plot_series *series = llmperf_plot_add_series(panel, "", LLMPERF_DRAW_LINE);
    panel->x.most = panel->y.most = 1;
    add(panel, series, 0, 0);
    add(panel, series, 1, 1);
    char *text = written("text", &(llmperf_plot_style){.width = 40, .height = 4});
    char *line[16] = {NULL};
    int count = 0;
    for (char *at = strtok(text, "\n"); at && count < 16; at = strtok(NULL, "\n"))
        line[count++] = at;
    int top = 0;
    while (top < count && !strstr(line[top], "\xe2\x94\x82") && !strstr(line[top], "\xe2\x94\xa4"))
        top++;
    cr_assert(top + 4 < count);
    const char *last = line[top] + strlen(line[top]) - 3;
    unsigned bits = (unsigned)(last[1] & 3) << 6 | (unsigned)(last[2] & 0x3f);
    cr_expect((unsigned char)last[0] == 0xe2 && (bits & 0x08), "%s", line[top]);
    const char *first = strstr(line[top + 3], "\xe2\x94");
    cr_assert(first);
    first += 3;
    bits = (unsigned)(first[1] & 3) << 6 | (unsigned)(first[2] & 0x3f);
    cr_expect((unsigned char)first[0] == 0xe2 && (bits & 0x40), "%s", line[top + 3]);
    free(text);
    llmperf_plot_free(&plot);
}

Test(plot, ascii_has_no_other_bytes)
{
    llmperf_plot_panel *panel = panel_with(LLMPERF_SCALE_LOG, LLMPERF_SCALE_LOG);
    llmperf_plot_series *series =
        llmperf_plot_add_series(panel, "caf\xc3\xa9", LLMPERF_DRAW_LINE | LLMPERF_DRAW_BAND);
    add(panel, series, 1, 0.1);
    add(panel, series, 10, 0.2);
    snprintf(plot.title, sizeof plot.title, "\xe6\xa8\xa1\xe5\x9e\x8b \033[31m");
    char *text = written("text", &(llmperf_plot_style){.ascii = true});
    for (const char *c = text; *c; c++)
        cr_assert((*c >= 0x20 && *c < 0x7f) || *c == '\n', "byte %02x", (unsigned char)*c);
    cr_expect(strstr(text, "caf?"));
    cr_expect(strstr(text, "\\x1b[31m"));
    free(text);
    llmperf_plot_free(&plot);
}

static void fill_hostile(void)
{
    llmperf_plot_panel *panel = panel_with(LLMPERF_SCALE_LOG, LLMPERF_SCALE_LOG);
    llmperf_plot_series *series =
        llmperf_plot_add_series(panel, "</text><script>&\"'",
                                LLMPERF_DRAW_LINE | LLMPERF_DRAW_MARKERS | LLMPERF_DRAW_NAMES);
    snprintf(plot.title, sizeof plot.title, "a & b < c \xef\xbf\xbe \x01");
    llmperf_plot_point point = {.x = 1, .y = 1e-3, .label = "<op>"};
    cr_assert_eq(llmperf_plot_add_point(panel, series, &point, NULL), LLMPERF_OK);
    point.x = 20;
    cr_assert_eq(llmperf_plot_add_point(panel, series, &point, NULL), LLMPERF_OK);
    llmperf_plot_add_mark(panel, &(llmperf_plot_mark){.value = 4, .text = "m<&>"});
}

Test(plot, svg_escapes_every_text)
{
    fill_hostile();
    char *text = written("svg", NULL);
    cr_expect(!strstr(text, "<script>") && strstr(text, "&lt;script&gt;&amp;&quot;"));
    cr_expect(strstr(text, "&lt;op&gt;") && strstr(text, "m&lt;&amp;&gt;"));
    cr_expect(!strstr(text, "\xef\xbf\xbe") && strstr(text, "\xef\xbf\xbd") &&
              strstr(text, "\\x01"));
    free(text);
    llmperf_plot_free(&plot);
}

Test(plot, the_locale_changes_nothing)
{
    fill_hostile();
    for (const char *const *f = llmperf_plot_formats(); *f; f++) {
        if (strcmp(*f, "png") == 0)
            continue;
        setlocale(LC_ALL, "C");
        char *plain = written(*f, NULL);
        /* without a comma locale here the two are the same anyway */
        if (!setlocale(LC_ALL, "de_DE.UTF-8"))
            setlocale(LC_ALL, "fr_FR.UTF-8");
        char *other = written(*f, NULL);
        cr_expect_str_eq(plain, other);
        free(plain);
        free(other);
    }
    llmperf_plot_free(&plot);
}

Test(plot, formats_by_name_and_suffix)
{
    cr_expect_str_eq(llmperf_plot_format_of_suffix("a/b.svg"), "svg");
    cr_expect_str_eq(llmperf_plot_format_of_suffix("x.png"), "png");
    cr_expect_null(llmperf_plot_format_of_suffix("x.gif"));
    cr_expect_null(llmperf_plot_format_of_suffix("svg"));
    llmperf_error error = {0};
    cr_expect_eq(llmperf_write_plot(stdout, "gif", &plot, NULL, &error), LLMPERF_E_USAGE);
}

Test(plot, a_name_in_several_series_is_one_legend_entry)
{
    plot_legend_entry entry[PLOT_LEGEND_MAX];
    llmperf_plot_panel *panel = panel_with(LLMPERF_SCALE_LOG, LLMPERF_SCALE_LOG);
    llmperf_plot_add_series(panel, "n 4096", LLMPERF_DRAW_LINE);
    llmperf_plot_add_series(panel, "n 4096", LLMPERF_DRAW_MARKERS);
    llmperf_plot_series *band = llmperf_plot_add_series(panel, "x", LLMPERF_DRAW_LINE);
    snprintf(band->band, sizeof band->band, "90 %% interval");
    cr_assert_eq(plot_legend(&plot, entry), 3);
    cr_expect(entry[0].line && entry[0].markers && !entry[0].band);
    cr_expect_str_eq(entry[2].text, "90 % interval");
    llmperf_plot_free(&plot);
}

/* One point with a band, in every form: a bar, and no endless loop. */
Test(plot, one_point_is_drawn)
{
    llmperf_plot_panel *panel = panel_with(LLMPERF_SCALE_LOG2, LLMPERF_SCALE_LOG);
    llmperf_plot_series *series =
        llmperf_plot_add_series(panel, "s", LLMPERF_DRAW_LINE | LLMPERF_DRAW_BAND);
    const llmperf_plot_point point = {.x = 8, .y = 0.02, .low = 0.01, .high = 0.04};
    cr_assert_eq(llmperf_plot_add_point(panel, series, &point, NULL), LLMPERF_OK);
    char *text = written("svg", NULL);
    const char *legend = strstr(text, "<circle"),
               *drawn = legend ? strstr(legend + 1, "<circle") : 0;
    cr_expect(legend && drawn && !strstr(drawn + 1, "<circle"), "in the legend and in the panel");
    cr_expect(strstr(text, "width=\"8\""));
    free(text);
    text = written("text", NULL);
    cr_expect(strstr(text, "  a s"));
    free(text);
    llmperf_plot_free(&plot);
}

Test(plot, curves_beyond_the_eight_colours_are_dashed_and_dotted)
{
    static llmperf_hw part = {.name = "part", .mem_bytes_per_s = 1e12, .memory_bytes = 80e9};
    static llmperf_curves curves;
    part.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 1e14;
    for (int i = 0; i < 17; i++) {
        char name[8];
        snprintf(name, sizeof name, "c%d", i);
        llmperf_curve *curve = llmperf_curves_add(&curves, name);
        const llmperf_curve_item item = {.op = {.flop = 1e9}, .batch = 1, .time_s = 1e-3};
        cr_assert_eq(llmperf_curve_add(curve, &item, NULL), LLMPERF_OK);
    }
    cr_assert_eq(llmperf_plot_dense(&part, NULL, &curves, &plot, NULL), LLMPERF_OK);
    const llmperf_plot_series *series = plot.panel[0].series;
    cr_expect_eq(series[7].draw, LLMPERF_DRAW_LINE);
    cr_expect_eq(series[8].draw, LLMPERF_DRAW_LINE | LLMPERF_DRAW_DASHED);
    cr_expect_eq(series[8].color, series[0].color);
    cr_expect_eq(series[16].draw, LLMPERF_DRAW_LINE | LLMPERF_DRAW_DOTTED);
    char *text = written("svg", NULL);
    cr_expect(strstr(text, "stroke-dasharray=\"6 4\"") && strstr(text, "stroke-dasharray=\"2 3\""));
    free(text);
    llmperf_plot_free(&plot);
    llmperf_curves_free(&curves);
}

Test(plot, a_picture_says_what_it_leaves_out)
{
    llmperf_plot_panel *panel = panel_with(LLMPERF_SCALE_LOG, LLMPERF_SCALE_LOG);
    llmperf_plot_series *series = llmperf_plot_add_series(panel, "s", LLMPERF_DRAW_MARKERS);
    for (int i = 1; i <= 1200; i++)
        add(panel, series, i, 1e-3);
    char *text = written("svg", NULL);
    cr_expect(!strstr(text, "so-many-th"));
    free(text);
    add(panel, series, 1201, 1e-3);
    text = written("svg", NULL);
    cr_expect(strstr(text, "every so-many-th"));
    free(text);
    llmperf_plot_free(&plot);
    /* a name wider than the picture */
    panel = panel_with(LLMPERF_SCALE_LOG, LLMPERF_SCALE_LOG);
    series = llmperf_plot_add_series(panel, "s", LLMPERF_DRAW_MARKERS | LLMPERF_DRAW_NAMES);
    llmperf_plot_point point = {.x = 1, .y = 1e-3};
    memset(point.label, 'W', sizeof point.label - 1);
    cr_assert_eq(llmperf_plot_add_point(panel, series, &point, NULL), LLMPERF_OK);
    text = written("svg", &(llmperf_plot_style){.width = 400});
    cr_expect(strstr(text, "No room for the names of 1 knot of points"));
    free(text);
    llmperf_plot_free(&plot);
}

/* What was measured of a curve: its letter on the points, once in the key. */
Test(plot, text_has_one_key_for_a_curve_and_its_measurements)
{
    llmperf_plot_panel *panel = panel_with(LLMPERF_SCALE_LINEAR, LLMPERF_SCALE_LINEAR);
    llmperf_plot_series *line = llmperf_plot_add_series(panel, "n 4096", LLMPERF_DRAW_LINE);
    llmperf_plot_series *points = llmperf_plot_add_series(panel, "n 4096", LLMPERF_DRAW_MARKERS);
    add(panel, line, 0, 0);
    add(panel, line, 1, 1);
    add(panel, points, 0.5, 0.5);
    for (int ascii = 0; ascii < 2; ascii++) {
        char *text = written("text", &(llmperf_plot_style){.width = 40, .ascii = ascii == 1});
        const char *key = strstr(text, "  a n 4096\n");
        cr_expect(key && !strstr(key + 6, "n 4096"), "%s", text);
        int letters = 0;
        for (const char *c = text; c < key; c++)
            letters += c[0] == 'a' && c[1] != 't'; /* batch */
        cr_expect_eq(letters, 1, "%s", text);
        free(text);
    }
    llmperf_plot_free(&plot);
}

/* ---- figures ------------------------------------------------------------------------------------------ */

/*
 * bf16, weights and activations of 2 bytes: 1/m* = 1/R - 2/h with R = 989.4e12 / 3.35e12 = 295.34.
 *   h = 4096:  1 / (0.0033859 - 0.00048828) = 345.1, so 346 rows
 *   h = 16384: 1 / (0.0033859 - 0.00012207) = 306.4, so 307 rows
 *   h = 512:   2/512 = 0.0039 > 1/R: never
 */
Test(plot, dense_knees_are_those_of_the_closed_form)
{
    static llmperf_hw hw = {.name = "part", .mem_bytes_per_s = 3.35e12, .memory_bytes = 80e9};
    static llmperf_curves curves;
    static const int64_t hidden[] = {512, 4096, 16384}, tokens[] = {1, 1024};
    const llmperf_workload workload = {0};
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 989.4e12;
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP32] = 66.9e12;
    llmperf_error error = {0};
    cr_assert_eq(llmperf_curves_hidden(&hw, NULL, &workload, hidden, 3, tokens, 2, &curves, &error),
                 LLMPERF_OK, "%s", error.text);
    cr_assert_eq(curves.count, 3);
    cr_expect(!curves.curve[0].has_knee);
    cr_expect(curves.curve[1].has_knee && curves.curve[1].knee.batch == 346);
    cr_expect(curves.curve[2].has_knee && curves.curve[2].knee.batch == 307);
    /* 2 m h h, h h weights of 2 bytes */
    cr_expect_eq(curves.curve[1].item[1].op.flop, 2.0 * 1024 * 4096 * 4096);
    cr_expect_eq(curves.curve[1].item[0].op.weight_bytes, 2.0 * 4096 * 4096);
    llmperf_curves_free(&curves);
}
