/* SPDX-License-Identifier: MIT */
/* Which entry of an engine profile times a part: its own, or an estimate from its other parts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/engine.h"
#include "engine_object.h"
#include "kin.h"
#include "profile.h"

/* Standard deviation of log(time) that borrowing adds where the profile does not say. */
static const double BORROWED = 0.3;
/* Between processors: what the runs of one were off by when another's profile predicted them. */
static const double BORROWED_PROCESSOR = 0.45;
/* Of a step of an engine that was never measured. */
static const double UNKNOWN_RESIDUAL = 0.3;

/* The residuals of a part that has no rows: the mean of those that lend to it, of this load where
 * there are any. */
static void set_residuals(const llmperf_engine_part *const *lender, int count, bool any_load,
                          llmperf_engine_part *part)
{
    double decode = 0, prefill = 0, lending = 0;
    for (int i = 0; i < count; i++) {
        if (!any_load && lender[i]->serving != part->serving)
            continue;
        decode += lender[i]->decode_residual;
        prefill += lender[i]->prefill_residual;
        lending++;
    }
    decode /= fmax(lending, 1);
    prefill /= fmax(lending, 1);
    part->decode_residual = decode > 0 ? decode : UNKNOWN_RESIDUAL;
    part->prefill_residual = prefill > 0 ? prefill : UNKNOWN_RESIDUAL;
}

/* Is there an entry for this load that lends? */
static bool has_load(const llmperf_engine *engine, bool serving)
{
    for (int i = 0; i < engine->part_count; i++)
        if (engine->part[i].serving == serving && engine_lends(&engine->part[i]))
            return true;
    return false;
}

static void borrow(const llmperf_spec_paths *paths, const llmperf_engine *engine,
                   const llmperf_hw *hw, bool serving, llmperf_engine_part *part)
{
    const llmperf_engine_part *lender[LLMPERF_ENGINE_PARTS_MAX];
    const llmperf_hw *lender_hw[LLMPERF_ENGINE_PARTS_MAX];
    int count = 0, nearest = -1;
    llmperf_hw *others = malloc(sizeof *others * LLMPERF_ENGINE_PARTS_MAX);
    for (int i = 0; others && i < engine->part_count; i++) {
        char path[LLMPERF_PATH_MAX];
        if (llmperf_find_hw(paths, engine->part[i].hw, path, NULL) != LLMPERF_OK ||
            llmperf_hw_load(path, &others[count], NULL) != LLMPERF_OK ||
            !(engine_likeness(&others[count], hw) > 0))
            continue;
        lender[count] = &engine->part[i];
        lender_hw[count] = &others[count];
        count++;
    }
    engine_mean(lender, lender_hw, count, hw, serving, part->param, &nearest);
    if (nearest >= 0)
        snprintf(part->remarks, sizeof part->remarks,
                 "estimated from the %d device%s that %s measured; the nearest is %.64s", count,
                 count == 1 ? "" : "s", count == 1 ? "was" : "were", lender[nearest]->hw);
    else
        snprintf(part->remarks, sizeof part->remarks,
                 "no device of this engine is known: what is typical of engines is taken");
    set_residuals(lender, count, !has_load(engine, serving), part);
    part->borrowed = engine->borrowed > 0 ? engine->borrowed : BORROWED;
    if (count < 2) /* the engine's figure is that of parts of another kind */
        part->borrowed =
            fmax(part->borrowed, strcmp(hw->kind, "cpu") == 0 ? BORROWED_PROCESSOR : BORROWED);
    free(others);
    snprintf(part->hw, sizeof part->hw, "%s", nearest >= 0 ? lender[nearest]->hw : hw->name);
}

void engine_choose(const llmperf_spec_paths *paths, const llmperf_engine *engine,
                   const llmperf_hw *hw, bool serving, llmperf_engine_part *ret_part)
{
    const llmperf_engine_part *own = NULL;
    bool any_load = !serving || !has_load(engine, serving);
    for (int i = 0; i < engine->part_count; i++)
        if (llmperf_hw_is(hw, engine->part[i].hw) &&
            (engine->part[i].serving == serving || (any_load && !own)))
            own = &engine->part[i];
    if (own) {
        *ret_part = *own;
        return;
    }
    llmperf_engine_part part = {.serving = serving};
    borrow(paths, engine, hw, serving, &part);
    *ret_part = part;
}
