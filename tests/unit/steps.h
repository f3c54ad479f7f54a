/* SPDX-License-Identifier: MIT */
/* Steps without a workspace to carry about: one for all that a test asks. */
#ifndef LLMPERF_TEST_STEPS_H
#define LLMPERF_TEST_STEPS_H

#include <stdlib.h>
#include <string.h>

#include "llmperf/predict.h"
#include "config_object.h"

static inline llmperf_workspace *room(void)
{
    static llmperf_workspace *workspace;
    if (!workspace && llmperf_workspace_new(NULL, LLMPERF_SEGMENTS_MAX, &workspace, NULL) != 0)
        abort();
    return workspace;
}

/* llmperf_step() with copies of its operators and their times. */
static inline int step_into(const llmperf_config *c, const llmperf_segment *segments, int count,
                            llmperf_op *ret_ops, llmperf_time *ret_times, llmperf_total *ret_total)
{
    int ops = llmperf_step(c, segments, count, room(), ret_total);
    memcpy(ret_ops, llmperf_workspace_ops(room(), &ops), sizeof *ret_ops * (size_t)ops);
    memcpy(ret_times, llmperf_workspace_times(room()), sizeof *ret_times * (size_t)ops);
    return ops;
}

#endif
