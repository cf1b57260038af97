/* Finds the impulses of the Delassus problem (delassus_problem.h).
 *
 * A semismooth Newton method on the natural map begins with the step that makes all touching
 * contacts stick, which is mostly the solution, or with a gamma near it. A step may increase the
 * residual fivefold before half or a quarter of it is tried: the residual often rises on the way
 * to the solution, and steps that are cut until they descend stall. If Newton's steps fail,
 * Gauss-Seidel sweeps over the blocks resume from the iterate before them and find which contacts
 * touch, stick and slide. Newton's steps follow again. There is no proof of convergence. */
#ifndef SAPWOOD_SOLVER_DELASSUS_DELASSUS_NEWTON_H
#define SAPWOOD_SOLVER_DELASSUS_DELASSUS_NEWTON_H

#include "base/memory.h"
#include "solver/delassus/delassus_problem.h"

/* Carves room for m unknowns of so many contacts and rows. */
void sap_impulses_carve(struct sap_impulses *p, struct sap_arena *arena, size_t contacts, size_t m,
                        size_t rows);

/* Finds gamma. Returns the relative residual: the largest s |gamma - map(gamma)| over the largest
 * s |gamma|. */
typedef double sap_impulses_function(struct sap_impulses *impulses);

/* Returns the function for instruction set `set`, as in sap_kernels_of(). */
sap_impulses_function *sap_impulses_of(int32_t set);

#endif
