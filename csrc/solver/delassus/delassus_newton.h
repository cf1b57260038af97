/* The search for the impulses of delassus_problem.h.
 *
 * Newton's method on the map begins with the step to where all that touches sticks, which mostly is
 * what is looked for, or with what is near. Its steps may leave more than there was, five times as
 * much, before half of them or a quarter is tried: the way to what is looked for often leads up,
 * and steps that are cut until they descend end short of it. Where they do not arrive, sweeps over
 * the blocks (Gauss-Seidel) go on from before them to what touches, sticks and slides, and Newton's
 * steps follow again. No convergence is promised. */
#ifndef SAPWOOD_SOLVER_DELASSUS_DELASSUS_NEWTON_H
#define SAPWOOD_SOLVER_DELASSUS_DELASSUS_NEWTON_H

#include "base/memory.h"
#include "solver/delassus/delassus_problem.h"

/* room for m unknowns, those of so many contacts and rows */
void sap_impulses_carve(struct sap_impulses *p, struct sap_arena *arena, size_t contacts, size_t m,
                        size_t rows);

/* Finds gamma. Returns the largest |gamma - map(gamma)|, over the largest |gamma|, both
 * times s. */
typedef double sap_impulses_function(struct sap_impulses *impulses);

/* for the instruction set of number `set`, as in sap_kernels_of() */
sap_impulses_function *sap_impulses_of(int32_t set);

#endif
