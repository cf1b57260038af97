#include "lcp/polish.h"

#include <math.h>
#include <string.h>

static const double epsilon = 1e-7, accuracy = 1e-15;
/* a residual that needs no further round */
static const double enough = 1e-13;
enum { REFINEMENTS = 12, ROUNDS = 4 };

/* W: infinite of rows whose multiplier l exceeds their slack at x, 0 of the others; 0 where K has no
 * factor */
static int factor_active(struct qp_interior *w, const double *x, const double *l) {
  const struct qp_program *p = w->program;
  qp_rows(p, x, w->h);
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int active = p->equality[i] || l[i] > w->h[i] - p->r[i];
    w->condensed->W[i] = active ? INFINITY : 0;
  }
  w->condensed->accuracy = accuracy;
  return qp_condensed_factor(w->condensed, p, epsilon);
}

/* moves x and l to the solution of the active rows as equalities */
static void solve_active(struct qp_interior *w, double *x, double *l) {
  const struct qp_program *p = w->program;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int active = w->condensed->W[i] > 0;
    l[i] = active ? l[i] : 0;
    w->h[i] = active ? p->r[i] - w->h[i] : 0;
  }
  for (int32_t i = 0; i < p->n; ++i) {
    w->f[i] = -p->g[i];
  }
  qp_add_hessian(p, -1, x, w->f);
  qp_add_rows(p, 1, l, w->f);
  qp_condensed_solve(w->condensed, p, w->f, w->h, REFINEMENTS, w->x_1, w->l_1);
  for (int32_t i = 0; i < p->n; ++i) {
    x[i] += w->x_1[i];
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    l[i] += w->l_1[i];
  }
}

int qp_polish(struct qp_interior *w, double *residual) {
  const struct qp_program *p = w->program;
  double *x = w->x_2, *l = w->l_2, *positive = w->target;
  int polished = 0;
  memcpy(x, w->x, (size_t)p->n * sizeof(double));
  memcpy(l, w->l, (size_t)p->n_rows * sizeof(double));
  for (int round = 0; round < ROUNDS && *residual > enough && factor_active(w, x, l); ++round) {
    solve_active(w, x, l);
    for (int32_t i = 0; i < p->n_rows; ++i) {
      positive[i] = p->equality[i] || l[i] > 0 ? l[i] : 0;
    }
    const double now = qp_relative_residual(w, x, positive);
    if (now < *residual) {
      memcpy(w->x, x, (size_t)p->n * sizeof(double));
      memcpy(w->l, positive, (size_t)p->n_rows * sizeof(double));
      *residual = now;
      polished = 1;
    }
  }
  return polished;
}
