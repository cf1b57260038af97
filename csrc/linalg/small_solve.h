/* This module solves with the factor of a block too small for the kernels to pay. */
#ifndef SAPWOOD_LINALG_SMALL_SOLVE_H
#define SAPWOOD_LINALG_SMALL_SOLVE_H

#include <stdint.h>

enum { SAP_SMALL_SOLVE = 4 }; /* largest number of columns for which these solves are faster */

/* Sets x <- L^-T L^-1 x for P (n, n) from the kernels' factor, with 1/L_jj on the diagonal. */
static inline void sap_solve_small(int32_t n, const double *restrict P, double *restrict x) {
  for (int32_t j = 0; j < n; ++j) {
    const double *column = P + (int64_t)j * n;
    x[j] *= column[j];
    for (int32_t i = j + 1; i < n; ++i) {
      x[i] -= column[i] * x[j];
    }
  }
  for (int32_t j = n - 1; j >= 0; --j) {
    const double *column = P + (int64_t)j * n;
    double sum = x[j];
    for (int32_t i = j + 1; i < n; ++i) {
      sum -= column[i] * x[i];
    }
    x[j] = sum * column[j];
  }
}

#endif
