/* SPDX-License-Identifier: MIT */
/* Devices by name, and a model's steps on one beside their predictions, called from C. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "llmperf/validate.h"

#define FAKE "noise=0.01,seed=7"

static llmperf_spec_paths paths;
static llmperf_error error;
static llmperf_opened_device device;
static llmperf_loaded loaded;
static llmperf_comparison comparison;

static void set_up(void)
{
    memset(&paths, 0, sizeof paths);
    paths.count = 1;
    snprintf(paths.folder[0], LLMPERF_PATH_MAX, "%s/specs", getenv("LLMPERF_SOURCE"));
    error = (llmperf_error){0};
    device = (llmperf_opened_device){0};
    loaded = (llmperf_loaded){0};
    comparison = (llmperf_comparison){0};
}

static void tear_down(void)
{
    llmperf_comparison_free(&comparison);
    llmperf_loaded_free(&loaded);
    llmperf_device_close(&device);
}

TestSuite(device, .init = set_up, .fini = tear_down);
TestSuite(validate, .init = set_up, .fini = tear_down);

static void open_fake(const char *options)
{
    llmperf_device_close(&device);
    cr_assert(llmperf_device_open("fake", NULL, options, &device, &error) == LLMPERF_OK, "%s",
              error.text);
}

/* ---- devices ------------------------------------------------------------------------------------ */

Test(device, is_found_by_number_and_refused_by_what_is_neither)
{
    open_fake(FAKE);
    cr_expect_str_eq(device.device.name, "fake");
    cr_expect_str_eq(device.backend->name, "fake");
    llmperf_opened_device other = {0};
    cr_expect_eq(llmperf_device_open("fake", "7", NULL, &other, NULL), LLMPERF_E_USAGE);
    cr_expect_eq(llmperf_device_open("fake", "", NULL, &other, NULL), LLMPERF_E_USAGE);
    cr_expect_eq(llmperf_device_open("fake", "first", NULL, &other, &error), LLMPERF_E_USAGE);
    cr_expect_not_null(strstr(error.text, "a number or a UUID (GPU-...); found 'first'"));
    cr_expect_null(other.backend);
    llmperf_device_close(&other); /* of a zeroed one: nothing */
}

Test(device, has_the_shipped_datasheet_of_its_name)
{
    char why[LLMPERF_TEXT_MAX];
    open_fake(NULL);
    cr_assert(llmperf_device_spec(&paths, &device.device, &loaded, why));
    cr_expect_str_eq(loaded.hw->name, "fake");
    cr_expect_null(loaded.calib);
    cr_expect_str_eq(why, "");
}

/* An H100 SXM has 132 multiprocessors and 80 GB; a slice of one keeps its name. */
Test(device, a_gpu_that_is_less_than_its_name_has_none)
{
    char why[LLMPERF_TEXT_MAX];
    llmperf_device d = {.kind = "gpu", .name = "h100-sxm", .units = 132, .memory_bytes = 80e9};
    cr_expect(llmperf_device_spec(&paths, &d, &loaded, why));
    llmperf_loaded_free(&loaded);
    d.units = 16;
    cr_expect_not(llmperf_device_spec(&paths, &d, &loaded, why));
    cr_expect_not_null(strstr(why, "it has 16 units where that has 132"));
    d.units = 132;
    d.memory_bytes = 10e9;
    cr_expect_not(llmperf_device_spec(&paths, &d, &loaded, NULL));
    cr_expect_null(loaded.hw);
}

Test(device, a_gpu_without_a_known_name_is_told_what_it_is_like)
{
    char why[LLMPERF_TEXT_MAX];
    const llmperf_device d = {
        .kind = "gpu", .name = "Unheard-of", .units = 132, .memory_bytes = 80e9};
    cr_expect_not(llmperf_device_spec(&paths, &d, &loaded, why));
    cr_expect_not_null(strstr(why, "it is like "));
    cr_expect_not_null(strstr(why, "h100-sxm"));
}

static void count_devices(const llmperf_device_facts *facts, void *context)
{
    int *count = context;
    (*count)++;
    cr_expect_str_eq(facts->device->backend, "fake");
    cr_expect_str_eq(facts->spec->name, "fake");
    cr_expect_gt(facts->full_probes, facts->quick_probes);
    cr_expect_gt(facts->full_s, facts->quick_s);
}

Test(device, the_walk_tells_of_each_and_of_what_is_not_here)
{
    int count = 0;
    llmperf_notes absent = {0};
    const llmperf_devices_options fake = {.paths = &paths, .backend = "fake"};
    cr_expect_eq(llmperf_devices_visit(&fake, count_devices, &count, &absent, &error), LLMPERF_OK);
    cr_expect_eq(count, 1);
    cr_expect_eq(absent.count, 0);
    const llmperf_devices_options bad = {.paths = &paths, .backend = "fake", .options = "x=1"};
    cr_expect_eq(llmperf_devices_visit(&bad, count_devices, &count, &absent, &error),
                 LLMPERF_E_USAGE);
    cr_expect_eq(count, 1);
    cr_expect_eq(absent.count, 1);
    const llmperf_devices_options loose = {.paths = &paths, .options = "x=1"};
    cr_expect_eq(llmperf_devices_check(&loose, NULL), LLMPERF_E_USAGE);
    const llmperf_devices_options unknown = {.paths = &paths, .backend = "fak"};
    cr_expect_eq(llmperf_devices_check(&unknown, NULL), LLMPERF_E_USAGE);
}

/* ---- steps --------------------------------------------------------------------------------------- */

typedef struct seen {
    int calls, wrong;
    int64_t first, last;
} seen;

static void visit(int64_t batch, const char *what, int done, int total, void *context)
{
    seen *s = context;
    s->first = s->calls++ == 0 ? batch : s->first;
    s->last = batch;
    s->wrong += !what[0] || done < 0 || done >= total;
}

static int rows_with(const char *text)
{
    int count = 0;
    for (int i = 0; i < comparison.row_count; i++)
        count += strstr(comparison.row[i].label, text) != NULL;
    return count;
}

static llmperf_status validate(const llmperf_validate_options *options)
{
    const llmperf_load_options how = {
        .paths = &paths, .model = "llama-3.2-1b", .hw = "fake", .calibration = "none"};
    const llmperf_workload workload = {.prompt = 256, .generate = 32};
    open_fake(FAKE);
    cr_assert(llmperf_load(&how, &loaded, &error) == LLMPERF_OK, "%s", error.text);
    return llmperf_validate(loaded.model, loaded.hw, loaded.calib, &workload, &device, options,
                            &comparison, &error);
}

Test(validate, each_batch_has_operators_their_sum_and_the_whole_step)
{
    static const int64_t BATCHES[] = {2, 16};
    seen s = {0};
    const llmperf_validate_options options = {
        .batches = BATCHES, .batch_count = 2, .decode = true, .visit = visit, .context = &s};
    cr_assert(validate(&options) == LLMPERF_OK, "%s", error.text);
    cr_expect_eq(rows_with("sum of operators"), 2);
    cr_expect_eq(rows_with("decode b 2 "), comparison.row_count / 2);
    cr_expect_eq(rows_with("decode b 16 "), comparison.row_count / 2);
    cr_expect_eq(rows_with("prefill"), 0);
    cr_expect_gt(s.calls, 10);
    cr_expect_eq(s.wrong, 0);
    cr_expect_eq(s.first, 2);
    cr_expect_eq(s.last, 16);
}

Test(validate, both_phases_are_asked_for_apart)
{
    static const int64_t ONE[] = {1};
    const llmperf_validate_options options = {
        .batches = ONE, .batch_count = 1, .decode = true, .prefill = true};
    cr_assert(validate(&options) == LLMPERF_OK, "%s", error.text);
    cr_expect_gt(rows_with("decode b 1 "), 0);
    cr_expect_gt(rows_with("prefill b 1 "), 0);
}

Test(validate, a_batch_that_is_none_ends_it)
{
    static const int64_t NONE[] = {-1};
    const llmperf_validate_options options = {.batches = NONE, .batch_count = 1, .decode = true};
    cr_expect_neq(validate(&options), LLMPERF_OK);
    cr_expect_eq(comparison.row_count, 0);
}
