/* Loops over triples share these rounds: their intermediate results stay in the first-level
 * cache. */
#ifndef SAPWOOD_CONSTRAINTS_SUMS_H
#define SAPWOOD_CONSTRAINTS_SUMS_H

#include <stddef.h>
#include <stdint.h>

#include "constraints/constraints_tuning.h"
#include "linalg/kernels/isa.h"

/* partial sums, in an order that does not depend on the compiler */
enum { SAP_LANES = 8 };

/* Returns the number of triples of the round that begins at `first`. */
static inline int32_t sap_round(int32_t first, int32_t end) {
  return end - first < SAP_ROUND ? end - first : SAP_ROUND;
}

/* Returns the sum of n <= SAP_ROUND terms in SAP_LANES partial sums. */
static inline double sap_sum_round(const double *x, int32_t n) {
  double lane[SAP_LANES] = {0};
  int32_t i = 0;
  for (; i + SAP_LANES <= n; i += SAP_LANES) {
    for (int k = 0; k < SAP_LANES; ++k) {
      lane[k] += x[i + k];
    }
  }
  double sum = 0;
  for (int k = 0; k < SAP_LANES; ++k) {
    sum += lane[k];
  }
  for (; i < n; ++i) {
    sum += x[i];
  }
  return sum;
}

#endif
