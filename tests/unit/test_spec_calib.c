/* SPDX-License-Identifier: MIT */
/* Calibration YAML: what is written reads back to the same value; what is refused, and how. */
#include <criterion/criterion.h>

#include <stdlib.h>

#include "random_case.h"
#include "calib_object.h"
#include "fits.h"
#include "read.h"
#include "time_op.h"

static llmperf_error error;
static llmperf_calib calib, again;

static llmperf_status load(const char *yaml, llmperf_calib *ret)
{
    error = (llmperf_error){0};
    return calib_load_text("c.yaml", yaml, strlen(yaml), ret, &error);
}

static void expect_refusal(const char *yaml, const char *want)
{
    memset(&calib, 0x5a, sizeof calib);
    llmperf_status status = load(yaml, &calib);
    cr_expect(status == LLMPERF_E_SPEC && error.status == LLMPERF_E_SPEC, "status %d for\n%s",
              (int)status, yaml);
    cr_expect(((unsigned char *)&calib)[9] == 0x5a, "a failure fills the result");
    cr_expect(strstr(error.text, want) != NULL, "wanted '%s'\n   got '%s'", want, error.text);
}

#define HEAD "schema: 1\nname: c\nfits:\n"
#define FIT "  - kind: gemm\n    dtype: bf16\n"

Test(spec_calib, the_least_a_file_needs)
{
    cr_assert(load("schema: 1\nfits: []\n", &calib) == LLMPERF_OK, "%s", error.text);
    cr_expect(calib.entry_count == 0 && calib.variants == 0);
    cr_expect(calib.index[0][0][4] == LLMPERF_CALIB_NO_ENTRY);
}

Test(spec_calib, a_fit_with_its_covariance)
{
    cr_assert(load(HEAD FIT "    library: cublas\n"
                            "    parameters: {compute_efficiency: 0.8, launch_s: 2e-6, norm: max}\n"
                            "    fitted: [launch_s, compute_efficiency]\n"
                            "    standard_error: {launch_s: 1e-7, compute_efficiency: 0.02}\n"
                            "    covariance:\n"
                            "      - [1e-14, -1e-9]\n"
                            "      - [-1e-9, 4e-4]\n"
                            "    residual: 0.05\n"
                            "    correlation: 0.25\n",
                   &calib) == LLMPERF_OK,
              "%s", error.text);
    uint8_t at = calib.index[LLMPERF_KIND_GEMM][LLMPERF_REGIME_NONE][LLMPERF_DTYPE_BF16];
    cr_assert(at == 0);
    const llmperf_calib_entry *e = &calib.entry[0];
    cr_expect(e->param[LLMPERF_PARAM_COMPUTE] == 0.8 && e->param[LLMPERF_PARAM_MEMORY] == 1);
    cr_expect(e->param[LLMPERF_PARAM_LAUNCH] == 2e-6 && isinf(e->param[LLMPERF_PARAM_NORM]));
    cr_expect(e->covariance[LLMPERF_PARAM_LAUNCH][LLMPERF_PARAM_LAUNCH] == 1e-14);
    cr_expect(e->covariance[LLMPERF_PARAM_COMPUTE][LLMPERF_PARAM_LAUNCH] == -1e-9);
    cr_expect(e->covariance[LLMPERF_PARAM_COMPUTE][LLMPERF_PARAM_COMPUTE] == 4e-4);
    cr_expect(e->residual == 0.05 && e->correlation == 0.25);
    cr_expect_str_eq(e->library, "cublas");
}

/* As written: the lower triangle. As files had it at first: all of it. */
Test(spec_calib, a_covariance_by_its_lower_triangle)
{
    static llmperf_calib square;
    const char *const rows[] = {"      - [1e-14]\n      - [-1e-9, 4e-4]\n      - [2e-10, 0, 1]\n",
                                "      - [1e-14, -1e-9, 2e-10]\n      - [-1e-9, 4e-4, 0]\n"
                                "      - [2e-10, 0, 1]\n"};
    llmperf_calib *const to[] = {&calib, &square};
    for (int i = 0; i < 2; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 HEAD FIT "    parameters: {compute_efficiency: 0.8, launch_s: 2e-6, norm: 2}\n"
                          "    fitted: [launch_s, compute_efficiency, norm]\n"
                          "    covariance:\n%s",
                 rows[i]);
        cr_assert(load(text, to[i]) == LLMPERF_OK, "%s", error.text);
    }
    cr_expect(memcmp(calib.entry[0].covariance, square.entry[0].covariance,
                     sizeof square.entry[0].covariance) == 0);
    cr_expect(calib.entry[0].covariance[LLMPERF_PARAM_LAUNCH][LLMPERF_PARAM_NORM] == 2e-10);
    cr_expect(calib.entry[0].covariance[LLMPERF_PARAM_NORM][LLMPERF_PARAM_LAUNCH] == 2e-10);
}

/* A random entry of a key, its covariance of full rank. */
static llmperf_calib_entry filled_entry(rng *r, llmperf_calib_key key)
{
    llmperf_calib_entry e = {.key = key};
    double factor[LLMPERF_PARAM_COUNT][LLMPERF_PARAM_COUNT] = {0};
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++) {
        llmperf_param_range range = llmperf_param_limits((llmperf_param)i);
        e.param[i] = llmperf_param_neutral((llmperf_param)i);
        if (rng_chance(r, 0.3))
            continue;
        e.param[i] = rng_log(r, 1e-7, fmin(range.most, 10));
        if (rng_chance(r, 0.7))
            e.fitted |= UINT64_C(1) << i;
    }
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++)
        for (int k = 0; k <= i; k++)
            factor[i][k] = rng_real(r, -1, 1) * fmin(e.param[i], 1e3);
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++)
        for (int k = 0; k < LLMPERF_PARAM_COUNT; k++)
            for (int j = 0; j < LLMPERF_PARAM_COUNT; j++)
                if (e.fitted & UINT64_C(1) << i && e.fitted & UINT64_C(1) << k)
                    e.covariance[i][k] += factor[i][j] * factor[k][j];
    e.residual = rng_real(r, 0, 0.3);
    e.correlation = rng_real(r, 0, 1);
    snprintf(e.library, sizeof e.library, "lib \"%d\"\\", (int)rng_int(r, 0, 99));
    snprintf(e.remarks, sizeof e.remarks, "no settle; a: b # c");
    e.quality = (llmperf_calib_quality){.samples = rng_int(r, 1, 1 << 30),
                                        .points = 7,
                                        .groups = 3,
                                        .warm = 11,
                                        .refused = 1,
                                        .mean_frac = rng_real(r, 0, 1),
                                        .median_frac = 0.1,
                                        .p90_frac = 0.2,
                                        .bias_frac = rng_real(r, -0.9, 1),
                                        .rms_log = 0.3,
                                        .left_out_frac = 1.0 / 3,
                                        .roofline_frac = 0.5,
                                        .constant_frac = 0.7,
                                        .flop_least = 0,
                                        .flop_most = 1e15,
                                        .bytes_least = 3,
                                        .bytes_most = 1e12,
                                        .time_least_s = 1e-6,
                                        .time_most_s = 0.1};
    return e;
}

static char *written(const llmperf_calib *c)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert(llmperf_calib_write(out, c, &error) == LLMPERF_OK, "%s", error.text);
    fclose(out);
    return text;
}

Test(spec_calib, what_is_written_reads_back_to_the_last_bit)
{
    static const llmperf_calib_key keys[] = {
        {.kind = LLMPERF_KIND_GEMM, .dtype = LLMPERF_DTYPE_BF16},
        {.kind = LLMPERF_KIND_GEMM, .dtype = LLMPERF_DTYPE_BF16, .stored = LLMPERF_DTYPE_INT4},
        {.kind = LLMPERF_KIND_GEMM, .dtype = LLMPERF_DTYPE_FP32, .gemv = 1},
        {.kind = LLMPERF_KIND_ATTENTION,
         .regime = LLMPERF_REGIME_PREFILL,
         .dtype = LLMPERF_DTYPE_FP16},
        {.kind = LLMPERF_KIND_ATTENTION,
         .regime = LLMPERF_REGIME_DECODE,
         .dtype = LLMPERF_DTYPE_BF16,
         .stored = LLMPERF_DTYPE_FP8},
        {.kind = LLMPERF_KIND_ELEMENTWISE, .dtype = LLMPERF_DTYPE_FP32},
        {.kind = LLMPERF_KIND_COLLECTIVE},
        {.kind = LLMPERF_KIND_COLLECTIVE, .collective = LLMPERF_COLLECTIVE_ALL_GATHER},
        {.kind = LLMPERF_KIND_COLLECTIVE,
         .collective = LLMPERF_COLLECTIVE_ALL_REDUCE,
         .devices = 8},
        {.kind = LLMPERF_KIND_COLLECTIVE, .collective = LLMPERF_COLLECTIVE_REDUCE_SCATTER},
        {.kind = LLMPERF_KIND_COLLECTIVE, .collective = LLMPERF_COLLECTIVE_ALL_TO_ALL},
        {.kind = LLMPERF_KIND_COLLECTIVE, .collective = LLMPERF_COLLECTIVE_SEND_RECV},
    };
    for (int seed = 0; seed < CASES(200); seed++) {
        rng r = {.state = (uint64_t)seed};
        calib_init(&calib);
        snprintf(calib.name, sizeof calib.name, "n: [%d]", seed);
        snprintf(calib.hw, sizeof calib.hw, "h100-sxm");
        snprintf(calib.digest, sizeof calib.digest, "fnv1a64:00");
        calib.samples = seed;
        calib.clock_hz = seed % 3 ? 1.7e9 : 0;
        calib.stream_bytes_per_s = seed % 4 ? 4.1e10 + seed : 0;
        calib.throttled = seed % 2;
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
            llmperf_calib_entry e = filled_entry(&r, keys[i]);
            cr_assert(calib_add(&calib, &e, &error) == LLMPERF_OK, "%s", error.text);
        }
        char *text = written(&calib);
        cr_assert(load(text, &again) == LLMPERF_OK, "seed %d: %s\n%s", seed, error.text, text);
        cr_assert(again.entry_count == calib.entry_count && again.variants == 8);
        cr_assert(again.stream_bytes_per_s == calib.stream_bytes_per_s);
        for (int i = 0; i < calib.entry_count; i++) {
            const llmperf_calib_entry *a = &calib.entry[i], *b = &again.entry[i];
            cr_assert(calib_same_key(&a->key, &b->key));
            for (int k = 0; k < LLMPERF_PARAM_COUNT; k++)
                cr_assert(a->param[k] == b->param[k], "seed %d: %s", seed,
                          llmperf_param_name((llmperf_param)k));
            cr_assert(memcmp(a->covariance, b->covariance, sizeof a->covariance) == 0);
            cr_assert(memcmp(&a->quality, &b->quality, sizeof a->quality) == 0);
            cr_assert(a->fitted == b->fitted && a->residual == b->residual &&
                      a->correlation == b->correlation);
            cr_assert_str_eq(a->library, b->library);
            cr_assert_str_eq(a->remarks, b->remarks);
        }
        char *second = written(&again);
        cr_assert_str_eq(text, second);
        free(second);
        free(text);
    }
}

Test(spec_calib, variants_time_what_they_name)
{
    cr_assert(load(HEAD FIT "    parameters: {memory_efficiency: 0.5}\n"
                            "  - kind: gemm\n    dtype: bf16\n    stored: int4\n"
                            "    parameters: {memory_efficiency: 0.25}\n"
                            "  - kind: collective\n    collective: all_reduce\n    devices: 2\n"
                            "    parameters: {launch_s: 1e-3, norm: 1}\n"
                            "  - kind: collective\n    collective: all_reduce\n    devices: 8\n"
                            "    parameters: {launch_s: 4e-3, norm: 1}\n",
                   &calib) == LLMPERF_OK,
              "%s", error.text);
    cr_expect(calib.variants == 3);
    static llmperf_hw hw = {.mem_bytes_per_s = 1e9,
                            .link = {.kind = "nvlink", .bytes_per_s = 1e9, .latency_s = 1e-6}};
    hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] = 1e18;
    llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                     .dtype = LLMPERF_DTYPE_BF16,
                     .launches = 1,
                     .m = 1,
                     .n = 1000,
                     .k = 1000,
                     .flop = 2e6,
                     .weight_bytes = 2e6,
                     .bytes = 2e6};
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 4e-3, 1e-12));
    op.weight_bytes = op.bytes =
        0.5e6; /* 4 bits: a quarter of the bytes at a quarter of the rate */
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 2e-3, 1e-12));
    op.weight_bytes = op.bytes = 1e6; /* 8 bits: no fit of its own */
    cr_expect(is_near(time_op(&op, &hw, &calib, NULL, NULL), 2e-3, 1e-12));
    llmperf_op reduce = {.kind = LLMPERF_KIND_COLLECTIVE,
                         .devices = 2,
                         .launches = 1,
                         .collective = LLMPERF_COLLECTIVE_ALL_REDUCE,
                         .link_bytes = 0};
    cr_expect(is_near(time_op(&reduce, &hw, &calib, NULL, NULL), 1e-3, 1e-12));
    reduce.devices = 16; /* nearest: 8 */
    cr_expect(is_near(time_op(&reduce, &hw, &calib, NULL, NULL), 4e-3, 1e-12));
    reduce.collective = LLMPERF_COLLECTIVE_ALL_GATHER; /* borrows */
    cr_expect(is_near(time_op(&reduce, &hw, &calib, NULL, NULL), 4e-3, 1e-12));
    cr_assert(load(HEAD FIT "    parameters: {}\n"
                            "  - kind: collective\n    collective: send_recv\n"
                            "    parameters: {launch_s: 1e-3, norm: 1}\n"
                            "  - kind: collective\n    collective: all_reduce\n    devices: 2\n"
                            "    parameters: {launch_s: 2e-3, norm: 1}\n"
                            "  - kind: collective\n    collective: all_reduce\n"
                            "    parameters: {launch_s: 3e-3, norm: 1}\n"
                            "  - kind: collective\n    collective: reduce_scatter\n"
                            "    parameters: {launch_s: 4e-3, norm: 1}\n",
                   &calib) == LLMPERF_OK,
              "%s", error.text);
    /* the mirror image; the most measured; over all sizes where the size was not measured */
    cr_expect(is_near(time_op(&reduce, &hw, &calib, NULL, NULL), 4e-3, 1e-12));
    reduce.collective = LLMPERF_COLLECTIVE_ALL_TO_ALL;
    cr_expect(is_near(time_op(&reduce, &hw, &calib, NULL, NULL), 3e-3, 1e-12));
    reduce.collective = LLMPERF_COLLECTIVE_ALL_REDUCE;
    cr_expect(is_near(time_op(&reduce, &hw, &calib, NULL, NULL), 3e-3, 1e-12));
    reduce.devices = 2;
    cr_expect(is_near(time_op(&reduce, &hw, &calib, NULL, NULL), 2e-3, 1e-12));
}

Test(spec_calib, what_is_refused)
{
    expect_refusal("name: c\nfits: []\n", "schema is missing");
    expect_refusal("schema: 2\nfits: []\n", "c.yaml:1:9: schema is 2; this version reads 1");
    expect_refusal("schema: 1\n", "fits is missing");
    expect_refusal("schema: 1\nfits: 3\n", "fits is integer 3; a list");
    expect_refusal("schema: 1\nfits: []\nfit: []\n", "did you mean 'fits'");
    expect_refusal("schema: 1\nconditions: {clock: 3}\nfits: []\n", "clock");
    expect_refusal("schema: 1\nconditions: {power_w: -3}\nfits: []\n", "power_w");
    expect_refusal(HEAD "  - dtype: bf16\n    parameters: {}\n", "kind is missing");
    expect_refusal(HEAD "  - kind: gem\n    dtype: bf16\n    parameters: {}\n",
                   "kind 'gem' is not known; did you mean 'gemm'?");
    expect_refusal(HEAD "  - kind: gemm\n    dtype: bf61\n    parameters: {}\n",
                   "dtype 'bf61' is not known");
    expect_refusal(HEAD "  - kind: gemm\n    parameters: {}\n", "the dtype is missing");
    expect_refusal(HEAD FIT, "parameters is missing");
    expect_refusal(HEAD FIT "    parameters: {compute_eficiency: 0.8}\n",
                   "did you mean 'compute_efficiency'?");
    expect_refusal(HEAD FIT "    parameters: {compute_efficiency: 1.2}\n", "1.05");
    expect_refusal(HEAD FIT "    parameters: {compute_efficiency: 0}\n", "compute_efficiency");
    expect_refusal(HEAD FIT "    parameters: {launch_s: -1e-6}\n", "launch_s");
    expect_refusal(HEAD FIT "    parameters: {launch_s: max}\n", "launch_s");
    expect_refusal(HEAD FIT "    parameters: {tile_padding: 1.5}\n", "tile_padding");
    expect_refusal(HEAD FIT "    parameters: {norm: .inf}\n", "norm");
    expect_refusal(HEAD FIT
                   "    parameters: {norm: max}\n    fitted: [norm]\n    covariance: [[1]]\n",
                   "norm is max; only a number can be fitted");
    expect_refusal(HEAD FIT "    parameters: {norm: 2}\n    fitted: [norm]\n",
                   "covariance is missing");
    expect_refusal(HEAD FIT "    parameters: {norm: 2}\n    covariance: [[1]]\n",
                   "fitted is missing");
    expect_refusal(HEAD FIT "    parameters: {norm: 2}\n    fitted: [norm, norm]\n"
                            "    covariance: [[1]]\n",
                   "stands here twice");
    expect_refusal(HEAD FIT "    parameters: {norm: 2}\n    fitted: [norm, launch_s]\n"
                            "    covariance: [[1, 0]]\n",
                   "covariance is neither a lower triangle nor square");
    expect_refusal(HEAD FIT "    parameters: {norm: 2, launch_s: 1e-6}\n"
                            "    fitted: [norm, launch_s]\n    covariance: [[1], [0]]\n",
                   "2 rows are allowed, of 1 to 2 numbers or of 2 each");
    expect_refusal(HEAD FIT "    parameters: {norm: 2, launch_s: 1e-6}\n"
                            "    fitted: [norm, launch_s]\n    covariance: [[1, 0], [1]]\n",
                   "covariance is neither a lower triangle nor square");
    expect_refusal(HEAD FIT "    parameters: {norm: 2}\n    fitted: [norm, launch_s]\n"
                            "    covariance: [[1, 2], [2, 1]]\n",
                   "covariance is none");
    expect_refusal(HEAD FIT "    parameters: {norm: 2}\n    fitted: [norm, launch_s]\n"
                            "    covariance: [[1, 0.5], [0.2, 1]]\n",
                   "covariance is none");
    expect_refusal(HEAD FIT "    parameters: {norm: 2}\n    fitted: [norm]\n"
                            "    covariance: [[-1]]\n",
                   "covariance is none");
    expect_refusal(HEAD FIT "    parameters: {norm: 2}\n    fitted: [norm]\n"
                            "    covariance: [[4]]\n    standard_error: {norm: 3}\n",
                   "the covariance says 2");
    expect_refusal(HEAD FIT "    parameters: {norm: 2}\n    fitted: [norm]\n"
                            "    covariance: [[4]]\n    standard_error: {launch_s: 3}\n",
                   "'launch_s' is no fitted parameter");
    expect_refusal(HEAD FIT "    parameters: {}\n    residual: -1\n", "residual");
    expect_refusal(HEAD FIT "    parameters: {}\n    correlation: 1.1\n", "correlation");
    expect_refusal(HEAD FIT "    parameters: {}\n    residul: 1\n", "residul");
    expect_refusal(HEAD FIT "    parameters: {}\n    quality: {samples: -1}\n", "samples");
    expect_refusal(HEAD FIT "    parameters: {}\n    range: {flop: [2, 1]}\n",
                   "flop is no range; [least, most]");
    expect_refusal(HEAD FIT "    parameters: {}\n    devices: 4\n",
                   "collective and devices belong to collectives alone");
    expect_refusal(HEAD FIT "    parameters: {}\n    stored: bf16\n", "stored equals dtype");
    expect_refusal(HEAD FIT "    parameters: {}\n    regime: prefill\n",
                   "a regime belongs to attention");
    expect_refusal(HEAD "  - kind: attention\n    dtype: bf16\n    parameters: {}\n",
                   "the regime of attention is missing");
    expect_refusal(HEAD "  - kind: collective\n    devices: 1\n    parameters: {}\n",
                   "devices must be from 2");
    expect_refusal(HEAD FIT "    parameters: {}\n" FIT "    parameters: {}\n",
                   "c.yaml:7:5: a second fit for gemm bf16");
}

Test(spec_calib, all_faults_of_a_file_in_one_run)
{
    expect_refusal(HEAD FIT "    parameters: {norm: -1, lunch_s: 3}\n    residual: x\n"
                            "  - kind: gemm\n    dtype: bf61\n    parameters: {}\n",
                   "norm");
    cr_expect(error.faults == 4, "%d faults:\n%s", error.faults, error.text);
}
