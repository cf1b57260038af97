/* Parts of a step, and lean steps. The contact part is in contact_part.h. */
#ifndef SAPWOOD_MUJOCO_STAGES_STEP_H
#define SAPWOOD_MUJOCO_STAGES_STEP_H

#include "step/stepper_object.h"
#include "sapwood/mujoco.h"

/* ---- parts of a step ------------------------------------------------------------------------
 *
 * Each runs whatever the options are and returns the failure of the world. */

/* Takes the first half, up to the velocity-dependent quantities. */
sap_step_failure sap_mujoco_start(sap_mujoco_world *world);

/* Finds actuator forces and accelerations, and the derivative of smooth forces if the stepper takes
 * them implicitly. */
sap_step_failure sap_mujoco_find_forces(sap_mujoco_world *world);

/* Finds them once more, as after a change of controls: bias forces that were moved to the middle of
 * the step are found at its start first. */
sap_step_failure sap_mujoco_find_forces_again(sap_mujoco_world *world);

/* Takes the second half: forces, contact, sensors, integration. */
sap_step_failure sap_mujoco_finish(sap_mujoco_world *world);

/* Evaluates positions, velocities and forces of the present state. It leaves out sensors of
 * positions and velocities, energies and the control callback. */
sap_step_failure sap_mujoco_evaluate(sap_mujoco_world *world);

/* Runs the stages of a step before its contact part, without sensors, energies and the control
 * callback. */
sap_step_failure sap_mujoco_evaluate_step(sap_mujoco_world *world);

/* Runs those from the velocities on, at positions that were evaluated. */
sap_step_failure sap_mujoco_evaluate_velocities(sap_mujoco_world *world);

/* Writes a solution, found elsewhere, of the problem gathered last, and finds the sensors of
 * accelerations. Returns 0 if its lengths do not fit the problem. */
int sap_mujoco_write_step(sap_mujoco_world *world, const struct sap_found *found);

/* Finds all sensors of a step whose forces were written. */
sap_step_failure sap_mujoco_find_sensors(sap_mujoco_world *world);

enum sap_forward_stage { SAP_FORWARD_POSITIONS, SAP_FORWARD_VELOCITIES, SAP_FORWARD_FORCES };

/* Runs the stages of a full step up to the given one, with all sensors of these stages, and leaves
 * the state. A friction memory stays as it is; friction has no bound of a step before. */
sap_step_failure sap_mujoco_forward(sap_mujoco_world *world, enum sap_forward_stage stage);

/* ---- a whole step --------------------------------------------------------------------------- */

/* Takes a step as sap_mujoco_step() does, `lean` if so asked (lean_step.h). A lean step that fails
 * is taken again as a full one, which leaves more; world->lean says which of the two was taken. */
sap_step_failure sap_mujoco_take(sap_mujoco_world *world, int lean);

#endif
