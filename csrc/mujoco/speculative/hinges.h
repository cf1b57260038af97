/* Geoms that a hinge keeps apart.
 *
 * Where one hinge is all that lies between two bodies, no point of either moves along its axis as
 * the other sees it. So a plane across the axis with a geom on each side stays between them,
 * whatever turns, falls or is pushed: flanges of a base and of the first link of an arm, which all
 * but touch. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_HINGES_H
#define SAPWOOD_MUJOCO_SPECULATIVE_HINGES_H

#include "sapwood/mujoco.h"

struct sap_separation_bounds;

/* 1 where that leaves more than `own` between two geoms, or less by no more than the round-off of
 * their vertices; `gaps`: NULL where they are another thread's. */
int sap_mujoco_hinge_keeps_apart(const sap_mujoco_world *world, struct sap_separation_bounds *gaps,
                                 int32_t g1, int32_t g2, double own);

#endif
