/* SPDX-License-Identifier: MIT */
/*
 * Any bytes, read as a GGUF header. What is refused says where and leaves the result alone; what
 * loads is counted, predicted on a fixed part, and written as YAML that reads back as the same.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/report.h"
#include "read.h"
#include "config_object.h"
#include "config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char PART[] = "name: part\n"
                           "peak: {fp32: 60 TFLOP/s, bf16: 1 PFLOP/s, fp16: 1 PFLOP/s}\n"
                           "memory: 80 GB\n"
                           "bandwidth: 3 TB/s\n"
                           "link: {kind: nvlink, bandwidth: 450 GB/s, domain: 8}\n";

static void require(bool promise)
{
    if (!promise)
        abort();
}

static void require_quantity(double value)
{
    require(isfinite(value) && value >= 0);
}

static void require_plain(const char *text)
{
    for (; *text; text++)
        require((unsigned char)*text >= 0x20 || *text == '\n');
}

static void check_round_trip(const llmperf_model *model)
{
    static llmperf_model again;
    static llmperf_error error;
    const llmperf_text_style style = {.color = false};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    require(out != NULL);
    require(llmperf_write_model(out, "yaml", model, &style, NULL) == LLMPERF_OK);
    require(fclose(out) == 0);
    memset(&error, 0, sizeof error);
    llmperf_status status = model_load_text("again.yaml", text, size, &again, &error);
    if (status != LLMPERF_OK)
        fprintf(stderr, "%s\n%s\n", error.text, text);
    require(status == LLMPERF_OK);
    require(llmperf_model_params(model).total == llmperf_model_params(&again).total);
    require(llmperf_model_weight_bytes(model, NULL) == llmperf_model_weight_bytes(&again, NULL));
    free(text);
}

static void check_model(const llmperf_model *model, const llmperf_hw *hw)
{
    static llmperf_config c;
    static llmperf_prediction prediction = LLMPERF_PREDICTION_INIT;
    static llmperf_error error;
    const llmperf_workload workload = {.batch = 3, .prompt = 100, .generate = 10};
    require(model_check(model, NULL) == LLMPERF_OK);
    require(llmperf_model_params(model).total > 0 && llmperf_model_layers(model) > 0);
    require_quantity(llmperf_model_weight_bytes(model, NULL));
    require_quantity(llmperf_kv_bytes_per_token(model, 2));
    require_plain(model->name);
    require_plain(model->architecture);
    require_plain(model->scheme);
    require_plain(model->not_counted);
    memset(&error, 0, sizeof error);
    if (config_init(&c, model, hw, NULL, &workload, &error) == LLMPERF_OK) {
        require(llmperf_predict(&c, &prediction, &error) == LLMPERF_OK);
        require_quantity(prediction.decode.time_s.value);
        require_quantity(prediction.memory.total_bytes);
    } else {
        require(error.faults > 0);
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
    /* a copy of its own, so that a read behind its end is seen */
    unsigned char *bytes = malloc(size > 0 ? size : 1);
    if (!bytes)
        return 0;
    if (size > 0)
        memcpy(bytes, data, size);
    memset(&error, 0, sizeof error);
    model.hidden = -7;
    llmperf_status status = spec_gguf_load_memory("x.gguf", bytes, size, &model, &error);
    free(bytes);
    require((error.faults > 0) == (status != LLMPERF_OK) && error.status == status);
    require_plain(error.text);
    if (status == LLMPERF_OK)
        check_model(&model, &hw);
    else
        require(model.hidden == -7);
    return 0;
}
