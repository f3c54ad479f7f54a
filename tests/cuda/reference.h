/* SPDX-License-Identifier: MIT */
/*
 * What the CUDA kernels should compute, in double precision and the plainest way, written from
 * kernels.h alone. Pointers in the argument structs are host pointers here. The CPU shim's tests
 * and the check on a real device use the same functions.
 *
 * Errors are judged against a magnitude, the sum of absolute values that a result is made of, times
 * reference_tolerance(format); compare with !(error <= tolerance), so that NaN fails.
 */
#ifndef LLMPERF_TESTS_CUDA_REFERENCE_H
#define LLMPERF_TESTS_CUDA_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels.h"

/* Bytes of `count` values. */
size_t reference_bytes(uint64_t count, uint32_t format);

/* Value i of an array. */
double reference_value(const void *data, uint64_t i, uint32_t format);

/* The value nearest to x (ties to even) of fp32, fp16 or bf16, as bits. */
uint32_t reference_round(double x, uint32_t format);

/* What kernel_fill writes: value i as bits of its format. */
uint32_t reference_fill_bits(uint32_t seed, uint64_t i, uint32_t format);

/* A whole array as kernel_fill writes it. */
void reference_fill(void *data, uint64_t count, uint32_t format, uint32_t seed);

/* Of a magnitude: two roundings of the format and what fp32 arithmetic loses on the way. */
double reference_tolerance(uint32_t format);

/* ret_out, ret_magnitude (d): attention of one query over keys 0 .. keys-1 of one KV head, rows of d
 * values. Returns 0, or -1 without memory. */
int reference_attention(const void *q, const void *k, const void *v, uint32_t d, uint32_t keys,
                        double scale, uint32_t format, double *ret_out, double *ret_magnitude);

/* The same for one head of one sequence of a decode launch. */
int reference_decode(const kernel_decode_args *a, uint32_t d, uint32_t sequence, uint32_t head,
                     double *ret_out, double *ret_magnitude);

/* The same for one query and head of a prefill launch. */
int reference_prefill(const kernel_prefill_args *a, uint32_t d, uint32_t sequence, uint32_t query,
                      uint32_t head, double *ret_out, double *ret_magnitude);

/* Value i of a row of softmax over `row` (columns values of format), from the data before. */
double reference_softmax(const void *data, uint64_t row, uint32_t columns, uint32_t format,
                         uint32_t column);

double reference_elementwise(const kernel_elementwise_args *a, uint64_t i, double *ret_magnitude);

double reference_norm(const kernel_norm_args *a, uint64_t row, uint32_t column);

/* The row of the table that row i of a gather is. */
uint64_t reference_gather(const kernel_gather_args *a, uint64_t i);

/* Element i of a check: its value, its magnitude, and what lies in d. */
double reference_product(const kernel_check_args *a, uint32_t i, double *ret_magnitude,
                         double *ret_found);

#endif
