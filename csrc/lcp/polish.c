#include "lcp/polish.h"

#include <math.h>
#include <string.h>

#include "lcp/optimality.h"

static const double epsilon = 1e-7, accuracy = 1e-15;
/* a residual that needs no further round */
static const double enough = 1e-13;
enum { REFINEMENTS = 12 };

/* W: infinite of rows whose multiplier exceeds their slack, 0 of the others; 0 where K has no
 * factor */
static int factor_active(const struct qp_polish *of) {
  const struct qp_program *p = of->program;
  qp_rows(p, of->x, of->h);
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int active = p->equality[i] || of->l[i] > of->h[i] - p->r[i];
    of->condensed->W[i] = active ? INFINITY : 0;
  }
  of->condensed->accuracy = accuracy;
  return qp_condensed_factor(of->condensed, p, epsilon);
}

/* moves x and l to the solution of the active rows as equalities */
static void solve_active(const struct qp_polish *of) {
  const struct qp_program *p = of->program;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int active = of->condensed->W[i] > 0;
    of->l[i] = active ? of->l[i] : 0;
    of->h[i] = active ? p->r[i] - of->h[i] : 0;
  }
  for (int32_t i = 0; i < p->n; ++i) {
    of->f[i] = -p->g[i];
  }
  qp_add_hessian(p, -1, of->x, of->f);
  qp_add_rows(p, 1, of->l, of->f);
  qp_condensed_solve(of->condensed, p, of->f, of->h, REFINEMENTS, of->step_x, of->step_l);
  for (int32_t i = 0; i < p->n; ++i) {
    of->x[i] += of->step_x[i];
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    of->l[i] += of->step_l[i];
  }
}

int qp_polish(const struct qp_polish *of, int rounds, double *residual) {
  const struct qp_program *p = of->program;
  int polished = 0;
  memcpy(of->x, of->best_x, (size_t)p->n * sizeof(double));
  memcpy(of->l, of->best_l, (size_t)p->n_rows * sizeof(double));
  for (int round = 0; round < rounds && *residual > enough && factor_active(of); ++round) {
    solve_active(of);
    for (int32_t i = 0; i < p->n_rows; ++i) {
      of->positive[i] = p->equality[i] || of->l[i] > 0 ? of->l[i] : 0;
    }
    const double now = qp_relative_residual(p, of->x, of->positive, of->f, of->Rl, of->h);
    if (now < *residual) {
      memcpy(of->best_x, of->x, (size_t)p->n * sizeof(double));
      memcpy(of->best_l, of->positive, (size_t)p->n_rows * sizeof(double));
      *residual = now;
      polished = 1;
    }
  }
  return polished;
}
