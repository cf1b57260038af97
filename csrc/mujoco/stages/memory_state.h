/* The friction memory of a world, which holds while the state stays as a step left it. The stepper
 * is locked during these calls; a world without a memory is left alone. */
#ifndef SAPWOOD_MUJOCO_STAGES_MEMORY_STATE_H
#define SAPWOOD_MUJOCO_STAGES_MEMORY_STATE_H

#include "sapwood/mujoco.h"

/* Returns the number of values of the state that marks a memory. */
int64_t sap_mujoco_memory_state_size(const sap_mujoco_world *world);

/* Forgets the remembered forces if the state differs from the one that the last step left. */
void sap_mujoco_check_memory(const sap_mujoco_world *world);

/* Remembers the state that the step leaves. */
void sap_mujoco_mark_memory(const sap_mujoco_world *world);

#endif
