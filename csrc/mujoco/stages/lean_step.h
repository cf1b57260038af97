/* Lean steps: all steps of a run except the last one. Nobody reads the data that they leave.
 *
 * A step leaves much in mjData that the next one computes again: rows of constraints, values of
 * sensors, energies, poses of cameras and lights. A lean step computes only what the next state
 * needs, and that state has the same bits. It makes the rows of equality constraints and of dry
 * friction of tendons, because step/joints/constraints.h gathers from them. Rows of contacts,
 * limits and dofs with friction merely receive forces. */
#ifndef SAPWOOD_MUJOCO_STAGES_LEAN_STEP_H
#define SAPWOOD_MUJOCO_STAGES_LEAN_STEP_H

#include "sapwood/mujoco.h"

/* Prepares lean steps at the start of a run. Returns 0 if every step must be full: its values are
 * recorded; or a state depends on what lean steps leave out (plugins, histories of sensors,
 * flexes); or other parts than the contact part read rows. */
int sap_mujoco_begin_lean(sap_mujoco_world *world);

/* Returns 1 if a callback is registered, which may read anything. */
int sap_mujoco_is_watched(const sap_mujoco_world *world);

/* Chooses whether a lean step from this state finds qacc_smooth, which trees with damping or
 * controllers do not read, since their a* follows from A; and the factor of M, which trees that
 * turn fast read as well. Other steps find both. */
void sap_mujoco_choose_products(sap_mujoco_world *world);

/* Finds qfrc_smooth of a step without qacc_smooth. */
void sap_mujoco_add_smooth_forces(const sap_mujoco_world *world);

/* Makes the rows that a lean step reads, and returns 1. It runs after the collision stage, which
 * empties the list of rows. Returns 0, with nothing done, if all rows might not fit into memory. */
int sap_mujoco_make_few_rows(const sap_mujoco_world *world);

#endif
