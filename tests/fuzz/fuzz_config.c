/* SPDX-License-Identifier: MIT */
/*
 * Any bytes, read as a model: as a Hugging Face config.json and as our YAML. What loads is counted
 * and predicted on a fixed part; no number may be NaN, infinite or negative.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/report.h"
#include "config_object.h"
#include "read.h"
#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char PART[] = "name: part\n"
                           "peak: {fp32: 60 TFLOP/s, bf16: 1 PFLOP/s, fp16: 1 PFLOP/s, "
                           "fp8: 2 PFLOP/s, int8: 2 POP/s}\n"
                           "memory: 80 GB\n"
                           "bandwidth: 3 TB/s\n"
                           "link: {kind: nvlink, bandwidth: 450 GB/s, domain: 8}\n"
                           "power: 700 W\n";

static void require(bool promise)
{
    if (!promise)
        abort();
}

static void require_quantity(double value)
{
    require(isfinite(value) && value >= 0);
}

static void require_estimate(const llmperf_estimate *estimate)
{
    require_quantity(estimate->low);
    require(isfinite(estimate->high));
    require(estimate->low <= estimate->value && estimate->value <= estimate->high);
}

static void require_plain(const char *text)
{
    for (; *text; text++)
        require((unsigned char)*text >= 0x20 || *text == '\n' || *text == '\t');
}

static void check_total(const llmperf_total *total)
{
    const double sums[] = {total->flop,         total->weight_bytes,  total->input_bytes,
                           total->output_bytes, total->kv_read_bytes, total->kv_write_bytes,
                           total->bytes,        total->time_s,        total->compute_s,
                           total->memory_s,     total->link_s};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
        require_quantity(sums[i]);
}

static void check_crossing(const llmperf_crossing *crossing)
{
    require(crossing->exists ? crossing->batch >= 1 && isfinite(crossing->exact)
                             : crossing->why[0] != '\0');
}

static void check_prediction(const llmperf_prediction *p)
{
    const llmperf_estimate *const estimates[] = {&p->prefill.time_s,
                                                 &p->prefill.tokens_per_s,
                                                 &p->decode.time_s,
                                                 &p->decode.tokens_per_s,
                                                 &p->tokens_per_s_per_seq,
                                                 &p->ttft_s,
                                                 &p->ttft_batch_s,
                                                 &p->tpot_s,
                                                 &p->e2e_s};
    for (size_t i = 0; i < sizeof estimates / sizeof *estimates; i++)
        require_estimate(estimates[i]);
    check_total(&p->prefill.total);
    check_total(&p->decode.total);
    const llmperf_memory *m = &p->memory;
    const double bytes[] = {m->weight_bytes,     m->kv_bytes,       m->state_bytes,
                            m->activation_bytes, m->reserved_bytes, m->total_bytes,
                            m->capacity_bytes};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        require_quantity(bytes[i]);
    require(m->max_batch >= 0 && m->max_context_tokens >= 0);
    const llmperf_share *s = &p->share;
    double sum = s->dense + s->attention + s->other + s->launch + s->link + s->host;
    require(fabs(sum - 1) < 1e-9);
    check_crossing(&p->datasheet.dense);
    check_crossing(&p->datasheet.step);
    for (int i = 0; i < p->datasheet.op_count; i++)
        check_crossing(&p->datasheet.op[i].crossing);
}

/* Prints a result in every format into memory: no crash, nothing but plain text. */
static void check_writers(const llmperf_prediction *prediction)
{
    const llmperf_text_style style = {.color = false};
    for (const char *const *format = llmperf_formats(); *format; format++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        require(out != NULL);
        require(llmperf_write_prediction(out, *format, prediction, &style, NULL) == LLMPERF_OK);
        require(llmperf_write_layers(out, *format, prediction->c, 0, &style, NULL) == LLMPERF_OK);
        require(fclose(out) == 0);
        require(strlen(text) == size);
        require_plain(text);
        free(text);
    }
}

static char *written(const llmperf_model *model, const char *format)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    require(out != NULL);
    llmperf_text_style style = {.color = false};
    require(llmperf_write_model(out, format, model, &style, NULL) == LLMPERF_OK);
    require(fclose(out) == 0);
    return text;
}

/* A model written as YAML reads back as the same model, but for notes about the first reading. */
static void check_round_trip(const llmperf_model *model)
{
    static llmperf_model again;
    static llmperf_error error;
    memset(&error, 0, sizeof error);
    char *yaml = written(model, "yaml");
    llmperf_status status = model_load_text("again.yaml", yaml, strlen(yaml), &again, &error);
    if (status != LLMPERF_OK)
        fprintf(stderr, "%s\n%s\n", error.text, yaml);
    require(status == LLMPERF_OK);
    require(llmperf_model_params(model).total == llmperf_model_params(&again).total);
    char *yaml_again = written(&again, "yaml");
    if (strcmp(yaml, yaml_again) != 0)
        fprintf(stderr, "%s\n%s\n", yaml, yaml_again);
    require(strcmp(yaml, yaml_again) == 0);
    free(yaml_again);
    free(yaml);
}

static void check_model(const llmperf_model *model, const llmperf_hw *hw)
{
    static llmperf_config c;
    static llmperf_prediction prediction = LLMPERF_PREDICTION_INIT;
    static llmperf_error error;
    require(model_check(model, NULL) == LLMPERF_OK);
    require(llmperf_model_params(model).total > 0);
    require(llmperf_model_layers(model) > 0);
    require_quantity(llmperf_kv_bytes_per_token(model, 2));
    require_quantity(llmperf_model_weight_bytes(model, NULL));
    const llmperf_workload workloads[] = {
        {.batch = 1},
        {.batch = 300,
         .prompt = 5000,
         .generate = 7,
         .chunk = 3000,
         .unfused = true,
         .split_qkv = true,
         .logits_all = true,
         .price_usd_per_h = 2,
         .tpot_s = 0.03},
        {.batch = 3,
         .prompt = 1,
         .generate = 1,
         .tp = 2,
         .weight_dtype = LLMPERF_DTYPE_INT4,
         .kv_dtype = LLMPERF_DTYPE_FP8},
    };
    for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++) {
        memset(&error, 0, sizeof error);
        if (config_init(&c, model, hw, NULL, &workloads[i], &error) != LLMPERF_OK) {
            require(error.faults > 0);
            continue;
        }
        require(llmperf_predict(&c, &prediction, &error) == LLMPERF_OK);
        check_prediction(&prediction);
        if (i == 0)
            check_writers(&prediction);
    }
    check_round_trip(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static llmperf_model model;
    static llmperf_hw hw;
    static llmperf_error error;
    if (!hw.name[0])
        require(llmperf_hw_load_text("part.yaml", PART, sizeof PART - 1, &hw, NULL) == LLMPERF_OK);
    /* A copy of its own, so that a read behind its end is seen. */
    char *text = malloc(size > 0 ? size : 1);
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    const char *const names[] = {"x.json", "x.yaml"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        memset(&error, 0, sizeof error);
        llmperf_status status = model_load_text(names[i], text, size, &model, &error);
        require((error.faults > 0) == (status != LLMPERF_OK) && error.status == status);
        require_plain(error.text);
        if (status == LLMPERF_OK)
            check_model(&model, &hw);
    }
    free(text);
    return 0;
}
