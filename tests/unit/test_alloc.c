/* SPDX-License-Identifier: MIT */
/*
 * Out of memory at every single point: each scenario runs once to count its allocations, then for
 * each of them with that one failing, and again with that one and all later ones failing. It must
 * return LLMPERF_E_MEMORY (or the full result, where it can do without), crash nowhere and leave no
 * block behind.
 *
 * This program defines malloc and its kin, so it serves every library of the process: our objects,
 * libyaml (the tree and its event buffers) and libc (strdup, open_memstream, opendir, fopen). A
 * sanitizer brings a malloc of its own: there the test is skipped.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "llmperf/plot.h"
#include "random_case.h"
#include "config_object.h"
#include "fits.h"
#include "read.h"
#include "config.h"

#if !defined(__GLIBC__) || defined(SLOW_BUILD) || defined(__SANITIZE_THREAD__)

int main(void)
{
    puts("skipped: needs glibc's malloc, without a sanitizer");
    return 77;
}

#else

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

static bool watched, keep_failing;
static long calls, fail_at, live; /* fail_at 0 = never */

static bool fails_now(void)
{
    if (!watched)
        return false;
    calls++;
    return fail_at > 0 && (keep_failing ? calls >= fail_at : calls == fail_at);
}

static void *counted(void *memory)
{
    live += watched && memory;
    return memory;
}

/* Seen by the libraries too, although the build hides symbols by default. */
#pragma GCC visibility push(default)

void *malloc(size_t size)
{
    return fails_now() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : counted(__libc_calloc(count, size));
}

void *realloc(void *memory, size_t size)
{
    if (fails_now())
        return NULL;
    void *moved = __libc_realloc(memory, size);
    return memory ? moved : counted(moved);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails_now() ? NULL : counted(__libc_memalign(alignment, size));
}

void free(void *memory)
{
    live -= watched && memory;
    __libc_free(memory);
}

#pragma GCC visibility pop

/* ---- what is run ---- */

static llmperf_model model;
static llmperf_hw hw;
static llmperf_config plain, calibrated;
static llmperf_prediction prediction = LLMPERF_PREDICTION_INIT;
static llmperf_calib calib;
static llmperf_spec_paths paths;
static const char *text, *format, *name; /* inputs of the scenario at hand */
static char path[LLMPERF_PATH_MAX];

static union result {
    llmperf_model model;
    llmperf_hw hw;
    llmperf_calib calib;
    char path[LLMPERF_PATH_MAX];
    char text[1 << 18];
} result;

static llmperf_status load_model(llmperf_error *error)
{
    return model_load_text(name, text, strlen(text), &result.model, error);
}

static llmperf_status load_model_file(llmperf_error *error)
{
    return model_load(path, &result.model, error);
}

static llmperf_status load_hw(llmperf_error *error)
{
    return llmperf_hw_load_text(name, text, strlen(text), &result.hw, error);
}

static llmperf_status load_calib(llmperf_error *error)
{
    return calib_load_text(name, text, strlen(text), &result.calib, error);
}

static llmperf_status find_alias(llmperf_error *error)
{
    return llmperf_find_hw(&paths, name, result.path, error);
}

/* A stream into result.text that takes no memory of its own while watched. */
static char stream_buffer[1 << 16];
static FILE *stream;

static void open_stream(void)
{
    stream = fmemopen(result.text, sizeof result.text, "w");
    setvbuf(stream, stream_buffer, _IOFBF, sizeof stream_buffer);
}

static llmperf_status write_prediction(llmperf_error *error)
{
    return llmperf_write_prediction(stream, format, &prediction, NULL, error);
}

static llmperf_status write_layers(llmperf_error *error)
{
    return llmperf_write_layers(stream, format, &plain, 512, NULL, error);
}

static llmperf_status write_symbolic(llmperf_error *error)
{
    return llmperf_write_symbolic(stream, format, &plain, NULL, error);
}

static llmperf_status write_model(llmperf_error *error)
{
    return llmperf_write_model(stream, format, &model, NULL, error);
}

static llmperf_status write_hw(llmperf_error *error)
{
    return llmperf_write_hw(stream, format, &hw, NULL, error);
}

static llmperf_status write_lists(llmperf_error *error)
{
    llmperf_list_writer *writer = NULL;
    llmperf_status status = llmperf_list_open(stream, format, &writer, error);
    if (status != LLMPERF_OK)
        return status;
    llmperf_list_begin(writer, "models");
    llmperf_list_model(writer, &model);
    llmperf_list_begin(writer, "hardware");
    llmperf_list_hw(writer, &hw);
    return llmperf_list_close(writer, error);
}

static llmperf_status write_sweep(llmperf_error *error)
{
    static const char *const axes[] = {"batch", NULL};
    static const llmperf_notes none;
    llmperf_sweep_row row = {.hw = "one", .weight_dtype = LLMPERF_DTYPE_BF16};
    llmperf_sweep_writer *writer = NULL;
    llmperf_status status = llmperf_sweep_open(stream, format, &model, NULL, LLMPERF_SWEEP_DECODE,
                                               axes, 40, 40, NULL, &writer, error);
    if (status != LLMPERF_OK)
        return status;
    for (row.batch = 1; row.batch <= 40; row.batch++)
        llmperf_sweep_row_write(writer, &row);
    return llmperf_sweep_close(writer, &none, error);
}

static llmperf_status write_calib(llmperf_error *error)
{
    return llmperf_calib_write(stream, &calib, error);
}

static llmperf_status predict(llmperf_error *error)
{
    static llmperf_prediction p = LLMPERF_PREDICTION_INIT;
    llmperf_status status = llmperf_predict(&calibrated, &p, error);
    if (status == LLMPERF_OK)
        memcpy(result.text, &p.tpot_s, sizeof p.tpot_s);
    return status;
}

/* ---- charts ---- */

static const char *figure;

static llmperf_status fill_curves(llmperf_curves *curves, llmperf_plot *plot, llmperf_error *error)
{
    static const int64_t two[] = {1, 40}, sizes[] = {64, 128};
    const llmperf_workload w = {0};
    bool dense = strcmp(figure, "dense") == 0;
    llmperf_status status =
        dense ? llmperf_curves_hidden(&hw, &calib, &w, sizes, 2, two, 2, curves, error)
              : llmperf_curves_attention(&calibrated, sizes, 2, two, 2, curves, error);
    if (status != LLMPERF_OK)
        return status;
    return dense ? llmperf_plot_dense(&hw, &calib, curves, plot, error)
                 : llmperf_plot_attention(&hw, &calib, curves, plot, error);
}

static llmperf_status fill_residuals(llmperf_plot *plot, llmperf_error *error)
{
    llmperf_comparison comparison = {0};
    llmperf_status status = LLMPERF_OK;
    for (int i = 0; i < 4 && status == LLMPERF_OK; i++) {
        const llmperf_compare_row row = {
            .measured = 1 + i, .predicted = {2, 1.5, 3}, .roofline = 1, .group = "gemm"};
        status = llmperf_comparison_add(&comparison, &row, error);
    }
    if (status == LLMPERF_OK)
        status = llmperf_plot_residuals(&comparison, plot, error);
    llmperf_comparison_free(&comparison);
    return status;
}

static llmperf_status draw(llmperf_error *error)
{
    static llmperf_plot plot;
    static llmperf_curves curves;
    static const int64_t batches[] = {1, 8};
    llmperf_status status;
    if (strcmp(figure, "roofline") == 0)
        status = llmperf_plot_roofline(&calibrated, batches, 2, &plot, error);
    else if (strcmp(figure, "batch") == 0)
        status = llmperf_plot_batch(&calibrated, batches, 2, &plot, error);
    else if (strcmp(figure, "residuals") == 0)
        status = fill_residuals(&plot, error);
    else
        status = fill_curves(&curves, &plot, error);
    if (status == LLMPERF_OK)
        status = llmperf_write_plot(stream, format, &plot, NULL, error);
    llmperf_plot_free(&plot);
    llmperf_curves_free(&curves);
    return status;
}

/* ---- the loop ---- */

typedef llmperf_status scenario(llmperf_error *error);

static int faults;

static llmperf_status run(scenario *one, bool writes, long at, bool further, llmperf_error *error)
{
    memset(&result, 0, sizeof result);
    memset(error, 0, sizeof *error);
    if (writes)
        open_stream();
    fail_at = at;
    keep_failing = further;
    calls = live = 0;
    watched = true;
    llmperf_status status = one(error);
    watched = false;
    if (writes)
        fclose(stream);
    return status;
}

static void fault(const char *what, const char *detail, long at, bool further)
{
    printf("FAIL %s, allocation %ld%s: %s\n", what, at, further ? " and all later" : "", detail);
    faults++;
}

/* `other`: a further status that lack of memory may end in (files: LLMPERF_E_IO). */
static void try_all(const char *what, scenario *one, bool writes, llmperf_status other)
{
    static union result want;
    static llmperf_error error;
    llmperf_status status = run(one, writes, 0, false, &error);
    if (status != LLMPERF_OK || live != 0) {
        fault(what, status == LLMPERF_OK ? "leaks without any failure" : error.text, 0, false);
        return;
    }
    memcpy(&want, &result, sizeof want);
    long total = calls, out_of_memory = 0;
    for (long at = 1; at <= total; at++)
        for (int further = 0; further < 2; further++) {
            status = run(one, writes, at, further, &error);
            if (live != 0)
                fault(what, "leaks", at, further);
            if (status == LLMPERF_OK) {
                if (memcmp(&want, &result, sizeof want) != 0)
                    fault(what, "succeeds with another result", at, further);
            } else if (status != LLMPERF_E_MEMORY && status != other) {
                fault(what, error.text, at, further);
            } else {
                out_of_memory++;
                if (error.status != status || !error.text[0])
                    fault(what, "another status in the error", at, further);
            }
        }
    printf("%-28s %5ld allocations, %5ld failures reported\n", what, total, out_of_memory);
}

static void try_charts(void)
{
    static const char *const figures[] = {"roofline", "batch", "dense", "attention", "residuals"};
    static const char *const forms[] = {"text", "svg", "csv", "json"};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 4; k++) {
            char what[64];
            figure = figures[i];
            format = forms[k];
            snprintf(what, sizeof what, "%s as %s", figure, format);
            try_all(what, draw, true, LLMPERF_E_MEMORY);
        }
}

static const char MODEL_YAML[] =
    "name: toy\naliases: [a, b]\ndtype: bf16\nhidden: 64\nvocab: 1000\ntied: true\n"
    "notes: [\"one, with some text\", two]\nweights: {mlp: fp8}\n"
    "layers:\n"
    "  - count: 3\n    attention: {heads: 4, kv_heads: 2, head_dim: 16, window: 128}\n"
    "    mlp: {ffn: 256}\n"
    "  - count: 2\n    attention: {heads: 4, kv_heads: 2, head_dim: 16}\n"
    "    mlp: {ffn: 256}\n";

static const char CONFIG_JSON[] =
    "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"hidden_size\": 64, "
    "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"num_hidden_layers\": 3, "
    "\"intermediate_size\": 256, \"vocab_size\": 1000, \"torch_dtype\": \"bfloat16\", "
    "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.0}, \"note\": \"\\ud83e\\udd17\"}";

static const char HW_YAML[] =
    "name: big\naliases: [BIG, \"Big 80GB\"]\npeak: {bf16: 100 TFLOP/s, fp32: 10 TFLOP/s}\n"
    "memory: 80 GB\nmemory_usable: 79 GB\nbandwidth: 3.35 TB/s\nunits: 132\n"
    "link: {kind: nvlink, bandwidth: 450 GB/s, domain: 8}\npcie: {generation: 5, lanes: 16}\n"
    "source: {default: a table, bandwidth: the datasheet}\nnotes: [one, two]\n";

static void must(llmperf_status status, const llmperf_error *error)
{
    if (status == LLMPERF_OK)
        return;
    printf("FAIL in the preparation: %s\n", error->text);
    exit(1);
}

static void set_entry(llmperf_op_kind kind, llmperf_regime regime, llmperf_dtype dtype)
{
    static llmperf_error error;
    llmperf_calib_entry entry = calib_ideal(kind);
    entry.param[LLMPERF_PARAM_COMPUTE] = 0.8;
    entry.param[LLMPERF_PARAM_MEMORY] = 0.9;
    entry.param[LLMPERF_PARAM_NORM] = 2;
    entry.residual = 0.05;
    must(calib_set(&calib, kind, regime, dtype, &entry, &error), &error);
}

static void prepare(void)
{
    static llmperf_error error;
    llmperf_workload w = {.batch = 4, .prompt = 300, .tp = 2};
    must(model_load_text("m.yaml", MODEL_YAML, strlen(MODEL_YAML), &model, &error), &error);
    must(llmperf_hw_load_text("h.yaml", HW_YAML, strlen(HW_YAML), &hw, &error), &error);
    calib_init(&calib);
    snprintf(calib.name, sizeof calib.name, "some-fit");
    snprintf(calib.hw, sizeof calib.hw, "big");
    snprintf(calib.backend, sizeof calib.backend, "samples");
    set_entry(LLMPERF_KIND_GEMM, LLMPERF_REGIME_NONE, LLMPERF_DTYPE_BF16);
    set_entry(LLMPERF_KIND_ATTENTION, LLMPERF_REGIME_DECODE, LLMPERF_DTYPE_BF16);
    must(config_init(&plain, &model, &hw, NULL, &w, &error), &error);
    must(config_init(&calibrated, &model, &hw, &calib, &w, &error), &error);
    must(llmperf_predict(&calibrated, &prediction, &error), &error);
}

/* A folder of two parts and a model, as `specs/` is. */
static char folder[] = "/tmp/llmperf-alloc-XXXXXX";

static void in_folder(char *buffer, const char *file)
{
    snprintf(buffer, LLMPERF_PATH_MAX, "%s/%s", folder, file);
}

static void put_file(const char *file, const char *content)
{
    in_folder(path, file);
    FILE *out = fopen(path, "w");
    if (!out || fputs(content, out) < 0 || fclose(out) != 0) {
        printf("FAIL: cannot write %s\n", path);
        exit(1);
    }
}

static void make_folder(void)
{
    if (!mkdtemp(folder)) {
        puts("FAIL: no folder under /tmp");
        exit(1);
    }
    in_folder(path, "hardware");
    mkdir(path, 0700);
    put_file("hardware/other.yaml", "name: other\npeak: {bf16: 1 TFLOP/s}\nmemory: 1 GB\n"
                                    "bandwidth: 1 GB/s\n");
    put_file("hardware/big.yaml", HW_YAML);
    put_file("m.yaml", MODEL_YAML);
    paths.count = 1;
    snprintf(paths.folder[0], sizeof paths.folder[0], "%s", folder);
}

static void remove_folder(void)
{
    static const char *const all[] = {"hardware/other.yaml", "hardware/big.yaml", "m.yaml",
                                      "hardware", ""};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        in_folder(path, all[i]);
        remove(path);
    }
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    prepare();
    make_folder();

    text = MODEL_YAML, name = "m.yaml";
    try_all("model YAML", load_model, false, LLMPERF_E_MEMORY);
    text = CONFIG_JSON, name = "x/config.json";
    try_all("config.json", load_model, false, LLMPERF_E_MEMORY);
    in_folder(path, "m.yaml");
    try_all("model file", load_model_file, false, LLMPERF_E_IO);
    text = HW_YAML, name = "h.yaml";
    try_all("hardware YAML", load_hw, false, LLMPERF_E_MEMORY);
    name = "Big 80GB";
    /* a folder or a file that cannot be opened counts as not there, so the name may be unknown */
    try_all("hardware alias", find_alias, false, LLMPERF_E_USAGE);

    for (const char *const *f = llmperf_formats(); *f; f++) {
        char what[64];
        format = *f;
        snprintf(what, sizeof what, "prediction as %s", format);
        try_all(what, write_prediction, true, LLMPERF_E_MEMORY);
        snprintf(what, sizeof what, "layers as %s", format);
        try_all(what, write_layers, true, LLMPERF_E_MEMORY);
        snprintf(what, sizeof what, "formulas as %s", format);
        try_all(what, write_symbolic, true, LLMPERF_E_MEMORY);
        snprintf(what, sizeof what, "model as %s", format);
        try_all(what, write_model, true, LLMPERF_E_MEMORY);
        snprintf(what, sizeof what, "hardware as %s", format);
        try_all(what, write_hw, true, LLMPERF_E_MEMORY);
        snprintf(what, sizeof what, "lists as %s", format);
        try_all(what, write_lists, true, LLMPERF_E_MEMORY);
        snprintf(what, sizeof what, "a sweep as %s", format);
        try_all(what, write_sweep, true, LLMPERF_E_MEMORY);
    }
    format = "yaml";
    try_all("model as yaml", write_model, true, LLMPERF_E_MEMORY);
    try_all("hardware as yaml", write_hw, true, LLMPERF_E_MEMORY);
    try_all("prediction", predict, false, LLMPERF_E_MEMORY);

    try_charts();
    try_all("calibration, written", write_calib, true, LLMPERF_E_MEMORY);
    static char written[1 << 16];
    run(write_calib, true, 0, false, &(llmperf_error){0});
    snprintf(written, sizeof written, "%.*s", (int)sizeof written - 1, result.text);
    text = written, name = "c.yaml";
    try_all("calibration, read", load_calib, false, LLMPERF_E_MEMORY);

    remove_folder();
    printf("%d faults\n", faults);
    return faults ? 1 : 0;
}

#endif
