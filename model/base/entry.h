/* SPDX-License-Identifier: MIT */
/*
 * What public functions check on entry, so that a wrong argument gives LLMPERF_E_USAGE or the neutral
 * answer that the header names, never a fault. Numbers are checked where their limits are known.
 */
#ifndef LLMPERF_MODEL_ENTRY_H
#define LLMPERF_MODEL_ENTRY_H

#include <string.h>

#include "llmperf/runs.h"
#include "llmperf/spec.h"

/* First lines of a public function that can fail: what its caller must give. */
#define NEEDS(condition, error)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return llmperf_fail(error, LLMPERF_E_USAGE, "%s() needs %s", __func__, #condition);    \
    } while (0)

/* Does a struct that carries its size have the one of this library? Zero: it did not begin with its
 * INIT. */
#define IS_SIZED(pointer) ((pointer)->size == sizeof *(pointer))

/* Of a function with a large local that must not lie in the frames of its callers too. */
#if defined(__GNUC__)
#define OWN_FRAME __attribute__((noinline))
#else
#define OWN_FRAME
#endif

/* Is an enum's value one of the first `count`? */
#define IS_BELOW(value, count) ((unsigned)(value) < (unsigned)(count))

/* Does a char array end inside itself? */
#define ENDS(array) (memchr((array), 0, sizeof(array)) != NULL)

bool notes_are_sound(const llmperf_notes *notes);

/* Counts within their arrays, every text ended: what can be read without leaving the struct. The
 * numbers in it are llmperf_hw_check()'s business. */
bool hw_is_sound(const llmperf_hw *hw);

/* Enums in range. */
bool op_is_sound(const llmperf_op *op);

/* A list of batches, tokens or widths: each from 1 to 2^30. */
bool counts_are_sound(const int64_t *values, int count);

/* NULL alone where there are none. */
bool ops_are_sound(const llmperf_op *ops, int count);

/* Enums in range, every text ended. */
bool run_is_sound(const llmperf_run *run);

/* NULL alone where there are none. */
bool ops_are_sound(const llmperf_op *ops, int count);

bool paths_are_sound(const llmperf_spec_paths *paths);

#endif
