/* The contact part of a step: calls of the stepper with the arrays of a world, and the friction
 * memory between two steps. The hooks' lock is held during these calls alone, so that callbacks of
 * MuJoCo may use the stepper. */
#ifndef SAPWOOD_MUJOCO_STAGES_CONTACT_PART_H
#define SAPWOOD_MUJOCO_STAGES_CONTACT_PART_H

#include "step/stepper_object.h"
#include "sapwood/mujoco.h"

/* Gathers, solves, writes back, and fills the record. Open contacts leave the list before their
 * numbers are recorded. Returns 0 with the failure in the world. */
int sap_mujoco_take_contact_part(sap_mujoco_world *world);

/* Marks the friction memory with the state at the end of a step. */
void sap_mujoco_keep_memory(const sap_mujoco_world *world);

/* Calls sap_stepper_solve(). A solve without a velocity is no failure. */
sap_step_failure sap_mujoco_solve(sap_mujoco_world *world);

/* Calls sap_stepper_gather() with the velocity `qvel` (nv) at the start of the step; NULL: that of
 * the data. The friction memory of the world gives the contacts their bounds. */
sap_step_failure sap_mujoco_gather(sap_mujoco_world *world, const double *qvel);

/* Calls sap_stepper_write(); open contacts leave the list. Returns 0 if the lengths of `found` do
 * not fit the problem. */
int sap_mujoco_write(sap_mujoco_world *world, const struct sap_found *found);

/* Makes the step that was gathered and written last the step before for the friction memory, and
 * marks that with the state at the end of the step. */
void sap_mujoco_remember(const sap_mujoco_world *world);

#endif
