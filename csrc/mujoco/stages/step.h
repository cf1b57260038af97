/* Parts of a step, and steps that leave out what nobody reads. The lock of the hooks is held for
 * the contact part alone, so that callbacks of MuJoCo may use the stepper. */
#ifndef SAPWOOD_MUJOCO_STAGES_STEP_H
#define SAPWOOD_MUJOCO_STAGES_STEP_H

#include "step/stepper_object.h"
#include "sapwood/mujoco.h"

/* ---- parts of a step ------------------------------------------------------------------------
 *
 * Each runs whatever the options are and returns the failure of the world. */

/* The first half, up to the velocity-dependent quantities. */
sap_step_failure sap_mujoco_start(sap_mujoco_world *world);

/* Actuator forces and accelerations, and where the stepper takes smooth forces implicitly their
 * derivative. */
sap_step_failure sap_mujoco_find_forces(sap_mujoco_world *world);

/* The second half: forces, contact, sensors, integration. */
sap_step_failure sap_mujoco_finish(sap_mujoco_world *world);

/* Positions, velocities and forces of the state as it is, without sensors of positions and
 * velocities, energies and the control callback. */
sap_step_failure sap_mujoco_evaluate(sap_mujoco_world *world);

/* The contact part alone, sap_stepper_solve(). A solve without a velocity is no failure. */
sap_step_failure sap_mujoco_solve(sap_mujoco_world *world);

/* sap_stepper_gather(), with the velocity `qvel` (nv) at the start of the step; NULL: that of the
 * data. */
sap_step_failure sap_mujoco_gather(sap_mujoco_world *world, const double *qvel);

/* sap_stepper_write(); returns 0 where `found` has other lengths than the problem. */
int sap_mujoco_write(sap_mujoco_world *world, const struct sap_found *found);

/* ---- a whole step --------------------------------------------------------------------------- */

/* sap_mujoco_step(), which may be `lean` (lean_step.h). A lean step that fails, or needs what it
 * left out, is taken again and leaves all; world->lean says which of the two was taken. */
sap_step_failure sap_mujoco_take(sap_mujoco_world *world, int lean);

#endif
