/* The derivative of the effective inverse mass w = |W|_F/n of up to three rows (section IX-A):
 *
 *     W = sum_t J_t A_t^-1 J_t^T,    X_t = J_t A_t^-1,    Y_t = W X_t/(n^2 w)
 *     dw = sum_t 2 Y_t : dJ_t - Y_t : (X_t dA_t)
 *
 * and with the estimate by diag(A_t) in place of A_t the diagonal of dA_t alone. */
#ifndef SAPWOOD_PROBLEM_REGULARIZATION_INVERSE_MASS_H
#define SAPWOOD_PROBLEM_REGULARIZATION_INVERSE_MASS_H

#include "problem/regularization/regularization.h"

/* where rows lie, or numbers in their shape */
struct sap_row_side {
  int32_t tree;   /* -1: there is none */
  int64_t offset; /* of the first row in J */
  int64_t step;   /* from one to the next */
};

struct sap_row_set {
  int32_t n_rows;
  int32_t dof; /* velocity that the only entry of a single row is of, or -1 */
  struct sap_row_side side[2];
};

/* of both sides: X and Y (3, velocities of the widest tree) each */
struct sap_inverse_mass_slope {
  const struct sap_row_set *rows;
  double w;
  double *X[2], *Y[2];
};

/* Finds w and its slope; X and Y are the caller's room. masses->S of the trees must be there. */
void sap_inverse_mass_slope_find(struct sap_inverse_mass_slope *slope, const sap_problem *problem,
                                 const struct sap_masses *masses, sap_delassus delassus,
                                 const double *J);

/* J_bar and A_bar += w_bar dw/d of them; each may be NULL */
void sap_inverse_mass_pull(const struct sap_inverse_mass_slope *slope, const sap_problem *problem,
                           const struct sap_masses *masses, sap_delassus delassus, double w_bar,
                           double *J_bar, double *A_bar);

/* dw of dJ and dA, which may be NULL for 0 */
double sap_inverse_mass_push(const struct sap_inverse_mass_slope *slope, const sap_problem *problem,
                             const struct sap_masses *masses, sap_delassus delassus,
                             const double *dJ, const double *dA);

#endif
