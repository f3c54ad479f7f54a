/* SPDX-License-Identifier: MIT */
/*
 * Any bytes, read as a calibration YAML. What loads must be physics, must time an operator above its
 * floor, and must survive being written and read again.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/calib.h"
#include "calib_object.h"
#include "read.h"
#include "time_op.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool promise)
{
    if (!promise)
        abort();
}

static char *written(const llmperf_calib *calib)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    require(out != NULL);
    require(llmperf_calib_write(out, calib, NULL) == LLMPERF_OK);
    require(fclose(out) == 0);
    require(strlen(text) == size);
    return text;
}

static void check_entry(const llmperf_calib_entry *e)
{
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++) {
        llmperf_param_range range = llmperf_param_limits((llmperf_param)i);
        require(e->param[i] <= range.most &&
                (range.above ? e->param[i] > range.least : e->param[i] >= range.least));
        require(e->covariance[i][i] >= 0);
        for (int k = 0; k < LLMPERF_PARAM_COUNT; k++)
            require(isfinite(e->covariance[i][k]));
    }
    require(isfinite(e->residual) && e->correlation >= 0 && e->correlation <= 1);
}

/* A product on a round part: the time is a number, and no less than the roofline allows. */
static void check_time(const llmperf_calib *calib)
{
    llmperf_hw hw = {.mem_bytes_per_s = 1e12, .units = 100};
    llmperf_gradient gradient;
    for (int dtype = 1; dtype < LLMPERF_DTYPE_COUNT; dtype++) {
        hw.peak_flop_per_s[dtype] = 1e14;
        llmperf_op op = {.kind = LLMPERF_KIND_GEMM,
                         .dtype = (uint8_t)dtype,
                         .launches = 1,
                         .devices = 1,
                         .m = 77,
                         .n = 512,
                         .k = 512,
                         .flop = 2.0 * 77 * 512 * 512,
                         .weight_bytes = 524288,
                         .bytes = 7e5};
        double ideal = time_op(&op, &hw, NULL, NULL, NULL);
        double time = time_op(&op, &hw, calib, NULL, &gradient);
        require(time >= ideal / 1.05 * (1 - 1e-12) && !isnan(time));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static llmperf_calib calib, again;
    llmperf_error error = {0};
    llmperf_status status = calib_load_text("fuzz", (const char *)data, size, &calib, &error);
    if (status != LLMPERF_OK) {
        require(error.status == status && error.faults > 0 && error.text[0]);
        for (const char *c = error.text; *c; c++)
            require((unsigned char)*c >= 0x20 || *c == '\n');
        return 0;
    }
    for (int i = 0; i < calib.entry_count; i++)
        check_entry(&calib.entry[i]);
    check_time(&calib);
    char *text = written(&calib);
    require(calib_load_text("again", text, strlen(text), &again, &error) == LLMPERF_OK);
    char *second = written(&again);
    require(strcmp(text, second) == 0);
    free(second);
    free(text);
    return 0;
}
