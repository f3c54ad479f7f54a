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

/* Channels of a head, the mean of key and value: attention kernels are compiled for each size. */
typedef enum llmperf_head_size {
    LLMPERF_HEAD_SIZE_ANY,
    LLMPERF_HEAD_SIZE_64,  /* up to 64 */
    LLMPERF_HEAD_SIZE_128, /* 65 to 128 */
    LLMPERF_HEAD_SIZE_256, /* more than 128 */
    LLMPERF_HEAD_SIZE_COUNT
} llmperf_head_size;

/*
 * What an entry is for, beside kind, regime and dtype. An entry with one of these set is a variant:
 * it times only what matches.
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
    uint8_t room[13]; /* for what comes; 0 */
    int64_t devices;  /* of a collective; 0 = any */
} llmperf_calib_key;

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

#define LLMPERF_CALIB_SCHEMA 1

/* A calibration: a table of fits, and what they were made of. Made by the functions below and by
 * llmperf_load_calib(), ended by llmperf_calib_free(); read-only in use, so threads may share it. */
typedef struct llmperf_calib llmperf_calib;

/* One without entries: every operator is ideal. Errors: LLMPERF_E_MEMORY. */
LLMPERF_API llmperf_status llmperf_calib_new(llmperf_calib **ret_calib, llmperf_error *error);

/*
 * Reads a calibration YAML (docs/calibration.md describes it): unknown keys, parameters outside
 * physics and covariances that are none are refused. Errors: LLMPERF_E_IO, LLMPERF_E_SPEC with
 * position; all faults of the file in one run; LLMPERF_E_MEMORY.
 */
LLMPERF_API llmperf_status llmperf_calib_load(const char *path, llmperf_calib **ret_calib,
                                              llmperf_error *error);
LLMPERF_API llmperf_status llmperf_calib_load_text(const char *name, const char *text, size_t size,
                                                   llmperf_calib **ret_calib, llmperf_error *error);

LLMPERF_API llmperf_status llmperf_calib_copy(const llmperf_calib *calib, llmperf_calib **ret_calib,
                                              llmperf_error *error);
LLMPERF_API void llmperf_calib_free(llmperf_calib *calib); /* NULL is fine */

/*
 * The best calibration there is for a part, among calibration/ of the folders:
 *   1. one fitted on the part itself (by name or alias); else one of its architecture, then the
 *      nearest of its vendor's (docs/calibration.md, "Borrowing", has the rule and what it costs)
 *   2. the asked library, where `library` is not NULL
 *   3. one that was measured on a device here before those fitted to public samples
 *   4. vllm, sglang, trtllm, then by name
 * Efficiencies carry over, absolute times as so many cycles of the clock; llmperf_calib_borrowed()
 * says what that adds.
 *   ret_calib: NULL where no part is near enough (another vendor's, an unknown architecture)
 *   errors:    LLMPERF_E_IO, LLMPERF_E_SPEC for the chosen file; files whose head does not read are
 *              passed over; LLMPERF_E_MEMORY
 */
LLMPERF_API llmperf_status llmperf_calib_choose(const llmperf_spec_paths *paths,
                                                const llmperf_hw *hw, const char *library,
                                                llmperf_calib **ret_calib, llmperf_error *error);

/* Texts belong to the calibration; "" where it does not say. library: whose kernels, that of its GEMM;
 * hw: the part it was fitted on. */
LLMPERF_API const char *llmperf_calib_name(const llmperf_calib *calib);
LLMPERF_API const char *llmperf_calib_hw(const llmperf_calib *calib);
LLMPERF_API const char *llmperf_calib_library(const llmperf_calib *calib);
LLMPERF_API const char *llmperf_calib_date(const llmperf_calib *calib);
/* Of a memory stream beside its measurements; 0 = not said. */
LLMPERF_API double llmperf_calib_stream_bytes_per_s(const llmperf_calib *calib);
/* Standard deviation of log(time) that borrowing from another part adds; 0 = the part's own. */
LLMPERF_API double llmperf_calib_borrowed(const llmperf_calib *calib);

/* What a file that llmperf_calib_write() writes says of itself; NULL leaves a text as it is. */
LLMPERF_API llmperf_status llmperf_calib_set_origin(llmperf_calib *calib, const char *name,
                                                    const char *hw, const char *device,
                                                    const char *backend, const char *date,
                                                    llmperf_error *error);

/*
 * Sets a parameter of the entry of a key, which is added where there is none: ideal but for what is
 * set. Errors: LLMPERF_E_USAGE for a parameter that is none, LLMPERF_E_SPEC for a key that means
 * nothing (a GEMM with devices) or a value beyond physics, LLMPERF_E_UNSUPPORTED when the table is full.
 */
LLMPERF_API llmperf_status llmperf_calib_set_param(llmperf_calib *calib,
                                                   const llmperf_calib_key *key,
                                                   llmperf_param param, double value,
                                                   llmperf_error *error);

/* One fit of a calibration; belongs to it. The struct itself is for who prints fits: fitted.h. */
typedef struct llmperf_calib_entry llmperf_calib_entry;
LLMPERF_API int llmperf_calib_entry_count(const llmperf_calib *calib);
/* NULL beyond the last. */
LLMPERF_API const llmperf_calib_entry *llmperf_calib_entry_at(const llmperf_calib *calib,
                                                              int index);
LLMPERF_API llmperf_calib_key llmperf_calib_entry_key(const llmperf_calib_entry *entry);
LLMPERF_API double llmperf_calib_entry_param(const llmperf_calib_entry *entry, llmperf_param param);
/* Standard deviation of log(measured / predicted). */
LLMPERF_API double llmperf_calib_entry_residual(const llmperf_calib_entry *entry);

/* "gemm bf16", "attention decode bf16, KV fp8", "all_reduce on 4 devices". Returns buffer. */
LLMPERF_API char *llmperf_calib_describe(const llmperf_calib_key *key, char *buffer, size_t size);

/* Makes a calibration one for use on `hw`. llmperf_calib_borrowed(): 0 on its own part, more the less
 * the parts are alike (the most where the part it was fitted on is not found in hardware/ of the
 * folders). Its times with their covariances are scaled by the ratio of the clocks, where both parts are
 * of one vendor and say theirs. May be called again for another part. */
LLMPERF_API void llmperf_calib_lend(llmperf_calib *calib, const llmperf_spec_paths *paths,
                                    const llmperf_hw *hw);

/*
 * Adds the fits of `from` for what `calib` has none of (another operator, format or collective; head
 * groups and group sizes do not count), but for those that it took itself, their residuals widened for the other part or, at
 * least, the other library: llmperf_calib_borrowed(from). Errors: LLMPERF_E_UNSUPPORTED when the table is full.
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

#define LLMPERF_BOUNDS_MAX 8 /* room for the enum to grow */

LLMPERF_API const char *llmperf_bound_name(llmperf_bound bound);

/* Where the time of one launch goes, seconds. time_s = launch_s + added_s + norm_p(the others). */
typedef struct llmperf_time {
    double time_s;
    double compute_s, memory_s, serial_s, work_s, launch_s, link_s;
    double added_s; /* passes over the input and the added loop */
    uint8_t bound;  /* llmperf_bound: the largest term */
    uint8_t room[15];
} llmperf_time;

/*
 * Time of one launch of `op` on one device of `hw`.
 *   calib:    NULL = ideal: max(flop / peak, bytes / bandwidth); a collective costs the link's
 *             latency + bytes over it.
 *   ret_time: where it goes; may be NULL
 *   returns:  time_s; 0 for an operator that `hw` cannot run (no peak of op->dtype, no link) or that
 *             is none
 *   source:   docs/model.md, "Time"
 */
LLMPERF_API double llmperf_time_op(const llmperf_op *op, const llmperf_hw *hw,
                                   const llmperf_calib *calib, llmperf_time *ret_time);

#ifdef __cplusplus
}
#endif

#endif
