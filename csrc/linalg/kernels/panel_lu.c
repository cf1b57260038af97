/* This file factors one pair of panels of an unsymmetric matrix (lu_factor.h), pushes its updates,
 * and solves with it. Pivot blocks take one strip of registers each. */
#include <math.h>

#include "linalg/kernels/panel_product.h"

/* ---- factorization --------------------------------------------------------------------------- */

/* Inverts an n x n block D at `from` to `to`, both with stride ld, by Gauss-Jordan steps with row
 * exchanges. A pivot has the largest square over the diagonal entry of its row, which is
 * independent of units. Returns 0 if a pivot is 0 or not finite. */
INLINE int invert(const int n, const double *from, double *to, int32_t ld) {
  double rows[BLOCK][2 * BLOCK], weight[BLOCK];
  for (int i = 0; i < n; ++i) {
    weight[i] = 1 / fabs(from[(int64_t)i * ld + i]);
    for (int j = 0; j < n; ++j) {
      rows[i][j] = from[(int64_t)j * ld + i];
      rows[i][n + j] = i == j;
    }
  }
  for (int k = 0; k < n; ++k) {
    int best = k;
    double largest = rows[k][k] * rows[k][k] * weight[k];
    for (int i = k + 1; i < n; ++i) {
      const double size = rows[i][k] * rows[i][k] * weight[i];
      best = size > largest ? i : best;
      largest = size > largest ? size : largest;
    }
    const double inverse = 1 / rows[best][k];
    if (!(fabs(inverse) > 0 && fabs(inverse) < INFINITY)) {
      return 0;
    }
    double pivot[2 * BLOCK];
    weight[best] = weight[k];
    for (int j = 0; j < 2 * n; ++j) {
      pivot[j] = rows[best][j] * inverse;
      rows[best][j] = rows[k][j];
      rows[k][j] = pivot[j];
    }
    for (int i = 0; i < n; ++i) {
      const double share = i == k ? 0 : rows[i][k];
      for (int j = 0; j < 2 * n; ++j) {
        rows[i][j] -= share * pivot[j];
      }
    }
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      to[(int64_t)j * ld + i] = rows[i][n + j];
    }
  }
  return 1;
}

/* Computes T <- T D^-1 for m rows of n columns. */
INLINE void scale_rows(const int n, int32_t m, double *T, const double *inverse, int32_t ld) {
  for (int32_t i = 0; i < m; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(m - i);
    simd x[BLOCK];
    UNROLL
    for (int k = 0; k < n; ++k) {
      x[k] = simd_load_part(T + (int64_t)k * ld + i, part);
    }
    UNROLL
    for (int l = 0; l < n; ++l) {
      simd sum = simd_zero();
      UNROLL
      for (int k = 0; k < n; ++k) {
        sum += x[k] * simd_all(inverse[(int64_t)l * ld + k]);
      }
      simd_store_part(T + (int64_t)l * ld + i, sum, part);
    }
  }
}

/* Finds the inverse of the pivot block at column c, and scales the rows of L below it. */
INLINE void finish_block(const int n, const struct sap_supernode *s, int32_t c, double *L,
                         double *U, int *regular) {
  double *D = L + (int64_t)c * s->ld + c, *inverse = U + (int64_t)c * s->ld + c;
  *regular = invert(n, D, inverse, s->ld);
  scale_rows(n, s->n_cols + s->n_rows - c - n, D + n, inverse, s->ld);
}

/* Subtracts the products of the columns from `begin` to `end` from all columns to the right. Whole
 * pivot blocks belong to L: its columns begin above the diagonal. */
static void push_slice(const struct sap_supernode *s, int32_t begin, int32_t end, double *L,
                       double *U) {
  const int32_t ld = s->ld, m = s->n_cols + s->n_rows - end, n = s->n_cols - end;
  const int64_t from = (int64_t)begin * ld + end, to = (int64_t)end * ld + end;
  for (int32_t c = 0; c < n; c += SAP_SLICE) {
    const int32_t r = c < BLOCK ? 0 : c - BLOCK + 1;
    multiply_any(1, m - r, sap_smaller(n - c, SAP_SLICE), end - begin, -1, L + from + r, ld,
                 U + from + c, ld, L + to + (int64_t)c * ld + r, ld, 0);
  }
  multiply_any(1, m, n, end - begin, -1, U + from, ld, L + from, ld, U + to, ld, 1);
}

int32_t SAP_OF_ISA(sap_factor_lu_)(const struct sap_supernode *s, const int32_t *node_scalar,
                                   double *lower, double *upper) {
  double *L = lower + s->values, *U = upper + s->values;
  const int32_t ld = s->ld, rows = s->n_cols + s->n_rows;
  int32_t begin = 0; /* first column whose products are not yet subtracted to the right */
  for (int32_t node = s->node_begin; node < s->node_end; ++node) {
    const int32_t end = node_scalar[node + 1] - s->scalar;
    for (int32_t c = node_scalar[node] - s->scalar; c < end; c += BLOCK) {
      const int32_t n = sap_smaller(end - c, BLOCK), next = c + n;
      const int64_t column = (int64_t)c * ld, from = (int64_t)begin * ld;
      int regular = 0;
      if (c > begin) {
        multiply_any(1, rows - c, n, c - begin, -1, L + from + c, ld, U + from + c, ld,
                     L + column + c, ld, 0);
        multiply_any(1, rows - next, n, c - begin, -1, U + from + next, ld, L + from + c, ld,
                     U + column + next, ld, 0);
      }
      FOR_BLOCK(n, finish_block, s, c, L, U, &regular);
      if (!regular) {
        return node;
      }
      if (next - begin >= SAP_SLICE && s->n_cols - next >= SAP_SLICE) {
        push_slice(s, begin, next, L, U);
        begin = next;
      }
    }
  }
  return -1;
}

/* Subtracts the product of the rows of A and the columns of B of an update from its target. */
INLINE void push_update(const struct sap_supernode *s, const struct sap_update *u, const double *A,
                        const double *B, double *target, int lower) {
  if (u->n_cols == 6 && u->n_rows <= SIMD_WIDTH) {
    multiply_block(1, 1, 6, u->n_rows, s->n_cols, -1, A + u->row, s->ld, B + u->col, s->ld,
                   target + u->target, u->target_ld);
    return;
  }
  multiply_any(1, u->n_rows, u->n_cols, s->n_cols, -1, A + u->row, s->ld, B + u->col, s->ld,
               target + u->target, u->target_ld, lower);
}

void SAP_OF_ISA(sap_push_lu_updates_)(const struct sap_supernode *s,
                                      const struct sap_update *update, double *lower,
                                      double *upper) {
  double *L = lower, *U = upper;
  for (int32_t i = s->update_begin; i < s->update_end; ++i) {
    /* the whole pivot blocks belong to L */
    push_update(s, &update[i], L + s->values, U + s->values, L, 0);
    push_update(s, &update[i], U + s->values, L + s->values, U, update[i].row == update[i].col);
  }
}

/* ---- one right-hand side --------------------------------------------------------------------- */

/* Computes x <- x - A y for m rows of A and n columns, y in all lanes. */
INLINE void subtract_columns(const int n, int32_t m, const double *A, int32_t ld, const simd y[],
                             double *x) {
  for (int32_t i = 0; i < m; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(m - i);
    simd sum[2] = {simd_load_part(x + i, part), simd_zero()};
    UNROLL
    for (int l = 0; l < n; ++l) {
      sum[l % 2] -= simd_load(A + (int64_t)l * ld + i) * y[l];
    }
    simd_store_part(x + i, sum[0] + sum[1], part);
  }
}

/* Computes x <- D^-T x for a pivot block. */
INLINE void multiply_transposed_pivots(const int n, const double *inverse, int32_t ld, double *x) {
  double y[BLOCK];
  for (int i = 0; i < n; ++i) {
    y[i] = 0;
    for (int l = 0; l < n; ++l) {
      y[i] += inverse[(int64_t)i * ld + l] * x[l];
    }
  }
  for (int i = 0; i < n; ++i) {
    x[i] = y[i];
  }
}

INLINE void push_block(const int n, const struct sap_supernode *s,
                       const struct sap_segment *segment, const double *P, int pivots, int32_t c,
                       double *x_s, double *x) {
  const int32_t ld = s->ld, next = c + n;
  const double *block = P + (int64_t)c * ld, *B = block + s->n_cols;
  if (pivots) {
    multiply_transposed_pivots(n, block + c, ld, x_s + c);
  }
  simd y[BLOCK];
  UNROLL
  for (int l = 0; l < n; ++l) {
    y[l] = simd_all(x_s[c + l]);
  }
  subtract_columns(n, s->n_cols - next, block + next, ld, y, x_s + next);
  for (int32_t g = s->segment_begin; g < s->segment_end; ++g) {
    subtract_columns(n, segment[g].length, B, ld, y, x + segment[g].scalar);
    B += segment[g].length;
  }
}

void SAP_OF_ISA(sap_push_lu_solution_)(const struct sap_supernode *s,
                                       const struct sap_segment *segment,
                                       const int32_t *node_scalar, const double *panels, int pivots,
                                       double *x) {
  const double *P = panels + s->values;
  for (int32_t node = s->node_begin; node < s->node_end; ++node) {
    const int32_t end = node_scalar[node + 1] - s->scalar;
    for (int32_t c = node_scalar[node] - s->scalar; c < end; c += BLOCK) {
      FOR_BLOCK(sap_smaller(end - c, BLOCK), push_block, s, segment, P, pivots, c, x + s->scalar,
                x);
    }
  }
}

/* Adds A^T x for m rows of A to sum (n). */
INLINE void add_dot_products(const int n, int32_t m, const double *A, int32_t ld, const double *x,
                             simd sum[]) {
  int32_t i = 0;
  for (; i + SIMD_WIDTH <= m; i += SIMD_WIDTH) {
    const simd rows = simd_load(x + i);
    UNROLL
    for (int j = 0; j < n; ++j) {
      sum[j] += simd_load(A + (int64_t)j * ld + i) * rows;
    }
  }
  if (i < m) {
    const simd_mask part = simd_left(m - i);
    const simd rows = simd_load_part(x + i, part);
    UNROLL
    for (int j = 0; j < n; ++j) {
      sum[j] += simd_load_part(A + (int64_t)j * ld + i, part) * rows;
    }
  }
}

/* Computes x <- D^-1 x for a pivot block. */
INLINE void multiply_pivots(const int n, const double *inverse, int32_t ld, double *x) {
  double y[BLOCK] = {0};
  for (int l = 0; l < n; ++l) {
    for (int i = 0; i < n; ++i) {
      y[i] += inverse[(int64_t)l * ld + i] * x[l];
    }
  }
  for (int i = 0; i < n; ++i) {
    x[i] = y[i];
  }
}

INLINE void pull_block(const int n, const struct sap_supernode *s,
                       const struct sap_segment *segment, const double *P, int pivots, int32_t c,
                       double *x_s, const double *x) {
  const int32_t ld = s->ld, next = c + n;
  const double *block = P + (int64_t)c * ld, *B = block + s->n_cols, *inverse = block + c;
  /* simd_sums() takes a strip at a time */
  simd sum[2 * SIMD_WIDTH > BLOCK ? 2 * SIMD_WIDTH : BLOCK];
  UNROLL
  for (int l = 0; l < BLOCK; ++l) {
    sum[l] = simd_zero();
  }
  add_dot_products(n, s->n_cols - next, block + next, ld, x_s + next, sum);
  for (int32_t g = s->segment_begin; g < s->segment_end; ++g) {
    add_dot_products(n, segment[g].length, B, ld, x + segment[g].scalar, sum);
    B += segment[g].length;
  }
  double z[BLOCK + SIMD_WIDTH];
  UNROLL
  for (int l = 0; l < n; l += SIMD_STRIP) {
    simd_store(z + l, simd_sums(sum + l));
  }
  for (int l = 0; l < n; ++l) {
    x_s[c + l] -= z[l];
  }
  if (pivots) {
    multiply_pivots(n, inverse, ld, x_s + c);
  }
}

void SAP_OF_ISA(sap_pull_lu_solution_)(const struct sap_supernode *s,
                                       const struct sap_segment *segment,
                                       const int32_t *node_scalar, const double *panels, int pivots,
                                       double *x) {
  const double *P = panels + s->values;
  for (int32_t node = s->node_end - 1; node >= s->node_begin; --node) {
    const int32_t begin = node_scalar[node] - s->scalar, end = node_scalar[node + 1] - s->scalar;
    for (int32_t c = begin + (end - begin - 1) / BLOCK * BLOCK; c >= begin; c -= BLOCK) {
      FOR_BLOCK(sap_smaller(end - c, BLOCK), pull_block, s, segment, P, pivots, c, x + s->scalar,
                x);
    }
  }
}
