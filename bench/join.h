/* SPDX-License-Identifier: MIT */
/* Between join.c (rows), join_names.c (what names stand for) and join_labels.c (what rows are called). */
#ifndef LLMPERF_BENCH_JOIN_H
#define LLMPERF_BENCH_JOIN_H

#include "llmperf/join.h"
#include "llmperf/load.h"
#include "model_object.h"
#include "calib_object.h"
#include "engine_object.h"

/* ---- names (join_names.c) -------------------------------------------------------------------------- */

/* What a name of a file, or of an option, turned out to be: loaded once. */
typedef struct known {
    char name[LLMPERF_PATH_MAX];
    llmperf_status status;
    bool trusted; /* tried as the user's own word, which may be a path */
    /* owned; all NULL = not known */
    llmperf_model *model;
    llmperf_hw *hw;
    llmperf_engine *engine;
    llmperf_calib *calib;
} known;

typedef struct known_list {
    int count, capacity;
    known *item;
} known_list;

/* How far a fact of the options was needed. */
typedef struct fact_use {
    int64_t rows;                 /* that took it */
    int64_t unknown;              /* of these, rows whose own name is not known */
    char first[LLMPERF_NAME_MAX]; /* such a name */
} fact_use;

/* Everything that names stand for. */
typedef struct names {
    const llmperf_join_options *options;
    const llmperf_spec_paths *paths;
    known_list models, parts, profiles, calibrations;
    llmperf_error *error; /* what ends the join */
    llmperf_error why;    /* why a name is not known; scratch */
} names;

void names_free(names *n);

/* --map for one name; NULL = no rule. */
const char *names_renamed(const names *n, const char *name);

/*
 * The specification that a row's name stands for, by the map and the aliases of those shipped, else
 * the one of an option, which `use` counts. NULL: none is known, or n->error says what ends the join.
 */
const llmperf_model *names_model(names *n, const llmperf_run *run, fact_use *use);
const llmperf_hw *names_part(names *n, const char *gpu, fact_use *use);

/* The profile that a row is predicted with; NULL = operators alone, or n->error. */
const llmperf_engine *names_profile(names *n, const char *engine);

/* What times a row: the profile of its engine, else fits of operators. NULL with *ret_status OK: there
 * is nothing but the roofline. */
const llmperf_calib *names_calib(names *n, const llmperf_hw *hw, const llmperf_run *run,
                                 const llmperf_engine *profile, llmperf_status *ret_status);

void count_use(fact_use *use, const char *unknown);
bool is_word(const char *asked, const char *word);
/* An engine may be a profile's file: it then serves every row, whatever engine that names. */
bool is_file(const char *name);

/* ---- labels (join_labels.c) ------------------------------------------------------------------------- */

/* "llama-3-8b fp16 b 16 1024+128 tp 2 TTFT"; c 16 = requests in flight. */
void label_of(const llmperf_run *run, char *buffer, size_t size);

/* What a row shares with others, by options->group_by. */
void group_of(const llmperf_join_options *options, const llmperf_run *run, const char *metric,
              char *buffer, size_t size);

/* Is every word one of llmperf_join_groups()? */
llmperf_status check_groups(const char *const *words, llmperf_error *error);

/* "--batch, --prompt": the options that would give what is missing; "" = nothing is. */
void missing_facts(const llmperf_run *run, bool model, bool hw, char *buffer, size_t size);

#endif
