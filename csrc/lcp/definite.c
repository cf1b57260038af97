#include "lcp/definite.h"

#include <math.h>
#include <string.h>

#include "lcp/lcp_tuning.h"
#include "lcp/optimality.h"

/* smallest pivot of H over its largest entry, which is about 1 */
static const double least_pivot = 1e-10;
/* violation at which a row holds, active or not, over the size of x and of the right sides */
static const double violation = 1e-12;

void qp_definite_carve(struct qp_definite *d, struct sap_arena *arena,
                       const struct qp_sizes *most) {
  const size_t n = (size_t)most->n, ld = (n + 7) / 8 * 8;
  const int32_t rows = most->n_equalities + most->n_inequalities + 2 * most->n;
  qp_active_set_carve(&d->set, most->n, rows, arena);
  d->L = sap_arena_take(arena, n * ld, sizeof *d->L);
  double **const by_column[] = {&d->x, &d->shift, &d->Hx, &d->Rl};
  for (size_t i = 0; i < sizeof by_column / sizeof *by_column; ++i) {
    *by_column[i] = sap_arena_take(arena, n, sizeof(double));
  }
  d->l = sap_arena_take(arena, (size_t)rows, sizeof *d->l);
  d->rows = sap_arena_take(arena, (size_t)rows, sizeof *d->rows);
  d->start = sap_arena_take(arena, (size_t)rows, sizeof *d->start);
}

int qp_definite_factor(struct qp_definite *d) {
  const struct qp_program *p = d->program;
  memcpy(d->L, p->H, (size_t)p->n * (size_t)p->ld * sizeof *d->L);
  if (p->kernels->factor(p->n, p->n, d->L, p->ld) < p->n) {
    return 0;
  }
  for (int32_t j = 0; j < p->n; ++j) {
    const double inverse = d->L[(int64_t)j * (p->ld + 1)];
    if (!(inverse * inverse * least_pivot < 1)) {
      return 0;
    }
  }
  return 1;
}

/* Sets x = L^-T (y - L^-1 g). */
static void find_x(struct qp_definite *d, const double *y) {
  const struct qp_program *p = d->program;
  for (int32_t j = 0; j < p->n; ++j) {
    d->x[j] = y[j] - d->shift[j];
  }
  p->kernels->solve_backward(p->n, p->n, d->L, p->ld, d->x, NULL);
}

static void evaluate(void *context, const double *y, double *slack) {
  struct qp_definite *d = context;
  find_x(d, y);
  qp_rows(d->program, d->x, slack);
  for (int32_t i = 0; i < d->program->n_rows; ++i) {
    slack[i] -= d->program->r[i];
  }
}

static void read_row(void *context, int32_t i, double *a) {
  const struct qp_definite *d = context;
  const struct qp_program *p = d->program;
  qp_read_row(p, i, a);
  p->kernels->solve_forward(p->n, p->n, d->L, p->ld, a, NULL);
}

/* Sets l from the multipliers of the active rows; returns the relative residual, with Hx, Rl and
 * rows those of x and l. */
static double judge(struct qp_definite *d) {
  const struct qp_program *p = d->program;
  memset(d->l, 0, (size_t)p->n_rows * sizeof *d->l);
  for (int32_t k = 0; k < d->set.n_active; ++k) {
    const int32_t row = d->set.row[k];
    d->l[row] = p->equality[row] ? d->set.u[k] : qp_larger(d->set.u[k], 0);
  }
  return qp_relative_residual(p, d->x, d->l, d->Hx, d->Rl, d->rows);
}

/* Corrects x and the multipliers of the active rows by the residuals that judge() left. */
static void refine(struct qp_definite *d) {
  const struct qp_program *p = d->program;
  struct qp_active_set *set = &d->set;
  double *t = d->Hx, *change = set->target;
  for (int32_t j = 0; j < p->n; ++j) {
    t[j] = d->Rl[j] - d->Hx[j] - p->g[j];
  }
  p->kernels->solve_forward(p->n, p->n, d->L, p->ld, t, NULL);
  for (int32_t k = 0; k < set->n_active; ++k) {
    const int32_t row = set->row[k];
    change[k] = p->r[row] - d->rows[row] - qp_dot(p->n, set->V + (int64_t)k * set->ld, t);
  }
  qp_active_set_solve_gram(set, change);
  p->kernels->multiply(p->n, 1, set->n_active, 1, set->V, set->ld, change, 1, t, set->ld, 0);
  p->kernels->solve_backward(p->n, p->n, d->L, p->ld, t, NULL);
  for (int32_t j = 0; j < p->n; ++j) {
    d->x[j] += t[j];
  }
  for (int32_t k = 0; k < set->n_active; ++k) {
    set->u[k] += change[k];
  }
}

int qp_definite_solve(struct qp_definite *d, double tolerance) {
  const struct qp_program *p = d->program;
  memcpy(d->shift, p->g, (size_t)p->n * sizeof *d->shift);
  p->kernels->solve_forward(p->n, p->n, d->L, p->ld, d->shift, NULL);
  memset(d->x, 0, (size_t)p->n * sizeof *d->x);
  const double allowed = violation * qp_larger(1, qp_largest(p->n_rows, p->r));
  const struct qp_active_rows rows = {.context = d,
                                      .n_rows = p->n_rows,
                                      .equality = p->equality,
                                      .evaluate = evaluate,
                                      .read_row = read_row,
                                      .allowed = allowed,
                                      .held = allowed};
  if (qp_active_set_solve(&d->set, p->n, &rows, d->start) != QP_ACTIVE_SOLVED) {
    return 0;
  }
  double residual = judge(d);
  for (int k = 0; k < QP_DEFINITE_REFINEMENTS && residual > 0; ++k) {
    refine(d);
    residual = judge(d);
  }
  return residual <= tolerance;
}
