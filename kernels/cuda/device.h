/* SPDX-License-Identifier: MIT */
/*
 * The few words of CUDA that the kernels use. nvcc takes the PTX below; the CPU shim of the tests
 * (LLMPERF_CUDA_SHIM, tests/cuda/shim_device.h) gives the same names a meaning in plain C.
 */
#ifndef LLMPERF_CUDA_DEVICE_H
#define LLMPERF_CUDA_DEVICE_H

#include <stdint.h>

/* 16 bytes: what one thread moves at a time. */
typedef struct word4 {
    uint32_t w[4];
} word4;

#ifdef LLMPERF_CUDA_SHIM
#include "shim_device.h"
#else

#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ __forceinline__
#define BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")
#define SHARED(type, name, count) __shared__ __align__(16) type name[count]
#define DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]

/* ---- bits ------------------------------------------------------------------------------------ */

DEVICE float word_float(uint32_t word)
{
    return __uint_as_float(word);
}

DEVICE uint32_t float_word(float value)
{
    return __float_as_uint(value);
}

/* Bytes of (low, high) chosen by the four nibbles of the selector, as PTX's prmt does. */
DEVICE uint32_t byte_permute(uint32_t low, uint32_t high, uint32_t selector)
{
    return __byte_perm(low, high, selector);
}

DEVICE float half_float(uint32_t bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((uint16_t)bits));
    return value;
}

DEVICE uint32_t float_half(float value)
{
    uint16_t bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

DEVICE uint32_t float_bf16(float value)
{
    uint16_t bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

DEVICE uint32_t pack_half(float low, float high)
{
    uint32_t word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

DEVICE uint32_t pack_bf16(float low, float high)
{
    uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

/* ---- arithmetic by the special function unit --------------------------------------------------- */

DEVICE float exp2_fast(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

DEVICE float reciprocal_fast(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

DEVICE float reciprocal_root(float x)
{
    return rsqrtf(x);
}

DEVICE float larger(float a, float b)
{
    return fmaxf(a, b);
}

/* ---- memory ------------------------------------------------------------------------------------ */

/* Read once: not kept in the first-level cache. */
DEVICE word4 load16(const void *address)
{
    word4 v;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
        : "l"(address));
    return v;
}

/* May have been written by this launch, or is read again. */
DEVICE word4 load16_again(const void *address)
{
    word4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
                 : "l"(address)
                 : "memory");
    return v;
}

DEVICE void store16(void *address, word4 v)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.w[0]),
                 "r"(v.w[1]), "r"(v.w[2]), "r"(v.w[3])
                 : "memory");
}

DEVICE uint32_t shared_address(const void *pointer)
{
    return (uint32_t)__cvta_generic_to_shared(pointer);
}

DEVICE word4 load_shared16(const void *pointer)
{
    word4 v;
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.w[0]), "=r"(v.w[1]), "=r"(v.w[2]), "=r"(v.w[3])
                 : "r"(shared_address(pointer))
                 : "memory");
    return v;
}

/* 16 bytes from global to shared memory in the background; zeros when `wanted` is 0. */
DEVICE void copy_async(void *shared, const void *global, int wanted)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)),
                 "l"(global), "r"(wanted ? 16 : 0)
                 : "memory");
}

/* Closes a group of this thread's copies; waits until at most `left` younger groups are open. */
DEVICE void copy_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

#define copy_wait(left) asm volatile("cp.async.wait_group %0;" ::"n"(left) : "memory")

/* ---- threads that work together ------------------------------------------------------------------ */

/* The same value, but the compiler must ask for it here: what follows from it is not computed earlier
 * and kept in registers. */
DEVICE uint32_t fresh(uint32_t value)
{
    uint32_t same;
    asm volatile("mov.u32 %0, %1;" : "=r"(same) : "r"(value));
    return same;
}

DEVICE void block_sync(void)
{
    __syncthreads();
}

DEVICE float lane_xor(float value, int mask)
{
    return __shfl_xor_sync(0xffffffffu, value, mask);
}

DEVICE uint32_t lane_xor_word(uint32_t value, int mask)
{
    return __shfl_xor_sync(0xffffffffu, value, mask);
}

DEVICE double lane_xor_double(double value, int mask)
{
    return __shfl_xor_sync(0xffffffffu, value, mask);
}

DEVICE void add_atomic(uint32_t *address, uint32_t value)
{
    atomicAdd(address, value);
}

/* ---- tensor cores: c (16 x 8, fp32) += a (16 x k) b (k x 8) ---------------------------------------- */

DEVICE void mma_half(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

DEVICE void mma_bf16(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* k = 8; of each fp32 operand the upper 19 bits count. */
DEVICE void mma_tf32(float c[4], const uint32_t a[4], uint32_t b0, uint32_t b1)
{
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/* Four 8 x 8 matrices of 16-bit values from shared memory; lane i gives the address of row i % 8 of
 * matrix i / 8. */
DEVICE void load_matrices(uint32_t r[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

DEVICE void load_matrices_transposed(uint32_t r[4], const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
}

/* ---- waiting ----------------------------------------------------------------------------------------- */

DEVICE uint64_t clock_ns(void)
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* The host writes it while the kernel runs. */
DEVICE uint32_t load_host(const volatile uint32_t *address)
{
    uint32_t value;
    asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
    return value;
}

DEVICE void rest(void)
{
    __nanosleep(200);
}

#endif
#endif
