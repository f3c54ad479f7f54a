/* SPDX-License-Identifier: MIT */
/* An engine profile as YAML that spec_engine.c takes back to the same value. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "engine_field.h"
#include "llmperf/engine.h"
#include "writers.h"
#include "entry.h"
#include "engine_object.h"

/* 1 says nothing where a parameter is a factor: those of processors, on other parts. */
static bool is_neutral(const llmperf_engine_part *part, int k)
{
    double typical = engine_param_typical((llmperf_engine_param)k);
    return k >= LLMPERF_ENGINE_DECODE && part->param[k] == typical && part->error[k] == 0;
}

static void put_params(FILE *out, const llmperf_engine_part *part)
{
    fputs("    parameters:\n", out);
    for (int i = 0; i < LLMPERF_ENGINE_PARAM_COUNT; i++) {
        if (is_neutral(part, i))
            continue;
        fprintf(out, "      %s: ", llmperf_engine_param_name((llmperf_engine_param)i));
        yaml_number(out, part->param[i]);
        fputc('\n', out);
    }
    if (!part->fitted)
        return;
    const char *gap = "";
    fputs("    fitted: [", out);
    for (int i = 0; i < LLMPERF_ENGINE_PARAM_COUNT; i++)
        if (part->fitted & 1u << i) {
            fprintf(out, "%s%s", gap, llmperf_engine_param_name((llmperf_engine_param)i));
            gap = ", ";
        }
    fputs("]\n", out);
}

static void put_errors(FILE *out, const llmperf_engine_part *part)
{
    bool any = false;
    for (int i = 0; i < LLMPERF_ENGINE_PARAM_COUNT; i++) {
        if (part->error[i] == 0)
            continue;
        if (!any)
            fputs("    relative_error:\n", out);
        any = true;
        fprintf(out, "      %s: ", llmperf_engine_param_name((llmperf_engine_param)i));
        yaml_number(out, part->error[i]);
        fputc('\n', out);
    }
}

/* The lower triangle, of the parameters that have an error. Errors alone say as much where none is
 * correlated with another. */
static void put_covariance(FILE *out, const llmperf_engine_part *part)
{
    bool any = false;
    for (int i = 0; i < LLMPERF_ENGINE_PARAM_COUNT; i++)
        for (int k = 0; k < i; k++)
            any |= part->covariance[i][k] != 0;
    if (!any)
        return;
    fputs("    covariance:\n", out);
    for (int i = 0; i < LLMPERF_ENGINE_PARAM_COUNT; i++) {
        const char *gap = "      - [";
        if (part->error[i] == 0)
            continue;
        for (int k = 0; k <= i; k++)
            if (part->error[k] != 0) {
                fputs(gap, out);
                yaml_number(out, part->covariance[i][k]);
                gap = ", ";
            }
        fputs("]\n", out);
    }
}

static void put_quality(FILE *out, const llmperf_engine_quality *q)
{
    if (q->rows == 0)
        return;
    fputs("    quality:\n", out);
    for (int i = 0; i < ENGINE_QUALITY_COUNT; i++) {
        char key[64];
        const void *field = (const char *)q + ENGINE_QUALITY[i].offset;
        snprintf(key, sizeof key, "      %s", ENGINE_QUALITY[i].key);
        if (ENGINE_QUALITY[i].is_count)
            yaml_put_count(out, key, *(const int64_t *)field);
        else
            yaml_put_number(out, key, *(const double *)field);
    }
}

llmperf_status llmperf_engine_write(FILE *out, const llmperf_engine *engine, llmperf_error *error)
{
    NEEDS(out && engine, error);
    errno = 0;
    fprintf(out, "# llmperf engine profile; docs/engines.md explains every key\nschema: %d\n",
            LLMPERF_ENGINE_SCHEMA);
    yaml_put_text(out, "name", engine->name);
    for (int i = 0; i < engine->alias_count; i++) {
        fputs(i == 0 ? "aliases: [" : ", ", out);
        yaml_quoted(out, engine->aliases[i]);
        fputs(i + 1 == engine->alias_count ? "]\n" : "", out);
    }
    yaml_put_text(out, "source", engine->source);
    yaml_put_text(out, "licence", engine->licence);
    yaml_put_text(out, "date", engine->date);
    yaml_put_text(out, "digest", engine->digest);
    yaml_put_number(out, "borrowed", engine->borrowed);
    fputs(engine->part_count > 0 ? "parts:\n" : "parts: []\n", out);
    for (int i = 0; i < engine->part_count; i++) {
        const llmperf_engine_part *part = &engine->part[i];
        yaml_put_text(out, "  - hardware", part->hw);
        if (part->serving)
            fputs("    load: serving\n", out);
        yaml_put_text(out, "    versions", part->versions);
        put_params(out, part);
        put_errors(out, part);
        put_covariance(out, part);
        if (part->decode_residual + part->prefill_residual > 0) {
            fputs("    residual:\n", out);
            yaml_put_number(out, "      decode", part->decode_residual);
            yaml_put_number(out, "      prefill", part->prefill_residual);
        }
        yaml_put_text(out, "    remarks", part->remarks);
        put_quality(out, &part->quality);
    }
    if (fflush(out) != 0 || ferror(out))
        return llmperf_fail(error, LLMPERF_E_IO, "cannot write the profile: %s",
                            strerror(errno ? errno : EIO));
    return LLMPERF_OK;
}
