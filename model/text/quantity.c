/* SPDX-License-Identifier: MIT */
#include "quantity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/spec.h"

typedef struct unit_row {
    quantity_kind kind;
    const char *base; /* what follows the prefix, case matters: b is bits, B is bytes */
    bool bits;
} unit_row;

static const unit_row UNITS[] = {
    {QUANTITY_FLOP_PER_S, "FLOP/s", false},
    {QUANTITY_FLOP_PER_S, "FLOPS", false},
    {QUANTITY_FLOP_PER_S, "FLOPs", false},
    {QUANTITY_FLOP_PER_S, "OP/s", false},
    {QUANTITY_FLOP_PER_S, "OPS", false},
    {QUANTITY_BYTES_PER_S, "B/s", false},
    {QUANTITY_BYTES_PER_S, "b/s", true},
    {QUANTITY_BYTES_PER_S, "bit/s", true},
    {QUANTITY_BYTES_PER_S, "bps", true},
    {QUANTITY_BYTES, "B", false},
    {QUANTITY_BYTES, "b", true},
    {QUANTITY_BYTES, "bit", true},
    {QUANTITY_HZ, "Hz", false},
    {QUANTITY_S, "s", false},
    {QUANTITY_W, "W", false},
    {QUANTITY_USD_PER_H, "USD/h", false},
};

static const char *const EXAMPLES[] = {
    [QUANTITY_FLOP_PER_S] = "989.4 TFLOP/s",
    [QUANTITY_BYTES_PER_S] = "3.35 TB/s",
    [QUANTITY_BYTES] = "80 GB",
    [QUANTITY_HZ] = "1.98 GHz",
    [QUANTITY_S] = "3 us",
    [QUANTITY_W] = "700 W",
    [QUANTITY_USD_PER_H] = "2.5 USD/h",
};

/* A decimal prefix is an exponent, so that "66.9 TFLOP/s" is the double nearest to 66.9e12 and not
 * a rounded product; a binary one is an exact factor. */
typedef struct prefix_row {
    const char *text;
    double binary; /* 0 = decimal */
    int exponent;
} prefix_row;

/* Binary ones first: "Ki" must not be read as "K". */
static const prefix_row PREFIXES[] = {
    {"Ki", 1024.0, 0},
    {"Mi", 1048576.0, 0},
    {"Gi", 1073741824.0, 0},
    {"Ti", 1099511627776.0, 0},
    {"k", 0, 3},
    {"K", 0, 3},
    {"M", 0, 6},
    {"G", 0, 9},
    {"T", 0, 12},
    {"P", 0, 15},
    {"E", 0, 18},
    {"m", 0, -3},
    {"u", 0, -6},
    {"\xc2\xb5", 0, -6},
    {"n", 0, -9},
    {"", 0, 0},
};

const char *quantity_example(quantity_kind kind)
{
    return EXAMPLES[kind];
}

static const prefix_row *find_unit(const char *unit, quantity_kind kind, bool *ret_bits)
{
    for (size_t p = 0; p < sizeof PREFIXES / sizeof *PREFIXES; p++) {
        const prefix_row *prefix = &PREFIXES[p];
        size_t length = strlen(prefix->text);
        if (strncmp(unit, prefix->text, length) != 0)
            continue;
        if (prefix->exponent < 0 && kind != QUANTITY_S) /* "mb" is no millibit */
            continue;
        if (kind == QUANTITY_USD_PER_H && length > 0)
            continue;
        if (kind == QUANTITY_S && (prefix->exponent > 0 || prefix->binary > 0))
            continue;
        for (size_t u = 0; u < sizeof UNITS / sizeof *UNITS; u++)
            if (UNITS[u].kind == kind && strcmp(unit + length, UNITS[u].base) == 0) {
                *ret_bits = UNITS[u].bits;
                return prefix;
            }
    }
    return NULL;
}

/* number text x 10^exponent, correctly rounded: the exponents are added in the text. */
static bool scaled_parse(const char *digits, int exponent, double *ret_value)
{
    char text[96];
    const char *e = strpbrk(digits, "eE");
    long own = e ? strtol(e + 1, NULL, 10) : 0;
    int mantissa = e ? (int)(e - digits) : (int)strlen(digits);
    if (own < -9999 || own > 9999)
        return false;
    snprintf(text, sizeof text, "%.*se%ld", mantissa, digits, own + exponent);
    return llmperf_parse_double(text, ret_value);
}

const char *quantity_parse(const char *text, quantity_kind kind, double *ret_value, bool *ret_bits)
{
    size_t number = strspn(text, "+-0123456789.");
    /* an exponent belongs to the number only when digits follow: "3 EB" has none */
    if (text[number] == 'e' || text[number] == 'E') {
        size_t sign = number + 1 + (text[number + 1] == '+' || text[number + 1] == '-');
        size_t digits = strspn(text + sign, "0123456789");
        if (digits > 0)
            number = sign + digits;
    }
    char digits[64];
    if (text[number] == ',')
        return "a decimal comma; numbers are written with a point";
    if (number == 0 || number >= sizeof digits)
        return "no number with a unit";
    memcpy(digits, text, number);
    digits[number] = '\0';
    double value;
    if (!llmperf_parse_double(digits, &value))
        return "no number with a unit";
    const char *unit = text + number;
    unit += strspn(unit, " ");
    if (!*unit)
        return "a number without a unit";
    bool bits = false;
    const prefix_row *prefix = find_unit(unit, kind, &bits);
    if (!prefix)
        return "an unknown unit here";
    if (prefix->binary > 0)
        value *= prefix->binary;
    else if (!scaled_parse(digits, prefix->exponent, &value))
        return "too large";
    if (bits)
        value /= 8;
    if (!isfinite(value))
        return "too large";
    *ret_value = value;
    if (ret_bits)
        *ret_bits = bits;
    return NULL;
}

llmperf_status doc_quantity(const doc *document, const doc_node *node, quantity_kind kind,
                            double *ret_value, bool *ret_bits, llmperf_error *error)
{
    char described[128];
    const char *key = node->key ? node->key : "this";
    if (node->kind != DOC_SCALAR || doc_is_null(node))
        return doc_fail(document, node, error, "%s is %s; a quantity such as %s is allowed", key,
                        doc_describe(node, described, sizeof described), EXAMPLES[kind]);
    double value;
    bool bits = false;
    const char *wrong = quantity_parse(node->text, kind, &value, &bits);
    if (wrong)
        return doc_fail(document, node, error, "%s is '%s', %s; a quantity such as %s is allowed",
                        key, node->text, wrong, EXAMPLES[kind]);
    if (!(value > 0))
        return doc_fail(document, node, error, "%s is '%s'; a quantity above zero is allowed", key,
                        node->text);
    *ret_value = value;
    if (ret_bits)
        *ret_bits = bits;
    return LLMPERF_OK;
}
