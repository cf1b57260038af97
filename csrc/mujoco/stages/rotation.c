#include "mujoco/stages/rotation.h"

#include <string.h>

#include "mujoco/engine/fields.h"
#include "mujoco/engine/stack.h"
#include "mujoco/engine/world.h"
#include "step/dynamics/free_rotation.h"
#include "step/dynamics/tree_rotation.h"

/* Takes the gyroscopic torque of single bodies; returns the number of those that keep it. */
static int32_t turn_bodies(const sap_mujoco_world *world) {
  const struct sap_free_rotation state = {.qpos = SAP_DATA(world, qpos),
                                          .qvel = SAP_DATA(world, qvel),
                                          .M = SAP_DATA(world, M),
                                          .qfrc_bias = SAP_DATA(world, qfrc_bias),
                                          .qfrc_smooth = SAP_DATA(world, qfrc_smooth),
                                          .qacc_smooth = SAP_DATA(world, qacc_smooth)};
  const sap_stepper *stepper = world->stepper;
  return sap_free_rotation_find(&stepper->forest, stepper->settings.dt, &state);
}

/* Finds c = c(q_0, v_m). The velocities of the data are v_m meanwhile. */
static void evaluate_bias(sap_mujoco_world *world, double *v_m, double *c) {
  const sap_mujoco *a = world->api;
  double *qvel = SAP_DATA(world, qvel);
  const size_t bytes = sizeof(double) * (size_t)world->stepper->forest.nv;
  double *v_0 = sap_stack_take(world, bytes);
  memcpy(v_0, qvel, bytes);
  memcpy(qvel, v_m, bytes);
  a->mj_comVel(world->model, world->data);
  a->mj_rne(world->model, world->data, 0, c);
  memcpy(qvel, v_0, bytes);
  if (!world->lean) {
    a->mj_comVel(world->model, world->data);
  }
}

/* Takes the bias forces of trees; returns the number of those that keep them. */
static int32_t turn_trees(sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const sap_forest *f = &world->stepper->forest;
  const double dt = world->stepper->settings.dt;
  const struct sap_tree_rotation state = {.qvel = SAP_DATA(world, qvel),
                                          .qfrc_bias = SAP_DATA(world, qfrc_bias),
                                          .qfrc_smooth = SAP_DATA(world, qfrc_smooth),
                                          .qacc_smooth = SAP_DATA(world, qacc_smooth)};
  if (!sap_tree_rotation_acts(f, dt, state.qvel)) {
    return 0;
  }
  const size_t bytes = sizeof(double) * (size_t)f->nv;
  a->mj_markStack(world->data);
  double *x = sap_stack_take(world, bytes), *v_m = sap_stack_take(world, bytes);
  double *c = sap_stack_take(world, bytes), *da = sap_stack_take(world, bytes);
  a->mj_solveM(world->model, world->data, x, state.qfrc_bias, 1);
  sap_tree_rotation_middle(f, dt, state.qvel, x, v_m);
  evaluate_bias(world, v_m, c);
  sap_tree_rotation_change(f, dt, state.qvel, state.qfrc_bias, c);
  a->mj_solveM(world->model, world->data, da, c, 1);
  const int32_t missed = sap_tree_rotation_apply(f, dt, x, c, da, &state);
  a->mj_freeStack(world->data);
  return missed;
}

int sap_mujoco_takes_rotation(const sap_mujoco_world *world) {
  const sap_forest *f = &world->stepper->forest;
  return sap_free_rotation_acts(f) ||
         sap_tree_rotation_acts(f, world->stepper->settings.dt, SAP_DATA(world, qvel));
}

void sap_mujoco_take_rotation(sap_mujoco_world *world) {
  if (turn_bodies(world) + turn_trees(world) > 0) {
    world->fallbacks |= SAP_FALLBACK_EXPLICIT_ROTATION;
  }
}
