/* Calls of MuJoCo that come back where it reports an error.
 *
 * Its log handler must not return from an error: ours jumps back to the innermost call on this
 * thread. What an error leaves of the data is for the caller to restore. */
#ifndef SAPWOOD_MUJOCO_ENGINE_GUARD_H
#define SAPWOOD_MUJOCO_ENGINE_GUARD_H

#include "sapwood/mujoco.h"

/* Calls body(context), which may call MuJoCo, and returns 0; or -1 when MuJoCo reported an error,
 * with its text in `message` (SAP_MUJOCO_MESSAGE). Calls may be nested. */
int sap_mujoco_call(const sap_mujoco *api, void (*body)(void *), void *context, char *message);

/* The same for what is done otherwise where it fails: nobody is told of errors and warnings. */
int sap_mujoco_try(const sap_mujoco *api, void (*body)(void *), void *context);

#endif
