/* SPDX-License-Identifier: MIT */
/*
 * One option table parses, checks ranges, prints help, man pages and shell completion.
 *
 * A command declares an array of `option` rows that ends with OPTION_END (a row whose `name` is
 * NULL); each row points by `offset` into the command's own argument struct. Write the rows with
 * OPTION_ROW or OPTION_ROW_GIVEN: they check the type of the field when they are compiled.
 *
 *     static const option predict_options[] = {
 *         OPTION_ROW(predict_arguments, batch, INT64, "batch", 'b', "N",
 *                    "sequences decoded together", .min = 1, .max = 65536, .default_text = "1",
 *                    .group = "Workload"),
 *         OPTION_ROW_GIVEN(predict_arguments, tpot_s, tpot_given, TIME, "tpot", 0, "TIME",
 *                          "target time per output token", .group = "Targets"),
 *         OPTION_END,
 *     };
 */
#ifndef LLMPERF_CLI_OPTION_H
#define LLMPERF_CLI_OPTION_H

#include <stdio.h>

#include "llmperf/base.h"

typedef enum option_kind {
    OPTION_FLAG,   /* bool; no value, though "--name=yes" and "--name=no" are taken */
    OPTION_YESNO,  /* int: -1 unset, 0 no, 1 yes; value yes|no|true|false|on|off */
    OPTION_INT64,  /* int64_t; decimal digits only, so 8k is refused with its reason */
    OPTION_DOUBLE, /* double; plain decimal number, finite */
    OPTION_TIME,   /* double seconds; "30ms", "1.5s", "200us": a unit of ns us ms s is required */
    OPTION_BYTES,  /* double bytes; "1GiB", "512 MB": a unit of B kB MB GB TB KiB MiB GiB TiB is
                      required ("0" alone is fine); bits ("Gb") are refused */
    OPTION_PRICE,  /* double USD per hour; "2.5/h", "2.5 USD/h", "2.5USD/h" */
    OPTION_TEXT,   /* const char *, points to the given text (argv); never empty */
    OPTION_CHOICE, /* int or an enum: index into `choices` */
    OPTION_RANGE,  /* const char *, kept as it is once option_parse_range accepts it */
    OPTION_WORDS,  /* const char *, comma separated words, none empty, kept as it is; each word
                      must be one of `choices` when that is not NULL */
} option_kind;

typedef struct option {
    const char *name; /* long name without dashes */
    char letter;      /* short name, or 0 */
    option_kind kind;
    size_t offset;              /* where the value goes in the argument struct */
    size_t given_offset;        /* where a bool "was given" goes; OPTION_NOWHERE = nowhere */
    const char *metavar;        /* "N", "FILE" ...; NULL = a word that suits the kind */
    const char *help;           /* one line, lower case, no full stop */
    double min, max;            /* inclusive, in SI units; both 0 = any (time, bytes and price then
                                    refuse negatives); one end may be -INFINITY or INFINITY */
    const char *const *choices; /* CHOICE and WORDS: NULL-terminated words */
    const char *const *(*choices_of)(void); /* the same, where another knows them */
    const char *default_text;               /* shown in help as [default: ...]; NULL = none */
    const char *group;                      /* help heading without colon; NULL = "Options" */
} option;

#define OPTION_NOWHERE ((size_t)-1)

/* The field types that a kind may write to, as _Generic associations. */
#define OPTION_FIELD_FLAG bool : 1
#define OPTION_FIELD_YESNO int : 1
#define OPTION_FIELD_INT64                                                                         \
    int64_t:                                                                                       \
    1
#define OPTION_FIELD_DOUBLE double : 1
#define OPTION_FIELD_TIME double : 1
#define OPTION_FIELD_BYTES double : 1
#define OPTION_FIELD_PRICE double : 1
#define OPTION_FIELD_TEXT const char * : 1
#define OPTION_FIELD_CHOICE int : 1, unsigned : 1
#define OPTION_FIELD_RANGE const char * : 1
#define OPTION_FIELD_WORDS const char * : 1

/* offsetof, refused by the compiler (array of negative size) when the field has a wrong type. */
#define OPTION_OFFSET(type, field, types)                                                          \
    (offsetof(type, field) + sizeof(char[_Generic(((type *)0)->field, types, default : -1)]) - 1)

/* A row; the variable part holds at least one designated initialiser, such as .group. */
#define OPTION_ROW(type, field, row_kind, long_name, short_name, value_name, text, ...)            \
    {                                                                                              \
        .name = long_name, .letter = short_name, .kind = OPTION_##row_kind,                        \
        .offset = OPTION_OFFSET(type, field, OPTION_FIELD_##row_kind),                             \
        .given_offset = OPTION_NOWHERE, .metavar = value_name, .help = text, __VA_ARGS__           \
    }

/* The same, and sets the bool `given` of the argument struct when the option is given. */
#define OPTION_ROW_GIVEN(type, field, given, row_kind, long_name, short_name, value_name, text,    \
                         ...)                                                                      \
    {                                                                                              \
        .name = long_name, .letter = short_name, .kind = OPTION_##row_kind,                        \
        .offset = OPTION_OFFSET(type, field, OPTION_FIELD_##row_kind),                             \
        .given_offset = OPTION_OFFSET(type, given, OPTION_FIELD_FLAG), .metavar = value_name,      \
        .help = text, __VA_ARGS__                                                                  \
    }

#define OPTION_END                                                                                 \
    {                                                                                              \
        .name = NULL                                                                               \
    }

typedef struct option_command {
    const char *name;     /* "predict" */
    const char *synopsis; /* "MODEL HARDWARE", "MODEL [HARDWARE]", "FILE...", "list|show [NAME]" */
    const char *summary;  /* one line for `llmperf --help` */
    const char *about;    /* paragraphs (blank line between), wrapped by the printer */
    const char *examples; /* lines "llmperf ...", each optionally followed by "  # what" */
    const option *options;
    int min_positionals, max_positionals;
    int leading; /* positionals that stand before MODEL HARDWARE, for --workload files */
    int (*run)(int argc, char **argv); /* returns the exit code */
} option_command;

#define OPTION_MAX_POSITIONALS 4096

typedef struct option_result {
    int positional_count;
    const char *positional[OPTION_MAX_POSITIONALS];
    bool help; /* --help or -h was given: nothing else was checked */
} option_result;

/*
 * Parses argv[1..] of a command into `arguments`, which the caller has filled with defaults.
 * Options may stand anywhere; "--name value", "--name=value", "-n value", "-nvalue", "-n=value",
 * flags in one word ("-qv"); "--" ends options; "-" alone is a value or a positional. A repeated
 * option: the last one wins. Any other value that begins with '-' needs the "=" form, unless it
 * begins like a number. Unambiguous prefixes of long names are NOT accepted (scripts would break
 * when options are added). Text values point into argv.
 * All faults are reported in one run. On failure *ret_result is untouched and `arguments` holds a
 * mixture of defaults and accepted values.
 * Errors: LLMPERF_E_USAGE with "option '--bacth' is not known; did you mean '--batch'?",
 * "option '--batch' takes N from 1 to 65536; found '0'", a missing value, too few or many
 * positionals ("'predict' takes MODEL HARDWARE; 1 given").
 */
llmperf_status option_parse(const option_command *command, int argc, char **argv, void *arguments,
                            option_result *ret_result, llmperf_error *error);

/*
 * Sets one option from text (for --workload files): `name` without dashes, which messages then
 * leave out too. A flag takes yes or no. Text values keep pointing to `value`.
 */
llmperf_status option_set(const option *options, const char *name, const char *value,
                          void *arguments, llmperf_error *error);

/* Row of that long name, or NULL. */
const option *option_find(const option *options, const char *name);

/* Help of one command, at most 80 columns wide: usage, about, options by group, examples. */
void option_print_help(FILE *out, const option_command *command);

/* Overview: the commands and their summaries. `commands` ends with a NULL name. */
void option_print_overview(FILE *out, const option_command *commands);

/*
 * What help shows on the right of an option: "sequences decoded together (1 to 65536)
 * [default: 1]". Cut to `size`; returns `buffer`.
 */
char *option_describe(const option *row, char *buffer, size_t size);

/* The words that a CHOICE or WORDS takes; NULL = any. */
const char *const *option_choices(const option *row);

/* The word that stands for the value of an option, NULL for a flag. Static storage. */
const char *option_metavar(const option *row);

/* ---- Ranges: "1..8", "1..512*2" or "1..512x2", "8..64+8", "1,2,4" mixed with commas ---- */

#define OPTION_RANGE_MAX_PARTS 256
#define OPTION_RANGE_MAX_POINTS 10000000

/* first, first * factor ... last when factor > 1, else first, first + step ... last. `last` is
 * the last point itself: 1..100*2 has last = 64. */
typedef struct option_range_part {
    int64_t first, last, step, factor;
} option_range_part;

/* A list of integers, not expanded; in the order written, repeated points kept. */
typedef struct option_range {
    int part_count;
    int64_t point_count;
    option_range_part parts[OPTION_RANGE_MAX_PARTS];
} option_range;

/* Position of an iteration over a range; a zeroed one stands before the first point. */
typedef struct option_range_cursor {
    int part;
    bool started; /* `value` is a point of `part` that was returned */
    int64_t value;
} option_range_cursor;

/*
 * Reads a range whose ends all lie from `min` to `max` (both 0 = any).
 * Errors: LLMPERF_E_USAGE "range '8..1' runs backwards; write 1..8" and the like for an empty
 * item, a step of 0, a factor below 2, multiplying from below 1, a number of more than 64 bits,
 * one outside min to max, more than OPTION_RANGE_MAX_POINTS points in all.
 */
llmperf_status option_parse_range(const char *text, int64_t min, int64_t max,
                                  option_range *ret_range, llmperf_error *error);

/* Stores the next point and returns true; false at the end (*ret_value is then untouched). */
bool option_range_next(const option_range *range, option_range_cursor *cursor, int64_t *ret_value);

/*
 * Next word of an OPTION_WORDS text: *cursor points to the text at first. Stores where the word
 * begins and its length, blanks around it left out; false at the end.
 */
bool option_words_next(const char **cursor, const char **ret_word, size_t *ret_length);

/* ---- cli/complete.c: man pages and shell completion from the same tables ---- */

/* llmperf(1) when `one` is NULL, else llmperf-COMMAND(1), as man(7) troff. */
void option_print_man(FILE *out, const option_command *commands, const option_command *one,
                      const char *version);

/* Completion scripts for bash (to be sourced) and zsh (a file _llmperf in $fpath, or sourced). */
void option_print_bash(FILE *out, const option_command *commands);
void option_print_zsh(FILE *out, const option_command *commands);

#endif
