/* SPDX-License-Identifier: MIT */
/*
 * Every kernel of kernels/cuda against double precision, on the CPU shim: sizes that do not divide,
 * outputs poisoned with NaN, threads in three orders. A plain program that speaks TAP.
 *   test_kernels               all cases
 *   on_device                  the same on a real device (on_device.c in the shim's place)
 *   test_kernels --fails WORD  right if the first case that fails has a name that begins with WORD
 *                              (or WORD,WORD): for variants of the kernels with a planted fault
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"
#include "reference.h"
#include "shim.h"

static const uint32_t FLOATS[] = {KERNEL_FP32, KERNEL_FP16, KERNEL_BF16};
static const char *const FORMAT_NAMES[] = {"fp32", "fp16", "bf16", "fp8", "int8", "fp4", "int32"};

/* ---- a case ------------------------------------------------------------------------------------ */

static int cases, failed;
static const char *fails; /* of --fails */
static char why[256];     /* why the case that runs has failed; empty = it has not */

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
    va_list list;
    if (why[0])
        return;
    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
}

/* Whether a name begins with one of the words of --fails, which commas part. */
static int is_wanted(const char *name)
{
    for (const char *word = fails; word; word = strchr(word, ',')) {
        word += *word == ',';
        if (strncmp(name, word, strcspn(word, ",")) == 0)
            return 1;
    }
    return 0;
}

__attribute__((format(printf, 1, 2))) static void end_case(const char *format, ...)
{
    char name[160];
    va_list list;
    va_start(list, format);
    vsnprintf(name, sizeof name, format, list);
    va_end(list);
    cases++;
    if (why[0]) {
        failed++;
        if (fails) {
            const int right = is_wanted(name);
            printf("1..1\n%s 1 - %s: %s\n", right ? "ok" : "not ok", name, why);
            exit(right ? 0 : 1);
        }
    }
    if (!fails)
        printf("%s %d - %s\n", why[0] ? "not ok" : "ok", cases, name);
    if (why[0])
        printf("# %s: %s\n", name, why);
    fflush(stdout);
    why[0] = '\0';
}

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return memory;
}

/* Bytes 0xff: NaN in every format. */
static void *poisoned(size_t bytes)
{
    return memset(allocate(bytes), 0xff, bytes);
}

static void *filled(uint64_t count, uint32_t format, uint32_t seed)
{
    void *data = allocate(reference_bytes(count, format));
    reference_fill(data, count, format, seed);
    return data;
}

static void launch(const char *kernel, unsigned x, unsigned y, unsigned z, unsigned threads,
                   size_t shared_bytes, const void *arguments, uint64_t seed)
{
    char message[200] = "";
    const unsigned grid[3] = {x, y, z}, block[3] = {threads, 1, 1};
    const shim_options options = {.seed = seed, .message = message, .message_size = sizeof message};
    if (shim_launch(kernel, grid, block, shared_bytes, arguments, &options))
        complain("%s", message);
}

static void check_value(double found, double expected, double tolerance, const char *what,
                        uint64_t i)
{
    if (!(fabs(found - expected) <= tolerance))
        complain("%s %llu: %.9g, expected %.9g +- %.3g", what, (unsigned long long)i, found,
                 expected, tolerance);
}

/* ---- fill and streams ---------------------------------------------------------------------------- */

static void test_fill(uint32_t format)
{
    static const uint64_t COUNTS[] = {1, 3, 15, 16, 17, 31, 33, 1000, 8191, 20001};
    for (uint32_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++) {
        const uint64_t count = COUNTS[c];
        const size_t bytes = reference_bytes(count, format);
        unsigned char *found = poisoned(bytes), *expected = filled(count, format, 7);
        kernel_fill_args args = {.data = found, .count = count, .format = format, .seed = 7};
        launch("kernel_fill", c % 3 + 1, 1, 1, KERNEL_THREADS, 0, &args, c);
        for (size_t i = 0; i < bytes; i++)
            if (found[i] != expected[i])
                complain("count %llu, byte %zu: %02x, expected %02x", (unsigned long long)count, i,
                         found[i], expected[i]);
        free(found);
        free(expected);
    }
    end_case("fill %s", FORMAT_NAMES[format]);
}

/* Both ends, the mean and the mean square of a uniform distribution over [-1, 1]: 0 and 1/3. Of
 * int8 over 127, with -127 twice as often: 0 and 0.3386. Of fp4, whose nibbles round to -1 (3 of
 * 16), -0.5 (3), 0.5 (3), 1 (2) and 0 (5): -1/16 and 13/32. Standard errors of 200000 values: 0.0013
 * and 0.0007. */
static void test_fill_distribution(uint32_t format)
{
    const uint64_t count = 200000;
    const double unit = format == KERNEL_INT8 ? 127 : 1;
    const double square = format == KERNEL_INT8 ? 0.3386 : format == KERNEL_FP4 ? 0.40625 : 1.0 / 3;
    void *data = filled(count, format, 11);
    double low = 9, high = -9, sum = 0, squares = 0;
    for (uint64_t i = 0; i < count; i++) {
        double x = reference_value(data, i, format) / unit;
        low = fmin(low, x);
        high = fmax(high, x);
        sum += x;
        squares += x * x;
    }
    check_value(low, -1, 0.001, "lowest", 0);
    check_value(high, 1, 0.001, "highest", 0);
    check_value(sum / (double)count, format == KERNEL_FP4 ? -0.0625 : 0, 0.007, "mean", 0);
    check_value(squares / (double)count, square, 0.004, "mean square", 0);
    free(data);
    end_case("fill %s is uniform over -1 .. 1", FORMAT_NAMES[format]);
}

static const uint64_t STREAM_WORDS[] = {1, 255, 256, 257, 2047, 2048, 2049, 5000, 9000};
enum { STREAM_SIZES = sizeof STREAM_WORDS / sizeof *STREAM_WORDS };

static void test_read(void)
{
    for (uint32_t s = 0; s < STREAM_SIZES; s++) {
        const uint64_t words = STREAM_WORDS[s];
        const uint32_t *data = filled(4 * words, KERNEL_FP32, 3);
        uint32_t *sum = allocate(sizeof *sum), expected = 5;
        *sum = 5;
        for (uint64_t i = 0; i < 4 * words; i++)
            expected += data[i];
        kernel_stream_args args = {.a = data, .words = words, .sink = sum};
        launch("kernel_read", s % 3 + 1, 1, 1, KERNEL_THREADS, 0, &args, s);
        if (*sum != expected)
            complain("%llu words: sum %u, expected %u", (unsigned long long)words, *sum, expected);
        free((void *)data);
        free(sum);
    }
    end_case("stream read adds every word once");
}

static void test_stores(const char *kernel)
{
    for (uint32_t s = 0; s < STREAM_SIZES; s++) {
        const uint64_t count = 4 * STREAM_WORDS[s];
        const float *a = filled(count, KERNEL_FP32, 3), *b = filled(count, KERNEL_FP32, 4);
        float *c = poisoned(count * sizeof *c);
        kernel_stream_args args = {
            .a = a, .b = b, .c = c, .words = STREAM_WORDS[s], .scale = 0.375f};
        launch(kernel, s % 3 + 1, 1, 1, KERNEL_THREADS, 0, &args, s);
        for (uint64_t i = 0; i < count; i++) {
            double sum = (double)a[i] + 0.375 * (double)b[i];
            double expected = strcmp(kernel, "kernel_write") == 0  ? 0.375
                              : strcmp(kernel, "kernel_copy") == 0 ? (double)a[i]
                                                                   : sum;
            double tolerance = strcmp(kernel, "kernel_triad") == 0 ? 2e-7 : 0;
            check_value((double)c[i], expected, tolerance, "value", i);
        }
        free((void *)a);
        free((void *)b);
        free(c);
    }
    end_case("stream %s", kernel + strlen("kernel_"));
}

/* ---- launches --------------------------------------------------------------------------------------- */

static void test_launches(void)
{
    uint32_t *late = allocate(sizeof *late), *flag = allocate(sizeof *flag);
    kernel_block_args block = {.flag = flag, .late = late, .limit_ns = 50000};
    *late = 0;
    *flag = 1;
    launch("kernel_empty", 3, 1, 1, KERNEL_THREADS, 0, &(kernel_empty_args){0}, 0);
    launch("kernel_block", 1, 1, 1, 1, 0, &block, 0);
    if (*late != 0)
        complain("late although the flag is set");
    *flag = 0;
    launch("kernel_block", 1, 1, 1, 1, 0, &block, 0);
    if (*late != 1)
        complain("not late although the flag never came");
    block.late = NULL;
    launch("kernel_block", 1, 1, 1, 1, 0, &block, 0);
    free(late);
    free(flag);
    end_case("block ends with the flag or at its limit");
}

/* ---- decode ------------------------------------------------------------------------------------------- */

typedef struct decode_case {
    uint32_t d, batch, heads, kv_heads, tokens, splits;
} decode_case;

static const decode_case DECODE[] = {
    {64, 1, 1, 1, 1, 1},     {64, 2, 8, 2, 200, 1},    {64, 1, 4, 4, 333, 3},
    {64, 1, 40, 1, 77, 2},   {128, 1, 1, 1, 1, 1},     {128, 1, 8, 2, 300, 1},
    {128, 2, 4, 4, 129, 2},  {128, 1, 16, 1, 1025, 4}, {128, 1, 17, 1, 100, 1},
    {128, 1, 5, 1, 130, 30}, {128, 3, 8, 1, 64, 5},    {256, 1, 1, 1, 15, 1},
    {256, 1, 8, 1, 250, 3},  {256, 2, 2, 2, 257, 2},   {256, 1, 20, 1, 140, 1},
};

static void check_decode(const kernel_decode_args *args, uint32_t d)
{
    double expected[256], magnitude[256];
    const double tolerance = reference_tolerance(args->format);
    for (uint32_t sequence = 0; sequence < args->batch; sequence++)
        for (uint32_t head = 0; head < args->heads; head++) {
            const uint64_t row = ((uint64_t)sequence * args->heads + head) * d;
            if (reference_decode(args, d, sequence, head, expected, magnitude))
                complain("no memory");
            for (uint32_t i = 0; i < d; i++)
                check_value(reference_value(args->o, row + i, args->format), expected[i],
                            tolerance * magnitude[i], "output", row + i);
        }
}

static void test_decode(const decode_case *c, uint32_t format, uint64_t seed, float sharpness)
{
    char kernel[32];
    const uint64_t rows = (uint64_t)c->batch * c->heads;
    const uint64_t cache = (uint64_t)c->batch * c->kv_heads * c->tokens * c->d;
    kernel_decode_args args = {
        .q = filled(rows * c->d, format, 1),
        .k = filled(cache, format, 2),
        .v = filled(cache, format, 3),
        .o = poisoned(reference_bytes(rows * c->d, format)),
        .partial = poisoned(rows * c->splits * c->d * sizeof(float)),
        .max_sum = poisoned(rows * c->splits * 2 * sizeof(float)),
        .batch = c->batch,
        .heads = c->heads,
        .kv_heads = c->kv_heads,
        .tokens = c->tokens,
        .splits = c->splits,
        .format = format,
        .scale = sharpness / sqrtf((float)c->d),
    };
    snprintf(kernel, sizeof kernel, "kernel_decode_%u", c->d);
    launch(kernel, c->splits, c->kv_heads, c->batch, KERNEL_DECODE_THREADS, 0, &args, seed);
    snprintf(kernel, sizeof kernel, "kernel_decode_merge_%u", c->d);
    if (c->splits > 1)
        launch(kernel, c->heads, c->batch, 1, c->d, 0, &args, seed);
    check_decode(&args, c->d);
    free((void *)args.q);
    free((void *)args.k);
    free((void *)args.v);
    free(args.o);
    free(args.partial);
    free(args.max_sum);
    end_case("decode %s d=%u batch=%u heads=%u/%u tokens=%u splits=%u sharpness=%g",
             FORMAT_NAMES[format], c->d, c->batch, c->heads, c->kv_heads, c->tokens, c->splits,
             (double)sharpness);
}

/* ---- prefill -------------------------------------------------------------------------------------------- */

typedef struct prefill_case {
    uint32_t d, batch, heads, kv_heads, queries, past;
} prefill_case;

static const prefill_case PREFILL[] = {
    {64, 1, 1, 1, 1, 0},    {64, 1, 2, 1, 65, 0},   {64, 2, 2, 2, 30, 100},  {128, 1, 2, 1, 100, 0},
    {128, 1, 1, 1, 64, 64}, {128, 1, 2, 2, 7, 150}, {128, 1, 1, 1, 129, 3},  {256, 1, 1, 1, 70, 0},
    {256, 1, 2, 1, 20, 77}, {64, 1, 1, 1, 200, 0},  {128, 2, 1, 1, 130, 40}, {256, 1, 1, 1, 140, 5},
};

static void check_prefill(const kernel_prefill_args *args, uint32_t d)
{
    double expected[256], magnitude[256];
    const double tolerance = reference_tolerance(args->format);
    for (uint32_t sequence = 0; sequence < args->batch; sequence++)
        for (uint32_t query = 0; query < args->queries; query++)
            for (uint32_t head = 0; head < args->heads; head++) {
                const uint64_t row =
                    (((uint64_t)sequence * args->queries + query) * args->heads + head) * d;
                if (reference_prefill(args, d, sequence, query, head, expected, magnitude))
                    complain("no memory");
                for (uint32_t i = 0; i < d; i++)
                    check_value(reference_value(args->o, row + i, args->format), expected[i],
                                tolerance * magnitude[i], "output", row + i);
            }
}

static void test_prefill(const prefill_case *c, uint32_t format, uint64_t seed, float sharpness)
{
    char kernel[32];
    const uint64_t values = (uint64_t)c->batch * c->queries * c->heads * c->d;
    const uint64_t cache = (uint64_t)c->batch * c->kv_heads * (c->past + c->queries) * c->d;
    kernel_prefill_args args = {
        .q = filled(values, format, 1),
        .k = filled(cache, format, 2),
        .v = filled(cache, format, 3),
        .o = poisoned(reference_bytes(values, format)),
        .batch = c->batch,
        .heads = c->heads,
        .kv_heads = c->kv_heads,
        .queries = c->queries,
        .past = c->past,
        .format = format,
        .scale = sharpness / sqrtf((float)c->d),
    };
    snprintf(kernel, sizeof kernel, "kernel_prefill_%u", c->d);
    launch(kernel, (c->queries + KERNEL_PREFILL_ROWS - 1) / KERNEL_PREFILL_ROWS, c->heads, c->batch,
           KERNEL_PREFILL_THREADS, kernel_prefill_shared_bytes(c->d), &args, seed);
    check_prefill(&args, c->d);
    free((void *)args.q);
    free((void *)args.k);
    free((void *)args.v);
    free(args.o);
    end_case("prefill %s d=%u batch=%u heads=%u/%u queries=%u past=%u sharpness=%g",
             FORMAT_NAMES[format], c->d, c->batch, c->heads, c->kv_heads, c->queries, c->past,
             (double)sharpness);
}

/* ---- softmax, elementwise, norm, gather -------------------------------------------------------------------- */

/* Weights of a row add up to 1: one that was not written would show, it lies in [-1, 1]. */
static void check_row_sum(const void *data, uint64_t row, uint32_t columns, uint32_t format)
{
    double sum = 0;
    for (uint32_t i = 0; i < columns; i++)
        sum += reference_value(data, row * columns + i, format);
    check_value(sum, 1, reference_tolerance(format) + columns * 0x1p-25, "sum of row", row);
}

static void test_softmax(uint32_t format)
{
    static const uint32_t COLUMNS[] = {1, 7, 8, 300, 2056, 9001, 10000};
    const uint64_t rows = 3;
    for (size_t c = 0; c < sizeof COLUMNS / sizeof *COLUMNS; c++) {
        const uint64_t count = rows * COLUMNS[c];
        void *data = filled(count, format, 5), *before = filled(count, format, 5);
        kernel_softmax_args args = {
            .data = data, .rows = rows, .columns = COLUMNS[c], .format = format};
        launch("kernel_softmax", c % 2 ? 2 : 3, 1, 1, KERNEL_THREADS, 0, &args, c);
        for (uint64_t row = 0; row < rows; row++)
            check_row_sum(data, row, COLUMNS[c], format);
        const uint64_t step = COLUMNS[c] > 500 ? 397 : 1; /* the reference is slow */
        for (uint64_t i = 0; i < count; i += step) {
            double expected = reference_softmax(before, i / COLUMNS[c], COLUMNS[c], format,
                                                (uint32_t)(i % COLUMNS[c]));
            /* fp16 has a spacing of 2^-24 below 2^-14 */
            double tolerance = reference_tolerance(format) * expected + 0x1p-24;
            check_value(reference_value(data, i, format), expected, tolerance, "value", i);
        }
        free(data);
        free(before);
    }
    end_case("softmax %s", FORMAT_NAMES[format]);
}

static void test_elementwise(uint32_t format, uint32_t inputs)
{
    static const uint64_t COUNTS[] = {1, 7, 8, 2047, 4096, 4100, 9001};
    for (uint32_t c = 0; c < sizeof COUNTS / sizeof *COUNTS; c++) {
        kernel_elementwise_args args = {
            .out = poisoned(reference_bytes(COUNTS[c], format)),
            .count = COUNTS[c],
            .inputs = inputs,
            .format = format,
        };
        for (uint32_t j = 0; j < inputs; j++)
            args.in[j] = filled(COUNTS[c], format, j + 1);
        launch("kernel_elementwise", c % 3 + 1, 1, 1, KERNEL_THREADS, 0, &args, c);
        for (uint64_t i = 0; i < COUNTS[c]; i++) {
            double magnitude, expected = reference_elementwise(&args, i, &magnitude);
            check_value(reference_value(args.out, i, format), expected,
                        reference_tolerance(format) * magnitude + 0x1p-25, "value", i);
        }
        for (uint32_t j = 0; j < inputs; j++)
            free((void *)args.in[j]);
        free(args.out);
    }
    end_case("elementwise %s of %u inputs", FORMAT_NAMES[format], inputs);
}

static void test_norm(uint32_t format)
{
    static const uint32_t COLUMNS[] = {1, 7, 8, 300, 2056, 9001, 10000};
    const uint64_t rows = 3;
    for (size_t c = 0; c < sizeof COLUMNS / sizeof *COLUMNS; c++) {
        const uint64_t count = rows * COLUMNS[c];
        kernel_norm_args args = {
            .in = filled(count, format, 1),
            .weight = filled(COLUMNS[c], format, 2),
            .out = poisoned(reference_bytes(count, format)),
            .rows = rows,
            .columns = COLUMNS[c],
            .format = format,
        };
        launch("kernel_norm", c % 2 ? 2 : 3, 1, 1, KERNEL_THREADS, 0, &args, c);
        const uint64_t step = COLUMNS[c] > 500 ? 397 : 1;
        for (uint64_t i = 0; i < count; i += step) {
            double expected = reference_norm(&args, i / COLUMNS[c], (uint32_t)(i % COLUMNS[c]));
            check_value(reference_value(args.out, i, format), expected,
                        reference_tolerance(format) * fabs(expected) + 0x1p-25, "value", i);
        }
        /* unwritten values are NaN, also those that the steps above pass over */
        for (uint64_t i = 0; i < count; i++)
            check_value(reference_value(args.out, i, format), 0, 1e9, "unwritten value", i);
        free((void *)args.in);
        free((void *)args.weight);
        free(args.out);
    }
    end_case("norm %s", FORMAT_NAMES[format]);
}

static void test_gather(void)
{
    static const uint32_t BYTES[] = {16, 48, 4096, 16384 + 16, 40000};
    const uint64_t rows = 7, table_rows = 5;
    for (size_t c = 0; c < sizeof BYTES / sizeof *BYTES; c++) {
        unsigned char *table = filled(table_rows * BYTES[c], KERNEL_INT8, 1);
        unsigned char *out = poisoned(rows * BYTES[c]);
        kernel_gather_args args = {.table = table,
                                   .out = out,
                                   .rows = rows,
                                   .table_rows = table_rows,
                                   .row_bytes = BYTES[c],
                                   .seed = 9};
        launch("kernel_gather", c % 2 ? 7 : 3, 1, 1, KERNEL_THREADS, 0, &args, c);
        for (uint64_t row = 0; row < rows; row++)
            if (memcmp(out + row * BYTES[c], table + reference_gather(&args, row) * BYTES[c],
                       BYTES[c]) != 0)
                complain("row %llu of %u bytes", (unsigned long long)row, BYTES[c]);
        free(table);
        free(out);
    }
    end_case("gather");
}

/* ---- the check of products ------------------------------------------------------------------------------------ */

static void test_gemm_check(uint32_t format, uint32_t out_format)
{
    enum { COUNT = 9 };
    const uint64_t m = 5, n = 7, k = 1030;
    double *expected = poisoned(COUNT * sizeof *expected);
    double *found = poisoned(COUNT * sizeof *found);
    double *magnitude = poisoned(COUNT * sizeof *magnitude);
    kernel_check_args args = {
        .a = filled(m * k, format, 1),
        .b = filled(n * k, format, 2),
        .d = filled(m * n, out_format == KERNEL_INT32 ? KERNEL_FP32 : out_format, 3),
        .expected = expected,
        .found = found,
        .magnitude = magnitude,
        .m = m,
        .n = n,
        .k = k,
        .count = COUNT,
        .seed = 17,
        .format = format,
        .out_format = out_format,
        .scale = -0.5,
    };
    launch("kernel_gemm_check", 4, 1, 1, KERNEL_THREADS, 0, &args, 3);
    for (uint32_t i = 0; i < COUNT; i++) {
        double size, there, product = reference_product(&args, i, &size, &there);
        check_value(expected[i], product, 1e-12 * size, "expected", i);
        check_value(magnitude[i], fabs(size), 1e-12 * fabs(size), "magnitude", i);
        check_value(found[i], there, 0, "found", i);
    }
    free((void *)args.a);
    free((void *)args.b);
    free((void *)args.d);
    free(expected);
    free(found);
    free(magnitude);
    end_case("gemm_check %s to %s", FORMAT_NAMES[format], FORMAT_NAMES[out_format]);
}

#ifndef LLMPERF_ON_DEVICE
/* ---- what the shim itself promises ------------------------------------------------------------------------------ */

static void test_refusals(void)
{
    char message[100] = "";
    const unsigned one[3] = {1, 1, 1}, many[3] = {2048, 1, 1}, none[3] = {0, 1, 1};
    const kernel_empty_args args = {0};
    const shim_options options = {.message = message, .message_size = sizeof message};
    if (shim_launch("kernel_nothing", one, one, 0, &args, &options) != SHIM_UNKNOWN_KERNEL ||
        !strstr(message, "kernel_nothing"))
        complain("an unknown kernel: '%s'", message);
    if (shim_launch("kernel_empty", one, many, 0, &args, NULL) != SHIM_INVALID_SIZE)
        complain("2048 threads");
    if (shim_launch("kernel_empty", none, one, 0, &args, NULL) != SHIM_INVALID_SIZE)
        complain("no block");
    if (shim_launch("kernel_empty", one, one, 1 << 20, &args, NULL) != SHIM_INVALID_SIZE)
        complain("1 MiB of shared memory");
    const unsigned threads[3] = {KERNEL_THREADS + KERNEL_DECODE_THREADS, 1, 1};
    if (shim_launch("kernel_decode_64", one, threads, 0, &(kernel_decode_args){0}, &options) !=
            SHIM_INVALID_SIZE ||
        !strstr(message, "128"))
        complain("a block of the wrong size: '%s'", message);
    if (shim_argument_bytes("kernel_norm") != sizeof(kernel_norm_args) ||
        shim_argument_bytes("kernel_nothing") != 0)
        complain("bytes of arguments");
    end_case("shim refuses what a device would");
}

#endif

/* ---- all of them -------------------------------------------------------------------------------------------------- */

/* Whether cases of this kind run: all do, unless --fails names others. */
static int runs(const char *kind)
{
    for (const char *word = fails; word; word = strchr(word, ',')) {
        word += *word == ',';
        if (strncmp(kind, word, strlen(kind)) == 0)
            return 1;
    }
    return !fails;
}

static void test_decodes(uint32_t format)
{
    for (size_t i = 0; i < sizeof DECODE / sizeof *DECODE; i++)
        test_decode(&DECODE[i], format, i, 1);
    /* scores far apart: the largest changes from tile to tile */
    test_decode(&(decode_case){128, 1, 4, 1, 700, 3}, format, 5, 20);
}

static void test_prefills(uint32_t format)
{
    for (size_t i = 0; i < sizeof PREFILL / sizeof *PREFILL; i++)
        test_prefill(&PREFILL[i], format, i, 1);
    test_prefill(&(prefill_case){128, 1, 1, 1, 64, 200}, format, 5, 20);
}

static void test_formats(uint32_t format)
{
    for (uint32_t inputs = 1; inputs <= 4 && runs("elementwise"); inputs++)
        test_elementwise(format, inputs);
    if (runs("softmax"))
        test_softmax(format);
    if (runs("norm"))
        test_norm(format);
    if (runs("decode"))
        test_decodes(format);
    if (runs("prefill"))
        test_prefills(format);
}

static void test_fills(void)
{
    for (uint32_t format = KERNEL_FP32; format <= KERNEL_FP4; format++) {
        test_fill(format);
        test_fill_distribution(format);
    }
}

static void test_streams(void)
{
    test_read();
    test_stores("kernel_write");
    test_stores("kernel_copy");
    test_stores("kernel_triad");
}

static void test_products(void)
{
    for (uint32_t format = KERNEL_FP32; format <= KERNEL_FP4; format++)
        test_gemm_check(format, format == KERNEL_INT8 ? KERNEL_INT32 : KERNEL_FP32);
    test_gemm_check(KERNEL_FP16, KERNEL_FP16);
    test_gemm_check(KERNEL_BF16, KERNEL_BF16);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--fails") == 0)
        fails = argv[2];
#ifndef LLMPERF_ON_DEVICE
    if (!fails)
        test_refusals();
#endif
    if (!fails)
        test_launches();
    if (runs("fill"))
        test_fills();
    if (runs("stream"))
        test_streams();
    if (runs("gather"))
        test_gather();
    if (runs("gemm_check"))
        test_products();
    for (size_t f = 0; f < sizeof FLOATS / sizeof *FLOATS; f++)
        test_formats(FLOATS[f]);
    if (fails) {
        printf("1..1\nnot ok 1 - no case fails\n");
        return 1;
    }
    printf("1..%d\n", cases);
    return failed ? 1 : 0;
}
