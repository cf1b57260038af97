/* The proximal-point iteration solves problems whose R is too small for double precision, or 0
 * (Rockafellar 1976; for contact Acary et al. 2018). It is the loop behind sap_solver_solve().
 *
 *     gamma_k+1 = argmin  l with R + D_k and v_hat + D_k gamma_k,   D_k = max(R, sigma_k w) - R
 *
 * where w is the effective inverse mass of a contact or row. This is a compliant problem with a
 * spring at a new rest position: it takes few iterations from the velocity before. Its fixed
 * points are the solutions for R alone. sigma begins at 1e-3 and falls by a factor of ten where a
 * solve leaves more than 0.3 of the natural residual (natural_residual.h), down to 1e-6, where
 * (v_hat - v_c)/D keeps ten digits. A solve that fails and improves nothing is repeated from the
 * best impulses with sigma ten times as large. Convex friction and lagged friction are monotone, so
 * that the iteration converges where a solution exists; for Coulomb's friction nothing is proved.
 *
 * Impulses that R alone limits, of constraints that contradict each other, grow by a share of about
 * R/D per solve. Where the iteration does not reach its tolerance and no R is 0, one solve with R
 * as it is follows.
 *
 * The bound on the result holds for R > 0. gamma + F, F of natural_residual.h, solves the problem
 * exactly for v_hat + delta, with delta = (J A^-1 J^T + R - s) F. Since the law is monotone,
 *
 *     |v - v_min|^2_A + |gamma - gamma_min|^2_R <= (gamma - gamma_min)^T delta
 *
 * at gamma + F, which gives |v - v_min|_A <= |delta|_{R^-1}/2 there, and |J^T F|_{A^-1} more at
 * gamma. The round-off of u adds to delta. */
#ifndef SAPWOOD_SOLVER_PROXIMAL_PROXIMAL_H
#define SAPWOOD_SOLVER_PROXIMAL_PROXIMAL_H

#include "solver/proximal/natural_residual.h"

/* The memory of an iteration, in the block solver->proximal. */
struct sap_proximal {
  struct sap_row_blocks blocks;
  struct sap_natural natural;
  double *w;                             /* by row */
  double *center, *gamma, *best;         /* by row: gamma_k, gamma_k+1, best impulses */
  double *error;                         /* (nv) scratch */
  double *R_t, *R_n, *v_hat_n, *v_hat_t; /* contacts of the problem of a solve */
  double *R, *v_hat;                     /* rows of its groups */
  sap_constraints *groups;
  double *v; /* (nv) its velocity */
};

#endif
