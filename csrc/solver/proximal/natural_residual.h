/* This module judges impulses by themselves. With u = J (v* + A^-1 J^T gamma) - v_hat + R gamma,
 * and the weights s = w + R of contacts and rows, the natural residual is
 *
 *     F = P(gamma - u/s) - gamma
 *
 * where P projects onto the impulses that a law allows, contact by contact and row by row:
 *
 *     convex    the cone |gamma_t| <= mu gamma_n
 *     lagged    gamma_n >= 0 and |gamma_t| <= b
 *     coulomb   gamma_n >= 0 and |gamma_t| <= mu P_n
 *     rows      lower <= gamma <= upper
 *
 * F is 0 at a solution, and nowhere else. |x|_s = sqrt(sum s x^2) has the unit sqrt(J) whatever the
 * units of the rows. The vectors belong to the caller. */
#ifndef SAPWOOD_SOLVER_PROXIMAL_NATURAL_RESIDUAL_H
#define SAPWOOD_SOLVER_PROXIMAL_NATURAL_RESIDUAL_H

#include "solver/proximal/row_blocks.h"

struct sap_natural {
  const struct sap_row_blocks *blocks;
  sap_friction friction;
  /* by row */
  double *R, *v_hat, *s; /* the numbers of the given problem */
  double *lower, *upper; /* bounds of the rows of groups; b in `upper` of lagged contacts */
  double *v_c, *u, *F;
  double *magnitude; /* |J| |v|, m/s */
  /* by velocity */
  double *v; /* v* + A^-1 J^T gamma */
  double *scratch;
  /* by contact */
  int8_t *regions; /* enum sap_region */

  double size;      /* |gamma|_s, sqrt(J) */
  double error;     /* |F|_s, sqrt(J) */
  double round_off; /* bound on the error of |F|_s by the round-off of u, sqrt(J) */
};

/* Fills R, v_hat, s, lower and upper from the problem and the effective masses w (n_rows). */
void sap_natural_read(struct sap_natural *natural, const double *w);

/* Evaluates everything else at impulses (n_rows). */
void sap_natural_evaluate(struct sap_natural *natural, const double *gamma);

/* Returns |F|_s over |gamma|_s, 0 where F is 0. */
double sap_natural_residual(const struct sap_natural *natural);

/* Returns a bound on |v - v_min|_A, see proximal.h, at the impulses of the last evaluation. With
 * Coulomb's friction v_min belongs to the bounds b = mu P_n. Uses three vectors (n_rows), (nv) and
 * (nv) of scratch. */
double sap_natural_bound(const struct sap_natural *natural, const double *gamma,
                         double *row_scratch, double *scratch, double *error);

#endif
