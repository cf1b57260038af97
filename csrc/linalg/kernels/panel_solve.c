/* This file solves with one factored triangular panel [L; B] in strips of SIMD_STRIP columns.
 *
 * The chain from unknown to unknown goes without the pivots: with U_lj = L_lj / L_jj
 *
 *        forward     z_l <- z_l - U_lj z_j,   then y_j = z_j / L_jj
 *        backward    w_l <- w_l - U_jl x_j,   from w_l = z_l / L_ll
 *
 * The rows of a panel below its triangle are contiguous, segment by segment, in the vector of
 * scalars. */
#include "linalg/kernels/isa.h"

/* Returns L^-1 z for the triangle of n columns at T, whose vectors of rows `part` cuts. */
INLINE simd solve_triangle(const int padded, const int n, const real *T, int32_t ld, simd_mask part,
                           simd z) {
  simd inverse = simd_zero();
  UNROLL
  for (int j = 0; j < n; ++j) {
    const simd column = load_rows(padded, T + (int64_t)j * ld, part);
    inverse = simd_with_lane(inverse, j, column);
    z -= simd_beyond(column * simd_all(T[(int64_t)j * ld + j]), j) * simd_lane_to_all(z, j);
  }
  return z * inverse;
}

/* Sets x <- x - A y for m rows of A and n columns; y is in registers, one number in all lanes. */
INLINE void subtract_product(const int padded, const int n, int32_t m, const real *A, int32_t ld,
                             const simd y[], real *x) {
  for (int32_t i = 0; i < m; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(m - i);
    simd sum[2] = {simd_load_part(x + i, part), simd_zero()};
    UNROLL
    for (int l = 0; l < n; ++l) {
      sum[l % 2] -= load_rows(padded, A + (int64_t)l * ld + i, part) * y[l];
    }
    simd_store_part(x + i, sum[0] + sum[1], part);
  }
}

/* Sets x_s <- L^-1 x_s for the n columns of s from j on, then x <- x - B x_s. x_s holds the scalars
 * of s, and the segments give the places of the rows of B in x. */
INLINE void push_strip(const int padded, const int n, const struct sap_supernode *s,
                       const struct sap_segment *segment, const real *P, int32_t j, real *x_s,
                       real *x) {
  const int32_t ld = s->ld;
  const real *strip = P + (int64_t)j * ld;
  const simd_mask part = simd_first(n);
  const simd solved = solve_triangle(padded, n, strip + j, ld, part, simd_load_first(x_s + j, n));
  simd_store_first(x_s + j, solved, n);
  simd y[SIMD_STRIP];
  UNROLL
  for (int l = 0; l < n; ++l) {
    y[l] = simd_lane_to_all(solved, l);
  }
  subtract_product(padded, n, s->n_cols - j - n, strip + j + n, ld, y, x_s + j + n);
  const real *B = strip + s->n_cols;
  for (int32_t g = s->segment_begin; g < s->segment_end; ++g) {
    subtract_product(padded, n, segment[g].length, B, ld, y, x + segment[g].scalar);
    B += segment[g].length;
  }
}

INLINE void push_any(const int padded, const struct sap_supernode *s,
                     const struct sap_segment *segment, const real *P, real *x_s, real *x) {
  for (int32_t j = 0; j < s->n_cols; j += SIMD_STRIP) {
    FOR_WIDTH(padded, sap_smaller(s->n_cols - j, SIMD_STRIP), push_strip, s, segment, P, j, x_s, x);
  }
}

void SAP_OF_PANEL(sap_push_solution_)(const struct sap_supernode *s,
                                      const struct sap_segment *segment, const void *values,
                                      void *x) {
  push_any(1, s, segment, (const real *)values + s->values, (real *)x + s->scalar, x);
}

/* Adds A^T x for m rows of A to sum (n). */
INLINE void add_products(const int padded, const int n, int32_t m, const real *A, int32_t ld,
                         const real *x, simd sum[]) {
  for (int32_t i = 0; i < m; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(m - i);
    const simd rows = simd_load_part(x + i, part);
    UNROLL
    for (int j = 0; j < n; ++j) {
      sum[j] += load_rows(padded, A + (int64_t)j * ld + i, part) * rows;
    }
  }
}

/* Sets x_s <- L^-T (x_s - B^T x) for the n columns of s from j on. x_s holds the scalars of s, and
 * the segments give the places of the rows of B in x. */
INLINE void pull_strip(const int padded, const int n, const struct sap_supernode *s,
                       const struct sap_segment *segment, const real *P, int32_t j, real *x_s,
                       const real *x) {
  const int32_t ld = s->ld;
  const real *strip = P + (int64_t)j * ld;
  simd sum[SIMD_STRIP];
  UNROLL
  for (int l = 0; l < SIMD_STRIP; ++l) {
    sum[l] = simd_zero();
  }
  add_products(padded, n, s->n_cols - j - n, strip + j + n, ld, x_s + j + n, sum);
  const real *B = strip + s->n_cols;
  for (int32_t g = s->segment_begin; g < s->segment_end; ++g) {
    add_products(padded, n, segment[g].length, B, ld, x + segment[g].scalar, sum);
    B += segment[g].length;
  }
  real z[SIMD_WIDTH], w[SIMD_STRIP];
  simd_store(z, simd_load_first(x_s + j, n) - simd_sums(sum));
  const real *T = strip + j;
  UNROLL
  for (int l = 0; l < n; ++l) {
    w[l] = z[l] * T[(int64_t)l * ld + l];
  }
  UNROLL
  for (int i = n - 1; i > 0; --i) {
    UNROLL
    for (int l = 0; l < i; ++l) {
      w[l] -= (T[(int64_t)l * ld + i] * T[(int64_t)l * ld + l]) * w[i];
    }
  }
  UNROLL
  for (int l = 0; l < n; ++l) {
    x_s[j + l] = w[l];
  }
}

INLINE void pull_any(const int padded, const struct sap_supernode *s,
                     const struct sap_segment *segment, const real *P, real *x_s, const real *x) {
  const int32_t strips = (s->n_cols + SIMD_STRIP - 1) / SIMD_STRIP;
  for (int32_t j = (strips - 1) * SIMD_STRIP; j >= 0; j -= SIMD_STRIP) {
    FOR_WIDTH(padded, sap_smaller(s->n_cols - j, SIMD_STRIP), pull_strip, s, segment, P, j, x_s, x);
  }
}

void SAP_OF_PANEL(sap_pull_solution_)(const struct sap_supernode *s,
                                      const struct sap_segment *segment, const void *values,
                                      void *x) {
  pull_any(1, s, segment, (const real *)values + s->values, (real *)x + s->scalar, x);
}

#ifndef SAP_IN_SINGLE
void SAP_OF_ISA(sap_solve_forward_)(int32_t rows, int32_t cols, const double *P, int32_t ld,
                                    double *x, double *t) {
  const struct sap_supernode panel = {.n_cols = cols, .ld = ld, .segment_end = rows > cols};
  const struct sap_segment below = {.length = rows - cols};
  push_any(0, &panel, &below, P, x, t);
}

void SAP_OF_ISA(sap_solve_backward_)(int32_t rows, int32_t cols, const double *P, int32_t ld,
                                     double *x, const double *t) {
  const struct sap_supernode panel = {.n_cols = cols, .ld = ld, .segment_end = rows > cols};
  const struct sap_segment below = {.length = rows - cols};
  pull_any(0, &panel, &below, P, x, t);
}
#endif
