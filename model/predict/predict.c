/* SPDX-License-Identifier: MIT */
/*
 * The whole prediction: memory, prefill, decode, and what a planner asks of them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "decode_steps.h"
#include "entry.h"
#include "config_object.h"
#include "time_op.h"

const char *llmperf_estimate_kind_name(llmperf_estimate_kind kind)
{
    static const char *const names[] = {"bound", "borrowed", "calibrated"};
    return (unsigned)kind < 3 ? names[kind] : "?";
}

llmperf_estimate_kind llmperf_config_estimate_kind(const llmperf_config *c)
{
    if (!c)
        return LLMPERF_ESTIMATE_BOUND;
    if (!c->calib)
        return LLMPERF_ESTIMATE_BOUND;
    return c->calib->borrowed > 0 ? LLMPERF_ESTIMATE_BORROWED : LLMPERF_ESTIMATE_CALIBRATED;
}

double llmperf_tpot(const llmperf_config *c, int64_t batch, llmperf_workspace *workspace)
{
    if (!c || !c->hw || !workspace || batch < 1)
        return 0;
    llmperf_segment segment = llmperf_decode_segment(c, batch, c->workload.context);
    llmperf_total total = {0};
    step_add(workspace, c, &segment, 1, 1, &total, NULL);
    return total.time_s;
}

/* A bound: the time is the least possible, and `spread` times it at worst in published data. */
static llmperf_estimate bound_of_time(double time_s, double spread)
{
    return (llmperf_estimate){.value = time_s, .low = time_s, .high = time_s * spread};
}

/* amount / time: the bounds of a rate are those of its time, turned round. */
static llmperf_estimate rate_of(double amount, llmperf_estimate time)
{
    return (llmperf_estimate){
        .value = amount / time.value, .low = amount / time.high, .high = amount / time.low};
}

static uint8_t main_bound(const llmperf_total *total)
{
    int bound = 0;
    for (int i = 1; i < LLMPERF_BOUND_COUNT; i++)
        if (total->bound_s[i] > total->bound_s[bound])
            bound = i;
    return (uint8_t)bound;
}

llmperf_estimate llmperf_estimate_ops(const llmperf_config *c, const llmperf_op *ops, int count,
                                      llmperf_workspace *workspace)
{
    if (!c || !c->hw || !workspace || !ops_are_sound(ops, count))
        return (llmperf_estimate){0};
    double spread = llmperf_spread(LLMPERF_SPREAD_DECODE_STEP), time_s = 0;
    llmperf_time t;
    if (!c->calib) {
        for (int i = 0; i < count; i++)
            time_s += ops[i].repeat * time_op(&ops[i], c->hw, NULL, NULL, NULL);
        return bound_of_time(time_s, spread);
    }
    interval_begin(&workspace->sum, c->calib, c->calib->host.decode_residual);
    for (int i = 0; i < count; i++) {
        time_op(&ops[i], c->hw, c->calib, &t, &workspace->gradient);
        interval_add(&workspace->sum, c, &ops[i], &t, &workspace->gradient, 1);
    }
    return interval_of(&workspace->sum, c, spread);
}

llmperf_estimate llmperf_estimate_op(const llmperf_config *c, const llmperf_op *op,
                                     llmperf_workspace *workspace)
{
    if (!c || !c->hw || !workspace || !op_is_sound(op))
        return (llmperf_estimate){0};
    llmperf_op once = *op;
    once.repeat = 1;
    return llmperf_estimate_ops(c, &once, 1, workspace);
}

/* A time that the calibration has fits for less than half of is a bound. */
static llmperf_estimate_kind kind_of(const llmperf_config *c, const interval_sum *sum)
{
    return sum->bound_s > 0.5 * sum->time_s ? LLMPERF_ESTIMATE_BOUND
                                            : llmperf_config_estimate_kind(c);
}

/* The estimate of what was added to *total, and to the workspace's interval where there is a
 * calibration; *ret_kind (may be NULL): what its value is. */
static llmperf_estimate estimate_of(const llmperf_config *c, llmperf_workspace *w,
                                    const llmperf_total *total, llmperf_spread_class class,
                                    llmperf_estimate_kind *ret_kind)
{
    double spread = llmperf_spread(class);
    if (ret_kind)
        *ret_kind = c->calib ? kind_of(c, &w->sum) : LLMPERF_ESTIMATE_BOUND;
    return c->calib ? interval_of(&w->sum, c, spread) : bound_of_time(total->time_s, spread);
}

/* A decode step, emitted once for its sums and its interval. */
static llmperf_estimate estimate_decode(const llmperf_config *c, int64_t batch,
                                        llmperf_workspace *w, llmperf_total *ret_total,
                                        llmperf_estimate_kind *ret_kind)
{
    llmperf_segment segment = llmperf_decode_segment(c, batch, c->workload.context);
    memset(ret_total, 0, sizeof *ret_total);
    if (c->calib)
        interval_begin(&w->sum, c->calib, c->calib->host.decode_residual);
    step_add(w, c, &segment, 1, 1, ret_total, c->calib ? &w->sum : NULL);
    return estimate_of(c, w, ret_total, LLMPERF_SPREAD_DECODE_STEP, ret_kind);
}

/* The prefill of `batch` prompts likewise; *ret_steps (may be NULL): their number. */
static llmperf_estimate estimate_prefill(const llmperf_config *c, int64_t batch,
                                         llmperf_workspace *w, llmperf_total *ret_total,
                                         llmperf_estimate_kind *ret_kind, double *ret_steps)
{
    if (c->calib)
        interval_begin(&w->sum, c->calib, c->calib->host.prefill_residual);
    double steps = prefill_add(w, c, batch, ret_total, c->calib ? &w->sum : NULL);
    if (ret_steps)
        *ret_steps = steps;
    return estimate_of(c, w, ret_total, LLMPERF_SPREAD_PREFILL_STEP, ret_kind);
}

static void predict_prefill(const llmperf_config *c, llmperf_workspace *workspace,
                            llmperf_prediction *p)
{
    const llmperf_workload *w = &c->workload;
    llmperf_total one;
    p->prefill.time_s =
        estimate_prefill(c, w->batch, workspace, &p->prefill.total, NULL, &p->prefill_steps);
    p->prefill.tokens_per_s =
        rate_of((double)w->batch * (double)(w->prompt - w->cached), p->prefill.time_s);
    p->prefill.bound = main_bound(&p->prefill.total);
    p->ttft_batch_s = p->prefill.time_s;
    p->ttft_s = p->prefill.time_s;
    if (w->batch > 1)
        p->ttft_s = estimate_prefill(c, 1, workspace, &one, NULL, NULL);
}

static void predict_decode(const llmperf_config *c, llmperf_workspace *workspace,
                           llmperf_prediction *p)
{
    const llmperf_workload *w = &c->workload;
    llmperf_total *total = &p->decode.total;
    p->decode.time_s = estimate_decode(c, w->batch, workspace, total, NULL);
    p->tpot_s = p->decode.time_s;
    p->decode.tokens_per_s = rate_of((double)w->batch, p->tpot_s);
    p->tokens_per_s_per_seq = rate_of(1, p->tpot_s);
    p->decode.bound = main_bound(total);
    double step = total->time_s;
    p->share = (llmperf_share){
        .dense = total->group_s[LLMPERF_GROUP_DENSE] / step,
        .attention = total->group_s[LLMPERF_GROUP_ATTENTION] / step,
        .other = total->group_s[LLMPERF_GROUP_OTHER] / step,
        .launch = total->launch_s / step,
        .link = total->link_s / step,
        .host = total->host_s / step,
    };
    double steps = (double)(w->generate - 1);
    p->e2e_s = (llmperf_estimate){
        .value = p->ttft_s.value + steps * p->tpot_s.value,
        .low = p->ttft_s.low + steps * p->tpot_s.low,
        .high = p->ttft_s.high + steps * p->tpot_s.high,
    };
}

/* Smallest batch whose TPOT passes `limit_s`, TPOT being monotone in batch; 0 = none below 2^40. */
static int64_t first_batch_over(decode_steps *steps, double limit_s, bool also_equal)
{
    const int64_t most = (int64_t)1 << 40, context = steps->c->workload.context;
    int64_t low = 0, high = 1;
    for (;;) {
        double t = decode_step_at(steps, high, context)->time_s;
        if (t > limit_s || (also_equal && t == limit_s))
            break;
        if (high >= most)
            return 0;
        low = high;
        high *= 2;
    }
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        double t = decode_step_at(steps, middle, context)->time_s;
        if (t > limit_s || (also_equal && t == limit_s))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/*
 * Batching B sequences multiplies throughput by G = B t(1) / t(B). Were attention shared by the
 * batch as weights are (its time stayed that of one sequence), it would be G*. What attention
 * takes of the gain is (G* - G) / (G* - 1).
 */
static double batching_taken(decode_steps *steps, int64_t batch, int64_t context)
{
    const decode_step one = *decode_step_at(steps, 1, context);
    const decode_step all = *decode_step_at(steps, batch, context);
    double gain = (double)batch * one.time_s / all.time_s;
    double free_gain =
        (double)batch * one.time_s / (all.time_s - all.attention_s + one.attention_s);
    return free_gain > 1 ? (free_gain - gain) / (free_gain - 1) : 0;
}

static void predict_batching(decode_steps *steps, llmperf_prediction *p)
{
    const llmperf_config *c = steps->c;
    int64_t batch = c->workload.batch;
    if (batch == 1) /* nothing is batched yet: show what there is to gain */
        batch = p->memory.max_batch;
    p->batching.batch = batch;
    if (batch <= 1)
        return;
    p->batching.taken = batching_taken(steps, batch, c->workload.context);
    p->batching.taken_long = batching_taken(steps, batch, 4 * (c->workload.context + 1) - 1);
}

static void predict_targets(decode_steps *steps, llmperf_prediction *p)
{
    const llmperf_config *c = steps->c;
    const llmperf_workload *w = &c->workload;
    double one_s = decode_step_at(steps, 1, w->context)->time_s;
    int64_t knee = first_batch_over(steps, 1.1 * one_s, true);
    p->has_knee = knee > 0;
    p->latency_knee_batch = knee;
    if (w->tpot_s > 0) {
        int64_t over = first_batch_over(steps, w->tpot_s, false);
        int64_t most = over > 0 ? over - 1 : p->memory.max_batch;
        llmperf_total total;
        p->limited_by_memory = over == 0 || p->memory.max_batch < most;
        p->max_batch_at_tpot = p->limited_by_memory ? p->memory.max_batch : most;
        if (p->max_batch_at_tpot == w->batch)
            p->tpot_at_max_batch_s = p->tpot_s;
        else if (p->max_batch_at_tpot > 0)
            p->tpot_at_max_batch_s =
                estimate_decode(c, p->max_batch_at_tpot, steps->workspace, &total, NULL);
    }
}

static void predict_cost(const llmperf_config *c, llmperf_prediction *p)
{
    const llmperf_workload *w = &c->workload;
    double price = w->price_usd_per_h > 0 ? w->price_usd_per_h : c->hw->price_usd_per_h;
    double device_s_per_mtok = 1e6 / p->decode.tokens_per_s.value * (double)w->tp;
    double tokens = (double)w->batch * (double)w->generate;
    double whole_s = p->prefill.time_s.value + (double)(w->generate - 1) * p->tpot_s.value;
    double whole_s_per_mtok = 1e6 * whole_s / tokens * (double)w->tp;
    p->has_cost = price > 0;
    if (p->has_cost) {
        p->cost_usd_per_mtok = device_s_per_mtok / 3600 * price;
        p->cost_with_prefill_usd_per_mtok = whole_s_per_mtok / 3600 * price;
    }
    p->has_energy = c->hw->power_w > 0;
    if (p->has_energy) { /* at the part's power limit: an upper figure while memory-bound */
        p->energy_wh_per_mtok = device_s_per_mtok / 3600 * c->hw->power_w;
        p->energy_with_prefill_wh_per_mtok = whole_s_per_mtok / 3600 * c->hw->power_w;
    }
}

static bool fits_with(const llmperf_config *c, const llmperf_workload *changed)
{
    llmperf_config other;
    llmperf_memory memory;
    if (config_init(&other, c->model, c->hw, c->calib, changed, NULL) != LLMPERF_OK)
        return false;
    llmperf_memory_of(&other, &memory);
    return memory.fits;
}

llmperf_status llmperf_config_check_steps(const llmperf_config *c, llmperf_error *error)
{
    NEEDS(c, error);
    const int64_t most = (int64_t)1 << 20, chunk = c->workload.chunk;
    int64_t steps = (c->workload.prompt - c->workload.cached) / chunk;
    if (steps <= most)
        return LLMPERF_OK;
    return llmperf_fail(error, LLMPERF_E_USAGE,
                        "chunk %lld makes %lld steps of the prompt; a chunk for at most %lld is "
                        "allowed",
                        (long long)chunk, (long long)steps, (long long)most);
}

/* Three ways out of a deployment that does not fit: more devices, smaller weights, less context. */
static void predict_ways_out(const llmperf_config *c, llmperf_prediction *p)
{
    static const llmperf_dtype smaller[] = {LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_INT4};
    const llmperf_workload *w = &c->workload;
    for (int64_t tp = w->tp + 1; tp <= 1024 && !p->fitting_tp; tp++) {
        llmperf_workload changed = config_asked(c);
        changed.tp = tp;
        if (tp_is_legal(c->model, tp) && fits_with(c, &changed))
            p->fitting_tp = tp;
    }
    for (size_t i = 0; i < sizeof smaller / sizeof *smaller && !p->fitting_weight_dtype; i++) {
        llmperf_workload changed = *w;
        changed.weight_dtype = smaller[i];
        if (llmperf_dtype_bits(smaller[i]) < llmperf_dtype_bits(w->weight_dtype) &&
            fits_with(c, &changed))
            p->fitting_weight_dtype = smaller[i];
    }
    if (p->memory.max_context_tokens < w->prompt + w->generate &&
        p->memory.max_context_tokens > w->generate)
        p->fitting_context = p->memory.max_context_tokens;
}

/* ---- sweeps ------------------------------------------------------------------------------------------ */

/* Within what config_init() allows, but for batches: plots go on where memory ends. */
static bool config_reaches(const llmperf_config *c, int64_t batch, int64_t prompt, int64_t context)
{
    const int64_t most = (int64_t)1 << 30;
    return batch >= 1 && batch <= most && prompt > c->workload.cached && prompt <= most &&
           context >= 0 && context <= most;
}

void llmperf_config_move(llmperf_config *c, int64_t batch, int64_t prompt, int64_t context)
{
    if (!c || !config_reaches(c, batch, prompt, context))
        return;
    c->workload.batch = batch;
    c->workload.prompt = prompt;
    c->workload.context = context;
}

void llmperf_point_of(const llmperf_config *c, llmperf_sweep_phase phase,
                      llmperf_workspace *workspace, llmperf_point *ret_point)
{
    if (!ret_point)
        return;
    *ret_point = (llmperf_point){0};
    if (!c || !c->hw || !workspace || !IS_BELOW(phase, LLMPERF_SWEEP_PREFILL + 1))
        return;
    const llmperf_workload *w = &c->workload;
    llmperf_total total;
    llmperf_point point = {0};
    double tokens = (double)w->batch;
    if (phase == LLMPERF_SWEEP_DECODE) {
        point.time_s = estimate_decode(c, w->batch, workspace, &total, &point.kind);
    } else {
        point.time_s = estimate_prefill(c, w->batch, workspace, &total, &point.kind, NULL);
        tokens *= (double)(w->prompt - w->cached);
    }
    point.tokens_per_s = rate_of(tokens, point.time_s);
    point.intensity_flop_per_byte = total.flop / total.bytes;
    point.bound = main_bound(&total);
    point.total_bytes = llmperf_memory_total(c, &point.fits);
    *ret_point = point;
}

/* What the user should know of an engine profile. */
static void note_engine(const llmperf_config *c, llmperf_notes *notes)
{
    const llmperf_host *host = &c->calib->host;
    if (strcmp(c->calib->name, host->engine) != 0)
        llmperf_note(notes, "kernels of the calibration, host time of the engine profile: %s",
                     c->calib->name);
    if (c->calib->borrowed > 0 && strcmp(c->calib->hw, c->hw->name) == 0)
        llmperf_note(notes,
                     "no runs of %s on %s or a device of its kind are known: what is typical of "
                     "engines stands in, the intervals widened by %.0f %%",
                     host->engine, c->hw->name, 100 * c->calib->borrowed);
    else if (c->calib->borrowed > 0)
        llmperf_note(notes,
                     "no runs of %s on %s are known: its profile is estimated from other devices, "
                     "the nearest %s, the intervals widened by %.0f %%",
                     host->engine, c->hw->name, c->calib->hw, 100 * c->calib->borrowed);
}

/* What was carried over from another part, and how. */
static void note_borrowing(const llmperf_config *c, llmperf_notes *notes)
{
    const llmperf_calib *calib = c->calib;
    char times[80] = "kept";
    if (calib->time_scale > 0 && fabs(calib->time_scale - 1) > 5e-4)
        snprintf(times, sizeof times, "as cycles of its clock (x %.3g)", calib->time_scale);
    llmperf_note(notes,
                 "%s was fitted on %s: its efficiencies are carried over to %s, its launch times "
                 "%s, the intervals widened by %.0f %%",
                 calib->name, calib->hw, c->hw->name, times, 100 * calib->borrowed);
}

/* What the user should know of the calibration: where it comes from, what it has no fit for, by the
 * decode step in the workspace. Returns the share of it that it does not time. */
static double note_calibration(const llmperf_config *c, llmperf_workspace *w, llmperf_notes *notes,
                               bool *ret_times_links)
{
    const llmperf_op *ops = w->ops;
    double all_s = 0, bare_s = 0, launches = 0, bare = 0;
    bool kind[LLMPERF_KIND_COUNT] = {false};
    char names[128] = "";
    for (int i = 0; i < w->count; i++) {
        double time_s = ops[i].repeat * w->times[i].time_s;
        double times = ops[i].repeat * ops[i].launches;
        all_s += time_s;
        launches += times;
        if (entries_at(w, c->calib, i)->own != LLMPERF_CALIB_NO_ENTRY) {
            *ret_times_links = *ret_times_links || ops[i].kind == LLMPERF_KIND_COLLECTIVE;
            continue;
        }
        bare_s += time_s;
        bare += times;
        if (!kind[ops[i].kind]) {
            size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                     llmperf_kind_name((llmperf_op_kind)ops[i].kind));
        }
        kind[ops[i].kind] = true;
    }
    if (c->calib->host.engine[0]) {
        note_engine(c, notes);
        return 0;
    }
    if (c->calib->borrowed > 0)
        note_borrowing(c, notes);
    if (bare > 0)
        llmperf_note(notes,
                     "%s has no fit for %s: %.0f of %.0f launches of a decode step, %.2g %% of its "
                     "time, are taken at their bound",
                     c->calib->name, names, bare, launches, 100 * bare_s / all_s);
    return bare_s / all_s;
}

/* What the files' readers and the config had to say. */
static void note_inputs(const llmperf_config *c, llmperf_notes *notes)
{
    const llmperf_notes *sources[] = {&c->model->warnings, &c->notes, &c->hw->warnings};
    for (size_t k = 0; k < sizeof sources / sizeof *sources; k++)
        for (int i = 0; i < sources[k]->count; i++)
            llmperf_note(notes, "%s", sources[k]->text[i]);
}

static void note_hardware(const llmperf_config *c, bool times_links, llmperf_notes *notes)
{
    if (c->hw->memory_usable_bytes == 0)
        llmperf_note(notes, "usable memory of %s is not known: the label's %.3g GB is taken",
                     c->hw->name, c->hw->memory_bytes / 1e9);
    const llmperf_link *link = c->workload.tp > 1 ? llmperf_hw_link(c->hw, c->workload.tp) : NULL;
    if (link && link->latency_assumed && !times_links)
        llmperf_note(notes, "%s latency %.3g us is assumed, not measured", link->kind,
                     link->latency_s * 1e6);
}

/* Every distinct step is emitted once: the prompts', the asked decode step, then decode steps at other
 * batches for crossings, batching and targets. */
static void predict_all(const llmperf_config *c, llmperf_workspace *w, decode_steps *steps,
                        llmperf_prediction *p)
{
    bool times_links = false; /* then the datasheet's latency plays no part */
    note_inputs(c, &p->notes);
    predict_prefill(c, w, p);
    predict_decode(c, w, p);
    decode_steps_add(steps, c->workload.batch, c->workload.context, &p->decode.total);
    if (c->calib && note_calibration(c, w, &p->notes, &times_links) > 0.5)
        p->kind = LLMPERF_ESTIMATE_BOUND; /* what it does not know decides */
    note_hardware(c, times_links, &p->notes);
    p->has_calibrated = c->calib != NULL;
    crossings_of(steps, &p->datasheet, c->calib ? &p->calibrated : NULL);
    predict_batching(steps, p);
    predict_targets(steps, p);
    predict_cost(c, p);
    if (!p->memory.fits)
        predict_ways_out(c, p);
}

llmperf_status llmperf_predict(const llmperf_config *c, llmperf_prediction *ret_prediction,
                               llmperf_error *error)
{
    NEEDS(c && ret_prediction && IS_SIZED(ret_prediction), error);
    if (!c->hw)
        return llmperf_fail(error, LLMPERF_E_USAGE, "a prediction needs hardware; none was given");
    llmperf_workspace *workspace = NULL;
    decode_steps *steps = NULL;
    llmperf_prediction *p = ret_prediction;
    llmperf_status status = llmperf_config_check_steps(c, error);
    if (status == LLMPERF_OK)
        status = llmperf_workspace_new(c, LLMPERF_SEGMENTS_MAX, &workspace, error);
    if (status == LLMPERF_OK)
        status = decode_steps_new(c, workspace, true, c->calib, &steps, error);
    if (status == LLMPERF_OK) {
        memset(p, 0, sizeof *p);
        p->size = sizeof *p;
        p->c = c;
        p->kind = llmperf_config_estimate_kind(c);
        p->params = llmperf_model_params(c->model);
        llmperf_memory_of(c, &p->memory);
        predict_all(c, workspace, steps, p);
    }
    decode_steps_free(steps);
    llmperf_workspace_free(workspace);
    return status;
}

void llmperf_not_modelled(const llmperf_config *c, llmperf_notes *ret_notes)
{
    if (!c || !ret_notes)
        return;
    ret_notes->count = 0;
    if (!c->calib)
        llmperf_note(ret_notes, "kernel efficiency, launch and host time (no calibration: times "
                                "are bounds)");
    else if (!c->calib->host.engine[0])
        llmperf_note(ret_notes, "host time of an engine, gaps between kernels (the calibration "
                                "times operators alone; --engine adds them)");
    llmperf_note(ret_notes, c->calib && c->calib->host.engine[0]
                                ? "the serving layer"
                                : "sampling, tokenisation and the serving layer");
    llmperf_note(ret_notes, "mixed prefill and decode steps, queueing");
    if (c->model->not_counted[0])
        llmperf_note(ret_notes, "%s", c->model->not_counted);
}
