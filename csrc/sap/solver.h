/* The solver object behind sapwood.h: settings and workspace. */
#ifndef SAPWOOD_SAP_SOLVER_H
#define SAPWOOD_SAP_SOLVER_H

#include "sap/regularization.h"
#include "sap/workspace.h"

struct sap_solver {
  sap_settings settings;
  struct sap_workspace work;
};

/* Checks the problem, makes the workspace fit it and binds the numbers. *reused: the graph was that of
 * the call before. Where `physical` is not NULL, R_t, R_n and v_hat_n of the problem are not read but
 * computed, and likewise R, v_hat and the bounds of its groups where it has their parameters. With `reduce` the velocities that no constraint moves are eliminated, see reduction.h. */
sap_status sap_solver_load(sap_solver *solver, const sap_problem *problem,
                           const struct sap_regularization *physical, int reduce, int32_t *reused,
                           double *symbolic_seconds, sap_error *error);

/* sap_solver_solve_physical(), the groups included where `physical` has their parameters */
sap_status sap_solver_solve_regularized(sap_solver *solver, const sap_problem *problem,
                                        const struct sap_regularization *physical,
                                        const double *v_guess, sap_solution *solution,
                                        sap_error *error);

#endif
