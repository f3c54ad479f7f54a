/* SPDX-License-Identifier: MIT */
/*
 * What must hold for every architecture, tried on random models that mix all kinds of layers:
 * attention (windows, chunks, gates, shared caches, indexers), MLA, state-space mixers, dense FFNs,
 * experts, blocks of one part, formats that differ by layer. A failure prints the seed.
 */
#include <criterion/criterion.h>

#include "random_case.h"
#include "steps.h"
#include "config_object.h"
#include "emit.h"
#include "config.h"

enum { ROUNDS = 4000 };

typedef struct world {
    uint64_t seed;
    rng r;
    llmperf_model model;
    llmperf_hw hw;
    llmperf_workload w;
    llmperf_config c;
} world;

#define HOLDS(x, condition, ...)                                                                   \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            char what_[512];                                                                       \
            snprintf(what_, sizeof what_, __VA_ARGS__);                                            \
            cr_assert(false, "seed %" PRIu64 ": %s (%s): %s", (x)->seed, #condition, what_,        \
                      describe(&(x)->c));                                                          \
        }                                                                                          \
    } while (0)

static const char *describe(const llmperf_config *c)
{
    static char text[4096];
    const llmperf_workload *w = &c->workload;
    int used = snprintf(text, sizeof text,
                        "h %" PRId64 " V %" PRId64 " b %" PRId64 " s %" PRId64 " cached %" PRId64
                        " ctx %" PRId64 " chunk %" PRId64 " q %" PRId64 " tp %" PRId64 " skew %g",
                        c->model->hidden, c->model->vocab, w->batch, w->prompt, w->cached,
                        w->context, w->chunk, w->query, w->tp, w->moe_skew);
    for (int i = 0; i < c->model->layer_kind_count && used < (int)sizeof text - 256; i++) {
        const llmperf_layer *l = &c->model->layers[i];
        used += snprintf(text + used, sizeof text - (size_t)used,
                         "; %" PRId64 "x att %" PRId64 "/%" PRId64 " win %" PRId64 " chunk %" PRId64
                         " mla %" PRId64 " top %" PRId64 " ssm %" PRId64 " mlp %" PRId64
                         " moe %" PRId64 "/%" PRId64 " latent %" PRId64 " shared %" PRId64,
                         l->count, l->attention.heads, l->attention.kv_heads, l->attention.window,
                         l->attention.chunk, l->mla.heads, l->index.top_k, l->ssm.kind, l->mlp.ffn,
                         l->moe.active, l->moe.experts, l->moe.latent, l->moe.shared_ffn);
    }
    return text;
}

/* ---- random models ---- */

static void random_index(rng *r, llmperf_index *ret_index)
{
    ret_index->top_k = rng_log_int(r, 1, 4096);
    ret_index->shared = rng_chance(r, 0.3);
    if (!ret_index->shared) {
        ret_index->heads = rng_log_int(r, 1, 64);
        ret_index->dim = rng_log_int(r, 1, 128);
    }
}

static void random_ssm(rng *r, llmperf_ssm *ret_ssm)
{
    int64_t groups = (int64_t)1 << rng_int(r, 0, 3);
    *ret_ssm = (llmperf_ssm){.kind = rng_int(r, LLMPERF_SSM_MAMBA, LLMPERF_SSM_LINEAR),
                             .heads = groups * ((int64_t)1 << rng_int(r, 0, 3)),
                             .head_dim = rng_log_int(r, 1, 128),
                             .state = rng_log_int(r, 1, 256),
                             .groups = groups,
                             .conv = rng_chance(r, 0.8) ? rng_int(r, 2, 4) : 0,
                             .conv_bias = rng_chance(r, 0.5),
                             .proj_bias = rng_chance(r, 0.2)};
    if (ret_ssm->kind == LLMPERF_SSM_MAMBA) {
        ret_ssm->head_dim = 16 * rng_log_int(r, 1, 300);
        ret_ssm->heads = ret_ssm->groups = 1;
        ret_ssm->dt_rank = rng_log_int(r, 1, 256);
        ret_ssm->bc_norm = rng_chance(r, 0.5);
    }
}

static void random_moe(rng *r, llmperf_moe *ret_moe)
{
    *ret_moe = (llmperf_moe){.experts = rng_log_int(r, 1, 300),
                             .ffn = rng_log_int(r, 1, 4000),
                             .shared_ffn = rng_chance(r, 0.5) ? rng_log_int(r, 1, 4000) : 0,
                             .latent = rng_chance(r, 0.2) ? rng_log_int(r, 1, 1000) : 0,
                             .gated = rng_chance(r, 0.7),
                             .expert_bias = rng_chance(r, 0.2),
                             .router_bias = rng_chance(r, 0.4),
                             .shared_gate = rng_chance(r, 0.2)};
    ret_moe->active = rng_log_int(r, 1, ret_moe->experts);
    ret_moe->shared_gate &= ret_moe->shared_ffn > 0;
}

static void mixed_layer(rng *r, llmperf_layer *ret_layer)
{
    random_layer(r, ret_layer); /* attention and a dense FFN to begin with */
    llmperf_attention *a = &ret_layer->attention;
    a->heads *= 16 / (a->heads % 16 ? 1 : 16);
    if (rng_chance(r, 0.5)) { /* so that tensor parallelism is legal often */
        a->kv_heads = (int64_t)1 << rng_int(r, 0, 4);
        a->heads = a->kv_heads * ((int64_t)1 << rng_int(r, 0, 4));
    } else if (a->heads % a->kv_heads != 0) {
        a->heads = a->kv_heads;
    }
    if (a->window == 0 && rng_chance(r, 0.2))
        a->chunk = rng_log_int(r, 1, 8192);
    a->gate = rng_chance(r, 0.2);
    a->sinks = rng_chance(r, 0.2);
    a->shares_kv = rng_chance(r, 0.1);
    if (a->window == 0 && a->chunk == 0 && rng_chance(r, 0.1))
        random_index(r, &ret_layer->index);
    double mixer = rng_real(r, 0, 1);
    if (mixer < 0.65)
        memset(a, 0, sizeof *a);
    if (mixer < 0.3) {
        ret_layer->mla = (llmperf_mla){.heads = (int64_t)1 << rng_int(r, 0, 7),
                                       .q_rank = rng_chance(r, 0.6) ? rng_log_int(r, 1, 2000) : 0,
                                       .kv_rank = rng_log_int(r, 1, 1000),
                                       .nope_dim = rng_log_int(r, 1, 200),
                                       .rope_dim = rng_chance(r, 0.8) ? rng_log_int(r, 1, 64) : 0,
                                       .value_dim = rng_log_int(r, 1, 200),
                                       .gate = rng_chance(r, 0.2)};
        memset(&ret_layer->index, 0, sizeof ret_layer->index);
        if (rng_chance(r, 0.4))
            random_index(r, &ret_layer->index);
    } else if (mixer < 0.65) {
        memset(&ret_layer->index, 0, sizeof ret_layer->index);
        if (mixer < 0.58)
            random_ssm(r, &ret_layer->ssm);
    }
    double ffn = rng_real(r, 0, 1);
    bool has_mixer = a->heads > 0 || ret_layer->mla.heads > 0 || ret_layer->ssm.kind;
    if (ffn < 0.4 || (ffn < 0.6 && !has_mixer)) {
        memset(&ret_layer->mlp, 0, sizeof ret_layer->mlp);
        random_moe(r, &ret_layer->moe);
    } else if (ffn < 0.6) {
        memset(&ret_layer->mlp, 0, sizeof ret_layer->mlp);
    }
    if (rng_chance(r, 0.3))
        for (int i = LLMPERF_WEIGHT_ATTENTION; i <= LLMPERF_WEIGHT_SHARED; i++)
            if (rng_chance(r, 0.5))
                ret_layer->weights[i] = (llmperf_weight_format){
                    .dtype = rng_chance(r, 0.5) ? LLMPERF_DTYPE_FP8 : LLMPERF_DTYPE_INT4,
                    .operand = rng_chance(r, 0.3) ? LLMPERF_DTYPE_FP8 : LLMPERF_DTYPE_NONE,
                    .bits = rng_real(r, 4, 8.5)};
}

static llmperf_config config_or_die(world *x, const llmperf_model *model, const llmperf_workload *w)
{
    llmperf_config c;
    llmperf_error error = {0};
    llmperf_status status = config_init(&c, model, &x->hw, NULL, w, &error);
    if (status != LLMPERF_OK)
        cr_assert(false, "seed %" PRIu64 ": %s", x->seed, error.text);
    return c;
}

static bool legal(world *x, int64_t tp)
{
    llmperf_config c;
    llmperf_error error = {0};
    llmperf_workload w = {.tp = tp};
    return config_init(&c, &x->model, &x->hw, NULL, &w, &error) == LLMPERF_OK;
}

static void make_world(world *x, uint64_t seed)
{
    memset(x, 0, sizeof *x);
    x->seed = seed;
    x->r = (rng){.state = seed};
    random_model(&x->r, &x->model);
    x->model.layer_kind_count = (int)rng_int(&x->r, 1, 6);
    for (int i = 0; i < x->model.layer_kind_count; i++)
        mixed_layer(&x->r, &x->model.layers[i]);
    random_hw(&x->r, &x->hw);
    llmperf_model plain = toy_model(); /* its heads allow every degree that is drawn */
    plain.layers[0].attention.heads = plain.layers[0].attention.kv_heads = 16;
    random_workload(&x->r, &plain, &x->w);
    x->w.unfused &= rng_chance(&x->r, 0.3);
    x->w.moe_skew = rng_chance(&x->r, 0.3) ? rng_real(&x->r, 0.1, 2) : 0;
    int64_t tokens = x->w.batch * (x->w.prompt - x->w.cached);
    if (x->w.chunk < tokens / 12 + 1)
        x->w.chunk = tokens / 12 + 1;
    if (!legal(x, x->w.tp))
        x->w.tp = 1;
    x->c = config_or_die(x, &x->model, &x->w);
}

static bool good(double value)
{
    return isfinite(value) && value >= 0;
}

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

static bool has_chunks(const llmperf_model *model)
{
    for (int i = 0; i < model->layer_kind_count; i++)
        if (model->layers[i].attention.chunk > 0)
            return true;
    return false;
}

/* ---- sums and floors ---- */

static void check_step(world *x, const llmperf_segment *s, int segments, const char *phase)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    static llmperf_time times[LLMPERF_OPS_MAX];
    llmperf_total total, sum = {0};
    int count = step_into(&x->c, s, segments, ops, times, &total);
    HOLDS(x, count > 0 && count <= llmperf_emit_capacity(&x->c, LLMPERF_SEGMENTS_MAX),
          "%d operators", count);
    double highest = 0;
    for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++)
        highest = fmax(highest, x->hw.peak_flop_per_s[i]);
    for (int i = 0; i < count; i++) {
        const llmperf_op *op = &ops[i];
        const char *name = llmperf_op_name((llmperf_op_id)op->id);
        HOLDS(x, llmperf_op_parse(name) == op->id, "%s", name);
        HOLDS(x,
              good(op->flop) && good(op->weight_bytes) && good(op->input_bytes) &&
                  good(op->output_bytes) && good(op->kv_read_bytes) && good(op->kv_write_bytes) &&
                  good(op->link_bytes) && op->repeat >= 1 && good(op->m),
              "%s %s", phase, name);
        HOLDS(x,
              is_near(op->bytes,
                      op->weight_bytes + op->input_bytes + op->output_bytes + op->kv_read_bytes +
                          op->kv_write_bytes,
                      1e-14),
              "%s %s", phase, name);
        HOLDS(x, op->bytes + op->link_bytes > 0, "%s %s moves nothing", phase, name);
        HOLDS(x, isfinite(times[i].time_s) && times[i].time_s > 0, "%s %s", phase, name);
        HOLDS(x, not_below(times[i].time_s, op->bytes / x->hw.mem_bytes_per_s), "%s %s", phase,
              name);
        if (op->flop > 0)
            HOLDS(x, not_below(times[i].time_s, op->flop / x->hw.peak_flop_per_s[op->dtype]),
                  "%s %s", phase, name);
        sum.flop += op->repeat * op->flop;
        sum.bytes += op->repeat * op->bytes;
        sum.link_bytes += op->repeat * op->link_bytes;
        sum.time_s += op->repeat * times[i].time_s;
    }
    HOLDS(x,
          is_near(sum.flop, total.flop, 1e-12) && is_near(sum.bytes, total.bytes, 1e-12) &&
              is_near(sum.link_bytes, total.link_bytes, 1e-12) &&
              is_near(sum.time_s, total.time_s, 1e-12),
          "%s: operators do not add up", phase);
    HOLDS(x,
          not_below(total.time_s, total.bytes / x->hw.mem_bytes_per_s) &&
              not_below(total.time_s, total.flop / highest),
          "%s below the floor", phase);
    HOLDS(x, (total.link_bytes > 0) == (x->c.workload.tp > 1), "%s: link bytes", phase);
}

Test(architectures, steps_add_up_above_the_floor)
{
    static world x;
    for (uint64_t seed = 1100000; seed < 1100000 + CASES(ROUNDS); seed++) {
        make_world(&x, seed);
        const llmperf_workload *w = &x.c.workload;
        llmperf_segment s = llmperf_decode_segment(&x.c, w->batch, w->context);
        check_step(&x, &s, 1, "decode");
        llmperf_segment mixed[] = {
            s, {.sequences = 1, .query = w->prompt - w->cached, .past = w->cached, .logits = 1}};
        check_step(&x, mixed, 2, "mixed");
        llmperf_total all;
        double steps = llmperf_prefill_total(&x.c, w->batch, room(), &all);
        HOLDS(&x,
              steps >= 1 && good(all.time_s) && all.time_s > 0 && good(all.flop) && good(all.bytes),
              "prefill");
        HOLDS(&x, not_below(all.time_s, all.bytes / x.hw.mem_bytes_per_s),
              "prefill below bytes / BW");
    }
}

/* ---- weights ---- */

/* Matrices of one layer shape as one device streams them: all but the experts not touched. */
static double streamed(const llmperf_config *c, int at, double tokens)
{
    llmperf_model alone = *c->model;
    const llmperf_layer *layer = &c->model->layers[at];
    const double *bytes_per = c->layer[at].bytes_per;
    llmperf_params with, without;
    alone.layer_kind_count = 1;
    alone.layers[0] = *layer;
    with = llmperf_model_params(&alone);
    alone.layers[0].count = 2 * layer->count;
    without = llmperf_model_params(&alone); /* twice the layers: the difference is one set */
    double bytes = 0;
    for (int i = LLMPERF_WEIGHT_ATTENTION; i <= LLMPERF_WEIGHT_ROUTER; i++) {
        double weights = (double)(without.by_class[i] - with.by_class[i]);
        if (i == LLMPERF_WEIGHT_EXPERTS && layer->moe.experts > 0)
            weights *= moe_distinct_experts(&layer->moe, tokens, c->workload.moe_skew) /
                       (double)layer->moe.experts;
        if (i == LLMPERF_WEIGHT_SHARED && layer->moe.shared_gate)
            weights -= (double)(layer->count * c->model->hidden); /* a product with one column */
        bytes += weights * bytes_per[i];
    }
    return bytes;
}

/* On one device a decode step reads each matrix once; experts as far as its tokens touch them. */
Test(architectures, a_step_streams_the_weights_that_are_counted)
{
    static world x;
    static llmperf_op ops[LLMPERF_OPS_MAX];
    for (uint64_t seed = 1200000; seed < 1200000 + CASES(ROUNDS); seed++) {
        make_world(&x, seed);
        x.w.tp = 1;
        x.c = config_or_die(&x, &x.model, &x.w);
        const llmperf_workload *w = &x.c.workload;
        llmperf_segment s = llmperf_decode_segment(&x.c, w->batch, w->context);
        int count = llmperf_emit(&x.c, &s, 1, LLMPERF_OPS_MAX, ops);
        double found = 0, wanted = 0;
        for (int i = 0; i < count; i++)
            if (ops[i].kind == LLMPERF_KIND_GEMM && ops[i].id != LLMPERF_OP_LM_HEAD &&
                ops[i].id != LLMPERF_OP_EMBED_PROJECT && ops[i].id != LLMPERF_OP_HEAD_PROJECT)
                found += ops[i].repeat * ops[i].weight_bytes;
        for (int i = 0; i < x.model.layer_kind_count; i++)
            wanted += streamed(&x.c, i, (double)(w->batch * w->query));
        HOLDS(&x, is_near(found, wanted, 1e-9), "%.15g streamed, %.15g counted", found, wanted);
        HOLDS(&x, found <= llmperf_model_weight_bytes(&x.model, &x.c) * (1 + 1e-12),
              "more than held");
    }
}

Test(architectures, parameters_add_up)
{
    static world x;
    for (uint64_t seed = 1300000; seed < 1300000 + CASES(ROUNDS); seed++) {
        make_world(&x, seed);
        llmperf_params params = llmperf_model_params(&x.model);
        int64_t sum = 0;
        for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++) {
            HOLDS(&x, params.by_class[i] >= 0, "class %d", i);
            sum += params.by_class[i];
        }
        HOLDS(&x, sum == params.total && params.active > 0 && params.active <= params.total,
              "%" PRId64 " of %" PRId64, params.active, params.total);
        /* active: the experts that a token does not pass, one by one */
        llmperf_model lean = x.model;
        for (int i = 0; i < lean.layer_kind_count; i++) {
            llmperf_moe *m = &lean.layers[i].moe;
            int64_t router = m->experts * (lean.hidden + m->router_bias) * lean.layers[i].count;
            if (m->experts > 0)
                m->experts = m->active;
            params.total -=
                router - m->experts * (lean.hidden + m->router_bias) * lean.layers[i].count;
        }
        HOLDS(&x,
              params.active - (llmperf_model_params(&x.model).total - params.total) ==
                  llmperf_model_params(&lean).total,
              "active %" PRId64, params.active);
    }
}

/* ---- what grows ---- */

static void no_less(world *x, const char *what, const llmperf_total *small,
                    const llmperf_total *large)
{
    HOLDS(x, not_below(large->flop, small->flop), "%s: flop %.17g to %.17g", what, small->flop,
          large->flop);
    HOLDS(x, not_below(large->bytes, small->bytes), "%s: bytes %.17g to %.17g", what, small->bytes,
          large->bytes);
    HOLDS(x, not_below(large->time_s, small->time_s), "%s: time %.17g to %.17g", what,
          small->time_s, large->time_s);
}

/* More sequences, layers, and cached tokens (but for chunks, which begin anew). */
Test(architectures, steps_grow_with_batch_context_and_layers)
{
    static world x;
    for (uint64_t seed = 1400000; seed < 1400000 + CASES(ROUNDS); seed++) {
        make_world(&x, seed);
        rng r = x.r;
        const llmperf_workload *w = &x.c.workload;
        llmperf_total small = decode_of(&x.c, w->batch, w->context);
        llmperf_total large = decode_of(&x.c, w->batch + rng_log_int(&r, 1, w->batch), w->context);
        no_less(&x, "batch", &small, &large);
        if (!has_chunks(&x.model)) {
            large = decode_of(&x.c, w->batch, w->context + rng_log_int(&r, 1, 1000));
            no_less(&x, "context", &small, &large);
        }
        llmperf_model deeper = x.model;
        deeper.layers[rng_int(&r, 0, deeper.layer_kind_count - 1)].count++;
        llmperf_config c = config_or_die(&x, &deeper, &x.w);
        large = decode_of(&c, w->batch, w->context);
        no_less(&x, "layers", &small, &large);
        int64_t tokens = rng_log_int(&r, 1, 100000), more = tokens + rng_log_int(&r, 1, 1000);
        HOLDS(&x, llmperf_kv_bytes(&x.c, 1, more) >= llmperf_kv_bytes(&x.c, 1, tokens), "cache");
        HOLDS(&x,
              is_near(llmperf_kv_bytes(&x.c, 3, tokens), 3 * llmperf_kv_bytes(&x.c, 1, tokens),
                      1e-14) &&
                  is_near(llmperf_state_bytes(&x.c, 3), 3 * llmperf_state_bytes(&x.c, 1), 1e-14),
              "sequences are alike");
    }
}

/* a + b len: beyond every window each block adds kv_bytes_per_token_long and the index keys. */
Test(architectures, the_cache_is_a_constant_and_a_slope)
{
    static world x;
    for (uint64_t seed = 1500000; seed < 1500000 + CASES(ROUNDS); seed++) {
        make_world(&x, seed);
        x.w.tp = 1;
        x.c = config_or_die(&x, &x.model, &x.w);
        double block = (double)x.c.workload.kv_block, c = x.c.kv_bytes_per;
        int64_t far = x.c.workload.kv_block * (1 + 8192 / x.c.workload.kv_block);
        double slope =
            llmperf_kv_bytes_per_token_long(&x.model, c) + llmperf_index_bytes_per_token(&x.model);
        double found =
            llmperf_kv_bytes(&x.c, 1, far + x.c.workload.kv_block) - llmperf_kv_bytes(&x.c, 1, far);
        double held = llmperf_kv_bytes(&x.c, 1, far);
        HOLDS(&x, fabs(found - slope * block) <= 1e-12 * held, "%.17g, slope %.17g", found,
              slope * block);
        double first = llmperf_kv_bytes_per_token(&x.model, c);
        HOLDS(&x, first >= llmperf_kv_bytes_per_token_long(&x.model, c), "slopes");
        x.w.kv_block = 1;
        x.c = config_or_die(&x, &x.model, &x.w);
        HOLDS(&x,
              is_near(llmperf_kv_bytes(&x.c, 1, 1), first + llmperf_index_bytes_per_token(&x.model),
                      1e-12),
              "the first token");
    }
}

/* ---- chunks and degrees ---- */

static double flop_of_kind(const llmperf_config *c, const llmperf_segment *s, llmperf_op_kind kind,
                           llmperf_op_kind other)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    int count = llmperf_emit(c, s, 1, LLMPERF_OPS_MAX, ops);
    double flop = 0;
    for (int i = 0; i < count; i++)
        if (ops[i].kind == kind || ops[i].kind == other)
            flop += ops[i].repeat * ops[i].flop;
    return flop;
}

/* A prompt in chunks has the attention pairs and scan of the whole. */
Test(architectures, prefill_chunks_add_up)
{
    static world x;
    for (uint64_t seed = 1600000; seed < 1600000 + CASES(ROUNDS); seed++) {
        make_world(&x, seed);
        x.w.unfused = false;
        x.c = config_or_die(&x, &x.model, &x.w);
        int64_t prompt = rng_log_int(&x.r, 1, 20000),
                chunk = rng_int(&x.r, 1 + prompt / 20, prompt);
        llmperf_segment whole = {.sequences = 1, .query = prompt, .logits = 1};
        double all = flop_of_kind(&x.c, &whole, LLMPERF_KIND_ATTENTION, LLMPERF_KIND_SCAN), sum = 0;
        for (int64_t start = 0; start < prompt; start += chunk) {
            int64_t query = chunk < prompt - start ? chunk : prompt - start;
            llmperf_segment s = {.sequences = 1, .query = query, .past = start, .logits = 1};
            sum += flop_of_kind(&x.c, &s, LLMPERF_KIND_ATTENTION, LLMPERF_KIND_SCAN);
        }
        HOLDS(&x, is_near(all, sum, 1e-10), "s %" PRId64 " chunk %" PRId64 ": %.15g, chunks %.15g",
              prompt, chunk, all, sum);
    }
}

/* One device of N: no more than the whole, and N of them no less. */
Test(architectures, shards_cover_the_model)
{
    static world x;
    int split = 0;
    for (uint64_t seed = 1700000; seed < 1700000 + CASES(ROUNDS); seed++) {
        make_world(&x, seed);
        int64_t tp = (int64_t)1 << rng_int(&x.r, 1, 4);
        if (!legal(&x, tp))
            continue;
        split++;
        x.w.tp = 1;
        llmperf_config one = config_or_die(&x, &x.model, &x.w);
        x.w.tp = tp;
        x.c = config_or_die(&x, &x.model, &x.w);
        const llmperf_workload *w = &x.c.workload;
        double n = (double)tp;
        llmperf_total whole = decode_of(&one, w->batch, w->context);
        llmperf_total part = decode_of(&x.c, w->batch, w->context);
        const double pairs[][2] = {
            {whole.flop, part.flop},
            {whole.weight_bytes, part.weight_bytes},
            {whole.kv_read_bytes, part.kv_read_bytes},
            {llmperf_weight_bytes(&one), llmperf_weight_bytes(&x.c)},
            {llmperf_kv_bytes(&one, 2, 5000), llmperf_kv_bytes(&x.c, 2, 5000)},
            {llmperf_state_bytes(&one, 2), llmperf_state_bytes(&x.c, 2)},
        };
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            HOLDS(&x,
                  pairs[i][1] <= pairs[i][0] * (1 + 1e-12) &&
                      pairs[i][1] * n >= pairs[i][0] * (1 - 1e-12),
                  "%zu: %.15g on each of %" PRId64 ", %.15g on one", i, pairs[i][1], tp,
                  pairs[i][0]);
    }
    cr_assert(split > CASES(ROUNDS) / 10, "%d models could be split", split);
}

/* ---- verification and the compute-bound batch ---- */

/* q tokens of one sequence cost no more bytes than q steps of one (weights and cache once). */
Test(architectures, verification_reads_no_more_than_its_steps)
{
    static world x;
    for (uint64_t seed = 1800000; seed < 1800000 + CASES(ROUNDS); seed++) {
        make_world(&x, seed);
        x.w.query = 1;
        x.w.unfused = false;
        x.c = config_or_die(&x, &x.model, &x.w);
        const llmperf_workload *w = &x.c.workload;
        int64_t query = rng_int(&x.r, 2, 8);
        double flop = 0, bytes = 0, attention = 0;
        for (int64_t i = 0; i < query; i++) {
            llmperf_total one = decode_of(&x.c, w->batch, w->context + i);
            flop += one.flop;
            bytes += one.bytes;
            attention += one.kv_read_bytes;
        }
        llmperf_segment s = {.sequences = w->batch,
                             .query = query,
                             .past = w->context,
                             .logits = w->batch * query,
                             .decode = true};
        llmperf_total total;
        llmperf_step(&x.c, &s, 1, room(), &total);
        HOLDS(&x, is_near(total.flop, flop, 1e-9), "flop %.15g, in steps %.15g", total.flop, flop);
        HOLDS(&x, total.bytes <= bytes * (1 + 1e-12), "bytes %.15g, in steps %.15g", total.bytes,
              bytes);
        HOLDS(&x, total.kv_read_bytes <= attention * (1 + 1e-12), "cache %.15g, in steps %.15g",
              total.kv_read_bytes, attention);
    }
}

typedef struct gap {
    double compute, memory;
} gap;

static gap gap_at(const llmperf_config *c, int64_t batch, bool dense)
{
    static llmperf_op ops[LLMPERF_OPS_MAX];
    llmperf_segment s = llmperf_decode_segment(c, batch, c->workload.context);
    int count = llmperf_emit(c, &s, 1, LLMPERF_OPS_MAX, ops);
    gap sum = {0};
    for (int i = 0; i < count; i++) {
        if (ops[i].kind == LLMPERF_KIND_COLLECTIVE ||
            (dense && ops[i].group != LLMPERF_GROUP_DENSE))
            continue;
        if (ops[i].flop > 0)
            sum.compute += ops[i].repeat * ops[i].flop / c->hw->peak_flop_per_s[ops[i].dtype];
        sum.memory += ops[i].repeat * ops[i].bytes / c->hw->mem_bytes_per_s;
    }
    return sum;
}

/* At the batch that is named compute has overtaken memory, one below it not yet. */
Test(architectures, the_compute_bound_batch_is_the_first)
{
    static world x;
    int crossed = 0;
    for (uint64_t seed = 1900000; seed < 1900000 + CASES(ROUNDS) / 2; seed++) {
        make_world(&x, seed);
        llmperf_crossings all;
        llmperf_crossings_of(&x.c, NULL, room(), &all, NULL);
        for (int dense = 0; dense < 2; dense++) {
            const llmperf_crossing *one = dense ? &all.dense : &all.step;
            HOLDS(&x, one->exists || one->why[0], "no reason");
            if (!one->exists || one->batch > (int64_t)1 << 40)
                continue;
            crossed++;
            gap at = gap_at(&x.c, one->batch, dense);
            HOLDS(&x, at.compute >= at.memory * (1 - 1e-6), "%s %" PRId64 ": %g of %g",
                  dense ? "dense" : "step", one->batch, at.compute, at.memory);
            if (one->batch == 1)
                continue;
            gap below = gap_at(&x.c, one->batch - 1, dense);
            HOLDS(&x, below.compute <= below.memory * (1 + 1e-6), "%s %" PRId64 ": one less does",
                  dense ? "dense" : "step", one->batch);
        }
    }
    cr_assert(crossed > 100, "%d cross", crossed);
}
