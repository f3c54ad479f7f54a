/* SPDX-License-Identifier: MIT */
/* llmperf calibrate: measure a device, keep the samples, fit, write a calibration. */
#include <ctype.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "device.h"
#include "llmperf/fit.h"

typedef struct calibrate_arguments {
    common_arguments common;
    const char *backend, *options, *samples, *spec, *write_hw, *device, *devices;
    bool quick;
} calibrate_arguments;

static const char *const ALL[] = {"all", NULL};

static const option OPTIONS[] = {
    OPTION_ROW(calibrate_arguments, backend, TEXT, "backend", 0, "NAME", "cpu, fake or cuda",
               .default_text = "cpu", .group = "Device"),
    OPTION_ROW(calibrate_arguments, device, TEXT, "device", 0, "N|UUID", "which one of the backend",
               .default_text = "0", .group = "Device"),
    OPTION_ROW(calibrate_arguments, devices, WORDS, "devices", 0, "all",
               "also measure collectives between all of them", .choices = ALL, .group = "Device"),
    OPTION_ROW(calibrate_arguments, options, TEXT, "options", 0, "K=V,..",
               "options of the backend (docs/backends.md)", .group = "Device"),
    OPTION_ROW(calibrate_arguments, spec, TEXT, "spec", 0, "HARDWARE",
               "the datasheet that the fit is against",
               .default_text = "the shipped one of this name", .group = "Device"),
    OPTION_ROW(calibrate_arguments, quick, FLAG, "quick", 0, NULL,
               "fewer shapes, less time each: under a minute", .group = "Measuring"),
    OPTION_ROW(calibrate_arguments, samples, TEXT, "samples", 0, "FILE.csv",
               "keep the samples here; what it holds already is not measured again",
               .group = "Measuring"),
    OPTION_ROW(calibrate_arguments, common.output, TEXT, "output", 'o', "FILE",
               "the calibration (YAML)", .group = "Output"),
    OPTION_ROW(calibrate_arguments, write_hw, TEXT, "write-hw", 0, "FILE",
               "write a hardware file of what was measured, and fit against it", .group = "Output"),
    OPTION_ROW(calibrate_arguments, common.specs, TEXT, "specs", 0, "DIR",
               "look for specifications here first", .group = "Output"),
    OPTION_END,
};

/* The library name of what is our own and not a BLAS. */
static const char OWN_LIBRARY[] = "llmperf";
static const double REFERENCE_WIDTH = 4096; /* of the layer whose compute-bound batch is told */
static const double LEAST_LIMIT_S = 0.1;    /* per probe */
enum { REPEATS = 5 }; /* probes of a kind and format that are measured twice */

/* A calibration under way. */
typedef struct session {
    const calibrate_arguments *a;
    device_session device;
    llmperf_probe_plan plan;
    llmperf_samples samples;
    int32_t hw_name, library, best_library, version, own_library, own_version; /* of names */
    int wanted, measured, resumed, failed;
    double watch_best_s; /* fastest pass of the stream that notices company */
    llmperf_watch_log watch_log;
    llmperf_status failure; /* the last of those that were passed over */
    llmperf_notes skipped;  /* the first of each reason ... */
    char skipped_why[LLMPERF_NOTES_MAX][LLMPERF_TEXT_MAX];
    int skipped_more[LLMPERF_NOTES_MAX]; /* ... and how many others share it */
    bool terminal;
    bool hw_measured;           /* no datasheet: peaks are those measured */
    char why[LLMPERF_TEXT_MAX]; /* there is none */
} session;

/* The best that was measured. */
typedef struct peaks {
    double flop_per_s[LLMPERF_DTYPE_COUNT];
    double best_flop_per_s[LLMPERF_DTYPE_COUNT]; /* of the library's fastest algorithms */
    double stream_bytes_per_s[4];                /* read, copy, triad, write; from memory */
    double h2d_bytes_per_s, d2h_bytes_per_s;
    double graph_s, host_s, round_s; /* launches in their other forms; 0 = not measured */
    double gemv_bytes_per_s[LLMPERF_DTYPE_COUNT];
    double memory_bytes_per_s; /* the best of everything that came from memory */
    double cache_bytes_per_s, cache_at_bytes;
    double launch_s;
    bool launch_contended;
    int contended, throttled, unsteady, timed_out, slow_memory;
} peaks;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    interrupted = number;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- samples --------------------------------------------------------------------------------- */

static llmperf_sample_kind kind_of(const llmperf_probe *probe)
{
    const llmperf_op *op = &probe->op;
    switch (probe->kind) {
    case LLMPERF_PROBE_OP:
        break;
    case LLMPERF_PROBE_LAUNCH:
        return LLMPERF_SAMPLE_LAUNCH;
    case LLMPERF_PROBE_LAUNCH_GRAPH:
        return LLMPERF_SAMPLE_LAUNCH_GRAPH;
    case LLMPERF_PROBE_LAUNCH_HOST:
        return LLMPERF_SAMPLE_LAUNCH_HOST;
    case LLMPERF_PROBE_ROUND_TRIP:
        return LLMPERF_SAMPLE_ROUND_TRIP;
    case LLMPERF_PROBE_WRITE:
        return LLMPERF_SAMPLE_WRITE;
    case LLMPERF_PROBE_H2D:
        return LLMPERF_SAMPLE_H2D;
    case LLMPERF_PROBE_D2H:
        return LLMPERF_SAMPLE_D2H;
    default:
        return LLMPERF_SAMPLE_COPY;
    }
    if (op->kind == LLMPERF_KIND_GEMM)
        return op->m == 1 ? LLMPERF_SAMPLE_GEMV : LLMPERF_SAMPLE_GEMM;
    if (op->id == LLMPERF_OP_ATTN_SCORES)
        return LLMPERF_SAMPLE_ATTN_SCORES;
    if (op->kind == LLMPERF_KIND_ATTENTION)
        return op->regime == LLMPERF_REGIME_DECODE    ? LLMPERF_SAMPLE_ATTN_DECODE
               : op->regime == LLMPERF_REGIME_PREFILL ? LLMPERF_SAMPLE_ATTN_PREFILL
                                                      : LLMPERF_SAMPLE_ATTN_MIXED;
    return LLMPERF_SAMPLE_ELEMENTWISE;
}

static bool is_launch(llmperf_sample_kind kind)
{
    return kind == LLMPERF_SAMPLE_LAUNCH || kind == LLMPERF_SAMPLE_LAUNCH_GRAPH ||
           kind == LLMPERF_SAMPLE_LAUNCH_HOST || kind == LLMPERF_SAMPLE_ROUND_TRIP;
}

static llmperf_sample sample_of(const session *s, const llmperf_probe *probe)
{
    llmperf_sample_kind kind = kind_of(probe);
    bool is_blas = kind == LLMPERF_SAMPLE_GEMM || kind == LLMPERF_SAMPLE_GEMV ||
                   kind == LLMPERF_SAMPLE_ATTN_SCORES;
    llmperf_sample sample = {.hw = s->hw_name, .kind = (uint8_t)kind};
    if (probe->kind == LLMPERF_PROBE_OP)
        sample.op = probe->op;
    else
        sample.bytes = llmperf_probe_bytes(probe);
    sample.library = !is_blas ? s->own_library : probe->best ? s->best_library : s->library;
    sample.version = is_blas ? s->version : s->own_version;
    if (!is_launch(kind))
        sample.place = probe->cold ? LLMPERF_PLACE_COLD : LLMPERF_PLACE_WARM;
    return sample;
}

/* Do two samples measure the same thing? */
static bool same_shape(const llmperf_sample *a, const llmperf_sample *b)
{
    const llmperf_op *x = &a->op, *y = &b->op;
    if (a->kind != b->kind || a->hw != b->hw)
        return false;
    if (is_launch((llmperf_sample_kind)a->kind))
        return true;
    if (a->kind >= LLMPERF_SAMPLE_COPY)
        return a->bytes == b->bytes && a->place == b->place;
    if (x->dtype != y->dtype || a->library != b->library)
        return false;
    if (a->kind == LLMPERF_SAMPLE_ELEMENTWISE)
        return x->bytes == y->bytes;
    return x->m == y->m && x->n == y->n && x->k == y->k && x->sequences == y->sequences &&
           x->query_tokens == y->query_tokens && x->past_tokens == y->past_tokens &&
           x->heads == y->heads && x->kv_heads == y->kv_heads && x->head_dim == y->head_dim;
}

static int times_measured(const session *s, const llmperf_probe *probe)
{
    llmperf_sample wanted = sample_of(s, probe);
    int times = 0;
    for (int64_t i = 0; i < s->samples.count; i++)
        times += same_shape(&s->samples.sample[i], &wanted);
    return times;
}

/* Replaces the file as a whole: it holds complete rows at any moment. */
static llmperf_status save_samples(const session *s, llmperf_error *error)
{
    common_output output;
    const common_arguments to = {.output = s->a->samples};
    if (!s->a->samples)
        return LLMPERF_OK;
    llmperf_status status = common_open_output(&to, &output, error);
    if (status != LLMPERF_OK)
        return status;
    status = llmperf_samples_write(output.file, &s->samples, error);
    llmperf_status closed = common_close_output(&output, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

/* Takes up what an earlier run left. */
static llmperf_status load_samples(session *s, llmperf_error *error)
{
    struct stat info;
    const char *path = s->a->samples;
    if (!path || stat(path, &info) != 0)
        return LLMPERF_OK;
    if (!S_ISREG(info.st_mode))
        return llmperf_fail(error, LLMPERF_E_IO, "cannot use '%s' for samples: it is no file",
                            path);
    if (info.st_size == 0)
        return LLMPERF_OK;
    llmperf_status status = llmperf_samples_read(&s->samples, path, NULL, error);
    for (int64_t i = 0; status == LLMPERF_OK && i < s->samples.count; i++) {
        const llmperf_sample *one = &s->samples.sample[i];
        if (one->hw != s->hw_name)
            return llmperf_fail(error, LLMPERF_E_USAGE,
                                "'%s' holds samples of '%s'; this device is '%s': another file is "
                                "needed",
                                path, s->samples.name[one->hw], s->samples.name[s->hw_name]);
        bool ours = one->library == s->library || one->library == s->own_library ||
                    one->library == s->best_library || one->op.kind == LLMPERF_KIND_COLLECTIVE;
        if (!ours)
            return llmperf_fail(error, LLMPERF_E_USAGE,
                                "'%s' holds samples by '%s'; this run uses '%s': another file is "
                                "needed (for OpenBLAS, OPENBLAS_CORETYPE chooses)",
                                path, s->samples.name[one->library], s->samples.name[s->library]);
    }
    return status;
}

/* ---- progress -------------------------------------------------------------------------------- */

static void time_text(double seconds, char *buffer, size_t size)
{
    if (seconds >= 1)
        snprintf(buffer, size, "%.3g s", seconds);
    else if (seconds >= 1e-3)
        snprintf(buffer, size, "%.3g ms", seconds * 1e3);
    else
        snprintf(buffer, size, "%.3g us", seconds * 1e6);
}

static void rate_text(double per_s, const char *unit, char *buffer, size_t size)
{
    if (per_s >= 1e15)
        snprintf(buffer, size, "%.3g P%s", per_s / 1e15, unit);
    else if (per_s >= 1e12)
        snprintf(buffer, size, "%.3g T%s", per_s / 1e12, unit);
    else
        snprintf(buffer, size, "%.3g G%s", per_s / 1e9, unit);
}

static void flags_text(unsigned flags, char *buffer, size_t size)
{
    static const char *const WORDS[] = {" contended", " throttled", "",
                                        " unsteady",  " timeout",   " slow_memory"};
    buffer[0] = '\0';
    for (int i = 0; i < 6; i++)
        if (flags & 1u << i) {
            size_t used = strlen(buffer);
            snprintf(buffer + used, size - used, "%s", WORDS[i]);
        }
}

static void tell_start(const session *s, int index, int done, double left_s)
{
    char text[LLMPERF_PROBE_TEXT_MAX];
    if (!s->terminal)
        return;
    llmperf_probe_describe(&s->plan.probe[index], text, sizeof text);
    fprintf(stderr, "\r\033[K[%d/%d] %.50s  about %d:%02d left", done + 1, s->wanted, text,
            (int)left_s / 60, (int)left_s % 60);
    fflush(stderr);
}

static void tell_done(const session *s, int index, int done, const llmperf_measurement *m)
{
    char text[LLMPERF_PROBE_TEXT_MAX], time[32], flags[64];
    const llmperf_summary *sum = &m->summary;
    if (s->terminal)
        return;
    llmperf_probe_describe(&s->plan.probe[index], text, sizeof text);
    time_text(sum->median_s, time, sizeof time);
    flags_text(m->flags, flags, sizeof flags);
    fprintf(stderr, "[%d/%d] %s: %s +-%.1f %%, %d repetitions", done + 1, s->wanted, text, time,
            50 * (sum->high_s - sum->low_s) / sum->median_s, sum->count);
    if (sum->outliers > 0)
        fprintf(stderr, ", %d outliers", sum->outliers);
    fprintf(stderr, "%s%s\n", flags[0] ? "," : "", flags);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* One line for each reason: a format that a library has not fails at every shape. */
static void note_skipped(session *s, const char *probe, const char *why)
{
    llmperf_notes *notes = &s->skipped;
    for (int i = 0; i < notes->count; i++)
        if (strcmp(s->skipped_why[i], why) == 0) {
            s->skipped_more[i]++;
            return;
        }
    int at = notes->count;
    llmperf_note(notes, "%s: %s", probe, why);
    if (notes->count > at)
        snprintf(s->skipped_why[at], LLMPERF_TEXT_MAX, "%.*s", LLMPERF_TEXT_MAX - 1, why);
}

/* Measures one probe and keeps the sample. What the device cannot do is passed over and said. */
static llmperf_status measure_one(session *s, int index, int done, double limit_s,
                                  llmperf_error *error)
{
    const llmperf_probe *probe = &s->plan.probe[index];
    const llmperf_measure_options options = {.time_limit_s = limit_s,
                                             .simulated = s->device.device.simulated,
                                             .watch = &s->plan.watch,
                                             .watch_best_s = &s->watch_best_s,
                                             .watch_log = &s->watch_log};
    llmperf_measurement m;
    llmperf_error one = {0};
    llmperf_status status =
        llmperf_measure(s->device.backend, s->device.handle, probe, &options, &m, &one);
    if (status == LLMPERF_E_UNSUPPORTED || status == LLMPERF_E_MEMORY) {
        char text[LLMPERF_PROBE_TEXT_MAX];
        llmperf_probe_describe(probe, text, sizeof text);
        note_skipped(s, text, one.text);
        s->failed++;
        s->failure = status;
        return LLMPERF_OK;
    }
    if (status != LLMPERF_OK) {
        if (error)
            *error = one;
        return status;
    }
    llmperf_sample sample = sample_of(s, probe);
    sample.time_s = m.summary.median_s;
    sample.ci_s = (m.summary.high_s - m.summary.low_s) / 2;
    sample.reps = m.summary.count;
    sample.flags = m.flags;
    sample.stream_bytes_per_s = m.stream_bytes_per_s;
    sample.clock_hz = s->device.device.clock_hz;
    if (s->device.backend->conditions)
        s->device.backend->conditions(s->device.handle, &sample.clock_hz, &sample.power_w);
    status = llmperf_samples_add(&s->samples, &sample, error);
    if (status == LLMPERF_OK)
        status = save_samples(s, error);
    s->measured++;
    tell_done(s, index, done, &m);
    return status;
}

/* Is this probe one of those that are measured once more at the end? Of every kind and format some,
 * spread over its shapes: what differs between two runs minutes apart shows in no single one. */
static bool is_repeated(const session *s, int index)
{
    const llmperf_probe *probe = &s->plan.probe[index];
    int before = 0, all = 0;
    if (probe->kind != LLMPERF_PROBE_OP || probe->best)
        return false;
    for (int i = 0; i < s->plan.count; i++) {
        const llmperf_probe *other = &s->plan.probe[i];
        if (other->kind != LLMPERF_PROBE_OP || other->best || kind_of(other) != kind_of(probe) ||
            other->op.dtype != probe->op.dtype)
            continue;
        before += i < index;
        all++;
    }
    /* the r-th of `all` when it is where one of REPEATS evenly spread ones falls */
    return all > 0 &&
           (before * REPEATS + all / 2) / all != ((before + 1) * REPEATS + all / 2) / all;
}

/* What is still to be measured, in order: every probe once, then some of them again. */
static int list_missing(const session *s, int *ret_list)
{
    int count = 0;
    for (int i = 0; i < s->plan.count; i++)
        if (times_measured(s, &s->plan.probe[i]) < 1)
            ret_list[count++] = i;
    for (int i = 0; i < s->plan.count; i++)
        if (is_repeated(s, i) && times_measured(s, &s->plan.probe[i]) < 2)
            ret_list[count++] = i;
    return count;
}

static llmperf_status measure_all(session *s, llmperf_error *error)
{
    double begun_s = now_s();
    llmperf_status status = LLMPERF_OK;
    int *list = calloc(2 * (size_t)s->plan.count + 1, sizeof *list), all = s->plan.count;
    if (!list)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    for (int i = 0; i < s->plan.count; i++)
        all += is_repeated(s, i);
    s->wanted = list_missing(s, list);
    s->resumed = all - s->wanted;
    if (s->resumed > 0)
        fprintf(stderr, "llmperf: %d of %d probes are in '%s' already\n", s->resumed, all,
                s->a->samples);
    /* a resumed run has the time of what it still has to do */
    double budget_s = s->plan.budget_s * s->wanted / all;
    for (int i = 0; i < s->wanted && status == LLMPERF_OK && !interrupted; i++) {
        if (s->plan.most_s > 0 && now_s() - begun_s > s->plan.most_s) {
            llmperf_note(&s->skipped,
                         "the last %d probes: no time was left (resume with --samples)",
                         s->wanted - i);
            s->failed += s->wanted - i;
            break;
        }
        double left_s = fmax(0, budget_s - (now_s() - begun_s));
        /* the cheap ones end early and leave their time to the dear ones; simulated time is free */
        double limit_s = s->device.device.simulated
                             ? s->plan.time_limit_s
                             : fmin(s->plan.time_limit_s, 1.5 * left_s / (s->wanted - i));
        tell_start(s, list[i], i, left_s);
        status = measure_one(s, list[i], i, fmax(limit_s, LEAST_LIMIT_S), error);
    }
    if (s->terminal)
        fputs("\r\033[K", stderr);
    free(list);
    return status;
}

/* ---- what was reached ------------------------------------------------------------------------ */

/* Which stream a sample is: the plan's largest buffers, told apart by the bytes they move. */
static int stream_of(const session *s, const llmperf_sample *sample)
{
    for (int i = 0; i < s->plan.count; i++) {
        const llmperf_probe *p = &s->plan.probe[i];
        if (p->cold && kind_of(p) == LLMPERF_SAMPLE_COPY && llmperf_probe_bytes(p) == sample->bytes)
            return p->kind == LLMPERF_PROBE_READ ? 0 : p->kind == LLMPERF_PROBE_COPY ? 1 : 2;
    }
    return 0;
}

static void raise_to(double *largest, double value)
{
    if (value > *largest)
        *largest = value;
}

static peaks find_peaks(const session *s)
{
    peaks p = {0};
    for (int64_t i = 0; i < s->samples.count; i++) {
        const llmperf_sample *one = &s->samples.sample[i];
        double t = one->time_s;
        p.contended += (one->flags & LLMPERF_SAMPLE_CONTENDED) != 0;
        p.throttled += (one->flags & LLMPERF_SAMPLE_THROTTLED) != 0;
        p.unsteady += (one->flags & LLMPERF_SAMPLE_UNSTEADY) != 0;
        p.timed_out += (one->flags & LLMPERF_SAMPLE_TIMEOUT) != 0;
        p.slow_memory += (one->flags & LLMPERF_SAMPLE_SLOW_MEMORY) != 0;
        if (one->kind == LLMPERF_SAMPLE_LAUNCH) {
            p.launch_s = t;
            p.launch_contended = (one->flags & LLMPERF_SAMPLE_CONTENDED) != 0;
        } else if (one->kind == LLMPERF_SAMPLE_LAUNCH_GRAPH) {
            p.graph_s = t;
        } else if (one->kind == LLMPERF_SAMPLE_LAUNCH_HOST) {
            p.host_s = t;
        } else if (one->kind == LLMPERF_SAMPLE_ROUND_TRIP) {
            p.round_s = t;
        } else if (one->kind == LLMPERF_SAMPLE_H2D) {
            raise_to(&p.h2d_bytes_per_s, one->bytes / t);
        } else if (one->kind == LLMPERF_SAMPLE_D2H) {
            raise_to(&p.d2h_bytes_per_s, one->bytes / t);
        } else if (one->kind == LLMPERF_SAMPLE_WRITE) {
            raise_to(&p.stream_bytes_per_s[3], one->bytes / t);
        } else if (one->kind == LLMPERF_SAMPLE_COPY && one->place == LLMPERF_PLACE_COLD) {
            raise_to(&p.stream_bytes_per_s[stream_of(s, one)], one->bytes / t);
            raise_to(&p.memory_bytes_per_s, one->bytes / t);
        } else if (one->kind == LLMPERF_SAMPLE_COPY) {
            if (one->bytes / t > p.cache_bytes_per_s)
                p.cache_at_bytes = one->bytes;
            raise_to(&p.cache_bytes_per_s, one->bytes / t);
        } else if (one->op.kind == LLMPERF_KIND_GEMM) {
            raise_to(&(one->library == s->best_library ? p.best_flop_per_s
                                                       : p.flop_per_s)[one->op.dtype],
                     one->op.flop / t);
            if (one->kind == LLMPERF_SAMPLE_GEMV)
                raise_to(&p.gemv_bytes_per_s[one->op.dtype], one->op.bytes / t);
        }
        /* small ones may hide in a cache that is larger than it says */
        if (one->place == LLMPERF_PLACE_COLD && one->op.bytes >= s->device.device.cache_bytes)
            raise_to(&p.memory_bytes_per_s, one->op.bytes / t);
    }
    /* the stream that watched for company ran all the time: its best is the least disturbed */
    if (s->watch_best_s > 0)
        raise_to(&p.memory_bytes_per_s, s->plan.watch.bytes / s->watch_best_s);
    return p;
}

/* "amd-epyc-2c": a name for a file, from what the device calls itself. */
static void slug_of(const llmperf_device *d, char *name, size_t size)
{
    size_t used = 0;
    for (const char *c = d->name; *c && used + 8 < size && used < 48; c++) {
        if (isalnum((unsigned char)*c))
            name[used++] = (char)tolower((unsigned char)*c);
        else if (used > 0 && name[used - 1] != '-')
            name[used++] = '-';
    }
    while (used > 0 && name[used - 1] == '-')
        used--;
    snprintf(name + used, size - used, "%s%.0fc", used ? "-" : "device-", d->units);
}

static void date_text(char *buffer, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    if (!gmtime_r(&now, &utc) || strftime(buffer, size, "%Y-%m-%d", &utc) == 0)
        snprintf(buffer, size, "unknown date");
}

/* A part whose datasheet is what was measured on it. */
static void hw_from_peaks(const session *s, const peaks *p, llmperf_hw *ret_hw)
{
    const llmperf_device *d = &s->device.device;
    char date[32];
    memset(ret_hw, 0, sizeof *ret_hw);
    slug_of(d, ret_hw->name, sizeof ret_hw->name);
    snprintf(ret_hw->kind, sizeof ret_hw->kind, "%s", d->kind);
    snprintf(ret_hw->aliases[0], sizeof ret_hw->aliases[0], "%s", d->name);
    ret_hw->alias_count = 1;
    memcpy(ret_hw->peak_flop_per_s, p->flop_per_s, sizeof ret_hw->peak_flop_per_s);
    ret_hw->mem_bytes_per_s = p->memory_bytes_per_s;
    ret_hw->memory_bytes = d->memory_bytes;
    ret_hw->units = d->units;
    ret_hw->l2_bytes = d->cache_bytes;
    ret_hw->clock_hz = d->clock_hz;
    ret_hw->launch_s = p->launch_contended ? 0 : p->launch_s;
    date_text(date, sizeof date);
    ret_hw->provenance[LLMPERF_HW_DEFAULT].confidence = LLMPERF_CONFIDENCE_DERIVED;
    snprintf(ret_hw->provenance[LLMPERF_HW_DEFAULT].source, LLMPERF_TEXT_MAX,
             "measured on this machine by llmperf %s calibrate, %s, %s %s", llmperf_version(), date,
             d->library, d->version);
    llmperf_note(&ret_hw->notes, "peaks are the best rates that were measured, not a datasheet's: "
                                 "another machine of this name may differ");
    if (p->contended > 0)
        llmperf_note(&ret_hw->notes,
                     "%d of %lld samples were contended: a quiet machine may reach "
                     "more",
                     p->contended, (long long)s->samples.count);
}

/* The datasheet: --spec, with --write-hw the measured one, else the shipped one, else measured. */
static llmperf_status choose_hw(session *s, const peaks *p, llmperf_loaded *ret_loaded,
                                llmperf_error *error)
{
    if (s->a->spec)
        return common_load_hw(&s->a->common, s->a->spec, ret_loaded, error);
    if (!s->a->write_hw && device_spec(&s->a->common, &s->device.device, ret_loaded, s->why))
        return LLMPERF_OK;
    s->hw_measured = true;
    ret_loaded->hw = malloc(sizeof *ret_loaded->hw);
    if (!ret_loaded->hw)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    hw_from_peaks(s, p, ret_loaded->hw);
    return llmperf_hw_check(ret_loaded->hw, error);
}

static llmperf_status write_hw(const session *s, const llmperf_hw *hw, llmperf_error *error)
{
    common_output output;
    const common_arguments to = {.output = s->a->write_hw};
    if (!s->a->write_hw)
        return LLMPERF_OK;
    llmperf_status status = common_open_output(&to, &output, error);
    if (status != LLMPERF_OK)
        return status;
    status = llmperf_write_hw(output.file, "yaml", hw, NULL, error);
    llmperf_status closed = common_close_output(&output, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

/* ---- the summary ----------------------------------------------------------------------------- */

static void row(const char *what, double measured, double datasheet, const char *unit)
{
    char left[32] = "-", right[32] = "", share[32] = "";
    if (measured > 0)
        rate_text(measured, unit, left, sizeof left);
    if (datasheet > 0) {
        rate_text(datasheet, unit, right, sizeof right);
        if (measured > 0)
            snprintf(share, sizeof share, "%.0f %%", 100 * measured / datasheet);
    }
    printf("  %-34s %14s %14s %8s\n", what, left, right, share);
}

static void print_launches(const peaks *p)
{
    const struct {
        double seconds;
        const char *what;
    } rows[] = {{p->launch_s, "empty launch"},
                {p->graph_s, "  inside a graph"},
                {p->host_s, "  what the host pays"},
                {p->round_s, "  there and back"}};
    char text[32];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        time_text(rows[i].seconds, text, sizeof text);
        if (i == 0 || rows[i].seconds > 0)
            printf("  %-34s %14s\n", rows[i].what, text);
    }
}

/* The largest of each kind of transfer: its rate, as nccl-tests' "algorithm bandwidth". */
static void print_transfers(const session *s)
{
    for (int kind = LLMPERF_SAMPLE_ALL_REDUCE; kind <= LLMPERF_SAMPLE_SEND_RECV; kind++) {
        const llmperf_sample *most = NULL;
        char text[64];
        for (int64_t i = 0; i < s->samples.count; i++) {
            const llmperf_sample *one = &s->samples.sample[i];
            if (one->kind == kind && (!most || one->bytes > most->bytes))
                most = one;
        }
        if (!most)
            continue;
        snprintf(text, sizeof text, "%s over %lld devices",
                 llmperf_sample_kind_name((llmperf_sample_kind)kind), (long long)most->op.devices);
        row(text, most->bytes / most->time_s, 0, "B/s");
    }
}

static void print_peaks(const session *s, const peaks *p, const llmperf_hw *hw)
{
    static const char *const STREAMS[] = {"memory, read", "memory, copy (both ways)",
                                          "memory, triad", "memory, write"};
    const llmperf_device *d = &s->device.device;
    char text[64], amount[32];
    printf("%s: %.0f units, %s %s\n", d->name, d->units, d->library, d->version);
    printf("%d probes measured, %d from the file, %d not possible\n\n", s->measured, s->resumed,
           s->failed);
    printf("  %-34s %14s %14s %8s\n", "", "measured", s->hw_measured ? "" : "datasheet", "share");
    for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++) {
        if (!(p->flop_per_s[i] > 0))
            continue;
        snprintf(text, sizeof text, "%s product", llmperf_dtype_name((llmperf_dtype)i));
        row(text, p->flop_per_s[i], s->hw_measured ? 0 : hw->peak_flop_per_s[i], "FLOP/s");
        snprintf(text, sizeof text, "  by its fastest algorithm");
        if (p->best_flop_per_s[i] > 0)
            row(text, p->best_flop_per_s[i], s->hw_measured ? 0 : hw->peak_flop_per_s[i], "FLOP/s");
    }
    for (int i = 0; i < 4; i++)
        if (i < 3 || p->stream_bytes_per_s[i] > 0)
            row(STREAMS[i], p->stream_bytes_per_s[i], s->hw_measured ? 0 : hw->mem_bytes_per_s,
                "B/s");
    for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++) {
        if (!(p->gemv_bytes_per_s[i] > 0))
            continue;
        snprintf(text, sizeof text, "%s product with one row",
                 llmperf_dtype_name((llmperf_dtype)i));
        row(text, p->gemv_bytes_per_s[i], s->hw_measured ? 0 : hw->mem_bytes_per_s, "B/s");
    }
    if (p->cache_bytes_per_s > 0) {
        snprintf(text, sizeof text, "cache (at %s)",
                 device_bytes(p->cache_at_bytes, amount, sizeof amount));
        row(text, p->cache_bytes_per_s, 0, "B/s");
    }
    if (p->h2d_bytes_per_s > 0)
        row("link, host to device", p->h2d_bytes_per_s, 0, "B/s");
    if (p->d2h_bytes_per_s > 0)
        row("link, device to host", p->d2h_bytes_per_s, 0, "B/s");
    print_transfers(s);
    print_launches(p);
}

static void print_fits(const llmperf_fits *fits)
{
    char name[96], launch[32];
    puts("\nFits of t = t0 + norm(compute, memory, ...)");
    for (int i = 0; i < fits->count; i++) {
        const llmperf_fit_one *f = &fits->fit[i];
        const double *param = f->entry.param;
        llmperf_calib_describe(&f->entry.key, name, sizeof name);
        if (f->status != LLMPERF_OK) {
            printf("  %-26s not fitted: %s\n", name, f->why);
            continue;
        }
        time_text(param[LLMPERF_PARAM_LAUNCH], launch, sizeof launch);
        printf("  %-26s ", name);
        if (f->entry.fitted & UINT64_C(1) << LLMPERF_PARAM_COMPUTE)
            printf("%3.0f %% of peak, ", 100 * param[LLMPERF_PARAM_COMPUTE]);
        printf("%3.0f %% of bandwidth, t0 %s; mean error %.1f %% of %lld samples\n",
               100 * param[LLMPERF_PARAM_MEMORY], launch, 100 * f->entry.quality.mean_frac,
               (long long)f->entry.quality.samples);
    }
}

/* Did anything run faster than the datasheet says? Said, not clamped. */
static bool is_above(const session *s, const peaks *p, const llmperf_hw *hw)
{
    bool above = false;
    for (int i = 0; i < LLMPERF_DTYPE_COUNT && !s->hw_measured; i++)
        above |= hw->peak_flop_per_s[i] > 0 &&
                 fmax(p->flop_per_s[i], p->best_flop_per_s[i]) > hw->peak_flop_per_s[i];
    for (int i = 0; i < 4 && !s->hw_measured; i++)
        above |= hw->mem_bytes_per_s > 0 && p->stream_bytes_per_s[i] > hw->mem_bytes_per_s;
    return above;
}

/* The fits are for memory as it usually was. */
static void print_memory(const session *s, const llmperf_calib *calib)
{
    static const double APART = 0.15;
    double usual = calib->stream_bytes_per_s;
    double best = s->watch_best_s > 0 ? llmperf_probe_bytes(&s->plan.watch) / s->watch_best_s : 0;
    if (usual > 0 && best > usual * (1 + APART))
        printf("  - memory streamed at %.3g GB/s as a rule, at %.3g GB/s at best: the fits are for "
               "the former\n",
               usual / 1e9, best / 1e9);
}

static void print_notes(const session *s, const peaks *p, const llmperf_hw *hw,
                        const llmperf_calib *calib)
{
    const struct {
        int count;
        const char *what;
    } flags[] = {{p->contended, "contended: others used the cores or the memory meanwhile"},
                 {p->throttled, "throttled"},
                 {p->unsteady, "unsteady: the times drift"},
                 {p->timed_out, "short of time: their intervals stay wide"},
                 {p->slow_memory,
                  "taken while memory was slower than at its best, by a stream beside "
                  "them"}};
    puts("");
    if (2 * p->contended > s->samples.count)
        puts("  MEASURED IN COMPANY: most samples were disturbed, so the rates above and the fit "
             "are\n"
             "  those of a busy machine. Repeat on a quiet one.");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].count > 0)
            printf("  %d of %lld samples %s %s\n", flags[i].count, (long long)s->samples.count,
                   flags[i].count == 1 ? "was" : "were", flags[i].what);
    print_memory(s, calib);
    if (is_above(s, p, hw))
        puts("  - above 100 %: the datasheet's figure is for a lower clock, or is not this part's");
    for (int i = 0; i < s->device.device.notes.count; i++)
        printf("  - %s\n", s->device.device.notes.text[i]);
    for (int i = 0; i < s->plan.skipped.count; i++)
        printf("  - left out: %s\n", s->plan.skipped.text[i]);
    for (int i = 0; i < s->skipped.count; i++) {
        printf("  - not possible: %s", s->skipped.text[i]);
        if (s->skipped_more[i] > 0)
            printf(" (and %d more)", s->skipped_more[i]);
        putchar('\n');
    }
}

static void batch_text(const llmperf_crossing *crossing, char *buffer, size_t size)
{
    if (crossing->exists)
        snprintf(buffer, size, "%lld", (long long)crossing->batch);
    else
        snprintf(buffer, size, "never (%s)", crossing->why);
}

/* Where a layer of 4096 x 4096 turns compute-bound, by the fit and by peaks alone. */
static void print_crossings(const session *s, const llmperf_hw *hw, const llmperf_calib *calib)
{
    const double width = REFERENCE_WIDTH;
    puts("");
    for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++) {
        llmperf_dtype dtype = (llmperf_dtype)i;
        char here[160], sheet[160];
        if (calib->index[LLMPERF_KIND_GEMM][LLMPERF_REGIME_NONE][i] == LLMPERF_CALIB_NO_ENTRY ||
            !(hw->peak_flop_per_s[i] > 0))
            continue;
        const llmperf_op op = llmperf_sample_gemm(dtype, LLMPERF_DTYPE_NONE, 64, width, width);
        llmperf_time t;
        llmperf_time_op(&op, hw, calib, &t, NULL);
        double peak = op.flop / t.compute_s, bandwidth = op.bytes / t.memory_s;
        double w = op.weight_bytes / (width * width), a = op.output_bytes / (64 * width);
        llmperf_crossing ours = llmperf_gemm_crossing(width, width, w, a, peak, bandwidth);
        llmperf_crossing theirs =
            llmperf_gemm_crossing(width, width, w, a, hw->peak_flop_per_s[i], hw->mem_bytes_per_s);
        batch_text(&ours, here, sizeof here);
        batch_text(&theirs, sheet, sizeof sheet);
        printf("%s ridge point: %.3g FLOP/byte as fitted, %.3g by the %s.\n"
               "A 4096 x 4096 layer turns compute-bound at batch %s here, %s by the %s.\n",
               llmperf_dtype_name(dtype), peak / bandwidth,
               hw->peak_flop_per_s[i] / hw->mem_bytes_per_s,
               s->hw_measured ? "best rates" : "datasheet", here, sheet,
               s->hw_measured ? "best rates alone" : "datasheet");
    }
}

static void print_next(const session *s, const llmperf_hw *hw)
{
    char part[512], calibration[512];
    common_quote(s->a->write_hw ? s->a->write_hw
                 : s->a->spec   ? s->a->spec
                                : hw->name,
                 part, sizeof part);
    common_quote(s->a->common.output, calibration, sizeof calibration);
    if (s->hw_measured && !s->a->write_hw) {
        if (s->why[0])
            printf("  - datasheet: %s\n", s->why);
        puts("next: add --write-hw FILE: no shipped specification is of this device, and `predict` "
             "needs one");
        return;
    }
    printf("next: llmperf predict MODEL %s --calibration %s\n", part, calibration);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Fits and fills in who, what and when. */
static llmperf_status fit(const session *s, const llmperf_hw *hw, llmperf_fits *fits,
                          llmperf_calib *calib, llmperf_error *error)
{
    const llmperf_device *d = &s->device.device;
    /* engines get the library's first choice; the fastest one is kept for comparison alone */
    const char *const libraries[] = {s->samples.name[s->library], s->samples.name[s->own_library],
                                     "nccl", NULL};
    const llmperf_fit_options options = {.gemv_apart = strcmp(d->kind, "cpu") == 0,
                                         .libraries = libraries};
    llmperf_status status = llmperf_fit(&s->samples, hw, &options, fits, error);
    if (status == LLMPERF_OK)
        status = llmperf_fits_to_calib(fits, calib, error);
    if (status == LLMPERF_OK && calib->entry_count == 0)
        status = llmperf_fail(error, LLMPERF_E_FIT, "nothing could be fitted: %s",
                              fits->count > 0 ? fits->fit[0].why : "no operator was measured");
    if (status != LLMPERF_OK)
        return status;
    snprintf(calib->name, sizeof calib->name, "%s", hw->name);
    snprintf(calib->hw, sizeof calib->hw, "%s", hw->name);
    snprintf(calib->device, sizeof calib->device, "%s", d->name);
    snprintf(calib->backend, sizeof calib->backend, "%s", d->backend);
    date_text(calib->date, sizeof calib->date);
    return LLMPERF_OK;
}

static llmperf_status finish(session *s, common_output *output, llmperf_error *error)
{
    llmperf_loaded datasheet = {0};
    llmperf_fits fits = {0};
    if (s->samples.count == 0 && s->skipped.count > 0)
        return llmperf_fail(error, s->failure, "nothing could be measured: %s", s->skipped.text[0]);
    llmperf_calib *calib = calloc(1, sizeof *calib);
    if (!calib)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_calib_init(calib);
    /* notes on company and libraries are complete only now */
    if (s->device.backend)
        s->device.backend->describe(s->device.handle, &s->device.device, NULL);
    peaks p = find_peaks(s);
    llmperf_status status = choose_hw(s, &p, &datasheet, error);
    const llmperf_hw *hw = datasheet.hw;
    if (status == LLMPERF_OK)
        print_peaks(s, &p, hw);
    if (status == LLMPERF_OK)
        status = fit(s, hw, &fits, calib, error);
    if (status == LLMPERF_OK) {
        print_fits(&fits);
        status = llmperf_calib_write(output->file, calib, error);
    }
    if (status == LLMPERF_OK)
        status = write_hw(s, hw, error);
    if (status == LLMPERF_OK) {
        print_notes(s, &p, hw, calib);
        print_crossings(s, hw, calib);
        print_next(s, hw);
    }
    llmperf_fits_free(&fits);
    llmperf_loaded_free(&datasheet);
    free(calib);
    return status;
}

/* ---- collectives ------------------------------------------------------------------------------ */

static const llmperf_sample_kind TRANSFERS[LLMPERF_TRANSFER_COUNT] = {
    [LLMPERF_TRANSFER_ALL_REDUCE] = LLMPERF_SAMPLE_ALL_REDUCE,
    [LLMPERF_TRANSFER_ALL_GATHER] = LLMPERF_SAMPLE_ALL_GATHER,
    [LLMPERF_TRANSFER_REDUCE_SCATTER] = LLMPERF_SAMPLE_REDUCE_SCATTER,
    [LLMPERF_TRANSFER_ALL_TO_ALL] = LLMPERF_SAMPLE_ALL_TO_ALL,
    [LLMPERF_TRANSFER_SEND_RECV] = LLMPERF_SAMPLE_SEND_RECV,
};

static llmperf_op transfer_op(const llmperf_transfer *t)
{
    static const llmperf_collective COLLECTIVES[LLMPERF_TRANSFER_COUNT] = {
        [LLMPERF_TRANSFER_ALL_REDUCE] = LLMPERF_COLLECTIVE_ALL_REDUCE,
        [LLMPERF_TRANSFER_ALL_GATHER] = LLMPERF_COLLECTIVE_ALL_GATHER,
        [LLMPERF_TRANSFER_REDUCE_SCATTER] = LLMPERF_COLLECTIVE_REDUCE_SCATTER,
        [LLMPERF_TRANSFER_ALL_TO_ALL] = LLMPERF_COLLECTIVE_ALL_TO_ALL,
        [LLMPERF_TRANSFER_SEND_RECV] = LLMPERF_COLLECTIVE_SEND_RECV,
    };
    return llmperf_sample_collective(COLLECTIVES[t->kind], t->devices, t->bytes);
}

/* A result as a sample; the device's name is filled in once it is open. */
static llmperf_status keep_transfer(const llmperf_transfer *t, void *context, llmperf_error *error)
{
    session *s = context;
    llmperf_summary sum;
    char time[32];
    llmperf_sample sample = {.kind = (uint8_t)TRANSFERS[t->kind],
                             .op = transfer_op(t),
                             .bytes = t->bytes,
                             .reps = t->count};
    llmperf_status status = llmperf_summarise(t->seconds, t->count, &sum, error);
    if (status == LLMPERF_OK)
        status = llmperf_samples_name(&s->samples, "nccl", &sample.library, error);
    if (status == LLMPERF_OK)
        status = llmperf_samples_name(&s->samples, t->version, &sample.version, error);
    if (status != LLMPERF_OK)
        return status;
    sample.time_s = sum.median_s;
    sample.ci_s = (sum.high_s - sum.low_s) / 2;
    sample.flags = sum.drifting ? LLMPERF_SAMPLE_UNSTEADY : 0;
    time_text(sum.median_s, time, sizeof time);
    fprintf(stderr, "%s of %.0f bytes over %d devices: %s\n",
            llmperf_sample_kind_name(TRANSFERS[t->kind]), t->bytes, t->devices, time);
    return llmperf_samples_add(&s->samples, &sample, error);
}

/* Does the samples file hold collectives already? What it holds is not measured again. */
static bool has_transfers(const char *path)
{
    llmperf_samples kept = {0};
    struct stat info;
    bool found = false;
    if (path && stat(path, &info) == 0 && info.st_size > 0)
        llmperf_samples_read(&kept, path, NULL, NULL);
    for (int64_t i = 0; i < kept.count; i++)
        found |= kept.sample[i].op.kind == LLMPERF_KIND_COLLECTIVE;
    llmperf_samples_free(&kept);
    return found;
}

/* Before any device is open: the backend works in a child process. */
static llmperf_status measure_transfers(session *s, llmperf_error *error)
{
    const llmperf_backend *backend = NULL;
    if (!s->a->devices || has_transfers(s->a->samples))
        return LLMPERF_OK;
    llmperf_status status = llmperf_backend_find(s->a->backend, &backend, error);
    if (status != LLMPERF_OK)
        return status;
    if (!backend->transfers)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend %s measures no collectives; --devices needs cuda",
                            s->a->backend);
    return backend->transfers(s->a->options, keep_transfer, s, error);
}

/* Indices of the names that our samples carry. */
static llmperf_status name_samples(session *s, llmperf_error *error)
{
    const llmperf_device *d = &s->device.device;
    const char *library = d->library[0] ? d->library : OWN_LIBRARY;
    char best[LLMPERF_NAME_MAX];
    snprintf(best, sizeof best, "%.*s-best", (int)sizeof best - 6, library);
    const struct {
        const char *name;
        int32_t *index;
    } names[] = {{d->name, &s->hw_name},         {library, &s->library},
                 {best, &s->best_library},       {d->version, &s->version},
                 {OWN_LIBRARY, &s->own_library}, {llmperf_version(), &s->own_version}};
    llmperf_status status = LLMPERF_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == LLMPERF_OK; i++)
        status = llmperf_samples_name(&s->samples, names[i].name, names[i].index, error);
    for (int64_t i = 0; i < s->samples.count; i++) /* collectives came before the name */
        s->samples.sample[i].hw = s->hw_name;
    return status;
}

/* No -o. A device that is not here is the greater trouble, and is told first. */
static llmperf_status lacks_output(session *s, llmperf_error *error)
{
    const calibrate_arguments *a = s->a;
    llmperf_status status = device_open_text(a->backend, a->device, a->options, &s->device, error);
    if (status != LLMPERF_OK)
        return status;
    return llmperf_fail(error, LLMPERF_E_USAGE,
                        "'calibrate' needs -o FILE: where the calibration goes");
}

/* Can the hardware file be written? Told before minutes of measuring. */
static llmperf_status try_write_hw(const calibrate_arguments *a, llmperf_error *error)
{
    common_output output;
    const common_arguments to = {.output = a->write_hw};
    if (!a->write_hw)
        return LLMPERF_OK;
    llmperf_status status = common_open_output(&to, &output, error);
    return status == LLMPERF_OK ? common_close_output(&output, false, error) : status;
}

static llmperf_status prepare(session *s, llmperf_error *error)
{
    const calibrate_arguments *a = s->a;
    if (!a->common.output)
        return lacks_output(s, error);
    if (a->spec && a->write_hw)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "--spec and --write-hw exclude each other: one datasheet is fitted "
                            "against");
    llmperf_status status = try_write_hw(a, error);
    if (status == LLMPERF_OK && a->spec) { /* a wrong name is told before minutes of measuring */
        llmperf_loaded known = {0};
        status = common_load_hw(&a->common, a->spec, &known, error);
        llmperf_loaded_free(&known);
    }
    if (status == LLMPERF_OK)
        status = measure_transfers(s, error);
    if (status == LLMPERF_OK)
        status = device_open_text(a->backend, a->device, a->options, &s->device, error);
    if (status == LLMPERF_OK)
        status =
            llmperf_probe_plan_make(s->device.backend, s->device.handle, a->quick, &s->plan, error);
    /* by now the backend knows its libraries */
    if (status == LLMPERF_OK)
        status = s->device.backend->describe(s->device.handle, &s->device.device, error);
    if (status == LLMPERF_OK)
        status = name_samples(s, error);
    return status == LLMPERF_OK ? load_samples(s, error) : status;
}

/* Ctrl-C ends after the probe that runs; a second one at once. */
static void watch_for_interrupt(void)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* As if the signal had never been caught, so that a shell sees what ended us. */
static void end_by_signal(const calibrate_arguments *a, int64_t kept)
{
    int number = interrupted;
    if (a->samples)
        fprintf(stderr,
                "llmperf: stopped; %lld samples are kept in '%s', the same command goes on "
                "from there\n",
                (long long)kept, a->samples);
    else
        fputs("llmperf: stopped; nothing is kept (--samples FILE keeps what was measured)\n",
              stderr);
    signal(number, SIG_DFL);
    raise(number);
}

static int run(int argc, char **argv)
{
    calibrate_arguments arguments = {.common = COMMON_DEFAULTS, .backend = "cpu", .device = "0"};
    option_result result = {0};
    llmperf_error error = {0};
    common_output output = {0};
    session s = {.a = &arguments, .terminal = isatty(STDERR_FILENO)};
    llmperf_status status =
        option_parse(&COMMAND_CALIBRATE, argc, argv, &arguments, &result, &error);
    if (status != LLMPERF_OK)
        return common_report(status, &error);
    if (result.help) {
        option_print_help(stdout, &COMMAND_CALIBRATE);
        return 0;
    }
    status = prepare(&s, &error);
    if (status == LLMPERF_OK)
        status = common_open_output(&arguments.common, &output, &error);
    if (status == LLMPERF_OK) {
        watch_for_interrupt();
        status = measure_all(&s, &error);
        if (status == LLMPERF_OK && !interrupted)
            status = finish(&s, &output, &error);
        bool keep = status == LLMPERF_OK && !interrupted;
        llmperf_status closed = common_close_output(&output, keep, &error);
        status = status == LLMPERF_OK ? closed : status;
        if (status != LLMPERF_OK && s.measured > 0 && arguments.samples)
            fprintf(stderr, "llmperf: %lld samples are kept in '%s'\n", (long long)s.samples.count,
                    arguments.samples);
    }
    int64_t kept = s.samples.count;
    llmperf_probe_plan_free(&s.plan);
    llmperf_samples_free(&s.samples);
    device_close(&s.device); /* given back also after Ctrl-C */
    if (interrupted && status == LLMPERF_OK)
        end_by_signal(&arguments, kept);
    return common_report(status, &error);
}

const option_command COMMAND_CALIBRATE = {
    .name = "calibrate",
    .synopsis = "",
    .summary = "measure a device and fit a calibration for it",
    .about =
        "Measures memory and cache streams, matrix products, attention and elementwise passes, "
        "each "
        "until the 95 % interval of its median is within 1 % (5 % below 20 us), fits the time "
        "formula "
        "and writes the calibration that `predict --calibration FILE` reads. Nothing is written "
        "half: a stopped or failed run leaves the samples file complete and no calibration.\n\n"
        "Measure on a quiet machine: contention, throttling and drift are noticed, tried again and "
        "flagged, but not cured.",
    .examples = "llmperf calibrate --quick -o here.yaml --write-hw here-hw.yaml\n"
                "llmperf calibrate --samples here.csv -o here.yaml  # can be stopped and resumed\n"
                "llmperf calibrate --backend fake --options noise=0.01,seed=7 -o fake.yaml",
    .options = OPTIONS,
    .min_positionals = 0,
    .max_positionals = 0,
    .run = run,
};
