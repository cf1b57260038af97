#include "lcp/optimality.h"

#include <math.h>
#include <string.h>

/* Round-off of a large x hides at most this part of the largest part of the gradient. */
static const double most_hidden = 1e-3;

/* Divides the residual of a condition beyond round-off by its terms; infinite if not finite. */
static double quotient(double residual, double rounding, double terms) {
  if (!isfinite(residual) || !isfinite(terms)) {
    return INFINITY;
  }
  return residual > rounding ? (residual - rounding) / terms : 0;
}

static double violation(const struct qp_program *p, const double *rows, int32_t i) {
  const double r = p->r[i] - rows[i];
  return p->equality[i] || isnan(r) ? fabs(r) : qp_larger(r, 0);
}

/* Returns the size by which a condition is judged: its constant plus its terms, up to the largest
 * constant if there is one. */
static double size_of(double constant, double largest, double terms) {
  return fabs(constant) + (largest > 0 && largest < terms ? largest : terms);
}

/* Returns the largest |x_j|, or the smallest |r_i| > 0 if that is larger; 1 without either. */
static double size_of_positions(const struct qp_program *p, const double *x) {
  double least = 1;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const double size = fabs(p->r[i]);
    least = size > 0 && size < least ? size : least;
  }
  return qp_larger(qp_largest(p->n, x), least);
}

/* Returns the largest part of a gradient; without linear cost at least |x|, since H is about 1. */
static double size_of_gradients(const struct qp_program *p, const double *Hx, const double *Rl,
                                double of_g, double of_x) {
  const double largest = qp_larger(qp_largest(p->n, Hx), qp_largest(p->n, Rl));
  return qp_larger(largest, of_g > 0 ? of_g : of_x);
}

double qp_optimality(const struct qp_program *p, const double *x, const double *l, const double *Hx,
                     const double *Rl, const double *rows) {
  const double of_r = qp_largest(p->n_rows, p->r), of_g = qp_largest(p->n, p->g);
  const double of_x = size_of_positions(p, x);
  const double of_parts = size_of_gradients(p, Hx, Rl, of_g, of_x);
  const double of_gradients = qp_larger(of_parts, qp_largest(p->n_rows, l));
  const double of_sums = qp_larger(of_x, of_gradients);
  const double hidden = fmin(qp_round_off * of_sums, most_hidden * of_parts);
  double largest = 0, gap = 0, terms = 0;
  for (int32_t j = 0; j < p->n; ++j) {
    const double parts = fabs(Hx[j]) + fabs(Rl[j]), r = fabs(Hx[j] + p->g[j] - Rl[j]);
    const double size = size_of(p->g[j], of_g, parts);
    largest = qp_larger(quotient(r, hidden, size), largest);
    terms += fabs(x[j]) * (fabs(p->g[j]) + parts);
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    const double r = violation(p, rows, i), rounding = qp_round_off * of_x;
    if (!(r <= rounding)) {
      const double size = size_of(p->r[i], of_r, qp_row_terms(p, i, x));
      largest = qp_larger(quotient(r, rounding, size), largest);
    }
    gap += fabs(l[i] * (p->r[i] - rows[i]));
    terms += fabs(l[i] * p->r[i]);
  }
  return qp_larger(quotient(gap, 0, qp_larger(terms, of_x * of_gradients)), largest);
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

int qp_hides_rows(const struct qp_program *p, const double *rows, double tolerance) {
  double largest = 0;
  for (int32_t i = 0; i < p->n_rows; ++i) {
    largest = qp_larger(p->equality[i] ? fabs(p->r[i]) : p->r[i], largest);
  }
  for (int32_t i = 0; i < p->n_rows && largest > 0; ++i) {
    const double size = p->r[i] != 0 ? fabs(p->r[i]) : largest;
    if (violation(p, rows, i) > tolerance * size) {
      return 1;
    }
  }
  return 0;
}
