/* What MuJoCo's collision stage, and that of rows, are handed in place of the model.
 *
 * Threads share a model, so none of them may write to it: a copy is struct mjModel alone, some of
 * whose arrays lie elsewhere, in memory of the stack of mjData. Copies are valid until the frame of
 * that stack that is open now is freed. */
#ifndef SAPWOOD_MUJOCO_SPECULATIVE_MODEL_COPY_H
#define SAPWOOD_MUJOCO_SPECULATIVE_MODEL_COPY_H

#include "mujoco/speculative/pairs.h"
#include "sapwood/mujoco.h"

/* The model with more flags of mjDSBL_*. */
const void *sap_mujoco_with_disabled(const sap_mujoco_world *world, int flags);

/* The model with margins no less than what geoms travel; `travel` (n_geoms), m. */
const void *sap_mujoco_with_margins(const sap_mujoco_world *world, const double *motion_bound);

/* A model of two bodies that do not collide, with these pairs as its list of explicit ones: broad
 * phase and trees of boxes are passed over, and each pair has the parameters that MuJoCo would
 * give it. Without pairs it is a model of nothing, of zeros. */
const void *sap_mujoco_with_pairs(const sap_mujoco_world *world, const double *motion_bound,
                                  const struct sap_geom_pair *pair, int32_t n_pairs);

#endif
