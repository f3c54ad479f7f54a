/* SPDX-License-Identifier: MIT */
/* What times hardware: the choice of a calibration, and an engine's profile made one. */
#ifndef LLMPERF_ENGINE_PROFILE_H
#define LLMPERF_ENGINE_PROFILE_H

#include "calib_object.h"
#include "engine_object.h"

/*
 * The best calibration there is for a part, among calibration/ of the folders:
 *   1. one fitted on the part itself (by name or alias); else one of its architecture, then the
 *      nearest of its vendor's (docs/calibration.md, "Borrowing", has the rule and what it costs)
 *   2. the asked library, where `library` is not NULL
 *   3. one that was measured on a device here before those fitted to public samples
 *   4. vllm, sglang, trtllm, then by name
 * Efficiencies carry over, absolute times as so many cycles of the clock: ret_calib->time_scale;
 * ret_calib->borrowed says what that adds.
 *   ret_found: false where no part is near enough (another vendor's, an unknown architecture):
 *              ret_calib is untouched then
 *   errors:    LLMPERF_E_IO, LLMPERF_E_SPEC for the chosen file; files whose head does not read are
 *              passed over
 */
llmperf_status calib_choose(const llmperf_spec_paths *paths, const llmperf_hw *hw,
                            const char *library, llmperf_calib *ret_calib, bool *ret_found,
                            llmperf_error *error);

/*
 * The engine's entry for a part under a load: its own; a static batch also takes the part's entry
 * for served requests; else an estimate from the other parts (those that are not found in hardware/
 * of the folders are passed over), with `borrowed` set and the nearest named in remarks. An engine
 * without parts lends what is typical.
 */
void engine_choose(const llmperf_spec_paths *paths, const llmperf_engine *engine,
                   const llmperf_hw *hw, bool serving, llmperf_engine_part *ret_part);

/*
 * A calibration that times operators and steps as the engine does on `hw`.
 *   kernels: fits of operators that take the place of the profile's where they exist (their launch
 *            times are then part of the host's per-layer time, not added to it); NULL = none
 */
void engine_calib(const llmperf_engine *engine, const llmperf_engine_part *part,
                  const llmperf_hw *hw, const llmperf_calib *kernels, llmperf_calib *ret_calib);

/*
 * d(parameter `param` of entry `entry`) / d(profile parameters), for a calibration that
 * engine_calib() made without kernels. source: docs/engines.md
 */
void engine_derivative(const llmperf_engine_part *part, const llmperf_hw *hw,
                       const llmperf_calib_entry *entry, llmperf_param param,
                       double ret_derivative[LLMPERF_ENGINE_PARAM_COUNT]);

#endif
