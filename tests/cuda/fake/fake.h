/* SPDX-License-Identifier: MIT */
/*
 * A make-believe NVIDIA machine: libcuda.so.1, libnvidia-ml.so.1, libcublasLt.so.13, libnccl.so.2
 * for tests, with the functions of kernels/cuda/api.h alone. How to use it: docs/testing.md.
 *   time    one virtual clock. Calls cost host time, work costs device time, waiting jumps ahead.
 *           libfakeclock.so (LD_PRELOAD) lends the clock to the program under test.
 *   memory  reserved pages of this process. Large fills and matrix products are remembered and
 *           worked out where somebody looks; what else is large only takes its time.
 *   faults  $FAKE_CUDA_FAIL and some settings; misuse of an interface is refused and reported.
 */
#ifndef LLMPERF_FAKE_H
#define LLMPERF_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../kernels/cuda/api.h"
#include "../../../kernels/cuda/kernels.h"

#define FAKE_API __attribute__((visibility("default")))

enum { FAKE_DEVICES_MAX = 8, FAKE_RANGES_MAX = 8 };

/* What products run in. */
typedef enum fake_rate {
    FAKE_FP32,
    FAKE_TF32,
    FAKE_FP16,
    FAKE_BF16,
    FAKE_FP8,
    FAKE_INT8,
    FAKE_FP4,
    FAKE_RATES
} fake_rate;

/* $FAKE_CUDA, "key=value,...": see settings.c. Seconds, bytes, flop/s, bytes/s. */
typedef struct fake_settings {
    char name[64], driver_text[32];
    double devices, capability, sms, memory, used, clock, memory_clock, power, driver, lt_version;
    double rate[FAKE_RATES], bandwidth, l2, l2_bandwidth, t0, decode, prefill, stream;
    double launch_host, launch, graph, start, call, sync;
    double pcie, pcie_latency, nvlink, nvlink_latency;
    double noise, seed, outliers, outlier_factor;
    double throttle_from, throttle_for, throttle_factor, cold, settle;
    double hang_at, fault_at, fault_code, nccl_hang;
    double algorithms, wrong_algorithm, wrong_type;
    double mig, ecc, persistence, others, compute_mode, checked, real;
} fake_settings;

FAKE_API const fake_settings *fake_get(void);

/* ---- clock (settings.c) ---------------------------------------------------------------------- */

FAKE_API double fake_now(void);
FAKE_API void fake_spend(double seconds); /* host time */
FAKE_API void fake_wait_until(double time_s, const char *who);

/* ---- report and faults (settings.c) ------------------------------------------------------------ */

/* What is counted; FAKE_LIVE_* must be 0 in the end. */
#define FAKE_COUNTERS(X)                                                                           \
    X(live_contexts)                                                                               \
    X(live_allocations)                                                                            \
    X(live_host_allocations)                                                                       \
    X(live_modules)                                                                                \
    X(live_streams)                                                                                \
    X(live_events)                                                                                 \
    X(live_graphs)                                                                                 \
    X(live_graph_execs)                                                                            \
    X(live_lt_handles)                                                                             \
    X(live_lt_objects)                                                                             \
    X(live_comms)                                                                                  \
    X(live_nvml)                                                                                   \
    X(unfinished)                                                                                  \
    X(misuse)                                                                                      \
    X(injected)                                                                                    \
    X(hung)                                                                                        \
    X(driver_calls)                                                                                \
    X(allocating)                                                                                  \
    X(allocations)                                                                                 \
    X(launches)                                                                                    \
    X(real_launches)                                                                               \
    X(products)                                                                                    \
    X(values_checked)                                                                              \
    X(peak_bytes)                                                                                  \
    X(elapsed_ms)
enum fake_counter {
#define FAKE_ENUM(name) FAKE_##name,
    FAKE_COUNTERS(FAKE_ENUM)
#undef FAKE_ENUM
        FAKE_COUNTER_COUNT
};

FAKE_API void fake_count(enum fake_counter counter, int64_t by);
FAKE_API int64_t fake_counted(enum fake_counter counter);
FAKE_API bool fake_forked(void); /* since the first count: this process inherited the state */

/* A wrong use of an interface: reported, counted; returns `code` for the caller. */
FAKE_API int fake_misuse(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One exported function: which rules of $FAKE_CUDA_FAIL concern it. */
typedef struct fake_function {
    const char *name, *library;
    bool known, allocates;
    uint64_t rules;
} fake_function;

FAKE_API int fake_injected(fake_function *function); /* the code to answer with, or 0 */

/* ---- memory (memory.c) --------------------------------------------------------------------------- */

typedef struct fake_range {
    uint64_t address, bytes;
    bool written;
    uint64_t traffic; /* bytes moved, where not each byte once */
} fake_range;

/* An operand of a product, as cuBLASLt describes it. */
typedef struct fake_matrix {
    uint64_t address;
    int type;
    bool transposed;
    uint64_t rows, columns, batch;
    int64_t stride, batch_stride;
} fake_matrix;

/* D = alpha op(A) op(B), looked at later. beta is 0. */
typedef struct fake_product {
    fake_matrix a, b, d;
    uint64_t k;
    double alpha;
    bool wrong; /* planted */
} fake_product;

/* What a stretch of memory holds without having been written. */
typedef struct fake_lazy {
    struct fake_lazy *next;
    uint64_t base, from, to; /* addresses; base: where piece 0 begins */
    uint32_t piece_bytes;
    uint64_t *done; /* bits of pieces; NULL = none */
    enum { FAKE_SET, FAKE_FILL, FAKE_PRODUCT } kind;
    unsigned char value; /* FAKE_SET: of every byte */
    kernel_fill_args fill;
    fake_product product;
} fake_lazy;

FAKE_API uint64_t fake_memory_allocate(int device, size_t bytes, bool host);
FAKE_API bool fake_memory_free(uint64_t address, bool host);
FAKE_API bool fake_memory_holds(uint64_t address, uint64_t bytes);
FAKE_API uint64_t fake_memory_used(int device);
FAKE_API void fake_memory_release(int device); /* all of it: its context ends */
/* Before reading: works out what is not there yet. */
FAKE_API void fake_memory_touch(uint64_t address, uint64_t bytes);
/* Before writing everything: what was to be worked out is forgotten. */
FAKE_API void fake_memory_forget(uint64_t address, uint64_t bytes);
/* Operands of products may have changed: nothing worked out earlier is used again. */
FAKE_API void fake_memory_changed(void);
FAKE_API void fake_memory_fill(const kernel_fill_args *fill);
void fake_memory_set(uint64_t address, uint64_t bytes, unsigned char value);
FAKE_API void fake_memory_product(const fake_product *product);
FAKE_API uint64_t fake_matrix_span(const fake_matrix *matrix); /* elements */

/* ---- values (values.c) ---------------------------------------------------------------------------- */

FAKE_API uint32_t fake_bits(lt_type type);
FAKE_API double fake_load(lt_type type, uint64_t address, uint64_t index);
/* Elements first ... first + count - 1. */
void fake_load_many(lt_type type, uint64_t address, uint64_t first, uint64_t count, double *to);
/* Sum of x y and of |x y|. */
typedef struct fake_sum {
    double sum, magnitude;
} fake_sum;
/* What was worked out under this key since the last change. */
bool fake_known(uint64_t key, fake_sum *ret_sum);
void fake_know(uint64_t key, fake_sum sum);
/* Two contiguous rows of k values, made first. */
fake_sum fake_dot_rows(lt_type type, uint64_t x, uint64_t x_first, uint64_t y, uint64_t y_first,
                       uint64_t k);
void fake_store(lt_type type, void *to, double value);

/* ---- device time (device.c) ------------------------------------------------------------------------ */

typedef enum fake_cost {
    FAKE_COST_KERNEL, /* launched: + launch, or graph inside one */
    FAKE_COST_COPY,   /* over the host link */
    FAKE_COST_EVENT,
    FAKE_COST_BLOCK,
    FAKE_COST_GRAPH,
} fake_cost;

/* One entry of a stream. */
typedef struct fake_work fake_work;
typedef double (*fake_run)(const fake_work *work); /* does it; seconds of its body */
struct fake_work {
    fake_run run;
    fake_cost cost;
    int device;
    double queued_s;
    cu_event event;
    union {
        char bytes[320];
        uint64_t words[40];
        double numbers[40];
    } payload;
};

/* Puts a piece of work on a stream (or into the graph being captured). Returns a CUresult. */
FAKE_API int fake_submit(cu_stream stream, fake_work *work);
FAKE_API int fake_stream_device(cu_stream stream);
FAKE_API void fake_stream_hold(cu_stream stream, double until_s); /* INFINITY = for ever */
FAKE_API double fake_stream_ready(cu_stream stream);
/* Seconds that memory takes for these, through the L2 cache. */
FAKE_API double fake_traffic(int device, const fake_range *ranges, int count);
FAKE_API int fake_check_ranges(const char *who, const fake_range *ranges, int count);
FAKE_API bool fake_throttled(void);
FAKE_API double fake_busy_frac(void); /* 0 = idle ... 1 = hot */
FAKE_API bool fake_capturing(void);
FAKE_API int fake_sticky(void); /* the error that ended the context, or 0 */
FAKE_API void fake_set_sticky(int code);

void fake_pump(void);
double fake_finish(cu_stream stream, const char *who); /* when it will be idle; resolves blocks */
double fake_finish_all(const char *who);

struct cu_event_s {
    bool alive, timed, recorded, captured;
    double time_s; /* NAN = not reached yet */
    struct cu_event_s *next;
};

typedef struct fake_queue {
    fake_work *work;
    int count, room;
} fake_queue;

struct cu_stream_s {
    bool alive, capturing, invalid;
    int device;
    double ready_s;
    fake_queue pending; /* behind a block */
    bool blocked;
    kernel_block_args block;
    double block_begin_s;
    cu_graph graph; /* being captured */
    struct cu_stream_s *next;
};

struct cu_graph_s {
    bool alive;
    fake_queue nodes;
    struct cu_graph_s *next;
};

struct cu_graph_exec_s {
    bool alive;
    fake_queue nodes;
    struct cu_graph_exec_s *next;
};

extern cu_stream fake_streams;
void fake_queue_free(fake_queue *queue);
bool fake_queue_copy(fake_queue *to, const fake_queue *from);
int fake_submit_graph(cu_stream stream, cu_graph_exec exec);

/* ---- kernels (kernels.c) ------------------------------------------------------------------------------ */

struct cu_function_s {
    const char *name;
    size_t argument_bytes;
    int shared_limit;
};

uint32_t fake_format_bits(uint32_t format); /* of KERNEL_ */
/* Elements first ... first + count - 1 of what kernel_fill writes. */
void fake_fill_values(const kernel_fill_args *fill, uint64_t first, uint32_t count, void *to);
/* Runs a kernel of kernels.cu on the CPU shim. */
void fake_kernel_run(const char *name, const unsigned grid[3], const unsigned block[3],
                     unsigned shared, const void *arguments);
cu_function fake_kernel_find(const char *name);
int fake_kernel_launch(cu_function function, const unsigned grid[3], const unsigned block[3],
                       unsigned shared, const void *arguments, cu_stream stream);

#endif
