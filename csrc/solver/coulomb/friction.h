/* The solve of one island with the friction that the settings ask for. */
#ifndef SAPWOOD_SOLVER_COULOMB_FRICTION_H
#define SAPWOOD_SOLVER_COULOMB_FRICTION_H

#include "solver/newton/newton.h"

/* Convex friction is one minimisation (newton.h). Lagged friction is one with bounds of the step
 * before; for contacts where they are not known, those of a rough solution with Coulomb's.
 * Coulomb's is in coulomb.h. */
struct sap_newton_result sap_solve_friction(struct sap_workspace *w,
                                            const struct sap_island *island,
                                            const sap_settings *settings);

/* sap_evaluate() where nothing was solved: lagged friction whose bounds are not known has those of
 * Coulomb's law at v */
struct sap_evaluation sap_evaluate_bounded(struct sap_workspace *w,
                                           const struct sap_island *island);

#endif
