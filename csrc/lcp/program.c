#include "lcp/program.h"
#include "lcp/lcp_tuning.h"

#include <math.h>
#include <string.h>

/* number of sums or maxima that are found side by side */
enum { LANES = 8 };

static int32_t whole_vectors(int32_t n) { return (n + 7) / 8 * 8; }

/* Returns the power of two next to 1/sqrt(x); 1 for 0. */
static double inverse_root(double x) { return x > 0 ? exp2(-rint(log2(x) / 2)) : 1; }

static double power_of_two(double x) { return x > 0 && isfinite(x) ? exp2(rint(log2(x))) : 1; }

void qp_program_carve(struct qp_program *p, struct sap_arena *arena, const struct qp_sizes *most) {
  const size_t n = (size_t)most->n, ld = (size_t)whole_vectors(most->n);
  const size_t given = (size_t)most->n_equalities + (size_t)most->n_inequalities;
  const size_t rows = given + 2 * n, ld_dense = (given + 7) / 8 * 8;
  p->H = sap_arena_take(arena, n * ld, sizeof *p->H);
  p->g = sap_arena_take(arena, n, sizeof *p->g);
  p->dense = sap_arena_take(arena, given * ld, sizeof *p->dense);
  p->columns = sap_arena_take(arena, ld_dense * n, sizeof *p->columns);
  p->begin = sap_arena_take(arena, given + 1, sizeof *p->begin);
  p->index = sap_arena_take(arena, given * (n / QP_SPARSE), sizeof *p->index);
  p->value = sap_arena_take(arena, given * (n / QP_SPARSE), sizeof *p->value);
  p->bound = sap_arena_take(arena, 2 * n, sizeof *p->bound);
  p->sign = sap_arena_take(arena, 2 * n, sizeof *p->sign);
  p->r = sap_arena_take(arena, rows, sizeof *p->r);
  p->equality = sap_arena_take(arena, rows, sizeof *p->equality);
  p->source = sap_arena_take(arena, rows, sizeof *p->source);
  p->E = sap_arena_take(arena, n, sizeof *p->E);
  p->F = sap_arena_take(arena, rows, sizeof *p->F);
  p->F_given = sap_arena_take(arena, given, sizeof *p->F_given);
}

/* ---- scaling ---- */

static const double *row_of(const qp_problem *q, int32_t i) {
  return i < q->n_equalities ? q->A + (int64_t)i * q->n
                             : q->C + (int64_t)(i - q->n_equalities) * q->n;
}

/* Returns the largest x_i |y_i|, x >= 0; lanes keep the loop in vectors. */
static double largest_product(int32_t n, const double *x, const double *y) {
  double largest[LANES] = {0};
  int32_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (int lane = 0; lane < LANES; ++lane) {
      largest[lane] = qp_larger(x[i + lane] * fabs(y[i + lane]), largest[lane]);
    }
  }
  for (; i < n; ++i) {
    largest[0] = qp_larger(x[i] * fabs(y[i]), largest[0]);
  }
  for (int lane = 1; lane < LANES; ++lane) {
    largest[0] = qp_larger(largest[lane], largest[0]);
  }
  return largest[0];
}

/* Finds E and F_given in turn, each from rows and columns scaled by the other; H is symmetric. */
static void equilibrate(struct qp_program *p, const qp_problem *q) {
  const int32_t n = q->n, given = q->n_equalities + q->n_inequalities;
  double *largest = p->g; /* scratch: largest entry of each column */
  for (int32_t j = 0; j < n; ++j) {
    p->E[j] = 1;
  }
  for (int round = 0; round < QP_SCALING_ROUNDS; ++round) {
    for (int32_t j = 0; j < n; ++j) {
      largest[j] = largest_product(n, p->E, p->H + (int64_t)j * p->ld);
    }
    for (int32_t i = 0; i < given; ++i) {
      const double *row = row_of(q, i);
      const double F = 1 / power_of_two(largest_product(n, p->E, row));
      for (int32_t j = 0; j < n; ++j) {
        largest[j] = qp_larger(F * fabs(row[j]), largest[j]);
      }
      p->F_given[i] = F;
    }
    int unchanged = 1;
    for (int32_t j = 0; j < n; ++j) {
      const double factor = inverse_root(p->E[j] * largest[j]);
      unchanged &= factor == 1;
      p->E[j] *= factor;
    }
    if (unchanged) {
      break;
    }
  }
}

/* ---- loading ---- */

static void load_hessian(struct qp_program *p, const qp_problem *q) {
  for (int32_t j = 0; j < q->n; ++j) {
    for (int32_t i = 0; i < q->n; ++i) {
      p->H[(int64_t)j * p->ld + i] =
          0.5 * q->H[(int64_t)i * q->n + j] + 0.5 * q->H[(int64_t)j * q->n + i];
    }
  }
}

static void scale_hessian(struct qp_program *p, const qp_problem *q) {
  double largest = 0;
  for (int32_t j = 0; j < p->n; ++j) {
    double *column = p->H + (int64_t)j * p->ld;
    for (int32_t i = 0; i < p->n; ++i) {
      column[i] *= p->E[i] * p->E[j];
      largest = qp_larger(fabs(column[i]), largest);
    }
  }
  p->k = 1 / power_of_two(largest);
  for (int64_t i = 0; i < (int64_t)p->n * p->ld; ++i) {
    p->H[i] *= p->k;
  }
  for (int32_t i = 0; i < p->n; ++i) {
    p->g[i] = p->k * p->E[i] * q->g[i];
  }
}

/* Appends a row with its place `source` and the scale F. */
static void append(struct qp_program *p, int32_t source, double F, double r, int equality) {
  p->source[p->n_rows] = source;
  p->F[p->n_rows] = F;
  p->r[p->n_rows] = F * r;
  p->equality[p->n_rows++] = (int8_t)equality;
}

static int32_t entries_of(int32_t n, const double *row) {
  int32_t entries = 0;
  for (int32_t j = 0; j < n; ++j) {
    entries += row[j] != 0;
  }
  return entries;
}

static void load_row(struct qp_program *p, const double *row, double F, int dense) {
  if (dense) {
    double *to = p->dense + (int64_t)p->n_dense++ * p->ld;
    for (int32_t j = 0; j < p->n; ++j) {
      to[j] = F * row[j] * p->E[j];
    }
    return;
  }
  int32_t end = p->begin[p->n_sparse];
  for (int32_t j = 0; j < p->n; ++j) {
    if (row[j] != 0) {
      p->index[end] = j;
      p->value[end++] = F * row[j] * p->E[j];
    }
  }
  p->begin[++p->n_sparse] = end;
}

/* Loads the rows of A and C that are dense, or those that are not. */
static void load_rows(struct qp_program *p, const qp_problem *q, int dense) {
  for (int32_t i = 0; i < q->n_equalities + q->n_inequalities; ++i) {
    const int equality = i < q->n_equalities;
    const double r = equality ? q->b[i] : q->d[i - q->n_equalities];
    const double *row = row_of(q, i);
    if (r > -INFINITY && (entries_of(q->n, row) > q->n / QP_SPARSE) == dense) {
      load_row(p, row, p->F_given[i], dense);
      append(p, i, p->F_given[i], r, equality);
    }
  }
}

static void load_bounds(struct qp_program *p, const qp_problem *q) {
  const int32_t given = q->n_equalities + q->n_inequalities;
  for (int32_t j = 0; j < q->n; ++j) {
    const double lower = q->lower ? q->lower[j] : -INFINITY;
    const double upper = q->upper ? q->upper[j] : INFINITY;
    if (lower > -INFINITY) {
      p->bound[p->n_bounds] = j;
      p->sign[p->n_bounds++] = 1;
      append(p, given + j, 1 / p->E[j], lower, lower == upper);
    }
    if (upper < INFINITY && lower < upper) {
      p->bound[p->n_bounds] = j;
      p->sign[p->n_bounds++] = -1;
      append(p, given + q->n + j, 1 / p->E[j], -upper, 0);
    }
  }
}

static void transpose_dense(struct qp_program *p) {
  p->ld_dense = whole_vectors(p->n_dense);
  for (int32_t i = 0; i < p->n_dense; ++i) {
    for (int32_t j = 0; j < p->n; ++j) {
      p->columns[(int64_t)j * p->ld_dense + i] = p->dense[(int64_t)i * p->ld + j];
    }
  }
}

void qp_program_load(struct qp_program *p, const qp_problem *q) {
  p->n = q->n;
  p->ld = whole_vectors(q->n);
  p->n_rows = p->n_dense = p->n_sparse = p->n_bounds = 0;
  p->begin[0] = 0;
  memset(p->H, 0, (size_t)p->n * (size_t)p->ld * sizeof *p->H);
  load_hessian(p, q);
  equilibrate(p, q);
  scale_hessian(p, q);
  load_rows(p, q, 1);
  load_rows(p, q, 0);
  load_bounds(p, q);
  transpose_dense(p);
  p->beta = power_of_two(fmax(1e-3 * qp_largest(p->n, p->g), qp_largest(p->n_rows, p->r)));
  for (int32_t j = 0; j < p->n; ++j) {
    p->g[j] /= p->beta;
  }
  for (int32_t i = 0; i < p->n_rows; ++i) {
    p->r[i] /= p->beta;
  }
}

void qp_program_drop_cost(struct qp_program *p) {
  memset(p->H, 0, (size_t)p->n * (size_t)p->ld * sizeof *p->H);
  for (int32_t j = 0; j < p->n; ++j) {
    p->H[(int64_t)j * (p->ld + 1)] = 1;
    p->g[j] = 0;
  }
  const double largest = power_of_two(qp_largest(p->n_rows, p->r));
  for (int32_t i = 0; i < p->n_rows; ++i) {
    p->r[i] /= largest;
  }
  p->beta *= largest;
  p->k = 1;
}

/* ---- products ---- */

void qp_add_hessian(const struct qp_program *p, double factor, const double *x, double *y) {
  p->kernels->multiply(p->n, 1, p->n, factor, p->H, p->ld, x, 1, y, p->ld, 0);
}

void qp_rows(const struct qp_program *p, const double *x, double *rows) {
  memset(rows, 0, (size_t)p->n_dense * sizeof *rows);
  p->kernels->multiply(p->n_dense, 1, p->n, 1, p->columns, p->ld_dense, x, 1, rows, p->ld_dense, 0);
  rows += p->n_dense;
  for (int32_t i = 0; i < p->n_sparse; ++i) {
    double sum = 0;
    for (int32_t e = p->begin[i]; e < p->begin[i + 1]; ++e) {
      sum += p->value[e] * x[p->index[e]];
    }
    rows[i] = sum;
  }
  rows += p->n_sparse;
  for (int32_t i = 0; i < p->n_bounds; ++i) {
    rows[i] = p->sign[i] * x[p->bound[i]];
  }
}

void qp_add_rows(const struct qp_program *p, double factor, const double *rows, double *y) {
  p->kernels->multiply(p->n, 1, p->n_dense, factor, p->dense, p->ld, rows, 1, y, p->ld, 0);
  rows += p->n_dense;
  for (int32_t i = 0; i < p->n_sparse; ++i) {
    for (int32_t e = p->begin[i]; e < p->begin[i + 1]; ++e) {
      y[p->index[e]] += factor * rows[i] * p->value[e];
    }
  }
  rows += p->n_sparse;
  for (int32_t i = 0; i < p->n_bounds; ++i) {
    y[p->bound[i]] += factor * p->sign[i] * rows[i];
  }
}

void qp_read_row(const struct qp_program *p, int32_t row, double *x) {
  if (row < p->n_dense) {
    memcpy(x, p->dense + (int64_t)row * p->ld, (size_t)p->n * sizeof *x);
    return;
  }
  memset(x, 0, (size_t)p->n * sizeof *x);
  if (row < p->n_dense + p->n_sparse) {
    const int32_t *begin = p->begin + (row - p->n_dense);
    for (int32_t e = begin[0]; e < begin[1]; ++e) {
      x[p->index[e]] = p->value[e];
    }
  } else {
    const int32_t i = row - p->n_dense - p->n_sparse;
    x[p->bound[i]] = p->sign[i];
  }
}

double qp_row_terms(const struct qp_program *p, int32_t row, const double *x) {
  double sum = 0;
  if (row < p->n_dense) {
    for (int32_t j = 0; j < p->n; ++j) {
      sum += fabs(p->dense[(int64_t)row * p->ld + j] * x[j]);
    }
  } else if (row < p->n_dense + p->n_sparse) {
    const int32_t *begin = p->begin + (row - p->n_dense);
    for (int32_t e = begin[0]; e < begin[1]; ++e) {
      sum += fabs(p->value[e] * x[p->index[e]]);
    }
  } else {
    sum = fabs(x[p->bound[row - p->n_dense - p->n_sparse]]);
  }
  return sum;
}

double qp_largest(int32_t n, const double *x) {
  /* 0 x is NaN exactly where x is not finite */
  double largest[LANES] = {0}, zero[LANES] = {0};
  int32_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (int lane = 0; lane < LANES; ++lane) {
      largest[lane] = qp_larger(fabs(x[i + lane]), largest[lane]);
      zero[lane] += 0 * x[i + lane];
    }
  }
  for (; i < n; ++i) {
    largest[0] = qp_larger(fabs(x[i]), largest[0]);
    zero[0] += 0 * x[i];
  }
  for (int lane = 1; lane < LANES; ++lane) {
    largest[0] = qp_larger(largest[lane], largest[0]);
    zero[0] += zero[lane];
  }
  return zero[0] == 0 ? largest[0] : INFINITY;
}

double qp_dot(int32_t n, const double *x, const double *y) {
  double sum[LANES] = {0};
  int32_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (int lane = 0; lane < LANES; ++lane) {
      sum[lane] += x[i + lane] * y[i + lane];
    }
  }
  for (; i < n; ++i) {
    sum[0] += x[i] * y[i];
  }
  for (int lane = 1; lane < LANES; ++lane) {
    sum[0] += sum[lane];
  }
  return sum[0];
}
