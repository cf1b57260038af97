/* Rotation at the middle of the step: single bodies by step/dynamics/free_rotation.h, trees with
 * joints below by step/dynamics/tree_rotation.h. */
#ifndef SAPWOOD_MUJOCO_STAGES_ROTATION_H
#define SAPWOOD_MUJOCO_STAGES_ROTATION_H

#include "sapwood/mujoco.h"

/* Changes the bias and smooth forces and the free acceleration of the data, after the smooth forces
 * were found. Trees that keep the forces at v_0 set SAP_FALLBACK_EXPLICIT_ROTATION. Velocities of
 * bodies, which sensors read, are left as they are in full steps; lean steps leave those at v_m. */
void sap_mujoco_take_rotation(sap_mujoco_world *world);

/* Returns 1 if sap_mujoco_take_rotation() may change forces at the velocities of the data. */
int sap_mujoco_takes_rotation(const sap_mujoco_world *world);

#endif
