#include "lcp/scaling.h"
#include "lcp/lcp_tuning.h"

#include <math.h>

/* Returns the power of two next to 1/sqrt(x); 1 for 0. */
static double inverse_root(double x) { return x > 0 ? exp2(-rint(log2(x) / 2)) : 1; }

/* Returns the largest entry of row and column i of D M D, divided by D_i. */
static double largest_of(int32_t n, const double *M, const double *D, int32_t i) {
  double largest = 0;
  for (int32_t j = 0; j < n; ++j) {
    largest = fmax(largest, D[j] * fmax(fabs(M[(int64_t)i * n + j]), fabs(M[(int64_t)j * n + i])));
  }
  return largest;
}

double lcp_scale(int32_t n, const double *M, const double *q, double *D, double *M_scaled,
                 double *q_scaled) {
  for (int32_t i = 0; i < n; ++i) {
    D[i] = 1;
  }
  for (int round = 0; round < QP_SCALING_ROUNDS; ++round) {
    for (int32_t i = 0; i < n; ++i) {
      D[i] *= inverse_root(D[i] * largest_of(n, M, D, i));
    }
  }
  double largest = 0;
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t j = 0; j < n; ++j) {
      M_scaled[(int64_t)i * n + j] = M[(int64_t)i * n + j] * D[i] * D[j];
    }
    q_scaled[i] = q[i] * D[i];
    largest = fmax(largest, fabs(q_scaled[i]));
  }
  const double s = largest > 0 && isfinite(largest) ? exp2(floor(log2(largest))) : 1;
  for (int32_t i = 0; i < n; ++i) {
    q_scaled[i] /= s;
  }
  return s;
}
