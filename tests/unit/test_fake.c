/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "llmperf/measure.h"
#include "llmperf/samples.h"
#include "llmperf/validate.h"
#include "config_object.h"
#include "fits.h"
#include "read.h"
#include "config.h"

static void *open_fake(const char *options)
{
    void *handle = NULL;
    llmperf_error error = {0};
    llmperf_status status = llmperf_backend_fake()->open(0, options, &handle, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return handle;
}

static llmperf_probe gemm_probe(llmperf_dtype dtype, double m, double n, double k)
{
    return (llmperf_probe){.kind = LLMPERF_PROBE_OP,
                           .cold = true,
                           .op = llmperf_sample_gemm(dtype, LLMPERF_DTYPE_NONE, m, n, k)};
}

static double time_once(void *handle, const llmperf_probe *probe, unsigned *flags)
{
    double seconds = 0;
    llmperf_error error = {0};
    llmperf_status status =
        llmperf_backend_fake()->time_op(handle, probe, 1, &seconds, flags, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return seconds;
}

static llmperf_status status_of(void *handle, const llmperf_probe *probe, llmperf_error *error)
{
    double seconds;
    unsigned flags;
    return llmperf_backend_fake()->time_op(handle, probe, 1, &seconds, &flags, error);
}

static void close_fake(void *handle)
{
    llmperf_backend_fake()->close(handle);
}

#define NO_NOISE "noise=0,serial=0,launch=0,gemm_p=0,gemm_compute=1,gemm_memory=1"

Test(fake, equal_seeds_give_equal_times_and_others_do_not)
{
    double a[50], b[50], c[50];
    unsigned flags;
    void *first = open_fake("seed=7"), *second = open_fake("seed=7"), *third = open_fake("seed=8");
    llmperf_probe probe = gemm_probe(LLMPERF_DTYPE_BF16, 16, 4096, 4096);
    const llmperf_backend *fake = llmperf_backend_fake();
    cr_assert(fake->time_op(first, &probe, 50, a, &flags, NULL) == LLMPERF_OK);
    cr_assert(fake->time_op(second, &probe, 20, b, &flags, NULL) == LLMPERF_OK);
    cr_assert(fake->time_op(second, &probe, 30, b + 20, &flags, NULL) == LLMPERF_OK);
    cr_assert(fake->time_op(third, &probe, 50, c, &flags, NULL) == LLMPERF_OK);
    cr_expect(memcmp(a, b, sizeof a) == 0);
    cr_expect(memcmp(a, c, sizeof a) != 0);
    close_fake(first);
    close_fake(second);
    close_fake(third);
}

Test(fake, a_large_product_takes_flop_over_peak)
{
    unsigned flags = 0;
    void *handle = open_fake(NO_NOISE ",bf16=100e12,bandwidth=2e12");
    /* 2 * 4096^3 = 137438953472 flop / 1e14 = 1.374 ms; bytes 3 * 2 * 4096^2 / 2e12 = 50 us */
    llmperf_probe probe = gemm_probe(LLMPERF_DTYPE_BF16, 4096, 4096, 4096);
    cr_expect_float_eq(time_once(handle, &probe, &flags), 137438953472.0 / 1e14, 1e-12);
    /* one row: 2 * (4096^2 + 4096 + 4096) = 33570816 bytes / 2e12 = 16.785408 us */
    probe = gemm_probe(LLMPERF_DTYPE_BF16, 1, 4096, 4096);
    cr_expect_float_eq(time_once(handle, &probe, &flags), 33570816.0 / 2e12, 1e-14);
    cr_expect(flags == 0);
    close_fake(handle);
}

Test(fake, warm_operands_that_fit_come_from_the_cache)
{
    unsigned flags = 0;
    void *handle = open_fake(NO_NOISE ",bandwidth=1e12,cache_bandwidth=4e12,cache=1e8,stream=1");
    llmperf_probe read = {.kind = LLMPERF_PROBE_READ, .bytes = 5e7};
    cr_expect_float_eq(time_once(handle, &read, &flags), 5e7 / 4e12, 1e-14);
    cr_expect(flags == LLMPERF_SAMPLE_CACHED);
    read.bytes = 4e8;
    cr_expect_float_eq(time_once(handle, &read, &flags), 4e8 / 1e12, 1e-14);
    cr_expect(flags == 0);
    llmperf_probe copy = {.kind = LLMPERF_PROBE_COPY, .bytes = 4e8};
    cr_expect_float_eq(time_once(handle, &copy, &flags), 8e8 / 1e12, 1e-14);
    llmperf_probe triad = {.kind = LLMPERF_PROBE_TRIAD, .bytes = 4e8};
    cr_expect_float_eq(time_once(handle, &triad, &flags), 12e8 / 1e12, 1e-14);
    close_fake(handle);
}

Test(fake, a_step_is_the_sum_of_its_operators_by_repeat)
{
    unsigned flags = 0;
    void *handle = open_fake("noise=0");
    llmperf_op ops[2] = {
        llmperf_sample_gemm(LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_NONE, 8, 2048, 2048),
        llmperf_sample_gemm(LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_NONE, 8, 32000, 2048)};
    ops[0].repeat = 24;
    llmperf_probe one = {.kind = LLMPERF_PROBE_OP, .op = ops[0], .cold = true};
    llmperf_probe two = {.kind = LLMPERF_PROBE_OP, .op = ops[1], .cold = true};
    llmperf_probe step = {.kind = LLMPERF_PROBE_FORWARD, .ops = ops, .op_count = 2};
    double want = 24 * time_once(handle, &one, &flags) + time_once(handle, &two, &flags);
    cr_expect_float_eq(time_once(handle, &step, &flags), want, 1e-12);
    close_fake(handle);
}

/* ---- faults ---- */

Test(fake, the_nth_call_fails_alone)
{
    llmperf_error error = {0};
    void *handle = open_fake("fail_at=2,hang_at=3,oom_at=4");
    llmperf_probe probe = gemm_probe(LLMPERF_DTYPE_BF16, 1, 1024, 1024);
    cr_expect(status_of(handle, &probe, &error) == LLMPERF_OK);
    cr_expect(status_of(handle, &probe, &error) == LLMPERF_E_DEVICE);
    cr_expect(strstr(error.text, "injected"), "%s", error.text);
    memset(&error, 0, sizeof error);
    cr_expect(status_of(handle, &probe, &error) == LLMPERF_E_DEVICE);
    cr_expect(strstr(error.text, "time-out"), "%s", error.text);
    memset(&error, 0, sizeof error);
    cr_expect(status_of(handle, &probe, &error) == LLMPERF_E_MEMORY);
    cr_expect(strstr(error.text, "memory"), "%s", error.text);
    cr_expect(status_of(handle, &probe, NULL) == LLMPERF_OK);
    close_fake(handle);
}

Test(fake, what_does_not_fit_into_memory_is_refused)
{
    void *handle = open_fake("memory=1e6");
    llmperf_probe probe = gemm_probe(LLMPERF_DTYPE_BF16, 1, 1024, 1024); /* 2 MiB of weights */
    cr_expect(status_of(handle, &probe, NULL) == LLMPERF_E_MEMORY);
    close_fake(handle);
}

Test(fake, dtypes_without_a_peak_are_refused_by_name)
{
    llmperf_error error = {0};
    void *handle = open_fake("unsupported=fp8+int8,fp16=0");
    const llmperf_dtype refused[] = {LLMPERF_DTYPE_FP8, LLMPERF_DTYPE_INT8, LLMPERF_DTYPE_FP16,
                                     LLMPERF_DTYPE_TF32};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        llmperf_probe probe = gemm_probe(refused[i], 1, 1024, 1024);
        memset(&error, 0, sizeof error);
        cr_expect(!llmperf_backend_fake()->supports(handle, &probe, &error));
        cr_expect(strstr(error.text, llmperf_dtype_name(refused[i])), "%s", error.text);
        cr_expect(status_of(handle, &probe, NULL) == LLMPERF_E_UNSUPPORTED);
    }
    llmperf_probe probe = gemm_probe(LLMPERF_DTYPE_BF16, 1, 1024, 1024);
    cr_expect(llmperf_backend_fake()->supports(handle, &probe, NULL));
    close_fake(handle);
}

Test(fake, throttled_and_contended_calls_are_slower_and_flagged)
{
    unsigned flags = 0;
    void *handle = open_fake("noise=0,throttle_at=2,throttle_calls=2,throttle_factor=1.5,"
                             "contend_at=5,contend_factor=2");
    llmperf_probe probe = gemm_probe(LLMPERF_DTYPE_BF16, 64, 4096, 4096);
    double clean = time_once(handle, &probe, &flags);
    cr_expect(flags == 0);
    for (int call = 2; call <= 3; call++) {
        double slow = time_once(handle, &probe, &flags);
        cr_expect_float_eq(slow, 1.5 * clean, 1e-12);
        cr_expect(flags == LLMPERF_SAMPLE_THROTTLED);
    }
    double again = time_once(handle, &probe, &flags); /* the macros evaluate twice */
    cr_expect_float_eq(again, clean, 1e-12);
    cr_expect(flags == 0);
    double disturbed = time_once(handle, &probe, &flags);
    cr_expect_float_eq(disturbed, 2 * clean, 1e-12);
    cr_expect(flags == LLMPERF_SAMPLE_CONTENDED);
    close_fake(handle);
}

Test(fake, drift_grows_and_then_settles)
{
    double seconds[30];
    unsigned flags;
    void *handle = open_fake("noise=0,drift=0.01,drift_reps=20");
    llmperf_probe probe = gemm_probe(LLMPERF_DTYPE_BF16, 64, 4096, 4096);
    cr_assert(llmperf_backend_fake()->time_op(handle, &probe, 30, seconds, &flags, NULL) ==
              LLMPERF_OK);
    cr_expect_float_eq(seconds[10] / seconds[0], 1.1, 1e-9);
    cr_expect_float_eq(seconds[20] / seconds[0], 1.2, 1e-9);
    cr_expect_float_eq(seconds[29] / seconds[0], 1.2, 1e-9);
    close_fake(handle);
}

Test(fake, outliers_come_in_the_asked_share)
{
    enum { REPS = 20000 };
    static double seconds[REPS];
    unsigned flags;
    int far = 0;
    void *handle = open_fake("noise=0,outliers=0.05,outlier_factor=10");
    llmperf_probe probe = gemm_probe(LLMPERF_DTYPE_BF16, 64, 4096, 4096);
    cr_assert(llmperf_backend_fake()->time_op(handle, &probe, REPS, seconds, &flags, NULL) ==
              LLMPERF_OK);
    double least = seconds[0];
    for (int i = 0; i < REPS; i++)
        least = fmin(least, seconds[i]);
    for (int i = 0; i < REPS; i++)
        far += seconds[i] > 5 * least;
    /* 1000 expected, standard deviation sqrt(20000 * 0.05 * 0.95) = 30.8 */
    cr_expect(abs(far - 1000) < 155, "%d", far);
    close_fake(handle);
}

Test(fake, options_that_do_not_exist_are_all_told)
{
    llmperf_error error = {0};
    void *handle = NULL;
    cr_expect(llmperf_backend_fake()->open(0, "bandwith=1e12,noise=2,seed,unsupported=fp9", &handle,
                                           &error) == LLMPERF_E_USAGE);
    cr_expect(handle == NULL);
    cr_expect_eq(error.faults, 4, "%s", error.text);
    cr_expect(strstr(error.text, "did you mean 'bandwidth'"), "%s", error.text);
    cr_expect(strstr(error.text, "from 0 to 1; found '2'"), "%s", error.text);
    cr_expect(llmperf_backend_fake()->open(1, NULL, &handle, NULL) == LLMPERF_E_USAGE);
}

/* ---- what is measured is what was set ---- */

static double measured(void *handle, const llmperf_probe *probe)
{
    llmperf_measurement m;
    llmperf_error error = {0};
    llmperf_status status =
        llmperf_measure(llmperf_backend_fake(), handle, probe, NULL, &m, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return m.summary.median_s;
}

Test(fake, peaks_are_recovered_within_three_percent)
{
    for (int seed = 1; seed <= 20; seed++) {
        char options[256];
        snprintf(options, sizeof options,
                 "bf16=312e12,bandwidth=2.039e12,launch=4e-6,seed=%d,"
                 "gemm_compute=1,gemm_memory=1,gemm_p=0,serial=0",
                 seed);
        void *handle = open_fake(options);
        llmperf_probe product = gemm_probe(LLMPERF_DTYPE_BF16, 8192, 8192, 8192);
        double rate = product.op.flop / measured(handle, &product);
        cr_expect(fabs(rate / 312e12 - 1) < 0.03, "seed %d: %g flop/s", seed, rate);
        llmperf_probe read = {.kind = LLMPERF_PROBE_READ, .bytes = 4e9, .cold = true};
        rate = read.bytes / measured(handle, &read);
        cr_expect(fabs(rate / 2.039e12 - 1) < 0.03, "seed %d: %g bytes/s", seed, rate);
        llmperf_probe empty = {.kind = LLMPERF_PROBE_LAUNCH};
        double launch = measured(handle, &empty);
        cr_expect(fabs(launch / 4e-6 - 1) < 0.05, "seed %d: %g s", seed, launch);
        close_fake(handle);
    }
}

/* Half of what the stream did for the calibration: what memory bounds takes twice as long, and the rows
 * that say so stand beside the plain ones; where nothing moved there are none. */
Test(fake, validate_allows_for_memory_that_moved)
{
    static llmperf_model model;
    static llmperf_hw hw;
    static llmperf_calib calib;
    const llmperf_probe watch = {.kind = LLMPERF_PROBE_READ, .bytes = 1 << 30, .cold = true};
    const llmperf_workload workload = {.batch = 1};
    llmperf_error error = {0};
    char path[LLMPERF_PATH_MAX];
    const char *source = getenv("LLMPERF_SOURCE");
    snprintf(path, sizeof path, "%s/specs/models/llama-3.2-1b.yaml", source ? source : ".");
    cr_assert(model_load(path, &model, &error) == LLMPERF_OK, "%s", error.text);
    snprintf(path, sizeof path, "%s/specs/hardware/fake.yaml", source ? source : ".");
    cr_assert(llmperf_hw_load(path, &hw, &error) == LLMPERF_OK, "%s", error.text);
    void *handle = open_fake(NO_NOISE);
    unsigned flags = 0;
    double rate = watch.bytes / time_once(handle, &watch, &flags);
    for (int twice = 0; twice < 2; twice++) {
        calib_init(&calib);
        llmperf_comparison rows = {0};
        llmperf_config c;
        double best_s = 0;
        const llmperf_measure_options options = {
            .simulated = true, .watch = &watch, .watch_best_s = &best_s, .retries = -1};
        calib.stream_bytes_per_s = (1 + twice) * rate;
        cr_assert(config_init(&c, &model, &hw, &calib, &workload, &error) == LLMPERF_OK);
        cr_assert(llmperf_validate_step(&c, false, llmperf_backend_fake(), handle, &options, NULL,
                                        NULL, &rows, &error) == LLMPERF_OK,
                  "%s", error.text);
        int moved = 0;
        for (int i = 1; i < rows.row_count; i++) {
            if (!strstr(rows.row[i].group, "memory as now"))
                continue;
            /* one sequence: all of a step is bound by memory, but for nothing */
            double ratio = rows.row[i].predicted.value / rows.row[i - 1].predicted.value;
            cr_expect(fabs(ratio - 2) < 0.01, "%s: %g", rows.row[i].label, ratio);
            cr_expect(rows.row[i].measured == rows.row[i - 1].measured);
            moved++;
        }
        cr_expect_eq(moved, 2 * twice); /* the sum, and the whole step */
        llmperf_comparison_free(&rows);
    }
    close_fake(handle);
}
