/* Memory on MuJoCo's stack, between mj_markStack() and mj_freeStack(). MuJoCo answers a request for
 * no bytes with NULL, which neither memset() nor pointer arithmetic takes: here the result is
 * always a pointer. */
#ifndef SAPWOOD_MUJOCO_ENGINE_STACK_H
#define SAPWOOD_MUJOCO_ENGINE_STACK_H

#include "mujoco/engine/world.h"

static inline void *sap_stack_take(const sap_mujoco_world *world, size_t bytes) {
  return world->api->mj_stackAllocByte(world->data, bytes > 0 ? bytes : 1, sizeof(double));
}

#endif
