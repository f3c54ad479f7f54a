/* SPDX-License-Identifier: MIT */
/* Samples in memory: operators from shapes, growth, names, and our own CSV. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "llmperf/samples.h"
#include "entry.h"

static const char *const KIND_NAMES[] = {
    "gemm",        "gemv",      "attn_prefill", "attn_decode",  "attn_mixed",
    "elementwise", "moe",       "all_reduce",   "all_gather",   "reduce_scatter",
    "all_to_all",  "send_recv", "attn_scores",  "copy",         "launch",
    "write",       "h2d",       "d2h",          "launch_graph", "launch_host",
    "round_trip",  NULL,
};

const char *llmperf_sample_kind_name(llmperf_sample_kind kind)
{
    return (unsigned)kind < LLMPERF_SAMPLE_KIND_COUNT ? KIND_NAMES[kind] : "?";
}

const char *const *llmperf_sample_kind_names(void)
{
    return KIND_NAMES;
}

static bool has_word(const char *const *words, const char *word)
{
    if (!words)
        return true;
    for (int i = 0; words[i]; i++)
        if (strcasecmp(words[i], word) == 0)
            return true;
    return false;
}

static bool is_name(const llmperf_samples *samples, int32_t index)
{
    return index >= 0 && index < samples->name_count;
}

/* Enums in range, names that there are. */
static bool sample_is_sound(const llmperf_samples *samples, const llmperf_sample *s)
{
    return s && op_is_sound(&s->op) && s->kind < LLMPERF_SAMPLE_KIND_COUNT &&
           s->stored < LLMPERF_DTYPE_COUNT && is_name(samples, s->hw) &&
           is_name(samples, s->library) && is_name(samples, s->version) &&
           is_name(samples, s->file);
}

bool llmperf_sample_matches(const llmperf_samples *samples, const llmperf_sample *s,
                            const llmperf_sample_filter *filter)
{
    if (!samples || !sample_is_sound(samples, s) || !filter)
        return false;
    const char *library = samples->name[s->library];
    bool dtype = has_word(filter->dtypes, llmperf_dtype_name((llmperf_dtype)s->op.dtype)) ||
                 (s->stored && filter->dtypes &&
                  has_word(filter->dtypes, llmperf_dtype_name((llmperf_dtype)s->stored)));
    if (s->op.kind != LLMPERF_KIND_GEMM && s->op.kind != LLMPERF_KIND_ATTENTION)
        dtype = true;
    return has_word(filter->libraries, library[0] ? library : "-") && dtype &&
           has_word(filter->kinds, llmperf_sample_kind_name((llmperf_sample_kind)s->kind));
}

void llmperf_samples_free(llmperf_samples *samples)
{
    if (!samples)
        return;
    free(samples->sample);
    free(samples->name);
    memset(samples, 0, sizeof *samples);
}

llmperf_status llmperf_samples_name(llmperf_samples *samples, const char *name, int32_t *ret_index,
                                    llmperf_error *error)
{
    NEEDS(samples && name && ret_index, error);
    char cut[LLMPERF_NAME_MAX];
    if (!samples->name) {
        samples->name = calloc(LLMPERF_SAMPLE_NAMES_MAX, sizeof *samples->name);
        if (!samples->name)
            return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
        samples->name_count = 1; /* 0 = "" */
    }
    llmperf_escape(name, cut, sizeof cut);
    for (int i = samples->name_count - 1; i >= 0; i--)
        if (strcmp(samples->name[i], cut) == 0) {
            *ret_index = i;
            return LLMPERF_OK;
        }
    if (samples->name_count >= LLMPERF_SAMPLE_NAMES_MAX)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "more than %d names of devices, libraries, versions and files",
                            LLMPERF_SAMPLE_NAMES_MAX - 1);
    memcpy(samples->name[samples->name_count], cut, sizeof cut);
    *ret_index = samples->name_count++;
    return LLMPERF_OK;
}

llmperf_status llmperf_samples_add(llmperf_samples *samples, const llmperf_sample *sample,
                                   llmperf_error *error)
{
    NEEDS(samples && sample, error);
    if (samples->count == samples->capacity) {
        int64_t capacity = samples->capacity ? 2 * samples->capacity : 1024;
        llmperf_sample *grown =
            realloc(samples->sample, (size_t)capacity * sizeof *samples->sample);
        if (!grown)
            return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory at %lld samples",
                                (long long)samples->count);
        samples->sample = grown;
        samples->capacity = capacity;
    }
    samples->sample[samples->count++] = *sample;
    return LLMPERF_OK;
}

/* ---- operators ------------------------------------------------------------------------------------- */

static double bytes_of(llmperf_dtype dtype)
{
    return llmperf_dtype_bits(dtype) / 8;
}

static llmperf_op new_op(llmperf_op_id id, llmperf_op_kind kind, llmperf_op_group group,
                         llmperf_dtype dtype)
{
    return (llmperf_op){.id = (uint8_t)id,
                        .kind = (uint8_t)kind,
                        .group = (uint8_t)group,
                        .dtype = (uint8_t)dtype,
                        .launches = 1,
                        .devices = 1,
                        .repeat = 1};
}

static void sum_bytes(llmperf_op *op)
{
    op->bytes = op->weight_bytes + op->input_bytes + op->output_bytes + op->kv_read_bytes +
                op->kv_write_bytes;
}

/* Inputs come in the arithmetic's format; results leave in 16 bit or more. */
llmperf_op llmperf_sample_gemm(llmperf_dtype dtype, llmperf_dtype weights, double m, double n,
                               double k)
{
    if (!IS_BELOW(dtype, LLMPERF_DTYPE_COUNT) || !IS_BELOW(weights, LLMPERF_DTYPE_COUNT))
        return (llmperf_op){0};
    llmperf_op op = new_op(LLMPERF_OP_MLP_UP, LLMPERF_KIND_GEMM, LLMPERF_GROUP_DENSE, dtype);
    double in = bytes_of(dtype), out = in < 2 ? 2 : in;
    op.m = m;
    op.n = n;
    op.k = k;
    op.flop = 2 * m * n * k;
    op.weight_bytes = n * k * (weights ? bytes_of(weights) : in);
    op.input_bytes = m * k * in;
    op.output_bytes = m * n * out;
    sum_bytes(&op);
    return op;
}

/* As model/op/layer_attention.c counts it; tests/unit/test_samples.c holds the two together. */
llmperf_op llmperf_sample_attention(const llmperf_attention_shape *s)
{
    if (!s || !IS_BELOW(s->dtype, LLMPERF_DTYPE_COUNT) ||
        !IS_BELOW(s->kv_dtype, LLMPERF_DTYPE_COUNT))
        return (llmperf_op){0};
    llmperf_op op =
        new_op(LLMPERF_OP_ATTN_CORE, LLMPERF_KIND_ATTENTION, LLMPERF_GROUP_ATTENTION, s->dtype);
    double b = s->sequences, q = s->query_tokens, past = s->past_tokens, w = s->window;
    double d_v = s->value_dim > 0 ? s->value_dim : s->head_dim;
    double width = s->head_dim + d_v;
    double a = bytes_of(s->dtype);
    double c = s->kv_dtype ? bytes_of(s->kv_dtype) : a;
    double pairs = q * past + q * (q + 1) / 2, keys = past + q;
    if (a < 2)
        a = 2; /* queries and results of fp8 attention stay 16 bit */
    if (w > 0 && keys > w) {
        double growing = past + 1 >= w ? 0 : w - past; /* queries that still see all before them */
        pairs = growing * past + growing * (growing + 1) / 2 + (q - growing) * w;
        keys = fmin(keys, w + q - 1);
    }
    op.regime = q == 1      ? LLMPERF_REGIME_DECODE
                : past == 0 ? LLMPERF_REGIME_PREFILL
                            : LLMPERF_REGIME_EXTEND;
    op.sequences = b;
    op.query_tokens = q;
    op.past_tokens = past;
    op.heads = s->heads;
    op.kv_heads = s->kv_heads;
    op.head_dim = s->head_dim;
    op.value_dim = d_v;
    op.flop = 2 * s->heads * width * b * pairs;
    op.input_bytes = b * q * s->heads * s->head_dim * a;
    op.output_bytes = b * q * s->heads * d_v * a;
    op.kv_read_bytes = b * keys * s->kv_heads * width * c;
    op.kv_write_bytes = b * q * s->kv_heads * width * c;
    sum_bytes(&op);
    return op;
}

llmperf_op llmperf_sample_mixed(const llmperf_mixed_shape *s)
{
    if (!s || !IS_BELOW(s->prompt.dtype, LLMPERF_DTYPE_COUNT) ||
        !IS_BELOW(s->prompt.kv_dtype, LLMPERF_DTYPE_COUNT))
        return (llmperf_op){0};
    llmperf_attention_shape decode = s->prompt;
    decode.sequences = s->lone_sequences;
    decode.query_tokens = 1;
    decode.past_tokens = s->lone_past;
    llmperf_op op = llmperf_sample_attention(&s->prompt), lone = llmperf_sample_attention(&decode);
    double w = s->prompt.window, keys = fmax(s->lone_past, s->lone_longest_past) + 1;
    keys = fmax(keys, s->prompt.past_tokens + s->prompt.query_tokens);
    op.regime = LLMPERF_REGIME_MIXED;
    op.lone_sequences = s->lone_sequences;
    op.lone_past = s->lone_past;
    op.lone_flop = lone.flop;
    op.lone_kv_read_bytes = lone.kv_read_bytes;
    op.longest_keys = w > 0 ? fmin(keys, w) : keys;
    op.flop += lone.flop;
    op.input_bytes += lone.input_bytes;
    op.output_bytes += lone.output_bytes;
    op.kv_read_bytes += lone.kv_read_bytes;
    op.kv_write_bytes += lone.kv_write_bytes;
    sum_bytes(&op);
    return op;
}

llmperf_op llmperf_sample_scores(const llmperf_attention_shape *s)
{
    if (!s || !IS_BELOW(s->dtype, LLMPERF_DTYPE_COUNT) ||
        !IS_BELOW(s->kv_dtype, LLMPERF_DTYPE_COUNT))
        return (llmperf_op){0};
    llmperf_op op = llmperf_sample_attention(s);
    double keys = s->past_tokens + s->query_tokens, rows = s->sequences * s->heads;
    op.id = LLMPERF_OP_ATTN_SCORES;
    op.flop = 2 * s->head_dim * rows * s->query_tokens * keys;
    op.input_bytes = rows * (s->query_tokens + keys) * s->head_dim * bytes_of(s->dtype);
    op.output_bytes = rows * s->query_tokens * keys * bytes_of(s->dtype);
    op.kv_read_bytes = op.kv_write_bytes = 0;
    sum_bytes(&op);
    return op;
}

llmperf_op llmperf_sample_collective(llmperf_collective collective, double devices, double bytes)
{
    if (!IS_BELOW(collective, LLMPERF_COLLECTIVE_COUNT))
        return (llmperf_op){0};
    llmperf_op op = new_op(LLMPERF_OP_COMM_ATTN, LLMPERF_KIND_COLLECTIVE, LLMPERF_GROUP_OTHER,
                           LLMPERF_DTYPE_NONE);
    op.collective = (uint8_t)collective;
    op.devices = (int64_t)devices;
    op.link_bytes = llmperf_collective_share(collective, devices) * bytes;
    return op;
}

llmperf_op llmperf_sample_elementwise(llmperf_dtype dtype, double values_in, double values_out)
{
    if (!IS_BELOW(dtype, LLMPERF_DTYPE_COUNT))
        return (llmperf_op){0};
    llmperf_op op =
        new_op(LLMPERF_OP_NORM, LLMPERF_KIND_ELEMENTWISE, LLMPERF_GROUP_OTHER, LLMPERF_DTYPE_FP32);
    op.input_bytes = values_in * bytes_of(dtype);
    op.output_bytes = values_out * bytes_of(dtype);
    sum_bytes(&op);
    op.flop = op.bytes; /* about one a byte: a few per value, and a file tells the bytes alone */
    return op;
}

llmperf_op llmperf_op_slowed(const llmperf_op *op, double factor)
{
    if (!op)
        return (llmperf_op){0};
    llmperf_op slowed = *op;
    slowed.bytes *= factor;
    return slowed;
}

/* ---- cold or not ---------------------------------------------------------------------------------------- */

static const double COLD = 1.5;       /* of the L2: operands of this size are not kept */
static const double IMMATERIAL = 0.1; /* of the time: moving the bytes at all */

/* Bytes that must stay in a cache for a repeated launch to run faster than a first one. */
static double reused_bytes(const llmperf_sample *s)
{
    switch (s->op.kind) {
    case LLMPERF_KIND_GEMM:
        return s->op.weight_bytes * s->copies;
    case LLMPERF_KIND_ATTENTION:
        return s->op.kv_read_bytes + s->op.kv_write_bytes;
    case LLMPERF_KIND_COLLECTIVE:
        return INFINITY;
    default:
        return s->op.bytes * s->copies;
    }
}

bool llmperf_sample_is_cold(const llmperf_sample *s, const llmperf_hw *hw)
{
    if (!s || !hw || s->kind >= LLMPERF_SAMPLE_KIND_COUNT || !op_is_sound(&s->op))
        return false;
    if (s->place == LLMPERF_PLACE_WARM || (s->flags & LLMPERF_SAMPLE_CACHED))
        return false;
    /* what a prompt's attention reads was written just before, by every engine alike */
    if (s->op.kind == LLMPERF_KIND_ATTENTION && s->op.regime != LLMPERF_REGIME_DECODE)
        return true;
    if (s->place == LLMPERF_PLACE_COLD || hw->l2_bytes <= 0 ||
        reused_bytes(s) > COLD * hw->l2_bytes)
        return true;
    /* small, but so small that reading it takes no time either way: what tells t0 */
    return (s->op.kind != LLMPERF_KIND_GEMM || s->kind == LLMPERF_SAMPLE_MOE) &&
           s->op.bytes / hw->mem_bytes_per_s < IMMATERIAL * s->time_s;
}

/* ---- our CSV --------------------------------------------------------------------------------------- */

/* A cell; quoted where needed. Names were escaped when they came in. */
static void put_text(FILE *out, const char *text)
{
    bool plain = strpbrk(text, ",\"\n\r") == NULL && !strchr("=+-@", text[0] ? text[0] : 'a');
    fputs(plain ? "" : "\"", out);
    for (const char *c = text; *c; c++) {
        if (*c == '"')
            fputc('"', out);
        fputc(*c, out);
    }
    fputs(plain ? "," : "\",", out);
}

static void put_number(FILE *out, double value)
{
    char text[LLMPERF_DOUBLE_TEXT_MAX];
    if (value != 0)
        fputs(llmperf_format_double(value, text), out);
    fputc(',', out);
}

static void put_flags(FILE *out, const llmperf_sample *s)
{
    static const char *const WORDS[] = {"contended", "throttled", "cached",
                                        "unsteady",  "timeout",   "slow_memory"};
    const char *gap = "";
    for (int i = 0; i < 6; i++)
        if (s->flags & 1u << i) {
            fprintf(out, "%s%s", gap, WORDS[i]);
            gap = " ";
        }
}

static const char *dtype_text(const llmperf_sample *s, char *buffer, size_t size)
{
    llmperf_dtype dtype = (llmperf_dtype)s->op.dtype;
    if (s->op.kind == LLMPERF_KIND_COLLECTIVE || s->kind >= LLMPERF_SAMPLE_COPY)
        return "";
    if (s->op.kind == LLMPERF_KIND_GEMM && s->stored)
        snprintf(buffer, size, "%s_wo", llmperf_dtype_name((llmperf_dtype)s->stored));
    else
        snprintf(buffer, size, "%s%s", llmperf_dtype_name(dtype), s->block ? "_block" : "");
    return buffer;
}

static void put_sample(FILE *out, const llmperf_samples *samples, const llmperf_sample *s)
{
    const llmperf_op *op = &s->op;
    bool attention = op->kind == LLMPERF_KIND_ATTENTION;
    bool collective = op->kind == LLMPERF_KIND_COLLECTIVE;
    char dtype[32];
    put_text(out, samples->name[s->hw]);
    put_text(out, samples->name[s->library]);
    put_text(out, samples->name[s->version]);
    put_text(out, dtype_text(s, dtype, sizeof dtype));
    put_text(out, attention ? llmperf_dtype_name((llmperf_dtype)(s->stored ? s->stored : op->dtype))
                            : "");
    put_text(out, llmperf_sample_kind_name((llmperf_sample_kind)s->kind));
    bool moe = s->kind == LLMPERF_SAMPLE_MOE;
    put_number(out, moe ? 0 : op->m);
    put_number(out, moe ? op->n / (s->ungated ? 2 : 3) : op->n);
    put_number(out, op->k);
    put_number(out, op->sequences);
    put_number(out, op->query_tokens);
    put_number(out, attention ? op->past_tokens + op->query_tokens : 0);
    bool mixed = op->regime == LLMPERF_REGIME_MIXED;
    put_number(out, op->lone_sequences);
    put_number(out, mixed ? op->lone_past + 1 : 0);
    put_number(out, mixed ? s->longest_past + 1 : 0);
    put_number(out, s->window);
    put_number(out, op->heads);
    put_number(out, op->kv_heads);
    put_number(out, op->head_dim);
    put_number(out, op->value_dim);
    put_number(out, s->tokens);
    put_number(out, s->experts);
    put_number(out, s->top_k);
    put_number(out, s->ep);
    put_number(out, s->skew);
    put_text(out, s->ungated ? "no" : "");
    put_number(out, collective ? (double)op->devices : 0);
    put_number(out, collective || s->kind >= LLMPERF_SAMPLE_COPY ? s->bytes
                    : op->kind == LLMPERF_KIND_ELEMENTWISE       ? op->bytes
                                                                 : 0);
    put_number(out, s->copies > 1 ? s->copies : 0);
    put_number(out, s->time_s);
    put_number(out, s->ci_s);
    put_number(out, s->reps);
    put_text(out, s->place == LLMPERF_PLACE_COLD   ? "cold"
                  : s->place == LLMPERF_PLACE_WARM ? "warm"
                                                   : "");
    put_number(out, s->clock_hz);
    put_number(out, s->power_w);
    put_number(out, s->stream_bytes_per_s);
    put_flags(out, s);
    fputc('\n', out);
}

llmperf_status llmperf_samples_write(FILE *out, const llmperf_samples *samples,
                                     llmperf_error *error)
{
    NEEDS(out && samples, error);
    errno = 0;
    fputs("gpu,library,version,dtype,kv_dtype,op,m,n,k,batch,seq_q,seq_kv,n_decode,seq_kv_decode,"
          "seq_kv_longest,window,heads,kv_heads,"
          "head_dim,head_dim_v,tokens,experts,top_k,ep,skew,gated,devices,bytes,copies,time_s,ci_s,"
          "reps,"
          "regime,clock_hz,power_w,stream_bytes_per_s,"
          "flags\n",
          out);
    for (int64_t i = 0; i < samples->count; i++)
        put_sample(out, samples, &samples->sample[i]);
    if (fflush(out) != 0 || ferror(out))
        return llmperf_fail(error, LLMPERF_E_IO, "cannot write samples: %s",
                            strerror(errno ? errno : EIO));
    return LLMPERF_OK;
}
