/* Arithmetic on short vectors in plain order, the length of three numbers, and the larger and the
 * smaller of two numbers. */
#ifndef SAPWOOD_BASE_ARITHMETIC_H
#define SAPWOOD_BASE_ARITHMETIC_H

#include <math.h>
#include <stdint.h>

/* The larger and the smaller number, without a branch or a call; b if one of them is NaN. */
static inline double sap_larger(double a, double b) { return a > b ? a : b; }
static inline double sap_lesser(double a, double b) { return a < b ? a : b; }

/* Returns x . y, from four sums, which do not wait for each other. */
static inline double sap_vector_dot(int32_t n, const double *x, const double *y) {
  double sum[4] = {0.0, 0.0, 0.0, 0.0};
  int32_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int k = 0; k < 4; ++k) {
      sum[k] += x[i + k] * y[i + k];
    }
  }
  for (; i < n; ++i) {
    sum[0] += x[i] * y[i];
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static inline double sap_length(const double *x) { return sqrt(sap_vector_dot(3, x, x)); }

/* Computes c += a x b for vectors of three. */
static inline void sap_vector_add_cross(const double *a, const double *b, double *c) {
  c[0] += a[1] * b[2] - a[2] * b[1];
  c[1] += a[2] * b[0] - a[0] * b[2];
  c[2] += a[0] * b[1] - a[1] * b[0];
}

/* y += a x */
static inline void sap_vector_add(int32_t n, double a, const double *restrict x,
                                  double *restrict y) {
  for (int32_t i = 0; i < n; ++i) {
    y[i] += a * x[i];
  }
}

#endif
