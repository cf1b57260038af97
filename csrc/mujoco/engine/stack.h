/* Memory on MuJoCo's stack, between mj_markStack() and mj_freeStack(). MuJoCo answers a request for
 * no bytes with NULL, which neither memset() nor pointer arithmetic takes: here the result is
 * always a pointer. */
#ifndef SAPWOOD_MUJOCO_ENGINE_STACK_H
#define SAPWOOD_MUJOCO_ENGINE_STACK_H

#include "mujoco/engine/fields.h"
#include "mujoco/engine/world.h"

/* The pointers of the stack, as MuJoCo's functions should leave them. */
struct sap_stack_pointers {
  size_t pstack, pbase;
};

static inline struct sap_stack_pointers sap_stack_read(const sap_mujoco_world *world) {
  return (struct sap_stack_pointers){SAP_DATA(world, pstack), SAP_DATA(world, pbase)};
}

/* Frees the memory of functions that an error left. */
static inline void sap_stack_restore(const sap_mujoco_world *world,
                                     const struct sap_stack_pointers *stack) {
  SAP_SET_DATA(world, pstack, stack->pstack);
  SAP_SET_DATA(world, pbase, stack->pbase);
}

static inline void *sap_stack_take(const sap_mujoco_world *world, size_t bytes) {
  return world->api->mj_stackAllocByte(world->data, bytes > 0 ? bytes : 1, sizeof(double));
}

#endif
