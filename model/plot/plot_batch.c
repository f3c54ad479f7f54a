/* SPDX-License-Identifier: MIT */
/* Throughput and latency against batch, with the limits that a planner asks about. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/predict.h"
#include "plot.h"
#include "entry.h"
#include "config_object.h"

enum { BATCH_MOST = 65536, HAND_MOST = 32 };

/* The smallest power of two from 64 to BATCH_MOST beyond both limits, where they are in reach. */
static int64_t last_batch(const llmperf_prediction *p)
{
    int64_t wanted = p->memory.max_batch + p->memory.max_batch / 2;
    const llmperf_crossing *dense = &p->datasheet.dense;
    if (dense->exists && dense->batch + dense->batch / 2 > wanted)
        wanted = dense->batch + dense->batch / 2;
    if (p->has_calibrated && p->calibrated.dense.exists && p->calibrated.dense.batch > wanted)
        wanted = p->calibrated.dense.batch;
    int64_t most = 64;
    while (most < wanted && most < BATCH_MOST)
        most *= 2;
    return most;
}

/* ---- the curves --------------------------------------------------------------------------------------- */

static llmperf_plot_point point_at(const llmperf_estimate *estimate, int64_t batch)
{
    return (llmperf_plot_point){
        .x = (double)batch, .y = estimate->value, .low = estimate->low, .high = estimate->high};
}

/* The same curve in both panels: tokens/s and time of a step. */
static llmperf_status add_curve(const llmperf_config *c, const int64_t *batches, int count,
                                llmperf_plot *plot, const llmperf_plot_series *style,
                                llmperf_error *error)
{
    llmperf_config at = *c;
    llmperf_plot_panel *rate = &plot->panel[0], *time = &plot->panel[1];
    llmperf_plot_series *rates = llmperf_plot_add_series(rate, style->name, style->draw);
    llmperf_plot_series *times = llmperf_plot_add_series(time, style->name, style->draw);
    llmperf_workspace *workspace = NULL;
    if (!rates || !times)
        return LLMPERF_OK;
    llmperf_status status = llmperf_workspace_new(c, LLMPERF_SEGMENTS_MAX, &workspace, error);
    rates->color = times->color = style->color;
    memcpy(rates->band, style->band, sizeof rates->band);
    memcpy(times->band, style->band, sizeof times->band);
    for (int i = 0; i < count && status == LLMPERF_OK; i++) {
        llmperf_point p;
        llmperf_config_move(&at, batches[i], c->workload.prompt, c->workload.context);
        llmperf_point_of(&at, LLMPERF_SWEEP_DECODE, workspace, &p);
        const llmperf_plot_point y = point_at(&p.tokens_per_s, batches[i]);
        const llmperf_plot_point t = point_at(&p.time_s, batches[i]);
        status = llmperf_plot_add_point(rate, rates, &y, error);
        if (status == LLMPERF_OK)
            status = llmperf_plot_add_point(time, times, &t, error);
    }
    llmperf_workspace_free(workspace);
    return status;
}

/* `markers`: on the batches, where they were chosen by hand. */
static llmperf_status add_curves(const llmperf_config *c, const int64_t *batches, int count,
                                 bool markers, llmperf_plot *plot, llmperf_error *error)
{
    llmperf_plot_series style = {.draw = LLMPERF_DRAW_LINE | LLMPERF_DRAW_BAND |
                                         (markers ? LLMPERF_DRAW_MARKERS : 0)};
    if (llmperf_config_estimate_kind(c) == LLMPERF_ESTIMATE_BOUND) {
        snprintf(style.name, sizeof style.name, "at best: the roofline");
        snprintf(style.band, sizeof style.band, "95 %% of published runs within");
        return add_curve(c, batches, count, plot, &style, error);
    }
    snprintf(style.name, sizeof style.name, "predicted");
    snprintf(style.band, sizeof style.band, "%d %% interval",
             (int)lround(100 * c->workload.confidence));
    llmperf_status status = add_curve(c, batches, count, plot, &style, error);
    llmperf_config ideal = *c;
    ideal.calib = NULL;
    llmperf_plot_series plain = {.draw = LLMPERF_DRAW_LINE | LLMPERF_DRAW_DASHED, .color = 6};
    snprintf(plain.name, sizeof plain.name, "plain roofline");
    return status == LLMPERF_OK ? add_curve(&ideal, batches, count, plot, &plain, error) : status;
}

/* ---- the marks ---------------------------------------------------------------------------------------- */

static void add_both(llmperf_plot *plot, const llmperf_plot_mark *mark, int64_t most)
{
    if (mark->value > (double)most) {
        llmperf_note(&plot->notes, "Beyond this chart: %s", mark->text);
        return;
    }
    llmperf_plot_add_mark(&plot->panel[0], mark);
    llmperf_plot_add_mark(&plot->panel[1], mark);
}

static void mark_memory(const llmperf_prediction *p, llmperf_plot *plot, int64_t most)
{
    int64_t batch = p->memory.max_batch;
    llmperf_plot_mark mark = {.value = batch > 0 ? (double)batch : 1, .beyond = true, .color = 7};
    if (batch > 0)
        snprintf(mark.text, sizeof mark.text, "memory full at batch %lld", (long long)batch);
    else
        snprintf(mark.text, sizeof mark.text, "does not fit: not even one sequence");
    add_both(plot, &mark, most);
}

static void mark_crossing(const llmperf_crossing *crossing, const char *what, const char *basis,
                          int color, llmperf_plot *plot, int64_t most)
{
    if (!crossing->exists) {
        llmperf_note(&plot->notes, "%c%s never turns compute-bound (%s): %s",
                     toupper((unsigned char)what[0]), what + 1, basis, crossing->why);
        return;
    }
    llmperf_plot_mark mark = {.value = (double)crossing->batch,
                              .low = (double)crossing->low,
                              .high = (double)(crossing->high ? crossing->high : most),
                              .color = (uint8_t)color};
    int length = snprintf(mark.text, sizeof mark.text, "%s compute-bound at %lld, %s", what,
                          (long long)crossing->batch, basis);
    if (crossing->low < crossing->batch && length > 0 && (size_t)length < sizeof mark.text)
        snprintf(mark.text + length, sizeof mark.text - (size_t)length, " (%lld to %lld)",
                 (long long)crossing->low, (long long)crossing->high);
    add_both(plot, &mark, most);
}

static void add_marks(const llmperf_prediction *p, llmperf_plot *plot, int64_t most)
{
    const llmperf_workload *w = &p->c->workload;
    mark_memory(p, plot, most);
    mark_crossing(&p->datasheet.dense, "linear layers", "datasheet", 1, plot, most);
    if (p->has_calibrated)
        mark_crossing(&p->calibrated.dense, "linear layers", "calibrated", 2, plot, most);
    mark_crossing(&p->datasheet.step, "the whole step", "datasheet", 3, plot, most);
    if (w->tpot_s > 0) {
        char number[PLOT_NUMBER_MAX];
        llmperf_plot_mark target = {.on_y = true, .value = w->tpot_s, .color = 4};
        snprintf(target.text, sizeof target.text, "target %s: batch %lld",
                 plot_number(w->tpot_s, "s", number), (long long)p->max_batch_at_tpot);
        llmperf_plot_add_mark(&plot->panel[1], &target);
    }
}

/* ---- the figure --------------------------------------------------------------------------------------- */

static void describe(const llmperf_config *c, llmperf_plot *plot)
{
    const llmperf_workload *w = &c->workload;
    char devices[32] = "", basis[160];
    if (w->tp > 1)
        snprintf(devices, sizeof devices, "%lld x ", (long long)w->tp);
    snprintf(plot->kind, sizeof plot->kind, "batch");
    snprintf(plot->title, sizeof plot->title, "Batching: %s on %s%s", c->model->name, devices,
             c->hw->name);
    snprintf(plot->subtitle, sizeof plot->subtitle,
             "one decode step over %lld cached tokens a sequence, weights %s, KV cache %s; %s",
             (long long)w->context, llmperf_dtype_name(w->weight_dtype),
             llmperf_dtype_name(w->kv_dtype),
             plot_basis(c->calib, llmperf_config_estimate_kind(c), "times are bounds", basis,
                        sizeof basis));
}

/* The two panels, empty. */
static void add_panels(llmperf_plot *plot)
{
    static const llmperf_plot_axis batch_axis = {.field = "batch",
                                                 .title = "batch: sequences decoded together",
                                                 .scale = LLMPERF_SCALE_LOG2};
    llmperf_plot_panel *rate = llmperf_plot_add_panel(plot, "throughput", "Throughput");
    llmperf_plot_panel *time = llmperf_plot_add_panel(plot, "latency", "Latency");
    rate->x = time->x = batch_axis;
    rate->y = (llmperf_plot_axis){.field = "tokens_per_s",
                                  .title = "output tokens/s of all sequences",
                                  .scale = LLMPERF_SCALE_LOG};
    time->y = (llmperf_plot_axis){.field = "time_s",
                                  .title = "time per output token (TPOT)",
                                  .unit = "s",
                                  .scale = LLMPERF_SCALE_LOG};
}

static llmperf_status fill_plot(const llmperf_prediction *p, const int64_t *batches,
                                int batch_count, llmperf_plot *plot, llmperf_error *error)
{
    int64_t chosen[PLOT_OCTAVES_MAX], most = 0;
    const bool by_hand = batch_count > 0 && batch_count <= HAND_MOST;
    if (batch_count == 0) {
        batch_count = plot_octaves(last_batch(p), chosen);
        batches = chosen;
    }
    add_panels(plot);
    describe(p->c, plot);
    llmperf_not_modelled(p->c, &plot->not_modelled);
    llmperf_status status = add_curves(p->c, batches, batch_count, by_hand, plot, error);
    for (int i = 0; i < batch_count; i++)
        most = batches[i] > most ? batches[i] : most;
    add_marks(p, plot, most);
    if (status != LLMPERF_OK)
        llmperf_plot_free(plot);
    return status;
}

llmperf_status llmperf_plot_batch(const llmperf_config *c, const int64_t *batches, int batch_count,
                                  llmperf_plot *ret_plot, llmperf_error *error)
{
    NEEDS(c && c->hw && ret_plot && counts_are_sound(batches, batch_count), error);
    llmperf_prediction *p = malloc(sizeof *p); /* larger than a small stack takes */
    if (!p)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    p->size = sizeof *p;
    llmperf_status status = llmperf_predict(c, p, error);
    if (status == LLMPERF_OK)
        status = fill_plot(p, batches, batch_count, ret_plot, error);
    free(p);
    return status;
}
