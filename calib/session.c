/* SPDX-License-Identifier: MIT */
/* A calibration under way: what is missing is measured, what was measured is kept, then fitted. */
#include "session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "llmperf/output.h"
#include "peaks.h"
#include "text.h"
#include "calib_object.h"
#include "fits.h"
#include "entry.h"

typedef llmperf_session session;

/* The library name of what is our own and not a BLAS. */
static const char OWN_LIBRARY[] = "llmperf";
static const double LEAST_LIMIT_S = 0.1; /* per probe */

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static const llmperf_spec_paths *paths_of(const session *s)
{
    return s->paths ? s->paths : s->options.paths;
}

static void tell(const session *s, llmperf_session_progress progress)
{
    if (s->options.visit)
        s->options.visit(&progress, s->options.context);
}

static bool is_stopped(const session *s)
{
    return s->options.stop && s->options.stop(s->options.context);
}

/* ---- the samples file ------------------------------------------------------------------------ */

/* Replaces the file as a whole: it holds complete rows at any moment. */
static llmperf_status save_samples(const session *s, llmperf_error *error)
{
    llmperf_output output;
    if (!s->options.samples)
        return LLMPERF_OK;
    llmperf_status status = llmperf_output_open(s->options.samples, &output, error);
    if (status != LLMPERF_OK)
        return status;
    status = llmperf_samples_write(output.file, &s->samples, error);
    llmperf_status closed = llmperf_output_close(&output, status == LLMPERF_OK, error);
    return status == LLMPERF_OK ? closed : status;
}

/* Samples of one file are of one device, by one library. */
static llmperf_status check_kept(const session *s, const llmperf_sample *one, llmperf_error *error)
{
    const sample_names *n = &s->names;
    const llmperf_samples *all = &s->samples;
    const char *path = s->options.samples;
    if (one->hw != n->hw)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "'%s' holds samples of '%s'; this device is '%s': another file is "
                            "needed",
                            path, all->name[one->hw], all->name[n->hw]);
    if (one->library == n->library || one->library == n->own_library ||
        one->library == n->best_library || one->op.kind == LLMPERF_KIND_COLLECTIVE)
        return LLMPERF_OK;
    return llmperf_fail(error, LLMPERF_E_USAGE,
                        "'%s' holds samples by '%s'; this run uses '%s': another file is "
                        "needed (for OpenBLAS, OPENBLAS_CORETYPE chooses)",
                        path, all->name[one->library], all->name[n->library]);
}

/* Takes up what an earlier run left. */
static llmperf_status load_samples(session *s, llmperf_error *error)
{
    struct stat info;
    const char *path = s->options.samples;
    if (!path || stat(path, &info) != 0)
        return LLMPERF_OK;
    if (!S_ISREG(info.st_mode))
        return llmperf_fail(error, LLMPERF_E_IO, "cannot use '%s' for samples: it is no file",
                            path);
    if (info.st_size == 0)
        return LLMPERF_OK;
    llmperf_status status = llmperf_samples_read(&s->samples, path, NULL, error);
    for (int64_t i = 0; status == LLMPERF_OK && i < s->samples.count; i++)
        status = check_kept(s, &s->samples.sample[i], error);
    return status;
}

/* Indices of the names that our samples carry. */
static llmperf_status name_samples(session *s, llmperf_error *error)
{
    const llmperf_device *d = &s->opened.device;
    const char *library = d->library[0] ? d->library : OWN_LIBRARY;
    char best[LLMPERF_NAME_MAX];
    snprintf(best, sizeof best, "%.*s-best", (int)sizeof best - 6, library);
    const struct {
        const char *name;
        int32_t *index;
    } names[] = {{d->name, &s->names.hw},
                 {library, &s->names.library},
                 {best, &s->names.best_library},
                 {d->version, &s->names.version},
                 {OWN_LIBRARY, &s->names.own_library},
                 {llmperf_version(), &s->names.own_version}};
    llmperf_status status = LLMPERF_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names && status == LLMPERF_OK; i++)
        status = llmperf_samples_name(&s->samples, names[i].name, names[i].index, error);
    for (int64_t i = 0; i < s->samples.count; i++) /* collectives came before the name */
        s->samples.sample[i].hw = s->names.hw;
    return status;
}

/* ---- collectives ----------------------------------------------------------------------------- */

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
    char what[LLMPERF_PROBE_TEXT_MAX], time[32];
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
    snprintf(what, sizeof what, "%s of %.0f bytes over %d devices",
             llmperf_sample_kind_name(TRANSFERS[t->kind]), t->bytes, t->devices);
    tell(s, (llmperf_session_progress){.event = LLMPERF_SESSION_TRANSFER,
                                       .what = what,
                                       .result = text_time(sum.median_s, time, sizeof time)});
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
    const llmperf_session_options *o = &s->options;
    if (!o->all_devices || has_transfers(o->samples))
        return LLMPERF_OK;
    llmperf_status status = llmperf_backend_find(o->backend, &backend, error);
    if (status != LLMPERF_OK)
        return status;
    if (!backend->transfers)
        return llmperf_fail(error, LLMPERF_E_UNSUPPORTED,
                            "backend %s measures no collectives; --devices needs cuda", o->backend);
    return backend->transfers(o->backend_options, keep_transfer, s, error);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static llmperf_status load_spec(session *s, llmperf_error *error)
{
    const llmperf_load_options options = {
        .paths = paths_of(s), .hw = s->options.spec, .calibration = "none"};
    return s->options.spec ? llmperf_load(&options, &s->spec, error) : LLMPERF_OK;
}

static llmperf_status prepare(session *s, llmperf_error *error)
{
    const llmperf_session_options *o = &s->options;
    llmperf_opened_device *d = &s->opened;
    llmperf_status status =
        load_spec(s, error); /* a wrong name is told before minutes of measuring */
    if (status == LLMPERF_OK)
        status = measure_transfers(s, error);
    if (status == LLMPERF_OK)
        status = llmperf_device_open(o->backend, o->device, o->backend_options, d, error);
    if (status == LLMPERF_OK)
        status = llmperf_probe_plan_make(d->backend, d->handle, o->quick, &s->plan, error);
    /* by now the backend knows its libraries */
    if (status == LLMPERF_OK)
        status = d->backend->describe(d->handle, &d->device, error);
    if (status == LLMPERF_OK)
        status = name_samples(s, error);
    if (status == LLMPERF_OK)
        status = load_samples(s, error);
    if (status == LLMPERF_OK)
        status = schedule_make(&s->plan, &s->samples, &s->names, &s->schedule, error);
    s->counts.wanted = s->schedule.count;
    s->counts.resumed = s->schedule.all - s->schedule.count;
    return status;
}

llmperf_status llmperf_session_open(const llmperf_session_options *options,
                                    llmperf_session **ret_session, llmperf_error *error)
{
    NEEDS(options && ret_session, error);
    session *s = calloc(1, sizeof *s);
    if (s && !options->paths)
        s->paths = malloc(sizeof *s->paths);
    if (!s || (!options->paths && !s->paths)) {
        free(s);
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    s->options = *options;
    if (!s->options.backend)
        s->options.backend = "cpu";
    if (s->paths)
        llmperf_spec_paths_default(NULL, s->paths);
    llmperf_status status = prepare(s, error);
    if (status == LLMPERF_OK)
        *ret_session = s;
    else
        llmperf_session_free(s);
    return status;
}

void llmperf_session_free(llmperf_session *s)
{
    if (!s)
        return;
    if (!s)
        return;
    schedule_free(&s->schedule);
    llmperf_probe_plan_free(&s->plan);
    llmperf_samples_free(&s->samples);
    llmperf_fits_free(&s->fits);
    llmperf_loaded_free(&s->spec);
    llmperf_calib_free(s->calib);
    llmperf_device_close(&s->opened);
    free(s->paths);
    free(s);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* One line for each reason: a format that a library has not fails at every shape. */
static void note_skipped(llmperf_session *s, const char *probe, const char *why)
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

/* "545 us +-1.0 %, 10 repetitions, 2 outliers, contended" */
static void describe_result(const llmperf_measurement *m, char *buffer, size_t size)
{
    char time[32], flags[64], outliers[32] = "";
    const llmperf_summary *sum = &m->summary;
    text_time(sum->median_s, time, sizeof time);
    text_flags(m->flags, flags, sizeof flags);
    if (sum->outliers > 0)
        snprintf(outliers, sizeof outliers, ", %d outliers", sum->outliers);
    snprintf(buffer, size, "%s +-%.1f %%, %d repetitions%s%s%s", time,
             50 * (sum->high_s - sum->low_s) / sum->median_s, sum->count, outliers,
             flags[0] ? "," : "", flags);
}

static llmperf_status keep_sample(session *s, const llmperf_probe *probe,
                                  const llmperf_measurement *m, llmperf_error *error)
{
    const llmperf_opened_device *d = &s->opened;
    llmperf_sample sample = schedule_sample(&s->names, probe);
    sample.time_s = m->summary.median_s;
    sample.ci_s = (m->summary.high_s - m->summary.low_s) / 2;
    sample.reps = m->summary.count;
    sample.flags = m->flags;
    sample.stream_bytes_per_s = m->stream_bytes_per_s;
    sample.clock_hz = d->device.clock_hz;
    if (d->backend->conditions)
        d->backend->conditions(d->handle, &sample.clock_hz, &sample.power_w);
    llmperf_status status = llmperf_samples_add(&s->samples, &sample, error);
    return status == LLMPERF_OK ? save_samples(s, error) : status;
}

/* Measures one probe and keeps the sample. What the device cannot do is passed over and said. */
static llmperf_status measure_one(session *s, const llmperf_probe *probe, const char *what,
                                  int done, double limit_s, llmperf_error *error)
{
    const llmperf_measure_options options = {.time_limit_s = limit_s,
                                             .simulated = s->opened.device.simulated,
                                             .watch = &s->plan.watch,
                                             .watch_best_s = &s->watch_best_s,
                                             .watch_log = &s->watch_log};
    llmperf_measurement m;
    char result[160];
    memset(&s->error, 0, sizeof s->error);
    llmperf_status status =
        llmperf_measure(s->opened.backend, s->opened.handle, probe, &options, &m, &s->error);
    if (status == LLMPERF_E_UNSUPPORTED || status == LLMPERF_E_MEMORY) {
        note_skipped(s, what, s->error.text);
        s->counts.failed++;
        s->failure = status;
        return LLMPERF_OK;
    }
    if (status != LLMPERF_OK) {
        if (error)
            *error = s->error;
        return status;
    }
    status = keep_sample(s, probe, &m, error);
    s->counts.measured++;
    describe_result(&m, result, sizeof result);
    tell(s, (llmperf_session_progress){.event = LLMPERF_SESSION_DONE,
                                       .done = done,
                                       .count = s->counts.wanted,
                                       .what = what,
                                       .result = result});
    return status;
}

/* The time that is left is shared out: cheap probes end early and leave theirs to the dear ones;
 * simulated time is free. */
static double limit_of(const session *s, double left_s, int probes)
{
    double limit_s = s->plan.time_limit_s;
    if (!s->opened.device.simulated)
        limit_s = fmin(limit_s, 1.5 * left_s / probes);
    return fmax(limit_s, LEAST_LIMIT_S);
}

static llmperf_status measure_missing(session *s, llmperf_error *error)
{
    const int wanted = s->schedule.count;
    const double begun_s = now_s();
    const double most_s = s->options.most_s > 0 ? s->options.most_s : s->plan.most_s;
    /* a resumed run has the time of what it still has to do */
    const double budget_s = s->plan.budget_s * wanted / s->schedule.all;
    llmperf_status status = LLMPERF_OK;
    for (int i = s->next; i < wanted && status == LLMPERF_OK && !s->counts.stopped; i++) {
        char what[LLMPERF_PROBE_TEXT_MAX];
        const llmperf_probe *probe = &s->plan.probe[s->schedule.index[i]];
        double spent_s = now_s() - begun_s, left_s = fmax(0, budget_s - spent_s);
        if (most_s > 0 && spent_s > most_s) {
            llmperf_note(&s->skipped,
                         "the last %d probes: no time was left (resume with --samples)",
                         wanted - i);
            s->counts.failed += wanted - i;
            s->next = wanted;
            break;
        }
        llmperf_probe_describe(probe, what, sizeof what);
        tell(s, (llmperf_session_progress){.event = LLMPERF_SESSION_START,
                                           .done = i,
                                           .count = wanted,
                                           .left_s = left_s,
                                           .what = what});
        status = measure_one(s, probe, what, i, limit_of(s, left_s, wanted - i), error);
        s->next = i + 1;
        s->counts.stopped = is_stopped(s);
    }
    return status;
}

llmperf_status llmperf_session_measure(llmperf_session *s, llmperf_error *error)
{
    NEEDS(s, error);
    llmperf_status status = LLMPERF_OK;
    if (s->counts.resumed > 0)
        tell(s, (llmperf_session_progress){.event = LLMPERF_SESSION_RESUME,
                                           .done = s->counts.resumed,
                                           .count = s->schedule.all});
    s->counts.stopped = is_stopped(s);
    if (!s->counts.stopped)
        status = measure_missing(s, error);
    tell(s, (llmperf_session_progress){.event = LLMPERF_SESSION_END});
    return status;
}

llmperf_session_counts llmperf_session_counts_of(const llmperf_session *s)
{
    if (!s)
        return (llmperf_session_counts){0};
    llmperf_session_counts counts = s->counts;
    counts.samples = s->samples.count;
    return counts;
}

/* ---- the fit --------------------------------------------------------------------------------- */

/* The datasheet: the asked one, else the shipped one unless it must be what was measured. */
static llmperf_status choose_hw(session *s, llmperf_error *error)
{
    if (s->spec.hw)
        return LLMPERF_OK;
    if (!s->options.spec_measured &&
        llmperf_device_spec(paths_of(s), &s->opened.device, &s->spec, s->why))
        return LLMPERF_OK;
    s->hw_measured = true;
    s->spec.hw = calloc(1, sizeof *s->spec.hw);
    if (!s->spec.hw)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    peaks_to_hw(s, &s->peaks, s->spec.hw);
    return llmperf_hw_check(s->spec.hw, error);
}

/* Who, what and when. */
static void sign(const session *s, llmperf_calib *calib)
{
    const llmperf_device *d = &s->opened.device;
    const llmperf_hw *hw = s->spec.hw;
    snprintf(calib->name, sizeof calib->name, "%s", hw->name);
    snprintf(calib->hw, sizeof calib->hw, "%s", hw->name);
    snprintf(calib->device, sizeof calib->device, "%s", d->name);
    snprintf(calib->backend, sizeof calib->backend, "%s", d->backend);
    date_text(calib->date, sizeof calib->date);
}

static llmperf_status fit(session *s, llmperf_calib **ret_calib, llmperf_error *error)
{
    const llmperf_samples *all = &s->samples;
    /* engines get the library's first choice; the fastest one is kept for comparison alone */
    const char *const libraries[] = {all->name[s->names.library], all->name[s->names.own_library],
                                     "nccl", NULL};
    const llmperf_fit_options options = {.gemv_apart = strcmp(s->opened.device.kind, "cpu") == 0,
                                         .libraries = libraries};
    llmperf_calib *calib = NULL;
    llmperf_status status = llmperf_fit(all, s->spec.hw, &options, &s->fits, error);
    if (status == LLMPERF_OK)
        status = llmperf_fits_to_calib(&s->fits, &calib, error);
    if (status == LLMPERF_OK && calib->entry_count == 0)
        status = llmperf_fail(error, LLMPERF_E_FIT, "nothing could be fitted: %s",
                              s->fits.count > 0 ? s->fits.fit[0].why : "no operator was measured");
    if (status == LLMPERF_OK) {
        sign(s, calib);
        *ret_calib = calib;
    } else {
        llmperf_calib_free(calib);
    }
    return status;
}

llmperf_status llmperf_session_fit(llmperf_session *s, llmperf_error *error)
{
    NEEDS(s, error);
    if (s->fitted)
        return llmperf_fail(error, LLMPERF_E_USAGE, "a session is fitted once");
    if (s->samples.count == 0 && s->skipped.count > 0)
        return llmperf_fail(error, s->failure, "nothing could be measured: %s", s->skipped.text[0]);
    /* notes on company and libraries are complete only now */
    s->opened.backend->describe(s->opened.handle, &s->opened.device, NULL);
    s->peaks = peaks_find(s);
    llmperf_status status = choose_hw(s, error);
    s->fitted = status == LLMPERF_OK;
    if (status == LLMPERF_OK)
        status = fit(s, &s->calib, error);
    return status;
}

/* ---- what a session found -------------------------------------------------------------------- */

const llmperf_device *llmperf_session_device(const llmperf_session *s)
{
    if (!s)
        return NULL;
    return &s->opened.device;
}

const llmperf_samples *llmperf_session_samples(const llmperf_session *s)
{
    if (!s)
        return NULL;
    return &s->samples;
}

const llmperf_peaks *llmperf_session_peaks(const llmperf_session *s)
{
    if (!s)
        return NULL;
    return s->fitted ? &s->peaks : NULL;
}

const llmperf_hw *llmperf_session_hw(const llmperf_session *s, bool *ret_measured)
{
    if (!s)
        return NULL;
    if (ret_measured)
        *ret_measured = s->fitted && s->hw_measured;
    return s->fitted ? s->spec.hw : NULL;
}

const llmperf_fits *llmperf_session_fits(const llmperf_session *s)
{
    if (!s)
        return NULL;
    return s->calib ? &s->fits : NULL;
}

const llmperf_calib *llmperf_session_calib(const llmperf_session *s)
{
    if (!s)
        return NULL;
    return s->calib;
}

const char *llmperf_session_why(const llmperf_session *s)
{
    if (!s)
        return NULL;
    return s->why;
}
