/* One row of a Jacobian of the engine. */
#ifndef SAPWOOD_STEP_DYNAMICS_ENGINE_JACOBIAN_H
#define SAPWOOD_STEP_DYNAMICS_ENGINE_JACOBIAN_H

#include <stddef.h>
#include <stdint.h>

/* A row with n entries, in the columns `column`, or in the first n columns where that is NULL. */
struct sap_engine_jacobian {
  int32_t n;
  const int32_t *column;
  const double *value;
};

/* Returns the product of the row with x. */
static inline double sap_engine_product(const struct sap_engine_jacobian *row, const double *x) {
  double sum = 0.0;
  for (int32_t i = 0; i < row->n; ++i) {
    sum += row->value[i] * x[row->column == NULL ? i : row->column[i]];
  }
  return sum;
}

#endif
