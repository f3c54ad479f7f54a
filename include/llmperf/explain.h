/* SPDX-License-Identifier: MIT */
/*
 * Where a number of a prediction comes from: its formula, the formula with the numbers put in, and
 * the source of each input.
 */
#ifndef LLMPERF_EXPLAIN_H
#define LLMPERF_EXPLAIN_H

#include "llmperf/report.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum llmperf_unit {
    LLMPERF_UNIT_NONE, /* a plain number */
    LLMPERF_UNIT_COUNT,
    LLMPERF_UNIT_TOKENS,
    LLMPERF_UNIT_SEQUENCES,
    LLMPERF_UNIT_WEIGHTS,
    LLMPERF_UNIT_S,
    LLMPERF_UNIT_BYTES,
    LLMPERF_UNIT_FLOP,
    LLMPERF_UNIT_TOKENS_PER_S,
    LLMPERF_UNIT_BYTES_PER_S,
    LLMPERF_UNIT_FLOP_PER_S,
    LLMPERF_UNIT_FLOP_PER_BYTE,
    LLMPERF_UNIT_FRACTION,
    LLMPERF_UNIT_USD,
    LLMPERF_UNIT_USD_PER_H,
    LLMPERF_UNIT_WH,
    LLMPERF_UNIT_W,
} llmperf_unit;

/* "s", "bytes", "tokens/s" ...; "" for a plain number. Static storage. */
LLMPERF_API const char *llmperf_unit_name(llmperf_unit unit);

/* Where an input's value comes from. */
typedef enum llmperf_origin {
    LLMPERF_ORIGIN_MODEL,       /* the model's file */
    LLMPERF_ORIGIN_HARDWARE,    /* the part's file */
    LLMPERF_ORIGIN_OPTION,      /* given by the user */
    LLMPERF_ORIGIN_DEFAULT,     /* an option's default */
    LLMPERF_ORIGIN_COMPUTED,    /* computed from others; the source names the field to explain */
    LLMPERF_ORIGIN_CONSTANT,    /* documented in docs/model.md */
    LLMPERF_ORIGIN_CALIBRATION, /* fitted to measurements */
} llmperf_origin;

LLMPERF_API const char *llmperf_origin_name(llmperf_origin origin);

#define LLMPERF_FORMULA_MAX 512

/* A value with its formula. `formula` is "" where there is no closed form; `numbers` is the same
 * formula with values that read back exactly. */
typedef struct llmperf_explain_line {
    char name[64];
    char formula[LLMPERF_FORMULA_MAX], numbers[LLMPERF_FORMULA_MAX];
    double value;
    double evaluated; /* what the formula gives; the value before it is rounded up; else NAN */
    uint8_t unit;     /* llmperf_unit */
} llmperf_explain_line;

typedef struct llmperf_explain_input {
    char symbol[24];
    char meaning[96];
    double value;
    uint8_t unit;       /* llmperf_unit */
    uint8_t origin;     /* llmperf_origin */
    uint8_t confidence; /* llmperf_confidence, of hardware */
    bool assumed;       /* nobody said so: a stand-in */
    char source[LLMPERF_TEXT_MAX];
} llmperf_explain_input;

/* Made by llmperf_explain() alone; to be read. */
typedef struct llmperf_explanation {
    char meaning[192];
    char rule[256]; /* in words, where there is no closed form; "" */
    bool is_operator;
    bool exists; /* false: the prediction has no such value, `why` says why */
    char why[160];
    bool rounded_up; /* the value is the formula's, rounded up to a whole number of at least 1 */
    bool is_sum;     /* the value is the sum of the terms */
    llmperf_explain_line result;
    int step_count, term_count, input_count;
    llmperf_explain_line *steps; /* on the way to the result */
    llmperf_explain_line *terms;
    llmperf_explain_input *inputs;
    llmperf_notes notes;
} llmperf_explanation;

typedef struct llmperf_explain_query {
    const char *name; /* a field's path or an operator; short forms where unambiguous */
    bool prefill;     /* operators: those of prefill instead of a decode step */
    const llmperf_config *c;
    const llmperf_prediction *prediction; /* of c; NULL without hardware */
    const llmperf_workload *asked; /* as given to llmperf_config_new(): what is not default */
    uint64_t room[8];              /* for what comes; 0 */
} llmperf_explain_query;

/*
 * Explains one value. Fields that need hardware fail with LLMPERF_E_USAGE when there is none.
 * Errors: LLMPERF_E_USAGE for an unknown name (with a suggestion and the known ones) or an
 * ambiguous one; LLMPERF_E_MEMORY. The caller frees the explanation.
 */
LLMPERF_API llmperf_status llmperf_explain(const llmperf_explain_query *query,
                                           llmperf_explanation **ret_explanation,
                                           llmperf_error *error);
LLMPERF_API void llmperf_explanation_free(llmperf_explanation *explanation);

/* Whether a name means one thing; the faults are those of llmperf_explain(). */
LLMPERF_API llmperf_status llmperf_explain_check(const char *name, llmperf_error *error);

/* What can be explained besides operators. A path with '*' stands for each dense operator. */
typedef struct llmperf_explain_field {
    const char *path, *meaning; /* static storage */
    uint8_t unit;
    bool needs_hw;
} llmperf_explain_field;

LLMPERF_API int llmperf_explain_field_count(void);
LLMPERF_API llmperf_explain_field llmperf_explain_field_at(int index);

/* Writers; formats and errors as in report.h. */
LLMPERF_API llmperf_status llmperf_write_explanation(FILE *out, const char *format,
                                                     const llmperf_explanation *explanation,
                                                     const llmperf_text_style *style,
                                                     llmperf_error *error);
LLMPERF_API llmperf_status llmperf_write_explain_list(FILE *out, const char *format,
                                                      const llmperf_text_style *style,
                                                      llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
