/* SPDX-License-Identifier: MIT */
/*
 * Samples from CSV: our columns, the headers of public collections, gzip. The text is not trusted:
 * every length is bounded, every number checked, every bad row named.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/samples.h"
#include "readers.h"
#include "entry.h"

enum {
    LIBRARIES_MAX = 16,
    CELL_TEXT_MAX = 96,
    MAP_MAX = 64,
};

static const double LARGEST = 1e15; /* of a count in a row: products of four stay finite */

/* ---- columns ----------------------------------------------------------------------------------------- */

typedef enum column {
    C_GPU,
    C_LIBRARY,
    C_VERSION,
    C_DTYPE,
    C_KV_DTYPE,
    C_OP,
    C_M,
    C_N,
    C_K,
    C_BATCH,
    C_SEQ_Q,
    C_SEQ_KV,
    C_SEQ_KV_DECODE,
    C_SEQ_KV_LONGEST,
    C_WINDOW,
    C_HEADS,
    C_KV_HEADS,
    C_HEAD_DIM,
    C_HEAD_DIM_V,
    C_TOKENS,
    C_EXPERTS,
    C_TOP_K,
    C_TP,
    C_EP,
    C_DEVICES,
    C_BYTES,
    C_COPIES,
    C_TIME_S,
    C_CI_S,
    C_REPS,
    C_REGIME,
    C_CLOCK_HZ,
    C_POWER_W,
    C_STREAM,
    C_FLAGS,
    /* of others */
    C_TIME_US,
    C_KV_PRIOR,
    C_MODEL,
    C_LAYER,
    C_SYSTEM,
    C_PER_NODE,
    C_CHUNK,
    C_KV_PREFILL,
    C_DECODES,
    C_KV_DECODE,
    C_SKEW_EXPONENT,
    C_GATED,
    C_HIDDEN,
    C_INTER,
    C_LOADS,
    C_GROUPED,
    C_ITERATION,
    C_LONG_ONES,
    C_KV_SHORT,
    C_KV_LONG,
    C_TIME_MEAN,
    C_TIME_LONGEST,
    C_SKEW,
    C_COUNT,
    C_IGNORED = C_COUNT,
    C_WIDE, /* C_WIDE + i: times of library i, microseconds */
} column;

static const struct {
    const char *name;
    column column;
} COLUMNS[] = {
    {"gpu", C_GPU},
    {"library", C_LIBRARY},
    {"version", C_VERSION},
    {"dtype", C_DTYPE},
    {"kv_dtype", C_KV_DTYPE},
    {"op", C_OP},
    {"m", C_M},
    {"n", C_N},
    {"k", C_K},
    {"batch", C_BATCH},
    {"seq_q", C_SEQ_Q},
    {"seq_kv", C_SEQ_KV},
    {"n_decode", C_DECODES},
    {"seq_kv_decode", C_SEQ_KV_DECODE},
    {"seq_kv_longest", C_SEQ_KV_LONGEST},
    {"window", C_WINDOW},
    {"heads", C_HEADS},
    {"kv_heads", C_KV_HEADS},
    {"head_dim", C_HEAD_DIM},
    {"head_dim_v", C_HEAD_DIM_V},
    {"tokens", C_TOKENS},
    {"experts", C_EXPERTS},
    {"top_k", C_TOP_K},
    {"tp", C_TP},
    {"ep", C_EP},
    {"skew", C_SKEW_EXPONENT},
    {"gated", C_GATED},
    {"devices", C_DEVICES},
    {"bytes", C_BYTES},
    {"copies", C_COPIES},
    {"time_s", C_TIME_S},
    {"ci_s", C_CI_S},
    {"reps", C_REPS},
    {"regime", C_REGIME},
    {"clock_hz", C_CLOCK_HZ},
    {"power_w", C_POWER_W},
    {"stream_bytes_per_s", C_STREAM},
    {"flags", C_FLAGS},
    {"time_us", C_TIME_US},
    /* aiconfigurator */
    {"n_heads", C_HEADS},
    {"n_kv_heads", C_KV_HEADS},
    {"lib", C_LIBRARY},
    {"ver", C_VERSION},
    {"num_gpus", C_DEVICES},
    {"topk", C_TOP_K},
    {"hidden", C_HIDDEN},
    {"inter", C_INTER},
    {"distribution", C_LOADS},
    {"kernel", C_LIBRARY},
    {"moe_tp", C_TP},
    {"moe_ep", C_EP},
    /* LLMServingSim, Vidur */
    {"kv_prior", C_KV_PRIOR},
    {"model", C_MODEL},
    {"layer", C_LAYER},
    {"system", C_SYSTEM},
    {"devices_per_node", C_PER_NODE},
    {"prefill_chunk", C_CHUNK},
    {"kv_prefill", C_KV_PREFILL},
    {"kv_decode", C_KV_DECODE},
    {"pc", C_CHUNK},
    {"kp", C_KV_PREFILL},
    {"nb", C_LONG_ONES},
    {"kvs", C_KV_SHORT},
    {"kv_big", C_KV_LONG},
    {"t_skew_us", C_SKEW},
    {"t_mean_us", C_TIME_MEAN},
    {"t_max_us", C_TIME_LONGEST},
    /* known, but no operator samples */
    {"up_proj_us", C_GROUPED},
    {"prompt_ms", C_ITERATION},
    {"min_us", C_IGNORED},
    {"name", C_IGNORED},
};

static column column_of(const char *name)
{
    for (size_t i = 0; i < sizeof COLUMNS / sizeof *COLUMNS; i++)
        if (strcmp(COLUMNS[i].name, name) == 0)
            return COLUMNS[i].column;
    return C_IGNORED;
}

typedef struct moe_memo {
    double key[5];
    llmperf_moe_load load;
} moe_memo;

enum { MEMO = 8192 };

typedef struct reader {
    llmperf_samples *samples;
    const llmperf_samples_options *options;
    llmperf_error *error;
    const char *name;
    int64_t line;
    int32_t file;
    /* the header */
    bool has_header;
    int cell_count;
    int column[SOURCE_CELLS_MAX];
    bool has[C_COUNT];
    int library_count;
    int32_t library[LIBRARIES_MAX];
    double library_copies[LIBRARIES_MAX];
    int32_t no_library;
    column skewed; /* which of the three times of a skewed batch is read */
    /* the row: cells by column, "" where there is none; they point into the line */
    const char *cell[C_COUNT];
    const char *wide[LIBRARIES_MAX];
    moe_memo *memo; /* NULL, or MEMO of them; owned */
} reader;

static const char *const EMPTY = "";

/* ---- bad rows ---------------------------------------------------------------------------------------- */

/* Tells of a row that gives no sample. Always false, so that it can be returned. */
static bool leave_out(reader *r, bool refused, const char *format, ...) LLMPERF_PRINTF(3, 4);
static bool leave_out(reader *r, bool refused, const char *format, ...)
{
    char raw[512], text[LLMPERF_TEXT_MAX];
    int used = snprintf(raw, sizeof raw, "%s:%lld: ", r->name, (long long)r->line);
    if (used < 0 || (size_t)used >= sizeof raw)
        used = 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(raw + used, sizeof raw - (size_t)used, format, arguments);
    va_end(arguments);
    if (refused)
        r->samples->refused++;
    else
        r->samples->skipped++;
    if (r->options && r->options->visit)
        r->options->visit(refused, llmperf_escape(raw, text, sizeof text), r->options->context);
    return false;
}

/* ---- cells ------------------------------------------------------------------------------------------- */

static const char *column_name(column wanted)
{
    for (size_t i = 0; i < sizeof COLUMNS / sizeof *COLUMNS; i++)
        if (COLUMNS[i].column == wanted)
            return COLUMNS[i].name;
    return "?";
}

/* A number from `least` to LARGEST; `fallback` where the cell is empty and fallback is not NAN. */
static bool number(reader *r, column c, double least, double fallback, double *ret_value)
{
    const char *text = r->cell[c];
    double value = 0;
    if (!text[0]) {
        if (isnan(fallback))
            return leave_out(r, true, "%s is missing; %s needs it", column_name(c),
                             r->cell[C_OP][0] ? r->cell[C_OP] : "the row");
        *ret_value = fallback;
        return true;
    }
    if (!llmperf_parse_double(text, &value))
        return leave_out(r, true, "%s is '%.40s'; a number is allowed", column_name(c), text);
    if (!(value >= least) || value > LARGEST)
        return leave_out(r, true, "%s is %.40s; %g to %g is allowed", column_name(c), text, least,
                         LARGEST);
    *ret_value = value;
    return true;
}

/* A whole number of at least 1. */
static bool count_of(reader *r, column c, double fallback, double *ret_value)
{
    double value = 0;
    if (!number(r, c, 1, fallback, &value))
        return false;
    if (value != floor(value))
        return leave_out(r, true, "%s is %.40s; a whole number is allowed", column_name(c),
                         r->cell[c]);
    *ret_value = value;
    return true;
}

/* Seconds of one launch; `per_s` of the cell's unit make one. */
static bool time_cell(reader *r, const char *text, const char *what, double per_s,
                      double *ret_time_s)
{
    double value = 0;
    if (!llmperf_parse_double(text, &value))
        return leave_out(r, true, "%s is '%.40s'; a time above zero is allowed", what, text);
    value /= per_s;
    if (!(value > 0) || value > 1e6)
        return leave_out(r, true, "%s is %.40s; a time above zero is allowed", what, text);
    *ret_time_s = value;
    return true;
}

typedef struct format {
    llmperf_dtype dtype, stored;
    bool block;
} format;

/* "bf16", "fp8_block" (scales per block), "int4_wo" (weights only: 16-bit arithmetic). */
static bool format_of(reader *r, const char *text, format *ret_format)
{
    char base[CELL_TEXT_MAX];
    format f = {0};
    snprintf(base, sizeof base, "%s", text);
    size_t length = strlen(base);
    bool weights_only = length > 3 && strcmp(base + length - 3, "_wo") == 0;
    f.block = length > 6 && strcmp(base + length - 6, "_block") == 0;
    if (weights_only)
        base[length - 3] = '\0';
    if (f.block)
        base[length - 6] = '\0';
    f.dtype = llmperf_dtype_parse(base);
    if (f.dtype == LLMPERF_DTYPE_NONE)
        return leave_out(r, true, "dtype '%.40s' is not known; bf16, fp8, int4_wo ... are allowed",
                         text);
    if (weights_only) {
        f.stored = f.dtype;
        f.dtype = LLMPERF_DTYPE_BF16;
    }
    *ret_format = f;
    return true;
}

static bool dtype_of(reader *r, format *ret_format)
{
    if (!r->cell[C_DTYPE][0])
        return leave_out(r, true, "dtype is missing; bf16, fp8, int4_wo ... are allowed");
    return format_of(r, r->cell[C_DTYPE], ret_format);
}

/* ---- models whose layers are measured by name -------------------------------------------------------- */

typedef struct known_model {
    const char *name;
    double hidden, heads, kv_heads, head_dim, ffn, vocab; /* ffn 0 = experts */
} known_model;

/* From the public configs of the models. */
static const known_model MODELS[] = {
    {"Llama-3.1-8B", 4096, 32, 8, 128, 14336, 128256},
    {"Llama-3.1-70B", 8192, 64, 8, 128, 28672, 128256},
    {"Qwen3-32B", 5120, 64, 8, 128, 25600, 151936},
    {"Qwen3-30B-A3B-Instruct-2507", 2048, 32, 4, 128, 0, 151936},
};

static const known_model *model_of(reader *r)
{
    for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++)
        if (strcmp(MODELS[i].name, r->cell[C_MODEL]) == 0)
            return &MODELS[i];
    leave_out(r, false, "the shapes of model '%.60s' are not known here", r->cell[C_MODEL]);
    return NULL;
}

/* ---- one operator from a row ------------------------------------------------------------------------- */

static bool make_gemm(reader *r, double m, double n, double k, llmperf_sample *s)
{
    format f = {0};
    if (!dtype_of(r, &f))
        return false;
    s->op = llmperf_sample_gemm(f.dtype, f.stored, m, n, k);
    s->stored = (uint8_t)f.stored;
    s->block = f.block;
    return true;
}

static bool gemm_row(reader *r, llmperf_sample *s)
{
    double m, n, k;
    if (!number(r, C_M, s->kind == LLMPERF_SAMPLE_GEMV ? 1 : 1e-6,
                s->kind == LLMPERF_SAMPLE_GEMV ? 1 : NAN, &m) ||
        !count_of(r, C_N, NAN, &n) || !count_of(r, C_K, NAN, &k))
        return false;
    return make_gemm(r, m, n, k, s);
}

static bool make_attention(reader *r, llmperf_attention_shape *shape, llmperf_sample *s)
{
    format f, kv = {0};
    if (!dtype_of(r, &f))
        return false;
    if (r->cell[C_KV_DTYPE][0] && !format_of(r, r->cell[C_KV_DTYPE], &kv))
        return false;
    if (shape->past_tokens < 0)
        return leave_out(r, true, "seq_kv is below seq_q; the attended tokens include the queries");
    if (s->kind == LLMPERF_SAMPLE_ATTN_PREFILL && shape->query_tokens == 1 &&
        shape->past_tokens == 0)
        return leave_out(r, false,
                         "a prompt of one token is a decode step, and this was a prompt's kernel");
    shape->dtype = f.dtype;
    shape->kv_dtype = kv.dtype;
    s->op = llmperf_sample_attention(shape);
    s->stored = (uint8_t)(kv.dtype == f.dtype ? LLMPERF_DTYPE_NONE : kv.dtype);
    s->window = shape->window;
    if (s->kind != LLMPERF_SAMPLE_ATTN_MIXED)
        s->kind = s->op.regime == LLMPERF_REGIME_DECODE ? LLMPERF_SAMPLE_ATTN_DECODE
                                                        : LLMPERF_SAMPLE_ATTN_PREFILL;
    return true;
}

/* A prompt beside decoding sequences. */
static bool make_mixed(reader *r, llmperf_mixed_shape *shape, llmperf_sample *s)
{
    s->kind = LLMPERF_SAMPLE_ATTN_MIXED;
    if (shape->prompt.query_tokens < 2)
        return leave_out(r, false, "one token beside decoding sequences is a decode step");
    if (shape->lone_longest_past < shape->lone_past)
        return leave_out(r, true, "the longest context is below the mean");
    if (!make_attention(r, &shape->prompt, s))
        return false;
    s->op = llmperf_sample_mixed(shape);
    s->longest_past = shape->lone_longest_past;
    return true;
}

/* Ours: n_decode sequences beside the prompt, which attend seq_kv_decode tokens on average. */
static bool own_mixed_row(reader *r, const llmperf_attention_shape *prompt, llmperf_sample *s)
{
    llmperf_mixed_shape shape = {.prompt = *prompt};
    double keys, longest;
    if (!count_of(r, C_DECODES, NAN, &shape.lone_sequences) ||
        !number(r, C_SEQ_KV_DECODE, 1, NAN, &keys) ||
        !number(r, C_SEQ_KV_LONGEST, 1, keys, &longest))
        return false;
    shape.lone_past = keys - 1;
    shape.lone_longest_past = longest - 1;
    return make_mixed(r, &shape, s);
}

static bool attention_row(reader *r, llmperf_sample *s)
{
    llmperf_attention_shape shape = {0};
    double keys = 0;
    bool decode = s->kind == LLMPERF_SAMPLE_ATTN_DECODE;
    if (!count_of(r, C_BATCH, NAN, &shape.sequences) ||
        !count_of(r, C_SEQ_Q, decode ? 1 : NAN, &shape.query_tokens) ||
        !count_of(r, C_HEADS, NAN, &shape.heads) ||
        !count_of(r, C_KV_HEADS, shape.heads, &shape.kv_heads) ||
        !count_of(r, C_HEAD_DIM, NAN, &shape.head_dim) ||
        !number(r, C_HEAD_DIM_V, 0, 0, &shape.value_dim) ||
        !number(r, C_WINDOW, 0, 0, &shape.window))
        return false;
    if (r->has[C_KV_PRIOR]) {
        if (!number(r, C_KV_PRIOR, 0, NAN, &shape.past_tokens))
            return false;
    } else {
        if (!count_of(r, C_SEQ_KV, decode ? NAN : shape.query_tokens, &keys))
            return false;
        shape.past_tokens = keys - shape.query_tokens;
    }
    if (s->kind == LLMPERF_SAMPLE_ATTN_MIXED && r->cell[C_DECODES][0])
        return own_mixed_row(r, &shape, s);
    bool scores = s->kind == LLMPERF_SAMPLE_ATTN_SCORES;
    if (!make_attention(r, &shape, s))
        return false;
    if (scores) {
        shape.dtype = (llmperf_dtype)s->op.dtype;
        s->op = llmperf_sample_scores(&shape);
        s->kind = LLMPERF_SAMPLE_ATTN_SCORES;
    }
    return true;
}

static bool elementwise_row(reader *r, double in, double out, llmperf_sample *s)
{
    format f = {.dtype = LLMPERF_DTYPE_BF16};
    if (r->cell[C_DTYPE][0] && !dtype_of(r, &f))
        return false;
    if (in == 0) { /* bytes alone: read and written in equal parts */
        double bytes, per = llmperf_dtype_bits(f.dtype) / 8;
        if (!number(r, C_BYTES, 1, NAN, &bytes))
            return false;
        in = out = bytes / 2 / per;
    }
    s->op = llmperf_sample_elementwise(f.dtype, in, out);
    return true;
}

static bool collective_row(reader *r, llmperf_sample *s)
{
    double devices;
    if (!count_of(r, C_DEVICES, NAN, &devices) || !number(r, C_BYTES, 1, NAN, &s->bytes))
        return false;
    if (devices < 2 || devices > 1 << 20)
        return leave_out(r, true, "devices is %g; 2 to 1048576 is allowed", devices);
    s->op = llmperf_sample_collective(
        (llmperf_collective)(LLMPERF_COLLECTIVE_ALL_REDUCE + s->kind - LLMPERF_SAMPLE_ALL_REDUCE),
        devices, s->bytes);
    return true;
}

/* Loads of one draw cost as much as a thousand rows: many rows share them. */
static llmperf_moe_load load_of(reader *r, const llmperf_moe_shape *shape)
{
    const double key[] = {shape->tokens, shape->experts, shape->top_k, shape->ep, shape->skew};
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < sizeof key; i++)
        hash = (hash ^ ((const unsigned char *)key)[i]) * 1099511628211u;
    if (!r->memo)
        r->memo = calloc(MEMO, sizeof *r->memo);
    if (!r->memo)
        return llmperf_moe_load_of(shape);
    moe_memo *memo = &r->memo[hash % MEMO];
    if (memcmp(memo->key, key, sizeof key) != 0) {
        memcpy(memo->key, key, sizeof key);
        memo->load = llmperf_moe_load_of(shape);
        if (!(memo->load.rows > 0)) /* tried again for the next row */
            memo->key[0] = 0;
    }
    return memo->load;
}

static bool make_moe(reader *r, llmperf_moe_shape *shape, llmperf_sample *s)
{
    format f = {0};
    if (!dtype_of(r, &f))
        return false;
    if (shape->top_k > shape->experts || shape->experts > 4096)
        return leave_out(r, true, "%g of %g experts; at most all of 4096 are allowed", shape->top_k,
                         shape->experts);
    if (shape->ep > shape->experts || fmod(shape->experts, shape->ep) != 0)
        return leave_out(r, true, "%g devices for %g experts; a divisor of it is allowed",
                         shape->ep, shape->experts);
    shape->dtype = f.dtype;
    shape->weights = f.stored;
    s->kind = LLMPERF_SAMPLE_MOE;
    llmperf_moe_load load = load_of(r, shape);
    if (!(load.rows > 0))
        return leave_out(r, true, "out of memory for the loads of %g experts", shape->experts);
    s->op = llmperf_sample_moe(shape, load);
    s->stored = (uint8_t)f.stored;
    s->block = f.block;
    s->tokens = shape->tokens;
    s->experts = shape->experts;
    s->top_k = shape->top_k;
    s->ep = shape->ep;
    s->skew = shape->skew;
    s->ungated = shape->ungated;
    return true;
}

/* Ours: n = FFN width of an expert on this device, k = hidden. */
static bool moe_row(reader *r, llmperf_sample *s)
{
    llmperf_moe_shape shape = {0};
    const char *gated = r->cell[C_GATED];
    shape.ungated = strcmp(gated, "no") == 0;
    if (gated[0] && !shape.ungated && strcmp(gated, "yes") != 0)
        return leave_out(r, true, "gated is '%.40s'; yes or no is allowed", gated);
    return count_of(r, C_TOKENS, NAN, &shape.tokens) && count_of(r, C_K, NAN, &shape.hidden) &&
           count_of(r, C_N, NAN, &shape.width) && count_of(r, C_EXPERTS, NAN, &shape.experts) &&
           count_of(r, C_TOP_K, NAN, &shape.top_k) && count_of(r, C_EP, 1, &shape.ep) &&
           number(r, C_SKEW_EXPONENT, 0, 0, &shape.skew) && make_moe(r, &shape, s);
}

/*
 * Experts of Nemotron 3 have no gate. The collection does not say so, but their times do: of the
 * memory-bound rows two thirds of what the others take per byte. Its older kernel was timed with a
 * gate all the same.
 */
static bool is_ungated(const reader *r, const llmperf_moe_shape *s)
{
    bool nano = s->hidden == 2688 && s->width == 1856 && s->experts == 128;
    bool latent = s->hidden == 2048 && s->width == 5120 && s->experts == 512;
    return (nano || latent) && strcmp(r->cell[C_LIBRARY], "fused_moe") != 0;
}

/* aiconfigurator: widths of the whole model, loads "balanced" or "power_law_1.2". */
static bool collected_moe_row(reader *r, llmperf_sample *s)
{
    llmperf_moe_shape shape = {0};
    double tp;
    const char *loads = r->cell[C_LOADS];
    if (!count_of(r, C_TOKENS, NAN, &shape.tokens) || !count_of(r, C_HIDDEN, NAN, &shape.hidden) ||
        !count_of(r, C_INTER, NAN, &shape.width) || !count_of(r, C_EXPERTS, NAN, &shape.experts) ||
        !count_of(r, C_TOP_K, NAN, &shape.top_k) || !count_of(r, C_TP, 1, &tp) ||
        !count_of(r, C_EP, 1, &shape.ep))
        return false;
    bool law = strncmp(loads, "power_law_", 10) == 0 &&
               llmperf_parse_double(loads + 10, &shape.skew) && shape.skew > 0 && shape.skew <= 10;
    if (!law && strcmp(loads, "balanced") != 0)
        return leave_out(r, true, "distribution '%.40s'; balanced or power_law_EXPONENT is allowed",
                         loads);
    shape.ungated = is_ungated(r, &shape);
    shape.width = ceil(shape.width / tp);
    return make_moe(r, &shape, s);
}

/* Vidur: m tokens of n elements; what each module reads and writes, in tensors of that width. */
static bool module_row(reader *r, const char *op, llmperf_sample *s)
{
    static const struct {
        const char *name;
        double in, out;
    } MODULES[] = {
        {"act", 1, 0.5}, /* gate and up in, half as much out */
        {"layer_norm", 1, 1}, {"add", 2, 1}, {"rope", 1, 1}, {"embedding", 1, 1},
    };
    double m, n;
    for (size_t i = 0; i < sizeof MODULES / sizeof *MODULES; i++) {
        if (strcmp(MODULES[i].name, op) != 0)
            continue;
        if (!count_of(r, C_M, NAN, &m) || !count_of(r, C_N, NAN, &n))
            return false;
        s->kind = LLMPERF_SAMPLE_ELEMENTWISE;
        if (!elementwise_row(r, MODULES[i].in * m * n, MODULES[i].out * m * n, s))
            return false;
        if (strcmp(op, "embedding") == 0) {
            s->op.kind = LLMPERF_KIND_GATHER;
            s->op.id = LLMPERF_OP_EMBED;
        }
        return true;
    }
    return leave_out(r, true,
                     "op '%.40s' is not known; gemm, gemv, attn_prefill, attn_decode, "
                     "elementwise, all_reduce, all_gather ... are allowed",
                     op);
}

/* LLMServingSim: modules of a model by name. */
static bool layer_row(reader *r, llmperf_sample *s)
{
    r->cell[C_LIBRARY] = r->cell[C_LIBRARY][0] ? r->cell[C_LIBRARY] : "vllm";
    const known_model *m = model_of(r);
    const char *layer = r->cell[C_LAYER];
    double t, tp;
    if (!m || !count_of(r, C_TOKENS, NAN, &t) || !count_of(r, C_TP, 1, &tp))
        return false;
    double h = m->hidden, heads = m->heads / tp, kv = fmax(1, m->kv_heads / tp), d = m->head_dim;
    double ffn = m->ffn / tp;
    const struct {
        const char *name;
        double n, k;    /* a product */
        double in, out; /* else values per token */
    } rows[] = {
        {"qkv_proj", (heads + 2 * kv) * d, h, 0, 0},
        {"o_proj", h, heads * d, 0, 0},
        {"gate_up_proj", 2 * ffn, h, 0, 0},
        {"down_proj", h, ffn, 0, 0},
        {"lm_head", ceil(m->vocab / tp), h, 0, 0},
        {"act_fn", 0, 0, 2 * ffn, ffn},
        {"layernorm", 0, 0, 2 * h, 2 * h},
        {"final_layernorm", 0, 0, 2 * h, 2 * h},
        {"rotary_emb", 0, 0, (heads + kv) * d, (heads + kv) * d},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, layer) != 0)
            continue;
        if (rows[i].n + rows[i].in == 0)
            break;
        if (rows[i].n > 0) {
            s->kind = LLMPERF_SAMPLE_GEMM;
            return make_gemm(r, t, rows[i].n, rows[i].k, s);
        }
        s->kind = LLMPERF_SAMPLE_ELEMENTWISE;
        return elementwise_row(r, t * rows[i].in, t * rows[i].out, s);
    }
    return leave_out(r, false, "layer '%.40s' of model %.40s is no operator that is fitted", layer,
                     m->name);
}

/* What attends together: a chunk of a prompt (0 = none) after `past` cached tokens, and sequences with
 * one query each, `context` cached tokens on average and `longest` at most. */
typedef struct batch {
    double chunk, past, decodes, context, longest;
} batch;

static bool batch_row(reader *r, const known_model *m, double tp, const batch *b, llmperf_sample *s)
{
    if (b->chunk + b->decodes == 0)
        return leave_out(r, true, "neither prefill_chunk nor n_decode is above zero");
    llmperf_mixed_shape shape = {
        .prompt = {.sequences = b->chunk > 0 ? 1 : b->decodes,
                   .query_tokens = b->chunk > 0 ? b->chunk : 1,
                   .past_tokens = b->chunk > 0 ? b->past : b->context,
                   .heads = m->heads / tp,
                   .kv_heads = fmax(1, m->kv_heads / tp),
                   .head_dim = m->head_dim},
        .lone_sequences = b->decodes,
        .lone_past = b->context,
        .lone_longest_past = b->longest,
    };
    bool mixed = b->chunk > 0 && b->decodes > 0;
    return mixed ? make_mixed(r, &shape, s) : make_attention(r, &shape.prompt, s);
}

/* LLMServingSim: a chunk of one prompt beside decoding sequences. */
static bool mixed_row(reader *r, llmperf_sample *s)
{
    r->cell[C_LIBRARY] = r->cell[C_LIBRARY][0] ? r->cell[C_LIBRARY] : "vllm";
    const known_model *m = model_of(r);
    double tp, chunk, past, decodes, context;
    if (!m || !count_of(r, C_TP, 1, &tp) || !number(r, C_CHUNK, 0, NAN, &chunk) ||
        !number(r, C_KV_PREFILL, 0, 0, &past) || !number(r, C_DECODES, 0, NAN, &decodes) ||
        !number(r, C_KV_DECODE, 0, 0, &context))
        return false;
    return batch_row(r, m, tp,
                     &(batch){.chunk = chunk,
                              .past = past,
                              .decodes = decodes,
                              .context = context,
                              .longest = context},
                     s);
}

/*
 * LLMServingSim: n sequences, nb of them with kv_big cached tokens and the others with kvs, beside a
 * chunk of a prompt or not. Timed as they are, with the mean of all and with the most of all.
 */
static bool skewed_row(reader *r, llmperf_sample *s)
{
    r->cell[C_LIBRARY] = r->cell[C_LIBRARY][0] ? r->cell[C_LIBRARY] : "vllm";
    const known_model *m = model_of(r);
    double tp, longer, kv_short, kv_long;
    batch b = {0};
    if (!m || !count_of(r, C_TP, 1, &tp) || !number(r, C_CHUNK, 0, NAN, &b.chunk) ||
        !number(r, C_KV_PREFILL, 0, 0, &b.past) || !count_of(r, C_N, NAN, &b.decodes) ||
        !number(r, C_LONG_ONES, 0, NAN, &longer) || !number(r, C_KV_SHORT, 0, NAN, &kv_short) ||
        !number(r, C_KV_LONG, 0, NAN, &kv_long))
        return false;
    if (longer > b.decodes || kv_long < kv_short)
        return leave_out(r, true, "nb is above n, or kv_big below kvs");
    bool even = r->skewed == C_TIME_LONGEST;
    b.longest = kv_long;
    b.context = even ? kv_long : kv_short + (kv_long - kv_short) * longer / b.decodes;
    if (r->skewed == C_TIME_MEAN)
        b.longest = b.context = floor(b.context); /* as it was timed */
    if (b.chunk == 0 && b.longest > b.context)
        return leave_out(r, false,
                         "unequal lengths in a decode step are no operator of a model here");
    return batch_row(r, m, tp, &b, s);
}

/* Vidur's networks: a part by the name of its system; only groups inside a node. */
static bool system_row(reader *r, llmperf_sample *s)
{
    static const struct {
        const char *prefix, *part;
    } SYSTEMS[] = {{"a100", "A100-SXM4-80GB"}, {"h100", "H100-SXM5-80GB"}, {"a40", "NVIDIA A40"}};
    const char *system = r->cell[C_SYSTEM], *part = NULL;
    double devices, per_node;
    for (size_t i = 0; i < sizeof SYSTEMS / sizeof *SYSTEMS; i++)
        if (strncmp(system, SYSTEMS[i].prefix, strlen(SYSTEMS[i].prefix)) == 0)
            part = SYSTEMS[i].part;
    if (!part)
        return leave_out(r, false, "the devices of system '%.40s' are not known here", system);
    if (!count_of(r, C_DEVICES, NAN, &devices) || !count_of(r, C_PER_NODE, NAN, &per_node))
        return false;
    if (devices > per_node)
        return leave_out(r, false, "a group across nodes is not fitted");
    if (devices > 2 && strstr(system, "pairwise"))
        return leave_out(r, false, "a group over pairs of linked devices is not fitted");
    return llmperf_samples_name(r->samples, part, &s->hw, r->error) == LLMPERF_OK;
}

static bool kind_of(reader *r, llmperf_sample_kind *ret_kind)
{
    static const struct {
        const char *name;
        llmperf_sample_kind kind;
    } SPELLINGS[] = {
        {"allreduce", LLMPERF_SAMPLE_ALL_REDUCE},         {"allgather", LLMPERF_SAMPLE_ALL_GATHER},
        {"reducescatter", LLMPERF_SAMPLE_REDUCE_SCATTER}, {"alltoall", LLMPERF_SAMPLE_ALL_TO_ALL},
        {"sendrecv", LLMPERF_SAMPLE_SEND_RECV},
    };
    const char *text = r->cell[C_OP];
    for (int i = 0; i < LLMPERF_SAMPLE_KIND_COUNT; i++)
        if (strcmp(text, llmperf_sample_kind_name((llmperf_sample_kind)i)) == 0) {
            *ret_kind = (llmperf_sample_kind)i;
            return true;
        }
    for (size_t i = 0; i < sizeof SPELLINGS / sizeof *SPELLINGS; i++)
        if (strcmp(text, SPELLINGS[i].name) == 0) {
            *ret_kind = SPELLINGS[i].kind;
            return true;
        }
    return false;
}

static bool operator_row(reader *r, llmperf_sample *s)
{
    if (r->has[C_GROUPED])
        return leave_out(r, false, "a grouped product alone is no layer of experts");
    if (r->has[C_ITERATION])
        return leave_out(r, false, "a whole iteration is no operator");
    if (r->has[C_SKEW])
        return skewed_row(r, s);
    if (r->has[C_LAYER])
        return layer_row(r, s);
    if (r->has[C_LOADS])
        return collected_moe_row(r, s);
    if (r->has[C_CHUNK])
        return mixed_row(r, s);
    if (r->has[C_SYSTEM] && !system_row(r, s))
        return false;
    llmperf_sample_kind kind;
    if (!kind_of(r, &kind))
        return module_row(r, r->cell[C_OP], s);
    s->kind = (uint8_t)kind;
    double m, n;
    switch (kind) {
    case LLMPERF_SAMPLE_GEMM:
    case LLMPERF_SAMPLE_GEMV:
        return gemm_row(r, s);
    case LLMPERF_SAMPLE_ATTN_PREFILL:
    case LLMPERF_SAMPLE_ATTN_DECODE:
    case LLMPERF_SAMPLE_ATTN_MIXED:
    case LLMPERF_SAMPLE_ATTN_SCORES:
        return attention_row(r, s);
    case LLMPERF_SAMPLE_ELEMENTWISE:
        if (r->cell[C_BYTES][0])
            return elementwise_row(r, 0, 0, s);
        if (!count_of(r, C_M, NAN, &m) || !count_of(r, C_N, NAN, &n))
            return false;
        return elementwise_row(r, m * n, m * n, s);
    case LLMPERF_SAMPLE_ALL_REDUCE:
    case LLMPERF_SAMPLE_ALL_GATHER:
    case LLMPERF_SAMPLE_REDUCE_SCATTER:
    case LLMPERF_SAMPLE_ALL_TO_ALL:
    case LLMPERF_SAMPLE_SEND_RECV:
        return collective_row(r, s);
    case LLMPERF_SAMPLE_MOE:
        return moe_row(r, s);
    case LLMPERF_SAMPLE_COPY: /* no operator: kept, so that a stopped calibration goes on */
    case LLMPERF_SAMPLE_WRITE:
    case LLMPERF_SAMPLE_H2D:
    case LLMPERF_SAMPLE_D2H:
        return number(r, C_BYTES, 1, NAN, &s->bytes);
    case LLMPERF_SAMPLE_LAUNCH:
    case LLMPERF_SAMPLE_LAUNCH_GRAPH:
    case LLMPERF_SAMPLE_LAUNCH_HOST:
    case LLMPERF_SAMPLE_ROUND_TRIP:
        return true;
    default:
        return leave_out(r, false, "%s is no operator that is fitted",
                         llmperf_sample_kind_name(kind));
    }
}

/* ---- the rest of a row ------------------------------------------------------------------------------- */

static bool flags_of(reader *r, uint32_t *ret_flags)
{
    static const char *const WORDS[] = {"contended", "throttled", "cached",
                                        "unsteady",  "timeout",   "slow_memory"};
    const char *at = r->cell[C_FLAGS];
    while (*at) {
        size_t length = strcspn(at, " |;");
        bool known = length == 0;
        for (int i = 0; i < 6; i++)
            if (length == strlen(WORDS[i]) && strncmp(at, WORDS[i], length) == 0) {
                *ret_flags |= 1u << i;
                known = true;
            }
        if (!known)
            return leave_out(r, true,
                             "flag '%.*s' is not known; contended, throttled, cached, "
                             "unsteady, timeout, slow_memory are allowed",
                             (int)(length < 40 ? length : 40), at);
        at += length + (at[length] != '\0');
    }
    return true;
}

static bool place_of(reader *r, uint8_t *ret_place)
{
    static const struct {
        const char *word;
        uint8_t place;
    } WORDS[] = {{"", LLMPERF_PLACE_UNKNOWN},
                 {"cold", LLMPERF_PLACE_COLD},
                 {"dram", LLMPERF_PLACE_COLD},
                 {"warm", LLMPERF_PLACE_WARM},
                 {"cache", LLMPERF_PLACE_WARM}};
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strcmp(WORDS[i].word, r->cell[C_REGIME]) == 0) {
            *ret_place = WORDS[i].place;
            return true;
        }
    return leave_out(r, true, "regime is '%.40s'; cold (dram) or warm (cache) is allowed",
                     r->cell[C_REGIME]);
}

static bool intern(reader *r, column c, int32_t *ret_index)
{
    return !r->cell[c][0] ||
           llmperf_samples_name(r->samples, r->cell[c], ret_index, r->error) == LLMPERF_OK;
}

/* False: nothing to add (told), or out of memory (r->error says so). */
static bool common_row(reader *r, llmperf_sample *s)
{
    s->file = r->file;
    s->line = r->line;
    s->library = r->no_library;
    return intern(r, C_GPU, &s->hw) && operator_row(r, s) && intern(r, C_LIBRARY, &s->library) &&
           intern(r, C_VERSION, &s->version) && number(r, C_COPIES, 1, 1, &s->copies) &&
           number(r, C_CI_S, 0, 0, &s->ci_s) && number(r, C_REPS, 0, 0, &s->reps) &&
           number(r, C_CLOCK_HZ, 0, 0, &s->clock_hz) && number(r, C_POWER_W, 0, 0, &s->power_w) &&
           number(r, C_STREAM, 0, 0, &s->stream_bytes_per_s) && flags_of(r, &s->flags) &&
           place_of(r, &s->place);
}

/* The three times of a skewed batch; its column `regime` says whether there is a prompt. */
static bool read_skewed(reader *r)
{
    static const column TIMES[] = {C_TIME_MEAN, C_TIME_LONGEST, C_SKEW};
    r->cell[C_REGIME] = EMPTY;
    for (int i = 0; i < 3; i++) {
        llmperf_sample s = {0};
        r->skewed = TIMES[i];
        if (!r->has[TIMES[i]])
            continue;
        if (!common_row(r, &s) ||
            !time_cell(r, r->cell[TIMES[i]], column_name(TIMES[i]), 1e6, &s.time_s) ||
            llmperf_samples_add(r->samples, &s, r->error) != LLMPERF_OK)
            return false;
    }
    return true;
}

static bool read_row(reader *r)
{
    llmperf_sample s = {0};
    r->samples->rows++;
    if (r->has[C_SKEW])
        return read_skewed(r);
    if (!common_row(r, &s))
        return false;
    bool any = false;
    for (int i = 0; i < r->library_count; i++) {
        if (!r->wide[i][0])
            continue;
        any = true;
        s.library = r->library[i];
        s.copies = r->library_copies[i];
        if (!time_cell(r, r->wide[i], r->samples->name[s.library], 1e6, &s.time_s))
            return false;
        if (llmperf_samples_add(r->samples, &s, r->error) != LLMPERF_OK)
            return false;
    }
    if (any)
        return true;
    if (r->library_count > 0)
        return leave_out(r, false, "no library has a time here");
    bool in_s = r->has[C_TIME_S];
    const char *cell = r->cell[in_s ? C_TIME_S : C_TIME_US];
    return time_cell(r, cell, in_s ? "time_s" : "time_us", in_s ? 1 : 1e6, &s.time_s) &&
           llmperf_samples_add(r->samples, &s, r->error) == LLMPERF_OK;
}

/* ---- the header -------------------------------------------------------------------------------------- */

/* Renames by --map their=ours; NULL: no rule for this name. */
static const char *renamed(const reader *r, const char *name)
{
    size_t length = strlen(name);
    for (int i = 0; r->options && r->options->map && r->options->map[i]; i++) {
        const char *rule = r->options->map[i];
        if (strncmp(rule, name, length) == 0 && rule[length] == '=')
            return rule + length + 1;
    }
    return NULL;
}

/*
 * Which collections rotate their weights: vLLM and SGLang time six copies in turn, TensorRT-LLM one
 * (products that its L2 holds run faster there than memory allows).
 */
static double copies_of(const char *library)
{
    return strcmp(library, "trtllm") == 0 ? 1 : 6;
}

/* A column of times of one library: t_vllm. */
static bool is_wide(const char *name)
{
    return column_of(name) == C_IGNORED && strncmp(name, "t_", 2) == 0 && name[2];
}

/* Headers of collections that are known, though their rows are no operator samples. */
static bool is_known_refused(const bool has[C_COUNT])
{
    return has[C_GROUPED] || has[C_ITERATION];
}

bool samples_match(const results *from, char *const *cell, int count)
{
    bool has[C_COUNT + 1] = {false}, wide = false;
    for (int i = 0; i < count; i++) {
        const char *ours = results_renamed(from, cell[i]);
        const char *name = ours ? ours : cell[i];
        has[column_of(name)] = true;
        wide |= is_wide(name);
    }
    return is_known_refused(has) || has[C_SKEW] ||
           ((has[C_TIME_S] || has[C_TIME_US] || wide) &&
            (has[C_OP] || has[C_LAYER] || has[C_CHUNK] || has[C_LOADS]));
}

static llmperf_status read_header(reader *r, char **cell, int count)
{
    for (int i = 0; i < count; i++) {
        const char *name = renamed(r, cell[i]);
        if (!name)
            name = cell[i];
        int c = (int)column_of(name);
        if (is_wide(name) && r->library_count < LIBRARIES_MAX) {
            llmperf_status status =
                llmperf_samples_name(r->samples, name + 2, &r->library[r->library_count], r->error);
            if (status != LLMPERF_OK)
                return status;
            r->library_copies[r->library_count] = copies_of(name + 2);
            c = C_WIDE + r->library_count++;
        } else if (c < C_COUNT) {
            if (r->has[c])
                return llmperf_fail(r->error, LLMPERF_E_SPEC,
                                    "%s:%lld: two columns stand for %s; one is allowed", r->name,
                                    (long long)r->line, column_name((column)c));
            r->has[c] = true;
        }
        r->column[i] = c;
    }
    r->cell_count = count;
    r->has_header = true;
    bool refused = is_known_refused(r->has) || r->has[C_SKEW]; /* named by other columns */
    if (!r->has[C_TIME_S] && !r->has[C_TIME_US] && r->library_count == 0 && !refused)
        return llmperf_fail(r->error, LLMPERF_E_SPEC,
                            "%s:%lld: no column of times; time_s, time_us or t_LIBRARY (also by "
                            "--map their=ours) is allowed",
                            r->name, (long long)r->line);
    if (!r->has[C_OP] && !r->has[C_LAYER] && !r->has[C_CHUNK] && !r->has[C_LOADS] && !refused)
        return llmperf_fail(r->error, LLMPERF_E_SPEC,
                            "%s:%lld: no column 'op'; one that tells what was timed, gemm, "
                            "attn_decode ..., is allowed",
                            r->name, (long long)r->line);
    return LLMPERF_OK;
}

/* Every rule must be "their=ours" with a column of ours. */
static llmperf_status check_map(const llmperf_samples_options *options, llmperf_error *error)
{
    for (int i = 0; options && options->map && options->map[i]; i++) {
        const char *rule = options->map[i], *equals = strchr(rule, '=');
        if (i >= MAP_MAX)
            return llmperf_fail(error, LLMPERF_E_USAGE,
                                "more than %d renamed columns; at most %d are allowed", MAP_MAX,
                                MAP_MAX);
        if (!equals || equals == rule)
            return llmperf_fail(
                error, LLMPERF_E_USAGE,
                "column map '%.60s'; their=ours is allowed, such as kernel_us=time_us", rule);
        if (column_of(equals + 1) == C_IGNORED && strncmp(equals + 1, "t_", 2) != 0) {
            const char *names[sizeof COLUMNS / sizeof *COLUMNS + 1];
            size_t count = sizeof COLUMNS / sizeof *COLUMNS;
            for (size_t k = 0; k < count; k++)
                names[k] = COLUMNS[k].name;
            names[count] = NULL;
            const char *near = llmperf_nearest(equals + 1, names);
            return llmperf_fail(error, LLMPERF_E_USAGE,
                                "column map '%.60s': '%.40s' is no column of ours%s%s%s", rule,
                                equals + 1, near ? "; did you mean '" : "", near ? near : "",
                                near ? "'?" : "");
        }
    }
    return LLMPERF_OK;
}

/* ---- lines ------------------------------------------------------------------------------------------- */

/* One line that is not blank and no comment. */
static llmperf_status take_row(reader *r, char *line)
{
    char *cell[SOURCE_CELLS_MAX];
    int count = source_cells(line, cell);
    if (!r->has_header) {
        if (count < 0)
            return llmperf_fail(r->error, LLMPERF_E_SPEC, "%s:%lld: the header has %s", r->name,
                                (long long)r->line, source_cells_fault(count));
        return read_header(r, cell, count);
    }
    if (count < 0) {
        r->samples->rows++;
        leave_out(r, true, "%s", source_cells_fault(count));
        return LLMPERF_OK;
    }
    if (count != r->cell_count) {
        r->samples->rows++;
        leave_out(r, true, "%d cells; %d are allowed, as the header has", count, r->cell_count);
        return LLMPERF_OK;
    }
    for (int i = 0; i < C_COUNT; i++)
        r->cell[i] = EMPTY;
    for (int i = 0; i < LIBRARIES_MAX; i++)
        r->wide[i] = EMPTY;
    for (int i = 0; i < count; i++) {
        if (r->column[i] < C_COUNT)
            r->cell[r->column[i]] = cell[i];
        else if (r->column[i] >= C_WIDE)
            r->wide[r->column[i] - C_WIDE] = cell[i];
    }
    llmperf_error *error = r->error;
    llmperf_error own = {0};
    r->error = &own; /* read_row() fails for want of memory or names alone */
    bool added = read_row(r);
    r->error = error;
    if (!added && own.status != LLMPERF_OK)
        return llmperf_fail(error, own.status, "%s:%lld: %s", r->name, (long long)r->line,
                            own.text);
    return LLMPERF_OK;
}

static llmperf_status take_line(reader *r, char *line, const source *from)
{
    r->line = from->text_line;
    if (!from->too_long && !from->has_nul)
        return line[0] == '#' || line[strspn(line, " \t")] == '\0' ? LLMPERF_OK : take_row(r, line);
    if (!r->has_header)
        return llmperf_fail(r->error, LLMPERF_E_SPEC, "%s:%lld: %s (a CSV file with a header)",
                            r->name, (long long)r->line, source_line_fault(from));
    r->samples->rows++;
    leave_out(r, true, "%s", source_line_fault(from));
    return LLMPERF_OK;
}

/* ---- files ------------------------------------------------------------------------------------------- */

/* Reads to the end and closes. */
static llmperf_status read_source(llmperf_samples *samples, source *from,
                                  const llmperf_samples_options *options, llmperf_error *error)
{
    reader r = {.samples = samples, .options = options, .error = error, .name = from->name};
    char *line = NULL;
    llmperf_status status = check_map(options, error);
    if (status == LLMPERF_OK)
        status = llmperf_samples_name(samples, r.name, &r.file, error);
    while (status == LLMPERF_OK && (line = source_line(from)))
        status = take_line(&r, line, from);
    if (status == LLMPERF_OK)
        status = source_status(from, error);
    if (status == LLMPERF_OK && !r.has_header)
        status =
            llmperf_fail(error, LLMPERF_E_SPEC, "%s: no header; a CSV file is allowed", r.name);
    free(r.memo);
    source_close(from);
    return status;
}

llmperf_status llmperf_samples_read_text(llmperf_samples *samples, const char *name,
                                         const char *text, size_t size,
                                         const llmperf_samples_options *options,
                                         llmperf_error *error)
{
    NEEDS(samples && name && text, error);
    source from;
    llmperf_status status = source_open_text(&from, name, text, size, error);
    return status == LLMPERF_OK ? read_source(samples, &from, options, error) : status;
}

llmperf_status llmperf_samples_read(llmperf_samples *samples, const char *path,
                                    const llmperf_samples_options *options, llmperf_error *error)
{
    NEEDS(samples && path, error);
    source from;
    llmperf_status status = source_open(&from, path, error);
    return status == LLMPERF_OK ? read_source(samples, &from, options, error) : status;
}
