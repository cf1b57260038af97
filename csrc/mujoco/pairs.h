/* Which geoms can meet within a step, for the search of contacts ahead.
 *
 * Margins of geoms know nothing of pairs: those of the links of a fast arm reach far beyond the
 * next but one, which moves almost as they do, and the narrow phase of two meshes within their
 * margins costs twenty times that of two that are apart. So pairs are looked at one by one
 * (apart.h), those with meshes also by their distance. Geoms that stay apart from all others need
 * no margin, and two bodies whose geoms all stay apart are excluded from the search.
 *
 * Bodies look at others if they are fast, have edges, and belong to a robot: margins of slow ones
 * hold few others, spheres and capsules cost no more than a plane between them, and free bodies,
 * as wherever there are too many pairs, are for the sweep of MuJoCo. */
#ifndef SAPWOOD_MUJOCO_PAIRS_H
#define SAPWOOD_MUJOCO_PAIRS_H

#include "mujoco/twists.h"

/* what geoms travel in a step: m, and m/s that gravity adds; (n_geoms) */
struct sap_travel {
  double *distance, *gain;
};

/* of this step, in the stack of mjData */
struct sap_pairs {
  int64_t n_excluded;
  const int *excluded; /* pairs of bodies as in exclude_signature, those of the model among them */
};

/* Sets to 0 what geoms travel that meet no other. */
struct sap_pairs sap_mujoco_find_pairs(const sap_mujoco_world *world, const struct sap_twist *twist,
                                       const struct sap_travel *travel);

#endif
