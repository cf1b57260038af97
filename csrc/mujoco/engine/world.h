/* What the files of this folder know of a world beyond sapwood/mujoco.h. */
#ifndef SAPWOOD_MUJOCO_ENGINE_WORLD_H
#define SAPWOOD_MUJOCO_ENGINE_WORLD_H

#include "step/stepper_object.h"
#include "sapwood/mujoco.h"

sap_mujoco_options sap_mujoco_read_options(const sap_mujoco *api, const void *model);
int sap_mujoco_same_options(const sap_mujoco_options *a, const sap_mujoco_options *b);

/* sap_mujoco_open() but for the options: whoever calls it sets those that are in order. */
sap_status sap_mujoco_attach(sap_mujoco_world *world, const sap_mujoco *api, sap_stepper *stepper,
                             const void *model, void *data, sap_error *error);

/* The first half of a step, up to the velocity-dependent quantities, whatever the options are.
 * Returns world->failure. */
sap_step_failure sap_mujoco_start(sap_mujoco_world *world);

/* The derivative of the smooth forces, where the stepper takes them implicitly, after
 * mj_fwdAcceleration. Returns world->failure. */
sap_step_failure sap_mujoco_find_slopes(sap_mujoco_world *world);

/* sap_mujoco_step(), which may be `quiet` (lean_step.h): world->quiet says whether it was. One that
 * fails, or needs what was left out, is taken again and leaves all. */
sap_step_failure sap_mujoco_take(sap_mujoco_world *world, int quiet);

/* What the contact part of a step reads and writes. Contacts and rows lie in memory that MuJoCo
 * hands out anew in each step. */
sap_step_arrays sap_mujoco_arrays(const sap_mujoco_world *world);

/* notes why a step cannot be taken */
void sap_mujoco_fail(sap_mujoco_world *world, sap_step_failure failure, int code, int64_t index);

#endif
