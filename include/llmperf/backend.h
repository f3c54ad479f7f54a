/* SPDX-License-Identifier: MIT */
/*
 * Devices that can be measured. A backend is a table of functions; `fake` and `cuda` are built
 * in, `cpu` is a module opened only to measure, so that predicting never loads a BLAS. Part of
 * libllmperf-calib.
 */
#ifndef LLMPERF_BACKEND_H
#define LLMPERF_BACKEND_H

#include "llmperf/op.h"
#include "llmperf/spec.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LLMPERF_BACKEND_ABI 2

/* What a probe measures beside the operators of a model. */
typedef enum llmperf_probe_kind {
    LLMPERF_PROBE_OP,     /* one llmperf_op: gemm, gemv (m = 1), attention, elementwise, gather */
    LLMPERF_PROBE_READ,   /* stream of loads; bytes = buffer size, counted once */
    LLMPERF_PROBE_WRITE,  /* stream of stores; counted once */
    LLMPERF_PROBE_COPY,   /* read and written: bytes counted twice */
    LLMPERF_PROBE_TRIAD,  /* two reads, one write: bytes counted three times */
    LLMPERF_PROBE_H2D,    /* from pinned memory of the host to the device; bytes = buffer size */
    LLMPERF_PROBE_D2H,    /* the other way */
    LLMPERF_PROBE_LAUNCH, /* an empty launch: the device's time from one to the next in a stream */
    LLMPERF_PROBE_LAUNCH_GRAPH, /* the same inside a recorded graph */
    LLMPERF_PROBE_LAUNCH_HOST,  /* what the host pays for one */
    LLMPERF_PROBE_ROUND_TRIP,   /* from the launch until the host knows that it is done */
    LLMPERF_PROBE_FORWARD,      /* a whole step: `ops`, each as often as its `repeat` says */
    LLMPERF_PROBE_COUNT
} llmperf_probe_kind;

/*
 * One thing to time. An operator is described by its shape (m, n, k; sequences, query_tokens,
 * heads ...), its dtype and its bytes; `repeat` counts in PROBE_FORWARD alone.
 *   PROBE_FORWARD: operators with a repeat above 1 are run layer by layer in the order of `ops`;
 *   those of repeat 1 before the first such one open the step, the others close it. Each layer has
 *   weights and a KV cache of its own where 60 % of memory holds them, else they are used in turn.
 */
typedef struct llmperf_probe {
    llmperf_probe_kind kind;
    llmperf_op op; /* PROBE_OP */
    double bytes;  /* streams: size of one buffer */
    bool cold;     /* weights and KV rotate, so that they come from memory, not from a cache */
    bool best;     /* gemm: the fastest of the library's algorithms, not the one it puts first */
    bool eager;    /* PROBE_FORWARD: launched one by one, not recorded */
    const llmperf_op *ops; /* PROBE_FORWARD: borrowed for the call */
    int op_count;
} llmperf_probe;

/* A fact about a device now: "load" 0.8, "governor" "performance". */
typedef struct llmperf_state_item {
    char key[32];
    char text[LLMPERF_NAME_MAX]; /* "" = a number */
    double number;
} llmperf_state_item;

#define LLMPERF_STATE_MAX 24

typedef struct llmperf_device {
    char backend[24], name[LLMPERF_NAME_MAX];
    char kind[24]; /* cpu, gpu ... as in hardware files */
    int index;
    bool simulated; /* its times are made up: they pass on its own clock, not on ours */
    /* 0 = not known. units: cores or SMs that are used; cache: the last level, as advertised */
    double units, memory_bytes, memory_free_bytes, cache_bytes, clock_hz;
    char library[LLMPERF_NAME_MAX],
        version[48]; /* "OpenBLAS Haswell", "0.3.21"; "" = not yet known */
    int state_count;
    llmperf_state_item state[LLMPERF_STATE_MAX];
    llmperf_notes notes; /* what was found and what was done about it */
} llmperf_device;

/* Flags of one measurement. */
enum {
    LLMPERF_SAMPLE_CONTENDED = 1, /* others used the cores or the memory meanwhile */
    LLMPERF_SAMPLE_THROTTLED = 2,
    LLMPERF_SAMPLE_CACHED = 4,       /* operands came from a cache */
    LLMPERF_SAMPLE_UNSTEADY = 8,     /* the times drift */
    LLMPERF_SAMPLE_TIMEOUT = 16,     /* time ran out before the interval was narrow enough */
    LLMPERF_SAMPLE_SLOW_MEMORY = 32, /* memory streamed slower meanwhile than it can */
};

/* Between all devices of a machine. bytes: the whole buffer, as nccl-tests counts it; send_recv: what
 * each device sends to the next in a ring. */
typedef enum llmperf_transfer_kind {
    LLMPERF_TRANSFER_ALL_REDUCE,
    LLMPERF_TRANSFER_ALL_GATHER,
    LLMPERF_TRANSFER_REDUCE_SCATTER,
    LLMPERF_TRANSFER_ALL_TO_ALL,
    LLMPERF_TRANSFER_SEND_RECV,
    LLMPERF_TRANSFER_COUNT
} llmperf_transfer_kind;

#define LLMPERF_TRANSFER_REPS 16

/* One operation over one size, timed `count` times. */
typedef struct llmperf_transfer {
    llmperf_transfer_kind kind;
    int devices, count;
    double bytes;
    double seconds[LLMPERF_TRANSFER_REPS];
    char version[32]; /* of the library */
} llmperf_transfer;

typedef llmperf_status (*llmperf_transfer_visit)(const llmperf_transfer *transfer, void *context,
                                                 llmperf_error *error);

/*
 * A device behind functions. One handle is used by one thread at a time.
 *   open:     makes a handle for device `index` (0 ...), without touching the device more than it
 *             must; options: "key=value,..." of the backend's own, NULL or "" = none. Errors:
 *             LLMPERF_E_UNSUPPORTED names what is missing here (a driver, a library);
 *             LLMPERF_E_USAGE for an option or an index that does not exist.
 *   describe: facts known so far; more after the first probe (which may prepare libraries).
 *   supports: false: time_op would answer LLMPERF_E_UNSUPPORTED, `error` says why.
 *   time_op:  runs a probe `count` times and fills seconds[count]; short probes are repeated inside
 *             and divided. Warming up is the caller's business. *ret_flags gets LLMPERF_SAMPLE_
 *             bits. Errors: LLMPERF_E_DEVICE, LLMPERF_E_UNSUPPORTED, LLMPERF_E_MEMORY.
 *   conditions: clock and power of the last call, 0 = not known; NULL where a backend cannot tell.
 *   close:    ends a handle; NULL is fine.
 *   transfers: collectives between all devices, each result told as it comes; NULL where a backend
 *             has none. To be called before any open() in this process. Errors: those of open() and
 *             time_op(), and what the visitor returns.
 */
typedef struct llmperf_backend {
    int abi;
    const char *name;
    llmperf_status (*open)(int index, const char *options, void **ret_handle, llmperf_error *error);
    llmperf_status (*describe)(void *handle, llmperf_device *ret_device, llmperf_error *error);
    bool (*supports)(void *handle, const llmperf_probe *probe, llmperf_error *error);
    llmperf_status (*time_op)(void *handle, const llmperf_probe *probe, int count, double *seconds,
                              unsigned *ret_flags, llmperf_error *error);
    void (*close)(void *handle);
    void (*conditions)(void *handle, double *ret_clock_hz, double *ret_power_w);
    llmperf_status (*transfers)(const char *options, llmperf_transfer_visit visit, void *context,
                                llmperf_error *error);
} llmperf_backend;

/* A module exports a function of this name and type. */
#define LLMPERF_BACKEND_SYMBOL "llmperf_backend_table"
typedef const llmperf_backend *(*llmperf_backend_entry)(void);

/*
 * The deterministic device of kernels/fake: it answers from a formula, with seeded noise. Options
 * are listed in kernels/fake/fake.c and docs/backends.md. Static storage.
 */
LLMPERF_API const llmperf_backend *llmperf_backend_fake(void);

/* NVIDIA devices, where the build has the backend (LLMPERF_HAVE_CUDA). Static storage. */
LLMPERF_API const llmperf_backend *llmperf_backend_cuda(void);

#ifdef __cplusplus
}
#endif

#endif
