/* SPDX-License-Identifier: MIT */
/* JSON objects of result files, one after another, and facts out of them. */
#ifndef LLMPERF_BENCH_RECORD_H
#define LLMPERF_BENCH_RECORD_H

#include <jansson.h>

#include "readers.h"

/* One object: an element of the array that the file is, or one of several that follow each other
 * (JSON lines). */
typedef struct record {
    results *r;
    const json_t *object;
    int64_t line; /* where it begins */
    char label[LLMPERF_NAME_MAX];
    bool bad; /* a fact is no number; it was reported */
} record;

/* How objects of one tool are known and read. read() adds runs, or leaves them out. */
typedef struct json_format {
    const char *name;
    bool (*matches)(const json_t *object);
    llmperf_status (*read)(record *rec);
    llmperf_status (*finish)(results *r); /* at the file's end; may be NULL */
} json_format;

/*
 * Calls `visit` for each object of the stream. Values of keys that hold a number per token or a text
 * per request (itls, generated_texts ...) are passed over, so that a log of gigabytes needs little
 * memory; bare NaN and Infinity, which Python writes, are taken for the texts "N" and "inf".
 * Errors: LLMPERF_E_SPEC with FILE:LINE:COL; what visit() returns; LLMPERF_E_MEMORY.
 */
llmperf_status record_each(results *r, llmperf_status (*visit)(record *rec));

/* The member at a path of keys; NULL where there is none, or null. Keys may hold dots. */
const json_t *record_at(const json_t *object, const char *key, const char *inner);

/*
 * A number, also written as a text; 0 where there is none. Anything else is reported once and sets
 * rec->bad: the record is then left out as a whole.
 */
double record_number(record *rec, const json_t *value, const char *name);
/* The same of a member. */
double record_fact(record *rec, const char *key);
int64_t record_count(record *rec, const char *key);

/* Copies a text; none where it is missing, "None" or "auto". Numbers are taken as they are. */
void record_text(const json_t *value, char *to, size_t size);

/*
 * Adds a run of `metric` whose value is `scale` times a number; nothing where it is missing, a
 * reason where it is no number above zero.
 */
llmperf_status record_metric(record *rec, const llmperf_run *run, llmperf_metric metric,
                             const json_t *value, const char *name, double scale);

/*
 * An engine's words for its formats: its quantisation ("" = none) is that of the weights, and then
 * run->act_dtype, the model's own dtype, does not say what products quantise activations to.
 */
void record_quantised(llmperf_run *run, const char *quantization);

/* The first member called one of `keys` (NULL-terminated) at any depth; NULL where there is none. */
const json_t *record_search(const json_t *value, const char *const *keys);

/* The mean of an array of numbers; 0 where it is none. */
double record_mean(const json_t *array);

/* "inf" and the like = all at once. */
double record_rate(record *rec, const json_t *value, const char *name);

#endif
