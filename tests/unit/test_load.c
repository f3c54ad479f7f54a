/* SPDX-License-Identifier: MIT */
/* Loading by names: what comes back, what times it, and every input that fails. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llmperf/load.h"
#include "engine_object.h"
#include "calib_object.h"
#include "model_object.h"

static llmperf_spec_paths paths;
static llmperf_loaded loaded;
static llmperf_error error;
static char place[64];

/* The source tree's specifications alone, and a folder for what a test writes. */
static void set_up(void)
{
    snprintf(place, sizeof place, "/tmp/llmperf-load-XXXXXX");
    cr_assert(mkdtemp(place) != NULL);
    memset(&paths, 0, sizeof paths);
    paths.count = 1;
    snprintf(paths.folder[0], LLMPERF_PATH_MAX, "%s/specs", getenv("LLMPERF_SOURCE"));
    error = (llmperf_error){0};
    loaded = (llmperf_loaded){0};
}

static void tear_down(void)
{
    char path[128];
    llmperf_loaded_free(&loaded);
    snprintf(path, sizeof path, "%s/bad.yaml", place);
    unlink(path);
    rmdir(place);
}

TestSuite(load, .init = set_up, .fini = tear_down);

static llmperf_status load(llmperf_load_options options)
{
    options.paths = &paths;
    return llmperf_load(&options, &loaded, &error);
}

static char *bad_file(const char *text)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/bad.yaml", place);
    FILE *file = fopen(path, "w");
    cr_assert(file != NULL);
    fputs(text, file);
    fclose(file);
    return path;
}

/* ---- what comes back -------------------------------------------------------------------------- */

Test(load, a_model_alone_has_no_part_and_nothing_that_times_it)
{
    cr_assert(load((llmperf_load_options){.model = "llama-3.1-8b"}) == LLMPERF_OK, "%s",
              error.text);
    cr_expect_str_eq(loaded.model->name, "llama-3.1-8b");
    cr_expect_null(loaded.hw);
    cr_expect_null(loaded.calib);
    cr_expect_eq(loaded.notes.count, 0);
}

Test(load, a_part_is_timed_by_its_best_calibration_and_a_note_says_so)
{
    cr_assert(load((llmperf_load_options){.hw = "h100-sxm"}) == LLMPERF_OK, "%s", error.text);
    cr_expect_null(loaded.model);
    cr_assert_not_null(loaded.calib);
    cr_expect_str_eq(loaded.calib->name, "h100-sxm-vllm");
    cr_expect_eq(loaded.notes.count, 1);
    cr_expect_str_eq(loaded.notes.text[0], "h100-sxm: calibrated (h100-sxm-vllm)");
}

Test(load, a_library_is_preferred_where_the_best_is_chosen)
{
    cr_assert(load((llmperf_load_options){.hw = "h100-sxm", .library = "trtllm"}) == LLMPERF_OK);
    cr_expect_str_eq(loaded.calib->library, "trtllm");
}

Test(load, none_leaves_the_roofline)
{
    cr_assert(load((llmperf_load_options){.hw = "h100-sxm", .calibration = "none"}) == LLMPERF_OK);
    cr_expect_null(loaded.calib);
    cr_expect_str_eq(loaded.notes.text[0], "h100-sxm: no calibration, times are bounds");
}

Test(load, a_calibration_by_name_is_lent_to_another_part)
{
    const llmperf_load_options options = {.hw = "h200-sxm", .calibration = "h100-sxm-vllm"};
    cr_assert(load(options) == LLMPERF_OK, "%s", error.text);
    cr_expect_gt(loaded.calib->borrowed, 0);
    cr_expect_str_eq(loaded.notes.text[0], "h200-sxm: borrowed (h100-sxm-vllm), intervals wider");
}

Test(load, an_engine_alone_has_no_fits_of_operators)
{
    cr_assert(load((llmperf_load_options){.hw = "h100-sxm", .engine = "vllm"}) == LLMPERF_OK, "%s",
              error.text);
    cr_expect_str_eq(loaded.calib->host.engine, "vllm");
    cr_expect_eq(loaded.calib->host.first_entry, 0);
}

Test(load, fits_asked_for_by_name_stand_before_those_of_the_engine)
{
    const llmperf_load_options options = {
        .hw = "h100-sxm", .engine = "vllm", .calibration = "h100-sxm-vllm"};
    cr_assert(load(options) == LLMPERF_OK, "%s", error.text);
    cr_expect_str_eq(loaded.calib->host.engine, "vllm");
    cr_expect_gt(loaded.calib->host.first_entry, 0);
}

Test(load, no_calibration_still_lets_the_engine_time)
{
    const llmperf_load_options options = {
        .hw = "h100-sxm", .engine = "vllm", .calibration = "none"};
    cr_assert(load(options) == LLMPERF_OK, "%s", error.text);
    cr_assert_not_null(loaded.calib);
    cr_expect_str_eq(loaded.calib->host.engine, "vllm");
}

Test(load, no_engine_is_operators_alone)
{
    cr_assert(load((llmperf_load_options){.hw = "h100-sxm", .engine = "none"}) == LLMPERF_OK);
    cr_expect_str_eq(loaded.calib->host.engine, "");
    cr_expect_str_eq(loaded.calib->name, "h100-sxm-vllm");
}

Test(load, a_profile_that_is_loaded_takes_the_place_of_a_name)
{
    llmperf_engine *engine = NULL;
    const llmperf_load_options options = {.paths = &paths};
    cr_assert(llmperf_load_engine(&options, "sglang", &engine, &error) == LLMPERF_OK, "%s",
              error.text);
    cr_expect(load((llmperf_load_options){.hw = "h100-sxm", .engine = "vllm", .profile = engine}) ==
              LLMPERF_OK);
    cr_expect_str_eq(loaded.calib->host.engine, "sglang");
    free(engine);
}

Test(load, a_scheme_is_put_on_the_model)
{
    cr_assert(load((llmperf_load_options){.model = "llama-3.1-8b", .quant = "fp8"}) == LLMPERF_OK);
    cr_expect_str_eq(loaded.model->scheme, "fp8");
}

Test(load, the_folders_by_default_begin_with_the_asked_one)
{
    llmperf_spec_paths found;
    setenv("LLMPERF_SPECS", "/somewhere", 1);
    setenv("XDG_DATA_HOME", "/data", 1);
    llmperf_spec_paths_default("/first", &found);
    cr_expect_str_eq(found.folder[0], "/first");
    cr_expect_str_eq(found.folder[1], "/somewhere");
    cr_expect_str_eq(found.folder[2], "/data/llmperf/specs");
    unsetenv("LLMPERF_SPECS");
    setenv("XDG_DATA_HOME", "relative", 1); /* is not taken */
    setenv("HOME", "/home/me", 1);
    llmperf_spec_paths_default(NULL, &found);
    cr_expect_str_eq(found.folder[0], "/home/me/.local/share/llmperf/specs");
}

Test(load, without_folders_the_default_ones_are_searched)
{
    char specs[LLMPERF_PATH_MAX];
    snprintf(specs, sizeof specs, "%s/specs", getenv("LLMPERF_SOURCE"));
    setenv("LLMPERF_SPECS", specs, 1);
    const llmperf_load_options options = {.model = "llama-3.1-8b", .hw = "l40s"};
    cr_assert(llmperf_load(&options, &loaded, &error) == LLMPERF_OK, "%s", error.text);
    cr_expect_str_eq(loaded.hw->name, "l40s");
}

/* ---- what fails: status, text, and nothing in the result ------------------------------------- */

static void refused(llmperf_load_options options, llmperf_status status, const char *text)
{
    const llmperf_loaded before = loaded;
    error = (llmperf_error){0};
    cr_expect_eq(load(options), status, "%s", error.text);
    cr_expect_eq(error.status, status);
    cr_expect_not_null(strstr(error.text, text), "'%s' is not in '%s'", text, error.text);
    cr_expect_eq(loaded.model, before.model);
    cr_expect_eq(loaded.hw, before.hw);
    cr_expect_eq(loaded.calib, before.calib);
}

Test(load, unknown_names_are_refused_with_the_nearest)
{
    refused((llmperf_load_options){.model = "lama-3.1-8b"}, LLMPERF_E_USAGE, "llama-3.1-8b");
    refused((llmperf_load_options){.hw = "h100-sxn"}, LLMPERF_E_USAGE, "h100-sxm");
    refused((llmperf_load_options){.hw = "h100-sxm", .calibration = "h100-sxm-vlm"},
            LLMPERF_E_USAGE, "h100-sxm-vllm");
    refused((llmperf_load_options){.hw = "h100-sxm", .engine = "vlm"}, LLMPERF_E_USAGE, "vllm");
    refused((llmperf_load_options){.model = "llama-3.1-8b", .quant = "fp7"}, LLMPERF_E_USAGE,
            "fp7");
}

Test(load, a_file_that_is_not_there_is_an_io_error)
{
    refused((llmperf_load_options){.model = "/nowhere/model.yaml"}, LLMPERF_E_IO, "/nowhere");
    refused((llmperf_load_options){.hw = "/nowhere/hw.yaml"}, LLMPERF_E_IO, "/nowhere");
    refused((llmperf_load_options){.hw = "l40s", .calibration = "/nowhere/c.yaml"}, LLMPERF_E_IO,
            "/nowhere");
    refused((llmperf_load_options){.hw = "l40s", .engine = "/nowhere/e.yaml"}, LLMPERF_E_IO,
            "/nowhere");
}

Test(load, a_garbled_file_is_refused_with_its_place)
{
    char *path = bad_file("nonsense: 1\n");
    refused((llmperf_load_options){.model = path}, LLMPERF_E_SPEC, "bad.yaml:1:");
    refused((llmperf_load_options){.hw = path}, LLMPERF_E_SPEC, "bad.yaml:1:");
    refused((llmperf_load_options){.hw = "l40s", .calibration = path}, LLMPERF_E_SPEC,
            "bad.yaml:1:");
    refused((llmperf_load_options){.hw = "l40s", .engine = path}, LLMPERF_E_SPEC, "bad.yaml:1:");
}

Test(load, what_fails_last_frees_what_was_loaded_first)
{
    refused((llmperf_load_options){.model = "llama-3.1-8b", .hw = "h100-sxm", .engine = "vlm"},
            LLMPERF_E_USAGE, "vlm");
}

Test(load, without_hardware_calibration_and_engine_are_not_looked_up)
{
    const llmperf_load_options options = {
        .model = "llama-3.1-8b", .calibration = "bogus", .engine = "bogus"};
    cr_expect(load(options) == LLMPERF_OK, "%s", error.text);
}

Test(load, names_that_are_not_the_users_may_not_be_paths)
{
    char path[LLMPERF_PATH_MAX];
    llmperf_engine *engine = NULL;
    cr_assert(llmperf_find_hw(&paths, "h100-sxm", path, &error) == LLMPERF_OK);
    refused((llmperf_load_options){.hw = path, .names_only = true}, LLMPERF_E_USAGE, "is a path");
    cr_assert(llmperf_find_model(&paths, "llama-3.1-8b", path, &error) == LLMPERF_OK);
    refused((llmperf_load_options){.model = path, .names_only = true}, LLMPERF_E_USAGE,
            "is a path");
    cr_assert(llmperf_find_engine(&paths, "vllm", path, &error) == LLMPERF_OK);
    const llmperf_load_options options = {.paths = &paths, .names_only = true};
    error = (llmperf_error){0};
    cr_expect(llmperf_load_engine(&options, path, &engine, &error) == LLMPERF_E_USAGE);
    cr_expect_null(engine);
}
