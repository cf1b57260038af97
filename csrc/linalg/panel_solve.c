/* Triangular solves with one factored panel [L; B], in strips of as many columns as a vector has lanes.
 *
 * The chain from unknown to unknown goes without the pivots: with U_lj = L_lj / L_jj
 *
 *        forward     z_l <- z_l - U_lj z_j,   then y_j = z_j / L_jj
 *        backward    w_l <- w_l - U_jl x_j,   from w_l = z_l / L_ll
 *
 * What a panel has below its triangle is contiguous, segment by segment, in the vector of scalars. */
#include "linalg/isa.h"

/* L^-1 z for the triangle of n columns at T, whose vectors of rows are cut by `part` */
INLINE simd solve_triangle(const int padded, const int n, const double *T, int32_t ld,
                           simd_mask part, simd z) {
  simd inverse = simd_zero();
  UNROLL
  for (int j = 0; j < n; ++j) {
    const simd column = load_rows(padded, T + (int64_t)j * ld, part);
    inverse = simd_with_lane(inverse, j, column);
    z -= simd_beyond(column * simd_all(T[(int64_t)j * ld + j]), j) * simd_lane_to_all(z, j);
  }
  return z * inverse;
}

/* x - A y for a vector of rows of A, cut by `part`, and n columns */
INLINE simd subtract_columns(const int padded, int32_t n, const double *A, int32_t ld, const double *y, simd_mask part,
                             simd x) {
  simd sum[2] = {x, simd_zero()};
  int32_t k = 0;
  for (; k + 1 < n; k += 2) {
    sum[0] -= load_rows(padded, A + (int64_t)k * ld, part) * simd_all(y[k]);
    sum[1] -= load_rows(padded, A + (int64_t)(k + 1) * ld, part) * simd_all(y[k + 1]);
  }
  if (k < n) {
    sum[0] -= load_rows(padded, A + (int64_t)k * ld, part) * simd_all(y[k]);
  }
  return sum[0] + sum[1];
}

/* x <- x - A y for m rows of A and n columns */
INLINE void subtract_product(const int padded, int32_t m, int32_t n, const double *A, int32_t ld, const double *y,
                             double *x) {
  for (int32_t i = 0; i < m; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(m - i);
    simd_store_part(x + i,
                    subtract_columns(padded, n, A + i, ld, y, part, simd_load_part(x + i, part)), part);
  }
}

/* x <- L^-1 x for the triangle on top of a panel */
INLINE void solve_lower(const int padded, int32_t rows, int32_t cols, const double *P, int32_t ld, double *x) {
  for (int32_t j = 0; j < cols; j += SIMD_WIDTH) {
    const double *T = P + (int64_t)j * ld + j;
    const simd_mask part = simd_left(cols - j), below = simd_left(rows - j);
    simd z = subtract_columns(padded, j, P + j, ld, x, part, simd_load_part(x + j, part));
    switch (sap_smaller(cols - j, SIMD_WIDTH)) {
      case 1: z = solve_triangle(padded, 1, T, ld, below, z); break;
      case 2: z = solve_triangle(padded, 2, T, ld, below, z); break;
#if SAP_SIMD_WIDTH > 2
      case 3: z = solve_triangle(padded, 3, T, ld, below, z); break;
      case 4: z = solve_triangle(padded, 4, T, ld, below, z); break;
#endif
#if SAP_SIMD_WIDTH > 4
      case 5: z = solve_triangle(padded, 5, T, ld, below, z); break;
      case 6: z = solve_triangle(padded, 6, T, ld, below, z); break;
      case 7: z = solve_triangle(padded, 7, T, ld, below, z); break;
      case 8: z = solve_triangle(padded, 8, T, ld, below, z); break;
#endif
      default: break;
    }
    simd_store_part(x + j, z, part);
  }
}

void SAP_OF_ISA(sap_solve_forward_)(int32_t rows, int32_t cols, const double *P, int32_t ld,
                                    double *x, double *t) {
  solve_lower(0, rows, cols, P, ld, x);
  subtract_product(0, rows - cols, cols, P + cols, ld, x, t);
}

void SAP_OF_ISA(sap_push_solution_)(const struct sap_supernode *s,
                                    const struct sap_segment *segment, const double *P, double *x) {
  solve_lower(1, s->ld, s->n_cols, P, s->ld, x + s->scalar);
  const double *B = P + s->n_cols;
  for (int32_t g = s->segment_begin; g < s->segment_end; ++g) {
    subtract_product(1, segment[g].length, s->n_cols, B, s->ld, x + s->scalar, x + segment[g].scalar);
    B += segment[g].length;
  }
}

/* sum (n) += A^T x for m rows of A */
INLINE void add_products(const int padded, const int n, int32_t m, const double *A, int32_t ld, const double *x,
                         simd sum[]) {
  for (int32_t i = 0; i < m; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(m - i);
    const simd rows = simd_load_part(x + i, part);
    UNROLL
    for (int j = 0; j < n; ++j) {
      sum[j] += load_rows(padded, A + (int64_t)j * ld + i, part) * rows;
    }
  }
}

/* x_s <- L^-T (x_s - B^T x) for the n columns of s from j on: x_s holds those of s, and the segments say
 * where in x the rows of B are */
INLINE void solve_strip(const int padded, const int n, const struct sap_supernode *s,
                        const struct sap_segment *segment, const double *P, int32_t j, double *x_s,
                        const double *x) {
  const int32_t ld = s->ld;
  const double *strip = P + (int64_t)j * ld;
  simd sum[SIMD_WIDTH];
  UNROLL
  for (int l = 0; l < SIMD_WIDTH; ++l) {
    sum[l] = simd_zero();
  }
  add_products(padded, n, s->n_cols - j - n, strip + j + n, ld, x_s + j + n, sum);
  const double *B = strip + s->n_cols;
  for (int32_t g = s->segment_begin; g < s->segment_end; ++g) {
    add_products(padded, n, segment[g].length, B, ld, x + segment[g].scalar, sum);
    B += segment[g].length;
  }
  double z[SIMD_WIDTH], w[SIMD_WIDTH];
  simd_store(z, simd_load_part(x_s + j, simd_first(n)) - simd_sums(sum));
  const double *T = strip + j;
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

INLINE void solve_upper(const int padded, const struct sap_supernode *s, const struct sap_segment *segment,
                         const double *P, double *x_s, const double *x) {
  for (int32_t j = (s->n_cols - 1) / SIMD_WIDTH * SIMD_WIDTH; j >= 0; j -= SIMD_WIDTH) {
    switch (sap_smaller(s->n_cols - j, SIMD_WIDTH)) {
      case 1: solve_strip(padded, 1, s, segment, P, j, x_s, x); break;
      case 2: solve_strip(padded, 2, s, segment, P, j, x_s, x); break;
#if SAP_SIMD_WIDTH > 2
      case 3: solve_strip(padded, 3, s, segment, P, j, x_s, x); break;
      case 4: solve_strip(padded, 4, s, segment, P, j, x_s, x); break;
#endif
#if SAP_SIMD_WIDTH > 4
      case 5: solve_strip(padded, 5, s, segment, P, j, x_s, x); break;
      case 6: solve_strip(padded, 6, s, segment, P, j, x_s, x); break;
      case 7: solve_strip(padded, 7, s, segment, P, j, x_s, x); break;
      case 8: solve_strip(padded, 8, s, segment, P, j, x_s, x); break;
#endif
      default: break;
    }
  }
}

void SAP_OF_ISA(sap_pull_solution_)(const struct sap_supernode *s,
                                    const struct sap_segment *segment, const double *P, double *x) {
  solve_upper(1, s, segment, P, x + s->scalar, x);
}

void SAP_OF_ISA(sap_solve_backward_)(int32_t rows, int32_t cols, const double *P, int32_t ld,
                                     double *x, const double *t) {
  const struct sap_supernode panel = {.n_cols = cols, .ld = ld, .segment_end = rows > cols};
  const struct sap_segment below = {.length = rows - cols};
  solve_upper(0, &panel, &below, P, x, t);
}
