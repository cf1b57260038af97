/* Copies of the model for MuJoCo's stages of collisions, rows and sensors.
 *
 * Threads share a model, so none of them may write to it. A copy is struct mjModel alone; some of
 * its arrays lie elsewhere, on the stack of mjData. A copy is valid until the present frame of that
 * stack is freed. Copies of pairs and flags lie in memory of the world, and the lean steps of a run
 * make them once: their bytes would push other arrays out of the cache in each step. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_MODEL_COPY_H
#define SAPWOOD_MUJOCO_SPECULATIVE_MODEL_COPY_H

#include "mujoco/speculative/motion_bound.h"
#include "mujoco/speculative/pairs.h"
#include "sapwood/mujoco.h"

/* Returns the model with more flags of mjDSBL_*. */
const void *sap_mujoco_with_disabled(const sap_mujoco_world *world, int flags);

/* Returns the model without plugins, whose sensors are computed at the stages `needstage`
 * (nsensor). */
const void *sap_mujoco_with_stages(const sap_mujoco_world *world, int *needstage);

/* Returns the model with margins no less than `motion_bound` (n_geoms), m. */
const void *sap_mujoco_with_margins(const sap_mujoco_world *world, const double *motion_bound);

/* Returns a model of two bodies that do not collide, with these pairs as its list of explicit ones.
 * So MuJoCo passes over broad phase and trees of boxes, and each pair has the parameters that
 * MuJoCo would give it, with a margin no less than the distance at which its contacts may close.
 * Without pairs the model is empty, all zeros. */
const void *sap_mujoco_with_pairs(const struct sap_motion_bound *motion_bound,
                                  const struct sap_geom_pair *pair, int32_t n_pairs);

#endif
