/* SPDX-License-Identifier: MIT */
/* One step and its workspace: any number of segments, the same times as operator by operator, small
 * stacks. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>

#include "random_case.h"
#include "steps.h"
#include "config_object.h"
#include "config.h"
#include "time_op.h"

typedef struct random_run {
    rng r;
    llmperf_model model;
    llmperf_hw hw;
    llmperf_calib calib;
    llmperf_config c;
} random_run;

/* A random config; false where the model cannot be had on that device. */
static bool draw(random_run *x, uint64_t seed, bool calibrated)
{
    llmperf_workload w;
    llmperf_error error = {0};
    x->r = (rng){seed};
    random_model(&x->r, &x->model);
    random_hw(&x->r, &x->hw);
    random_calib(&x->r, 1, true, &x->calib);
    random_workload(&x->r, &x->model, &w);
    return config_init(&x->c, &x->model, &x->hw, calibrated ? &x->calib : NULL, &w, &error) ==
           LLMPERF_OK;
}

static void random_segments(rng *r, int count, llmperf_segment *ret_segments)
{
    for (int i = 0; i < count; i++) {
        bool decode = rng_chance(r, 0.5);
        ret_segments[i] = (llmperf_segment){.sequences = rng_int(r, 1, 8),
                                            .query = decode ? 1 : rng_log_int(r, 1, 2000),
                                            .past = rng_log_int(r, 1, 5000) - 1,
                                            .decode = decode};
        ret_segments[i].logits = rng_int(r, 0, ret_segments[i].sequences);
    }
}

Test(step, any_number_of_segments_stays_in_its_room)
{
    static random_run x;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        if (!draw(&x, 4400000 + seed, false))
            continue;
        llmperf_segment segments[200];
        int count = (int)rng_int(&x.r, 1, 200);
        random_segments(&x.r, count, segments);
        int room = llmperf_emit_capacity(&x.c, count);
        llmperf_op *ops = malloc(sizeof *ops * (size_t)room); /* sanitizers see a byte too many */
        int needed = llmperf_emit(&x.c, segments, count, room, ops);
        cr_expect(needed <= room, "seed %d: %d operators of %d segments, room for %d", (int)seed,
                  needed, count, room);
        free(ops);

        /* what there is no room for is counted, and what there is room for is the same */
        int few = needed / 2;
        llmperf_op *all = malloc(sizeof *all * (size_t)needed);
        llmperf_op *half = malloc(sizeof *half * (size_t)(few + 1));
        memset(&half[few], 0x5a, sizeof half[few]);
        cr_expect_eq(llmperf_emit(&x.c, segments, count, needed, all), needed);
        cr_expect_eq(llmperf_emit(&x.c, segments, count, few, half), needed);
        cr_expect_arr_eq(half, all, sizeof *half * (size_t)few);
        for (size_t i = 0; i < sizeof half[few]; i++)
            cr_expect_eq(((unsigned char *)&half[few])[i], 0x5a, "written beyond the room");
        free(all);
        free(half);
    }
}

/* 64 decode segments of a plain decoder: one attention operator each, everything else once. */
Test(step, sixty_four_decode_segments_are_sixty_four_attention_operators)
{
    static llmperf_model model;
    static llmperf_config c;
    static llmperf_op ops[256];
    llmperf_segment segments[64];
    llmperf_error error = {0};
    model = toy_model();
    const llmperf_workload w = {.batch = 1};
    cr_assert_eq(config_init(&c, &model, NULL, NULL, &w, &error), LLMPERF_OK, "%s", error.text);
    for (int i = 0; i < 64; i++)
        segments[i] = (llmperf_segment){
            .sequences = 1, .query = 1, .past = 100 + i, .logits = 1, .decode = true};
    int one = llmperf_emit(&c, segments, 1, 256, ops);
    cr_expect_eq(llmperf_emit(&c, segments, 64, 256, ops), one + 63);
    cr_expect(one + 63 <= llmperf_emit_capacity(&c, 64));
}

Test(step, a_step_beyond_the_workspace_is_refused_and_changes_nothing)
{
    static llmperf_model model;
    static llmperf_config c;
    llmperf_segment segments[64];
    llmperf_workspace *workspace = NULL;
    model = toy_model();
    const llmperf_workload w = {.batch = 1};
    cr_assert_eq(config_init(&c, &model, NULL, NULL, &w, NULL), LLMPERF_OK);
    cr_assert_eq(llmperf_workspace_new(&c, 1, &workspace, NULL), LLMPERF_OK);
    for (int i = 0; i < 64; i++)
        segments[i] =
            (llmperf_segment){.sequences = 1, .query = 1, .past = i, .logits = 1, .decode = true};
    llmperf_total total = {.flop = 42};
    cr_expect_eq(llmperf_step(&c, segments, 64, workspace, &total), -1);
    cr_expect_eq(total.flop, 42);
    cr_expect(llmperf_step(&c, segments, 1, workspace, &total) > 0);
    llmperf_workspace_free(workspace);
    cr_expect_eq(llmperf_workspace_new(&c, 0, &workspace, NULL), LLMPERF_E_USAGE);
    llmperf_workspace_free(NULL);
}

/* The workspace remembers which fits time an operator: whatever ran in it before, the times are those
 * of time_op(), to the last bit. */
Test(step, times_in_a_workspace_are_those_of_operators_alone)
{
    static random_run x;
    int compared = 0;
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        if (!draw(&x, 4500000 + seed, !rng_chance(&(rng){seed}, 0.2)))
            continue;
        for (int step = 0; step < 3; step++) {
            llmperf_segment segments[LLMPERF_SEGMENTS_MAX];
            llmperf_total total, sum = {0};
            int segment_count = (int)rng_int(&x.r, 1, LLMPERF_SEGMENTS_MAX), count;
            random_segments(&x.r, segment_count, segments);
            llmperf_step(&x.c, segments, segment_count, room(), &total);
            const llmperf_op *ops = llmperf_workspace_ops(room(), &count);
            for (int i = 0; i < count; i++) {
                llmperf_time one;
                double alone = time_op(&ops[i], x.c.hw, x.c.calib, &one, NULL);
                cr_assert_eq(alone, llmperf_workspace_times(room())[i].time_s,
                             "seed %d, step %d: %s", (int)seed, step,
                             llmperf_op_name((llmperf_op_id)ops[i].id));
                llmperf_total_add(&sum, &ops[i], &one, 1);
                compared++;
            }
            cr_assert_eq(sum.time_s, total.time_s);
        }
    }
    cr_expect(compared > 20000, "%d operators", compared);
}

typedef struct threaded {
    const llmperf_config *c;
    llmperf_prediction *prediction;
    llmperf_status status;
} threaded;

static void *predict(void *argument)
{
    threaded *t = argument;
    t->status = llmperf_predict(t->c, t->prediction, NULL);
    return NULL;
}

/* A thread with a stack of 128 KiB: what embedding programs give their workers. */
Test(step, a_prediction_needs_no_large_stack)
{
    static random_run x;
    static llmperf_prediction own = LLMPERF_PREDICTION_INIT, other = LLMPERF_PREDICTION_INIT;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        if (!draw(&x, 4600000 + seed, seed % 2 == 0))
            continue;
        if (llmperf_config_check_steps(&x.c, NULL) != LLMPERF_OK)
            continue;
        threaded t = {.c = &x.c, .prediction = &other};
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        cr_assert_eq(pthread_attr_setstacksize(&attributes, 128 * 1024), 0);
        cr_assert_eq(pthread_create(&thread, &attributes, predict, &t), 0);
        pthread_join(thread, NULL);
        pthread_attr_destroy(&attributes);
        cr_assert_eq(t.status, LLMPERF_OK);
        cr_assert_eq(llmperf_predict(&x.c, &own, NULL), LLMPERF_OK);
        cr_expect_eq(own.tpot_s.value, other.tpot_s.value);
        cr_expect_eq(own.ttft_s.high, other.ttft_s.high);
    }
}
