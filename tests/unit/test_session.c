/* SPDX-License-Identifier: MIT */
/* A calibration driven from C, on the fake device: all of it, stopped and resumed, out of time. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llmperf/session.h"
#include "schedule.h"
#include "calib_object.h"

#define FAKE "noise=0.01,seed=7"

/* What the callbacks saw. */
typedef struct seen {
    int transfers, resumes, starts, dones, ends;
    int resumed, all, last, out_of_order;
    int stop_after; /* this many probes; 0 = never */
    const char *samples;
    int incomplete; /* times that the file did not hold what was measured */
    double left_s;
    unsigned sleep_us; /* after each probe */
} seen;

static llmperf_spec_paths paths;
static llmperf_error error;
static llmperf_session *session;
static llmperf_session_options options;
static seen told;
static char place[64], file[96];

/* Every call of schedule_make() from another file of the library comes here (-Wl,--wrap). */
static int schedules_made;
llmperf_status __real_schedule_make(const llmperf_probe_plan *plan, const llmperf_samples *samples,
                                    const sample_names *names, schedule *ret_schedule,
                                    llmperf_error *ret_error);
llmperf_status __wrap_schedule_make(const llmperf_probe_plan *plan, const llmperf_samples *samples,
                                    const sample_names *names, schedule *ret_schedule,
                                    llmperf_error *ret_error);
llmperf_status __wrap_schedule_make(const llmperf_probe_plan *plan, const llmperf_samples *samples,
                                    const sample_names *names, schedule *ret_schedule,
                                    llmperf_error *ret_error)
{
    schedules_made++;
    return __real_schedule_make(plan, samples, names, ret_schedule, ret_error);
}

static int64_t rows_of(const char *path)
{
    llmperf_samples kept = {0};
    llmperf_error ignored = {0};
    cr_assert(llmperf_samples_read(&kept, path, NULL, &ignored) == LLMPERF_OK, "%s", ignored.text);
    int64_t rows = kept.count;
    llmperf_samples_free(&kept);
    return rows;
}

static void visit(const llmperf_session_progress *p, void *context)
{
    seen *s = context;
    s->transfers += p->event == LLMPERF_SESSION_TRANSFER;
    s->resumes += p->event == LLMPERF_SESSION_RESUME;
    s->ends += p->event == LLMPERF_SESSION_END;
    if (p->event == LLMPERF_SESSION_RESUME) {
        s->resumed = p->done;
        s->all = p->count;
    }
    if (p->event == LLMPERF_SESSION_START) {
        s->out_of_order += p->done != s->starts || !p->what[0];
        s->left_s = p->left_s;
        s->starts++;
    }
    if (p->event == LLMPERF_SESSION_DONE) {
        s->out_of_order += p->done != s->dones || !strstr(p->result, " repetitions");
        s->dones++;
        s->last = p->count;
        usleep(s->sleep_us);
    }
}

static bool stop(void *context)
{
    seen *s = context;
    if (s->samples && s->dones > 0)
        s->incomplete += rows_of(s->samples) != s->resumed + s->dones;
    return s->stop_after > 0 && s->dones >= s->stop_after;
}

static void set_up(void)
{
    snprintf(place, sizeof place, "/tmp/llmperf-session-XXXXXX");
    cr_assert(mkdtemp(place) != NULL);
    snprintf(file, sizeof file, "%s/samples.csv", place);
    memset(&paths, 0, sizeof paths);
    paths.count = 1;
    snprintf(paths.folder[0], LLMPERF_PATH_MAX, "%s/specs", getenv("LLMPERF_SOURCE"));
    error = (llmperf_error){0};
    told = (seen){0};
    session = NULL;
    schedules_made = 0;
    options = (llmperf_session_options){.paths = &paths,
                                        .backend = "fake",
                                        .backend_options = FAKE,
                                        .quick = true,
                                        .visit = visit,
                                        .stop = stop,
                                        .context = &told};
}

static void tear_down(void)
{
    llmperf_session_free(session);
    unlink(file);
    rmdir(place);
}

TestSuite(session, .init = set_up, .fini = tear_down);

static void begin(void)
{
    llmperf_session_free(session);
    session = NULL;
    cr_assert(llmperf_session_open(&options, &session, &error) == LLMPERF_OK, "%s", error.text);
}

static llmperf_session_counts measure(void)
{
    cr_assert(llmperf_session_measure(session, &error) == LLMPERF_OK, "%s", error.text);
    return llmperf_session_counts_of(session);
}

/* ---- from beginning to end ---------------------------------------------------------------------- */

Test(session, measures_every_probe_and_fits_against_the_shipped_datasheet)
{
    bool measured = true;
    begin();
    int wanted = llmperf_session_counts_of(session).wanted;
    cr_assert_gt(wanted, 100);
    llmperf_session_counts c = measure();
    cr_expect_eq(c.measured, wanted);
    cr_expect_eq(c.failed + c.resumed, 0);
    cr_expect_eq(c.samples, wanted);
    cr_expect_not(c.stopped);
    cr_expect_null(llmperf_session_hw(session, NULL)); /* not before the fit */
    cr_expect_null(llmperf_session_peaks(session));
    cr_assert(llmperf_session_fit(session, &error) == LLMPERF_OK, "%s", error.text);
    cr_expect_str_eq(llmperf_session_hw(session, &measured)->name, "fake");
    cr_expect_not(measured);
    const llmperf_calib *calib = llmperf_session_calib(session);
    cr_expect_str_eq(calib->hw, "fake");
    cr_expect_str_eq(calib->backend, "fake");
    cr_expect_eq(strlen(calib->date), strlen("2026-01-31"));
    cr_expect_gt(calib->entry_count, 0);
    cr_expect_eq(llmperf_session_fits(session)->samples, calib->samples);
    cr_expect_gt(llmperf_session_peaks(session)->memory_bytes_per_s, 0);
}

Test(session, tells_each_step_once_and_in_order)
{
    begin();
    llmperf_session_counts c = measure();
    cr_expect_eq(told.starts, c.wanted);
    cr_expect_eq(told.dones, c.wanted);
    cr_expect_eq(told.last, c.wanted);
    cr_expect_eq(told.out_of_order, 0);
    cr_expect_eq(told.resumes + told.transfers, 0);
    cr_expect_eq(told.ends, 1);
    cr_expect_gt(told.left_s, 0);
}

Test(session, works_without_callbacks)
{
    options.visit = NULL;
    options.stop = NULL;
    begin();
    llmperf_session_counts c = measure();
    cr_expect_eq(c.measured, c.wanted);
}

Test(session, makes_its_schedule_once)
{
    begin();
    measure();
    cr_assert(llmperf_session_fit(session, &error) == LLMPERF_OK, "%s", error.text);
    cr_expect_eq(schedules_made, 1);
}

Test(session, hardware_is_made_of_what_was_measured_where_asked)
{
    bool measured = false;
    options.spec_measured = true;
    begin();
    measure();
    cr_assert(llmperf_session_fit(session, &error) == LLMPERF_OK, "%s", error.text);
    const llmperf_hw *hw = llmperf_session_hw(session, &measured);
    cr_expect(measured);
    cr_expect_eq(hw->mem_bytes_per_s, llmperf_session_peaks(session)->memory_bytes_per_s);
}

Test(session, the_asked_datasheet_is_fitted_against)
{
    bool measured = true;
    options.spec = "h100-sxm";
    begin();
    measure();
    llmperf_session_fit(session, &error);
    cr_expect_str_eq(llmperf_session_hw(session, &measured)->name, "h100-sxm");
    cr_expect_not(measured);
}

Test(session, its_text_has_rates_fits_and_notes)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    begin();
    llmperf_session_counts c = measure();
    cr_assert(llmperf_session_fit(session, &error) == LLMPERF_OK, "%s", error.text);
    llmperf_write_session(out, session);
    llmperf_write_session_notes(out, session);
    fclose(out);
    char first[64];
    snprintf(first, sizeof first, "%d probes measured, 0 from the file, 0 not possible",
             c.measured);
    cr_expect_not_null(strstr(text, first));
    cr_expect_not_null(strstr(text, "Fits of t = t0"));
    cr_expect_not_null(strstr(text, "ridge point"));
    free(text);
}

Test(session, nothing_is_written_of_a_session_that_was_not_fitted)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    begin();
    llmperf_write_session(out, session);
    llmperf_write_session_notes(out, session);
    fclose(out);
    cr_expect_eq(size, 0);
    free(text);
}

/* ---- a calibration of fits ------------------------------------------------------------------------- */

Test(session, its_fits_make_a_named_calibration_that_others_complete)
{
    static const char *const FROM[] = {"h100-sxm-vllm", NULL}, *const BAD[] = {"none", NULL};
    llmperf_calib *plain = NULL, *whole = NULL, *none = NULL;
    begin();
    measure();
    cr_assert(llmperf_session_fit(session, &error) == LLMPERF_OK, "%s", error.text);
    const llmperf_fits *fits = llmperf_session_fits(session);
    const llmperf_hw *hw = llmperf_session_hw(session, NULL);
    llmperf_fits_naming naming = {.paths = &paths, .date = "2026-02-28"};
    cr_assert(llmperf_fits_name(fits, hw, &naming, &plain, &error) == LLMPERF_OK);
    cr_expect_eq(strncmp(plain->name, "fake-", 5), 0); /* the hardware's and the library's */
    cr_expect_str_eq(plain->date, "2026-02-28");
    cr_expect_str_eq(plain->backend, "samples");
    naming.name = "mine";
    naming.complete = FROM;
    cr_assert(llmperf_fits_name(fits, hw, &naming, &whole, &error) == LLMPERF_OK, "%s", error.text);
    cr_expect_str_eq(whole->name, "mine");
    cr_expect_gt(whole->entry_count, plain->entry_count);
    const llmperf_calib_entry *taken = &whole->entry[plain->entry_count];
    cr_expect_not_null(strstr(taken->remarks, "taken from h100-sxm-vllm"));
    naming.complete = BAD;
    cr_expect_eq(llmperf_fits_name(fits, hw, &naming, &none, &error), LLMPERF_E_USAGE);
    cr_expect_null(none);
    free(plain);
    free(whole);
}

/* ---- stopped and resumed ------------------------------------------------------------------------ */

Test(session, what_was_measured_is_kept_at_any_moment)
{
    options.samples = file;
    told.samples = file;
    told.stop_after = 20;
    begin();
    measure();
    cr_expect_eq(told.incomplete, 0);
    cr_expect_eq(rows_of(file), 20);
}

Test(session, another_session_goes_on_where_one_was_stopped)
{
    options.samples = file;
    told.stop_after = 10;
    begin();
    int all = llmperf_session_counts_of(session).wanted;
    llmperf_session_counts c = measure();
    cr_expect(c.stopped);
    cr_expect_eq(c.measured, 10);
    cr_expect_eq(told.ends, 1);

    told = (seen){0};
    begin();
    c = measure();
    cr_expect_eq(c.resumed, 10);
    cr_expect_eq(c.measured, all - 10);
    cr_expect_eq(told.resumes, 1);
    cr_expect_eq(told.resumed, 10);
    cr_expect_eq(told.all, all);
    cr_expect_eq(told.starts, all - 10);
    cr_expect_eq(rows_of(file), all);

    told = (seen){0};
    begin(); /* nothing is left */
    c = measure();
    cr_expect_eq(c.measured, 0);
    cr_expect_eq(c.resumed, all);
    cr_expect_eq(told.starts, 0);
    cr_assert(llmperf_session_fit(session, &error) == LLMPERF_OK, "%s", error.text);
}

Test(session, a_stopped_session_goes_on_itself)
{
    told.stop_after = 10;
    begin();
    measure();
    told.stop_after = 0;
    llmperf_session_counts c = measure();
    cr_expect_not(c.stopped);
    cr_expect_eq(c.measured, c.wanted);
    cr_expect_eq(c.samples, c.wanted);
    cr_expect_eq(schedules_made, 1);
}

Test(session, a_stop_before_the_first_probe_measures_nothing)
{
    begin();
    told.stop_after = 1;
    told.dones = 1;
    llmperf_session_counts c = measure();
    cr_expect_eq(c.measured, 0);
    cr_expect(c.stopped);
    cr_expect_neq(llmperf_session_fit(session, &error), LLMPERF_OK);
    cr_expect_null(llmperf_session_calib(session));
    cr_expect_null(llmperf_session_fits(session));
}

Test(session, the_time_limit_leaves_the_rest_out_and_counts_it)
{
    options.most_s = 1e-12;
    begin();
    llmperf_session_counts c = measure();
    cr_expect_leq(c.measured, 1); /* none, unless the clock stood still */
    cr_expect_eq(c.failed, c.wanted - c.measured);
    cr_expect_not(c.stopped);
    cr_expect_eq(told.ends, 1);
}

/* Each probe is followed by 20 ms, and 30 ms are allowed: one or two are measured. */
Test(session, what_was_measured_in_time_is_kept_and_not_counted_as_left_out)
{
    options.most_s = 0.03;
    told.sleep_us = 20000;
    begin();
    llmperf_session_counts c = measure();
    cr_expect_geq(c.measured, 1);
    cr_expect_leq(c.measured, 2);
    cr_expect_eq(c.failed, c.wanted - c.measured);
    cr_expect_eq(c.samples, c.measured);
}

Test(session, it_is_fitted_once)
{
    begin();
    measure();
    cr_expect_eq(llmperf_session_fit(session, &error), LLMPERF_OK);
    cr_expect_eq(llmperf_session_fit(session, &error), LLMPERF_E_USAGE);
    cr_expect_not_null(llmperf_session_calib(session));
}

/* ---- the schedule ---------------------------------------------------------------------------------- */

/* docs/calibration.md: of every operator and format five, spread over its shapes, once more. Counted
 * here by going over all probes for each. */
static bool is_repeated(const llmperf_probe_plan *plan, int index)
{
    const llmperf_probe *probe = &plan->probe[index];
    int before = 0, all = 0;
    if (probe->kind != LLMPERF_PROBE_OP || probe->best)
        return false;
    for (int i = 0; i < plan->count; i++) {
        const llmperf_probe *other = &plan->probe[i];
        if (other->kind != LLMPERF_PROBE_OP || other->best ||
            schedule_kind(other) != schedule_kind(probe) || other->op.dtype != probe->op.dtype)
            continue;
        before += i < index;
        all++;
    }
    return (before * 5 + all / 2) / all != ((before + 1) * 5 + all / 2) / all;
}

Test(session, the_schedule_is_every_probe_and_five_of_a_kind_once_more)
{
    llmperf_opened_device device = {0};
    llmperf_probe_plan plan = {0};
    const llmperf_samples none = {0};
    const sample_names names = {.hw = 1, .library = 2, .best_library = 3};
    schedule s = {0};
    cr_assert(llmperf_device_open("fake", NULL, FAKE, &device, &error) == LLMPERF_OK);
    cr_assert(llmperf_probe_plan_make(device.backend, device.handle, true, &plan, &error) ==
              LLMPERF_OK);
    cr_assert(schedule_make(&plan, &none, &names, &s, &error) == LLMPERF_OK);
    int at = plan.count;
    for (int i = 0; i < plan.count; i++) {
        cr_expect_eq(s.index[i], i);
        if (is_repeated(&plan, i)) {
            cr_assert_lt(at, s.count);
            cr_expect_eq(s.index[at++], i);
        }
    }
    cr_expect_gt(at, plan.count);
    cr_expect_eq(at, s.count);
    cr_expect_eq(s.all, s.count);
    schedule_free(&s);
    llmperf_probe_plan_free(&plan);
    llmperf_device_close(&device);
}

/* ---- faults ------------------------------------------------------------------------------------------ */

static void refused(llmperf_status status, const char *text)
{
    llmperf_session *none = NULL;
    error = (llmperf_error){0};
    cr_expect_eq(llmperf_session_open(&options, &none, &error), status, "%s", error.text);
    cr_expect_not_null(strstr(error.text, text), "'%s' is not in '%s'", text, error.text);
    cr_expect_null(none);
}

Test(session, a_wrong_name_is_told_before_anything_is_measured)
{
    options.spec = "h100-sxn";
    refused(LLMPERF_E_USAGE, "h100-sxn");
    options.spec = NULL;
    options.backend = "fak";
    refused(LLMPERF_E_USAGE, "did you mean 'fake'");
    options.backend = "fake";
    options.device = "zz";
    refused(LLMPERF_E_USAGE, "a number or a UUID");
    options.device = NULL;
    options.backend_options = "bogus=1";
    refused(LLMPERF_E_USAGE, "bogus");
    options.backend_options = NULL;
    options.all_devices = true;
    refused(LLMPERF_E_UNSUPPORTED, "measures no collectives");
}

Test(session, samples_of_another_device_or_place_are_refused)
{
    options.samples = place;
    refused(LLMPERF_E_IO, "it is no file");
    options.samples = file;
    FILE *out = fopen(file, "w");
    fputs("gpu,library,op,dtype,m,n,k,time_s\nother,fake,gemm,bf16,1,2,3,1e-3\n", out);
    fclose(out);
    refused(LLMPERF_E_USAGE, "holds samples of 'other'");
    out = fopen(file, "w");
    fputs("gpu,library,op,dtype,m,n,k,time_s\nfake,otherblas,gemm,bf16,1,2,3,1e-3\n", out);
    fclose(out);
    refused(LLMPERF_E_USAGE, "holds samples by 'otherblas'");
}

Test(session, a_device_that_fails_leaves_what_was_measured_before)
{
    options.samples = file;
    options.backend_options = FAKE ",fail_at=2000";
    begin();
    cr_expect_eq(llmperf_session_measure(session, &error), LLMPERF_E_DEVICE);
    llmperf_session_counts c = llmperf_session_counts_of(session);
    cr_expect_gt(c.measured, 0);
    cr_expect_lt(c.measured, c.wanted);
    cr_expect_eq(rows_of(file), c.measured);
    cr_expect_eq(told.ends, 1);
}

Test(session, what_the_device_cannot_do_is_passed_over_and_counted)
{
    options.backend_options = FAKE ",oom_at=2000";
    begin();
    llmperf_session_counts c = measure();
    cr_expect_eq(c.failed, 1);
    cr_expect_eq(c.measured, c.wanted - 1);
    cr_expect_eq(llmperf_session_fit(session, &error), LLMPERF_OK);
}

Test(session, samples_that_cannot_be_kept_end_the_measuring)
{
    options.samples = "/nowhere/samples.csv";
    begin();
    cr_expect_eq(llmperf_session_measure(session, &error), LLMPERF_E_IO);
    cr_expect_eq(llmperf_session_counts_of(session).measured, 1);
    cr_expect_eq(told.ends, 1);
}
