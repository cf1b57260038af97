/* Solves one island with the friction law of the settings. */
#ifndef SAPWOOD_SOLVER_COULOMB_FRICTION_H
#define SAPWOOD_SOLVER_COULOMB_FRICTION_H

#include "solver/newton/newton.h"

/* Convex friction takes one minimisation (newton.h). Lagged friction takes one with the bounds of
 * the previous step; contacts with unknown bounds get them from a rough solution with Coulomb's
 * friction. Coulomb's friction is in coulomb.h. */
struct sap_newton_result sap_solve_friction(struct sap_workspace *w,
                                            const struct sap_island *island,
                                            const sap_settings *settings);

/* Evaluates at v without a solve. Lagged friction with unknown bounds takes those of Coulomb's law
 * at v. */
struct sap_evaluation sap_evaluate_bounded(struct sap_workspace *w,
                                           const struct sap_island *island);

#endif
