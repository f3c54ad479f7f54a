/* SPDX-License-Identifier: MIT */
/*
 * The table of fits that a calibration is: keys, limits, adding an entry.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fits.h"
#include "entry.h"
#include "calib_object.h"

static const llmperf_calib_entry IDEAL = {
    .param = {[LLMPERF_PARAM_COMPUTE] = 1,
              [LLMPERF_PARAM_MEMORY] = 1,
              [LLMPERF_PARAM_NORM] = INFINITY,
              [LLMPERF_PARAM_LINK] = 1},
};

static const llmperf_calib_entry IDEAL_COLLECTIVE = {
    .param = {[LLMPERF_PARAM_COMPUTE] = 1,
              [LLMPERF_PARAM_MEMORY] = 1,
              [LLMPERF_PARAM_NORM] = 1, /* latency + bytes over the link */
              [LLMPERF_PARAM_LINK] = 1},
};

void calib_init(llmperf_calib *ret_calib)
{
    memset(ret_calib, 0, sizeof *ret_calib);
    ret_calib->keys = UINT64_C(0xcbf29ce484222325);
    memset(ret_calib->index, LLMPERF_CALIB_NO_ENTRY, sizeof ret_calib->index);
}

const llmperf_calib_entry *ideal_entry(llmperf_op_kind kind)
{
    return kind == LLMPERF_KIND_COLLECTIVE ? &IDEAL_COLLECTIVE : &IDEAL;
}

llmperf_calib_entry calib_ideal(llmperf_op_kind kind)
{
    return *ideal_entry(kind);
}

llmperf_param_range llmperf_param_limits(llmperf_param param)
{
    if (!IS_BELOW(param, LLMPERF_PARAM_COUNT))
        return (llmperf_param_range){0};
    static const llmperf_param_range RANGE[LLMPERF_PARAM_COUNT] = {
        [LLMPERF_PARAM_COMPUTE] = {0, 1.05, true},    [LLMPERF_PARAM_MEMORY] = {0, 1.05, true},
        [LLMPERF_PARAM_LINK] = {0, 1.05, true},       [LLMPERF_PARAM_NORM] = {0, INFINITY, true},
        [LLMPERF_PARAM_LAUNCH] = {0, 1e3, false},     [LLMPERF_PARAM_SERIAL] = {0, 1e3, false},
        [LLMPERF_PARAM_WORK] = {0, 1e3, false},       [LLMPERF_PARAM_HOP] = {0, 1e3, false},
        [LLMPERF_PARAM_FILL] = {0, 1e6, false},       [LLMPERF_PARAM_SCORE] = {0, 1e4, false},
        [LLMPERF_PARAM_TILE] = {0, 1, false},         [LLMPERF_PARAM_SETTLE] = {0, 100, false},
        [LLMPERF_PARAM_PASSES] = {0, 1e4, false},     [LLMPERF_PARAM_LOOP] = {0, 1e3, false},
        [LLMPERF_PARAM_HEAD] = {0, 1e3, false},       [LLMPERF_PARAM_TALL] = {0, 1, false},
        [LLMPERF_PARAM_QUERY_WORK] = {0, 1e3, false}, [LLMPERF_PARAM_UNPACK] = {0, 1e4, false},
        [LLMPERF_PARAM_STEP] = {0, 1e3, false},       [LLMPERF_PARAM_SECOND] = {0, 1e3, false},
        [LLMPERF_PARAM_CROWD] = {0, 1e3, false},      [LLMPERF_PARAM_BULK] = {0, 1e3, false},
        [LLMPERF_PARAM_LIMIT] = {0, 1e15, false},     [LLMPERF_PARAM_SHARP] = {0, 15, false},
        [LLMPERF_PARAM_ROWS] = {0, 1, false},         [LLMPERF_PARAM_TILE_ROWS] = {0, 1e4, false},
        [LLMPERF_PARAM_UNSPLIT] = {0, 1e6, false},    [LLMPERF_PARAM_GROUP_READS] = {0, 1, false},
        [LLMPERF_PARAM_IDLE_BLOCK] = {0, 1e3, false}, [LLMPERF_PARAM_GROUP] = {0, 1e6, false},
        [LLMPERF_PARAM_HEAD_WORK] = {0, 1e3, false},  [LLMPERF_PARAM_FIRST] = {0, 1e3, false},
        [LLMPERF_PARAM_MERGE] = {0, 1e3, false},      [LLMPERF_PARAM_REGROUP] = {0, 1e3, false},
        [LLMPERF_PARAM_FEED] = {0, 1e4, false},
    };
    return RANGE[param];
}

double llmperf_param_neutral(llmperf_param param)
{
    if (!IS_BELOW(param, LLMPERF_PARAM_COUNT))
        return 0;
    return param == LLMPERF_PARAM_LINK ? 1 : IDEAL.param[param];
}

bool calib_same_key(const llmperf_calib_key *a, const llmperf_calib_key *b)
{
    return a->kind == b->kind && a->regime == b->regime && a->dtype == b->dtype &&
           a->stored == b->stored && a->gemv == b->gemv && a->experts == b->experts &&
           a->block == b->block && a->collective == b->collective && a->heads == b->heads &&
           a->head_size == b->head_size && a->near == b->near && a->devices == b->devices;
}

static bool is_variant(const llmperf_calib_key *key)
{
    return key->stored || key->gemv || key->experts || key->block || key->collective ||
           key->heads || key->head_size || key->devices;
}

/* Why a key means nothing; NULL = it is fine. */
static const char *wrong_key(const llmperf_calib_key *key)
{
    bool collective = key->kind == LLMPERF_KIND_COLLECTIVE;
    bool gemm = key->kind == LLMPERF_KIND_GEMM, attention = key->kind == LLMPERF_KIND_ATTENTION;
    if (key->kind >= LLMPERF_KIND_COUNT || key->regime >= LLMPERF_REGIME_COUNT ||
        key->dtype >= LLMPERF_DTYPE_COUNT || key->stored >= LLMPERF_DTYPE_COUNT ||
        key->collective >= LLMPERF_COLLECTIVE_COUNT || key->heads >= LLMPERF_HEADS_COUNT ||
        key->head_size >= LLMPERF_HEAD_SIZE_COUNT)
        return "the key is out of range";
    if (!collective && (key->collective || key->devices))
        return "collective and devices belong to collectives alone";
    if (key->devices < 0 || key->devices == 1 || key->devices > 1 << 20)
        return "devices must be from 2 to 1048576";
    if (key->stored && !gemm && !attention)
        return "stored belongs to gemm and attention alone";
    if (key->stored && key->stored == key->dtype && !key->near)
        return "stored equals dtype";
    if (key->near && (!gemm || !key->stored))
        return "near belongs to gemm with stored alone";
    if (key->gemv && (!gemm || key->stored || key->experts))
        return "gemv belongs to gemm without stored and experts";
    if (key->block && (!gemm || key->stored || key->gemv || key->experts))
        return "block belongs to gemm without stored, gemv and experts";
    if (key->experts && !gemm)
        return "experts belongs to gemm alone";
    if (key->heads && !attention)
        return "heads belongs to attention alone";
    if (key->head_size && !attention)
        return "head_size belongs to attention alone";
    if (collective && key->dtype != LLMPERF_DTYPE_NONE)
        return "a collective has no dtype";
    if (!collective && key->dtype == LLMPERF_DTYPE_NONE)
        return "the dtype is missing";
    if (attention && key->regime == LLMPERF_REGIME_NONE)
        return "the regime of attention is missing; prefill, extend, decode or mixed is allowed";
    if ((gemm || collective) && key->regime != LLMPERF_REGIME_NONE)
        return "a regime belongs to attention and scans alone";
    if (key->regime == LLMPERF_REGIME_MIXED && !attention)
        return "the regime mixed belongs to attention alone";
    return NULL;
}

static llmperf_status check_params(const llmperf_calib_entry *entry, llmperf_op_kind kind,
                                   llmperf_error *error)
{
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++) {
        double value = entry->param[i];
        llmperf_param_range range = llmperf_param_limits((llmperf_param)i);
        bool legal =
            value <= range.most && (range.above ? value > range.least : value >= range.least);
        if (!legal)
            return llmperf_fail(error, LLMPERF_E_SPEC,
                                "calibration of %s: %s is %g; %s %g to %g is allowed",
                                llmperf_kind_name(kind), llmperf_param_name((llmperf_param)i),
                                value, range.above ? "above" : "from", range.least, range.most);
    }
    return LLMPERF_OK;
}

/* FNV-1a of one more key. */
static uint64_t with_key(uint64_t digest, const llmperf_calib_key *k)
{
    const uint64_t values[] = {k->kind,  k->regime,    k->dtype, k->stored,
                               k->gemv,  k->experts,   k->block, k->collective,
                               k->heads, k->head_size, k->near,  (uint64_t)k->devices};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        digest = (digest ^ values[i]) * UINT64_C(0x100000001b3);
    return digest;
}

static llmperf_status no_room(llmperf_error *error)
{
    return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "a calibration holds at most %d fits",
                        LLMPERF_CALIB_ENTRIES_MAX);
}

llmperf_status calib_set(llmperf_calib *calib, llmperf_op_kind kind, llmperf_regime regime,
                         llmperf_dtype dtype, const llmperf_calib_entry *entry,
                         llmperf_error *error)
{
    NEEDS(calib && entry && IS_BELOW(kind, LLMPERF_KIND_COUNT) &&
              IS_BELOW(regime, LLMPERF_REGIME_COUNT) && IS_BELOW(dtype, LLMPERF_DTYPE_COUNT),
          error);
    llmperf_status status = check_params(entry, kind, error);
    if (status != LLMPERF_OK)
        return status;
    const llmperf_calib_key key = {
        .kind = (uint8_t)kind, .regime = (uint8_t)regime, .dtype = (uint8_t)dtype};
    uint8_t *slot = &calib->index[kind][regime][dtype];
    if (*slot == LLMPERF_CALIB_NO_ENTRY) {
        if (calib->entry_count >= LLMPERF_CALIB_ENTRIES_MAX)
            return no_room(error);
        *slot = (uint8_t)calib->entry_count++;
        calib->keys = with_key(calib->keys, &key);
    }
    calib->entry[*slot] = *entry;
    calib->entry[*slot].key = key;
    return LLMPERF_OK;
}

llmperf_status calib_add(llmperf_calib *calib, const llmperf_calib_entry *entry,
                         llmperf_error *error)
{
    NEEDS(calib && entry, error);
    const llmperf_calib_key *key = &entry->key;
    const char *wrong = wrong_key(key);
    if (wrong)
        return llmperf_fail(error, LLMPERF_E_SPEC, "calibration of %s: %s",
                            llmperf_kind_name((llmperf_op_kind)key->kind), wrong);
    if (!is_variant(key))
        return calib_set(calib, (llmperf_op_kind)key->kind, (llmperf_regime)key->regime,
                         (llmperf_dtype)key->dtype, entry, error);
    llmperf_status status = check_params(entry, (llmperf_op_kind)key->kind, error);
    if (status != LLMPERF_OK)
        return status;
    int at = 0;
    while (at < calib->entry_count && !calib_same_key(&calib->entry[at].key, key))
        at++;
    if (at >= LLMPERF_CALIB_ENTRIES_MAX)
        return no_room(error);
    if (at == calib->entry_count) {
        calib->entry_count++;
        calib->variants++;
        calib->keys = with_key(calib->keys, key);
    }
    calib->entry[at] = *entry;
    return LLMPERF_OK;
}

char *llmperf_calib_describe(const llmperf_calib_key *key, char *buffer, size_t size)
{
    if (!key || !buffer || size == 0)
        return buffer;
    const char *regime = llmperf_regime_name((llmperf_regime)key->regime);
    if (key->kind == LLMPERF_KIND_COLLECTIVE) {
        const char *name = llmperf_collective_name((llmperf_collective)key->collective);
        name = name ? name : "collective";
        if (key->devices)
            snprintf(buffer, size, "%s on %lld devices", name, (long long)key->devices);
        else
            snprintf(buffer, size, "%s", name);
        return buffer;
    }
    static const char *const HEADS[] = {"", ", single heads", ", grouped heads", ", wide groups"};
    static const char *const SIZES[] = {"", ", heads to 64", ", heads to 128", ", larger heads"};
    snprintf(buffer, size, "%s%s%s %s%s%s%s%s",
             key->gemv      ? "gemv"
             : key->experts ? "experts"
                            : llmperf_kind_name((llmperf_op_kind)key->kind),
             regime ? " " : "", regime ? regime : "", llmperf_dtype_name((llmperf_dtype)key->dtype),
             !key->stored                          ? ""
             : key->kind == LLMPERF_KIND_ATTENTION ? ", KV "
                                                   : ", weights ",
             key->stored  ? llmperf_dtype_name((llmperf_dtype)key->stored)
             : key->block ? ", block scales"
                          : "",
             HEADS[key->heads < LLMPERF_HEADS_COUNT ? key->heads : 0],
             SIZES[key->head_size < LLMPERF_HEAD_SIZE_COUNT ? key->head_size : 0]);
    return buffer;
}
