/* Geoms that a hinge keeps separated.
 *
 * If a single hinge connects two bodies, no point of either moves along its axis relative to the
 * other. So a plane across the axis with a geom on each side stays between them, however the bodies
 * turn, fall or are pushed. An example are the flanges of a base and of the first link of an arm,
 * which almost touch. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_HINGES_H
#define SAPWOOD_MUJOCO_SPECULATIVE_HINGES_H

#include "sapwood/mujoco.h"

struct sap_separation_bounds;

/* Returns 1 if such a plane leaves more than `own` between two geoms, or less by at most the
 * round-off of their vertices. `gaps`: NULL if another thread has them. */
int sap_mujoco_hinge_keeps_apart(const sap_mujoco_world *world, struct sap_separation_bounds *gaps,
                                 int32_t g1, int32_t g2, double own);

#endif
