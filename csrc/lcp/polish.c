#include "lcp/polish.h"

#include <math.h>
#include <string.h>

#include "lcp/lcp_tuning.h"
#include "lcp/optimality.h"

static const double accuracy = 1e-15;
/* residual that needs no further round */
static const double enough = 1e-13;

/* Factors with W infinite where the multiplier exceeds the slack, else 0; 0 if K has no factor. */
static int factor_active(const struct qp_polish *polish) {
  const struct qp_program *p = polish->program;
  qp_rows(p, polish->x, polish->h);
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int active = p->equality[i] || polish->l[i] > polish->h[i] - p->r[i];
    polish->condensed->W[i] = active ? INFINITY : 0;
  }
  polish->condensed->accuracy = accuracy;
  return qp_condensed_factor(polish->condensed, p, qp_polishing_regularization);
}

/* Moves x and l to the solution of the active rows as equalities. */
static void solve_active(const struct qp_polish *polish) {
  const struct qp_program *p = polish->program;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int active = polish->condensed->W[i] > 0;
    polish->l[i] = active ? polish->l[i] : 0;
    polish->h[i] = active ? p->r[i] - polish->h[i] : 0;
  }
  for (int32_t i = 0; i < p->n; ++i) {
    polish->f[i] = -p->g[i];
  }
  qp_add_hessian(p, -1, polish->x, polish->f);
  qp_add_rows(p, 1, polish->l, polish->f);
  qp_condensed_solve(polish->condensed, p, polish->f, polish->h, QP_POLISHING_REFINEMENTS,
                     polish->step_x, polish->step_l);
  for (int32_t i = 0; i < p->n; ++i) {
    polish->x[i] += polish->step_x[i];
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    polish->l[i] += polish->step_l[i];
  }
}

int qp_polish(const struct qp_polish *polish, int rounds, double *residual) {
  const struct qp_program *p = polish->program;
  int polished = 0;
  memcpy(polish->x, polish->best_x, (size_t)p->n * sizeof(double));
  memcpy(polish->l, polish->best_l, (size_t)p->n_rows * sizeof(double));
  for (int round = 0; round < rounds && *residual > enough && factor_active(polish); ++round) {
    solve_active(polish);
    for (int32_t i = 0; i < p->n_rows; ++i) {
      polish->positive[i] = p->equality[i] || polish->l[i] > 0 ? polish->l[i] : 0;
    }
    const double now =
        qp_relative_residual(p, polish->x, polish->positive, polish->f, polish->Rl, polish->h);
    if (now < *residual) {
      memcpy(polish->best_x, polish->x, (size_t)p->n * sizeof(double));
      memcpy(polish->best_l, polish->positive, (size_t)p->n_rows * sizeof(double));
      *residual = now;
      polished = 1;
    }
  }
  return polished;
}
