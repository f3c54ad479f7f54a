/* SPDX-License-Identifier: MIT */
/*
 * OpenBLAS and OpenMP, opened once a process. Both read the environment while they are loaded, so
 * what suits this machine is tried in child processes first: a core type that computes wrong, dies
 * or is slower than plain loops is rejected; OMP_PROC_BIND is measured with and without. What was
 * tried and chosen is put into notes.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cpu.h"

enum { TRIAL_M = 192, TRIAL_N = 384, TRIAL_K = 384, CANDIDATES_MAX = 4, SECOND_CHANCES = 2 };

static const double TRIAL_S = 0.06;       /* for each of BLAS and the plain loops */
static const double CLEARLY_BETTER = 1.1; /* what else is not worth leaving the default for */
static const double TOLERANCE = 1e-3;     /* of sums of 384 products in [-1, 1], fp32 */

/* ---- a trial in a child process -------------------------------------------------------------- */

typedef struct trial {
    bool opened; /* BLAS was found */
    bool right;  /* its product and matrix-vector product agree with plain loops */
    double flop_per_s, plain_flop_per_s;
    double error;
    cpu_blas blas; /* facts; the pointers are the child's */
    char path[256];
    int ended_by; /* signal that ended the child, -1 = it took too long, 0 = none */
} trial;

/* What a trial puts into the environment; NULL = as it is, "" = not set. */
typedef struct setting {
    const char *core, *bind;
} setting;

static void apply(const char *name, const char *value)
{
    if (value && value[0])
        setenv(name, value, 1);
    else if (value)
        unsetenv(name);
}

static double largest_difference(const float *a, const float *b, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        double difference = fabs((double)a[i] - (double)b[i]);
        if (!(difference <= largest)) /* also NaN */
            largest = difference;
    }
    return largest;
}

static double rate_of(const cpu_best *best)
{
    return 2.0 * TRIAL_M * TRIAL_N * TRIAL_K / best->least_s;
}

static void time_plain(const cpu_kernels *kernels, const float *a, const float *w, float *c,
                       trial *t)
{
    cpu_best best = cpu_best_begin(TRIAL_S);
    while (cpu_best_more(&best))
        kernels->gemm(TRIAL_M, TRIAL_N, TRIAL_K, a, w, c);
    t->plain_flop_per_s = rate_of(&best);
}

static void time_blas(const cpu_blas *b, const float *a, const float *w, float *c, trial *t)
{
    cpu_best best = cpu_best_begin(TRIAL_S);
    while (cpu_best_more(&best))
        b->sgemm(CPU_ORDER_ROWS, CPU_NO_TRANSPOSE, CPU_TRANSPOSE, TRIAL_M, TRIAL_N, TRIAL_K, 1, a,
                 TRIAL_K, w, TRIAL_K, 0, c, TRIAL_N);
    t->flop_per_s = rate_of(&best);
}

/* The child's work: opens both libraries, compares, times. */
static void carry_out(const setting *s, const cpu_runtime_options *o, trial *t)
{
    const cpu_kernels *kernels;
    char why[512];
    apply("OPENBLAS_CORETYPE", s->core);
    apply("OMP_PROC_BIND", s->bind);
    if (!cpu_kernels_open(&kernels, why, sizeof why))
        return;
    kernels->set_threads(o->threads);
    if (o->cpus && !(s->bind && s->bind[0]))
        kernels->pin(o->cpus, o->threads);
    if (!cpu_blas_open(o->blas, &t->blas, t->path, sizeof t->path))
        return;
    t->opened = true;
    t->blas.set_threads(o->threads);
    const size_t count =
        (size_t)TRIAL_M * TRIAL_K + (size_t)TRIAL_N * TRIAL_K + 2 * (size_t)TRIAL_M * TRIAL_N;
    float *data = malloc(count * sizeof *data);
    if (!data)
        return;
    float *a = data, *w = a + TRIAL_M * TRIAL_K, *c = w + TRIAL_N * TRIAL_K;
    float *reference = c + TRIAL_M * TRIAL_N;
    kernels->fill(data, count, 7);
    time_plain(kernels, a, w, reference, t);
    time_blas(&t->blas, a, w, c, t);
    t->error = largest_difference(c, reference, (size_t)TRIAL_M * TRIAL_N);
    /* the first row again, as a matrix-vector product */
    t->blas.sgemv(CPU_ORDER_ROWS, CPU_NO_TRANSPOSE, TRIAL_N, TRIAL_K, 1, w, TRIAL_K, a, 1, 0, c, 1);
    t->error = fmax(t->error, largest_difference(c, reference, TRIAL_N));
    t->right = t->error <= TOLERANCE;
    free(data);
}

/* A trial as a job for a child. */
typedef struct trial_job {
    setting setting;
    const cpu_runtime_options *options;
    trial trial;
} trial_job;

static void carry_out_job(void *job)
{
    trial_job *j = job;
    carry_out(&j->setting, j->options, &j->trial);
}

/* Runs a trial in a child: a core type that the processor lacks dies of SIGILL there, not here. */
static trial try_out(const setting *s, const cpu_runtime_options *o)
{
    trial_job job, scratch;
    int ended_by;
    memset(&job, 0, sizeof job);
    job.setting = *s;
    job.options = o;
    if (!cpu_in_child(carry_out_job, &job, &scratch, sizeof job, &ended_by))
        job.trial.ended_by = ended_by;
    return job.trial;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Why a trial is no good; "" when it is. */
static void fault_of(const trial *t, char *why, size_t size)
{
    why[0] = '\0';
    if (t->ended_by < 0)
        snprintf(why, size, "took more than %d s", CPU_CHILD_LIMIT_S);
    else if (t->ended_by > 0)
        snprintf(why, size, "died of signal %d", t->ended_by);
    else if (!t->right)
        snprintf(why, size, "computes wrong (off by %.2g)", t->error);
    else if (t->flop_per_s < t->plain_flop_per_s)
        snprintf(why, size, "is slower than plain loops (%.3g against %.3g GFLOP/s)",
                 t->flop_per_s / 1e9, t->plain_flop_per_s / 1e9);
}

static bool is_usable(const trial *t)
{
    return t->opened && t->ended_by == 0 && t->right;
}

/* Core types worth trying on this processor, beside the one that OpenBLAS picks. */
static int list_candidates(const cpu_host *host, const char *names[CANDIDATES_MAX])
{
    int count = 0;
#if defined(__x86_64__)
    if (host->has_fma)
        names[count++] = "HASWELL";
    if (host->has_avx512)
        names[count++] = "SKYLAKEX";
    names[count++] = "PRESCOTT"; /* runs anywhere */
#elif defined(__aarch64__)
    (void)host;
    names[count++] = "NEOVERSEN1";
    names[count++] = "ARMV8";
#else
    (void)host;
    (void)names;
#endif
    return count;
}

/* A growing list of "core 213 GFLOP/s, " for the notes. */
static void tell(char *list, size_t size, const char *name, const trial *t)
{
    char why[128];
    size_t used = strlen(list);
    fault_of(t, why, sizeof why);
    if (t->ended_by != 0 || !t->right)
        snprintf(list + used, size - used, "%s%s %s", used ? ", " : "", name, why);
    else
        snprintf(list + used, size - used, "%s%s %.0f", used ? ", " : "", name,
                 t->flop_per_s / 1e9);
}

/* A second and third chance for a setting that came out slow: a neighbour may have disturbed it.
 * Keeps its best rate; ends as soon as that is enough. */
static void try_again(trial *t, double enough_flop_per_s, const setting *s,
                      const cpu_runtime_options *o)
{
    for (int i = 0; i < SECOND_CHANCES && t->flop_per_s < enough_flop_per_s; i++) {
        trial again = try_out(s, o);
        if (is_usable(&again) && again.flop_per_s > t->flop_per_s)
            *t = again;
    }
}

/* Runs a setting; one that is right but slower than plain loops is not believed at once. */
static trial try_fairly(const setting *s, const cpu_runtime_options *o)
{
    trial t = try_out(s, o);
    if (is_usable(&t))
        try_again(&t, t.plain_flop_per_s, s, o);
    return t;
}

/* `one` looks clearly better than `best`, the result of `s`: is it still when `best` gets another
 * chance? */
static bool is_clearly_better(const trial *one, const setting *own, trial *best, const setting *s,
                              const cpu_runtime_options *o)
{
    try_again(best, one->flop_per_s / CLEARLY_BETTER, s, o);
    if (one->flop_per_s < CLEARLY_BETTER * best->flop_per_s)
        return false;
    /* once more: a virtual processor whose sibling rests for a moment is fast with any core type */
    trial again = try_out(own, o);
    return is_usable(&again) && again.flop_per_s >= CLEARLY_BETTER * best->flop_per_s;
}

/* Chooses OPENBLAS_CORETYPE; *ret_core NULL = leave the environment, "" = unset it. */
static bool choose_core(const cpu_host *host, const cpu_runtime_options *o, trial *ret_best,
                        const char **ret_core, cpu_runtime *r)
{
    const char *own = getenv("OPENBLAS_CORETYPE");
    const char *names[CANDIDATES_MAX];
    char why[128], told[256] = "";
    bool own_rejected = false;
    trial best = try_fairly(&(setting){0}, o);
    *ret_core = NULL;
    if (best.ended_by == 0 && !best.opened) {
        snprintf(r->no_blas, sizeof r->no_blas,
                 "OpenBLAS is missing (libopenblas.so.0; Debian: libopenblas0-openmp)%s%s",
                 o->blas[0] ? ": " : "", o->blas);
        return false;
    }
    fault_of(&best, why, sizeof why);
    if (own && own[0] && is_usable(&best)) {
        llmperf_note(&r->notes, "OPENBLAS_CORETYPE=%s is yours and kept: core %s%s%s", own,
                     best.blas.core, why[0] ? ", though it " : "", why);
        *ret_best = best;
        return true;
    }
    if (own && own[0]) {
        llmperf_note(&r->notes, "OPENBLAS_CORETYPE=%s is rejected: core %s %s", own,
                     best.blas.core[0] ? best.blas.core : own, why);
        own_rejected = true;
        *ret_core = "";
        best = try_fairly(&(setting){.core = ""}, o);
    }
    const char *picked = best.blas.core[0] ? best.blas.core : "its own choice";
    char first[48];
    snprintf(first, sizeof first, "%s", picked);
    tell(told, sizeof told, first, &best);
    fault_of(&best, why, sizeof why);
    bool best_ok = !why[0] && best.opened;
    trial fallback = best;
    const char *chosen = own_rejected ? "" : NULL;
    int count = list_candidates(host, names);
    for (int i = 0; i < count; i++) {
        if (strcasecmp(names[i], first) == 0 ||
            (best_ok && strcmp(names[i], "PRESCOTT") == 0)) /* the last resort */
            continue;
        trial one = try_out(&(setting){.core = names[i]}, o);
        tell(told, sizeof told, names[i], &one);
        fault_of(&one, why, sizeof why);
        if (why[0] || !one.opened ||
            (best_ok && !is_clearly_better(&one, &(setting){.core = names[i]}, &best,
                                           &(setting){.core = chosen}, o))) {
            if (is_usable(&one) && !is_usable(&fallback)) { /* right, though slow */
                fallback = one;
                chosen = best_ok ? chosen : names[i];
            }
            continue;
        }
        best = one;
        best_ok = true;
        chosen = names[i];
    }
    if (!best_ok)
        best = fallback;
    if (!is_usable(&best)) {
        snprintf(r->no_blas, sizeof r->no_blas, "no core type of OpenBLAS can be trusted here: %s",
                 told);
        return false;
    }
    fault_of(&best, why, sizeof why);
    llmperf_note(&r->notes,
                 "OpenBLAS core %s%s (GFLOP/s of a small product: %s; plain loops %.0f)%s%s",
                 best.blas.core, chosen && chosen[0] ? ", set by us" : ", its own choice", told,
                 best.plain_flop_per_s / 1e9, why[0] ? "; it " : "", why);
    *ret_core = chosen;
    *ret_best = best;
    return true;
}

/* Chooses OMP_PROC_BIND for the chosen core. *ret_bind NULL = leave it. */
static void choose_bind(const cpu_runtime_options *o, const char *core, trial *as_is,
                        const char **ret_bind, cpu_runtime *r)
{
    const char *own = getenv("OMP_PROC_BIND");
    bool is_own = own && own[0];
    *ret_bind = NULL;
    if (o->threads < 2)
        return;
    trial other = try_out(&(setting){.core = core, .bind = is_own ? "" : "close"}, o);
    if (!is_usable(&other))
        return;
    if (is_own) {
        llmperf_note(&r->notes, "OMP_PROC_BIND=%s is yours and kept: %.0f GFLOP/s, %.0f without",
                     own, as_is->flop_per_s / 1e9, other.flop_per_s / 1e9);
        return;
    }
    bool better = is_clearly_better(&other, &(setting){.core = core, .bind = "close"}, as_is,
                                    &(setting){.core = core}, o);
    if (better)
        *ret_bind = "close";
    llmperf_note(&r->notes, "OMP_PROC_BIND %s: %.0f GFLOP/s unset, %.0f with close",
                 better ? "set to close" : "left unset", as_is->flop_per_s / 1e9,
                 other.flop_per_s / 1e9);
}

static void note_threads(int threads, cpu_runtime *r)
{
    static const char *const NAMES[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"};
    for (int i = 0; i < 2; i++) {
        const char *text = getenv(NAMES[i]);
        double asked;
        if (text && llmperf_parse_double(text, &asked) && asked != threads)
            llmperf_note(&r->notes,
                         "%s=%.0f is not followed: %d thread%s, one a usable core "
                         "(--options threads=N for another number)",
                         NAMES[i], asked, threads, threads == 1 ? "" : "s");
    }
}

/* Opens oneDNN if anything is to be computed by it. */
static void open_dnn(const cpu_runtime_options *o, cpu_runtime *r)
{
    bool wanted = false;
    char why[LLMPERF_TEXT_MAX];
    for (int i = 0; i < CPU_TYPES; i++)
        wanted |= r->has_dnn[i];
    if (!wanted)
        return;
    if (cpu_dnn_open(o->onednn, &r->dnn, why, sizeof why)) {
        llmperf_note(&r->notes, "oneDNN %s, %s, from %s", r->dnn.version, r->dnn.isa, r->dnn.path);
        return;
    }
    for (int i = 0; i < CPU_TYPES; i++) {
        r->has_dnn[i] = false;
        snprintf(r->no_dnn[i], sizeof r->no_dnn[i], "oneDNN could not be opened again");
    }
    r->dnn_one_row = r->dnn_rows = false;
}

/* Opens everything in this process, with the environment that the trials chose. */
static llmperf_status open_chosen(const cpu_runtime_options *o, cpu_runtime *r,
                                  llmperf_error *error)
{
    static const char *const BUILDS[] = {"serial", "pthreads", "OpenMP"};
    char why[512], path[LLMPERF_PATH_MAX];
    if (!cpu_kernels_open(&r->kernels, why, sizeof why))
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend cpu: its kernels cannot be "
                            "opened: %s",
                            why);
    r->kernels->set_threads(o->threads);
    open_dnn(o, r);
    if (!r->has_blas)
        return LLMPERF_OK;
    if (!cpu_blas_open(o->blas, &r->blas, path, sizeof path)) {
        r->has_blas = false;
        snprintf(r->no_blas, sizeof r->no_blas, "OpenBLAS could not be opened again");
        return LLMPERF_OK;
    }
    r->blas.set_threads(o->threads);
    int build = r->blas.parallel >= 0 && r->blas.parallel <= 2 ? r->blas.parallel : 0;
    llmperf_note(&r->notes, "OpenBLAS %s, %s build, from %s", r->blas.version, BUILDS[build], path);
    if (build != 2)
        llmperf_note(&r->notes, "the %s build of OpenBLAS %s; install libopenblas0-openmp",
                     BUILDS[build],
                     build == 1 ? "keeps threads beside those of OpenMP, which disturb each other"
                                : "uses one thread");
    return LLMPERF_OK;
}

llmperf_status cpu_runtime_open(const cpu_host *host, const cpu_runtime_options *options,
                                const cpu_runtime **ret_runtime, llmperf_error *error)
{
    /* what libgomp and OpenBLAS keep is the process's, so this is too */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static cpu_runtime runtime;
    static bool is_open;
    llmperf_status status = LLMPERF_OK;
    pthread_mutex_lock(&lock);
    if (!is_open) {
        trial best;
        const char *core = NULL, *bind = NULL;
        memset(&runtime, 0, sizeof runtime);
        note_threads(options->threads, &runtime);
        runtime.has_blas = choose_core(host, options, &best, &core, &runtime);
        if (runtime.has_blas)
            choose_bind(options, core, &best, &bind, &runtime);
        apply("OPENBLAS_CORETYPE", core);
        apply("OMP_PROC_BIND", bind);
        runtime.pinned = options->cpus && !bind;
        if (runtime.pinned)
            llmperf_note(&runtime.notes, "threads are pinned, one a core");
        cpu_dnn_choose(host, options, &runtime);
        status = open_chosen(options, &runtime, error);
        is_open = status == LLMPERF_OK;
    }
    if (is_open && runtime.kernels) {
        runtime.kernels->set_threads(options->threads);
        if (runtime.has_blas)
            runtime.blas.set_threads(options->threads);
        *ret_runtime = &runtime;
    }
    pthread_mutex_unlock(&lock);
    return status;
}
