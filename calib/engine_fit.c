/* SPDX-License-Identifier: MIT */
/*
 * An engine profile from measurements: every part fitted, weak ones towards like parts, and each
 * model and each part left out in turn to find how far a profile can be trusted.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine_rows.h"
#include "fit_internal.h"
#include "engine_object.h"
#include "read.h"
#include "engine_field.h"
#include "kin.h"
#include "entry.h"

enum { ROUNDS = 4, ROUNDS_AGAIN = 2 };

static const double POOL_ROWS = 10;        /* what the engine's spread weighs in a part's */
static const double LEAST_RESIDUAL = 0.05; /* two stacks timing one part differ by as much */
static const double Z90 = 1.645;

typedef struct engine_fitter {
    engine_rows *rows;
    int parts;
    llmperf_engine_part *first, *final; /* after each round, by part */
    int64_t *used;                      /* rows of each part */
    const engine_row **scratch;
} engine_fitter;

static llmperf_engine_part typical(const llmperf_hw *hw, bool serving)
{
    llmperf_engine_part part = {.serving = serving};
    for (int k = 0; k < LLMPERF_ENGINE_PARAM_COUNT; k++)
        part.param[k] = engine_typical_on(hw, (llmperf_engine_param)k);
    return part;
}

static bool are_kin(const engine_fitter *f, int a, int b)
{
    return engine_likeness(&f->rows->part[a], &f->rows->part[b]) > 0;
}

/* To five digits: the file is read by people, and no interval shows a sixth. */
static double rounded(double x)
{
    if (x == 0 || !isfinite(x))
        return 0;
    double digits = fmin(fmax(4 - floor(log10(fabs(x))), 0), 22);
    double scale = pow(10, digits);
    return round(x * scale) / scale;
}

static void set_errors(llmperf_engine_part *part)
{
    for (int k = 0; k < ENGINE_FITTED; k++) {
        for (int l = 0; l < ENGINE_FITTED; l++)
            part->covariance[k][l] = rounded(part->covariance[k][l]);
        part->error[k] = sqrt(fmax(part->covariance[k][k], 0));
    }
}

/* Rows of a part without those of one model (-1 = all of them). */
static int64_t gather(const engine_fitter *f, int part, int without)
{
    int64_t count = 0;
    for (int64_t i = 0; i < f->rows->row_count; i++) {
        const engine_row *row = &f->rows->row[i];
        if (row->part == part && row->model != without)
            f->scratch[count++] = row;
    }
    return count;
}

/* Fits a part alone, held to what is typical. */
static bool fit_first(const engine_fitter *f, int part, int without, int rounds,
                      llmperf_engine_part *ret)
{
    engine_prior prior;
    llmperf_engine_part one = typical(&f->rows->part[part], f->rows->serving[part]);
    memcpy(prior.param, one.param, sizeof prior.param);
    for (int k = 0; k < ENGINE_FITTED; k++)
        prior.deviation[k] = engine_spread_on(&f->rows->part[part], (llmperf_engine_param)k, false);
    if (rounds < ROUNDS) /* start where the fit to all rows ended */
        memcpy(one.param, f->first[part].param, sizeof one.param);
    int64_t count = gather(f, part, without);
    bool good = count > 0 && engine_solve(f->rows, f->scratch, count, &f->rows->part[part], &prior,
                                          rounds, one.param, one.covariance);
    set_errors(&one);
    one.quality.rows = count;
    if (good)
        *ret = one;
    return good;
}

/* What the other parts' fits say of a part. */
static int lend(const engine_fitter *f, const llmperf_engine_part *fits, const int64_t *used,
                int part, double param[LLMPERF_ENGINE_PARAM_COUNT])
{
    const llmperf_engine_part *lender[LLMPERF_ENGINE_PARTS_MAX] = {0};
    const llmperf_hw *hw[LLMPERF_ENGINE_PARTS_MAX] = {0};
    int count = 0, nearest;
    for (int i = 0; i < f->parts; i++) {
        if (i == part || used[i] == 0 || !are_kin(f, i, part))
            continue;
        lender[count] = &fits[i];
        hw[count++] = &f->rows->part[i];
    }
    engine_mean(lender, hw, count, &f->rows->part[part], f->rows->serving[part], param, &nearest);
    return count;
}

/* Fits a part again, held to like parts. */
static bool fit_again(const engine_fitter *f, const llmperf_engine_part *fits, const int64_t *used,
                      int part, int without, int rounds, llmperf_engine_part *ret)
{
    engine_prior prior;
    llmperf_engine_part one = fits[part];
    if (lend(f, fits, used, part, prior.param) == 0) {
        *ret = one;
        return true;
    }
    for (int k = 0; k < ENGINE_FITTED; k++)
        prior.deviation[k] = engine_spread_on(&f->rows->part[part], (llmperf_engine_param)k, true);
    int64_t count = gather(f, part, without);
    if (count == 0) {
        memcpy(one.param, prior.param, sizeof one.param);
    } else if (!engine_solve(f->rows, f->scratch, count, &f->rows->part[part], &prior, rounds,
                             one.param, one.covariance)) {
        return false;
    }
    set_errors(&one);
    one.quality.rows = count;
    *ret = one;
    return true;
}

/* ---- errors ---------------------------------------------------------------------------------------------- */

/* v' C v, v = d log(time) / d log(parameter). */
static double variance_of(const llmperf_engine_part *part, const double *v)
{
    double sum = 0;
    for (int k = 0; k < ENGINE_FITTED; k++)
        for (int l = 0; l < ENGINE_FITTED; l++)
            sum += v[k] * part->covariance[k][l] * v[l];
    return fmax(sum, 0);
}

/* Errors of a fit into `field` of the rows, what its parameters bring into `variance` (0 = nowhere). */
static void score(const engine_fitter *f, const llmperf_engine_part *part, int at, int model,
                  size_t field, size_t variance)
{
    engine_form *form = calloc(1, sizeof *form);
    if (!form)
        return;
    engine_form_set(form, &f->rows->part[at], part->param, variance > 0);
    for (int64_t i = 0; i < f->rows->row_count; i++) {
        engine_row *row = &f->rows->row[i];
        if (row->part != at || (model >= 0 && row->model != model))
            continue;
        double v[ENGINE_FITTED];
        double t = engine_row_time(f->rows, row, form, variance > 0 ? v : NULL);
        double error = log(t) - row->log_time;
        memcpy((char *)row + field, &error, sizeof error);
        if (variance > 0) {
            double brought = variance_of(part, v);
            memcpy((char *)row + variance, &brought, sizeof brought);
        }
    }
    free(form);
}

/* Each model in turn is left out of the whole fit. */
static bool leave_models_out(const engine_fitter *f)
{
    const engine_rows *rows = f->rows;
    if (f->parts < 1)
        return true;
    llmperf_engine_part *fits = malloc(sizeof *fits * (size_t)f->parts);
    int64_t used[LLMPERF_ENGINE_PARTS_MAX];
    bool good = fits != NULL;
    for (int model = 0; model < rows->model_count && good; model++) {
        memcpy(fits, f->first, sizeof *fits * (size_t)f->parts);
        for (int part = 0; part < f->parts && good; part++) {
            used[part] = gather(f, part, model);
            if (used[part] < f->used[part] && used[part] > 0)
                good = fit_first(f, part, model, ROUNDS_AGAIN, &fits[part]);
        }
        for (int part = 0; part < f->parts && good; part++) {
            llmperf_engine_part one;
            if (used[part] == f->used[part])
                continue;
            if (used[part] == 0) /* no row of the part is left: start from what is typical */
                fits[part] = typical(&rows->part[part], rows->serving[part]);
            good = fit_again(f, fits, used, part, model, ROUNDS_AGAIN, &one);
            if (good)
                score(f, &one, part, model, offsetof(engine_row, unseen),
                      offsetof(engine_row, unseen_variance));
        }
    }
    free(fits);
    return good;
}

static void leave_parts_out(const engine_fitter *f)
{
    for (int part = 0; part < f->parts; part++) {
        llmperf_engine_part one = typical(&f->rows->part[part], f->rows->serving[part]);
        if (lend(f, f->final, f->used, part, one.param) > 0)
            score(f, &one, part, -1, offsetof(engine_row, unseen_part), 0);
    }
}

/* ---- quality and residuals -------------------------------------------------------------------------------- */

static double get(const engine_row *row, size_t field)
{
    double value;
    memcpy(&value, (const char *)row + field, sizeof value);
    return value;
}

/* Which rows a statistic is of: one part (-1 = all), prefill or not (-1 = both); those of a part's
 * only model where `lonely`. */
typedef struct filter {
    int part, prefill;
    int kin;           /* parts of this one's kind; -1 = all */
    bool others_alone; /* rows whose part has rows of other models */
} filter;

static bool passes(const engine_fitter *f, const engine_row *row, const filter *by)
{
    if ((by->part >= 0 && row->part != by->part) ||
        (by->prefill >= 0 && row->prefill != (by->prefill != 0)))
        return false;
    if (by->kin >= 0 && row->part != by->kin && !are_kin(f, row->part, by->kin))
        return false;
    return !by->others_alone || gather(f, row->part, row->model) > 0;
}

typedef enum statistic { AS_ERROR, AS_BIAS, AS_LOG } statistic;

/* Quantile of |error|, error or |log| of a field; 0 without rows. ret_count may be NULL. */
static double quantile(const engine_fitter *f, size_t field, const filter *by, statistic what,
                       double share, int64_t *ret_count)
{
    double *values = malloc(sizeof *values * (size_t)(f->rows->row_count + 1)), result = 0;
    int64_t count = 0;
    for (int64_t i = 0; values && i < f->rows->row_count; i++) {
        const engine_row *row = &f->rows->row[i];
        double log_error = get(row, field);
        if (isnan(log_error) || !passes(f, row, by))
            continue;
        values[count++] = what == AS_LOG    ? fabs(log_error)
                          : what == AS_BIAS ? exp(log_error) - 1
                                            : fabs(exp(log_error) - 1);
    }
    if (count > 0) {
        fit_sort(values, count);
        result = fit_quantile(values, count, share);
    }
    free(values);
    if (ret_count)
        *ret_count = count;
    return result;
}

static double mean_error(const engine_fitter *f, int part)
{
    double sum = 0, count = 0;
    for (int64_t i = 0; i < f->rows->row_count; i++)
        if (f->rows->row[i].part == part) {
            sum += fabs(exp(f->rows->row[i].fitted) - 1);
            count++;
        }
    return count > 0 ? sum / count : 0;
}

/* The deviation that nine tenths of a field's errors lie within, beside what the parameters bring:
 * |error| <= Z90 sqrt(deviation^2 + variance). */
static double deviation_of(const engine_fitter *f, bool quick, const filter *by, int64_t *ret_count)
{
    double *values = malloc(sizeof *values * (size_t)(f->rows->row_count + 1)), result = 0;
    int64_t count = 0;
    for (int64_t i = 0; values && i < f->rows->row_count; i++) {
        const engine_row *row = &f->rows->row[i];
        double error = (quick ? row->fitted : row->unseen) / Z90;
        if (!isnan(error) && passes(f, row, by))
            values[count++] = error * error - (quick ? row->fitted_variance : row->unseen_variance);
    }
    if (count > 0) {
        fit_sort(values, count);
        result = sqrt(fmax(fit_quantile(values, count, 0.9), 0));
    }
    free(values);
    *ret_count = count;
    return result;
}

/* Residuals of a part: of models left out, pooled with the engine's where they are few. */
static double residual_of(const engine_fitter *f, int part, int prefill, bool quick)
{
    const filter own = {part, prefill, -1, !quick}, all = {-1, prefill, part, !quick};
    int64_t rows, pool;
    double mine = deviation_of(f, quick, &own, &rows);
    double pooled = deviation_of(f, quick, &all, &pool);
    if (pool == 0) { /* nothing was left out: twice what the fit left */
        const filter any = {part, -1, -1, false};
        pooled = 2 * quantile(f, offsetof(engine_row, fitted), &any, AS_LOG, 0.9, NULL) / Z90;
    }
    double n = (double)rows;
    double both = (n * mine * mine + POOL_ROWS * pooled * pooled) / (n + POOL_ROWS);
    return fmax(sqrt(both), LEAST_RESIDUAL);
}

static double row_deviation(const engine_row *row, const llmperf_engine_part *part, double variance)
{
    double residual = row->prefill ? part->prefill_residual : part->decode_residual;
    return sqrt(residual * residual + variance);
}

static double coverage(const engine_fitter *f, int at, const llmperf_engine_part *part)
{
    const filter own = {at, -1, -1, true};
    double inside = 0, count = 0;
    for (int64_t i = 0; i < f->rows->row_count; i++) {
        const engine_row *row = &f->rows->row[i];
        if (isnan(row->unseen) || !passes(f, row, &own))
            continue;
        inside += fabs(row->unseen) <= Z90 * row_deviation(row, part, row->unseen_variance);
        count++;
    }
    return count > 0 ? inside / count : 0;
}

/* The roofline's errors, and those of the roofline times the factor that suits the part best. */
static void baselines(const engine_fitter *f, int part, llmperf_engine_quality *q)
{
    double *ratio = malloc(sizeof *ratio * (size_t)(f->rows->row_count + 1));
    int64_t count = 0;
    for (int64_t i = 0; ratio && i < f->rows->row_count; i++) {
        const engine_row *row = &f->rows->row[i];
        if (row->part == part)
            ratio[count++] = exp(row->log_time) / row->roofline_s;
    }
    if (count > 0) {
        fit_sort(ratio, count);
        double factor = fit_quantile(ratio, count, 0.5);
        for (int64_t i = 0; i < count; i++)
            ratio[i] = fabs(1 / ratio[i] - 1);
        q->roofline_frac = fit_quantile(ratio, count, 0.5); /* sorted either way: ratio >= 0.95 */
        for (int64_t i = 0; i < count; i++)
            ratio[i] = fabs(factor * (1 - ratio[i]) - 1);
        fit_sort(ratio, count);
        q->constant_frac = fit_quantile(ratio, count, 0.5);
    }
    free(ratio);
}

static int64_t models_of(const engine_fitter *f, int part)
{
    int64_t count = 0;
    for (int model = 0; model < f->rows->model_count; model++)
        count += gather(f, part, model) < f->used[part];
    return count;
}

static void judge_part(const engine_fitter *f, int at, bool quick, llmperf_engine_part *part)
{
    const filter all = {at, -1, -1, false};
    llmperf_engine_quality *q = &part->quality;
    const size_t fitted = offsetof(engine_row, fitted), unseen = offsetof(engine_row, unseen);
    q->rows = f->used[at];
    q->models = models_of(f, at);
    q->refused = f->rows->refused[at];
    q->median_frac = quantile(f, fitted, &all, AS_ERROR, 0.5, NULL);
    q->p90_frac = quantile(f, fitted, &all, AS_ERROR, 0.9, NULL);
    q->bias_frac = quantile(f, fitted, &all, AS_BIAS, 0.5, NULL);
    q->mean_frac = mean_error(f, at);
    baselines(f, at, q);
    part->decode_residual = residual_of(f, at, 0, quick);
    part->prefill_residual = residual_of(f, at, 1, quick);
    if (!quick && q->models > 1) {
        q->unseen_median_frac = quantile(f, unseen, &all, AS_ERROR, 0.5, NULL);
        q->unseen_p90_frac = quantile(f, unseen, &all, AS_ERROR, 0.9, NULL);
        q->unseen_coverage_frac = coverage(f, at, part);
    }
    q->unseen_part_frac = quantile(f, offsetof(engine_row, unseen_part), &all, AS_ERROR, 0.5, NULL);
}

/* A parameter whose error the rows cut to less than half of the prior's is told by them. */
static void mark_fitted(const llmperf_hw *hw, llmperf_engine_part *part, bool alone)
{
    part->fitted = 0;
    for (int k = 0; k < ENGINE_FITTED; k++)
        if (engine_param_applies(hw, (llmperf_engine_param)k) &&
            part->error[k] < 0.5 * engine_spread_on(hw, (llmperf_engine_param)k, !alone))
            part->fitted |= 1u << k;
}

/* Is the part the only one of its kind? */
static bool is_alone(const engine_fitter *f, int part)
{
    for (int i = 0; i < f->parts; i++)
        if (i != part && are_kin(f, i, part))
            return false;
    return true;
}

/* What a part without an entry adds to the residual: from the parts left out. */
static double borrowed_of(const engine_fitter *f)
{
    const filter all = {-1, -1, -1, false};
    int64_t count;
    double lent = quantile(f, offsetof(engine_row, unseen_part), &all, AS_LOG, 0.9, &count) / Z90;
    double own = 0, lenders = 0;
    for (int i = 0; i < f->parts; i++)
        if (!is_alone(f, i)) {
            own += f->final[i].decode_residual;
            lenders++;
        }
    own /= fmax(lenders, 1);
    return count > 0 ? sqrt(fmax(lent * lent - own * own, 0.01)) : 0;
}

/* ---- the whole --------------------------------------------------------------------------------------------- */

static bool fit_parts(engine_fitter *f)
{
    for (int part = 0; part < f->parts; part++)
        if (!fit_first(f, part, -1, ROUNDS, &f->first[part]))
            return false;
    for (int part = 0; part < f->parts; part++) {
        if (!fit_again(f, f->first, f->used, part, -1, ROUNDS, &f->final[part]))
            return false;
        score(f, &f->final[part], part, -1, offsetof(engine_row, fitted),
              offsetof(engine_row, fitted_variance));
    }
    return true;
}

static void digest_rows(const engine_rows *rows, char digest[32])
{
    uint64_t hash = FIT_HASH_START;
    for (int64_t i = 0; i < rows->row_count; i++) {
        const engine_row *row = &rows->row[i];
        hash = fit_hash(hash, &row->log_time, sizeof row->log_time);
        hash = fit_hash(hash, &row->roofline_s, sizeof row->roofline_s);
    }
    snprintf(digest, 32, "fnv1a64:%016llx", (unsigned long long)hash);
}

static double seconds(const engine_row *row, double log_error)
{
    return isnan(log_error) ? 0 : exp(row->log_time + log_error);
}

static void tell_rows(const engine_fitter *f, const llmperf_engine_fit_options *options)
{
    for (int64_t i = 0; options->row && i < f->rows->row_count; i++) {
        const engine_row *row = &f->rows->row[i];
        const llmperf_engine_part *part = &f->final[row->part];
        bool others = gather(f, row->part, row->model) > 0;
        const llmperf_engine_fit_row told = {.run = row->run,
                                             .hw = f->rows->part[row->part].name,
                                             .measured_s = exp(row->log_time),
                                             .roofline_s = row->roofline_s,
                                             .fitted_s = seconds(row, row->fitted),
                                             .unseen_s = others ? seconds(row, row->unseen) : 0,
                                             .unseen_part_s = seconds(row, row->unseen_part),
                                             .residual = row_deviation(row, part,
                                                                       others && !isnan(row->unseen)
                                                                           ? row->unseen_variance
                                                                           : row->fitted_variance)};
        options->row(&told, options->context);
    }
}

static int by_name(const void *a, const void *b)
{
    const llmperf_engine_part *x = a, *y = b;
    int order = strcmp(x->hw, y->hw);
    return order ? order : x->serving - y->serving;
}

static void finish(engine_fitter *f, bool quick, llmperf_engine *engine)
{
    for (int i = 0; i < f->parts; i++) {
        llmperf_engine_part *part = &f->final[i];
        snprintf(part->hw, sizeof part->hw, "%s", f->rows->part[i].name);
        part->serving = f->rows->serving[i];
        snprintf(part->versions, sizeof part->versions, "%s", f->rows->versions[i]);
        mark_fitted(&f->rows->part[i], part, is_alone(f, i));
        judge_part(f, i, quick, part);
        if (part->quality.models == 1)
            snprintf(part->remarks, sizeof part->remarks,
                     "one model only: what other models add is the engine's average");
    }
    engine->borrowed = quick ? 0 : borrowed_of(f);
    engine->part_count = f->parts;
    memcpy(engine->part, f->final, sizeof *engine->part * (size_t)f->parts);
    qsort(engine->part, (size_t)engine->part_count, sizeof *engine->part, by_name);
    digest_rows(f->rows, engine->digest);
}

/* Parts of which every row was refused are taken out. */
static void drop_empty_parts(engine_rows *rows)
{
    int kept = 0;
    for (int part = 0; part < rows->part_count; part++) {
        bool any = false;
        for (int64_t i = 0; i < rows->row_count && !any; i++)
            any = rows->row[i].part == part;
        if (!any)
            continue;
        if (kept < part) {
            rows->part[kept] = rows->part[part];
            rows->serving[kept] = rows->serving[part];
            memcpy(rows->versions[kept], rows->versions[part], sizeof *rows->versions);
            rows->refused[kept] = rows->refused[part];
            for (int64_t i = 0; i < rows->row_count; i++)
                if (rows->row[i].part == part)
                    rows->row[i].part = kept;
        }
        kept++;
    }
    rows->part_count = kept;
}

static llmperf_status fit_rows(engine_rows *rows, const llmperf_engine_fit_options *options,
                               llmperf_engine *engine, llmperf_error *error)
{
    llmperf_status status = LLMPERF_OK;
    bool quick = options->quick;
    drop_empty_parts(rows);
    const size_t parts = (size_t)(rows->part_count > 0 ? rows->part_count : 1);
    engine_fitter f = {.rows = rows,
                       .parts = rows->part_count,
                       .first = calloc(parts, sizeof *f.first),
                       .final = calloc(parts, sizeof *f.final),
                       .used = calloc(parts, sizeof *f.used),
                       .scratch = malloc(sizeof *f.scratch * (size_t)(rows->row_count + 1))};
    if (!f.first || !f.final || !f.used || !f.scratch) {
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
        goto out;
    }
    for (int part = 0; part < f.parts; part++)
        f.used[part] = gather(&f, part, -1);
    if (!fit_parts(&f) || (!quick && !leave_models_out(&f))) {
        status = llmperf_fail(error, LLMPERF_E_FIT, "the fit did not converge");
        goto out;
    }
    if (!quick)
        leave_parts_out(&f);
    finish(&f, quick, engine);
    tell_rows(&f, options);
out:
    free(f.first);
    free(f.final);
    free(f.used);
    free(f.scratch);
    return status;
}

/* ---- names ------------------------------------------------------------------------------------------------- */

/* Options with the names that the profile gets. */
typedef struct naming {
    llmperf_engine_fit_options options;
    const char *aliases[LLMPERF_ALIASES_MAX + 1];
    llmperf_engine shipped;
} naming;

/* Name and aliases: those asked for, else of a shipped profile of that name. */
static void name_engine(const llmperf_spec_paths *paths, const llmperf_engine_fit_options *options,
                        naming *n)
{
    char path[LLMPERF_PATH_MAX];
    n->options = *options;
    for (int i = 0; options->aliases && options->aliases[i] && i < LLMPERF_ALIASES_MAX; i++)
        n->aliases[i] = options->aliases[i];
    if (options->engine && !n->aliases[0] &&
        llmperf_find_engine(paths, options->engine, path, NULL) == LLMPERF_OK &&
        engine_load(path, &n->shipped, NULL) == LLMPERF_OK) {
        n->options.engine = n->shipped.name;
        for (int i = 0; i < n->shipped.alias_count; i++)
            n->aliases[i] = n->shipped.aliases[i];
    }
    n->options.aliases = n->aliases;
}

static void put_word(char *to, size_t size, const char *word)
{
    snprintf(to, size, "%s", word ? word : "");
}

static void describe(const naming *n, llmperf_engine *engine)
{
    const llmperf_engine_fit_options *o = &n->options;
    engine->alias_count = 0;
    for (int i = 0; n->aliases[i]; i++)
        put_word(engine->aliases[engine->alias_count++], sizeof *engine->aliases, n->aliases[i]);
    put_word(engine->source, sizeof engine->source, o->source);
    put_word(engine->licence, sizeof engine->licence, o->licence);
    put_word(engine->date, sizeof engine->date, o->date);
}

llmperf_status llmperf_fit_engine(const llmperf_runs *runs, const llmperf_spec_paths *paths,
                                  const llmperf_engine_fit_options *options,
                                  llmperf_engine **ret_engine, llmperf_error *error)
{
    NEEDS(runs && paths_are_sound(paths) && options && ret_engine, error);
    engine_rows *rows = calloc(1, sizeof *rows);
    llmperf_engine *engine = calloc(1, sizeof *engine);
    naming *names = calloc(1, sizeof *names);
    llmperf_status status = LLMPERF_OK;
    if (!rows || !engine || !names) {
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
        goto out;
    }
    name_engine(paths, options, names);
    status = engine_rows_build(runs, paths, &names->options, rows, engine->name, error);
    if (status == LLMPERF_OK)
        status = fit_rows(rows, &names->options, engine, error);
    if (status == LLMPERF_OK) {
        describe(names, engine);
        *ret_engine = engine;
        engine = NULL;
    }
out:
    engine_rows_free(rows);
    free(rows);
    llmperf_engine_free(engine);
    free(names);
    return status;
}
