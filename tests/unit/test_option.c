/* SPDX-License-Identifier: MIT */
/* Expected texts and values are written by hand from cli/option.h. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "option.h"

/* The asserts of Criterion 2.4.1 store an int in a bit-field. */
#pragma GCC diagnostic ignored "-Wconversion"

/* ---- A command that has every kind of option ---- */

typedef enum attention { FUSED, UNFUSED } attention;

typedef struct sample_arguments {
    bool explain, quiet;
    int gated;
    int64_t batch, seed, least;
    double acceptance, free, rate;
    double tpot_s, memory_bytes, reserve_bytes, price;
    const char *output;
    attention attention;
    const char *sweep, *formats, *hw;
    bool tpot_given;
    int64_t sentinel;
} sample_arguments;

static const char *const attention_words[] = {"fused", "unfused", NULL};
static const char *const format_words[] = {"text", "json", "csv", "md", NULL};

static const option sample_options[] = {
    OPTION_ROW(sample_arguments, batch, INT64, "batch", 'b', "N", "sequences decoded together",
               .min = 1, .max = 65536, .default_text = "1", .group = "Workload"),
    OPTION_ROW(sample_arguments, seed, INT64, "seed", 0, NULL, "start of the random numbers",
               .group = "Workload"),
    OPTION_ROW(sample_arguments, least, INT64, "least", 0, "N", "a number without an upper end",
               .min = 1, .max = INFINITY, .group = "Workload"),
    OPTION_ROW(sample_arguments, acceptance, DOUBLE, "acceptance", 0, "A",
               "share of the drafted tokens that the model accepts", .min = 0, .max = 1,
               .group = "Workload"),
    OPTION_ROW(sample_arguments, free, DOUBLE, "free", 'f', NULL, "any number at all",
               .group = "Workload"),
    OPTION_ROW(sample_arguments, rate, DOUBLE, "rate", 0, "R", "requests per second", .min = 0.25,
               .max = INFINITY, .group = "Workload"),
    OPTION_ROW_GIVEN(sample_arguments, tpot_s, tpot_given, TIME, "tpot", 0, NULL,
                     "target time of each output token after the first one, which the largest "
                     "batch must keep",
                     .min = 1e-6, .max = 0.03, .group = "Targets"),
    OPTION_ROW(sample_arguments, memory_bytes, BYTES, "memory", 0, NULL, "memory of the device",
               .min = 1048576, .max = 1e12, .group = "Targets"),
    OPTION_ROW(sample_arguments, reserve_bytes, BYTES, "reserve", 0, NULL,
               "kept for the context and libraries", .default_text = "1 GiB", .group = "Targets"),
    OPTION_ROW(sample_arguments, price, PRICE, "price", 0, NULL, "price of a device",
               .group = "Targets"),
    OPTION_ROW(sample_arguments, attention, CHOICE, "attention", 0, NULL, "the attention kernel",
               .choices = attention_words, .default_text = "fused", .group = "Model"),
    OPTION_ROW(sample_arguments, gated, YESNO, "gated", 0, NULL, "the MLP has a gate",
               .group = "Model"),
    OPTION_ROW(sample_arguments, sweep, RANGE, "sweep", 0, NULL, "batches of the curve", .min = 1,
               .max = 65536, .group = "Model"),
    OPTION_ROW(sample_arguments, formats, WORDS, "formats", 0, NULL, "what is written",
               .choices = format_words, .group = "Output"),
    OPTION_ROW(sample_arguments, hw, WORDS, "hw", 0, "HW[,HW...]", "hardware to compare",
               .group = "Output"),
    OPTION_ROW(sample_arguments, output, TEXT, "output", 'o', "FILE", "where the result goes",
               .group = "Output"),
    OPTION_ROW(sample_arguments, explain, FLAG, "explain", 'x', NULL, "show the formulas",
               .group = "Output"),
    OPTION_ROW(sample_arguments, quiet, FLAG, "quiet", 'q', NULL, "no notes", .group = "Output"),
    OPTION_END,
};

static int run_nothing(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

static const option_command sample_commands[] = {
    {
        .name = "predict",
        .synopsis = "MODEL HARDWARE",
        .summary = "predict memory, latency and throughput",
        .about = "Predicts what a deployment of MODEL on HARDWARE needs and reaches: memory, time "
                 "to the first token, time of each further token.\n\n"
                 ".gguf files work, and so do C:\\odd\\paths and 'quoted' names.",
        .examples = "llmperf predict llama-3.1-70b h100-sxm --tp 4 -b 32  # a server\n"
                    "llmperf predict qwen2.5-7b rtx-4090",
        .options = sample_options,
        .min_positionals = 2,
        .max_positionals = 2,
        .run = run_nothing,
    },
    {
        .name = "specs",
        .synopsis = "list|show|check [NAME...]",
        .summary = "what is shipped",
        .examples = "llmperf specs list",
        .min_positionals = 1,
        .max_positionals = 3,
        .run = run_nothing,
    },
    {.name = "devices", .synopsis = "", .summary = "what can be measured", .run = run_nothing},
    {.name = NULL},
};

#define MAX_WORDS (OPTION_MAX_POSITIONALS + 8)

/* What a parse left behind. */
typedef struct outcome {
    llmperf_status status;
    sample_arguments arguments;
    option_result result;
    llmperf_error error;
} outcome;

static outcome got; /* large; each Criterion test runs in its own process */

/* Parses with the words as argv[1..]; the list ends with NULL. */
static const outcome *parse_as(const option_command *command, const char *const *words)
{
    char *argv[MAX_WORDS + 2] = {(char *)(uintptr_t)command->name};
    int argc = 1;
    for (; words[argc - 1] && argc <= MAX_WORDS; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    memset(&got, 0, sizeof got);
    got.arguments.gated = -1;
    got.arguments.sentinel = 42;
    got.result.positional_count = -7;
    got.status = option_parse(command, argc, argv, &got.arguments, &got.result, &got.error);
    return &got;
}

#define PARSE(...) parse_as(&sample_commands[0], (const char *const[]){__VA_ARGS__, NULL})
/* The sample command with its two positionals, so that only the options can be wrong. */
#define OPTIONS(...) PARSE("m", "h", __VA_ARGS__)

#define ACCEPTS(call)                                                                              \
    do {                                                                                           \
        (void)(call);                                                                              \
        cr_assert(eq(str, got.error.text, ""));                                                    \
        cr_assert(eq(int, (int)got.status, (int)LLMPERF_OK));                                      \
    } while (0)

#define REFUSES(call, message)                                                                     \
    do {                                                                                           \
        (void)(call);                                                                              \
        cr_expect(eq(str, got.error.text, message));                                               \
        cr_expect(eq(int, (int)got.status, (int)LLMPERF_E_USAGE));                                 \
        cr_expect(eq(int, got.result.positional_count, -7), "the result must be untouched");       \
    } while (0)

/* ---- Forms of the command line ---- */

Test(option, takes_every_form_of_a_value)
{
    ACCEPTS(OPTIONS("--batch", "8"));
    cr_expect(eq(i64, got.arguments.batch, 8));
    ACCEPTS(OPTIONS("--batch=9"));
    cr_expect(eq(i64, got.arguments.batch, 9));
    ACCEPTS(OPTIONS("-b", "10"));
    cr_expect(eq(i64, got.arguments.batch, 10));
    ACCEPTS(OPTIONS("-b11"));
    cr_expect(eq(i64, got.arguments.batch, 11));
    ACCEPTS(OPTIONS("-b=12"));
    cr_expect(eq(i64, got.arguments.batch, 12));
    cr_expect(eq(i64, got.arguments.sentinel, 42));
}

Test(option, takes_options_anywhere_and_keeps_the_positionals_in_order)
{
    ACCEPTS(PARSE("-b", "8", "llama", "--explain", "h100", "-q"));
    cr_assert(eq(int, got.result.positional_count, 2));
    cr_expect(eq(str, (char *)(uintptr_t)got.result.positional[0], "llama"));
    cr_expect(eq(str, (char *)(uintptr_t)got.result.positional[1], "h100"));
    cr_expect(got.arguments.explain);
    cr_expect(got.arguments.quiet);
    cr_expect(not(got.result.help));
}

Test(option, lets_the_last_of_a_repeated_option_win)
{
    ACCEPTS(OPTIONS("-b", "8", "--batch=16"));
    cr_expect(eq(i64, got.arguments.batch, 16));
}

Test(option, ends_options_at_two_dashes)
{
    ACCEPTS(PARSE("--", "--batch", "-x"));
    cr_assert(eq(int, got.result.positional_count, 2));
    cr_expect(eq(str, (char *)(uintptr_t)got.result.positional[0], "--batch"));
    cr_expect(not(got.arguments.explain));
}

Test(option, takes_one_dash_as_a_positional_and_as_a_value)
{
    ACCEPTS(PARSE("-", "h100", "-o", "-"));
    cr_expect(eq(str, (char *)(uintptr_t)got.result.positional[0], "-"));
    cr_expect(eq(str, (char *)(uintptr_t)got.arguments.output, "-"));
}

Test(option, takes_flags_in_one_word_with_a_value_at_the_end)
{
    ACCEPTS(OPTIONS("-xqb4"));
    cr_expect(got.arguments.explain);
    cr_expect(got.arguments.quiet);
    cr_expect(eq(i64, got.arguments.batch, 4));
}

Test(option, takes_yes_and_no_behind_a_flag_but_nothing_else)
{
    ACCEPTS(OPTIONS("--explain=yes", "--quiet", "--quiet=no"));
    cr_expect(got.arguments.explain);
    cr_expect(not(got.arguments.quiet));
    REFUSES(OPTIONS("--explain=loud"),
            "option '--explain' takes no value other than yes or no; found 'loud'");
}

Test(option, marks_an_option_as_given)
{
    ACCEPTS(OPTIONS("-b", "1"));
    cr_expect(not(got.arguments.tpot_given));
    ACCEPTS(OPTIONS("--tpot", "30ms"));
    cr_expect(got.arguments.tpot_given);
    REFUSES(OPTIONS("--tpot", "30"),
            "option '--tpot' takes a time with its unit, for example 30ms; found '30'");
    cr_expect(not(got.arguments.tpot_given));
}

Test(option, takes_negative_numbers_as_values)
{
    ACCEPTS(OPTIONS("--seed", "-5", "--free", "-.5"));
    cr_expect(eq(i64, got.arguments.seed, -5));
    cr_expect(eq(dbl, got.arguments.free, -0.5));
    REFUSES(OPTIONS("-b", "-5"), "option '--batch' takes N from 1 to 65536; found '-5'");
}

Test(option, takes_a_value_with_a_dash_only_behind_an_equals_sign)
{
    ACCEPTS(OPTIONS("--output=-odd"));
    cr_expect(eq(str, (char *)(uintptr_t)got.arguments.output, "-odd"));
    REFUSES(OPTIONS("--output", "-x"),
            "option '--output' takes FILE; found the option '-x' (a value that begins with '-' is "
            "written --output=VALUE)");
}

Test(option, refuses_a_missing_value_and_says_what_belongs_there)
{
    REFUSES(OPTIONS("--batch"), "option '--batch' takes N from 1 to 65536; found no value");
    REFUSES(OPTIONS("-b", "--explain"), "option '--batch' takes N from 1 to 65536; found no value");
    REFUSES(OPTIONS("--attention"), "option '--attention' takes fused or unfused; found no value");
    REFUSES(OPTIONS("--output", "--"), "option '--output' takes FILE; found no value");
    REFUSES(OPTIONS("--sweep"), "option '--sweep' takes a range, for example 8, 1..8, 1..512*2, "
                                "8..64+8 or 1,2,4; found no value");
    REFUSES(OPTIONS("--formats"), "option '--formats' takes words with commas between them, out of "
                                  "text, json, csv or md; found no value");
}

Test(option, refuses_an_empty_value)
{
    REFUSES(OPTIONS("--output="), "option '--output' takes FILE; found an empty value");
    REFUSES(OPTIONS("-b", ""), "option '--batch' takes N from 1 to 65536; found an empty value");
}

/* ---- Unknown options ---- */

Test(option, refuses_an_unknown_option_and_suggests_the_nearest)
{
    REFUSES(OPTIONS("--bacth", "8"), "option '--bacth' is not known; did you mean '--batch'?");
    REFUSES(OPTIONS("--bacth=8"), "option '--bacth' is not known; did you mean '--batch'?");
    REFUSES(OPTIONS("--zzz"), "option '--zzz' is not known; see llmperf predict --help");
    REFUSES(OPTIONS("-z"), "option '-z' is not known; see llmperf predict --help");
    REFUSES(OPTIONS("-5"), "option '-5' is not known; see llmperf predict --help");
    REFUSES(OPTIONS("--hepl"), "option '--hepl' is not known; did you mean '--help'?");
    REFUSES(OPTIONS("--Batch=1"), "option '--Batch' is not known; did you mean '--batch'?");
}

Test(option, refuses_a_prefix_but_suggests_what_it_begins)
{
    REFUSES(OPTIONS("--acc", "1"), "option '--acc' is not known; did you mean '--acceptance'?");
}

Test(option, refuses_a_long_name_behind_one_dash)
{
    REFUSES(OPTIONS("-batch", "8"), "option '-batch' is not known; did you mean '--batch'?");
    REFUSES(OPTIONS("-output=x"), "option '-output' is not known; did you mean '--output'?");
}

Test(option, escapes_control_bytes_in_messages)
{
    REFUSES(OPTIONS("-b", "\033[31m"),
            "option '--batch' takes N from 1 to 65536, in digits only; found '\\x1b[31m'");
}

Test(option, reports_all_faults_in_the_order_of_the_command_line)
{
    REFUSES(PARSE("m", "--batch=0", "--attention=fast"),
            "option '--batch' takes N from 1 to 65536; found '0'\n"
            "option '--attention' takes fused or unfused; found 'fast'\n"
            "'predict' takes MODEL HARDWARE; 1 given");
    cr_expect(eq(int, got.error.faults, 3));
}

Test(option, works_without_an_error_struct)
{
    char *argv[] = {(char[]){"predict"}, (char[]){"--zzz"}};
    option_result result = {0};
    sample_arguments arguments = {0};
    cr_expect(eq(int, (int)option_parse(&sample_commands[0], 2, argv, &arguments, &result, NULL),
                 (int)LLMPERF_E_USAGE));
}

/* ---- Positionals and help ---- */

Test(option, refuses_too_few_and_too_many_positionals)
{
    REFUSES(PARSE("m"), "'predict' takes MODEL HARDWARE; 1 given");
    REFUSES(PARSE("--explain"), "'predict' takes MODEL HARDWARE; none given");
    REFUSES(PARSE("m", "h", "third"),
            "'predict' takes MODEL HARDWARE; 3 given, 'third' is one too many");
    REFUSES(parse_as(&sample_commands[2], (const char *const[]){"cpu", NULL}),
            "'devices' takes no arguments; 1 given, 'cpu' is one too many");
}

Test(option, parses_a_command_without_options_or_positionals)
{
    ACCEPTS(parse_as(&sample_commands[2], (const char *const[]){NULL}));
    cr_expect(eq(int, got.result.positional_count, 0));
}

Test(option, never_stores_more_positionals_than_there_is_room_for)
{
    option_command many = sample_commands[0];
    many.max_positionals = 100000;
    const char *words[OPTION_MAX_POSITIONALS + 2] = {NULL};
    for (int i = 0; i < OPTION_MAX_POSITIONALS; i++)
        words[i] = "x";
    ACCEPTS(parse_as(&many, words));
    cr_expect(eq(int, got.result.positional_count, OPTION_MAX_POSITIONALS));
    words[OPTION_MAX_POSITIONALS] = "last";
    REFUSES(parse_as(&many, words),
            "'predict' takes MODEL HARDWARE; 4097 given, 'last' is one too many");
}

Test(option, checks_nothing_else_when_help_is_asked)
{
    ACCEPTS(PARSE("--batch", "--help"));
    cr_expect(got.result.help);
    ACCEPTS(PARSE("--zzz", "-b", "0", "-h"));
    cr_expect(got.result.help);
    ACCEPTS(PARSE("-xh"));
    cr_expect(got.result.help);
    ACCEPTS(PARSE("--help=all"));
    cr_expect(got.result.help);
    ACCEPTS(PARSE("--", "--help", "-h"));
    cr_expect(not(got.result.help));
}

/* ---- Integers ---- */

Test(option, takes_the_ends_of_an_integer_range)
{
    ACCEPTS(OPTIONS("-b", "1"));
    cr_expect(eq(i64, got.arguments.batch, 1));
    ACCEPTS(OPTIONS("-b", "65536"));
    cr_expect(eq(i64, got.arguments.batch, 65536));
    ACCEPTS(OPTIONS("-b", "007"));
    cr_expect(eq(i64, got.arguments.batch, 7));
}

Test(option, refuses_a_zero_batch_and_names_the_range)
{
    REFUSES(OPTIONS("--batch", "0"), "option '--batch' takes N from 1 to 65536; found '0'");
    REFUSES(OPTIONS("--batch", "65537"), "option '--batch' takes N from 1 to 65536; found '65537'");
    REFUSES(OPTIONS("--batch", "99999999999999999999"),
            "option '--batch' takes N from 1 to 65536; found '99999999999999999999'");
    REFUSES(OPTIONS("--least", "0"), "option '--least' takes N of at least 1; found '0'");
}

Test(option, refuses_integers_that_are_not_plain_digits)
{
    REFUSES(OPTIONS("-b", "8k"),
            "option '--batch' takes N from 1 to 65536, in digits only; found '8k'");
    REFUSES(OPTIONS("-b", "0x10"),
            "option '--batch' takes N from 1 to 65536, in digits only; found '0x10'");
    REFUSES(OPTIONS("-b", "1e3"),
            "option '--batch' takes N from 1 to 65536, in digits only; found '1e3'");
    REFUSES(OPTIONS("-b", "8.0"),
            "option '--batch' takes N from 1 to 65536, in digits only; found '8.0'");
    REFUSES(OPTIONS("-b", "+8"),
            "option '--batch' takes N from 1 to 65536, in digits only; found '+8'");
    REFUSES(OPTIONS("-b", " 8"),
            "option '--batch' takes N from 1 to 65536, in digits only; found ' 8'");
    REFUSES(OPTIONS("--seed", "x"), "option '--seed' takes N in digits only; found 'x'");
}

Test(option, takes_every_64_bit_integer_where_no_range_is_set)
{
    ACCEPTS(OPTIONS("--seed", "9223372036854775807"));
    cr_expect(eq(i64, got.arguments.seed, INT64_MAX));
    ACCEPTS(OPTIONS("--seed", "-9223372036854775808"));
    cr_expect(eq(i64, got.arguments.seed, INT64_MIN));
    REFUSES(OPTIONS("--seed", "9223372036854775808"),
            "option '--seed' takes N from -9223372036854775808 to 9223372036854775807; found "
            "'9223372036854775808'");
    REFUSES(OPTIONS("--seed", "-9223372036854775809"),
            "option '--seed' takes N from -9223372036854775808 to 9223372036854775807; found "
            "'-9223372036854775809'");
    REFUSES(OPTIONS("--least", "9223372036854775808"),
            "option '--least' takes N from 1 to 9223372036854775807; found '9223372036854775808'");
}

/* ---- Plain numbers ---- */

Test(option, takes_decimal_numbers_within_their_range)
{
    ACCEPTS(OPTIONS("--acceptance", "0.75", "--free", "-1e-3"));
    cr_expect(eq(dbl, got.arguments.acceptance, 0.75));
    cr_expect(eq(dbl, got.arguments.free, -0.001));
    ACCEPTS(OPTIONS("--acceptance", "0"));
    ACCEPTS(OPTIONS("--acceptance", "1"));
    REFUSES(OPTIONS("--acceptance", "1.5"),
            "option '--acceptance' takes a number from 0 to 1; found '1.5'");
    REFUSES(OPTIONS("--rate", "0.2"),
            "option '--rate' takes a number of at least 0.25; found '0.2'");
}

Test(option, refuses_nan_infinity_hex_and_overflow)
{
    REFUSES(OPTIONS("--free=nan"), "option '--free' takes a number in decimal digits; found 'nan'");
    REFUSES(OPTIONS("--free=inf"), "option '--free' takes a number in decimal digits; found 'inf'");
    REFUSES(OPTIONS("--free=-infinity"),
            "option '--free' takes a number in decimal digits; found '-infinity'");
    REFUSES(OPTIONS("--free=0x1p3"),
            "option '--free' takes a number in decimal digits; found '0x1p3'");
    REFUSES(OPTIONS("--free=1e999"),
            "option '--free' takes a number in decimal digits; found '1e999'");
    REFUSES(OPTIONS("--free=1,5"), "option '--free' takes a number in decimal digits; found '1,5'");
    REFUSES(OPTIONS("--acceptance=nan"),
            "option '--acceptance' takes a number from 0 to 1, in decimal digits; found 'nan'");
}

/* ---- Times, bytes, prices ---- */

Test(option, reads_times_exactly)
{
    ACCEPTS(OPTIONS("--tpot", "30ms"));
    cr_expect(eq(dbl, got.arguments.tpot_s, 0.03));
    ACCEPTS(OPTIONS("--tpot", "200us"));
    cr_expect(eq(dbl, got.arguments.tpot_s, 0.0002));
    ACCEPTS(OPTIONS("--tpot", "1500ns"));
    cr_expect(eq(dbl, got.arguments.tpot_s, 1.5e-6));
    ACCEPTS(OPTIONS("--tpot", "2e-2 s"));
    cr_expect(eq(dbl, got.arguments.tpot_s, 0.02));
}

Test(option, refuses_a_time_without_a_legal_unit)
{
    REFUSES(OPTIONS("--tpot", "30"),
            "option '--tpot' takes a time with its unit, for example 30ms; found '30'");
    REFUSES(OPTIONS("--tpot", "fast"),
            "option '--tpot' takes a time with its unit, for example 30ms; found 'fast'");
    REFUSES(OPTIONS("--tpot", "ms"),
            "option '--tpot' takes a time with its unit, for example 30ms; found 'ms'");
    REFUSES(OPTIONS("--tpot", "0"),
            "option '--tpot' takes a time with its unit, for example 30ms; found '0'");
    REFUSES(OPTIONS("--tpot", "30MS"),
            "option '--tpot' takes a time in ns, us, ms or s, for example 30ms; found '30MS'");
    REFUSES(OPTIONS("--tpot", "0x10ms"),
            "option '--tpot' takes a time in ns, us, ms or s, for example 30ms; found '0x10ms'");
    REFUSES(OPTIONS("--tpot", "nan ms"),
            "option '--tpot' takes a time with its unit, for example 30ms; found 'nan ms'");
}

Test(option, refuses_a_time_out_of_its_range_in_units_that_can_be_typed)
{
    REFUSES(OPTIONS("--tpot", "31ms"),
            "option '--tpot' takes a time from 1us to 30ms; found '31ms'");
    REFUSES(OPTIONS("--tpot", "-1ms"),
            "option '--tpot' takes a time from 1us to 30ms; found '-1ms'");
}

Test(option, tells_decimal_from_binary_bytes)
{
    ACCEPTS(OPTIONS("--memory", "80GB"));
    cr_expect(eq(dbl, got.arguments.memory_bytes, 80e9));
    ACCEPTS(OPTIONS("--memory", "80 GiB"));
    cr_expect(eq(dbl, got.arguments.memory_bytes, 85899345920.0));
    ACCEPTS(OPTIONS("--reserve", "1.5kB"));
    cr_expect(eq(dbl, got.arguments.reserve_bytes, 1500));
    ACCEPTS(OPTIONS("--reserve", "1.5KiB"));
    cr_expect(eq(dbl, got.arguments.reserve_bytes, 1536));
    ACCEPTS(OPTIONS("--reserve", "7B"));
    cr_expect(eq(dbl, got.arguments.reserve_bytes, 7));
    ACCEPTS(OPTIONS("--reserve", "2MB"));
    cr_expect(eq(dbl, got.arguments.reserve_bytes, 2e6));
    ACCEPTS(OPTIONS("--reserve", "2MiB"));
    cr_expect(eq(dbl, got.arguments.reserve_bytes, 2097152));
    ACCEPTS(OPTIONS("--reserve", "2TB"));
    cr_expect(eq(dbl, got.arguments.reserve_bytes, 2e12));
    ACCEPTS(OPTIONS("--reserve", "2TiB"));
    cr_expect(eq(dbl, got.arguments.reserve_bytes, 2199023255552.0));
    ACCEPTS(OPTIONS("--reserve", "0"));
    cr_expect(eq(dbl, got.arguments.reserve_bytes, 0));
}

Test(option, refuses_bits_and_other_units_for_bytes)
{
    REFUSES(OPTIONS("--reserve", "8Gb"),
            "option '--reserve' takes bytes, and 'Gb' counts bits; write B, kB, MB, GB, TB, KiB, "
            "MiB, GiB or TiB; found '8Gb'");
    REFUSES(OPTIONS("--reserve", "8 Gbit"),
            "option '--reserve' takes bytes, and 'Gbit' counts bits; write B, kB, MB, GB, TB, KiB, "
            "MiB, GiB or TiB; found '8 Gbit'");
    REFUSES(OPTIONS("--reserve", "8G"), "option '--reserve' takes bytes in B, kB, MB, GB, TB, KiB, "
                                        "MiB, GiB or TiB; found '8G'");
    REFUSES(OPTIONS("--reserve", "8KB"), "option '--reserve' takes bytes in B, kB, MB, GB, TB, "
                                         "KiB, MiB, GiB or TiB; found '8KB'");
    REFUSES(OPTIONS("--reserve", "8"),
            "option '--reserve' takes bytes with their unit, for example 16GiB; found '8'");
    REFUSES(OPTIONS("--memory", "1kB"),
            "option '--memory' takes bytes from 1MiB to 1TB; found '1kB'");
}

Test(option, refuses_negative_quantities_where_no_range_is_set)
{
    REFUSES(OPTIONS("--reserve", "-1GB"),
            "option '--reserve' takes bytes of at least 0B; found '-1GB'");
    REFUSES(OPTIONS("--price", "-1/h"),
            "option '--price' takes a price of at least 0/h; found '-1/h'");
}

Test(option, reads_prices_per_hour)
{
    ACCEPTS(OPTIONS("--price", "2.5/h"));
    cr_expect(eq(dbl, got.arguments.price, 2.5));
    ACCEPTS(OPTIONS("--price", "3 USD/h"));
    cr_expect(eq(dbl, got.arguments.price, 3));
    ACCEPTS(OPTIONS("--price", "0.25USD/h"));
    cr_expect(eq(dbl, got.arguments.price, 0.25));
    REFUSES(OPTIONS("--price", "2.5"),
            "option '--price' takes a price in USD per hour, for example 2.5/h; found '2.5'");
    REFUSES(OPTIONS("--price", "2.5 EUR/h"),
            "option '--price' takes a price in USD per hour, for example 2.5/h; found '2.5 EUR/h'");
}

/* ---- Words ---- */

Test(option, reads_choices_and_lists_them_when_none_fits)
{
    ACCEPTS(OPTIONS("--attention", "unfused"));
    cr_expect(eq(int, (int)got.arguments.attention, (int)UNFUSED));
    REFUSES(OPTIONS("--attention", "unfussed"),
            "option '--attention' takes fused or unfused; found 'unfussed'; did you mean "
            "'unfused'?");
    REFUSES(OPTIONS("--attention", "FUSED"),
            "option '--attention' takes fused or unfused; found 'FUSED'; did you mean 'fused'?");
    REFUSES(OPTIONS("--attention", "slow"),
            "option '--attention' takes fused or unfused; found 'slow'");
}

Test(option, reads_yes_and_no)
{
    ACCEPTS(OPTIONS("-q"));
    cr_expect(eq(int, got.arguments.gated, -1));
    ACCEPTS(OPTIONS("--gated", "yes"));
    cr_expect(eq(int, got.arguments.gated, 1));
    ACCEPTS(OPTIONS("--gated", "on"));
    cr_expect(eq(int, got.arguments.gated, 1));
    ACCEPTS(OPTIONS("--gated", "true"));
    cr_expect(eq(int, got.arguments.gated, 1));
    ACCEPTS(OPTIONS("--gated", "no"));
    cr_expect(eq(int, got.arguments.gated, 0));
    ACCEPTS(OPTIONS("--gated", "off"));
    cr_expect(eq(int, got.arguments.gated, 0));
    ACCEPTS(OPTIONS("--gated", "false"));
    cr_expect(eq(int, got.arguments.gated, 0));
    REFUSES(OPTIONS("--gated", "1"), "option '--gated' takes yes or no; found '1'");
}

Test(option, checks_the_words_of_a_list)
{
    ACCEPTS(OPTIONS("--formats", "json, csv", "--hw", "h100-sxm,a100"));
    cr_expect(eq(str, (char *)(uintptr_t)got.arguments.formats, "json, csv"));
    cr_expect(eq(str, (char *)(uintptr_t)got.arguments.hw, "h100-sxm,a100"));
    REFUSES(OPTIONS("--formats", "json,cvs"), "option '--formats' takes text, json, csv or md; "
                                              "found 'cvs'; did you mean 'csv'?");
    REFUSES(OPTIONS("--hw", "a,,b"),
            "option '--hw' takes words with commas between them; 'a,,b' has an empty word");
    REFUSES(OPTIONS("--hw", "a,"),
            "option '--hw' takes words with commas between them; 'a,' has an empty word");
}

Test(option, walks_the_words_of_a_list)
{
    const char *cursor = " a , bc,d", *word = NULL;
    size_t length = 0;
    cr_assert(option_words_next(&cursor, &word, &length));
    cr_expect(eq(sz, length, 1));
    cr_expect(eq(chr, word[0], 'a'));
    cr_assert(option_words_next(&cursor, &word, &length));
    cr_expect(eq(sz, length, 2));
    cr_expect(eq(chr, word[0], 'b'));
    cr_assert(option_words_next(&cursor, &word, &length));
    cr_expect(eq(sz, length, 1));
    cr_expect(eq(chr, word[0], 'd'));
    cr_expect(not(option_words_next(&cursor, &word, &length)));
}

/* ---- Options from a file ---- */

Test(option, sets_options_by_name_with_messages_without_dashes)
{
    sample_arguments arguments = {0};
    llmperf_error error = {0};
    cr_expect(eq(int, (int)option_set(sample_options, "batch", "4", &arguments, &error), 0));
    cr_expect(eq(i64, arguments.batch, 4));
    cr_expect(eq(int, (int)option_set(sample_options, "explain", "yes", &arguments, &error), 0));
    cr_expect(arguments.explain);
    cr_expect(eq(int, (int)option_set(sample_options, "explain", "false", &arguments, &error), 0));
    cr_expect(not(arguments.explain));
    cr_expect(eq(int, (int)error.faults, 0));

    cr_expect(eq(int, (int)option_set(sample_options, "batch", "0", &arguments, &error), 2));
    cr_expect(eq(int, (int)option_set(sample_options, "bacth", "1", &arguments, &error), 2));
    cr_expect(eq(int, (int)option_set(sample_options, "hlp", "1", &arguments, &error), 2));
    cr_expect(eq(int, (int)option_set(sample_options, "explain", "maybe", &arguments, &error), 2));
    cr_expect(eq(int, (int)option_set(sample_options, "output", NULL, &arguments, &error), 2));
    cr_expect(eq(str, error.text,
                 "option 'batch' takes N from 1 to 65536; found '0'\n"
                 "option 'bacth' is not known; did you mean 'batch'?\n"
                 "option 'hlp' is not known\n"
                 "option 'explain' takes yes or no; found 'maybe'\n"
                 "option 'output' takes FILE; found an empty value"));
    cr_expect(eq(i64, arguments.batch, 4));
}

Test(option, finds_rows_by_name)
{
    cr_expect(eq(ptr, (void *)(uintptr_t)option_find(sample_options, "batch"),
                 (void *)(uintptr_t)&sample_options[0]));
    cr_expect(eq(ptr, (void *)(uintptr_t)option_find(sample_options, "batc"), NULL));
    cr_expect(eq(ptr, (void *)(uintptr_t)option_find(NULL, "batch"), NULL));
}

/* ---- Ranges ---- */

/* Text of the points, "1 2 4", at most `size`. */
static const char *points_of(const option_range *range, char *buffer, size_t size)
{
    option_range_cursor cursor = {0};
    int64_t value = 0;
    buffer[0] = '\0';
    while (option_range_next(range, &cursor, &value)) {
        size_t used = strlen(buffer);
        snprintf(buffer + used, size - used, "%s%" PRId64, used ? " " : "", value);
    }
    return buffer;
}

static option_range parsed;

#define RANGE_IS(input, min, max, count, points)                                                   \
    do {                                                                                           \
        llmperf_error fault = {0};                                                                 \
        char buffer[512];                                                                          \
        cr_assert(eq(int, (int)option_parse_range(input, min, max, &parsed, &fault), 0), "%s",     \
                  fault.text);                                                                     \
        cr_expect(eq(i64, parsed.point_count, count));                                             \
        cr_expect(eq(str, (char *)(uintptr_t)points_of(&parsed, buffer, sizeof buffer), points));  \
    } while (0)

#define RANGE_FAILS(input, min, max, message)                                                      \
    do {                                                                                           \
        llmperf_error fault = {0};                                                                 \
        parsed.point_count = -7;                                                                   \
        cr_expect(eq(int, (int)option_parse_range(input, min, max, &parsed, &fault),               \
                     (int)LLMPERF_E_USAGE));                                                       \
        cr_expect(eq(str, fault.text, message));                                                   \
        cr_expect(eq(i64, parsed.point_count, -7), "the range must be untouched");                 \
    } while (0)

#define FORMS "write N, A..B, A..B*FACTOR or A..B+STEP with digits only"

Test(option, reads_every_form_of_a_range)
{
    RANGE_IS("8", 1, 100, 1, "8");
    RANGE_IS("1..4", 1, 100, 4, "1 2 3 4");
    RANGE_IS("3..3", 1, 100, 1, "3");
    RANGE_IS("1..16*2", 1, 100, 5, "1 2 4 8 16");
    RANGE_IS("1..16x2", 1, 100, 5, "1 2 4 8 16");
    RANGE_IS("8..32+8", 1, 100, 4, "8 16 24 32");
    RANGE_IS("1,2,4", 1, 100, 3, "1 2 4");
    RANGE_IS(" 1..3 , 8..32*4,50 ", 1, 100, 6, "1 2 3 8 32 50");
}

Test(option, stops_a_range_at_the_last_point_that_is_not_above_its_end)
{
    RANGE_IS("1..100*3", 1, 100, 5, "1 3 9 27 81");
    RANGE_IS("1..10+4", 1, 100, 3, "1 5 9");
    RANGE_IS("5..6*2", 1, 100, 1, "5");
    RANGE_IS("5..6+1000", 1, 100, 1, "5");
}

Test(option, keeps_the_order_and_repeated_points_of_a_range)
{
    RANGE_IS("4,1..2,4", 1, 100, 4, "4 1 2 4");
}

Test(option, reads_ranges_at_the_ends_of_64_bits)
{
    RANGE_IS("9223372036854775806..9223372036854775807", 0, 0, 2,
             "9223372036854775806 9223372036854775807");
    RANGE_IS("-9223372036854775808..-9223372036854775807", 0, 0, 2,
             "-9223372036854775808 -9223372036854775807");
    RANGE_IS("4611686018427387904..9223372036854775807*2", 0, 0, 1, "4611686018427387904");
    /* the distance of the ends is 2^64 - 1, twice the step plus 1 */
    RANGE_IS("-9223372036854775808..9223372036854775807+9223372036854775807", 0, 0, 3,
             "-9223372036854775808 -1 9223372036854775806");
    RANGE_IS("-2..2", -5, 5, 5, "-2 -1 0 1 2");
    RANGE_IS("0..2", 0, 5, 3, "0 1 2");
}

Test(option, counts_ten_million_points_without_expanding_them)
{
    llmperf_error error = {0};
    cr_assert(eq(int, (int)option_parse_range("1..10000000", 1, INT64_MAX, &parsed, &error), 0));
    cr_expect(eq(int, parsed.part_count, 1));
    cr_expect(eq(i64, parsed.point_count, 10000000));
    cr_assert(eq(int, (int)option_parse_range("1..9999999,5", 1, INT64_MAX, &parsed, &error), 0));
    cr_expect(eq(i64, parsed.point_count, 10000000));
    RANGE_FAILS("1..10000001", 1, INT64_MAX, "range '1..10000001' has more than 10000000 points");
    RANGE_FAILS("1..10000000,5", 1, INT64_MAX,
                "range '1..10000000,5' has more than 10000000 points");
    RANGE_FAILS("-9223372036854775808..9223372036854775807", 0, 0,
                "range '-9223372036854775808..9223372036854775807' has more than 10000000 points");
}

Test(option, refuses_ranges_that_never_end_or_never_begin)
{
    RANGE_FAILS("1..8+0", 1, 100, "range '1..8+0' has a step of 0; a step is 1 or more");
    RANGE_FAILS("1..8+-1", 1, 100, "range '1..8+-1' has a step of -1; a step is 1 or more");
    RANGE_FAILS("1..8*1", 1, 100, "range '1..8*1' has a factor of 1; a factor is 2 or more");
    RANGE_FAILS("1..8x0", 1, 100, "range '1..8x0' has a factor of 0; a factor is 2 or more");
    RANGE_FAILS("0..8*2", 0, 100, "range '0..8*2' multiplies from 0; start at 1 or more");
    RANGE_FAILS("-4..8*2", -9, 9, "range '-4..8*2' multiplies from -4; start at 1 or more");
    RANGE_FAILS("8..1", 1, 100, "range '8..1' runs backwards; write 1..8");
    RANGE_FAILS("2,8..1*2", 1, 100, "range '8..1*2' runs backwards; write 1..8");
}

Test(option, refuses_ranges_with_an_empty_item)
{
    RANGE_FAILS("", 1, 100, "range '' is empty; " FORMS);
    RANGE_FAILS("  ", 1, 100, "range '  ' is empty; " FORMS);
    RANGE_FAILS("1,,2", 1, 100, "range '1,,2' has an empty item; " FORMS);
    RANGE_FAILS("1,", 1, 100, "range '1,' has an empty item; " FORMS);
    RANGE_FAILS(",1", 1, 100, "range ',1' has an empty item; " FORMS);
}

Test(option, refuses_ranges_that_are_not_understood)
{
    RANGE_FAILS("8k", 1, 100, "range '8k' is not understood; " FORMS);
    RANGE_FAILS("1-8", 1, 100, "range '1-8' is not understood; " FORMS);
    RANGE_FAILS("1:8", 1, 100, "range '1:8' is not understood; " FORMS);
    RANGE_FAILS("1...8", 1, 100, "range '1...8' is not understood; " FORMS);
    RANGE_FAILS("1..", 1, 100, "range '1..' is not understood; " FORMS);
    RANGE_FAILS("..8", 1, 100, "range '..8' is not understood; " FORMS);
    RANGE_FAILS("1..,8", 1, 100, "range '1..' is not understood; " FORMS);
    RANGE_FAILS("1..8*", 1, 100, "range '1..8*' is not understood; " FORMS);
    RANGE_FAILS("1..8*2*2", 1, 100, "range '1..8*2*2' is not understood; " FORMS);
    RANGE_FAILS("1..8/2", 1, 100, "range '1..8/2' is not understood; " FORMS);
    RANGE_FAILS("1 ..8", 1, 100, "range '1 ..8' is not understood; " FORMS);
    RANGE_FAILS("1.5", 1, 100, "range '1.5' is not understood; " FORMS);
    RANGE_FAILS("0x10", 0, 100, "range '0x10' is not understood; " FORMS);
}

Test(option, refuses_ranges_outside_the_legal_numbers)
{
    RANGE_FAILS("0", 1, 64, "range '0' is outside the legal 1 to 64");
    RANGE_FAILS("0..8", 1, 64, "range '0..8' reaches 0, outside the legal 1 to 64");
    RANGE_FAILS("1..65", 1, 64, "range '1..65' reaches 65, outside the legal 1 to 64");
    RANGE_FAILS("1,2,99", 1, 64, "range '99' is outside the legal 1 to 64");
    RANGE_FAILS("9223372036854775808", 1, 64,
                "range '9223372036854775808' has a number that does not fit into 64 bits");
    RANGE_FAILS("1..99999999999999999999", 1, 64,
                "range '1..99999999999999999999' has a number that does not fit into 64 bits");
}

Test(option, refuses_a_range_of_too_many_items_and_cuts_its_text)
{
    char text[2 * (OPTION_RANGE_MAX_PARTS + 1)] = "";
    for (int i = 0; i < OPTION_RANGE_MAX_PARTS; i++)
        memcpy(text + 2 * i, "1,", 2);
    text[2 * OPTION_RANGE_MAX_PARTS - 1] = '\0';
    llmperf_error error = {0};
    cr_expect(eq(int, (int)option_parse_range(text, 1, 9, &parsed, &error), 0));
    cr_expect(eq(int, parsed.part_count, OPTION_RANGE_MAX_PARTS));

    memcpy(text + 2 * OPTION_RANGE_MAX_PARTS - 1, ",1", 3);
    char message[256];
    snprintf(message, sizeof message, "range '%.80s...' has more than 256 items", text);
    RANGE_FAILS(text, 1, 9, message);
}

Test(option, checks_a_range_option_when_it_is_given)
{
    ACCEPTS(OPTIONS("--sweep", "1..512*2"));
    cr_expect(eq(str, (char *)(uintptr_t)got.arguments.sweep, "1..512*2"));
    REFUSES(OPTIONS("--sweep", "0..8"),
            "option '--sweep': range '0..8' reaches 0, outside the legal 1 to 65536");
    REFUSES(OPTIONS("--sweep", "1..8+0"),
            "option '--sweep': range '1..8+0' has a step of 0; a step is 1 or more");
}

/* Property: the iterator returns as many points as were counted, all between the ends. */
Test(option, iterates_over_as_many_points_as_it_counted)
{
    unsigned seed = 20240607;
    for (int round = 0; round < 2000; round++) {
        seed = seed * 1103515245u + 12345u;
        int first = (int)(seed >> 8 & 0xff) + 1, last = first + (int)(seed >> 16 & 0x3ff);
        int by = (int)(seed >> 4 & 7) + 2;
        char text[64];
        snprintf(text, sizeof text, "%d..%d%c%d", first, last, round % 2 ? '*' : '+', by);
        llmperf_error error = {0};
        cr_assert(eq(int, (int)option_parse_range(text, 1, 5000, &parsed, &error), 0), "%s", text);
        option_range_cursor cursor = {0};
        int64_t value = 0, count = 0, expected = first;
        while (option_range_next(&parsed, &cursor, &value)) {
            cr_assert(eq(i64, value, expected), "%s", text);
            expected = round % 2 ? expected * by : expected + by;
            count++;
        }
        cr_assert(eq(i64, count, parsed.point_count), "%s", text);
        cr_assert(gt(i64, expected, last), "%s", text);
    }
}

/* ---- Help ---- */

/* Text that `print` writes, in static storage that the next call overwrites. */
static char written[200000];

static void capture_help(const option_command *command)
{
    memset(written, 0, sizeof written);
    FILE *out = fmemopen(written, sizeof written - 1, "w");
    cr_assert(out != NULL);
    option_print_help(out, command);
    fclose(out);
}

/* Widest line in characters. */
static int widest_line(const char *text)
{
    int widest = 0, width = 0;
    for (; *text; text++) {
        width = *text == '\n' ? 0 : width + (((unsigned char)*text & 0xc0) != 0x80);
        if (width > widest)
            widest = width;
    }
    return widest;
}

#define HAS(text) cr_expect(strstr(written, text) != NULL, "missing: %s\n%s", text, written)

Test(option, prints_help_that_shows_everything)
{
    capture_help(&sample_commands[0]);
    cr_expect(le(int, widest_line(written), 80));
    cr_expect(eq(int,
                 strncmp(written,
                         "Usage: llmperf predict [options] MODEL HARDWARE\n\n"
                         "Predicts what a deployment",
                         strlen("Usage: llmperf predict [options] MODEL HARDWARE\n\n"
                                "Predicts what a deployment")),
                 0));
    HAS("\n\nWorkload:\n  -b, --batch N       ");
    HAS("sequences decoded together (1 to 65536) [default: 1]\n");
    HAS("      --seed N     ");
    HAS("(at least 1)");
    HAS("(at least 0.25)");
    HAS("(0 to 1)");
    HAS("\n\nTargets:\n      --tpot TIME  ");
    HAS("(1us to 30ms)");
    HAS("(1MiB to 1TB)");
    HAS("[default: 1 GiB]");
    HAS("(fused, unfused) [default: fused]");
    HAS("--gated yes|no");
    HAS("--sweep RANGE");
    HAS("--hw HW[,HW...]");
    HAS("  -o, --output FILE");
    HAS("\n\nOther:\n  -h, --help ");
    HAS("\n\nExamples:\n"
        "  llmperf predict llama-3.1-70b h100-sxm --tp 4 -b 32  # a server\n"
        "  llmperf predict qwen2.5-7b rtx-4090\n");
    cr_expect(strstr(written, " \n") == NULL, "no line ends with a blank");
}

/* The texts of all options begin in the same column. */
Test(option, aligns_the_columns_of_help)
{
    capture_help(&sample_commands[0]);
    const char *const texts[] = {
        "sequences decoded", "start of the random", "any number", "target time", "the MLP has",
        "no notes",          "show this help",      NULL};
    long column = -1;
    for (size_t i = 0; texts[i]; i++) {
        const char *at = strstr(written, texts[i]);
        cr_assert(at != NULL, "missing: %s", texts[i]);
        const char *line = at;
        while (line > written && line[-1] != '\n')
            line--;
        if (column < 0)
            column = at - line;
        cr_expect(eq(long, at - line, column), "%s", texts[i]);
    }
}

Test(option, keeps_help_within_80_columns_for_long_texts)
{
    char word[200], name[60];
    memset(word, 'w', sizeof word);
    word[sizeof word - 1] = '\0';
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    char help[700] = "";
    for (int i = 0; i < 40; i++)
        strcat(help, i % 3 ? "tokens\xc3\xa9 " : "a ");
    strcat(help, word);
    const char *const choices[] = {"nvfp4", "mxfp4", "int4", "int8", "fp8",  "bf16",
                                   "fp16",  "tf32",  "fp32", "q8_0", "q4_0", NULL};
    const option rows[] = {
        {.name = name,
         .letter = 'n',
         .kind = OPTION_TEXT,
         .help = help,
         .metavar = word,
         .given_offset = OPTION_NOWHERE,
         .default_text = help},
        {.name = "short",
         .kind = OPTION_CHOICE,
         .help = help,
         .choices = choices,
         .given_offset = OPTION_NOWHERE,
         .group = "Group"},
        OPTION_END,
    };
    char examples[1500];
    snprintf(examples, sizeof examples,
             "llmperf x --%s '--with a quoted blank' %s %s  # %s\nllmperf x  # short\n", name, name,
             name, help);
    const option_command command = {.name = "x",
                                    .synopsis = "A-LONG-WORD ANOTHER-LONG-WORD [A-THIRD-LONG-WORD] "
                                                "[A-FOURTH-LONG-WORD...]",
                                    .summary = "s",
                                    .about = help,
                                    .examples = examples,
                                    .options = rows,
                                    .max_positionals = 9};
    capture_help(&command);
    cr_expect(le(int, widest_line(written), 80), "%s", written);
    HAS(" \\\n      '--with a quoted blank'");
    HAS("\n  # short\n  llmperf x\n");
}

Test(option, prints_rows_of_one_group_together)
{
    const option rows[] = {
        {.name = "one", .kind = OPTION_FLAG, .help = "1", .group = "A"},
        {.name = "two", .kind = OPTION_FLAG, .help = "2"},
        {.name = "three", .kind = OPTION_FLAG, .help = "3", .group = "A"},
        OPTION_END,
    };
    capture_help(&(option_command){.name = "x", .options = rows});
    cr_expect(eq(str, written,
                 "Usage: llmperf x [options]\n"
                 "\n"
                 "A:\n"
                 "      --one    1\n"
                 "      --three  3\n"
                 "\n"
                 "Options:\n"
                 "      --two    2\n"
                 "  -h, --help   show this help\n"));
}

Test(option, prints_an_overview_of_the_commands)
{
    memset(written, 0, sizeof written);
    FILE *out = fmemopen(written, sizeof written - 1, "w");
    cr_assert(out != NULL);
    option_print_overview(out, sample_commands);
    fclose(out);
    HAS("\n  predict  predict memory, latency and throughput\n"
        "  specs    what is shipped\n"
        "  devices  what can be measured\n");
    cr_expect(le(int, widest_line(written), 80));
}

/* ---- Man pages and completion ---- */

static void capture_man(const option_command *one)
{
    memset(written, 0, sizeof written);
    FILE *out = fmemopen(written, sizeof written - 1, "w");
    cr_assert(out != NULL);
    option_print_man(out, sample_commands, one, "1.2.3");
    fclose(out);
}

Test(option, writes_a_man_page_with_every_option)
{
    capture_man(&sample_commands[0]);
    HAS(".TH LLMPERF\\-PREDICT 1 \"\" \"llmperf 1.2.3\"");
    for (const option *row = sample_options; row->name; row++) {
        char wanted[128];
        snprintf(wanted, sizeof wanted, "\\fB\\-\\-%s\\fR", row->name);
        HAS(wanted);
    }
    HAS(".TP\n\\fB\\-b\\fR, \\fB\\-\\-batch\\fR \\fIN\\fR\n"
        "sequences decoded together (1 to 65536) [default: 1]\n");
    HAS(".SS Targets\n");
    const char *const sections[] = {"NAME\nllmperf\\-predict \\- predict memory",
                                    "SYNOPSIS\n\\fBllmperf predict\\fR [\\fIoptions\\fR] MODEL",
                                    "DESCRIPTION\nPredicts what",
                                    "OPTIONS\n",
                                    "EXIT STATUS\n.TP\n\\fB0\\fR\nsuccess\n",
                                    "EXAMPLES\n",
                                    "SEE ALSO\n\\fBllmperf\\fR(1),\n\\fBllmperf\\-specs\\fR(1)",
                                    NULL};
    const char *at = written;
    for (size_t i = 0; sections[i]; i++) {
        char wanted[128];
        snprintf(wanted, sizeof wanted, "\n.SH %s", sections[i]);
        const char *found = strstr(at, wanted);
        cr_assert(found != NULL, "missing or out of order: %s\n%s", sections[i], written);
        at = found;
    }
}

Test(option, escapes_troff_in_man_pages)
{
    capture_man(&sample_commands[0]);
    HAS(".PP\n\\&.gguf files work, and so do C:\\(rsodd\\(rspaths and \\(aqquoted\\(aq names.\n");
    HAS("\n.EX\nllmperf predict llama\\-3.1\\-70b h100\\-sxm \\-\\-tp 4 \\-b 32\n.EE\n");
    HAS("[default: 1 GiB]");
}

Test(option, writes_an_overview_man_page_with_every_command)
{
    capture_man(NULL);
    HAS(".TH LLMPERF 1 \"\" \"llmperf 1.2.3\"");
    for (const option_command *each = sample_commands; each->name; each++) {
        char wanted[128];
        snprintf(wanted, sizeof wanted, ".TP\n\\fB%s\\fR", each->name);
        HAS(wanted);
    }
    HAS(".SH EXIT STATUS\n");
    HAS(".SH EXAMPLES\n");
    HAS(".SH SEE ALSO\n");
}

/* Runs a script through the shell and keeps what it prints in `written`; false without the shell.
 * The only text in the command line is ours. */
static void run_shell(const char *command)
{
    memset(written, 0, sizeof written);
    FILE *pipe = popen(command, "r");
    cr_assert(pipe != NULL);
    size_t length = fread(written, 1, sizeof written - 1, pipe);
    written[length] = '\0';
    cr_expect(eq(int, pclose(pipe), 0), "%s", written);
}

typedef void print_completion(FILE *out, const option_command *commands);

/* Writes a completion script into a new file under /tmp; its name goes to `path`. */
static void write_script(print_completion *print, char *path)
{
    int file = mkstemp(path);
    cr_assert(ge(int, file, 0));
    FILE *out = fdopen(file, "w");
    cr_assert(out != NULL);
    print(out, sample_commands);
    fclose(out);
}

/*
 * What bash offers for COMP_WORDS=(words), the last one being completed: one a line. Stands in for
 * `llmperf specs list --names` with two models and a name that tries to run a command.
 */
static void complete_bash(const char *words)
{
    char path[] = "/tmp/llmperf-complete-XXXXXX";
    write_script(option_print_bash, path);
    char command[2000];
    snprintf(command, sizeof command,
             "bash -c 'set -u; cd / || exit; "
             "llmperf() { printf \"%%s\\n\" \"$4-one\" \"$4-two\" \"\\$(echo pwned)\"; }; "
             ". %s; COMP_WORDS=(%s); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _llmperf llmperf; "
             "[ ${#COMPREPLY[@]} = 0 ] || printf \"%%s\\n\" \"${COMPREPLY[@]}\"' 2>&1",
             path, words);
    run_shell(command);
    unlink(path);
}

#define OFFERS(words, expected)                                                                    \
    do {                                                                                           \
        complete_bash(words);                                                                      \
        cr_expect(eq(str, written, expected), "COMP_WORDS=(%s)", words);                           \
    } while (0)

Test(option, completes_in_bash)
{
    OFFERS("llmperf pre", "predict\n");
    OFFERS("llmperf \"\"", "predict\nspecs\ndevices\n--help\n--version\n");
    OFFERS("llmperf --v", "--version\n");
    OFFERS("llmperf predict --bat", "--batch\n");
    OFFERS("llmperf predict --attention \"\"", "fused\nunfused\n");
    OFFERS("llmperf predict --attention un", "unfused\n");
    OFFERS("llmperf predict --attention =", "fused\nunfused\n");
    OFFERS("llmperf predict --attention = f", "fused\n");
    OFFERS("llmperf predict --attention=f", "--attention=fused\n");
    OFFERS("llmperf predict --gated \"\"", "yes\nno\n");
    OFFERS("llmperf predict --batch \"\"", "");
    OFFERS("llmperf predict --formats json,c", "json,csv\n");
    OFFERS("llmperf predict --hw a,hardware-t", "a,hardware-two\n");
    OFFERS("llmperf predict models-", "models-one\nmodels-two\n");
    OFFERS("llmperf predict -b 4 --explain m hardware-o", "hardware-one\n");
    OFFERS("llmperf predict --attention = fused m hardware-o", "hardware-one\n");
    OFFERS("llmperf predict m h hardware-o", "");
    OFFERS("llmperf specs s", "show\n");
    OFFERS("llmperf specs -", "--help\n-h\n");
    OFFERS("llmperf devices \"\"", "");
}

Test(option, completes_files_in_bash)
{
    char path[] = "/tmp/llmperf-file-XXXXXX";
    int file = mkstemp(path);
    cr_assert(ge(int, file, 0));
    char words[200], expected[100];
    snprintf(words, sizeof words, "llmperf predict -o %.*s", (int)strlen(path) - 1, path);
    snprintf(expected, sizeof expected, "%s\n", path);
    OFFERS(words, expected);
    snprintf(words, sizeof words, "llmperf predict %.*s", (int)strlen(path) - 1, path);
    OFFERS(words, expected);
    unlink(path);
}

Test(option, writes_zsh_that_zsh_accepts)
{
    char path[] = "/tmp/llmperf-complete-XXXXXX";
    write_script(option_print_zsh, path);
    char command[300];
    snprintf(command, sizeof command, "! command -v zsh >/dev/null || zsh -n %s 2>&1", path);
    run_shell(command);
    cr_expect(eq(str, written, ""));
    snprintf(command, sizeof command, "cat %s", path);
    run_shell(command);
    unlink(path);
    HAS("#compdef llmperf\n");
    HAS("'(-b --batch)'{-b+,--batch=}'[sequences decoded together (1 to 65536) "
        "\\[default\\: 1\\]]:N: ' \\\n");
    HAS("--attention='[the attention kernel (fused, unfused) \\[default\\: fused\\]]:WORD:(fused "
        "unfused)' \\\n");
    HAS("--gated='[the MLP has a gate]:yes|no:(yes no)'");
    HAS("'1:MODEL:_llmperf_models' \\\n            '2:HARDWARE:_llmperf_hardware'\n");
    HAS("'1:what:(list show check)' \\\n            '*:NAME:_files'\n");
    HAS("'(-x --explain)'{-x,--explain}'[show the formulas]'");
}
