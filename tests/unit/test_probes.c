/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "llmperf/measure.h"
#include "llmperf/samples.h"

static llmperf_probe_plan plan_of(const char *options, bool quick)
{
    void *handle;
    llmperf_probe_plan plan;
    llmperf_error error = {0};
    const llmperf_backend *fake = llmperf_backend_fake();
    cr_assert(fake->open(0, options, &handle, &error) == LLMPERF_OK, "%s", error.text);
    cr_assert(llmperf_probe_plan_make(fake, handle, quick, &plan, &error) == LLMPERF_OK, "%s",
              error.text);
    fake->close(handle);
    return plan;
}

static int count_kind(const llmperf_probe_plan *plan, llmperf_probe_kind kind)
{
    int count = 0;
    for (int i = 0; i < plan->count; i++)
        count += plan->probe[i].kind == kind;
    return count;
}

/* Distinct values of one field over the GEMMs of a dtype. */
static int distinct(const llmperf_probe_plan *plan, llmperf_dtype dtype, size_t offset)
{
    double seen[64];
    int count = 0;
    for (int i = 0; i < plan->count; i++) {
        const llmperf_op *op = &plan->probe[i].op;
        double value = *(const double *)((const char *)op + offset);
        int at = 0;
        if (plan->probe[i].kind != LLMPERF_PROBE_OP || op->kind != LLMPERF_KIND_GEMM ||
            op->dtype != dtype)
            continue;
        while (at < count && seen[at] != value)
            at++;
        if (at == count && count < 64)
            seen[count++] = value;
    }
    return count;
}

Test(probes, every_parameter_can_be_told_apart)
{
    for (int quick = 0; quick < 2; quick++) {
        llmperf_probe_plan plan = plan_of(NULL, quick);
        bool small_k = false;
        int decode = 0, prefill = 0, elementwise = 0;
        /* bandwidth and t0: three weight sizes; compute: many m; serial: k below 1024 */
        cr_expect(distinct(&plan, LLMPERF_DTYPE_BF16, offsetof(llmperf_op, weight_bytes)) >= 3);
        cr_expect(distinct(&plan, LLMPERF_DTYPE_BF16, offsetof(llmperf_op, m)) >= 10);
        for (int i = 0; i < plan.count; i++) {
            const llmperf_op *op = &plan.probe[i].op;
            if (plan.probe[i].kind != LLMPERF_PROBE_OP)
                continue;
            small_k |= op->kind == LLMPERF_KIND_GEMM && op->k < 1024;
            decode += op->kind == LLMPERF_KIND_ATTENTION && op->regime == LLMPERF_REGIME_DECODE;
            prefill += op->kind == LLMPERF_KIND_ATTENTION && op->regime == LLMPERF_REGIME_PREFILL;
            elementwise += op->kind == LLMPERF_KIND_ELEMENTWISE;
        }
        cr_expect(small_k);
        cr_expect(decode >= 5 && prefill >= 5 && elementwise >= 4);
        cr_expect_eq(count_kind(&plan, LLMPERF_PROBE_COPY), 1);
        cr_expect_eq(count_kind(&plan, LLMPERF_PROBE_TRIAD), 1);
        cr_expect_eq(count_kind(&plan, LLMPERF_PROBE_LAUNCH), 1);
        cr_expect(count_kind(&plan, LLMPERF_PROBE_READ) >= 4, "memory and the cache plateau");
        cr_expect(plan.watch.kind == LLMPERF_PROBE_READ && plan.watch.bytes > 0);
        llmperf_probe_plan_free(&plan);
    }
}

Test(probes, a_quick_plan_is_thinner_and_shorter)
{
    llmperf_probe_plan quick = plan_of(NULL, true), full = plan_of(NULL, false);
    cr_expect(quick.count < full.count);
    cr_expect(quick.budget_s < 60 && full.budget_s < 480);
    llmperf_probe_plan_free(&quick);
    llmperf_probe_plan_free(&full);
}

/* Full: at least 48 shapes a format with m from 1 to 8192, k from 256 to 28672. */
Test(probes, a_gpu_gets_launches_links_and_the_long_grid)
{
    for (int quick = 0; quick < 2; quick++) {
        llmperf_probe_plan plan = plan_of("gpu=1", quick);
        static const llmperf_probe_kind ONCE[] = {
            LLMPERF_PROBE_WRITE,      LLMPERF_PROBE_COPY,         LLMPERF_PROBE_TRIAD,
            LLMPERF_PROBE_LAUNCH,     LLMPERF_PROBE_LAUNCH_GRAPH, LLMPERF_PROBE_LAUNCH_HOST,
            LLMPERF_PROBE_ROUND_TRIP,
        };
        double least_k = INFINITY, most_k = 0, most_m = 0;
        int shapes = 0;
        for (size_t i = 0; i < sizeof ONCE / sizeof *ONCE; i++)
            cr_expect_eq(count_kind(&plan, ONCE[i]), 1);
        cr_expect_eq(count_kind(&plan, LLMPERF_PROBE_H2D), quick ? 1 : 3);
        cr_expect_eq(count_kind(&plan, LLMPERF_PROBE_D2H), quick ? 1 : 3);
        for (int i = 0; i < plan.count; i++) {
            const llmperf_op *op = &plan.probe[i].op;
            cr_expect(!plan.probe[i].best, "the fake device has one algorithm");
            if (plan.probe[i].kind != LLMPERF_PROBE_OP || op->kind != LLMPERF_KIND_GEMM ||
                op->dtype != LLMPERF_DTYPE_BF16)
                continue;
            shapes++;
            least_k = fmin(least_k, op->k);
            most_k = fmax(most_k, op->k);
            most_m = fmax(most_m, op->m);
        }
        cr_expect(quick ? shapes >= 18 : shapes >= 48 && shapes <= 100, "%d", shapes);
        cr_expect(most_m == 8192 && least_k <= 512);
        cr_expect(quick || (most_k == 28672 && least_k == 256));
        cr_expect(plan.budget_s <= (quick ? 60 : 180));
        llmperf_probe_plan_free(&plan);
    }
}

Test(probes, memory_streams_are_four_caches_and_fit_into_memory)
{
    const struct {
        char options[64];
        double cache, memory;
    } rows[] = {{"cache=4e8", 4e8, 64e9}, {"cache=4e8,memory=1e9", 4e8, 1e9}};
    for (int r = 0; r < 2; r++) {
        llmperf_probe_plan plan = plan_of(rows[r].options, true);
        for (int i = 0; i < plan.count; i++) {
            const llmperf_probe *p = &plan.probe[i];
            cr_expect(llmperf_probe_bytes(p) <= 0.6 * rows[r].memory);
            if (p->cold && p->kind == LLMPERF_PROBE_TRIAD && r == 0)
                cr_expect(p->bytes >= 4 * rows[r].cache);
        }
        llmperf_probe_plan_free(&plan);
    }
}

Test(probes, what_is_not_supported_is_left_out_and_said)
{
    llmperf_probe_plan plan = plan_of("unsupported=fp8+bf16", true);
    for (int i = 0; i < plan.count; i++)
        cr_expect(plan.probe[i].op.dtype != LLMPERF_DTYPE_FP8 &&
                  plan.probe[i].op.dtype != LLMPERF_DTYPE_BF16);
    cr_assert_eq(plan.skipped.count, 1);
    cr_expect(strstr(plan.skipped.text[0], "tf32, bf16, fp8 ("), "%s", plan.skipped.text[0]);
    llmperf_probe_plan_free(&plan);
}

Test(probes, no_probe_stands_twice_in_a_plan)
{
    llmperf_probe_plan plan = plan_of(NULL, false);
    for (int i = 0; i < plan.count; i++)
        for (int j = 0; j < i; j++) {
            char a[LLMPERF_PROBE_TEXT_MAX], b[LLMPERF_PROBE_TEXT_MAX];
            llmperf_probe_describe(&plan.probe[i], a, sizeof a);
            llmperf_probe_describe(&plan.probe[j], b, sizeof b);
            cr_expect(strcmp(a, b) != 0 || plan.probe[i].cold != plan.probe[j].cold ||
                          plan.probe[i].op.dtype != plan.probe[j].op.dtype,
                      "%d and %d: %s", j, i, a);
        }
    llmperf_probe_plan_free(&plan);
}

Test(probes, descriptions_name_shape_and_size)
{
    char text[LLMPERF_PROBE_TEXT_MAX];
    llmperf_probe p = {.kind = LLMPERF_PROBE_READ, .bytes = 268435456};
    cr_expect_str_eq(llmperf_probe_describe(&p, text, sizeof text), "read 256 MiB");
    p = (llmperf_probe){
        .kind = LLMPERF_PROBE_OP,
        .op = llmperf_sample_gemm(LLMPERF_DTYPE_BF16, LLMPERF_DTYPE_NONE, 16, 4096, 1024)};
    cr_expect_str_eq(llmperf_probe_describe(&p, text, sizeof text), "gemm bf16 m=16 n=4096 k=1024");
    p.op.m = 1;
    cr_expect_str_eq(llmperf_probe_describe(&p, text, sizeof text), "gemv bf16 m=1 n=4096 k=1024");
    p.best = true;
    cr_expect_str_eq(llmperf_probe_describe(&p, text, sizeof text),
                     "gemv bf16 m=1 n=4096 k=1024, best");
    p = (llmperf_probe){.kind = LLMPERF_PROBE_H2D, .bytes = 65536};
    cr_expect_str_eq(llmperf_probe_describe(&p, text, sizeof text), "host to device 64 KiB");
    p = (llmperf_probe){.kind = LLMPERF_PROBE_LAUNCH};
    cr_expect_str_eq(llmperf_probe_describe(&p, text, sizeof text), "empty launch");
    cr_expect_str_eq(llmperf_probe_describe(&p, text, 6), "empty");
}
