/* SPDX-License-Identifier: MIT */
/* Legality of a model, whoever filled it in. */
#include <stdio.h>
#include <string.h>

#include "layer_kind.h"
#include "read.h"
#include "model_object.h"

static bool within(int64_t value, int64_t least, int64_t most)
{
    return value >= least && value <= most;
}

static bool any_of(const layer_kind *kind, const llmperf_layer *layer)
{
    return field_value(&kind->fields[0], layer) != 0;
}

/* "attention, mla, ssm, mlp or moe" */
static void list_kinds(char *buffer, size_t size)
{
    size_t used = 0;
    int last = LAYER_KIND_COUNT - 1;
    while (last > 0 && !LAYER_KINDS[last]->emit)
        last--;
    buffer[0] = '\0';
    for (int k = 0; k <= last && used < size; k++)
        if (LAYER_KINDS[k]->emit)
            used += (size_t)snprintf(buffer + used, size - used, "%s%s",
                                     used == 0   ? ""
                                     : k == last ? " or "
                                                 : ", ",
                                     LAYER_KINDS[k]->name);
}

/* A kind beside one that it does not go with; NULL = there is none. */
static const layer_kind *one_too_many(const llmperf_layer *layer)
{
    for (int k = 0; k < LAYER_KIND_COUNT; k++)
        for (int other = 0; other < LAYER_KIND_COUNT && LAYER_KINDS[k]->not_with; other++)
            if (any_of(LAYER_KINDS[k], layer) && any_of(LAYER_KINDS[other], layer) &&
                strcmp(LAYER_KINDS[other]->name, LAYER_KINDS[k]->not_with) == 0)
                return LAYER_KINDS[k];
    return NULL;
}

static bool fields_in_range(const llmperf_layer *layer)
{
    for (int k = 0; k < LAYER_KIND_COUNT; k++)
        for (const layer_field *f = LAYER_KINDS[k]->fields; f->key; f++)
            if (any_of(LAYER_KINDS[k], layer) && !field_in_range(f, layer))
                return false;
    return true;
}

static llmperf_status check_layer(const char *name, const llmperf_layer *layer, int number,
                                  llmperf_error *error)
{
    char kinds[160];
    const layer_kind *second = one_too_many(layer);
    if (layer_is_empty(layer)) {
        list_kinds(kinds, sizeof kinds);
        return llmperf_fail(error, LLMPERF_E_SPEC,
                            "model '%s': layer shape %d is empty; %s is required", name, number,
                            kinds);
    }
    if (second)
        return llmperf_fail(error, LLMPERF_E_SPEC,
                            "model '%s': layer shape %d has both %s and %s; one of them is "
                            "allowed",
                            name, number, second->not_with, second->name);
    if (!within(layer->count, 1, 1 << 16) || !within(layer->norms, 0, 8) || !fields_in_range(layer))
        return layer_out_of_range(name, number, error);
    for (int k = 0; k < LAYER_KIND_COUNT; k++) {
        const layer_kind *kind = LAYER_KINDS[k];
        llmperf_status status = kind->check && any_of(kind, layer)
                                    ? kind->check(name, layer, number, error)
                                    : LLMPERF_OK;
        if (status != LLMPERF_OK)
            return status;
    }
    return LLMPERF_OK;
}

llmperf_status model_check(const llmperf_model *model, llmperf_error *error)
{
    const char *name = model->name;
    if (!within(model->hidden, 1, 1 << 20) || !within(model->vocab, 1, 1 << 24) ||
        !within(model->embedding_dim, 1, 1 << 20) ||
        !within(model->position_embeddings, 0, 1 << 30) ||
        !within(model->layer_kind_count, 1, LLMPERF_LAYER_KINDS_MAX))
        return llmperf_fail(error, LLMPERF_E_SPEC,
                            "model '%s': hidden, vocab, embedding or number of layer shapes out of "
                            "range",
                            name);
    for (int i = 0; i < model->layer_kind_count; i++) {
        llmperf_status status = check_layer(name, &model->layers[i], i + 1, error);
        if (status != LLMPERF_OK)
            return status;
    }
    for (int i = 0; i < LLMPERF_WEIGHT_COUNT; i++)
        if (!(model->weight_bits[i] > 0 && model->weight_bits[i] <= 64) ||
            model->weight_dtype[i] == LLMPERF_DTYPE_NONE ||
            model->weight_dtype[i] >= LLMPERF_DTYPE_COUNT)
            return llmperf_fail(error, LLMPERF_E_SPEC,
                                "model '%s': the format of its %s weights is not set", name,
                                spec_weight_word(i));
    if (model->dtype == LLMPERF_DTYPE_NONE || model->dtype >= LLMPERF_DTYPE_COUNT)
        return llmperf_fail(error, LLMPERF_E_SPEC, "model '%s': dtype is not set", name);
    return LLMPERF_OK;
}
