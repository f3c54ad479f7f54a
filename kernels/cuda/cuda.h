/* SPDX-License-Identifier: MIT */
/*
 * Inside the CUDA backend: libraries opened at run time, one device, its memory, its clock, and the
 * jobs that are timed on it. docs/backends.md has the rules of measuring.
 */
#ifndef LLMPERF_CUDA_CUDA_H
#define LLMPERF_CUDA_CUDA_H

#include "api.h"
#include "kernels.h"
#include "llmperf/backend.h"

/* ---- load.c: libraries ----------------------------------------------------------------------- */

/* Every function opens a library, first in `folder` ("" = the loader's places alone), and fills its
 * table. Errors: LLMPERF_E_UNSUPPORTED, one line that names what is missing. */
llmperf_status cuda_load_driver(const char *folder, cuda_driver *ret_driver, llmperf_error *error);
llmperf_status cuda_load_lt(const char *folder, cuda_lt *ret_lt, llmperf_error *error);
llmperf_status cuda_load_nccl(const char *folder, cuda_nccl *ret_nccl, llmperf_error *error);
/* Calls that are not there stay NULL; false: there is no NVML at all. */
bool cuda_load_nvml(const char *folder, cuda_nvml *ret_nvml);
/* Gives a library back; NULL is fine. It stays mapped: the driver keeps threads of its own. */
void cuda_unload(void *library);

/* ---- a device: what every file below works on ------------------------------------------------- */

enum {
    CUDA_ARENA_STREAM,  /* streams: their plan lives beside that of an operator */
    CUDA_ARENA_WEIGHTS, /* what rotates: weights, tables */
    CUDA_ARENA_KV,      /* KV caches, operands of elementwise passes */
    CUDA_ARENA_IN,
    CUDA_ARENA_OUT,
    CUDA_ARENA_SCRATCH,   /* partial results of split attention */
    CUDA_ARENA_SCALES,    /* of fp4 blocks, all 1 */
    CUDA_ARENA_WORKSPACE, /* of cuBLASLt */
    CUDA_ARENA_SMALL,     /* scales, checked values, sink */
    CUDA_ARENA_COUNT
};

/* Memory that only grows. */
typedef struct cuda_arena {
    cu_address address;
    size_t bytes;
} cuda_arena;

/* Each kernel's place in cuda_device.function: CUDA_FN_kernel_fill ... */
#define CUDA_FN(symbol, arguments) CUDA_FN_##symbol,
enum { CUDA_KERNELS(CUDA_FN) CUDA_FN_COUNT };
#undef CUDA_FN

/* Facts that the driver tells without touching the device. */
typedef struct cuda_facts {
    char name[LLMPERF_NAME_MAX], uuid[48], pci[32];
    int index, driver_version; /* 13000 = 13.0 */
    int major, minor, units, shared_optin;
    double memory_bytes, l2_bytes, clock_hz, memory_clock_hz, bus_bits;
    bool integrated;
} cuda_facts;

/* What NVML says at a moment; -1 = not told. */
typedef struct cuda_moment {
    double at_s;
    double clock_hz, memory_clock_hz, power_w, celsius;
    int64_t reasons;   /* bits of NVML_REASON_ */
    int64_t processes; /* computing on the device, ours included */
} cuda_moment;

struct cuda_plan;

typedef struct cuda_device {
    /* options */
    char libraries[LLMPERF_PATH_MAX], uuid[LLMPERF_PATH_MAX];
    double timeout_s, share, settle_s;

    cuda_driver driver;
    cuda_nvml nvml;
    cuda_lt lt;
    bool has_nvml, has_lt, is_slice; /* is_slice: MIG */
    char no_lt[LLMPERF_TEXT_MAX];    /* why there is none */
    nvml_device nvml_handle;         /* NULL: NVML does not know this device */
    cu_device device;
    cuda_facts facts;

    /* from the first probe on */
    bool started, settled, hung, broken;
    char broken_by[LLMPERF_TEXT_MAX]; /* the error that the context does not recover from */
    const char *doing;                /* what is being measured, for messages */
    char doing_text[96];
    cu_context context;
    cu_module module;
    cu_function function[CUDA_FN_COUNT];
    cu_stream stream;
    cu_event event[3];
    volatile uint32_t *gate; /* host memory that the device sees: [0] opens, [1] was late */
    cu_address gate_address;
    double gate_s;     /* how long it holds at most */
    double free_bytes; /* when the context was made */
    cuda_arena arena[CUDA_ARENA_COUNT];
    lt_handle lt_handle;
    size_t workspace_bytes;
    struct cuda_plan *plan[2]; /* a stream's, an operator's */

    /* what happened, for notes */
    int64_t windows, late, judged, capped, throttled, contended, rejected;
    char rejected_why[LLMPERF_TEXT_MAX];
    double settle_from_w, settle_to_w, settle_clock_hz, settle_took_s, start_took_s;
    cuda_moment last;
    unsigned last_flags;
} cuda_device;

/* ---- driver.c: the driver ------------------------------------------------------------------------ */

double cuda_now_s(void);

/* A driver's answer as a status: 0 is LLMPERF_OK, else LLMPERF_E_MEMORY or LLMPERF_E_DEVICE with
 * what was called, decoded. Errors that a context does not recover from are remembered. */
llmperf_status cuda_check(cuda_device *d, cu_result result, const char *call, llmperf_error *error);
#define CUDA_CALL(d, error, name, ...)                                                             \
    cuda_check((d), (d)->driver.name(__VA_ARGS__), #name, (error))

/* Opens the driver and counts its devices. Errors: LLMPERF_E_UNSUPPORTED, told by code, when there
 * is no driver or no device. */
llmperf_status cuda_driver_open(cuda_device *d, int *ret_count, llmperf_error *error);

/* ---- memory.c: arenas ---------------------------------------------------------------------------- */

/* Makes an arena hold `bytes`. Errors: LLMPERF_E_MEMORY beyond the share of the free memory. */
llmperf_status cuda_reserve(cuda_device *d, int arena, double bytes, llmperf_error *error);
/* Gives back what earlier operators held when it is much: before a new one is prepared. */
void cuda_release(cuda_device *d);
/* Bytes that the arenas together may hold. */
double cuda_most_bytes(const cuda_device *d);
/* 4096-byte steps: copies in an arena start on one. */
size_t cuda_aligned(double bytes);
/* Gives back everything. */
void cuda_free_memory(cuda_device *d);

/* ---- work.c: launches and their time -------------------------------------------------------------- */

/* Puts a kernel into the stream. `arguments` is its struct of kernels.h. */
llmperf_status cuda_launch(cuda_device *d, int function, uint32_t x, uint32_t y, uint32_t z,
                           uint32_t threads, uint32_t shared_bytes, void *arguments,
                           llmperf_error *error);
/* Bytes of a value of a KERNEL_ format. */
double cuda_format_bytes(uint32_t format);
/* Uniform values in [-1, 1] of a KERNEL_ format over a stretch of memory. */
llmperf_status cuda_fill(cuda_device *d, cu_address address, double bytes, uint32_t format,
                         uint32_t seed, llmperf_error *error);
/* Waits for what is in the stream. Errors: LLMPERF_E_DEVICE past the time-out: the device hangs. */
llmperf_status cuda_wait(cuda_device *d, llmperf_error *error);

/* Something that can be put into the stream, `times` times. */
typedef llmperf_status (*cuda_work)(cuda_device *d, void *context, int times, llmperf_error *error);

/*
 * Seconds of one unit of work. All of it is queued behind a kernel that waits for us, so that the
 * device never waits for the host.
 *   slope: once `times`, once 2 x `times` between three events; the difference has no start-up in it
 *   else:  one event pair around `times`
 */
llmperf_status cuda_time(cuda_device *d, cuda_work work, void *context, int times, bool slope,
                         double *ret_seconds, llmperf_error *error);

/* ---- state.c: NVML ---------------------------------------------------------------------------- */

void cuda_state_find(cuda_device *d);
cuda_moment cuda_state_now(const cuda_device *d);
/* LLMPERF_SAMPLE_ flags of `count` repetitions that have just run; remembers them in `d`. */
unsigned cuda_state_judge(cuda_device *d, int count);
void cuda_state_describe(const cuda_device *d, llmperf_device *device);

/* ---- gemm.c: cuBLASLt -------------------------------------------------------------------------- */

#define CUDA_GEMM_CHOICES 8

/* A product d (m, n) = a (m, k) w (n, k)^T, all row major. */
typedef struct cuda_gemm {
    lt_desc desc;
    lt_layout w, a, d;
    lt_algo algo[CUDA_GEMM_CHOICES];
    size_t workspace[CUDA_GEMM_CHOICES];
    double seconds[CUDA_GEMM_CHOICES]; /* 0 = not usable */
    int count, first, best;            /* first: of the heuristics' order that is right */
    int use;                           /* which one runs */
    bool is_integer;
} cuda_gemm;

/* Formats of a product as the kernels number them; false: the library has no such product. */
bool cuda_gemm_formats(llmperf_dtype dtype, uint32_t *ret_in, uint32_t *ret_out);
/* Does capability and shape allow it? The library has the last word. */
bool cuda_gemm_supports(cuda_device *d, const llmperf_op *op, llmperf_error *error);
/* Bytes of scale factors that a product needs in CUDA_ARENA_SCALES; to be reserved before it is
 * made, since it keeps the address. */
double cuda_gemm_scales(llmperf_dtype dtype, int64_t m, int64_t n, int64_t k);
/* Errors: LLMPERF_E_UNSUPPORTED when the library has no algorithm. */
llmperf_status cuda_gemm_make(cuda_device *d, llmperf_dtype dtype, int64_t m, int64_t n, int64_t k,
                              int64_t batch, cuda_gemm *ret_gemm, llmperf_error *error);
void cuda_gemm_free(cuda_device *d, cuda_gemm *gemm);
llmperf_status cuda_gemm_run(cuda_device *d, const cuda_gemm *gemm, cu_address w, cu_address a,
                             cu_address out, llmperf_error *error);
/* Is what `gemm->use` writes right? Values at random places against double precision. */
typedef struct cuda_gemm_case {
    llmperf_dtype dtype;
    int64_t m, n, k, batch; /* batched: the first and one of the last are looked at */
    cu_address w, a, out;
} cuda_gemm_case;
llmperf_status cuda_gemm_verify(cuda_device *d, const cuda_gemm *gemm, const cuda_gemm_case *c,
                                bool *ret_right, char why[LLMPERF_TEXT_MAX], llmperf_error *error);

/* ---- job.c: operators ready to run -------------------------------------------------------------- */

typedef struct cuda_job {
    llmperf_op op;
    uint32_t format;          /* of inputs, KERNEL_ */
    double weights_at, kv_at; /* offsets of its first copy */
    double stride;            /* bytes between copies */
    int64_t copies, turn;
    cuda_gemm gemm;
    bool has_gemm;
    int64_t m, n, k, batch; /* of the product; batch > 1: unfused attention, one for each head */
    bool rotates;           /* operands of an elementwise pass lie in the KV arena, copy by copy */
    uint32_t inputs;        /* of an elementwise pass */
    uint64_t count;         /* its values, or the rows of a norm or a look-up */
    uint32_t columns;       /* of a norm; bytes of a row of a look-up */
    uint32_t splits;        /* of decode attention */
} cuda_job;

bool cuda_job_supports(cuda_device *d, const llmperf_op *op, llmperf_error *error);
/* Shape and size of one copy; no memory is taken. */
llmperf_status cuda_job_init(cuda_device *d, const llmperf_op *op, bool cold, cuda_job *ret_job,
                             llmperf_error *error);
/* Bytes of activations and scratch that a job needs. */
llmperf_status cuda_job_reserve(cuda_device *d, const cuda_job *job, llmperf_error *error);
/* Fills its operands; a product gets its algorithms, each of them checked, and with `rank` timed;
 * without, the first right one is taken. */
llmperf_status cuda_job_prepare(cuda_device *d, cuda_job *job, bool rank, llmperf_error *error);
/* One launch on the next copy. */
llmperf_status cuda_job_run(cuda_device *d, cuda_job *job, llmperf_error *error);
void cuda_job_free(cuda_device *d, cuda_job *job);

/* attention.c */
bool cuda_attention_supports(cuda_device *d, const llmperf_op *op, llmperf_error *error);
bool cuda_attention_is_decode(const llmperf_op *op);
llmperf_status cuda_attention_splits(cuda_device *d, cuda_job *job, llmperf_error *error);
double cuda_attention_scratch(const cuda_job *job);
llmperf_status cuda_attention_run(cuda_device *d, const cuda_job *job, cu_address kv,
                                  llmperf_error *error);

/* ---- collective.c ------------------------------------------------------------------------------ */

/* `options`: a device that is not open, for its folder, share and time-out. */
llmperf_status cuda_transfers(cuda_device *options, llmperf_transfer_visit visit, void *context,
                              llmperf_error *error);

/* ---- plan.c: probes ready to be timed ----------------------------------------------------------- */

typedef struct cuda_plan cuda_plan;
llmperf_status cuda_plan_time(cuda_device *d, const llmperf_probe *probe, int count,
                              double *seconds, llmperf_error *error);
void cuda_plan_free(cuda_device *d, cuda_plan *plan);
/* Loads the device until its clocks settle, at most settle_s. */
llmperf_status cuda_settle(cuda_device *d, llmperf_error *error);

/* ---- device.c: a device found, started, given back ------------------------------------------------ */

/* Finds the device, asks its facts. No context is made. */
llmperf_status cuda_device_find(cuda_device *d, int index, llmperf_error *error);
/* Makes context, stream, module: before the first probe. */
llmperf_status cuda_device_start(cuda_device *d, llmperf_error *error);
/* Gives everything back; a hung device is left without waiting for it. */
void cuda_device_end(cuda_device *d);

#endif
