/* SPDX-License-Identifier: MIT */
#include "entry.h"

bool notes_are_sound(const llmperf_notes *notes)
{
    bool sound = notes && notes->count >= 0 && notes->count <= LLMPERF_NOTES_MAX;
    for (int i = 0; sound && i < notes->count; i++)
        sound = ENDS(notes->text[i]);
    return sound;
}

static bool aliases_are_sound(int count, const char aliases[][LLMPERF_NAME_MAX])
{
    bool sound = count >= 0 && count <= LLMPERF_ALIASES_MAX;
    for (int i = 0; sound && i < count; i++)
        sound = ENDS(aliases[i]);
    return sound;
}

bool hw_is_sound(const llmperf_hw *hw)
{
    bool sound = hw && ENDS(hw->name) && ENDS(hw->kind) && ENDS(hw->vendor) &&
                 ENDS(hw->architecture) && ENDS(hw->link.kind) && ENDS(hw->nodes.kind) &&
                 ENDS(hw->pcie.kind) && aliases_are_sound(hw->alias_count, hw->aliases) &&
                 notes_are_sound(&hw->notes) && notes_are_sound(&hw->warnings);
    for (int i = 0; sound && i < LLMPERF_DTYPE_COUNT; i++)
        sound = ENDS(hw->absent[i]);
    for (int i = 0; sound && i < LLMPERF_HW_FIELD_COUNT; i++)
        sound = ENDS(hw->provenance[i].source);
    return sound;
}

bool op_is_sound(const llmperf_op *op)
{
    return op && op->id < LLMPERF_OP_COUNT && op->kind < LLMPERF_KIND_COUNT &&
           op->group < LLMPERF_GROUP_COUNT && op->regime < LLMPERF_REGIME_COUNT &&
           op->dtype < LLMPERF_DTYPE_COUNT && op->stored < LLMPERF_DTYPE_COUNT &&
           op->collective < LLMPERF_COLLECTIVE_COUNT;
}

bool ops_are_sound(const llmperf_op *ops, int count)
{
    bool sound = count == 0 || (count > 0 && ops);
    for (int i = 0; sound && i < count; i++)
        sound = op_is_sound(&ops[i]);
    return sound;
}

bool run_is_sound(const llmperf_run *run)
{
    return run && IS_BELOW(run->kind, LLMPERF_RUN_SERVING + 1) &&
           IS_BELOW(run->metric, LLMPERF_METRIC_COUNT) && ENDS(run->file) && ENDS(run->source) &&
           ENDS(run->engine) && ENDS(run->engine_version) && ENDS(run->gpu) && ENDS(run->model) &&
           ENDS(run->weight_dtype) && ENDS(run->act_dtype) && ENDS(run->kv_dtype);
}

bool paths_are_sound(const llmperf_spec_paths *paths)
{
    const int most = (int)(sizeof paths->folder / sizeof *paths->folder);
    bool sound = paths && paths->count >= 0 && paths->count <= most;
    for (int i = 0; sound && i < paths->count; i++)
        sound = ENDS(paths->folder[i]);
    return sound;
}

bool counts_are_sound(const int64_t *values, int count)
{
    bool sound = count == 0 || (count > 0 && values);
    for (int i = 0; sound && i < count; i++)
        sound = values[i] >= 1 && values[i] <= (int64_t)1 << 30;
    return sound;
}
