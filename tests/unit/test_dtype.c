/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "random_case.h"

/* Bits: the element's, and a scale's share where a block has one: nvfp4 4 + 8/16, mxfp4 4 + 8/32,
 * q8_0 8 + 16/32, q4_0 4 + 16/32. */
Test(dtype, effective_bits)
{
    static const struct {
        const char *name;
        double bits;
    } rows[] = {
        {"fp64", 64},    {"fp32", 32},  {"tf32", 32},  {"bf16", 16}, {"fp16", 16},
        {"fp8", 8},      {"int8", 8},   {"int4", 4},   {"fp6", 6},   {"nvfp4", 4.5},
        {"mxfp4", 4.25}, {"q8_0", 8.5}, {"q4_0", 4.5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        llmperf_dtype dtype = llmperf_dtype_parse(rows[i].name);
        cr_expect(dtype != LLMPERF_DTYPE_NONE, "%s", rows[i].name);
        cr_expect(llmperf_dtype_bits(dtype) == rows[i].bits, "%s", rows[i].name);
        cr_expect_str_eq(llmperf_dtype_name(dtype), rows[i].name);
    }
    cr_expect(llmperf_dtype_bits(LLMPERF_DTYPE_NONE) == 0);
    cr_expect(llmperf_dtype_bits(LLMPERF_DTYPE_COUNT) == 0);
    cr_expect_str_eq(llmperf_dtype_name(LLMPERF_DTYPE_NONE), "none");
    cr_expect_str_eq(llmperf_dtype_name(LLMPERF_DTYPE_COUNT), "none");
}

Test(dtype, names_list_every_format_once)
{
    const char *const *names = llmperf_dtype_names();
    int count = 0;
    for (; names[count]; count++) {
        cr_expect(llmperf_dtype_parse(names[count]) != LLMPERF_DTYPE_NONE, "%s", names[count]);
        for (int j = 0; j < count; j++)
            cr_expect_str_neq(names[j], names[count]);
    }
    cr_expect(count == LLMPERF_DTYPE_COUNT - 1);
}

/* As configs, checkpoints and result files spell them. */
Test(dtype, spellings)
{
    static const struct {
        const char *text;
        llmperf_dtype want;
    } rows[] = {
        {"bfloat16", LLMPERF_DTYPE_BF16},
        {"torch.bfloat16", LLMPERF_DTYPE_BF16},
        {"BF16", LLMPERF_DTYPE_BF16},
        {"float16", LLMPERF_DTYPE_FP16},
        {"torch.float16", LLMPERF_DTYPE_FP16},
        {"half", LLMPERF_DTYPE_FP16},
        {"f16", LLMPERF_DTYPE_FP16},
        {"F32", LLMPERF_DTYPE_FP32},
        {"float32", LLMPERF_DTYPE_FP32},
        {"float", LLMPERF_DTYPE_FP32},
        {"float64", LLMPERF_DTYPE_FP64},
        {"double", LLMPERF_DTYPE_FP64},
        {"float8_e4m3fn", LLMPERF_DTYPE_FP8},
        {"torch.float8_e5m2", LLMPERF_DTYPE_FP8},
        {"fp8_e4m3", LLMPERF_DTYPE_FP8},
        {"F8_E4M3", LLMPERF_DTYPE_FP8},
        {"fp4", LLMPERF_DTYPE_NVFP4},
        {"NVFP4", LLMPERF_DTYPE_NVFP4},
        {"mxfp4", LLMPERF_DTYPE_MXFP4},
        {"w8a8", LLMPERF_DTYPE_INT8},
        {"i8", LLMPERF_DTYPE_INT8},
        {"Q8_0", LLMPERF_DTYPE_Q8_0},
        {"Q4_0", LLMPERF_DTYPE_Q4_0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect(llmperf_dtype_parse(rows[i].text) == rows[i].want, "%s is read as %s",
                  rows[i].text, llmperf_dtype_name(llmperf_dtype_parse(rows[i].text)));
}

Test(dtype, what_is_no_dtype)
{
    static const char *const rows[] = {"",
                                       "none",
                                       "bf17",
                                       "b f16",
                                       "bf16 ",
                                       " bf16",
                                       "torch.",
                                       "float16float16float16float16float16float16",
                                       "torch.torch.float16",
                                       "16",
                                       "auto"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect(llmperf_dtype_parse(rows[i]) == LLMPERF_DTYPE_NONE, "'%s' is read as %s", rows[i],
                  llmperf_dtype_name(llmperf_dtype_parse(rows[i])));
}

/* ---- arithmetic: the smallest peak that holds both operands ---- */

typedef struct choice {
    const char *a, *b, *want;
} choice;

static void expect_choices(const llmperf_hw *hw, const choice *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int swap = 0; swap < 2; swap++) {
            llmperf_dtype a = llmperf_dtype_parse(swap ? rows[i].b : rows[i].a);
            llmperf_dtype b = llmperf_dtype_parse(swap ? rows[i].a : rows[i].b);
            const char *got = llmperf_dtype_name(llmperf_compute_dtype(hw, a, b));
            cr_expect(strcmp(got, rows[i].want) == 0, "%s: %s with %s computes in %s, wanted %s",
                      hw ? hw->name : "any part", llmperf_dtype_name(a), llmperf_dtype_name(b), got,
                      rows[i].want);
        }
}

#define EXPECT_CHOICES(hw, rows) expect_choices(hw, rows, sizeof(rows) / sizeof *(rows))

Test(dtype, arithmetic_on_hopper)
{
    static const choice rows[] = {
        {"bf16", "bf16", "bf16"},
        {"int4", "bf16", "bf16"},
        {"fp8", "bf16", "bf16"},
        {"fp8", "fp8", "fp8"},
        {"nvfp4", "nvfp4", "fp8"},
        {"nvfp4", "fp8", "fp8"},
        {"mxfp4", "bf16", "bf16"},
        {"int8", "int8", "int8"},
        {"int4", "int8", "int8"},
        {"int8", "bf16", "bf16"},
        {"q8_0", "fp16", "fp16"},
        {"q4_0", "bf16", "bf16"},
        {"fp16", "fp16", "fp16"},
        {"tf32", "tf32", "tf32"},
        {"fp32", "fp32", "fp32"},
        {"fp32", "bf16", "fp32"},
        {"int4", "fp8", "fp8"},
        /* 8 exponent bits of the one, 11 mantissa bits of the other */
        {"fp16", "bf16", "tf32"},
        /* the peak table of the test has no fp64 */
        {"fp64", "fp64", "none"},
    };
    llmperf_hw hw = h100();
    EXPECT_CHOICES(&hw, rows);
}

Test(dtype, arithmetic_on_ampere_has_no_fp8)
{
    static const choice rows[] = {
        {"fp8", "fp8", "bf16"},   {"nvfp4", "nvfp4", "bf16"}, {"fp8", "fp16", "fp16"},
        {"int4", "int4", "int4"}, {"int8", "int8", "int8"},   {"int4", "bf16", "bf16"},
        {"fp8", "int8", "bf16"},
    };
    llmperf_hw hw = a100();
    EXPECT_CHOICES(&hw, rows);
}

/* bf16 has no 16-bit peak there: its 8 exponent bits fit into fp32 alone. */
Test(dtype, arithmetic_on_volta_has_no_bf16)
{
    static const choice rows[] = {
        {"bf16", "bf16", "fp32"}, {"fp16", "fp16", "fp16"}, {"int4", "fp16", "fp16"},
        {"fp8", "fp8", "fp16"},   {"int8", "fp16", "fp16"}, {"q4_0", "bf16", "fp32"},
    };
    llmperf_hw hw = v100();
    EXPECT_CHOICES(&hw, rows);
}

/* Counting alone: every format has arithmetic. */
Test(dtype, arithmetic_without_a_part)
{
    static const choice rows[] = {
        {"bf16", "bf16", "bf16"},
        {"nvfp4", "nvfp4", "nvfp4"},
        {"fp64", "bf16", "fp64"},
        {"int4", "int4", "int4"},
    };
    EXPECT_CHOICES(NULL, rows);
}

/* Whatever the operands, the choice holds the wider one and does not depend on their order. */
Test(dtype, arithmetic_is_never_narrower_than_its_operands)
{
    rng r = {.state = 31};
    for (int i = 0; i < 20000; i++) {
        llmperf_hw hw;
        random_hw(&r, &hw);
        llmperf_dtype a = (llmperf_dtype)rng_int(&r, 1, LLMPERF_DTYPE_COUNT - 1);
        llmperf_dtype b = (llmperf_dtype)rng_int(&r, 1, LLMPERF_DTYPE_COUNT - 1);
        llmperf_dtype got = llmperf_compute_dtype(&hw, a, b);
        bool symmetric = got == llmperf_compute_dtype(&hw, b, a);
        /* block formats are judged by their elements */
        double widest = floor(fmax(llmperf_dtype_bits(a), llmperf_dtype_bits(b)));
        bool wide = got == LLMPERF_DTYPE_NONE ||
                    (hw.peak_flop_per_s[got] > 0 && ceil(llmperf_dtype_bits(got)) >= widest);
        if (!symmetric || !wide)
            cr_assert(false, "%s with %s: %s", llmperf_dtype_name(a), llmperf_dtype_name(b),
                      llmperf_dtype_name(got));
    }
}
