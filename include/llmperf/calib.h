/* SPDX-License-Identifier: MIT */
/*
 * A calibration: the parameters of the time formula per (operator kind, regime, dtype), as fitted
 * to measurements. The ideal calibration (a NULL pointer) is the plain roofline.
 */
#ifndef LLMPERF_CALIB_H
#define LLMPERF_CALIB_H

#include <stdio.h>

#include "llmperf/op.h"
#include "llmperf/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Parameters of t = t0 + norm_p(compute, memory, serial, work) + added; docs/model.md, "Time", and
 * docs/calibration.md, "The form". Those from FILL on are refinements: 0 leaves the plain form.
 */
typedef enum llmperf_param {
    LLMPERF_PARAM_COMPUTE, /* e_c: share of the peak that is reached, (0, 1.05] */
    LLMPERF_PARAM_MEMORY,  /* e_m: share of the bandwidth that is reached, (0, 1.05] */
    LLMPERF_PARAM_LAUNCH,  /* t0, seconds */
    LLMPERF_PARAM_SERIAL, /* c_k, seconds: k loop of a small GEMM; attention: walk over 1024 keys */
    LLMPERF_PARAM_WORK,   /* c_w, seconds: one work item per sequence and KV head */
    LLMPERF_PARAM_NORM,   /* p of the norm, in (0, infinity] */
    LLMPERF_PARAM_LINK,   /* e: share of the link's bandwidth that is reached */
    LLMPERF_PARAM_HOP,    /* t1, seconds per doubling of the group */
    /* compute x (1 + fill / depth): pipeline fill, epilogue, half-masked blocks; depth = k of a
     * GEMM, keys per query of attention */
    LLMPERF_PARAM_FILL,
    LLMPERF_PARAM_SCORE,  /* compute x (1 + score / head_dim): softmax, as channels per score */
    LLMPERF_PARAM_TILE,   /* share of the rows that fill m up to whole tiles that is paid, 0..1 */
    LLMPERF_PARAM_SETTLE, /* compute x (1 + settle c / (c + 1 ms)): clocks of long kernels settle */
    LLMPERF_PARAM_PASSES, /* added: passes over the input at full bandwidth (quantising it) */
    LLMPERF_PARAM_LOOP,   /* added, seconds: loop over the depth, depth' / (1 + depth' / 3) */
    LLMPERF_PARAM_HEAD,   /* t0 grows by this, seconds per 128 channels of head */
    LLMPERF_PARAM_TALL, /* memory x (1 + tall) beyond 16 rows of a GEMM: taller tiles stream worse */
    LLMPERF_PARAM_QUERY_WORK, /* c_q, seconds: one work item per sequence and query head */
    LLMPERF_PARAM_UNPACK, /* compute x (1 + unpack) of a GEMM whose weights are stored narrower */
    /* of collectives: N devices, S bytes of buffer; docs/model.md, "Collectives" */
    LLMPERF_PARAM_STEP,   /* seconds of latency per peer: step x (N - 1) */
    LLMPERF_PARAM_SECOND, /* seconds that an all-reduce in two phases costs more than one in one */
    LLMPERF_PARAM_CROWD,  /* link time x (1 + crowd (N - 2)) where devices share a host bus */
    LLMPERF_PARAM_BULK,   /* added, seconds: bulk S^q / (S^q + limit^q), the way of large buffers */
    LLMPERF_PARAM_LIMIT,  /* bytes of buffer at which half of it is paid */
    LLMPERF_PARAM_SHARP,  /* q - 1 */
    LLMPERF_PARAM_ROWS,   /* share of the rows that fill m up to fours that is paid, 0..1 */
    /* of a launch of the regime mixed: */
    LLMPERF_PARAM_TILE_ROWS,   /* rows that a sequence's tile computes beyond its queries */
    LLMPERF_PARAM_UNSPLIT,     /* serial: rows of one unit's peak that the longest context takes */
    LLMPERF_PARAM_GROUP_READS, /* share of the KV reads beyond the L2 that every query head repeats */
    LLMPERF_PARAM_IDLE_BLOCK, /* added, seconds: blocks of 64 queries that a lone one leaves empty */
    LLMPERF_PARAM_GROUP, /* compute x (1 + group / m), rows: what each product of a grouped one pays */
    LLMPERF_PARAM_HEAD_WORK, /* c_h, seconds: a work item grows by this per 128 channels of head */
    LLMPERF_PARAM_FIRST,     /* seconds of work items that a launch of one wave holds already */
    LLMPERF_PARAM_MERGE,     /* t0 grows by this beyond 128 keys: parts of a cache are merged */
    LLMPERF_PARAM_REGROUP,   /* t0 grows by this where grouped heads of several sequences are put
                                in order: a launch of its own */
    LLMPERF_PARAM_FEED, /* bytes come in at bandwidth / feed at most, however fast memory is: what
                                a processor's cores can take */
    LLMPERF_PARAM_COUNT
} llmperf_param;

LLMPERF_API const char *llmperf_param_name(llmperf_param param);

LLMPERF_API llmperf_param llmperf_param_parse(const char *name); /* LLMPERF_PARAM_COUNT: none */

/* Is it a time, in seconds? Else it is a share, a norm or a factor of the shape. */
LLMPERF_API bool llmperf_param_is_time(llmperf_param param);

/* From `least` (or above it, when `above`) to `most`: where a parameter is physics. */
typedef struct llmperf_param_range {
    double least, most;
    bool above;
} llmperf_param_range;
LLMPERF_API llmperf_param_range llmperf_param_limits(llmperf_param param);

/* The value that leaves a term out: e = 1, p = infinity, else 0. */
LLMPERF_API double llmperf_param_neutral(llmperf_param param);

/* Query heads per KV head: kernels differ. */
typedef enum llmperf_head_group {
    LLMPERF_HEADS_ANY,
    LLMPERF_HEADS_SINGLE,  /* one: multi-head attention */
    LLMPERF_HEADS_GROUPED, /* 2 to 32 */
    LLMPERF_HEADS_WIDE,    /* more than 32 */
    LLMPERF_HEADS_COUNT
} llmperf_head_group;

LLMPERF_API llmperf_head_group llmperf_head_group_of(const llmperf_op *op);

/* Channels of a head, the mean of key and value: attention kernels are compiled for each size. */
typedef enum llmperf_head_size {
    LLMPERF_HEAD_SIZE_ANY,
    LLMPERF_HEAD_SIZE_64,  /* up to 64 */
    LLMPERF_HEAD_SIZE_128, /* 65 to 128 */
    LLMPERF_HEAD_SIZE_256, /* more than 128 */
    LLMPERF_HEAD_SIZE_COUNT
} llmperf_head_size;

LLMPERF_API llmperf_head_size llmperf_head_size_of(const llmperf_op *op);

/*
 * What an entry is for, beside kind, regime and dtype. An entry with one of these set is a variant:
 * it times only what matches, and llmperf_calib_add() keeps it out of index[].
 */
typedef struct llmperf_calib_key {
    uint8_t kind, regime, dtype; /* llmperf_op_kind, llmperf_regime, llmperf_dtype */
    uint8_t stored;  /* weights (gemm) or KV cache (attention) held in another dtype; NONE = no */
    uint8_t gemv;    /* 1 = the product with one row, apart from the other GEMMs */
    uint8_t experts; /* 1 = the grouped products of a mixture of experts */
    uint8_t block;   /* 1 = products of 8-bit weights with scales per block: kernels of their own */
    uint8_t collective; /* llmperf_collective; NONE = any */
    uint8_t heads;      /* llmperf_head_group of attention; ANY = all */
    uint8_t head_size;  /* llmperf_head_size of attention; ANY = all */
    /* 1 = of a gemm's entries with it that of the nearest `stored`, within an octave of its bits:
     * engine profiles have it, files have not */
    uint8_t near;
    int64_t devices; /* of a collective; 0 = any */
} llmperf_calib_key;

/* How good a fit is; errors are |predicted / measured - 1|, fractions. All 0 = not known. */
typedef struct llmperf_calib_quality {
    int64_t samples, points; /* scored; of these, the fit used */
    int64_t groups;          /* shape families */
    int64_t warm, refused;   /* rows left out: operands in a cache; faster than the roofline ... */
    double mean_frac, median_frac, p90_frac, bias_frac;
    double rms_log;                      /* of log(measured / predicted) */
    double left_out_frac;                /* mean error of groups that the fit did not see */
    double roofline_frac, constant_frac; /* mean errors of the datasheet and of two efficiencies */
    double flop_least, flop_most, bytes_least, bytes_most, time_least_s, time_most_s;
} llmperf_calib_quality;

typedef struct llmperf_calib_entry {
    double param[LLMPERF_PARAM_COUNT];
    double covariance[LLMPERF_PARAM_COUNT][LLMPERF_PARAM_COUNT]; /* of the natural parameters */
    double residual;       /* standard deviation of log(measured / predicted) */
    double correlation;    /* rho of residuals within the kind, 0..1 */
    llmperf_calib_key key; /* set by llmperf_calib_set and llmperf_calib_add */
    uint64_t fitted;       /* bit i: param[i] was fitted; the others were set or left out */
    bool compute_is_reads; /* its compute term stands for reads through the caches: memory time */
    char library[48], version[48];
    char remarks[LLMPERF_TEXT_MAX]; /* which parameters were fixed and why */
    llmperf_calib_quality quality;
} llmperf_calib_entry;

/* Parameters of an engine profile (engine.h). Efficiencies are shares of the datasheet, so that they
 * carry over to parts never measured. */
typedef enum llmperf_engine_param {
    LLMPERF_ENGINE_WEIGHT,    /* of the memory bandwidth, streaming weights and activations */
    LLMPERF_ENGINE_KV,        /* of the memory bandwidth, reading the KV cache */
    LLMPERF_ENGINE_HEADS,     /* decode attention: each query head reads keys and values through the
                               * caches at so many memory bandwidths */
    LLMPERF_ENGINE_COMPUTE,   /* of the peak, dense layers */
    LLMPERF_ENGINE_STORED,    /* of that, where weights are stored narrower than they compute */
    LLMPERF_ENGINE_EXPERTS,   /* rows that each expert's product costs beyond its own */
    LLMPERF_ENGINE_ATTENTION, /* of the peak, attention of prompts */
    LLMPERF_ENGINE_SCORE,     /* bytes of memory traffic per attention score of a prompt */
    LLMPERF_ENGINE_LAYER,     /* s per layer of a step */
    LLMPERF_ENGINE_STEP,      /* s per step */
    LLMPERF_ENGINE_SEQUENCE,  /* s per sequence of a step */
    LLMPERF_ENGINE_HOP,       /* s per collective and doubling of the group */
    LLMPERF_ENGINE_LINK,      /* of the link's bandwidth */
    LLMPERF_ENGINE_REQUEST,   /* s that a served request waits before its first step */
    LLMPERF_ENGINE_MIXED,     /* serving: steps that also prefill take this share longer */
    /* Processors alone, where arithmetic is that of the vector units and each format of weights has
     * a kernel of its own; 1 = neutral. */
    LLMPERF_ENGINE_DECODE,      /* of the fp32 peak: attention of decode steps, in place of HEADS */
    LLMPERF_ENGINE_WEIGHT_FP16, /* times WEIGHT, for weights in fp16, in bf16, about 8 bits, 4 */
    LLMPERF_ENGINE_WEIGHT_BF16, /* ... */
    LLMPERF_ENGINE_WEIGHT_8,    /* ... */
    LLMPERF_ENGINE_WEIGHT_4,    /* ... */
    LLMPERF_ENGINE_COMPUTE_FP16, /* times COMPUTE, likewise; in place of STORED */
    LLMPERF_ENGINE_COMPUTE_BF16, /* ... */
    LLMPERF_ENGINE_COMPUTE_8,    /* ... */
    LLMPERF_ENGINE_COMPUTE_4,    /* ... */
    LLMPERF_ENGINE_ROWS_FP16,    /* share of the rows that fill a batch up to fours that is paid */
    LLMPERF_ENGINE_ROWS_BF16,    /* ... */
    LLMPERF_ENGINE_ROWS_8,       /* ... */
    LLMPERF_ENGINE_ROWS_4,       /* ... */
    LLMPERF_ENGINE_PARAM_COUNT
} llmperf_engine_param;

/*
 * What an engine's host adds to the operators of a step; all 0 = nothing (a calibration of operators
 * alone). Not in the calibration file: llmperf_engine_calib() sets it.
 *   t_step = norm_p(host, operators), host = step + layer x layers + sequence x sequences, less the
 *   launches that the operators' own fits count
 */
typedef struct llmperf_host {
    char engine[48]; /* "" = no profile */
    double step_s, layer_s, sequence_s;
    double norm;                              /* p; 1 = they add, infinity = they overlap */
    double request_s, mixed_frac;             /* serving: see engine.h */
    double decode_residual, prefill_residual; /* standard deviation of log(time), once a step */
    /* the profile's parameters, the covariance of their logarithms, and the first of the entries that
     * are made of them; those before are fits of operators that take a profile's place */
    double param[LLMPERF_ENGINE_PARAM_COUNT];
    double covariance[LLMPERF_ENGINE_PARAM_COUNT][LLMPERF_ENGINE_PARAM_COUNT];
    int first_entry;
} llmperf_host;

#define LLMPERF_CALIB_ENTRIES_MAX 64
#define LLMPERF_CALIB_NO_ENTRY 0xff
#define LLMPERF_CALIB_SCHEMA 1

typedef struct llmperf_calib {
    char name[LLMPERF_NAME_MAX];
    char hw[LLMPERF_NAME_MAX];     /* name of the part */
    char device[LLMPERF_NAME_MAX]; /* what the driver or the file calls it; "" = not said */
    char library[48];              /* whose kernels: that of its GEMM; "" = not said */
    char backend[24];              /* cpu, cuda, fake, samples */
    char date[32];                 /* as passed in; "" = not said */
    char digest[32];               /* of the samples, "fnv1a64:..." */
    int64_t samples;               /* rows read */
    double clock_hz, power_w;      /* conditions; 0 = not said */
    double stream_bytes_per_s;     /* a memory stream meanwhile; 0 = not said */
    bool throttled, contended;
    /* standard deviation of log(time) that borrowing from another part adds; 0 = the part's own.
     * Not in the file: llmperf_calib_lend() sets it. */
    double borrowed;
    /* What its times (launch, loops, work items, hops) were multiplied by for use on that part: the
     * ratio of the clocks; 0 = as in the file. Set with `borrowed`. */
    double time_scale;
    llmperf_host host; /* of an engine profile */
    int variants;      /* entries that index[] does not hold */
    uint64_t
        keys; /* digest of the keys in entry[], in their order: what is found depends on them */
    int entry_count;
    llmperf_calib_entry entry[LLMPERF_CALIB_ENTRIES_MAX];
    /* index into entry[], or LLMPERF_CALIB_NO_ENTRY: that operator keeps the ideal form */
    uint8_t index[LLMPERF_KIND_COUNT][LLMPERF_REGIME_COUNT][LLMPERF_DTYPE_COUNT];
} llmperf_calib;

/* A calibration without entries: every operator is ideal. */
LLMPERF_API void llmperf_calib_init(llmperf_calib *ret_calib);

/* The ideal entry: e = 1, t0 = 0, p = infinity (collectives: p = 1). */
LLMPERF_API llmperf_calib_entry llmperf_calib_ideal(llmperf_op_kind kind);

/* Adds or replaces the entry of a key. Errors: LLMPERF_E_SPEC when a parameter leaves physics,
 * LLMPERF_E_UNSUPPORTED when the table is full. */
LLMPERF_API llmperf_status llmperf_calib_set(llmperf_calib *calib, llmperf_op_kind kind,
                                             llmperf_regime regime, llmperf_dtype dtype,
                                             const llmperf_calib_entry *entry,
                                             llmperf_error *error);

/* Adds or replaces the entry of entry->key, which may be a variant. Errors as above, and
 * LLMPERF_E_SPEC for a key that means nothing (a GEMM with devices). */
LLMPERF_API llmperf_status llmperf_calib_add(llmperf_calib *calib, const llmperf_calib_entry *entry,
                                             llmperf_error *error);

/* The entry that times an operator, or LLMPERF_CALIB_NO_ENTRY: the variant that matches it, else
 * index[], else that of a like dtype (fp16 for bf16 ..., docs/calibration.md). Collectives: that of
 * the same kind and nearest number of devices. */
LLMPERF_API uint8_t llmperf_calib_find(const llmperf_calib *calib, const llmperf_op *op,
                                       llmperf_regime regime);

/* True when two keys name the same entry. */
LLMPERF_API bool llmperf_calib_same_key(const llmperf_calib_key *a, const llmperf_calib_key *b);

/* "gemm bf16", "attention decode bf16, KV fp8", "all_reduce on 4 devices". Returns buffer. */
LLMPERF_API char *llmperf_calib_describe(const llmperf_calib_key *key, char *buffer, size_t size);

/*
 * Reads a calibration YAML (docs/calibration.md describes it): unknown keys, parameters outside
 * physics and covariances that are none are refused. Errors: LLMPERF_E_IO, LLMPERF_E_SPEC with
 * position; all faults of the file in one run.
 */
LLMPERF_API llmperf_status llmperf_calib_load(const char *path, llmperf_calib *ret_calib,
                                              llmperf_error *error);
LLMPERF_API llmperf_status llmperf_calib_load_text(const char *name, const char *text, size_t size,
                                                   llmperf_calib *ret_calib, llmperf_error *error);

/*
 * The best calibration there is for a part, among calibration/ of the folders:
 *   1. one fitted on the part itself (by name or alias); else one of its architecture, then the
 *      nearest of its vendor's (docs/calibration.md, "Borrowing", has the rule and what it costs)
 *   2. the asked library, where `library` is not NULL
 *   3. one that was measured on a device here before those fitted to public samples
 *   4. vllm, sglang, trtllm, then by name
 * Efficiencies carry over, absolute times as so many cycles of the clock: ret_calib->time_scale;
 * ret_calib->borrowed says what that adds.
 *   ret_found: false where no part is near enough (another vendor's, an unknown architecture):
 *              ret_calib is untouched then
 *   errors:    LLMPERF_E_IO, LLMPERF_E_SPEC for the chosen file; files whose head does not read are
 *              passed over
 */
LLMPERF_API llmperf_status llmperf_calib_choose(const llmperf_spec_paths *paths,
                                                const llmperf_hw *hw, const char *library,
                                                llmperf_calib *ret_calib, bool *ret_found,
                                                llmperf_error *error);

/* Makes a calibration one for use on `hw`. calib->borrowed: 0 on its own part, more the less the parts
 * are alike (the most where the part it was fitted on is not found in hardware/ of the folders).
 * calib->time_scale: its times with their covariances are scaled by the ratio of the clocks, where both
 * parts are of one vendor and say theirs. May be called again for another part. */
LLMPERF_API void llmperf_calib_lend(llmperf_calib *calib, const llmperf_spec_paths *paths,
                                    const llmperf_hw *hw);

/*
 * Adds the fits of `from` for what `calib` has none of (another operator, format or collective; head
 * groups and group sizes do not count), but for those that it took itself, their residuals widened for the other part or, at
 * least, the other library: from->borrowed. Errors: LLMPERF_E_UNSUPPORTED when the table is full.
 */
LLMPERF_API llmperf_status llmperf_calib_complete(llmperf_calib *calib, const llmperf_calib *from,
                                                  llmperf_error *error);

/* Writes what llmperf_calib_load() reads back to the same value. Errors: LLMPERF_E_IO. */
LLMPERF_API llmperf_status llmperf_calib_write(FILE *out, const llmperf_calib *calib,
                                               llmperf_error *error);

typedef enum llmperf_bound {
    LLMPERF_BOUND_COMPUTE,
    LLMPERF_BOUND_MEMORY,
    LLMPERF_BOUND_LATENCY, /* the serial or work-item term */
    LLMPERF_BOUND_LAUNCH,
    LLMPERF_BOUND_LINK,
    LLMPERF_BOUND_COUNT
} llmperf_bound;

LLMPERF_API const char *llmperf_bound_name(llmperf_bound bound);

/* Where the time of one launch goes, seconds. time_s = launch_s + added_s + norm_p(the others). */
typedef struct llmperf_time {
    double time_s;
    double compute_s, memory_s, serial_s, work_s, launch_s, link_s;
    double added_s; /* passes over the input and the added loop */
    uint8_t bound;  /* llmperf_bound: the largest term */
} llmperf_time;

/*
 * d(log time) / d(parameter), natural parameters, of up to two calibration entries (an extend
 * operator joins the prefill and the decode fit): the first `count` of entry and dlog are set, none
 * where the time is 0. entry[i] = LLMPERF_CALIB_NO_ENTRY: ideal.
 */
typedef struct llmperf_gradient {
    int count;
    uint8_t entry[2];
    double dlog[2][LLMPERF_PARAM_COUNT];
} llmperf_gradient;

/*
 * What the host adds to a step of `layers` layers and `sequences` sequences, whose operators take
 * ops_s, launch_s of it launches that their fits count: norm_p(host, operators) - operators, with
 * host = step + layer x layers + sequence x sequences - launches. Never below 0.
 */
LLMPERF_API double llmperf_host_time(const llmperf_host *host, double layers, double sequences,
                                     double ops_s, double launch_s);

/*
 * Time of one launch of `op` on one device of `hw`: the only place where time is computed; fit,
 * predict, sweep and validate all call it.
 *   calib:        NULL = ideal: max(flop / peak, bytes / bandwidth); a collective costs the
 *                 link's latency + bytes over it.
 *   ret_gradient: NULL when not wanted.
 *   requires:     hw->peak of op->dtype > 0 when op->flop > 0, and a link for collectives;
 *                 llmperf_config_init() has checked both for the operators it emits.
 *   returns:      time_s, also in ret_time (may be NULL).
 *   source:       docs/model.md, "Time"
 */
LLMPERF_API double llmperf_time_op(const llmperf_op *op, const llmperf_hw *hw,
                                   const llmperf_calib *calib, llmperf_time *ret_time,
                                   llmperf_gradient *ret_gradient);

#ifdef __cplusplus
}
#endif

#endif
