/* Convex solves one after the other, as parts of one solve. */
#ifndef SAPWOOD_SOLVER_COULOMB_PART_H
#define SAPWOOD_SOLVER_COULOMB_PART_H

#include "solver/newton/newton.h"

/* A part of a solve: with such friction for now, to e_m <= tolerance at least, within the
 * iterations that `sum` has left. Adds what it took to *sum, and puts the rest there. */
void sap_solve_part(struct sap_workspace *w, const struct sap_island *island,
                    const sap_settings *settings, sap_friction friction, double tolerance,
                    struct sap_newton_result *sum);

#endif
