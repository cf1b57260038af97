/* Calls of MuJoCo that return when it reports an error.
 *
 * MuJoCo's log handler must not return from an error: the handler here jumps back to the innermost
 * call on this thread. The caller restores the data after an error. */
#ifndef SAPWOOD_MUJOCO_ENGINE_GUARD_H
#define SAPWOOD_MUJOCO_ENGINE_GUARD_H

#include "sapwood/mujoco.h"

/* Calls body(context), which may call MuJoCo, and returns 0; or -1 when MuJoCo reported an error,
 * with its text in `message` (SAP_MUJOCO_MESSAGE). Calls may be nested. */
int sap_mujoco_call(const sap_mujoco *api, void (*body)(void *), void *context, char *message);

/* Calls body(context) likewise, without reports of errors and warnings; the caller has another way
 * if it fails. */
int sap_mujoco_try(const sap_mujoco *api, void (*body)(void *), void *context);

#endif
