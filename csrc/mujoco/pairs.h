/* Which geoms can meet within a step, for the search of contacts ahead.
 *
 * Margins of geoms know nothing of pairs: those of the links of a fast arm reach far beyond the
 * next but one, which moves almost as they do, and the narrow phase of two meshes within their
 * margins costs twenty times that of two that are apart. So pairs are looked at one by one: bodies
 * by spheres around them, geoms by spheres and planes (apart.h), those with meshes also by their
 * distance. What is left is listed; spheres and capsules as they are, since their narrow phase is
 * no dearer than a plane between them. Where there are too many pairs for that, they are for the
 * sweep of MuJoCo. */
#ifndef SAPWOOD_MUJOCO_PAIRS_H
#define SAPWOOD_MUJOCO_PAIRS_H

#include "base/vector.h"
#include "mujoco/twists.h"

/* what geoms travel in a step: m, and m/s that gravity adds; (n_geoms) */
struct sap_travel {
  double *distance, *gain;
  double fall; /* what free fall adds to a speed in a step, m/s */
};

/* A negative margin shrinks a geom: its contacts are those that the user wants to be found late. */
static inline double sap_widened_margin(double own, double travel) {
  return own < 0.0 ? own : sap_larger(own, travel);
}

/* two geoms, the first of the lower body; `given`: of the model's own list, or -1 */
struct sap_geom_pair {
  int32_t geom[2], given;
};

enum { SAP_MOST_PAIRS = 1 << 10 };

/* Writes the pairs that may meet, and returns how many; -1 where there are too many to be looked at
 * one by one. `pair` (SAP_MOST_PAIRS). */
int32_t sap_mujoco_find_pairs(const sap_mujoco_world *world, const struct sap_twist *twist,
                              const struct sap_travel *travel, struct sap_geom_pair *pair);

#endif
