/* SPDX-License-Identifier: MIT */
/* The table of layer kinds: a layer runs them in this order. */
#include "emit.h"

const layer_kind *const LAYER_KINDS[] = {
    &LAYER_ATTENTION, &LAYER_MLA, &LAYER_SSM, &LAYER_MLP, &LAYER_MOE,
};

const int LAYER_KIND_COUNT = sizeof LAYER_KINDS / sizeof *LAYER_KINDS;
