/* Linearizes the problem at a given velocity:
 *
 *     l_p(v + dv) = l_p + g^T dv + 1/2 dv^T H dv + o(|dv|^2)
 *     g = A (v - v*) - J^T gamma,    H = A + J^T G J
 *
 * H is factored in double precision, independently of the precision of the solver's directions.
 * Then x = H^-1 b is one back-substitution: a Newton step for b = -g, and at the minimum the
 * derivative of v with respect to any quantity in g, for b = -dg.
 *
 * It works island by island in the caller's workspace. The workspace holds v_c, gamma, G and the
 * gradient at v, and the plan holds the factor, until the island is linearized or solved again. In
 * reduced trees b and x have only the velocities that remain. */
#ifndef SAPWOOD_SOLVER_DERIVATIVES_LINEARIZE_H
#define SAPWOOD_SOLVER_DERIVATIVES_LINEARIZE_H

#include "solver/newton/objective.h"

struct sap_linearization {
  struct sap_evaluation at; /* cost and gradient at v */
  int32_t tree;             /* tree at which H is not positive definite to round-off, or -1 */
};

/* Binds the island and evaluates cost and gradient at v (nv), which stay in the workspace.
 * Arguments and result are those of sap_linearize(). */
int sap_evaluate_at(struct sap_workspace *w, const struct sap_island *island,
                    const sap_problem *problem, const double *v, const double *barrier_scale,
                    struct sap_evaluation *at);

/* Binds the island and linearizes it at v (nv), with the cores of a solution's barrier_scale
 * (n_contacts), unless that is NULL. Returns 0, and no linearization, if a number breaks a rule of
 * sap_workspace_bind(). */
int sap_linearize(struct sap_workspace *w, const struct sap_island *island,
                  const sap_problem *problem, const double *v, const double *barrier_scale,
                  struct sap_linearization *linearization);

/* Factors H at the last evaluation. Returns -1, or the tree at which H is not positive definite to
 * round-off. */
int32_t sap_linearized_factor(struct sap_workspace *w, const struct sap_island *island);

/* Computes x <- H^-1 x by scalar, in place, for an island with a valid factor of H. */
void sap_linearized_solve(const struct sap_workspace *w, const struct sap_island *island,
                          double *x);

#endif
