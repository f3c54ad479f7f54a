/* SPDX-License-Identifier: MIT */
/* The fields of a layer kind: reading and setting them by their rows. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "layer_kind.h"
#include "model_object.h"

void field_set(const layer_field *field, llmperf_layer *layer, int64_t value)
{
    char *at = (char *)layer + field->offset;
    if (field->size == sizeof(int64_t))
        *(int64_t *)at = value;
    else if (field->type == FIELD_FLAG)
        *(bool *)at = value != 0;
    else
        *(uint8_t *)at = (uint8_t)value;
}

const layer_field *field_of(const layer_kind *kind, const char *key)
{
    for (const layer_field *f = kind->fields; f->key; f++)
        if (strcmp(f->key, key) == 0)
            return f;
    return NULL;
}

int64_t field_absent(const layer_kind *kind, const layer_field *field, const llmperf_layer *layer)
{
    return field->like ? field_value(field_of(kind, field->like), layer) : field->absent;
}

static int64_t word_count(const layer_field *field)
{
    int64_t count = 0;
    while (field->words[count])
        count++;
    return count;
}

bool field_in_range(const layer_field *field, const llmperf_layer *layer)
{
    int64_t value = field_value(field, layer);
    if (field->type == FIELD_FLAG)
        return true;
    if (field->type == FIELD_WORD)
        return value >= 0 && value < word_count(field);
    bool absent = !field->required && !field->like && value == field->absent;
    return absent || (value >= field->least && value <= field->most);
}

const char *field_word(const layer_field *field, const llmperf_layer *layer)
{
    return field_in_range(field, layer) ? field->words[field_value(field, layer)] : "?";
}

llmperf_status layer_out_of_range(const char *model, int number, llmperf_error *error)
{
    return llmperf_fail(error, LLMPERF_E_SPEC,
                        "model '%s': a dimension of layer shape %d is out of range", model, number);
}

void kind_describe(const layer_kind *kind, const llmperf_layer *layer, char *buffer, size_t size)
{
    if (kind->describe) {
        kind->describe(layer, buffer, size);
        return;
    }
    int length = snprintf(buffer, size, "%s", kind->name);
    size_t used = length > 0 ? (size_t)length : size;
    for (const layer_field *f = kind->fields; f->key && used < size; f++) {
        if (!f->required)
            continue;
        length = f->type == FIELD_WORD
                     ? snprintf(buffer + used, size - used, ", %s", field_word(f, layer))
                     : snprintf(buffer + used, size - used, ", %s %" PRId64, f->key,
                                field_value(f, layer));
        used += length > 0 ? (size_t)length : size;
    }
}
