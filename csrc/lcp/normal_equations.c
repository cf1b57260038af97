#include "lcp/normal_equations.h"

#include <math.h>
#include <string.h>

#include "lcp/lcp_tuning.h"

void qp_condensed_carve(struct qp_condensed *c, struct sap_arena *arena,
                        const struct qp_sizes *most) {
  const size_t n = (size_t)most->n, ld = (n + 7) / 8 * 8;
  const size_t given = (size_t)most->n_equalities + (size_t)most->n_inequalities;
  const size_t rows = given + 2 * n;
  c->K = sap_arena_take(arena, n * ld, sizeof *c->K);
  c->scaled = sap_arena_take(arena, given * ld, sizeof *c->scaled);
  double **const by_row[] = {&c->W, &c->cut, &c->h, &c->dl, &c->product};
  for (size_t i = 0; i < sizeof by_row / sizeof *by_row; ++i) {
    *by_row[i] = sap_arena_take(arena, rows, sizeof(double));
  }
  c->f = sap_arena_take(arena, n, sizeof *c->f);
  c->dx = sap_arena_take(arena, n, sizeof *c->dx);
}

/* Assembles the lower triangle of K = H + R^T W R + epsilon I. */
static void assemble(struct qp_condensed *c, const struct qp_program *p, double epsilon) {
  const int32_t n = p->n, ld = p->ld;
  for (int32_t i = 0; i < n; ++i) {
    const int64_t diagonal = (int64_t)i * (ld + 1);
    memcpy(c->K + diagonal, p->H + diagonal, (size_t)(n - i) * sizeof *c->K);
    c->K[diagonal] += epsilon;
  }
  const double *W = c->cut;
  for (int32_t i = 0; i < p->n_dense; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      c->scaled[(int64_t)i * ld + j] = W[i] * p->dense[(int64_t)i * ld + j];
    }
  }
  p->kernels->multiply(n, n, p->n_dense, 1, c->scaled, ld, p->dense, ld, c->K, ld, 1);
  W += p->n_dense;
  for (int32_t i = 0; i < p->n_sparse; ++i) {
    for (int32_t a = p->begin[i]; a < p->begin[i + 1]; ++a) {
      double *column = c->K + (int64_t)p->index[a] * ld;
      for (int32_t b = a; b < p->begin[i + 1]; ++b) {
        column[p->index[b]] += W[i] * p->value[a] * p->value[b];
      }
    }
  }
  W += p->n_sparse;
  for (int32_t i = 0; i < p->n_bounds; ++i) {
    c->K[(int64_t)p->bound[i] * (ld + 1)] += W[i];
  }
}

int qp_condensed_factor(struct qp_condensed *c, const struct qp_program *p, double epsilon) {
  for (int tries = 0; tries < 4; ++tries, epsilon *= 30) {
    for (int32_t i = 0; i < p->n_rows; ++i) {
      c->cut[i] = c->W[i] < 1 / epsilon ? c->W[i] : 1 / epsilon;
    }
    assemble(c, p, epsilon);
    if (p->kernels->factor(p->n, p->n, c->K, p->ld) == p->n) {
      return 1;
    }
  }
  return 0;
}

/* Adds the solution for f and h, as accurate as the factor. */
static void add_solution(struct qp_condensed *c, const struct qp_program *p, const double *f,
                         const double *h, double *dx, double *dl) {
  for (int32_t i = 0; i < p->n_rows; ++i) {
    c->product[i] = c->cut[i] * h[i];
  }
  memcpy(c->dx, f, (size_t)p->n * sizeof *f);
  qp_add_rows(p, 1, c->product, c->dx);
  p->kernels->solve_forward(p->n, p->n, c->K, p->ld, c->dx, NULL);
  p->kernels->solve_backward(p->n, p->n, c->K, p->ld, c->dx, NULL);
  qp_rows(p, c->dx, c->product);
  for (int32_t i = 0; i < p->n; ++i) {
    dx[i] += c->dx[i];
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    dl[i] += c->cut[i] * (h[i] - c->product[i]);
  }
}

/* Sets c->f and c->h to the residuals of f and h; returns their size. */
static double residual(struct qp_condensed *c, const struct qp_program *p, const double *f,
                       const double *h, const double *dx, const double *dl) {
  memcpy(c->f, f, (size_t)p->n * sizeof *f);
  qp_add_hessian(p, -1, dx, c->f);
  qp_add_rows(p, 1, dl, c->f);
  qp_rows(p, dx, c->product);
  for (int32_t i = 0; i < p->n_rows; ++i) {
    c->h[i] = c->W[i] > 0 ? h[i] - c->product[i] - dl[i] / c->W[i] : 0;
  }
  return fmax(qp_largest(p->n, c->f), qp_largest(p->n_rows, c->h));
}

void qp_condensed_solve(struct qp_condensed *c, const struct qp_program *p, const double *f,
                        const double *h, int refinements, double *dx, double *dl) {
  memset(dx, 0, (size_t)p->n * sizeof *dx);
  memset(dl, 0, (size_t)p->n_rows * sizeof *dl);
  add_solution(c, p, f, h, dx, dl);
  const double size = fmax(qp_largest(p->n, f), qp_largest(p->n_rows, h));
  double before = INFINITY;
  for (int k = 0; k < refinements; ++k) {
    const double now = residual(c, p, f, h, dx, dl);
    const double most = now > qp_coarse * size ? qp_slowest_coarse : qp_slowest;
    if (!(now > c->accuracy * size) || !(now < most * before)) {
      return;
    }
    before = now;
    add_solution(c, p, c->f, c->h, dx, dl);
  }
}
