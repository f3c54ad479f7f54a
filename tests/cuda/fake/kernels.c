/* SPDX-License-Identifier: MIT */
/*
 * The device kernels on the make-believe device: what each reads and writes (checked against the
 * allocations), how long it takes, and whether it is run for real. A small launch runs the very
 * kernel of kernels.cu on the CPU shim, the first time that it comes with these arguments; large and
 * repeated ones only take their time and leave what they would write as it was. Large fills are worked out where somebody looks; kernel_gemm_check is always
 * answered.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"

/* What a launch touches, and for how long. */
typedef struct use {
    fake_range range[FAKE_RANGES_MAX];
    int count;
    double flop, rate; /* of the matrix units */
    double share;      /* of the bandwidth */
    double values;     /* about how many the real kernel would handle */
} use;

/* A launch as it waits in a stream. */
typedef struct launch {
    cu_function function;
    unsigned grid[3], block[3], shared, unused;
    char arguments[192];
} launch;

_Static_assert(sizeof(launch) <= sizeof((fake_work *)0)->payload.bytes,
               "a launch fits into a stream's entry");

uint32_t fake_format_bits(uint32_t format)
{
    static const uint32_t BITS[] = {
        [KERNEL_FP32] = 32, [KERNEL_FP16] = 16, [KERNEL_BF16] = 16, [KERNEL_FP8] = 8,
        [KERNEL_INT8] = 8,  [KERNEL_FP4] = 4,   [KERNEL_INT32] = 32};
    return format < sizeof BITS / sizeof *BITS ? BITS[format] : 0;
}

static fake_rate format_rate(uint32_t format)
{
    return format == KERNEL_FP32 ? FAKE_FP32 : format == KERNEL_FP16 ? FAKE_FP16 : FAKE_BF16;
}

/* ---- what each kernel touches ------------------------------------------------------------------ */

static void touch(use *u, const void *address, double bytes, bool written)
{
    if (!address && bytes == 0)
        return;
    u->range[u->count++] =
        (fake_range){.address = (uint64_t)address, .bytes = (uint64_t)bytes, .written = written};
}

static void use_fill(use *u, const kernel_fill_args *a)
{
    touch(u, a->data, (double)a->count * fake_format_bits(a->format) / 8, true);
    u->values = (double)a->count;
}

static void use_stream(use *u, const char *name, const kernel_stream_args *a)
{
    double bytes = 16 * (double)a->words;
    bool reads = strcmp(name, "kernel_write") != 0;
    if (reads)
        touch(u, a->a, bytes, false);
    if (strcmp(name, "kernel_triad") == 0)
        touch(u, a->b, bytes, false);
    if (strcmp(name, "kernel_read") != 0)
        touch(u, a->c, bytes, true);
    else if (a->sink)
        touch(u, a->sink, 4, true);
    u->values = 4 * (double)a->words;
}

static void use_decode(use *u, const kernel_decode_args *a, uint32_t d)
{
    double size = fake_format_bits(a->format) / 8.0, q = (double)a->batch * a->heads * d;
    double kv = (double)a->batch * a->kv_heads * a->tokens * d;
    touch(u, a->q, q * size, false);
    touch(u, a->k, kv * size, false);
    touch(u, a->v, kv * size, false);
    if (a->splits > 1) {
        touch(u, a->partial, q * a->splits * 4, true);
        touch(u, a->max_sum, q / d * a->splits * 8, true);
    } else {
        touch(u, a->o, q * size, true);
    }
    u->share = fake_get()->decode;
    u->values = q * a->tokens;
}

static void use_merge(use *u, const kernel_decode_args *a, uint32_t d)
{
    double q = (double)a->batch * a->heads * d;
    touch(u, a->partial, q * a->splits * 4, false);
    touch(u, a->max_sum, q / d * a->splits * 8, false);
    touch(u, a->o, q * fake_format_bits(a->format) / 8, true);
    u->values = q * a->splits;
}

static void use_prefill(use *u, const kernel_prefill_args *a, uint32_t d)
{
    double size = fake_format_bits(a->format) / 8.0;
    double q = (double)a->batch * a->queries * a->heads * d;
    double kv = (double)a->batch * a->kv_heads * ((double)a->past + a->queries) * d;
    double pairs = (double)a->queries * a->past + a->queries * ((double)a->queries + 1) / 2;
    touch(u, a->q, q * size, false);
    touch(u, a->k, kv * size, false);
    touch(u, a->v, kv * size, false);
    touch(u, a->o, q * size, true);
    u->flop = 4.0 * a->batch * a->heads * d * pairs;
    u->rate = fake_get()->prefill * fake_get()->rate[format_rate(a->format)];
    u->values = u->flop / 4;
}

static void use_softmax(use *u, const kernel_softmax_args *a)
{
    u->values = (double)a->rows * a->columns;
    touch(u, a->data, u->values * fake_format_bits(a->format) / 8, true);
    if (u->count > 0) /* read, then written */
        u->range[0].traffic = 2 * u->range[0].bytes;
}

static void use_elementwise(use *u, const kernel_elementwise_args *a)
{
    double bytes = (double)a->count * fake_format_bits(a->format) / 8;
    for (uint32_t i = 0; i < a->inputs && i < 4; i++)
        touch(u, a->in[i], bytes, false);
    touch(u, a->out, bytes, true);
    u->values = (double)a->count * a->inputs;
}

static void use_norm(use *u, const kernel_norm_args *a)
{
    double size = fake_format_bits(a->format) / 8.0;
    u->values = (double)a->rows * a->columns;
    touch(u, a->in, u->values * size, false);
    touch(u, a->weight, a->columns * size, false);
    touch(u, a->out, u->values * size, true);
}

static void use_gather(use *u, const kernel_gather_args *a)
{
    double bytes = (double)a->rows * a->row_bytes;
    touch(u, a->table, (double)a->table_rows * a->row_bytes, false);
    touch(u, a->out, bytes, true);
    if (u->count > 0)
        u->range[0].traffic = (uint64_t)bytes;
    u->values = (double)a->table_rows * a->row_bytes / 16; /* all of it would be worked out */
}

static void use_check(use *u, const kernel_check_args *a)
{
    double size = fake_format_bits(a->format) / 8.0;
    touch(u, a->a, (double)a->m * (double)a->k * size, false);
    touch(u, a->b, (double)a->n * (double)a->k * size, false);
    touch(u, a->d, (double)a->m * (double)a->n * fake_format_bits(a->out_format) / 8, false);
    for (int i = 0; i < u->count; i++)
        u->range[i].traffic = 32 * (uint64_t)a->count;
    touch(u, a->expected, 8.0 * a->count, true);
    touch(u, a->found, 8.0 * a->count, true);
    touch(u, a->magnitude, 8.0 * a->count, true);
}

/* The number after the last '_' of a name, as in kernel_decode_128. */
static uint32_t head_size(const char *name)
{
    const char *last = strrchr(name, '_');
    return last ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* The arguments are copied into a struct of their type: what waits in a stream is bytes. */
#define USE(type, call)                                                                            \
    do {                                                                                           \
        type a;                                                                                    \
        memcpy(&a, l->arguments, sizeof a);                                                        \
        call;                                                                                      \
    } while (0)

static use describe(const launch *l)
{
    const char *name = l->function->name;
    use u = {.share = 1};
    if (begins(name, "kernel_fill"))
        USE(kernel_fill_args, use_fill(&u, &a));
    else if (begins(name, "kernel_decode_merge"))
        USE(kernel_decode_args, use_merge(&u, &a, head_size(name)));
    else if (begins(name, "kernel_decode"))
        USE(kernel_decode_args, use_decode(&u, &a, head_size(name)));
    else if (begins(name, "kernel_prefill"))
        USE(kernel_prefill_args, use_prefill(&u, &a, head_size(name)));
    else if (begins(name, "kernel_softmax"))
        USE(kernel_softmax_args, use_softmax(&u, &a));
    else if (begins(name, "kernel_elementwise"))
        USE(kernel_elementwise_args, use_elementwise(&u, &a); u.share = fake_get()->stream);
    else if (begins(name, "kernel_norm"))
        USE(kernel_norm_args, use_norm(&u, &a); u.share = fake_get()->stream);
    else if (begins(name, "kernel_gather"))
        USE(kernel_gather_args, use_gather(&u, &a));
    else if (begins(name, "kernel_gemm_check"))
        USE(kernel_check_args, use_check(&u, &a));
    else if (begins(name, "kernel_read") || begins(name, "kernel_write") ||
             begins(name, "kernel_copy") || begins(name, "kernel_triad"))
        USE(kernel_stream_args, use_stream(&u, name, &a));
    return u;
}

/* ---- running ------------------------------------------------------------------------------------- */

static void forget_written(const use *u)
{
    for (int i = 0; i < u->count; i++)
        if (u->range[i].written)
            fake_memory_forget(u->range[i].address, u->range[i].bytes);
}

/* Has this launch, to the last argument, not been seen? Remembers it. */
static bool is_first(const launch *l)
{
    static uint64_t seen[1 << 14];
    const size_t room = sizeof seen / sizeof *seen;
    uint64_t words[sizeof(launch) / 8] = {0}, key = 1;
    memcpy(words, l, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        key = kernel_mix(key ^ words[i]);
    for (size_t i = 0; i < 8; i++) {
        uint64_t *place = &seen[(key + i) % room];
        if (*place == key)
            return false;
        if (*place == 0) {
            *place = key;
            return true;
        }
    }
    return false;
}

static void run_for_real(const launch *l, const use *u)
{
    for (int i = 0; i < u->count; i++)
        fake_memory_touch(u->range[i].address, u->range[i].bytes);
    forget_written(u);
    fake_kernel_run(l->function->name, l->grid, l->block, l->shared, l->arguments);
    fake_count(FAKE_real_launches, 1);
}

static int type_of(uint32_t format)
{
    static const int TYPES[] = {
        [KERNEL_FP32] = LT_R_32F,    [KERNEL_FP16] = LT_R_16F, [KERNEL_BF16] = LT_R_16BF,
        [KERNEL_FP8] = LT_R_8F_E4M3, [KERNEL_INT8] = LT_R_8I,  [KERNEL_FP4] = LT_R_4F_E2M1,
        [KERNEL_INT32] = LT_R_32I};
    return TYPES[format];
}

/* What the kernel would find, value by value: its own loop is slow on the shim. Beyond the first few
 * the same places are told again. */
static void check_one(const kernel_check_args *a, uint32_t i, bool answer)
{
    uint64_t at = answer ? i % (uint32_t)fake_get()->checked : i;
    uint64_t row = kernel_random(a->seed, 2 * at) % a->m;
    uint64_t column = kernel_random(a->seed, 2 * at + 1) % a->n;
    uint64_t place = row * a->n + column, key = kernel_mix((uint64_t)a->a);
    int type = type_of(a->format), out = type_of(a->out_format);
    fake_sum s;
    key = kernel_mix(kernel_mix(kernel_mix(key ^ (uint64_t)a->b) ^ row * a->k) ^ column * a->k);
    if (!answer || !fake_known(key, &s)) {
        s = fake_dot_rows(type, (uint64_t)a->a, row * a->k, (uint64_t)a->b, column * a->k, a->k);
        fake_know(key, s);
    }
    fake_memory_touch((uint64_t)a->d + place * fake_bits(out) / 8, fake_bits(out) / 8);
    if (!answer)
        return;
    a->expected[i] = s.sum * a->scale;
    a->magnitude[i] = s.magnitude * fabs(a->scale);
    a->found[i] = fake_load(out, (uint64_t)a->d, place);
}

static void run_check(const launch *l, const use *u)
{
    kernel_check_args a;
    memcpy(&a, l->arguments, sizeof a);
    bool is_small = (double)a.count * (double)a.k <= fake_get()->real;
    forget_written(u);
    for (uint32_t i = 0; i < a.count; i++)
        check_one(&a, i, !is_small);
    if (is_small)
        fake_kernel_run(l->function->name, l->grid, l->block, l->shared, l->arguments);
}

static void run_fill(const launch *l)
{
    kernel_fill_args a;
    memcpy(&a, l->arguments, sizeof a);
    fake_memory_fill(&a);
}

static double run(const fake_work *work)
{
    launch l;
    memcpy(&l, work->payload.bytes, sizeof l);
    use u = describe(&l);
    if (strcmp(l.function->name, "kernel_gemm_check") == 0)
        run_check(&l, &u);
    else if (u.values > 0 && u.values <= fake_get()->real && is_first(&l))
        run_for_real(&l, &u);
    else if (strcmp(l.function->name, "kernel_fill") == 0)
        run_fill(&l);
    else
        forget_written(&u);
    if (strcmp(l.function->name, "kernel_gemm_check") != 0)
        fake_memory_changed();
    double memory_s = fake_traffic(work->device, u.range, u.count) / u.share;
    return u.rate > 0 ? fmax(memory_s, u.flop / u.rate) : memory_s;
}

/* ---- launching ----------------------------------------------------------------------------------- */

static struct cu_function_s functions[] = {
#define FUNCTION(symbol, type) {#symbol, sizeof(type), 48 << 10},
    CUDA_KERNELS(FUNCTION)
#undef FUNCTION
};

cu_function fake_kernel_find(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0)
            return &functions[i];
    return NULL;
}

static int check_shape(cu_function function, const unsigned grid[3], const unsigned block[3],
                       unsigned shared)
{
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (threads == 0 || threads > 1024 || block[2] > 64)
        return fake_misuse(CU_INVALID_VALUE, "%s: block of %u x %u x %u threads", function->name,
                           block[0], block[1], block[2]);
    if (grid[0] == 0 || grid[0] > INT32_MAX || grid[1] == 0 || grid[1] > 65535 || grid[2] == 0 ||
        grid[2] > 65535)
        return fake_misuse(CU_INVALID_VALUE, "%s: grid of %u x %u x %u blocks", function->name,
                           grid[0], grid[1], grid[2]);
    if (shared > (unsigned)function->shared_limit)
        return fake_misuse(CU_INVALID_VALUE, "%s: %u bytes of shared memory, %d allowed",
                           function->name, shared, function->shared_limit);
    return 0;
}

/* 16-byte loads want 16-byte addresses; a wrong one ends the context, as on the device. */
static int check_alignment(const char *name, const use *u)
{
    for (int i = 0; i < u->count; i++)
        if (u->range[i].bytes >= 16 && u->range[i].address % 16 != 0) {
            fake_set_sticky(716); /* CUDA_ERROR_MISALIGNED_ADDRESS */
            return fake_misuse(716, "%s: operand %d is not aligned to 16 bytes", name, i);
        }
    return 0;
}

int fake_kernel_launch(cu_function function, const unsigned grid[3], const unsigned block[3],
                       unsigned shared, const void *arguments, cu_stream stream)
{
    fake_work work = {.run = run, .cost = FAKE_COST_KERNEL};
    launch l = {.function = function, .shared = shared};
    int code = check_shape(function, grid, block, shared);
    if (code)
        return code;
    memcpy(l.grid, grid, sizeof l.grid);
    memcpy(l.block, block, sizeof l.block);
    memcpy(l.arguments, arguments, function->argument_bytes);
    memcpy(work.payload.bytes, &l, sizeof l);
    if (strcmp(function->name, "kernel_block") == 0) {
        work.cost = FAKE_COST_BLOCK;
        memcpy(work.payload.bytes, arguments, function->argument_bytes);
    }
    use u = describe(&l);
    code = fake_check_ranges(function->name, u.range, u.count);
    code = code ? code : check_alignment(function->name, &u);
    fake_count(FAKE_launches, 1);
    return code ? code : fake_submit(stream, &work);
}
