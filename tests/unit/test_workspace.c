/* SPDX-License-Identifier: MIT */
/*
 * A workspace remembers which fits time the operators of the last step. Whatever it stepped through
 * before, a step takes the time that it takes in a workspace of its own.
 */
#include <criterion/criterion.h>

#include "random_case.h"
#include "steps.h"
#include "config_object.h"
#include "fits.h"
#include "config.h"

enum { MODELS = 2, CALIBS = 3, DTYPES = 3, DEGREES = 2, BATCHES = 2, FITS = 9 };
enum { CASES_ALL = MODELS * CALIBS * DTYPES * DEGREES * BATCHES };

static llmperf_model model[MODELS];
static llmperf_calib calib[CALIBS];
static llmperf_hw hw;

/* A fit of a key with a launch time of its own, so that no two give the same time. */
static void add_fit(llmperf_calib *to, llmperf_calib_key key, double launch_s)
{
    llmperf_error error = {0};
    llmperf_calib_entry entry = calib_ideal((llmperf_op_kind)key.kind);
    entry.key = key;
    entry.param[LLMPERF_PARAM_LAUNCH] = launch_s;
    cr_assert(calib_add(to, &entry, &error) == LLMPERF_OK, "%s", error.text);
}

/* Products plain, with one row, of 8-bit weights; attention of single and grouped heads, over an 8-bit
 * cache; all-reduces on two and four devices. The second calibration has the same in another order, the
 * third fewer. */
static void fill_calibs(void)
{
    const llmperf_calib_key gemm = {.kind = LLMPERF_KIND_GEMM, .dtype = LLMPERF_DTYPE_BF16};
    const llmperf_calib_key decode = {.kind = LLMPERF_KIND_ATTENTION,
                                      .regime = LLMPERF_REGIME_DECODE,
                                      .dtype = LLMPERF_DTYPE_BF16};
    const llmperf_calib_key reduce = {.kind = LLMPERF_KIND_COLLECTIVE,
                                      .collective = LLMPERF_COLLECTIVE_ALL_REDUCE};
    llmperf_calib_key key[FITS] = {gemm,   gemm,   gemm,   decode, decode,
                                   reduce, reduce, decode, decode};
    key[1].gemv = 1;
    key[2].stored = LLMPERF_DTYPE_INT8;
    key[3].heads = LLMPERF_HEADS_SINGLE;
    key[4].heads = LLMPERF_HEADS_GROUPED;
    key[5].devices = 2;
    key[6].devices = 4;
    key[7].head_size = LLMPERF_HEAD_SIZE_64;
    key[8].stored = LLMPERF_DTYPE_FP8;
    for (int k = 0; k < CALIBS; k++)
        calib_init(&calib[k]);
    for (int i = 0; i < FITS; i++) {
        add_fit(&calib[0], key[i], 1e-5 * (i + 1));
        add_fit(&calib[1], key[FITS - 1 - i], 1e-5 * (FITS - i));
    }
    add_fit(&calib[2], key[0], 1e-3);
}

static llmperf_config config_of(int number)
{
    static const llmperf_dtype WEIGHTS[] = {LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_INT8,
                                            LLMPERF_DTYPE_BF16},
                               CACHE[] = {LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_BF16,
                                          LLMPERF_DTYPE_FP8};
    llmperf_config c;
    llmperf_error error = {0};
    const llmperf_workload w = {
        .weight_dtype = WEIGHTS[number / (MODELS * CALIBS) % DTYPES],
        .kv_dtype = CACHE[number / (MODELS * CALIBS) % DTYPES],
        .tp = number / (MODELS * CALIBS * DTYPES) % DEGREES ? 4 : 2,
        .batch = 1 + number / (MODELS * CALIBS * DTYPES * DEGREES),
    };
    llmperf_status status =
        config_init(&c, &model[number % MODELS], &hw, &calib[number / MODELS % CALIBS], &w, &error);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return c;
}

static double time_in(llmperf_workspace *workspace, const llmperf_config *c)
{
    llmperf_segment step = llmperf_decode_segment(c, c->workload.batch, 500);
    llmperf_total total;
    cr_assert(llmperf_step(c, &step, 1, workspace, &total) > 0);
    return total.time_s;
}

Test(workspace, what_came_before_does_not_matter)
{
    double alone[CASES_ALL];
    int different = 0;
    hw = toy_hw();
    /* 8-bit weights and caches compute in 16 bit */
    hw.peak_flop_per_s[LLMPERF_DTYPE_INT8] = hw.peak_flop_per_s[LLMPERF_DTYPE_FP8] = 0;
    model[0] = llama_like("grouped", 2, 512, 8, 4, 64, 1024, 1000);
    model[1] = llama_like("single", 2, 512, 8, 8, 64, 1024, 1000);
    fill_calibs();
    for (int i = 0; i < CASES_ALL; i++) {
        llmperf_config c = config_of(i);
        llmperf_workspace *own;
        cr_assert(llmperf_workspace_new(&c, 1, &own, NULL) == LLMPERF_OK);
        alone[i] = time_in(own, &c);
        llmperf_workspace_free(own);
        for (int k = 0; k < i; k++)
            different += !is_near(alone[i], alone[k], 1e-9);
    }
    /* calibrations 0 and 1 are the same fits: all other pairs differ */
    const int pairs = CASES_ALL * (CASES_ALL - 1) / 2;
    cr_expect(different > 0.9 * pairs, "%d of %d", different, pairs);
    for (int before = 0; before < CASES_ALL; before++)
        for (int i = 0; i < CASES_ALL; i++) {
            llmperf_config first = config_of(before), c = config_of(i);
            time_in(room(), &first);
            double got = time_in(room(), &c);
            cr_expect(got == alone[i], "case %d after %d: %.12g, alone %.12g", i, before, got,
                      alone[i]);
        }
}
