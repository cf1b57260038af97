/* Solves a few dozen equations by Gaussian elimination, for files that are compiled once per
 * instruction set.
 *
 * Rows follow each other at a stride of whole vectors, with the right-hand side behind their m
 * coefficients and finite numbers behind that. Rows are exchanged only if little of the diagonal
 * remains. */
#ifndef SAPWOOD_SOLVER_DELASSUS_ELIMINATION_H
#define SAPWOOD_SOLVER_DELASSUS_ELIMINATION_H

#include <math.h>

#include "linalg/kernels/isa.h"
#include "solver/delassus/delassus_problem.h"
#include "solver/solver_tuning.h"

/* Exchanges `row` with the row that has the largest entry in a column, among it and the n rows
 * after it. */
static inline void exchange(double *row, int32_t n, int32_t ld, int32_t column) {
  double *pivot = row;
  for (int32_t i = 1; i <= n; ++i) {
    double *below = row + (int64_t)i * ld;
    pivot = fabs(below[column]) > fabs(pivot[column]) ? below : pivot;
  }
  for (int32_t j = 0; pivot != row && j < ld; ++j) {
    const double x = row[j];
    row[j] = pivot[j];
    pivot[j] = x;
  }
}

/* Subtracts multiples of V vectors of P rows, of which `row` is the first, from each of the n rows
 * after them. `times` has P multiples for each. */
INLINE void subtract_rows(const int P, const int V, int32_t n, double *row, int32_t ld,
                          const double *times) {
  simd top[2][4];
  UNROLL
  for (int q = 0; q < P; ++q) {
    UNROLL
    for (int v = 0; v < V; ++v) {
      top[q][v] = simd_load(row + (int64_t)q * ld + v * SIMD_WIDTH);
    }
  }
  for (int32_t i = 0; i < n; ++i) {
    double *below = row + (int64_t)(i + P) * ld;
    UNROLL
    for (int v = 0; v < V; ++v) {
      double *x = below + v * SIMD_WIDTH;
      simd rest = simd_load(x);
      UNROLL
      for (int q = 0; q < P; ++q) {
        rest -= simd_all(times[P * i + q]) * top[q][v];
      }
      simd_store(x, rest);
    }
  }
}

/* Does the same for entries [begin, ld). */
INLINE void subtract_rest(const int P, int32_t n, double *row, int32_t ld, int32_t begin,
                          const double *times) {
  int32_t vectors = (ld - begin) / SIMD_WIDTH;
  for (; vectors >= 4; vectors -= 4, begin += 4 * SIMD_WIDTH) {
    subtract_rows(P, 4, n, row + begin, ld, times);
  }
  if (vectors == 3) {
    subtract_rows(P, 3, n, row + begin, ld, times);
  } else if (vectors == 2) {
    subtract_rows(P, 2, n, row + begin, ld, times);
  } else if (vectors == 1) {
    subtract_rows(P, 1, n, row + begin, ld, times);
  }
}

/* Eliminates unknown k from the n rows after `row`. Returns 0 if its pivot is 0 or not finite. */
INLINE int eliminate_one(int32_t k, int32_t n, double *row, int32_t ld, double least,
                         double *times) {
  if (!(fabs(row[k]) > least)) {
    exchange(row, n, ld, k);
  }
  const double inverse = 1 / row[k];
  if (!(fabs(inverse) < INFINITY)) {
    return 0;
  }
  for (int32_t i = 0; i < n; ++i) {
    times[i] = row[(int64_t)(i + 1) * ld + k] * inverse;
  }
  subtract_rest(1, n, row, ld, k & ~(SIMD_WIDTH - 1), times);
  row[k] = inverse;
  return 1;
}

/* Eliminates unknowns k and k + 1 from the n rows after two at once, which reads and writes these
 * half as often. Returns 0, with all rows unchanged, if rows should be exchanged. */
INLINE int eliminate_two(int32_t k, int32_t n, double *row, int32_t ld, const double least[2],
                         double *times) {
  double *second = row + ld;
  const double inverse = 1 / row[k], share = second[k] * inverse;
  const double pivot = second[k + 1] - share * row[k + 1], inverse_2 = 1 / pivot;
  if (!(fabs(row[k]) > least[0] && fabs(pivot) > least[1] && fabs(inverse_2) < INFINITY)) {
    return 0;
  }
  const int32_t begin = k & ~(SIMD_WIDTH - 1);
  for (int32_t j = begin; j < ld; j += SIMD_WIDTH) {
    simd_store(second + j, simd_load(second + j) - simd_all(share) * simd_load(row + j));
  }
  for (int32_t i = 0; i < n; ++i) {
    const double *below = row + (int64_t)(i + 2) * ld;
    times[2 * i] = below[k] * inverse;
    times[2 * i + 1] = (below[k + 1] - times[2 * i] * row[k + 1]) * inverse_2;
  }
  subtract_rest(2, n, row, ld, begin, times);
  row[k] = inverse;
  second[k + 1] = inverse_2;
  return 1;
}

/* Solves n equations of V vectors each in registers. Pivots are blocks of two, one per sliding
 * contact, and rows above them change too (Gauss-Jordan). This saves divisions and the back
 * substitution. Returns 0, with the rows unchanged, if a block is so small that rows should be
 * exchanged. */
INLINE int solve_pairs(const int V, const int n, const double *rows, double *x) {
  simd row[6][SAP_IMPULSES_CHUNK / SIMD_WIDTH];
  UNROLL
  for (int i = 0; i < n; ++i) {
    UNROLL
    for (int v = 0; v < V; ++v) {
      row[i][v] = simd_load(rows + (i * V + v) * SIMD_WIDTH);
    }
  }
  UNROLL
  for (int k = 0; k < n; k += 2) {
    const int v_k = k / SIMD_WIDTH, lane = k % SIMD_WIDTH;
    const simd_scalar a = simd_lane(row[k][v_k], lane), b = simd_lane(row[k][v_k], lane + 1);
    const simd_scalar c = simd_lane(row[k + 1][v_k], lane);
    const simd_scalar d = simd_lane(row[k + 1][v_k], lane + 1);
    const simd_scalar determinant = a * d - b * c;
    const double whole = rows[k * V * SIMD_WIDTH + k] * rows[(k + 1) * V * SIMD_WIDTH + k + 1];
    if (!(fabs(determinant[0]) > sap_least_pivot * fabs(whole) &&
          fabs(determinant[0]) < INFINITY)) {
      return 0;
    }
    const simd inverse = simd_spread(simd_scalar_of(1) / determinant);
    const simd all_a = simd_spread(a), all_b = simd_spread(b);
    const simd all_c = simd_spread(c), all_d = simd_spread(d);
    UNROLL
    for (int v = 0; v < V; ++v) {
      const simd upper = (all_d * row[k][v] - all_b * row[k + 1][v]) * inverse;
      row[k + 1][v] = (all_a * row[k + 1][v] - all_c * row[k][v]) * inverse;
      row[k][v] = upper;
    }
    UNROLL
    for (int i = 0; i < n; ++i) {
      if (i == k || i == k + 1) {
        continue;
      }
      const simd left = simd_lane_to_all(row[i][v_k], lane);
      const simd right = simd_lane_to_all(row[i][v_k], lane + 1);
      UNROLL
      for (int v = 0; v < V; ++v) {
        row[i][v] -= left * row[k][v] + right * row[k + 1][v];
      }
    }
  }
  UNROLL
  for (int i = 0; i < n; ++i) {
    x[i] = simd_lane(row[i][n / SIMD_WIDTH], n % SIMD_WIDTH)[0];
  }
  return 1;
}

/* Does the same for any n. Returns 0 unless n is two, four or six. */
INLINE int solve_few(int32_t n, const double *rows, double *x) {
  enum { V = SAP_IMPULSES_CHUNK / SIMD_WIDTH };
  switch (n) {
    case 2: return solve_pairs(V, 2, rows, x);
    case 4: return solve_pairs(V, 4, rows, x);
    case 6: return solve_pairs(V, 6, rows, x);
    default: return 0;
  }
}

/* Solves a x = b, x (m), for the m rows [a b], which are overwritten. Returns 0 if there is no
 * solution. `times` (2 m) is scratch. */
INLINE int solve_rows(int32_t m, int32_t ld, double *rows, double *times, double *x) {
  if (solve_few(m, rows, x)) {
    return 1;
  }
  for (int32_t k = 0; k < m; ++k) {
    x[k] = sap_least_pivot * fabs(rows[(int64_t)k * (ld + 1)]);
  }
  for (int32_t k = 0; k < m;) {
    double *row = rows + (int64_t)k * ld;
    if (k + 1 < m && eliminate_two(k, m - k - 2, row, ld, x + k, times)) {
      k += 2;
    } else if (eliminate_one(k, m - k - 1, row, ld, x[k], times)) {
      ++k;
    } else {
      return 0;
    }
  }
  /* the entries found first are subtracted first, so that the sum waits only for the last one */
  for (int32_t k = m - 1; k >= 0; --k) {
    const double *row = rows + (int64_t)k * ld;
    double sum = row[m];
    for (int32_t j = m - 1; j > k; --j) {
      sum -= row[j] * x[j];
    }
    x[k] = sum * row[k];
  }
  return 1;
}

#endif
