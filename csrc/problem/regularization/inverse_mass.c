#include "problem/regularization/inverse_mass.h"

#include <math.h>
#include <string.h>

/* the entries of a row of J begin at column `first`, and are n */
struct span {
  int32_t first, n;
};

static struct span span_of(const struct sap_row_set *rows, int32_t n) {
  return rows->dof < 0 ? (struct span){0, n} : (struct span){rows->dof, 1};
}

/* x <- S^T S x = A^-1 x: S upper triangular by column; y is room */
static void apply_inverse(int32_t n, const double *S, double *x, double *y) {
  memset(y, 0, sizeof *y * (size_t)n);
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t i = 0; i <= j && x[j] != 0; ++i) {
      y[i] += S[(int64_t)j * n + i] * x[j];
    }
  }
  for (int32_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int32_t i = 0; i <= j; ++i) {
      sum += S[(int64_t)j * n + i] * y[i];
    }
    x[j] = sum;
  }
}

/* X = J A^-1 of one side, and what W gets of it */
static void find_side(const struct sap_row_set *rows, int side, const sap_problem *problem,
                      const struct sap_masses *masses, sap_delassus delassus, const double *J,
                      double *X, double *room, double W[3][3]) {
  const struct sap_row_side *at = &rows->side[side];
  const int32_t n = problem->tree_nv[at->tree];
  const struct span span = span_of(rows, n);
  const int64_t block = masses->tree_A[at->tree];
  for (int32_t r = 0; r < rows->n_rows; ++r) {
    double *x = X + (int64_t)r * n;
    memset(x, 0, sizeof *x * (size_t)n);
    memcpy(x + span.first, J + at->offset + r * at->step, sizeof *x * (size_t)span.n);
    if (delassus == SAP_DELASSUS_BLOCK) {
      apply_inverse(n, masses->S + block, x, room);
    }
    for (int32_t j = 0; delassus != SAP_DELASSUS_BLOCK && j < n; ++j) {
      x[j] /= problem->A[block + (int64_t)j * (n + 1)];
    }
    for (int32_t c = 0; c < rows->n_rows; ++c) {
      const double *row = J + at->offset + c * at->step;
      for (int32_t j = 0; j < span.n; ++j) {
        W[r][c] += x[span.first + j] * row[j];
      }
    }
  }
}

void sap_inverse_mass_slope_find(struct sap_inverse_mass_slope *slope, const sap_problem *problem,
                                 const struct sap_masses *masses, sap_delassus delassus,
                                 const double *J) {
  const struct sap_row_set *rows = slope->rows;
  const int32_t m = rows->n_rows;
  double W[3][3] = {{0}}, square = 0;
  for (int side = 0; side < 2 && rows->side[side].tree >= 0; ++side) {
    find_side(rows, side, problem, masses, delassus, J, slope->X[side], slope->Y[side], W);
  }
  for (int r = 0; r < 9; ++r) {
    square += W[r / 3][r % 3] * W[r / 3][r % 3];
  }
  slope->w = sqrt(square) / m;
  const double scale = 1 / (slope->w * m * m);
  for (int side = 0; side < 2 && rows->side[side].tree >= 0; ++side) {
    const int32_t n = problem->tree_nv[rows->side[side].tree];
    for (int32_t r = 0; r < m; ++r) {
      for (int32_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int32_t c = 0; c < m; ++c) {
          sum += W[r][c] * slope->X[side][(int64_t)c * n + j];
        }
        slope->Y[side][(int64_t)r * n + j] = scale * sum;
      }
    }
  }
}

void sap_inverse_mass_pull(const struct sap_inverse_mass_slope *slope, const sap_problem *problem,
                           const struct sap_masses *masses, sap_delassus delassus, double w_bar,
                           double *J_bar, double *A_bar) {
  const struct sap_row_set *rows = slope->rows;
  for (int side = 0; side < 2 && rows->side[side].tree >= 0; ++side) {
    const struct sap_row_side *at = &rows->side[side];
    const int32_t n = problem->tree_nv[at->tree];
    const struct span span = span_of(rows, n);
    double *A = A_bar ? A_bar + masses->tree_A[at->tree] : NULL;
    for (int32_t r = 0; r < rows->n_rows; ++r) {
      const double *x = slope->X[side] + (int64_t)r * n, *y = slope->Y[side] + (int64_t)r * n;
      for (int32_t j = 0; J_bar && j < span.n; ++j) {
        J_bar[at->offset + r * at->step + j] += 2 * w_bar * y[span.first + j];
      }
      for (int32_t i = 0; A && i < n; ++i) {
        const int whole = delassus == SAP_DELASSUS_BLOCK;
        for (int32_t j = whole ? 0 : i; j < (whole ? n : i + 1); ++j) {
          A[(int64_t)i * n + j] -= w_bar * 0.5 * (x[i] * y[j] + y[i] * x[j]);
        }
      }
    }
  }
}

double sap_inverse_mass_push(const struct sap_inverse_mass_slope *slope, const sap_problem *problem,
                             const struct sap_masses *masses, sap_delassus delassus,
                             const double *dJ, const double *dA) {
  const struct sap_row_set *rows = slope->rows;
  double dw = 0;
  for (int side = 0; side < 2 && rows->side[side].tree >= 0; ++side) {
    const struct sap_row_side *at = &rows->side[side];
    const int32_t n = problem->tree_nv[at->tree];
    const struct span span = span_of(rows, n);
    const double *A = dA ? dA + masses->tree_A[at->tree] : NULL;
    for (int32_t r = 0; r < rows->n_rows; ++r) {
      const double *x = slope->X[side] + (int64_t)r * n, *y = slope->Y[side] + (int64_t)r * n;
      for (int32_t j = 0; dJ && j < span.n; ++j) {
        dw += 2 * y[span.first + j] * dJ[at->offset + r * at->step + j];
      }
      for (int32_t i = 0; A && i < n; ++i) {
        const int whole = delassus == SAP_DELASSUS_BLOCK;
        for (int32_t j = whole ? 0 : i; j < (whole ? n : i + 1); ++j) {
          dw -= 0.5 * (x[i] * y[j] + y[i] * x[j]) * A[(int64_t)i * n + j];
        }
      }
    }
  }
  return dw;
}
