/* SPDX-License-Identifier: MIT */
/*
 * Number formats: names, spellings, effective bits, and which arithmetic holds which operand.
 */
#include <ctype.h>
#include <string.h>

#include "llmperf/predict.h"
#include "entry.h"

typedef struct dtype_row {
    const char *name;
    double bits; /* effective, scales included */
    /* value format: exponent and mantissa bits (with the hidden one); integers: exponent 0 */
    int exponent, mantissa;
} dtype_row;

static const dtype_row ROWS[LLMPERF_DTYPE_COUNT] = {
    [LLMPERF_DTYPE_NONE] = {"none", 0, 0, 0},     [LLMPERF_DTYPE_FP64] = {"fp64", 64, 11, 53},
    [LLMPERF_DTYPE_FP32] = {"fp32", 32, 8, 24},   [LLMPERF_DTYPE_TF32] = {"tf32", 32, 8, 11},
    [LLMPERF_DTYPE_BF16] = {"bf16", 16, 8, 8},    [LLMPERF_DTYPE_FP16] = {"fp16", 16, 5, 11},
    [LLMPERF_DTYPE_FP8] = {"fp8", 8, 4, 4},       [LLMPERF_DTYPE_INT8] = {"int8", 8, 0, 8},
    [LLMPERF_DTYPE_INT4] = {"int4", 4, 0, 4},     [LLMPERF_DTYPE_FP6] = {"fp6", 6, 3, 3},
    [LLMPERF_DTYPE_NVFP4] = {"nvfp4", 4.5, 2, 2}, [LLMPERF_DTYPE_MXFP4] = {"mxfp4", 4.25, 2, 2},
    [LLMPERF_DTYPE_Q8_0] = {"q8_0", 8.5, 0, 8},   [LLMPERF_DTYPE_Q4_0] = {"q4_0", 4.5, 0, 4},
};

typedef struct dtype_spelling {
    const char *text;
    llmperf_dtype dtype;
} dtype_spelling;

/* Spellings met in public configs and result files, lower case. */
static const dtype_spelling SPELLINGS[] = {
    {"float64", LLMPERF_DTYPE_FP64},
    {"double", LLMPERF_DTYPE_FP64},
    {"float32", LLMPERF_DTYPE_FP32},
    {"float", LLMPERF_DTYPE_FP32},
    {"f32", LLMPERF_DTYPE_FP32},
    {"bfloat16", LLMPERF_DTYPE_BF16},
    {"float16", LLMPERF_DTYPE_FP16},
    {"half", LLMPERF_DTYPE_FP16},
    {"f16", LLMPERF_DTYPE_FP16},
    {"float8", LLMPERF_DTYPE_FP8},
    {"float8_e4m3", LLMPERF_DTYPE_FP8},
    {"float8_e4m3fn", LLMPERF_DTYPE_FP8},
    {"float8_e4m3fnuz", LLMPERF_DTYPE_FP8},
    {"float8_e5m2", LLMPERF_DTYPE_FP8},
    {"fp8_e4m3", LLMPERF_DTYPE_FP8},
    {"fp8_e5m2", LLMPERF_DTYPE_FP8},
    {"f8_e4m3", LLMPERF_DTYPE_FP8},
    {"f8_e5m2", LLMPERF_DTYPE_FP8},
    {"e4m3", LLMPERF_DTYPE_FP8},
    {"e5m2", LLMPERF_DTYPE_FP8},
    {"i8", LLMPERF_DTYPE_INT8},
    {"w8a8", LLMPERF_DTYPE_INT8},
    {"i4", LLMPERF_DTYPE_INT4},
    {"fp4", LLMPERF_DTYPE_NVFP4},
    {"float4_e2m1fn_x2", LLMPERF_DTYPE_NVFP4},
    {"e2m1", LLMPERF_DTYPE_NVFP4},
    {"float6", LLMPERF_DTYPE_FP6},
    {"mxfp6", LLMPERF_DTYPE_FP6},
};

const char *llmperf_dtype_name(llmperf_dtype dtype)
{
    return (unsigned)dtype < LLMPERF_DTYPE_COUNT ? ROWS[dtype].name : "none";
}

double llmperf_dtype_bits(llmperf_dtype dtype)
{
    return (unsigned)dtype < LLMPERF_DTYPE_COUNT ? ROWS[dtype].bits : 0;
}

llmperf_dtype llmperf_dtype_parse(const char *text)
{
    if (!text)
        return LLMPERF_DTYPE_NONE;
    char lower[32];
    size_t length = 0;
    if (strncmp(text, "torch.", 6) == 0)
        text += 6;
    for (; text[length]; length++) {
        if (length + 1 >= sizeof lower)
            return LLMPERF_DTYPE_NONE;
        lower[length] = (char)tolower((unsigned char)text[length]);
    }
    lower[length] = '\0';
    for (int i = 1; i < LLMPERF_DTYPE_COUNT; i++)
        if (strcmp(lower, ROWS[i].name) == 0)
            return (llmperf_dtype)i;
    for (size_t i = 0; i < sizeof SPELLINGS / sizeof *SPELLINGS; i++)
        if (strcmp(lower, SPELLINGS[i].text) == 0)
            return SPELLINGS[i].dtype;
    return LLMPERF_DTYPE_NONE;
}

const char *const *llmperf_dtype_names(void)
{
    static const char *const names[] = {"fp64", "fp32", "tf32",  "bf16",  "fp16", "fp8",  "int8",
                                        "int4", "fp6",  "nvfp4", "mxfp4", "q8_0", "q4_0", NULL};
    return names;
}

/* Arithmetic by the width of its operands, narrowest first: the order in which a peak is chosen. */
static const llmperf_dtype BY_WIDTH[] = {
    LLMPERF_DTYPE_NVFP4, LLMPERF_DTYPE_MXFP4, LLMPERF_DTYPE_INT4, LLMPERF_DTYPE_FP6,
    LLMPERF_DTYPE_FP8,   LLMPERF_DTYPE_INT8,  LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_FP16,
    LLMPERF_DTYPE_TF32,  LLMPERF_DTYPE_FP32,  LLMPERF_DTYPE_FP64,
};

/* True when every value of `operand` is a value of `arithmetic`. Block formats are judged by
 * their elements: the scale is applied outside the multiply. */
static bool holds(llmperf_dtype arithmetic, llmperf_dtype operand)
{
    const dtype_row *a = &ROWS[arithmetic];
    const dtype_row *o = &ROWS[operand];
    if (operand == arithmetic)
        return true;
    /* TF32 units read fp32 operands and drop the low mantissa: what libraries call fp32 there
     * stays fp32 here, so that a wider format is never narrowed without being asked */
    if (a->exponent == 0) /* integers hold integers */
        return o->exponent == 0 && o->mantissa <= a->mantissa;
    return o->exponent <= a->exponent && o->mantissa <= a->mantissa;
}

llmperf_dtype llmperf_compute_dtype(const llmperf_hw *hw, llmperf_dtype a, llmperf_dtype b)
{
    if (!IS_BELOW(a, LLMPERF_DTYPE_COUNT) || !IS_BELOW(b, LLMPERF_DTYPE_COUNT))
        return LLMPERF_DTYPE_NONE;
    for (size_t i = 0; i < sizeof BY_WIDTH / sizeof *BY_WIDTH; i++) {
        llmperf_dtype dtype = BY_WIDTH[i];
        if (hw && hw->peak_flop_per_s[dtype] <= 0)
            continue;
        if (holds(dtype, a) && holds(dtype, b))
            return dtype;
    }
    return LLMPERF_DTYPE_NONE;
}
