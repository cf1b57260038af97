/* Which geoms can meet within a step, for the search of contacts ahead.
 *
 * Margins of geoms know nothing of pairs: those of the links of a fast arm reach far beyond the
 * next but one, which moves almost as they do, and the narrow phase of two meshes within their
 * margins costs twenty times that of two that are apart. So pairs are looked at one by one: bodies
 * by what is known of them (model/body_gaps.h) and by spheres around them, geoms by spheres and
 * planes (separation.h), those with meshes also by their distance. What is left is listed; spheres
 * and capsules as they are, since their narrow phase is no dearer than a plane between them. Where
 * there are too many pairs for that, they are for the sweep of MuJoCo. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_PAIRS_H
#define SAPWOOD_MUJOCO_SPECULATIVE_PAIRS_H

#include "mujoco/speculative/motion_bound.h"
#include "mujoco/speculative/speculative_tuning.h"

/* two geoms, the first of the lower body; `given`: of the model's own list, or -1 */
struct sap_geom_pair {
  int32_t geom[2], given;
};

/* Writes the pairs that may meet, and returns how many; -1 where there are too many to be looked at
 * one by one. `pair` (SAP_MOST_PAIRS). */
int32_t sap_mujoco_find_pairs(const struct sap_travel *travel, struct sap_geom_pair *pair);

#endif
