/* SPDX-License-Identifier: MIT */
/* Labels beside points, so that none covers another, a marker or a line. */
#include <math.h>
#include <string.h>

#include "plot.h"

static bool overlap(const plot_box *a, const plot_box *b)
{
    return a->x < b->x + b->width && b->x < a->x + a->width && a->y < b->y + b->height &&
           b->y < a->y + a->height;
}

static bool is_within(const plot_box *outer, const plot_box *box)
{
    return box->x >= outer->x && box->y >= outer->y &&
           box->x + box->width <= outer->x + outer->width &&
           box->y + box->height <= outer->y + outer->height;
}

/* Clips the parameter range [*t0, *t1] of a segment to one side of a box; false when nothing is left. */
static bool clip(double delta, double distance, double *t0, double *t1)
{
    if (delta == 0)
        return distance >= 0;
    double t = distance / delta;
    if (delta < 0)
        *t0 = fmax(*t0, t);
    else
        *t1 = fmin(*t1, t);
    return *t0 <= *t1;
}

bool plot_crosses(const plot_segment *s, const plot_box *box)
{
    double dx = s->x2 - s->x1, dy = s->y2 - s->y1, t0 = 0, t1 = 1;
    return clip(-dx, s->x1 - box->x, &t0, &t1) && clip(dx, box->x + box->width - s->x1, &t0, &t1) &&
           clip(-dy, s->y1 - box->y, &t0, &t1) && clip(dy, box->y + box->height - s->y1, &t0, &t1);
}

/* From the point to the nearest spot of its label's box. */
static plot_segment leader(const plot_label *label)
{
    const plot_box *b = &label->box;
    return (plot_segment){label->x, label->y, fmin(fmax(label->x, b->x), b->x + b->width),
                          fmin(fmax(label->y, b->y), b->y + b->height)};
}

/* On which side of a segment a point lies. */
static double side(const plot_segment *s, double x, double y)
{
    return (s->x2 - s->x1) * (y - s->y1) - (s->y2 - s->y1) * (x - s->x1);
}

static bool intersect(const plot_segment *a, const plot_segment *b)
{
    return side(a, b->x1, b->y1) * side(a, b->x2, b->y2) < 0 &&
           side(b, a->x1, a->y1) * side(b, a->x2, a->y2) < 0;
}

static plot_box grown(const plot_box *box, double by)
{
    return (plot_box){box->x - by, box->y - by, box->width + 2 * by, box->height + 2 * by};
}

/* Two labels that are apart, neither's leader through the other's text or leader. */
static bool are_apart(const plot_label *a, const plot_label *b)
{
    const double gap = 2;
    const plot_segment of_a = leader(a), of_b = leader(b);
    const plot_box around_a = grown(&a->box, gap), around_b = grown(&b->box, gap);
    return !overlap(&a->box, &b->box) && !plot_crosses(&of_b, &around_a) &&
           !plot_crosses(&of_a, &around_b) && !intersect(&of_a, &of_b);
}

/* Is the box of label[at] free, given that label[first[0 .. count)] stand where they are? */
static bool is_free(const plot_label *labels, int at, const int *first, int count,
                    const plot_obstacles *o)
{
    const plot_box *box = &labels[at].box;
    if (!is_within(&o->inside, box))
        return false;
    for (int i = 0; i < o->box_count; i++)
        if (overlap(box, &o->box[i]))
            return false;
    for (int i = 0; i < o->segment_count; i++)
        if (plot_crosses(&o->segment[i], box))
            return false;
    for (int i = 0; i < count; i++)
        if (labels[first[i]].placed && !are_apart(&labels[at], &labels[first[i]]))
            return false;
    return true;
}

/* Candidate `direction` of 16 at a distance: the box's nearest edge or corner lies there. */
static plot_box candidate(const plot_label *label, int direction, double distance)
{
    double angle = direction * (acos(-1) / 8);
    double dx = cos(angle), dy = sin(angle);
    plot_box box = {.width = label->width, .height = label->height};
    box.x = label->x + distance * dx + (dx > 0.3 ? 0 : dx < -0.3 ? -box.width : -box.width / 2);
    box.y = label->y + distance * dy + (dy > 0.3 ? 0 : dy < -0.3 ? -box.height : -box.height / 2);
    return box;
}

/* Places labels in an order; returns how many found room. */
static int place_in_order(plot_label *labels, const int *order, int count,
                          const plot_obstacles *obstacles)
{
    /* right, left, above, below first, then the diagonals and what lies between */
    static const int directions[] = {0, 8, 12, 4, 14, 2, 10, 6, 15, 1, 9, 7, 13, 11, 3, 5};
    int placed = 0;
    for (int i = 0; i < count; i++) {
        plot_label *label = &labels[order[i]];
        label->placed = false;
        for (int away = 0; away < 27 && !label->placed; away++)
            for (int k = 0; k < 16 && !label->placed; k++) {
                label->box = candidate(label, directions[k], 9 + 8 * away);
                label->placed = is_free(labels, order[i], order, i, obstacles);
            }
        placed += label->placed;
    }
    return placed;
}

/* Those that found no room to the front, the others behind them as they were. */
static void put_failed_first(const plot_label *labels, int *order, int count)
{
    int sorted[PLOT_LABELS_MAX], used = 0;
    for (int placed = 0; placed < 2; placed++)
        for (int i = 0; i < count; i++)
            if (labels[order[i]].placed == placed)
                sorted[used++] = order[i];
    memcpy(order, sorted, (size_t)count * sizeof *sorted);
}

void plot_place(plot_label *labels, int count, const plot_obstacles *obstacles)
{
    enum { ROUNDS = 6 };
    int order[PLOT_LABELS_MAX], best[PLOT_LABELS_MAX], most = -1;
    count = count < PLOT_LABELS_MAX ? count : PLOT_LABELS_MAX;
    for (int i = 0; i < count; i++)
        order[i] = i;
    for (int round = 0; round < ROUNDS && most < count; round++) {
        int placed = place_in_order(labels, order, count, obstacles);
        if (placed > most) {
            most = placed;
            memcpy(best, order, sizeof best);
        }
        put_failed_first(labels, order, count);
    }
    place_in_order(labels, best, count, obstacles);
}
