/* Sizes of states, and the check of a state at the start of a step. */
#ifndef SAPWOOD_MUJOCO_STAGES_STATE_CHECK_H
#define SAPWOOD_MUJOCO_STAGES_STATE_CHECK_H

#include "sapwood/mujoco.h"

/* Returns the length of a state with these bits of mjtState, or -1 with the text of MuJoCo's error
 * in world->end. */
int sap_mujoco_state_size(sap_mujoco_world *world, int spec);

/* Returns 1 if all entries of the state are numbers within the acceleration limit of the stepper;
 * else 0, with the first other entry as the failure of the world. */
int sap_mujoco_check_state(sap_mujoco_world *world);

#endif
