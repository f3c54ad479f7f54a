/* SPDX-License-Identifier: MIT */
/*
 * A prediction as a page for a person. Plain sentences where a number needs one; nothing that a planner
 * does not use.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "llmperf/predict.h"
#include "writers.h"
#include "config_object.h"
#include "emit.h"

/* "vllm profile, borrowed from parts like h100-sxm, 90 % intervals". */
static void engine_title(const llmperf_prediction *r, char *buffer, size_t size)
{
    const llmperf_config *c = r->c;
    bool borrowed = r->kind == LLMPERF_ESTIMATE_BORROWED;
    bool typical = borrowed && strcmp(c->calib->hw, c->hw->name) == 0; /* no like part is known */
    snprintf(buffer, size, "%.60s profile, %s%s%.40s, %g %% intervals", c->calib->name,
             typical ? "typical of engines" : llmperf_estimate_kind_name(r->kind),
             borrowed && !typical ? " from devices like " : "",
             borrowed && !typical ? c->calib->hw : "", 100 * c->workload.confidence);
}

static void predict_title(page *p, const llmperf_prediction *r)
{
    const llmperf_config *c = r->c;
    const llmperf_workload *w = &c->workload;
    char devices[HUMAN_MAX] = "", params[HUMAN_MAX], prompt[HUMAN_MAX], generate[HUMAN_MAX];
    if (w->tp > 1)
        snprintf(devices, sizeof devices, "%lld x ", (long long)w->tp);
    char basis[256] = "no calibration: times are bounds";
    if (c->calib && r->kind == LLMPERF_ESTIMATE_BOUND)
        snprintf(basis, sizeof basis, "no fit in %.60s: times are bounds", c->calib->name);
    else if (c->calib && c->calib->host.engine[0])
        engine_title(r, basis, sizeof basis);
    else if (c->calib)
        snprintf(basis, sizeof basis, "%s (%.60s), %g %% intervals",
                 llmperf_estimate_kind_name(r->kind), c->calib->name, 100 * w->confidence);
    page_title(p, "%s %s on %s%s; %s", c->model->name, llmperf_dtype_name(w->weight_dtype), devices,
               c->hw->name, basis);
    char active[48] = "", count[HUMAN_MAX];
    if (r->params.active < r->params.total)
        snprintf(active, sizeof active, " (%s active)",
                 human_count((double)r->params.active, count));
    page_paragraph(p, 0,
                   "%s parameters%s, %.4g KB of KV cache per token (%s); %lld sequence%s of "
                   "%s prompt + %s new tokens",
                   human_count((double)r->params.total, params), active,
                   llmperf_kv_bytes_per_token(c->model, c->kv_bytes_per) / 1e3,
                   llmperf_dtype_name(w->kv_dtype), (long long)w->batch, w->batch == 1 ? "" : "s",
                   human_count((double)w->prompt, prompt),
                   human_count((double)w->generate, generate));
}

static void predict_memory(page *p, const llmperf_prediction *r)
{
    enum { BAR = 24 };
    const llmperf_memory *m = &r->memory;
    char usable[HUMAN_MAX], left[HUMAN_MAX], tokens[HUMAN_MAX], batch[HUMAN_MAX];
    char value[4][HUMAN_MAX], bar[4][BAR + 1], verdict[3][80];
    const double bytes[4] = {m->weight_bytes, m->kv_bytes + m->state_bytes, m->activation_bytes,
                             m->reserved_bytes};
    static const char *const labels[4] = {"weights", "KV cache", "activations", "reserved"};

    page_heading(p, "Memory per device, of %s usable", human_bytes(m->capacity_bytes, usable));
    human_bytes(fabs(m->capacity_bytes - m->total_bytes), left);
    if (m->fits)
        snprintf(verdict[0], sizeof verdict[0], "fits, %s free", left);
    else
        snprintf(verdict[0], sizeof verdict[0], "DOES NOT FIT: %s too much", left);
    snprintf(verdict[1], sizeof verdict[1], "largest batch    %s",
             human_count((double)m->max_batch, batch));
    snprintf(verdict[2], sizeof verdict[2], "longest context  %s tokens",
             human_tokens((double)m->max_context_tokens, tokens));

    static const char *const headings[] = {"", ">", "", ""};
    double scale = fmax(m->total_bytes, m->capacity_bytes);
    page_table(p, 4, headings);
    for (int i = 0; i < 4; i++) {
        const char *cells[] = {labels[i], human_bytes(bytes[i], value[i]),
                               human_bar(bytes[i] / scale, BAR, bar[i]), i < 3 ? verdict[i] : ""};
        /* the verdicts stand in one column whatever the bars' lengths */
        char padded[BAR + 1];
        snprintf(padded, sizeof padded, "%-*s", BAR, cells[2]);
        cells[2] = i < 3 && !p->markdown ? padded : cells[2];
        page_row(p, cells);
    }
    page_end_table(p);
}

/* A bound has two ends; a calibrated time a value and an interval. */
static void time_row(page *p, const llmperf_prediction *r, const char *label, const char *name,
                     llmperf_estimate e)
{
    char value[HUMAN_MAX], low[HUMAN_MAX], high[HUMAN_MAX], interval[2 * HUMAN_MAX + 8];
    const char *bound[] = {label, name, human_time(e.low, low), human_time(e.high, high)};
    if (r->kind == LLMPERF_ESTIMATE_BOUND) {
        page_row(p, bound);
        return;
    }
    snprintf(interval, sizeof interval, "%s - %s", low, high);
    const char *cells[] = {label, name, human_time(e.value, value), interval};
    page_row(p, cells);
}

/* Where a target lies: a bound has a best engine and slow ones, a calibrated time an interval. */
static const char *how_met(const llmperf_estimate *time, double target_s, bool bound)
{
    if (time->low > target_s)
        return bound ? "out of reach, even at the bound" : "missed, by the whole interval";
    if (time->high <= target_s)
        return bound ? "met, also by slow engines" : "met, by the whole interval";
    if (bound)
        return "met at the bound, not by every engine";
    return time->value <= target_s ? "met, but the interval reaches beyond it"
                                   : "missed, but the interval reaches below it";
}

static void predict_times(page *p, const llmperf_prediction *r)
{
    static const char *const bounds[] = {"", "", ">at best", ">95 % of published runs within"};
    static const char *const intervals[] = {"", "", ">time", ">interval"};
    bool bound = r->kind == LLMPERF_ESTIMATE_BOUND;
    const llmperf_workload *w = &r->c->workload;
    char a[HUMAN_MAX], b[HUMAN_MAX], d[HUMAN_MAX], f[HUMAN_MAX];

    page_gap(p);
    page_table(p, 4, bound ? bounds : intervals);
    time_row(p, r, "first token", "TTFT", r->ttft_s);
    if (w->batch > 1)
        time_row(p, r, "all prompts", "", r->ttft_batch_s);
    time_row(p, r, "each next", "TPOT", r->tpot_s);
    time_row(p, r, "request", "", r->e2e_s);
    page_end_table(p);
    double rate = r->decode.tokens_per_s.value;
    page_paragraph(p, 2, "  tokens/s: %s%s in all, %s per sequence, %s per device; prefill %s",
                   bound ? "at most " : "", human_number(rate, a),
                   human_number(r->tokens_per_s_per_seq.value, b),
                   human_number(rate / (double)w->tp, d),
                   human_number(r->prefill.tokens_per_s.value, f));
    if (r->has_cost)
        page_paragraph(p, 2, "  cost: %s%s USD per million output tokens, %s with prefill",
                       bound ? "at least " : "", human_number(r->cost_usd_per_mtok, a),
                       human_number(r->cost_with_prefill_usd_per_mtok, b));
    if (r->has_energy)
        page_paragraph(p, 2,
                       "  energy at full power: %s Wh per million output tokens, %s with prefill",
                       human_number(r->energy_wh_per_mtok, a),
                       human_number(r->energy_with_prefill_wh_per_mtok, b));
    if (w->ttft_s > 0)
        page_paragraph(p, 2, "  TTFT target %s: %s", human_time(w->ttft_s, a),
                       how_met(&r->ttft_s, w->ttft_s, bound));
}

static void share_row(page *p, const char *label, double share, const char *bound)
{
    enum { BAR = 20 };
    char percent[HUMAN_MAX], bar[BAR + 1];
    if (share < 0.0005)
        return;
    snprintf(percent, sizeof percent, "%.1f %%", 100 * share);
    const char *cells[] = {label, percent, human_bar(share, BAR, bar), bound};
    page_row(p, cells);
}

static const char *group_bound(const llmperf_total *t, llmperf_op_group group)
{
    return t->group_compute_s[group] >= t->group_memory_s[group] ? "compute" : "memory bandwidth";
}

static void predict_shares(page *p, const llmperf_prediction *r)
{
    static const char *const headings[] = {"", ">", "", "bound by"};
    const llmperf_total *t = &r->decode.total;
    char context[HUMAN_MAX];
    page_heading(p, "Where a decode step goes, at %s tokens of context",
                 human_tokens((double)r->c->workload.context, context));
    page_table(p, 4, headings);
    share_row(p, "linear layers", r->share.dense, group_bound(t, LLMPERF_GROUP_DENSE));
    share_row(p, "attention", r->share.attention, group_bound(t, LLMPERF_GROUP_ATTENTION));
    share_row(p, "norms, other", r->share.other, group_bound(t, LLMPERF_GROUP_OTHER));
    share_row(p, "communication", r->share.link,
              t->bound_s[LLMPERF_BOUND_LINK] >= t->bound_s[LLMPERF_BOUND_LATENCY] ? "link"
                                                                                  : "latency");
    share_row(p, "launch, host", r->share.launch + r->share.host, "launch");
    page_end_table(p);
}

/* One sentence on what the compute-bound batch means for this deployment. */
static void crossing_sentence(page *p, const llmperf_prediction *r)
{
    const llmperf_workload *w = &r->c->workload;
    /* what was measured has the say where it was */
    const llmperf_crossing *dense = r->has_calibrated ? &r->calibrated.dense : &r->datasheet.dense;
    char limit[HUMAN_MAX], at[HUMAN_MAX], knee[HUMAN_MAX], tpot[HUMAN_MAX];
    int64_t memory = r->memory.max_batch;
    human_count((double)memory, limit);
    human_count((double)dense->batch, at);
    human_count((double)r->latency_knee_batch, knee);
    if (memory == 0) {
        page_paragraph(p, 0, "Not even one such sequence fits, so no batch is within reach here.");
        return;
    }
    if (!dense->exists) {
        page_paragraph(p, 0,
                       "Linear layers stay bandwidth-bound at any batch; memory holds %s "
                       "sequences.",
                       limit);
        return;
    }
    if (w->tpot_s > 0 && r->max_batch_at_tpot < memory && r->max_batch_at_tpot < dense->batch) {
        page_paragraph(p, 0,
                       "The TPOT target of %s ends at batch %lld, before memory (%s) and "
                       "before the linear layers turn compute-bound: latency limits this "
                       "deployment.",
                       human_time(w->tpot_s, tpot), (long long)r->max_batch_at_tpot, limit);
        return;
    }
    if (w->batch >= dense->batch) {
        page_paragraph(p, 0,
                       "At batch %lld the linear layers are compute-bound: more batch adds "
                       "latency and hardly any tokens/s.",
                       (long long)w->batch);
        return;
    }
    if (memory < dense->batch) {
        char rise[80] = "";
        if (r->has_knee && r->latency_knee_batch <= memory)
            snprintf(rise, sizeof rise, "; TPOT has risen 10 %% at batch %s", knee);
        page_paragraph(
            p, 0,
            "Memory ends at batch %s, so the linear layers stay bandwidth-bound: tokens/s "
            "rise with every sequence until then%s.",
            limit, rise);
        return;
    }
    page_paragraph(p, 0,
                   "Memory holds %s sequences: up to batch %s each one more shares the weights "
                   "that are read anyway, beyond it the linear layers gain nothing from "
                   "batching.",
                   limit, at);
}

static const llmperf_moe *moe_of(const llmperf_model *model)
{
    for (int i = 0; i < model->layer_kind_count; i++)
        if (model->layers[i].moe.experts > 0)
            return &model->layers[i].moe;
    return NULL;
}

/* How many experts a step reads, and whether batching can fill them within memory. */
static void expert_sentence(page *p, const llmperf_prediction *r)
{
    const llmperf_moe *moe = moe_of(r->c->model);
    const llmperf_crossings *d = &r->datasheet;
    char experts[HUMAN_MAX], at[HUMAN_MAX], most[HUMAN_MAX], crossing[160] = "";
    if (!moe)
        return;
    for (int i = 0; i < d->op_count && !crossing[0]; i++) {
        const llmperf_op_crossing *one = &d->op[i];
        if (one->id != LLMPERF_OP_MOE_GATE_UP && one->id != LLMPERF_OP_MOE_UP)
            continue;
        if (!one->crossing.exists)
            snprintf(crossing, sizeof crossing, "; the experts never turn compute-bound");
        else if (one->crossing.batch > r->memory.max_batch)
            snprintf(crossing, sizeof crossing,
                     "; the experts turn compute-bound at batch %s, out of memory's reach (%s)",
                     human_count((double)one->crossing.batch, at),
                     human_count((double)r->memory.max_batch, most));
        else
            snprintf(crossing, sizeof crossing, "; the experts turn compute-bound at batch %s",
                     human_count((double)one->crossing.batch, at));
    }
    double tokens = (double)r->c->workload.batch * (double)r->c->workload.query;
    double distinct = moe_distinct_experts(moe, tokens, r->c->workload.moe_skew);
    page_paragraph(p, 2, "  a step reads %s of %lld experts a layer%s",
                   human_number(distinct, experts), (long long)moe->experts, crossing);
}

static void predict_crossings(page *p, const llmperf_prediction *r)
{
    const llmperf_crossings *d = &r->datasheet;
    char line[512] = "", number[HUMAN_MAX], knee[HUMAN_MAX];
    size_t used = 0;
    const llmperf_crossing *measured = &r->calibrated.dense;
    char calibrated[96] = "", high[HUMAN_MAX], low[HUMAN_MAX], own[HUMAN_MAX];
    if (r->has_calibrated && measured->exists)
        snprintf(calibrated, sizeof calibrated, ", %s (%s - %s calibrated)",
                 human_count((double)measured->batch, own), human_count((double)measured->low, low),
                 measured->high > 0 ? human_count((double)measured->high, high) : "never");
    if (d->dense.exists)
        page_heading(p, "Linear layers turn compute-bound at batch %s (datasheet)%s",
                     human_count((double)d->dense.batch, number), calibrated);
    else
        page_heading(p, "Linear layers never turn compute-bound");
    for (int i = 0; i < d->op_count && used + 64 < sizeof line; i++) {
        const llmperf_op_crossing *one = &d->op[i];
        used += (size_t)snprintf(
            line + used, sizeof line - used, "%s%s %s", i ? ", " : "",
            llmperf_op_name((llmperf_op_id)one->id),
            one->crossing.exists ? human_count((double)one->crossing.batch, number) : "never");
    }
    page_paragraph(p, 2, "  %s", line);
    expert_sentence(p, r);
    if (d->step.exists)
        page_paragraph(p, 2, "  the whole step, attention included: %s",
                       human_count((double)d->step.batch, number));
    else
        page_paragraph(p, 2, "  the whole step: never, %s", d->step.why);
    if (r->has_knee)
        page_paragraph(p, 2, "  TPOT has risen 10 %% over batch 1 at batch %s",
                       human_count((double)r->latency_knee_batch, knee));
    crossing_sentence(p, r);
    if (r->batching.batch > 1)
        page_paragraph(p, 0,
                       "At batch %s KV-cache reads cancel %.0f %% of the batching speed-up at "
                       "this context, %.0f %% at four times it.",
                       human_count((double)r->batching.batch, number), 100 * r->batching.taken,
                       100 * r->batching.taken_long);
    if (r->c->workload.tpot_s > 0) {
        char target[HUMAN_MAX], tpot[HUMAN_MAX];
        human_time(r->c->workload.tpot_s, target);
        if (r->max_batch_at_tpot > 0)
            page_paragraph(p, 0, "Largest batch under %s: %s%s (%s), TPOT %s there.", target,
                           human_count((double)r->max_batch_at_tpot, number),
                           r->kind == LLMPERF_ESTIMATE_BOUND ? " at best" : "",
                           r->limited_by_memory ? "memory" : "latency",
                           human_time(r->tpot_at_max_batch_s.value, tpot));
        else
            page_paragraph(p, 0, "Largest batch under %s: none.", target);
    }
}

/* Options that an added one replaces, and those that `layers` does not take. */
static const struct {
    const char *added, *dropped[3];
} REPLACED[] = {
    {"-b ", {"-b", "--batch", NULL}},
    {"-s ", {"-s", "--prompt", NULL}},
    {"--tp ", {"--tp", NULL, NULL}},
    {"--kv-dtype ", {"--kv-dtype", NULL, NULL}},
    {"--weight-dtype ", {"--weight-dtype", "--quant", NULL}},
};

static const char *const PREDICT_ONLY[] = {"--tpot", "--ttft", "--price", "--confidence", NULL};

/* Does this word name the option, alone ("-b"), with "=" or, for a letter, with its value? */
static bool names_option(const char *word, const char *option)
{
    size_t length = strlen(option);
    if (strncmp(word, option, length) != 0)
        return false;
    return word[length] == '\0' || word[length] == '=' || option[1] != '-';
}

static bool is_dropped(const char *word, const char *more, bool layers)
{
    for (int i = 0; layers && PREDICT_ONLY[i]; i++)
        if (names_option(word, PREDICT_ONLY[i]))
            return true;
    for (size_t i = 0; i < sizeof REPLACED / sizeof *REPLACED; i++)
        if (strncmp(more, REPLACED[i].added, strlen(REPLACED[i].added)) == 0)
            for (int k = 0; k < 3 && REPLACED[i].dropped[k]; k++)
                if (names_option(word, REPLACED[i].dropped[k]))
                    return true;
    return false;
}

/* The user's options but for those that are replaced. Words are taken as blanks divide them; a
 * quoted word with blanks in it is left as it is. */
static void keep_options(const char *options, const char *more, bool layers, char *buffer,
                         size_t size)
{
    size_t used = 0;
    bool skip_value = false, quoted = options && strchr(options, '\'');
    buffer[0] = '\0';
    if (!options || quoted) {
        snprintf(buffer, size, "%s%s", options && options[0] ? " " : "", options ? options : "");
        return;
    }
    while (*options) {
        char word[512];
        size_t length = strcspn(options, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, options);
        options += length + (options[length] == ' ');
        if (skip_value) {
            skip_value = false;
            continue;
        }
        if (is_dropped(word, more, layers)) {
            bool has_value = strchr(word, '=') || (word[1] != '-' && word[2]);
            skip_value = !has_value;
            continue;
        }
        if (used < size)
            used += (size_t)snprintf(buffer + used, size - used, " %s", word);
    }
}

static void put_command(page *p, const llmperf_prediction *r, const llmperf_text_style *style,
                        const char *command, const char *more, const char *why)
{
    char line[2 * LLMPERF_PATH_MAX], options[LLMPERF_PATH_MAX];
    keep_options(style->options, more, strcmp(command, "layers") == 0, options, sizeof options);
    snprintf(line, sizeof line, "llmperf %s %s %s%s%s%s%s%s", command,
             style->model ? style->model : r->c->model->name,
             style->hw ? style->hw : r->c->hw->name, options, more[0] ? " " : "", more,
             why[0] ? "   # " : "", why);
    page_command(p, line);
}

/* The largest batch with another KV format or degree, for a `next:` line. */
static int64_t batch_with(page *p, const llmperf_config *c, const llmperf_workload *changed)
{
    llmperf_memory memory = {.max_batch = 0};
    llmperf_config *other = malloc(sizeof *other);
    p->out_of_memory |= !other;
    if (other && config_init(other, c->model, c->hw, c->calib, changed, NULL) == LLMPERF_OK)
        llmperf_memory_of(other, &memory);
    free(other);
    return memory.max_batch;
}

static void predict_next(page *p, const llmperf_prediction *r, const llmperf_text_style *style)
{
    const llmperf_workload *w = &r->c->workload;
    char more[96], why[96], number[HUMAN_MAX];
    page_gap(p);
    if (!r->memory.fits) {
        page_paragraph(p, 0, "What would fit:");
        bool any = false;
        if (r->fitting_tp) {
            snprintf(more, sizeof more, "--tp %lld", (long long)r->fitting_tp);
            put_command(p, r, style, "predict", more, "more devices");
            any = true;
        }
        if (r->fitting_weight_dtype) {
            snprintf(more, sizeof more, "--weight-dtype %s",
                     llmperf_dtype_name(r->fitting_weight_dtype));
            put_command(p, r, style, "predict", more, "smaller weights");
            any = true;
        }
        if (r->fitting_context > w->generate) {
            snprintf(more, sizeof more, "-s %lld", (long long)(r->fitting_context - w->generate));
            put_command(p, r, style, "predict", more, "a shorter prompt");
            any = true;
        }
        if (r->memory.max_batch > 0) {
            snprintf(more, sizeof more, "-b %lld", (long long)r->memory.max_batch);
            put_command(p, r, style, "predict", more, "a smaller batch");
            any = true;
        }
        if (!any)
            page_paragraph(p, 2,
                           "  nothing tried: not more devices of this device, smaller weights or "
                           "a shorter context");
        return;
    }
    page_paragraph(p, 0, "next:");
    bool by_target = w->tpot_s > 0 && r->max_batch_at_tpot < r->memory.max_batch;
    int64_t most = by_target ? r->max_batch_at_tpot : r->memory.max_batch;
    if (most > 0 && (by_target ? most != w->batch : most > w->batch)) {
        snprintf(more, sizeof more, "-b %lld", (long long)most);
        put_command(p, r, style, "predict", more,
                    by_target ? "all that the TPOT target allows" : "all that memory holds");
    }
    if (llmperf_dtype_bits(w->kv_dtype) >= 16) {
        llmperf_workload changed = config_asked(r->c);
        changed.kv_dtype = LLMPERF_DTYPE_FP8;
        snprintf(why, sizeof why, "batch %s",
                 human_count((double)batch_with(p, r->c, &changed), number));
        put_command(p, r, style, "predict", "--kv-dtype fp8", why);
    }
    put_command(p, r, style, "layers", "", "operator by operator");
}

static void put_notes(page *p, const char *label, const llmperf_notes *notes, const char *between)
{
    char text[2000];
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < notes->count && used + 8 < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? between : "",
                                 notes->text[i]);
    if (notes->count > 0)
        page_paragraph(p, 2, "%s: %s", label, text);
}

llmperf_status page_prediction(FILE *out, const page_format *format, const llmperf_prediction *r,
                               const llmperf_text_style *style, llmperf_error *error)
{
    page p;
    llmperf_notes left_out;
    page_open(&p, out, format, style->color);
    predict_title(&p, r);
    predict_memory(&p, r);
    predict_times(&p, r);
    predict_shares(&p, r);
    predict_crossings(&p, r);
    page_gap(&p);
    for (int i = 0; i < r->notes.count; i++)
        page_paragraph(&p, 2, "Note: %s.", r->notes.text[i]);
    llmperf_not_modelled(r->c, &left_out);
    put_notes(&p, "Not modelled", &left_out, "; ");
    page_paragraph(&p, 2,
                   "TTFT is one prompt on an idle server; TPOT is taken at mean context; "
                   "tokens/s = batch / TPOT.");
    predict_next(&p, r, style);
    return page_close(&p, error);
}
