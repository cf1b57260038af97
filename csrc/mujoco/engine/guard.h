/* Calls of MuJoCo that return when it reports an error.
 *
 * MuJoCo's log handler must not return from an error: the handler here jumps back to the innermost
 * call on this thread. The call frees the memory that was taken on MuJoCo's stack; the caller
 * restores other data after an error. */
#ifndef SAPWOOD_MUJOCO_ENGINE_GUARD_H
#define SAPWOOD_MUJOCO_ENGINE_GUARD_H

#include "mujoco/engine/world.h"

/* Calls body(context), which may call MuJoCo, and returns 0; or -1 when MuJoCo reported an error,
 * with its text in world->end.message. Calls may be nested. */
int sap_mujoco_call(sap_mujoco_world *world, void (*body)(void *), void *context);

/* Calls body(context) likewise, without reports of errors and warnings; the caller has another way
 * if it fails. */
int sap_mujoco_try(const sap_mujoco_world *world, void (*body)(void *), void *context);

#endif
