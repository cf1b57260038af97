/* This module multiplies by S, the inverse of the factor of a block of A (factor_loops.h), and
 * computes blocks J A^-1 J^T. It is compiled once per instruction set. */
#ifndef SAPWOOD_PROBLEM_REGULARIZATION_INVERSE_LOOPS_H
#define SAPWOOD_PROBLEM_REGULARIZATION_INVERSE_LOOPS_H

#include <stdint.h>

#include "linalg/kernels/isa.h"
#include "problem/regularization/factor_loops.h"

/* Returns the sums of the w <= SIMD_WIDTH columns of S from j on times y, or of their `squares`. */
INLINE simd pull_columns(const int w, const int squares, struct strips s, int32_t n, int32_t j,
                         const double *S, const double *y) {
  simd sum[SIMD_WIDTH];
  UNROLL
  for (int c = 0; c < SIMD_WIDTH; ++c) {
    sum[c] = simd_zero();
  }
  for (int32_t i = 0; i <= j; i += SIMD_WIDTH) {
    if (has(s, i, j)) {
      const simd_mask part = simd_left(n - i);
      const simd y_i = squares ? simd_zero() : simd_load_part(y + i, part);
      UNROLL
      for (int c = 0; c < w; ++c) {
        const simd column = simd_load_part(S + (int64_t)(j + c) * n + i, part);
        sum[c] += column * (squares ? column : y_i);
      }
    }
  }
  return simd_sums(sum);
}

INLINE void pull_into(const int whole, const int w, const int squares, struct strips s, int32_t n,
                      int32_t j, const double *S, const double *y, double *x) {
  store_rows_of(whole, x + j, pull_columns(w, squares, s, n, j, S, y), simd_first(w));
}

static void pull_inverse(int32_t n, const uint64_t *strips, const double *S, const double *y,
                         double *x) {
  const struct strips s = strips_of(n, strips);
  for (int32_t j = 0; j < n; j += SIMD_WIDTH) {
    FOR_STRIP(n, j, pull_into, 0, s, n, j, S, y, x)
  }
}

static double multiply_inverse(int32_t n, const uint64_t *strips, const double *S, double *x,
                               double *y) {
  const struct strips s = strips_of(n, strips);
  simd square = simd_zero();
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(n - i);
    simd sum = simd_zero(), odd = simd_zero();
    for (int32_t j = i, end; j < n; j = end) {
      end = strip_end(s, j, n);
      if (!has(s, i, j)) {
        continue;
      }
      for (; j + 1 < end; j += 2) {
        sum += simd_load_part(S + (int64_t)j * n + i, part) * simd_all(x[j]);
        odd += simd_load_part(S + (int64_t)(j + 1) * n + i, part) * simd_all(x[j + 1]);
      }
      if (j < end) {
        sum += simd_load_part(S + (int64_t)j * n + i, part) * simd_all(x[j]);
      }
    }
    sum += odd;
    simd_store_part(y + i, sum, part);
    square += sum * sum;
  }
  pull_inverse(n, strips, S, y, x);
  return simd_sum(square);
}

static void square_columns(int32_t n, const uint64_t *strips, const double *S, double *sums) {
  const struct strips s = strips_of(n, strips);
  for (int32_t j = 0; j < n; j += SIMD_WIDTH) {
    FOR_STRIP(n, j, pull_into, 1, s, n, j, S, NULL, sums)
  }
}

static void add_norms(int32_t n, const uint64_t *strips, const double *S, const double *x,
                      const double *e, struct sap_norms *norms) {
  const struct strips s = strips_of(n, strips);
  simd values = simd_zero(), bounds = simd_zero();
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(n - i);
    simd sum = simd_zero(), bound = simd_zero();
    for (int32_t j = i, end; j < n; j = end) {
      end = strip_end(s, j, n);
      if (!has(s, i, j)) {
        continue;
      }
      for (; j < end; ++j) {
        const simd column = simd_load_part(S + (int64_t)j * n + i, part);
        sum += column * simd_all(x[j]);
        bound += simd_abs(column) * simd_all(e[j]);
      }
    }
    values += sum * sum;
    bounds += bound * bound;
  }
  norms->value += simd_sum(values);
  norms->bound += simd_sum(bounds);
}

static int32_t find_entries(int32_t n_rows, int32_t n, const double *J, int32_t most,
                            int32_t *entry) {
  int32_t count = 0;
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    const simd_mask part = simd_left(n - i);
    simd any = simd_abs(simd_load_part(J + i, part));
    for (int32_t r = 1; r < n_rows; ++r) {
      any += simd_abs(simd_load_part(J + (int64_t)r * n + i, part));
    }
    for (uint32_t left = simd_nonzero(any); left != 0; left &= left - 1) {
      if (count == most) {
        return -1;
      }
      entry[count++] = i + __builtin_ctz(left);
    }
  }
  return count;
}

/* Returns the strips of columns in which J (n_rows, n) has entries. */
INLINE uint64_t strips_moved(const int n_rows, struct strips s, int32_t n, const double *J) {
  uint64_t moved = 0;
  for (int32_t j = 0; j < n; j += SIMD_WIDTH) {
    const simd_mask part = simd_left(n - j);
    simd any = simd_abs(simd_load_part(J + j, part));
    UNROLL
    for (int r = 1; r < n_rows; ++r) {
      any += simd_abs(simd_load_part(J + (int64_t)r * n + j, part));
    }
    moved |= (uint64_t)(simd_nonzero(any) != 0) << (j >> s.shift);
  }
  return moved;
}

/* Finds a vector of rows of S J^T, at i, from the strips of columns that J moves. Even and odd
 * columns have separate sums, so that neither waits for the other. */
INLINE void find_image(const int n_rows, struct strips s, int32_t n, int32_t i, const double *S,
                       const double *J, uint64_t moved, simd y[]) {
  const simd_mask part = simd_left(n - i);
  simd odd[3];
  UNROLL
  for (int r = 0; r < n_rows; ++r) {
    y[r] = odd[r] = simd_zero();
  }
  const int32_t strip = i >> s.shift;
  for (uint64_t left = moved >> strip << strip; left != 0; left &= left - 1) {
    const int32_t k = __builtin_ctzll(left), end = sap_smaller((k + 1) << s.shift, n);
    if (!(s.of[k] >> strip & 1)) {
      continue;
    }
    int32_t j = k == strip ? i : k << s.shift;
    for (; j + 1 < end; j += 2) {
      const simd one = simd_load_part(S + (int64_t)j * n + i, part);
      const simd two = simd_load_part(S + (int64_t)(j + 1) * n + i, part);
      UNROLL
      for (int r = 0; r < n_rows; ++r) {
        y[r] += one * simd_all(J[(int64_t)r * n + j]);
        odd[r] += two * simd_all(J[(int64_t)r * n + j + 1]);
      }
    }
    if (j < end) {
      const simd one = simd_load_part(S + (int64_t)j * n + i, part);
      UNROLL
      for (int r = 0; r < n_rows; ++r) {
        y[r] += one * simd_all(J[(int64_t)r * n + j]);
      }
    }
  }
  UNROLL
  for (int r = 0; r < n_rows; ++r) {
    y[r] += odd[r];
  }
}

INLINE void add_gram_of(const int n_rows, struct strips s, int32_t n, const double *S,
                        const double *J, double W[9]) {
  const uint64_t moved = n <= SIMD_WIDTH ? 1 : strips_moved(n_rows, s, n, J);
  uint64_t rows = 0;
  for (int32_t k = 0; k <= (n - 1) >> s.shift; ++k) {
    rows |= moved >> k & 1 ? s.of[k] : 0;
  }
  simd product[6]; /* lower triangle, row by row */
  UNROLL
  for (int k = 0; k < 6; ++k) {
    product[k] = simd_zero();
  }
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    if (!(rows >> (i >> s.shift) & 1)) {
      continue;
    }
    simd y[3];
    find_image(n_rows, s, n, i, S, J, moved, y);
    UNROLL
    for (int r = 0, k = 0; r < n_rows; ++r) {
      UNROLL
      for (int c = 0; c <= r; ++c, ++k) {
        product[k] += y[r] * y[c];
      }
    }
  }
  double sum[6];
  if (n_rows == 3) {
    simd_sum_three(product, sum, sum + 1, sum + 2);
    simd_sum_three(product + 3, sum + 3, sum + 4, sum + 5);
  }
  UNROLL
  for (int r = 0, k = 0; r < n_rows; ++r) {
    UNROLL
    for (int c = 0; c <= r; ++c, ++k) {
      const double w = n_rows == 3 ? sum[k] : simd_sum(product[k]);
      W[3 * r + c] += w;
      W[3 * c + r] += c < r ? w : 0;
    }
  }
}

static void add_gram(int32_t n, const uint64_t *strips, const double *S, int32_t n_rows,
                     const double *J, double W[9]) {
  const struct strips s = strips_of(n, strips);
  switch (n_rows) {
    case 1: add_gram_of(1, s, n, S, J, W); break;
    case 2: add_gram_of(2, s, n, S, J, W); break;
    default: add_gram_of(3, s, n, S, J, W); break;
  }
}

#endif
