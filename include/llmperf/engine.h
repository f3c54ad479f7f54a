/* SPDX-License-Identifier: MIT */
/*
 * Engine profiles: what an inference engine makes of a part. A profile holds, per part, how well the
 * engine's kernels use memory and arithmetic and what its host costs per step, layer, sequence and
 * collective; docs/engines.md derives the form. For one part it becomes a calibration
 * (llmperf_engine_calib()), so that every time still comes from one formula.
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
#define LLMPERF_ENGINE_SCHEMA 1

/* A profile; ended by llmperf_engine_free(), read-only in use. */
typedef struct llmperf_engine llmperf_engine;

/* Reads a profile YAML (docs/engines.md); unknown keys and values outside physics are refused.
 * Errors: LLMPERF_E_IO, LLMPERF_E_SPEC with position; all faults of the file in one run;
 * LLMPERF_E_MEMORY. */
LLMPERF_API llmperf_status llmperf_engine_load(const char *path, llmperf_engine **ret_engine,
                                               llmperf_error *error);
LLMPERF_API llmperf_status llmperf_engine_load_text(const char *name, const char *text, size_t size,
                                                    llmperf_engine **ret_engine,
                                                    llmperf_error *error);
LLMPERF_API llmperf_status llmperf_engine_copy(const llmperf_engine *engine,
                                               llmperf_engine **ret_engine, llmperf_error *error);
LLMPERF_API void llmperf_engine_free(llmperf_engine *engine); /* NULL is fine */

/* Belongs to the profile. */
LLMPERF_API const char *llmperf_engine_name(const llmperf_engine *engine);

/* The engine on one part; belongs to the profile. The struct itself is for who prints fits: fitted.h. */
typedef struct llmperf_engine_part llmperf_engine_part;
LLMPERF_API int llmperf_engine_part_count(const llmperf_engine *engine);
/* NULL beyond the last. */
LLMPERF_API const llmperf_engine_part *llmperf_engine_part_at(const llmperf_engine *engine,
                                                              int index);
LLMPERF_API const char *llmperf_engine_part_hw(const llmperf_engine_part *part);
LLMPERF_API bool llmperf_engine_part_is_serving(const llmperf_engine_part *part);
LLMPERF_API double llmperf_engine_part_param(const llmperf_engine_part *part,
                                             llmperf_engine_param param);

/*
 * A calibration that times operators and steps as the engine does on `hw`: by its entry for the part
 * under that load; a static batch also takes the part's entry for served requests; else by an estimate
 * from the other parts (those that are not found in hardware/ of the folders are passed over), which
 * llmperf_calib_borrowed() tells.
 *   kernels: fits of operators that take the place of the profile's where they exist (their launch
 *            times are then part of the host's per-layer time, not added to it); NULL = none
 *   errors:  LLMPERF_E_MEMORY
 */
LLMPERF_API llmperf_status llmperf_engine_calib(const llmperf_engine *engine,
                                                const llmperf_spec_paths *paths,
                                                const llmperf_hw *hw, bool serving,
                                                const llmperf_calib *kernels,
                                                llmperf_calib **ret_calib, llmperf_error *error);

/* Writes what llmperf_engine_load() reads back to the same value. Errors: LLMPERF_E_IO. */
LLMPERF_API llmperf_status llmperf_engine_write(FILE *out, const llmperf_engine *engine,
                                                llmperf_error *error);

/* A path, or a shipped name or alias. Errors: LLMPERF_E_USAGE for an unknown name, all known ones
 * listed. ret_path: at least LLMPERF_PATH_MAX bytes. */
LLMPERF_API llmperf_status llmperf_find_engine(const llmperf_spec_paths *paths, const char *name,
                                               char *ret_path, llmperf_error *error);

#ifdef __cplusplus
}
#endif

#endif
