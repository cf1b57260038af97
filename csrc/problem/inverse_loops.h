/* Loops over S, the inverse of the factor L of a block of A, S^T S = A^-1, for files that are
 * compiled once per instruction set: S from L, products with it, and blocks J A^-1 J^T. */
#ifndef SAPWOOD_PROBLEM_INVERSE_LOOPS_H
#define SAPWOOD_PROBLEM_INVERSE_LOOPS_H

#include <stdint.h>

#include "linalg/isa.h"

/* the part of a vector that lies before `end` */
static inline simd_mask part_at(int32_t i, int32_t end) {
  return simd_first(end - i < SIMD_WIDTH ? end - i : SIMD_WIDTH);
}

/* T^-1 in place of the triangle T of the c columns of one strip, column by column from the last
 * one: column k is -(T^-1 right of it) T_k/T_kk, and 1/T_kk */
static void invert_triangle(int32_t n, int32_t c, double *T) {
  const simd_mask part = simd_first(c);
  simd sum[SIMD_WIDTH];
  UNROLL
  for (int k = 0; k < SIMD_WIDTH; ++k) {
    sum[k] = simd_zero();
  }
  UNROLL
  for (int k = SIMD_WIDTH - 1; k >= 0; --k) {
    if (k < c) {
      const simd diagonal = simd_all(T[(int64_t)k * n + k]);
      const simd column = simd_with_lane(simd_zero() - sum[k] * diagonal, k, diagonal);
      UNROLL
      for (int l = 0; l < k; ++l) {
        sum[l] += column * simd_all(T[(int64_t)l * n + k]);
      }
      simd_store_part(T + (int64_t)k * n, column, part);
    }
  }
}

/* rows of the strip at i of the columns of the strip at k: S_ik = -(sum_{k < j <= i} S_ij L_jk)
 * S_kk, by strips */
static void invert_block(int32_t n, int32_t i, int32_t k, double *L) {
  const int32_t last = i + SIMD_WIDTH < n ? i + SIMD_WIDTH : n;
  const simd_mask part = part_at(i, n);
  double *columns = L + (int64_t)k * n;
  simd sum[SIMD_WIDTH];
  UNROLL
  for (int c = 0; c < SIMD_WIDTH; ++c) {
    sum[c] = simd_zero();
  }
  for (int32_t j = k + SIMD_WIDTH; j < last; ++j) {
    const simd S_ij = simd_load_part(L + (int64_t)j * n + i, part);
    UNROLL
    for (int c = 0; c < SIMD_WIDTH; ++c) {
      sum[c] -= S_ij * simd_all(columns[(int64_t)c * n + j]);
    }
  }
  UNROLL
  for (int c = 0; c < SIMD_WIDTH; ++c) {
    const double *S_kk = columns + (int64_t)c * n + k;
    simd product = simd_zero();
    UNROLL
    for (int l = c; l < SIMD_WIDTH; ++l) {
      product += sum[l] * simd_all(S_kk[l]);
    }
    simd_store_part(columns + (int64_t)c * n + i, product, part);
  }
}

static void invert_lower(int32_t n, double *L) {
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    invert_triangle(n, n - i < SIMD_WIDTH ? n - i : SIMD_WIDTH, L + (int64_t)i * (n + 1));
  }
  /* strips of rows from below: one needs only L of those above it; and columns from the right */
  for (int32_t i = (n - 1) / SIMD_WIDTH * SIMD_WIDTH; i >= 0; i -= SIMD_WIDTH) {
    for (int32_t k = i - SIMD_WIDTH; k >= 0; k -= SIMD_WIDTH) {
      invert_block(n, i, k, L);
    }
    for (int32_t j = i + SIMD_WIDTH; j < n; ++j) {
      simd_store(L + (int64_t)j * n + i, simd_zero());
    }
  }
}

/* entries [j, j + SIMD_WIDTH) of S^T y, or as many as there are */
INLINE simd pull_columns(const int whole, int32_t n, int32_t j, const double *S, const double *y) {
  simd sum[SIMD_WIDTH];
  UNROLL
  for (int c = 0; c < SIMD_WIDTH; ++c) {
    sum[c] = simd_zero();
  }
  for (int32_t i = j; i < n; i += SIMD_WIDTH) {
    const simd_mask part = part_at(i, n);
    const simd y_i = simd_load_part(y + i, part);
    UNROLL
    for (int c = 0; c < SIMD_WIDTH; ++c) {
      if (whole || j + c < n) {
        sum[c] += simd_load_part(S + (int64_t)(j + c) * n + i, part) * y_i;
      }
    }
  }
  return simd_sums(sum);
}

static double multiply_inverse(int32_t n, const double *S, double *x, double *y) {
  simd square = simd_zero();
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    const simd_mask part = part_at(i, n);
    const int32_t end = i + SIMD_WIDTH < n ? i + SIMD_WIDTH : n;
    simd even = simd_zero(), odd = simd_zero();
    int32_t j = 0;
    for (; j + 1 < end; j += 2) {
      even += simd_load_part(S + (int64_t)j * n + i, part) * simd_all(x[j]);
      odd += simd_load_part(S + (int64_t)(j + 1) * n + i, part) * simd_all(x[j + 1]);
    }
    if (j < end) {
      even += simd_load_part(S + (int64_t)j * n + i, part) * simd_all(x[j]);
    }
    even += odd;
    simd_store_part(y + i, even, part);
    square += even * even;
  }
  int32_t j = 0;
  for (; j + SIMD_WIDTH <= n; j += SIMD_WIDTH) {
    simd_store(x + j, pull_columns(1, n, j, S, y));
  }
  if (j < n) {
    simd_store_part(x + j, pull_columns(0, n, j, S, y), part_at(j, n));
  }
  return simd_sum(square);
}

static void square_columns(int32_t n, const double *S, double *sums) {
  for (int32_t j = 0; j < n; ++j) {
    const double *column = S + (int64_t)j * n;
    simd sum = simd_zero();
    int32_t i = j;
    for (; i + SIMD_WIDTH <= n; i += SIMD_WIDTH) {
      const simd x = simd_load(column + i);
      sum += x * x;
    }
    if (i < n) {
      const simd x = simd_load_part(column + i, part_at(i, n));
      sum += x * x;
    }
    sums[j] = simd_sum(sum);
  }
}

static int32_t find_entries(int32_t n_rows, int32_t n, const double *J, int32_t most,
                            int32_t *entry) {
  int32_t count = 0;
  for (int32_t i = 0; i < n; i += SIMD_WIDTH) {
    const simd_mask part = part_at(i, n);
    simd any = simd_abs(simd_load_part(J + i, part));
    for (int32_t r = 1; r < n_rows; ++r) {
      any += simd_abs(simd_load_part(J + (int64_t)r * n + i, part));
    }
    if (simd_within(any, 0, 0)) {
      continue;
    }
    for (int k = 0; k < SIMD_WIDTH; ++k) {
      if (any[k] != 0) {
        if (count == most) {
          return -1;
        }
        entry[count++] = i + k;
      }
    }
  }
  return count;
}

INLINE void add_gram_of(const int n_rows, int32_t n, const double *S, const double *J,
                        int32_t count, const int32_t *entry, double W[9]) {
  simd product[3][3] = {{simd_zero()}};
  for (int32_t i = count > 0 ? entry[0] / SIMD_WIDTH * SIMD_WIDTH : n; i < n; i += SIMD_WIDTH) {
    const simd_mask part = part_at(i, n);
    const int32_t end = i + SIMD_WIDTH;
    simd y[3] = {simd_zero()};
    for (int32_t e = 0; e < count && entry[e] < end; ++e) { /* S is zero above its diagonal */
      const simd column = simd_load_part(S + (int64_t)entry[e] * n + i, part);
      UNROLL
      for (int r = 0; r < n_rows; ++r) {
        y[r] += column * simd_all(J[(int64_t)r * n + entry[e]]);
      }
    }
    UNROLL
    for (int r = 0; r < n_rows; ++r) {
      UNROLL
      for (int c = 0; c <= r; ++c) {
        product[r][c] += y[r] * y[c];
      }
    }
  }
  UNROLL
  for (int r = 0; r < n_rows; ++r) {
    UNROLL
    for (int c = 0; c <= r; ++c) {
      const double sum = simd_sum(product[r][c]);
      W[3 * r + c] += sum;
      W[3 * c + r] += c < r ? sum : 0;
    }
  }
}

static void add_gram(int32_t n, const double *S, int32_t n_rows, const double *J, int32_t count,
                     const int32_t *entry, double W[9]) {
  switch (n_rows) {
    case 1: add_gram_of(1, n, S, J, count, entry, W); break;
    case 2: add_gram_of(2, n, S, J, count, entry, W); break;
    default: add_gram_of(3, n, S, J, count, entry, W); break;
  }
}

#endif
