/* SPDX-License-Identifier: MIT */
/* What kernels/cuda/device.h names, in plain C on fibres. Only for the shim's own sources. */
#ifndef LLMPERF_TESTS_CUDA_SHIM_DEVICE_H
#define LLMPERF_TESTS_CUDA_SHIM_DEVICE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* ---- what shim.c gives --------------------------------------------------------------------------- */

typedef struct shim_dim {
    unsigned x, y, z;
} shim_dim;

enum {
    SHIM_OP_XOR,
    SHIM_OP_MMA_HALF,
    SHIM_OP_MMA_BF16,
    SHIM_OP_MMA_TF32,
    SHIM_OP_LDMATRIX,
    SHIM_OP_LDMATRIX_TRANSPOSED
};

/* What one lane brings to a warp-wide operation and takes home. */
typedef struct shim_operands {
    uint64_t value; /* XOR: in and out */
    unsigned mask;
    uint32_t a[4], b[2];
    float c[4];
    uint32_t result[4];
    const void *row;
} shim_operands;

extern shim_dim shim_thread, shim_block, shim_block_size, shim_grid_size;
extern unsigned char *shim_dynamic;

void shim_barrier(void);
void shim_warp(int operation, shim_operands *operands);
void shim_copy(void *to, const void *from, int wanted);
void shim_copy_commit(void);
void shim_copy_wait(int left);
uint64_t shim_clock_ns(void);

/* The kernels as compiled C, for shim.c. */
typedef struct shim_kernel {
    const char *name;
    void (*call)(const void *arguments);
    size_t argument_bytes;
} shim_kernel;
extern const shim_kernel shim_kernels[];
extern const size_t shim_kernel_count;

/* The static shared memory of all kernels. */
#define SHIM_SHARED_SECTION "shim_shared"
extern unsigned char __start_shim_shared[], __stop_shim_shared[];

/* ---- words of CUDA ----------------------------------------------------------------------------------- */

#define KERNEL static void
#define DEVICE static inline
#define BOUNDS(threads, blocks)
#define UNROLL
#define NO_UNROLL
#define SHARED(type, name, count)                                                                  \
    static type name[count] __attribute__((section(SHIM_SHARED_SECTION), aligned(16)))
#define DYNAMIC_SHARED(name) unsigned char *name = shim_dynamic
#define threadIdx shim_thread
#define blockIdx shim_block
#define blockDim shim_block_size
#define gridDim shim_grid_size

DEVICE float word_float(uint32_t word)
{
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

DEVICE uint32_t float_word(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

DEVICE uint32_t byte_permute(uint32_t low, uint32_t high, uint32_t selector)
{
    uint64_t both = low | (uint64_t)high << 32;
    uint32_t result = 0;
    for (unsigned i = 0; i < 4; i++)
        result |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return result;
}

DEVICE float half_float(uint32_t bits)
{
    uint32_t sign = (bits & 0x8000) << 16, exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    if (exponent == 0)
        return word_float(float_word((float)fraction * 0x1p-24f) | sign);
    exponent = exponent == 31 ? 255 : exponent + 112;
    return word_float(sign | exponent << 23 | fraction << 13);
}

/* To nearest, ties to even: drops `drop` bits of a magnitude. */
DEVICE uint32_t round_bits(uint32_t magnitude, unsigned drop)
{
    return (magnitude + (1u << (drop - 1)) - 1 + (magnitude >> drop & 1)) >> drop;
}

DEVICE uint32_t float_half(float value)
{
    uint32_t word = float_word(value), sign = word >> 16 & 0x8000, magnitude = word & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return 0x7fff;
    if (magnitude < 0x38800000) /* subnormal: in units of 2^-24 */
        return sign | (uint32_t)nearbyintf(fabsf(value) * 0x1p24f);
    uint32_t bits = round_bits(magnitude, 13) - (112u << 10);
    return sign | (bits > 0x7c00 ? 0x7c00 : bits);
}

DEVICE uint32_t float_bf16(float value)
{
    uint32_t word = float_word(value), magnitude = word & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return 0x7fff;
    return (word >> 16 & 0x8000) | round_bits(magnitude, 16);
}

DEVICE uint32_t pack_half(float low, float high)
{
    return float_half(low) | float_half(high) << 16;
}

DEVICE uint32_t pack_bf16(float low, float high)
{
    return float_bf16(low) | float_bf16(high) << 16;
}

DEVICE float exp2_fast(float x)
{
    return exp2f(x);
}

DEVICE float reciprocal_fast(float x)
{
    return 1 / x;
}

DEVICE float reciprocal_root(float x)
{
    return 1 / sqrtf(x);
}

DEVICE float larger(float a, float b)
{
    return fmaxf(a, b);
}

DEVICE word4 load16(const void *address)
{
    return *(const word4 *)__builtin_assume_aligned(address, 16);
}

DEVICE word4 load16_again(const void *address)
{
    return load16(address);
}

DEVICE void store16(void *address, word4 v)
{
    *(word4 *)__builtin_assume_aligned(address, 16) = v;
}

DEVICE word4 load_shared16(const void *pointer)
{
    return load16(pointer);
}

DEVICE void copy_async(void *shared, const void *global, int wanted)
{
    shim_copy(shared, global, wanted);
}

DEVICE void copy_commit(void)
{
    shim_copy_commit();
}

#define copy_wait(left) shim_copy_wait(left)

DEVICE uint32_t fresh(uint32_t value)
{
    return value;
}

DEVICE void block_sync(void)
{
    shim_barrier();
}

DEVICE uint64_t lane_xor_bits(uint64_t bits, int mask)
{
    shim_operands operands = {.value = bits, .mask = (unsigned)mask};
    shim_warp(SHIM_OP_XOR, &operands);
    return operands.value;
}

DEVICE float lane_xor(float value, int mask)
{
    return word_float((uint32_t)lane_xor_bits(float_word(value), mask));
}

DEVICE uint32_t lane_xor_word(uint32_t value, int mask)
{
    return (uint32_t)lane_xor_bits(value, mask);
}

DEVICE double lane_xor_double(double value, int mask)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = lane_xor_bits(bits, mask);
    memcpy(&value, &bits, sizeof value);
    return value;
}

DEVICE void add_atomic(uint32_t *address, uint32_t value)
{
    *address += value;
}

DEVICE void shim_mma(int operation, float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    shim_operands operands = {.b = {b0, b1}};
    memcpy(operands.a, a, sizeof operands.a);
    memcpy(operands.c, c, sizeof operands.c);
    shim_warp(operation, &operands);
    memcpy(c, operands.c, sizeof operands.c);
}

DEVICE void mma_half(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    shim_mma(SHIM_OP_MMA_HALF, c, a, b0, b1);
}

DEVICE void mma_bf16(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    shim_mma(SHIM_OP_MMA_BF16, c, a, b0, b1);
}

DEVICE void mma_tf32(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    shim_mma(SHIM_OP_MMA_TF32, c, a, b0, b1);
}

DEVICE void load_matrices(uint32_t r[4], const void *row)
{
    shim_operands operands = {.row = row};
    shim_warp(SHIM_OP_LDMATRIX, &operands);
    memcpy(r, operands.result, sizeof operands.result);
}

DEVICE void load_matrices_transposed(uint32_t r[4], const void *row)
{
    shim_operands operands = {.row = row};
    shim_warp(SHIM_OP_LDMATRIX_TRANSPOSED, &operands);
    memcpy(r, operands.result, sizeof operands.result);
}

DEVICE uint64_t clock_ns(void)
{
    return shim_clock_ns();
}

DEVICE uint32_t load_host(const volatile uint32_t *address)
{
    return *address;
}

DEVICE void rest(void)
{
}

#endif
