#include "mujoco/stages/rotation.h"

#include <string.h>

#include "mujoco/engine/fields.h"
#include "mujoco/engine/guard.h"
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

/* Finds c = c(q_0, v_m). The velocities of the data, and the numbers that mj_comVel() finds from
 * them, are those of v_m meanwhile. */
static void evaluate_bias(sap_mujoco_world *world, const double *v_m, double *c) {
  const sap_mujoco *a = world->api;
  const int64_t nv = world->stepper->forest.nv, n_bodies = SAP_MODEL(world, nbody);
  double *const array[] = {SAP_DATA(world, qvel), SAP_DATA(world, cdof_dot), SAP_DATA(world, cvel)};
  const int64_t length[] = {nv, 6 * nv, 6 * n_bodies};
  const int n = world->lean ? 1 : 3; /* lean steps have no reader of the others */
  double *kept[3];
  for (int k = 0; k < n; ++k) {
    const size_t bytes = sizeof(double) * (size_t)length[k];
    kept[k] = sap_stack_take(world, bytes);
    memcpy(kept[k], array[k], bytes);
  }
  memcpy(array[0], v_m, sizeof *v_m * (size_t)nv);
  a->mj_comVel(world->model, world->data);
  a->mj_rne(world->model, world->data, 0, c);
  for (int k = 0; k < n; ++k) {
    memcpy(array[k], kept[k], sizeof(double) * (size_t)length[k]);
  }
}

static struct sap_turning_trees trees_of(const sap_mujoco_world *world, int held) {
  const sap_stepper *stepper = world->stepper;
  return (struct sap_turning_trees){&stepper->forest, stepper->settings.dt, held};
}

/* Takes the bias forces of trees at v_0 - dt/2 x; returns the number of trees that keep them. */
static int32_t turn_trees(sap_mujoco_world *world, const struct sap_turning_trees *trees,
                          const double *x, const double *Mx) {
  const struct sap_tree_rotation state = {.qvel = SAP_DATA(world, qvel),
                                          .qfrc_bias = SAP_DATA(world, qfrc_bias),
                                          .qfrc_smooth = SAP_DATA(world, qfrc_smooth),
                                          .qacc_smooth = SAP_DATA(world, qacc_smooth)};
  const size_t bytes = sizeof(double) * (size_t)trees->forest->nv;
  double *v_m = sap_stack_take(world, bytes), *c = sap_stack_take(world, bytes);
  double *da = sap_stack_take(world, bytes);
  sap_tree_rotation_middle(trees, state.qvel, x, v_m);
  evaluate_bias(world, v_m, c);
  sap_tree_rotation_change(trees, state.qvel, state.qfrc_bias, c);
  world->api->mj_solveM(world->model, world->data, da, c, 1);
  return sap_tree_rotation_apply(trees, x, Mx, c, da, &state);
}

/* Takes the bias forces of trees that no constraint holds; returns the number of those that keep
 * them. */
static int32_t turn_free_trees(sap_mujoco_world *world) {
  const sap_mujoco *a = world->api;
  const struct sap_turning_trees trees = trees_of(world, 0);
  const double *c = SAP_DATA(world, qfrc_bias);
  if (!sap_tree_rotation_acts(&trees, SAP_DATA(world, qvel))) {
    return 0;
  }
  a->mj_markStack(world->data);
  double *x = sap_stack_take(world, sizeof *x * (size_t)trees.forest->nv);
  a->mj_solveM(world->model, world->data, x, c, 1);
  const int32_t missed = turn_trees(world, &trees, x, c);
  a->mj_freeStack(world->data);
  return missed;
}

int sap_mujoco_turns_held_trees(const sap_mujoco_world *world) {
  const struct sap_turning_trees held = trees_of(world, 1);
  return sap_tree_rotation_acts(&held, SAP_DATA(world, qvel));
}

int sap_mujoco_takes_rotation(const sap_mujoco_world *world) {
  const struct sap_turning_trees trees = trees_of(world, 0);
  return sap_free_rotation_acts(trees.forest) ||
         sap_tree_rotation_acts(&trees, SAP_DATA(world, qvel)) ||
         sap_mujoco_turns_held_trees(world);
}

void sap_mujoco_take_rotation(sap_mujoco_world *world) {
  if (turn_bodies(world) + turn_free_trees(world) > 0) {
    world->fallbacks |= SAP_FALLBACK_EXPLICIT_ROTATION;
  }
}

/* ---- trees in equality constraints ----------------------------------------------------------- */

struct correction {
  sap_mujoco_world *world;
  const double *v; /* (nv) v_1 */
  int32_t missed;
};

static void turn_held_trees(void *context) {
  struct correction *correction = context;
  sap_mujoco_world *world = correction->world;
  const struct sap_turning_trees trees = trees_of(world, 1);
  const int32_t nv = trees.forest->nv;
  const double *v_0 = SAP_DATA(world, qvel);
  world->api->mj_markStack(world->data);
  double *x = sap_stack_take(world, sizeof *x * (size_t)nv);
  double *Mx = sap_stack_take(world, sizeof *x * (size_t)nv);
  for (int32_t i = 0; i < nv; ++i) {
    x[i] = (v_0[i] - correction->v[i]) / trees.dt;
  }
  world->api->mj_mulM(world->model, world->data, Mx, x);
  correction->missed = turn_trees(world, &trees, x, Mx);
  world->api->mj_freeStack(world->data);
}

void sap_mujoco_correct_rotation(void *context, const double *v) {
  sap_mujoco_world *world = context;
  struct correction correction = {world, v, 0};
  if (sap_mujoco_try(world, turn_held_trees, &correction) < 0) {
    correction.missed = 1;
  }
  if (correction.missed > 0) {
    world->fallbacks |= SAP_FALLBACK_EXPLICIT_ROTATION;
  }
}
