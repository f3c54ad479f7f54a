/* SPDX-License-Identifier: MIT */
/*
 * llama.cpp: llama-bench (-o json, jsonl, csv) and llama-batched-bench (--output-format jsonl).
 *   source: ggml-org/llama.cpp @e95dae18d, tools/llama-bench, tools/batched-bench
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

/* ---- the model's format, out of a label such as "llama 8B Q4_K - Medium" ------------------------------ */

/* Does a word name a format of llama.cpp? */
static bool is_format(const char *word, size_t length)
{
    static const char *const heads[] = {"F32", "F16", "BF16", "MXFP4", "Q", "IQ", "TQ"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        size_t head = strlen(heads[i]);
        if (length < head || strncmp(word, heads[i], head) != 0)
            continue;
        if (i < 4 ? length == head : length > head && isdigit((unsigned char)word[head]))
            return true;
    }
    return false;
}

/* "q4_k_m", "f16" ...; "" where the label tells none. */
static void format_of(const char *label, char *to, size_t size)
{
    to[0] = '\0';
    for (const char *at = label; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (is_format(at, length)) {
            const char *rest = at + length;
            const char *tail = strncmp(rest, " - Small", 8) == 0    ? "_s"
                               : strncmp(rest, " - Medium", 9) == 0 ? "_m"
                               : strncmp(rest, " - Large", 8) == 0  ? "_l"
                                                                    : "";
            snprintf(to, size, "%.*s%s", length < 16 ? (int)length : 16, at, tail);
            for (char *c = to; *c; c++)
                *c = (char)tolower((unsigned char)*c);
            return;
        }
        at += length;
    }
}

/* ---- llama-bench ------------------------------------------------------------------------------------- */

static bool is_bench(const json_t *object)
{
    return json_object_get(object, "avg_ts") && json_object_get(object, "n_prompt") &&
           json_object_get(object, "n_gen");
}

/* Base name without ".gguf". */
static void take_model(record *rec, llmperf_run *run)
{
    char path[LLMPERF_PATH_MAX];
    record_text(json_object_get(rec->object, "model_filename"), path, sizeof path);
    const char *slash = strrchr(path, '/'), *backslash = strrchr(path, '\\');
    const char *base = slash ? slash + 1 : path;
    if (backslash && backslash >= base)
        base = backslash + 1;
    size_t length = strlen(base);
    if (length > 5 && strcmp(base + length - 5, ".gguf") == 0)
        length -= 5;
    snprintf(run->model, sizeof run->model, "%.*s", length < 90 ? (int)length : 90, base);
    snprintf(rec->label, sizeof rec->label, "%s", run->model);
}

/* The part: the GPU unless no layer is there. Several GPUs come with commas between. */
static void take_part(record *rec, llmperf_run *run)
{
    char gpu[LLMPERF_TEXT_MAX], split[32];
    const json_t *on_gpu = record_at(rec->object, "n_gpu_layers", NULL);
    double layers = json_is_number(on_gpu) ? json_number_value(on_gpu) : 1;
    const char *text = json_string_value(on_gpu);
    if (text && !llmperf_parse_double(text, &layers))
        layers = 1;
    record_text(json_object_get(rec->object, "gpu_info"), gpu, sizeof gpu);
    record_text(json_object_get(rec->object, "split_mode"), split, sizeof split);
    if (!gpu[0] || layers == 0) {
        record_text(json_object_get(rec->object, "cpu_info"), run->gpu, sizeof run->gpu);
        return;
    }
    run->devices = 1;
    for (char *comma = strchr(gpu, ','); comma; comma = strchr(comma + 1, ','))
        run->devices++;
    gpu[strcspn(gpu, ",")] = '\0';
    snprintf(run->gpu, sizeof run->gpu, "%.90s", gpu);
    if (run->devices > 1 && strcmp(split, "row") == 0)
        run->tp = run->devices;
    else if (run->devices > 1 && strcmp(split, "none") != 0)
        run->pp = run->devices;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the repetitions; 0 where there are none. */
static double median_of(const json_t *array)
{
    double sample[256];
    size_t count = 0, index;
    json_t *value;
    json_array_foreach(array, index, value)
    {
        if (count < sizeof sample / sizeof *sample && json_is_number(value))
            sample[count++] = json_number_value(value);
    }
    if (count == 0)
        return 0;
    qsort(sample, count, sizeof *sample, by_value);
    return (sample[(count - 1) / 2] + sample[count / 2]) / 2;
}

static bool is_true(const json_t *value)
{
    const char *text = json_string_value(value);
    return json_is_true(value) || (json_is_integer(value) && json_integer_value(value) != 0) ||
           (text && strcmp(text, "0") != 0 && strcmp(text, "false") != 0 && text[0]);
}

/* What this row measures, or why it gives no run. */
static llmperf_status bench_value(record *rec, llmperf_run *run)
{
    llmperf_metric metric = LLMPERF_METRIC_TOTAL_RATE;
    if (run->prompt < 1 && run->generate < 1)
        return results_leave_out(rec->r, rec->line, rec->label, "n_prompt and n_gen are 0");
    if (run->generate < 1)
        metric = LLMPERF_METRIC_PREFILL_RATE;
    else if (run->prompt < 1)
        metric = LLMPERF_METRIC_DECODE_RATE;
    double median = median_of(json_object_get(rec->object, "samples_ts"));
    if (rec->r->options && rec->r->options->median && median > 0)
        return results_add(rec->r, run, metric, median);
    return record_metric(rec, run, metric, json_object_get(rec->object, "avg_ts"), "avg_ts", 1);
}

static llmperf_status read_bench(record *rec)
{
    llmperf_run run = results_run(rec->r, rec->line);
    char label[LLMPERF_NAME_MAX];
    take_model(rec, &run);
    take_part(rec, &run);
    snprintf(run.engine, sizeof run.engine, "llama.cpp");
    record_text(json_object_get(rec->object, "build_commit"), run.engine_version,
                sizeof run.engine_version);
    record_text(json_object_get(rec->object, "model_type"), label, sizeof label);
    format_of(label, run.weight_dtype, sizeof run.weight_dtype);
    record_text(json_object_get(rec->object, "type_k"), run.kv_dtype, sizeof run.kv_dtype);
    run.batch = 1;
    run.prompt = record_fact(rec, "n_prompt");
    run.generate = record_fact(rec, "n_gen");
    run.depth = record_fact(rec, "n_depth");
    run.threads = record_count(rec, "n_threads");
    run.spread = record_fact(rec, "stddev_ts");
    run.has_depth = true;
    if (record_fact(rec, "n_cpu_moe") > 0)
        return results_leave_out(rec->r, rec->line, rec->label,
                                 "n_cpu_moe: experts on the CPU are not predicted");
    if (is_true(json_object_get(rec->object, "embeddings")))
        return results_leave_out(rec->r, rec->line, rec->label, "embeddings are not predicted");
    return rec->bad ? LLMPERF_OK : bench_value(rec, &run);
}

const json_format LLAMA_BENCH = {
    .name = "llama-bench",
    .matches = is_bench,
    .read = read_bench,
};

/* ---- llama-bench as CSV: the same facts, as texts ----------------------------------------------------- */

static bool is_bench_csv(const results *r, char *const *cell, int count)
{
    int found = 0;
    (void)r;
    for (int i = 0; i < count; i++)
        found += strcmp(cell[i], "avg_ts") == 0 || strcmp(cell[i], "n_prompt") == 0 ||
                 strcmp(cell[i], "n_gen") == 0;
    return found == 3;
}

static llmperf_status bench_csv_row(results *r, char *const *header, int count, char *line)
{
    char *cell[SOURCE_CELLS_MAX];
    const source *from = r->from;
    if (from->too_long || from->has_nul)
        return results_leave_out(r, from->text_line, "", "%s", source_line_fault(from));
    if (line[strspn(line, " \t")] == '\0')
        return LLMPERF_OK;
    int cells = source_cells(line, cell);
    if (cells < 0)
        return results_leave_out(r, from->text_line, "", "%s", source_cells_fault(cells));
    if (cells != count)
        return results_leave_out(r, from->text_line, "",
                                 "%d cells; %d are allowed, as the header has", cells, count);
    json_t *object = json_object();
    bool kept = object != NULL;
    for (int i = 0; i < count && kept; i++) /* texts that are not UTF-8 stay out */
        if (cell[i][0])
            json_object_set_new(object, header[i], json_string(cell[i]));
    record rec = {.r = r, .object = object, .line = from->text_line};
    llmperf_status status =
        kept ? read_bench(&rec) : llmperf_fail(r->error, LLMPERF_E_MEMORY, "out of memory");
    json_decref(object);
    return status;
}

static llmperf_status read_bench_csv(results *r, char *const *header, int count)
{
    llmperf_status status = LLMPERF_OK;
    for (char *line; status == LLMPERF_OK && (line = source_line(r->from));)
        status = bench_csv_row(r, header, count, line);
    return status;
}

const csv_format LLAMA_BENCH_CSV = {
    .name = "llama-bench",
    .matches = is_bench_csv,
    .read = read_bench_csv,
};

/* ---- llama-batched-bench ------------------------------------------------------------------------------ */

static bool is_batched(const json_t *object)
{
    return json_object_get(object, "n_kv_max") && json_object_get(object, "speed_tg") &&
           json_object_get(object, "pl");
}

/* One line: prompts of `pp` tokens (one that all share with is_pp_shared), then `tg` tokens of each
 * of `pl` sequences. */
static llmperf_status read_batched(record *rec)
{
    llmperf_run run = results_run(rec->r, rec->line);
    llmperf_status status = LLMPERF_OK;
    snprintf(run.engine, sizeof run.engine, "llama.cpp");
    run.batch = record_count(rec, "pl");
    run.prompt = record_fact(rec, "pp");
    run.generate = record_fact(rec, "tg");
    run.threads = record_count(rec, "n_threads");
    run.has_depth = true;
    bool shared = record_fact(rec, "is_pp_shared") > 0;
    if (rec->bad)
        return LLMPERF_OK;
    llmperf_run prefill = run;
    prefill.generate = 0;
    if (shared)
        prefill.batch = 1;
    if (run.prompt > 0)
        status = record_metric(rec, &prefill, LLMPERF_METRIC_PREFILL_RATE,
                               json_object_get(rec->object, "speed_pp"), "speed_pp", 1);
    if (status == LLMPERF_OK && run.generate > 0)
        status = record_metric(rec, &run, LLMPERF_METRIC_DECODE_RATE,
                               json_object_get(rec->object, "speed_tg"), "speed_tg", 1);
    return status;
}

const json_format LLAMA_BATCHED_BENCH = {
    .name = "llama-batched-bench",
    .matches = is_batched,
    .read = read_batched,
};
