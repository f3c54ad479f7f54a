/* SPDX-License-Identifier: MIT */
/*
 * End-to-end rows as CSV, one measurement a line: the header of public collections (`engine, gpu,
 * model, batch_or_concurrency, input_len, output_len, metric, value` ...), which is also what
 * `compare --format csv` writes, and llama.cpp tables with a column `test` (pp, tg, pg).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "readers.h"

typedef enum column {
    C_SOURCE,
    C_ENGINE,
    C_ENGINE_VERSION,
    C_GPU,
    C_MODEL,
    C_WEIGHT_DTYPE,
    C_ACT_DTYPE,
    C_KV_DTYPE,
    C_DTYPE,
    C_METRIC,
    C_KIND,
    C_TEST, /* the last of the words: llama.cpp */
    C_DEVICES,
    C_TP,
    C_PP,
    C_EP,
    C_DP,
    C_BATCH,
    C_PROMPT,
    C_GENERATE,
    C_DEPTH,
    C_VALUE,
    C_MEASURED,
    C_SPREAD,
    C_RATE,
    C_MEDIAN, /* tokens/s, llama.cpp */
    C_MEAN,
    C_SHARED,
    C_REQUESTS,
    C_THREADS,
    C_LAYERS,
    C_HIDDEN,
    C_HEADS,
    C_KV_HEADS,
    C_FFN,
    C_VOCAB,
    C_COUNT
} column;

typedef struct column_name {
    const char *name;
    column column;
} column_name;

static const column_name COLUMNS[] = {
    {"source", C_SOURCE},
    {"source_file", C_SOURCE},
    {"engine", C_ENGINE},
    {"tool", C_ENGINE},
    {"engine_version", C_ENGINE_VERSION},
    {"gpu", C_GPU},
    {"model", C_MODEL},
    {"weight_dtype", C_WEIGHT_DTYPE},
    {"act_dtype", C_ACT_DTYPE},
    {"kv_dtype", C_KV_DTYPE},
    {"dtype", C_DTYPE},
    {"metric", C_METRIC},
    {"kind", C_KIND},
    {"test", C_TEST},
    {"gpu_count", C_DEVICES},
    {"tp", C_TP},
    {"pp", C_PP},
    {"ep", C_EP},
    {"dp", C_DP},
    {"batch", C_BATCH},
    {"batch_or_concurrency", C_BATCH},
    {"concurrency", C_BATCH},
    {"input_len", C_PROMPT},
    {"n_prompt", C_PROMPT},
    {"output_len", C_GENERATE},
    {"n_gen", C_GENERATE},
    {"depth", C_DEPTH},
    {"value", C_VALUE},
    {"measured", C_MEASURED},
    {"spread", C_SPREAD},
    {"stddev_tok_s", C_SPREAD},
    {"rate_per_s", C_RATE},
    {"median_tok_s", C_MEDIAN},
    {"avg_tok_s", C_MEAN},
    {"pp_shared", C_SHARED},
    {"requests", C_REQUESTS},
    {"threads", C_THREADS},
    {"layers", C_LAYERS},
    {"hidden", C_HIDDEN},
    {"heads", C_HEADS},
    {"kv_heads", C_KV_HEADS},
    {"ffn", C_FFN},
    {"vocab", C_VOCAB},
};

/* Words of the column `metric`; our own names come with scale 1. */
static const struct {
    const char *name;
    llmperf_metric metric;
    double scale; /* to SI */
} METRICS[] = {
    {"e2e_latency_ms", LLMPERF_METRIC_E2E, 1e-3},
    {"ttft_ms", LLMPERF_METRIC_TTFT, 1e-3},
    {"tpot_ms", LLMPERF_METRIC_TPOT, 1e-3},
    {"itl_ms", LLMPERF_METRIC_TPOT, 1e-3},
    {"prefill_tok_s", LLMPERF_METRIC_PREFILL_RATE, 1},
    {"decode_tok_s", LLMPERF_METRIC_DECODE_RATE, 1},
    {"total_output_tok_s", LLMPERF_METRIC_OUTPUT_RATE, 1},
    {"output_tok_s", LLMPERF_METRIC_OUTPUT_RATE, 1},
    {"total_tok_s", LLMPERF_METRIC_TOTAL_RATE, 1},
    {"mem_gib", LLMPERF_METRIC_MEMORY, 1073741824},
};

static const struct {
    const char *name;
    llmperf_run_kind kind;
} KINDS[] = {
    {"static", LLMPERF_RUN_STATIC},
    {"offline_max", LLMPERF_RUN_OFFLINE},
    {"offline", LLMPERF_RUN_OFFLINE},
    {"serving", LLMPERF_RUN_SERVING},
};

static const double LARGEST = 9007199254740992.0; /* 2^53 */

typedef struct table {
    results *r;
    int64_t line;
    int cell_count;
    int column[SOURCE_CELLS_MAX]; /* C_COUNT = none of ours */
    bool has[C_COUNT];
    const char *cell[C_COUNT]; /* of the row; "" = none */
    char label[LLMPERF_NAME_MAX];
} table;

static column column_of(const results *r, const char *name)
{
    const char *ours = results_renamed(r, name);
    for (int pass = ours ? 0 : 1; pass < 2; pass++)
        for (size_t i = 0; i < sizeof COLUMNS / sizeof *COLUMNS; i++)
            if (strcmp(COLUMNS[i].name, pass == 0 ? ours : name) == 0)
                return COLUMNS[i].column;
    return C_COUNT;
}

static const char *column_text(column wanted)
{
    for (size_t i = 0; i < sizeof COLUMNS / sizeof *COLUMNS; i++)
        if (COLUMNS[i].column == wanted)
            return COLUMNS[i].name;
    return "?";
}

static bool matches(const results *r, char *const *cell, int count)
{
    bool has[C_COUNT + 1] = {false};
    for (int i = 0; i < count; i++)
        has[column_of(r, cell[i])] = true;
    bool ours = has[C_METRIC] && (has[C_VALUE] || has[C_MEASURED]);
    return ours || (has[C_TEST] && (has[C_MEDIAN] || has[C_MEAN]));
}

/* ---- cells ------------------------------------------------------------------------------------------- */

static bool refuse(table *t, const char *format, ...) LLMPERF_PRINTF(2, 3);
static bool refuse(table *t, const char *format, ...)
{
    char text[LLMPERF_TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    results_leave_out(t->r, t->line, t->label, "%s", text);
    return false;
}

/* A number of at least 0; 0 where the cell is empty. */
static bool number(table *t, column c, double *ret_value)
{
    double value = 0;
    const char *text = t->cell[c];
    if (text[0] && !llmperf_parse_double(text, &value))
        return refuse(t, "%s is '%.40s'; a number is allowed", column_text(c), text);
    if (!(value >= 0) || value > LARGEST)
        return refuse(t, "%s is %.40s; 0 to 2^53 is allowed", column_text(c), text);
    *ret_value = value;
    return true;
}

static bool count_of(table *t, column c, int64_t *ret_value)
{
    double value = 0;
    if (!number(t, c, &value))
        return false;
    if (value != floor(value))
        return refuse(t, "%s is %.40s; a whole number is allowed", column_text(c), t->cell[c]);
    *ret_value = (int64_t)value;
    return true;
}

/* The word's metric and what makes its values SI; false for one that is not known. */
static bool metric_of(const char *name, llmperf_metric *ret_metric, double *ret_scale)
{
    for (int i = LLMPERF_METRIC_NONE + 1; i < LLMPERF_METRIC_COUNT; i++)
        if (strcmp(llmperf_metric_name((llmperf_metric)i), name) == 0) {
            *ret_metric = (llmperf_metric)i;
            *ret_scale = 1;
            return true;
        }
    for (size_t i = 0; i < sizeof METRICS / sizeof *METRICS; i++)
        if (strcmp(METRICS[i].name, name) == 0) {
            *ret_metric = METRICS[i].metric;
            *ret_scale = METRICS[i].scale;
            return true;
        }
    return false;
}

static bool kind_of(table *t, llmperf_run *run)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(KINDS[i].name, t->cell[C_KIND]) == 0) {
            run->kind = KINDS[i].kind;
            return true;
        }
    if (!t->cell[C_KIND][0])
        return true;
    return refuse(t, "kind is '%.40s'; static, serving, offline_max are allowed", t->cell[C_KIND]);
}

/* ---- rows -------------------------------------------------------------------------------------------- */

static void take_words(const table *t, llmperf_run *run)
{
    const char *dtype = t->cell[C_DTYPE];
    const struct {
        char *to;
        size_t size;
        const char *text;
    } words[] = {
        {run->source, sizeof run->source, t->cell[C_SOURCE]},
        {run->engine, sizeof run->engine, t->cell[C_ENGINE]},
        {run->engine_version, sizeof run->engine_version, t->cell[C_ENGINE_VERSION]},
        {run->gpu, sizeof run->gpu, t->cell[C_GPU]},
        {run->model, sizeof run->model, t->cell[C_MODEL]},
        {run->weight_dtype, sizeof run->weight_dtype,
         t->cell[C_WEIGHT_DTYPE][0] ? t->cell[C_WEIGHT_DTYPE] : dtype},
        {run->act_dtype, sizeof run->act_dtype, t->cell[C_ACT_DTYPE]},
        {run->kv_dtype, sizeof run->kv_dtype, t->cell[C_KV_DTYPE]},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        results_name(words[i].to, words[i].size, words[i].text);
}

static bool take_numbers(table *t, llmperf_run *run)
{
    llmperf_run_shape *shape = &run->shape;
    const struct {
        column column;
        int64_t *to;
    } counts[] = {
        {C_DEVICES, &run->devices},
        {C_TP, &run->tp},
        {C_PP, &run->pp},
        {C_EP, &run->ep},
        {C_DP, &run->dp},
        {C_BATCH, &run->batch},
        {C_REQUESTS, &run->requests},
        {C_THREADS, &run->threads},
        {C_LAYERS, &shape->layers},
        {C_HIDDEN, &shape->hidden},
        {C_HEADS, &shape->heads},
        {C_KV_HEADS, &shape->kv_heads},
        {C_FFN, &shape->ffn},
        {C_VOCAB, &shape->vocab},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (!count_of(t, counts[i].column, counts[i].to))
            return false;
    if (strcmp(t->cell[C_RATE], "inf") == 0)
        run->rate_per_s = INFINITY;
    else if (!number(t, C_RATE, &run->rate_per_s))
        return false;
    /* a prompt of 0 says that decoding began with an empty cache, or at the depth told */
    run->has_depth = t->cell[C_DEPTH][0] || strcmp(t->cell[C_PROMPT], "0") == 0;
    return number(t, C_PROMPT, &run->prompt) && number(t, C_GENERATE, &run->generate) &&
           number(t, C_DEPTH, &run->depth) && number(t, C_SPREAD, &run->spread);
}

/*
 * llama.cpp's tests: pp = the prompt alone, tg = generation alone, pg = both. llama-bench runs one
 * sequence, its pp rows give the prompt where we have the batch, and tg begins at `depth`;
 * llama-batched-bench generates behind the prompts (its `depth` repeats their length), which with
 * pp_shared are one prompt that all sequences share.
 */
static bool llama_test(table *t, llmperf_run *run, llmperf_metric *ret_metric)
{
    const char *test = t->cell[C_TEST];
    double shared = 0;
    bool batched = strcmp(run->engine, "llama-batched-bench") == 0;
    if (!number(t, C_SHARED, &shared))
        return false;
    if (strncmp(run->engine, "llama-b", 7) == 0)
        snprintf(run->engine, sizeof run->engine, "llama.cpp");
    if (batched)
        run->depth = 0;
    else
        run->batch = 1;
    run->has_depth = true;
    if (strcmp(test, "pp") == 0) {
        *ret_metric = LLMPERF_METRIC_PREFILL_RATE;
        run->generate = 0;
        if (shared > 0)
            run->batch = 1;
    } else if (strcmp(test, "tg") == 0) {
        *ret_metric = LLMPERF_METRIC_DECODE_RATE;
    } else if (strcmp(test, "pg") == 0) {
        *ret_metric = LLMPERF_METRIC_TOTAL_RATE;
    } else {
        return refuse(t, "test is '%.40s'; pp, tg, pg are allowed", test);
    }
    return true;
}

static llmperf_status take_row(table *t)
{
    llmperf_run run = results_run(t->r, t->line);
    llmperf_metric metric = LLMPERF_METRIC_NONE;
    double scale = 1, value = 0;
    column from = t->has[C_VALUE] ? C_VALUE : C_MEASURED;
    take_words(t, &run);
    snprintf(t->label, sizeof t->label, "%s", run.model);
    if (!take_numbers(t, &run))
        return LLMPERF_OK;
    if (t->has[C_METRIC]) {
        if (!metric_of(t->cell[C_METRIC], &metric, &scale)) {
            refuse(t, "metric is '%.40s'; ttft_ms, tpot_s, decode_tok_s ... are allowed",
                   t->cell[C_METRIC]);
            return LLMPERF_OK;
        }
        if (!kind_of(t, &run))
            return LLMPERF_OK;
    } else {
        if (!llama_test(t, &run, &metric))
            return LLMPERF_OK;
        from = t->cell[C_MEDIAN][0] ? C_MEDIAN : C_MEAN;
    }
    if (!t->cell[from][0])
        refuse(t, "%s is missing; a number is allowed", column_text(from));
    else if (number(t, from, &value)) {
        run.spread *= scale;
        return results_add(t->r, &run, metric, scale * value);
    }
    return LLMPERF_OK;
}

static llmperf_status take_line(table *t, char *line)
{
    char *cell[SOURCE_CELLS_MAX];
    const source *from = t->r->from;
    t->line = from->text_line;
    t->label[0] = '\0';
    if (from->too_long || from->has_nul) {
        refuse(t, "%s", source_line_fault(from));
        return LLMPERF_OK;
    }
    if (line[0] == '#' || line[strspn(line, " \t")] == '\0')
        return LLMPERF_OK;
    int count = source_cells(line, cell);
    if (count != t->cell_count) {
        if (count < 0)
            refuse(t, "%s", source_cells_fault(count));
        else
            refuse(t, "%d cells; %d are allowed, as the header has", count, t->cell_count);
        return LLMPERF_OK;
    }
    for (int i = 0; i < C_COUNT; i++)
        t->cell[i] = "";
    for (int i = 0; i < count; i++)
        if (t->column[i] < C_COUNT)
            t->cell[t->column[i]] = cell[i];
    return take_row(t);
}

static llmperf_status read_rows(results *r, char *const *header, int count)
{
    table *t = calloc(1, sizeof *t);
    llmperf_status status = LLMPERF_OK;
    if (!t)
        return llmperf_fail(r->error, LLMPERF_E_MEMORY, "out of memory");
    t->r = r;
    t->cell_count = count;
    for (int i = 0; i < count && status == LLMPERF_OK; i++) {
        column c = column_of(r, header[i]);
        t->column[i] = (int)c;
        if (c == C_COUNT)
            continue;
        if (t->has[c])
            status = llmperf_fail(r->error, LLMPERF_E_SPEC,
                                  "%s:%lld: two columns stand for %s; one is allowed",
                                  r->from->name, (long long)r->from->text_line, column_text(c));
        t->has[c] = true;
    }
    for (char *line; status == LLMPERF_OK && (line = source_line(r->from));)
        status = take_line(t, line);
    free(t);
    return status;
}

const csv_format END_TO_END_CSV = {
    .name = "end-to-end rows",
    .matches = matches,
    .read = read_rows,
};
