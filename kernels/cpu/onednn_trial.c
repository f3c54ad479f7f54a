/* SPDX-License-Identifier: MIT */
/*
 * Which products oneDNN is used for: tried in a child process, where it may die. A format whose
 * results are not those of plain loops is not used; bf16 and int8 without instructions of their own
 * are used where they are faster than fp32 all the same; fp32 goes to whichever of oneDNN and
 * OpenBLAS is faster, products with one row and with more apart. oneDNN 2 takes longer for two rows
 * than for four or six, which fill its registers: few rows run as the number that is fastest.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cpu.h"

enum {
    CHECK_M = 5,
    CHECK_N = 72,
    CHECK_K = 200,
    SPEED_N = 1536,
    SPEED_K = 1536,
    ROUNDS = 2,
    FEW_ROUNDS = 3
};
enum { ONE, FEW, MANY, ROWS_COUNT };

static const int ROWS[ROWS_COUNT] = {1, 4, 128};
static const double SPEED_S = 0.02; /* for each product and round */
static const double FEW_SPEED_S = 0.01, FEW_BETTER = 1.05;
/* Weights rotate over this many last-level caches: of two a part stays. */
static const double CACHES = 8;
static const double MOST_BYTES = 512 << 20;
static const double CLEARLY_BETTER = 1.1;
static const char *const TYPE_NAMES[CPU_TYPES] = {"fp32", "bf16", "int8"};

/* What happened to one format. */
typedef struct format_trial {
    bool offered; /* oneDNN has a product of it */
    double error, tolerance;
    double seconds[ROWS_COUNT];
    double few_seconds[CPU_FEW_ROWS + 1]; /* of 1, 2 ... rows; [0] unused */
    char implementation[48];
} format_trial;

typedef struct dnn_trial {
    const cpu_runtime_options *options;
    double cache_bytes;
    bool has_blas, pinned;
    bool opened;
    char why[LLMPERF_TEXT_MAX];
    format_trial format[CPU_TYPES];
    double blas_seconds[ROWS_COUNT];
} dnn_trial;

/* ---- are its results right? ---------------------------------------------------------------------- */

/* One check: operands in their own format and as floats. */
typedef struct check {
    float a[CHECK_M * CHECK_K], w[CHECK_N * CHECK_K];
    float want[CHECK_M * CHECK_N], got[CHECK_M * CHECK_N];
    uint16_t a16[CHECK_M * CHECK_K], w16[CHECK_N * CHECK_K], out16[CHECK_M * CHECK_N];
    int8_t a8[CHECK_M * CHECK_K], w8[CHECK_N * CHECK_K];
    int32_t out32[CHECK_M * CHECK_N];
} check;

static float widened(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void fill_check(const cpu_kernels *kernels, cpu_type type, check *c)
{
    kernels->fill(c->a, CHECK_M * CHECK_K, 5);
    kernels->fill(c->w, CHECK_N * CHECK_K, 6);
    kernels->fill_bf16(c->a16, CHECK_M * CHECK_K, 5);
    kernels->fill_bf16(c->w16, CHECK_N * CHECK_K, 6);
    kernels->fill_int8(c->a8, CHECK_M * CHECK_K, 5);
    kernels->fill_int8(c->w8, CHECK_N * CHECK_K, 6);
    for (int i = 0; i < CHECK_M * CHECK_K; i++)
        c->a8[i] &= 0x7f; /* unsigned, and small enough for processors that add in 16 bit */
    for (int i = 0; type == CPU_BF16 && i < CHECK_M * CHECK_K; i++)
        c->a[i] = widened(c->a16[i]);
    for (int i = 0; type == CPU_BF16 && i < CHECK_N * CHECK_K; i++)
        c->w[i] = widened(c->w16[i]);
    for (int i = 0; type == CPU_INT8 && i < CHECK_M * CHECK_K; i++)
        c->a[i] = c->a8[i];
    for (int i = 0; type == CPU_INT8 && i < CHECK_N * CHECK_K; i++)
        c->w[i] = c->w8[i];
}

/* Largest difference of the first `m` rows from plain loops; INFINITY when it does not run. */
static double error_of(const cpu_dnn *dnn, cpu_type type, int m, check *c, float largest[1])
{
    void *const from[CPU_TYPES] = {c->a, c->a16, c->a8}, *const plain[CPU_TYPES] = {c->w, c->w16,
                                                                                    c->w8};
    void *const to[CPU_TYPES] = {c->got, c->out16, c->out32};
    cpu_product product = {0};
    double error = INFINITY;
    if (!cpu_product_open(dnn, type, m, CHECK_N, CHECK_K, &product))
        return INFINITY;
    char *packed = calloc(1, product.weight_bytes);
    memset(to[type], 0, sizeof(float) * (type == CPU_BF16 ? 0 : (size_t)(m * CHECK_N)));
    if (packed && cpu_product_pack(&product, plain[type], packed) &&
        cpu_product_bind(&product, from[type], to[type], packed, product.weight_bytes, 1) &&
        cpu_product_run(&product, 0)) {
        error = 0;
        for (int i = 0; i < m * CHECK_N; i++) {
            double got = type == CPU_FP32   ? (double)c->got[i]
                         : type == CPU_BF16 ? (double)widened(c->out16[i])
                                            : (double)c->out32[i];
            double difference = fabs(got - (double)c->want[i]);
            if (!(difference <= error)) /* also NaN */
                error = difference;
            largest[0] = fmaxf(largest[0], fabsf(c->want[i]));
        }
    }
    free(packed);
    cpu_product_close(&product);
    return error;
}

static void check_format(const cpu_kernels *kernels, const cpu_dnn *dnn, cpu_type type,
                         format_trial *f)
{
    cpu_product product = {0};
    check *c = calloc(1, sizeof *c);
    float largest = 0;
    f->error = INFINITY;
    f->offered = cpu_product_open(dnn, type, CHECK_M, CHECK_N, CHECK_K, &product);
    if (f->offered)
        memcpy(f->implementation, product.implementation, sizeof f->implementation);
    cpu_product_close(&product);
    if (c && f->offered) {
        fill_check(kernels, type, c);
        kernels->gemm(CHECK_M, CHECK_N, CHECK_K, c->a, c->w, c->want);
        f->error = error_of(dnn, type, CHECK_M, c, &largest);
        f->error = fmax(f->error, error_of(dnn, type, 1, c, &largest));
        /* sums of fp32 in another order; a result cut to 8 bits; whole numbers */
        f->tolerance = type == CPU_FP32 ? 1e-4 : type == CPU_BF16 ? largest / 128 : 0;
    }
    free(c);
}

/* ---- how fast is it? ------------------------------------------------------------------------------- */

/* Weights to rotate over. */
typedef struct pool {
    char *data;
    size_t bytes;
    float *in, *out;
} pool;

static bool pool_open(pool *p, double bytes)
{
    memset(p, 0, sizeof *p);
    p->bytes = (size_t)bytes;
    p->data = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p->data == MAP_FAILED)
        p->data = NULL;
    else
        madvise(p->data, p->bytes, MADV_HUGEPAGE);
    p->in = calloc((size_t)ROWS[MANY] * SPEED_K, sizeof *p->in);
    p->out = calloc((size_t)ROWS[MANY] * SPEED_N, sizeof *p->out);
    return p->data && p->in && p->out;
}

static void pool_close(pool *p)
{
    if (p->data)
        munmap(p->data, p->bytes);
    free(p->in);
    free(p->out);
}

static void fill_pool(const cpu_kernels *kernels, cpu_type type, pool *p)
{
    const size_t count = (size_t)ROWS[MANY] * SPEED_K;
    if (type == CPU_FP32) {
        kernels->fill((float *)(void *)p->data, p->bytes / 4, 7);
        kernels->fill(p->in, count, 8);
    } else if (type == CPU_BF16) {
        kernels->fill_bf16((uint16_t *)(void *)p->data, p->bytes / 2, 7);
        kernels->fill_bf16((uint16_t *)(void *)p->in, count, 8);
    } else {
        kernels->fill_int8((int8_t *)p->data, p->bytes, 7);
        kernels->fill_int8((int8_t *)(void *)p->in, count, 8);
    }
}

/* The usual seconds of one product, weights cold; INFINITY when it does not run. */
static double time_dnn(const cpu_dnn *dnn, cpu_type type, int m, pool *p, double limit_s)
{
    cpu_product product = {0};
    double usual = INFINITY;
    if (!cpu_product_open(dnn, type, m, SPEED_N, SPEED_K, &product))
        return INFINITY;
    int64_t copies = (int64_t)(p->bytes / product.weight_bytes), turn = 0;
    if (copies > 0 &&
        cpu_product_bind(&product, p->in, p->out, p->data, product.weight_bytes, copies)) {
        bool runs = true;
        cpu_best best = cpu_best_begin(limit_s);
        while (runs && cpu_best_more(&best))
            runs = cpu_product_run(&product, turn++ % copies);
        usual = runs ? cpu_best_usual(&best) : INFINITY;
    }
    cpu_product_close(&product);
    return usual;
}

static double time_blas(const cpu_blas *b, int m, const pool *p)
{
    const size_t each = (size_t)SPEED_N * SPEED_K;
    const float *weights = (const float *)(const void *)p->data;
    int64_t copies = (int64_t)(p->bytes / 4 / each), turn = 0;
    cpu_best best = cpu_best_begin(SPEED_S);
    while (copies > 0 && cpu_best_more(&best)) {
        const float *w = weights + (size_t)(turn++ % copies) * each;
        if (m == 1)
            b->sgemv(CPU_ORDER_ROWS, CPU_NO_TRANSPOSE, SPEED_N, SPEED_K, 1, w, SPEED_K, p->in, 1, 0,
                     p->out, 1);
        else
            b->sgemm(CPU_ORDER_ROWS, CPU_NO_TRANSPOSE, CPU_TRANSPOSE, m, SPEED_N, SPEED_K, 1, p->in,
                     SPEED_K, w, SPEED_K, 0, p->out, SPEED_N);
    }
    return cpu_best_usual(&best);
}

static void time_format(dnn_trial *t, cpu_type type, const cpu_dnn *dnn, const cpu_blas *blas,
                        pool *p)
{
    format_trial *f = &t->format[type];
    for (int r = 0; r < ROWS_COUNT; r++) {
        f->seconds[r] = INFINITY;
        if (type == CPU_FP32)
            t->blas_seconds[r] = INFINITY;
    }
    /* the two by turns: company may come and go */
    for (int round = 0; round < ROUNDS; round++)
        for (int r = 0; r < ROWS_COUNT; r++) {
            if (f->offered)
                f->seconds[r] = fmin(f->seconds[r], time_dnn(dnn, type, ROWS[r], p, SPEED_S));
            if (type == CPU_FP32 && blas)
                t->blas_seconds[r] = fmin(t->blas_seconds[r], time_blas(blas, ROWS[r], p));
        }
}

/* Products of one row, two rows ... by turns. */
static void time_few(format_trial *f, cpu_type type, const cpu_dnn *dnn, pool *p)
{
    for (int m = 1; m <= CPU_FEW_ROWS; m++)
        f->few_seconds[m] = INFINITY;
    for (int round = 0; f->offered && round < FEW_ROUNDS; round++)
        for (int m = 1; m <= CPU_FEW_ROWS; m++)
            f->few_seconds[m] = fmin(f->few_seconds[m], time_dnn(dnn, type, m, p, FEW_SPEED_S));
}

/* The child's work. */
static void carry_out(void *job)
{
    dnn_trial *t = job;
    const cpu_kernels *kernels;
    cpu_dnn dnn;
    cpu_blas blas = {0};
    char path[LLMPERF_PATH_MAX];
    pool p = {0};
    if (!cpu_kernels_open(&kernels, t->why, sizeof t->why))
        return;
    kernels->set_threads(t->options->threads);
    if (t->pinned)
        kernels->pin(t->options->cpus, t->options->threads);
    bool has_blas = t->has_blas && cpu_blas_open(t->options->blas, &blas, path, sizeof path);
    if (!cpu_dnn_open(t->options->onednn, &dnn, t->why, sizeof t->why))
        return;
    kernels->set_threads(t->options->threads);
    if (has_blas)
        blas.set_threads(t->options->threads);
    for (int i = 0; i < CPU_TYPES; i++)
        check_format(kernels, &dnn, (cpu_type)i, &t->format[i]);
    if (pool_open(&p, fmin(fmax(CACHES * t->cache_bytes, 32 << 20), MOST_BYTES)))
        for (int i = 0; i < CPU_TYPES; i++) {
            fill_pool(kernels, (cpu_type)i, &p);
            time_format(t, (cpu_type)i, &dnn, has_blas ? &blas : NULL, &p);
            time_few(&t->format[i], (cpu_type)i, &dnn, &p);
        }
    pool_close(&p);
    t->opened = true;
}

/* ---- choosing ------------------------------------------------------------------------------------------ */

/* Is this format right, and worth having? Says why not. */
static bool is_good(const dnn_trial *t, cpu_type type, bool native, char *why, size_t size)
{
    const format_trial *f = &t->format[type], *plain = &t->format[CPU_FP32];
    const char *name = TYPE_NAMES[type];
    if (!f->offered) {
        snprintf(why, size, "oneDNN has no %s product for this processor", name);
        return false;
    }
    if (!(f->error <= f->tolerance)) {
        snprintf(why, size, "oneDNN's %s product computes wrong (off by %.2g)", name, f->error);
        return false;
    }
    double few = fmin(plain->seconds[FEW], t->blas_seconds[FEW]);
    double many = fmin(plain->seconds[MANY], t->blas_seconds[MANY]);
    if (!native && f->seconds[FEW] > few && f->seconds[MANY] > many) {
        snprintf(why, size,
                 "%s is emulated here and slower than fp32 (%.3g against %.3g ms): no engine "
                 "would use it",
                 name, f->seconds[MANY] * 1e3, many * 1e3);
        return false;
    }
    return true;
}

/* As how many rows few of them run: the fastest number, unless their own is about as fast. */
static void choose_rows(const format_trial *f, cpu_type type, cpu_runtime *r)
{
    char text[LLMPERF_TEXT_MAX] = "";
    size_t used = 0;
    for (int m = 1; m <= CPU_FEW_ROWS; m++) {
        int best = m;
        for (int more = m + 1; more <= CPU_FEW_ROWS; more++)
            if (f->few_seconds[more] < f->few_seconds[best])
                best = more;
        if (!(f->few_seconds[m] > FEW_BETTER * f->few_seconds[best]))
            best = m;
        r->dnn_rows_as[type][m] = best;
        if (best != m && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%d as %d (%.3g, %.3g ms)",
                                     used ? ", " : "", m, best, f->few_seconds[m] * 1e3,
                                     f->few_seconds[best] * 1e3);
    }
    if (used)
        llmperf_note(&r->notes, "oneDNN's %s products of few rows, %d x %d: %.200s",
                     TYPE_NAMES[type], SPEED_N, SPEED_K, text);
}

/* How fp32 is computed: the faster library, for one row and for more. One row is bound by memory, so
 * both come close to each other where that is slow; where it is fast OpenBLAS falls behind. oneDNN,
 * when it has the other rows, takes this one too unless it is clearly slower, so that runs agree. */
static void choose_fp32(const dnn_trial *t, cpu_runtime *r)
{
    const char *asked = t->options->fp32;
    const double *dnn = t->format[CPU_FP32].seconds, *blas = t->blas_seconds;
    double gain = sqrt(blas[FEW] / dnn[FEW] * (blas[MANY] / dnn[MANY]));
    double one = fmin(dnn[ONE], t->format[CPU_FP32].few_seconds[r->dnn_rows_as[CPU_FP32][1]]);
    r->dnn_rows = !r->has_blas || gain > CLEARLY_BETTER;
    r->dnn_one_row = r->dnn_rows && (!r->has_blas || CLEARLY_BETTER * blas[ONE] > one);
    if (asked[0]) {
        r->dnn_one_row = strcmp(asked, "onednn") == 0;
        r->dnn_rows = strcmp(asked, "openblas") != 0;
    }
    if (r->has_blas)
        llmperf_note(&r->notes,
                     "fp32 products with one row by %s, with more by %s (ms for %d x %d and 1, %d, "
                     "%d rows: oneDNN %.3g, %.3g, %.3g; OpenBLAS %.3g, %.3g, %.3g)",
                     r->dnn_one_row ? "oneDNN" : "OpenBLAS", r->dnn_rows ? "oneDNN" : "OpenBLAS",
                     SPEED_N, SPEED_K, ROWS[FEW], ROWS[MANY], one * 1e3, dnn[FEW] * 1e3,
                     dnn[MANY] * 1e3, blas[ONE] * 1e3, blas[FEW] * 1e3, blas[MANY] * 1e3);
}

static const char *how(bool has, bool native)
{
    return !has ? "no" : native ? "native" : "emulated";
}

/* Nothing of oneDNN, for one reason. */
static void leave_out(cpu_runtime *r, const char *why)
{
    for (int i = 0; i < CPU_TYPES; i++) {
        r->has_dnn[i] = false;
        snprintf(r->no_dnn[i], sizeof r->no_dnn[i], "%.127s", why);
    }
}

void cpu_dnn_choose(const cpu_host *host, const cpu_runtime_options *options, cpu_runtime *r)
{
    dnn_trial *t = calloc(2, sizeof *t); /* the second: what comes back */
    char why[LLMPERF_TEXT_MAX];
    int ended_by = 0;
    if (strcmp(options->onednn, "none") == 0 || !t) {
        leave_out(r, "oneDNN is switched off (onednn=none)");
        free(t);
        return;
    }
    *t = (dnn_trial){.options = options,
                     .has_blas = r->has_blas,
                     .pinned = r->pinned,
                     .cache_bytes = host->last_cache_bytes};
    bool came = cpu_in_child(carry_out, t, t + 1, sizeof *t, &ended_by);
    if (!came || !t->opened) {
        snprintf(why, sizeof why, "%.*s", (int)sizeof why - 1, t->why);
        if (!came && ended_by < 0)
            snprintf(why, sizeof why, "oneDNN took more than %d s to try", CPU_CHILD_LIMIT_S);
        else if (!came)
            snprintf(why, sizeof why, "oneDNN died of signal %d in a trial", ended_by);
        leave_out(r, why);
        llmperf_note(&r->notes, "%s", why);
        free(t);
        return;
    }
    const bool native[CPU_TYPES] = {true, host->has_bf16, host->has_int8};
    for (int i = 0; i < CPU_TYPES; i++)
        r->has_dnn[i] = is_good(t, (cpu_type)i, native[i], r->no_dnn[i], sizeof r->no_dnn[i]);
    for (int i = 0; i < CPU_TYPES; i++)
        if (!r->has_dnn[i])
            llmperf_note(&r->notes, "%s", r->no_dnn[i]);
    llmperf_note(&r->notes,
                 "oneDNN products: bf16 %s, int8 %s (by the processor's flags); weights are packed "
                 "once, as an engine does on loading",
                 how(r->has_dnn[CPU_BF16], native[CPU_BF16]),
                 how(r->has_dnn[CPU_INT8], native[CPU_INT8]));
    for (int i = 0; i < CPU_TYPES; i++)
        choose_rows(&t->format[i], (cpu_type)i, r);
    if (r->has_dnn[CPU_FP32])
        choose_fp32(t, r);
    free(t);
}
