/* SPDX-License-Identifier: MIT */
/* Which calibration times a part, and what borrowing adds. The parts are the shipped ones; their
 * bandwidths and peaks per unit, which decide, are written beside the cases. */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llmperf/llmperf.h"
#include "config_object.h"
#include "fits.h"
#include "read.h"
#include "config.h"
#include "profile.h"
#include "time_op.h"

static llmperf_spec_paths paths;
static llmperf_hw hw;
static llmperf_calib calib;
static llmperf_error error;
static char place[64];

static void load_part(const char *name)
{
    char path[LLMPERF_PATH_MAX];
    cr_assert(llmperf_find_hw(&paths, name, path, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_hw_load(path, &hw, &error) == LLMPERF_OK, "%s", error.text);
}

/* A folder of its own before the source tree's, for what a test writes. */
static void set_up(void)
{
    snprintf(place, sizeof place, "/tmp/llmperf-choose-XXXXXX");
    cr_assert(mkdtemp(place) != NULL);
    char folder[128];
    snprintf(folder, sizeof folder, "%s/calibration", place);
    cr_assert(mkdir(folder, 0700) == 0);
    memset(&paths, 0, sizeof paths);
    paths.count = 2;
    snprintf(paths.folder[0], LLMPERF_PATH_MAX, "%s", place);
    snprintf(paths.folder[1], LLMPERF_PATH_MAX, "%s/specs", getenv("LLMPERF_SOURCE"));
    error = (llmperf_error){0};
}

static void write_file(const char *name, const char *text)
{
    char path[192];
    snprintf(path, sizeof path, "%s/calibration/%s.yaml", place, name);
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void tear_down(void)
{
    static const char *const files[] = {"mine", "broken", "apple", "late"};
    char path[192];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/calibration/%s.yaml", place, files[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/calibration", place);
    rmdir(path);
    rmdir(place);
}

TestSuite(choose, .init = set_up, .fini = tear_down);

static bool choose(const char *part, const char *library)
{
    bool found = false;
    load_part(part);
    llmperf_status status = calib_choose(&paths, &hw, library, &calib, &found, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return found;
}

Test(choose, the_parts_own_with_the_asked_library)
{
    cr_assert(choose("h100-sxm", NULL));
    cr_expect_str_eq(calib.name, "h100-sxm-vllm");
    cr_expect_str_eq(calib.library, "vllm");
    cr_expect(calib.borrowed == 0 && calib.entry_count > 0);
    cr_assert(choose("h100-sxm", "TRTLLM"));
    cr_expect_str_eq(calib.name, "h100-sxm-trtllm");
    cr_assert(choose("l40s", "no such library")); /* the part counts for more */
    cr_expect_str_eq(calib.name, "l40s-vllm");
    cr_expect(calib.borrowed == 0);
}

Test(choose, another_parts_where_there_is_none_of_its_own)
{
    static const struct {
        const char *part, *from;
    } CASES[] = {
        {"h200-sxm", "h100-sxm"},
        {"h20", "h100-sxm"},
        {"a100-sxm-40gb", "a100-sxm-80gb"},
        {"rtx-3090", "a100-sxm-80gb"},
        {"rtx-4090", "l40s"},
        {"l4", "l40s"},
        /* GB/s and TFLOP/s per unit are 52 and 15 on a B200, 25 and 7.5 on an H100, 9.5 and 2.7 on an
         * RTX PRO 6000, which shares but the B200's name; 10.5 and 1.2 on an RTX 5090 */
        {"b200", "h100-sxm"},
        {"rtx-5090", "rtx-pro-6000"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        cr_assert(choose(CASES[i].part, "sglang"), "%s", CASES[i].part);
        cr_expect_str_eq(calib.hw, CASES[i].from, "%s took %s", CASES[i].part, calib.name);
        cr_expect_str_eq(calib.library, strcmp(calib.hw, "rtx-pro-6000") == 0 ? "vllm" : "sglang");
        cr_expect(calib.borrowed > 0.07 && calib.borrowed < 0.25, "%s: %g", CASES[i].part,
                  calib.borrowed);
    }
}

Test(choose, what_is_less_alike_widens_more)
{
    cr_assert(choose("h200-sxm", NULL));
    double twin = calib.borrowed;
    cr_assert(choose("h20", NULL));
    double cut = calib.borrowed; /* twice the bandwidth and a quarter of the peak per unit */
    cr_assert(choose("b200", NULL));
    cr_expect(twin < cut && cut <= calib.borrowed, "%g %g %g", twin, cut, calib.borrowed);
}

Test(choose, nothing_for_parts_that_are_kin_to_none)
{
    static const char *const PARTS[] = {"mi300x", "apple-m2-10c", "tpu-v5e", "epyc-9654", "fake"};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        memset(&calib, 0x5a, sizeof calib);
        cr_expect(!choose(PARTS[i], NULL), "%s took %s", PARTS[i], calib.name);
        cr_expect(((unsigned char *)&calib)[5] == 0x5a);
    }
}

Test(choose, the_users_own_measurement_first_and_broken_files_not_at_all)
{
    write_file("broken", "schema: [1\nhardware: h100-sxm\n");
    write_file("mine", "schema: 1\nname: mine\nhardware: H100-SXM5-80GB\nbackend: cuda\n"
                       "fits: []\n");
    cr_assert(choose("h100-sxm", NULL));
    cr_expect_str_eq(calib.name, "mine");
    cr_expect(calib.borrowed == 0, "the hardware is an alias of the part");
    cr_assert(choose("h100-sxm", "vllm"));
    cr_expect_str_eq(calib.name, "h100-sxm-vllm");
}

/* Fits are read of the chosen file alone. */
Test(choose, only_heads_are_read_until_one_is_chosen)
{
    write_file("broken", "schema: 1\nname: broken\nhardware: l40s\nbackend: cuda\nfits: [no fit\n");
    cr_assert(choose("h100-sxm", NULL));
    cr_expect_str_eq(calib.name, "h100-sxm-vllm");
    bool found = false;
    load_part("l40s");
    cr_expect(calib_choose(&paths, &hw, NULL, &calib, &found, &error) == LLMPERF_E_SPEC,
              "measured here: chosen, and its fault told");
    cr_expect(strstr(error.text, "broken.yaml") != NULL, "%s", error.text);
}

Test(choose, the_head_stands_before_the_fits_and_kin_lend)
{
    write_file("late", "fits: []\nschema: 1\nname: late\nhardware: mi300x\nbackend: samples\n");
    cr_expect(!choose("mi300x", NULL), "its head is empty: passed over");
    write_file("apple", "schema: 1\nname: apple\nhardware: apple-m2-10c\nbackend: samples\n"
                        "fits: []\n");
    cr_assert(choose("apple-m2-max-38c", NULL), "one architecture, whatever the vendor");
    cr_expect_str_eq(calib.name, "apple");
    cr_expect(calib.borrowed > 0);
}

Test(choose, lending_by_hand)
{
    cr_assert(choose("h100-sxm", NULL));
    load_part("h200-sxm");
    llmperf_calib_lend(&calib, &paths, &hw);
    double same = calib.borrowed;
    load_part("mi300x");
    llmperf_calib_lend(&calib, &paths, &hw);
    cr_expect(0 < same && same < calib.borrowed);
    snprintf(calib.hw, sizeof calib.hw, "a part that nobody ships");
    llmperf_calib_lend(&calib, &paths, &hw);
    cr_expect(same < calib.borrowed);
    snprintf(calib.hw, sizeof calib.hw, "MI300X");
    llmperf_calib_lend(&calib, &paths, &hw);
    cr_expect(calib.borrowed == 0);
}

/*
 * docs/calibration.md, "Borrowing": 0.08 between twins, 0.12 a unit of distance, up to 1.2 of them.
 * H200 and H100 are alike in units (132) and peaks; 4.8 and 3.35 TB/s are half of 0.5189 octaves apart:
 * 0.08 + 0.12 x 0.25944. A part that nobody knows is as far as any: 0.08 + 0.12 x 1.2.
 */
Test(choose, what_borrowing_costs_by_hand)
{
    cr_assert(choose("h200-sxm", NULL));
    cr_expect(fabs(calib.borrowed - 0.111133) < 1e-5, "%g", calib.borrowed);
    snprintf(calib.hw, sizeof calib.hw, "a part that nobody ships");
    llmperf_calib_lend(&calib, &paths, &hw);
    cr_expect(fabs(calib.borrowed - 0.224) < 1e-12, "%g", calib.borrowed);
    /* A100 to H100: 18.88 and 25.38 GB/s, 2.889 and 7.495 TFLOP/s a unit: half of 0.427 + 1.375
     * octaves, and half a generation: 1.4, which is too far to count */
    snprintf(calib.hw, sizeof calib.hw, "a100-sxm-80gb");
    load_part("h100-sxm");
    llmperf_calib_lend(&calib, &paths, &hw);
    cr_expect(fabs(calib.borrowed - 0.224) < 1e-12, "%g", calib.borrowed);
}

/* ---- times are cycles ------------------------------------------------------------------------------ */

Test(choose, what_is_a_time)
{
    static const char *const TIMES[] = {"launch_s", "serial_s", "work_item_s", "hop_s",
                                        "loop_s",   "head_s",   "query_item_s"};
    int times = 0;
    for (int p = 0; p < LLMPERF_PARAM_COUNT; p++)
        times += llmperf_param_is_time((llmperf_param)p);
    cr_expect_geq(times, (int)(sizeof TIMES / sizeof *TIMES));
    for (size_t i = 0; i < sizeof TIMES / sizeof *TIMES; i++)
        cr_expect(llmperf_param_is_time(llmperf_param_parse(TIMES[i])), "%s", TIMES[i]);
    cr_expect(!llmperf_param_is_time(LLMPERF_PARAM_MEMORY));
    cr_expect(!llmperf_param_is_time(LLMPERF_PARAM_NORM));
    cr_expect(!llmperf_param_is_time(LLMPERF_PARAM_SETTLE));
    cr_expect(!llmperf_param_is_time(LLMPERF_PARAM_COUNT));
}

/* A fit on an A100 (1.41 GHz) with a launch of 10 us, known to 1 us. */
static void set_a100_fit(void)
{
    llmperf_calib_entry e = calib_ideal(LLMPERF_KIND_GEMM);
    e.key = (llmperf_calib_key){.kind = LLMPERF_KIND_GEMM, .dtype = LLMPERF_DTYPE_BF16};
    e.param[LLMPERF_PARAM_LAUNCH] = 10e-6;
    e.param[LLMPERF_PARAM_LOOP] = 2e-6;
    e.param[LLMPERF_PARAM_MEMORY] = 0.8;
    e.param[LLMPERF_PARAM_FILL] = 100;
    e.covariance[LLMPERF_PARAM_LAUNCH][LLMPERF_PARAM_LAUNCH] = 1e-12;
    e.covariance[LLMPERF_PARAM_MEMORY][LLMPERF_PARAM_MEMORY] = 1e-4;
    e.covariance[LLMPERF_PARAM_MEMORY][LLMPERF_PARAM_LAUNCH] = 5e-9;
    e.covariance[LLMPERF_PARAM_LAUNCH][LLMPERF_PARAM_MEMORY] = 5e-9;
    e.residual = 0.06;
    calib_init(&calib);
    snprintf(calib.name, sizeof calib.name, "fit");
    snprintf(calib.hw, sizeof calib.hw, "a100-sxm-80gb");
    cr_assert(calib_add(&calib, &e, &error) == LLMPERF_OK);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

Test(choose, times_keep_their_cycles_and_efficiencies_their_share)
{
    const llmperf_calib_entry *e = calib.entry;
    set_a100_fit();
    load_part("h100-sxm"); /* 1.98 GHz: 10 us x 1.41 / 1.98 = 7.12 us */
    llmperf_calib_lend(&calib, &paths, &hw);
    const double f = 1.41 / 1.98;
    cr_expect(near(calib.time_scale, f));
    cr_expect(near(e->param[LLMPERF_PARAM_LAUNCH], 10e-6 * f));
    cr_expect(near(e->param[LLMPERF_PARAM_LOOP], 2e-6 * f));
    cr_expect(e->param[LLMPERF_PARAM_MEMORY] == 0.8 && e->param[LLMPERF_PARAM_FILL] == 100);
    /* what is not known of a time scales with it: its variance twice, a covariance once */
    cr_expect(near(e->covariance[LLMPERF_PARAM_LAUNCH][LLMPERF_PARAM_LAUNCH], 1e-12 * f * f));
    cr_expect(near(e->covariance[LLMPERF_PARAM_MEMORY][LLMPERF_PARAM_LAUNCH], 5e-9 * f));
    cr_expect(near(e->covariance[LLMPERF_PARAM_LAUNCH][LLMPERF_PARAM_MEMORY], 5e-9 * f));
    cr_expect(e->covariance[LLMPERF_PARAM_MEMORY][LLMPERF_PARAM_MEMORY] == 1e-4);
}

Test(choose, lending_once_more_starts_from_the_fit)
{
    const double *param = calib.entry[0].param;
    set_a100_fit();
    load_part("h100-sxm");
    llmperf_calib_lend(&calib, &paths, &hw);
    load_part("l40s"); /* 2.52 GHz */
    llmperf_calib_lend(&calib, &paths, &hw);
    cr_expect(near(param[LLMPERF_PARAM_LAUNCH], 10e-6 * 1.41 / 2.52));
    load_part("a100-sxm-80gb");
    llmperf_calib_lend(&calib, &paths, &hw);
    cr_expect(near(param[LLMPERF_PARAM_LAUNCH], 10e-6) && calib.borrowed == 0);
    load_part("h100-sxm");
    llmperf_calib_lend(&calib, &paths, &hw);
    load_part("mi300x"); /* another vendor's cycles are other cycles */
    llmperf_calib_lend(&calib, &paths, &hw);
    cr_expect(near(param[LLMPERF_PARAM_LAUNCH], 10e-6) && calib.borrowed > 0);
    load_part("h200-sxm");
    hw.clock_hz = 0; /* not said: kept */
    llmperf_calib_lend(&calib, &paths, &hw);
    cr_expect(near(param[LLMPERF_PARAM_LAUNCH], 10e-6) && calib.borrowed > 0);
}

Test(choose, the_chosen_one_is_scaled_like_a_lent_one)
{
    static llmperf_calib chosen;
    cr_assert(choose("l4", NULL)); /* 2.04 GHz, from the L40S at 2.52 */
    chosen = calib;
    cr_expect(near(chosen.time_scale, 2.52 / 2.04));
    load_part("l40s");
    bool found;
    cr_assert(calib_choose(&paths, &hw, NULL, &calib, &found, &error) == LLMPERF_OK);
    cr_assert_eq(calib.entry_count, chosen.entry_count);
    for (int i = 0; i < calib.entry_count; i++)
        cr_expect(near(chosen.entry[i].param[LLMPERF_PARAM_LAUNCH],
                       calib.entry[i].param[LLMPERF_PARAM_LAUNCH] * 2.52 / 2.04));
    load_part("l4");
    llmperf_calib_lend(&calib, &paths, &hw);
    cr_expect(memcmp(calib.entry, chosen.entry, sizeof calib.entry) == 0);
    cr_expect(calib.borrowed == chosen.borrowed);
}

Test(choose, what_is_taken_from_another_part_is_scaled_and_says_so)
{
    static llmperf_calib own;
    set_a100_fit();
    load_part("h100-sxm");
    llmperf_calib_lend(&calib, &paths, &hw);
    calib_init(&own);
    cr_assert(llmperf_calib_complete(&own, &calib, &error) == LLMPERF_OK);
    cr_expect(near(own.entry[0].param[LLMPERF_PARAM_LAUNCH], 10e-6 * 1.41 / 1.98));
    cr_expect_str_eq(own.entry[0].remarks, "taken from fit, times x 0.712");
    cr_expect(own.entry[0].residual > 0.06);
}

/* ---- what one lacks and another has -------------------------------------------------------------- */

Test(choose, completing_takes_what_is_missing_and_widens_it)
{
    static llmperf_calib own;
    calib_init(&own);
    calib_init(&calib);
    snprintf(calib.name, sizeof calib.name, "other");
    llmperf_calib_entry gemm = calib_ideal(LLMPERF_KIND_GEMM);
    llmperf_calib_entry norm = calib_ideal(LLMPERF_KIND_ELEMENTWISE);
    llmperf_calib_entry lent = calib_ideal(LLMPERF_KIND_ATTENTION);
    gemm.key = (llmperf_calib_key){.kind = LLMPERF_KIND_GEMM, .dtype = LLMPERF_DTYPE_BF16};
    norm.key = (llmperf_calib_key){.kind = LLMPERF_KIND_ELEMENTWISE, .dtype = LLMPERF_DTYPE_FP32};
    norm.residual = 0.06;
    lent.key = (llmperf_calib_key){.kind = LLMPERF_KIND_ATTENTION,
                                   .regime = LLMPERF_REGIME_DECODE,
                                   .dtype = LLMPERF_DTYPE_BF16};
    snprintf(lent.remarks, sizeof lent.remarks, "taken from a third");
    cr_assert(calib_add(&own, &gemm, &error) == LLMPERF_OK);
    gemm.param[LLMPERF_PARAM_COMPUTE] = 0.5;
    cr_assert(calib_add(&calib, &gemm, &error) == LLMPERF_OK);
    cr_assert(calib_add(&calib, &norm, &error) == LLMPERF_OK);
    cr_assert(calib_add(&calib, &lent, &error) == LLMPERF_OK);
    cr_assert(llmperf_calib_complete(&own, &calib, &error) == LLMPERF_OK);
    cr_assert(own.entry_count == 2, "its own GEMM, the other's norm, nothing of a third");
    cr_expect(own.entry[0].param[LLMPERF_PARAM_COMPUTE] == 1);
    cr_expect_str_eq(own.entry[1].remarks, "taken from other");
    cr_expect(fabs(own.entry[1].residual - 0.1) < 1e-12, "sqrt(0.06^2 + 0.08^2)");
}

/* ---- a like dtype stands in ------------------------------------------------------------------------ */

Test(choose, fp16_takes_the_fit_of_bf16_and_fp4_that_of_fp8)
{
    cr_assert(choose("h100-sxm", NULL));
    const llmperf_op bf16 = {.kind = LLMPERF_KIND_GEMM,
                             .dtype = LLMPERF_DTYPE_BF16,
                             .launches = 1,
                             .m = 64,
                             .n = 4096,
                             .k = 4096,
                             .flop = 2.0 * 64 * 4096 * 4096,
                             .weight_bytes = 2.0 * 4096 * 4096,
                             .bytes = 2.0 * 4096 * 4096};
    llmperf_op fp16 = bf16, fp4 = bf16, fp8 = bf16, fp32 = bf16;
    fp16.dtype = LLMPERF_DTYPE_FP16;
    cr_expect(time_op(&bf16, &hw, &calib, NULL, NULL) == time_op(&fp16, &hw, &calib, NULL, NULL));
    fp8.dtype = LLMPERF_DTYPE_FP8;
    fp4.dtype = LLMPERF_DTYPE_NVFP4;
    fp32.dtype = LLMPERF_DTYPE_FP32;
    fp8.weight_bytes = fp4.weight_bytes = 4096.0 * 4096;
    cr_expect(calib_find(&calib, &fp4, LLMPERF_REGIME_NONE) ==
              calib_find(&calib, &fp8, LLMPERF_REGIME_NONE));
    cr_expect(calib_find(&calib, &fp8, LLMPERF_REGIME_NONE) != LLMPERF_CALIB_NO_ENTRY);
    cr_expect(calib_find(&calib, &fp32, LLMPERF_REGIME_NONE) == LLMPERF_CALIB_NO_ENTRY);
}

/* ---- properties over all shipped parts --------------------------------------------------------------- */

static double time_of(double m)
{
    const double n = 4096, k = 4096;
    const llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                           .dtype = LLMPERF_DTYPE_BF16,
                           .launches = 1,
                           .m = m,
                           .n = n,
                           .k = k,
                           .flop = 2 * m * n * k,
                           .weight_bytes = 2 * n * k,
                           .input_bytes = 2 * m * k,
                           .output_bytes = 2 * m * n,
                           .bytes = 2 * (n * k + m * k + m * n)};
    double time = time_op(&op, &hw, &calib, NULL, NULL);
    double floor = time_op(&op, &hw, NULL, NULL, NULL);
    cr_expect(isfinite(time) && time >= floor / 1.05, "m %g on %s: %g below %g", m, hw.name, time,
              floor);
    return time;
}

static int borrowing_parts;

static bool borrows_within_the_floor(const char *name, const char *path, void *context)
{
    bool found = false;
    (void)name;
    (void)context;
    cr_assert(llmperf_hw_load(path, &hw, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(calib_choose(&paths, &hw, NULL, &calib, &found, &error) == LLMPERF_OK);
    if (!found || !(hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] > 0))
        return true;
    borrowing_parts++;
    double before = 0;
    for (double m = 1; m <= 8192; m *= 2) {
        double time = time_of(m);
        cr_expect_geq(time, before, "%s at %g rows", hw.name, m);
        before = time;
    }
    double slow = time_of(1);
    hw.clock_hz *= 2; /* a part that differs by its clock alone is not slower */
    llmperf_calib_lend(&calib, &paths, &hw);
    cr_expect_leq(time_of(1), slow, "%s", hw.name);
    return true;
}

Test(choose, no_part_falls_below_its_floor_and_time_grows_with_rows)
{
    cr_assert(llmperf_list_specs(&paths, "hardware", borrows_within_the_floor, NULL, &error) ==
              LLMPERF_OK);
    cr_expect_gt(borrowing_parts, 20);
}

/* ---- what it means for an estimate ----------------------------------------------------------------- */

Test(choose, borrowed_estimates_are_wider_and_say_so)
{
    static llmperf_model model;
    static llmperf_config c;
    static llmperf_prediction own = LLMPERF_PREDICTION_INIT, lent = LLMPERF_PREDICTION_INIT;
    char path[LLMPERF_PATH_MAX];
    const llmperf_workload workload = {0};
    cr_assert(llmperf_find_model(&paths, "llama-3.1-8b", path, &error) == LLMPERF_OK);
    cr_assert(model_load(path, &model, &error) == LLMPERF_OK);
    cr_assert(choose("h200-sxm", NULL));
    cr_assert(config_init(&c, &model, &hw, &calib, &workload, &error) == LLMPERF_OK);
    cr_assert(llmperf_predict(&c, &lent, &error) == LLMPERF_OK);
    cr_expect(lent.kind == LLMPERF_ESTIMATE_BORROWED);
    double spread = calib.borrowed;
    calib.borrowed = 0;
    cr_assert(llmperf_predict(&c, &own, &error) == LLMPERF_OK);
    cr_expect(own.kind == LLMPERF_ESTIMATE_CALIBRATED);
    cr_expect(own.tpot_s.value == lent.tpot_s.value);
    /* log widths add in squares: z^2 (s^2 + borrowed^2), z = 1.6449 at 90 %; a step of which under
     * a thousandth stays a bound differs by as little */
    double a = log(own.tpot_s.value / own.tpot_s.low), b = log(lent.tpot_s.value / lent.tpot_s.low);
    cr_expect(fabs(sqrt(b * b - a * a) / (1.6448536 * spread) - 1) < 2e-3, "%g %g", a, b);
}
