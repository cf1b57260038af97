#include "lcp/polish.h"

#include <math.h>
#include <string.h>

static const double epsilon = 1e-7;
enum { REFINEMENTS = 12 };

/* W: infinite of active rows, where l exceeds the slack, 0 of the others; 0 where K has no factor */
static int factor_active(struct qp_interior *w) {
  const struct qp_program *p = w->program;
  qp_rows(p, w->x, w->h);
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int active = p->equality[i] || w->l[i] > w->h[i] - p->r[i];
    w->condensed->W[i] = active ? INFINITY : 0;
  }
  return qp_condensed_factor(w->condensed, p, epsilon);
}

int qp_polish(struct qp_interior *w, double *residual) {
  const struct qp_program *p = w->program;
  if (!factor_active(w)) {
    return 0;
  }
  /* what is left of both equations at x and l of the active rows */
  double *l = w->l_2, *x = w->x_2;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const int active = w->condensed->W[i] > 0;
    l[i] = active ? w->l[i] : 0;
    w->h[i] = active ? p->r[i] - w->h[i] : 0;
  }
  for (int32_t i = 0; i < p->n; ++i) {
    w->f[i] = -p->g[i];
  }
  qp_add_hessian(p, -1, w->x, w->f);
  qp_add_rows(p, 1, l, w->f);
  qp_condensed_solve(w->condensed, p, w->f, w->h, REFINEMENTS, w->x_1, w->l_1);
  for (int32_t i = 0; i < p->n; ++i) {
    x[i] = w->x[i] + w->x_1[i];
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    l[i] = p->equality[i] ? l[i] + w->l_1[i] : fmax(l[i] + w->l_1[i], 0);
  }
  const double polished = qp_relative_residual(w, x, l);
  if (!(polished < *residual)) {
    return 0;
  }
  memcpy(w->x, x, (size_t)p->n * sizeof(double));
  memcpy(w->l, l, (size_t)p->n_rows * sizeof(double));
  *residual = polished;
  return 1;
}
