/* SPDX-License-Identifier: MIT */
/*
 * State-space and linear-attention mixers: Mamba, Mamba-2, gated delta net, Kimi delta attention,
 * lightning attention. A constant state per sequence, read and written once a step.
 * docs/architectures.md, "State-space and linear attention".
 */
#include <stdio.h>

#include "emit.h"
#include "rows.h"
#include "model_object.h"

enum { STATE_BYTES = 4, CONV_BYTES = 2 }; /* states are kept in fp32, convolution tails in 16 bit */

/* Widths on one of tp devices. */
typedef struct widths {
    int64_t inner; /* heads x head_dim: values */
    int64_t keys;  /* groups x state: one of B and C, or of q and k */
    int64_t heads;
    int64_t in;    /* columns of the input projection */
    int64_t conv;  /* channels of the convolution */
    int64_t state; /* values of the recurrent state */
    int64_t steps; /* step sizes, decays and betas that the scan reads for each token */
    double flop_per_state_value;
} widths;

static widths widths_of(const llmperf_ssm *s, int64_t tp)
{
    widths w = {.heads = ceil_div(s->heads, tp)};
    int64_t groups = kv_heads_per_device(s->groups, tp);
    /* Mamba's single "head" is a width: it is split like one */
    w.inner =
        s->kind == LLMPERF_SSM_MAMBA ? ceil_div(s->heads * s->head_dim, tp) : w.heads * s->head_dim;
    w.keys = groups * s->state;
    w.flop_per_state_value = 5; /* decay, outer product and sum, product with C and sum */
    switch (s->kind) {
    case LLMPERF_SSM_MAMBA:
        w.in = 2 * w.inner;
        w.conv = w.inner;
        w.state = w.inner * s->state;
        w.steps = w.inner; /* one step size per channel */
        break;
    case LLMPERF_SSM_MAMBA2:
        w.in = 2 * w.inner + 2 * w.keys + w.heads;
        w.conv = w.inner + 2 * w.keys;
        w.state = w.inner * s->state;
        w.steps = w.heads;
        break;
    case LLMPERF_SSM_DELTA: /* q, k, v, gate; beta and decay per value head */
        w.in = 2 * w.keys + 2 * w.inner + 2 * w.heads;
        w.conv = 2 * w.keys + w.inner;
        w.state = w.inner * s->state;
        w.steps = 2 * w.heads;
        w.flop_per_state_value = 7; /* the delta rule also reads the state at k */
        break;
    case LLMPERF_SSM_KDA: /* q, k, v, full-rank gate; beta per head; decay through a low rank */
        w.in = 2 * w.keys + 2 * w.inner + w.heads + s->head_dim;
        w.conv = 2 * w.keys + w.inner;
        w.state = w.inner * s->state;
        w.steps = w.inner + w.heads; /* a decay per channel, a beta per head */
        w.flop_per_state_value = 7;
        break;
    default: /* lightning: q, k, v, gate */
        w.in = 2 * w.keys + 2 * w.inner;
        w.conv = 0;
        w.state = w.inner * s->state;
    }
    if (s->conv == 0)
        w.conv = 0;
    return w;
}

static double conv_tail(const llmperf_ssm *s, const widths *w)
{
    return w->conv > 0 ? (double)(w->conv * (s->conv - 1)) : 0;
}

static void emit_scan(emitter *e, const llmperf_layer *layer, const llmperf_segment *seg,
                      const widths *w)
{
    double b = (double)seg->sequences, t = b * (double)seg->query;
    double a = e->c->act_bytes_per;
    llmperf_op *op = emit_op(e, LLMPERF_OP_SSM_SCAN, LLMPERF_KIND_SCAN, LLMPERF_GROUP_ATTENTION,
                             (double)layer->count);
    op->regime = (uint8_t)segment_regime(seg);
    op->dtype = e->c->vector_dtype;
    op->sequences = b;
    op->query_tokens = (double)seg->query;
    op->past_tokens = (double)seg->past;
    op->heads = (double)w->heads;
    op->flop = w->flop_per_state_value * t * (double)w->state;
    op->input_bytes = t * (double)(w->inner + 2 * w->keys + w->steps) * a;
    op->output_bytes = t * (double)w->inner * a;
    op->kv_read_bytes = b * (double)w->state * STATE_BYTES;
    op->kv_write_bytes = op->kv_read_bytes;
    sum_bytes(op);
}

static void emit_ssm(emitter *e, const llmperf_layer *layer)
{
    const llmperf_ssm *s = &layer->ssm;
    widths w = widths_of(s, e->c->workload.tp);
    double h = (double)e->c->model->hidden, repeat = (double)layer->count, t = e->tokens;
    double inner = (double)w.inner;
    emit_gemm(e, LLMPERF_OP_SSM_IN, LLMPERF_WEIGHT_SSM, t, (double)w.in, h, repeat);
    if (w.conv > 0) { /* a product and a sum per tap, then the activation (4) */
        double values = t * (double)w.conv;
        llmperf_op *op =
            emit_elementwise(e, LLMPERF_OP_SSM_CONV, values * (2 * (double)s->conv + 4), values,
                             values, (double)(w.conv * s->conv), repeat);
        op->kv_read_bytes = e->sequences * conv_tail(s, &w) * CONV_BYTES;
        op->kv_write_bytes = op->kv_read_bytes;
        sum_bytes(op);
    }
    if (s->kind == LLMPERF_SSM_MAMBA) { /* B, C and the low-rank step, then the step itself */
        emit_gemm(e, LLMPERF_OP_SSM_DT, LLMPERF_WEIGHT_SSM, t, (double)(s->dt_rank + 2 * s->state),
                  inner, repeat);
        emit_gemm(e, LLMPERF_OP_SSM_DT, LLMPERF_WEIGHT_SSM, t, inner, (double)s->dt_rank, repeat);
    } else if (s->kind == LLMPERF_SSM_KDA) {
        emit_gemm(e, LLMPERF_OP_SSM_DT, LLMPERF_WEIGHT_SSM, t, inner, (double)s->head_dim, repeat);
    }
    for (int i = 0; i < e->segment_count; i++)
        emit_scan(e, layer, &e->segments[i], &w);
    /* gate: activation, product, and the norm of the result where there is one */
    emit_elementwise(e, LLMPERF_OP_SSM_GATE, 8 * t * inner, 2 * t * inner, t * inner, inner,
                     repeat);
    emit_gemm(e, LLMPERF_OP_SSM_OUT, LLMPERF_WEIGHT_SSM, t, h, inner, repeat);
}

static void count_ssm(const llmperf_model *model, const llmperf_layer *layer, int64_t tp,
                      weight_count *sum)
{
    const llmperf_ssm *s = &layer->ssm;
    widths w = widths_of(s, tp);
    int64_t h = model->hidden;
    int64_t linear = h * w.in + w.inner * h;
    int64_t other = w.conv * (s->conv + (s->conv_bias ? 1 : 0));
    if (s->proj_bias)
        other += w.in + h;
    switch (s->kind) {
    case LLMPERF_SSM_MAMBA:
        linear += w.inner * (s->dt_rank + 2 * s->state) + s->dt_rank * w.inner;
        /* step bias, A and D */
        other += w.inner + w.inner * s->state + w.inner;
        if (s->bc_norm)
            other += s->dt_rank + 2 * s->state;
        break;
    case LLMPERF_SSM_MAMBA2:
        other += 3 * w.heads + w.inner; /* A, D, step bias; norm */
        break;
    case LLMPERF_SSM_DELTA:
        other += 2 * w.heads + s->head_dim; /* A, step bias; norm of one head */
        break;
    case LLMPERF_SSM_KDA:
        linear += s->head_dim * w.inner;
        other += w.heads + w.inner + s->head_dim; /* A, step bias, norm */
        break;
    default:
        other += w.inner; /* norm */
    }
    sum->by_class[LLMPERF_WEIGHT_SSM] += layer->count * linear;
    sum->by_class[LLMPERF_WEIGHT_OTHER] += layer->count * other;
}

static double ssm_state_bytes(const llmperf_layer *layer, int64_t tp)
{
    widths w = widths_of(&layer->ssm, tp);
    return (double)w.state * STATE_BYTES + conv_tail(&layer->ssm, &w) * CONV_BYTES;
}

static double ssm_widest(const llmperf_layer *layer)
{
    return (double)(2 * layer->ssm.heads * layer->ssm.head_dim);
}

/* Mamba's inner width is one head to split; the others split by heads. */
static bool ssm_splits(const llmperf_layer *layer, int64_t tp)
{
    const llmperf_ssm *s = &layer->ssm;
    int64_t split = s->kind == LLMPERF_SSM_MAMBA ? s->head_dim : s->heads;
    return split % tp == 0 && (s->groups % tp == 0 || tp % s->groups == 0);
}

static llmperf_status ssm_check(const char *model, const llmperf_layer *layer, int number,
                                llmperf_error *error)
{
    bool needs_rank = layer->ssm.kind == LLMPERF_SSM_MAMBA;
    return needs_rank && layer->ssm.dt_rank < 1 ? layer_out_of_range(model, number, error)
                                                : LLMPERF_OK;
}

static const char *const SSM_WORDS[] = {"none", "mamba", "mamba2", "delta", "kda", "linear", NULL};

static void ssm_describe(const llmperf_layer *layer, char *buffer, size_t size)
{
    const llmperf_ssm *s = &layer->ssm;
    snprintf(buffer, size, "%s, %lld x %lld, state %lld", SSM_WORDS[s->kind], (long long)s->heads,
             (long long)s->head_dim, (long long)s->state);
}

static const layer_field SSM_FIELDS[] = {
    {WORD_FIELD(ssm, kind, SSM_WORDS), .required = true},
    {COUNT_FIELD(ssm, heads, 1, LAYER_MOST_HEADS), .required = true},
    {COUNT_FIELD(ssm, head_dim, 1, LAYER_MOST_WIDTH), .required = true},
    {COUNT_FIELD(ssm, state, 1, LAYER_MOST_HEADS), .required = true},
    {COUNT_FIELD(ssm, groups, 1, LAYER_MOST_HEADS), .absent = 1, .always = true},
    {COUNT_FIELD(ssm, conv, 0, 64)},
    {COUNT_FIELD(ssm, dt_rank, 0, LAYER_MOST_HEADS)},
    {FLAG_FIELD(ssm, conv_bias), .file_only = true},
    {FLAG_FIELD(ssm, proj_bias), .file_only = true},
    {FLAG_FIELD(ssm, bc_norm), .file_only = true},
    {0},
};

/* ---- its formulas ----------------------------------------------------------------------------- */

static const symbol SSM_SYMBOLS[] = {
    FACT("n_s", "state-space heads", ssm.heads),
    FACT("d_s", "state-space head size", ssm.head_dim),
    FACT("r_s", "state size of a channel", ssm.state),
    FACT("g_s", "state-space groups (key heads)", ssm.groups),
    FACT("k_s", "taps of the convolution", ssm.conv),
    FACT("r_dt", "rank of the step size", ssm.dt_rank),
    {0},
};

static const macro SSM_MACROS[] = {
    {"$inner", "shared ? n_s d_s / tp | n_s d_s"},
    {"$N_s", "shared ssm.mamba ? ceil(n_s / tp) | shared ? n_s / tp | n_s"},
    {"$ssm_keys", "shared ? max(1, floor(g_s / tp)) r_s | g_s r_s"},
    /* step sizes, decays and betas that the scan reads for each token */
    {"$ssm_steps",
     "(($ssm.mamba + $ssm.kda) $inner + ($ssm.mamba2 + 2 $ssm.delta + $ssm.kda) $N_s)"},
    {"$ssm_in",
     "ssm.mamba ? 2 $inner | "
     "2 $inner + 2 $ssm_keys + ($ssm.mamba2 + 2 $ssm.delta + $ssm.kda) $N_s + $ssm.kda d_s"},
    {"$ssm_conv", "!k_s ? 0 | ssm.linear ? 0 | ssm.mamba ? $inner | ($inner + 2 $ssm_keys)"},
    /* the delta rule also reads the state at k */
    {"$scan_flop", "(5 + 2 $ssm.delta + 2 $ssm.kda)"},
    {0},
};

static const op_row SSM_OPS[] = {
    {.id = LLMPERF_OP_SSM_IN, .m = "$T", .n = "$ssm_in", .k = "h", .w = "$w_s"},
    {CACHED(SSM_CONV, "(2 k_s + 4) $T $ssm_conv", "$ssm_conv k_s $w_n", "$T $ssm_conv a",
            "$T $ssm_conv a", "2 b $ssm_conv (k_s - 1)", "2 b $ssm_conv (k_s - 1)",
            "(2 k_s + 4) / (k_s $w_n / ($T) + 2 a + 4 (k_s - 1) / $q)")},
    {.id = LLMPERF_OP_SSM_DT,
     .behind = {LLMPERF_OP_SSM_DT},
     .m = "$T",
     .n = "$inner",
     .k = "r_dt",
     .w = "$w_s"},
    {.id = LLMPERF_OP_SSM_DT,
     .when = "ssm.mamba",
     .m = "$T",
     .n = "r_dt + 2 r_s",
     .k = "$inner",
     .w = "$w_s"},
    {.id = LLMPERF_OP_SSM_DT, .m = "$T", .n = "$inner", .k = "d_s", .w = "$w_s"},
    /* the state is held in four bytes, read and written once a step */
    {CACHED(
        SSM_SCAN, "$scan_flop $T $inner r_s", NULL, "$T ($inner + 2 $ssm_keys + $ssm_steps) a",
        "$T $inner a", "4 b $inner r_s", "4 b $inner r_s",
        "$scan_flop $inner r_s / ((2 $inner + 2 $ssm_keys + $ssm_steps) a + 8 $inner r_s / $q)")},
    {MOVES(SSM_GATE, "8 $T $inner", "$inner $w_n", "2 $T $inner a", "$T $inner a",
           "8 / ($w_n / ($T) + 3 a)")},
    {.id = LLMPERF_OP_SSM_OUT, .m = "$T", .n = "h", .k = "$inner", .w = "$w_s"},
    {0},
};

static const char DECAY[] = "convolution, decay, norms";

static const term_row SSM_TERMS[] = {
    {SUM_WEIGHTS, IN_LAYERS, "state space", "h ($ssm_in) + $inner h", "$w_s"},
    {SUM_WEIGHTS, IN_LAYERS, "state space", "ssm.mamba ? $inner (r_dt + 2 r_s) + r_dt $inner",
     "$w_s"},
    {SUM_WEIGHTS, IN_LAYERS, "state space", "ssm.kda ? d_s $inner", "$w_s"},
    {SUM_WEIGHTS, IN_LAYERS, DECAY, "ssm.conv_bias ? $ssm_conv (k_s + 1) | $ssm_conv k_s", "$w_n"},
    {SUM_WEIGHTS, IN_LAYERS, DECAY, "ssm.proj_bias ? $ssm_in + h", "$w_n"},
    {SUM_WEIGHTS, IN_LAYERS, DECAY, "ssm.mamba ? 2 $inner + $inner r_s", "$w_n"},
    {SUM_WEIGHTS, IN_LAYERS, DECAY, "ssm.mamba ssm.bc_norm ? r_dt + 2 r_s", "$w_n"},
    {SUM_WEIGHTS, IN_LAYERS, DECAY, "ssm.mamba2 ? 3 $N_s + $inner", "$w_n"},
    {SUM_WEIGHTS, IN_LAYERS, DECAY, "ssm.delta ? 2 $N_s + d_s", "$w_n"},
    {SUM_WEIGHTS, IN_LAYERS, DECAY, "ssm.kda ? $N_s + $inner + d_s", "$w_n"},
    {SUM_WEIGHTS, IN_LAYERS, DECAY, "ssm.linear ? $inner", "$w_n"},
    /* states of four bytes, the tails of the convolution of two */
    {SUM_STATE, IN_LAYERS, "states", "$sequences layers (4 $inner r_s + 2 $ssm_conv (k_s - 1))",
     NULL},
    {0},
};

static const layer_rows SSM_ROWS = {"ssm.kind", SSM_SYMBOLS, NULL, SSM_MACROS, SSM_OPS, SSM_TERMS};

const layer_kind LAYER_SSM = {
    .name = "ssm",
    .fields = SSM_FIELDS,
    .mixes = true,
    .emit = emit_ssm,
    .count_weights = count_ssm,
    .state_bytes = ssm_state_bytes,
    .widest = ssm_widest,
    .widest_formula = "2 n_s d_s",
    .splits = ssm_splits,
    .check = ssm_check,
    .describe = ssm_describe,
    .rows = &SSM_ROWS,
};
