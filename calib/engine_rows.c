/* SPDX-License-Identifier: MIT */
/* Measurements of engines as operators of whole steps, and the time that a profile gives them. */
#include "engine_rows.h"
#include "config_object.h"
#include "engine_object.h"
#include "read.h"
#include "config.h"
#include "host.h"
#include "profile.h"
#include "time_op.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Faster than this share of the roofline is another workload than the row says. */
static const double LEAST_OF_ROOFLINE = 0.95;

static void *grown(void *items, int64_t count, int64_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    int64_t room = *capacity ? 2 * *capacity : 256;
    void *more = realloc(items, (size_t)room * size);
    if (more)
        *capacity = room;
    return more;
}

void engine_rows_free(engine_rows *rows)
{
    if (!rows)
        return;
    free(rows->model);
    free(rows->row);
    free(rows->step);
    free(rows->op);
    memset(rows, 0, sizeof *rows);
}

/* ---- parts and models ---------------------------------------------------------------------------------- */

typedef struct builder {
    engine_rows *rows;
    const llmperf_spec_paths *paths;
    const llmperf_engine_fit_options *options;
    bool out_of_memory;
    const llmperf_config *c; /* of the row being built */
    llmperf_error why;       /* it is left out */
} builder;

/* Index of the part a run is of; -1 with a reason. */
static int part_of(builder *b, const llmperf_run *run, llmperf_error *why)
{
    engine_rows *rows = b->rows;
    char path[LLMPERF_PATH_MAX];
    const llmperf_hw *only = b->options->hw;
    bool serving = run->kind == LLMPERF_RUN_SERVING;
    if (only && run->gpu[0] && !llmperf_hw_is(only, run->gpu)) {
        llmperf_fail(why, LLMPERF_E_UNSUPPORTED, "another device");
        return -1;
    }
    for (int i = 0; i < rows->part_count; i++)
        if (rows->serving[i] == serving && (only || llmperf_hw_is(&rows->part[i], run->gpu)))
            return i;
    if (rows->part_count == LLMPERF_ENGINE_PARTS_MAX) {
        llmperf_fail(why, LLMPERF_E_UNSUPPORTED, "more than %d devices", LLMPERF_ENGINE_PARTS_MAX);
        return -1;
    }
    llmperf_hw *hw = &rows->part[rows->part_count];
    rows->serving[rows->part_count] = serving;
    if (only) {
        *hw = *only;
    } else if (!run->gpu[0]) {
        llmperf_fail(why, LLMPERF_E_UNSUPPORTED, "the run names no device; --hw is needed");
        return -1;
    } else if (llmperf_find_hw(b->paths, run->gpu, path, why) != LLMPERF_OK ||
               llmperf_hw_load(path, hw, why) != LLMPERF_OK) {
        return -1;
    }
    return rows->part_count++;
}

static llmperf_status model_of_shape(const llmperf_run *run, llmperf_model *model,
                                     llmperf_error *why)
{
    llmperf_model *made = NULL;
    llmperf_status status = llmperf_run_model(run, &made, why);
    if (status == LLMPERF_OK)
        *model = *made;
    llmperf_model_free(made);
    return status;
}

static llmperf_status load_model(builder *b, const llmperf_run *run, llmperf_model *model,
                                 llmperf_error *why)
{
    char path[LLMPERF_PATH_MAX];
    if (run->shape.layers > 0)
        return model_of_shape(run, model, why);
    if (!run->model[0]) {
        if (!b->options->model)
            return llmperf_fail(why, LLMPERF_E_UNSUPPORTED, "the run names no model");
        *model = *b->options->model;
        return LLMPERF_OK;
    }
    llmperf_status status = llmperf_find_model(b->paths, run->model, path, why);
    return status == LLMPERF_OK ? model_load(path, model, why) : status;
}

/* Index of the model a run is of; -1 with a reason. */
static int model_of(builder *b, const llmperf_run *run, llmperf_error *why)
{
    engine_rows *rows = b->rows;
    int64_t capacity = rows->model_capacity;
    for (int i = 0; i < rows->model_count; i++) {
        const llmperf_model *m = &rows->model[i];
        bool same = strcasecmp(m->name, run->model) == 0;
        for (int k = 0; k < m->alias_count && !same; k++)
            same = strcasecmp(m->aliases[k], run->model) == 0;
        if (same && (run->shape.layers == 0 || m->layers[0].count == run->shape.layers))
            return i;
    }
    llmperf_model *model = grown(rows->model, rows->model_count, &capacity, sizeof *model);
    if (!model) {
        b->out_of_memory = true;
        return -1;
    }
    rows->model = model;
    rows->model_capacity = (int)capacity;
    if (load_model(b, run, &model[rows->model_count], why) != LLMPERF_OK)
        return -1;
    return rows->model_count++;
}

/* ---- from a run to steps --------------------------------------------------------------------------------- */

static void add_step(const llmperf_run_step *from, void *context)
{
    builder *b = context;
    engine_rows *rows = b->rows;
    int most = llmperf_emit_capacity(b->c, from->segment_count);
    engine_step *step = grown(rows->step, rows->step_count, &rows->step_capacity, sizeof *step);
    if (step)
        rows->step = step;
    else
        b->out_of_memory = true;
    while (rows->op_count + most > rows->op_capacity && !b->out_of_memory) {
        llmperf_op *op = grown(rows->op, rows->op_capacity, &rows->op_capacity, sizeof *op);
        if (op)
            rows->op = op;
        else
            b->out_of_memory = true;
    }
    if (b->out_of_memory)
        return;
    int count =
        llmperf_emit(b->c, from->segments, from->segment_count, most, &rows->op[rows->op_count]);
    double sequences = 0;
    for (int i = 0; i < from->segment_count; i++)
        sequences += (double)from->segments[i].sequences;
    rows->step[rows->step_count++] =
        (engine_step){.times = from->times,
                      .mixed = from->mixed,
                      .layers = (double)llmperf_model_layers(b->c->model),
                      .sequences = sequences,
                      .first = rows->op_count,
                      .count = count};
    rows->op_count += count;
}

/* The steps whose time a run measured. */
static llmperf_status add_steps(builder *b, const llmperf_run *run, engine_row *row,
                                llmperf_error *why)
{
    row->first = b->rows->step_count;
    row->prefill = run->metric == LLMPERF_METRIC_TTFT || run->metric == LLMPERF_METRIC_PREFILL_RATE;
    llmperf_status status = llmperf_run_steps(b->c, run, add_step, b, &row->waits, why);
    row->count = (int)(b->rows->step_count - row->first);
    return status;
}

static double roofline_of(const engine_rows *rows, const engine_row *row)
{
    double sum = 0;
    for (int64_t s = row->first; s < row->first + row->count; s++) {
        const engine_step *step = &rows->step[s];
        for (int64_t i = step->first; i < step->first + step->count; i++)
            sum += step->times * rows->op[i].repeat *
                   time_op(&rows->op[i], &rows->part[row->part], NULL, NULL, NULL);
    }
    return sum;
}

static void add_version(char *versions, const char *version)
{
    size_t used = strlen(versions), length = strlen(version);
    if (length == 0 || strstr(versions, version) || used + length + 3 > 96)
        return;
    snprintf(versions + used, 96 - used, "%s%s", used ? ", " : "", version);
}

static llmperf_status check_devices(const llmperf_run *run, const llmperf_hw *hw,
                                    const llmperf_workload *w, llmperf_error *why)
{
    static const int64_t NODE = 8; /* devices of a node */
    if (w->tp > NODE && w->tp > hw->link.domain)
        return llmperf_fail(why, LLMPERF_E_UNSUPPORTED,
                            "more than one node: what joins them is not said (tp %lld)",
                            (long long)w->tp);
    if (run->devices > (w->tp > 1 ? w->tp : 1))
        return llmperf_fail(why, LLMPERF_E_UNSUPPORTED,
                            "more devices than the degrees say: how they share the work is not "
                            "told (%lld under tp %lld)",
                            (long long)run->devices, (long long)w->tp);
    return LLMPERF_OK;
}

/* Builds the row of one run; LLMPERF_E_UNSUPPORTED and the like with a reason: it is left out. */
static llmperf_status add_run(builder *b, const llmperf_run *run, llmperf_error *why)
{
    engine_rows *rows = b->rows;
    engine_row row = {.run = run, .fitted = NAN, .unseen = NAN, .unseen_part = NAN};
    llmperf_workload w = {0};
    llmperf_config c;
    llmperf_model *model;
    if (run->kind == LLMPERF_RUN_OFFLINE)
        return llmperf_fail(why, LLMPERF_E_UNSUPPORTED, "the engine picked the batch");
    if (!run->weight_dtype[0])
        return llmperf_fail(why, LLMPERF_E_UNSUPPORTED, "the run does not say its weights' format");
    row.part = part_of(b, run, why);
    if (row.part >= 0 && llmperf_run_share(run, &rows->part[row.part]) < 1)
        return llmperf_fail(why, LLMPERF_E_UNSUPPORTED, "a part of the processor (%lld threads)",
                            (long long)run->threads);
    row.model = row.part >= 0 ? model_of(b, run, why) : -1;
    if (row.part < 0 || row.model < 0)
        return LLMPERF_E_UNSUPPORTED;
    model = malloc(sizeof *model);
    if (!model)
        return LLMPERF_E_MEMORY;
    *model = rows->model[row.model];
    llmperf_status status = llmperf_run_workload(run, &w, &w, why);
    if (status == LLMPERF_OK)
        status = llmperf_run_formats(run, model, &w, why);
    if (status == LLMPERF_OK)
        status = check_devices(run, &rows->part[row.part], &w, why);
    if (status == LLMPERF_OK)
        status = config_init(&c, model, &rows->part[row.part], NULL, &w, why);
    double time_s = status == LLMPERF_OK ? llmperf_run_time(run, &c.workload) : 0;
    if (status == LLMPERF_OK && !(time_s > 0))
        status = llmperf_fail(why, LLMPERF_E_UNSUPPORTED, "no time was measured");
    if (status == LLMPERF_OK) {
        b->c = &c;
        status = add_steps(b, run, &row, why);
    }
    if (status == LLMPERF_OK) {
        row.log_time = log(time_s);
        row.roofline_s = b->out_of_memory ? 0 : roofline_of(rows, &row);
        if (time_s < LEAST_OF_ROOFLINE * row.roofline_s) {
            rows->refused[row.part]++; /* its steps stay behind, used by no row */
            status = llmperf_fail(why, LLMPERF_E_UNSUPPORTED,
                                  "faster than the roofline (%.2g of its time): another "
                                  "workload, or arithmetic with another peak",
                                  time_s / row.roofline_s);
        }
    }
    free(model);
    if (status != LLMPERF_OK)
        return status;
    add_version(rows->versions[row.part], run->engine_version);
    engine_row *more = grown(rows->row, rows->row_count, &rows->row_capacity, sizeof *more);
    if (more)
        rows->row = more;
    if (!more || b->out_of_memory)
        return LLMPERF_E_MEMORY;
    rows->row[rows->row_count++] = row;
    return LLMPERF_OK;
}

static bool is_engine(const llmperf_run *run, const char *engine, const char *const *aliases)
{
    bool same = strcasecmp(run->engine, engine) == 0;
    for (int i = 0; aliases && aliases[i] && !same; i++)
        same = strcasecmp(run->engine, aliases[i]) == 0;
    return same;
}

/* Is the run one of the engine that is fitted? The first run's where none is asked for; runs of
 * another are then a fault. */
static llmperf_status check_engine(const llmperf_engine_fit_options *options,
                                   const llmperf_run *run, char engine[48], bool *ret_other,
                                   llmperf_error *error)
{
    *ret_other = false;
    if (options->engine)
        *ret_other = run->engine[0] && !is_engine(run, options->engine, options->aliases);
    else if (!engine[0])
        snprintf(engine, 48, "%s", run->engine);
    else if (strcasecmp(engine, run->engine) != 0)
        return llmperf_fail(error, LLMPERF_E_USAGE,
                            "the runs are of several engines, %s and %s; --engine NAME picks one",
                            engine, run->engine);
    return LLMPERF_OK;
}

static llmperf_status add_runs(builder *b, const llmperf_runs *runs, char engine[48],
                               llmperf_error *error)
{
    const llmperf_engine_fit_options *options = b->options;
    for (int64_t i = 0; i < runs->count; i++) {
        const llmperf_run *run = &runs->run[i];
        bool other;
        llmperf_status status = check_engine(options, run, engine, &other, error);
        if (status != LLMPERF_OK)
            return status;
        if (other)
            continue;
        memset(&b->why, 0, sizeof b->why);
        status = add_run(b, run, &b->why);
        if (status == LLMPERF_E_MEMORY || b->out_of_memory)
            return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
        if (status != LLMPERF_OK && options->visit)
            options->visit(run, b->why.text, options->context);
    }
    if (b->rows->row_count == 0)
        return llmperf_fail(error, LLMPERF_E_FIT, "no usable run of %s",
                            engine[0] ? engine : "an engine");
    return LLMPERF_OK;
}

llmperf_status engine_rows_build(const llmperf_runs *runs, const llmperf_spec_paths *paths,
                                 const llmperf_engine_fit_options *options, engine_rows *ret_rows,
                                 char engine[48], llmperf_error *error)
{
    builder *b = calloc(1, sizeof *b);
    if (!b)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    b->rows = ret_rows;
    b->paths = paths;
    b->options = options;
    snprintf(engine, 48, "%s", options->engine ? options->engine : "");
    llmperf_status status = add_runs(b, runs, engine, error);
    free(b);
    return status;
}

/* ---- the time of a row -------------------------------------------------------------------------------------- */

void engine_form_set(engine_form *form, const llmperf_hw *hw, const double *param, bool with_chain)
{
    static const llmperf_engine NAMELESS = {.name = "fit"};
    double d[LLMPERF_ENGINE_PARAM_COUNT];
    memset(&form->part, 0, sizeof form->part);
    memcpy(form->part.param, param, sizeof form->part.param);
    engine_calib(&NAMELESS, &form->part, hw, NULL, &form->calib);
    for (int e = 0; with_chain && e < form->calib.entry_count; e++)
        for (int p = 0; p < LLMPERF_PARAM_COUNT; p++) {
            engine_derivative(&form->part, hw, &form->calib.entry[e], (llmperf_param)p, d);
            memcpy(form->chain[e][p], d, sizeof form->chain[e][p]);
        }
}

/* Adds `s` seconds of one operator to the sums by profile parameter. */
static void add_gradient(const engine_form *form, const llmperf_gradient *g, double s, double *sum)
{
    for (int i = 0; i < g->count; i++) {
        if (g->entry[i] == LLMPERF_CALIB_NO_ENTRY)
            continue;
        for (int p = 0; p < LLMPERF_PARAM_COUNT; p++) {
            double by = s * g->dlog[i][p];
            const double *chain = form->chain[g->entry[i]][p];
            if (by == 0)
                continue;
            for (int k = 0; k < ENGINE_FITTED; k++)
                sum[k] += by * chain[k];
        }
    }
}

double engine_row_time(const engine_rows *rows, const engine_row *row, const engine_form *form,
                       double *ret_dlog)
{
    const llmperf_hw *hw = &rows->part[row->part];
    const double *param = form->part.param;
    double total = 0, sum[ENGINE_FITTED] = {0}; /* of t, of dt / dparam */
    for (int64_t s = row->first; s < row->first + row->count; s++) {
        const engine_step *step = &rows->step[s];
        double times = step->times * (step->mixed ? 1 + param[LLMPERF_ENGINE_MIXED] : 1);
        double ops_s = 0;
        for (int64_t i = step->first; i < step->first + step->count; i++) {
            const llmperf_op *op = &rows->op[i];
            llmperf_gradient g;
            double t = op->repeat * time_op(op, hw, &form->calib, NULL, ret_dlog ? &g : NULL);
            ops_s += t;
            if (ret_dlog)
                add_gradient(form, &g, times * t, sum);
        }
        double step_s =
            ops_s + host_time_of(&form->calib.host, step->layers, step->sequences, ops_s, 0);
        total += times * step_s;
        sum[LLMPERF_ENGINE_STEP] += times;
        sum[LLMPERF_ENGINE_LAYER] += times * step->layers;
        sum[LLMPERF_ENGINE_SEQUENCE] += times * step->sequences;
        sum[LLMPERF_ENGINE_MIXED] += step->mixed ? step->times * step_s : 0;
    }
    total += row->waits * param[LLMPERF_ENGINE_REQUEST];
    sum[LLMPERF_ENGINE_REQUEST] += row->waits;
    for (int k = 0; ret_dlog && k < ENGINE_FITTED; k++)
        ret_dlog[k] = sum[k] * param[k] / total;
    return total;
}
