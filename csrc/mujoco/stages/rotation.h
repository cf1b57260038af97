/* Rotation at the middle of the step: single bodies by step/dynamics/free_rotation.h, trees with
 * joints below by step/dynamics/tree_rotation.h. */
#ifndef SAPWOOD_MUJOCO_STAGES_ROTATION_H
#define SAPWOOD_MUJOCO_STAGES_ROTATION_H

#include "sapwood/mujoco.h"

/* Changes the bias and smooth forces and the free acceleration of the data, after the smooth forces
 * were found. Trees that keep the forces at v_0 set SAP_FALLBACK_EXPLICIT_ROTATION. Velocities of
 * bodies, which sensors read, are left as they are in full steps; lean steps leave those at v_m. */
void sap_mujoco_take_rotation(sap_mujoco_world *world);

/* Returns 1 if one of the functions here may change forces at the velocities of the data. */
int sap_mujoco_takes_rotation(const sap_mujoco_world *world);

/* Returns 1 if trees in equality constraints turn so fast that the step is corrected. */
int sap_mujoco_turns_held_trees(const sap_mujoco_world *world);

/* Changes the same forces of these trees by the velocity v (nv) that the step has ended with; a
 * correction of sap_step_arrays. It takes none if MuJoCo's stack is full. */
void sap_mujoco_correct_rotation(void *world, const double *v);

#endif
