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

static bool crosses(const plot_segment *s, const plot_box *box)
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

static bool is_free(const plot_label *labels, int at, const plot_obstacles *o)
{
    const plot_box *box = &labels[at].box;
    const plot_segment own = leader(&labels[at]);
    if (!is_within(&o->inside, box))
        return false;
    for (int i = 0; i < o->box_count; i++)
        if (overlap(box, &o->box[i]))
            return false;
    for (int i = 0; i < o->segment_count; i++)
        if (crosses(&o->segment[i], box))
            return false;
    for (int i = 0; i < at; i++) {
        const plot_segment other = leader(&labels[i]);
        if (labels[i].placed &&
            (overlap(box, &labels[i].box) || crosses(&other, box) || crosses(&own, &labels[i].box)))
            return false;
    }
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

void plot_place(plot_label *labels, int count, const plot_obstacles *obstacles)
{
    /* right, left, above, below first, then the diagonals and what lies between */
    static const int order[] = {0, 8, 12, 4, 14, 2, 10, 6, 15, 1, 9, 7, 13, 11, 3, 5};
    for (int i = 0; i < count; i++) {
        labels[i].placed = false;
        for (double distance = 9; distance < 420 && !labels[i].placed; distance += 8)
            for (int k = 0; k < 16 && !labels[i].placed; k++) {
                labels[i].box = candidate(&labels[i], order[k], distance);
                labels[i].placed = is_free(labels, i, obstacles);
            }
    }
}
