/* SPDX-License-Identifier: MIT */
/*
 * The CPU backend and every trap it must not fall into, each case in a process of its own: what
 * libgomp and OpenBLAS read when they are loaded cannot be taken back. Decisions and flags are
 * checked, never speeds. A plain main, so that leaks show.
 */
#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../kernels/cpu/cpu.h"
#include "llmperf/measure.h"
#include "llmperf/samples.h"

enum { SKIP = 77 };

static int failures;

#define EXPECT(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            printf("# %s:%d: %s: ", __FILE__, __LINE__, #condition);                               \
            printf(__VA_ARGS__);                                                                   \
            puts("");                                                                              \
        }                                                                                          \
    } while (0)

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- a device in hand ---- */

typedef struct bench {
    const llmperf_backend *backend;
    void *handle;
    llmperf_device device;
    char notes[LLMPERF_NOTES_MAX * LLMPERF_TEXT_MAX]; /* all of them, for strstr */
} bench;

static void describe(bench *b)
{
    b->backend->describe(b->handle, &b->device, NULL);
    size_t used = 0;
    b->notes[0] = '\0';
    for (int i = 0; i < b->device.notes.count && used < sizeof b->notes; i++)
        used += (size_t)snprintf(b->notes + used, sizeof b->notes - used, "%s\n",
                                 b->device.notes.text[i]);
}

static bool open_bench(bench *b, const char *options)
{
    llmperf_error error = {0};
    llmperf_status status = llmperf_backend_find("cpu", &b->backend, &error);
    if (status == LLMPERF_OK)
        status = b->backend->open(0, options, &b->handle, &error);
    EXPECT(status == LLMPERF_OK, "%s", error.text);
    if (status == LLMPERF_OK)
        describe(b);
    return status == LLMPERF_OK;
}

static double state_of(const bench *b, const char *key)
{
    for (int i = 0; i < b->device.state_count; i++)
        if (strcmp(b->device.state[i].key, key) == 0)
            return b->device.state[i].number;
    return -1;
}

static llmperf_probe gemm(double m, double n, double k)
{
    return (llmperf_probe){
        .kind = LLMPERF_PROBE_OP,
        .cold = true,
        .op = llmperf_sample_gemm(LLMPERF_DTYPE_FP32, LLMPERF_DTYPE_NONE, m, n, k)};
}

static llmperf_probe gemm_of(llmperf_dtype dtype, double m, double n, double k)
{
    llmperf_probe probe = gemm(m, n, k);
    probe.op = llmperf_sample_gemm(dtype, LLMPERF_DTYPE_NONE, m, n, k);
    return probe;
}

static const llmperf_probe READ = {.kind = LLMPERF_PROBE_READ, .bytes = 8 << 20};

/* Runs a probe; returns its status. */
static llmperf_status run(bench *b, const llmperf_probe *probe, int count, double *seconds,
                          unsigned *flags, llmperf_error *error)
{
    return b->backend->time_op(b->handle, probe, count, seconds, flags, error);
}

static bool supports(bench *b, const llmperf_probe *probe, llmperf_error *error)
{
    return b->backend->supports(b->handle, probe, error);
}

/* Options that put fake_blas.so in place of OpenBLAS, and leave oneDNN out. */
static const char *fake_blas(const char *behaviour)
{
    static char options[LLMPERF_PATH_MAX + 32];
    const char *path = getenv("FAKE_BLAS_PATH");
    setenv("FAKE_BLAS", behaviour, 1);
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OMP_PROC_BIND");
    snprintf(options, sizeof options, "blas=%s,onednn=none", path ? path : "");
    return options;
}

/* Options that put fake_dnn.so in place of oneDNN, beside the fake BLAS or without any. */
static const char *fake_dnn(const char *behaviour, bool blas)
{
    static char options[2 * LLMPERF_PATH_MAX + 32];
    const char *path = getenv("FAKE_BLAS_PATH"), *dnn = getenv("FAKE_DNN_PATH");
    setenv("FAKE_BLAS", "*:good", 1);
    setenv("FAKE_DNN", behaviour, 1);
    unsetenv("OPENBLAS_CORETYPE");
    unsetenv("OMP_PROC_BIND");
    snprintf(options, sizeof options, "blas=%s,onednn=%s", blas && path ? path : "/nonexistent",
             dnn ? dnn : "");
    return options;
}

/* ---- kernels are right ---- */

static const cpu_kernels *load_kernels(void)
{
    char path[LLMPERF_PATH_MAX];
    cpu_kernels_entry entry;
    snprintf(path, sizeof path, "%s/llmperf-cpu-omp.so", getenv("LLMPERF_MODULES"));
    void *library = dlopen(path, RTLD_NOW);
    void *symbol = library ? dlsym(library, CPU_KERNELS_SYMBOL) : NULL;
    EXPECT(symbol, "%s", path);
    if (!symbol)
        return NULL;
    memcpy(&entry, &symbol, sizeof entry);
    return entry();
}

static float widened(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Largest difference from the definition, in double. */
static double attention_error(const cpu_kernels *kernels, const cpu_attention *a, int threads)
{
    int64_t tokens = a->past + a->query, group = a->heads / a->kv_heads;
    size_t q_count = (size_t)(a->sequences * a->query * a->heads * a->head_dim);
    size_t k_count = (size_t)(a->sequences * a->kv_heads * tokens * a->head_dim);
    size_t v_count = (size_t)(a->sequences * a->kv_heads * tokens * a->value_dim);
    size_t out_count = (size_t)(a->sequences * a->query * a->heads * a->value_dim);
    float *q = malloc(q_count * sizeof *q), *k = malloc(k_count * sizeof *k);
    float *v = malloc(v_count * sizeof *v), *out = malloc(out_count * sizeof *out);
    uint16_t *k16 = malloc(k_count * sizeof *k16), *v16 = malloc(v_count * sizeof *v16);
    size_t scratch_count = kernels->attention_scratch(a, threads);
    float *scratch = malloc(scratch_count * sizeof *scratch);
    double *weight = malloc((size_t)tokens * sizeof *weight), worst = 0;
    kernels->set_threads(threads);
    kernels->fill(q, q_count, 1);
    kernels->fill(k, k_count, 2);
    kernels->fill(v, v_count, 3);
    kernels->fill_bf16(k16, k_count, 2);
    kernels->fill_bf16(v16, v_count, 3);
    for (size_t i = 0; a->kv_bf16 && i < k_count; i++)
        k[i] = widened(k16[i]);
    for (size_t i = 0; a->kv_bf16 && i < v_count; i++)
        v[i] = widened(v16[i]);
    for (size_t i = 0; i < q_count; i++)
        q[i] *= 8; /* scores that differ: a soft maximum that is not a mean */
    for (size_t i = 0; i < out_count; i++)
        out[i] = NAN;
    for (size_t i = 0; i < scratch_count; i++)
        scratch[i] = NAN; /* nothing may be read before it is written */
    kernels->attention(a, threads, q, a->kv_bf16 ? (void *)k16 : k, a->kv_bf16 ? (void *)v16 : v,
                       out, scratch);
    for (int64_t s = 0; s < a->sequences; s++)
        for (int64_t i = 0; i < a->query; i++)
            for (int64_t h = 0; h < a->heads; h++) {
                const float *row = q + ((s * a->query + i) * a->heads + h) * a->head_dim;
                const float *keys = k + (s * a->kv_heads + h / group) * tokens * a->head_dim;
                const float *values = v + (s * a->kv_heads + h / group) * tokens * a->value_dim;
                const float *got = out + ((s * a->query + i) * a->heads + h) * a->value_dim;
                int64_t seen = a->past + i + 1;
                double most = -INFINITY, sum = 0;
                for (int64_t j = 0; j < seen; j++) {
                    weight[j] = 0;
                    for (int64_t d = 0; d < a->head_dim; d++)
                        weight[j] += (double)row[d] * keys[j * a->head_dim + d];
                    weight[j] /= sqrt((double)a->head_dim);
                    most = fmax(most, weight[j]);
                }
                for (int64_t j = 0; j < seen; j++) {
                    weight[j] = exp(weight[j] - most);
                    sum += weight[j];
                }
                for (int64_t d = 0; d < a->value_dim; d++) {
                    double want = 0;
                    for (int64_t j = 0; j < seen; j++)
                        want += weight[j] * values[j * a->value_dim + d];
                    double error = fabs(got[d] - want / sum);
                    if (!(error <= worst)) /* NaN stays */
                        worst = error;
                }
            }
    free(q), free(k), free(v), free(out), free(scratch), free(weight), free(k16), free(v16);
    return worst;
}

static int attention_agrees_with_its_definition(void)
{
    const cpu_attention shapes[] = {
        /* sequences, query, past, heads, kv_heads, head_dim, value_dim */
        {1, 1, 0, 4, 4, 64, 64},      {1, 1, 2047, 8, 2, 128, 128}, /* decode, split */
        {3, 1, 99, 6, 2, 64, 64},     {2, 1, 300, 16, 1, 80, 80},   /* many rows, odd head size */
        {1, 1, 5000, 1, 1, 128, 128}, {5, 1, 640, 71, 1, 64, 64},   /* 71 rows: two blocks */
        {1, 128, 0, 8, 2, 128, 128},  {2, 67, 0, 3, 3, 64, 64},     /* prefill */
        {1, 200, 0, 8, 1, 96, 96},    {1, 33, 0, 4, 2, 192, 128},   /* MLA-like sizes */
        {1, 16, 500, 8, 2, 128, 128}, {2, 5, 63, 8, 8, 40, 40},     /* extend */
        {1, 64, 1000, 4, 1, 64, 64},  {1, 2, 127, 12, 4, 72, 72},
    };
    const cpu_kernels *kernels = load_kernels();
    for (int threads = 1; kernels && threads <= 3; threads++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            for (int bf16 = 0; bf16 < 2; bf16++) {
                cpu_attention shape = shapes[i];
                shape.kv_bf16 = bf16;
                double error = attention_error(kernels, &shape, threads);
                EXPECT(error <= 3e-5, "shape %zu, bf16 %d, on %d threads: off by %g", i, bf16,
                       threads, error);
            }
        }
    return 0;
}

static int streams_and_products_are_right(void)
{
    enum { COUNT = 10007 }; /* no multiple of anything */
    static float a[COUNT], b[COUNT], c[COUNT], d[COUNT];
    const cpu_kernels *kernels = load_kernels();
    if (!kernels)
        return 0;
    for (int threads = 1; threads <= 3; threads++) {
        double sum = 0, worst = 0;
        kernels->set_threads(threads);
        EXPECT(kernels->team_size() == threads, "%d", kernels->team_size());
        kernels->fill(a, COUNT, 1);
        kernels->fill(b, COUNT, 2);
        for (int i = 0; i < COUNT; i++) {
            EXPECT(a[i] >= -1 && a[i] <= 1, "%g", a[i]);
            sum += a[i];
        }
        EXPECT(fabs(sum / COUNT) < 0.05, "mean %g", sum / COUNT); /* 5 sigma: 0.029 */
        static uint16_t half[COUNT];
        static int8_t small[COUNT];
        int least = 0, most = 0;
        kernels->fill_bf16(half, COUNT, 1);
        kernels->fill_int8(small, COUNT, 1);
        for (int i = 0; i < COUNT; i++) { /* cut to 8 bits: off by less than 2^-7 of itself */
            EXPECT(fabs(widened(half[i]) - a[i]) <= fabs(a[i]) / 128, "%g", a[i]);
            least = small[i] < least ? small[i] : least;
            most = small[i] > most ? small[i] : most;
        }
        EXPECT(least >= -127 && least < -120 && most > 120, "%d..%d", least, most);
        EXPECT(fabs(kernels->read(a, COUNT) - sum) < 1e-2, "%g", kernels->read(a, COUNT) - sum);
        kernels->copy(c, a, COUNT);
        EXPECT(memcmp(a, c, sizeof a) == 0, "copy");
        kernels->triad(c, a, b, COUNT);
        for (int i = 0; i < COUNT; i++)
            worst = fmax(worst, fabs(c[i] - (a[i] + 0.4 * b[i])));
        EXPECT(worst < 1e-6, "triad %g", worst);
        const float *in[3] = {a, b, a};
        kernels->elementwise(d, in, 2, COUNT);
        for (int i = 0; i < COUNT; i++)
            worst = fmax(worst, fabs(d[i] - (0.5 * ((double)a[i] + b[i]) + 0.25)));
        EXPECT(worst < 1e-6, "elementwise %g", worst);
        const int m = 5, n = 37, k = 53;
        kernels->gemm(m, n, k, a, b, c);
        for (int i = 0; i < m; i++)
            for (int j = 0; j < n; j++) {
                double want = 0;
                for (int l = 0; l < k; l++)
                    want += (double)a[i * k + l] * b[j * k + l];
                worst = fmax(worst, fabs(c[i * n + j] - want));
            }
        EXPECT(worst < 1e-5, "gemm %g", worst);
    }
    return 0;
}

/* ---- core types ---- */

static int a_wrong_core_type_is_replaced(void)
{
    bench b = {0};
    const llmperf_probe probe = gemm(4, 64, 64);
    if (!open_bench(&b, fake_blas("Auto:wrong,*:good")))
        return 0;
    EXPECT(supports(&b, &probe, NULL), "gemm");
    describe(&b);
    EXPECT(strcmp(b.device.library, "OpenBLAS Auto") != 0, "%s", b.device.library);
    EXPECT(strstr(b.notes, "set by us") && strstr(b.notes, "Auto computes wrong"), "%s", b.notes);
    EXPECT(strcmp(b.device.version, "9.9.9") == 0, "%s", b.device.version);
    b.backend->close(b.handle);
    return 0;
}

static int a_core_type_that_dies_or_gives_nan_is_replaced(void)
{
    bench b = {0};
    const llmperf_probe probe = gemm(4, 64, 64);
    if (!open_bench(&b, fake_blas("Auto:crash,HASWELL:nan,SKYLAKEX:nan,NEOVERSEN1:nan,*:good")))
        return 0;
    EXPECT(supports(&b, &probe, NULL), "gemm");
    describe(&b);
    EXPECT(strstr(b.notes, "died of signal"), "%s", b.notes);
    EXPECT(!strstr(b.device.library, "HASWELL") && !strstr(b.device.library, "Auto"), "%s",
           b.device.library);
    b.backend->close(b.handle);
    return 0;
}

static int ones_own_core_type_is_rejected_only_when_it_is_wrong(void)
{
    bench b = {0};
    const char *options = fake_blas("BROKEN:wrong,*:good");
    const llmperf_probe probe = gemm(4, 64, 64);
    setenv("OPENBLAS_CORETYPE", "BROKEN", 1);
    if (!open_bench(&b, options))
        return 0;
    EXPECT(supports(&b, &probe, NULL), "gemm");
    describe(&b);
    EXPECT(strstr(b.notes, "OPENBLAS_CORETYPE=BROKEN is rejected"), "%s", b.notes);
    EXPECT(strcmp(b.device.library, "OpenBLAS Auto") == 0, "%s", b.device.library);
    b.backend->close(b.handle);
    return 0;
}

static int ones_own_slow_core_type_is_kept_and_said(void)
{
    bench b = {0};
    const char *options = fake_blas("SLOW:slow,*:good");
    const llmperf_probe probe = gemm(4, 64, 64);
    setenv("OPENBLAS_CORETYPE", "SLOW", 1);
    if (!open_bench(&b, options))
        return 0;
    EXPECT(supports(&b, &probe, NULL), "gemm");
    describe(&b);
    EXPECT(strstr(b.notes, "is yours and kept") && strstr(b.notes, "slower than plain loops"), "%s",
           b.notes);
    EXPECT(strcmp(b.device.library, "OpenBLAS SLOW") == 0, "%s", b.device.library);
    b.backend->close(b.handle);
    return 0;
}

static int without_a_core_type_to_trust_products_are_refused_alone(void)
{
    bench b = {0};
    llmperf_error error = {0};
    double seconds[3];
    unsigned flags;
    const llmperf_probe probe = gemm(4, 64, 64);
    if (!open_bench(&b, fake_blas("*:wrong")))
        return 0;
    EXPECT(!supports(&b, &probe, &error), "gemm");
    EXPECT(strstr(error.text, "no core type of OpenBLAS can be trusted"), "%s", error.text);
    EXPECT(run(&b, &probe, 1, seconds, &flags, NULL) == LLMPERF_E_UNSUPPORTED, "gemm ran");
    EXPECT(run(&b, &READ, 3, seconds, &flags, NULL) == LLMPERF_OK, "read");
    b.backend->close(b.handle);
    return 0;
}

static int a_missing_blas_is_named(void)
{
    bench b = {0};
    llmperf_error error = {0};
    const llmperf_probe probe = gemm(4, 64, 64);
    if (!open_bench(&b, "blas=/nonexistent/libopenblas.so.0,onednn=none"))
        return 0;
    EXPECT(!supports(&b, &probe, &error), "gemm");
    EXPECT(strstr(error.text, "libopenblas0-openmp") && strstr(error.text, "/nonexistent"), "%s",
           error.text);
    EXPECT(supports(&b, &READ, NULL), "read");
    b.backend->close(b.handle);
    return 0;
}

static int a_pthreads_build_is_warned_of(void)
{
    bench b = {0};
    const char *options = fake_blas("*:good");
    setenv("FAKE_BLAS_PARALLEL", "1", 1);
    if (!open_bench(&b, options))
        return 0;
    supports(&b, &READ, NULL);
    describe(&b);
    EXPECT(strstr(b.notes, "pthreads build") && strstr(b.notes, "libopenblas0-openmp"), "%s",
           b.notes);
    b.backend->close(b.handle);
    return 0;
}

static int the_real_openblas_follows_ones_own_core_type(void)
{
#if !defined(__x86_64__)
    return SKIP;
#endif
    bench b = {0};
    llmperf_error error = {0};
    const llmperf_probe probe = gemm(4, 64, 64);
    setenv("OPENBLAS_CORETYPE", "PRESCOTT", 1);
    if (!open_bench(&b, "onednn=none"))
        return 0;
    if (!supports(&b, &probe, &error) && strstr(error.text, "is missing"))
        return SKIP;
    describe(&b);
    EXPECT(strcmp(b.device.library, "OpenBLAS Prescott") == 0, "%s", b.device.library);
    EXPECT(strstr(b.notes, "OPENBLAS_CORETYPE=PRESCOTT is yours and kept"), "%s", b.notes);
    b.backend->close(b.handle);
    return 0;
}

/* ---- threads and cores ---- */

static int omp_num_threads_is_not_followed(void)
{
    bench b = {0};
    const char *options = fake_blas("*:good");
    setenv("OMP_NUM_THREADS", "64", 1);
    if (!open_bench(&b, options))
        return 0;
    double usable = state_of(&b, "usable_cores");
    supports(&b, &READ, NULL);
    describe(&b);
    EXPECT(usable < 64 && state_of(&b, "threads") == usable, "%g", state_of(&b, "threads"));
    EXPECT(strstr(b.notes, "OMP_NUM_THREADS=64 is not followed"), "%s", b.notes);
    b.backend->close(b.handle);
    return 0;
}

static int ones_own_omp_proc_bind_is_kept_and_measured(void)
{
    bench b = {0};
    const char *options = fake_blas("*:good");
    setenv("OMP_PROC_BIND", "close", 1);
    if (!open_bench(&b, options))
        return 0;
    if (state_of(&b, "usable_cores") < 2)
        return SKIP;
    supports(&b, &READ, NULL);
    describe(&b);
    EXPECT(strstr(b.notes, "OMP_PROC_BIND=close is yours and kept"), "%s", b.notes);
    EXPECT(!strstr(b.notes, "threads are pinned"), "%s", b.notes);
    b.backend->close(b.handle);
    return 0;
}

static int more_threads_than_cores_flag_every_sample(void)
{
    bench b = {0};
    double seconds[2];
    unsigned flags = 0;
    char options[LLMPERF_PATH_MAX + 64];
    cpu_host host;
    cpu_host_read("", &host);
    snprintf(options, sizeof options, "%s,threads=%d", fake_blas("*:good"), 2 * host.usable);
    if (!open_bench(&b, options))
        return 0;
    EXPECT(run(&b, &READ, 2, seconds, &flags, NULL) == LLMPERF_OK, "read");
    EXPECT(flags & LLMPERF_SAMPLE_CONTENDED, "%x", flags);
    EXPECT(strstr(b.notes, "oversubscribed as asked"), "%s", b.notes);
    EXPECT(!strstr(b.notes, "threads are pinned"), "%s", b.notes);
    b.backend->close(b.handle);
    return 0;
}

static int threads_are_pinned_while_they_measure_and_the_caller_is_let_go(void)
{
    bench b = {0};
    cpu_set_t before, after;
    double seconds[2];
    unsigned flags = 0;
    if (sched_getaffinity(0, sizeof before, &before) != 0)
        return SKIP;
    if (!open_bench(&b, fake_blas("*:good")))
        return 0;
    EXPECT(run(&b, &READ, 2, seconds, &flags, NULL) == LLMPERF_OK, "read");
    describe(&b);
    /* every core of ours has a thread here, unless a quota says otherwise */
    bool whole = state_of(&b, "quota_cores") < 0;
    bool said =
        strstr(b.notes, "threads are pinned, one a core") || strstr(b.notes, "set to close");
    EXPECT(said == whole, "%s", b.notes);
    EXPECT(sched_getaffinity(0, sizeof after, &after) == 0 && CPU_EQUAL(&before, &after),
           "the caller stays bound to %d processors", CPU_COUNT(&after));
    b.backend->close(b.handle);
    return 0;
}

static int affinity_limits_the_cores(void)
{
    bench b = {0};
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < 2)
        return SKIP;
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &all) && CPU_COUNT(&one) == 0)
            CPU_SET(i, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0)
        return SKIP;
    if (!open_bench(&b, NULL))
        return 0;
    EXPECT(state_of(&b, "usable_cores") == 1, "%g", state_of(&b, "usable_cores"));
    EXPECT(state_of(&b, "allowed") == 1, "%g", state_of(&b, "allowed"));
    EXPECT(strstr(b.notes, "affinity allows 1 of"), "%s", b.notes);
    b.backend->close(b.handle);
    return 0;
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[LLMPERF_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    if (out) {
        fputs(text, out);
        fclose(out);
    }
}

static void remove_file(const char *folder, const char *name)
{
    char path[LLMPERF_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

static int a_cgroup_quota_limits_the_cores(void)
{
    const struct {
        const char *max, *quota, *period;
        double cores;
        int usable; /* 0 = that of the affinity */
    } rows[] = {
        {"150000 100000\n", NULL, NULL, 1.5, 1}, {"50000 100000\n", NULL, NULL, 0.5, 1},
        {"max 100000\n", NULL, NULL, 0, 0},      {"6400000 100000\n", NULL, NULL, 64, 0},
        {NULL, "190000\n", "100000\n", 1.9, 1},  {NULL, "-1\n", "100000\n", 0, 0},
        {"garbage\n", NULL, NULL, 0, 0},         {NULL, NULL, NULL, 0, 0},
    };
    char folder[] = "/tmp/llmperf-cgroup-XXXXXX";
    cpu_host free_host;
    if (!mkdtemp(folder))
        return SKIP;
    cpu_host_read("", &free_host);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cpu_host host;
        if (rows[i].max)
            write_file(folder, "cpu.max", rows[i].max);
        if (rows[i].quota)
            write_file(folder, "cpu.cfs_quota_us", rows[i].quota);
        if (rows[i].period)
            write_file(folder, "cpu.cfs_period_us", rows[i].period);
        cpu_host_read(folder, &host);
        EXPECT(fabs(host.quota_cores - rows[i].cores) < 1e-9, "row %zu: %g", i, host.quota_cores);
        int want = rows[i].usable ? rows[i].usable : host.cores;
        EXPECT(host.usable == want, "row %zu: %d", i, host.usable);
        remove_file(folder, "cpu.max");
        remove_file(folder, "cpu.cfs_quota_us");
        remove_file(folder, "cpu.cfs_period_us");
    }
    bench b = {0};
    char options[64];
    write_file(folder, "cpu.max", "150000 100000\n");
    snprintf(options, sizeof options, "cgroup=%s", folder);
    if (open_bench(&b, options)) {
        EXPECT(state_of(&b, "threads") == 1 && b.device.units == 1, "%g", b.device.units);
        EXPECT(strstr(b.notes, "quota is 1.5 cores"), "%s", b.notes);
        b.backend->close(b.handle);
    }
    remove_file(folder, "cpu.max");
    rmdir(folder);
    return 0;
}

/* ---- company ---- */

static int verdicts_on_company_rest_on_counters(void)
{
    char why[CPU_WHY_MAX];
    static cpu_host host;
    static cpu_company company;
    host.allowed_count = 4;
    company.host = &host;
    const cpu_moment start = {.wall_s = 100, .own_s = 10, .busy_s = 50};
    /* two threads ran for 0.2 s and were alone */
    cpu_moment end = {.wall_s = 100.2, .own_s = 10.4, .busy_s = 50.4};
    EXPECT(cpu_company_threads(&start, &end, 2, why) == 0 && !why[0], "%s", why);
    EXPECT(cpu_company_machine(&company, &start, &end, 2, why) == 0, "%s", why);
    /* 5 % of the time in the run queue */
    end.waiting_s = 0.02;
    EXPECT(cpu_company_threads(&start, &end, 2, why) == LLMPERF_SAMPLE_CONTENDED, "waiting");
    EXPECT(strstr(why, "waited for a core 5 %"), "%s", why);
    /* neither waiting nor running: stopped from outside */
    end = (cpu_moment){.wall_s = 100.2, .own_s = 10.1, .busy_s = 50.1};
    EXPECT(cpu_company_threads(&start, &end, 2, why) == LLMPERF_SAMPLE_CONTENDED, "stopped");
    /* two others on the two spare processors do no harm; on all four they do */
    end = (cpu_moment){.wall_s = 101, .own_s = 12, .busy_s = 53.5};
    EXPECT(cpu_company_machine(&company, &start, &end, 2, why) == 0, "%s", why);
    end = (cpu_moment){.wall_s = 101, .own_s = 14, .busy_s = 55};
    EXPECT(cpu_company_machine(&company, &start, &end, 4, why) == LLMPERF_SAMPLE_CONTENDED, "busy");
    EXPECT(strstr(why, "others used 25 %"), "%s", why);
    /* the hypervisor */
    end = (cpu_moment){.wall_s = 101, .own_s = 14, .busy_s = 54, .stolen_s = 0.2};
    EXPECT(cpu_company_machine(&company, &start, &end, 4, why) == LLMPERF_SAMPLE_CONTENDED,
           "steal");
    /* held back by a quota */
    end = (cpu_moment){.wall_s = 101, .own_s = 12, .busy_s = 52, .throttled = 1};
    EXPECT(cpu_company_threads(&start, &end, 2, why) == LLMPERF_SAMPLE_THROTTLED, "%s", why);
    /* too short for ticks of 10 ms */
    end = (cpu_moment){.wall_s = 100.05, .own_s = 10.1, .busy_s = 51};
    EXPECT(cpu_company_machine(&company, &start, &end, 4, why) == 0, "%s", why);
    return 0;
}

static int busy_neighbours_flag_samples_contended(void)
{
    enum { MOST = 64 };
    bench b = {0};
    pid_t child[MOST];
    unsigned seen = 0;
    int children = 0;
    double begun;
    if (!open_bench(&b, fake_blas("*:good")))
        return 0;
    supports(&b, &READ, NULL); /* the trials first: they need not suffer */
    int wanted = (int)state_of(&b, "allowed") * 2;
    for (; children < wanted && children < MOST; children++) {
        child[children] = fork();
        if (child[children] == 0)
            for (;;)
                __asm__ volatile("");
        if (child[children] < 0)
            break;
    }
    begun = now_s();
    while (!(seen & LLMPERF_SAMPLE_CONTENDED) && now_s() - begun < 8) {
        double seconds[20];
        unsigned flags = 0;
        EXPECT(run(&b, &READ, 20, seconds, &flags, NULL) == LLMPERF_OK, "read");
        seen |= flags;
    }
    for (int i = 0; i < children; i++) {
        kill(child[i], SIGKILL);
        waitpid(child[i], NULL, 0);
    }
    EXPECT(seen & LLMPERF_SAMPLE_CONTENDED, "not seen in %.1f s", now_s() - begun);
    describe(&b);
    EXPECT(strstr(b.notes, "stretches contended"), "%s", b.notes);
    b.backend->close(b.handle);
    return 0;
}

/* ---- the rest of the table ---- */

static int every_kind_of_probe_gives_times(void)
{
    bench b = {0};
    if (!open_bench(&b, fake_blas("*:good")))
        return 0;
    llmperf_attention_shape decode = {.dtype = LLMPERF_DTYPE_FP32,
                                      .sequences = 2,
                                      .query_tokens = 1,
                                      .past_tokens = 63,
                                      .heads = 8,
                                      .kv_heads = 2,
                                      .head_dim = 64};
    llmperf_attention_shape prefill = decode;
    prefill.query_tokens = 32;
    prefill.past_tokens = 0;
    const llmperf_probe probes[] = {
        READ,
        {.kind = LLMPERF_PROBE_COPY, .bytes = 1 << 20},
        {.kind = LLMPERF_PROBE_TRIAD, .bytes = 1 << 20, .cold = true},
        {.kind = LLMPERF_PROBE_LAUNCH},
        gemm(1, 96, 64),
        gemm(3, 96, 64),
        {.kind = LLMPERF_PROBE_OP, .cold = true, .op = llmperf_sample_attention(&decode)},
        {.kind = LLMPERF_PROBE_OP, .op = llmperf_sample_attention(&prefill)},
        {.kind = LLMPERF_PROBE_OP,
         .cold = true,
         .op = llmperf_sample_elementwise(LLMPERF_DTYPE_FP32, 2000, 1000)},
        {.kind = LLMPERF_PROBE_OP,
         .op = llmperf_sample_elementwise(LLMPERF_DTYPE_FP32, 3000, 1000)},
    };
    for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
        double seconds[3] = {0};
        unsigned flags;
        llmperf_error error = {0};
        EXPECT(run(&b, &probes[i], 3, seconds, &flags, &error) == LLMPERF_OK, "%zu: %s", i,
               error.text);
        for (int r = 0; r < 3; r++)
            EXPECT(seconds[r] > 0 && seconds[r] < 10, "%zu: %g", i, seconds[r]);
    }
    b.backend->close(b.handle);
    return 0;
}

/* A dense decoder of four layers with an embedding and a head. */
static int fill_step(llmperf_op *ops, llmperf_dtype dtype)
{
    llmperf_attention_shape shape = {.dtype = dtype,
                                     .sequences = 2,
                                     .query_tokens = 1,
                                     .past_tokens = 31,
                                     .heads = 4,
                                     .kv_heads = 2,
                                     .head_dim = 32};
    ops[0] = (llmperf_op){.id = LLMPERF_OP_EMBED,
                          .kind = LLMPERF_KIND_GATHER,
                          .repeat = 1,
                          .dtype = LLMPERF_DTYPE_FP32,
                          .launches = 1,
                          .weight_bytes = 2 * 128 * 4,
                          .output_bytes = 2 * 128 * 4,
                          .bytes = 4 * 128 * 4};
    ops[1] = llmperf_sample_elementwise(LLMPERF_DTYPE_FP32, 256, 256);
    ops[2] = llmperf_sample_gemm(dtype, LLMPERF_DTYPE_NONE, 2, 256, 128);
    ops[3] = llmperf_sample_attention(&shape);
    ops[4] = llmperf_sample_gemm(dtype, LLMPERF_DTYPE_NONE, 2, 128, 128);
    ops[5] = llmperf_sample_gemm(dtype, LLMPERF_DTYPE_NONE, 2, 1000, 128);
    ops[1].repeat = 8;
    ops[2].repeat = ops[3].repeat = ops[4].repeat = 4;
    return 6;
}

static int a_whole_step_runs_with_and_without_room_for_its_weights(void)
{
    const char *const shares[] = {"", ",share=0.00002", ""}; /* 24 GB: 480 kB */
    for (int i = 0; i < 3; i++) {
        llmperf_op ops[8];
        bench b = {0};
        char options[2 * LLMPERF_PATH_MAX + 64];
        llmperf_measurement m;
        llmperf_error error = {0};
        int count = fill_step(ops, i == 2 ? LLMPERF_DTYPE_BF16 : LLMPERF_DTYPE_FP32);
        snprintf(options, sizeof options, "%s%s", fake_dnn("good", true), shares[i]);
        if (!open_bench(&b, options))
            return 0;
        const llmperf_measure_options quick = {.time_limit_s = 0.2, .retries = -1};
        llmperf_status status =
            llmperf_measure_step(b.backend, b.handle, ops, count, &quick, &m, &error);
        /* with little memory it may be refused, never overrun */
        EXPECT(status == LLMPERF_OK || (i == 1 && status == LLMPERF_E_MEMORY), "%s", error.text);
        if (status == LLMPERF_OK)
            EXPECT(m.summary.median_s > 0, "%g", m.summary.median_s);
        b.backend->close(b.handle);
    }
    return 0;
}

static int what_needs_too_much_memory_is_refused(void)
{
    bench b = {0};
    llmperf_error error = {0};
    double seconds;
    unsigned flags;
    const llmperf_probe huge = {.kind = LLMPERF_PROBE_READ, .bytes = 1e15};
    if (!open_bench(&b, fake_blas("*:good")))
        return 0;
    EXPECT(run(&b, &huge, 1, &seconds, &flags, &error) == LLMPERF_E_MEMORY, "%s", error.text);
    EXPECT(strstr(error.text, "60 % of the free memory"), "%s", error.text);
    b.backend->close(b.handle);
    return 0;
}

static int other_formats_are_refused_by_name(void)
{
    const llmperf_dtype none[] = {LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_INT8, LLMPERF_DTYPE_FP16,
                                  LLMPERF_DTYPE_FP8};
    bench b = {0};
    llmperf_error error = {0};
    if (!open_bench(&b, fake_blas("*:good")))
        return 0;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        const llmperf_probe probe = gemm_of(none[i], 4, 64, 64);
        EXPECT(!supports(&b, &probe, &error), "%s", llmperf_dtype_name(none[i]));
        EXPECT(strstr(error.text, llmperf_dtype_name(none[i])), "%s", error.text);
        EXPECT(i > 1 || strstr(error.text, "switched off"), "%s", error.text);
    }
    b.backend->close(b.handle);
    void *handle = NULL;
    EXPECT(b.backend->open(1, NULL, &handle, NULL) == LLMPERF_E_USAGE, "device 1");
    EXPECT(b.backend->open(0, "treads=2", &handle, &error) == LLMPERF_E_USAGE, "treads");
    EXPECT(strstr(error.text, "did you mean 'threads'"), "%s", error.text);
    EXPECT(b.backend->open(0, "fp32=mkl", &handle, &error) == LLMPERF_E_USAGE, "fp32=mkl");
    EXPECT(strstr(error.text, "openblas, onednn, mixed"), "%s", error.text);
    return 0;
}

/* Experts of a mixture, weights in another format than the arithmetic: not one product each. */
static int what_is_no_single_product_is_refused(void)
{
    bench b = {0};
    llmperf_error error = {0};
    if (!open_bench(&b, fake_dnn("good", true)))
        return 0;
    llmperf_probe probe = gemm_of(LLMPERF_DTYPE_BF16, 4, 64, 64);
    EXPECT(supports(&b, &probe, &error), "%s", error.text);
    probe.op.flop *= 8;
    probe.op.weight_bytes *= 8;
    EXPECT(!supports(&b, &probe, &error) && strstr(error.text, "batch of several"), "%s",
           error.text);
    probe.op = llmperf_sample_gemm(LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_INT4, 4, 64, 64);
    EXPECT(!supports(&b, &probe, &error) && strstr(error.text, "weights of 4 bits under bf16"),
           "%s", error.text);
    b.backend->close(b.handle);
    return 0;
}

/* ---- oneDNN ---- */

static void expect_times(bench *b, const llmperf_probe *probe)
{
    double seconds[3] = {0};
    unsigned flags;
    llmperf_error error = {0};
    EXPECT(run(b, probe, 3, seconds, &flags, &error) == LLMPERF_OK, "%s", error.text);
    for (int r = 0; r < 3; r++)
        EXPECT(seconds[r] > 0 && seconds[r] < 10, "%g", seconds[r]);
}

static int onednn_computes_what_openblas_has_not(void)
{
    const llmperf_dtype dtypes[] = {LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_INT8};
    bench b = {0};
    if (!open_bench(&b, fake_dnn("good", true)))
        return 0;
    for (int i = 0; i < 2; i++)
        for (int m = 1; m < 40; m += 13) {
            const llmperf_probe probe = gemm_of(dtypes[i], m, 96, 64);
            llmperf_error error = {0};
            EXPECT(supports(&b, &probe, &error), "%s", error.text);
            expect_times(&b, &probe);
        }
    describe(&b);
    EXPECT(strstr(b.device.library, "oneDNN avx2") && strstr(b.device.library, "OpenBLAS "), "%s",
           b.device.library);
    EXPECT(strstr(b.device.version, "2.99.1") && strstr(b.device.version, "9.9.9"), "%s",
           b.device.version);
    EXPECT(strstr(b.notes, "weights are packed once"), "%s", b.notes);
    EXPECT(strstr(b.notes, "fp32 products with one row by"), "%s", b.notes);
    b.backend->close(b.handle);
    return 0;
}

static int a_format_that_onednn_computes_wrong_is_left_out(void)
{
    bench b = {0};
    llmperf_error error = {0};
    const llmperf_probe bf16 = gemm_of(LLMPERF_DTYPE_BF16, 4, 64, 64);
    const llmperf_probe int8 = gemm_of(LLMPERF_DTYPE_INT8, 4, 64, 64);
    if (!open_bench(&b, fake_dnn("wrong-bf16,no-int8", true)))
        return 0;
    EXPECT(!supports(&b, &bf16, &error) && strstr(error.text, "computes wrong"), "%s", error.text);
    EXPECT(!supports(&b, &int8, &error) && strstr(error.text, "no int8 product"), "%s", error.text);
    describe(&b);
    EXPECT(strstr(b.notes, "bf16 product computes wrong"), "%s", b.notes);
    const llmperf_probe fp32 = gemm(4, 64, 64);
    EXPECT(supports(&b, &fp32, &error), "%s", error.text);
    b.backend->close(b.handle);
    return 0;
}

static int a_onednn_that_dies_or_is_another_version_is_left_out(void)
{
    const struct {
        const char *behaviour, *why;
    } rows[] = {{"crash", "oneDNN died of signal 4"},
                {"version-3", "oneDNN 3.99 with OpenMP is not used"},
                {"threads", "with threads of its own kind is not used"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pid_t child = fork(); /* what a process has opened stays */
        int state;
        if (child == 0) {
            bench b = {0};
            llmperf_error error = {0};
            const llmperf_probe bf16 = gemm_of(LLMPERF_DTYPE_BF16, 4, 64, 64);
            const llmperf_probe fp32 = gemm(4, 64, 64);
            if (open_bench(&b, fake_dnn(rows[i].behaviour, true))) {
                EXPECT(!supports(&b, &bf16, &error) && strstr(error.text, rows[i].why), "%s",
                       error.text);
                EXPECT(supports(&b, &fp32, &error), "%s", error.text);
                describe(&b);
                EXPECT(strstr(b.notes, rows[i].why), "%s", b.notes);
                b.backend->close(b.handle);
            }
            fflush(stdout);
            exit(failures > 0);
        }
        waitpid(child, &state, 0);
        EXPECT(WIFEXITED(state) && WEXITSTATUS(state) == 0, "%s", rows[i].behaviour);
    }
    return 0;
}

static int a_missing_onednn_is_named(void)
{
    bench b = {0};
    llmperf_error error = {0};
    char options[LLMPERF_PATH_MAX + 64];
    const llmperf_probe bf16 = gemm_of(LLMPERF_DTYPE_BF16, 4, 64, 64);
    const char *path = getenv("FAKE_BLAS_PATH");
    setenv("FAKE_BLAS", "*:good", 1);
    snprintf(options, sizeof options, "blas=%s,onednn=/nonexistent/libdnnl.so.2", path ? path : "");
    if (!open_bench(&b, options))
        return 0;
    EXPECT(!supports(&b, &bf16, &error) && strstr(error.text, "libdnnl2") &&
               strstr(error.text, "/nonexistent"),
           "%s", error.text);
    b.backend->close(b.handle);
    return 0;
}

static int without_a_blas_onednn_computes_fp32(void)
{
    bench b = {0};
    llmperf_error error = {0};
    const llmperf_probe one = gemm(1, 96, 64), more = gemm(7, 96, 64);
    if (!open_bench(&b, fake_dnn("good", false)))
        return 0;
    EXPECT(supports(&b, &one, &error) && supports(&b, &more, &error), "%s", error.text);
    expect_times(&b, &one);
    expect_times(&b, &more);
    describe(&b);
    EXPECT(strcmp(b.device.library, "oneDNN avx2") == 0, "%s", b.device.library);
    b.backend->close(b.handle);
    return 0;
}

static int one_may_choose_whose_fp32_products(void)
{
    bench b = {0};
    char options[2 * LLMPERF_PATH_MAX + 64];
    const llmperf_probe more = gemm(7, 96, 64);
    snprintf(options, sizeof options, "%s,fp32=onednn", fake_dnn("good,no-int8", true));
    if (!open_bench(&b, options))
        return 0;
    supports(&b, &more, NULL);
    describe(&b);
    EXPECT(strstr(b.notes, "one row by oneDNN, with more by oneDNN"), "%s", b.notes);
    EXPECT(strcmp(b.device.library, "oneDNN avx2") == 0, "%s", b.device.library);
    b.backend->close(b.handle);
    return 0;
}

/* oneDNN 2 takes longer for two rows than for four: they run as four. */
static int few_rows_run_as_many_as_are_fastest(void)
{
    bench b = {0};
    llmperf_error error = {0};
    if (!open_bench(&b, fake_dnn("few-slow", true)))
        return 0;
    for (int m = 1; m < 8; m++) {
        const llmperf_probe probe = gemm_of(LLMPERF_DTYPE_BF16, m, 96, 64);
        EXPECT(supports(&b, &probe, &error), "%s", error.text);
        expect_times(&b, &probe);
    }
    describe(&b);
    EXPECT(strstr(b.notes, "bf16 products of few rows") && strstr(b.notes, "2 as "), "%s", b.notes);
    b.backend->close(b.handle);
    return 0;
}

static int the_real_onednn_agrees_with_plain_loops(void)
{
    bench b = {0};
    if (!open_bench(&b, NULL))
        return 0;
    supports(&b, &READ, NULL);
    describe(&b);
    if (strstr(b.notes, "oneDNN is missing") || strstr(b.notes, "is not used"))
        return SKIP;
    EXPECT(!strstr(b.notes, "computes wrong") && !strstr(b.notes, "oneDNN died"), "%s", b.notes);
    const llmperf_dtype dtypes[] = {LLMPERF_DTYPE_FP32, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_INT8};
    for (int i = 0; i < 3; i++)
        for (int m = 1; m < 60; m += 29) {
            const llmperf_probe probe = gemm_of(dtypes[i], m, 200, 72);
            if (supports(&b, &probe, NULL))
                expect_times(&b, &probe);
        }
    b.backend->close(b.handle);
#ifdef __SANITIZE_ADDRESS__
    /* LeakSanitizer dies while it looks at the thread storage of that library's threads ("Tracer
     * caught signal 11"); the cases with the stand-in look for leaks of ours */
    fflush(stdout);
    _exit(failures > 0);
#endif
    return 0;
}

/* Buffers of a format that is not in use make room for those that are. */
static int formats_share_the_memory(void)
{
    bench b = {0};
    char options[2 * LLMPERF_PATH_MAX + 64];
    cpu_host host;
    cpu_host_read("", &host);
    /* room for one set of rotating weights, not for two */
    double cold = fmax(2 * host.last_cache_bytes, fmin(8 * host.last_cache_bytes, 1 << 30));
    double one = 1.25 * fmax(cold, 268435456) + 16 * 1048576.0;
    if (!(host.memory_free_bytes > 4 * one))
        return SKIP;
    snprintf(options, sizeof options, "%s,share=%.9f", fake_dnn("good", true),
             one / host.memory_free_bytes);
    if (!open_bench(&b, options))
        return 0;
    const llmperf_dtype dtypes[] = {LLMPERF_DTYPE_FP32, LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_INT8,
                                    LLMPERF_DTYPE_FP32};
    for (int i = 0; i < 4; i++) {
        const llmperf_probe probe = gemm_of(dtypes[i], 4, 512, 512);
        expect_times(&b, &probe);
    }
    b.backend->close(b.handle);
    return 0;
}

/* ---- runner ---- */

#define CASE(function)                                                                             \
    {                                                                                              \
#function, function                                                                        \
    }

static const struct {
    const char *name;
    int (*run)(void); /* SKIP or 0 */
} CASES[] = {
    CASE(attention_agrees_with_its_definition),
    CASE(streams_and_products_are_right),
    CASE(a_wrong_core_type_is_replaced),
    CASE(a_core_type_that_dies_or_gives_nan_is_replaced),
    CASE(ones_own_core_type_is_rejected_only_when_it_is_wrong),
    CASE(ones_own_slow_core_type_is_kept_and_said),
    CASE(without_a_core_type_to_trust_products_are_refused_alone),
    CASE(a_missing_blas_is_named),
    CASE(a_pthreads_build_is_warned_of),
    CASE(the_real_openblas_follows_ones_own_core_type),
    CASE(omp_num_threads_is_not_followed),
    CASE(ones_own_omp_proc_bind_is_kept_and_measured),
    CASE(more_threads_than_cores_flag_every_sample),
    CASE(threads_are_pinned_while_they_measure_and_the_caller_is_let_go),
    CASE(affinity_limits_the_cores),
    CASE(a_cgroup_quota_limits_the_cores),
    CASE(verdicts_on_company_rest_on_counters),
    CASE(busy_neighbours_flag_samples_contended),
    CASE(every_kind_of_probe_gives_times),
    CASE(a_whole_step_runs_with_and_without_room_for_its_weights),
    CASE(what_needs_too_much_memory_is_refused),
    CASE(other_formats_are_refused_by_name),
    CASE(what_is_no_single_product_is_refused),
    CASE(onednn_computes_what_openblas_has_not),
    CASE(a_format_that_onednn_computes_wrong_is_left_out),
    CASE(a_onednn_that_dies_or_is_another_version_is_left_out),
    CASE(a_missing_onednn_is_named),
    CASE(without_a_blas_onednn_computes_fp32),
    CASE(one_may_choose_whose_fp32_products),
    CASE(few_rows_run_as_many_as_are_fastest),
    CASE(the_real_onednn_agrees_with_plain_loops),
    CASE(formats_share_the_memory),
};

int main(int argc, char **argv)
{
    const int count = sizeof CASES / sizeof *CASES;
    int bad = 0;
    printf("TAP version 13\n1..%d\n", count);
    for (int i = 0; i < count; i++) {
        int state = 0;
        if (argc > 1 && !strstr(CASES[i].name, argv[1]))
            continue;
        double begun = now_s();
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) { /* exit() and not _exit(): the leak checker runs */
            int code = CASES[i].run();
            fflush(stdout);
            exit(failures > 0 ? 1 : code);
        }
        waitpid(child, &state, 0);
        bool ok = WIFEXITED(state) && (WEXITSTATUS(state) == 0 || WEXITSTATUS(state) == SKIP);
        bool skipped = ok && WEXITSTATUS(state) == SKIP;
        bad += !ok;
        if (WIFSIGNALED(state))
            printf("# ended by signal %d\n", WTERMSIG(state));
        printf("%sok %d - %s%s\n", ok ? "" : "not ", i + 1, CASES[i].name,
               skipped ? " # SKIP not possible on this machine" : "");
        printf("# %.2f s\n", now_s() - begun);
    }
    return bad > 0;
}
