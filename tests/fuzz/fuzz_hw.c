/* SPDX-License-Identifier: MIT */
/*
 * Any bytes, read as a hardware YAML. What loads must be legal, finite, and survive being written as
 * YAML and read again.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llmperf/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
        require((unsigned char)*text >= 0x20 || *text == '\n' || *text == '\t');
}

/* What a writer prints; the caller frees. */
static char *written(const llmperf_hw *hw, const char *format)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    require(out != NULL);
    llmperf_text_style style = {.color = false};
    require(llmperf_write_hw(out, format, hw, &style, NULL) == LLMPERF_OK);
    require(fclose(out) == 0);
    require(strlen(text) == size); /* no NUL in the middle */
    return text;
}

static void check_values(const llmperf_hw *hw)
{
    double most = 0;
    for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++) {
        require_quantity(hw->peak_flop_per_s[i]);
        most = fmax(most, hw->peak_flop_per_s[i]);
    }
    require(most > 0);
    require(isfinite(hw->mem_bytes_per_s) && hw->mem_bytes_per_s > 0);
    require(isfinite(hw->memory_bytes) && hw->memory_bytes > 0);
    const double optional[] = {hw->units,
                               hw->memory_usable_bytes,
                               hw->mem_achievable_bytes_per_s,
                               hw->l2_bytes,
                               hw->clock_hz,
                               hw->launch_s,
                               hw->power_w,
                               hw->price_usd_per_h};
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++)
        require_quantity(optional[i]);
    const llmperf_link *const links[] = {&hw->link, &hw->nodes, &hw->pcie};
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        require_quantity(links[i]->bytes_per_s);
        require_quantity(links[i]->latency_s);
        require(links[i]->domain >= 0);
    }
    require(hw->name[0] != '\0');
}

/* Written as YAML and read again it is the same part, but for warnings about the first spelling. */
static void check_round_trip(llmperf_hw *hw)
{
    static llmperf_hw again;
    static llmperf_error error;
    memset(&error, 0, sizeof error);
    hw->warnings.count = 0;
    char *yaml = written(hw, "yaml"), *json = written(hw, "json");
    llmperf_status status = llmperf_hw_load_text("again.yaml", yaml, strlen(yaml), &again, &error);
    if (status != LLMPERF_OK)
        fprintf(stderr, "%s\n%s\n", error.text, yaml);
    require(status == LLMPERF_OK);
    again.warnings.count = 0;
    char *json_again = written(&again, "json");
    if (strcmp(json, json_again) != 0)
        fprintf(stderr, "%s\n%s\n%s\n", yaml, json, json_again);
    require(strcmp(json, json_again) == 0);
    free(json_again);
    free(json);
    free(yaml);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static llmperf_hw hw;
    static llmperf_error error;
    memset(&error, 0, sizeof error);
    /* A copy of its own, so that a read behind its end is seen. */
    char *text = malloc(size > 0 ? size : 1);
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    memset(&hw, 0x5a, sizeof hw);
    llmperf_status status = llmperf_hw_load_text("x.yaml", text, size, &hw, &error);
    require((error.faults > 0) == (status != LLMPERF_OK) && error.status == status);
    require_plain(error.text);
    if (status == LLMPERF_OK) {
        require(llmperf_hw_check(&hw, NULL) == LLMPERF_OK);
        check_values(&hw);
        const char *const formats[] = {"text", "csv", "md"};
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
            char *page = written(&hw, formats[i]);
            require_plain(page);
            free(page);
        }
        check_round_trip(&hw);
    } else {
        for (size_t i = 0; i < sizeof hw; i++) /* outputs are untouched on failure */
            require(((const unsigned char *)&hw)[i] == 0x5a);
    }
    free(text);
    return 0;
}
