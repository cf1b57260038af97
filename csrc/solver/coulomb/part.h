/* Runs convex solves one after the other, as parts of one solve. */
#ifndef SAPWOOD_SOLVER_COULOMB_PART_H
#define SAPWOOD_SOLVER_COULOMB_PART_H

#include "solver/newton/newton.h"

/* Runs one part of a solve with this law of friction, to e_m <= tolerance at least, within the
 * iterations that `sum` leaves. Adds its iterations and times to *sum, and writes the other results
 * there. */
void sap_solve_part(struct sap_workspace *w, const struct sap_island *island,
                    const sap_settings *settings, sap_friction friction, double tolerance,
                    struct sap_newton_result *sum);

#endif
