/* SPDX-License-Identifier: MIT */
/*
 * What a layer kind is: a part of a layer, such as attention or a feed-forward network. A kind is one
 * file, layer_X.c, and one row of layers.c. It describes itself by a table of fields, which the readers
 * and writers of model files, the record and the checks walk; none of them names a kind.
 */
#ifndef LLMPERF_OP_LAYER_KIND_H
#define LLMPERF_OP_LAYER_KIND_H

#include <stddef.h>

#include "llmperf/predict.h"
#include "model_object.h"

typedef enum field_type {
    FIELD_COUNT, /* a whole number in an int64_t */
    FIELD_FLAG,  /* a bool */
    FIELD_WORD,  /* the index of one of `words`, in a uint8_t or an int64_t */
} field_type;

/*
 * One field of a kind: a key of model files and of the record, and its place in llmperf_layer. Where a
 * file does not say it, it is `absent`, or the value of the field `like`; a file does not write what it
 * would be then.
 */
typedef struct layer_field {
    const char *key;
    field_type type;
    size_t offset, size;
    int64_t least, most; /* of a count that is not absent */
    bool required;
    bool always;        /* written by a file although it is what an absent one would be */
    bool file_only;     /* not in the record */
    bool null_for_none; /* in the record: null in place of 0 */
    int64_t absent;
    const char *like;
    const char *const *words; /* NULL-terminated */
} layer_field;

/* The rows of a table of fields: COUNT_FIELD(attention, heads, 1, 1 << 16), .required = true. */
#define FIELD_AT(part, member)                                                                     \
    .key = #member, .offset = offsetof(llmperf_layer, part.member),                                \
    .size = sizeof(((llmperf_layer *)0)->part.member)
#define COUNT_FIELD(part, member, lowest, highest)                                                 \
    FIELD_AT(part, member), .type = FIELD_COUNT, .least = (lowest), .most = (highest)
#define FLAG_FIELD(part, member) FIELD_AT(part, member), .type = FIELD_FLAG
#define WORD_FIELD(part, member, list) FIELD_AT(part, member), .type = FIELD_WORD, .words = (list)
/* Of a kind without a struct in spec.h: a count in llmperf_layer.own[slot]. Kinds share no slot. */
#define OWN_FIELD(name, slot, lowest, highest)                                                     \
    .key = (name), .offset = offsetof(llmperf_layer, own[slot]), .size = sizeof(int64_t),          \
    .type = FIELD_COUNT, .least = (lowest), .most = (highest)

enum { LAYER_FIELDS_MAX = 24 }; /* of one kind */

#define LAYER_MOST_HEADS (1 << 16) /* heads, and values of one of them */
#define LAYER_MOST_WIDTH (1 << 20)
#define LAYER_MOST_FFN (1 << 24)
#define LAYER_MOST_TOKENS ((int64_t)1 << 40)

typedef struct emitter emitter;

typedef struct weight_count {
    int64_t by_class[LLMPERF_WEIGHT_COUNT];
} weight_count;

typedef struct layer_kind layer_kind;

/*
 * A function that a kind does not need is NULL.
 *   emit:           its operators on one device, from its norm to the all-reduce behind it; NULL = the
 *                   kind changes another one, which emits it (the indexer of sparse attention)
 *   count_weights:  adds its weights on one of `tp` devices (1 = the whole model)
 *   idle_weights:   those of the whole model that a token does not pass
 *   kv_values:      cached K and V values of one sequence of `tokens` tokens on one of tp devices,
 *                   one layer
 *   index_values:   cached 8-bit index keys likewise
 *   state_bytes:    constant state of one sequence on one of tp devices, one layer
 *   widest:         values per token of its widest tensor between operators, on all devices together,
 *                   and widest_formula in the symbols of docs/model.md
 *   splits:         can tp devices share it?
 *   check:          what the ranges of its fields do not say; `number` of the layer shape is from 1
 *   describe:       in a few words; NULL = its name and the fields that are required
 */
struct layer_kind {
    const char *name; /* its key in model files and in the record */
    /* up to a NULL key; a layer has the kind when the first is above 0 */
    const layer_field *fields;
    const char *not_with; /* name of a kind that a layer cannot have beside this one */
    bool mixes;           /* tokens with one another: attention and its kin; else feed-forward */
    void (*emit)(emitter *e, const llmperf_layer *layer);
    void (*count_weights)(const llmperf_model *model, const llmperf_layer *layer, int64_t tp,
                          weight_count *sum);
    int64_t (*idle_weights)(const llmperf_model *model, const llmperf_layer *layer);
    double (*kv_values)(const llmperf_layer *layer, int64_t tp, double tokens);
    double (*index_values)(const llmperf_layer *layer, int64_t tp, double tokens);
    double (*state_bytes)(const llmperf_layer *layer, int64_t tp);
    double (*widest)(const llmperf_layer *layer);
    const char *widest_formula;
    bool (*splits)(const llmperf_layer *layer, int64_t tp);
    llmperf_status (*check)(const char *model, const llmperf_layer *layer, int number,
                            llmperf_error *error);
    void (*describe)(const llmperf_layer *layer, char *buffer, size_t size);
    const struct layer_rows *rows; /* its symbols and formulas: rows.h */
};

/* In the order in which a layer runs them (layers.c). */
extern const layer_kind *const LAYER_KINDS[];
extern const int LAYER_KIND_COUNT;

/* A layer without operators. */
bool layer_is_empty(const llmperf_layer *layer);

static inline int64_t field_value(const layer_field *field, const llmperf_layer *layer)
{
    const char *at = (const char *)layer + field->offset;
    return field->size == sizeof(int64_t) ? *(const int64_t *)at : *(const unsigned char *)at;
}

/* Has the layer this kind? */
static inline bool kind_in(const layer_kind *kind, const llmperf_layer *layer)
{
    return field_value(&kind->fields[0], layer) > 0;
}

void field_set(const layer_field *field, llmperf_layer *layer, int64_t value);

/* The field of a key; NULL when the kind has none. */
const layer_field *field_of(const layer_kind *kind, const char *key);

/* What a file means that does not say the field. */
int64_t field_absent(const layer_kind *kind, const layer_field *field, const llmperf_layer *layer);

/* A count in its range, or absent; a word of the list. */
bool field_in_range(const layer_field *field, const llmperf_layer *layer);

/* The word of a FIELD_WORD; "?" where it is out of range. */
const char *field_word(const layer_field *field, const llmperf_layer *layer);

/* The fault of a field that is out of range. */
llmperf_status layer_out_of_range(const char *model, int number, llmperf_error *error);

/* The kind in a few words: kind->describe, or its name and its required fields. */
void kind_describe(const layer_kind *kind, const llmperf_layer *layer, char *buffer, size_t size);

#endif
