/* SPDX-License-Identifier: MIT */
/*
 * Engine profiles: what an inference engine makes of a part. A profile holds, per part, how well the
 * engine's kernels use memory and arithmetic and what its host costs per step, layer, sequence and
 * collective; docs/engines.md derives the form. For one part it becomes a calibration
 * (llmperf_engine_calib()), so that every time still comes from llmperf_time_op() and llmperf_step().
 */
#ifndef LLMPERF_ENGINE_H
#define LLMPERF_ENGINE_H

#include <stdio.h>

#include "llmperf/calib.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "weight_efficiency", "layer_s" ...; static storage. */
LLMPERF_API const char *llmperf_engine_param_name(llmperf_engine_param param);
/* LLMPERF_ENGINE_PARAM_COUNT: none. */
LLMPERF_API llmperf_engine_param llmperf_engine_param_parse(const char *name);
/* Where it is physics; an efficiency ends at 1.05, as parts beat their datasheets by a few %. */
LLMPERF_API llmperf_param_range llmperf_engine_param_limits(llmperf_engine_param param);
/* What is typical of engines, where nothing is known of one: about the middle of what fits to public
 * runs give. */
LLMPERF_API double llmperf_engine_param_typical(llmperf_engine_param param);
/* The same on a part of the kind of `hw`: processors differ. */
LLMPERF_API double llmperf_engine_typical_on(const llmperf_hw *hw, llmperf_engine_param param);
/* Standard deviation of the logarithm on such a part: between engines, or between the parts of one. */
LLMPERF_API double llmperf_engine_spread_on(const llmperf_hw *hw, llmperf_engine_param param,
                                            bool of_parts);
/* False for a parameter that says nothing on a part of the kind of `hw`. */
LLMPERF_API bool llmperf_engine_param_applies(const llmperf_hw *hw, llmperf_engine_param param);

/* How good a profile is on one part; errors are |predicted / measured - 1|, fractions. */
typedef struct llmperf_engine_quality {
    int64_t rows, models; /* fitted on */
    int64_t refused;      /* rows left out: faster than the roofline ... */
    double median_frac, mean_frac, p90_frac, bias_frac;
    /* of models that the fit did not see; 0 = there was one model only */
    double unseen_median_frac, unseen_p90_frac, unseen_coverage_frac;
    double unseen_part_frac; /* median, from the other parts alone; 0 = there are none */
    double roofline_frac, constant_frac; /* medians of the datasheet and of one efficiency */
} llmperf_engine_quality;

/* An engine on one part. */
typedef struct llmperf_engine_part {
    char hw[LLMPERF_NAME_MAX];
    bool serving;      /* fitted to served requests; else to static batches */
    char versions[96]; /* of the engine, as its rows say */
    double param[LLMPERF_ENGINE_PARAM_COUNT];
    double error[LLMPERF_ENGINE_PARAM_COUNT]; /* standard error of log(param) */
    /* of log(param), with the squares of `error` in its diagonal; all 0 where they are not known */
    double covariance[LLMPERF_ENGINE_PARAM_COUNT][LLMPERF_ENGINE_PARAM_COUNT];
    uint32_t fitted; /* bit i: the rows tell param[i]; else it is that of like parts */
    /* standard deviation of log(measured / predicted) of a whole step, models never seen, beside what
     * the covariance of the parameters explains */
    double decode_residual, prefill_residual;
    double borrowed; /* added to it; 0 = the part's own. Set by llmperf_engine_choose() */
    char remarks[LLMPERF_TEXT_MAX];
    llmperf_engine_quality quality;
} llmperf_engine_part;

#define LLMPERF_ENGINE_PARTS_MAX 48
#define LLMPERF_ENGINE_SCHEMA 1

typedef struct llmperf_engine {
    char name[48];
    int alias_count;
    char aliases[LLMPERF_ALIASES_MAX][LLMPERF_NAME_MAX];
    char source[LLMPERF_TEXT_MAX], licence[LLMPERF_NAME_MAX]; /* of the rows */
    char date[32], digest[32];
    double borrowed; /* standard deviation of log(time) that a part without an entry adds */
    int part_count;
    llmperf_engine_part part[LLMPERF_ENGINE_PARTS_MAX];
} llmperf_engine;

/* Reads a profile YAML (docs/engines.md); unknown keys and values outside physics are refused.
 * Errors: LLMPERF_E_IO, LLMPERF_E_SPEC with position; all faults of the file in one run. */
LLMPERF_API llmperf_status llmperf_engine_load(const char *path, llmperf_engine *ret_engine,
                                               llmperf_error *error);
LLMPERF_API llmperf_status llmperf_engine_load_text(const char *name, const char *text, size_t size,
                                                    llmperf_engine *ret_engine,
                                                    llmperf_error *error);
/* Writes what llmperf_engine_load() reads back to the same value. Errors: LLMPERF_E_IO. */
LLMPERF_API llmperf_status llmperf_engine_write(FILE *out, const llmperf_engine *engine,
                                                llmperf_error *error);

/* A path, or a shipped name or alias. Errors: LLMPERF_E_USAGE for an unknown name, all known ones
 * listed. ret_path: at least LLMPERF_PATH_MAX bytes. */
LLMPERF_API llmperf_status llmperf_find_engine(const llmperf_spec_paths *paths, const char *name,
                                               char *ret_path, llmperf_error *error);

/* How alike two parts are to an engine: the correlation of what it makes of them; 1 = twins, 0 = a
 * processor and a GPU. */
LLMPERF_API double llmperf_engine_likeness(const llmperf_hw *a, const llmperf_hw *b);

/* False for an entry whose rows reach less than half of the memory bandwidth: something that they do
 * not tell holds the part up, and other parts must not inherit it. */
LLMPERF_API bool llmperf_engine_lends(const llmperf_engine_part *part);

/*
 * The engine's entry for a part under a load: its own; a static batch also takes the part's entry
 * for served requests; else an estimate from the other parts (those that are not found in hardware/
 * of the folders are passed over), with `borrowed` set and the nearest named in remarks. An engine
 * without parts lends what is typical.
 */
LLMPERF_API void llmperf_engine_choose(const llmperf_spec_paths *paths,
                                       const llmperf_engine *engine, const llmperf_hw *hw,
                                       bool serving, llmperf_engine_part *ret_part);

/*
 * The estimate that choose takes, from `count` entries on parts other than `hw`: the best linear one
 * of the logarithms, given how alike the parts are and how well their rows tell each parameter
 * (error[], quality.rows); entries of the other load count for little where there are any of this
 * one. Each parameter lies within what the entries and the typical engine span. ret_nearest: index
 * of the entry most alike, -1 without any. source: docs/engines.md, "Which part"
 */
LLMPERF_API void llmperf_engine_mean(const llmperf_engine_part *const *parts,
                                     const llmperf_hw *const *parts_hw, int count,
                                     const llmperf_hw *hw, bool serving,
                                     double ret_param[LLMPERF_ENGINE_PARAM_COUNT],
                                     int *ret_nearest);

/*
 * A calibration that times operators and steps as the engine does on `hw`.
 *   kernels: fits of operators that take the place of the profile's where they exist (their launch
 *            times are then part of the host's per-layer time, not added to it); NULL = none
 */
LLMPERF_API void llmperf_engine_calib(const llmperf_engine *engine, const llmperf_engine_part *part,
                                      const llmperf_hw *hw, const llmperf_calib *kernels,
                                      llmperf_calib *ret_calib);

/*
 * d(parameter `param` of entry `entry`) / d(profile parameters), for a calibration that
 * llmperf_engine_calib() made without kernels. source: docs/engines.md
 */
LLMPERF_API void llmperf_engine_derivative(const llmperf_engine_part *part, const llmperf_hw *hw,
                                           const llmperf_calib_entry *entry, llmperf_param param,
                                           double ret_derivative[LLMPERF_ENGINE_PARAM_COUNT]);

#ifdef __cplusplus
}
#endif

#endif
