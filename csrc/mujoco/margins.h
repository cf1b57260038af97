/* Margins of geoms that hold what may close within a step.
 *
 * MuJoCo lists a contact while the distance of two geoms is below the sum of their margins. In the
 * position stage of a step the margin of a geom is its own or, where that is more,
 *
 *     (1 + SAP_OPEN_TIME) dt (v + min(dt |g|, dt |g|/10 + 4 v)),  v = V + W r
 *
 * V: bound of the speed of its body's origin, W: of its angular speed, both from the joint
 * velocities and the lengths of the model alone; r: the most that a point of the geom that can come
 * closer by a rotation is away from that origin. Geoms without a dof keep their own margin. This
 * decides what is listed; what acts is for sap_gather_run().
 *
 * Threads share a model, so none of them may write to it: MuJoCo is handed a copy of struct mjModel
 * alone, whose margins lie elsewhere, in memory of the stack of mjData. */
#ifndef SAPWOOD_MUJOCO_MARGINS_H
#define SAPWOOD_MUJOCO_MARGINS_H

#include "sapwood/mujoco.h"

/* The copy, to be used until the frame of the stack of mjData that was open in the call is freed.
 * It is read-only, and so is all that it shares with the model. */
const void *sap_mujoco_with_margins(const sap_mujoco_world *world);

#endif
