/* Finds a start inside the domains of barriers (constraints/laws/rigid_core.h).
 *
 * A guess outside is moved towards v = 0. There every contact is inside unless a surface moves, for
 * contacts that start too deep have been given a larger kappa. If a surface moves, the start is the
 * minimiser of the stick start (direction.h), which follows the surfaces. If that lies outside too,
 * kappa is raised for as many contacts as necessary, and the minimiser with these values is the
 * start for the next, smaller ones. */
#ifndef SAPWOOD_SOLVER_NEWTON_FEASIBLE_H
#define SAPWOOD_SOLVER_NEWTON_FEASIBLE_H

#include "solver/newton/objective.h"

/* Moves w->v, outside after sap_evaluate(), inside. Returns the number of contacts with a kappa
 * that had to be raised for that. Uses dv. */
int32_t sap_start_inside(struct sap_workspace *w, const struct sap_island *island,
                         sap_friction friction);

/* Sets the smallest kappa that w->v allows after sap_evaluate(), with delta at least `least` >= 1
 * times its true value. Returns the number of contacts with a larger delta. Needs a new
 * sap_evaluate(). */
int32_t sap_fit_barriers(struct sap_workspace *w, const struct sap_island *island, double least);

#endif
