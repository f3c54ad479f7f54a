/* SPDX-License-Identifier: MIT */
/* A model's operators under the roofs of a part. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/predict.h"
#include "plot.h"
#include "entry.h"
#include "config_object.h"
#include "fits.h"

static const double LEAST_SHARE = 0.01; /* of its step's time, to be drawn */

/* Launches of one operator in a step, or in several, summed. */
typedef struct op_sum {
    double flop, bytes, time_s, compute_s, memory_s;
    bool dense, fitted;
    uint8_t dtype;
} op_sum;

typedef struct step_sum {
    const llmperf_config *c;
    op_sum op[LLMPERF_OP_COUNT];
    double time_s;
    llmperf_workspace *workspace;
} step_sum;

static void add_step(const llmperf_segment *segments, int segment_count, double times,
                     void *context)
{
    step_sum *sum = context;
    llmperf_total total;
    int count = llmperf_step(sum->c, segments, segment_count, sum->workspace, &total);
    const llmperf_op *ops = llmperf_workspace_ops(sum->workspace, &count);
    const llmperf_time *terms = llmperf_workspace_times(sum->workspace);
    for (int i = 0; i < count; i++) {
        op_sum *one = &sum->op[ops[i].id];
        double launches = times * ops[i].repeat;
        one->flop += launches * ops[i].flop;
        one->bytes += launches * ops[i].bytes;
        one->time_s += launches * terms[i].time_s;
        one->compute_s += launches * terms[i].compute_s;
        one->memory_s += launches * terms[i].memory_s;
        one->dense = ops[i].group == LLMPERF_GROUP_DENSE;
        one->fitted =
            sum->c->calib && calib_find(sum->c->calib, &ops[i], (llmperf_regime)ops[i].regime) !=
                                 LLMPERF_CALIB_NO_ENTRY;
        one->dtype = ops[i].dtype;
        sum->time_s += launches * terms[i].time_s;
    }
}

static bool is_drawn(const step_sum *sum, int id)
{
    const op_sum *one = &sum->op[id];
    return one->flop > 0 && one->bytes > 0 && one->time_s > LEAST_SHARE * sum->time_s;
}

/* ---- the operators ------------------------------------------------------------------------------------ */

static llmperf_status add_operators(llmperf_plot_panel *panel, const step_sum *sum,
                                    const char *name, int color, llmperf_plot_marker marker,
                                    llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    llmperf_plot_series *series =
        llmperf_plot_add_series(panel, name, LLMPERF_DRAW_MARKERS | LLMPERF_DRAW_NAMES);
    if (!series)
        return LLMPERF_OK;
    series->color = (uint8_t)color;
    series->marker = (uint8_t)marker;
    for (int id = 0; id < LLMPERF_OP_COUNT && status == LLMPERF_OK; id++) {
        const op_sum *one = &sum->op[id];
        if (!is_drawn(sum, id))
            continue;
        llmperf_plot_point point = {.x = one->flop / one->bytes,
                                    .y = one->flop / one->time_s,
                                    .share = one->time_s / sum->time_s};
        snprintf(point.label, sizeof point.label, "%s", llmperf_op_name((llmperf_op_id)id));
        status = llmperf_plot_add_point(panel, series, &point, error);
    }
    return status;
}

/* ---- the roofs ---------------------------------------------------------------------------------------- */

/* The formats that drawn operators other than vector passes compute in, fastest first. */
static int roof_dtypes(const llmperf_hw *hw, const step_sum *const *sums, int count,
                       uint8_t dtypes[LLMPERF_DTYPE_COUNT])
{
    bool used[LLMPERF_DTYPE_COUNT] = {false};
    int found = 0;
    for (int s = 0; s < count; s++)
        for (int id = 0; id < LLMPERF_OP_COUNT; id++)
            if (is_drawn(sums[s], id) && (sums[s]->op[id].dense || id == LLMPERF_OP_ATTN_CORE ||
                                          id == LLMPERF_OP_ATTN_SCORES))
                used[sums[s]->op[id].dtype] = true;
    for (int d = 0; d < LLMPERF_DTYPE_COUNT; d++) {
        int at = found;
        if (!used[d] || hw->peak_flop_per_s[d] <= 0)
            continue;
        for (; at > 0 && hw->peak_flop_per_s[dtypes[at - 1]] < hw->peak_flop_per_s[d]; at--)
            dtypes[at] = dtypes[at - 1];
        dtypes[at] = (uint8_t)d;
        found++;
    }
    return found;
}

typedef struct roof {
    double peak, bandwidth;
    const char *name, *detail; /* legend */
    const char *dtype;         /* in the label of the flat part */
    bool slope;                /* draw the slope too; else the flat part alone */
    bool achieved;             /* dashed, and its numbers in the legend alone */
} roof;

static llmperf_status add_roof(llmperf_plot_panel *panel, const roof *r, llmperf_error *error)
{
    char number[PLOT_NUMBER_MAX];
    unsigned draw = LLMPERF_DRAW_LINE | (r->achieved ? LLMPERF_DRAW_DASHED : 0);
    llmperf_plot_series *series = llmperf_plot_add_series(panel, r->name, draw);
    if (!series)
        return LLMPERF_OK;
    series->color = r->achieved ? 2 : 6;
    snprintf(series->detail, sizeof series->detail, "%s", r->detail);
    double ridge = r->peak / r->bandwidth;
    /* from where the slope enters the panel */
    double least = fmax(panel->x.least, panel->y.least / r->bandwidth);
    llmperf_plot_point slope = {.x = least, .y = least * r->bandwidth};
    llmperf_plot_point corner = {.x = ridge, .y = r->peak};
    llmperf_plot_point flat = {.x = panel->x.most, .y = r->peak};
    if (!r->achieved) {
        snprintf(slope.label, sizeof slope.label, "%s", plot_number(r->bandwidth, "B/s", number));
        snprintf(flat.label, sizeof flat.label, "%s %s", r->dtype,
                 plot_number(r->peak, "FLOP/s", number));
    }
    llmperf_status status = LLMPERF_OK;
    if (r->slope)
        status = llmperf_plot_add_point(panel, series, &slope, error);
    if (status == LLMPERF_OK)
        status = llmperf_plot_add_point(panel, series, &corner, error);
    return status == LLMPERF_OK ? llmperf_plot_add_point(panel, series, &flat, error) : status;
}

/* Appends "bf16 989 TFLOP/s, " or, with dtype NULL, "3.35 TB/s". */
static void add_detail(char detail[LLMPERF_PLOT_TEXT_MAX], const char *dtype, double rate)
{
    char number[PLOT_NUMBER_MAX];
    size_t used = strlen(detail);
    snprintf(detail + used, LLMPERF_PLOT_TEXT_MAX - used, "%s%s%s%s", dtype ? dtype : "",
             dtype ? " " : "", plot_number(rate, dtype ? "FLOP/s" : "B/s", number),
             dtype ? ", " : "");
}

static llmperf_status add_datasheet(const llmperf_hw *hw, llmperf_plot_panel *panel,
                                    const uint8_t *dtypes, int count, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    char detail[LLMPERF_PLOT_TEXT_MAX] = "";
    for (int i = 0; i < count; i++)
        add_detail(detail, llmperf_dtype_name((llmperf_dtype)dtypes[i]),
                   hw->peak_flop_per_s[dtypes[i]]);
    add_detail(detail, NULL, hw->mem_bytes_per_s);
    for (int i = 0; i < count && status == LLMPERF_OK; i++) {
        double peak = hw->peak_flop_per_s[dtypes[i]];
        const char *dtype = llmperf_dtype_name((llmperf_dtype)dtypes[i]);
        const roof r = {.peak = peak,
                        .bandwidth = hw->mem_bytes_per_s,
                        .name = "roof: peaks of the device",
                        .detail = detail,
                        .dtype = dtype,
                        .slope = i == 0};
        llmperf_plot_mark mark = {.value = peak / hw->mem_bytes_per_s, .color = 6};
        char number[PLOT_NUMBER_MAX];
        snprintf(mark.text, sizeof mark.text, "%s ridge point %s", dtype,
                 plot_number(mark.value, "FLOP/byte", number));
        llmperf_plot_add_mark(panel, &mark);
        status = add_roof(panel, &r, error);
    }
    return status;
}

/*
 * What a calibration allows dense layers at most: the largest FLOP / compute term and bytes /
 * memory term of those that are drawn and have a fit, so that each of them lies under this roof.
 */
static llmperf_status add_achieved(const step_sum *const *sums, int count,
                                   llmperf_plot_panel *panel, uint8_t dtype, llmperf_error *error)
{
    double peak = 0, bandwidth = 0;
    for (int s = 0; s < count; s++)
        for (int id = 0; id < LLMPERF_OP_COUNT; id++) {
            const op_sum *one = &sums[s]->op[id];
            if (!one->dense || !one->fitted || one->dtype != dtype || !is_drawn(sums[s], id))
                continue;
            peak = one->compute_s > 0 ? fmax(peak, one->flop / one->compute_s) : peak;
            bandwidth = one->memory_s > 0 ? fmax(bandwidth, one->bytes / one->memory_s) : bandwidth;
        }
    if (!(peak > 0) || !(bandwidth > 0))
        return LLMPERF_OK;
    char detail[LLMPERF_PLOT_TEXT_MAX] = "";
    add_detail(detail, llmperf_dtype_name((llmperf_dtype)dtype), peak);
    add_detail(detail, NULL, bandwidth);
    const roof r = {.peak = peak,
                    .bandwidth = bandwidth,
                    .name = "roof: what the calibration allows linear layers",
                    .detail = detail,
                    .slope = true,
                    .achieved = true};
    return add_roof(panel, &r, error);
}

/* ---- the figure --------------------------------------------------------------------------------------- */

/* Ends of the axes: every operator and the highest ridge with room around them. */
static void set_ends(llmperf_plot_panel *panel, const llmperf_hw *hw, const step_sum *const *sums,
                     int count, const uint8_t *dtypes, int dtype_count)
{
    double least = INFINITY, most = 0, lowest = INFINITY, highest = 0;
    for (int s = 0; s < count; s++)
        for (int id = 0; id < LLMPERF_OP_COUNT; id++) {
            const op_sum *one = &sums[s]->op[id];
            if (!is_drawn(sums[s], id))
                continue;
            least = fmin(least, one->flop / one->bytes);
            most = fmax(most, one->flop / one->bytes);
            lowest = fmin(lowest, one->flop / one->time_s);
            highest = fmax(highest, one->flop / one->time_s);
        }
    for (int i = 0; i < dtype_count; i++) {
        double peak = hw->peak_flop_per_s[dtypes[i]];
        most = fmax(most, peak / hw->mem_bytes_per_s);
        highest = fmax(highest, peak);
    }
    panel->x.least = least / 4;
    panel->x.most = most * 4;
    panel->y.least = lowest / 4;
    panel->y.most = highest * 4;
}

static void describe(const llmperf_config *c, const int64_t *batches, int count, llmperf_plot *plot)
{
    const llmperf_workload *w = &c->workload;
    char list[128] = "", basis[160], devices[48];
    for (int i = 0; i < count; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%lld", i ? ", " : "", (long long)batches[i]);
    }
    snprintf(plot->title, sizeof plot->title, "Roofline of %s on %s", c->model->name, c->hw->name);
    snprintf(plot->subtitle, sizeof plot->subtitle,
             "decode of batch %s over %lld cached tokens, prefill of one prompt of %lld%s; %s",
             list, (long long)w->context, (long long)w->prompt,
             plot_devices(w, devices, sizeof devices),
             plot_basis(c->calib, llmperf_config_estimate_kind(c), "every operator at its bound",
                        basis, sizeof basis));
    llmperf_note(&plot->notes,
                 "Marker area: share of the step's time; operators below %d %% are "
                 "left out",
                 (int)(100 * LEAST_SHARE));
}

static llmperf_status draw(const llmperf_config *c, const int64_t *batches,
                           const step_sum *const *sums, int count, llmperf_plot *plot,
                           llmperf_error *error)
{
    static const uint8_t colors[] = {0, 4, 3, 5};
    static const llmperf_plot_marker markers[] = {LLMPERF_MARKER_CIRCLE, LLMPERF_MARKER_TRIANGLE,
                                                  LLMPERF_MARKER_DIAMOND, LLMPERF_MARKER_DOWN};
    uint8_t dtypes[LLMPERF_DTYPE_COUNT];
    int dtype_count = roof_dtypes(c->hw, sums, count, dtypes);
    if (dtype_count == 0)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "%s has no dense or attention operator to draw", c->model->name);
    llmperf_plot_panel *panel = llmperf_plot_add_panel(plot, "roofline", "");
    panel->x = (llmperf_plot_axis){.field = "intensity_flop_per_byte",
                                   .title = "arithmetic intensity",
                                   .unit = "FLOP/byte",
                                   .scale = LLMPERF_SCALE_LOG};
    panel->y = (llmperf_plot_axis){.field = "flop_per_s",
                                   .title = "performance of one device",
                                   .unit = "FLOP/s",
                                   .scale = LLMPERF_SCALE_LOG};
    set_ends(panel, c->hw, sums, count, dtypes, dtype_count);
    llmperf_status status = add_datasheet(c->hw, panel, dtypes, dtype_count, error);
    uint8_t main_dtype = (uint8_t)llmperf_config_compute_dtype(c);
    if (status == LLMPERF_OK && c->calib)
        status = add_achieved(sums, count, panel, main_dtype, error);
    for (int i = 0; i < count - 1 && status == LLMPERF_OK; i++) {
        char name[64];
        snprintf(name, sizeof name, "decode, batch %lld", (long long)batches[i]);
        status = add_operators(panel, sums[i], name, colors[i], markers[i], error);
    }
    if (status == LLMPERF_OK)
        status = add_operators(panel, sums[count - 1], "prefill", 1, LLMPERF_MARKER_SQUARE, error);
    describe(c, batches, count - 1, plot);
    llmperf_not_modelled(c, &plot->not_modelled);
    return status;
}

enum { BATCHES_MAX = 4 };

llmperf_status llmperf_plot_roofline(const llmperf_config *c, const int64_t *batches,
                                     int batch_count, llmperf_plot *ret_plot, llmperf_error *error)
{
    NEEDS(c && c->hw && ret_plot && counts_are_sound(batches, batch_count), error);
    if (batch_count < 1 || batch_count > BATCHES_MAX)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "a roofline shows decode at 1 to %d batches; %d are given", BATCHES_MAX,
                            batch_count);
    llmperf_status status = llmperf_config_check_steps(c, error);
    if (status != LLMPERF_OK)
        return status;
    step_sum *sums = calloc((size_t)batch_count + 1, sizeof *sums);
    llmperf_workspace *workspace = NULL;
    if (!sums)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    status = llmperf_workspace_new(c, LLMPERF_SEGMENTS_MAX, &workspace, error);
    const step_sum *all[BATCHES_MAX + 1];
    for (int i = 0; i <= batch_count && status == LLMPERF_OK; i++) {
        sums[i].workspace = workspace;
        sums[i].c = c;
        all[i] = &sums[i];
        if (i < batch_count) {
            llmperf_segment s = llmperf_decode_segment(c, batches[i], c->workload.context);
            add_step(&s, 1, 1, &sums[i]);
        } else {
            llmperf_prefill_steps(c, 1, c->workload.chunk, add_step, &sums[i]);
        }
    }
    snprintf(ret_plot->kind, sizeof ret_plot->kind, "roofline");
    if (status == LLMPERF_OK)
        status = draw(c, batches, all, batch_count + 1, ret_plot, error);
    llmperf_workspace_free(workspace);
    free(sums);
    if (status != LLMPERF_OK)
        llmperf_plot_free(ret_plot);
    return status;
}
