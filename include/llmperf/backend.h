/* SPDX-License-Identifier: MIT */
/*
 * Devices that can be measured. A backend is a table of functions; `fake` and (later) `cuda` are
 * built in, `cpu` is a module opened only to measure, so that predicting never loads a BLAS.
 */
#ifndef LLMPERF_BACKEND_H
#define LLMPERF_BACKEND_H

#include "llmperf/op.h"
#include "llmperf/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LLMPERF_BACKEND_ABI 1

/* What a probe measures beside the operators of a model. */
typedef enum llmperf_probe_kind {
    LLMPERF_PROBE_OP,     /* one llmperf_op: gemm, gemv (m = 1), attention, elementwise */
    LLMPERF_PROBE_READ,   /* stream of loads; bytes = buffer size, counted once */
    LLMPERF_PROBE_COPY,   /* read and written: bytes counted twice */
    LLMPERF_PROBE_TRIAD,  /* two reads, one write */
    LLMPERF_PROBE_LAUNCH, /* an empty launch */
    LLMPERF_PROBE_COUNT
} llmperf_probe_kind;

typedef struct llmperf_probe {
    llmperf_probe_kind kind;
    llmperf_op op;      /* PROBE_OP */
    double bytes;       /* streams */
    bool cold;          /* operands rotate, so that they come from memory, not from a cache */
} llmperf_probe;

typedef struct llmperf_device {
    char backend[24], name[LLMPERF_NAME_MAX];
    int index;
    double units, memory_bytes, cache_bytes, clock_hz; /* 0 = not known */
    char library[LLMPERF_NAME_MAX]; /* "OpenBLAS 0.3.21 Haswell" */
    llmperf_notes notes;            /* state, and what was done about it */
} llmperf_device;

/* Flags of one measurement. */
enum {
    LLMPERF_SAMPLE_CONTENDED = 1,
    LLMPERF_SAMPLE_THROTTLED = 2,
    LLMPERF_SAMPLE_CACHED = 4, /* operands came from a cache */
    LLMPERF_SAMPLE_UNSTEADY = 8,
};

/*
 * `open` makes a device handle (options: "key=value,..." of the backend's own), `close` ends it.
 * `supports` says whether a probe can run at all. `time_op` runs a probe `count` times and fills
 * seconds[count]; *ret_flags gets LLMPERF_SAMPLE_ bits. Errors: LLMPERF_E_DEVICE,
 * LLMPERF_E_UNSUPPORTED, LLMPERF_E_MEMORY.
 */
typedef struct llmperf_backend {
    int abi;
    const char *name;
    llmperf_status (*open)(int index, const char *options, void **ret_handle, llmperf_error *error);
    llmperf_status (*describe)(void *handle, llmperf_device *ret_device, llmperf_error *error);
    bool (*supports)(void *handle, const llmperf_probe *probe);
    llmperf_status (*time_op)(void *handle, const llmperf_probe *probe, int count, double *seconds,
                              unsigned *ret_flags, llmperf_error *error);
    void (*close)(void *handle);
} llmperf_backend;

/* A module exports a function of this name and type. */
#define LLMPERF_BACKEND_SYMBOL "llmperf_backend_table"
typedef const llmperf_backend *(*llmperf_backend_entry)(void);

#ifdef __cplusplus
}
#endif

#endif
