/* Parts of a step, and steps that leave out what nobody reads. The lock of the hooks is held for
 * the contact part alone, so that callbacks of MuJoCo may use the stepper. */
#ifndef SAPWOOD_MUJOCO_STAGES_STEP_H
#define SAPWOOD_MUJOCO_STAGES_STEP_H

#include "sapwood/mujoco.h"

/* The first half of a step, up to the velocity-dependent quantities, with any options of the
 * model. */
sap_step_failure sap_mujoco_start(sap_mujoco_world *world);

/* The derivative of the smooth forces, where the stepper takes them implicitly, after
 * mj_fwdAcceleration. */
sap_step_failure sap_mujoco_find_slopes(sap_mujoco_world *world);

/* sap_mujoco_step(), which may be `quiet` (lean_step.h). A quiet step that fails, or needs what it left
 * out, is taken again and leaves all; world->quiet says which of the two was taken. */
sap_step_failure sap_mujoco_take(sap_mujoco_world *world, int quiet);

#endif
