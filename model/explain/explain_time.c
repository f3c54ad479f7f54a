/* SPDX-License-Identifier: MIT */
/* Explains times and rates: sums over the operators of a step. */
#include "explain.h"

#include <math.h>
#include <stdlib.h>

/* ---- sums over operators -------------------------------------------------------------------- */

typedef enum summand { SUM_TIME, SUM_FLOP, SUM_BYTES } summand;

/* Totals by operator name; `each` is one launch's while all launches are alike. */
typedef struct op_sums {
    explainer *e;
    summand what;
    double total[LLMPERF_OP_COUNT], launches[LLMPERF_OP_COUNT], each[LLMPERF_OP_COUNT];
    bool mixed[LLMPERF_OP_COUNT];
    double host_s, steps, sequences; /* of an engine profile; sequences summed over the steps */
} op_sums;

static void sum_host(op_sums *s, const llmperf_segment *segments, int segment_count, double times,
                     double ops_s, double launch_s)
{
    s->host_s += times * host_time(s->e->c, segments, segment_count, ops_s, launch_s);
    s->steps += times;
    for (int i = 0; i < segment_count; i++)
        s->sequences += times * (double)segments[i].sequences;
}

static void sum_step(const llmperf_segment *segments, int segment_count, double times,
                     void *context)
{
    op_sums *s = context;
    const llmperf_config *c = s->e->c;
    const int capacity = llmperf_emit_capacity(c, segment_count);
    llmperf_op *ops = malloc(sizeof *ops * (size_t)capacity);
    if (!ops) {
        s->e->out_of_memory = true;
        return;
    }
    int count = llmperf_emit(c, segments, segment_count, capacity, ops);
    double ops_s = 0, launch_s = 0;
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        llmperf_time time = {0};
        double each = s->what == SUM_FLOP    ? op->flop
                      : s->what == SUM_BYTES ? op->bytes
                                             : llmperf_time_op(op, c->hw, c->calib, &time, NULL);
        double launches = op->repeat * times;
        ops_s += op->repeat * time.time_s;
        if (op->kind != LLMPERF_KIND_COLLECTIVE)
            launch_s += op->repeat * time.launch_s;
        s->mixed[op->id] |= s->launches[op->id] > 0 && s->each[op->id] != each;
        s->each[op->id] = each;
        s->launches[op->id] += launches;
        s->total[op->id] += launches * each;
    }
    if (s->what == SUM_TIME)
        sum_host(s, segments, segment_count, times, ops_s, launch_s);
    free(ops);
}

/* What the engine's host adds, as a term of its own. */
static void host_term(op_sums *s)
{
    const llmperf_calib *calib = s->e->c->calib;
    char steps[LLMPERF_DOUBLE_TEXT_MAX], step[LLMPERF_DOUBLE_TEXT_MAX];
    char layers[LLMPERF_DOUBLE_TEXT_MAX], layer[LLMPERF_DOUBLE_TEXT_MAX];
    char sequences[LLMPERF_DOUBLE_TEXT_MAX], sequence[LLMPERF_DOUBLE_TEXT_MAX];
    if (!calib || !(s->host_s > 0))
        return;
    const llmperf_host *host = &calib->host;
    double layer_count = (double)llmperf_model_layers(s->e->c->model);
    llmperf_explain_line *term = &s->e->x->terms[s->e->x->term_count++];
    explain_fill_line(s->e, term, "host", NULL, LLMPERF_UNIT_S, s->host_s);
    llmperf_note(&s->e->x->notes,
                 "host: what %s takes beside the operators, per step, per layer "
                 "and per sequence (engine profile, docs/engines.md)",
                 host->engine);
    double plain =
        s->steps * (host->step_s + host->layer_s * layer_count) + host->sequence_s * s->sequences;
    if (!(fabs(plain / s->host_s - 1) < 1e-9)) /* launches counted by the operators' fits */
        return;
    explain_print(term->formula, sizeof term->formula,
                  "steps (step_s + layers layer_s) + sequences sequence_s");
    explain_print(term->numbers, sizeof term->numbers, "%s * (%s + %s * %s) + %s * %s",
                  llmperf_format_double(s->steps, steps), llmperf_format_double(host->step_s, step),
                  llmperf_format_double(layer_count, layers),
                  llmperf_format_double(host->layer_s, layer),
                  llmperf_format_double(s->sequences, sequences),
                  llmperf_format_double(host->sequence_s, sequence));
    term->evaluated = plain;
}

static int by_value(const void *a, const void *b)
{
    const llmperf_explain_line *x = a, *y = b;
    return (x->value < y->value) - (x->value > y->value);
}

static void close_op_sums(op_sums *s, double value, const char *rule)
{
    static const llmperf_unit units[] = {LLMPERF_UNIT_S, LLMPERF_UNIT_FLOP, LLMPERF_UNIT_BYTES};
    static const char *const formulas[] = {"launches time_s", "launches flop", "launches bytes"};
    llmperf_explanation *x = s->e->x;
    for (int i = 0; i < LLMPERF_OP_COUNT; i++) {
        char launches[LLMPERF_DOUBLE_TEXT_MAX], each[LLMPERF_DOUBLE_TEXT_MAX];
        if (s->total[i] <= 0)
            continue;
        llmperf_explain_line *term = &x->terms[x->term_count++];
        explain_fill_line(s->e, term, llmperf_op_name((llmperf_op_id)i), NULL, units[s->what],
                          s->total[i]);
        if (s->mixed[i])
            continue;
        explain_print(term->formula, sizeof term->formula, "%s", formulas[s->what]);
        explain_print(term->numbers, sizeof term->numbers, "%s * %s",
                      llmperf_format_double(s->launches[i], launches),
                      llmperf_format_double(s->each[i], each));
        term->evaluated = s->launches[i] * s->each[i];
    }
    host_term(s);
    qsort(x->terms, (size_t)x->term_count, sizeof *x->terms, by_value);
    x->is_sum = true;
    explain_rule(s->e, value, rule);
    llmperf_note(&x->notes, "explain OPERATOR shows one of them");
}

static void sum_prefill(explainer *e, int64_t batch, summand what, double value, const char *rule)
{
    op_sums s = {.e = e, .what = what};
    llmperf_prefill_steps(e->c, batch, e->c->workload.chunk, sum_step, &s);
    close_op_sums(&s, value, rule);
}

static void sum_decode(explainer *e, summand what, double value, const char *rule)
{
    op_sums s = {.e = e, .what = what};
    llmperf_segment segment =
        llmperf_decode_segment(e->c, e->c->workload.batch, e->c->workload.context);
    sum_step(&segment, 1, 1, &s);
    close_op_sums(&s, value, rule);
    if (what == SUM_TIME && e->c->calib == NULL)
        llmperf_note(&e->x->notes, "without a calibration an operator takes the larger of "
                                   "flop / peak and bytes / bandwidth, and nothing else takes "
                                   "time");
}

/* ---- times and rates ------------------------------------------------------------------------ */

static const char SPREAD_SOURCE[] =
    "95th percentile of measured / roofline in published data; docs/model.md, Bounds";

static void name_spread(explainer *e, const char *symbol, llmperf_spread_class spread)
{
    explain_name_constant(e, symbol, llmperf_spread(spread), "slow engines over the bound",
                          SPREAD_SOURCE);
}

static bool is_bound(const explainer *e)
{
    return !e->c->calib;
}

static double part_of(const explainer *e, llmperf_estimate estimate)
{
    return e->part == PART_LOW    ? estimate.low
           : e->part == PART_HIGH ? estimate.high
                                  : estimate.value;
}

/* The ends of an interval. True: explained here; false: the value itself is asked. */
static bool explain_end(explainer *e, llmperf_estimate estimate, bool rate,
                        llmperf_spread_class spread, const char *field)
{
    if (e->part == PART_VALUE)
        return false;
    if (!is_bound(e)) {
        explain_rule(e, part_of(e, estimate), "an end of the calibration's interval");
        return true;
    }
    explain_name_field(e, "value", estimate.value, (llmperf_unit)e->x->result.unit, "the bound",
                       field);
    name_spread(e, "spread", spread);
    bool far_end = (e->part == PART_HIGH) != rate;
    explain_result(e,
                   !far_end ? "value"
                   : rate   ? "value / spread"
                            : "value spread",
                   part_of(e, estimate));
    return true;
}

static void explain_prefill_time(explainer *e)
{
    if (!explain_end(e, e->p->prefill.time_s, false, LLMPERF_SPREAD_PREFILL_STEP, "prefill.time_s"))
        sum_prefill(e, e->c->workload.batch, SUM_TIME, e->p->prefill.time_s.value,
                    "sum over the operators of all prefill steps, of launches x time");
}

static void explain_prefill_flop(explainer *e)
{
    sum_prefill(e, e->c->workload.batch, SUM_FLOP, e->p->prefill.total.flop,
                "sum over the operators of all prefill steps");
}

static void explain_prefill_bytes(explainer *e)
{
    sum_prefill(e, e->c->workload.batch, SUM_BYTES, e->p->prefill.total.bytes,
                "sum over the operators of all prefill steps");
}

static void explain_prefill_rate(explainer *e)
{
    if (explain_end(e, e->p->prefill.tokens_per_s, true, LLMPERF_SPREAD_PREFILL_STEP,
                    "prefill.tokens_per_s"))
        return;
    explain_name_field(e, "prefill_s", e->p->prefill.time_s.value, LLMPERF_UNIT_S,
                       "time of all prefill steps", "prefill.time_s");
    explain_result(e, "b (s - cached) / prefill_s", e->p->prefill.tokens_per_s.value);
}

static void explain_steps(explainer *e)
{
    explain_result(e, "ceil(b (s - cached) / chunk)", e->p->prefill_steps);
}

static void explain_ttft(explainer *e)
{
    if (!explain_end(e, e->p->ttft_s, false, LLMPERF_SPREAD_PREFILL_STEP, "ttft_s"))
        sum_prefill(e, 1, SUM_TIME, e->p->ttft_s.value,
                    "the prefill of one prompt on an idle server: sum over its operators, of "
                    "launches x time");
}

static void explain_ttft_batch(explainer *e)
{
    if (explain_end(e, e->p->ttft_batch_s, false, LLMPERF_SPREAD_PREFILL_STEP, "ttft_batch_s"))
        return;
    explain_name_field(e, "prefill_s", e->p->prefill.time_s.value, LLMPERF_UNIT_S,
                       "time of all prefill steps", "prefill.time_s");
    explain_result(e, "prefill_s", e->p->ttft_batch_s.value);
}

static void explain_decode_time(explainer *e)
{
    if (!explain_end(e, e->p->decode.time_s, false, LLMPERF_SPREAD_DECODE_STEP, "decode.time_s"))
        sum_decode(e, SUM_TIME, e->p->decode.time_s.value,
                   "sum over the operators of one decode step, of launches x time");
}

static void explain_tpot(explainer *e)
{
    if (!explain_end(e, e->p->tpot_s, false, LLMPERF_SPREAD_DECODE_STEP, "tpot_s"))
        sum_decode(e, SUM_TIME, e->p->tpot_s.value,
                   "one decode step at mean context: sum over its operators, of launches x time");
}

static void explain_decode_flop(explainer *e)
{
    sum_decode(e, SUM_FLOP, e->p->decode.total.flop, "sum over the operators of one decode step");
}

static void explain_decode_bytes(explainer *e)
{
    sum_decode(e, SUM_BYTES, e->p->decode.total.bytes, "sum over the operators of one decode step");
}

static void name_tpot(explainer *e)
{
    explain_name_field(e, "tpot_s", e->p->tpot_s.value, LLMPERF_UNIT_S, "time per output token",
                       "tpot_s");
}

static void explain_decode_rate(explainer *e)
{
    if (explain_end(e, e->p->decode.tokens_per_s, true, LLMPERF_SPREAD_DECODE_STEP,
                    "decode.tokens_per_s"))
        return;
    name_tpot(e);
    explain_result(e, "b / tpot_s", e->p->decode.tokens_per_s.value);
}

static void explain_rate_per_seq(explainer *e)
{
    if (explain_end(e, e->p->tokens_per_s_per_seq, true, LLMPERF_SPREAD_DECODE_STEP,
                    "decode.tokens_per_s_per_seq"))
        return;
    name_tpot(e);
    explain_result(e, "1 / tpot_s", e->p->tokens_per_s_per_seq.value);
}

static void explain_e2e(explainer *e)
{
    const llmperf_prediction *p = e->p;
    if (e->part != PART_VALUE && !is_bound(e)) {
        explain_rule(e, part_of(e, p->e2e_s), "an end of the calibration's interval");
        return;
    }
    explain_name_field(e, "ttft_s", p->ttft_s.value, LLMPERF_UNIT_S, "time to first token",
                       "ttft_s");
    name_tpot(e);
    name_spread(e, "spread_prefill", LLMPERF_SPREAD_PREFILL_STEP);
    name_spread(e, "spread_decode", LLMPERF_SPREAD_DECODE_STEP);
    explain_result(e,
                   e->part == PART_HIGH ? "ttft_s spread_prefill + (g - 1) tpot_s spread_decode"
                                        : "ttft_s + (g - 1) tpot_s",
                   part_of(e, p->e2e_s));
}

static void share(explainer *e, const char *meaning, double part_s, double value)
{
    explain_name_value(e, "part_s", part_s, LLMPERF_UNIT_S, meaning);
    explain_print(e->named[e->named_count - 1].source, LLMPERF_TEXT_MAX,
                  "sum over the operators of the step: explain tpot_s");
    explain_name_field(e, "step_s", e->p->decode.total.time_s, LLMPERF_UNIT_S,
                       "time of the decode step", "decode.time_s");
    explain_result(e, "part_s / step_s", value);
}

static void explain_share_dense(explainer *e)
{
    share(e, "weight GEMMs, without launch", e->p->decode.total.group_s[LLMPERF_GROUP_DENSE],
          e->p->share.dense);
}

static void explain_share_attention(explainer *e)
{
    share(e, "attention, without launch", e->p->decode.total.group_s[LLMPERF_GROUP_ATTENTION],
          e->p->share.attention);
}

static void explain_share_other(explainer *e)
{
    share(e, "norms and the like, without launch", e->p->decode.total.group_s[LLMPERF_GROUP_OTHER],
          e->p->share.other);
}

static void explain_share_launch(explainer *e)
{
    share(e, "launches", e->p->decode.total.launch_s, e->p->share.launch);
}

static void explain_share_link(explainer *e)
{
    share(e, "collectives", e->p->decode.total.link_s, e->p->share.link);
}

static void explain_share_host(explainer *e)
{
    if (e->c->calib && e->c->calib->host.engine[0]) {
        share(e, "host of the engine, beside the operators", e->p->decode.total.host_s,
              e->p->share.host);
        return;
    }
    explain_result(e, "0", e->p->share.host);
    llmperf_note(&e->x->notes, "host time is part of an engine profile (--engine); there is none "
                               "here");
}

/* ---- the rows -------------------------------------------------------------------------------- */

static const field_row ROWS[] = {
    TIME_ROW("prefill.time_s", "prefill of all prompts", explain_prefill_time),
    ROW("prefill.flop", "FLOP of the whole prefill, on one device", FLOP, explain_prefill_flop),
    ROW("prefill.bytes", "bytes that the whole prefill moves, on one device", BYTES,
        explain_prefill_bytes),
    RATE_ROW("prefill.tokens_per_s", "prompt tokens per second", explain_prefill_rate),
    ROW("prefill.steps", "steps of the prefill", COUNT, explain_steps),
    TIME_ROW("decode.time_s", "one decode step at mean context", explain_decode_time),
    ROW("decode.flop", "FLOP of a decode step, on one device", FLOP, explain_decode_flop),
    ROW("decode.bytes", "bytes that a decode step moves, on one device", BYTES,
        explain_decode_bytes),
    RATE_ROW("decode.tokens_per_s", "output tokens per second of all sequences",
             explain_decode_rate),
    RATE_ROW("decode.tokens_per_s_per_seq", "output tokens per second of one sequence",
             explain_rate_per_seq),
    ROW("decode.share.dense", "weight GEMMs' share of a decode step", FRACTION,
        explain_share_dense),
    ROW("decode.share.attention", "attention's share of a decode step", FRACTION,
        explain_share_attention),
    ROW("decode.share.other", "share of norms and the like", FRACTION, explain_share_other),
    ROW("decode.share.launch", "share of launches", FRACTION, explain_share_launch),
    ROW("decode.share.link", "share of communication", FRACTION, explain_share_link),
    ROW("decode.share.host", "share of the host", FRACTION, explain_share_host),
    TIME_ROW("ttft_s", "time to first token: one prompt on an idle server", explain_ttft),
    TIME_ROW("ttft_batch_s", "time until all prompts have their first token", explain_ttft_batch),
    TIME_ROW("tpot_s", "time per output token", explain_tpot),
    TIME_ROW("e2e_s", "time of a whole request", explain_e2e),
};

const field_group EXPLAIN_TIME = {ROWS, sizeof ROWS / sizeof *ROWS};
