/* SPDX-License-Identifier: MIT */
/*
 * From names to what a prediction needs: the folders of specifications, a model, hardware, and the
 * calibration or engine profile that times them. Every command of the program loads by this one way.
 */
#ifndef LLMPERF_LOAD_H
#define LLMPERF_LOAD_H

#include "llmperf/calib.h"
#include "llmperf/engine.h"
#include "llmperf/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The folders that hold specifications, in this order: `first` (NULL = none), $LLMPERF_SPECS, the
 * user's own ($XDG_DATA_HOME/llmperf/specs, else ~/.local/share/llmperf/specs), those beside the
 * running program (installed, or in a source tree), the one that the library was built for. Folders
 * that do not exist are passed over by what searches them.
 */
LLMPERF_API void llmperf_spec_paths_default(const char *first, llmperf_spec_paths *ret_paths);

/* What is wanted; zero means none or default. Texts are borrowed for the call. */
typedef struct llmperf_load_options {
    const llmperf_spec_paths *paths; /* NULL = llmperf_spec_paths_default(NULL) */
    const char *model, *hw;          /* a shipped name, an alias or a path; NULL = not wanted */
    const char *quant;               /* scheme for the model; NULL = as its file has it */
    const char *calibration;         /* a name, a path, "none"; NULL = the best for the hardware */
    const char *engine;            /* a profile's name or path; "none" and NULL = operators alone */
    const llmperf_engine *profile; /* one that is loaded already, in place of `engine` */
    const char *library;           /* whose kernels the best calibration should be of */
    bool serving;                  /* the profile's entry for served requests */
    bool names_only;               /* a path is refused: the names are not the user's own */
    uint64_t room[8];              /* for what comes; 0 */
} llmperf_load_options;

/* What was loaded; owned, ends with llmperf_loaded_free(). A calibration is made for use on `hw`. */
typedef struct llmperf_loaded {
    llmperf_model *model; /* NULL = was not wanted */
    llmperf_hw *hw;
    llmperf_calib *calib; /* NULL = none: predictions are bounds */
    llmperf_notes notes;  /* with hardware one line: what times it */
    uint64_t room[8];     /* for what comes; 0 */
} llmperf_loaded;

/*
 * Loads the model and puts the scheme on it, then the hardware, then what times it. A hardware file
 * of the user's is checked against the shipped ones (hw->warnings). Without hardware nothing is
 * looked up of calibration and engine.
 *   errors: LLMPERF_E_USAGE for an unknown name, with a suggestion; LLMPERF_E_IO, LLMPERF_E_SPEC with
 *           position for a file; LLMPERF_E_UNSUPPORTED for a scheme that the model cannot have;
 *           LLMPERF_E_MEMORY. On failure there is nothing to free.
 */
LLMPERF_API llmperf_status llmperf_load(const llmperf_load_options *options,
                                        llmperf_loaded *ret_loaded, llmperf_error *error);
LLMPERF_API void llmperf_loaded_free(llmperf_loaded *loaded);

/* An engine profile by name or path, of options->paths and names_only. Errors as above. */
LLMPERF_API llmperf_status llmperf_load_engine(const llmperf_load_options *options,
                                               const char *name, llmperf_engine **ret_engine,
                                               llmperf_error *error);

/*
 * What times `hw`, by options->calibration, engine, profile, library and serving:
 *   an engine: its profile's entry for the part; a calibration that is asked for by name then times
 *              the operators that it has fits for
 *   else:      the calibration of that name, lent to the part; by default the best one that there is
 * NULL: none. Errors as above.
 */
LLMPERF_API llmperf_status llmperf_load_calib(const llmperf_load_options *options,
                                              const llmperf_hw *hw, llmperf_calib **ret_calib,
                                              llmperf_error *error);

/* Adds the line of llmperf_loaded.notes: "h100-sxm: calibrated (h100-sxm-vllm)". calib NULL = none. */
LLMPERF_API void llmperf_note_times(llmperf_notes *notes, const llmperf_hw *hw,
                                    const llmperf_calib *calib);

#ifdef __cplusplus
}
#endif

#endif
