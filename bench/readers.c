/* SPDX-License-Identifier: MIT */
/* Which reader takes a result file: told by its content, never by its name. */
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "entry.h"

/*
 * A reader is a file read_X.c and a row here: R(what the file calls its csv_format or json_format). The
 * first that matches takes a file, or an object: narrow ones come before wide ones.
 */
#define CSV_READERS(R)                                                                             \
    R(LLAMA_BENCH_CSV)                                                                             \
    R(END_TO_END_CSV)

#define JSON_READERS(R)                                                                            \
    R(LLAMA_BENCH)                                                                                 \
    R(LLAMA_BATCHED_BENCH)                                                                         \
    R(SGLANG_ONE_BATCH)                                                                            \
    R(SGLANG_SERVING)                                                                              \
    R(VLLM_SERVE)                                                                                  \
    R(VLLM_LATENCY)                                                                                \
    R(VLLM_THROUGHPUT)                                                                             \
    R(TRTLLM_REPORT)                                                                               \
    R(GUIDELLM)                                                                                    \
    R(AIPERF_REQUESTS)                                                                             \
    R(AIPERF)

#define DECLARE_CSV(name) extern const csv_format name;
#define DECLARE_JSON(name) extern const json_format name;
#define ADDRESS(name) &name,

CSV_READERS(DECLARE_CSV)
JSON_READERS(DECLARE_JSON)
static const csv_format *const CSV_FORMATS[] = {CSV_READERS(ADDRESS)};
static const json_format *const JSON_FORMATS[] = {JSON_READERS(ADDRESS)};

/* ---- CSV --------------------------------------------------------------------------------------------- */

/* The header, past comments and blank lines; NULL = there is none. */
static char *header_line(source *from)
{
    char *line;
    while ((line = source_line(from)))
        if (from->has_nul || (line[0] != '#' && line[strspn(line, " \t")] != '\0'))
            break;
    return line;
}

/* What a file is that is no CSV of ours, for the message. */
static const char *likeness(const char *text)
{
    text += strspn(text, " \t\r\n");
    if (text[0] == '<')
        return "this is HTML or XML";
    if (text[0] == '|')
        return "this is a table for people; run the tool with '-o json'";
    if (strncmp(text, "CREATE TABLE", 12) == 0 || strncmp(text, "INSERT ", 7) == 0)
        return "this is SQL; run the tool with '-o json'";
    return "no known result file begins like this";
}

static const csv_format *csv_format_of(const results *r, char *const *cell, int count)
{
    for (size_t i = 0; i < sizeof CSV_FORMATS / sizeof *CSV_FORMATS; i++)
        if (CSV_FORMATS[i]->matches(r, cell, count))
            return CSV_FORMATS[i];
    return NULL;
}

static llmperf_status read_csv(results *r)
{
    char *cell[SOURCE_CELLS_MAX], *kept;
    char *line = header_line(r->from);
    llmperf_status status = source_status(r->from, r->error);
    if (status != LLMPERF_OK)
        return status;
    if (!line)
        return llmperf_fail(r->error, LLMPERF_E_SPEC, "%s: empty; a result file is allowed",
                            r->from->name);
    kept = strdup(line); /* the next line takes the place of this one */
    if (!kept)
        return llmperf_fail(r->error, LLMPERF_E_MEMORY, "out of memory");
    const char *like = likeness(line);
    int count = r->from->too_long || r->from->has_nul ? -1 : source_cells(kept, cell);
    const csv_format *format = count > 0 ? csv_format_of(r, cell, count) : NULL;
    if (format)
        status = format->read(r, cell, count);
    else
        status = llmperf_fail(r->error, LLMPERF_E_SPEC,
                              "%s:%lld: %s; JSON or CSV of the tools in docs/compare.md is allowed",
                              r->from->name, (long long)r->from->text_line, like);
    free(kept);
    return status == LLMPERF_OK ? source_status(r->from, r->error) : status;
}

/* ---- JSON -------------------------------------------------------------------------------------------- */

static llmperf_status read_object(record *rec)
{
    for (size_t i = 0; i < sizeof JSON_FORMATS / sizeof *JSON_FORMATS; i++)
        if (JSON_FORMATS[i]->matches(rec->object))
            return JSON_FORMATS[i]->read(rec);
    void *first = json_object_iter((json_t *)rec->object);
    return llmperf_fail(rec->r->error, LLMPERF_E_SPEC,
                        "%s:%lld: an object%s%.40s%s of no known result format; those in "
                        "docs/compare.md are allowed",
                        rec->r->from->name, (long long)rec->line, first ? " with '" : "",
                        first ? json_object_iter_key(first) : "", first ? "'" : "");
}

static llmperf_status read_json(results *r)
{
    llmperf_status status = record_each(r, read_object);
    for (size_t i = 0; i < sizeof JSON_FORMATS / sizeof *JSON_FORMATS; i++)
        if (status == LLMPERF_OK && JSON_FORMATS[i]->finish)
            status = JSON_FORMATS[i]->finish(r);
    return status;
}

/* ---- files ------------------------------------------------------------------------------------------- */

/* Does the file begin, blanks and a byte order mark apart, like JSON? The mark is taken. */
static bool begins_json(source *from)
{
    size_t size, at = 0;
    const char *head = source_head(from, &size);
    bool mark = size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0;
    for (at = mark ? 3 : 0; at < size && strchr(" \t\r\n", head[at]) && head[at]; at++)
        continue;
    bool json = at < size && (head[at] == '{' || head[at] == '[');
    for (int i = 0; json && mark && i < 3; i++)
        source_get(from);
    return json;
}

/* Reads to the end and closes. */
static llmperf_status read_source(llmperf_runs *runs, source *from,
                                  const llmperf_runs_options *options, llmperf_error *error)
{
    results r = {.runs = runs, .options = options, .error = error, .from = from};
    const char *slash = strrchr(from->name, '/');
    int64_t before = runs->count;
    results_name(r.file, sizeof r.file, slash ? slash + 1 : from->name);
    llmperf_status status = begins_json(from) ? read_json(&r) : read_csv(&r);
    if (status == LLMPERF_OK && runs->count == before)
        status = r.left_out > 0
                     ? llmperf_fail(error, LLMPERF_E_SPEC, "%s:%s", from->name, r.first_why)
                     : llmperf_fail(error, LLMPERF_E_SPEC,
                                    "%s: no measurement in it; a result file with at least one is "
                                    "allowed",
                                    from->name);
    source_close(from);
    return status;
}

llmperf_status llmperf_runs_read(llmperf_runs *runs, const char *path,
                                 const llmperf_runs_options *options, llmperf_error *error)
{
    NEEDS(runs && path, error);
    source from;
    llmperf_status status = source_open(&from, path, error);
    return status == LLMPERF_OK ? read_source(runs, &from, options, error) : status;
}

llmperf_status llmperf_runs_read_text(llmperf_runs *runs, const char *name, const char *text,
                                      size_t size, const llmperf_runs_options *options,
                                      llmperf_error *error)
{
    NEEDS(runs && name && text, error);
    source from;
    llmperf_status status = source_open_text(&from, name, text, size, error);
    return status == LLMPERF_OK ? read_source(runs, &from, options, error) : status;
}

llmperf_status llmperf_results_are_samples(const char *path, const llmperf_runs_options *options,
                                           bool *ret_samples, llmperf_error *error)
{
    NEEDS(path && ret_samples, error);
    source from;
    char *cell[SOURCE_CELLS_MAX];
    llmperf_status status = source_open(&from, path, error);
    if (status != LLMPERF_OK)
        return status;
    results r = {.options = options, .from = &from};
    char *line = header_line(&from);
    int count =
        line && !from.too_long && line[0] != '{' && line[0] != '[' ? source_cells(line, cell) : 0;
    bool samples = count > 0 && samples_match(&r, cell, count);
    status = source_status(&from, error);
    source_close(&from);
    if (status == LLMPERF_OK)
        *ret_samples = samples;
    return status;
}
