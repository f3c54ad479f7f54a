/* SPDX-License-Identifier: MIT */
#include "quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "llmperf/spec.h"

typedef struct unit_row {
    quantity_kind kind;
    const char *base; /* what follows the prefix, case matters: b is bits, B is bytes */
    bool bits;
} unit_row;

static const unit_row UNITS[] = {
    {QUANTITY_FLOP_PER_S, "FLOP/s", false}, {QUANTITY_FLOP_PER_S, "FLOPS", false},
    {QUANTITY_FLOP_PER_S, "FLOPs", false},  {QUANTITY_FLOP_PER_S, "OP/s", false},
    {QUANTITY_FLOP_PER_S, "OPS", false},    {QUANTITY_BYTES_PER_S, "B/s", false},
    {QUANTITY_BYTES_PER_S, "b/s", true},    {QUANTITY_BYTES_PER_S, "bit/s", true},
    {QUANTITY_BYTES_PER_S, "bps", true},    {QUANTITY_BYTES, "B", false},
    {QUANTITY_BYTES, "b", true},            {QUANTITY_BYTES, "bit", true},
    {QUANTITY_HZ, "Hz", false},             {QUANTITY_S, "s", false},
    {QUANTITY_W, "W", false},               {QUANTITY_USD_PER_H, "USD/h", false},
};

static const char *const EXAMPLES[] = {
    [QUANTITY_FLOP_PER_S] = "989.4 TFLOP/s", [QUANTITY_BYTES_PER_S] = "3.35 TB/s",
    [QUANTITY_BYTES] = "80 GB",              [QUANTITY_HZ] = "1.98 GHz",
    [QUANTITY_S] = "3 us",                   [QUANTITY_W] = "700 W",
    [QUANTITY_USD_PER_H] = "2.5 USD/h",
};

typedef struct prefix_row {
    const char *text;
    double factor;
} prefix_row;

/* Binary ones first: "Ki" must not be read as "K". */
static const prefix_row PREFIXES[] = {
    {"Ki", 1024.0},
    {"Mi", 1048576.0},
    {"Gi", 1073741824.0},
    {"Ti", 1099511627776.0},
    {"k", 1e3},
    {"K", 1e3},
    {"M", 1e6},
    {"G", 1e9},
    {"T", 1e12},
    {"P", 1e15},
    {"E", 1e18},
    {"m", 1e-3},
    {"u", 1e-6},
    {"\xc2\xb5", 1e-6},
    {"n", 1e-9},
    {"", 1},
};

const char *quantity_example(quantity_kind kind) { return EXAMPLES[kind]; }

static bool unit_factor(const char *unit, quantity_kind kind, double *ret_factor, bool *ret_bits)
{
    for (size_t p = 0; p < sizeof PREFIXES / sizeof *PREFIXES; p++) {
        size_t length = strlen(PREFIXES[p].text);
        if (strncmp(unit, PREFIXES[p].text, length) != 0)
            continue;
        bool small = PREFIXES[p].factor < 1;
        if (small && kind != QUANTITY_S) /* "mb" is no millibit */
            continue;
        if (kind == QUANTITY_USD_PER_H && length > 0)
            continue;
        if (kind == QUANTITY_S && PREFIXES[p].factor > 1)
            continue;
        for (size_t u = 0; u < sizeof UNITS / sizeof *UNITS; u++)
            if (UNITS[u].kind == kind && strcmp(unit + length, UNITS[u].base) == 0) {
                *ret_factor = PREFIXES[p].factor;
                *ret_bits = UNITS[u].bits;
                return true;
            }
    }
    return false;
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
    double value, factor;
    if (!llmperf_parse_double(digits, &value))
        return "no number with a unit";
    const char *unit = text + number;
    unit += strspn(unit, " ");
    if (!*unit)
        return "a number without a unit";
    bool bits = false;
    if (!unit_factor(unit, kind, &factor, &bits))
        return "an unknown unit here";
    value *= factor;
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
