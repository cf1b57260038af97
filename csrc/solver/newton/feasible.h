/* Starts inside of the domains of barriers (constraints/barrier.h).
 *
 * A guess outside is moved towards v = 0, where every contact is inside, for those that start too
 * deep have been given a larger kappa, unless a surface moves. Where one does, the start is the
 * minimiser of the sticking start (direction.h), which follows the surfaces; should it be outside
 * too, kappa is raised for as many contacts as that takes, and the minimiser with these is the
 * start for the next, smaller ones. */
#ifndef SAPWOOD_SOLVER_NEWTON_FEASIBLE_H
#define SAPWOOD_SOLVER_NEWTON_FEASIBLE_H

#include "solver/newton/objective.h"

/* Moves w->v, outside after sap_evaluate(), inside; the number of contacts whose kappa had to be
 * raised for that. Uses dv. */
int32_t sap_start_inside(struct sap_workspace *w, const struct sap_island *island,
                         sap_friction friction);

/* After sap_evaluate(): the smallest kappa that w->v allows, with delta at least `least` >= 1 times
 * as large as it should be; the number of contacts for which it is larger. Needs a new
 * sap_evaluate(). */
int32_t sap_fit_barriers(struct sap_workspace *w, const struct sap_island *island, double least);

#endif
