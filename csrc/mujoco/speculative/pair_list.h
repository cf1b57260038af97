/* Lists the pairs of geoms that may meet within a step.
 *
 * Margins belong to geoms, not to pairs. In a fast arm the margins of a link reach far beyond the
 * next but one link, which moves almost as it does. The narrow phase of two meshes within their
 * margins costs twenty times that of two separated ones. So pairs are tested one by one. Bodies
 * have their separation bounds (step/contacts/body_separation.h) and spheres around them; geoms
 * have spheres and planes (separation.h), and meshes also their distance. The list has all pairs
 * that no test separates. Spheres and capsules are listed untested, because their narrow phase
 * costs no more than a plane between them. If there are too many pairs for that, the broad phase of
 * MuJoCo finds them. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_PAIR_LIST_H
#define SAPWOOD_MUJOCO_SPECULATIVE_PAIR_LIST_H

#include "mujoco/speculative/motion_bound.h"
#include "mujoco/speculative/pairs.h"
#include "mujoco/speculative/speculative_tuning.h"

/* Writes the pairs that may meet to `pair` (SAP_MOST_PAIRS), and returns their number; -1 if there
 * are too many to test one by one. */
int32_t sap_mujoco_find_pairs(const struct sap_motion_bound *motion_bound,
                              struct sap_geom_pair *pair);

#endif
