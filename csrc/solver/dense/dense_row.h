/* A clamped row of dense.h, and products with its J. A row of one joint, a tendon, an equality or a
 * closed loop has few nonzero entries, and only these are stored. */
#ifndef SAPWOOD_SOLVER_DENSE_DENSE_ROW_H
#define SAPWOOD_SOLVER_DENSE_DENSE_ROW_H

#include "constraints/laws/clamp.h"
#include "problem/products/vectors.h"

/* upper limit of few entries: a coupling of two joints has two, a loop of linkages some more */
enum { SAP_FEW_ENTRIES = 8 };

struct sap_dense_row {
  const double *J; /* (n_entries) */
  const int32_t
      *entry; /* (n_entries >= 1) velocity of each entry, ascending; NULL: all of the tree */
  int32_t n_entries;
  int32_t place; /* index in the order of the groups */
  double R, inverse_R, v_hat, lower, upper;
  double v_c, y, gamma;
  int8_t is_unknown;
};

/* Is the row no unknown, with its impulse between its bounds, so that it follows v? */
static inline int sap_row_is_free(const struct sap_dense_row *row) {
  return !row->is_unknown && sap_clamp_is_free(row->y, row->gamma, row->lower, row->upper);
}

/* Returns J x. */
static inline double sap_row_multiply(const struct sap_dense_row *row,
                                      const struct sap_vector_loops *loops, const double *x) {
  double product;
  if (!row->entry) {
    loops->multiply_rows(1, row->n_entries, row->J, x, &product);
    return product;
  }
  product = *row->J * x[*row->entry];
  for (int32_t k = 1; k < row->n_entries; ++k) {
    product += row->J[k] * x[row->entry[k]];
  }
  return product;
}

/* Returns |J| |x|. */
static inline double sap_row_reach(const struct sap_dense_row *row,
                                   const struct sap_vector_loops *loops, const double *x) {
  double reach;
  if (!row->entry) {
    loops->multiply_absolute(1, row->n_entries, row->J, x, &reach);
    return reach;
  }
  reach = fabs(*row->J * x[*row->entry]);
  for (int32_t k = 1; k < row->n_entries; ++k) {
    reach += fabs(row->J[k] * x[row->entry[k]]);
  }
  return reach;
}

/* Computes y += J^T x. */
static inline void sap_row_add(const struct sap_dense_row *row,
                               const struct sap_vector_loops *loops, double x, double *y) {
  if (!row->entry) {
    loops->add_rows(1, row->n_entries, row->J, &x, y);
    return;
  }
  y[*row->entry] += *row->J * x;
  for (int32_t k = 1; k < row->n_entries; ++k) {
    y[row->entry[k]] += row->J[k] * x;
  }
}

/* Computes y += |J|^T x, x >= 0. */
static inline void sap_row_add_absolute(const struct sap_dense_row *row,
                                        const struct sap_vector_loops *loops, double x, double *y) {
  if (!row->entry) {
    loops->add_absolute_rows(1, row->n_entries, row->J, &x, y);
    return;
  }
  y[*row->entry] += fabs(*row->J) * x;
  for (int32_t k = 1; k < row->n_entries; ++k) {
    y[row->entry[k]] += fabs(row->J[k]) * x;
  }
}

#endif
