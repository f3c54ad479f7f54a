/* SPDX-License-Identifier: MIT */
/*
 * The fit of one part of an engine profile: robust nonlinear least squares on log(predicted /
 * measured), each parameter held to a prior. Includes GSL, which is under the GPL, version 3 or
 * later; this file stays MIT, a binary with it is under the GPL.
 */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine_rows.h"
#include "engine_field.h"

enum { ITERATIONS = 20 };

/* What a row is worth against a prior: its spread, log. Rows of one publication share their errors,
 * so this is not the spread of repetitions. */
static const double ROW_DEVIATION = 0.1;
/* Residuals beyond this weigh less, as 1 / sqrt(1 + (r / soft)^2). */
static const double SOFT = 0.15;
static const double LEAST_LOG = 1e-12; /* logarithms of a parameter that is 0 */

/* ---- parameters: x = most / (1 + exp(-u)) where there is a most, else exp(u) ----------------------------- */

static bool is_capped(int k, double *ret_most)
{
    *ret_most = llmperf_engine_param_limits((llmperf_engine_param)k).most;
    return *ret_most <= 2; /* an efficiency */
}

static double natural(int k, double u, double *ret_slope)
{
    double most, x;
    if (!is_capped(k, &most)) {
        x = exp(fmin(fmax(u, -60), 60));
        x = fmin(x, most);
        *ret_slope = 1; /* d log(x) / du */
        return x;
    }
    x = most / (1 + exp(-u));
    *ret_slope = 1 - x / most;
    return fmax(x, 1e-6);
}

static double transformed(int k, double x)
{
    double most;
    if (!is_capped(k, &most))
        return log(fmax(x, LEAST_LOG));
    x = fmin(fmax(x, 1e-6), (1 - 1e-4) * most);
    return -log(most / x - 1);
}

/* ---- residuals and Jacobian -------------------------------------------------------------------------------- */

typedef struct engine_problem {
    const engine_rows *rows;
    const engine_row *const *row;
    size_t count;
    const llmperf_hw *hw;
    const engine_prior *prior;
    engine_form *form;
    double *weight;                          /* square roots, by row */
    double base[LLMPERF_ENGINE_PARAM_COUNT]; /* of what is not fitted */
    int free_count, free[ENGINE_FITTED];     /* parameters that say something on the part */
} engine_problem;

static void set_form(const engine_problem *p, const gsl_vector *u, double *slope, bool chain)
{
    double param[LLMPERF_ENGINE_PARAM_COUNT];
    memcpy(param, p->base, sizeof param);
    for (int i = 0; i < p->free_count; i++) {
        int k = p->free[i];
        param[k] = natural(k, gsl_vector_get(u, (size_t)i), &slope[k]);
    }
    engine_form_set(p->form, p->hw, param, chain);
}

static double prior_residual(const engine_problem *p, int k)
{
    return log(fmax(p->form->part.param[k], LEAST_LOG) / fmax(p->prior->param[k], LEAST_LOG)) /
           p->prior->deviation[k];
}

static int residuals(const gsl_vector *u, void *context, gsl_vector *f)
{
    const engine_problem *p = context;
    double slope[ENGINE_FITTED];
    set_form(p, u, slope, false);
    for (size_t i = 0; i < p->count; i++) {
        double t = engine_row_time(p->rows, p->row[i], p->form, NULL);
        double r = (log(t) - p->row[i]->log_time) / ROW_DEVIATION * p->weight[i];
        if (!isfinite(r))
            return GSL_EDOM;
        gsl_vector_set(f, i, r);
    }
    for (int i = 0; i < p->free_count; i++)
        gsl_vector_set(f, p->count + (size_t)i, prior_residual(p, p->free[i]));
    return GSL_SUCCESS;
}

static int jacobian(const gsl_vector *u, void *context, gsl_matrix *j)
{
    const engine_problem *p = context;
    double slope[ENGINE_FITTED], dlog[ENGINE_FITTED];
    set_form(p, u, slope, true);
    gsl_matrix_set_zero(j);
    for (size_t i = 0; i < p->count; i++) {
        engine_row_time(p->rows, p->row[i], p->form, dlog);
        for (int a = 0; a < p->free_count; a++) {
            int k = p->free[a];
            gsl_matrix_set(j, i, (size_t)a, dlog[k] * slope[k] / ROW_DEVIATION * p->weight[i]);
        }
    }
    for (int a = 0; a < p->free_count; a++) {
        int k = p->free[a];
        gsl_matrix_set(j, p->count + (size_t)a, (size_t)a, slope[k] / p->prior->deviation[k]);
    }
    return GSL_SUCCESS;
}

static bool reweigh(engine_problem *p, const gsl_vector *u)
{
    double slope[ENGINE_FITTED];
    set_form(p, u, slope, false);
    for (size_t i = 0; i < p->count; i++) {
        double r = log(engine_row_time(p->rows, p->row[i], p->form, NULL)) - p->row[i]->log_time;
        if (!isfinite(r))
            return false;
        p->weight[i] = pow(1 + r / SOFT * (r / SOFT), -0.25);
    }
    return true;
}

/* Covariance of log(parameter) from the Jacobian at u, prior included. */
static void covariance_of(engine_problem *p, const gsl_vector *u, gsl_matrix *j,
                          double ret[][LLMPERF_ENGINE_PARAM_COUNT])
{
    double slope[ENGINE_FITTED];
    const size_t n = (size_t)p->free_count;
    gsl_matrix *covariance = gsl_matrix_alloc(n, n);
    memset(ret, 0, sizeof *ret * ENGINE_FITTED);
    if (covariance && jacobian(u, p, j) == GSL_SUCCESS &&
        gsl_multifit_nlinear_covar(j, 0, covariance) == GSL_SUCCESS) {
        set_form(p, u, slope, false);
        for (size_t a = 0; a < n; a++)
            for (size_t b = 0; b < n; b++)
                ret[p->free[a]][p->free[b]] =
                    slope[p->free[a]] * slope[p->free[b]] * gsl_matrix_get(covariance, a, b);
    }
    if (covariance)
        gsl_matrix_free(covariance);
}

/* Rounds of trust region and reweighting from u on. */
static bool iterate(engine_problem *p, gsl_vector *u, int rounds,
                    double ret_covariance[][LLMPERF_ENGINE_PARAM_COUNT])
{
    const size_t params = (size_t)p->free_count, n = p->count + params;
    gsl_multifit_nlinear_fdf fdf = {
        .f = residuals, .df = jacobian, .n = n, .p = params, .params = p};
    gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
    how.solver = gsl_multifit_nlinear_solver_cholesky;
    how.scale = gsl_multifit_nlinear_scale_marquardt;
    gsl_multifit_nlinear_workspace *w =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, n, params);
    bool good = w != NULL;
    for (int round = 0; good && round < rounds; round++) {
        int info;
        good = reweigh(p, u) && gsl_multifit_nlinear_init(u, &fdf, w) == GSL_SUCCESS;
        if (!good)
            break;
        /* an end without progress is an end: the trust region never takes a worse point */
        gsl_multifit_nlinear_driver(ITERATIONS, 1e-4, 1e-6, 0, NULL, NULL, &info, w);
        gsl_vector_memcpy(u, gsl_multifit_nlinear_position(w));
        for (size_t a = 0; a < params; a++)
            good &= isfinite(gsl_vector_get(u, a)) != 0;
    }
    if (good)
        covariance_of(p, u, gsl_multifit_nlinear_jac(w), ret_covariance);
    if (w)
        gsl_multifit_nlinear_free(w);
    return good;
}

bool engine_solve(const engine_rows *rows, const engine_row *const *row, int64_t count,
                  const llmperf_hw *hw, const engine_prior *prior, int rounds,
                  double param[LLMPERF_ENGINE_PARAM_COUNT],
                  double ret_covariance[][LLMPERF_ENGINE_PARAM_COUNT])
{
    engine_problem p = {.rows = rows, .row = row, .count = (size_t)count, .hw = hw, .prior = prior};
    gsl_error_handler_t *handler = gsl_set_error_handler_off();
    for (int k = 0; k < ENGINE_FITTED; k++)
        if (engine_param_applies(hw, (llmperf_engine_param)k))
            p.free[p.free_count++] = k;
    gsl_vector *u = gsl_vector_alloc((size_t)p.free_count);
    p.form = calloc(1, sizeof *p.form);
    p.weight = malloc(((size_t)count + 1) * sizeof *p.weight);
    bool good = u && p.form && p.weight;
    if (good) {
        memcpy(p.base, param, sizeof p.base);
        for (int a = 0; a < p.free_count; a++)
            gsl_vector_set(u, (size_t)a, transformed(p.free[a], param[p.free[a]]));
        good = iterate(&p, u, rounds, ret_covariance);
    }
    if (good)
        for (int a = 0; a < p.free_count; a++) {
            double slope;
            param[p.free[a]] = natural(p.free[a], gsl_vector_get(u, (size_t)a), &slope);
        }
    if (u)
        gsl_vector_free(u);
    free(p.form);
    free(p.weight);
    gsl_set_error_handler(handler);
    return good;
}
