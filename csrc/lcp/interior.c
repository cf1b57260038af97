#include "lcp/interior.h"
#include "lcp/lcp_tuning.h"

#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "lcp/optimality.h"
#include "lcp/polish.h"

/* Residuals, over the proved quantity, that a proof of no solution may leave: while the search
 * makes progress, and at its end. */
static const double strict_proof = 1e-9, last_proof = 1e-6;

void qp_interior_carve(struct qp_interior *w, struct sap_arena *arena,
                       const struct qp_sizes *most) {
  const size_t n = (size_t)most->n;
  const size_t rows = (size_t)most->n_equalities + (size_t)most->n_inequalities + 2 * n;
  double **const by_column[] = {&w->x,   &w->r_x, &w->Hx, &w->Rl,    &w->x_2,
                                &w->x_1, &w->dx,  &w->f,  &w->best_x};
  double **const by_row[] = {&w->s,  &w->l,  &w->r_s, &w->l_2,    &w->l_1,
                             &w->dl, &w->ds, &w->h,   &w->target, &w->best_l};
  for (size_t i = 0; i < sizeof by_column / sizeof *by_column; ++i) {
    *by_column[i] = sap_arena_take(arena, n, sizeof(double));
  }
  for (size_t i = 0; i < sizeof by_row / sizeof *by_row; ++i) {
    *by_row[i] = sap_arena_take(arena, rows, sizeof(double));
  }
}

/* ---- residuals ---- */

static void evaluate(struct qp_interior *w) {
  const struct qp_program *p = w->program;
  memset(w->Hx, 0, (size_t)p->n * sizeof(double));
  memset(w->Rl, 0, (size_t)p->n * sizeof(double));
  qp_add_hessian(p, 1, w->x, w->Hx);
  qp_add_rows(p, 1, w->l, w->Rl);
  for (int32_t i = 0; i < p->n; ++i) {
    w->r_x[i] = w->Hx[i] - w->Rl[i] + w->tau * p->g[i];
  }
  qp_rows(p, w->x, w->r_s);
  for (int32_t i = 0; i < p->n_rows; ++i) {
    w->r_s[i] -= w->s[i] + w->tau * p->r[i];
  }
  w->r_tau = qp_dot(p->n, p->g, w->x) - qp_dot(p->n_rows, p->r, w->l) +
             qp_dot(p->n, w->x, w->Hx) / w->tau + w->kappa;
  w->mu = (qp_dot(p->n_rows, w->s, w->l) + w->tau * w->kappa) / (w->n_inequalities + 1);
}

/* Sets x_1, l_1 to the iterate over tau; returns its relative residual by evaluate()'s results. */
static double iterate_over_tau(struct qp_interior *w) {
  const struct qp_program *p = w->program;
  double *Hx = w->f, *Rl = w->dx, *rows = w->h;
  for (int32_t i = 0; i < p->n; ++i) {
    w->x_1[i] = w->x[i] / w->tau;
    Hx[i] = w->Hx[i] / w->tau;
    Rl[i] = w->Rl[i] / w->tau;
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    w->l_1[i] = w->l[i] / w->tau;
    rows[i] = (w->r_s[i] + w->s[i]) / w->tau + p->r[i];
  }
  return qp_optimality(p, w->x_1, w->l_1, Hx, Rl, rows);
}

/* Does l prove that R x >= r has no solution: R^T l = 0, r^T l > 0, beyond round-off? */
static int proves_infeasible(const struct qp_interior *w, double proof) {
  const struct qp_program *p = w->program;
  const double by = qp_dot(p->n_rows, p->r, w->l);
  double terms = 0;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    terms += fabs(p->r[i] * w->l[i]);
  }
  return by > qp_round_off * terms && qp_largest(w->program->n, w->Rl) <= proof * by;
}

/* Is x a direction of R x >= 0 along which the cost falls without end: H x = 0, g^T x < 0? */
static int proves_unbounded(struct qp_interior *w, double proof) {
  const struct qp_program *p = w->program;
  const double by = -qp_dot(p->n, p->g, w->x);
  if (!(by > 0) || qp_largest(p->n, w->Hx) > proof * by) {
    return 0;
  }
  qp_rows(p, w->x, w->h);
  double violation = 0;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    violation = sap_larger(p->equality[i] ? fabs(w->h[i]) : -w->h[i], violation);
  }
  return violation <= proof * by;
}

/* Returns QP_INFEASIBLE or QP_UNBOUNDED if that is proved, else QP_SOLVED. */
static qp_outcome find_proof(struct qp_interior *w, double proof) {
  if (proves_infeasible(w, proof)) {
    return QP_INFEASIBLE;
  }
  return proves_unbounded(w, proof) ? QP_UNBOUNDED : QP_SOLVED;
}

/* ---- directions ---- */

/* Finds the direction of f = -g, h = r, which every other direction contains dtau times. */
static void solve_constant(struct qp_interior *w) {
  const struct qp_program *p = w->program;
  for (int32_t i = 0; i < p->n; ++i) {
    w->f[i] = -p->g[i];
  }
  qp_condensed_solve(w->condensed, p, w->f, p->r, QP_REFINEMENTS, w->x_2, w->l_2);
  double *difference = w->f, *product = w->x_1;
  for (int32_t i = 0; i < p->n; ++i) {
    difference[i] = w->x_2[i] - w->x[i] / w->tau;
    product[i] = 0;
  }
  qp_add_hessian(p, 1, difference, product);
  w->curvature = fmax(qp_dot(p->n, difference, product), 0) + w->kappa / w->tau;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    w->curvature += p->equality[i] ? 0 : w->l_2[i] * w->l_2[i] * w->s[i] / w->l[i];
  }
}

/* Finds Newton's direction that removes the part `share` of the residuals and changes s l by
 * -target and tau kappa by -target_tau. */
static void solve_direction(struct qp_interior *w, double share, double target_tau) {
  const struct qp_program *p = w->program;
  for (int32_t i = 0; i < p->n; ++i) {
    w->f[i] = -share * w->r_x[i];
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    w->h[i] = -share * w->r_s[i] - (p->equality[i] ? 0 : w->target[i] / w->l[i]);
  }
  qp_condensed_solve(w->condensed, p, w->f, w->h, QP_REFINEMENTS, w->x_1, w->l_1);
  const double along = qp_dot(p->n, p->g, w->x_1) - qp_dot(p->n_rows, p->r, w->l_1) +
                       2 * qp_dot(p->n, w->Hx, w->x_1) / w->tau;
  w->dtau = (share * w->r_tau - target_tau / w->tau + along) / w->curvature;
  w->dkappa = -(target_tau + w->kappa * w->dtau) / w->tau;
  for (int32_t i = 0; i < p->n; ++i) {
    w->dx[i] = w->x_1[i] + w->dtau * w->x_2[i];
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    w->dl[i] = w->l_1[i] + w->dtau * w->l_2[i];
    w->ds[i] = p->equality[i] ? 0 : -(w->target[i] + w->s[i] * w->dl[i]) / w->l[i];
  }
}

/* Returns the longest step, at most 1 after `shorten`, that keeps s, l, tau and kappa positive. */
static double step_length(const struct qp_interior *w, double shorten) {
  double most = fmax(-w->dtau / w->tau, -w->dkappa / w->kappa);
  for (int32_t i = 0; i < w->program->n_rows; ++i) {
    if (!w->program->equality[i]) {
      most = qp_larger(qp_larger(-w->ds[i] / w->s[i], -w->dl[i] / w->l[i]), most);
    }
  }
  return shorten < most ? shorten / most : 1;
}

/* Finds the predictor and corrector (Mehrotra 1992); returns the step that they allow. The
 * corrector is meant for a whole step. Where the predictor allows less it may lead away from the
 * central path again and again: with w->cautious it counts for that part (Colombo and Gondzio
 * 2008). */
static double find_direction(struct qp_interior *w) {
  const struct qp_program *p = w->program;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    w->target[i] = w->s[i] * w->l[i];
  }
  solve_direction(w, 1, w->tau * w->kappa);
  const double reach = step_length(w, 1), short_of = 1 - reach;
  const double part = w->cautious ? reach : 1;
  const double sigma = short_of * short_of * short_of;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    w->target[i] += part * w->ds[i] * w->dl[i] - sigma * w->mu;
  }
  solve_direction(w, 1 - sigma, w->tau * w->kappa + part * w->dtau * w->dkappa - sigma * w->mu);
  return step_length(w, qp_to_boundary);
}

static void take_step(struct qp_interior *w, double step) {
  const struct qp_program *p = w->program;
  for (int32_t i = 0; i < p->n; ++i) {
    w->x[i] += step * w->dx[i];
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    w->s[i] += step * w->ds[i];
    w->l[i] += step * w->dl[i];
  }
  w->tau += step * w->dtau;
  w->kappa += step * w->dkappa;
}

static int factor(struct qp_interior *w) {
  const struct qp_program *p = w->program;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    w->condensed->W[i] = p->equality[i] ? INFINITY : w->l[i] / w->s[i];
  }
  w->condensed->accuracy = w->tau < w->kappa ? qp_proof_accuracy : qp_direction_accuracy;
  return qp_condensed_factor(w->condensed, p, qp_regularization);
}

/* ---- iterations ---- */

/* Shifts values of a least-squares solution to the positive side. */
static void shift(const struct qp_program *p, double *values) {
  double least = INFINITY;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    least = p->equality[i] ? least : fmin(least, values[i]);
  }
  const double by = least > 1e-3 ? 0 : 1 - least;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    values[i] += p->equality[i] ? 0 : by;
  }
}

/* Starts from the program whose inequalities are springs, l = -s; 0 if H is not convex. */
static int begin(struct qp_interior *w) {
  const struct qp_program *p = w->program;
  w->n_inequalities = 0;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    w->n_inequalities += !p->equality[i];
    w->s[i] = p->equality[i] ? 0 : 1;
    w->l[i] = 1;
  }
  w->tau = w->kappa = 1;
  if (!factor(w)) {
    return 0;
  }
  for (int32_t i = 0; i < p->n; ++i) {
    w->f[i] = -p->g[i];
  }
  qp_condensed_solve(w->condensed, p, w->f, p->r, QP_REFINEMENTS, w->x, w->l);
  for (int32_t i = 0; i < p->n_rows; ++i) {
    w->s[i] = p->equality[i] ? 0 : -w->l[i];
  }
  shift(p, w->s);
  shift(p, w->l);
  return 1;
}

/* Keeps the iterate if it is the best one so far; returns its residual. */
static double keep_best(struct qp_interior *w) {
  const struct qp_program *p = w->program;
  const double residual = iterate_over_tau(w);
  if (residual < w->best) {
    memcpy(w->best_x, w->x_1, (size_t)p->n * sizeof(double));
    memcpy(w->best_l, w->l_1, (size_t)p->n_rows * sizeof(double));
    w->best = residual;
  }
  return residual;
}

/* Replaces the best iterate if polishing gives a smaller residual than this, and returns 1. It uses
 * the arrays of the iterations as scratch. */
static int polish_below(struct qp_interior *w, int rounds, double residual) {
  const struct qp_polish polish = {.program = w->program,
                                   .condensed = w->condensed,
                                   .best_x = w->best_x,
                                   .best_l = w->best_l,
                                   .x = w->x_2,
                                   .l = w->l_2,
                                   .positive = w->target,
                                   .step_x = w->x_1,
                                   .step_l = w->l_1,
                                   .f = w->f,
                                   .h = w->h,
                                   .Rl = w->dx};
  if (!qp_polish(&polish, rounds, &residual)) {
    return 0;
  }
  w->best = residual;
  return w->polished = 1;
}

/* Tries to polish: most often the active rows are known long before the iterations end. */
static int solves_early(struct qp_interior *w, const qp_settings *settings, double *below) {
  if (!settings->polish || !(w->best < *below)) {
    return 0;
  }
  *below = qp_again * w->best;
  return polish_below(w, 1, qp_polished_share * settings->tolerance);
}

static qp_outcome iterate(struct qp_interior *w, const qp_settings *settings, int32_t *iterations) {
  double least = INFINITY, least_mu = INFINITY, below = qp_early;
  for (int stagnation = 0; stagnation < QP_MOST_STAGNATION; ++stagnation, ++*iterations) {
    evaluate(w);
    const double residual = keep_best(w);
    /* progress is towards a solution, or towards a proof that there is none */
    if (residual < least / 2 || (w->tau < w->kappa && w->mu < least_mu / 2)) {
      stagnation = 0;
    }
    least = fmin(least, residual);
    least_mu = fmin(least_mu, w->mu);
    if (residual <= settings->tolerance || solves_early(w, settings, &below)) {
      return QP_SOLVED;
    }
    const qp_outcome proved = find_proof(w, strict_proof);
    if (proved != QP_SOLVED) {
      return proved;
    }
    if (*iterations == settings->max_iterations) {
      return QP_ITERATION_LIMIT;
    }
    if (!factor(w)) {
      break;
    }
    solve_constant(w);
    const double step = find_direction(w);
    if (!(step > qp_shortest_step)) {
      break;
    }
    take_step(w, step);
  }
  if (!(least < INFINITY)) {
    return QP_NON_FINITE;
  }
  evaluate(w);
  const qp_outcome proved = find_proof(w, last_proof);
  return proved == QP_SOLVED ? QP_INACCURATE : proved;
}

/* Restarts at x = 0, s = l = 1, cautiously, after a search has ended without progress. */
static void restart(struct qp_interior *w) {
  const struct qp_program *p = w->program;
  memset(w->x, 0, (size_t)p->n * sizeof(double));
  for (int32_t i = 0; i < p->n_rows; ++i) {
    w->s[i] = w->l[i] = p->equality[i] ? 0 : 1;
  }
  w->tau = w->kappa = 1;
  w->cautious = 1;
}

/* Takes the best iterate. Returns 1 if its x is so large that it proves that the program is
 * unbounded, though its residual may be round-off. */
static int take_best(struct qp_interior *w, const qp_settings *settings) {
  const struct qp_program *p = w->program;
  memcpy(w->x, w->best_x, (size_t)p->n * sizeof(double));
  memcpy(w->l, w->best_l, (size_t)p->n_rows * sizeof(double));
  memset(w->Hx, 0, (size_t)p->n * sizeof(double));
  qp_add_hessian(p, 1, w->x, w->Hx);
  return proves_unbounded(w, w->best <= settings->tolerance ? strict_proof : last_proof);
}

qp_outcome qp_interior_solve(struct qp_interior *w, const qp_settings *settings,
                             int32_t *iterations) {
  w->best = INFINITY;
  w->polished = w->cautious = 0;
  if (!begin(w)) {
    return QP_NOT_CONVEX;
  }
  qp_outcome outcome = iterate(w, settings, iterations);
  if (outcome == QP_INACCURATE) {
    restart(w);
    outcome = iterate(w, settings, iterations);
  }
  if (outcome == QP_INFEASIBLE || outcome == QP_UNBOUNDED || outcome == QP_NON_FINITE) {
    return outcome;
  }
  if (settings->polish && !w->polished) {
    polish_below(w, QP_POLISHING_ROUNDS, w->best);
  }
  if (take_best(w, settings)) {
    return QP_UNBOUNDED;
  }
  return w->best <= settings->tolerance ? QP_SOLVED : outcome;
}

int qp_interior_resume(struct qp_interior *w, const qp_settings *settings) {
  if (!polish_below(w, QP_POLISHING_ROUNDS, qp_polished_share * settings->tolerance)) {
    return 0;
  }
  return !take_best(w, settings);
}
