/* SPDX-License-Identifier: MIT */
/* The reader of hardware YAML: what it takes, and how it refuses. */
#include <criterion/criterion.h>

#include <dirent.h>
#include <stdlib.h>

#include "random_case.h"

static llmperf_error error;

static llmperf_status try_text(const char *yaml, llmperf_hw *ret_hw)
{
    error = (llmperf_error){0};
    return llmperf_hw_load_text("x.yaml", yaml, strlen(yaml), ret_hw, &error);
}

static llmperf_hw load(const char *yaml)
{
    llmperf_hw hw;
    llmperf_status status = try_text(yaml, &hw);
    cr_assert(status == LLMPERF_OK, "%s", error.text);
    return hw;
}

static const char *refusal(const char *yaml)
{
    static llmperf_hw hw;
    memset(&hw, 0x5a, sizeof hw);
    llmperf_status status = try_text(yaml, &hw);
    cr_expect(status == LLMPERF_E_SPEC && error.status == LLMPERF_E_SPEC, "status %d for\n%s",
              (int)status, yaml);
    cr_expect(((unsigned char *)&hw)[5] == 0x5a, "a failure fills the result");
    return error.text;
}

static void expect_refusal(const char *yaml, const char *want)
{
    const char *got = refusal(yaml);
    cr_expect(strstr(got, want) != NULL, "wanted '%s'\n   got '%s'", want, got);
}

#define LEAST "name: g\npeak: {bf16: 100 TFLOP/s}\nmemory: 16 GB\nbandwidth: 1 TB/s\n"

Test(spec_hw, the_least_a_part_needs)
{
    llmperf_hw hw = load(LEAST);
    cr_expect_str_eq(hw.name, "g");
    cr_expect_str_eq(hw.kind, "gpu");
    cr_expect(hw.peak_flop_per_s[LLMPERF_DTYPE_BF16] == 1e14);
    cr_expect(hw.memory_bytes == 16e9 && hw.mem_bytes_per_s == 1e12);
    cr_expect(hw.memory_usable_bytes == 0 && hw.units == 0 && hw.power_w == 0);
    cr_expect(!hw.link.kind[0] && !hw.nodes.kind[0] && !hw.pcie.kind[0]);
    cr_expect(hw.warnings.count == 0);
}

Test(spec_hw, every_field_with_its_unit)
{
    llmperf_hw hw =
        load("name: big\n"
             "aliases: [BIG, \"Big 80GB\"]\n"
             "kind: accelerator\n"
             "vendor: ACME\n"
             "architecture: anvil\n"
             "peak: {fp64: 1 TFLOPS, bf16: 989.4 TFLOP/s, fp8: 1.9789 PFLOPS, int8: 1979 TOPS}\n"
             "absent: {fp4: no such units}\n"
             "memory: 80 GB\n"
             "memory_usable: 81559 MiB\n"
             "bandwidth: 3.35 TB/s\n"
             "bandwidth_achievable: 3 TB/s\n"
             "l2: 50 MiB\n"
             "units: 132\n"
             "clock: 1.98 GHz\n"
             "launch: 3 us\n"
             "sparsity: dense\n"
             "link: {kind: nvlink, bandwidth: 450 GB/s, latency: 2 us, domain: 8}\n"
             "nodes: {link: infiniband, bandwidth: 400 Gb/s}\n"
             "pcie: {generation: 5, lanes: 16}\n"
             "power: 700 W\n"
             "price: 2.5 USD/h\n"
             "source: {default: a table, bandwidth: the datasheet}\n"
             "confidence: {default: mirrored, bandwidth: read}\n"
             "notes: [one, two]\n");
    cr_expect_str_eq(hw.kind, "accelerator");
    cr_expect_str_eq(hw.vendor, "ACME");
    cr_expect_str_eq(hw.architecture, "anvil");
    cr_expect(hw.alias_count == 2);
    cr_expect_str_eq(hw.aliases[1], "Big 80GB");
    cr_expect(is_near(hw.peak_flop_per_s[LLMPERF_DTYPE_FP8], 1978.9e12, 1e-15));
    cr_expect(hw.peak_flop_per_s[LLMPERF_DTYPE_INT8] == 1979e12);
    cr_expect(hw.peak_flop_per_s[LLMPERF_DTYPE_FP64] == 1e12);
    cr_expect_str_eq(hw.absent[LLMPERF_DTYPE_NVFP4], "no such units");
    cr_expect(hw.memory_usable_bytes == 81559.0 * 1048576);
    cr_expect(hw.mem_achievable_bytes_per_s == 3e12 && hw.l2_bytes == 50.0 * 1048576);
    cr_expect(hw.units == 132 && hw.clock_hz == 1.98e9 && hw.launch_s == 3e-6);
    cr_expect(hw.link.bytes_per_s == 450e9 && hw.link.latency_s == 2e-6 && hw.link.domain == 8);
    cr_expect(!hw.link.latency_assumed);
    /* bits, and said so: 400 Gb/s = 50 GB/s */
    cr_expect(hw.nodes.bytes_per_s == 50e9 && hw.nodes.latency_assumed && hw.nodes.latency_s > 0);
    cr_expect(hw.warnings.count == 1 && strstr(hw.warnings.text[0], "bits"));
    /* 32 GT/s * 128/130 / 8 * 16 lanes */
    cr_expect(is_near(hw.pcie.bytes_per_s, 32e9 / 8 * 128 / 130 * 16, 1e-12));
    cr_expect(hw.power_w == 700 && hw.price_usd_per_h == 2.5 && hw.notes.count == 2);
    cr_expect_str_eq(llmperf_hw_provenance(&hw, LLMPERF_HW_BANDWIDTH)->source, "the datasheet");
    cr_expect_str_eq(llmperf_hw_provenance(&hw, LLMPERF_HW_POWER)->source, "a table");
    cr_expect(llmperf_hw_provenance(&hw, LLMPERF_HW_POWER)->confidence ==
              LLMPERF_CONFIDENCE_MIRRORED);
}

/* fp4 units multiply the elements of both 4-bit block formats. */
Test(spec_hw, fp4_serves_both_block_formats)
{
    llmperf_hw hw = load("name: g\npeak: {fp4: 10 PFLOPS}\nmemory: 16 GB\nbandwidth: 1 TB/s\n");
    cr_expect(hw.peak_flop_per_s[LLMPERF_DTYPE_NVFP4] == 1e16);
    cr_expect(hw.peak_flop_per_s[LLMPERF_DTYPE_MXFP4] == 1e16);
    hw = load("name: g\npeak: {nvfp4: 10 PFLOPS}\nmemory: 16 GB\nbandwidth: 1 TB/s\n");
    cr_expect(hw.peak_flop_per_s[LLMPERF_DTYPE_MXFP4] == 0);
}

/* A datasheet's 3.35 TB/s written with a small b would be an eighth: taken, with a warning. */
Test(spec_hw, bits_where_bytes_belong_are_warned_of)
{
    llmperf_hw hw = load("name: g\npeak: {bf16: 100 TFLOP/s}\nmemory: 16 GB\nbandwidth: 8 Tb/s\n");
    cr_expect(hw.mem_bytes_per_s == 1e12);
    cr_expect(hw.warnings.count == 1);
    cr_expect_str_eq(
        hw.warnings.text[0],
        "x.yaml:4:12: bandwidth is '8 Tb/s', read as bits; a datasheet's B/s is bytes");
}

Test(spec_hw, gib_is_not_gb)
{
    llmperf_hw hw =
        load("name: g\npeak: {bf16: 100 TFLOP/s}\nmemory: 16 GiB\nbandwidth: 1 TiB/s\n");
    cr_expect(hw.memory_bytes == 16.0 * 1073741824 && hw.mem_bytes_per_s == 1099511627776.0);
}

/* ---- refusals: position, what was found, what is allowed ---- */

Test(spec_hw, missing_fields_are_named_all_at_once)
{
    const char *text = refusal("vendor: x\n");
    cr_expect(strstr(text, "name is missing; it is required, for example h100-sxm") != NULL);
    cr_expect(strstr(text, "peak is missing; it is required, for example {bf16: 989.4 TFLOP/s}"));
    cr_expect(strstr(text, "memory is missing; it is required, for example 80 GB") != NULL);
    cr_expect(strstr(text, "bandwidth is missing; it is required, for example 3.35 TB/s") != NULL);
    cr_expect(error.faults == 4, "%s", text);
}

Test(spec_hw, refuses_what_is_no_quantity)
{
    expect_refusal("name: g\npeak: {bf16: 100}\nmemory: 16 GB\nbandwidth: 1 TB/s\n",
                   "x.yaml:2:14: bf16 is '100', a number without a unit; a quantity such as "
                   "989.4 TFLOP/s is allowed");
    expect_refusal("name: g\npeak: {bf16: 100 TFLOP/s}\nmemory: 80\nbandwidth: 1 TB/s\n",
                   "x.yaml:3:9: memory is '80', a number without a unit");
    expect_refusal("name: g\npeak: {bf16: 100 TFLOP/s}\nmemory: 16 GB\nbandwidth: 1 TB\n",
                   "x.yaml:4:12: bandwidth is '1 TB', an unknown unit here");
    expect_refusal("name: g\npeak: {bf16: 100 TFLOP/s}\nmemory: 16 GB\nbandwidth: 3,35 TB/s\n",
                   "a decimal comma");
    expect_refusal("name: g\npeak: {bf16: 0 TFLOP/s}\nmemory: 16 GB\nbandwidth: 1 TB/s\n",
                   "a quantity above zero is allowed");
    expect_refusal("name: g\npeak: {bf16: -1 TFLOP/s}\nmemory: 16 GB\nbandwidth: 1 TB/s\n",
                   "a quantity above zero is allowed");
}

Test(spec_hw, refuses_unknown_words_with_a_suggestion)
{
    expect_refusal(LEAST "bandwith: 1 TB/s\n", "did you mean 'bandwidth'?");
    expect_refusal("name: g\npeak: {bf61: 100 TFLOP/s}\nmemory: 16 GB\nbandwidth: 1 TB/s\n",
                   "x.yaml:2:8: unknown dtype 'bf61', did you mean 'bf16'?; fp64, fp32, tf32, ");
    expect_refusal(LEAST "kind: toaster\n",
                   "kind is 'toaster'; gpu, cpu, tpu or accelerator is allowed");
    expect_refusal(LEAST "sparsity: 2:4\n", "halve a 2:4-sparse figure");
    expect_refusal(LEAST "confidence: sure\n",
                   "confidence is 'sure'; read, mirrored or derived is allowed");
    expect_refusal(LEAST "source: {bandwith: x}\n", "unknown field 'bandwith' in source");
    expect_refusal(LEAST "link: {kind: nvlink, bandwidth: 1 GB/s, lanes: 4}\n", "lanes");
    expect_refusal(LEAST "pcie: {generation: 5, lane: 16}\n", "lanes is missing");
}

Test(spec_hw, refuses_the_wrong_kind_of_node)
{
    expect_refusal("- 1\n", "the file is a list; a map such as name: my-gpu is allowed");
    expect_refusal("name: g\npeak: 100 TFLOP/s\nmemory: 16 GB\nbandwidth: 1 TB/s\n",
                   "a map such as {bf16: 989.4 TFLOP/s} is allowed");
    expect_refusal("name: g\npeak: {}\nmemory: 16 GB\nbandwidth: 1 TB/s\n", "peak is empty");
    expect_refusal(LEAST "aliases: G\n", "a list of names is allowed");
    expect_refusal(LEAST "notes: one\n", "a list is allowed");
    expect_refusal(LEAST "link: nvlink\n", "a map such as {kind: nvlink");
    expect_refusal(LEAST "units: 1.5\n", "units");
    expect_refusal(LEAST "units: 0\n", "units");
}

Test(spec_hw, refuses_contradictions)
{
    expect_refusal(LEAST "absent: {bf16: none}\n",
                   "bf16 is both a peak and absent; one of them is allowed");
    expect_refusal(LEAST "memory_usable: 20 GB\n",
                   "memory_usable exceeds memory by more than the label's rounding");
    expect_refusal(LEAST "link: {kind: nvlink, domain: 8}\n",
                   "bandwidth is missing; it is required, for example 450 GB/s");
    expect_refusal(LEAST "link: {bandwidth: 4 GB/s}\n", "kind is missing");
    expect_refusal(LEAST "link: {kind: nvlink, bandwidth: 4 GB/s, domain: 1}\n", "domain");
    expect_refusal(LEAST "pcie: {generation: 9, lanes: 16}\n", "generation");
}

Test(spec_hw, refuses_texts_that_are_too_long)
{
    static char yaml[20000];
    int used = snprintf(yaml, sizeof yaml, "name: ");
    memset(yaml + used, 'x', LLMPERF_NAME_MAX + 5);
    snprintf(yaml + used + LLMPERF_NAME_MAX + 5, 200,
             "\npeak: {bf16: 100 TFLOP/s}\nmemory: 16 GB\nbandwidth: 1 TB/s\n");
    expect_refusal(yaml, "x.yaml:1:7: name");
    used = snprintf(yaml, sizeof yaml, LEAST "aliases: [");
    for (int i = 0; i <= LLMPERF_ALIASES_MAX; i++)
        used += snprintf(yaml + used, sizeof yaml - (size_t)used, "%sa%d", i ? ", " : "", i);
    snprintf(yaml + used, sizeof yaml - (size_t)used, "]\n");
    expect_refusal(yaml, "more than 24 aliases; at most 24 are allowed");
    used = snprintf(yaml, sizeof yaml, LEAST "notes: [");
    for (int i = 0; i <= LLMPERF_NOTES_MAX; i++)
        used += snprintf(yaml + used, sizeof yaml - (size_t)used, "%sn%d", i ? ", " : "", i);
    snprintf(yaml + used, sizeof yaml - (size_t)used, "]\n");
    expect_refusal(yaml, "more than 16 notes");
}

Test(spec_hw, messages_escape_control_bytes)
{
    const char *text = refusal(LEAST "kind: \"\\e[31mred\"\n");
    cr_expect(strchr(text, '\x1b') == NULL && strstr(text, "\\x1b") != NULL, "%s", text);
}

Test(spec_hw, a_missing_file_is_an_io_error)
{
    llmperf_hw hw;
    error = (llmperf_error){0};
    cr_expect(llmperf_hw_load("/nowhere/x.yaml", &hw, &error) == LLMPERF_E_IO);
    cr_expect(strstr(error.text, "/nowhere/x.yaml") != NULL, "%s", error.text);
}

Test(spec_hw, check_refuses_parts_filled_in_by_hand)
{
    llmperf_hw hw = toy_hw();
    cr_expect(llmperf_hw_check(&hw, NULL) == LLMPERF_OK);
    hw.link.bytes_per_s = 0;
    cr_expect(llmperf_hw_check(&hw, NULL) == LLMPERF_E_SPEC);
    hw = toy_hw();
    hw.memory_bytes = INFINITY;
    cr_expect(llmperf_hw_check(&hw, NULL) == LLMPERF_E_SPEC);
    hw = toy_hw();
    hw.peak_flop_per_s[LLMPERF_DTYPE_FP8] = -1;
    cr_expect(llmperf_hw_check(&hw, NULL) == LLMPERF_E_SPEC);
    memset(hw.peak_flop_per_s, 0, sizeof hw.peak_flop_per_s);
    cr_expect(llmperf_hw_check(&hw, NULL) == LLMPERF_E_SPEC);
}

/* ---- what is shipped ---- */

static int check_folder(const char *kind, void (*check)(const char *path))
{
    char folder[LLMPERF_PATH_MAX];
    const char *source = getenv("LLMPERF_SOURCE");
    int count = 0;
    cr_assert(source != NULL, "LLMPERF_SOURCE is not set");
    snprintf(folder, sizeof folder, "%s/specs/%s", source, kind);
    DIR *directory = opendir(folder);
    cr_assert(directory != NULL, "%s", folder);
    for (struct dirent *entry; (entry = readdir(directory));) {
        char path[LLMPERF_PATH_MAX + 300];
        if (!strstr(entry->d_name, ".yaml"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        check(path);
        count++;
    }
    closedir(directory);
    return count;
}

static void check_hw(const char *path)
{
    llmperf_hw hw, again;
    error = (llmperf_error){0};
    cr_assert(llmperf_hw_load(path, &hw, &error) == LLMPERF_OK, "%s", error.text);
    cr_expect(hw.warnings.count == 0, "%s: %s", path, hw.warnings.text[0]);
    /* the written form reads back as the same value */
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    cr_assert(llmperf_write_hw(out, "yaml", &hw, NULL, &error) == LLMPERF_OK);
    fclose(out);
    cr_assert(llmperf_hw_load_text(path, text, size, &again, &error) == LLMPERF_OK, "%s\n%s",
              error.text, text);
    free(text);
    for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++)
        cr_expect(hw.peak_flop_per_s[i] == again.peak_flop_per_s[i], "%s: peak %d", path, i);
    cr_expect(hw.memory_bytes == again.memory_bytes &&
                  hw.memory_usable_bytes == again.memory_usable_bytes &&
                  hw.mem_bytes_per_s == again.mem_bytes_per_s && hw.l2_bytes == again.l2_bytes &&
                  hw.clock_hz == again.clock_hz && hw.power_w == again.power_w &&
                  hw.units == again.units && hw.launch_s == again.launch_s &&
                  hw.mem_achievable_bytes_per_s == again.mem_achievable_bytes_per_s,
              "%s does not read back", path);
    cr_expect(hw.link.bytes_per_s == again.link.bytes_per_s &&
                  hw.link.latency_s == again.link.latency_s &&
                  hw.link.domain == again.link.domain &&
                  hw.nodes.bytes_per_s == again.nodes.bytes_per_s &&
                  hw.pcie.bytes_per_s == again.pcie.bytes_per_s,
              "%s: a link does not read back", path);
    cr_expect_str_eq(hw.name, again.name);
    cr_expect(hw.alias_count == again.alias_count && hw.notes.count == again.notes.count);
}

Test(spec_hw, shipped_files_read_and_write_back)
{
    cr_expect(check_folder("hardware", check_hw) >= 50);
}
