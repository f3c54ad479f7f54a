/* SPDX-License-Identifier: MIT */
/* The table of layer kinds: one row a kind, in the order in which a layer runs them. */
#include "layer_kind.h"
#include "model_object.h"

#define EACH_KIND(ROW)                                                                             \
    ROW(LAYER_ATTENTION)                                                                           \
    ROW(LAYER_MLA)                                                                                 \
    ROW(LAYER_INDEX)                                                                               \
    ROW(LAYER_SSM)                                                                                 \
    ROW(LAYER_MLP)                                                                                 \
    ROW(LAYER_MOE)

#define DECLARED(kind) extern const layer_kind kind;
#define LISTED(kind) &kind,

EACH_KIND(DECLARED)

const layer_kind *const LAYER_KINDS[] = {EACH_KIND(LISTED)};
const int LAYER_KIND_COUNT = sizeof LAYER_KINDS / sizeof *LAYER_KINDS;

bool layer_is_empty(const llmperf_layer *layer)
{
    for (int k = 0; k < LAYER_KIND_COUNT; k++)
        if (LAYER_KINDS[k]->emit && field_value(&LAYER_KINDS[k]->fields[0], layer) != 0)
            return false;
    return true;
}
