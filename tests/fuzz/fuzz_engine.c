/* SPDX-License-Identifier: MIT */
/*
 * Any bytes, read as an engine profile. What loads must be physics, must make a calibration that
 * times an operator above its floor, and must survive being written and read again.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/engine.h"
#include "calib_object.h"
#include "engine_object.h"
#include "read.h"
#include "host.h"
#include "profile.h"
#include "time_op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool promise)
{
    if (!promise)
        abort();
}

static char *written(const llmperf_engine *engine)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    require(out != NULL);
    require(llmperf_engine_write(out, engine, NULL) == LLMPERF_OK);
    require(fclose(out) == 0);
    require(strlen(text) == size);
    return text;
}

/* A product on a round part: the time is a number, and no less than the roofline allows. */
static void check_part(const llmperf_engine *engine, const llmperf_engine_part *part)
{
    static llmperf_calib calib;
    llmperf_hw hw = {.mem_bytes_per_s = 1e12, .units = 100};
    llmperf_gradient gradient;
    for (int k = 0; k < LLMPERF_ENGINE_PARAM_COUNT; k++) {
        llmperf_param_range range = llmperf_engine_param_limits((llmperf_engine_param)k);
        require(part->param[k] <= range.most &&
                (range.above ? part->param[k] > range.least : part->param[k] >= range.least));
    }
    for (int dtype = 1; dtype < LLMPERF_DTYPE_COUNT; dtype++)
        hw.peak_flop_per_s[dtype] = 1e14;
    engine_calib(engine, part, &hw, NULL, &calib);
    for (int dtype = 1; dtype < LLMPERF_DTYPE_COUNT; dtype++) {
        llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                         .dtype = (uint8_t)dtype,
                         .launches = 1,
                         .devices = 1,
                         .m = 77,
                         .n = 512,
                         .k = 512,
                         .flop = 2.0 * 77 * 512 * 512,
                         .weight_bytes = 131072,
                         .bytes = 3e5};
        double ideal = time_op(&op, &hw, NULL, NULL, NULL);
        double time = time_op(&op, &hw, &calib, NULL, &gradient);
        require(time >= ideal / 1.05 * (1 - 1e-12) && !isnan(time));
    }
    require(host_time_of(&calib.host, 32, 4, 1e-3, 0) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static llmperf_engine engine, again;
    llmperf_error error = {0};
    llmperf_status status = engine_load_text("fuzz", (const char *)data, size, &engine, &error);
    if (status != LLMPERF_OK) {
        require(error.status == status && error.faults > 0 && error.text[0]);
        for (const char *c = error.text; *c; c++)
            require((unsigned char)*c >= 0x20 || *c == '\n');
        return 0;
    }
    for (int i = 0; i < engine.part_count; i++)
        check_part(&engine, &engine.part[i]);
    char *text = written(&engine);
    require(engine_load_text("again", text, strlen(text), &again, &error) == LLMPERF_OK);
    char *second = written(&again);
    require(strcmp(text, second) == 0);
    free(second);
    free(text);
    return 0;
}
