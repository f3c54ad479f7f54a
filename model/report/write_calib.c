/* SPDX-License-Identifier: MIT */
/* A calibration as YAML that spec_calib.c takes back to the same value. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "llmperf/calib.h"
#include "writers.h"
#include "entry.h"
#include "calib_object.h"

static void put_key(FILE *out, const llmperf_calib_key *key)
{
    static const char *const HEADS[] = {NULL, "single", "grouped", "wide"};
    static const char *const SIZES[] = {NULL, "to_64", "to_128", "larger"};
    const char *regime = llmperf_regime_name((llmperf_regime)key->regime);
    fprintf(out, "  - kind: %s\n", llmperf_kind_name((llmperf_op_kind)key->kind));
    if (regime)
        fprintf(out, "    regime: %s\n", regime);
    if (key->dtype)
        fprintf(out, "    dtype: %s\n", llmperf_dtype_name((llmperf_dtype)key->dtype));
    if (key->stored)
        fprintf(out, "    stored: %s\n", llmperf_dtype_name((llmperf_dtype)key->stored));
    if (key->gemv)
        fputs("    gemv: true\n", out);
    if (key->block)
        fputs("    block: true\n", out);
    if (key->experts)
        fputs("    experts: true\n", out);
    if (key->heads)
        fprintf(out, "    heads: %s\n", HEADS[key->heads]);
    if (key->head_size)
        fprintf(out, "    head_size: %s\n", SIZES[key->head_size]);
    if (key->collective)
        fprintf(out, "    collective: %s\n",
                llmperf_collective_name((llmperf_collective)key->collective));
    yaml_put_count(out, "    devices", key->devices);
}

/* A fitted parameter, and one that is set to something else than its neutral value. */
static bool is_written(const llmperf_calib_entry *e, int i)
{
    double neutral = llmperf_param_neutral((llmperf_param)i);
    return e->fitted & UINT64_C(1) << i || !(e->param[i] == neutral);
}

static void put_params(FILE *out, const llmperf_calib_entry *e)
{
    fputs("    parameters:\n", out);
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++)
        if (is_written(e, i)) {
            fprintf(out, "      %s: ", llmperf_param_name((llmperf_param)i));
            yaml_number(out, e->param[i]);
            fputc('\n', out);
        }
    if (!e->fitted)
        return;
    const char *gap = "";
    fputs("    fitted: [", out);
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++)
        if (e->fitted & UINT64_C(1) << i) {
            fprintf(out, "%s%s", gap, llmperf_param_name((llmperf_param)i));
            gap = ", ";
        }
    fputs("]\n    standard_error:\n", out);
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++)
        if (e->fitted & UINT64_C(1) << i) {
            fprintf(out, "      %s: ", llmperf_param_name((llmperf_param)i));
            fprintf(out, "%.7g", sqrt(e->covariance[i][i])); /* for people */
            fputc('\n', out);
        }
    fputs("    covariance:\n", out);
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++) {
        if (!(e->fitted & UINT64_C(1) << i))
            continue;
        gap = "      - [";
        for (int k = 0; k <= i; k++) /* the lower triangle */
            if (e->fitted & UINT64_C(1) << k) {
                fputs(gap, out);
                yaml_number(out, e->covariance[i][k]);
                gap = ", ";
            }
        fputs("]\n", out);
    }
}

static void put_range(FILE *out, const char *key, double least, double most)
{
    if (most == 0)
        return;
    fprintf(out, "      %s: [", key);
    yaml_number(out, least);
    fputs(", ", out);
    yaml_number(out, most);
    fputs("]\n", out);
}

static void put_quality(FILE *out, const llmperf_calib_quality *q)
{
    if (q->samples == 0)
        return;
    fputs("    quality:\n", out);
    yaml_put_count(out, "      samples", q->samples);
    yaml_put_count(out, "      points", q->points);
    yaml_put_count(out, "      groups", q->groups);
    yaml_put_count(out, "      warm", q->warm);
    yaml_put_count(out, "      refused", q->refused);
    yaml_put_number(out, "      mean_frac", q->mean_frac);
    yaml_put_number(out, "      median_frac", q->median_frac);
    yaml_put_number(out, "      p90_frac", q->p90_frac);
    yaml_put_number(out, "      bias_frac", q->bias_frac);
    yaml_put_number(out, "      rms_log", q->rms_log);
    yaml_put_number(out, "      left_out_frac", q->left_out_frac);
    yaml_put_number(out, "      roofline_frac", q->roofline_frac);
    yaml_put_number(out, "      constant_frac", q->constant_frac);
    if (q->flop_most + q->bytes_most + q->time_most_s == 0)
        return;
    fputs("    range:\n", out);
    put_range(out, "flop", q->flop_least, q->flop_most);
    put_range(out, "bytes", q->bytes_least, q->bytes_most);
    put_range(out, "time_s", q->time_least_s, q->time_most_s);
}

llmperf_status llmperf_calib_write(FILE *out, const llmperf_calib *calib, llmperf_error *error)
{
    NEEDS(out && calib, error);
    errno = 0;
    fprintf(out, "# llmperf calibration; docs/calibration.md explains every key\nschema: %d\n",
            LLMPERF_CALIB_SCHEMA);
    yaml_put_text(out, "name", calib->name);
    yaml_put_text(out, "hardware", calib->hw);
    yaml_put_text(out, "device", calib->device);
    yaml_put_text(out, "library", calib->library);
    yaml_put_text(out, "backend", calib->backend);
    yaml_put_text(out, "date", calib->date);
    if (calib->clock_hz + calib->power_w + calib->stream_bytes_per_s > 0 || calib->throttled ||
        calib->contended) {
        fputs("conditions:\n", out);
        yaml_put_number(out, "  clock_hz", calib->clock_hz);
        yaml_put_number(out, "  power_w", calib->power_w);
        yaml_put_number(out, "  stream_bytes_per_s", calib->stream_bytes_per_s);
        if (calib->throttled)
            fputs("  throttled: true\n", out);
        if (calib->contended)
            fputs("  contended: true\n", out);
    }
    yaml_put_count(out, "samples", calib->samples);
    yaml_put_text(out, "digest", calib->digest);
    fputs(calib->entry_count > 0 ? "fits:\n" : "fits: []\n", out);
    for (int i = 0; i < calib->entry_count; i++) {
        const llmperf_calib_entry *e = &calib->entry[i];
        put_key(out, &e->key);
        yaml_put_text(out, "    library", e->library);
        yaml_put_text(out, "    version", e->version);
        put_params(out, e);
        yaml_put_number(out, "    residual", e->residual);
        yaml_put_number(out, "    correlation", e->correlation);
        yaml_put_text(out, "    remarks", e->remarks);
        put_quality(out, &e->quality);
    }
    if (fflush(out) != 0 || ferror(out))
        return llmperf_fail(error, LLMPERF_E_IO, "cannot write the calibration: %s",
                            strerror(errno ? errno : EIO));
    return LLMPERF_OK;
}
