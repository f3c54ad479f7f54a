/* SPDX-License-Identifier: MIT */
/* Names to a model, hardware and what times it: the one way that commands and programs load by. */
#include "llmperf/load.h"
#include "calib_load.h"
#include "choose.h"
#include "model_object.h"
#include "calib_object.h"
#include "engine_object.h"
#include "read.h"
#include "profile.h"
#include "entry.h"

#include <stdlib.h>
#include <string.h>

static bool is_none(const char *name)
{
    return name && strcmp(name, "none") == 0;
}

/* A name that finding it gave back is a path. */
static llmperf_status check_name(const llmperf_load_options *o, const char *path, const char *name,
                                 llmperf_error *error)
{
    if (!o->names_only || strcmp(path, name) != 0)
        return LLMPERF_OK;
    return llmperf_fail(error, LLMPERF_E_USAGE, "'%s' is a path; a name is allowed", name);
}

static llmperf_status load_model(const llmperf_load_options *o, llmperf_model *ret_model,
                                 llmperf_error *error)
{
    char path[LLMPERF_PATH_MAX];
    llmperf_status status = llmperf_find_model(o->paths, o->model, path, error);
    if (status == LLMPERF_OK)
        status = check_name(o, path, o->model, error);
    if (status == LLMPERF_OK)
        status = model_load(path, ret_model, error);
    if (status == LLMPERF_OK && o->quant)
        status = llmperf_model_quantise(ret_model, o->quant, error);
    return status;
}

static llmperf_status load_hw(const llmperf_load_options *o, llmperf_hw *ret_hw,
                              llmperf_error *error)
{
    char path[LLMPERF_PATH_MAX];
    llmperf_status status = llmperf_find_hw(o->paths, o->hw, path, error);
    if (status == LLMPERF_OK)
        status = check_name(o, path, o->hw, error);
    if (status == LLMPERF_OK)
        status = llmperf_hw_load(path, ret_hw, error);
    if (status == LLMPERF_OK && strcmp(path, o->hw) == 0) /* a file of the user's */
        status = llmperf_hw_suspect(o->paths, ret_hw, error);
    return status;
}

static llmperf_status load_profile(const llmperf_load_options *o, const char *name,
                                   llmperf_engine *ret_engine, llmperf_error *error)
{
    char path[LLMPERF_PATH_MAX];
    llmperf_status status = llmperf_find_engine(o->paths, name, path, error);
    if (status == LLMPERF_OK)
        status = check_name(o, path, name, error);
    if (status == LLMPERF_OK)
        status = engine_load(path, ret_engine, error);
    return status;
}

/* The options with folders in them; `room` holds the default ones. */
static llmperf_status with_paths(const llmperf_load_options *options, llmperf_load_options *ret,
                                 llmperf_spec_paths **ret_room, llmperf_error *error)
{
    *ret = *options;
    *ret_room = NULL;
    if (options->paths)
        return LLMPERF_OK;
    *ret_room = malloc(sizeof **ret_room);
    if (!*ret_room)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    llmperf_spec_paths_default(NULL, *ret_room);
    ret->paths = *ret_room;
    return LLMPERF_OK;
}

llmperf_status llmperf_load_engine(const llmperf_load_options *options, const char *name,
                                   llmperf_engine **ret_engine, llmperf_error *error)
{
    NEEDS(options && name && ret_engine, error);
    NEEDS(!options->paths || paths_are_sound(options->paths), error);
    llmperf_load_options o;
    llmperf_spec_paths *room;
    llmperf_status status = with_paths(options, &o, &room, error);
    llmperf_engine *engine = status == LLMPERF_OK ? calloc(1, sizeof *engine) : NULL;
    if (status == LLMPERF_OK && !engine)
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    if (status == LLMPERF_OK)
        status = load_profile(&o, name, engine, error);
    if (status == LLMPERF_OK)
        *ret_engine = engine;
    else
        free(engine);
    free(room);
    return status;
}

/* ---- what times hardware --------------------------------------------------------------------------- */

/* The calibration that is asked for by name. */
static llmperf_status load_named(const llmperf_load_options *o, const llmperf_hw *hw,
                                 llmperf_calib **ret_calib, llmperf_error *error)
{
    char path[LLMPERF_PATH_MAX];
    llmperf_status status = llmperf_find_calib(o->paths, o->calibration, path, error);
    if (status == LLMPERF_OK)
        status = calib_load_new(path, ret_calib, error);
    if (status == LLMPERF_OK)
        llmperf_calib_lend(*ret_calib, o->paths, hw);
    return status;
}

/* The profile of an engine on a part, over the fits of `kernels` (NULL = none). */
static llmperf_status load_timed(const llmperf_load_options *o, const llmperf_hw *hw,
                                 const llmperf_calib *kernels, llmperf_calib **ret_calib,
                                 llmperf_error *error)
{
    llmperf_engine *own = NULL;
    const llmperf_engine *engine = o->profile;
    llmperf_status status = LLMPERF_OK;
    llmperf_engine_part *part = malloc(sizeof *part);
    llmperf_calib *calib = malloc(sizeof *calib);
    if (!part || !calib)
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    if (status == LLMPERF_OK && !engine) {
        status = llmperf_load_engine(o, o->engine, &own, error);
        engine = own;
    }
    if (status == LLMPERF_OK) {
        engine_choose(o->paths, engine, hw, o->serving, part);
        engine_calib(engine, part, hw, kernels, calib);
        *ret_calib = calib;
    } else {
        free(calib);
    }
    free(own);
    free(part);
    return status;
}

static llmperf_status load_calib(const llmperf_load_options *o, const llmperf_hw *hw,
                                 llmperf_calib **ret_calib, llmperf_error *error)
{
    bool engine = o->profile || (o->engine && !is_none(o->engine));
    bool named = o->calibration && !is_none(o->calibration);
    llmperf_calib *calib = NULL, *kernels = NULL;
    llmperf_status status = LLMPERF_OK;
    if (named)
        status = load_named(o, hw, engine ? &kernels : &calib, error);
    else if (!engine && !is_none(o->calibration))
        status = calib_choose_new(o->paths, hw, o->library, &calib, error);
    if (status == LLMPERF_OK && engine)
        status = load_timed(o, hw, kernels, &calib, error);
    if (status == LLMPERF_OK)
        *ret_calib = calib;
    free(kernels);
    return status;
}

llmperf_status llmperf_load_calib(const llmperf_load_options *options, const llmperf_hw *hw,
                                  llmperf_calib **ret_calib, llmperf_error *error)
{
    NEEDS(options && hw_is_sound(hw) && ret_calib, error);
    NEEDS(!options->paths || paths_are_sound(options->paths), error);
    llmperf_load_options o;
    llmperf_spec_paths *room;
    llmperf_status status = with_paths(options, &o, &room, error);
    if (status == LLMPERF_OK)
        status = load_calib(&o, hw, ret_calib, error);
    free(room);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------------------ */

void llmperf_note_times(llmperf_notes *notes, const llmperf_hw *hw, const llmperf_calib *calib)
{
    if (!notes || !hw_is_sound(hw))
        return;
    bool lent = calib && calib->borrowed > 0;
    if (calib)
        llmperf_note(notes, "%s: %s (%s)%s", hw->name, lent ? "borrowed" : "calibrated",
                     calib->name, lent ? ", intervals wider" : "");
    else
        llmperf_note(notes, "%s: no calibration, times are bounds", hw->name);
}

static llmperf_status load_all(const llmperf_load_options *o, llmperf_loaded *l,
                               llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    if (o->model)
        l->model = calloc(1, sizeof *l->model);
    if (o->hw)
        l->hw = calloc(1, sizeof *l->hw);
    if ((o->model && !l->model) || (o->hw && !l->hw))
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    if (o->model)
        status = load_model(o, l->model, error);
    if (status == LLMPERF_OK && o->hw)
        status = load_hw(o, l->hw, error);
    if (status == LLMPERF_OK && o->hw)
        status = load_calib(o, l->hw, &l->calib, error);
    if (status == LLMPERF_OK && o->hw)
        llmperf_note_times(&l->notes, l->hw, l->calib);
    return status;
}

llmperf_status llmperf_load(const llmperf_load_options *options, llmperf_loaded *ret_loaded,
                            llmperf_error *error)
{
    NEEDS(options && ret_loaded && (!options->paths || paths_are_sound(options->paths)), error);
    llmperf_load_options o;
    llmperf_loaded l = {0};
    llmperf_spec_paths *room;
    llmperf_status status = with_paths(options, &o, &room, error);
    if (status == LLMPERF_OK)
        status = load_all(&o, &l, error);
    if (status == LLMPERF_OK)
        *ret_loaded = l;
    else
        llmperf_loaded_free(&l);
    free(room);
    return status;
}

void llmperf_loaded_free(llmperf_loaded *loaded)
{
    if (!loaded)
        return;
    free(loaded->model);
    free(loaded->hw);
    free(loaded->calib);
    *loaded = (llmperf_loaded){0};
}
