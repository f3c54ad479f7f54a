/* SPDX-License-Identifier: MIT */
/* Rows of result files beside predictions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "join.h"
#include "llmperf/results.h"
#include "config_object.h"
#include "engine_object.h"
#include "config.h"
#include "time_op.h"
#include "entry.h"

/* Options that give what files do not say. */
typedef enum fact { FACT_MODEL, FACT_HW, FACT_BATCH, FACT_PROMPT, FACT_GENERATE, FACT_COUNT } fact;

struct llmperf_join {
    llmperf_join_options options;
    llmperf_spec_paths *paths; /* the default ones; NULL = those of the options */
    names names;
    llmperf_comparison comparison;
    const char *path; /* of the samples that are being read */
    /* the first file whose rows lack facts */
    char needs_file[LLMPERF_NAME_MAX], needs[LLMPERF_TEXT_MAX];
    int64_t runs, profiled, offline;
    fact_use use[FACT_COUNT];
    llmperf_error error; /* what ends the call */
    llmperf_error why;   /* why a row has no prediction; scratch, as are these */
    llmperf_model model; /* with the run's formats */
    llmperf_hw hw;       /* the run's share of it */
    llmperf_config config;
    llmperf_workspace *workspace;
};

typedef llmperf_join join;

/* ---- facts that files lack ---------------------------------------------------------------------------- */

static void fill_word(char *to, size_t size, const char *word)
{
    if (!to[0] && word)
        snprintf(to, size, "%s", word);
}

/* A count that a file does not say, of an option (0 = not given). */
static int64_t filled(join *j, fact which, int64_t given)
{
    if (given > 0)
        count_use(&j->use[which], "");
    return given;
}

/* What the options add. Lengths: a file that tells what was cached needs no prompt. */
static void complete(join *j, llmperf_run *run)
{
    const llmperf_join_options *a = &j->options;
    if (!is_word(a->engine, "none") && !is_file(a->engine))
        fill_word(run->engine, sizeof run->engine, a->engine);
    fill_word(run->weight_dtype, sizeof run->weight_dtype, a->weight_dtype);
    fill_word(run->act_dtype, sizeof run->act_dtype, a->act_dtype);
    fill_word(run->kv_dtype, sizeof run->kv_dtype, a->kv_dtype);
    if (run->batch == 0 && run->kind != LLMPERF_RUN_OFFLINE) /* else --batch is a limit */
        run->batch = filled(j, FACT_BATCH, a->batch);
    if (run->prompt == 0 && !run->has_depth)
        run->prompt = (double)filled(j, FACT_PROMPT, a->prompt);
    if (run->generate == 0)
        run->generate = (double)filled(j, FACT_GENERATE, a->generate);
    if (run->tp == 0)
        run->tp = a->tp;
}

/* ---- rows without a prediction ------------------------------------------------------------------------- */

static llmperf_status skip(join *j, const llmperf_run *run, const char *why)
{
    llmperf_compare_skip row = {.line = run->line};
    memcpy(row.file, run->file, sizeof row.file);
    label_of(run, row.label, sizeof row.label);
    snprintf(row.why, sizeof row.why, "%.380s", why);
    return llmperf_comparison_skip(&j->comparison, &row, &j->error);
}

/* A row that the model has no say on is left out with the reason; other faults end the command. */
static llmperf_status skip_for(join *j, const llmperf_run *run, const llmperf_error *why)
{
    if (why->status == LLMPERF_E_MEMORY || why->status == LLMPERF_E_BUG)
        return llmperf_fail(&j->error, why->status, "%s", why->text);
    char line[LLMPERF_TEXT_MAX];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(why->text, "\n"), why->text);
    return skip(j, run, line);
}

static llmperf_status skip_incomplete(join *j, const llmperf_run *run, const char *options)
{
    char why[LLMPERF_TEXT_MAX];
    if (!j->needs[0]) {
        snprintf(j->needs, sizeof j->needs, "%s", options);
        memcpy(j->needs_file, run->file, sizeof j->needs_file);
    }
    const char *unknown = strstr(options, "--model") && run->model[0] ? run->model
                          : strstr(options, "--hw") && run->gpu[0]    ? run->gpu
                                                                      : NULL;
    if (unknown)
        snprintf(why, sizeof why, "'%.80s' is not known; %s, or --map '%.80s=...'", unknown,
                 options, unknown);
    else
        snprintf(why, sizeof why, "the file does not say all; %s would", options);
    return skip(j, run, why);
}

/* The batch of an offline run, which the engine picked. */
static llmperf_status set_in_flight(join *j, const llmperf_run *run, llmperf_config *c,
                                    llmperf_error *why)
{
    int64_t most = filled(j, FACT_BATCH, j->options.batch);
    int64_t count = llmperf_run_in_flight(c, run, most);
    if (count < 1)
        return llmperf_fail(why, LLMPERF_E_UNSUPPORTED,
                            "not even one sequence fits into memory: what ran there is not what "
                            "the row says");
    llmperf_config_move(c, count, c->workload.prompt, c->workload.context);
    j->offline++;
    return LLMPERF_OK;
}

/* The part, or what a run had of it: in ret_share then. */
static const llmperf_hw *share_of(const llmperf_run *run, const llmperf_hw *hw,
                                  llmperf_hw *ret_share)
{
    double share = llmperf_run_share(run, hw);
    if (share == 1)
        return hw;
    *ret_share = *hw;
    ret_share->mem_bytes_per_s *= share;
    ret_share->units *= share;
    for (int i = 0; i < LLMPERF_DTYPE_COUNT; i++)
        ret_share->peak_flop_per_s[i] *= share;
    return ret_share;
}

/* ---- one run ------------------------------------------------------------------------------------------- */

/* Prediction and roofline of one run; LLMPERF_E_UNSUPPORTED and others with the reason. */
static llmperf_status predict_run(join *j, const llmperf_run *run, const llmperf_model *model,
                                  const llmperf_hw *hw, const llmperf_calib *calib,
                                  llmperf_compare_row *row, int64_t *ret_in_flight,
                                  llmperf_error *why)
{
    llmperf_config *c = &j->config;
    llmperf_workload w = {0};
    const llmperf_workload base = {.chunk = j->options.chunk, .confidence = j->options.confidence};
    llmperf_estimate bound = {0};
    j->model = *model;
    llmperf_status status = llmperf_run_workload(run, &base, &w, why);
    if (status == LLMPERF_OK)
        status = llmperf_run_formats(run, &j->model, &w, why);
    if (status == LLMPERF_OK)
        status = config_init(c, &j->model, share_of(run, hw, &j->hw), calib, &w, why);
    if (status == LLMPERF_OK && run->kind == LLMPERF_RUN_OFFLINE)
        status = set_in_flight(j, run, c, why);
    if (status == LLMPERF_OK)
        status = llmperf_run_predict(c, run, &row->predicted, why);
    if (status != LLMPERF_OK)
        return status;
    *ret_in_flight = c->workload.batch;
    row->kind = llmperf_config_estimate_kind(c);
    c->calib = NULL;
    status = llmperf_run_predict(c, run, &bound, why);
    row->roofline = bound.value;
    return status;
}

static llmperf_status join_run(join *j, const llmperf_run *read)
{
    llmperf_run run = *read;
    llmperf_compare_row row = {.line = run.line, .measured = run.value};
    char needed[LLMPERF_TEXT_MAX];
    int64_t in_flight = 0;
    llmperf_status status = LLMPERF_OK;
    complete(j, &run);
    j->runs++;
    const llmperf_model *model = names_model(&j->names, &run, &j->use[FACT_MODEL]);
    const llmperf_hw *hw = names_part(&j->names, run.gpu, &j->use[FACT_HW]);
    if (j->error.status != LLMPERF_OK)
        return j->error.status;
    missing_facts(&run, model != NULL, hw != NULL, needed, sizeof needed);
    if (needed[0] || !model || !hw)
        return skip_incomplete(j, &run, needed);
    if (!run.gpu[0])
        memcpy(run.gpu, hw->name, sizeof run.gpu);
    if (!run.model[0])
        memcpy(run.model, model->name, sizeof run.model);
    const llmperf_engine *profile = names_profile(&j->names, run.engine);
    const llmperf_calib *calib = names_calib(&j->names, hw, &run, profile, &status);
    if (status != LLMPERF_OK)
        return status;
    if (profile)
        fill_word(run.engine, sizeof run.engine, profile->name);
    j->profiled += profile != NULL;
    memset(&j->why, 0, sizeof j->why);
    if (predict_run(j, &run, model, hw, calib, &row, &in_flight, &j->why) != LLMPERF_OK)
        return skip_for(j, &run, &j->why);
    snprintf(row.metric, sizeof row.metric, "%s", llmperf_metric_name(run.metric));
    memcpy(row.file, run.file, sizeof row.file);
    llmperf_run shown = run; /* with the batch that was taken for it */
    shown.batch = in_flight;
    label_of(&shown, row.label, sizeof row.label);
    group_of(&j->options, &run, row.metric, row.group, sizeof row.group);
    row.has_run = true;
    row.run = run;
    return llmperf_comparison_add(&j->comparison, &row, &j->error);
}

/* ---- samples of operators ------------------------------------------------------------------------------ */

static llmperf_status join_sample(join *j, const llmperf_samples *all, const llmperf_sample *sample)
{
    char key[LLMPERF_NAME_MAX + 48];
    llmperf_status status = LLMPERF_OK;
    llmperf_run run = {.line = sample->line}; /* what groups are made of */
    const char *slash = strrchr(all->name[sample->file], '/');
    snprintf(run.file, sizeof run.file, "%s", slash ? slash + 1 : all->name[sample->file]);
    snprintf(run.engine, sizeof run.engine, "%.47s", all->name[sample->library]);
    snprintf(run.engine_version, sizeof run.engine_version, "%.47s", all->name[sample->version]);
    snprintf(run.gpu, sizeof run.gpu, "%s", all->name[sample->hw]);
    snprintf(run.model, sizeof run.model, "%s",
             llmperf_sample_kind_name((llmperf_sample_kind)sample->kind));
    if (sample->op.dtype != LLMPERF_DTYPE_NONE)
        snprintf(run.weight_dtype, sizeof run.weight_dtype, "%s",
                 llmperf_dtype_name((llmperf_dtype)sample->op.dtype));
    j->runs++;
    const llmperf_hw *hw = names_part(&j->names, run.gpu, &j->use[FACT_HW]);
    if (j->error.status != LLMPERF_OK)
        return j->error.status;
    if (!hw)
        return skip_incomplete(j, &run, "--hw");
    if (!run.gpu[0])
        memcpy(run.gpu, hw->name, sizeof run.gpu);
    if (sample->op.flop > 0 && hw->peak_flop_per_s[sample->op.dtype] <= 0)
        return skip(j, &run, "the device has no peak of this dtype");
    if (sample->op.devices > 1 && !llmperf_hw_link(hw, (int64_t)sample->op.devices))
        return skip(j, &run, "the device has no link");
    const llmperf_calib *calib = names_calib(&j->names, hw, &run, NULL, &status);
    if (status != LLMPERF_OK)
        return status;
    double confidence = j->options.confidence;
    const llmperf_config c = {
        .hw = hw, .calib = calib, .workload = {.confidence = confidence > 0 ? confidence : 0.9}};
    llmperf_compare_row row = {.line = sample->line,
                               .metric = "time_s",
                               .measured = sample->time_s,
                               .predicted = llmperf_estimate_op(&c, &sample->op, j->workspace),
                               .kind = llmperf_config_estimate_kind(&c),
                               .roofline = time_op(&sample->op, hw, NULL, NULL, NULL),
                               .flags = sample->flags};
    memcpy(row.file, run.file, sizeof row.file);
    /* what a cache held apart: predictions are for memory */
    snprintf(key, sizeof key, "%s%s%s%s", run.model, run.weight_dtype[0] ? " " : "",
             run.weight_dtype, llmperf_sample_is_cold(sample, hw) ? "" : ", warm");
    if (sample->op.kind == LLMPERF_KIND_GEMM)
        snprintf(row.label, sizeof row.label, "%.50s %.0fx%.0fx%.0f", key, sample->op.m,
                 sample->op.n, sample->op.k);
    else
        snprintf(row.label, sizeof row.label, "%.60s %.3g MB", key, sample->op.bytes / 1e6);
    group_of(&j->options, &run, key, row.group, sizeof row.group);
    return llmperf_comparison_add(&j->comparison, &row, &j->error);
}

/* `text` is "PATH:LINE: why". */
static void bad_sample(bool refused, const char *text, void *context)
{
    join *j = context;
    llmperf_compare_skip row = {0};
    size_t length = strlen(j->path);
    char *end = NULL;
    (void)refused;
    if (strncmp(text, j->path, length) == 0 && text[length] == ':') {
        row.line = strtoll(text + length + 1, &end, 10);
        const char *slash = strrchr(j->path, '/');
        snprintf(row.file, sizeof row.file, "%.95s", slash ? slash + 1 : j->path);
    }
    snprintf(row.why, sizeof row.why, "%.380s", end ? end + strspn(end, ": ") : text);
    llmperf_comparison_skip(&j->comparison, &row, &j->error);
}

static llmperf_status join_samples(join *j, const llmperf_samples *samples)
{
    llmperf_status status = LLMPERF_OK;
    for (int64_t i = 0; i < samples->count && status == LLMPERF_OK; i++)
        status = join_sample(j, samples, &samples->sample[i]);
    return status;
}

static llmperf_status read_samples(join *j, const char *path)
{
    const llmperf_samples_options options = {.visit = bad_sample, .context = j};
    llmperf_samples samples = {0};
    j->path = path;
    llmperf_status status = llmperf_samples_read(&samples, path, &options, &j->error);
    if (status == LLMPERF_OK)
        status = join_samples(j, &samples);
    llmperf_samples_free(&samples);
    return status;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void bad_row(const char *file, int64_t line, const char *label, const char *why,
                    void *context)
{
    join *j = context;
    llmperf_compare_skip row = {.line = line};
    snprintf(row.file, sizeof row.file, "%s", file);
    snprintf(row.label, sizeof row.label, "%s", label);
    snprintf(row.why, sizeof row.why, "%.380s", why);
    llmperf_comparison_skip(&j->comparison, &row, &j->error);
}

static llmperf_status read_file(join *j, const char *path)
{
    const llmperf_runs_options options = {
        .map = j->options.map, .median = j->options.median, .visit = bad_row, .context = j};
    llmperf_runs runs = {0};
    bool samples = false;
    llmperf_status status = llmperf_results_are_samples(path, &options, &samples, &j->error);
    if (status == LLMPERF_OK && samples)
        return read_samples(j, path);
    if (status == LLMPERF_OK)
        status = llmperf_runs_read(&runs, path, &options, &j->error);
    for (int64_t i = 0; i < runs.count && status == LLMPERF_OK; i++)
        status = join_run(j, &runs.run[i]);
    llmperf_runs_free(&runs);
    return status;
}

/* Ends a call: a fault that was met while rows were told of ends it too. */
static llmperf_status end_call(join *j, llmperf_status status, llmperf_error *error)
{
    status = status == LLMPERF_OK ? j->error.status : status;
    if (status != LLMPERF_OK && error)
        *error = j->error;
    memset(&j->error, 0, sizeof j->error);
    return status;
}

llmperf_status llmperf_join_read(llmperf_join *j, const char *path, llmperf_error *error)
{
    NEEDS(j && path, error);
    return end_call(j, read_file(j, path), error);
}

llmperf_status llmperf_join_run(llmperf_join *j, const llmperf_run *run, llmperf_error *error)
{
    NEEDS(j && run_is_sound(run), error);
    return end_call(j, join_run(j, run), error);
}

llmperf_status llmperf_join_samples(llmperf_join *j, const llmperf_samples *samples,
                                    llmperf_error *error)
{
    NEEDS(j && samples, error);
    return end_call(j, join_samples(j, samples), error);
}

/* ---- the join ------------------------------------------------------------------------------------------ */

static llmperf_status check_map(const char *const *map, llmperf_error *error)
{
    for (int i = 0; map && map[i]; i++) {
        const char *equals = strchr(map[i], '=');
        if (!equals || equals == map[i] || !equals[1])
            return llmperf_fail(error, LLMPERF_E_USAGE,
                                "option '--map': '%s'; THEIR=OURS is allowed, such as "
                                "my-8b=llama-3.1-8b",
                                map[i]);
    }
    return LLMPERF_OK;
}

llmperf_status llmperf_join_new(const llmperf_join_options *options, llmperf_join **ret_join,
                                llmperf_error *error)
{
    NEEDS(options && ret_join && (!options->paths || paths_are_sound(options->paths)), error);
    llmperf_status status = check_map(options->map, error);
    if (status == LLMPERF_OK)
        status = check_groups(options->group_by, error);
    if (status != LLMPERF_OK)
        return status;
    llmperf_join *j = calloc(1, sizeof *j);
    if (j && !options->paths)
        j->paths = malloc(sizeof *j->paths);
    if (!j || (!options->paths && !j->paths)) {
        free(j);
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    }
    status = llmperf_workspace_new(NULL, 1, &j->workspace, error);
    if (status != LLMPERF_OK) {
        free(j->paths);
        free(j);
        return status;
    }
    if (j->paths)
        llmperf_spec_paths_default(NULL, j->paths);
    j->options = *options;
    j->names.options = &j->options;
    j->names.paths = j->paths ? j->paths : options->paths;
    j->names.error = &j->error;
    *ret_join = j;
    return LLMPERF_OK;
}

void llmperf_join_free(llmperf_join *j)
{
    if (!j)
        return;
    if (!j)
        return;
    names_free(&j->names);
    llmperf_comparison_free(&j->comparison);
    llmperf_workspace_free(j->workspace);
    free(j->paths);
    free(j);
}
/* ---- notes --------------------------------------------------------------------------------------------- */

static void note_kinds(const join *j, llmperf_comparison *c)
{
    int bounds = 0, borrowed = 0;
    for (int i = 0; i < c->row_count; i++) {
        bounds += c->row[i].kind == LLMPERF_ESTIMATE_BOUND;
        borrowed += c->row[i].kind == LLMPERF_ESTIMATE_BORROWED;
    }
    if (bounds > 0)
        llmperf_note(&c->notes,
                     "%d of %d predictions are bounds, the roofline: no calibration is there for "
                     "their device, or none was asked for",
                     bounds, c->row_count);
    if (borrowed > 0)
        llmperf_note(&c->notes, "%d of %d predictions borrow what was fitted on other devices",
                     borrowed, c->row_count);
    if (j->offline > 0)
        llmperf_note(
            &c->notes,
            "%lld of %d rows are of everything at once: as many sequences in flight (c) as "
            "memory holds at full length, at most %s",
            (long long)j->offline, c->row_count,
            j->options.batch > 0
                ? "--batch"
                : "the engine's default (vllm 256, tensorrt-llm 2048; --batch N for another)");
    if (j->profiled > 0 && c->row_count > 0)
        llmperf_note(
            &c->notes,
            "engine profiles predict; where one was fitted to these very rows its errors "
            "are those of the fit ('llmperf specs list engine' has those of unseen models)");
}

/* What became of the options that give missing facts: none may act, or fail to, unseen. */
static void note_facts(const join *j, llmperf_comparison *c)
{
    const llmperf_join_options *a = &j->options;
    const struct {
        const char *option, *what;
        bool given;
    } facts[FACT_COUNT] = {
        [FACT_MODEL] = {"--model", a->model, a->model != NULL},
        [FACT_HW] = {"--hw", a->hw, a->hw != NULL},
        [FACT_BATCH] = {"--batch", NULL, a->batch > 0},
        [FACT_PROMPT] = {"--prompt", NULL, a->prompt > 0},
        [FACT_GENERATE] = {"--generate", NULL, a->generate > 0},
    };
    char idle[64] = "";
    bool named = false;
    for (int i = 0; i < FACT_COUNT; i++) {
        const fact_use *use = &j->use[i];
        size_t used = strlen(idle);
        if (use->unknown > 0)
            llmperf_note(&c->notes,
                         "%lld of %lld rows name a %s that is not known here, the first '%.80s': "
                         "they are taken for %s %.80s",
                         (long long)use->unknown, (long long)j->runs,
                         i == FACT_MODEL ? "model" : "part", use->first, facts[i].option,
                         facts[i].what);
        if (!facts[i].given || use->rows > 0)
            continue;
        snprintf(idle + used, sizeof idle - used, "%s%s", used ? ", " : "", facts[i].option);
        named |= facts[i].what != NULL;
    }
    if (idle[0] && j->runs > 0)
        llmperf_note(&c->notes, "no row needs %s: what a file says is not overruled%s", idle,
                     named ? " (--map THEIR=OURS gives its names another meaning)" : "");
}

const llmperf_comparison *llmperf_join_finish(llmperf_join *j)
{
    if (!j)
        return NULL;
    note_kinds(j, &j->comparison);
    note_facts(j, &j->comparison);
    llmperf_comparison_note_faster(&j->comparison);
    return &j->comparison;
}

llmperf_status llmperf_join_check(const llmperf_join *j, llmperf_error *error)
{
    NEEDS(j, error);
    const llmperf_comparison *c = &j->comparison;
    if (c->row_count > 0)
        return LLMPERF_OK;
    if (j->needs[0])
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "%s does not say everything that a prediction needs; give %s%s",
                            j->needs_file, j->needs,
                            strstr(j->needs, "--model") || strstr(j->needs, "--hw")
                                ? " (or --map THEIR=OURS for names)"
                                : "");
    return llmperf_fail(error, LLMPERF_E_UNSUPPORTED, "no row can be predicted: %s",
                        c->skip_count > 0 ? c->skip[0].why : "there is none");
}
