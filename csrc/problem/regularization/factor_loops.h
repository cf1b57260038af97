/* This module finds the inverse S = U^-1 of the factor of a block of A = U U^T. It eliminates from
 * the last velocity to the first, and is compiled once per instruction set. Vectors of S outside
 * `strips`, the branches of the tree (branches.h), are zero and not computed. */
#ifndef SAPWOOD_PROBLEM_REGULARIZATION_FACTOR_LOOPS_H
#define SAPWOOD_PROBLEM_REGULARIZATION_FACTOR_LOOPS_H

#include <math.h>
#include <string.h>

#include "linalg/kernels/isa.h"
#include "linalg/linalg_tuning.h"
#include "problem/graph/branches.h"

/* Strips of a block. */
struct strips {
  const uint64_t *of;
  int32_t shift;
};

static inline struct strips strips_of(int32_t n, const uint64_t *strips) {
  return (struct strips){strips, sap_strip_shift(n)};
}

/* May column j have entries in the vector of rows at i? */
static inline int has(struct strips s, int32_t i, int32_t j) {
  return s.of[j >> s.shift] >> (i >> s.shift) & 1;
}

/* Returns the end of the strip of column j, or `end`. */
static inline int32_t strip_end(struct strips s, int32_t j, int32_t end) {
  return sap_smaller(((j >> s.shift) + 1) << s.shift, end);
}

/* Range of 1/pivot in which no product of two pivots overflows or loses digits, even if numbers
 * that underflow count as zero. */
static const double SMALL = 0x1p-500, LARGE = 0x1p+500;

INLINE simd load_rows_of(const int whole, const double *x, simd_mask part) {
  return whole ? simd_load(x) : simd_load_part(x, part);
}

INLINE void store_rows_of(const int whole, double *x, simd y, simd_mask part) {
  if (whole) {
    simd_store(x, y);
  } else {
    simd_store_part(x, y, part);
  }
}

/* Loads a vector of rows, at i, of the w columns from k on of A. Subtracts the products with
 * columns to the right, before `last`, that reach both these rows and those at k. */
INLINE void load_tile(const int whole, const int w, struct strips s, int32_t n, int32_t i,
                      int32_t k, int32_t last, const double *A, const double *U,
                      simd x[SIMD_WIDTH]) {
  const simd_mask part = simd_left(n - i);
  UNROLL
  for (int c = 0; c < w; ++c) {
    x[c] = load_rows_of(whole, A + (int64_t)(k + c) * n + i, part);
  }
  for (int32_t j = k + w, end; j < last; j = end) {
    end = strip_end(s, j, last);
    if (!(has(s, i, j) && has(s, k, j))) {
      continue;
    }
    for (; j < end; ++j) {
      const double *column = U + (int64_t)j * n;
      const simd u = load_rows_of(whole, column + i, part);
      UNROLL
      for (int c = 0; c < w; ++c) {
        x[c] -= u * simd_all(column[k + c]);
      }
    }
  }
}

/* Eliminates the w columns of a triangle, from the last to the first, two at once as in
 * linalg/kernels/panel_factor.c; r receives the reciprocals of the pivots. */
INLINE void eliminate_up(const int w, simd c[SIMD_WIDTH], simd_scalar r[SIMD_WIDTH]) {
  const int last = w - 1;
  simd_scalar c_jj = simd_lane(c[last], last), c_ij = c_jj, c_ii = c_jj;
  if (w > 1) {
    c_ij = simd_lane(c[last], last - 1);
    c_ii = simd_lane(c[last - 1], last - 1);
  }
  UNROLL
  for (int j = last; j >= 0; j -= 2) {
    r[j] = simd_scalar_of(1) / c_jj;
    if (j == 0) {
      break;
    }
    r[j - 1] = c_jj / (c_jj * c_ii - c_ij * c_ij);
    if (j > 1) {
      const simd_scalar a = c_ij, p = simd_lane(c[j], j - 2);
      const simd_scalar s = simd_lane(c[j - 1], j - 2) - (p * a) * r[j];
      c_jj = simd_lane(c[j - 2], j - 2) - (p * p) * r[j] - (s * s) * r[j - 1];
      if (j > 2) {
        const simd_scalar q = simd_lane(c[j], j - 3);
        const simd_scalar t = simd_lane(c[j - 1], j - 3) - (q * a) * r[j];
        c_ij = simd_lane(c[j - 2], j - 3) - (q * p) * r[j] - (t * s) * r[j - 1];
        c_ii = simd_lane(c[j - 3], j - 3) - (q * q) * r[j] - (t * t) * r[j - 1];
      }
    }
    UNROLL
    for (int k = j; k > j - 2; --k) {
      const simd unit = c[k] * simd_spread(r[k]);
      UNROLL
      for (int l = 0; l < k; ++l) {
        c[l] -= unit * simd_lane_to_all(c[k], l);
      }
    }
  }
}

/* Values of a triangle that the rows above it need. */
struct upper_triangle {
  double unit[SIMD_WIDTH][SIMD_WIDTH]; /* U_lj / U_jj of column j */
  double inverse[SIMD_WIDTH];          /* 1 / U_jj */
};

/* Factors the w columns of U from k on, 1/U_jj on the diagonal; 0 if a pivot is out of range. A has
 * lost the products with columns from `last` on. */
INLINE int factor_columns(const int whole, const int w, struct strips s, int32_t n, int32_t k,
                          int32_t last, const double *A, double *U) {
  struct upper_triangle T;
  simd x[SIMD_WIDTH];
  simd_scalar r[SIMD_WIDTH];
  const simd_mask part = simd_first(w);
  load_tile(whole, w, s, n, k, k, last, A, U, x);
  eliminate_up(w, x, r);
  simd reciprocals = simd_all(1);
  UNROLL
  for (int c = 0; c < w; ++c) {
    reciprocals = simd_with_lane(reciprocals, c, simd_spread(r[c]));
  }
  if (!simd_within(reciprocals, SMALL, LARGE)) {
    return 0;
  }
  UNROLL
  for (int c = 0; c < w; ++c) {
    const simd_scalar root = simd_scalar_sqrt(r[c]);
    const simd inverse = simd_spread(root);
    T.inverse[c] = root[0];
    simd_store(T.unit[c], x[c] * simd_spread(r[c]));
    const simd column = simd_with_lane(simd_before(x[c] * inverse, c), c, inverse);
    store_rows_of(whole, U + (int64_t)(k + c) * n + k, column, part);
  }
  for (int32_t i = 0; i < k; i += SIMD_WIDTH) {
    if (!has(s, i, k)) {
      continue;
    }
    load_tile(1, w, s, n, i, k, last, A, U, x);
    UNROLL
    for (int c = w - 1; c >= 0; --c) {
      UNROLL
      for (int l = 0; l < c; ++l) {
        x[l] -= x[c] * simd_all(T.unit[c][l]);
      }
      simd_store(U + (int64_t)(k + c) * n + i, x[c] * simd_all(T.inverse[c]));
    }
  }
  return 1;
}

/* Factors U in plain loops, for pivots of any size, with 1/U_jj on the diagonal; 0 if one is not
 * positive and finite. */
static __attribute__((noinline)) int factor_plainly(int32_t n, const double *A, double *U) {
  for (int32_t j = n - 1; j >= 0; --j) {
    double *u = U + (int64_t)j * n;
    memcpy(u, A + (int64_t)j * n, (size_t)(j + 1) * sizeof *u);
    for (int32_t k = j + 1; k < n; ++k) {
      const double *right = U + (int64_t)k * n;
      for (int32_t i = 0; i <= j; ++i) {
        u[i] -= right[i] * right[j];
      }
    }
    if (!(u[j] > 0 && u[j] <= DBL_MAX)) {
      return 0;
    }
    u[j] = 1 / sqrt(u[j]);
    for (int32_t i = 0; i < j; ++i) {
      u[i] *= u[j];
    }
  }
  return 1;
}

/* Replaces the triangle T of w columns by T^-1, column by column from the first: column k is -(T^-1
 * left of it) T_k/T_kk, and 1/T_kk, which is there already. */
INLINE void invert_triangle(const int whole, const int w, int32_t n, double *T) {
  const simd_mask part = simd_first(w);
  simd sum[SIMD_WIDTH];
  UNROLL
  for (int k = 0; k < w; ++k) {
    sum[k] = simd_zero();
  }
  UNROLL
  for (int k = 0; k < w; ++k) {
    const simd diagonal = simd_all(T[(int64_t)k * n + k]);
    const simd column = simd_with_lane(simd_zero() - sum[k] * diagonal, k, diagonal);
    UNROLL
    for (int l = k + 1; l < w; ++l) {
      sum[l] += column * simd_all(T[(int64_t)l * n + k]);
    }
    store_rows_of(whole, T + (int64_t)k * n, column, part);
  }
}

/* Finds the vector of rows at i of the w columns from k on: S_ik = -(sum_{i <= j < k} S_ij U_jk)
 * S_kk, by strips. Rows above `first` hold the sum over j < first, with its sign. */
INLINE void invert_tile(const int w, struct strips s, int32_t n, int32_t i, int32_t k,
                        int32_t first, double *U) {
  double *columns = U + (int64_t)k * n;
  simd sum[SIMD_WIDTH];
  UNROLL
  for (int c = 0; c < w; ++c) {
    sum[c] = i < first ? simd_load(columns + (int64_t)c * n + i) : simd_zero();
  }
  for (int32_t j = i < first ? first : i, end; j < k; j = end) {
    end = strip_end(s, j, k);
    if (!(has(s, j, k) && has(s, i, j))) {
      continue;
    }
    for (; j < end; ++j) {
      const simd S_ij = simd_load(U + (int64_t)j * n + i);
      UNROLL
      for (int c = 0; c < w; ++c) {
        sum[c] -= S_ij * simd_all(columns[(int64_t)c * n + j]);
      }
    }
  }
  UNROLL
  for (int c = 0; c < w; ++c) {
    const double *S_kk = columns + (int64_t)c * n + k;
    simd product = simd_zero();
    UNROLL
    for (int l = 0; l <= c; ++l) {
      product += sum[l] * simd_all(S_kk[l]);
    }
    simd_store(columns + (int64_t)c * n + i, product);
  }
}

/* Replaces the w columns of U from k on by those of S, given S to the left. It works on vectors of
 * rows from above, since each needs only U of the rows below it. */
INLINE void invert_columns(const int whole, const int w, struct strips s, int32_t n, int32_t k,
                           int32_t first, double *U) {
  double *columns = U + (int64_t)k * n;
  invert_triangle(whole, w, n, columns + k);
  for (int32_t i = 0; i < n; i += i == k ? w : SIMD_WIDTH) {
    if (i < k && has(s, i, k)) {
      invert_tile(w, s, n, i, k, first, U);
    } else if (i != k) {
      for (int c = 0; c < w; ++c) {
        simd_store_part(columns + (int64_t)c * n + i, simd_zero(), simd_left(n - i));
      }
    }
  }
}

/* Calls f(whole, w, ...) with the width of the strip at k as a constant. */
#define FOR_STRIP(n, k, f, ...)             \
  if ((n) - (k) >= SIMD_WIDTH) {            \
    f(1, SIMD_WIDTH, __VA_ARGS__);          \
  } else {                                  \
    FOR_WIDTH(0, (n) - (k), f, __VA_ARGS__) \
  }

/* Factors the columns from `first` to `last`, the last ones first; 0 if a pivot is out of range. */
static int factor_strips(struct strips s, int32_t n, int32_t first, int32_t last, const double *A,
                         double *U) {
  for (int32_t k = first + (last - first - 1) / SIMD_WIDTH * SIMD_WIDTH; k >= first;
       k -= SIMD_WIDTH) {
    int done = 0;
    FOR_STRIP(last, k, done = factor_columns, s, n, k, last, A, U)
    if (!done) {
      return 0;
    }
  }
  return 1;
}

static void invert_strips(struct strips s, int32_t n, int32_t first, int32_t last, double *U) {
  for (int32_t k = first; k < last; k += SIMD_WIDTH) {
    FOR_STRIP(last, k, invert_columns, s, n, k, first, U)
  }
}

/* ---- large blocks without zeros: most products are those of matrices ---- */

/* Are all vectors of S on and above the diagonal computed? */
static int is_full(struct strips s, int32_t n) {
  for (int32_t k = 0; k < n; k += 1 << s.shift) {
    const uint64_t above = ((uint64_t)2 << (k >> s.shift)) - 1;
    if ((s.of[k >> s.shift] & above) != above) {
      return 0;
    }
  }
  return 1;
}

static int factor_slices(struct strips s, int32_t n, const double *A, double *U) {
  for (int32_t last = n, first; last > 0; last = first) {
    first = (last - 1) / SAP_INVERSE_COLUMNS * SAP_INVERSE_COLUMNS;
    for (int64_t j = first; j < last; ++j) {
      memcpy(U + j * n, A + j * n, (size_t)last * sizeof *U);
    }
    const double *right = U + (int64_t)last * n;
    SAP_OF_ISA(sap_multiply_)(last, last - first, n - last, -1, right, n, right + first, n,
                              U + (int64_t)first * n, n, 0);
    if (!factor_strips(s, n, first, last, U, U)) {
      return 0;
    }
  }
  return 1;
}

/* Replaces the rows above `first` of the columns from there to `last` by -(S left of it) U. */
static void multiply_left(int32_t n, int32_t first, int32_t last, double *U) {
  /* U^T waits below the diagonal */
  for (int64_t j = 0; j < first; ++j) {
    for (int64_t c = first; c < last; ++c) {
      U[j * n + c] = U[c * n + j];
      U[c * n + j] = 0;
    }
  }
  for (int32_t i = 0; i < first; i += SAP_INVERSE_COLUMNS) {
    const double *S = U + (int64_t)i * n;
    SAP_OF_ISA(sap_multiply_)(SAP_INVERSE_COLUMNS, last - first, first - i, -1, S + i, n, S + first,
                              n, U + (int64_t)first * n + i, n, 0);
  }
  for (int64_t j = 0; j < first; ++j) {
    memset(U + j * n + first, 0, (size_t)(last - first) * sizeof *U);
  }
}

static void invert_slices(struct strips s, int32_t n, double *U) {
  for (int32_t first = 0; first < n; first += SAP_INVERSE_COLUMNS) {
    const int32_t last = sap_smaller(first + SAP_INVERSE_COLUMNS, n);
    multiply_left(n, first, last, U);
    invert_strips(s, n, first, last, U);
  }
}

static int invert(int32_t n, const uint64_t *strips, const double *A, double *S) {
  const struct strips s = strips_of(n, strips);
  const int by_slices = n > 2 * SAP_INVERSE_COLUMNS && is_full(s, n);
  const int done = by_slices ? factor_slices(s, n, A, S) : factor_strips(s, n, 0, n, A, S);
  if (!done && !factor_plainly(n, A, S)) {
    return 0;
  }
  if (by_slices) {
    invert_slices(s, n, S);
  } else {
    invert_strips(s, n, 0, n, S);
  }
  return 1;
}

#endif
