/* SPDX-License-Identifier: MIT */
/* llmperf fit FILE... [-o FILE]: a calibration from anyone's measurements of operators, an engine
 * profile from measurements of whole engines. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "common.h"
#include "fit_engine.h"
#include "llmperf/fit.h"
#include "sample_files.h"

typedef struct fit_arguments {
    common_arguments common;
    const char *hw, *map, *library, *dtype, *op, *test, *complete, *name, *date;
    const char *engine, *alias, *source, *licence, *residuals;
    bool plain, gemv_apart, windowed, parameters, quick;
    int64_t points, jobs;
} fit_arguments;

static const option OPTIONS[] = {
    OPTION_ROW(fit_arguments, hw, TEXT, "hw", 0, "HARDWARE",
               "the device that was measured: a shipped name or a YAML file (required for samples; "
               "for runs the one to fit, else each row's)",
               .group = "Samples"),
    OPTION_ROW(fit_arguments, map, WORDS, "map", 0, "THEIR=OURS",
               "rename columns: kernel_us=time_us,heads_q=heads", .group = "Samples"),
    OPTION_ROW(fit_arguments, library, WORDS, "library", 0, "NAMES",
               "only these libraries: vllm,nccl; '-' where none is said", .default_text = "all",
               .group = "Samples"),
    OPTION_ROW(fit_arguments, dtype, WORDS, "dtype", 0, "DTYPES", "only these formats: bf16,fp8",
               .default_text = "all", .group = "Samples"),
    OPTION_ROW(fit_arguments, op, WORDS, "op", 0, "OPS",
               "only these operators: gemm,attn_prefill,attn_decode,elementwise,all_reduce ...",
               .default_text = "all", .group = "Samples"),
    OPTION_ROW(fit_arguments, test, WORDS, "test", 0, "FILES",
               "score the fits on these samples, which they have not seen", .group = "Samples"),
    OPTION_ROW(fit_arguments, plain, FLAG, "plain", 0, NULL,
               "the plain form alone, without its refinements", .group = "Fit"),
    OPTION_ROW(fit_arguments, gemv_apart, FLAG, "gemv-apart", 0, NULL,
               "products with one row get a fit of their own (CPUs)", .group = "Fit"),
    OPTION_ROW(fit_arguments, windowed, FLAG, "windowed", 0, NULL,
               "fit sliding-window attention together with full attention", .group = "Fit"),
    OPTION_ROW(fit_arguments, points, INT64, "points", 0, "N",
               "samples that a fit uses at most, spread over the shapes; all are scored", .min = 16,
               .max = 1000000, .default_text = "3000", .group = "Fit"),
    OPTION_ROW(fit_arguments, jobs, INT64, "jobs", 'j', "N", "threads; the result is the same",
               .min = 1, .max = 16, .default_text = "the cores", .group = "Fit"),
    OPTION_ROW(fit_arguments, engine, TEXT, "engine", 0, "NAME",
               "only runs of this engine; its profile is what is fitted", .group = "Runs"),
    OPTION_ROW(fit_arguments, alias, WORDS, "alias", 0, "NAMES",
               "other names of the engine, in the files and for predict",
               .default_text = "those of the shipped profile", .group = "Runs"),
    OPTION_ROW(fit_arguments, quick, FLAG, "quick", 0, NULL,
               "do not leave models and devices out to find the residuals", .group = "Runs"),
    OPTION_ROW(
        fit_arguments, residuals, TEXT, "residuals", 0, "FILE",
        "write each row with its predictions, by fits that did not see its model or its device "
        "too, as CSV",
        .group = "Runs"),
    OPTION_ROW(fit_arguments, source, TEXT, "source", 0, "TEXT",
               "where the runs come from, for the profile", .default_text = "none",
               .group = "Runs"),
    OPTION_ROW(fit_arguments, licence, TEXT, "licence", 0, "TEXT", "licence of the runs",
               .default_text = "none", .group = "Runs"),
    OPTION_ROW(fit_arguments, complete, WORDS, "complete", 0, "NAMES",
               "take what these samples give no fit of from these calibrations, widened",
               .group = "Output"),
    OPTION_ROW(fit_arguments, name, TEXT, "name", 0, "NAME", "name of the calibration",
               .default_text = "the device's and the library's", .group = "Output"),
    OPTION_ROW(fit_arguments, date, TEXT, "date", 0, "DATE",
               "date that the calibration carries, such as 2026-02-28", .default_text = "none",
               .group = "Output"),
    OPTION_ROW(fit_arguments, parameters, FLAG, "parameters", 0, NULL,
               "print the fitted parameters below the table", .group = "Output"),
    OPTION_ROW(fit_arguments, common.output, TEXT, "output", 'o', "FILE",
               "write the calibration (YAML)", .group = "Output"),
    OPTION_ROW(fit_arguments, common.specs, TEXT, "specs", 0, "DIR",
               "look for specifications here first", .group = "Output"),
    OPTION_END,
};

static llmperf_status write_calib(const fit_arguments *a, const llmperf_hw *hw,
                                  const llmperf_fits *fits, llmperf_error *error)
{
    llmperf_output output;
    llmperf_spec_paths paths;
    llmperf_calib *calib = NULL;
    words complete;
    llmperf_spec_paths_default(a->common.specs, &paths);
    llmperf_status status =
        words_split("complete", a->complete, WORDS_MAX, "words", &complete, error);
    const llmperf_fits_naming naming = {
        .name = a->name, .date = a->date, .paths = &paths, .complete = words_list(&complete)};
    if (status == LLMPERF_OK)
        status = llmperf_fits_name(fits, hw, &naming, &calib, error);
    words_free(&complete);
    if (status == LLMPERF_OK)
        status = llmperf_output_open(a->common.output, &output, error);
    if (status == LLMPERF_OK) {
        status = llmperf_calib_write(output.file, calib, error);
        llmperf_status closed = llmperf_output_close(&output, status == LLMPERF_OK, error);
        status = status == LLMPERF_OK ? closed : status;
    }
    llmperf_calib_free(calib);
    return status;
}

/* Runs of whole engines instead of samples. */
static llmperf_status fit_runs(const fit_arguments *a, const char *const *paths, words w[6],
                               llmperf_error *error)
{
    llmperf_status status = words_split("map", a->map, WORDS_MAX, "words", &w[0], error);
    if (status == LLMPERF_OK)
        status = words_split("alias", a->alias, WORDS_MAX, "words", &w[5], error);
    if (status != LLMPERF_OK)
        return status;
    const fit_engine_arguments engine = {.common = &a->common,
                                         .hw = a->hw,
                                         .engine = a->engine,
                                         .source = a->source,
                                         .licence = a->licence,
                                         .residuals = a->residuals,
                                         .date = a->date,
                                         .aliases = words_list(&w[5]),
                                         .map = words_list(&w[0]),
                                         .quick = a->quick,
                                         .parameters = a->parameters};
    return fit_engine_run(&engine, paths, error);
}

static llmperf_status fit_samples(const fit_arguments *a, const char *const *paths,
                                  llmperf_samples *samples, llmperf_samples *test,
                                  llmperf_fits *fits, words w[6], llmperf_loaded *part,
                                  llmperf_error *error)
{
    static const char *const NAMES[] = {"map", "library", "dtype", "op", "test"};
    const char *const texts[] = {a->map, a->library, a->dtype, a->op, a->test};
    llmperf_status status = LLMPERF_OK;
    if (!a->hw)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "option '--hw' is missing; the device that was measured, such as "
                            "h100-sxm, is required");
    for (int i = 0; i < 5 && status == LLMPERF_OK; i++)
        status = words_split(NAMES[i], texts[i], WORDS_MAX, "words", &w[i], error);
    if (status == LLMPERF_OK)
        status = sample_files_check_kinds(&w[3], error);
    if (status == LLMPERF_OK)
        status = sample_files_check_dtypes(&w[2], error);
    if (status == LLMPERF_OK)
        status = common_load_hw(&a->common, a->hw, part, error);
    if (status == LLMPERF_OK)
        status = sample_files_read(paths, &w[0], samples, error);
    if (status == LLMPERF_OK && a->test)
        status = sample_files_read(w[4].word, &w[0], test, error);
    if (status != LLMPERF_OK)
        return status;
    const llmperf_fit_options options = {.points = (int)a->points,
                                         .jobs = (int)a->jobs,
                                         .plain = a->plain,
                                         .gemv_apart = a->gemv_apart,
                                         .windowed = a->windowed,
                                         .libraries = words_list(&w[1]),
                                         .dtypes = words_list(&w[2]),
                                         .kinds = words_list(&w[3])};
    status = llmperf_fit(samples, part->hw, &options, fits, error);
    if (status != LLMPERF_OK)
        return status;
    if (fits->foreign > 0)
        fprintf(stderr,
                "llmperf: %lld samples are of another device, the first of '%s'; left out\n",
                (long long)fits->foreign, fits->other_part);
    if (llmperf_write_fits(stdout, fits, test, part->hw, &options, a->parameters) == 0)
        return llmperf_fail(error, LLMPERF_E_FIT, "no fit succeeded: %s", fits->fit[0].why);
    return a->common.output ? write_calib(a, part->hw, fits, error) : LLMPERF_OK;
}

static llmperf_status fit_all(const fit_arguments *a, const option_result *result,
                              llmperf_samples *samples, llmperf_samples *test, llmperf_fits *fits,
                              words w[6], llmperf_loaded *part, llmperf_error *error)
{
    const char *paths[OPTION_MAX_POSITIONALS + 1] = {0};
    bool runs = false;
    memcpy(paths, result->positional, sizeof(char *) * (size_t)result->positional_count);
    /* what has no known header is told by the reader of samples, which knows --map */
    if (fit_engine_is_for(paths[0], NULL, &runs, NULL) == LLMPERF_OK && runs)
        return fit_runs(a, paths, w, error);
    return fit_samples(a, paths, samples, test, fits, w, part, error);
}

static int run(int argc, char **argv)
{
    fit_arguments arguments = {.common = COMMON_DEFAULTS};
    option_result result = {0};
    llmperf_error error = {0};
    llmperf_samples samples = {0}, test = {0};
    llmperf_fits fits = {0};
    llmperf_loaded part = {0};
    words w[6] = {0};

    llmperf_status status = option_parse(&COMMAND_FIT, argc, argv, &arguments, &result, &error);
    if (status == LLMPERF_OK && result.help) {
        option_print_help(stdout, &COMMAND_FIT);
        return 0;
    }
    if (status == LLMPERF_OK)
        status = fit_all(&arguments, &result, &samples, &test, &fits, w, &part, &error);
    for (int i = 0; i < 6; i++)
        words_free(&w[i]);
    llmperf_fits_free(&fits);
    llmperf_loaded_free(&part);
    llmperf_samples_free(&test);
    llmperf_samples_free(&samples);
    return common_report(status, &error);
}

const option_command COMMAND_FIT = {
    .name = "fit",
    .synopsis = "FILE...",
    .summary = "a calibration or an engine profile from anyone's measurements",
    .about =
        "Fits the parameters of the time formula to measured operator times, each library, "
        "operator and format apart, and prints how well each fit agrees: on its own samples, on "
        "shapes it has not seen, and beside the plain roofline and one constant efficiency.\n\n"
        "The files hold one timed launch a row: our columns (docs/calibration.md), any of which "
        "may be absent, or the headers of public collections; '.csv.gz' is read as it is. Only "
        "operands that come from memory count: small ones that a cache holds are left out and "
        "counted. Bad rows are named and left out. Exit code 6 says that no fit succeeded.\n\n"
        "Files of whole engines' runs (end-to-end CSV, or what 'compare' reads) make an engine "
        "profile instead (docs/engines.md): every device that the rows name, and how well it does "
        "on models ('unseen') and parts ('held-out') that a fit was not shown.",
    .examples =
        "llmperf fit gemm.csv attention.csv --hw h100-sxm --library vllm -o h100-vllm.yaml\n"
        "llmperf fit train.csv.gz --hw l40s --op gemm --dtype bf16 --test dev.csv.gz\n"
        "llmperf fit mine.csv --hw ./my-gpu.yaml --map kernel_us=time_us,hq=heads\n"
        "llmperf fit runs.csv --engine vllm -o my-vllm.yaml",
    .options = OPTIONS,
    .min_positionals = 1,
    .max_positionals = OPTION_MAX_POSITIONALS,
    .run = run,
};
