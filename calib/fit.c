/* SPDX-License-Identifier: MIT */
/*
 * The fit: robust nonlinear least squares on log(predicted / measured), where predicted is
 * time_op() itself and the Jacobian its gradient. Includes GSL, as fit_engine.c does alone
 * beside it: GSL is under the GPL, version 3 or later; this file stays MIT, a binary with it is under
 * the GPL.
 */
#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit_internal.h"
#include "calib_object.h"
#include "time_op.h"

enum {
    FREE_MAX = 16,
    WHY_MAX = 160,
    ROUNDS = 5,       /* of reweighting */
    ITERATIONS = 40,  /* of the trust region in a round */
    TRIAL_ROWS = 500, /* which parameters, which form */
    LEAST_ROWS = 4,
    ROWS_PER_PARAM = 2,       /* below, parameters are left out */
    ROWS_PER_REFINEMENT = 15, /* per parameter in all */
    ROWS_PER_CURVE_PARAM = 3, /* the same for a collective */
};

static const double LEAST_PROGRESS = 1e-3; /* of the sum of squares, in an iteration */
static const double SAME = 1e-3;           /* of two costs */
static const double HUBER = 1.0;           /* residuals beyond this many deviations weigh less */
static const double GROSS = 6;             /* beyond this many they hardly count */
static const double LEAST_DEVIATION = 1e-6;
static const double LEAST_SHARE = 1e-3; /* of some operator's time, for a term to be seen at all */
static const double LEAST_EFFICIENCY_SHARE = 0.05;   /* the same for what an efficiency scales */
static const double LARGEST_LOG_ERROR = 0.7;         /* standard error of log(parameter) */
static const double LARGEST_EFFICIENCY_ERROR = 0.35; /* of an efficiency, relative */
static const double MUCH_BETTER = 0.8;               /* of two costs */
static const double COST_MOST = 1; /* of a residual: a factor of e says no more than one of 4 */
static const double BETTER = 0.99; /* of two costs */
static const double LEAST_GAIN = 0.005; /* of the sum of squares, as promised by the score */
static const double DEPENDENT = 1e-9;   /* share of a slope that no other parameter explains */
static const double STEP_MOST = 1;      /* of a transformed parameter, when a fold is left out */
static const double FAR = 10;           /* of a transformed efficiency: at its bound but for 5e-5 */
static const double NEAR_ZERO = 30;     /* of the same, below: 1e-13 of its bound */
static const double STEEP = 40;         /* p beyond this is the maximum of the terms */

/* ---- the parameters of a kind ------------------------------------------------------------------------ */

typedef enum transform {
    LOGISTIC, /* 0 < x < most: x = most / (1 + exp(-u)) */
    POSITIVE, /* x = exp(u) */
    ABOVE,    /* x = least + exp(u) */
} transform;

typedef struct free_param {
    llmperf_param param;
    transform transform;
    double least, most;
    double start;
    double fallback; /* where the data cannot tell */
    bool refinement; /* beyond the plain form; given up first */
    bool later;      /* comes in when the others are there, if it makes the fit better */
} free_param;

typedef struct param_set {
    int count;
    free_param p[FREE_MAX];
} param_set;

static void add(param_set *set, llmperf_param param, transform kind, double least, double start,
                double fallback, bool refinement)
{
    double most = llmperf_param_limits(param).most;
    set->p[set->count++] =
        (free_param){param, kind, least, most, start, fallback, refinement, false};
}

/* Efficiencies that published measurements find typical, docs/calibration.md. */
static const double TYPICAL_COMPUTE = 0.8, TYPICAL_MEMORY = 0.85, TYPICAL_LINK = 0.8;

/* How long an attention item walks over its keys alone, at the beginning of a fit: it and a cache that
 * is split over the units are two valleys. */
typedef enum item_walk { NO_WALK, LONG_WALK, SHORT_WALK } item_walk;

/* What attention kernels do beyond the plain form. */
static void refine_attention(const fit_problem *problem, double t0, item_walk walk, param_set *set)
{
    const llmperf_calib_key *key = &problem->key;
    bool units = problem->hw->units > 0, decode = key->regime == LLMPERF_REGIME_DECODE;
    bool single =
        key->heads == LLMPERF_HEADS_SINGLE; /* one query head per KV head: no other item */
    if (units && !single)
        add(set, LLMPERF_PARAM_QUERY_WORK, POSITIVE, 0, 1e-7, 0, true);
    add(set, LLMPERF_PARAM_LOOP, POSITIVE, 0, 1e-6, 0, true);
    if (problem->many_sizes)
        add(set, LLMPERF_PARAM_HEAD, POSITIVE, 0, 0.2 * t0, 0, true);
    if (!decode) {
        add(set, LLMPERF_PARAM_FILL, POSITIVE, 0, 80, 0, true);
        add(set, LLMPERF_PARAM_SCORE, POSITIVE, 0, 30, 0, true);
        add(set, LLMPERF_PARAM_SETTLE, POSITIVE, 0, 0.1, 0, true);
    }
    if (units)
        add(set, LLMPERF_PARAM_FIRST, POSITIVE, 0, 1e-6, 0, true);
    add(set, LLMPERF_PARAM_SERIAL, POSITIVE, 0, walk == LONG_WALK ? 2e-5 : 1e-6, 0, true);
    set->p[set->count - 1].later = walk == NO_WALK;
    if (!decode)
        return;
    add(set, LLMPERF_PARAM_MERGE, POSITIVE, 0, 0.1 * t0, 0, true);
    if (units && problem->many_sizes)
        add(set, LLMPERF_PARAM_HEAD_WORK, POSITIVE, 0, 5e-7, 0, true);
    if (!single)
        add(set, LLMPERF_PARAM_REGROUP, POSITIVE, 0, 0.1 * t0, 0, true);
}

/* A prompt and decoding sequences in one launch: what it costs that no context is split. */
static void add_mixed(param_set *set, bool has_units)
{
    add(set, LLMPERF_PARAM_NORM, ABOVE, 0.3, 1.7, 2, false);
    add(set, LLMPERF_PARAM_TILE_ROWS, POSITIVE, 0, 60, 0, true);
    if (has_units) {
        add(set, LLMPERF_PARAM_UNSPLIT, POSITIVE, 0, 100, 0, true);
        add(set, LLMPERF_PARAM_QUERY_WORK, POSITIVE, 0, 3e-6, 0, true);
        add(set, LLMPERF_PARAM_IDLE_BLOCK, POSITIVE, 0, 3e-7, 0, true);
    }
    add(set, LLMPERF_PARAM_GROUP_READS, LOGISTIC, 0, 0.5, 0, true);
    add(set, LLMPERF_PARAM_FILL, POSITIVE, 0, 80, 0, true);
}

static const double SHARPEST = 7; /* within an octave: as sharp as sizes in octaves can tell */

/* Buffers at which libraries change their way, to start from; 0 = they do not. */
static const double LIMITS[] = {0, 512 << 10, 2 << 20, 8 << 20, 32 << 20};

static double largest_buffer(const fit_problem *problem)
{
    llmperf_collective collective = (llmperf_collective)problem->key.collective;
    double most = 0;
    for (int64_t i = 0; i < problem->count; i++) {
        const llmperf_op *op = &problem->row[i].op;
        double share = llmperf_collective_share(collective, (double)op->devices);
        most = fmax(most, op->link_bytes / share);
    }
    return most;
}

/* `form`: of LIMITS. */
static param_set params_of_collective(const fit_problem *problem, double t0, int form)
{
    const llmperf_calib_key *key = &problem->key;
    bool bus = llmperf_hw_link(problem->hw, 2) == &problem->hw->pcie;
    double limit = LIMITS[form], largest = largest_buffer(problem) / 16;
    param_set s = {0};
    add(&s, LLMPERF_PARAM_LINK, LOGISTIC, 0, 0.7, TYPICAL_LINK, false);
    add(&s, LLMPERF_PARAM_LAUNCH, POSITIVE, 0, t0, 0, false);
    add(&s, LLMPERF_PARAM_NORM, ABOVE, 0.2, limit > 0 ? 1 : 0.8, 1, false);
    if (problem->many_devices)
        add(&s, LLMPERF_PARAM_STEP, POSITIVE, 0, 0.1 * t0, 0, true);
    if (problem->many_devices && bus)
        add(&s, LLMPERF_PARAM_CROWD, POSITIVE, 0, 1, 0, true);
    if (limit == 0)
        return s;
    if (key->collective == LLMPERF_COLLECTIVE_ALL_REDUCE && key->devices != 2)
        add(&s, LLMPERF_PARAM_SECOND, POSITIVE, 0, t0, 0, true);
    add(&s, LLMPERF_PARAM_BULK, POSITIVE, 0, 5 * t0, 0, true);
    add(&s, LLMPERF_PARAM_LIMIT, LOGISTIC, 0, fmin(limit, largest / 2), limit, true);
    s.p[s.count - 1].most = largest; /* beyond, it is but a bend of the link's rate */
    add(&s, LLMPERF_PARAM_SHARP, LOGISTIC, 0, 1, 0, true);
    s.p[s.count - 1].most = SHARPEST;
    return s;
}

/* Memory whose speed changes tells its own limit from that of the units that take bytes in. */
static void add_memory(param_set *set, const fit_problem *problem, double start)
{
    add(set, LLMPERF_PARAM_MEMORY, LOGISTIC, 0, start, TYPICAL_MEMORY, false);
    if (problem->memory_moves)
        add(set, LLMPERF_PARAM_FEED, POSITIVE, 0, 0.8, 0, false);
}

/* `form`: of a collective, see above; of attention a walk; of a GEMM 1 = the k loop adds to the time
 * instead of running beside memory and compute. */
static param_set params_of(const fit_problem *problem, double least_time_s, int form)
{
    const llmperf_calib_key *key = &problem->key;
    bool refine = !problem->plain;
    double t0 = 0.6 * least_time_s;
    param_set s = {0};
    switch (key->kind) {
    case LLMPERF_KIND_COLLECTIVE:
        return params_of_collective(problem, t0, form);
    case LLMPERF_KIND_ELEMENTWISE:
    case LLMPERF_KIND_GATHER:
        add_memory(&s, problem, 0.7);
        add(&s, LLMPERF_PARAM_LAUNCH, POSITIVE, 0, t0, 0, false);
        return s;
    default:
        break;
    }
    add_memory(&s, problem, 0.8);
    if (key->gemv) { /* flop and bytes of one row are proportional: nothing tells them apart */
        add(&s, LLMPERF_PARAM_LAUNCH, POSITIVE, 0, t0, 0, false);
        return s;
    }
    add(&s, LLMPERF_PARAM_COMPUTE, LOGISTIC, 0, 0.7, TYPICAL_COMPUTE, false);
    add(&s, LLMPERF_PARAM_LAUNCH, POSITIVE, 0, t0, 0, false);
    if (key->experts) {
        add(&s, LLMPERF_PARAM_NORM, ABOVE, 1, 2, 2, false);
        add(&s, LLMPERF_PARAM_PASSES, POSITIVE, 0, 3, 0, true);
        if (refine) {
            add(&s, LLMPERF_PARAM_TILE, LOGISTIC, 0, 0.1, 0, true);
            add(&s, LLMPERF_PARAM_SETTLE, POSITIVE, 0, 0.1, 0, true);
        }
        return s;
    }
    if (key->kind == LLMPERF_KIND_GEMM) {
        add(&s, LLMPERF_PARAM_NORM, ABOVE, 1, 2, 2, false);
        add(&s, form == 1 ? LLMPERF_PARAM_LOOP : LLMPERF_PARAM_SERIAL, POSITIVE, 0, 2e-6, 0, true);
        if (refine) {
            add(&s, LLMPERF_PARAM_FILL, POSITIVE, 0, 80, 0, true);
            add(&s, LLMPERF_PARAM_TILE, LOGISTIC, 0, 0.3, 0, true);
            add(&s, LLMPERF_PARAM_SETTLE, POSITIVE, 0, 0.1, 0, true);
            add(&s, LLMPERF_PARAM_TALL, LOGISTIC, 0, 0.05, 0, true);
        }
        if (refine && llmperf_dtype_bits((llmperf_dtype)key->dtype) < 16)
            add(&s, LLMPERF_PARAM_PASSES, POSITIVE, 0, 1, 0, true);
        return s;
    }
    if (key->regime == LLMPERF_REGIME_MIXED) {
        add_mixed(&s, problem->hw->units > 0);
        return s;
    }
    add(&s, LLMPERF_PARAM_NORM, ABOVE, 0.3, 1.3, 1.2, false);
    if (problem->hw->units > 0)
        add(&s, LLMPERF_PARAM_WORK, POSITIVE, 0, refine ? 3e-6 : 1e-6, 0, true);
    if (refine)
        refine_attention(problem, t0, (item_walk)form, &s);
    return s;
}

static double natural(const free_param *p, double u, double *ret_slope)
{
    double x, slope;
    switch (p->transform) {
    case LOGISTIC:
        u = fmin(fmax(u, -NEAR_ZERO), FAR);
        x = p->most / (1 + exp(-u));
        slope = x / (1 + exp(u)); /* x (1 - x / most), without taking near numbers apart */
        break;
    case POSITIVE:
        x = slope = exp(u);
        break;
    default:
        slope = exp(u);
        x = p->least + slope;
    }
    if (x > p->most) { /* held at the bound */
        x = p->most;
        slope = 0;
    }
    if (x < 1e-300)
        x = 1e-300;
    if (ret_slope)
        *ret_slope = slope;
    return x;
}

static double transformed(const free_param *p, double x)
{
    switch (p->transform) {
    case LOGISTIC:
        x = fmin(fmax(x, 1e-6 * p->most), (1 - 1e-6) * p->most);
        return -log(p->most / x - 1);
    case POSITIVE:
        return log(fmax(x, 1e-12));
    default:
        return log(fmax(x - p->least, 1e-6));
    }
}

/* ---- one robust fit ------------------------------------------------------------------------------------ */

/* A fit in progress. */
typedef struct solver {
    const fit_problem *problem;
    param_set set;
    llmperf_calib *calib; /* entry[0] is what is fitted */
    /* those that the fit uses, the most different ones first; not owned */
    const fit_row *const *row;
    size_t whole;             /* how many */
    size_t count;             /* the first so many are looked at: trials see few */
    gsl_vector *u;            /* of the free parameters, transformed; size FREE_MAX */
    double *weight, *scratch; /* whole each */
    double deviation;         /* robust, of the residuals */
    double cost;              /* mean of |residual|, each at most COST_MOST */
    /* of the last point that was asked for: GSL asks again, and slopes come almost free with a time */
    bool known;
    double at[FREE_MAX];
    double *residual; /* count */
    double *slopes;   /* count x set.count: d residual / d u */
    /* look(): */
    double covariance[FREE_MAX][FREE_MAX]; /* of u, deviation included */
    double share[FREE_MAX];                /* largest |d log t / d log parameter| */
} solver;

static void put_params(const solver *s, const gsl_vector *u, double *slope)
{
    double *param = s->calib->entry[0].param;
    for (int i = 0; i < s->set.count; i++)
        param[s->set.p[i].param] =
            natural(&s->set.p[i], gsl_vector_get(u, (size_t)i), slope ? &slope[i] : NULL);
}

/* A slope where it has none: as if it were level. */
static double finite_or_0(double slope)
{
    return isfinite(slope) ? slope : 0;
}

/* Residuals and slopes at `u`, unless they are known. */
static int visit(solver *s, const gsl_vector *u)
{
    const size_t params = (size_t)s->set.count;
    double slope[FREE_MAX];
    llmperf_gradient g;
    for (size_t k = 0; k < params; k++) {
        s->known = s->known && s->at[k] == gsl_vector_get(u, k);
        s->at[k] = gsl_vector_get(u, k);
    }
    if (s->known)
        return GSL_SUCCESS;
    put_params(s, u, slope);
    for (size_t i = 0; i < s->count; i++) {
        double t = time_op(&s->row[i]->op, s->problem->hw, s->calib, NULL, &g);
        double r = log(t) - s->row[i]->log_time;
        if (!isfinite(r))
            return GSL_EDOM;
        s->residual[i] = r;
        for (size_t k = 0; k < params; k++)
            s->slopes[i * params + k] = finite_or_0(g.dlog[0][s->set.p[k].param] * slope[k]);
    }
    s->known = true;
    return GSL_SUCCESS;
}

/* What GSL calls. */
static int residuals(const gsl_vector *u, void *context, gsl_vector *f)
{
    solver *s = context;
    int status = visit(s, u);
    if (status != GSL_SUCCESS)
        return status;
    gsl_vector_const_view known = gsl_vector_const_view_array(s->residual, s->count);
    return gsl_vector_memcpy(f, &known.vector);
}

static int jacobian(const gsl_vector *u, void *context, gsl_matrix *j)
{
    solver *s = context;
    int status = visit(s, u);
    if (status != GSL_SUCCESS)
        return status;
    gsl_matrix_const_view known =
        gsl_matrix_const_view_array(s->slopes, s->count, (size_t)s->set.count);
    return gsl_matrix_memcpy(j, &known.matrix);
}

/* 1.4826 x the median of |r|. */
static double deviation_of(const double *r, size_t count, double *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = fabs(r[i]);
    return fmax(1.4826 * gsl_stats_median(scratch, 1, count), LEAST_DEVIATION);
}

/* Deviation, weights and cost of the residuals at hand. What is far off hardly counts beside others, but
 * keeps a weight: a parameter that only such rows can tell follows them. */
static void reweigh(solver *s)
{
    double sum = 0;
    s->deviation = deviation_of(s->residual, s->count, s->scratch);
    for (size_t i = 0; i < s->count; i++) {
        double r = fabs(s->residual[i]), near = HUBER * s->deviation, gross = GROSS * s->deviation;
        sum += fmin(r, COST_MOST);
        s->weight[i] = s->row[i]->weight * (r > near ? near / r : 1) *
                       (r > gross ? (gross / r) * (gross / r) : 1);
    }
    s->cost = sum / (double)s->count;
}

static double squares(const gsl_vector *v)
{
    double sum;
    gsl_blas_ddot(v, v, &sum);
    return sum;
}

/* Trust region from where `w` stands until the sum of squares falls by less than LEAST_PROGRESS of
 * itself. Running out of iterations or of progress (round-off) is an end as well: what counts is that
 * the sum did not grow, which the trust region sees to. */
static void descend(gsl_multifit_nlinear_workspace *w)
{
    double was = squares(gsl_multifit_nlinear_residual(w));
    for (int i = 0; i < ITERATIONS; i++) {
        if (gsl_multifit_nlinear_iterate(w) != GSL_SUCCESS)
            return;
        double now = squares(gsl_multifit_nlinear_residual(w));
        if (was - now <= LEAST_PROGRESS * now)
            return;
        was = now;
    }
}

/* Rounds of trust region and reweighting from s->u, until they change nothing. False: not finite, or
 * out of memory. */
static bool solve(solver *s, int rounds)
{
    const size_t n = s->count, p = (size_t)s->set.count;
    gsl_multifit_nlinear_fdf fdf = {.f = residuals, .df = jacobian, .n = n, .p = p, .params = s};
    gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
    how.solver = gsl_multifit_nlinear_solver_cholesky;
    how.scale = gsl_multifit_nlinear_scale_marquardt;
    gsl_multifit_nlinear_workspace *w =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, n, p);
    if (!w)
        return false;
    gsl_vector_view u = gsl_vector_subvector(s->u, 0, p);
    gsl_vector_const_view weight = gsl_vector_const_view_array(s->weight, n);
    s->known = false;
    bool good = visit(s, &u.vector) == GSL_SUCCESS;
    if (good)
        reweigh(s);
    for (int round = 0; good && round < rounds; round++) {
        double cost = s->cost, deviation = s->deviation;
        good = gsl_multifit_nlinear_winit(&u.vector, &weight.vector, &fdf, w) == GSL_SUCCESS;
        if (!good)
            break;
        descend(w);
        gsl_vector_memcpy(&u.vector, gsl_multifit_nlinear_position(w));
        for (size_t i = 0; i < p; i++)
            good &= isfinite(gsl_vector_get(&u.vector, i)) != 0;
        good = good && visit(s, &u.vector) == GSL_SUCCESS;
        if (!good)
            break;
        reweigh(s);
        if (fabs(s->cost - cost) <= SAME * cost &&
            fabs(s->deviation - deviation) <= SAME * deviation)
            break;
    }
    gsl_multifit_nlinear_free(w);
    return good;
}

/* The largest share of an operator's time that each parameter decides, over the rows that count. */
static void put_shares(solver *s)
{
    const size_t params = (size_t)s->set.count;
    for (size_t k = 0; k < params; k++) {
        double slope, most = 0;
        double x = natural(&s->set.p[k], gsl_vector_get(s->u, k), &slope);
        for (size_t i = 0; i < s->count; i++)
            if (s->weight[i] > 0)
                most = fmax(most, fabs(s->slopes[i * params + k]));
        s->share[k] = slope > 0 ? most / slope * x : INFINITY; /* held at its bound: seen */
    }
}

/* Covariance and shares where solve() ended. False: out of memory. */
static bool look(solver *s)
{
    const size_t n = s->count, p = (size_t)s->set.count;
    gsl_vector_view u = gsl_vector_subvector(s->u, 0, p);
    gsl_matrix *j = gsl_matrix_alloc(n, p), *cov = gsl_matrix_alloc(p, p);
    bool good = j && cov && jacobian(&u.vector, s, j) == GSL_SUCCESS;
    if (good) {
        put_shares(s);
        for (size_t i = 0; i < n; i++) {
            gsl_vector_view row = gsl_matrix_row(j, i);
            gsl_vector_scale(&row.vector, sqrt(s->weight[i]));
        }
        good = gsl_multifit_nlinear_covar(j, 0, cov) == GSL_SUCCESS;
    }
    /* of all rows, as far as some can tell */
    double variance = s->deviation * s->deviation * ((double)n / (double)s->whole);
    for (size_t a = 0; good && a < p; a++)
        for (size_t b = 0; b < p; b++)
            s->covariance[a][b] = variance * gsl_matrix_get(cov, a, b);
    if (j)
        gsl_matrix_free(j);
    if (cov)
        gsl_matrix_free(cov);
    return good;
}

/* ---- what the data cannot tell -------------------------------------------------------------------------- */

typedef struct doubt {
    int at;        /* index of the free parameter; -1 = none */
    double weight; /* the larger the sooner it is fixed */
    double value;  /* to fix it at */
    bool bound;
    char why[96];
} doubt;

/* Is parameter `i` one that these samples cannot tell? */
static bool doubtful(const solver *s, int i, doubt *ret)
{
    const free_param *p = &s->set.p[i];
    double slope, x = natural(p, gsl_vector_get(s->u, (size_t)i), &slope);
    double error = sqrt(fmax(0, s->covariance[i][i])); /* of u */
    doubt d = {.at = i, .value = p->fallback};
    bool efficiency = p->transform == LOGISTIC && !p->refinement;
    bool norm = p->param == LLMPERF_PARAM_NORM;
    if (norm && x > STEEP) {
        d.weight = 1e6;
        d.value = INFINITY;
        snprintf(d.why, sizeof d.why, "only the largest term counts");
    } else if (!norm && s->share[i] < (efficiency ? LEAST_EFFICIENCY_SHARE : LEAST_SHARE)) {
        d.weight = p->refinement ? 1e5 : 1e13; /* before refinements that are seen */
        snprintf(d.why, sizeof d.why, "not seen in these samples");
    } else if (p->transform == LOGISTIC && x > 0.995 * p->most) {
        d.weight = 1e6;
        d.value = p->most;
        d.bound = true;
        snprintf(d.why, sizeof d.why, "at its upper bound");
    } else if (p->transform != LOGISTIC && x >= p->most) {
        d.weight = 1e6;
        d.bound = true;
        snprintf(d.why, sizeof d.why, "at its upper bound");
    } else if (efficiency ? error * slope > LARGEST_EFFICIENCY_ERROR * x
                          : error * slope > LARGEST_LOG_ERROR * x) {
        /* an efficiency that is off by a third, a time that is off by half says nothing */
        d.weight = error * slope / x;
        snprintf(d.why, sizeof d.why, "these samples leave it open by %.0f %%",
                 fmin(999, 100 * error * slope / x));
    } else if (error == 0) {
        d.weight = 1e4; /* the covariance gave it up as dependent on others */
        snprintf(d.why, sizeof d.why, "not to be told from the others");
    } else {
        return false;
    }
    if (p->refinement)
        d.weight *= 1e9; /* given up before the plain form is */
    *ret = d;
    return true;
}

/* The parameter that these samples tell least, at -1 = they tell all. False: out of memory. */
static bool worst_of(solver *s, doubt *ret_worst)
{
    doubt worst = {.at = -1};
    if (!look(s))
        return false;
    for (int i = 0; i < s->set.count; i++) {
        doubt d;
        if (doubtful(s, i, &d) && d.weight > worst.weight)
            worst = d;
    }
    *ret_worst = worst;
    return true;
}

static void remark(char *remarks, const char *format, ...) LLMPERF_PRINTF(2, 3);
static void remark(char *remarks, const char *format, ...)
{
    size_t used = strlen(remarks);
    va_list arguments;
    if (used + 4 >= LLMPERF_TEXT_MAX)
        return;
    if (used > 0) {
        memcpy(remarks + used, "; ", 3);
        used += 2;
    }
    va_start(arguments, format);
    vsnprintf(remarks + used, LLMPERF_TEXT_MAX - used, format, arguments);
    va_end(arguments);
}

/* Takes a parameter out of the fit and sets it. */
static void fix(solver *s, const doubt *d)
{
    s->calib->entry[0].param[s->set.p[d->at].param] = d->value;
    for (int i = d->at; i + 1 < s->set.count; i++) {
        s->set.p[i] = s->set.p[i + 1];
        gsl_vector_set(s->u, (size_t)i, gsl_vector_get(s->u, (size_t)i + 1));
    }
    s->set.count--;
}

static void start(solver *s)
{
    for (int i = 0; i < LLMPERF_PARAM_COUNT; i++)
        s->calib->entry[0].param[i] = llmperf_param_neutral((llmperf_param)i);
    if (s->problem->key.kind == LLMPERF_KIND_COLLECTIVE)
        s->calib->entry[0].param[LLMPERF_PARAM_NORM] = 1;
    for (int i = 0; i < s->set.count; i++)
        gsl_vector_set(s->u, (size_t)i, transformed(&s->set.p[i], s->set.p[i].start));
}

/* Fewer samples than parameters can bear: the last refinements go, then the plain ones. */
static void thin_out(solver *s, char *remarks)
{
    int had = s->set.count;
    for (int i = s->set.count - 1; i >= 0; i--) {
        /* sizes of one buffer are a curve, with little noise and no shapes to tell apart */
        size_t refinement = s->problem->key.kind == LLMPERF_KIND_COLLECTIVE ? ROWS_PER_CURVE_PARAM
                                                                            : ROWS_PER_REFINEMENT;
        size_t each = s->set.p[i].refinement ? refinement : ROWS_PER_PARAM;
        if (s->whole >= each * (size_t)s->set.count)
            continue;
        doubt d = {.at = i, .value = s->set.p[i].fallback};
        fix(s, &d);
    }
    if (s->set.count < had)
        remark(remarks, "%d of %d parameters left out: %zu samples", had - s->set.count, had,
               s->whole);
}

/* A norm that the samples leave open was fixed at its usual value. They may agree much better at the
 * maximum of the terms, as where a roof is sharp, or at `found`, the value that it had. */
static bool try_other_norms(solver *s, double usual, double found, char why[WHY_MAX])
{
    double *norm = &s->calib->entry[0].param[LLMPERF_PARAM_NORM];
    double cost = s->cost;
    *norm = INFINITY;
    if (solve(s, 3) && s->cost < MUCH_BETTER * cost) {
        snprintf(why, WHY_MAX, "norm fixed at max: fits better than %.3g", usual);
        return true;
    }
    *norm = found;
    if (found > usual && solve(s, 3) && s->cost < MUCH_BETTER * cost) {
        snprintf(why, WHY_MAX, "norm held at %.3g: fits better than %.3g", found, usual);
        return true;
    }
    *norm = usual;
    return solve(s, 3);
}

/* Parameters that were taken out, and what to say of each. */
typedef struct dropped {
    int count;
    free_param p[FREE_MAX];
    char why[FREE_MAX][WHY_MAX];
} dropped;

static bool drop(solver *s, const doubt *d, dropped *out)
{
    free_param p = s->set.p[d->at];
    const char *name = llmperf_param_name(p.param);
    bool is_open = p.param == LLMPERF_PARAM_NORM && isfinite(d->value);
    char *why = out->why[out->count];
    if (p.refinement && !d->bound)
        snprintf(why, WHY_MAX, "no %s", name);
    else if (isinf(d->value))
        snprintf(why, WHY_MAX, "%s fixed at max: %s", name, d->why);
    else
        snprintf(why, WHY_MAX, "%s fixed at %.3g: %s", name, d->value, d->why);
    out->p[out->count++] = p;
    double found = natural(&p, gsl_vector_get(s->u, (size_t)d->at), NULL);
    fix(s, d);
    return solve(s, 3) && (!is_open || try_other_norms(s, d->value, found, why));
}

/* Takes out what comes later. */
static void put_off(solver *s, dropped *out)
{
    for (int i = s->set.count - 1; i >= 0; i--) {
        free_param p = s->set.p[i];
        if (!p.later)
            continue;
        doubt d = {.at = i, .value = p.fallback};
        snprintf(out->why[out->count], WHY_MAX, "no %s", llmperf_param_name(p.param));
        out->p[out->count++] = p;
        fix(s, &d);
    }
}

/* Takes one parameter back in; false: the fit is no better for it, and nothing has changed. */
static bool take_back(solver *s, const free_param *p)
{
    solver was = *s;
    double u[FREE_MAX];
    llmperf_calib_entry entry = s->calib->entry[0];
    for (size_t i = 0; i < FREE_MAX; i++)
        u[i] = gsl_vector_get(s->u, i);
    gsl_vector_set(s->u, (size_t)s->set.count, transformed(p, p->start));
    s->set.p[s->set.count++] = *p;
    doubt worst;
    if (solve(s, ROUNDS) && s->cost < BETTER * was.cost && worst_of(s, &worst) && worst.at < 0)
        return true;
    *s = was;
    s->known = false;
    s->calib->entry[0] = entry;
    for (size_t i = 0; i < FREE_MAX; i++)
        gsl_vector_set(s->u, i, u[i]);
    return false;
}

/* Sums over the rows for promising(): of what is fitted, d = slope by a parameter that is not. */
typedef struct score {
    double dd, dr;       /* sum w d^2, sum w d r */
    double db[FREE_MAX]; /* sum w d slope[k] */
    bool flat;           /* d is 0 throughout */
} score;

/* Where a parameter stands that was taken out: it can rise only, fall only, or both. */
typedef enum stand { AT_ZERO, AT_MOST, INSIDE } stand;

/* From Rao's score: may taking a parameter in lower the sum of squares `rr` enough to be worth a trial?
 * d less what the fitted parameters make of it falls by (d r)^2 / d^2. `chol`: of the fitted ones'
 * normal equations. */
static bool may_gain(const score *one, stand at, const gsl_matrix *chol, double rr)
{
    const size_t p = chol->size1;
    double by_others[FREE_MAX];
    gsl_vector_const_view b = gsl_vector_const_view_array(one->db, p);
    gsl_vector_view x = gsl_vector_view_array(by_others, p);
    if (one->flat) /* as a term inside the norm is at 0: nothing can be said */
        return at != INSIDE;
    if (at == AT_ZERO ? one->dr >= 0 : at == AT_MOST && one->dr <= 0)
        return false;
    if (gsl_linalg_cholesky_solve(chol, &b.vector, &x.vector) != GSL_SUCCESS)
        return true;
    double dd = one->dd;
    for (size_t k = 0; k < p; k++)
        dd -= one->db[k] * by_others[k];
    return dd > DEPENDENT * one->dd && one->dr * one->dr / dd > LEAST_GAIN * rr;
}

/* Which of the parameters that were taken out are worth a trial, from one pass over the rows. */
static void promising(solver *s, const dropped *out, bool ret_worth[FREE_MAX])
{
    const size_t p = (size_t)s->set.count;
    const double *param = s->calib->entry[0].param;
    score of[FREE_MAX] = {0};
    double normal[FREE_MAX * FREE_MAX] = {0}, slope[FREE_MAX], b[FREE_MAX], rr = 0;
    gsl_matrix_view a = gsl_matrix_view_array(normal, p, p);
    put_params(s, s->u, slope);
    for (int c = 0; c < out->count; c++)
        of[c].flat = true;
    for (size_t i = 0; i < s->count; i++) {
        llmperf_gradient g;
        double t = time_op(&s->row[i]->op, s->problem->hw, s->calib, NULL, &g);
        double r = log(t) - s->row[i]->log_time, w = s->weight[i];
        rr += w * r * r;
        for (size_t k = 0; k < p; k++)
            b[k] = finite_or_0(g.dlog[0][s->set.p[k].param] * slope[k]);
        for (size_t k = 0; k < p; k++)
            for (size_t m = 0; m <= k; m++)
                normal[k * p + m] += w * b[k] * b[m];
        for (int c = 0; c < out->count; c++) {
            double d = finite_or_0(g.dlog[0][out->p[c].param]);
            of[c].flat &= d == 0;
            of[c].dd += w * d * d;
            of[c].dr += w * d * r;
            for (size_t k = 0; k < p; k++)
                of[c].db[k] += w * d * b[k];
        }
    }
    bool good = gsl_linalg_cholesky_decomp1(&a.matrix) == GSL_SUCCESS;
    for (int c = 0; c < out->count; c++) {
        double x = param[out->p[c].param];
        stand at = x <= 0 ? AT_ZERO : x >= out->p[c].most ? AT_MOST : INSIDE;
        ret_worth[c] = !good || may_gain(&of[c], at, &a.matrix, rr);
    }
}

/* What looked open while others were still far off may be plain to see now. */
static void look_again(solver *s, dropped *out)
{
    bool worth[FREE_MAX];
    promising(s, out, worth);
    for (int i = out->count - 1; i >= 0; i--) {
        if (out->p[i].param == LLMPERF_PARAM_NORM || !worth[i] || !take_back(s, &out->p[i]))
            continue;
        out->count--;
        memmove(&out->p[i], &out->p[i + 1], (size_t)(out->count - i) * sizeof *out->p);
        memmove(&out->why[i], &out->why[i + 1], (size_t)(out->count - i) * sizeof *out->why);
        promising(s, out, worth);
    }
}

/* Find a parameter that the data cannot tell, fix it, fit again. */
static bool give_up(solver *s, dropped *out, bool *ret_at_bound)
{
    doubt d;
    while (worst_of(s, &d)) {
        if (d.at < 0 || s->set.count == 1)
            return true;
        *ret_at_bound |= d.bound;
        if (!drop(s, &d, out))
            return false;
    }
    return false;
}

static void say(const dropped *out, char *remarks)
{
    for (int i = 0; i < out->count; i++)
        remark(remarks, "%s", out->why[i]);
}

/* A fit of those parameters that the data can tell. */
static bool settle(solver *s, dropped *out, char *remarks, bool *ret_at_bound)
{
    *ret_at_bound = false;
    start(s);
    thin_out(s, remarks);
    put_off(s, out);
    if (s->set.count == 0 || !solve(s, ROUNDS))
        return false;
    if (!give_up(s, out, ret_at_bound))
        return false;
    look_again(s, out);
    say(out, remarks);
    return true;
}

/* All rows with the parameters that were found. More rows may still leave one of them open. */
static bool finish(solver *s, char *remarks, bool *ret_at_bound)
{
    dropped out = {0};
    if (s->count == s->whole)
        return true;
    s->count = s->whole;
    if (!solve(s, ROUNDS) || !give_up(s, &out, ret_at_bound))
        return false;
    say(&out, remarks);
    return true;
}

/* ---- which rows ----------------------------------------------------------------------------------------- */

typedef struct pick {
    uint64_t cell, order;
    int64_t rank;
    const fit_row *row;
} pick;

static int by_cell(const void *a, const void *b)
{
    const pick *x = a, *y = b;
    if (x->cell != y->cell)
        return x->cell < y->cell ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int by_rank(const void *a, const void *b)
{
    const pick *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static int octave(double x)
{
    return x > 0 ? (int)floor(log2(x)) : -1;
}

/*
 * At most problem->points rows, spread over the shapes: the space of shapes is cut into cells of an
 * octave a side; every cell gives one row before any gives a second. The choice is by hash: the same
 * rows for the same samples.
 */
static size_t choose_rows(const fit_problem *problem, const fit_row **ret_row)
{
    int64_t most = problem->points < problem->count ? problem->points : problem->count;
    pick *all = malloc((size_t)problem->count * sizeof *all);
    if (!all)
        return 0;
    for (int64_t i = 0; i < problem->count; i++) {
        const llmperf_op *op = &problem->row[i].op;
        const int cell[] = {octave(op->m),          octave(op->n),        octave(op->k),
                            octave(op->sequences),  octave(op->heads),    octave(op->query_tokens),
                            octave(op->kv_heads),   octave(op->head_dim), octave(op->bytes),
                            octave(op->link_bytes), (int)op->devices};
        all[i] = (pick){.cell = fit_hash(FIT_HASH_START, cell, sizeof cell),
                        .order = fit_hash_op(FIT_HASH_START, op),
                        .row = &problem->row[i]};
        if (op->regime == LLMPERF_REGIME_MIXED) {
            const int mixed[] = {octave(op->past_tokens), octave(op->lone_sequences),
                                 octave(op->lone_past), octave(op->longest_keys)};
            all[i].cell = fit_hash(all[i].cell, mixed, sizeof mixed);
        }
        all[i].order ^= all[i].order >> 29;
    }
    qsort(all, (size_t)problem->count, sizeof *all, by_cell);
    for (int64_t i = 1; i < problem->count; i++)
        all[i].rank = all[i].cell == all[i - 1].cell ? all[i - 1].rank + 1 : 0;
    qsort(all, (size_t)problem->count, sizeof *all, by_rank);
    for (int64_t i = 0; i < most; i++)
        ret_row[i] = all[i].row;
    free(all);
    return (size_t)most;
}

/* ---- a solver --------------------------------------------------------------------------------------------- */

/* `row`: as chosen; they outlive the solver. */
static bool solver_open(solver *s, const fit_problem *problem, const fit_row *const *row,
                        size_t count)
{
    memset(s, 0, sizeof *s);
    s->problem = problem;
    s->row = row;
    s->whole = count;
    s->count = count < TRIAL_ROWS ? count : TRIAL_ROWS;
    s->weight = malloc(count * sizeof *s->weight);
    s->scratch = malloc(count * sizeof *s->scratch);
    s->residual = malloc(count * sizeof *s->residual);
    s->slopes = malloc(count * FREE_MAX * sizeof *s->slopes);
    s->u = gsl_vector_alloc(FREE_MAX);
    s->calib = malloc(sizeof *s->calib);
    if (!s->weight || !s->scratch || !s->residual || !s->slopes || !s->u || !s->calib)
        return false;
    llmperf_calib_entry entry = {.key = problem->key};
    fit_calib_of(&entry, s->calib);
    return true;
}

static void solver_close(solver *s)
{
    free(s->weight);
    free(s->scratch);
    free(s->residual);
    free(s->slopes);
    free(s->calib);
    if (s->u)
        gsl_vector_free(s->u);
}

/* ---- shapes left out ------------------------------------------------------------------------------------ */

/* Normal equations: of some rows, at the parameters of the whole fit. */
typedef struct normal {
    double a[FREE_MAX * FREE_MAX]; /* sum w slope slope^T, p x p */
    double b[FREE_MAX];            /* sum w slope residual */
} normal;

static void add_row(normal *to, const double *slopes, size_t p, double residual, double weight)
{
    for (size_t k = 0; k < p; k++) {
        double d = weight * slopes[k];
        to->b[k] += d * residual;
        for (size_t m = 0; m < p; m++)
            to->a[k * p + m] += d * slopes[m];
    }
}

/* The parameters without the rows of a fold: one Gauss-Newton step from the whole fit, where a fit of
 * the other rows would begin and nearly end. False: they cannot tell without it. */
static bool step_without(const normal *whole, const normal *fold, gsl_vector *u, size_t p)
{
    normal rest;
    gsl_matrix_view a = gsl_matrix_view_array(rest.a, p, p);
    gsl_vector_view b = gsl_vector_view_array(rest.b, p);
    for (size_t k = 0; k < p; k++) {
        rest.b[k] = whole->b[k] - fold->b[k];
        for (size_t m = 0; m < p; m++)
            rest.a[k * p + m] = whole->a[k * p + m] - fold->a[k * p + m];
    }
    if (gsl_linalg_cholesky_decomp1(&a.matrix) != GSL_SUCCESS ||
        gsl_linalg_cholesky_svx(&a.matrix, &b.vector) != GSL_SUCCESS)
        return false;
    for (size_t k = 0; k < p; k++)
        gsl_vector_set(u, k, gsl_vector_get(u, k) - fmin(fmax(rest.b[k], -STEP_MOST), STEP_MOST));
    return true;
}

/* Sum of |predicted / measured - 1| over the rows of a fold. */
static double fold_error(const solver *s, int fold, int64_t *ret_rows)
{
    double sum = 0;
    for (size_t i = 0; i < s->count; i++) {
        const fit_row *r = s->row[i];
        if (r->fold != fold)
            continue;
        double t = time_op(&r->op, s->problem->hw, s->calib, NULL, NULL);
        sum += fabs(t / exp(r->log_time) - 1);
        ++*ret_rows;
    }
    return sum;
}

/* Mean |predicted / measured - 1| over groups that a fit did not see; NAN: no folds, or no memory. */
static double left_out(solver *s)
{
    const size_t p = (size_t)s->set.count;
    const int folds = s->problem->folds;
    double sum = 0;
    int64_t scored = 0;
    gsl_vector_view own = gsl_vector_subvector(s->u, 0, p);
    gsl_vector *u = gsl_vector_alloc(p);
    normal whole = {0}, *of = calloc((size_t)folds, sizeof *of);
    if (!u || !of || visit(s, &own.vector) != GSL_SUCCESS)
        goto out;
    for (size_t i = 0; i < s->count; i++) {
        add_row(&whole, &s->slopes[i * p], p, s->residual[i], s->weight[i]);
        add_row(&of[s->row[i]->fold], &s->slopes[i * p], p, s->residual[i], s->weight[i]);
    }
    for (int fold = 0; fold < folds; fold++) {
        gsl_vector_memcpy(u, &own.vector);
        if (!step_without(&whole, &of[fold], u, p))
            continue;
        put_params(s, u, NULL);
        sum += fold_error(s, fold, &scored);
    }
    put_params(s, &own.vector, NULL);
out:
    free(of);
    if (u)
        gsl_vector_free(u);
    return scored > 0 ? sum / (double)scored : NAN;
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

/* Covariance of the natural parameters, and which were fitted. */
static void put_result(const solver *s, llmperf_calib_entry *entry)
{
    double slope[FREE_MAX];
    memcpy(entry->param, s->calib->entry[0].param, sizeof entry->param);
    memset(entry->covariance, 0, sizeof entry->covariance);
    entry->fitted = 0;
    for (int i = 0; i < s->set.count; i++) {
        natural(&s->set.p[i], gsl_vector_get(s->u, (size_t)i), &slope[i]);
        entry->fitted |= UINT64_C(1) << s->set.p[i].param;
    }
    for (int a = 0; a < s->set.count; a++)
        for (int b = 0; b < s->set.count; b++)
            entry->covariance[s->set.p[a].param][s->set.p[b].param] =
                (s->covariance[a][b] + s->covariance[b][a]) / 2 * (slope[a] * slope[b]);
}

static double least_time(const fit_problem *problem)
{
    double least = INFINITY;
    for (int64_t i = 0; i < problem->count; i++)
        least = fmin(least, problem->row[i].log_time);
    return exp(least);
}

/* Beginnings that are tried, for params_of(): first .. first + count - 1; the one that agrees best
 * stays. */
typedef struct forms {
    int first, count;
} forms;

static forms forms_of(const fit_problem *problem)
{
    const llmperf_calib_key *key = &problem->key;
    const forms one = {0, 1};
    if (problem->plain)
        return one;
    if (key->kind == LLMPERF_KIND_COLLECTIVE)
        return (forms){0, sizeof LIMITS / sizeof *LIMITS};
    if (key->kind == LLMPERF_KIND_ATTENTION) {
        if (problem->count < 50 || key->regime == LLMPERF_REGIME_MIXED)
            return one;
        /* decoding walks: over all measurements at hand beginning without led nowhere else */
        return key->regime == LLMPERF_REGIME_DECODE ? (forms){LONG_WALK, 2} : (forms){NO_WALK, 3};
    }
    bool gemm = key->kind == LLMPERF_KIND_GEMM && !key->gemv && !key->experts;
    return gemm && problem->count >= 150 ? (forms){0, 2} : one;
}

/* Of two fits that agree alike the one with all parameters inside their bounds is physics. */
static bool is_better(const solver *a, bool a_at_bound, const solver *b, bool b_at_bound)
{
    static const double AT_BOUND = 1.05;
    return a->cost * (a_at_bound ? AT_BOUND : 1) < b->cost * (b_at_bound ? AT_BOUND : 1);
}

/* One beginning, and where it led. */
typedef struct attempt {
    solver s;
    dropped out;
    char remarks[LLMPERF_TEXT_MAX];
    bool at_bound, found, out_of_memory;
} attempt;

enum { FORMS_MAX = 5 };

typedef struct attempts {
    const fit_problem *problem;
    const fit_row *const *row;
    size_t count;
    double least_time_s;
    forms forms;
    attempt of[FORMS_MAX];
} attempts;

static void try_form(void *context, int i)
{
    attempts *all = context;
    attempt *one = &all->of[i];
    one->out_of_memory = !solver_open(&one->s, all->problem, all->row, all->count);
    if (one->out_of_memory)
        return;
    one->s.set = params_of(all->problem, all->least_time_s, all->forms.first + i);
    one->found = settle(&one->s, &one->out, one->remarks, &one->at_bound);
}

/* The attempt that agrees best; NULL = none. */
static attempt *best_of(attempts *all)
{
    attempt *best = NULL;
    for (int i = 0; i < all->forms.count; i++) {
        attempt *one = &all->of[i];
        if (one->found && (!best || is_better(&one->s, one->at_bound, &best->s, best->at_bound)))
            best = one;
    }
    return best;
}

static llmperf_status solve_rows(const fit_problem *problem, const fit_row *const *row,
                                 size_t count, llmperf_calib_entry *entry, bool *ret_at_bound,
                                 llmperf_error *error)
{
    bool out_of_memory = false;
    attempts *all = calloc(1, sizeof *all);
    if (!all)
        return llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    all->problem = problem;
    all->row = row;
    all->count = count;
    all->least_time_s = least_time(problem);
    all->forms = forms_of(problem);
    fit_spread(problem->jobs, all->forms.count, try_form, all);
    for (int i = 0; i < all->forms.count; i++)
        out_of_memory |= all->of[i].out_of_memory;
    attempt *best = best_of(all);
    llmperf_status status = LLMPERF_OK;
    if (out_of_memory) {
        status = llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    } else if (!best || !finish(&best->s, best->remarks, &best->at_bound)) {
        status = llmperf_fail(error, LLMPERF_E_FIT, "the fit did not converge");
    } else {
        double error_left_out = problem->folds > 1 ? left_out(&best->s) : NAN;
        entry->quality.left_out_frac = isnan(error_left_out) ? 0 : error_left_out;
        entry->quality.points = (int64_t)count;
        snprintf(entry->remarks, sizeof entry->remarks, "%s", best->remarks);
        *ret_at_bound = best->at_bound;
        put_result(&best->s, entry);
    }
    for (int i = 0; i < all->forms.count; i++)
        solver_close(&all->of[i].s);
    free(all);
    return status;
}

static llmperf_status solve_all(const fit_problem *problem, llmperf_calib_entry *entry,
                                bool *ret_at_bound, llmperf_error *error)
{
    const fit_row **row = malloc((size_t)problem->count * sizeof *row);
    size_t count = row ? choose_rows(problem, row) : 0;
    llmperf_status status = count > 0 ? solve_rows(problem, row, count, entry, ret_at_bound, error)
                                      : llmperf_fail(error, LLMPERF_E_MEMORY, "out of memory");
    free(row);
    return status;
}

fit_handler *fit_begin(void)
{
    return (fit_handler *)gsl_set_error_handler_off();
}

void fit_end(fit_handler *begun)
{
    gsl_set_error_handler((gsl_error_handler_t *)begun);
}

llmperf_status fit_solve(const fit_problem *problem, llmperf_calib_entry *entry, bool *ret_at_bound,
                         llmperf_error *error)
{
    if (problem->count < LEAST_ROWS)
        return llmperf_fail(error, LLMPERF_E_FIT, "%lld usable samples; at least %d are needed",
                            (long long)problem->count, LEAST_ROWS);
    return solve_all(problem, entry, ret_at_bound, error);
}
