#include "lcp/optimality.h"

#include <math.h>
#include <string.h>

double qp_optimality(const struct qp_program *p, const double *x, const double *l, const double *Hx,
                     const double *Rl, const double *rows) {
  double dual = 0, primal = 0, gap = 0;
  for (int32_t i = 0; i < p->n; ++i) {
    const double r = Hx[i] + p->g[i] - Rl[i];
    dual = isfinite(r) ? qp_larger(dual, fabs(r)) : INFINITY;
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const double r = p->r[i] - rows[i];
    const double violation = p->equality[i] ? fabs(r) : qp_larger(r, 0);
    primal = isfinite(r) ? qp_larger(primal, violation) : INFINITY;
    gap += fabs(l[i] * r);
  }
  const double cost = 0.5 * qp_dot(p->n, x, Hx) + qp_dot(p->n, p->g, x);
  const double largest =
      fmax(dual / (1 + fmax(qp_largest(p->n, Hx), qp_largest(p->n, Rl))),
           fmax(primal / (1 + qp_largest(p->n_rows, rows)), gap / (1 + fabs(cost))));
  return isfinite(gap) && isfinite(cost) ? largest : INFINITY;
}

double qp_relative_residual(const struct qp_program *p, const double *x, const double *l,
                            double *Hx, double *Rl, double *rows) {
  memset(Hx, 0, (size_t)p->n * sizeof(double));
  memset(Rl, 0, (size_t)p->n * sizeof(double));
  qp_add_hessian(p, 1, x, Hx);
  qp_add_rows(p, 1, l, Rl);
  qp_rows(p, x, rows);
  return qp_optimality(p, x, l, Hx, Rl, rows);
}
