/* SPDX-License-Identifier: MIT */
/* Fibres, barriers and warp-wide operations for CUDA kernels that run on the CPU. See shim.h. */
#undef _FORTIFY_SOURCE /* its longjmp refuses to change stacks */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "device.h"
#include "kernels.h"
#include "shim.h"

#ifdef __has_feature /* clang's way to say it */
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define STACK_BYTES ((size_t)512 << 10)
#else
#define STACK_BYTES ((size_t)128 << 10)
#endif

enum {
    WARP = 32,
    MOST_THREADS = 1024,
    MOST_SHARED = 227 << 10,
    MOST_COPIES = 256,   /* of one thread, not waited for */
    CANARY_BYTES = 4096, /* behind the dynamic shared memory */
    CANARY = 0xa5,
    POISON = 0xff, /* NaN in every floating-point format */
};

typedef enum fibre_state { READY, AT_BARRIER, AT_WARP, FINISHED } fibre_state;

typedef struct async_copy {
    void *to;
    const void *from;
    int wanted, group;
} async_copy;

typedef struct fibre {
    jmp_buf place;
    void *stack; /* lowest address, above a guard page */
    void *asan_stack;
    fibre_state state;
    int operation;
    shim_operands *operands;
    async_copy copies[MOST_COPIES];
    int copy_count, group; /* group: the one that is open */
} fibre;

shim_dim shim_thread, shim_block, shim_block_size, shim_grid_size;
unsigned char *shim_dynamic;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static fibre *fibres[MOST_THREADS];
static unsigned thread_count, at_barrier, finished;
static unsigned at_warp[MOST_THREADS / WARP];
static unsigned current;
static const shim_kernel *kernel_now;
static const void *arguments_now;
static jmp_buf scheduler_place;
static ucontext_t birth;
static uint64_t clock_now_ns;
static int failure;
static char failure_text[160];

/* ---- switching ------------------------------------------------------------------------------- */

#ifdef __SANITIZE_ADDRESS__
static const void *scheduler_stack;
static size_t scheduler_stack_bytes;
static void *scheduler_fake;

static void leave_scheduler(fibre *to)
{
    __sanitizer_start_switch_fiber(&scheduler_fake, to->stack, STACK_BYTES);
}

static void back_in_scheduler(void)
{
    __sanitizer_finish_switch_fiber(scheduler_fake, NULL, NULL);
}

static void leave_fibre(fibre *from)
{
    __sanitizer_start_switch_fiber(&from->asan_stack, scheduler_stack, scheduler_stack_bytes);
}

static void back_in_fibre(fibre *self)
{
    __sanitizer_finish_switch_fiber(self->asan_stack, &scheduler_stack, &scheduler_stack_bytes);
}
#else
static void leave_scheduler(fibre *to)
{
    (void)to;
}

static void back_in_scheduler(void)
{
}

static void leave_fibre(fibre *from)
{
    (void)from;
}

static void back_in_fibre(fibre *self)
{
    (void)self;
}
#endif

/* From a fibre to the scheduler, until the fibre is chosen again. */
static void suspend(void)
{
    fibre *self = fibres[current];
    leave_fibre(self);
    if (_setjmp(self->place) == 0)
        _longjmp(scheduler_place, 1);
    back_in_fibre(fibres[current]);
}

/* What a fibre does all its life: its thread of one block after another. */
static void live(void)
{
    back_in_fibre(fibres[current]);
    for (;;) {
        suspend();
        kernel_now->call(arguments_now);
        fibres[current]->state = FINISHED;
        finished++;
    }
}

static void resume(unsigned thread)
{
    current = thread;
    shim_thread = (shim_dim){.x = thread};
    leave_scheduler(fibres[thread]);
    if (_setjmp(scheduler_place) == 0)
        _longjmp(fibres[thread]->place, 1);
    back_in_scheduler();
}

static int start_fibre(unsigned thread)
{
    const size_t guard = 4096;
    fibre *self = calloc(1, sizeof *self);
    if (!self)
        return SHIM_NO_MEMORY;
    unsigned char *memory = mmap(NULL, guard + STACK_BYTES, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, guard, PROT_NONE) != 0) {
        free(self);
        return SHIM_NO_MEMORY;
    }
    self->stack = memory + guard;
    fibres[thread] = self;
    current = thread;
    getcontext(&birth);
    birth.uc_stack.ss_sp = self->stack;
    birth.uc_stack.ss_size = STACK_BYTES;
    birth.uc_link = NULL;
    makecontext(&birth, live, 0);
    leave_scheduler(self);
    if (_setjmp(scheduler_place) == 0)
        setcontext(&birth);
    back_in_scheduler();
    return SHIM_OK;
}

/* The first reason is the one that counts; the fibres stay where they are and are dropped. */
__attribute__((format(printf, 2, 3))) static void fail(int status, const char *format, ...)
{
    if (failure)
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(failure_text, sizeof failure_text, format, list);
    va_end(list);
    failure = status;
}

/* A fibre that cannot go on: never chosen again. */
static void give_up(void)
{
    for (;;)
        suspend();
}

/* ---- barriers and warp-wide operations --------------------------------------------------------- */

void shim_barrier(void)
{
    if (++at_barrier < thread_count) {
        fibres[current]->state = AT_BARRIER;
        suspend();
        return;
    }
    at_barrier = 0;
    for (unsigned i = 0; i < thread_count; i++)
        if (fibres[i]->state == AT_BARRIER)
            fibres[i]->state = READY;
}

static void exchange(fibre *const lanes[WARP])
{
    uint64_t before[WARP];
    for (unsigned i = 0; i < WARP; i++)
        before[i] = lanes[i]->operands->value;
    for (unsigned i = 0; i < WARP; i++)
        lanes[i]->operands->value = before[(i ^ lanes[i]->operands->mask) % WARP];
}

/* A (16 x k) and B (k x 8) from the lanes' registers, as the PTX ISA lays them out. */
static void gather_16bit(fibre *const lanes[WARP], int operation, float a[16][16], float b[16][8])
{
    for (unsigned lane = 0; lane < WARP; lane++) {
        const shim_operands *from = lanes[lane]->operands;
        unsigned group = lane / 4, place = lane % 4 * 2;
        for (unsigned i = 0; i < 12; i++) {
            uint32_t word = i < 8 ? from->a[i / 2] : from->b[i / 2 - 4];
            uint32_t bits = i % 2 ? word >> 16 : word & 0xffff;
            float value = operation == SHIM_OP_MMA_HALF ? half_float(bits) : word_float(bits << 16);
            if (i < 8)
                a[group + 8 * (i / 2 % 2)][place + i % 2 + 8 * (i / 4)] = value;
            else
                b[place + i % 2 + 8 * (i / 2 - 4)][group] = value;
        }
    }
}

static void gather_tf32(fibre *const lanes[WARP], float a[16][16], float b[16][8])
{
    const uint32_t kept = 0xffffe000;
    for (unsigned lane = 0; lane < WARP; lane++) {
        const shim_operands *from = lanes[lane]->operands;
        unsigned group = lane / 4, place = lane % 4;
        for (unsigned i = 0; i < 4; i++)
            a[group + 8 * (i % 2)][place + 4 * (i / 2)] = word_float(from->a[i] & kept);
        for (unsigned i = 0; i < 2; i++)
            b[place + 4 * i][group] = word_float(from->b[i] & kept);
    }
}

static void multiply(fibre *const lanes[WARP], int operation)
{
    float a[16][16], b[16][8];
    unsigned depth = operation == SHIM_OP_MMA_TF32 ? 8 : 16;
    if (operation == SHIM_OP_MMA_TF32)
        gather_tf32(lanes, a, b);
    else
        gather_16bit(lanes, operation, a, b);
    for (unsigned lane = 0; lane < WARP; lane++) {
        float *c = lanes[lane]->operands->c;
        for (unsigned i = 0; i < 4; i++) {
            unsigned row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
            for (unsigned k = 0; k < depth; k++)
                c[i] += a[row][k] * b[k][column];
        }
    }
}

static void load_rows(fibre *const lanes[WARP], int transposed)
{
    for (unsigned matrix = 0; matrix < 4; matrix++) {
        uint16_t m[8][8];
        for (unsigned row = 0; row < 8; row++)
            memcpy(m[row], lanes[8 * matrix + row]->operands->row, sizeof m[row]);
        for (unsigned lane = 0; lane < WARP; lane++) {
            unsigned group = lane / 4, place = lane % 4 * 2;
            uint32_t low = transposed ? m[place][group] : m[group][place];
            uint32_t high = transposed ? m[place + 1][group] : m[group][place + 1];
            lanes[lane]->operands->result[matrix] = low | high << 16;
        }
    }
}

static void execute(fibre *const lanes[WARP], int operation)
{
    if (operation == SHIM_OP_XOR)
        exchange(lanes);
    else if (operation == SHIM_OP_LDMATRIX || operation == SHIM_OP_LDMATRIX_TRANSPOSED)
        load_rows(lanes, operation == SHIM_OP_LDMATRIX_TRANSPOSED);
    else
        multiply(lanes, operation);
}

void shim_warp(int operation, shim_operands *operands)
{
    fibre *self = fibres[current];
    unsigned warp = current / WARP;
    fibre *const *lanes = &fibres[(size_t)warp * WARP];
    self->operation = operation;
    self->operands = operands;
    if (++at_warp[warp] < WARP) {
        self->state = AT_WARP;
        suspend();
        return;
    }
    at_warp[warp] = 0;
    for (unsigned i = 0; i < WARP; i++)
        if (lanes[i]->operation != operation) {
            fail(SHIM_DIVERGED, "lanes of warp %u meet in different warp-wide operations", warp);
            give_up();
        }
    execute(lanes, operation);
    for (unsigned i = 0; i < WARP; i++)
        lanes[i]->state = READY;
}

/* ---- asynchronous copies ------------------------------------------------------------------------- */

void shim_copy(void *to, const void *from, int wanted)
{
    fibre *self = fibres[current];
    if (self->copy_count == MOST_COPIES) {
        fail(SHIM_INVALID_SIZE, "more than %d asynchronous copies of one thread", MOST_COPIES);
        give_up();
    }
    self->copies[self->copy_count++] = (async_copy){to, from, wanted, self->group};
}

void shim_copy_commit(void)
{
    fibres[current]->group++;
}

void shim_copy_wait(int left)
{
    fibre *self = fibres[current];
    int kept = 0;
    for (int i = 0; i < self->copy_count; i++) {
        const async_copy *copy = &self->copies[i];
        if (copy->group >= self->group - left)
            self->copies[kept++] = *copy;
        else if (copy->wanted)
            memcpy(copy->to, copy->from, sizeof(word4));
        else
            memset(copy->to, 0, sizeof(word4));
    }
    self->copy_count = kept;
}

uint64_t shim_clock_ns(void)
{
    return clock_now_ns += 1000;
}

/* ---- blocks and grids ------------------------------------------------------------------------------ */

static uint64_t random_next(uint64_t *state)
{
    return kernel_mix((*state)++);
}

static void permute(unsigned *order, unsigned count, uint64_t *random)
{
    for (unsigned i = 0; i < count; i++)
        order[i] = i;
    for (unsigned i = count; *random && i > 1; i--) {
        unsigned other = (unsigned)(random_next(random) % i), kept = order[i - 1];
        order[i - 1] = order[other];
        order[other] = kept;
    }
}

static void reset_block(void)
{
    at_barrier = finished = 0;
    memset(at_warp, 0, sizeof at_warp);
    for (unsigned i = 0; i < thread_count; i++) {
        fibres[i]->state = READY;
        fibres[i]->copy_count = fibres[i]->group = 0;
    }
}

/* Fibres of a block that failed stand in the middle of a kernel: they are of no more use. */
static void drop_fibres(void)
{
    for (unsigned i = 0; i < MOST_THREADS && fibres[i]; i++) {
        munmap((unsigned char *)fibres[i]->stack - 4096, STACK_BYTES + 4096);
        free(fibres[i]);
        fibres[i] = NULL;
    }
}

/* Each lane of a warp that can go on does so, again and again, until none can: the warp runs as far
 * ahead of the others as the barriers let it. Returns whether any could. */
static int run_warp(unsigned first, uint64_t *random)
{
    unsigned order[WARP], count = thread_count - first < WARP ? thread_count - first : WARP;
    int progress = 0;
    for (int again = 1; again && !failure;) {
        again = 0;
        permute(order, count, random);
        for (unsigned i = 0; !failure && i < count; i++)
            if (fibres[first + order[i]]->state == READY) {
                again = progress = 1;
                resume(first + order[i]);
            }
    }
    return progress;
}

static void run_block(uint64_t *random)
{
    unsigned order[MOST_THREADS / WARP], warps = (thread_count + WARP - 1) / WARP;
    reset_block();
    while (!failure && finished < thread_count) {
        int progress = 0;
        permute(order, warps, random);
        for (unsigned i = 0; i < warps; i++)
            progress |= run_warp(order[i] * WARP, random);
        if (!progress)
            fail(SHIM_DEADLOCK, "%u threads left, %u wait at a barrier, %u in warps", finished,
                 at_barrier, thread_count - finished - at_barrier);
    }
}

static int check_sizes(const unsigned grid[3], const unsigned block[3], size_t shared_bytes)
{
    for (int i = 0; i < 3; i++)
        if (grid[i] == 0 || block[i] == 0 || grid[i] > (i == 0 ? 0x7fffffffu : 65535u)) {
            fail(SHIM_INVALID_SIZE, "grid (%u, %u, %u), block (%u, %u, %u)", grid[0], grid[1],
                 grid[2], block[0], block[1], block[2]);
            return failure;
        }
    if (block[1] != 1 || block[2] != 1 || block[0] > MOST_THREADS)
        fail(SHIM_INVALID_SIZE, "block (%u, %u, %u): the shim takes (1..%d, 1, 1)", block[0],
             block[1], block[2], MOST_THREADS);
    if (shared_bytes > MOST_SHARED)
        fail(SHIM_INVALID_SIZE, "%zu bytes of dynamic shared memory, at most %d", shared_bytes,
             MOST_SHARED);
    return failure;
}

static void check_canary(size_t shared_bytes)
{
    for (size_t i = 0; i < CANARY_BYTES; i++)
        if (shim_dynamic[shared_bytes + i] != CANARY) {
            fail(SHIM_SHARED_OVERRUN, "byte %zu of %zu of shared memory was written",
                 shared_bytes + i, shared_bytes);
            return;
        }
}

static void run_grid(size_t shared_bytes, uint64_t max_blocks, uint64_t *random)
{
    const uint64_t x = shim_grid_size.x, y = shim_grid_size.y;
    const uint64_t blocks = x * y * shim_grid_size.z;
    const uint64_t runs = max_blocks && max_blocks < blocks ? max_blocks : blocks;
    for (uint64_t i = 0; i < runs && !failure; i++) {
        uint64_t at = runs == blocks ? i : (uint64_t)((double)i / (double)runs * (double)blocks);
        shim_block = (shim_dim){(unsigned)(at % x), (unsigned)(at / x % y), (unsigned)(at / x / y)};
        memset(__start_shim_shared, POISON, (size_t)(__stop_shim_shared - __start_shim_shared));
        memset(shim_dynamic, POISON, shared_bytes);
        memset(shim_dynamic + shared_bytes, CANARY, CANARY_BYTES);
        run_block(random);
        if (!failure)
            check_canary(shared_bytes);
    }
}

/* Kernels are written for one number of threads; a device would refuse more, and compute nonsense
 * with fewer. 0 = any. */
static unsigned threads_of(const char *kernel)
{
    static const struct {
        const char *name; /* the first that the kernel's begins with */
        unsigned threads;
    } ROWS[] = {
        {"kernel_decode_merge_64", 64},
        {"kernel_decode_merge_128", 128},
        {"kernel_decode_merge_256", 256},
        {"kernel_decode", KERNEL_DECODE_THREADS},
        {"kernel_prefill", KERNEL_PREFILL_THREADS},
        {"kernel_empty", 0},
        {"kernel_block", 0},
        {"kernel_", KERNEL_THREADS},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        if (strncmp(kernel, ROWS[i].name, strlen(ROWS[i].name)) == 0)
            return ROWS[i].threads;
    return 0;
}

static const shim_kernel *find_kernel(const char *name)
{
    for (size_t i = 0; i < shim_kernel_count; i++)
        if (strcmp(shim_kernels[i].name, name) == 0)
            return &shim_kernels[i];
    return NULL;
}

static int prepare(const unsigned grid[3], const unsigned block[3], size_t shared_bytes)
{
    const unsigned threads = threads_of(kernel_now->name);
    if (check_sizes(grid, block, shared_bytes))
        return failure;
    if (threads && block[0] != threads) {
        fail(SHIM_INVALID_SIZE, "%u threads a block; it is written for %u", block[0], threads);
        return failure;
    }
    shim_dynamic = malloc(shared_bytes + CANARY_BYTES);
    if (!shim_dynamic)
        fail(SHIM_NO_MEMORY, "no memory for the shared memory of a block");
    thread_count = block[0];
    shim_block_size = (shim_dim){block[0], block[1], block[2]};
    shim_grid_size = (shim_dim){grid[0], grid[1], grid[2]};
    for (unsigned i = 0; i < thread_count && !failure; i++)
        if (!fibres[i] && start_fibre(i))
            fail(SHIM_NO_MEMORY, "no memory for the stack of thread %u", i);
    return failure;
}

int shim_launch(const char *kernel, const unsigned grid[3], const unsigned block[3],
                size_t shared_bytes, const void *arguments, const shim_options *options)
{
    static const shim_options NONE;
    const shim_options *o = options ? options : &NONE;
    uint64_t random = o->seed;
    pthread_mutex_lock(&lock);
    failure = SHIM_OK;
    kernel_now = find_kernel(kernel);
    arguments_now = arguments;
    if (!kernel_now)
        fail(SHIM_UNKNOWN_KERNEL, "no kernel '%s'", kernel);
    else if (prepare(grid, block, shared_bytes) == SHIM_OK)
        run_grid(shared_bytes, o->max_blocks, &random);
    free(shim_dynamic);
    shim_dynamic = NULL;
    int result = failure;
    if (result)
        drop_fibres();
    if (result && o->message && o->message_size)
        snprintf(o->message, o->message_size, "%s: %s", kernel, failure_text);
    pthread_mutex_unlock(&lock);
    return result;
}

size_t shim_argument_bytes(const char *kernel)
{
    const shim_kernel *found = find_kernel(kernel);
    return found ? found->argument_bytes : 0;
}

const char *shim_status_name(int status)
{
    static const char *const NAMES[] = {"success",      "unknown kernel", "invalid size",
                                        "deadlock",     "diverged",       "shared memory overrun",
                                        "out of memory"};
    return status >= 0 && (size_t)status < sizeof NAMES / sizeof *NAMES ? NAMES[status] : "?";
}
