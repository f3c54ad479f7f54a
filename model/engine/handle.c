/* SPDX-License-Identifier: MIT */
/* The calibration for hardware, chosen or made of an engine's profile, as programs hold it. */
#include <stdlib.h>

#include "choose.h"
#include "entry.h"
#include "profile.h"
#include "calib_object.h"
#include "engine_object.h"

llmperf_status llmperf_calib_choose(const llmperf_spec_paths *paths, const llmperf_hw *hw,
                                    const char *library, llmperf_calib **ret_calib,
                                    llmperf_error *error)
{
    NEEDS(paths_are_sound(paths) && hw_is_sound(hw) && ret_calib, error);
    return calib_choose_new(paths, hw, library, ret_calib, error);
}

llmperf_status llmperf_engine_calib(const llmperf_engine *engine, const llmperf_spec_paths *paths,
                                    const llmperf_hw *hw, bool serving,
                                    const llmperf_calib *kernels, llmperf_calib **ret_calib,
                                    llmperf_error *error)
{
    NEEDS(engine && paths_are_sound(paths) && hw_is_sound(hw) && ret_calib, error);
    llmperf_engine_part *part = malloc(sizeof *part);
    llmperf_calib *calib = malloc(sizeof *calib);
    if (!part || !calib) {
        free(part);
        free(calib);
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    engine_choose(paths, engine, hw, serving, part);
    engine_calib(engine, part, hw, kernels, calib);
    free(part);
    *ret_calib = calib;
    return LLMPERF_OK;
}
