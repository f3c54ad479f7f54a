/* SPDX-License-Identifier: MIT */
/* Measured operators beside their predictions, chosen so that a figure can show them. */
#include "llmperf/chart.h"
#include "config_object.h"
#include "time_op.h"
#include "entry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    DENSE_MAX = 5,   /* weight matrices in a figure */
    LENGTHS_MAX = 4, /* of attention */
    ALIKE_LEAST = 3, /* square matrices, common lengths: enough to be drawn alone */
    LENGTH_LEAST = 16,
    POINTS_LEAST = 3,  /* of a curve that is worth drawing */
    SHAPES_MAX = 4096, /* that are told apart */
};

/* ---- which samples -------------------------------------------------------------------------------------- */

typedef struct chooser {
    const llmperf_samples *all;
    llmperf_chart_filter filter;
    const char *library; /* the calibration's, where none is asked for; NULL = all */
    int64_t seen, foreign, other_library, unasked, warm, impossible;
} chooser;

static bool has_library(const llmperf_samples *all, const char *library)
{
    for (int64_t i = 0; i < all->count; i++)
        if (strcasecmp(all->name[all->sample[i].library], library) == 0)
            return true;
    return false;
}

static chooser choose(const llmperf_samples *samples, const llmperf_chart_filter *filter)
{
    chooser c = {.all = samples, .filter = *filter};
    const llmperf_calib *calib = filter->calib;
    if (!filter->words.libraries && calib && calib->library[0] &&
        has_library(samples, calib->library))
        c.library = calib->library;
    if (!(c.filter.confidence > 0))
        c.filter.confidence = 0.9;
    return c;
}

/* The libraries that are drawn: "vllm, sglang"; "" = whatever there is. */
static void name_libraries(const chooser *c, char *buffer, size_t size)
{
    const char *const *words = c->filter.words.libraries;
    size_t used = 0;
    snprintf(buffer, size, "%s", c->library ? c->library : "");
    for (int i = 0; words && words[i] && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", used ? ", " : "", words[i]);
}

static bool is_of_library(const chooser *c, const llmperf_sample *s)
{
    const llmperf_sample_filter asked = {.libraries = c->filter.words.libraries};
    return llmperf_sample_matches(c->all, s, &asked) &&
           (!c->library || strcasecmp(c->all->name[s->library], c->library) == 0);
}

/* Can the part be asked for it? */
static bool is_possible(const llmperf_sample *s, const llmperf_hw *hw)
{
    bool link = s->op.kind != LLMPERF_KIND_COLLECTIVE || llmperf_hw_link(hw, s->op.devices);
    return link && (s->op.bytes > 0 || s->op.link_bytes > 0) && s->time_s > 0 &&
           (s->op.flop <= 0 || hw->peak_flop_per_s[s->op.dtype] > 0);
}

/* Counts why a sample is left out. */
static bool is_wanted(chooser *c, const llmperf_sample *s)
{
    const llmperf_hw *hw = c->filter.hw;
    const char *part = c->all->name[s->hw];
    int64_t *why = NULL;
    c->seen++;
    if (part[0] && !llmperf_hw_is(hw, part))
        why = &c->foreign;
    else if (!is_of_library(c, s))
        why = &c->other_library;
    else if (!llmperf_sample_matches(c->all, s, &c->filter.words))
        why = &c->unasked;
    else if (!is_possible(s, hw))
        why = &c->impossible;
    else if (!llmperf_sample_is_cold(s, hw))
        why = &c->warm;
    if (why)
        ++*why;
    return !why;
}

/* "3 of other parts, 2 that ran from a cache"; returns how many samples. */
static int64_t reasons(const chooser *c, char *buffer, size_t size)
{
    const struct {
        int64_t count;
        const char *why;
    } all[] = {{c->foreign, "of other devices"},
               {c->other_library, "of other libraries"},
               {c->unasked, "of other formats or operators"},
               {c->warm, "that ran from a cache"},
               {c->impossible, "that the device has no peak or link for"}};
    int64_t sum = 0;
    size_t used = 0;
    snprintf(buffer, size, "none");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        sum += all[i].count;
        if (all[i].count > 0 && used < size)
            used += (size_t)snprintf(buffer + used, size - used, "%s%lld %s", used ? ", " : "",
                                     (long long)all[i].count, all[i].why);
    }
    return sum;
}

/* "; they have vllm, sglang": the libraries that there are, at most six. */
static void list_libraries(const chooser *c, char *buffer, size_t size)
{
    enum { MOST = 6 };
    bool seen[LLMPERF_SAMPLE_NAMES_MAX] = {false};
    size_t used = 0;
    int count = 0;
    buffer[0] = '\0';
    for (int64_t i = 0; i < c->all->count && count < MOST; i++) {
        int32_t library = c->all->sample[i].library;
        if (library == 0 || seen[library])
            continue;
        seen[library] = true;
        used += (size_t)snprintf(buffer + used, used < size ? size - used : 0, "%s%s",
                                 count++ ? ", " : "; the files have ", c->all->name[library]);
        if (used >= size)
            return;
    }
}

static llmperf_status none_left(const chooser *c, const char *what, llmperf_error *error)
{
    char why[320], libraries[160], others[320] = "";
    int64_t left_out = reasons(c, why, sizeof why);
    name_libraries(c, libraries, sizeof libraries);
    if (c->other_library > 0 && c->other_library == left_out)
        list_libraries(c, others, sizeof others);
    return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                        "no %s on %s%s%s to draw; %lld of %lld samples are left out: %s%s", what,
                        c->filter.hw->name, libraries[0] ? " by " : "", libraries,
                        (long long)left_out, (long long)c->seen, why, others);
}

static void note_left_out(const chooser *c, llmperf_notes *notes)
{
    char why[320];
    int64_t left_out = reasons(c, why, sizeof why);
    if (left_out > 0)
        llmperf_note(notes, "%lld of %lld samples left out: %s", (long long)left_out,
                     (long long)c->seen, why);
}

/* ---- rows ------------------------------------------------------------------------------------------------ */

static void describe(const llmperf_sample *s, llmperf_compare_row *row)
{
    const llmperf_op *op = &s->op;
    const char *kind = llmperf_sample_kind_name((llmperf_sample_kind)s->kind);
    bool typed = op->kind == LLMPERF_KIND_GEMM || op->kind == LLMPERF_KIND_ATTENTION;
    char stored[32] = "";
    if (s->stored)
        snprintf(stored, sizeof stored, ", %s %s",
                 op->kind == LLMPERF_KIND_ATTENTION ? "KV" : "weights",
                 llmperf_dtype_name((llmperf_dtype)s->stored));
    snprintf(row->group, sizeof row->group, "%.20s%s%s%s%s", kind, typed ? " " : "",
             typed ? llmperf_dtype_name((llmperf_dtype)op->dtype) : "", stored,
             s->block ? ", block" : "");
    if (op->kind == LLMPERF_KIND_GEMM)
        snprintf(row->label, sizeof row->label, "%.0f x %.0f x %.0f", op->m, op->n, op->k);
    else
        snprintf(row->label, sizeof row->label, "%.3g MB",
                 (op->bytes > 0 ? op->bytes : op->link_bytes) / 1e6);
}

/* Where a stream beside the sample was slower than the calibration's usual one, memory took so
 * much longer for the sample too: as `fit` scores it. */
static llmperf_op op_then(const llmperf_calib *calib, const llmperf_sample *s)
{
    bool known = calib && calib->stream_bytes_per_s > 0 && s->stream_bytes_per_s > 0;
    return known ? llmperf_op_slowed(&s->op, calib->stream_bytes_per_s / s->stream_bytes_per_s)
                 : s->op;
}

llmperf_status llmperf_chart_rows(const llmperf_samples *samples,
                                  const llmperf_chart_filter *filter,
                                  llmperf_comparison *comparison, llmperf_error *error)
{
    NEEDS(samples && filter && hw_is_sound(filter->hw) && comparison, error);
    chooser c = choose(samples, filter);
    const llmperf_config of_part = {
        .hw = filter->hw, .calib = filter->calib, .workload = {.confidence = c.filter.confidence}};
    llmperf_workspace *workspace = NULL;
    llmperf_status status = llmperf_workspace_new(NULL, 1, &workspace, error);
    int before = comparison->row_count;
    for (int64_t i = 0; i < samples->count && status == LLMPERF_OK; i++) {
        const llmperf_sample *s = &samples->sample[i];
        if (!is_wanted(&c, s))
            continue;
        const llmperf_op then = op_then(filter->calib, s);
        llmperf_compare_row row = {
            .line = s->line,
            .metric = "time_s",
            .measured = s->time_s,
            .predicted = llmperf_estimate_op(&of_part, &then, workspace),
            .kind = llmperf_config_estimate_kind(&of_part),
            .roofline = time_op(&s->op, filter->hw, NULL, NULL, NULL),
            .flags = s->flags,
        };
        describe(s, &row);
        status = llmperf_comparison_add(comparison, &row, error);
    }
    if (status == LLMPERF_OK && comparison->row_count == before)
        status = none_left(&c, "samples of any operator", error);
    note_left_out(&c, &comparison->notes);
    llmperf_workspace_free(workspace);
    return status;
}

/* ---- curves ---------------------------------------------------------------------------------------------- */

/* Samples that make a curve: a weight matrix, or a length of a head layout. */
typedef struct shape {
    double key[6]; /* of op_key() */
    double size;   /* by which a choice is spread */
    int64_t points;
    bool common; /* attention: the other phase has this length too */
} shape;

typedef struct shapes {
    int count;
    shape *shape; /* SHAPES_MAX */
} shapes;

/* What samples of one curve share. GEMM: n, k, formats. Attention: regime, length, heads, formats. */
static void gemm_key(const llmperf_sample *s, double key[6])
{
    const double k[6] = {s->op.n, s->op.k, s->op.dtype, s->stored, s->block, 0};
    memcpy(key, k, sizeof k);
}

static double length_of(const llmperf_sample *s)
{
    return s->op.past_tokens + s->op.query_tokens;
}

static bool is_decode(const llmperf_sample *s)
{
    bool scores = s->kind == LLMPERF_SAMPLE_ATTN_SCORES;
    return s->op.query_tokens == 1 && (s->kind == LLMPERF_SAMPLE_ATTN_DECODE || scores);
}

static bool is_prefill(const llmperf_sample *s)
{
    bool scores = s->kind == LLMPERF_SAMPLE_ATTN_SCORES;
    return s->op.past_tokens == 0 && !is_decode(s) &&
           (s->kind == LLMPERF_SAMPLE_ATTN_PREFILL || scores);
}

static void attention_key(const llmperf_sample *s, double key[6])
{
    const double k[6] = {is_decode(s),   length_of(s), s->op.heads * 65536 + s->op.kv_heads,
                         s->op.head_dim, s->op.dtype,  s->stored};
    memcpy(key, k, sizeof k);
}

static bool is_gemm(const llmperf_sample *s)
{
    return s->kind == LLMPERF_SAMPLE_GEMM || s->kind == LLMPERF_SAMPLE_GEMV;
}

static bool is_attention(const llmperf_sample *s)
{
    return s->kind != LLMPERF_SAMPLE_ATTN_SCORES && (is_decode(s) || is_prefill(s)) &&
           (s->window <= 0 || s->window >= length_of(s));
}

static bool is_scores(const llmperf_sample *s)
{
    return s->kind == LLMPERF_SAMPLE_ATTN_SCORES && (is_decode(s) || is_prefill(s));
}

typedef struct curve_kind {
    bool (*is)(const llmperf_sample *s);
    void (*key)(const llmperf_sample *s, double key[6]);
    bool by_rows; /* x is m; else sequences */
} curve_kind;

static const curve_kind GEMM = {is_gemm, gemm_key, true};
static const curve_kind ATTENTION = {is_attention, attention_key, false};
static const curve_kind SCORES = {is_scores, attention_key, false};

static double x_of(const curve_kind *kind, const llmperf_sample *s)
{
    return kind->by_rows ? s->op.m : s->op.sequences;
}

/* Every shape there is, with the number of points that a curve of it would have. */
static llmperf_status find_shapes(chooser *c, const curve_kind *kind, shapes *ret_shapes,
                                  llmperf_error *error)
{
    int last = 0;
    ret_shapes->count = 0;
    ret_shapes->shape = calloc(SHAPES_MAX, sizeof *ret_shapes->shape);
    if (!ret_shapes->shape)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    for (int64_t i = 0; i < c->all->count; i++) {
        const llmperf_sample *s = &c->all->sample[i];
        double key[6];
        int at = 0;
        if (!kind->is(s) || !is_wanted(c, s))
            continue;
        kind->key(s, key);
        if (last < ret_shapes->count && memcmp(ret_shapes->shape[last].key, key, sizeof key) == 0)
            at = last; /* rows of a file come shape by shape */
        while (at < ret_shapes->count && memcmp(ret_shapes->shape[at].key, key, sizeof key) != 0)
            at++;
        if (at == SHAPES_MAX)
            continue;
        shape *one = &ret_shapes->shape[at];
        if (at == ret_shapes->count) {
            memcpy(one->key, key, sizeof key);
            one->size = kind->by_rows ? s->op.n * s->op.k : length_of(s);
            ret_shapes->count++;
        }
        one->points++;
        last = at;
    }
    return LLMPERF_OK;
}

static int by_size(const void *a, const void *b)
{
    const shape *x = a, *y = b;
    return (x->size > y->size) - (x->size < y->size);
}

/* Keeps at most `most` shapes, spread evenly over the sorted ones. */
static void spread(shapes *s, int most)
{
    qsort(s->shape, (size_t)s->count, sizeof *s->shape, by_size);
    if (s->count <= most)
        return;
    for (int i = 0; i < most; i++)
        s->shape[i] = s->shape[(int)lround((double)i * (s->count - 1) / (most - 1))];
    s->count = most;
}

/* Keeps the shapes that `test` accepts, unless fewer than `least` are left. */
static void keep(shapes *s, bool (*test)(const shape *one, const void *wanted), const void *wanted,
                 int least)
{
    int kept = 0, accepted = 0;
    for (int i = 0; i < s->count; i++)
        accepted += test(&s->shape[i], wanted);
    if (accepted < least)
        return;
    for (int i = 0; i < s->count; i++)
        if (test(&s->shape[i], wanted))
            s->shape[kept++] = s->shape[i];
    s->count = kept;
}

static bool has_points(const shape *one, const void *wanted)
{
    const int64_t *least = wanted;
    return one->points >= *least;
}

static bool is_square(const shape *one, const void *wanted)
{
    (void)wanted;
    return one->key[0] == one->key[1];
}

typedef struct lengths {
    const int64_t *value;
    int count;
} lengths;

static bool is_listed(double value, const lengths *list)
{
    for (int i = 0; i < list->count; i++)
        if ((double)list->value[i] == value)
            return true;
    return false;
}

static bool is_listed_square(const shape *one, const void *wanted)
{
    return is_square(one, NULL) && is_listed(one->key[0], wanted);
}

static bool is_listed_length(const shape *one, const void *wanted)
{
    return is_listed(one->key[1], wanted);
}

/* The operator of a sample's shape at another x. */
static llmperf_op op_at(const curve_kind *kind, const llmperf_sample *s, double x)
{
    const llmperf_op *op = &s->op;
    if (kind->by_rows) {
        llmperf_op at = llmperf_sample_gemm((llmperf_dtype)op->dtype, (llmperf_dtype)s->stored, x,
                                            op->n, op->k);
        at.bytes += op->weight_bytes - at.weight_bytes; /* scales */
        at.weight_bytes = op->weight_bytes;
        return at;
    }
    const llmperf_attention_shape of = {
        .dtype = (llmperf_dtype)op->dtype,
        .kv_dtype = (llmperf_dtype)s->stored,
        .sequences = x,
        .query_tokens = op->query_tokens,
        .past_tokens = op->past_tokens,
        .window = s->window,
        .heads = op->heads,
        .kv_heads = op->kv_heads,
        .head_dim = op->head_dim,
        .value_dim = op->value_dim,
    };
    return kind == &SCORES ? llmperf_sample_scores(&of) : llmperf_sample_attention(&of);
}

/* What is predicted from the least to the most x that was measured, four points an octave. */
static llmperf_status add_predicted(const curve_kind *kind, const llmperf_sample *s, double least,
                                    double most, llmperf_curve *curve, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    double last = 0;
    for (int i = 0; status == LLMPERF_OK && last < most; i++) {
        double x = fmin(most, round(least * exp2(i / 4.0)));
        if (x == last)
            continue;
        const llmperf_curve_item item = {.op = op_at(kind, s, x), .batch = x};
        status = llmperf_curve_add(curve, &item, error);
        last = x;
    }
    return status;
}

/* The measured points of one shape and, as a curve of the same name before it, what is predicted. */
static llmperf_status add_curves(chooser *c, const curve_kind *kind, const shape *one,
                                 const char *name, llmperf_curves *curves,
                                 llmperf_curve **ret_predicted, llmperf_error *error)
{
    llmperf_curve *predicted = llmperf_curves_add(curves, name);
    llmperf_curve *measured = llmperf_curves_add(curves, name);
    const llmperf_sample *any = NULL;
    double least = INFINITY, most = 0;
    llmperf_status status = LLMPERF_OK;
    *ret_predicted = NULL;
    if (!predicted || !measured)
        return LLMPERF_OK;
    measured->measured = true;
    for (int64_t i = 0; i < c->all->count && status == LLMPERF_OK; i++) {
        const llmperf_sample *s = &c->all->sample[i];
        double key[6];
        if (!kind->is(s) || !is_wanted(c, s))
            continue;
        kind->key(s, key);
        if (memcmp(key, one->key, sizeof key) != 0)
            continue;
        const llmperf_curve_item item = {.op = s->op, .batch = x_of(kind, s), .time_s = s->time_s};
        any = s;
        least = fmin(least, item.batch);
        most = fmax(most, item.batch);
        status = llmperf_curve_add(measured, &item, error);
    }
    if (status == LLMPERF_OK && any)
        status = add_predicted(kind, any, least, most, predicted, error);
    *ret_predicted = predicted;
    return status;
}

/* Finds where a predicted curve turns compute-bound: closed form, with the peak that its largest and
 * the bandwidth that its smallest operator reaches. */
static void finish_dense(const chooser *c, const shape *one, llmperf_curve *curve)
{
    const llmperf_hw *hw = c->filter.hw;
    llmperf_time small, large;
    if (!curve || curve->count == 0)
        return;
    const llmperf_op *first = &curve->item[0].op, *last = &curve->item[curve->count - 1].op;
    time_op(first, hw, c->filter.calib, &small, NULL);
    time_op(last, hw, c->filter.calib, &large, NULL);
    if (!(large.compute_s > 0) || !(small.memory_s > 0))
        return;
    llmperf_crossing knee =
        llmperf_gemm_crossing(first->n, first->k, first->weight_bytes / (first->n * first->k),
                              first->input_bytes / (first->m * first->k),
                              last->flop / large.compute_s, first->bytes / small.memory_s);
    curve->has_knee = knee.exists;
    curve->knee.op = llmperf_sample_gemm((llmperf_dtype)one->key[2], (llmperf_dtype)one->key[3],
                                         (double)knee.batch, first->n, first->k);
    curve->knee.batch = (double)knee.batch;
}

static void describe_samples(const chooser *c, const char *what, llmperf_curves *curves)
{
    char libraries[160];
    name_libraries(c, libraries, sizeof libraries);
    snprintf(curves->what, sizeof curves->what, "%s", what);
    snprintf(curves->shape, sizeof curves->shape, "%s%s", libraries[0] ? "measured with " : "",
             libraries);
}

/* "5 of 37 weight matrices are drawn, spread over their sizes; --hidden chooses" */
static void note_drawn(int drawn, int all, const char *what, const char *option,
                       llmperf_notes *notes)
{
    if (drawn < all)
        llmperf_note(notes, "%d of %d %s are drawn; %s chooses", drawn, all, what, option);
}

static void name_matrix(const shape *one, char name[LLMPERF_PLOT_TEXT_MAX])
{
    bool stored = one->key[3] > 0;
    snprintf(name, LLMPERF_PLOT_TEXT_MAX, "%.0f x %.0f, %s%s%s%s", one->key[1], one->key[0],
             llmperf_dtype_name((llmperf_dtype)one->key[2]), one->key[4] > 0 ? " in blocks" : "",
             stored ? ", weights " : "",
             stored ? llmperf_dtype_name((llmperf_dtype)one->key[3]) : "");
}

llmperf_status llmperf_chart_dense(const llmperf_samples *samples,
                                   const llmperf_chart_filter *filter, const int64_t *hidden,
                                   int hidden_count, llmperf_curves *curves, llmperf_error *error)
{
    NEEDS(samples && filter && hw_is_sound(filter->hw) && curves, error);
    NEEDS(counts_are_sound(hidden, hidden_count), error);
    chooser c = choose(samples, filter);
    shapes found;
    const int64_t least = POINTS_LEAST;
    const lengths wanted = {hidden, hidden_count};
    llmperf_status status = find_shapes(&c, &GEMM, &found, error);
    const chooser counted = c;
    if (status != LLMPERF_OK)
        return status;
    keep(&found, has_points, &least, 0);
    int all = found.count;
    if (hidden_count > 0)
        keep(&found, is_listed_square, &wanted, 0);
    else
        keep(&found, is_square, NULL, ALIKE_LEAST);
    spread(&found, DENSE_MAX);
    for (int i = 0; i < found.count && status == LLMPERF_OK; i++) {
        char name[LLMPERF_PLOT_TEXT_MAX];
        llmperf_curve *predicted;
        name_matrix(&found.shape[i], name);
        status = add_curves(&c, &GEMM, &found.shape[i], name, curves, &predicted, error);
        finish_dense(&c, &found.shape[i], predicted);
    }
    describe_samples(&c, "Linear layers", curves);
    note_left_out(&counted, &curves->notes);
    note_drawn(found.count, all, "weight matrices", "--hidden", &curves->notes);
    if (status == LLMPERF_OK && found.count == 0)
        status = none_left(&counted,
                           hidden_count > 0 ? "GEMM of a --hidden size at three or more m"
                                            : "GEMM at three or more m",
                           error);
    free(found.shape);
    return status;
}

static bool is_same_layout(const shape *one, const void *wanted)
{
    const shape *other = wanted;
    return memcmp(&one->key[2], &other->key[2], 4 * sizeof(double)) == 0;
}

static int64_t points_of_layout(const shapes *s, const shape *one)
{
    int64_t points = 0;
    for (int k = 0; k < s->count; k++)
        points += is_same_layout(&s->shape[k], one) ? s->shape[k].points : 0;
    return points;
}

/* Keeps one head layout: the widest of those with at least half as many points as the best. */
static void keep_layout(shapes *s)
{
    int64_t most = 0;
    double widest = 0;
    shape best = {0};
    for (int i = 0; i < s->count; i++) {
        int64_t points = points_of_layout(s, &s->shape[i]);
        most = points > most ? points : most;
    }
    for (int i = 0; i < s->count; i++) {
        double width = s->shape[i].key[2] * s->shape[i].key[3];
        if (width <= widest || 2 * points_of_layout(s, &s->shape[i]) < most)
            continue;
        widest = width;
        best = s->shape[i];
    }
    keep(s, is_same_layout, &best, 0);
}

static bool is_common(const shape *one, const void *wanted)
{
    (void)wanted;
    return one->common;
}

static bool is_long(const shape *one, const void *wanted)
{
    (void)wanted;
    return one->size >= LENGTH_LEAST;
}

/* Keeps the lengths that both phases have, where they are enough to be drawn alone. */
static void keep_common_lengths(shapes *s)
{
    int kept = 0;
    for (int i = 0; i < s->count; i++) {
        s->shape[i].common = false;
        for (int k = 0; k < s->count; k++)
            s->shape[i].common |= s->shape[k].key[1] == s->shape[i].key[1] &&
                                  s->shape[k].key[0] != s->shape[i].key[0];
        kept += s->shape[i].common;
    }
    if (kept >= 2 * ALIKE_LEAST)
        keep(s, is_common, NULL, 0);
}

static bool is_of_phase(const shape *one, const void *wanted)
{
    const bool *decode = wanted;
    return (one->key[0] > 0) == *decode;
}

static llmperf_status add_phase(chooser *c, const curve_kind *kind, const shapes *found,
                                bool decode, llmperf_curves *curves, llmperf_error *error)
{
    shapes phase = {found->count, malloc((size_t)(found->count + 1) * sizeof *phase.shape)};
    llmperf_status status = LLMPERF_OK;
    if (!phase.shape)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    memcpy(phase.shape, found->shape, (size_t)found->count * sizeof *phase.shape);
    keep(&phase, is_of_phase, &decode, 0);
    spread(&phase, LENGTHS_MAX);
    for (int i = 0; i < phase.count && status == LLMPERF_OK; i++) {
        char name[LLMPERF_PLOT_TEXT_MAX];
        llmperf_curve *predicted;
        snprintf(name, sizeof name, "s = %.0f", phase.shape[i].key[1]);
        status = add_curves(c, kind, &phase.shape[i], name, curves, &predicted, error);
        if (predicted)
            predicted->decode = curves->curve[curves->count - 1].decode = decode;
    }
    free(phase.shape);
    return status;
}

static void describe_layout(const shape *one, llmperf_curves *curves)
{
    const double *key = one->key;
    double kv_heads = fmod(key[2], 65536);
    size_t used = strlen(curves->shape);
    snprintf(curves->shape + used, sizeof curves->shape - used,
             "%s%.0f heads, %.0f KV heads of %.0f, %s%s%s", used ? ", " : "",
             (key[2] - kv_heads) / 65536, kv_heads, key[3],
             llmperf_dtype_name((llmperf_dtype)key[4]), key[5] > 0 ? ", KV " : "",
             key[5] > 0 ? llmperf_dtype_name((llmperf_dtype)key[5]) : "");
}

static int count_layouts(const shapes *s)
{
    int count = 0;
    for (int i = 0; i < s->count; i++) {
        int k = 0;
        while (k < i && !is_same_layout(&s->shape[k], &s->shape[i]))
            k++;
        count += k == i;
    }
    return count;
}

/* What is missing, in words of `llmperf plot`. */
static const char *no_attention(bool unfused, bool listed)
{
    if (unfused)
        return listed ? "products of queries and keys (attn_scores) of a --prompt length at three "
                        "or more batches"
                      : "products of queries and keys (attn_scores) at three or more batches";
    return listed ? "attention of a --prompt length at three or more batches"
                  : "attention at three or more batches";
}

llmperf_status llmperf_chart_attention(const llmperf_samples *samples,
                                       const llmperf_chart_filter *filter, const int64_t *prompts,
                                       int prompt_count, llmperf_curves *curves,
                                       llmperf_error *error)
{
    NEEDS(samples && filter && hw_is_sound(filter->hw) && curves, error);
    NEEDS(counts_are_sound(prompts, prompt_count), error);
    chooser c = choose(samples, filter);
    shapes found;
    const int64_t least = POINTS_LEAST;
    const lengths wanted = {prompts, prompt_count};
    const curve_kind *kind = filter->unfused ? &SCORES : &ATTENTION;
    llmperf_status status = find_shapes(&c, kind, &found, error);
    const chooser counted = c;
    if (status != LLMPERF_OK)
        return status;
    keep(&found, has_points, &least, 0);
    if (prompt_count > 0)
        keep(&found, is_listed_length, &wanted, 0);
    else
        keep(&found, is_long, NULL, 1);
    int layouts = count_layouts(&found);
    keep_layout(&found);
    keep_common_lengths(&found);
    status = add_phase(&c, kind, &found, false, curves, error);
    if (status == LLMPERF_OK)
        status = add_phase(&c, kind, &found, true, curves, error);
    describe_samples(&c, filter->unfused ? "Product of queries and keys" : "Attention", curves);
    note_left_out(&counted, &curves->notes);
    if (layouts > 1)
        llmperf_note(&curves->notes,
                     "1 of %d head layouts is drawn: the widest of those that are "
                     "measured well",
                     layouts);
    if (status == LLMPERF_OK && found.count > 0)
        describe_layout(&found.shape[0], curves);
    else if (status == LLMPERF_OK)
        status = none_left(&counted, no_attention(filter->unfused, prompt_count > 0), error);
    free(found.shape);
    return status;
}

/* ---- residuals ------------------------------------------------------------------------------- */

llmperf_status llmperf_chart_residuals(const llmperf_samples *samples,
                                       const llmperf_chart_filter *filter, llmperf_plot *plot,
                                       llmperf_error *error)
{
    NEEDS(samples && filter && hw_is_sound(filter->hw) && plot, error);
    llmperf_comparison comparison = {0};
    llmperf_status status = llmperf_chart_rows(samples, filter, &comparison, error);
    if (status == LLMPERF_OK)
        status = llmperf_plot_residuals(&comparison, plot, error);
    if (status == LLMPERF_OK) {
        snprintf(plot->title, sizeof plot->title, "Measured over predicted on %s",
                 filter->hw->name);
        snprintf(plot->subtitle, sizeof plot->subtitle,
                 "each sample against its size; %s%s%s; error: mean of |predicted / measured - 1|, "
                 "inside: the %d %% interval",
                 filter->calib ? "calibration " : "no calibration: predictions are the roofline",
                 filter->calib ? filter->calib->name : "",
                 filter->calib && filter->calib->borrowed > 0 ? ", borrowed" : "",
                 (int)(100 * (filter->confidence > 0 ? filter->confidence : 0.9) + 0.5));
    }
    llmperf_comparison_free(&comparison);
    return status;
}
