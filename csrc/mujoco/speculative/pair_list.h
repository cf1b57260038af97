/* Lists the pairs of geoms that may meet within a step.
 *
 * Margins of geoms know nothing of pairs: those of the links of a fast arm reach far beyond the
 * next but one, which moves almost as they do, and the narrow phase of two meshes within their
 * margins costs twenty times that of two that are apart. So pairs are tested one by one: bodies by
 * their separation bounds (step/contacts/body_separation.h) and by spheres around them, geoms by
 * spheres and planes (separation.h), those with meshes also by their distance. The list has all
 * pairs that no test keeps apart, and spheres and capsules untested, since their narrow phase costs
 * no more than a plane between them. Where there are too many pairs for that, the broad phase of
 * MuJoCo finds them. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_PAIR_LIST_H
#define SAPWOOD_MUJOCO_SPECULATIVE_PAIR_LIST_H

#include "mujoco/speculative/motion_bound.h"
#include "mujoco/speculative/pairs.h"
#include "mujoco/speculative/speculative_tuning.h"

/* Writes the pairs that may meet, and returns how many; -1 where there are too many to be looked at
 * one by one. `pair` (SAP_MOST_PAIRS). */
int32_t sap_mujoco_find_pairs(const struct sap_motion_bound *motion_bound,
                              struct sap_geom_pair *pair);

#endif
