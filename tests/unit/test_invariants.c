/* SPDX-License-Identifier: MIT */
/*
 * What must hold for every model, part and workload (docs/model.md, "Invariants"), tried on random
 * ones. A failing property prints the seed: rng {.state = seed} makes the same case again.
 */
#include <criterion/criterion.h>

#include "random_case.h"
#include "steps.h"
#include "config_object.h"
#include "config.h"

enum { ROUNDS = 10000 };

/* A random case and what it points at. */
typedef struct world {
    uint64_t seed;
    rng r;
    llmperf_model model;
    llmperf_hw hw;
    llmperf_workload w;
    llmperf_calib calib;
    bool calibrated;
    llmperf_config c;
} world;

static llmperf_config config_or_die(world *x, const llmperf_model *model, const llmperf_hw *hw,
                                    const llmperf_workload *w)
{
    llmperf_config c;
    llmperf_error error = {0};
    llmperf_status status = config_init(&c, model, hw, x->calibrated ? &x->calib : NULL, w, &error);
    if (status != LLMPERF_OK)
        cr_assert(false, "seed %" PRIu64 ": %s", x->seed, error.text);
    return c;
}

static void make_world(world *x, uint64_t seed, bool calibrated)
{
    x->seed = seed;
    x->r = (rng){.state = seed};
    x->calibrated = calibrated;
    random_model(&x->r, &x->model);
    random_hw(&x->r, &x->hw);
    random_workload(&x->r, &x->model, &x->w);
    if (calibrated)
        random_calib(&x->r, 1, true, &x->calib);
    int64_t tokens = x->w.batch * (x->w.prompt - x->w.cached);
    if (x->w.chunk < tokens / 12 + 1) /* a dozen steps are enough */
        x->w.chunk = tokens / 12 + 1;
    x->c = config_or_die(x, &x->model, &x->hw, &x->w);
}

/* On failure: what does not hold, with the seed and the case. */
#define HOLDS(x, condition, ...)                                                                   \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            char what_[512];                                                                       \
            snprintf(what_, sizeof what_, __VA_ARGS__);                                            \
            cr_assert(false, "seed %" PRIu64 ": %s (%s): %s", (x)->seed, #condition, what_,        \
                      describe_case(&(x)->c));                                                     \
        }                                                                                          \
    } while (0)

/* Room for the rounding of sums in another order. */
static bool not_below(double value, double least)
{
    return value >= least * (1 - 1e-12);
}

static llmperf_total decode_of(const llmperf_config *c, int64_t batch, int64_t context)
{
    llmperf_segment s = llmperf_decode_segment(c, batch, context);
    llmperf_total total;
    llmperf_step(c, &s, 1, room(), &total);
    return total;
}

static llmperf_total decode(const llmperf_config *c)
{
    return decode_of(c, c->workload.batch, c->workload.context);
}

static llmperf_total prefill(const llmperf_config *c)
{
    llmperf_total total;
    llmperf_prefill_total(c, c->workload.batch, room(), &total);
    return total;
}

/* ---- sums and floors ---- */

static bool good(double value)
{
    return isfinite(value) && value >= 0;
}

static void check_sums(world *x, const char *phase, const llmperf_op *ops,
                       const llmperf_time *times, int count, const llmperf_total *total)
{
    llmperf_total sum = {0};
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        const llmperf_time *t = &times[i];
        const char *name = llmperf_op_name((llmperf_op_id)op->id);
        HOLDS(x, good(op->flop) && good(op->bytes) && good(op->link_bytes) && op->repeat >= 1,
              "%s %s", phase, name);
        HOLDS(x, op->bytes + op->link_bytes > 0, "%s %s moves nothing", phase, name);
        HOLDS(x,
              is_near(op->bytes,
                      op->weight_bytes + op->input_bytes + op->output_bytes + op->kv_read_bytes +
                          op->kv_write_bytes,
                      1e-14),
              "%s %s", phase, name);
        HOLDS(x, isfinite(t->time_s) && t->time_s > 0, "%s %s takes %g", phase, name, t->time_s);
        HOLDS(x,
              t->time_s >= t->compute_s && t->time_s >= t->memory_s && t->time_s >= t->serial_s &&
                  t->time_s >= t->work_s && t->bound < LLMPERF_BOUND_COUNT,
              "%s %s", phase, name);
        if (op->flop > 0)
            HOLDS(x, x->hw.peak_flop_per_s[op->dtype] > 0, "%s %s: no peak", phase, name);
        sum.flop += op->repeat * op->flop;
        sum.bytes += op->repeat * op->bytes;
        sum.link_bytes += op->repeat * op->link_bytes;
        sum.time_s += op->repeat * t->time_s;
    }
    HOLDS(x, is_near(sum.flop, total->flop, 1e-12), "%s flop", phase);
    HOLDS(x, is_near(sum.bytes, total->bytes, 1e-12), "%s bytes", phase);
    HOLDS(x, is_near(sum.link_bytes, total->link_bytes, 1e-12), "%s link bytes", phase);
    HOLDS(x, is_near(sum.time_s, total->time_s, 1e-12), "%s time", phase);
    double parts = total->launch_s + total->link_s, bounds = 0;
    for (int i = 0; i < LLMPERF_GROUP_COUNT; i++)
        parts += total->group_s[i];
    for (int i = 0; i < LLMPERF_BOUND_COUNT; i++)
        bounds += total->bound_s[i];
    HOLDS(x, is_near(parts, total->time_s, 1e-10), "%s: groups %g of %g s", phase, parts,
          total->time_s);
    HOLDS(x, is_near(bounds, total->time_s, 1e-10), "%s: bounds %g of %g s", phase, bounds,
          total->time_s);
}

/* Bytes of the matrices that one device streams in a step, from the dimensions alone. */
static double streamed_bytes(const llmperf_config *c)
{
    const llmperf_model *m = c->model;
    double tp = (double)c->workload.tp, bytes = 0;
    double h = (double)m->hidden, e = (double)m->embedding_dim;
    for (int i = 0; i < m->layer_kind_count; i++) {
        const llmperf_layer *l = &m->layers[i];
        const llmperf_attention *a = &l->attention;
        double heads = (double)a->heads / tp, kv = fmax(1, (double)a->kv_heads / tp);
        double d_k = (double)a->head_dim, d_v = (double)a->value_dim;
        double f = ceil((double)l->mlp.ffn / tp);
        double attention = h * (heads * d_k + kv * (d_k + d_v) + heads * d_v);
        double mlp = h * f * (l->mlp.gated ? 3 : 2);
        bytes += (double)l->count * (attention * c->layer[0].bytes_per[LLMPERF_WEIGHT_ATTENTION] +
                                     mlp * c->layer[0].bytes_per[LLMPERF_WEIGHT_MLP]);
    }
    int head = m->tied ? LLMPERF_WEIGHT_EMBEDDING : LLMPERF_WEIGHT_HEAD;
    bytes += ceil((double)m->vocab / tp) * e * c->outside.bytes_per[head];
    if (e != h)
        bytes += 2 * e * h * c->outside.bytes_per[LLMPERF_WEIGHT_EMBEDDING];
    return bytes;
}

/* Cache bytes that a decode step reads and writes on one device. */
static double cache_bytes(const llmperf_config *c)
{
    const llmperf_model *m = c->model;
    const llmperf_workload *w = &c->workload;
    double values = 0, b = (double)w->batch, q = (double)w->query;
    for (int i = 0; i < m->layer_kind_count; i++) {
        const llmperf_attention *a = &m->layers[i].attention;
        double keys = (double)w->context + q;
        if (a->window > 0)
            keys = fmin(keys, (double)a->window + q - 1);
        double kv = fmax(1, (double)a->kv_heads / (double)w->tp);
        values +=
            (double)m->layers[i].count * b * (keys + q) * kv * (double)(a->head_dim + a->value_dim);
    }
    return values * c->kv_bytes_per;
}

static void check_steps(uint64_t first, bool calibrated)
{
    static world x;
    static llmperf_op ops[LLMPERF_OPS_MAX];
    static llmperf_time times[LLMPERF_OPS_MAX];
    for (uint64_t seed = first; seed < first + CASES(ROUNDS); seed++) {
        make_world(&x, seed, calibrated);
        const llmperf_workload *w = &x.c.workload;
        llmperf_total total;
        llmperf_segment s = llmperf_decode_segment(&x.c, w->batch, w->context);
        int count = step_into(&x.c, &s, 1, ops, times, &total);
        HOLDS(&x, count > 0 && count <= llmperf_emit_capacity(&x.c, LLMPERF_SEGMENTS_MAX),
              "%d operators", count);
        check_sums(&x, "decode", ops, times, count, &total);

        /* matrices of the step = all weight bytes but gathered rows and norms */
        double matrices = 0;
        for (int i = 0; i < count; i++)
            if (ops[i].kind == LLMPERF_KIND_GEMM)
                matrices += ops[i].repeat * ops[i].weight_bytes;
        HOLDS(&x, is_near(matrices, streamed_bytes(&x.c), 1e-12), "%g streamed, by dimensions %g",
              matrices, streamed_bytes(&x.c));
        if (!w->unfused)
            HOLDS(&x, is_near(total.kv_read_bytes + total.kv_write_bytes, cache_bytes(&x.c), 1e-12),
                  "%g of cache, by dimensions %g", total.kv_read_bytes + total.kv_write_bytes,
                  cache_bytes(&x.c));
        double highest = 0;
        for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++)
            highest = fmax(highest, x.hw.peak_flop_per_s[i]);
        double floor = fmax((streamed_bytes(&x.c) + (w->unfused ? 0 : cache_bytes(&x.c))) /
                                x.hw.mem_bytes_per_s,
                            total.flop / highest);
        HOLDS(&x, not_below(total.time_s, floor), "%g s, floor %g s", total.time_s, floor);
        HOLDS(&x, not_below(total.time_s, total.bytes / x.hw.mem_bytes_per_s), "below bytes / BW");

        llmperf_total all = prefill(&x.c);
        HOLDS(&x, good(all.time_s) && all.time_s > 0 && all.flop > 0, "prefill %g s", all.time_s);
        HOLDS(&x, not_below(all.time_s, all.bytes / x.hw.mem_bytes_per_s),
              "prefill below bytes / BW");
        HOLDS(&x, not_below(all.time_s, all.flop / highest), "prefill below flop / peak");

        if (w->tp == 1)
            HOLDS(&x,
                  total.link_bytes == 0 && total.link_s == 0 && all.link_bytes == 0 &&
                      all.link_s == 0,
                  "tp 1 communicates");
        else
            HOLDS(&x, total.link_bytes > 0 && total.link_s > 0, "tp without communication");
    }
}

Test(invariants, ideal_steps_add_up_above_the_floor)
{
    check_steps(100000, false);
}

Test(invariants, calibrated_steps_add_up_above_the_floor)
{
    check_steps(200000, true);
}

/* The same operators, timed by a calibration and ideally: efficiencies up to 1, never faster. */
Test(invariants, calibrated_time_is_never_below_the_ideal)
{
    static world x;
    for (uint64_t seed = 300000; seed < 300000 + CASES(ROUNDS); seed++) {
        make_world(&x, seed, true);
        llmperf_total calibrated = decode(&x.c), all = prefill(&x.c);
        x.c.calib = NULL;
        llmperf_total ideal = decode(&x.c), all_ideal = prefill(&x.c);
        /* links apart: measured latency may lie below the datasheet's assumption */
        HOLDS(&x, not_below(calibrated.time_s - calibrated.link_s, ideal.time_s - ideal.link_s),
              "decode %g, ideal %g", calibrated.time_s, ideal.time_s);
        HOLDS(&x, not_below(all.time_s - all.link_s, all_ideal.time_s - all_ideal.link_s),
              "prefill %g, ideal %g", all.time_s, all_ideal.time_s);
        HOLDS(&x, calibrated.flop == ideal.flop && calibrated.bytes == ideal.bytes, "counts moved");
    }
}

/* ---- what grows ---- */

static void no_less(world *x, const char *what, const llmperf_total *small,
                    const llmperf_total *large, bool counts)
{
    if (counts) {
        HOLDS(x, not_below(large->flop, small->flop), "%s: flop %.17g to %.17g", what, small->flop,
              large->flop);
        HOLDS(x, not_below(large->bytes, small->bytes), "%s: bytes %.17g to %.17g", what,
              small->bytes, large->bytes);
    }
    HOLDS(x, not_below(large->time_s, small->time_s), "%s: time %.17g to %.17g", what,
          small->time_s, large->time_s);
}

/* More sequences, cached tokens, layers: never less flop, bytes, time. */
static void check_growth(uint64_t first, bool calibrated)
{
    static world x;
    for (uint64_t seed = first; seed < first + CASES(ROUNDS); seed++) {
        make_world(&x, seed, calibrated);
        rng r = x.r;
        if (calibrated && x.w.query > 1) { /* extend is a blend of two kernels: its own test */
            x.w.query = 1;
            x.c = config_or_die(&x, &x.model, &x.hw, &x.w);
        }
        const llmperf_workload *w = &x.c.workload;
        llmperf_total small = decode(&x.c);
        llmperf_total large = decode_of(&x.c, w->batch + rng_log_int(&r, 1, w->batch), w->context);
        no_less(&x, "batch", &small, &large, true);
        large = decode_of(&x.c, w->batch, w->context + rng_log_int(&r, 1, 1000));
        no_less(&x, "context", &small, &large, true);

        llmperf_model deeper = x.model;
        deeper.layers[rng_int(&r, 0, deeper.layer_kind_count - 1)].count++;
        llmperf_config c = config_or_die(&x, &deeper, &x.hw, &x.w);
        large = decode(&c);
        no_less(&x, "layers", &small, &large, true);

        llmperf_total few = prefill(&x.c), many = prefill(&c);
        no_less(&x, "prefill layers", &few, &many, true);
        /* measured kernels: where chunks end decides which sequences share a launch */
        llmperf_config one_step = x.c;
        if (calibrated)
            one_step.workload.chunk = (int64_t)1 << 30;
        few = prefill(&one_step);
        llmperf_prefill_total(&one_step, w->batch + rng_int(&r, 1, 2), room(), &many);
        no_less(&x, "prefill batch", &few, &many, true);

        /* Longer prompts, in one step: a chunk boundary that moves is a real step. From 2 fresh
         * tokens on, as one fresh token runs on the decode kernel. */
        llmperf_workload whole = x.w;
        whole.chunk = (int64_t)1 << 30;
        whole.batch = 1 + x.w.batch % 5;
        if (calibrated)
            whole.cached = 0;
        if (whole.prompt - whole.cached < 2)
            whole.prompt += 2;
        c = config_or_die(&x, &x.model, &x.hw, &whole);
        few = prefill(&c);
        whole.prompt += rng_log_int(&r, 1, 1000);
        c = config_or_die(&x, &x.model, &x.hw, &whole);
        many = prefill(&c);
        no_less(&x, "prompt", &few, &many, true);
        if (!calibrated) { /* one prompt in chunks: the last one grows, or one more begins */
            whole = x.w;
            whole.batch = 1;
            c = config_or_die(&x, &x.model, &x.hw, &whole);
            few = prefill(&c);
            whole.prompt += rng_log_int(&r, 1, 1000);
            c = config_or_die(&x, &x.model, &x.hw, &whole);
            many = prefill(&c);
            no_less(&x, "chunked prompt", &few, &many, true);
        }
    }
}

Test(invariants, ideal_grows_with_batch_context_and_layers)
{
    check_growth(400000, false);
}

Test(invariants, calibrated_grows_with_batch_context_and_layers)
{
    check_growth(500000, true);
}

/* Wider formats of weights, cache and activations: never less bytes or ideal time. */
Test(invariants, ideal_grows_with_bits)
{
    static const llmperf_dtype chain[] = {LLMPERF_DTYPE_INT4, LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_BF16,
                                          LLMPERF_DTYPE_FP32};
    static world x;
    for (uint64_t seed = 600000; seed < 600000 + CASES(ROUNDS); seed++) {
        make_world(&x, seed, false);
        int at = (int)rng_int(&x.r, 0, 2), which = (int)rng_int(&x.r, 0, 2);
        llmperf_total step[2], all[2];
        for (int i = 0; i < 2; i++) {
            llmperf_workload w = x.w;
            /* activations in int4 do not occur */
            llmperf_dtype dtype = chain[which == 2 && at == 0 ? at + i + 1 : at + i];
            if (which == 0)
                w.weight_dtype = dtype;
            else if (which == 1)
                w.kv_dtype = dtype;
            else
                w.act_dtype = dtype;
            if (which != 1 && !w.kv_dtype)
                w.kv_dtype = LLMPERF_DTYPE_BF16;
            llmperf_config c = config_or_die(&x, &x.model, &x.hw, &w);
            step[i] = decode(&c);
            all[i] = prefill(&c);
        }
        static const char *const names[] = {"weight bits", "cache bits", "activation bits"};
        no_less(&x, names[which], &step[0], &step[1], true);
        no_less(&x, names[which], &all[0], &all[1], true);
    }
}

/* A better part is never slower. */
static void check_parts(uint64_t first, bool calibrated)
{
    static world x;
    for (uint64_t seed = first; seed < first + CASES(ROUNDS / 2); seed++) {
        make_world(&x, seed, calibrated);
        llmperf_total slow = decode(&x.c), slow_all = prefill(&x.c);
        llmperf_hw better = x.hw;
        double factor = rng_log(&x.r, 1.0001, 10);
        const char *what = "bandwidth";
        switch (rng_int(&x.r, 0, 2)) {
        case 0:
            better.mem_bytes_per_s *= factor;
            break;
        case 1:
            what = "peak";
            for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++)
                better.peak_flop_per_s[i] *= factor;
            break;
        default:
            what = "link";
            better.link.bytes_per_s *= factor;
        }
        llmperf_config c = x.c;
        c.hw = &better;
        llmperf_total fast = decode(&c), fast_all = prefill(&c);
        no_less(&x, what, &fast, &slow, true);
        no_less(&x, what, &fast_all, &slow_all, true);
        HOLDS(&x, fast.flop == slow.flop && fast.bytes == slow.bytes, "%s moved the counts", what);
    }
}

Test(invariants, ideal_does_not_slow_on_a_better_part)
{
    check_parts(700000, false);
}

Test(invariants, calibrated_does_not_slow_on_a_better_part)
{
    check_parts(800000, true);
}

/* ---- forms of attention ---- */

/* MQA <= GQA <= MHA in KV bytes and in what a fused step moves. */
Test(invariants, fewer_kv_heads_hold_fewer_bytes)
{
    static world x;
    for (uint64_t seed = 900000; seed < 900000 + CASES(ROUNDS / 2); seed++) {
        make_world(&x, seed, false);
        x.w.tp = 1;
        x.w.unfused = false;
        llmperf_model form[3];
        double bytes[3], moved[3], per_token[3];
        for (int i = 0; i < 3; i++) {
            form[i] = x.model;
            for (int j = 0; j < form[i].layer_kind_count; j++) {
                llmperf_attention *a = &form[i].layers[j].attention;
                int64_t group = a->heads % 4 == 0 ? 4 : a->heads % 3 == 0 ? 3 : 1;
                a->kv_heads = i == 0 ? 1 : i == 1 ? a->heads / group : a->heads;
            }
            llmperf_config c = config_or_die(&x, &form[i], &x.hw, &x.w);
            bytes[i] = llmperf_kv_bytes(&c, x.w.batch, c.workload.context);
            per_token[i] = llmperf_kv_bytes_per_token(&form[i], 2);
            llmperf_total total = decode(&c);
            moved[i] = total.kv_read_bytes + total.kv_write_bytes;
        }
        for (int i = 0; i < 2; i++)
            HOLDS(&x,
                  bytes[i] <= bytes[i + 1] && moved[i] <= moved[i + 1] &&
                      per_token[i] <= per_token[i + 1],
                  "%g, then %g bytes", bytes[i], bytes[i + 1]);
    }
}

/* Scores that stay on chip save bytes; a cache no wider than the activations given. */
Test(invariants, fused_moves_no_more_than_unfused)
{
    static world x;
    for (uint64_t seed = 1000000; seed < 1000000 + CASES(ROUNDS / 2); seed++) {
        make_world(&x, seed, false);
        if (x.c.kv_bytes_per > x.c.act_bytes_per)
            continue;
        llmperf_workload w = x.w;
        w.unfused = false;
        llmperf_config fused = config_or_die(&x, &x.model, &x.hw, &w);
        w.unfused = true;
        llmperf_config unfused = config_or_die(&x, &x.model, &x.hw, &w);
        HOLDS(&x, decode(&fused).bytes <= decode(&unfused).bytes, "decode");
        HOLDS(&x, prefill(&fused).bytes <= prefill(&unfused).bytes, "prefill");
        HOLDS(&x, not_below(prefill(&unfused).time_s, prefill(&fused).time_s), "prefill time");
        HOLDS(&x, not_below(prefill(&unfused).flop, prefill(&fused).flop), "prefill flop");
    }
}

/* One token on an empty cache: prefill and decode are one thing. */
Test(invariants, prefill_of_one_token_is_decode_on_an_empty_cache)
{
    static world x;
    for (uint64_t seed = 1100000; seed < 1100000 + CASES(ROUNDS); seed++) {
        make_world(&x, seed, seed % 2);
        llmperf_workload w = x.w;
        w.prompt = w.query = 1;
        w.cached = 0;
        w.chunk = w.batch;
        llmperf_config c = config_or_die(&x, &x.model, &x.hw, &w);
        llmperf_total a = prefill(&c), b = decode_of(&c, w.batch, 0);
        HOLDS(&x, a.flop == b.flop && a.bytes == b.bytes && a.time_s == b.time_s,
              "prefill %g flop %g bytes %g s, decode %g %g %g", a.flop, a.bytes, a.time_s, b.flop,
              b.bytes, b.time_s);
    }
}

/* b prompts of s tokens and s prompts of b: the same dense layers. */
Test(invariants, dense_layers_of_a_prefill_are_symmetric_in_batch_and_prompt)
{
    static world x;
    static llmperf_op one[LLMPERF_OPS_MAX], other[LLMPERF_OPS_MAX];
    for (uint64_t seed = 1200000; seed < 1200000 + CASES(ROUNDS / 2); seed++) {
        make_world(&x, seed, false);
        int64_t b = x.w.batch, s = x.w.prompt;
        llmperf_segment wide = {.sequences = b, .query = s, .past = 0, .logits = 1};
        llmperf_segment tall = {.sequences = s, .query = b, .past = 0, .logits = 1};
        int count = llmperf_emit(&x.c, &wide, 1, LLMPERF_OPS_MAX, one);
        HOLDS(&x, llmperf_emit(&x.c, &tall, 1, LLMPERF_OPS_MAX, other) == count,
              "another number of operators");
        for (int i = 0; i < count; i++)
            if (one[i].group != LLMPERF_GROUP_ATTENTION)
                HOLDS(&x,
                      one[i].flop == other[i].flop && one[i].bytes == other[i].bytes &&
                          one[i].m == other[i].m,
                      "%s", llmperf_op_name((llmperf_op_id)one[i].id));
    }
}

/* ---- windows ---- */

/*
 * Around the edge of a window: each further cached token adds to a decode step, and each further
 * prompt token to a prefill, no more than the one before it did below the window; there is no jump.
 * A window that nothing reaches is no window.
 */
Test(invariants, windows_have_no_edge)
{
    static world x;
    for (uint64_t seed = 1300000; seed < 1300000 + CASES(ROUNDS / 2); seed++) {
        make_world(&x, seed, false);
        llmperf_model model = x.model;
        model.layer_kind_count = 1;
        int64_t window = rng_log_int(&x.r, 1, 500);
        model.layers[0].attention.window = window;
        llmperf_workload w = x.w;
        w.tp = 1;
        w.query = rng_int(&x.r, 1, 3);
        llmperf_config c = config_or_die(&x, &model, &x.hw, &w);
        int64_t from = window > 4 ? window - 4 : 0;
        llmperf_total last = decode_of(&c, 3, from);
        double flop_step = INFINITY, bytes_step = INFINITY;
        for (int64_t past = from + 1; past < window + 4; past++) {
            llmperf_total next = decode_of(&c, 3, past);
            double flop = next.flop - last.flop, bytes = next.bytes - last.bytes;
            double noise = 1e-12 * (next.flop + next.bytes);
            HOLDS(&x, flop >= -noise && flop <= flop_step + noise, "context %d: flop jumps",
                  (int)past);
            HOLDS(&x, bytes >= -noise && bytes <= bytes_step + noise, "context %d: bytes jump",
                  (int)past);
            flop_step = flop;
            bytes_step = bytes;
            last = next;
        }
        /* beyond it nothing is added at all */
        HOLDS(&x, decode_of(&c, 3, window + 1000).bytes == decode_of(&c, 3, window + 5).bytes,
              "a full window grows");

        /* prefill: token i adds min(W, i) pairs per head and layer */
        const llmperf_attention *a = &model.layers[0].attention;
        double pair = 2 * (double)(a->heads * (a->head_dim + a->value_dim));
        if (!w.unfused) {
            static llmperf_op ops[LLMPERF_OPS_MAX];
            double before = 0;
            for (int64_t s = from + 1; s < window + 4; s++) {
                llmperf_segment segment = {.sequences = 1, .query = s, .past = 0, .logits = 1};
                int count = llmperf_emit(&c, &segment, 1, LLMPERF_OPS_MAX, ops);
                double flop = find_op(ops, count, LLMPERF_OP_ATTN_CORE)->flop;
                double added = (double)(s < window ? s : window);
                if (s > from + 1)
                    HOLDS(&x, flop - before == pair * added,
                          "prompt %d: %g pairs added, by hand %g", (int)s, (flop - before) / pair,
                          added);
                before = flop;
            }
        }

        /* a window of exactly what is attended, and none at all */
        model.layers[0].attention.window = 77 + w.query;
        llmperf_config wide = config_or_die(&x, &model, &x.hw, &w);
        llmperf_total with = decode_of(&wide, 2, 77);
        model.layers[0].attention.window = 0;
        llmperf_total without = decode_of(&wide, 2, 77);
        HOLDS(&x, with.flop == without.flop && with.bytes == without.bytes,
              "a window as long as the context");
    }
}

/* A wider window never saves anything. */
Test(invariants, wider_windows_cost_no_less)
{
    static world x;
    for (uint64_t seed = 1400000; seed < 1400000 + CASES(ROUNDS / 2); seed++) {
        make_world(&x, seed, false);
        llmperf_model model = x.model;
        llmperf_total step[2], all[2];
        double held[2];
        int64_t window = rng_log_int(&x.r, 1, 9999);
        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < model.layer_kind_count; j++)
                model.layers[j].attention.window = window + i * (1 + (int64_t)(seed % 50));
            llmperf_config c = config_or_die(&x, &model, &x.hw, &x.w);
            step[i] = decode(&c);
            all[i] = prefill(&c);
            held[i] = llmperf_kv_bytes(&c, 2, c.workload.context);
        }
        no_less(&x, "window", &step[0], &step[1], true);
        no_less(&x, "window", &all[0], &all[1], true);
        HOLDS(&x, held[0] <= held[1], "cache");
    }
}

/* ---- the whole prediction ---- */

static bool is_interval(llmperf_estimate e)
{
    return isfinite(e.value) && isfinite(e.low) && isfinite(e.high) && e.low > 0 &&
           e.low <= e.value && e.value <= e.high;
}

static void check_predictions(uint64_t first, bool calibrated)
{
    static world x;
    static llmperf_prediction p = LLMPERF_PREDICTION_INIT;
    for (uint64_t seed = first; seed < first + CASES(2000); seed++) {
        make_world(&x, seed, calibrated);
        if (x.w.generate == 1)
            x.w.generate = 2;
        x.w.tpot_s = rng_chance(&x.r, 0.5) ? rng_log(&x.r, 1e-5, 1) : 0;
        x.w.price_usd_per_h = rng_chance(&x.r, 0.5) ? 2 : 0;
        x.c = config_or_die(&x, &x.model, &x.hw, &x.w);
        llmperf_error error = {0};
        HOLDS(&x, llmperf_predict(&x.c, &p, &error) == LLMPERF_OK, "%.200s", error.text);

        double share = p.share.dense + p.share.attention + p.share.other + p.share.launch +
                       p.share.link + p.share.host;
        HOLDS(&x, is_near(share, 1, 1e-10), "shares sum to %.17g", share);
        HOLDS(&x,
              p.share.dense >= 0 && p.share.attention >= 0 && p.share.other >= 0 &&
                  p.share.launch >= 0 && p.share.link >= 0 && p.share.host >= 0,
              "a share is negative");
        const llmperf_memory *m = &p.memory;
        HOLDS(&x,
              is_near(m->total_bytes,
                      m->weight_bytes + m->kv_bytes + m->state_bytes + m->activation_bytes +
                          m->reserved_bytes,
                      1e-12),
              "memory sums to %g", m->total_bytes);
        HOLDS(&x, m->fits == (m->total_bytes <= m->capacity_bytes), "fits");
        HOLDS(&x, m->fits == (m->max_batch >= x.w.batch), "max_batch %" PRId64, m->max_batch);

        HOLDS(&x, is_interval(p.prefill.time_s) && is_interval(p.prefill.tokens_per_s), "prefill");
        HOLDS(&x, is_interval(p.decode.time_s) && is_interval(p.decode.tokens_per_s), "decode");
        HOLDS(&x,
              is_interval(p.ttft_s) && is_interval(p.ttft_batch_s) && is_interval(p.tpot_s) &&
                  is_interval(p.e2e_s) && is_interval(p.tokens_per_s_per_seq),
              "an interval");
        HOLDS(&x, not_below(p.ttft_batch_s.value, p.ttft_s.value), "a batch before one prompt");
        /* tpot = (e2e - ttft) / (g - 1) */
        HOLDS(&x,
              is_near((p.e2e_s.value - p.ttft_s.value) / (double)(x.w.generate - 1), p.tpot_s.value,
                      1e-9),
              "tpot");
        HOLDS(&x, is_near(p.decode.tokens_per_s.value, (double)x.w.batch / p.tpot_s.value, 1e-12),
              "tokens/s");
        HOLDS(&x, p.has_calibrated == calibrated, "calibrated crossings");
        if (p.has_knee) {
            double one = llmperf_tpot(&x.c, 1, room());
            HOLDS(&x,
                  llmperf_tpot(&x.c, p.latency_knee_batch, room()) >= 1.1 * one * (1 - 1e-12) &&
                      (p.latency_knee_batch == 1 || llmperf_tpot(&x.c, p.latency_knee_batch - 1,
                                                                 room()) < 1.1 * one * (1 + 1e-12)),
                  "knee %" PRId64, p.latency_knee_batch);
        }
        if (x.w.tpot_s > 0 && p.max_batch_at_tpot > 0) {
            HOLDS(&x,
                  llmperf_tpot(&x.c, p.max_batch_at_tpot, room()) <= x.w.tpot_s &&
                      p.max_batch_at_tpot <= m->max_batch,
                  "batch %" PRId64 " under the target", p.max_batch_at_tpot);
            HOLDS(&x,
                  p.limited_by_memory
                      ? p.max_batch_at_tpot == m->max_batch
                      : llmperf_tpot(&x.c, p.max_batch_at_tpot + 1, room()) > x.w.tpot_s,
                  "batch %" PRId64 " is not the last", p.max_batch_at_tpot);
        }
        if (x.w.tpot_s > 0 && p.max_batch_at_tpot == 0)
            HOLDS(&x, m->max_batch == 0 || llmperf_tpot(&x.c, 1, room()) > x.w.tpot_s,
                  "one sequence would");
        HOLDS(&x, p.has_cost == (x.w.price_usd_per_h > 0), "cost");
        if (p.has_cost) /* 1e6 tokens at tokens/s take this long on tp devices */
            HOLDS(&x,
                  is_near(p.cost_usd_per_mtok,
                          1e6 / p.decode.tokens_per_s.value * (double)x.c.workload.tp / 3600 * 2,
                          1e-12),
                  "cost %g", p.cost_usd_per_mtok);
    }
}

Test(invariants, ideal_predictions_are_whole)
{
    check_predictions(1500000, false);
}

Test(invariants, calibrated_predictions_are_whole)
{
    check_predictions(1600000, true);
}
