/* SPDX-License-Identifier: MIT */
/*
 * Throughput against batch, on threads: models, hardware, calibrations and configs are read-only in use,
 * so threads share them; what each thread needs of its own are a config that it moves about and a
 * workspace. The calibration is the best that is shipped for the hardware.
 *
 *     cc sweep.c $(pkg-config --cflags --libs llmperf) -pthread -o sweep
 *     ./sweep llama-3.1-8b h100-sxm 4
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "llmperf/llmperf.h"

enum { POINTS = 9, THREADS_MAX = 64 }; /* batch 1, 2, 4 ... 256 */

typedef struct job {
    int first, step; /* points first, first + step ... */
    llmperf_config *config;
    llmperf_workspace *workspace;
    llmperf_point *points;
} job;

static void *work(void *argument)
{
    const job *j = (const job *)argument;
    for (int i = j->first; i < POINTS; i += j->step) {
        const llmperf_workload *w = llmperf_config_workload(j->config);
        llmperf_config_move(j->config, (int64_t)1 << i, w->prompt, w->context);
        llmperf_point_of(j->config, LLMPERF_SWEEP_DECODE, j->workspace, &j->points[i]);
    }
    return NULL;
}

/* Runs the jobs; one whose thread does not start is done here. */
static void run(job *jobs, int count)
{
    pthread_t threads[THREADS_MAX];
    int started = 0;
    while (started < count && pthread_create(&threads[started], NULL, work, &jobs[started]) == 0)
        started++;
    for (int i = started; i < count; i++)
        work(&jobs[i]);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

static llmperf_status sweep(const llmperf_config *config, int threads, llmperf_point *points,
                            llmperf_error *error)
{
    job jobs[THREADS_MAX] = {{0, 0, NULL, NULL, NULL}};
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; i < threads && status == LLMPERF_OK; i++) {
        jobs[i].first = i;
        jobs[i].step = threads;
        jobs[i].points = points;
        status = llmperf_config_copy(config, &jobs[i].config, error);
        if (status == LLMPERF_OK)
            status = llmperf_workspace_new(config, LLMPERF_SEGMENTS_MAX, &jobs[i].workspace, error);
    }
    if (status == LLMPERF_OK)
        run(jobs, threads);
    for (int i = 0; i < threads; i++) {
        llmperf_config_free(jobs[i].config);
        llmperf_workspace_free(jobs[i].workspace);
    }
    return status;
}

int main(int argc, char **argv)
{
    llmperf_load_options options = {0};
    llmperf_loaded loaded = {0};
    llmperf_config *config = NULL;
    llmperf_point points[POINTS];
    llmperf_error error = {0};
    int threads = argc > 3 ? atoi(argv[3]) : 2;
    if (argc < 3 || threads < 1 || threads > THREADS_MAX) {
        fprintf(stderr, "usage: sweep MODEL HARDWARE [THREADS]\n");
        return LLMPERF_E_USAGE;
    }
    options.model = argv[1];
    options.hw = argv[2];
    llmperf_status status = llmperf_load(&options, &loaded, &error);
    if (status == LLMPERF_OK)
        status = llmperf_config_new(loaded.model, loaded.hw, loaded.calib, NULL, &config, &error);
    if (status == LLMPERF_OK)
        status = sweep(config, threads, points, &error);
    if (status == LLMPERF_OK) {
        printf("%s\n", loaded.notes.text[0]); /* what times it */
        puts("batch,time_s,tokens_per_s,bound,fits");
        for (int i = 0; i < POINTS; i++)
            printf("%d,%.17g,%.17g,%s,%s\n", 1 << i, points[i].time_s.value,
                   points[i].tokens_per_s.value, llmperf_bound_name((llmperf_bound)points[i].bound),
                   points[i].fits ? "true" : "false");
    } else {
        fprintf(stderr, "%s\n", error.text);
    }
    llmperf_config_free(config);
    llmperf_loaded_free(&loaded);
    return (int)status;
}
