/* This module differentiates the effective inverse mass w = |W|_F/n of up to three rows (section
 * IX-A):
 *
 *     W = sum_t J_t A_t^-1 J_t^T,    X_t = J_t A_t^-1,    Y_t = W X_t/(n^2 w)
 *     dw = sum_t 2 Y_t : dJ_t - Y_t : (X_t dA_t)
 *
 * The estimate by diag(A_t) instead of A_t uses only the diagonal of dA_t. */
#ifndef SAPWOOD_PROBLEM_REGULARIZATION_INVERSE_MASS_H
#define SAPWOOD_PROBLEM_REGULARIZATION_INVERSE_MASS_H

#include "problem/regularization/masses.h"

/* Place of rows, or of numbers in their shape, on one side. */
struct sap_row_side {
  int32_t tree;   /* -1 if there is no tree */
  int64_t offset; /* offset of the first row in J */
  int64_t step;   /* doubles, from one row to the next */
};

struct sap_row_set {
  int32_t n_rows;
  int32_t dof; /* velocity of the only entry of a single row, or -1 */
  struct sap_row_side side[2];
};

/* Slope of w; X and Y (3, velocities of the widest tree) of both sides. */
struct sap_inverse_mass_slope {
  const struct sap_row_set *rows;
  double w;
  double *X[2], *Y[2];
};

/* Finds w and its slope; X and Y are the caller's scratch. masses->S of the trees is needed. */
void sap_inverse_mass_slope_find(struct sap_inverse_mass_slope *slope, const sap_problem *problem,
                                 const struct sap_masses *masses, sap_delassus delassus,
                                 const double *J);

/* Adds w_bar times the derivatives of w to J_bar and A_bar; each may be NULL. */
void sap_inverse_mass_pull(const struct sap_inverse_mass_slope *slope, const sap_problem *problem,
                           const struct sap_masses *masses, sap_delassus delassus, double w_bar,
                           double *J_bar, double *A_bar);

/* Returns dw for dJ and dA, which may be NULL for 0. */
double sap_inverse_mass_push(const struct sap_inverse_mass_slope *slope, const sap_problem *problem,
                             const struct sap_masses *masses, sap_delassus delassus,
                             const double *dJ, const double *dA);

#endif
