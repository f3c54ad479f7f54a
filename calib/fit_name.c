/* SPDX-License-Identifier: MIT */
/* A calibration of fits: its name, and what other calibrations add. */
#include <stdio.h>
#include <stdlib.h>

#include "llmperf/fit.h"
#include "llmperf/load.h"
#include "calib_object.h"
#include "entry.h"

static void name_calib(const llmperf_fits_naming *naming, const llmperf_hw *hw,
                       const llmperf_fits *fits, llmperf_calib *calib)
{
    const char *library = "";
    for (int i = 0; i < fits->count && !library[0]; i++)
        if (fits->fit[i].status == LLMPERF_OK)
            library = fits->fit[i].entry.library;
    if (naming->name)
        snprintf(calib->name, sizeof calib->name, "%s", naming->name);
    else
        snprintf(calib->name, sizeof calib->name, "%.46s%s%s", hw->name, library[0] ? "-" : "",
                 library);
    snprintf(calib->hw, sizeof calib->hw, "%s", hw->name);
    snprintf(calib->backend, sizeof calib->backend, "samples");
    snprintf(calib->date, sizeof calib->date, "%s", naming->date ? naming->date : "");
}

/* From each of the named calibrations what is still missing. */
static llmperf_status complete(const llmperf_fits_naming *naming, const llmperf_hw *hw,
                               llmperf_calib *calib, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; status == LLMPERF_OK && naming->complete && naming->complete[i]; i++) {
        const llmperf_load_options options = {.paths = naming->paths,
                                              .calibration = naming->complete[i]};
        char path[LLMPERF_PATH_MAX];
        llmperf_calib *from = NULL;
        status =
            llmperf_find_calib(naming->paths, naming->complete[i], path, error); /* no "none" */
        if (status == LLMPERF_OK)
            status = llmperf_load_calib(&options, hw, &from, error);
        if (status == LLMPERF_OK && from)
            status = llmperf_calib_complete(calib, from, error);
        llmperf_calib_free(from);
    }
    return status;
}

llmperf_status llmperf_fits_name(const llmperf_fits *fits, const llmperf_hw *hw,
                                 const llmperf_fits_naming *naming, llmperf_calib **ret_calib,
                                 llmperf_error *error)
{
    NEEDS(fits && hw_is_sound(hw) && naming && ret_calib, error);
    llmperf_calib *calib = NULL;
    llmperf_status status = llmperf_fits_to_calib(fits, &calib, error);
    if (status == LLMPERF_OK)
        status = complete(naming, hw, calib, error);
    if (status == LLMPERF_OK) {
        name_calib(naming, hw, fits, calib);
        *ret_calib = calib;
    } else {
        llmperf_calib_free(calib);
    }
    return status;
}
