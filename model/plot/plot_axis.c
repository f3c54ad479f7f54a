/* SPDX-License-Identifier: MIT */
/*
 * Axes: which range, which ticks, how numbers are written. No locale and no printf of a double, so
 * that the same chart is the same bytes everywhere.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plot.h"

/* ---- numbers ---------------------------------------------------------------------------------------- */

static double power_of_ten(int exponent)
{
    double power = 1;
    for (int i = 0; i < abs(exponent) && i < 308; i++)
        power *= 10;
    return exponent < 0 ? 1 / power : power;
}

/* Writes value >= 0 with at most `decimals` (0..12), trailing zeros left out. */
static void put_fixed(double value, int decimals, char *buffer, size_t size)
{
    double scale = power_of_ten(decimals);
    int64_t whole = llround(value * scale);
    int64_t unit = llround(scale);
    int length = snprintf(buffer, size, "%lld", (long long)(whole / unit));
    if (whole % unit == 0 || length < 0 || (size_t)length >= size)
        return;
    length = snprintf(buffer, size, "%lld.%0*lld", (long long)(whole / unit), decimals,
                      (long long)(whole % unit));
    while (length > 0 && buffer[length - 1] == '0')
        buffer[--length] = '\0';
}

/* Digits before the point, at least 1: 1 for 9.99, 3 for 100; 0 for 0.5, -1 for 0.05. */
static int magnitude(double value)
{
    return value > 0 ? (int)floor(log10(value) + 1e-9) + 1 : 1;
}

typedef struct prefix {
    double at;
    const char *text;
} prefix;

static const prefix LARGE[] = {{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"},
                               {1e6, "M"},  {1e3, "k"},  {1, ""}};
static const prefix SMALL[] = {{1, ""}, {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}};

/* Seconds have prefixes below one; counts and ratios are written out there. */
static const prefix *prefix_of(double size, const char *unit, int digits)
{
    bool seconds = strcmp(unit, "s") == 0;
    const prefix *table = seconds ? SMALL : LARGE;
    int count = seconds ? (int)(sizeof SMALL / sizeof *SMALL) : (int)(sizeof LARGE / sizeof *LARGE);
    /* what would round up to the next prefix's 1 takes that one */
    double nearly = 1 - 0.5 / power_of_ten(digits);
    for (int i = 0; i < count; i++)
        if (size >= table[i].at * nearly)
            return &table[i];
    return &table[count - 1];
}

static char *number_text(double value, const char *unit, int digits, char *buffer)
{
    char plain[32];
    double size = fabs(value);
    const char *sign = value < 0 ? "-" : "";
    bool count = unit[0] == '\0';
    if (count && size < 99999.5 && fabs(size - round(size)) < 1e-9 * size) {
        put_fixed(size, 0, plain, sizeof plain);
        snprintf(buffer, PLOT_NUMBER_MAX, "%s%s", sign, plain);
        return buffer;
    }
    static const prefix none = {1, ""};
    const prefix *p = size > 0 ? prefix_of(size, unit, digits) : &none;
    double scaled = size / p->at;
    int decimals = digits - magnitude(scaled);
    put_fixed(scaled, decimals < 0 ? 0 : decimals > 12 ? 12 : decimals, plain, sizeof plain);
    if (count)
        snprintf(buffer, PLOT_NUMBER_MAX, "%s%s%s", sign, plain, p->text);
    else if (strcmp(unit, "x") == 0) /* a ratio */
        snprintf(buffer, PLOT_NUMBER_MAX, "%s%s", sign, plain);
    else
        snprintf(buffer, PLOT_NUMBER_MAX, "%s%s %s%s", sign, plain, p->text, unit);
    return buffer;
}

char *plot_number(double value, const char *unit, char *buffer)
{
    return number_text(value, unit, 3, buffer);
}

char *plot_coordinate(double value, char *buffer)
{
    char plain[32];
    double rounded = round(value * 10) / 10;
    put_fixed(fabs(rounded), 1, plain, sizeof plain);
    snprintf(buffer, PLOT_NUMBER_MAX, "%s%s", rounded < 0 ? "-" : "", plain);
    return buffer;
}

/* ---- ranges ------------------------------------------------------------------------------------------ */

/* The next of 1, 2, 5 x 10^i that is not below (up) or not above (down) a positive value. */
static double nice(double value, bool up)
{
    static const double steps[] = {1, 2, 5, 10};
    double decade = power_of_ten(magnitude(value) - 1);
    double found = decade;
    for (int i = 0; i < 4; i++) {
        double step = steps[i] * decade;
        if (up && step >= value * (1 - 1e-9))
            return step;
        if (!up && step <= value * (1 + 1e-9))
            found = step;
    }
    return up ? 10 * decade : found;
}

static void include(plot_range *range, double value)
{
    range->least = fmin(range->least, value);
    range->most = fmax(range->most, value);
}

/* Of the data alone; false when there are none. */
static bool data_range(const llmperf_plot_panel *panel, bool y, plot_range *ret_range)
{
    plot_range range = {.least = INFINITY, .most = -INFINITY};
    for (int s = 0; s < panel->series_count; s++) {
        const llmperf_plot_series *series = &panel->series[s];
        for (int i = 0; i < series->count; i++) {
            const llmperf_plot_point *p = &series->point[i];
            include(&range, y ? p->y : p->x);
            if (y && (series->draw & LLMPERF_DRAW_BAND)) {
                include(&range, p->low);
                include(&range, p->high);
            }
        }
    }
    for (int i = 0; y && i < panel->mark_count; i++)
        if (panel->mark[i].on_y)
            include(&range, panel->mark[i].value);
    if (range.least > range.most)
        return false;
    ret_range->least = range.least;
    ret_range->most = range.most;
    return true;
}

static bool has_markers(const llmperf_plot_panel *panel)
{
    for (int s = 0; s < panel->series_count; s++)
        if (panel->series[s].draw & LLMPERF_DRAW_MARKERS)
            return true;
    return false;
}

/* Room between the outermost markers and the frame. */
static void widen(plot_range *range)
{
    const double share = 0.03;
    if (range->scale == LLMPERF_SCALE_LINEAR) {
        double span = range->most - range->least;
        range->least -= share * span;
        range->most += share * span;
    } else {
        double factor = pow(range->most / range->least, share);
        range->least /= factor;
        range->most *= factor;
    }
}

static plot_range open_up(plot_range range)
{
    if (range.least < range.most)
        return range;
    if (range.scale == LLMPERF_SCALE_LINEAR) {
        double size = fmax(fabs(range.most), 1);
        return (plot_range){range.scale, range.least - size / 2, range.most + size / 2};
    }
    return (plot_range){range.scale, range.least / 2, range.most * 2};
}

plot_range plot_range_x(const llmperf_plot_panel *panel)
{
    plot_range range = {panel->x.scale, panel->x.least, panel->x.most};
    if (range.least < range.most)
        return range;
    if (!data_range(panel, false, &range)) {
        range.least = 1;
        range.most = 10;
    }
    range = open_up(range);
    if (has_markers(panel))
        widen(&range);
    return range;
}

plot_range plot_range_y(const llmperf_plot_panel *panel)
{
    plot_range range = {panel->y.scale, panel->y.least, panel->y.most};
    if (range.least < range.most)
        return range;
    if (!data_range(panel, true, &range)) {
        range.least = 1;
        range.most = 10;
    }
    if (range.scale != LLMPERF_SCALE_LINEAR) {
        range.least = nice(range.least, false);
        double top = nice(range.most, true); /* with some room above the highest curve */
        range.most = top < 1.05 * range.most ? nice(1.2 * top, true) : top;
        return open_up(range);
    }
    if (range.least > 0) /* a linear scale that does not begin at zero misleads */
        range.least = 0;
    range = open_up(range);
    double step = nice((range.most - range.least) / 8, true);
    range.least = step * floor(range.least / step + 1e-9);
    range.most = step * ceil(range.most / step - 1e-9);
    return range;
}

double plot_at(const plot_range *range, double value)
{
    if (range->scale == LLMPERF_SCALE_LINEAR)
        return (value - range->least) / (range->most - range->least);
    return log(value / range->least) / log(range->most / range->least);
}

/* ---- ticks ------------------------------------------------------------------------------------------- */

typedef struct ticker {
    const plot_range *range;
    const char *unit;
    plot_tick *tick;
    int count, major, digits;
} ticker;

static bool is_inside(const plot_range *range, double value)
{
    double slack =
        1e-9 * (range->scale == LLMPERF_SCALE_LINEAR ? range->most - range->least : value);
    return value >= range->least - slack && value <= range->most + slack;
}

static void add_tick(ticker *t, double value, bool major)
{
    char text[PLOT_NUMBER_MAX];
    if (t->count == PLOT_TICKS_MAX || !is_inside(t->range, value))
        return;
    plot_tick *tick = &t->tick[t->count++];
    *tick = (plot_tick){.value = value, .major = major};
    if (!major)
        return;
    t->major++;
    const char *unit = strcmp(t->unit, "x") == 0 || plot_unit_on_ticks(t->unit) ? t->unit : "";
    number_text(value, unit, t->digits, text);
    snprintf(tick->text, sizeof tick->text, "%.*s", PLOT_TICK_TEXT - 1, text);
}

static void linear_ticks(ticker *t, int labels)
{
    const plot_range *r = t->range;
    double step = nice((r->most - r->least) / (labels > 2 ? labels - 1 : 2), true);
    int64_t first = (int64_t)ceil(r->least / step - 1e-9);
    t->digits = magnitude(fmax(fabs(r->least), fabs(r->most))) - magnitude(step) + 2;
    t->digits = t->digits < 3 ? 3 : t->digits > 12 ? 12 : t->digits;
    for (int i = 0; i < PLOT_TICKS_MAX; i++)
        add_tick(t, (double)(first + i) * step, true);
}

/* Which steps of a decade are labelled: sparse to dense; tenths, 0 ends each. */
static const uint8_t STEPS[][10] = {
    {10}, {10, 20, 50}, {10, 15, 20, 30, 50, 70}, {10, 20, 30, 40, 50, 60, 70, 80, 90}};

enum { STEPS_SPARSE, STEPS_125, STEPS_COUNT = sizeof STEPS / sizeof *STEPS };

/* How many labels a set of steps gives in a range, and the widest gap between two (log10). */
static int count_steps(const plot_range *r, const uint8_t *steps, int first, int last,
                       double *ret_gap)
{
    double before = 0;
    int count = 0;
    *ret_gap = 0;
    for (int d = first; d <= last; d++)
        for (int i = 0; i < 10 && steps[i]; i++) {
            double value = steps[i] / 10.0 * power_of_ten(d);
            if (!is_inside(r, value))
                continue;
            *ret_gap = count ? fmax(*ret_gap, log10(value / before)) : 0;
            before = value;
            count++;
        }
    return count;
}

/* The decades where they are enough, 1 2 5 where that fits and says enough, else the steps that lie
 * most evenly, else the decades. */
static const uint8_t *choose_steps(const plot_range *r, int first, int last, int labels)
{
    enum { ENOUGH = 4, DECADES_ENOUGH = 6 };
    double gap, least_gap = INFINITY;
    if (count_steps(r, STEPS[STEPS_SPARSE], first, last, &gap) >= DECADES_ENOUGH)
        return STEPS[STEPS_SPARSE];
    const uint8_t *best = STEPS[STEPS_SPARSE];
    for (int i = STEPS_125; i < STEPS_COUNT; i++) {
        int count = count_steps(r, STEPS[i], first, last, &gap);
        if (count < 2 || count > labels)
            continue;
        if (i == STEPS_125 && count >= ENOUGH)
            return STEPS[i];
        if (gap < least_gap - 1e-9) {
            least_gap = gap;
            best = STEPS[i];
        }
    }
    return best;
}

static bool is_step(const uint8_t *steps, int tenths)
{
    for (int i = 0; i < 10 && steps[i]; i++)
        if (steps[i] == tenths)
            return true;
    return false;
}

static void decade_ticks(ticker *t, int labels)
{
    const plot_range *r = t->range;
    int first = (int)floor(log10(r->least) + 1e-9), last = (int)floor(log10(r->most) + 1e-9);
    int decades = last - first + 1;
    const uint8_t *steps = choose_steps(r, first, last, labels);
    int stride = (decades + labels - 1) / labels;
    for (int d = first; d <= last; d++)
        for (int tenths = 10; tenths < 100; tenths += 5) {
            bool labelled = is_step(steps, tenths) && (tenths > 10 || d % stride == 0);
            /* unlabelled: whole steps, where they can be told apart */
            bool told_apart = tenths == 10 ? decades <= 30 : tenths % 10 == 0 && decades <= 6;
            if (!labelled && !told_apart)
                continue;
            add_tick(t, tenths / 10.0 * power_of_ten(d), labelled);
        }
}

/* Of counts: from 1 on. */
static void octave_ticks(ticker *t, int labels)
{
    const plot_range *r = t->range;
    int first = (int)fmax(0, ceil(log2(r->least) - 1e-9)), last = (int)floor(log2(r->most) + 1e-9);
    int stride = (last - first + labels) / labels;
    for (int e = first; e <= last && e - first < PLOT_TICKS_MAX; e++)
        add_tick(t, ldexp(1, e), (e - first) % (stride > 0 ? stride : 1) == 0);
}

bool plot_unit_on_ticks(const char *unit)
{
    return strcmp(unit, "s") == 0;
}

int plot_ticks(const plot_range *range, const char *unit, int labels, plot_tick *ret_ticks)
{
    ticker t = {.range = range, .unit = unit, .tick = ret_ticks, .digits = 3};
    labels = labels < 2 ? 2 : labels > 20 ? 20 : labels;
    if (range->scale == LLMPERF_SCALE_LOG)
        decade_ticks(&t, labels);
    else if (range->scale == LLMPERF_SCALE_LOG2)
        octave_ticks(&t, labels);
    if (t.major < 2) { /* a linear axis, or a range within one decade or octave */
        t.count = t.major = 0;
        linear_ticks(&t, labels);
    }
    return t.count;
}

int plot_octaves(int64_t most, int64_t ret_values[PLOT_OCTAVES_MAX])
{
    int count = 0;
    for (int64_t v = 1; v <= 8; v++)
        ret_values[count++] = v;
    for (int64_t octave = 8; octave < most; octave *= 2)
        for (int i = 1; i <= 4 && count < PLOT_OCTAVES_MAX; i++)
            ret_values[count++] = octave + octave * i / 4;
    return count;
}

/* ---- text -------------------------------------------------------------------------------------------- */

/* Advance of a character, in em, of a wide sans-serif face (DejaVu Sans): others are narrower. */
static double advance(unsigned code)
{
    static const struct {
        const char *characters;
        double width;
    } classes[] = {
        {"ijl'|", 0.28},       {" .,:;", 0.32},         {"I", 0.30},
        {"ft-/\\()[]", 0.39},  {"r!\"", 0.46},          {"cksvxyzJ*_", 0.57},
        {"abdeghnopqu", 0.64}, {"0123456789?$L", 0.64}, {"wVAXYZPESTFK", 0.71},
        {"+=<>~#", 0.84},      {"mMW%@", 1.0},
    };
    if (code >= 0x1100) /* wide scripts */
        return 1.05;
    for (size_t i = 0; code < 0x80 && i < sizeof classes / sizeof *classes; i++)
        if (strchr(classes[i].characters, (int)code) && code)
            return classes[i].width;
    return 0.78; /* the other capitals, accented letters */
}

/* The code point that begins at `text`; *ret_length bytes long. Text is valid or escaped UTF-8. */
static unsigned code_at(const char *text, size_t *ret_length)
{
    const unsigned char *c = (const unsigned char *)text;
    size_t length = c[0] < 0x80 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    unsigned code = c[0] < 0x80 ? c[0] : c[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80) {
            *ret_length = i;
            return code;
        }
        code = code << 6 | (c[i] & 0x3f);
    }
    *ret_length = length;
    return code;
}

double plot_text_width(const char *text, double size)
{
    double width = 0;
    for (size_t length; *text; text += length)
        width += advance(code_at(text, &length));
    return width * size;
}

size_t plot_wrap(const char *text, double size, double width)
{
    size_t at = 0, rest = 0; /* where a line may end */
    double used = 0;
    for (size_t length; text[at]; at += length) {
        if (text[at] == ' ')
            rest = at;
        used += size * advance(code_at(text + at, &length));
        if (used > width && at > 0) /* at the last blank or hyphen, else within the word */
            return rest > 0 ? rest : at;
        if (text[at] == '-')
            rest = at + 1;
    }
    return at;
}

double plot_fit(const char *text, double size, double width)
{
    double wanted = plot_text_width(text, size);
    return wanted > width ? fmax(size * width / wanted, 4) : size;
}
