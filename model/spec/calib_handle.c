/* SPDX-License-Identifier: MIT */
/* Calibrations and engine profiles as programs hold them: made, copied, asked and ended by the
 * library. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calib_load.h"
#include "calib_object.h"
#include "engine_object.h"
#include "entry.h"
#include "fits.h"
#include "read.h"

static llmperf_status out_of_memory(llmperf_error *error)
{
    return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
}

/* ---- calibration ---------------------------------------------------------------------------------- */

llmperf_status llmperf_calib_new(llmperf_calib **ret_calib, llmperf_error *error)
{
    NEEDS(ret_calib, error);
    llmperf_calib *calib = malloc(sizeof *calib);
    if (!calib)
        return out_of_memory(error);
    calib_init(calib);
    *ret_calib = calib;
    return LLMPERF_OK;
}

llmperf_status llmperf_calib_load(const char *path, llmperf_calib **ret_calib, llmperf_error *error)
{
    NEEDS(path && ret_calib, error);
    return calib_load_new(path, ret_calib, error);
}

llmperf_status llmperf_calib_load_text(const char *name, const char *text, size_t size,
                                       llmperf_calib **ret_calib, llmperf_error *error)
{
    NEEDS(name && text && ret_calib, error);
    llmperf_calib *calib = malloc(sizeof *calib);
    llmperf_status status =
        calib ? calib_load_text(name, text, size, calib, error) : out_of_memory(error);
    if (status == LLMPERF_OK)
        *ret_calib = calib;
    else
        free(calib);
    return status;
}

llmperf_status llmperf_calib_copy(const llmperf_calib *calib, llmperf_calib **ret_calib,
                                  llmperf_error *error)
{
    NEEDS(calib && ret_calib, error);
    llmperf_calib *copy = malloc(sizeof *copy);
    if (!copy)
        return out_of_memory(error);
    *copy = *calib;
    *ret_calib = copy;
    return LLMPERF_OK;
}

void llmperf_calib_free(llmperf_calib *calib)
{
    free(calib);
}

const char *llmperf_calib_name(const llmperf_calib *calib)
{
    return calib ? calib->name : "";
}

const char *llmperf_calib_hw(const llmperf_calib *calib)
{
    return calib ? calib->hw : "";
}

const char *llmperf_calib_library(const llmperf_calib *calib)
{
    return calib ? calib->library : "";
}

const char *llmperf_calib_date(const llmperf_calib *calib)
{
    return calib ? calib->date : "";
}

double llmperf_calib_stream_bytes_per_s(const llmperf_calib *calib)
{
    return calib ? calib->stream_bytes_per_s : 0;
}

double llmperf_calib_borrowed(const llmperf_calib *calib)
{
    return calib ? calib->borrowed : 0;
}

static void set_text(char *text, size_t size, const char *value)
{
    if (value)
        snprintf(text, size, "%s", value);
}

llmperf_status llmperf_calib_set_origin(llmperf_calib *calib, const char *name, const char *hw,
                                        const char *device, const char *backend, const char *date,
                                        llmperf_error *error)
{
    NEEDS(calib, error);
    set_text(calib->name, sizeof calib->name, name);
    set_text(calib->hw, sizeof calib->hw, hw);
    set_text(calib->device, sizeof calib->device, device);
    set_text(calib->backend, sizeof calib->backend, backend);
    set_text(calib->date, sizeof calib->date, date);
    return LLMPERF_OK;
}

llmperf_status llmperf_calib_set_param(llmperf_calib *calib, const llmperf_calib_key *key,
                                       llmperf_param param, double value, llmperf_error *error)
{
    NEEDS(calib && key && IS_BELOW(param, LLMPERF_PARAM_COUNT), error);
    NEEDS(key->kind < LLMPERF_KIND_COUNT, error);
    llmperf_calib_entry entry = calib_ideal((llmperf_op_kind)key->kind);
    for (int i = 0; i < calib->entry_count; i++)
        if (calib_same_key(&calib->entry[i].key, key))
            entry = calib->entry[i];
    entry.key = *key;
    entry.param[param] = value;
    return calib_add(calib, &entry, error);
}

int llmperf_calib_entry_count(const llmperf_calib *calib)
{
    return calib ? calib->entry_count : 0;
}

const llmperf_calib_entry *llmperf_calib_entry_at(const llmperf_calib *calib, int index)
{
    return calib && index >= 0 && index < calib->entry_count ? &calib->entry[index] : NULL;
}

llmperf_calib_key llmperf_calib_entry_key(const llmperf_calib_entry *entry)
{
    return entry ? entry->key : (llmperf_calib_key){0};
}

double llmperf_calib_entry_param(const llmperf_calib_entry *entry, llmperf_param param)
{
    return entry && IS_BELOW(param, LLMPERF_PARAM_COUNT) ? entry->param[param] : 0;
}

double llmperf_calib_entry_residual(const llmperf_calib_entry *entry)
{
    return entry ? entry->residual : 0;
}

/* ---- engine profile ------------------------------------------------------------------------------- */

llmperf_status llmperf_engine_load(const char *path, llmperf_engine **ret_engine,
                                   llmperf_error *error)
{
    NEEDS(path && ret_engine, error);
    llmperf_engine *engine = malloc(sizeof *engine);
    llmperf_status status = engine ? engine_load(path, engine, error) : out_of_memory(error);
    if (status == LLMPERF_OK)
        *ret_engine = engine;
    else
        free(engine);
    return status;
}

llmperf_status llmperf_engine_load_text(const char *name, const char *text, size_t size,
                                        llmperf_engine **ret_engine, llmperf_error *error)
{
    NEEDS(name && text && ret_engine, error);
    llmperf_engine *engine = malloc(sizeof *engine);
    llmperf_status status =
        engine ? engine_load_text(name, text, size, engine, error) : out_of_memory(error);
    if (status == LLMPERF_OK)
        *ret_engine = engine;
    else
        free(engine);
    return status;
}

llmperf_status llmperf_engine_copy(const llmperf_engine *engine, llmperf_engine **ret_engine,
                                   llmperf_error *error)
{
    NEEDS(engine && ret_engine, error);
    llmperf_engine *copy = malloc(sizeof *copy);
    if (!copy)
        return out_of_memory(error);
    *copy = *engine;
    *ret_engine = copy;
    return LLMPERF_OK;
}

void llmperf_engine_free(llmperf_engine *engine)
{
    free(engine);
}

const char *llmperf_engine_name(const llmperf_engine *engine)
{
    return engine ? engine->name : "";
}

int llmperf_engine_part_count(const llmperf_engine *engine)
{
    return engine ? engine->part_count : 0;
}

const llmperf_engine_part *llmperf_engine_part_at(const llmperf_engine *engine, int index)
{
    return engine && index >= 0 && index < engine->part_count ? &engine->part[index] : NULL;
}

const char *llmperf_engine_part_hw(const llmperf_engine_part *part)
{
    return part ? part->hw : "";
}

bool llmperf_engine_part_is_serving(const llmperf_engine_part *part)
{
    return part && part->serving;
}

double llmperf_engine_part_param(const llmperf_engine_part *part, llmperf_engine_param param)
{
    return part && IS_BELOW(param, LLMPERF_ENGINE_PARAM_COUNT) ? part->param[param] : 0;
}
