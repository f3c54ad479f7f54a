/* SPDX-License-Identifier: MIT */
/*
 * Operators as their batch grows: dense layers (FLOP/s and time against FLOP, flat time until the
 * knee) and attention (FLOP/s and time against batch).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/predict.h"
#include "plot.h"
#include "entry.h"
#include "config_object.h"
#include "read.h"
#include "config.h"
#include "time_op.h"

enum {
    TOKENS_MOST = 16384, /* of a dense layer, where none are asked for */
    COLORS = 8,
};

void llmperf_curves_free(llmperf_curves *curves)
{
    if (!curves)
        return;
    for (int i = 0; i < curves->count; i++)
        free(curves->curve[i].item);
    memset(curves, 0, sizeof *curves);
}

llmperf_curve *llmperf_curves_add(llmperf_curves *curves, const char *name)
{
    if (!curves || !name || curves->count == LLMPERF_CURVES_MAX)
        return NULL;
    llmperf_curve *curve = &curves->curve[curves->count++];
    snprintf(curve->name, sizeof curve->name, "%s", name);
    return curve;
}

llmperf_status llmperf_curve_add(llmperf_curve *curve, const llmperf_curve_item *item,
                                 llmperf_error *error)
{
    NEEDS(curve && item, error);
    if (curve->count == curve->capacity) {
        int capacity = curve->capacity ? 2 * curve->capacity : 16;
        void *grown = realloc(curve->item, (size_t)capacity * sizeof *curve->item);
        if (!grown)
            return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
        curve->item = grown;
        curve->capacity = capacity;
    }
    curve->item[curve->count++] = *item;
    return LLMPERF_OK;
}

/* ---- curves of operators that a model emits ------------------------------------------------------------ */

/* The operator of a step that `wanted` accepts and that runs most often. */
typedef bool (*op_test)(const llmperf_op *op, const void *wanted);

static bool find_op(const llmperf_config *c, const llmperf_segment *segment, op_test test,
                    const void *wanted, llmperf_workspace *workspace, llmperf_op *ret_op)
{
    llmperf_total total;
    int count = llmperf_step(c, segment, 1, workspace, &total), best = -1;
    const llmperf_op *ops = llmperf_workspace_ops(workspace, &count);
    for (int i = 0; i < count; i++)
        if (test(&ops[i], wanted) && (best < 0 || ops[i].repeat > ops[best].repeat))
            best = i;
    if (best >= 0)
        *ret_op = ops[best];
    return best >= 0;
}

/* A dense operator: what it is and its weights. */
static bool is_same_dense(const llmperf_op *op, const void *wanted)
{
    const llmperf_op_crossing *w = wanted;
    return op->group == LLMPERF_GROUP_DENSE && op->id == w->id && op->n == w->n && op->k == w->k;
}

static llmperf_status add_dense_curve(const llmperf_config *c, const char *name,
                                      const llmperf_op_crossing *wanted, const int64_t *tokens,
                                      int token_count, llmperf_workspace *workspace,
                                      llmperf_curves *curves, llmperf_error *error)
{
    llmperf_curve *curve = llmperf_curves_add(curves, name);
    llmperf_status status = LLMPERF_OK;
    if (!curve)
        return LLMPERF_OK;
    for (int i = 0; i < token_count && status == LLMPERF_OK; i++) {
        llmperf_curve_item item = {.batch = (double)tokens[i]};
        llmperf_segment s = llmperf_decode_segment(c, tokens[i], 0);
        if (find_op(c, &s, is_same_dense, wanted, workspace, &item.op))
            status = llmperf_curve_add(curve, &item, error);
    }
    if (wanted->crossing.exists && wanted->crossing.batch < (int64_t)1 << 40) {
        llmperf_segment s = llmperf_decode_segment(c, wanted->crossing.batch, 0);
        curve->has_knee = find_op(c, &s, is_same_dense, wanted, workspace, &curve->knee.op);
        curve->knee.batch = (double)wanted->crossing.batch;
    }
    return status;
}

llmperf_status llmperf_curves_dense(const llmperf_config *c, const int64_t *tokens, int token_count,
                                    llmperf_curves *curves, llmperf_error *error)
{
    NEEDS(c && c->hw && curves && counts_are_sound(tokens, token_count), error);
    llmperf_crossings crossings;
    llmperf_workspace *workspace = NULL;
    int64_t chosen[PLOT_OCTAVES_MAX];
    char devices[48];
    llmperf_status status = llmperf_workspace_new(c, 1, &workspace, error);
    if (status == LLMPERF_OK)
        status = llmperf_crossings_of(c, c->calib, workspace, &crossings, error);
    snprintf(curves->what, sizeof curves->what, "Linear layers of %s", c->model->name);
    snprintf(curves->shape, sizeof curves->shape, "%s weights%s",
             llmperf_dtype_name(c->workload.weight_dtype),
             plot_devices(&c->workload, devices, sizeof devices));
    if (token_count == 0) {
        token_count = plot_octaves(TOKENS_MOST, chosen);
        tokens = chosen;
    }
    for (int i = 0; status == LLMPERF_OK && i < crossings.op_count; i++) {
        const llmperf_op_crossing *one = &crossings.op[i];
        char name[LLMPERF_PLOT_TEXT_MAX];
        snprintf(name, sizeof name, "%s, %lld x %lld", llmperf_op_name((llmperf_op_id)one->id),
                 (long long)one->k, (long long)one->n);
        status = add_dense_curve(c, name, one, tokens, token_count, workspace, curves, error);
    }
    llmperf_workspace_free(workspace);
    return status;
}

/* A model of one plain layer whose output projection is a matrix of hidden x hidden. */
static void one_layer(int64_t hidden, llmperf_model *ret_model)
{
    llmperf_model *m = ret_model;
    memset(m, 0, sizeof *m);
    snprintf(m->name, sizeof m->name, "one layer");
    snprintf(m->architecture, sizeof m->architecture, "ad hoc");
    m->hidden = m->embedding_dim = hidden;
    m->vocab = 1;
    m->dtype = LLMPERF_DTYPE_BF16;
    m->layer_kind_count = 1;
    m->layers[0].count = 1;
    m->layers[0].norms = 1;
    m->layers[0].attention =
        (llmperf_attention){.heads = 1, .kv_heads = 1, .head_dim = hidden, .value_dim = hidden};
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
        m->weight_dtype[i] = LLMPERF_DTYPE_BF16;
        m->weight_bits[i] = llmperf_dtype_bits(LLMPERF_DTYPE_BF16);
    }
}

/* Room for what one matrix is asked by: too large for a stack. */
typedef struct hidden_layer {
    llmperf_model model;
    llmperf_config config;
    llmperf_crossings crossings;
    llmperf_workspace *workspace;
} hidden_layer;

static llmperf_status add_hidden(const llmperf_hw *hw, const llmperf_calib *calib,
                                 const llmperf_workload *workload, int64_t hidden,
                                 const int64_t *tokens, int token_count, hidden_layer *room,
                                 llmperf_curves *curves, llmperf_error *error)
{
    const llmperf_config *c = &room->config;
    const llmperf_crossings *crossings = &room->crossings;
    one_layer(hidden, &room->model);
    llmperf_status status = model_check(&room->model, error);
    if (status == LLMPERF_OK)
        status = config_init(&room->config, &room->model, hw, calib, workload, error);
    if (status == LLMPERF_OK)
        status = llmperf_crossings_of(c, calib, room->workspace, &room->crossings, error);
    if (status != LLMPERF_OK)
        return status;
    for (int i = 0; i < crossings->op_count; i++) {
        char name[LLMPERF_PLOT_TEXT_MAX];
        if (crossings->op[i].id != LLMPERF_OP_ATTN_OUT)
            continue;
        snprintf(name, sizeof name, "h = %lld", (long long)hidden);
        return add_dense_curve(c, name, &crossings->op[i], tokens, token_count, room->workspace,
                               curves, error);
    }
    return LLMPERF_OK;
}

llmperf_status llmperf_curves_hidden(const llmperf_hw *hw, const llmperf_calib *calib,
                                     const llmperf_workload *workload, const int64_t *hidden,
                                     int hidden_count, const int64_t *tokens, int token_count,
                                     llmperf_curves *curves, llmperf_error *error)
{
    NEEDS(hw_is_sound(hw) && workload && curves, error);
    NEEDS(counts_are_sound(hidden, hidden_count) && counts_are_sound(tokens, token_count), error);
    NEEDS(IS_BELOW(workload->weight_dtype, LLMPERF_DTYPE_COUNT), error);
    hidden_layer *room = calloc(1, sizeof *room);
    if (!room)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_status status = llmperf_workspace_new(NULL, 1, &room->workspace, error);
    int64_t chosen[PLOT_OCTAVES_MAX];
    snprintf(curves->what, sizeof curves->what, "Linear layers");
    snprintf(
        curves->shape, sizeof curves->shape, "h x h weights in %s",
        llmperf_dtype_name(workload->weight_dtype ? workload->weight_dtype : LLMPERF_DTYPE_BF16));
    if (token_count == 0) {
        token_count = plot_octaves(TOKENS_MOST, chosen);
        tokens = chosen;
    }
    for (int i = 0; i < hidden_count && status == LLMPERF_OK; i++)
        status =
            add_hidden(hw, calib, workload, hidden[i], tokens, token_count, room, curves, error);
    llmperf_workspace_free(room->workspace);
    free(room);
    return status;
}

static bool is_core(const llmperf_op *op, const void *wanted)
{
    (void)wanted;
    return op->id == LLMPERF_OP_ATTN_CORE || op->id == LLMPERF_OP_ATTN_SCORES;
}

static void describe_attention(const llmperf_config *c, const llmperf_op *op,
                               llmperf_curves *curves)
{
    bool fused = op->id == LLMPERF_OP_ATTN_CORE;
    char devices[48];
    snprintf(curves->what, sizeof curves->what, "Attention of one layer of %s", c->model->name);
    snprintf(curves->shape, sizeof curves->shape, "%s, %.0f heads, %.0f KV heads of %.0f%s",
             fused ? "fused core" : "product of queries and keys", op->heads, op->kv_heads,
             op->head_dim, plot_devices(&c->workload, devices, sizeof devices));
}

static llmperf_status add_attention(const llmperf_config *c, int64_t prompt, bool decode,
                                    const int64_t *batches, int batch_count,
                                    llmperf_workspace *workspace, llmperf_curves *curves,
                                    llmperf_error *error)
{
    char name[LLMPERF_PLOT_TEXT_MAX];
    snprintf(name, sizeof name, "s = %lld", (long long)prompt);
    llmperf_curve *curve = llmperf_curves_add(curves, name);
    if (!curve)
        return LLMPERF_OK;
    curve->decode = decode;
    for (int i = 0; i < batch_count; i++) {
        llmperf_curve_item item = {.batch = (double)batches[i]};
        llmperf_segment s = {.sequences = batches[i], .query = prompt, .logits = batches[i]};
        if (decode)
            s = llmperf_decode_segment(c, batches[i], prompt);
        if (!find_op(c, &s, is_core, NULL, workspace, &item.op))
            return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "%s has no attention to draw",
                                c->model->name);
        if (curve->count == 0 && !decode)
            describe_attention(c, &item.op, curves);
        llmperf_status status = llmperf_curve_add(curve, &item, error);
        if (status != LLMPERF_OK)
            return status;
    }
    return LLMPERF_OK;
}

llmperf_status llmperf_curves_attention(const llmperf_config *c, const int64_t *prompts,
                                        int prompt_count, const int64_t *batches, int batch_count,
                                        llmperf_curves *curves, llmperf_error *error)
{
    NEEDS(c && c->hw && curves, error);
    NEEDS(counts_are_sound(prompts, prompt_count) && counts_are_sound(batches, batch_count), error);
    llmperf_workspace *workspace = NULL;
    llmperf_status status = llmperf_workspace_new(c, 1, &workspace, error);
    for (int i = 0; i < 2 * prompt_count && status == LLMPERF_OK; i++)
        status = add_attention(c, prompts[i % prompt_count], i >= prompt_count, batches,
                               batch_count, workspace, curves, error);
    llmperf_workspace_free(workspace);
    return status;
}

/* ---- from curves to panels ------------------------------------------------------------------------------- */

/* Two panels over one x: FLOP/s and time. */
typedef struct panel_pair {
    llmperf_plot_panel *rate, *time;
    const llmperf_hw *hw;
    const llmperf_calib *calib;
    bool over_batch; /* else over the FLOP of a launch */
} panel_pair;

static panel_pair add_pair(llmperf_plot *plot, const char *name, const char *title,
                           const llmperf_plot_axis *x, const llmperf_hw *hw,
                           const llmperf_calib *calib)
{
    char text[96];
    panel_pair pair = {.hw = hw, .calib = calib, .over_batch = x->scale == LLMPERF_SCALE_LOG2};
    snprintf(text, sizeof text, "%s_throughput", name);
    pair.rate = llmperf_plot_add_panel(plot, text, title);
    snprintf(text, sizeof text, "%s_latency", name);
    pair.time = llmperf_plot_add_panel(plot, text, title);
    pair.rate->x = pair.time->x = *x;
    pair.rate->y = (llmperf_plot_axis){
        .field = "flop_per_s", .title = "throughput", .unit = "FLOP/s", .scale = LLMPERF_SCALE_LOG};
    pair.time->y = (llmperf_plot_axis){
        .field = "time_s", .title = "time of one launch", .unit = "s", .scale = LLMPERF_SCALE_LOG};
    return pair;
}

static llmperf_status add_item(const panel_pair *pair, llmperf_plot_series *rates,
                               llmperf_plot_series *times, const llmperf_curve_item *item,
                               const char *label, int color, llmperf_error *error)
{
    double time_s =
        item->time_s > 0 ? item->time_s : time_op(&item->op, pair->hw, pair->calib, NULL, NULL);
    double x = pair->over_batch ? item->batch : item->op.flop;
    llmperf_plot_point rate = {.x = x, .y = item->op.flop / time_s, .color = (uint8_t)color};
    llmperf_plot_point time = {.x = x, .y = time_s, .color = (uint8_t)color};
    snprintf(rate.label, sizeof rate.label, "%s", label);
    snprintf(time.label, sizeof time.label, "%s", label);
    llmperf_status status = llmperf_plot_add_point(pair->rate, rates, &rate, error);
    return status == LLMPERF_OK ? llmperf_plot_add_point(pair->time, times, &time, error) : status;
}

/* By name, so that what was measured looks like what was predicted: the eight colours, then the
 * same again with dashed and with dotted lines. */
static int style_of_curve(const llmperf_curves *curves, int at)
{
    int color = 0;
    for (int i = 0; i < at; i++) {
        bool first = true;
        for (int k = 0; k < i; k++)
            first &= strcmp(curves->curve[k].name, curves->curve[i].name) != 0;
        if (strcmp(curves->curve[i].name, curves->curve[at].name) == 0)
            return color;
        color += first;
    }
    return color;
}

/* The knee of a predicted curve, where it lies on what is drawn of it. */
static bool shows_knee(const llmperf_curve *curve)
{
    return curve->has_knee && !curve->measured && curve->count > 0 &&
           curve->knee.op.flop >= curve->item[0].op.flop &&
           curve->knee.op.flop <= curve->item[curve->count - 1].op.flop;
}

static llmperf_status add_curve(const panel_pair *pair, const llmperf_curves *curves, int at,
                                llmperf_error *error)
{
    const llmperf_curve *curve = &curves->curve[at];
    static const unsigned dashes[] = {0, LLMPERF_DRAW_DASHED, LLMPERF_DRAW_DOTTED};
    const int style = style_of_curve(curves, at);
    unsigned draw =
        curve->measured ? LLMPERF_DRAW_MARKERS : LLMPERF_DRAW_LINE | dashes[style / COLORS % 3];
    llmperf_plot_series *rates = llmperf_plot_add_series(pair->rate, curve->name, draw);
    llmperf_plot_series *times = llmperf_plot_add_series(pair->time, curve->name, draw);
    llmperf_status status = LLMPERF_OK;
    if (!rates || !times)
        return status;
    rates->color = times->color = (uint8_t)(style % COLORS);
    rates->marker = times->marker = (uint8_t)(style % LLMPERF_MARKER_COUNT);
    double last = 0;
    for (int i = 0; i < curve->count && status == LLMPERF_OK; i++) {
        const llmperf_curve_item *item = &curve->item[i];
        /* the line passes through its knee */
        if (shows_knee(curve) && last < curve->knee.op.flop && curve->knee.op.flop < item->op.flop)
            status = add_item(pair, rates, times, &curve->knee, "", 0, error);
        if (status == LLMPERF_OK)
            status = add_item(pair, rates, times, item, "", 0, error);
        last = item->op.flop;
    }
    return status;
}

/* The points from which on compute takes at least as long as memory, labelled by their tokens, in
 * the colours of their curves. */
static llmperf_status add_knees(const panel_pair *pair, const llmperf_curves *curves,
                                llmperf_error *error)
{
    static const char name[] = "compute-bound from here on (b s)";
    const unsigned draw = LLMPERF_DRAW_MARKERS | LLMPERF_DRAW_NAMES;
    llmperf_plot_series *rates = llmperf_plot_add_series(pair->rate, name, draw);
    llmperf_plot_series *times = llmperf_plot_add_series(pair->time, name, draw);
    llmperf_status status = LLMPERF_OK;
    if (!rates || !times)
        return status;
    rates->color = times->color = 6;
    rates->marker = times->marker = LLMPERF_MARKER_RING;
    for (int i = 0; i < curves->count && status == LLMPERF_OK; i++) {
        char label[32];
        const llmperf_curve *curve = &curves->curve[i];
        if (!shows_knee(curve))
            continue;
        snprintf(label, sizeof label, "%lld", (long long)llround(curve->knee.batch));
        status = add_item(pair, rates, times, &curve->knee, label,
                          1 + style_of_curve(curves, i) % COLORS, error);
    }
    return status;
}

/* Any curve of a phase, measured ones among them? */
static bool any(const llmperf_curves *curves, bool decode, bool measured)
{
    for (int i = 0; i < curves->count; i++)
        if (curves->curve[i].count > 0 && curves->curve[i].decode == decode &&
            (!measured || curves->curve[i].measured))
            return true;
    return false;
}

static void describe(const llmperf_hw *hw, const llmperf_calib *calib, const llmperf_curves *curves,
                     llmperf_plot *plot)
{
    char basis[160];
    llmperf_estimate_kind kind = !calib                ? LLMPERF_ESTIMATE_BOUND
                                 : calib->borrowed > 0 ? LLMPERF_ESTIMATE_BORROWED
                                                       : LLMPERF_ESTIMATE_CALIBRATED;
    for (int i = 0; i < curves->notes.count; i++)
        llmperf_note(&plot->notes, "%s", curves->notes.text[i]);
    snprintf(plot->title, sizeof plot->title, "%s on %s", curves->what, hw->name);
    snprintf(plot->subtitle, sizeof plot->subtitle, "%s%s%s%s", curves->shape,
             curves->shape[0] ? "; " : "",
             any(curves, false, true) || any(curves, true, true)
                 ? "lines: predicted, markers: measured; "
                 : "",
             plot_basis(calib, kind, "the roofline", basis, sizeof basis));
}

llmperf_status llmperf_plot_dense(const llmperf_hw *hw, const llmperf_calib *calib,
                                  const llmperf_curves *curves, llmperf_plot *ret_plot,
                                  llmperf_error *error)
{
    NEEDS(hw_is_sound(hw) && curves && ret_plot, error);
    static const llmperf_plot_axis flop = {.field = "flop",
                                           .title = "work of one launch, 2 b s n k",
                                           .unit = "FLOP",
                                           .scale = LLMPERF_SCALE_LOG};
    snprintf(ret_plot->kind, sizeof ret_plot->kind, "dense");
    describe(hw, calib, curves, ret_plot);
    panel_pair pair = add_pair(ret_plot, "dense", "Linear layer", &flop, hw, calib);
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; i < curves->count && status == LLMPERF_OK; i++)
        status = add_curve(&pair, curves, i, error);
    if (status == LLMPERF_OK)
        status = add_knees(&pair, curves, error);
    if (status != LLMPERF_OK)
        llmperf_plot_free(ret_plot);
    return status;
}

llmperf_status llmperf_plot_attention(const llmperf_hw *hw, const llmperf_calib *calib,
                                      const llmperf_curves *curves, llmperf_plot *ret_plot,
                                      llmperf_error *error)
{
    NEEDS(hw_is_sound(hw) && curves && ret_plot, error);
    static const llmperf_plot_axis batch = {
        .field = "batch", .title = "batch: sequences together", .scale = LLMPERF_SCALE_LOG2};
    llmperf_status status = LLMPERF_OK;
    snprintf(ret_plot->kind, sizeof ret_plot->kind, "attention");
    describe(hw, calib, curves, ret_plot);
    for (int decode = 0; decode < 2; decode++) {
        if (!any(curves, decode == 1, false))
            continue;
        panel_pair pair = add_pair(ret_plot, decode ? "decode" : "prefill",
                                   decode ? "Decode over s cached tokens" : "Prefill of s tokens",
                                   &batch, hw, calib);
        for (int i = 0; i < curves->count && status == LLMPERF_OK; i++)
            if (curves->curve[i].decode == (decode == 1))
                status = add_curve(&pair, curves, i, error);
    }
    if (status != LLMPERF_OK)
        llmperf_plot_free(ret_plot);
    return status;
}
