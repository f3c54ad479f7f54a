/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <locale.h>
#include <math.h>

#include "quantity.h"

typedef struct row {
    const char *text;
    quantity_kind kind;
    double want;
} row;

static double read_or_nan(const char *text, quantity_kind kind)
{
    double value = NAN;
    quantity_parse(text, kind, &value, NULL);
    return value;
}

static void expect_rows(const row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double got = read_or_nan(rows[i].text, rows[i].kind);
        cr_expect(fabs(got - rows[i].want) <= 1e-15 * rows[i].want, "'%s' is read as %.17g",
                  rows[i].text, got);
    }
}

Test(quantity, reads_what_datasheets_print)
{
    static const row rows[] = {
        {"989.4 TFLOP/s", QUANTITY_FLOP_PER_S, 989.4e12},
        {"989.4 TFLOPS", QUANTITY_FLOP_PER_S, 989.4e12},
        {"1979 TOPS", QUANTITY_FLOP_PER_S, 1979e12},
        {"1979 TOP/s", QUANTITY_FLOP_PER_S, 1979e12},
        {"4.5 PFLOPS", QUANTITY_FLOP_PER_S, 4.5e15},
        {"500 GFLOP/s", QUANTITY_FLOP_PER_S, 500e9},
        {"3.35 TB/s", QUANTITY_BYTES_PER_S, 3.35e12},
        {"936 GB/s", QUANTITY_BYTES_PER_S, 936e9},
        {"80 GB", QUANTITY_BYTES, 80e9},
        {"80GB", QUANTITY_BYTES, 80e9},
        {"81559 MiB", QUANTITY_BYTES, 81559.0 * 1048576},
        {"512 kB", QUANTITY_BYTES, 512e3},
        {"512 KB", QUANTITY_BYTES, 512e3},
        {"512 KiB", QUANTITY_BYTES, 524288},
        {"100 B", QUANTITY_BYTES, 100},
        {"1.98 GHz", QUANTITY_HZ, 1.98e9},
        {"1410 MHz", QUANTITY_HZ, 1.41e9},
        {"3 us", QUANTITY_S, 3e-6},
        {"3 \xc2\xb5s", QUANTITY_S, 3e-6},
        {"250 ns", QUANTITY_S, 250e-9},
        {"1.5 ms", QUANTITY_S, 1.5e-3},
        {"2 s", QUANTITY_S, 2},
        {"700 W", QUANTITY_W, 700},
        {"1.2 kW", QUANTITY_W, 1200},
        {"2.5 USD/h", QUANTITY_USD_PER_H, 2.5},
        {"1e3 GB", QUANTITY_BYTES, 1e12},
        {"1.5e-3 s", QUANTITY_S, 1.5e-3},
        {"3 EB", QUANTITY_BYTES, 3e18}, /* an E with no digits behind it is a prefix */
        {"1   GB", QUANTITY_BYTES, 1e9},
    };
    expect_rows(rows, sizeof rows / sizeof *rows);
}

/* 80 GB and 80 GiB are 7.4 % apart. */
Test(quantity, decimal_and_binary_prefixes_differ)
{
    static const row rows[] = {
        {"80 GB", QUANTITY_BYTES, 80e9},
        {"80 GiB", QUANTITY_BYTES, 80.0 * 1073741824},
        {"1 TB", QUANTITY_BYTES, 1e12},
        {"1 TiB", QUANTITY_BYTES, 1099511627776.0},
        {"1 GiB/s", QUANTITY_BYTES_PER_S, 1073741824},
        {"1 MB", QUANTITY_BYTES, 1e6},
        {"1 MiB", QUANTITY_BYTES, 1048576},
    };
    expect_rows(rows, sizeof rows / sizeof *rows);
}

/* b is bits, B is bytes; the reader is told which it was. */
Test(quantity, bits_are_an_eighth_of_bytes)
{
    static const struct {
        const char *text;
        quantity_kind kind;
        double want;
        bool bits;
    } rows[] = {
        {"400 Gb/s", QUANTITY_BYTES_PER_S, 50e9, true},
        {"400 Gbps", QUANTITY_BYTES_PER_S, 50e9, true},
        {"400 Gbit/s", QUANTITY_BYTES_PER_S, 50e9, true},
        {"400 GB/s", QUANTITY_BYTES_PER_S, 400e9, false},
        {"16 Gb", QUANTITY_BYTES, 2e9, true},
        {"16 Gbit", QUANTITY_BYTES, 2e9, true},
        {"16 GB", QUANTITY_BYTES, 16e9, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value = NAN;
        bool bits = !rows[i].bits;
        cr_expect(quantity_parse(rows[i].text, rows[i].kind, &value, &bits) == NULL, "%s",
                  rows[i].text);
        cr_expect(value == rows[i].want && bits == rows[i].bits, "'%s' is read as %g", rows[i].text,
                  value);
    }
}

Test(quantity, refuses_and_says_why)
{
    static const struct {
        const char *text;
        quantity_kind kind;
        const char *why;
    } rows[] = {
        {"80", QUANTITY_BYTES, "a number without a unit"},
        {"3.35", QUANTITY_BYTES_PER_S, "a number without a unit"},
        {"", QUANTITY_BYTES, "no number with a unit"},
        {"GB", QUANTITY_BYTES, "no number with a unit"},
        {"eighty GB", QUANTITY_BYTES, "no number with a unit"},
        {"80 gb", QUANTITY_BYTES, "an unknown unit here"},
        {"80 mb", QUANTITY_BYTES, "an unknown unit here"},
        {"80 GB/s", QUANTITY_BYTES, "an unknown unit here"},
        {"80 GB", QUANTITY_BYTES_PER_S, "an unknown unit here"},
        {"80 GBs", QUANTITY_BYTES, "an unknown unit here"},
        {"80 GB extra", QUANTITY_BYTES, "an unknown unit here"},
        {"989 TFLOP", QUANTITY_FLOP_PER_S, "an unknown unit here"},
        {"3 mW", QUANTITY_W, "an unknown unit here"},
        {"3 ks", QUANTITY_S, "an unknown unit here"},
        {"3 kUSD/h", QUANTITY_USD_PER_H, "an unknown unit here"},
        {"2.5 EUR/h", QUANTITY_USD_PER_H, "an unknown unit here"},
        {"3,35 TB/s", QUANTITY_BYTES_PER_S, "a decimal comma; numbers are written with a point"},
        {"1.2.3 GB", QUANTITY_BYTES, "no number with a unit"},
        {"0x10 GB", QUANTITY_BYTES, "an unknown unit here"},
        {"inf GB", QUANTITY_BYTES, "no number with a unit"},
        {"nan GB", QUANTITY_BYTES, "no number with a unit"},
        {"1e308 PB", QUANTITY_BYTES, "too large"},
        {"1e999 GB", QUANTITY_BYTES, "no number with a unit"},
        {"1000000000000000000000000000000000000000000000000000000000000000000000 GB",
         QUANTITY_BYTES, "no number with a unit"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double value = 7;
        const char *why = quantity_parse(rows[i].text, rows[i].kind, &value, NULL);
        cr_expect(why && strcmp(why, rows[i].why) == 0, "'%s': %s", rows[i].text,
                  why ? why : "taken");
        cr_expect(value == 7, "'%s' leaves a value", rows[i].text);
    }
}

Test(quantity, examples_read_back)
{
    for (int kind = 0; kind <= QUANTITY_USD_PER_H; kind++)
        cr_expect(read_or_nan(quantity_example((quantity_kind)kind), (quantity_kind)kind) > 0);
}

/* ---- in a document ---- */

static const char *refusal(const char *yaml)
{
    static llmperf_error error;
    error = (llmperf_error){0};
    doc *document;
    llmperf_status status = doc_load_text("x.yaml", yaml, strlen(yaml), &document, NULL);
    cr_assert(status == LLMPERF_OK);
    double value = 7;
    status =
        doc_quantity(document, doc_root(document)->first, QUANTITY_BYTES, &value, NULL, &error);
    cr_expect(status == LLMPERF_E_SPEC && value == 7, "%s", yaml);
    doc_free(document);
    return error.text;
}

Test(quantity, faults_have_a_position_and_say_what_is_allowed)
{
    cr_expect_str_eq(refusal("memory: 80"),
                     "x.yaml:1:9: memory is '80', a number without a unit; a quantity such as "
                     "80 GB is allowed");
    cr_expect_str_eq(refusal("memory: -80 GB"),
                     "x.yaml:1:9: memory is '-80 GB'; a quantity above zero is allowed");
    cr_expect_str_eq(refusal("memory: 0 GB"),
                     "x.yaml:1:9: memory is '0 GB'; a quantity above zero is allowed");
    cr_expect_str_eq(refusal("memory: [80 GB]"),
                     "x.yaml:1:9: memory is a list; a quantity such as 80 GB is allowed");
    cr_expect_str_eq(refusal("memory: null"),
                     "x.yaml:1:9: memory is null; a quantity such as 80 GB is allowed");
    cr_expect(strstr(refusal("memory: \"80 \\e[31mGB\""), "\x1b") == NULL);
}
