/* The arrays of an mjData that the contact part of a step reads and writes, read in place. */
#ifndef SAPWOOD_MUJOCO_ENGINE_STEP_ARRAYS_H
#define SAPWOOD_MUJOCO_ENGINE_STEP_ARRAYS_H

#include "sapwood/mujoco.h"

/* Contacts and rows lie in memory that MuJoCo allocates again in each step. The derivative of
 * smooth forces with implicit springs lies in the world. */
sap_step_arrays sap_mujoco_arrays(const sap_mujoco_world *world);

#endif
