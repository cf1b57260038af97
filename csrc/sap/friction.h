/* The solve of one island with the friction that the settings ask for. */
#ifndef SAPWOOD_SAP_FRICTION_H
#define SAPWOOD_SAP_FRICTION_H

#include "sap/newton.h"

/* Convex friction is one minimisation (newton.h). Lagged friction is one with bounds of the step
 * before; for contacts where they are not known, those of a rough solution with Coulomb's.
 * Coulomb's is in coulomb.h. */
struct sap_newton_result sap_solve_friction(struct sap_workspace *w,
                                            const struct sap_island *island,
                                            const sap_settings *settings);

/* A part of a solve: with such friction for now, to e_m <= tolerance at least, within the iterations
 * that `sum` has left. Adds what it took to *sum, and puts the rest there. */
void sap_solve_part(struct sap_workspace *w, const struct sap_island *island,
                    const sap_settings *settings, sap_friction friction, double tolerance,
                    struct sap_newton_result *sum);

#endif
