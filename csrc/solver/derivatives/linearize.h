/* The problem linearized at a velocity of the caller's choice:
 *
 *     l_p(v + dv) = l_p + g^T dv + 1/2 dv^T H dv + o(|dv|^2)
 *     g = A (v - v*) - J^T gamma,    H = A + J^T G J
 *
 * with H factored in double precision, whatever precision directions of the solver have. Then x =
 * H^-1 b is one back-substitution: a Newton step for b = -g, and at the minimum the derivative of v
 * with respect to whatever g depends on, for b = -dg.
 *
 * It works island by island in a workspace of the caller's choice. What belongs to v stands there
 * (v_c, gamma, G and the gradient), and the factor in the plan, until the island is linearized or
 * solved again. Velocities are those that take part: where trees are reduced, b and x are of the
 * ones that stay. */
#ifndef SAPWOOD_SOLVER_DERIVATIVES_LINEARIZE_H
#define SAPWOOD_SOLVER_DERIVATIVES_LINEARIZE_H

#include "solver/newton/objective.h"

struct sap_linearization {
  struct sap_evaluation at; /* cost and gradient at v */
  int32_t tree; /* of the problem, where H is not positive definite to round-off; else -1 */
};

/* Binds the island and linearizes it at v (nv), with cores as a solution's barrier_scale
 * (n_contacts) has them, where that is not NULL. 0 where one of its numbers breaks a rule of
 * sap_workspace_bind(): then there is nothing else. */
int sap_linearize(struct sap_workspace *w, const struct sap_island *island,
                  const sap_problem *problem, const double *v, const double *barrier_scale,
                  struct sap_linearization *linearization);

/* x <- H^-1 x by scalar, in place, for an island whose H has not broken down */
void sap_linearized_solve(const struct sap_workspace *w, const struct sap_island *island,
                          double *x);

#endif
